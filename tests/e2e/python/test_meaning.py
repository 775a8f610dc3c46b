"""Vector stores that are searched by meaning: by the embeddings of the scripted upstream, for which "car", "automobile" and
"vehicle" are one word (server/fakemodel/vector.c)."""

import subprocess

import pytest

from harness.server import eventually

CAR = "# Garage\n\nThe car needs new tyres before winter.\n"
DOCTOR = "# Practice\n\nThe doctor is away until Monday.\n"
RICE = "# Kitchen\n\nThe rice is done after twelve minutes.\n"
EMBEDDINGS = {"path": "/v1/embeddings"}
BROKEN = {"match": EMBEDDINGS, "answer": {"fault": {"kind": "status", "status": 503}}}


def with_embeddings(directory, upstream_url, **settings):
    """A configuration with an embeddings model of the scripted upstream."""
    path = directory / "embeddings.yaml"
    more = "".join(f", {name}: {value}" for name, value in {"model": "words", "dimensions": 128, **settings}.items())
    path.write_text(f"upstreams:\n  - {{name: main, url: \"{upstream_url}\"}}\n"
                    f"embeddings: {{upstream: main{more}}}\n")
    return path


@pytest.fixture
def meaning(start_server, upstream, tmp_path):
    return start_server(upstream_url=None, config=with_embeddings(tmp_path, upstream.url))


def upload(client, text, name="manual.md"):
    return client.files.create(file=(name, text.encode()), purpose="assistants").id


def filled(client, *texts):
    """A store with these files, and their ids."""
    files = [upload(client, text) for text in texts]
    store = client.vector_stores.create(file_ids=files).id
    eventually(lambda: client.vector_stores.retrieve(store).file_counts.in_progress == 0)
    assert client.vector_stores.retrieve(store).file_counts.completed == len(files)
    return store, files


def search(client, store, query, **options):
    page = client.vector_stores.search(store, query=query, **options)
    return [hit.file_id for hit in page], page.model_extra["runnel"]


def embedded(upstream):
    """The texts that the model has embedded, in order."""
    return [text for request in upstream.requests() if request["path"] == "/v1/embeddings"
            for text in request["body"]["input"]]


def test_a_search_finds_what_means_the_same(meaning, upstream):
    client = meaning.sdk()
    store, (car, doctor, rice) = filled(client, CAR, DOCTOR, RICE)
    hits, notes = search(client, store, "automobile")
    assert hits[0] == car and notes == {"mode": "hybrid", "reranked": False}
    retrieval = meaning.http().get("/v1/runnel/retrieval").json()
    assert retrieval["mode"] == "hybrid" and retrieval["embeddings"] == {"model": "words", "dimensions": 128}
    search(client, store, "automobile")
    assert embedded(upstream).count("automobile") == 1  # known by then
    hits, _ = search(client, store, "physician", max_num_results=1)
    assert hits == [doctor]
    # By words alone there is nothing.
    hits, notes = search(client, store, "automobile", extra_body={"ranking_options": {"hybrid_search": {
        "embedding_weight": 0, "text_weight": 1}}})
    assert hits == [] and notes == {"mode": "lexical", "reranked": False}
    # The threshold judges the score, which is of words and meaning.
    best = client.vector_stores.search(store, query="rice").data[0]
    assert best.file_id == rice and 0 < best.score < 1
    for threshold, expected in ((best.score - 0.01, [rice]), (best.score + 0.01, [])):
        hits, _ = search(client, store, "rice", ranking_options={"score_threshold": threshold})
        assert hits == expected
    assert client.vector_stores.retrieve(store).usage_bytes > 3 * 128


def test_a_model_that_is_away_leaves_the_words(meaning, upstream):
    client = meaning.sdk()
    store, (car, _) = filled(client, CAR, DOCTOR)
    upstream.script(BROKEN)
    hits, notes = search(client, store, "tyres")
    assert hits == [car] and notes == {"mode": "lexical", "reranked": False, "degraded": "embeddings"}
    assert "searches are by words alone" in meaning.process.errors()
    upstream.script()
    assert search(client, store, "vehicle")[1]["mode"] == "lexical"  # it is left alone after a failure
    hits, notes = eventually(lambda: search(client, store, "vehicle tyres"),
                             lambda found: found[1]["mode"] == "hybrid")
    assert hits[0] == car and notes == {"mode": "hybrid", "reranked": False}


