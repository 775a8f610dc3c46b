"""Results that need an approval before the model sees them: in responses, answered with the standard SDK."""

import json
import threading

import pytest

from harness.faults import listen
from harness.recorder import parse_events
from harness.server import eventually
from harness.tools import WEATHER_FLAT, asks_for, call
from test_approvals import answer, calls_of, questions, refused, tool_outputs_in

TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test"}
VARS = {"type": "mcp", "server_label": "vars", "server_url": "builtin:vars"}
ASK = {"runnel": {"permissions": {"test": {"result": "always"}}}}
SECRET = "s3cret-and-long"
REJECTED = {"status": "rejected", "message": "Result not approved for LLM"}


@pytest.fixture
def create(client):
    def create(input="go", body=ASK, tools=(TEST,), **more):
        return client.responses.create(model="demo", input=input, tools=list(tools),
                                       extra_body=body, **more)
    return create


@pytest.fixture
def ask(create, upstream, log):
    """A response whose result waits."""
    def ask(**more):
        asks_for(upstream, call("test_count", path=log.name, text=SECRET))
        return create(**more)
    return ask


@pytest.fixture
def go_on(create):
    def go_on(response, *answers, **more):
        return create(input=list(answers), previous_response_id=response.id, **more)
    return go_on


def of_kind(response, kind):
    return [item for item in questions(response) if item.runnel["kind"] == kind]


def received(upstream):
    """Everything that models have received."""
    return json.dumps(upstream.asked(), ensure_ascii=False)


# ---- The usual way ----

@pytest.mark.feature("F39")
def test_an_approved_result_reaches_the_model_as_it_was_shown(ask, go_on, upstream, log):
    asked = ask()
    assert asked.status == "completed"
    assert [item.type for item in asked.output] == [
        "mcp_list_tools", "mcp_call", "mcp_approval_request"]
    (ran,) = calls_of(asked)
    assert ran.status == "completed" and ran.output.startswith(SECRET)
    assert ran.runnel["model_visible"] is False and ran.runnel["status"] == "success"
    (question,) = questions(asked)
    assert question.name == "test_count" and question.server_label == "test"
    about = question.runnel
    assert about["kind"] == "result" and about["call_id"] == "call_1"
    assert about["status"] == "success" and about["output"] == ran.output
    assert about["length"] == len(ran.output) and about["truncated"] is False
    assert about["policy"] == "always"
    assert log.lines() == ["call_1"] and len(upstream.chats()) == 1

    done = go_on(asked, answer(question))
    assert not calls_of(done) and done.output_text.startswith(f"Done: {SECRET}")
    assert tool_outputs_in(upstream.chats()[-1]) == {"call_1": ran.output}
    assert log.lines() == ["call_1"]


@pytest.mark.feature("F39", "F42", "F43")
def test_a_refused_result_never_reaches_the_model(create, go_on, upstream, client):
    asks_for(upstream, call("test_backwards", text=SECRET[::-1]))
    asked = create()
    (ran,) = calls_of(asked)
    assert ran.output.startswith(SECRET)
    done = go_on(asked, answer(*questions(asked), approve=False, reason="private"))
    rejection = {"status": "rejected", "message": "private"}
    assert json.loads(tool_outputs_in(upstream.chats()[-1])["call_1"]) == rejection
    (kept,) = calls_of(client.responses.retrieve(asked.id))
    assert kept.status == "incomplete" and kept.output is None and kept.error is None
    assert kept.runnel["status"] == "result_rejected"
    assert kept.runnel["reject_reason"] == "private"
    assert kept.runnel["model_visible"] is False and "result" not in kept.runnel["variables"]
    upstream.answer(text="Well.")
    # Neither later, nor with all that was shown sent again, nor in another form.
    go_on(done, {"role": "user", "content": "and now?"})
    go_on(done, {"role": "user", "content": "and?"},
          body={"runnel": {**ASK["runnel"], "history": "compact"}})
    story = [{"role": "user", "content": "go"}, ran.to_dict(), {"role": "user", "content": "?"}]
    client.responses.create(model="demo", input=story, tools=[TEST])
    assert [json.loads(text) for text in tool_outputs_in(upstream.chats()[-1]).values()] == [REJECTED]
    assert SECRET not in received(upstream)


