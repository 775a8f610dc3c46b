"""Scanned pages and pictures as text, read by a model of the operator: the section `ocr`."""

import base64
import subprocess
import time

import openai
import pytest

from harness.patience import patience
from harness.pdf import Scan, file_part, pdf, png
from harness.server import eventually

MIXED = pdf("The first page is text", Scan("The battery warranty lasts two years"), "The third page is text")
SCAN = pdf(Scan("Return the device"))
BOOK = pdf(*[Scan(f"Page {n}") for n in range(12)])
READING = {"system": "Transcribe the text"}
AWAY = {"code": "server_error", "message": "The model that reads scans could not be reached."}


def settings(tmp_path, upstream, more="", dialect="chat"):
    config = tmp_path / f"{dialect}.yaml"
    config.write_text(f'upstreams: [{{name: eyes, url: "{upstream.url}", models: ["*"], dialect: {dialect}}}]\n'
                      f"ocr: {{upstream: eyes, model: demo{more}}}\n")
    return {"upstream_url": None, "config": config}


@pytest.fixture
def server(start_server, tmp_path, upstream):
    return start_server(**settings(tmp_path, upstream))


@pytest.fixture
def client(server):
    return server.sdk()


def answers(upstream, *texts, **more):
    upstream.script(*({"match": READING, "times": 1, "answer": {"text": text, **more}} for text in texts),
                    {"answer": {"text": "Hello."}})


def asked(upstream):
    """What the model that reads was sent, without its instructions."""
    return [body["messages"][1]["content"] for body in upstream.chats() if "Transcribe" in body["messages"][0]["content"]]


def attach(client, name, data):
    store = client.vector_stores.create().id
    file = client.files.create(file=(name, data), purpose="assistants").id
    client.vector_stores.files.create(vector_store_id=store, file_id=file)
    return store, file


def ended(client, store, file):
    return eventually(lambda: client.vector_stores.files.retrieve(file, vector_store_id=store),
                      lambda found: found.status != "in_progress", 60)


def pages(client, store, file):
    return [page.text.strip() for page in client.vector_stores.files.content(file, vector_store_id=store)]


def test_a_page_that_is_a_picture_is_read_by_the_model(client, upstream):
    answers(upstream, "```markdown\n# Warranty\n\nThe battery warranty lasts two years\n```")
    store, file = attach(client, "mixed.pdf", MIXED)
    assert ended(client, store, file).status == "completed"
    assert pages(client, store, file) == ["The first page is text", "# Warranty\n\nThe battery warranty lasts two years",
                                          "The third page is text"]
    [[part]] = asked(upstream)
    kind, data = part["image_url"]["url"].split(",")
    assert (part["type"], kind) == ("image_url", "data:image/png;base64")
    assert base64.b64decode(data).startswith(b"\x89PNG")
    assert [hit.file_id for hit in client.vector_stores.search(store, query="battery warranty")] == [file]


def test_a_file_that_is_a_picture_is_read_by_a_model_of_the_other_dialect(start_server, upstream, tmp_path):
    client = start_server(**settings(tmp_path, upstream, dialect="responses")).sdk()
    photo = png("A photo of a giraffe")
    answers(upstream, "A photo of a giraffe")
    store, file = attach(client, "photo.png", photo)
    assert ended(client, store, file).status == "completed"
    assert pages(client, store, file) == ["A photo of a giraffe"]
    [body] = [seen["body"] for seen in upstream.requests() if seen["path"] == "/v1/responses"]
    [part] = body["input"][0]["content"]
    assert part == {"type": "input_image", "detail": "high",
                    "image_url": "data:image/png;base64," + base64.b64encode(photo).decode()}
    assert body["store"] is False and body["instructions"].startswith("Transcribe")


