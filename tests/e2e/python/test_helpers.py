"""Every helper that the Python SDK has for the Assistants API, and every operation without one, each
at least once. The SDK is strict: a field that it does not expect fails the test."""

import asyncio

import openai
import pytest
from openai import AssistantEventHandler, AsyncAssistantEventHandler

from harness.tools import WEATHER, WEATHER_RULES

OUTPUTS = [{"tool_call_id": "call_1", "output": "sunny"}]
HELLO = "Hello there, my friend."


@pytest.fixture
def threads(client):
    return client.beta.threads


@pytest.fixture
def assistant(client):
    return client.beta.assistants.create(model="demo", tools=[WEATHER])


@pytest.fixture
def thread(threads):
    return threads.create(messages=[{"role": "user", "content": "How is the weather?"}])


@pytest.fixture
def waiting(threads, thread, assistant, upstream):
    """A run that waits for its outputs."""
    upstream.script(*WEATHER_RULES)
    run = threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id,
                                       poll_interval_ms=20)
    assert run.status == "requires_action"
    return run


def names(events):
    return [event.event for event in events]


# ---- without a helper ----

def test_the_sdk_creates_and_reads_runs(threads, thread, assistant):
    run = threads.runs.create(thread.id, assistant_id=assistant.id)
    assert run.status == "queued"
    assert threads.runs.poll(run.id, thread_id=thread.id, poll_interval_ms=20).status == "completed"
    both = threads.create_and_run(assistant_id=assistant.id)
    done = threads.runs.poll(both.id, thread_id=both.thread_id, poll_interval_ms=20)
    assert done.status == "completed"
    changed = threads.runs.update(run.id, thread_id=thread.id, metadata={"a": "1"})
    assert changed.metadata == {"a": "1"}
    assert threads.runs.list(thread.id).data == [changed]
    (step,) = threads.runs.steps.list(run.id, thread_id=thread.id)
    assert threads.runs.steps.retrieve(step.id, thread_id=thread.id, run_id=run.id) == step


def test_streams_are_read_event_by_event(threads, thread, assistant, waiting, upstream):
    rest = names(threads.runs.submit_tool_outputs(waiting.id, thread_id=thread.id, stream=True,
                                                  tool_outputs=OUTPUTS))
    assert (rest[0], rest[-1]) == ("thread.run.step.completed", "thread.run.completed")
    upstream.answer(text=HELLO)
    received = names(threads.runs.create(thread.id, assistant_id=assistant.id, stream=True))
    assert (received[0], received[-1]) == ("thread.run.created", "thread.run.completed")
    both = names(threads.create_and_run(assistant_id=assistant.id, stream=True))
    assert (both[0], both[-1]) == ("thread.created", "thread.run.completed")


def test_outputs_are_submitted_and_runs_cancelled(threads, thread, assistant, waiting, upstream):
    run = threads.runs.submit_tool_outputs(waiting.id, thread_id=thread.id, tool_outputs=OUTPUTS)
    assert run.status == "queued"
    run = threads.runs.poll(run.id, thread_id=thread.id, poll_interval_ms=20)
    assert run.status == "completed"
    run = threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id,
                                       additional_messages=[{"role": "user", "content": "And?"}],
                                       poll_interval_ms=20)
    assert threads.runs.cancel(run.id, thread_id=thread.id).status == "cancelling"
    run = threads.runs.poll(run.id, thread_id=thread.id, poll_interval_ms=20)
    assert run.status == "cancelled"


# ---- helpers ----

def test_the_poll_helpers_work(threads, thread, assistant, waiting):
    run = threads.runs.submit_tool_outputs_and_poll(
        run_id=waiting.id, thread_id=thread.id, tool_outputs=OUTPUTS, poll_interval_ms=20)
    assert run.status == "completed"
    run = threads.create_and_run_poll(assistant_id=assistant.id, poll_interval_ms=20,
                                      thread={"messages": [{"role": "user", "content": "Hi"}]})
    assert run.status == "requires_action"


def handler(base):
    class Handler(base):
        def __init__(self):
            super().__init__()
            self.said, self.called, self.ended = [], [], []

    return Handler


class Handler(handler(AssistantEventHandler)):
    def on_text_delta(self, delta, snapshot):
        self.said.append(delta.value)

    def on_tool_call_done(self, tool_call):
        self.called.append(tool_call.function.arguments)

    def on_run_step_done(self, run_step):
        self.ended.append(run_step.status)

    def on_exception(self, exception):
        raise exception


def test_the_stream_helpers_call_a_handler(threads, thread, assistant, upstream):
    upstream.script(*WEATHER_RULES)
    with threads.runs.stream(thread_id=thread.id, assistant_id=assistant.id,
                             event_handler=Handler()) as asking:
        asking.until_done()
    run = asking.get_final_run()
    assert run.status == "requires_action" and asking.called == ['{"city":"Paris"}']
    with threads.runs.submit_tool_outputs_stream(run_id=run.id, thread_id=thread.id,
                                                 tool_outputs=OUTPUTS,
                                                 event_handler=Handler()) as going_on:
        going_on.until_done()
    assert "".join(going_on.said) == "It is sunny." and going_on.ended[-1] == "completed"
    stored = threads.messages.list(thread.id, limit=1).data[0]
    gathered = going_on.get_final_messages()[0]
    assert gathered.id == stored.id
    assert gathered.content[0].text.value == stored.content[0].text.value == "It is sunny."
    upstream.answer(text=HELLO)
    with threads.create_and_run_stream(assistant_id=assistant.id,
                                       event_handler=Handler()) as both:
        both.until_done()
    assert "".join(both.said) == HELLO
    with threads.runs.create_and_stream(thread_id=thread.id, assistant_id=assistant.id,
                                        event_handler=Handler()) as older:
        older.until_done()
    assert "".join(older.said) == HELLO


class AsyncHandler(handler(AsyncAssistantEventHandler)):
    async def on_text_delta(self, delta, snapshot):
        self.said.append(delta.value)


def test_the_asynchronous_client_works(server, upstream):
    async def go():
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", max_retries=0,
                                      api_key=server.settings["api_key"],
                                      _strict_response_validation=True) as client:
            threads = client.beta.threads
            assistant = await client.beta.assistants.create(model="demo", tools=[WEATHER])
            upstream.script(*WEATHER_RULES)
            thread = await threads.create(messages=[{"role": "user", "content": "Hi"}])
            run = await threads.runs.create_and_poll(thread_id=thread.id, poll_interval_ms=20,
                                                     assistant_id=assistant.id)
            assert run.status == "requires_action"
            async with threads.runs.submit_tool_outputs_stream(
                    run_id=run.id, thread_id=thread.id, tool_outputs=OUTPUTS,
                    event_handler=AsyncHandler()) as stream:
                await stream.until_done()
            assert "".join(stream.said) == "It is sunny."
            return [message.role async for message in threads.messages.list(thread.id, limit=1)]

    assert asyncio.run(go()) == ["assistant", "user"]
