"""Vector stores: files attached, made searchable, searched; and every way in which a request is refused."""

import concurrent.futures
import contextlib
import pathlib
import time

import openai
import pytest

from harness.patience import patience
from harness.pdf import pdf
from harness.server import eventually

UNKNOWN_FILE = "file-000000000000000000000000"
UNKNOWN_STORE = "vs_000000000000000000000000"
BATTERY = "# Safety\n\nThe battery warranty lasts two years.\n"
KITCHEN = "# Kitchen\n\nBoil the rice for twelve minutes.\n"
CHINESE = "# 保修\n\n电池的保修期为两年。请保持干燥。\n"
AUTO = {"type": "static", "static": {"max_chunk_size_tokens": 800, "chunk_overlap_tokens": 400}}


def upload(client, text, name="manual.md"):
    data = text if isinstance(text, bytes) else text.encode()
    return client.files.create(file=(name, data), purpose="assistants").id


@pytest.fixture
def store(client):
    made = client.vector_stores.create(name="Handbook")
    yield made.id
    client.vector_stores.delete(made.id)


def found(client, store, query, **options):
    return [hit.file_id for hit in client.vector_stores.search(store, query=query, **options)]


def problem(answer):
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["param"]


def is_done(client, store):
    return client.vector_stores.retrieve(store).file_counts.in_progress == 0


# ---- Stores ----

def test_a_store_is_made_changed_listed_and_deleted(client):
    made = client.vector_stores.create(name="手册", metadata={"a": "b"}, description="about",
                                       expires_after={"anchor": "last_active_at", "days": 7})
    assert made.id.startswith("vs_") and made.object == "vector_store" and made.name == "手册"
    assert made.status == "completed" and made.usage_bytes == 0 and made.metadata == {"a": "b"}
    assert made.file_counts.model_dump() == {"in_progress": 0, "completed": 0, "failed": 0,
                                             "cancelled": 0, "total": 0}
    assert made.expires_at == made.last_active_at + 7 * 86400
    assert client.vector_stores.retrieve(made.id) == made
    changed = client.vector_stores.update(made.id, name="New", metadata={})
    assert changed.name == "New" and changed.metadata == {} and changed.expires_at == made.expires_at
    forever = client.vector_stores.update(made.id, name=None, expires_after=None)
    assert forever.name == "" and forever.expires_after is None and forever.expires_at is None
    other = client.vector_stores.create()
    assert other.name == "" and other.to_dict()["description"] is None and other.metadata == {}
    ids = [item.id for item in client.vector_stores.list(limit=1, order="asc", after=made.id)]
    assert ids[0] == other.id
    gone = client.vector_stores.delete(made.id)
    assert (gone.id, gone.object, gone.deleted) == (made.id, "vector_store.deleted", True)
    assert client.vector_stores.list(order="asc", after=made.id, limit=1).data[0].id == other.id
    with pytest.raises(openai.NotFoundError) as raised:
        client.vector_stores.retrieve(made.id)
    assert raised.value.body["message"] == f"No vector store found with id '{made.id}'."
    client.vector_stores.delete(other.id)


def test_a_store_with_files_is_made_whole_or_not_at_all(client, http):
    file = upload(client, BATTERY)
    before = [one.id for one in client.vector_stores.list(limit=100).data]
    answer = http.post("/v1/vector_stores", json={"file_ids": [file, UNKNOWN_FILE]})
    assert answer.status_code == 404
    assert answer.json()["error"]["message"] == f"No such File object: {UNKNOWN_FILE}"
    assert [one.id for one in client.vector_stores.list(limit=100).data] == before
    made = client.vector_stores.create(file_ids=[file, file])
    assert made.file_counts.total == 1 and made.status in ("in_progress", "completed")
    eventually(lambda: is_done(client, made.id))
    ended = client.vector_stores.retrieve(made.id)
    assert ended.status == "completed" and ended.file_counts.completed == 1
    assert ended.usage_bytes > len(BATTERY)
    client.vector_stores.delete(made.id)
    assert client.files.retrieve(file).id == file


def test_a_request_that_comes_again_under_its_key_makes_one_store(http, client):
    key = {"Idempotency-Key": "vector-store"}
    made = [http.post("/v1/vector_stores", json={"name": "once"}, headers=key).json() for _ in range(2)]
    assert made[0]["id"] == made[1]["id"]
    client.vector_stores.delete(made[0]["id"])


# ---- Files of a store, with the SDKs' helpers ----

