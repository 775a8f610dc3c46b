"""What is refused, word for word: status, type, param, code, message."""

import json
import re

import pytest

from harness.refusals import LISTS, PATHS, QUERIES, REFUSALS

TOOL = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}},
        "strict": False}
UNKNOWN_RUN = "run_000000000000000000000000"
UNKNOWN_RESPONSE = "resp_000000000000000000000000"


def refused(answer, status, message, param=None, code=None, kind="invalid_request_error"):
    assert answer.status_code == status, answer.text
    assert answer.json() == {"error": {"message": message, "type": kind, "param": param,
                                       "code": code}}


def response_body(**fields):
    return {"model": "demo", "input": "Hi", **fields}


def without(key):
    return {k: v for k, v in response_body().items() if k != key}


# (what is sent, status, message, param, code)
RESPONSES = {
    "no model": (without("model"), 400, "Missing required parameter: 'model'.", "model",
                 "missing_required_parameter"),
    "no input": (without("input"), 400, "Missing required parameter: 'input'.", "input",
                 "missing_required_parameter"),
    "empty input": (response_body(input=[]), 400,
                 'One of "input" or "previous_response_id" or \'prompt\' or \'conversation\' '
                 "must be provided.", None, "missing_required_parameter"),
    "wrong type": (response_body(stream="yes"), 400,
                   "Invalid type for 'stream': expected a boolean, but got a string instead.",
                   "stream", "invalid_type"),
    "wrong word": (response_body(truncation="bogus"), 400,
                   "Invalid value: 'bogus'. Supported values are: 'auto' and 'disabled'.",
                   "truncation", "invalid_value"),
    "too small": (response_body(max_output_tokens=0), 400,
                  "Invalid 'max_output_tokens': integer below minimum value. Expected a value "
                  ">= 16, but got 0 instead.", "max_output_tokens", "integer_below_min_value"),
    "too large": (response_body(temperature=3), 400,
                  "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, "
                  "but got 3 instead.", "temperature", "decimal_above_max_value"),
    "metadata": (response_body(metadata={str(i): "x" for i in range(17)}), 400,
                 "Invalid 'metadata': too many properties. Expected an object with at most 16 "
                 "properties, but got an object with 17 properties instead.", "metadata",
                 "object_above_max_properties"),
    "too many tools": (response_body(tools=[{**TOOL, "name": f"f{i}"} for i in range(129)]), 400,
                       "Invalid 'tools': array too long. Expected an array with maximum length "
                       "128, but got an array with length 129 instead.", "tools",
                       "array_above_max_length"),
    "strict schema": (response_body(tools=[{**TOOL, "strict": True}]), 400,
                      "Invalid schema for function 'f': In context=(), 'additionalProperties' is "
                      "required to be supplied and to be false.", "tools[0].parameters",
                      "invalid_function_parameters"),
    "previous unknown": (response_body(previous_response_id=UNKNOWN_RESPONSE), 400,
                         f"Previous response with id '{UNKNOWN_RESPONSE}' not found.",
                         "previous_response_id", "previous_response_not_found"),
    "previous no id at all": (response_body(previous_response_id="变" * 22), 400,
                              f"Previous response with id '{'变' * 21}' not found.",
                              "previous_response_id", "previous_response_not_found"),
    "output without call": (response_body(input=[{"type": "function_call_output",
                                                  "call_id": "call_9", "output": "x"}]), 400,
                            "No tool call found for function call output with call_id call_9.",
                            "input", None),
    "call without output": (response_body(input=[{"type": "function_call", "call_id": "call_9",
                                                  "name": "f", "arguments": "{}"}]), 400,
                            "No tool output found for function call call_9.", "input", None),
    "background unstored": (response_body(background=True, store=False), 400, None, "background",
                            "unsupported_parameter"),
    "chat's messages": ({"model": "demo", "messages": []}, 400, None, "messages",
                        "unsupported_parameter"),
}


