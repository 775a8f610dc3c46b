"""Requests are checked to the last key, and leave no trace when they are refused."""

import json

import pytest

from harness.failures import failed_response
from harness.recorder import parse_events


@pytest.fixture
def run_body(client):
    assistant = client.beta.assistants.create(model="demo")
    return {"assistant_id": assistant.id,
            "thread": {"messages": [{"role": "user", "content": "go"}]}}


def refused(answer, code, param):
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert (error["code"], error["param"]) == (code, param), error


@pytest.mark.parametrize("resources, param", [
    ("x", "tool_resources"),
    ({"code_interpreter": {"file_ids": 5}}, "tool_resources.code_interpreter.file_ids"),
])
def test_tool_resources_of_a_run_are_checked(http, run_body, resources, param):
    answer = http.post("/v1/threads/runs", json={**run_body, "tool_resources": resources})
    refused(answer, "invalid_type", param)


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/threads/runs"])
def test_nothing_unknown_passes_inside_runnel(http, run_body, path):
    body = run_body if "threads" in path else {"model": "demo", "input": "go"}
    refused(http.post(path, json={**body, "runnel": {"foo": 1}}), "unknown_parameter",
            "runnel.foo")
    refused(http.post(path, json={**body, "runnel": 5}), "invalid_type", "runnel")
    refused(http.post(path, json={**body, "runnel": {"context": []}}), "invalid_type",
            "runnel.context")


@pytest.mark.slow
def test_unknown_parameters_are_refused_when_the_setting_says_so(start_server, upstream):
    server = start_server(unknown_parameters="reject")
    client, http = server.sdk(), server.http()
    assistant = client.beta.assistants.create(model="demo")
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "go"}])
    run = client.beta.threads.runs.create_and_poll(
        thread_id=thread.id, assistant_id=assistant.id, poll_interval_ms=20)
    body = {"assistant_id": assistant.id, "foo": 1}
    url = f"/v1/threads/{thread.id}/runs"
    for path, sent in [(url, body), ("/v1/threads/runs", body), (f"{url}/{run.id}", {"foo": 1}),
                       (f"{url}/{run.id}/submit_tool_outputs", {"tool_outputs": [], "foo": 1}),
                       ("/v1/responses", {"model": "demo", "input": "go", "foo": 1})]:
        refused(http.post(path, json=sent), "unknown_parameter", "foo")


# ---- Tokens ----

def test_tokens_of_steps_add_up_to_those_of_the_run(client, upstream):
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    assistant = client.beta.assistants.create(model="demo")

    def steps_of(run):
        return client.beta.threads.runs.steps.list(run.id, thread_id=run.thread_id).data

    for answer in [{"text": "cut", "finish_reason": "length"}, {"text": "whole"}]:
        upstream.answer(**answer, usage=usage)
        run = client.beta.threads.create_and_run_poll(assistant_id=assistant.id,
                                                      poll_interval_ms=20)
        assert run.usage.total_tokens == 15
        assert sum(step.usage.total_tokens for step in steps_of(run)) == 15


def test_tokens_of_a_turn_without_text_are_in_the_step_of_its_calls(client, http, upstream):
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok", "usage": usage}},
                    {"answer": {"tool_calls": [{"name": "nobody", "arguments": {}}],
                                "usage": usage}})
    assistant = client.beta.assistants.create(model="demo")
    run = client.beta.threads.create_and_run_poll(assistant_id=assistant.id, poll_interval_ms=20)
    steps = client.beta.threads.runs.steps.list(run.id, thread_id=run.thread_id).data
    assert run.usage.total_tokens == 30
    assert [step.usage.total_tokens for step in steps] == [15, 15]


def test_addresses_of_upstreams_are_not_shown(client, upstream):
    for kind in ("cut", "html", "garbage"):
        upstream.answer(text="one two", fault={"kind": kind, "after": 0})
        error, kept = failed_response(client, input="go")
        assert "127.0.0.1" not in error.message + kept.error.message


