"""Containers and the files in them: made, filled, listed, read, expired, deleted; and what is refused."""

from concurrent.futures import ThreadPoolExecutor

import httpx2
import openai
import pytest

from harness.patience import patience
from harness.server import eventually

UNKNOWN = "cntr_000000000000000000000000"
UNKNOWN_FILE = "cfile_000000000000000000000000"
TABLE = b"x,y\n1,2\n"


def problem(answer):
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["param"], error["message"]


def upload(client, name="table.csv", data=TABLE):
    return client.files.create(file=(name, data), purpose="assistants")


@pytest.fixture
def box(client):
    made = client.containers.create(name="box")
    yield made
    if client.containers.list(name="box", limit=100).data:
        client.containers.delete(made.id)


def add(client, box, name="table.csv", data=TABLE):
    return client.containers.files.create(box.id, file=(name, data))


def paths(client, box):
    return sorted(file.path.removeprefix("/mnt/data/") for file in client.containers.files.list(box.id))


def test_a_container_has_openais_defaults(client, http):
    made = client.containers.create(name="My Container")
    body = http.get(f"/v1/containers/{made.id}").json()
    assert body.pop("runnel")["node"].startswith("node_")
    assert body == {
        "id": made.id, "object": "container", "created_at": made.created_at, "name": "My Container",
        "status": "running", "expires_after": {"anchor": "last_active_at", "minutes": 20},
        "last_active_at": made.last_active_at, "memory_limit": "1g", "network_policy": {"type": "disabled"}}
    assert [one.id for one in client.containers.list(name="My Container")] == [made.id]
    assert list(client.containers.list(name="my container")) == []
    gone = http.delete(f"/v1/containers/{made.id}").json()
    assert gone == {"id": made.id, "object": "container.deleted", "deleted": True}
    assert problem(http.get(f"/v1/containers/{made.id}")) == (
        404, None, None, f"Container with id '{made.id}' not found.")
    assert http.delete(f"/v1/containers/{made.id}").status_code == 404


def test_what_a_request_says_is_kept(client):
    file = upload(client)
    made = client.containers.create(name="x", expires_after={"anchor": "last_active_at", "minutes": 5},
                                    memory_limit="4g", file_ids=[file.id], network_policy={"type": "disabled"})
    assert made.expires_after.minutes == 5 and made.memory_limit == "4g"
    (copy,) = client.containers.files.list(made.id)
    assert (copy.path, copy.bytes, copy.source) == ("/mnt/data/table.csv", len(TABLE), "user")
    client.files.delete(file.id)
    assert client.containers.files.content.retrieve(copy.id, container_id=made.id).read() == TABLE
    client.containers.delete(made.id)


@pytest.mark.parametrize("body, expected", [
    ({}, (400, "missing_required_parameter", "name")),
    ({"name": ""}, (400, "empty_string", "name")),
    ({"name": "n" * 513}, (400, "string_above_max_length", "name")),
    ({"name": "n", "memory_limit": "2g"}, (400, "invalid_value", "memory_limit")),
    ({"name": "n", "memory_limit": "16g"}, (400, "invalid_value", "memory_limit")),
    ({"name": "n", "expires_after": {"anchor": "last_active_at"}},
     (400, "missing_required_parameter", "expires_after.minutes")),
    ({"name": "n", "expires_after": {"anchor": "last_active_at", "minutes": 21}},
     (400, "integer_above_max_value", "expires_after.minutes")),
    ({"name": "n", "expires_after": {"anchor": "last_active_at", "minutes": 0}},
     (400, "integer_below_min_value", "expires_after.minutes")),
    ({"name": "n", "expires_after": {"anchor": "created_at", "minutes": 5}},
     (400, "invalid_value", "expires_after.anchor")),
    ({"name": "n", "network_policy": {"type": "allowlist", "allowed_domains": ["example.org"]}},
     (400, "unsupported_value", "network_policy.type")),
    ({"name": "n", "skills": [{"type": "skill_reference", "skill_id": "skill_1"}]},
     (404, None, "skills[0].skill_id")),
    ({"name": "n", "file_ids": ["file-1"] * 51}, (400, "array_above_max_length", "file_ids")),
    ({"name": "n", "file_ids": ["file-000000000000000000000000"]}, (404, None, "file_ids[0]")),
])
def test_a_container_that_cannot_be_made_is_refused(http, client, body, expected):
    before = [one.id for one in client.containers.list(limit=100)]
    answer = http.post("/v1/containers", json=body)
    assert problem(answer)[:3] == expected
    assert [one.id for one in client.containers.list(limit=100)] == before


