"""Calls that need an approval before they run: answered with the standard SDK, through
mcp_approval_request and mcp_approval_response."""

import json
import threading

import openai
import pytest

from harness.faults import listen
from harness.recorder import parse_events
from harness.server import eventually
from harness.tools import WEATHER_FLAT, asks_for, call
from harness.websocket import WebSocket

TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test",
        "require_approval": "always"}


def questions(response):
    return [item for item in response.output if item.type == "mcp_approval_request"]


def calls_of(response):
    return [item for item in response.output if item.type == "mcp_call"]


def answer(question, approve=True, **more):
    return {"type": "mcp_approval_response", "approval_request_id": question.id,
            "approve": approve, **more}


def tool_outputs_in(chat):
    return {m["tool_call_id"]: m["content"] for m in chat["messages"] if m["role"] == "tool"}


@pytest.fixture
def ask(client, upstream, log):
    """A response whose call of test_count waits for an approval."""
    def ask(tool=TEST, **body):
        asks_for(upstream, call("test_count", path=log.name, text="counted"))
        return client.responses.create(model="demo", input="go", tools=[tool], **body)
    return ask


@pytest.fixture
def go_on(client):
    def go_on(response, *answers, tool=TEST, **body):
        return client.responses.create(model="demo", previous_response_id=response.id,
                                       input=list(answers), tools=[tool], **body)
    return go_on


# ---- The usual way ----

@pytest.mark.feature("F34", "F45")
def test_an_approved_call_runs_before_the_next_turn(ask, go_on, upstream, log):
    asked = ask()
    assert asked.status == "completed"
    assert [item.type for item in asked.output] == ["mcp_list_tools", "mcp_approval_request"]
    (question,) = questions(asked)
    assert question.server_label == "test" and question.name == "test_count"
    assert json.loads(question.arguments) == {"path": log.name, "text": "counted"}
    assert log.lines() == [] and len(upstream.chats()) == 1

    done = go_on(asked, answer(question))
    (called,) = calls_of(done)
    assert called.approval_request_id == question.id
    assert called.status == "completed" and called.output == "counted"
    assert done.output_text == "Done: counted"
    assert log.lines() == ["call_1"]
    first, second = upstream.chats()
    assert second["messages"][:-2] == first["messages"]
    assert second["messages"][-2]["tool_calls"][0]["function"]["name"] == "test_count"
    assert tool_outputs_in(second) == {"call_1": "counted"}


@pytest.mark.feature("F42")
def test_a_refusal_reaches_the_model_with_its_reason(ask, go_on, upstream, log):
    asked = ask()
    done = go_on(asked, answer(*questions(asked), approve=False, reason="not \"this\" file"))
    (called,) = calls_of(done)
    assert called.status == "incomplete" and called.output is None and called.error is None
    assert called.runnel["status"] == "execution_rejected"
    assert called.runnel["reject_reason"] == "not \"this\" file"
    assert json.loads(tool_outputs_in(upstream.chats()[-1])["call_1"]) == {
        "status": "rejected", "message": "not \"this\" file"}
    assert log.lines() == []
    # The conversation continues with the result.
    go_on(done, {"role": "user", "content": "and now?"})
    assert "not" in tool_outputs_in(upstream.chats()[-1])["call_1"]


def test_a_refusal_without_a_reason_has_the_default_reason(ask, go_on, upstream):
    asked = ask()
    go_on(asked, answer(*questions(asked), approve=False))
    assert json.loads(tool_outputs_in(upstream.chats()[-1])["call_1"])["message"] == (
        "Execution rejected by user")


@pytest.mark.feature("F45")
def test_an_approval_request_and_its_answer_have_their_events(http, upstream, log):
    asks_for(upstream, call("test_count", path=log.name, text="counted"))

    def stream(**body):
        text = http.post("/v1/responses", json={"model": "demo", "tools": [TEST], "stream": True,
                                                **body}).text
        return [json.loads(data) for _, data in parse_events(text) if data != "[DONE]"]

    events = stream(input="go")
    assert [e["type"] for e in events][-3:] == [
        "response.output_item.added", "response.output_item.done", "response.completed"]
    question = events[-2]["item"]
    assert question["type"] == "mcp_approval_request" and "status" not in question
    assert events[-3]["item"] == question
    assert question["runnel"]["kind"] == "execution"
    assert question["runnel"]["policy"] == "ask-always"
    kept = http.get(f"/v1/responses/{events[-1]['response']['id']}").json()
    assert kept["output"][-1] == question
    events = stream(previous_response_id=kept["id"], input=[{
        "type": "mcp_approval_response", "approval_request_id": question["id"],
        "approve": True}])
    called = [e for e in events if e.get("item", {}).get("type") == "mcp_call"]
    assert [e["type"] for e in called] == ["response.output_item.added",
                                           "response.output_item.done"]
    assert all(e["item"]["approval_request_id"] == question["id"] for e in called)


