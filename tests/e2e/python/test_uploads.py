"""Uploads: files that come in parts. Made, filled by many requests at once, completed, cancelled, expired; repeats; refusals."""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import socket

import httpx2
import openai
import pytest

from harness.server import eventually

UNKNOWN = "upload_000000000000000000000000"
BODY = {"filename": "big.jsonl", "purpose": "user_data", "bytes": 13, "mime_type": "pdf"}


@pytest.fixture(params=["dir", "database"])
def place(request, start_server):
    """A server whose files lie there."""
    return start_server(file_storage=request.param)


def problem(answer):
    error = answer.json()["error"]
    assert error["type"] == "invalid_request_error"
    return answer.status_code, error["code"], error["param"], error["message"]


def begin(http, size=13, **more):
    answer = http.post("/v1/uploads", json={**BODY, "bytes": size, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()["id"]


def add(http, upload, data, **more):
    return http.post(f"/v1/uploads/{upload}/parts", files={"data": ("upload", data)}, **more)


def part(http, upload, data):
    answer = add(http, upload, data)
    assert answer.status_code == 200, answer.text
    return answer.json()["id"]


def complete(http, upload, *parts, **more):
    return http.post(f"/v1/uploads/{upload}/complete", json={"part_ids": parts, **more})


def cancel(http, upload):
    return http.post(f"/v1/uploads/{upload}/cancel")


# ---- From parts to a file ----

def test_an_upload_becomes_a_file_of_its_parts_in_their_order(client):
    upload = client.uploads.create(filename="../报告.md", purpose="assistants", bytes=11, mime_type="text/markdown",
                                   expires_after={"anchor": "created_at", "seconds": 7200})
    assert upload.id.startswith("upload_") and upload.object == "upload" and upload.status == "pending"
    assert (upload.filename, upload.purpose, upload.bytes, upload.file) == ("报告.md", "assistants", 11, None)
    assert upload.expires_at == upload.created_at + 3600
    world = client.uploads.parts.create(upload.id, data=b"world")
    hello = client.uploads.parts.create(upload.id, data=b"hello ")
    assert hello.id.startswith("part_") and hello.object == "upload.part" and hello.upload_id == upload.id
    done = client.uploads.complete(upload.id, part_ids=[hello.id, world.id],
                                   md5=hashlib.md5(b"hello world").hexdigest().upper())
    assert (done.id, done.status, done.expires_at) == (upload.id, "completed", upload.expires_at)
    file = done.file
    assert file.id.startswith("file-") and file.bytes == 11 and file.filename == "报告.md"
    assert file.expires_at == file.created_at + 7200
    assert client.files.retrieve(file.id) == file
    content = client.files.content(file.id)
    assert content.read() == b"hello world"
    assert content.response.headers["etag"] == f'"{hashlib.sha256(b"hello world").hexdigest()}"'
    assert file.id in [listed.id for listed in client.files.list(purpose="assistants")]


def test_the_helper_of_the_sdk_uploads_in_chunks(place, tmp_path):
    data = os.urandom(5 * 2**20 + 17)
    path = tmp_path / "big.bin"
    path.write_bytes(data)
    client = place.sdk()
    upload = client.uploads.upload_file_chunked(file=path, mime_type="application/octet-stream",
                                                purpose="user_data", part_size=2**20,
                                                md5=hashlib.md5(data).hexdigest())
    assert upload.status == "completed" and upload.file.bytes == len(data)
    assert client.files.content(upload.file.id).read() == data
    upload = client.uploads.upload_file_chunked(file=data[:100], filename="small", bytes=100, mime_type="pdf",
                                                purpose="vision")
    assert client.files.content(upload.file.id).read() == data[:100]


def test_many_parts_at_once(place):
    pieces = [os.urandom(100_000 + i) for i in range(24)]
    whole = b"".join(pieces)
    with place.http() as http, concurrent.futures.ThreadPoolExecutor(12) as pool:
        upload = begin(http, len(whole))
        parts = list(pool.map(lambda data: part(http, upload, data), pieces))
        done = complete(http, upload, *parts, md5=hashlib.md5(whole).hexdigest()).json()
        assert http.get(f"/v1/files/{done['file']['id']}/content").content == whole


def test_a_file_needs_all_bytes_and_not_all_parts(http):
    """A part whose answer was lost is sent again; the first one is not named, and goes."""
    upload = begin(http, 9)
    part(http, upload, b"abc")
    answer = complete(http, upload, part(http, upload, b"abc"))
    assert problem(answer) == (400, "bytes_mismatch", "part_ids",
                               "The parts have 3 bytes, but the upload was made for 9.")
    assert problem(add(http, upload, b"defg"))[1] == "upload_too_large"  # Both still count.
    cancel(http, upload)


# ---- Again ----

def test_complete_and_cancel_bear_being_repeated(http):
    upload = begin(http)
    parts = part(http, upload, b"hello "), part(http, upload, b"world!!")
    done = complete(http, upload, *parts)
    assert done.status_code == 200
    assert complete(http, upload, *parts).json() == done.json()
    assert complete(http, upload, *parts, md5=hashlib.md5(b"hello world!!").hexdigest()).json() == done.json()
    assert problem(complete(http, upload, *parts[::-1])) == \
        (400, "upload_not_pending", None, f"Upload {upload} was completed with other parts.")
    assert http.delete(f"/v1/files/{done.json()['file']['id']}").status_code == 200
    assert complete(http, upload, *parts).json() == {**done.json(), "file": None}

    other = begin(http)
    part(http, other, b"hello")
    gone = cancel(http, other)
    assert gone.json()["status"] == "cancelled" and gone.json()["file"] is None
    assert cancel(http, other).json() == gone.json()


def test_requests_that_are_repeated_under_their_keys_are_carried_out_once(http):
    def create(size=13):
        return http.post("/v1/uploads", json={**BODY, "bytes": size}, headers={"Idempotency-Key": "uploads-1"})
    upload = create().json()
    assert create().json() == upload
    assert problem(create(14))[1] == "idempotency_key_reused"
    key = {"headers": {"Idempotency-Key": "uploads-2"}}
    first = add(http, upload["id"], b"hello world!!", **key)
    assert first.status_code == 200  # There is no room for another.
    assert add(http, upload["id"], b"hello world!!", **key).json() == first.json()
    assert problem(add(http, upload["id"], b"x", headers={"Idempotency-Key": "uploads-4"}))[1] == "upload_too_large"
    other = begin(http, 26)
    key = {"headers": {"Idempotency-Key": "uploads-3"}}
    first = add(http, other, b"hello world!!", **key)
    assert add(http, other, b"hello world!!", **key).json() == first.json()
    assert problem(add(http, other, b"Hello world!!", **key))[1] == "idempotency_key_reused"


def test_completions_at_once_make_one_file(place):
    data = os.urandom(3 * 2**20)
    with place.http() as http, concurrent.futures.ThreadPoolExecutor(8) as pool:
        upload = begin(http, len(data))
        parts = [part(http, upload, data[i:i + 2**20]) for i in range(0, len(data), 2**20)]
        answers = list(pool.map(lambda _: complete(http, upload, *parts), range(8)))
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.json()["file"]["id"] for answer in answers}) == 1
        assert len(http.get("/v1/files").json()["data"]) == 1
        assert http.get(f"/v1/files/{answers[0].json()['file']['id']}/content").content == data


