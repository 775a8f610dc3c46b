"""Tools that a server without a sandbox cannot execute. Applications list them in every request, so by default the request goes on
without them and says so; a tool_choice that needs one is refused. The setting unavailable_tools refuses all of them."""

import json

import pytest

from harness.recorder import parse_events
from harness.server import Server
from harness.tools import call

FUNCTION = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}
OF_ASSISTANT = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
HOSTED = ["web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11",
          "code_interpreter", "image_generation", "programmatic_tool_calling"]
CONTAINER = {"type": "shell", "environment": {"type": "container_auto"}}
CHOICES = ["code_interpreter", "web_search", "image_generation"]


def entry_of(name):
    return {"type": name, "container": {"type": "auto"}} if name == "code_interpreter" else {"type": name}


def respond(http, **body):
    return http.post("/v1/responses", json={"model": "demo", "input": "Hi", **body})


def refused(answer, name, index=0):
    """The error of section "When the server cannot execute": the tool, where it stands, and why."""
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert (error["type"], error["code"], error["param"]) == (
        "invalid_request_error", "unsupported_value", f"tools[{index}]"), error
    start = f"Unsupported value: the tool '{name}' is not available on this server: "
    assert error["message"].startswith(start) and error["message"].endswith("."), error
    assert len(error["message"]) > len(start) + 5
    return error["message"]


def left_out(answer):
    """What runnel.unavailable_tools lists: the types. Every entry has a reason, too."""
    listed = answer["runnel"]["unavailable_tools"]
    assert all(set(entry) == {"type", "reason"} and entry["reason"] for entry in listed), listed
    return [entry["type"] for entry in listed]


def offered(upstream):
    return [tool["function"]["name"] for chat in upstream.chats() for tool in chat.get("tools", [])]


@pytest.fixture(scope="module")
def without_sandbox(binary, scratch, upstream_process, recorder, database):
    directory = scratch / "without-sandbox"
    directory.mkdir(mode=0o755)
    server = Server(binary, directory, upstream_process.url, recorder, sandbox="off",
                    database_url=database.new()).start()
    yield server
    assert server.stop() == 0


@pytest.fixture
def server(without_sandbox, upstream):
    return without_sandbox


@pytest.fixture
def strict(start_server):
    return start_server(unavailable_tools="reject", sandbox="off")


# ---- Responses ----

@pytest.mark.parametrize("name", HOSTED)
def test_a_response_goes_on_without_the_tool_and_shows_it(http, upstream, name):
    tools = [entry_of(name)]
    answer = respond(http, tools=tools)
    assert answer.status_code == 200, answer.text
    response = answer.json()
    assert response["status"] == "completed" and response["output"][0]["content"][0]["text"]
    assert [{**entry, **tools[0]} for entry in response["tools"]] == response["tools"]  # with its defaults
    assert left_out(response) == [name]
    assert "tools" not in upstream.chats()[0] and "tool_choice" not in upstream.chats()[0]
    kept = http.get(f"/v1/responses/{response['id']}").json()
    assert kept["tools"] == response["tools"] and left_out(kept) == [name]


def test_every_tool_that_can_be_offered_still_is(http, upstream):
    upstream.answer(tool_calls=[call("look")])
    response = respond(http, tools=[{"type": "web_search"}, FUNCTION, CONTAINER, {"type": "shell"}]).json()
    assert offered(upstream) == ["look", "shell"]
    assert left_out(response) == ["web_search", "shell"]
    assert response["output"][0]["type"] == "function_call"


def test_a_response_that_lacks_nothing_says_nothing(http):
    assert "runnel" not in respond(http, tools=[FUNCTION, {"type": "shell"}]).json()


def test_every_object_of_a_stream_lists_the_tool(http):
    answer = respond(http, tools=[{"type": "web_search"}], stream=True)
    objects = {name: json.loads(data)["response"] for name, data in parse_events(answer.text) if '"response":' in data}
    assert list(objects) == ["response.created", "response.in_progress", "response.completed"]
    assert all(left_out(response) == ["web_search"] for response in objects.values())


