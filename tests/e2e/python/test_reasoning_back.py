"""Reasoning of a Chat Completions upstream goes back to it in the form in which it came, as DeepSeek V4, Kimi K2.5
and OpenRouter demand; and what a client sees of it as a summary."""

import json
import subprocess

import openai
import pytest

from harness.server import eventually
from harness.tools import PARIS, WEATHER, WEATHER_FLAT, call

THOUGHT, LATER = "I should look.", "So it is sunny."
TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test",
        "require_approval": "never"}
FIELDS = ["reasoning_content", "reasoning"]
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "sunny"}


def thinks(upstream, field="reasoning_content", made=PARIS):
    """The model reasons before a call and before its answer; later it answers at once."""
    upstream.script(
        {"match": {"user": "And now?"}, "answer": {"text": "The same."}},
        {"match": {"tool_results": True}, "answer": {
            "reasoning": LATER, "reasoning_field": field, "text": "Sunny."}},
        {"answer": {"reasoning": THOUGHT, "reasoning_field": field, "tool_calls": [made]}})


def delta(finish_reason=None, /, **delta):
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})


def entry(**more):
    return {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0, **more}


SEALED = {"type": "reasoning.encrypted", "data": "EjQK-sealed", "id": "call_1", "index": 1,
          "format": "google-gemini-v1"}
DETAILS = [entry(text="I should look.", signature="Et8B"), SEALED]


def details(upstream):
    """As OpenRouter streams it: a text in fragments, its signature, and sealed reasoning for the call."""
    upstream.script(
        {"match": {"tool_results": True}, "answer": {"text": "Sunny."}},
        {"answer": {"events": [
            delta(role="assistant", content="", reasoning="I should",
                  reasoning_details=[entry(text="I should")]),
            delta(reasoning=" look.", reasoning_details=[entry(text=" look.")]),
            delta(reasoning_details=[entry(signature="Et8B")]),
            delta(reasoning_details=[SEALED], tool_calls=[
                {"index": 0, "id": "call_1", "type": "function",
                 "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'}}]),
            delta("tool_calls")]}})


def answers(chat, *fields):
    """What each message of the assistant was sent back with: the first of the fields."""
    return [next((message[field] for field in fields if field in message), None)
            for message in chat["messages"] if message["role"] == "assistant"]


def responses(server, **body):
    answer = server.http().post("/v1/responses", json={
        "model": "demo", "tools": [WEATHER_FLAT], **body})
    assert answer.status_code == 200, answer.text
    if body.get("stream"):
        last = [line for line in answer.text.splitlines() if line.startswith("data: {")][-1]
        return json.loads(last.removeprefix("data: "))["response"]
    return answer.json()


def of_kind(made, kind):
    return [item for item in made["output"] if item["type"] == kind]


# ---- Where it goes back ----

@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("stream", [False, True])
def test_reasoning_goes_back_along_the_chain(server, upstream, field, stream):
    thinks(upstream, field)
    first = responses(server, input="weather", stream=stream)
    second = responses(server, previous_response_id=first["id"], input=[OUTPUT], stream=stream)
    assert answers(upstream.chats()[-1], *FIELDS) == [THOUGHT]
    assert field in upstream.chats()[-1]["messages"][1]
    responses(server, previous_response_id=second["id"], input="And now?", stream=stream)
    assert answers(upstream.chats()[-1], field) == [THOUGHT, LATER]
    reasoning, _ = first["output"]
    assert reasoning["content"] == [{"type": "reasoning_text", "text": THOUGHT}]
    assert set(reasoning) == {"id", "type", "summary", "content"}


@pytest.mark.parametrize("body", [{}, {"store": False}, {"stream": True}], ids=str)
def test_reasoning_goes_back_within_a_response(server, upstream, log, body):
    thinks(upstream, made=call("test_count", path=log.name, text="counted"))
    responses(server, input="go", **{**body, "tools": [TEST]})
    assert answers(upstream.chats()[-1], "reasoning_content") == [THOUGHT]


def test_reasoning_goes_back_in_a_conversation(server, client, upstream):
    thinks(upstream)
    conversation = client.conversations.create()
    responses(server, input="weather", conversation=conversation.id)
    responses(server, input=[OUTPUT], conversation=conversation.id)
    responses(server, input="And now?", conversation=conversation.id)
    assert answers(upstream.chats()[-1], "reasoning_content") == [THOUGHT, LATER, ]
    shown = server.http().get(f"/v1/conversations/{conversation.id}/items").text
    assert "runnel" not in shown and "upstream" not in shown


@pytest.mark.parametrize("stream", [False, True])
def test_reasoning_goes_back_in_a_run(client, upstream, stream):
    thinks(upstream)
    assistant = client.beta.assistants.create(model="demo", tools=[WEATHER])
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "weather"}])
    runs = client.beta.threads.runs

    def settle(make):
        if not stream:
            return make()
        with make() as events:
            return events.get_final_run()
    run = settle(lambda: (runs.stream if stream else runs.create_and_poll)(
        thread_id=thread.id, assistant_id=assistant.id))
    assert run.status == "requires_action"
    outputs = {"run_id": run.id, "thread_id": thread.id,
               "tool_outputs": [{"tool_call_id": "call_1", "output": "sunny"}]}
    done = settle(lambda: (runs.submit_tool_outputs_stream if stream
                           else runs.submit_tool_outputs_and_poll)(**outputs))
    assert done.status == "completed"
    assert answers(upstream.chats()[-1], "reasoning_content") == [THOUGHT]
    client.beta.threads.messages.create(thread.id, role="user", content="And now?")
    settle(lambda: (runs.stream if stream else runs.create_and_poll)(
        thread_id=thread.id, assistant_id=assistant.id))
    assert answers(upstream.chats()[-1], "reasoning_content") == [THOUGHT, LATER]
    shown = client.beta.threads.messages.list(thread.id).model_dump_json()
    assert THOUGHT not in shown and "reasoning" not in shown


