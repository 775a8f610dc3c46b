"""Tool settings of a project and of its users: F49."""

import openai
import pytest

from harness.tools import READERS, WEATHER_FLAT, asks_for, call, offered_names
from test_approvals import answer, calls_of, questions

PATH = "/v1/runnel/tool_settings"
BASIC = {"type": "mcp", "server_label": "basic", "server_url": "builtin:basic"}
BASIC_TOOLS = ["datetime", "text", "json2interface"]
ALWAYS = {"execution": "ask-always"}


@pytest.fixture
def settings(http):
    """settings(user=None, **what) says it; what was said is taken back in the end."""
    said = set()

    def settings(user=None, **what):
        said.add(user)
        answer = http.post(PATH, params={"user": user} if user else {}, json=what)
        assert answer.status_code == 200, answer.text
        return answer.json()
    yield settings
    for user in said:
        http.delete(PATH, params={"user": user} if user else {})


@pytest.fixture
def ask(client, upstream):
    """A response; what its upstream was offered."""
    def ask(runnel=None, **body):
        client.responses.create(model="demo", input="go", **body,
                                extra_body={"runnel": runnel} if runnel is not None else None)
        return offered_names(upstream.chats()[-1])
    return ask


# ---- The settings themselves ----

def test_settings_are_set_read_and_removed(http, settings):
    assert http.get(PATH).status_code == 404
    made = settings(tool_groups={"basic": True})
    assert made["object"] == "runnel.tool_settings" and made["user"] is None
    assert made["tool_groups"] == {"basic": True} and made["permissions"] == {}
    changed = settings(permissions={"basic/text": ALWAYS, "basic": {"permissionLevel": "moderate"}})
    assert changed["id"] == made["id"] and changed["tool_groups"] == {"basic": True}
    assert http.get(PATH).json() == changed
    assert settings(tool_groups=None)["tool_groups"] == {}
    gone = http.delete(PATH)
    assert gone.json() == {"id": made["id"], "object": "runnel.tool_settings.deleted", "deleted": True}
    again = http.delete(PATH)
    assert again.status_code == 404
    assert again.json()["error"]["message"] == "No tool settings found for this project."


def test_a_misspelt_user_is_refused(http, settings):
    made = settings(permissions={"basic/text": ALWAYS})
    for method, body in (("GET", None), ("POST", {"permissions": None}), ("DELETE", None)):
        refused = http.request(method, f"{PATH}?usr=ann", json=body)
        assert refused.status_code == 400, method
        error = refused.json()["error"]
        assert (error["param"], error["code"]) == ("usr", "unknown_parameter")
        assert error["message"] == "Unknown parameter: 'usr'. Did you mean 'user'?"
    assert http.get(PATH).json() == made


def test_settings_of_users_are_listed(http, settings):
    names = ["ann", "bob/../x y", "žofie@example.com"]
    for name in names:
        settings(name, tool_groups={"basic": False})
    settings(tool_groups={})
    page = http.get(f"{PATH}/users", params={"order": "asc", "limit": 2}).json()
    assert [one["user"] for one in page["data"]] == names[:2] and page["has_more"] is True
    rest = http.get(f"{PATH}/users", params={"order": "asc", "after": page["last_id"]}).json()
    assert [one["user"] for one in rest["data"]] == names[2:] and rest["has_more"] is False
    for name in names:
        assert http.get(PATH, params={"user": name}).json()["user"] == name
    unknown = http.get(PATH, params={"user": "eve"})
    assert unknown.status_code == 404
    assert unknown.json()["error"]["message"] == "No tool settings found for user 'eve'."