@pytest.mark.feature("F34")
def test_only_calls_that_need_an_approval_wait(client, upstream, log, go_on):
    asks_for(upstream, call("test_slow", 1, text="at once"),
             call("test_count", 2, path=log.name, text="later"))
    tool = {**TEST, "require_approval": {"always": {"tool_names": ["test_count"]},
                                         "never": {"tool_names": ["test_slow"]}}}
    asked = client.responses.create(model="demo", input="go", tools=[tool])
    (ran,) = calls_of(asked)
    assert ran.name == "test_slow" and ran.output == "at once"
    (question,) = questions(asked)
    done = go_on(asked, answer(question), tool=tool)
    assert [one.name for one in calls_of(done)] == ["test_count"]
    assert tool_outputs_in(upstream.chats()[-1]) == {"call_1": "at once", "call_2": "later"}


@pytest.mark.feature("F34")
@pytest.mark.parametrize("word, needs_approval", [
    ({"always": {"read_only": True}}, ["datetime"]),
    ({"always": {"read_only": False}}, []),
], ids=str)
def test_read_only_tools_wait_where_the_request_says_so(client, upstream, word, needs_approval):
    asks_for(upstream, call("datetime"))
    basic = {"type": "mcp", "server_label": "basic", "server_url": "builtin:basic"}
    response = client.responses.create(model="demo", input="go",
                                       tools=[{**basic, "require_approval": word}])
    assert [question.name for question in questions(response)] == needs_approval


@pytest.mark.feature("F13")
def test_a_group_can_be_limited_to_read_only_tools(client, upstream):
    """`read_only` counts for groups as for remote servers, whose listing says of each tool what it is."""
    for wanted, offered in ((True, ["ListVars", "ReadVar"]), (False, ["RemoveVars", "WriteVar"])):
        response = client.responses.create(model="demo", input="go", tools=[{
            "type": "mcp", "server_label": "vars", "server_url": "builtin:vars",
            "allowed_tools": {"read_only": wanted}}])
        listed = response.output[0].tools
        assert sorted(one.name for one in listed) == offered
        assert {json.dumps(one.annotations) for one in listed} == {
            '{"readOnlyHint": true}' if wanted else "null"}


@pytest.mark.feature("F13")
def test_a_group_cannot_allow_a_tool_that_it_does_not_have(client, upstream):
    for allowed in (["test_slow", "test_slwo"], {"tool_names": ["test_slwo"]}):
        error = refused(lambda tool={**TEST, "allowed_tools": allowed}: client.responses.create(
            model="demo", input="go", tools=[tool]))
        assert (error["param"], error["code"]) == ("tools[0].allowed_tools", "invalid_value")
        assert error["message"] == ("Invalid 'tools[0].allowed_tools': there is no tool 'test_slwo' in "
                                    "the group 'test'.")
    assert upstream.requests() == []


def test_several_approval_requests_are_answered_together(client, upstream, go_on):
    asks_for(upstream, *(call("test_slow", n, text=f"t{n}") for n in range(1, 4)))
    asked = client.responses.create(model="demo", input="go", tools=[TEST])
    answers = [answer(q, approve=n != 1) for n, q in enumerate(questions(asked))]
    go_on(asked, *answers)
    seen = tool_outputs_in(upstream.chats()[-1])
    assert seen["call_1"] == "t1" and "rejected" in seen["call_2"] and seen["call_3"] == "t3"


def test_approval_requests_and_client_calls_share_a_turn(client, upstream, log):
    asks_for(upstream, call("get_weather", 1, city="Bern"),
             call("test_count", 2, path=log.name, text="counted"))
    tools = [WEATHER_FLAT, TEST]
    asked = client.responses.create(model="demo", input="go", tools=tools)
    output = {"type": "function_call_output", "call_id": "call_1", "output": "sunny"}
    done = client.responses.create(model="demo", previous_response_id=asked.id, tools=tools,
                                   input=[output, answer(*questions(asked))])
    assert [c.output for c in calls_of(done)] == ["counted"]
    assert tool_outputs_in(upstream.chats()[-1]) == {"call_1": "sunny", "call_2": "counted"}


