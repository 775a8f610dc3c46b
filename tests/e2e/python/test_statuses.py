"""F11: how a call ended, on both faces: each row of one table."""

import json

import pytest

from harness.tools import call

REFUSED = json.dumps({"status": "rejected", "message": "not now"}, separators=(",", ":"))
LIMIT = {"status": "incomplete", "reason": "max_rounds_reached",
         "message": "Tool chain execution stopped due to max rounds limit"}

CANCELLED = {"status": "incomplete", "message": "moved away", "reason": "cancelled"}


def ends(status, **how):
    return call("test_ends", 1, status=status, **how)


# status: the call, of a response: status of the item, its error's text; what the model gets
TABLE = {
    "success": (call("test_slow", 1, text="fact"), "completed", None, "fact"),
    "error": (call("test_fail", 1, message="boom"), "failed", "boom", "boom"),
    "not_found": (call("nobody", 1), "failed", "Tool nobody not found", "Tool nobody not found"),
    "execution_rejected": (call("test_slow", 1, text="fact"), "incomplete", None, REFUSED),
    "its own error": (ends("error", text="half", why="ignored"), "failed", "half", "half"),
    "its own silent error": (ends("error"), "failed", *2 * ("test_ends failed and did not say why",)),
    "its own not_found": (ends("not_found", why="no such page"), "failed", *2 * ("no such page",)),
    "its own execution_rejected": (ends("execution_rejected", why="not now", text="ignored"),
                                   "incomplete", None, REFUSED),
    "its own cancelled": (ends("cancelled", why="moved away", text="ignored"), "incomplete", None,
                          CANCELLED),
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


def sent(upstream):
    """The call's output as the model gets it: text, or an object."""
    (text,) = [m["content"] for m in upstream.chats()[-1]["messages"]
               if m["role"] == "tool" and m["tool_call_id"] == "call_1"]
    return json.loads(text) if text.startswith("{") else text


def wanted(status):
    text = TABLE[status][3]
    return json.loads(text) if isinstance(text, str) and text.startswith("{") else text


@pytest.mark.parametrize("status", TABLE)
def test_every_status_of_a_call_in_a_response(client, upstream, status):
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
        assert item.runnel["status"] == status.split()[-1]
    assert sent(upstream) == wanted(status)


@pytest.mark.parametrize("status", TABLE)
def test_every_status_of_a_call_in_a_run(client, upstream, status):
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
    assert (json.loads(output) if output.startswith("{") else output) == wanted(status) == sent(upstream)


# ---- What a tool itself says of its end ----

TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test"}
UNDONE = {"execution_rejected": json.loads(REFUSED),
          "cancelled": {"status": "incomplete", "message": "not now", "reason": "cancelled"}}


def go(client, upstream, status, name="test_ends", runnel=None, **how):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [call(name, 1, status=status, **how)]}})
    return client.responses.create(model="demo", input="go", tools=[TEST],
                                   extra_body={"runnel": runnel} if runnel else None)


@pytest.mark.parametrize("status", UNDONE)
def test_a_call_that_was_not_executed_says_why(client, upstream, status):
    """To clients as to the model; no variable is kept, and the next turn still knows."""
    response = go(client, upstream, status, why="not now", text="ignored")
    (item,) = [i for i in response.output if i.type == "mcp_call"]
    assert item.output is None and item.error is None
    assert item.runnel["title"] == "Ended" and "variables" not in item.runnel
    reason = item.runnel["reject_reason" if status == "execution_rejected" else "reason"]
    assert reason == "not now" and json.loads(item.runnel["output"]) == UNDONE[status]
    upstream.script({"answer": {"text": "ok"}})
    client.responses.create(model="demo", previous_response_id=response.id, input="and?")
    assert sent(upstream) == UNDONE[status]


@pytest.mark.parametrize("status", UNDONE)
def test_a_final_tool_that_does_nothing_is_no_answer(client, upstream, status):
    """The model gets the status and answers."""
    response = go(client, upstream, status, "test_ends_final", why="not now")
    assert response.output_text == "ok" and sent(upstream) == UNDONE[status]
    (item,) = [i for i in response.output if i.type == "mcp_call"]
    assert item.status == "incomplete" and item.runnel["status"] == status


