"""An answer that the server itself has cut, by a crash or at the end of a drain, is in the log of its
run and nowhere in the result."""

import signal
import threading

import httpx2
import pytest

from harness import shapes
from harness.faults import FINAL, Log, whole_frames
from harness.server import eventually
from harness.shapes import TEST_TOOLS, count_call
from harness.tools import WEATHER_FLAT, call
from test_faults_nodes import FOREVER, Follower, background, ends_with, settle, start_run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

CUT = {"reasoning": "Hm.", "text": ["One ", "two ", "three."], "fault": {"kind": "stall", "after": 3}}
WHOLE = "And here it is."


class Reader:
    """Follows a run from the beginning, in a thread of its own, until the stream ends."""

    def __init__(self, server, path, **query):
        self.text = ""
        self.server = server
        self.thread = threading.Thread(target=self.run, args=(path, query))
        self.thread.start()

    def run(self, path, query):
        try:
            with self.server.api().stream("GET", path, params=query) as answer:
                for part in answer.iter_text():
                    self.text += part
        except httpx2.HTTPError:
            pass

    def frames(self):
        self.thread.join(60)
        assert not self.thread.is_alive()
        return whole_frames(self.text)


@pytest.fixture(params=["killed", "drained"])
def way(request):
    return request.param


@pytest.fixture
def nodes(start_fault_server):
    first = start_fault_server(lease_ttl=1, drain_timeout=0.3)
    return first, start_fault_server(url=first.settings["database_url"], lease_ttl=1)


def log_of(database, server, run_id):
    return Log(database, server.settings["database_url"], run_id)


def cut(way, nodes, database, run_id, event):
    """Takes the first node away as soon as two such events are stored."""
    eventually(lambda: log_of(database, nodes[1], run_id).names().count(event), lambda seen: seen >= 2)
    if way == "killed":
        nodes[0].kill()
    else:
        assert nodes[0].stop() == 0


def items(log, event):
    return [(data["output_index"], data["item"]) for name, data in log.events
            if name == f"response.output_item.{event}"]


def text(item):
    return "".join(part["text"] for part in item["content"])


def sent(upstream):
    """What the model was sent last: roles and texts."""
    return [(m["role"], m["content"]) for m in upstream.chats()[-1]["messages"]]


def check_log(log, whole):
    """What was seen of the first answer is closed, in places of its own. Returns the ids that were cut."""
    added, done = items(log, "added"), items(log, "done")
    assert [(at, item["id"]) for at, item in added] == [(at, item["id"]) for at, item in done]
    assert [at for at, _ in added] == list(range(len(added)))
    for event in ("content_part", "reasoning_summary_part"):
        opened, closed = ([(data["item_id"], data["part"]["type"]) for name, data in log.events
                           if name == f"response.{event}.{end}"] for end in ("added", "done"))
        assert opened == closed
    assert log.is_numbered() and log.names()[-1] == "response.completed"
    output = log.events[-1][1]["response"]["output"]
    assert [text(item) for item in output if item["type"] == "message"] == [whole]
    kept = [item["id"] for item in output]
    assert [item["id"] for _, item in added if item["id"] in kept] == kept
    return [item["id"] for _, item in added if item["id"] not in kept]