@pytest.mark.feature("F43")
def test_the_variable_of_a_result_is_made_by_the_approval(ask, go_on, http):
    def names(response):
        listed = http.get(f"/v1/runnel/responses/{response.id}/variables").json()["data"]
        return {one["name"]: one["type"] for one in listed}

    def value(response, name):
        return http.get(f"/v1/runnel/responses/{response.id}/variables/{name}")
    for approve in (True, False):
        asked = ask(tools=(TEST, VARS))
        (ran,) = calls_of(asked)
        name = ran.runnel["variables"]["result"]
        assert name in ran.output  # the hint says so
        assert list(names(asked).values()) == ["ToolCallArgs"]
        assert value(asked, name).status_code == 404
        done = go_on(asked, answer(*questions(asked), approve=approve), tools=(TEST, VARS))
        for response in (asked, done):
            assert (name in names(response)) is approve
            assert value(response, name).status_code == (200 if approve else 404)
        if approve:
            kept = value(done, name).json()
            assert kept["value"] == SECRET and kept["type"] == "ToolCallResult"
            assert kept["description"].startswith("Call test_count with args: ")


@pytest.mark.feature("F43")
def test_a_model_cannot_read_a_withheld_result(upstream, create, client):
    """Another branch, and a call of the same turn, look for the variable."""
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "{{tool_output}}"}},
                    {"match": {"user": "look"}, "answer": {"tool_calls": [
                        call("ListVars", 5)]}},
                    {"answer": {"tool_calls": [call("test_backwards", 1, text=SECRET[::-1]),
                                               call("ListVars", 2)]}})
    asked = create(tools=(TEST, VARS))
    listing = [one for one in calls_of(asked) if one.name == "ListVars"]
    assert "ToolCallResult" not in listing[0].output
    copied = create(tools=(TEST, VARS), input=[
        {"role": "user", "content": "go"},
        {"type": "item_reference", "id": calls_of(asked)[0].id},
        {"role": "user", "content": "look"}])
    assert "ToolCallResult" not in calls_of(copied)[0].output
    assert SECRET not in received(upstream)


@pytest.mark.feature("F39")
def test_on_error_needs_an_approval_before_the_model_sees_the_error(create, go_on, upstream):
    body = {"runnel": {"permissions": {"test": {"result": "on-error"}}}}
    asks_for(upstream, call("test_backwards", 1, text=SECRET[::-1], fail=True),
             call("test_slow", 2, text="fine"))
    asked = create(body=body)
    failed, fine = calls_of(asked)
    assert failed.status == "failed" and failed.runnel["model_visible"] is False
    assert failed.to_dict()["error"]["content"][0]["text"] == SECRET
    assert fine.output.startswith("fine") and "model_visible" not in fine.runnel
    (question,) = questions(asked)
    assert question.runnel["status"] == "error" and question.runnel["policy"] == "on-error"
    assert question.runnel["output"] == SECRET
    go_on(asked, answer(question, approve=False), body=body)
    assert json.loads(tool_outputs_in(upstream.chats()[-1])["call_1"])["message"] == "Result rejected by user"
    assert tool_outputs_in(upstream.chats()[-1])["call_2"].startswith("fine")
    assert SECRET not in received(upstream)


@pytest.mark.feature("F39")
def test_D2_always_withholds_errors_but_no_calls_that_never_ran(create, go_on, upstream):
    asks_for(upstream, call("test_fail", 1, message="broken"), call("nothing", 2),
             call("test_number", 3, n=11))
    asked = create()
    (question,) = questions(asked)  # no such tool, wrong arguments: the tool said nothing
    go_on(asked, answer(question))
    seen = tool_outputs_in(upstream.chats()[-1])
    assert seen["call_1"] == "broken" and seen["call_2"] == "Tool nothing not found"
    assert "number" in seen["call_3"]