def test_a_file_is_attached_and_polled(client, store):
    file = client.vector_stores.files.upload_and_poll(vector_store_id=store, file=("手册.md", CHINESE.encode()),
                                                      attributes={"year": 2026, "lang": "zh", "new": True})
    assert file.status == "completed" and file.last_error is None and file.vector_store_id == store
    assert file.object == "vector_store.file" and file.usage_bytes > 0
    assert file.chunking_strategy.to_dict() == AUTO
    assert file.attributes == {"year": 2026, "lang": "zh", "new": True}
    assert file.to_dict()["runnel"] == {"pages": 0, "chunks": 1}
    changed = client.vector_stores.files.update(file.id, vector_store_id=store, attributes={"year": 2025.5})
    assert changed.attributes == {"year": 2025.5}
    again = client.vector_stores.files.create_and_poll(file.id, vector_store_id=store)
    assert again.attributes == {"year": 2025.5} and again.created_at == file.created_at
    assert client.vector_stores.files.update(file.id, vector_store_id=store, attributes=None).attributes == {}
    content = client.vector_stores.files.content(file.id, vector_store_id=store)
    assert [page.text for page in content] == [CHINESE]
    gone = client.vector_stores.files.delete(file.id, vector_store_id=store)
    assert (gone.id, gone.object, gone.deleted) == (file.id, "vector_store.file.deleted", True)
    with pytest.raises(openai.NotFoundError):
        client.vector_stores.files.retrieve(file.id, vector_store_id=store)
    assert client.files.retrieve(file.id).id == file.id


def test_pages_are_shown_one_by_one(client, store):
    file = upload(client, pdf("The first page.", "The second page."), "pages.pdf")
    ended = client.vector_stores.files.create_and_poll(file, vector_store_id=store)
    assert ended.status == "completed", ended.last_error
    assert ended.to_dict()["runnel"]["pages"] == 2
    texts = [page.text for page in client.vector_stores.files.content(file, vector_store_id=store)]
    assert [text.strip() for text in texts] == ["The first page.", "The second page."]
    hit = client.vector_stores.search(store, query="second page").data[0]
    assert hit.to_dict()["runnel"]["page"] in (1, 2)


def test_a_batch_is_uploaded_and_polled(client, store):
    files = [("a.md", BATTERY.encode()), ("b.md", KITCHEN.encode()), ("empty.md", b"")]
    batch = client.vector_stores.file_batches.upload_and_poll(store, files=files)
    assert batch.object == "vector_store.file_batch" and batch.status == "completed"
    assert batch.file_counts.model_dump() == {"in_progress": 0, "completed": 2, "failed": 1,
                                              "cancelled": 0, "total": 3}
    listed = client.vector_stores.file_batches.list_files(batch.id, vector_store_id=store)
    assert len(listed.data) == 3
    failed = client.vector_stores.file_batches.list_files(batch.id, vector_store_id=store, filter="failed")
    assert [(file.status, file.last_error.code, file.last_error.message) for file in failed] == \
        [("failed", "invalid_file", "The file is empty.")]
    assert len(client.vector_stores.files.list(store, filter="completed").data) == 2
    assert [file.id for file in client.vector_stores.files.list(store, limit=1)] == \
        [file.id for file in listed]
    assert client.vector_stores.retrieve(store).status == "completed"


def test_a_batch_of_files_has_attributes_each(client, store, http):
    files = [upload(client, BATTERY), upload(client, KITCHEN)]
    body = {"files": [{"file_id": files[0], "attributes": {"n": 1},
                       "chunking_strategy": {"type": "static", "max_chunk_size_tokens": 100,
                                             "chunk_overlap_tokens": 50}},
                      {"file_id": files[1]}, {"file_id": files[0], "attributes": {"n": 2}}]}
    made = http.post(f"/v1/vector_stores/{store}/file_batches", json=body)
    assert made.status_code == 200 and made.json()["file_counts"]["total"] == 2
    batch = made.json()["id"]
    client.vector_stores.file_batches.poll(batch, vector_store_id=store)
    assert client.vector_stores.files.retrieve(files[0], vector_store_id=store).attributes == {"n": 1}
    # Another spelling, which OpenAI's examples have.
    alias = f"/v1/vector_stores/{store}/files_batches"
    assert http.get(f"{alias}/{batch}").json()["id"] == batch
    assert len(http.get(f"{alias}/{batch}/files").json()["data"]) == 2
    assert http.post(f"{alias}/{batch}/cancel").json()["status"] == "completed"
    more = http.post(alias, json={"file_ids": files}, headers={"Idempotency-Key": "batch"}).json()
    assert http.post(alias, json={"file_ids": files},
                     headers={"Idempotency-Key": "batch"}).json()["id"] == more["id"]


