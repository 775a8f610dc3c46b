"""Orders that are possible, but rare: a thread of the server is held at a fault point while others overtake
it."""

import json
import re
import threading

import pytest

from harness import shapes
from harness.faults import Log, listen, whole_frames
from harness.server import eventually
from harness.tools import asks_for, call

pytestmark = [pytest.mark.slow, pytest.mark.threads]

# How many writes a run makes depends on how fast the machine is: until the one is found.
VISITS = 4 * list(range(1, 9))


def status_of(database, url, run_id):
    return database.ask(f"SELECT status FROM runs WHERE id = '{run_id}'", url=url)[0][0]


def held_waits(server, upstream, database, tmp_path):
    """A run whose loop does not know yet that it waits, once for each visit: (client, whether the database says that
    it does). Ends with the one that does."""
    url, process = server.settings["database_url"], server.process
    overtook = False
    for visit in VISITS:
        server.arm()
        client = shapes.Client(server, upstream, tmp_path)
        server.arm(f"writer.result:{visit}:hold")
        client.run = client.insist("POST", client.base, {"assistant_id": client.assistant})
        eventually(lambda client=client: server.has_fired() or status_of(
            database, url, client.run["id"]) == "requires_action")
        overtook = server.has_fired() and status_of(database, url, client.run["id"]) == "requires_action"
        yield client, overtook
        Log(database, url, client.run["id"])
        if overtook:
            break
    assert overtook and server.process is process and server.ended() is None
    server.forgets_its_runs()


def test_a_submission_may_overtake_the_requires_action_event(fault_server, upstream, database, tmp_path):
    """The client reads that its run waits; the loop does not know yet that the write is committed."""
    for client, waits in held_waits(fault_server, upstream, database, tmp_path):
        if waits:
            client.answer_calls()
        fault_server.arm()
        client.walk()
        shapes.check_database(database, fault_server.settings["database_url"], client.run["id"])
        assert client.run["status"] == "completed"


def test_a_cancel_may_overtake_the_requires_action_event(fault_server, upstream, database,
                                                         tmp_path):
    for client, _ in held_waits(fault_server, upstream, database, tmp_path):
        client.insist("POST", f"{client.base}/{client.run['id']}/cancel")
        fault_server.arm()
        assert client.settle("cancelled", "completed") == "cancelled"
        shapes.check_database(database, fault_server.settings["database_url"])


def test_a_cancel_that_overtakes_a_pause_leaves_no_trace_of_it(fault_server, upstream, database,
                                                              tmp_path):
    """The run has decided to wait for its client, and the cancel is stored before that is."""
    url = fault_server.settings["database_url"]
    whole = False
    for visit in VISITS:
        fault_server.arm()
        client = shapes.Client(fault_server, upstream, tmp_path)
        fault_server.arm(f"writer.send:{visit}:hold")
        received = []
        follower = threading.Thread(target=lambda client=client: received.append(listen(
            fault_server.api(), *client.beginning())))
        follower.start()
        eventually(lambda follower=follower: fault_server.has_fired() or not follower.is_alive())
        client.run = client.find()
        in_time = client.run["status"] in ("queued", "in_progress")
        if fault_server.has_fired():
            eventually(upstream.requests, lambda asked: asked and asked[-1]["state"] == "answered")
        client.insist("POST", f"{client.base}/{client.run['id']}/cancel")
        fault_server.arm()
        follower.join(30)
        assert client.settle("cancelled") == "cancelled"
        shapes.check_database(database, url)
        log = Log(database, url, client.run["id"])
        assert log.names()[-1] == "thread.run.cancelled"
        assert log.names().count("thread.run.requires_action") == (0 if in_time else 1)
        (_, text, broken), = received
        assert not broken and text.endswith("event: done\ndata: [DONE]\n\n"), text[-500:]
        if not in_time:
            break
        assert whole_frames(text) == [frame for frame in log.text.split("\n\n") if frame]
        whole |= '\\"city\\":\\"Paris\\"}' in log.text
    assert whole and fault_server.ended() is None
    fault_server.forgets_its_runs()


