"""Draining, and two servers on one database."""

import json
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import shapes
from harness.faults import FINAL, Log, listen, whole_frames
from harness.patience import patience
from harness.recorder import parse_events
from harness.server import eventually
from harness.shapes import TEST_TOOLS, count_call
from harness.tools import WEATHER, WEATHER_RULES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

FOREVER = 3600000
LONG = " ".join(f"word{i}" for i in range(20))


class Follower:
    """Listens to a stream in a thread of its own."""

    def __init__(self, server, path, body):
        self.text, self.broken = "", None
        self.server = server
        self.thread = threading.Thread(target=self.run, args=(path, body))
        self.thread.start()

    def run(self, path, body):
        _, self.text, self.broken = listen(self.server.api(), path, body)

    def ended(self, seconds=30):
        self.thread.join(seconds)
        assert not self.thread.is_alive()
        return [(name, json.loads(data)) for name, data in parse_events(self.text)
                if data != "[DONE]"]


def new_run(server, tools=()):
    api = server.api()
    assistant = api.post("/assistants", json={"model": "demo", "tools": list(tools)}).json()["id"]
    thread = api.post("/threads", json={"messages": [{"role": "user", "content": "x"}]}).json()
    return f"/threads/{thread['id']}/runs", {"assistant_id": assistant}


def start_run(server, tools=()):
    path, body = new_run(server, tools)
    return f"{path}/{server.api().post(path, json=body).json()['id']}"


def settle(server, path, *statuses, seconds=30):
    return eventually(lambda: server.api().get(path).json(),
                      lambda run: run["status"] in statuses, seconds)


def background(server, **more):
    return server.api().post("/responses", json={"model": "demo", "input": "x", "background": True,
                                                 **more}).json()["id"]


def ends_with(server, seconds):
    """The exit status, after at most so many seconds."""
    return server.process.child.wait(seconds)


# ---- Draining ----

@pytest.mark.threads
def test_streams_finish_before_the_server_ends(start_fault_server, upstream, database):
    server = start_fault_server()
    upstream.answer(text=LONG, piece_delay_ms=50)
    followers = [Follower(server, *new_run(server)),
                 Follower(server, "/responses", {"model": "demo", "input": "x"}),
                 Follower(server, "/responses", {"model": "demo", "input": "x", "store": False}),
                 Follower(server, "/responses", {"model": "demo", "input": "x",
                                                 "background": True})]
    waiting = []
    thread = threading.Thread(target=lambda: waiting.append(
        server.api().post("/responses", json={"model": "demo", "input": "x"})))
    thread.start()
    eventually(lambda: len(upstream.chats()), lambda n: n == 5)
    server.process.signal(signal.SIGTERM)
    eventually(lambda: server.api().get(f"{server.url}/readyz").status_code,
               lambda status: status == 503)
    refused = server.api().post("/responses", json={"model": "demo", "input": "x"})
    assert refused.status_code == 503 and refused.json()["error"]["type"] == "server_error"
    for follower in followers:
        events = follower.ended()
        assert not follower.broken
        assert events[-1][0] in ("thread.run.completed", "response.completed")
    thread.join(30)
    assert waiting[0].json()["output"][0]["content"][0]["text"] == LONG
    assert ends_with(server, 20) == 0
    shapes.check_database(database, server.settings["database_url"])


def test_a_waiting_run_does_not_delay_the_drain(start_fault_server, upstream):
    server = start_fault_server()
    upstream.script(*WEATHER_RULES)
    path = start_run(server, [WEATHER])
    settle(server, path, "requires_action")
    began = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - began < patience(5)
    server.start()
    answer = server.api().post(f"{path}/submit_tool_outputs", json={
        "tool_outputs": [{"tool_call_id": "call_1", "output": "sunny"}]})
    assert answer.status_code == 200
    assert settle(server, path, *FINAL)["status"] == "completed"


def test_a_second_signal_ends_the_server_at_once(start_fault_server, upstream):
    server = start_fault_server(drain_timeout=60)
    upstream.answer(text="a b c", piece_delay_ms=FOREVER)
    follower = Follower(server, "/responses", {"model": "demo", "input": "x"})
    eventually(lambda: upstream.chats(), len)
    server.process.signal(signal.SIGTERM)
    eventually(lambda: server.metric("draining"), lambda draining: draining == 1)
    with pytest.raises(subprocess.TimeoutExpired):
        ends_with(server, 1)
    server.process.signal(signal.SIGTERM)
    assert ends_with(server, 3) == 0
    follower.ended()


