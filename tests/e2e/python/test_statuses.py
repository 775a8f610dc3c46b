"""F11: how a call went, on both faces: each row of one table."""

import json

import pytest

from harness.tools import call

REFUSED = json.dumps({"status": "rejected", "message": "not now"}, separators=(",", ":"))
LIMIT = {"status": "incomplete", "reason": "max_rounds_reached",
         "message": "Tool chain execution stopped due to max rounds limit"}

# status: the call, of a response: status of the item, its error's text; what the model is told
TABLE = {
    "success": (call("test_slow", 1, text="fact"), "completed", None, "fact"),
    "error": (call("test_fail", 1, message="boom"), "failed", "boom", "boom"),
    "not_found": (call("nobody", 1), "failed", "Tool nobody not found", "Tool nobody not found"),
    "execution_rejected": (call("test_slow", 1, text="fact"), "incomplete", None, REFUSED),
    "limit": (call("test_slow", 1, text="fact"), "incomplete", None, LIMIT),
}


def tools(status):
    asks = "always" if status == "execution_rejected" else "never"
    return [{"type": "mcp", "server_label": "test", "server_url": "builtin:test",
             "require_approval": asks}]


def script(upstream, status):
    asked = TABLE[status][0]
    first = [{"times": 1, "answer": {"tool_calls": [call("test_slow", 9, text="first")]}}]
    upstream.script({"match": {"user": "[SYSTEM]"}, "answer": {"text": "ok"}},
                    *(first if status == "limit" else []),
                    {"times": 1, "answer": {"tool_calls": [asked]}}, {"answer": {"text": "ok"}})


def told(upstream):
    """What the model is told of the call: text, or an object where that is what it is."""
    (text,) = [m["content"] for m in upstream.chats()[-1]["messages"]
               if m["role"] == "tool" and m["tool_call_id"] == "call_1"]
    return json.loads(text) if text.startswith("{") else text


def wanted(status):
    text = TABLE[status][3]
    return json.loads(text) if isinstance(text, str) and text.startswith("{") else text


@pytest.mark.parametrize("status", TABLE)
def test_F11_a_status_of_a_response(client, upstream, status):
    script(upstream, status)
    extra = {"runnel": {"rounds": {"max": 1}}} if status == "limit" else {}
    response = client.responses.create(model="demo", input="go", tools=tools(status), extra_body=extra)
    if status == "execution_rejected":
        (asked,) = [i for i in response.output if i.type == "mcp_approval_request"]
        response = client.responses.create(
            model="demo", previous_response_id=response.id, tools=tools(status),
            input=[{"type": "mcp_approval_response", "approval_request_id": asked.id,
                    "approve": False, "reason": "not now"}])
    item = [i for i in response.output if i.type == "mcp_call"][-1]
    _, shown, error, _ = TABLE[status]
    assert item.status == shown
    assert (item.error.model_dump()["content"][0]["text"] if item.error else None) == error
    if error:
        assert item.error.type == "mcp_tool_execution_error" and item.output is None
    if status == "limit":
        assert item.runnel["reason"] == "max_rounds_reached"
    else:
        assert item.runnel["status"] == status
    assert told(upstream) == wanted(status)


@pytest.mark.parametrize("status", TABLE)
def test_F11_a_status_of_a_run(client, upstream, status):
    lax = client.copy()
    script(upstream, status)
    assistant = lax.beta.assistants.create(model="demo")
    thread = lax.beta.threads.create(messages=[{"role": "user", "content": "go"}])
    extra = {"runnel": {"rounds": {"max": 1}}} if status == "limit" else {}
    run = lax.beta.threads.runs.create_and_poll(
        thread_id=thread.id, assistant_id=assistant.id, poll_interval_ms=50,
        extra_body={"tools": tools(status), **extra})
    if status == "execution_rejected":
        (asked,) = run.required_action.submit_tool_outputs.tool_calls
        run = lax.beta.threads.runs.submit_tool_outputs_and_poll(
            run_id=run.id, thread_id=thread.id, poll_interval_ms=50, tool_outputs=[
                {"tool_call_id": asked.id, "output": '{"approve": false, "reason": "not now"}'}])
    assert run.status == "completed", run.last_error
    steps = lax.beta.threads.runs.steps.list(run.id, thread_id=thread.id, order="asc").data
    calls = [c for s in steps if s.type == "tool_calls" for c in s.step_details.tool_calls]
    (shown,) = [c for c in calls if c.id == "call_1"]
    output = shown.function.output
    assert (json.loads(output) if output.startswith("{") else output) == wanted(status) == told(upstream)
