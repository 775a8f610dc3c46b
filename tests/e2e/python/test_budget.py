"""max_prompt_tokens and max_completion_tokens: for all turns of a run together."""

import json

import pytest

from harness.recorder import parse_events
from harness.tools import PARIS, WEATHER, call, then_says

TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test",
        "require_approval": "never"}


def used(prompt, completion):
    return {"prompt_tokens": prompt, "completion_tokens": completion}


@pytest.fixture
def runs(client):
    return client.beta.threads.runs


@pytest.fixture
def start(client):
    """A run of a new thread, as far as it goes by itself."""
    def start(messages=("How is the weather?",), tools=(WEATHER,), **body):
        assistant = client.beta.assistants.create(model="demo", tools=list(tools))
        return client.beta.threads.create_and_run_poll(
            assistant_id=assistant.id, poll_interval_ms=20, **body,
            thread={"messages": [{"role": "user", "content": text} for text in messages]})
    return start


def answer(runs, run):
    assert run.status == "requires_action", run
    calls = run.required_action.submit_tool_outputs.tool_calls
    return runs.submit_tool_outputs_and_poll(
        run_id=run.id, thread_id=run.thread_id, poll_interval_ms=20,
        tool_outputs=[{"tool_call_id": call.id, "output": "sunny"} for call in calls])


def asks_for_ever(upstream, usage):
    upstream.script({"answer": {"tool_calls": [PARIS], "usage": usage}})


def messages(client, run):
    return client.beta.threads.messages.list(run.thread_id, run_id=run.id).data


def test_each_turn_may_use_what_earlier_turns_have_left(runs, start, upstream):
    asks_for_ever(upstream, used(10, 120))
    run = start(max_completion_tokens=300)
    while run.status == "requires_action":
        run = answer(runs, run)
    assert [chat["max_completion_tokens"] for chat in upstream.chats()] == [300, 180, 60]
    assert run.status == "incomplete"
    assert run.incomplete_details.reason == "max_completion_tokens"
    assert run.usage.completion_tokens == 360 and run.required_action is None
    steps = runs.steps.list(run.id, thread_id=run.thread_id, order="asc").data
    assert [step.status for step in steps] == ["completed"] * 3
    assert [step.usage.completion_tokens for step in steps] == [120] * 3
    assert steps[2].step_details.tool_calls[0].function.output is None


def test_a_budget_that_is_used_to_the_last_token_ends_the_run_at_its_next_turn(runs, start,
                                                                               upstream):
    asks_for_ever(upstream, used(10, 150))
    run = answer(runs, answer(runs, start(max_completion_tokens=300)))
    assert run.status == "incomplete" and len(upstream.chats()) == 2
    assert run.incomplete_details.reason == "max_completion_tokens"


def test_turns_with_server_side_tools_count_as_well(start, upstream, runs, http):
    upstream.script({"match": {"tool_results": 2}, "answer": {"text": "ok", "usage": used(1, 1)}},
                    {"answer": {"tool_calls": [call("test_slow", ms=0, text="x")],
                                "usage": used(10, 100)}})
    made = http.post("/v1/threads/runs", json={
        "assistant_id": http.post("/v1/assistants", json={"model": "demo"}).json()["id"],
        "tools": [TEST], "max_completion_tokens": 256, "stream": True,
        "thread": {"messages": [{"role": "user", "content": "go"}]}})
    assert parse_events(made.text)[-2][0] == "thread.run.completed"
    assert [chat["max_completion_tokens"] for chat in upstream.chats()] == [256, 156, 56]


def test_a_response_has_one_budget_too(client, upstream):
    upstream.script({"answer": {"tool_calls": [call("test_slow", ms=0, text="x")],
                                "usage": used(10, 30)}})
    made = client.responses.create(model="demo", input="go", tools=[TEST], max_output_tokens=64)
    assert made.status == "incomplete"
    assert made.incomplete_details.reason == "max_output_tokens"
    assert [chat["max_completion_tokens"] for chat in upstream.chats()] == [64, 34, 4]


def test_prompts_of_all_turns_are_counted(runs, start, upstream):
    asks_for_ever(upstream, used(200, 5))
    run = start(max_prompt_tokens=500)
    while run.status == "requires_action":
        run = answer(runs, run)
    assert run.status == "incomplete" and run.incomplete_details.reason == "max_prompt_tokens"
    # The third would have cost more than the 100 that were left: nobody asked for it.
    assert len(upstream.chats()) == 2 and run.usage.prompt_tokens == 400


