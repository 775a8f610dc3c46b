"""Golden cases: a script of the model, a request, and all events that a client must receive.

`golden/NAME.json` has the first two, `golden/NAME.events` the last: a line for each event, with
ids counted instead of random and times left out. The same events come of either dialect of the
upstream.
"""

import json
import pathlib
import re

from .recorder import parse_events

DIRECTORY = pathlib.Path(__file__).resolve().parents[2] / "golden"

MODELS = ["demo", "native"]
ID = re.compile(r"\b([a-z]+)_[0-9A-Za-z]{24}\b")
VARIABLE = re.compile(r"_\d{14}-[0-9a-z]{7}_(result|args)\b")
TIMES = ("created_at", "completed_at", "start", "end")


class Case:
    def __init__(self, path):
        self.path = path
        self.name = path.stem
        case = json.loads(path.read_text())
        self.rules = case["rules"]
        self.request = case["request"]
        self.cancel = case.get("cancel")  # the event at which the client cancels
        self.models = case.get("models", MODELS)
        self.needs_sandbox = case.get("needs") == "sandbox"
        self.golden = path.with_suffix(".events")

    def body(self, model):
        return {"model": model, "stream": True, **self.request}


def all_cases():
    return [Case(path) for path in sorted(DIRECTORY.glob("*.json"))]


def without_times(value):
    if isinstance(value, dict):
        return {key: 0 if key in TIMES and inner else "SEALED" if key == "fingerprint" else without_times(inner)
                for key, inner in value.items()}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


def normalised(text, model):
    """The stream in the form of the golden file. Fails if its sequence numbers have gaps."""
    lines = []
    for number, (name, data) in enumerate(parse_events(text)):
        if data == "[DONE]":
            lines.append("[DONE]")
            continue
        event = json.loads(data)
        assert event["type"] == name and event["sequence_number"] == number
        if "response" in event:
            assert event["response"]["model"] == model
            event["response"]["model"] = "MODEL"
            event["response"].pop("runnel", None)  # counts and times: see test_chain.py
        lines.append(json.dumps(without_times(event)))
    seen = {}

    def counted(match):
        ids = seen.setdefault(match[1], {})
        return f"{match[1]}_{ids.setdefault(match[0], len(ids) + 1)}"
    return VARIABLE.sub(r"_NOW_\1", ID.sub(counted, "\n".join(lines))) + "\n"
