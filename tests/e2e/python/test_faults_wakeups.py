"""Wake-ups between servers of one database; without them they would find out by polling."""

import json
import threading

import pytest

from harness import shapes
from harness.faults import Log, whole_frames
from harness.server import eventually
from harness.shapes import TEST_TOOLS
from harness.tools import WEATHER, WEATHER_RULES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

FOREVER = 3600000

# They poll only after hundreds of seconds.
SELDOM = 3000


@pytest.fixture
def start_pair(start_fault_server):
    def start(url=None, **settings):
        first = start_fault_server(url=url, **settings)
        second = start_fault_server(url=first.settings["database_url"], **settings)
        # It knows only by a wake-up: from now on it listens.
        eventually(lambda: first.metric("other_nodes"), lambda known: known == 1, seconds=60)
        return first, second
    return start


def new_thread(client, tools=()):
    assistant = client.beta.assistants.create(model="demo", tools=list(tools))
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "x"}])
    return {"thread_id": thread.id, "assistant_id": assistant.id}


def settle(client, run, *statuses, seconds=60):
    return eventually(
        lambda: client.beta.threads.runs.retrieve(run.id, thread_id=run.thread_id).status,
        lambda status: status in statuses, seconds)


def count_of(upstream, count):
    eventually(lambda: len(upstream.chats()), lambda chats: chats == count)


# ---- Cancelling ----

@pytest.mark.threads
@pytest.mark.parametrize("answer", [
    {"text": "a b c", "piece_delay_ms": FOREVER},
    {"tool_calls": [{"name": "test_slow", "id": "call_1", "arguments": {"ms": FOREVER}}]},
], ids=["speaking", "tool"])
def test_a_cancel_reaches_the_owner_at_once(start_pair, upstream, database, answer):
    first, second = start_pair(lease_ttl=SELDOM)
    here, there = first.sdk(strict=False), second.sdk(strict=False)
    upstream.answer(**answer)
    run = here.beta.threads.runs.create(**new_thread(here, [TEST_TOOLS]))
    count_of(upstream, 1)
    settle(there, run, "in_progress")
    assert there.beta.threads.runs.cancel(run.id, thread_id=run.thread_id).status == "cancelling"
    settle(there, run, "cancelled")
    made = here.responses.create(model="demo", input="x", background=True,
                                 extra_body={"tools": [TEST_TOOLS]})
    count_of(upstream, 2)
    assert there.responses.cancel(made.id).status == "cancelled"
    eventually(lambda: there.responses.retrieve(made.id).status,
               lambda status: status == "cancelled", seconds=60)
    first.forgets_its_runs()
    shapes.check_database(database, first.settings["database_url"])


def test_a_cancel_without_a_wake_up_is_found(start_pair, upstream, database):
    first, second = start_pair(lease_ttl=2)
    here, there = first.sdk(), second.sdk()
    upstream.answer(text="a b c", piece_delay_ms=FOREVER)
    run = here.beta.threads.runs.create(**new_thread(here))
    count_of(upstream, 1)
    settle(there, run, "in_progress")
    second.arm("wakeups_send:1")
    there.beta.threads.runs.cancel(run.id, thread_id=run.thread_id)
    settle(there, run, "cancelled")
    eventually(second.has_fired)


# ---- Handing over ----

def test_runs_that_a_server_releases_are_claimed_at_once(start_pair, upstream, database):
    first, second = start_pair(lease_ttl=SELDOM, drain_timeout=1)
    here, there = first.sdk(), second.sdk()
    upstream.script({"times": 2, "answer": {"text": "a b c", "piece_delay_ms": FOREVER}},
                    {"answer": {"text": "Whole."}})
    run = here.beta.threads.runs.create(**new_thread(here))
    response = here.responses.create(model="demo", input="x", background=True)
    count_of(upstream, 2)
    assert first.stop() == 0
    settle(there, run, "completed")
    done = eventually(lambda: there.responses.retrieve(response.id),
                      lambda made: made.status == "completed", seconds=60)
    assert done.output[-1].content[0].text == "Whole."
    shapes.check_database(database, first.settings["database_url"])


# ---- Following ----

WORDS = " ".join(f"word{n}" for n in range(20))


class Listener(threading.Thread):
    """Reads a stream until its end."""

    def __init__(self, server, path):
        super().__init__()
        self.client, self.path, self.text = server.http(), path, ""
        self.start()

    def run(self):
        with self.client.stream("GET", self.path) as answer:
            assert answer.status_code == 200
            for part in answer.iter_text():
                self.text += part

    def frames(self):
        self.join(90)
        assert not self.is_alive()
        return whole_frames(self.text)


def logged(database, server, run_id):
    text = Log(database, server.settings["database_url"], run_id).text
    return [frame for frame in text.split("\n\n") if frame]


def begin_background(server):
    """A response that is streamed to nobody any more; its id."""
    with server.http().stream("POST", "/v1/responses", json={
            "model": "demo", "input": "go", "stream": True, "background": True}) as answer:
        for part in answer.iter_text():
            return json.loads(part.split("data: ", 1)[1].split("\n", 1)[0])["response"]["id"]


@pytest.mark.threads
def test_a_follower_on_another_server_is_notified(start_fault_server, statements, upstream, database):
    url = database.new()
    said = statements(url)
    first = start_fault_server(url=url, lease_ttl=SELDOM)
    second = start_fault_server(url=url, lease_ttl=SELDOM)
    upstream.answer(text=" ".join([WORDS] * 3), split="word", piece_delay_ms=100)
    made = begin_background(first)
    listeners = [Listener(second, f"/v1/responses/{made}?stream=true") for _ in range(3)]
    received = [listener.frames() for listener in listeners]
    assert received == [logged(database, first, made)] * 3
    assert json.loads(received[0][-1].split("data: ", 1)[1])["type"] == "response.completed"
    assert "pg_notify(left('runnel_'" in said()
    assert said().count(f"events {made}") > 15  # not only when it was asked to