def test_a_response_has_only_the_whole_answer(way, nodes, upstream, database):
    second = nodes[1]
    upstream.script({"times": 1, "answer": CUT}, {"answer": {"text": WHOLE}})
    creator = Follower(nodes[0], "/responses", {"model": "demo", "input": "x", "background": True})
    [[made]] = eventually(lambda: database.ask("SELECT id FROM runs", url=second.settings["database_url"]))
    path = f"/responses/{made}"
    reader = Reader(second, path, stream="true")
    cut(way, nodes, database, made, "response.output_text.delta")
    done = settle(second, path, *FINAL)
    assert done["status"] == "completed"
    assert [(item["type"], text(item)) for item in done["output"]] == [("message", WHOLE)]

    log = log_of(database, second, made)
    gone = check_log(log, WHOLE)
    closed = [item for _, item in items(log, "done") if item["id"] in gone]
    assert [(item["type"], item.get("status")) for item in closed] == [
        ("reasoning", None), ("message", "incomplete")]
    assert text(closed[1]) == "One two "
    ends = [name for name, data in log.events if data.get("item_id", data.get("item", {}).get("id")) == gone[1]][-3:]
    assert ends == ["response.output_text.done", "response.content_part.done", "response.output_item.done"]
    frames = [frame for frame in log.text.split("\n\n") if frame]
    assert reader.frames() == frames
    creator.ended()
    seen = whole_frames(creator.text)
    assert seen and seen == frames[:len(seen)]
    assert Reader(second, path, stream="true", starting_after=3).frames() == frames[4:]

    answer = second.api().post("/responses", json={"model": "demo", "previous_response_id": made, "input": "y"})
    assert answer.status_code == 200
    assert sent(upstream) == [("user", "x"), ("assistant", WHOLE), ("user", "y")]
    for item in gone:
        refused = second.api().post("/responses", json={
            "model": "demo", "input": [{"type": "item_reference", "id": item}]})
        assert refused.status_code == 404, refused.text
    shapes.check_database(database, second.settings["database_url"], made)


PARTS = {
    "refusal": {"refusal": ["I ", "can ", "not."]},
    "reasoning_text": {"reasoning": ["I ", "can ", "think."], "text": "Well."},
}


@pytest.mark.parametrize("kind", PARTS)
def test_a_part_of_each_kind_is_closed_as_it_was(nodes, upstream, database, kind):
    second = nodes[1]
    upstream.script({"times": 1, "answer": {**PARTS[kind], "fault": {"kind": "stall", "after": 2}}},
                    {"answer": {"text": WHOLE}})
    made = background(nodes[0])
    cut("killed", nodes, database, made, f"response.{kind}.delta")
    assert settle(second, f"/responses/{made}", *FINAL)["status"] == "completed"
    log = log_of(database, second, made)
    [gone] = check_log(log, WHOLE)
    events = [(name, data) for name, data in log.events if data.get("item_id") == gone]
    assert [name for name, _ in events][-2:] == [f"response.{kind}.done", "response.content_part.done"]
    part = events[-1][1]["part"]
    assert part["type"] == kind and part.get("refusal", part.get("text")) == "I can "
    [item] = [item for _, item in items(log, "done") if item["id"] == gone]
    assert item["content"] == [part]


def test_a_conversation_has_only_the_whole_answer(way, nodes, upstream, database):
    second = nodes[1]
    upstream.script({"times": 1, "answer": CUT}, {"answer": {"text": WHOLE}})
    conversation = nodes[0].api().post("/conversations", json={}).json()["id"]
    made = background(nodes[0], conversation=conversation)
    cut(way, nodes, database, made, "response.output_text.delta")
    assert settle(second, f"/responses/{made}", *FINAL)["status"] == "completed"
    gone = check_log(log_of(database, second, made), WHOLE)
    path = f"/conversations/{conversation}/items"
    listed = second.api().get(path, params={"order": "asc"}).json()["data"]
    assert [text(item) for item in listed] == ["x", WHOLE]
    for item in listed:
        assert second.api().get(f"{path}/{item['id']}").json() == item
    for item in gone:
        assert second.api().get(f"{path}/{item}").status_code == 404
        assert second.api().delete(f"{path}/{item}").status_code == 404
    assert len(gone) == 2
    second.api().post("/responses", json={"model": "demo", "conversation": conversation, "input": "y"})
    assert sent(upstream) == [("user", "x"), ("assistant", WHOLE), ("user", "y")]


