"""Scanned pages and pictures as text, read by the real Tesseract where the setting `ocr` says so."""

import shutil
import subprocess

import openai
import pytest

from harness.pdf import Scan, file_part, pdf, png

pytestmark = pytest.mark.skipif(not shutil.which("tesseract"), reason="tesseract-ocr is not installed")

MIXED = pdf("The first page is text", Scan("The battery warranty lasts two years"), "The third page is text")
SCAN = pdf(Scan("Return the device to the shop"))


@pytest.fixture
def server(start_server):
    return start_server(ocr="tesseract")


@pytest.fixture
def client(server):
    return server.sdk()


def attached(client, name, data):
    store = client.vector_stores.create().id
    return store, client.vector_stores.files.upload_and_poll(vector_store_id=store, file=(name, data))


def test_a_page_that_is_a_picture_is_found_among_pages_of_text(client):
    store, file = attached(client, "mixed.pdf", MIXED)
    assert (file.status, file.runnel["pages"]) == ("completed", 3)
    [hit] = client.vector_stores.search(store, query="battery warranty")
    assert hit.runnel["page"] == 1 and "lasts two years" in hit.content[0].text  # its chunk begins on the first page
    pages = [page.text for page in client.vector_stores.files.content(file.id, vector_store_id=store)]
    assert [page.strip() for page in pages] == ["The first page is text", "The battery warranty lasts two years",
                                                "The third page is text"]


@pytest.mark.parametrize("name, data, word", [("scan.pdf", SCAN, "shop"), ("photo.png", png("A photo of a giraffe"), "giraffe")])
def test_a_file_without_any_text_is_found(client, name, data, word):
    store, file = attached(client, name, data)
    assert file.status == "completed", file.last_error
    assert [hit.file_id for hit in client.vector_stores.search(store, query=word)] == [file.id]


@pytest.mark.parametrize("source", ["data", "id"])
def test_a_model_that_reads_text_gets_the_text_of_a_scan(client, upstream, source):
    part = file_part(SCAN, "scan.pdf")
    if source == "id":
        part = {"type": "input_file", "file_id": client.files.create(file=("scan.pdf", SCAN), purpose="user_data").id}
    client.responses.create(model="m", input=[{"role": "user", "content": [part]}])
    content = upstream.chats()[-1]["messages"][-1]["content"]
    text = content if isinstance(content, str) else content[0]["text"]
    assert text == "[file scan.pdf, page 1 of 1]\nReturn the device to the shop"


def test_the_server_says_that_scans_are_read(server):
    readers = {one["type"]: one for one in server.http().get("/v1/runnel/retrieval").json()["readers"]}
    assert readers["scan"] == {"type": "scan", "available": True, "package": "tesseract-ocr"}


def test_a_language_that_is_missing_is_named(start_server):
    client = start_server(ocr="tesseract", ocr_languages="eng+xyz").sdk()
    store, file = attached(client, "scan.pdf", SCAN)
    assert (file.status, file.last_error.code) == ("failed", "unsupported_file")
    assert file.last_error.message == ("The file type is not supported. It looks scanned, and this server cannot read it: "
                                       "tesseract-ocr with the languages 'eng+xyz' is not installed.")
    with pytest.raises(openai.BadRequestError, match="'eng\\+xyz' is not installed") as caught:
        client.responses.create(model="m", input=[{"role": "user", "content": [file_part(SCAN, "scan.pdf")]}])
    assert caught.value.code == "unsupported_file"
    assert client.vector_stores.retrieve(store).file_counts.failed == 1


def test_without_the_setting_scans_are_refused_and_text_is_found(start_server):
    client = start_server().sdk()
    _, file = attached(client, "scan.pdf", SCAN)
    assert (file.last_error.code, file.last_error.message) == ("invalid_file", "No text was found; it looks scanned.")
    _, photo = attached(client, "photo.png", png("A photo"))
    assert photo.last_error.code == "unsupported_file" and photo.last_error.message.endswith("It is a PNG picture.")
    assert attached(client, "mixed.pdf", MIXED)[1].status == "completed"


@pytest.mark.parametrize("languages", ["", "../eng", "eng+", "eng deu", "e" * 200])
def test_a_wrong_language_stops_the_start(binary, tmp_path, languages):
    made = subprocess.run([binary, "serve", "--data-dir", tmp_path / "data", "--ocr", "tesseract", "--ocr-languages", languages],
                          capture_output=True, text=True, timeout=60, check=False)
    assert made.returncode == 2 and "ocr_languages: expected names of Tesseract" in made.stderr
