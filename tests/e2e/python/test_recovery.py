"""The server is killed, stopped and started again; what it promised stays true."""

import contextlib
import os
import select
import shutil
import signal

import httpx2
import pytest

from harness.patience import patience
from harness.process import Process, free_port
from harness.server import eventually
from harness.tools import WEATHER, WEATHER_RULES

pytestmark = pytest.mark.slow


@pytest.fixture
def server(start_server):
    return start_server(embedded=True, lease_ttl=1)


def talk(server):
    client = server.sdk()
    assistant = client.beta.assistants.create(model="demo", tools=[WEATHER])
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "weather"}])
    return client.beta.threads, assistant, thread


def settled(threads, run, *wanted):
    return eventually(lambda: threads.runs.retrieve(run.id, thread_id=run.thread_id),
                      lambda r: r.status in wanted, seconds=40)


def test_a_waiting_run_survives_kill_9(server, upstream):
    upstream.script(*WEATHER_RULES)
    threads, assistant, thread = talk(server)
    run = threads.runs.create(thread_id=thread.id, assistant_id=assistant.id)
    settled(threads, run, "requires_action")
    server.kill()
    server.start()
    run = threads.runs.retrieve(run.id, thread_id=thread.id)
    assert run.status == "requires_action"
    threads.runs.submit_tool_outputs(run.id, thread_id=thread.id, tool_outputs=[
        {"tool_call_id": "call_1", "output": "sunny"}])
    assert settled(threads, run, "completed", "failed").status == "completed"
    message = threads.messages.list(thread.id, limit=1).data[0]
    assert message.content[0].text.value == "It is sunny."


def test_a_private_database_that_dies_is_started_again(server, upstream):
    upstream.script(*WEATHER_RULES)
    threads, assistant, thread = talk(server)
    run = threads.runs.create(thread_id=thread.id, assistant_id=assistant.id)
    settled(threads, run, "requires_action")
    pid_file = server.settings["data_dir"] / "pg" / "postmaster.pid"
    before = pid_file.read_text().split()[0]
    os.kill(int(before), signal.SIGKILL)

    def postmaster():
        with contextlib.suppress(FileNotFoundError, IndexError):
            return pid_file.read_text().split()[0]

    eventually(postmaster, lambda pid: pid not in (None, before), seconds=40)
    http = server.http()
    eventually(lambda: http.get("/readyz").status_code, lambda status: status == 200, seconds=40)
    run = threads.runs.submit_tool_outputs_and_poll(
        run_id=run.id, thread_id=thread.id, poll_interval_ms=20,
        tool_outputs=[{"tool_call_id": "call_1", "output": "sunny"}])
    assert run.status == "completed"
    assert "it is started again" in server.log_path.read_text()
    assert server.stop() == 0


def test_the_keys_command_may_start_the_database_before_the_server_does(start_server, binary, scratch):
    """With a data_dir too long for a socket, it is found in the same directory of /tmp again."""
    server = start_server(embedded=True, data_dir=scratch / ("long-" * 20))
    pid_file = server.settings["data_dir"] / "pg" / "postmaster.pid"
    before = pid_file.read_text().splitlines()
    server.process.signal(signal.SIGSTOP)
    os.waitid(os.P_PID, server.process.child.pid, os.WSTOPPED)  # all its threads, before they see what comes
    postmaster = os.pidfd_open(int(before[0]))
    signal.pidfd_send_signal(postmaster, signal.SIGKILL)
    gone = select.poll()
    gone.register(postmaster, select.POLLIN)
    gone.poll()
    os.close(postmaster)
    keys = Process([binary, "keys", "list", "--data-dir", server.settings["data_dir"]],
                   scratch / "keys.log")
    keys.child.stdout.read()
    assert keys.child.wait(60) == 0, keys.errors()
    after = pid_file.read_text().splitlines()
    assert after[0] != before[0] and after[4] == before[4] and after[4].startswith("/tmp/runnel-")
    server.process.signal(signal.SIGCONT)
    http = server.http()
    eventually(lambda: http.post("/v1/responses", json={"model": "demo", "input": "Hi"}).status_code,
               lambda status: status == 200, seconds=40)
    assert server.stop() == 0
    assert not os.path.exists(before[4])


def test_a_removed_socket_is_made_again(server):
    pid_file = server.settings["data_dir"] / "pg" / "postmaster.pid"
    shutil.rmtree(pid_file.read_text().splitlines()[4])
    http = server.http()
    body = {"model": "demo", "input": "Hi"}
    # A new connection is asked for when the next thread needs one.
    with contextlib.ExitStack() as clients:
        many = [clients.enter_context(httpx2.Client(base_url=server.url, timeout=patience(60),
                                                    headers=http.headers)) for _ in range(32)]
        for client in many:
            client.get("/v1/assistants")
    eventually(lambda: http.post("/v1/responses", json=body).status_code,
               lambda status: status == 200, seconds=40)
    assert "has lost its socket" in server.log_path.read_text()


@contextlib.contextmanager
def hanging_replay(data_dir):
    """From the next start of the private database on, its replay does not end. Gives a function that
    waits until it has begun."""
    fifo = data_dir.parent / "begun"
    os.mkfifo(fifo)
    fifo.chmod(0o666)
    with open(data_dir / "pg" / "postgresql.auto.conf", "a") as conf:
        conf.write(f"restore_command = 'echo > {fifo}; exec sleep 3600'\n")
    (data_dir / "pg" / "recovery.signal").touch()
    yield fifo.read_text
    os.truncate(data_dir / "pg" / "postgresql.auto.conf", 0)
    (data_dir / "pg" / "recovery.signal").unlink()


