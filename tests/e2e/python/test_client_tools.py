"""Tools that only the client executes: what the model says of each comes out as its own kind of
item, with its own events, and the client's output goes back to the model."""

import json

import openai
import pytest

from harness.tools import WEATHER_FLAT

SHELL = {"type": "shell", "environment": {"type": "local"}}
PATCH = {"type": "apply_patch"}
COMPUTER = {"type": "computer"}
PREVIEW = {"type": "computer_use_preview", "environment": "browser", "display_width": 1024,
           "display_height": 768}
SEARCH = {"type": "tool_search", "execution": "client", "description": "Finds tools.",
          "parameters": {"type": "object", "properties": {"goal": {"type": "string"}}}}
LATE = {"type": "function", "name": "send_mail", "description": "Sends.", "defer_loading": True,
        "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
        "strict": True}
CRM = {"type": "namespace", "name": "crm", "description": "Customers.",
       "tools": [{**WEATHER_FLAT, "name": "find"}, {"type": "custom", "name": "note"}]}
LARK = {"type": "custom", "name": "sum", "description": "Adds.",
        "format": {"type": "grammar", "syntax": "lark", "definition": "start: /[0-9+]+/"}}
BASIC = {"type": "mcp", "server_label": "basic", "server_url": "builtin:basic",
         "require_approval": "never"}
PICTURE = "data:image/png;base64,aGVsbG8="

STARTED = ["response.created", "response.in_progress"]
PLAIN = ["response.output_item.added", "response.output_item.done"]


def asks(upstream, *calls, text="Done."):
    """The model makes these calls, and says `text` once they are answered."""
    upstream.script({"match": {"tool_results": True}, "answer": {"text": text}},
                    {"answer": {"tool_calls": [
                        {"name": name, "id": f"call_{n + 1}", "arguments": arguments}
                        for n, (name, arguments) in enumerate(calls)]}})


def types(events):
    return [event["type"] for event in events]


def offered(chat):
    return {tool["function"]["name"]: tool["function"] for tool in chat["tools"]}


def sent(upstream):
    """(arguments of each call, what its tool answered) of the last question."""
    messages = upstream.chats()[-1]["messages"]
    calls = [c["function"] for m in messages for c in m.get("tool_calls") or []]
    return calls, [m["content"] for m in messages if m["role"] == "tool"]


# ---- One kind after the other ----

@pytest.mark.threads
def test_a_shell_call_runs_on_the_client(stream, client, upstream):
    asks(upstream, ("shell", {"commands": ["ls", "pwd"], "timeout_ms": 1000}))
    events = stream([SHELL])
    command = ["response.shell_call_command.added", "response.shell_call_command.delta",
               "response.shell_call_command.done"]
    assert types(events) == [*STARTED, "response.output_item.added", *command, *command,
                             "response.output_item.done", "response.completed"]
    assert events[2]["item"]["action"]["commands"] == []
    assert [e["command"] for e in events if e["type"] == command[2]] == ["ls", "pwd"]
    first = client.responses.retrieve(events[0]["response"]["id"])
    (asked,) = first.output
    assert asked.type == "shell_call" and asked.id.startswith("sh_")
    assert asked.action.commands == ["ls", "pwd"] and asked.action.timeout_ms == 1000
    assert asked.environment.type == "local" and asked.status == "completed"
    second = client.responses.create(
        model="demo", previous_response_id=first.id, tools=[SHELL],
        input=[{"type": "shell_call_output", "call_id": asked.call_id, "max_output_length": 100,
                "output": [{"stdout": "a.txt", "stderr": "",
                            "outcome": {"type": "exit", "exit_code": 0}}]}])
    assert second.output_text == "Done."
    calls, answers = sent(upstream)
    assert calls[0]["name"] == "shell"
    assert json.loads(calls[0]["arguments"]) == {"commands": ["ls", "pwd"], "timeout_ms": 1000}
    assert json.loads(answers[0])[0]["stdout"] == "a.txt"


