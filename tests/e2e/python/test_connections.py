"""How many connections an address may have, and how many requests a connection."""

import json
import socket
import sys

import pytest

from harness import host
from harness.patience import patience
from harness.process import free_port
from harness.server import KEY

ADDRESS = "10.9.8.7"
ALIVE = b"GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n"

# A client on the host of the server: opens so many connections, and asks on each in turn; then
# closes the first, and asks on a new one until it is let in.
CLIENT = """
import json, socket, sys, time
address, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def connect():
    peer = socket.create_connection((address, port), timeout=30)
    peer.sendall(b"GET /healthz HTTP/1.1\\r\\nHost: test\\r\\n\\r\\n")
    answer, length = "", -1
    while length < 0 or len(answer.split("\\r\\n\\r\\n", 1)[1]) < length:
        answer += peer.recv(65536).decode()
        if "\\r\\n\\r\\n" in answer:
            length = int(answer.lower().split("content-length:")[1].split()[0])
    return peer, answer
peers = [connect() for _ in range(count)]
answers = [answer for _, answer in peers]
peers[0][0].close()
deadline = time.monotonic() + 20
while True:
    later, answer = connect()
    if " 200 " in answer or time.monotonic() > deadline:
        break
    later.close()
    time.sleep(0.02)
print(json.dumps([*answers, answer]))
"""


@pytest.mark.skipif(not host.can_be_made(), reason="only root makes network namespaces")
def test_connections_of_one_address_are_limited(start_server):
    server = start_server(listen=f"0.0.0.0:{(port := free_port())}", upstream_url="http://127.0.0.1:1/v1",
                          max_connections_per_ip=2, wrapper=host.wrapper(ADDRESS))
    answers = json.loads(host.run_beside(
        server.process.pid, sys.executable, "-c", CLIENT, ADDRESS, str(port), "3"))

    assert [answer.split()[1] for answer in answers] == ["200", "200", "429", "200"]
    head, body = answers[2].split("\r\n\r\n", 1)
    assert "connection: close" in head.lower()
    assert json.loads(body)["error"]["message"] == "Your address has too many connections."


def ask(peer):
    peer.sendall(ALIVE)
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += peer.recv(65536)
    return answer.decode().lower()


def test_requests_of_one_connection_are_limited(start_server):
    server = start_server(max_connection_requests=3)
    with socket.create_connection(("127.0.0.1", server.port), timeout=patience(30)) as peer:
        heads = [ask(peer) for _ in range(3)]
        assert ["connection: close" in head for head in heads] == [False, False, True]
        assert all(" 200 " in head for head in heads)
        while peer.recv(65536):
            pass
    with socket.create_connection(("127.0.0.1", server.port), timeout=patience(30)) as peer:
        assert "connection: close" not in ask(peer)


def test_the_last_request_of_a_connection_may_be_a_stream(start_server, upstream):
    upstream.answer(text="Hello.")
    server = start_server(max_connection_requests=1)
    client = server.sdk()
    events = [event.type for event in client.responses.create(model="demo", input="hi", stream=True)]
    assert events[-1] == "response.completed"

    body = json.dumps({"model": "demo", "input": "hi", "stream": True})
    with socket.create_connection(("127.0.0.1", server.port), timeout=patience(30)) as peer:
        peer.sendall((f"POST /v1/responses HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {KEY}\r\n"
                      f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode())
        answer = b"".join(iter(lambda: peer.recv(65536), b"")).decode()
    head, rest = answer.lower().split("\r\n\r\n", 1)
    assert head.count("connection: close") == 1 and head.count("transfer-encoding: chunked") == 1, head
    assert rest.endswith("\r\n0\r\n\r\n")