@pytest.mark.parametrize("name", RESPONSES)
def test_invalid_responses_are_refused(http, upstream, name):
    body, status, message, param, code = RESPONSES[name]
    answer = http.post("/v1/responses", json=body)
    refused(answer, status, message or answer.json()["error"]["message"], param, code)
    assert upstream.requests() == []


def test_a_foreground_response_is_not_cancelled_or_streamed(http):
    made = http.post("/v1/responses", json=response_body()).json()
    refused(http.post(f"/v1/responses/{made['id']}/cancel"), 400,
            "Cannot cancel a synchronous response.")
    refused(http.get(f"/v1/responses/{made['id']}?stream=true"), 400,
            "This response cannot be streamed because it was not created with background=true.",
            "stream")


@pytest.mark.parametrize("method, suffix", [("GET", ""), ("DELETE", ""), ("POST", "/cancel"),
                                            ("GET", "/input_items")])
def test_unknown_responses_are_not_found(http, method, suffix):
    refused(http.request(method, f"/v1/responses/{UNKNOWN_RESPONSE}{suffix}"), 404,
            f"Response with id '{UNKNOWN_RESPONSE}' not found.")


# ---- Assistants: every operation that has a body, every way to be wrong ----

@pytest.fixture(scope="module")
def objects(session_server, upstream_process):
    """One of each kind, belonging together."""
    upstream_process.answer(text="Hello.")
    sdk = session_server.sdk()
    assistant = sdk.beta.assistants.create(model="demo").id
    thread = sdk.beta.threads.create(messages=[{"role": "user", "content": "x"}]).id
    run = sdk.beta.threads.runs.create_and_poll(thread_id=thread, assistant_id=assistant,
                                                poll_interval_ms=20).id
    return {"assistant": assistant, "thread": thread, "run": run,
            "message": sdk.beta.threads.messages.list(thread).data[0].id,
            "step": sdk.beta.threads.runs.steps.list(run, thread_id=thread).data[0].id}


@pytest.mark.parametrize("operation, case", [
    pytest.param(operation, case, id=f"{operation}: {case.name}")
    for operation, cases in REFUSALS.items() for case in cases])
def test_invalid_assistants_are_refused(http, objects, operation, case):
    method, path = operation.split(" ")
    refused(http.request(method, "/v1" + path.format(**objects), json=case.body), 400,
            case.message, case.param, case.code)


PREFIXES = {"assistant": "asst_", "thread": "thread_", "message": "msg_", "run": "run_",
            "step": "step_"}
NAMED = [(method, path, kind) for method, path, _ in PATHS for kind in PREFIXES
         if "{%s}" % kind in path]


@pytest.mark.parametrize("method, path, kind", NAMED)
def test_every_id_of_a_path_is_checked(http, objects, method, path, kind):
    """An invalid id and an unknown one; the other ids are right."""
    body = next(body for *which, body in PATHS if which == [method, path])
    unknown = PREFIXES[kind] + "0" * 24
    refused(http.request(method, "/v1" + path.format(**{**objects, kind: "nobody"}), json=body), 400,
            f"Invalid '{kind}_id': 'nobody'. Expected an ID that begins with "
            f"'{PREFIXES[kind].rstrip('_')}'.", f"{kind}_id", "invalid_value")
    name = "run step" if kind == "step" else kind
    refused(http.request(method, "/v1" + path.format(**{**objects, kind: unknown}), json=body), 404,
            f"No {name} found with id '{unknown}'.")


@pytest.mark.parametrize("case", QUERIES, ids=lambda case: case.body)
@pytest.mark.parametrize("path", LISTS)
def test_invalid_list_parameters_are_refused(http, objects, path, case):
    refused(http.get("/v1" + path.format(**objects) + "?" + case.body), 400, case.message,
            case.param, case.code)


def test_invalid_messages_are_refused(http):
    thread = http.post("/v1/threads").json()["id"]
    path = f"/v1/threads/{thread}/messages"
    refused(http.post(path, json={"content": "x"}), 400, "Missing required parameter: 'role'.",
            "role", "missing_required_parameter")
    refused(http.post(path, json={"role": "user"}), 400, "Missing required parameter: 'content'.",
            "content", "missing_required_parameter")
    refused(http.post(path, json={"role": "robot", "content": "x"}), 400,
            "Invalid value: 'robot'. Supported values are: 'user' and 'assistant'.", "role",
            "invalid_value")
    assert http.get(path).json()["data"] == []


