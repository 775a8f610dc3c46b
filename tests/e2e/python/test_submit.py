"""Outputs of the client's tools: as large as a body may be, in several rounds, beside the server's own
tools, and after another server has taken over meanwhile."""

import json

import pytest

from harness.raw_model import RawModel
from harness.recorder import parse_events
from harness.server import Server, eventually
from harness.tools import TIME, WEATHER, WEATHER_RULES, call

TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test",
        "require_approval": "never"}
MIB = 1 << 20


def begin(http, tools, text="weather"):
    assistant = http.post("/v1/assistants", json={"model": "demo", "tools": tools})
    made = http.post("/v1/threads/runs", json={
        "assistant_id": assistant.json()["id"],
        "thread": {"messages": [{"role": "user", "content": text}]}})
    assert made.status_code == 200, made.text
    return settled(http, made.json(), "requires_action", "failed", "completed")


def path_of(run):
    return f"/v1/threads/{run['thread_id']}/runs/{run['id']}"


def settled(http, run, *statuses):
    return eventually(lambda: http.get(path_of(run)).json(), lambda r: r["status"] in statuses,
                      seconds=40)


def asked(run):
    assert run["status"] == "requires_action", run
    calls = run["required_action"]["submit_tool_outputs"]["tool_calls"]
    return [one["id"] for one in calls]


def submit(http, run, outputs, **body):
    answer = http.post(f"{path_of(run)}/submit_tool_outputs", json={
        "tool_outputs": [{"tool_call_id": id, "output": text} for id, text in outputs.items()],
        **body})
    assert answer.status_code == 200, answer.text
    return answer


def calls_of(http, run):
    steps = http.get(f"{path_of(run)}/steps?order=asc&limit=100").json()["data"]
    return [one["function"] for step in steps if step["type"] == "tool_calls"
            for one in step["step_details"]["tool_calls"]]


def sent(chat):
    """Which outputs the model has seen."""
    return {m["tool_call_id"]: m["content"] for m in chat["messages"] if m["role"] == "tool"}


# ---- Large ones ----

