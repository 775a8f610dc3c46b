"""Upstreams that speak /v1/responses: what a client sees is what it sees of Chat Completions, on
both faces; and what goes up that only this dialect has words for."""

import json
import subprocess

import openai
import pytest

from harness.recorder import parse_events
from harness.server import eventually
from harness.tools import GRAMMAR, PARIS, WEATHER, WEATHER_FLAT, WEATHER_RULES, call

TEST_TOOLS = {"type": "mcp", "server_label": "test", "server_url": "builtin:test",
              "require_approval": "never"}


@pytest.fixture
def stream(http, model):
    """The events of a streamed response."""
    def stream(**body):
        answer = http.post("/v1/responses", json={"model": model, "input": "Hi", "stream": True,
                                                  **body})
        assert answer.status_code == 200, answer.text
        events = parse_events(answer.text)
        assert events[-1][1] == "[DONE]"
        events = [json.loads(data) for _, data in events[:-1]]
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        return events
    return stream


@pytest.fixture
def create(client, model):
    def create(**body):
        return client.responses.create(**{"model": model, "input": "Hi", **body})
    return create


def types(events):
    return [event["type"].removeprefix("response.") for event in events]


def types_of(items):
    return [item["type"] for item in items]


# ---- the same in both ----

def test_text_is_streamed_word_by_word(stream, upstream, model):
    upstream.answer(text="one two three", usage={
        "prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 2}})
    events = stream()
    assert types(events) == [
        "created", "in_progress", "output_item.added", "content_part.added", "output_text.delta",
        "output_text.delta", "output_text.delta", "output_text.done", "content_part.done",
        "output_item.done", "completed"]
    final = events[-1]["response"]
    assert final["model"] == model
    assert final["output"][0]["content"][0]["text"] == "one two three"
    assert final["usage"] == {
        "input_tokens": 7, "output_tokens": 5, "total_tokens": 12,
        "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 2}}
    path = {"demo": "/v1/chat/completions", "native": "/v1/responses"}[model]
    assert [request["path"] for request in upstream.requests()] == [path]


@pytest.mark.parametrize("answer", [
    {"format": "json"}, {"dialect": ["crlf", "multi_line", "comments"]},
    {"dialect": ["no_space", "no_done"]}, {"split": "whole"}, {"usage": "none"},
], ids=str)
def test_every_way_to_stream_is_understood(create, upstream, answer):
    upstream.answer(text="one two", **answer)
    made = create()
    assert (made.status, made.output_text) == ("completed", "one two")


def test_a_refusal_is_passed_on(create, upstream):
    upstream.answer(refusal="I will not.")
    assert create().output[0].content[0].refusal == "I will not."


def test_raw_reasoning_is_passed_on(create, upstream):
    upstream.answer(reasoning="hm so", text="Yes.")
    reasoning, message = create().output
    assert reasoning.content[0].text == "hm so" and reasoning.summary == []
    assert message.content[0].text == "Yes."


def test_citations_are_passed_on(stream, upstream):
    where = {"type": "url_citation", "url": "https://example.org", "title": "Here",
             "start_index": 0, "end_index": 3}
    upstream.answer(text="one two", annotations=[where, {**where, "start_index": 4}])
    events = stream()
    added = [e for e in events if e["type"] == "response.output_text.annotation.added"]
    assert [e["annotation_index"] for e in added] == [0, 1]
    assert added[0]["annotation"] == where
    assert events[-1]["response"]["output"][0]["content"][0]["annotations"] == \
        [where, {**where, "start_index": 4}]


def test_a_function_is_called_and_answered(create, stream, upstream, model):
    upstream.script(*WEATHER_RULES)
    events = stream(tools=[WEATHER_FLAT])
    assert types(events)[2:4] == ["output_item.added", "function_call_arguments.delta"]
    (asked,) = events[-1]["response"]["output"]
    assert (asked["call_id"], asked["arguments"]) == ("call_1", '{"city":"Paris"}')
    second = create(previous_response_id=events[-1]["response"]["id"], tools=[WEATHER_FLAT],
                    input=[{"type": "function_call_output", "call_id": "call_1",
                            "output": "sunny"}])
    assert second.output_text == "It is sunny."


def test_calls_come_one_after_another(create, upstream):
    upstream.answer(text="Let me look.", tool_calls=[PARIS, call(number=2, city="Rome")])
    made = create(tools=[WEATHER_FLAT])
    assert [item.type for item in made.output] == ["message", "function_call", "function_call"]
    assert [item.arguments for item in made.output[1:]] == ['{"city":"Paris"}', '{"city":"Rome"}']


def test_a_custom_tool_is_called_and_answered(create, stream, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "{{tool_output}} rows"}},
                    {"answer": {"tool_calls": [call("run_sql", input='select "1"\n')]}})
    events = stream(tools=[GRAMMAR])
    assert "custom_tool_call_input.delta" in types(events)
    (asked,) = events[-1]["response"]["output"]
    assert asked["input"] == 'select "1"\n'
    second = create(previous_response_id=events[-1]["response"]["id"], tools=[GRAMMAR],
                    input=[{"type": "custom_tool_call_output", "call_id": asked["call_id"],
                            "output": "7"}])
    assert second.output_text == "7 rows"


def test_tools_of_the_server_run_between_two_turns(create, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "{{tool_outputs}}."}},
                    {"answer": {"tool_calls": [call("test_slow", text="one"),
                                               call("test_slow", number=2, text="two")]}})
    made = create(tools=[TEST_TOOLS])
    assert [item.type for item in made.output] == ["mcp_list_tools", "mcp_call", "mcp_call",
                                                   "message"]
    assert made.output_text == "one, two."


