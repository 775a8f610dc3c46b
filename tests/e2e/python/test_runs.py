"""Runs of threads: created and polled, streamed, answered, cancelled, failed."""

import json
import time

import openai
import pytest

from harness.recorder import parse_events
from harness.server import eventually
from harness.tools import PARIS, TIME, WEATHER, WEATHER_RULES, call

STARTED = ["thread.run.created", "thread.run.queued", "thread.run.in_progress"]
SAID = ["thread.run.step.created", "thread.run.step.in_progress",
        "thread.message.created", "thread.message.in_progress"]
SAID_END = ["thread.message.completed", "thread.run.step.completed"]


@pytest.fixture
def threads(client):
    return client.beta.threads


@pytest.fixture
def runs(threads):
    return threads.runs


@pytest.fixture
def assistant(client):
    return client.beta.assistants.create(model="demo", instructions="Be brief.", tools=[WEATHER])


@pytest.fixture
def thread(threads):
    return threads.create(messages=[{"role": "user", "content": "How is the weather?"}])


@pytest.fixture
def raw_stream(http):
    """Events of a run as they are on the wire: (name, text)."""
    def stream(path, body):
        answer = http.post(path, json={**body, "stream": True})
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert answer.headers["cache-control"] == "no-cache"
        return parse_events(answer.text)
    return stream


def collapsed(events):
    """Names of the events, deltas of one kind in a row as one."""
    names = []
    for name, _ in events:
        if not (names and names[-1] == name and name.endswith(".delta")):
            names.append(name)
    return names


def sdk_names(stream):
    return collapsed([(event.event, None) for event in stream])


def last_text(threads, thread):
    return threads.messages.list(thread.id, limit=1).data[0].content[0].text.value


def poll(runs, run):
    return runs.poll(run.id, thread_id=run.thread_id, poll_interval_ms=20)


def run_to_action(runs, thread, assistant):
    run = runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id,
                               poll_interval_ms=20)
    assert run.status == "requires_action", run.last_error
    return run


def outputs(run, **texts):
    calls = run.required_action.submit_tool_outputs.tool_calls
    return [{"tool_call_id": c.id, "output": texts.get(c.function.name, "sunny")} for c in calls]


# ---- text ----

@pytest.mark.threads
def test_a_run_answers(threads, runs, thread, assistant, upstream):
    created = runs.create(thread_id=thread.id, assistant_id=assistant.id)
    assert created.id.startswith("run_") and created.object == "thread.run"
    assert created.status in ("queued", "in_progress")
    assert created.expires_at == created.created_at + 600
    assert created.instructions == "Be brief." and created.model == "demo"
    run = poll(runs, created)
    assert run.status == "completed" and run.last_error is None
    assert run.started_at and run.completed_at and run.expires_at is None
    assert run.usage.total_tokens == run.usage.prompt_tokens + run.usage.completion_tokens > 0
    message = threads.messages.list(thread.id, limit=1).data[0]
    assert message.content[0].text.value == "Hello there, my friend."
    assert (message.role, message.status) == ("assistant", "completed")
    assert (message.run_id, message.assistant_id) == (run.id, assistant.id)
    assert message.completed_at


def test_the_model_gets_instructions_and_history(threads, runs, thread, assistant, upstream):
    threads.messages.create(thread.id, role="user", content="And tomorrow?")
    runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id, poll_interval_ms=20,
                         additional_instructions="In French.",
                         additional_messages=[{"role": "user", "content": "Please."}])
    (chat,) = upstream.chats()
    assert chat["model"] == "demo"
    roles = [m["role"] for m in chat["messages"]]
    assert roles == ["system", "user", "user", "user"]
    system = chat["messages"][0]["content"]
    assert "Be brief." in system and "In French." in system
    assert "Please." in str(chat["messages"][3]["content"])
    assert chat["tools"][0]["function"]["name"] == "get_weather"
    kept = [m.content[0].text.value for m in threads.messages.list(thread.id, order="asc")]
    assert kept == ["How is the weather?", "And tomorrow?", "Please.", "Hello there, my friend."]


def test_a_run_may_override_its_assistant(runs, thread, assistant, upstream):
    run = runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id, model="other/model",
                               instructions="Sing.", tools=[], temperature=0.1,
                               metadata={"a": "1"}, poll_interval_ms=20)
    assert (run.model, run.instructions, run.tools) == ("other/model", "Sing.", [])
    assert run.metadata == {"a": "1"} and run.temperature == 0.1
    (chat,) = upstream.chats()
    assert chat["model"] == "other/model" and chat["temperature"] == 0.1
    assert not chat.get("tools")


