"""The channel "hold" (F44): a response waits for its approvals with its request open."""

import json
import threading

import pytest

from harness.patience import patience
from harness.recorder import parse_events
from harness.server import eventually
from harness.tools import asks_for, call, then_says
from test_approvals import TEST, answer, calls_of, questions, tool_outputs_in

OPEN = {"type": "mcp", "server_label": "test", "server_url": "builtin:test"}
APPROVALS = "/v1/runnel/approvals"


def hold(**more):
    return {"runnel": {"approval": {"channel": "hold", **more}}}


def pending_of(http):
    return [one for one in http.get(APPROVALS).json()["data"] if one["status"] == "pending"]


def decide(http, id, approve=True, **more):
    shown = http.post(f"{APPROVALS}/{id}", json={"approve": approve, **more})
    assert shown.status_code == 200, shown.text
    return shown.json()


class Asking(threading.Thread):
    """A request that takes as long as its answer."""

    def __init__(self, ask):
        super().__init__()
        self.ask = ask
        self.start()

    def run(self):
        try:
            self.response = self.ask()
        except Exception as error:  # the test that waits for the response sees it
            self.error = error

    def ended(self):
        self.join(60)
        assert not self.is_alive()
        return self.response


@pytest.fixture
def before(http):
    """Questions of other tests."""
    return {one["id"] for one in http.get(f"{APPROVALS}?limit=100").json()["data"]}


@pytest.fixture
def asked(http, before):
    """Those that are open, when there are so many."""
    def asked(count=1):
        return eventually(lambda: [one for one in pending_of(http) if one["id"] not in before],
                          lambda open: len(open) == count)
    return asked


@pytest.fixture
def create(client, upstream, log):
    """A response whose call of test_count has to be answered for, in a thread."""
    def create(tool=TEST, more=None, calls=None, **body):
        asks_for(upstream, *(calls or [call("test_count", path=log.name, text="counted")]))
        return Asking(lambda: client.responses.create(
            model="demo", input="go", tools=[tool], extra_body=more or hold(), **body))
    return create


# ---- The answer comes while it waits ----

@pytest.mark.parametrize("approve", [True, False])
def test_an_answer_continues_the_same_stream(server, http, upstream, log, approve):
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    notices = []
    client = server.sdk(strict=False)  # strict it knows no event but its own
    with client.responses.stream(model="demo", input="go", tools=[TEST], extra_body=hold()) as events:
        for event in events:
            if event.type == "keepalive":
                notices.append(event.runnel)
                (question,) = event.runnel["approval_requests"]
                assert log.lines() == []
                shown = http.get(f"{APPROVALS}/{question['id']}").json()
                assert shown["status"] == "pending" and shown["used_by"] == shown["run_id"]
                decide(http, question["id"], approve, reason="why not")
        done = events.get_final_response()
    (notice,) = notices
    assert notice["event"] == "approval.pending" and notice["expires_at"] > 0
    (question,) = notice["approval_requests"]
    assert question["type"] == "mcp_approval_request" and question["name"] == "test_count"
    assert json.loads(question["arguments"]) == {"path": log.name, "text": "counted"}
    assert question["runnel"]["kind"] == "execution"
    assert done.status == "completed" and not questions(done)
    (called,) = calls_of(done)
    assert called.approval_request_id == question["id"]
    assert log.lines() == (["call_1"] if approve else [])
    if approve:
        assert called.output == "counted" and done.output_text == "Done: counted"
    else:
        assert called.status == "incomplete" and called.runnel["reject_reason"] == "why not"
        assert "why not" in tool_outputs_in(upstream.chats()[-1])["call_1"]
    kept = http.get(f"/v1/responses/{done.id}").json()
    assert [item["type"] for item in kept["output"]] == ["mcp_list_tools", "mcp_call", "message"]


