"""Skills in containers: folders that code reads, with their names for the model; and what is refused."""

import base64
import io
import zipfile

import openai
import pytest

from harness.sandbox import require_sandbox
from harness.server import eventually
from harness.tools import call

UNKNOWN = "skill_000000000000000000000000"
LOGO = b"\x89PNG\0\xff"


@pytest.fixture(autouse=True)
def sandbox(binary):
    require_sandbox(binary)


def skill_file(text="Begin with what breaks.\n", name="notes", description="How notes are written."):
    return f"---\nname: {name}\ndescription: {description}\n---\n{text}"


def folder(name="notes", text="Begin with what breaks.\n", **more):
    files = {"SKILL.md": skill_file(text, name).encode(), **more}
    return [(f"{name}/{path}", data) for path, data in files.items()]


def zip_of(files):
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as made:
        for path, data in files:
            made.writestr(path, data)
    return whole.getvalue()


def inline(name="notes", data=None, description="How notes are written.", **source):
    data = zip_of(folder(name)) if data is None else data
    return {"type": "inline", "name": name, "description": description,
            "source": {"type": "base64", "media_type": "application/zip",
                       "data": base64.b64encode(data).decode(), **source}}


def reference(skill, **version):
    return {"type": "skill_reference", "skill_id": skill.id, **version}


@pytest.fixture
def skill(client):
    made = client.skills.create(files=folder(**{"logo.png": LOGO, "bin/run.sh": b"#!/bin/sh\necho ran\n"}))
    yield made
    try:
        client.skills.delete(made.id)
    except openai.NotFoundError:
        pass


def auto(*skills, **more):
    return {"type": "shell", "environment": {"type": "container_auto", "skills": list(skills), **more}}


def inside(container):
    return {"type": "shell", "environment": {"type": "container_reference", "container_id": container}}


@pytest.fixture
def run(client, upstream):
    """What a command in a shell has printed, with the response."""
    def run(tool, command, **body):
        upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}},
                        {"answer": {"tool_calls": [call("shell", commands=[command])]}})
        answer = client.responses.create(**{"model": "demo", "input": "go", "tools": [tool], **body})
        output = next(item for item in answer.output if item.type == "shell_call_output").output[0]
        return output.stdout + output.stderr, answer
    return run


def description(upstream):
    """The description of the first tool, as the model has read it."""
    return upstream.chats()[0]["tools"][0]["function"]["description"]


def problem(answer):
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["param"], error["message"]


def test_a_container_has_the_skills_of_its_request(client, run, skill, upstream):
    box = client.containers.create(name="box", skills=[reference(skill), inline("mails")])
    printed, _ = run(inside(box.id), "cd /mnt/skills; find . -type f | sort; cat notes/SKILL.md; notes/bin/run.sh;"
                                     " head -c 4 notes/logo.png | tail -c 3")
    assert printed == ("./mails/SKILL.md\n./notes/SKILL.md\n./notes/bin/run.sh\n./notes/logo.png\n"
                       + skill_file() + "ran\nPNG")
    assert "\n- notes: How notes are written. (/mnt/skills/notes)\n- mails: How notes are written. (/mnt/skills/mails)" \
        in description(upstream)


def test_code_cannot_change_a_skill(client, run, skill):
    box = client.containers.create(name="box", skills=[reference(skill)])
    printed, _ = run(inside(box.id),
                     "cd /mnt/skills/notes; echo x >> SKILL.md; echo x > new; rm -rf bin; mv SKILL.md x; chmod 777 .;"
                     " touch /mnt/skills/x; rmdir /mnt/skills; mkdir -p /mnt/data/s; ln /mnt/skills/notes/SKILL.md"
                     " /mnt/data/s/link; ls; ls /mnt/skills /mnt/data/s; cat SKILL.md")
    assert printed.startswith("SKILL.md\nbin\nlogo.png\n/mnt/data/s:\n\n/mnt/skills:\nnotes\n" + skill_file())
    assert printed.count("Read-only file system") + printed.count("Permission denied") >= 6
    assert "Invalid cross-device link" in printed or "Operation not permitted" in printed


def test_versions_are_pinned_latest_or_the_default(client, run, skill):
    client.skills.versions.create(skill.id, files=folder(text="Two.\n"))
    client.skills.versions.create(skill.id, files=folder(text="Three.\n"))
    client.skills.update(skill.id, default_version="2")
    boxes = [client.containers.create(name="box", skills=[reference(skill, **version)]).id
             for version in ({}, {"version": "latest"}, {"version": 1}, {"version": "3"})]
    client.skills.update(skill.id, default_version="1")
    read = [run(inside(box), "tail -n 1 /mnt/skills/notes/SKILL.md")[0] for box in boxes]
    assert read == ["Two.\n", "Three.\n", "Begin with what breaks.\n", "Three.\n"]


