"""Assistants, threads and messages: made, shown, changed, listed, deleted."""

import openai
import pytest

from harness.tools import WEATHER


@pytest.fixture
def assistants(client):
    return client.beta.assistants


@pytest.fixture
def threads(client):
    return client.beta.threads


@pytest.fixture
def thread(threads):
    return threads.create()


def names(page):
    return [entry.name for entry in page.data]


# ---- assistants ----

def test_an_assistant_has_what_it_was_made_with(assistants):
    made = assistants.create(
        model="demo", name="Weatherman", description="Knows the sky", instructions="Be brief.",
        tools=[WEATHER], metadata={"team": "blue"}, temperature=0.5, top_p=0.9,
        response_format={"type": "text"})
    assert made.id.startswith("asst_") and made.object == "assistant"
    assert (made.model, made.name, made.description) == ("demo", "Weatherman", "Knows the sky")
    assert made.instructions == "Be brief."
    assert made.tools[0].function.name == "get_weather"
    assert made.metadata == {"team": "blue"}
    assert (made.temperature, made.top_p) == (0.5, 0.9)
    assert made.response_format.type == "text"
    assert assistants.retrieve(made.id) == made


def test_an_assistant_needs_only_a_model(assistants):
    made = assistants.create(model="demo")
    assert (made.name, made.description, made.instructions) == (None, None, None)
    assert made.tools == [] and made.metadata == {}
    assert (made.temperature, made.top_p, made.response_format) == (1.0, 1.0, "auto")


def test_an_update_changes_what_it_names(assistants):
    made = assistants.create(model="demo", name="A", instructions="Be brief.",
                             metadata={"a": "1", "b": "2"})
    changed = assistants.update(made.id, name="B", metadata={"c": "3"})
    assert (changed.name, changed.instructions) == ("B", "Be brief.")
    assert changed.metadata == {"c": "3"}
    assert changed.created_at == made.created_at
    assert assistants.retrieve(made.id) == changed


def test_a_deleted_assistant_is_gone(assistants):
    made = assistants.create(model="demo")
    gone = assistants.delete(made.id)
    assert (gone.id, gone.object, gone.deleted) == (made.id, "assistant.deleted", True)
    with pytest.raises(openai.NotFoundError) as caught:
        assistants.retrieve(made.id)
    assert caught.value.body["message"] == f"No assistant found with id '{made.id}'."
    with pytest.raises(openai.NotFoundError):
        assistants.delete(made.id)


def test_lists_go_both_ways_and_page_by_page(assistants):
    made = [assistants.create(model="demo", name=f"page {i}") for i in range(5)]
    newest = assistants.list(limit=2)
    assert names(newest) == ["page 4", "page 3"]
    assert newest.has_more and newest.first_id == made[4].id and newest.last_id == made[3].id
    assert names(assistants.list(limit=2, after=made[3].id)) == ["page 2", "page 1"]
    assert names(assistants.list(limit=2, before=made[2].id)) == ["page 4", "page 3"]
    assert names(assistants.list(limit=2, order="asc", after=made[2].id)) == ["page 3", "page 4"]
    walked = [entry.id for entry in assistants.list(limit=2, order="asc", after=made[0].id)]
    assert walked == [entry.id for entry in made[1:]]


def test_an_empty_page_has_no_ids(http):
    answer = http.get("/v1/assistants", params={"limit": 0}).json()
    assert answer["data"] == []
    assert answer["first_id"] is None and answer["last_id"] is None


# ---- threads ----

def test_a_thread_is_created_changed_and_deleted(threads):
    made = threads.create(metadata={"a": "1"})
    assert made.id.startswith("thread_") and made.object == "thread"
    assert threads.retrieve(made.id) == made
    changed = threads.update(made.id, metadata={"b": "2"})
    assert changed.metadata == {"b": "2"}
    gone = threads.delete(made.id)
    assert (gone.id, gone.object, gone.deleted) == (made.id, "thread.deleted", True)
    with pytest.raises(openai.NotFoundError) as caught:
        threads.retrieve(made.id)
    assert caught.value.body["message"] == f"No thread found with id '{made.id}'."


