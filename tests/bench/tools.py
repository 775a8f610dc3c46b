"""The cost of server-side tools: calls of `text` of the group `basic`, which takes no time itself."""

import http.client
import json
import time
from concurrent.futures import ThreadPoolExecutor

from processes import (BOTH_CORES, KEY, MODEL, Runnel, Upstream, as_sent, cpu_seconds,
                       family_cpu_seconds, trouble)

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


def many(runnel, calls):
    """RUNS responses from CLIENTS clients: the answers, the seconds, and the CPU in microseconds."""
    def cpu():
        return (cpu_seconds(runnel.pids) + family_cpu_seconds(runnel.database)) * 1e6
    before, started = cpu(), time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as clients:
        answers = list(clients.map(
            lambda _: fetch(runnel, "POST", "/v1/responses", request(calls)), range(RUNS)))
    return answers, time.perf_counter() - started, cpu() - before


def tools(bench):
    """Tools that the server executes: one, many of one run, and a few of many runs."""
    with Upstream(bench.programs, 1, 0, BOTH_CORES) as upstream, \
            Runnel(bench.build, upstream, bench.data_dir("tools"), BOTH_CORES) as runnel:
        without, one = [bench.rounds(runnel, [[as_sent("POST", "/v1/responses", request(calls))]],
                                     BOTH_CORES, 0.25) for calls in (0, 1)]
        added = one["p50_us"] - without["p50_us"]
        bench.row("a response with one instant tool, one after another",
                  f"p50 {one['p50_us'] / 1000:.2f} ms, without the call "
                  f"{without['p50_us'] / 1000:.2f} ms{trouble(one)}",
                  f"**{added / 1000:+.2f} ms**, the second request to the model included: "
                  f"{added / without['p50_us']:.2f} x a response")

        times = []
        for _ in range(5):
            started = time.perf_counter()
            response = fetch(runnel, "POST", "/v1/responses", request(MOST))
            times.append((time.perf_counter() - started) * 1000)
            assert in_order(runnel, response, MOST), response
        bench.row(f"{MOST} tools at once of one run", f"median {sorted(times)[2]:.1f} ms of 5, all done, "
                  "results in order", f"**{sorted(times)[2] * 1000 / MOST:.0f} us a call**")

        _, plain_seconds, plain_cpu = many(runnel, 0)
        answers, seconds, cpu = many(runnel, CALLS)
        done = sum(in_order(runnel, answer, CALLS) for answer in answers)
        bench.row(f"{RUNS:,} runs with {CALLS} tools each, {CLIENTS} clients",
                  f"{done:,} done, results in order, in {seconds:.1f} s; without tools "
                  f"{plain_seconds:.1f} s",
                  f"**{(cpu - plain_cpu) / RUNS / CALLS:.0f} us of CPU a call**, PostgreSQL and a "
                  "quarter of the second request included")
