"""What tools of the server give: from data to text, how it went, and what is shown beside it."""

import json
import time

import pytest

from harness.recorder import parse_events
from harness.tools import call

TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test",
        "require_approval": "never"}
BASIC = {"type": "mcp", "server_label": "basic", "server_url": "builtin:basic",
         "require_approval": "never"}


@pytest.fixture
def use(http, upstream):
    """The model calls one tool; the events of the response, the call's item, and the text that the
    model was given."""
    def use(tool, tools=TEST, raw=None, **arguments):
        asked = call(tool, 1, **arguments) if raw is None else {
            "name": tool, "id": "call_1", "arguments": raw}
        upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                        {"answer": {"tool_calls": [asked]}})
        answer = http.post("/v1/responses", json={"model": "demo", "input": "go", "stream": True,
                                                  "tools": [tools]})
        events = [json.loads(data) for _, data in parse_events(answer.text) if data != "[DONE]"]
        item, = (item for item in events[-1]["response"]["output"] if item["type"] == "mcp_call")
        sent, = (m["content"] for m in upstream.chats()[-1]["messages"] if m["role"] == "tool")
        return events, item, sent
    return use


# ---- Data, formatted, final ----

@pytest.mark.feature("F02")
@pytest.mark.parametrize("data, text", [
    ("as it is\n", "as it is\n"), ({"a": [1, "ä"]}, '{\n  "a": [\n    1,\n    "ä"\n  ]\n}'),
    ([], "[]"), (7, "7"), (True, "true")])
def test_data_without_a_formatter_becomes_text_or_indented_json(use, data, text):
    _, item, sent = use("test_data", data=data)
    assert item["output"] == sent == text
    assert item["runnel"]["status"] == "success"


@pytest.mark.feature("F02")
def test_a_formatter_makes_the_text_for_the_model(use):
    _, item, sent = use("test_lines", data=["a", "b"], before="- ")
    assert item["output"] == sent == "- a\n- b\n"


@pytest.mark.feature("F02")
def test_a_formatter_that_fails_does_not_fail_the_call(use):
    _, item, sent = use("test_lines", data="a")
    assert item["output"] == sent == "[格式化错误] no list"
    assert item["status"] == "completed" and item["runnel"]["status"] == "success"


@pytest.mark.feature("F02")
def test_text_of_the_result_wins_over_the_formatter(use):
    _, item, sent = use("test_lines", data=["a"], text="my own")
    assert item["output"] == sent == "my own"


@pytest.mark.feature("F02", "F10")
def test_formatted_text_is_cut_like_any_other(use):
    """Data, formatted, final: the model is sent nothing but the last."""
    _, item, sent = use("test_lines", data=["x" * 9000])
    assert sent == item["output"] and len(sent) < 9000 and item["runnel"]["is_truncated"] is True


# ---- How it went ----

@pytest.mark.feature("F11")
def test_the_status_of_a_call_says_how_it_ended(use, client):
    for tool, arguments, status in [("test_slow", {"text": "x"}, "success"),
                                    ("test_fail", {"message": "x"}, "error"),
                                    ("nobody", {}, "not_found")]:
        events, item, _ = use(tool, **arguments)
        assert item["runnel"]["status"] == status
        kept = client.responses.retrieve(events[-1]["response"]["id"])
        again, = (item for item in kept.output if item.type == "mcp_call")
        assert again.runnel["status"] == status


@pytest.mark.feature("F77")
def test_a_tool_explains_wrong_arguments_itself(use):
    _, item, sent = use("test_number", n=11)
    assert sent == "Think of a number: `n`, from 1 to 10."
    assert item["status"] == "failed" and item["runnel"]["status"] == "error"
    assert use("test_number", n=3)[1]["status"] == "completed"


