"""Always (F84), and pending requests elsewhere: those of runs of threads and of responses that hold are
answered with it, and these continue by themselves."""

import json
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from harness.server import eventually
from harness.tools import WEATHER, asks_for, call
from test_approvals import questions
from test_approvals_runs import asked, settled, submit
from test_permissions import TEST, always

APPROVALS = "/v1/runnel/approvals"
ALWAYS = {"approve": True, "remember": {"match": "pattern", "scope": "assistant"}}
DOCS, MORE = ["shared:/docs/a.txt"], ["shared:/more/a.txt"]


def outside(log, *lists):
    return [call("test_outside", i, path=log.name, paths=paths, text="r")
            for i, paths in enumerate(lists)]


class Threads:
    """Runs of one assistant, each in a thread of its own."""

    def __init__(self, server, tools=(TEST,), **more):
        self.server = server
        self.client = server.sdk(strict=False)
        self.http = server.http()
        self.assistant = self.client.beta.assistants.create(model="demo", tools=list(tools), **more).id

    def begin_again(self):
        """After a kill, with clients that know where the server is."""
        eventually(self.server.has_fired)
        self.server.restart()
        self.http, self.client = self.server.http(), self.server.sdk(strict=False)

    def run(self, **more):
        run = self.client.beta.threads.create_and_run(
            assistant_id=self.assistant,
            thread={"messages": [{"role": "user", "content": "go"}]}, **more)
        return settled(self.client, run)

    def now(self, run):
        return self.client.beta.threads.runs.retrieve(run.id, thread_id=run.thread_id)

    def ends(self, run):
        """Waits for its end, without another request."""
        return eventually(lambda: self.now(run), lambda r: r.status == "completed", 40)

    def decide(self, run, n=0, **answer):
        shown = self.http.post(f"{APPROVALS}/{asked(run)[n].id}", json=answer or ALWAYS)
        assert shown.status_code == 200, shown.text
        return shown.json()

    def shown(self, question):
        return self.http.get(f"{APPROVALS}/{question.id}").json()

    def end(self, *runs):
        for run in runs:
            self.client.beta.threads.runs.cancel(run.id, thread_id=run.thread_id)


@pytest.fixture
def threads(server):
    return Threads(server)


# ---- Runs of threads ----

@pytest.mark.parametrize("by_rest", [True, False], ids=["rest", "submitted"])
def test_always_answers_pending_requests_of_other_runs(server, threads, upstream, log, by_rest):
    asks_for(upstream, *outside(log, DOCS))
    first, second, third = (threads.run() for _ in range(3))
    strange = Threads(server)
    others = [strange.run()]
    asks_for(upstream, *outside(log, MORE))
    others.append(threads.run())
    asks_for(upstream, *outside(log, DOCS + MORE))
    others.append(threads.run())
    (question,) = asked(second)
    if by_rest:
        threads.decide(first)
    else:
        submit(threads.client, first, {asked(first)[0].id: json.dumps(ALWAYS)})
    for run in (first, second, third):
        assert threads.ends(run).required_action is None
    assert len(log.lines()) == 3
    shown = threads.shown(question)
    assert (shown["status"], shown["used_by"], shown["reason"]) == ("approved", second.id, None)
    assert shown["decided_at"]
    for approve, status in ((True, 200), (False, 409)):  # it was decided, once
        again = threads.http.post(f"{APPROVALS}/{question.id}", json={"approve": approve})
        assert again.status_code == status
    for run in others:
        assert asked(threads.now(run)) == asked(run)
        assert threads.shown(asked(run)[0])["status"] == "pending"
    threads.end(*others[1:])
    strange.end(others[0])


def test_a_run_with_other_open_calls_keeps_waiting(server, upstream, log):
    threads = Threads(server, [WEATHER, TEST])
    asks_for(upstream, *outside(log, DOCS, MORE), call("get_weather", 7, city="Bern"), text="All.")
    waits = threads.run()
    asks_for(upstream, *outside(log, DOCS))
    first = threads.run()
    weather, covered, more = asked(waits)
    asks_for(upstream, text="All.")
    threads.decide(first)
    threads.ends(first)
    assert len(log.lines()) == 1
    left = threads.now(waits)
    assert [one.to_dict() for one in asked(left)] == [weather.to_dict(), more.to_dict()]
    assert left.required_action.type == "submit_tool_outputs"
    assert threads.shown(covered)["status"] == "approved"
    # It may be said again with the others, as after any answer through the list.
    done = submit(threads.client, left, {weather.id: "sunny", more.id: "false", covered.id: "true"})
    assert done.status == "completed" and len(log.lines()) == 2