def test_a_batch_whose_files_all_failed_has_failed(client, store):
    batch = client.vector_stores.file_batches.create_and_poll(store, file_ids=[upload(client, b"")])
    assert batch.status == "failed" and batch.file_counts.failed == 1
    assert client.vector_stores.retrieve(store).status == "completed"


@pytest.mark.parametrize("name, data, code, message", [
    ("empty.txt", b"", "invalid_file", "The file is empty."),
    ("blank.txt", b" \n\t\n ", "invalid_file", "No text was found in the file."),
    ("noise.bin", bytes(range(256)) * 40, "unsupported_file", "The file type is not supported."),
    ("broken.pdf", b"%PDF-1.4\nnothing", "invalid_file", "The file is damaged."),
])
def test_a_bad_file_fails_with_a_sentence(client, store, name, data, code, message):
    file = client.vector_stores.files.create_and_poll(upload(client, data, name), vector_store_id=store)
    assert (file.status, file.last_error.code) == ("failed", code)
    assert file.last_error.message.startswith(message.rstrip("."))
    with pytest.raises(openai.BadRequestError) as raised:
        client.vector_stores.files.content(file.id, vector_store_id=store)
    assert raised.value.code == code and raised.value.body["message"] == file.last_error.message


def test_a_deleted_file_leaves_all_stores(client, store):
    other = client.vector_stores.create().id
    file = upload(client, BATTERY)
    for each in (store, other):
        assert client.vector_stores.files.create_and_poll(file, vector_store_id=each).status == "completed"
    assert found(client, store, "battery") == found(client, other, "battery") == [file]
    client.files.delete(file)
    for each in (store, other):
        assert client.vector_stores.retrieve(each).file_counts.total == 0
        assert found(client, each, "battery") == []
    client.vector_stores.delete(other)


# ---- Polling, with a worker that is held in the middle of a file ----

@pytest.fixture
def held(start_fault_server):
    """A server whose only worker has read a file and waits; the client, the store and the file."""
    server = start_fault_server(ingest_workers=1)
    client = server.sdk()
    store = client.vector_stores.create().id
    server.arm("ingest.publish:1:hold")
    file = upload(client, BATTERY)
    client.vector_stores.files.create(store, file_id=file)
    eventually(server.has_fired)
    return server, client, store, file


def poll(server, path):
    begun = time.monotonic()
    answer = server.api().get(path, headers={"X-Stainless-Poll-Helper": "true"})
    return answer, time.monotonic() - begun


def test_a_poll_is_held_until_the_file_is_ready(held):
    server, client, store, file = held
    path = f"/vector_stores/{store}/files/{file}"
    answer, seconds = poll(server, path)
    assert answer.json()["status"] == "in_progress" and seconds >= 1
    assert answer.headers["openai-poll-after-ms"] == "200"
    plain = server.api().get(path)
    assert plain.json()["status"] == "in_progress" and plain.elapsed.total_seconds() < 1
    for path in (f"/vector_stores/{store}/files/{file}/content",):
        assert problem(server.api().get(path)) == (400, "file_not_ready", None)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        waiting = pool.submit(client.vector_stores.files.poll, file, vector_store_id=store)
        server.arm()
        assert waiting.result(patience(20)).status == "completed"
    answer, seconds = poll(server, path.removesuffix("/content"))
    assert answer.json()["status"] == "completed" and "openai-poll-after-ms" not in answer.headers
    assert seconds < 1


def test_node_does_not_spin_on_a_cancelled_file(held):
    """Its helper has no case for `cancelled`: it asks again at once, for ever. So the answer takes a second."""
    server, client, store, file = held
    batch = client.vector_stores.file_batches.create(store, file_ids=[file])
    assert batch.status == "in_progress"
    assert server.api().get(f"/vector_stores/{store}/file_batches/{batch.id}").headers[
        "openai-poll-after-ms"] == "200"
    cancelled = client.vector_stores.file_batches.cancel(batch.id, vector_store_id=store)
    assert cancelled.status == "cancelled"
    assert cancelled.file_counts.model_dump() == {"in_progress": 0, "completed": 0, "failed": 0,
                                                  "cancelled": 1, "total": 1}
    assert client.vector_stores.file_batches.cancel(batch.id, vector_store_id=store) == cancelled
    answer, seconds = poll(server, f"/vector_stores/{store}/files/{file}")
    assert answer.json()["status"] == "cancelled" and seconds >= 1
    server.arm()
    # The worker comes back with it, and nothing takes it.
    again = client.vector_stores.files.create_and_poll(file, vector_store_id=store)
    assert again.status == "completed"
    assert client.vector_stores.retrieve(store).file_counts.total == 1


