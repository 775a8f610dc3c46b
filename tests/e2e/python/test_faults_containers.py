"""Containers on two servers with one database: runs go to the container's server, from any other."""

import json
import signal
import time

import httpx2
import pytest

from harness.faults import FINAL
from harness.recorder import parse_events
from harness.sandbox import require_sandbox
from harness.server import eventually
from harness.tools import WEATHER, call
from harness.tour import Tour

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

AUTO = {"type": "code_interpreter", "container": {"type": "auto"}}
SHELL = {"type": "shell", "environment": {"type": "container_auto"}}
CODE = {"type": "mcp", "server_label": "code", "server_url": "builtin:code", "require_approval": "never"}


@pytest.fixture(autouse=True)
def sandbox(binary):
    require_sandbox(binary)


@pytest.fixture
def pair(start_fault_server):
    first = start_fault_server(lease_ttl=1)
    second = start_fault_server(url=first.settings["database_url"], lease_ttl=1)
    eventually(lambda: first.api().get("/runnel/health").status_code, lambda status: status in (200, 404))
    return first, second


def script(upstream, *calls):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}}, {"answer": {"tool_calls": list(calls)}})


def cell(upstream, code):
    script(upstream, call("python", 1, code=code))


def read_of(upstream):
    """What the model has read of its last call."""
    return [m["content"] for m in upstream.chats()[-1]["messages"] if m["role"] == "tool"][-1]


def respond(server, **body):
    return server.api().post("/responses", json={"model": "demo", "input": "go", "tools": [AUTO], **body}).json()


def streamed(server, path, body):
    text = server.api().post(path, json={**body, "stream": True}).text
    return [(name, json.loads(data)) for name, data in parse_events(text) if data != "[DONE]"]


def owners(database, server, where="true"):
    return database.ask(f"SELECT node_id FROM containers WHERE {where}", url=server.settings["database_url"])


# ---- A run is made for the node of its container ----

def test_a_thread_finds_its_variables_behind_any_server(pair, upstream, database):
    first, second = pair
    cell(upstream, "x = 41")
    assistant = first.api().post("/assistants", json={"model": "demo", "tools": [{"type": "code_interpreter"}]}).json()
    thread = first.api().post("/threads", json={"messages": [{"role": "user", "content": "go"}]}).json()["id"]
    path, body = f"/threads/{thread}/runs", {"assistant_id": assistant["id"],
                                            "additional_messages": [{"role": "user", "content": "go"}]}
    here = streamed(first, path, body)
    assert here[-1][0] == "thread.run.completed"
    cell(upstream, "x += 1; print(x)")
    there = streamed(second, path, body)
    assert read_of(upstream) == "42\n"
    kinds = [[name for name, _ in events if not name.endswith("delta")] for events in (here, there)]
    assert kinds[0] == kinds[1]
    run = second.api().post(path, json=body).json()
    assert run["status"] == "queued"
    done = eventually(lambda: second.api().get(f"{path}/{run['id']}").json(), lambda run: run["status"] in FINAL)
    assert done["status"] == "completed" and read_of(upstream) == "43\n"
    assert len(owners(database, first)) == 1


@pytest.mark.parametrize("how", ["plain", "stream", "background", "conversation"])
def test_a_response_finds_its_variables_behind_any_server(pair, upstream, database, how):
    first, second = pair
    cell(upstream, "x = 41")
    more = {"conversation": first.api().post("/conversations", json={}).json()["id"]} if how == "conversation" else {}
    before = respond(first, **more)
    cell(upstream, "print(x + 1)")
    body = {"model": "demo", "input": "go", "tools": [AUTO], **(more or {"previous_response_id": before["id"]})}
    if how == "stream":
        events = streamed(second, "/responses", body)
        assert [event["sequence_number"] for _, event in events] == list(range(len(events)))
        assert [name for name, _ in events[:2]] == ["response.created", "response.in_progress"]
        after = events[-1][1]["response"]
    else:
        after = respond(second, **body, background=how == "background")
    if how == "background":
        after = eventually(lambda: second.api().get(f"/responses/{after['id']}").json(),
                           lambda response: response["status"] in FINAL)
    assert after["status"] == "completed" and read_of(upstream) == "42\n"
    assert after["output"][0]["container_id"] == before["output"][0]["container_id"]
    assert len(owners(database, first)) == 1