def test_a_model_that_answers_gets_the_text_of_a_scan(client, upstream):
    answers(upstream, "Return the device")
    file = client.files.create(file=("scan.pdf", SCAN), purpose="user_data").id
    for _ in range(2):  # the second request finds the text of the first
        client.responses.create(model="m", input=[{"role": "user", "content": [{"type": "input_file", "file_id": file}]}])
        content = upstream.chats()[-1]["messages"][-1]["content"]
        text = content if isinstance(content, str) else content[0]["text"]
        assert text == "[file scan.pdf, page 1 of 1]\nReturn the device"
    assert len(asked(upstream)) == 1


def test_the_server_says_that_scans_are_read(server):
    readers = {one["type"]: one for one in server.http().get("/v1/runnel/retrieval").json()["readers"]}
    assert readers["scan"] == {"type": "scan", "available": True, "package": None}


@pytest.mark.parametrize("data, answer, error", [
    (SCAN, {"text": "[no text]"}, "No text was found; it looks scanned."),
    (SCAN, {"fault": {"kind": "status", "status": 400}}, "No text was found; it looks scanned."),
    (png("x"), {"fault": {"kind": "status", "status": 422}}, "The picture cannot be read: it is damaged, or too large."),
])
def test_a_page_that_the_model_does_not_read_has_no_text(client, upstream, data, answer, error):
    upstream.script({"match": READING, "answer": answer})
    store, file = attach(client, "scan.pdf" if data == SCAN else "x.png", data)
    found = ended(client, store, file)
    assert (found.status, found.last_error.code, found.last_error.message) == ("failed", "invalid_file", error)
    assert len(asked(upstream)) == 1


