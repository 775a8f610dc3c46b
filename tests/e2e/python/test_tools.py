"""Tools that the server executes: the group `basic`, and the tools made for tests, on both faces."""

import json

import pytest

from harness.recorder import parse_events
from harness.stream import events_of
from harness.tools import WEATHER, WEATHER_FLAT, call, offered_names

BASIC = {"type": "mcp", "server_label": "basic", "server_url": "builtin:basic",
         "require_approval": "never"}
TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test",
        "require_approval": "never"}

STARTED = ["response.created", "response.in_progress"]
LISTED = ["response.output_item.added", "response.mcp_list_tools.in_progress",
          "response.mcp_list_tools.completed", "response.output_item.done"]
CALLED = ["response.output_item.added", "response.mcp_call.in_progress",
          "response.mcp_call_arguments.delta", "response.mcp_call_arguments.done",
          "response.mcp_call.completed", "response.output_item.done"]
SAID = ["response.output_item.added", "response.content_part.added", "response.output_text.delta",
        "response.output_text.done", "response.content_part.done", "response.output_item.done"]


def calls_then_says(upstream, *calls, text="Done: {{tool_output}}"):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": text}},
                    {"answer": {"tool_calls": [call(name, n + 1, **arguments)
                                               for n, (name, arguments) in enumerate(calls)]}})


def names(events):
    collapsed = []
    for event in events:
        if not (collapsed and collapsed[-1] == event["type"]
                and event["type"].endswith(".delta")):
            collapsed.append(event["type"])
    return collapsed


def items(events, kind):
    return [e["item"] for e in events
            if e["type"] == "response.output_item.done" and e["item"]["type"] == kind]


def text_of(item):
    return [part["text"] for part in item["content"]]


# ---- The basic group ----

@pytest.mark.threads
def test_a_group_is_listed_called_and_answered(stream, upstream, client):
    calls_then_says(upstream, ("datetime", {}))
    events = stream([BASIC])
    assert names(events) == [*STARTED, *LISTED, *CALLED, *SAID, "response.completed"]
    (listed,) = items(events, "mcp_list_tools")
    assert {t["name"] for t in listed["tools"]} == {"datetime", "text", "json2interface"}
    assert all(t["input_schema"]["type"] == "object" for t in listed["tools"])
    (called,) = items(events, "mcp_call")
    assert called["status"] == "completed" and called["error"] is None and called["output"]
    assert called["server_label"] == "basic" and called["name"] == "datetime"
    done = events[-1]["response"]
    kept = client.responses.retrieve(done["id"])
    assert [item.type for item in kept.output] == [item["type"] for item in done["output"]]
    assert kept.output[1].output == called["output"]
    first, second = upstream.chats()
    assert set(offered_names(first)) == {"datetime", "text", "json2interface"}
    assert second["messages"][-1] == {"role": "tool", "tool_call_id": "call_1",
                                      "content": called["output"]}


def test_tools_are_listed_once_in_a_chain(stream, upstream):
    calls_then_says(upstream, ("datetime", {}))
    first = stream([BASIC])[-1]["response"]
    events = stream([BASIC], previous_response_id=first["id"])
    assert not items(events, "mcp_list_tools")


def test_only_allowed_tools_are_offered(stream, upstream):
    calls_then_says(upstream, ("json2interface", {"json": "{}"}))
    events = stream([{**BASIC, "allowed_tools": ["datetime"]}])
    (called,) = items(events, "mcp_call")
    assert called["status"] == "failed" and "not found" in json.dumps(called["error"])
    assert offered_names(upstream.chats()[0]) == ["datetime"]


# ---- Expensive patterns ----

EVIL = {"operation": "find", "input": "a" * 60 + "!", "search": "/(a+)+$/"}
CHEAP = {"operation": "find", "input": "abc", "search": "/c/"}


