"""Clients that follow a run and do not read: the log has what they miss, so little is kept for them."""

import json
import re
import socket

import pytest

from harness.server import KEY, eventually
from harness.shapes import TEST_TOOLS
from harness.tools import call
from test_announced_calls import gate  # noqa: F401

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

KIB = 1 << 10
FOLLOWERS, WORDS = 10, 40000
# Sockets take about 4 MiB of the 10 MiB that each is to receive. The longest event has 200 KB.
KEPT = FOLLOWERS * 384 * KIB


class Follower:
    """Reads up to a pattern, and then nothing until the test wants the rest."""

    def __init__(self, server, path):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.connect(("127.0.0.1", server.port))
        self.socket.sendall(f"GET /v1{path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n\r\n".encode())
        self.text = bytearray()

    def read_until(self, pattern):
        self.socket.settimeout(60)
        while not re.search(pattern, self.text[-4 * KIB:]):
            part = self.socket.recv(KIB * KIB)
            assert part, f"ended before {pattern}: {self.text[-500:]}"
            self.text += part  # a bytearray grows in place
        return self.text

    def events(self):
        """As bytes. Chunks may begin within an event."""
        chunks, at = [], self.text.index(b"\r\n\r\n") + 4
        while at < len(self.text):  # by offsets: the rest is long to copy
            end = self.text.index(b"\r\n", at)
            at = end + 2 + int(self.text[at:end], 16)
            chunks.append(self.text[end + 2:at])
            at += 2
        return [line[6:] for line in b"".join(chunks).split(b"\n") if line.startswith(b"data: {")]


def figure(server, name):
    return int(re.search(rf"^runnel_{name} (\d+)$", server.http().get("/metrics").text, re.M)[1])


def test_followers_that_do_not_read_cost_little_and_miss_nothing(start_server, upstream, gate):  # noqa: F811
    server = start_server(stream_buffer=1 << 30, stream_buffers=1 << 32)
    upstream.script({"match": {"tool_results": True}, "answer": {"text": " ".join(["word"] * WORDS)}},
                    {"answer": {"tool_calls": [call("test_count", 1, path=gate.name)]}})
    api = server.http()
    with server.sdk().responses.create(model="demo", input="go", background=True, stream=True,
                                       tools=[TEST_TOOLS]) as stream:
        path = f"/responses/{next(iter(stream)).response.id}"
    eventually(lambda: any(i["type"] == "mcp_call" for i in api.get(f"/v1{path}").json()["output"]))
    followers = [Follower(server, f"{path}?stream=true") for _ in range(FOLLOWERS)]
    for follower in followers:
        follower.read_until(b"response.mcp_call.in_progress")
    gate.open()
    eventually(lambda: api.get(f"/v1{path}").json()["status"], lambda status: status == "completed", seconds=60)
    eventually(lambda: figure(server, "streams_waiting_bytes"), lambda bytes: bytes < KEPT, seconds=10)
    for follower in followers:
        follower.read_until(rb"\[DONE\]")
    first, *others = [follower.events() for follower in followers]
    assert all(other == first for other in others)
    events = [json.loads(event) for event in first]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert events[-1]["type"] == "response.completed"
    assert sum(event["type"] == "response.output_text.delta" for event in events) == WORDS
    assert figure(server, "streams_cut_total") == 0
    eventually(lambda: figure(server, "streams_waiting_bytes"), lambda bytes: bytes == 0)
