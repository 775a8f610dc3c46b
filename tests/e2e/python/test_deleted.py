"""Deleted objects are gone for clients, but what was made from them still uses them."""

import openai
import pytest

from harness.server import eventually
from test_conversations import say, texts_in
from test_responses import texts_of


@pytest.fixture
def conversations(client):
    return client.conversations


@pytest.fixture
def responses(client):
    return client.responses


@pytest.fixture
def ask(responses, upstream):
    """ask("2", after=first) -> a response to "ask 2" that says "say 2"."""
    def go(word, after=None, **body):
        upstream.answer(text=f"say {word}")
        if after:
            body["previous_response_id"] = after.id
        return responses.create(model="demo", input=f"ask {word}", **body)
    return go


@pytest.fixture
def received(ask, upstream):
    """What the model gets when a response is continued, without the last message."""
    def listen(response):
        upstream.forget()
        ask("more", after=response)
        (chat,) = upstream.chats()
        return [text for _, text in texts_of(chat)][:-1]
    return listen


def turns(*words):
    return [f"{verb} {word}" for word in words for verb in ("ask", "say")]


def test_a_deleted_response_is_still_sent_to_the_model_of_later_ones(responses, ask, received):
    first = ask("1")
    second = ask("2", after=first)
    third = ask("3", after=second)
    responses.delete(second.id)
    assert received(third) == turns("1", "2", "3")
    responses.delete(first.id)
    fourth = ask("4", after=third)
    assert received(fourth) == turns("1", "2", "3", "4")
    assert responses.retrieve(third.id) == third


def test_every_branch_still_reads_a_deleted_response(responses, ask, received):
    root = ask("root")
    left, right = ask("left", after=root), ask("right", after=root)
    responses.delete(root.id)
    assert received(left) == turns("root", "left")
    responses.delete(left.id)
    assert received(right) == turns("root", "right")


def test_a_deleted_response_is_gone_for_clients(http, responses, ask):
    first = ask("1")
    ask("2", after=first)
    responses.delete(first.id)
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/cancel"), ("GET", "/input_items"),
                         ("GET", "?stream=true")):
        answer = http.request(method, f"/v1/responses/{first.id}{path}")
        assert answer.status_code == 404
        assert answer.json()["error"] == {
            "message": f"Response with id '{first.id}' not found.",
            "type": "invalid_request_error", "param": None, "code": None}
    for stream in (False, True):
        with pytest.raises(openai.BadRequestError) as caught:
            ask("3", after=first, stream=stream)
        assert caught.value.body == {
            "message": f"Previous response with id '{first.id}' not found.",
            "type": "invalid_request_error", "param": "previous_response_id",
            "code": "previous_response_not_found"}


def test_background_responses_are_deleted_before_and_after_their_end(responses, ask, upstream,
                                                                     received):
    upstream.answer(text="too late", delay_ms=60000)
    going = responses.create(model="demo", input="Hi", background=True)
    responses.delete(going.id)
    with pytest.raises(openai.NotFoundError):
        responses.retrieve(going.id)
    ended = ask("1", background=True)
    eventually(lambda: responses.retrieve(ended.id).status, lambda status: status == "completed")
    child = ask("2", after=ended)
    responses.delete(ended.id)
    assert received(child) == turns("1", "2")


def test_a_running_response_still_reads_its_deleted_parent(responses, ask, upstream):
    """Its parent is deleted while it is being made."""
    first = ask("1")
    upstream.answer(text="say 2", piece_delay_ms=200, split="word")
    stream = responses.create(model="demo", input="ask 2", previous_response_id=first.id,
                              stream=True)
    made = next(stream).response
    responses.delete(first.id)
    for last in stream:
        pass
    assert last.response.status == "completed"
    ask("3", after=made)
    assert texts_of(upstream.chats()[-1])[0] == ("user", "ask 1")


# ---- Conversations ----

