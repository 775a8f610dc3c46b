"""Groups of tools: which are on, their instructions for the model, and their skill rules."""

import json

import pytest

from harness.recorder import parse_events
from harness.tools import READERS, WEATHER, call, offered_names

BASIC = {"type": "mcp", "server_label": "basic", "server_url": "builtin:basic",
         "require_approval": "never"}
BASIC_TOOLS = ["datetime", "text", "json2interface"]


def system_text(request):
    return "\n".join(message["content"] for message in request["messages"]
                     if message["role"] == "system")


@pytest.fixture
def ask(client, upstream):
    """A response with these settings; what its upstream was sent."""
    def ask(runnel=None, **body):
        client.responses.create(model="demo", input="go", **body,
                                extra_body={"runnel": runnel} if runnel is not None else None)
        return upstream.chats()[-1]
    return ask


@pytest.fixture
def run(client, upstream):
    """A run with these settings, of an assistant and a thread with others; what its upstream was
    sent."""
    def run(assistant=None, runnel=None, thread=None, **more):
        made = client.beta.assistants.create(model="demo", tools=more.pop("tools", []),
                                             instructions="Be brief.",
                                             extra_body={"runnel": assistant} if assistant else {})
        place = client.beta.threads.create(messages=[{"role": "user", "content": "go"}],
                                           extra_body={"runnel": thread} if thread else {})
        ended = client.beta.threads.runs.create_and_poll(
            thread_id=place.id, assistant_id=made.id, poll_interval_ms=50, **more,
            extra_body={"runnel": runnel} if runnel else {})
        assert ended.status == "completed", ended.last_error
        return upstream.chats()[-1]
    return run


# ---- Which are on ----

@pytest.mark.feature("F12")
def test_groups_are_off_and_their_tools_on(ask, upstream):
    """A group that is not named is missing; a named one is offered with all of its tools."""
    assert "tools" not in ask()
    assert "tools" not in ask({"tool_groups": {}})
    assert offered_names(ask({"tool_groups": {"basic": True}})) == BASIC_TOOLS
    assert offered_names(ask({"tool_groups": {"basic": {}}})) == BASIC_TOOLS
    assert "tools" not in ask({"tool_groups": {"basic": False}})
    assert "tools" not in ask({"tool_groups": {"basic": {"enabled": False}}})


def all_names(request):
    return [tool["function"]["name"] for tool in request.get("tools", [])]


@pytest.mark.feature("F14")
def test_variables_can_be_read_as_soon_as_there_is_a_tool(ask, run):
    """Although their group is off; nothing comes with nothing, or with functions of the client, and
    what is turned off stays off."""
    assert all_names(ask({"tool_groups": {"basic": True}})) == [*BASIC_TOOLS, *READERS]
    assert all_names(ask(tools=[{**BASIC, "allowed_tools": ["text"]}])) == ["text", *READERS]
    assert all_names(run({"tool_groups": {"basic": True}}, tools=[WEATHER])) == [
        "get_weather", *BASIC_TOOLS, *READERS]
    assert all_names(run(tools=[WEATHER])) == ["get_weather"]
    assert all_names(ask(tools=[{"type": "custom", "name": "own"}])) == ["own"]
    assert "tools" not in ask() and "tools" not in ask({"tool_groups": {"basic": False}})
    assert "tools" not in ask({"tool_groups": {"basic": {
        "tools": dict.fromkeys(BASIC_TOOLS, False)}}})
    assert all_names(ask({"tool_groups": {"basic": True, "vars": False}})) == BASIC_TOOLS
    assert all_names(ask({"tool_groups": {
        "basic": True, "vars": {"tools": {"ListVars": False}}}})) == [
            *BASIC_TOOLS, "ReadVar", "WriteVar", "RemoveVars"]


