"""Everything an upstream can do wrong, on both faces, streamed, polled and waited for."""

import concurrent.futures
import json

import pytest

from harness.fault_fixtures import ended_well
from harness.failures import kept_failure
from harness.faults import FINAL, FaultServer, listen, points
from harness.recorder import parse_events
from harness.server import eventually, with_native_model

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

TEXT = "one two three four"

STATUS = {
    400: "invalid_prompt", 401: "server_error", 403: "server_error", 404: "invalid_prompt",
    429: "rate_limit_exceeded", 500: "server_error", 503: "server_error",
}

# name: (answer of the model, code of the error)
BROKEN = {
    **{f"status-{status}": ({"fault": {"kind": "status", "status": status, "retry_after": 0}}, code)
       for status, code in STATUS.items()},
    "cut-before": ({"text": TEXT, "fault": {"kind": "cut"}}, "server_error"),
    "cut-mid": ({"text": TEXT, "fault": {"kind": "cut", "after": 2}}, "server_error"),
    "cut-in-arguments": ({"tool_calls": [{"name": "f", "id": "call_1", "split": 2,
                                          "arguments": {"city": "Paris"}}],
                          "fault": {"kind": "cut", "after": 3}}, "server_error"),
    "stall-before": ({"text": TEXT, "fault": {"kind": "stall"}}, "server_error"),
    "stall-mid": ({"text": TEXT, "fault": {"kind": "stall", "after": 2}}, "server_error"),
    "garbage-first": ({"text": TEXT, "fault": {"kind": "garbage", "after": 0}}, "server_error"),
    "garbage-mid": ({"text": TEXT, "fault": {"kind": "garbage", "after": 2}}, "server_error"),
    "html": ({"text": TEXT, "fault": {"kind": "html"}}, "server_error"),
    "error-first": ({"text": TEXT, "fault": {"kind": "error", "after": 0}}, "server_error"),
    "error-mid": ({"text": TEXT, "fault": {"kind": "error", "after": 2}}, "server_error"),
    "no-end": ({"text": TEXT, "fault": {"kind": "no_end", "after": 2}}, "server_error"),
    "empty": ({"format": "json", "fault": {"kind": "status", "status": 200, "body": ""}},
              "server_error"),
}
FUNCTION = {"name": "f", "description": "F.", "parameters": {"type": "object", "properties": {}}}


# It does not wait long for its upstream.
IMPATIENT = {"upstream_first_byte_timeout": 0.7, "upstream_idle_timeout": 0.7,
             "upstream_connect_timeout": 0.7}


@pytest.fixture(scope="module")
def impatient_server(binary, scratch, upstream_process, recorder, database):
    directory = scratch / "impatient"
    directory.mkdir(mode=0o755)
    server = FaultServer(binary, directory, upstream_process.url, recorder, lease_ttl=5,
                         database_url=database.new(), **IMPATIENT,
                         config=with_native_model(directory, upstream_process.url)).start()
    yield server
    ended_well(server)


@pytest.fixture
def server(impatient_server, upstream):
    impatient_server.arm()
    return impatient_server


def run_path(http, model="demo"):
    tools = [{"type": "function", "function": FUNCTION}]
    assistant = http.post("/v1/assistants", json={"model": model, "tools": tools}).json()["id"]
    thread = http.post("/v1/threads", json={"messages": [{"role": "user", "content": "x"}]}).json()
    return f"/v1/threads/{thread['id']}/runs", {"assistant_id": assistant}


def response_body(model="demo", **more):
    return {"model": model, "input": "x", "tools": [{"type": "function", **FUNCTION}], **more}


def follow(http, path, body):
    status, text, broken = listen(http, path, body)
    assert status == 200 and not broken, text
    assert text.endswith("data: [DONE]\n\n")
    return [(name, json.loads(data)) for name, data in parse_events(text) if data != "[DONE]"]


def check_run_events(events, status):
    names = [name for name, _ in events]
    assert names[:3] == ["thread.run.created", "thread.run.queued", "thread.run.in_progress"]
    assert names[-1] == f"thread.run.{status}"
    opened = {data["id"] for name, data in events if name in (
        "thread.message.created", "thread.run.step.created")}
    closed = [data["id"] for name, data in events if name.startswith((
        "thread.message.incomplete", "thread.message.completed", "thread.run.step.failed",
        "thread.run.step.completed"))]
    assert sorted(closed) == sorted(opened)
    return events[-1][1]


def check_response_events(events, status):
    names = [name for name, _ in events]
    assert names[0] == "response.created" and names[-1] == f"response.{status}"
    assert [data["sequence_number"] for _, data in events] == list(range(len(events)))
    added = [data["item"]["id"] for name, data in events if name == "response.output_item.added"]
    done = [data["item"]["id"] for name, data in events if name == "response.output_item.done"]
    assert added == done
    shown = [item["id"] for item in events[-1][1]["response"]["output"]]
    assert shown == added
    return events[-1][1]["response"]


