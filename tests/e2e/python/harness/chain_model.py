"""What a model must receive: responses and conversations as plain lists, with copies of everything.

The server stores each item once and follows chains of parents; this is the same with none of that.
A response carries the whole context that it has read and made, so deleting anything changes nothing
for anybody else. It knows nothing of how the server does it.
"""

import dataclasses
import json

FINAL = ("completed", "incomplete", "failed")


@dataclasses.dataclass
class Item:
    kind: str          # message, call, output, reasoning
    group: tuple       # items of one group are one answer of the model, or one request's input
    role: str = ""
    text: str = ""     # of a message or an output
    call_id: str = ""
    name: str = ""
    arguments: str = ""  # as they are sent to the model
    id: str = ""
    cut: bool = False    # the answer broke off in it

    def speaks(self):
        return self.kind == "message" and self.role == "assistant"


@dataclasses.dataclass
class Response:
    id: str
    status: str
    received: list         # what came before its input
    input: list
    output: list
    conversation: str = ""
    deleted: bool = False

    def whole(self):
        return self.received + self.input + self.output


@dataclasses.dataclass
class Conversation:
    id: str
    items: list
    deleted: bool = False


class Refused(Exception):
    """An expected refusal: the status, and the error's message, param and code."""

    def __init__(self, status, message, param=None, code=None):
        super().__init__(message)
        self.status = status
        self.error = {"message": message, "type": "invalid_request_error", "param": param,
                      "code": code}


def open_calls(items):
    """Calls that wait for their output."""
    waiting = {}
    for item in items:
        if item.kind == "call":
            waiting[item.call_id] = item
        elif item.kind == "output":
            waiting.pop(item.call_id, None)
    return waiting


def must_be_answered(waiting):
    """A call needs an answer, unless it broke off: then it was not executed."""
    return {call_id: call for call_id, call in waiting.items() if not call.cut}


def kind_of_call(item):
    return "custom tool call" if item.name == "run_sql" else "function call"


def match_calls(received, new):
    """The new items without outputs that only repeat what their call was answered with."""
    waiting, kept = open_calls(received), []
    answers = {item.call_id: item for item in received if item.kind == "output"}
    for item in new:
        if item.kind == "call":
            waiting[item.call_id] = item
        elif item.kind == "output":
            call = waiting.get(item.call_id)
            if call is None or kind_of_call(call) != kind_of_call(item):
                must_be_repeat(item, answers.get(item.call_id))
                continue
            del waiting[item.call_id]
            answers[item.call_id] = item
        kept.append(item)
    for call_id, call in must_be_answered(waiting).items():
        raise Refused(400, f"No tool output found for {kind_of_call(call)} {call_id}.", "input")
    return kept


def must_be_repeat(output, answer):
    if answer is None or kind_of_call(answer) != kind_of_call(output):
        raise Refused(400, f"No tool call found for {kind_of_call(output)} output with "
                           f"call_id {output.call_id}.", "input")
    if answer.text != output.text:
        raise Refused(400, f"The {kind_of_call(output)} {output.call_id} was already answered "
                           "with another output.", "input")


def chat(items, instructions=None):
    """The same as messages of Chat Completions."""
    messages = [{"role": "system", "content": instructions}] if instructions else []
    items = [item for at, item in enumerate(items) if not is_unfinished(items, at)]
    at = 0
    while at < len(items):
        item = items[at]
        if item.kind == "message" and not item.speaks():
            role = "system" if item.role == "developer" else item.role
            messages.append({"role": role, "content": item.text})
            at += 1
        elif item.kind == "output":
            at += 1
        else:
            end = answer_end(items, at)
            messages += answer_messages(items, at, end)
            at = end
    return messages


def is_unfinished(items, at):
    """A call that broke off, and was not answered all the same."""
    return items[at].kind == "call" and items[at].cut and not any(
        item.kind == "output" and item.call_id == items[at].call_id for item in items[at + 1:])