def test_a_filtered_run_is_incomplete_as_its_api_names_it(client, upstream):
    upstream.answer(text="I would", finish_reason="content_filter")
    assistant = client.beta.assistants.create(model="demo")
    run = client.beta.threads.create_and_run_poll(assistant_id=assistant.id, poll_interval_ms=20)
    assert run.status == "incomplete" and run.incomplete_details.reason is None
    message = client.beta.threads.messages.list(run.thread_id, limit=1).data[0]
    assert message.incomplete_details.reason == "content_filter"


# ---- Responses: one parameter at a time ----

FORMAT = {"type": "json_schema", "name": "x", "strict": True}
OBJECT = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
          "additionalProperties": False}
SCHEMA = "Invalid schema for response_format 'x': "


def formatted(**schema):
    return {"text": {"format": {**FORMAT, "schema": {**OBJECT, **schema}}}}


def tool(**more):
    return {"tools": [{"type": "function", "name": "f", "parameters": None, **more}]}


# what is sent besides model and input: code, param, the beginning of the message
RESPONSES = [
    *[({old: value}, "unsupported_parameter", old,
       f"Unsupported parameter: '{old}'. In the Responses API, this parameter has moved to '{new}'. "
       "Try again with the new parameter.")
      for old, new, value in (
          ("messages", "input", [{"role": "user", "content": "Hi"}]),
          ("response_format", "text.format", {"type": "json_object"}),
          ("max_tokens", "max_output_tokens", 10), ("max_completion_tokens", "max_output_tokens", 10),
          ("reasoning_effort", "reasoning.effort", "low"), ("verbosity", "text.verbosity", "low"))],
    ({"include": ["file_search_call.result"]}, "invalid_value", "include[0]",
     "Invalid value: 'file_search_call.result'. Supported values are: 'file_search_call.results',"),
    ({"include": "x"}, "invalid_type", "include",
     "Invalid type for 'include': expected an array, but got a string instead."),
    ({"tools": [{"type": "bogus"}]}, "invalid_value", "tools[0].type", "Invalid value: 'bogus'."),
    ({"tools": [{}]}, "missing_required_parameter", "tools[0].type",
     "Missing required parameter: 'tools[0].type'."),
    (tool(name="a b"), "invalid_value", "tools[0].name",
     "Invalid 'tools[0].name': string does not match pattern. Expected a string that matches the "
     "pattern '^[a-zA-Z0-9_-]+$'."),
    (tool(name="a" * 129), "string_above_max_length", "tools[0].name", "Invalid 'tools[0].name'"),
    (tool(parameters={"type": "array"}), "invalid_function_parameters", "tools[0].parameters",
     "Invalid schema for function 'f': "),
    ({"tools": [{"type": "custom", "name": "c", "format": {
        "type": "grammar", "syntax": "bnf", "definition": "x"}}]}, "invalid_value",
     "tools[0].format.syntax",
     "Invalid value: 'bnf'. Supported values are: 'lark' and 'regex'."),
    ({"tools": [{"type": "namespace", "name": "n", "tools": []}]}, "empty_array",
     "tools[0].tools", "Invalid 'tools[0].tools': empty array."),
    ({"tools": [{"type": "computer_use_preview", "environment": "browser"}]},
     "missing_required_parameter", "tools[0].display_width",
     "Missing required parameter: 'tools[0].display_width'."),
    ({"tool_choice": "some"}, "invalid_value", "tool_choice",
     "Invalid value: 'some'. Supported values are: 'none', 'auto', and 'required'."),
    ({"tool_choice": {"type": "function"}}, "missing_required_parameter", "tool_choice.name",
     "Missing required parameter: 'tool_choice.name'."),
    ({"tool_choice": {"type": "function", "name": "g"}, **tool()}, None, "tool_choice",
     "Tool choice 'g' not found in 'tools' parameter."),
    ({"tool_choice": "required"}, None, "tool_choice",
     "Tool choice 'required' must be specified with 'tools' parameter."),
    ({"tool_choice": {"type": "allowed_tools", "mode": "none", "tools": [{"type": "shell"}]}},
     "invalid_value", "tool_choice.mode",
     "Invalid value: 'none'. Supported values are: 'auto' and 'required'."),
    ({"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": []}}, "empty_array",
     "tool_choice.tools", "Invalid 'tool_choice.tools': empty array."),
    ({"text": {"format": {**FORMAT, "schema": OBJECT, "name": "a b"}}}, "invalid_value",
     "text.format.name", "Invalid 'text.format.name': string does not match pattern."),
    ({"text": {"format": FORMAT}}, "missing_required_parameter", "text.format.schema",
     "Missing required parameter: 'text.format.schema'."),
    (formatted(additionalProperties=True), "invalid_json_schema", "text.format.schema",
     SCHEMA + "In context=(), 'additionalProperties' is required to be supplied and to be false."),
    (formatted(required=[]), "invalid_json_schema", "text.format.schema",
     SCHEMA + "In context=(), 'required' is required to be supplied and to be an array including "
     "every key in properties. Missing 'a'."),
    ({"text": {"verbosity": "loud"}}, "invalid_value", "text.verbosity", "Invalid value: 'loud'."),
    ({"reasoning": {"effort": "huge"}}, "invalid_value", "reasoning.effort",
     "Invalid value: 'huge'."),
    ({"reasoning": {"context": "none"}}, "invalid_value", "reasoning.context",
     "Invalid value: 'none'. Supported values are: 'auto', 'current_turn', and 'all_turns'."),
    ({"stream_options": {"include_obfuscation": 1}}, "invalid_type",
     "stream_options.include_obfuscation",
     "Invalid type for 'stream_options.include_obfuscation': expected a boolean, but got an "
     "integer instead."),
    ({"service_tier": "gold"}, "invalid_value", "service_tier", "Invalid value: 'gold'."),
    ({"top_logprobs": 21}, "integer_above_max_value", "top_logprobs",
     "Invalid 'top_logprobs': integer above maximum value. Expected a value <= 20, but got 21 "
     "instead."),
    ({"max_tool_calls": 0}, "integer_below_min_value", "max_tool_calls",
     "Invalid 'max_tool_calls': integer below minimum value."),
    ({"safety_identifier": "x" * 65}, "string_above_max_length", "safety_identifier",
     "Invalid 'safety_identifier': string too long."),
    ({"prompt_cache_options": {"ttl": "1h"}}, "invalid_value", "prompt_cache_options.ttl",
     "Invalid value: '1h'. Supported values are: '30m' and '12h'."),
    ({"access_programs": {"cyber": "daybreak_red"}}, "invalid_value", "access_programs.cyber",
     "Invalid value: 'daybreak_red'."),
    ({"tools": [{"type": "function", "name": "f", "async": "yes"}]}, "invalid_type", "tools[0].async",
     "Invalid type for 'tools[0].async': expected a boolean"),
    ({"moderation": {"model": "omni-moderation-latest"}}, "unsupported_parameter", "moderation",
     "Unsupported parameter: 'moderation'"),
]


