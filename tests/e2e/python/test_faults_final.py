"""F110: a final tool that has spoken does not end the turn: the calls beside it continue wherever the run
is recovered, with their approvals and outputs."""

import httpx2
import pytest

from harness.server import eventually
from harness.tools import WEATHER, asks_for, call
from test_approvals_cover import DOCS, Threads, outside
from test_approvals_runs import asked
from test_faults_tools import FINAL, ONCE, Response, ending, kill_between, shown
from test_permissions import TEST

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

SPEAKS = call("test_final", 5, pieces=["hello ", "world"])


@pytest.mark.feature("F84")
def test_a_covered_call_beside_a_final_one_is_executed(server, upstream, log):
    threads = Threads(server)
    asks_for(upstream, *outside(log, DOCS))
    first = threads.run()
    asks_for(upstream, SPEAKS, *outside(log, DOCS), text="All.")
    second = threads.run()
    threads.decide(first)
    threads.ends(second)
    threads.ends(first)
    assert len(log.lines()) == 2


@pytest.mark.feature("F44")
def test_an_approved_call_beside_a_final_one_is_executed_after_a_crash(start_fault_server, upstream, log):
    server = start_fault_server()
    threads = Threads(server)
    asks_for(upstream, SPEAKS, *outside(log, DOCS), text="All.")
    run = threads.run()
    server.arm("run.write:1:kill")
    try:
        threads.decide(run, approve=True)
    except httpx2.HTTPError:
        pass
    threads.begin_again()
    threads.ends(run)
    assert len(log.lines()) == 1


def test_an_output_submitted_beside_a_final_call_is_sent_after_a_crash(start_fault_server, upstream):
    server = start_fault_server()
    threads = Threads(server, [WEATHER, TEST])
    asks_for(upstream, SPEAKS, call("get_weather", 7, city="Bern"), text="All.")
    run = threads.run()
    server.arm("run.write:1:kill")
    path = f"/v1/threads/{run.thread_id}/runs/{run.id}/submit_tool_outputs"
    try:
        threads.http.post(path, json={"tool_outputs": [
            {"tool_call_id": asked(run)[0].id, "output": "sunny in Bern"}]})
    except httpx2.HTTPError:
        pass
    threads.begin_again()
    threads.ends(run)
    sent = [message["content"] for message in upstream.chats()[-1]["messages"] if message["role"] == "tool"]
    assert "sunny in Bern" in sent


def test_a_call_running_beside_a_final_one_is_not_repeated_by_the_next_server(start_fault_server, upstream, database,
                                                                         log):
    server = start_fault_server(drain_timeout=0.05)
    asks_for(upstream, SPEAKS, call("test_count", 6, path=log.name, ms=60000), text="All.")
    made = Response(server, database)
    eventually(lambda: [item for item in made.get()["output"] if item["type"] == "message"] and log.lines())
    server.stop()
    server.start()
    done = eventually(made.get, lambda run: run["status"] in FINAL, seconds=60)
    assert done["status"] == "completed" and len(log.lines()) == 1


class Next(Response):
    """Continues a response whose call had the same id."""

    def __init__(self, server, before):
        self.server = server
        self.id = server.api().post("/responses", json={
            "model": "demo", "input": "go", "tools": [TEST], "background": True,
            "previous_response_id": before}).json()["id"]


@pytest.mark.feature("F11")
def test_the_end_of_a_final_call_is_not_taken_for_that_of_an_earlier_one(start_fault_server, upstream, database, log):
    server = start_fault_server()
    first = ending(server, upstream, database, log, "error")
    whole = eventually(first.get, lambda run: run["status"] in FINAL, seconds=60)
    log.forget()
    made = ending(server, upstream, database, log, "error", face=lambda server, _: Next(server, first.id), **ONCE)
    kill_between(database, server, made.id)
    done = eventually(made.get, lambda run: run["status"] in FINAL, seconds=60)
    assert shown(done) == shown(whole)
