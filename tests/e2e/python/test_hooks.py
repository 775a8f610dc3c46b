"""F62: what an operator's hook does to requests before a model gets them; and the phase of a failure."""

import json

import openai
import pytest
from openai.types.responses import Response

from harness.failures import failed_response
from harness.recorder import parse_events
from harness.server import eventually
from harness.tools import call, then_says

TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test",
        "require_approval": "never"}
MASKS = """hooks:
  before_send:
    - {pattern: "[\\\\w.]+@[\\\\w.]+", replacement: "[mail]"}
    - {pattern: "SECRET-\\\\d+", flags: i}
"""
SAID = "ada@example.org knows secret-42"
MASKED = "[mail] knows [masked]"


@pytest.fixture
def masked(start_server, tmp_path):
    config = tmp_path / "masks.yaml"
    config.write_text(MASKS)
    return start_server(config=config).sdk().copy()


def received(upstream):
    return json.dumps([chat["messages"] for chat in upstream.chats()])


def test_the_model_gets_masked_text_and_the_client_the_original(masked, upstream):
    then_says(upstream, [call("test_slow", 1, ms=0, text=SAID)], text="done")
    response = masked.responses.create(model="demo", input=SAID, instructions=SAID, tools=[TEST])
    first, second = upstream.chats()
    assert first["messages"][0]["content"].startswith(MASKED)
    assert first["messages"][1] == {"role": "user", "content": MASKED}
    asked, answered = second["messages"][2:]
    # What the model itself wrote was not masked when it came: the tool got it whole.
    assert json.loads(asked["tool_calls"][0]["function"]["arguments"])["text"] == MASKED
    assert answered["content"].startswith(MASKED)
    assert "ada@" not in received(upstream) and "secret-4" not in received(upstream)
    (item,) = [i for i in response.output if i.type == "mcp_call"]
    assert item.output.startswith(SAID) and SAID in item.arguments
    assert response.instructions == SAID
    (kept,) = masked.responses.input_items.list(response.id).data
    assert kept.content[0].text == SAID


def test_history_and_summary_of_a_thread_are_masked(masked, upstream):
    upstream.answer(text="ok " + SAID)
    assistant = masked.beta.assistants.create(model="demo", instructions=SAID)
    thread = masked.beta.threads.create(messages=[{"role": "user", "content": SAID}])
    for _ in range(2):
        run = masked.beta.threads.runs.create_and_poll(
            thread_id=thread.id, assistant_id=assistant.id)
        assert run.status == "completed"
    upstream.forget()
    first = masked.responses.create(model="demo", input=SAID)
    masked.responses.compact(model="demo", previous_response_id=first.id)
    assert len(upstream.chats()) == 2 and MASKED in received(upstream)
    assert "ada@" not in received(upstream)
    said = [m.content[0].text.value for m in masked.beta.threads.messages.list(thread.id)]
    assert said == ["ok " + SAID] * 2 + [SAID]


def test_chat_completions_are_masked_too(masked, upstream):
    upstream.answer(text="ok")
    messages = [{"role": "user", "content": [{"type": "text", "text": SAID}]}]
    masked.chat.completions.create(model="demo", messages=messages, user=SAID[:3])
    (chat,) = upstream.chats()
    assert chat["messages"][0]["content"][0]["text"] == MASKED and chat["user"] == "ada"


def test_a_request_that_cannot_be_masked_is_not_sent(masked, upstream):
    """A search for the end of a long word, from each of its letters: nothing is sent."""
    upstream.answer(text="ok")
    word = "a" * 100000 + " @"
    error, response = failed_response(masked, input=word)
    assert error.status_code == 500 and response.error.code == "server_error"
    assert response.error.message == "The request could not be prepared for the model."
    with pytest.raises(openai.InternalServerError):
        masked.with_options(max_retries=0).chat.completions.create(
            model="demo", messages=[{"role": "user", "content": word}])
    assert upstream.chats() == []
    assert masked.responses.create(model="demo", input="hi").output_text == "ok"


def test_a_run_can_be_cancelled_while_its_request_is_masked(start_server, tmp_path, upstream):
    config = tmp_path / "masks.yaml"
    slow = '    - {pattern: "\\\\w+@"}\n'
    config.write_text("hooks:\n  before_send:\n" + slow * 20)
    client = start_server(config=config).sdk()
    upstream.answer(text="ok")
    response = client.responses.create(model="demo", input="a" * 6000 + " @", background=True)
    client.responses.cancel(response.id)
    ended = eventually(lambda: client.responses.retrieve(response.id),
                       lambda r: r.status not in ("queued", "in_progress"))
    assert ended.status == "cancelled"
    assert client.responses.create(model="demo", input="hi").output_text == "ok"
    assert len(upstream.chats()) == 1


# ---- The phase of a failure ----

def phases_of(response):
    return [i.runnel.get("error_phase") for i in response.output if i.type == "mcp_call"]


def test_a_failed_call_names_its_phase(client, http, upstream):
    broken = {"name": "test_slow", "id": "call_1", "arguments": "{broken"}
    then_says(upstream, [broken, call("test_fail", 2, message="boom"),
                         call("test_none", 3), call("test_slow", 4, ms=0, text="fact")], text="done")
    response = client.responses.create(model="demo", input="go", tools=[TEST])
    assert sorted(phases_of(response), key=str) == [None, None, "parse_arguments", "tool_execution"]
    assert "error_phase" not in response.runnel
    chain = http.get(f"/v1/runnel/responses/{response.id}/chain").json()
    assert [c["result"]["error_phase"] for c in chain["tool_call_history"]] == [
        "tool_execution", None, None]
    assert chain["error"] is None


REFUSED = {"fault": {"kind": "status", "status": 400}}


@pytest.mark.parametrize("rounds, phase", [(10, "llm_response"), (1, "final_response")])
def test_a_failed_chain_names_its_phase(client, http, upstream, rounds, phase):
    upstream.script({"times": 2 if rounds == 1 else 1,
                     "answer": {"tool_calls": [call("test_slow", 1, ms=0, text="fact")]}},
                    {"answer": REFUSED})
    *_, last = parse_events(http.post("/v1/responses", json={
        "model": "demo", "input": "go", "tools": [TEST], "background": True, "stream": True,
        "runnel": {"rounds": {"max": rounds}}}).text)[:-1]
    assert last[0] == "response.failed"
    failed = Response.model_validate(json.loads(last[1])["response"])
    assert failed.runnel["error_phase"] == phase and failed.runnel["stats"]["calls"] == 1
    assert client.responses.retrieve(failed.id).runnel == failed.runnel
    chain = http.get(f"/v1/runnel/responses/{failed.id}/chain").json()
    assert chain["error"] == {"code": failed.error.code, "message": failed.error.message, "phase": phase}


def test_a_failed_run_names_its_phase(client, http, upstream):
    upstream.script({"times": 1, "answer": {"tool_calls": [call("test_slow", 1, ms=0, text="fact")]}},
                    {"answer": REFUSED})
    sdk = client.copy()
    assistant = sdk.beta.assistants.create(model="demo")
    thread = sdk.beta.threads.create(messages=[{"role": "user", "content": "go"}])
    run = sdk.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id,
                                                extra_body={"tools": [TEST]})
    assert run.status == "failed" and run.runnel["error_phase"] == "llm_response"


def test_any_other_failure_is_the_chains(start_server, upstream):
    server = start_server(response_timeout=1)
    then_says(upstream, [call("test_slow", 2, ms=600000, text="never")], text="no")
    _, ended = failed_response(server.sdk(), input="go", tools=[TEST])
    assert ended.runnel["error_phase"] == "chain_execution"