def test_an_approval_works_in_a_conversation(client, upstream, log):
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    conversation = client.conversations.create().id
    asked = client.responses.create(model="demo", input="go", tools=[TEST],
                                    conversation=conversation)
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(model="demo", input="hello", tools=[TEST],
                                conversation=conversation)
    assert "No approval response found" in str(refused.value)
    done = client.responses.create(model="demo", input=[answer(*questions(asked))], tools=[TEST],
                                   conversation=conversation)
    assert calls_of(done)[0].output == "counted" and log.lines() == ["call_1"]
    again = client.responses.create(model="demo", input="hello", tools=[TEST],
                                    conversation=conversation)
    assert again.status == "completed" and log.lines() == ["call_1"]


def test_an_approval_works_in_a_background_response(ask, go_on, client, log):
    def ended(response):
        return eventually(lambda: client.responses.retrieve(response.id),
                          lambda r: r.status == "completed", seconds=30)
    asked = ended(ask(background=True))
    done = ended(go_on(asked, answer(*questions(asked)), background=True))
    assert calls_of(done)[0].output == "counted" and log.lines() == ["call_1"]


def test_a_call_that_cannot_run_needs_no_approval(client, upstream):
    asks_for(upstream, call("nothing"))
    done = client.responses.create(model="demo", input="go", tools=[TEST])
    assert not questions(done) and "Tool nothing not found" in tool_outputs_in(upstream.chats()[-1])["call_1"]


# ---- Invalid answers ----

def refused(make, status=400):
    with pytest.raises(openai.APIStatusError) as caught:
        make()
    assert caught.value.status_code == status, caught.value
    return caught.value.body


def test_every_approval_request_must_be_answered(ask, go_on, log):
    asked = ask()
    (question,) = questions(asked)
    error = refused(lambda: go_on(asked, {"role": "user", "content": "well?"}))
    assert error["message"] == (
        f"No approval response found for approval request {question.id}.")
    assert error["param"] == "input" and error["type"] == "invalid_request_error"
    assert log.lines() == []


@pytest.mark.feature("F45")
def test_a_request_may_reject_what_it_leaves_unanswered(client, go_on, http, upstream, log):
    """As a person does who types on instead of answering. Nothing of it is remembered."""
    asks_for(upstream, *[call("test_count", i + 1, path=log.name, text=f"{i}") for i in range(2)])
    asked = client.responses.create(model="demo", input="go", tools=[TEST])
    first, second = questions(asked)
    typed = {"role": "user", "content": "well?"}
    refused(lambda: go_on(asked, typed, answer(first)))
    reject = {"runnel": {"approval": {"pending": "reject"}}}
    done = go_on(asked, typed, answer(first), extra_body=reject)
    assert done.status == "completed" and log.lines() == ["call_1"]
    assert {one.runnel["status"]: one.output for one in calls_of(done)} == {
        "success": "0", "execution_rejected": None}
    sent = tool_outputs_in(upstream.chats()[-1])
    assert sent["call_1"] == "0" and json.loads(sent["call_2"]) == {
        "status": "rejected", "message": "The approval request was not answered."}
    shown = [http.get(f"/v1/runnel/approvals/{one.id}").json() for one in (first, second)]
    assert [(one["status"], one["reason"], one["used_by"]) for one in shown] == [
        ("approved", None, done.id), ("rejected", "The approval request was not answered.", done.id)]
    assert http.post(f"/v1/runnel/approvals/{second.id}", json={"approve": True}).status_code == 409
    assert not http.get(f"/v1/runnel/approval_grants?scope_id={done.id}").json()["data"][1:]
    error = refused(lambda: go_on(asked, extra_body={"runnel": {"approval": {"pending": "allow"}}}))
    assert error["param"] == "runnel.approval.pending"


def test_an_answer_needs_its_approval_request(ask, go_on, client):
    asked = ask()
    (question,) = questions(asked)
    other = {"type": "mcp_approval_response", "approval_request_id": "mcpr_x", "approve": True}
    error = refused(lambda: go_on(asked, answer(question), other))
    assert error["message"] == ("No approval request found for approval response with "
                                "approval_request_id mcpr_x.")
    error = refused(lambda: client.responses.create(model="demo", input=[answer(question)],
                                                    tools=[TEST]))
    assert "No approval request found" in error["message"]
    assert go_on(asked, answer(question)).status == "completed"