def test_a_stream_has_all_events_in_order(raw_stream, thread, assistant):
    events = raw_stream(f"/v1/threads/{thread.id}/runs", {"assistant_id": assistant.id})
    assert collapsed(events) == [*STARTED, *SAID, "thread.message.delta", *SAID_END,
                                 "thread.run.completed", "done"]
    assert events[-1] == ("done", "[DONE]")


def test_the_stream_helper_collects_the_text(runs, thread, assistant):
    with runs.stream(thread_id=thread.id, assistant_id=assistant.id) as stream:
        text = "".join(stream.text_deltas)
        assert text == "Hello there, my friend."
        assert stream.get_final_run().status == "completed"
        (message,) = stream.get_final_messages()
        assert message.content[0].text.value == text
        (step,) = stream.get_final_run_steps()
        assert step.step_details.message_creation.message_id == message.id


def test_steps_show_what_was_done(runs, thread, assistant):
    run = runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id, poll_interval_ms=20)
    (step,) = runs.steps.list(run.id, thread_id=thread.id).data
    assert step.id.startswith("step_") and step.object == "thread.run.step"
    assert (step.type, step.status) == ("message_creation", "completed")
    assert step.usage.total_tokens == run.usage.total_tokens
    assert runs.steps.retrieve(step.id, thread_id=thread.id, run_id=run.id) == step


def test_runs_are_listed_and_changed(runs, thread, assistant):
    made = [runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id,
                                 poll_interval_ms=20) for _ in range(3)]
    assert [r.id for r in runs.list(thread.id)] == [r.id for r in reversed(made)]
    assert [r.id for r in runs.list(thread.id, limit=1, order="asc")] == [r.id for r in made]
    changed = runs.update(made[0].id, thread_id=thread.id, metadata={"a": "1"})
    assert changed.metadata == {"a": "1"} and changed.status == "completed"


def test_messages_are_listed_by_run(threads, runs, thread, assistant):
    for _ in range(2):
        run = runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id,
                                   poll_interval_ms=20)
    (message,) = threads.messages.list(thread.id, run_id=run.id).data
    assert message.run_id == run.id


# ---- thread and run ----

def test_a_thread_and_its_run_can_be_created_at_once(threads, assistant):
    run = threads.create_and_run_poll(assistant_id=assistant.id, poll_interval_ms=20, thread={
        "messages": [{"role": "user", "content": "Hi"}], "metadata": {"a": "1"}})
    assert run.status == "completed"
    assert threads.retrieve(run.thread_id).metadata == {"a": "1"}
    texts = [m.content[0].text.value for m in threads.messages.list(run.thread_id, order="asc")]
    assert texts == ["Hi", "Hello there, my friend."]


def test_a_thread_and_its_run_can_be_streamed(threads, assistant):
    with threads.create_and_run_stream(assistant_id=assistant.id, thread={
            "messages": [{"role": "user", "content": "Hi"}]}) as stream:
        assert sdk_names(stream) == ["thread.created", *STARTED, *SAID, "thread.message.delta",
                                     *SAID_END, "thread.run.completed"]
        assert stream.get_final_run().status == "completed"


def test_a_step_names_its_message_even_after_that_is_deleted(threads, runs, thread, assistant):
    run = runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id, poll_interval_ms=20)
    steps = runs.steps.list(run.id, thread_id=thread.id).data
    threads.messages.delete(steps[0].step_details.message_creation.message_id, thread_id=thread.id)
    assert [m.role for m in threads.messages.list(thread.id)] == ["user"]
    assert runs.steps.list(run.id, thread_id=thread.id).data == steps


# ---- client tools ----

@pytest.mark.threads
def test_a_run_waits_for_its_tools(threads, runs, thread, assistant, upstream):
    upstream.script(*WEATHER_RULES)
    run = run_to_action(runs, thread, assistant)
    action = run.required_action
    assert action.type == "submit_tool_outputs"
    (asked,) = action.submit_tool_outputs.tool_calls
    assert (asked.id, asked.function.name) == ("call_1", "get_weather")
    assert asked.function.arguments == '{"city":"Paris"}'

    (step,) = runs.steps.list(run.id, thread_id=thread.id).data
    assert (step.type, step.status) == ("tool_calls", "in_progress")
    assert step.step_details.tool_calls[0].function.output is None

    run = runs.submit_tool_outputs_and_poll(run_id=run.id, thread_id=thread.id, poll_interval_ms=20,
                                            tool_outputs=outputs(run))
    assert run.status == "completed" and run.required_action is None
    assert last_text(threads, thread) == "It is sunny."
    steps = runs.steps.list(run.id, thread_id=thread.id, order="asc").data
    assert [s.type for s in steps] == ["tool_calls", "message_creation"]
    assert steps[0].status == "completed"
    assert steps[0].step_details.tool_calls[0].function.output == "sunny"


