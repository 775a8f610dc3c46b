"""Approvals in runs of threads: a call of the reserved function in requires_action, answered through
submit_tool_outputs."""

import json
import signal

import openai
import pytest

from harness.server import eventually
from harness.tools import WEATHER, asks_for, call

TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test",
        "require_approval": "always"}


@pytest.fixture
def client(server):
    return server.sdk(strict=False)


def begin(client, tools, **more):
    assistant = client.beta.assistants.create(model="demo", tools=tools)
    run = client.beta.threads.create_and_run(
        assistant_id=assistant.id, thread={"messages": [{"role": "user", "content": "go"}]},
        **more)
    return settled(client, run)


def settled(client, run):
    return eventually(lambda: client.beta.threads.runs.retrieve(run.id, thread_id=run.thread_id),
                      lambda r: r.status not in ("queued", "in_progress", "cancelling"), seconds=40)


def asked(run):
    assert run.status == "requires_action", run
    return run.required_action.submit_tool_outputs.tool_calls


def submit(client, run, outputs):
    client.beta.threads.runs.submit_tool_outputs(
        run.id, thread_id=run.thread_id,
        tool_outputs=[{"tool_call_id": id, "output": text} for id, text in outputs.items()])
    return settled(client, run)


def last_text(client, run):
    return client.beta.threads.messages.list(run.thread_id).data[0].content[0].text.value


def calls_of(client, run):
    steps = client.beta.threads.runs.steps.list(run.id, thread_id=run.thread_id, order="asc")
    return [one.function for step in steps.data if step.type == "tool_calls"
            for one in step.step_details.tool_calls]


def tool_outputs_in(chat):
    return {m["tool_call_id"]: m["content"] for m in chat["messages"] if m["role"] == "tool"}


@pytest.mark.feature("F44")
def test_an_approved_call_runs(client, upstream, log):
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    run = begin(client, [TEST])
    (question,) = asked(run)
    assert question.type == "function" and question.function.name == "runnel_approval"
    about = json.loads(question.function.arguments)
    assert about["name"] == "test_count" and about["server_label"] == "test"
    assert about["kind"] == "execution" and about["policy"] == "ask-always"
    assert json.loads(about["arguments"])["text"] == "counted" and log.lines() == []

    run = submit(client, run, {question.id: json.dumps({"approve": True})})
    assert run.status == "completed", run
    assert last_text(client, run) == "Done: counted" and log.lines() == ["call_1"]
    (called,) = calls_of(client, run)
    assert called.name == "test_count" and called.output == "counted"
    chat = upstream.chats()[-1]
    assert tool_outputs_in(chat) == {"call_1": "counted"}
    assert "runnel_approval" not in json.dumps(chat)


@pytest.mark.feature("F42", "F44")
def test_a_refusal_reaches_the_model_with_its_reason(client, upstream, log):
    asks_for(upstream, call("test_count", path=log.name), text="Well.")
    run = begin(client, [TEST])
    run = submit(client, run, {asked(run)[0].id: '{"approve":false,"reason":"not now"}'})
    assert run.status == "completed" and log.lines() == []
    refusal = {"status": "rejected", "message": "not now"}
    assert json.loads(tool_outputs_in(upstream.chats()[-1])["call_1"]) == refusal
    (called,) = calls_of(client, run)
    assert json.loads(called.output) == refusal


@pytest.mark.feature("F44")
@pytest.mark.parametrize("output", ["yes", "", '{"approve":"true"}'])
def test_an_unreadable_answer_is_a_refusal(client, upstream, log, output):
    asks_for(upstream, call("test_count", path=log.name), text="Well.")
    run = begin(client, [TEST])
    assert submit(client, run, {asked(run)[0].id: output}).status == "completed"
    assert log.lines() == [] and "could not be read" in tool_outputs_in(upstream.chats()[-1])["call_1"]


