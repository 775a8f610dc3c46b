"""The list of server-side tools, and the operator's settings of them."""

import subprocess

import pytest

from harness.patience import patience
from harness.tools import call


def listed(http, query=""):
    answer = http.get(f"/v1/runnel/tools{query}")
    assert answer.status_code == 200, answer.text
    return [tool for tool in answer.json()["data"] if tool["group"] in ("basic", "test")]


def names(http, query=""):
    return [tool["name"] for tool in listed(http, query)]


@pytest.mark.feature("F09", "F76")
def test_all_tools_are_listed_with_their_schema(http):
    tools = listed(http)
    assert [tool["name"] for tool in tools[:3]] == ["datetime", "text", "json2interface"]
    assert len(tools) > 20 and len({tool["name"] for tool in tools}) == len(tools)
    clock = tools[0]
    assert clock["object"] == "runnel.tool" and clock["group"] == "basic"
    assert clock["parameters"]["type"] == "object" and "timezone" in clock["parameters"]["properties"]
    assert clock["returns"] == {"type": "string", "note": "ISO 8601, or as `format` says"}
    assert [tool["name"] for tool in tools if tool["final"]] == ["test_final", "test_final_image", "test_ends_final"]


@pytest.mark.feature("F72")
def test_a_definition_has_the_fields_of_a_tool(http):
    """On, and run without a question only where the tool or its group says so."""
    clock, = (tool for tool in listed(http) if tool["name"] == "datetime")
    assert clock["id"] == "basic/datetime" and clock["category"] == "builtin"
    assert clock["enabled"] is True and clock["auto_execute"] is True
    assert (clock["execution_policy"], clock["result_policy"]) == ("auto", "never")
    careful, = http.get("/v1/runnel/tools?group=careful").json()["data"]
    assert careful["enabled"] is True and careful["auto_execute"] is False
    assert careful["execution_policy"] == "ask-once"


@pytest.mark.feature("F70")
def test_tools_are_found_by_permission_level(http):
    assert names(http, "?group=basic&level=public") == ["datetime", "text", "json2interface"]
    assert names(http, "?group=basic&level=sensitive") == []
    careful = http.get("/v1/runnel/tools?level=moderate").json()["data"]
    assert "test_careful" in [tool["name"] for tool in careful]
    assert all(tool["execution_policy"] == "ask-once" for tool in careful)


@pytest.mark.feature("F70")
def test_tools_are_found_by_tags(http):
    """All of the tags unless any will do; what has none is never found."""
    assert names(http, "?tag=text") == ["text", "json2interface"]
    assert names(http, "?tag=text&tag=json") == ["json2interface"]
    assert names(http, "?tag=text&tag=json&match=any") == ["text", "json2interface"]
    assert names(http, "?tag=time&tag=json&match=any") == ["datetime", "json2interface"]
    assert names(http, "?tag=time&tag=json") == []
    assert names(http, "?tag=nothing&match=any") == []


@pytest.mark.feature("F12")
def test_tools_are_listed_by_group(http):
    assert names(http, "?group=basic") == ["datetime", "text", "json2interface"]
    assert all(name.startswith("test_") for name in names(http, "?group=test"))
    assert names(http, "?group=test&tag=text") == []


def test_invalid_list_parameters_are_refused(http):
    for query, param in [("?group=basics", "group"), ("?match=some", "match"),
                         ("?level=PUBLIC", "level"), ("?grup=basic", "grup")]:
        answer = http.get(f"/v1/runnel/tools{query}")
        assert answer.status_code == 400 and answer.json()["error"]["param"] == param


# ---- The operator ----

@pytest.fixture
def configured(start_server, tmp_path, upstream):
    """A server with this section `tools`, as a client and its plain HTTP."""
    def configured(text):
        config = tmp_path / "runnel.yaml"
        config.write_text("tools:\n" + text)
        server = start_server(config=config)
        return server.sdk(), server.http()
    return configured


def offered(request):
    return [tool["function"]["name"] for tool in request.get("tools", [])
            if tool["function"]["name"] not in ("ReadVar", "ListVars")]


@pytest.mark.feature("F80")
def test_the_operator_turns_groups_on_and_tools_off(configured, upstream):
    """A group that is on needs no request, which may turn it off; one that is off is missing."""
    client, http = configured("  groups:\n    basic: {enabled: true, tools: {text: false}}\n"
                              "    careful: false\n")
    def ask(runnel=None, **more):
        client.responses.create(model="demo", input="go", extra_body={"runnel": runnel or {}}, **more)
        return offered(upstream.chats()[-1])

    assert ask() == ["datetime", "json2interface"]
    assert ask({"tool_groups": {"basic": {"tools": {"datetime": False}}}}) == ["json2interface"]
    assert ask({"tool_groups": {"basic": False}}) == []
    own = {"type": "function", "name": "datetime", "parameters": {"type": "object", "properties": {}},
           "strict": False}
    assert ask(tools=[own]) == ["datetime", "json2interface"]
    shown = {tool["name"]: tool for tool in http.get("/v1/runnel/tools?group=basic").json()["data"]}
    assert set(shown) == {"datetime", "json2interface"} and shown["datetime"]["group_enabled"] is True
    for groups, param in [({"basic": {"tools": {"text": True}}}, "runnel.tool_groups.basic.tools.text"),
                          ({"careful": True}, "runnel.tool_groups.careful")]:
        answer = http.post("/v1/responses", json={"model": "demo", "input": "go",
                                                  "runnel": {"tool_groups": groups}})
        assert answer.status_code == 400 and answer.json()["error"]["param"] == param
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "go"}])
    assistant = client.beta.assistants.create(model="demo")
    client.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id,
                                             poll_interval_ms=50)
    assert offered(upstream.chats()[-1]) == ["datetime", "json2interface"]


