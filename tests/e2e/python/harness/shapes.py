"""Runs of every shape, driven by a client that does not give up when the server dies.

Each shape says what the model does, walks through its run to the end, starting the server again
where it has to, and then knows what must have come of it.
"""

import json

import httpx2

from .faults import FINAL, Log, listen, whole_frames
from .server import eventually
from .tools import WEATHER, WEATHER_FLAT

TEST_TOOLS = {"type": "mcp", "server_label": "test", "server_url": "builtin:test",
              "require_approval": "never"}


def count_call(path, number=1, name="test_count", **more):
    return {"name": name, "id": f"call_{number}", "arguments": {"path": str(path), **more}}


class Shape:
    tools = []
    answer = "And so it ends, not with a bang."  # what the model says last
    calls = []                                   # what it asks for first

    def __init__(self, server, upstream, path):
        self.server = server
        self.upstream = upstream
        self.path = path  # where test_count leaves its lines
        self.seen = ""    # what followers of this run got
        self.run = None
        upstream.script(*self.rules())
        upstream.forget()
        self.prepare()

    def rules(self):
        last = {"answer": {"text": self.answer, "piece_delay_ms": 5}}
        calls = self.made_calls()
        if not calls:
            return [last]
        return [{"match": {"tool_results": True}, **last}, {"answer": {"tool_calls": calls}}]

    def made_calls(self):
        return self.calls

    def counted(self):
        return self.path.read_text().split() if self.path.exists() else []

    def try_call(self, method, path, body=None):
        """The answer's status and body; None when the server died meanwhile, which lives again."""
        try:
            answer = self.server.api().request(method, path, json=body)
        except httpx2.HTTPError:
            self.server.restart()
            return None
        return answer

    def insist(self, method, path, body=None):
        answer = self.try_call(method, path, body) or self.try_call(method, path, body)
        assert answer is not None and answer.status_code == 200, answer and answer.text
        return answer.json()

    def listen(self, path, body):
        status, text, broken = listen(self.server.api(), path, body)
        assert status == 200, text
        self.seen += text
        if broken:
            self.server.restart()
        return text

    def log(self, database, url):
        return Log(database, url, self.run["id"])


# ---- Assistants ----


class AssistantsRun(Shape):
    outputs = []
    submit_streams = False

    def prepare(self):
        api = self.server.api()
        assistant = api.post("/assistants", json={"model": "demo", "tools": self.tools}).json()
        thread = api.post("/threads", json={
            "messages": [{"role": "user", "content": "Please do."}]}).json()
        self.assistant, self.thread = assistant["id"], thread["id"]
        self.base = f"/threads/{self.thread}/runs"

    def beginning(self):
        return self.base, {"assistant_id": self.assistant}

    def find(self):
        runs = self.insist("GET", self.base)["data"]
        assert len(runs) <= 1
        return runs[0] if runs else None

    def settle(self, *statuses):
        def ask():
            self.run = self.insist("GET", f"{self.base}/{self.run['id']}")
            return self.run["status"]
        return eventually(ask, lambda status: status in statuses, seconds=30)

    def walk(self):
        while not self.run:
            self.listen(*self.beginning())
            self.run = self.find()
        if self.settle("requires_action", *FINAL) == "requires_action":
            self.answer_calls()
            self.settle(*FINAL)

    def answer_calls(self):
        path = f"{self.base}/{self.run['id']}/submit_tool_outputs"
        body = {"tool_outputs": self.outputs}
        if self.submit_streams:
            self.listen(path, body)
        # Again after a crash; to say the same twice does no harm.
        self.insist("POST", path, body)

    def messages(self):
        listed = self.insist("GET", f"/threads/{self.thread}/messages?order=asc")["data"]
        return [m for m in listed if m["role"] == "assistant"]

    def check(self, database, url):
        run = self.run
        assert run["status"] == "completed", run
        assert run["last_error"] is None and run["required_action"] is None
        assert run["usage"]["total_tokens"] > 0
        self.check_messages()
        self.check_steps()
        self.check_log(self.log(database, url))
        self.check_cut(self.log(database, url))
        check_database(database, url, self.run["id"])

    def check_messages(self):
        assert [(m["status"], text_of(m)) for m in self.messages()] == [("completed", self.answer)]

    def check_cut(self, log):
        """What a crash has cut was closed, and is gone."""
        kept = [message["id"] for message in self.messages()]
        closed = [data["id"] for name, data in log.events if name == "thread.message.completed"]
        assert closed == kept
        for name, data in log.events:
            if name == "thread.message.incomplete":
                answer = self.try_call("GET", f"/threads/{self.thread}/messages/{data['id']}")
                assert answer.status_code == 404

    def check_steps(self):
        steps = self.insist("GET", f"{self.base}/{self.run['id']}/steps?order=asc")["data"]
        assert all(step["status"] in ("completed", "failed") for step in steps)
        done = [step for step in steps if step["status"] == "completed"]
        assert done and done[-1]["type"] == "message_creation"
        calls = [call["id"] for step in done if step["type"] == "tool_calls"
                 for call in step["step_details"]["tool_calls"]]
        assert calls == self.shown_calls(), steps

    def shown_calls(self):
        return [call["id"] for call in self.made_calls()]

    def check_log(self, log):
        names = log.names()
        assert names[:3] == ["thread.run.created", "thread.run.queued", "thread.run.in_progress"]
        assert names[-1] == "thread.run.completed"
        assert names.count("thread.run.completed") == 1
        self.check_received(log)
        messages = {}
        for name, data in log.events:
            if name == "thread.message.delta":
                messages[data["id"]] += data["delta"]["content"][0]["text"]["value"]
            elif name == "thread.message.created":
                messages[data["id"]] = ""
            elif name in ("thread.message.completed", "thread.message.incomplete"):
                assert text_of(data) == messages.pop(data["id"])
        assert not messages, "messages that were never closed"
        named = [(data["id"], call["index"]) for name, data in log.events
                 if name == "thread.run.step.delta"
                 for call in data["delta"]["step_details"]["tool_calls"] if "id" in call]
        assert len(set(named)) == len(named), "two calls in one place"
        opened = [data["id"] for name, data in log.events if name == "thread.run.step.created"]
        ended = [data["id"] for name, data in log.events
                 if name in ("thread.run.step.completed", "thread.run.step.failed")]
        assert sorted(opened) == sorted(ended) and len(set(opened)) == len(opened)

    def check_received(self, log):
        """Received frames are those of the log, up to where a listener was cut off."""
        logged = [frame for frame in log.text.split("\n\n") if frame]
        received = whole_frames(self.seen)
        at = 0
        for frame in received:
            assert frame in logged[at:], f"received, but not in the log: {frame}"
            at += logged[at:].index(frame) + 1
        first = len(received) if not self.outputs else 0
        assert logged[:first] == received[:first]


