"""F110: the server is killed at every step of the life of a call that it executes. A call that may have had
an effect is not repeated, unless the tool says that this does no harm."""

import time

import httpx2
import pytest

from harness.server import eventually
from harness.shapes import TEST_TOOLS, check_database
from harness.tools import asks_for, call

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

FINAL = ("completed", "failed", "incomplete", "cancelled", "expired")
LOST = "The server restarted while this tool ran; it may or may not have taken effect."

# The call takes so long the first time, and no time when it is repeated: the server is killed meanwhile.
FOREVER = 3600000
ONCE = {"ms": FOREVER, "once": True}


def create(server, database, path, body):
    """Id and thread of the run that this makes. The server may die before it has answered: then they are
    read from the store."""
    began = time.time_ns() // 1000
    try:
        made = server.api().post(path, json=body).json()
        return made["id"], made.get("thread_id")
    except httpx2.HTTPError:
        assert server.process.child.wait(20) < 0
        (made,) = database.ask(f"SELECT id, thread_id FROM runs WHERE created_at >= {began}",
                               url=server.settings["database_url"])
        return made


class Response:
    def __init__(self, server, database):
        self.server = server
        self.id, _ = create(server, database, "/responses", {
            "model": "demo", "input": "go", "tools": [TEST_TOOLS], "background": True})

    def get(self):
        return self.server.api().get(f"/responses/{self.id}").json()

    def call(self):
        """Status and output of the call, as they are shown."""
        calls = [i for i in self.get()["output"] if i["type"] == "mcp_call"]
        if not calls:
            return None
        error = calls[0]["error"]
        return calls[0]["status"], error["content"][0]["text"] if error else calls[0]["output"]


class Run:
    def __init__(self, server, database):
        self.server = server
        assistant = server.api().post("/assistants", json={"model": "demo"}).json()["id"]
        id, thread = create(server, database, "/threads/runs", {
            "assistant_id": assistant, "tools": [TEST_TOOLS],
            "thread": {"messages": [{"role": "user", "content": "go"}]}})
        self.path = f"/threads/{thread}/runs/{id}"

    def get(self):
        return self.server.api().get(self.path).json()

    def call(self):
        steps = self.server.api().get(f"{self.path}/steps").json()["data"]
        calls = [c for s in steps if s["type"] == "tool_calls" for c in s["step_details"]["tool_calls"]]
        if not calls or calls[0]["function"]["output"] is None:
            return None
        output = calls[0]["function"]["output"]
        return "failed" if output == LOST else "completed", output


def before(server, made, log):
    """Nothing was executed, but the call is stored."""
    assert server.process.child.wait(20) < 0 and log.lines() == []


def during(server, made, log):
    eventually(log.lines, lambda lines: lines == ["call_1"])
    server.kill()


def stored(server, made, log):
    """The result is in the store, and is being sent to the model."""
    eventually(made.call, lambda call: call == ("completed", "done"))
    server.kill()


# moment, the fault that makes it, lines of a tool that must not run again, its result; lines of one
# that may
MOMENTS = [(before, "tool.before_run:1:kill", [], LOST, 1),
           (during, None, ["call_1"], LOST, 2),
           (stored, None, ["call_1"], "done", 1)]


@pytest.mark.parametrize("face", [Response, Run])
@pytest.mark.parametrize("tool", ["test_count", "test_count_idempotent"])
@pytest.mark.parametrize("moment, fault, lines, result, again", MOMENTS)
def test_killed_at_every_step_of_a_call(fault_server, upstream, database, log, face, tool, moment,
                                         fault, lines, result, again):
    thinks = [{"match": {"tool_results": True}, "times": 1, "answer": {"delay_ms": FOREVER}}]
    upstream.script(
        *(thinks if moment is stored else []),
        {"match": {"tool_results": True}, "answer": {"text": "{{tool_output}}"}},
        {"answer": {"tool_calls": [call(tool, 1, path=log.name, **(ONCE if moment is during else {}))]}})
    if fault:
        fault_server.arm(fault)
    made = face(fault_server, database)
    moment(fault_server, made, log)
    fault_server.arm()
    fault_server.start()
    done = eventually(made.get, lambda run: run["status"] in FINAL, seconds=60)
    assert done["status"] == "completed", done
    if tool == "test_count":
        assert log.lines() == lines
        assert made.call() == ("failed" if result == LOST else "completed", result)
    else:
        assert log.lines() == ["call_1"] * again
        assert made.call() == ("completed", "done")
    sent = [m["content"] for m in upstream.chats()[-1]["messages"] if m["role"] == "tool"]
    assert sent == [made.call()[1]]
    check_database(database, fault_server.settings["database_url"])