def test_invalid_runs_are_refused(http):
    thread = http.post("/v1/threads").json()["id"]
    unknown = "asst_000000000000000000000000"
    refused(http.post(f"/v1/threads/{thread}/runs", json={"assistant_id": unknown}), 404,
            f"No assistant found with id '{unknown}'.")
    refused(http.post(f"/v1/threads/{thread}/runs", json={}), 400,
            "Missing required parameter: 'assistant_id'.", "assistant_id",
            "missing_required_parameter")
    refused(http.get(f"/v1/threads/{thread}/runs/{UNKNOWN_RUN}"), 404,
            f"No run found with id '{UNKNOWN_RUN}'.")
    refused(http.post(f"/v1/threads/{thread}/runs/{UNKNOWN_RUN}/cancel"), 404,
            f"No run found with id '{UNKNOWN_RUN}'.")


@pytest.mark.parametrize("choice, message", [
    ({"type": "function", "function": {"name": "g"}}, "Tool choice 'g' not found in 'tools' parameter."),
    ({"type": "file_search"}, "Tool choice 'file_search' not found in 'tools' parameter."),
    ("required", "Tool choice 'required' must be specified with 'tools' parameter."),
])
def test_a_run_cannot_choose_what_it_is_not_offered(http, choice, message):
    assistant = http.post("/v1/assistants", json={"model": "demo"}).json()["id"]
    thread = http.post("/v1/threads").json()["id"]
    body = {"assistant_id": assistant, "tool_choice": choice}
    tools = [] if choice == "required" else [{"type": "function", "function": {"name": "f"}}]
    for path in (f"/v1/threads/{thread}/runs", "/v1/threads/runs"):
        refused(http.post(path, json={**body, "tools": tools}), 400, message, "tool_choice")
    assert http.get(f"/v1/threads/{thread}/runs").json()["data"] == []


def test_unknown_threads_are_not_found(http):
    unknown = "thread_000000000000000000000000"
    for method, path in [("GET", ""), ("DELETE", ""), ("GET", "/messages"), ("GET", "/runs")]:
        refused(http.request(method, f"/v1/threads/{unknown}{path}"), 404,
                f"No thread found with id '{unknown}'.")
    refused(http.post(f"/v1/threads/{unknown}/messages", json={"role": "user", "content": "x"}),
            404, f"No thread found with id '{unknown}'.")


def test_ids_must_look_like_ids(http):
    refused(http.get("/v1/threads/abc"), 400,
            "Invalid 'thread_id': 'abc'. Expected an ID that begins with 'thread'.", "thread_id",
            "invalid_value")


# ---- refused before the request is read ----