def test_the_model_sees_the_calls_and_their_outputs(runs, thread, assistant, upstream):
    upstream.script({"match": {"tool_results": 2}, "answer": {"text": "Done."}},
                    {"answer": {"tool_calls": [PARIS, call(number=2, city="Rome")]}})
    run = run_to_action(runs, thread, assistant)
    runs.submit_tool_outputs_and_poll(run_id=run.id, thread_id=thread.id, poll_interval_ms=20,
                                      tool_outputs=[{"tool_call_id": "call_2", "output": "wet"},
                                                    {"tool_call_id": "call_1", "output": "dry"}])
    messages = upstream.chats()[-1]["messages"]
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "tool", "tool"]
    asked = [(c["id"], c["function"]["arguments"]) for c in messages[2]["tool_calls"]]
    assert asked == [("call_1", '{"city":"Paris"}'), ("call_2", '{"city":"Rome"}')]
    answered = {m["tool_call_id"]: m["content"] for m in messages[3:]}
    assert answered == {"call_1": "dry", "call_2": "wet"}


@pytest.mark.threads
def test_tools_are_streamed(raw_stream, thread, assistant, upstream):
    upstream.script(*WEATHER_RULES)
    path = f"/v1/threads/{thread.id}/runs"
    events = raw_stream(path, {"assistant_id": assistant.id})
    assert collapsed(events) == [*STARTED, "thread.run.step.created",
                                 "thread.run.step.in_progress", "thread.run.step.delta",
                                 "thread.run.requires_action", "done"]
    run_id = run_id_of(events)
    events = raw_stream(f"{path}/{run_id}/submit_tool_outputs",
                        {"tool_outputs": [{"tool_call_id": "call_1", "output": "sunny"}]})
    assert collapsed(events) == ["thread.run.step.completed", "thread.run.queued",
                                 "thread.run.in_progress", *SAID, "thread.message.delta",
                                 *SAID_END, "thread.run.completed", "done"]


def run_id_of(events):
    return next(json.loads(text)["id"] for name, text in events if name == "thread.run.created")


def test_the_stream_helpers_collect_calls_and_outputs(runs, thread, assistant, upstream):
    upstream.script(*WEATHER_RULES)
    with runs.stream(thread_id=thread.id, assistant_id=assistant.id) as stream:
        stream.until_done()
        run = stream.get_final_run()
        (step,) = stream.get_final_run_steps()
    assert run.status == "requires_action"
    (asked,) = step.step_details.tool_calls
    assert (asked.id, asked.function.name) == ("call_1", "get_weather")
    assert asked.function.arguments == '{"city":"Paris"}'
    with runs.submit_tool_outputs_stream(run_id=run.id, thread_id=thread.id,
                                         tool_outputs=outputs(run)) as stream:
        assert "".join(stream.text_deltas) == "It is sunny."
        assert stream.get_final_run().status == "completed"


def test_parallel_calls_are_one_step(runs, thread, client, upstream):
    both = client.beta.assistants.create(model="demo", tools=[WEATHER, TIME])
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "{{tool_outputs}}"}},
                    {"answer": {"tool_calls": [PARIS, call("get_time", 2)]}})
    run = run_to_action(runs, thread, both)
    calls = run.required_action.submit_tool_outputs.tool_calls
    assert [c.function.name for c in calls] == ["get_weather", "get_time"]
    (step,) = runs.steps.list(run.id, thread_id=thread.id).data
    assert [c.id for c in step.step_details.tool_calls] == ["call_1", "call_2"]


