"""The parts of the bench that ask what conversations cost: how soon they begin to be answered, and
whether their length is paid for where it is not used."""

import http.client
import json
import time

from figures import trouble
from processes import BOTH_CORES, KEY, MODEL, Nginx, Runnel, Upstream, as_sent, cpu_seconds, family_cpu_seconds

MESSAGES = 10000  # of the long thread
PAGE = 10
TURNS = 200


def mean(results, key):
    return sum(result[key] for result in results) / len(results)


# ---- How soon the first token comes ----

# Streams at once -> tokens of each, and how many a second. So many streams are always open, and each
# that ends is followed by another one.
OPEN = {1: (1, 0), 100: (10, 20), 1000: (60, 20)}


def first_tokens(bench):
    """From a request to the first token, beside nginx in front of the same model."""
    chat = as_sent("POST", "/v1/chat/completions",
                   {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": "hi"}]})
    ask = as_sent("POST", "/v1/responses", {"model": MODEL, "input": "hi", "stream": True})

    def through_nginx(upstream, count):
        with Nginx(upstream, bench.folder) as nginx:
            return bench.rounds(nginx, [[chat]] * count, part=0.25)

    for count, (tokens, rate) in OPEN.items():
        if count > bench.options.streams:
            continue
        with Upstream(bench.programs, tokens, rate) as upstream:
            plain = [through_nginx(upstream, count)]
            with Runnel(bench.build, upstream, bench.data_dir()) as runnel:
                ours = bench.rounds(runnel, [[ask]] * count, part=0.5)
            plain.append(through_nginx(upstream, count))
        p50, p99 = mean(plain, "first_p50_us"), mean(plain, "first_p99_us")
        bench.row(f"first token, stored, {count:,} open",
                  "p50 {p50:.2f} p99 {p99:.2f} ms, nginx {plain50:.2f} and {plain99:.2f} ms; {begin:.0f} begin each second",
                  "**p50 {added50:+.2f} ms, p99 {added99:+.2f} ms**" + (" (goal +3 ms)" if count == 1000 else ""),
                  trouble(ours), p50=ours["first_p50_us"] / 1000, p99=ours["first_p99_us"] / 1000, plain50=p50 / 1000,
                  plain99=p99 / 1000, begin=ours["per_second"], added50=(ours["first_p50_us"] - p50) / 1000,
                  added99=(ours["first_p99_us"] - p99) / 1000)


# ---- Threads ----

def make_thread(runnel, messages=1):
    content = [{"role": "user", "content": f"message {number}"} for number in range(messages)]
    return runnel.post("/v1/threads", {"messages": content})["id"]


def cycles(bench):
    """Create a message, create a run, read its stream, list the messages; 200 threads at once."""
    count = bench.options.threads
    with Upstream(bench.programs, 10, 0, BOTH_CORES) as upstream, \
            Runnel(bench.build, upstream, bench.data_dir(), BOTH_CORES) as runnel:
        assistant = runnel.post("/v1/assistants", {"model": MODEL})["id"]
        clients = []
        for _ in range(count):
            thread = make_thread(runnel)
            clients.append([
                as_sent("POST", f"/v1/threads/{thread}/messages", {"role": "user", "content": "hi"}),
                as_sent("POST", f"/v1/threads/{thread}/runs",
                        {"assistant_id": assistant, "stream": True,
                         "truncation_strategy": {"type": "last_messages", "last_messages": 10}}),
                as_sent("GET", f"/v1/threads/{thread}/messages?limit={PAGE}")])
        result = bench.rounds(runnel, clients, BOTH_CORES, part=0.75)
    bench.row(f"create message, create run, stream it, list messages; {count} threads",
              "{rate:,.0f} cycles/s, p50 {p50:.0f} p99 {p99:.0f} ms", "{cpu:.0f} us + {database:.0f} us PostgreSQL each",
              trouble(result), rate=result["per_second"], p50=result["p50_us"] / 1000, p99=result["p99_us"] / 1000,
              cpu=result["cpu_us"], database=result["database_us"])


def lengthen(runnel, thread, count):
    """The thread gets so many messages, all like its first."""
    runnel.sql("INSERT INTO items SELECT (jsonb_populate_record(i, jsonb_build_object("
               f"'id', 'msg_' || substr(md5(random()::text || n), 1, 24), 'position', n))).* "
               f"FROM items i, generate_series(1, {count - 1}) n "
               f"WHERE i.thread_id = '{thread}' AND i.position = 0")
    runnel.sql("ANALYZE items")


def best(bench, runnel, request):
    """One client, the better of two times: what else the machine does only makes it worse."""
    results = [bench.rounds(runnel, [[request]], BOTH_CORES, 0.125) for _ in range(2)]
    return min(results, key=cpu)


def cpu(result):
    return result["cpu_us"] + result["database_us"]


def long_threads(bench):
    """A thread of 10,000 messages beside one of 10: a page of it, and runs in it."""
    messages = MESSAGES // 10 if bench.options.quick else MESSAGES
    with Upstream(bench.programs, 1, 0, BOTH_CORES) as upstream, \
            Runnel(bench.build, upstream, bench.data_dir(), BOTH_CORES) as runnel:
        assistant = runnel.post("/v1/assistants", {"model": MODEL})["id"]
        threads = {10: make_thread(runnel), messages: make_thread(runnel)}
        for count, thread in threads.items():
            lengthen(runnel, thread, count)

        def compared(name, request, note):
            short, long = [best(bench, runnel, request(thread)) for thread in threads.values()]
            bench.row(name, "p50 {short50:.2f} ms, {short:.0f} us of CPU of 10 messages, p50 {long50:.2f} ms, "
                      "{long:.0f} us of CPU of " + f"{messages:,}", "**{ratio:.2f} x** the CPU (" + note + ")",
                      trouble(short) + trouble(long), short50=short["p50_us"] / 1000, long50=long["p50_us"] / 1000,
                      short=cpu(short), long=cpu(long), ratio=cpu(long) / cpu(short))

        def run(thread, last):
            ask = {"assistant_id": assistant, "stream": True}
            if last:
                ask["truncation_strategy"] = {"type": "last_messages", "last_messages": last}
            return as_sent("POST", f"/v1/threads/{thread}/runs", ask)

        compared(f"list {PAGE} messages of a thread",
                 lambda thread: as_sent("GET", f"/v1/threads/{thread}/messages?limit={PAGE}"),
                 "goal 1 x")
        for last in (10, 100, 1000, None):
            compared(f"a run that sends {f'the last {last}' if last else 'all that it may'}",
                     lambda thread, last=last: run(thread, last),
                     "at most 2,000; each run makes a thread longer by one")


# ---- A chain of responses ----

def median(values):
    return sorted(values)[len(values) // 2]


class Chain:
    """One client, one connection, each response behind the last."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port)

    def ask(self, **body):
        text = json.dumps({"model": MODEL, **body})
        started = time.perf_counter()
        self.connection.request("POST", "/v1/responses", text, {
            "Authorization": f"Bearer {KEY}", "Content-Type": "application/json"})
        answer = json.load(self.connection.getresponse())
        return answer, (time.perf_counter() - started) * 1e6


def chain_cpu(runnel):
    return cpu_seconds(runnel.pids) + family_cpu_seconds(runnel.database)


def chain(bench):
    """200 turns behind one another: what each stores, and what each costs beside its context."""
    turns = TURNS // 4 if bench.options.quick else TURNS
    with Upstream(bench.programs, 1, 0, BOTH_CORES) as upstream, \
            Runnel(bench.build, upstream, bench.data_dir(), BOTH_CORES) as runnel:
        client = Chain(runnel.port)
        stored, times, costs, story, before = [], [], [], [], None

        def size():
            return [int(word) for word in runnel.sql(
                "SELECT (SELECT count(*) FROM items) + (SELECT count(*) FROM runs) || ' ' ||"
                " (SELECT sum(pg_column_size(i.*)) FROM items i) +"
                " (SELECT sum(pg_column_size(r.*)) FROM runs r)").split()]

        for turn in range(turns):
            sizes = size() if turn in (1, turns - 1) else None
            spent = chain_cpu(runnel)
            answer, took = client.ask(input=f"turn {turn}",
                                      **({"previous_response_id": before} if before else {}))
            before = answer["id"]
            times.append(took)
            costs.append(chain_cpu(runnel) - spent)
            story += [{"role": "user", "content": f"turn {turn}"},
                      {"role": "assistant", "content": answer["output"][0]["content"][0]["text"]}]
            if sizes:
                stored.append([now - then for now, then in zip(size(), sizes)])
        spent = chain_cpu(runnel)
        whole = median([client.ask(input=story, store=False)[1] for _ in range(9)])
        whole_cpu = (chain_cpu(runnel) - spent) / 9
        single = median([client.ask(input="turn")[1] for _ in range(9)])
    last = median(times[-10:])
    bench.row(f"a chain of {turns} turns: what a turn stores",
              "{rows2} rows, {bytes2} bytes in turn 2; {rows} rows, {bytes} bytes in the last", "goal: the same",
              rows2=stored[0][0], bytes2=stored[0][1], rows=stored[1][0], bytes=stored[1][1])
    bench.row(f"what a turn costs: no past, turn 20, turn {turns}",
              "{single:.2f}, {early:.2f}, {last:.2f} ms; " + f"the {2 * turns} items of turn {turns} sent whole, "
              "nothing stored: {whole:.2f} ms; CPU of server and database {cpu:.1f} and {whole_cpu:.1f} ms",
              f"**turn {turns} is " + "{ratio:.2f} x that** (goal 0.5 x), {cpu_ratio:.2f} x its CPU",
              single=single / 1000, early=median(times[15:25]) / 1000, last=last / 1000, whole=whole / 1000,
              ratio=last / whole, cpu=sum(costs[-10:]) / 10 * 1000, whole_cpu=whole_cpu * 1000,
              cpu_ratio=sum(costs[-10:]) / 10 / max(whole_cpu, 0.001))
