"""Tools that find in their arguments what needs a permission, and request it before they do anything."""

import json
from concurrent.futures import ThreadPoolExecutor

import openai
import pytest

from harness.server import eventually
from harness.tools import asks_for, call
from test_approvals import answer, calls_of, questions, tool_outputs_in
from test_approvals_runs import asked, begin, settled, submit

TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test"}
ALWAYS = {**TEST, "require_approval": "always"}
REFUSED = ("The user rejected permission to use this tool. You may try again with different "
           "parameters.")


@pytest.fixture
def outside(upstream, log):
    """The model reads those paths; each time it does, a line is left in the log."""
    def outside(*paths, **more):
        asks_for(upstream, call("test_outside", path=log.name, paths=list(paths), text="read"),
                 **more)
    return outside


@pytest.fixture
def create(client):
    def create(input="go", tool=TEST, **more):
        return client.responses.create(model="demo", input=input, tools=[tool], **more)
    return create


@pytest.mark.feature("F83")
def test_a_place_outside_needs_a_permission(create, outside, upstream, http, log):
    outside("shared:/docs/a.txt", "inside.txt", "shared:/docs/b.txt")
    first = create()
    (question,) = questions(first)
    about = question.runnel
    assert about["kind"] == "permission" and about["type"] == "external_directory"
    assert about["patterns"] == ["shared:/docs/*", "shared:/docs/*"]  # the directory, not the file
    assert about["title"] == "Read outside" and about["policy"] == "auto"
    assert about["metadata"]["paths"][1] == "inside.txt"
    assert json.loads(question.arguments)["paths"] == about["metadata"]["paths"]
    assert log.lines() == [] and len(upstream.chats()) == 1  # nothing has happened
    shown = http.get(f"/v1/runnel/approvals/{question.id}").json()
    assert shown["kind"] == "permission" and shown["result"] is None
    assert shown["permission"] == {key: about[key] for key in
                                   ("type", "patterns", "title", "metadata")}
    done = create(input=[answer(question)], previous_response_id=first.id)
    (called,) = calls_of(done)
    assert called.output.startswith("read") and called.approval_request_id == question.id
    assert log.lines() == ["call_1"]


@pytest.mark.feature("F83")
def test_a_place_inside_needs_no_permission(create, outside, log):
    outside("inside.txt")
    assert not questions(create()) and log.lines() == ["call_1"]


@pytest.mark.feature("F84")
def test_once_permits_this_call_only(create, outside, log):
    outside("shared:/docs/a.txt")
    first = create()
    done = create(input=[answer(*questions(first))], previous_response_id=first.id)
    outside("shared:/docs/a.txt")
    again = create(input="again", previous_response_id=done.id)
    assert questions(again)[0].runnel["kind"] == "permission" and log.lines() == ["call_1"]


@pytest.mark.feature("F42", "F84")
@pytest.mark.parametrize("reason", [None, "not there"])
def test_a_rejection_reaches_the_model(create, outside, upstream, log, reason):
    outside("shared:/docs/a.txt")
    first = create()
    create(input=[answer(*questions(first), approve=False, reason=reason)],
           previous_response_id=first.id)
    assert json.loads(tool_outputs_in(upstream.chats()[-1])["call_1"]) == {
        "status": "rejected", "message": reason or REFUSED}
    assert log.lines() == []


@pytest.mark.feature("F83")
def test_one_approval_covers_the_call_and_its_permission(create, outside, log):
    outside("shared:/docs/a.txt")
    first = create(tool=ALWAYS)
    (question,) = questions(first)
    assert question.runnel["kind"] == "permission" and question.runnel["policy"] == "ask-always"
    done = create(tool=ALWAYS, input=[answer(question)], previous_response_id=first.id)
    assert not questions(done) and log.lines() == ["call_1"]


@pytest.mark.feature("F83")
def test_a_failing_plan_reaches_the_model_without_an_approval(create, outside, upstream, log):
    for paths, text in ((["", "shared:/a/b"], "A path is empty."),
                        ([f"shared:/{n}/x" for n in range(40)], "too many permissions")):
        outside(*paths)
        for tool in (TEST, ALWAYS):
            done = create(tool=tool)
            assert not questions(done) and calls_of(done)[0].status == "failed"
            assert text in tool_outputs_in(upstream.chats()[-1])["call_1"]
    assert log.lines() == []