@pytest.mark.feature("F44", "F106")
def test_approvals_and_client_functions_share_a_required_action(client, upstream, log):
    asks_for(upstream, call("get_weather", 1, city="Bern"),
             call("test_count", 2, path=log.name, text="counted"),
             call("test_slow", 3, text="at once"), text="All.")
    tool = {**TEST, "require_approval": {"always": {"tool_names": ["test_count"]}}}
    run = begin(client, [WEATHER, tool])
    weather, question = asked(run)
    assert weather.id == "call_1" and question.function.name == "runnel_approval"
    with pytest.raises(openai.BadRequestError) as refused:
        submit(client, run, {"call_1": "sunny"})
    assert question.id in str(refused.value)
    run = submit(client, run, {"call_1": "sunny", question.id: "true"})
    assert run.status == "completed" and log.lines() == ["call_2"]
    assert tool_outputs_in(upstream.chats()[-1]) == {"call_1": "sunny", "call_2": "counted",
                                          "call_3": "at once"}
    assert {c.name: c.output for c in calls_of(client, run)} == {
        "get_weather": "sunny", "test_count": "counted", "test_slow": "at once"}


def test_several_approvals_of_a_turn_are_submitted_together(client, upstream):
    asks_for(upstream, *(call("test_slow", n, text=f"t{n}") for n in range(1, 4)), text="All.")
    run = begin(client, [TEST])
    answers = {q.id: "false" if n == 1 else "true" for n, q in enumerate(asked(run))}
    assert submit(client, run, answers).status == "completed"
    seen = tool_outputs_in(upstream.chats()[-1])
    assert seen["call_1"] == "t1" and "rejected" in seen["call_2"] and seen["call_3"] == "t3"


@pytest.mark.feature("F41")
def test_without_an_approver_it_is_refused(client, upstream, log):
    asks_for(upstream, call("test_count", path=log.name), text="Well.")
    run = begin(client, [TEST], extra_body={"runnel": {"approval": {"channel": "deny"}}})
    assert run.status == "completed" and log.lines() == []
    assert "No execution approval callback set" in tool_outputs_in(upstream.chats()[-1])["call_1"]


def test_the_name_of_the_approval_function_is_reserved(client):
    function = {"type": "function", "function": {"name": "runnel_approval"}}
    custom = {"type": "custom", "name": "runnel_approval"}
    assistant = client.beta.assistants.create(model="demo")
    thread = client.beta.threads.create()
    for make in [lambda tools: client.beta.assistants.create(model="demo", tools=tools),
                 lambda tools: client.beta.assistants.update(assistant.id, tools=tools),
                 lambda tools: client.beta.threads.runs.create(
                     thread.id, assistant_id=assistant.id, tools=tools)]:
        for tool, param in [(function, "tools[0].function.name"), (custom, "tools[0].name")]:
            with pytest.raises(openai.BadRequestError, match="'runnel_approval' is reserved") as refused:
                make([tool])
            assert refused.value.body["param"] == param
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(model="demo", input="x", tools=[
            {"type": "function", "name": "runnel_approval", "parameters": {}}])
    assert refused.value.body["param"] == "tools[0].name"


@pytest.mark.feature("F44")
def test_an_approval_request_is_in_the_list(client, http, upstream, log):
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    run = begin(client, [TEST])
    (question,) = asked(run)
    path = f"/v1/runnel/approvals/{question.id}"
    shown = http.get(path).json()
    assert shown["status"] == "pending" and shown["run_id"] == run.id
    submit(client, run, {question.id: "true"})
    shown = http.get(path).json()
    assert shown["status"] == "approved" and shown["used_by"] == run.id


