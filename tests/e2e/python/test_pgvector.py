"""Vectors in a table of pgvector: the tests of the built-in engine, on a PostgreSQL that has it, and what is of this engine alone."""

import os
import subprocess
import time

import pytest

import test_vector_model
from harness.database import Database
from harness.patience import patience
from harness.pgvector import binaries
from harness.server import eventually
from test_meaning import (  # noqa: F401  the same tests, on the fixtures of this file
    CAR, DOCTOR, RICE, filled, meaning, search, with_embeddings,
    test_a_busy_model_is_waited_for_and_nothing_is_embedded_twice,
    test_a_long_document_gives_its_worker_back_between_two_windows,
    test_a_model_that_is_away_leaves_the_words,
    test_a_model_that_refuses_a_text_fails_the_file,
    test_a_search_finds_what_means_the_same,
    test_a_store_is_made_anew_when_its_client_asks_for_it,
    test_a_successor_of_a_newer_model_is_left_to_a_node_that_knows_it,
    test_documents_are_made_anew_for_another_model_while_the_old_ones_are_searched)


@pytest.fixture(scope="module")
def database(scratch, binary):
    database = Database(scratch / "pgvector", binary, binaries())
    yield database
    database.stop()


@pytest.fixture
def start_server(start_server):
    def start(retrieval_engine="pgvector", **settings):
        return start_server(retrieval_engine=retrieval_engine, **settings)
    return start


ROWS = "SELECT count(DISTINCT document_id), count(*), min(model_id) FROM pgvector_chunks"


def test_vectors_are_rows_and_go_with_their_documents(meaning, database):
    client, url = meaning.sdk(), meaning.settings["database_url"]
    assert meaning.http().get("/v1/runnel/retrieval").json()["engine"] == "pgvector"
    store, (car, doctor, rice) = filled(client, CAR, DOCTOR, RICE)
    assert database.ask(ROWS, url=url) == [["3", "3", "1"]]
    assert database.ask("SELECT count(*) FROM chunk_vectors", url=url) == [["0"]]
    hits = client.vector_stores.search(store, query="automobile", filters={"type": "eq", "key": "of", "value": "none"})
    assert hits.data == []
    client.vector_stores.files.update(doctor, vector_store_id=store, attributes={"of": "health"})
    hits = client.vector_stores.search(store, query="automobile", filters={"type": "eq", "key": "of", "value": "health"})
    assert [hit.file_id for hit in hits] == [doctor]
    client.files.delete(car)
    assert car not in search(client, store, "automobile")[0]


def test_another_engine_makes_documents_anew(start_server, upstream, tmp_path, database):
    url, config = database.new(), with_embeddings(tmp_path, upstream.url)
    first = start_server(retrieval_engine="builtin", database_url=url, upstream_url=None, config=config)
    store, (car, _) = filled(first.sdk(), CAR, DOCTOR)
    first.stop()
    for engine, model in (("pgvector", "2"), ("builtin", "3")):
        server = start_server(retrieval_engine=engine, database_url=url, upstream_url=None, config=config)
        client = server.sdk()
        assert search(client, store, "tyres")[0][0] == car
        eventually(lambda: search(client, store, "automobile"),
                   lambda found: found[1]["mode"] == "hybrid" and found[0][0] == car)
        made = f"SELECT count(*) FROM documents WHERE state = 'ready' AND model_id = {model}"
        eventually(lambda: database.ask(made, url=url), lambda rows: rows == [["2"]])
        assert database.ask(ROWS, url=url) == [["2", "2", "2"]]  # the first engine's documents go an hour later
        server.stop()


def test_the_table_itself(binary):
    """tests/integration/core/store/vector_stores/test_pgvector.c, which the PostgreSQL of Debian skips."""
    program = binary.parent / "tests/integration/test_store_pgvector"
    path = f"{binaries()}:{os.environ['PATH']}"  # pg_config says where PostgreSQL is
    environment = {name: value for name, value in os.environ.items() if name != "RUNNEL_TEST_CLUSTER"}
    done = subprocess.run([program], capture_output=True, text=True, timeout=patience(60), check=False,
                          env={**environment, "PATH": path})
    assert done.returncode == 0 and "SKIPPED" not in done.stderr + done.stdout, done.stderr


def test_searches_see_what_a_dictionary_says(start_server, upstream, tmp_path):
    test_vector_model.test_searches_see_what_a_dictionary_says(start_server, upstream, tmp_path, "hybrid", 200)


def test_a_document_does_not_wait_for_the_index(meaning, database):
    """Making it takes hours where there are many rows. Here a transaction that writes holds it up."""
    client, url = meaning.sdk(), meaning.settings["database_url"]
    index = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('pgvector_chunks_1')"
    with database.session("BEGIN; LOCK TABLE pgvector_chunks IN ROW EXCLUSIVE MODE", url):
        store, (car, _) = filled(client, CAR, DOCTOR)
        assert search(client, store, "automobile")[0][0] == car
        assert database.ask(index, url=url) in ([], [["f"]])
    eventually(lambda: database.ask(index, url=url), lambda rows: rows == [["t"]])


def test_a_server_that_ends_does_not_wait_for_the_index(meaning, database):
    url = meaning.settings["database_url"]
    with database.session("BEGIN; LOCK TABLE pgvector_chunks IN ROW EXCLUSIVE MODE", url):
        filled(meaning.sdk(), CAR)
        begun = time.monotonic()
        assert meaning.stop() == 0
        assert time.monotonic() - begun < patience(10)
    meaning.start()
    filled(meaning.sdk(), DOCTOR)
    eventually(lambda: database.ask("SELECT indisvalid FROM pg_index WHERE indexrelid ="
                                    " to_regclass('pgvector_chunks_1')", url=url), lambda rows: rows == [["t"]])
