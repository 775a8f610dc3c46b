"""Run steps: how they end, what they cost, and what is shown of them on request."""

import json

import pytest

from harness.recorder import parse_events
from harness.server import eventually
from harness.tools import PARIS, WEATHER, WEATHER_RULES, call

TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test",
        "require_approval": "never"}
CONTENT = "step_details.tool_calls[*].file_search.results[*].content"
TIMES = ("cancelled_at", "completed_at", "expired_at", "failed_at")


@pytest.fixture
def assistant(http):
    return http.post("/v1/assistants", json={"model": "demo", "tools": [WEATHER]}).json()["id"]


@pytest.fixture
def start(http, assistant):
    """A run of a new thread."""
    def start(query="", **body):
        made = http.post(f"/v1/threads/runs{query}", json={
            "assistant_id": assistant,
            "thread": {"messages": [{"role": "user", "content": "weather"}]}, **body})
        assert made.status_code == 200, made.text
        return made
    return start


def path_of(run):
    return f"/v1/threads/{run['thread_id']}/runs/{run['id']}"


def settled(http, run, *statuses):
    return eventually(lambda: http.get(path_of(run)).json(), lambda r: r["status"] in statuses)


def steps_of(http, run):
    return http.get(f"{path_of(run)}/steps?order=asc").json()["data"]


def check_end(step, status, stamp):
    """Exactly one of the times is set."""
    assert step["status"] == status
    assert [time for time in TIMES if step[time] is not None] == [stamp]
    assert step["created_at"] <= step[stamp]


def step_events(text):
    return [(name, json.loads(data)) for name, data in parse_events(text)
            if name.startswith("thread.run.step.") and not name.endswith(".delta")]


# ---- What they show while the run goes on ----

def outputs_in(step):
    return {c["function"]["name"]: c["function"]["output"] for c in step["step_details"]["tool_calls"]}


@pytest.mark.feature("F105")
@pytest.mark.parametrize("output, last", [
    ("true", "x"), ("false", '{"status":"rejected","message":"Execution rejected by user"}')])
def test_steps_run_and_are_completed_between_what_is_said(http, start, upstream, output, last):
    """In the stream and afterwards. A call that waits for a person is in `required_action`, and in a step as soon as
    it is decided."""
    upstream.script({"match": {"tool_results": 3}, "answer": {"text": "Well."}},
                    {"match": {"tool_results": 2}, "answer": {
                        "text": "More.", "tool_calls": [call("test_slow", 3, text="x")]}},
                    {"answer": {"text": "I look.", "tool_calls": [
                        call("test_notes", 1, text="I read.", notes=[]),
                        call("test_fail", 2, message="no")]}})
    asks = {"always": {"tool_names": ["test_slow"]}, "never": {"tool_names": ["test_notes", "test_fail"]}}
    events = step_events(start(stream=True, tools=[{**TEST, "require_approval": asks}]).text)
    assert [(name.rpartition(".")[2], step["type"], step["status"]) for name, step in events] == [
        ("created", "message_creation", "in_progress"), ("in_progress", "message_creation", "in_progress"),
        ("completed", "message_creation", "completed"), ("created", "tool_calls", "in_progress"),
        ("in_progress", "tool_calls", "in_progress"), ("completed", "tool_calls", "completed"),
        ("created", "message_creation", "in_progress"), ("in_progress", "message_creation", "in_progress"),
        ("completed", "message_creation", "completed")]
    run = {"id": events[0][1]["run_id"], "thread_id": events[0][1]["thread_id"]}
    waits = settled(http, run, "requires_action")
    (asked,) = waits["required_action"]["submit_tool_outputs"]["tool_calls"]
    assert json.loads(asked["function"]["arguments"])["name"] == "test_slow"
    _, done, _ = before = steps_of(http, run)
    assert [step["status"] for step in before] == 3 * ["completed"]
    assert outputs_in(done) == {"test_notes": "I read.\n[image image/png]", "test_fail": "no"}
    http.post(f"{path_of(run)}/submit_tool_outputs", json={
        "tool_outputs": [{"tool_call_id": asked["id"], "output": output}]})
    settled(http, run, "completed")
    *same, waited, answer = steps_of(http, run)
    assert (same, waited["status"], answer["type"]) == (before, "completed", "message_creation")
    assert outputs_in(waited) == {"test_slow": last}


