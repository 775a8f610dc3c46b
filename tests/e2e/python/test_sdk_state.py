"""Every method that the SDK has for responses and conversations, blocking and asynchronous.

A method that a new version of the SDK brings fails the last test until it is tried here.
"""

import asyncio
import inspect

import openai
import pytest
from pydantic import BaseModel

from test_conversations import say

HELLO = "Hello there, my friend."
RESOURCES = ("responses", "responses.input_items", "responses.input_tokens", "conversations",
             "conversations.items")
# They have tests of their own.
ELSEWHERE = {"responses.compact", "responses.connect"}
TRIED = {}


def tries(*names):
    def note(function):
        for name in names:
            TRIED.setdefault(name, []).append(function)
        return function
    return note


async def done(value):
    """The value, whichever client it comes from."""
    return await value if inspect.isawaitable(value) else value


async def every(value):
    """All of a list, over all its pages, or all events of a stream."""
    if not hasattr(value, "__aiter__"):
        value = await done(value)
    if hasattr(value, "__aiter__"):
        return [entry async for entry in value]
    return list(value)


async def missing(value):
    with pytest.raises(openai.NotFoundError):
        await done(value())


# ---- Responses ----

@tries("responses.create", "responses.retrieve", "responses.delete")
async def a_response(client):
    made = await done(client.responses.create(model="demo", input="Hi"))
    assert made.output_text == HELLO
    assert await done(client.responses.retrieve(made.id)) == made
    assert await done(client.responses.retrieve(
        made.id, include=["message.output_text.logprobs"])) == made
    assert await done(client.responses.delete(made.id)) is None
    await missing(lambda: client.responses.retrieve(made.id))


@tries("responses.create", "responses.retrieve")
async def a_stream_that_is_joined_again(client):
    received = await every(client.responses.create(model="demo", input="Hi", stream=True,
                                               background=True))
    made = received[-1].response
    assert made.status == "completed" and made.output_text == HELLO
    assert await every(client.responses.retrieve(made.id, stream=True)) == received
    for after in (0, 3, len(received) - 1):
        assert await every(client.responses.retrieve(made.id, stream=True,
                                                     starting_after=after)) == received[after + 1:]


@tries("responses.stream")
async def the_stream_helper(client):
    async def gather(manager):
        if hasattr(manager, "__aenter__"):
            async with manager as stream:
                events = [event async for event in stream]
                return events, await stream.get_final_response()
        with manager as stream:
            events = list(stream)
            return events, stream.get_final_response()
    events, final = await gather(client.responses.stream(model="demo", input="Hi",
                                                         background=True))
    assert final.output_text == HELLO and events[-1].type == "response.completed"
    again, same = await gather(client.responses.stream(response_id=final.id, starting_after=4))
    assert same.output_text == HELLO
    assert [event.sequence_number for event in again] == \
        [event.sequence_number for event in events][5:]


@tries("responses.parse")
async def a_structured_answer(client, upstream):
    class City(BaseModel):
        name: str
    upstream.answer(text='{"name":"Paris"}')
    made = await done(client.responses.parse(model="demo", input="Where?", text_format=City))
    assert made.output_parsed == City(name="Paris")


@tries("responses.cancel")
async def a_response_that_is_cancelled(client, upstream):
    upstream.answer(text="never", delay_ms=3600000)
    made = await done(client.responses.create(model="demo", input="Hi", background=True))
    for _ in range(2):
        assert (await done(client.responses.cancel(made.id))).status == "cancelled"
    upstream.answer(text=HELLO)
    ended = await done(client.responses.create(model="demo", input="Hi"))
    with pytest.raises(openai.BadRequestError) as caught:
        await done(client.responses.cancel(ended.id))
    assert caught.value.body["message"] == "Cannot cancel a synchronous response."