def test_the_regular_expressions_of_a_run_share_a_budget(start_server, upstream):
    """Each of the calls would be allowed alone; the next run has a budget of its own."""
    server = start_server(run_regex_time=0.1)
    calls_then_says(upstream, ("text", EVIL), ("text", EVIL), ("text", EVIL), text="ok")
    with server.http() as http:
        failed = items(events_of(http, [BASIC]), "mcp_call")
        errors = [item["error"]["content"][0]["text"] for item in failed]
        assert all("of this run have taken 0.1 s together" in error for error in errors), errors
        calls_then_says(upstream, ("text", CHEAP), text="ok")
        (found,) = items(events_of(http, [BASIC]), "mcp_call")
    assert found["output"] == "2"


# ---- Concurrent outside, one after another inside ----

@pytest.mark.threads
def test_calls_run_concurrently_and_are_shown_one_after_another(stream, upstream):
    calls_then_says(upstream, ("test_slow", {"ms": 1500, "text": "late"}),
                    ("test_slow", {"ms": 1, "text": "early"}),
                    ("test_slow", {"ms": 2, "text": "next"}), text="ok")
    events = stream([TEST])
    shown = [item["output"] for item in items(events, "mcp_call")]
    # The first has the floor as soon as it starts. The others had ended long before it.
    assert shown[0] == "late" and sorted(shown) == ["early", "late", "next"]
    ends = [item["runnel"]["end"] for item in items(events, "mcp_call")]
    assert ends[0] > max(ends[1:])
    # The model gets outputs in the order of its calls.
    sent = [m["content"] for m in upstream.chats()[-1]["messages"] if m["role"] == "tool"]
    assert sent == ["late", "early", "next"]


SERIAL = [("test_slow", {"text": "one"}), ("get_weather", {"city": "Oslo"}),
          ("test_slow", {"text": "three"})]


@pytest.mark.parametrize("first", range(3))
def test_only_the_first_call_of_a_turn_counts_when_the_request_says_so(stream, client, upstream,
                                                                       first):
    """Others are neither shown nor executed nor stored, on the client as on the server."""
    calls = SERIAL[first:] + SERIAL[:first]
    calls_then_says(upstream, *calls, text="ok")
    events = stream([TEST, WEATHER_FLAT], parallel_tool_calls=False)
    assert upstream.chats()[0]["parallel_tool_calls"] is False
    name = calls[0][0]
    shown = [item for item in events[-1]["response"]["output"] if item["type"].endswith("_call")]
    assert [(item["name"], json.loads(item["arguments"])) for item in shown] == [calls[0]]
    assert [event["item"]["name"] for event in events
            if event["type"] == "response.output_item.added" and "name" in event["item"]] == [name]
    if name == "get_weather":
        client.responses.create(
            model="demo", previous_response_id=events[-1]["response"]["id"],
            tools=[TEST, WEATHER_FLAT],
            input=[{"type": "function_call_output", "call_id": "call_1", "output": "sun"}])
    messages = upstream.chats()[-1]["messages"]
    assert [len(m["tool_calls"]) for m in messages if "tool_calls" in m] == [1]
    assert [m["tool_call_id"] for m in messages if m["role"] == "tool"] == ["call_1"]


def test_sixty_four_tools_of_one_run_all_finish(stream, upstream):
    calls_then_says(upstream, *[("test_slow", {"ms": 5, "text": str(n)}) for n in range(64)],
                    text="ok")
    events = stream([TEST])
    assert sorted(int(i["output"]) for i in items(events, "mcp_call")) == list(range(64))
    sent = [m["content"] for m in upstream.chats()[-1]["messages"] if m["role"] == "tool"]
    assert sent == [str(n) for n in range(64)]


# ---- Errors for the model ----

def test_a_failing_tool_does_not_fail_the_run(stream, upstream):
    calls_then_says(upstream, ("test_fail", {"message": "no such city"}))
    events = stream([TEST])
    (called,) = items(events, "mcp_call")
    assert called["status"] == "failed" and called["output"] is None
    assert called["error"] == {"type": "mcp_tool_execution_error",
                               "content": [{"type": "text", "text": "no such city"}]}
    assert "response.mcp_call.failed" in names(events)
    assert events[-1]["response"]["status"] == "completed"
    assert events[-1]["response"]["output"][-1]["content"][0]["text"] == "Done: no such city"