def run_streamed(http, model):
    events = follow(http, *run_path(http, model))
    run = check_run_events(events, events[-1][0].split(".")[-1])
    return run["status"], run["last_error"]


def run_polled(http, model):
    path, body = run_path(http, model)
    made = http.post(path, json=body).json()
    run = eventually(lambda: http.get(f"{path}/{made['id']}").json(),
                     lambda run: run["status"] in FINAL, seconds=30)
    steps = http.get(f"{path}/{made['id']}/steps").json()["data"]
    assert all(step["status"] in ("failed", "completed") for step in steps)
    return run["status"], run["last_error"]


def response_streamed(http, model):
    events = follow(http, "/v1/responses", response_body(model))
    response = check_response_events(events, events[-1][0].split(".")[-1])
    kept = http.get(f"/v1/responses/{response['id']}").json()
    assert kept["status"] == response["status"] and kept["error"] == response["error"]
    assert kept["output"] == response["output"]
    return response["status"], response["error"]


def response_not_stored(http, model):
    events = follow(http, "/v1/responses", response_body(model, store=False))
    response = check_response_events(events, events[-1][0].split(".")[-1])
    return response["status"], response["error"]


def response_waited_for(http, model):
    answer = http.post("/v1/responses", json=response_body(model))
    made = answer.json() if answer.status_code == 200 else kept_failure(http, answer)
    return made["status"], made["error"]


def response_in_the_background(http, model):
    made = http.post("/v1/responses", json=response_body(model, background=True)).json()
    response = eventually(lambda: http.get(f"/v1/responses/{made['id']}").json(),
                          lambda response: response["status"] in FINAL, seconds=30)
    return response["status"], response["error"]


WAYS = [run_streamed, run_polled, response_streamed, response_not_stored, response_waited_for,
        response_in_the_background]


def every_way(server, model="demo"):
    """The same request in all ways at once: what became of it, and its error."""
    with concurrent.futures.ThreadPoolExecutor(len(WAYS)) as pool:
        ends = {way.__name__: pool.submit(way, server.http(), model) for way in WAYS}
    return [(name, *end.result()) for name, end in ends.items()]


@pytest.mark.parametrize("name", BROKEN)
def test_every_broken_answer_fails_in_the_right_way(server, upstream, model, name):
    answer, code = BROKEN[name]
    upstream.answer(**answer)
    for way, status, error in every_way(server, model):
        assert status == "failed", way
        assert error["code"] == code and error["message"], way
    server.forgets_its_runs()


@pytest.mark.parametrize("answer", [
    {"text": TEXT, "dialect": ["no_done"]},
    {"text": TEXT, "dialect": ["crlf", "multi_line", "comments"]},
    {"text": TEXT, "format": "json"},
    {"text": ""},
], ids=["no-done", "crlf", "json", "empty"])
def test_every_odd_answer_is_understood(server, upstream, model, answer):
    upstream.answer(**answer)
    for way, status, error in every_way(server, model):
        assert status == "completed" and error is None, way
    server.forgets_its_runs()


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_retry_succeeds(server, upstream, model, status):
    busy = {"fault": {"kind": "status", "status": status, "retry_after": 0}}
    upstream.script({"times": 1, "answer": busy}, {"answer": {"text": TEXT}})
    http = server.http()
    events = follow(http, "/v1/responses", response_body(model))
    assert events[-1][0] == "response.completed"
    assert len(upstream.asked()) == 2


def test_an_upstream_that_does_not_listen_fails_the_run(start_fault_server):
    server = start_fault_server(**IMPATIENT)
    server.stop()
    server.settings["upstream_url"] = "http://127.0.0.1:1/v1"
    server.start()
    for way, status, error in every_way(server):
        assert status == "failed" and error["code"] == "server_error", way
    server.forgets_its_runs()


@pytest.mark.parametrize("point", [point for point in points()
                                   if point.startswith(("model.", "http.")) and point != "http.spool"
                                   or point == "run.ask"])
def test_a_fault_at_every_step_of_a_model_call_is_survived(server, upstream, model, point):
    """On each visit: before the first word it is tried again, afterwards the run has failed."""
    http = server.http()
    upstream.answer(text=TEXT, piece_delay_ms=2)
    ends = set()
    for visit in range(1, 40):
        for face in ("runs", "responses"):
            path, body = run_path(http, model) if face == "runs" else (
                "/v1/responses", response_body(model))
            server.arm(f"{point}:{visit}")
            events = follow(http, path, body)
            end = events[-1][0].split(".")[-1]
            check = check_run_events if face == "runs" else check_response_events
            error = check(events, end)["last_error" if face == "runs" else "error"]
            ends.add(end)
            assert end == "completed" or error["code"] == "server_error"
        if not server.has_fired():
            assert visit > 1 and end == "completed"
            break
    assert not server.has_fired()
    assert "failed" in ends or point in ("model.start", "http.start"), ends
    server.forgets_its_runs()
