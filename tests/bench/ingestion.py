#!/usr/bin/env python3
"""From attaching to being found, by words alone: 1 MiB of text, and a batch of 2,000 files of 20 KiB.

  ingestion.py [--build DIR] [--rounds 7] [--files 2000]

A server with a private cluster, on the cores of this machine. A text is ready when the first poll that says so has returned; polls
come 2 ms apart. The texts are words of chance, which compress badly. Nothing passes or fails here: the load of the machine is printed
beside each figure.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import tempfile
import time
import urllib.request

from processes import BOTH_CORES, KEY, Runnel

WORDS = [f"word{n}" for n in range(20000)]


class NoUpstream:
    port = 9  # nothing listens there, and nothing is asked of it


def text(size, chance):
    lines, length = [], 0
    while length < size:
        lines.append(" ".join(chance.choice(WORDS) for _ in range(12)) + ".\n")
        length += len(lines[-1])
    return "".join(lines)[:size].encode()


class Client:
    def __init__(self, server):
        self.base = f"http://127.0.0.1:{server.port}/v1"

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

    def wait_for(self, path, is_done, pause):
        while True:
            seen = self.ask("GET", path)
            if is_done(seen):
                return seen
            time.sleep(pause)


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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build", type=pathlib.Path)
    parser.add_argument("--rounds", default=7, type=int)
    parser.add_argument("--files", default=2000, type=int)
    options = parser.parse_args()
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as scratch:
        pathlib.Path(scratch).chmod(0o755)
        with Runnel(options.build, NoUpstream, os.path.join(scratch, "data"), BOTH_CORES) as server:
            client = Client(server)
            store = client.ask("POST", "/vector_stores", {})["id"]
            searchable(client, store, "first.txt", b"the first one starts the workers\n" * 3)
            rounds = [searchable(client, store, f"{n}.txt", text(1 << 20, chance)) for n in range(options.rounds)]
            ready, first = ([one[part] for one in rounds] for part in (0, 1))
            print(f"1 MiB of text: searchable after {statistics.median(ready):.2f} s (best {min(ready):.2f}, worst "
                  f"{max(ready):.2f} of {options.rounds}), then the first search {1000 * statistics.median(first):.0f} ms; "
                  f"load {os.getloadavg()[0]:.1f}")
            files = [client.upload(f"many-{n}.txt", text(20 << 10, chance)) for n in range(options.files)]
            began = time.perf_counter()
            batch = client.ask("POST", f"/vector_stores/{store}/file_batches", {"file_ids": files})
            ended = client.wait_for(f"/vector_stores/{store}/file_batches/{batch['id']}",
                                    lambda seen: not seen["file_counts"]["in_progress"], 0.05)
            assert ended["file_counts"]["completed"] == options.files, ended
            print(f"{options.files} files of 20 KiB: {time.perf_counter() - began:.1f} s; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