@pytest.mark.parametrize("operation", [
    {"type": "create_file", "path": "a.py", "diff": "+print(1)"},
    {"type": "update_file", "path": "a.py", "diff": "@@\n-print(1)\n+print(2)"},
    {"type": "delete_file", "path": "a.py"},
], ids=lambda operation: operation["type"])
def test_a_patch_is_applied_by_the_client(stream, client, upstream, operation):
    asks(upstream, ("apply_patch", operation))
    events = stream([PATCH])
    assert types(events) == [*STARTED, *PLAIN, "response.completed"]
    (asked,) = events[-1]["response"]["output"]
    assert asked["type"] == "apply_patch_call" and asked["id"].startswith("apc_")
    assert asked["operation"] == operation and asked["status"] == "completed"
    second = client.responses.create(
        model="demo", previous_response_id=events[-1]["response"]["id"], tools=[PATCH],
        input=[{"type": "apply_patch_call_output", "call_id": asked["call_id"],
                "status": "failed", "output": "no such file"}])
    assert second.output_text == "Done."
    calls, answers = sent(upstream)
    assert json.loads(calls[0]["arguments"]) == operation
    assert json.loads(answers[0]) == {"status": "failed", "output": "no such file"}
    (kept,) = client.responses.input_items.list(second.id).data
    assert (kept.type, kept.status, kept.output) == ("apply_patch_call_output", "failed",
                                                     "no such file")


@pytest.mark.parametrize("tool, name, arguments", [
    (COMPUTER, "computer", {"actions": [{"type": "click", "x": 1, "y": 2, "button": "left"},
                                        {"type": "type", "text": "hi"}]}),
    (PREVIEW, "computer_use_preview", {"action": {"type": "scroll", "x": 1, "y": 2,
                                                  "scroll_x": 0, "scroll_y": 100}}),
], ids=["computer", "preview"])
def test_a_computer_call_runs_on_the_client(stream, client, upstream, tool, name, arguments):
    upstream.script({"match": {"user": "Output of the call call_1"}, "answer": {"text": "Done."}},
                    {"answer": {"tool_calls": [{"name": name, "id": "call_1",
                                                "arguments": arguments}]}})
    events = stream([tool])
    assert types(events) == [*STARTED, *PLAIN, "response.completed"]
    (asked,) = events[-1]["response"]["output"]
    assert asked["type"] == "computer_call" and asked["pending_safety_checks"] == []
    assert {key: asked[key] for key in arguments} == arguments
    if tool is PREVIEW:
        assert "1024 by 768" in offered(upstream.chats()[0])[name]["description"]
    second = client.responses.create(
        model="demo", previous_response_id=events[-1]["response"]["id"], tools=[tool],
        input=[{"type": "computer_call_output", "call_id": asked["call_id"],
                "output": {"type": "computer_screenshot", "image_url": PICTURE}}])
    assert second.output_text == "Done."
    calls, _ = sent(upstream)
    assert calls[0]["name"] == name and json.loads(calls[0]["arguments"]) == arguments
    shown = upstream.chats()[-1]["messages"][-1]
    assert shown["role"] == "user"
    assert shown["content"][-1] == {"type": "image_url", "image_url": {"url": PICTURE}}


@pytest.mark.parametrize("tool, name, arguments, why", [
    (SHELL, "shell", "{\"commands\": [\"rm -rf /tm", "not valid JSON"),
    (PATCH, "apply_patch", {"type": "update_file", "path": "a"}, "diff"),
    (COMPUTER, "computer", {"actions": [{"type": "click"}]}, "click"),
], ids=["shell", "patch", "computer"])
def test_an_incomplete_call_never_reaches_the_client(stream, upstream, tool, name, arguments, why):
    asks(upstream, (name, arguments))
    response = stream([tool])[-1]["response"]
    kinds = [item["type"] for item in response["output"]]
    assert kinds == ["mcp_call", "message"] and response["status"] == "completed"
    assert why in sent(upstream)[1][0]


def test_a_grammar_is_described_to_the_model(client, upstream):
    asks(upstream, ("sum", {"input": "1+1"}))
    made = client.responses.create(model="demo", input="go", tools=[LARK])
    (asked,) = made.output
    assert (asked.type, asked.name, asked.input) == ("custom_tool_call", "sum", "1+1")
    assert made.tools[0].format.definition == "start: /[0-9+]+/"
    description = offered(upstream.chats()[0])["sum"]["description"]
    assert description.startswith("Adds.") and "start: /[0-9+]+/" in description