def test_an_answer_arrives_without_polling(start_server, upstream, log):
    """The keeper would look after five minutes."""
    server = start_server(lease_ttl=900)
    asking = ask_of(server, upstream, log)
    decide(server.http(), question_of(server)["id"])
    assert asking.ended()["status"] == "completed" and log.lines() == ["call_1"]


def test_without_a_stream_the_request_stays_open(create, asked, http, client, log):
    asking = create()
    (question,) = asked()
    decide(http, question["id"])
    done = asking.ended()
    assert done.output_text == "Done: counted" and log.lines() == ["call_1"]
    shown = http.get(f"{APPROVALS}/{question['id']}").json()
    assert shown["status"] == "approved" and shown["used_by"] == done.id
    # It is done with: the next one needs no answer, and gives none.
    later = client.responses.create(model="demo", input="and?", previous_response_id=done.id,
                                    tools=[TEST])
    assert later.status == "completed" and log.lines() == ["call_1"]


def test_several_approvals_wait_for_each_other(create, asked, http, log, upstream):
    asking = create(calls=[call("test_slow", 1, text="at once"),
                           call("test_count", 2, path=log.name, text="two"),
                           call("test_count", 3, path=log.name, text="three")],
                    tool={**OPEN, "require_approval": {"always": {"tool_names": ["test_count"]}}})
    first, second = asked(2)
    decide(http, first["id"])
    assert [one["id"] for one in asked(1)] == [second["id"]] and log.lines() == []
    decide(http, second["id"], False, reason="no")
    done = asking.ended()
    assert [one.name for one in calls_of(done)] == ["test_slow", "test_count", "test_count"]
    assert log.lines() == [first["call_id"]]
    received = tool_outputs_in(upstream.chats()[-1])
    assert received["call_1"] == "at once" and "no" in received[second["call_id"]]


@pytest.mark.feature("F39")
def test_a_withheld_result_is_held_as_well(create, asked, http, upstream, log):
    more = hold()
    more["runnel"]["permissions"] = {"test/test_count": {"execution": "ask-always",
                                                         "result": "always"}}
    for approve in (True, False):
        upstream.forget()
        asking = create(tool={**OPEN, "require_approval": "never"}, more=more)
        (execution,) = asked()
        decide(http, execution["id"])
        (result,) = eventually(asked, lambda open: open[0]["kind"] == "result")
        assert result["result"]["output"] == "counted"
        decide(http, result["id"], approve, reason="secret")
        done = asking.ended()
        (called,) = calls_of(done)
        received = tool_outputs_in(upstream.chats()[-1])["call_1"]
        kept = http.get(f"/v1/responses/{done.id}").json()["output"][1]
        assert kept == json.loads(called.to_json())
        if approve:
            assert called.runnel["model_visible"] is True and received.startswith("counted")
        else:
            assert called.runnel["status"] == "result_rejected" and called.output is None
            assert json.loads(received) == {"status": "rejected", "message": "secret"}
    assert log.lines() == ["call_1", "call_1"]


def test_an_answer_to_a_held_request_can_be_remembered(client, asked, http, upstream, log):
    more = hold()
    more["runnel"]["permissions"] = {"test/test_count": {"execution": "ask-once"}}
    again = call("test_count", 2, path=log.name, text="x")
    then_says(upstream, [call("test_count", 1, path=log.name, text="x")], [again], text="Twice.")
    asking = Asking(lambda: client.responses.create(
        model="demo", input="go", tools=[{**OPEN, "require_approval": "never"}], extra_body=more))
    (question,) = asked()
    decide(http, question["id"])
    assert asking.ended().output_text == "Twice."
    assert log.lines() == ["call_1", "call_2"]


