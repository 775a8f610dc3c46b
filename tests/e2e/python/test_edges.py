"""Models that behave oddly, and texts that are too long: nothing is lost, nothing falls over."""

import json

import pytest

from harness.raw_model import RawModel
from harness.recorder import parse_events
from harness.tools import GRAMMAR, PARIS, WEATHER, WEATHER_FLAT, WEATHER_RULES, call

TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test",
        "require_approval": "never"}
LONG = "€" * 600


@pytest.fixture(scope="module")
def raw_model():
    model = RawModel()
    yield model
    model.close()


@pytest.fixture(scope="module")
def raw_server(binary, scratch, recorder, raw_model):
    from harness.server import Server
    directory = scratch / "edges"
    directory.mkdir(mode=0o755)
    server = Server(binary, directory, raw_model.url, recorder).start()
    yield server
    assert server.stop() == 0


@pytest.fixture
def ask(raw_server, raw_model):
    """What a streamed response says to the deltas: its items, after the order was checked."""
    raw_model.answers.clear()

    def ask(deltas, tools):
        raw_model.answers.append(deltas)
        answer = raw_server.http().post("/v1/responses", json={
            "model": "demo", "input": "go", "stream": True, "tools": tools})
        events = [json.loads(data) for _, data in parse_events(answer.text) if data != "[DONE]"]
        assert events[-1]["type"] == "response.completed", events[-1]
        places = [e["output_index"] for e in events if e["type"].startswith("response.output_item")]
        assert places == sorted(places)
        return events[-1]["response"]["output"]
    return ask


def piece(index=0, **function):
    named = {"id": f"call_{index}"} if "name" in function else {}
    return {"tool_calls": [{"index": index, **named, "type": "function", "function": function}]}


def test_text_between_the_pieces_of_a_call_waits_for_its_end(ask):
    call_item, message = ask([piece(name="get_weather", arguments='{"city":'),
                              {"content": "By the way, "}, piece(arguments='"Paris"}'),
                              {"content": "hello."}], [WEATHER_FLAT])
    assert json.loads(call_item["arguments"]) == {"city": "Paris"}
    assert message["content"][0]["text"] == "By the way, hello."


ROME = {"name": "get_weather", "arguments": '{"city":"Rome"}'}


def test_blanks_among_calls_are_not_shown(ask):
    items = ask([piece(0, **ROME), {"content": "\n"}, piece(1, **ROME), {"content": " \n"},
                 {"content": "\n"}], [WEATHER_FLAT])
    assert [item["type"] for item in items] == ["function_call", "function_call"]


AMONG = {  # between two calls, behind them, and what of both the model is sent
    "blanks": (["\n"], [" \n"], None),
    "words": (["And"], ["Wait."], "And\n\nWait."),
    "two messages": (["And", {"reasoning_content": "Hm."}, "then"], ["."], "And\n\nthen\n\n."),
}


@pytest.mark.parametrize("name", AMONG)
def test_calls_with_words_among_them_are_one_turn(raw_server, raw_model, name):
    """Of a run, and of a history that the client keeps."""
    between, behind, sent = AMONG[name]
    pieces = [piece(0, **ROME), *between, piece(1, **ROME), *behind]
    raw_model.answers[:] = 2 * [[{"content": p} if isinstance(p, str) else p for p in pieces],
                                [{"content": "Done."}]]
    raw_model.chats.clear()
    client = raw_server.sdk()
    assistant = client.beta.assistants.create(model="demo", tools=[WEATHER])
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "go"}])
    run = client.beta.threads.runs.create_and_poll(
        thread_id=thread.id, assistant_id=assistant.id, poll_interval_ms=20)
    calls = run.required_action.submit_tool_outputs.tool_calls
    steps = client.beta.threads.runs.steps.list(run.id, thread_id=thread.id).data
    (step,) = [step for step in steps if step.type == "tool_calls"]
    assert step.status == "in_progress"
    assert [call.id for call in step.step_details.tool_calls] == ["call_0", "call_1"]
    assert all(s.status == "completed" for s in steps if s is not step)
    run = client.beta.threads.runs.submit_tool_outputs_and_poll(
        run_id=run.id, thread_id=thread.id, poll_interval_ms=20,
        tool_outputs=[{"tool_call_id": call.id, "output": "sun"} for call in calls])
    assert run.status == "completed"
    steps = client.beta.threads.runs.steps.list(run.id, thread_id=thread.id).data
    assert {step.status for step in steps} == {"completed"}

    first = client.responses.create(model="demo", input="go", tools=[WEATHER_FLAT], store=False)
    history = [{"role": "user", "content": "go"}, *[item.model_dump() for item in first.output]]
    for call in first.output:
        if call.type == "function_call":
            history.append({"type": "function_call_output", "call_id": call.call_id,
                            "output": "sun"})
    client.responses.create(model="demo", input=history, tools=[WEATHER_FLAT], store=False)
    for chat in raw_model.chats[1], raw_model.chats[3]:
        assert [message["role"] for message in chat["messages"]] == [
            "user", "assistant", "tool", "tool"]
        assert len(chat["messages"][1]["tool_calls"]) == 2
        assert chat["messages"][1]["content"] == sent


def test_text_after_a_custom_call_is_a_message(ask):
    kinds = [item["type"] for item in ask([piece(name="run_sql", arguments='{"input":"select 1"}'),
                                           {"content": "There you are."}], [GRAMMAR])]
    assert sorted(kinds) == ["custom_tool_call", "message"]