def test_always_answers_the_other_requests_of_the_same_run(threads, upstream, log):
    asks_for(upstream, *outside(log, DOCS, MORE, ["shared:/docs/b.txt"]), text="All.")
    run = threads.run()
    docs, more, _ = asked(run)
    threads.decide(run)
    left = threads.now(run)
    assert [one.id for one in asked(left)] == [more.id] and log.lines() == []
    threads.decide(left, approve=False)
    threads.ends(run)
    assert sorted(log.lines()) == ["call_0", "call_2"]
    # With what is allowed now nothing is left to ask; another place is.
    asks_for(upstream, *outside(log, ["shared:/a/1"], ["shared:/a/2"]), text="All.")
    run = threads.run()
    threads.decide(run)
    threads.ends(run)
    assert len(log.lines()) == 4


def test_a_grant_made_afterwards_lets_the_same_run_continue(threads, upstream, log):
    """The request itself was answered before, without a grant."""
    asks_for(upstream, *outside(log, DOCS, ["shared:/docs/b.txt"]), text="All.")
    run = threads.run()
    first = asked(run)[0]
    threads.decide(run, approve=True)
    assert len(asked(threads.now(run))) == 1
    threads.http.post(f"{APPROVALS}/{first.id}", json=ALWAYS).raise_for_status()
    threads.ends(run)
    assert sorted(log.lines()) == ["call_0", "call_1"]


def test_always_does_not_answer_a_request_of_a_stricter_policy(server, upstream, log):
    threads = Threads(server, [{**TEST, "require_approval": "always"}])
    asks_for(upstream, *outside(log, DOCS))
    first, second = threads.run(), threads.run()
    threads.decide(first)
    threads.ends(first)
    assert asked(threads.now(second)) == asked(second) and len(log.lines()) == 1
    threads.end(second)


@pytest.mark.feature("F46")
def test_always_does_not_wake_a_run_that_was_cancelled(threads, upstream, log):
    asks_for(upstream, *outside(log, DOCS))
    first, second = threads.run(), threads.run()
    (question,) = asked(second)
    threads.end(second)
    settled(threads.client, second)
    threads.decide(first)
    threads.ends(first)
    assert threads.shown(question)["status"] == "expired"
    assert threads.now(second).status == "cancelled" and len(log.lines()) == 1


@pytest.mark.parametrize("by_rest", [True, False], ids=["rest", "response"])
def test_a_response_that_holds_and_a_run_cover_each_other(server, threads, upstream, log, by_rest):
    user = f"pat-{by_rest}"
    asks_for(upstream, *outside(log, DOCS))
    run = threads.run(extra_body={"user": user})
    client = server.sdk()
    body = {"model": "demo", "tools": [TEST], "user": user}
    response = client.responses.create(input="go", **body)
    (question,) = questions(response)
    if by_rest:
        threads.decide(run, approve=True, remember={"scope": "user"})
        assert threads.shown(question)["status"] == "approved"
        client.responses.create(input=[], previous_response_id=response.id, **body)
    else:
        client.responses.create(input=[always(question, scope="user")],
                                previous_response_id=response.id, **body)
    threads.ends(run)
    assert len(log.lines()) == 2


def test_runs_that_cover_each_other_continue_once(threads, upstream, log):
    asks_for(upstream, *outside(log, DOCS))
    runs = [threads.run() for _ in range(6)]
    with ThreadPoolExecutor(len(runs)) as pool:
        list(pool.map(threads.decide, runs))
    for run in runs:
        threads.ends(run)
    assert len(log.lines()) == len(runs)


def test_a_covered_run_continues_at_once(start_server, upstream, log):
    """The keeper would look for it after a minute."""
    threads = Threads(start_server(lease_ttl=900))
    asks_for(upstream, *outside(log, DOCS))
    first, second = threads.run(), threads.run()
    threads.decide(first)
    eventually(lambda: threads.now(second).status, lambda status: status == "completed", 30)
    assert len(log.lines()) == 2


# ---- At once ----

@pytest.mark.parametrize("fault", [None, "cover.check:1", "cover.check:1:kill"])
def test_a_grant_stored_before_a_request_answers_it(start_fault_server, database, upstream, log, fault):
    """Another response gets the grant, after this run has looked for grants. If the check fails, or its server dies,
    a keeper makes up for it."""
    server = start_fault_server()
    threads, url = Threads(server), server.settings["database_url"]
    asks_for(upstream, *outside(log, DOCS))
    first = threads.run()
    threads.decide(first)
    threads.ends(first)
    database.ask("CREATE TABLE kept AS SELECT * FROM approval_grants; DELETE FROM approval_grants;"
                 "CREATE FUNCTION allow() RETURNS trigger LANGUAGE plpgsql AS"
                 " 'BEGIN INSERT INTO approval_grants SELECT * FROM kept ON CONFLICT DO NOTHING;"
                 "  RETURN NEW; END';"
                 "CREATE TRIGGER allow BEFORE INSERT ON approvals FOR EACH ROW EXECUTE FUNCTION allow()",
                 url=url)
    server.arm(fault or "")
    run = threads.client.beta.threads.create_and_run(
        assistant_id=threads.assistant, thread={"messages": [{"role": "user", "content": "go"}]})
    if fault:
        eventually(server.has_fired)
    if fault and "kill" in fault:
        threads.begin_again()
    threads.ends(run)
    (question, _) = threads.http.get(APPROVALS).json()["data"]
    assert (question["run_id"], question["status"]) == (run.id, "approved")
    assert len(log.lines()) == 2