@pytest.mark.feature("F14")
def test_readers_follow_the_tool_choice(ask):
    """Not where one of a server's tools has to be called. Allowed tools change nothing in the list."""
    mine = {"type": "function", "name": "mine", "parameters": {}}
    only = {"type": "allowed_tools", "mode": "auto"}
    basic = {"type": "mcp", "server_label": "basic"}
    everything = ask(tools=[BASIC, mine])
    assert all_names(everything) == [*BASIC_TOOLS, "mine", *READERS]
    for choice in ({**only, "tools": [basic]}, {**only, "tools": [{"type": "function", "name": "mine"}]},
                   {**only, "mode": "required", "tools": [basic]}):
        assert ask(tools=[BASIC, mine], tool_choice=choice)["tools"] == everything["tools"]
    assert all_names(ask(tools=[BASIC, mine], tool_choice=basic)) == BASIC_TOOLS


@pytest.mark.feature("F14", "F19", "F22")
def test_readers_that_come_along_can_be_called(http, upstream):
    """Not listed, but offered: a rule on demand is read through it, without an approval."""
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [
                        {"name": "ReadVar", "id": f"call_{n}", "arguments": {"name": name}}
                        for n, name in enumerate(("Rule/test/slow-tools", "Rule/Agent/TODO"))]}})
    output = http.post("/v1/responses", json={
        "model": "demo", "input": "go",
        "runnel": {"tool_groups": {"basic": True}}}).json()["output"]
    assert [item["server_label"] for item in output if item["type"] == "mcp_list_tools"] == [
        "basic"]
    called = [item for item in output if item["type"] == "mcp_call"]
    todo, slow = sorted(called, key=lambda item: "slow" in item["arguments"])
    assert slow["server_label"] == "vars" and slow["output"] == "Be patient with test_slow."
    assert todo["output"].startswith("# To-do list") and "`PENDING`" in todo["output"]


@pytest.mark.feature("F13")
def test_single_tools_can_be_off_in_a_group_that_is_on(ask):
    assert offered_names(ask({"tool_groups": {"basic": {"tools": {"text": False}}}})) == [
        "datetime", "json2interface"]
    assert offered_names(ask({"tool_groups": {"basic": {"tools": {"text": False}}}},
                             tools=[BASIC])) == [
        "datetime", "json2interface"]
    assert "tools" not in ask({"tool_groups": {"basic": False}}, tools=[BASIC])


@pytest.mark.feature("F13")
def test_an_entry_narrows_its_group(ask):
    assert offered_names(ask({"tool_groups": {"basic": True}},
                     tools=[{**BASIC, "allowed_tools": ["text"]}])) == ["text"]


@pytest.mark.feature("F13")
def test_the_run_wins_over_the_assistant(run):
    assert offered_names(run({"tool_groups": {"basic": True}})) == BASIC_TOOLS
    assert "tools" not in run({"tool_groups": {"basic": True}}, {"tool_groups": {"basic": False}})
    assert offered_names(run({"tool_groups": {"basic": {"tools": {"text": False}}}},
                     {"tool_groups": {"basic": {"tools": {"datetime": False}}}})) == [
                         "json2interface"]
    assert offered_names(run({"tool_groups": {"basic": {"tools": {"text": False}}}},
                     {"tool_groups": {"basic": {"tools": {"text": True}}}})) == BASIC_TOOLS
    # Who only narrows a group does not turn it on again.
    assert "tools" not in run({"tool_groups": {"basic": False}},
                              {"tool_groups": {"basic": {"tools": {"text": False}}}})


@pytest.mark.feature("F13")
def test_the_thread_comes_between_run_and_assistant(run):
    basic = {"tool_groups": {"basic": True}}
    without_text = {"tool_groups": {"basic": {"tools": {"text": False}}}}
    assert offered_names(run(thread=basic)) == BASIC_TOOLS
    assert offered_names(run(basic, thread=without_text)) == ["datetime", "json2interface"]
    assert "tools" not in run(basic, thread={"tool_groups": {"basic": False}})
    assert offered_names(run(None, {"tool_groups": {"basic": {"tools": {"text": True}}}},
                     thread=without_text)) == BASIC_TOOLS