def test_an_upload_ends_once_when_requests_come_at_once(place):
    """Complete, cancel and more parts, side by side: in the end it is a file, or it is nothing."""
    data = os.urandom(2**20)
    with place.http() as http, concurrent.futures.ThreadPoolExecutor(8) as pool:
        before = len(http.get("/v1/files").json()["data"])
        for round in range(6):
            upload = begin(http, 2 * len(data))
            parts = [part(http, upload, data) for _ in range(2)]
            calls = [lambda: complete(http, upload, *parts), lambda: cancel(http, upload),
                     lambda: add(http, upload, b"x"), lambda: complete(http, upload, *parts)]
            answers = list(pool.map(lambda call: call(), calls[round % 4:] + calls[:round % 4]))
            codes = {answer.json()["error"]["code"] for answer in answers if answer.status_code != 200}
            assert codes <= {"upload_not_pending", "upload_too_large"}
            ends = {answer.json()["status"] for answer in answers if answer.status_code == 200}
            assert len(ends) == 1, ends
            before += ends == {"completed"}
            assert len(http.get("/v1/files").json()["data"]) == before


# ---- Refusals ----

def test_what_has_ended_takes_nothing_more(http):
    upload = begin(http)
    parts = part(http, upload, b"hello "), part(http, upload, b"world!!")
    assert complete(http, upload, *parts).status_code == 200
    assert problem(add(http, upload, b"x")) == \
        (400, "upload_not_pending", None, f"Upload {upload} is completed; no parts can be added to it.")
    assert problem(cancel(http, upload)) == \
        (400, "upload_not_pending", None, f"Upload {upload} is completed; it cannot be cancelled.")
    upload = begin(http)
    cancel(http, upload)
    assert problem(add(http, upload, b"x")) == \
        (400, "upload_not_pending", None, f"Upload {upload} is cancelled; no parts can be added to it.")
    assert problem(complete(http, upload)) == \
        (400, "upload_not_pending", None, f"Upload {upload} is cancelled; it cannot be completed.")