@pytest.mark.parametrize("tool, lines, result", [("test_count", ["call_1"], LOST),
                                                 ("test_count_idempotent", ["call_1"] * 2, "done")])
def test_an_executed_call_is_not_reported_as_beyond_the_limit(fault_server, upstream, database, log, tool,
                                                              lines, result):
    """The one beside it was: its refusal is in the store when the server is killed."""
    upstream.script(
        {"match": {"user": "[SYSTEM]"}, "answer": {"text": "Enough."}},
        {"answer": {"tool_calls": [call(tool, 1, path=log.name, **ONCE),
                                   call(tool, 2, path=log.name)]}})
    answer = fault_server.api().post("/responses", json={
        "model": "demo", "input": "go", "tools": [TEST_TOOLS], "background": True, "max_tool_calls": 1})
    path = f"/responses/{answer.json()['id']}"
    eventually(log.lines, lambda lines: lines == ["call_1"])
    eventually(lambda: database.ask("SELECT state FROM tool_calls WHERE call_id = 'call_2' AND run_id = "
                                    f"'{answer.json()['id']}'", url=fault_server.settings["database_url"]),
               lambda rows: rows == [["done"]])
    fault_server.kill()
    fault_server.start()
    done = eventually(lambda: fault_server.api().get(path).json(),
                      lambda run: run["status"] in FINAL, seconds=60)
    assert done["status"] == "completed" and log.lines() == lines
    sent = {m["tool_call_id"]: m["content"] for m in upstream.chats()[-1]["messages"]
            if m["role"] == "tool"}
    assert sent["call_1"] == result and "max_calls_reached" in sent["call_2"], sent


@pytest.mark.feature("F43")
@pytest.mark.parametrize("point", ["run.write", "run.committed"])
@pytest.mark.parametrize("visit", [1, 2, 3, 4])
def test_killed_on_the_way_to_the_approval_of_a_result(fault_server, upstream, database, log, point,
                                                                 visit):
    """From the tool's beginning to the pause: the tool does not run again, and its result is sent to the
    model only when it was approved."""
    asks_for(upstream, call("test_count", 1, path=log.name, text="counted"), text="Well.")
    fault_server.arm(f"{point}:{visit}:kill")
    body = {"assistant_id": fault_server.api().post("/assistants", json={"model": "demo"}).json()["id"],
            "thread": {"messages": [{"role": "user", "content": "go"}]}, "tools": [TEST_TOOLS],
            "runnel": {"permissions": {"test": {"result": "always"}}}}
    id, thread = create(fault_server, database, "/threads/runs", body)
    path = f"/threads/{thread}/runs/{id}"

    def over():
        """How many writes a run makes depends on how fast the machine is."""
        if fault_server.ended() is not None:
            return True
        try:
            return fault_server.api().get(path).json()["status"] == "requires_action"
        except httpx2.HTTPError:
            return False
    eventually(over, seconds=40)
    fault_server.arm()
    if fault_server.ended() is None:
        fault_server.kill()
    fault_server.start()
    api = fault_server.api()

    def settled():
        return eventually(lambda: api.get(path).json(),
                          lambda run: run["status"] in (*FINAL, "requires_action"), seconds=60)
    run = settled()
    if run["status"] == "requires_action":
        assert log.lines() == ["call_1"] and len(upstream.chats()) <= 2
        assert not any(m["role"] == "tool" for chat in upstream.chats() for m in chat["messages"])
        (question,) = run["required_action"]["submit_tool_outputs"]["tool_calls"]
        api.post(f"{path}/submit_tool_outputs", json={
            "tool_outputs": [{"tool_call_id": question["id"], "output": "true"}]})
        run = eventually(lambda: api.get(path).json(), lambda run: run["status"] in FINAL, seconds=60)
        expected = "counted"
    else:
        expected = LOST
    assert run["status"] == "completed" and len(log.lines()) <= 1, run
    sent = [m["content"] for m in upstream.chats()[-1]["messages"] if m["role"] == "tool"]
    assert len(sent) == 1 and sent[0].startswith(expected), sent