@pytest.mark.feature("F13")
def test_null_keeps_the_wider_setting(http, upstream):
    """At any depth: what a wide level limits stays limited."""
    upstream.script({"match": {"tool_results": 2}, "answer": {"text": "too far"}},
                    {"match": {"tool_results": 1}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [call("text", 1, input="0123456789", operation="replace",
                                                    search="0", replacement="0")]}})
    assistant = http.post("/v1/assistants", json={"model": "demo", "runnel": {
        "tool_groups": {"basic": True}, "truncation": {"mode": "head", "limit": 4},
        "rules": {"language": "zh"}}}).json()["id"]
    said = {"truncation": {"mode": None, "limit": None}, "rules": {"language": None}, "tool_groups": {"basic": None}}
    for thread, runnel in (({}, said), ({"runnel": said}, {}), ({"runnel": said}, said)):
        answer = http.post("/v1/threads/runs", json={
            "assistant_id": assistant, "stream": True, "runnel": runnel,
            "thread": {"messages": [{"role": "user", "content": "go"}], **thread}})
        assert answer.status_code == 200, answer.text
        assert upstream.chats()[-1]["messages"][-1]["content"].startswith(
            "0123\n\n...\u8f93\u51fa\u8fc7\u957f"), runnel


@pytest.mark.feature("F13")
def test_a_thread_shows_changes_and_passes_on_its_settings(http, upstream):
    settings = {"tool_groups": {"basic": {"tools": {"text": False}}}}
    made = http.post("/v1/threads", json={"runnel": settings}).json()
    path = f"/v1/threads/{made['id']}"
    assert made["runnel"] == settings and http.get(path).json()["runnel"] == settings
    assert http.post(path, json={"metadata": {"a": "b"}}).json()["runnel"] == settings
    fork = http.post(f"/v1/runnel/threads/{made['id']}/fork", json={}).json()
    assert fork["runnel"] == settings
    assert http.post(path, json={"runnel": {"rules": {}}}).json()["runnel"] == {"rules": {}}
    assert "runnel" not in http.post(path, json={"runnel": None}).json()
    assistant = http.post("/v1/assistants", json={"model": "demo"}).json()["id"]
    run = http.post("/v1/threads/runs", json={
        "assistant_id": assistant, "stream": True, "thread": {
            "messages": [{"role": "user", "content": "go"}], "runnel": settings}})
    created = json.loads(parse_events(run.text)[0][1])
    assert created["object"] == "thread" and created["runnel"] == settings
    assert offered_names(upstream.chats()[-1]) == ["datetime", "json2interface"]


@pytest.mark.feature("F13")
def test_groups_are_offered_beside_client_tools(run):
    assert offered_names(run({"tool_groups": {"basic": {"tools": {"text": False}}}},
                             tools=[WEATHER])) == [
        "get_weather", "datetime", "json2interface"]


@pytest.mark.feature("F13")
def test_an_assistant_shows_and_changes_its_settings(http):
    settings = {"tool_groups": {"basic": {"enabled": True, "tools": {"text": False}}},
                "rules": {"language": "zh"}}
    made = http.post("/v1/assistants", json={"model": "demo", "runnel": settings}).json()
    assert made["runnel"] == settings
    path = f"/v1/assistants/{made['id']}"
    assert http.post(path, json={"name": "A"}).json()["runnel"] == settings
    assert http.post(path, json={"runnel": {"rules": {}}}).json()["runnel"] == {"rules": {}}
    assert "runnel" not in http.post(path, json={"runnel": None}).json()


WRONG = [
    ({"tool_group": {}}, "runnel.tool_group", "unknown_parameter",
     "Unknown parameter: 'runnel.tool_group'. Did you mean 'runnel.tool_groups'?"),
    ({"tool_groups": {"basics": True}}, "runnel.tool_groups.basics", "invalid_value",
     "Invalid value: there is no tool group 'basics' on this server."),
    ({"tool_groups": {"basic": {"tools": {"texts": False}}}},
     "runnel.tool_groups.basic.tools.texts", "invalid_value",
     "Invalid value: the tool group 'basic' has no tool 'texts'."),
    ({"tool_groups": {"basic": {"enable": False}}}, "runnel.tool_groups.basic.enable",
     "unknown_parameter",
     "Unknown parameter: 'runnel.tool_groups.basic.enable'. Did you mean "
     "'runnel.tool_groups.basic.enabled'?"),
    ({"tool_groups": {"basic": "off"}}, "runnel.tool_groups.basic", "invalid_type",
     "Invalid type for 'runnel.tool_groups.basic': expected one of a boolean or an object, but "
     "got a string instead."),
    ({"tool_groups": {"basic": {"tools": {"text": "off"}}}},
     "runnel.tool_groups.basic.tools.text", "invalid_type",
     "Invalid type for 'runnel.tool_groups.basic.tools.text': expected a boolean, but got a string "
     "instead."),
    ({"tool_groups": ["basic"]}, "runnel.tool_groups", "invalid_type",
     "Invalid type for 'runnel.tool_groups': expected an object, but got an array instead."),
]