def test_tools_of_a_namespace_have_two_names(stream, client, upstream):
    asks(upstream, ("crm__find", {"city": "Rome"}), ("crm__note", {"input": "hello"}),
         ("get_weather", {"city": "Oslo"}))
    events = stream([CRM, WEATHER_FLAT])
    found, note, weather = events[-1]["response"]["output"]
    assert (found["type"], found["namespace"], found["name"]) == ("function_call", "crm", "find")
    assert (note["type"], note["namespace"], note["name"]) == ("custom_tool_call", "crm", "note")
    assert weather["name"] == "get_weather" and "namespace" not in weather
    assert set(offered(upstream.chats()[0])) == {"crm__find", "crm__note", "get_weather"}
    outputs = [{"type": f"{item['type']}_output", "call_id": item["call_id"], "output": "ok"}
               for item in (found, note, weather)]
    second = client.responses.create(model="demo", tools=[CRM, WEATHER_FLAT], input=outputs,
                                     previous_response_id=events[-1]["response"]["id"])
    assert second.output_text == "Done."
    assert [c["name"] for c in sent(upstream)[0]] == ["crm__find", "crm__note", "get_weather"]


def test_tools_are_searched_by_the_client(client, upstream):
    upstream.script(
        {"match": {"tool": "send_mail", "tool_results": {"min": 2}}, "answer": {"text": "Sent."}},
        {"match": {"tool": "send_mail"},
         "answer": {"tool_calls": [{"name": "send_mail", "id": "call_2", "arguments": {}}]}},
        {"answer": {"tool_calls": [{"name": "tool_search", "id": "call_1",
                                    "arguments": {"goal": "mail"}}]}})
    tools = [SEARCH, LATE]
    first = client.responses.create(model="demo", input="go", tools=tools)
    (asked,) = first.output
    assert (asked.type, asked.execution, asked.arguments) == ("tool_search_call", "client",
                                                              {"goal": "mail"})
    shown = offered(upstream.chats()[0])
    assert set(shown) == {"tool_search"}
    assert shown["tool_search"]["parameters"] == SEARCH["parameters"]
    second = client.responses.create(
        model="demo", previous_response_id=first.id, tools=tools,
        input=[{"type": "tool_search_output", "call_id": asked.call_id, "execution": "client",
                "tools": [LATE]}])
    assert [item.name for item in second.output] == ["send_mail"]
    assert set(offered(upstream.chats()[-1])) == {"tool_search", "send_mail"}
    third = client.responses.create(
        model="demo", previous_response_id=second.id, tools=tools,
        input=[{"type": "function_call_output", "call_id": "call_2", "output": "ok"}])
    assert third.output_text == "Sent."


def test_a_deferred_tool_cannot_be_called_before_it_is_loaded(client, upstream):
    asks(upstream, ("send_mail", {}))
    made = client.responses.create(model="demo", input="go", tools=[SEARCH, LATE])
    assert [item.type for item in made.output] == ["mcp_call", "message"]
    assert made.output[0].error is not None


def test_tools_may_come_with_the_input(client, upstream):
    asks(upstream, ("send_mail", {}))
    made = client.responses.create(
        model="demo", input=[{"type": "additional_tools", "role": "developer", "tools": [LATE]},
                             {"role": "user", "content": "go"}])
    assert [(item.type, item.name) for item in made.output] == [("function_call", "send_mail")]
    kept = client.responses.input_items.list(made.id, order="asc").data
    assert kept[0].type == "additional_tools" and kept[0].tools[0].name == "send_mail"


