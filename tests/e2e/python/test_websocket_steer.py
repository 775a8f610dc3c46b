"""More input for a response that runs: accepted, and then followed by a response, or given back."""

import json

import pytest

from harness.server import eventually
from harness.tools import WEATHER_FLAT, WEATHER_RULES, call
from harness.websocket import WebSocket, text_of
from test_responses import texts_of

TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test",
        "require_approval": "never"}
SLOW = {"text": ["a", "b", "c", "d"], "piece_delay_ms": 150}


@pytest.fixture
def ws(server):
    with WebSocket(server) as ws:
        yield ws


def begin(ws, **body):
    """The id of a response that has begun to say something."""
    ws.create(input="Hi", **body)
    return ws.until("response.in_progress")[0]["response"]["id"]


def steer(ws, target, text="More", **more):
    ws.send({"type": "response.steer", "previous_response_id": target, "input": text, **more})


def numbers(events):
    return [event["sequence_number"] for event in events]


@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize("lane", [None, "a"])
@pytest.mark.threads
def test_steering_starts_the_next_response_by_itself(ws, upstream, store, lane):
    upstream.answer(**SLOW)
    named = {"stream_id": lane} if lane else {}
    first = begin(ws, store=store, instructions="Be brief.", metadata={"a": "1"}, **named)
    ws.create(input="Later", **named)
    for text in ("one", [{"type": "message", "role": "user", "content": "two"}]):
        steer(ws, first, text)
    events = ws.response()
    accepted = [event for event in events if event["type"] == "response.steer.accepted"]
    assert [event["steer"]["previous_response_id"] for event in accepted] == [first, first]
    assert len({event["steer"]["id"] for event in accepted}) == 2
    assert numbers(events) == list(range(2, 2 + len(events)))
    assert events[-1]["response"]["id"] == first and text_of(events[-1]["response"]) == "abcd"

    events = ws.response()
    follower = events[-1]["response"]
    assert events[0]["type"] == "response.created" and numbers(events) == list(range(len(events)))
    assert all(event.get("stream_id") == lane for event in events)
    assert follower["previous_response_id"] == first and follower["store"] is store
    assert follower["instructions"] == "Be brief."
    assert texts_of(upstream.chats()[1]) == [("system", "Be brief."), ("user", "Hi"),
                                             ("assistant", "abcd"), ("user", "one"),
                                             ("user", "two")]
    last = ws.response()[-1]["response"]
    assert last["previous_response_id"] is None and last["instructions"] is None


def test_a_steered_response_ends_at_its_next_turn(ws, upstream):
    upstream.script({"match": {"user": "stop"}, "answer": {"text": "Stopped."}},
                    {"match": {"tool_results": True}, "answer": {"text": "Never said."}},
                    {"answer": {"tool_calls": [call("test_slow", ms=700, text="done")]}})
    first = begin(ws, tools=[TEST])
    steer(ws, first, "stop")
    events = ws.response()
    assert events[-1]["type"] == "response.incomplete"
    assert events[-1]["response"]["incomplete_details"] == {"reason": "steered"}
    assert [item["type"] for item in events[-1]["response"]["output"]] == ["mcp_list_tools",
                                                                          "mcp_call"]
    follower = ws.response()[-1]["response"]
    assert text_of(follower) == "Stopped." and follower["previous_response_id"] == first
    received = upstream.chats()[-1]["messages"]
    roles = [message["role"] for message in received]
    assert roles == ["system", "user", "assistant", "tool", "user"]
    assert received[-1]["content"] == "stop" and len(upstream.chats()) == 2


def pending(ws, upstream, **named):
    """A response that waits for its client, which was steered before: (id, the pending events)."""
    upstream.script(WEATHER_RULES[0], {"answer": {**WEATHER_RULES[1]["answer"], "delay_ms": 500}})
    first = begin(ws, tools=[WEATHER_FLAT], **named)
    steer(ws, first, "one")
    steer(ws, first, "two")
    events = ws.until("response.completed")
    events += [ws.next(), ws.next()]
    assert numbers(events) == list(range(2, 2 + len(events)))
    return first, events[-2:]


@pytest.mark.parametrize("lane", [None, "a"])
def test_steering_input_waits_for_the_clients_calls(ws, upstream, lane):
    named = {"stream_id": lane} if lane else {}
    first, events = pending(ws, upstream, **named)
    for event in events:
        assert event["type"] == "response.steer.pending" and event.get("stream_id") == lane
        assert event["reason"] == "waiting_for_required_input"
        assert event["required_input"] == [{"type": "function_call_output", "call_id": "call_1",
                                            "name": "get_weather"}]
    ws.create(input="And?", previous_response_id=first, **named)
    assert ws.error()["error"]["message"] == "No tool output found for function call call_1."
    upstream.answer(text="Well.")
    output = {**events[0]["required_input"][0], "output": "sunny"}
    ws.ask(input="Elsewhere", stream_id="other")
    assert texts_of(upstream.chats()[-1]) == [("user", "Elsewhere")]
    said = ws.ask(input=[output], previous_response_id=first, **named)
    assert text_of(said) == "Well."
    received = upstream.chats()[-1]["messages"]
    assert [message["role"] for message in received] == ["user", "assistant", "tool", "user", "user"]
    assert [message["content"] for message in received[-3:]] == ["sunny", "one", "two"]


