"""Files: uploaded as they arrive, listed, read back, deleted; and every way in which they are refused."""

import hashlib
import os
import socket

import openai
import pytest

UNKNOWN = "file-000000000000000000000000"
TEXT = b"Four score and seven years ago.\n"


@pytest.fixture(params=["dir", "database"])
def place(request, start_server):
    """A server whose files lie there."""
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