@pytest.mark.feature("F13")
@pytest.mark.parametrize("runnel, param, code, message", WRONG)
def test_typing_errors_are_refused(http, runnel, param, code, message):
    """On every object that has settings: nothing is turned on or off by a typing error."""
    assistant = http.post("/v1/assistants", json={"model": "demo"}).json()["id"]
    thread = http.post("/v1/threads", json={}).json()["id"]
    for path, body in [("/v1/responses", {"model": "demo", "input": "go"}),
                       ("/v1/responses/input_tokens", {"model": "demo", "input": "go"}),
                       ("/v1/assistants", {"model": "demo"}),
                       (f"/v1/assistants/{assistant}", {}),
                       ("/v1/threads", {}), (f"/v1/threads/{thread}", {}),
                       (f"/v1/threads/{thread}/runs", {"assistant_id": assistant}),
                       ("/v1/threads/runs", {"assistant_id": assistant})]:
        answer = http.post(path, json={**body, "runnel": runnel})
        assert answer.status_code == 400, path
        error = answer.json()["error"]
        assert (error["param"], error["code"], error["message"]) == (param, code, message), path
    nested = http.post("/v1/threads/runs", json={"assistant_id": assistant,
                                                 "thread": {"runnel": runnel}})
    assert nested.status_code == 400 and nested.json()["error"]["param"] == f"thread.{param}"


@pytest.mark.feature("F13")
@pytest.mark.parametrize("typo, code, message", [
    ({"allowedtools": ["text"]}, "unknown_parameter",
     "Unknown parameter: 'tools[0].allowedtools'. Did you mean 'tools[0].allowed_tools'?"),
    ({"require_aproval": "always"}, "unknown_parameter",
     "Unknown parameter: 'tools[0].require_aproval'. Did you mean 'tools[0].require_approval'?"),
    ({"readonly": True}, "unknown_parameter", "Unknown parameter: 'tools[0].readonly'.")])
def test_a_misspelt_limit_of_an_entry_is_refused(http, upstream, typo, code, message):
    """Also when unknown parameters are ignored elsewhere."""
    assistant = http.post("/v1/assistants", json={"model": "demo"}).json()["id"]
    thread = http.post("/v1/threads", json={}).json()["id"]
    body = {"tools": [{**BASIC, **typo}]}
    for path, more in [("/v1/responses", {"model": "demo", "input": "go"}),
                       ("/v1/responses/input_tokens", {"model": "demo", "input": "go"}),
                       ("/v1/assistants", {"model": "demo"}), (f"/v1/assistants/{assistant}", {}),
                       (f"/v1/threads/{thread}/runs", {"assistant_id": assistant}),
                       ("/v1/threads/runs", {"assistant_id": assistant})]:
        answer = http.post(path, json={**body, **more})
        assert answer.status_code == 400, path
        error = answer.json()["error"]
        (key,) = typo
        assert (error["param"], error["code"], error["message"]) == (f"tools[0].{key}", code, message), path
    assert upstream.chats() == []


def test_an_assistant_has_no_context_for_all_runs(http):
    answer = http.post("/v1/assistants", json={"model": "demo", "runnel": {"context": {}}})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "runnel.context"


def test_a_tool_name_in_two_groups_is_refused(http):
    answer = http.post("/v1/responses", json={
        "model": "demo", "input": "go", "runnel": {"tool_groups": {"basic": True}},
        "tools": [{"type": "function", "name": "text", "parameters": None, "strict": False}]})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "runnel.tool_groups.basic"