def test_another_file_does_not_wait_for_it_in_another_worker(start_fault_server):
    server = start_fault_server(ingest_workers=2)
    client = server.sdk()
    store = client.vector_stores.create().id
    server.arm("ingest.publish:1:hold")
    slow = client.vector_stores.files.create(store, file_id=upload(client, BATTERY))
    eventually(server.has_fired)
    quick = client.vector_stores.files.create_and_poll(upload(client, KITCHEN), vector_store_id=store)
    assert quick.status == "completed"
    # Gone while it is at work: nothing of it stays.
    client.files.delete(slow.id)
    server.arm()
    counts = client.vector_stores.retrieve(store).file_counts
    assert (counts.completed, counts.total) == (1, 1)


# ---- Searching ----

@pytest.fixture
def shelf(client, store):
    """Three files with attributes, by name."""
    files = {}
    for name, text, attributes in (("battery.md", BATTERY, {"year": 2024, "lang": "en"}),
                                   ("kitchen.md", KITCHEN, {"year": 2025, "lang": "en", "hot": True}),
                                   ("中文.md", CHINESE, {"year": 2026, "lang": "zh"})):
        files[name] = client.vector_stores.files.create_and_poll(
            upload(client, text, name), vector_store_id=store, attributes=attributes).id
    return files


def test_words_find_passages_in_every_language(client, store, shelf):
    page = client.vector_stores.search(store, query="How long is the battery warranty?")
    hit = page.data[0]
    assert hit.file_id == shelf["battery.md"] and hit.filename == "battery.md"
    assert hit.attributes == {"year": 2024, "lang": "en"} and 0 < hit.score <= 1
    assert [part.to_dict() for part in hit.content] == [{"type": "text", "text": BATTERY.strip()}]
    raw = page.to_dict()
    assert raw["object"] == "vector_store.search_results.page" and raw["has_more"] is False
    assert raw["search_query"] == ["How long is the battery warranty?"] and raw["next_page"] is None
    assert raw["runnel"] == {"mode": "lexical", "reranked": False}
    assert hit.to_dict()["runnel"] == {"heading": "Safety", "chunk": 0, "page": None}
    assert found(client, store, "电池") == [shelf["中文.md"]]
    assert found(client, store, ["电池", "rice"]) == [shelf["中文.md"], shelf["kitchen.md"]] or \
        found(client, store, ["电池", "rice"]) == [shelf["kitchen.md"], shelf["中文.md"]]
    assert found(client, store, "xyzzy plugh") == []
    # What is said nowhere but in the name of the file.
    assert found(client, store, "kitchen.md")[0] == shelf["kitchen.md"]


@pytest.mark.parametrize("filters, names", [
    (None, ["battery.md", "kitchen.md", "中文.md"]),
    ({"type": "eq", "key": "lang", "value": "zh"}, ["中文.md"]),
    ({"type": "eq", "key": "year", "value": 2024.0}, ["battery.md"]),
    ({"type": "eq", "key": "year", "value": "2024"}, []),
    ({"type": "ne", "key": "lang", "value": "zh"}, ["battery.md", "kitchen.md"]),
    ({"type": "ne", "key": "hot", "value": True}, ["battery.md", "中文.md"]),
    ({"type": "gte", "key": "year", "value": 2025}, ["kitchen.md", "中文.md"]),
    ({"type": "lt", "key": "year", "value": 2025}, ["battery.md"]),
    ({"type": "gt", "key": "lang", "value": "en"}, ["中文.md"]),
    ({"type": "in", "key": "year", "value": [2024, 2026]}, ["battery.md", "中文.md"]),
    ({"type": "nin", "key": "hot", "value": ["x"]}, ["battery.md", "kitchen.md", "中文.md"]),
    ({"type": "and", "filters": [{"type": "eq", "key": "lang", "value": "en"},
                                 {"type": "or", "filters": [{"type": "eq", "key": "hot", "value": True},
                                                            {"type": "eq", "key": "year", "value": 1}]}]},
     ["kitchen.md"]),
    ({"type": "eq", "key": "none\" || true || \"", "value": 1}, []),
])
def test_filters_decide_which_files_are_searched(client, store, shelf, filters, names):
    hits = client.vector_stores.search(store, query="battery rice 电池", max_num_results=50,
                                       **({"filters": filters} if filters else {}))
    assert sorted(hit.filename for hit in hits) == names