# ---- How they end ----

@pytest.mark.feature("F105")
def test_a_failed_step_has_the_error_of_its_run(http, start, upstream):
    upstream.answer(text="a b c", fault={"kind": "cut", "after": 2})
    events = step_events(start(stream=True).text)
    name, sent = events[-1]
    run = {"id": sent["run_id"], "thread_id": sent["thread_id"]}
    failed = http.get(path_of(run)).json()
    (step,) = steps_of(http, run)
    assert name == "thread.run.step.failed" and sent == step
    check_end(step, "failed", "failed_at")
    assert step["last_error"] == failed["last_error"]
    assert step["last_error"]["code"] == "server_error" and step["last_error"]["message"]
    assert step["step_details"]["message_creation"]["message_id"].startswith("msg_")


@pytest.mark.parametrize("fault, code", [
    ({"kind": "error", "after": 1, "error": {"message": "Slow down.", "type": "requests",
                                             "code": "rate_limit_exceeded"}},
     "rate_limit_exceeded"),
    ({"kind": "error", "after": 1, "error": {"message": "Too long.",
                                             "type": "invalid_request_error",
                                             "code": "context_length_exceeded"}},
     "context_length_exceeded"),
    ({"kind": "error", "after": 1, "error": {"message": "No.", "type": "invalid_request_error",
                                             "code": "a_code_of_their_own"}},
     "server_error"),
], ids=["rate limit", "context", "prompt"])
def test_steps_have_the_code_of_their_error_if_it_has_one(http, start, upstream, fault, code):
    upstream.answer(text="a b c", fault=fault)
    run = settled(http, start().json(), "failed")
    (step,) = steps_of(http, run)
    assert step["last_error"]["code"] == code
    assert run["last_error"]["code"] in (code, "invalid_prompt")


def test_a_cancelled_step_keeps_its_calls(http, start, upstream):
    upstream.script(*WEATHER_RULES)
    run = settled(http, start().json(), "requires_action")
    http.post(f"{path_of(run)}/cancel")
    run = settled(http, run, "cancelled")
    (step,) = steps_of(http, run)
    check_end(step, "cancelled", "cancelled_at")
    assert step["last_error"] is None
    (asked,) = step["step_details"]["tool_calls"]
    assert asked["function"] == {"name": "get_weather", "arguments": '{"city":"Paris"}',
                                 "output": None}
    assert step["usage"] == run["usage"] and step["usage"]["total_tokens"] > 0


def test_earlier_steps_than_the_cut_one_are_completed(http, start, upstream):
    upstream.script({"match": {"tool_results": True},
                     "answer": {"text": "a b c", "piece_delay_ms": 3600000}},
                    {"answer": {"text": "Let me look.", "tool_calls": [PARIS]}})
    run = settled(http, start().json(), "requires_action")
    http.post(f"{path_of(run)}/submit_tool_outputs",
              json={"tool_outputs": [{"tool_call_id": "call_1", "output": "sunny"}]})
    eventually(lambda: len(steps_of(http, run)), lambda count: count == 3)
    http.post(f"{path_of(run)}/cancel")
    settled(http, run, "cancelled")
    said, called, cut = steps_of(http, run)
    check_end(said, "completed", "completed_at")
    check_end(called, "completed", "completed_at")
    check_end(cut, "cancelled", "cancelled_at")
    assert called["step_details"]["tool_calls"][0]["function"]["output"] == "sunny"
    message = cut["step_details"]["message_creation"]["message_id"]
    kept = http.get(f"/v1/threads/{run['thread_id']}/messages/{message}").json()
    assert (kept["status"], kept["incomplete_details"]) == ("incomplete",
                                                            {"reason": "run_cancelled"})


