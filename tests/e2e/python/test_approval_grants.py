"""Answers to approvals that are remembered: for which calls, for whom, and until when."""

import json

import openai
import pytest

from harness.tools import asks_for, call
from test_approvals import answer, calls_of, questions, refused, tool_outputs_in

TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test"}
ONCE = {"permissions": {"test": {"execution": "ask-once"}}}
GRANTS = "/v1/runnel/approval_grants"


@pytest.fixture
def go(client, upstream, log):
    """A response whose model calls test_count, with the policy ask-once."""
    def go(text="counted", before=None, items=(), runnel=ONCE, tool=TEST, name="test_count", **body):
        asks_for(upstream, call(name, path=log.name, text=text))
        if before is not None:
            body["previous_response_id"] = before.id
        return client.responses.create(model="demo", tools=[tool], extra_body={"runnel": runnel},
                                       input=[*items, {"role": "user", "content": "go"}], **body)
    return go


@pytest.fixture
def go_on(client):
    def go_on(response, approve=True, reason=None, runnel=None, tool=TEST, settings=ONCE, **body):
        (question,) = questions(response)
        more = {"reason": reason} if reason else {}
        if runnel:
            more["runnel"] = runnel
        if "conversation" not in body:
            body["previous_response_id"] = response.id
        return client.responses.create(model="demo", tools=[tool],
                                       extra_body={"runnel": settings},
                                       input=[answer(question, approve, **more)], **body)
    return go_on


def remembered(response):
    """The one call of the response, which was answered before."""
    assert not questions(response), response.output
    (called,) = calls_of(response)
    note = called.runnel["approval"]
    assert note["remembered"] is True and called.approval_request_id is None
    return called, note["grant_id"]


def remember(**what):
    return {"remember": what}


# ---- The usual way ----

@pytest.mark.feature("F35")
def test_the_worked_example(go, go_on, http, log, upstream):
    """Asked, approved for the thread, and then the same call runs without a question."""
    always = {**TEST, "require_approval": "always"}
    asked = go(tool=always)
    (question,) = questions(asked)
    about = question.runnel
    assert about["kind"] == "execution" and about["policy"] == "ask-once"
    assert about["remember"] == ["exact", "tool"] and about["scopes"] == ["run", "thread"]
    done = go_on(asked, tool=always, runnel=remember(scope="thread", match="exact"))
    assert calls_of(done)[0].output == "counted" and log.lines() == ["call_1"]

    again = go(before=done, tool=always)
    called, grant = remembered(again)
    assert called.output == "counted" and log.lines() == ["call_1", "call_1"]
    assert tool_outputs_in(upstream.chats()[-1])["call_1"] == "counted"
    kept = http.get(f"/v1/responses/{again.id}").json()["output"]
    assert [item["runnel"]["approval"] for item in kept if item["type"] == "mcp_call"] == [
        {"grant_id": grant, "remembered": True}]
    assert questions(go("other", before=again, tool=always))
    shown = http.get(f"{GRANTS}/{grant}").json()
    assert shown["object"] == "approval_grant" and shown["tool"] == "test/test_count"
    assert (shown["scope"], shown["scope_id"]) == ("thread", done.id)
    assert (shown["match"], shown["approve"]) == ("exact", True)
    assert shown["approval_id"] == question.id and shown["expires_at"] is None
    assert shown["definition"] == about["definition"] and len(shown["arguments_hash"]) == 64


@pytest.mark.feature("F35")
def test_an_ask_once_answer_is_remembered_by_default(go, go_on):
    done = go_on(go())
    remembered(go(before=done))
    assert questions(go("other", before=done))


@pytest.mark.feature("F35")
def test_a_refusal_is_remembered_with_its_reason(go, go_on, upstream, log):
    done = go_on(go(), approve=False, reason="not this file")
    called, _ = remembered(go(before=done))
    assert called.status == "incomplete" and log.lines() == []
    message = json.loads(tool_outputs_in(upstream.chats()[-1])["call_1"])["message"]
    assert message == "Previously rejected by user: not this file"
    done = go_on(go("other"), approve=False)
    remembered(go("other", before=done))
    assert json.loads(tool_outputs_in(upstream.chats()[-1])["call_1"])["message"] == (
        "Previously rejected by user")


@pytest.mark.feature("F37")
@pytest.mark.parametrize("said", [remember(match="tool"), {"persistDecision": True}], ids=str)
def test_an_answer_for_the_tool_covers_all_arguments(go, go_on, said):
    done = go_on(go(runnel={"permissions": {"test": {"permissionLevel": "moderate"}}}), runnel=said)
    remembered(go("other", before=done))
    asked = go(before=done, name="test_slow")
    assert questions(asked)[0].name == "test_slow"