def test_a_reason_has_the_limit_of_the_approvals_api(ask, go_on, http, client):
    (question,) = questions(asked := ask())
    wrong = answer(question, approve=False, reason="x" * 4097)
    message = {"role": "user", "content": "well?"}
    error = refused(lambda: go_on(asked, message, wrong))
    assert error["param"] == "input[1].reason" and error["code"] == "string_above_max_length"
    assert error["type"] == "invalid_request_error"
    assert error["message"] == (
        "Invalid 'input[1].reason': string too long. Expected a string with maximum length 4096, "
        "but got a string with length 4097 instead.")
    decided = http.post(f"/v1/runnel/approvals/{question.id}", json={"approve": False, "reason": "x" * 4097})
    assert decided.json()["error"]["message"] == error["message"].replace("input[1].", "")
    conversation = client.conversations.create().id
    kept = http.post(f"/v1/conversations/{conversation}/items", json={"items": [wrong]})
    assert kept.status_code == 400 and kept.json()["error"]["param"] == "items[0].reason"
    # Characters, not bytes.
    assert go_on(asked, {**wrong, "reason": "\u00e9" * 4096}).status == "completed"


def test_a_request_deleted_meanwhile_is_named_and_not_its_conversation(start_server, database, upstream, log):
    """It exists when the answer arrives, and is deleted before the answer is used."""
    server = start_server(database_url=(url := database.new()))
    client = server.sdk()
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    conversation = client.conversations.create().id
    (question,) = questions(client.responses.create(model="demo", input="go", tools=[TEST],
                                                    conversation=conversation))
    database.ask("CREATE FUNCTION goes() RETURNS trigger LANGUAGE plpgsql AS"
                 " 'BEGIN DELETE FROM approvals; RETURN NEW; END';"
                 " CREATE TRIGGER goes BEFORE INSERT ON runs FOR EACH ROW EXECUTE FUNCTION goes()",
                 url=url)
    gone = server.http().post("/v1/responses", json={
        "model": "demo", "input": [answer(question)], "tools": [TEST], "conversation": conversation})
    assert gone.status_code == 404
    assert gone.json()["error"]["message"] == f"Approval request with id '{question.id}' not found."
    assert log.lines() == []


def test_two_answers_to_one_request_are_refused(ask, go_on, log):
    asked = ask()
    (question,) = questions(asked)
    error = refused(lambda: go_on(asked, answer(question), answer(question, approve=False)))
    assert error["message"] == f"Approval request '{question.id}' is answered twice."
    assert log.lines() == []


@pytest.mark.feature("F46")
def test_the_first_answer_wins(ask, go_on, client, log):
    client = client.with_options(max_retries=0)
    asked = ask()
    (question,) = questions(asked)
    done = go_on(asked, answer(question))

    def again(approve):
        return refused(lambda: client.responses.create(
            model="demo", previous_response_id=asked.id, tools=[TEST],
            input=[answer(question, approve=approve)]), 409)
    assert again(False)["message"] == (
        f"Approval request '{question.id}' was already decided: it is approved.")
    assert again(True)["message"] == (
        f"Approval request '{question.id}' was already taken up by response '{done.id}'.")
    assert log.lines() == ["call_1"]


def test_the_approved_tool_must_still_be_offered(ask, go_on, log):
    asked = ask()
    (question,) = questions(asked)
    error = refused(lambda: go_on(asked, answer(question),
                                  tool={**TEST, "allowed_tools": ["test_slow"]}))
    assert error["param"] == "tools" and "is not offered by this request" in error["message"]
    assert go_on(asked, answer(question)).status == "completed" and log.lines() == ["call_1"]


def test_sending_the_whole_history_again_answers_nothing_twice(ask, go_on, client, upstream, log):
    asked = ask()
    (question,) = questions(asked)
    done = go_on(asked, answer(question))
    story = [{"role": "user", "content": "go"}, question.to_dict(), answer(question),
             calls_of(done)[0].to_dict(), {"role": "user", "content": "and?"}]
    client.responses.create(model="demo", input=story, tools=[TEST])
    assert list(tool_outputs_in(upstream.chats()[-1]).values()) == ["counted"]
    assert log.lines() == ["call_1"]