def test_in_a_conversation_no_call_is_left_open(client, create, asked, http, upstream, log):
    conversation = client.conversations.create()
    asking = create(conversation=conversation.id)
    (question,) = asked()
    assert question["thread_id"]
    decide(http, question["id"])
    assert asking.ended().status == "completed"
    upstream.script({"answer": {"text": "It was."}})
    later = client.responses.create(model="demo", input="and?", conversation=conversation.id,
                                    tools=[TEST])
    assert later.output_text == "It was." and log.lines() == ["call_1"]


# ---- Without an answer ----

def test_without_an_answer_the_response_suspends(client, create, asked, http, upstream, log):
    done = create(more=hold(hold_timeout_s=1)).ended()
    assert done.status == "completed" and log.lines() == [] and len(upstream.chats()) == 1
    (question,) = questions(done)
    shown = http.get(f"{APPROVALS}/{question.id}").json()
    assert shown["status"] == "pending" and shown["used_by"] is None
    later = client.responses.create(model="demo", previous_response_id=done.id, tools=[TEST],
                                    input=[answer(question)])
    assert later.output_text == "Done: counted" and log.lines() == ["call_1"]
    assert calls_of(later)[0].approval_request_id == question.id


def test_an_approval_answered_in_time_needs_no_second_answer(client, create, asked, http, log):
    asking = create(calls=[call("test_count", n, path=log.name, text=str(n)) for n in (1, 2)],
                    more=hold(hold_timeout_s=3))
    first, second = asked(2)
    decide(http, first["id"])
    done = asking.ended()
    assert sorted(one.id for one in questions(done)) == sorted([first["id"], second["id"]])
    assert log.lines() == []
    (other,) = [one for one in questions(done) if one.id == second["id"]]
    later = client.responses.create(model="demo", previous_response_id=done.id, tools=[TEST],
                                    input=[answer(other, False)])
    assert len(calls_of(later)) == 2 and log.lines() == [first["call_id"]]


def test_the_stream_announces_the_hold_and_its_requests(http, upstream, log):
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    text = http.post("/v1/responses", json={"model": "demo", "input": "go", "tools": [TEST],
                                            "stream": True, **hold(hold_timeout_s=1)}).text
    events = [json.loads(data) for _, data in parse_events(text) if data != "[DONE]"]
    assert [e["type"] for e in events][-4:] == [
        "keepalive", "response.output_item.added", "response.output_item.done",
        "response.completed"]
    assert [e["sequence_number"] for e in events] == list(range(len(events)))
    (announced,) = events[-4]["runnel"]["approval_requests"]
    assert announced == events[-2]["item"]


def test_the_stream_repeats_the_hold_event(start_server, upstream, log):
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    http = start_server(sse_ping_interval=0.2).http()
    text = http.post("/v1/responses", json={"model": "demo", "input": "go", "tools": [TEST],
                                            "stream": True, **hold(hold_timeout_s=2)}).text
    notices = [json.loads(data)["runnel"] for name, data in parse_events(text) if name == "keepalive"]
    assert len(notices) > 2
    (first,) = notices[0]["approval_requests"]
    assert "arguments" in first
    assert all(later["approval_requests"] == [{"id": first["id"]}] for later in notices[1:])
    assert len({notice["expires_at"] for notice in notices}) == 1


def test_a_background_response_suspends_instead(client, upstream, log):
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    made = client.responses.create(model="demo", input="go", tools=[TEST], background=True,
                                   extra_body=hold())
    done = eventually(lambda: client.responses.retrieve(made.id),
                      lambda response: response.status == "completed")
    assert questions(done) and log.lines() == []


def test_a_run_of_a_thread_suspends_instead(server, upstream, log):
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    client = server.sdk(strict=False)
    assistant = client.beta.assistants.create(model="demo", tools=[TEST])
    run = client.beta.threads.create_and_run_poll(
        assistant_id=assistant.id, thread={"messages": [{"role": "user", "content": "go"}]},
        extra_body=hold(), poll_interval_ms=20)
    assert run.status == "requires_action" and log.lines() == []


