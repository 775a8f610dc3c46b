"""Conversations: kept, listed, answered in; locked while something goes on; threads seen from the
other side."""

import threading

import openai
import pytest

from harness.failures import failed_response
from harness.server import eventually
from harness.tools import PARIS, WEATHER, WEATHER_FLAT, WEATHER_RULES
from test_responses import texts_of

LOCKED = ("Another process is currently operating on this conversation. "
          "Please retry in a few seconds.")


@pytest.fixture
def conversations(client):
    return client.conversations


@pytest.fixture
def responses(client):
    return client.responses


@pytest.fixture
def threads(client):
    return client.beta.threads


@pytest.fixture
def assistant(client):
    return client.beta.assistants.create(model="demo", instructions="Be brief.")


def say(text, role="user"):
    return {"type": "message", "role": role, "content": text}


def text_of(item):
    return "".join(part.text for part in item.content)


def texts_in(conversations, conversation):
    """(role, text) of its messages, oldest first."""
    return [(item.role, text_of(item)) for item in
            conversations.items.list(conversation, order="asc") if item.type == "message"]


def slow(upstream, **answer):
    """An answer that takes a moment: something can happen meanwhile."""
    upstream.answer(**{"text": "one two three four five six seven eight", "piece_delay_ms": 100,
                       **answer})


def same_letters(conversation_id):
    return conversation_id.replace("conv_", "thread_")


# ---- The conversation ----

def test_a_conversation_is_created_read_changed_and_deleted(conversations):
    made = conversations.create(metadata={"a": "1"})
    assert made.id.startswith("conv_") and made.object == "conversation"
    assert made.created_at and made.metadata == {"a": "1"}
    assert conversations.retrieve(made.id) == made
    changed = conversations.update(made.id, metadata={"b": "2"})
    assert changed.metadata == {"b": "2"} == conversations.retrieve(made.id).metadata
    gone = conversations.delete(made.id)
    assert (gone.id, gone.object, gone.deleted) == (made.id, "conversation.deleted", True)
    for ask in (conversations.retrieve, conversations.delete, conversations.items.list):
        with pytest.raises(openai.NotFoundError) as caught:
            ask(made.id)
        assert caught.value.body == {"message": f"Conversation with id '{made.id}' not found.",
                                     "type": "invalid_request_error", "param": None, "code": None}


def test_a_body_is_not_needed(http, conversations):
    answer = http.post("/v1/conversations")
    assert answer.status_code == 200 and answer.json()["metadata"] == {}
    assert conversations.create(items=None, metadata=None).metadata == {}
    assert list(conversations.items.list(answer.json()["id"])) == []


def test_null_clears_the_metadata(conversations):
    made = conversations.create(metadata={"a": "1"})
    assert conversations.update(made.id, metadata=None).metadata == {}


def test_a_conversation_can_begin_with_items(conversations):
    made = conversations.create(items=[say(f"number {i}") for i in range(20)])
    assert [text for _, text in texts_in(conversations, made.id)] == [f"number {i}" for i in range(20)]


# ---- Its items ----

def test_items_are_added_in_order(conversations):
    made = conversations.create(items=[say("first")])
    added = conversations.items.create(made.id, items=[
        say("second"), say("third", "assistant"), say("fourth", "system")])
    assert added.object == "list" and added.has_more is False
    assert [item.role for item in added.data] == ["user", "assistant", "system"]
    assert (added.first_id, added.last_id) == (added.data[0].id, added.data[-1].id)
    assert all(item.id.startswith("msg_") and item.status == "completed" for item in added.data)
    assert texts_in(conversations, made.id) == [("user", "first"), ("user", "second"),
                                            ("assistant", "third"), ("system", "fourth")]


