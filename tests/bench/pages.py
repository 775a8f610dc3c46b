#!/usr/bin/env python3
"""200 pages fetched and converted side by side with 1,000 streams: the p99 of the streams with and without.

  pages.py [--build build-bench] [--pairs 5] [--streams 1000] [--pages 200] [--at-once 8] [--seconds 8]

Builds what it needs, as a release, in the folder of --build. Takes about three minutes for five pairs.

A site on loopback serves pages of 100 KiB, each another one. A model on loopback calls FetchWebPage once in each
response. The pages come while the streams are measured. Pairs are interleaved, and the median and the spread of each
side are printed with the load of the machine. Nothing passes or fails here.
"""

import argparse
import concurrent.futures
import http.server
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from processes import BOTH_CORES, MODEL, Runnel, Upstream, load_streams

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOAL = 10  # percent

PARAGRAPH = "<p>A sentence that a person came to read, with <a href='/other'>a link</a> and <b>a word</b>.</p>"
MENU = "<nav><ul>" + "".join(f"<li><a href='/{n}'>Place {n}</a>" for n in range(100)) + "</ul></nav>"
GROUP = {"type": "mcp", "server_label": "web", "server_url": "builtin:web"}


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def send(self, kind, text):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        """A page."""
        text = f"<title>Page</title>{MENU}<main><h1>{self.path}</h1>" + PARAGRAPH * 1000 + "</main>"
        self.send("text/html; charset=utf-8", text.encode())

    def do_POST(self):
        """The model: it calls the tool with the URL that the user wrote, and then says that it is done."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
        delta = {"content": "Done."}
        if asked[-1]["role"] != "tool":
            arguments = json.dumps({"url": asked[-1]["content"]})
            delta = {"tool_calls": [{"index": 0, "id": "call_1", "type": "function",
                                     "function": {"name": "FetchWebPage", "arguments": arguments}}]}
        why = "stop" if "content" in delta else "tool_calls"
        chunks = [{"choices": [{"index": 0, "delta": delta}]}, {"choices": [{"index": 0, "delta": {}, "finish_reason": why}]}]
        self.send("text/event-stream", b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in chunks)
                  + b"data: [DONE]\n\n")

    def log_message(self, *_):
        pass


def fetch(server, site, number):
    url = f"http://127.0.0.1:{site.server_port}/{number}"
    response = server.post("/v1/responses", {"model": "pages", "input": url, "store": False, "tools": [GROUP]})
    (call,) = [item for item in response["output"] if item["type"] == "mcp_call"]
    assert call["output"] and "A sentence that a person" in call["output"], call


def with_pages(server, site, options, measured):
    """The streams' figures, and how many pages a second came meanwhile."""
    took = []

    def all_pages():
        time.sleep(options.seconds / 4)  # while the streams open
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(options.at_once) as readers:
            list(readers.map(lambda number: fetch(server, site, number), range(options.pages)))
        took.append(time.monotonic() - began)

    pages = threading.Thread(target=all_pages)
    pages.start()
    result = measured()
    pages.join()
    return result, options.pages / took[0]


def build(folder):
    if not (folder / "CMakeCache.txt").exists():
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release"], check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder, "--parallel", "2", "--target", "runnel", "load", "fake_upstream"],
                   check=True, stdout=subprocess.DEVNULL)


def shown(label, values):
    print(f"{label:38} median {statistics.median(values):8.2f} ms   {min(values):.2f} to {max(values):.2f}")


def judged(alone, beside):
    """Whether the median grew by more than the goal, and by more than the same build differs from itself."""
    growth = statistics.median(beside) - statistics.median(alone)
    percent = 100 * growth / statistics.median(alone)
    spread = max(alone) - min(alone)
    word = ("within the goal" if percent <= GOAL else
            "beyond the goal, but not beyond the spread of the same build" if growth <= spread else "beyond the goal")
    return f"{percent:+.0f} % ({growth:+.2f} ms; the spread alone is {spread:.2f} ms; goal {GOAL} %): {word}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build-bench", type=pathlib.Path)
    for name, value in (("pairs", 5), ("streams", 1000), ("pages", 200), ("at-once", 8), ("seconds", 8), ("rate", 20)):
        parser.add_argument(f"--{name}", default=value, type=int)
    options = parser.parse_args()
    folder = options.build.resolve()
    build(folder)
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    site.daemon_threads = True
    threading.Thread(target=site.serve_forever, daemon=True).start()
    alone, beside, speeds = [], [], []
    with tempfile.TemporaryDirectory() as scratch, \
            Upstream(f"{folder}/tests/bench", 1000000, options.rate) as upstream:
        os.chmod(scratch, 0o755)
        here = f"127.0.0.1:{site.server_port}"
        config = pathlib.Path(scratch, "runnel.yaml")
        config.write_text(f"""
network: {{allow_internal_hosts: ["{here}"]}}
tools: {{permissions: {{web: {{execution: auto, result: never}}}}}}
upstreams:
  - {{name: pages, url: "http://{here}/v1", models: [pages]}}
  - {{name: streams, url: "http://127.0.0.1:{upstream.port}/v1", models: ["*"]}}
""")
        with Runnel(folder, upstream, os.path.join(scratch, "data"), BOTH_CORES, config) as server:
            fetch(server, site, "first")

            def streams():
                return load_streams(f"{folder}/tests/bench", server, "/v1/responses",
                                    {"model": MODEL, "input": "hi", "stream": True, "store": False}, options.streams,
                                    options.seconds, scratch)

            for pair in range(options.pairs):
                alone.append(streams()["p99_us"] / 1000)
                result, speed = with_pages(server, site, options, streams)
                beside.append(result["p99_us"] / 1000)
                speeds.append(speed)
                print(f"pair {pair + 1}: alone {alone[-1]:.2f} ms, with pages {beside[-1]:.2f} ms, {speed:.0f} pages a "
                      f"second, load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
    shown("p99 of a token, streams alone", alone)
    shown(f"p99 of a token, with {options.pages} pages", beside)
    print(f"{statistics.median(speeds):.0f} pages a second, {options.streams} streams, {options.pairs} pairs")
    print(judged(alone, beside))


if __name__ == "__main__":
    main()
