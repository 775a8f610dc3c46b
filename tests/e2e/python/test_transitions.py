"""Every status of a run against everything that a client may do to it and to its thread."""

import pathlib
import tempfile

import pytest

from harness.fault_fixtures import ended_well
from harness.faults import FaultServer
from harness.server import eventually
from harness.tools import WEATHER

FOR_EVER = {"delay_ms": 3600000}
ANSWERS = {
    "queued": {"text": "ok"},
    "in_progress": {"text": "ok", **FOR_EVER},
    "requires_action": {"tool_calls": [{"name": "get_weather", "id": "call_1", "arguments": {}}]},
    "cancelling": {"text": "ok", **FOR_EVER},
    "cancelled": {"text": "ok", **FOR_EVER},
    "completed": {"text": "ok"},
    "incomplete": {"text": "ok", "finish_reason": "length"},
    "failed": {"text": "ok", "fault": {"kind": "status", "status": 400}},
    "expired": {"tool_calls": [{"name": "get_weather", "id": "call_1", "arguments": {}}]},
}
ACTIVE = ("queued", "in_progress", "requires_action", "cancelling")
FINAL = ("cancelled", "completed", "incomplete", "failed", "expired")


# ---- The table ----

def not_cancelled(status):
    return "Cannot cancel run with status '%s'." % status


def no_outputs(status):
    return 'Runs in status "%s" do not accept tool outputs.' % status


LOCKED = "Can't add messages to {thread} while a run {run} is active."
BUSY = "Thread {thread} already has an active run {run}."

# operation: {status of the run: the status that the answer shows, or the complaint}. Where the
# answer is no run, "ok" says that it was done. Every complaint is a 400 without param and code.
TABLE = {
    "retrieve run": {status: status for status in ANSWERS},
    "modify run": {status: status for status in ANSWERS},
    "cancel run": {
        "queued": "cancelling",
        "in_progress": "cancelling",
        "requires_action": "cancelling",
        **{status: not_cancelled(status) for status in ("cancelling", *FINAL)},
    },
    "submit outputs": {
        **{status: no_outputs(status) for status in ANSWERS},
        "requires_action": "queued",
    },
    "add message": {
        **{status: LOCKED for status in ACTIVE},
        **{status: "ok" for status in FINAL},
    },
    "create run": {
        **{status: BUSY for status in ACTIVE},
        **{status: "queued" for status in FINAL},
    },
    "delete message": {
        **{status: LOCKED for status in ACTIVE},
        **{status: "ok" for status in FINAL},
    },
    "list messages": {status: "ok" for status in ANSWERS},
    "list steps": {status: "ok" for status in ANSWERS},
    "modify message": {status: "ok" for status in ANSWERS},
    "modify thread": {status: "ok" for status in ANSWERS},
    "delete assistant": {status: "ok" for status in ANSWERS},
    "delete thread": {status: "ok" for status in ANSWERS},
}
# What leaves run and thread as they were, when it was done.
HARMLESS = {"retrieve run", "modify run", "list messages", "list steps", "modify message",
            "modify thread"}

REQUESTS = {
    "retrieve run": ("GET", "/threads/{thread}/runs/{run}", None),
    "modify run": ("POST", "/threads/{thread}/runs/{run}", {"metadata": {"a": "1"}}),
    "cancel run": ("POST", "/threads/{thread}/runs/{run}/cancel", None),
    "submit outputs": ("POST", "/threads/{thread}/runs/{run}/submit_tool_outputs",
                       {"tool_outputs": [{"tool_call_id": "call_1", "output": "sunny"}]}),
    "add message": ("POST", "/threads/{thread}/messages", {"role": "user", "content": "More."}),
    "create run": ("POST", "/threads/{thread}/runs", {"assistant_id": "{other}"}),
    "delete message": ("DELETE", "/threads/{thread}/messages/{message}", None),
    "list messages": ("GET", "/threads/{thread}/messages", None),
    "list steps": ("GET", "/threads/{thread}/runs/{run}/steps", None),
    "modify message": ("POST", "/threads/{thread}/messages/{message}", {"metadata": {"a": "1"}}),
    "modify thread": ("POST", "/threads/{thread}", {"metadata": {"a": "1"}}),
    "delete assistant": ("DELETE", "/assistants/{assistant}", None),
    "delete thread": ("DELETE", "/threads/{thread}", None),
}


# ---- Runs in every status ----