def test_a_failed_completion_leaves_the_upload_pending(http):
    data = b"hello world!!"
    upload, other = begin(http), begin(http)
    mine = part(http, upload, data[:6]), part(http, upload, data[6:])
    foreign = part(http, other, b"x")
    files = http.get("/v1/files").json()["data"]
    md5 = hashlib.md5(data).hexdigest()
    for parts, more, expected in [
        ([mine[0], foreign], {}, ("invalid_part_ids", "part_ids[1]", f"Part {foreign} does not belong to {upload}.")),
        ([mine[0], mine[1], mine[0]], {}, ("invalid_part_ids", "part_ids[2]", f"Part {mine[0]} is named twice.")),
        (["part_nothing"], {}, ("invalid_part_ids", "part_ids[0]", f"Part part_nothing does not belong to {upload}.")),
        ([mine[1]], {}, ("bytes_mismatch", "part_ids", "The parts have 7 bytes, but the upload was made for 13.")),
        ([], {}, ("bytes_mismatch", "part_ids", "The parts have 0 bytes, but the upload was made for 13.")),
        (mine[::-1], {"md5": md5}, ("md5_mismatch", "md5", "The MD5 of the parts is "
                                    f"{hashlib.md5(data[6:] + data[:6]).hexdigest()}, not {md5}.")),
        (mine, {"md5": "abc"}, ("invalid_value", "md5", "Invalid 'md5': expected 32 hexadecimal digits.")),
    ]:
        assert problem(complete(http, upload, *parts, **more)) == (400, *expected)
    assert http.get("/v1/files").json()["data"] == files
    assert complete(http, upload, *mine, md5=md5).json()["status"] == "completed"


@pytest.mark.parametrize("change, code, param", [
    ({"filename": None}, "missing_required_parameter", "filename"),
    ({"filename": "x" * 256}, "string_above_max_length", "filename"),
    ({"purpose": None}, "missing_required_parameter", "purpose"),
    ({"purpose": "batch_output"}, "invalid_value", "purpose"),
    ({"bytes": None}, "missing_required_parameter", "bytes"),
    ({"bytes": 0}, "integer_below_min_value", "bytes"),
    ({"bytes": "13"}, "invalid_type", "bytes"),
    ({"bytes": 2**33 + 1}, "integer_above_max_value", "bytes"),
    ({"mime_type": None}, "missing_required_parameter", "mime_type"),
    ({"mime_type": "x" * 256}, "string_above_max_length", "mime_type"),
    ({"expires_after": {"anchor": "now", "seconds": 3600}}, "invalid_value", "expires_after.anchor"),
    ({"expires_after": {"anchor": "created_at"}}, "missing_required_parameter", "expires_after.seconds"),
    ({"expires_after": {"anchor": "created_at", "seconds": 3599}}, "integer_below_min_value", "expires_after.seconds"),
    ({"expires_after": 3600}, "invalid_type", "expires_after"),
])
def test_a_wrong_upload_is_not_begun(http, change, code, param):
    body = {key: value for key, value in {**BODY, **change}.items() if value is not None}
    status, found, at, _ = problem(http.post("/v1/uploads", json=body))
    assert (status, found, at) == (400, code, param)


@pytest.mark.parametrize("body, code, param", [
    ({}, "missing_required_parameter", "part_ids"),
    ({"part_ids": "part_a"}, "invalid_type", "part_ids"),
    ({"part_ids": ["part_a", 7]}, "invalid_type", "part_ids[1]"),
    ({"part_ids": ["part_a"] * 10001}, "array_above_max_length", "part_ids"),
    ({"part_ids": [], "md5": 7}, "invalid_type", "md5"),
])
def test_a_wrong_completion_is_refused(http, body, code, param):
    status, found, at, _ = problem(http.post(f"/v1/uploads/{begin(http)}/complete", json=body))
    assert (status, found, at) == (400, code, param)


