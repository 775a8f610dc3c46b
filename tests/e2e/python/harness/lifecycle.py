"""A reference model of the Assistants API: what threads, messages, runs and steps are after each
operation, as short as it can be said. It knows no HTTP and no server; test_lifecycle_model.py does
at random what the API allows and forbids, and holds every answer against this.

What the server is free to choose, ids and times, is `Unknown` until it is seen for the first time.
What a run does by itself takes time that nobody knows, so a run that moves may be in any of the
statuses before the one where its plan lets it rest; every answer that shows more narrows that down.
"""

from dataclasses import dataclass, field
from typing import Optional

FINAL = ("completed", "failed", "incomplete", "cancelled", "expired")
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
NOTHING = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


# ---- What a model does ----

@dataclass(frozen=True)
class Turn:
    """One answer of the model, and the status in which it lets its run rest."""
    rest: str
    text: str = ""          # {0}, {1}: the outputs that it got
    calls: tuple = ()       # ids of calls of get_weather
    message: Optional[str] = "completed"  # status of its message
    reason: Optional[str] = None          # why its message is incomplete
    error: Optional[dict] = None
    usage: dict = field(default_factory=lambda: USAGE)


def say(text):
    return Turn("completed", text)


def ask(*calls, text=""):
    return Turn("requires_action", text, calls)


REFUSED = {"code": "invalid_prompt", "message": "The request was refused."}
BROKEN = {"code": "server_error", "message": "The model failed to answer."}
refuse = Turn("failed", error=REFUSED, usage=NOTHING)
cut = Turn("failed", "one two", message="incomplete", reason="run_failed", error=BROKEN,
           usage=NOTHING)
too_long = Turn("incomplete", "once upon a", message="incomplete", reason="max_tokens")
hang = Turn("in_progress", "well", message="in_progress", usage=NOTHING)  # and never goes on

PLANS = {
    "talk": [say("It is sunny.")],
    "call": [ask("call_1"), say("It is {0}.")],
    "calls": [ask("call_1", "call_2", "call_3"), say("They are {0}, {1}, {2}.")],
    "rounds": [ask("call_1", text="Let me see."), ask("call_2", "call_3"),
               say("After all: {0}, {1}, {2}.")],
    "again": [ask("call_1"), ask("call_1"), say("Twice: {0}, {1}.")],
    "refuse": [refuse],
    "cut": [cut],
    "long": [too_long],
    "hang": [hang],
    "call-hang": [ask("call_1", "call_2"), hang],
    "call-refuse": [ask("call_1"), refuse],
    "call-cut": [ask("call_1"), cut],
    "call-long": [ask("call_1"), too_long],
}


def arguments(call):
    return '{"city":"%s"}' % call.replace("call_", "C")


def rules():
    """The plans as a script of the upstream. Which turn it is shows in how many outputs came."""
    made = []
    for name, turns in PLANS.items():
        sent = 0
        for turn in turns:
            match = {"system": f"plan {name}.", "tool_results": sent}
            made.append({"match": match, "answer": script(turn)})
            sent += len(turn.calls)
    return made


def script(turn):
    usage = {"usage": dict(turn.usage)} if turn.usage is USAGE else {}
    if turn is refuse:
        return {"fault": {"kind": "status", "status": 400}}
    if turn is cut:
        return {"text": turn.text + " three", "fault": {"kind": "cut", "after": 2}}
    if turn is too_long:
        return {"text": turn.text, "finish_reason": "length", **usage}
    if turn is hang:
        return {"text": [turn.text, " then"], "piece_delay_ms": 3600000}
    text = turn.text[:turn.text.find("{")] + "{{tool_outputs}}." if "{" in turn.text else turn.text
    calls = [{"name": "get_weather", "id": call, "arguments": {"city": call.replace("call_", "C")}}
             for call in turn.calls]
    return {**({"text": text} if text else {}), **({"tool_calls": calls} if calls else {}), **usage}


# ---- What is not known yet ----

@dataclass(frozen=True)
class Unknown:
    """A value that the server chooses."""
    kind: str  # the prefix of an id, "time", or "any"

    def allows(self, value):
        if self.kind == "any":
            return True
        if self.kind == "time":
            return isinstance(value, int) and value > 1_600_000_000
        return isinstance(value, str) and value.startswith(self.kind + "_")


TIME = Unknown("time")


class Difference(AssertionError):
    pass


def learn(expected, actual, path="answer"):
    """The expected value with what was unknown in it; complains where the two differ."""
    if isinstance(expected, Unknown):
        if not expected.allows(actual):
            raise Difference(f"{path}: expected {expected}, got {actual!r}")
        return actual
    if isinstance(expected, dict) and isinstance(actual, dict) and expected.keys() == actual.keys():
        return {key: learn(expected[key], actual[key], f"{path}.{key}") for key in expected}
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        return [learn(one, other, f"{path}[{i}]")
                for i, (one, other) in enumerate(zip(expected, actual))]
    if expected != actual or type(expected) is not type(actual):
        raise Difference(f"{path}: expected {expected!r},\n    got {actual!r}")
    return actual


