"""Every type of item that a client may send is kept and shown again, in a response's input and in
a conversation; what is not as its type wants it is refused by name."""

import functools
import json
import re

import pytest

from harness.tools import WEATHER_FLAT

PICTURE = "data:image/png;base64,aGVsbG8="
EXIT = {"type": "exit", "exit_code": 0}
CHECK = {"id": "cs_1", "code": "risky", "message": "Sure?"}


def pair(call, output, call_id="call_1"):
    return [{**call, "call_id": call_id}, {**output, "call_id": call_id}]


# name: the items as they are sent. What comes back has every field of these, and an id.
ITEMS = {
    "messages": [
        {"type": "message", "role": role,
         "content": [{"type": "output_text" if role == "assistant" else "input_text",
                      "text": role}]}
        for role in ("user", "system", "developer", "assistant")],
    "phase": [{"type": "message", "role": "assistant", "phase": "commentary", "status": "completed",
               "content": [{"type": "output_text", "text": "hm", "annotations": [],
                            "logprobs": []}]}],
    "parts": [{"type": "message", "role": "user", "content": [
        {"type": "input_image", "image_url": PICTURE, "detail": "low"},
        {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "original"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "aGVsbG8="}]}],
    "function": pair({"type": "function_call", "name": "f", "arguments": "{}", "namespace": "n"},
                     {"type": "function_call_output", "output": "x"}),
    "function with parts": pair(
        {"type": "function_call", "name": "f", "arguments": "{}", "status": "incomplete"},
        {"type": "function_call_output", "output": [
            {"type": "input_text", "text": "x"},
            {"type": "input_image", "image_url": PICTURE, "detail": "auto"}]}),
    "custom": pair({"type": "custom_tool_call", "name": "f", "input": "x"},
                   {"type": "custom_tool_call_output", "output": "x"}),
    "local shell": pair(
        {"type": "local_shell_call", "action": {"type": "exec", "command": ["ls"], "env": {}}},
        {"type": "local_shell_call_output", "output": "x"}),
    "shell": pair(
        {"type": "shell_call", "environment": {"type": "local"},
         "action": {"commands": ["ls"], "timeout_ms": 5, "max_output_length": None}},
        {"type": "shell_call_output", "max_output_length": None,
         "output": [{"stdout": "a", "stderr": "b", "outcome": EXIT},
                    {"stdout": "", "stderr": "", "outcome": {"type": "timeout"}}]}),
    "patch": pair({"type": "apply_patch_call", "status": "completed",
                   "operation": {"type": "create_file", "path": "a", "diff": "+x"}},
                  {"type": "apply_patch_call_output", "status": "failed", "output": "no"}),
    "computer": pair({"type": "computer_call", "pending_safety_checks": [CHECK],
                      "actions": [{"type": "wait"}, {"type": "keypress", "keys": ["A"]}]},
                     {"type": "computer_call_output", "acknowledged_safety_checks": [CHECK],
                      "output": {"type": "computer_screenshot", "image_url": PICTURE}}),
    "computer, one action": pair(
        {"type": "computer_call", "pending_safety_checks": [], "action": {"type": "screenshot"}},
        {"type": "computer_call_output",
         "output": {"type": "computer_screenshot", "image_url": PICTURE}}),
    "search": pair({"type": "tool_search_call", "execution": "client", "arguments": {"q": "x"}},
                   {"type": "tool_search_output", "execution": "client", "tools": [WEATHER_FLAT]}),
    "search of a server": [
        {"type": "tool_search_call", "execution": "server", "call_id": None, "arguments": {}},
        {"type": "tool_search_output", "execution": "server", "call_id": None,
         "tools": [{"type": "web_search"}]}],
    "tools": [{"type": "additional_tools", "role": "developer", "tools": [WEATHER_FLAT]}],
    "configuration": [
        {"type": "configuration_update", "reasoning": {"effort": "low"}},
        {"type": "configuration_update", "reasoning": {"effort": None}, "text": {"format": {"type": "text"}}}],
    "reasoning": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}],
                   "content": [{"type": "reasoning_text", "text": "well"}],
                   "encrypted_content": "gAAA"}],
    "file search": [{"type": "file_search_call", "queries": ["q"], "status": "completed",
                     "results": [{"file_id": "file-1", "text": "t", "filename": "a", "score": 0.5,
                                  "attributes": {"a": "b"}}]}],
    "web search": [{"type": "web_search_call", "status": "failed",
                    "action": {"type": "open_page", "url": "https://example.org"}}],
    "image": [{"type": "image_generation_call", "status": "completed", "result": "aGVsbG8="}],
    "code": [{"type": "code_interpreter_call", "container_id": "cntr_1", "code": "1",
              "status": "completed",
              "outputs": [{"type": "logs", "logs": "1"},
                          {"type": "image", "url": "https://example.org/a.png"}]}],
    "mcp list": [{"type": "mcp_list_tools", "server_label": "l",
                  "tools": [{"name": "t", "description": None, "annotations": None,
                             "input_schema": {"type": "object"}}]}],
    "mcp call": [{"type": "mcp_call", "server_label": "l", "name": "t", "arguments": "{}",
                  "output": "x", "error": None, "approval_request_id": None}],
    "approval": [{"type": "mcp_approval_request", "server_label": "l", "name": "t",
                  "arguments": "{}"},
                 {"type": "mcp_approval_response", "approval_request_id": "mcpr_1",
                  "approve": False, "reason": "no"},
                 {"type": "mcp_call", "server_label": "l", "name": "t", "arguments": "{}",
                  "output": None, "error": None, "approval_request_id": "mcpr_1"}],
    "program": [{"type": "program", "call_id": "call_1", "code": "1", "fingerprint": "f"},
                {"type": "program_output", "call_id": "call_1", "result": "1",
                 "status": "completed"}],
}