FILE_DATA = ("Invalid 'input[0].content[0].file_data'. Expected base64-encoded content, or a base64-encoded data URL "
             "(e.g. 'data:application/pdf;base64,cGRmIGJ5dGVzIGhlcmU=').")


def with_file(data):
    return {"input": [{"role": "user", "content": [
        {"type": "input_file", "filename": "a.pdf", "file_data": data}]}]}


RESPONSES += [(with_file(data), "invalid_value", "input[0].content[0].file_data", FILE_DATA)
              for data in ("", "no base64!", "YQ=", "YQ===", "Y", "YQ==YQ==", "=", "data:application/pdf;base64,",
                           "data:application/pdf;base64,%25", "data:text/plain,hello", "YWJj\n")]


@pytest.mark.parametrize("data", ["YQ==", "YQ", "YWI=", "YWI", "YWJj", "+/+/", "data:text/plain;base64,YQ==",
                                  "data:text/plain;charset=utf-8;base64,YWJj", "data:;base64,YQ"])
def test_file_data_in_base64_is_accepted(http, data):
    answer = http.post("/v1/responses", json={"model": "demo", **with_file(data)})
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("sent, code, param, message", RESPONSES,
                         ids=[f"{n}-{case[2]}" for n, case in enumerate(RESPONSES)])