def test_every_kind_of_item_is_kept(conversations):
    made = conversations.create()
    given = [
        {"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "Look."},
            {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "low"},
            {"type": "input_file", "file_data": "data:text/plain;base64,YQ==",
             "filename": "a.txt"}]},
        {"type": "message", "role": "assistant", "content": [
            {"type": "output_text", "text": "Well.", "annotations": []},
            {"type": "refusal", "refusal": "No."}]},
        {"type": "reasoning", "id": "rs_x", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "done"},
        {"type": "custom_tool_call", "call_id": "call_2", "name": "g", "input": "x"},
        {"type": "custom_tool_call_output", "call_id": "call_2", "output": "done"},
    ]
    conversations.items.create(made.id, items=given)
    listed = list(conversations.items.list(made.id, order="asc"))
    assert [item.type for item in listed] == [item["type"] for item in given]
    assert [part.type for part in listed[0].content] == ["input_text", "input_image", "input_file"]
    assert listed[1].content[1].refusal == "No."
    assert listed[2].summary[0].text == "Hm."
    assert (listed[3].call_id, listed[3].name) == (listed[4].call_id, "f") == ("call_1", "f")
    assert [conversations.items.retrieve(item.id, conversation_id=made.id)
            for item in listed] == listed


def test_items_are_listed_in_pages(conversations):
    made = conversations.create(items=[say(str(i)) for i in range(5)])
    page = conversations.items.list(made.id, limit=2)
    assert [text_of(item) for item in page.data] == ["4", "3"]
    assert page.has_more and page.last_id == page.data[-1].id
    assert [text_of(item) for item in conversations.items.list(made.id, limit=2)] == \
        ["4", "3", "2", "1", "0"]
    up = conversations.items.list(made.id, limit=3, order="asc", after=page.data[1].id)
    assert [text_of(item) for item in up.data] == ["4"] and not up.has_more
    assert conversations.items.list(made.id, limit=0).data == []
    last = conversations.items.list(made.id, limit=5, include=["message.output_text.logprobs"])
    assert len(last.data) == 5 and not last.has_more


def test_an_item_is_deleted(conversations):
    made = conversations.create(items=[say("keep"), say("drop"), say("keep, too")])
    drop = list(conversations.items.list(made.id))[1]
    assert text_of(drop) == "drop"
    assert conversations.items.delete(drop.id, conversation_id=made.id) == made
    assert [text for _, text in texts_in(conversations, made.id)] == ["keep", "keep, too"]
    for ask in (conversations.items.retrieve, conversations.items.delete):
        with pytest.raises(openai.NotFoundError) as caught:
            ask(drop.id, conversation_id=made.id)
        assert caught.value.body["message"] == \
            f"Item with id '{drop.id}' not found in conversation '{made.id}'."
    conversations.items.create(made.id, items=[say("last")])
    assert [text for _, text in texts_in(conversations, made.id)] == ["keep", "keep, too", "last"]


def test_a_conversation_has_its_own_items_only(conversations):
    one = conversations.create(items=[say("one")])
    other = conversations.create(items=[say("other")])
    (item,) = conversations.items.list(one.id)
    with pytest.raises(openai.NotFoundError):
        conversations.items.retrieve(item.id, conversation_id=other.id)
    with pytest.raises(openai.NotFoundError):
        conversations.items.delete(item.id, conversation_id=other.id)
    with pytest.raises(openai.BadRequestError) as caught:
        conversations.items.list(other.id, after=item.id)
    assert caught.value.param == "after"


# ---- What is refused ----

MANY = [say(str(i)) for i in range(21)]
TOO_MANY = ("Invalid 'items': array too long. Expected an array with maximum length 20, but got an "
            "array with length 21 instead.")
NONE = "conv_000000000000000000000000"