@pytest.mark.feature("F83")
def test_a_plan_sees_resolved_references(create, client, outside, http, log):
    """And what was allowed is what is executed."""
    vars_ = {"type": "mcp", "server_label": "vars", "server_url": "builtin:vars"}
    conversation = client.conversations.create().id
    http.post(f"/v1/runnel/conversations/{conversation}/variables",
              json={"name": "where", "value": "shared:/docs"})
    outside("$VAR_REF{{where}}/a.txt")
    first = client.responses.create(model="demo", input="go", tools=[TEST, vars_],
                                    conversation=conversation)
    (question,) = questions(first)
    assert question.runnel["patterns"] == ["shared:/docs/*"]
    assert json.loads(question.arguments)["paths"] == ["shared:/docs/a.txt"]
    http.post(f"/v1/runnel/conversations/{conversation}/variables/where",
              json={"value": "shared:/secrets"})
    done = client.responses.create(model="demo", input=[answer(question)], tools=[TEST, vars_],
                                   conversation=conversation)
    assert json.loads(calls_of(done)[0].arguments)["paths"] == ["shared:/docs/a.txt"]


@pytest.mark.feature("F41")
def test_without_an_approver_no_permission_is_given(create, outside, upstream, log):
    outside("shared:/docs/a.txt")
    done = create(extra_body={"runnel": {"approval": {"channel": "deny"}}})
    assert not questions(done) and log.lines() == []
    assert "No execution approval callback set" in tool_outputs_in(upstream.chats()[-1])["call_1"]
    create(store=False)
    assert log.lines() == []


# ---- Always ----

GRANTS = "/v1/runnel/approval_grants"


def always(question, approve=True, reason=None, **what):
    """The "always" of the seed: what the patterns cover needs no approval again."""
    more = {"reason": reason} if reason else {}
    return answer(question, approve, runnel={"remember": {"match": "pattern", **what}}, **more)


@pytest.fixture
def allowed(create, outside):
    """A response after which a directory is allowed."""
    def allowed(path, answer=always, **more):
        outside(path)
        first = create(**more)
        (question,) = questions(first)
        assert question.runnel["remember"] == ["pattern"]
        return create(input=[answer(question)], previous_response_id=first.id, **more)
    return allowed


@pytest.mark.feature("F84")
def test_always_covers_every_place_that_its_patterns_match(create, outside, allowed, log):
    done = allowed("shared:/docs/a.txt")
    outside("shared:/docs/b.txt", "shared:/docs/deep/c.txt", "inside.txt")
    again = create(previous_response_id=done.id)
    (called,) = calls_of(again)
    assert not questions(again) and log.lines() == ["call_1"] * 2
    assert called.runnel["approval"]["remembered"] is True and not called.approval_request_id
    for paths in (["shared:/docsx/a.txt"], ["shared:/docs/b.txt", "shared:/secrets/a.txt"]):
        outside(*paths)
        (question,) = questions(create(previous_response_id=again.id))
        assert question.runnel["kind"] == "permission"
        assert len(question.runnel["patterns"]) == len(paths)  # all of them, or an approval is needed
    outside("shared:/docs/b.txt")
    assert questions(create())  # elsewhere nothing was said
    assert log.lines() == ["call_1"] * 2


@pytest.mark.feature("F84")
def test_two_grants_together_cover_a_call(create, outside, allowed, log):
    done = allowed("shared:/docs/a.txt")
    outside("shared:/docs/b.txt", "shared:/more/c.txt")
    asks = create(previous_response_id=done.id)
    done = create(input=[always(*questions(asks))], previous_response_id=asks.id)
    outside("shared:/more/d.txt", "shared:/docs/e.txt", "shared:/more/f.txt")
    assert not questions(create(previous_response_id=done.id)) and len(log.lines()) == 3


@pytest.mark.feature("F84")
def test_a_refusal_can_be_remembered_always(create, outside, allowed, upstream, log):
    done = allowed("shared:/docs/a.txt", lambda q: always(q, approve=False, reason="private"))
    outside("shared:/docs/b.txt", "shared:/more/c.txt")
    again = create(previous_response_id=done.id)
    assert not questions(again) and log.lines() == []
    assert json.loads(tool_outputs_in(upstream.chats()[-1])["call_1"]) == {
        "status": "rejected", "message": "Previously rejected by user: private"}


