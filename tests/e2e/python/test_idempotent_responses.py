"""Responses and conversations whose creation is sent again under its key."""

import concurrent.futures
import contextlib
import json
import threading

import httpx2
import pytest

from harness.failures import HEADER
from harness.recorder import parse_events
from harness.server import eventually

BODY = {"model": "demo", "input": "Hi"}
BASIC = {"type": "mcp", "server_label": "basic", "server_url": "builtin:basic", "require_approval": "never"}
SLOW = {"text": "a b c d e f", "split": "word", "piece_delay_ms": 150}
FAILING = {"fault": {"kind": "status", "status": 500}}


@pytest.fixture
def key(request):
    return f"key of {request.node.nodeid}"[-200:]


def post(http, key, path="/v1/responses", **body):
    return http.post(path, json={**BODY, **body} if path == "/v1/responses" else body,
                     headers={"Idempotency-Key": key})


def send(http, key, path="/v1/responses", **body):
    answer = post(http, key, path, **body)
    assert answer.status_code == 200, answer.text
    return answer


def events(answer):
    assert answer.text.endswith("data: [DONE]\n\n")
    return parse_events(answer.text)


def text_of(response):
    return response["output"][-1]["content"][0]["text"]


def refused(answer, key):
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"] == {
        "message": f"The Idempotency-Key '{key}' was used before for a different request.",
        "type": "invalid_request_error", "param": "Idempotency-Key", "code": "idempotency_key_reused"}


def begun(server, key, **body):
    """A client that has seen the first delta of its stream."""
    client = server.http()
    client.stack = contextlib.ExitStack()
    answer = client.stack.enter_context(client.stream(
        "POST", "/v1/responses", json={**BODY, "stream": True, **body}, headers={"Idempotency-Key": key}))
    client.lines = answer.iter_lines()
    for line in client.lines:
        if line.startswith("data: {") and '"type":"response.created"' in line:
            client.response_id = json.loads(line[6:])["response"]["id"]
        if "response.output_text.delta" in line:
            return client
    raise AssertionError("the stream ended without a delta")


# ---- A repeat gets what the first request made ----

def test_a_response_is_made_once(http, upstream, key):
    first = send(http, key).json()
    assert first["status"] == "completed"
    assert send(http, key).json() == first == http.get(f"/v1/responses/{first['id']}").json()
    assert len(upstream.chats()) == 1
    assert send(http, f"{key} 2").json()["id"] != first["id"]
    http.delete(f"/v1/responses/{first['id']}")
    gone = post(http, key)
    assert gone.status_code == 404
    assert gone.json()["error"]["message"] == f"Response with id '{first['id']}' not found."


def test_a_stream_comes_again_to_the_byte(http, upstream, key):
    first = send(http, key, stream=True)
    assert [name for name, _ in events(first)][:2] == ["response.created", "response.in_progress"]
    assert events(first)[-2][0] == "response.completed"
    assert send(http, key, stream=True).text == first.text
    assert len(upstream.chats()) == 1


def test_a_repeat_joins_the_running_stream_from_its_beginning(server, http, upstream, key):
    upstream.answer(**SLOW)
    with begun(server, key).stack:
        again = send(http, key, stream=True)
    said = "".join(json.loads(data)["delta"] for name, data in events(again)
                   if name == "response.output_text.delta")
    assert events(again)[0][0] == "response.created" and said == SLOW["text"]
    assert events(again)[-2][0] == "response.completed" and len(upstream.chats()) == 1


def test_a_repeat_waits_for_the_running_response(server, http, upstream, key):
    upstream.answer(**SLOW)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(send, server.http(), key)
        eventually(upstream.chats, lambda chats: len(chats) == 1)
        again = send(http, key).json()
        assert again == first.result().json() and text_of(again) == SLOW["text"]
    assert len(upstream.chats()) == 1


def test_what_a_lost_client_had_begun_is_finished_for_its_repeat(server, http, upstream, key):
    upstream.answer(**SLOW)
    begun(server, key).close()
    again = events(send(http, key, stream=True))
    assert text_of(json.loads(again[-2][1])["response"]) == SLOW["text"]
    assert len(upstream.chats()) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_a_background_response_is_made_once(http, upstream, key, stream):
    first = send(http, key, background=True, stream=stream)
    made = json.loads(events(first)[0][1])["response"] if stream else first.json()
    assert made["status"] == "queued"
    ended = eventually(lambda: http.get(f"/v1/responses/{made['id']}").json(),
                       lambda response: response["status"] == "completed")
    again = send(http, key, background=True, stream=stream)
    assert again.text == first.text if stream else again.json() == ended
    assert len(upstream.chats()) == 1


def test_a_response_of_a_conversation_is_made_once(server, http, upstream, key):
    upstream.answer(**SLOW)
    conversation = http.post("/v1/conversations", json={}).json()["id"]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(send, server.http(), key, conversation=conversation)
        eventually(upstream.chats, lambda chats: len(chats) == 1)
        assert send(http, key, conversation=conversation).json() == first.result().json()
    assert send(http, key, conversation=conversation).json() == first.result().json()
    items = http.get(f"/v1/conversations/{conversation}/items").json()["data"]
    assert len(items) == 2 and len(upstream.chats()) == 1