# ---- The check before execution ----

@pytest.mark.feature("F34")
def test_a_call_without_its_approval_is_not_executed(fault_server, upstream, log):
    """A mistake in the server brings it there: it ends as an error, and the run continues."""
    asks_for(upstream, call("test_count", 1, path=log.name), call("test_greet", 2, word="hello"))
    fault_server.arm("run.unasked:1,run.unasked:1")
    done = fault_server.api().post("/responses", json={
        "model": "demo", "input": "go", "tools": [TEST_TOOLS],
        "runnel": {"permissions": {"test/test_count": {"execution": "ask-always"}}}}).json()
    assert fault_server.has_fired() and log.lines() == []
    assert done["status"] == "completed", done
    assert not [item for item in done["output"] if item["type"] == "mcp_approval_request"]
    unasked, free = (item for item in done["output"] if item["type"] == "mcp_call")
    assert unasked["status"] == "failed" and unasked["runnel"]["status"] == "error"
    assert "this call has no approval" in unasked["error"]["content"][0]["text"]
    assert (free["status"], free["output"]) == ("completed", "hello")
    sent = {m["tool_call_id"]: m["content"] for m in upstream.chats()[-1]["messages"]
            if m["role"] == "tool"}
    assert "It was not executed." in sent["call_1"] and sent["call_2"] == "hello"
    assert "without the approval that it needs" in fault_server.process.errors()


@pytest.mark.feature("F34", "F35")
@pytest.mark.parametrize("remembered", ["yes", "no"])
def test_the_check_before_execution_knows_grants(fault_server, upstream, log, remembered):
    """A grant would have allowed it; a grant that was never looked up allows nothing."""
    asks_for(upstream, call("test_count", 1, path=log.name, text="counted"))
    body = {"model": "demo", "input": "go", "tools": [TEST_TOOLS],
            "runnel": {"permissions": {"test": {"execution": "ask-once"}}}}
    api = fault_server.api()
    asked = api.post("/responses", json=body).json()
    question = next(item for item in asked["output"] if item["type"] == "mcp_approval_request")
    answered = api.post("/responses", json={**body, "previous_response_id": asked["id"], "input": [
        {"type": "mcp_approval_response", "approval_request_id": question["id"],
         "approve": remembered == "yes"}]}).json()
    fault_server.arm("run.unasked:1")
    done = api.post("/responses", json={**body, "previous_response_id": answered["id"]}).json()
    assert fault_server.has_fired() and done["status"] == "completed"
    last, = (item for item in done["output"] if item["type"] == "mcp_call")
    if remembered == "yes":
        assert last["output"] == "counted" and log.lines() == ["call_1"] * 2
    else:
        assert last["status"] == "failed" and log.lines() == []


# ---- What is planned and may be repeated: skills ----

SKILL = "---\nname: notes\ndescription: How notes are written.\n---\nBegin with what breaks.\n"
READ = "# Skill: notes\n\nHow notes are written.\n\nBegin with what breaks.\n"


