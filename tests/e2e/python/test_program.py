"""The program itself: its subcommands, exit statuses, keys, and how it goes down."""

import json
import os
import signal
import socket
import stat
import subprocess
import threading

import pytest

from harness.patience import patience
from harness.process import clean_environment, free_port
from harness.server import KEY, eventually


@pytest.fixture
def runnel(binary):
    def run(*arguments):
        return subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, env=clean_environment(), timeout=patience(60))
    return run


def keys(runnel, server, *arguments):
    return runnel("keys", *arguments, *server.where())


def status_with(server, key):
    headers = {"Authorization": f"Bearer {key}"} if key else {"Authorization": ""}
    return server.http().get("/v1/assistants", headers=headers).status_code


# ---- what is refused before anything is opened ----

@pytest.mark.parametrize("arguments, part", [
    (["serve", "--no-auth", "--listen", "0.0.0.0:8080"], "loopback"),
    (["serve", "--no-such-setting", "1"], "unknown option: --no-such-setting"),
    (["serve", "--run-expiry", "soon"], "--run-expiry"),
    (["serve", "--upstream-url", "http://localhost:8080/v1"], "own address"),
    (["serve", "--config", "/does/not/exist.yaml"], "/does/not/exist.yaml"),
    (["serve", "--upstream-url", "http://localhost:9000"], "ends in /v1"),
    (["serve", "--database-url", "nonsense"], "database_url"),
    (["keys"], "create"),
    (["keys", "create", "--project"], "--project needs a value"),
    (["keys", "revoke"], "revoke KEY"),
    (["sandbox", "now"], "unexpected argument: now"),
    (["import"], "import FILE_OR_FOLDER"),
    (["import", "a", "b"], "import FILE_OR_FOLDER"),
    (["import", "a", "--project"], "--project needs a value"),
    (["no-such-command"], "runnel serve"),
    ([], "runnel serve"),
])
def test_usage_errors_exit_with_2(runnel, arguments, part):
    done = runnel(*arguments)
    assert done.returncode == 2 and part in done.stderr and not done.stdout


@pytest.mark.parametrize("arguments", [[], ["serve"], ["keys"], ["migrate"], ["import"], ["upstream"]],
                         ids=str)
def test_help_is_printed(runnel, arguments):
    done = runnel(*arguments, "--help")
    assert done.returncode == 0 and "runnel upstream" in done.stdout and not done.stderr


def test_the_version_is_printed(runnel):
    done = runnel("--version")
    assert done.returncode == 0 and done.stdout.startswith("runnel ")


def test_a_taken_port_exits_with_1(runnel, server, scratch):
    done = runnel("serve", "--listen", f"127.0.0.1:{server.port}", "--data-dir", scratch / "unused")
    assert done.returncode == 1 and "cannot listen" in done.stderr
    assert not (scratch / "unused").exists()


def test_a_start_that_fails_leaves_data_dir_as_it_was(runnel, scratch):
    data = scratch / "half-used"
    data.mkdir()
    (data / "api_key").write_text("sk-mine\n")
    done = runnel("serve", "--listen", f"127.0.0.1:{free_port()}", "--data-dir", data,
                  "--database-url", "postgresql://127.0.0.1:1/nowhere?connect_timeout=2")
    assert done.returncode == 1
    assert [entry.name for entry in data.iterdir()] == ["api_key"]


def test_a_data_dir_in_use_exits_with_3(runnel, server):
    done = runnel("serve", "--listen", f"127.0.0.1:{free_port()}",
                  "--data-dir", server.settings["data_dir"])
    assert done.returncode == 3 and "in use" in done.stderr


# ---- the sandbox ----

CHECKS = ["seccomp", "landlock", "bubblewrap", "user", "namespaces", "proc", "box", "cgroup"]


def checked(done):
    """{check: whether it passed}, as the command prints it."""
    lines = [line.split() for line in done.stdout.splitlines() if not line.startswith(" ")][:-1]
    assert [words[0] for words in lines] == CHECKS
    assert all(words[1] in ("yes", "no") for words in lines)
    return {words[0]: words[1] == "yes" for words in lines}


def test_the_sandbox_says_what_this_machine_can_confine(runnel, server):
    done = runnel("sandbox")
    found = checked(done)
    optional = {"landlock", "cgroup"}
    can = all(passed for check, passed in found.items() if check not in optional)
    assert done.returncode == (0 if can else 1)
    assert done.stdout.endswith(("Commands can be executed.\n", "No command can be executed.\n")[not can])
    metrics = server.http().get("/metrics").text
    for check, passed in found.items():
        assert f'runnel_sandbox_check{{check="{check}"}} {int(passed)}\n' in metrics