@pytest.mark.feature("F79")
def test_the_parameters_of_a_tool_are_sent_as_its_schema(use, upstream):
    use("test_number", n=3)
    offered = {t["function"]["name"]: t["function"] for t in upstream.chats()[0]["tools"]}
    number = offered["test_number"]
    assert number["description"] == "Wants a number."
    assert number["parameters"]["type"] == "object"
    assert number["parameters"]["required"] == ["n"]
    assert number["parameters"]["properties"]["n"]["maximum"] == 10


# ---- Beside the text ----

@pytest.mark.feature("F75")
def test_a_result_has_a_title_metadata_and_attachments(use):
    events, item, sent = use("test_notes", text="read it", notes=[{"title": "Reading", "page": 1}])
    beside = item["runnel"]
    assert beside["title"] == "Took notes"
    assert beside["metadata"] == {"title": "Reading", "page": 1, "count": 1}
    picture, = beside["attachments"]
    assert (picture["type"], picture["mime_type"]) == ("image", "image/png")
    assert picture["data"].startswith("iVBOR")
    assert sent == item["output"] == "read it\n[image image/png]"
    assert "Took notes" not in sent and "iVBOR" not in sent


@pytest.mark.feature("F104")
def test_metadata_is_shown_while_the_tool_runs(use):
    """Key by key, the last value counts; the last state stays with the item."""
    events, item, _ = use("test_notes", ms=150, notes=[
        {"title": "One", "a": 1, "b": 1}, {"title": "Two", "b": 2}, {"c": 3}])
    live = [event["runnel"] for event in events
            if event["type"] == "response.mcp_call.in_progress" and "runnel" in event]
    assert 1 <= len(live) <= 3 and live[0]["metadata"]["a"] == 1
    assert item["runnel"]["metadata"] == {"title": "Two", "a": 1, "b": 2, "c": 3, "count": 3}


@pytest.mark.feature("F104")
def test_live_metadata_has_the_name_of_its_tool_for_a_title(use):
    events, item, _ = use("test_notes", notes=[{"page": 1}])
    live = [event["runnel"] for event in events
            if event["type"] == "response.mcp_call.in_progress" and "runnel" in event]
    assert live[0]["title"] == "test_notes" and live[0]["metadata"]["page"] == 1
    assert item["runnel"]["title"] == "Took notes"


@pytest.mark.feature("F104")
def test_metadata_is_sent_at_most_every_tenth_of_a_second(use):
    began = time.monotonic()
    events, item, _ = use("test_notes", ms=1, notes=[{"n": n} for n in range(200)])
    tenths = int((time.monotonic() - began) * 10)
    live = [event for event in events
            if event["type"] == "response.mcp_call.in_progress" and "runnel" in event]
    assert 1 <= len(live) <= tenths + 1
    assert item["runnel"]["metadata"] == {"n": 199, "count": 200}


@pytest.mark.feature("F104")
def test_metadata_that_is_too_large_is_left_out(use):
    _, item, _ = use("test_notes", notes=[{"small": 1, "title": "Large"}, {"large": "x" * 20000}])
    assert item["runnel"]["metadata"] == {"small": 1, "title": "Large", "count": 2}


@pytest.mark.feature("F09")
def test_the_list_of_tools_says_what_a_tool_returns(use):
    events, _, _ = use("datetime", tools=BASIC)
    listed, = (item for item in events[-1]["response"]["output"]
               if item["type"] == "mcp_list_tools" and item["server_label"] == "basic")
    about = {tool["name"]: tool["runnel"] for tool in listed["tools"]}
    assert about["datetime"] == {"tags": ["time"], "returns": {
        "type": "string", "note": "ISO 8601, or as `format` says"}}


@pytest.mark.feature("F74")
def test_a_handler_gets_its_context(use):
    events, item, sent = use("test_echo_context", a=1)
    known = json.loads(sent)
    assert known["args"] == {"a": 1} and known["call_id"] == "call_1"
    assert known["run"] == events[-1]["response"]["id"]
    assert known["project"] and known["config"]["server_label"] == "test"
    assert set(known) >= {"thread", "user", "files", "context"}