@pytest.mark.parametrize("sent", [{}, {"arguments": ""}, {"arguments": None}], ids=str)
def test_a_call_without_arguments_gets_an_empty_object(ask, raw_server, raw_model, sent):
    calls = [[piece(name="get_weather", **sent), piece(1, name="get_weather", **sent)]]
    items = ask(*calls, [WEATHER_FLAT])
    assert [item["arguments"] for item in items] == ["{}", "{}"]
    raw_model.answers.extend(calls)
    client = raw_server.sdk()
    assistant = client.beta.assistants.create(model="demo", tools=[WEATHER])
    run = client.beta.threads.create_and_run_poll(
        assistant_id=assistant.id, poll_interval_ms=20,
        thread={"messages": [{"role": "user", "content": "go"}]})
    wanted = run.required_action.submit_tool_outputs.tool_calls
    assert [call.function.arguments for call in wanted] == ["{}", "{}"]


def test_reasoning_in_the_middle_of_a_call_is_kept(ask):
    items = ask([piece(name="get_weather", arguments='{"city":'), {"reasoning_content": "Hm."},
                 piece(arguments='"Rome"}')], [WEATHER_FLAT])
    assert [item["type"] for item in items] == ["function_call", "reasoning"]
    assert items[1]["content"][0]["text"] == "Hm."


def test_a_reused_call_id_has_its_own_output(raw_server, raw_model):
    raw_model.answers[:] = [[piece(name="get_weather", arguments='{"city":"Paris"}')],
                            [piece(name="get_weather", arguments='{"city":"London"}')],
                            [{"content": "Done."}]]
    raw_model.chats.clear()
    client = raw_server.sdk()
    assistant = client.beta.assistants.create(model="demo", tools=[WEATHER])
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "go"}])
    run = client.beta.threads.runs.create_and_poll(
        thread_id=thread.id, assistant_id=assistant.id, poll_interval_ms=20)
    for output in ("sun", "rain"):
        assert run.status == "requires_action", run.last_error
        run = client.beta.threads.runs.submit_tool_outputs_and_poll(
            run_id=run.id, thread_id=thread.id, poll_interval_ms=20,
            tool_outputs=[{"tool_call_id": "call_0", "output": output}])
    assert run.status == "completed"
    sent_texts = [m["content"] for m in raw_model.chats[-1]["messages"] if m["role"] == "tool"]
    assert sent_texts == ["sun", "rain"]


# ---- Texts that are cut ----

def test_a_long_name_in_an_error_is_cut_between_characters(client, http, upstream):
    assistant = client.beta.assistants.create(model="demo")
    answer = http.post("/v1/threads/runs", json={
        "assistant_id": assistant.id, "stream": True,
        "thread": {"messages": [{"role": "user", "content": "go"}]},
        "tools": [{"type": "mcp", "server_label": "x", "server_url": f"builtin:{LONG}"}]})
    events = dict(parse_events(answer.text))
    run = json.loads(events["thread.run.failed"])
    assert run["last_error"]["message"].count("€") > 100


def test_a_long_name_of_an_unknown_tool_reaches_the_model(client, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [call(LONG)]}})
    made = client.responses.create(model="demo", input="go", tools=[TEST])
    assert made.status == "completed" and made.output_text == "ok"


def test_a_long_answer_of_a_final_tool_is_not_cut(client, upstream):
    text = "0123456789" * 2000
    upstream.answer(tool_calls=[call("test_final", pieces=[text])])
    assert client.responses.create(model="demo", input="go", tools=[TEST]).output_text == text


def test_a_long_output_is_cut_for_the_model_and_says_so(client, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [call("test_slow", ms=0, text="€" * 10000)]}})
    client.responses.create(model="demo", input="go", tools=[TEST])
    sent_texts = upstream.chats()[-1]["messages"][-1]["content"]
    assert len(sent_texts) < 8600 and "left out" in sent_texts


# ---- Tokens and messages over several residencies ----

def test_tokens_of_all_residencies_are_counted(client, upstream):
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    upstream.script(*[{**rule, "answer": {**rule["answer"], "usage": usage}}
                      for rule in WEATHER_RULES])
    assistant = client.beta.assistants.create(model="demo", tools=[WEATHER])
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "weather?"}])
    run = client.beta.threads.runs.create_and_poll(
        thread_id=thread.id, assistant_id=assistant.id, poll_interval_ms=20)
    assert run.usage.total_tokens == 15
    run = client.beta.threads.runs.submit_tool_outputs_and_poll(
        run_id=run.id, thread_id=thread.id, poll_interval_ms=20,
        tool_outputs=[{"tool_call_id": PARIS["id"], "output": "sunny"}])
    assert run.usage.total_tokens == 30 and run.usage.prompt_tokens == 20
    steps = client.beta.threads.runs.steps.list(run.id, thread_id=thread.id).data
    assert sum(step.usage.total_tokens for step in steps) == 30


def test_last_messages_never_drops_the_question(client, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "It is sunny."}},
                    {"answer": {"text": "Let me look.", "tool_calls": [PARIS]}})
    assistant = client.beta.assistants.create(model="demo", tools=[WEATHER])
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "old"},
                                                  {"role": "user", "content": "weather?"}])
    run = client.beta.threads.runs.create_and_poll(
        thread_id=thread.id, assistant_id=assistant.id, poll_interval_ms=20,
        truncation_strategy={"type": "last_messages", "last_messages": 1})
    client.beta.threads.runs.submit_tool_outputs_and_poll(
        run_id=run.id, thread_id=thread.id, poll_interval_ms=20,
        tool_outputs=[{"tool_call_id": PARIS["id"], "output": "sunny"}])
    roles = [m["role"] for m in upstream.chats()[-1]["messages"]]
    assert roles == ["user", "assistant", "tool"]
    assert upstream.chats()[-1]["messages"][0]["content"] == "weather?"