def test_a_named_container_is_used_where_it_is(pair, upstream):
    first, second = pair
    made = first.api().post("/containers", json={"name": "box"}).json()
    cell(upstream, "x = 41")
    respond(second, tools=[{"type": "code_interpreter", "container": made["id"]}])
    cell(upstream, "print(x + 1)")
    respond(first, tools=[{"type": "code_interpreter", "container": made["id"]}])
    assert read_of(upstream) == "42\n"


@pytest.mark.parametrize("tool, then", [
    (SHELL, call("shell", 1, commands=["cat note.txt"])), (CODE, call("read", 1, file_path="note.txt"))],
    ids=["shell", "code"])
def test_other_tools_find_their_files_behind_any_server(pair, upstream, database, tool, then):
    first, second = pair
    script(upstream, call("shell", 1, commands=["echo kept > note.txt"]))
    before = respond(first, tools=[SHELL])
    script(upstream, then)
    after = respond(second, tools=[tool], previous_response_id=before["id"])
    assert after["status"] == "completed" and "kept" in read_of(upstream)
    assert [item["type"] for item in after["output"]] == {
        "shell": ["shell_call", "shell_call_output", "message"], "code": ["mcp_list_tools", "mcp_call", "message"]
    }[tool.get("server_label", "shell")]
    assert len(owners(database, first)) == 1


def begun_run(tour, assistant, thread):
    """Its path. A refused run may have been made all the same."""
    path = f"/threads/{thread}/runs"
    tour.ask("POST", path, {"assistant_id": assistant}, known=(200, 400))
    return f"{path}/{tour.ask('GET', path + '?limit=1')['data'][0]['id']}"


def test_outputs_that_come_to_another_server_go_to_the_container(pair, upstream, database):
    """The second server stores them, and follows the run, which the first one continues."""
    first, second = pair
    upstream.script({"match": {"tool_results": {"min": 3}}, "answer": {"text": "Done."}},
                    {"match": {"tool_results": {"min": 2}}, "answer": {"tool_calls": [call("python", 3, code="print(x + 1)")]}},
                    {"match": {"tool_results": {"min": 1}}, "answer": {"tool_calls": [call("get_weather", 2, city="Oslo")]}},
                    {"answer": {"tool_calls": [call("python", 1, code="x = 41")]}})
    assistant = first.api().post("/assistants", json={"model": "demo", "tools": [{"type": "code_interpreter"}, WEATHER]})
    thread = first.api().post("/threads", json={"messages": [{"role": "user", "content": "go"}]}).json()["id"]
    path = f"/threads/{thread}/runs"
    run = first.api().post(path, json={"assistant_id": assistant.json()["id"]}).json()["id"]
    eventually(lambda: second.api().get(f"{path}/{run}").json(), lambda run: run["status"] == "requires_action")
    events = streamed(second, f"{path}/{run}/submit_tool_outputs",
                      {"tool_outputs": [{"tool_call_id": "call_2", "output": "sunny"}]})
    assert [name for name, _ in events][:3] == ["thread.run.step.completed", "thread.run.queued", "thread.run.in_progress"]
    assert events[-1][0] == "thread.run.completed" and read_of(upstream) == "42\n"
    assert len(owners(database, first)) == 1


@pytest.mark.parametrize("statement", ["container_node_find", "run_leave_to", "submit_leave_to"])
def test_a_run_reaches_the_container_though_a_statement_fails(pair, upstream, database, statement):
    """What was refused for that is sent again, as the SDKs do."""
    first, second = pair
    tools = [{"type": "code_interpreter"}, WEATHER]
    upstream.script({"match": {"tool_results": {"min": 2}}, "answer": {"text": "Done."}},
                    {"match": {"tool_results": {"min": 1}}, "answer": {"tool_calls": [call("get_weather", 2, city="Oslo")]}},
                    {"answer": {"tool_calls": [call("python", 1, code="x = 41")]}})
    assistant = first.api().post("/assistants", json={"model": "demo", "tools": tools}).json()["id"]
    thread = first.api().post("/threads", json={"messages": [{"role": "user", "content": "go"}]}).json()["id"]
    tour = Tour(second)
    run = begun_run(Tour(first), assistant, thread)
    assert tour.settle(run, "requires_action", *FINAL)["status"] == "requires_action"
    second.arm(f"{statement}:1")
    tour.ask("POST", f"{run}/submit_tool_outputs", {"tool_outputs": [{"tool_call_id": "call_2", "output": "sunny"}]},
             known=(200, 400))
    assert tour.settle(run, *FINAL)["status"] == "completed"
    assert tour.settle(begun_run(tour, assistant, thread), *FINAL)["status"] == "completed"
    assert second.has_fired() and tour.refused
    assert len(owners(database, first)) == 1