@pytest.mark.threads
def test_a_run_too_long_for_the_drain_moves_to_another_server(start_fault_server, upstream,
                                                               database):
    first = start_fault_server(drain_timeout=1)
    url = first.settings["database_url"]
    second = start_fault_server(url=url)
    upstream.script({"times": 4, "answer": {"text": "a b c", "piece_delay_ms": FOREVER}},
                    {"answer": {"text": "Whole."}})
    responses = [background(first) for _ in range(2)]
    run = start_run(first)
    foreground = Follower(first, "/responses", {"model": "demo", "input": "x"})
    eventually(lambda: len(upstream.chats()), lambda n: n == 4)
    assert first.stop() == 0
    events = foreground.ended()
    assert events[-1][0] == "response.failed"
    assert events[-1][1]["response"]["error"]["code"] == "server_error"
    for response in responses:
        done = settle(second, f"/responses/{response}", *FINAL)
        assert done["status"] == "completed"
        assert [item["content"][0]["text"] for item in done["output"]] == ["Whole."]
        Log(database, url, response)
    assert settle(second, run, *FINAL)["status"] == "completed"
    shapes.check_database(database, url)
    # No server died: it was handed over.
    assert database.ask("SELECT max(attempts) FROM runs", url=url) == [["0"]]


def test_a_run_is_handed_over_between_two_steps(start_fault_server, upstream, database, tmp_path):
    """As soon as its tool has ended, long before the drain is over."""
    first = start_fault_server(drain_timeout=30)
    url = first.settings["database_url"]
    second = start_fault_server(url=url)
    path = tmp_path / "count"
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "It ran."}},
                    {"answer": {"tool_calls": [count_call(path, ms=700)]}})
    run = start_run(first, [TEST_TOOLS])
    eventually(path.exists)
    began = time.monotonic()
    assert first.stop() == 0
    assert time.monotonic() - began < patience(15)
    assert settle(second, run, *FINAL)["status"] == "completed"
    assert path.read_text().split() == ["call_1"]
    shapes.check_database(database, url)


# ---- Two servers ----

@pytest.fixture
def pair(start_fault_server):
    first = start_fault_server(lease_ttl=1)
    return first, start_fault_server(url=first.settings["database_url"], lease_ttl=1)


def test_a_run_of_one_server_is_answered_on_the_other(pair, upstream, database):
    first, second = pair
    upstream.script(*WEATHER_RULES)
    path = start_run(first, [WEATHER])
    settle(second, path, "requires_action")
    follower = Follower(second, f"{path}/submit_tool_outputs", {
        "tool_outputs": [{"tool_call_id": "call_1", "output": "sunny"}]})
    assert follower.ended()[-1][0] == "thread.run.completed"
    assert settle(first, path, *FINAL)["status"] == "completed"
    first.forgets_its_runs()
    second.forgets_its_runs()