def test_the_output_of_an_asynchronous_tool_may_come_later(client, upstream):
    slow = {**WEATHER_FLAT, "async": True}
    asks(upstream, (slow["name"], {"location": "Rome"}))
    first = client.responses.create(model="demo", input="go", tools=[slow])
    call = first.output[0]
    assert call.type == "function_call" and call.to_dict()["async"] is True
    upstream.answer(text="Meanwhile.")
    second = client.responses.create(model="demo", input="And then?", previous_response_id=first.id, tools=[slow])
    assert second.output_text == "Meanwhile."
    assert json.loads(upstream.chats()[-1]["messages"][2]["content"]) == {
        "status": "in_progress", "message": "The output of this call comes later."}
    upstream.answer(text="It is warm.")
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "25 degrees"}
    third = client.responses.create(model="demo", input=[output], previous_response_id=second.id, tools=[slow])
    assert third.output_text == "It is warm."
    messages = upstream.chats()[-1]["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "user", "assistant"]
    assert messages[2]["content"] == "25 degrees"
    # A call of any other tool must be answered at once.
    asks(upstream, (slow["name"], {"location": "Rome"}))
    plain = client.responses.create(model="demo", input="go", tools=[WEATHER_FLAT])
    assert "async" not in plain.output[0].to_dict()
    with pytest.raises(openai.BadRequestError, match="No tool output found"):
        client.responses.create(model="demo", input="And then?", previous_response_id=plain.id)


def send_mail(form):
    return ({"type": "function", "name": "send_mail"} if form == "responses" else
            {"type": "function", "function": {"name": "send_mail"}})


@pytest.fixture
def supplied(client):
    """A conversation whose second item brings a tool, and its thread."""
    made = client.conversations.create(items=[
        {"role": "user", "content": "hello"},
        {"type": "additional_tools", "role": "developer", "tools": [LATE]},
        {"role": "user", "content": "go"}])
    return made.id, made.id.replace("conv_", "thread_")


@pytest.mark.parametrize("choice", [
    send_mail("responses"), "required",
    {"type": "allowed_tools", "mode": "auto", "tools": [send_mail("responses")]}])
def test_a_tool_choice_may_name_a_tool_that_came_with_the_conversation(client, upstream, supplied, choice):
    asks(upstream, ("send_mail", {}))
    made = client.responses.create(model="demo", conversation=supplied[0], input="now", tool_choice=choice)
    assert [(item.type, item.name) for item in made.output] == [("function_call", "send_mail")]


@pytest.mark.parametrize("choice", [send_mail("assistants"), "required"])
def test_a_run_may_choose_a_tool_that_came_with_its_thread(client, upstream, supplied, choice):
    assistant = client.beta.assistants.create(model="demo")
    asks(upstream, ("send_mail", {}))
    run = client.beta.threads.runs.create_and_poll(thread_id=supplied[1], assistant_id=assistant.id,
                                                   tool_choice=choice)
    assert run.status == "requires_action"
    assert upstream.chats()[0]["tool_choice"] == choice
    assert [c.function.name for c in run.required_action.submit_tool_outputs.tool_calls] == ["send_mail"]


def test_a_run_may_not_choose_a_tool_that_its_truncation_leaves_out(client, supplied):
    assistant = client.beta.assistants.create(model="demo")
    for last, more in ((1, []), (2, [{"role": "user", "content": "now"}]),
                       (1, [{"role": "user", "content": "now"}])):
        with pytest.raises(openai.BadRequestError) as refused:
            client.beta.threads.runs.create(
                supplied[1], assistant_id=assistant.id, tool_choice=send_mail("assistants"),
                additional_messages=more,
                truncation_strategy={"type": "last_messages", "last_messages": last})
        assert refused.value.body["message"] == "Tool choice 'send_mail' not found in 'tools' parameter."
        assert refused.value.param == "tool_choice"
    run = client.beta.threads.runs.create(
        supplied[1], assistant_id=assistant.id, tool_choice=send_mail("assistants"),
        truncation_strategy={"type": "last_messages", "last_messages": 2})
    assert run.tool_choice.function.name == "send_mail"


def test_a_permission_may_name_a_tool_that_came_with_items(client, upstream, supplied):
    asks(upstream, ("send_mail", {}))
    made = client.responses.create(
        model="demo", conversation=supplied[0], input="now",
        extra_body={"runnel": {"permissions": {"function/send_mail": {"execution": "auto"}}}})
    assert (made.status, [item.type for item in made.output]) == ("completed", ["function_call"])


# ---- Together ----

@pytest.mark.threads
def test_tools_of_both_sides_in_one_turn(client, upstream):
    asks(upstream, ("datetime", {}), ("shell", {"commands": ["ls"]}),
         ("apply_patch", {"type": "delete_file", "path": "a"}), ("get_weather", {"city": "Oslo"}))
    tools = [BASIC, SHELL, PATCH, WEATHER_FLAT]
    first = client.responses.create(model="demo", input="go", tools=tools)
    assert sorted(item.type for item in first.output) == [
        "apply_patch_call", "function_call", "mcp_call", "mcp_list_tools", "shell_call"]
    second = client.responses.create(
        model="demo", previous_response_id=first.id, tools=tools,
        input=[{"type": "function_call_output", "call_id": "call_4", "output": "sun"},
               {"type": "apply_patch_call_output", "call_id": "call_3", "status": "completed"},
               {"type": "shell_call_output", "call_id": "call_2",
                "output": [{"stdout": "", "stderr": "", "outcome": {"type": "timeout"}}]}])
    assert second.output_text == "Done."
    messages = upstream.chats()[-1]["messages"]
    assert [m.get("tool_call_id") for m in messages if m["role"] == "tool"] == [
        "call_1", "call_2", "call_3", "call_4"]


def test_a_local_shell_is_answered_by_the_id_of_its_item_too(client, upstream):
    asks(upstream, ("local_shell", {"command": ["ls"]}))
    for key in ("call_id", "id"):
        first = client.responses.create(model="demo", input="go", tools=[{"type": "local_shell"}])
        second = client.responses.create(
            model="demo", previous_response_id=first.id, tools=[{"type": "local_shell"}],
            input=[{"type": "local_shell_call_output", "id": getattr(first.output[0], key),
                    "output": "a"}])
        assert second.output_text == "Done."
        assert sent(upstream)[1] == ["a"]


OUTPUTS = {
    "missing": ([], "No tool output found for shell call call_1."),
    "unknown": ([{"type": "function_call_output", "call_id": "call_9", "output": "x"}],
                "No tool call found for function call output with call_id call_9."),
    "wrong type": ([{"type": "custom_tool_call_output", "call_id": "call_2", "output": "x"}],
                   "No tool call found for custom tool call output with call_id call_2."),
    "twice": ([{"type": "function_call_output", "call_id": "call_2", "output": "x"},
               {"type": "function_call_output", "call_id": "call_2", "output": "y"}],
              "The function call call_2 was already answered with another output."),
    "one of two": ([{"type": "function_call_output", "call_id": "call_2", "output": "x"}],
                   "No tool output found for shell call call_1."),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs_of_another_type_are_refused(client, upstream, name):
    outputs, message = OUTPUTS[name]
    tools = [SHELL, WEATHER_FLAT]
    asks(upstream, ("shell", {"commands": ["ls"]}), ("get_weather", {"city": "Oslo"}))
    first = client.responses.create(model="demo", input="go", tools=tools)
    asked = len(upstream.chats())
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model="demo", previous_response_id=first.id, tools=tools,
                                input=[*outputs, {"role": "user", "content": "and?"}])
    assert caught.value.body["message"] == message and caught.value.param == "input"
    assert len(upstream.chats()) == asked


SUN = {"type": "function_call_output", "call_id": "call_1", "output": "sun"}


def test_an_output_that_is_sent_again_is_ignored(client, upstream):
    """Semantic Kernel sends the outputs of all rounds again in each round of a chain."""
    asks(upstream, ("get_weather", {"city": "Oslo"}))
    first = client.responses.create(model="demo", input="go", tools=[WEATHER_FLAT])
    second = client.responses.create(model="demo", previous_response_id=first.id, input=[SUN])
    upstream.script({"answer": {"text": "Done."}})
    later = client.responses.create(
        model="demo", previous_response_id=second.id,
        input=[{**SUN, "id": "fc_1", "status": "completed"}, {"role": "user", "content": "Well?"}])
    assert later.output_text == "Done."
    assert [item.type for item in client.responses.input_items.list(later.id)] == ["message"]
    assert [m["role"] for m in upstream.chats()[-1]["messages"]] == [
        "user", "assistant", "tool", "assistant", "user"]
    client.responses.create(model="demo", previous_response_id=first.id, input=[SUN])


def test_an_output_that_is_sent_twice_at_once_counts_once(client, upstream):
    asks(upstream, ("get_weather", {"city": "Oslo"}))
    first = client.responses.create(model="demo", input="go", tools=[WEATHER_FLAT])
    upstream.script({"answer": {"text": "Done."}})
    second = client.responses.create(model="demo", previous_response_id=first.id,
                                     input=[SUN, {"role": "user", "content": "Well?"}, SUN])
    assert [item.type for item in client.responses.input_items.list(second.id, order="asc")] == [
        "function_call_output", "message"]
    assert sent(upstream)[1] == ["sun"]


def test_a_history_that_the_client_keeps_may_have_an_output_twice(client, upstream):
    call = {"type": "function_call", "call_id": "call_1", "name": "get_weather",
            "arguments": "{}"}
    client.responses.create(model="demo", tools=[WEATHER_FLAT], input=[
        {"role": "user", "content": "go"}, call, SUN,
        {**SUN, "output": [{"type": "input_text", "text": "sun"}]}, call, {**SUN, "output": "rain"}])
    assert sent(upstream)[1] == ["sun", "rain"]


@pytest.mark.parametrize("output", [
    "rain", [{"type": "input_image", "image_url": PICTURE, "detail": "auto"}]])
def test_an_answered_call_is_not_answered_otherwise(client, upstream, output):
    asks(upstream, ("get_weather", {"city": "Oslo"}))
    first = client.responses.create(model="demo", input="go", tools=[WEATHER_FLAT])
    second = client.responses.create(model="demo", previous_response_id=first.id, input=[SUN])
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model="demo", previous_response_id=second.id,
                                input=[{**SUN, "output": output}])
    assert caught.value.body["message"] == (
        "The function call call_1 was already answered with another output.")
    assert caught.value.param == "input"