def test_a_complete_answer_above_the_limit_is_kept(client, start, upstream):
    upstream.answer(text="All of it.", usage=used(300, 5))
    run = start(max_prompt_tokens=256, tools=())
    assert run.status == "incomplete" and run.incomplete_details.reason == "max_prompt_tokens"
    (message,) = messages(client, run)
    assert (message.status, message.content[0].text.value) == ("completed", "All of it.")


def test_a_limit_that_was_reached_but_not_exceeded_does_no_harm(start, upstream):
    upstream.answer(text="All of it.", usage=used(256, 256))
    run = start(max_prompt_tokens=256, max_completion_tokens=256, tools=())
    assert run.status == "completed" and run.incomplete_details is None


LONG = " ".join(["word"] * 150)


@pytest.mark.parametrize("strategy, kept", [
    ({"type": "auto"}, ["first", "d", "last"]),
    ({"type": "last_messages", "last_messages": 4}, ["c", "d", "last"]),
    ({"type": "last_messages", "last_messages": 2}, ["d", "last"]),
], ids=["auto", "last 4", "last 2"])
def test_bella_B16_a_thread_is_cut_to_the_prompt_limit_of_its_run(start, upstream, strategy, kept):
    names = ["first", "a", "b", "c", "d", "last"]
    run = start([f"{name} {LONG}" for name in names], tools=(), max_prompt_tokens=900,
                truncation_strategy=strategy)
    assert run.status == "completed"
    (chat,) = upstream.chats()
    assert [message["content"].split()[0] for message in chat["messages"]] == kept


@pytest.fixture
def thread(client, upstream):
    """In which a tool has given much."""
    assistant = client.beta.assistants.create(model="demo")
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "go"}])
    then_says(upstream, [call("test_slow", ms=0, text=LONG * 10)], text="done")

    def run(history="native", **body):
        upstream.forget()
        return client.copy().beta.threads.runs.create_and_poll(
            thread_id=thread.id, assistant_id=assistant.id, poll_interval_ms=20,
            extra_body={"runnel": {"history": history}, **body})
    assert run(tools=[TEST]).status == "completed"
    client.beta.threads.messages.create(thread.id, role="user", content="next")
    return run


@pytest.mark.feature("F68")
@pytest.mark.parametrize("history, limit, kept", [
    ("native", 1200, ["go", "done", "next"]),
    ("compact", 1200, ["go", "<SYSTEM-CONTEXT>", "next"]),
    ("compact", 300, ["go", "next"]),
])
def test_a_prompt_is_estimated_as_it_is_sent(thread, upstream, history, limit, kept):
    run = thread(history, max_prompt_tokens=limit)
    assert run.status == "completed"
    (chat,) = upstream.chats()
    assert [message["content"].split()[0] for message in chat["messages"]] == kept
    assert len(json.dumps(chat["messages"])) < 3 * limit


def test_rules_and_tools_of_groups_count(client, upstream):
    """What the server adds to the instructions and the tools is sent, and is estimated as well."""
    assistant = client.beta.assistants.create(model="demo")
    thread = [{"role": "user", "content": f"{name} {LONG}"} for name in ("first", "a", "last")]
    for tools, kept in ([], ["first", "a", "last"]), ([TEST], ["last"]):
        upstream.forget()
        client.copy().beta.threads.create_and_run_poll(
            assistant_id=assistant.id, max_prompt_tokens=900, thread={"messages": thread},
            extra_body={"tools": tools}, poll_interval_ms=20)
        said = [m for m in upstream.chats()[0]["messages"] if m["role"] == "user"]
        assert [message["content"].split()[0] for message in said] == kept


def test_the_newest_message_is_never_cut(start, upstream):
    upstream.answer(text="Well.", usage=used(200, 5))
    run = start([LONG * 4], tools=(), max_prompt_tokens=256)
    assert run.status == "completed" and len(upstream.chats()) == 1


@pytest.mark.slow
def test_limits_survive_a_restart(start_server, upstream):
    asks_for_ever(upstream, used(10, 150))
    server = start_server(lease_ttl=1)
    client = server.sdk()
    assistant = client.beta.assistants.create(model="demo", tools=[WEATHER])
    run = client.beta.threads.create_and_run_poll(
        assistant_id=assistant.id, poll_interval_ms=20, max_completion_tokens=400,
        thread={"messages": [{"role": "user", "content": "weather"}]})
    server.kill()
    server.start()
    run = answer(server.sdk().beta.threads.runs, run)
    assert [chat["max_completion_tokens"] for chat in upstream.chats()] == [400, 250]