@pytest.mark.feature("F37")
def test_a_decision_that_does_not_persist_is_requested_again(go, go_on):
    done = go_on(go(), runnel={"persistDecision": False})
    assert questions(go(before=done))


@pytest.mark.feature("F35")
def test_an_exact_answer_wins_over_one_for_the_tool(go, go_on, log):
    done = go_on(go("bad"), approve=False)
    done = go_on(go("good", before=done), runnel=remember(match="tool"))
    assert remembered(go("bad", before=done))[0].status == "incomplete"
    assert remembered(go("any", before=done))[0].output == "any"


# ---- Scopes ----

@pytest.mark.feature("F47")
def test_branches_of_a_chain_do_not_see_each_other(go, go_on):
    first = go(runnel={}, tool={**TEST, "require_approval": "never"})
    done = go_on(go(before=first))
    remembered(go(before=done))
    assert questions(go(before=first)) and questions(go())


@pytest.mark.feature("F35")
def test_a_conversation_is_the_scope_of_its_answers(go, go_on, client, http):
    here = {"conversation": client.conversations.create().id}
    there = {"conversation": client.conversations.create().id}
    done = go_on(go(**here), **here)
    _, grant = remembered(go(**here))
    assert questions(go(**there))
    # A chain that leaves the conversation keeps the grants of that moment.
    remembered(go(before=done))
    listed = http.get(f"{GRANTS}?scope=thread&scope_id={here['conversation']}").json()["data"]
    assert [(one["id"], one["scope_id"]) for one in listed] == [(grant, here["conversation"])]
    assert http.get(f"{GRANTS}/{grant}").json()["scope_id"] == here["conversation"]
    client.conversations.delete(here["conversation"])
    assert http.get(f"{GRANTS}/{grant}").status_code == 404


@pytest.mark.feature("F35")
def test_an_answer_can_be_remembered_for_a_user(go, go_on):
    """The scope `user`: the user that the request names, in all conversations."""
    asked = go(user="ada")
    assert questions(asked)[0].runnel["scopes"] == ["run", "thread", "user"]
    go_on(asked, runnel=remember(scope="user"), user="ada")
    remembered(go(user="ada"))
    assert questions(go(user="bob")) and questions(go())


@pytest.mark.feature("F35")
def test_an_answer_can_be_remembered_for_one_response(client, go, go_on, upstream, log):
    """The scope `run`: the response that continues, and no other."""
    asked = go()
    twice = call("test_count", 2, path=log.name, text="counted")
    upstream.script({"match": {"tool_results": 2}, "answer": {"text": "Done."}},
                    {"match": {"tool_results": 1}, "answer": {"tool_calls": [twice]}})
    done = go_on(asked, runnel=remember(scope="run"))
    first, second = calls_of(done)
    assert second.runnel["approval"]["remembered"] and log.lines() == ["call_1", "call_2"]
    assert questions(go(before=done))


@pytest.mark.feature("F35")
def test_a_request_can_set_the_default_scope(go, go_on):
    settings = {**ONCE, "approval": {"remember_default": "user"}}
    go_on(go(user="eve", runnel=settings), settings=settings, user="eve")
    remembered(go(user="eve"))


@pytest.mark.feature("F35")
def test_a_grant_expires(go, go_on, http):
    done = go_on(go(), runnel=remember(ttl_s=1000))
    _, grant = remembered(go(before=done))
    shown = http.get(f"{GRANTS}/{grant}").json()
    assert shown["expires_at"] == shown["created_at"] + 1000


@pytest.mark.feature("F38")
def test_ask_always_requests_an_approval_every_time(go, go_on):
    """With require_approval only an explicit `remember` counts."""
    always = {**TEST, "require_approval": "always"}
    done = go_on(go(tool=always, runnel={}), tool=always, settings={})
    done = go_on(go(before=done, tool=always, runnel={}), tool=always, settings={},
                 runnel=remember())
    remembered(go(before=done, tool=always, runnel={}))
    # An answer remembered by default does not count there.
    done = go_on(go("quiet"))
    remembered(go("quiet", before=done))
    assert questions(go("quiet", before=done, tool=always, runnel={}))