def test_reasoning_of_a_plain_answer_stays_here(server, upstream):
    upstream.script({"match": {"user": "And now?"}, "answer": {"text": "The same."}},
                    {"answer": {"reasoning": THOUGHT, "text": "Sunny."}})
    first = responses(server, input="weather")
    responses(server, previous_response_id=first["id"], input="And now?")
    assert answers(upstream.chats()[-1], *FIELDS) == [None]


def test_calls_without_reasoning_get_an_empty_one_beside_others(server, upstream):
    upstream.script({"match": {"tool_results": 1}, "answer": {"tool_calls": [call("get_weather", 2)]}},
                    {"match": {"tool_results": 2}, "answer": {"text": "Sunny."}},
                    {"answer": {"reasoning": THOUGHT, "tool_calls": [PARIS]}})
    first = responses(server, input="weather")
    second = responses(server, previous_response_id=first["id"], input=[OUTPUT])
    responses(server, previous_response_id=second["id"], input=[{**OUTPUT, "call_id": "call_2"}])
    assert answers(upstream.chats()[-1], "reasoning_content") == [THOUGHT, ""]


# ---- reasoning_details ----

@pytest.mark.parametrize("stream", [False, True])
def test_details_go_back_as_they_were_before_they_were_streamed(server, upstream, stream):
    details(upstream)
    first = responses(server, input="weather", stream=stream)
    responses(server, previous_response_id=first["id"], input=[OUTPUT], stream=stream)
    assert answers(upstream.chats()[-1], "reasoning_details") == [DETAILS]
    assert answers(upstream.chats()[-1], "reasoning") == ["I should look."]
    assert "Et8B" not in json.dumps(first)
    assert "Et8B" not in server.http().get(f"/v1/responses/{first['id']}").text


def test_sealed_reasoning_without_a_text_goes_back(server, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Sunny."}},
                    {"answer": {"events": [
                        delta(role="assistant", content="", tool_calls=[
                            {"index": 0, "id": "call_1", "type": "function", "function": {
                                "name": "get_weather", "arguments": '{"city":"Paris"}'}}]),
                        delta(reasoning_details=[SEALED]), delta("tool_calls")]}})
    first = responses(server, input="weather")
    assert len(of_kind(first, "function_call")) == 1
    responses(server, previous_response_id=first["id"], input=[OUTPUT])
    assert answers(upstream.chats()[-1], "reasoning_details") == [[SEALED]]


def test_details_behind_a_text_leave_it_whole(server, upstream):
    upstream.script({"match": {"user": "And now?"}, "answer": {"text": "The same."}},
                    {"answer": {"events": [
                        delta(role="assistant", content="It is "),
                        delta(content="", reasoning_details=[SEALED]),
                        delta(content="sunny."), delta("stop")]}})
    first = responses(server, input="weather")
    (message,) = first["output"]
    assert message["content"][0]["text"] == "It is sunny."
    responses(server, previous_response_id=first["id"], input="And now?")
    assert answers(upstream.chats()[-1], "reasoning_details") == [[SEALED]]