def test_a_client_that_leaves_withdraws_the_request(http, asked, upstream, log):
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    with http.stream("POST", "/v1/responses", json={"model": "demo", "input": "go", "tools": [TEST],
                                                    "stream": True, **hold()}) as stream:
        next(part for part in stream.iter_text() if "keepalive" in part)
    shown = eventually(lambda: http.get(f"{APPROVALS}?limit=1").json()["data"][0],
                       lambda one: one["status"] == "expired")
    refused = http.post(f"{APPROVALS}/{shown['id']}", json={"approve": True})
    assert refused.status_code == 409
    assert refused.json()["error"]["code"] == "approval_already_decided"
    assert log.lines() == []


def test_the_number_of_holds_is_limited(start_server, upstream, log):
    server = start_server(max_held_per_project=1)
    for _ in range(2):  # the one that has waited makes room
        upstream.forget()
        asking = ask_of(server, upstream, log)
        question = question_of(server)
        upstream.forget()
        other = ask_of(server, upstream, log).ended()
        assert other["status"] == "completed"
        assert other["output"][-1]["type"] == "mcp_approval_request"
        id = other["output"][-1]["id"]
        assert server.http().get(f"{APPROVALS}/{id}").json()["used_by"] is None
        decide(server.http(), id, False)
        decide(server.http(), question["id"])
        assert asking.ended()["status"] == "completed"
    assert log.lines() == ["call_1", "call_1"]


# ---- Bad input ----

@pytest.mark.parametrize("approval, param, code", [
    ({"channel": "held"}, "runnel.approval.channel", "invalid_value"),
    ({"channel": 1}, "runnel.approval.channel", "invalid_type"),
    ({"channel": "hold", "hold_timeout_s": 0}, "runnel.approval.hold_timeout_s",
     "integer_below_min_value"),
    ({"channel": "hold", "hold_timeout_s": 3601}, "runnel.approval.hold_timeout_s",
     "integer_above_max_value"),
    ({"channel": "hold", "hold_timeout_s": 1.5}, "runnel.approval.hold_timeout_s", "invalid_type"),
    ({"channel": "hold", "hold_timeout": 1}, "runnel.approval.hold_timeout", "unknown_parameter"),
])
def test_invalid_hold_settings_are_refused(http, approval, param, code):
    refused = http.post("/v1/responses", json={"model": "demo", "input": "go",
                                               "runnel": {"approval": approval}})
    assert refused.status_code == 400
    error = refused.json()["error"]
    assert (error["param"], error["code"]) == (param, code), error


# ---- Servers that end ----

def ask_of(server, upstream, log, **more):
    asks_for(upstream, call("test_count", path=log.name, text="counted"))
    body = {"model": "demo", "input": "go", "tools": [TEST], **hold(**more)}
    return Asking(lambda: server.http().post("/v1/responses", json=body, timeout=patience(60)).json())


def question_of(server):
    return eventually(lambda: pending_of(server.http()), lambda open: len(open) == 1)[0]


def test_an_answer_may_come_through_another_node(start_fault_server, upstream, log):
    first = start_fault_server()
    second = start_fault_server(url=first.settings["database_url"])
    asking = ask_of(first, upstream, log)
    decide(second.http(), question_of(second)["id"])
    assert asking.ended()["status"] == "completed"
    assert log.lines() == ["call_1"]


def held_outside(server, upstream, log):
    """A response of ada's that holds for a place outside."""
    asks_for(upstream, call("test_outside", path=log.name, paths=["shared:/docs/a"], text="r"))
    body = {"model": "demo", "input": "go", "tools": [OPEN], "user": "ada", **hold()}
    return Asking(lambda: server.http().post("/v1/responses", json=body, timeout=patience(60)).json())


