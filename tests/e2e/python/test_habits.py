"""Habits of real Chat Completions servers, spelled out by the scripted upstream, as the official SDK sees
them on both faces. The whole list of habits, and all of their bytes, is in
tests/unit/core/model/chat/test_chat_answer.c."""

import json

import openai
import pytest

from harness.failures import failed_response
from harness.server import eventually
from harness.tools import WEATHER, WEATHER_FLAT

SMILE, MARK = "\U0001f600", "\ufffd"
FIRST, SECOND = "\ud83d", "\ude00"  # json.dumps writes them as escapes


def delta(finish_reason=None, /, **delta):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


def says(upstream, *chunks, finish_reason="stop"):
    """The model's stream has these chunks, until a tool has answered."""
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "It is {{tool_output}}."}},
                    {"answer": {"events": [json.dumps(chunk) for chunk in
                                           (*chunks, delta(finish_reason))]}})


@pytest.fixture
def respond(client):
    """respond(**body) -> (the texts of the deltas by type of event, the response)."""
    def respond(**body):
        deltas = {}
        with client.responses.stream(model="demo", input="Hi", **body) as events:
            for event in events:
                if event.type.endswith(".delta"):
                    deltas.setdefault(event.type, []).append(event.delta)
            return deltas, events.get_final_response()
    return respond


@pytest.fixture
def assistant(client):
    return client.beta.assistants.create(model="demo", tools=[WEATHER])


@pytest.fixture
def thread(client):
    return client.beta.threads.create(messages=[{"role": "user", "content": "Hi"}])


def run(client, thread, assistant):
    return client.beta.threads.runs.create_and_poll(
        thread_id=thread.id, assistant_id=assistant.id, poll_interval_ms=20)


# ---- Characters in two pieces ----

def test_an_emoji_cut_in_two_is_one_character(respond, upstream):
    says(upstream, delta(content="a" + FIRST), delta(content=SECOND + "b"))
    deltas, response = respond()
    assert "".join(deltas["response.output_text.delta"]) == f"a{SMILE}b" == response.output_text
    assert MARK not in "".join(deltas["response.output_text.delta"])


def test_an_emoji_cut_in_two_is_one_character_of_a_message(client, thread, assistant, upstream):
    says(upstream, delta(content="a" + FIRST), delta(content=SECOND + "b"))
    with client.beta.threads.runs.stream(thread_id=thread.id, assistant_id=assistant.id) as events:
        assert "".join(events.text_deltas) == f"a{SMILE}b"
    message = client.beta.threads.messages.list(thread.id).data[0]
    assert message.content[0].text.value == f"a{SMILE}b"


def test_reasoning_and_refusals_cut_in_two(respond, upstream):
    says(upstream, delta(reasoning_content=FIRST), delta(reasoning_content=SECOND),
         delta(refusal=FIRST), delta(refusal=SECOND))
    _, response = respond()
    reasoning, message = response.output
    assert reasoning.content[0].text == SMILE
    assert message.content[0].refusal == SMILE


def test_arguments_cut_in_two(respond, upstream):
    says(upstream,
         delta(tool_calls=[{"index": 0, "id": "call_1", "type": "function", "function": {
             "name": "get_weather", "arguments": '{"city": "' + FIRST}}]),
         delta(tool_calls=[{"index": 0, "function": {"arguments": SECOND + '"}'}}]))
    deltas, response = respond(tools=[WEATHER_FLAT])
    arguments = response.output[0].arguments
    assert json.loads(arguments) == {"city": SMILE}
    assert "".join(deltas["response.function_call_arguments.delta"]) == arguments


def test_half_a_character_becomes_one_replacement_mark(respond, upstream):
    says(upstream, delta(content="a" + FIRST), delta(content="b" + FIRST))
    _, response = respond()
    assert response.output_text == f"a{MARK}b{MARK}"


# ---- Tool calls ----

OLD = [delta(role="assistant", content=None, function_call={"name": "get_weather", "arguments": ""}),
       delta(function_call={"arguments": '{"city":'}), delta(function_call={"arguments": '"Paris"}'})]


def test_a_legacy_function_call_is_a_tool_call(client, respond, upstream):
    says(upstream, *OLD, finish_reason="function_call")
    _, response = respond(tools=[WEATHER_FLAT])
    (asked,) = response.output
    assert (asked.type, asked.name) == ("function_call", "get_weather")
    assert json.loads(asked.arguments) == {"city": "Paris"}
    assert asked.call_id.startswith("call_")
    answer = client.responses.create(
        model="demo", previous_response_id=response.id, tools=[WEATHER_FLAT],
        input=[{"type": "function_call_output", "call_id": asked.call_id, "output": "sunny"}])
    assert answer.output_text == "It is sunny."
    messages = upstream.chats()[-1]["messages"]
    assert messages[-2]["tool_calls"][0]["id"] == messages[-1]["tool_call_id"] == asked.call_id


def test_a_legacy_function_call_requires_action(client, thread, assistant, upstream):
    says(upstream, *OLD, finish_reason="function_call")
    asking = run(client, thread, assistant)
    assert asking.status == "requires_action"
    (asked,) = asking.required_action.submit_tool_outputs.tool_calls
    assert json.loads(asked.function.arguments) == {"city": "Paris"}
    done = client.beta.threads.runs.submit_tool_outputs_and_poll(
        run_id=asking.id, thread_id=thread.id, poll_interval_ms=20,
        tool_outputs=[{"tool_call_id": asked.id, "output": "sunny"}])
    assert done.status == "completed"
    message = client.beta.threads.messages.list(thread.id).data[0]
    assert message.content[0].text.value == "It is sunny."


