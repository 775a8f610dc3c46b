"""A model that fails: an HTTP error for a client that waits, events for a stream, and the names of errors
on both faces."""

import json

import openai
import pytest

from harness.failures import HEADER
from harness.recorder import parse_events
from harness.server import eventually
from harness.tools import WEATHER_FLAT, call

BASIC = {"type": "mcp", "server_label": "basic", "server_url": "builtin:basic", "require_approval": "never"}
CONTEXT = "This model's context is 4096 tokens. Your input has 5000."

# What the upstream answers, and what becomes of it: status, type, code, param.
REFUSALS = {
    "context": (400, "context_length_exceeded", (400, "invalid_request_error", "context_length_exceeded", "input")),
    "quota": (429, "insufficient_quota", (429, "insufficient_quota", "insufficient_quota", None)),
    "forbidden by a quota": (403, "insufficient_quota",
                             (429, "insufficient_quota", "insufficient_quota", None)),
    "rate": (429, "rate_limit_exceeded", (429, "requests", "rate_limit_exceeded", None)),
    "image url": (400, "invalid_image_url", (400, "invalid_request_error", "invalid_image_url", None)),
    "image format": (400, "invalid_image_format",
                     (400, "invalid_request_error", "invalid_image_format", None)),
    "filter": (400, "content_filter", (400, "invalid_request_error", "content_filter", None)),
    "unnamed": (422, None, (400, "invalid_request_error", "invalid_prompt", None)),
}


def refusal(status, code=None, message=CONTEXT, **more):
    body = {"error": {"message": message, "type": "some_error", "code": code}}
    return {"fault": {"kind": "status", "status": status, "body": json.dumps(body), "retry_after": 0, **more}}


def plain(http, **body):
    return http.post("/v1/responses", json={"model": "demo", "input": "Hi", **body})


def kept(client, answer):
    """The response that an error was about."""
    return client.responses.retrieve(answer.headers[HEADER])


@pytest.fixture
def client(server):
    """Lenient, because the SDK's types do not have all names of errors."""
    return server.sdk(strict=False)


# ---- A client that waits for the object ----

@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_of_the_model_is_an_http_error(http, client, upstream, name):
    status, code, (shown, kind, word, param) = REFUSALS[name]
    upstream.answer(**refusal(status, code))
    answer = plain(http)
    assert answer.status_code == shown
    assert answer.json() == {"error": {"message": CONTEXT, "type": kind, "param": param, "code": word}}
    failed = kept(client, answer)
    assert (failed.status, failed.output) == ("failed", [])
    assert (failed.error.code, failed.error.message) == (word, CONTEXT)


@pytest.mark.parametrize("fault", [
    {"kind": "status", "status": 500}, {"kind": "status", "status": 503, "retry_after": 0},
    {"kind": "status", "status": 401}, {"kind": "status", "status": 403}, {"kind": "cut", "after": 2},
    {"kind": "error", "after": 1}, {"kind": "html"}], ids=lambda f: f"{f['kind']}{f.get('status', '')}")
def test_a_failure_of_the_model_is_a_server_error(http, client, upstream, fault):
    upstream.answer(text="a b c", fault=fault)
    answer = plain(http)
    assert answer.status_code == 500
    assert answer.json() == {"error": {"message": "The model failed to answer.", "type": "server_error",
                                       "param": None, "code": "server_error"}}
    assert "x-should-retry" not in answer.headers
    assert kept(client, answer).status == "failed"


@pytest.mark.parametrize("status", [429, 503])
def test_a_client_learns_when_to_come_back(http, upstream, status):
    """So long that the server does not wait for it."""
    upstream.answer(**refusal(status, retry_after=61))
    answer = plain(http)
    assert (answer.status_code, answer.headers["retry-after"]) == (429 if status == 429 else 500, "61")
    assert len(upstream.chats()) == 1