def test_followers_of_one_run_share_their_reads(start_fault_server, statements, upstream, database):
    """Twenty cost about what one costs, not twenty times that."""
    url = database.new()
    said = statements(url)
    first = start_fault_server(url=url, lease_ttl=SELDOM)
    second = start_fault_server(url=url, lease_ttl=SELDOM)
    upstream.answer(text=WORDS, split="word", piece_delay_ms=100)
    made = begin_background(first)
    listeners = [Listener(second, f"/v1/responses/{made}?stream=true") for _ in range(20)]
    received = [listener.frames() for listener in listeners]
    assert received == [logged(database, first, made)] * 20
    reads = said().count("store_events_read")
    assert reads < 10 * said().count(f"events {made}")


@pytest.mark.parametrize("server, fault", [
    ("follower", "wakeups_follow:1"), ("follower", "wakeups.connect:1"), ("owner", "wakeups_send:1"),
    ("owner", "wakeups_send:2"), ("owner", "wakeups_send:5")])
def test_events_without_a_wake_up_are_read(start_pair, upstream, database, server, fault):
    first, second = start_pair(lease_ttl=SELDOM)
    owner, follower = first, second
    if server == "follower":
        follower.arm(fault)
    else:
        owner.arm(fault)
    if fault.startswith("wakeups.connect"):
        database.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                     " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                     " AND (query LIKE 'LISTEN%' OR query LIKE '%pg_notify%')",
                     url=first.settings["database_url"])
    upstream.answer(text=WORDS, split="word", piece_delay_ms=100)
    made = begin_background(owner)
    frames = Listener(follower, f"/v1/responses/{made}?stream=true").frames()
    assert frames == logged(database, owner, made)
    assert (follower if server == "follower" else owner).has_fired()


def test_followers_stay_with_a_run_that_moves(start_pair, statements, upstream, database):
    """It waits for its client, who answers elsewhere; and then its server is drained."""
    url = database.new()
    said = statements(url)
    first, second = start_pair(url=url, lease_ttl=SELDOM, drain_timeout=1)
    third = first.sdk()
    upstream.script({"match": {"tool_results": True}, "times": 1,
                     "answer": {"text": "a b c", "split": "word", "piece_delay_ms": FOREVER}},
                    {"match": {"tool_results": True}, "answer": {"text": "Whole."}},
                    *WEATHER_RULES)
    run = third.beta.threads.runs.create(**new_thread(third, [WEATHER]))
    settle(third, run, "requires_action")
    listener = Listener(first, f"/v1/threads/{run.thread_id}/runs/{run.id}/events")
    there = second.sdk()
    there.beta.threads.runs.submit_tool_outputs(
        run_id=run.id, thread_id=run.thread_id,
        tool_outputs=[{"tool_call_id": "call_1", "output": "sunny"}])
    eventually(lambda: '"value":"a' in listener.text)
    assert second.stop() == 0
    received = listener.frames()
    assert settle(third, run, "completed") == "completed"
    assert f"moved {run.id}" in said()
    text = Log(database, url, run.id).text
    assert [frame.split("\n", 1)[1] for frame in received] == [
        frame for frame in text.split("\n\n") if frame]


def test_an_answer_reaches_a_response_that_holds(start_pair, upstream, database, tmp_path):
    """F44: which looks for it only with its leases, hundreds of seconds apart."""
    first, second = start_pair(lease_ttl=SELDOM)
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}},
                    {"answer": {"tool_calls": [shapes.count_call(tmp_path / "count")]}})
    answers = []
    asking = threading.Thread(target=lambda: answers.append(first.api().post("/responses", json={
        "model": "demo", "input": "go",
        "runnel": {"approval": {"channel": "hold"}},
        "tools": [{"type": "mcp", "server_label": "test", "server_url": "builtin:test",
                   "require_approval": "always"}]})))
    asking.start()
    path = "/runnel/approvals"
    (asked,) = eventually(lambda: second.api().get(path).json()["data"], lambda found: len(found) == 1)
    assert second.api().post(f"{path}/{asked['id']}", json={"approve": True}).status_code == 200
    asking.join(60)
    assert not asking.is_alive()
    assert answers[0].json()["output"][-1]["content"][0]["text"] == "Done."


# ---- Alone ----

def test_a_server_that_is_alone_sends_no_wake_ups(start_fault_server, statements, upstream, database):
    """No other server would receive them, so nothing is sent to the database."""
    url = database.new()
    listen = statements(url)
    server = start_fault_server(url=url)
    client = server.sdk()
    upstream.script(*WEATHER_RULES)
    run = client.beta.threads.runs.create_and_poll(**new_thread(client, [WEATHER]))
    assert run.status == "requires_action"
    client.beta.threads.runs.submit_tool_outputs_and_poll(
        run_id=run.id, thread_id=run.thread_id,
        tool_outputs=[{"tool_call_id": "call_1", "output": "sunny"}])
    made = client.responses.create(model="demo", input="x", background=True, stream=True)
    for _ in client.responses.retrieve(next(iter(made)).response.id, stream=True):
        pass
    upstream.answer(text="a b c", piece_delay_ms=FOREVER)
    run = client.beta.threads.runs.create(**new_thread(client))
    client.beta.threads.runs.cancel(run.id, thread_id=run.thread_id)
    settle(client, run, "cancelled")
    assert server.metric("other_nodes") == 0
    assert server.stop() == 0
    said = listen()
    assert "INSERT INTO nodes" in said
    assert said.count("LISTEN") >= 2
    assert "pg_notify" not in said