@pytest.mark.feature("F38")
def test_ask_always_of_the_operator_is_never_remembered(go, go_on):
    settings = {"permissions": {"test": {"execution": "ask-always"}}}
    asked = go(runnel=settings)
    assert "remember" not in questions(asked)[0].runnel
    error = refused(lambda: go_on(asked, settings=settings, runnel=remember()))
    assert error["param"] == "input[0].runnel.remember" and "always asked" in error["message"]
    done = go_on(asked, settings=settings)
    assert questions(go(before=done, runnel=settings))


@pytest.mark.feature("F35")
def test_a_response_that_is_not_stored_remembers_nothing(go, go_on, upstream, log):
    asked = go()
    error = refused(lambda: go_on(asked, runnel=remember(), store=False))
    assert "not stored" in error["message"]
    done = go_on(asked)
    unstored = go(before=done, store=False)
    assert not questions(unstored) and "not stored" in tool_outputs_in(upstream.chats()[-1])["call_1"]
    assert log.lines() == ["call_1"]


# ---- What cannot be remembered ----

@pytest.mark.feature("F35")
@pytest.mark.parametrize("runnel, param, code", [
    ({"rember": {}}, "runnel.rember", "unknown_parameter"),
    ({"remember": True}, "runnel.remember", "invalid_type"),
    ({"remember": {"scop": "thread"}}, "runnel.remember.scop", "unknown_parameter"),
    ({"remember": {"scope": "project"}}, "runnel.remember.scope", "invalid_value"),
    ({"remember": {"match": "any"}}, "runnel.remember.match", "invalid_value"),
    ({"remember": {"ttl_s": 0}}, "runnel.remember.ttl_s", "invalid_value"),
    ({"remember": {"ttl_s": "1"}}, "runnel.remember.ttl_s", "invalid_value"),
    ({"persistDecision": "yes"}, "runnel.persistDecision", "invalid_type"),
    ({"remember": {}, "persistDecision": True}, "runnel.persistDecision", "invalid_value"),
    ({"remember": {"scope": "assistant"}}, "runnel.remember", "invalid_value"),
    ({"remember": {"scope": "user"}}, "runnel.remember", "invalid_value"),
    ({"remember": {"match": "pattern"}}, "runnel.remember", "invalid_value"),
], ids=str)
def test_typing_errors_remember_nothing(go, go_on, http, log, runnel, param, code):
    asked = go()
    error = refused(lambda: go_on(asked, runnel=runnel))
    assert (error["param"], error["code"]) == (f"input[0].{param}", code), error
    (question,) = questions(asked)
    assert http.get(f"/v1/runnel/approvals/{question.id}").json()["status"] == "pending"
    bare = {key: value for key, value in runnel.items() if key != "rember"}
    if bare:
        error = http.post(f"/v1/runnel/approvals/{question.id}", json={"approve": True, **bare})
        assert error.status_code == 400
        assert error.json()["error"]["param"] == param.removeprefix("runnel.")
    assert log.lines() == []


@pytest.mark.feature("F35")
def test_a_misspelt_remember_is_refused(go, http, log):
    """ask-once remembers by default, so a misspelt `remember` would remember too much."""
    (question,) = questions(go())
    wrong = http.post(f"/v1/runnel/approvals/{question.id}", json={"approve": True, "persistDescision": False})
    assert wrong.status_code == 400 and wrong.json()["error"]["code"] == "unknown_parameter"
    assert wrong.json()["error"]["param"] == "persistDescision"
    shown = http.get(f"/v1/runnel/approvals/{question.id}").json()
    assert shown["status"] == "pending" and log.lines() == []


@pytest.mark.feature("F35")
@pytest.mark.parametrize("settings, param", [
    ({"approval": {"remember_default": "project"}}, "runnel.approval.remember_default"),
    ({"approval": {"remember": "thread"}}, "runnel.approval.remember"),
], ids=str)
def test_typing_errors_of_settings_are_refused(go, settings, param, upstream):
    assert refused(lambda: go(runnel=settings))["param"] == param and upstream.requests() == []


# ---- REST ----