RAIN = {**SUN, "output": "rain"}


@pytest.mark.parametrize("outputs, read", [
    ([RAIN], "rain"), ([SUN], "sun"), ([SUN, RAIN], "rain"), ([SUN, SUN, RAIN], "rain"), ([SUN, SUN], "sun"),
    ([SUN, {"role": "user", "content": "Well?"}, RAIN], "rain")])
def test_a_call_whose_id_comes_again_is_answered_anew(client, upstream, outputs, read):
    """By clients that send all outputs again, too: the newest open call is meant, and the last of its outputs."""
    asks(upstream, ("get_weather", {"city": "Oslo"}))
    first = client.responses.create(model="demo", input="go", tools=[WEATHER_FLAT])
    upstream.script({"answer": {"tool_calls": [
        {"name": "get_weather", "id": "call_1", "arguments": {"city": "Bergen"}}]}})
    second = client.responses.create(model="demo", previous_response_id=first.id, tools=[WEATHER_FLAT], input=[SUN])
    upstream.script({"answer": {"text": "Done."}})
    third = client.responses.create(model="demo", previous_response_id=second.id, input=outputs)
    assert third.output_text == "Done." and sent(upstream)[1] == ["sun", read]


def test_a_history_may_have_an_id_again_and_again(client, upstream):
    call = {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": "{}"}
    client.responses.create(model="demo", tools=[WEATHER_FLAT], input=[
        {"role": "user", "content": "go"}, call, SUN, call, SUN, call, RAIN, call, RAIN])
    assert sent(upstream)[1] == ["sun", "sun", "rain", "rain"]


def test_a_call_whose_id_comes_again_is_not_answered_twice(client, upstream):
    call = {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": "{}"}
    with pytest.raises(openai.BadRequestError, match="call_1 was already answered with another output"):
        client.responses.create(model="demo", tools=[WEATHER_FLAT],
                                input=[{"role": "user", "content": "go"}, call, SUN, call, RAIN, SUN])


def test_a_patch_that_failed_is_no_repeat_of_one_that_was_applied(client, upstream):
    asks(upstream, ("apply_patch", {"type": "delete_file", "path": "a"}))
    done = {"type": "apply_patch_call_output", "call_id": "call_1", "status": "completed"}
    first = client.responses.create(model="demo", input="go", tools=[PATCH])
    second = client.responses.create(model="demo", previous_response_id=first.id, input=[done])
    client.responses.create(model="demo", previous_response_id=second.id, input=[done])
    with pytest.raises(openai.BadRequestError, match="apply patch call call_1 was already answered"):
        client.responses.create(model="demo", previous_response_id=second.id,
                                input=[{**done, "status": "failed"}])


# ---- The choice among them ----

ALLOW = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "shell"}]}