def test_scores_fall_and_have_a_threshold_and_a_number(client, store, shelf):
    hits = client.vector_stores.search(store, query="the battery rice").data
    scores = [hit.score for hit in hits]
    assert len(hits) >= 2 and scores == sorted(scores, reverse=True)
    options = {"ranker": "none", "score_threshold": (scores[0] + scores[-1]) / 2}
    assert len(client.vector_stores.search(store, query="the battery rice",
                                           ranking_options=options).data) < len(hits) or scores[0] == scores[-1]
    assert len(client.vector_stores.search(store, query="the battery rice", max_num_results=1).data) == 1


def test_attributes_count_for_the_next_search(client, store, shelf):
    new = {"type": "eq", "key": "year", "value": 1999}
    assert found(client, store, "battery", filters=new) == []
    client.vector_stores.files.update(shelf["battery.md"], vector_store_id=store, attributes={"year": 1999})
    assert found(client, store, "battery", filters=new) == [shelf["battery.md"]]


def test_another_chunking_is_indexed_anew(client, store):
    text = "\n\n".join(f"Paragraph {i} speaks about subject{i} at some length, as paragraphs do."
                       for i in range(60))
    file = upload(client, text)
    small = {"type": "static", "static": {"max_chunk_size_tokens": 100, "chunk_overlap_tokens": 0}}
    whole = client.vector_stores.files.create_and_poll(file, vector_store_id=store)
    cut = client.vector_stores.files.create_and_poll(file, vector_store_id=store, chunking_strategy=small)
    assert cut.chunking_strategy.to_dict() == small
    assert cut.to_dict()["runnel"]["chunks"] > whole.to_dict()["runnel"]["chunks"]
    hits = client.vector_stores.search(store, query="subject42", max_num_results=50).data
    assert len(hits) == 1 and "subject42" in hits[0].content[0].text


def test_a_search_survives_a_restart_and_the_loss_of_the_cache(start_server):
    server = start_server()
    client = server.sdk()
    store = client.vector_stores.create().id
    file = client.vector_stores.files.create_and_poll(upload(client, BATTERY), vector_store_id=store).id
    cache = server.settings["data_dir"] / "cache"
    assert found(client, store, "battery") == [file] and len(list(cache.iterdir())) == 1
    server.stop()
    server.start()
    client = server.sdk()
    assert found(client, store, "battery") == [file]
    server.stop()
    for segment in cache.iterdir():
        segment.write_bytes(b"nonsense" * 20)
    (cache / "stranger").write_bytes(b"x")
    server.start()
    client = server.sdk()
    assert not (cache / "stranger").exists()
    assert found(client, store, "battery") == [file]


def test_a_full_cache_is_no_reason_to_find_less(start_server):
    server = start_server(segment_cache=1)
    client = server.sdk()
    store = client.vector_stores.create().id
    files = [client.vector_stores.files.create_and_poll(upload(client, BATTERY), vector_store_id=store).id
             for _ in range(3)]
    for _ in range(2):
        assert sorted(found(client, store, "battery")) == sorted(files)
    assert len(list((server.settings["data_dir"] / "cache").iterdir())) <= 1


# ---- Expiry ----

def test_an_expired_store_is_shown_and_refuses_all_else(start_server, database):
    server = start_server()
    client = server.sdk()
    file = upload(client, BATTERY)
    store = client.vector_stores.create(expires_after={"anchor": "last_active_at", "days": 1}, file_ids=[file]).id
    eventually(lambda: is_done(client, store))
    database.ask("UPDATE vector_stores SET last_active_at = 1, expires_at = 2",
                 url=server.settings["database_url"])
    shown = client.vector_stores.retrieve(store)
    assert shown.status == "expired" and shown.file_counts.total == 0
    with server.http() as http:
        path = f"/v1/vector_stores/{store}"
        for answer in (http.post(f"{path}/search", json={"query": "battery"}),
                       http.post(f"{path}/files", json={"file_id": file}),
                       http.post(f"{path}/file_batches", json={"file_ids": [file]}),
                       http.post(path, json={"name": "x"})):
            assert problem(answer) == (400, "vector_store_expired", None), answer.text
            assert answer.json()["error"]["message"] == f"The vector store {store} has expired."
        assert http.delete(path).status_code == 200


# ---- Refusals ----

LONG = {"type": "eq", "key": "a", "value": 1}
DEEP = LONG
for _ in range(8):
    DEEP = {"type": "and", "filters": [DEEP]}


def static(size, overlap):
    return {"type": "static", "static": {"max_chunk_size_tokens": size, "chunk_overlap_tokens": overlap}}


