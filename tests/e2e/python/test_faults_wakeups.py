"""What servers on one database tell each other at once; without it they would find out by looking."""

import pytest

from harness import shapes
from harness.server import eventually
from harness.shapes import TEST_TOOLS
from harness.tools import WEATHER, WEATHER_RULES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

FOREVER = 3600000

# They look for themselves only after hundreds of seconds.
SELDOM = 3000


@pytest.fixture
def start_pair(start_fault_server):
    def start(**settings):
        first = start_fault_server(**settings)
        second = start_fault_server(url=first.settings["database_url"], **settings)
        # It knows only because the other has said so: from now on it listens.
        eventually(lambda: first.metric("other_nodes"), lambda known: known == 1, seconds=60)
        return first, second
    return start


def new_thread(client, tools=()):
    assistant = client.beta.assistants.create(model="demo", tools=list(tools))
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "x"}])
    return {"thread_id": thread.id, "assistant_id": assistant.id}


def settle(client, run, *statuses, seconds=60):
    return eventually(
        lambda: client.beta.threads.runs.retrieve(run.id, thread_id=run.thread_id).status,
        lambda status: status in statuses, seconds)


def count_of(upstream, count):
    eventually(lambda: len(upstream.chats()), lambda chats: chats == count)


# ---- Cancelling ----

@pytest.mark.threads
@pytest.mark.parametrize("answer", [
    {"text": "a b c", "piece_delay_ms": FOREVER},
    {"tool_calls": [{"name": "test_slow", "id": "call_1", "arguments": {"ms": FOREVER}}]},
], ids=["speaking", "tool"])
def test_a_cancel_reaches_the_owner_at_once(start_pair, upstream, database, answer):
    first, second = start_pair(lease_ttl=SELDOM)
    here, there = first.sdk(strict=False), second.sdk(strict=False)
    upstream.answer(**answer)
    run = here.beta.threads.runs.create(**new_thread(here, [TEST_TOOLS]))
    count_of(upstream, 1)
    settle(there, run, "in_progress")
    assert there.beta.threads.runs.cancel(run.id, thread_id=run.thread_id).status == "cancelling"
    settle(there, run, "cancelled")
    made = here.responses.create(model="demo", input="x", background=True,
                                 extra_body={"tools": [TEST_TOOLS]})
    count_of(upstream, 2)
    assert there.responses.cancel(made.id).status == "cancelled"
    eventually(lambda: there.responses.retrieve(made.id).status,
               lambda status: status == "cancelled", seconds=60)
    first.forgets_its_runs()
    shapes.check_database(database, first.settings["database_url"])


def test_a_cancel_that_is_not_told_is_found(start_pair, upstream, database):
    first, second = start_pair(lease_ttl=2)
    here, there = first.sdk(), second.sdk()
    upstream.answer(text="a b c", piece_delay_ms=FOREVER)
    run = here.beta.threads.runs.create(**new_thread(here))
    count_of(upstream, 1)
    settle(there, run, "in_progress")
    second.arm("wakeups_send:1")
    there.beta.threads.runs.cancel(run.id, thread_id=run.thread_id)
    settle(there, run, "cancelled")
    assert second.has_fired()


# ---- Handing over ----

def test_what_a_server_leaves_is_taken_up_at_once(start_pair, upstream, database):
    first, second = start_pair(lease_ttl=SELDOM, drain_timeout=1)
    here, there = first.sdk(), second.sdk()
    upstream.script({"times": 2, "answer": {"text": "a b c", "piece_delay_ms": FOREVER}},
                    {"answer": {"text": "Whole."}})
    run = here.beta.threads.runs.create(**new_thread(here))
    response = here.responses.create(model="demo", input="x", background=True)
    count_of(upstream, 2)
    assert first.stop() == 0
    settle(there, run, "completed")
    done = eventually(lambda: there.responses.retrieve(response.id),
                      lambda made: made.status == "completed", seconds=60)
    assert done.output[-1].content[0].text == "Whole."
    shapes.check_database(database, first.settings["database_url"])


# ---- Alone ----

def test_a_server_that_is_alone_says_nothing(start_fault_server, upstream, database):
    """Whatever it does: nobody hears, so nothing is sent to the database."""
    url = database.new()
    name = url.split("dbname=")[1].split()[0]
    database.ask(f"ALTER DATABASE {name} SET log_statement = 'all'", "postgres")
    log = database.directory / "log"
    begin = log.stat().st_size
    server = start_fault_server(url=url)
    client = server.sdk()
    upstream.script(*WEATHER_RULES)
    run = client.beta.threads.runs.create_and_poll(**new_thread(client, [WEATHER]))
    assert run.status == "requires_action"
    client.beta.threads.runs.submit_tool_outputs_and_poll(
        run_id=run.id, thread_id=run.thread_id,
        tool_outputs=[{"tool_call_id": "call_1", "output": "sunny"}])
    made = client.responses.create(model="demo", input="x", background=True, stream=True)
    for _ in client.responses.retrieve(next(iter(made)).response.id, stream=True):
        pass
    upstream.answer(text="a b c", piece_delay_ms=FOREVER)
    run = client.beta.threads.runs.create(**new_thread(client))
    client.beta.threads.runs.cancel(run.id, thread_id=run.thread_id)
    settle(client, run, "cancelled")
    assert server.metric("other_nodes") == 0
    assert server.stop() == 0
    said = log.read_bytes()[begin:].decode(errors="replace")
    assert "INSERT INTO nodes" in said
    assert said.count("LISTEN") == 2
    assert "pg_notify" not in said
