"""Where the pictures of responses lie: in blobs, which count for their project, and go with the last item that has them."""

import base64
import json

import pytest

from harness.faults import FaultServer
from harness.server import eventually
from harness.tools import call
from test_image_generation import EDITS, PIXEL, TOOL, asked, respond

BYTES = len(base64.b64decode(PIXEL))


@pytest.fixture(scope="module")
def keeping(binary, scratch, upstream_process, recorder, database):
    """A server that purges soon, and its database."""
    directory = scratch / "keeps"
    directory.mkdir(mode=0o755)
    config = directory / "runnel.yaml"
    config.write_text(f"upstreams: [{{name: art, url: '{upstream_process.url}', models: ['*'], api_key: sk-art}}]\n"
                      "images: {upstream: art, model: draw-1, max_bytes: 100000, max_pictures: 3, timeout: 60}\n")
    url = database.new()
    server = FaultServer(binary, directory, None, recorder, config=config, database_url=url, response_timeout=8).start()
    yield server, lambda sql: database.ask(sql, url=url)
    assert server.stop() == 0


@pytest.fixture
def server(keeping, upstream):
    return keeping[0]


@pytest.fixture
def ask(keeping, server):
    """Asks the database, which has no pictures yet."""
    keeping[1]("DELETE FROM items; DELETE FROM pictures; DELETE FROM item_pictures; DELETE FROM blobs;"
               "DELETE FROM blob_pages; DELETE FROM storage_use")
    return keeping[1]


@pytest.fixture
def draws(upstream):
    def draws(count=1, text="Here.", **order):
        calls = [call("generate_image", n + 1, prompt="a cat", **order) for n in range(count)]
        upstream.script({"match": {"tool_results": True}, "answer": {"text": text}}, {"answer": {"tool_calls": calls}})
    return draws


def counts(ask):
    """Rows of pictures, of items with one, of blobs that are held, and the bytes of all projects."""
    return [int(ask(sql)[0][0]) for sql in (
        "SELECT count(*) FROM pictures", "SELECT count(*) FROM item_pictures",
        "SELECT count(*) FROM blobs WHERE holders > 0", "SELECT coalesce(sum(document_bytes), 0) FROM storage_use")]


def results(response):
    return [item.result for item in response.output if item.type == "image_generation_call"]


@pytest.mark.parametrize("background", [False, True])
def test_the_row_has_a_reference_and_clients_see_the_picture(client, http, draws, ask, background):
    draws(2)
    response = respond(client, background=background)
    eventually(lambda: client.responses.retrieve(response.id).status == "completed")
    response = client.responses.retrieve(response.id)
    assert results(response) == [PIXEL, PIXEL] and "blob" not in response.to_json()
    bodies = [json.loads(body) for (body,) in ask("SELECT body FROM items WHERE type = 'image_generation_call'")]
    assert [body["result"] for body in bodies] == [None, None] and PIXEL not in json.dumps(bodies)
    assert counts(ask) == [2, 2, 2, 2 * BYTES]
    assert int(ask("SELECT count(*) FROM blob_pages")[0][0]) == 2


def test_the_stream_and_lists_have_the_picture(client, http, draws, ask):
    draws()
    conversation = client.conversations.create()
    with client.responses.stream(model="demo", input="Draw.", tools=[TOOL], conversation=conversation.id) as stream:
        done = [event.item for event in stream if event.type == "response.output_item.done"]
        final = stream.get_final_response()
    assert done[0].result == PIXEL and results(final) == [PIXEL]
    listed = client.conversations.items.list(conversation.id).data
    (item,) = [item for item in listed if item.type == "image_generation_call"]
    assert item.result == PIXEL
    assert client.conversations.items.retrieve(item.id, conversation_id=conversation.id).result == PIXEL
    again = respond(client, input=[{"type": "image_generation_call", "id": item.id},
                                   {"role": "user", "content": "What is it?"}], tools=[])
    sent = client.responses.input_items.list(again.id).data
    assert [one.result for one in sent if one.type == "image_generation_call"] == [PIXEL]
    assert counts(ask)[:3] == [1, 2, 1]  # two items have the one picture


