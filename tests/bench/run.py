"""The bench: Runnel beside nginx and pgbench, everything in one run, printed as one table.

    tests/bench/run.py [--quick] [--runs 3] [--seconds 6] [--only NAME ...]

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
from figures import Table, trouble
from processes import (BOTH_CORES, CLIENT_CORE, HERE, MODEL, ROOT, Nginx, Runnel, Settings, Upstream, as_sent,
                       busy_part, load_rounds, load_streams, may_be_realtime, rss_kb)

ENDLESS = 1000000  # tokens


# ---- Cases ----

class Bench:
    def __init__(self, options):
        self.options = options
        self.build = os.path.abspath(options.build)
        self.programs = os.path.join(self.build, "tests/bench")
        self.table = Table()
        self.folders = 0
        self.folder = tempfile.mkdtemp(prefix="runnel-bench-", dir="/tmp")
        os.chmod(self.folder, 0o755)

    def say(self, text):
        print(text, file=sys.stderr, flush=True)

    def row(self, name, measured, compared, trouble="", **values):
        self.part.add(name, measured, compared, values, trouble)
        once = Table()
        once.add(name, measured, compared, values, trouble)
        self.say("  " + once.lines()[0])

    def data_dir(self):
        """A new cluster for each server: tables that have grown would slow down the next one."""
        self.folders += 1
        path = os.path.join(self.folder, f"data{self.folders}")
        os.makedirs(path)
        os.chmod(path, 0o777)
        return path

    def load(self, server, path, body, count, how="streams", seconds=None):
        return load_streams(self.programs, server, path, body, count, seconds or self.options.seconds,
                            self.folder, how)

    def rounds(self, server, clients, cores=CLIENT_CORE, part=1):
        return load_rounds(self.programs, server, clients, self.options.seconds * part, self.folder,
                           cores)

    def start(self):
        """From nothing running to ready, the cluster's start included; and what idling costs."""
        times = []
        folder = self.data_dir()
        with Upstream(self.programs, 1, 0, BOTH_CORES) as upstream:
            for i in range(4):
                with Runnel(self.build, upstream, folder, BOTH_CORES) as runnel:
                    if i:  # the first one made the cluster
                        times.append(runnel.ready_seconds * 1000)
                    time.sleep(0.5)
                    idle, threads = rss_kb(runnel.pid), runnel.threads()
        self.row("start to ready, cluster stopped cleanly before", "median {ms:.0f} ms", "goal 300 ms",
                 ms=sorted(times)[1])
        self.row("idle server process", "{mb:.1f} MB resident, {threads} threads",
                 "goal 12 MB, 20 threads", mb=idle / 1024, threads=threads)

    # ---- Streams ----

    def pass_through(self, upstream, count, **options):
        ask = {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": "hi"}]}
        with Nginx(upstream, self.folder) as nginx:
            return self.load(nginx, "/v1/chat/completions", ask, count, **options)

    def our_streams(self, upstream, kind, count, **options):
        """Each kind has a server and a database of its own: runs that go on without their clients would be
        load for the next."""
        ask = {"model": MODEL, "input": "hi", "stream": True}
        with Runnel(self.build, upstream, self.data_dir()) as runnel:
            if kind == "Assistants run":
                assistant = runnel.post("/v1/assistants", {"model": MODEL})["id"]
                thread = {"messages": [{"role": "user", "content": "hi"}]}
                path = "/v1/threads/runs"
                ask = {"assistant_id": assistant, "stream": True, "thread": thread}
            else:
                path = "/v1/responses"
                ask["store"] = kind != "Responses, store:false"
                ask["background"] = kind == "Responses, background"
            return self.load(runnel, path, ask, count, **options)

    def beside_nginx(self, upstream, kind, count, **options):
        """Runnel, and the mean of nginx before and after it."""
        before = self.pass_through(upstream, count, **options)
        ours = self.our_streams(upstream, kind, count, **options)
        after = self.pass_through(upstream, count, **options)
        return ours, {key: (before[key] + after[key]) / 2 for key in before}

    def stream_row(self, name, goal, kind, count, rate, memory=True):
        with Upstream(self.programs, ENDLESS, rate) as upstream:
            ours, plain = self.beside_nginx(upstream, kind, count)
        database = " + {database:.1f} us PostgreSQL" if ours["database_us"] >= 0.5 else ""
        self.row(name, "{cpu:.1f} us/token" + database + ", p50 {p50:.2f} p99 {p99:.2f} ms; nginx {plain:.1f} us/token, "
                 "p50 {plain_p50:.2f} p99 {plain_p99:.2f} ms",
                 "**{ratio:.2f} x nginx** (goal " + goal + "), p99 {added:+.1f} ms"
                 + (", {kb:.1f} KB/stream (goal 28), nginx {plain_kb:.0f}" if memory else ""),
                 trouble(ours), cpu=ours["cpu_us"], database=ours["database_us"], p50=ours["p50_us"] / 1000,
                 p99=ours["p99_us"] / 1000, plain=plain["cpu_us"], plain_p50=plain["p50_us"] / 1000,
                 plain_p99=plain["p99_us"] / 1000, ratio=ours["cpu_us"] / plain["cpu_us"],
                 added=(ours["p99_us"] - plain["p99_us"]) / 1000, kb=ours["stream_kb"],
                 plain_kb=plain["stream_kb"])
        return ours

    def streams(self, kind, goal):
        count, rate = self.options.streams, self.options.rate
        self.stream_row(f"{kind}, {count:,} x {rate:g}/s", goal, kind, count, rate)

    def unstored(self):
        """Streams that nothing is stored of, beside nginx."""
        self.streams("Responses, store:false", "1.0 x")

    def stored(self):
        """Streams of stored responses."""
        self.streams("Responses, stored", "1.0 x")

    def background(self):
        """Streams whose every token is in the log before it is sent."""
        self.streams("Responses, background", "1.3 x, PostgreSQL 12 us")

    def assistants(self):
        """Streams of runs of the Assistants API."""
        self.streams("Assistants run", "1.3 x, PostgreSQL 12 us")

    def many(self):
        """More streams, each slower, at the same number of tokens a second."""
        count, rate = self.options.streams, self.options.rate
        kind = "Responses, store:false"
        self.stream_row(f"{kind}, {4 * count:,} x {rate / 4:g}/s", "1.0 x", kind, 4 * count, rate / 4)
        costs = []
        for factor in (1, 9):
            with Upstream(self.programs, ENDLESS, rate / factor) as upstream:
                ours = self.our_streams(upstream, kind, factor * count)
            costs.append(ours["cpu_us"])
        self.row(f"from {count:,} to {9 * count:,} streams at {count * rate:,.0f} tokens/s",
                 "{one:.1f} and {nine:.1f} us/token, {kb:.1f} KB/stream of {nine_open:.0f} streams",
                 "**{growth:.2f} x** (goal 1.1 x)", trouble(ours), one=costs[0], nine=costs[1],
                 growth=costs[1] / costs[0], kb=ours["stream_kb"], nine_open=ours["open"])

    def bulk(self):
        """50 streams, as fast as the model and the server can."""
        with Upstream(self.programs, ENDLESS, -1) as upstream:
            ours, plain = self.beside_nginx(upstream, "Responses, store:false", 50)
        self.row("bulk, 50 streams unthrottled", "{cpu:.2f} us/token, {rate:,.0f} tokens/s; nginx {plain:.2f} us, "
                 "{plain_rate:,.0f}/s", "**{ratio:.1f} x nginx** (goal 4 x)", trouble(ours), cpu=ours["cpu_us"],
                 rate=ours["per_second"], plain=plain["cpu_us"], plain_rate=plain["per_second"],
                 ratio=ours["cpu_us"] / plain["cpu_us"])

    def burst(self):
        """Requests that all come at once: how long until each has its first token."""
        count = self.options.streams
        kinds = {"Responses, store:false": 2, "Responses, stored": 2, "Assistants run": 4}
        for kind, goal in kinds.items():
            with Upstream(self.programs, 40, self.options.rate) as upstream:
                ours, plain = self.beside_nginx(upstream, kind, count, how="burst", seconds=20)
            self.row(f"{kind}: {count:,} requests at once, first token",
                     "p50 {p50:.0f} p99 {p99:.0f} ms, nginx {plain50:.0f} and {plain99:.0f} ms; {cpu:.0f} us + "
                     "{database:.0f} us PostgreSQL each",
                     "**{ratio50:.1f} x, p99 {ratio99:.1f} x nginx** (goal " + f"{goal} x)", trouble(ours),
                     p50=ours["first_p50_us"] / 1000, p99=ours["first_p99_us"] / 1000,
                     plain50=plain["first_p50_us"] / 1000, plain99=plain["first_p99_us"] / 1000,
                     cpu=ours["cpu_us"], database=ours["database_us"],
                     ratio50=ours["first_p50_us"] / max(plain["first_p50_us"], 1),
                     ratio99=ours["first_p99_us"] / max(plain["first_p99_us"], 1))

    # ---- Requests ----

    def requests(self):
        """Stored responses per second, and the same rows by pgbench before and after."""
        count = self.options.connections
        with Upstream(self.programs, 1, 0, BOTH_CORES) as upstream, \
                Runnel(self.build, upstream, self.data_dir(), BOTH_CORES) as runnel:
            ask = as_sent("POST", "/v1/responses", {"model": MODEL, "input": "hi"})
            before, _ = self.pgbench(runnel)
            result = self.rounds(runnel, [[ask]] * count, BOTH_CORES)
            after, latency = self.pgbench(runnel)
        rate = (before + after) / 2
        self.row(f"POST /v1/responses, stored, {count} connections",
                 "{per_second:,.0f}/s, p50 {p50:.1f} p99 {p99:.1f} ms, {cpu:.0f} us + {database:.0f} us PostgreSQL each",
                 "**{cpu:.0f} us** (goal 150), **{ratio:.2f} x pgbench** (goal 1.0 x)", trouble(result),
                 per_second=result["per_second"], p50=result["p50_us"] / 1000, p99=result["p99_us"] / 1000,
                 cpu=result["cpu_us"], database=result["database_us"], ratio=result["per_second"] / rate)
        self.row("pgbench, the same rows, 8 clients", "{rate:,.0f}/s, {latency:.1f} ms each", "", rate=rate,
                 latency=latency)

    def pgbench(self, runnel):
        command = runnel.database_command(
            "pgbench", "-n", "-M", "prepared", "-D", f"n={time.time_ns() % 10 ** 12}", "-f",
            os.path.join(HERE, "stored_response.sql"), "-c", "8", "-j", "2", "-T",
            str(max(1, int(self.options.seconds))))
        done = subprocess.run(command, capture_output=True, text=True, cwd="/")
        rate = re.search(r"tps = ([0-9.]+)", done.stdout)
        latency = re.search(r"latency average = ([0-9.]+) ms", done.stdout)
        if not rate or not latency:
            sys.exit(f"pgbench failed: {done.stderr}")
        return float(rate.group(1)), float(latency.group(1))

    # ---- Running ----

    def run_part(self, name, measure):
        """So many undisturbed runs; those that were disturbed are thrown away, up to as many again."""
        options = self.options
        kept, thrown = 0, 0
        while kept < options.runs:
            self.part = Table()
            Settings.others, Settings.drops = 0.0, 0
            measure(self)
            disturbed = Settings.others > options.others or Settings.drops
            if disturbed and thrown < options.runs and not options.quick:
                thrown += 1
                self.say(f"  thrown away: others had {Settings.others:.0%} of the machine, {Settings.drops} packets "
                         "dropped")
                continue
            kept += 1
            self.table.merge(self.part)
            if disturbed:
                self.disturbed.append(f"{name} ({Settings.others:.0%}, {Settings.drops} packets dropped)")

    def run(self):
        self.disturbed = []
        busy = busy_part()
        self.say(f"other work keeps {busy:.0%} of the machine busy")
        try:
            for name, part in PARTS.items():
                if not self.options.only or name in self.options.only:
                    self.say(f"{name}: {part.__doc__.splitlines()[0]}")
                    self.run_part(name, part)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
        options = self.options
        print(f"{options.runs} runs of {options.seconds:g} s, "
              f"{'in the real-time class' if Settings.realtime else 'in the usual class'}; other work kept {busy:.0%} of "
              f"the machine busy before. Medians, with the least and the most behind them.")
        print(f"Disturbed, and counted all the same: {', '.join(self.disturbed) or 'none'}.\n")
        print("| what | measured | compared |\n|---|---|---|")
        print("\n".join(self.table.lines()))


PARTS = {"start": Bench.start, "unstored": Bench.unstored, "stored": Bench.stored, "background": Bench.background,
         "assistants": Bench.assistants, "many": Bench.many, "bulk": Bench.bulk, "burst": Bench.burst,
         "requests": Bench.requests, "first": conversations.first_tokens, "tools": tools.tools,
         "chain": conversations.chain, "cycles": conversations.cycles, "threads": conversations.long_threads}


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
    parser.add_argument("--quick", action="store_true", help="does everything work? Its figures mean little")
    parser.add_argument("--runs", type=int, help="undisturbed runs of each part: 3")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--streams", type=int)
    parser.add_argument("--rate", type=float, default=20)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--threads", type=int, default=200)
    parser.add_argument("--others", type=float, default=0.1,
                        help="a run is disturbed if others have more of the machine")
    parser.add_argument("--no-realtime", action="store_true")
    parser.add_argument("--only", nargs="*", choices=tuple(PARTS))
    options = parser.parse_args()
    for name, usual, quick in (("runs", 3, 1), ("seconds", 6, 1), ("streams", 1000, 100)):
        if getattr(options, name) is None:
            setattr(options, name, quick if options.quick else usual)
    Settings.realtime = not options.no_realtime and not options.quick and may_be_realtime()
    if os.cpu_count() < 2:
        sys.exit("the bench needs two cores: one for the server, one for its clients")
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    build(os.path.abspath(options.build))
    Bench(options).run()


if __name__ == "__main__":
    main()