def test_a_run_without_such_a_tool_stays(pair, upstream):
    first, second = pair
    cell(upstream, "x = 41")
    before = respond(first)
    upstream.answer(text="Hello.")
    had = first.metric("runs_started_total")
    after = respond(second, tools=[], previous_response_id=before["id"])
    assert after["status"] == "completed" and first.metric("runs_started_total") == had


# ---- A container moves ----

FIGURE = "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.show()\n"


def named(box):
    return {"type": "code_interpreter", "container": box}


def folders(server):
    return sorted(path.name for path in (server.directory / "data" / "workspaces").glob("*/cntr_*"))


def settled(server, database, box, column="left_node IS NULL AND NOT arriving"):
    eventually(lambda: database.ask(f"SELECT {column} FROM containers WHERE id = '{box}'",
                                    url=server.settings["database_url"]), lambda rows: rows == [["t"]])


def begun(server, upstream, code):
    """A response has run this there. Its container."""
    cell(upstream, code)
    return respond(server)["output"][0]["container_id"]


def node_of(server, box):
    return server.api().get(f"/containers/{box}").json()["runnel"]["node"]


@pytest.mark.parametrize("more", [{"store": False}, {"runnel": {"context": {"a": 1}}}], ids=["unstored", "context"])
def test_files_come_to_a_run_that_cannot_go_to_them(pair, upstream, database, more):
    first, second = pair
    box = begun(first, upstream, f"x = 41\nopen('note.txt', 'w').write('kept')\n{FIGURE}")
    cell(upstream, "print(open('note.txt').read(), 'x' in globals())")
    after = respond(second, tools=[named(box)], **more)
    assert after["status"] == "completed" and "kept False" in read_of(upstream), after
    assert "ariables are gone" in read_of(upstream)
    settled(second, database, box)
    assert node_of(first, box) == node_of(second, box) and folders(first) == [] and folders(second) == [box]
    cell(upstream, "print(open('note.txt').read())")
    respond(first, tools=[named(box)], store=False)
    assert read_of(upstream).startswith("kept\n")
    settled(first, database, box)
    assert folders(first) == [box] and folders(second) == []


def test_a_file_is_fetched_from_a_server_that_has_not_copied_it(pair, upstream, database):
    first, second = pair
    box = begun(first, upstream, "open('note.txt', 'w').write('kept')")
    (file,) = second.api().get(f"/containers/{box}/files").json()["data"]
    path = f"/containers/{box}/files/{file['id']}/content"
    assert second.api().get(path).text == "kept"
    assert node_of(second, box) != "" and folders(first) == [box] and folders(second) == []


def test_a_server_that_does_not_answer_is_not_waited_for(pair, upstream):
    first, second = pair
    box = begun(first, upstream, "open('note.txt', 'w').write('kept')")
    (file,) = second.api().get(f"/containers/{box}/files").json()["data"]
    path = f"/containers/{box}/files/{file['id']}/content"
    first.process.signal(signal.SIGSTOP)
    begin = time.monotonic()
    answer = second.api().get(path)
    assert answer.status_code == 503 and answer.json()["error"]["code"] == "container_elsewhere", answer.text
    assert time.monotonic() - begin < 15
    first.process.signal(signal.SIGCONT)


def test_what_was_copied_outlives_its_server(pair, upstream, database):
    first, second = pair
    box = begun(first, upstream, f"x = 41\nopen('note.txt', 'w').write('lost')\n{FIGURE}")
    first.kill()
    cell(upstream, "import os\nprint(sorted(os.listdir('.figures')), os.path.exists('note.txt'))")
    after = respond(second, tools=[named(box)])
    assert after["status"] == "completed", after
    read = read_of(upstream)
    assert ".png'] False" in read and "/mnt/data/note.txt" in read and "has failed" in read
    cell(upstream, "print('again')")
    respond(second, tools=[named(box)])
    assert read_of(upstream) == "again\n"
    settled(second, database, box, "NOT arriving AND epoch = 2")
    first.start()
    eventually(lambda: folders(first), lambda names: names == [])
    settled(second, database, box)