def large(length):
    """Not of one letter, so that a piece which is lost or doubled is seen."""
    text = "".join(f"line {n} of the weather report, caf\u00e9\n" for n in range(length // 32))
    return text.encode()[:length].decode(errors="ignore")


@pytest.fixture(scope="module")
def raw_model():
    """Keeps what it gets, however long it is."""
    model = RawModel()
    yield model
    model.close()


@pytest.fixture
def model(raw_model):
    raw_model.answers.clear()
    raw_model.chats.clear()
    return raw_model


@pytest.fixture(scope="module")
def raw_server(binary, scratch, recorder, raw_model):
    directory = scratch / "submit"
    directory.mkdir(mode=0o755)
    server = Server(binary, directory, raw_model.url, recorder, lease_ttl=1).start()
    yield server
    assert server.stop() == 0


def asks(*numbers):
    """Deltas in which the model asks for the weather."""
    return [{"tool_calls": [{"index": index, "id": f"call_{number}", "type": "function",
                             "function": {"name": "get_weather", "arguments": "{}"}}]}
            for index, number in enumerate(numbers)]


SAYS = [{"content": "Long."}]


@pytest.mark.slow
@pytest.mark.parametrize("streamed", [False, True])
def test_an_output_of_nine_mebibytes_arrives_whole(raw_server, model, streamed):
    model.answers += [asks(1), SAYS]
    http = raw_server.http()
    run = begin(http, [WEATHER])
    text = large(9 * MIB)
    assert 8.9 * MIB < len(text.encode()) < 9.1 * MIB
    answer = submit(http, run, {"call_1": text}, stream=streamed)
    if streamed:
        events = parse_events(answer.text)
        assert [events[0][0], events[-2][0]] == ["thread.run.step.completed",
                                                 "thread.run.completed"]
        step = json.loads(events[0][1])
        assert step["step_details"]["tool_calls"][0]["function"]["output"] == text
    run = settled(http, run, "completed", "failed")
    assert run["status"] == "completed"
    assert sent(model.chats[-1]) == {"call_1": text}
    (shown,) = calls_of(http, run)
    assert shown["output"] == text


@pytest.mark.slow
def test_many_outputs_fill_a_body_together(raw_server, model):
    model.answers += [asks(*range(9)), SAYS]
    http = raw_server.http()
    run = begin(http, [WEATHER])
    text = large(MIB)
    submit(http, run, {id: id + text for id in asked(run)})
    assert settled(http, run, "completed", "failed")["status"] == "completed"
    assert sent(model.chats[-1]) == {f"call_{n}": f"call_{n}{text}" for n in range(9)}


def test_a_body_that_is_too_large_leaves_the_run_waiting(http, upstream):
    upstream.script(*WEATHER_RULES)
    run = begin(http, [WEATHER])
    answer = http.post(f"{path_of(run)}/submit_tool_outputs", json={
        "tool_outputs": [{"tool_call_id": "call_1", "output": "x" * (11 * MIB)}]})
    assert answer.status_code == 413
    assert asked(settled(http, run, "requires_action")) == ["call_1"]
    submit(http, run, {"call_1": "sunny"})
    assert settled(http, run, "completed", "failed")["status"] == "completed"


# ---- Rounds ----

def test_a_run_may_require_action_any_number_of_times(http, upstream):
    upstream.script({"match": {"tool_results": 12}, "answer": {"text": "Enough."}},
                    *[{"times": 1, "answer": {"tool_calls": [call(number=n, city=f"city {n}")]}}
                      for n in range(12)])
    run = begin(http, [WEATHER])
    for n in range(12):
        assert asked(run) == [f"call_{n}"]
        submit(http, run, {f"call_{n}": f"weather {n}"})
        eventually(lambda n=n: len(upstream.chats()), lambda asked, n=n: asked == n + 2)
        run = settled(http, run, "requires_action", "completed", "failed")
    assert run["status"] == "completed"
    assert [one["output"] for one in calls_of(http, run)] == [f"weather {n}" for n in range(12)]
    # Each round is sent as it was: a call, and its output after it.
    roles = [m["role"] for m in upstream.chats()[-1]["messages"]]
    assert roles == ["user"] + ["assistant", "tool"] * 12


def test_rounds_may_have_calls_of_several_kinds(http, upstream):
    """The server's and the client's in one turn, the client's alone, the server's alone."""
    upstream.script({"match": {"tool_results": 5}, "answer": {"text": "Done."}},
                    {"match": {"tool_results": 4}, "answer": {"tool_calls": [
                        call("test_slow", 5, ms=1, text="alone")]}},
                    {"match": {"tool_results": 3}, "answer": {"tool_calls": [
                        call("get_time", 4)]}},
                    {"answer": {"tool_calls": [call("test_slow", 1, ms=30, text="ours"),
                                               call("get_weather", 2, city="Rome"),
                                               call("get_time", 3)]}})
    run = begin(http, [TEST, WEATHER, TIME])
    assert asked(run) == ["call_2", "call_3"]
    answer = http.post(f"{path_of(run)}/submit_tool_outputs", json={"tool_outputs": [
        {"tool_call_id": id, "output": "x"} for id in ("call_1", "call_2", "call_3")]})
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == (
        "Expected tool outputs for call_ids ['call_2', 'call_3'], got "
        "['call_1', 'call_2', 'call_3']")
    submit(http, run, {"call_3": "noon", "call_2": "wet"})
    eventually(lambda: len(upstream.chats()), lambda count: count == 2)
    run = settled(http, run, "requires_action")
    assert asked(run) == ["call_4"]
    submit(http, run, {"call_4": "one"})
    run = settled(http, run, "completed", "failed")
    assert run["status"] == "completed"
    assert sent(upstream.chats()[-1]) == {"call_1": "ours", "call_2": "wet", "call_3": "noon",
                                          "call_4": "one", "call_5": "alone"}
    assert {one["output"] for one in calls_of(http, run)} == {
        "ours", "wet", "noon", "one", "alone"}


# ---- Elsewhere ----

@pytest.mark.slow
def test_every_step_of_a_run_may_use_another_server(raw_server, model):
    slow = {"tool_calls": [{"index": 1, "id": "call_1", "type": "function",
                            "function": {"name": "test_slow", "arguments": '{"text":"ours"}'}}]}
    model.answers += [[*asks(2), slow], asks(3), SAYS]
    run = begin(raw_server.http(), [TEST, WEATHER])
    text = large(9 * MIB)
    for id, output in (("call_2", text), ("call_3", "short")):
        raw_server.kill()
        raw_server.start()
        http = raw_server.http()
        assert asked(http.get(path_of(run)).json()) == [id]
        submit(http, run, {id: output})
        eventually(lambda: len(model.chats), lambda count, id=id: count == int(id[-1]))
        run = settled(http, run, "requires_action", "completed", "failed")
    assert run["status"] == "completed"
    assert sent(model.chats[-1]) == {"call_1": "ours", "call_2": text, "call_3": "short"}


@pytest.mark.parametrize("questions", [0, 1])
def test_approvals_are_read_only_where_there_may_be_one(start_server, upstream, database, statements,
                                                          questions):
    """Questions are looked for only where there may be one."""
    url = database.new()
    said = statements(url)
    http = start_server(database_url=url).http()
    asks = {**TEST, "require_approval": "always"}
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Well."}},
                    {"answer": {"tool_calls": [call("get_weather", 1)] +
                                [call("test_slow", 2, text="x")] * questions}})
    run = begin(http, [WEATHER, asks])
    ids = asked(run)
    assert len(ids) == 1 + questions
    submit(http, run, {id: "true" for id in ids})
    assert settled(http, run, "completed", "failed")["status"] == "completed"
    eventually(said, lambda text: "submit_queue_again" in text)
    assert ("approvals_lock" in said()) == (questions > 0)
