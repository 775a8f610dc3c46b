"""Requests that no HTTP library of a client sends, over plain sockets: each gets an error like any other
request, and its connection ends there."""

import contextlib
import ctypes
import json
import random
import re
import socket

import pytest

from harness.patience import patience

HOST = "Host: test\r\n"
GET = "GET /v1/models HTTP/1.1\r\n"
POST = "POST /v1/responses HTTP/1.1\r\n" + HOST
CHUNKED = POST + "Transfer-Encoding: chunked\r\n\r\n"
ALIVE = "GET /healthz HTTP/1.1\r\n" + HOST + "\r\n"

LIBRARY = ctypes.CDLL("libmicrohttpd.so.12")
LIBRARY.MHD_get_version.restype = ctypes.c_char_p
# From 1.0 on it refuses more by itself, and forgets to send what it has to say of an endless chunk's line
# until the deadline for the body ends the connection.
STRICT = LIBRARY.MHD_get_version() >= b"1"

# What is sent, before a well-formed request that must not be answered any more, and the status.
REFUSED = {
    # the line
    "no blank": ("GARBAGE\r\n\r\n", 400),
    "no more than a method": ("GET\r\n", 400),
    "a method and a blank": ("GET \r\n\r\n", 400),
    "no method": (" /v1/models HTTP/1.1\r\n" + HOST + "\r\n", 400),
    "an empty line before": ("\r\nGARBAGE\r\n\r\n", 400),
    "TLS": ("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(33, 256)).decode("latin-1") + "\n", 400),
    "NUL": ("GAR\0BAGE\r\n\r\n", 400),
    "NUL behind the method": ("GET\0S /v1/models HTTP/1.1\r\n" + HOST + "\r\n", 400),
    "NUL behind the target": ("GET /healthz\0.html HTTP/1.1\r\n" + HOST + "\r\n", 400),
    "NUL in the query": ("GET /healthz?a\0b HTTP/1.1\r\n" + HOST + "\r\n", 400),
    "NUL behind the version": ("GET /healthz HTTP/1.1\0\r\n" + HOST + "\r\n", 400),
    "two blanks": ("GET  /healthz HTTP/1.1\r\n" + HOST + "\r\n", 400),
    "no version": ("GET /v1/models\r\n\r\n", 400),
    "no number of a version": ("GET /v1/models HTTP/x.y\r\n" + HOST + "\r\n", 400),
    "version of the future": ("GET /v1/models HTTP/3.0\r\n" + HOST + "\r\n", 505),
    "version of the past": ("GET /v1/models HTTP/0.9\r\n" + HOST + "\r\n", 505),
    "unknown minor version": ("GET /v1/models HTTP/1.2\r\n" + HOST + "\r\n", 505),
    "unknown method": ("BREW /v1/models HTTP/1.1\r\n" + HOST + "\r\n", 501),
    "method of another port": ("CONNECT test:443 HTTP/1.1\r\n" + HOST + "\r\n", 501),
    "absolute target": ("GET http://test/v1/models HTTP/1.1\r\n" + HOST + "\r\n", 400),
    "blank in the target": ("GET /v1/mo dels HTTP/1.1\r\n" + HOST + "\r\n", 400),
    "NUL in the target": ("GET /v1/mo%00dels HTTP/1.1\r\n" + HOST + "\r\n", 400),
    "long target": ("GET /" + "p" * 4096 + " HTTP/1.1\r\n" + HOST + "\r\n", 414),
    "endless target": ("GET /" + "p" * 30000 + " HTTP/1.1\r\n" + HOST + "\r\n", 414),
    "endless query": ("GET /v1/models?" + "a&" * 3000 + " HTTP/1.1\r\n" + HOST + "\r\n", 414),
    # headers
    "no colon": (GET + HOST + "what is this\r\n\r\n", 400),
    "blank before the colon": (GET + HOST + "X : 1\r\n\r\n", 400),
    "control character": (GET + HOST + "X: a\x01b\r\n\r\n", 400),
    "no host": (GET + "\r\n", 400),
    "two hosts": (GET + HOST + HOST + "\r\n", 400),
    "no host's name": (GET + "Host: a/b\r\n\r\n", 400),
    "large head": (GET + HOST + "X: " + "x" * 12300 + "\r\n\r\n", 431),
    "endless head": (GET + HOST + "X: " + "x" * 30000 + "\r\n\r\n", 431),
    "65 headers": (GET + HOST + "X: 1\r\n" * 64 + "\r\n", 431),
    "endless headers": (GET + HOST + "X: 1\r\n" * 3000 + "\r\n", 431),
    "endless cookie": (GET + HOST + "Cookie: " + "a;" * 7000 + "\r\n\r\n", 431),
    "unknown expectation": (GET + HOST + "Expect: luck\r\n\r\n", 417),
    # what ends a line or a value for some readers only
    "encoding in the next line": (POST + "Content-Length: 2\r\nTransfer-Encoding:\r\n chunked\r\n\r\n{}", 400),
    "blank line of a header": (GET + HOST + "X: 1\r\n \r\n\r\n", 400),
    "blank behind the request line": (GET + " X: 1\r\n" + HOST + "\r\n", 400),
    "NUL in a value": (GET + HOST + "X: a\0b\r\n\r\n", 400),
    "NUL in a name": (GET + HOST + "X\0Y: a\r\n\r\n", 400),
    "NUL for a CR": (GET + HOST + "X: a\0\n\r\n", 400),
    "NUL at the start of a header": (GET + HOST + "\0X: a\r\n\r\n", 400),
    "NUL before the request line": ("\0" + GET + HOST + "\r\n", 400),
    "NUL on a line of its own": ("\0\r\n", 400),
    "CR in a value": (GET + HOST + "X: a\rb\r\n\r\n", 400),
    "LF behind the request line": (GET.replace("\r", "") + HOST + "\r\n", 400),
    "LF behind a header": (GET + HOST.replace("\r", "") + "\r\n", 400),
    "LF behind the head": (GET + HOST + "\n", 400),
    "LF before the request line": ("\n" + GET + HOST + "\r\n", 400),
    "header without a name": (GET + HOST + ": a\r\n\r\n", 400),
    # the body's length
    "no number": (POST + "Content-Length: two\r\n\r\n{}", 400),
    "negative": (POST + "Content-Length: -2\r\n\r\n{}", 400),
    "signed": (POST + "Content-Length: +2\r\n\r\n{}", 400),
    "a list": (POST + "Content-Length: 2, 2\r\n\r\n{}", 400),
    "empty length": (POST + "Content-Length:\r\n\r\n{}", 400),
    "twice": (POST + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 400),
    "astronomic": (POST + "Content-Length: " + "9" * 30 + "\r\n\r\n{}", 413),
    "both": (POST + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    "unknown encoding": (POST + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400 if STRICT else 501),
    "encoding of 1.0": ("POST /v1/responses HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                        400),
}

# Of this one 1.0 has nothing to say, and does not even hang up before the deadline for heads.
if not STRICT:
    REFUSED["no line at all"] = ("G" * 30000, 414)

# Who is let in and then sends a body that cannot be read.
BODIES = {
    "no size": ("\r\n{}\r\n0\r\n\r\n", 400),
    "no hexadecimal": ("xyz\r\n{}\r\n0\r\n\r\n", 400),
    "negative size": ("-2\r\n{}\r\n0\r\n\r\n", 400),
    "more than its size": ("1\r\n{}\r\n0\r\n\r\n", 400),
    "astronomic size": ("f" * 17 + "\r\n{}\r\n0\r\n\r\n", 413),
    "endless extension": ("2;" + "x" * 30000 + "\r\n{}\r\n0\r\n\r\n", 400),
    "trailer without a colon": ("2\r\n{}\r\n0\r\nwhat is this\r\n\r\n", 400),
    "leading zeros": ("0" * 16 + "2\r\n{}\r\n0\r\n\r\n", 400),
    "LF behind a size": ("2\n{}\r\n0\r\n\r\n", 400),
    "LF behind a chunk": ("2\r\n{}\n0\r\n\r\n", 400),
    "LF in an extension": ("2;a\n{}\r\n0\r\n\r\n", 400),
    "NUL in an extension": ("2;a\0\r\n{}\r\n0\r\n\r\n", 400),
    "trailer in the next line": ("2\r\n{}\r\n0\r\nX: a\r\n b\r\n\r\n", 400),
    "NUL at the start of a trailer": ("2\r\n{}\r\n0\r\n\0X: a\r\n\r\n", 400),
    "LF behind the trailers": ("2\r\n{}\r\n0\r\n\n", 400),
    "endless trailer": ("2\r\n{}\r\n0\r\nX: " + "x" * 30000 + "\r\n\r\n", 431),
}


def exchange(server, *pieces):
    """All that comes back until the server hangs up."""
    came = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=patience(30)) as connection:
        # It may have hung up before everything was sent, or with something unread.
        with contextlib.suppress(ConnectionError):
            connection.sendall("".join(pieces).encode("latin-1"))
        with contextlib.suppress(ConnectionError):
            while piece := connection.recv(65536):
                came += piece
    return came


def only_answer(came):
    """(status, headers, envelope) of the one answer that came."""
    head, _, body = came.partition(b"\r\n\r\n")
    line, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, value in (one.split(": ", 1) for one in lines)}
    assert line.startswith("HTTP/1.1 "), came
    assert len(body) == int(headers["content-length"]), came
    return int(line.split()[1]), headers, json.loads(body)["error"]


def expect_refusal(server, request, status):
    got, headers, error = only_answer(exchange(server, request, ALIVE))
    assert got == status, error
    assert headers["content-type"] == "application/json"
    assert headers["connection"] == "close"
    assert headers["x-request-id"].startswith("req_")
    assert headers["x-should-retry"] == "false"
    assert set(error) == {"message", "type", "param", "code"} and error["message"]
    assert error["type"] == "invalid_request_error"


@pytest.mark.threads
@pytest.mark.parametrize("name", REFUSED)
def test_a_head_that_cannot_be_read_is_answered_in_the_envelope(server, name):
    expect_refusal(server, *REFUSED[name])


@pytest.mark.threads
@pytest.mark.parametrize("name", [name for name in BODIES if not (STRICT and name == "endless extension")])
def test_chunks_that_cannot_be_read_are_answered_in_the_envelope(server, name):
    body, status = BODIES[name]
    key = server.settings["api_key"]
    expect_refusal(server, CHUNKED.replace(HOST, f"{HOST}Authorization: Bearer {key}\r\n") + body,
                   status)


@pytest.mark.parametrize("junk", ["\0", "\0junk", "\0\nX: a", "\r\n junk", "\r\n "])
def test_a_key_followed_by_other_text_is_not_the_key(server, junk):
    key = server.settings["api_key"]
    asked = f"{GET}{HOST}Authorization: Bearer {key}%s\r\n\r\n"
    assert exchange(server, asked % "", "GARBAGE\r\n").startswith(b"HTTP/1.1 200")
    expect_refusal(server, asked % junk, 400)


@pytest.mark.parametrize("sent", ["GET /" + "p" * 30000, "GARBAGE\r\n" + "x" * 30000])
def test_what_follows_on_what_is_refused_does_not_reset_the_connection(server, sent):
    with socket.create_connection(("127.0.0.1", server.port), timeout=patience(30)) as connection:
        connection.sendall(sent.encode())
        only_answer(b"".join(iter(lambda: connection.recv(65536), b"")))


def test_earlier_requests_of_the_connection_are_answered(server):
    came = exchange(server, ALIVE, GET, "what is this\r\n\r\n", ALIVE)
    first, _, second = came.partition(b'"status":"ok"')
    assert first.startswith(b"HTTP/1.1 200"), came
    assert only_answer(second[second.index(b"HTTP/1.1 "):])[0] == 400


def test_a_browser_can_read_why(start_server):
    server = start_server(cors_origins="https://app.example")
    _, headers, _ = only_answer(exchange(
        server, GET, HOST, "Origin: https://app.example\r\nwhat is this\r\n\r\n"))
    assert headers["access-control-allow-origin"] == "https://app.example"


def random_line(chance):
    """Anything up to 200 bytes long but the end of a line."""
    alphabet = chance.choice([bytes(range(256)), b"GET POST/v1?%HTTP.\t\r\0", bytes(range(33, 127))])
    line = bytes(chance.choices(alphabet, k=chance.randint(1, 200))).replace(b"\n", b"")
    return (line or b"x").decode("latin-1")


@pytest.mark.threads
@pytest.mark.parametrize("seed", range(4))
def test_any_first_line_is_answered_in_the_envelope(server, seed):
    chance = random.Random(seed)
    for _ in range(100):
        line = random_line(chance)
        came = exchange(server, line, "\r\n\r\n")
        assert came, line
        status, headers, error = only_answer(came)
        assert status in {400, 501, 505} and headers["connection"] == "close", line
        assert error["type"] == "invalid_request_error" and error["message"], line


@pytest.mark.threads
def test_any_line_after_an_answer_is_answered_in_the_envelope(server):
    chance = random.Random(4)
    for _ in range(100):
        line = random_line(chance)
        came = exchange(server, ALIVE, line, "\r\n\r\n")
        first, _, second = came.partition(b'{"status":"ok"}')
        assert first.startswith(b"HTTP/1.1 200"), (line, came)
        assert second, line
        assert only_answer(second)[0] in {400, 501, 505}, line


def test_unreadable_requests_are_counted(server, http):
    before = refused(http)
    for _ in range(3):
        expect_refusal(server, "GARBAGE\r\n\r\n", 400)
    assert refused(http) == before + 3


def refused(http):
    return int(re.search(r"^runnel_http_refused_total (\d+)$", http.get("/metrics").text, re.M)[1])


# Cases in which libmicrohttpd ends a connection, too, and no answer may be sent.
@pytest.mark.parametrize("last", [ALIVE.replace(HOST, HOST + "Connection: close\r\n"), ALIVE.replace("1.1", "1.0")])
def test_nothing_is_sent_after_the_last_answer(server, last):
    came = exchange(server, last, "GARBAGE\r\n\r\n")
    assert came.startswith(b"HTTP/1.1 200") and came.count(b"HTTP/1.1 ") == 1, came


@pytest.mark.parametrize("sent", ["", ALIVE])
def test_a_client_that_left_gets_nothing(server, sent):
    with socket.create_connection(("127.0.0.1", server.port), timeout=patience(30)) as connection:
        if sent:
            connection.sendall(sent.encode())
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(65536) == b""


@pytest.mark.skipif(STRICT, reason="it takes one empty line, as a server should")
def test_empty_lines_before_a_request_are_ignored(server):
    assert exchange(server, "\r\n\r\n\r\n", ALIVE, "GARBAGE\r\n").startswith(b"HTTP/1.1 200")


def test_an_empty_line_before_a_request_is_ignored(server):
    came = exchange(server, "\r\n", ALIVE, "\r\n", ALIVE, "GARBAGE\r\n")
    assert came.count(b"HTTP/1.1 200 OK") == 2 and came.count(b"HTTP/1.1 400") == 1, came