def test_a_released_lease_is_not_taken_for_lost(start_fault_server, upstream, database,
                                                           tmp_path):
    """The heartbeat finds no lease, because the run has ended: its stream ends as it should."""
    server = start_fault_server(lease_ttl=0.5)
    url = server.settings["database_url"]

    def last_heartbeat():
        rows = database.ask("SELECT max(seen_at) FROM nodes", url=url)
        return int(rows[0][0] or 0)

    for visit in VISITS:
        server.arm()
        run = shapes.Text(server, upstream, tmp_path)
        server.arm(f"writer.result:{visit}:hold")
        received = []
        follower = threading.Thread(target=lambda run=run: received.append(listen(
            server.api(), run.base, {"assistant_id": run.assistant})))
        follower.start()
        eventually(lambda follower=follower: server.has_fired() or not follower.is_alive())
        (status,), = database.ask(
            f"SELECT status FROM runs WHERE thread_id = '{run.thread}'", url=url)
        for _ in range(2 if server.has_fired() and follower.is_alive() else 0):
            before = last_heartbeat()
            eventually(last_heartbeat, lambda seen, before=before: seen > before)
        server.arm()
        follower.join(30)
        (_, text, broken), = received
        assert not broken and text.endswith("event: done\ndata: [DONE]\n\n"), text[-500:]
        assert "event: thread.run.completed" in text
        if status == "completed" and server.has_fired():
            return
    raise AssertionError("the end was never reached")


@pytest.mark.feature("F44", "F46")
@pytest.mark.parametrize("approve", [True, False])
def test_an_approval_is_decided_when_its_answer_is_stored(fault_server, upstream, log, approve):
    """It is decided before the run continues with it, and after a crash; and `remember` holds."""
    api = fault_server.api()
    asks_for(upstream, call("test_count", path=log.name, text="counted"), text="Well.")
    assistant = api.post("/assistants", json={"model": "demo"}).json()["id"]
    run = api.post("/threads/runs", json={
        "assistant_id": assistant, "thread": {"messages": [{"role": "user", "content": "go"}]},
        "tools": [{"type": "mcp", "server_label": "test", "server_url": "builtin:test"}],
        "runnel": {"permissions": {"test": {"permissionLevel": "moderate"}}}}).json()
    path = f"/threads/{run['thread_id']}/runs/{run['id']}"
    run = eventually(lambda: api.get(path).json(), lambda r: r["status"] == "requires_action")
    (question,) = run["required_action"]["submit_tool_outputs"]["tool_calls"]
    fault_server.arm("run.write:1:hold")
    said = json.dumps({"approve": approve, "reason": "as I say"})
    assert api.post(f"{path}/submit_tool_outputs", json={
        "tool_outputs": [{"tool_call_id": question["id"], "output": said}]}).status_code == 200
    eventually(fault_server.has_fired)

    def check(api):
        shown = api.get(f"/runnel/approvals/{question['id']}").json()
        assert shown["status"] == ("approved" if approve else "rejected"), shown
        assert shown["used_by"] == run["id"] and shown["reason"] == "as I say"
        (grant,) = api.get(f"/runnel/approval_grants?scope_id={run['thread_id']}").json()["data"]
        assert grant["approve"] is approve and grant["approval_id"] == question["id"]
    check(api)
    assert log.lines() == []
    fault_server.kill()
    fault_server.arm()
    fault_server.start()
    api = fault_server.api()
    check(api)
    eventually(lambda: api.get(path).json(), lambda r: r["status"] == "completed", seconds=40)
    assert log.lines() == (["call_1"] if approve else [])
    check(api)


@pytest.mark.feature("F44")
def test_an_approval_may_overtake_the_end_of_the_stream_that_requests_it(fault_server, upstream, log):
    """A streamed approval request can be answered: the response is stored, its conversation free."""
    api = fault_server.api()
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    conversation = api.post("/conversations", json={}).json()["id"]
    body = {"model": "demo", "conversation": conversation, "tools": [
        {"type": "mcp", "server_label": "test", "server_url": "builtin:test", "require_approval": "always"}]}
    sent = ""
    with fault_server.http().stream("POST", "/v1/responses", json={
            **body, "input": "go", "stream": True}) as stream:
        parts = stream.iter_text()
        while not re.search(r'"type":"response.output_item.added".*"mcpr_\w+"', sent):
            sent += next(parts)
        given = {"type": "mcp_approval_response", "approve": True,
                 "approval_request_id": re.search(r'"(mcpr_\w+)"', sent)[1]}
        done = api.post("/responses", json={**body, "input": [given]})
        assert done.status_code == 200, done.text
        for part in parts:
            sent += part
    assert "response.completed" in sent and log.lines() == ["call_1"]
    assert [i["output"] for i in done.json()["output"] if i["type"] == "mcp_call"] == ["counted"]
    wrong = api.post("/responses", json={**body, "input": [{**given, "approval_request_id": "mcpr_1"}]})
    assert wrong.status_code == 400 and "No approval request found" in wrong.text