@pytest.mark.feature("F44")
def test_the_list_is_filtered_by_status(client, http, upstream, log):
    """Also while it changes: a client may answer the requests that it pages through."""
    asks_for(upstream, *[call("test_count", i + 1, path=log.name, text=f"{i}") for i in range(5)])
    run = begin(client, [TEST])
    ids = [question.id for question in asked(run)]
    def of_run(status, after=None):
        page = http.get(f"/v1/runnel/approvals?order=asc&limit=100&status={status}"
                        + (f"&after={after}" if after else "")).json()
        assert {one["status"] for one in page["data"]} <= {status}
        return [one["id"] for one in page["data"] if one["run_id"] == run.id]
    assert of_run("pending") == ids and of_run("approved") == of_run("rejected") == []
    decide(http, ids[0], approve=True)
    decide(http, ids[1], approve=False)
    assert (of_run("pending"), of_run("approved"), of_run("rejected")) == (ids[2:], ids[:1], ids[1:2])
    assert of_run("pending", after=ids[1]) == ids[2:]
    client.beta.threads.runs.cancel(run.id, thread_id=run.thread_id)
    assert of_run("expired") == ids[2:] and of_run("pending") == []
    refused = http.get("/v1/runnel/approvals?status=open")
    assert refused.status_code == 400 and refused.json()["error"]["param"] == "status"
    assert refused.json()["error"]["message"].startswith("Invalid value: 'open'. Supported values are: 'pending'")


def decide(http, id, **answer):
    return http.post(f"/v1/runnel/approvals/{id}", json=answer)


@pytest.mark.feature("F44")
@pytest.mark.parametrize("approve", [True, False])
def test_an_answer_through_the_list_continues_the_run(client, http, upstream, log, approve):
    """As if it had been submitted: once, the same again changes nothing, another one is a conflict."""
    asks_for(upstream, call("test_count", path=log.name, text="counted"), text="Well.")
    run = begin(client, [TEST])
    (question,) = asked(run)
    shown = decide(http, question.id, approve=approve, reason="as I say")
    assert shown.status_code == 200, shown.text
    assert shown.json()["status"] == ("approved" if approve else "rejected")
    assert shown.json()["used_by"] == run.id and shown.json()["reason"] == "as I say"
    for _ in range(2):
        assert decide(http, question.id, approve=approve).status_code == 200
        other = decide(http, question.id, approve=not approve)
        assert other.status_code == 409
        assert other.json()["error"]["code"] == "approval_already_decided"
        run = settled(client, run)
    assert run.status == "completed" and run.required_action is None
    assert log.lines() == (["call_1"] if approve else [])
    answer = tool_outputs_in(upstream.chats()[-1])["call_1"]
    assert answer == "counted" if approve else json.loads(answer)["message"] == "as I say"
    assert http.get(f"/v1/runnel/approvals/{question.id}").json() == shown.json()


@pytest.mark.feature("F44")
def test_an_answer_through_the_list_waits_for_the_others(start_server, upstream, log):
    """A decided call is no longer required, also after a crash; the answer may be repeated, but not changed."""
    server = start_server()
    client, http = server.sdk(strict=False), server.http()
    asks_for(upstream, call("get_weather", 1, city="Bern"),
             call("test_count", 2, path=log.name, text="counted"), text="All.")
    run = begin(client, [WEATHER, TEST])
    weather, question = asked(run)
    assert decide(http, question.id, approve=True).json()["status"] == "approved"
    server.kill()
    server.start()
    client, http = server.sdk(strict=False), server.http()
    run = client.beta.threads.runs.retrieve(run.id, thread_id=run.thread_id)
    assert [one.id for one in asked(run)] == [weather.id] and log.lines() == []
    assert http.get(f"/v1/runnel/approvals/{question.id}").json()["status"] == "approved"
    with pytest.raises(openai.ConflictError) as refused:
        submit(client, run, {weather.id: "sunny", question.id: "false"})
    assert refused.value.body["code"] == "approval_already_decided"
    for wrong in ({question.id: "true"}, {weather.id: "sunny", "call_2": "true"}):
        with pytest.raises(openai.BadRequestError):
            submit(client, run, wrong)
    assert asked(client.beta.threads.runs.retrieve(run.id, thread_id=run.thread_id)) == asked(run)
    run = submit(client, run, {weather.id: "sunny", question.id: "true"})
    assert run.status == "completed" and log.lines() == ["call_2"]
    assert tool_outputs_in(upstream.chats()[-1]) == {"call_1": "sunny", "call_2": "counted"}