def test_an_assistant_works_with_a_responses_upstream(client, upstream, model):
    upstream.script(*WEATHER_RULES)
    assistant = client.beta.assistants.create(model=model, tools=[WEATHER],
                                              instructions="Be brief.")
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "weather?"}])
    run = client.beta.threads.runs.create_and_poll(thread_id=thread.id,
                                                   assistant_id=assistant.id)
    assert run.status == "requires_action"
    run = client.beta.threads.runs.submit_tool_outputs_and_poll(
        run_id=run.id, thread_id=thread.id,
        tool_outputs=[{"tool_call_id": "call_1", "output": "sunny"}])
    assert run.status == "completed" and run.usage.total_tokens > 0
    (message, _) = client.beta.threads.messages.list(thread.id)
    assert message.content[0].text.value == "It is sunny."


@pytest.mark.parametrize("reason, shown", [("length", "max_output_tokens"),
                                           ("content_filter", "content_filter")])
def test_an_answer_that_was_cut_is_incomplete(stream, upstream, reason, shown):
    upstream.answer(text="Once upon", finish_reason=reason)
    events = stream()
    final = events[-1]["response"]
    assert events[-1]["type"] == "response.incomplete"
    assert final["incomplete_details"] == {"reason": shown}
    assert [item["status"] for item in final["output"]] == ["incomplete"]


def test_a_call_that_was_cut_is_incomplete(create, upstream):
    upstream.answer(tool_calls=[PARIS], finish_reason="length")
    made = create(tools=[WEATHER_FLAT])
    assert made.status == "incomplete"
    assert [item.status for item in made.output] == ["incomplete"]


@pytest.mark.parametrize("fault", [
    {"kind": "cut", "after": 2}, {"kind": "garbage", "after": 1}, {"kind": "error", "after": 1},
    {"kind": "no_end"}, {"kind": "html"}, {"kind": "status", "status": 400},
], ids=lambda fault: fault["kind"])
def test_a_broken_answer_fails_the_response(stream, upstream, fault):
    upstream.answer(text="a b c", fault=fault)
    events = stream()
    assert types(events)[:2] == ["created", "in_progress"] and types(events)[-1] == "failed"
    assert events[-1]["response"]["error"]["message"]
    added = [e["item"]["id"] for e in events if e["type"] == "response.output_item.added"]
    done = [e["item"]["id"] for e in events if e["type"] == "response.output_item.done"]
    assert added == done


@pytest.mark.parametrize("fault", [
    {"kind": "cut"}, {"kind": "error", "after": 0}, {"kind": "status", "status": 503},
    {"kind": "status", "status": 429, "retry_after": 0},
], ids=lambda fault: f"{fault['kind']}-{fault.get('status', '')}")
def test_a_turn_is_repeated_before_its_first_text(create, upstream, fault):
    upstream.script({"times": 1, "answer": {"fault": fault}}, {"answer": {"text": "At last."}})
    assert create().output_text == "At last."
    assert len(upstream.asked()) == 2