@pytest.mark.slow
def test_an_expired_step_says_so(start_server, upstream):
    server = start_server(run_expiry=1, lease_ttl=1)
    http = server.http()
    assistant = http.post("/v1/assistants", json={"model": "demo", "tools": [WEATHER]}).json()["id"]
    upstream.answer(text="a b c", piece_delay_ms=3600000)
    made = http.post("/v1/threads/runs", json={
        "assistant_id": assistant, "stream": True,
        "thread": {"messages": [{"role": "user", "content": "weather"}]}})
    names = [name for name, _ in parse_events(made.text)]
    assert names[-4:] == ["thread.message.incomplete", "thread.run.step.expired",
                          "thread.run.expired", "done"]
    _, sent = step_events(made.text)[-1]
    run = {"id": sent["run_id"], "thread_id": sent["thread_id"]}
    (step,) = steps_of(http, run)
    assert sent == step and step["last_error"] is None
    check_end(step, "expired", "expired_at")
    assert http.get(path_of(run)).json()["status"] == "expired"


# ---- What they cost ----

def test_the_tokens_of_each_turn_are_in_one_step(http, start, upstream):
    def used(prompt, completion):
        return {"prompt_tokens": prompt, "completion_tokens": completion}
    upstream.script({"match": {"tool_results": True},
                     "answer": {"text": "Sunny.", "usage": used(30, 4)}},
                    {"answer": {"text": "Let me look.", "tool_calls": [PARIS],
                                "usage": used(20, 3)}})
    run = settled(http, start().json(), "requires_action")
    assert run["usage"] == {**used(20, 3), "total_tokens": 23}
    http.post(f"{path_of(run)}/submit_tool_outputs",
              json={"tool_outputs": [{"tool_call_id": "call_1", "output": "sunny"}]})
    run = settled(http, run, "completed")
    usages = [step["usage"]["total_tokens"] for step in steps_of(http, run)]
    assert usages == [0, 23, 34]  # the words before a call belong to the turn of the call
    assert run["usage"] == {**used(50, 7), "total_tokens": 57}


# ---- What is shown on request ----

@pytest.mark.parametrize("query", [f"include[]={CONTENT}", f"include={CONTENT}",
                                   f"include[]={CONTENT}&include[]={CONTENT}", ""])
def test_every_allowed_include_is_accepted(http, start, upstream, query):
    run = settled(http, start(f"?{query}").json(), "completed")
    made = http.post(f"/v1/threads/{run['thread_id']}/runs?{query}",
                     json={"assistant_id": run["assistant_id"]})
    assert made.status_code == 200
    (step,) = http.get(f"{path_of(run)}/steps?{query}").json()["data"]
    assert http.get(f"{path_of(run)}/steps/{step['id']}?{query}").json() == step


def test_other_includes_are_refused(http, start, upstream):
    run = settled(http, start().json(), "completed")
    (step,) = steps_of(http, run)
    for method, path, body in [
            ("GET", f"{path_of(run)}/steps", None),
            ("GET", f"{path_of(run)}/steps/{step['id']}", None),
            ("POST", f"/v1/threads/{run['thread_id']}/runs", {"assistant_id": run["assistant_id"]}),
            ("POST", "/v1/threads/runs", {"assistant_id": run["assistant_id"]})]:
        answer = http.request(method, f"{path}?include[]={CONTENT}&include[]=bogus", json=body)
        assert answer.status_code == 400, answer.text
        assert answer.json()["error"] == {
            "message": f"Invalid value: 'bogus'. Supported values are: '{CONTENT}'.",
            "type": "invalid_request_error", "param": "include[1]", "code": "invalid_value"}
    assert len(http.get(f"/v1/threads/{run['thread_id']}/runs").json()["data"]) == 1


def test_bella_B19_a_search_is_shown_in_its_step(http, start, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [call("test_search", query="cats")]}})
    text = start(f"?include[]={CONTENT}", tools=[TEST], stream=True).text
    deltas = [json.loads(data)["delta"]["step_details"]["tool_calls"]
              for name, data in parse_events(text) if name == "thread.run.step.delta"]
    assert deltas == [[{"index": 0, "id": "call_1", "type": "file_search", "file_search": {}}]]
    step = next(data for name, data in step_events(text) if name == "thread.run.step.completed")
    (shown,) = step["step_details"]["tool_calls"]
    assert shown == {"id": "call_1", "type": "file_search", "file_search": {"results": []}}
    run = {"id": step["run_id"], "thread_id": step["thread_id"]}
    assert steps_of(http, run)[0] == step
    assert "include" not in http.get(path_of(run)).json()
