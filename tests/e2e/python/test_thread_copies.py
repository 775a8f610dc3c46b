"""Threads made of other threads: fork, copy, merge."""

import concurrent.futures
import random

import httpx2
import pytest

from harness.server import KEY, eventually
from harness.tools import WEATHER, WEATHER_RULES, call

TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test",
        "require_approval": "never"}

@pytest.fixture
def threads(client):
    return client.beta.threads


@pytest.fixture
def fork(http):
    def fork(thread):
        answer = http.post(f"/v1/runnel/threads/{thread.id}/fork")
        assert answer.status_code == 200, answer.text
        return answer.json()
    return fork


@pytest.fixture
def put(http):
    """put("copy_to", from_id, to_id) -> the answer."""
    return lambda verb, source, target: http.post(f"/v1/runnel/threads/{source}/{verb}/{target}")


def said(threads, thread_id):
    return [(m.role, m.content[0].text.value)
            for m in threads.messages.list(thread_id, order="asc", limit=100)]


def user(*texts):
    return [{"role": "user", "content": text} for text in texts]


def without_identity(message):
    kept = message.model_dump()
    for name in ("id", "thread_id", "run_id"):
        kept.pop(name)
    return kept


def run_to(threads, thread_id, assistant, status="completed"):
    run = threads.runs.create_and_poll(thread_id=thread_id, assistant_id=assistant.id,
                                       poll_interval_ms=20)
    assert run.status == status, run
    return run


# ---- fork ----

def test_a_fork_has_everything_but_the_same_ids(threads, http, fork, client):
    file = client.files.create(file=("a", b"a"), purpose="assistants").id
    thread = threads.create(
        metadata={"topic": "sky"},
        tool_resources={"code_interpreter": {"file_ids": [file]}},
        messages=[{"role": "user", "content": "one", "metadata": {"n": "1"},
                   "attachments": [{"file_id": file, "tools": [{"type": "file_search"}]}]},
                  {"role": "assistant", "content": "two"},
                  {"role": "user", "content": [
                      {"type": "text", "text": "three"},
                      {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]}])
    made = fork(thread)
    assert made["object"] == "thread" and made["id"] != thread.id
    assert made["metadata"] == {"topic": "sky"}
    assert made["tool_resources"]["code_interpreter"] == {"file_ids": [file]}
    assert http.get(f"/v1/threads/{made['id']}").json() == made
    before = threads.messages.list(thread.id, order="asc").data
    after = threads.messages.list(made["id"], order="asc").data
    assert [without_identity(m) for m in after] == [without_identity(m) for m in before]
    assert all(m.thread_id == made["id"] for m in after)
    ids = [m.id for m in after]
    assert ids == sorted(ids) and not set(ids) & {m.id for m in before}


def test_a_fork_is_independent(threads, fork):
    thread = threads.create(messages=user("one"))
    made = fork(thread)
    threads.messages.create(made["id"], role="user", content="there")
    threads.messages.create(thread.id, role="user", content="here")
    (copy, _) = threads.messages.list(made["id"], order="asc").data
    threads.messages.update(copy.id, thread_id=made["id"], metadata={"changed": "yes"})
    assert said(threads, made["id"]) == [("user", "one"), ("user", "there")]
    assert said(threads, thread.id) == [("user", "one"), ("user", "here")]
    assert threads.messages.list(thread.id, order="asc").data[0].metadata == {}
    threads.delete(thread.id)
    assert said(threads, made["id"]) == [("user", "one"), ("user", "there")]


def test_a_fork_of_an_empty_thread_is_empty(threads, fork):
    assert said(threads, fork(threads.create())["id"]) == []


def test_a_fork_may_be_forked_and_called_a_conversation(threads, http, fork):
    thread = threads.create(messages=user("one", "two"))
    first = fork(thread)
    answer = http.post(f"/v1/runnel/threads/conv_{first['id'].removeprefix('thread_')}/fork")
    assert said(threads, answer.json()["id"]) == [("user", "one"), ("user", "two")]


# ---- what the model sees ----

@pytest.fixture
def run(http):
    """run(thread_id, assistant_id) -> the run when it stands still. Not through the SDK, which
    knows no assistant with tools of the server."""
    def run(thread_id, assistant_id, status="completed"):
        base = f"/v1/threads/{thread_id}/runs"
        made = http.post(base, json={"assistant_id": assistant_id}).json()["id"]
        return eventually(lambda: http.get(f"{base}/{made}").json(),
                          lambda run: run["status"] == status)
    return run


@pytest.fixture
def long_story(http, run, upstream):
    """Calls of the client and of the server, in one round and in several, an answer that stands
    before its call, and runs without a message between them."""
    assistant = http.post("/v1/assistants", json={"model": "demo", "tools": [WEATHER, TEST]}).json()
    thread = http.post("/v1/threads", json={"messages": user("weather?")}).json()["id"]

    def go():
        return run(thread, assistant["id"])

    upstream.script({"match": {"tool_results": True}, "answer": {"text": "It is sunny."}},
                    {"answer": {"text": "Let me ask.", "tool_calls": [call(city="Paris")]}})
    asks = run(thread, assistant["id"], "requires_action")
    base = f"/v1/threads/{thread}/runs/{asks['id']}"
    http.post(f"{base}/submit_tool_outputs",
              json={"tool_outputs": [{"tool_call_id": "call_1", "output": "sunny"}]})
    eventually(lambda: http.get(base).json()["status"], lambda status: status == "completed")
    upstream.script(
        {"times": 1, "answer": {"tool_calls": [call("test_slow", 2), call("test_slow", 3)]}},
        {"times": 1, "answer": {"tool_calls": [call("test_slow", 4)]}},
        {"answer": {"text": "I looked."}})
    go()
    upstream.answer(tool_calls=[call("test_final", 5, pieces=["final"])])
    go()
    upstream.answer(text="No.")
    go()
    return thread, assistant["id"]


def test_a_model_sees_in_a_copy_what_it_saw_before(http, put, run, long_story, upstream):
    thread, assistant = long_story

    def fork(thread_id):
        return http.post(f"/v1/runnel/threads/{thread_id}/fork").json()["id"]

    def asked(thread_id):
        """What a run in the thread sends upstream, but for the rules of the tools in front."""
        upstream.answer(text="ok")
        upstream.forget()
        run(thread_id, assistant)
        rules, *messages = upstream.chats()[0]["messages"]
        assert rules["role"] == "system"
        return messages

    child = fork(thread)
    grandchild = fork(child)
    copy = http.post("/v1/threads", json={"messages": user("gone")}).json()["id"]
    put("copy_to", child, copy)
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "I looked."}},
                    {"answer": {"tool_calls": [call("test_slow", 1)]}})
    behind = http.post("/v1/threads", json={"messages": user("look")}).json()["id"]
    run(behind, assistant)
    before = asked(fork(behind))
    put("merge_to", child, behind)
    expected = asked(thread)
    calls = [len(message.get("tool_calls", [])) for message in expected]
    assert [count for count in calls if count] == [1, 2, 1, 1]
    assert asked(child) == expected
    assert asked(grandchild) == expected
    assert asked(copy) == expected
    assert asked(behind) == before + expected


