"""Cancelled and expired wherever a run may be."""

import time

import pytest

from harness import shapes
from harness.fault_fixtures import ended_well
from harness.failures import kept_failure
from harness.faults import FINAL, FaultServer, Log
from harness.server import eventually
from harness.shapes import TEST_TOOLS
from harness.tools import WEATHER, WEATHER_RULES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

FOREVER = 3600000


def tool(name, **arguments):
    return {"tool_calls": [{"name": name, "id": "call_1", "arguments": arguments}]}


# Where a run is when it is stopped: what the model does, and how we know that it is there.
PLACES = {
    "asked": {"answer": {"text": "a b c", "delay_ms": FOREVER}},
    "speaking": {"answer": {"text": "a b c", "piece_delay_ms": FOREVER}},
    "stalled": {"answer": {"text": "a b c", "fault": {"kind": "stall", "after": 1}}},
    "retrying": {"answer": {"fault": {"kind": "status", "status": 503, "retry_after": 30}}},
    "tool": {"answer": tool("test_slow", ms=FOREVER)},
    "streaming-tool": {"answer": tool("test_stream", pieces=["a", "b"], ms=FOREVER)},
    "final-tool": {"answer": tool("test_final", pieces=["a", "b"], ms=FOREVER)},
    "hidden-tool": {"answer": tool("test_hidden", pieces=["a", "b"], ms=FOREVER)},
    "stubborn-tool": {"answer": tool("test_stubborn", ms=3000)},
}


@pytest.fixture(scope="module")
def short_server(binary, scratch, upstream_process, recorder, database):
    directory = scratch / "short-server"
    directory.mkdir(mode=0o755)
    server = FaultServer(binary, directory, upstream_process.url, recorder, lease_ttl=2,
                         database_url=database.new(), run_expiry=1.5, response_timeout=1.5).start()
    yield server
    ended_well(server)


class Run:
    def __init__(self, server, tools):
        self.api = server.api()
        self.assistant = self.api.post("/assistants",
                                       json={"model": "demo", "tools": tools}).json()["id"]
        thread = self.api.post("/threads", json={
            "messages": [{"role": "user", "content": "x"}]}).json()["id"]
        self.thread = f"/threads/{thread}"
        made = self.api.post(f"{self.thread}/runs", json={"assistant_id": self.assistant})
        assert made.status_code == 200, made.text
        self.id = made.json()["id"]
        self.path = f"{self.thread}/runs/{self.id}"

    def get(self):
        return self.api.get(self.path).json()

    def settle(self, *statuses, seconds=20):
        return eventually(self.get, lambda run: run["status"] in statuses, seconds)

    def check_end(self, database, url, status, reason):
        run = self.settle(*FINAL)
        assert run["status"] == status and run["required_action"] is None, run
        steps = self.api.get(f"{self.path}/steps?order=asc").json()["data"]
        assert all(step["status"] in (status, "completed") for step in steps), steps
        for message in self.api.get(f"{self.thread}/messages").json()["data"]:
            if message["status"] == "incomplete":
                assert message["incomplete_details"]["reason"] == reason
        log = Log(database, url, self.id)
        names = log.names()
        assert names[-1] == f"thread.run.{status}" and names.count(names[-1]) == 1
        opened = [data["id"] for name, data in log.events if name in (
            "thread.run.step.created", "thread.message.created")]
        closed = [data["id"] for name, data in log.events if name in (
            f"thread.run.step.{status}", "thread.run.step.completed", "thread.message.completed",
            "thread.message.incomplete")]
        assert sorted(opened) == sorted(closed)
        shapes.check_database(database, url)
        # The thread is free again.
        added = self.api.post(f"{self.thread}/messages", json={"role": "user", "content": "y"})
        assert added.status_code == 200, added.text
        return names


def reach(server, upstream, place):
    upstream.script(PLACES[place])
    upstream.forget()
    run = Run(server, [TEST_TOOLS])
    eventually(lambda: upstream.chats(), len)
    run.settle("in_progress")
    if "tool" in place:
        eventually(lambda: upstream.requests()[-1]["state"], lambda state: state == "answered")
    return run


def cancel(run):
    answer = run.api.post(f"{run.path}/cancel")
    assert answer.status_code == 200 and answer.json()["status"] == "cancelling", answer.text


@pytest.mark.threads
@pytest.mark.parametrize("place", PLACES)
def test_a_run_is_cancelled_at_every_place(fault_server, upstream, database, place):
    run = reach(fault_server, upstream, place)
    cancel(run)
    assert run.settle("cancelled", seconds=5)["cancelled_at"]
    names = run.check_end(database, fault_server.settings["database_url"], "cancelled",
                          "run_cancelled")
    assert "thread.run.cancelling" in names
    again = run.api.post(f"{run.path}/cancel")
    assert again.status_code == 400
    assert again.json()["error"]["message"] == "Cannot cancel run with status 'cancelled'."
    fault_server.forgets_its_runs()