def test_what_is_not_stored_leaves_no_picture(client, draws, ask):
    draws()
    assert results(respond(client, store=False)) == [PIXEL]
    assert counts(ask) == [0, 0, 0, 0]


@pytest.mark.parametrize("how", ["previous", "id"])
def test_edits_begin_with_the_kept_picture(client, draws, upstream, ask, how):
    draws()
    first = respond(client)
    draws(action="edit")
    more = {"previous_response_id": first.id, "input": "A hat."} if how == "previous" else {
        "input": [{"type": "image_generation_call", "id": first.output[0].id}, {"role": "user", "content": "A hat."}]}
    respond(client, **more)
    assert asked(upstream, EDITS)[0]["image"]["bytes"] == BYTES


def test_a_picture_goes_with_the_last_response_that_has_it(client, draws, ask):
    draws()
    first = respond(client)
    second = respond(client, previous_response_id=first.id, input="And?", tools=[])
    third = respond(client, input=[{"type": "image_generation_call", "id": first.output[0].id},
                                   {"role": "user", "content": "And?"}], tools=[])
    client.responses.delete(first.id)
    client.responses.delete(second.id)
    ask("UPDATE runs SET purge_at = 1 WHERE deleted_at IS NOT NULL")
    eventually(lambda: ask(f"SELECT 1 FROM runs WHERE id IN ('{first.id}', '{second.id}')") == [], seconds=40)
    eventually(lambda: ask("SELECT 1 FROM pictures WHERE check_at IS NOT NULL") == [], seconds=40)
    assert counts(ask)[0] == 1  # the third one has it still
    client.responses.delete(third.id)
    ask("UPDATE runs SET purge_at = 1 WHERE deleted_at IS NOT NULL")
    eventually(lambda: counts(ask) == [0, 0, 0, 0], seconds=40)
    assert int(ask("SELECT count(*) FROM blobs WHERE holders = 0")[0][0]) == 1  # swept an hour later


def test_a_picture_whose_item_was_never_stored_goes_after_a_while(client, draws, ask):
    draws()
    respond(client)
    ask("UPDATE pictures SET check_at = 1")
    eventually(lambda: ask("SELECT check_at FROM pictures") == [[None]], seconds=40)
    ask("DELETE FROM items; UPDATE pictures SET check_at = 1")
    eventually(lambda: counts(ask) == [0, 0, 0, 0], seconds=40)


def test_a_copy_of_a_conversation_has_the_picture_too(client, http, draws, ask):
    draws()
    conversation = client.conversations.create()
    respond(client, conversation=conversation.id)
    copy = http.post(f"/v1/runnel/threads/{conversation.id}/fork", json={})
    assert copy.status_code == 200, copy.text
    to = copy.json()["id"].replace("thread_", "conv_")
    items = http.get(f"/v1/conversations/{to}/items").json()["data"]
    assert [item["result"] for item in items if item["type"] == "image_generation_call"] == [PIXEL]
    assert counts(ask)[:2] == [1, 2]


def test_a_row_of_before_is_shown_and_edited(client, draws, upstream, ask):
    draws()
    response = respond(client)
    body = json.loads(ask("SELECT body FROM items WHERE type = 'image_generation_call'")[0][0])
    body["result"] = PIXEL
    del body["runnel"]["picture"]
    ask(f"UPDATE items SET body = '{json.dumps(body)}' WHERE type = 'image_generation_call'; DELETE FROM pictures;"
        "DELETE FROM item_pictures; DELETE FROM blob_pages")
    assert results(client.responses.retrieve(response.id)) == [PIXEL]
    draws(action="edit")
    respond(client, previous_response_id=response.id, input="A hat.")
    assert asked(upstream, EDITS)[0]["image"]["bytes"] == BYTES