def assert_shown(shown, sent):
    assert len(shown) == len(sent)
    for got, wanted in zip(shown, sent):
        missing = {key: value for key, value in wanted.items() if got.get(key) != value}
        if missing.get("content"):  # parts are shown with more than was sent
            missing.pop("content")
            for part, given in zip(got["content"], wanted["content"]):
                assert given.items() <= part.items()
        assert not missing, got
        assert got["id"]


def without_new_ids(chat):
    """Calls of servers have no call_id; they go by the ids of their items, which are new."""
    return re.sub(r"(mcp|fs|ci|ig)_\w+", "id", json.dumps(chat["messages"]))


@pytest.mark.parametrize("name", ITEMS)
def test_items_are_kept_and_shown_again(http, client, upstream, name):
    sent = ITEMS[name]
    made = http.post("/v1/responses", json={"model": "demo", "input": [
        *sent, {"role": "user", "content": "go"}]})
    assert made.status_code == 200, made.text
    kept = http.get(f"/v1/responses/{made.json()['id']}/input_items?order=asc").json()["data"]
    assert_shown(kept[:-1], sent)
    assert len(client.responses.input_items.list(made.json()["id"]).data) == len(sent) + 1
    # What was shown may be sent again, ids and all.
    again = http.post("/v1/responses", json={"model": "demo", "input": kept, "store": False})
    assert again.status_code == 200, again.text
    first, second = upstream.chats()
    assert without_new_ids(first) == without_new_ids(second)


@pytest.mark.parametrize("name", ITEMS)
def test_items_can_be_added_to_conversations(http, client, name):
    sent = ITEMS[name]
    conversation = client.conversations.create(items=sent)
    path = f"/v1/conversations/{conversation.id}/items"
    assert_shown(http.get(f"{path}?order=asc").json()["data"], sent)
    added = http.post(path, json={"items": sent})
    assert added.status_code == 200, added.text
    assert_shown(added.json()["data"], sent)


def test_null_counts_as_absent_in_optional_fields(client):
    """As openai-python dumps its own objects."""
    made = client.responses.create(model="demo", input=[
        {"type": "function_call", "id": None, "call_id": "call_1", "name": "f", "arguments": "{}",
         "namespace": None, "caller": None, "status": None},
        {"type": "function_call_output", "id": None, "call_id": "call_1", "output": "x",
         "status": None}])
    output, call = client.responses.input_items.list(made.id).data
    assert call.namespace is None and call.status == output.status == "completed"


