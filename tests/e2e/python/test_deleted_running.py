"""Conversations, threads and responses that are deleted under a running stream."""

import json
import signal
import threading

import httpx2
import pytest

from harness.recorder import parse_events
from harness.server import eventually
from harness.tools import PARIS, WEATHER, WEATHER_RULES
from harness.websocket import WebSocket

pytestmark = [pytest.mark.timeout(180)]

FOREVER = 3600000
STUCK = {"text": "a b c", "split": "word", "piece_delay_ms": FOREVER}

# They poll only after hundreds of seconds.
SELDOM = 3000

RESPONSE_GONE = "The response was deleted."
CONVERSATION_GONE = "The conversation was deleted."


class Request(threading.Thread):
    """A request in a thread of its own; the text of its answer as far as it came."""

    def __init__(self, server, method, path, body=None):
        super().__init__()
        self.client, self.method, self.path, self.body = server.http(), method, path, body
        self.text, self.status = "", None
        self.start()

    def run(self):
        try:
            with self.client.stream(self.method, f"/v1{self.path}", json=self.body) as answer:
                self.status = answer.status_code
                for part in answer.iter_text():
                    self.text += part
        except httpx2.RemoteProtocolError as error:
            self.text += f"broken: {error}"

    def has(self, *words):
        eventually(lambda: self.text, lambda text: all(word in text for word in words), 60)
        return self

    def whole(self):
        self.join(60)
        assert not self.is_alive()
        return self.text

    def events(self):
        """All events. The stream has its last line, and its numbers have no gaps."""
        text = self.whole()
        assert self.status == 200
        assert text.endswith("data: [DONE]\n\n"), text[-2000:]
        events = [(name, json.loads(data)) for name, data in parse_events(text)
                  if data != "[DONE]"]
        numbers = [data["sequence_number"] for name, data in events if not name.startswith("thread.")]
        assert events and numbers == [numbers[0] + i for i in range(len(numbers))]
        return events


@pytest.fixture
def start_pair(start_fault_server):
    def start(**settings):
        settings = {"lease_ttl": SELDOM, **settings}
        first = start_fault_server(**settings)
        second = start_fault_server(url=first.settings["database_url"], **settings)
        eventually(lambda: first.metric("other_nodes"), lambda known: known == 1, seconds=60)
        return first, second
    return start


@pytest.fixture(params=["here", "elsewhere"])
def pair(request, start_pair):
    """(the server with the run, the server that deletes)."""
    first, second = start_pair()
    return first, first if request.param == "here" else second


def failed(events, message):
    """The end is that of a response that failed for this reason."""
    name, end = events[-1]
    assert name == "response.failed"
    assert end["response"]["status"] == "failed"
    assert end["response"]["error"] == {"code": "server_error", "message": message}
    assert [name for name, _ in events].count("response.created") <= 1
    return True


def closed(events):
    """Every item that was opened was closed."""
    added = [data["item"]["id"] for name, data in events if name == "response.output_item.added"]
    done = [data["item"]["id"] for name, data in events if name == "response.output_item.done"]
    return added == done and added


def cancelled(events):
    """The end is that of a run that was cancelled."""
    name, run = events[-1]
    assert name == "thread.run.cancelled"
    assert run["status"] == "cancelled" and run["cancelled_at"]
    return True


def new_conversation(server):
    return server.api().post("/conversations", json={}).json()["id"]


def new_run(server, tools=()):
    api = server.api()
    assistant = api.post("/assistants", json={"model": "demo", "tools": list(tools)}).json()["id"]
    thread = api.post("/threads", json={"messages": [{"role": "user", "content": "x"}]}).json()
    return f"/threads/{thread['id']}", {"assistant_id": assistant}


def delete(server, path):
    answer = server.api().delete(path)
    assert answer.status_code == 200, answer.text


def response_of(request):
    return json.loads(parse_events(request.text)[0][1])["response"]["id"]


# ---- Conversations ----

def test_a_conversation_is_deleted_under_a_stream(pair, upstream):
    here, there = pair
    upstream.answer(**STUCK)
    made = new_conversation(here)
    stream = Request(here, "POST", "/responses",
                     {"model": "demo", "input": "x", "stream": True, "conversation": made})
    stream.has("output_text.delta")
    delete(there, f"/conversations/{made}")
    events = stream.events()
    assert failed(events, CONVERSATION_GONE) and closed(events)
    assert events[-1][1]["response"]["output"][0]["content"][0]["text"] == "a"
    here.forgets_its_runs()


