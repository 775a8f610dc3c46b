"""The fast validator is as strict as the slow one: an answer that is wrong anywhere is wrong for both."""

import copy
import json
import random
import typing

import pytest
from openai.types.responses import ResponseStreamEvent

from harness.golden import DIRECTORY
from harness.open_responses import FACTS, URN, OpenResponses
from harness.recorder import CONTRACT

CHANGES = (None, "", "auto", "no such value", 7, -1, 0.5, 1.0, 10**30, True, [], {})


def golden_events():
    for path in sorted(DIRECTORY.glob("*.events")):
        for line in path.read_text().splitlines():
            event = line != "[DONE]" and json.loads(line)
            if event and "type" in event:
                yield event


def places(value):
    """Where a value has members or elements: pairs of a container and a key."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield value, key
        yield from places(inner)


def changed(event, chance):
    """The event with one thing wrong, or at least different."""
    event = copy.deepcopy(event)
    container, key = chance.choice(list(places(event)))
    change = chance.choice((*CHANGES, "remove", "add"))
    if change == "remove":
        del container[key]
    elif change == "add" and isinstance(container, dict):
        container["no_such_member"] = 1
    elif change == "add":
        container.append({"type": "no such type"})
    else:
        container[key] = change
    return event


@pytest.mark.parametrize("seed", range(4))
def test_both_validators_refuse_the_same(recorder, seed):
    chance = random.Random(seed)
    wrong = 0
    for event in chance.sample(list(golden_events()), 60):
        kind, event = event["type"], changed(event, chance)
        judges = [(recorder.contract.schemas, f"{CONTRACT}#/components/schemas/ResponseStreamEvent")]
        if kind in FACTS["events"]:
            judges.append((recorder.open_responses.schemas, f"{URN}#/$defs/{FACTS['events'][kind]}"))
        for schemas, reference in judges:
            fast, slow = schemas.of({"$ref": reference})
            assert fast.is_valid(event) == slow.is_valid(event), event
            wrong += not fast.is_valid(event)
    assert wrong > 30


def test_what_only_the_fast_validator_refuses_fails(recorder):
    """Neither of the two may be wrong in silence."""
    schemas = OpenResponses().schemas
    schema = {"type": "string"}
    schemas.of(schema)
    schemas.validators[json.dumps(schema)] = (schemas.of({"type": "integer"})[0], schemas.of(schema)[1])
    with pytest.raises(AssertionError, match="only jsonschema-rs refuses 'text'"):
        schemas.errors(schema, "text")


# ---- Beside the SDK ----

def types_of(union):
    """The values that `type` has in the models of a union."""
    if typing.get_origin(union) is typing.Annotated:
        union = typing.get_args(union)[0]
    if not typing.get_args(union):
        return {value for value in typing.get_args(union.model_fields["type"].annotation) if isinstance(value, str)}
    return set().union(*map(types_of, typing.get_args(union)))


def types_in(schemas, name):
    found = set()
    for entry in schemas[name]["oneOf"]:
        kind = schemas[entry["$ref"].rsplit("/", 1)[1]]["properties"]["type"]
        found |= {kind["const"]} if "const" in kind else set(kind["enum"])
    return found


def test_the_contract_knows_every_event_of_the_sdk(recorder):
    """Those of hosted tools too, which this server does not send yet. Responses make no audio."""
    known = types_in(recorder.contract.document["components"]["schemas"], "ResponseStreamEvent")
    missing = types_of(ResponseStreamEvent) - known
    assert {kind for kind in missing if ".audio." not in kind} == set()