class Cluster:
    """Servers on one database. Those that hold a run in a status that passes by are asked for nothing
    else."""

    def __init__(self, start):
        self.main = start()
        self.owners = {
            "queued": start(self.main, max_runs=1),       # one runs, the others wait in the queue
            "cancelling": start(self.main),               # the end is not written
            "expired": start(self.main, run_expiry=1),
        }
        self.runs = {}
        self.is_full = False

    def ask(self, method, path, body=None):
        return self.main.api().request(method, path, json=body)

    def make(self, path, **body):
        answer = self.ask("POST", path, body)
        assert answer.status_code == 200, answer.text
        return answer.json()["id"]

    def begin(self, status, server):
        """A run that is on its way to that status, and what belongs to it."""
        ids = {"assistant": self.make("/assistants", model=status, tools=[WEATHER]),
               "other": self.make("/assistants", model="completed"),
               "thread": self.make("/threads")}
        ids["message"] = self.make(f"/threads/{ids['thread']}/messages", role="user", content="Hi")
        answer = server.api().post(f"/threads/{ids['thread']}/runs",
                                   json={"assistant_id": ids["assistant"]})
        assert answer.status_code == 200, answer.text
        return {**ids, "run": answer.json()["id"]}

    def await_status(self, ids, status):
        path = f"/threads/{ids['thread']}/runs/{ids['run']}"
        eventually(lambda: self.ask("GET", path).json()["status"], lambda now: now == status)

    def fill(self, server):
        if not self.is_full:
            self.await_status(self.begin("in_progress", server), "in_progress")
        self.is_full = True

    def cancel(self, status, ids, server):
        self.await_status(ids, "in_progress")
        if status == "cancelling":
            server.arm("writer.send:1:hold")
        server.api().post(f"/threads/{ids['thread']}/runs/{ids['run']}/cancel")

    def get(self, status):
        """One that is in that status; the same again as long as it is."""
        if status not in self.runs:
            server = self.owners.get(status, self.main)
            if status == "queued":
                self.fill(server)
            ids = self.begin(status, server)
            if status in ("cancelling", "cancelled"):
                self.cancel(status, ids, server)
            self.await_status(ids, status)
            self.runs[status] = ids
        return self.runs[status]

    def let_go(self, status):
        """It was changed: the next test gets another."""
        del self.runs[status]
        if status == "cancelling":
            self.owners[status].arm()


@pytest.fixture(scope="module")
def cluster(binary, scratch, upstream_process, recorder, database):
    servers = []

    def start(first=None, **settings):
        directory = pathlib.Path(tempfile.mkdtemp(prefix="transitions-", dir=scratch))
        directory.chmod(0o755)
        if first:
            settings["api_key"] = first.settings["api_key"]
        url = first.settings["database_url"] if first else database.new()
        server = FaultServer(binary, directory, upstream_process.url, recorder, lease_ttl=2,
                             drain_timeout=0.1, database_url=url, **settings)
        servers.append(server)
        return server.start()

    upstream_process.script(*[{"match": {"model": status}, "answer": answer}
                              for status, answer in ANSWERS.items()], models=list(ANSWERS))
    yield Cluster(start)
    for server in servers:
        server.arm()
        ended_well(server)


def filled(template, ids):
    if isinstance(template, dict):
        return {key: filled(value, ids) for key, value in template.items()}
    return template.format(**ids) if isinstance(template, str) else template


@pytest.mark.parametrize("operation", TABLE)
@pytest.mark.parametrize("status", ANSWERS)
def test_every_operation_in_every_status(cluster, status, operation):
    ids = cluster.get(status)
    method, path, body = REQUESTS[operation]
    answer = cluster.ask(method, filled(path, ids), filled(body, ids))
    expected = TABLE[operation][status]
    if " " in expected:
        assert answer.status_code == 400, answer.text
        assert answer.json()["error"] == {"message": filled(expected, ids), "param": None,
                                          "code": None, "type": "invalid_request_error"}
    else:
        assert answer.status_code == 200, answer.text
        assert expected in ("ok", answer.json().get("status"))
        if operation not in HARMLESS:
            cluster.let_go(status)
            return
    kept = cluster.ask("GET", filled("/threads/{thread}/runs/{run}", ids)).json()
    assert kept["status"] == status
    assert cluster.ask("GET", filled("/threads/{thread}/messages/{message}", ids)).status_code == 200
