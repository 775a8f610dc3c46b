"""Files on their way into vector stores while servers are killed, statements fail and the database is away.

After each: every file has ended, the counters are what count(*) says, nothing is left that no file names, and a search finds
exactly what is completed."""

import base64
import json
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2
import pytest

from harness.database import Database
from harness.server import eventually
from test_meaning import EMBEDDINGS, with_embeddings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

COUNTERS = """SELECT count(*) FROM vector_stores v, LATERAL (
    SELECT count(*) FILTER (WHERE status = 'in_progress') a, count(*) FILTER (WHERE status = 'completed') b,
           count(*) FILTER (WHERE status = 'failed') c, count(*) FILTER (WHERE status = 'cancelled') d,
           coalesce(sum(usage_bytes), 0) e
    FROM vector_store_files f WHERE f.project_id = v.project_id AND f.vector_store_id = v.id) s
    WHERE (v.in_progress, v.completed, v.failed, v.cancelled, v.usage_bytes) <> (s.a, s.b, s.c, s.d, s.e)"""
HALF_MADE = """SELECT count(*) FROM (SELECT document_id FROM document_texts UNION SELECT document_id FROM chunks
    UNION SELECT document_id FROM document_segments) x
    WHERE NOT EXISTS (SELECT FROM documents d WHERE d.id = x.document_id AND (d.state = 'ready' OR d.cut))"""
VECTORS_LEFT = "SELECT count(*) FROM chunk_vectors"
UNNAMED = """SELECT count(*) FROM documents d WHERE NOT EXISTS (SELECT FROM vector_store_files f
    WHERE d.id IN (f.document_id, f.searched_id))
    AND NOT EXISTS (SELECT FROM left_documents l WHERE l.document_id = d.id)"""


class Shelf:
    """A store and some files, one of them bad, on a server."""

    def __init__(self, server, count=4):
        self.server = server
        self.api = server.api()
        self.store = self.api.post("/vector_stores", json={}).json()["id"]
        self.files = [self.upload(f"Text number{i}." if i else "") for i in range(count)]

    def upload(self, text):
        answer = self.api.post("/files", files={"file": ("a.txt", text.encode())},
                               data={"purpose": "assistants"})
        assert answer.status_code == 200, answer.text
        return answer.json()["id"]

    def attach(self):
        """The id of the batch; None if the request failed, or its answer got lost with its server."""
        try:
            answer = self.server.api().post(f"/vector_stores/{self.store}/file_batches",
                                            json={"file_ids": self.files})
        except httpx2.TransportError:
            return None
        return answer.json()["id"] if answer.status_code == 200 else None

    def attached(self, database, url):
        """The batch of a request whose answer got lost; attached now, if the server had died before."""
        found = database.ask(f"SELECT id FROM file_batches WHERE vector_store_id = '{self.store}'", url=url)
        return found[0][0] if found else self.attach()

    def batch(self, batch):
        return self.server.api().get(f"/vector_stores/{self.store}/file_batches/{batch}").json()

    def has_ended(self, batch, seconds=60):
        return eventually(lambda: self.batch(batch), lambda found: found.get("status", "in_progress") != "in_progress", seconds)

    def assert_whole(self, batch, database, url, mode="lexical"):
        counts = self.has_ended(batch)["file_counts"]
        assert counts == {"in_progress": 0, "completed": len(self.files) - 1, "failed": 1, "cancelled": 0,
                          "total": len(self.files)}
        self.assert_sound(database, url)
        for i in range(1, len(self.files)):
            page = self.server.api().post(f"/vector_stores/{self.store}/search", json={"query": f"number{i}"}).json()
            assert page["runnel"]["mode"] == mode
            found = [hit["file_id"] for hit in page["data"]]
            assert found[0] == self.files[i] and (mode == "hybrid" or len(found) == 1)

    @staticmethod
    def assert_sound(database, url):
        for question in (COUNTERS, HALF_MADE, UNNAMED):
            assert database.ask(question, url=url) == [["0"]], question


