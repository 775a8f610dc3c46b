"""What a turn of a chain reads and renders again: nothing, and the model gets the same as if it did."""

import openai
import pytest

from harness.tools import call

TEST = {"type": "mcp", "server_label": "test", "server_url": "builtin:test", "require_approval": "never"}
WEATHER = {"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {}}}


def without_memory(start_server):
    return start_server(chain_cache=0).sdk()


def converse(client):
    """Text, calls of the server and of the client, a branch, a picture, other instructions."""
    ask = client.responses.create
    first = ask(model="demo", input="one")
    second = ask(model="demo", input="go", tools=[TEST], previous_response_id=first.id)
    third = ask(model="demo", input='"three"\n\u00e9 \U0001f600', instructions="Be brief.", previous_response_id=second.id)
    ask(model="demo", input="a branch", previous_response_id=second.id)
    asked = ask(model="demo", input="weather", tools=[WEATHER], previous_response_id=third.id)
    wanted = next(item for item in asked.output if item.type == "function_call")
    answered = ask(model="demo", tools=[WEATHER], previous_response_id=asked.id, input=[
        {"type": "function_call_output", "call_id": wanted.call_id, "output": "cold"}])
    ask(model="demo", input="the same again", previous_response_id=answered.id)
    seen = ask(model="demo", previous_response_id=answered.id, input=[{"role": "user", "content": [
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}]}])
    return ask(model="demo", input="last", truncation="auto", previous_response_id=seen.id)


@pytest.fixture
def talkative(upstream):
    upstream.script(
        {"match": {"tool_results": True}, "answer": {"text": "said"}},
        {"match": {"user": "weather"}, "answer": {"tool_calls": [{"id": "call_w", "name": "get_weather", "arguments": {}}]}},
        {"match": {"user": "go"}, "answer": {"tool_calls": [call("test_slow", 1, ms=0, text="fact")], "text": "looking"}},
        {"answer": {"text": "said"}})
    return upstream


def messages(upstream):
    found = [chat["messages"] for chat in upstream.chats()]
    upstream.forget()
    return found


def test_the_model_gets_the_same_with_and_without_memory(start_server, talkative):
    converse(without_memory(start_server))
    expected = messages(talkative)
    converse(start_server().sdk())
    assert messages(talkative) == expected


def test_a_chain_is_not_read_again(start_server, upstream, statements):
    server = start_server()
    client = server.sdk()
    before = client.responses.create(model="demo", input="one")
    log = statements(server.settings["database_url"])
    for text in "two", "three", "four":
        before = client.responses.create(model="demo", input=text, previous_response_id=before.id)
    assert "WITH RECURSIVE chain" not in log()
    assert [m["content"] for m in upstream.chats()[-1]["messages"] if m["role"] == "user"] == ["one", "two", "three", "four"]


def test_what_another_server_has_deleted_is_not_continued(start_server, database, upstream):
    url = database.new()
    here, there = [start_server(database_url=url).sdk() for _ in range(2)]
    first = here.responses.create(model="demo", input="one")
    second = here.responses.create(model="demo", input="two", previous_response_id=first.id)
    here.responses.create(model="demo", input="three", previous_response_id=second.id)
    there.responses.delete(second.id)
    with pytest.raises(openai.BadRequestError):
        here.responses.create(model="demo", input="four", previous_response_id=second.id)


def test_a_chain_goes_on_where_another_server_has_left_it(start_server, database, upstream):
    url = database.new()
    servers = [start_server(database_url=url).sdk() for _ in range(2)]
    before = None
    for turn in range(6):
        extra = {"previous_response_id": before} if before else {}
        before = servers[turn * 2 // 3 % 2].responses.create(model="demo", input=str(turn), **extra).id
    asked = [m["content"] for m in upstream.chats()[-1]["messages"] if m["role"] == "user"]
    assert asked == [str(turn) for turn in range(6)]
