"""The operator's command that looks at uploads: files.check_command."""

import hashlib
import json
import signal
import subprocess
import time

import openai
import pytest

from harness.patience import patience
from harness.sandbox import require_sandbox
from harness.server import eventually
from harness.upstream import as_yaml

REFUSED = {"message": "The file was rejected by this server's check of uploads.", "type": "invalid_request_error",
           "param": "file", "code": "file_rejected"}
UNKNOWN = {"message": "The file could not be checked. Please retry your request.", "type": "server_error",
           "param": None, "code": None}
FINDS = "if grep -q EICAR; then echo 'stdin: Eicar FOUND'; exit 1; fi"


@pytest.fixture
def checked(binary, start_server, tmp_path):
    """checked(command, **more keys) -> a server that checks uploads with it."""
    require_sandbox(binary)

    def checked(script, **more):
        config = tmp_path / "check.yaml"
        config.write_text(as_yaml({"files": {"check_command": ["/bin/bash", "-c", script],
                                             **{key: str(value) for key, value in more.items()}}}))
        return start_server(config=config)
    return checked


def create(client, data, name="a.txt"):
    return client.files.create(file=(name, data), purpose="assistants")


def refusal(error, call):
    with pytest.raises(error) as caught:
        call()
    return caught.value.body


def test_a_file_is_taken_or_refused_as_the_command_says(checked):
    server = checked(FINDS)
    client = server.sdk()
    assert create(client, b"harmless").bytes == 8
    assert create(client, b"").bytes == 0
    assert refusal(openai.BadRequestError, lambda: create(client, b"x" * (3 << 20) + b"EICAR")) == REFUSED
    assert [file.bytes for file in client.files.list()] == [0, 8]
    assert "has refused an uploaded file: stdin: Eicar FOUND" in server.process.errors()
    assert server.http().get("/v1/files").status_code == 200


def test_nothing_is_left_of_a_refused_file(checked, database):
    server = checked(FINDS)
    client = server.sdk()
    refusal(openai.BadRequestError, lambda: create(client, b"EICAR"))
    url = server.settings["database_url"].split("dbname=")[1].split()[0]
    for table in ("files", "blobs", "blob_pages"):
        assert database.ask(f"SELECT count(*) FROM {table}", url) == [["0"]], table
    assert database.ask("SELECT coalesce(sum(bytes), 0) FROM storage_use", url) == [["0"]]


def test_the_command_gets_exactly_the_bytes(checked):
    data = bytes(range(256)) * 4096
    digest = hashlib.sha256(data).hexdigest()
    client = checked(f"[ $(sha256sum | cut -c1-64) = {digest} ]").sdk()
    assert create(client, data).bytes == len(data)
    assert refusal(openai.BadRequestError, lambda: create(client, data[1:])) == REFUSED


def test_an_upload_in_parts_is_checked_as_a_whole(checked):
    client = checked(FINDS).sdk()
    upload = client.uploads.create(filename="a.txt", purpose="user_data", bytes=5, mime_type="text/plain")
    parts = [client.uploads.parts.create(upload.id, data=data).id for data in (b"EIC", b"AR")]
    assert refusal(openai.BadRequestError, lambda: client.uploads.complete(upload.id, part_ids=parts)) == REFUSED
    assert list(client.files.list()) == []
    # It is still pending, as after any completion that fails; in another order it says something else.
    assert client.uploads.complete(upload.id, part_ids=parts[::-1]).file.bytes == 5


def test_a_file_of_a_container_is_checked(checked):
    client = checked(FINDS).sdk()
    container = client.containers.create(name="box").id
    client.containers.files.create(container, file=("a.txt", b"harmless"))
    assert refusal(openai.BadRequestError,
                   lambda: client.containers.files.create(container, file=("b.txt", b"EICAR"))) == REFUSED
    assert [file.path for file in client.containers.files.list(container)] == ["/mnt/data/a.txt"]


@pytest.mark.parametrize("script, more", [
    ("exit 2", {}),
    ("kill -9 $$", {}),
    ("sleep 100", {"check_timeout": 1}),
    ("a=$(head -c 200000000 /dev/zero | tr '\\0' x); exit 0", {"check_memory": 64}),
    ("exec /nowhere", {}),
], ids=["status", "signal", "time", "memory", "missing"])
def test_a_command_that_fails_takes_nothing(checked, script, more):
    client = checked(script, **more).sdk()
    assert refusal(openai.InternalServerError, lambda: create(client, b"text")) == UNKNOWN
    assert list(client.files.list()) == []