class Text(AssistantsRun):
    pass


class Client(AssistantsRun):
    tools = [WEATHER]
    calls = [{"name": "get_weather", "id": "call_1", "arguments": {"city": "Paris"}}]
    outputs = [{"tool_call_id": "call_1", "output": "sunny"}]

    def check(self, database, url):
        super().check(database, url)
        messages = self.upstream.chats()[-1]["messages"]
        sent = [(m["role"], m.get("content")) for m in messages if m["role"] == "tool"]
        assert sent == [("tool", "sunny")], messages


class ClientStreamed(Client):
    submit_streams = True


class ServerTools(AssistantsRun):
    tools = [TEST_TOOLS]

    def made_calls(self):
        return [count_call(self.path, 1, ms=80),
                count_call(self.path, 2, name="test_count_idempotent", ms=80),
                {"name": "test_stream", "id": "call_3", "arguments": {
                    "pieces": ["a", "b", "c"], "ms": 40}}]

    def check_steps(self):
        steps = self.insist("GET", f"{self.base}/{self.run['id']}/steps?order=asc")["data"]
        assert all(step["status"] in ("completed", "failed") for step in steps)
        assert steps[-1]["type"] == "message_creation" and steps[-1]["status"] == "completed"
        calls = [call["id"] for step in steps if step["type"] == "tool_calls" and
                 step["status"] == "completed" for call in step["step_details"]["tool_calls"]]
        assert sorted(calls) == ["call_1", "call_2", "call_3"], steps

    def check(self, database, url):
        super().check(database, url)
        lines = self.counted()
        assert lines.count("call_1") <= 1, "ran twice"
        assert 1 <= lines.count("call_2") <= 2
        messages = self.upstream.chats()[-1]["messages"]
        sent = {m["tool_call_id"]: m["content"] for m in messages if m["role"] == "tool"}
        assert sorted(sent) == ["call_1", "call_2", "call_3"]
        assert sent["call_2"] == "done"
        for number in ("call_1", "call_3"):
            assert sent[number] == "done" or "restarted" in sent[number], sent
        if sent["call_1"] == "done":
            assert lines.count("call_1") == 1


class Mixed(ServerTools):
    tools = [TEST_TOOLS, WEATHER]
    outputs = [{"tool_call_id": "call_3", "output": "sunny"}]

    def made_calls(self):
        return [count_call(self.path, 1, ms=80),
                count_call(self.path, 2, name="test_count_idempotent", ms=80),
                {"name": "get_weather", "id": "call_3", "arguments": {"city": "Paris"}}]

    def answer_calls(self):
        asked = self.run["required_action"]["submit_tool_outputs"]["tool_calls"]
        assert [call["id"] for call in asked] == ["call_3"]
        super().answer_calls()

    def check(self, database, url):
        AssistantsRun.check(self, database, url)
        lines = self.counted()
        assert lines.count("call_1") <= 1, "ran twice"
        messages = self.upstream.chats()[-1]["messages"]
        sent = {m["tool_call_id"]: m["content"] for m in messages if m["role"] == "tool"}
        assert sorted(sent) == ["call_1", "call_2", "call_3"] and sent["call_3"] == "sunny"