# ---- Ingestion ----

def long_text(chunks):
    return "\n\n".join(f"# Part{i}\n\n" + f"word{i} " * 180 for i in range(chunks))


def attached(client, text):
    store = client.vector_stores.create().id
    file = upload(client, text)
    client.vector_stores.files.create(vector_store_id=store, file_id=file, chunking_strategy={
        "type": "static", "static": {"max_chunk_size_tokens": 200, "chunk_overlap_tokens": 0}})
    return store, file


def has_ended(client, store, file):
    return eventually(lambda: client.vector_stores.files.retrieve(file, vector_store_id=store),
                      lambda found: found.status != "in_progress", 60)


def test_a_busy_model_is_waited_for_and_nothing_is_embedded_twice(meaning, upstream):
    client = meaning.sdk()
    upstream.script({"match": EMBEDDINGS, "skip": 16, "times": 1,
                     "answer": {"fault": {"kind": "status", "status": 429, "retry_after": 1}}},
                    {"match": EMBEDDINGS, "skip": 16, "times": 1, "answer": {"fault": {"kind": "cut"}}})
    store, file = attached(client, long_text(1200))
    assert has_ended(client, store, file).status == "completed"
    texts = [text for text in embedded(upstream) if "Part" in text]
    taken = set(texts)
    assert len(taken) >= 1200
    # Only what was under way with the batch that failed is embedded again.
    assert 0 < len(texts) - len(taken) <= 2 * 4 * 64
    hits, notes = search(client, store, "word17")
    assert hits[0] == file and notes == {"mode": "hybrid", "reranked": False}


def test_a_long_document_gives_its_worker_back_between_two_windows(start_server, upstream, tmp_path):
    server = start_server(upstream_url=None, config=with_embeddings(tmp_path, upstream.url), ingest_workers=1)
    other = server.sdk().with_options(api_key=server.new_key("other"))
    client = server.sdk()
    upstream.script({"match": EMBEDDINGS, "answer": {"delay_ms": 150}})
    book = attached(client, long_text(1200))
    eventually(lambda: any("Part" in text for text in embedded(upstream)))
    page = attached(other, RICE)
    assert has_ended(other, *page).status == has_ended(client, *book).status == "completed"
    texts = embedded(upstream)
    rice = next(i for i, text in enumerate(texts) if "rice" in text and "Kitchen" in text)
    assert any("Part" in text for text in texts[rice:])


def test_a_model_that_refuses_a_text_fails_the_file(meaning, upstream):
    client = meaning.sdk()
    upstream.script({"match": {**EMBEDDINGS, "user": "forbidden"},
                     "answer": {"fault": {"kind": "status", "status": 400}}})
    store, file = attached(client, "A forbidden word.")
    found = has_ended(client, store, file)
    assert (found.status, found.last_error.code) == ("failed", "server_error")
    assert found.last_error.message == "The embedding model refused a part of the text."
    assert client.vector_stores.retrieve(store).usage_bytes == 0


@pytest.mark.parametrize("status", [503, 400])  # 400: it refuses all texts, the program's own ones too
def test_a_model_that_stays_away_fails_the_file_at_its_deadline(start_server, upstream, tmp_path, status):
    upstream.script({"match": EMBEDDINGS, "answer": {"fault": {"kind": "status", "status": status}}})
    server = start_server(upstream_url=None, config=with_embeddings(tmp_path, upstream.url), ingest_deadline=1)
    client = server.sdk()
    store, file = attached(client, CAR)
    found = has_ended(client, store, file)
    assert (found.status, found.last_error.code) == ("failed", "server_error")
    assert found.last_error.message == "The embedding model could not be reached."


# ---- Another model ----

