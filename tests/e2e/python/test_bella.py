"""Faults that the nearest peer has (hangs: A, wrong results: B), each as a promise of this server.

PEER.md has the whole list. Those of the channel, the executor and the status table are unit tests; those of
tools on both faces are in test_tools.py, those of crashes in test_recovery.py and test_faults_*.py.
"""

import concurrent.futures
import json

import pytest

from harness.failures import failed_response
from harness.recorder import parse_events
from harness.server import eventually
from harness.tools import GRAMMAR, PARIS, WEATHER, WEATHER_FLAT, WEATHER_RULES, call

TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test",
        "require_approval": "never"}
SHELL = {"type": "local_shell"}


@pytest.fixture
def threads(client):
    return client.beta.threads


@pytest.fixture
def assistant(client):
    return client.beta.assistants.create(model="demo", tools=[WEATHER])


@pytest.fixture
def thread(threads):
    return threads.create(messages=[{"role": "user", "content": "How is the weather?"}])


def waiting_run(threads, thread, assistant):
    run = threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id,
                                       poll_interval_ms=20)
    assert run.status == "requires_action", run.last_error
    return run


def responses_events(http, **body):
    answer = http.post("/v1/responses", json={"model": "demo", "input": "go", "stream": True,
                                              **body})
    assert answer.status_code == 200, answer.text
    return [json.loads(data) for _, data in parse_events(answer.text) if data != "[DONE]"]


# ---- A: hangs, lost work, stuck states ----

def test_bella_A4_a_cancelled_waiting_run_reaches_cancelled(threads, thread, assistant, upstream):
    upstream.script(*WEATHER_RULES)
    run = waiting_run(threads, thread, assistant)
    assert threads.runs.cancel(run.id, thread_id=thread.id).status == "cancelling"
    ended = eventually(lambda: threads.runs.retrieve(run.id, thread_id=thread.id),
                       lambda r: r.status != "cancelling")
    assert ended.status == "cancelled" and ended.cancelled_at
    (step,) = threads.runs.steps.list(run.id, thread_id=thread.id).data
    assert step.status == "cancelled" and step.cancelled_at


@pytest.mark.slow
def test_bella_A9_a_hundred_runs_with_tools_at_once_all_finish(client, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [call("test_slow", n, ms=2) for n in range(1, 5)]}})

    def one(_):
        return client.responses.create(model="demo", input="go", tools=[TEST]).output_text

    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        assert list(pool.map(one, range(150))) == ["ok"] * 150


@pytest.mark.slow
def test_bella_A10_many_creations_at_once_do_not_block_each_other(client, upstream):
    def one(number):
        thread = client.beta.threads.create(messages=[{"role": "user", "content": str(number)}])
        return thread.id

    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        assert len(set(pool.map(one, range(200)))) == 200


def test_bella_A11_results_of_concurrent_calls_are_all_kept(client, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [call("test_slow", n, ms=0, text=f"result {n}")
                                               for n in range(1, 17)]}})
    made = client.responses.create(model="demo", input="go", tools=[TEST])
    kept = client.responses.retrieve(made.id)
    assert {i.output for i in kept.output if i.type == "mcp_call"} == {
        f"result {n}" for n in range(1, 17)}


def test_bella_A17_an_announced_status_can_be_read(http, threads, thread, assistant):
    """A request right after an event finds the status of that event."""
    url = f"/v1/threads/{thread.id}/runs"
    with http.stream("POST", url, json={"assistant_id": assistant.id, "stream": True}) as answer:
        for line in answer.iter_lines():
            if not line.startswith('data: {"id":"run_'):
                continue
            received = json.loads(line[6:])
            found = threads.runs.retrieve(received["id"], thread_id=thread.id)
            order = ["queued", "in_progress", "completed"]
            assert order.index(found.status) >= order.index(received["status"])


# ---- B: wrong results ----