def test_a_named_group_is_listed_and_called(http, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [call("text", 1, input="four", operation="length")]}})
    answer = http.post("/v1/responses", json={"model": "demo", "input": "go", "stream": True,
                                              "runnel": {"tool_groups": {"basic": True}}})
    events = [json.loads(data) for _, data in parse_events(answer.text) if data != "[DONE]"]
    output = events[-1]["response"]["output"]
    assert [item["type"] for item in output if item.get("server_label") != "vars"] == [
        "mcp_list_tools", "mcp_call", "message"]
    assert output[0]["server_label"] == "basic"
    called, = (item for item in output if item["type"] == "mcp_call")
    assert called["server_label"] == "basic" and called["output"] == "4"


@pytest.mark.feature("F15")
def test_a_tool_that_is_turned_off_is_not_found(http, upstream):
    """Known to the server, but not offered: it is not called."""
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [call("text", 1, input="four", operation="length")]}})
    output = http.post("/v1/responses", json={
        "model": "demo", "input": "go",
        "runnel": {"tool_groups": {"basic": {"tools": {"text": False}}}}}).json()["output"]
    called, = (item for item in output if item["type"] == "mcp_call")
    assert called["status"] == "failed" and called["output"] is None
    assert called["error"]["content"][0]["text"] == "Tool text not found"
    assert upstream.chats()[-1]["messages"][-1]["content"] == "Tool text not found"


# ---- Tools that are made for a run ----

def greet_tool(request):
    tool, = (tool["function"] for tool in request["tools"]
             if tool["function"]["name"] == "test_greet")
    return tool["description"], tool["parameters"]["properties"]["word"]["enum"]


@pytest.mark.feature("F73")
def test_a_tool_definition_is_made_for_each_run(http, upstream):
    """Its description and its words are those of the run, for the model, the list, and the check."""
    greet = {"tool_groups": {"test": True}}
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [call("test_greet", 1, word="你好")]}})
    output = http.post("/v1/responses", json={"model": "demo", "input": "go", "runnel": {
        **greet, "rules": {"language": "zh"}}}).json()["output"]
    assert [greet_tool(request) for request in upstream.chats()] == [("Greets in Chinese.", ["你好"])] * 2
    listed, = (tool for item in output if item["type"] == "mcp_list_tools"
               for tool in item["tools"] if tool["name"] == "test_greet")
    assert listed["description"] == "Greets in Chinese."
    assert listed["input_schema"]["properties"]["word"]["enum"] == ["你好"]
    called, = (item for item in output if item["type"] == "mcp_call")
    assert called["output"] == "你好"

    output = http.post("/v1/responses", json={"model": "demo", "input": "go", "runnel": greet}).json()["output"]
    assert greet_tool(upstream.chats()[-1]) == ("Greets in English.", ["hello"])
    called, = (item for item in output if item["type"] == "mcp_call")
    assert called["status"] == "failed"
    assert "word" in called["error"]["content"][0]["text"]


# ---- Instructions for the model ----

@pytest.mark.feature("F16", "F17")
def test_rules_follow_the_instructions(ask):
    """First the fixed block, then a block for each group in its order; each names only what is on."""
    text = system_text(ask({"tool_groups": {"test": True, "basic": {"tools": {"text": False}}}},
                           instructions="Be brief."))
    assert text.startswith("Be brief.\n\n<tool-rules>\n")
    fixed, basic, test = text.split("\n\n<tool-group-rule group=")
    assert fixed.endswith("</tool-rules>") and "`limit`" in fixed
    assert basic.startswith('"basic">\n\nGroup "basic" contains following tools: datetime, '
                            'json2interface.\n\n- For anything that depends on the date')
    assert "`text`" not in basic and basic.endswith("\n</tool-group-rule>")
    assert test.startswith('"test">\n\nGroup "test" contains following tools: test_slow, ')


@pytest.mark.feature("F17")
def test_without_a_group_there_are_no_rules(ask):
    assert "<tool" not in json.dumps(ask(instructions="Be brief."))
    assert "<tool" not in json.dumps(ask({"tool_groups": {"basic": False}}))
    assert system_text(ask({"tool_groups": {"basic": True}})).startswith("<tool-rules>")


@pytest.mark.feature("F17")
def test_rules_are_not_echoed(client):
    made = client.responses.create(model="demo", input="go", instructions="Be brief.",
                                   extra_body={"runnel": {"tool_groups": {"basic": True}}})
    assert made.instructions == "Be brief."
    assert client.responses.retrieve(made.id).instructions == "Be brief."


