"""Random conversations, step by step beside a model of what the upstream should receive.

The seeds are fixed, so that a run of the checks says something about the change, not about its luck.
`tests/e2e/run.sh BUILD_DIR --walk MINUTES` takes fresh ones; RUNNEL_SEED=... repeats a walk.
"""

import dataclasses
import json
import os
import random

import httpx2
import pytest

from harness.chain_model import (Conversation, Item, Project, Refused, Response, as_json, chat,
                                 looks_like, match_calls, open_calls)
from harness.failures import HEADER, kept_failure
from harness.patience import patience
from harness.server import eventually
from harness.tools import GRAMMAR, WEATHER_FLAT

RECENT = 30  # what is asked for is among the newest of its kind
TOOLS = [WEATHER_FLAT, GRAMMAR]


def without_reasoning(message):
    """Which reasoning goes back to its upstream is a rule of its own: test_reasoning_back.py."""
    return {key: value for key, value in message.items() if key != "reasoning_content"}


class Walk:
    """One after another, whatever comes to mind, in two projects."""

    def __init__(self, clients, upstream, seed):
        self.random = random.Random(seed)
        self.clients = clients
        self.upstream = upstream
        self.projects = [Project() for _ in clients]
        self.ids = []  # of items, in whatever project, gone or not
        self.count = 0
        self.story = []
        self.who = 0

    # ---- What comes to mind ----

    def chance(self, percent):
        return self.random.random() * 100 < percent

    def word(self):
        self.count += 1
        return f"word {self.count}"

    def recent(self, kind, dead_too=False):
        found = [thing for thing in getattr(self.project, kind).values()
                 if dead_too or not thing.deleted]
        return self.random.choice(found[-RECENT:]) if found else None

    def call(self):
        self.count += 1
        sql = self.chance(30)
        arguments = {"input": self.word()} if sql else {"city": self.word()}
        return Item("call", (), call_id=f"call_{self.count}",
                    name="run_sql" if sql else "get_weather",
                    arguments=json.dumps(arguments, separators=(",", ":")))

    def output(self, call):
        return Item("output", (), call_id=call.call_id, name=call.name, text=self.word())

    def message(self, roles="user user user system developer assistant"):
        return Item("message", (), role=self.random.choice(roles.split()), text=self.word())

    def some_id(self):
        return self.random.choice(self.ids[-4 * RECENT:]) if self.ids else "msg_nope"

    def new_items(self, most=3):
        items = []
        for _ in range(self.random.randint(0, most)):
            if self.chance(25):
                items.append(self.some_id())
            elif self.chance(12):
                call = self.call()
                items += [call, self.output(call)]
            else:
                items.append(self.message())
        return items

    def answers(self, received):
        """Outputs of what waits for one; seldom not all, or one too many, or one again."""
        waiting = open_calls(received)
        items = [self.output(call) for call in waiting.values()]
        items = [item for item, call in zip(items, waiting.values())
                 if not call.cut or self.chance(20)]
        if items and self.chance(8):
            items.pop(self.random.randrange(len(items)))
        if self.chance(2):
            items.append(self.output(self.call()))
        known = [item for item in [*received, *items] if item.kind == "output"]
        if known and self.chance(6):
            again = self.random.choice(known)
            items.append(dataclasses.replace(again, text=again.text if self.chance(80) else "no"))
        self.random.shuffle(items)
        return items

    # ---- Asking ----

    @property
    def project(self):
        return self.projects[self.who]

    def ask(self, method, path, body=None):
        return self.clients[self.who].request(method, f"/v1{path}", json=body)

    def expect(self, method, path, body=None):
        answer = self.ask(method, path, body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def expect_refusal(self, refused, method, path, body=None):
        answer = self.ask(method, path, body)
        assert (answer.status_code, answer.json().get("error")) == (refused.status, refused.error)

    def listed(self, path):
        """A list from its beginning, in pages of some size."""
        limit, found = self.random.choice([3, 20, 100]), []
        page = {"has_more": True, "last_id": ""}
        while page["has_more"]:
            after = f"&after={page['last_id']}" if found else ""
            page = self.expect("GET", f"{path}?order=asc&limit={limit}{after}")
            found += page["data"]
        return found

    def name(self, items, data):
        """Items that were new get the ids that the server has given them."""
        assert len(items) == len(data), (items, data)
        for item, shown in zip(items, data):
            assert looks_like(item, shown), (item, shown)
            assert not item.id or item.id == shown["id"]
            item.id = shown["id"]
        self.ids += [item.id for item in items]

    # ---- Responses ----

    def script(self):
        """What the model says next: the items that come of it, and how the response ends."""
        group = ("answer", self.count)
        if self.chance(6):
            self.upstream.script({"answer": {"fault": {"kind": "status", "status": 400}}})
            return [], "failed"
        answer, items = {}, []
        if self.chance(20):
            answer["reasoning"] = self.word()
            items.append(Item("reasoning", group, text=answer["reasoning"]))
        if self.chance(75):
            answer["text"] = self.word()
            items.append(Item("message", group, role="assistant", text=answer["text"]))
        if "text" not in answer or self.chance(15):
            calls = [self.call() for _ in range(self.random.randint(1, 3))]
            for call in calls:
                call.group = group
            items += calls
            answer["tool_calls"] = [{"name": call.name, "id": call.call_id,
                                     "arguments": call.arguments} for call in calls]
        # Whether half a custom call is shown depends on how much of it is half.
        if self.chance(10) and not any(item.name == "run_sql" for item in items):
            return self.broken_off(answer, items)
        self.upstream.script({"answer": answer})
        return items, "completed"

    def broken_off(self, answer, items):
        """At its limit, or because the connection broke before it was said that it is complete."""
        items[-1].cut = True
        failed = self.chance(40)
        answer |= {"fault": {"kind": "no_end"}} if failed else {"finish_reason": "length"}
        self.upstream.script({"answer": answer})
        return items, "failed" if failed else "incomplete"

    def respond(self):
        previous = conversation = None
        received = []
        if self.chance(50):
            previous = self.recent("responses", self.chance(10))
        elif self.chance(60):
            conversation = self.recent("conversations", self.chance(5))
        if previous and previous.conversation and previous.status in ("failed", "cancelled"):
            previous = None
        if previous:
            received = previous.whole()
        elif conversation:
            received = list(conversation.items)
        given = self.answers(received) + self.new_items()
        if not given and not (previous or conversation):
            given = [self.message("user")]
        body = {"model": "demo", "tools": TOOLS, "input": [as_json(item) for item in given]}
        if len(given) == 1 and isinstance(given[0], Item) and given[0].role == "user":
            if self.chance(50):
                body["input"] = given[0].text
        if previous:
            body["previous_response_id"] = previous.id
        if conversation:
            body["conversation"] = conversation.id
        if self.chance(20):
            body["instructions"] = self.word()
        if self.chance(15):
            body["store"] = False
        elif self.chance(15):
            body["background"] = True
        if self.chance(40):
            body["stream"] = True
        try:
            received = self.project.context(previous and previous.id, conversation and conversation.id)
            new = self.project.resolve(given, received, ("input", self.count, self.who))
            new = match_calls(received, new)
        except Refused as refused:
            self.upstream.script({"answer": {"text": "Never said."}})
            self.expect_refusal(refused, "POST", "/responses", body)
            return
        if self.chance(3):
            self.stop(body, received, new, conversation)
        else:
            self.go_on(body, received, new, conversation)

    def stop(self, body, received, new, conversation):
        """What was said so far is shown to nobody."""
        calls = [self.call(), self.call()]
        self.upstream.script({"answer": {
            "text": "a b", "split": "word", "tool_calls": [
                {"name": call.name, "id": call.call_id, "arguments": call.arguments}
                for call in calls],
            "fault": {"kind": "stall", "after": self.random.randint(0, 6)}}})
        self.upstream.forget()
        body = {key: value for key, value in body.items() if key not in ("store", "stream")}
        path = f"/responses/{self.expect('POST', '/responses', {**body, 'background': True})['id']}"
        eventually(self.upstream.chats)
        assert self.expect("POST", f"{path}/cancel")["status"] == "cancelled"
        made = self.expect("GET", path)
        assert (made["status"], made["output"]) == ("cancelled", [])
        self.name(new, self.listed(f"{path}/input_items"))
        self.project.responses[made["id"]] = Response(
            made["id"], "cancelled", received, new, [], conversation.id if conversation else "")

    def go_on(self, body, received, new, conversation):
        said, status = self.script()
        self.upstream.forget()
        made = self.end_of(body)
        expected = chat(received + new, body.get("instructions"))
        (asked,) = self.upstream.chats()
        assert [without_reasoning(message) for message in asked["messages"]] == expected
        assert made["status"] == status, made
        if made["output"] is not None:
            self.name(said, made["output"])
        if body.get("store") is False:
            return
        self.name(new, self.listed(f"/responses/{made['id']}/input_items"))
        response = Response(made["id"], status, received, new, said,
                            conversation.id if conversation else "")
        self.project.responses[response.id] = response
        if conversation and status != "failed":
            conversation.items += new + said

    def failure_of(self, answer):
        """Without a stored response nobody can say what its output was."""
        if HEADER in answer.headers:
            return kept_failure(self.clients[self.who], answer)
        return {"status": "failed", "output": None}

    def end_of(self, body):
        if not body.get("stream"):
            answer = self.ask("POST", "/responses", body)
            if answer.status_code != 200:
                return self.failure_of(answer)
            made = answer.json()
            if made["background"]:
                made = eventually(lambda: self.expect("GET", f"/responses/{made['id']}"),
                                  lambda now: now["status"] not in ("queued", "in_progress"))
            return made
        answer = self.ask("POST", "/responses", body)
        assert answer.status_code == 200, answer.text
        last = [line for line in answer.text.split("\n") if line.startswith("data: {")][-1]
        return json.loads(last.removeprefix("data: "))["response"]

    def forget_response(self):
        response = self.recent("responses", self.chance(10))
        if not response:
            return
        path = f"/responses/{response.id}"
        try:
            self.project.response(response.id)
            assert self.expect("DELETE", path)["deleted"] is True
            response.deleted = True
        except Refused as refused:
            for method, tail in (("DELETE", ""), ("GET", ""), ("GET", "/input_items"),
                                 ("POST", "/cancel")):
                self.expect_refusal(refused, method, path + tail)

    def look_at_response(self):
        response = self.recent("responses")
        if not response:
            return
        shown = self.expect("GET", f"/responses/{response.id}")
        assert shown["status"] == response.status
        self.name(response.output, shown["output"])
        self.name(response.input, self.listed(f"/responses/{response.id}/input_items"))

    # ---- Conversations ----

    def converse(self):
        given = self.new_items()
        body = {"items": [as_json(item) for item in given]}
        try:
            items = self.project.resolve(given, [], ("added", self.who), "items")
        except Refused as refused:
            self.expect_refusal(refused, "POST", "/conversations", body)
            return
        made = Conversation(self.expect("POST", "/conversations", body)["id"], items)
        self.name(items, self.listed(f"/conversations/{made.id}/items"))
        self.project.conversations[made.id] = made

    def add_items(self):
        conversation = self.recent("conversations", self.chance(5))
        given = self.new_items() or [self.message()]
        if not conversation:
            return
        path, body = f"/conversations/{conversation.id}/items", {
            "items": [as_json(item) for item in given]}
        try:
            items = self.project.resolve(given, [], ("added", self.who), "items")
            self.project.conversation(conversation.id)
        except Refused as refused:
            self.expect_refusal(refused, "POST", path, body)
            return
        self.name(items, self.expect("POST", path, body)["data"])
        conversation.items += items

    def take_out(self):
        conversation = self.recent("conversations")
        if not conversation or not conversation.items:
            return
        item = self.random.choice(conversation.items)
        if item.kind == "call":
            return  # its output would be left alone
        path = f"/conversations/{conversation.id}/items/{item.id}"
        assert self.expect("DELETE", path)["id"] == conversation.id
        conversation.items.remove(item)
        self.expect_refusal(Refused(404, f"Item with id '{item.id}' not found in conversation "
                                         f"'{conversation.id}'."), "GET", path)

    def forget_conversation(self):
        conversation = self.recent("conversations", self.chance(10))
        if not conversation:
            return
        path = f"/conversations/{conversation.id}"
        try:
            self.project.conversation(conversation.id)
            assert self.expect("DELETE", path)["deleted"] is True
            conversation.deleted = True
        except Refused as refused:
            for method, tail in (("GET", ""), ("DELETE", ""), ("GET", "/items")):
                self.expect_refusal(refused, method, path + tail)

    def look_at_conversation(self):
        conversation = self.recent("conversations")
        if conversation:
            self.name(conversation.items, self.listed(f"/conversations/{conversation.id}/items"))

    # ---- All of it ----

    STEPS = {"respond": 60, "forget_response": 12, "look_at_response": 5, "converse": 6,
             "add_items": 6, "take_out": 6, "forget_conversation": 2, "look_at_conversation": 3}

    def go(self, steps):
        for step in range(steps):
            self.who = int(self.chance(20))
            does = self.random.choices(list(self.STEPS), self.STEPS.values())[0]
            self.story.append((step, self.who, does))
            getattr(self, does)()


@pytest.fixture
def clients(start_server):
    """Of two projects on a server that purges what was deleted early."""
    server = start_server(response_timeout=4)
    key = server.new_key("other")
    made = [httpx2.Client(base_url=server.url, timeout=patience(60),
                          headers={"Authorization": f"Bearer {one}"})
            for one in (server.settings["api_key"], key)]
    yield made
    for client in made:
        client.close()


@pytest.mark.parametrize("seed, steps", [(1, 200)] + [
    pytest.param(seed, steps, marks=[pytest.mark.slow, pytest.mark.timeout(600)])
    for seed, steps in ((2, 500), (876987948, 2000))])
def test_random_conversations_match_the_model(clients, upstream, seed, steps):
    seed = int(os.environ.get("RUNNEL_SEED", seed))
    walk = Walk(clients, upstream, seed)
    try:
        walk.go(steps)
    except Exception:
        print(f"RUNNEL_SEED={seed}, step {walk.story[-1]}")
        raise
