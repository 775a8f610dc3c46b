"""Clients that do not read, and clients that go away."""

import json
import re
import socket
import struct

import pytest

from harness.fault_fixtures import ended_well
from harness.faults import FINAL, FaultServer
from harness.server import KEY, eventually
from harness.tools import WEATHER, WEATHER_RULES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

MIB = 1 << 20


@pytest.fixture(scope="module")
def room(binary):
    """How much memory may grow. A sanitizer keeps what was freed."""
    return 32 * MIB if b"__asan_init" not in binary.read_bytes() else 512 * MIB


class Raw:
    """A request on a socket of its own, so that the test decides when to read and when to leave."""

    def __init__(self, server, path, body, buffer=None):
        self.socket = socket.socket()
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.connect(("127.0.0.1", server.port))
        text = json.dumps(body).encode()
        self.socket.sendall(
            f"POST /v1{path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text)

    def read_until(self, pattern):
        text = ""
        self.socket.settimeout(30)
        while not re.search(pattern, text):
            part = self.socket.recv(65536)
            assert part, f"ended before {pattern}: {text}"
            text += part.decode(errors="replace")
        return text

    def leave(self, how):
        if how == "rst":
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


@pytest.fixture(scope="module")
def small_server(binary, scratch, upstream_process, recorder, database):
    directory = scratch / "small-server"
    directory.mkdir(mode=0o755)
    server = FaultServer(binary, directory, upstream_process.url, recorder, lease_ttl=2,
                         database_url=database.new(), stream_buffer=65536,
                         stream_stall_timeout=1).start()
    yield server
    ended_well(server)


@pytest.fixture
def server(small_server, upstream):
    small_server.arm()
    return small_server


def run_path(server, content="x", **more):
    api = server.api()
    assistant = api.post("/assistants", json={"model": "demo", **more}).json()["id"]
    thread = api.post("/threads", json={"messages": [{"role": "user", "content": content}]}).json()
    return f"/threads/{thread['id']}/runs", {"assistant_id": assistant, "stream": True}


def last_state(upstream):
    requests = upstream.requests()
    return requests[-1]["state"] if requests else None


# ---- Not reading ----

@pytest.mark.parametrize("face", ["run", "response", "background"])
def test_a_client_that_never_reads_is_cut_off(server, upstream, room, face):
    """Its stream is cut when its share of memory is used up."""
    upstream.answer(text="x" * 8192, split="whole", repeat=1500)
    cut = server.metric("streams_cut_total")
    before = server.metric("resident_memory_bytes")
    if face == "run":
        path, body = run_path(server)
    else:
        path, body = "/responses", {"model": "demo", "input": "x", "stream": True,
                                    "background": face == "background"}
    client = Raw(server, path, body, buffer=4096)
    eventually(lambda: server.metric("streams_cut_total"), lambda now: now == cut + 1, seconds=40)
    # What the run itself holds, it may hold; not a copy more for each client.
    if face == "response":
        eventually(lambda: last_state(upstream), lambda state: state == "client_left")
        assert server.metric("resident_memory_bytes") - before < room
    else:
        eventually(lambda: last_state(upstream), lambda state: state == "answered", seconds=60)
    if face == "run":
        run = eventually(lambda: server.api().get(path).json()["data"][0],
                         lambda run: run["status"] in FINAL, seconds=60)
        assert run["status"] == "completed"
    server.forgets_its_runs(60)
    client.leave("rst")


def flood(server):
    """Ten clients that never read; others are served meanwhile. What is in memory when all of
    them were cut off."""
    cut = server.metric("streams_cut_total")
    clients = [Raw(server, "/responses", {"model": "demo", "input": "flood", "stream": True},
                   buffer=4096) for _ in range(10)]
    for _ in range(10):
        answer = server.api().post("/responses", json={"model": "demo", "input": "Hi"})
        assert answer.json()["output"][0]["content"][0]["text"] == "Still here."
    eventually(lambda: server.metric("streams_cut_total"), lambda now: now == cut + 10, seconds=60)
    server.forgets_its_runs(60)
    memory = server.metric("resident_memory_bytes")
    for client in clients:
        client.leave("rst")
    return memory


def test_many_clients_that_never_read_do_not_disturb_others(server, upstream, room):
    upstream.script({"match": {"user": "flood"}, "answer": {"text": "x" * 4096, "split": "whole",
                                                            "repeat": 1500}},
                    {"answer": {"text": "Still here."}})
    before = server.metric("resident_memory_bytes")
    first = flood(server)
    assert first - before < room
    # The first of its kind may need memory for good; the next ones need no more. Each of
    # the texts has 6 MB, more than a socket takes: it is noticed if they stay.
    assert flood(server) - first < room / 2
    assert flood(server) - first < room / 2


# ---- Going away ----

HOW = ["fin", "rst"]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "waiting"])
@pytest.mark.parametrize("store", [True, False], ids=["stored", "not-stored"])
def test_leaving_a_response_cancels_it(server, upstream, how, streamed, store):
    upstream.answer(text="a b c", piece_delay_ms=3600000)
    client = Raw(server, "/responses", {"model": "demo", "input": "x", "stream": streamed,
                                        "store": store})
    made = None
    if streamed:
        text = client.read_until(r"output_text\.delta")
        made = re.search(r'"response":\{"id":"(resp_\w+)"', text)[1]
    eventually(lambda: upstream.chats(), len)
    client.leave(how)
    eventually(lambda: last_state(upstream), lambda state: state == "client_left")
    server.forgets_its_runs()
    if made and store:
        response = server.api().get(f"/responses/{made}").json()
        assert response["status"] == "cancelled", response
    elif made:
        assert server.api().get(f"/responses/{made}").status_code == 404


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("where", ["before", "within"])
def test_leaving_a_run_does_not_stop_it(server, upstream, how, where):
    upstream.answer(text="a b c d", delay_ms=300, piece_delay_ms=100)
    path, body = run_path(server)
    client = Raw(server, path, body)
    client.read_until(r"thread\.run\.in_progress" if where == "before" else r"message\.delta")
    client.leave(how)
    run = eventually(lambda: server.api().get(path).json()["data"][0],
                     lambda run: run["status"] in FINAL)
    assert run["status"] == "completed"
    assert last_state(upstream) == "answered"
    server.forgets_its_runs()