@pytest.mark.feature("F46")
def test_another_project_cannot_see_or_answer_an_approval(ask, stranger, http, stranger_key):
    asked = ask()
    (question,) = questions(asked)
    error = refused(lambda: stranger.responses.create(
        model="demo", input=[answer(question)], tools=[TEST]))
    assert "No approval request found" in error["message"]
    headers = {"Authorization": f"Bearer {stranger_key}"}
    path = f"/v1/runnel/approvals/{question.id}"
    assert http.get(path, headers=headers).status_code == 404
    assert http.post(path, headers=headers, json={"approve": True}).status_code == 404
    seen = http.get("/v1/runnel/approvals", headers=headers).json()["data"]
    assert question.id not in [one["id"] for one in seen]


# ---- A client that keeps the history itself ----

GO = {"role": "user", "content": "go"}


def sent(question):
    """As OpenAI knows it."""
    return {key: value for key, value in question.to_dict().items() if key != "runnel"}


def named(question):
    return {"type": "item_reference", "id": question.id}


@pytest.fixture
def send(client):
    def send(*story, tool=TEST, **body):
        return client.responses.create(model="demo", input=[GO, *story], tools=[tool], **body)
    return send


@pytest.mark.feature("F34", "F46")
@pytest.mark.parametrize("store", [True, False], ids=["stored", "not-stored"])
@pytest.mark.parametrize("again", [sent, named])
def test_an_approval_request_may_be_sent_back_with_its_answer(ask, send, upstream, http, log, again, store):
    """The Agents SDKs send what they were shown, others name it; neither says previous_response_id."""
    (question,) = questions(ask())
    done = send(again(question), answer(question), store=store)
    (ran,) = calls_of(done)
    assert ran.output == "counted" and ran.approval_request_id == question.id
    assert tool_outputs_in(upstream.chats()[-1]) == {"call_1": "counted"} and log.lines() == ["call_1"]
    shown = http.get(f"/v1/runnel/approvals/{question.id}").json()
    assert (shown["status"], shown["used_by"]) == ("approved", done.id)
    send(again(question), answer(question), ran.to_dict(), {"role": "user", "content": "and?"})
    assert list(tool_outputs_in(upstream.chats()[-1]).values()) == ["counted"] and log.lines() == ["call_1"]


@pytest.mark.feature("F46")
def test_a_refusal_may_be_sent_with_its_approval_request(ask, send, upstream, log):
    (question,) = questions(ask())
    (refusal,) = calls_of(send(sent(question), answer(question, approve=False, reason="too late")))
    assert refusal.approval_request_id == question.id and log.lines() == []
    assert "too late" in tool_outputs_in(upstream.chats()[-1])["call_1"]


@pytest.mark.feature("F46")
def test_the_stored_call_runs_not_the_one_that_is_sent_back(ask, send, log, tmp_path):
    (question,) = questions(ask())
    other = json.dumps({"path": str(tmp_path / "other"), "text": "other"})
    done = send({**sent(question), "name": "test_slow", "arguments": other}, answer(question))
    (ran,) = calls_of(done)
    assert (ran.name, ran.arguments, ran.output) == ("test_count", question.arguments, "counted")
    assert log.lines() == ["call_1"] and not (tmp_path / "other").exists()


@pytest.mark.feature("F46")
def test_a_replayed_history_answers_its_approval_requests(client, send, upstream, log, http):
    """One of two requests may stay open, and be answered by a later history."""
    asks_for(upstream, call("test_count", 1, path=log.name, text="one"),
             call("test_count", 2, path=log.name, text="two"))
    first, second = questions(client.responses.create(model="demo", input="go", tools=[TEST]))
    send(sent(first), sent(second), {"role": "user", "content": "no matter"})
    assert log.lines() == []
    done = send(sent(first), sent(second), answer(first))
    assert [one.output for one in calls_of(done)] == ["one"] and log.lines() == ["call_1"]
    assert http.get(f"/v1/runnel/approvals/{second.id}").json()["status"] == "pending"
    done = send(sent(first), sent(second), answer(first), calls_of(done)[0].to_dict(), answer(second))
    assert [one.output for one in calls_of(done)] == ["two"]
    assert log.lines() == ["call_1", "call_2"]


@pytest.mark.feature("F46")
def test_a_replayed_history_is_answered_once(ask, send, client, log):
    (question,) = questions(ask())
    done = send(sent(question), answer(question))
    error = refused(lambda: client.with_options(max_retries=0).responses.create(
        model="demo", input=[GO, sent(question), answer(question)], tools=[TEST]), 409)
    assert error["message"] == (
        f"Approval request '{question.id}' was already taken up by response '{done.id}'.")
    assert log.lines() == ["call_1"]


