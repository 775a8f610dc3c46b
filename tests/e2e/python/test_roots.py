"""Folders of the operator that tools may read or write when a person allows it, and nothing else of the host."""

import subprocess

import pytest

from harness.patience import patience
from harness.process import clean_environment
from harness.sandbox import require_sandbox
from harness.tools import call, then_says
from test_approvals import answer, calls_of, questions

CODE = {"type": "mcp", "server_label": "code", "server_url": "builtin:code"}


@pytest.fixture(autouse=True)
def sandbox(binary):
    require_sandbox(binary)


@pytest.fixture
def ground(tmp_path):
    """Two roots, and a secret beside them that links lead to."""
    shared, open_ = tmp_path / "shared", tmp_path / "open"
    (shared / "docs").mkdir(parents=True)
    open_.mkdir()
    (shared / "docs/a.txt").write_text("one\n")
    (shared / "docs/b.txt").write_text("two\n")
    (shared / "top.txt").write_text("three\n")
    (tmp_path / "secret").write_text("secret\n")
    (shared / "docs/out").symlink_to(tmp_path / "secret")
    (shared / "docs/up").symlink_to("../../secret")
    for path in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        path.chmod(0o755)
    open_.chmod(0o777)
    return tmp_path


@pytest.fixture
def client(start_server, ground):
    config = ground / "runnel.yaml"
    config.write_text(f"sandbox:\n  roots:\n    - {{name: shared, path: {ground}/shared}}\n"
                      f"    - {{name: open, path: {ground}/open, writable: true}}\n")
    return start_server(config=config).sdk()


@pytest.fixture
def go(client, upstream):
    """Runs the calls, one a turn, answers each question with yes, and returns (outputs, questions)."""
    def go(*calls, approve=True, **more):
        then_says(upstream, *[[each] for each in calls], text="Done.")
        response = client.responses.create(model="demo", input="go", tools=[CODE])
        seen, results = [], outputs(response)
        while questions(response):
            (question,) = questions(response)
            seen.append(question)
            response = client.responses.create(model="demo", input=[answer(question, approve=approve, **more)],
                                               tools=[CODE], previous_response_id=response.id)
            results += outputs(response)
        return results, seen
    return go


def outputs(response):
    return [item.output or (item.error.content[0]["text"] if item.error else "refused") for item in calls_of(response)]


def asked(seen):
    return [(one.runnel["type"], one.runnel["patterns"]) for one in seen]


def test_a_file_of_a_root_is_read_when_a_person_allows_its_folder(go, upstream):
    read, seen = go(call("read", 1, file_path="/mnt/roots/shared/docs/a.txt"))
    assert read == ["1\tone\n2\t"] and asked(seen) == [("external_directory", ["shared:/docs/*"])]
    assert seen[0].runnel["title"] == "Read: /mnt/roots/shared/docs/a.txt"
    tools = {tool["function"]["name"]: tool["function"]["description"] for tool in upstream.chats()[0]["tools"]}
    assert "/mnt/roots/shared (read only), /mnt/roots/open" in tools["read"]
    (refused,), seen = go(call("read", 1, file_path="/mnt/roots/shared/top.txt"), approve=False)
    assert "three" not in refused and asked(seen) == [("external_directory", ["shared:/*"])]


def test_always_covers_the_folder_and_no_other(go):
    read, seen = go(call("read", 1, file_path="/mnt/roots/shared/docs/a.txt"),
                    call("read", 2, file_path="/mnt/roots/shared/docs/b.txt"),
                    call("read", 3, file_path="/mnt/roots/shared/docs/../top.txt"),
                    runnel={"remember": {"match": "pattern"}})
    assert read == ["1\tone\n2\t", "1\ttwo\n2\t", "1\tthree\n2\t"]
    assert asked(seen) == [("external_directory", ["shared:/docs/*"]), ("external_directory", ["shared:/*"])]