def test_a_thread_has_only_the_whole_answer(way, nodes, upstream, database):
    second = nodes[1]
    upstream.script({"times": 1, "answer": CUT}, {"answer": {"text": WHOLE}})
    path = start_run(nodes[0])
    thread, run_id = path.split("/")[2], path.split("/")[4]
    reader = Reader(second, f"{path}/events")
    cut(way, nodes, database, run_id, "thread.message.delta")
    assert settle(second, path, *FINAL)["status"] == "completed"
    listed = second.api().get(f"/threads/{thread}/messages", params={"order": "asc"}).json()["data"]
    assert [shapes.text_of(message) for message in listed] == ["x", WHOLE]

    log = log_of(database, second, run_id)
    closed = [(name, shapes.text_of(data)) for name, data in log.events
              if name in ("thread.message.completed", "thread.message.incomplete")]
    assert closed == [("thread.message.incomplete", "One two "), ("thread.message.completed", WHOLE)]
    gone = next(data["id"] for name, data in log.events if name == "thread.message.incomplete")
    message = f"/threads/{thread}/messages/{gone}"
    assert second.api().get(message).status_code == 404
    assert second.api().post(message, json={"metadata": {"a": "b"}}).status_code == 404
    assert second.api().delete(message).status_code == 404
    steps = second.api().get(f"{path}/steps", params={"order": "asc"}).json()["data"]
    assert [(step["status"], step["step_details"]["message_creation"]["message_id"]) for step in steps] == [
        ("failed", gone), ("completed", listed[-1]["id"])]
    assert [frame.split("\n", 1)[1] for frame in reader.frames()] == [
        frame for frame in log.text.split("\n\n") if frame]

    # The cut message is none of the last three, either.
    assistant = settle(second, path, *FINAL)["assistant_id"]
    second.api().post(f"/threads/{thread}/messages", json={"role": "user", "content": "y"})
    for strategy in ({"type": "auto"}, {"type": "last_messages", "last_messages": 3}):
        following = second.api().post(f"/threads/{thread}/runs", json={
            "assistant_id": assistant, "truncation_strategy": strategy}).json()["id"]
        settle(second, f"/threads/{thread}/runs/{following}", *FINAL)
        assert sent(upstream)[:3] == [("user", "x"), ("assistant", WHOLE), ("user", "y")]
        last = second.api().get(f"/threads/{thread}/messages", params={"limit": 1}).json()["data"][0]
        assert second.api().delete(f"/threads/{thread}/messages/{last['id']}").status_code == 200


def test_a_call_of_a_turn_that_was_cut_is_made_once(way, nodes, upstream, database):
    """The first call of the turn was whole, the second one was not."""
    second = nodes[1]
    asked = [{**call("get_weather", n, city="Paris"), "split": "whole"} for n in (1, 2)]
    upstream.script({"times": 1, "answer": {"text": ["Let me see."], "tool_calls": asked,
                                            "fault": {"kind": "stall", "after": 4}}},
                    {"match": {"tool_results": True}, "answer": {"text": "So."}},
                    {"answer": {"text": WHOLE, "tool_calls": [asked[0]]}})
    made = background(nodes[0], tools=[WEATHER_FLAT])
    cut(way, nodes, database, made, "response.output_item.done")
    done = settle(second, f"/responses/{made}", *FINAL)
    assert [item["type"] for item in done["output"]] == ["message", "function_call"]
    gone = check_log(log_of(database, second, made), WHOLE)
    assert len(gone) >= 2
    second.api().post("/responses", json={"model": "demo", "previous_response_id": made, "input": [
        {"type": "function_call_output", "call_id": "call_1", "output": "sunny"}]})
    messages = upstream.chats()[-1]["messages"]
    assert [m["role"] for m in messages] == ["user", "assistant", "tool"]
    assert messages[1]["content"] == WHOLE and len(messages[1]["tool_calls"]) == 1


def test_an_answer_that_was_cut_twice_leaves_two_gaps(start_fault_server, upstream, database):
    server = start_fault_server()
    upstream.script({"times": 2, "answer": CUT}, {"answer": {"text": WHOLE}})
    made = background(server)
    for times in (1, 2):
        eventually(lambda: log_of(database, server, made).names().count("response.output_text.delta"),
                   lambda seen, times=times: seen >= 2 * times)
        server.kill()
        server.start()
    done = settle(server, f"/responses/{made}", *FINAL)
    assert [text(item) for item in done["output"]] == [WHOLE]
    assert len(check_log(log_of(database, server, made), WHOLE)) == 4