def test_a_conversation_is_deleted_under_a_request_that_waits(pair, upstream):
    here, there = pair
    upstream.answer(**STUCK)
    made = new_conversation(here)
    waiting = Request(here, "POST", "/responses",
                      {"model": "demo", "input": "x", "conversation": made})
    eventually(upstream.chats, len)
    delete(there, f"/conversations/{made}")
    assert json.loads(waiting.whole()) == {"error": {
        "message": CONVERSATION_GONE, "type": "invalid_request_error", "param": None, "code": None}}
    assert waiting.status == 404
    here.forgets_its_runs()


def test_a_conversation_is_deleted_under_a_background_response(pair, upstream):
    here, there = pair
    upstream.answer(**STUCK)
    made = new_conversation(here)
    stream = Request(here, "POST", "/responses", {"model": "demo", "input": "x", "stream": True,
                                                  "background": True, "conversation": made})
    stream.has("output_text.delta")
    path = f"/responses/{response_of(stream)}"
    followers = [Request(server, "GET", f"{path}?stream=true{after}").has("output_text.delta")
                 for server in pair for after in ("", "&starting_after=2")]
    delete(there, f"/conversations/{made}")
    for one in [stream, *followers]:
        assert failed(one.events(), CONVERSATION_GONE)
    assert there.api().get(path).status_code == 404
    here.forgets_its_runs()


def test_a_conversation_is_deleted_under_a_websocket(pair, upstream):
    here, there = pair
    upstream.answer(**STUCK)
    made = new_conversation(here)
    with WebSocket(here) as ws:
        ws.create(input="x", conversation=made)
        ws.until("response.output_text.delta")
        delete(there, f"/conversations/{made}")
        end = ws.until("response.failed")[-1]
        assert end["response"]["error"] == {"code": "server_error", "message": CONVERSATION_GONE}
        upstream.answer(text="fine")
        assert ws.ask(input="next")["status"] == "completed"


# ---- Responses ----

def test_a_response_is_deleted_under_its_streams(pair, upstream):
    here, there = pair
    upstream.answer(**STUCK)
    stream = Request(here, "POST", "/responses", {"model": "demo", "input": "x", "stream": True,
                                                  "background": True})
    stream.has("output_text.delta")
    path = f"/responses/{response_of(stream)}"
    followers = [Request(server, "GET", f"{path}?stream=true{after}").has("output_text.delta")
                 for server in pair for after in ("", "&starting_after=2")]
    delete(there, path)
    events = stream.events()
    assert failed(events, RESPONSE_GONE) and closed(events)
    for follower in followers:
        assert failed(follower.events(), RESPONSE_GONE)
    here.forgets_its_runs()


@pytest.mark.threads
def test_a_response_is_deleted_while_a_client_waits_for_its_cancellation(start_pair, upstream, database):
    """Its node is dead: the cancellation waits until another one may take the response over."""
    first, second = start_pair()
    url = first.settings["database_url"]
    upstream.answer(**STUCK)
    made = first.api().post("/responses", json={"model": "demo", "input": "x",
                                                "background": True}).json()["id"]
    eventually(upstream.chats, len)
    first.process.child.kill()
    first.process.child.wait()
    waiting = Request(second, "POST", f"/responses/{made}/cancel")
    eventually(lambda: database.ask("SELECT status FROM runs", url=url), [["cancelling"]].__eq__)
    delete(second, f"/responses/{made}")
    assert json.loads(waiting.whole())["error"]["message"] == RESPONSE_GONE
    assert waiting.status == 404


# ---- Threads ----

def test_a_thread_is_deleted_under_the_streams_of_its_run(pair, upstream):
    here, there = pair
    upstream.answer(**STUCK)
    thread, body = new_run(here)
    stream = Request(here, "POST", f"{thread}/runs", {**body, "stream": True})
    stream.has("thread.message.delta")
    run = json.loads(parse_events(stream.text)[0][1])["id"]
    followers = [Request(server, "GET", f"{thread}/runs/{run}/events").has("thread.message.delta")
                 for server in pair]
    delete(there, thread)
    for one in [stream, *followers]:
        assert cancelled(one.events())
    assert ["thread.message.incomplete", "thread.run.step.cancelled", "thread.run.cancelled"] == [
        name for name, _ in stream.events()][-3:]
    here.forgets_its_runs()


