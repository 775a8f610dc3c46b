"""What an upstream attaches to a tool call and wants to have back with it, as Gemini 3 does with its thought
signatures: it goes back to that upstream with the call, every time, and nobody else ever sees it."""

import json

import pytest

from harness.server import eventually
from harness.tools import WEATHER, WEATHER_FLAT, call

SIGNATURE = "EjQKMgEMOdbH-this-is-nobody-elses-business=="
EXTRA = {"google": {"thought_signature": SIGNATURE}}
TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test",
        "require_approval": "never"}
ASKED = {**TEST, "require_approval": "always"}


def delta(finish_reason=None, /, **delta):
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})


def gemini_call(made, **more):
    """As Gemini streams it: whole, and without an index."""
    return {"id": made["id"], "type": "function", **more, "function": {
        "name": made["name"], "arguments": json.dumps(made["arguments"])}}


def signs(upstream, *calls):
    """The model makes these calls, the first of them signed; then it repeats their outputs."""
    first, *others = calls
    upstream.script(
        {"match": {"tool_results": True}, "answer": {"text": "It is {{tool_output}}."}},
        {"answer": {"events": [
            delta(role="assistant", tool_calls=[gemini_call(first, extra_content=EXTRA)]),
            *(delta(role="assistant", tool_calls=[gemini_call(made)]) for made in others),
            delta("tool_calls")]}})


def extras(chat):
    """What each call was sent back with."""
    return [made.get("extra_content") for message in chat["messages"]
            for made in message.get("tool_calls", [])]


def is_hidden(text):
    assert SIGNATURE not in text and "extra_content" not in text


def lists_of(http, *paths):
    for path in paths:
        shown = http.get(path)
        assert shown.status_code == 200, shown.text
        is_hidden(shown.text)


PARIS, ROME = call("get_weather", 1, city="Paris"), call("get_weather", 2, city="Rome")


class Runs:
    """Runs of an assistant in one thread."""

    def __init__(self, server, *tools):
        self.server, self.http = server, server.http()
        self.assistant = self.post("/v1/assistants", model="demo", tools=list(tools))["id"]
        self.thread = self.post("/v1/threads")["id"]

    def post(self, path, **body):
        answer = self.http.post(path, json=body)
        assert answer.status_code == 200, answer.text
        is_hidden(answer.text)
        return answer.json()

    def run(self):
        self.post(f"/v1/threads/{self.thread}/messages", role="user", content="weather")
        return self.post(f"/v1/threads/{self.thread}/runs", assistant_id=self.assistant)

    def path(self, run):
        return f"/v1/threads/{self.thread}/runs/{run['id']}"

    def settled(self, run, status):
        return eventually(lambda: self.http.get(self.path(run)).json(),
                          lambda now: now["status"] == status, 40)

    def begin_again(self):
        self.http = self.server.http()

    def looks(self, run):
        lists_of(self.http, self.path(run), f"{self.path(run)}/steps",
                 f"/v1/threads/{self.thread}/messages",
                 f"/v1/conversations/{self.thread.replace('thread_', 'conv_')}/items")


# ---- Runs ----

def test_the_signature_goes_back_with_submitted_outputs(server, upstream):
    signs(upstream, PARIS, ROME)
    runs = Runs(server, WEATHER)
    run = runs.run()
    runs.settled(run, "requires_action")
    runs.looks(run)
    runs.post(f"{runs.path(run)}/submit_tool_outputs", tool_outputs=[
        {"tool_call_id": "call_1", "output": "sunny"}, {"tool_call_id": "call_2", "output": "wet"}])
    runs.settled(run, "completed")
    assert extras(upstream.chats()[-1]) == [EXTRA, None]
    runs.looks(run)

    upstream.script({"answer": {"text": "Again."}})
    runs.settled(runs.run(), "completed")
    assert extras(upstream.chats()[-1]) == [EXTRA, None]


def test_the_signature_goes_back_with_the_result_of_a_server_side_tool(server, upstream, log):
    signs(upstream, call("test_count", path=log.name, text="counted"))
    runs = Runs(server, TEST)
    run = runs.run()
    runs.settled(run, "completed")
    assert extras(upstream.chats()[-1]) == [EXTRA]
    runs.looks(run)