@pytest.mark.feature("F36", "F39")
def test_requireResultApproval_means_always(create, upstream):
    asks_for(upstream, call("test_slow"))
    assert questions(create(body={"runnel": {"permissions": {
        "test/test_slow": {"requireResultApproval": True}}}}))
    assert not questions(create(body={"runnel": {"permissions": {
        "test/test_slow": {"requireResultApproval": False}}}}))


@pytest.mark.feature("F39")
def test_an_approved_call_may_need_an_approval_of_its_result(ask, go_on, upstream, log, client):
    tools = ({**TEST, "require_approval": "always"},)
    first = ask(tools=tools)
    (before,) = questions(first)
    assert before.runnel["kind"] == "execution" and log.lines() == []
    second = go_on(first, answer(before), tools=tools)
    (ran,) = calls_of(second)
    assert ran.approval_request_id == before.id and ran.runnel["model_visible"] is False
    (after,) = questions(second)
    assert after.runnel["kind"] == "result" and after.id != before.id
    assert log.lines() == ["call_1"] and len(upstream.chats()) == 1
    done = go_on(second, answer(after), tools=tools)
    assert tool_outputs_in(upstream.chats()[-1])["call_1"] == ran.output and done.status == "completed"
    assert log.lines() == ["call_1"]


def test_several_calls_of_a_turn_may_be_in_different_states(create, go_on, upstream, client):
    body = {"runnel": {"permissions": {"test/test_slow": {"result": "always"},
                                       "test/test_stream": {"execution": "ask-always"}}}}
    asks_for(upstream, call("test_slow", 1, text="one"), call("test_stream", 2, text="two"),
             call("test_data", 3, data="three"), call("get_weather", 4, city="Bern"),
             call("test_slow", 5, text="five"))
    tools = (TEST, WEATHER_FLAT)
    asked = create(body=body, tools=tools)
    kinds = {q.runnel["call_id"]: (q.runnel["kind"], q) for q in questions(asked)}
    assert {id: kind for id, (kind, _) in kinds.items()} == {
        "call_1": "result", "call_2": "execution", "call_5": "result"}
    output = {"type": "function_call_output", "call_id": "call_4", "output": "sunny"}
    error = refused(lambda: go_on(asked, output, answer(kinds["call_1"][1]), body=body,
                                  tools=tools))
    assert "No approval response found" in error["message"]
    done = go_on(asked, output, answer(kinds["call_1"][1]), answer(kinds["call_2"][1]),
                 answer(kinds["call_5"][1], approve=False), body=body, tools=tools)
    assert [one.name for one in calls_of(done)] == ["test_stream"]
    seen = tool_outputs_in(upstream.chats()[-1])
    assert seen["call_1"].startswith("one") and seen["call_2"].startswith("two")
    assert seen["call_3"].startswith("three") and seen["call_4"] == "sunny"
    assert json.loads(seen["call_5"])["status"] == "rejected"


@pytest.mark.feature("F39")
def test_a_withheld_result_has_its_events(http, upstream, log):
    asks_for(upstream, call("test_count", path=log.name, text=SECRET))

    def stream(**body):
        text = http.post("/v1/responses", json={"model": "demo", "tools": [TEST], "stream": True,
                                                **ASK, **body}).text
        return [json.loads(data) for _, data in parse_events(text) if data != "[DONE]"]
    events = stream(input="go")
    assert [e["type"] for e in events][-5:] == [
        "response.mcp_call.completed", "response.output_item.done",
        "response.output_item.added", "response.output_item.done", "response.completed"]
    ran, question, ended = events[-4]["item"], events[-2]["item"], events[-1]["response"]
    assert ran["output"].startswith(SECRET) and ran["runnel"]["model_visible"] is False
    assert events[-3]["item"] == question and question["runnel"]["kind"] == "result"
    assert ended["output"][-2:] == [ran, question] and ended["status"] == "completed"
    events = stream(previous_response_id=ended["id"], input=[{
        "type": "mcp_approval_response", "approval_request_id": question["id"],
        "approve": True}])
    said = "".join(e["delta"] for e in events if e["type"] == "response.output_text.delta")
    assert said.startswith(f"Done: {SECRET}") and log.lines() == ["call_1"]