def test_a_thread_is_deleted_while_its_run_waits_for_its_client(pair, upstream):
    here, there = pair
    upstream.script(*WEATHER_RULES)
    thread, body = new_run(here, [WEATHER])
    run = Request(here, "POST", f"{thread}/runs", {**body, "stream": True}).events()[-1][1]
    assert run["status"] == "requires_action"
    followers = [Request(server, "GET", f"{thread}/runs/{run['id']}/events").has("requires_action")
                 for server in pair]
    delete(there, thread)
    for follower in followers:
        assert cancelled(follower.events())
    answer = here.api().post(f"{thread}/runs/{run['id']}/submit_tool_outputs", json={
        "tool_outputs": [{"tool_call_id": PARIS["id"], "output": "sunny"}]})
    assert answer.status_code == 404


# ---- Without hints, and without an owner ----

def test_a_deletion_without_a_wake_up_is_found(start_pair, upstream):
    """By the renewal of leases, and by reading the log again."""
    first, second = start_pair(lease_ttl=2)
    upstream.answer(**STUCK)
    made = new_conversation(first)
    thread, body = new_run(first)
    streams = [Request(first, "POST", "/responses", {"model": "demo", "input": "x", "stream": True,
                                                     "background": True, "conversation": made}),
               Request(first, "POST", f"{thread}/runs", {**body, "stream": True})]
    streams[0].has("output_text.delta")
    streams[1].has("thread.message.delta")
    follower = Request(second, "GET", f"/responses/{response_of(streams[0])}?stream=true")
    follower.has("output_text.delta")
    second.arm(*[f"wakeups_send:{visit}" for visit in range(1, 9)])
    delete(second, f"/conversations/{made}")
    delete(second, thread)
    assert failed(streams[0].events(), CONVERSATION_GONE)
    assert failed(follower.events(), CONVERSATION_GONE)
    assert cancelled(streams[1].events())
    assert second.has_fired()
    first.forgets_its_runs()


def test_a_response_without_a_living_owner_is_deleted(start_pair, upstream):
    first, second = start_pair()
    upstream.answer(**STUCK)
    stream = Request(first, "POST", "/responses", {"model": "demo", "input": "x", "stream": True,
                                                   "background": True})
    stream.has("output_text.delta")
    path = f"/responses/{response_of(stream)}"
    follower = Request(second, "GET", f"{path}?stream=true").has("output_text.delta")
    first.process.child.kill()
    delete(second, path)
    assert failed(follower.events(), RESPONSE_GONE)


# ---- Between the end and its write ----

def is_stopped(server):
    with open(f"/proc/{server.process.child.pid}/stat", encoding="utf-8") as stat:
        return stat.read().rpartition(")")[2].split()[0] == "T"


SHAPES = {  # in what it is, what it is, and how often it is written at least
    "background": (None, {"background": True}, 2),
    "in a conversation": ("conversation", {"background": True}, 2),
    "foreground": ("conversation", {}, 1),
    "run": ("thread", [], 2),
    "pause": ("thread", [WEATHER], 2),
}


def begin(server, shape):
    """(what is to be deleted, the request, the check of its end); None: the response itself."""
    place, what, _ = SHAPES[shape]
    if place == "thread":
        thread, body = new_run(server, what)
        return thread, (f"{thread}/runs", body), cancelled
    body = {"model": "demo", "input": "x", **what}
    if place is None:
        return None, ("/responses", body), lambda events: failed(events, RESPONSE_GONE)
    made = new_conversation(server)
    return (f"/conversations/{made}", ("/responses", {**body, "conversation": made}),
            lambda events: failed(events, CONVERSATION_GONE))


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_a_deletion_comes_before_each_write(start_pair, upstream, shape):
    """The server stands still before its nth write. What it was to store has not happened."""
    first, second = start_pair()
    upstream.answer(text="one two")
    if shape == "pause":
        upstream.script(*WEATHER_RULES)
    met = 0
    for visit in range(1, 9):
        place, (path, body), check = begin(first, shape)
        first.arm(f"run.write:{visit}:stop")
        stream = Request(first, "POST", path, {**body, "stream": True})
        eventually(lambda stream=stream: is_stopped(first) or not stream.is_alive(), bool)
        if not is_stopped(first):
            stream.events()
            break
        met += 1
        if not place and stream.text:
            place = f"/responses/{response_of(stream)}"
        if place:
            delete(second, place)
        first.process.signal(signal.SIGCONT)
        events = stream.events()
        assert not place or check(events)
        first.arm()
    assert met >= SHAPES[shape][2]
    first.forgets_its_runs()
