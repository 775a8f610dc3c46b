"""When each event of a stream leaves, for every kind of run: the rule of core/run/turn/run_write.c.

The model sends its next piece once the client has received the last one, so what is held back without need is
missed. What a commit must come before is seen not to leave while the test keeps the database from writing.
"""

import json
import threading

import pytest

from harness.live import LiveModel, Socket, Stream
from harness.mcp import McpServers, TEXT_ARGUMENT, text, tool
from harness.server import Server, eventually
from harness.tools import WEATHER, WEATHER_FLAT

GROUP = {"type": "mcp", "server_label": "test", "server_url": "builtin:test",
         "require_approval": "never"}
ASKED = {**GROUP, "require_approval": "always"}
LONG = "a" * 8000  # more than the threshold below
COMPACTED = [{"type": "compaction", "compact_threshold": 1000}]


# ---- Kinds of runs ----

class Kind:
    """A way to have a run, and the words of its stream."""

    begins, ends = "response.created", "response.completed"
    waits = ends  # for what its client has to do
    written = "runs"  # what its first event waits for is written there
    weather = WEATHER_FLAT
    more = {}  # of its requests

    def __init__(self, server, model, database):
        self.server, self.model, self.database = server, model, database
        self.http, self.url = server.http(), server.settings["database_url"]
        self.open_streams = []

    def body(self, **more):
        return {"model": "demo", "input": "go", "stream": True, **self.more, **more}

    def keep(self, stream):
        self.open_streams.append(stream)
        return stream

    def stream(self, path, body):
        return self.keep(Stream(self.server, self.model.journal, path, body))

    def ask(self, **more):
        return self.stream("/v1/responses", self.body(**more))

    def said(self, piece):
        return lambda name, data: name == "response.output_text.delta" and data["delta"] == piece

    def argued(self, piece):
        return lambda name, data: (name == "response.function_call_arguments.delta"
                                   and data["delta"] == piece)

    def output(self, response):
        return response["response"]["output"]

    def question(self, waiting):
        return next(item["id"] for item in self.output(waiting)
                    if item["type"] == "mcp_approval_request")

    def go_on_approved(self, waiting, **more):
        return self.ask(previous_response_id=waiting["response"]["id"], input=[
            {"type": "mcp_approval_response", "approval_request_id": self.question(waiting),
             "approve": True}], **more)

    def go_on_answered(self, waiting, **more):
        call = next(item for item in self.output(waiting) if item["type"] == "function_call")
        return self.ask(previous_response_id=waiting["response"]["id"], input=[
            {"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"}], **more)

    def close(self):
        for stream in self.open_streams:
            stream.close()

    def without_writes(self, tables=None):
        self.model.journal.note("nothing can be written")
        return self.database.without_writes(tables or self.written, self.url)

    def has_begun_to_write(self):
        eventually(lambda: self.database.awaits_lock(self.url))


class Foreground(Kind):
    pass


class Unstored(Kind):
    more = {"store": False}


class Background(Kind):
    written = "run_events"
    more = {"background": True}


class OverSocket(Kind):
    def ask(self, **more):
        body = self.body(**more)
        del body["stream"]
        return self.keep(Socket(self.server, self.model.journal, body))


class InConversation(Kind):
    """It is in the store before its loop has it."""

    conversation = None

    def ask(self, previous_response_id=None, **more):
        if not self.conversation:
            self.conversation = self.http.post("/v1/conversations", json={}).json()["id"]
        return super().ask(conversation=self.conversation, **more)


class UnstoredOverSocket(OverSocket):
    more = {"store": False}