def test_a_container_without_copies_expires_with_its_server(pair, upstream):
    first, second = pair
    cell(upstream, "open('note.txt', 'w').write('lost')")
    before = respond(first)
    first.kill()
    cell(upstream, "import os\nprint(os.listdir('.'))")
    after = respond(second, previous_response_id=before["id"])
    assert after["status"] == "completed" and "has expired" in read_of(upstream)
    old, new = (response["output"][0]["container_id"] for response in (before, after))
    assert old != new and second.api().get(f"/containers/{old}").json()["status"] == "expired"


@pytest.mark.parametrize("visit", [1, 2, 3])
def test_a_container_arrives_although_its_new_server_dies_too(pair, upstream, database, visit):
    """It is killed while it puts the files into the folder. Its run continues when it is back, and they are all there."""
    first, second = pair
    box = begun(first, upstream, FIGURE * 3)
    first.kill()
    second.arm(f"container.arriving:{visit}:kill")
    cell(upstream, "import os\nprint(len(os.listdir('.figures')))")
    made = respond(second, tools=[named(box)], background=True)["id"]
    eventually(second.has_fired)
    second.restart()
    done = eventually(lambda: second.api().get(f"/responses/{made}").json(), lambda r: r["status"] in FINAL)
    assert done["status"] == "completed"
    cell(upstream, "import os\nprint(len(os.listdir('.figures')))")
    respond(second, tools=[named(box)])
    assert "3\n" in read_of(upstream)
    settled(second, database, box, "NOT arriving AND epoch = 2")


def test_a_server_that_dies_after_it_has_given_a_container_keeps_no_folder(pair, upstream, database):
    first, second = pair
    box = begun(first, upstream, "open('note.txt', 'w').write('kept')")
    first.arm("container.given:1:kill")
    cell(upstream, "print(open('note.txt').read())")
    respond(second, tools=[named(box)], store=False)
    assert "kept\n" in read_of(upstream) and folders(first) == [box]
    first.restart()
    eventually(lambda: folders(first), lambda names: names == [])
    settled(second, database, box)


# ---- A container moves with all that is in it ----

MANY = 10_050  # more than are listed
WHOLE = f"""
import os
for folder in ('.git/objects/0a', 'node_modules/left', 'many', 'empty'):
    os.makedirs(folder)
open('.git/HEAD', 'w').write('ref: refs/heads/main')
open('.git/objects/0a/bc', 'w').write('object'); os.chmod('.git/objects/0a/bc', 0o444)
open('node_modules/left/index.js', 'w').write('pad')
open('run.sh', 'w').write('#!/bin/sh\\necho ran\\n'); os.chmod('run.sh', 0o755)
os.symlink('run.sh', 'alias')
os.link('run.sh', 'twin')
os.utime('run.sh', (1e9, 1e9))
with open('sparse', 'wb') as file:
    file.truncate(512 << 20)
    file.seek(300 << 20)
    file.write(b'middle')
for i in range({MANY}):
    open(f'many/{{i}}', 'w').write(str(i))
"""
LOOK = f"""
import os, subprocess
with open('sparse', 'rb') as file:
    file.seek(300 << 20)
    middle = file.read(6)
print(open('.git/HEAD').read(), open('.git/objects/0a/bc').read(), oct(os.stat('.git/objects/0a/bc').st_mode & 0o777),
      open('node_modules/left/index.js').read(), os.listdir('empty'), len(os.listdir('many')), open('many/{MANY - 1}').read(),
      subprocess.run(['./alias'], capture_output=True, text=True).stdout.strip(), os.path.samefile('run.sh', 'twin'),
      int(os.stat('run.sh').st_mtime), middle, os.stat('sparse').st_size >> 20, os.stat('sparse').st_blocks < 100)
"""
SEEN = (f"ref: refs/heads/main object 0o444 pad [] {MANY} {MANY - 1} ran True 1000000000 b'middle' 512 True\n")


def moved(server, upstream, box, code):
    """A run that cannot go to the container has run this. What it has read."""
    cell(upstream, code)
    after = respond(server, tools=[named(box)], store=False)
    assert after["status"] == "completed", after
    return read_of(upstream)


def test_everything_in_a_workspace_moves(pair, upstream, database):
    first, second = pair
    box = begun(first, upstream, WHOLE)
    listed = {file["path"]: file["id"] for file in first.api().get(f"/containers/{box}/files?limit=100").json()["data"]}
    assert moved(second, upstream, box, LOOK).startswith(SEEN)
    settled(second, database, box)
    assert folders(first) == [] and folders(second) == [box]
    now = {file["path"]: file["id"] for file in second.api().get(f"/containers/{box}/files?limit=100").json()["data"]}
    assert listed == now
    assert moved(first, upstream, box, LOOK).startswith(SEEN)
    settled(first, database, box)
    assert database.ask("SELECT count(*) FROM container_archives", url=first.settings["database_url"]) == [["0"]]


