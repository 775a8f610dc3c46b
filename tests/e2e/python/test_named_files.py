"""Files that requests name by their ids: pictures and documents, loaded for each request to a model. What is unknown is refused
before anything is made; what goes later leaves a sentence."""

import base64
import json
import re
import threading
import zlib

import openai
import pytest

from harness.patience import patience
from harness.pdf import file_part, pdf
from harness.raw_model import RawModel
from harness.server import eventually
from harness.websocket import WebSocket

UNKNOWN = "file-000000000000000000000000"
GONE = "No such File object: {}"


def png(size=100):
    """Begins as a PNG does. No test looks further."""
    return b"\x89PNG\r\n\x1a\n" + zlib.compress(b"picture", 0) + b"\0" * size


PICTURES = {"image/png": png(), "image/jpeg": b"\xff\xd8\xff\xe0" + b"j" * 90, "image/gif": b"GIF89a" + b"g" * 90,
            "image/webp": b"RIFF\x10\0\0\0WEBPVP8 " + b"w" * 90}


def data_url(data, kind="image/png"):
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def upload(client, data, name="a.bin", purpose="user_data"):
    return client.files.create(file=(name, data), purpose=purpose).id


def message(*parts):
    return {"role": "user", "content": list(parts)}


def picture(file, **more):
    return {"type": "input_image", "file_id": file, **more}


def document(file, **more):
    return {"type": "input_file", "file_id": file, **more}


TEXT = {"type": "input_text", "text": "What is this?"}


def ask(client, *parts, **more):
    return client.responses.create(model="m", input=[message(*parts)], **more)


def sent(upstream, at=-1):
    """The last message of the last request that the upstream has received."""
    return upstream.chats()[-1]["messages"][at]["content"]


def refused(call):
    with pytest.raises(openai.APIStatusError) as raised:
        call()
    error = raised.value
    return error.status_code, error.code, error.param, error.body["message"]


def configured(folder, *upstreams):
    path = folder / "runnel.yaml"
    path.write_text(json.dumps({"upstreams": upstreams}))
    return path


# ---- Pictures ----

@pytest.mark.parametrize("kind", sorted(PICTURES))
def test_a_picture_reaches_the_model_as_a_data_url(client, upstream, kind):
    file = upload(client, PICTURES[kind], "no-matter.txt", "vision")
    response = ask(client, TEXT, picture(file, detail="low"))
    assert response.status == "completed"
    assert sent(upstream) == [{"type": "text", "text": "What is this?"},
                              {"type": "image_url", "image_url": {"url": data_url(PICTURES[kind], kind), "detail": "low"}}]
    [item] = client.responses.input_items.list(response.id).data
    assert item.content[1].file_id == file and "base64" not in item.model_dump_json()
    assert "runnel" not in item.content[1].model_dump()


def test_a_picture_is_loaded_for_every_later_turn_until_it_is_gone(client, upstream):
    file = upload(client, png(), purpose="vision")
    first = ask(client, TEXT, picture(file))
    second = client.responses.create(model="m", input="And now?", previous_response_id=first.id)
    assert second.status == "completed"
    assert sent(upstream, 0)[1]["image_url"]["url"] == data_url(png())
    client.files.delete(file)
    third = client.responses.create(model="m", input="And now?", previous_response_id=second.id)
    assert third.status == "completed"
    assert sent(upstream, 0) == f"What is this?\n\n[file {file} is gone]"
    [item] = client.responses.input_items.list(first.id).data
    assert item.content[1].file_id == file


def test_the_newest_pictures_are_sent_when_all_are_too_large(start_server):
    model = RawModel()
    model.answers = [[{"content": "Two."}]]
    client = start_server(upstream_url=model.url).sdk()
    first, second = (upload(client, png(30 * 2**20), purpose="vision") for _ in range(2))
    assert ask(client, picture(first), picture(second)).status == "completed"
    content = model.chats[0]["messages"][-1]["content"]
    assert content[0] == {"type": "text", "text":
                          f"[file {first} was left out: the files of this request are too large]"}
    assert content[1]["image_url"]["url"] == data_url(png(30 * 2**20))
    model.close()