def test_a_run_without_parallel_calls_asks_for_one(runs, thread, client, upstream):
    both = client.beta.assistants.create(model="demo", tools=[WEATHER, TIME])
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "{{tool_outputs}}"}},
                    {"answer": {"tool_calls": [PARIS, call("get_time", 2)]}})
    run = runs.create_and_poll(thread_id=thread.id, assistant_id=both.id,
                               parallel_tool_calls=False)
    (asked,) = run.required_action.submit_tool_outputs.tool_calls
    assert asked.function.name == "get_weather"
    (step,) = runs.steps.list(run.id, thread_id=thread.id).data
    assert [c.id for c in step.step_details.tool_calls] == ["call_1"]
    done = runs.submit_tool_outputs_and_poll(run_id=run.id, thread_id=thread.id,
                                             tool_outputs=outputs(run))
    assert done.status == "completed"


def test_text_before_a_call_is_a_message_of_its_own(threads, runs, thread, assistant, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Sunny."}},
                    {"answer": {"text": "Let me look.", "tool_calls": [PARIS]}})
    run = run_to_action(runs, thread, assistant)
    steps = runs.steps.list(run.id, thread_id=thread.id, order="asc").data
    assert [s.type for s in steps] == ["message_creation", "tool_calls"]
    assert last_text(threads, thread) == "Let me look."


SILENT = [{"text": ""}, {"reasoning": "hm"}, {"reasoning": "hm", "finish_reason": "length"}]


@pytest.mark.parametrize("answer", SILENT)
def test_an_answer_without_words_is_an_empty_message(raw_stream, threads, runs, thread, assistant,
                                                     upstream, answer):
    """Clients read the newest message of the thread as the answer."""
    upstream.script({"answer": answer})
    ending = "incomplete" if "finish_reason" in answer else "completed"
    events = collapsed(raw_stream(f"/v1/threads/{thread.id}/runs", {"assistant_id": assistant.id}))
    assert events == [*STARTED, *SAID, f"thread.message.{ending}", "thread.run.step.completed",
                      f"thread.run.{ending}", "done"]
    (run,) = runs.list(thread.id).data
    newest = threads.messages.list(thread.id).data[0]
    assert (newest.role, newest.run_id, newest.status) == ("assistant", run.id, ending)
    assert [part.text.value for part in newest.content] == [""]
    (step,) = runs.steps.list(run.id, thread_id=thread.id).data
    assert step.step_details.message_creation.message_id == newest.id


def test_an_empty_message_is_not_sent_to_the_model(threads, runs, thread, assistant, upstream):
    """Some model servers refuse a message without text."""
    upstream.script({"answer": {"text": ""}})
    for _ in range(2):
        runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
    assert [m["role"] for m in upstream.chats()[-1]["messages"]] == ["system", "user"]


def test_silence_behind_client_calls_is_an_empty_message(threads, runs, thread, assistant, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": ""}},
                    {"answer": {"text": "Let me look.", "tool_calls": [PARIS]}})
    run = run_to_action(runs, thread, assistant)
    done = runs.submit_tool_outputs_and_poll(run_id=run.id, thread_id=thread.id,
                                             tool_outputs=outputs(run))
    assert done.status == "completed"
    assert last_text(threads, thread) == ""


# ---- what is refused ----

def refused(call, status, message):
    with pytest.raises(openai.APIStatusError) as caught:
        call()
    assert caught.value.status_code == status
    assert caught.value.body["message"] == message
    assert caught.value.body["type"] == "invalid_request_error"


def test_a_thread_is_locked_while_a_run_is_active(threads, runs, thread, assistant, upstream):
    upstream.script(*WEATHER_RULES)
    run = run_to_action(runs, thread, assistant)
    refused(lambda: threads.messages.create(thread.id, role="user", content="x"), 400,
            f"Can't add messages to {thread.id} while a run {run.id} is active.")
    refused(lambda: runs.create(thread_id=thread.id, assistant_id=assistant.id), 400,
            f"Thread {thread.id} already has an active run {run.id}.")
    runs.cancel(run.id, thread_id=thread.id)
    poll(runs, run)
    threads.messages.create(thread.id, role="user", content="x")


def test_metadata_of_a_message_may_change_while_it_is_written(threads, runs, thread, assistant,
                                                           upstream):
    upstream.answer(text="a b c d e f", piece_delay_ms=50)
    with runs.stream(thread_id=thread.id, assistant_id=assistant.id) as stream:
        for event in stream:
            if event.event == "thread.message.created":
                changed = threads.messages.update(event.data.id, thread_id=thread.id,
                                                  metadata={"seen": "yes"})
                assert (changed.status, changed.metadata) == ("in_progress", {"seen": "yes"})
    kept = threads.messages.list(thread.id, limit=1).data[0]
    assert kept.metadata == {"seen": "yes"} and kept.content[0].text.value == "a b c d e f"