@pytest.mark.feature("F39")
def test_withheld_results_work_in_conversations_and_in_the_background(ask, create, client, upstream, log):
    def ended(response):
        return eventually(lambda: client.responses.retrieve(response.id),
                          lambda r: r.status == "completed", seconds=30)
    conversation = client.conversations.create().id
    asked = ended(ask(conversation=conversation, background=True))
    (question,) = questions(asked)
    assert calls_of(asked)[0].runnel["model_visible"] is False
    refused(lambda: create(conversation=conversation, input="hello"))
    ended(create(conversation=conversation, input=[answer(question)], background=True))
    assert tool_outputs_in(upstream.chats()[-1])["call_1"].startswith(SECRET) and log.lines() == ["call_1"]
    items = client.conversations.items.list(conversation, order="asc").data
    (ran,) = [item for item in items if item.type == "mcp_call"]
    assert ran.runnel["model_visible"] is True


def test_results_of_hidden_final_and_hosted_tools_can_be_withheld(create, go_on, upstream):
    """An answer that a tool gives itself would be the model's to read in the next turn."""
    asks_for(upstream, call("test_final", 1, pieces=["answer"]),
             call("test_hidden", 2, pieces=[], text="unseen"),
             call("test_search", 3, text="found"))
    asked = create()
    assert len(questions(asked)) == 3 and asked.output_text == ""
    go_on(asked, *(answer(q, approve=False) for q in questions(asked)))
    assert {json.loads(text)["status"] for text in tool_outputs_in(upstream.chats()[-1]).values()} == {
        "rejected"}


@pytest.mark.feature("F42", "F43")
@pytest.mark.parametrize("approve", [False, True])
def test_a_picture_is_kept_only_if_it_is_approved(create, client, http, upstream, approve):
    asks_for(upstream, call("test_image", 1, partial_images=0))
    conversation = client.conversations.create().id
    asked = create(conversation=conversation)
    (question,) = questions(asked)
    (shown,) = (item for item in asked.output if item.type == "image_generation_call")
    assert shown.result and shown.runnel["model_visible"] is False
    create(conversation=conversation, input=[answer(question, approve=approve)])
    kept = http.get(f"/v1/responses/{asked.id}").json()
    items = http.get(f"/v1/conversations/{conversation}/items").json()
    for place in (kept["output"], items["data"]):
        (item,) = (item for item in place if item["type"] == "image_generation_call")
        assert item["result"] == (shown.result if approve else None)
        assert (shown.result in json.dumps(place)) == approve
        assert approve or item["runnel"]["status"] == "result_rejected"
    assert approve or shown.result not in json.dumps(upstream.chats())


# ---- Who decides ----

@pytest.mark.feature("F39", "F44")
def test_a_result_can_be_approved_through_the_list(ask, create, http, upstream, log):
    for approve in (True, False):
        asked = ask()
        (question,) = questions(asked)
        path = f"/v1/runnel/approvals/{question.id}"
        shown = http.get(path).json()
        assert shown["kind"] == "result" and shown["policy"] == "always"
        assert shown["result"] == {
            "status": "success", "output": calls_of(asked)[0].output,
            "length": len(calls_of(asked)[0].output), "truncated": False}
        assert http.get("/v1/runnel/approvals?limit=1").json()["data"] == [shown]
        for _ in range(2):
            decided = http.post(path, json={"approve": approve, "reason": "because"})
            assert decided.status_code == 200, decided.text
        assert http.post(path, json={"approve": not approve}).status_code == 409
        upstream.answer(text="Well.")
        done = create(input="go on", previous_response_id=asked.id)
        assert done.status == "completed"
        output = tool_outputs_in(upstream.chats()[-1])["call_1"]
        assert output.startswith(SECRET) if approve else json.loads(output)["message"] == "because"
    assert log.lines() == ["call_1"] * 2