class Hidden(AssistantsRun):
    tools = [TEST_TOOLS]
    calls = [{"name": "test_hidden", "id": "call_1", "arguments": {"pieces": ["unseen"],
                                                                   "text": "secret"}}]

    def shown_calls(self):
        return []

    def check_log(self, log):
        super().check_log(log)
        assert "secret" not in log.text and "unseen" not in log.text and "call_1" not in log.text


class Final(AssistantsRun):
    """The tool's text is the answer, unless it was interrupted: then the model says something."""
    tools = [TEST_TOOLS]
    calls = [{"name": "test_final", "id": "call_1", "arguments": {
        "pieces": ["The tool ", "says ", "it ", "all."], "ms": 15}}]

    def check_messages(self):
        [message] = self.messages()
        assert message["status"] == "completed"
        assert text_of(message) in ("The tool says it all.", self.answer)

    def check_steps(self):
        steps = self.insist("GET", f"{self.base}/{self.run['id']}/steps?order=asc")["data"]
        assert all(step["status"] in ("completed", "failed") for step in steps)


def limit_rules(path, answer):
    """One round, a call beyond the limit, and the last answer."""
    return [{"match": {"user": "[SYSTEM]"}, "answer": {"text": answer, "piece_delay_ms": 5}},
            {"match": {"tool_results": True}, "answer": {"tool_calls": [count_call(path, 2)]}},
            {"answer": {"tool_calls": [count_call(path, 1, ms=40)]}}]


def check_limit(shape, log):
    """A call beyond the limit never runs, and the server's note to the model is not shown."""
    lines = shape.counted()
    assert lines.count("call_1") <= getattr(shape, "attempts", 1) and "call_2" not in lines, lines
    last = shape.upstream.chats()[-1]
    assert last["tool_choice"] == "none" and last["messages"][-1]["content"].startswith("[SYSTEM]")
    sent = {m["tool_call_id"]: m["content"] for m in last["messages"] if m["role"] == "tool"}
    assert sent["call_1"] == "done" or "restarted" in sent["call_1"], sent
    assert json.loads(sent["call_2"])["reason"] == "max_rounds_reached"
    assert "[SYSTEM]" not in log.text


class Limit(AssistantsRun):
    """Its rounds are used up: the last answer is demanded."""
    tools = [TEST_TOOLS]

    def rules(self):
        return limit_rules(self.path, self.answer)

    def beginning(self):
        path, body = super().beginning()
        return path, {**body, "runnel": {"rounds": {"max": 1}}}

    def shown_calls(self):
        return ["call_1", "call_2"]

    def check(self, database, url):
        super().check(database, url)
        assert self.run["runnel"]["stats"]["rounds"] == self.run["runnel"]["stats"]["calls"] == 1
        check_limit(self, self.log(database, url))


# ---- Responses ----


class ResponsesRun(Shape):
    body = {}
    streams = True

    def prepare(self):
        pass

    def beginning(self):
        return "/responses", self.request()

    def request(self):
        return {"model": "demo", "input": "Please do.", "tools": self.tools, **self.body}

    def made(self, text):
        for line in text.splitlines():
            if line.startswith("data: {"):
                return json.loads(line[6:])["response"]["id"]
        return None


class Background(ResponsesRun):
    body = {"background": True}

    attempts = 0  # a response whose id never arrived continues, too

    def walk(self):
        made = None
        while not made:
            self.attempts += 1
            if self.streams:
                made = self.made(self.listen(*self.beginning()))
            else:
                answer = self.try_call("POST", "/responses", self.request())
                if answer is not None:
                    assert answer.status_code == 200, answer.text
                    assert answer.json()["status"] in ("queued", "in_progress")
                    made = answer.json()["id"]
            if not made:
                self.seen = ""

        def ask():
            self.run = self.insist("GET", f"/responses/{made}")
            return self.run["status"]
        eventually(ask, lambda status: status in FINAL, seconds=30)

    def check(self, database, url):
        run = self.run
        assert run["status"] == "completed" and run["error"] is None, run
        assert run["usage"]["total_tokens"] > 0
        messages = [item for item in run["output"] if item["type"] == "message"]
        assert [(m["status"], m["content"][0]["text"]) for m in messages] == [("completed", self.answer)]
        self.check_log(self.log(database, url))
        check_database(database, url, run["id"])

    def check_log(self, log):
        names = log.names()
        assert names[:3] == ["response.created", "response.queued", "response.in_progress"]
        assert names[-1] == "response.completed" and names.count("response.completed") == 1
        assert log.is_numbered()
        received = whole_frames(self.seen)
        assert [frame for frame in log.text.split("\n\n") if frame][:len(received)] == received
        opened = [data["item"]["id"] for name, data in log.events
                  if name == "response.output_item.added"]
        closed = [data["item"]["id"] for name, data in log.events
                  if name == "response.output_item.done"]
        assert opened == closed and len(set(opened)) == len(opened)
        opened_parts, closed_parts = (names.count(f"response.content_part.{end}") for end in ("added", "done"))
        assert opened_parts == closed_parts
        final = [item["id"] for item in log.events[-1][1]["response"]["output"]]
        assert final == [item["id"] for item in self.run["output"]]
        assert final == [item for item in opened if item in final]
        places = [data["output_index"] for name, data in log.events
                  if name == "response.output_item.added"]
        assert places == list(range(len(places)))


