"""Followers of a background response that lose the stream at every event number: live and after the
end, joining again at the server that runs it, at another one, and at the one that has taken over."""

import json
import threading

import pytest

from harness.fault_fixtures import ended_well
from harness.faults import FaultServer
from harness.server import eventually
from harness.shapes import TEST_TOOLS
from harness.tools import WEATHER_FLAT, call

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

FOREVER = 3600000
PACE = 25  # ms between the pieces of what followers listen to live


def said(**answer):
    return [{"answer": {"split": "word", **answer}}]


def with_tool(name, **arguments):
    return [{"match": {"tool_results": True}, "answer": {"text": "It is done.", "split": "word"}},
            {"answer": {"tool_calls": [{"name": name, "id": "call_1", "arguments": arguments}]}}]


# What the model does, what is asked for, and how it ends.
TEXT = "one two three four five six"
SHAPES = {
    "text": (said(text=TEXT), {}, "completed"),
    "reasoning": (said(reasoning="Let me think.", text="So it is."), {}, "completed"),
    "refusal": (said(refusal="I will not do that."), {}, "completed"),
    "incomplete": (said(text="one two three", finish_reason="length"), {}, "incomplete"),
    "failed": (said(text=TEXT, fault={"kind": "cut", "after": 4}), {}, "failed"),
    "client tool": ([{"answer": {"tool_calls": [call(city="Llanfairpwllgwyngyll")]}}],
                    {"tools": [WEATHER_FLAT]}, "completed"),
    "text and two calls": ([{"answer": {"text": "Wait.", "tool_calls": [
        call(city="Paris"), call(number=2, city="Rome")]}}], {"tools": [WEATHER_FLAT]},
        "completed"),
    "server tool": (with_tool("test_stream", pieces=["a", "b", "c"], ms=PACE),
                    {"tools": [TEST_TOOLS]}, "completed"),
    "two server tools": ([
        {"match": {"tool_results": True}, "answer": {"text": "Done.", "split": "word"}},
        {"answer": {"tool_calls": [
            {"name": "test_stream", "id": f"call_{number}",
             "arguments": {"pieces": ["a", "b"], "ms": PACE}} for number in (1, 2)]}}],
        {"tools": [TEST_TOOLS]}, "completed"),
    "final tool": (with_tool("test_final", pieces=["a ", "b ", "c"], ms=PACE),
                   {"tools": [TEST_TOOLS]}, "completed"),
    "hosted": (with_tool("test_code", code="1 + 1", ms=PACE), {"tools": [TEST_TOOLS]},
               "completed"),
}


@pytest.fixture(scope="module")
def pair(binary, scratch, upstream_process, recorder, database):
    """Two servers on one database."""
    url = database.new()
    servers = []
    for name in ("one", "two"):
        directory = scratch / f"cuts-{name}"
        directory.mkdir(mode=0o755)
        server = FaultServer(binary, directory, upstream_process.url, recorder, lease_ttl=1,
                             database_url=url)
        server.arm()
        servers.append(server.start())
    yield servers
    for server in servers:
        ended_well(server)


@pytest.fixture
def both(pair, upstream):
    for server in pair:
        if server.ended() is not None:
            server.start()
    return pair


def frames_of(text):
    """Whole ones, without comments and the mark of the end."""
    return [frame for frame in text.split("\n\n")[:-1]
            if not frame.startswith(":") and not frame.endswith("data: [DONE]")]


def number(frame):
    return json.loads(frame.split("data: ", 1)[1])["sequence_number"]


def listen(server, method, path, body=None, until=None):
    """The frames of a stream up to that number, then the client is gone; or all of them."""
    text = ""
    with server.api().stream(method, path, json=body) as answer:
        assert answer.status_code == 200, answer.read()
        for part in answer.iter_text():
            text += part
            if until is not None and len(frames_of(text)) > until:
                return frames_of(text)[:until + 1]
    assert until is not None or text.endswith("data: [DONE]\n\n"), text[-200:]
    return frames_of(text)