def test_of_two_answers_on_two_servers_one_counts(pair, upstream, database):
    first, second = pair
    upstream.script(*WEATHER_RULES)
    for _ in range(5):
        path = start_run(first, [WEATHER])
        settle(second, path, "requires_action")
        answers = []

        def submit(server, output, path=path, answers=answers):
            answers.append((output, server.api().post(f"{path}/submit_tool_outputs", json={
                "tool_outputs": [{"tool_call_id": "call_1", "output": output}]})))
        threads = [threading.Thread(target=submit, args=pair) for pair in (
            (first, "sunny"), (second, "rainy"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        taken = [output for output, answer in answers if answer.status_code == 200]
        assert len(taken) == 1, [answer.text for _, answer in answers]
        assert settle(first, path, *FINAL)["status"] == "completed"
        assert upstream.chats()[-1]["messages"][-1]["content"] == taken[0]


@pytest.mark.parametrize("answer", [
    {"text": "a b c", "piece_delay_ms": FOREVER},
    {"tool_calls": [{"name": "test_slow", "id": "call_1", "arguments": {"ms": FOREVER}}]},
], ids=["speaking", "tool"])
def test_bella_A3_a_run_is_cancelled_from_the_other_server(pair, upstream, database, answer):
    first, second = pair
    upstream.answer(**answer)
    path = start_run(first, [TEST_TOOLS])
    eventually(lambda: upstream.chats(), len)
    settle(first, path, "in_progress")
    assert second.api().post(f"{path}/cancel").json()["status"] == "cancelling"
    assert settle(second, path, *FINAL, seconds=10)["status"] == "cancelled"
    made = background(first, tools=[TEST_TOOLS])
    eventually(lambda: len(upstream.chats()), lambda n: n == 2)
    assert second.api().post(f"/responses/{made}/cancel").json()["status"] == "cancelled"
    assert first.api().get(f"/responses/{made}").json()["status"] == "cancelled"
    first.forgets_its_runs()
    shapes.check_database(database, first.settings["database_url"])


def test_cancelling_is_answered_even_if_the_owner_was_killed(pair, upstream, database):
    """By the server that took the run over in the meantime, when its end is stored."""
    first, second = pair
    upstream.answer(text="a b c", piece_delay_ms=FOREVER)
    made = background(first)
    eventually(lambda: upstream.chats(), len)
    first.kill()
    with ThreadPoolExecutor(2) as pool:
        for answer in pool.map(lambda _: second.api().post(f"/responses/{made}/cancel").json(), range(2)):
            assert answer["status"] == "cancelled"
    stored = database.ask("SELECT status FROM runs", url=second.settings["database_url"])
    assert stored == [["cancelled"]]


def test_cancelling_is_answered_even_if_the_server_stops_first(start_fault_server, upstream,
                                                                             database):
    """The owner is suspended, and no other server may have its run for long: the waiting client gets the
    answer at once."""
    first = start_fault_server(lease_ttl=300)
    second = start_fault_server(url=first.settings["database_url"], lease_ttl=300)
    upstream.answer(text="a b c", piece_delay_ms=FOREVER)
    made = background(first)
    eventually(lambda: upstream.chats(), len)
    first.process.signal(signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(second.api().post, f"/responses/{made}/cancel")
        eventually(lambda: database.ask("SELECT status FROM runs", url=second.settings["database_url"]),
                   lambda rows: rows == [["cancelling"]])
        assert not answer.done()
        second.process.signal(signal.SIGTERM)
        assert answer.result(20).json()["status"] == "cancelled"
    assert ends_with(second, 20) == 0
    first.process.signal(signal.SIGCONT)


def test_the_other_server_takes_over_after_kill_9(pair, upstream, database):
    first, second = pair
    url = first.settings["database_url"]
    upstream.script({"times": 3, "answer": {"text": "Whole again.", "split": "word",
                                            "piece_delay_ms": FOREVER}},
                    {"answer": {"text": "Whole again."}})
    run = start_run(first)
    response = background(first)
    foreground = Follower(first, "/responses", {"model": "demo", "input": "x"})
    eventually(lambda: len(upstream.chats()), lambda n: n == 3)
    settle(second, run, "in_progress")
    first.kill()
    made = foreground.ended()[0][1]["response"]["id"]
    assert settle(second, run, *FINAL)["status"] == "completed"
    done = settle(second, f"/responses/{response}", *FINAL)
    assert done["status"] == "completed"
    assert [item["content"][0]["text"] for item in done["output"]] == ["Whole again."]
    failed = eventually(lambda: second.api().get(f"/responses/{made}"),
                        lambda answer: answer.status_code == 200).json()
    assert failed["status"] == "failed" and failed["error"]["code"] == "server_error"
    shapes.check_database(database, url)
    first.start()


# ---- One of them sleeps longer than its leases ----

@pytest.mark.parametrize("point, shape", [
    *[(point, shape) for point in ("run.write", "run.committed", "writer.send", "writer.result")
      for shape in (shapes.Text, shapes.ServerTools, shapes.Background)],
    ("tool.before_run", shapes.ServerTools)],
    ids=lambda value: value if isinstance(value, str) else value.__name__)
def test_a_server_that_was_suspended_writes_nothing_more(pair, upstream, database, point, shape, tmp_path):
    """It is suspended at that point; the other takes its run over; then it continues."""
    first, second = pair
    url = first.settings["database_url"]
    for visit in (1, 2, 4):
        first.arm()
        run = shape(first, upstream, tmp_path / f"count-{visit}")
        first.arm(f"{point}:{visit}:stop")
        follower = Follower(first, *run.beginning())
        eventually(lambda: first.has_fired() or not follower.thread.is_alive())
        if not first.has_fired():
            assert visit > 1
            follower.ended()
            break
        rows = database.ask("SELECT id FROM runs WHERE status IN ('queued', 'in_progress')"
                            " ORDER BY created_at DESC LIMIT 1", url=url)
        if not rows:  # not there yet, or over already: nobody can take it
            first.process.signal(signal.SIGCONT)
            follower.ended()
            continue
        run_id = rows[0][0]
        eventually(lambda run_id=run_id: database.ask(
            f"SELECT status FROM runs WHERE id = '{run_id}'", url=url)[0][0],
                   lambda status: status in FINAL, seconds=40)
        first.process.signal(signal.SIGCONT)
        follower.ended()
        log = Log(database, url, run_id)
        logged = [frame for frame in log.text.split("\n\n") if frame]
        received = whole_frames(follower.text)
        assert received == logged[:len(received)]
        ends = [name for name in log.names()
                if name in ("thread.run.completed", "response.completed")]
        assert len(ends) == 1 and log.names()[-1] == ends[0]
        if shape is shapes.ServerTools:
            assert run.counted().count("call_1") <= 1
        first.arm()
        first.forgets_its_runs()
        second.forgets_its_runs()
        shapes.check_database(database, url)


def test_a_server_suspended_in_a_transaction_loses_its_locks(pair, upstream, database):
    """It stops while it renews its leases, with their rows locked: the database does not wait for it."""
    first, second = pair
    url = first.settings["database_url"]
    upstream.script({"times": 1, "answer": {"text": "Whole again.", "split": "word",
                                            "piece_delay_ms": FOREVER}},
                    {"answer": {"text": "Whole again."}})
    path = start_run(first)
    eventually(lambda: len(upstream.chats()), lambda n: n == 1)
    renewing = False
    while not renewing:
        first.arm("store.commit:1:stop")
        eventually(first.has_fired)
        renewing = database.ask("SELECT 1 FROM pg_stat_activity WHERE state = 'idle in transaction'"
                                " AND query LIKE '%renewed%'", url=url)
        if not renewing:
            first.process.signal(signal.SIGCONT)
    assert settle(second, path, *FINAL, seconds=60)["status"] == "completed"
    first.process.signal(signal.SIGCONT)
    first.arm()
    first.forgets_its_runs()
    shapes.check_database(database, url)
