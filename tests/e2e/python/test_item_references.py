"""Items that are named by their ids instead of being sent."""

import openai
import pytest

from harness.tools import PARIS, WEATHER_FLAT, WEATHER_RULES
from test_conversations import say, texts_in
from test_responses import texts_of


@pytest.fixture
def conversations(client):
    return client.conversations


@pytest.fixture
def responses(client):
    return client.responses


def ref(item):
    return {"type": "item_reference", "id": getattr(item, "id", item)}


def not_found(item_id):
    return {"message": f"Item with id '{item_id}' not found. Items are not persisted when `store` "
                       "is set to false. Try again with `store` set to true, or remove this item "
                       "from your input.",
            "type": "invalid_request_error", "param": "input", "code": None}


def refused(responses, item_id, **body):
    with pytest.raises(openai.NotFoundError) as caught:
        responses.create(model="demo", input=[say("Hi"), ref(item_id)], **body)
    assert caught.value.body == not_found(item_id)


def test_an_item_of_another_response_reaches_the_model(responses, upstream):
    first = responses.create(model="demo", input="Hi")
    (asked,) = responses.input_items.list(first.id)
    upstream.forget()
    upstream.answer(text="Sure.")
    second = responses.create(model="demo", input=[
        say("Before."), ref(asked), ref(first.output[0]), say("Go on.")])
    expected = [("user", "Before."), ("user", "Hi"), ("assistant", "Hello there, my friend."),
                ("user", "Go on.")]
    assert texts_of(upstream.chats()[0]) == expected
    listed = list(responses.input_items.list(second.id, order="asc"))
    assert [item.content[0].text for item in listed] == [text for _, text in expected]
    assert len({item.id for item in [*listed, asked, first.output[0]]}) == 6
    responses.delete(first.id)
    third = responses.create(model="demo", input="And?", previous_response_id=second.id)
    assert texts_of(upstream.chats()[1]) == [*expected, ("assistant", "Sure."), ("user", "And?")]
    assert third.status == "completed"


def test_a_call_may_be_referred_to_beside_its_output(responses, upstream):
    """As clients do that send everything anew each time."""
    upstream.script(*WEATHER_RULES)
    first = responses.create(model="demo", input="weather?", tools=[WEATHER_FLAT])
    second = responses.create(model="demo", tools=[WEATHER_FLAT], input=[
        say("weather?"), ref(first.output[0]),
        {"type": "function_call_output", "call_id": PARIS["id"], "output": "sunny"}])
    assert second.output_text == "It is sunny."
    messages = upstream.chats()[-1]["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool"]
    assert messages[1]["tool_calls"][0]["function"]["arguments"] == '{"city":"Paris"}'
    with pytest.raises(openai.BadRequestError) as caught:
        responses.create(model="demo", input=[say("weather?"), ref(first.output[0])])
    assert caught.value.body["message"] == \
        f"No tool output found for function call {PARIS['id']}."


def test_an_item_of_the_context_is_not_sent_twice(conversations, responses, upstream):
    first = responses.create(model="demo", input="Hi")
    responses.create(model="demo", input=[ref(first.output[0]), say("And?")],
                     previous_response_id=first.id)
    expected = [("user", "Hi"), ("assistant", "Hello there, my friend."), ("user", "And?")]
    assert texts_of(upstream.chats()[-1]) == expected
    made = conversations.create(items=[say("Hi")])
    (item,) = conversations.items.list(made.id)
    responses.create(model="demo", input=[ref(item), say("And?")], conversation=made.id)
    assert texts_of(upstream.chats()[-1]) == [("user", "Hi"), ("user", "And?")]


def test_the_type_may_be_left_out(http, responses, upstream):
    first = responses.create(model="demo", input="Hi")
    for item in ({"id": first.output[0].id}, {"type": None, "id": first.output[0].id}):
        answer = http.post("/v1/responses", json={"model": "demo", "input": [item, say("And?")]})
        assert answer.status_code == 200, answer.text
        assert texts_of(upstream.chats()[-1])[0] == ("assistant", "Hello there, my friend.")