@pytest.mark.parametrize("path, body, code, param", [
    ("", {"name": "x" * 257}, "string_above_max_length", "name"),
    ("", {"description": "x" * 513}, "string_above_max_length", "description"),
    ("", {"expires_after": {"anchor": "created_at", "days": 1}}, "invalid_value", "expires_after.anchor"),
    ("", {"expires_after": {"anchor": "last_active_at", "days": 366}}, "integer_above_max_value",
     "expires_after.days"),
    ("", {"expires_after": {"anchor": "last_active_at"}}, "missing_required_parameter", "expires_after.days"),
    ("", {"metadata": {"a": 1}}, "invalid_type", "metadata.a"),
    ("", {"file_ids": ["file-x"] * 501}, "array_above_max_length", "file_ids"),
    ("", {"file_ids": [1]}, "invalid_type", "file_ids[0]"),
    ("", {"file_ids": "x"}, "invalid_type", "file_ids"),
    ("", {"chunking_strategy": static(99, 0)}, "integer_below_min_value",
     "chunking_strategy.static.max_chunk_size_tokens"),
    ("", {"chunking_strategy": static(4097, 0)}, "integer_above_max_value",
     "chunking_strategy.static.max_chunk_size_tokens"),
    ("", {"chunking_strategy": static(100, 51)}, "invalid_value",
     "chunking_strategy.static.chunk_overlap_tokens"),
    ("", {"chunking_strategy": {"type": "static"}}, "missing_required_parameter", "chunking_strategy.static"),
    ("", {"chunking_strategy": {"type": "other"}}, "invalid_value", "chunking_strategy.type"),
    ("/{store}/files", {}, "missing_required_parameter", "file_id"),
    ("/{store}/files", {"file_id": "f", "attributes": {str(i): 1 for i in range(17)}},
     "object_above_max_properties", "attributes"),
    ("/{store}/files", {"file_id": "f", "attributes": {"a": None}}, "invalid_type", "attributes.a"),
    ("/{store}/files", {"file_id": "f", "attributes": {"a": [1]}}, "invalid_type", "attributes.a"),
    ("/{store}/files", {"file_id": "f", "attributes": {"a": {}}}, "invalid_type", "attributes.a"),
    ("/{store}/files", {"file_id": "f", "attributes": {"a" * 65: 1}}, "string_above_max_length", "attributes"),
    ("/{store}/files", {"file_id": "f", "attributes": {"a": "x" * 513}}, "string_above_max_length",
     "attributes.a"),
    ("/{store}/files", {"file_id": "f", "attributes": []}, "invalid_type", "attributes"),
    ("/{store}/file_batches", {}, "missing_required_parameter", "file_ids"),
    ("/{store}/file_batches", {"file_ids": ["f"], "files": [{"file_id": "f"}]},
     "mutually_exclusive_parameters", "file_ids"),
    ("/{store}/file_batches", {"file_ids": ["f"] * 2001}, "array_above_max_length", "file_ids"),
    ("/{store}/file_batches", {"files": [{}]}, "missing_required_parameter", "files[0].file_id"),
    ("/{store}/search", {}, "missing_required_parameter", "query"),
    ("/{store}/search", {"query": 1}, "invalid_type", "query"),
    ("/{store}/search", {"query": ""}, "invalid_value", "query"),
    ("/{store}/search", {"query": ["a"] * 9}, "array_above_max_length", "query"),
    ("/{store}/search", {"query": ["a", 1]}, "invalid_type", "query[1]"),
    ("/{store}/search", {"query": "电" * 4097}, "string_above_max_length", "query"),
    ("/{store}/search", {"query": "a", "max_num_results": 51}, "integer_above_max_value", "max_num_results"),
    ("/{store}/search", {"query": "a", "max_num_results": 0}, "integer_below_min_value", "max_num_results"),
    ("/{store}/search", {"query": "a", "ranking_options": {"ranker": "best"}}, "invalid_value",
     "ranking_options.ranker"),
    ("/{store}/search", {"query": "a", "ranking_options": {"score_threshold": 1.1}},
     "decimal_above_max_value", "ranking_options.score_threshold"),
    ("/{store}/search", {"query": "a", "ranking_options": {"hybrid_search": {"embedding_weight": 0,
                                                                             "text_weight": 0}}},
     "invalid_value", "ranking_options.hybrid_search"),
    ("/{store}/search", {"query": "a", "rewrite_query": 1}, "invalid_type", "rewrite_query"),
    ("/{store}/search", {"query": "a", "filters": []}, "invalid_type", "filters"),
    ("/{store}/search", {"query": "a", "filters": {"type": "like", "key": "a", "value": "b"}},
     "invalid_value", "filters.type"),
    ("/{store}/search", {"query": "a", "filters": {"type": "eq", "value": 1}}, "missing_required_parameter",
     "filters.key"),
    ("/{store}/search", {"query": "a", "filters": {"type": "eq", "key": "a"}}, "missing_required_parameter",
     "filters.value"),
    ("/{store}/search", {"query": "a", "filters": {"type": "eq", "key": "a", "value": []}}, "invalid_type",
     "filters.value"),
    ("/{store}/search", {"query": "a", "filters": {"type": "gt", "key": "a", "value": True}}, "invalid_type",
     "filters.value"),
    ("/{store}/search", {"query": "a", "filters": {"type": "in", "key": "a", "value": [True]}}, "invalid_type",
     "filters.value[0]"),
    ("/{store}/search", {"query": "a", "filters": {"type": "in", "key": "a", "value": [1] * 257}},
     "array_above_max_length", "filters.value"),
    ("/{store}/search", {"query": "a", "filters": {"type": "or", "filters": []}}, "empty_array",
     "filters.filters"),
    ("/{store}/search", {"query": "a", "filters": {"type": "or", "filters": [LONG] * 65}},
     "array_above_max_length", "filters.filters"),
    ("/{store}/search", {"query": "a", "filters": {"type": "or", "filters": [
        {"type": "and", "filters": [LONG] * 33}] * 2}}, "invalid_value", "filters.filters[1].filters[31]"),
    ("/{store}/search", {"query": "a", "filters": DEEP}, "invalid_value",
     "filters" + ".filters[0]" * 8),
])
def test_bad_requests_are_refused_with_openais_errors(http, store, path, body, code, param):
    answer = http.post("/v1/vector_stores" + path.format(store=store), json=body)
    assert problem(answer) == (400, code, param), answer.text