@pytest.mark.feature("F84")
def test_an_answer_reaches_all_responses_that_it_covers(start_fault_server, upstream, log):
    """On this node and on another; the keepers would look after five minutes."""
    first = start_fault_server(lease_ttl=900)
    second = start_fault_server(url=first.settings["database_url"], lease_ttl=900)
    http = second.http()
    asking = [held_outside(server, upstream, log) for server in (first, second)]
    asks_for(upstream, call("test_outside", path=log.name, paths=["shared:/docs/a"], text="r"))
    asked = http.post("/v1/responses", json={"model": "demo", "input": "go", "tools": [OPEN],
                                             "user": "ada"}).json()
    open = eventually(lambda: pending_of(http), lambda open: len(open) == 3)
    assert {one["used_by"] for one in open} == {None} | {
        one["run_id"] for one in open if one["run_id"] != asked["id"]}
    assert log.lines() == []
    decide(http, asked["output"][-1]["id"], remember={"match": "pattern", "scope": "user"})
    for one in asking:
        assert one.ended()["status"] == "completed"
    assert len(log.lines()) == 2  # the third continues with the next request


def test_an_answer_without_a_wake_up_is_found(start_fault_server, upstream, log):
    """The hint to the node that waits gets lost: its next renewal finds the answer."""
    first = start_fault_server()
    second = start_fault_server(url=first.settings["database_url"])
    asking = ask_of(first, upstream, log)
    question = question_of(second)["id"]
    second.arm("wakeups_send:1")
    decide(second.http(), question)
    assert asking.ended()["status"] == "completed"
    assert log.lines() == ["call_1"]


@pytest.mark.feature("F110")
def test_killed_while_it_waits(start_fault_server, upstream, log):
    server = start_fault_server()
    asking = ask_of(server, upstream, log)
    question = question_of(server)
    server.kill()
    asking.join(60)
    server.start()
    http = server.http()
    eventually(lambda: http.get(f"/v1/responses/{question['run_id']}").json(),
               lambda response: response.get("status") == "failed", 40)
    assert http.get(f"{APPROVALS}/{question['id']}").json()["status"] == "expired"
    assert http.post(f"{APPROVALS}/{question['id']}", json={"approve": True}).status_code == 409
    assert log.lines() == []


@pytest.mark.feature("F110")
def test_killed_after_it_has_left_the_request(start_fault_server, upstream, log):
    server = start_fault_server(drain_timeout=30)
    asking = ask_of(server, upstream, log)
    question = question_of(server)
    server.arm("run.write:1:kill")  # of what it ends with
    assert server.stop() < 0
    asking.join(60)
    server.arm()
    server.start()
    http = server.http()
    eventually(lambda: http.get(f"/v1/responses/{question['run_id']}").json(),
               lambda response: response.get("status") == "failed", 40)
    shown = http.get(f"{APPROVALS}/{question['id']}").json()
    assert (shown["status"], shown["used_by"]) == ("expired", None)
    assert http.post(f"{APPROVALS}/{question['id']}", json={"approve": True}).status_code == 409
    assert log.lines() == []


@pytest.mark.feature("F110")
def test_killed_before_the_approved_call_runs(start_fault_server, upstream, log):
    server = start_fault_server()
    asking = ask_of(server, upstream, log)
    question = question_of(server)
    server.arm("tool.before_run:2:kill")  # the first reads what was said
    decide(server.http(), question["id"])
    asking.join(60)
    server.restart()
    http = server.http()
    eventually(lambda: http.get(f"/v1/responses/{question['run_id']}").json(),
               lambda response: response.get("status") == "failed", 40)
    assert decide(http, question["id"])["status"] == "approved"
    assert log.lines() == []


def test_a_server_that_stops_leaves_the_request_pending(start_fault_server, upstream, log):
    server = start_fault_server(drain_timeout=30)
    asking = ask_of(server, upstream, log)
    question_of(server)
    assert server.stop() == 0
    done = asking.ended()
    assert done["status"] == "completed"
    assert done["output"][-1]["type"] == "mcp_approval_request" and log.lines() == []