def test_what_cannot_move_is_said_once(pair, upstream, database):
    first, second = pair
    box = begun(first, upstream, "import os\nos.mkfifo('pipe')\nopen('note.txt', 'w').write('kept')")
    read = moved(second, upstream, box, "print(open('note.txt').read())")
    assert "has moved to another server" in read and "could not be moved: /mnt/data/pipe\n" in read and "kept" in read
    assert moved(second, upstream, box, "print('again')") == "again\n"
    settled(second, database, box)


@pytest.mark.parametrize("tool, then", [
    (SHELL, call("shell", 1, commands=["cat note.txt", "echo two"])), (CODE, call("bash", 1, command="cat note.txt"))],
    ids=["shell", "bash"])
def test_other_tools_say_once_what_cannot_move(pair, upstream, database, tool, then):
    first, second = pair
    box = begun(first, upstream, "import os\nos.mkfifo('pipe')\nopen('note.txt', 'w').write('kept')")
    where = {"type": "shell", "environment": {"type": "container_reference", "container_id": box}}
    tools = [where] if tool is SHELL else [named(box), CODE]
    for lost in (1, 0):
        script(upstream, then)
        after = respond(second, tools=tools, store=False)
        assert after["status"] == "completed" and "kept" in read_of(upstream), after
        assert read_of(upstream).count("could not be moved: /mnt/data/pipe") == lost


def test_the_owner_dies_while_it_makes_the_archive(pair, upstream, database):
    """What it had copied outlives it, as in any other death."""
    first, second = pair
    box = begun(first, upstream, f"open('note.txt', 'w').write('lost')\n{FIGURE}")
    first.arm("container.packing:1:kill")
    begin = time.monotonic()
    read = moved(second, upstream, box, "import os\nprint(sorted(os.listdir('.figures')), os.path.exists('note.txt'))")
    assert time.monotonic() - begin < 30
    assert first.has_fired() and ".png'] False" in read and "has failed" in read and "/mnt/data/note.txt" in read
    first.restart()
    eventually(lambda: folders(first), lambda names: names == [])
    settled(second, database, box)


@pytest.mark.parametrize("point", ["container.unpacking:1", "container.unpacking:2", "container.unpacked:1"])
def test_the_new_owner_dies_while_the_container_arrives(pair, upstream, database, point):
    first, second = pair
    box = begun(first, upstream, "open('.hidden', 'w').write('h' * 600_000)\nopen('note.txt', 'w').write('kept')")
    second.arm(f"{point}:kill")
    cell(upstream, "pass")
    with pytest.raises(httpx2.HTTPError):
        respond(second, tools=[named(box)], store=False)
    assert second.has_fired()
    second.restart()
    assert "kept 600000\n" in moved(second, upstream, box, "print(open('note.txt').read(), len(open('.hidden').read()))")
    settled(second, database, box)
    assert database.ask("SELECT count(*) FROM container_archives", url=first.settings["database_url"]) == [["0"]]


def test_a_disk_without_room_refuses_a_container_and_loses_nothing(start_fault_server, upstream, database):
    """It stays on its way, and the next server that wants it gets it."""
    first = start_fault_server(lease_ttl=1)
    second = start_fault_server(url=first.settings["database_url"], lease_ttl=1, sandbox_disk_reserve=1 << 40)
    eventually(lambda: first.api().get("/runnel/health").status_code, lambda status: status in (200, 404))
    box = begun(first, upstream, "open('.hidden', 'w').write('kept')")
    for _ in range(2):
        assert "no disk space for the container" in moved(second, upstream, box, "pass")
        settled(second, database, box, "arriving AND epoch = 2 AND left_node IS NULL")
        assert folders(first) == [] and folders(second) == []
    assert moved(first, upstream, box, "print(open('.hidden').read())").startswith("kept\n")
    settled(first, database, box, "NOT arriving AND epoch = 3 AND left_node IS NULL")