def test_bella_B1_items_of_an_earlier_response_may_be_sent_again(client, upstream):
    """All of it, ids included, as loops without previous_response_id do."""
    upstream.script(*WEATHER_RULES)
    history = [{"role": "user", "content": "weather?"}]
    first = client.responses.create(model="demo", input=history, tools=[WEATHER_FLAT])
    history += [item.model_dump(exclude_none=True) for item in first.output]
    history.append({"type": "function_call_output", "call_id": "call_1", "output": "sunny"})
    second = client.responses.create(model="demo", input=history, tools=[WEATHER_FLAT])
    assert second.output_text == "It is sunny."
    assert upstream.chats()[-1]["messages"][1]["tool_calls"][0]["function"]["name"] == "get_weather"
    kept = client.responses.retrieve(first.id)
    assert kept.output[0].type == "function_call"


def test_bella_B2_a_failed_response_says_failed_when_it_is_read_again(client, upstream):
    upstream.answer(fault={"kind": "status", "status": 400})
    error, kept = failed_response(client, input="go")
    assert error.code == kept.error.code == "invalid_prompt"
    assert kept.status == "failed" and kept.completed_at is None


def test_bella_B7_a_local_shell_call_is_answered_by_its_own_output(client, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "{{tool_output}}"}},
                    {"answer": {"tool_calls": [call("local_shell", command=["ls"], env={})]}})
    first = client.responses.create(model="demo", input="go", tools=[SHELL])
    (asked,) = first.output
    assert asked.type == "local_shell_call" and asked.action.command == ["ls"]
    second = client.responses.create(
        model="demo", previous_response_id=first.id, tools=[SHELL],
        input=[{"type": "local_shell_call_output", "id": asked.id, "call_id": asked.call_id,
                "output": "a.txt"}])
    assert second.output_text == "a.txt"


def test_bella_B8_threads_of_an_assistant_are_not_truncated_by_default(threads, assistant,
                                                                      upstream):
    thread = threads.create(messages=[{"role": "user", "content": f"{n}"} for n in range(30)])
    threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id,
                                 poll_interval_ms=20)
    assert len(upstream.chats()[0]["messages"]) == 30
    upstream.forget()
    threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id,
                                 truncation_strategy={"type": "last_messages", "last_messages": 3},
                                 poll_interval_ms=20)
    assert [m["content"] for m in upstream.chats()[0]["messages"]] == [
        "28", "29", "Hello there, my friend."]


def test_bella_B9_a_response_does_not_inherit_tools(client, upstream):
    first = client.responses.create(model="demo", input="go", tools=[WEATHER_FLAT, GRAMMAR])
    upstream.forget()
    second = client.responses.create(model="demo", input="on", previous_response_id=first.id)
    assert second.tools == [] and "tools" not in upstream.chats()[0]


def test_bella_B10_a_running_response_cannot_be_continued(client, upstream):
    upstream.answer(text="slow", delay_ms=400)
    made = client.responses.create(model="demo", input="go", background=True)
    with pytest.raises(Exception) as refused:
        client.responses.create(model="demo", input="on", previous_response_id=made.id)
    assert refused.value.code == "previous_response_not_found"
    eventually(lambda: client.responses.retrieve(made.id).status, lambda s: s == "completed")


def test_bella_B11_every_turn_has_its_own_text_and_tokens(client, upstream):
    upstream.script({"match": {"tool_results": True},
                     "answer": {"text": "second", "usage": {"prompt_tokens": 20,
                                                            "completion_tokens": 2}}},
                    {"answer": {"text": "first", "tool_calls": [call("test_slow", ms=0)],
                                "usage": {"prompt_tokens": 10, "completion_tokens": 1}}})
    made = client.responses.create(model="demo", input="go", tools=[TEST])
    texts = [i.content[0].text for i in made.output if i.type == "message"]
    assert texts == ["first", "second"]
    assert (made.usage.input_tokens, made.usage.output_tokens, made.usage.total_tokens) == (30, 3,
                                                                                           33)


def test_bella_B12_a_response_is_read_again_as_it_was_streamed(http, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "The end."}},
                    {"answer": {"reasoning": "Hm.", "text": "Let me see.",
                                "tool_calls": [call("test_slow", ms=0, text="x")]}})
    received = responses_events(http, tools=[TEST])[-1]["response"]
    kept = http.get(f"/v1/responses/{received['id']}").json()
    assert kept == received
    assert [i["type"] for i in kept["output"]] == ["mcp_list_tools", "reasoning", "message",
                                                   "mcp_call", "message"]


