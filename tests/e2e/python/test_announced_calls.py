"""A call that the server executes is shown when it starts, while its tool is still at work (F105). What another
call has done meanwhile is stored at its end, and shown when the one before it has ended."""

import json
import os

import pytest

from harness.server import eventually
from harness.shapes import TEST_TOOLS
from harness.tools import call

pytestmark = pytest.mark.timeout(120)

FINAL = ("completed", "failed", "incomplete", "cancelled", "expired")
LOST = "The server restarted while this tool ran; it may or may not have taken effect."


class Gate:
    """test_count waits at this path until it is opened."""

    def __init__(self, path):
        self.name = str(path)
        self.is_open = False
        os.mkfifo(path)

    def open(self):
        self.is_open = True
        self.reader = os.open(self.name, os.O_RDONLY | os.O_NONBLOCK)

    def close(self):
        if not self.is_open:
            self.open()
        os.close(self.reader)


@pytest.fixture
def gate(tmp_path):
    gate = Gate(tmp_path / "gate")
    yield gate
    gate.close()


@pytest.fixture
def api(server):
    client = server.http()
    client.base_url = f"{server.url}/v1"
    return client


def response(api, **body):
    return "/responses", {"model": "demo", "input": "go", "tools": [TEST_TOOLS], **body}


def run(api):
    assistant = api.post("/assistants", json={"model": "demo"}).json()["id"]
    return "/threads/runs", {"assistant_id": assistant, "tools": [TEST_TOOLS],
                             "thread": {"messages": [{"role": "user", "content": "go"}]}}


FACES = {"foreground": lambda api: response(api), "unstored": lambda api: response(api, store=False),
         "background": lambda api: response(api, background=True), "assistants": run}

# What a call shows when it starts, and when it has ended.
RESPONSE = (["response.output_item.added", "response.mcp_call.in_progress", "response.mcp_call_arguments.delta",
             "response.mcp_call_arguments.done"], ["response.mcp_call.completed", "response.output_item.done"])
RUN = (["thread.run.step.created", "thread.run.step.in_progress", "thread.run.step.delta",
        "thread.run.step.delta"],
       ["thread.run.step.delta", "thread.run.step.completed"])


def events(answer):
    """(name, data) of a stream, as they come."""
    name = None
    for line in answer.iter_lines():
        if line.startswith("event: "):
            name = line[7:]
        elif line.startswith("data: ") and line != "data: [DONE]" and name != "done":
            yield name, json.loads(line[6:])


def about_calls(stream):
    for name, data in stream:
        item = data.get("item", {})
        if name.startswith("response.mcp_call") or item.get("type") == "mcp_call":
            yield name, data
        elif name.startswith("thread.run.step."):
            details = data.get("step_details") or data["delta"]["step_details"]
            if details["type"] == "tool_calls":
                yield name, data


@pytest.mark.feature("F105")
@pytest.mark.threads
@pytest.mark.parametrize("face", FACES)
def test_a_call_is_announced_while_its_tool_is_silent(api, upstream, gate, face):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [call("test_count", 1, path=gate.name)]}})
    path, body = FACES[face](api)
    begins, ends = RUN if face == "assistants" else RESPONSE
    with api.stream("POST", path, json={**body, "stream": True}) as answer:
        stream = about_calls(events(answer))
        assert [next(stream)[0] for _ in begins] == begins
        assert not gate.is_open
        gate.open()
        assert [name for name, _ in stream] == ends


@pytest.mark.feature("F105")
def test_a_run_that_is_polled_shows_the_step_of_a_silent_call(api, upstream, gate):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [call("test_count", 1, path=gate.name)]}})
    path, body = run(api)
    made = api.post(path, json=body).json()
    at = f"/threads/{made['thread_id']}/runs/{made['id']}"
    (step,) = eventually(lambda: api.get(f"{at}/steps").json()["data"], len)
    (shown,) = step["step_details"]["tool_calls"]
    assert step["status"] == "in_progress"
    assert (shown["function"]["name"], shown["function"]["output"]) == ("test_count", None)
    gate.open()
    eventually(lambda: api.get(at).json()["status"], lambda status: status == "completed")


