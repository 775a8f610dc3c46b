"""More runs than may work at once: they wait in the queue, and are refused when it is full."""

import concurrent.futures
import threading

import pytest

from harness.patience import patience
from harness.server import eventually

SLOW = [{"times": 1, "answer": {"text": "done", "delay_ms": int(patience(3) * 1000)}}, {"answer": {"text": "done"}}]


@pytest.fixture
def narrow(start_server):
    """A server with one slot and a queue of two."""
    return start_server(max_runs=1, max_waiting_runs=2)


def create(client, **options):
    return client.responses.create(model="demo", input="go", background=True, **options)


@pytest.mark.slow
def test_runs_wait_in_the_queue_and_are_refused_beyond_it(narrow, upstream):
    upstream.script(*SLOW)
    client, http = narrow.sdk(), narrow.http()
    first = create(client)
    eventually(lambda: len(upstream.chats()) == 1)
    waiting = []
    teller = threading.Thread(target=lambda: waiting.append(
        client.responses.create(model="demo", input="go").output_text))
    teller.start()
    eventually(lambda: "\nrunnel_runs_live 2" in http.get("/metrics").text)
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "go"}])
    assistant = client.beta.assistants.create(model="demo")
    run = client.beta.threads.runs.create(thread_id=thread.id, assistant_id=assistant.id)
    eventually(lambda: "\nrunnel_runs_live 3" in http.get("/metrics").text)
    refused = http.post("/v1/responses", json={"model": "demo", "input": "go"})
    assert refused.status_code == 429 and int(refused.headers["retry-after"]) >= 1
    assert refused.json()["error"]["code"] == "rate_limit_exceeded"
    assert client.beta.threads.runs.retrieve(run.id, thread_id=thread.id).status == "queued"
    teller.join()
    assert waiting == ["done"]
    ended = eventually(lambda: client.beta.threads.runs.retrieve(run.id, thread_id=thread.id),
                       lambda r: r.status not in ("queued", "in_progress"))
    assert ended.status == "completed"
    assert client.responses.retrieve(first.id).status == "completed"


@pytest.mark.slow
def test_a_queued_run_can_be_cancelled(narrow, upstream):
    upstream.script(*SLOW)
    client = narrow.sdk()
    create(client)
    eventually(lambda: len(upstream.chats()) == 1)
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "go"}])
    assistant = client.beta.assistants.create(model="demo")
    run = client.beta.threads.runs.create(thread_id=thread.id, assistant_id=assistant.id)
    client.beta.threads.runs.cancel(run.id, thread_id=thread.id)
    eventually(lambda: client.beta.threads.runs.retrieve(run.id, thread_id=thread.id).status,
               lambda status: status == "cancelled")


@pytest.mark.slow
def test_many_more_runs_than_slots_all_end(start_server, upstream):
    client = start_server(max_runs=3, max_runs_per_project=2).sdk()

    def one(_):
        return client.responses.create(model="demo", input="go").output_text

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        assert set(pool.map(one, range(60))) == {"Hello there, my friend."}


@pytest.mark.slow
def test_runs_are_refused_when_their_conversations_are_too_much(start_server, upstream):
    server = start_server(max_run_bytes=1000000)
    upstream.script(*[{"times": 1, "answer": {"text": "done", "delay_ms": int(patience(3) * 1000)}}] * 2,
                    {"answer": {"text": "done"}})
    client, http = server.sdk(), server.http()
    long = "many words " * 50000
    runs = [client.responses.create(model="demo", input=long, background=True) for _ in range(2)]
    refused = http.post("/v1/responses", json={"model": "demo", "input": "go"})
    assert refused.status_code == 429 and int(refused.headers["retry-after"]) >= 1
    assert refused.json()["error"]["code"] == "rate_limit_exceeded"
    assert "too much" in refused.json()["error"]["message"]
    for run in runs:
        eventually(lambda run=run: client.responses.retrieve(run.id).status, "completed".__eq__)
    eventually(lambda: "\nrunnel_runs_bytes 0" in http.get("/metrics").text)
    assert client.responses.create(model="demo", input=long).output_text == "done"