@pytest.mark.parametrize(("path", "body", "status", "message", "param", "code"), [
    ("", {"items": MANY}, 400, TOO_MANY, "items", "array_above_max_length"),
    ("", {"items": "x"}, 400,
     "Invalid type for 'items': expected an array, but got a string instead.", "items",
     "invalid_type"),
    ("", {"items": [{"role": "user"}]}, 400, "Missing required parameter: 'items[0].content'.",
     "items[0].content", "missing_required_parameter"),
    ("", {"metadata": {"a": 1}}, 400, None, "metadata.a", "invalid_type"),
    ("/{id}", {}, 400, "Missing required parameter: 'metadata'.", "metadata",
     "missing_required_parameter"),
    ("/{id}/items", {}, 400, "Missing required parameter: 'items'.", "items",
     "missing_required_parameter"),
    ("/{id}/items", {"items": []}, 400, None, "items", "empty_array"),
    ("/{id}/items", {"items": MANY}, 400, TOO_MANY, "items", "array_above_max_length"),
    ("/{id}/items", {"items": [say("fine"), {"type": "bogus"}]}, 400, None, "items[1].type",
     "invalid_value"),
    ("/{id}/items", {"items": [{"type": "item_reference", "id": "msg_x"}]}, 404, None, "items",
     None),
    (f"/{NONE}", {"metadata": {}}, 404, f"Conversation with id '{NONE}' not found.", None, None),
    (f"/{NONE}/items", {"items": [say("x")]}, 404, f"Conversation with id '{NONE}' not found.",
     None, None),
    ("/abc", {"metadata": {}}, 400,
     "Invalid 'conversation_id': 'abc'. Expected an ID that begins with 'conv'.",
     "conversation_id", "invalid_value"),
])
def test_invalid_requests_are_refused(http, conversations, path, body, status, message, param,
                                        code):
    made = conversations.create()
    answer = http.post(f"/v1/conversations{path.format(id=made.id)}", json=body)
    error = answer.json()["error"]
    assert answer.status_code == status, error
    assert message is None or error["message"] == message
    assert (error["param"], error["code"]) == (param, code)
    assert list(conversations.items.list(made.id)) == []


@pytest.mark.parametrize(("body", "status", "message", "param", "code"), [
    ({"conversation": NONE}, 404, f"Conversation with id '{NONE}' not found.", None, None),
    ({"conversation": {"id": NONE}, "stream": True}, 404,
     f"Conversation with id '{NONE}' not found.", None, None),
    ({"conversation": NONE, "store": False}, 404, f"Conversation with id '{NONE}' not found.",
     None, None),
    ({"conversation": NONE, "previous_response_id": "resp_x"}, 400,
     "Mutually exclusive parameters: ''. Ensure you are only providing one of: "
     "'previous_response_id' or 'conversation'.", None, "mutually_exclusive_parameters"),
    ({"conversation": 7}, 400, "Invalid type for 'conversation': expected one of a string or an "
     "object, but got an integer instead.", "conversation", "invalid_type"),
    ({"conversation": {}}, 400, "Missing required parameter: 'conversation.id'.",
     "conversation.id", "missing_required_parameter"),
    ({"conversation": "abc"}, 400,
     "Invalid 'conversation': 'abc'. Expected an ID that begins with 'conv'.", "conversation",
     "invalid_value"),
])
def test_a_response_in_an_unknown_conversation_is_refused(http, body, status, message, param, code):
    answer = http.post("/v1/responses", json={"model": "demo", "input": "Hi", **body})
    assert answer.status_code == status, answer.text
    assert answer.json()["error"] == {"message": message, "type": "invalid_request_error",
                                      "param": param, "code": code}


# ---- Responses in a conversation ----