@pytest.mark.feature("F44")
def test_answers_may_come_through_the_list_one_by_one(client, http, upstream):
    asks_for(upstream, *(call("test_slow", n, text=f"t{n}") for n in range(1, 4)), text="All.")
    run = begin(client, [TEST])
    ids = [question.id for question in asked(run)]
    for n, id in enumerate(ids):
        run = client.beta.threads.runs.retrieve(run.id, thread_id=run.thread_id)
        assert [one.id for one in asked(run)] == ids[n:]
        assert decide(http, id, approve=n != 1).status_code == 200
    assert settled(client, run).status == "completed"
    seen = tool_outputs_in(upstream.chats()[-1])
    assert seen["call_1"] == "t1" and "rejected" in seen["call_2"] and seen["call_3"] == "t3"


@pytest.mark.feature("F44")
def test_an_answer_through_the_list_leaves_functions_to_submit(client, http, upstream, log):
    asks_for(upstream, call("get_weather", 1, city="Bern"),
             call("test_count", 2, path=log.name, text="counted"), text="All.")
    run = begin(client, [WEATHER, TEST])
    weather, question = asked(run)
    assert decide(http, question.id, approve=False).status_code == 200
    run = submit(client, run, {weather.id: "sunny"})
    assert run.status == "completed" and log.lines() == []
    assert "rejected" in tool_outputs_in(upstream.chats()[-1])["call_2"]


@pytest.mark.feature("F46")
def test_an_approved_call_of_a_cancelled_run_is_not_executed(client, http, upstream, log):
    asks_for(upstream, call("get_weather", 1, city="Bern"), call("test_count", 2, path=log.name))
    run = begin(client, [WEATHER, TEST])
    assert decide(http, asked(run)[1].id, approve=True).status_code == 200
    client.beta.threads.runs.cancel(run.id, thread_id=run.thread_id)
    assert settled(client, run).status == "cancelled" and log.lines() == []


@pytest.mark.feature("F43", "F44")
def test_a_result_is_answered_through_the_list(client, http, upstream):
    asks_for(upstream, call("test_slow", 1, text="the secret"), text="Well.")
    run = begin(client, [ONCE], extra_body={"runnel": {"permissions": {"test": {"result": "always"}}}})
    (question,) = asked(run)
    assert decide(http, question.id, approve=True).status_code == 200
    assert settled(client, run).status == "completed"
    assert tool_outputs_in(upstream.chats()[-1])["call_1"].startswith("the secret")


@pytest.mark.feature("F35")
def test_an_answer_through_the_list_is_remembered(client, http, upstream, log):
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    run = begin(client, [ONCE], extra_body=ASKED_ONCE)
    (question,) = asked(run)
    wrong = decide(http, question.id, approve=True, remember={"scope": "user"})
    assert wrong.status_code == 400, wrong.text
    assert decide(http, question.id, approve=True, remember={"match": "tool"}).status_code == 200
    assert settled(client, run).status == "completed"
    assert run_again(client, run).status == "completed" and log.lines() == ["call_1"] * 2


@pytest.mark.feature("F46")
def test_a_cancelled_run_has_no_pending_approvals(client, http, upstream, log):
    asks_for(upstream, call("test_count", path=log.name))
    run = begin(client, [TEST])
    (question,) = asked(run)
    client.beta.threads.runs.cancel(run.id, thread_id=run.thread_id)
    settled(client, run)
    assert http.get(f"/v1/runnel/approvals/{question.id}").json()["status"] == "expired"
    assert decide(http, question.id, approve=True).status_code == 409
    client.beta.threads.delete(run.thread_id)
    assert http.get(f"/v1/runnel/approvals/{question.id}").status_code == 404
    assert log.lines() == []


@pytest.mark.feature("F46", "F110")
def test_an_approval_request_survives_a_restart(start_server, upstream, log):
    server = start_server()
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    run = begin(server.sdk(strict=False), [TEST])
    (question,) = asked(run)
    server.kill()
    server.start()
    run = submit(server.sdk(strict=False), run, {question.id: "true"})
    assert run.status == "completed" and log.lines() == ["call_1"]