def test_a_body_must_be_json(http):
    answer = http.post("/v1/responses", content="{not json",
                       headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["message"].startswith("We could not parse the JSON body of your request.")
    assert (error["type"], error["param"]) == ("invalid_request_error", None)


@pytest.mark.parametrize("body", [b"[" * 100 + b"]" * 100, b'"text"', b"[]", b"null",
                                  b'{"model": "\xff"}', b'{"model": "a\\u0000b", "input": "x"}'],
                         ids=["deep", "string", "array", "null", "not utf-8", "nul"])
def test_odd_json_is_refused(http, body):
    answer = http.post("/v1/responses", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 413)  # 413 for what is beyond a limit
    assert answer.json()["error"]["type"] == "invalid_request_error"


def operations(recorder, method):
    """(path, operation) of those of a method, with ids that could be."""
    for path, item in recorder.contract.document["paths"].items():
        if method in item:
            yield re.sub(r"\{\w+\}", "a", path), item[method]


NUL = "Invalid '{0}': a string may not have the character U+0000."
NULS = {'{"a\\u0000b": 1}': (None, "Invalid body: a key may not have the character U+0000."),
        '{"metadata": {"k": "a\\u0000b"}}': ("metadata.k", NUL),
        '{"input": [{"role": "user", "content": "\\u0000"}]}': ("input[0].content", NUL)}


def test_no_operation_accepts_a_text_with_nul(http, recorder):
    for path, operation in operations(recorder, "post"):
        if "application/json" not in operation.get("requestBody", {}).get("content", {}):
            continue
        for body, (param, message) in NULS.items():
            answer = http.post(path, content=body, headers={"Content-Type": "application/json"})
            refused(answer, 400, message.format(param), param, "invalid_value")


def test_no_url_with_nul_is_accepted(http, recorder):
    for method in ("get", "post", "delete"):
        for path, _ in operations(recorder, method):
            for url in (path.replace("/a", "/a%00b"), f"{path}?limit=1%00", f"{path}?li%00mit=1"):
                if "%00" in url:
                    refused(http.request(method, url), 400, "Invalid URL: it holds a control character.")


def test_unknown_paths_are_not_found(http):
    refused(http.post("/v1/foo", json={}), 404, "Invalid URL (POST /v1/foo)")
    refused(http.get("/v1/threads/a/b/c"), 404, "Invalid URL (GET /v1/threads/a/b/c)")


@pytest.mark.parametrize("body", ['{"model": "demo", "input": "a", "input": "b"}',
                                  '{"model": "demo", "input": "a", "metadata": {"k": "1", "k": "2"}}'])
def test_duplicate_keys_are_refused(http, upstream, body):
    answer = http.post("/v1/responses", content=body, headers={"Content-Type": "application/json"})
    refused(answer, 400, answer.json()["error"]["message"])
    assert answer.json()["error"]["message"].startswith(
        "We could not parse the JSON body of your request.")
    assert upstream.requests() == []


def test_other_methods_are_refused(http):
    answer = http.put("/v1/assistants", json={})
    assert answer.status_code == 405
    assert answer.json()["error"]["type"] == "invalid_request_error"


def test_an_api_key_is_needed(http):
    wrong = "sk-" + "wrong" * 8
    answer = http.get("/v1/models", headers={"Authorization": f"Bearer {wrong}"})
    assert answer.status_code == 401
    error = answer.json()["error"]
    assert error["code"] == "invalid_api_key"
    assert error["message"].startswith("Incorrect API key provided: sk-")
    assert wrong[8:-4] not in error["message"]

    del http.headers["Authorization"]
    answer = http.get("/v1/models")
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] is None
    assert answer.json()["error"]["message"].startswith("You didn't provide an API key.")
    assert http.get("/v1/nothing").status_code in (401, 404)


def test_large_bodies_are_refused(http):
    answer = http.post("/v1/responses", json=response_body(input="x" * (11 << 20)))
    assert answer.status_code == 413
    assert answer.json()["error"]["type"] == "invalid_request_error"


def test_extra_parameters_are_ignored(http):
    answer = http.post("/v1/responses", json=response_body(top_k=5, stop=["x"]))
    assert answer.status_code == 200


@pytest.mark.slow
def test_extra_parameters_are_refused_where_that_is_set(start_server):
    http = start_server(unknown_parameters="reject").http()
    refused(http.post("/v1/responses", json=response_body(foo=1)), 400,
            "Unknown parameter: 'foo'.", "foo", "unknown_parameter")
    refused(http.post("/v1/responses", json=response_body(stor=True)), 400,
            "Unknown parameter: 'stor'. Did you mean 'store'?", "stor", "unknown_parameter")


def test_refused_requests_store_nothing(http):
    before = http.get("/v1/assistants", params={"limit": 100}).json()["data"]
    http.post("/v1/assistants", json={"model": "demo", "temperature": 9})
    http.post("/v1/assistants", content=json.dumps({"model": "demo"})[:-1],
              headers={"Content-Type": "application/json"})
    assert http.get("/v1/assistants", params={"limit": 100}).json()["data"] == before
