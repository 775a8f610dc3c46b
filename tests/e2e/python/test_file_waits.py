"""Runs that wait until the files of their thread's vector store are searchable, and everything that may happen meanwhile.

`ingest.publish:1:hold` holds a file just before it is searchable; arm() without points lets it go."""

import json
import threading

import pytest

from harness.patience import patience
from harness.recorder import parse_events
from harness.server import eventually
from harness.tools import call

BATTERY = "# Safety\n\nThe battery warranty lasts two years from the day of purchase.\n"
FUNCTION = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}


@pytest.fixture
def server(fault_server):
    return fault_server


class Asking:
    """A thread with a message whose file does not become searchable, and an assistant that searches."""

    def __init__(self, server, upstream, tools=({"type": "file_search"},), others=()):
        self.server = server
        upstream.script({"match": {"tool_results": True}, "answer": {"text": "Two years【1:0†source】."}},
                        {"answer": {"tool_calls": [call("file_search", queries=["battery warranty"])]}})
        self.api = server.api()
        self.file = self.api.post("/files", files={"file": ("a.md", BATTERY.encode())},
                                  data={"purpose": "assistants"}).json()["id"]
        self.assistant = self.made("/assistants", model="demo", tools=list(tools))["id"]
        servers = [server, *others]
        for each in servers:
            each.arm("ingest.publish:1:hold")
        self.thread = self.made("/threads", messages=[self.message()])["id"]
        self.holder = eventually(lambda: next((each for each in servers if each.has_fired()), None))
        thread = self.api.get(f"/threads/{self.thread}").json()
        (self.store,) = thread["tool_resources"]["file_search"]["vector_store_ids"]

    def message(self):
        return {"role": "user", "content": "How long?",
                "attachments": [{"file_id": self.file, "tools": [{"type": "file_search"}]}]}

    def made(self, path, **body):
        answer = self.api.post(path, json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def ask(self, **body):
        self.run = self.made(f"/threads/{self.thread}/runs", assistant_id=self.assistant, **body)["id"]
        return self

    def look(self, server=None):
        return (server or self.server).api().get(f"/threads/{self.thread}/runs/{self.run}").json()

    def ends(self, status, seconds=20, server=None):
        return eventually(lambda: self.look(server), lambda run: run["status"] == status, seconds)

    def waits(self):
        """Its stream says that it is queued, and nothing else."""
        eventually(lambda: self.names(), lambda names: names == ["thread.run.created", "thread.run.queued"])
        assert self.look()["status"] == "queued"
        return self

    def names(self, server=None):
        """The events that are stored, in order."""
        path = f"/threads/{self.thread}/runs/{self.run}/events"
        lines = []
        with (server or self.server).api().stream("GET", path, params={"starting_after": -1}) as answer:
            try:
                for line in answer.iter_lines():
                    lines.append(line)
                    if line.startswith("event: thread.run.queued"):
                        status = self.look(server)["status"]
                        if status == "queued":
                            break
            finally:
                answer.close()
        return [line[len("event: "):] for line in lines if line.startswith("event: ")]

    def found(self, server=None):
        """The files of the results of its search."""
        path = f"/threads/{self.thread}/runs/{self.run}/steps"
        steps = (server or self.server).api().get(path, params={"order": "asc"}).json()["data"]
        return [result["file_id"] for result in steps[0]["step_details"]["tool_calls"][0]["file_search"]["results"]]


def test_a_run_begins_when_its_files_are_searchable(server, upstream):
    asking = Asking(server, upstream).ask().waits()
    assert upstream.requests() == []
    server.arm()
    run = asking.ends("completed", 3)  # by a hint, or by the keeper, who looks every five seconds
    assert asking.found() == [asking.file] and run["started_at"] >= run["created_at"]
    assert asking.names()[:4] == ["thread.run.created", "thread.run.queued", "thread.run.in_progress",
                                  "thread.run.step.created"]


def test_a_stream_begins_at_once(server, upstream):
    asking = Asking(server, upstream)
    seen, text = threading.Event(), []

    def read():
        body = {"assistant_id": asking.assistant, "stream": True}
        with server.api().stream("POST", f"/threads/{asking.thread}/runs", json=body) as answer:
            for line in answer.iter_lines():
                text.append(line)
                if line == "event: thread.run.queued":
                    seen.set()

    reader = threading.Thread(target=read)
    reader.start()
    assert seen.wait(patience(10))
    server.arm()
    reader.join(patience(20))
    names = [name for name, _ in parse_events("\n".join(text))]
    assert names[:3] == ["thread.run.created", "thread.run.queued", "thread.run.in_progress"]
    assert names.count("thread.run.queued") == 1 and names[-1] == "done"


@pytest.mark.parametrize("how", ["removed", "file", "store"])
def test_a_file_that_leaves_the_store_is_not_waited_for(server, upstream, how):
    asking = Asking(server, upstream).ask().waits()
    path = {"removed": f"/vector_stores/{asking.store}/files/{asking.file}", "file": f"/files/{asking.file}",
            "store": f"/vector_stores/{asking.store}"}[how]
    assert asking.api.delete(path).status_code == 200
    asking.ends("completed", 3)
    assert asking.found() == []
    server.arm()


def test_a_file_that_fails_ends_the_wait(server, upstream):
    asking = Asking(server, upstream)
    bad = asking.api.post("/files", files={"file": ("b.md", b"")}, data={"purpose": "assistants"}).json()["id"]
    asking.made(f"/vector_stores/{asking.store}/files", file_id=bad)
    asking.ask().waits()
    server.arm()
    asking.ends("completed")
    counts = asking.api.get(f"/vector_stores/{asking.store}").json()["file_counts"]
    assert (counts["completed"], counts["failed"]) == (1, 1)


@pytest.mark.parametrize("how", ["cancel", "delete"])
def test_a_run_may_end_while_it_waits(server, upstream, how):
    asking = Asking(server, upstream).ask().waits()
    if how == "cancel":
        asking.made(f"/threads/{asking.thread}/runs/{asking.run}/cancel")
        asking.ends("cancelled")
        assert asking.names()[-1] == "done" and "thread.run.cancelled" in asking.names()
    else:
        assert asking.api.delete(f"/threads/{asking.thread}").status_code == 200
    server.forgets_its_runs()
    server.arm()
    assert upstream.requests() == []


def test_a_run_expires_while_it_waits(start_fault_server, upstream):
    server = start_fault_server(run_expiry=1)
    asking = Asking(server, upstream).ask()
    asking.ends("expired")
    server.forgets_its_runs()
    server.arm()


def test_who_does_not_wait(server, upstream):
    """A run that does not search; and the assistant's store, which is not waited for."""
    asking = Asking(server, upstream, tools=[FUNCTION])
    upstream.script({"answer": {"text": "Hello."}})
    asking.ask().ends("completed")
    other = asking.made("/assistants", model="demo", tools=[{"type": "file_search"}],
                        tool_resources={"file_search": {"vector_store_ids": [asking.store]}})["id"]
    asking.thread = asking.made("/threads", messages=[{"role": "user", "content": "a"}])["id"]
    asking.assistant = other
    asking.ask().ends("completed")
    server.arm()


@pytest.mark.parametrize("attach", ["message", "thread", "run"])
def test_what_a_request_attaches_is_waited_for(server, upstream, attach):
    asking = Asking(server, upstream)
    if attach == "message":
        asking.made(f"/threads/{asking.thread}/messages", **asking.message())
        asking.ask()
    elif attach == "thread":
        made = asking.made("/threads/runs", assistant_id=asking.assistant, thread={"messages": [asking.message()]})
        asking.thread, asking.run = made["thread_id"], made["id"]
    else:
        asking.thread = asking.made("/threads")["id"]
        asking.ask(additional_messages=[asking.message()])
    assert asking.look()["status"] == "queued"
    server.arm()
    asking.ends("completed")
    assert asking.found() == [asking.file]


# ---- Servers that end, and two of them ----

def test_a_run_waits_again_after_a_crash(start_fault_server, upstream):
    server = start_fault_server(lease_ttl=1)
    asking = Asking(server, upstream).ask().waits()
    server.kill()
    server.restart()
    asking.ends("completed")
    assert asking.found() == [asking.file]
    names = asking.names()
    assert names[:3] == ["thread.run.created", "thread.run.queued", "thread.run.in_progress"]
    assert names.count("thread.run.completed") == 1


def test_a_crash_does_not_renew_the_patience(start_fault_server, database, upstream):
    """A minute is over while no server runs. Then the run searches what is there: nothing."""
    server = start_fault_server(lease_ttl=1)
    asking = Asking(server, upstream).ask().waits()
    server.kill()
    assert server.process.child.wait(20) < 0
    database.ask("UPDATE runs SET created_at = created_at - 60000000", url=server.settings["database_url"])
    server.arm("ingest.publish:1:hold")
    server.start()
    asking.ends("completed")
    assert asking.found() == []
    server.arm()


@pytest.fixture
def two_servers(start_fault_server):
    first = start_fault_server()
    second = start_fault_server(url=first.settings["database_url"])
    second.settings = {**second.settings, "api_key": first.settings["api_key"]}
    return first, second


def test_another_server_continues_a_run_when_its_own_drains(two_servers, upstream):
    first, second = two_servers
    asking = Asking(first, upstream, others=[second]).ask().waits()
    first.arm()
    assert first.stop() == 0
    second.arm()
    asking.ends("completed", server=second)
    assert asking.found(second) == [asking.file]
    assert asking.names(second)[:3] == ["thread.run.created", "thread.run.queued", "thread.run.in_progress"]


def test_a_run_of_another_server_is_woken(two_servers, upstream):
    asking = Asking(two_servers[0], upstream, others=[two_servers[1]])
    (asking.server,) = [server for server in two_servers if server is not asking.holder]
    asking.api = asking.server.api()
    asking.ask().waits()
    asking.holder.arm()
    asking.ends("completed", 3)
    asking.server.arm()
    assert asking.found() == [asking.file]
