"""Scripts that a project brings: parsed without being executed, offered as tools, run in a box of a call's own."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.sandbox import require_sandbox
from harness.tools import call, offered_names, then_says
from test_approvals import answer, calls_of, questions

SOURCE = '''"""Weather. Ask for the city first."""
import os
from typing import Literal, Optional

PROOF = open("/mnt/data/executed", "w") if os.path.isdir("/mnt/data") else None


def _hidden(): pass


def get_weather(city: str, days: int = 3, unit: Literal["c", "f"] = "c", note: Optional[str] = None) -> dict:
    """Returns the weather.

    Args:
        city (str): the city,
            or a place
        days: how many days

    Returns:
        the forecast
    """
    print("noise")
    return {"city": city, "days": days, "unit": unit}


def say(text: str):
    return text.upper()


def broken(): raise ValueError("no weather")


def slow():
    import time
    time.sleep(120)


def raw():
    os.write(int(os.environ.get("FD", "1")), b"")
    return object()


get_weather.executionPolicy = "auto"
say.format = lambda result, args: f"{args['text']} -> {result}"
broken.permissionLevel = "sensitive"
broken.requireResultApproval = True
'''


@pytest.fixture(autouse=True)
def sandbox(binary):
    require_sandbox(binary)


@pytest.fixture
def lax(client):
    """The SDK's assistants have no tools of type mcp."""
    return client.copy()


def put(http, name="weather.py", source=SOURCE, **more):
    return http.post("/v1/runnel/scripts", json={"name": name, "source": source, **more})


def entry(script, **more):
    return {"type": "mcp", "server_label": "w", "server_url": f"script:{script['id']}", **more}


@pytest.mark.feature("F55")
def test_a_script_is_parsed_and_not_executed(http):
    made = put(http)
    assert made.status_code == 200, made.text
    script = made.json()
    assert (script["object"], script["name"]) == ("runnel.script", "weather")
    assert script["rules"] == "Weather. Ask for the city first."
    tools = {tool["name"]: tool for tool in script["functions"]}
    assert list(tools) == ["get_weather", "say", "broken", "slow", "raw"]
    weather = tools["get_weather"]
    assert weather["description"] == "Returns the weather." and weather["returns"] == {
        "type": "dict", "note": "the forecast"}
    assert weather["parameters"] == {
        "type": "object", "required": ["city"], "additionalProperties": False,
        "properties": {"city": {"type": "string", "description": "the city, or a place"},
                       "days": {"type": "integer", "description": "how many days", "default": 3},
                       "unit": {"type": "string", "enum": ["c", "f"], "description": "unit", "default": "c"},
                       "note": {"type": "string", "description": "note"}}}
    # Nothing that executes goes unasked: its own words do not count.
    assert (weather["execution_policy"], weather["result_policy"]) == ("ask-once", "never")
    assert (tools["broken"]["execution_policy"], tools["broken"]["result_policy"]) == ("ask-always", "always")
    assert http.get(f"/v1/runnel/scripts/{script['id']}").json() == script


@pytest.mark.feature("F55")
def test_a_name_is_there_once_and_an_id_stays(http):
    first = put(http, "same").json()
    second = put(http, "same.py", "def f(): pass").json()
    assert second["id"] == first["id"] and second["hash"] != first["hash"]
    listed = http.get("/v1/runnel/scripts").json()["data"]
    assert [each["id"] for each in listed].count(first["id"]) == 1 and "source" not in listed[0]
    assert http.delete(f"/v1/runnel/scripts/{first['id']}").json() == {
        "id": first["id"], "object": "runnel.script.deleted", "deleted": True}
    gone = http.get(f"/v1/runnel/scripts/{first['id']}")
    assert gone.status_code == 404
    assert gone.json()["error"]["message"] == f"Script with id '{first['id']}' not found."


