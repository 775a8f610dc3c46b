"""Files: uploaded as they arrive, listed, read back, deleted; and every way in which they are refused."""

import hashlib
import json
import os
import socket
import subprocess
import time

import openai
import pytest

from harness.patience import patience
from harness.s3 import S3
from harness.server import eventually

UNKNOWN = "file-000000000000000000000000"
TEXT = b"Four score and seven years ago.\n"


@pytest.fixture
def s3():
    made = S3()
    yield made
    made.close()


@pytest.fixture
def start_with_s3(start_server, s3, tmp_path, monkeypatch):
    """A server whose new files lie in the bucket."""
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)

    def start(**settings):
        config = tmp_path / "s3.yaml"
        config.write_text(json.dumps(s3.config()))
        return start_server(file_storage="s3", config=config, **settings)
    return start


@pytest.fixture(params=["dir", "database", "s3"])
def place(request, start_server, start_with_s3):
    """A server whose files lie there."""
    if request.param == "s3":
        return start_with_s3()
    return start_server(file_storage=request.param)


def problem(answer):
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["param"], error["message"]


def form(*parts, boundary="b0undary"):
    """A body of parts: (what stands in Content-Disposition, bytes)."""
    body = b"".join(b"--%s\r\nContent-Disposition: form-data; %s\r\n\r\n%s\r\n"
                    % (boundary.encode(), head.encode(), data) for head, data in parts)
    return {"content": body + b"--%s--\r\n" % boundary.encode(),
            "headers": {"Content-Type": f"multipart/form-data; boundary={boundary}"}}


# ---- The object ----

def test_a_file_is_uploaded_read_and_deleted(client, tmp_path):
    path = tmp_path / '报告 "a".md'
    path.write_bytes(TEXT)
    made = client.files.create(file=path, purpose="assistants",
                               expires_after={"anchor": "created_at", "seconds": 3600})
    assert made.id.startswith("file-") and made.object == "file" and made.bytes == len(TEXT)
    assert (made.filename, made.purpose) == ('报告 "a".md', "assistants")
    assert made.status == "processed" and made.status_details is None
    assert made.expires_at == made.created_at + 3600
    assert client.files.retrieve(made.id) == made
    assert client.files.wait_for_processing(made.id) == made
    content = client.files.content(made.id)
    assert content.read() == TEXT
    headers = content.response.headers
    assert headers["content-type"] == "application/octet-stream"
    assert headers["etag"] == f'"{hashlib.sha256(TEXT).hexdigest()}"'
    assert headers["content-length"] == str(len(TEXT))
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-disposition"] == ("attachment; filename=\"__ _a_.md\"; "
                                              "filename*=UTF-8''%E6%8A%A5%E5%91%8A%20%22a%22.md")
    gone = client.files.delete(made.id)
    assert (gone.id, gone.object, gone.deleted) == (made.id, "file", True)
    for call in (client.files.retrieve, client.files.content, client.files.delete):
        with pytest.raises(openai.NotFoundError) as raised:
            call(made.id)
        assert raised.value.body == {"message": f"No such File object: {made.id}", "param": "id",
                                     "type": "invalid_request_error", "code": None}


def test_bytes_without_a_name_and_no_bytes_at_all(client):
    made = client.files.create(file=TEXT, purpose="user_data")
    assert made.filename == "upload" and made.expires_at is None
    empty = client.files.create(file=("empty.txt", b""), purpose="vision")
    assert empty.bytes == 0 and client.files.content(empty.id).read() == b""


@pytest.mark.parametrize("purpose", ["assistants", "batch", "fine-tune", "vision", "user_data", "evals"])
def test_every_purpose_of_a_client_is_taken(http, purpose):
    """Not with the SDK, whose type of a file lacks `evals`, which its type of an upload has."""
    made = http.post("/v1/files", files={"file": ("a.jsonl", b"{}")}, data={"purpose": purpose}).json()
    assert made["purpose"] == purpose
    assert made["expires_at"] == (made["created_at"] + 2592000 if purpose == "batch" else None)
    assert http.delete(f"/v1/files/{made['id']}").status_code == 200