def test_outputs_must_match_the_required_calls(runs, thread, assistant, upstream):
    upstream.script({"answer": {"tool_calls": [PARIS, call(number=2, city="Rome")]}})
    run = run_to_action(runs, thread, assistant)

    def submit(*ids):
        return lambda: runs.submit_tool_outputs(run.id, thread_id=thread.id, tool_outputs=[
            {"tool_call_id": i, "output": "x"} for i in ids])
    expected = "Expected tool outputs for call_ids ['call_1', 'call_2'], got"
    refused(submit("call_1"), 400, f"{expected} ['call_1']")
    refused(submit("call_1", "call_9"), 400, f"{expected} ['call_1', 'call_9']")
    assert runs.retrieve(run.id, thread_id=thread.id).status == "requires_action"
    runs.cancel(run.id, thread_id=thread.id)
    ended = poll(runs, run)
    refused(submit("call_1", "call_2"), 400,
            'Runs in status "cancelled" do not accept tool outputs.')
    refused(lambda: runs.cancel(run.id, thread_id=thread.id), 400,
            "Cannot cancel run with status 'cancelled'.")
    assert ended.status == "cancelled"


def test_a_completed_run_is_not_cancelled(runs, thread, assistant):
    run = runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id, poll_interval_ms=20)
    refused(lambda: runs.cancel(run.id, thread_id=thread.id), 400,
            "Cannot cancel run with status 'completed'.")


# ---- cancelling ----

@pytest.mark.threads
def test_a_streaming_run_is_cancelled(threads, runs, thread, assistant, upstream):
    upstream.answer(text="a b c d e f", piece_delay_ms=3600000)
    with runs.stream(thread_id=thread.id, assistant_id=assistant.id) as stream:
        names = []
        for event in stream:
            names.append(event.event)
            if names.count("thread.message.delta") == 1 and names[-1] == "thread.message.delta":
                answer = runs.cancel(stream.current_run.id, thread_id=thread.id)
                assert answer.status in ("cancelling", "cancelled")
        run = stream.get_final_run()
    assert run.status == "cancelled" and run.cancelled_at
    assert names[names.index("thread.message.delta") + 1:] == [
        "thread.run.cancelling", "thread.message.incomplete", "thread.run.step.cancelled",
        "thread.run.cancelled"]
    message = threads.messages.list(thread.id, limit=1).data[0]
    assert message.status == "incomplete" and message.incomplete_details.reason == "run_cancelled"
    assert message.content[0].text.value == "a"
    eventually(lambda: upstream.requests()[-1]["state"], lambda state: state == "client_left")


def test_a_waiting_run_is_cancelled(runs, thread, assistant, upstream):
    upstream.script(*WEATHER_RULES)
    run = run_to_action(runs, thread, assistant)
    assert runs.cancel(run.id, thread_id=thread.id).status == "cancelling"
    run = poll(runs, run)
    assert run.status == "cancelled" and run.required_action is None
    (step,) = runs.steps.list(run.id, thread_id=thread.id).data
    assert step.status == "cancelled" and step.cancelled_at


def test_a_run_continues_without_its_client(threads, runs, thread, assistant, upstream):
    upstream.answer(text="a b c d e f", piece_delay_ms=50)
    with runs.stream(thread_id=thread.id, assistant_id=assistant.id) as stream:
        for event in stream:
            if event.event == "thread.message.delta":
                break
        run = stream.current_run
    assert poll(runs, run).status == "completed"
    assert last_text(threads, thread) == "a b c d e f"


# ---- what goes wrong ----

def test_a_run_that_hits_the_token_limit_is_incomplete(threads, runs, raw_stream, thread,
                                                       assistant, upstream):
    upstream.answer(text="Once upon", finish_reason="length")
    events = raw_stream(f"/v1/threads/{thread.id}/runs", {"assistant_id": assistant.id})
    assert collapsed(events)[-5:] == ["thread.message.delta", "thread.message.incomplete",
                                      "thread.run.step.completed", "thread.run.incomplete",
                                      "done"]
    run = runs.list(thread.id).data[0]
    assert run.status == "incomplete"
    assert run.incomplete_details.reason == "max_completion_tokens"
    message = threads.messages.list(thread.id, limit=1).data[0]
    assert message.incomplete_details.reason == "max_tokens"