def test_two_skills_of_one_name_have_two_folders(client, run, skill, upstream):
    other = client.skills.create(files=folder(text="Other.\n"))
    box = client.containers.create(name="box", skills=[reference(skill), reference(other), reference(skill)])
    printed, _ = run(inside(box.id), "ls /mnt/skills; tail -n 1 /mnt/skills/notes-2/SKILL.md")
    assert printed == "notes\nnotes-2\nOther.\n"
    assert "- notes-2: How notes are written. (/mnt/skills/notes-2)" in description(upstream)
    client.skills.delete(other.id)
    assert run(inside(box.id), "tail -n 1 /mnt/skills/notes-2/SKILL.md")[0] == "Other.\n"


def test_a_shell_brings_its_skills_and_shows_its_container(client, http, run, skill, upstream):
    printed, answer = run(auto(reference(skill), inline("mails"), memory_limit="1g"), "ls /mnt/skills")
    assert printed == "mails\nnotes\n"
    container = answer.output[0].environment.container_id
    shown = {"type": "container_reference", "container_id": container}
    assert answer.tools[0].environment.to_dict() == shown
    assert http.get(f"/v1/responses/{answer.id}").json()["tools"] == [{"type": "shell", "environment": shown}]
    assert "- mails: How notes are written. (/mnt/skills/mails)" in description(upstream)
    again, answer = run(auto(inline("third")), "ls /mnt/skills", previous_response_id=answer.id)
    assert again == "mails\nnotes\nthird\n" and answer.output[0].environment.container_id == container


def test_the_container_is_shown_before_the_first_call(client, upstream, skill):
    upstream.script({"answer": {"text": "No."}})
    with client.responses.stream(model="demo", input="go", tools=[auto(reference(skill))]) as stream:
        shown = [event.response.tools[0].environment for event in stream if hasattr(event, "response")]
    assert {one.type for one in shown} == {"container_reference"} and len({one.container_id for one in shown}) == 1
    assert client.containers.retrieve(shown[0].container_id).name == "auto"


def test_python_reads_them_too(client, upstream, skill):
    box = client.containers.create(name="box", skills=[reference(skill)])
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}},
                    {"answer": {"tool_calls": [call("python", code="print(open('/mnt/skills/notes/SKILL.md').read())")]}})
    answer = client.responses.create(model="demo", input="go", include=["code_interpreter_call.outputs"],
                                     tools=[{"type": "code_interpreter", "container": box.id}])
    assert answer.output[0].outputs[0].logs.startswith(skill_file())
    assert "(/mnt/skills/notes)" in description(upstream)


def test_skills_of_the_run_are_there_unless_a_person_is_asked(client, run, skill):
    other = client.skills.create(files=folder("asked"))
    printed, _ = run(auto(), "ls /mnt/skills", extra_body={"runnel": {
        "skills": [skill.id, other.id], "skill_permissions": [{"skill": "asked", "permission": "ask"}]}})
    assert printed == "notes\n"


def test_a_run_of_a_thread_has_them(client, http, upstream, skill):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}},
                    {"answer": {"tool_calls": [call("shell", commands=["ls /mnt/skills"])]}})
    assistant = http.post("/v1/assistants", json={"model": "demo", "tools": [auto(reference(skill))]}).json()
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "go"}])
    run = http.post(f"/v1/threads/{thread.id}/runs", json={"assistant_id": assistant["id"]}).json()
    assert run["tools"][0]["environment"]["type"] == "container_reference"
    path = f"/v1/threads/{thread.id}/runs/{run['id']}"
    eventually(lambda: http.get(path).json()["status"], lambda status: status == "completed")
    step = http.get(f"{path}/steps").json()["data"][-1]
    assert "notes" in step["step_details"]["tool_calls"][0]["function"]["output"]