def test_only_allowed_tools_may_be_called(client, upstream):
    asks(upstream, ("shell", {"commands": ["ls"]}), ("get_weather", {"city": "Oslo"}))
    made = client.responses.create(model="demo", input="go", tools=[SHELL, WEATHER_FLAT, BASIC],
                                   tool_choice=ALLOW)
    # The same tools in the same order as without a choice, so that the model's cached prompt counts.
    client.responses.create(model="demo", input="go", tools=[SHELL, WEATHER_FLAT, BASIC])
    assert upstream.chats()[0]["tools"] == upstream.chats()[-1]["tools"]
    assert {"shell", "get_weather", "datetime"} < set(offered(upstream.chats()[0]))
    assert "tool_choice" not in upstream.chats()[0]
    refused = [item for item in made.output if item.type == "mcp_call"]
    assert [item.name for item in refused] == ["get_weather"] and refused[0].error
    assert not [item for item in made.output if item.type == "function_call"]
    assert made.tool_choice.mode == "auto"


def test_allowed_tools_may_be_required_once(client, upstream):
    asks(upstream, ("datetime", {}))
    choice = {**ALLOW, "mode": "required", "tools": [{"type": "mcp", "server_label": "basic"}]}
    made = client.responses.create(model="demo", input="go", tools=[SHELL, BASIC],
                                   tool_choice=choice)
    first, second = upstream.chats()
    assert first["tool_choice"] == "required" and "tool_choice" not in second
    assert first["tools"] == second["tools"] and {"shell", "datetime"} < set(offered(second))
    assert made.output_text == "Done."