@pytest.fixture
def server(start_fault_server):
    return start_fault_server(lease_ttl=1)


KILLS = ["store_document_claim", "store_document_claimed", "ingest.read", "ingest.publish", "store_document_hold",
         "store_document_texts", "store_document_chunks", "store_document_segment", "store_document_stores",
         "store_document_files", "store_document_end", "store.commit"]


@pytest.mark.parametrize("point", KILLS)
def test_a_server_that_is_killed_leaves_nothing_half_made(start_fault_server, database, point):
    server = start_fault_server(lease_ttl=1)
    url = server.settings["database_url"]
    shelf = Shelf(server)
    if point == "store.commit":  # of the first document, whichever that is
        server.arm("ingest.publish:1:hold")
        batch = shelf.attach()
        eventually(server.has_fired)
        server.arm("store.commit:1:kill")
    else:
        server.arm(f"{point}:1:kill")
        batch = shelf.attach()
    eventually(lambda: server.ended() is not None)
    Shelf.assert_sound(database, url)
    server.restart()
    shelf.assert_whole(batch or shelf.attached(database, url), database, url)


@pytest.mark.parametrize("point", ["store_document_cut", "ingest.embedded", "store_document_embedded", "ingest.publish",
                                   "store_document_forget_vectors"])
def test_a_server_that_is_killed_while_it_embeds_pays_for_a_batch_at_most(start_fault_server, database, upstream,
                                                                          tmp_path, point):
    config = with_embeddings(tmp_path, upstream.url)
    # One worker: another would be in the middle of a file of its own.
    server = start_fault_server(lease_ttl=1, config=config, ingest_workers=1)
    url = server.settings["database_url"]
    shelf = Shelf(server, 3)
    server.arm(f"{point}:1:kill")
    batch = shelf.attach()
    eventually(lambda: server.ended() is not None)
    server.restart()
    shelf.assert_whole(batch or shelf.attached(database, url), database, url, "hybrid")
    assert database.ask(VECTORS_LEFT, url=url) == [["0"]]
    texts = [text for request in upstream.requests() if request["path"] == "/v1/embeddings"
             for text in request["body"]["input"] if "Text number" in text]
    # Each text once, and once more what was not stored yet: never after that.
    assert 2 <= len(texts) <= 2 + (2 if "embedded" in point else 0)


def test_a_file_that_ends_three_servers_fails(server, database):
    """It is read by a fourth no more, and the others are not held up."""
    shelf = Shelf(server, 1)
    shelf.files = [shelf.upload("Poison.")]
    server.arm("ingest.publish:1:kill")
    batch = shelf.attach()
    for start in (server.launch, server.launch, server.start):
        eventually(lambda: server.ended() is not None)
        start()
    ended = shelf.has_ended(batch or shelf.attached(database, server.settings["database_url"]))
    assert ended["status"] == "failed"
    file = server.api().get(f"/vector_stores/{shelf.store}/files/{shelf.files[0]}").json()
    assert file["last_error"] == {"code": "server_error", "message": "An internal error occurred."}
    shelf.assert_sound(database, server.settings["database_url"])


@pytest.mark.parametrize("point", [
    "store_document_claim", "store_document_claimed", "store_document_hold", "store_document_texts",
    "store_document_chunks", "store_document_segment", "store_document_stores", "store_document_files",
    "store_document_end", "store_document_retry", "ingest.read", "ingest.publish"])
def test_what_fails_once_is_done_the_next_time(server, database, point):
    shelf = Shelf(server)
    # A document is given back only after something else has failed.
    more = ["ingest.publish:1"] if point == "store_document_retry" else []
    server.arm(f"{point}:1", *more)
    batch = shelf.attach()
    eventually(server.has_fired)
    shelf.assert_whole(batch, database, server.settings["database_url"])