def test_parameters_of_a_response_are_checked(http, upstream, sent, code, param, message):
    answer = http.post("/v1/responses", json={"model": "demo", "input": "go", **sent})
    refused(answer, code, param)
    assert answer.json()["error"]["message"].startswith(message), answer.text
    assert upstream.requests() == []


def test_errors_come_in_the_order_of_openai(start_server, upstream):
    """Each complaint is the first, until what it is about has been put right."""
    http = start_server(unknown_parameters="reject").http()
    body = {"foo": 1, "include": ["x"], "tools": 5, "metadata": 5, "text": 5, "temperature": "x",
            "top_p": "x", "parallel_tool_calls": 5, "stream": 5, "stream_options": 5,
            "background": 5, "max_output_tokens": "x", "max_tool_calls": "x", "reasoning": 5,
            "user": 5, "safety_identifier": 5, "access_programs": 5, "prompt_cache_options": 5, "prompt_cache_key": 5,
            "prompt_cache_retention": 5, "truncation": 5, "instructions": 5, "store": 5,
            "service_tier": 5, "top_logprobs": "x"}
    seen = []
    order = ["model", "input", "foo", "input[0].type", "include[0]", "tools", *list(body)[3:]]
    for param in order:
        answer = http.post("/v1/responses", json=body)
        assert answer.status_code == 400
        seen.append(answer.json()["error"]["param"])
        if param == "model":
            body["model"] = "demo"
        elif param == "input":
            body["input"] = [{"type": "bogus"}]
        elif param == "input[0].type":
            body["input"] = "go"
        else:
            del body[param.split("[")[0]]
    assert seen == order
    unknown = "resp_000000000000000000000000"
    for more, param in [({"previous_response_id": unknown, "conversation": "conv_1"}, None),
                        ({"previous_response_id": unknown}, "previous_response_id"),
                        ({"input": ""}, None)]:
        answer = http.post("/v1/responses", json={**body, **more})
        assert answer.json()["error"]["param"] == param
    assert upstream.requests() == []


def test_every_parameter_may_be_given(client, upstream):
    made = client.responses.create(
        model="demo", input="go", include=["message.output_text.logprobs", "web_search_call.results",
                                           "reasoning.encrypted_content"],
        metadata={"a": "b"}, parallel_tool_calls=False, max_tool_calls=3, max_output_tokens=100,
        reasoning={"effort": "low", "summary": "auto", "context": "auto"}, truncation="auto",
        service_tier="flex", prompt_cache_key="k", prompt_cache_retention="24h",
        prompt_cache_options={"mode": "explicit", "ttl": "12h", "comparison_response_id": "resp_1"},
        access_programs={"cyber": "standard"}, safety_identifier="s", user="u",
        top_logprobs=2, text={"verbosity": "low", "format": {**FORMAT, "schema": OBJECT}},
        stream_options={"include_obfuscation": False}, tools=[{
            "type": "function", "name": "f", "parameters": OBJECT, "strict": True, "async": True}])
    assert made.access_programs.cyber == "standard" and made.prompt_cache_diagnostics.type == "unavailable"
    assert made.prompt_cache_options.comparison_response_id == "resp_1" and made.tools[0].async_
    assert (made.safety_identifier, made.prompt_cache_key, made.user) == ("s", "k", "u")
    assert made.truncation == "auto" and made.reasoning.effort == "low"
    assert made.text.format.name == "x" and made.tools[0].description is None
    assert not hasattr(made, "include")
    (chat,) = upstream.chats()
    assert (chat["reasoning_effort"], chat["verbosity"], chat["top_logprobs"]) == ("low", "low", 2)
    assert chat["response_format"]["json_schema"] == {"name": "x", "schema": OBJECT,
                                                      "strict": True}
    assert (chat["prompt_cache_key"], chat["safety_identifier"], chat["user"]) == ("k", "s", "u")
    assert chat["service_tier"] == made.service_tier == "flex"