@pytest.mark.parametrize("sent, kept", [
    ("../../etc/passwd", "passwd"), ("C:\\\\temp\\\\a.txt", "a.txt"), ("a\tb", "a_b"), ("", "file"),
    ("/", "file"), ("é" * 200, "é" * 127), ("a%22b%0D%0Ac", 'a"b__c'),
])
def test_a_filename_is_data(http, sent, kept):
    answer = http.post("/v1/files", **form((f'name="file"; filename="{sent}"', TEXT),
                                           ('name="purpose"', b"assistants")))
    assert answer.status_code == 200, answer.text
    assert answer.json()["filename"] == kept


# ---- Bytes ----

def test_large_files_come_back_whole_and_in_ranges(place):
    data = os.urandom(3 * 2**20 + 17)
    with place.http() as http:
        file = http.post("/v1/files", files={"file": ("big.bin", data)},
                         data={"purpose": "user_data"}).json()["id"]
        path = f"/v1/files/{file}/content"
        assert http.get(path).content == data
        for value, begin, end in (("bytes=0-0", 0, 1), ("bytes=5-", 5, None), ("bytes=-7", -7, None),
                                  ("bytes=1048570-1048585", 1048570, 1048586),
                                  ("bytes=100-99999999", 100, None)):
            answer = http.get(path, headers={"Range": value})
            expected = data[begin:end]
            first = begin % len(data)
            assert answer.status_code == 206 and answer.content == expected, value
            assert answer.headers["content-range"] == \
                f"bytes {first}-{first + len(expected) - 1}/{len(data)}"
        for value in ("bytes=1-2,5-6", "bytes=5-1", "lines=1-2", "bytes=a-b", "bytes=-"):
            answer = http.get(path, headers={"Range": value})
            assert answer.status_code == 200 and len(answer.content) == len(data), value
        for value in (f"bytes={len(data)}-", "bytes=-0"):
            answer = http.get(path, headers={"Range": value})
            assert answer.status_code == 416, value
            assert answer.headers["content-range"] == f"bytes */{len(data)}"


def test_files_survive_a_restart(place):
    file = place.sdk().files.create(file=("a.txt", TEXT), purpose="assistants").id
    place.stop()
    place.start()
    assert place.sdk().files.content(file).read() == TEXT


# ---- Lists ----

def test_lists_have_pages_and_purposes(start_server):
    client = start_server().sdk()
    made = [client.files.create(file=(f"{i}.txt", b"x"), purpose=purpose).id
            for i, purpose in enumerate(["assistants", "vision", "assistants", "user_data"])]
    listed = client.files.list()
    assert [file.id for file in listed.data] == made[::-1] and listed.has_more is False
    assert [file.id for file in client.files.list(purpose="assistants")] == [made[2], made[0]]
    assert client.files.list(purpose="nonsense").data == []
    first = client.files.list(limit=3, order="asc")
    assert [file.id for file in first.data] == made[:3] and first.has_more
    assert [file.id for file in first.get_next_page().data] == made[3:]
    client.files.delete(made[1])
    assert [file.id for file in client.files.list(order="asc", after=made[1])] == made[2:]
    with pytest.raises(openai.BadRequestError) as raised:
        client.files.list(after="file-nothing")
    assert raised.value.param == "after"
    with pytest.raises(openai.BadRequestError) as raised:
        client.files.list(limit=10001)
    assert (raised.value.param, raised.value.code) == ("limit", "integer_above_max_value")


def test_a_file_of_another_project_is_unknown(server, client, stranger_key):
    made = client.files.create(file=("a.txt", TEXT), purpose="assistants").id
    stranger = openai.OpenAI(base_url=f"{server.url}/v1", api_key=stranger_key, max_retries=0)
    for call in (stranger.files.retrieve, stranger.files.content, stranger.files.delete):
        with pytest.raises(openai.NotFoundError):
            call(made)
    assert made not in [file.id for file in stranger.files.list()]
    with pytest.raises(openai.BadRequestError):
        # Its id could be one that this server has made, which is a place in the list.
        stranger.files.list(after="file-nothing")
    assert client.files.content(made).read() == TEXT


# ---- Requests that come again ----

def test_an_upload_that_is_repeated_under_its_key_makes_one_file(client, http):
    def upload(text=TEXT, key="upload-1"):
        return http.post("/v1/files", files={"file": ("a.txt", text)}, data={"purpose": "assistants"},
                         headers={"Idempotency-Key": key})
    first = upload()
    again = upload()
    assert first.status_code == 200 and again.json() == first.json()
    assert problem(upload(b"Something else."))[:2] == (400, "idempotency_key_reused")
    assert upload(key="upload-2").json()["id"] != first.json()["id"]
    assert client.files.content(first.json()["id"]).read() == TEXT