def test_a_wrong_part_is_refused(start_server):
    server = start_server(max_upload_part=100_000)
    with server.http() as http:
        small, large = begin(http), begin(http, 1_000_000)
        assert problem(http.post(f"/v1/uploads/{small}/parts", files={"other": ("a", b"x")}))[1:3] == \
            ("unknown_parameter", "other")
        assert problem(http.post(f"/v1/uploads/{small}/parts", files={"data": (None, b"x")}))[1:3] == \
            ("missing_required_parameter", "data")
        assert problem(add(http, small, b""))[1:3] == ("invalid_value", "data")
        assert http.post(f"/v1/uploads/{small}/parts", json={"data": "x"}).status_code == 415
        for data in (b"x" * 14, b"x" * 1000, b"x" * 2_000_000):
            assert problem(add(http, small, data)) == \
                (400, "upload_too_large", "data", "The parts would have more bytes than the upload was made for (13).")
        for data in (b"x" * 100_001, b"x" * 900_000):
            assert problem(add(http, large, data)) == \
                (413, "file_too_large", "data", "The file is larger than 100000 bytes.")
        assert add(http, small, b"x" * 12).status_code == 200
        assert problem(add(http, small, b"xx"))[1] == "upload_too_large"
        assert add(http, small, b"x").status_code == 200


def test_unknown_and_foreign_uploads_are_unknown(server, http, stranger_key):
    mine = begin(http)
    mine_part = part(http, mine, b"hello world!!")
    stranger = openai.OpenAI(base_url=f"{server.url}/v1", api_key=stranger_key, max_retries=0)
    for id in (UNKNOWN, mine):
        for call in (lambda: stranger.uploads.parts.create(id, data=b"x"), lambda: stranger.uploads.cancel(id),
                     lambda: stranger.uploads.complete(id, part_ids=[mine_part])):
            with pytest.raises(openai.NotFoundError) as raised:
                call()
            assert raised.value.body["message"] == f"No upload found with id '{id}'."
            assert (raised.value.param, raised.value.code) == (None, None)
    theirs = stranger.uploads.create(filename="a", purpose="assistants", bytes=13, mime_type="a")
    with pytest.raises(openai.BadRequestError) as raised:
        stranger.uploads.complete(theirs.id, part_ids=[mine_part])
    assert raised.value.code == "invalid_part_ids"
    assert complete(http, mine, mine_part).status_code == 200


def test_an_upload_counts_for_its_project_until_it_is_given_up(start_server):
    with start_server(max_project_bytes=100).http() as http:
        upload = begin(http, 60)
        answer = http.post("/v1/uploads", json={**BODY, "bytes": 41})
        assert problem(answer)[:2] == (400, "storage_quota_exceeded")
        cancel(http, upload)
        upload = begin(http, 100)
        done = complete(http, upload, part(http, upload, b"x" * 100))
        assert problem(http.post("/v1/uploads", json={**BODY, "bytes": 1}))[1] == "storage_quota_exceeded"
        http.delete(f"/v1/files/{done.json()['file']['id']}")
        begin(http, 100)


# ---- Failures ----

LEFT = """SELECT (SELECT count(*) FROM blobs), (SELECT count(*) FROM blob_pages), (SELECT count(*) FROM upload_parts),
          (SELECT count(*) FROM files), (SELECT coalesce(sum(bytes), 0) FROM storage_use)"""


@pytest.fixture(params=["dir", "database"])
def faulty(request, start_fault_server):
    """A server with fault points, whose files lie there."""
    return start_fault_server(file_storage=request.param)


def left(server, database):
    """Blobs, pages, parts, files, bytes of the project, and files in the directory, when all time has passed."""
    url = server.settings["database_url"]
    database.ask("UPDATE blobs SET changed_at = changed_at - 4000000000; "
                 "UPDATE uploads SET expires_at = expires_at - 5000000000", url=url)
    for _ in range(2):  # What the first sweep lets go has to be old, too.
        server.stop()
        server.start()
        eventually(lambda: database.ask("SELECT count(*) FROM uploads WHERE status = 'pending'", url=url)[0][0] == "0",
                   bool)
        database.ask("UPDATE blobs SET changed_at = changed_at - 4000000000", url=url)
    eventually(lambda: database.ask("SELECT count(*) FROM blobs WHERE holders <= 0", url=url)[0][0] == "0", bool)
    numbers = [int(number) for number in database.ask(LEFT, url=url)[0]]
    directory = pathlib.Path(server.directory) / "data" / "files"
    return numbers + [sum(path.name.startswith("blob_") for path in directory.rglob("*"))]


# Not store.commit: the keeper commits, too. test_uploads.c has it.
POINTS = {"parts": ["blob.begin", "blob.add", "blob.finish", "blob.durable", "store_blob_begin", "store_blob_written",
                    "store_upload_lock", "store_file_hold", "store_upload_part_add"],
          "complete": ["blob.room", "blob.begin", "blob.read", "blob.add", "blob.finish", "blob.durable",
                       "upload.joined", "store_upload_parts", "store_blob_begin", "store_blob_written",
                       "store_upload_lock", "store_file_hold", "store_file_create", "store_upload_end",
                       "store_upload_release"],
          "cancel": ["store_upload_lock", "store_upload_end", "store_upload_release", "store_file_count"]}
