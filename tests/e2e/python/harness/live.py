"""A model that sends a piece when the test lets it, and clients that note what arrives and when.

A test that waits for each piece before the model says the next one cannot pass when the server keeps a piece
back: the two would wait for each other, until the deadline. Nothing here depends on how fast a machine is.
"""

import contextlib
import http.server
import json
import queue
import select
import socket
import threading
import time

from .patience import patience
from .process import free_port
from .websocket import WebSocket

DEADLINE = patience(15)  # seconds; only a bug reaches it


class Journal:
    """What the model, MCP servers and clients received, in the order of receipt."""

    def __init__(self):
        self.lines = []

    def note(self, line):
        self.lines.append(line)  # a list takes it whole, whatever thread it comes from

    def __str__(self):
        return "\n".join(self.lines)


class Turn:
    """One request to the model, and its answer as the test makes it."""

    def __init__(self, chat, journal):
        self.chat, self.journal = chat, journal
        self.lines = queue.Queue()
        self.left = threading.Event()

    def put(self, finish=None, **delta):
        self.lines.put({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    def say(self, text):
        self.journal.note(f"model says {text!r}")
        self.put(content=text)

    def begin_call(self, name, number=1):
        self.journal.note(f"model calls {name}")
        self.put(tool_calls=[{"index": 0, "id": f"call_{number}", "type": "function",
                              "function": {"name": name, "arguments": ""}}])

    def add_arguments(self, text):
        self.put(tool_calls=[{"index": 0, "function": {"arguments": text}}])

    def call(self, name, **arguments):
        self.begin_call(name)
        self.add_arguments(json.dumps(arguments))
        self.end("tool_calls")

    def end(self, finish="stop"):
        self.journal.note("model has ended its turn")
        self.put(finish=finish)
        self.lines.put(None)

    def is_over(self):
        """Returns when the server has hung up: it has read the end of the turn."""
        assert self.left.wait(DEADLINE), f"the turn was not read to its end:\n{self.journal}"


class LiveModel:
    """A Chat Completions server. A request waits until the test sends its pieces."""

    def __init__(self):
        self.journal = Journal()
        self.start()
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                turn = model.take(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                with contextlib.suppress(OSError):  # the server may hang up on it
                    for line in iter(turn.lines.get, None):
                        self.wfile.write(f"data: {json.dumps(line)}\n\n".encode())
                    self.wfile.write(b"data: [DONE]\n\n")
                    self.connection.shutdown(socket.SHUT_WR)
                    self.rfile.read()
                turn.left.set()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", free_port()), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def start(self):
        """Begins a new test."""
        self.journal.lines.clear()
        self.turns, self.every = queue.Queue(), []

    def stop(self):
        """Ends the turns that a failed test has left open."""
        for turn in self.every:
            turn.lines.put(None)

    def take(self, chat):
        turn = Turn(chat, self.journal)
        self.journal.note("model receives a request")
        self.every.append(turn)
        self.turns.put(turn)
        return turn

    def asked(self):
        """The next request."""
        try:
            return self.turns.get(timeout=DEADLINE)
        except queue.Empty:
            raise AssertionError(f"the model was not asked:\n{self.journal}") from None

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def is_readable(sock, seconds):
    """Whether data arrives within that time. Not with select(), which takes no descriptor above 1023."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


class Listening:
    """What a client has received of one run."""

    def __init__(self, journal):
        self.journal = journal
        self.received, self.seen = [], 0  # (name, data); how many of them until() went past

    def add(self, name, data):
        self.journal.note(f"client receives {name} {data if isinstance(data, str) else json.dumps(data)[:120]}")
        self.received.append((name, data))

    def now(self):
        """The names of all events so far: bytes that the server has sent are in this process's socket."""
        while self.receive(0):
            pass
        return [name for name, _ in self.received]

    def until(self, matches, what):
        """The data of the next event that matches(name, data)."""
        deadline = time.monotonic() + DEADLINE
        while True:
            while self.seen < len(self.received):
                name, data = self.received[self.seen]
                self.seen += 1
                if matches(name, data):
                    return data
            left = deadline - time.monotonic()
            assert left > 0 and self.receive(left), f"{what} did not leave:\n{self.journal}"

    def name(self, wanted):
        return self.until(lambda name, _: name == wanted, wanted)


class Stream(Listening):
    """A POST whose answer is read from the socket as it comes."""

    def __init__(self, server, journal, path, body):
        super().__init__(journal)
        self.socket = socket.create_connection(("127.0.0.1", server.port))
        self.raw, self.text, self.head = b"", b"", None
        content = json.dumps(body).encode()
        self.socket.sendall(
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            f"Authorization: Bearer {server.settings['api_key']}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n".encode()
            + content)

    def receive(self, seconds):
        """False if nothing arrived in time."""
        if not is_readable(self.socket, seconds):
            return False
        data = self.socket.recv(65536)
        self.raw += data
        self.read_head()
        self.read_chunks()
        self.read_events()
        return bool(data)

    def read_head(self):
        if self.head is None and b"\r\n\r\n" in self.raw:
            head, self.raw = self.raw.split(b"\r\n\r\n", 1)
            self.head = head.decode()
            assert self.head.startswith("HTTP/1.1 200 "), self.head + self.raw.decode()

    def read_chunks(self):
        while self.head is not None and b"\r\n" in self.raw:
            line, rest = self.raw.split(b"\r\n", 1)
            size = int(line, 16)
            if len(rest) < size + 2:
                return
            self.text += rest[:size]
            self.raw = rest[size + 2:]

    def read_events(self):
        while b"\n\n" in self.text:
            block, self.text = self.text.split(b"\n\n", 1)
            fields = dict(line.split(": ", 1) for line in block.decode().split("\n") if line[:1] != ":")
            if "data" in fields:
                done = fields["data"] == "[DONE]"
                self.add(fields.get("event", "done"), "" if done else json.loads(fields["data"]))

    def close(self):
        self.socket.close()


class Socket(Listening):
    """The same over a WebSocket."""

    def __init__(self, server, journal, body):
        super().__init__(journal)
        self.socket = WebSocket(server)
        self.socket.socket.settimeout(DEADLINE)
        self.socket.create(**body)

    def receive(self, seconds):
        if not self.socket.unread and not is_readable(self.socket.socket, seconds):
            return False
        event = self.socket.next()
        self.add(event["type"], event)
        return True

    def close(self):
        self.socket.socket.close()