@pytest.mark.parametrize("how", HOW)
def test_leaving_a_background_stream_does_not_stop_it(server, upstream, how):
    upstream.answer(text="a b c d", piece_delay_ms=100)
    client = Raw(server, "/responses", {"model": "demo", "input": "x", "stream": True,
                                        "background": True})
    text = client.read_until(r"output_text\.delta")
    made = re.search(r'"response":\{"id":"(resp_\w+)"', text)[1]
    client.leave(how)
    response = eventually(lambda: server.api().get(f"/responses/{made}").json(),
                          lambda response: response["status"] in FINAL)
    assert response["status"] == "completed"


@pytest.mark.parametrize("how", HOW)
def test_leaving_after_an_answer_was_submitted_does_not_lose_it(server, upstream, how):
    upstream.script({**WEATHER_RULES[0], "answer": {"text": "It is {{tool_output}}.",
                                                    "piece_delay_ms": 50}}, WEATHER_RULES[1])
    path, body = run_path(server, tools=[WEATHER])
    first = Raw(server, path, body)
    first.read_until(r"data: \[DONE\]")
    run = server.api().get(path).json()["data"][0]
    assert run["status"] == "requires_action"
    client = Raw(server, f"{path}/{run['id']}/submit_tool_outputs", {
        "stream": True, "tool_outputs": [{"tool_call_id": "call_1", "output": "sunny"}]})
    client.read_until(r"thread\.run\.queued")
    client.leave(how)
    run = eventually(lambda: server.api().get(path).json()["data"][0],
                     lambda run: run["status"] in FINAL)
    assert run["status"] == "completed"
    first.leave(how)


@pytest.mark.threads
def test_a_client_may_leave_at_every_moment(server, upstream):
    """Nothing is left behind, at any moment of the run."""
    upstream.answer(text="a b c d", piece_delay_ms=5)
    for bytes_read in range(0, 6000, 150):
        path, body = run_path(server) if bytes_read % 300 else (
            "/responses", {"model": "demo", "input": "x", "stream": True})
        client = Raw(server, path, body)
        client.socket.settimeout(10)
        left = bytes_read
        while left > 0:
            part = client.socket.recv(left)
            if not part or b"[DONE]" in part:
                break
            left -= len(part)
        client.leave("rst")
    server.forgets_its_runs()
    eventually(lambda: server.metric("http_suspended"), lambda open: open == 0)