@pytest.fixture
def one_user(binary):
    """Runs the program as a root that cannot become another user."""
    def run(*arguments):
        return subprocess.run(["unshare", "-Ur", binary, *map(str, arguments)], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, env=clean_environment(), timeout=patience(60))
    if subprocess.run(["unshare", "-Ur", "true"], capture_output=True).returncode:
        assert os.environ.get("RUNNEL_REQUIRE_SANDBOX") != "1", "no user namespaces"
        pytest.skip("no user namespaces")
    return run


def test_what_cannot_be_confined_is_named_with_what_to_do(one_user):
    done = one_user("sandbox")
    found = checked(done)
    assert done.returncode == 1 and done.stdout.endswith("No command can be executed.\n")
    if found["bubblewrap"]:
        assert not found["user"] and "cannot become user 1900000000" in done.stdout
        assert "Start the server as an ordinary user" in done.stdout
        assert "not tried, because of user" in done.stdout


def test_a_sandbox_that_is_required_and_missing_ends_the_start(one_user, scratch):
    done = one_user("serve", "--sandbox", "bwrap", "--data-dir", scratch / "unused",
                    "--listen", f"127.0.0.1:{free_port()}")
    assert done.returncode == 1 and "sandbox is `bwrap`" in done.stderr
    assert not (scratch / "unused").exists()


# ---- keys ----

def test_a_key_opens_its_own_project_until_it_is_revoked(runnel, server):
    made = keys(runnel, server, "create", "--project", "second")
    assert made.returncode == 0
    key = made.stdout.strip()
    assert made.stdout == key + "\n" and key.startswith("sk-")
    mine = server.http().post("/v1/assistants", json={"model": "demo"}).json()
    headers = {"Authorization": f"Bearer {key}"}
    assert server.http().get(f"/v1/assistants/{mine['id']}", headers=headers).status_code == 404

    listed = keys(runnel, server, "list").stdout
    assert "second" in listed and key not in listed and KEY not in listed

    assert keys(runnel, server, "revoke", key).returncode == 0
    assert status_with(server, key) == 401
    assert keys(runnel, server, "revoke", key).returncode == 1


def test_a_missing_or_wrong_key_is_refused(server):
    assert status_with(server, None) == 401
    answer = server.http().get("/v1/assistants",
                               headers={"Authorization": "Bearer sk-0123456789abcdef"})
    error = answer.json()["error"]
    assert answer.status_code == 401 and error["code"] == "invalid_api_key"
    assert error["message"] == "Incorrect API key provided: sk-012***cdef."


def test_the_key_is_made_once_and_kept(start_server):
    server = start_server(api_key=None)
    path = server.directory / "data" / "api_key"
    key = path.read_text().strip()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert any(key in line for line in server.process.output)
    server.settings["api_key"] = key
    assert server.http().get("/v1/assistants").status_code == 200
    server.stop()
    server.settings["api_key"] = None
    server.start()
    assert path.read_text().strip() == key
    assert status_with(server, key) == 200


def test_a_key_that_the_operator_has_set_is_not_printed(start_server):
    server = start_server(api_key="sk-a-secret-of-the-operator")
    said = "\n".join(server.process.output)
    assert "sk-a-secret" not in said and "key       $RUNNEL_API_KEY" in said
    (example,) = [line for line in server.process.output if line.startswith("curl ")]
    assert '"Authorization: Bearer $RUNNEL_API_KEY"' in example
    shell = subprocess.run(["sh", "-c", example.replace("curl ", "curl -sS ", 1)], text=True, timeout=patience(30),
                           capture_output=True, env={**os.environ, "RUNNEL_API_KEY": "sk-a-secret-of-the-operator"})
    assert json.loads(shell.stdout)["status"] == "completed", shell.stdout


def test_a_changed_key_says_how_to_revoke_the_former_one(runnel, start_server):
    server = start_server(api_key="sk-the-former-one")
    server.stop()
    assert "revoke" not in server.log_path.read_text()
    server.settings["api_key"] = "sk-the-new-one"
    server.start()
    line, = [line for line in server.log_path.read_text().splitlines() if "revoke" in line]
    assert status_with(server, "sk-the-former-one") == 200
    former = line[line.index("keys revoke ") + len("keys revoke "):].split("`")[0]
    assert keys(runnel, server, "revoke", former).returncode == 0
    assert status_with(server, "sk-the-former-one") == 401
    assert status_with(server, "sk-the-new-one") == 200