def test_bella_A5_one_tool_fails_and_a_later_one_succeeds(stream, upstream):
    calls_then_says(upstream, ("test_fail", {"message": "bad"}),
                    ("test_slow", {"ms": 20, "text": "good"}), text="ok")
    events = stream([TEST])
    assert [i["status"] for i in items(events, "mcp_call")] == ["failed", "completed"]
    assert events[-1]["type"] == "response.completed"


def test_bella_B22_a_tool_that_was_never_offered_is_not_the_clients(stream, upstream):
    calls_then_says(upstream, ("made_up", {"a": 1}))
    events = stream([TEST])
    assert not items(events, "function_call")
    (called,) = items(events, "mcp_call")
    assert called["error"]["content"][0]["text"] == "Tool made_up not found"
    assert events[-1]["type"] == "response.completed"


@pytest.mark.parametrize("arguments", ["{broken", "[1]", '"text"'])
def test_arguments_that_are_no_object_are_reported_to_the_model(stream, upstream, arguments):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "sorry"}},
                    {"answer": {"tool_calls": [{"name": "test_slow", "id": "call_1",
                                                "arguments": arguments}]}})
    events = stream([TEST])
    (called,) = items(events, "mcp_call")
    assert called["status"] == "failed" and called["arguments"] == arguments
    assert events[-1]["response"]["status"] == "completed"


NUL = r'{"city": "Oslo\u0000; rm"}'


def asks_with_nul(upstream, name):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "sorry"}},
                    {"answer": {"tool_calls": [{"name": name, "id": "call_1", "arguments": NUL}]}})


@pytest.mark.parametrize("approval", ["always", "never"])
def test_arguments_with_nul_are_neither_approved_nor_executed(stream, upstream, approval):
    """A handler would read what is before it, who approves the whole."""
    asks_with_nul(upstream, "text")
    events = stream([{**BASIC, "require_approval": approval}])
    (called,) = items(events, "mcp_call")
    assert not items(events, "mcp_approval_request")
    sent = r"The arguments are not valid JSON: Invalid JSON at line 1, column 25: a string may not hold \u0000"
    assert (called["status"], called["arguments"]) == ("failed", NUL)
    assert called["error"]["content"][0]["text"] == sent
    assert [m["content"] for m in upstream.chats()[-1]["messages"] if m["role"] == "tool"] == [sent]
    assert events[-1]["response"]["status"] == "completed"


def test_a_client_gets_arguments_with_nul_unchanged(stream, http, upstream):
    asks_with_nul(upstream, "get_weather")
    events = stream([WEATHER_FLAT])
    (asked,) = items(events, "function_call")
    assert asked["arguments"] == NUL
    first = events[-1]["response"]["id"]
    assert http.get(f"/v1/responses/{first}").json()["output"][0]["arguments"] == NUL
    answer = http.post("/v1/responses", json={
        "model": "demo", "previous_response_id": first, "tools": [WEATHER_FLAT],
        "input": [{"type": "function_call_output", "call_id": "call_1", "output": "wet"}]})
    assert answer.json()["status"] == "completed"
    (called,) = [m for m in upstream.chats()[-1]["messages"] if m.get("tool_calls")]
    assert called["tool_calls"][0]["function"]["arguments"] == NUL


@pytest.mark.feature("F77", "F78")
def test_arguments_are_checked_against_the_schema(stream, upstream):
    """Every issue reaches the model with its path, the tool is not called, and the run continues; a
    property that the tool does not know does no harm, nor does a limit."""
    calls_then_says(upstream, ("text", {"operation": "count", "input": 7}),
                    ("text", {"operation": "length", "input": "four", "colour": 1, "limit": 100}))
    events = stream([BASIC])
    wrong, right = items(events, "mcp_call")
    assert wrong["status"] == "failed" and wrong["output"] is None
    sent = ('Invalid text parameters:\n- operation: expected one of ["length","find","findAll",'
            '"replace","replaceAll"], received "count"\n- input: expected string, received integer')
    assert wrong["error"]["content"][0]["text"] == sent
    assert right["output"] == "4"
    tool_results = [m["content"] for m in upstream.chats()[-1]["messages"] if m["role"] == "tool"]
    assert tool_results == [sent, "4"]
    assert events[-1]["type"] == "response.completed"