# ---- What is refused ----

@dataclass(frozen=True)
class Refusal:
    status: int
    message: str
    param: Optional[str] = None
    code: Optional[str] = None

    def body(self):
        return {"error": {"message": self.message, "type": "invalid_request_error",
                          "param": self.param, "code": self.code}}


def not_found(kind, id):
    return Refusal(404, f"No {kind} found with id '{id}'.")


def malformed(param, id, prefix):
    return Refusal(400, f"Invalid '{param}': '{id}'. Expected an ID that begins with '{prefix}'.",
                   param, "invalid_value")


def locked(thread, run):
    return Refusal(400, f"Can't add messages to {thread.id} while a run {run.id} is active.")


def busy(thread, run):
    return Refusal(400, f"Thread {thread.id} already has an active run {run.id}.")


def not_cancellable(status):
    return Refusal(400, f"Cannot cancel run with status '{status}'.")


def not_waiting(status):
    return Refusal(400, f'Runs in status "{status}" do not accept tool outputs.')


def unfit(expected, got):
    def listed(ids):
        return "[" + ", ".join(f"'{id}'" for id in ids) + "]"
    return Refusal(400, f"Expected tool outputs for call_ids {listed(expected)}, "
                        f"got {listed(sorted(got))}")


# ---- Objects ----

def text_content(text):
    return [{"type": "text", "text": {"value": text, "annotations": []}}]


def shown_content(content):
    """A string is one part of text; pictures say how closely they are looked at."""
    if isinstance(content, str):
        return text_content(content)
    return [part for given in content for part in (
        text_content(given["text"]) if given["type"] == "text"
        else [{**given, "image_url": {"detail": "auto", **given["image_url"]}}])]


def new_assistant(body):
    return {"id": Unknown("asst"), "object": "assistant", "created_at": TIME, "name": None,
            "description": None, "instructions": None, "tools": [], "tool_resources": {},
            "metadata": {}, "top_p": 1.0, "temperature": 1.0, "reasoning_effort": None,
            "response_format": "auto", **body}


def new_thread(body):
    return {"id": Unknown("thread"), "object": "thread", "created_at": TIME,
            "metadata": body.get("metadata") or {},
            "tool_resources": body.get("tool_resources") or {}}


def new_message(thread_id, body):
    return {"id": Unknown("msg"), "object": "thread.message", "created_at": TIME,
            "thread_id": thread_id, "assistant_id": None, "run_id": None, "status": "completed",
            "incomplete_details": None, "incomplete_at": None, "completed_at": TIME,
            "role": body["role"],
            "content": shown_content(body["content"]),
            "attachments": body.get("attachments") or [], "metadata": body.get("metadata") or {}}


class Message:
    def __init__(self, shown, origin=None):
        self.shown = shown
        self.origin = origin or self  # the message that it goes back to over all copies

    @property
    def id(self):
        return self.shown["id"]