def test_a_picture_that_is_gone_is_null_and_the_model_reads_why(client, draws, upstream, ask):
    draws()
    response = respond(client)
    ask("DELETE FROM blobs; DELETE FROM blob_pages")
    assert results(client.responses.retrieve(response.id)) == [None]
    draws(action="edit")
    again = respond(client, previous_response_id=response.id, input="A hat.")
    assert again.output[0].status == "failed" and "gone" in again.output[0].to_dict()["error"]["message"]


def test_the_limit_of_the_project_counts_pictures(binary, start_server, upstream_process, tmp_path, draws, upstream):
    config = tmp_path / "runnel.yaml"
    config.write_text(f"upstreams: [{{name: art, url: '{upstream_process.url}', models: ['*'], api_key: sk-art}}]\n"
                      "images: {upstream: art, model: draw-1}\n")
    client = start_server(config=config, max_project_bytes=BYTES).sdk()
    draws()
    assert results(respond(client)) == [PIXEL]
    draws()
    item = respond(client).output[0]
    assert item.status == "failed" and "more than" in item.to_dict()["error"]["message"]


def test_clients_cannot_name_a_picture_of_their_own(client, draws, ask):
    draws()
    respond(client)
    (blob,) = ask("SELECT id FROM pictures")[0]
    made = respond(client, tools=[], input=[
        {"type": "image_generation_call", "id": "ig_x", "status": "completed", "runnel": {"picture": blob}},
        {"role": "user", "content": "Hi"}])
    sent = client.responses.input_items.list(made.id).data
    assert [one.result for one in sent if one.type == "image_generation_call"] == [None]
    assert counts(ask)[:2] == [1, 1]


def test_a_picture_that_cannot_be_kept_is_a_failed_call(client, server, draws, ask):
    draws()
    server.arm("store_picture_add:1")
    assert respond(client).output[0].status == "failed" and server.has_fired()
    server.arm()
    assert counts(ask) == [0, 0, 0, 0]


@pytest.mark.parametrize("statement", ["store_pictures_due", "store_picture_keep", "store_picture_let_go"])
def test_the_keeper_looks_again_after_a_failing_statement(client, server, draws, ask, statement):
    draws()
    respond(client)
    ask("DELETE FROM items")
    server.arm(f"{statement}:1")
    ask("UPDATE pictures SET check_at = 1")
    eventually(lambda: counts(ask) == [0, 0, 0, 0] and server.has_fired(), seconds=40)
    server.arm()


def test_the_limit_of_pictures_counts_those_before_a_crash(start_server, upstream_process, upstream, tmp_path):
    config = tmp_path / "runnel.yaml"
    config.write_text(f"upstreams: [{{name: art, url: '{upstream_process.url}', models: ['*'], api_key: sk-art}}]\n"
                      "images: {upstream: art, model: draw-1, max_pictures: 3}\n")
    server = start_server(config=config, lease_ttl=2)
    calls = [call("generate_image", n, prompt="a cat") for n in range(4)]
    upstream.script({"match": {"tool_results": 4}, "answer": {"text": "So."}},
                    {"match": {"tool_results": 2}, "times": 1, "answer": {"text": "Late.", "delay_ms": 3600000}},
                    {"match": {"tool_results": 2}, "answer": {"tool_calls": calls[2:]}},
                    {"answer": {"tool_calls": calls[:2]}})
    client = server.sdk()
    response = respond(client, background=True)
    eventually(lambda: len(upstream.chats()) == 2)
    eventually(lambda: results(client.responses.retrieve(response.id)) == [PIXEL, PIXEL])  # they are stored
    server.kill()
    server.start()
    eventually(lambda: client.responses.retrieve(response.id).status == "completed", seconds=60)
    items = client.responses.retrieve(response.id).output[:4]
    assert sorted(item.status for item in items) == ["completed"] * 3 + ["failed"]
    assert [item.result for item in items if item.status == "completed"] == [PIXEL] * 3
    (late,) = [item.to_dict()["error"]["message"] for item in items if item.status == "failed"]
    assert late == "One request may draw 3 pictures."