def test_waits_for_a_busy_model_do_not_count_as_failures(start_fault_server, database, upstream, tmp_path):
    server = start_fault_server(config=with_embeddings(tmp_path, upstream.url))
    shelf = Shelf(server, 2)
    upstream.script({"match": EMBEDDINGS, "times": 2, "answer": {"fault": {"kind": "status", "status": 429}}})
    server.arm("ingest.publish:1")
    batch = shelf.attach()
    eventually(server.has_fired)
    shelf.assert_whole(batch, database, server.settings["database_url"], "hybrid")


def test_a_long_file_whose_turn_cannot_be_ended_is_continued(start_fault_server, database, upstream, tmp_path):
    """It has two windows of vectors. The first turn cannot give it back, and in the second the vectors cannot be read."""
    server = start_fault_server(lease_ttl=1, config=with_embeddings(tmp_path, upstream.url))
    shelf = Shelf(server, 2)
    shelf.files[1] = shelf.upload("Text number1. " + "word " * 110000)
    server.arm("store_document_retry:1", "store_document_vectors_read:1")
    batch = shelf.attach()
    eventually(server.has_fired)
    shelf.assert_whole(batch, database, server.settings["database_url"], "hybrid")
    texts = [text for request in upstream.requests() if request["path"] == "/v1/embeddings"
             for text in request["body"]["input"] if "number1" in text]
    assert len(texts) == 1 + 1  # and the query


@pytest.mark.parametrize("point", ["store_files_lock", "store_files_documents", "store_files_use",
                                   "store_files_put", "store_file_batch_create"])
def test_a_request_that_fails_attaches_nothing(server, database, point):
    shelf = Shelf(server)
    server.arm(f"{point}:1")
    assert shelf.attach() is None and server.has_fired()
    server.arm()
    assert server.api().get(f"/vector_stores/{shelf.store}").json()["file_counts"]["total"] == 0
    shelf.assert_whole(shelf.attach(), database, server.settings["database_url"])


@pytest.fixture(scope="module")
def own_database(scratch, binary):
    database = Database(scratch / "ingest-database", binary)
    yield database
    database.stop()


AWAY = [point for point in KILLS if point != "store.commit"]
EMBEDDING = ["store_document_cut", "store_document_chunks_read", "ingest.embedded", "store_document_vectors", "store_document_embedded",
             "store_document_forget_vectors"]


@pytest.mark.parametrize("point", AWAY + EMBEDDING)
def test_files_wait_for_a_database_that_is_away(start_fault_server, own_database, upstream, tmp_path, point):
    """It goes in the middle of this step."""
    more = {"config": with_embeddings(tmp_path, upstream.url)} if point in EMBEDDING else {}
    server = start_fault_server(url=own_database.new(), lease_ttl=2, store_timeout=1, **more)
    url = server.settings["database_url"]
    shelf = Shelf(server)
    server.arm(f"{point}:1:hold")
    batch = shelf.attach()
    eventually(server.has_fired)
    own_database.crash()
    server.arm()
    own_database.start()
    shelf.assert_whole(batch or shelf.attached(own_database, url), own_database, url, "hybrid" if more else "lexical")
    assert own_database.ask(VECTORS_LEFT, url=url) == [["0"]]


def test_two_servers_share_the_work_and_take_over(start_fault_server, database):
    first = start_fault_server(lease_ttl=1)
    url = first.settings["database_url"]
    second = start_fault_server(url=url, lease_ttl=1, ingest_workers=1)
    shelf = Shelf(first, 12)
    # Both workers of the first are held with a file each; the second does the rest.
    first.arm("ingest.publish:1:hold", "ingest.publish:2:hold")
    batch = shelf.attach()
    eventually(lambda: shelf.batch(batch)["file_counts"]["in_progress"], lambda n: n <= 2, 60)
    first.kill()
    shelf.server = second
    second.settings = {**second.settings, "api_key": first.settings["api_key"]}
    shelf.assert_whole(batch, database, url)