def test_a_workspace_with_less_room_takes_what_fits(start_fault_server, upstream, database):
    first = start_fault_server(lease_ttl=1)
    second = start_fault_server(url=first.settings["database_url"], lease_ttl=1, sandbox_disk=1 << 20)
    eventually(lambda: first.api().get("/runnel/health").status_code, lambda status: status in (200, 404))
    box = begun(first, upstream, "open('large', 'wb').write(b'x' * (2 << 20))\nopen('small', 'w').write('kept')")
    read = moved(second, upstream, box, "import os\nprint(os.listdir('.'), open('small').read())")
    assert "could not be moved: /mnt/data/large\n" in read and "['small'] kept" in read
    settled(second, database, box)
    assert [file["path"] for file in second.api().get(f"/containers/{box}/files").json()["data"]] == ["/mnt/data/small"]


@pytest.mark.parametrize("statement", ["store_container_giving", "store_container_archive", "store_container_archive_put",
                                       "store_container_archive_drop"])
def test_a_move_survives_a_statement_that_fails(pair, upstream, database, statement):
    first, second = pair
    box = begun(first, upstream, "open('.hidden', 'w').write('kept')")
    broken = second if statement in ("store_container_archive", "store_container_archive_drop") else first
    broken.arm(f"{statement}:1")
    cell(upstream, "print(open('.hidden').read())")
    respond(second, tools=[named(box)], store=False)
    assert broken.has_fired()
    assert moved(second, upstream, box, "print(open('.hidden').read())").startswith("kept\n")
    settled(second, database, box)


def write_late(server, upstream, box, seconds):
    """A call has begun that has the container for some seconds. Its response."""
    cell(upstream, "import time\nopen('late.txt', 'w').write('begun')\n"
                   f"time.sleep({seconds})\nopen('late.txt', 'w').write('late')")
    made = respond(server, tools=[named(box)], background=True)["id"]
    eventually(lambda: list((server.directory / "data" / "workspaces").glob("*/*/data/late.txt")), len)
    return made


def test_a_container_that_a_call_has_comes_when_the_call_has_ended(pair, upstream, database):
    first, second = pair
    box = begun(first, upstream, "pass")
    write_late(first, upstream, box, 14)
    assert moved(second, upstream, box, "print(open('late.txt').read())").startswith("late\n")
    settled(second, database, box)


# ---- A server that goes down ----

def test_a_run_takes_its_container_from_a_server_that_goes_down(pair, upstream, database):
    """It is not made for that server, which begins nothing more, and does not wait until that one is dead."""
    first, second = pair
    idle = begun(first, upstream, "open('.hidden', 'w').write('kept')")
    busy = begun(first, upstream, "pass")
    made = write_late(first, upstream, busy, 4)
    first.process.signal(signal.SIGTERM)
    settled(second, database, idle, "(SELECT draining FROM nodes WHERE id = node_id)")
    cell(upstream, "print(open('.hidden').read())")
    begin = time.monotonic()
    after = respond(second, tools=[named(idle)])
    assert after["status"] == "completed" and read_of(upstream).startswith("kept\n"), after
    assert time.monotonic() - begin < 4
    cell(upstream, "print(open('late.txt').read())")
    after = respond(second, tools=[named(busy)])
    assert after["status"] == "completed" and read_of(upstream).startswith("late\n"), after
    done = eventually(lambda: second.api().get(f"/responses/{made}").json(), lambda r: r["status"] in FINAL)
    assert done["status"] == "completed"
    assert first.process.child.wait(60) == 0
    settled(second, database, busy)


def test_a_server_that_was_suspended_writes_nothing_of_a_container(pair, upstream, database):
    """Its call sleeps while the other server takes the container over. What it wrote is on its own disk only, and goes."""
    first, second = pair
    box = begun(first, upstream, FIGURE)
    cell(upstream, "import time\nopen('late.txt', 'w').write('late')\ntime.sleep(3)")
    made = respond(first, tools=[named(box)], background=True)["id"]
    eventually(lambda: list((first.directory / "data" / "workspaces").glob("*/*/data/late.txt")), len)
    first.process.signal(signal.SIGSTOP)
    done = eventually(lambda: second.api().get(f"/responses/{made}").json(), lambda r: r["status"] in FINAL, 40)
    assert done["status"] == "completed"
    cell(upstream, "import os\nprint(sorted(os.listdir('.')))")
    respond(second, tools=[named(box)])
    first.process.signal(signal.SIGCONT)
    eventually(lambda: folders(first), lambda names: names == [], 30)
    assert "late.txt" not in read_of(upstream)
    names = [file["path"] for file in second.api().get(f"/containers/{box}/files").json()["data"]]
    assert not [name for name in names if "late" in name] and folders(second) == [box]
    settled(second, database, box, "epoch = 2")
