"""A WebSocket client of the tests' own: it can send anything, also what no client should, and checks every
received event against openapi.yaml."""

import base64
import hashlib
import json
import os
import socket
import struct

from .patience import patience

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
SCHEMA = {"$ref": "#/components/schemas/ResponseSocketEvent"}
LAST = ("response.completed", "response.failed", "response.incomplete")


class Refused(Exception):
    """The handshake was answered in HTTP."""

    def __init__(self, status, headers, body):
        super().__init__(f"{status} {body}")
        self.status, self.headers, self.body = status, headers, body


class WebSocket:
    """A header that is a list of values is a line for each; None leaves it out."""

    def __init__(self, server, headers=None, path="/v1/responses", version="HTTP/1.1", early=b"",
                 receive_buffer=None):
        self.contract = server.recorder.contract
        self.recorder = server.recorder
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(patience(30))
        self.socket.connect(("127.0.0.1", server.port))
        self.unread = b""
        self.closed = None  # (code, reason) of the server's close
        key = base64.b64encode(os.urandom(16)).decode()
        sent = {"Host": f"127.0.0.1:{server.port}", "Connection": "Upgrade",
                "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key,
                "Authorization": f"Bearer {server.settings['api_key']}", **(headers or {})}
        lines = [f"{name}: {value}\r\n" for name, values in sent.items() if values is not None
                 for value in ([values] if isinstance(values, str) else values)]
        self.send_bytes(f"GET {path} {version}\r\n{''.join(lines)}\r\n".encode() + early)
        self.read_handshake(key)
        self.recorder.called.add("connectResponses")

    def read_handshake(self, key):
        while b"\r\n\r\n" not in self.unread:
            self.receive()
        head, self.unread = self.unread.split(b"\r\n\r\n", 1)
        status, *lines = head.decode().split("\r\n")
        self.headers = {name.lower(): value for name, value in (line.split(": ", 1)
                                                               for line in lines)}
        if " 101 " not in status:
            length = int(self.headers.get("content-length", 0))
            while len(self.unread) < length:
                self.receive()
            self.socket.close()
            raise Refused(int(status.split()[1]), self.headers, json.loads(self.unread))
        digest = hashlib.sha1((key + GUID).encode()).digest()
        assert self.headers["sec-websocket-accept"] == base64.b64encode(digest).decode()
        assert self.headers["x-request-id"].startswith("req_")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    # ---- Bytes and frames

    def receive(self):
        more = self.socket.recv(65536)
        if not more:
            raise EOFError(self.closed)
        self.unread += more

    def take(self, count):
        while len(self.unread) < count:
            self.receive()
        taken, self.unread = self.unread[:count], self.unread[count:]
        return taken

    def send_bytes(self, data):
        self.socket.sendall(data)

    @staticmethod
    def frame(payload, opcode=TEXT, final=True, mask=True, rsv=0, key=None):
        payload = payload.encode() if isinstance(payload, str) else payload
        head = bytes([(0x80 if final else 0) | rsv << 4 | opcode])
        bit = 0x80 if mask else 0
        if len(payload) < 126:
            head += bytes([bit | len(payload)])
        elif len(payload) < 65536:
            head += bytes([bit | 126]) + struct.pack(">H", len(payload))
        else:
            head += bytes([bit | 127]) + struct.pack(">Q", len(payload))
        if not mask:
            return head + payload
        key = key or os.urandom(4)
        stretched = (key * (len(payload) // 4 + 1))[:len(payload)]
        masked = int.from_bytes(payload, "big") ^ int.from_bytes(stretched, "big")
        return head + key + masked.to_bytes(len(payload), "big")

    def send_frame(self, *arguments, **options):
        self.send_bytes(self.frame(*arguments, **options))

    def read_frame(self):
        first, length = self.take(2)
        assert not length & 0x80, "a server must not mask"
        if length == 126:
            length, = struct.unpack(">H", self.take(2))
        elif length == 127:
            length, = struct.unpack(">Q", self.take(8))
        assert first & 0x80, "events are not cut"
        return first & 0x0F, self.take(length)

    # ---- Messages

    def send(self, event):
        self.send_frame(json.dumps(event))

    def create(self, **body):
        self.send({"type": "response.create", "model": "demo", **body})

    def next(self):
        """The next event; pings are answered. EOFError after the last one."""
        while True:
            opcode, payload = self.read_frame()
            if opcode == PING:
                self.send_frame(payload, PONG)
            elif opcode == CLOSE:
                code = struct.unpack(">H", payload[:2])[0] if payload else None
                self.closed = (code, payload[2:].decode())
                raise EOFError(self.closed)
            elif opcode == TEXT:
                return self.check(payload.decode())

    def check(self, text):
        event = json.loads(text)
        complaint = self.contract.complaint(SCHEMA, {key: value for key, value in event.items()
                                                     if key != "stream_id"})
        if complaint:
            self.recorder.complaints.append(f"WebSocket: {complaint}\n    in {text[:2000]}")
        return event

    def until(self, *types):
        """All events up to the first of those types."""
        events = [self.next()]
        while events[-1]["type"] not in types:
            events.append(self.next())
        return events

    def response(self):
        """The events of one response. A request that is refused has one, an error without a number;
        the error of a response that fails is numbered, and not the last."""
        events = [self.next()]
        while events[-1]["type"] not in LAST and not (
                events[-1]["type"] == "error" and "sequence_number" not in events[-1]):
            events.append(self.next())
        return events

    def ask(self, **body):
        """The response in its last event, which must be a good one."""
        self.create(**body)
        last = self.response()[-1]
        assert last["type"] == "response.completed", last
        return last["response"]

    def error(self):
        last = self.response()[-1]
        assert last["type"] == "error", last
        return last

    def read_close(self):
        """Code and reason of the server's close, once it has hung up."""
        try:
            while True:
                self.next()
        except EOFError:
            assert self.closed, "it hung up without a close frame"
            return self.closed


def text_of(response):
    return "".join(part["text"] for item in response["output"] if item["type"] == "message"
                   for part in item["content"])