class Reading:
    """A response whose model reads a skill, on a server that may die of it."""

    def __init__(self, server, upstream, database, permission):
        self.server, self.database = server, database
        asks_for(upstream, call("skill", 1, name="notes"))
        made = server.api().post("/skills", json={"content": SKILL}).json()
        self.body = {"model": "demo", "input": "go", "background": True, "runnel": {
            "skills": [made["id"]], "skill_permissions": [{"skill": "*", "permission": permission}]}}

    def create(self, **more):
        return create(self.server, self.database, "/responses", {**self.body, **more})[0]

    def end_of(self, id):
        return eventually(lambda: self.server.api().get(f"/responses/{id}").json(),
                          lambda run: run["status"] in FINAL, seconds=60)

    def allow(self, id, **more):
        """Goes on from the question of that response; the id of the next."""
        question, = (i for i in self.end_of(id)["output"] if i["type"] == "mcp_approval_request")
        return self.create(previous_response_id=id, input=[
            {"type": "mcp_approval_response", "approval_request_id": question["id"], "approve": True,
             **more}])

    def restart(self):
        self.server.restart()

    def is_read(self, id):
        done = self.end_of(id)
        types = [item["type"] for item in done["output"]]
        assert done["status"] == "completed" and "mcp_approval_request" not in types, done
        read, = (item for item in done["output"] if item["type"] == "mcp_call")
        assert (read["status"], read["output"]) == ("completed", READ), read


ALWAYS = {"runnel": {"remember": {"match": "pattern"}}}


@pytest.mark.feature("F107")
@pytest.mark.parametrize("point", ["tool.before_run", "tool.after_run"])
def test_reading_a_skill_is_repeated(fault_server, upstream, database, point):
    reading = Reading(fault_server, upstream, database, "allow")
    fault_server.arm(f"{point}:1:kill")
    made = reading.create()
    reading.restart()
    reading.is_read(made)


@pytest.mark.feature("F107")
def test_reading_an_approved_skill_is_repeated(fault_server, upstream, database):
    reading = Reading(fault_server, upstream, database, "ask")
    asked = reading.create()
    reading.end_of(asked)
    fault_server.arm("tool.before_run:1:kill")
    made = reading.allow(asked)
    reading.restart()
    reading.is_read(made)


@pytest.mark.feature("F84", "F107")
@pytest.mark.parametrize("revoked", [False, True])
def test_ask_always_is_requested_again_before_a_skill_is_repeated(fault_server, upstream,
                                                                            database, revoked):
    """A grant that held when the call began may be revoked before it is repeated."""
    reading = Reading(fault_server, upstream, database, "ask")
    first = reading.allow(reading.create(), **ALWAYS)
    reading.is_read(first)
    fault_server.arm("tool.before_run:2:kill")  # the first visit is that of the lookup
    made = reading.create(previous_response_id=first)
    assert fault_server.process.child.wait(20) < 0
    if revoked:
        database.ask("DELETE FROM approval_grants", url=fault_server.settings["database_url"])
    reading.restart()
    if not revoked:
        reading.is_read(made)
        return
    types = [item["type"] for item in reading.end_of(made)["output"]]
    assert "mcp_approval_request" in types and "mcp_call" not in types


@pytest.mark.feature("F83")
def test_a_planned_call_that_may_have_run_is_not_repeated(fault_server, upstream, database, log):
    asks_for(upstream, call("test_outside", 1, path=log.name, paths=[], ms=FOREVER))
    made = Response(fault_server, database)
    during(fault_server, made, log)
    fault_server.start()
    eventually(made.get, lambda run: run["status"] in FINAL, seconds=60)
    assert made.call() == ("failed", LOST) and log.lines() == ["call_1"]


# ---- A final tool that has ended, while others of the turn have not ----

def shown(done):
    """What is shown of the turn, but for ids and times."""
    items = [i for i in done["output"] if i["type"] in ("mcp_call", "message")]
    for item in items:
        del item["id"]
        if item["type"] == "mcp_call":
            assert item["runnel"].pop("start") <= item["runnel"].pop("end"), item
            item["runnel"].pop("variables", None)
            del item["arguments"]
    return items


def last_outputs(upstream):
    return [(m["role"], m["content"]) for m in upstream.chats()[-1]["messages"]]


def ending(fault_server, upstream, database, log, status, tool="test_ends_final", face=Response, **beside):
    """A run of two calls: one that ends like this, and one beside it that counts."""
    upstream.forget()
    asks_for(upstream, call(tool, 1, status=status, why="not now", text="so far"),
             call("test_count_idempotent", 2, path=log.name, **beside), text="ok")
    return face(fault_server, database)