@pytest.mark.feature("F46")
def test_another_project_cannot_answer_with_a_replayed_history(ask, stranger, log):
    (question,) = questions(ask())
    error = refused(lambda: stranger.responses.create(
        model="demo", input=[GO, sent(question), answer(question)], tools=[TEST]))
    assert "No approval request found" in error["message"] and log.lines() == []


@pytest.mark.feature("F46")
def test_a_withheld_result_is_not_answered_by_a_replayed_history(client, upstream, send, log, http):
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    free = {**TEST, "require_approval": "never"}
    body = {"runnel": {"permissions": {"test": {"result": "always"}}}}
    asked = client.responses.create(model="demo", input="go", tools=[free], extra_body=body)
    (question,) = questions(asked)
    error = refused(lambda: send(calls_of(asked)[0].to_dict(), sent(question), answer(question), tool=free))
    assert error["param"] == "input" and error["message"] == (
        f"Approval request '{question.id}' is about a result. Answer it in a response that goes on "
        f"from '{asked.id}' by 'previous_response_id' or 'conversation'.")
    assert http.get(f"/v1/runnel/approvals/{question.id}").json()["status"] == "pending"


@pytest.mark.feature("F46")
def test_a_history_that_is_only_stored_answers_nothing(server, ask, http, log):
    (question,) = questions(ask())
    ws = WebSocket(server)
    ws.create(tools=[TEST], generate=False, input=[GO, sent(question), answer(question)])
    assert "No approval request found" in ws.error()["error"]["message"]
    assert http.get(f"/v1/runnel/approvals/{question.id}").json()["status"] == "pending"
    ws.socket.close()


# ---- Without an approver ----

@pytest.mark.feature("F41")
def test_without_an_approver_it_is_refused(ask, upstream, log):
    done = ask(extra_body={"runnel": {"approval": {"channel": "deny"}}})
    assert not questions(done) and calls_of(done)[0].status == "incomplete"
    assert json.loads(tool_outputs_in(upstream.chats()[-1])["call_1"]) == {
        "status": "rejected", "message": "No execution approval callback set"}
    assert log.lines() == []


@pytest.mark.feature("F41")
def test_a_response_that_is_not_stored_cannot_request_approvals(ask, upstream, log):
    done = ask(store=False)
    assert not questions(done) and log.lines() == []
    assert "not stored" in tool_outputs_in(upstream.chats()[-1])["call_1"]


# ---- Policies ----

@pytest.mark.feature("F38")
def test_a_request_can_only_tighten_a_policy(client, upstream, log):
    asks_for(upstream, call("test_count", path=log.name))
    lax = {**TEST, "require_approval": "never"}

    def ask(tool, permissions):
        return questions(client.responses.create(
            model="demo", input="go", tools=[tool],
            extra_body={"runnel": {"permissions": permissions}}))
    assert ask(lax, {"test/test_count": {"execution": "ask-always"}})
    assert ask(lax, {"test": {"permissionLevel": "sensitive"}})
    assert ask(TEST, {"test/test_count": {"execution": "auto"}})
    assert log.lines() == []
    assert not ask(lax, {"test/test_slow": {"execution": "ask-always"}})
    assert log.lines() == ["call_1"]


@pytest.mark.feature("F38")
@pytest.mark.parametrize("permissions, param", [
    ({"test/test_count": {"exec": "auto"}}, "runnel.permissions.test/test_count.exec"),
    ({"test/test_count": {"execution": "ask"}}, "runnel.permissions.test/test_count.execution"),
    ({"test/test_cuont": {"execution": "ask-always"}}, "runnel.permissions"),
    ({"tset": {"execution": "ask-always"}}, "runnel.permissions"),
    (["test"], "runnel.permissions"),
], ids=str)
def test_typing_errors_open_nothing(client, upstream, permissions, param):
    error = refused(lambda: client.responses.create(
        model="demo", input="go", tools=[TEST],
        extra_body={"runnel": {"permissions": permissions}}))
    assert error["param"] == param and upstream.requests() == []


@pytest.mark.feature("F36", "F38")
def test_the_operator_can_loosen_and_tighten_a_tool(start_server, tmp_path, upstream, log):
    config = tmp_path / "runnel.yaml"
    config.write_text("tools:\n  permissions:\n    test/test_count: {permissionLevel: moderate}\n")
    client = start_server(config=config).sdk()
    asks_for(upstream, call("test_count", path=log.name))
    asked = client.responses.create(model="demo", input="go", tools=[
        {**TEST, "require_approval": "never"}])
    (question,) = questions(asked)
    assert question.runnel["policy"] == "ask-once" and log.lines() == []