def test_a_tier_that_is_too_large_names_the_largest(http):
    answer = http.post("/v1/containers", json={"name": "n", "memory_limit": "64g"})
    assert "The largest memory_limit of this server is '4g'." in problem(answer)[3]


def test_a_request_with_a_key_makes_one_container(http):
    first, second = (http.post("/v1/containers", json={"name": "once"}, headers={"Idempotency-Key": "box-1"}).json()
                     for _ in range(2))
    assert first["id"] == second["id"]


def test_files_go_in_and_come_out(client, http, box):
    made = add(client, box)
    assert (made.path, made.bytes, made.source) == ("/mnt/data/table.csv", len(TABLE), "user")
    assert add(client, box, data=b"another").path == "/mnt/data/table-2.csv"
    assert client.containers.files.retrieve(made.id, container_id=box.id).model_dump() == made.model_dump()
    at = f"/v1/containers/{box.id}/files/{made.id}"
    whole = http.get(f"{at}/content", headers={"Accept": "application/binary"})
    assert whole.content == TABLE and whole.headers["content-type"] == "application/octet-stream"
    assert "table.csv" in whole.headers["content-disposition"]
    assert whole.headers["x-content-type-options"] == "nosniff"
    part = http.get(f"{at}/content", headers={"Range": "bytes=2-3"})
    assert (part.status_code, part.content) == (206, TABLE[2:4])
    assert http.get(f"{at}/content", headers={"Range": "bytes=99-"}).status_code == 416
    assert http.delete(at).json() == {"id": made.id, "object": "container.file.deleted", "deleted": True}
    assert paths(client, box) == ["table-2.csv"]
    for answer in (http.get(at), http.get(f"{at}/content"), http.delete(at)):
        assert problem(answer) == (404, None, None, f"Container file with id '{made.id}' not found.")
    assert add(client, box).path == "/mnt/data/table.csv"


def test_names_of_files_stay_names(client, box):
    for name, path in (("../../etc/passwd", "passwd"), ("..", "file"), ("a b.csv", "a b.csv"), ("表.csv", "表.csv"),
                       ("empty", "empty")):
        data = b"" if name == "empty" else TABLE
        made = add(client, box, name, data)
        assert made.path == f"/mnt/data/{path}"
        assert client.containers.files.content.retrieve(made.id, container_id=box.id).read() == data


def test_a_name_that_is_no_text_becomes_one(http, box):
    body = b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\xff.csv\"\r\n\r\nx\r\n--b--\r\n"
    answer = http.post(f"/v1/containers/{box.id}/files", content=body,
                       headers={"Content-Type": "multipart/form-data; boundary=b"})
    assert answer.json()["path"] == "/mnt/data/a\ufffd.csv"


def test_a_file_of_the_files_api_is_copied_once(client, box):
    file = upload(client)
    first = client.containers.files.create(box.id, file_id=file.id)
    assert client.containers.files.create(box.id, file_id=file.id) == first
    assert paths(client, box) == ["table.csv"]


def test_files_come_in_pages(client, box):
    made = [add(client, box, f"{n}.csv").id for n in range(3)]
    assert [file.id for file in client.containers.files.list(box.id, limit=2, order="asc")] == made
    assert [file.id for file in client.containers.files.list(box.id, limit=2)] == made[::-1]