def test_copied_messages_belong_to_an_assistant_and_to_no_run(client, threads, fork, upstream):
    assistant = client.beta.assistants.create(model="demo")
    thread = threads.create(messages=user("hello"))
    run = run_to(threads, thread.id, assistant)
    made = fork(thread)
    (_, answer) = threads.messages.list(made["id"], order="asc").data
    assert (answer.assistant_id, answer.run_id) == (assistant.id, None)
    assert threads.messages.list(made["id"], run_id=run.id).data == []
    assert threads.runs.list(made["id"]).data == []


# ---- copy ----

def test_a_copy_replaces_the_messages_of_its_target(threads, http, put):
    source = threads.create(messages=user("c", "d"), metadata={"of": "source"})
    target = threads.create(messages=user("a", "b"), metadata={"of": "target"})
    answer = put("copy_to", source.id, target.id)
    assert answer.status_code == 200
    assert answer.json() == http.get(f"/v1/threads/{target.id}").json()
    assert answer.json()["metadata"] == {"of": "target"}
    assert [text for _, text in said(threads, target.id)] == ["c", "d"]
    assert [text for _, text in said(threads, source.id)] == ["c", "d"]
    threads.messages.create(target.id, role="user", content="e")
    put("copy_to", source.id, target.id)
    assert [text for _, text in said(threads, target.id)] == ["c", "d"]
    put("copy_to", threads.create().id, target.id)
    assert said(threads, target.id) == []


