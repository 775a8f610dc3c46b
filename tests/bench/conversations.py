"""The parts of the bench that ask what conversations cost: how soon they begin to be answered, and
whether their length is paid for where it is not used."""

import http.client
import json
import time

from processes import BOTH_CORES, KEY, MODEL, Nginx, Runnel, Upstream, as_sent, trouble

MESSAGES = 10000  # of the long thread
PAGE = 10
TURNS = 200


def ms(us, digits=2):
    return f"{us / 1000:.{digits}f}"


def added(ours, plain, key):
    return f"{(ours[key] - plain[key]) / 1000:+.2f} ms"


# ---- How soon the first token comes ----

# Streams at once -> tokens of each, and how many a second. So many streams are always open, and each
# that ends is followed by another one.
OPEN = {1: (1, 0), 100: (10, 20), 1000: (60, 20)}


def first_tokens(bench):
    """From a request to the first token, beside nginx in front of the same model."""
    for count, (tokens, rate) in OPEN.items():
        chat = as_sent("POST", "/v1/chat/completions",
                       {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": "hi"}]})
        ask = as_sent("POST", "/v1/responses", {"model": MODEL, "input": "hi", "stream": True})
        with Upstream(bench.programs, tokens, rate) as upstream:
            with Nginx(upstream, bench.folder) as nginx:
                plain = bench.rounds(nginx, [[chat]] * count, part=0.25)
            with Runnel(bench.build, upstream, bench.data_dir(f"first{count}")) as runnel:
                ours = bench.rounds(runnel, [[ask]] * count, part=0.5)
        bench.row(f"first token, {count:,} open, {ours['per_second']:.0f} begin each second",
                  f"p50 {ms(ours['first_p50_us'])} p99 {ms(ours['first_p99_us'])} ms, nginx "
                  f"{ms(plain['first_p50_us'])} and {ms(plain['first_p99_us'])} ms{trouble(ours)}",
                  f"**{added(ours, plain, 'first_p50_us')}, p99 "
                  f"{added(ours, plain, 'first_p99_us')}**")


# ---- Threads ----

def make_thread(runnel, messages=1):
    content = [{"role": "user", "content": f"message {number}"} for number in range(messages)]
    return runnel.post("/v1/threads", {"messages": content})["id"]


def cycles(bench):
    """Create a message, create a run, read its stream, list the messages; 200 threads at once."""
    count = bench.options.threads
    with Upstream(bench.programs, 10, 0, BOTH_CORES) as upstream, \
            Runnel(bench.build, upstream, bench.data_dir("cycles"), BOTH_CORES) as runnel:
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
              f"**{result['per_second']:.0f} cycles/s**, p50 {ms(result['p50_us'], 0)} p99 "
              f"{ms(result['p99_us'], 0)} ms{trouble(result)}",
              f"{result['cpu_us']:.0f} us + {result['database_us']:.0f} us PostgreSQL each")


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


def cost(result):
    return f"p50 {ms(result['p50_us'])} ms, {cpu(result):.0f} us of CPU{trouble(result)}"


def long_threads(bench):
    """A thread of 10,000 messages beside one of 10: a page of it, and runs in it."""
    with Upstream(bench.programs, 1, 0, BOTH_CORES) as upstream, \
            Runnel(bench.build, upstream, bench.data_dir("threads"), BOTH_CORES) as runnel:
        assistant = runnel.post("/v1/assistants", {"model": MODEL})["id"]
        threads = {10: make_thread(runnel), MESSAGES: make_thread(runnel)}
        for count, thread in threads.items():
            lengthen(runnel, thread, count)

        def compared(name, request, note):
            short, long = [best(bench, runnel, request(thread)) for thread in threads.values()]
            bench.row(name, f"{cost(short)} of 10 messages, {cost(long)} of {MESSAGES:,}",
                      f"**{cpu(long) / cpu(short):.2f} x** the CPU ({note})")

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


def chain(bench):
    """200 turns behind one another: what each stores, and what each costs beside its context."""
    with Upstream(bench.programs, 1, 0, BOTH_CORES) as upstream, \
            Runnel(bench.build, upstream, bench.data_dir("chain"), BOTH_CORES) as runnel:
        client = Chain(runnel.port)
        stored, times, story, before = [], [], [], None

        def size():
            return [int(word) for word in runnel.sql(
                "SELECT (SELECT count(*) FROM items) + (SELECT count(*) FROM runs) || ' ' ||"
                " (SELECT sum(pg_column_size(i.*)) FROM items i) +"
                " (SELECT sum(pg_column_size(r.*)) FROM runs r)").split()]

        for turn in range(TURNS):
            sizes = size() if turn in (1, TURNS - 1) else None
            answer, took = client.ask(input=f"turn {turn}",
                                      **({"previous_response_id": before} if before else {}))
            before = answer["id"]
            times.append(took)
            story += [{"role": "user", "content": f"turn {turn}"},
                      {"role": "assistant", "content": answer["output"][0]["content"][0]["text"]}]
            if sizes:
                stored.append([now - then for now, then in zip(size(), sizes)])
        whole = median([client.ask(input=story, store=False)[1] for _ in range(9)])
        single = median([client.ask(input="turn")[1] for _ in range(9)])
    bench.row(f"a chain of {TURNS} turns: what a turn stores",
              f"{stored[0][0]} rows, {stored[0][1]} bytes in turn 2; {stored[1][0]} rows, "
              f"{stored[1][1]} bytes in turn {TURNS}", "goal: the same")
    bench.row("what a turn costs: no past, turn 20, turn 200",
              f"{ms(single)}, {ms(median(times[15:25]))}, {ms(median(times[-10:]))} ms",
              f"the {2 * TURNS} items of turn {TURNS} sent whole, nothing stored: {ms(whole)} ms; "
              f"**turn {TURNS} is {median(times[-10:]) / whole:.2f} x that**")
