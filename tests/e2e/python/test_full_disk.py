"""A disk that is really full: a small file system in memory. Needs root, for mounting it."""

import http.client
import json
import os
import subprocess

import pytest

from harness.patience import patience
from harness.server import eventually
from test_faults_ingest import Shelf

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
MIB = 2**20


@pytest.fixture
def disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", folder], check=False, capture_output=True).returncode:
        pytest.skip("no file system can be mounted")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture
def server(start_fault_server, disk):
    (disk / "data").mkdir()
    server = start_fault_server(file_storage="dir", data_dir=disk / "data", lease_ttl=1)
    yield server
    server.stop()


def form(data, boundary=b"b0undary"):
    return (b"--%s\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nassistants\r\n"
            b"--%s\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n" % (boundary, boundary)
            + data + b"\r\n--%s--\r\n" % boundary)


def fill(disk, leave):
    """All but so many bytes, by a file that is not the server's."""
    room = os.statvfs(disk)
    (disk / "ballast").write_bytes(bytes(room.f_bavail * room.f_frsize - leave))


def bytes_of(disk):
    return sum(path.stat().st_size for path in (disk / "data" / "files").rglob("*") if path.is_file())


def test_an_upload_that_cannot_fit_is_refused_before_its_body_comes(server, disk):
    fill(disk, 12 * MIB)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=patience(10))
    connection.putrequest("POST", "/v1/files")
    connection.putheader("Authorization", f"Bearer {server.settings['api_key']}")
    connection.putheader("Content-Type", "multipart/form-data; boundary=b0undary")
    connection.putheader("Content-Length", str(20 * MIB))
    connection.endheaders()
    answer = connection.getresponse()
    assert (answer.status, json.load(answer)["error"]["code"]) == (507, "storage_full")
    connection.close()


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
def test_an_upload_that_does_not_fit_leaves_nothing(server, disk, chunked):
    """With a length it is refused before it is read; without one when the disk is full."""
    api = server.api()
    kept = api.post("/files", files={"file": ("kept", b"x" * MIB)}, data={"purpose": "assistants"}).json()["id"]
    before = bytes_of(disk)
    fill(disk, 12 * MIB)
    body = form(os.urandom(20 * MIB))
    head = {"Content-Type": "multipart/form-data; boundary=b0undary"}
    answer = api.post("/files", content=iter([body]) if chunked else body, headers=head)
    assert (answer.status_code, answer.json()["error"]["code"]) == (507, "storage_full"), answer.text
    assert [file["id"] for file in api.get("/files").json()["data"]] == [kept]
    assert bytes_of(disk) == before
    (disk / "ballast").unlink()
    assert api.post("/files", content=body, headers=head).status_code == 200
    assert api.get(f"/files/{kept}/content").content == b"x" * MIB


def test_a_part_that_does_not_fit_leaves_the_upload_as_it_was(server, disk):
    api = server.api()
    upload = api.post("/uploads", json={"bytes": 20 * MIB, "filename": "a", "mime_type": "x", "purpose": "user_data"}).json()["id"]
    fill(disk, 12 * MIB)
    part = {"files": {"data": ("a", os.urandom(20 * MIB))}}
    assert api.post(f"/uploads/{upload}/parts", **part).status_code == 507
    (disk / "ballast").unlink()
    made = api.post(f"/uploads/{upload}/parts", **part).json()["id"]
    done = api.post(f"/uploads/{upload}/complete", json={"part_ids": [made]})
    # Joined parts need their room a second time.
    assert done.status_code in (200, 507) and api.get("/files").status_code == 200


def test_files_of_stores_wait_for_room(server, disk, database):
    shelf = Shelf(server)
    fill(disk, 0)
    batch = shelf.attach()
    eventually(lambda: "is tried again later" in server.process.errors(), seconds=30)
    assert shelf.batch(batch)["file_counts"]["in_progress"] >= 1
    (disk / "ballast").unlink()
    shelf.assert_whole(batch, database, server.settings["database_url"])