def test_bella_B13_formats_and_settings_reach_the_model(client, upstream):
    schema = {"type": "object", "properties": {"a": {"type": "string", "description": "x" * 80}},
              "required": ["a"], "additionalProperties": False}
    made = client.responses.create(
        model="demo", input="go", temperature=0.5, top_p=0.9, parallel_tool_calls=False,
        max_output_tokens=99, tools=[WEATHER_FLAT],
        text={"format": {"type": "json_schema", "name": "n", "schema": schema, "strict": True}})
    (chat,) = upstream.chats()
    assert chat["response_format"] == {"type": "json_schema", "json_schema": {
        "name": "n", "schema": schema, "strict": True}}
    assert (chat["temperature"], chat["top_p"], chat["max_completion_tokens"]) == (0.5, 0.9, 99)
    assert chat["parallel_tool_calls"] is False and chat["stream_options"]["include_usage"]
    kept = client.responses.retrieve(made.id)
    assert kept.text.format.type == "json_schema" and kept.temperature == 0.5


def test_bella_B13_nothing_is_made_up_for_the_model(client, upstream):
    client.responses.create(model="demo", input="go")
    (chat,) = upstream.chats()
    assert set(chat) == {"model", "messages", "stream", "stream_options"}


def test_bella_B14_a_turn_is_not_repeated_after_its_first_text(http, upstream):
    upstream.answer(text=["one ", "two "], fault={"kind": "cut", "after": 1})
    events = responses_events(http)
    assert len(upstream.chats()) == 1
    assert events[-1]["type"] == "response.failed"
    deltas = [e["delta"] for e in events if e["type"] == "response.output_text.delta"]
    assert deltas == ["one "]


def test_bella_B17_items_of_one_second_keep_their_order(threads):
    thread = threads.create()
    sent = [threads.messages.create(thread.id, role="user", content=str(n)).id for n in range(60)]
    listed = [m.id for m in threads.messages.list(thread.id, order="asc", limit=7)]
    assert listed == sent


def test_bella_B18_a_failed_run_adds_nothing_to_later_ones(threads, thread, assistant, upstream):
    upstream.answer(fault={"kind": "status", "status": 400, "body": "{\"error\":{\"message\":\"the reason\"}}"})
    run = threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id,
                                       poll_interval_ms=20)
    assert run.status == "failed" and run.last_error and run.failed_at
    assert [m.role for m in threads.messages.list(thread.id)] == ["user"]
    upstream.answer(text="fine")
    upstream.forget()
    threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id,
                                 poll_interval_ms=20)
    assert "reason" not in json.dumps(upstream.chats()[0]["messages"])


def test_bella_B20_times_are_set_when_they_happen(threads, thread, assistant, upstream):
    upstream.script(*WEATHER_RULES)
    run = waiting_run(threads, thread, assistant)
    assert run.started_at >= run.created_at and run.expires_at == run.created_at + 600
    assert run.completed_at is None and run.cancelled_at is None and run.failed_at is None
    run = threads.runs.submit_tool_outputs_and_poll(
        run_id=run.id, thread_id=thread.id, poll_interval_ms=20,
        tool_outputs=[{"tool_call_id": PARIS["id"], "output": "sunny"}])
    assert run.status == "completed" and run.completed_at >= run.started_at
    assert run.expires_at is None
    message = threads.messages.list(thread.id, limit=1).data[0]
    assert message.assistant_id == assistant.id and message.run_id == run.id


def test_bella_B21_threads_may_have_messages_in_any_order(threads, assistant, client):
    thread = threads.create(messages=[{"role": "assistant", "content": "Welcome."},
                                      {"role": "user", "content": "One."},
                                      {"role": "user", "content": "Two."}])
    run = threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id,
                                       poll_interval_ms=20)
    assert run.status == "completed"
    run = client.beta.threads.create_and_run_poll(assistant_id=assistant.id, poll_interval_ms=20)
    assert run.status == "completed"
