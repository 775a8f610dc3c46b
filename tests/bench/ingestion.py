"""Rows of retrieval.py about files on their way in: uploads, and from attaching to being found."""

import array
import base64
import hashlib
import http.server
import json
import os
import random
import socket
import statistics
import threading
import time
import urllib.request

from processes import KEY

WORDS = [f"word{n}" for n in range(20000)]


class NoUpstream:
    port = 9  # nothing listens there, and nothing is asked of it


class Embeddings:
    """A model on loopback that makes a vector of each text's hash, after `seconds` for a request."""

    def __init__(self, dimensions, seconds=0.001):
        class Answer(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
                time.sleep(seconds)
                body = json.dumps({"object": "list", "data": [
                    {"object": "embedding", "index": n, "embedding": vector(text)} for n, text in enumerate(texts)]}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        def vector(text):
            chance = random.Random(hashlib.sha256(text.encode()).digest())
            return base64.b64encode(array.array("f", [byte - 127.5 for byte in chance.randbytes(dimensions)])).decode()

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def config(self, path, dimensions, more=""):
        path.write_text(f'upstreams:\n  - {{name: main, url: "http://127.0.0.1:{self.port}/v1"}}\n'
                        f"embeddings: {{upstream: main, model: hash, dimensions: {dimensions}}}\n{more}")
        return path


def text(size, chance):
    """Words of chance, which compress badly."""
    lines, length = [], 0
    while length < size:
        lines.append(" ".join(chance.choice(WORDS) for _ in range(12)) + ".\n")
        length += len(lines[-1])
    return "".join(lines)[:size].encode()


class Client:
    """Of any server with OpenAI's API."""

    def __init__(self, base):
        self.base = base

    def ask(self, method, path, body=None, data=None, kind="application/json"):
        data = json.dumps(body).encode() if body is not None else data
        request = urllib.request.Request(self.base + path, data, {"Authorization": f"Bearer {KEY}", "Content-Type": kind},
                                         method=method)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def upload(self, name, data):
        form = (f'--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nassistants\r\n--b\r\nContent-Disposition: '
                f'form-data; name="file"; filename="{name}"\r\n\r\n').encode() + data + b"\r\n--b--\r\n"
        return self.ask("POST", "/files", data=form, kind="multipart/form-data; boundary=b")["id"]

    def store(self, **body):
        return self.ask("POST", "/vector_stores", body)["id"]

    def attached(self, store, files, pause=0.05, **body):
        """Attaches files as a batch, and waits for its end."""
        batch = self.ask("POST", f"/vector_stores/{store}/file_batches", {"file_ids": files, **body})
        ended = self.wait_for(f"/vector_stores/{store}/file_batches/{batch['id']}",
                              lambda seen: not seen["file_counts"]["in_progress"], pause)
        assert ended["file_counts"]["completed"] == len(files), ended

    def wait_for(self, path, is_done, pause):
        while True:
            seen = self.ask("GET", path)
            if is_done(seen):
                return seen
            time.sleep(pause)


# ---- Uploads ----

def memory(pid):
    """Resident memory now, and its highest since reset_peak(), in KiB."""
    found = dict(line.split(":") for line in open(f"/proc/{pid}/status") if line.startswith(("VmRSS", "VmHWM")))
    return [int(found[name].split()[0]) for name in ("VmRSS", "VmHWM")]


def reset_peak(pid):
    with open(f"/proc/{pid}/clear_refs", "w") as file:
        file.write("5")


def send_file(port, size):
    """As Node's SDK sends a stream: chunked, the file first, and `purpose` last. Seconds until the answer."""
    piece = os.urandom(1 << 20)
    head = (f"POST /v1/files HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {KEY}\r\nTransfer-Encoding: chunked\r\n"
            'Content-Type: multipart/form-data; boundary=b\r\nConnection: close\r\n\r\n').encode()
    first = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n'
    last = b'\r\n--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n--b--\r\n'
    began = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(head + b"%x\r\n%s\r\n" % (len(first), first))
        for _ in range(size // len(piece)):
            connection.sendall(b"%x\r\n" % len(piece))
            connection.sendall(piece)
            connection.sendall(b"\r\n")
        connection.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(last), last))
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 200"), answer[:500]
    return time.perf_counter() - began


def upload(server, mib):
    """What an upload adds to the server's memory at most, in MiB, and its speed."""
    client = Client(f"http://127.0.0.1:{server.port}/v1")
    client.upload("first.txt", b"brings code into memory")
    before = memory(server.pid)[0]
    reset_peak(server.pid)
    seconds = send_file(server.port, mib << 20)
    return (memory(server.pid)[1] - before) / 1024, mib / seconds


# ---- From attaching to being found ----

def searchable(client, store, name, data):
    """Seconds from attaching to the poll that says that it is ready, and those of the first search."""
    file = client.upload(name, data)
    began = time.perf_counter()
    client.ask("POST", f"/vector_stores/{store}/files", {"file_id": file})
    seen = client.wait_for(f"/vector_stores/{store}/files/{file}", lambda seen: seen["status"] != "in_progress", 0.002)
    ready = time.perf_counter()
    assert seen["status"] == "completed", seen
    found = client.ask("POST", f"/vector_stores/{store}/search", {"query": data[:40].decode()})
    assert any(hit["file_id"] == file for hit in found["data"]), "it is not found"
    return ready - began, time.perf_counter() - ready


def one_text(client, rounds):
    """1 MiB of text: seconds until it is searchable, and of its first search, of each round."""
    chance, store = random.Random(1), client.store()
    searchable(client, store, "first.txt", b"the first one starts the workers\n" * 3)
    return [searchable(client, store, f"{n}.txt", text(1 << 20, chance)) for n in range(rounds)]


def batch(client, count):
    """Files of 20 KiB: seconds from attaching to the end."""
    chance, store = random.Random(2), client.store()
    files = [client.upload(f"many-{n}.txt", text(20 << 10, chance)) for n in range(count)]
    began = time.perf_counter()
    client.attached(store, files)
    return time.perf_counter() - began


def filled(client, documents, chunks=50, tokens=100):
    """A store of `documents` files with some `chunks` chunks each, one of a hundred with an attribute."""
    chance, store = random.Random(3), client.store()
    cut = {"chunking_strategy": {"type": "static", "static": {"max_chunk_size_tokens": tokens, "chunk_overlap_tokens": 0}}}
    files = [client.upload(f"{n}.txt", text(chunks * tokens * 4, chance)) for n in range(documents)]
    for kept in (True, False):
        some = [file for n, file in enumerate(files) if (n % 100 == 0) == kept]
        for first in range(0, len(some), 1000):
            client.attached(store, some[first:first + 1000], attributes={"kept": kept}, **cut)
    return store


def searches(client, store, count, filtered):
    """Milliseconds of each search, by HTTP. Each query is asked before, so that its vector is known."""
    chance, took = random.Random(4), []
    body = {"max_num_results": 20, **({"filters": {"type": "eq", "key": "kept", "value": True}} if filtered else {})}
    for query in [" ".join(chance.choices(WORDS, k=5)) for _ in range(count)]:
        for _ in range(2):
            began = time.perf_counter()
            found = client.ask("POST", f"/vector_stores/{store}/search", {"query": query, **body})
            last = time.perf_counter() - began
        assert found["data"], "nothing is found"
        took.append(1000 * last)
    return sorted(took)


def beside_streams(client, store, files, measured):
    """What `measured` returns while files are read again and again with other chunks, and how many were."""
    ended, done = threading.Event(), [0]

    def ingest():
        size = 800
        while not ended.is_set():
            size = size - 1 if size > 100 else 800
            client.attached(store, files, chunking_strategy={"type": "static", "static": {
                "max_chunk_size_tokens": size, "chunk_overlap_tokens": 0}})
            done[0] += len(files)

    began = time.monotonic()
    thread = threading.Thread(target=ingest)
    thread.start()
    try:
        result = measured()
    finally:
        ended.set()
        thread.join()
    return result, done[0] / (time.monotonic() - began)


def median_ms(values):
    return 1000 * statistics.median(values)
