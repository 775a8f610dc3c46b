"""Calls of a shell side by side with streams, and output through the whole server: a part of sandbox.py.

The calls go to 8 containers, each by as many clients as a container may have calls at once. A model on loopback calls the
shell once in each response. Pairs are interleaved, and the median and the spread of each side are shown."""

import concurrent.futures
import http.server
import json
import os
import pathlib
import statistics
import tempfile
import threading
import time

from processes import BOTH_CORES, MODEL, Runnel, Upstream, load_streams

CONTAINERS = 8
CLIENTS = 16
COMMAND = "echo hello; pwd"
OUTPUT = 500_000_000


class Model(http.server.BaseHTTPRequestHandler):
    """Calls the shell with the command that the user wrote, and then says that it is done."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
        delta, why = {"content": "Done."}, "stop"
        if asked[-1]["role"] != "tool":
            arguments = json.dumps({"commands": [asked[-1]["content"]]})
            delta, why = {"tool_calls": [{"index": 0, "id": "call_1", "type": "function",
                                          "function": {"name": "shell", "arguments": arguments}}]}, "tool_calls"
        chunks = [{"choices": [{"index": 0, "delta": delta}]}, {"choices": [{"index": 0, "delta": {}, "finish_reason": why}]}]
        text = b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in chunks) + b"data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def execute(server, container, command=COMMAND):
    tool = {"type": "shell", "environment": {"type": "container_reference", "container_id": container}}
    response = server.post("/v1/responses", {"model": "calls", "input": command, "store": False, "tools": [tool]})
    (output,) = [item for item in response["output"] if item["type"] == "shell_call_output"]
    assert output["output"][0]["outcome"] == {"type": "exit", "exit_code": 0}, output
    return output["output"][0]["stdout"]


def with_calls(server, containers, options, measured):
    """The streams' figures, and the times of the calls meanwhile in milliseconds."""
    took = []

    def one(number):
        began = time.perf_counter()
        assert execute(server, containers[number % CONTAINERS]).startswith("hello")
        took.append((time.perf_counter() - began) * 1e3)

    def all_calls():
        time.sleep(options.seconds / 4)  # while the streams open
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(one, range(options.calls)))

    calls = threading.Thread(target=all_calls)
    began = time.monotonic()
    calls.start()
    result = measured()
    calls.join()
    return result, sorted(took), time.monotonic() - began


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f}) ms"


def measure(options):
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    model.daemon_threads = True
    threading.Thread(target=model.serve_forever, daemon=True).start()
    programs = f"{options.build}/tests/bench"
    with tempfile.TemporaryDirectory() as scratch, Upstream(programs, 1000000, options.rate) as upstream:
        os.chmod(scratch, 0o755)
        config = pathlib.Path(scratch, "runnel.yaml")
        config.write_text(f"""
upstreams:
  - {{name: calls, url: "http://127.0.0.1:{model.server_port}/v1", models: [calls]}}
  - {{name: streams, url: "http://127.0.0.1:{upstream.port}/v1", models: ["*"]}}
""")
        with Runnel(options.build, upstream, os.path.join(scratch, "data"), BOTH_CORES, config) as server:
            containers = [server.post("/v1/containers", {"name": f"bench {n}"})["id"] for n in range(CONTAINERS)]
            for container in containers:
                execute(server, container)
            alone, beside, calls, seconds = [], [], [], []

            def streams():
                return load_streams(programs, server, "/v1/responses",
                                    {"model": MODEL, "input": "hi", "stream": True, "store": False}, options.streams,
                                    options.seconds, scratch)["p99_us"] / 1000

            for _ in range(options.pairs):
                alone.append(streams())
                result, took, whole = with_calls(server, containers, options, streams)
                beside.append(result)
                calls += took
                seconds.append(whole)
            began = time.perf_counter()
            execute(server, containers[0], f"yes | head -c {OUTPUT}")
            rate = OUTPUT / 1e6 / (time.perf_counter() - began)
            execute(server, containers[0])
    calls.sort()
    change = 100 * (statistics.median(beside) / statistics.median(alone) - 1)
    print(f"\n| p99 of a token of {options.streams} streams, {options.pairs} pairs | median (least to most) |\n|---|---|\n"
          f"| alone | {spread(alone)} |\n| beside {options.calls} calls in {CONTAINERS} containers | {spread(beside)}: "
          f"{change:+.0f} %; target: within 10 % beyond the spread |\n"
          f"| a call meanwhile, the model's two turns included | p50 {calls[len(calls) // 2]:.1f}, p99 "
          f"{calls[len(calls) * 99 // 100]:.1f} ms; all of them in {statistics.median(seconds):.1f} s |\n"
          f"| output of a command through the server | {rate:.0f} MB/s; target: 150 |\n\nload {os.getloadavg()[0]:.1f}")
