"""The database stops, hangs, dies and comes back while runs are going on."""

import json
import threading
import time

import pytest

from harness import shapes
from harness.database import Database
from harness.faults import FINAL, Log, listen
from harness.recorder import parse_events
from harness.server import eventually
from harness.tools import WEATHER

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

TEXT = " ".join(f"word{i}" for i in range(60))


@pytest.fixture(scope="module")
def own_database(scratch, binary):
    database = Database(scratch / "own-database", binary)
    yield database
    database.stop()


@pytest.fixture
def server(start_fault_server, own_database):
    return start_fault_server(url=own_database.new(), lease_ttl=3, store_timeout=1)


class Load:
    """A handful of runs of every kind, all under way at once."""

    def __init__(self, server, upstream):
        self.server = server
        self.api = server.api()
        self.received = {}
        self.threads = []
        # Longer than the outage: nobody ends before it, or without the database.
        upstream.script({"match": {"user": "long"}, "answer": {"text": TEXT,
                                                               "piece_delay_ms": 120}},
                        {"match": {"tool": "get_weather"}, "answer": {"tool_calls": [
                            {"name": "get_weather", "id": "call_1", "arguments": {"city": "x"}}]}},
                        {"answer": {"text": "Quick."}})
        self.upstream = upstream
        self.assistant = self.api.post("/assistants", json={"model": "demo"}).json()["id"]
        self.waiting = self.make_waiting()
        self.done = [self.api.post("/responses", json={"model": "demo", "input": str(i)}).json()
                     for i in range(3)]
        for i in range(2):
            self.follow(f"run-{i}", self.run_path(), {"assistant_id": self.assistant})
            self.follow(f"foreground-{i}", "/responses", self.request())
            self.follow(f"background-{i}", "/responses", self.request(background=True))
        self.quiet = [self.api.post("/responses", json=self.request(background=True)).json()["id"]
                      for _ in range(2)]
        eventually(lambda: len(upstream.chats()), lambda n: n >= 12)

    def request(self, **more):
        return {"model": "demo", "input": "long", **more}

    def run_path(self):
        thread = self.api.post("/threads", json={"messages": [
            {"role": "user", "content": "long"}]}).json()["id"]
        return f"/threads/{thread}/runs"

    def make_waiting(self):
        assistant = self.api.post("/assistants", json={"model": "demo", "tools": [WEATHER]}).json()
        run = self.api.post("/threads/runs", json={
            "assistant_id": assistant["id"],
            "thread": {"messages": [{"role": "user", "content": "weather"}]}}).json()
        path = f"/threads/{run['thread_id']}/runs/{run['id']}"
        eventually(lambda: self.api.get(path).json()["status"],
                   lambda status: status == "requires_action")
        return path

    def follow(self, name, path, body):
        def run():
            self.received[name] = listen(self.api, path, body)
        thread = threading.Thread(target=run)
        thread.start()
        self.threads.append(thread)

    def check(self, database, url):
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive()
        for name, (status, text, broken) in self.received.items():
            assert status == 200 and not broken, f"{name}: {text[-500:]}"
            assert text.endswith("data: [DONE]\n\n"), f"{name}: {text[-500:]}"
            self.check_received(name, text, database, url)
        for made in self.quiet:
            done = eventually(lambda made=made: self.api.get(f"/responses/{made}").json(),
                              lambda response: response.get("status") in FINAL, seconds=60)
            assert done["status"] == "completed"
            assert done["output"][-1]["content"][0]["text"] == TEXT
            Log(database, url, made)
        for made in self.done:
            assert self.api.get(f"/responses/{made['id']}").json() == made
        self.answer_waiting()
        shapes.check_database(database, url)
        self.server.forgets_its_runs()

    def check_received(self, name, text, database, url):
        events = [(event, data) for event, data in parse_events(text) if data != "[DONE]"]
        assert events[-1][0] in ("thread.run.completed", "response.completed"), name
        if name.startswith("run"):
            said = "".join(json.loads(data)["delta"]["content"][0]["text"]["value"]
                           for event, data in events if event == "thread.message.delta")
        else:
            said = "".join(json.loads(data)["delta"] for event, data in events
                           if event == "response.output_text.delta")
        assert said == TEXT, name
        if not name.startswith("foreground"):
            first = json.loads(events[0][1])
            log = Log(database, url, first["id"] if "id" in first else first["response"]["id"])
            assert log.events == [(event, json.loads(data)) for event, data in events]

    def answer_waiting(self):
        assert self.api.get(self.waiting).json()["status"] == "requires_action"
        self.upstream.answer(text="It is sunny.")
        answer = self.api.post(f"{self.waiting}/submit_tool_outputs", json={
            "tool_outputs": [{"tool_call_id": "call_1", "output": "sunny"}]})
        assert answer.status_code == 200, answer.text
        eventually(lambda: self.api.get(self.waiting).json()["status"],
                   lambda status: status == "completed")