def test_sdks_raise_the_errors_of_their_names(client, upstream):
    for status, error in (429, openai.RateLimitError), (400, openai.BadRequestError), \
            (500, openai.InternalServerError), (401, openai.InternalServerError):
        upstream.answer(**refusal(status))
        with pytest.raises(error):
            client.responses.create(model="demo", input="Hi", store=False)


def test_sdks_ask_again(client, upstream):
    upstream.script({"times": 3, "answer": refusal(429)}, {"answer": {"text": "At last."}})
    made = client.with_options(max_retries=1).responses.create(model="demo", input="Hi")
    assert made.output_text == "At last." and len(upstream.chats()) == 4


@pytest.mark.parametrize("status", [429, 500])
def test_what_has_called_a_tool_is_not_repeated(http, client, upstream, status):
    upstream.script({"match": {"tool_results": True}, "answer": refusal(status)},
                    {"answer": {"tool_calls": [{"name": "datetime", "id": "call_1", "arguments": {}}]}})
    answer = plain(http, tools=[BASIC])
    assert (answer.status_code, answer.headers["x-should-retry"]) == (status, "false")
    assert [item.type for item in kept(client, answer).output] == ["mcp_list_tools", "mcp_call"]
    asked = len(upstream.chats())
    with pytest.raises(openai.APIStatusError):
        client.with_options(max_retries=2).responses.create(model="demo", input="Hi", tools=[BASIC])
    assert len(upstream.chats()) == 2 * asked


def test_a_clients_call_is_no_reason_against_a_repetition(http, upstream):
    upstream.answer(tool_calls=[call(city="Paris")], fault={"kind": "cut", "after": 3})
    answer = plain(http, tools=[WEATHER_FLAT])
    assert answer.status_code == 500 and "x-should-retry" not in answer.headers


def test_an_exhausted_quota_is_not_worth_a_repetition(http, upstream):
    upstream.answer(**refusal(429, "insufficient_quota"))
    assert plain(http).headers["x-should-retry"] == "false"


def test_a_background_response_is_an_object_that_failed(client, upstream):
    upstream.answer(**refusal(400, "context_length_exceeded"))
    made = client.responses.create(model="demo", input="Hi", background=True)
    failed = eventually(lambda: client.responses.retrieve(made.id), lambda now: now.status == "failed")
    assert (failed.error.code, failed.error.message) == ("context_length_exceeded", CONTEXT)


# ---- Streams ----

@pytest.mark.parametrize("name", REFUSALS)
def test_a_stream_ends_with_the_error_and_the_failed_response(http, client, upstream, name):
    status, code, (_, kind, word, param) = REFUSALS[name]
    upstream.answer(**refusal(status, code))
    answer = plain(http, stream=True)
    events = [json.loads(data) for _, data in parse_events(answer.text)[:-1]]
    assert [e["type"] for e in events[-2:]] == ["error", "response.failed"]
    assert events[-2]["error"] == {"message": CONTEXT, "type": kind, "param": param, "code": word}
    assert events[-1]["response"]["error"] == {"message": CONTEXT, "code": word}


@pytest.mark.parametrize("code", ["content_filter", "insufficient_quota", "context_length_exceeded"])
def test_an_error_inside_an_answer_keeps_its_name(http, upstream, code):
    upstream.answer(events=[
        json.dumps({"choices": [{"index": 0, "delta": {"content": "I "}}]}),
        json.dumps({"error": {"message": "No.", "code": code}})])
    events = [json.loads(data) for _, data in parse_events(plain(http, stream=True).text)[:-1]]
    assert (events[-1]["type"], events[-1]["response"]["error"]["code"]) == ("response.failed", code)
    answer = plain(http)
    assert answer.status_code == (429 if code == "insufficient_quota" else 400)
    assert answer.json()["error"]["code"] == code


# ---- The other face ----

@pytest.fixture
def thread(client):
    return client.beta.threads.create(messages=[{"role": "user", "content": "Hi"}])