# ---- The list of approvals ----

@pytest.mark.feature("F44", "F46")
def test_an_approval_can_be_answered_through_the_list(ask, go_on, http, log):
    """F71: with the list, any program is a channel for approvals."""
    asked = ask()
    (question,) = questions(asked)
    path = f"/v1/runnel/approvals/{question.id}"
    listed = http.get("/v1/runnel/approvals?limit=1").json()["data"]
    assert listed == [http.get(path).json()]
    assert listed[0]["status"] == "pending" and listed[0]["run_id"] == asked.id
    assert json.loads(listed[0]["arguments"])["text"] == "counted"
    assert http.post(path, json={}).json()["error"]["param"] == "approve"
    assert http.get("/v1/runnel/approvals?after=mcpr_x").status_code == 400
    for _ in range(2):
        decided = http.post(path, json={"approve": True, "reason": "fine"})
        assert decided.status_code == 200 and decided.json()["status"] == "approved"
    contrary = http.post(path, json={"approve": False})
    assert contrary.status_code == 409
    assert contrary.json()["error"]["code"] == "approval_already_decided"
    assert http.post("/v1/runnel/approvals/mcpr_x", json={"approve": True}).status_code == 404
    done = go_on(asked, {"role": "user", "content": "go on"})
    assert calls_of(done)[0].output == "counted" and log.lines() == ["call_1"]
    assert http.get(path).json()["used_by"] == done.id


def test_a_deleted_response_has_no_pending_approvals(ask, http):
    asked = ask()
    (question,) = questions(asked)
    assert http.delete(f"/v1/responses/{asked.id}").status_code == 200
    assert http.get(f"/v1/runnel/approvals/{question.id}").status_code == 404


# ---- Restarts ----

@pytest.mark.feature("F46", "F110")
def test_an_approval_request_survives_a_crash(start_server, upstream, log):
    server = start_server()
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    asked = server.sdk().responses.create(model="demo", input="go", tools=[TEST])
    server.kill()
    server.start()
    done = server.sdk().responses.create(model="demo", previous_response_id=asked.id,
                                         tools=[TEST], input=[answer(*questions(asked))])
    assert calls_of(done)[0].output == "counted" and log.lines() == ["call_1"]


@pytest.mark.feature("F110")
def test_an_approved_call_cut_by_a_crash_is_not_repeated(start_server, upstream, log):
    """The answer was used, the tool ran, and the server died. The same answer does not run it again: the
    model learns that the outcome is unknown."""
    server = start_server()
    asks_for(upstream, call("test_count", path=log.name, ms=60000))
    asked = server.sdk().responses.create(model="demo", input="go", tools=[TEST])
    body = {"model": "demo", "previous_response_id": asked.id, "tools": [TEST],
            "input": [answer(*questions(asked))]}
    begun = threading.Thread(target=listen, args=(server.http(), "/v1/responses", body))
    begun.start()
    eventually(log.lines, lambda lines: lines == ["call_1"])
    server.kill()
    begun.join(30)
    server.start()
    client = server.sdk()

    def again():
        try:
            return client.responses.create(**body)
        except openai.ConflictError:  # the one that was cut has not been ended yet
            return None
    done = eventually(again, seconds=60)
    assert calls_of(done)[0].status == "failed" and log.lines() == ["call_1"]
    assert "may or may not have taken effect" in tool_outputs_in(upstream.chats()[-1])["call_1"]


POINTS = ["thread_lock", "runs_insert", "approvals_lock", "approvals_decide", "tool.before_run"]