def test_a_call_that_waits_for_the_floor_is_announced_when_it_gets_it(api, upstream, gate, log):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [call("test_count", 1, path=gate.name),
                                               call("test_count", 2, path=log.name)]}})
    path, body = FACES["foreground"](api)
    with api.stream("POST", path, json={**body, "stream": True}) as answer:
        stream = about_calls(events(answer))
        assert [next(stream)[0] for _ in RESPONSE[0]] == RESPONSE[0]
        eventually(log.lines, lambda lines: lines == ["call_2"])
        gate.open()
        assert [name for name, _ in stream] == RESPONSE[1] + RESPONSE[0] + RESPONSE[1]


# ---- A result behind a silent call ----

def shown_calls(api, made):
    """Status and text of each call in the result."""
    if made["object"] == "response":
        items = api.get(f"/responses/{made['id']}").json()["output"]
        return [(i["status"], i["error"]["content"][0]["text"] if i["error"] else i["output"])
                for i in items if i["type"] == "mcp_call"]
    steps = api.get(f"/threads/{made['thread_id']}/runs/{made['id']}/steps").json()["data"]
    outputs = [c["function"]["output"] for s in steps if s["type"] == "tool_calls"
               for c in s["step_details"]["tool_calls"]]
    return [("failed" if output == LOST else "completed", output) for output in outputs]


def status(api, made):
    path = f"/threads/{made['thread_id']}/runs/{made['id']}" if made.get("thread_id") \
        else f"/responses/{made['id']}"
    return api.get(path).json()["status"]


@pytest.mark.slow
@pytest.mark.feature("F110")
@pytest.mark.parametrize("face", ["background", "assistants"])
def test_the_result_behind_a_silent_call_outlives_the_server(fault_server, upstream, database, gate, log,
                                                            face):
    upstream.script(
        {"match": {"tool_results": True}, "answer": {"text": "ok"}},
        {"answer": {"tool_calls": [call("test_count", 1, path=gate.name),
                                   call("test_count", 2, path=log.name, text="counted")]}})
    api = fault_server.api()
    path, body = FACES[face](api)
    made = api.post(path, json=body).json()
    eventually(lambda: database.ask(
        f"SELECT call_id, state FROM tool_calls WHERE run_id = '{made['id']}' ORDER BY call_id",
        url=fault_server.settings["database_url"]),
        lambda rows: rows == [["call_1", "running"], ["call_2", "done"]])
    fault_server.kill()
    fault_server.start()
    api = fault_server.api()
    assert eventually(lambda: status(api, made), lambda status: status in FINAL, seconds=60) == "completed"
    assert log.lines() == ["call_2"]
    assert sorted(shown_calls(api, made)) == [("completed", "counted"), ("failed", LOST)]
    sent = {m["tool_call_id"]: m["content"] for m in upstream.chats()[-1]["messages"]
            if m["role"] == "tool"}
    assert sent == {"call_1": LOST, "call_2": "counted"}


def test_a_call_that_has_ended_behind_a_silent_one_is_shown_when_the_run_is_cancelled(fault_server, upstream, database,
                                                                                      gate, log):
    """What it did is done: the thread must say so."""
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [call("test_count", 1, path=gate.name),
                                               call("test_count", 2, path=log.name, text="counted")]}})
    api = fault_server.api()
    path, body = run(api)
    made = api.post(path, json=body).json()
    eventually(lambda: database.ask(
        f"SELECT call_id, state FROM tool_calls WHERE run_id = '{made['id']}' ORDER BY call_id",
        url=fault_server.settings["database_url"]),
        lambda rows: rows == [["call_1", "running"], ["call_2", "done"]])
    assert api.post(f"/threads/{made['thread_id']}/runs/{made['id']}/cancel", json={}).status_code == 200
    eventually(lambda: status(api, made), lambda status: status == "cancelled")
    assert shown_calls(api, made) == [("completed", None), ("completed", "counted")]