class Thread(Kind):
    """A run of the Assistants API."""

    waits = "thread.run.requires_action"
    begins, ends = "thread.run.created", "thread.run.completed"
    written = "run_events"
    weather = WEATHER

    def ask(self, tools=(), **more):
        made = self.http.post("/v1/assistants", json={"model": "demo", "tools": list(tools)})
        assert made.status_code == 200, made.text
        return self.stream("/v1/threads/runs", {
            "assistant_id": made.json()["id"], "stream": True,
            "thread": {"messages": [{"role": "user", "content": "go"}]}, **more})

    def submit(self, run, output):
        return self.stream(
            f"/v1/threads/{run['thread_id']}/runs/{run['id']}/submit_tool_outputs",
            {"stream": True, "tool_outputs": [{"tool_call_id": self.question(run), "output": output}]})

    def question(self, run):
        return run["required_action"]["submit_tool_outputs"]["tool_calls"][0]["id"]

    def go_on_approved(self, run, **_):
        return self.submit(run, json.dumps({"approve": True}))

    def go_on_answered(self, run, **_):
        return self.submit(run, "sunny")

    def said(self, piece):
        return lambda name, data: (name == "thread.message.delta"
                                   and data["delta"]["content"][0]["text"]["value"] == piece)

    def argued(self, piece):
        def matches(name, data):
            if name != "thread.run.step.delta":
                return False
            call, = data["delta"]["step_details"]["tool_calls"]
            return call["function"].get("arguments") == piece
        return matches


FOREGROUND = [Foreground, OverSocket, InConversation]
UNSTORED = [Unstored, UnstoredOverSocket]
RESUMABLE = [Background, Thread]
STORED = [*FOREGROUND, *RESUMABLE]
BEGUN_BY_A_WRITE = [Foreground, OverSocket, *RESUMABLE]  # of their loop
KINDS = [*STORED, *UNSTORED]


# ---- A server, its model, and an MCP server ----

@pytest.fixture(scope="module")
def mcp():
    servers = McpServers()
    yield servers
    servers.stop()


@pytest.fixture(scope="module")
def model():
    model = LiveModel()
    yield model
    model.close()


@pytest.fixture(scope="module")
def its_server(binary, scratch, recorder, database, mcp, model):
    directory = scratch / "send-order"
    directory.mkdir(mode=0o755)
    config = directory / "runnel.yaml"
    config.write_text(f"network: {{allow_internal_hosts: [\"127.0.0.1:{mcp.port}\"]}}\n")
    server = Server(binary, directory, model.url, recorder, config=config,
                    database_url=database.new())
    yield server.start()
    status = server.stop()
    assert not server.process.sanitizer_report()
    assert status == 0, server.process.errors()[-4000:]


@pytest.fixture
def have(its_server, model, database):
    """have(Kind) -> a way to have such runs."""
    made = []

    def have(kind):
        made.append(kind(its_server, model, database))
        return made[-1]

    model.start()
    yield have
    for one in made:
        one.close()
    model.stop()
    assert its_server.ended() is None
    http = its_server.http()
    eventually(lambda: "\nrunnel_runs_live 0\n" in http.get("/metrics").text)


class Remote:
    """A remote MCP server, which lists its tools when the test lets it."""

    def __init__(self, mcp, path, journal):
        self.may_list = threading.Event()
        self.entry = mcp.entry(path)
        world = mcp.world(path, (tool("echo", "Says it again.", TEXT_ARGUMENT),
                                 lambda a: text("echo: " + a["text"])))

        def list_tools(handler, message):
            self.may_list.wait(60)
            journal.note("MCP server lists its tools")
            handler.answer(message, world.result(message))
        world.on("tools/list", list_tools)


@pytest.fixture
def remote(mcp, model):
    remote = Remote(mcp, f"remote-{len(mcp.http.worlds)}", model.journal)
    yield remote
    remote.may_list.set()


# ---- What happens before the model writes ----

class Plain:
    """No tools."""

    def __init__(self, kind, model, remote, log):
        self.kind, self.model, self.remote, self.log = kind, model, remote, log

    def request(self):
        return {}

    def begin(self):
        """Everything until the model is requested to write the text of the test."""
        return self.model.asked()


class BuiltIn(Plain):
    """A tool of the server, which the model calls first."""

    def request(self):
        return {"tools": [GROUP]}

    def begin(self):
        self.model.asked().call("test_count", path=self.log.name, text="counted")
        return self.model.asked()