@pytest.fixture
def assistant(client):
    return client.beta.assistants.create(model="demo")


@pytest.mark.parametrize("name", REFUSALS)
@pytest.mark.parametrize("streamed", [False, True])
def test_a_run_keeps_the_names_too(client, upstream, thread, assistant, name, streamed):
    status, code, (_, _, word, _) = REFUSALS[name]
    upstream.answer(**refusal(status, code))
    where = {"thread_id": thread.id, "assistant_id": assistant.id}
    if streamed:
        run, = [event.data for event in client.beta.threads.runs.create(**where, stream=True)
                if event.event == "thread.run.failed"]
    else:
        run = client.beta.threads.runs.create_and_poll(**where, poll_interval_ms=20)
    assert (run.status, run.last_error.code, run.last_error.message) == ("failed", word, CONTEXT)


def test_a_step_that_an_error_cuts_keeps_the_name(client, upstream, thread, assistant):
    upstream.answer(events=[
        json.dumps({"choices": [{"index": 0, "delta": {"content": "I "}}]}),
        json.dumps({"error": {"message": "No.", "code": "content_filter"}})])
    run = client.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id,
                                                   poll_interval_ms=20)
    step, = client.beta.threads.runs.steps.list(run.id, thread_id=thread.id)
    assert run.last_error.code == step.last_error.code == "content_filter"


# ---- What it has cost ----

USED = {"prompt_tokens": 7, "completion_tokens": 5}


def failing_chunk(code, **more):
    return json.dumps({"choices": [], "error": {"message": "No.", "code": code}, "usage": USED, **more})


def test_usage_in_an_error_is_counted(http, client, upstream, thread, assistant):
    upstream.answer(events=[failing_chunk("content_filter")])
    used = kept(client, plain(http)).usage
    assert (used.input_tokens, used.output_tokens, used.total_tokens) == (7, 5, 12)
    run = client.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id,
                                                   poll_interval_ms=20)
    assert (run.usage.prompt_tokens, run.usage.completion_tokens) == (7, 5)


def test_usage_of_an_attempt_that_is_repeated_is_counted(client, upstream):
    upstream.script({"times": 1, "answer": {"events": [failing_chunk("overloaded_error")]}},
                    {"answer": {"text": "Fine.", "usage": {**USED, "total_tokens": 12}}})
    made = client.responses.create(model="demo", input="Hi")
    assert made.output_text == "Fine." and len(upstream.chats()) == 2
    assert (made.usage.input_tokens, made.usage.output_tokens) == (14, 10)


# ---- A name with the marks of a template ----

@pytest.mark.parametrize("model", ["demo", "native"])
def test_marks_of_a_chat_template_are_no_part_of_a_name(client, upstream, model):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "It is {{tool_output}}."}},
                    {"answer": {"tool_calls": [{"name": "get_weather<|channel|>commentary", "id": "call_1",
                                                "arguments": {"city": "Paris"}}]}})
    first = client.responses.create(model=model, input="weather?", tools=[WEATHER_FLAT])
    called, = first.output
    assert (called.type, called.name) == ("function_call", "get_weather")
    second = client.responses.create(model=model, previous_response_id=first.id, tools=[WEATHER_FLAT], input=[
        {"type": "function_call_output", "call_id": called.call_id, "output": "sunny"}])
    assert second.output_text == "It is sunny." and "<|" not in json.dumps(upstream.asked()[-1])


def test_a_client_that_kept_such_a_name_need_not_mend_it(client, upstream):
    upstream.answer(text="Fine.")
    client.responses.create(model="demo", tools=[WEATHER_FLAT], input=[
        {"role": "user", "content": "weather?"},
        {"type": "function_call", "call_id": "c1", "name": "get_weather<|channel|>commentary", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "sunny"}])
    asked, = upstream.chats()
    assert asked["messages"][1]["tool_calls"][0]["function"]["name"] == "get_weather"
