"""Responses: created and streamed, chained, shown, deleted; tools of the client; failures."""

import json

import httpx2
import openai
import pytest
from pydantic import BaseModel

from harness.failures import failed_response
from harness.recorder import parse_events
from harness.server import eventually
from harness.tools import GRAMMAR, PARIS, WEATHER_FLAT, WEATHER_RULES, call

STARTED = ["response.created", "response.in_progress"]
TEXT = ["response.output_item.added", "response.content_part.added", "response.output_text.delta",
        "response.output_text.done", "response.content_part.done", "response.output_item.done"]
CALL = ["response.output_item.added", "response.function_call_arguments.delta",
        "response.function_call_arguments.done", "response.output_item.done"]


@pytest.fixture
def responses(client):
    return client.responses


@pytest.fixture
def raw_stream(http):
    """Events as they are on the wire, parsed; checks what all streams have in common."""
    def stream(body):
        answer = http.post("/v1/responses", json={"model": "demo", **body, "stream": True})
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        events = parse_events(answer.text)
        assert events[-1][1] == "[DONE]"
        events = [json.loads(data) for _, data in events[:-1]]
        assert [e["sequence_number"] for e in events] == list(range(len(events)))
        return events
    return stream


def collapsed(events):
    """Types of the events, deltas of one kind in a row as one."""
    types = []
    for event in events:
        if not (types and types[-1] == event["type"] and event["type"].endswith(".delta")):
            types.append(event["type"])
    return types


def texts_of(chat):
    """(role, text) of the messages that the model was sent."""
    found = []
    for message in chat["messages"]:
        content = message.get("content") or ""
        if isinstance(content, list):
            content = "".join(part.get("text", "") for part in content)
        found.append((message["role"], content))
    return found


# ---- text ----

@pytest.mark.threads
def test_a_response_has_every_field(responses):
    made = responses.create(model="demo", input="Hi", instructions="Be brief.",
                            metadata={"a": "1"}, temperature=0.5, max_output_tokens=100)
    assert made.id.startswith("resp_") and made.object == "response"
    assert made.status == "completed" and made.completed_at and made.error is None
    assert made.output_text == "Hello there, my friend."
    (message,) = made.output
    assert message.id.startswith("msg_") and message.type == "message"
    assert (message.role, message.status) == ("assistant", "completed")
    assert message.content[0].annotations == []
    assert (made.model, made.instructions, made.metadata) == ("demo", "Be brief.", {"a": "1"})
    assert (made.temperature, made.max_output_tokens, made.top_p) == (0.5, 100, 1.0)
    assert made.store is True and made.background is False and made.tools == []
    assert made.tool_choice == "auto" and made.parallel_tool_calls is True
    assert made.text.format.type == "text" and made.truncation == "disabled"
    assert made.usage.total_tokens == made.usage.input_tokens + made.usage.output_tokens > 0
    assert made.usage.output_tokens_details.reasoning_tokens == 0