# ---- Refusals ----

FILE = ('name="file"; filename="a.txt"', TEXT)
PURPOSE = ('name="purpose"', b"assistants")


@pytest.mark.parametrize("parts, code, param, message", [
    ([PURPOSE], "missing_required_parameter", "file", "Missing required parameter: 'file'."),
    ([PURPOSE, ('name="file"', b"x")], "missing_required_parameter", "file",
     "Missing required parameter: 'file'."),
    ([FILE], "missing_required_parameter", "purpose", "Missing required parameter: 'purpose'."),
    ([FILE, ('name="purpose"', b"nonsense")], "invalid_value", "purpose",
     "Invalid value: 'nonsense'. Supported values are: 'assistants', 'batch', 'fine-tune', 'vision', "
     "'user_data', and 'evals'."),
    ([FILE, ('name="purpose"', b"assistants_output")], "invalid_value", "purpose", None),
    ([FILE, FILE, PURPOSE], "invalid_value", "file", None),
    ([FILE, PURPOSE, ('name="colour"', b"red")], "unknown_parameter", "colour", None),
    ([FILE, PURPOSE, ('name="other"; filename="b.txt"', b"x")], "unknown_parameter", "other", None),
    ([FILE, ('name="purpose"', b"x" * 2000)], "string_above_max_length", "purpose", None),
    ([FILE, PURPOSE, ('name="expires_after[anchor]"', b"created_at")], "missing_required_parameter",
     "expires_after.seconds", "Missing required parameter: 'expires_after.seconds'."),
    ([FILE, PURPOSE, ('name="expires_after[seconds]"', b"3600")], "missing_required_parameter",
     "expires_after.anchor", "Missing required parameter: 'expires_after.anchor'."),
    ([FILE, PURPOSE, ('name="expires_after[anchor]"', b"now"), ('name="expires_after[seconds]"', b"3600")],
     "invalid_value", "expires_after.anchor", "Invalid value: 'now'. Supported values are: 'created_at'."),
    ([FILE, PURPOSE, ('name="expires_after[anchor]"', b"created_at"),
      ('name="expires_after[seconds]"', b"3599")], "integer_below_min_value", "expires_after.seconds", None),
    ([FILE, PURPOSE, ('name="expires_after[anchor]"', b"created_at"),
      ('name="expires_after[seconds]"', b"2592001")], "integer_above_max_value", "expires_after.seconds", None),
    ([FILE, PURPOSE, ('name="expires_after[anchor]"', b"created_at"),
      ('name="expires_after[seconds]"', b"an hour")], "invalid_type", "expires_after.seconds", None),
])
def test_a_form_that_is_wrong_makes_nothing(http, parts, code, param, message):
    before = http.get("/v1/files").json()["data"]
    status, found_code, found_param, found_message = problem(http.post("/v1/files", **form(*parts)))
    assert (status, found_code, found_param) == (400, code, param)
    assert message is None or found_message == message
    assert http.get("/v1/files").json()["data"] == before


def test_what_is_no_form_is_refused(http):
    assert http.post("/v1/files", json={"purpose": "assistants"}).status_code == 415
    cut = form(FILE, PURPOSE)
    cut["content"] = cut["content"][:-8]
    assert http.post("/v1/files", **cut).status_code == 400
    assert http.get(f"/v1/files/{UNKNOWN}").status_code == 404


def test_a_file_that_is_too_large_is_refused_by_its_head_and_by_its_bytes(start_server):
    server = start_server(max_file=100_000)

    def upload(http, size, chunked):
        body = form(('name="file"; filename="a.bin"', b"x" * size), PURPOSE)
        if chunked:
            whole = body["content"]
            body["content"] = (whole[i:i + 65536] for i in range(0, len(whole), 65536))
        return http.post("/v1/files", **body)

    with server.http() as http:
        assert upload(http, 100_000, True).status_code == 200
        for size, chunked in ((100_001, True), (100_001, False), (1_000_000, True), (1_000_000, False)):
            assert problem(upload(http, size, chunked)) == \
                (413, "file_too_large", "file", "The file is larger than 100000 bytes.")
        assert len(http.get("/v1/files").json()["data"]) == 1