@pytest.mark.feature("F110")
def test_an_approved_call_cut_by_a_crash_is_not_repeated(start_server, upstream, log):
    server = start_server(lease_ttl=1)
    asks_for(upstream, call("test_count", path=log.name, ms=60000), text="Well.")
    client = server.sdk(strict=False)
    run = begin(client, [TEST])
    (question,) = asked(run)
    client.beta.threads.runs.submit_tool_outputs(
        run.id, thread_id=run.thread_id,
        tool_outputs=[{"tool_call_id": question.id, "output": "true"}])
    eventually(log.lines, lambda lines: lines == ["call_1"])
    server.process.signal(signal.SIGKILL)
    server.process.child.wait()
    server.start()
    run = settled(server.sdk(strict=False), run)
    assert run.status == "completed" and log.lines() == ["call_1"]
    assert "may or may not have taken effect" in tool_outputs_in(upstream.chats()[-1])["call_1"]


# ---- Answers that are remembered ----

ONCE = {"type": "mcp", "server_label": "test", "server_url": "builtin:test"}
ASKED_ONCE = {"runnel": {"permissions": {"test": {"permissionLevel": "moderate"}}}}


def run_again(client, run, **more):
    client.beta.threads.messages.create(run.thread_id, role="user", content="go")
    again = client.beta.threads.runs.create(run.thread_id, assistant_id=run.assistant_id,
                                            extra_body=ASKED_ONCE, **more)
    return settled(client, again)


@pytest.mark.feature("F35", "F37")
def test_a_run_can_remember_an_answer_for_its_thread(client, http, upstream, log):
    asks_for(upstream, call("test_count", path=log.name, text="counted"), text="Well.")
    run = begin(client, [ONCE], extra_body=ASKED_ONCE)
    (question,) = asked(run)
    about = json.loads(question.function.arguments)
    assert about["policy"] == "ask-once" and about["scopes"] == ["run", "thread", "assistant"]
    run = submit(client, run, {question.id: json.dumps({"approve": True})})
    assert run.status == "completed" and log.lines() == ["call_1"]
    assert run_again(client, run).status == "completed"
    assert log.lines() == ["call_1", "call_1"]
    asks_for(upstream, call("test_count", path=log.name, text="other"), text="Well.")
    again = run_again(client, run)
    (question,) = asked(again)
    submit(client, again, {question.id: '{"approve":false,"reason":"no","persistDecision":true}'})
    asks_for(upstream, call("test_count", path=log.name, text="third"), text="Well.")
    assert run_again(client, run).status == "completed"
    assert json.loads(tool_outputs_in(upstream.chats()[-1])["call_1"])["message"] == (
        "Previously rejected by user: no")
    grants = http.get(f"/v1/runnel/approval_grants?scope_id={run.thread_id}").json()["data"]
    assert sorted((g["match"], g["approve"]) for g in grants) == [("exact", True), ("tool", False)]
    client.beta.threads.delete(run.thread_id)
    assert http.get(f"/v1/runnel/approval_grants?scope_id={run.thread_id}").json()["data"] == []


@pytest.mark.feature("F35")
def test_a_run_can_remember_an_answer_for_its_assistant(client, upstream, log):
    asks_for(upstream, call("test_count", path=log.name, text="counted"), text="Well.")
    run = begin(client, [ONCE], extra_body=ASKED_ONCE)
    said = {"approve": True, "remember": {"scope": "assistant", "match": "tool"}}
    submit(client, run, {asked(run)[0].id: json.dumps(said)})
    elsewhere = client.beta.threads.create_and_run(
        assistant_id=run.assistant_id, extra_body=ASKED_ONCE,
        thread={"messages": [{"role": "user", "content": "go"}]})
    assert settled(client, elsewhere).status == "completed"
    assert log.lines() == ["call_1", "call_1"]
    assert begin(client, [ONCE], extra_body=ASKED_ONCE).status == "requires_action"


