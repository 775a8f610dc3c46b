"""Clients that pause while their run writes: what they have not read is kept, under limits."""

import http.server
import json
import re
import threading

import pytest

from harness.process import free_port
from harness.server import eventually
from test_faults_clients import Raw

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

MIB = 1 << 20
WORDS = 60000
TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test",
        "require_approval": "never"}
DELTA = b"event: response.output_text.delta\n"
# More than any model says in ten seconds. Each word is an event of about 235 bytes.
PAUSE = 20000


class PausingModel:
    """Says PAUSE words in each turn, when the test says so. Each turn but the last ends with a call, so a request
    means that the server has taken all that was said before."""

    def __init__(self):
        self.asked, self.may_continue = threading.Semaphore(0), threading.Semaphore(0)
        self.turns = 0
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                model.asked.release()
                assert model.may_continue.acquire(timeout=60)
                self.say({"content": "word "}, PAUSE)
                model.turns += 1
                if model.turns < WORDS // PAUSE:
                    self.say({"tool_calls": [{"index": 0, "id": f"call_{model.turns}", "function": {
                        "name": "test_greet", "arguments": "{}"}}]})
                self.wfile.write(b"data: [DONE]\n\n")

            def say(self, delta, times=1):
                chunk = {"choices": [{"index": 0, "delta": delta}]}
                self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode() * times)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", free_port()), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def pausing():
    model = PausingModel()
    yield model
    model.may_continue.release(WORDS // PAUSE)
    model.server.shutdown()
    model.server.server_close()


def body(**more):
    return {"model": "demo", "input": "Hi", "stream": True, "store": False, **more}


def more_of(client, text):
    client.socket.settimeout(60)
    more = client.socket.recv(MIB)
    assert more, f"cut off after {len(text)} bytes"
    return more


def rest_of(client):
    """All that comes until the end of the stream."""
    text = bytearray()
    while not text.endswith(b"0\r\n\r\n"):
        text += more_of(client, text)
    return bytes(text)


def cut_streams(server):
    text = server.http().get("/metrics").text
    return int(re.search(r"^runnel_streams_cut_total (\d+)$", text, re.M)[1])


def test_a_reader_that_pauses_in_a_long_answer_gets_all_of_it(start_server, pausing):
    """It reads nothing while the model says what takes ten seconds, three times."""
    server = start_server(upstream_url=pausing.url)
    client = Raw(server, "/responses", body(tools=[TEST]))
    text = client.read_until("response.created").encode()
    assert pausing.asked.acquire(timeout=60)
    for number in range(1, WORDS // PAUSE):
        pausing.may_continue.release()
        assert pausing.asked.acquire(timeout=60)
        while text.count(DELTA) < number * PAUSE:
            text += more_of(client, text)
    pausing.may_continue.release()
    text += rest_of(client)
    assert text.count(DELTA) == WORDS
    assert b"event: response.completed" in text


def test_the_largest_backlog_goes_when_all_together_are_too_much(start_server, upstream):
    """The events of a response have its text five times: 30 and 20 MB. Sockets take some of it."""
    server = start_server(stream_buffer=512 * MIB, stream_buffers=36 * MIB)
    clients = []
    for repeat in (750, 500):
        upstream.answer(text="x" * 8192, split="whole", repeat=repeat)
        upstream.forget()
        clients.append(Raw(server, "/responses", body(), buffer=4096))
        eventually(lambda: [request["state"] for request in upstream.requests()],
                   lambda seen: seen == ["answered"], seconds=60)
    eventually(lambda: cut_streams(server), lambda count: count == 1, seconds=60)
    assert b"event: response.completed" in rest_of(clients[1])
    assert cut_streams(server) == 1
    clients[0].leave("rst")