def test_an_answer_to_an_approval_request_is_taken_once(http, upstream, key):
    ask = {**BASIC, "require_approval": "always"}
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "It is late."}},
                    {"answer": {"tool_calls": [{"name": "datetime", "id": "call_1", "arguments": {}}]}})
    asked = http.post("/v1/responses", json={**BODY, "tools": [ask]}).json()
    answer = {"type": "mcp_approval_response", "approval_request_id": asked["output"][-1]["id"], "approve": True}
    body = {"input": [answer], "previous_response_id": asked["id"], "tools": [ask]}
    first = send(http, key, **body).json()
    assert text_of(first) == "It is late."
    assert send(http, key, **body).json() == first and len(upstream.chats()) == 2


@pytest.mark.parametrize("stream", [False, True])
def test_of_many_equal_requests_at_once_one_is_executed(server, upstream, key, stream):
    upstream.answer(**SLOW)
    clients = [server.http() for _ in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda client: send(client, key, stream=stream).text, clients))
    assert len(set(answers)) == 1 and len(upstream.chats()) == 1


# ---- What a key is for ----

def test_a_key_belongs_to_one_request(http, upstream, key):
    send(http, key)
    refused(post(http, key, input="Ho"), key)
    refused(post(http, key, stream=True), key)
    refused(post(http, key, "/v1/conversations", metadata={"a": "1"}), key)
    assert len(upstream.chats()) == 1


def test_without_storage_the_key_is_ignored(http, upstream, key):
    first = send(http, key, store=False).json()
    assert send(http, key, store=False).json()["id"] != first["id"]
    assert send(http, "x" * 300, store=False).json()["status"] == "completed"
    assert len(upstream.chats()) == 3


def test_a_key_has_a_form(http, upstream):
    answer = post(http, "x" * 256)
    assert answer.status_code == 400 and answer.json()["error"]["param"] == "Idempotency-Key"
    assert not upstream.chats()


def test_a_refused_request_may_be_repeated_under_its_key(http, key):
    conversation = "conv_" + "0" * 32
    assert post(http, key, conversation=conversation).status_code == 404
    assert post(http, key, temperature=9).status_code == 400
    assert send(http, key).json()["status"] == "completed"


def test_what_the_model_failed_is_made_anew_under_its_key(http, upstream, key):
    upstream.answer(**FAILING)
    failed = post(http, key)
    assert failed.status_code == 500
    upstream.answer(text="At last.")
    made = send(http, key).json()
    assert text_of(made) == "At last." and made["id"] != failed.headers[HEADER]
    assert send(http, key).json() == made
    assert http.get(f"/v1/responses/{failed.headers[HEADER]}").json()["status"] == "failed"


def test_a_failed_stream_comes_again(http, upstream, key):
    """It was answered: its client has seen how it ended."""
    upstream.answer(**FAILING)
    first = send(http, key, stream=True)
    assert events(first)[-2][0] == "response.failed"
    upstream.answer(text="At last.")
    assert send(http, key, stream=True).text == first.text


@pytest.mark.parametrize("status, code", [(429, "rate_limit_exceeded"), (500, "server_error"),
                                          (400, "context_length_exceeded")])
def test_what_has_called_a_tool_keeps_its_key(http, upstream, key, status, code):
    body = json.dumps({"error": {"message": "No.", "type": "some_error", "code": code}})
    upstream.script(
        {"match": {"tool_results": True},
         "answer": {"fault": {"kind": "status", "status": status, "body": body, "retry_after": 0}}},
        {"answer": {"tool_calls": [{"name": "datetime", "id": "call_1", "arguments": {}}]}})
    first = post(http, key, tools=[BASIC])
    assert (first.status_code, first.headers["x-should-retry"]) == (status, "false")
    asked = len(upstream.chats())
    again = post(http, key, tools=[BASIC])
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert again.headers["x-should-retry"] == "false" and again.headers[HEADER] == first.headers[HEADER]
    assert len(upstream.chats()) == asked


def test_sdks_repeat_what_failed_under_one_key(server, upstream, key):
    upstream.script({"times": 3, "answer": FAILING}, {"answer": {"text": "At last."}})
    client = server.sdk().with_options(max_retries=1)
    made = client.responses.create(**BODY, extra_headers={"Idempotency-Key": key})
    assert made.output_text == "At last."
    assert client.responses.create(**BODY, extra_headers={"Idempotency-Key": key}).id == made.id


def test_keys_belong_to_a_project(server, http, upstream, key):
    first = send(http, key).json()
    with httpx2.Client(base_url=server.url,
                       headers={"Authorization": f"Bearer {server.new_key('keys')}"}) as other:
        made = send(other, key).json()
        assert made["id"] != first["id"] and len(upstream.chats()) == 2
        answer = post(other, key, input="Ho")
        assert answer.status_code == 400 and first["id"] not in answer.text