# what is sent, param, message
WRONG = {
    "no type": ({"text": "x"}, "input[0].type", "Missing required parameter: 'input[0].type'."),
    "unknown type": ({"type": "bogus"}, "input[0].type", "Invalid value: 'bogus'."),
    "no object": ("x", "input[0]", "Invalid type for 'input[0]': expected an object, but got a "
                  "string instead."),
    "no content": ({"role": "user"}, "input[0].content",
                   "Missing required parameter: 'input[0].content'."),
    "role": ({"role": "robot", "content": "x"}, "input[0].role",
             "Invalid value: 'robot'. Supported values are: 'user', 'assistant', 'system', and "
             "'developer'."),
    "detail": ({"role": "user", "content": [
        {"type": "input_image", "image_url": PICTURE, "detail": "best"}]},
        "input[0].content[0].detail", "Invalid value: 'best'. Supported values are: 'low', "
        "'high', 'auto', and 'original'."),
    "image": ({"role": "user", "content": [{"type": "input_image", "image_url": "aGVsbG8="}]},
              "input[0].content[0].image_url", "Invalid 'input[0].content[0].image_url'."),
    "empty file": ({"role": "user", "content": [{"type": "input_file"}]},
                   "input[0].content[0].file_id",
                   "Missing required parameter: 'input[0].content[0].file_id'."),
    "call id": ({"type": "function_call", "name": "f", "arguments": "{}"}, "input[0].call_id",
                "Missing required parameter: 'input[0].call_id'."),
    "long call id": ({"type": "function_call_output", "call_id": "c" * 65, "output": "x"},
                     "input[0].call_id",
                     "Invalid 'input[0].call_id': string too long. Expected a string with maximum "
                     "length 64, but got a string with length 65 instead."),
    "nothing to change": ({"type": "configuration_update"}, "input[0].reasoning",
                          "Missing required parameter: 'input[0].reasoning'."),
    "effort": ({"type": "configuration_update", "reasoning": {"effort": "most"}}, "input[0].reasoning.effort",
               "Invalid value: 'most'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', "
               "'xhigh', and 'max'."),
    "no format": ({"type": "configuration_update", "text": {}}, "input[0].text.format",
                  "Missing required parameter: 'input[0].text.format'."),
    "schema": ({"type": "configuration_update", "text": {"format": {"type": "json_schema", "name": "a"}}},
               "input[0].text.format.schema",
               "Missing required parameter: 'input[0].text.format.schema'."),
    "output": ({"type": "function_call_output", "call_id": "c", "output": 5}, "input[0].output",
               "Invalid type for 'input[0].output': expected one of a string or an array of "
               "objects, but got an integer instead."),
    "commands": ({"type": "shell_call", "call_id": "c", "action": {"commands": [5]}},
                 "input[0].action.commands[0]", "Invalid type for 'input[0].action.commands[0]': "
                 "expected a string, but got an integer instead."),
    "outcome": ({"type": "shell_call_output", "call_id": "c",
                 "output": [{"stdout": "", "stderr": "", "outcome": {"type": "exit"}}]},
                "input[0].output[0].outcome.exit_code",
                "Missing required parameter: 'input[0].output[0].outcome.exit_code'."),
    "operation": ({"type": "apply_patch_call", "call_id": "c", "status": "completed",
                   "operation": {"type": "move_file", "path": "a"}}, "input[0].operation.type",
                  "Invalid value: 'move_file'. Supported values are: 'create_file', "
                  "'delete_file', and 'update_file'."),
    "diff": ({"type": "apply_patch_call", "call_id": "c", "status": "completed",
              "operation": {"type": "update_file", "path": "a"}}, "input[0].operation.diff",
             "Missing required parameter: 'input[0].operation.diff'."),
    "patched": ({"type": "apply_patch_call_output", "call_id": "c"}, "input[0].status",
                "Missing required parameter: 'input[0].status'."),
    "screenshot": ({"type": "computer_call_output", "call_id": "c",
                    "output": {"type": "computer_screenshot"}}, "input[0].output.image_url",
                   "Missing required parameter: 'input[0].output.image_url'."),
    "no action": ({"type": "computer_call", "call_id": "c", "pending_safety_checks": []},
                  "input[0].action", "Missing required parameter: 'input[0].action'."),
    "tools": ({"type": "tool_search_output", "call_id": "c", "tools": [{"type": "function"}]},
              "input[0].tools[0].name", "Missing required parameter: 'input[0].tools[0].name'."),
}