def test_a_client_that_leaves_stops_the_model(client, upstream, model):
    upstream.answer(text="a b c", piece_delay_ms=3600000)
    stream = client.responses.create(model=model, input="Hi", stream=True)
    next(event for event in stream if event.type == "response.output_text.delta")
    stream.close()
    eventually(lambda: upstream.requests()[-1]["state"], lambda state: state == "client_left")


# ---- what only /v1/responses has ----

@pytest.fixture
def native(client):
    def native(**body):
        return client.responses.create(**{"model": "native", "input": "Hi", **body})
    return native


def test_the_model_gets_the_request(native, upstream):
    custom = {**GRAMMAR, "format": {"type": "grammar", "syntax": "lark", "definition": "start: X"}}
    native(instructions="Be brief.", temperature=0.5, top_p=0.9, max_output_tokens=100,
           parallel_tool_calls=False, service_tier="flex", tools=[WEATHER_FLAT, custom],
           tool_choice={"type": "function", "name": "get_weather"},
           reasoning={"effort": "low", "summary": "auto"},
           text={"format": {"type": "json_schema", "name": "x", "strict": True,
                            "schema": {"type": "object", "properties": {}, "required": [],
                                       "additionalProperties": False}}},
           input=[{"role": "developer", "content": "Developer."},
                  {"role": "user", "content": [
                      {"type": "input_text", "text": "Hi"},
                      {"type": "input_image", "image_url": "data:image/png;base64,AAAA",
                       "detail": "low"}]},
                  {"role": "assistant", "content": "Hello."},
                  {"role": "user", "content": "Go on."}])
    (asked,) = upstream.asked()
    assert asked["store"] is False and asked["stream"] is True
    assert asked["include"] == ["reasoning.encrypted_content"]
    assert (asked["temperature"], asked["top_p"], asked["max_output_tokens"]) == (0.5, 0.9, 100)
    assert asked["parallel_tool_calls"] is False and asked["service_tier"] == "flex"
    assert asked["reasoning"] == {"effort": "low", "summary": "auto"}
    assert asked["tools"][0] == {**WEATHER_FLAT, "type": "function"}
    assert asked["tools"][1] == custom
    assert asked["tool_choice"] == {"type": "function", "name": "get_weather"}
    assert (asked["text"]["format"]["name"], asked["text"]["format"]["strict"]) == ("x", True)
    assert types_of(asked["input"]) == ["message"] * 5
    assert [item["role"] for item in asked["input"]][2:] == ["user", "assistant", "user"]
    assert asked["input"][0]["content"] == "Be brief."
    assert asked["input"][2]["content"] == [
        {"type": "input_text", "text": "Hi"},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"}]
    assert asked["input"][3]["content"] == [
        {"type": "output_text", "text": "Hello.", "annotations": []}]
    assert "messages" not in asked


def test_summaries_of_reasoning_are_parts_of_their_own(http, upstream):
    upstream.answer(summary=["**First**", "**Then**"], text="Yes.")
    answer = http.post("/v1/responses", json={"model": "native", "input": "Hi", "stream": True,
                                              "reasoning": {"summary": "auto"}})
    events = [json.loads(data) for _, data in parse_events(answer.text)[:-1]]
    part = ["reasoning_summary_part.added", "reasoning_summary_text.delta",
            "reasoning_summary_text.done", "reasoning_summary_part.done"]
    assert types(events)[2:12] == ["output_item.added", *part, *part, "output_item.done"]
    assert [e["summary_index"] for e in events[3:11]] == [0] * 4 + [1] * 4
    reasoning, _ = events[-1]["response"]["output"]
    assert [part["text"] for part in reasoning["summary"]] == ["**First**", "**Then**"]
    assert "content" not in reasoning and "runnel" not in reasoning


def test_sealed_reasoning_goes_back_to_its_upstream(native, upstream, http):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Sunny."}},
                    {"answer": {"encrypted_reasoning": "gAAAA", "tool_calls": [PARIS]}})
    first = native(tools=[WEATHER_FLAT])
    assert [item.type for item in first.output] == ["reasoning", "function_call"]
    assert first.output[0].encrypted_content is None
    assert "runnel" not in json.dumps(http.get(f"/v1/responses/{first.id}").json()["output"])
    native(previous_response_id=first.id, tools=[WEATHER_FLAT],
           input=[{"type": "function_call_output", "call_id": "call_1", "output": "sunny"}])
    sent = upstream.asked()[-1]["input"]
    assert types_of(sent) == ["message", "reasoning", "function_call", "function_call_output"]
    assert sent[1]["encrypted_content"] == "gAAAA" and sent[1]["summary"] == []
    assert sent[1]["id"].startswith("rs_") and sent[1]["id"] != first.output[0].id
    assert sent[3] == {"type": "function_call_output", "call_id": "call_1", "output": "sunny"}
    upstream.forget()
    http.post("/v1/responses", json={"model": "demo", "previous_response_id": first.id,
                                     "input": [{"type": "function_call_output",
                                                "call_id": "call_1", "output": "sunny"}]})
    assert "gAAAA" not in json.dumps(upstream.asked())