def test_runs_remain_when_a_copy_replaces_their_messages(client, threads, put):
    """With their steps, which go on naming what they have made."""
    assistant = client.beta.assistants.create(model="demo")
    target = threads.create(messages=user("hello"))
    run = run_to(threads, target.id, assistant)
    steps = threads.runs.steps.list(run.id, thread_id=target.id).data
    assert steps[0].step_details.message_creation.message_id.startswith("msg_")
    put("copy_to", threads.create(messages=user("c")).id, target.id)
    assert said(threads, target.id) == [("user", "c")]
    assert [kept.id for kept in threads.runs.list(target.id)] == [run.id]
    assert threads.runs.steps.list(run.id, thread_id=target.id).data == steps
    assert threads.messages.list(target.id, run_id=run.id).data == []


def test_messages_of_an_unfinished_run_are_not_copied(client, threads, fork, put, upstream):
    upstream.script(*WEATHER_RULES)
    assistant = client.beta.assistants.create(model="demo", tools=[WEATHER])
    thread = threads.create(messages=user("weather?"))
    run = run_to(threads, thread.id, assistant, "requires_action")
    made = fork(thread)
    assert said(threads, made["id"]) == [("user", "weather?")]
    upstream.answer(text="ok")
    upstream.forget()
    run_to(threads, made["id"], assistant)
    assert upstream.chats()[0]["messages"] == [{"role": "user", "content": "weather?"}]
    threads.runs.cancel(run.id, thread_id=thread.id)


# ---- merge ----

def test_merging_twice_changes_nothing(threads, http, put):
    source = threads.create(messages=user("c", "d"))
    target = threads.create(messages=user("a", "b"))
    for _ in range(2):
        answer = put("merge_to", source.id, target.id)
        assert answer.status_code == 200
        assert answer.json() == http.get(f"/v1/threads/{target.id}").json()
        assert [text for _, text in said(threads, target.id)] == ["a", "b", "c", "d"]
    threads.messages.create(source.id, role="user", content="e")
    put("merge_to", source.id, target.id)
    assert [text for _, text in said(threads, target.id)] == ["a", "b", "c", "d", "e"]


def test_merging_a_branch_adds_only_new_messages(threads, fork, put):
    trunk = threads.create(messages=user("one"))
    branch = fork(threads.retrieve(fork(trunk)["id"]))
    threads.messages.create(branch["id"], role="user", content="two")
    put("merge_to", branch["id"], trunk.id)
    assert [text for _, text in said(threads, trunk.id)] == ["one", "two"]
    put("merge_to", trunk.id, branch["id"])
    assert [text for _, text in said(threads, branch["id"])] == ["one", "two"]
    sibling = fork(trunk)
    put("merge_to", sibling["id"], branch["id"])
    assert [text for _, text in said(threads, branch["id"])] == ["one", "two"]


def test_threads_may_be_merged_in_both_directions_at_once(threads, put):
    one = threads.create(messages=user("a"))
    other = threads.create(messages=user("b"))
    pairs = [(one.id, other.id), (other.id, one.id)] * 20
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda pair: put("merge_to", *pair).status_code, pairs))
    assert answers == [200] * 40
    assert sorted(said(threads, one.id)) == sorted(said(threads, other.id)) == [
        ("user", "a"), ("user", "b")]


# ---- what is refused ----

@pytest.mark.parametrize("verb", ["copy_to", "merge_to"])
def test_a_thread_with_an_active_run_does_not_grow(client, threads, put, upstream, verb):
    upstream.script(*WEATHER_RULES)
    assistant = client.beta.assistants.create(model="demo", tools=[WEATHER])
    busy = threads.create(messages=user("weather?"))
    idle = threads.create(messages=user("x"))
    run = run_to(threads, busy.id, assistant, "requires_action")
    refused = put(verb, idle.id, busy.id)
    assert refused.status_code == 400
    assert refused.json()["error"]["message"] == (
        f"Can't add messages to {busy.id} while a run {run.id} is active.")
    assert refused.json()["error"]["type"] == "invalid_request_error"
    assert put(verb, busy.id, idle.id).status_code == 200
    assert said(threads, idle.id)[-1] == ("user", "weather?")
    threads.runs.cancel(run.id, thread_id=busy.id)
    eventually(lambda: put(verb, idle.id, busy.id).status_code, lambda status: status == 200)


@pytest.mark.parametrize("verb", ["copy_to", "merge_to"])
def test_a_thread_cannot_be_copied_into_itself(threads, put, verb):
    thread = threads.create(messages=user("x"))
    refused = put(verb, thread.id, f"conv_{thread.id.removeprefix('thread_')}")
    assert refused.status_code == 400 and refused.json()["error"]["param"] == "to"
    assert said(threads, thread.id) == [("user", "x")]