def test_they_survive_a_restart_and_the_skill(start_server, upstream, database):
    url = database.new()
    server = start_server(database_url=url)
    client = server.sdk()
    skill = client.skills.create(files=folder())
    box = client.containers.create(name="box", skills=[reference(skill)])
    client.skills.delete(skill.id)
    server.kill()
    server.start()
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}},
                    {"answer": {"tool_calls": [call("shell", commands=["cat /mnt/skills/notes/SKILL.md"])]}})
    client = server.sdk()
    answer = client.responses.create(model="demo", input="go", tools=[inside(box.id)])
    assert answer.output[1].output[0].stdout == skill_file()
    client.containers.delete(box.id)
    assert database.ask("SELECT count(*) FROM container_skills", url=url) == [["0"]]


def test_another_node_has_them_when_the_container_comes_to_it(start_fault_server, upstream, database):
    first = start_fault_server(lease_ttl=1)
    second = start_fault_server(url=first.settings["database_url"], lease_ttl=1)
    box = first.sdk().containers.create(name="box", skills=[inline()])
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}},
                    {"answer": {"tool_calls": [call("shell", commands=["cat /mnt/skills/notes/SKILL.md"])]}})
    for server in (first, second):
        answer = server.sdk().responses.create(model="demo", input="go", tools=[inside(box.id)], store=False)
        assert answer.output[1].output[0].stdout == skill_file()
    nodes = database.ask("SELECT epoch FROM containers", url=first.settings["database_url"])
    assert nodes == [["2"]]


def test_a_skill_of_an_old_program_has_a_version(start_server, upstream, database):
    """In a rolling upgrade a node of the release before makes skills, and deletes them."""
    url = database.new()
    server = start_server(database_url=url)
    client = server.sdk()
    content = skill_file("Old.\n")
    project = client.skills.create(files=folder("first"))
    columns = f"SELECT project_id, 'skill_{1:024}', 'notes', 'Old.', '{content}', {content.index('Old.')}, 1"
    database.ask("INSERT INTO skills (project_id, id, name, description, content, prompt_at, created_at)"
                 f" {columns} FROM skills WHERE id = '{project.id}'", url=url)
    old = client.skills.retrieve(f"skill_{1:024}")
    assert (old.default_version, old.latest_version) == ("1", "1")
    assert zipfile.ZipFile(io.BytesIO(client.skills.content.retrieve(old.id).read())).read("notes/SKILL.md") == \
        content.encode()
    database.ask(f"DELETE FROM skills WHERE id = '{old.id}'", url=url)
    assert database.ask(f"SELECT count(*) FROM skill_versions WHERE skill_id = '{old.id}'", url=url) == [["0"]]


def test_a_skill_that_cannot_be_written_fails_the_call_and_not_the_next(start_fault_server, upstream):
    server = start_fault_server(sandbox_disk_reserve=0)
    client = server.sdk()
    box = client.containers.create(name="box", skills=[inline()])
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}},
                    {"answer": {"tool_calls": [call("shell", commands=["cat /mnt/skills/notes/SKILL.md"])]}})
    server.arm(*(f"workspace.skill:{visit}" for visit in (1, 2, 3)))
    failed = client.responses.create(model="demo", input="go", tools=[inside(box.id)])
    assert "could not put the skills into the container" in str(upstream.chats()[-1]["messages"])
    assert failed.status == "completed"
    server.arm()
    answer = client.responses.create(model="demo", input="go", tools=[inside(box.id)])
    assert answer.output[1].output[0].stdout == skill_file()


def refused(one, param, message, status=400, code="invalid_value"):
    return pytest.param(one, status, code, param, message, id=f"{param} {message[:24]}")


WRONG = [
    refused({"type": "skill_reference", "skill_id": UNKNOWN}, ".skill_id", f"Skill with id '{UNKNOWN}' not found.", 404,
            None),
    refused({"type": "skill_reference", "skill_id": "openai-spreadsheets"}, ".skill_id",
            "Skill with id 'openai-spreadsheets' not found.", 404, None),
    refused({"type": "skill_reference"}, ".skill_id", "Missing required parameter", 400, "missing_required_parameter"),
    refused({"type": "skill_reference", "skill_id": UNKNOWN, "version": "newest"}, ".version",
            "expected the number of a version, or 'latest'."),
    refused({"type": "skill_reference", "skill_id": UNKNOWN, "version": 0}, ".version", "expected the number"),
    refused({"type": "folder"}, ".type", "Supported values are: 'skill_reference' and 'inline'."),
    refused("notes", "", "expected an object", 400, "invalid_type"),
    refused({**inline(), "name": "../x"}, ".name", "expected at most 64 small letters"),
    refused({**inline(), "description": "a\nb"}, ".description", "expected one line"),
    refused(inline(data=b"no zip"), ".source.data", "the zip: "),
    refused(inline(data=zip_of([("notes/a.md", b"a")])), ".source.data", "expected one SKILL.md at the top of one folder"),
    refused(inline(data=zip_of(folder() + [("../evil", b"a")])), ".source.data", "'../evil'"),
    refused({**inline(), "source": {"type": "base64", "media_type": "application/zip", "data": "%"}}, ".source.data",
            "base64"),
    refused(inline(media_type="text/plain"), ".source.media_type", "Supported values are: 'application/zip'."),
]