def test_documents_are_made_anew_for_another_model_while_the_old_ones_are_searched(start_server, upstream, tmp_path, database):
    url = database.new()
    first = start_server(database_url=url, upstream_url=None, config=with_embeddings(tmp_path, upstream.url))
    store, (car, _) = filled(first.sdk(), CAR, DOCTOR)
    before = first.sdk().vector_stores.retrieve(store)
    first.stop()
    upstream.script(BROKEN)
    second = start_server(database_url=url, upstream_url=None,
                          config=with_embeddings(tmp_path, upstream.url, model="others", dimensions=96))
    client = second.sdk()
    # The new model is away. What there is stays searchable, and is shown as before.
    assert search(client, store, "tyres")[0] == [car]
    now = client.vector_stores.retrieve(store)
    assert (now.status, now.file_counts, now.usage_bytes) == ("completed", before.file_counts, before.usage_bytes)
    second.stop()
    upstream.script()
    upstream.forget()
    third = start_server(database_url=url, upstream_url=None,
                         config=with_embeddings(tmp_path, upstream.url, model="others", dimensions=96))
    client = third.sdk()
    eventually(lambda: search(client, store, "automobile"),  # one document after the other
               lambda found: found[1]["mode"] == "hybrid" and found[0][0] == car)
    eventually(lambda: client.vector_stores.retrieve(store).usage_bytes, lambda bytes: bytes < before.usage_bytes)
    assert client.vector_stores.retrieve(store).file_counts == before.file_counts
    models = {request["body"]["model"] for request in upstream.requests() if request["path"] == "/v1/embeddings"}
    assert models == {"others"}


def test_a_store_is_made_anew_when_its_client_asks_for_it(start_server, upstream, tmp_path, database):
    url = database.new()
    first = start_server(database_url=url, upstream_url=None, config=with_embeddings(tmp_path, upstream.url))
    store, (car, _) = filled(first.sdk(), CAR, DOCTOR)
    first.stop()
    second = start_server(database_url=url, upstream_url=None, config=with_embeddings(
        tmp_path, upstream.url, model="others", dimensions=96, reindex="manual"))
    client, path = second.sdk(), f"/v1/runnel/vector_stores/{store}/reindex"
    attached(client, RICE)  # a store of its own: the new model is known then
    assert search(client, store, "automobile")[1]["mode"] == "lexical"
    made = second.http().post(path)
    assert made.status_code == 200
    assert made.json() == {"object": "vector_store.reindexing", "vector_store_id": store, "queued": 2, "has_more": False}
    eventually(lambda: search(client, store, "automobile"),  # one document after the other
               lambda found: found[1]["mode"] == "hybrid" and found[0][0] == car)
    eventually(lambda: second.http().post(path, json={}).json()["queued"], lambda queued: queued == 0)
    assert client.vector_stores.retrieve(store).file_counts.completed == 2
    assert second.http().post(path, json={"model": "x"}).json()["error"]["param"] == "model"
    assert second.http().post("/v1/runnel/vector_stores/vs_none/reindex").status_code == 404


def test_a_successor_of_a_newer_model_is_left_to_a_node_that_knows_it(start_server, upstream, tmp_path, database):
    url = database.new()
    server = start_server(database_url=url, upstream_url=None, config=with_embeddings(tmp_path, upstream.url))
    store, (car,) = filled(server.sdk(), CAR)
    database.ask("INSERT INTO documents (project_id, id, file_id, recipe, state, next_try_at, queued_at, model_id,"
                 " offered_model, replaces) SELECT project_id, 'doc_newer', file_id, recipe || '9', 'queued',"
                 " queued_at, queued_at, 99, 99, id FROM documents", url=url)
    attached(server.sdk(), DOCTOR)  # which wakes a worker
    tried = "SELECT state FROM documents WHERE id = 'doc_newer' AND fence > 0 AND state <> 'parsing'"
    assert eventually(lambda: database.ask(tried, url=url)) == [["queued"]]
    assert search(server.sdk(), store, "automobile")[0] == [car]


def test_the_engine_pgvector_needs_the_extension_and_a_model(binary, database, upstream, tmp_path):
    def start(*flags):
        made = subprocess.run([binary, "serve", "--retrieval-engine", "pgvector", "--data-dir", tmp_path / "data", *flags],
                              capture_output=True, text=True, timeout=60, check=False)
        assert made.returncode
        return made.stderr
    assert "no section 'embeddings': there are no vectors to keep" in start()
    if database.ask("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'", "postgres"):
        pytest.skip("this PostgreSQL has pgvector")
    config = with_embeddings(tmp_path, upstream.url)
    assert "this PostgreSQL has no extension pgvector of version 0.8 or newer" in start(
        "--config", config, "--database-url", database.new())