@pytest.mark.feature("F05")
def test_the_text_of_a_final_tool_is_not_cut(stream, upstream):
    upstream.answer(tool_calls=[call("test_final", pieces=["x" * 9000])])
    events = stream([TEST])
    called, = items(events, "mcp_call")
    said, = items(events, "message")
    assert said["content"][0]["text"] == called["output"] == "x" * 9000
    assert not called.get("runnel", {}).get("is_truncated")


@pytest.mark.feature("F04", "F05", "F10")
@pytest.mark.parametrize("tool, arguments, runnel, shown", [
    ("test_slow", {"text": "0123456789", "limit": 4},
     {}, "01\n\n... too long, characters left out here: 6 ...\n\n89"),
    ("test_slow", {"text": "0123456789", "limit": 4}, {"rules": {"language": "zh"}},
     "01\n\n...输出过长，省略中间 6 个字符...\n\n89"),
    ("test_slow", {"text": "0123456789"}, {"truncation": {"mode": "head", "limit": 4}},
     "0123\n\n... too long, characters left out at the end: 6 ..."),
    ("test_short", {"text": "x" * 11},
     {}, "xxxxx\n\n... too long, characters left out here: 1 ...\n\nxxxxx"),
    ("test_pages", {"text": "0123456789", "begin": 3, "limit": 2}, {}, "page: 34")])
def test_only_the_final_text_reaches_the_model(stream, upstream, tool, arguments,
                                                           runnel, shown):
    calls_then_says(upstream, (tool, arguments))
    called, = items(stream([TEST], runnel={**runnel, "tool_groups": {"vars": False}}), "mcp_call")
    assert called["output"] == shown and called["runnel"]["is_truncated"] is True
    assert [m["content"] for m in upstream.chats()[-1]["messages"]
            if m["role"] == "tool"] == [shown]


@pytest.mark.feature("F28")
@pytest.mark.parametrize("tool, arguments, runnel, count, start, length", [
    ("test_pages", {"begin": 3, "limit": 2}, {}, 2, 5, 5),
    ("test_pages", {"limit": 4}, {}, 4, 4, 6),
    ("test_slow", {"limit": 4}, {}, 4, 2, 6),
    ("test_slow", {}, {"truncation": {"mode": "head", "limit": 4}}, 4, 4, 6)])
def test_the_hint_counts_only_the_shown_text(stream, upstream, tool, arguments, runnel,
                                                             count, start, length):
    """A tool with its own cutter may add text around what it shows, such as a page's heading."""
    calls_then_says(upstream, (tool, {"text": "0123456789", **arguments}))
    called, = items(stream([TEST], runnel=runnel), "mcp_call")
    hint = called["output"].split("<!--ToolCallLog:Begin-->")[1]
    assert f"The result was cut to {count} characters. The full result (10 characters)" in hint
    assert f'"start":{start},"length":{length}}}' in hint


@pytest.mark.feature("F06")
@pytest.mark.parametrize("tool, arguments", [("test_slow", {"text": "x" * 8000}),
                                             ("test_slow", {"text": "x" * 9000, "limit": -1}),
                                             ("test_whole", {"text": "x" * 9000})])
def test_a_complete_result_is_not_marked_as_truncated(stream, upstream, tool, arguments):
    calls_then_says(upstream, (tool, arguments))
    called, = items(stream([TEST]), "mcp_call")
    assert called["output"] == arguments["text"] and "is_truncated" not in called["runnel"]


@pytest.mark.parametrize("runnel, param", [
    ({"truncation": {"mode": "tail"}}, "runnel.truncation.mode"),
    ({"truncation": {"limit": 0}}, "runnel.truncation.limit"),
    ({"truncation": {"limits": 1}}, "runnel.truncation.limits"),
    ({"rules": {"language": "fr"}}, "runnel.rules.language"), ({"rule": {}}, "runnel.rule")])
