"""Bodies above the limit, from clients that announce no length: the answer does not wait for their end, and
arrives however long they continue."""

import json
import shutil
import socket
import subprocess

import pytest

from test_heads import only_answer

from harness.patience import patience

MIB = 1 << 20
CHUNK = b"10000\r\n" + b"x" * 65536 + b"\r\n"


def key(server):
    return server.settings["api_key"]


def head(server):
    return (f"POST /v1/responses HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {key(server)}\r\n"
            "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n").encode()


def read_to_the_end(peer):
    """Raises if the connection is reset instead of ended."""
    came = b""
    while piece := peer.recv(65536):
        came += piece
    return came


def expect_too_large(came):
    status, headers, error = only_answer(came)
    assert status == 413
    assert headers["connection"] == "close"
    assert headers["content-type"] == "application/json"
    assert headers["x-request-id"].startswith("req_")
    assert error == {
        "message": "The request body is larger than 1048576 bytes.", "type": "invalid_request_error",
        "param": None, "code": None}


@pytest.fixture
def small(start_server):
    return start_server(max_body=MIB)


def test_a_client_that_stops_within_a_too_large_body_gets_an_error(small):
    with socket.create_connection(("127.0.0.1", small.port), timeout=patience(30)) as peer:
        peer.sendall(head(small) + CHUNK * 16 + b"1\r\nx")
        expect_too_large(read_to_the_end(peer))


def test_a_client_that_continues_a_too_large_body_gets_an_error(small):
    with socket.create_connection(("127.0.0.1", small.port), timeout=patience(30)) as peer:
        peer.sendall(head(small))
        for _ in range(40):  # it is listened to for five seconds
            peer.sendall(CHUNK)
        expect_too_large(read_to_the_end(peer))


def test_a_client_that_never_ends_its_body_gets_an_error_and_is_disconnected(small):
    with socket.create_connection(("127.0.0.1", small.port), timeout=patience(30)) as peer:
        peer.sendall(head(small))
        with pytest.raises(ConnectionError):
            for _ in range(2048):
                peer.sendall(CHUNK)
    assert small.http().get("/v1/models").status_code == 200


def test_a_client_that_sends_a_too_large_body_in_chunks_gets_an_error(small):
    def pieces():
        yield b'{"model": "demo", "input": "'
        for _ in range(64):
            yield b"x" * 65536
        yield b'"}'

    answer = small.http().post("/v1/responses", content=pieces(),
                               headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert answer.json()["error"]["message"] == "The request body is larger than 1048576 bytes."
    assert answer.headers["connection"] == "close"


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not here")
@pytest.mark.parametrize("expect", ["Expect:", "Expect: 100-continue"])
def test_curl_gets_an_error_for_a_too_large_body(small, tmp_path, expect):
    (tmp_path / "big").write_bytes(b"x" * (30 * MIB))
    sent = subprocess.run(
        ["curl", "--silent", "--show-error", "--max-time", "60", "--header", "Transfer-Encoding: chunked",
         "--header", expect, "--header", f"Authorization: Bearer {key(small)}",
         "--header", "Content-Type: application/json", "--data-binary", f"@{tmp_path / 'big'}",
         "--write-out", "\n%{http_code}", f"http://127.0.0.1:{small.port}/v1/responses"],
        capture_output=True, text=True, check=False)
    body, _, status = sent.stdout.rpartition("\n")
    assert status == "413", sent
    assert "larger than 1048576 bytes" in json.loads(body)["error"]["message"]