def test_what_is_unknown_is_not_found(http, client, store):
    file = upload(client, BATTERY)
    nothing = f"/v1/vector_stores/{UNKNOWN_STORE}"
    for answer in (http.get(nothing), http.delete(nothing), http.post(nothing, json={"name": "x"}),
                   http.get(f"{nothing}/files"), http.post(f"{nothing}/files", json={"file_id": file}),
                   http.get(f"{nothing}/files/{file}"), http.delete(f"{nothing}/files/{file}"),
                   http.get(f"{nothing}/files/{file}/content"),
                   http.post(f"{nothing}/files/{file}", json={"attributes": {}}),
                   http.post(f"{nothing}/file_batches", json={"file_ids": [file]}),
                   http.post(f"{nothing}/search", json={"query": "a"})):
        assert answer.status_code == 404, answer.text
        assert answer.json()["error"]["message"] == f"No vector store found with id '{UNKNOWN_STORE}'."
    there = f"/v1/vector_stores/{store}"
    for answer in (http.get(f"{there}/files/{file}"), http.delete(f"{there}/files/{file}"),
                   http.get(f"{there}/files/{file}/content"),
                   http.post(f"{there}/files/{file}", json={"attributes": {}})):
        assert answer.status_code == 404
        assert answer.json()["error"]["message"] == f"No file found with id '{file}' in vector store '{store}'."
    for answer in (http.get(f"{there}/file_batches/vsfb_x"), http.post(f"{there}/file_batches/vsfb_x/cancel"),
                   http.get(f"{there}/file_batches/vsfb_x/files")):
        assert answer.status_code == 404
        assert answer.json()["error"]["message"] == "No file batch found with id 'vsfb_x'."
    for key, value in (("filter", "done"), ("limit", "101"), ("after", "file-x"), ("order", "up")):
        assert problem(http.get(f"{there}/files", params={key: value}))[::2] == (400, key)


def test_another_project_sees_nothing(client, stranger, store):
    file = client.vector_stores.files.create_and_poll(upload(client, BATTERY), vector_store_id=store).id
    assert all(item.id != store for item in stranger.vector_stores.list(limit=100))
    own = stranger.vector_stores.create().id
    for call in (lambda: stranger.vector_stores.retrieve(store),
                 lambda: stranger.vector_stores.delete(store),
                 lambda: stranger.vector_stores.search(store, query="battery"),
                 lambda: stranger.vector_stores.files.list(store),
                 lambda: stranger.vector_stores.files.create(store, file_id=file),
                 lambda: stranger.vector_stores.files.create(own, file_id=file),
                 lambda: stranger.vector_stores.files.retrieve(file, vector_store_id=store),
                 lambda: stranger.vector_stores.files.content(file, vector_store_id=store),
                 lambda: stranger.vector_stores.files.delete(file, vector_store_id=store),
                 lambda: stranger.vector_stores.files.update(file, vector_store_id=store, attributes={})):
        with pytest.raises(openai.NotFoundError):
            call()
    assert found(client, store, "battery") == [file]
    stranger.vector_stores.delete(own)