@pytest.mark.threads
@pytest.mark.parametrize("way", ["answer", "stream", "background", "background stream"])
def test_a_response_reads_and_writes_its_conversation(conversations, responses, upstream, way):
    made = conversations.create(items=[say("My name is Ann.")])
    background = way.startswith("background")
    if way.endswith("stream"):
        events = list(responses.create(model="demo", input="Who am I?", conversation=made.id,
                                       background=background, stream=True))
        assert all(event.response.conversation.id == made.id for event in events
                   if hasattr(event, "response"))
        assert [event.sequence_number for event in events] == list(range(len(events)))
        response = events[-1].response
    else:
        response = responses.create(model="demo", input="Who am I?", background=background,
                                    conversation=made.id)
    if way == "background":
        assert response.status in ("queued", "in_progress") and response.output == []
    response = eventually(lambda: responses.retrieve(response.id),
                          lambda now: now.status == "completed")
    assert response.conversation.id == made.id and response.previous_response_id is None
    (chat,) = upstream.chats()
    assert texts_of(chat) == [("user", "My name is Ann."), ("user", "Who am I?")]
    assert texts_in(conversations, made.id) == [("user", "My name is Ann."), ("user", "Who am I?"),
                                            ("assistant", "Hello there, my friend.")]
    assert response.output[0].id == conversations.items.list(made.id).data[0].id
    (asked,) = responses.input_items.list(response.id)
    assert text_of(asked) == "Who am I?"


def test_a_conversation_grows_with_each_response(conversations, responses, upstream):
    made = conversations.create()
    for i in range(4):
        upstream.answer(text=f"answer {i}")
        responses.create(model="demo", input=f"question {i}", conversation={"id": made.id})
    expected = [pair for i in range(4) for pair in
                [("user", f"question {i}"), ("assistant", f"answer {i}")]]
    assert texts_in(conversations, made.id) == expected
    assert texts_of(upstream.chats()[-1]) == expected[:-1]


def test_a_response_may_have_no_input_of_its_own(conversations, responses, upstream):
    made = conversations.create(items=[say("Say something.")])
    response = responses.create(model="demo", conversation=made.id)
    assert response.output_text == "Hello there, my friend."
    assert texts_of(upstream.chats()[0]) == [("user", "Say something.")]
    assert len(texts_in(conversations, made.id)) == 2


def test_instructions_are_not_part_of_the_conversation(conversations, responses, upstream):
    made = conversations.create()
    responses.create(model="demo", input="Hi", instructions="Be rude.", conversation=made.id)
    responses.create(model="demo", input="Again", conversation=made.id)
    assert texts_of(upstream.chats()[0])[0] == ("system", "Be rude.")
    assert texts_of(upstream.chats()[1])[0] == ("user", "Hi")


def test_a_response_can_use_a_thread_as_its_conversation(conversations, responses, threads):
    thread = threads.create(messages=[{"role": "user", "content": "Hi"}])
    response = responses.create(model="demo", input="Hello?", conversation=thread.id)
    assert same_letters(response.conversation.id) == thread.id
    assert len(texts_in(conversations, thread.id)) == 3


def test_a_response_that_is_not_stored_only_reads_the_conversation(conversations, responses, upstream):
    made = conversations.create(items=[say("My name is Ann.")])
    response = responses.create(model="demo", input="Who am I?", conversation=made.id, store=False)
    assert response.conversation.id == made.id
    assert texts_of(upstream.chats()[0]) == [("user", "My name is Ann."), ("user", "Who am I?")]
    assert texts_in(conversations, made.id) == [("user", "My name is Ann.")]


def test_calls_are_answered_in_the_conversation(conversations, responses, upstream):
    upstream.script(*WEATHER_RULES)
    made = conversations.create()
    first = responses.create(model="demo", input="Weather?", tools=[WEATHER_FLAT],
                             conversation=made.id)
    (call,) = first.output
    with pytest.raises(openai.BadRequestError) as caught:
        responses.create(model="demo", input="Well?", tools=[WEATHER_FLAT], conversation=made.id)
    assert caught.value.body["message"] == \
        f"No tool output found for function call {call.call_id}."
    assert caught.value.param == "input"
    second = responses.create(model="demo", tools=[WEATHER_FLAT], conversation=made.id, input=[
        {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}])
    assert second.output_text == "It is sunny."
    assert [item.type for item in conversations.items.list(made.id, order="asc")] == \
        ["message", "function_call", "function_call_output", "message"]