@tries("responses.input_items.list")
async def what_a_response_was_given(client):
    made = await done(client.responses.create(model="demo", input=[say(str(i)) for i in range(5)]))
    items = await every(client.responses.input_items.list(
        made.id, order="asc", limit=2, include=["message.input_image.image_url"]))
    assert [item.content[0].text for item in items] == list("01234")
    page = await done(client.responses.input_items.list(made.id, after=items[3].id))
    assert [item.content[0].text for item in page.data] == list("210")


@tries("responses.input_tokens.count")
async def what_it_would_cost(client):
    counted = await done(client.responses.input_tokens.count(model="demo", input="Hi"))
    assert counted.object == "response.input_tokens" and counted.input_tokens > 0


@tries("responses.create")
async def a_chain(client):
    first = await done(client.responses.create(model="demo", input="Hi"))
    second = await done(client.responses.create(
        model="demo", previous_response_id=first.id,
        input=[{"type": "item_reference", "id": first.output[0].id}, say("And?")]))
    assert second.previous_response_id == first.id
    with pytest.raises(openai.BadRequestError) as caught:
        await done(client.responses.create(model="demo", input="Hi",
                                           previous_response_id="resp_nope"))
    assert caught.value.code == "previous_response_not_found"


# ---- Conversations ----

@tries("conversations.create", "conversations.retrieve", "conversations.update",
       "conversations.delete")
async def a_conversation(client):
    made = await done(client.conversations.create(metadata={"a": "1"}, items=[say("Hi")]))
    assert await done(client.conversations.retrieve(made.id)) == made
    changed = await done(client.conversations.update(made.id, metadata={"b": "2"}))
    assert changed.metadata == {"b": "2"}
    gone = await done(client.conversations.delete(made.id))
    assert (gone.id, gone.deleted, gone.object) == (made.id, True, "conversation.deleted")
    await missing(lambda: client.conversations.retrieve(made.id))


@tries("conversations.items.create", "conversations.items.list", "conversations.items.retrieve",
       "conversations.items.delete")
async def items_of_a_conversation(client):
    made = await done(client.conversations.create())
    added = await done(client.conversations.items.create(
        made.id, items=[say(str(i)) for i in range(5)],
        include=["message.input_image.image_url"]))
    assert len(added.data) == 5 and added.has_more is False
    items = await every(client.conversations.items.list(
        made.id, limit=2, order="asc", include=["message.output_text.logprobs"]))
    assert items == added.data
    first = await done(client.conversations.items.retrieve(
        items[0].id, conversation_id=made.id, include=["message.output_text.logprobs"]))
    assert first == items[0]
    assert await done(client.conversations.items.delete(first.id, conversation_id=made.id)) == made
    await missing(lambda: client.conversations.items.retrieve(first.id, conversation_id=made.id))
    response = await done(client.responses.create(model="demo", input="And?",
                                                  conversation=made.id))
    assert response.conversation.id == made.id
    assert len(await every(client.conversations.items.list(made.id))) == 6


# ---- Both clients, and all there is ----

FUNCTIONS = list(dict.fromkeys(function for some in TRIED.values() for function in some))


@pytest.mark.parametrize("kind", ["blocking", "asynchronous"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_every_method_of_the_sdk_behaves_as_listed(server, client, upstream, function, kind):
    more = {"upstream": upstream} if "upstream" in inspect.signature(function).parameters else {}

    async def go():
        if kind == "blocking":
            await function(client, **more)
            return
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", max_retries=0,
                                      api_key=server.settings["api_key"],
                                      _strict_response_validation=True) as asynchronous:
            await function(asynchronous, **more)
    asyncio.run(go())


def test_every_method_of_the_sdk_is_listed(client):
    found = set()
    for name in RESOURCES:
        resource = client
        for part in name.split("."):
            resource = getattr(resource, part)
        found |= {f"{name}.{method}" for method, value in
                  inspect.getmembers(type(resource), inspect.isfunction)
                  if not method.startswith("_")}
    assert found == set(TRIED) | ELSEWHERE