def test_a_background_response_lists_the_tool(http):
    made = respond(http, tools=[{"type": "web_search"}], background=True).json()
    assert left_out(made) == ["web_search"]
    while made["status"] in ("queued", "in_progress"):
        made = http.get(f"/v1/responses/{made['id']}").json()
    assert made["status"] == "completed" and left_out(made) == ["web_search"]


def test_statistics_of_calls_stand_beside_the_list(http, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}},
                    {"answer": {"tool_calls": [call("test_slow", ms=1, text="ours")]}})
    test = {"type": "mcp", "server_label": "test", "server_url": "builtin:test", "require_approval": "never"}
    response = respond(http, tools=[{"type": "web_search"}, test]).json()
    assert left_out(response) == ["web_search"] and response["runnel"]["stats"]["calls"] == 1


def test_a_client_cannot_write_the_list(http):
    listed = [{"type": "web_search", "reason": "I say so"}]
    assert "runnel" not in respond(http, unavailable_tools=listed).json()
    answer = respond(http, runnel={"unavailable_tools": listed})
    assert answer.json()["error"]["code"] == "unknown_parameter"


def test_tokens_of_an_input_are_counted_without_the_tool(http):
    counts = [http.post("/v1/responses/input_tokens",
                        json={"model": "demo", "input": "Hi", **more}).json()["input_tokens"]
              for more in ({}, {"tools": [{"type": "web_search"}]})]
    assert counts[0] == counts[1]


def test_a_template_with_such_a_tool_can_be_used(http):
    made = http.post("/v1/runnel/prompts", json={"instructions": "Be kind.", "tools": [{"type": "web_search"}]})
    assert made.status_code == 200, made.text
    assert left_out(respond(http, prompt={"id": made.json()["id"]}).json()) == ["web_search"]


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_of_the_tool_is_refused(http, upstream, name):
    refused(respond(http, tools=[FUNCTION, entry_of(name)], tool_choice={"type": name}), name, 1)
    assert upstream.chats() == []


def test_a_choice_of_any_tool_is_refused_if_none_is_available(http, upstream):
    tools = [{"type": "web_search"}, {"type": "code_interpreter", "container": {"type": "auto"}}]
    refused(respond(http, tools=tools, tool_choice="required"), "web_search")
    allowed = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "code_interpreter"}]}
    refused(respond(http, tools=tools, tool_choice=allowed), "code_interpreter", 1)
    assert upstream.chats() == []


def test_a_choice_among_tools_takes_those_that_are_available(http, upstream):
    tools = [{"type": "web_search"}, FUNCTION]
    allowed = {"type": "allowed_tools", "mode": "required",
               "tools": [{"type": "web_search"}, {"type": "function", "name": "look"}]}
    look = {"type": "function", "function": {"name": "look"}}  # it is the only one that is left
    for choice, sent in (("required", "required"), (allowed, look)):
        upstream.forget()
        assert respond(http, tools=tools, tool_choice=choice).status_code == 200
        assert offered(upstream) == ["look"] and upstream.chats()[0]["tool_choice"] == sent


def test_a_container_that_a_choice_asks_for_is_refused(http):
    refused(respond(http, tools=[CONTAINER], tool_choice={"type": "shell"}), "shell")


def test_a_choice_of_a_tool_that_is_not_listed_is_not_found(http):
    answer = respond(http, tools=[{"type": "web_search"}], tool_choice={"type": "code_interpreter"})
    assert answer.json()["error"]["message"] == "Tool choice 'code_interpreter' not found in 'tools' parameter."


def test_no_choice_at_all_needs_no_tool(http):
    assert respond(http, tools=[{"type": "web_search"}], tool_choice="none").status_code == 200


# ---- Assistants ----

@pytest.fixture
def assistant(client):
    """As OpenAI's quickstart makes it."""
    return client.beta.assistants.create(
        model="demo", name="Quickstart Assistant", instructions="You are a helpful assistant.",
        tools=[{"type": "code_interpreter"}, OF_ASSISTANT, {"type": "file_search"}])