@pytest.mark.feature("F110")
@pytest.mark.parametrize("point", POINTS)
def test_a_conversation_can_be_answered_after_a_crash(start_fault_server, upstream, log, point):
    """Wherever the server dies while it uses the answer, the approval request is not lost."""
    server = start_fault_server()
    client = server.sdk(strict=False).with_options(max_retries=0)
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    conversation = client.conversations.create().id
    asked = client.responses.create(model="demo", input="go", tools=[TEST],
                                    conversation=conversation)
    body = {"model": "demo", "tools": [TEST], "conversation": conversation,
            "input": [answer(*questions(asked))]}
    server.arm(f"{point}:1:kill")
    with pytest.raises(openai.APIError):
        client.responses.create(**body)
    server.restart()
    client = server.sdk(strict=False).with_options(max_retries=0)

    def again():
        try:
            return client.responses.create(**body)
        except (openai.ConflictError, openai.BadRequestError) as error:
            assert error.body["code"] in ("conversation_locked", "approval_already_used"), error
            return None  # the one that was cut has not been ended yet, and has the answer
    done = eventually(again, seconds=60)
    (called,) = calls_of(done)
    if point == "tool.before_run":  # nobody knows
        assert called.status == "failed" and log.lines() == []
    else:
        assert called.output == "counted" and log.lines() == ["call_1"]
    follow = client.responses.create(model="demo", tools=[TEST], conversation=conversation,
                                     input="and now?")
    assert follow.status == "completed"


@pytest.mark.feature("F110")
@pytest.mark.parametrize("point", ["runs_insert", "approvals_lock", "approvals_decide", "run.write"])
def test_an_answer_and_the_response_that_uses_it_are_stored_together(start_fault_server, upstream, log, point):
    """Outside of conversations: the server dies before the answer is stored, and nothing has happened; or
    after that, and there is a response that continues with it. No call has begun, so it runs."""
    server = start_fault_server()
    client = server.sdk(strict=False).with_options(max_retries=0)
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    asked = client.responses.create(model="demo", input="go", tools=[TEST])
    (question,) = questions(asked)
    body = {"model": "demo", "tools": [TEST], "previous_response_id": asked.id, "background": True,
            "input": [answer(question)]}
    server.arm(f"{point}:1:kill")
    try:
        client.responses.create(**body)
    except openai.APIError:  # it may have been answered before
        pass
    server.restart()
    http = server.http()
    shown = http.get(f"/v1/runnel/approvals/{question.id}").json()
    if point == "run.write":
        assert shown["status"] == "approved", shown
        id = shown["used_by"]
    else:
        assert (shown["status"], shown["used_by"]) == ("pending", None)
        id = server.sdk(strict=False).responses.create(**body).id
    done = eventually(lambda: http.get(f"/v1/responses/{id}").json(),
                      lambda shown: shown.get("status") == "completed", seconds=60)
    (called,) = [item for item in done["output"] if item["type"] == "mcp_call"]
    assert called["output"] == "counted" and log.lines() == ["call_1"]
    assert http.get(f"/v1/responses/{id}/input_items").json()["data"][0]["type"] == "mcp_approval_response"


# ---- Responses that execute nothing ----

@pytest.mark.feature("F46")
@pytest.mark.parametrize("conversation", [False, True], ids=["chain", "conversation"])
@pytest.mark.parametrize("early", [False, True], ids=["later", "early"])
def test_a_response_that_only_keeps_its_input_uses_up_no_answer(server, client, upstream, log, early,
                                                         conversation):
    """A WebSocket response with generate:false neither needs nor uses an answer; one that it got counts for
    the next response."""
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    place = {"conversation": client.conversations.create().id} if conversation else {}
    asked = client.responses.create(model="demo", input="go", tools=[TEST], **place)
    given = [answer(*questions(asked))]
    ws = WebSocket(server)

    def ask(before, **body):
        more = place or {"previous_response_id": before}
        return ws.ask(tools=[TEST], **more, **body)
    kept = ask(asked.id, generate=False, input=given if early else "Hello?")
    assert kept["output"] == [] and log.lines() == [] and len(upstream.chats()) == 1
    done = ask(kept["id"], input=[] if early else given)
    assert [item["output"] for item in done["output"] if item["type"] == "mcp_call"] == ["counted"]
    assert log.lines() == ["call_1"]
    assert ask(done["id"], input="and now?")["status"] == "completed"
    ws.socket.close()


@pytest.mark.feature("F46")
def test_a_compaction_uses_up_no_answer(ask, go_on, http, upstream, log):
    asked = ask()
    (question,) = questions(asked)
    upstream.script({"answer": {"text": "They wait for an answer."}})
    for given in ([answer(question)], "Shorter, please."):
        short = http.post("/v1/responses/compact", json={
            "model": "demo", "previous_response_id": asked.id, "input": given})
        assert short.status_code == 200, short.text
    assert http.get(f"/v1/runnel/approvals/{question.id}").json()["status"] == "pending"
    assert calls_of(go_on(asked, answer(question)))[0].output == "counted"
    assert log.lines() == ["call_1"]