def test_a_cancelled_run_keeps_what_its_dead_owner_has_said(nodes, upstream, database):
    """Nothing comes in its place."""
    first, second = nodes
    upstream.answer(**CUT)
    path = start_run(first)
    run_id = path.split("/")[4]
    eventually(lambda: log_of(database, first, run_id).names().count("thread.message.delta"),
               lambda seen: seen >= 2)
    first.process.signal(signal.SIGSTOP)
    assert second.api().post(f"{path}/cancel").status_code == 200
    first.kill()
    assert settle(second, path, *FINAL)["status"] == "cancelled"
    listed = second.api().get(f"/threads/{path.split('/')[2]}/messages").json()["data"]
    assert [(m["status"], shapes.text_of(m)) for m in listed if m["role"] == "assistant"] == [
        ("incomplete", "One two ")]


# ---- The end of the model's turn ----

def test_a_run_is_handed_over_when_the_models_turn_is_over(start_fault_server, upstream, database, tmp_path):
    """Nothing of it is cut, its tool runs on the next server, and the model is not asked again."""
    first = start_fault_server(drain_timeout=60)
    url = first.settings["database_url"]
    path = tmp_path / "count"
    upstream.script({"match": {"tool_results": True}, "answer": {"text": WHOLE}},
                    {"answer": {"text": "Let me see. " * 5, "piece_delay_ms": 100,
                                "tool_calls": [count_call(path, ms=10)]}})
    run = start_run(first, [TEST_TOOLS])
    made = background(first, tools=[TEST_TOOLS])
    eventually(lambda: Log(database, url, made).names().count("response.output_text.delta"))
    first.process.signal(signal.SIGTERM)
    assert ends_with(first, 30) == 0
    assert not path.exists()
    second = start_fault_server(url=url)
    for at, name in ((run, "thread.message.incomplete"), (f"/responses/{made}", "response.incomplete")):
        done = settle(second, at, *FINAL)
        assert done["status"] == "completed" and done["usage"]["total_tokens"] > 0
        assert name not in Log(database, url, done["id"]).names()
    kinds = [item["type"] for item in settle(second, f"/responses/{made}", *FINAL)["output"]]
    assert kinds == ["mcp_list_tools", "message", "mcp_call", "message"]
    assert path.read_text().split() == ["call_1"] * 2
    assert len(upstream.chats()) == 4
    assert database.ask("SELECT max(attempts) FROM runs", url=url) == [["0"]]
    shapes.check_database(database, url)


def test_the_tokens_of_a_turn_that_was_handed_over_are_counted(start_fault_server, upstream, tmp_path):
    first = start_fault_server(drain_timeout=60)
    path = tmp_path / "count"
    tools = {"answer": {"text": ["a ", "b ", "c"], "piece_delay_ms": 150, "tool_calls": [count_call(path)],
                        "usage": {"prompt_tokens": 100, "completion_tokens": 10}}}
    upstream.script({"match": {"tool_results": True}, "answer": {
        "text": WHOLE, "usage": {"prompt_tokens": 200, "completion_tokens": 20}}}, tools)
    made = background(first, tools=[TEST_TOOLS])
    eventually(lambda: upstream.chats(), len)
    assert first.stop() == 0
    second = start_fault_server(url=first.settings["database_url"])
    done = settle(second, f"/responses/{made}", *FINAL)
    assert done["usage"]["input_tokens"] == 300 and done["usage"]["output_tokens"] == 30


def test_a_run_is_cut_when_the_drain_is_over_and_not_before(start_fault_server, upstream, database):
    first = start_fault_server(drain_timeout=2)
    upstream.script({"times": 1, "answer": {"text": "a b c", "piece_delay_ms": FOREVER}},
                    {"answer": {"text": WHOLE}})
    made = background(first)
    eventually(lambda: upstream.chats(), len)
    first.process.signal(signal.SIGTERM)
    eventually(lambda: first.metric("draining"), lambda draining: draining == 1)
    assert first.api().get(f"/responses/{made}").json()["status"] == "in_progress"
    assert len(upstream.chats()) == 1
    assert ends_with(first, 20) == 0
    second = start_fault_server(url=first.settings["database_url"])
    done = settle(second, f"/responses/{made}", *FINAL)
    assert [text(item) for item in done["output"]] == [WHOLE]