class FirstListing(Plain):
    """A remote MCP server that the conversation does not know yet."""

    def request(self):
        return {"tools": [self.remote.entry]}

    def begin(self):
        self.remote.may_list.set()
        return self.model.asked()


class RemoteCall(FirstListing):
    """And that is called."""

    def begin(self):
        super().begin().call("echo", text="a")
        return self.model.asked()


class CachedListing(RemoteCall):
    """One that the conversation knows."""

    def request(self):
        self.remote.may_list.set()
        before = Foreground(self.kind.server, self.model, self.kind.database)
        stream = before.ask(tools=[self.remote.entry])
        turn = self.model.asked()
        turn.say("Known.")
        turn.end()
        known = stream.name("response.completed")["response"]["id"]
        before.close()
        self.remote.may_list.clear()
        return {"tools": [self.remote.entry], "previous_response_id": known}

    def begin(self):
        self.model.asked().call("echo", text="a")
        return self.model.asked()


class Compacted(Plain):
    """A conversation that is made short first."""

    def request(self):
        return {"input": [{"role": "assistant", "content": LONG}, {"role": "user", "content": "go"}],
                "context_management": COMPACTED}

    def begin(self):
        turn = self.model.asked()
        turn.say("They met.")
        turn.end()
        return self.model.asked()


BEGINNINGS = [Plain, BuiltIn, FirstListing, RemoteCall]
OF_RESPONSES = [*BEGINNINGS, CachedListing, Compacted]


def ways(*kinds):
    every = [(kind, beginning) for kind in kinds
             for beginning in (BEGINNINGS if kind is Thread else OF_RESPONSES)
             if (kind, beginning) != (InConversation, CachedListing)]
    return pytest.mark.parametrize("which, beginning", every,
                                   ids=[f"{k.__name__}-{b.__name__}" for k, b in every])


def kinds(*which):
    return pytest.mark.parametrize("which", which, ids=[one.__name__ for one in which])


def speak(kind, stream, turn, *pieces):
    """Each has left before the next one is said."""
    for piece in pieces:
        turn.say(piece)
        stream.until(kind.said(piece), repr(piece))


def say_and_end(kind, stream, turn):
    speak(kind, stream, turn, "One ", "two ", "three.")
    turn.end()
    stream.name(kind.ends)


# ---- What leaves at once ----

@ways(*KINDS)
def test_each_piece_is_sent_before_the_next_one_is_written(have, model, remote, log, which, beginning):
    kind = have(which)
    before = beginning(kind, model, remote, log)
    stream = kind.ask(**before.request())
    stream.name(kind.begins)  # whatever MCP servers and models do with their time
    say_and_end(kind, stream, before.begin())


@ways(*BEGUN_BY_A_WRITE)
def test_events_during_the_first_write_do_not_delay_it(
        have, model, remote, log, which, beginning):
    """The write of its beginning cannot carry what comes of it meanwhile. Calls of a resumable run wait for
    that write, those of others go on."""
    kind = have(which)
    before = beginning(kind, model, remote, log)
    request = before.request()
    calls = issubclass(beginning, (BuiltIn, RemoteCall))
    with kind.without_writes():
        stream = kind.ask(**request)
        kind.has_begun_to_write()
        turn = None if which in RESUMABLE and calls else before.begin()
        assert stream.now() == [], "nothing of it was committed"
    stream.name(kind.begins)
    say_and_end(kind, stream, turn or before.begin())


@ways(*UNSTORED)
def test_a_response_that_is_not_stored_waits_for_no_write(have, model, remote, log, which, beginning):
    kind = have(which)
    before = beginning(kind, model, remote, log)
    request = before.request()
    with kind.without_writes("runs, items, run_events"):
        stream = kind.ask(**request)
        stream.name(kind.begins)
        say_and_end(kind, stream, before.begin())


@pytest.mark.threads
@kinds(*FOREGROUND)
def test_text_of_a_foreground_response_waits_for_no_write(have, database, which):
    kind = have(which)
    stream = kind.ask()
    stream.name(kind.begins)
    turn = kind.model.asked()
    with database.frozen():
        speak(kind, stream, turn, "One ", "two.")
    with kind.without_writes("runs, items"):
        turn.end()
        kind.has_begun_to_write()
        assert kind.ends not in stream.now(), "its end is not committed"
    stream.name(kind.ends)