def test_sealed_reasoning_is_shown_on_request_and_accepted_back(native, upstream):
    upstream.answer(encrypted_reasoning="gAAAA", text="Yes.")
    first = native(include=["reasoning.encrypted_content"], store=False)
    assert first.output[0].encrypted_content == "gAAAA"
    upstream.forget()
    native(store=False, input=[
        {"role": "user", "content": "Hi"},
        *(item.model_dump(exclude_none=True) for item in first.output),
        {"role": "user", "content": "And?"}])
    (asked,) = upstream.asked()
    assert types_of(asked["input"]) == ["message", "reasoning", "message", "message"]
    assert asked["input"][1]["encrypted_content"] == "gAAAA"


def test_a_custom_tool_is_sent_upstream_as_a_custom_tool(native, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [call("run_sql", input="select 1")]}})
    first = native(tools=[GRAMMAR])
    native(previous_response_id=first.id, tools=[GRAMMAR],
           input=[{"type": "custom_tool_call_output", "call_id": first.output[0].call_id,
                   "output": "7"}])
    sent = upstream.asked()[-1]["input"]
    assert types_of(sent) == ["message", "custom_tool_call", "custom_tool_call_output"]
    assert (sent[1]["name"], sent[1]["input"]) == ("run_sql", "select 1")


def test_a_model_without_reasoning_gets_a_request_without_it(native, upstream):
    upstream.script({"times": 1, "answer": {"fault": {
        "kind": "status", "status": 400, "body": {"error": {
            "message": "Encrypted content is not supported with this model.",
            "type": "invalid_request_error", "param": "include", "code": None}}}}},
        {"answer": {"text": "Hello."}})
    assert native().output_text == "Hello."
    assert [("include" in asked) for asked in upstream.asked()] == [True, False]


def test_a_request_for_probabilities_does_not_include_reasoning(native, upstream):
    native(include=["message.output_text.logprobs"], top_logprobs=2)
    (asked,) = upstream.asked()
    assert asked["include"] == ["message.output_text.logprobs"] and asked["top_logprobs"] == 2


def test_an_upstreams_refusal_reaches_the_client(native, upstream):
    upstream.answer(fault={"kind": "status", "status": 400, "body": {"error": {
        "message": "Your input exceeds the context window of this model.",
        "type": "invalid_request_error", "param": "input", "code": "context_length_exceeded"}}})
    with pytest.raises(openai.BadRequestError) as raised:
        native()
    assert raised.value.body == {
        "message": "Your input exceeds the context window of this model.",
        "type": "invalid_request_error", "param": "input", "code": "context_length_exceeded"}


def test_an_unknown_dialect_is_refused(binary, tmp_path):
    config = tmp_path / "runnel.yaml"
    config.write_text("upstreams: [{name: a, url: 'http://127.0.0.1:1/v1', dialect: latin}]")
    result = subprocess.run([binary, "serve", "--config", config], capture_output=True, text=True,
                            check=False)
    assert result.returncode == 2
    assert "upstreams[0].dialect: expected chat or responses" in result.stderr
