"""A hosted tool brings its item, its events and its run step with it: the tool test_weather (tests/support/handlers)
makes items of a type that nothing else in the server knows. Its schemas, test_weather.yaml beside it, are part of the
contract of these tests, so every answer is checked as that of a released tool is."""

import json

import pytest

from harness.recorder import parse_events
from harness.tools import call

TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test", "require_approval": "never",
        "allowed_tools": ["test_weather"]}
KIND = "response.weather_call"
CALL = {"place": "Paris", "pieces": ["Rain, ", "then sun."]}


@pytest.fixture
def forecast(upstream):
    """The model calls the tool with these arguments, then answers."""
    def forecast(**arguments):
        upstream.script({"match": {"tool_results": True}, "answer": {"text": "Take an umbrella."}},
                        {"answer": {"tool_calls": [call("test_weather", **arguments)]}})
    return forecast


def events_of_kind(events):
    return [{key: value for key, value in event.items() if key not in ("sequence_number", "output_index")}
            for event in events if event["type"].startswith(KIND)]


def done_of(events):
    (item,) = [event["item"] for event in events if event["type"] == "response.output_item.done"
               and event["item"]["type"] == "weather_call"]
    return item


def test_an_item_of_a_new_type_is_streamed_and_kept(http, stream, forecast, upstream):
    forecast(**CALL)
    events = stream([TEST])
    item = done_of(events)
    added = next(event["item"] for event in events if event["type"] == "response.output_item.added"
                 and event["item"]["type"] == "weather_call")
    assert item["id"].startswith("wx_") and item["id"] == added["id"]
    assert (added["status"], added["place"], added["forecast"]) == ("in_progress", None, "")
    assert (item["status"], item["place"], item["forecast"], item["parts"]) == (
        "completed", "Paris", "Rain, then sun.", 1)
    assert events_of_kind(events) == [{"item_id": item["id"], **event} for event in (
        {"type": f"{KIND}.in_progress"},
        {"type": f"{KIND}.measuring", "stations": 3},
        {"type": f"{KIND}_forecast.delta", "delta": "Rain, "},
        {"type": f"{KIND}_forecast.delta", "delta": "then sun."},
        {"type": f"{KIND}_forecast.done", "forecast": "Rain, then sun."},
        {"type": f"{KIND}.signing"},
        {"type": f"{KIND}.completed"})]
    response = events[-1]["response"]
    assert http.get(f"/v1/responses/{response['id']}").json()["output"] == response["output"]
    assert item in response["output"]

    upstream.forget()
    stream([TEST], previous_response_id=response["id"])
    sent = upstream.chats()[0]["messages"]
    (called,) = [message["tool_calls"][0]["function"] for message in sent if message.get("tool_calls")]
    assert called["name"] == "test_weather" and json.loads(called["arguments"]) == CALL
    assert [message["content"] for message in sent if message["role"] == "tool"] == ["It will rain."]


def test_a_failure_is_a_status_of_the_item(http, stream, forecast):
    forecast(**CALL, fail="no stations")
    events = stream([TEST])
    item = done_of(events)
    assert (item["status"], item["place"], item["runnel"]["error"]) == ("failed", None, "no stations")
    assert events_of_kind(events)[-1]["type"] == f"{KIND}.completed"
    kept = http.get(f"/v1/responses/{events[-1]['response']['id']}").json()["output"]
    assert item in kept


def test_the_run_step_is_a_tool_call_of_its_own_type(http, forecast):
    forecast(**CALL)
    assistant = http.post("/v1/assistants", json={"model": "demo", "tools": [TEST]}).json()["id"]
    text = http.post("/v1/threads/runs", json={
        "assistant_id": assistant, "stream": True,
        "thread": {"messages": [{"role": "user", "content": "weather"}]}}).text
    events = [(name, json.loads(data)) for name, data in parse_events(text) if name.startswith("thread.run.step.")]
    deltas = [data["delta"]["step_details"]["tool_calls"] for name, data in events if name.endswith(".delta")]
    assert deltas == [[{"index": 0, "id": "call_1", "type": "weather", "weather": {}}]]
    step = next(data for name, data in events if name.endswith(".completed"))
    assert step["step_details"]["tool_calls"] == [
        {"id": "call_1", "type": "weather", "weather": {"place": "Paris", "forecast": "Rain, then sun."}}]
    path = f"/v1/threads/{step['thread_id']}/runs/{step['run_id']}/steps?order=asc"
    assert http.get(path).json()["data"][0] == step