CALL = {"id": "call_1", "type": "function",
        "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'}}

CALLS = {
    "no-list": [delta(tool_calls={"index": 0, **CALL})],
    "empty-object-first": [
        delta(tool_calls=[{"index": 0, **CALL, "function": {"name": "get_weather",
                                                            "arguments": "{}"}}]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": '{"city":"Paris"}'}}])],
    "both-ways": [delta(tool_calls=[{"index": 0, **CALL}], function_call=CALL["function"])],
    "a-choice-of-its-own": [{"choices": [{"delta": {"content": ""}, "finish_reason": None},
                                         {"delta": {"tool_calls": [CALL]}}]}],
}


@pytest.mark.parametrize("chunks", CALLS.values(), ids=CALLS)
def test_a_call_in_any_form_is_one_call(respond, upstream, chunks):
    says(upstream, *chunks)
    deltas, response = respond(tools=[WEATHER_FLAT])
    (asked,) = response.output
    assert (asked.name, asked.call_id) == ("get_weather", "call_1")
    assert asked.arguments == '{"city":"Paris"}'
    assert "".join(deltas["response.function_call_arguments.delta"]) == asked.arguments


# ---- Ends ----

@pytest.mark.parametrize("word", ["abort", "insufficient_system_resource",
                                  "function_call_filter: MALFORMED_FUNCTION_CALL"])
def test_a_model_that_aborted_is_retried(respond, upstream, word):
    upstream.script({"times": 1, "answer": {"events": [json.dumps(delta(word))]}},
                    {"answer": {"text": "At last."}})
    assert respond()[1].output_text == "At last."
    assert len(upstream.chats()) == 2


def test_a_content_filter_of_gemini_is_recognised(client, upstream):
    says(upstream, delta(content="Once"), finish_reason="PROHIBITED_CONTENT")
    response = client.responses.create(model="demo", input="Hi")
    assert response.status == "incomplete"
    assert response.incomplete_details.reason == "content_filter"


def test_usage_is_read_wherever_it_is(respond, upstream):
    usage = {"prompt_tokens": 7, "completion_tokens": 5, "prompt_cache_hit_tokens": 4}
    chunk = delta("stop")
    chunk["choices"][0]["usage"] = usage
    says(upstream, delta(content="x"), chunk)
    used = respond()[1].usage
    assert (used.input_tokens, used.output_tokens) == (7, 5)
    assert used.input_tokens_details.cached_tokens == 4


# ---- A missing model ----

MISSING = "The requested model 'demo' does not exist."
REFUSALS = {
    "openai": (404, {"error": {"message": "The model `demo` does not exist or you do not have access "
                                          "to it.", "type": "invalid_request_error", "param": None,
                               "code": "model_not_found"}}),
    "ollama": (404, {"error": {"message": "model 'demo' not found", "type": "not_found_error",
                               "param": None, "code": None}}),
    "openrouter": (400, {"error": {"message": "demo is not a valid model ID", "code": 400}}),
}


@pytest.fixture(params=REFUSALS)
def without_model(upstream, request):
    status, body = REFUSALS[request.param]
    upstream.answer(fault={"kind": "status", "status": status, "body": body})


@pytest.mark.parametrize("store", [True, False])
def test_a_response_without_a_model_is_refused(client, without_model, store):
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model="demo", input="Hi", store=store)
    assert caught.value.body == {"message": MISSING, "type": "invalid_request_error",
                                 "param": "model", "code": "model_not_found"}


def test_a_stream_without_a_model_fails(client, without_model):
    stream, events = client.responses.create(model="demo", input="Hi", stream=True), []
    with pytest.raises(openai.APIError) as caught:
        for event in stream:
            events.append(event)
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")
    assert caught.value.message == MISSING
    error = client.responses.retrieve(events[0].response.id).error
    assert (error.code, error.param, error.message) == ("invalid_prompt", "model", MISSING)


def test_a_background_response_without_a_model_fails(client, without_model):
    made = client.responses.create(model="demo", input="Hi", background=True)
    failed = eventually(lambda: client.responses.retrieve(made.id),
                        lambda response: response.status == "failed")
    assert (failed.error.code, failed.error.message) == ("invalid_prompt", MISSING)


def test_a_run_without_a_model_fails(client, without_model, thread, assistant):
    failed = run(client, thread, assistant)
    assert failed.status == "failed"
    assert (failed.last_error.code, failed.last_error.message) == ("invalid_prompt", MISSING)


def test_a_response_whose_model_disappears_keeps_its_items(client, upstream):
    """The items made until then are shown. A list of tools alone is not."""
    upstream.script(
        {"match": {"tool_results": True},
         "answer": {"fault": {"kind": "status", "status": 404}}},
        {"answer": {"tool_calls": [{"name": "datetime", "id": "call_1", "arguments": {}}]}})
    tools = [{"type": "mcp", "server_label": "basic", "server_url": "builtin:basic",
              "require_approval": "never"}]
    error, response = failed_response(client, input="Hi", tools=tools)
    assert (error.status_code, error.code, error.param) == (400, "model_not_found", "model")
    assert response.error.param == "model"
    assert [item.type for item in response.output] == ["mcp_list_tools", "mcp_call"]
    upstream.answer(fault={"kind": "status", "status": 404})
    with pytest.raises(openai.BadRequestError):
        client.responses.create(model="demo", input="Hi", tools=tools)