@pytest.mark.feature("F55")
@pytest.mark.parametrize("body, param, message", [
    ({"name": "a", "source": "def f(:"}, "source", "Invalid 'source': line 1: "),
    ({"name": "a", "source": "x = 1"}, "source", "Invalid 'source': it has no function"),
    ({"name": "a", "source": "def f(x, /): pass"}, "source", "Invalid 'source': line 1: f() has arguments without"),
    ({"name": "a", "source": "def \u00e4(): pass"}, "source", "Invalid 'source': line 1: a model cannot call"),
    ({"name": "a", "source": "(" * 60000}, "source", "Invalid 'source': "),
    ({"name": "a", "source": "#" * 65537}, "source", "Invalid 'source': "),
    ({"name": "a.ps1", "source": "x"}, "name", "Unsupported value: 'name' is that of a PowerShell script"),
    ({"name": "_a", "source": "x"}, "name", "Invalid 'name': expected letters"),
    ({"name": "../a", "source": "x"}, "name", "Invalid 'name': expected letters"),
    ({"name": "a"}, "source", "Missing required parameter: 'source'."),
    ({"source": "x"}, "name", "Missing required parameter: 'name'."),
])
def test_what_is_no_script_is_refused(http, body, param, message):
    refused = http.post("/v1/runnel/scripts", json=body)
    error = refused.json()["error"]
    assert refused.status_code == 400 and error["param"] == param, error
    assert error["type"] == "invalid_request_error" and error["message"].startswith(message), error


def run_all(client, upstream, script, *calls, **more):
    """The results that the model has read; every question is answered with yes."""
    then_says(upstream, *[[each] for each in calls], text="Done.")
    response = client.responses.create(model="demo", input="go", tools=[entry(script)], **more)
    while questions(response):
        response = client.responses.create(model="demo", tools=[entry(script)], previous_response_id=response.id,
                                           input=[answer(question) for question in questions(response)])
    assert response.output_text == "Done."
    return [message["content"] for message in upstream.chats()[-1]["messages"] if message["role"] == "tool"]


@pytest.mark.feature("F55")
def test_functions_are_tools_and_are_executed(client, http, upstream):
    script = put(http).json()
    data, text, error, odd = run_all(
        client, upstream, script, call("get_weather", 1, city="Rome", note=None), call("say", 2, text="hi"),
        call("broken", 3), call("raw", 4))
    assert json.loads(data[:data.index("}") + 1]) == {"city": "Rome", "days": 3, "unit": "c"}
    assert text.startswith("hi -> HI")
    assert error.startswith("Python execution error:\nno weather\n\nTraceback")
    assert odd.startswith("Python execution error:\nObject of type object is not JSON serializable")
    offered = upstream.chats()[0]
    assert [name for name in offered_names(offered) if name not in ("ReadVar", "ListVars")] == [
        "get_weather", "say", "broken", "slow", "raw"]
    assert "Weather. Ask for the city first." in json.dumps(offered["messages"][0])


@pytest.mark.feature("F55")
def test_an_answer_for_ever_counts_for_one_source(client, http, upstream):
    script = put(http, "versions", "def f(): return 1").json()
    then_says(upstream, [call("f", 1)], text="Done.")
    first = client.responses.create(model="demo", input="go", tools=[entry(script)])
    (question,) = questions(first)
    assert (question.name, question.runnel["policy"]) == ("f", "ask-once")
    done = client.responses.create(model="demo", tools=[entry(script)], previous_response_id=first.id,
                                   input=[answer(question, runnel={"remember": {"match": "tool"}})])
    assert calls_of(done)[0].output == "1"
    then_says(upstream, [call("f", 2)], text="Done.")
    again = client.responses.create(model="demo", input="go", tools=[entry(script)], previous_response_id=done.id)
    assert not questions(again) and calls_of(again)[0].output == "1"
    assert put(http, "versions", "def f(): return 2").json()["id"] == script["id"]
    then_says(upstream, [call("f", 3)], text="Done.")
    changed = client.responses.create(model="demo", input="go", tools=[entry(script)], previous_response_id=done.id)
    assert len(questions(changed)) == 1


@pytest.mark.feature("F55")
def test_what_was_approved_is_executed_after_the_script_has_gone(lax, http, upstream):
    script = put(http, "swapped", "def f(): return 'shown'").json()
    assistant = lax.beta.assistants.create(model="demo", tools=[entry(script)])
    thread = lax.beta.threads.create(messages=[{"role": "user", "content": "go"}])
    then_says(upstream, [call("f", 1)], text="Done.")
    run = lax.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
    assert run.status == "requires_action"
    put(http, "swapped", "def f(): return 'swapped'")
    (question,) = run.required_action.submit_tool_outputs.tool_calls
    run = lax.beta.threads.runs.submit_tool_outputs_and_poll(
        run_id=run.id, thread_id=thread.id, tool_outputs=[{"tool_call_id": question.id, "output": "true"}])
    assert run.status == "completed", run.last_error
    results = [message["content"] for message in upstream.chats()[-1]["messages"] if message["role"] == "tool"]
    assert results[0].startswith("shown")