def test_the_model_gets_instructions_and_input(responses, upstream):
    responses.create(model="demo", instructions="Be brief.", temperature=0.5, top_p=0.9,
                     max_output_tokens=100, parallel_tool_calls=False, tools=[WEATHER_FLAT],
                     input=[{"role": "developer", "content": "Developer."},
                            {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
                            {"role": "assistant", "content": "Hello."},
                            {"role": "user", "content": "Go on."}])
    (chat,) = upstream.chats()
    assert [text for _, text in texts_of(chat)] == ["Be brief.", "Developer.", "Hi", "Hello.",
                                                    "Go on."]
    assert [role for role, _ in texts_of(chat)][2:] == ["user", "assistant", "user"]
    assert (chat["model"], chat["temperature"], chat["top_p"]) == ("demo", 0.5, 0.9)
    assert 100 in (chat.get("max_tokens"), chat.get("max_completion_tokens"))
    assert chat["parallel_tool_calls"] is False
    assert chat["tools"][0]["function"]["name"] == "get_weather"
    assert chat["stream"] is True


def test_a_stream_has_all_events_in_order(raw_stream):
    events = raw_stream({"input": "Hi"})
    assert collapsed(events) == [*STARTED, *TEXT, "response.completed"]
    created, completed = events[0]["response"], events[-1]["response"]
    assert created["status"] == "in_progress" and created["output"] == []
    assert created["usage"] is None and created["completed_at"] is None
    assert completed["status"] == "completed" and completed["usage"]["total_tokens"] > 0
    assert created["id"] == completed["id"]
    (message,) = completed["output"]
    deltas = [e for e in events if e["type"] == "response.output_text.delta"]
    assert {(e["item_id"], e["output_index"], e["content_index"]) for e in deltas} == \
        {(message["id"], 0, 0)}
    text = "".join(e["delta"] for e in deltas)
    assert text == message["content"][0]["text"] == "Hello there, my friend."
    assert [e["text"] for e in events if e["type"] == "response.output_text.done"] == [text]
    assert events[2]["item"]["content"] == [] and events[2]["item"]["status"] == "in_progress"


@pytest.mark.threads
def test_the_stream_helper_collects_the_text(responses):
    with responses.stream(model="demo", input="Hi") as stream:
        text = "".join(e.delta for e in stream if e.type == "response.output_text.delta")
        final = stream.get_final_response()
    assert final.output_text == text == "Hello there, my friend."
    assert responses.retrieve(final.id).output_text == text


def test_a_structured_answer_is_parsed(responses, upstream):
    class Weather(BaseModel):
        city: str
        degrees: int

    upstream.answer(text='{"city": "Paris", "degrees": 21}')
    made = responses.parse(model="demo", input="Hi", text_format=Weather)
    assert made.output_parsed == Weather(city="Paris", degrees=21)
    assert made.text.format.name == "Weather" and made.text.format.type == "json_schema"
    (chat,) = upstream.chats()
    assert chat["response_format"]["json_schema"]["name"] == "Weather"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_an_item_of_its_own(raw_stream, responses, upstream, field):
    upstream.answer(reasoning="hm so", reasoning_field=field, text="Yes.")
    events = raw_stream({"input": "Hi"})
    types = collapsed(events)
    assert types[2] == "response.output_item.added" and events[2]["item"]["type"] == "reasoning"
    assert "response.reasoning_text.delta" in types
    assert types[-7:] == [*TEXT, "response.completed"]
    assert [item["type"] for item in events[-1]["response"]["output"]] == ["reasoning", "message"]
    with responses.stream(model="demo", input="Hi") as stream:
        assert stream.get_final_response().output_text == "Yes."


def test_a_refusal_is_a_content_part(raw_stream, responses, upstream):
    upstream.answer(refusal="I will not.")
    types = collapsed(raw_stream({"input": "Hi"}))
    assert types == [*STARTED, "response.output_item.added", "response.content_part.added",
                     "response.refusal.delta", "response.refusal.done",
                     "response.content_part.done", "response.output_item.done",
                     "response.completed"]
    made = responses.create(model="demo", input="Hi")
    assert made.output[0].content[0].refusal == "I will not."


# ---- stored responses ----

def test_a_response_is_kept_until_it_is_deleted(responses):
    made = responses.create(model="demo", input="Hi")
    assert responses.retrieve(made.id) == made
    responses.delete(made.id)
    for gone in (responses.retrieve, responses.delete, responses.cancel):
        with pytest.raises(openai.NotFoundError) as caught:
            gone(made.id)
        assert caught.value.body["message"] == f"Response with id '{made.id}' not found."


def test_deleting_returns_a_confirmation(http, responses):
    made = responses.create(model="demo", input="Hi")
    assert http.delete(f"/v1/responses/{made.id}").json() == {
        "id": made.id, "object": "response.deleted", "deleted": True}


def test_a_response_that_is_not_stored_cannot_be_read(responses):
    made = responses.create(model="demo", input="Hi", store=False)
    assert made.store is False
    with pytest.raises(openai.NotFoundError):
        responses.retrieve(made.id)
    with pytest.raises(openai.BadRequestError) as caught:
        responses.create(model="demo", input="Hi", previous_response_id=made.id)
    assert caught.value.code == "previous_response_not_found"


def test_input_items_are_listed(responses):
    made = responses.create(model="demo", input=[
        {"role": "user", "content": f"number {i}"} for i in range(3)])
    texts = [item.content[0].text for item in responses.input_items.list(made.id, order="asc")]
    assert texts == ["number 0", "number 1", "number 2"]
    page = responses.input_items.list(made.id, limit=2)
    assert [item.content[0].text for item in page.data] == ["number 2", "number 1"]
    assert page.has_more and page.last_id == page.data[-1].id
    walked = [item.content[0].text for item in responses.input_items.list(made.id, limit=1)]
    assert walked == ["number 2", "number 1", "number 0"]


@pytest.mark.threads
def test_a_response_continues_another(responses, upstream):
    first = responses.create(model="demo", input="One.", instructions="Old instructions.")
    upstream.answer(text="Two.")
    second = responses.create(model="demo", input="And?", previous_response_id=first.id)
    assert second.previous_response_id == first.id
    upstream.forget()
    third = responses.create(model="demo", input="More?", previous_response_id=second.id,
                             instructions="New.")
    (chat,) = upstream.chats()
    assert texts_of(chat) == [("system", "New."), ("user", "One."),
                              ("assistant", "Hello there, my friend."), ("user", "And?"),
                              ("assistant", "Two."), ("user", "More?")]
    again = responses.create(model="demo", input="Another way?", previous_response_id=first.id)
    assert again.previous_response_id == first.id
    assert third.usage.input_tokens > 0


# ---- tools of the client ----

@pytest.mark.threads
def test_a_function_is_called_and_answered(responses, upstream):
    upstream.script(*WEATHER_RULES)
    first = responses.create(model="demo", input="weather?", tools=[WEATHER_FLAT])
    assert first.status == "completed"
    (asked,) = first.output
    assert (asked.type, asked.name, asked.call_id) == ("function_call", "get_weather", "call_1")
    assert asked.arguments == '{"city":"Paris"}' and asked.status == "completed"
    assert asked.id.startswith("fc_") and asked.id != asked.call_id
    second = responses.create(model="demo", previous_response_id=first.id, tools=[WEATHER_FLAT],
                              input=[{"type": "function_call_output", "call_id": "call_1",
                                      "output": "sunny"}])
    assert second.output_text == "It is sunny."
    messages = upstream.chats()[-1]["messages"]
    assert [m["role"] for m in messages] == ["user", "assistant", "tool"]
    assert messages[1]["tool_calls"][0]["id"] == "call_1"
    assert messages[2]["tool_call_id"] == "call_1" and messages[2]["content"] == "sunny"


def test_a_function_can_be_answered_by_replaying_the_history(responses, upstream):
    upstream.script(*WEATHER_RULES)
    history = [{"role": "user", "content": "weather?"}]
    first = responses.create(model="demo", input=history, tools=[WEATHER_FLAT], store=False)
    history += [item.model_dump(exclude_none=True) for item in first.output]
    history.append({"type": "function_call_output", "call_id": "call_1", "output": "sunny"})
    second = responses.create(model="demo", input=history, tools=[WEATHER_FLAT], store=False)
    assert second.output_text == "It is sunny."


def test_calls_are_streamed_one_after_another(raw_stream, upstream):
    upstream.answer(tool_calls=[PARIS, call(number=2, city="Rome")])
    events = raw_stream({"input": "weather?", "tools": [WEATHER_FLAT]})
    assert collapsed(events) == [*STARTED, *CALL, *CALL, "response.completed"]
    added = [e for e in events if e["type"] == "response.output_item.added"]
    assert [e["output_index"] for e in added] == [0, 1]
    assert all(e["item"]["arguments"] == "" for e in added)
    done = [e for e in events if e["type"] == "response.function_call_arguments.done"]
    assert [e["arguments"] for e in done] == ['{"city":"Paris"}', '{"city":"Rome"}']
    assert [e["name"] for e in done] == ["get_weather"] * 2


def test_a_custom_tool_is_called_and_answered(raw_stream, responses, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "{{tool_output}} rows"}},
                    {"answer": {"tool_calls": [call("run_sql", input="select 1")]}})
    events = raw_stream({"input": "go", "tools": [GRAMMAR]})
    assert collapsed(events) == [*STARTED, "response.output_item.added",
                                 "response.custom_tool_call_input.delta",
                                 "response.custom_tool_call_input.done",
                                 "response.output_item.done", "response.completed"]
    first = responses.retrieve(events[0]["response"]["id"])
    (asked,) = first.output
    assert (asked.type, asked.name, asked.input) == ("custom_tool_call", "run_sql", "select 1")
    second = responses.create(model="demo", previous_response_id=first.id, tools=[GRAMMAR],
                              input=[{"type": "custom_tool_call_output", "call_id": asked.call_id,
                                      "output": "7"}])
    assert second.output_text == "7 rows"