@pytest.mark.parametrize("body, param, code, message", [
    ({"tool_groups": {"basics": True}}, "tool_groups.basics", "invalid_value",
     "Invalid value: there is no tool group 'basics' on this server."),
    ({"tool_groups": {"basic": {"tools": {"txt": False}}}}, "tool_groups.basic.tools.txt",
     "invalid_value", "Invalid value: the tool group 'basic' has no tool 'txt'."),
    ({"tool_groups": {"basic": {"enable": False}}}, "tool_groups.basic.enable", "unknown_parameter",
     None),
    ({"tool_groups": {"basic": "off"}}, "tool_groups.basic", "invalid_type", None),
    ({"permissions": {"basic/txt": ALWAYS}}, "permissions.basic/txt", "invalid_value",
     "Invalid value: there is no tool 'basic/txt' on this server. Expected 'group/tool' or 'group'."),
    ({"permissions": {"basic": {"execution": "ask-twice"}}}, "permissions.basic.execution",
     "invalid_value", "Invalid value for 'permissions.basic.execution': expected one of 'auto', "
                      "'ask-once' and 'ask-always'."),
    ({"permissions": {"basic": {"exec": "auto"}}}, "permissions.basic.exec", "unknown_parameter",
     "Unknown parameter: 'permissions.basic.exec'."),
    ({"permissions": []}, "permissions", "invalid_type", None),
    ({"tool_group": {}}, "tool_group", "unknown_parameter", None),
])
def test_invalid_settings_are_refused(http, body, param, code, message):
    """At once, and nothing of it is kept."""
    answer = http.post(PATH, json=body)
    error = answer.json()["error"]
    assert answer.status_code == 400, answer.text
    assert (error["param"], error["code"], error["type"]) == (param, code, "invalid_request_error")
    assert message is None or error["message"] == message
    assert http.get(PATH).status_code == 404


def test_a_user_must_have_a_name(http):
    for user, code in [("", "invalid_value"), ("x" * 513, "string_above_max_length")]:
        answer = http.get(PATH, params={"user": user})
        assert answer.status_code == 400
        assert (answer.json()["error"]["param"], answer.json()["error"]["code"]) == ("user", code)


# ---- Which tools are on ----

def test_the_most_specific_level_wins(ask, settings):
    """Project, user, request: of each word the nearest counts."""
    assert ask() == []
    settings(tool_groups={"basic": True})
    assert ask() == BASIC_TOOLS
    settings("ann", tool_groups={"basic": {"tools": {"text": False}}})
    assert ask(user="ann") == ["datetime", "json2interface"]
    assert ask(user="bob") == BASIC_TOOLS
    assert ask({"tool_groups": {"basic": {"tools": {"datetime": False}}}}, user="ann") == [
        "json2interface"]
    assert ask({"tool_groups": {"basic": {"tools": {"text": True}}}}, user="ann") == BASIC_TOOLS
    assert ask({"tool_groups": {"basic": False}}) == []


def test_a_tool_that_the_project_turns_off_is_off(ask, settings):
    """Also for an entry that offers it; a request that means it says so by name."""
    settings(tool_groups={"basic": False})
    assert ask(tools=[BASIC]) == []
    assert ask({"tool_groups": {"basic": True}}) == BASIC_TOOLS
    settings("ann", tool_groups={"basic": True})
    assert ask(user="ann") == BASIC_TOOLS


def test_the_safety_identifier_also_names_the_user(ask, settings):
    settings("hash-1", tool_groups={"basic": True})
    assert ask(safety_identifier="hash-1") == BASIC_TOOLS
    assert ask(safety_identifier="hash-1", user="ann") == []
    assert ask(safety_identifier="hash-2") == []
    assert ask(safety_identifier="hash-1", store=False) == BASIC_TOOLS


def test_a_tool_of_the_request_replaces_one_from_the_settings(ask, settings):
    settings(tool_groups={"basic": True})
    own = {"type": "function", "name": "text", "parameters": {"type": "object", "properties": {}}}
    assert ask(tools=[own]) == ["text", "datetime", "json2interface"]


@pytest.mark.feature("F14")
def test_readers_can_be_turned_off_for_all_runs(client, upstream, settings):
    settings(tool_groups={"basic": True, "vars": {"tools": {"ListVars": False}}})
    client.responses.create(model="demo", input="go")
    names = [tool["function"]["name"] for tool in upstream.chats()[-1]["tools"]]
    assert names == [*BASIC_TOOLS, READERS[0]]