def test_a_typing_error_in_runnel_is_refused(http, runnel, param):
    answer = http.post("/v1/responses", json={"model": "demo", "input": "go", "runnel": runnel})
    assert answer.status_code == 400 and answer.json()["error"]["param"] == param


def test_bella_B4_whole_arguments_in_the_first_delta_are_not_lost(stream, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [{**call("test_slow", ms=1, text="kept"),
                                                "split": "whole"}]}})
    (called,) = items(stream([TEST]), "mcp_call")
    assert called["output"] == "kept"


def test_bella_B5_a_forced_choice_is_sent_once(stream, upstream):
    calls_then_says(upstream, ("datetime", {}))
    stream([BASIC], tool_choice="required")
    first, second = upstream.chats()
    assert first["tool_choice"] == "required" and "tool_choice" not in second


# ---- Final and hidden tools ----

def test_a_final_tools_output_is_the_message(stream, upstream, client):
    calls_then_says(upstream, ("test_final", {"pieces": ["The ", "answer."]}))
    events = stream([TEST])
    (message,) = items(events, "message")
    assert text_of(message) == ["The answer."]
    deltas = [e["delta"] for e in events if e["type"] == "response.output_text.delta"]
    assert "".join(deltas) == "The answer." and len(deltas) == 2
    assert len(upstream.chats()) == 1
    done = events[-1]["response"]
    assert done["status"] == "completed"
    assert client.responses.retrieve(done["id"]).output_text == "The answer."


def test_two_final_tools_make_one_message_with_a_part_each(stream, upstream):
    calls_then_says(upstream, ("test_final", {"pieces": ["one"]}),
                    ("test_final", {"pieces": ["two"]}))
    events = stream([TEST])
    (message,) = items(events, "message")
    assert sorted(text_of(message)) == ["one", "two"]
    assert len(upstream.chats()) == 1