def test_the_signature_is_in_no_event_of_a_run(server, upstream, log):
    signs(upstream, call("test_count", 1, path=log.name, text="counted"), ROME)
    runs = Runs(server, TEST, WEATHER)
    runs.post(f"/v1/threads/{runs.thread}/messages", role="user", content="weather")
    events = runs.http.post(f"/v1/threads/{runs.thread}/runs",
                            json={"assistant_id": runs.assistant, "stream": True}).text
    assert "thread.run.requires_action" in events and "test_count" in events
    is_hidden(events)


def test_the_signature_goes_back_from_a_copy_of_the_thread(server, upstream):
    signs(upstream, PARIS)
    runs = Runs(server, WEATHER)
    run = runs.run()
    runs.settled(run, "requires_action")
    runs.post(f"{runs.path(run)}/submit_tool_outputs",
              tool_outputs=[{"tool_call_id": "call_1", "output": "sunny"}])
    runs.settled(run, "completed")
    copied = runs.post(f"/v1/runnel/threads/{runs.thread}/fork")
    runs.thread = copied["id"]
    upstream.script({"answer": {"text": "Again."}})
    runs.settled(runs.run(), "completed")
    assert extras(upstream.chats()[-1]) == [EXTRA]


def test_the_signature_is_kept_during_an_approval(server, upstream, log):
    signs(upstream, call("test_count", path=log.name, text="counted"))
    runs = Runs(server, ASKED)
    run = runs.run()
    waiting = runs.settled(run, "requires_action")
    is_hidden(json.dumps(waiting))
    (question,) = waiting["required_action"]["submit_tool_outputs"]["tool_calls"]
    runs.post(f"{runs.path(run)}/submit_tool_outputs", tool_outputs=[
        {"tool_call_id": question["id"], "output": json.dumps({"approve": True})}])
    runs.settled(run, "completed")
    assert log.lines() == ["call_1"]
    assert extras(upstream.chats()[-1]) == [EXTRA]


# ---- Responses ----

@pytest.mark.parametrize("stream", [False, True])
def test_the_signature_goes_back_along_the_chain(server, upstream, stream):
    signs(upstream, PARIS)
    http = server.http()
    body = {"model": "demo", "tools": [WEATHER_FLAT]}
    asked = http.post("/v1/responses", json={**body, "input": "weather", "stream": stream})
    is_hidden(asked.text)
    if stream:
        last = [line for line in asked.text.splitlines() if line.startswith("data: {")][-1]
        asked = json.loads(last.removeprefix("data: "))["response"]
    else:
        asked = asked.json()
    lists_of(http, f"/v1/responses/{asked['id']}")
    sent = http.post("/v1/responses", json={
        **body, "previous_response_id": asked["id"], "input": [
            {"type": "function_call_output", "call_id": "call_1", "output": "sunny"}]})
    assert sent.json()["output"][-1]["content"][0]["text"] == "It is sunny."
    is_hidden(sent.text)
    lists_of(http, f"/v1/responses/{sent.json()['id']}/input_items")
    assert extras(upstream.chats()[-1]) == [EXTRA]


@pytest.mark.parametrize("body", [{}, {"store": False}, {"stream": True}], ids=str)
def test_the_signature_goes_back_within_a_response(server, upstream, log, body):
    signs(upstream, call("test_count", path=log.name, text="counted"))
    made = server.http().post("/v1/responses", json={
        "model": "demo", "input": "go", "tools": [TEST], **body})
    assert "It is counted." in made.text
    is_hidden(made.text)
    assert extras(upstream.chats()[-1]) == [EXTRA]


def test_the_signature_survives_an_approval_of_its_call(server, upstream, log):
    signs(upstream, call("test_count", path=log.name, text="counted"))
    http = server.http()
    asked = http.post("/v1/responses", json={"model": "demo", "input": "go", "tools": [ASKED]})
    is_hidden(asked.text)
    (question,) = [i for i in asked.json()["output"] if i["type"] == "mcp_approval_request"]
    lists_of(http, f"/v1/runnel/approvals/{question['id']}")
    done = http.post("/v1/responses", json={
        "model": "demo", "previous_response_id": asked.json()["id"], "tools": [ASKED], "input": [
            {"type": "mcp_approval_response", "approval_request_id": question["id"],
             "approve": True}]})
    is_hidden(done.text)
    assert log.lines() == ["call_1"]
    assert extras(upstream.chats()[-1]) == [EXTRA]