FAULTS = {
    "error": {"fault": {"kind": "status", "status": 500}},
    "busy": {"fault": {"kind": "status", "status": 429}},
    "page": {"fault": {"kind": "html", "status": 200}},
    "garbage": {"fault": {"kind": "status", "status": 200, "body": {"choices": "none"}}},
    "cut": {"fault": {"kind": "cut"}},
    "silence": {"fault": {"kind": "stall"}},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_page_is_read_again_after_a_fault(start_server, upstream, tmp_path, fault):
    server = start_server(**settings(tmp_path, upstream, ", timeout: 1"))
    client = server.sdk()
    upstream.script({"match": READING, "times": 1, "answer": FAULTS[fault]}, {"match": READING, "answer": {"text": "A word"}})
    store, file = attach(client, "scan.pdf", SCAN)
    assert ended(client, store, file).status == "completed"
    assert pages(client, store, file) == ["A word"] and len(asked(upstream)) == 2
    assert "is tried again later" not in server.process.errors()


def test_a_model_that_is_away_is_waited_for(client, server, upstream):
    upstream.script({"match": READING, "times": 2, "answer": FAULTS["error"]}, {"match": READING, "answer": {"text": "A word"}})
    store, file = attach(client, "scan.pdf", SCAN)
    assert ended(client, store, file).status == "completed" and len(asked(upstream)) == 3
    assert "is tried again later" in server.process.errors()


@pytest.mark.parametrize("fault", ["error", "garbage", "silence"])
def test_a_model_that_stays_away_fails_the_file_and_says_so(start_server, upstream, tmp_path, fault):
    client = start_server(**settings(tmp_path, upstream, ", timeout: 1"), ingest_deadline=2).sdk()
    upstream.script({"match": READING, "answer": FAULTS[fault]})
    store, file = attach(client, "scan.pdf", SCAN)
    found = ended(client, store, file)
    assert found.status == "failed" and found.last_error.to_dict() == AWAY
    counts = client.vector_stores.retrieve(store).file_counts
    assert (counts.failed, counts.in_progress) == (1, 0)
    # Attached again when the model is back, it is read.
    answers(upstream, "A word", "A word", "A word")
    client.vector_stores.files.create(vector_store_id=store, file_id=file)
    eventually(lambda: client.vector_stores.files.retrieve(file, vector_store_id=store),
               lambda found: found.status != "failed")
    assert ended(client, store, file).status in ("completed", "failed")


def test_a_request_fails_with_its_scan_and_the_model_rests(client, upstream):
    upstream.script({"match": READING, "answer": FAULTS["error"]}, {"answer": {"text": "Hello."}})
    for _ in range(3):
        with pytest.raises(openai.InternalServerError) as caught:
            client.responses.create(model="m", input=[{"role": "user", "content": [file_part(SCAN, "scan.pdf")]}])
        assert caught.value.status_code == 502
        assert caught.value.body == {"message": AWAY["message"], "type": "server_error", "param": None, "code": None}
    assert len(asked(upstream)) == 2 and len(upstream.chats()) == 2


@pytest.mark.parametrize("how", ["delete", "cancel"])
def test_a_scan_that_is_no_longer_wanted_is_not_read_on(start_server, tmp_path, upstream, how):
    client = start_server(**settings(tmp_path, upstream), ingest_workers=1).sdk()
    answers(upstream, *[f"Page {n}" for n in range(12)], delay_ms=500)
    store = client.vector_stores.create().id
    file = client.files.create(file=("book.pdf", BOOK), purpose="assistants").id
    batch = client.vector_stores.file_batches.create(store, file_ids=[file]).id
    eventually(lambda: asked(upstream))
    if how == "delete":
        client.vector_stores.files.delete(file, vector_store_id=store)
    else:
        client.vector_stores.file_batches.cancel(batch, vector_store_id=store)
    # The only worker is free at once, for a file that came later.
    other = attach(client, "a.txt", b"Text.")
    assert ended(client, *other).status == "completed"
    assert len(asked(upstream)) < 8
    counts = client.vector_stores.retrieve(store).file_counts
    assert (counts.in_progress, counts.total) == (0, how == "cancel")


def test_a_server_that_ends_gives_a_scan_back_at_once(server, upstream):
    client = server.sdk()
    upstream.script({"match": READING, "answer": FAULTS["silence"]})
    store, file = attach(client, "scan.pdf", SCAN)
    eventually(lambda: asked(upstream))
    began = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - began < patience(10)
    answers(upstream, "A word", "A word")
    server.start()
    assert ended(server.sdk(), store, file).status == "completed"


@pytest.mark.parametrize("yaml, flags, sentence", [
    ("", ["--ocr", "upstream"], "ocr is upstream, and the configuration file has no section 'ocr' with the model"),
    ("ocr: {upstream: other, model: m}", [], "ocr.upstream: there is no upstream 'other'"),
    ("ocr: {upstream: eyes}", [], "ocr: 'model' is missing"),
    ("ocr: {upstream: blind, model: m}", [], "ocr.upstream: 'blind' reads no pictures, its inputs say"),
    ("ocr: {upstream: eyes, model: m, timeout: 0}", [], "ocr.timeout: expected a number from 1 to 600"),
    ("ocr: {upstream: eyes, model: m}\nhooks: {before_send: [{pattern: x}]}", [], "cannot mask what pictures of pages show"),
    ("ocr: {upstream: eyes, model: m, page: 1}", [], "unknown key: ocr.page"),
])
def test_a_wrong_section_stops_the_start(binary, tmp_path, yaml, flags, sentence):
    config = tmp_path / "wrong.yaml"
    config.write_text('upstreams:\n  - {name: eyes, url: "http://127.0.0.1:9/v1", models: ["*"]}\n'
                      f'  - {{name: blind, url: "http://127.0.0.1:9/v1", models: ["b"], inputs: [text]}}\n{yaml}\n')
    made = subprocess.run([binary, "serve", "--data-dir", tmp_path / "data", "--config", config, *flags],
                          capture_output=True, text=True, timeout=60, check=False)
    assert made.returncode == 2 and sentence in made.stderr, made.stderr


def test_a_flag_wins_over_the_section(start_server, upstream, tmp_path):
    client = start_server(**settings(tmp_path, upstream), ocr="off").sdk()
    store, file = attach(client, "scan.pdf", SCAN)
    assert ended(client, store, file).last_error.message == "No text was found; it looks scanned."
    assert asked(upstream) == []
