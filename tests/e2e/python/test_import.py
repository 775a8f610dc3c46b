"""runnel import: a dump made by the manual's script, or by hand, on an empty server."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from harness.patience import patience
from harness.process import clean_environment
from harness.server import KEY, eventually

PAGE = pathlib.Path(__file__).resolve().parents[3] / "server" / "manual" / "import.md"

THREAD = {"id": "thread_abc123abc123abc123abc123", "object": "thread", "created_at": 1700000000,
          "metadata": {"user": "7"}, "tool_resources": {}}
ASSISTANT = {"id": "asst_abc123abc123abc123abc123", "object": "assistant",
             "created_at": 1699009709, "name": "Tutor", "description": None, "model": "demo",
             "instructions": "Be kind.", "tools": [], "tool_resources": {}, "metadata": {},
             "top_p": 1.0, "temperature": 1.0, "reasoning_effort": None, "response_format": "auto"}


def message(number, created_at=1700000001, role="user", **more):
    """As OpenAI returns it: without status and its times."""
    return {"id": f"msg_{number:024}", "object": "thread.message", "created_at": created_at,
            "thread_id": THREAD["id"], "role": role, "assistant_id": None, "run_id": None,
            "content": [{"type": "text", "text": {"value": f"text {number}", "annotations": []}}],
            "attachments": [], "metadata": {}, **more}


def run_import(binary, server, path, *more):
    done = subprocess.run([binary, "import", path, *server.where(), *more], capture_output=True,
                          text=True, env=clean_environment(),
                          timeout=patience(120))
    assert "Sanitizer" not in done.stderr, done.stderr
    return done


@pytest.fixture
def load(binary, server, tmp_path):
    """load(objects) -> what runnel import says of them; each test has ids of its own."""
    def load(objects, name="dump.ndjson", *more):
        path = tmp_path / name
        path.write_text("".join(line if isinstance(line, str) else json.dumps(line) + "\n"
                                for line in objects))
        done = run_import(binary, server, path, *more)
        assert done.returncode == 0, done.stderr
        return done.stdout
    return load


@pytest.fixture
def ids(request):
    """Objects of this test: ids(x) has its ids changed into ones that no other test has."""
    number = f"{abs(hash(request.node.name)) % 10**12:012}"

    def ids(value):
        return json.loads(re.sub(r'"(asst|thread|msg|run)_\w{12}(\w{12})"',
                                 rf'"\1_{number}\2"', json.dumps(value)))
    return ids


def counts(report):
    """{"assistants": (created, there, refused), ...}"""
    rows = re.findall(r"^(files|vector stores|files in them|assistants|threads|messages) +(\d+) +(\d+) +(\d+)$", report, re.M)
    found = {name: tuple(map(int, numbers)) for name, *numbers in rows}
    for name in ("files", "vector stores", "files in them"):  # most dumps have none
        if not any(found[name]):
            del found[name]
    return found


def texts(client, thread_id):
    return [m.content[0].text.value
            for m in client.beta.threads.messages.list(thread_id, order="asc", limit=100)]


# ---- from a server to another ----

def dump_script():
    return re.search(r"```python\n# dump.py\n(.*?)```", PAGE.read_text(), re.S)[1]


def dump_of(server, thread_ids, path):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", dump_script()],
                          input="".join(f"{one}\n" for one in thread_ids), text=True, cwd=path.parent,
                          capture_output=True, timeout=patience(120),
                          env={**clean_environment(), "OPENAI_API_KEY": KEY,
                               "OPENAI_BASE_URL": f"{server.url}/v1"})
    assert done.returncode == 0, done.stderr
    path.write_text(done.stdout)
    return done.stderr


def fill(client, upstream):
    """Something of everything; the ids of the threads."""
    schema = {"type": "json_schema", "json_schema": {
        "name": "x", "strict": True,
        "schema": {"type": "object", "properties": {}, "required": [],
                   "additionalProperties": False}}}
    client.files.create(file=("a.pdf", b"%PDF-" + bytes(range(256)) * 9000), purpose="assistants")
    client.files.create(file=("empty.txt", b""), purpose="user_data")
    client.beta.assistants.create(
        model="demo", name="A", description="d", instructions="i", metadata={"k": "v"},
        temperature=0.5, top_p=0.25, response_format=schema,
        tools=[{"type": "code_interpreter"}, {"type": "file_search"},
               {"type": "function", "function": {"name": "f", "parameters": {
                   "type": "object", "properties": {"a": {"type": "number"}}}}}],
        tool_resources={"file_search": {"vector_store_ids": [client.vector_stores.create().id]}})
    assistant = client.beta.assistants.create(model="demo")
    file = client.files.create(file=("a", b"a"), purpose="assistants").id
    picture = client.files.create(file=("a.png", b"\x89PNG\r\n\x1a\n"), purpose="vision").id
    full = client.beta.threads.create(
        metadata={"a": "b"}, tool_resources={"code_interpreter": {"file_ids": [file]}},
        messages=[{"role": "user", "metadata": {"n": "1"}, "content": [
                       {"type": "text", "text": "What is \"that\"? \U0001f600"},
                       {"type": "image_url", "image_url": {"url": "https://e.org/a.png",
                                                           "detail": "low"}},
                       {"type": "image_file", "image_file": {"file_id": picture}}],
                   "attachments": [{"file_id": file, "tools": [{"type": "file_search"}]}]}])
    client.beta.threads.runs.create_and_poll(thread_id=full.id, assistant_id=assistant.id,
                                             poll_interval_ms=20)
    upstream.answer(text="cut", finish_reason="length")
    client.beta.threads.messages.create(full.id, role="user", content="again")
    client.beta.threads.runs.create_and_poll(thread_id=full.id, assistant_id=assistant.id,
                                             poll_interval_ms=20)
    long = client.beta.threads.create(
        messages=[{"role": "user", "content": str(n)} for n in range(730)])
    return [full.id, long.id, client.beta.threads.create().id]


def everything(server, thread_ids):
    """All that the dump is about, as the SDK gives it."""
    client = server.sdk()
    found = [*client.files.list(order="asc")]
    found += [client.files.content(file.id).read() for file in found]
    found += client.beta.assistants.list(limit=100)
    for thread_id in thread_ids:
        found.append(client.beta.threads.retrieve(thread_id))
        found += list(client.beta.threads.messages.list(thread_id, limit=100))
    return found


@pytest.mark.slow
def test_what_the_manual_dumps_is_the_same_on_another_server(start_server, binary, upstream,
                                                             tmp_path):
    old = start_server()
    thread_ids = fill(old.sdk(), upstream)
    dump = tmp_path / "dump.ndjson"
    dump_of(old, [*thread_ids, "thread_" + "0" * 24], dump)
    new = start_server()
    expected = everything(old, thread_ids)
    done = run_import(binary, new, dump)
    assert done.returncode == 0, done.stderr
    assert counts(done.stdout) == {"files": (4, 0, 0), "vector stores": (2, 0, 0), "files in them": (1, 0, 0), "assistants": (2, 0, 0),
                                   "threads": (3, 0, 0), "messages": (734, 0, 0)}
    assert everything(new, thread_ids) == expected

    again = run_import(binary, new, dump)
    assert counts(again.stdout) == {"files": (0, 4, 0), "vector stores": (0, 2, 0), "files in them": (0, 1, 0), "assistants": (0, 2, 0),
                                    "threads": (0, 3, 0), "messages": (0, 734, 0)}
    assert "Nothing was changed." in again.stdout and again.returncode == 0
    assert everything(new, thread_ids) == expected

    upstream.script({"answer": {"text": "Hello again."}})
    upstream.forget()
    client = new.sdk()
    run = client.beta.threads.runs.create_and_poll(
        thread_id=thread_ids[0], assistant_id=next(one.id for one in expected if getattr(one, "object", "") == "assistant"), poll_interval_ms=20)
    assert run.status == "completed"
    assert texts(client, thread_ids[0])[-1] == "Hello again."
    sent = upstream.chats()[0]["messages"]
    assert [m["role"] for m in sent] == ["user", "assistant", "user", "assistant"]
    assert sent[0]["content"][0]["text"] == "What is \"that\"? \U0001f600"


@pytest.mark.slow
def test_an_import_may_be_the_first_thing(binary, start_server, tmp_path, scratch):
    """Before any server was started; and into a project of its own."""
    (tmp_path / "dump.json").write_text(json.dumps([ASSISTANT, THREAD, message(1)], indent=2))
    directory = scratch / "import-first"
    directory.mkdir(mode=0o755)
    for project in ("default", "other"):
        done = subprocess.run([binary, "import", tmp_path, "--data-dir", directory / "data",
                               "--project", project], capture_output=True, text=True,
                              env=clean_environment(), timeout=patience(120))
        assert done.returncode == 0, done.stderr
        assert counts(done.stdout)["messages"] == (1, 0, 0)
    server = start_server(embedded=True, data_dir=directory / "data")
    assert texts(server.sdk(), THREAD["id"]) == ["text 1"]


# ---- what OpenAI returns ----

def test_objects_are_imported_as_openai_returned_them(load, client, http, ids):
    assistant, thread, one, two = ids([ASSISTANT, THREAD, message(1), message(
        2, 1700000002, "assistant", assistant_id=ASSISTANT["id"],
        run_id="run_abc123abc123abc123abc123", content=[
            {"type": "text", "text": {"value": "See [0] and sandbox:/a.csv.", "annotations": [
                {"type": "file_citation", "text": "[0]", "start_index": 4, "end_index": 7,
                 "file_citation": {"file_id": "file-c"}},
                {"type": "file_path", "text": "sandbox:/a.csv", "start_index": 12,
                 "end_index": 26, "file_path": {"file_id": "file-p"}}]}},
            {"type": "image_file", "image_file": {"file_id": "file-i", "detail": "auto"}}])])
    report = load([assistant, thread, one, two])
    assert counts(report) == {"assistants": (1, 0, 0), "threads": (1, 0, 0),
                              "messages": (2, 0, 0)}
    assert http.get(f"/v1/assistants/{assistant['id']}").json() == assistant
    assert http.get(f"/v1/threads/{thread['id']}").json() == thread
    found = [m.model_dump() for m in
             client.beta.threads.messages.list(thread["id"], order="asc").data]
    for had, has in zip((one, two), found, strict=True):
        assert {key: has[key] for key in had} == had
        assert has["status"] == "completed" and has["completed_at"] == had["created_at"]
    for file in ("file-c", "file-p", "file-i"):
        assert re.search(rf"^  {two['id']}: .*{file}", report, re.M)


def test_a_message_that_was_not_finished_is_incomplete(load, client, ids):
    thread, *messages = ids([
        THREAD, message(1, status="in_progress", role="assistant"),
        message(2, 1700000002, "assistant", status="incomplete", incomplete_at=1700000009,
                incomplete_details={"reason": "max_tokens"})])
    report = load([thread, *messages])
    first, second = client.beta.threads.messages.list(thread["id"], order="asc").data
    assert (first.status, first.incomplete_details.reason) == ("incomplete", "run_failed")
    assert (second.status, second.incomplete_details.reason) == ("incomplete", "max_tokens")
    assert second.incomplete_at == 1700000009 and second.completed_at is None
    assert f"{first.id}: was still being written" in report


def test_assistants_are_listed_by_age(start_server, binary, tmp_path):
    """Imported ids do not begin with their time."""
    server = start_server()
    dumped = [{**ASSISTANT, "id": f"asst_{letter * 24}", "created_at": 1600000000 + age}
              for letter, age in (("z", 1), ("m", 3), ("0", 2))]
    (tmp_path / "a.json").write_text(json.dumps(
        {"object": "list", "data": dumped, "first_id": "x", "last_id": "y", "has_more": False}))
    assert counts(run_import(binary, server, tmp_path / "a.json").stdout)["assistants"] == (3, 0, 0)
    assistants = server.sdk().beta.assistants
    new = assistants.create(model="demo").id
    order = [dumped[0]["id"], dumped[2]["id"], dumped[1]["id"], new]
    assert [a.id for a in assistants.list(order="asc", limit=1)] == order
    assert [a.id for a in assistants.list(limit=3)] == order[::-1]
    assert [a.id for a in assistants.list(order="asc", before=order[2]).data] == order[:2]


def test_a_schema_may_have_pythons_member_name(load, http, ids):
    """As model_dump() has it."""
    schema = {"type": "object", "properties": {}}
    (assistant,) = ids([{**ASSISTANT, "response_format": {
        "type": "json_schema", "json_schema": {"name": "x", "schema_": schema, "strict": None}}}])
    assert counts(load([assistant]))["assistants"] == (1, 0, 0)
    kept = http.get(f"/v1/assistants/{assistant['id']}").json()
    assert kept["response_format"]["json_schema"]["schema"] == schema


# ---- order ----

@pytest.mark.parametrize("name, newest_first", [("up.ndjson", False), ("down.ndjson", True)])
def test_messages_are_ordered_by_time_then_by_file(load, client, ids, name,
                                                                   newest_first):
    times = [5, 5, 5, 6, 7, 7, 9]
    messages = [message(90 - n, 1700000000 + time) for n, time in enumerate(times)]
    dumped = messages[::-1] if newest_first else messages
    thread, *dumped = ids([THREAD, *dumped])
    load([*dumped, thread], name)
    assert texts(client, thread["id"]) == [f"text {90 - n}" for n in range(len(times))]


def test_messages_of_several_files_are_merged(binary, server, client, ids, tmp_path):
    thread, *messages = ids([THREAD, *(message(n, 1700000000 + n) for n in range(1, 7))])
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "z.json").write_text(json.dumps(thread, indent=1))
    (tmp_path / "a.json").write_text(json.dumps({"object": "list", "data": messages[4:]}))
    (tmp_path / "deep" / "b.jsonl").write_text("\ufeff" + json.dumps(messages[0]) + "\r\n\r\n"
                                               + json.dumps(messages[1]))
    (tmp_path / "deep" / "er" / "c.json").write_text(json.dumps(messages[2:4], indent=1))
    (tmp_path / "notes.txt").write_text("not for you")
    (tmp_path / "empty.json").write_text("")
    done = run_import(binary, server, tmp_path)
    assert counts(done.stdout)["messages"] == (6, 0, 0), done.stdout
    assert texts(client, thread["id"]) == [f"text {n}" for n in range(1, 7)]
    assert "notes.txt: not read" in done.stdout and "empty.json" not in done.stdout


# ---- again, and later ----

def test_a_later_dump_adds_what_is_new(load, client, ids):
    thread, one, two, three = ids([THREAD, message(1), message(2, 1700000002),
                                   message(3, 1700000003)])
    load([thread, one])
    client.beta.threads.update(thread["id"], metadata={"mine": "yes"})
    report = load([thread, one, two, two])
    assert counts(report) == {"assistants": (0, 0, 0), "threads": (0, 1, 0),
                              "messages": (1, 2, 0)}
    assert client.beta.threads.retrieve(thread["id"]).metadata == {"mine": "yes"}
    assert counts(load([three]))["messages"] == (1, 0, 0)
    assert texts(client, thread["id"]) == ["text 1", "text 2", "text 3"]
    made = client.beta.threads.messages.create(thread["id"], role="user", content="text 4")
    assert made.id == client.beta.threads.messages.list(thread["id"], limit=1).data[0].id


def test_nothing_is_added_while_a_run_is_active(load, client, ids, upstream):
    thread, one, two = ids([THREAD, message(1), message(2)])
    load([thread, one])
    upstream.answer(delay_ms=3600000, text="late")
    assistant = client.beta.assistants.create(model="demo")
    run = client.beta.threads.runs.create(thread["id"], assistant_id=assistant.id)
    report = load([thread, one, two])
    assert counts(report) == {"assistants": (0, 0, 0), "threads": (0, 0, 1),
                              "messages": (0, 0, 2)}
    assert f"Can't add messages to {thread['id']} while a run {run.id} is active." in report
    assert counts(load([thread, one]))["messages"] == (0, 1, 0)
    client.beta.threads.runs.cancel(run.id, thread_id=thread["id"])
    eventually(lambda: client.beta.threads.runs.retrieve(run.id, thread_id=thread["id"]).status,
               lambda status: status == "cancelled")
    assert counts(load([thread, one, two]))["messages"] == (1, 1, 0)


# ---- what cannot be imported ----

def test_a_broken_object_is_named_and_stops_nothing_else(load, client, ids):
    good, thread, one, wrong_role, no_time, orphan, elsewhere, other = ids([
        ASSISTANT, THREAD, message(1), message(2, role="system"), message(3, None),
        message(4, thread_id="thread_" + "f" * 24), message(1, thread_id="thread_" + "e" * 24),
        {**THREAD, "id": "thread_" + "e" * 24}])
    report = load([
        good, '{"object": "assistant", "id"\n', "\n", {**good, "id": "asst_no-model", "model": None},
        thread, "[1, 2\n", one, wrong_role, no_time, orphan, {"object": "thread.run", "id": "run_1"},
        elsewhere, other, '{"object":"thread","id":"\\u0000"}\n', "\xff\n"])
    assert counts(report) == {"assistants": (1, 0, 1), "threads": (2, 0, 0),
                              "messages": (1, 0, 4)}
    refused = dict(re.findall(r"^  \S*dump\.ndjson:(\d+): (.*)$", report, re.M))
    assert sorted(map(int, refused)) == [2, 4, 6, 8, 9, 10, 11, 12, 14, 15]
    assert "'model'" in refused["4"]
    assert "role" in refused["8"] and "created_at" in refused["9"]
    assert f"No thread found with id '{orphan['thread_id']}'." in refused["10"]
    assert "thread.run run_1" in refused["11"] and "another thread" in refused["12"]
    assert texts(client, thread["id"]) == ["text 1"]
    assert client.beta.assistants.retrieve(good["id"]).name == "Tutor"


def test_omitted_parts_are_named(load, client, ids):
    assistant, thread, one = ids([
        {**ASSISTANT, "file_ids": ["file-1"], "tool_resources": {
            "code_interpreter": {"file_ids": ["file-2"]},
            "file_search": {"vector_store_ids": ["vs_3"]}}},
        {**THREAD, "tool_resources": {"file_search": {"vector_store_ids": ["vs_4"]}}},
        message(1, attachments=[{"file_id": "file-5", "tools": [{"type": "file_search"}]}],
                run_id="nonsense", content=[
            {"type": "hologram", "hologram": {}},
            {"type": "text", "text": {"value": "text 1", "annotations": [
                {"type": "url_citation", "url": "https://e.org"}]}}])])
    report = load([assistant, thread, one])
    left = re.findall(r"^  (\w+): (.*)$", report, re.M)
    of = {id: [text for owner, text in left if owner == id]
          for id in (assistant["id"], thread["id"], one["id"])}
    assert [any(word in text for text in of[assistant["id"]])
            for word in ("'file_ids'", "file-2", "vs_3")] == [True] * 3
    assert len(of[thread["id"]]) == 1 and "vs_4" in of[thread["id"]][0]
    assert [any(word in text for text in of[one["id"]])
            for word in ("content[0]", "url_citation", "file-5", "'run_id'")] == [True] * 4
    (found,) = client.beta.threads.messages.list(thread["id"]).data
    assert [part.type for part in found.content] == ["text"] and found.run_id is None
    assert found.attachments[0].file_id == "file-5"
    kept = client.beta.assistants.retrieve(assistant["id"])
    assert kept.tool_resources.file_search.vector_store_ids == ["vs_3"]


def test_a_broken_file_is_named_with_its_line(binary, server, tmp_path):
    (tmp_path / "a.json").write_text('{\n "object": "thread",\n oops\n}\n')
    done = run_import(binary, server, tmp_path)
    assert done.returncode == 0 and re.search(r"a\.json:3: ", done.stdout), done.stdout
    assert "Nothing was changed." in done.stdout


def test_an_import_without_anything_to_read_exits_with_1(binary, server, tmp_path):
    for path, part in ((tmp_path / "missing", "No such file"), (tmp_path, "no file in it")):
        done = run_import(binary, server, path)
        assert done.returncode == 1 and part in done.stderr and not done.stdout


def test_a_thread_comes_whole_or_not_at_all(binary, start_fault_server, database, tmp_path):
    server = start_fault_server()
    url = server.settings["database_url"]
    path = tmp_path / "dump.ndjson"
    path.write_text("".join(json.dumps(line) + "\n" for line in
                            [THREAD, *(message(n) for n in range(1300))]))

    def load(fault):
        return subprocess.run([binary, "import", path, "--data-dir", server.directory / "none",
                               "--database-url", url], capture_output=True, text=True, timeout=patience(60),
                              env={**clean_environment(), "RUNNEL_FAULT": fault})

    def rows():
        return [database.ask(f"SELECT count(*) FROM {table}", url=url)[0][0]
                for table in ("threads", "items")]

    for fault in ("import_thread:1", "import_find_end:1", "import_messages:1",
                  "import_messages:3", "store.commit:2"):
        done = load(fault)
        assert done.returncode == 1 and "fault" in done.stderr
        assert counts(done.stdout)["messages"] == (0, 0, 0) and rows() == ["0", "0"]
    done = load("import_messages:1:kill")
    assert done.returncode == -9 and rows() == ["0", "0"]
    assert counts(load("").stdout)["messages"] == (1300, 0, 0)
    assert rows() == ["1", "1300"]


@pytest.mark.slow
def test_a_thread_that_is_too_long_is_refused(load, ids, client):
    thread, *messages = ids([THREAD, *(message(n) for n in range(100001))])
    report = load([thread, *messages])
    assert counts(report) == {"assistants": (0, 0, 0), "threads": (0, 0, 1),
                              "messages": (0, 0, 100001)}
    assert "which is the maximum" in report
    report = load([json.dumps([thread, *messages[:5000]])], "one-list.json")
    assert counts(report)["messages"] == (5000, 0, 0), report
    assert client.beta.threads.messages.list(thread["id"], limit=1).data[0].id == messages[4999]["id"]


# ---- Files ----

FILE = {"id": "file-abc123DEF456", "object": "file", "bytes": 5, "created_at": 1699009709, "filename": "a.txt",
        "purpose": "assistants", "status": "processed", "status_details": None, "expires_at": None}


@pytest.fixture
def load_files(binary, start_server, tmp_path):
    """load_files(objects, {name: bytes}) -> (the report, a client)."""
    server = start_server(file_storage="database")
    (tmp_path / "file_contents").mkdir()

    def load(objects, contents=None):
        for name, data in (contents or {}).items():
            (tmp_path / "file_contents" / name).write_bytes(data)
        dump = tmp_path / "dump.ndjson"
        dump.write_text("".join(json.dumps(one) + "\n" for one in objects))
        done = run_import(binary, server, dump)
        assert done.returncode == 0, done.stderr
        return done.stdout, server.sdk()
    return load


def test_a_file_keeps_its_id_and_is_named_by_what_comes_with_it(load_files):
    """Nothing is said of the file that came along, and of the one that did not."""
    assistant = {**ASSISTANT, "tool_resources": {"code_interpreter": {"file_ids": [FILE["id"], "file-gone"]}}}
    report, client = load_files([assistant, FILE], {FILE["id"]: b"hello"})
    assert counts(report)["files"] == (1, 0, 0)
    made = client.files.retrieve(FILE["id"])
    assert made.to_dict() == {**FILE, "status": "processed"} | made.to_dict() and made.created_at == FILE["created_at"]
    assert client.files.content(FILE["id"]).read() == b"hello"
    assert "file-gone, which was not imported" in report and f"names {FILE['id']}" not in report
    again, _client = load_files([FILE])
    assert counts(again)["files"] == (0, 1, 0)


@pytest.mark.parametrize("change, contents, says", [
    ({}, {}, "its bytes are not in file_contents/file-abc123DEF456"),
    ({"bytes": 6}, {FILE["id"]: b"hello"}, "has 5 bytes, and not 6"),
    ({"expires_at": 1699009710}, {FILE["id"]: b"hello"}, "has expired"),
    ({"id": "file-../../secret"}, {}, "Expected an ID that begins with 'file'"),
    ({"filename": None}, {FILE["id"]: b"hello"}, "filename"),
])
def test_a_file_that_cannot_be_imported_is_refused_by_itself(load_files, change, contents, says):
    report, client = load_files([{**FILE, **change}, ASSISTANT], contents)
    assert counts(report)["files"] == (0, 0, 1) and counts(report)["assistants"] == (1, 0, 0)
    assert says in report and client.files.list().data == []


def test_names_of_files_are_cleaned_as_those_of_uploads(load_files):
    names = {"../../etc/passwd": "passwd", "C:\\a\\b\n\x7f.txt": "b__.txt", "dir/": "file", "\u4e66" * 90: "\u4e66" * 85}
    files = [{**FILE, "id": f"file-abc123DEF{n}00", "filename": name} for n, name in enumerate(names)]
    report, client = load_files(files, {file["id"]: b"hello" for file in files})
    assert counts(report)["files"] == (4, 0, 0)
    assert [client.files.retrieve(file["id"]).filename for file in files] == list(names.values())


def test_only_the_text_of_a_file_is_another_file(load_files):
    report, client = load_files([{**FILE, "filename": "a.pdf", "bytes": 12345}], {f"{FILE['id']}.txt": b"text"})
    made = client.files.retrieve(FILE["id"])
    assert (made.filename, made.bytes) == ("a.pdf.txt", 4) and client.files.content(made.id).read() == b"text"
    assert f"{FILE['id']}: only its text was in file_contents, so it is called a.pdf.txt" in report


def test_a_link_among_the_contents_is_not_followed(load_files, tmp_path):
    (tmp_path / "secret").write_bytes(b"12345")
    (tmp_path / "file_contents" / FILE["id"]).symlink_to(tmp_path / "secret")
    report, _client = load_files([FILE])
    assert counts(report)["files"] == (0, 0, 1)


def test_a_pipe_among_the_contents_is_not_waited_for(load_files, tmp_path):
    os.mkfifo(tmp_path / "file_contents" / FILE["id"])
    report, _client = load_files([FILE])
    assert counts(report)["files"] == (0, 0, 1)


# ---- Vector stores ----

STORE = {"id": "vs_abc123", "object": "vector_store", "created_at": 1699009710, "name": "Handbook", "usage_bytes": 5,
         "file_counts": {"in_progress": 0, "completed": 1, "failed": 0, "cancelled": 0, "total": 1},
         "status": "completed", "expires_after": {"anchor": "last_active_at", "days": 7}, "expires_at": 1999009710,
         "last_active_at": 1699009711, "metadata": {"a": "b"}}
IN_STORE = {"id": FILE["id"], "object": "vector_store.file", "created_at": 1699009710, "vector_store_id": STORE["id"],
            "status": "completed", "usage_bytes": 5, "last_error": None, "attributes": {"year": 2024.0},
            "chunking_strategy": {"type": "static", "static": {"max_chunk_size_tokens": 400,
                                                               "chunk_overlap_tokens": 100}}}


def test_a_vector_store_comes_with_its_files_and_is_searched(load_files):
    """An assistant that has it needs nothing more."""
    assistant = {**ASSISTANT, "tools": [{"type": "file_search"}],
                 "tool_resources": {"file_search": {"vector_store_ids": [STORE["id"]]}}}
    objects = [assistant, IN_STORE, STORE, {**FILE, "bytes": 24}]
    report, client = load_files(objects, {FILE["id"]: b"The moon is made of tea."})
    assert counts(report) == {"files": (1, 0, 0), "vector stores": (1, 0, 0), "files in them": (1, 0, 0),
                              "assistants": (1, 0, 0), "threads": (0, 0, 0), "messages": (0, 0, 0)}
    assert "not imported" not in report
    store = eventually(lambda: client.vector_stores.retrieve(STORE["id"]), lambda one: one.status == "completed")
    assert (store.name, store.created_at, store.metadata) == ("Handbook", STORE["created_at"], {"a": "b"})
    assert store.expires_after.days == 7 and store.file_counts.completed == 1
    file = client.vector_stores.files.retrieve(FILE["id"], vector_store_id=STORE["id"])
    assert file.attributes == {"year": 2024.0} and file.chunking_strategy.static.max_chunk_size_tokens == 400
    found = client.vector_stores.search(STORE["id"], query="moon").data
    assert [one.file_id for one in found] == [FILE["id"]]
    assert client.beta.assistants.retrieve(ASSISTANT["id"]).tool_resources.file_search.vector_store_ids == [STORE["id"]]
    again, _client = load_files(objects)
    assert counts(again)["vector stores"] == counts(again)["files in them"] == (0, 1, 0)


@pytest.mark.parametrize("objects, refused, says", [
    ([{**STORE, "status": "expired"}], "vector stores", "has expired"),
    ([STORE, IN_STORE], "files in them", "No such File object"),
    ([FILE, IN_STORE], "files in them", "No vector store found with id 'vs_abc123'"),
    ([{**STORE, "metadata": {"a": 5}}], "vector stores", "metadata"),
    ([STORE, FILE, {**IN_STORE, "attributes": {"a": [1]}}], "files in them", "attributes"),
])
def test_a_vector_store_that_cannot_be_imported_is_refused_by_itself(load_files, objects, refused, says):
    report, _client = load_files([*objects, ASSISTANT], {FILE["id"]: b"hello"})
    assert counts(report)[refused] == (0, 0, 1) and counts(report)["assistants"] == (1, 0, 0)
    assert says in report
