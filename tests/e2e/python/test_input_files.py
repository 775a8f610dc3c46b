"""Files in the input: read here for models that read text, or left to an upstream that reads files."""

import base64
import io
import json
import pathlib
import signal
import os
import zipfile

import openai
import pytest

from harness.pdf import data_url, file_part, pdf
from harness.server import eventually
from harness.websocket import WebSocket

MANUAL = pdf("How to begin", "How to go on", "How to end")
QUESTION = {"type": "input_text", "text": "What is it about?"}
READ = ("[file manual.pdf, page 1 of 3]\nHow to begin\n\n\n\n"
        "[file manual.pdf, page 2 of 3]\nHow to go on\n\n\n\n"
        "[file manual.pdf, page 3 of 3]\nHow to end")


def archive(entries):
    """A zip file of names and texts."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in entries.items():
            made.writestr(name, text)
    return file.getvalue()


DOCX = archive({
    "_rels/.rels": "<R><Relationship Id='a' Type='x/officeDocument' Target='d.xml'/></R>",
    "d.xml": "<w:document xmlns:w='w'><w:p><w:pPr><w:outlineLvl w:val='0'/></w:pPr><w:r><w:t>Tea</w:t></w:r></w:p>"
             "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>hot</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:document>"})


def message(*parts):
    return {"role": "user", "content": list(parts)}


def sent(upstream):
    """What the model was sent last."""
    return upstream.chats()[-1]["messages"][-1]["content"]


def test_a_pdf_is_sent_as_its_text(client, upstream):
    made = client.responses.create(model="m", input=[message(file_part(MANUAL, "manual.pdf"), QUESTION)])
    assert made.status == "completed"
    assert sent(upstream) == READ + "\n\nWhat is it about?"


def test_a_stream_reads_files_too(client, upstream):
    with client.responses.stream(model="m", input=[message(file_part(MANUAL, "manual.pdf"))]) as stream:
        assert stream.get_final_response().output_text == "Hello there, my friend."
    assert sent(upstream) == READ


def test_a_background_response_reads_files_too(client, upstream):
    made = client.responses.create(model="m", background=True,
                                   input=[message(file_part(MANUAL, "manual.pdf"))])
    eventually(lambda: client.responses.retrieve(made.id).status == "completed")
    assert sent(upstream) == READ


def test_a_websocket_reads_files_too(server, upstream):
    with WebSocket(server) as socket:
        assert socket.ask(model="m", input=[message(file_part(MANUAL, "manual.pdf"))])
    assert sent(upstream) == READ


@pytest.mark.parametrize("name, mime, data, text", [
    ("notes.md", "text/markdown", b"# Notes\r\nfirst", "[file notes.md]\n# Notes\nfirst"),
    ("old.txt", "text/plain", "caf\xe9".encode("latin-1"), "[file old.txt]\ncaf\xe9"),
    ("table.csv", "text/csv", b"a,b\n1,2\n", "[file table.csv]\n| a | b |\n| --- | --- |\n| 1 | 2 |"),
    ("a.docx", "application/octet-stream", DOCX, "[file a.docx]\n# Tea\n\n| hot |\n| --- |"),
    ("page.html", "text/html", b"<!doctype html><h1>Head</h1><script>x()</script><ul><li>one",
     "[file page.html]\n# Head\n\n- one"),
])
def test_texts_are_read(client, upstream, name, mime, data, text):
    client.responses.create(model="m", input=[message(file_part(data, name, mime))])
    assert sent(upstream) == text


def test_bare_base64_is_read(client, upstream):
    part = {"type": "input_file", "filename": "a.txt", "file_data": base64.b64encode(b"plain").decode()}
    client.responses.create(model="m", input=[message(part)])
    assert sent(upstream) == "[file a.txt]\nplain"


def test_a_file_stays_as_it_was_sent(client, upstream):
    part = file_part(MANUAL, "manual.pdf")
    made = client.responses.create(model="m", input=[message(part)])
    [item] = client.responses.input_items.list(made.id)
    assert item.content[0].to_dict() == part


NOTES = {"text": "forged", "type": "image/png", "bytes": 1}


@pytest.mark.parametrize("part, code", [
    ({"type": "input_file", "file_id": "file-000000000000000000000000"}, None),
    ({"type": "input_image", "file_id": "file-000000000000000000000000", "detail": "auto"}, None),
    (file_part(b"%PDF-1.4 and no more", "a.pdf"), "invalid_file")])
def test_a_clients_own_note_passes_no_check(server, client, part, code):
    """A note of the server says that the file was looked at."""
    forged = [message({**part, "runnel": NOTES})]
    for ask in (lambda: client.responses.create(model="m", input=forged),
                lambda: client.conversations.create(items=[{"type": "message", **forged[0]}]),
                lambda: client.responses.input_tokens.count(model="m", input=forged)):
        with pytest.raises(openai.APIStatusError) as refused:
            ask()
        assert refused.value.code == code or refused.value.status_code == 404
    with WebSocket(server) as socket:
        socket.create(model="m", input=forged)
        assert socket.next()["type"] == "error"


def test_a_clients_own_note_is_not_sent(client, upstream):
    client.responses.create(model="m", input=[message({**file_part(MANUAL, "manual.pdf"), "runnel": NOTES},
                                                      {**QUESTION, "runnel": NOTES})])
    assert sent(upstream) == READ + "\n\nWhat is it about?"


def test_a_file_is_read_once_in_a_chain(client, upstream):
    first = client.responses.create(model="m", input=[message(file_part(MANUAL, "manual.pdf"))])
    client.responses.create(model="m", input="And then?", previous_response_id=first.id)
    assert [m["content"] for m in upstream.chats()[-1]["messages"]] == [
        READ, "Hello there, my friend.", "And then?"]


def test_a_conversation_keeps_the_text_of_its_files(client, upstream):
    part = file_part(MANUAL, "manual.pdf")
    made = client.conversations.create(items=[{"type": "message", **message(part)}])
    added = client.conversations.items.create(
        made.id, items=[{"type": "message", **message(file_part(b"more", "b.txt", "text/plain"))}])
    assert added.data[0].content[0].to_dict() == file_part(b"more", "b.txt", "text/plain")
    client.responses.create(model="m", conversation=made.id, input="And?")
    assert [m["content"] for m in upstream.chats()[-1]["messages"]] == [
        READ, "[file b.txt]\nmore", "And?"]


def test_a_calls_output_may_have_files(client, upstream):
    call = {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "call_1"}
    output = {"type": "function_call_output", "call_id": "call_1",
              "output": [file_part(MANUAL, "manual.pdf")]}
    made = client.responses.create(model="m", input=[message(QUESTION), call, output])
    assert READ in json.dumps(upstream.chats()[-1]["messages"]).encode().decode("unicode_escape")
    listed = {item.type: item for item in client.responses.input_items.list(made.id)}
    assert listed["function_call_output"].output[0].to_dict() == output["output"][0]


def test_tokens_of_a_file_are_counted(client):
    def count(text):
        part = file_part(text, "a.txt", "text/plain")
        return client.responses.input_tokens.count(model="m", input=[message(part)]).input_tokens
    assert count(b"word " * 1000) > count(b"word") + 900


def test_a_long_text_is_cut_and_says_so(client, upstream):
    client.responses.create(model="m", input=[message(
        file_part(b"0123456789" * 30000, "long.txt", "text/plain"))])
    text = sent(upstream)
    assert text.endswith("\n[The rest of long.txt was left out: it has 300000 bytes of text.]")
    assert 240000 <= len(text) < 240200


REFUSED = {
    "no document": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "unsupported_file",
                    "The file type you uploaded is not supported. It is a PNG picture."),
    "archive": (archive({"a.txt": "text"}), "unsupported_file",
                "The file type you uploaded is not supported. It is a ZIP archive that is no document."),
    "incomplete": (archive({"mimetype": "application/vnd.oasis.opendocument.text"}), "invalid_file",
                   "The file is damaged: a part that it needs is missing."),
    "bomb": (archive({"mimetype": "application/vnd.oasis.opendocument.text",
                      "content.xml": "<a>" + "<b/>" * (8 << 20) + "</a>"}), "invalid_file",
             "The file could not be parsed because it is too large: it has more than 10,000 parts, or too much "
             "when it is unpacked."),
    "damaged": (b"%PDF-1.7\nnothing", "invalid_file", "The file is damaged."),
    "encrypted": (pdf("x", trailer="/ID[<00><00>]/Encrypt<</Filter/Standard/V 1/R 2/P -4/O(" + "o" * 32
                      + ")/U(" + "u" * 32 + ")>>"), "invalid_file", "The file is encrypted."),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused(client, upstream, name):
    data, code, sentence = REFUSED[name]
    upstream.forget()
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model="m", input=[message(QUESTION, file_part(data, "a.pdf"))])
    assert caught.value.body == {"message": sentence, "type": "invalid_request_error",
                                 "param": "input[0].content[1].file_data", "code": code}
    assert upstream.requests() == []


# ---- Pages as pictures ----

def page_pictures(parts):
    """All are pictures of pages as models get them."""
    return [part["type"] for part in parts] == ["image_url"] * len(parts) and \
        all(part["image_url"]["detail"] == "high" and
            part["image_url"]["url"].startswith("data:image/png;base64,iVBORw0KGgo") for part in parts)


def by_id(client, data, **more):
    return {"type": "input_file", "file_id": client.files.create(file=("manual.pdf", data), purpose="user_data").id, **more}


@pytest.mark.parametrize("source", ["data", "id"])
def test_a_model_that_sees_gets_the_pages_of_a_pdf_too(client, upstream, source):
    part = by_id(client, MANUAL) if source == "id" else file_part(MANUAL, "manual.pdf")
    for detail in ("low", "auto"):
        client.responses.create(model="m", input=[message({**part, "detail": detail}, QUESTION)])
        assert sent(upstream) == READ + "\n\nWhat is it about?"
    part["detail"] = "high"
    made = client.responses.create(model="m", input=[message(part, QUESTION)])
    text, *pages, question = sent(upstream)
    assert text == {"type": "text", "text": READ} and question["text"] == "What is it about?"
    assert len(pages) == 3 and page_pictures(pages)
    assert len({page["image_url"]["url"] for page in pages}) == 3
    [item] = client.responses.input_items.list(made.id)
    assert item.content[0].to_dict() == part
    client.responses.create(model="m", input="And then?", previous_response_id=made.id)
    assert upstream.chats()[-1]["messages"][0]["content"] == [text, *pages, question]
    counted = client.responses.input_tokens.count(model="m", input=[message(part, QUESTION)]).input_tokens
    plain = client.responses.input_tokens.count(model="m", input=[message({**part, "detail": "low"}, QUESTION)]).input_tokens
    assert counted > plain + 3 * 100


@pytest.mark.parametrize("source", ["data", "id"])
def test_a_scan_is_shown_by_its_pages(client, upstream, source):
    part = by_id(client, pdf("", "")) if source == "id" else file_part(pdf("", ""), "manual.pdf")
    client.responses.create(model="m", input=[message(part)])
    text, *pages = sent(upstream)
    assert text["text"] == "[file manual.pdf has no text: its pages follow as pictures]"
    assert len(pages) == 2 and page_pictures(pages)


def test_only_the_first_pages_are_drawn(client, upstream):
    part = file_part(pdf(*[f"Page {n}" for n in range(1, 23)]), "manual.pdf")
    client.responses.create(model="m", input=[message({**part, "detail": "high"})])
    text, *pages = sent(upstream)
    assert text["text"].endswith("page 22 of 22]\nPage 22") and len(pages) == 20 and page_pictures(pages)


@pytest.mark.parametrize("config", [
    'upstreams: [{name: blind, url: "%s", inputs: [text]}]',
    'upstreams: [{name: main, url: "%s"}]\nhooks: {before_send: [{pattern: "begin", replacement: "[masked]"}]}',
], ids=["text only", "masks"])
def test_a_page_is_no_picture_for_a_model_that_reads_text_or_behind_masks(start_server, upstream, tmp_path, config):
    path = tmp_path / "runnel.yaml"
    path.write_text(config % upstream.url)
    client = start_server(upstream_url=None, config=path).sdk()
    client.responses.create(model="m", input=[message({**file_part(MANUAL, "manual.pdf"), "detail": "high"})])
    assert sent(upstream) == (READ.replace("begin", "[masked]") if "hooks" in config else READ)
    with pytest.raises(openai.BadRequestError, match="No text was found; it looks scanned.") as caught:
        client.responses.create(model="m", input=[message(file_part(pdf(""), "a.pdf"))])
    assert caught.value.code == "invalid_file"


def test_a_stored_file_is_read_and_drawn_once(start_server, database, upstream):
    server = start_server()
    client = server.sdk()
    part = by_id(client, MANUAL)
    client.responses.create(model="m", input=[message(part)])
    assert sent(upstream) == READ
    database.ask("UPDATE file_texts SET text = replace(text, 'begin', 'start')", url=server.settings["database_url"])
    client.responses.create(model="m", input=[message(part)])
    assert sent(upstream) == READ.replace("begin", "start")

    def ask(question):
        return database.ask(question, url=server.settings["database_url"])

    parts = [by_id(client, pdf(text), detail="high") for text in ("One", "The other")]
    drawn = []
    for pages in parts:
        client.responses.create(model="m", input=[message(pages)])
        drawn.append(sent(upstream)[1:])
    assert drawn[0] != drawn[1]
    # They are kept: the model gets the pictures that the other file's row names.
    ask("UPDATE file_pictures p SET pictures_id = (SELECT pictures_id FROM file_pictures WHERE file_id <> p.file_id)")
    client.responses.create(model="m", input=[message(parts[0])])
    assert sent(upstream)[1:] == drawn[1]
    for kept in (part, *parts):
        client.files.delete(kept["file_id"])
    assert ask("SELECT (SELECT count(*) FROM file_pictures) || ' ' || (SELECT sum(document_bytes) FROM storage_use)") == [["0 0"]]


def test_too_many_files_are_refused(client):
    part = file_part(b"x", "a.txt", "text/plain")
    with pytest.raises(openai.BadRequestError, match="Too many files: a request may have 32."):
        client.responses.create(model="m", input=[message(*[part] * 33)])


def test_other_complaints_are_not_lost(client):
    part = file_part(MANUAL, "manual.pdf")
    with pytest.raises(openai.BadRequestError, match="temperature"):
        client.responses.create(model="m", temperature=7, input=[message(part)])


def test_an_upstream_that_reads_files_gets_them(start_server, upstream, tmp_path):
    config = tmp_path / "runnel.yaml"
    config.write_text(json.dumps({"upstreams": [
        {"name": "main", "url": upstream.url, "inputs": ["text", "image", "file"]}]}))
    client = start_server(upstream_url=None, config=config).sdk()
    part = file_part(MANUAL, "manual.pdf")
    client.responses.create(model="m", input=[message(part)])
    assert sent(upstream) == [{"type": "file", "file": {"filename": "manual.pdf",
                                                       "file_data": data_url(MANUAL)}}]


def test_an_unknown_input_of_an_upstream_is_an_error(binary, tmp_path):
    import subprocess
    config = tmp_path / "runnel.yaml"
    config.write_text("upstreams: [{name: a, url: 'http://127.0.0.1:1/v1', inputs: [text, sound]}]")
    result = subprocess.run([binary, "serve", "--config", config, "--data_dir", tmp_path / "data"],
                            capture_output=True, text=True, timeout=60)
    assert result.returncode == 2
    assert "upstreams[0].inputs[1]: expected text, image or file" in result.stderr


def children(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_files_are_read_after_the_spawner_was_killed(start_server, upstream):
    server = start_server()
    client = server.sdk()
    ask = lambda: client.responses.create(model="m", input=[message(file_part(MANUAL, "manual.pdf"))])
    assert ask().status == "completed"
    [zygote] = [pid for pid in children(server.process.pid) if children(pid)]
    [spawner] = children(zygote)
    os.kill(spawner, signal.SIGKILL)
    assert ask().status == "completed"
    assert sent(upstream) == READ


def test_beyond_the_files_that_may_wait_a_request_gets_429(start_fault_server, upstream):
    server = start_fault_server()
    client = server.sdk()
    ask = lambda: client.responses.create(model="m", input=[message(file_part(MANUAL, "manual.pdf"))])
    server.arm("input_files.waiting:1")
    with pytest.raises(openai.RateLimitError) as caught:
        ask()
    assert caught.value.body["code"] == "rate_limit_exceeded"
    assert ask().status == "completed"


def test_many_files_at_once(client, upstream):
    from concurrent.futures import ThreadPoolExecutor

    def ask(number):
        part = file_part(pdf(f"Page of {number}"), f"{number}.pdf")
        return client.responses.create(model="m", input=[message(part)]).status
    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(ask, range(32))) == {"completed"}
    assert {sent_to["messages"][-1]["content"] for sent_to in upstream.chats()[-32:]} == {
        f"[file {n}.pdf, page 1 of 1]\nPage of {n}" for n in range(32)}