def test_sigterm_does_not_wait_for_a_replay(server):
    data_dir = server.settings["data_dir"]
    pid = int((data_dir / "pg" / "postmaster.pid").read_text().split()[0])
    with hanging_replay(data_dir) as wait_until_begun:
        os.kill(pid, signal.SIGKILL)
        wait_until_begun()
        assert server.stop() == 0
    assert not (data_dir / "pg" / "postmaster.pid").exists()
    server.start()
    assert server.http().get("/readyz").status_code == 200


def test_sigterm_does_not_wait_for_the_replay_of_a_start(server, binary, scratch):
    data_dir = server.settings["data_dir"]
    server.stop()
    with hanging_replay(data_dir) as wait_until_begun:
        starting = Process([binary, "serve", *server.flags()], scratch / "starting.log")
        wait_until_begun()
        assert starting.stop() == 0
    assert not starting.child.stdout.read()
    assert not (data_dir / "pg" / "postmaster.pid").exists()
    server.start()
    assert server.http().get("/readyz").status_code == 200


def test_sigterm_does_not_wait_for_who_migrates(binary, scratch, upstream, database):
    url = database.empty()
    with database.holding(7310311890118, url):
        starting = Process([binary, "serve", "--listen", f"127.0.0.1:{free_port()}", "--database-url", url,
                            "--upstream-url", upstream.url, "--data-dir", scratch / "migrating"],
                           scratch / "migrating.log")
        eventually(lambda: database.ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
                                        " AND NOT granted", url=url), lambda rows: rows == [["1"]])
        assert starting.stop() == 0
    assert not starting.child.stdout.read()


def test_a_running_run_continues_after_kill_9(server, upstream):
    upstream.script({"times": 1, "answer": {"text": "a b c", "piece_delay_ms": 3600000}},
                    {"answer": {"text": "Again, and whole."}})
    threads, assistant, thread = talk(server)
    run = threads.runs.create(thread_id=thread.id, assistant_id=assistant.id)
    settled(threads, run, "in_progress")
    eventually(lambda: upstream.chats(), len)
    server.kill()
    server.start()
    assert settled(threads, run, "completed", "failed").status == "completed"
    texts = [m.content[0].text.value for m in threads.messages.list(thread.id, order="asc")]
    assert texts == ["weather", "Again, and whole."]


def test_nothing_stays_in_progress_after_kill_9(server, upstream):
    upstream.answer(text="a b c", piece_delay_ms=3600000)
    client = server.sdk()
    stream = client.responses.create(model="demo", input="Hi", stream=True)
    made = next(event for event in stream).response
    next(event for event in stream if event.type == "response.output_text.delta")
    server.kill()
    server.start()
    http = server.http()
    kept = eventually(lambda: http.get(f"/v1/responses/{made.id}"),
                      lambda answer: answer.status_code == 200, seconds=40).json()
    assert kept["status"] == "failed"


def test_acknowledged_objects_survive_kill_9(server, upstream):
    client = server.sdk()
    made = [client.responses.create(model="demo", input=str(i)) for i in range(5)]
    thread = client.beta.threads.create(metadata={"a": "1"})
    server.kill()
    server.start()
    for response in made:
        assert client.responses.retrieve(response.id) == response
    assert client.beta.threads.retrieve(thread.id) == thread


def test_sigterm_lets_streams_finish(server, upstream):
    upstream.answer(text="a b c d e", piece_delay_ms=200)
    client = server.sdk()
    stream = client.responses.create(model="demo", input="Hi", stream=True)
    next(event for event in stream if event.type == "response.output_text.delta")
    server.process.signal(signal.SIGTERM)
    *_, last = stream
    assert last.type == "response.completed"
    assert server.process.child.wait(20) == 0


def test_a_second_server_cannot_use_the_data_directory(server, binary, scratch, upstream,
                                                          recorder):
    flags = server.flags()
    flags[flags.index("--listen") + 1] = f"127.0.0.1:{free_port()}"
    second = Process([binary, "serve", *flags], scratch / "second.log")
    assert second.child.wait(60) == 3
    assert second.errors().strip()
    assert server.http().get("/readyz").status_code == 200


def test_keys_are_made_and_revoked(server):
    key = server.new_key("blue")
    assert key.startswith("sk-") and len(key.splitlines()) == 1
    http = server.http()
    http.headers["Authorization"] = f"Bearer {key}"
    assert http.get("/v1/assistants").json()["data"] == []
    listed = server.command("keys", "list")
    assert "blue" in listed and key not in listed
    line = next(line for line in listed.splitlines() if "blue" in line)
    server.command("keys", "revoke", next(word for word in line.split() if word.startswith("key_")))
    assert http.get("/v1/assistants").status_code == 401


def test_projects_do_not_see_each_other(server):
    key = server.new_key("other")
    client = server.sdk()
    thread = client.beta.threads.create()
    response = client.responses.create(model="demo", input="Hi")
    http = server.http()
    http.headers["Authorization"] = f"Bearer {key}"
    assert http.get(f"/v1/threads/{thread.id}").status_code == 404
    assert http.get(f"/v1/responses/{response.id}").status_code == 404