def test_a_run_goes_on_without_the_tools(client, http, upstream, assistant):
    assert [tool.type for tool in assistant.tools] == ["code_interpreter", "function", "file_search"]
    run = client.beta.threads.create_and_run_poll(assistant_id=assistant.id, poll_interval_ms=20,
                                                  thread={"messages": [{"role": "user", "content": "Hi"}]})
    assert run.status == "completed" and offered(upstream) == ["look", "file_search"]
    shown = http.get(f"/v1/threads/{run.thread_id}/runs/{run.id}").json()
    assert [tool["type"] for tool in shown["tools"]] == ["code_interpreter", "function", "file_search"]
    assert left_out(shown) == ["code_interpreter"]
    message = client.beta.threads.messages.list(run.thread_id).data[0]
    assert message.content[0].text.value


def test_every_run_of_a_stream_lists_the_tools(client, http, assistant):
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "Hi"}])
    answer = http.post(f"/v1/threads/{thread.id}/runs", json={"assistant_id": assistant.id, "stream": True})
    runs = [json.loads(data) for name, data in parse_events(answer.text)
            if name.startswith("thread.run.") and "step" not in name]
    assert runs and all(left_out(run) == ["code_interpreter"] for run in runs)


def test_a_run_whose_choice_asks_for_the_tool_is_refused(client, http, upstream, assistant):
    thread = client.beta.threads.create()
    answer = http.post(f"/v1/threads/{thread.id}/runs",
                       json={"assistant_id": assistant.id, "tool_choice": {"type": "code_interpreter"}})
    refused(answer, "code_interpreter")
    assert upstream.chats() == []


# ---- The setting ----

def test_a_response_with_the_tool_is_refused_when_the_setting_says_so(strict, upstream):
    http = strict.http()
    for name in HOSTED:
        refused(respond(http, tools=[FUNCTION, entry_of(name)]), name, 1)
    refused(respond(http, tools=[CONTAINER]), "shell")
    refused(respond(http, tools=[{"type": "web_search"}], tool_choice={"type": "web_search"}), "web_search")
    refused(http.post("/v1/responses/input_tokens",
                      json={"model": "demo", "input": "Hi", "tools": [{"type": "web_search"}]}), "web_search")
    refused(http.post("/v1/runnel/prompts", json={"instructions": "Be kind.", "tools": [{"type": "web_search"}]}),
            "web_search")
    assert upstream.chats() == []


def test_a_run_with_the_tool_fails_when_the_setting_says_so(strict, upstream):
    client, http = strict.sdk(), strict.http()
    assistant = client.beta.assistants.create(model="demo", tools=[{"type": "code_interpreter"}])
    sentence = refused(respond(http, tools=[entry_of("code_interpreter")]), "code_interpreter")
    run = client.beta.threads.create_and_run_poll(assistant_id=assistant.id, poll_interval_ms=20)
    assert run.status == "failed"
    assert (run.last_error.code, run.last_error.message) == ("invalid_prompt", sentence)
    shown = http.get(f"/v1/threads/{run.thread_id}/runs/{run.id}").json()
    assert "runnel" not in shown
    answer = http.post(f"/v1/threads/{run.thread_id}/runs", json={
        "assistant_id": assistant.id, "tool_choice": {"type": "code_interpreter"}})
    refused(answer, "code_interpreter")
    assert upstream.chats() == []


def test_the_log_warns_once_a_minute(start_server):
    server = start_server()
    http = server.http()
    for name in ("web_search", "image_generation"):
        assert respond(http, tools=[{"type": name}]).status_code == 200
    lines = [line for line in server.process.errors().splitlines() if "unavailable_tools" in line]
    assert len(lines) == 1 and "web_search" in lines[0] and "warn" in lines[0].lower(), lines


# ---- Groups whose tools need a sandbox ----

def test_the_tools_of_a_group_are_neither_offered_nor_executed(http, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}},
                    {"answer": {"tool_calls": [call("bash", command="ls")]}})
    group = {"type": "mcp", "server_label": "code", "server_url": "builtin:code", "require_approval": "never"}
    response = respond(http, tools=[group])
    assert response.status_code == 200, response.text
    assert not {"read", "write", "edit", "glob", "grep", "bash"} & set(offered(upstream))
    read = [m["content"] for m in upstream.chats()[-1]["messages"] if m["role"] == "tool"]
    assert len(read) == 1 and "not found" in read[0].lower()