def test_tool_choice_none_calls_nothing(client, upstream):
    asks(upstream, ("datetime", {}), ("get_weather", {"city": "Oslo"}))
    made = client.responses.create(model="demo", input="go", tools=[BASIC, WEATHER_FLAT],
                                   tool_choice="none")
    assert not [item for item in made.output if item.type == "function_call"]
    assert all(item.error for item in made.output if item.type == "mcp_call")
    assert [chat["tool_choice"] for chat in upstream.chats()] == ["none", "none"]


@pytest.mark.parametrize("choice, name", [
    ({"type": "function", "name": "get_weather"}, "get_weather"),
    ({"type": "custom", "name": "sum"}, "sum"),
    ({"type": "shell"}, "shell"),
    ({"type": "apply_patch"}, "apply_patch"),
    ({"type": "computer_use"}, "computer_use_preview"),
    ({"type": "mcp", "server_label": "basic", "name": "text"}, "text"),
], ids=lambda value: value if isinstance(value, str) else value["type"])
def test_every_tool_can_be_chosen(client, upstream, choice, name):
    made = client.responses.create(model="demo", input="go", tool_choice=choice, tools=[
        WEATHER_FLAT, LARK, SHELL, PATCH, PREVIEW, BASIC])
    (chat,) = upstream.chats()
    assert chat["tool_choice"] == {"type": "function", "function": {"name": name}}
    assert made.tool_choice.type == choice["type"]
    assert len(offered(chat)) == 10  # and what reads variables


def test_a_server_can_be_chosen(client, upstream):
    client.responses.create(model="demo", input="go", tools=[WEATHER_FLAT, BASIC],
                            tool_choice={"type": "mcp", "server_label": "basic"})
    (chat,) = upstream.chats()
    assert chat["tool_choice"] == "required" and "get_weather" not in offered(chat)