def test_text_and_a_call_are_two_items(raw_stream, upstream):
    upstream.answer(text="Let me look.", tool_calls=[PARIS])
    events = raw_stream({"input": "weather?", "tools": [WEATHER_FLAT]})
    assert collapsed(events) == [*STARTED, *TEXT, *CALL, "response.completed"]


@pytest.mark.parametrize("sent", [
    {"send_index": "never"}, {"send_id": "every"}, {"split": "whole"}, {"send_id": "never"},
    {"arguments_as": "object"}, {"split": 1, "send_name": "every"},
], ids=str)
def test_every_dialect_of_tool_calls_is_understood(responses, upstream, sent):
    upstream.answer(tool_calls=[{**PARIS, **sent}], dialect=["crlf", "multi_line", "no_done"])
    made = responses.create(model="demo", input="weather?", tools=[WEATHER_FLAT])
    (asked,) = made.output
    assert asked.name == "get_weather" and json.loads(asked.arguments) == {"city": "Paris"}
    assert asked.call_id


@pytest.mark.parametrize("answer", [
    {"dialect": ["crlf", "comments"]}, {"dialect": ["multi_line", "no_space"]},
    {"dialect": ["no_done", "no_role"]}, {"format": "json"}, {"usage": "none"},
    {"usage_in": "last"}, {"finish_reason": "none"},
], ids=str)
def test_every_dialect_of_streams_is_understood(responses, upstream, answer):
    upstream.answer(text="Hello there.", **answer)
    made = responses.create(model="demo", input="Hi")
    assert made.status == "completed" and made.output_text == "Hello there."
    assert made.usage.total_tokens >= 0