# ---- going down ----

SLOW = {"answer": {"text": ["a", "b", "c", "d"], "piece_delay_ms": 300}}
ENDLESS = {"answer": {"text": ["a", "b"], "piece_delay_ms": 3600000}}


def open_stream(server):
    """A response's stream on a plain socket, once its first delta has come."""
    body = b'{"model": "demo", "input": "Hi", "stream": true}'
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=patience(30))
    connection.sendall(b"POST /v1/responses HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer "
                       + KEY.encode() + b"\r\nContent-Type: application/json\r\nContent-Length: "
                       + str(len(body)).encode() + b"\r\n\r\n" + body)
    seen = b""
    while b"output_text.delta" not in seen:
        seen += connection.recv(65536)
    return connection, seen


def rest_of(connection, seen):
    while piece := connection.recv(65536):
        seen += piece
    connection.close()
    return seen


def signal_and_wait(server, *signals):
    for number in signals:
        server.process.signal(number)
    return server.process.child.wait(timeout=patience(30))


def test_a_drain_lets_streams_finish(start_server, upstream):
    upstream.script(SLOW)
    server = start_server(drain_timeout=20)
    connection, seen = open_stream(server)
    server.process.signal(signal.SIGTERM)
    ready = eventually(lambda: server.http().get("/readyz"), lambda answer: answer.status_code == 503)
    assert ready.json() == {"status": "unavailable", "reason": "draining"}
    assert server.http().get("/healthz").status_code == 200
    refused = server.http().post("/v1/responses", json={"model": "demo", "input": "Hi"})
    assert refused.status_code == 503 and refused.headers["retry-after"]
    answer = rest_of(connection, seen)
    assert b"event: response.completed" in answer and answer.endswith(b"0\r\n\r\n")
    assert server.process.child.wait(timeout=patience(30)) == 0


def test_a_drain_has_a_time_limit(start_server, upstream):
    upstream.script(ENDLESS)
    server = start_server(drain_timeout=0.3)
    connection, seen = open_stream(server)
    assert signal_and_wait(server, signal.SIGTERM) == 0
    answer = rest_of(connection, seen)
    assert answer.index(b"event: error") < answer.index(b"event: response.failed")
    assert b"event: response.completed" not in answer


def test_a_second_signal_stops_at_once(start_server, upstream):
    upstream.script(ENDLESS)
    server = start_server(drain_timeout=3600)
    connection, seen = open_stream(server)
    server.process.signal(signal.SIGTERM)
    eventually(lambda: server.http().get("/readyz").status_code, lambda status: status == 503)
    assert signal_and_wait(server, signal.SIGTERM) == 0
    rest_of(connection, seen)
    server.start()  # the private database was left behind: it is taken up, and stopped in the end


def test_idle_connections_do_not_delay_the_drain(start_server):
    server = start_server(drain_timeout=3600)
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(5)]
    idle[0].sendall(b"GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n")
    assert idle[0].recv(65536).startswith(b"HTTP/1.1 200")
    idle[1].sendall(b"POST /v1/resp")
    assert signal_and_wait(server, signal.SIGINT) == 0
    for connection in idle:
        connection.close()


# ---- clients that leave ----

def test_a_client_that_leaves_ends_its_call_of_the_upstream(server, upstream):
    upstream.script({"match": {"stream": True}, **ENDLESS},
                    {"answer": {"text": "late", "delay_ms": 3600000}})
    bodies = [("/v1/chat/completions", '{"model": "demo", "stream": %s, "messages": []}' % stream)
              for stream in ("true", "false")]
    for number, (path, body) in enumerate(bodies, 1):
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=patience(30))
        connection.sendall(f"POST {path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {KEY}\r\n"
                           f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        eventually(lambda: len(upstream.requests()), lambda count: count == number)
        connection.close()
    eventually(lambda: [request["state"] for request in upstream.requests()],
               lambda states: states == ["client_left"] * 2)


def test_many_streams_are_served_at_once(server, upstream):
    upstream.script(SLOW)
    answers = []

    def one():
        answers.append(rest_of_stream(server))

    threads = [threading.Thread(target=one) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 50 and all(b"response.completed" in answer for answer in answers)


def rest_of_stream(server):
    connection, seen = open_stream(server)
    while not seen.endswith(b"0\r\n\r\n"):
        seen += connection.recv(65536)
    connection.close()
    return seen