@pytest.mark.parametrize("name", WRONG)
def test_items_with_wrong_fields_are_refused(http, client, upstream, name):
    item, param, message = WRONG[name]
    answer = http.post("/v1/responses", json={"model": "demo", "input": [item]})
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error["param"] == param and error["message"].startswith(message), error
    assert upstream.requests() == []
    answer = http.post("/v1/conversations", json={"items": [item]})
    assert answer.json()["error"]["param"] == param.replace("input[", "items[")


def test_pictures_and_files_reach_the_model(client, upstream):
    client.responses.create(model="demo", input=[{"role": "user", "content": [
        {"type": "input_text", "text": "look"},
        *ITEMS["parts"][0]["content"]]}])
    (chat,) = upstream.chats()
    assert chat["messages"][0]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": PICTURE, "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "high"}},
        {"type": "text", "text": "[file a.pdf]\nhello"}]


# ---- Settings that items change ----

@pytest.fixture
def configured_context(start_server, upstream, tmp_path):
    """Clients of a server whose model reads only so many tokens."""
    def start(tokens):
        config = tmp_path / "runnel.yaml"
        config.write_text(json.dumps({"upstreams": [
            {"name": "main", "url": upstream.url, "context_tokens": tokens}]}))
        return start_server(upstream_url=None, config=config).sdk()
    return start


def update(**settings):
    return {"type": "configuration_update", **settings}


def user(text):
    return {"role": "user", "content": text}


def test_an_update_counts_until_the_next(client, upstream):
    """In the request that brings it and in those that continue it, which may say something else."""
    shape = {"type": "json_schema", "name": "a", "schema": {"type": "object"}, "strict": False}
    ask = functools.partial(client.responses.create, model="demo", reasoning={"effort": "high"})
    first = ask(input=[user("a"), update(reasoning={"effort": "low"}), user("b")])
    second = ask(input=[update(text={"format": shape}), user("c")], previous_response_id=first.id)
    third = ask(input=[update(reasoning={"effort": None}, text={"format": {"type": "text"}}), user("d")],
                previous_response_id=second.id)
    ask(input="e", previous_response_id=third.id)
    ask(input="f", previous_response_id=second.id)
    sent = [(chat.get("reasoning_effort"), chat.get("response_format", {}).get("type"))
            for chat in upstream.chats()]
    assert sent == [("low", None), ("low", "json_schema"), (None, None), (None, None), ("low", "json_schema")]
    said = [message["content"] for message in upstream.chats()[1]["messages"] if message["role"] == "user"]
    assert said == ["a", "b", "c"]


def test_an_update_of_a_conversation_counts(client, upstream):
    conversation = client.conversations.create(items=[update(reasoning={"effort": "minimal"})])
    assert [item.type for item in client.conversations.items.list(conversation.id)] == ["configuration_update"]
    client.responses.create(model="demo", input="a", conversation=conversation.id)
    assert upstream.chats()[0]["reasoning_effort"] == "minimal"


def test_an_update_outlives_what_is_left_out(configured_context, upstream):
    """The beginning of the context does not fit, and has the update."""
    client = configured_context(1200)
    client.responses.create(model="demo", truncation="auto", input=[
        update(reasoning={"effort": "low"}), user("a" * 6000), {"role": "assistant", "content": "b"},
        user("c")])
    chat = upstream.chats()[-1]
    assert chat["reasoning_effort"] == "low" and "aaa" not in json.dumps(chat["messages"])