@pytest.mark.feature("F84")
def test_a_stricter_policy_still_needs_its_approval(create, outside, allowed, log):
    done = allowed("shared:/docs/a.txt")
    outside("shared:/docs/b.txt")
    asks = create(tool=ALWAYS, previous_response_id=done.id)
    (question,) = questions(asks)
    assert question.runnel["kind"] == "execution" and "patterns" not in question.runnel
    assert question.runnel["remember"] == ["exact", "tool"] and len(log.lines()) == 1
    done = create(tool=ALWAYS, previous_response_id=asks.id,
                  input=[answer(question, runnel={"remember": {"match": "tool"}})])
    outside("shared:/docs/c.txt")
    assert not questions(create(tool=ALWAYS, previous_response_id=done.id))
    assert len(log.lines()) == 3


@pytest.mark.feature("F84")
def test_a_grant_for_the_tool_permits_no_place(create, outside, log):
    outside("inside.txt")
    asks = create(tool=ALWAYS)
    done = create(tool=ALWAYS, previous_response_id=asks.id,
                  input=[answer(*questions(asks), runnel={"remember": {"match": "tool"}})])
    outside("shared:/docs/a.txt")
    (question,) = questions(create(tool=ALWAYS, previous_response_id=done.id))
    assert question.runnel["kind"] == "permission" and log.lines() == ["call_1"]


@pytest.mark.feature("F84")
@pytest.mark.parametrize("said", [{"remember": {"match": "exact"}}, {"remember": {"match": "tool"}},
                                  {"persistDecision": True}])
def test_only_patterns_of_a_permission_are_remembered(create, outside, http, log, said):
    outside("shared:/docs/a.txt")
    first = create()
    (question,) = questions(first)
    with pytest.raises(openai.BadRequestError) as refused:
        create(input=[answer(question, runnel=said)], previous_response_id=first.id)
    assert refused.value.param == "input[0].runnel." + next(iter(said))
    rest = http.post(f"/v1/runnel/approvals/{question.id}", json={"approve": True, **said})
    assert rest.status_code == 400 and log.lines() == []


@pytest.mark.feature("F84")
def test_a_permission_given_through_the_list_holds_until_it_is_revoked(create, outside, http, log):
    outside("shared:/docs/a.txt", "shared:/docs/b.txt", "shared:/more/c.txt")
    first = create(user="ada")
    (question,) = questions(first)
    http.post(f"/v1/runnel/approvals/{question.id}",
              json={"approve": True, "remember": {"scope": "user"}}).raise_for_status()
    grants = [one for one in http.get(GRANTS + "?scope=user&scope_id=ada").json()["data"]
              if one["approval_id"] == question.id]
    assert {(one["match"], one["type"], one["pattern"]) for one in grants} == {
        ("pattern", "external_directory", "shared:/docs/*"),
        ("pattern", "external_directory", "shared:/more/*")}
    assert len(grants) == 2
    outside("shared:/docs/d.txt", "shared:/more/e.txt")
    assert not questions(create(user="ada")) and log.lines() == ["call_1"]
    assert questions(create(user="bob"))
    http.delete(f"{GRANTS}/{grants[0]['id']}").raise_for_status()
    assert questions(create(user="ada")) and log.lines() == ["call_1"]
    http.delete(f"{GRANTS}/{grants[1]['id']}").raise_for_status()


# ---- Always, and what waits ----

@pytest.fixture
def both(upstream, log, create):
    """A response with an approval request for each list of paths."""
    def both(*lists, **more):
        asks_for(upstream, *[call("test_outside", i, path=log.name, paths=paths, text="r")
                             for i, paths in enumerate(lists)])
        return create(**more)
    return both


def status_of(http, *asked):
    return [http.get(f"/v1/runnel/approvals/{one.id}").json()["status"] for one in asked]


@pytest.mark.feature("F84")
def test_always_answers_pending_requests_of_the_same_response(both, create, http, log):
    first = both(["shared:/docs/b.txt", "shared:/more/c.txt"], ["shared:/docs/a.txt"],
                 ["shared:/more/a.txt"])
    covered, one, two = questions(first)
    with pytest.raises(openai.BadRequestError) as missing:  # one of the two is not enough for it
        create(input=[always(one), answer(two)], previous_response_id=first.id)
    assert covered.id in missing.value.message and log.lines() == []
    assert status_of(http, covered, one, two) == ["pending"] * 3
    done = create(input=[always(one), always(two)], previous_response_id=first.id)
    assert not questions(done) and sorted(log.lines()) == ["call_0", "call_1", "call_2"]
    assert {one.approval_request_id for one in calls_of(done)} == {q.id for q in questions(first)}
    assert status_of(http, covered, one, two) == ["approved"] * 3


