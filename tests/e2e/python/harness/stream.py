"""Events of a streamed response, and checks that every such stream must pass."""

import json

from .recorder import parse_events


def events_of(http, tools, **body):
    """The events of a response to "go", with checked numbers and indexes."""
    answer = http.post("/v1/responses", json={"model": "demo", "input": "go", "tools": tools,
                                              "stream": True, **body})
    assert answer.status_code == 200, answer.text
    events = [json.loads(data) for _, data in parse_events(answer.text) if data != "[DONE]"]
    assert [e["sequence_number"] for e in events] == list(range(len(events)))
    check_places(events)
    return events


def check_places(events):
    """Items one after another, each at the next place, and every event of an item inside it."""
    open_item, places = None, 0
    for event in events:
        if event["type"] == "response.output_item.added":
            assert open_item is None and event["output_index"] == places
            open_item, places = event["item"], places + 1
        elif event["type"] == "response.output_item.done":
            assert event["item"]["id"] == open_item["id"]
            assert event["item"]["type"] == open_item["type"]
            open_item = None
        elif "item_id" in event:
            assert event["item_id"] == open_item["id"] and event["output_index"] == places - 1