@pytest.mark.feature("F55")
def test_unknown_scripts_are_refused_and_sources_stay_inside(client, http, upstream):
    refused = http.post("/v1/responses", json={"model": "demo", "input": "go", "tools": [
        {"type": "mcp", "server_label": "w", "server_url": "script:script_none"}]})
    error = refused.json()["error"]
    assert refused.status_code == 400 and error["param"] == "tools[0].server_url"
    assert error["message"] == "Script with id 'script_none' not found."
    script = put(http, "inside", "SECRET = 'do not show'\ndef f(): return 1").json()
    then_says(upstream, [call("f", 1)], text="Done.")
    made = http.post("/v1/responses", json={"model": "demo", "input": "go", "tools": [entry(script)],
                                            "runnel": {"permissions": {"w/f": {"result": "always"}}}})
    assert "mcp_approval_request" in made.text
    for shown in (made, http.get(f"/v1/responses/{made.json()['id']}"), http.get("/v1/runnel/approvals")):
        assert shown.status_code == 200 and "do not show" not in shown.text
    assert "do not show" not in json.dumps(upstream.chats())


@pytest.mark.feature("F55")
def test_a_policy_names_a_function_and_only_tightens(client, http, upstream):
    script = put(http, "tight", "def f(): return 1").json()
    then_says(upstream, [call("f", 1)], text="Done.")
    first = client.responses.create(model="demo", input="go", tools=[entry(script)], extra_body={
        "runnel": {"permissions": {"w/f": {"execution": "ask-always", "result": "always"}}}})
    (question,) = questions(first)
    assert question.runnel["policy"] == "ask-always"
    refused = http.post("/v1/responses", json={"model": "demo", "input": "go", "tools": [entry(script)],
                                               "scripts": {script["id"]: {"functions": [{"name": "g"}]}}})
    assert "mcp_approval_request" not in refused.text and '"g"' not in refused.text


@pytest.mark.feature("F55")
def test_allowed_tools_choose_functions(client, http, upstream):
    script = put(http).json()
    upstream.answer(text="Hi.")
    client.responses.create(model="demo", input="go", tools=[entry(script, allowed_tools=["say"])])
    assert [name for name in offered_names(upstream.chats()[0]) if name not in ("ReadVar", "ListVars")] == ["say"]


@pytest.mark.feature("F55")
def test_scripts_are_of_one_project(http, stranger_key):
    script = put(http, "mine").json()
    path = f"/v1/runnel/scripts/{script['id']}"
    theirs = {"headers": {"Authorization": f"Bearer {stranger_key}"}}
    assert http.get(path, **theirs).status_code == 404 and http.delete(path, **theirs).status_code == 404
    assert http.get("/v1/runnel/scripts", **theirs).json()["data"] == []
    refused = http.post("/v1/responses", json={"model": "demo", "input": "go", "tools": [entry(script)]}, **theirs)
    assert refused.status_code == 400
    assert refused.json()["error"]["message"] == f"Script with id '{script['id']}' not found."
    assert http.get(path).status_code == 200


@pytest.mark.slow
@pytest.mark.feature("F55")
def test_a_project_has_a_hundred_scripts_at_most(http, session_server):
    key = {"headers": {"Authorization": f"Bearer {session_server.new_key('many scripts')}"}}

    def made(name):
        return http.post("/v1/runnel/scripts", json={"name": name, "source": "def f(): pass"}, **key)

    with ThreadPoolExecutor(4) as pool:
        assert {answer.status_code for answer in pool.map(made, [f"s{n}" for n in range(100)])} == {200}
    refused = made("one-more")
    assert refused.status_code == 400
    assert refused.json()["error"]["message"] == "The project has 100 scripts, and may have no more. Delete one."
    assert made("s7").status_code == 200
