"""Around the API: health, models, the pass-through, headers, server-side tools."""

import json

import openai
import pytest

from harness.recorder import parse_events
from harness.tools import WEATHER

CHAT = {"model": "demo", "messages": [{"role": "user", "content": "Hi"}]}
BASIC = {"type": "mcp", "server_label": "basic", "server_url": "builtin:basic",
         "require_approval": "never"}


def test_the_server_is_alive_and_ready(http):
    assert http.get("/healthz").json()["status"] == "ok"
    assert http.get("/readyz").status_code == 200
    metrics = http.get("/metrics")
    assert metrics.headers["content-type"].startswith("text/plain")
    assert "# TYPE " in metrics.text


def test_the_models_of_the_upstream_are_listed(client):
    models = [model.id for model in client.models.list()]
    assert "demo" in models and "other/model" in models
    assert client.models.retrieve("demo").id == "demo"
    assert client.models.retrieve("other/model").id == "other/model"


def test_answers_carry_the_headers_that_sdks_show(client, http):
    answer = client.responses.with_raw_response.create(model="demo", input="Hi")
    assert answer.headers["x-request-id"].startswith("req_")
    assert int(answer.headers["openai-processing-ms"]) >= 0
    assert answer.headers["openai-version"] == "2020-10-01"
    assert answer.parse()._request_id == answer.headers["x-request-id"]


# ---- chat completions ----

def test_chat_completions_are_passed_through(client, upstream):
    upstream.answer(text="Hi there.", usage={"prompt_tokens": 3, "completion_tokens": 2,
                                             "total_tokens": 5})
    made = client.chat.completions.create(**CHAT)
    assert made.choices[0].message.content == "Hi there." and made.usage.total_tokens == 5
    (request,) = upstream.requests()
    assert request["body"]["messages"] == CHAT["messages"]
    assert "sk-end-to-end" not in str(request)


def test_chat_completions_are_streamed_through(client, upstream):
    upstream.answer(tool_calls=[{"name": "get_weather", "id": "call_1",
                                 "arguments": {"city": "Paris"}}])
    with client.chat.completions.stream(**CHAT, tools=[{**WEATHER, "function": {
            **WEATHER["function"], "strict": True}}]) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].message.tool_calls[0].function.arguments == '{"city":"Paris"}'


def test_errors_of_chat_completions_are_passed_through(client, upstream):
    upstream.answer(fault={"kind": "status", "status": 429, "retry_after": 3})
    with pytest.raises(openai.RateLimitError) as caught:
        client.chat.completions.create(**CHAT)
    assert caught.value.code == "rate_limit_exceeded"


# ---- tools that the server runs ----

def builtin_call(upstream, client, word):
    """A call of the offered tool whose name holds the word."""
    upstream.answer(text="x")
    upstream.forget()
    client.responses.create(model="demo", input="Hi", tools=[BASIC])
    names = [tool["function"]["name"] for tool in upstream.chats()[0]["tools"]]
    return next(name for name in names if word in name)


@pytest.mark.threads
def test_a_builtin_tool_runs_on_the_server(client, upstream):
    name = builtin_call(upstream, client, "datetime")
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "It is {{tool_output}}."}},
                    {"answer": {"tool_calls": [{"name": name, "id": "call_1", "arguments": {}}]}})
    made = client.responses.create(model="demo", input="What time is it?", tools=[BASIC])
    types = [item.type for item in made.output]
    assert types[-2:] == ["mcp_call", "message"]
    mcp = made.output[-2]
    assert (mcp.name, mcp.server_label, mcp.error) == ("datetime", "basic", None)
    assert mcp.output and mcp.output in made.output_text


def test_a_builtin_tool_is_streamed(http, client, upstream):
    name = builtin_call(upstream, client, "datetime")
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}},
                    {"answer": {"tool_calls": [{"name": name, "id": "call_1", "arguments": {}}]}})
    answer = http.post("/v1/responses", json={"model": "demo", "input": "Time?", "stream": True,
                                              "tools": [BASIC]})
    types = [name for name, data in parse_events(answer.text) if data != "[DONE]"]
    start = types.index("response.mcp_call.in_progress")
    assert types[start - 1:start + 6] == [
        "response.output_item.added", "response.mcp_call.in_progress",
        "response.mcp_call_arguments.delta", "response.mcp_call_arguments.done",
        "response.mcp_call.completed", "response.output_item.done", "response.output_item.added"]
    with client.responses.stream(model="demo", input="Time?", tools=[BASIC]) as stream:
        assert stream.get_final_response().output_text == "Done."


def test_server_side_and_client_tools_mix(client, upstream):
    name = builtin_call(upstream, client, "datetime")
    upstream.script({"match": {"tool_results": 2}, "answer": {"text": "Both."}},
                    {"answer": {"tool_calls": [
                        {"name": name, "id": "call_1", "arguments": {}},
                        {"name": "f", "id": "call_2", "arguments": {}}]}})
    tools = [BASIC, {"type": "function", "name": "f", "parameters": {"type": "object",
                                                                    "properties": {}},
                     "strict": False}]
    first = client.responses.create(model="demo", input="Go", tools=tools)
    assert first.status == "completed"
    assert {"mcp_call", "function_call"} <= {item.type for item in first.output}
    second = client.responses.create(model="demo", previous_response_id=first.id, tools=tools,
                                     input=[{"type": "function_call_output", "call_id": "call_2",
                                             "output": "x"}])
    assert second.output_text == "Both."


# ---- limits of the loop ----

def test_a_model_that_only_calls_tools_is_stopped_at_the_limit(client, upstream):
    name = builtin_call(upstream, client, "datetime")
    upstream.script({"match": {"tools": True, "tool_choice": "auto"},
                     "answer": {"tool_calls": [{"name": name, "arguments": {}}]}},
                    {"answer": {"text": "Enough."}})
    made = client.responses.create(model="demo", input="Go", tools=[BASIC])
    assert made.status in ("completed", "incomplete")
    assert len(upstream.chats()) <= 20
    assert json.dumps(upstream.chats()[-1])
