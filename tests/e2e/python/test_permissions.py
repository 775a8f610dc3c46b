"""Tools that find in their arguments what somebody has to allow, and ask before they do anything."""

import json

import openai
import pytest

from harness.server import eventually
from harness.tools import asks_for, call
from test_approvals import answer, calls_of, questions, told
from test_approvals_runs import asked, begin, submit

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


def test_F83_a_place_outside_is_asked_for(create, outside, upstream, http, log):
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


def test_F83_inside_nothing_is_asked(create, outside, log):
    outside("inside.txt")
    assert not questions(create()) and log.lines() == ["call_1"]


def test_F84_once_is_for_this_call(create, outside, log):
    outside("shared:/docs/a.txt")
    first = create()
    done = create(input=[answer(*questions(first))], previous_response_id=first.id)
    outside("shared:/docs/a.txt")
    again = create(input="again", previous_response_id=done.id)
    assert questions(again)[0].runnel["kind"] == "permission" and log.lines() == ["call_1"]


@pytest.mark.parametrize("reason", [None, "not there"])
def test_F42_F84_a_rejection_is_told(create, outside, upstream, log, reason):
    outside("shared:/docs/a.txt")
    first = create()
    create(input=[answer(*questions(first), approve=False, reason=reason)],
           previous_response_id=first.id)
    assert json.loads(told(upstream.chats()[-1])["call_1"]) == {
        "status": "rejected", "message": reason or REFUSED}
    assert log.lines() == []


def test_F83_one_question_for_the_call_and_what_it_needs(create, outside, log):
    outside("shared:/docs/a.txt")
    first = create(tool=ALWAYS)
    (question,) = questions(first)
    assert question.runnel["kind"] == "permission" and question.runnel["policy"] == "ask-always"
    done = create(tool=ALWAYS, input=[answer(question)], previous_response_id=first.id)
    assert not questions(done) and log.lines() == ["call_1"]


def test_F83_a_plan_that_fails_is_told_and_asks_nobody(create, outside, upstream, log):
    for paths, text in ((["", "shared:/a/b"], "A path is empty."),
                        ([f"shared:/{n}/x" for n in range(40)], "too many permissions")):
        outside(*paths)
        for tool in (TEST, ALWAYS):
            done = create(tool=tool)
            assert not questions(done) and calls_of(done)[0].status == "failed"
            assert text in told(upstream.chats()[-1])["call_1"]
    assert log.lines() == []


def test_F83_a_plan_sees_what_references_have_become(create, client, outside, http, log):
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


def test_F41_without_an_approver_nothing_is_allowed(create, outside, upstream, log):
    outside("shared:/docs/a.txt")
    done = create(extra_body={"runnel": {"approval": {"channel": "deny"}}})
    assert not questions(done) and log.lines() == []
    assert "No execution approval callback set" in told(upstream.chats()[-1])["call_1"]
    create(store=False)
    assert log.lines() == []


# ---- Runs of threads ----

@pytest.fixture
def lax(server):
    return server.sdk(strict=False)


def test_F83_F106_in_a_run(lax, outside, upstream, log):
    outside("shared:/docs/a.txt")
    run = begin(lax, [TEST])
    (question,) = asked(run)
    about = json.loads(question.function.arguments)
    assert about["kind"] == "permission" and about["patterns"] == ["shared:/docs/*"]
    assert about["type"] == "external_directory" and log.lines() == []
    run = submit(lax, run, {question.id: "true"})
    assert run.status == "completed" and log.lines() == ["call_1"]


def test_F84_a_rejection_in_a_run(lax, outside, upstream, log):
    outside("shared:/docs/a.txt", text="Well.")
    run = begin(lax, [TEST])
    run = submit(lax, run, {asked(run)[0].id: "false"})
    assert run.status == "completed" and log.lines() == []
    assert json.loads(told(upstream.chats()[-1])["call_1"])["message"] == REFUSED


def test_F85_the_list_of_what_waits_and_an_abort_that_rejects_it(lax, http, outside, log):
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


@pytest.mark.parametrize("approve", ["true", "false"])
def test_F110_it_outlives_its_server(start_server, outside, log, approve):
    server = start_server()
    outside("shared:/docs/a.txt", text="Well.")
    run = begin(server.sdk(strict=False), [TEST])
    (question,) = asked(run)
    server.kill()
    server.start()
    run = submit(server.sdk(strict=False), run, {question.id: approve})
    assert run.status == "completed"
    assert log.lines() == (["call_1"] if approve == "true" else [])
