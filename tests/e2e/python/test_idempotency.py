"""Requests that are sent again, with and without a key."""

import concurrent.futures
import json

import httpx2
import pytest

from harness.recorder import parse_events
from harness.server import eventually
from harness.tools import PARIS, WEATHER, WEATHER_RULES

OUTPUTS = {"tool_outputs": [{"tool_call_id": "call_1", "output": "sunny"}]}


@pytest.fixture
def key(request):
    return f"key of {request.node.name}"[:200]


@pytest.fixture
def thread(http):
    return http.post("/v1/threads", json={}).json()["id"]


@pytest.fixture
def assistant(http):
    return http.post("/v1/assistants", json={"model": "demo", "tools": [WEATHER]}).json()["id"]


def send(http, path, body, key):
    answer = http.post(path, json=body, headers={"Idempotency-Key": key} if key else {})
    assert answer.status_code == 200, answer.text
    return answer


def settled(http, run, *statuses):
    path = f"/v1/threads/{run['thread_id']}/runs/{run['id']}"
    return eventually(lambda: http.get(path).json(), lambda r: r["status"] in statuses)


def refused(answer, message, param="Idempotency-Key", code="idempotency_key_reused"):
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"] == {"message": message, "type": "invalid_request_error",
                                      "param": param, "code": code}


@pytest.fixture
def waiting(http, thread, assistant, upstream):
    """A run that waits for the weather."""
    upstream.script(*WEATHER_RULES)
    http.post(f"/v1/threads/{thread}/messages", json={"role": "user", "content": "weather"})
    run = http.post(f"/v1/threads/{thread}/runs", json={"assistant_id": assistant}).json()
    return settled(http, run, "requires_action")


def submit_path(run):
    return f"/v1/threads/{run['thread_id']}/runs/{run['id']}/submit_tool_outputs"


# ---- What is made under a key is made once ----

def test_a_message_is_added_once(http, thread, key):
    path = f"/v1/threads/{thread}/messages"
    body = {"role": "user", "content": "Hi", "metadata": {"a": "1"}}
    first = send(http, path, body, key).json()
    assert send(http, path, body, key).json() == first
    http.post(f"{path}/{first['id']}", json={"metadata": {"a": "2"}})
    assert send(http, path, body, key).json()["metadata"] == {"a": "2"}
    assert [message["id"] for message in http.get(path).json()["data"]] == [first["id"]]
    http.delete(f"{path}/{first['id']}")
    answer = http.post(path, json=body, headers={"Idempotency-Key": key})
    assert answer.status_code == 404


def test_a_thread_is_made_once(http, key):
    body = {"messages": [{"role": "user", "content": "Hi"}], "metadata": {"a": "1"}}
    first = send(http, "/v1/threads", body, key).json()
    assert send(http, "/v1/threads", body, key).json() == first
    assert len(http.get(f"/v1/threads/{first['id']}/messages").json()["data"]) == 1
    assert send(http, "/v1/threads", body, f"{key} 2").json()["id"] != first["id"]
    http.delete(f"/v1/threads/{first['id']}")
    again = http.post("/v1/threads", json=body, headers={"Idempotency-Key": key})
    assert again.status_code == 404


def test_a_key_belongs_to_one_request(http, thread, assistant, key):
    path = f"/v1/threads/{thread}/messages"
    send(http, path, {"role": "user", "content": "Hi"}, key)
    text = f"The Idempotency-Key '{key}' was used before for a different request."
    headers = {"Idempotency-Key": key}
    other = http.post("/v1/threads", json={}).json()["id"]
    for where, body in [(path, {"role": "user", "content": "Ho"}),
                        (f"/v1/threads/{other}/messages", {"role": "user", "content": "Hi"}),
                        (f"/v1/threads/{thread}/runs", {"assistant_id": assistant})]:
        refused(http.post(where, json=body, headers=headers), text)
    assert len(http.get(path).json()["data"]) == 1
    assert http.get(f"/v1/threads/{thread}/runs").json()["data"] == []


