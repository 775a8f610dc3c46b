"""Contexts that grow too long: left out, made short, refused."""

import json

import httpx2
import openai
import pytest

from harness.failures import failed_response
from harness.ranks import rank_file
from harness.server import eventually
from harness.stream import events_of
from harness.tools import WEATHER_FLAT, call, then_says

SUMMARY_REQUEST = "will be replaced by your summary"
SUMMARY = {"match": {"user": SUMMARY_REQUEST}, "answer": {
    "text": "They met.", "usage": {"prompt_tokens": 70, "completion_tokens": 7,
                                   "total_tokens": 77}}}
ANSWER = {"answer": {"text": "Fine.", "usage": {"prompt_tokens": 10, "completion_tokens": 2,
                                                "total_tokens": 12}}}
SHORTENED = "This is a summary of the conversation up to here, which was shortened:\n\nThey met."


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def long(letter, tokens=400):
    """A text that is estimated at so many tokens."""
    return letter * (4 * tokens)


def managed(threshold=1000):
    return [{"type": "compaction", "compact_threshold": threshold}]


@pytest.fixture
def responses(client, upstream):
    upstream.script(SUMMARY, ANSWER)
    return client.responses


def compact(responses, **body):
    """The SDK's type for a window has no place for what the user said, though OpenAI sends it."""
    client = responses._client
    lenient = openai.OpenAI(base_url=client.base_url, api_key=client.api_key, max_retries=0,
                            http_client=client._client)
    return lenient.responses.compact(model="demo", **body)


@pytest.fixture
def configured(start_server, upstream, tmp_path):
    """A server whose model reads only so many tokens."""
    def start(**keys):
        config = tmp_path / "runnel.yaml"
        config.write_text(json.dumps({"upstreams": [
            {"name": "main", "url": upstream.url, **keys}]}))
        upstream.script(SUMMARY, ANSWER)
        return start_server(upstream_url=None, config=config)
    return start


def sent(upstream, number=-1):
    """The messages that the model got: role and the first letter, or the whole of a short text."""
    def shown(message):
        text = message["content"] or ""
        return message["role"], text[0] if len(text) > 100 else text
    return [shown(message) for message in upstream.chats()[number]["messages"]]


# ---- Truncation ----

def test_the_oldest_items_are_left_out(configured, upstream):
    responses = configured(context_tokens=1200).sdk().responses
    items = [user(long("a")), assistant(long("b")), user(long("c")), assistant(long("d")),
             user("now")]
    responses.create(model="demo", input=items, truncation="auto", instructions="Be brief.")
    assert sent(upstream) == [("system", "Be brief."), ("user", "c"), ("assistant", "d"),
                              ("user", "now")]
    answer = responses.create(model="demo", input=items)
    assert answer.truncation == "disabled" and len(sent(upstream)) == 5


def test_the_oldest_items_of_a_chain_are_left_out_but_kept(configured, upstream):
    client = configured(context_tokens=1300).sdk()
    last = None
    for letter in "abcd":
        last = client.responses.create(model="demo", input=long(letter), truncation="auto",
                                       previous_response_id=last and last.id)
    assert sent(upstream) == [("user", "c"), ("assistant", "Fine."), ("user", "d")]
    counted = client.responses.input_tokens.count(
        model="demo", previous_response_id=last.id, input="x", truncation="auto")
    whole = client.responses.input_tokens.count(
        model="demo", previous_response_id=last.id, input="x")
    assert counted.input_tokens < 1300 < whole.input_tokens


TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test",
        "require_approval": "never"}


def tokenized(server):
    (line,) = [line for line in server.http().get("/metrics").text.splitlines()
               if line.startswith("runnel_tokenized_bytes_total ")]
    return int(line.split()[1])


@pytest.mark.feature("F68")
@pytest.mark.parametrize("history", ["native", "compact"])
def test_a_context_is_counted_once(configured, upstream, history):
    server = configured(context_tokens=1_000_000)
    responses = server.sdk().responses

    def ask(**body):
        return responses.create(model="demo", tools=[TEST], truncation="auto", extra_body={
            "runnel": {"history": history, "rounds": {"max": 100}}}, **body)
    slow = call("test_slow", ms=0, text="x" * 500)
    then_says(upstream, *[[slow]] * 20, text="done")
    first = ask(input="go")
    upstream.forget()
    before = tokenized(server)
    then_says(upstream, *[[slow]] * 30, text="done")
    assert ask(input="more", previous_response_id=first.id).output_text == "done"
    sizes = [len(json.dumps(chat)) for chat in upstream.chats()]
    assert len(sizes) == 31 and sum(sizes) > 10 * sizes[-1]
    # The definitions of tools are counted when the request is accepted, and by the run.
    assert tokenized(server) - before < 2 * sizes[-1]