def test_a_tier_is_sent_only_if_the_request_names_one(client, upstream):
    for tier in ({}, {"service_tier": None}, {"service_tier": "auto"}):
        made = client.responses.create(model="demo", input="go", **tier)
        assert made.service_tier == "default"
    assert [chat.get("service_tier") for chat in upstream.chats()] == [None, None, "auto"]


# ---- Queries ----

@pytest.mark.parametrize("query, code, param", [
    ("stream=maybe", "invalid_type", "stream"),
    ("starting_after=x", "invalid_type", "starting_after"),
    ("include_obfuscation=2", "invalid_type", "include_obfuscation"),
    ("include[]=bogus", "invalid_value", "include[0]"),
    ("include=reasoning.encrypted_content&include=bogus", "invalid_value", "include[1]"),
])
def test_queries_of_a_response_are_checked(http, client, query, code, param):
    made = client.responses.create(model="demo", input="go")
    refused(http.get(f"/v1/responses/{made.id}?{query}"), code, param)
    if "include" in query and "[" in param:
        refused(http.get(f"/v1/responses/{made.id}/input_items?{query}"), code, param)


# ---- How probable it was ----

def test_probabilities_come_with_the_text_on_request(http, client, upstream):
    upstream.answer(text="one two")
    asked = {"model": "demo", "input": "go", "include": ["message.output_text.logprobs"],
             "top_logprobs": 1}
    answer = http.post("/v1/responses", json={**asked, "stream": True})
    events = [json.loads(data) for _, data in parse_events(answer.text) if data != "[DONE]"]
    deltas = [e for e in events if e["type"] == "response.output_text.delta"]
    assert [[t["token"] for t in e["logprobs"]] for e in deltas] == [[e["delta"]] for e in deltas]
    tokens = [token for e in deltas for token in e["logprobs"]]
    assert tokens[0]["bytes"] == list(b"one") and tokens[0]["logprob"] == -0.25
    assert tokens[0]["top_logprobs"][0]["token"] == "one"
    assert next(e for e in events
                if e["type"] == "response.output_text.done")["logprobs"] == tokens
    done = events[-1]["response"]
    assert done["output"][0]["content"][0]["logprobs"] == tokens and done["top_logprobs"] == 1
    kept = client.responses.retrieve(done["id"])
    assert "".join(t.token for t in kept.output[0].content[0].logprobs) == "one two"
    assert (upstream.chats()[0]["logprobs"], upstream.chats()[0]["top_logprobs"]) == (True, 1)


def test_probabilities_are_requested_upstream_only_on_request(client, upstream):
    made = client.responses.create(model="demo", input="go")
    assert made.output[0].content[0].logprobs == []
    assert "logprobs" not in upstream.chats()[0]


@pytest.mark.parametrize("part", ["input_file", "input_image"])
def test_a_file_that_is_not_here_is_named(http, part):
    answer = http.post("/v1/responses", json={"model": "demo", "input": [
        {"role": "user", "content": [{"type": part, "file_id": "file-abc"}]}]})
    assert answer.status_code == 404
    assert answer.json()["error"] == {"param": "input[0].content[0].file_id", "code": None,
                                      "type": "invalid_request_error", "message": "No such File object: file-abc"}