@pytest.mark.parametrize("bad, message, code", [
    ("x" * 256, "Invalid 'Idempotency-Key': string too long. Expected a string with maximum length "
     "255, but got a string with length 256 instead.", "string_above_max_length"),
    ("", "Invalid 'Idempotency-Key': empty string.", "empty_string"),
    ("caf\u00e9".encode(), "Invalid 'Idempotency-Key': only printable ASCII is allowed.",
     "invalid_value"),
], ids=["long", "empty", "not ascii"])
def test_idempotency_keys_have_a_form(http, thread, bad, message, code):
    path = f"/v1/threads/{thread}/messages"
    refused(http.post(path, json={"role": "user", "content": "Hi"},
                      headers={"Idempotency-Key": bad}), message, code=code)
    assert http.get(path).json()["data"] == []


def test_a_failed_request_may_be_repeated_under_its_key(http, waiting, key):
    path = f"/v1/threads/{waiting['thread_id']}/messages"
    body = {"role": "user", "content": "More"}
    assert http.post(path, json=body, headers={"Idempotency-Key": key}).status_code == 400
    http.post(submit_path(waiting), json=OUTPUTS)
    settled(http, waiting, "completed")
    assert send(http, path, body, key).json()["content"][0]["text"]["value"] == "More"


def test_a_run_is_started_once(http, thread, assistant, upstream, key):
    path = f"/v1/threads/{thread}/runs"
    body = {"assistant_id": assistant, "additional_messages": [{"role": "user", "content": "Hi"}]}
    first = send(http, path, body, key).json()
    ended = settled(http, first, "completed")
    assert send(http, path, body, key).json() == ended
    assert len(http.get(path).json()["data"]) == 1 and len(upstream.chats()) == 1
    assert len(http.get(f"/v1/threads/{thread}/messages").json()["data"]) == 2


def test_a_repeated_request_gets_the_same_stream(http, assistant, upstream, key):
    body = {"assistant_id": assistant, "stream": True,
            "thread": {"messages": [{"role": "user", "content": "Hi"}]}}
    first = parse_events(send(http, "/v1/threads/runs", body, key).text)
    assert first[0][0] == "thread.created" and first[-1] == ("done", "[DONE]")
    assert parse_events(send(http, "/v1/threads/runs", body, key).text) == first
    assert len(upstream.chats()) == 1


def test_of_many_equal_requests_at_once_one_is_executed(server, http, thread, key):
    path = f"/v1/threads/{thread}/messages"
    body = {"role": "user", "content": "Hi"}
    clients = [server.http() for _ in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda client: send(client, path, body, key).json()["id"], clients))
    assert len(set(made)) == 1
    assert len(http.get(path).json()["data"]) == 1


# ---- Outputs of tools ----

@pytest.mark.parametrize("keyed", [True, False])
def test_outputs_are_submitted_once(http, waiting, upstream, key, keyed):
    path, used = submit_path(waiting), key if keyed else None
    assert send(http, path, OUTPUTS, used).json()["id"] == waiting["id"]
    ended = settled(http, waiting, "completed")
    assert send(http, path, OUTPUTS, used).json() == ended
    assert len(upstream.chats()) == 2


@pytest.mark.parametrize("keyed", [True, False])
def test_a_lost_stream_of_a_submission_comes_again_whole(http, waiting, upstream, key, keyed):
    path, used = submit_path(waiting), key if keyed else None
    body = {**OUTPUTS, "stream": True}
    first = parse_events(send(http, path, body, used).text)
    assert first[0][0] == "thread.run.step.completed" and first[-2][0] == "thread.run.completed"
    assert parse_events(send(http, path, body, used).text) == first
    assert len(upstream.chats()) == 2