def test_items_of_a_deleted_response_stay_in_the_conversation(conversations, responses, ask, upstream):
    made = conversations.create(items=[say("before")])
    first = ask("1", conversation=made.id)
    responses.delete(first.id)
    assert [text for _, text in texts_in(conversations, made.id)] == ["before", *turns("1")]
    ask("2", conversation=made.id)
    assert [text for _, text in texts_of(upstream.chats()[-1])] == \
        ["before", *turns("1"), "ask 2"]


def test_an_item_removed_from_a_conversation_is_still_read_by_earlier_responses(conversations, responses, ask,
                                                                 received):
    made = conversations.create(items=[say("before")])
    first = ask("1", conversation=made.id)
    (before,) = [item for item in conversations.items.list(made.id)
                 if item.role == "user" and item.content[0].text == "before"]
    conversations.items.delete(before.id, conversation_id=made.id)
    conversations.items.delete(first.output[0].id, conversation_id=made.id)
    with pytest.raises(openai.NotFoundError):
        conversations.items.retrieve(before.id, conversation_id=made.id)
    behind = conversations.items.list(made.id, after=before.id, order="asc").data
    assert [item.content[0].text for item in behind] == ["ask 1"]
    assert conversations.items.list(made.id, after=before.id).data == []
    second = ask("2", conversation=made.id)
    assert [text for _, text in texts_in(conversations, made.id)] == ["ask 1", *turns("2")]
    assert received(first) == ["before", *turns("1")]
    assert received(second) == ["ask 1", *turns("2")]
    assert responses.retrieve(first.id) == first


def test_a_deleted_conversation_is_still_read_by_its_chains(conversations, responses, ask, received):
    made = conversations.create(items=[say("before")])
    first = ask("1", conversation=made.id)
    conversations.items.create(made.id, items=[say("between")])
    second = ask("2", conversation=made.id)
    child = ask("3", after=first)
    conversations.delete(made.id)
    assert responses.retrieve(first.id) == first
    assert received(second) == ["before", *turns("1"), "between", *turns("2")]
    assert received(child) == ["before", *turns("1", "3")]
    for lost in (first, second):
        responses.delete(lost.id)
    assert received(child) == ["before", *turns("1", "3")]
    for gone in (lambda: conversations.items.list(made.id),
                 lambda: conversations.items.retrieve(first.output[0].id,
                                                      conversation_id=made.id),
                 lambda: ask("4", conversation=made.id)):
        with pytest.raises(openai.NotFoundError) as caught:
            gone()
        assert caught.value.body["message"] == f"Conversation with id '{made.id}' not found."


def test_a_deleted_message_is_still_read_by_earlier_responses(client, conversations, ask, received):
    """Seen from the other side, the same."""
    made = conversations.create(items=[say("before")])
    first = ask("1", conversation=made.id)
    thread = made.id.replace("conv_", "thread_")
    before = client.beta.threads.messages.list(thread, order="asc").data[0]
    client.beta.threads.messages.delete(before.id, thread_id=thread)
    assert len(client.beta.threads.messages.list(thread).data) == 2
    assert received(first) == ["before", *turns("1")]
    client.beta.threads.delete(thread)
    assert received(first) == ["before", *turns("1")]


# ---- For good ----

@pytest.mark.slow
def test_deleted_objects_that_nothing_needs_are_removed(start_fault_server, database, upstream):
    server = start_fault_server(response_timeout=1)
    responses = server.sdk().responses
    conversation = server.sdk().conversations.create(items=[say("before")]).id

    def left():
        return int(database.ask("SELECT (SELECT count(*) FROM runs) + (SELECT count(*) FROM items)",
                                url=server.settings["database_url"])[0][0])
    chain = [responses.create(model="demo", input="Hi", conversation=conversation)]
    for _ in range(20):
        chain.append(responses.create(model="demo", input="Hi", previous_response_id=chain[-1].id))
    server.sdk().conversations.delete(conversation)
    rows = left()
    for response in chain[:-1]:
        responses.delete(response.id)
    assert left() == rows
    responses.delete(chain[-1].id)
    eventually(left, lambda now: now == 0)