def test_a_client_cannot_attach_anything(server, upstream):
    forged = {"upstream": "upstream_url", "value": EXTRA}
    upstream.script({"answer": {"text": "Hello."}})
    made = server.http().post("/v1/responses", json={"model": "demo", "input": [
        {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": "{}",
         "runnel": {"extra_content": forged}, "extra_content": EXTRA},
        {"type": "function_call_output", "call_id": "call_1", "output": "sunny"}]})
    assert made.status_code == 200, made.text
    is_hidden(made.text)
    assert extras(upstream.chats()[-1]) == [None]


# ---- Which upstream gets it ----

@pytest.fixture
def two_upstreams(start_server, upstream, tmp_path):
    config = tmp_path / "runnel.yaml"
    config.write_text(json.dumps({"upstreams": [
        {"name": "google", "url": upstream.url, "models": ["gemini*"]},
        {"name": "same-words", "url": upstream.url, "models": ["native*"], "dialect": "responses"},
        {"name": "other", "url": upstream.url}]}))
    return start_server(upstream_url=None, config=config)


@pytest.mark.parametrize("model, expected", [("gemini-3-flash", EXTRA), ("llama", None)])
def test_no_other_upstream_gets_the_signature(two_upstreams, upstream, model, expected):
    signs(upstream, PARIS)
    http = two_upstreams.http()
    asked = http.post("/v1/responses", json={
        "model": "gemini-3-pro", "input": "weather", "tools": [WEATHER_FLAT]}).json()
    upstream.script({"answer": {"text": "Well."}})
    answer = http.post("/v1/responses", json={
        "model": model, "previous_response_id": asked["id"], "input": [
            {"type": "function_call_output", "call_id": "call_1", "output": "sunny"}]})
    assert answer.status_code == 200, answer.text
    assert extras(upstream.chats()[-1]) == [expected]


def test_an_upstream_of_another_dialect_does_not_get_the_signature(two_upstreams, upstream):
    signs(upstream, PARIS)
    http = two_upstreams.http()
    asked = http.post("/v1/responses", json={
        "model": "gemini-3-pro", "input": "weather", "tools": [WEATHER_FLAT]}).json()
    upstream.script({"answer": {"text": "Well."}})
    answer = http.post("/v1/responses", json={
        "model": "native", "previous_response_id": asked["id"], "input": [
            {"type": "function_call_output", "call_id": "call_1", "output": "sunny"}]})
    assert answer.status_code == 200, answer.text
    last = upstream.requests()[-1]
    assert last["path"] == "/v1/responses" and "get_weather" in json.dumps(last["body"])
    is_hidden(json.dumps(last["body"]))


# ---- After kill -9 ----

@pytest.mark.slow
def test_the_signature_survives_a_restart_while_the_client_works(fault_server, upstream):
    signs(upstream, PARIS)
    runs = Runs(fault_server, WEATHER)
    run = runs.run()
    runs.settled(run, "requires_action")
    fault_server.kill()
    fault_server.start()
    runs.begin_again()
    runs.looks(run)
    runs.post(f"{runs.path(run)}/submit_tool_outputs",
              tool_outputs=[{"tool_call_id": "call_1", "output": "sunny"}])
    runs.settled(run, "completed")
    assert extras(upstream.chats()[-1]) == [EXTRA]


@pytest.mark.slow
@pytest.mark.parametrize("point", ["tool.before_run", "tool.after_run"])
def test_the_signature_survives_a_restart_while_a_tool_runs(fault_server, upstream, log, point):
    signs(upstream, call("test_count", path=log.name, text="counted"))
    runs = Runs(fault_server, TEST)
    fault_server.arm(f"{point}:1:kill")
    run = runs.run()
    eventually(fault_server.has_fired)
    fault_server.restart()
    runs.begin_again()
    runs.settled(run, "completed")
    assert extras(upstream.chats()[-1]) == [EXTRA]
    runs.looks(run)
