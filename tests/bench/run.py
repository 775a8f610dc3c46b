#!/usr/bin/env python3
"""The bench: Runnel beside nginx and pgbench, everything in one run, printed as one table.

    tests/bench/run.py [--seconds 8] [--streams 1000] [--only NAME ...]

Builds what it needs. README.md here says what is measured and how to read it.
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import conversations
import tools
from processes import (BOTH_CORES, CLIENT_CORE, HERE, MODEL, ROOT, Nginx, Runnel, Upstream, as_sent,
                       busy_part, load_rounds, load_streams, rss_kb, span, trouble)


# ---- Cases ----

class Bench:
    def __init__(self, options):
        self.options = options
        self.build = os.path.abspath(options.build)
        self.programs = os.path.join(self.build, "tests/bench")
        self.rows = []
        self.folder = tempfile.mkdtemp(prefix="runnel-bench-", dir="/tmp")
        os.chmod(self.folder, 0o755)

    def say(self, text):
        print(text, file=sys.stderr, flush=True)

    def row(self, *cells):
        self.rows.append(cells)
        self.say("  " + " | ".join(cells))

    def data_dir(self, name):
        path = os.path.join(self.folder, name)
        os.makedirs(path, exist_ok=True)
        os.chmod(path, 0o777)
        return path

    def load(self, server, path, body, count):
        return load_streams(self.programs, server, path, body, count, self.options.seconds,
                            self.folder)

    def rounds(self, server, clients, cores=CLIENT_CORE, part=1):
        return load_rounds(self.programs, server, clients, self.options.seconds * part, self.folder,
                           cores)

    def start(self):
        """From nothing running to ready, the cluster's start included; and what idling costs."""
        times = []
        with Upstream(self.programs, 1, 0, BOTH_CORES) as upstream:
            for i in range(6):
                with Runnel(self.build, upstream, self.data_dir("start"), BOTH_CORES) as runnel:
                    if i:  # the first one made the cluster
                        times.append(runnel.ready_seconds * 1000)
                    time.sleep(0.5)
                    idle = rss_kb(runnel.pid)
        times.sort()
        self.row("start to ready, cluster stopped cleanly before",
                 f"median {times[2]:.0f} ms of 5, best {times[0]:.0f} ms", "goal 300 ms")
        self.row("idle server process", f"{idle / 1024:.1f} MB resident", "goal 25 MB")

    def pass_through(self, upstream):
        ask = {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": "hi"}]}
        with Nginx(upstream, self.folder) as nginx:
            return self.load(nginx, "/v1/chat/completions", ask, self.options.streams)

    def stream_case(self, upstream, name, number):
        """One kind of stream. Each has a server and a database of its own: runs that go on
        without their clients would be load for the next."""
        ask = {"model": MODEL, "input": "hi", "stream": True}
        with Runnel(self.build, upstream, self.data_dir(f"streams{number}")) as runnel:
            if name == "Assistants run":
                assistant = runnel.post("/v1/assistants", {"model": MODEL})["id"]
                thread = {"messages": [{"role": "user", "content": "hi"}]}
                path = "/v1/threads/runs"
                ask = {"assistant_id": assistant, "stream": True, "thread": thread}
            else:
                path = "/v1/responses"
                ask["store"] = name != "Responses, store:false"
                ask["background"] = name == "Responses, background"
            return self.load(runnel, path, ask, self.options.streams)

    def streams(self):
        """Streams through nginx and through Runnel, the same number at the same rate."""
        goals = {"Responses, store:false": "goal 1.3 x, 3 ms", "Responses, stored": "goal 1.3 x, 3 ms",
                 "Responses, background": "goal 2 x, 40 ms", "Assistants run": "goal 2.5 x, 40 ms"}
        with Upstream(self.programs, 1000000, self.options.rate) as upstream:
            plain = [self.pass_through(upstream)]
            for number, (name, goal) in enumerate(goals.items()):
                result = self.stream_case(upstream, name, number)
                plain.append(self.pass_through(upstream))
                self.stream_row(name, result, plain[-2:], goal)
        self.row("nginx, each time", f"{span(plain, 'cpu_us', 1)} us/token, p50 "
                 f"{span(plain, 'p50_us', 1000, 2)} p99 {span(plain, 'p99_us', 1000, 2)} ms",
                 f"{span(plain, 'stream_kb', 1, 0)} KB/stream")

    def stream_row(self, name, result, plain, goal):
        """Compared with nginx before and after it."""
        cpu = sum(one["cpu_us"] for one in plain) / len(plain)
        p99 = sum(one["p99_us"] for one in plain) / len(plain)
        database = (f" + {result['database_us']:.1f} us PostgreSQL"
                    if result["database_us"] >= 0.5 else "")
        self.row(name, f"{result['cpu_us']:.1f} us/token{database}, p50 "
                 f"{result['p50_us'] / 1000:.2f} p99 {result['p99_us'] / 1000:.2f} ms{trouble(result)}",
                 f"**{result['cpu_us'] / cpu:.2f} x nginx, p99 {(result['p99_us'] - p99) / 1000:+.1f} "
                 f"ms** ({goal}), {result['stream_kb']:.1f} KB/stream (goal 40)")

    def held(self):
        """Many streams at once, each of them slow."""
        count = self.options.held
        with Upstream(self.programs, 1000000, 1) as upstream, \
                Runnel(self.build, upstream, self.data_dir("held")) as runnel:
            result = self.load(runnel, "/v1/responses",
                               {"model": MODEL, "input": "hi", "stream": True, "store": False}, count)
        self.row(f"{count} streams held, 1 token/s each",
                 f"{result['open']} open, {result['broken']} broken, p50 "
                 f"{result['p50_us'] / 1000:.2f} p99 {result['p99_us'] / 1000:.2f} ms",
                 f"{result['stream_kb']:.1f} KB/stream (goal 40)")

    def requests(self):
        """Stored responses per second, and the same rows by pgbench."""
        folder = self.data_dir("requests")
        count = self.options.connections
        with Upstream(self.programs, 1, 0, BOTH_CORES) as upstream, \
                Runnel(self.build, upstream, folder, BOTH_CORES) as runnel:
            ask = as_sent("POST", "/v1/responses", {"model": MODEL, "input": "hi"})
            result = self.rounds(runnel, [[ask]] * count, BOTH_CORES)
            rate, latency = self.pgbench(runnel)
        self.row(f"POST /v1/responses, stored, {count} connections",
                 f"**{result['per_second']:.0f}/s** (goal 2,000), p50 {result['p50_us'] / 1000:.1f} "
                 f"p99 {result['p99_us'] / 1000:.1f} ms{trouble(result)}",
                 f"{result['cpu_us']:.0f} us + {result['database_us']:.0f} us PostgreSQL each")
        self.row("pgbench, the same rows, 8 clients", f"{rate:.0f}/s, {latency:.1f} ms each",
                 f"**Runnel does {result['per_second'] / rate:.2f} x that**")

    def pgbench(self, runnel):
        command = runnel.database_command(
            "pgbench", "-n", "-M", "prepared", "-D", "n=0", "-f",
            os.path.join(HERE, "stored_response.sql"), "-c", "8", "-j", "2", "-T",
            str(max(1, int(self.options.seconds))))
        done = subprocess.run(command, capture_output=True, text=True, cwd="/")
        rate = re.search(r"tps = ([0-9.]+)", done.stdout)
        latency = re.search(r"latency average = ([0-9.]+) ms", done.stdout)
        if not rate or not latency:
            sys.exit(f"pgbench failed: {done.stderr}")
        return float(rate.group(1)), float(latency.group(1))

    def run(self):
        try:
            busy = busy_part()
            self.say(f"other work keeps {busy:.0%} of the machine busy")
            for name, part in PARTS.items():
                if not self.options.only or name in self.options.only:
                    self.say(f"{name}: {part.__doc__.splitlines()[0]}")
                    part(self)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
        print(f"{self.options.streams} streams x {self.options.rate:g} tokens/s for "
              f"{self.options.seconds:g} s; other work kept {busy:.0%} of the machine busy "
              "before.\n")
        print("| what | measured | compared |\n|---|---|---|")
        for cells in self.rows:
            print("| " + " | ".join(cells) + " |")


PARTS = {"start": Bench.start, "streams": Bench.streams, "held": Bench.held,
         "requests": Bench.requests, "first": conversations.first_tokens,
         "cycles": conversations.cycles, "threads": conversations.long_threads,
         "chain": conversations.chain, "tools": tools.tools}


def build(folder):
    """A release build, of what is measured and of what measures."""
    cache = os.path.join(folder, "CMakeCache.txt")
    if not os.path.exists(cache):
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release"], check=True,
                       stdout=subprocess.DEVNULL)
    if "CMAKE_BUILD_TYPE:STRING=Release" not in open(cache).read():
        sys.exit(f"{folder} is no release build: name another with --build")
    subprocess.run(["cmake", "--build", folder, "--parallel", "--target", "runnel", "load", "fake_upstream"],
                   check=True, stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build-bench"))
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=20)
    parser.add_argument("--held", type=int, default=5000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--threads", type=int, default=200)
    parser.add_argument("--only", nargs="*", choices=tuple(PARTS))
    options = parser.parse_args()
    if os.cpu_count() < 2:
        sys.exit("the bench needs two cores: one for the server, one for its clients")
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    build(os.path.abspath(options.build))
    Bench(options).run()


if __name__ == "__main__":
    main()