@pytest.mark.parametrize("place", PLACES)
def test_a_background_response_is_cancelled_at_every_place(fault_server, upstream, database, place):
    api = fault_server.api()
    upstream.script(PLACES[place])
    upstream.forget()
    made = api.post("/responses", json={"model": "demo", "input": "x", "background": True,
                                        "tools": [TEST_TOOLS]}).json()["id"]
    eventually(lambda: upstream.chats(), len)
    answer = api.post(f"/responses/{made}/cancel").json()
    assert answer["status"] == "cancelled"
    ended = api.get(f"/responses/{made}").json()
    assert ended["status"] == "cancelled" and ended["error"] is None
    assert api.post(f"/responses/{made}/cancel").json()["status"] == "cancelled"
    url = fault_server.settings["database_url"]
    shapes.check_database(database, url)
    fault_server.forgets_its_runs()
    assert Log(database, url, made).is_numbered()


def test_a_waiting_run_is_cancelled(fault_server, upstream, database):
    upstream.script(*WEATHER_RULES)
    run = Run(fault_server, [WEATHER])
    run.settle("requires_action")
    cancel(run)
    run.check_end(database, fault_server.settings["database_url"], "cancelled", "run_cancelled")
    late = run.api.post(f"{run.path}/submit_tool_outputs", json={
        "tool_outputs": [{"tool_call_id": "call_1", "output": "x"}]})
    assert late.status_code == 400
    assert late.json()["error"]["message"] == \
        'Runs in status "cancelled" do not accept tool outputs.'


@pytest.mark.threads
@pytest.mark.parametrize("point", ["run.ask", "run.committed", "writer.send", "writer.result"])
@pytest.mark.parametrize("visit", [1, 2, 3])
def test_a_run_is_cancelled_while_a_thread_of_the_server_is_held(fault_server, upstream, database, point, visit):
    """While a thread of the server is held at that point."""
    upstream.script(*WEATHER_RULES)
    fault_server.arm(f"{point}:{visit}:hold")
    run = Run(fault_server, [WEATHER])
    eventually(lambda: fault_server.has_fired() or run.get()["status"] == "requires_action")
    cancel(run)
    fault_server.arm()
    run.check_end(database, fault_server.settings["database_url"], "cancelled", "run_cancelled")
    fault_server.forgets_its_runs()


def test_a_finished_run_cannot_be_cancelled(fault_server, upstream):
    upstream.answer(text="Done.")
    run = Run(fault_server, [])
    run.settle("completed")
    answer = run.api.post(f"{run.path}/cancel")
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == "Cannot cancel run with status 'completed'."
    assert run.get()["status"] == "completed"


@pytest.mark.parametrize("place", PLACES)
def test_a_run_expires_at_every_place(short_server, upstream, database, place):
    run = reach(short_server, upstream, place)
    names = run.check_end(database, short_server.settings["database_url"], "expired",
                          "run_expired")
    assert "thread.run.cancelling" not in names
    short_server.forgets_its_runs()


def test_a_waiting_run_expires(short_server, upstream, database):
    upstream.script(*WEATHER_RULES)
    run = Run(short_server, [WEATHER])
    run.settle("requires_action")
    run.check_end(database, short_server.settings["database_url"], "expired", "run_expired")


def test_a_run_expires_before_it_begins(short_server, upstream, database):
    """Its loop is busy until its time is over."""
    upstream.answer(text="Too late.", piece_delay_ms=FOREVER)
    short_server.arm("run.ask:1:hold")
    run = Run(short_server, [])
    eventually(short_server.has_fired)
    expires_at = run.get()["expires_at"]
    eventually(time.time, lambda now: now > expires_at + 1)
    short_server.arm()
    run.check_end(database, short_server.settings["database_url"], "expired", "run_expired")
    short_server.forgets_its_runs()


@pytest.mark.parametrize("way", ["streamed", "waiting", "background"])
def test_a_response_that_takes_too_long_fails(short_server, upstream, database, way):
    upstream.answer(text="a b c", piece_delay_ms=FOREVER)
    api = short_server.api()
    answer = api.post("/responses", json={"model": "demo", "input": "x",
                                          "stream": way == "streamed",
                                          "background": way == "background"})
    if way == "streamed":
        assert answer.text.index("event: error") < answer.text.index("event: response.failed")
        assert answer.text.endswith("data: [DONE]\n\n")
    else:
        made = answer.json() if way == "background" else kept_failure(api, answer, "")
        assert answer.status_code == (200 if way == "background" else 500)
        if way == "background":
            made = eventually(lambda: api.get(f"/responses/{answer.json()['id']}").json(),
                              lambda response: response["status"] in FINAL)
        assert made["status"] == "failed" and made["error"]["code"] == "server_error"
    shapes.check_database(database, short_server.settings["database_url"])
    short_server.forgets_its_runs()