def test_settings_apply_to_runs_of_threads(client, upstream, settings):
    """Behind those of assistant and thread; runs name their user, too."""
    settings(tool_groups={"basic": True})
    settings("ann", tool_groups={"basic": {"tools": {"text": False}}})

    def run(assistant=None, **more):
        made = client.beta.assistants.create(
            model="demo", extra_body={"runnel": assistant} if assistant else {})
        ended = client.beta.threads.create_and_run_poll(
            assistant_id=made.id, thread={"messages": [{"role": "user", "content": "go"}]},
            poll_interval_ms=50, extra_body=more)
        assert ended.status == "completed", ended.last_error
        return offered_names(upstream.chats()[-1])
    assert run() == BASIC_TOOLS
    assert run(user="ann") == run(safety_identifier="ann") == ["datetime", "json2interface"]
    assert run({"tool_groups": {"basic": False}}, user="ann") == []
    with pytest.raises(openai.BadRequestError) as caught:
        run(user="x" * 513)
    assert caught.value.param == "user"


def test_tokens_are_counted_with_the_tools_that_are_on(client, settings):
    few = client.responses.input_tokens.count(model="demo", input="go").input_tokens
    settings(tool_groups={"basic": True})
    assert client.responses.input_tokens.count(model="demo", input="go").input_tokens > few + 50


def test_the_list_of_tools_shows_the_effective_settings(http, settings):
    def clock(**query):
        tools = http.get("/v1/runnel/tools", params={"group": "basic", **query}).json()["data"]
        return tools[0]
    assert clock()["group_enabled"] is False
    settings(tool_groups={"basic": True}, permissions={"basic": {"execution": "ask-once"}})
    settings("ann", tool_groups={"basic": {"tools": {"datetime": False}}},
             permissions={"basic/datetime": {"execution": "auto", "result": "always"}})
    assert clock()["group_enabled"] is True and clock()["enabled"] is True
    assert (clock()["execution_policy"], clock()["result_policy"]) == ("ask-once", "never")
    hers = clock(user="ann")
    assert hers["enabled"] is False and hers["auto_execute"] is False
    assert (hers["execution_policy"], hers["result_policy"]) == ("ask-once", "always")
    assert clock(level="moderate")["name"] == "datetime"


# ---- Who is asked ----

def test_policies_in_settings_need_approvals(client, upstream, settings):
    """Under any label that a request gives to the group, and against what the request says."""
    settings(permissions={"basic/datetime": ALWAYS})
    asks_for(upstream, call("datetime"))

    def go(tool, runnel=None, **body):
        return client.responses.create(model="demo", input="go", tools=[tool], **body,
                                       extra_body={"runnel": runnel} if runnel else None)
    lax = {"permissions": {"mine": {"execution": "auto"}}}
    mine = {**BASIC, "server_label": "mine", "require_approval": "never"}
    (question,) = questions(go(mine, lax))
    assert question.runnel["policy"] == "ask-always"
    settings(permissions=None)
    assert not questions(go(mine, lax))
    settings("ann", permissions={"basic": {"executionPolicy": "ask-once"}})
    (question,) = questions(go(mine, lax, user="ann"))
    assert question.runnel["policy"] == "ask-once"
    assert not questions(go(mine, lax, user="bob"))


def test_a_user_cannot_loosen_the_projects_policy(client, upstream, settings):
    settings(permissions={"basic": ALWAYS})
    settings("ann", permissions={"basic/datetime": {"execution": "auto"}})
    asks_for(upstream, call("datetime"))
    assert questions(client.responses.create(model="demo", input="go", tools=[BASIC], user="ann"))


def test_nothing_loosens_the_operators_policy(start_server, tmp_path, upstream):
    """Neither a policy nor a group that is not to be had."""
    config = tmp_path / "runnel.yaml"
    config.write_text("tools:\n  groups: {test: false}\n"
                      "  permissions: {basic/datetime: {execution: ask-always}}\n")
    server = start_server(config=config)
    client, http = server.sdk(), server.http()
    assert http.post(PATH, json={"permissions": {"basic": {"execution": "auto"}},
                                 "tool_groups": {"basic": True}}).status_code == 200
    refused = http.post(PATH, json={"tool_groups": {"test": True}})
    assert refused.status_code == 400 and refused.json()["error"]["param"] == "tool_groups.test"
    asks_for(upstream, call("datetime"))
    assert questions(client.responses.create(model="demo", input="go"))