# ---- Conversations ----

def test_a_conversation_is_made_once(http, key):
    body = {"items": [{"type": "message", "role": "user", "content": "Hi"}], "metadata": {"a": "1"}}
    first = send(http, key, "/v1/conversations", **body).json()
    path = f"/v1/conversations/{first['id']}"
    assert send(http, key, "/v1/conversations", **body).json() == first
    assert len(http.get(f"{path}/items").json()["data"]) == 1
    http.post(path, json={"metadata": {"a": "2"}})
    assert send(http, key, "/v1/conversations", **body).json()["metadata"] == {"a": "2"}
    refused(post(http, key, "/v1/conversations"), key)
    http.delete(path)
    gone = post(http, key, "/v1/conversations", **body)
    assert gone.status_code == 404
    assert gone.json()["error"]["message"] == f"Conversation with id '{first['id']}' not found."


def test_items_are_added_once(server, http, upstream, key):
    conversation = http.post("/v1/conversations", json={}).json()["id"]
    path = f"/v1/conversations/{conversation}/items"
    body = {"items": [{"type": "message", "role": "user", "content": text} for text in ("a", "b", "c")]}
    first = send(http, key, path, **body).json()
    assert len(first["data"]) == 3
    http.post(path, json={"items": [{"type": "message", "role": "user", "content": "d"}]})
    assert send(http, key, path, **body).json() == first
    upstream.answer(**SLOW)  # a running response locks the conversation, and not its repeats
    with begun(server, f"{key} 2", conversation=conversation).stack:
        assert send(http, key, path, **body).json() == first
    eventually(lambda: http.delete(f"{path}/{first['data'][1]['id']}").status_code, lambda code: code == 200)
    left = send(http, key, path, **body).json()["data"]
    assert [item["id"] for item in left] == [first["data"][0]["id"], first["data"][2]["id"]]
    refused(post(http, key, path, items=body["items"][:1]), key)


def test_of_many_equal_additions_at_once_one_is_executed(server, http, key):
    conversation = http.post("/v1/conversations", json={}).json()["id"]
    path = f"/v1/conversations/{conversation}/items"
    body = {"items": [{"type": "message", "role": "user", "content": "a"}]}
    clients = [server.http() for _ in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda client: send(client, key, path, **body).text, clients))
    assert len(set(made)) == 1 and len(http.get(path).json()["data"]) == 1


# ---- Clients and servers that go ----

def test_what_no_client_wants_any_more_is_cancelled(start_fault_server, upstream, key):
    server = start_fault_server(idempotency_grace=0.2)
    upstream.answer(text="a b c d e f g h", split="word", piece_delay_ms=30000)
    client, http = begun(server, key), server.http()
    assert http.get(f"/v1/responses/{client.response_id}").status_code == 404  # it runs
    client.close()
    lost = eventually(lambda: http.get(f"/v1/responses/{client.response_id}").json(),
                      lambda response: "status" in response)
    assert lost["status"] == "cancelled"
    upstream.answer(text="At last.")
    made = json.loads(events(send(http, key, stream=True))[-2][1])["response"]
    assert text_of(made) == "At last." and made["id"] != lost["id"]


def test_a_repeat_keeps_a_response_whose_first_client_left(start_fault_server, upstream, key):
    server = start_fault_server(idempotency_grace=0.3)
    upstream.answer(text="a b c d e f g h", split="word", piece_delay_ms=200)
    first = begun(server, key)
    answers = []
    repeat = threading.Thread(target=lambda: answers.append(send(server.http(), key, stream=True)))
    repeat.start()
    first.close()
    repeat.join()
    assert events(answers[0])[-2][0] == "response.completed" and len(upstream.chats()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True])
def test_after_a_crash_a_repeat_gets_the_answer(start_fault_server, upstream, key, stream):
    upstream.answer(**SLOW)
    server = start_fault_server()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        lost = pool.submit(post, server.http(), key, stream=stream)
        eventually(upstream.chats, lambda chats: len(chats) == 1)
        server.kill()
        with pytest.raises(Exception):
            events(lost.result()) if stream else lost.result()
    server.start()
    again = send(server.http(), key, stream=stream)
    made = json.loads(events(again)[-2][1])["response"] if stream else again.json()
    assert made["status"] == "completed" and text_of(made) == SLOW["text"]
    if stream:
        assert events(again)[0][0] == "response.created"
        assert send(server.http(), key, stream=stream).text == again.text


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True])
def test_a_repeat_joins_on_another_server(start_fault_server, upstream, key, stream):
    upstream.answer(**SLOW)
    one = start_fault_server()
    two = start_fault_server(url=one.settings["database_url"], api_key=one.settings["api_key"])
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(send, one.http(), key, stream=stream)
        eventually(upstream.chats, lambda chats: len(chats) == 1)
        assert send(two.http(), key, stream=stream).text == first.result().text
    assert send(two.http(), key, stream=stream).text == first.result().text
    assert len(upstream.chats()) == 1
