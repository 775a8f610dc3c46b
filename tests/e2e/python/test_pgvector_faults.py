"""The faults of test_faults_ingest.py where vectors are rows of pgvector: servers are killed, statements fail, and the database is
away, at every step from the claim to the end of a document. After each, every file has ended, the counters are right, each document
has a row for each of its chunks, and no row is left without a document."""

import pytest

from harness.database import Database
from harness.pgvector import binaries
from harness.server import eventually
from test_faults_ingest import KILLS, Shelf
from test_meaning import with_embeddings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

STEPS = [*KILLS, "store_document_cut", "store_document_chunks_read", "ingest.embedded", "store_pgvector_insert",
         "store_document_embedded"]
ROWS_LEFT = """SELECT count(*) FROM pgvector_chunks p WHERE NOT EXISTS (SELECT FROM documents d
    WHERE d.project_id = p.project_id AND d.id = p.document_id AND (d.state = 'ready' OR d.cut))"""
ROWS_MISSING = """SELECT count(*) FROM documents d WHERE d.state = 'ready' AND d.chunk_count <> (SELECT count(*) FROM pgvector_chunks p
    WHERE p.project_id = d.project_id AND p.document_id = d.id AND p.model_id = d.model_id)"""


@pytest.fixture(scope="module")
def database(scratch, binary):
    database = Database(scratch / "pgvector-faults", binary, binaries())
    yield database
    database.stop()


@pytest.fixture
def start(start_fault_server, upstream, tmp_path):
    def start(**settings):
        # One worker: another would be in the middle of a file of its own.
        return start_fault_server(lease_ttl=1, ingest_workers=1, retrieval_engine="pgvector",
                                  config=with_embeddings(tmp_path, upstream.url), **settings)
    return start


def assert_whole(shelf, batch, database):
    url = shelf.server.settings["database_url"]
    shelf.assert_whole(batch or shelf.attached(database, url), database, url, "hybrid")
    for question in (ROWS_LEFT, ROWS_MISSING, "SELECT count(*) FROM chunk_vectors"):
        assert database.ask(question, url=url) == [["0"]], question


def arm(server, shelf, point, action):
    """The batch, once the fault has had its chance."""
    if point != "store.commit":
        server.arm(f"{point}:1{action}")
        return shelf.attach()
    server.arm("ingest.publish:1:hold")
    batch = shelf.attach()
    eventually(server.has_fired)
    server.arm(f"store.commit:1{action}")
    return batch


@pytest.mark.parametrize("point", STEPS)
def test_a_server_that_is_killed_leaves_nothing_half_made(start, database, point):
    server = start()
    shelf = Shelf(server, 3)
    batch = arm(server, shelf, point, ":kill")
    eventually(lambda: server.ended() is not None)
    server.restart()
    assert_whole(shelf, batch, database)


@pytest.mark.parametrize("point", [point for point in STEPS if point != "store.commit"])
def test_what_fails_once_is_done_the_next_time(start, database, point):
    server = start()
    shelf = Shelf(server, 3)
    batch = arm(server, shelf, point, "")
    eventually(server.has_fired)
    assert_whole(shelf, batch, database)


@pytest.mark.parametrize("point", ["ingest.read", "ingest.embedded", "ingest.publish"])
def test_files_wait_for_a_database_that_is_away(start, database, point):
    server = start(store_timeout=1)
    shelf = Shelf(server, 3)
    server.arm(f"{point}:1:hold")
    batch = shelf.attach()
    eventually(server.has_fired)
    database.crash()
    server.arm()
    database.start()
    assert_whole(shelf, batch, database)


@pytest.mark.parametrize("how", ["file", "store", "removed", "batch"])
def test_what_is_deleted_while_it_is_at_work_leaves_no_rows(start, database, how):
    server = start()
    url = server.settings["database_url"]
    shelf = Shelf(server, 2)
    server.arm("ingest.publish:1:hold")
    batch = shelf.attach()
    eventually(server.has_fired)
    assert database.ask("SELECT count(*) FROM pgvector_chunks", url=url) == [["1"]]
    path = f"/vector_stores/{shelf.store}"
    answer = {"file": lambda: shelf.api.delete(f"/files/{shelf.files[1]}"),
              "store": lambda: shelf.api.delete(path),
              "removed": lambda: shelf.api.delete(f"{path}/files/{shelf.files[1]}"),
              "batch": lambda: shelf.api.post(f"{path}/file_batches/{batch}/cancel")}[how]()
    assert answer.status_code == 200, answer.text
    server.arm()
    eventually(lambda: database.ask("SELECT count(*) FROM documents WHERE state IN ('queued', 'parsing')", url=url),
               lambda rows: rows == [["0"]])
    shelf.assert_sound(database, url)
    assert database.ask("SELECT count(*) FROM pgvector_chunks", url=url) == [["0"]]


def test_an_index_that_cannot_be_made_holds_up_no_file(start, database):
    server = start()
    shelf = Shelf(server, 3)
    server.arm("pgvector.index:1")
    batch = shelf.attach()
    eventually(server.has_fired)
    assert_whole(shelf, batch, database)