@pytest.mark.parametrize("fault, code", [
    ({"kind": "status", "status": 400}, "invalid_prompt"),
    ({"kind": "status", "status": 401}, "server_error"),
    ({"kind": "cut", "after": 1}, "server_error"),
    ({"kind": "error", "after": 1}, "server_error"),
    ({"kind": "garbage", "after": 1}, "server_error"),
    ({"kind": "html"}, "server_error"),
], ids=lambda value: value if isinstance(value, str) else value["kind"])
def test_a_failing_model_fails_the_run(threads, runs, thread, assistant, upstream, fault, code):
    upstream.answer(text="a b c", fault=fault)
    run = runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id, poll_interval_ms=20)
    assert run.status == "failed" and run.failed_at
    assert run.last_error.code == code and run.last_error.message
    for step in runs.steps.list(run.id, thread_id=thread.id):
        assert step.status in ("failed", "completed")
    threads.messages.create(thread.id, role="user", content="The thread is free again.")


def test_a_failure_is_streamed(raw_stream, thread, assistant, upstream):
    upstream.answer(text="a b c", fault={"kind": "cut", "after": 2})
    names = collapsed(raw_stream(f"/v1/threads/{thread.id}/runs", {"assistant_id": assistant.id}))
    assert names == [*STARTED, *SAID, "thread.message.delta", "thread.message.incomplete",
                     "thread.run.step.failed", "thread.run.failed", "done"]


def test_a_busy_model_is_retried(threads, runs, thread, assistant, upstream):
    upstream.script({"times": 1, "answer": {"fault": {"kind": "status", "status": 429,
                                                      "retry_after": 0}}},
                    {"times": 1, "answer": {"fault": {"kind": "status", "status": 503}}},
                    {"answer": {"text": "At last."}})
    run = runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id, poll_interval_ms=20)
    assert run.status == "completed"
    assert last_text(threads, thread) == "At last."
    assert len(upstream.chats()) == 3


@pytest.mark.slow
def test_a_model_that_stays_busy_fails_the_run(runs, thread, assistant, upstream):
    upstream.answer(fault={"kind": "status", "status": 429, "retry_after": 0})
    run = runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id, poll_interval_ms=20)
    assert run.status == "failed" and run.last_error.code == "rate_limit_exceeded"
    assert len(upstream.chats()) > 1


@pytest.mark.slow
@pytest.mark.parametrize("read_by", ["retrieve", "list"])
def test_a_run_whose_time_is_over_says_so_when_it_is_read(start_server, upstream, read_by):
    """The keeper would find it only after minutes."""
    upstream.script(*WEATHER_RULES)
    client = start_server(run_expiry=1.5, lease_ttl=3000).sdk()
    threads = client.beta.threads
    assistant = client.beta.assistants.create(model="demo", tools=[WEATHER])
    thread = threads.create(messages=[{"role": "user", "content": "weather"}])
    run = run_to_action(threads.runs, thread, assistant)
    while run.status == "requires_action":
        before = time.time()
        if read_by == "list":
            (run,) = threads.runs.list(thread.id).data
        else:
            run = threads.runs.retrieve(run.id, thread_id=thread.id)
        assert run.status == "expired" or before < run.created_at + 2.5
    assert run.status == "expired" and run.required_action is None
    (step,) = threads.runs.steps.list(run.id, thread_id=thread.id).data
    assert step.status == "expired"
    threads.messages.create(thread.id, role="user", content="again")


@pytest.mark.slow
def test_an_abandoned_run_expires(start_server, upstream):
    upstream.script(*WEATHER_RULES)
    client = start_server(run_expiry=1.5, lease_ttl=1).sdk()
    threads = client.beta.threads
    assistant = client.beta.assistants.create(model="demo", tools=[WEATHER])
    thread = threads.create(messages=[{"role": "user", "content": "weather"}])
    run = run_to_action(threads.runs, thread, assistant)
    run = eventually(lambda: threads.runs.retrieve(run.id, thread_id=thread.id),
                     lambda r: r.status != "requires_action")
    assert run.status == "expired" and run.expires_at is None
    (step,) = threads.runs.steps.list(run.id, thread_id=thread.id).data
    assert step.status == "expired" and step.expired_at
    refused(lambda: threads.runs.submit_tool_outputs(
        run.id, thread_id=thread.id, tool_outputs=[{"tool_call_id": "call_1", "output": "x"}]),
        400, 'Runs in status "expired" do not accept tool outputs.')