class InConversation(Background):
    """Its items become the conversation's when it has ended, and not before."""

    def beginning(self):
        made = None
        while made is None:
            made = self.try_call("POST", "/conversations", {"items": [
                {"type": "message", "role": "user", "content": "Before."}]})
        self.conversation = made.json()["id"]
        return "/responses", {**self.request(), "conversation": self.conversation}

    def check(self, database, url):
        super().check(database, url)
        items = self.insist("GET", f"/conversations/{self.conversation}/items?order=asc")["data"]
        said = [item["content"][0]["text"] for item in items]
        assert said == ["Before.", "Please do.", self.answer], items
        sent = [m["content"] for m in self.upstream.chats()[-1]["messages"]]
        assert sent == ["Before.", "Please do."]
        for name, data in self.log(database, url).events:
            if name == "response.output_item.done" and data["item"]["status"] == "incomplete":
                path = f"/conversations/{self.conversation}/items/{data['item']['id']}"
                assert self.try_call("GET", path).status_code == 404


class BackgroundQuiet(Background):
    streams = False


class BackgroundTools(Background):
    tools = [TEST_TOOLS]

    def made_calls(self):
        return [count_call(self.path, 1, ms=80),
                count_call(self.path, 2, name="test_count_idempotent", ms=80),
                {"name": "test_search", "id": "call_3", "arguments": {"ms": 80, "query": "x"}}]

    def check(self, database, url):
        super().check(database, url)
        lines = self.counted()
        assert lines.count("call_1") <= self.attempts
        assert 1 <= lines.count("call_2") <= self.attempts + 1


class BackgroundLimit(Background):
    tools = [TEST_TOOLS]
    body = {"background": True, "runnel": {"rounds": {"max": 1}}}

    def rules(self):
        return limit_rules(self.path, self.answer)

    def check(self, database, url):
        super().check(database, url)
        calls = [item for item in self.run["output"] if item["type"] == "mcp_call"]
        assert calls[-1]["status"] == "incomplete" and calls[0]["status"] in ("completed", "failed")
        check_limit(self, self.log(database, url))


class Foreground(ResponsesRun):
    """Its client is gone with the server: it is over, and says so."""
    tools = [WEATHER_FLAT]

    def walk(self):
        text = self.listen(*self.beginning())
        made = self.made(text)
        self.run = None
        if not made:
            return

        def ask():
            answer = self.try_call("GET", f"/responses/{made}")
            return answer if answer is not None and answer.status_code == 200 else None
        self.run = eventually(ask, seconds=30).json()

    def check(self, database, url):
        if self.run:
            assert self.run["status"] in ("failed", "completed")
            if "response.completed" in self.seen:
                assert self.run["status"] == "completed"
            if self.run["status"] == "failed":
                assert self.run["error"]["code"] == "server_error"
            else:
                assert self.run["output"][0]["content"][0]["text"] == self.answer
        check_database(database, url)


# ---- What holds for all ----


def text_of(message):
    return "".join(part["text"]["value"] for part in message["content"])


def check_database(database, url, run_id=None):
    """The database has no half-finished objects."""
    def left(sql):
        return database.ask(sql, url=url)
    eventually(lambda: left("SELECT run_id, owner, wait_until FROM run_leases"),
               lambda rows: rows == [])
    assert left("SELECT id, status FROM runs WHERE status IN"
                " ('queued', 'in_progress', 'requires_action', 'cancelling')") == []
    assert left("SELECT id, type FROM items WHERE status = 'in_progress'") == []
    assert left("SELECT id, type FROM run_steps WHERE status = 'in_progress'") == []
    if run_id:
        assert left("SELECT call_id, state FROM tool_calls"
                    f" WHERE run_id = '{run_id}' AND state <> 'done'") == []