def test_a_final_tool_that_fails_half_way_says_why(client, upstream):
    """What it had said is a message; why it failed is in its call, and for the model."""
    response = go(client, upstream, "error", "test_ends_final", why="the disk is full",
                  pieces=["Half an "])
    assert [part.text for item in response.output if item.type == "message" for part in item.content] == [
        "Half an ", "ok"]
    (item,) = [i for i in response.output if i.type == "mcp_call"]
    assert item.status == "failed" and item.output is None
    assert [part["text"] for part in item.to_dict()["error"]["content"]] == ["the disk is full"]
    assert sent(upstream) == "the disk is full"
    upstream.script({"answer": {"text": "ok"}})
    client.responses.create(model="demo", previous_response_id=response.id, input="and?")
    assert sent(upstream) == "the disk is full"


@pytest.mark.parametrize("status", UNDONE)
def test_the_status_of_a_hidden_tool_reaches_the_model_only(client, upstream, status):
    response = go(client, upstream, status, "test_ends_hidden", why="not now")
    assert [item.type for item in response.output if item.type != "mcp_list_tools"] == ["message"]
    assert sent(upstream) == UNDONE[status]
    upstream.script({"answer": {"text": "ok"}})
    client.responses.create(model="demo", previous_response_id=response.id, input="and?")
    assert sent(upstream) == UNDONE[status]


@pytest.mark.feature("F39")
@pytest.mark.parametrize("approve", [True, False])
@pytest.mark.parametrize("status", UNDONE)
def test_a_result_with_a_status_can_need_an_approval(client, upstream, status, approve):
    """With a policy that asks when a tool fails."""
    runnel = {"permissions": {"test": {"result": "on-error"}}}
    asked = go(client, upstream, status, runnel=runnel, why="not now")
    assert len(upstream.chats()) == 1
    (question,) = [i for i in asked.output if i.type == "mcp_approval_request"]
    assert question.runnel["kind"] == "result" and question.runnel["status"] == status
    assert json.loads(question.runnel["output"]) == UNDONE[status]
    done = client.responses.create(
        model="demo", previous_response_id=asked.id, tools=[TEST], extra_body={"runnel": runnel},
        input=[{"type": "mcp_approval_response", "approval_request_id": question.id,
                "approve": approve, "reason": "no"}])
    assert done.output_text == "ok"
    assert sent(upstream) == (UNDONE[status] if approve else {"status": "rejected", "message": "no"})
    (item,) = [i for i in client.responses.retrieve(asked.id).output if i.type == "mcp_call"]
    if approve:
        assert item.runnel["status"] == status and item.runnel["title"] == "Ended"
    else:
        assert item.runnel["status"] == "result_rejected" and item.runnel["reject_reason"] == "no"
        assert not item.runnel.keys() & {"reason", "title", "metadata"}
        assert "not now" not in json.dumps(item.runnel)


@pytest.mark.feature("F64")
@pytest.mark.parametrize("status, error", [
    ("execution_rejected", "Execution not approved"), ("cancelled", "Execution cancelled"),
    ("not_found", "not now"), ("error", "not now")])
def test_the_chain_says_how_it_ended(client, upstream, http, status, error):
    response = go(client, upstream, status, why="not now")
    (entry,) = http.get(f"/v1/runnel/responses/{response.id}/chain").json()["tool_call_history"]
    assert entry["result"]["status"] == status and entry["result"]["error"] == error
    assert entry["result"]["data"] is None
    upstream.script({"answer": {"text": "ok"}})
    client.responses.create(model="demo", previous_response_id=response.id, input="and?",
                            extra_body={"runnel": {"history": "compact"}})
    said = json.dumps(upstream.chats()[-1]["messages"], ensure_ascii=False)
    assert f": {error}" in said and "Tool Execution Log" in said
