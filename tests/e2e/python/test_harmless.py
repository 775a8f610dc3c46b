"""F108: what the server adds to OpenAI's protocol harms no SDK. The openai package of Python, by create() with
stream and by its stream helpers; those of Node are in tests/e2e/node/harmless.test.mjs."""

import json

import openai
import pytest

from harness.tools import asks_for, call


def group(require_approval):
    return [{"type": "mcp", "server_label": "test", "server_url": "builtin:test",
             "require_approval": require_approval}]


def everything(upstream):
    """Live metadata, attachments, a failure, arguments of no use, a tool that there is not, a limit."""
    notes = [{"title": "One", "n": 1}, {"title": "Two", "n": 2}, {"title": "Three", "n": 3}]
    upstream.script(
        {"match": {"user": "[SYSTEM]"}, "answer": {"text": "That is all."}},
        {"match": {"tool_results": True}, "answer": {"tool_calls": [call("test_slow", 5, text="x")]}},
        {"answer": {"text": "I look.", "tool_calls": [
            call("test_notes", 1, ms=150, notes=notes, text="read"), call("test_fail", 2, message="no"),
            {"name": "test_slow", "id": "call_3", "arguments": "{broken"}, call("nobody", 4)]}})


@pytest.fixture
def lax(client):
    """As programs have it: not strict."""
    return client.copy()


def created(client, **body):
    return list(client.responses.create(model="demo", stream=True, **body))


def helped(client, **body):
    with client.responses.stream(model="demo", **body) as stream:
        events = list(stream)
        if events[-1].type == "response.completed":
            stream.get_final_response()
    return events


@pytest.mark.feature("F104")
@pytest.mark.parametrize("way", [created, helped])
def test_a_response_with_metadata_failures_and_limits_is_harmless(lax, upstream, way):
    everything(upstream)
    events = way(lax, input="go", tools=group("never"), extra_body={"runnel": {"rounds": {"max": 1}}})
    live = [e for e in events if e.type == "response.mcp_call.in_progress" and hasattr(e, "runnel")]
    assert live and live[0].runnel["metadata"]["n"] >= 1
    response = events[-1].response
    assert response.runnel["stats"]["calls"] == 4
    calls = [i for i in response.output if i.type == "mcp_call"]
    assert sorted(i.runnel.get("status", i.runnel.get("reason")) for i in calls) == [
        "error", "error", "max_rounds_reached", "not_found", "success"]
    (noted,) = [i for i in calls if i.name == "test_notes"]
    assert noted.runnel["attachments"] and noted.runnel["variables"]


@pytest.mark.feature("F106")
@pytest.mark.parametrize("way", [created, helped])
def test_an_approval_of_a_response_is_harmless(lax, upstream, way):
    asks_for(upstream, call("test_slow", 1, text="x"))
    response = way(lax, input="go", tools=group("always"))[-1].response
    (asked,) = [i for i in response.output if i.type == "mcp_approval_request"]
    assert asked.runnel["kind"] == "execution"
    done = way(lax, tools=group("always"), previous_response_id=response.id, input=[
        {"type": "mcp_approval_response", "approval_request_id": asked.id, "approve": True}])
    assert done[-1].response.output_text == "Done: x"


@pytest.mark.parametrize("way", [created, helped])
def test_a_failing_chain_is_harmless(lax, upstream, way):
    upstream.script({"match": {"tool_results": True}, "answer": {"fault": {"kind": "status", "status": 400}}},
                    {"answer": {"tool_calls": [call("test_slow", 1, text="x")]}})
    with pytest.raises(openai.APIError) as raised:
        way(lax, input="go", tools=group("never"))
    assert raised.value.code == "invalid_prompt" and raised.value.type == "invalid_request_error"


@pytest.fixture
def start(lax):
    assistant = lax.beta.assistants.create(model="demo")
    thread = lax.beta.threads.create(messages=[{"role": "user", "content": "go"}])

    def start(require_approval):
        return {"thread_id": thread.id, "assistant_id": assistant.id,
                "extra_body": {"tools": group(require_approval)}}
    return start


@pytest.mark.feature("F105")
@pytest.mark.parametrize("way", ["create", "stream"])
def test_a_run_with_metadata_and_failures_is_harmless(lax, upstream, start, way):
    """Steps go from running to completed or failed, between what the model says."""
    everything(upstream)
    if way == "create":
        events = list(lax.beta.threads.runs.create(stream=True, **start("never")))
    else:
        with lax.beta.threads.runs.stream(**start("never")) as stream:
            events = list(stream)
    live = [e for e in events if e.event == "thread.runnel.step.metadata"]
    assert live and "n" in str(live[0].data)
    names = [e.event for e in events]
    assert names.index("thread.message.completed") < names.index("thread.runnel.step.metadata")
    assert "thread.run.completed" in names


@pytest.mark.feature("F106")
def test_an_approval_among_the_functions_of_a_run_is_harmless(lax, upstream, start):
    """The turn waits for the answer, and goes on where it was."""
    asks_for(upstream, call("test_slow", 1, text="x"))
    with lax.beta.threads.runs.stream(**start("always")) as stream:
        stream.until_done()
        run = stream.current_run
    assert run.status == "requires_action"
    (asked,) = run.required_action.submit_tool_outputs.tool_calls
    assert json.loads(asked.function.arguments)["name"] == "test_slow"
    with lax.beta.threads.runs.submit_tool_outputs_stream(
            run_id=run.id, thread_id=run.thread_id,
            tool_outputs=[{"tool_call_id": asked.id, "output": "true"}]) as stream:
        stream.until_done()
        assert stream.current_run.status == "completed"
        assert stream.get_final_messages()[0].content[0].text.value == "Done: x"