def test_an_output_that_the_conversation_has_is_not_added_again(conversations, responses, upstream):
    upstream.script(*WEATHER_RULES)
    made = conversations.create()
    responses.create(model="demo", input="Weather?", tools=[WEATHER_FLAT], conversation=made.id)
    output = {"type": "function_call_output", "call_id": PARIS["id"], "output": "sunny"}
    for _ in range(2):
        said = responses.create(model="demo", tools=[WEATHER_FLAT], conversation=made.id,
                                input=[output])
        assert said.output_text == "It is sunny."
    assert [item.type for item in conversations.items.list(made.id, order="asc")] == \
        ["message", "function_call", "function_call_output", "message", "message"]
    with pytest.raises(openai.BadRequestError, match="was already answered with another output"):
        responses.create(model="demo", conversation=made.id, input=[{**output, "output": "rainy"}])


def test_an_output_may_be_added_to_the_conversation(conversations, responses, upstream):
    upstream.script(*WEATHER_RULES)
    made = conversations.create()
    responses.create(model="demo", input="Weather?", tools=[WEATHER_FLAT], conversation=made.id)
    conversations.items.create(made.id, items=[
        {"type": "function_call_output", "call_id": PARIS["id"], "output": "sunny"}])
    second = responses.create(model="demo", tools=[WEATHER_FLAT], conversation=made.id)
    assert second.output_text == "It is sunny."


def test_an_output_whose_call_was_deleted_does_no_harm(conversations, responses):
    made = conversations.create(items=[
        {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "done"}])
    call = list(conversations.items.list(made.id))[1]
    conversations.items.delete(call.id, conversation_id=made.id)
    assert responses.create(model="demo", input="Hi", conversation=made.id).status == "completed"


def test_an_item_of_the_conversation_may_be_referred_to(conversations, responses, upstream):
    made = conversations.create(items=[say("once")])
    (item,) = conversations.items.list(made.id)
    responses.create(model="demo", conversation=made.id, input=[
        {"type": "item_reference", "id": item.id}, say("twice")])
    assert texts_of(upstream.chats()[0]) == [("user", "once"), ("user", "twice")]


def test_an_incomplete_answer_is_kept(conversations, responses, upstream):
    made = conversations.create()
    upstream.answer(text="It was a", finish_reason="length")
    response = responses.create(model="demo", input="Say it.", conversation=made.id)
    assert response.status == "incomplete"
    listed = list(conversations.items.list(made.id, order="asc"))
    assert [item.status for item in listed] == ["completed", "incomplete"]
    assert text_of(listed[1]) == "It was a"


@pytest.mark.parametrize("background", [False, True])
def test_a_failed_response_adds_nothing(client, conversations, responses, upstream, background):
    made = conversations.create(items=[say("before")])
    upstream.answer(fault={"kind": "status", "status": 400,
                           "body": '{"error":{"message":"no"}}'})
    body = {"model": "demo", "input": "Hi", "conversation": made.id}
    if background:
        response = responses.create(**body, background=True)
        response = eventually(lambda: responses.retrieve(response.id),
                              lambda now: now.status == "failed")
    else:
        _, response = failed_response(client, **body)
    assert response.conversation.id == made.id
    assert texts_in(conversations, made.id) == [("user", "before")]
    upstream.answer(text="Fine.")
    assert responses.create(model="demo", input="Again", conversation=made.id).output_text == \
        "Fine."
    assert texts_in(conversations, made.id)[1:] == [("user", "Again"), ("assistant", "Fine.")]


def test_a_cancelled_response_adds_nothing(conversations, responses, upstream):
    made = conversations.create(items=[say("before")])
    slow(upstream)
    response = responses.create(model="demo", input="Hi", conversation=made.id, background=True)
    responses.cancel(response.id)
    upstream.answer(text="Fine.")
    # It has ended when the cancelling is answered: the conversation is free.
    assert responses.create(model="demo", input="Again", conversation=made.id).output_text == "Fine."
    assert texts_in(conversations, made.id) == [("user", "before"), ("user", "Again"),
                                            ("assistant", "Fine.")]