@pytest.mark.feature("F41")
def test_without_an_approver_the_result_is_refused(ask, upstream, log):
    done = ask(body={"runnel": {**ASK["runnel"], "approval": {"channel": "deny"}}})
    (ran,) = calls_of(done)
    assert not questions(done) and log.lines() == ["call_1"]
    assert ran.status == "incomplete" and ran.output is None
    assert ran.runnel["status"] == "result_rejected" and "variables" not in ran.runnel
    assert json.loads(tool_outputs_in(upstream.chats()[-1])["call_1"]) == {
        "status": "rejected", "message": "No result approval callback set"}
    ask(store=False)
    assert "not stored" in tool_outputs_in(upstream.chats()[-1])["call_1"]


def test_check_results_false_is_refused(create, upstream):
    for body, status in (({"check_results": True}, None), ({"check_results": False}, 400),
                         ({"check_results": "no"}, 400)):
        def make(body=body):
            return create(body={"runnel": body}, tools=())
        if status:
            assert refused(make)["param"] == "runnel.check_results"
        else:
            assert make().status == "completed"


@pytest.mark.feature("F46")
def test_another_project_cannot_approve_a_result(ask, http, stranger_key):
    asked = ask()
    headers = {"Authorization": f"Bearer {stranger_key}"}
    path = f"/v1/runnel/approvals/{questions(asked)[0].id}"
    assert http.post(path, headers=headers, json={"approve": True}).status_code == 404
    assert http.get(f"/v1/responses/{asked.id}").json()["output"][1]["runnel"][
        "model_visible"] is False


# ---- Restarts ----

@pytest.mark.feature("F110")
def test_a_call_with_a_withheld_result_is_not_repeated(start_server, upstream, log):
    server = start_server()
    asks_for(upstream, call("test_count", path=log.name, text=SECRET))
    asked = server.sdk().responses.create(model="demo", input="go", tools=[TEST], extra_body=ASK)
    server.kill()
    server.start()
    done = server.sdk().responses.create(
        model="demo", previous_response_id=asked.id, tools=[TEST], extra_body=ASK,
        input=[answer(*questions(asked))])
    assert tool_outputs_in(upstream.chats()[-1]) == {"call_1": calls_of(asked)[0].output}
    assert done.status == "completed" and log.lines() == ["call_1"]


@pytest.mark.feature("F110")
def test_an_answer_cut_by_a_crash_may_be_given_again(start_server, upstream, log):
    """It was stored, and the server died while the model answered."""
    server = start_server()
    asks_for(upstream, call("test_count", path=log.name, text=SECRET))
    asked = server.sdk().responses.create(model="demo", input="go", tools=[TEST], extra_body=ASK)
    upstream.script({"answer": {"text": "slow", "delay_ms": 60000}})
    body = {"model": "demo", "previous_response_id": asked.id, "tools": [TEST], **ASK,
            "input": [answer(*questions(asked))]}
    begun = threading.Thread(target=listen, args=(server.http(), "/v1/responses", body))
    begun.start()
    eventually(upstream.chats, lambda chats: len(chats) == 2)
    server.kill()
    begun.join(30)
    upstream.script({"answer": {"text": "now"}})
    server.start()
    http = server.http()

    def again():
        answered = http.post("/v1/responses", json=body)
        return answered if answered.status_code != 409 else None
    done = eventually(again, seconds=60).json()
    assert done["status"] == "completed", done
    assert tool_outputs_in(upstream.chats()[-1])["call_1"].startswith(SECRET) and log.lines() == ["call_1"]