@pytest.mark.parametrize("how", ["file", "store", "removed", "batch"])
def test_what_is_deleted_while_it_is_at_work_leaves_nothing(server, database, how):
    shelf = Shelf(server, 2)
    api = server.api()
    server.arm("ingest.publish:1:hold")
    batch = shelf.attach()
    eventually(server.has_fired)
    path = f"/vector_stores/{shelf.store}"
    answer = {"file": lambda: [api.delete(f"/files/{file}") for file in shelf.files][-1],
              "store": lambda: api.delete(path),
              "removed": lambda: [api.delete(f"{path}/files/{file}") for file in shelf.files][-1],
              "batch": lambda: api.post(f"{path}/file_batches/{batch}/cancel")}[how]()
    assert answer.status_code == 200, answer.text
    server.arm()
    eventually(lambda: database.ask("SELECT count(*) FROM documents WHERE state IN ('queued', 'parsing')",
                                    url=server.settings["database_url"]), lambda rows: rows == [["0"]])
    shelf.assert_sound(database, server.settings["database_url"])
    if how == "store":
        assert api.get(path).status_code == 404
    else:
        assert api.get(path).json()["file_counts"]["in_progress"] == 0


@pytest.mark.parametrize("point", ["spool.look", "spool.write"])
def test_a_full_disk_delays_a_file_and_does_not_fail_it(server, database, point):
    """What is read lies in a spool file meanwhile."""
    shelf = Shelf(server)
    server.arm(f"{point}:1")
    batch = shelf.attach()
    eventually(server.has_fired)
    shelf.assert_whole(batch, database, server.settings["database_url"])


def good(texts):
    return {"data": [{"index": i, "embedding": [1 + text.count(letter) for letter in "aeimnort"]} for i, text in enumerate(texts)]}


def one_less(texts):
    return {"data": good(texts)["data"][1:]}


def twice(texts):
    return {"data": [{**one, "index": 0} for one in good(texts)["data"]] * 2}


def shorter(texts):
    return {"data": [{**one, "embedding": one["embedding"][:5]} for one in good(texts)["data"]]}


GARBAGE = {"no JSON": lambda _: b"<html>busy</html>", "nothing": lambda _: b"", "no object": lambda _: b"[1, 2]",
           "half": lambda texts: json.dumps(good(texts)).encode()[:40], "no data": lambda _: b"{}", "one less": one_less,
           "one twice": twice, "fewer numbers": shorter,
           "NaN": lambda texts: {"data": [{**one, "embedding": base64.b64encode(struct.pack("<8f", *[float("nan")] * 8)).decode()}
                                          for one in good(texts)["data"]]},
           "no numbers": lambda texts: {"data": [{**one, "embedding": ["a"] * 8} for one in good(texts)["data"]]},
           "an error": lambda _: {"error": {"message": "Out of memory."}}}


@pytest.fixture
def babbler():
    """An embeddings model: `babble` makes answers to the first two requests with texts of the test."""
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            babbles = any("number" in text for text in texts) and self.server.left > 0
            self.server.left -= babbles
            self.server.well += [] if babbles else texts
            answer = (self.server.babble if babbles else good)(texts)
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments):
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.left, httpd.well = 2, []
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    yield httpd
    httpd.shutdown()
    httpd.server_close()


@pytest.mark.parametrize("what", GARBAGE)
def test_garbage_of_the_model_is_never_stored(start_fault_server, babbler, database, tmp_path, what):
    babbler.babble = GARBAGE[what]
    url = f"http://127.0.0.1:{babbler.server_address[1]}/v1"
    server = start_fault_server(config=with_embeddings(tmp_path, url, dimensions=8), lease_ttl=1)
    shelf = Shelf(server)
    shelf.assert_whole(shelf.attach(), database, server.settings["database_url"], mode="hybrid")
    assert babbler.left == 0
    for i in range(1, len(shelf.files)):  # each text was sent until its answer was good
        assert any(f"Text number{i}." in text for text in babbler.well)
    assert database.ask(VECTORS_LEFT, url=server.settings["database_url"]) == [["0"]]