def follow(server, response, after=None, until=None):
    """Those after a number; `until` counts from the first one received."""
    later = "" if after is None else f"&starting_after={after}"
    return listen(server, "GET", f"/responses/{response}?stream=true{later}", until=until)


class Listener(threading.Thread):
    """Does it in a thread of its own; result() has what it returned, or raises what it raised."""

    def __init__(self, do, *arguments):
        super().__init__()
        self.do, self.arguments = do, arguments
        self.value = self.problem = None
        self.start()

    def run(self):
        try:
            self.value = self.do(*self.arguments)
        except BaseException as problem:
            self.problem = problem

    def result(self):
        self.join(60)
        assert not self.is_alive()
        if self.problem:
            raise self.problem
        return self.value


def cut_and_join(first, second, response, at):
    """Leaves the first behind number `at`, and goes on at the second."""
    got = follow(first, response, until=at)
    if len(got) <= at:
        return got  # it has ended before
    return got + follow(second, response, after=at)


def body_of(more):
    return {"model": "demo", "input": "x", "background": True, "stream": True, **more}


def begin(server, more):
    """A running response, and its first client, which listens."""
    found = threading.Event()
    made = {}

    def first():
        text = ""
        with server.api().stream("POST", "/responses", json=body_of(more)) as answer:
            for part in answer.iter_text():
                text += part
                if not made and frames_of(text):
                    made["id"] = json.loads(
                        text.split("data: ", 1)[1].split("\n", 1)[0])["response"]["id"]
                    found.set()
                made["text"] = text
        return frames_of(text)
    listener = Listener(first)
    assert found.wait(30)
    return made, listener


def paced(rules):
    return [{**rule, "answer": {"piece_delay_ms": PACE, **rule["answer"]}} for rule in rules]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_finished_stream_can_be_followed_from_every_cut(both, upstream, shape):
    rules, more, status = SHAPES[shape]
    upstream.script(*rules)
    received = listen(both[0], "POST", "/responses", body_of(more))
    response = json.loads(received[-1].split("data: ", 1)[1])["response"]
    assert response["status"] == status
    assert [number(frame) for frame in received] == list(range(len(received)))
    for server in both:
        assert follow(server, response["id"]) == received
        for at in range(-1, len(received)):
            assert follow(server, response["id"], after=at) == received[at + 1:]
        assert follow(server, response["id"], after=len(received) + 5) == []


@pytest.mark.parametrize("shape", SHAPES)
def test_a_live_stream_can_be_followed_from_every_cut(both, upstream, shape):
    rules, more, status = SHAPES[shape]
    upstream.script(*rules)
    count = len(listen(both[0], "POST", "/responses", body_of(more)))
    upstream.script(*paced(rules))
    made, first = begin(both[0], more)
    # From where the run is to the other server, and back.
    cuts = [Listener(cut_and_join, both[at % 2], both[1 - at % 2], made["id"], at)
            for at in range(count)]
    received = first.result()
    assert json.loads(received[-1].split("data: ", 1)[1])["response"]["status"] == status
    for cut in cuts:
        assert cut.result() == received


@pytest.mark.parametrize("where", [0, 1], ids=["here", "there"])
@pytest.mark.parametrize("shape", ["text", "server tool"])
def test_followers_of_a_cancelled_response_get_its_end(both, upstream, shape, where):
    """Some wait for events that never come; all receive the end."""
    if shape == "text":
        upstream.script(*said(text=TEXT, fault={"kind": "stall", "after": 3}))
        more = {}
    else:
        upstream.script(*with_tool("test_stream", pieces=["a", "b"], ms=FOREVER))
        more = {"tools": [TEST_TOOLS]}
    made, first = begin(both[0], more)
    cuts = [Listener(cut_and_join, both[at % 2], both[1 - at % 2], made["id"], at)
            for at in range(12)]
    wanted = 'output_text.delta"' if shape == "text" else 'mcp_call_arguments.done"'
    eventually(lambda: made["text"], lambda text: text.count(wanted) >= (3 if shape == "text" else 1))
    assert both[where].api().post(f"/responses/{made['id']}/cancel").json()["status"] == "cancelled"
    received = first.result()
    last = json.loads(received[-1].split("data: ", 1)[1])
    assert last["type"] == "response.failed" and last["response"]["status"] == "cancelled"
    assert last["response"]["output"] == []
    for cut in cuts:
        assert cut.result() == received
    for server in both:
        assert follow(server, made["id"]) == received
        assert server.api().get(f"/responses/{made['id']}").json()["status"] == "cancelled"


