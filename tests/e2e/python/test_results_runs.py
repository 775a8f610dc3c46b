"""Results that need an approval, in runs of threads: a call of the reserved function in
requires_action, answered through submit_tool_outputs."""

import json
import signal

import pytest

from harness.server import eventually
from harness.tools import WEATHER, asks_for, call
from test_approvals_runs import asked, begin, calls_of, last_text, settled, submit, tool_outputs_in

TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test"}
ASK = {"runnel": {"permissions": {"test": {"result": "always"}}}}
SECRET = "s3cret-and-long"


@pytest.fixture
def client(server):
    return server.sdk(strict=False)


def backwards(number=1, **more):
    return call("test_backwards", number, text=SECRET[::-1], **more)


def about(question):
    assert question.function.name == "runnel_approval"
    return json.loads(question.function.arguments)


@pytest.mark.feature("F39", "F44")
def test_an_approved_result_reaches_the_model(client, http, upstream, log):
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    run = begin(client, [TEST], extra_body=ASK)
    (question,) = asked(run)
    shown = about(question)
    assert shown["kind"] == "result" and shown["name"] == "test_count"
    assert shown["status"] == "success" and shown["output"].startswith("counted")
    assert shown["length"] == len(shown["output"]) and shown["truncated"] is False
    assert log.lines() == ["call_1"] and len(upstream.chats()) == 1
    (called,) = calls_of(client, run)
    assert called.name == "test_count" and called.output is None
    path = f"/v1/runnel/approvals/{question.id}"
    assert http.get(path).json()["result"]["output"] == shown["output"]

    run = submit(client, run, {question.id: "true"})
    assert run.status == "completed", run
    assert last_text(client, run).startswith("Done: counted") and log.lines() == ["call_1"]
    assert tool_outputs_in(upstream.chats()[-1]) == {"call_1": shown["output"]}
    assert calls_of(client, run)[0].output == shown["output"]
    assert http.get(path).json()["status"] == "approved"
    variables = http.get(f"/v1/runnel/threads/{run.thread_id}/variables").json()["data"]
    assert {one["type"] for one in variables} == {"ToolCallArgs", "ToolCallResult"}


@pytest.mark.feature("F39", "F42", "F43")
def test_a_refused_result_never_reaches_the_model(client, http, upstream):
    asks_for(upstream, backwards(), text="Well.")
    run = begin(client, [TEST], extra_body=ASK)
    (question,) = asked(run)
    assert about(question)["output"].startswith(SECRET)
    run = submit(client, run, {question.id: '{"approve":false,"reason":"private"}'})
    rejection = {"status": "rejected", "message": "private"}
    assert run.status == "completed" and json.loads(calls_of(client, run)[0].output) == rejection
    assert json.loads(tool_outputs_in(upstream.chats()[-1])["call_1"]) == rejection
    client.beta.threads.messages.create(run.thread_id, role="user", content="and?")
    for body in (ASK, {"runnel": {**ASK["runnel"], "history": "compact"}}):
        upstream.answer(text="Well.")
        later = client.beta.threads.runs.create(run.thread_id, assistant_id=run.assistant_id,
                                                extra_body=body)
        assert settled(client, later).status == "completed"
    assert SECRET not in json.dumps(upstream.asked())
    variables = http.get(f"/v1/runnel/threads/{run.thread_id}/variables").json()["data"]
    assert [one["type"] for one in variables] == ["ToolCallArgs"]


@pytest.mark.feature("F39")
def test_on_error_withholds_failures_only(client, upstream):
    body = {"runnel": {"permissions": {"test": {"result": "on-error"}}}}
    asks_for(upstream, backwards(1, fail=True), call("test_slow", 2, text="fine"), text="All.")
    run = begin(client, [TEST], extra_body=body)
    (question,) = asked(run)
    assert about(question)["status"] == "error" and about(question)["output"] == SECRET
    run = submit(client, run, {question.id: "false"})
    assert run.status == "completed" and SECRET not in json.dumps(upstream.asked())
    seen = tool_outputs_in(upstream.chats()[-1])
    assert json.loads(seen["call_1"])["message"] == "Result rejected by user"
    assert seen["call_2"].startswith("fine")


@pytest.mark.feature("F39", "F106")
def test_an_approved_call_can_need_an_approval_of_its_result(client, upstream, log):
    """Both approvals of a call, one after the other, beside a function of the client."""
    body = {"runnel": {"permissions": {"test/test_count": {"execution": "ask-always",
                                                           "result": "always"}}}}
    asks_for(upstream, call("get_weather", 1, city="Bern"),
             call("test_count", 2, path=log.name, text="counted"),
             call("test_backwards", 3, text="enif"), text="All.")
    run = begin(client, [WEATHER, TEST], extra_body=body)
    weather, before = asked(run)
    assert about(before)["kind"] == "execution" and log.lines() == []
    run = submit(client, run, {weather.id: "sunny", before.id: "true"})
    (after,) = asked(run)
    assert about(after)["kind"] == "result" and after.id != before.id
    assert log.lines() == ["call_2"] and len(upstream.chats()) == 1
    run = submit(client, run, {after.id: "true"})
    assert run.status == "completed" and log.lines() == ["call_2"]
    seen = tool_outputs_in(upstream.chats()[-1])
    assert seen["call_1"] == "sunny" and seen["call_2"].startswith("counted")
    assert seen["call_3"].startswith("fine")
    assert {c.name: c.output.split("<!--")[0].strip() for c in calls_of(client, run)} == {
        "get_weather": "sunny", "test_count": "counted", "test_backwards": "fine"}