@pytest.mark.feature("F17")
def test_an_entry_brings_the_rules_of_its_group(ask, run):
    assert '<tool-group-rule group="basic">' in system_text(ask(tools=[BASIC]))
    sent = system_text(run({"tool_groups": {"basic": True}}, additional_instructions="And kind."))
    assert sent.startswith("Be brief.\n\nAnd kind.\n\n<tool-rules>")


@pytest.mark.feature("F17")
def test_the_rules_name_the_tools_that_read_and_list_variables(ask):
    """Wherever they are offered, which is beside any other tool; each in its language."""
    for language in ("en", "zh"):
        basic = {"rules": {"language": language}, "tool_groups": {"basic": True}}
        fixed, _ = system_text(ask(basic)).split("</tool-rules>")
        for word in ("`ReadVar`", "`start`", "`length`", "`ListVars`", "`filter`", "`search`", "`tag`", "`pageSize`",
                     "$VAR_REF{{name}}"):
            assert word in fixed, (language, word)
        assert "ListVars" not in system_text(ask({**basic, "tool_groups": {"basic": True, "vars": False}}))


@pytest.mark.feature("F17")
def test_an_entry_may_leave_out_the_rules_of_its_group(ask, http, upstream):
    """Its tools are offered all the same, and the texts of other groups stay."""
    silent = {**BASIC, "runnel": {"rules": False}}
    assistant = http.post("/v1/assistants", json={"model": "demo", "tools": [silent]}).json()["id"]
    assert http.post("/v1/threads/runs", json={"assistant_id": assistant, "stream": True, "thread": {
        "messages": [{"role": "user", "content": "go"}]}}).status_code == 200
    for sent in (upstream.chats()[-1], ask(tools=[silent])):
        assert offered_names(sent) == BASIC_TOOLS and "<tool" not in json.dumps(sent["messages"])
    assert "<tool" not in json.dumps(ask({"tool_groups": {"basic": True}}, tools=[silent])["messages"])
    beside = system_text(ask({"tool_groups": {"test": True}}, tools=[silent]))
    assert "<tool-rules>" in beside and 'group="test"' in beside and 'group="basic"' not in beside
    for wanted in (True, None):
        assert 'group="basic"' in system_text(ask(tools=[{**BASIC, "runnel": {"rules": wanted}}]))


@pytest.mark.feature("F17")
def test_a_servers_description_is_left_out_with_its_rules(ask):
    """The server cannot be reached; what the model is sent is made before it is."""
    def entry(label, **more):
        return {"type": "mcp", "server_label": label, "server_url": "https://127.0.0.1:1/", **more,
                "server_description": f"About {label}."}
    sent = system_text(ask(tools=[entry("one"), entry("two", runnel={"rules": False})]))
    assert "About one." in sent and "About two." not in sent


@pytest.mark.feature("F17")
def test_whether_an_entry_has_rules_is_true_or_false(http):
    answer = http.post("/v1/responses", json={"model": "demo", "input": "go",
                                              "tools": [{**BASIC, "runnel": {"rules": "no"}}]})
    assert answer.status_code == 400
    assert (answer.json()["error"]["param"], answer.json()["error"]["code"]) == (
        "tools[0].runnel.rules", "invalid_type")


@pytest.mark.feature("F18")
def test_equal_settings_give_equal_bytes(ask, run, client, upstream):
    """They may name the groups in any order, and every turn of a run has the same bytes: so an upstream's
    prompt cache hits."""
    first = ask({"tool_groups": {"basic": True, "test": {"tools": {"test_fail": False}}}})
    second = ask({"tool_groups": {"test": {"tools": {"test_fail": False}}, "basic": {}}})
    assert system_text(first) == system_text(second) and first["tools"] == second["tools"]
    sent = run({"tool_groups": {"test": {"tools": {"test_fail": False}}, "basic": True}})
    assert system_text(sent) == "Be brief.\n\n" + system_text(first)
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [call("datetime", 1)]}})
    upstream.forget()
    client.responses.create(model="demo", input="go",
                            extra_body={"runnel": {"tool_groups": {"basic": True}}})
    before, after = upstream.chats()
    assert before["messages"] == after["messages"][:len(before["messages"])]
    assert before["tools"] == after["tools"]