def test_threads_of_other_projects_are_not_found(threads, http, stranger_key):
    headers = {"Authorization": f"Bearer {stranger_key}"}
    theirs = http.post("/v1/threads", headers=headers).json()["id"]
    mine = threads.create(messages=user("secret")).id
    unknown = "thread_" + "0" * 24

    def refusal(path):
        answer = http.post(f"/v1/runnel/threads/{path}")
        assert answer.status_code == 404, path
        return answer.json()["error"]

    for foreign in (theirs, unknown):
        for path in (f"{foreign}/fork", f"{foreign}/copy_to/{mine}", f"{mine}/copy_to/{foreign}",
                     f"{foreign}/merge_to/{mine}", f"{mine}/merge_to/{foreign}"):
            error = refusal(path)
            assert error["message"] == f"No thread found with id '{foreign}'."
            assert error["type"] == "invalid_request_error"
    assert http.get(f"/v1/threads/{theirs}/messages", headers=headers).json()["data"] == []
    assert http.post("/v1/runnel/threads/nonsense/fork").status_code == 400


# ---- size ----

def all_texts(server, thread_id):
    """Past the recorder, which would look at every page for a while."""
    found, after = [], ""
    with httpx2.Client(base_url=f"{server.url}/v1/threads/{thread_id}",
                       headers={"Authorization": f"Bearer {KEY}"}) as plain:
        while True:
            page = plain.get(f"/messages?order=asc&limit=100&after={after}").json()
            found += [message["content"][0]["text"]["value"] for message in page["data"]]
            after = page["last_id"]
            if not page["has_more"]:
                return found


@pytest.mark.slow
def test_bella_D8_long_threads_are_copied_in_order_up_to_the_limit(server, threads, http, put, fork):
    """In pages; what does not fit leaves nothing behind."""
    texts = [str(n) for n in range(34000)]

    def long_thread():
        answer = http.post("/v1/threads", json={"messages": user(*texts)})
        assert answer.status_code == 200, answer.text
        return threads.retrieve(answer.json()["id"])

    first, second, third = (long_thread() for _ in range(3))
    made = fork(first)
    assert put("merge_to", second.id, made["id"]).status_code == 200
    full = put("merge_to", third.id, made["id"])
    assert full.status_code == 400
    assert full.json()["error"]["message"] == (
        f"Thread {made['id']} has 100000 messages, which is the maximum.")
    assert all_texts(server, made["id"]) == texts * 2
    assert put("copy_to", third.id, made["id"]).status_code == 200
    assert all_texts(server, made["id"]) == texts


@pytest.mark.slow
def test_large_messages_are_copied(threads, http, fork):
    """More than goes over at once; nothing of it can be made smaller."""
    letters = random.Random(1)
    texts = ["".join(letters.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=250000))
             for _ in range(60)]
    thread = threads.create(messages=user(*texts[:30]))
    for text in texts[30:]:
        threads.messages.create(thread.id, role="user", content=text)
    assert [text for _, text in said(threads, fork(thread)["id"])] == texts


# ---- failure ----

def test_a_copy_is_whole_or_not_at_all(start_fault_server, database, upstream):
    server = start_fault_server()
    api = server.api()
    thread = api.post("/threads", json={"messages": user(*map(str, range(1500)))}).json()["id"]
    target = api.post("/threads", json={"messages": user("x")}).json()["id"]

    def rows():
        return [database.ask(f"SELECT count(*) FROM {table}", url=server.settings["database_url"])
                for table in ("threads", "items")]

    before = rows()
    for verb in ("fork", f"copy_to/{target}", f"merge_to/{target}"):
        for fault in ("thread_share:1", "copy_look_at_source:1", "copy_look_at_target:1",
                      *(["copy_empty_target:1"] if verb.startswith("copy") else []),
                      "copy_originals:1", "copy_originals:2", "copy_originals:3", "copy_items:1",
                      "copy_items:2"):
            server.arm(fault)
            assert api.post(f"/runnel/threads/{thread}/{verb}").status_code == 503
            assert server.has_fired()
            server.arm()
            eventually(lambda: api.get("/assistants").status_code, lambda code: code == 200)
            assert rows() == before
    assert api.post(f"/runnel/threads/{thread}/copy_to/{target}").status_code == 200
    assert rows() == [before[0], [[str(int(before[1][0][0]) + 1500 - 1)]]]