# ---- what goes wrong ----

def test_an_answer_that_hits_the_limit_is_incomplete(raw_stream, responses, upstream):
    upstream.answer(text="Once upon", finish_reason="length")
    events = raw_stream({"input": "Hi"})
    assert collapsed(events) == [*STARTED, *TEXT, "response.incomplete"]
    final = events[-1]["response"]
    assert final["status"] == "incomplete" and final["completed_at"] is None
    assert final["incomplete_details"] == {"reason": "max_output_tokens"}
    assert final["output"][0]["status"] == "incomplete"
    assert responses.retrieve(final["id"]).status == "incomplete"


def test_a_filtered_answer_is_incomplete(responses, upstream):
    upstream.answer(text="Once", finish_reason="content_filter")
    made = responses.create(model="demo", input="Hi")
    assert made.status == "incomplete" and made.incomplete_details.reason == "content_filter"


@pytest.mark.parametrize("fault", [
    {"kind": "cut", "after": 2}, {"kind": "error", "after": 1}, {"kind": "garbage", "after": 1},
], ids=lambda fault: fault["kind"])
def test_a_broken_answer_fails_the_response(raw_stream, responses, upstream, fault):
    upstream.answer(text="a b c", fault=fault)
    events = raw_stream({"input": "Hi"})
    types = collapsed(events)
    assert types[:2] == STARTED and types[-2:] == ["error", "response.failed"]
    final = events[-1]["response"]
    assert final["status"] == "failed" and final["error"]["code"] == "server_error"
    assert final["error"]["message"]
    kept = responses.retrieve(final["id"])
    assert kept.status == "failed" and kept.error.message == final["error"]["message"]
    opened = [e["item"]["id"] for e in events if e["type"] == "response.output_item.added"]
    closed = [e["item"]["id"] for e in events if e["type"] == "response.output_item.done"]
    assert opened == closed


