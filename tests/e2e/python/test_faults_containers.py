"""Containers on two servers with one database: runs go to the container's server, whatever server the client talks to."""

import json

import pytest

from harness.faults import FINAL
from harness.recorder import parse_events
from harness.sandbox import require_sandbox
from harness.server import eventually
from harness.tools import WEATHER, call

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

AUTO = {"type": "code_interpreter", "container": {"type": "auto"}}
SHELL = {"type": "shell", "environment": {"type": "container_auto"}}
CODE = {"type": "mcp", "server_label": "code", "server_url": "builtin:code", "require_approval": "never"}


@pytest.fixture(autouse=True)
def sandbox(binary):
    require_sandbox(binary)


@pytest.fixture
def pair(start_fault_server):
    first = start_fault_server(lease_ttl=1)
    second = start_fault_server(url=first.settings["database_url"], lease_ttl=1)
    eventually(lambda: first.api().get("/runnel/health").status_code, lambda status: status in (200, 404))
    return first, second


def script(upstream, *calls):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}}, {"answer": {"tool_calls": list(calls)}})


def cell(upstream, code):
    script(upstream, call("python", 1, code=code))


def read_of(upstream):
    """What the model has read of its last call."""
    return [m["content"] for m in upstream.chats()[-1]["messages"] if m["role"] == "tool"][-1]


def respond(server, **body):
    return server.api().post("/responses", json={"model": "demo", "input": "go", "tools": [AUTO], **body}).json()


def streamed(server, path, body):
    text = server.api().post(path, json={**body, "stream": True}).text
    return [(name, json.loads(data)) for name, data in parse_events(text) if data != "[DONE]"]


def owners(database, server, where="true"):
    return database.ask(f"SELECT node_id FROM containers WHERE {where}", url=server.settings["database_url"])


# ---- A run is made for the node of its container ----

def test_a_thread_finds_its_variables_behind_any_server(pair, upstream, database):
    first, second = pair
    cell(upstream, "x = 41")
    assistant = first.api().post("/assistants", json={"model": "demo", "tools": [{"type": "code_interpreter"}]}).json()
    thread = first.api().post("/threads", json={"messages": [{"role": "user", "content": "go"}]}).json()["id"]
    path, body = f"/threads/{thread}/runs", {"assistant_id": assistant["id"],
                                            "additional_messages": [{"role": "user", "content": "go"}]}
    here = streamed(first, path, body)
    assert here[-1][0] == "thread.run.completed"
    cell(upstream, "x += 1; print(x)")
    there = streamed(second, path, body)
    assert read_of(upstream) == "42\n"
    kinds = [[name for name, _ in events if not name.endswith("delta")] for events in (here, there)]
    assert kinds[0] == kinds[1]
    run = second.api().post(path, json=body).json()
    assert run["status"] == "queued"
    done = eventually(lambda: second.api().get(f"{path}/{run['id']}").json(), lambda run: run["status"] in FINAL)
    assert done["status"] == "completed" and read_of(upstream) == "43\n"
    assert len(owners(database, first)) == 1


@pytest.mark.parametrize("how", ["plain", "stream", "background", "conversation"])
def test_a_response_finds_its_variables_behind_any_server(pair, upstream, database, how):
    first, second = pair
    cell(upstream, "x = 41")
    more = {"conversation": first.api().post("/conversations", json={}).json()["id"]} if how == "conversation" else {}
    before = respond(first, **more)
    cell(upstream, "print(x + 1)")
    body = {"model": "demo", "input": "go", "tools": [AUTO], **(more or {"previous_response_id": before["id"]})}
    if how == "stream":
        events = streamed(second, "/responses", body)
        assert [event["sequence_number"] for _, event in events] == list(range(len(events)))
        assert [name for name, _ in events[:2]] == ["response.created", "response.in_progress"]
        after = events[-1][1]["response"]
    else:
        after = respond(second, **body, background=how == "background")
    if how == "background":
        after = eventually(lambda: second.api().get(f"/responses/{after['id']}").json(),
                           lambda response: response["status"] in FINAL)
    assert after["status"] == "completed" and read_of(upstream) == "42\n"
    assert after["output"][0]["container_id"] == before["output"][0]["container_id"]
    assert len(owners(database, first)) == 1


def test_a_named_container_is_used_where_it_is(pair, upstream):
    first, second = pair
    made = first.api().post("/containers", json={"name": "box"}).json()
    cell(upstream, "x = 41")
    respond(second, tools=[{"type": "code_interpreter", "container": made["id"]}])
    cell(upstream, "print(x + 1)")
    respond(first, tools=[{"type": "code_interpreter", "container": made["id"]}])
    assert read_of(upstream) == "42\n"


@pytest.mark.parametrize("tool, then", [
    (SHELL, call("shell", 1, commands=["cat note.txt"])), (CODE, call("read", 1, file_path="note.txt"))],
    ids=["shell", "code"])
def test_other_tools_find_their_files_behind_any_server(pair, upstream, database, tool, then):
    first, second = pair
    script(upstream, call("shell", 1, commands=["echo kept > note.txt"]))
    before = respond(first, tools=[SHELL])
    script(upstream, then)
    after = respond(second, tools=[tool], previous_response_id=before["id"])
    assert after["status"] == "completed" and "kept" in read_of(upstream)
    assert [item["type"] for item in after["output"]] == {
        "shell": ["shell_call", "shell_call_output", "message"], "code": ["mcp_list_tools", "mcp_call", "message"]
    }[tool.get("server_label", "shell")]
    assert len(owners(database, first)) == 1


def test_outputs_that_come_to_another_server_go_to_the_container(pair, upstream, database):
    """The second server stores them, and follows the run, which the first one continues."""
    first, second = pair
    upstream.script({"match": {"tool_results": {"min": 3}}, "answer": {"text": "Done."}},
                    {"match": {"tool_results": {"min": 2}}, "answer": {"tool_calls": [call("python", 3, code="print(x + 1)")]}},
                    {"match": {"tool_results": {"min": 1}}, "answer": {"tool_calls": [call("get_weather", 2, city="Oslo")]}},
                    {"answer": {"tool_calls": [call("python", 1, code="x = 41")]}})
    assistant = first.api().post("/assistants", json={"model": "demo", "tools": [{"type": "code_interpreter"}, WEATHER]})
    thread = first.api().post("/threads", json={"messages": [{"role": "user", "content": "go"}]}).json()["id"]
    path = f"/threads/{thread}/runs"
    run = first.api().post(path, json={"assistant_id": assistant.json()["id"]}).json()["id"]
    eventually(lambda: second.api().get(f"{path}/{run}").json(), lambda run: run["status"] == "requires_action")
    events = streamed(second, f"{path}/{run}/submit_tool_outputs",
                      {"tool_outputs": [{"tool_call_id": "call_2", "output": "sunny"}]})
    assert [name for name, _ in events][:3] == ["thread.run.step.completed", "thread.run.queued", "thread.run.in_progress"]
    assert events[-1][0] == "thread.run.completed" and read_of(upstream) == "42\n"
    assert len(owners(database, first)) == 1


def test_a_run_without_such_a_tool_stays(pair, upstream):
    first, second = pair
    cell(upstream, "x = 41")
    before = respond(first)
    upstream.answer(text="Hello.")
    had = first.metric("runs_started_total")
    after = respond(second, tools=[], previous_response_id=before["id"])
    assert after["status"] == "completed" and first.metric("runs_started_total") == had
