"""The cost of server-side tools: calls of `text` of the group `basic`, which takes no time itself."""

import http.client
import json
import time
from concurrent.futures import ThreadPoolExecutor

from figures import trouble
from processes import BOTH_CORES, KEY, MODEL, Runnel, Upstream, as_sent, cpu_seconds, family_cpu_seconds

BASIC = {"type": "mcp", "server_label": "basic", "server_url": "builtin:basic",
         "require_approval": "never"}
RUNS = 1000
CALLS = 4
CLIENTS = 64
MOST = 64  # calls of one run


def request(calls):
    return {"model": MODEL, "input": f"use {calls} tools" if calls else "hi", "tools": [BASIC]}


def fetch(runnel, method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", runnel.port)
    connection.request(method, path, json.dumps(body) if body else None,
                       {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"})
    answer = json.load(connection.getresponse())
    connection.close()
    return answer


def in_order(runnel, response, calls):
    """Whether the response has the result of each call, in the order of the calls."""
    chain = fetch(runnel, "GET", f"/v1/runnel/responses/{response['id']}/chain")
    results = [call["result"]["data"] for call in chain["tool_call_history"]]
    return (response["status"] == "completed"
            and [text.split("\n")[0] for text in results] == [str(n + 1) for n in range(calls)])


def many(runnel, calls, runs):
    """So many responses from CLIENTS clients: the answers, the seconds, and the CPU in microseconds."""
    def cpu():
        return (cpu_seconds(runnel.pids) + family_cpu_seconds(runnel.database)) * 1e6
    before, started = cpu(), time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as clients:
        answers = list(clients.map(
            lambda _: fetch(runnel, "POST", "/v1/responses", request(calls)), range(runs)))
    return answers, time.perf_counter() - started, cpu() - before


def tools(bench):
    """Tools that the server executes: one, many of one run, and a few of many runs."""
    runs = RUNS // 10 if bench.options.quick else RUNS
    with Upstream(bench.programs, 1, 0, BOTH_CORES) as upstream, \
            Runnel(bench.build, upstream, bench.data_dir(), BOTH_CORES) as runnel:
        without, one, again = [bench.rounds(runnel, [[as_sent("POST", "/v1/responses", request(calls))]],
                                            BOTH_CORES, 0.25) for calls in (0, 1, 0)]
        plain = (without["p50_us"] + again["p50_us"]) / 2
        plain_cpu = (without["cpu_us"] + again["cpu_us"]) / 2
        bench.row("a response with one instant tool, one after another",
                  "p50 {one:.2f} ms, {cpu:.0f} us of CPU; without the call {plain:.2f} ms, {plain_cpu:.0f} us",
                  "**{added:+.2f} ms** (goal +0.2 ms), the second request to the model included", trouble(one),
                  one=one["p50_us"] / 1000, plain=plain / 1000, added=(one["p50_us"] - plain) / 1000,
                  cpu=one["cpu_us"], plain_cpu=plain_cpu)

        times = []
        for _ in range(5):
            started = time.perf_counter()
            response = fetch(runnel, "POST", "/v1/responses", request(MOST))
            times.append((time.perf_counter() - started) * 1000)
            assert in_order(runnel, response, MOST), response
        bench.row(f"{MOST} tools at once of one run", "median {took:.1f} ms of 5, all done, results in order",
                  "**{each:.0f} us a call**", took=sorted(times)[2], each=sorted(times)[2] * 1000 / MOST)

        _, plain_seconds, plain_cpu = many(runnel, 0, runs)
        answers, seconds, cpu = many(runnel, CALLS, runs)
        done = sum(in_order(runnel, answer, CALLS) for answer in answers)
        bench.row(f"{runs:,} runs with {CALLS} tools each, {CLIENTS} clients",
                  "{done} done, results in order, in {seconds:.1f} s; without tools {plain:.1f} s",
                  "**{each:.0f} us of CPU a call**, PostgreSQL and a quarter of the second request included",
                  done=done, seconds=seconds, plain=plain_seconds, each=(cpu - plain_cpu) / runs / CALLS)