def refused(api, path="/assistants", body=None):
    began = time.monotonic()
    answer = api.post(path, json=body) if body else api.get(path)
    assert answer.status_code == 503, answer.text
    error = answer.json()["error"]
    assert error["type"] == "server_error" and error["message"]
    return time.monotonic() - began


def check_away(server):
    """Once the server knows, every request fails at once; it stays alive, and is not ready."""
    api = server.api()
    refused(api)  # this one may have to wait for its deadline
    eventually(lambda: server.metric("store_up"), lambda up: up == 0)
    for path, body in (("/assistants", None), ("/assistants", {"model": "demo"}),
                       ("/responses", {"model": "demo", "input": "x"}),
                       ("/responses", {"model": "demo", "input": "x", "stream": True}),
                       ("/responses/resp_x", None)):
        assert refused(api, path, body) < 0.5, path
    assert api.get(f"{server.url}/healthz").status_code == 200
    assert api.get(f"{server.url}/readyz").status_code == 503


def outage(server, database, upstream, stop, start, seconds):
    load = Load(server, upstream)
    began = time.monotonic()
    stop()
    try:
        check_away(server)
        eventually(lambda: time.monotonic() - began, lambda passed: passed > seconds,
                   seconds=seconds + 5)
        assert refused(server.api()) < 0.5
    finally:
        start()
    eventually(lambda: server.api().get(f"{server.url}/readyz").status_code,
               lambda status: status == 200)
    load.check(database, server.settings["database_url"])


def test_the_server_survives_a_database_that_hangs_for_ten_seconds(server, own_database, upstream):
    outage(server, own_database, upstream, own_database.freeze, own_database.thaw, 10)


def test_the_server_survives_a_database_that_dies_and_is_started_again(server, own_database, upstream):
    outage(server, own_database, upstream, own_database.crash, own_database.start, 4)


def test_the_server_survives_a_database_that_restarts_between_requests(server, own_database, upstream):
    """Too short to notice, except by a broken connection."""
    load = Load(server, upstream)
    for _ in range(2):
        own_database.crash()
        own_database.start()
    eventually(lambda: server.api().get("/assistants").status_code, lambda status: status == 200)
    load.check(own_database, server.settings["database_url"])


def test_a_server_stops_while_the_database_hangs(server, own_database, upstream):
    """It ends in time, and the runs that it could not write continue on the next server."""
    server.settings["drain_timeout"] = 1
    server.stop()
    server.start()
    upstream.answer(text=TEXT, piece_delay_ms=20)
    made = [server.api().post("/responses", json={"model": "demo", "input": "x",
                                                  "background": True}).json()["id"]
            for _ in range(3)]
    eventually(lambda: upstream.chats(), len)
    own_database.freeze()
    try:
        assert server.process.stop(25) == 0
    finally:
        own_database.thaw()
    server.start()
    for response in made:
        done = eventually(lambda response=response: server.api().get(f"/responses/{response}")
                          .json(), lambda answer: answer["status"] in FINAL, seconds=40)
        assert done["status"] == "completed"
    shapes.check_database(own_database, server.settings["database_url"])