def test_a_response_is_deleted_and_the_conversation_keeps_its_items(conversations, responses):
    made = conversations.create()
    response = responses.create(model="demo", input="Hi", conversation=made.id)
    responses.delete(response.id)
    assert len(texts_in(conversations, made.id)) == 2


def test_a_response_remains_when_its_conversation_is_deleted(conversations, responses):
    made = conversations.create(items=[say("before")])
    response = responses.create(model="demo", input="Hi", conversation=made.id)
    conversations.delete(made.id)
    kept = responses.retrieve(response.id)
    assert kept.output_text == "Hello there, my friend." and kept.conversation.id == made.id
    assert [text_of(item) for item in responses.input_items.list(response.id)] == ["Hi"]
    assert responses.create(model="demo", input="And?", previous_response_id=response.id).status \
        == "completed"


def test_a_chain_branches_from_a_conversation(conversations, responses, upstream):
    made = conversations.create(items=[say("My name is Ann.")])
    first = responses.create(model="demo", input="Hi", conversation=made.id)
    responses.create(model="demo", input="Not seen by the chain.", conversation=made.id)
    upstream.forget()
    second = responses.create(model="demo", input="Who am I?", previous_response_id=first.id)
    assert second.conversation is None
    responses.create(model="demo", input="Sure?", previous_response_id=second.id)
    before = [("user", "My name is Ann."), ("user", "Hi"), ("assistant", "Hello there, my friend."),
              ("user", "Who am I?")]
    chats = upstream.chats()
    assert texts_of(chats[0]) == before
    assert texts_of(chats[1]) == before + [("assistant", "Hello there, my friend."),
                                           ("user", "Sure?")]
    assert len(texts_in(conversations, made.id)) == 5


# ---- The lock ----

def refused(ask):
    with pytest.raises(openai.BadRequestError) as caught:
        ask()
    return caught.value


@pytest.mark.threads
@pytest.mark.parametrize("background", [False, True])
def test_a_conversation_has_one_running_response(conversations, responses, threads, assistant, upstream,
                                background):
    made = conversations.create(items=[say("before")])
    slow(upstream)
    stream = responses.create(model="demo", input="Hi", conversation=made.id, stream=True,
                              background=background)
    running = next(stream).response.id
    for more in ({}, {"stream": True}, {"background": True}):
        problem = refused(lambda: responses.create(model="demo", input="Me, too",
                                                   conversation=made.id, **more))
        assert problem.body == {"message": LOCKED, "type": "invalid_request_error",
                                "param": None, "code": "conversation_locked"}
    (item,) = conversations.items.list(made.id)
    assert refused(lambda: conversations.items.delete(item.id, conversation_id=made.id)
                   ).code == "conversation_locked"
    thread = same_letters(made.id)
    assert refused(lambda: threads.runs.create(thread, assistant_id=assistant.id)).body[
        "message"] == f"Thread {thread} already has an active run {running}."
    assert refused(lambda: threads.messages.create(thread, role="user", content="x")).body[
        "message"] == f"Can't add messages to {thread} while a run {running} is active."
    assert texts_in(conversations, made.id) == [("user", "before")]  # nothing before the end
    assert responses.create(model="demo", input="Hi", conversation=made.id, store=False).output
    for last in stream:
        pass
    assert last.type == "response.completed"
    assert len(texts_in(conversations, made.id)) == 3
    assert responses.create(model="demo", input="Now", conversation=made.id).status == "completed"


def refused_add(client, conversation):
    with pytest.raises(openai.ConflictError) as caught:
        client.with_options(max_retries=0).conversations.items.create(conversation, items=[say("x")])
    assert caught.value.body == {"message": LOCKED, "type": "invalid_request_error", "param": None,
                                 "code": "conversation_locked"}
    assert caught.value.response.headers["x-should-retry"] == "true"


STUCK = {"text": "a b c", "split": "word", "piece_delay_ms": 3600000}