def test_rules_and_the_last_message_are_kept(configured, upstream):
    responses = configured(context_tokens=1000).sdk().responses
    responses.create(model="demo", truncation="auto", input=[
        {"role": "developer", "content": "Rule."}, user(long("a")), assistant("b"),
        user(long("c", 2000))])
    assert sent(upstream) == [("system", "Rule."), ("user", "c")]


def test_a_call_is_not_separated_from_its_output(configured, upstream):
    responses = configured(context_tokens=1200).sdk().responses
    call = {"type": "function_call", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output"}
    responses.create(model="demo", truncation="auto", tools=[], input=[
        user(long("a")), {**call, "call_id": "1"}, user("between"),
        {**output, "call_id": "1", "output": long("o")},
        user("later"), {**call, "call_id": "2"}, {**output, "call_id": "2", "output": long("p")}])
    messages = upstream.chats()[0]["messages"]
    calls = [c["id"] for m in messages for c in m.get("tool_calls", [])]
    outputs = [m["tool_call_id"] for m in messages if m["role"] == "tool"]
    assert calls == outputs and "2" in calls
    assert sent(upstream)[0][0] == "user"
    # The output of a call that has gone has gone as well, and no other took its place.
    assert not any("not executed" in (m["content"] or "") for m in messages)


def test_an_input_counted_as_too_long_is_refused(configured, upstream, tmp_path):
    ranks = rank_file(tmp_path / "cl100k.tiktoken")
    responses = configured(context_tokens=50, tokenizer=str(ranks)).sdk().responses
    with pytest.raises(openai.BadRequestError) as caught:
        responses.create(model="demo", input="q" * 60)
    assert caught.value.body == {
        "message": "Your input exceeds the context window of this model. Please adjust your input "
                   "and try again.", "type": "invalid_request_error", "param": "input",
        "code": "context_length_exceeded"}
    assert upstream.chats() == []
    assert responses.create(model="demo", input="hello there " * 10).status == "completed"
    assert responses.create(model="demo", truncation="auto", input=[
        user("q" * 60), assistant("Yes"), user("hello")]).status == "completed"
    assert sent(upstream) == [("user", "hello")]


def test_an_estimate_refuses_nothing(configured):
    responses = configured(context_tokens=50).sdk().responses
    assert responses.create(model="demo", input=long("q", 60)).status == "completed"


# ---- The limit of items ----

def refused_as_too_many(ask, limit):
    with pytest.raises(openai.BadRequestError) as caught:
        ask()
    assert caught.value.body == {
        "message": f"Your input has more than {limit} items of history, which is this server's limit "
                   "(max_items). Set truncation to 'auto' to leave out the oldest ones.",
        "type": "invalid_request_error", "param": "input", "code": "context_length_exceeded"}


@pytest.fixture
def short(start_server, upstream):
    """A server whose responses read four items of history."""
    upstream.script(SUMMARY, ANSWER)
    return start_server(max_items=4)


@pytest.mark.parametrize("store", ["chain", "conversation"])
def test_too_many_items_are_refused(short, upstream, store):
    client = short.sdk()
    last, beside = None, {}
    if store == "conversation":
        beside = {"conversation": client.conversations.create().id}

    def ask(text, **body):
        chain = {} if beside else {"previous_response_id": last and last.id}
        return client.responses.create(model="demo", input=text, **chain, **beside, **body)
    last = ask([{"role": "developer", "content": "Rule."}, user("a"), user("b")])
    last = ask("c")
    upstream.forget()
    refused_as_too_many(lambda: ask("d"), 4)
    refused_as_too_many(lambda: ask("d", background=True), 4)
    counted = {"previous_response_id": last.id} if not beside else beside
    refused_as_too_many(lambda: client.responses.input_tokens.count(
        model="demo", input="d", **counted), 4)
    assert upstream.chats() == []
    ask("d", truncation="auto")
    assert [text for _, text in sent(upstream)] == ["Rule.", "b", "Fine.", "c", "Fine.", "d"]


def test_new_input_is_not_history(short, upstream):
    responses = short.sdk().responses
    first = responses.create(model="demo", input=[user(letter) for letter in "abc"])
    responses.create(model="demo", input=[user(letter) for letter in "defghi"],
                     previous_response_id=first.id)
    assert [text for _, text in sent(upstream)] == [*"abc", "Fine.", *"defghi"]


def test_what_a_compaction_replaces_is_not_history(short, upstream):
    responses = short.sdk().responses
    first = responses.create(model="demo", input=[user(letter) for letter in "abc"])
    second = responses.create(model="demo", previous_response_id=first.id, input=[
        user("d"), {"type": "compaction_trigger"}])
    third = responses.create(model="demo", input="e", previous_response_id=second.id)
    assert third.status == "completed" and sent(upstream)[-1] == ("user", "e")


def test_a_run_leaves_out_the_oldest_messages_but_no_rules(short, upstream):
    client = short.sdk()
    thread = client.conversations.create(items=[
        {"type": "message", "role": "developer", "content": "Rule."},
        *({"type": "message", **user(letter)} for letter in "abcdef")])
    assistant = client.beta.assistants.create(model="demo")
    run = client.beta.threads.runs.create_and_poll(
        thread_id="thread_" + thread.id.removeprefix("conv_"), assistant_id=assistant.id)
    assert run.status == "completed"
    assert [text for _, text in sent(upstream)] == ["Rule.", *"cdef"]


# ---- Compaction inside a response ----

def test_a_long_context_is_compacted_before_the_turn(responses, upstream):
    answer = responses.create(model="demo", context_management=managed(), input=[
        user("Hello"), assistant(long("b", 1200)), user("And now?")])
    assert [item.type for item in answer.output] == ["compaction", "message"]
    item = answer.output[0]
    assert item.id.startswith("cmp_") and "They met" not in item.encrypted_content
    assert sent(upstream, 0)[-1][1].startswith("T") and len(upstream.chats()) == 2
    assert sent(upstream) == [("user", "Hello"), ("user", SHORTENED), ("user", "And now?")]
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (80, 9)
    assert responses.retrieve(answer.id).output == answer.output


def test_a_short_context_is_not_compacted(responses, upstream):
    answer = responses.create(model="demo", input=[user("Hello"), assistant("b"), user("x")],
                              context_management=managed())
    assert [item.type for item in answer.output] == ["message"]
    assert len(upstream.chats()) == 1
    # One long message alone cannot become shorter.
    answer = responses.create(model="demo", input=long("a", 2000), context_management=managed())
    assert [item.type for item in answer.output] == ["message"]


def test_a_chain_continues_from_its_last_compaction(responses, upstream):
    first = responses.create(model="demo", context_management=managed(), input=[
        user("Hello"), assistant(long("b", 1200)), user("And now?")])
    second = responses.create(model="demo", input="Then?", previous_response_id=first.id)
    assert sent(upstream) == [("user", "Hello"), ("user", SHORTENED), ("user", "And now?"),
                              ("assistant", "Fine."), ("user", "Then?")]
    third = responses.create(
        model="demo", input="Last?", context_management=managed(), store=False,
        previous_response_id=responses.create(
            model="demo", input=[assistant(long("d", 1200)), user("So.")],
            previous_response_id=second.id).id)
    assert [item.type for item in third.output] == ["compaction", "message"]
    # What was kept once is kept on; the summary is made of the summary.
    assert sent(upstream)[0] == ("user", "Hello") and sent(upstream)[-1] == ("user", "Last?")
    assert sent(upstream).count(("user", SHORTENED)) == 1
    assert SHORTENED in json.dumps(upstream.chats()[-2]).encode().decode("unicode_escape")


def test_a_client_that_keeps_its_context_sends_the_item_back(responses, upstream):
    first = responses.create(model="demo", context_management=managed(), store=False, input=[
        user("Hello"), assistant(long("b", 1200)), user("And now?")])
    replayed = [item.model_dump(exclude_none=True) for item in first.output]
    responses.create(model="demo", store=False, input=[user("dropped"), *replayed, user("Then?")])
    assert sent(upstream) == [("user", "Hello"), ("user", SHORTENED), ("user", "And now?"),
                              ("assistant", "Fine."), ("user", "Then?")]


def test_tools_continue_after_a_compaction(client, upstream):
    call = {"tool_calls": [{"name": "get_weather", "id": "call_1",
                            "arguments": {"city": "Paris"}}]}
    upstream.script(SUMMARY, {"match": {"tool_results": True}, "answer": {"text": "Sunny."}},
                    {"answer": call})
    first = client.responses.create(model="demo", tools=[WEATHER_FLAT], input=[
        user("Hello"), assistant(long("b", 1200)), user("Weather?")])
    second = client.responses.create(
        model="demo", tools=[WEATHER_FLAT], previous_response_id=first.id,
        context_management=managed(),
        input=[{"type": "function_call_output", "call_id": "call_1", "output": "sun"}])
    assert [item.type for item in second.output] == ["compaction", "message"]
    messages = upstream.chats()[-1]["messages"]
    assert [message["role"] for message in messages] == ["user", "user", "user", "assistant", "tool"]
    assert messages[3]["tool_calls"][0]["id"] == messages[4]["tool_call_id"] == "call_1"
    assert messages[4]["content"] == "sun"
    assert second.output_text == "Sunny."


def test_a_compaction_is_streamed_and_followed(responses):
    events = list(responses.create(
        model="demo", context_management=managed(), stream=True, background=True,
        input=[user("Hello"), assistant(long("b", 1200)), user("And now?")]))
    kinds = [event.type for event in events if "delta" not in event.type]
    assert kinds[2:5] == ["response.in_progress", "response.output_item.added",
                          "response.output_item.done"]
    added, done = events[3:5]
    assert added.item.type == done.item.type == "compaction" and added.item.id == done.item.id
    assert added.item.encrypted_content == "" != done.item.encrypted_content
    assert added.output_index == done.output_index == 0
    assert [event.sequence_number for event in events] == list(range(len(events)))
    again = list(responses.retrieve(events[0].response.id, stream=True))
    assert again == events


def test_clients_see_a_compaction_while_it_is_made(http, upstream):
    upstream.script({"match": {"user": SUMMARY_REQUEST},
                     "answer": {"text": "They met.", "piece_delay_ms": 3600000}})
    body = {"model": "demo", "stream": True, "context_management": managed(), "input": [
        user("Hello"), assistant(long("b", 1200)), user("And now?")]}
    with http.stream("POST", "/v1/responses", json=body) as answer:
        assert any('"type":"compaction"' in line for line in answer.iter_lines())


def test_a_summary_that_breaks_off_is_in_no_output(client, http, upstream):
    upstream.script({"match": {"user": SUMMARY_REQUEST},
                     "answer": {"text": "They met and", "finish_reason": "content_filter"}})
    conversation = client.conversations.create()
    events = events_of(http, [], context_management=managed(), conversation=conversation.id,
                       input=[user("Hello"), assistant(long("b", 1200)), user("And now?")])
    assert [event["type"] for event in events][-4:] == [
        "response.output_item.added", "response.output_item.done", "error", "response.failed"]
    assert events[-1]["response"]["output"] == []
    assert client.responses.retrieve(events[-1]["response"]["id"]).output == []
    items = list(client.conversations.items.list(conversation.id))
    assert "compaction" not in [item.type for item in items]
    upstream.script(ANSWER)
    client.responses.create(model="demo", input="Then?", conversation=conversation.id)
    assert "" not in [text for _role, text in sent(upstream)]


def test_a_compaction_is_part_of_its_conversation(client, responses, upstream):
    conversation = client.conversations.create(items=[
        {"type": "message", **user("Hello")}, {"type": "message", **assistant(long("b", 1200))}])
    responses.create(model="demo", input="And now?", conversation=conversation.id,
                     context_management=managed())
    items = list(client.conversations.items.list(conversation.id, order="asc"))
    assert [item.type for item in items] == ["message"] * 3 + ["compaction", "message"]
    responses.create(model="demo", input="Then?", conversation=conversation.id)
    assert sent(upstream)[:2] == [("user", "Hello"), ("user", SHORTENED)]


def test_without_a_threshold_the_models_limit_counts(configured):
    server = configured(context_tokens=1500)
    items = [user("Hello"), assistant(long("b", 1300)), user("x")]
    answer = server.sdk().responses.create(model="demo", input=items,
                                           context_management=[{"type": "compaction"}])
    assert [item.type for item in answer.output] == ["compaction", "message"]


def test_a_model_that_does_not_summarize_fails_the_response(client, upstream):
    upstream.script({"match": {"user": SUMMARY_REQUEST}, "answer": {"text": ""}}, ANSWER)
    error, answer = failed_response(client, context_management=managed(), input=[
        user("Hello"), assistant(long("b", 1200)), user("x")])
    assert error.status_code == 500
    assert answer.error.message == "The model did not summarize the conversation."


# ---- On request ----

def test_a_compaction_trigger_does_nothing_else(responses, upstream):
    first = responses.create(model="demo", input="Hello")
    answer = responses.create(model="demo", previous_response_id=first.id,
                              input=[user("More"), {"type": "compaction_trigger"}])
    assert [item.type for item in answer.output] == ["compaction"]
    assert answer.status == "completed" and len(upstream.chats()) == 2
    shown = list(responses.input_items.list(answer.id))
    assert [item.type for item in shown] == ["message"]
    responses.create(model="demo", previous_response_id=answer.id, input="Then?")
    assert sent(upstream) == [("user", "Hello"), ("user", SHORTENED), ("user", "More"),
                              ("user", "Then?")]


def test_a_requested_compaction_shows_that_it_lives(responses, upstream):
    """An event when the summary begins, and one for each 1024 bytes, however small the pieces are."""
    upstream.script({"match": {"user": SUMMARY_REQUEST}, "answer": {"text": "They met. " * 500}})
    events = list(responses.create(model="demo", stream=True, background=True,
                                   input=[user("Hello"), {"type": "compaction_trigger"}]))
    progress = [event for event in events if event.type == "response.compaction.compacting"]
    assert len(progress) == 1 + 5000 // 1024
    places = [event.type for event in events]
    added, done = (events[places.index(f"response.output_item.{end}")] for end in ("added", "done"))
    assert added.sequence_number + 1 == progress[0].sequence_number < done.sequence_number
    assert {(event.item_id, event.output_index) for event in progress} == {(added.item.id, 0)}
    assert list(responses.retrieve(events[0].response.id, stream=True)) == events


def test_a_compaction_trigger_must_be_the_last_item(http):
    answer = http.post("/v1/responses", json={"model": "demo", "input": [
        {"type": "compaction_trigger"}, user("x")]})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "input[0]"


def test_compact_returns_a_window_that_can_be_continued(responses, upstream):
    window = compact(responses, instructions="Be brief.", input=[
        user("Hello"), assistant("Hi."), user("Bye")])
    assert window.object == "response.compaction" and window.id.startswith("resp_")
    assert [item.type for item in window.output] == ["message", "message", "compaction"]
    assert [item.content[0].text for item in window.output[:2]] == ["Hello", "Bye"]
    assert (window.usage.input_tokens, window.usage.output_tokens) == (70, 7)
    assert sent(upstream)[:4] == [("system", "Be brief."), ("user", "Hello"), ("assistant", "Hi."),
                                  ("user", "Bye")]
    items = [item.model_dump(exclude_none=True, warnings=False) for item in window.output]
    answer = responses.create(model="demo", input=[*items, user("Then?")])
    assert sent(upstream) == [("user", "Hello"), ("user", "Bye"), ("user", SHORTENED),
                              ("user", "Then?")]
    responses.create(model="demo", input="So?", previous_response_id=answer.id)
    assert sent(upstream)[2] == ("user", SHORTENED) and sent(upstream)[-1] == ("user", "So?")
    with pytest.raises(openai.NotFoundError):
        responses.retrieve(window.id)


def test_compact_accepts_a_chain(responses, upstream):
    first = responses.create(model="demo", input="Hello")
    window = compact(responses, previous_response_id=first.id)
    assert [item.type for item in window.output] == ["message", "compaction"]
    assert sent(upstream)[:2] == [("user", "Hello"), ("assistant", "Fine.")]


@pytest.mark.parametrize("body,message,param,code", [
    ({"input": "x"}, "Missing required parameter: 'model'.", "model", "missing_required_parameter"),
    ({"model": "demo"}, 'One of "input" or "previous_response_id" or \'prompt\' or '
     "'conversation' must be provided.", None, "missing_required_parameter"),
    ({"model": "demo", "input": "x", "previous_response_id": "resp_000000000000000000000000"},
     "Previous response with id 'resp_000000000000000000000000' not found.",
     "previous_response_id", "previous_response_not_found"),
])
def test_compact_refuses_invalid_requests(http, body, message, param, code):
    answer = http.post("/v1/responses/compact", json=body)
    assert answer.status_code == 400
    assert answer.json() == {"error": {"message": message, "type": "invalid_request_error",
                                       "param": param, "code": code}}


@pytest.mark.parametrize("fault,status", [(400, 400), (429, 429), (500, 500)])
def test_compact_reports_the_models_error(http, upstream, fault, status):
    upstream.answer(fault={"kind": "status", "status": fault})
    answer = http.post("/v1/responses/compact", json={"model": "demo", "input": "x"})
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["message"]


@pytest.mark.parametrize("entries,param", [
    ([], "context_management"), ("x", "context_management"), (["x"], "context_management[0]"),
    ([{}], "context_management[0].type"), ([{"type": "magic"}], "context_management[0].type"),
    ([{"type": "compaction", "compact_threshold": 999}],
     "context_management[0].compact_threshold"),
])
def test_invalid_context_management_is_refused(http, entries, param):
    answer = http.post("/v1/responses", json={"model": "demo", "input": "x",
                                              "context_management": entries})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == param


# ---- The seal ----

def sealed(responses):
    return compact(responses, input="Hello").output[-1].encrypted_content


def refused(responses, content):
    with pytest.raises(openai.BadRequestError) as caught:
        responses.create(model="demo", input=[
            user("Hi"), {"type": "compaction", "encrypted_content": content}])
    assert caught.value.body == {
        "message": f"The encrypted content {content[:16]}... could not be verified. Reason: "
                   "Encrypted content could not be decrypted or parsed.",
        "type": "invalid_request_error", "param": None, "code": "invalid_encrypted_content"}


def test_an_altered_compaction_item_is_refused(responses, client, upstream):
    content = sealed(responses)
    middle = len(content) // 2
    for altered in (content[:-2], content[:middle] + ("A" if content[middle] != "A" else "B")
                    + content[middle + 1:], "gAAAAABpM0Yj", "nonsense!"):
        refused(responses, altered)
    with pytest.raises(openai.BadRequestError):
        client.conversations.create(items=[
            {"type": "compaction", "encrypted_content": content[:-2]}])


def test_another_project_does_not_open_it(responses, client, stranger_key):
    refused(client.with_options(api_key=stranger_key).responses, sealed(responses))


def test_a_compaction_item_survives_a_restart(start_server, upstream):
    upstream.script(SUMMARY, ANSWER)
    server = start_server()
    content = sealed(server.sdk().responses)
    server.stop()
    server.start()
    server.sdk().responses.create(model="demo", input=[
        {"type": "compaction", "encrypted_content": content}, user("Hi")])
    assert sent(upstream) == [("user", SHORTENED), ("user", "Hi")]


def test_a_client_cannot_write_the_summary_itself(responses, upstream):
    responses.create(model="demo", input=[
        {"type": "compaction", "encrypted_content": sealed(responses),
         "runnel": {"compaction": {"summary": "Forged.", "whole": True}}}, user("Hi")])
    assert sent(upstream) == [("user", SHORTENED), ("user", "Hi")]


# ---- Crashes, and clients that leave ----

def answered(responses, response):
    return eventually(lambda: responses.retrieve(response.id),
                      lambda r: r.status not in ("queued", "in_progress"), seconds=40)


@pytest.mark.slow
@pytest.mark.parametrize("asked", [1, 2], ids=["summary", "answer"])
def test_a_compaction_survives_kill_9(start_server, upstream, asked):
    """Killed in the first request to the model, the summary is asked for again; in the second, not."""
    cut = {"times": 1, "answer": {"text": "a b c", "piece_delay_ms": 3600000}}
    first = {**cut, "match": {"user": SUMMARY_REQUEST}} if asked == 1 else SUMMARY
    upstream.script(first, SUMMARY, *([cut] if asked == 2 else []), ANSWER)
    server = start_server(lease_ttl=1)
    made = server.sdk().responses.create(
        model="demo", background=True, context_management=managed(), input=[
            user("Hello"), assistant(long("b", 1200)), user("And now?")])
    eventually(lambda: len(upstream.chats()) == asked)
    if asked == 2:  # its first words are in the log, so all before them is
        eventually(lambda: server.sdk().responses.retrieve(made.id).output)
    server.kill()
    server.start()
    answer = answered(server.sdk().responses, made)
    assert answer.status == "completed", answer
    assert [item.type for item in answer.output if item.type == "compaction"] == ["compaction"]
    assert answer.output[-1].content[0].text == "Fine."
    assert sent(upstream) == [("user", "Hello"), ("user", SHORTENED), ("user", "And now?")]
    assert len(upstream.chats()) == 3


def test_a_client_that_leaves_ends_its_compaction(http, server, upstream):
    upstream.answer(text="one two three", piece_delay_ms=3600000)
    with pytest.raises(httpx2.TimeoutException):
        http.post("/v1/responses/compact", json={"model": "demo", "input": "x"}, timeout=1)
    eventually(lambda: "\nrunnel_runs_live 0" in http.get("/metrics").text)