def test_a_thread_may_start_with_messages(threads):
    made = threads.create(messages=[
        {"role": "user", "content": "one", "metadata": {"n": "1"}},
        {"role": "assistant", "content": [{"type": "text", "text": "two"}]},
    ])
    messages = threads.messages.list(made.id, order="asc").data
    assert [m.content[0].text.value for m in messages] == ["one", "two"]
    assert [m.role for m in messages] == ["user", "assistant"]
    assert messages[0].metadata == {"n": "1"}


def test_a_thread_needs_no_body(http):
    answer = http.post("/v1/threads")
    assert answer.status_code == 200
    assert answer.json()["tool_resources"] in (None, {})


@pytest.mark.parametrize("resources", [
    {"code_interpreter": None}, {"code_interpreter": {"file_ids": None}},
    {"file_search": {"vector_store_ids": [], "vector_stores": None}}])
def test_null_in_tool_resources_counts_as_absent(http, resources):
    for path, body in (("/v1/threads", {}), ("/v1/assistants", {"model": "demo"})):
        made = http.post(path, json={**body, "tool_resources": resources})
        assert made.status_code == 200 and made.json()["tool_resources"] == resources
        assert http.get(f"{path}/{made.json()['id']}").json() == made.json()


def test_a_thread_is_found_under_its_conversation_id(threads, http):
    made = threads.create()
    other = made.id.replace("thread_", "conv_")
    assert http.get(f"/v1/threads/{other}").json()["id"] == made.id


# ---- messages ----

def test_a_message_has_what_it_was_made_with(threads, thread):
    made = threads.messages.create(thread.id, role="user", content="Hi", metadata={"a": "1"})
    assert made.id.startswith("msg_") and made.object == "thread.message"
    assert (made.thread_id, made.role) == (thread.id, "user")
    assert (made.assistant_id, made.run_id) == (None, None)
    assert made.content[0].type == "text"
    assert made.content[0].text.value == "Hi" and made.content[0].text.annotations == []
    assert made.metadata == {"a": "1"} and made.attachments in (None, [])
    assert threads.messages.retrieve(made.id, thread_id=thread.id) == made


def test_messages_may_have_several_parts(threads, thread):
    made = threads.messages.create(thread.id, role="user", content=[
        {"type": "text", "text": "Look:"},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}},
    ])
    assert [part.type for part in made.content] == ["text", "image_url"]
    assert made.content[1].image_url.url == "https://example.com/a.png"


def test_messages_are_changed_listed_and_deleted(threads, thread):
    messages = threads.messages
    made = [messages.create(thread.id, role="user", content=str(i)) for i in range(3)]
    assert messages.update(made[0].id, thread_id=thread.id,
                           metadata={"a": "1"}).metadata == {"a": "1"}
    assert [m.id for m in messages.list(thread.id)] == [m.id for m in reversed(made)]
    assert [m.id for m in messages.list(thread.id, limit=1, order="asc")] == [m.id for m in made]
    gone = messages.delete(made[1].id, thread_id=thread.id)
    assert (gone.id, gone.object, gone.deleted) == (made[1].id, "thread.message.deleted", True)
    assert [m.id for m in messages.list(thread.id, order="asc")] == [made[0].id, made[2].id]
    with pytest.raises(openai.NotFoundError) as caught:
        messages.retrieve(made[1].id, thread_id=thread.id)
    assert caught.value.body["message"] == f"No message found with id '{made[1].id}'."


def test_a_message_belongs_to_one_thread(threads, thread):
    made = threads.messages.create(thread.id, role="user", content="Hi")
    other = threads.create()
    with pytest.raises(openai.NotFoundError):
        threads.messages.retrieve(made.id, thread_id=other.id)


def test_text_in_every_script_survives(threads, thread):
    text = "äöü 你好 🎉 \\ \" \n\t \u2028 </script> %s 'or 1=1"
    made = threads.messages.create(thread.id, role="user", content=text)
    assert threads.messages.retrieve(made.id, thread_id=thread.id).content[0].text.value == text
