"""The group script, executed for real: who is asked, what is injected, and what a call leaves behind."""

import json
import os

import pytest

from harness.sandbox import require_sandbox
from harness.tools import call, offered_names, then_says
from test_approvals import answer, calls_of, questions

SCRIPT = {"type": "mcp", "server_label": "script", "server_url": "builtin:script"}
NODE = os.access("/usr/bin/node", os.X_OK)
PANDOC = os.access("/usr/bin/pandoc", os.X_OK)


@pytest.fixture(autouse=True)
def sandbox(binary):
    require_sandbox(binary)


def answered(client, first, **more):
    """The last response, all questions answered with yes."""
    response = first
    while questions(response):
        if "conversation" not in more:
            more["previous_response_id"] = response.id
        response = client.responses.create(model="demo", input=[answer(question) for question in questions(response)],
                                           **more)
    return response


def outputs(response):
    return [item.output or item.error.content[0]["text"] for item in calls_of(response)]


@pytest.mark.feature("F53")
def test_the_group_offers_what_this_machine_can_run(client, http, upstream):
    upstream.answer(text="Hi.")
    client.responses.create(model="demo", input="go", tools=[SCRIPT])
    expected = ["Shell", "Python"] + ["JavaScript"] * NODE + ["Pandoc"] * PANDOC
    assert [name for name in offered_names(upstream.chats()[0]) if name not in ("ReadVar", "ListVars")] == expected
    listed = {tool["name"]: tool for tool in http.get("/v1/runnel/tools?group=script").json()["data"]}
    assert list(listed) == ["Shell", "Python", "JavaScript", "Pandoc"]
    assert all((tool["execution_policy"], tool["result_policy"]) == ("ask-once", "always") for tool in listed.values())
    assert listed["JavaScript"].get("unavailable") == (None if NODE else "nodejs is not installed")
    assert listed["Pandoc"].get("unavailable") == (None if PANDOC else "pandoc is not installed")


@pytest.mark.feature("F53")
def test_a_person_is_asked_for_the_code_and_shown_its_output(client, upstream):
    then_says(upstream, [call("Python", 1, code="print(6 * 7)")], text="Done.")
    first = client.responses.create(model="demo", input="go", tools=[SCRIPT])
    (question,) = questions(first)
    assert (question.name, question.runnel["kind"]) == ("Python", "execution")
    assert json.loads(question.arguments)["code"] == "print(6 * 7)"
    second = client.responses.create(model="demo", input=[answer(question)], previous_response_id=first.id,
                                     tools=[SCRIPT])
    (question,) = questions(second)
    assert question.runnel["kind"] == "result" and question.runnel["output"].startswith("[stdout]\n42\n\n[stderr]")
    third = client.responses.create(model="demo", input=[answer(question)], previous_response_id=second.id,
                                    tools=[SCRIPT])
    assert third.output_text == "Done."
    assert "[stdout]\n42" in str(upstream.chats()[-1]["messages"][-1]["content"])


@pytest.mark.feature("F53")
def test_calls_share_files_and_nothing_else(client, upstream):
    then_says(upstream, [call("Shell", 1, command="echo kept > f; echo mine > /tmp/f; sleep 300 & echo $secret",
                              injectVar={"secret": "s3"})],
              [call("Python", 2, code="import os\nprint(open('f').read().strip(), os.listdir('/tmp'), "
                                      "'secret' in os.environ, [p for p in os.listdir('/proc') if p.isdigit() "
                                      "and 'sleep' in open(f'/proc/{p}/cmdline').read()])")], text="Done.")
    last = answered(client, client.responses.create(model="demo", input="go", tools=[SCRIPT]), tools=[SCRIPT])
    assert last.output_text == "Done."
    results = [message["content"] for message in upstream.chats()[-1]["messages"] if message["role"] == "tool"]
    assert results[0].startswith("[stdout]\ns3\n\n[stderr]")
    assert results[1].startswith("[stdout]\nkept ['call'] False []\n\n[stderr]")


@pytest.mark.feature("F53")
def test_a_variable_of_the_conversation_is_injected_by_reference(client, http, upstream):
    conversation = client.conversations.create()
    text = "it's \\ \"q\" $(id) `id`\n" * 3000
    made = http.post(f"/v1/runnel/conversations/{conversation.id}/variables", json={"name": "big", "value": text})
    assert made.status_code == 200, made.text
    then_says(upstream, [call("Python", 1, code="print(len(data), data.count('$(id)'))",
                              injectVar={"data": "$VAR_REF{{big}}"})], text="Done.")
    more = {"tools": [SCRIPT], "conversation": conversation.id}
    last = answered(client, client.responses.create(model="demo", input="go", **more), **more)
    assert last.output_text == "Done."
    results = [message["content"] for message in upstream.chats()[-1]["messages"] if message["role"] == "tool"]
    assert results[0].startswith(f"[stdout]\n{len(text)} 3000\n")


@pytest.mark.feature("F53")
def test_a_failure_reaches_the_model_with_its_output(client, upstream):
    then_says(upstream, [call("Shell", 1, command="echo out; echo bad >&2; exit 3")], text="Done.")
    first = client.responses.create(model="demo", input="go", tools=[SCRIPT])
    second = client.responses.create(model="demo", input=[answer(*questions(first))], previous_response_id=first.id,
                                     tools=[SCRIPT])
    (item,) = calls_of(second)
    assert item.status == "failed"
    assert answered(client, second, tools=[SCRIPT]).output_text == "Done."
    (result,) = (message["content"] for message in upstream.chats()[-1]["messages"] if message["role"] == "tool")
    assert result.startswith("Shell execution error: exit code 3\n[stdout]\nout\n\n[stderr]\nbad")


@pytest.mark.feature("F53")
def test_refused_names_ask_nobody(client, upstream):
    then_says(upstream, [call("Shell", 1, command="true", injectVar={"LD_PRELOAD": "x.so"})], text="Done.")
    first = client.responses.create(model="demo", input="go", tools=[SCRIPT])
    assert not questions(first)
    assert outputs(first) == ["injectVar: the variable LD_PRELOAD must not be set."]