def test_a_repeat_follows_the_live_stream(server, http, waiting, upstream, key):
    """The connection is lost in the middle; a repeated request gets the rest of the stream."""
    upstream.script({"answer": {"text": "a b c d e f", "piece_delay_ms": 100}})
    body, headers = {**OUTPUTS, "stream": True}, {"Idempotency-Key": key}
    with server.http() as lost:
        with lost.stream("POST", submit_path(waiting), json=body, headers=headers) as answer:
            for line in answer.iter_lines():
                if line == "event: thread.message.delta":
                    break
    events = parse_events(send(http, submit_path(waiting), body, key).text)
    said = "".join(json.loads(data)["delta"]["content"][0]["text"]["value"]
                   for name, data in events if name == "thread.message.delta")
    assert said == "a b c d e f" and events[-2][0] == "thread.run.completed"
    assert len(upstream.chats()) == 2


def test_other_outputs_under_the_key_are_refused(http, waiting, key):
    send(http, submit_path(waiting), OUTPUTS, key)
    other = {"tool_outputs": [{"tool_call_id": "call_1", "output": "rainy"}]}
    refused(http.post(submit_path(waiting), json=other, headers={"Idempotency-Key": key}),
            f"The Idempotency-Key '{key}' was used before for a different request.")
    run = settled(http, waiting, "completed")
    (step,) = [step for step in http.get(f"/v1/threads/{run['thread_id']}/runs/{run['id']}/steps")
               .json()["data"] if step["type"] == "tool_calls"]
    assert step["step_details"]["tool_calls"][0]["function"]["output"] == "sunny"


def test_a_key_separates_a_retry_from_the_same_answer_to_the_next_request(http, waiting, upstream,
                                                                      key):
    """The model reuses the call id, and the client gives the same output: a late retry is not taken for it."""
    upstream.script({"match": {"tool_results": 2}, "answer": {"text": "Sunny."}},
                    {"answer": {"tool_calls": [PARIS]}})
    send(http, submit_path(waiting), OUTPUTS, key)
    eventually(upstream.chats, lambda chats: len(chats) == 2)
    run = settled(http, waiting, "requires_action")
    again = send(http, submit_path(run), OUTPUTS, key).json()
    assert again["status"] == "requires_action" and len(upstream.chats()) == 2
    send(http, submit_path(run), OUTPUTS, f"{key} 2")
    assert settled(http, run, "completed", "failed")["status"] == "completed"


# ---- Elsewhere, and later ----

@pytest.mark.slow
def test_keys_hold_on_other_servers_and_after_a_restart(start_fault_server, upstream, key):
    one = start_fault_server()
    two = start_fault_server(url=one.settings["database_url"], api_key=one.settings["api_key"])
    thread = one.api().post("/threads", json={}).json()["id"]
    path, body = f"/threads/{thread}/messages", {"role": "user", "content": "Hi"}
    headers = {"Idempotency-Key": key}
    first = one.api().post(path, json=body, headers=headers).json()
    assert two.api().post(path, json=body, headers=headers).json() == first
    one.kill()
    one.start()
    one.plain = None
    assert one.api().post(path, json=body, headers=headers).json() == first
    assert len(two.api().get(path).json()["data"]) == 1


@pytest.mark.slow
def test_keys_belong_to_a_project(server, http, thread, key):
    secret = server.new_key("keys")
    body = {"role": "user", "content": "Hi"}
    send(http, f"/v1/threads/{thread}/messages", body, key)
    with httpx2.Client(base_url=server.url, headers={"Authorization": f"Bearer {secret}"}) as other:
        own = other.post("/v1/threads", json={}).json()["id"]
        send(other, f"/v1/threads/{own}/messages", body, key)
        answer = other.post(f"/v1/threads/{thread}/messages", json=body,
                            headers={"Idempotency-Key": key})
        assert answer.status_code == 400  # used for another thread, in this project
        assert "Hi" not in answer.text