def test_a_file_that_is_no_file_is_refused(http, client, box):
    at = f"/v1/containers/{box.id}/files"
    assert problem(http.post(at, json={}))[:3] == (400, "missing_required_parameter", "file")
    answer = http.post(at, files={"file_id": (None, "file-1")})
    assert problem(answer)[:3] == (400, "missing_required_parameter", "file")
    assert problem(http.post(at, json={"file_id": "file-000000000000000000000000"}))[:2] == (404, None)
    both = http.post(at, files={"file_id": (None, "file-1"), "file": ("both.csv", TABLE)})
    assert both.json()["path"] == "/mnt/data/both.csv"
    assert http.post(at, content=b"{", headers={"Content-Type": "application/json"}).status_code == 400
    assert paths(client, box) == ["both.csv"]


def test_an_unknown_container_has_no_files(http, client, stranger, box):
    file = add(client, box)
    for key, id in ((client.api_key, UNKNOWN), (stranger.api_key, box.id)):
        def ask(method, path, **kind):
            return http.request(method, f"/v1/containers/{id}{path}", headers={"Authorization": f"Bearer {key}"}, **kind)
        for answer in (ask("GET", ""), ask("DELETE", ""), ask("GET", "/files"), ask("GET", f"/files/{file.id}"),
                       ask("GET", f"/files/{file.id}/content"), ask("DELETE", f"/files/{file.id}"),
                       ask("POST", "/files", json={"file_id": "file-1"}),
                       ask("POST", "/files", files={"file": ("a.bin", b"x" * 1_000_000)})):
            assert problem(answer) == (404, None, None, f"Container with id '{id}' not found.")
    assert problem(http.get(f"/v1/containers/{box.id}/files/{UNKNOWN_FILE}"))[0] == 404
    assert box.id not in [one.id for one in stranger.containers.list()]


def folders(server):
    root = server.settings["data_dir"] / "workspaces"
    return sorted(path.name for project in root.iterdir() if not project.name.startswith(".")
                  for path in project.iterdir())


def trash(server):
    return list((server.settings["data_dir"] / "workspaces" / ".trash").iterdir())


def test_limits_and_expiry(start_server):
    server = start_server(sandbox_idle=patience(3), sandbox_containers_per_project=2, sandbox_disk=1 << 20,
                          sandbox_memory=2 << 30)
    client, http = server.sdk(), server.http()
    answer = http.post("/v1/containers", json={"name": "large", "memory_limit": "4g"})
    assert problem(answer) == (400, "invalid_value", "memory_limit", "Invalid value: '4g'. "
                               "The largest memory_limit of this server is '1g'.")
    kept, other = (client.containers.create(name=name) for name in ("kept", "other"))
    answer = http.post("/v1/containers", json={"name": "third"})
    assert problem(answer)[:2] == (429, "rate_limit_exceeded") and answer.headers["retry-after"]
    client.containers.delete(other.id)
    file = client.containers.files.create(kept.id, file=("half", b"x" * 600_000))
    answer = http.post(f"/v1/containers/{kept.id}/files", files={"file": ("more", b"x" * 600_000)})
    assert problem(answer)[:3] == (400, "file_too_large", "file")
    assert problem(answer)[3] == "The file does not fit into the container: 0 MiB of 1 MiB are used."
    eventually(lambda: http.get(f"/v1/containers/{kept.id}").json()["status"] if not folders(server) else None,
               lambda status: status == "expired")
    eventually(lambda: trash(server), lambda left: not left)
    for path in ("files", f"files/{file.id}", f"files/{file.id}/content"):
        assert http.get(f"/v1/containers/{kept.id}/{path}").status_code == 404
    assert client.containers.retrieve(kept.id).status == "expired"
    assert [one.status for one in client.containers.list()] == ["expired"]
    client.containers.delete(kept.id)
    assert list(client.containers.list()) == []