@pytest.mark.feature("F39")
def test_events_show_the_result_in_the_approval_request_only(http, client, upstream):
    from harness.recorder import parse_events
    asks_for(upstream, backwards(), text="Well.")
    assistant = client.beta.assistants.create(model="demo", tools=[TEST])
    text = http.post("/v1/threads/runs", json={
        "assistant_id": assistant.id, "stream": True, **ASK,
        "thread": {"messages": [{"role": "user", "content": "go"}]}}).text
    events = [(name, data) for name, data in parse_events(text) if data != "[DONE]"]
    assert events[-1][0] in ("thread.run.requires_action", "done")
    with_it = {name for name, data in events if SECRET in data}
    assert with_it == {"thread.run.requires_action"}


@pytest.mark.feature("F43")
def test_a_run_that_ends_without_an_answer_delivers_nothing(client, upstream):
    asks_for(upstream, backwards(), text="Well.")
    run = begin(client, [TEST], extra_body=ASK)
    asked(run)
    client.beta.threads.runs.cancel(run.id, thread_id=run.thread_id)
    eventually(lambda: client.beta.threads.runs.retrieve(run.id, thread_id=run.thread_id),
               lambda r: r.status == "cancelled", seconds=40)
    upstream.answer(text="Well.")
    client.beta.threads.messages.create(run.thread_id, role="user", content="and?")
    later = client.beta.threads.runs.create(run.thread_id, assistant_id=run.assistant_id)
    assert settled(client, later).status == "completed"
    assert json.loads(tool_outputs_in(upstream.chats()[-1])["call_1"]) == {
        "status": "rejected", "message": "Result not approved for LLM"}
    assert SECRET not in json.dumps(upstream.asked())


@pytest.mark.feature("F106", "F110")
def test_an_approval_of_a_result_survives_a_restart(start_server, upstream, log):
    server = start_server()
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    run = begin(server.sdk(strict=False), [TEST], extra_body=ASK)
    (question,) = asked(run)
    server.kill()
    server.start()
    run = submit(server.sdk(strict=False), run, {question.id: "true"})
    assert run.status == "completed" and log.lines() == ["call_1"]
    assert tool_outputs_in(upstream.chats()[-1])["call_1"] == about(question)["output"]


@pytest.mark.feature("F11", "F110")
@pytest.mark.parametrize("status", ["cancelled", "execution_rejected"])
def test_the_status_of_a_withheld_result_survives_a_restart(start_server, upstream, database, log, status):
    """The approval of the result shows the status after a restart, too. Killed before the request, while
    the call beside it runs."""
    url = database.new()
    server = start_server(database_url=url, lease_ttl=1)
    client = server.sdk(strict=False)
    asks_for(upstream, call("test_ends", 1, status=status, why="not now"),
             call("test_count", 2, path=log.name, ms=60000), text="Well.")
    assistant = client.beta.assistants.create(model="demo")
    run = client.beta.threads.create_and_run(
        assistant_id=assistant.id, thread={"messages": [{"role": "user", "content": "go"}]},
        extra_body={"tools": [TEST], "runnel": {"permissions": {"test": {"result": "on-error"}}}})
    eventually(log.lines, lambda lines: lines == ["call_2"])
    eventually(lambda: database.ask("SELECT count(*) FROM tool_calls WHERE state = 'done'", url=url),
               lambda rows: rows == [["1"]])
    server.process.signal(signal.SIGKILL)
    server.process.child.wait()
    server.start()
    run = settled(server.sdk(strict=False), run)
    questions = {about(q)["name"]: about(q) for q in asked(run)}
    assert questions["test_ends"]["status"] == status
    assert "not now" in questions["test_ends"]["output"]


@pytest.mark.feature("F110")
@pytest.mark.parametrize("approve", ["true", "false"])
def test_an_answered_withheld_result_survives_a_crash(start_server, upstream, log, approve):
    """The server dies while the model answers, with the result or without it."""
    server = start_server(lease_ttl=1)
    client = server.sdk(strict=False)
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    run = begin(client, [TEST], extra_body=ASK)
    (question,) = asked(run)
    upstream.script({"answer": {"text": "slow", "delay_ms": 60000}})
    client.beta.threads.runs.submit_tool_outputs(
        run.id, thread_id=run.thread_id,
        tool_outputs=[{"tool_call_id": question.id, "output": approve}])
    eventually(upstream.chats, lambda chats: len(chats) == 2)
    server.process.signal(signal.SIGKILL)
    server.process.child.wait()
    upstream.script({"answer": {"text": "now"}})
    server.start()
    run = settled(server.sdk(strict=False), run)
    assert run.status == "completed" and log.lines() == ["call_1"]
    output = tool_outputs_in(upstream.chats()[-1])["call_1"]
    assert output == about(question)["output"] if approve == "true" else "rejected" in output