@pytest.mark.feature("F84")
def test_always_does_not_answer_requests_of_the_policy(both, create, http, log):
    """It waits for more than the place: its policy needs an approval, too."""
    waits = both(["shared:/docs/b.txt"], user="eve", tool=ALWAYS)
    first = both(["shared:/docs/a.txt"], ["shared:/docs/c.txt"], user="eve", tool=ALWAYS)
    one, beside = questions(first)
    said = always(one)
    said["runnel"]["remember"]["scope"] = "user"
    with pytest.raises(openai.BadRequestError) as missing:
        create(input=[said], previous_response_id=first.id, user="eve", tool=ALWAYS)
    assert beside.id in missing.value.message
    create(input=[said, answer(beside, approve=False)], previous_response_id=first.id, user="eve",
           tool=ALWAYS)
    assert status_of(http, one, *questions(waits)) == ["approved", "pending"]
    assert log.lines() == ["call_0"]


@pytest.mark.feature("F84")
def test_a_refusal_answers_no_other_request(both, create, log):
    first = both(["shared:/docs/b.txt"], ["shared:/docs/a.txt"])
    with pytest.raises(openai.BadRequestError):
        create(input=[always(questions(first)[0], approve=False)], previous_response_id=first.id)
    assert log.lines() == []


@pytest.mark.feature("F84")
def test_always_through_the_list_answers_pending_requests(both, create, http, log):
    first = both(["shared:/docs/a.txt"], ["shared:/docs/b.txt"], ["shared:/docsx/c.txt"])
    one, covered, other = questions(first)
    http.post(f"/v1/runnel/approvals/{one.id}",
              json={"approve": True, "remember": {"match": "pattern"}}).raise_for_status()
    assert status_of(http, one, covered, other) == ["approved", "approved", "pending"]
    shown = http.get(f"/v1/runnel/approvals/{covered.id}").json()
    assert shown["decided_at"] and shown["used_by"] is None
    again = http.post(f"/v1/runnel/approvals/{covered.id}", json={"approve": False})
    assert again.status_code == 409  # it was decided, once
    done = create(input=[answer(other, approve=False)], previous_response_id=first.id)
    assert not questions(done) and sorted(log.lines()) == ["call_0", "call_1"]


@pytest.mark.feature("F84")
@pytest.mark.parametrize("by_rest", [True, False])
def test_always_for_a_user_answers_pending_requests_of_other_responses(both, create, http, log, by_rest):
    user = f"ada-{by_rest}"
    first, second = (both(["shared:/docs/a.txt"], user=user) for _ in range(2))
    others = [both(["shared:/docs/a.txt"], user="bob"), both(["shared:/docs/a.txt"]),
              both(["shared:/secrets/a.txt"], user=user),
              both(["shared:/docs/a.txt", "shared:/secrets/a.txt"], user=user)]
    asks, covered, *rest = [questions(one)[0] for one in (first, second, *others)]
    if by_rest:
        http.post(f"/v1/runnel/approvals/{asks.id}", json={
            "approve": True, "remember": {"scope": "user"}}).raise_for_status()
    else:
        create(input=[always(asks, scope="user")], previous_response_id=first.id, user=user)
    assert status_of(http, asks, covered, *rest) == ["approved"] * 2 + ["pending"] * 4
    before = len(log.lines())
    done = create(input=[], previous_response_id=second.id, user=user)
    assert calls_of(done)[0].approval_request_id == covered.id
    assert len(log.lines()) == before + 1


@pytest.mark.feature("F84")
def test_a_refused_place_is_not_permitted_by_a_wider_pattern(both, http):
    waits, no, yes = (questions(both([path], user="kim"))[0] for path in
                      ("shared:/docs/x/a.txt", "shared:/docs/x/b.txt", "shared:/docs/a.txt"))
    for one, approve in ((no, False), (yes, True)):
        http.post(f"/v1/runnel/approvals/{one.id}", json={
            "approve": approve, "remember": {"scope": "user"}}).raise_for_status()
    assert status_of(http, waits, no, yes) == ["pending", "rejected", "approved"]


@pytest.mark.feature("F84")
def test_two_requests_that_cover_each_other_are_decided_once(both, http):
    """Neither waits for the other for ever, in either order."""
    for n in range(5):
        asks = [questions(both(["shared:/docs/a.txt"], user=f"eve-{n}"))[0] for _ in range(4)]
        said = {"approve": True, "remember": {"scope": "user"}}
        with ThreadPoolExecutor(len(asks)) as pool:
            answers = list(pool.map(
                lambda one: http.post(f"/v1/runnel/approvals/{one.id}", json=said), asks))
        assert [one.status_code for one in answers] == [200] * len(asks)
        assert status_of(http, *asks) == ["approved"] * len(asks)