def test_steering_input_waits_for_an_approval(ws, upstream):
    """It is asked for by the id of its question, which the answer has to name."""
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Well."}},
                    {"answer": {"tool_calls": [call("test_slow", 1, text="fact")], "delay_ms": 500}})
    first = begin(ws, tools=[{**TEST, "require_approval": "always"}])
    steer(ws, first, "one")
    events = ws.until("response.steer.pending")
    (question,) = (i for e in events if e["type"] == "response.completed" for i in e["response"]["output"]
                   if i["type"] == "mcp_approval_request")
    (required,) = events[-1]["required_input"]
    assert required == {"type": "mcp_approval_response", "approval_request_id": question["id"]}
    said = ws.ask(input=[{**required, "approve": True}], previous_response_id=first,
                  tools=[{**TEST, "require_approval": "always"}])
    assert text_of(said) == "Well."


def failed(ws):
    event = ws.until("response.steer.failed")[-1]
    return event["error"]["code"], event["steer"]


REFUSED = [
    "",
    [],
    [{"type": "message", "role": "assistant", "content": "x"}],
    [{"type": "message", "role": "user", "content": "x", "id": "msg_x"}],
    [{"type": "message", "role": "user", "content": [{"type": "output_text", "text": "x"}]}],
    [{"type": "message", "role": "user", "content": [{"type": "input_text"}]}],
    [{"type": "message", "role": "user"}],
    [{"type": "function_call_output", "call_id": "call_1", "output": "x"}],
    ["x"],
    [None],
]


def test_invalid_steering_input_is_given_back(ws, upstream):
    upstream.answer(text=["a", "b"], piece_delay_ms=3600000)
    first = begin(ws)
    for value in REFUSED:
        steer(ws, first, value)
        assert failed(ws) == ("invalid_input", {"previous_response_id": first, "input": value})
    steer(ws, first, "x", stream_id="a")
    assert failed(ws)[0] == "invalid_input"
    steer(ws, "resp_nobody", "x")
    assert failed(ws) == ("response_not_found", {"previous_response_id": "resp_nobody",
                                                 "input": "x"})
    for _ in range(16):
        steer(ws, first, "x")
    steer(ws, first, "too much")
    assert failed(ws) == ("too_many_pending_steers", {"previous_response_id": first,
                                                      "input": "too much"})
    steer(ws, first, "x" * 1100000)
    assert failed(ws)[0] == "too_many_pending_steers"


def test_late_steering_input_is_given_back(ws, upstream, client):
    done = ws.ask(input="Hi", stream_id="a")["id"]
    for number in (0, 1):
        steer(ws, done, "x")
        event = ws.until("response.steer.failed")[-1]
        assert event["error"]["code"] == "response_already_completed"
        assert event["stream_id"] == "a" and event["sequence_number"] == 12 + number
    elsewhere = client.responses.create(model="demo", input="Hi").id
    steer(ws, elsewhere, "x")
    assert failed(ws)[0] == "response_not_found"


def test_a_response_whose_context_is_not_its_own_is_not_steered(ws, upstream, client):
    upstream.answer(**SLOW)
    for more in ({"conversation": client.conversations.create().id},
                 {"context_management": [{"type": "compaction", "compact_threshold": 100000}]}):
        first = begin(ws, **more)
        steer(ws, first, "x")
        assert failed(ws)[0] == "steering_not_supported"
        assert ws.response()[-1]["type"] == "response.completed"


def test_a_response_that_fails_gives_its_input_back(ws, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "x"}},
                    {"answer": {"text": ["a", "b", "c"], "piece_delay_ms": 200,
                                "fault": {"kind": "cut", "after": 2}}})
    first = begin(ws)
    steer(ws, first, "More")
    events = ws.until("response.steer.failed")
    assert events[-2]["type"] == "response.failed"
    accepted = next(event for event in events if event["type"] == "response.steer.accepted")
    assert events[-1]["error"]["code"] == "response_not_active"
    assert events[-1]["steer"] == {"id": accepted["steer"]["id"], "previous_response_id": first,
                                   "input": "More"}
    assert numbers(events) == list(range(2, 2 + len(events)))


def test_a_response_that_cannot_follow_gives_the_input_back(start_server, upstream):
    """Its parent is not stored, and there is no room to remember it."""
    upstream.answer(**SLOW)
    with WebSocket(start_server(websocket_memory=0)) as ws:
        first = begin(ws, store=False)
        steer(ws, first, "More")
        assert ws.response()[-1]["type"] == "response.completed"
        code, given = failed(ws)
        assert code == "successor_creation_failed" and given["input"] == "More"
        ws.ask(input="Hi")


def test_a_client_that_leaves_withdraws_its_accepted_input(server, upstream):
    upstream.answer(**SLOW)
    with WebSocket(server) as ws:
        first = begin(ws)
        steer(ws, first, "More")
        ws.until("response.steer.accepted")
    eventually(lambda: [request["state"] for request in upstream.requests()], lambda states: states == ["client_left"])
    assert len(upstream.chats()) == 1
    assert json.dumps(upstream.chats()).count("More") == 0
