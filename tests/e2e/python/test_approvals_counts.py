"""What counts against a limit, and in `runnel.stats`, when a turn waits for answers: each call once."""

import pytest

from harness.server import eventually
from harness.tools import asks_for, call, then_says
from test_approvals import answer, questions
from test_approvals_runs import WEATHER, asked, begin, settled, submit, tool_outputs_in

TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test",
        "require_approval": {"always": {"tool_names": ["test_count", "test_count_idempotent"]}}}
THREE = {"runnel": {"rounds": {"max_calls": 3}}}


def slow(number):
    return call("test_slow", number, ms=0, text=f"t{number}")


def stats_of(server, run):
    shown = server.http().get(f"/v1/threads/{run.thread_id}/runs/{run.id}").json()
    return {key: shown["runnel"]["stats"][key] for key in ("rounds", "calls")}


@pytest.mark.feature("F58", "F63", "F110")
@pytest.mark.parametrize("killed", [None, "waiting", "approved"])
def test_a_call_that_waited_for_an_approval_is_counted_once(start_server, upstream, log, killed):
    """Three calls are allowed, and three run: one beside an approval request, the approved one, and one of
    the next turn."""
    server = start_server(lease_ttl=1)
    ms = 2500 if killed == "approved" else 0
    then_says(upstream, [slow(1), call("test_count_idempotent", 2, path=log.name, ms=ms)],
              [slow(3)], text="Well.")
    run = begin(server.sdk(strict=False), [TEST], extra_body=THREE)
    (question,) = asked(run)
    if killed == "waiting":
        server.kill()
        server.start()
    if killed == "approved":
        server.http().post(f"/v1/threads/{run.thread_id}/runs/{run.id}/submit_tool_outputs", json={
            "tool_outputs": [{"tool_call_id": question.id, "output": "true"}]})
        eventually(log.lines, lambda lines: lines == ["call_2"])
        server.kill()
        server.start()
        run = settled(server.sdk(strict=False), run)
    else:
        run = submit(server.sdk(strict=False), run, {question.id: "true"})
    assert run.status == "completed", run
    assert tool_outputs_in(upstream.chats()[-1])["call_3"] == "t3"
    assert stats_of(server, run) == {"rounds": 2, "calls": 3}


@pytest.mark.feature("F58", "F63")
def test_two_pauses_of_a_turn_are_one_round(server, upstream, log):
    """The approved call's result needs an approval, too, beside a function of the client."""
    client = server.sdk(strict=False)
    permissions = {"test/test_count": {"execution": "ask-always", "result": "always"}}
    then_says(upstream, [slow(1), call("test_count", 2, path=log.name), call("get_weather", 3, city="Bern")],
              [slow(4)], text="Well.")
    run = begin(client, [WEATHER, TEST], extra_body={"runnel": {
        "permissions": permissions, **THREE["runnel"]}})
    weather, question = sorted(asked(run), key=lambda one: one.function.name)
    run = submit(client, run, {weather.id: "sunny", question.id: "true"})
    (question,) = asked(run)
    run = submit(client, run, {question.id: "true"})
    assert run.status == "completed" and tool_outputs_in(upstream.chats()[-1])["call_4"] == "t4"
    assert stats_of(server, run) == {"rounds": 2, "calls": 3}


@pytest.mark.feature("F63")
def test_executed_calls_count_when_a_waiting_run_is_cancelled(server, upstream, log):
    client = server.sdk(strict=False)
    asks_for(upstream, slow(1), call("test_count", 2, path=log.name))
    run = begin(client, [TEST])
    asked(run)
    client.beta.threads.runs.cancel(run.id, thread_id=run.thread_id)
    assert settled(client, run).status == "cancelled"
    assert stats_of(server, run)["calls"] == 1


@pytest.mark.feature("F58", "F63")
def test_a_refused_call_does_not_count(server, upstream, log):
    """Also when the turn waits for another answer after it, in a later residency."""
    client = server.sdk(strict=False)
    permissions = {"test/test_slow": {"result": "always"}}
    then_says(upstream, [call("test_count", 1, path=log.name), slow(2)], [slow(3)], text="Well.")
    run = begin(client, [TEST], extra_body={"runnel": {
        "permissions": permissions, "rounds": {"max_calls": 2}}})
    while run.status == "requires_action":
        run = submit(client, run, {one.id: "false" for one in asked(run)})
    assert run.status == "completed" and log.lines() == []
    assert "max_calls_reached" not in tool_outputs_in(upstream.chats()[-1])["call_3"]
    assert stats_of(server, run) == {"rounds": 2, "calls": 2}


@pytest.mark.feature("F58", "F63")
def test_each_response_counts_the_calls_that_it_executed(server, client, upstream, log):
    """The approval request ends a response, and the answer begins another with its own limits."""
    body = {"model": "demo", "tools": [TEST], "max_tool_calls": 2}
    then_says(upstream, [slow(1), call("test_count", 2, path=log.name, text="counted")], [slow(3)],
              text="Well.")
    first = client.responses.create(input="go", **body)
    second = client.responses.create(input=[answer(*questions(first))],
                                     previous_response_id=first.id, **body)
    outputs = [item.output for item in second.output if item.type == "mcp_call"]
    assert outputs == ["counted", "t3"] and log.lines() == ["call_2"]
    for response, counted in ((first, (1, 1)), (second, (2, 2))):
        stats = server.http().get(f"/v1/responses/{response.id}").json()["runnel"]["stats"]
        assert (stats["rounds"], stats["calls"]) == counted


@pytest.mark.feature("F58", "F63", "F110")
def test_a_response_counts_an_approved_call_once(start_server, upstream, log):
    server = start_server(lease_ttl=1)
    body = {"model": "demo", "tools": [TEST], "max_tool_calls": 2}
    then_says(upstream, [call("test_count_idempotent", 1, path=log.name, ms=2500)], [slow(2)], text="Well.")
    client = server.sdk(strict=False)
    first = client.responses.create(input="go", **body)
    second = client.responses.create(input=[answer(*questions(first))], background=True,
                                     previous_response_id=first.id, **body)
    eventually(log.lines, lambda lines: lines == ["call_1"])
    server.kill()
    server.start()
    path = f"/v1/responses/{second.id}"
    done = eventually(lambda: server.http().get(path).json(),
                      lambda shown: shown["status"] not in ("queued", "in_progress"), seconds=40)
    assert done["status"] == "completed", done
    assert tool_outputs_in(upstream.chats()[-1])["call_2"] == "t2"
    assert (done["runnel"]["stats"]["rounds"], done["runnel"]["stats"]["calls"]) == (2, 2)