class Run:
    def __init__(self, thread, assistant, plan, body, expires=False):
        self.thread, self.plan, self.expires = thread, PLANS[plan], expires
        self.turn = 0
        self.known, self.moving, self.cancelling = "queued", True, False
        self.sent = False     # what its turn has made stands in steps and messages
        self.whole = True     # nothing was cut short
        self.steps, self.messages = [], []
        self.events = ["thread.run.created", "thread.run.queued", "thread.run.in_progress"]
        self.outputs = []     # the outputs that the model got, in its order
        self.accepted = None  # the submission that was accepted last,
        self.begun = 0        # and the number of the first event that came of it
        self.usage = dict(NOTHING)
        instructions = body.get("instructions") or assistant["instructions"]
        self.shown = {
            "id": Unknown("run"), "object": "thread.run", "created_at": TIME,
            "assistant_id": assistant["id"], "thread_id": thread.id, "status": "queued",
            "started_at": None, "expires_at": TIME, "cancelled_at": None, "failed_at": None,
            "completed_at": None, "required_action": None, "last_error": None,
            "incomplete_details": None, "model": body.get("model") or assistant["model"],
            "instructions": "\n\n".join(filter(None, [instructions,
                                                     body.get("additional_instructions")])),
            "tools": body.get("tools", assistant["tools"]),
            "tool_resources": {**assistant["tool_resources"], **thread.shown["tool_resources"]},
            "temperature": body.get("temperature", assistant["temperature"]),
            "top_p": body.get("top_p", assistant["top_p"]), "max_completion_tokens": None,
            "max_prompt_tokens": None,
            "truncation_strategy": {"type": "auto", "last_messages": None},
            "reasoning_effort": assistant["reasoning_effort"],
            "response_format": assistant["response_format"], "tool_choice": "auto",
            "parallel_tool_calls": body.get("parallel_tool_calls", True),
            "metadata": body.get("metadata") or {}, "usage": None}

    @property
    def id(self):
        return self.shown["id"]

    @property
    def now(self):
        """The turn that goes on, or that was the last."""
        return self.plan[self.turn]

    # -- status --

    def possible(self):
        """The statuses that it may be in now."""
        if self.known in FINAL:
            return {self.known}
        late = {"expired"} if self.expires else set()
        if not self.moving:
            return {self.known} | late
        if self.cancelling:
            return {"cancelling", "cancelled"} | late | ({self.now.rest} & set(FINAL))
        way = ["queued", "in_progress", "requires_action"]
        return set(way[way.index(self.known):2]) | {self.now.rest} | late

    def observe(self, status):
        if status not in self.possible():
            raise Difference(f"{self.id} is {status} after {self.known}; possible was "
                             f"{sorted(self.possible())}")
        if status != "cancelling":
            self.known = status

    def may_be_active(self):
        return bool(self.possible() - set(FINAL))

    def must_be_active(self):
        return not self.possible() & set(FINAL)

    # -- what a client does --

    def cancel(self):
        self.cancelling = self.moving = True

    def submit(self, outputs):
        self.accepted, self.begun = outputs, len(self.events)
        sent = dict(outputs)
        self.outputs += [sent[call] for call in self.now.calls]
        step = self.steps[-1]
        step.update(status="completed", completed_at=TIME)
        for call in step["step_details"]["tool_calls"]:
            call["function"]["output"] = sent[call["id"]]
        self.events += ["thread.run.step.completed", "thread.run.queued", "thread.run.in_progress"]
        self.turn += 1
        self.known, self.moving, self.sent = "queued", True, False

    def is_repeat(self, outputs):
        return self.accepted is not None and sorted(outputs) == sorted(self.accepted)

    # -- what it does by itself --

    def rest(self, status):
        """It stands still, as its turn ends."""
        self.observe(status)
        self.moving = self.cancelling = False
        self.send()
        if status != "in_progress":
            self.usage = {key: self.usage[key] + self.now.usage[key] for key in self.usage}
            self.events.append(f"thread.run.{status}")

    def stop(self, status, steps, messages):
        """It was cut short: cancelled, or expired. What stood there before still does; of a turn
        that was going on there is any beginning, and `steps` and `messages` are what there is."""
        self.observe(status)
        self.moving = self.cancelling = self.whole = False
        self.usage = Unknown("any")
        if not self.sent:
            self.send()
            for message in self.messages[len(messages):]:
                self.thread.messages.remove(message)
            del self.steps[len(steps):], self.messages[len(messages):]
        for step, actual in zip(self.steps, steps):
            if step["status"] == "in_progress" or actual["status"] != "completed":
                cut_step(step, actual, status)
        for message, actual in zip(self.messages, messages):
            if message.shown["status"] == "in_progress" or actual["status"] != "completed":
                cut_message(message.shown, actual, status, self.now.text.format(*self.outputs))

    def send(self):
        """What the turn makes: a step and its message, a step with its calls."""
        if self.sent:
            return
        self.sent = True
        if self.now.text:
            self.add_message(self.now)
        if self.now.calls:
            self.add_calls(self.now)

    def add_message(self, turn):
        ended, partly = turn.message != "in_progress", turn.message == "incomplete"
        status = "failed" if turn.error else "completed" if ended else "in_progress"
        self.messages.append(Message({
            **new_message(self.thread.id, {"role": "assistant",
                                           "content": turn.text.format(*self.outputs)}),
            "assistant_id": self.shown["assistant_id"], "run_id": self.id, "status": turn.message,
            "completed_at": TIME if turn.message == "completed" else None,
            "incomplete_at": TIME if partly else None,
            "incomplete_details": {"reason": turn.reason} if partly else None,
            **({} if ended else {"content": Unknown("any")})}))
        self.thread.messages.append(self.messages[-1])
        self.add_step("message_creation", status, turn, {
            "type": "message_creation", "message_creation": {"message_id": Unknown("msg")}})
        if ended:
            self.events += ["thread.message.created", "thread.message.in_progress",
                            "thread.message.delta", f"thread.message.{turn.message}",
                            f"thread.run.step.{status}"]

    def add_calls(self, turn):
        self.add_step("tool_calls", "in_progress", turn, {"type": "tool_calls", "tool_calls": [
            {"id": call, "type": "function", "function": {
                "name": "get_weather", "arguments": arguments(call), "output": None}}
            for call in turn.calls]})
        self.events.append("thread.run.step.delta")

    def add_step(self, type, status, turn, details):
        """The tokens of a turn stand at its last step."""
        last = type == "tool_calls" or not turn.calls
        self.steps.append({
            "id": Unknown("step"), "object": "thread.run.step", "created_at": TIME,
            "run_id": self.id, "assistant_id": self.shown["assistant_id"],
            "thread_id": self.thread.id, "type": type, "status": status, "cancelled_at": None,
            "completed_at": TIME if status == "completed" else None, "expired_at": None,
            "expires_at": None, "failed_at": TIME if status == "failed" else None,
            "last_error": turn.error if status == "failed" else None, "step_details": details,
            "metadata": {},
            "usage": dict(turn.usage if last else NOTHING) if turn is not hang else None})
        self.events += ["thread.run.step.created", "thread.run.step.in_progress"]

    # -- how it looks --

    def expected(self, status):
        """The expected object in this status."""
        final, waits = status in FINAL, status == "requires_action"
        stamps = {f"{status}_at": TIME} if status in ("completed", "failed", "cancelled") else {}
        started = self.shown["started_at"]
        if started is None and self.turn > 0 or status in ("in_progress", self.now.rest):
            started = started or TIME
        elif started is None and status != "queued":
            started = Unknown("any")  # it may be stopped before it was ever taken up
        return {**self.shown, "status": status, "started_at": started,
                **{key: self.shown[key] or stamp for key, stamp in stamps.items()},
                "expires_at": None if final else self.shown["expires_at"],
                "required_action": self.required_action() if waits else None,
                "last_error": self.now.error if status == "failed" else None,
                "incomplete_details": {"reason": "max_completion_tokens"}
                if status == "incomplete" else None,
                "usage": self.usage if final or waits else None}

    def required_action(self):
        return {"type": "submit_tool_outputs", "submit_tool_outputs": {"tool_calls": [
            {"id": call, "type": "function",
             "function": {"name": "get_weather", "arguments": arguments(call)}}
            for call in self.now.calls]}}

    def seen(self, actual):
        """Compares, and takes over what the server chose."""
        got = learn(self.expected(actual["status"]), actual, "run")
        for key in ("id", "created_at", "started_at", "cancelled_at", "failed_at", "completed_at"):
            self.shown[key] = got[key]
        if got["expires_at"] is not None:
            self.shown["expires_at"] = got["expires_at"]
        if isinstance(self.usage, Unknown) and got["usage"]:
            self.usage = got["usage"]