def test_a_request_that_comes_while_the_grant_is_stored_is_answered(start_fault_server, database, upstream,
                                                                         log):
    """Neither transaction sees the other: the request is not stored when the grant looks for requests, and
    the grant is not committed when the request is stored. Neither waits for the other."""
    server = start_fault_server()
    threads, url = Threads(server), server.settings["database_url"]
    asks_for(upstream, *outside(log, DOCS))
    first = threads.run()
    elsewhere = start_fault_server(url, store_writers=1).sdk(strict=False)
    database.ask("CREATE FUNCTION waits() RETURNS trigger LANGUAGE plpgsql AS"
                 " 'BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END';"
                 "CREATE CONSTRAINT TRIGGER waits AFTER INSERT ON approval_grants"
                 " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION waits()", url=url)

    def waiting():
        return database.ask(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted", url=url)
    with ThreadPoolExecutor(1) as pool, database.holding(7, url):
        decided = pool.submit(threads.decide, first)
        eventually(waiting, lambda rows: rows == [["1"]])
        second = elsewhere.beta.threads.create_and_run_poll(
            assistant_id=threads.assistant, thread={"messages": [{"role": "user", "content": "go"}]},
            poll_interval_ms=20)
        assert second.status == "requires_action"
        assert [row[0] for row in database.ask("SELECT status FROM approvals ORDER BY id", url=url)] == [
            "pending", "pending"]
        upstream.answer(text="Meanwhile.")
        assert elsewhere.responses.create(model="demo", input="Hi").output_text == "Meanwhile."
        assert waiting() == [["1"]]
        asks_for(upstream, *outside(log, DOCS))
    decided.result()
    threads.ends(first)
    threads.ends(second)
    assert len(log.lines()) == 2


# ---- Servers that end ----

@pytest.mark.feature("F110")
@pytest.mark.parametrize("point", ["cover_find", "cover_lock_runs", "approvals_cover", "cover_answer_calls",
                                   "cover_queue_runs", "runs_require_rest"])
def test_killed_while_the_grant_is_stored(start_fault_server, upstream, log, point):
    """All of it, or nothing."""
    server = start_fault_server()
    threads = Threads(server)
    asks_for(upstream, *outside(log, DOCS))
    first, second = threads.run(), threads.run()
    server.arm(f"{point}:1:kill")
    with pytest.raises(httpx2.HTTPError):
        threads.decide(first)
    threads.begin_again()
    assert threads.http.get("/v1/runnel/approval_grants").json()["data"] == []
    for run in (first, second):
        assert asked(threads.now(run)) == asked(run)
        assert threads.shown(asked(run)[0])["status"] == "pending"
    threads.decide(first)
    threads.ends(first)
    threads.ends(second)
    assert len(log.lines()) == 2


@pytest.mark.feature("F110")
def test_killed_before_the_covered_run_continues(start_fault_server, upstream, log):
    server = start_fault_server()
    threads = Threads(server)
    asks_for(upstream, *outside(log, DOCS))
    first = threads.run()
    asks_for(upstream, call("test_outside", 7, path=log.name, paths=DOCS, text="r"))
    second = threads.run()
    server.arm("claim_run:1:kill")
    try:
        threads.decide(first)
    except httpx2.HTTPError:
        pass  # it may not live to say so
    threads.begin_again()
    assert threads.shown(asked(second)[0])["status"] == "approved"
    threads.ends(first)
    threads.ends(second)
    assert log.lines().count("call_7") == 1


@pytest.mark.feature("F110")
def test_the_databases_reply_to_the_commit_gets_lost(start_fault_server, upstream, log):
    """At COMMIT: the outcome is looked up, and the covered run is still woken."""
    server = start_fault_server(lease_ttl=900)
    threads = Threads(server)
    asks_for(upstream, *outside(log, DOCS))
    first, second = threads.run(), threads.run()
    server.arm("store.commit_unanswered:1")
    threads.decide(first)
    assert server.has_fired()
    threads.ends(first)
    eventually(lambda: threads.now(second).status, lambda status: status == "completed", 30)
    assert len(log.lines()) == 2