@pytest.mark.parametrize("code, status", [("server_error", 500), ("rate_limit_exceeded", 429),
                                          ("invalid_prompt", 400)])
@pytest.mark.parametrize("how", ["create", "stream", "follow"])
def test_the_sdk_raises_what_failed_a_streamed_response(responses, upstream, how, code, status):
    """As with OpenAI's API: an error event comes before response.failed, at which SDKs raise."""
    upstream.answer(fault={"kind": "status", "status": status})
    seen = []
    with pytest.raises(openai.APIError) as raised:
        if how == "stream":
            with responses.stream(model="demo", input="Hi") as stream:
                seen += stream
        else:
            for event in responses.create(model="demo", input="Hi", stream=True, background=how == "follow"):
                seen.append(event)
                if how == "follow":
                    break
            for event in responses.retrieve(seen[0].response.id, stream=True):
                seen.append(event)
    kept = responses.retrieve(seen[0].response.id)
    assert kept.status == "failed" and (kept.error.code, kept.error.message) == (code, raised.value.message)
    assert raised.value.body == {
        "message": kept.error.message, "param": None, "code": code,
        "type": {500: "server_error", 429: "requests", 400: "invalid_request_error"}[status]}
    assert not [event for event in seen if event.type in ("error", "response.failed")]


def test_a_busy_model_is_retried(responses, upstream):
    upstream.script({"times": 1, "answer": {"fault": {"kind": "cut"}}},
                    {"times": 1, "answer": {"fault": {"kind": "status", "status": 503}}},
                    {"answer": {"text": "At last."}})
    assert responses.create(model="demo", input="Hi").output_text == "At last."


@pytest.mark.threads
def test_a_client_that_leaves_stops_the_model(responses, upstream):
    upstream.answer(text="a b c", piece_delay_ms=3600000)
    stream = responses.create(model="demo", input="Hi", stream=True)
    created = next(event for event in stream).response
    next(event for event in stream if event.type == "response.output_text.delta")
    stream.close()
    eventually(lambda: upstream.requests()[-1]["state"], lambda state: state == "client_left")
    kept = eventually(lambda: found(responses, created.id))
    assert kept.status in ("cancelled", "incomplete", "failed")


def found(responses, response_id):
    try:
        return responses.retrieve(response_id)
    except openai.NotFoundError:
        return None


@pytest.mark.threads
def test_a_client_that_leaves_without_a_stream_stops_the_model(server, upstream):
    upstream.answer(text="a b c", piece_delay_ms=3600000)
    with httpx2.Client(timeout=0.5) as client, pytest.raises(httpx2.ReadTimeout):
        client.post(f"{server.url}/v1/responses", json={"model": "demo", "input": "Hi"},
                    headers={"Authorization": f"Bearer {server.settings['api_key']}"})
    eventually(lambda: upstream.requests()[-1]["state"], lambda state: state == "client_left")


# ---- calls that broke off ----