# ---- What was cut short ----

def beginning_of(whole, part, what):
    if not whole.startswith(part):
        raise Difference(f"{what}: {part!r} is not how {whole!r} begins")


def cut_step(step, actual, status):
    if step["type"] == "tool_calls" and actual["type"] == "tool_calls":
        calls = actual["step_details"]["tool_calls"]
        for call, got in zip(step["step_details"]["tool_calls"], calls):
            beginning_of(call["function"]["arguments"], got["function"]["arguments"], "arguments")
            call["function"]["arguments"] = got["function"]["arguments"]
        del step["step_details"]["tool_calls"][len(calls):]
    step.update(status=status, completed_at=None, usage=Unknown("any"))
    step[f"{status}_at"] = TIME


def cut_message(shown, actual, status, whole):
    said = "".join(part["text"]["value"] for part in actual["content"])
    beginning_of(whole, said, "message")
    shown.update(status="incomplete", completed_at=None, incomplete_at=TIME,
                 incomplete_details={"reason": f"run_{status}"}, content=actual["content"])


class Thread:
    def __init__(self, shown):
        self.shown = shown
        self.messages, self.runs = [], []

    @property
    def id(self):
        return self.shown["id"]

    def active_run(self):
        """The run that is, or may be, in the way."""
        return next((run for run in self.runs if run.may_be_active()), None)

    # -- made of another --

    def said(self):
        """The messages, without those of an unfinished run."""
        run = self.active_run()
        return [message for message in self.messages if not run or message not in run.messages]

    def lacks(self, messages):
        known = {message.origin for message in self.messages}
        return [message for message in messages if message.origin not in known]

    def take(self, messages):
        self.messages += [Message({**message.shown, "id": Unknown("msg"), "thread_id": self.id,
                                   "run_id": None}, message.origin) for message in messages]


# ---- Lists ----

def page(entries, limit=20, order="desc", after=None, before=None):
    """What a list answers with, and whether there is more in that direction."""
    entries = list(entries) if order == "asc" else list(entries)[::-1]
    ids = [entry["id"] for entry in entries]
    first = ids.index(after) + 1 if after else 0
    last = ids.index(before) if before else len(ids)
    found = entries[first:last]
    shown = found[max(0, len(found) - limit):] if before and not after else found[:limit]
    return {"object": "list", "data": shown, "has_more": len(found) > limit,
            "first_id": shown[0]["id"] if shown else None,
            "last_id": shown[-1]["id"] if shown else None}