def test_a_server_says_what_its_searches_can_do(server, client, stranger_key):
    """And counts what a project has: a project of the test's own, for files of other tests may become ready meanwhile."""
    client = client.with_options(api_key=server.new_key("counted"))

    def shown(key=client.api_key):
        return server.http().get("/v1/runnel/retrieval", headers={"Authorization": f"Bearer {key}"}).json()

    before, theirs = shown(), shown(stranger_key)
    assert before["engine"] == "builtin" and before["mode"] == "lexical"
    assert before["embeddings"] is None and before["reranker"] is None
    types = {reader["type"]: reader for reader in before["readers"]}
    assert types["text"] == {"type": "text", "available": True, "package": None}
    assert types["pdf"] == {"type": "pdf", "available": True, "package": "poppler-utils"}
    assert before["limits"]["files_of_a_store"] == 10000
    client.vector_stores.files.create_and_poll(upload(client, BATTERY), vector_store_id=client.vector_stores.create().id)
    counts = shown()["counts"]
    assert counts["documents"]["ready"] == before["counts"]["documents"]["ready"] + 1
    assert counts["chunks"] == before["counts"]["chunks"] + 1
    assert counts["usage_bytes"] > before["counts"]["usage_bytes"]
    assert shown(stranger_key) == theirs and theirs["limits"] == before["limits"]


def test_searches_beyond_the_queue_and_the_time_are_refused(start_fault_server):
    server = start_fault_server()
    client = server.sdk()
    store = client.vector_stores.create().id
    client.vector_stores.files.create_and_poll(upload(client, BATTERY), vector_store_id=store)
    path = f"/vector_stores/{store}/search"
    server.arm("search.full:1")
    answer = server.api().post(path, json={"query": "battery"})
    assert answer.status_code == 429 and answer.headers["retry-after"] == "1"
    assert answer.json()["error"]["code"] == "rate_limit_exceeded"
    server.arm("search.timeout:1")
    answer = server.api().post(path, json={"query": "battery"})
    assert answer.status_code == 503 and answer.json()["error"]["code"] == "vector_store_timeout"


def test_a_search_that_fails_once_finds_all_the_next_time(start_fault_server, database):
    server = start_fault_server()
    client = server.sdk()
    store = client.vector_stores.create().id
    path = f"/vector_stores/{store}/search"
    for count, (point, status) in enumerate([
            ("segment_cache.write", 200), ("segment_cache.map", 200), ("store_search_marks", 503),
            ("store_search_all", 503), ("store_search_set", 503), ("store_segments_read", 503), ("store_chunks_read", 503),
            ("store_vector_stores_touch", 503)], 1):
        # One that this server has not read yet.
        client.vector_stores.files.create_and_poll(upload(client, BATTERY), vector_store_id=store)
        if point == "store_vector_stores_touch":  # once a minute
            database.ask("UPDATE vector_stores SET last_active_at = 1", url=server.settings["database_url"])
        server.arm(f"{point}:1")
        body = {"filters": {"type": "ne", "key": "a", "value": 1}} if point == "store_search_set" else {}
        answer = server.api().post(path, json={"query": "battery", **body})
        assert answer.status_code == status, answer.text
        assert server.has_fired(), point
        assert status != 200 or len(answer.json()["data"]) == count
        server.arm()
        for _ in range(2):
            assert len(server.api().post(path, json={"query": "battery"}).json()["data"]) == count


@pytest.mark.slow  # and not under a sanitizer, whose memory says nothing
def test_a_content_that_is_read_slowly_is_not_in_memory(server, client, http):
    """8 MB for each of 20 readers who take none of it."""
    text = ("The quick brown fox jumps over the lazy dog. " * 20 + "\n\n") * 9000
    file = client.files.create(file=("long.txt", text.encode()), purpose="assistants").id
    store = client.vector_stores.create(name="Long").id
    client.vector_stores.files.create(store, file_id=file, chunking_strategy={
        "type": "static", "static": {"max_chunk_size_tokens": 4096, "chunk_overlap_tokens": 0}})
    assert eventually(lambda: client.vector_stores.retrieve(store).file_counts.completed == 1)
    url = f"/v1/vector_stores/{store}/files/{file}/content"
    assert "".join(part["text"] for part in http.get(url).json()["data"]) == text
    before = memory_of(server)
    with contextlib.ExitStack() as readers:
        for _ in range(20):
            answer = readers.enter_context(server.http().stream("GET", url))
            assert answer.status_code == 200
        assert memory_of(server) - before < 64 << 20


def memory_of(server):
    status = pathlib.Path(f"/proc/{server.process.child.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024