# ---- Runs of threads ----

@pytest.fixture
def lax(server):
    return server.sdk(strict=False)


@pytest.mark.feature("F83", "F106")
def test_a_permission_works_in_a_run(lax, outside, upstream, log):
    outside("shared:/docs/a.txt")
    run = begin(lax, [TEST])
    (question,) = asked(run)
    about = json.loads(question.function.arguments)
    assert about["kind"] == "permission" and about["patterns"] == ["shared:/docs/*"]
    assert about["type"] == "external_directory" and log.lines() == []
    run = submit(lax, run, {question.id: "true"})
    assert run.status == "completed" and log.lines() == ["call_1"]


@pytest.mark.feature("F84")
def test_always_works_in_a_run(lax, outside, log):
    outside("shared:/docs/a.txt")
    run = begin(lax, [TEST])
    (question,) = asked(run)
    assert json.loads(question.function.arguments)["remember"] == ["pattern"]
    always = json.dumps({"approve": True, "remember": {"match": "pattern"}})
    assert submit(lax, run, {question.id: always}).status == "completed"
    for path, status in (("shared:/docs/b.txt", "completed"),
                         ("shared:/more/c.txt", "requires_action")):
        outside(path)
        run = settled(lax, lax.beta.threads.runs.create(
            run.thread_id, assistant_id=run.assistant_id,
            additional_messages=[{"role": "user", "content": "again"}]))
        assert run.status == status and log.lines() == ["call_1"] * 2
    lax.beta.threads.runs.cancel(run.id, thread_id=run.thread_id)


@pytest.mark.feature("F84")
@pytest.mark.parametrize("said", [{"match": "tool"}, {"match": "patterns"}])
def test_an_invalid_always_is_a_refusal_in_a_run(lax, outside, log, said):
    outside("shared:/docs/a.txt", text="Well.")
    run = begin(lax, [TEST])
    wrong = json.dumps({"approve": True, "remember": said})
    run = submit(lax, run, {asked(run)[0].id: wrong})
    assert run.status == "completed" and log.lines() == []


@pytest.mark.feature("F84")
def test_a_rejection_works_in_a_run(lax, outside, upstream, log):
    outside("shared:/docs/a.txt", text="Well.")
    run = begin(lax, [TEST])
    run = submit(lax, run, {asked(run)[0].id: "false"})
    assert run.status == "completed" and log.lines() == []
    assert json.loads(tool_outputs_in(upstream.chats()[-1])["call_1"])["message"] == REFUSED


@pytest.mark.feature("F85")
def test_cancelling_a_run_rejects_its_pending_permissions(lax, http, outside, log):
    outside("shared:/docs/a.txt")
    run = begin(lax, [TEST])
    (question,) = asked(run)
    listed = http.get("/v1/runnel/approvals?limit=1").json()["data"][0]
    assert listed["id"] == question.id and listed["status"] == "pending"
    assert listed["permission"]["type"] == "external_directory"
    lax.beta.threads.runs.cancel(run.id, thread_id=run.thread_id)
    eventually(lambda: http.get(f"/v1/runnel/approvals/{question.id}").json()["status"],
               lambda status: status == "expired", seconds=40)
    eventually(lambda: lax.beta.threads.runs.retrieve(run.id, thread_id=run.thread_id).status,
               lambda status: status == "cancelled", seconds=40)
    with pytest.raises(openai.BadRequestError):
        lax.beta.threads.runs.submit_tool_outputs(
            run.id, thread_id=run.thread_id,
            tool_outputs=[{"tool_call_id": question.id, "output": "true"}])
    assert log.lines() == []


@pytest.mark.feature("F110")
@pytest.mark.parametrize("approve", ["true", "false"])
def test_a_permission_request_survives_a_restart(start_server, outside, log, approve):
    server = start_server()
    outside("shared:/docs/a.txt", text="Well.")
    run = begin(server.sdk(strict=False), [TEST])
    (question,) = asked(run)
    server.kill()
    server.start()
    run = submit(server.sdk(strict=False), run, {question.id: approve})
    assert run.status == "completed"
    assert log.lines() == (["call_1"] if approve == "true" else [])