def answer_end(items, at):
    """One answer: one text, then calls, and what is said while they wait for their outputs."""
    end, text, calls = at, False, False
    while end < len(items) and items[end].group == items[at].group:
        item = items[end]
        if item.speaks() and text and not calls:
            break
        if item.kind == "output" or (item.kind == "message" and not item.speaks()):
            break
        text = text or item.speaks()
        calls = calls or item.kind == "call"
        end += 1
    return end


def answer_messages(items, at, end):
    said = [item.text for item in items[at:end] if item.speaks()]
    calls = [item for item in items[at:end] if item.kind == "call"]
    if not said and not calls:
        return []
    message = {"role": "assistant", "content": "\n\n".join(said) if said else None}
    if calls:
        message["tool_calls"] = [
            {"id": call.call_id, "type": "function",
             "function": {"name": call.name, "arguments": call.arguments}} for call in calls]
    outputs = [{"role": "tool", "tool_call_id": call.call_id,
                "content": next(item.text for item in items[end:]
                                if item.kind == "output" and item.call_id == call.call_id)}
               for call in calls]
    return [message, *outputs]


class Project:
    """The objects of one project."""

    def __init__(self):
        self.responses = {}
        self.conversations = {}

    def find(self, item_id):
        """An item that may be named by its id."""
        for conversation in self.conversations.values():
            for item in conversation.items:
                if item.id == item_id and not conversation.deleted:
                    return item
        for response in self.responses.values():
            for item in response.input + response.output:
                if item.id == item_id and not response.deleted and response.status in FINAL:
                    return item
        return None

    def response(self, response_id):
        found = self.responses.get(response_id)
        if not found or found.deleted:
            raise Refused(404, f"Response with id '{response_id}' not found.")
        return found

    def conversation(self, conversation_id):
        found = self.conversations.get(conversation_id)
        if not found or found.deleted:
            raise Refused(404, f"Conversation with id '{conversation_id}' not found.")
        return found

    def context(self, previous=None, conversation=None):
        """The context before new input."""
        if conversation:
            return list(self.conversation(conversation).items)
        if not previous:
            return []
        found = self.responses.get(previous)
        if not found or found.deleted:
            raise Refused(400, f"Previous response with id '{previous}' not found.",
                          "previous_response_id", "previous_response_not_found")
        return found.whole()

    def resolve(self, given, received, group, param="input"):
        """The new items of a request: `given` are items, or ids of items."""
        known = {item.id for item in received}
        named, new = set(), []
        for item in given:
            if isinstance(item, Item):
                new.append(dataclasses.replace(item, group=group, id=""))
                continue
            if item in named:
                raise Refused(400, f"Duplicate item found with id {item}. Remove duplicate items "
                                   "from your input and try again.", param)
            named.add(item)
            if item in known:
                continue
            found = self.find(item)
            if not found:
                raise Refused(404, f"Item with id '{item}' not found. Items are not persisted when "
                                   "`store` is set to false. Try again with `store` set to true, "
                                   "or remove this item from your input.", param)
            new.append(dataclasses.replace(found, group=group, id=""))
        return new


def as_json(item):
    """The item as a client sends or gets it."""
    if isinstance(item, str):
        return {"type": "item_reference", "id": item}
    if item.kind == "message":
        return {"type": "message", "role": item.role, "content": item.text}
    if item.kind == "call" and item.name == "run_sql":
        return {"type": "custom_tool_call", "call_id": item.call_id, "name": item.name,
                "input": json.loads(item.arguments)["input"]}
    if item.kind == "call":
        return {"type": "function_call", "call_id": item.call_id, "name": item.name,
                "arguments": item.arguments}
    if item.kind == "output":
        return {"type": "custom_tool_call_output" if item.name == "run_sql"
                else "function_call_output", "call_id": item.call_id, "output": item.text}
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": item.text}]}


def looks_like(item, data):
    """Whether what the server shows is this item."""
    expected = as_json(item)
    if item.kind == "message":
        expected["content"] = [item.text]
        data = {**data, "content": [part.get("text") for part in data["content"]]}
    if item.kind == "reasoning":
        return data["type"] == "reasoning"
    if data.get("status", "completed") != ("incomplete" if item.cut else "completed"):
        return False
    return all(data.get(key) == value for key, value in expected.items())