def test_a_final_tool_beside_another_continues_to_the_model(stream, upstream):
    calls_then_says(upstream, ("test_final", {"pieces": ["shown"]}),
                    ("test_slow", {"ms": 1, "text": "fact"}), text="And that is it.")
    events = stream([TEST])
    assert [text_of(m) for m in items(events, "message")] == [["shown"], ["And that is it."]]
    assert len(upstream.chats()) == 2
    roles = [m["role"] for m in upstream.chats()[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "assistant"]


def test_bella_A7_an_image_of_a_final_tool_does_not_keep_the_floor(stream, upstream):
    calls_then_says(upstream, ("test_final_image", {}), ("test_slow", {"ms": 1, "text": "x"}),
                    text="ok")
    events = stream([TEST])
    assert events[-1]["type"] == "response.completed"
    assert [i["output"] for i in items(events, "mcp_call") if i["name"] == "test_slow"] == ["x"]


def test_results_of_hidden_tools_reach_the_model_only(stream, upstream, client):
    calls_then_says(upstream, ("test_hidden", {"text": "secret"}), text="ok")
    events = stream([TEST])
    assert not items(events, "mcp_call") and "secret" not in json.dumps(events)
    (listed,) = items(events, "mcp_list_tools")
    assert "test_hidden" not in {t["name"] for t in listed["tools"]}
    tool = upstream.chats()[-1]["messages"][-1]
    assert tool["role"] == "tool" and tool["content"]
    kept = client.responses.retrieve(events[-1]["response"]["id"])
    assert [item.type for item in kept.output] == ["mcp_list_tools", "message"]
    # What a hidden tool found is still known in the next response of the chain.
    upstream.forget()
    stream([TEST], previous_response_id=kept.id)
    assert [m["role"] for m in upstream.chats()[0]["messages"]].count("tool") == 1


# ---- Hosted items: events with item ids, numbers and places (checked by `stream`) ----

@pytest.mark.parametrize("tool, kind, stages", [
    ("test_image", "image_generation_call",
     ["in_progress", "generating", "partial_image", "completed"]),
    ("test_search", "file_search_call", ["in_progress", "searching", "completed"]),
    ("test_web", "web_search_call", ["in_progress", "searching", "completed"]),
])
def test_stages_of_hosted_tools_become_events(stream, upstream, tool, kind, stages):
    calls_then_says(upstream, (tool, {"query": "cats"}), text="ok")
    events = stream([TEST])
    sent = [e["type"] for e in events if e["type"].startswith(f"response.{kind}.")]
    assert sent == [f"response.{kind}.{stage}" for stage in stages]
    (item,) = items(events, kind)
    assert item["status"] == "completed"
    if kind == "image_generation_call":
        assert item["result"]
        (partial,) = [e for e in events if e["type"].endswith("partial_image")]
        assert partial["partial_image_index"] == 0 and partial["partial_image_b64"]
    if kind == "file_search_call":
        assert item["queries"] == ["cats"]
    if kind == "web_search_call":
        assert item["action"] == {"type": "search", "query": "cats"}


def test_code_of_the_interpreter_is_streamed(stream, upstream):
    calls_then_says(upstream, ("test_code", {"pieces": ["a = 1\n", "b = 2\n"]}), text="ok")
    events = stream([TEST])
    kind = "response.code_interpreter_call"
    sent = [e["type"] for e in events if e["type"].startswith(kind)]
    assert sent == [f"{kind}.in_progress", f"{kind}_code.delta", f"{kind}_code.delta",
                    f"{kind}_code.done", f"{kind}.interpreting", f"{kind}.completed"]
    (item,) = items(events, "code_interpreter_call")
    assert item["code"] == "a = 1\nb = 2\n"


def test_the_request_context_reaches_the_tool(stream, upstream):
    calls_then_says(upstream, ("test_echo_context", {}), text="ok")
    events = stream([TEST], user="u-17", runnel={"context": {"tenant": "acme", "deep": [1, 2]}})
    (called,) = items(events, "mcp_call")
    seen = json.loads(called["output"])
    assert seen["user"] == "u-17"
    assert seen["context"] == {"tenant": "acme", "deep": [1, 2]}
    assert seen["config"]["server_label"] == "test"


# ---- Assistants ----

@pytest.fixture
def runs(client):
    return client.beta.threads.runs


@pytest.fixture
def thread_run(client, http):
    """A streamed run of a new thread: (events, run)."""
    def start(tools, **body):
        assistant = client.beta.assistants.create(model="demo")
        answer = http.post("/v1/threads/runs", json={
            "assistant_id": assistant.id, "tools": tools, "stream": True,
            "thread": {"messages": [{"role": "user", "content": "go"}]}, **body})
        assert answer.status_code == 200, answer.text
        events = [(name, json.loads(data)) for name, data in parse_events(answer.text)
                  if name != "done"]
        run = [data for name, data in events if name.startswith("thread.run.")
               and ".step." not in name][-1]
        return events, run
    return start


def steps_of(runs, run):
    return runs.steps.list(run["id"], thread_id=run["thread_id"], order="asc").data


@pytest.mark.threads
def test_a_run_shows_server_side_calls_as_functions_with_output(thread_run, upstream, runs):
    calls_then_says(upstream, ("test_slow", {"ms": 1, "text": "fact"}))
    events, run = thread_run([TEST])
    assert run["status"] == "completed"
    tool_step, message_step = steps_of(runs, run)
    (shown,) = tool_step.step_details.tool_calls
    assert (shown.type, shown.function.name, shown.function.output) == ("function", "test_slow",
                                                                       "fact")
    assert message_step.type == "message_creation"
    deltas = [d["delta"]["step_details"]["tool_calls"][0] for n, d in events
              if n == "thread.run.step.delta"]
    assert [d.get("id") for d in deltas] == ["call_1"] + [None] * (len(deltas) - 1)
    assert "".join(d["function"].get("output") or "" for d in deltas) == "fact"
    assert "".join(d["function"].get("arguments", "") for d in deltas) == '{"ms":1,"text":"fact"}'


@pytest.mark.threads
def test_bella_A6_server_and_client_tools_in_one_turn(thread_run, upstream, runs, http):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Both done."}},
                    {"answer": {"tool_calls": [call("test_fail", 1, message="bad"),
                                               call("get_weather", 2, city="Rome"),
                                               call("test_slow", 3, ms=1, text="ours")]}})
    events, run = thread_run([TEST, WEATHER])
    assert run["status"] == "requires_action" and events[-1][0] == "thread.run.requires_action"
    (asked,) = run["required_action"]["submit_tool_outputs"]["tool_calls"]
    assert asked["id"] == "call_2"
    # Not through the SDK: its strict validation knows no mcp tools in runs.
    answer = http.post(
        f"/v1/threads/{run['thread_id']}/runs/{run['id']}/submit_tool_outputs",
        json={"tool_outputs": [{"tool_call_id": "call_2", "output": "sunny"}], "stream": True})
    events = parse_events(answer.text)
    assert [name for name, _ in events][:3] == ["thread.run.step.completed", "thread.run.queued",
                                                "thread.run.in_progress"]
    assert [name for name, _ in events][-2:] == ["thread.run.completed", "done"]
    sent = {m["tool_call_id"]: m["content"] for m in upstream.chats()[-1]["messages"]
            if m["role"] == "tool"}
    assert sent == {"call_1": "bad", "call_2": "sunny", "call_3": "ours"}
    asked_in_order = upstream.chats()[-1]["messages"][-4]["tool_calls"]
    assert [c["id"] for c in asked_in_order] == ["call_1", "call_2", "call_3"]
    tool_step = steps_of(runs, run)[0]
    assert {c.function.name: c.function.output for c in tool_step.step_details.tool_calls} == {
        "test_fail": "bad", "get_weather": "sunny", "test_slow": "ours"}