def states(database, server, id):
    rows = database.ask(f"SELECT state FROM tool_calls WHERE run_id = '{id}' ORDER BY call_id",
                        url=server.settings["database_url"])
    return [state for state, in rows]


def kill_between(database, server, id):
    """When the first call has ended, and the second has not."""
    eventually(lambda: states(database, server, id), lambda found: found[:1] == ["done"], seconds=40)
    server.kill()
    assert states(database, server, id) == ["done", "running"]
    server.start()


@pytest.mark.feature("F11")
@pytest.mark.parametrize("tool, status, messages", [
    ("test_ends_final", "success", 2), ("test_ends_final", "error", 1),
    ("test_ends_final", "execution_rejected", 1), ("test_ends_final", "cancelled", 1),
    ("test_ends_final", "not_found", 1), ("test_ends_hidden", "success", 1),
    ("test_ends_hidden", "execution_rejected", 1)])
def test_a_call_that_ended_before_the_crash_is_shown_with_its_result(fault_server, upstream, database,
                                                                             log, tool, status, messages):
    """A final tool's is shown when all have ended, a hidden one's never: both are stored at once."""
    made = ending(fault_server, upstream, database, log, status, tool)
    whole = eventually(made.get, lambda run: run["status"] in FINAL, seconds=60)
    expected, asked = shown(whole), last_outputs(upstream)
    assert [i["type"] for i in expected].count("message") == messages

    log.forget()
    made = ending(fault_server, upstream, database, log, status, tool, **ONCE)
    kill_between(database, fault_server, made.id)
    done = eventually(made.get, lambda run: run["status"] in FINAL, seconds=60)
    assert done["status"] == "completed" and shown(done) == expected
    assert last_outputs(upstream) == asked
    check_database(database, fault_server.settings["database_url"])


@pytest.mark.feature("F11")
def test_the_text_of_a_final_tool_is_whole_in_the_thread(fault_server, upstream, database, log):
    made = ending(fault_server, upstream, database, log, "success", face=Run, **ONCE)
    kill_between(database, fault_server, made.get()["id"])
    done = eventually(made.get, lambda run: run["status"] in FINAL, seconds=60)
    path = made.path.split("/runs/")[0]
    messages = fault_server.api().get(f"{path}/messages?order=asc").json()["data"][1:]
    assert done["status"] == "completed"
    assert [(m["status"], m["content"][0]["text"]["value"]) for m in messages] == [
        ("completed", "so far"), ("completed", "ok")]
    assert all(m["completed_at"] and m["incomplete_details"] is None for m in messages)


@pytest.mark.feature("F11")
@pytest.mark.parametrize("status", ["success", "execution_rejected"])
@pytest.mark.parametrize("point", ["run.write", "run.committed"])
def test_killed_at_every_step_of_a_final_call(fault_server, upstream, database, log, status, point):
    """At each: it is shown as without the crash, or as interrupted."""
    made = ending(fault_server, upstream, database, log, status, ms=100)
    expected = shown(eventually(made.get, lambda run: run["status"] in FINAL, seconds=60))
    lost = 0
    for visit in range(2, 9):
        fault_server.arm(f"{point}:{visit}:kill")
        made = ending(fault_server, upstream, database, log, status, ms=100)
        if not ends_or_dies(fault_server, made):
            fault_server.process.child.wait(20)
        fault_server.arm()
        if fault_server.ended() is not None:
            fault_server.start()
        done = eventually(made.get, lambda run: run["status"] in FINAL, seconds=60)
        assert done["status"] == "completed", done
        sent = shown(done)
        final = next(i for i in sent if i.get("name") == "test_ends_final")
        if final["status"] == "failed" and LOST in final["error"]["content"][0]["text"]:
            lost += 1
        else:
            assert sent == expected, visit
    assert lost < 7


def ends_or_dies(server, made):
    """False when it died first."""
    def over():
        if server.ended() is not None:
            return "died"
        try:
            return made.get()["status"] in FINAL and "ended"
        except httpx2.HTTPError:
            return None
    return eventually(over, seconds=60) == "ended"