@pytest.mark.feature("F44", "F47")
def test_decided_remembered_and_revoked_through_the_list(go, client, http):
    asked = go()
    (question,) = questions(asked)
    path = f"/v1/runnel/approvals/{question.id}"
    refusal = http.post(path, json={"approve": True, "remember": {"scope": "run"}})
    assert refusal.status_code == 400 and "does not exist yet" in refusal.json()["error"]["message"]
    for _ in range(2):
        decided = http.post(path, json={"approve": True, "remember": {"match": "tool"}})
        assert decided.status_code == 200, decided.text
    listed = http.get(f"{GRANTS}?scope_id={asked.id}&tool=test/test_count").json()["data"]
    assert [(one["match"], one["approval_id"]) for one in listed] == [("tool", question.id)]
    assert http.post(path, json={"approve": False, "remember": {}}).status_code == 409
    done = client.responses.create(model="demo", previous_response_id=asked.id, tools=[TEST],
                                   extra_body={"runnel": ONCE}, input="go on")
    _, grant = remembered(go("other", before=done))
    assert grant == listed[0]["id"]
    gone = http.delete(f"{GRANTS}/{grant}")
    assert gone.json() == {"id": grant, "object": "approval_grant.deleted", "deleted": True}
    assert http.get(f"{GRANTS}/{grant}").status_code == 404
    assert http.delete(f"{GRANTS}/{grant}").status_code == 404
    assert questions(go("other", before=done))


@pytest.mark.feature("F47")
def test_the_list_has_pages_and_filters(go, go_on, http):
    first = go_on(go("one"))
    second = go_on(go("two", before=first), runnel=remember(match="tool"))
    page = http.get(f"{GRANTS}?limit=1").json()
    assert page["data"][0]["scope_id"] == second.id and page["has_more"] is True
    rest = http.get(f"{GRANTS}?limit=1&after={page['last_id']}").json()
    assert rest["data"][0]["scope_id"] == first.id
    assert http.get(f"{GRANTS}?order=asc&scope_id={first.id}").json()["data"] == rest["data"]
    assert http.get(f"{GRANTS}?tool=test/nothing").json()["data"] == []
    assert http.get(f"{GRANTS}?scope=all").json()["error"]["param"] == "scope"
    assert http.get(f"{GRANTS}?after=grant_x").status_code == 400
    assert http.get(f"{GRANTS}/call_x").status_code == 400


@pytest.mark.feature("F46")
def test_another_project_cannot_see_or_revoke_a_grant(go, go_on, http, stranger_key):
    done = go_on(go())
    _, grant = remembered(go(before=done))
    headers = {"Authorization": f"Bearer {stranger_key}"}
    assert http.get(f"{GRANTS}/{grant}", headers=headers).status_code == 404
    assert http.delete(f"{GRANTS}/{grant}", headers=headers).status_code == 404
    assert grant not in [one["id"] for one in http.get(GRANTS, headers=headers).json()["data"]]
    remembered(go(before=done))


@pytest.mark.feature("F47")
def test_a_deleted_thread_or_assistant_grants_nothing(go, go_on, http):
    done = go_on(go())
    later = go(before=done)
    _, grant = remembered(later)
    assert http.delete(f"/v1/responses/{done.id}").status_code == 200
    assert http.get(f"{GRANTS}/{grant}").status_code == 404
    assert questions(go(before=later))


# ---- Restarts ----

@pytest.mark.feature("F110")
def test_a_grant_survives_a_restart(start_server, upstream, log):
    server = start_server()
    asks_for(upstream, call("test_count", path=log.name, text="counted"))

    def ask(input, **more):
        return server.sdk().responses.create(model="demo", tools=[TEST], input=input,
                                             extra_body={"runnel": ONCE}, **more)
    asked = ask("go")
    done = ask([answer(*questions(asked))], previous_response_id=asked.id)
    server.kill()
    server.start()
    remembered(ask("go", previous_response_id=done.id))
    assert log.lines() == ["call_1", "call_1"]


@pytest.mark.feature("F110")
@pytest.mark.parametrize("point", ["grants_upsert", "approvals_decide"])
def test_an_answer_and_its_grant_are_stored_together(start_fault_server, upstream, log, point):
    server = start_fault_server()
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    body = {"model": "demo", "tools": [TEST], "extra_body": {"runnel": ONCE}}

    def client():
        return server.sdk(strict=False).with_options(max_retries=0)
    asked = client().responses.create(input="go", **body)
    (question,) = questions(asked)
    server.arm(f"{point}:1:kill")
    with pytest.raises(openai.APIError):
        client().responses.create(input=[answer(question)], previous_response_id=asked.id, **body)
    server.restart()
    assert server.http().get(GRANTS).json()["data"] == []
    shown = server.http().get(f"/v1/runnel/approvals/{question.id}").json()
    assert shown["status"] == "pending" and shown["used_by"] is None
    done = client().responses.create(input=[answer(question)], previous_response_id=asked.id,
                                     **body)
    assert calls_of(done)[0].output == "counted" and log.lines() == ["call_1"]
    assert len(server.http().get(GRANTS).json()["data"]) == 1