def test_bella_A1_many_turns_with_tools_lose_no_wake_up(thread_run, upstream):
    for _ in range(3):
        upstream.script(*[{"times": 1, "answer": {"tool_calls": [
            call("test_slow", n + 1, ms=n % 3, text=str(n))]}} for n in range(8)],
            {"answer": {"text": "end"}})
        _, run = thread_run([TEST])
        assert run["status"] == "completed"


def test_a_final_tool_ends_a_run_with_its_message(thread_run, upstream, client):
    calls_then_says(upstream, ("test_final", {"pieces": ["All ", "done."]}))
    events, run = thread_run([TEST])
    assert run["status"] == "completed"
    message = client.beta.threads.messages.list(run["thread_id"], limit=1).data[0]
    assert message.role == "assistant" and message.content[0].text.value == "All done."
    assert [n for n, _ in events].count("thread.message.delta") == 2


def test_files_of_the_thread_are_visible_by_tool_type(thread_run, upstream, runs, client):
    file = client.files.create(file=("a", b"a"), purpose="assistants").id
    calls_then_says(upstream, ("test_echo_context", {}), text="ok")
    _, run = thread_run([{**TEST, "server_label": "code_interpreter"}],
                        tool_resources={"code_interpreter": {"file_ids": [file]}})
    (shown,) = steps_of(runs, run)[0].step_details.tool_calls
    assert json.loads(shown.function.output)["files"] == [file]


# ---- Both faces of what was said ----

def test_bella_B6_mixed_calls_leave_only_the_clients_open(client, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Both."}},
                    {"answer": {"tool_calls": [call("test_slow", 1, ms=1, text="ours"),
                                               call("get_weather", 2, city="Rome")]}})
    first = client.responses.create(model="demo", input="go", tools=[TEST, WEATHER_FLAT])
    assert first.status == "completed"
    kinds = [item.type for item in first.output]
    assert kinds == ["mcp_list_tools", "function_call", "mcp_call"]
    second = client.responses.create(
        model="demo", previous_response_id=first.id, tools=[TEST, WEATHER_FLAT],
        input=[{"type": "function_call_output", "call_id": "call_2", "output": "sunny"}])
    assert second.output_text == "Both."
    sent = [m for m in upstream.chats()[-1]["messages"] if m["role"] == "tool"]
    assert [(m["tool_call_id"], m["content"]) for m in sent] == [("call_1", "ours"),
                                                                 ("call_2", "sunny")]