def adding(client, conversation):
    """items.create in a thread; what it became."""
    made = []
    thread = threading.Thread(target=lambda: made.append(
        client.with_options(max_retries=0).conversations.items.create(conversation, items=[say("Me, too")])))
    thread.start()
    return thread, made


def test_new_items_wait_for_the_end_of_the_response(client, conversations, responses, upstream):
    """The answer takes two seconds, and is in the conversation before what was added meanwhile."""
    made = conversations.create()
    upstream.answer(text="a b c", split="word", piece_delay_ms=700)
    stream = responses.create(model="demo", input="Hi", conversation=made.id, stream=True)
    next(stream)
    thread, added = adding(client, made.id)
    assert list(stream)[-1].type == "response.completed"
    thread.join()
    assert added and texts_in(conversations, made.id) == [
        ("user", "Hi"), ("assistant", "a b c"), ("user", "Me, too")]


def test_new_items_do_not_wait_for_ever(client, conversations, responses, upstream):
    made = conversations.create()
    upstream.answer(**STUCK)
    with responses.create(model="demo", input="Hi", conversation=made.id, stream=True) as stream:
        next(stream)
        refused_add(client, made.id)
    assert client.with_options(max_retries=5).conversations.items.create(made.id, items=[say("x")]).data


@pytest.mark.parametrize("how", ["leaves", "deletes"])
def test_who_waits_with_new_items_keeps_no_response_alive(client, http, conversations, responses, upstream, how):
    made = conversations.create()
    upstream.answer(**STUCK)
    stream = responses.create(model="demo", input="Hi", conversation=made.id, stream=True,
                              background=how == "deletes")
    response = next(stream).response.id
    thread, added = adding(client, made.id)
    eventually(lambda: "runnel_http_suspended 2\n" in http.get("/metrics").text)
    if how == "leaves":
        stream.close()
    else:
        responses.delete(response)
    thread.join()
    assert added and texts_in(conversations, made.id) == [("user", "Me, too")]


@pytest.mark.threads
def test_of_many_responses_at_once_one_wins(conversations, responses, upstream):
    made = conversations.create()
    slow(upstream)
    outcomes = []

    def ask(number):
        try:
            outcomes.append(responses.create(model="demo", input=f"number {number}",
                                             conversation=made.id).status)
        except openai.BadRequestError as problem:
            outcomes.append(problem.code)
    callers = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert sorted(outcomes) == ["completed"] + ["conversation_locked"] * 3
    assert [role for role, _ in texts_in(conversations, made.id)] == ["user", "assistant"]


def test_a_client_that_leaves_unlocks_the_conversation(conversations, responses, upstream):
    made = conversations.create()
    slow(upstream, piece_delay_ms=500)
    stream = responses.create(model="demo", input="Hi", conversation=made.id, stream=True)
    next(stream)
    stream.close()
    upstream.answer(text="Fine.")

    def ask():
        try:
            return responses.create(model="demo", input="Again", conversation=made.id)
        except openai.BadRequestError as problem:
            assert problem.code == "conversation_locked"
            return None
    assert eventually(ask).output_text == "Fine."
    assert texts_in(conversations, made.id) == [("user", "Again"), ("assistant", "Fine.")]


def test_a_run_locks_the_conversation(conversations, responses, threads, client, upstream):
    assistant = client.beta.assistants.create(model="demo", tools=[WEATHER])
    upstream.script(*WEATHER_RULES)
    thread = threads.create(messages=[{"role": "user", "content": "Weather?"}])
    run = threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
    assert run.status == "requires_action"
    assert refused(lambda: responses.create(model="demo", input="Hi", conversation=thread.id)
                   ).code == "conversation_locked"
    refused_add(client, thread.id)  # at once, for the run waits for this client
    threads.runs.submit_tool_outputs_and_poll(run_id=run.id, thread_id=thread.id, tool_outputs=[
        {"tool_call_id": PARIS["id"], "output": "sunny"}])
    assert responses.create(model="demo", input="Hi", conversation=thread.id).status == "completed"