@pytest.fixture
def rules(scratch):
    """A folder that any user may read, as boxes are other users than the server."""
    rules = scratch / f"rules-{time.monotonic_ns()}"
    rules.mkdir(mode=0o755)
    return rules


def test_the_command_reads_its_folder(checked, rules):
    (rules / "names").write_text("EICAR\n")
    client = checked("if grep -qf /mnt/check/names; then exit 1; fi", check_folder=rules).sdk()
    assert create(client, b"harmless").bytes == 8
    assert refusal(openai.BadRequestError, lambda: create(client, b"EICAR")) == REFUSED


@pytest.mark.parametrize("what", ["cat /etc/shadow", "echo x > /mnt/check/names", "ls /root/",
                                  "exec 3<>/dev/tcp/127.0.0.1/$(cat /mnt/check/port)"])
def test_what_the_command_tries_in_vain(checked, rules, what):
    server = checked(f"( {what} ) >/dev/null 2>&1 && exit 1; [ -s /mnt/check/port ]", check_folder=rules)
    (rules / "port").write_text(str(server.port))
    assert create(server.sdk(), b"text").bytes == 4


def test_other_files_do_not_wait_for_a_slow_check(checked):
    server = checked("cat >/dev/null; sleep 2", check_timeout=30)
    client, http = server.sdk(), server.http()
    kept = create(client, b"first").id
    begun = time.monotonic()
    slow = [subprocess.Popen(["curl", "-s", "-H", f"Authorization: Bearer {server.settings['api_key']}",
                              "-F", "purpose=assistants", "-F", "file=@/etc/passwd", f"{server.url}/v1/files"],
                             stdout=subprocess.PIPE) for _ in range(4)]
    for _ in range(5):
        assert http.get(f"/v1/files/{kept}/content").content == b"first"
    assert time.monotonic() - begun < 2
    assert all(json.loads(one.communicate()[0])["status"] == "processed" for one in slow)


@pytest.mark.parametrize("client_leaves", [True, False])
def test_a_server_that_ends_does_not_wait_for_a_check(checked, client_leaves):
    server = checked("sleep 500", check_timeout=600)
    server.stop()
    server.settings["drain_timeout"] = 1
    server.start()
    sent = subprocess.Popen(["curl", "-s", "-H", f"Authorization: Bearer {server.settings['api_key']}",
                             "-F", "purpose=assistants", "-F", "file=@/etc/passwd", f"{server.url}/v1/files"],
                            stdout=subprocess.PIPE)
    eventually(lambda: 'state="busy"} 1' in server.http().get("/metrics").text)
    if client_leaves:
        sent.kill()
    begun = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - begun < patience(10)
    sent.communicate()


@pytest.mark.parametrize("yaml, sentence", [
    ("{check_command: [/bin/true], check_timeout: 0}", "files.check_timeout: expected a number from 1 to 600"),
    ("{check_command: [/bin/true], check_memory: 8}", "files.check_memory: expected a number from 16 to 65536"),
    ("{check_command: /bin/true}", "files.check_command: expected"),
    (f"{{check_command: [{', '.join(['x'] * 65)}]}}", "files.check_command: more than 64 words"),
])
def test_a_wrong_section_stops_the_start(binary, tmp_path, yaml, sentence):
    config = tmp_path / "wrong.yaml"
    config.write_text(f"files: {yaml}\n")
    made = subprocess.run([binary, "serve", "--data-dir", tmp_path / "data", "--config", config],
                          capture_output=True, text=True, timeout=60, check=False)
    assert made.returncode == 2 and sentence in made.stderr, made.stderr


def test_without_a_sandbox_a_command_stops_the_start(binary, tmp_path, database):
    config = tmp_path / "check.yaml"
    config.write_text("files: {check_command: [/bin/true]}\n")
    made = subprocess.run([binary, "serve", "--data-dir", tmp_path / "data", "--config", config, "--sandbox", "off",
                           "--database-url", database.new(), "--listen", "127.0.0.1:0"],
                          capture_output=True, text=True, timeout=patience(60), check=False)
    assert made.returncode not in (0, -signal.SIGKILL)
    assert "files.check_command: this server has no sandbox to run it in" in made.stderr