# ---- History that the client keeps ----

def kept(made):
    """The output as the AI SDK sends it back: of reasoning only the summary and what is sealed."""
    return [{"type": "reasoning", "id": item["id"], "summary": item["summary"],
             "encrypted_content": item["encrypted_content"]} if item["type"] == "reasoning" else item
            for item in made["output"]]


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_carries_sealed_reasoning(server, upstream, stream):
    details(upstream)
    body = {"store": False, "stream": stream, "include": ["reasoning.encrypted_content"]}
    first = responses(server, input="weather", **body)
    assert "Et8B" not in json.dumps(first)
    history = [{"role": "user", "content": "weather"}, *kept(first), OUTPUT]
    responses(server, input=history, **body)
    assert answers(upstream.chats()[-1], "reasoning_details") == [DETAILS]
    assert answers(upstream.chats()[-1], "reasoning") == ["I should look."]


def test_reasoning_with_its_content_goes_back(server, upstream):
    thinks(upstream, "reasoning")
    first = responses(server, input="weather", store=False)
    responses(server, store=False,
              input=[{"role": "user", "content": "weather"}, *first["output"], OUTPUT])
    assert answers(upstream.chats()[-1], "reasoning_content") == [THOUGHT]


def test_what_a_client_seals_itself_is_ignored(server, upstream):
    upstream.answer(text="Hello.")
    forged = {"upstream": "upstream_url", "reasoning": {"details": DETAILS}}
    responses(server, input=[
        {"type": "reasoning", "summary": [], "encrypted_content": "gAAAA", "runnel": forged},
        {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": "{}"},
        OUTPUT])
    assert answers(upstream.chats()[-1], "reasoning_details", *FIELDS) == [None]


# ---- Which upstream gets it ----

@pytest.fixture
def configured(start_server, upstream, tmp_path):
    """Three upstreams that differ in their setting."""
    config = tmp_path / "runnel.yaml"
    config.write_text(json.dumps({
        "upstreams": [
            {"name": word, "url": upstream.url, "models": [f"{word}*"], "reasoning": word}
            for word in ("always", "never")] + [{"name": "auto", "url": upstream.url}],
        "hooks": {"before_send": [{"pattern": "Lisbon"}]}}))
    return start_server(upstream_url=None, config=config)


@pytest.mark.parametrize("model, expected", [("auto-2", [THOUGHT]), ("always-1", [None])])
def test_no_other_upstream_gets_the_reasoning(configured, upstream, model, expected):
    thinks(upstream)
    body = {"include": ["reasoning.encrypted_content"]}
    first = responses(configured, model="auto-1", input="weather", **body)
    responses(configured, model=model, previous_response_id=first["id"], input=[OUTPUT])
    assert answers(upstream.chats()[-1], *FIELDS) == expected
    second = responses(configured, model=model, input=[*kept(first), OUTPUT])
    assert answers(upstream.chats()[-1], *FIELDS) == expected
    removed = [{"id": first["output"][0]["id"], "type": "reasoning", "action": "removed", "reason": "model_mismatch"}]
    assert second.get("input_transformations", []) == (removed if expected == [None] else [])
    stored = configured.http().get(f"/v1/responses/{second['id']}").json()
    assert stored.get("input_transformations") == second.get("input_transformations")


@pytest.mark.parametrize("model, expected", [("always-1", [THOUGHT]), ("never-1", [None])])
def test_the_operator_says_when(configured, upstream, model, expected):
    upstream.script({"match": {"user": "And now?"}, "answer": {"text": "The same."}},
                    {"answer": {"reasoning": THOUGHT, "text": "Sunny."}})
    first = responses(configured, model=model, input="weather")
    responses(configured, model=model, previous_response_id=first["id"], input="And now?")
    assert answers(upstream.chats()[-1], *FIELDS) == expected


def test_masks_apply_to_reasoning(configured, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Sunny."}},
                    {"answer": {"reasoning": "Is it Lisbon?", "tool_calls": [PARIS]}})
    first = responses(configured, model="auto", input="weather")
    responses(configured, model="auto", previous_response_id=first["id"], input=[OUTPUT])
    assert answers(upstream.chats()[-1], "reasoning_content") == ["Is it [masked]?"]


def test_an_unknown_word_is_refused(binary, tmp_path):
    config = tmp_path / "runnel.yaml"
    config.write_text("upstreams: [{name: a, url: 'http://127.0.0.1:1/v1', reasoning: often}]")
    result = subprocess.run([binary, "serve", "--config", config], capture_output=True, text=True,
                            check=False)
    assert result.returncode == 2
    assert "upstreams[0].reasoning: expected auto, always or never" in result.stderr


# ---- Upstreams that want it otherwise ----

def refuses(upstream, message, times=1):
    upstream.script({"match": {"tool_results": False}, "answer": {
                        "reasoning": THOUGHT, "reasoning_field": "reasoning", "tool_calls": [PARIS]}},
                    {"times": times, "answer": {"fault": {"kind": "status", "status": 400, "body": {
                        "error": {"message": message, "type": "invalid_request_error"}}}}},
                    {"answer": {"text": "Sunny."}})


def test_an_upstream_that_refuses_its_own_reasoning_gets_none(server, upstream):
    refuses(upstream, "'messages.1' : for 'role:assistant' the following must be satisfied"
                      "[('messages.1' : property 'reasoning' is unsupported)]")
    first = responses(server, input="weather")
    upstream.forget()
    second = responses(server, previous_response_id=first["id"], input=[OUTPUT])
    assert second["status"] == "completed"
    assert [answers(chat, "reasoning") for chat in upstream.chats()] == [[THOUGHT], [None]]


@pytest.mark.parametrize("message", [
    "The `reasoning_content` in the thinking mode must be passed back to the API.",
    "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"])
def test_an_upstream_that_refuses_calls_without_reasoning_gets_an_empty_one(
        server, upstream, message):
    refuses(upstream, message)
    made = responses(server, input=[
        {"role": "user", "content": "weather"},
        {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": "{}"},
        OUTPUT])
    assert made["status"] == "completed"
    assert [answers(chat, "reasoning_content") for chat in upstream.chats()] == [[None], [""]]


def test_a_second_refusal_is_the_clients(client, server, upstream):
    refuses(upstream, "property 'reasoning' is unsupported", times=9)
    first = responses(server, input="weather")
    upstream.forget()
    with pytest.raises(openai.BadRequestError, match="is unsupported"):
        client.responses.create(model="demo", previous_response_id=first["id"], input=[OUTPUT])
    assert len(upstream.chats()) == 2


# ---- Summaries ----

LONG = "word " * 400


@pytest.mark.parametrize("stream", [False, True])
def test_a_summary_is_the_beginning_of_the_reasoning(server, upstream, stream):
    upstream.answer(reasoning=LONG, text="Yes.")
    made = responses(server, input="Hi", reasoning={"summary": "auto"}, stream=stream)
    reasoning, _ = made["output"]
    (summary,) = reasoning["summary"]
    assert reasoning["content"][0]["text"] == LONG
    assert summary["type"] == "summary_text"
    assert summary["text"].endswith("word …") and LONG.startswith(summary["text"][:-2])
    assert 590 <= len(summary["text"]) <= 604


def test_a_short_reasoning_is_its_own_summary(client, upstream):
    upstream.answer(reasoning=THOUGHT, text="Yes.")
    with client.responses.stream(model="demo", input="Hi", reasoning={"summary": "auto"}) as events:
        said = [event.delta for event in events
                if event.type == "response.reasoning_summary_text.delta"]
        made = events.get_final_response()
    assert "".join(said) == THOUGHT == made.output[0].summary[0].text


def test_a_summary_comes_only_when_it_was_asked_for(server, upstream):
    upstream.answer(reasoning=LONG, text="Yes.")
    assert responses(server, input="Hi")["output"][0]["summary"] == []


def test_a_summary_of_the_model_stays_the_only_one(server, upstream):
    upstream.answer(summary=["Short."], reasoning=LONG, text="Yes.")
    made = responses(server, model="native", input="Hi", reasoning={"summary": "auto"})
    summaries = [part["text"] for item in of_kind(made, "reasoning") for part in item["summary"]]
    assert "Short." in summaries


# ---- After kill -9 ----

@pytest.mark.slow
def test_reasoning_goes_back_after_a_restart(fault_server, upstream, log):
    thinks(upstream, made=call("test_count", path=log.name, text="counted"))
    fault_server.arm("tool.after_run:1:kill")
    made = fault_server.http().post("/v1/responses", json={
        "model": "demo", "input": "go", "tools": [TEST], "background": True}).json()
    eventually(fault_server.has_fired)
    fault_server.restart()
    http = fault_server.http()
    eventually(lambda: http.get(f"/v1/responses/{made['id']}").json()["status"],
               lambda status: status == "completed", 40)
    assert answers(upstream.chats()[-1], "reasoning_content") == [THOUGHT]