@pytest.mark.parametrize("broken", [
    {"fault": {"kind": "cut", "after": 3}}, {"finish_reason": "length"}], ids=["failed", "incomplete"])
@pytest.mark.parametrize("where", ["chain", "conversation"])
def test_an_incomplete_call_cannot_be_answered(client, responses, upstream, broken, where):
    made = client.conversations.create().id if where == "conversation" else None
    upstream.answer(tool_calls=[call(city="Llanfairpwllgwyngyll")], **broken)
    body = {"model": "demo", "input": "weather?", "tools": [WEATHER_FLAT], "conversation": made}
    first = failed_response(client, **body)[1] if "fault" in broken else responses.create(**body)
    assert first.status == ("failed" if "fault" in broken else "incomplete")
    assert [(item.type, item.status) for item in first.output] == [("function_call", "incomplete")]
    upstream.answer(text="No matter.")
    upstream.forget()
    follow = {"conversation": made} if made else {"previous_response_id": first.id}
    second = responses.create(model="demo", input="Well?", tools=[WEATHER_FLAT], **follow)
    assert second.output_text == "No matter."
    expected = [("user", "weather?"), ("user", "Well?")]
    if made and "fault" in broken:
        expected = expected[1:]  # what failed leaves nothing in its conversation
    assert texts_of(upstream.chats()[0]) == expected


def test_the_text_of_a_cancelled_response_is_not_sent_to_the_model(responses, upstream):
    upstream.answer(text="Wait.", tool_calls=[call(city="Paris"), call(number=2, city="Rome")],
                    split="whole", fault={"kind": "stall", "after": 8})
    first = responses.create(model="demo", input="weather?", tools=[WEATHER_FLAT], background=True)
    eventually(lambda: len(responses.retrieve(first.id).output), lambda shown: shown >= 3)
    responses.cancel(first.id)
    upstream.answer(text="No matter.")
    upstream.forget()
    second = responses.create(model="demo", input="Well?", previous_response_id=first.id)
    assert second.output_text == "No matter."
    assert texts_of(upstream.chats()[0]) == [("user", "weather?"), ("user", "Well?")]


# ---- background ----

def test_a_background_response_continues_without_its_client(responses, upstream):
    upstream.answer(text="a b c", piece_delay_ms=20)
    made = responses.create(model="demo", input="Hi", background=True)
    assert made.status in ("queued", "in_progress") and made.background is True
    done = eventually(lambda: responses.retrieve(made.id),
                      lambda r: r.status not in ("queued", "in_progress"))
    assert done.status == "completed" and done.output_text == "a b c"


def test_a_background_response_is_cancelled(responses, upstream):
    upstream.answer(text="a b c", piece_delay_ms=3600000)
    made = responses.create(model="demo", input="Hi", background=True)
    eventually(lambda: upstream.chats(), len)
    assert responses.cancel(made.id).status == "cancelled"
    assert responses.retrieve(made.id).status == "cancelled"
    assert responses.cancel(made.id).status == "cancelled"


def test_a_background_stream_is_resumed(responses, upstream):
    upstream.answer(text="a b c d", piece_delay_ms=30)
    first = []
    with responses.create(model="demo", input="Hi", background=True, stream=True) as stream:
        for event in stream:
            first.append(event)
            if event.type == "response.output_text.delta":
                break
    made = first[0].response
    assert [e.type for e in first[:3]] == ["response.created", "response.queued",
                                           "response.in_progress"]
    rest = list(responses.retrieve(made.id, stream=True,
                                   starting_after=first[-1].sequence_number))
    assert [e.sequence_number for e in rest] == \
        list(range(first[-1].sequence_number + 1, rest[-1].sequence_number + 1))
    assert rest[-1].type == "response.completed"
    whole = list(responses.retrieve(made.id, stream=True))
    assert whole[0].type == "response.created"
    assert "".join(e.delta for e in whole if e.type == "response.output_text.delta") == "a b c d"