def needs_approval(client, upstream, tool, **arguments):
    """The policies of its call's approval requests."""
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [call(tool, 1, **arguments)]}})
    answer = client.responses.create(model="demo", input="go", extra_body={
        "runnel": {"tool_groups": {"basic": True, "careful": True}}})
    return [item.runnel["policy"] for item in answer.output if item.type == "mcp_approval_request"]


@pytest.mark.feature("F80")
def test_a_tool_needs_an_approval_unless_it_or_its_group_runs_by_itself(client, upstream):
    assert needs_approval(client, upstream, "test_careful", text="x") == ["ask-once"]
    assert needs_approval(client, upstream, "datetime") == []


@pytest.mark.feature("F80")
def test_the_operators_settings_win_over_the_tool(configured, upstream):
    """Both ways, and for one tool before its group."""
    client, http = configured("  permissions:\n    careful: {autoExecute: true}\n"
                              "    basic: {autoExecute: false}\n    basic/text: {execution: auto}\n")
    assert needs_approval(client, upstream, "test_careful", text="x") == []
    assert needs_approval(client, upstream, "datetime") == ["ask-once"]
    assert needs_approval(client, upstream, "text", input="four", operation="length") == []
    shown = {tool["name"]: tool["auto_execute"] for tool in http.get("/v1/runnel/tools").json()["data"]
             if tool["group"] in ("basic", "careful")}
    assert shown == {"datetime": False, "text": True, "json2interface": False, "test_careful": True}


@pytest.mark.feature("F80")
@pytest.mark.parametrize("text, words", [
    ("{groups: {basics: true}}", "tools.groups: there is no tool group 'basics'"),
    ("{groups: {basic: {tools: {text: maybe}}}}",
     "tools.groups.basic.tools.text: expected true or false"),
    ("{permissions: {basic/texts: {}}}", "tools.permissions: there is no tool 'basic/texts'")])
def test_a_typing_error_stops_the_start(binary, tmp_path, text, words):
    config = tmp_path / "runnel.yaml"
    config.write_text(f"tools: {text}\n")
    ended = subprocess.run([binary, "serve", "--config", config, "--data-dir", tmp_path / "data"],
                           capture_output=True, text=True, timeout=patience(60))
    assert ended.returncode == 2 and words in ended.stderr


# ---- What a run gets together ----

@pytest.mark.feature("F49")
def test_each_run_has_its_own_tools_in_one_order(configured, upstream):
    """Built-in groups in the order of the registry, whatever the order of the words; on and off by the
    operator's defaults first and the words of assistant, thread and run after them; and variables of
    its own conversation."""
    client, http = configured("  groups: {basic: true, vars: true}\n")
    settings = {"tool_groups": {"careful": True, "test": {"tools": {"test_slow": False}}}}
    assistant = client.beta.assistants.create(model="demo", extra_body={"runnel": settings})

    def run(thread_settings, run_settings):
        thread = client.beta.threads.create(messages=[{"role": "user", "content": "go"}],
                                            extra_body={"runnel": thread_settings})
        upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                        {"answer": {"tool_calls": [call("text", 1, input="four", operation="length")]}})
        client.beta.threads.runs.create_and_poll(
            thread_id=thread.id, assistant_id=assistant.id, poll_interval_ms=50,
            extra_body={"runnel": run_settings})
        return thread.id, offered(upstream.chats()[-1])

    listed = [(tool["group"], tool["name"]) for tool in http.get("/v1/runnel/tools").json()["data"]]
    names = [name for group, name in listed if group in ("basic", "vars", "careful", "test")
             and name not in ("ReadVar", "ListVars")]
    first, tools = run({}, {})
    assert tools == [name for name in names if name != "test_slow"]
    second, tools = run({"tool_groups": {"test": False, "basic": {"tools": {"datetime": False}}}},
                        {"tool_groups": {"basic": {"tools": {"datetime": True}}, "careful": False}})
    assert tools == ["datetime", "text", "json2interface", "WriteVar", "RemoveVars"]

    def variables(thread):
        return {entry["name"] for entry in http.get(f"/v1/runnel/threads/{thread}/variables").json()["data"]}
    assert len(variables(first)) == len(variables(second)) == 2
    assert not variables(first) & variables(second)