def test_files_of_all_requests_have_one_room_and_wait_in_turn(start_server):
    """What is held is given back when the answer begins, and nothing is held by what waits. One project leaves a third of the
    room to the next one, and has a limited number of requests in line."""
    model, asked, go_on = RawModel(), threading.Semaphore(0), threading.Semaphore(0)

    def answer(_request):
        asked.release()
        assert go_on.acquire(timeout=patience(30))
        return [{"content": "Two."}]

    model.answers = [answer] * 4
    size = len(base64.b64encode(png(2**20)))
    server = start_server(upstream_url=model.url, loaded_files=3 * size + 1000, max_waiting_files=2)
    client = server.sdk()
    file = upload(client, png(2**20), purpose="vision")
    made = [client.responses.create(model="m", input=[message(picture(file))], background=True) for _ in range(4)]

    def figure(name):
        with server.http() as http:
            return int(re.search(rf"^runnel_loaded_files_{name} (\d+)$", http.get("/metrics").text, re.M)[1])

    for waiting in (2, 0):
        asked.acquire(timeout=patience(30))
        asked.acquire(timeout=patience(30))
        eventually(lambda: figure("waiting_bytes") // size, lambda left: left == waiting)
        assert 2 * size <= figure("bytes") <= 2 * size + 100 and len(model.chats) == 4 - waiting
        if waiting:
            assert refused(lambda: ask(client.with_options(max_retries=0), picture(file))) == \
                (429, "rate_limit_exceeded", None,
                 "Too many requests with files wait already. Please retry your request.")
        go_on.release(2)
    for response in made:
        eventually(lambda: client.responses.retrieve(response.id).status, lambda status: status == "completed")
    assert figure("bytes") == 0

    # Pages are drawn within the room that they may need, and hold what they need.
    model.answers = [answer]
    part = {**file_part(pdf("One", "Two"), "a.pdf"), "detail": "high"}
    made = client.responses.create(model="m", input=[message(part)], background=True)
    assert asked.acquire(timeout=patience(30))
    pictures = sum(len(part["image_url"]["url"]) for part in model.chats[-1]["messages"][0]["content"][1:])
    eventually(lambda: figure("bytes"), lambda held: pictures - 100 <= held <= pictures)
    go_on.release()
    eventually(lambda: client.responses.retrieve(made.id).status, lambda status: status == "completed")
    model.close()


# ---- Documents ----

def test_a_document_becomes_text_once(client, upstream):
    file = upload(client, b"Begin with what breaks.\n", "notes.txt")
    first = ask(client, TEXT, document(file))
    text = "What is this?\n\n[file notes.txt]\nBegin with what breaks.\n"
    assert sent(upstream) == text
    client.files.delete(file)  # Its text was read when it came.
    client.responses.create(model="m", input="And now?", previous_response_id=first.id)
    assert sent(upstream, 0) == text
    [item] = client.responses.input_items.list(first.id).data
    assert item.content[1].file_id == file and "runnel" not in item.content[1].model_dump()


def test_an_upstream_that_reads_files_gets_the_file(start_server, upstream, tmp_path):
    client = start_server(upstream_url=None, config=configured(tmp_path, {"name": "main", "url": upstream.url, "models": ["*"],
                                                       "inputs": ["text", "image", "file"]})).sdk()
    file = upload(client, b"a,b\n1,2\n", "table.csv")
    first = ask(client, TEXT, document(file))
    part = {"type": "file", "file": {"filename": "table.csv", "file_data": data_url(b"a,b\n1,2\n", "text/csv")}}
    assert sent(upstream)[1] == part
    client.files.delete(file)
    client.responses.create(model="m", input="And now?", previous_response_id=first.id)
    assert sent(upstream, 0) == f"What is this?\n\n[file {file} is gone]"


# ---- Everywhere ----

def test_outputs_of_calls_may_name_files(client, upstream):
    file = upload(client, png(), purpose="vision")
    text = upload(client, b"Seven.\n", "answer.txt")
    client.responses.create(model="m", input=[
        {"role": "user", "content": "Draw."},
        {"type": "function_call", "call_id": "call_1", "name": "draw", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": [picture(file), document(text)]}])
    assert sent(upstream)[-1]["image_url"]["url"] == data_url(png())
    assert "Seven." in str(upstream.chats()[-1]["messages"])


def test_items_of_conversations_name_files(client, upstream):
    file = upload(client, png(), purpose="vision")
    conversation = client.conversations.create(items=[{"type": "message", **message(TEXT, picture(file))}])
    [item] = client.conversations.items.list(conversation.id).data
    assert item.content[1].file_id == file
    client.responses.create(model="m", input="And now?", conversation=conversation.id)
    assert sent(upstream, 0)[1]["image_url"]["url"] == data_url(png())


@pytest.fixture
def stranger(server, stranger_key):
    """Of another project."""
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key=stranger_key, max_retries=0)


@pytest.fixture(params=["unknown", "no id", "foreign", "deleted"])
def absent(request, client, stranger):
    """The id of a file that this client does not have."""
    if request.param == "unknown":
        return UNKNOWN
    if request.param == "no id":
        return "a/../b"
    file = upload(stranger if request.param == "foreign" else client, png(), purpose="vision")
    if request.param == "deleted":
        client.files.delete(file)
    return file


def test_absent_files_are_refused_before_anything_is_made(client, upstream, absent):
    before = len(upstream.chats())
    gone = (404, None, GONE.format(absent))
    for part in (picture(absent), document(absent)):
        for call, param in [
            (lambda: ask(client, TEXT, part), "input[0].content[1].file_id"),
            (lambda: ask(client, TEXT, part, background=True), "input[0].content[1].file_id"),
            (lambda: client.responses.create(model="m", input=[
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": [part]}]), "input[1].output[0].file_id"),
            (lambda: client.conversations.create(items=[{"type": "message", **message(TEXT, part)}]),
             "items[0].content[1].file_id"),
        ]:
            status, code, found, text = refused(call)
            assert (status, code, text, found) == (*gone, param)
    conversation = client.conversations.create()
    assert refused(lambda: client.conversations.items.create(
        conversation.id, items=[{"type": "message", **message(picture(absent))}]))[:3] == \
        (404, None, "items[0].content[0].file_id")
    assert client.conversations.items.list(conversation.id).data == []
    assert len(upstream.chats()) == before


def test_a_file_that_has_expired_is_gone(start_server, database, upstream):
    server = start_server()
    client = server.sdk()
    file = upload(client, png())
    first = ask(client, picture(file))
    database.ask(f"UPDATE files SET expires_at = 1 WHERE id = '{file}'", url=server.settings["database_url"])
    assert refused(lambda: ask(client, picture(file))) == (404, None, "input[0].content[0].file_id", GONE.format(file))
    client.responses.create(model="m", input="And now?", previous_response_id=first.id)
    assert sent(upstream, 0) == f"[file {file} is gone]"


def test_a_request_may_name_more_pictures_than_documents(client, upstream):
    file, text = upload(client, png(), purpose="vision"), upload(client, b"Seven.\n", "a.txt")
    assert ask(client, *[picture(file)] * 100).status == "completed"
    assert len(sent(upstream)) == 100
    assert refused(lambda: ask(client, *[picture(file)] * 501)) == \
        (400, "invalid_value", "input", "Too many pictures: a request may have 500.")
    assert refused(lambda: ask(client, *[document(text)] * 33))[:3] == (400, "invalid_value", "input")


def test_what_is_no_picture_is_refused(client):
    for data in (b"", b"%PDF-1.7", b"\x89PN", b"<svg xmlns='http://www.w3.org/2000/svg'/>"):
        assert refused(lambda: ask(client, picture(upload(client, data, "a.png")))) == \
            (400, "invalid_image_format", "input[0].content[0].file_id",
             "The file is no picture of a supported type: PNG, JPEG, WebP or GIF.")
    assert refused(lambda: ask(client, picture(upload(client, png(50 * 2**20)))))[:3] == \
        (400, "invalid_image_format", "input[0].content[0].file_id")


def test_what_cannot_be_read_is_refused(client):
    status, code, param, text = refused(lambda: ask(client, document(upload(client, png(), "a.png"))))
    assert (status, code, param) == (400, "unsupported_file", "input[0].content[0].file_id")
    assert text.startswith("The file type you uploaded is not supported.")
    status, code, param, text = refused(lambda: ask(client, document(upload(client, b"%PDF-1.7\nbroken", "a.pdf"))))
    assert (status, code, param) == (400, "invalid_file", "input[0].content[0].file_id")


@pytest.mark.parametrize("sources", [{"file_id": UNKNOWN, "file_data": "YQ=="},
                                     {"file_data": "YQ==", "file_url": "https://example.com/a"},
                                     {"file_id": UNKNOWN, "file_url": "https://example.com/a"}])
def test_a_file_has_one_source(client, sources):
    assert refused(lambda: ask(client, TEXT, {"type": "input_file", **sources})) == \
        (400, "invalid_value", "input[0].content[1]", "Provide only one of 'file_id', 'file_data' or 'file_url'.")


def test_a_model_that_reads_text_only_gets_no_pictures(start_server, upstream, tmp_path):
    client = start_server(upstream_url=None, config=configured(
        tmp_path, {"name": "text", "url": upstream.url, "models": ["blind"], "inputs": ["text"]},
        {"name": "main", "url": upstream.url, "models": ["*"]})).sdk()
    file = upload(client, png(), purpose="vision")
    for part in (picture(file), {"type": "input_image", "image_url": data_url(png())}):
        assert refused(lambda: client.responses.create(model="blind", input=[message(TEXT, part)])) == \
            (400, "unsupported_value", "input[0].content[1]", "The model 'blind' does not read pictures.")
        first = client.responses.create(model="seeing", input=[message(TEXT, part)])
        client.responses.create(model="blind", input="And now?", previous_response_id=first.id)
        assert sent(upstream, 0) == "What is this?\n\n[a picture was left out: this model reads text only]"


def test_a_websocket_names_files_too(server, client, upstream):
    file = upload(client, png(), purpose="vision")
    ws = WebSocket(server)
    ws.create(input=[message(TEXT, picture(file))])
    assert ws.response()[-1]["type"] == "response.completed"
    assert sent(upstream)[1]["image_url"]["url"] == data_url(png())
    ws.create(input=[message(TEXT, picture(UNKNOWN))])
    [error] = ws.response()
    assert error["error"]["message"] == GONE.format(UNKNOWN)
    assert error["error"]["param"] == "input[0].content[1].file_id"
    ws.socket.close()


# ---- Assistants ----

def run_of(client, thread):
    assistant = client.beta.assistants.create(model="m")
    return client.beta.threads.runs.create_and_poll(thread_id=thread, assistant_id=assistant.id, poll_interval_ms=20)


def image_file(file):
    return {"type": "image_file", "image_file": {"file_id": file, "detail": "high"}}


def test_a_picture_of_a_message_reaches_the_model_until_it_is_gone(client, upstream):
    file = upload(client, png(), purpose="vision")
    thread = client.beta.threads.create(messages=[{"role": "user", "content": [
        {"type": "text", "text": "What is this?"}, image_file(file)]}]).id
    assert run_of(client, thread).status == "completed"
    assert sent(upstream) == [{"type": "text", "text": "What is this?"},
                              {"type": "image_url", "image_url": {"url": data_url(png()), "detail": "high"}}]
    [_, first] = client.beta.threads.messages.list(thread).data
    assert first.content[1].image_file.file_id == file
    client.files.delete(file)
    client.beta.threads.messages.create(thread, role="user", content="And now?")
    assert run_of(client, thread).status == "completed"
    assert sent(upstream, 0) == f"What is this?\n\n[file {file} is gone]"


def test_absent_files_of_assistants_are_refused_before_anything_is_made(client, http, absent):
    if not absent.startswith("file-"):
        pytest.skip("refused by its form")
    threads = client.beta.threads
    thread, assistant = threads.create().id, client.beta.assistants.create(model="m").id
    picture = {"role": "user", "content": [{"type": "text", "text": "a"}, image_file(absent)]}
    attached = {"role": "user", "content": "a", "attachments": [{"file_id": absent, "tools": [{"type": "file_search"}]}]}
    resources = {"code_interpreter": {"file_ids": [absent]}}
    at = "tool_resources.code_interpreter.file_ids[0]"
    newest = http.get("/v1/assistants?limit=1").json()["first_id"]
    for call, param in [
        (lambda: threads.messages.create(thread, **picture), "content[1].image_file.file_id"),
        (lambda: threads.messages.create(thread, **attached), "attachments[0].file_id"),
        (lambda: threads.create(messages=[picture]), "messages[0].content[1].image_file.file_id"),
        (lambda: threads.create(messages=[attached]), "messages[0].attachments[0].file_id"),
        (lambda: threads.create(tool_resources=resources), at),
        (lambda: threads.update(thread, tool_resources=resources), at),
        (lambda: client.beta.assistants.create(model="m", tool_resources=resources), at),
        (lambda: client.beta.assistants.update(assistant, tool_resources=resources), at),
        (lambda: threads.runs.create(thread, assistant_id=assistant, additional_messages=[picture]),
         "additional_messages[0].content[1].image_file.file_id"),
        (lambda: threads.create_and_run(assistant_id=assistant, thread={"messages": [attached]}),
         "thread.messages[0].attachments[0].file_id"),
        (lambda: threads.create_and_run(assistant_id=assistant, thread={"tool_resources": resources}), f"thread.{at}"),
        (lambda: threads.create_and_run(assistant_id=assistant, tool_resources=resources), at),
    ]:
        assert refused(call) == (404, None, param, GONE.format(absent))
    assert threads.messages.list(thread).data == [] and threads.runs.list(thread).data == []
    assert http.get("/v1/assistants?limit=1").json()["first_id"] == newest


def test_an_image_file_is_a_picture(client):
    file = upload(client, b"%PDF-1.7", "a.png")
    assert refused(lambda: client.beta.threads.create(messages=[{"role": "user", "content": [image_file(file)]}])) == \
        (400, "invalid_image_format", "messages[0].content[0].image_file.file_id",
         "The file is no picture of a supported type: PNG, JPEG, WebP or GIF.")


def test_a_request_names_a_limited_number_of_files(client):
    threads, file = client.beta.threads, upload(client, png())
    attached = {"role": "user", "content": "a", "attachments": [{"file_id": file, "tools": [{"type": "file_search"}]}] * 401}
    pictures = {"role": "user", "content": [image_file(file)] * 101}
    many_files = (400, "invalid_value", "messages", "Too many files: a request may name 2000.")
    assert refused(lambda: threads.create(messages=[attached] * 5)) == many_files
    assert refused(lambda: threads.create(messages=[pictures] * 5)) == \
        (400, "invalid_value", "messages", "Too many pictures: a request may have 500.")
    resources = {f"tool_{n}": {"file_ids": [file] * 20} for n in range(101)}
    assert refused(lambda: threads.create(tool_resources=resources))[2:] == ("tool_resources", many_files[3])
    assert threads.create(messages=[attached] * 4).id