def test_items_of_conversations_and_threads_are_found(client, conversations, responses, upstream):
    made = conversations.create(items=[say("From a conversation.")])
    (item,) = conversations.items.list(made.id)
    thread = client.beta.threads.create()
    message = client.beta.threads.messages.create(thread.id, role="user", content="From a thread.")
    responses.create(model="demo", input=[ref(item), ref(message)])
    expected = [("user", "From a conversation."), ("user", "From a thread.")]
    assert texts_of(upstream.chats()[-1]) == expected
    other = conversations.create(items=[ref(item)])
    added = conversations.items.create(other.id, items=[ref(message)])
    assert added.data[0].content[0].text == "From a thread." and added.data[0].id != message.id
    assert texts_in(conversations, other.id) == expected
    conversations.delete(made.id)
    client.beta.threads.delete(thread.id)
    assert texts_in(conversations, other.id) == expected


def test_a_missing_item_is_not_found(client, conversations, responses, stranger):
    refused(responses, "msg_nope")
    refused(responses, "msg_nope", stream=True)
    refused(responses, responses.create(model="demo", input="Hi", store=False).output[0].id)
    gone = responses.create(model="demo", input="Hi")
    child = responses.create(model="demo", input="Hi", previous_response_id=gone.id)
    responses.delete(gone.id)
    refused(responses, gone.output[0].id)
    refused(stranger.responses, child.output[0].id)
    made = conversations.create(items=[say("Hi")])
    (item,) = conversations.items.list(made.id)
    responses.create(model="demo", input="Hi", conversation=made.id)
    refused(stranger.responses, item.id)
    conversations.items.delete(item.id, conversation_id=made.id)
    refused(responses, item.id)
    (last, *_) = conversations.items.list(made.id)
    conversations.delete(made.id)
    assert responses.create(model="demo", input=[ref(last)]).status == "completed"  # the response's


def test_a_duplicate_reference_is_refused(responses):
    first = responses.create(model="demo", input="Hi")
    for extra in ({}, {"previous_response_id": first.id}):
        with pytest.raises(openai.BadRequestError) as caught:
            responses.create(model="demo", input=[ref(first.output[0]), ref(first.output[0])],
                             **extra)
        assert caught.value.body == {
            "message": f"Duplicate item found with id {first.output[0].id}. Remove duplicate "
                       "items from your input and try again.",
            "type": "invalid_request_error", "param": "input", "code": None}


@pytest.mark.parametrize(("item", "message", "param"), [
    ({"type": "item_reference"}, "Missing required parameter: 'input[0].id'.", "input[0].id"),
    ({"type": "item_reference", "id": 7},
     "Invalid type for 'input[0].id': expected a string, but got an integer instead.",
     "input[0].id"),
    ({"id": "msg_1", "content": "Hi"}, "Missing required parameter: 'input[0].type'.",
     "input[0].type"),
])
def test_invalid_references_are_refused(http, item, message, param):
    answer = http.post("/v1/responses", json={"model": "demo", "input": [item]})
    assert answer.status_code == 400
    assert (answer.json()["error"]["message"], answer.json()["error"]["param"]) == (message, param)


@pytest.mark.slow
def test_the_number_of_references_is_limited(http, conversations, upstream):
    made = conversations.create(items=[say(f"number {n}") for n in range(20)])
    ids = [item["id"] for item in http.get(f"/v1/conversations/{made.id}/items?order=asc").json()["data"]]
    nope = [f"msg_{n}" for n in range(10000 - len(ids))]
    answer = http.post("/v1/responses", json={
        "model": "demo", "input": [ref(item_id) for item_id in [*ids, *nope]]})
    assert answer.status_code == 404 and answer.json()["error"] == not_found("msg_0")
    answer = http.post("/v1/responses", json={
        "model": "demo", "input": [ref(item_id) for item_id in [*ids, *nope, "msg_more"]]})
    assert answer.json()["error"]["code"] == "array_above_max_length"


@pytest.mark.slow
def test_references_to_long_items_do_not_multiply_them(responses, conversations, upstream):
    """Each could be named again, with its copies: a few short requests would fill any memory."""
    long = [responses.create(model="demo", input="x" * 6_000_000) for _ in range(2)]
    asked = [responses.input_items.list(response.id).data[0] for response in long]
    upstream.forget()
    with pytest.raises(openai.BadRequestError) as caught:
        responses.create(model="demo", input=[ref(item) for item in asked])
    assert caught.value.param == "input" and "too long together" in caught.value.message
    assert upstream.chats() == []
    with pytest.raises(openai.BadRequestError):
        conversations.create(items=[ref(item) for item in asked])
    responses.create(model="demo", input=[say("Hi"), ref(asked[0])])