def test_deleting_a_conversation_ends_its_running_response(conversations, responses, upstream):
    made = conversations.create()
    slow(upstream)
    response = responses.create(model="demo", input="Hi", conversation=made.id, background=True)
    conversations.delete(made.id)
    with pytest.raises(openai.NotFoundError):
        responses.retrieve(response.id)


# ---- One store, two views ----

def test_a_run_continues_where_a_response_ended(conversations, responses, threads, assistant,
                                              upstream):
    made = conversations.create(metadata={"a": "1"})
    thread = same_letters(made.id)
    response = responses.create(model="demo", input="My name is Ann.", conversation=made.id)
    assert threads.retrieve(thread).metadata == {"a": "1"}
    asked, answered = threads.messages.list(thread, order="asc").data
    assert (asked.role, asked.content[0].text.value) == ("user", "My name is Ann.")
    assert (answered.role, answered.content[0].text.value) == ("assistant",
                                                               "Hello there, my friend.")
    assert answered.id == response.output[0].id and answered.thread_id == thread
    assert answered.run_id is None and answered.status == "completed"
    upstream.forget()
    run = threads.runs.create_and_poll(
        thread_id=thread, assistant_id=assistant.id, additional_messages=[
        {"role": "user", "content": "Who am I?"}])
    assert run.status == "completed"
    assert texts_of(upstream.chats()[0]) == [
        ("system", "Be brief."), ("user", "My name is Ann."),
        ("assistant", "Hello there, my friend."), ("user", "Who am I?")]
    assert [r.id for r in threads.runs.list(thread)] == [run.id]


def test_a_response_continues_where_a_run_ended(conversations, responses, threads, client,
                                              upstream):
    assistant = client.beta.assistants.create(model="demo", tools=[WEATHER])
    upstream.script(*WEATHER_RULES)
    thread = threads.create(messages=[{"role": "user", "content": "Weather?"}])
    run = threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
    run = threads.runs.submit_tool_outputs_and_poll(run_id=run.id, thread_id=thread.id, tool_outputs=[
        {"tool_call_id": PARIS["id"], "output": "sunny"}])
    assert run.status == "completed"
    conversation = thread.id.replace("thread_", "conv_")
    items = list(conversations.items.list(conversation, order="asc"))
    assert [item.type for item in items] == \
        ["message", "function_call", "function_call_output", "message"]
    assert text_of(items[0]) == "Weather?" and text_of(items[3]) == "It is sunny."
    assert items[2].output == "sunny"
    upstream.forget()
    upstream.answer(text="You are welcome.")
    responses.create(model="demo", input="Thanks.", conversation=conversation)
    roles = [message["role"] for message in upstream.chats()[0]["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    assert [m.content[0].text.value for m in threads.messages.list(thread.id, order="asc")] == \
        ["Weather?", "It is sunny.", "Thanks.", "You are welcome."]


def test_calls_that_a_run_left_open_cannot_be_answered(conversations, responses, threads, client,
                                                upstream):
    assistant = client.beta.assistants.create(model="demo", tools=[WEATHER])
    upstream.script(*WEATHER_RULES)
    thread = threads.create(messages=[{"role": "user", "content": "Weather?"}])
    run = threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
    threads.runs.cancel(run.id, thread_id=thread.id)
    eventually(lambda: threads.runs.retrieve(run.id, thread_id=thread.id).status,
               lambda status: status == "cancelled")
    upstream.answer(text="No matter.")
    response = responses.create(model="demo", input="Leave it.", conversation=thread.id)
    assert response.output_text == "No matter."


def test_messages_of_a_thread_are_items(conversations, threads):
    thread = threads.create()
    message = threads.messages.create(thread.id, role="user", content="Hi")
    item = conversations.items.retrieve(message.id, conversation_id=thread.id)
    assert (item.role, text_of(item)) == ("user", "Hi")
    conversations.items.delete(message.id, conversation_id=thread.id)
    assert threads.messages.list(thread.id).data == []