# ---- For how long, and for whom ----

def test_a_run_keeps_the_settings_it_was_made_with(client, upstream, settings):
    """Settings that change while it waits apply to later runs."""
    settings(tool_groups={"basic": True}, permissions={"basic/text": ALWAYS})
    upstream.script({"times": 1, "answer": {"tool_calls": [call("get_weather", 1, city="Paris")]}},
                    {"times": 1, "answer": {"tool_calls": [
                        call("text", 2, input="a", operation="length")]}},
                    {"answer": {"text": "done"}})
    assistant = client.beta.assistants.create(model="demo", tools=[
        {"type": "function", "function": {"name": "get_weather"}}])
    run = client.beta.threads.create_and_run_poll(
        assistant_id=assistant.id, poll_interval_ms=50,
        thread={"messages": [{"role": "user", "content": "go"}]})
    assert run.status == "requires_action"
    settings(tool_groups={"basic": False}, permissions={})
    run = client.beta.threads.runs.submit_tool_outputs_and_poll(
        thread_id=run.thread_id, run_id=run.id, poll_interval_ms=50,
        tool_outputs=[{"tool_call_id": "call_1", "output": "sun"}])
    (question,) = run.required_action.submit_tool_outputs.tool_calls
    assert question.function.name == "runnel_approval"
    assert offered_names(upstream.chats()[-1]) == ["get_weather", *BASIC_TOOLS]


def test_an_approved_call_runs_with_the_settings_of_its_answer(client, upstream, settings):
    """A response that goes on is a run of its own."""
    settings(tool_groups={"basic": True}, permissions={"basic": ALWAYS})
    asks_for(upstream, call("datetime"))
    asked = client.responses.create(model="demo", input="go")
    (question,) = questions(asked)
    done = client.responses.create(model="demo", previous_response_id=asked.id,
                                   input=[answer(question, True)])
    assert calls_of(done)[0].status == "completed"
    again = client.responses.create(model="demo", input="go")
    settings(tool_groups={"basic": False})
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model="demo", previous_response_id=again.id,
                                input=[answer(questions(again)[0], True)])
    assert "is not offered by this request" in caught.value.message


def test_settings_of_one_project_do_not_affect_another(client, stranger, stranger_key, http, upstream, settings, ask):
    """Of a project, and of a user of the same name in another."""
    settings(tool_groups={"basic": True})
    settings("ann", tool_groups={"test": True})
    theirs = {"Authorization": f"Bearer {stranger_key}"}
    for user in ({}, {"user": "ann"}):
        assert http.get(PATH, params=user, headers=theirs).status_code == 404
        assert http.delete(PATH, params=user, headers=theirs).status_code == 404
    mine = http.get(f"{PATH}/users").json()["data"][0]["id"]
    assert http.get(f"{PATH}/users", headers=theirs).json()["data"] == []
    behind = http.get(f"{PATH}/users", headers=theirs, params={"after": mine, "order": "asc"})
    assert behind.json()["data"] == []
    stranger.responses.create(model="demo", input="go", user="ann")
    assert offered_names(upstream.chats()[-1]) == []
    stranger.responses.create(model="demo", input="go", user="ann", tools=[WEATHER_FLAT])
    assert offered_names(upstream.chats()[-1]) == ["get_weather"]
    assert ask() == BASIC_TOOLS


def test_a_request_cannot_set_tool_settings(http, upstream):
    """What the server keeps with a run is not for requests to say."""
    made = http.post("/v1/responses", json={"model": "demo", "input": "go", "tool_settings": {
        "tool_groups": {"basic": True}}})
    assert made.status_code == 200 and offered_names(upstream.chats()[-1]) == []