def test_a_project_has_no_more_bytes_than_it_may(start_server):
    client = start_server(max_project_bytes=100).sdk()
    first = client.files.create(file=("a", b"x" * 60), purpose="assistants")
    with pytest.raises(openai.BadRequestError) as raised:
        client.files.create(file=("b", b"x" * 41), purpose="assistants")
    assert raised.value.code == "storage_quota_exceeded"
    assert "more than 100 bytes" in raised.value.message
    client.files.delete(first.id)
    client.files.create(file=("b", b"x" * 41), purpose="assistants")


def test_a_full_disk_refuses_before_it_reads(start_server):
    server = start_server(file_storage="dir", max_file=2**40)
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
        # As much as no disk of a test has. Nothing of the body is sent.
        client.sendall(b"POST /v1/files HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                       + server.settings["api_key"].encode() +
                       b"\r\nContent-Type: multipart/form-data; boundary=b\r\n"
                       b"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n" % 2**40)
        answer = client.recv(65536)
    assert b" 507 " in answer.split(b"\r\n")[0]
    assert b'"storage_full"' in answer and b'"server_error"' in answer


# ---- S3 ----

def test_the_bytes_of_files_lie_in_the_bucket(start_with_s3, s3):
    """One request for a small file; parts of 8 MiB for a large one, and no more of it in memory."""
    client = start_with_s3().sdk()
    small = client.files.create(file=("a.txt", TEXT), purpose="assistants")
    assert list(s3.objects.values()) == [TEXT] and s3.count("put") == 1 and s3.count("begin") == 0
    data = os.urandom(20 * 2**20 + 1)
    large = client.files.create(file=("b.bin", data), purpose="assistants")
    assert s3.count("part") == 3 and s3.uploads == {} and s3.largest == 8 * 2**20
    assert client.files.content(large.id).read() == data and client.files.content(small.id).read() == TEXT
    assert all(key.startswith("runnel/blob_") for key in s3.objects)


def test_files_in_s3_are_read_with_other_settings_too(start_with_s3, s3):
    server = start_with_s3()
    file = server.sdk().files.create(file=("a.txt", TEXT), purpose="assistants").id
    server.stop()
    server.settings["file_storage"] = "database"
    server.start()
    assert server.sdk().files.content(file).read() == TEXT
    server.stop()
    server.settings["config"] = None  # without the bucket
    server.start()
    with server.http() as http:
        status, code, _param, message = problem(http.get(f"/v1/files/{file}/content"))
    assert (status, code) == (503, "file_elsewhere") and "bucket of S3" in message


@pytest.mark.parametrize("what, status, code", [("slow down", 502, None), ("cut before", 502, None),
                                                ("full", 507, "storage_full"), ("denied", 500, None)])
def test_s3_that_does_not_take_a_file_is_an_error_and_leaves_nothing(start_with_s3, s3, what, status, code):
    server = start_with_s3()
    with server.http() as http:
        s3.fail("put", what, times=4)
        answer = http.post("/v1/files", files={"file": ("a.bin", TEXT)}, data={"purpose": "assistants"})
        assert problem(answer)[:2] == (status, code)
        assert s3.objects == {} and s3.uploads == {} and http.get("/v1/files").json()["data"] == []
        s3.faults.clear()
        again = http.post("/v1/files", files={"file": ("a.bin", TEXT)}, data={"purpose": "assistants"})
        assert again.status_code == 200
    log = server.log_path.read_text()
    assert s3.environment["TEST_S3_SECRET"] not in log and s3.environment["TEST_S3_KEY"] not in log


def download(server, file):
    client = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    client.sendall(f"GET /v1/files/{file}/content HTTP/1.1\r\nHost: localhost\r\n"
                   f"Authorization: Bearer {server.settings['api_key']}\r\n\r\n".encode())
    return client