# Where the model, or a tool, falls silent, and how it ends when another server has taken over.
SILENCES = {
    "before it says anything": (said(text=TEXT, fault={"kind": "stall"}), {}, 3),
    "in the middle of text": (said(text=TEXT, fault={"kind": "stall", "after": 3}), {}, 8),
    "in reasoning": (said(reasoning="Let me think.", text=TEXT,
                          fault={"kind": "stall", "after": 2}), {}, 7),
    "in a client's call": ([{"answer": {
        "tool_calls": [call(city="Llanfairpwllgwyngyll")], "fault": {"kind": "stall", "after": 3}}}],
        {"tools": [WEATHER_FLAT]}, 6),
    "in a tool": ([{"answer": {"tool_calls": [
        {"name": "test_stream", "id": "call_1",
         "arguments": {"pieces": ["a", "b"], "ms": FOREVER}}]}}], {"tools": [TEST_TOOLS]}, 7),
}


@pytest.mark.parametrize("silence", SILENCES)
def test_followers_after_kill_9_get_the_rest(both, upstream, silence):
    one, two = both
    rules, more, least = SILENCES[silence]
    upstream.script({"times": 1, **rules[0]}, {"answer": {"text": TEXT, "split": "word"}})
    made, first = begin(one, more)
    before = eventually(lambda: frames_of(made["text"]), lambda frames: len(frames) >= least)
    cuts = [Listener(follow, (one, two)[at % 2], made["id"], None, at) for at in range(len(before))]
    parts = [cut.result() for cut in cuts]
    one.kill()
    with pytest.raises(Exception):
        first.result()
    got = frames_of(made["text"])
    rests = [Listener(follow, two, made["id"], at) for at in range(len(got))]
    whole = follow(two, made["id"])
    assert whole[:len(got)] == got
    assert [number(frame) for frame in whole] == list(range(len(whole)))
    last = json.loads(whole[-1].split("data: ", 1)[1])
    assert last["type"] == "response.completed"
    assert last["response"]["output"][-1]["content"][0]["text"] == TEXT
    for at, part in enumerate(parts):
        assert part == whole[:at + 1]
    for at, rest in enumerate(rests):
        assert rest.result() == whole[at + 1:]
    one.start()
    for at in range(-1, len(whole)):
        assert follow(one, made["id"], after=at) == whole[at + 1:]
    two.forgets_its_runs()


def test_an_expired_log_cannot_be_followed(start_server, upstream):
    """The log of a response is kept for event_retention after its end, and not a moment longer."""
    server = start_server(event_retention=1)
    received = listen_plain(server)
    response = json.loads(received[-1].split("data: ", 1)[1])["response"]
    path = f"/v1/responses/{response['id']}?stream=true"
    answer = eventually(lambda: server.http().get(path), lambda answer: answer.status_code != 200)
    assert answer.status_code == 400
    assert answer.json()["error"] == {
        "message": "This response cannot be streamed because it was not created with stream=true "
                   "or the stream TTL has expired.",
        "type": "invalid_request_error", "param": "stream", "code": None}
    assert server.http().get(f"/v1/responses/{response['id']}").json() == response


def listen_plain(server):
    return frames_of(server.http().post("/v1/responses", json=body_of({})).text)