def grants_of(http, run):
    return http.get(f"/v1/runnel/approval_grants?scope_id={run.thread_id}").json()["data"]


@pytest.mark.feature("F35", "F44")
@pytest.mark.parametrize("late", [False, True], ids=["waits", "gone-on"])
def test_a_repeated_answer_may_say_what_to_remember(client, http, upstream, log, late):
    """While the run still waits for others, and after it has continued."""
    asks_for(upstream, call("get_weather", 1, city="Bern"),
             call("test_count", 2, path=log.name, text="counted"), text="All.")
    run = begin(client, [WEATHER, ONCE], extra_body=ASKED_ONCE)
    weather, question = asked(run)
    first = {"approve": True, "persistDecision": False}
    assert decide(http, question.id, **first).status_code == 200
    if late:
        submit(client, run, {weather.id: "sunny"})
    assert grants_of(http, run) == []
    refused = decide(http, question.id, approve=False, remember={"match": "tool"})
    assert refused.status_code == 409 and grants_of(http, run) == []
    again = decide(http, question.id, approve=True, remember={"match": "tool", "scope": "thread"})
    assert again.status_code == 200, again.text
    (grant,) = grants_of(http, run)
    assert grant["match"] == "tool" and grant["approve"] and grant["approval_id"] == question.id
    if not late:
        run = submit(client, run, {weather.id: "sunny"})
        assert run.status == "completed" and grants_of(http, run) == [grant]
    assert log.lines() == ["call_2"]


@pytest.mark.feature("F35", "F44")
def test_a_repeated_submission_may_say_what_to_remember(client, http, upstream, log):
    asks_for(upstream, call("get_weather", 1, city="Bern"),
             call("test_count", 2, path=log.name, text="counted"), text="All.")
    run = begin(client, [WEATHER, ONCE], extra_body=ASKED_ONCE)
    weather, question = asked(run)
    assert decide(http, question.id, approve=True, persistDecision=False).status_code == 200
    run = submit(client, run, {weather.id: "sunny", question.id: json.dumps(
        {"approve": True, "remember": {"match": "tool"}})})
    assert run.status == "completed" and log.lines() == ["call_2"]
    (grant,) = grants_of(http, run)
    assert grant["match"] == "tool" and grant["approval_id"] == question.id


@pytest.mark.feature("F35", "F46")
def test_an_expired_approval_is_not_remembered(client, http, upstream, log):
    asks_for(upstream, call("test_count", path=log.name))
    run = begin(client, [ONCE], extra_body=ASKED_ONCE)
    (question,) = asked(run)
    client.beta.threads.runs.cancel(run.id, thread_id=run.thread_id)
    settled(client, run)
    late = decide(http, question.id, approve=False, remember={"match": "tool"})
    assert late.status_code == 409 and late.json()["error"]["code"] == "approval_already_decided"
    assert "it is expired" in late.json()["error"]["message"] and grants_of(http, run) == []


@pytest.mark.feature("F35", "F44")
@pytest.mark.parametrize("said, why", [
    ({"remember": {"scope": "all"}}, "Invalid value for 'remember.scope'"),
    ({"remember": {"scope": "user"}}, "names no 'user'"),
], ids=str)
def test_an_answer_with_an_invalid_remember_is_a_refusal(client, http, upstream, log, said, why):
    asks_for(upstream, call("test_count", path=log.name, text="counted"), text="Well.")
    run = begin(client, [ONCE], extra_body=ASKED_ONCE)
    (question,) = asked(run)
    run = submit(client, run, {question.id: json.dumps({"approve": True, **said})})
    assert run.status == "completed" and log.lines() == []
    assert why in tool_outputs_in(upstream.chats()[-1])["call_1"]
    assert grants_of(http, run) == []
    shown = http.get(f"/v1/runnel/approvals/{question.id}").json()
    assert shown["status"] == "rejected" and why in shown["reason"]
