"""The judge of Open Responses is a judge: what it let pass it refuses once something is missing."""

import copy
import json

import pytest

from harness.golden import DIRECTORY
from harness.open_responses import FACTS, OTHER_EVENTS, OpenResponses

JUDGE = OpenResponses()


def golden_events(name):
    lines = (DIRECTORY / f"{name}.events").read_text().splitlines()
    return [json.loads(line) for line in lines if line != "[DONE]"]


@pytest.mark.parametrize("name", ["text", "refusal", "citations", "reasoning_summary",
                                  "function_call", "incomplete", "failed", "background"])
def test_every_missing_member_is_noticed(name):
    """Each event without each of its members is refused, unless the member is optional."""
    for event in golden_events(name):
        assert JUDGE.event_complaint(event) is None
        for key in FACTS["$defs"][FACTS["events"][event["type"]]]["required"]:
            assert key in event
            if key != "type":
                less = {k: v for k, v in event.items() if k != key}
                assert key in JUDGE.event_complaint(less)


def test_the_members_of_a_response_are_checked():
    response = golden_events("text")[-1]["response"]
    for key in FACTS["$defs"]["ResponseResource"]["required"]:
        less = copy.deepcopy(response)
        del less[key]
        if key not in ("tools", "tool_choice", "text", "output", "instructions"):  # looked into
            assert key in JUDGE.response_complaint(less)
    for path, value in ((("usage", "input_tokens_details"), None), (("created_at",), 1.5),
                        (("output", 0, "status"), None), (("text", "verbosity"), None),
                        (("output", 0, "content", 0, "annotations"), None)):
        wrong = copy.deepcopy(response)
        inner = wrong
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = value
        assert JUDGE.response_complaint(wrong), path


def test_an_unknown_event_is_refused():
    assert "no known conflict" in JUDGE.event_complaint({"type": "response.cancelled"})
    assert JUDGE.event_complaint({"type": "ping"})


def test_every_listed_conflict_exists():
    """What is passed over is nothing that Open Responses has."""
    assert not [kind for kind in FACTS["events"] if kind.startswith(OTHER_EVENTS)]