OF_THE_DISK = {"blob.begin", "blob.add", "blob.finish", "blob.read", "blob.room"}


def test_what_fails_once_leaves_the_upload_as_it_was(faulty, database):
    data = b"hello world!!"
    skipped = OF_THE_DISK if faulty.settings["file_storage"] == "database" else set()
    with faulty.http() as http:
        for step, points in POINTS.items():
            for point in points:
                if point in skipped:
                    continue
                upload = begin(http)
                parts = [] if step == "parts" else [part(http, upload, data)]
                call = {"parts": lambda: add(http, upload, data), "complete": lambda: complete(http, upload, *parts),
                        "cancel": lambda: cancel(http, upload)}[step]
                faulty.arm(f"{point}:1")
                answer = call()
                assert answer.status_code >= 500, (step, point, answer.text)
                assert faulty.has_fired(), (step, point)
                faulty.arm()
                answer = call()
                assert answer.status_code == 200, (step, point, answer.text)
                if step == "complete":
                    assert http.get(f"/v1/files/{answer.json()['file']['id']}/content").content == data
                    http.delete(f"/v1/files/{answer.json()['file']['id']}")
    assert left(faulty, database) == [0] * 6


def test_a_server_that_dies_leaves_an_upload_that_can_be_finished(faulty, database):
    data = os.urandom(3 * 2**20)
    points = ["upload.joined:1:kill", "store_upload_end:1:kill", "store_upload_release:1:kill"]
    if faulty.settings["file_storage"] == "dir":
        points += ["blob.add:2:kill", "blob.finish:1:kill", "blob.durable:1:kill"]
    for point in points:
        http = faulty.http()
        upload = begin(http, len(data))
        parts = [part(http, upload, data[i:i + 2**20]) for i in range(0, len(data), 2**20)]
        faulty.arm(point)
        with pytest.raises(httpx2.TransportError):
            complete(http, upload, *parts)
        faulty.restart()
        done = complete(http, upload, *parts, md5=hashlib.md5(data).hexdigest())
        assert done.status_code == 200, (point, done.text)
        http.delete(f"/v1/files/{done.json()['file']['id']}")
    assert left(faulty, database) == [0] * 6


def test_a_client_that_leaves_leaves_nothing_behind(faulty, database):
    """In the head, in the form, in the bytes, before the answer; and in the middle of a completion."""
    data = os.urandom(300_000)
    with faulty.http() as http:
        upload = begin(http, 3 * len(data))
        named = part(http, upload, data)
        head = (f"POST /v1/uploads/{upload}/parts HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                f"{faulty.settings['api_key']}\r\nContent-Type: multipart/form-data; boundary=b\r\n")
        body = (b'--b\r\nContent-Disposition: form-data; name="data"; filename="a"\r\n\r\n' + data + b"\r\n--b--\r\n")
        whole = head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body
        for cut in (len(head) - 20, len(head) + 60, len(whole) - len(data) // 2, len(whole) - 9, len(whole)):
            with socket.create_connection(("127.0.0.1", faulty.port), timeout=30) as leaver:
                leaver.sendall(whole[:cut])
        text = json.dumps({"part_ids": [named]})
        with socket.create_connection(("127.0.0.1", faulty.port), timeout=30) as leaver:
            leaver.sendall((head.replace("/parts", "/complete").replace("multipart/form-data; boundary=b", "application/json")
                            + f"Content-Length: {len(text)}\r\n\r\n{text}").encode())
        # The upload is intact after all of them.
        room = 3 * len(data)
        answer = http.post("/v1/uploads", json=BODY)
        assert answer.status_code == 200
        assert add(http, upload, b"x" * (room - 2 * len(data))).status_code in (200, 400)
    assert left(faulty, database) == [0] * 6


def test_uploads_expire(faulty, database):
    with faulty.http() as http:
        upload = begin(http)
        mine = part(http, upload, b"hello world!!")
        database.ask("UPDATE uploads SET expires_at = expires_at - 3601000000", url=faulty.settings["database_url"])
        for answer, what in ((add(http, upload, b"x"), "no parts can be added to it"),
                             (complete(http, upload, mine), "it cannot be completed"),
                             (cancel(http, upload), "it cannot be cancelled")):
            assert problem(answer) == (400, "upload_not_pending", None, f"Upload {upload} is expired; {what}.")
    assert left(faulty, database) == [0] * 6
