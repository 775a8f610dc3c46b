"""The reference cases of permissions, with the older keys of the seed, and the order of a call's steps."""

import json

import pytest

from harness.tools import asks_for, call
from test_approvals import answer, calls_of, questions, refused, tool_outputs_in
from test_approvals_runs import asked, begin, submit

SECRET = "s3cret-and-long"
TOOLS = [{"type": "mcp", "server_label": label, "server_url": f"builtin:{label}"}
         for label in ("basic", "test")]
POLICIES = """\
tools:
  permissions:
    test/test_backwards: {permissionLevel: public, requireResultApproval: true}
    test/test_count: {permissionLevel: %s}
    basic/datetime: {permissionLevel: public}
    test/test_count_idempotent: {permissionLevel: sensitive, requireResultApproval: true}
"""


def cases(path):
    """Calls and their approval requests, one after another."""
    return {
        "private search": (call("test_backwards", text=SECRET[::-1]), ["result"]),
        "mail": (call("test_count", path=path, text="sent"), ["execution"]),
        "clock": (call("datetime"), []),
        "system settings": (call("test_count_idempotent", path=path, text="set"),
                            ["execution", "result"]),
    }


@pytest.fixture
def office(start_server, tmp_path, request):
    config = tmp_path / "runnel.yaml"
    config.write_text(POLICIES % request.param)
    return start_server(config=config)


def kinds_of_response(client):
    """Approves every request, and returns their kinds."""
    response = client.responses.create(model="demo", input="go", tools=TOOLS)
    kinds = []
    while questions(response):
        (question,) = questions(response)
        kinds.append(question.runnel["kind"])
        response = client.responses.create(model="demo", previous_response_id=response.id,
                                           input=[answer(question)], tools=TOOLS)
    return kinds


def kinds_of_run(client):
    run = begin(client, TOOLS)
    kinds = []
    while run.status == "requires_action":
        (question,) = asked(run)
        kinds.append(json.loads(question.function.arguments)["kind"])
        run = submit(client, run, {question.id: "true"})
    assert run.status == "completed", run
    return kinds


@pytest.mark.feature("F40")
@pytest.mark.parametrize("office", ["moderate", "sensitive"], indirect=True)
def test_the_four_reference_cases_behave_as_described(office, upstream, log):
    """Mail is moderate or sensitive: it needs an approval before, and never after."""
    for case, (made, kinds) in cases(log.name).items():
        for ask in (lambda: kinds_of_response(office.sdk()),
                    lambda: kinds_of_run(office.sdk(strict=False))):
            asks_for(upstream, made)
            assert ask() == kinds, case
            assert tool_outputs_in(upstream.chats()[-1])["call_1"], case
    assert log.lines() == ["call_1"] * 4  # twice mail, twice settings: each once


@pytest.mark.feature("F40", "F43")
@pytest.mark.parametrize("office", ["moderate"], indirect=True)
def test_a_refused_private_result_stays_private(office, upstream):
    client = office.sdk()
    asks_for(upstream, call("test_backwards", text=SECRET[::-1]))
    response = client.responses.create(model="demo", input="go", tools=TOOLS)
    client.responses.create(model="demo", previous_response_id=response.id, tools=TOOLS,
                            input=[answer(*questions(response), approve=False)])
    assert SECRET not in json.dumps(upstream.asked())


# ---- Step by step ----

STRICT = {"runnel": {"permissions": {"test": {"execution": "ask-always", "result": "always"}}}}


@pytest.mark.feature("F48")
def test_a_call_that_fails_its_checks_needs_no_approval(client, upstream):
    """The tool is looked up, references are resolved, arguments checked: then the approval is requested."""
    asks_for(upstream, call("nothing", 1), call("test_slow", 2, text="$VAR_REF{{none}}"),
             call("test_number", 3, n=11), text="Well.")
    done = client.responses.create(model="demo", input="go", tools=TOOLS, extra_body=STRICT)
    assert not questions(done) and [one.status for one in calls_of(done)] == ["failed"] * 3
    seen = tool_outputs_in(upstream.chats()[-1])
    assert seen["call_1"] == "Tool nothing not found"
    assert "Variable 'none' not found." in seen["call_2"]


@pytest.mark.feature("F39", "F48")
def test_the_steps_of_a_call_have_a_fixed_order(client, upstream):
    """Approved, executed, its exception made a text, approved again, sent."""
    asks_for(upstream, call("test_fail", message="it broke"))

    def go_on(response, approve=True):
        return client.responses.create(
            model="demo", previous_response_id=response.id, tools=TOOLS, extra_body=STRICT,
            input=[answer(*questions(response), approve=approve)])
    first = client.responses.create(model="demo", input="go", tools=TOOLS, extra_body=STRICT)
    assert questions(first)[0].runnel["kind"] == "execution" and not calls_of(first)
    second = go_on(first)
    (ran,) = calls_of(second)
    assert ran.status == "failed" and ran.runnel["status"] == "error"
    assert questions(second)[0].runnel["output"] == "it broke"
    go_on(second)
    assert tool_outputs_in(upstream.chats()[-1]) == {"call_1": "it broke"}


@pytest.mark.feature("F48")
def test_a_refused_call_has_no_result_to_approve(client, upstream):
    asks_for(upstream, call("test_slow"))
    first = client.responses.create(model="demo", input="go", tools=TOOLS, extra_body=STRICT)
    done = client.responses.create(
        model="demo", previous_response_id=first.id, tools=TOOLS, extra_body=STRICT,
        input=[answer(*questions(first), approve=False)])
    assert not questions(done) and calls_of(done)[0].runnel["status"] == "execution_rejected"


@pytest.mark.feature("F48")
@pytest.mark.parametrize("word", ["skipExecutionApproval", "skipResultApproval",
                                  "skip_execution_approval", "skip_result_approval"])
def test_a_client_cannot_skip_an_approval(client, upstream, word):
    for body in ({word: True}, {"approval": {word: True}},
                 {"permissions": {"test": {word: True}}}):
        error = refused(lambda body=body: client.responses.create(
            model="demo", input="go", tools=TOOLS, extra_body={"runnel": body}))
        assert error["code"] == "unknown_parameter" and error["param"].endswith(word)
    # In arguments it has no meaning.
    asks_for(upstream, call("test_slow", **{word: True}))
    asked_for = client.responses.create(model="demo", input="go", tools=TOOLS, extra_body=STRICT)
    assert questions(asked_for)[0].runnel["kind"] == "execution"