@kinds(*KINDS)
def test_arguments_are_sent_while_the_model_writes_them(have, which):
    """And what follows the output is sent as it is written."""
    kind = have(which)
    tools = {"tools": [kind.weather]}
    stream = kind.ask(**tools)
    turn = kind.model.asked()
    turn.begin_call("get_weather")
    for piece in ('{"city"', ': "Pa', 'ris"}'):
        turn.add_arguments(piece)
        stream.until(kind.argued(piece), piece)
    turn.end("tool_calls")
    waiting = stream.name(kind.waits)
    if which in UNSTORED:
        return  # there is nothing to go on from
    stream = kind.go_on_answered(waiting, **tools)
    say_and_end(kind, stream, kind.model.asked())


# ---- What waits for its write, and for no longer ----

@kinds(*RESUMABLE)
def test_text_of_a_resumable_run_is_sent_once_it_is_in_the_log(have, which):
    kind = have(which)
    stream = kind.ask()
    stream.name(kind.begins)
    turn = kind.model.asked()
    speak(kind, stream, turn, "One ")
    with kind.without_writes():
        turn.say("two ")
        kind.has_begun_to_write()
        stream.now()
        assert not any(kind.said("two ")(*event) for event in stream.received)
    stream.until(kind.said("two "), "'two '")
    say_and_end(kind, stream, turn)


def ids_of_questions(stream):
    return [data["item"]["id"] for name, data in stream.received if name == "response.output_item.added"
            and data["item"]["type"] == "mcp_approval_request"]


@kinds(*STORED)
def test_an_approval_request_is_sent_once_it_can_be_answered(have, log, which):
    """Then the run goes on, and what it says leaves as it is said."""
    kind = have(which)
    stream = kind.ask(tools=[ASKED])
    stream.name(kind.begins)
    turn = kind.model.asked()
    with kind.without_writes("approvals, tool_calls"):
        turn.call("test_count", path=log.name, text="counted")
        kind.has_begun_to_write()
        stream.now()
        assert not ids_of_questions(stream) and kind.waits not in stream.now()
    waiting = stream.name(kind.waits)
    shown = kind.http.get(f"/v1/runnel/approvals/{kind.question(waiting)}").json()
    assert shown["status"] == "pending"
    stream = kind.go_on_approved(waiting, tools=[ASKED])
    turn = kind.model.asked()
    assert log.lines() == ["call_1"]
    say_and_end(kind, stream, turn)


@kinds(*FOREGROUND)
def test_a_hold_is_announced_once_answers_can_be_given(have, log, which):
    kind = have(which)
    stream = kind.ask(tools=[ASKED], runnel={"approval": {"channel": "hold"}})
    stream.name(kind.begins)
    turn = kind.model.asked()
    with kind.without_writes("approvals"):
        turn.call("test_count", path=log.name, text="counted")
        kind.has_begun_to_write()
        assert "keepalive" not in stream.now()
    (question,) = stream.name("keepalive")["runnel"]["approval_requests"]
    answered = kind.http.post(f"/v1/runnel/approvals/{question['id']}", json={"approve": True})
    assert answered.status_code == 200, answered.text
    say_and_end(kind, stream, kind.model.asked())


# ---- What the run does once something is committed ----

@kinds(*RESUMABLE)
def test_a_call_runs_once_it_is_committed(have, log, which):
    """Not when the write comes back that was under way when the model had asked for it."""
    kind = have(which)
    with kind.without_writes("tool_calls"):
        with kind.without_writes():
            stream = kind.ask(tools=[GROUP])
            kind.has_begun_to_write()
            turn = kind.model.asked()
            turn.call("test_count", path=log.name, text="counted")
            turn.is_over()
        stream.name(kind.begins)
        kind.has_begun_to_write()
        assert log.lines() == []
    say_and_end(kind, stream, kind.model.asked())
    assert log.lines() == ["call_1"]
