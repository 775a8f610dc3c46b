"""Files in a bucket of an S3 server that others have made: what harness/s3.py takes for S3 is what S3 servers take for it."""

import json
import os
import subprocess
import threading

import pytest

from harness.patience import patience
from harness.seaweedfs import SeaweedFS
from harness.server import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
TEXT = "电池的保修期为两年。 The battery warranty lasts two years.\n".encode()


@pytest.fixture(scope="module")
def bucket(scratch):
    made = SeaweedFS(scratch / "seaweedfs")
    yield made
    made.close()


@pytest.fixture
def server(start_server, bucket, tmp_path, monkeypatch):
    for name, value in bucket.environment.items():
        monkeypatch.setenv(name, value)
    config = tmp_path / "s3.yaml"
    config.write_text(json.dumps(bucket.config()))
    return start_server(file_storage="s3", config=config)


def test_files_of_any_size_come_back_whole_and_in_ranges(server, bucket):
    client, before = server.sdk(), bucket.names()
    large = os.urandom(20 * 2**20 + 1)  # three parts
    for name, data in (("a.txt", TEXT), ("empty", b""), ("b.bin", large)):
        file = client.files.create(file=(name, data), purpose="assistants").id
        assert client.files.content(file).read() == data
    with server.http() as http:
        answer = http.get(f"/v1/files/{file}/content", headers={"Range": "bytes=8388600-8388615"})
    assert answer.status_code == 206 and answer.content == large[8388600:8388616]
    assert bucket.open_uploads() == 0 and bucket.names() >= before + 2


def test_an_upload_in_parts_is_one_object(server, bucket):
    client = server.sdk()
    parts = [os.urandom(9 * 2**20), os.urandom(1000)]
    upload = client.uploads.create(filename="a.bin", purpose="user_data", bytes=sum(map(len, parts)), mime_type="x")
    made = [client.uploads.parts.create(upload.id, data=part).id for part in parts]
    done = client.uploads.complete(upload.id, part_ids=made)
    assert client.files.content(done.file.id).read() == b"".join(parts)
    assert bucket.open_uploads() == 0


def test_documents_are_read_from_the_bucket(server):
    client = server.sdk()
    store = client.vector_stores.create().id
    file = client.vector_stores.files.upload_and_poll(vector_store_id=store, file=("a.txt", TEXT))
    assert file.status == "completed", file.last_error
    for query in ("电池", "warranty"):
        assert [hit.file_id for hit in client.vector_stores.search(store, query=query)] == [file.id]


def test_a_client_that_leaves_an_upload_leaves_nothing_in_the_bucket(server, bucket):
    before, begun, gone = bucket.names(), threading.Event(), threading.Event()

    def body():
        yield (b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n')
        yield os.urandom(17 * 2**20)  # two parts are on their way
        begun.set()
        gone.wait(patience(60))
        raise ConnectionError("the client leaves")

    def send():
        with server.http() as http, pytest.raises(ConnectionError):
            http.post("/v1/files", content=body(), headers={"Content-Type": "multipart/form-data; boundary=x"})

    sender = threading.Thread(target=send)
    sender.start()
    begun.wait(patience(60))
    eventually(bucket.open_uploads, lambda count: count == 1, 60)
    gone.set()
    sender.join()
    eventually(bucket.open_uploads, lambda count: count == 0, 60)
    assert bucket.names() == before


@pytest.mark.parametrize("change, environment, said", [
    ({}, {"TEST_S3_SECRET": "wrong"}, "403"), ({"bucket": "unknown"}, {}, "404")], ids=["key", "bucket"])
def test_a_key_or_a_bucket_that_is_refused_stops_the_start(binary, bucket, tmp_path, database, change, environment, said):
    config = tmp_path / "s3.yaml"
    config.write_text(json.dumps(bucket.config(**change)))
    made = subprocess.run([binary, "serve", "--listen", "127.0.0.1:0", "--file-storage", "s3", "--config", config, "--data-dir",
                           tmp_path / "data", "--database-url", database.new()], capture_output=True, text=True, check=False,
                          timeout=patience(60), env={**os.environ, **bucket.environment, **environment})
    assert made.returncode and said in made.stderr, made.stderr
