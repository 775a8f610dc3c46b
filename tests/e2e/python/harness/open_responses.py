"""What Open Responses (the specification of 2026-04-24) demands of a response and of its events.

`open_responses.json` has the facts: which members there are, of which types, and which must be
there. It knows fewer things than OpenAI's API and refuses some that OpenAI sends; where the two
contradict each other, OpenAI wins, and the contradiction stands in CONFLICTS or in OTHER_EVENTS.
All else is held to it.
"""

import copy
import json
import pathlib
import re

import jsonschema

from .schemas import Schemas

FACTS = json.loads((pathlib.Path(__file__).resolve().parents[2] / "open_responses.json").read_text())
URN = "urn:open-responses"

KNOWN_ITEMS = {"message", "function_call", "function_call_output", "reasoning", "compaction"}
KNOWN_CHOICES = {"function", "allowed_tools"}

# Events that OpenAI has and Open Responses has not: those of all calls but functions, and these.
OTHER_CALLS = re.compile(r"response\.(?!function_)\w+?_call[._]")
OTHER_EVENTS = (
    "response.reasoning_text.",  # there it is response.reasoning.
    "response.mcp_list_tools.", "response.compaction.", "keepalive",
)


def hosted_tools(response):
    """Tools are functions only."""
    response["tools"] = [tool for tool in response["tools"] if tool["type"] == "function"]


def hosted_choices(response):
    """tool_choice names functions only."""
    choice = response["tool_choice"]
    if isinstance(choice, dict) and choice["type"] not in KNOWN_CHOICES:
        response["tool_choice"] = "auto"
    elif isinstance(choice, dict) and "tools" in choice:
        choice["tools"] = [tool for tool in choice["tools"] if tool["type"] == "function"]


def given_schemas(response):
    """The schema of text.format is null, whatever was asked for."""
    if response["text"]["format"]["type"] == "json_schema":
        response["text"]["format"]["schema"] = None


def other_instructions(response):
    """Instructions are a text, also where a prompt made them a list of messages."""
    if isinstance(response["instructions"], list):
        response["instructions"] = None


def other_items(response):
    """Items are messages, functions, reasoning and compactions only."""
    response["output"] = [adapt_item(item) for item in response["output"]
                          if item["type"] in KNOWN_ITEMS]


CONFLICTS = [hosted_tools, hosted_choices, given_schemas, other_instructions, other_items]


def adapt_part(part):
    """Annotations are citations of pages only."""
    if part.get("annotations"):
        part["annotations"] = [note for note in part["annotations"]
                               if note["type"] == "url_citation"]
    return part


def adapt_item(item):
    if item["type"] == "message":
        item["content"] = [adapt_part(part) for part in item["content"]]
    return item


def adapted(event):
    """The event without what contradicts; None when nothing is left to look at."""
    event = copy.deepcopy(event)
    if "response" in event:
        for conflict in CONFLICTS:
            conflict(event["response"])
    if "item" in event:
        if event["item"]["type"] not in KNOWN_ITEMS:
            return None
        adapt_item(event["item"])
    if "part" in event:
        adapt_part(event["part"])
    if "annotation" in event and event["annotation"]["type"] != "url_citation":
        return None
    return event


class OpenResponses:
    def __init__(self):
        self.schemas = Schemas(URN, {"$defs": FACTS["$defs"]})

    def complaint_about(self, name, value):
        errors = self.schemas.errors({"$ref": f"{URN}#/$defs/{name}"}, value)
        error = jsonschema.exceptions.best_match(errors)
        if error is None:
            return None
        where = "/".join(str(step) for step in error.absolute_path)
        return f"Open Responses, {name}: at '{where}': {error.message[:800]}"

    def response_complaint(self, response):
        return self.complaint_about("ResponseResource", adapted({"response": response})["response"])

    def event_complaint(self, event):
        kind = event["type"]
        if kind.startswith(OTHER_EVENTS) or OTHER_CALLS.match(kind):
            return None
        if kind not in FACTS["events"]:
            return f"Open Responses has no event '{kind}', and it is no known conflict"
        event = adapted(event)
        return event and self.complaint_about(FACTS["events"][kind], event)