def upload(server):
    """More than a part, and not all that it announces."""
    client = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    client.sendall(b"POST /v1/files HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                   + server.settings["api_key"].encode() +
                   b"\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 90000000\r\n\r\n"
                   b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n' + b"x" * (9 << 20))
    return client


def test_a_client_that_leaves_an_upload_leaves_nothing_in_the_bucket(start_with_s3, s3):
    server = start_with_s3()
    with upload(server):
        eventually(lambda: s3.count("part") == 1)
    eventually(lambda: (s3.log, s3.uploads, s3.objects), lambda left: not left[1] and not left[2])


def name_picture(server, file):
    """A thread whose message has the file as a picture."""
    body = json.dumps({"messages": [{"role": "user", "content": [
        {"type": "image_file", "image_file": {"file_id": file}}]}]}).encode()
    client = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    client.sendall(b"POST /v1/threads HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                   + server.settings["api_key"].encode() +
                   b"\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    return client


@pytest.mark.parametrize("ask, operation, what", [
    (download, "get", "stall within"),
    (name_picture, "get", "stall"),
    (lambda server, _file: upload(server), "part", "stall"),
], ids=["download", "picture", "upload"])
def test_a_bucket_that_stops_in_the_middle_holds_up_nothing_else(start_with_s3, s3, ask, operation, what):
    """More requests wait for the bucket than there are HTTP workers. What needs no bytes of files is answered."""
    server = start_with_s3(http_workers=1, file_workers=2)
    file = server.sdk().files.create(file=("a.txt", TEXT), purpose="assistants").id
    s3.fail(operation, what, times=100)
    waiting = [ask(server, file) for _ in range(4 if operation == "get" else 2)]
    eventually(lambda: s3.count(operation) == 2)
    with server.http() as http:
        http.timeout = patience(5)
        assert http.get("/healthz").status_code == 200
        assert http.get(f"/v1/files/{file}").status_code == 200
        answer = http.post("/v1/responses", json={"model": "fake", "input": "Hi"})
        assert answer.json()["status"] == "completed"
    for client in waiting:
        client.close()
    s3.faults.clear()
    s3.stalled.set()
    assert server.sdk().files.content(file).read() == TEXT
    eventually(lambda: (s3.uploads, s3.objects), lambda left: not left[0] and len(left[1]) == 1)


def test_a_server_stops_although_the_bucket_hangs(start_with_s3, s3):
    server = start_with_s3(drain_timeout=0)
    file = server.sdk().files.create(file=("a.txt", TEXT), purpose="assistants").id
    s3.fail("get", "stall", times=100)
    with download(server, file):
        eventually(lambda: s3.count("get") == 1)
        begun = time.monotonic()
        server.stop()
    assert time.monotonic() - begun < patience(8)


@pytest.mark.slow
def test_a_server_that_is_killed_between_parts_leaves_what_the_sweep_removes(start_with_s3, s3, database):
    server = start_with_s3()
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
        client.sendall(b"POST /v1/files HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                       + server.settings["api_key"].encode() +
                       b"\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 90000000\r\n\r\n"
                       b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n' + b"x" * (10 << 20))
        eventually(lambda: s3.count("part") == 1)
        server.kill()
    assert len(s3.uploads) == 1
    database.ask("UPDATE blobs SET changed_at = changed_at - 3700 * 1000000::bigint",
                 url=server.settings["database_url"])
    server.start()
    eventually(lambda: s3.uploads == {} and s3.objects == {}, seconds=60)


def test_a_clock_that_is_wrong_is_said_in_the_log(start_with_s3, s3):
    server = start_with_s3()
    s3.skew = 3600
    with server.http() as http:
        answer = http.post("/v1/files", files={"file": ("a.bin", TEXT)}, data={"purpose": "assistants"})
        assert answer.status_code == 500
    assert "clocks of this server and of S3 differ" in server.log_path.read_text()


def test_a_wrong_configuration_of_s3_stops_the_start(binary, s3, tmp_path, database):
    def start(environment, *flags, **keys):
        config = tmp_path / "wrong.yaml"
        config.write_text(json.dumps(s3.config(**keys)))
        made = subprocess.run([binary, "serve", "--config", config, "--data-dir", tmp_path / "data",
                               "--database-url", database.new(), *flags],
                              capture_output=True, text=True, timeout=60, env={**os.environ, **environment})
        assert made.returncode
        return made.stderr
    assert "files.s3.access_key_env: the environment variable 'TEST_S3_KEY' is not set" in start({})
    assert "expected http" in start(s3.environment, endpoint="localhost")
    (tmp_path / "wrong.yaml").write_text("{}")
    made = subprocess.run([binary, "serve", "--file-storage", "s3", "--data-dir", tmp_path / "data"],
                          capture_output=True, text=True, timeout=60)
    assert made.returncode and "no section 'files'" in made.stderr