def test_a_root_is_written_where_the_operator_allows_it(go, ground):
    (made, edited, refused), seen = go(
        call("write", 1, file_path="/mnt/roots/open/new/a.txt", content="one\n"),
        call("edit", 2, file_path="/mnt/roots/open/new/a.txt", old_string="one", new_string="1"),
        call("write", 3, file_path="/mnt/roots/shared/docs/a.txt", content="x"))
    assert made.startswith("Successfully created") and edited.startswith("Successfully edited")
    assert "/mnt/roots/shared can only be read." in refused
    assert (ground / "open/new/a.txt").read_text() == "1\n" and (ground / "shared/docs/a.txt").read_text() == "one\n"
    assert [p.name for p in (ground / "open").iterdir()] == ["new"]
    assert ("external_directory", ["open:/new/*"]) in asked(seen) and len(seen) <= 4


@pytest.mark.parametrize("path", ["/mnt/roots/shared/docs/out", "/mnt/roots/shared/docs/up",
                                  "/mnt/roots/shared/../../secret", "/mnt/roots/none/a", "/mnt/roots/shared/../none/x"])
def test_nothing_leads_out_of_a_root(go, path):
    (refused,), _ = go(call("read", 1, file_path=path))
    assert "secret\n" not in refused and ("outside" in refused or "There is no folder" in refused)


def test_a_command_sees_only_the_roots_that_it_names(go, ground):
    (read, failed, written), seen = go(
        call("bash", 1, command="cat /mnt/roots/shared/docs/a.txt; ls /mnt/roots"),
        call("bash", 2, command="echo x > /mnt/roots/shared/docs/a.txt; cat /mnt/roots/shared/docs/up"),
        call("bash", 3, command="pwd; echo 2 > b.txt; ls", working_directory="/mnt/roots/open"))
    assert read == "one\nshared\n" and written == "/mnt/roots/open\nb.txt\n"
    assert "Read-only file system" in failed and "secret" not in failed
    assert asked(seen)[0] == ("external_directory", ["shared:/*"])
    assert asked(seen)[1][1][0] == "shared:/*" and asked(seen)[1][1][1].startswith("= echo x")
    assert (ground / "open/b.txt").read_text() == "2\n" and (ground / "shared/docs/a.txt").read_text() == "one\n"
    (hidden,), seen = go(call("bash", 1, command="cd /mnt; cat roots/shared/top.txt; ls /mnt"))
    assert "three" not in hidden and "roots" not in hidden.splitlines()


def test_files_of_a_root_are_searched(go):
    (files, lines, one), seen = go(call("glob", 1, pattern="*.txt", path="/mnt/roots/shared"),
                                   call("grep", 2, pattern="t", path="/mnt/roots/shared/docs"),
                                   call("grep", 3, pattern="t", path="/mnt/roots/shared/docs/b.txt"))
    assert sorted(files.splitlines()) == [f"/mnt/roots/shared/{name}" for name in ("docs/a.txt", "docs/b.txt", "top.txt")]
    assert lines == one == "Found 1 matches\n/mnt/roots/shared/docs/b.txt:\n  1: two"
    assert asked(seen) == [("external_directory", [pattern]) for pattern in
                           ("shared:/*", "shared:/docs/*", "shared:/docs/*")]


def test_python_sees_no_root(client, upstream):
    then_says(upstream, [call("python", code="import os; print(sorted(os.listdir('/mnt')))")], text="Done.")
    answered = client.responses.create(model="demo", input="go", include=["code_interpreter_call.outputs"],
                                       tools=[{"type": "code_interpreter", "container": {"type": "auto"}}])
    assert answered.output[0].outputs[0].logs == "['data', 'skills']\n"


@pytest.mark.parametrize("roots, message", [
    ("[{name: A, path: /tmp}]", "sandbox.roots[0].name: expected at most 32 small letters"),
    ("[{name: a, path: tmp}]", "sandbox.roots[0].path: expected a path from /"),
    ("[{name: a, path: /tmp}, {name: a, path: /}]", "sandbox.roots: 'a' is there twice"),
])
def test_a_root_that_cannot_be_is_refused_at_the_start(binary, tmp_path, roots, message):
    config = tmp_path / "runnel.yaml"
    config.write_text(f"sandbox: {{roots: {roots}}}\n")
    done = subprocess.run([binary, "serve", "--config", config], capture_output=True, text=True,
                          env=clean_environment(), timeout=patience(60), check=False)
    assert done.returncode == 2 and message in done.stderr