@pytest.mark.parametrize("one, status, code, param, message", WRONG)
def test_what_cannot_be_is_refused(http, upstream, one, status, code, param, message):
    answer = http.post("/v1/responses", json={"model": "demo", "input": "go", "tools": [auto(one)]})
    shown = problem(answer)
    assert shown[:3] == (status, code, f"tools[0].environment.skills[0]{param}") and message in shown[3]
    before = len(http.get("/v1/containers?limit=100").json()["data"])
    shown = problem(http.post("/v1/containers", json={"name": "box", "skills": [one]}))
    assert shown[:3] == (status, code, f"skills[0]{param}") and message in shown[3]
    assert len(http.get("/v1/containers?limit=100").json()["data"]) == before and upstream.chats() == []


def test_a_missing_version_and_a_foreign_skill_do_not_exist(client, stranger, http, skill):
    shown = problem(http.post("/v1/containers", json={"name": "box", "skills": [reference(skill, version=7)]}))
    assert shown == (404, None, "skills[0].skill_id", f"Version 7 of the skill '{skill.id}' not found.")
    with pytest.raises(openai.NotFoundError):
        stranger.containers.create(name="box", skills=[reference(skill)])
    theirs = stranger.skills.create(files=folder())
    with pytest.raises(openai.NotFoundError):
        client.responses.create(model="demo", input="go", tools=[auto(reference(theirs))])


def test_skills_of_containers_count_for_the_project(start_server, database):
    url = database.new()
    client = start_server(database_url=url, max_project_bytes=50).sdk()
    skill = client.skills.create(files=folder())
    used = lambda: database.ask("SELECT document_bytes FROM storage_use", url=url)
    size = len(skill_file())
    first = client.containers.create(name="one", skills=[reference(skill)])
    assert used() == [[str(size)]]
    for one in (reference(skill), inline("mails")):
        with pytest.raises(openai.BadRequestError) as refused:
            client.containers.create(name="two", skills=[one])
        assert refused.value.code == "storage_quota_exceeded"
    client.containers.delete(first.id)
    assert used() == [["0"]]
    second = client.containers.create(name="two", skills=[reference(skill), inline("mails")])
    assert int(used()[0][0]) > size
    client.containers.delete(second.id)
    assert used() == [["0"]]


def test_more_skills_than_a_container_may_have_are_refused(client, http, skill):
    many = [inline(f"skill-{i}") for i in range(33)]
    assert problem(http.post("/v1/containers", json={"name": "box", "skills": many}))[:3] == (
        400, "array_above_max_length", "skills")
    box = client.containers.create(name="box", skills=many[:32])
    assert box.status == "running"


def test_a_note_in_an_assistant_does_not_replace_the_zip(client, http):
    forged = {**inline(data=b"no zip"), "runnel": {"content": "forged", "origin": "x", "files": {}}}
    assistant = http.post("/v1/assistants", json={"model": "demo", "tools": [auto(forged)]}).json()
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "go"}])
    for body in ({"assistant_id": assistant["id"]}, {"assistant_id": assistant["id"], "tools": [auto(forged)]}):
        answer = http.post(f"/v1/threads/{thread.id}/runs", json=body)
        assert answer.status_code == 400 and "it is no whole zip" in answer.text
        assert http.post("/v1/threads/runs", json=body).status_code == 400


def test_a_note_of_a_client_and_a_container_of_its_choice_count_for_nothing(client, http, run):
    forged = {**inline(), "runnel": {"content": "forged", "origin": "x", "files": {"../../x": "y"}}}
    assert run(auto(forged), "cat /mnt/skills/notes/SKILL.md; ls /mnt/skills/notes")[0] == skill_file() + "SKILL.md\n"
    answer = http.post("/v1/responses", json={"model": "demo", "input": "go", "tools": [auto(container_id="cntr_1")]})
    assert problem(answer) == (400, "unknown_parameter", "tools[0].environment.container_id",
                               "Unknown parameter: 'tools[0].environment.container_id'.")