@pytest.mark.feature("F18")
def test_rules_are_in_chinese_where_the_request_says_so(ask, run):
    chinese = {"rules": {"language": "zh"}, "tool_groups": {"basic": True}}
    sent = system_text(ask(chinese))
    assert "你可以调用工具" in sent and "You can call tools" not in sent
    assert '工具组 "basic" 包含以下工具：datetime' in sent and "先调用 `datetime`" in sent
    assert system_text(run(chinese)) == "Be brief.\n\n" + sent


@pytest.mark.feature("F19", "F20")
def test_skill_rules_are_listed_or_pinned(ask):
    sent = system_text(ask({"tool_groups": {"test": True, "vars": True}}))
    _, rules = sent.split("**Pinned Rules:**")
    pinned, index = rules.split("**On-Demand Documentation (Stored as Variables):**")
    assert pinned == "\n\n**How tests are made:**\nA test can fail.\n\n"
    assert index == (
        "\n\n| Var | Description | When to Use |\n| --- | --- | --- |\n"
        "| `Rule/test/slow-tools` | Tools that take long | Before calling test_slow |\n"
        "| `Rule/test/images` | Tools that draw | As needed |\n\n"
        "*Access via: ReadVar({\"name\": \"<VarName>\"})*\n</tool-group-rule>")


@pytest.mark.feature("F19", "F20")
def test_a_group_of_every_server_has_rules(http, ask, upstream):
    """In `basic`: what is pinned stands in the text, what is on demand is listed, and read by its name."""
    sent = system_text(ask({"tool_groups": {"basic": True}}))
    pinned, index = sent.split("**Pinned Rules:**")[1].split("**On-Demand Documentation")
    assert "Give dates, times, counts and positions exactly as the tools return them" in pinned
    assert "Rule/basic/results" not in sent
    assert "| `Rule/basic/patterns` | Regular expressions in searches | Before you search" in index
    assert "| `Rule/basic/dates` | Formats and time zones | As needed |" in index
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [call("ReadVar", n, name=f"Rule/basic/{name}")
                                               for n, name in enumerate(("patterns", "dates"))]}})
    output = http.post("/v1/responses", json={
        "model": "demo", "input": "go", "tools": [BASIC]}).json()["output"]
    read = sorted(item["output"] for item in output if item["type"] == "mcp_call")
    assert read[0].startswith("# Formats of `datetime`") and read[1].startswith("# Searches of `text`")


@pytest.mark.feature("F19")
def test_rules_that_cannot_be_read_are_not_listed(ask):
    sent = system_text(ask({"tool_groups": {"test": True, "vars": False}}))
    assert "**Pinned Rules:**" in sent and "Rule/" not in sent and "ReadVar" not in sent


@pytest.mark.feature("F19", "F22")
def test_a_rule_on_demand_is_read(http, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [
                        {"name": "ReadVar", "id": "call_1",
                         "arguments": {"name": "Rule/test/slow-tools"}},
                        {"name": "ReadVar", "id": "call_2",
                         "arguments": {"name": "Rule/Agent/TODO"}}]}})
    output = http.post("/v1/responses", json={
        "model": "demo", "input": "go",
        "runnel": {"tool_groups": {"test": True, "vars": True}}}).json()["output"]
    assert "Rule/Agent/TODO" in system_text(upstream.chats()[0])
    slow, todo = sorted((item for item in output if item["type"] == "mcp_call"),
                        key=lambda item: "TODO" in item["arguments"])
    assert slow["output"].startswith("Be patient with test_slow.")
    assert todo["output"].startswith("# To-do list") and "`PENDING`" in todo["output"]


def test_rules_count_as_tokens(client, ask, http):
    body = {"model": "demo", "input": "go"}
    plain = http.post("/v1/responses/input_tokens", json=body).json()["input_tokens"]
    more = http.post("/v1/responses/input_tokens", json={
        **body, "runnel": {"tool_groups": {"basic": True}}}).json()["input_tokens"]
    assert more > plain + 200