def test_another_server_shows_a_container_and_serves_what_has_a_copy(start_server, database):
    first = start_server()
    url = first.settings["database_url"]
    second = start_server(database_url=url, api_key=first.settings["api_key"])
    here, there = first.http(), second.http()
    box = here.post("/v1/containers", json={"name": "box"}).json()
    at = f"/v1/containers/{box['id']}/files"
    made, plain = (here.post(at, files={"file": (name, TABLE)}).json()["id"] for name in ("copied.csv", "plain.csv"))
    copy = upload(first.sdk())
    database.ask(f"UPDATE container_files SET blob_id = f.blob_id FROM files f WHERE f.id = '{copy.id}'"
                 f" AND container_files.id = '{made}'", url=url)
    assert there.get(f"/v1/containers/{box['id']}").json() == here.get(f"/v1/containers/{box['id']}").json()
    assert sorted(file["id"] for file in there.get(at).json()["data"]) == sorted((made, plain))
    answer = there.get(f"{at}/{made}/content")
    assert answer.content == TABLE and "copied.csv" in answer.headers["content-disposition"]
    assert there.get(f"{at}/{plain}/content").content == TABLE  # its own server makes the copy
    for answer in (there.delete(f"{at}/{plain}"),
                   there.post(at, json={"file_id": copy.id}), there.post(at, files={"file": ("new.csv", TABLE)})):
        assert problem(answer) == (503, "container_elsewhere", None, "The container's server does not answer.")
    assert there.delete(f"/v1/containers/{box['id']}").status_code == 200
    assert here.get(f"/v1/containers/{box['id']}").status_code == 404
    assert folders(first) == [box["id"]] and folders(second) == []
    first.stop()
    first.start()
    assert folders(first) == []


def test_a_killed_server_leaves_nothing_but_trash(start_fault_server):
    server = start_fault_server(sandbox_disk_reserve=0)
    server.arm("container.folder:1:kill")
    with pytest.raises(httpx2.HTTPError):
        server.api().post("/containers", json={"name": "half"})
    server.restart()
    assert folders(server) == []
    (half,) = server.api().get("/containers").json()["data"]
    answer = server.api().post(f"/containers/{half['id']}/files", files={"file": ("table.csv", TABLE)})
    assert answer.status_code == 200 and folders(server) == [half["id"]]
    server.arm("container.trash:1:kill")
    with pytest.raises(httpx2.HTTPError):
        server.api().delete(f"/containers/{half['id']}")
    assert folders(server) == [half["id"]]
    server.restart()
    assert folders(server) == []
    eventually(lambda: trash(server), lambda left: not left)
    assert server.api().get(f"/containers/{half['id']}").status_code == 404


def test_a_slow_disk_keeps_no_other_request_waiting(start_fault_server):
    server = start_fault_server(http_workers=1, sandbox_disk_reserve=0)
    http = server.http()
    box = http.post("/v1/containers", json={"name": "box"}).json()["id"]
    at = f"/v1/containers/{box}/files"
    file = http.post(at, files={"file": ("table.csv", TABLE)}).json()["id"]
    with ThreadPoolExecutor(1) as pool:
        for ask in (lambda: http.get(f"{at}/{file}/content"), lambda: http.delete(f"{at}/{file}"),
                    lambda: http.post(at, files={"file": ("table.csv", TABLE)})):
            server.arm("container.folder:1:hold")
            answer = pool.submit(ask)
            eventually(server.has_fired, bool)
            try:
                assert server.http().get(f"/v1/containers/{box}", timeout=patience(10)).status_code == 200
                assert not answer.done()
            finally:
                server.arm()
            assert answer.result().status_code == 200


def test_a_folder_that_cannot_be_made_leaves_no_container(start_fault_server):
    server = start_fault_server()
    server.arm("container.folder:1")
    assert server.api().post("/containers", json={"name": "half"}).status_code == 500
    assert server.api().get("/containers").json()["data"] == []
    server.arm("container.trash:1")
    made = server.api().post("/containers", json={"name": "whole"}).json()
    assert server.api().delete(f"/containers/{made['id']}").status_code == 200
    assert folders(server) == [made["id"]]
    server.arm()
    server.process.child.terminate()
    server.process.child.wait(30)
    server.start()
    assert folders(server) == []


def test_openai_exceptions_are_those_of_openai(client):
    with pytest.raises(openai.NotFoundError):
        client.containers.retrieve(UNKNOWN)
    with pytest.raises(openai.BadRequestError):
        client.containers.create(name="")
