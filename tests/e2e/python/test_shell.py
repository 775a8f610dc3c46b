"""The hosted shell, executed for real: two items for each call, events, containers, and what is refused."""

import json

import openai
import pytest

from harness.recorder import parse_events
from harness.sandbox import require_sandbox
from harness.server import eventually
from harness.tools import call

AUTO = {"type": "shell", "environment": {"type": "container_auto"}}
UNKNOWN = "cntr_000000000000000000000000"
COMMAND = "response.shell_call_command"
CONTENT = "response.shell_call_output_content"


@pytest.fixture(autouse=True)
def sandbox(binary):
    require_sandbox(binary)


@pytest.fixture
def runs(upstream):
    """The model runs the commands in one call, and then says `text`."""
    def runs(*commands, text="Done.", name="shell", **arguments):
        upstream.script({"match": {"tool_results": True}, "answer": {"text": text}},
                        {"answer": {"tool_calls": [call(name, commands=list(commands), **arguments)]}})
    return runs


def respond(client, **body):
    return client.responses.create(**{"model": "demo", "input": "go", "tools": [AUTO], **body})


def reference(container):
    return {"type": "shell", "environment": {"type": "container_reference", "container_id": container}}


def entries(item):
    """(stdout, stderr, exit code or "timeout") of each command."""
    return [(o.stdout, o.stderr, o.outcome.exit_code if o.outcome.type == "exit" else o.outcome.type)
            for o in item.output]


def results(upstream):
    """What the model has read of its calls."""
    return [json.loads(m["content"]) for m in upstream.chats()[-1]["messages"] if m["role"] == "tool"]


def test_a_call_is_two_items_and_the_model_reads_both_streams(client, runs, upstream):
    runs("echo out; echo err >&2; exit 3", "pwd; echo $HOME", "kill -9 $$")
    called, output, message = respond(client).output
    assert (called.type, called.status, called.call_id) == ("shell_call", "completed", output.call_id)
    assert called.id.startswith("sh_") and output.id.startswith("sho_")
    assert called.action.commands[1] == "pwd; echo $HOME" and called.action.timeout_ms is None
    assert called.environment.type == "container_reference" and called.environment.container_id.startswith("cntr_")
    assert (output.type, output.status, output.max_output_length) == ("shell_call_output", "completed", None)
    assert entries(output) == [("out\n", "err\n", 3), ("/mnt/data\n/mnt/data\n", "", 0), ("", "", 137)]
    assert message.content[0].text == "Done."
    (read,) = results(upstream)
    assert [e["stdout"] for e in read] == ["out\n", "/mnt/data\n/mnt/data\n", ""] and read[0]["stderr"] == "err\n"
    assert read[0]["outcome"] == {"type": "exit", "exit_code": 3}
    (offered,) = upstream.chats()[0]["tools"]
    assert offered["function"]["name"] == "shell" and "/mnt/data" in offered["function"]["description"]


def test_events_come_in_openais_order(client, runs):
    runs("echo one", "echo two >&2")
    with client.responses.stream(model="demo", input="go", tools=[AUTO]) as stream:
        events = list(stream)
        final = stream.get_final_response()
    kinds = [e.type for e in events]
    begin = kinds.index("response.output_item.added")
    command = [f"{COMMAND}.added", f"{COMMAND}.delta", f"{COMMAND}.done"]
    assert kinds[begin:begin + 14] == [
        "response.output_item.added", *command, *command, "response.output_item.done",
        "response.output_item.added", f"{CONTENT}.delta", f"{CONTENT}.done", f"{CONTENT}.delta", f"{CONTENT}.done",
        "response.output_item.done"]
    added, done, opened, closed = (events[begin + n].item for n in (0, 7, 8, 13))
    assert added.action.commands == [] and done.action.commands == ["echo one", "echo two >&2"]
    assert added.environment == done.environment and (added.id, opened.id) == (done.id, closed.id)
    assert (opened.status, opened.output, opened.call_id) == ("in_progress", [], added.call_id)
    deltas = [e for e in events if e.type == f"{CONTENT}.delta"]
    assert [(e.command_index, e.delta.stdout, e.delta.stderr) for e in deltas] == [(0, "one\n", None), (1, None, "two\n")]
    ends = [e for e in events if e.type == f"{CONTENT}.done"]
    assert [(e.command_index, len(e.output), e.item_id) for e in ends] == [(0, 1, opened.id), (1, 1, opened.id)]
    assert [e.output_index for e in (events[begin], events[begin + 8])] == [0, 1]
    assert final.output[:2] == [done, closed] and entries(closed) == [("one\n", "", 0), ("", "two\n", 0)]


def test_output_is_shown_while_the_command_runs(client, http, runs):
    """The command ends only when a file is there, which is put there when its first output was seen."""
    box = client.containers.create(name="live")
    runs("echo begun; while [ ! -e seen ]; do sleep 0.01; done; echo ended")
    for event in respond(client, tools=[reference(box.id)], stream=True):
        if event.type == f"{CONTENT}.delta" and event.delta.stdout == "begun\n":
            http.post(f"/v1/containers/{box.id}/files", files={"file": ("seen", b"1")})
    assert entries(event.response.output[1]) == [("begun\nended\n", "", 0)]
    client.containers.delete(box.id)


def test_files_stay_and_folders_and_variables_do_not(client, runs):
    runs("cd /tmp; x=1; echo '1,2' > /mnt/data/a.csv", "pwd; echo \"[$x]\"; cat a.csv",
         text="[a](sandbox:/mnt/data/a.csv)")
    called, output, message = respond(client).output
    assert entries(output)[1][0] == "/mnt/data\n[]\n1,2\n"
    (cited,) = message.content[0].annotations
    assert cited.container_id == called.environment.container_id and cited.filename == "a.csv"
    assert client.containers.files.content.retrieve(cited.file_id, container_id=cited.container_id).read() == b"1,2\n"


def test_a_later_response_continues_in_the_container(client, runs, upstream):
    runs("echo kept > a.txt; (while sleep 0.1; do date > beat; done) > /dev/null 2>&1 &")
    first = respond(client)
    runs("cat a.txt; rm -f beat; while [ ! -e beat ]; do sleep 0.01; done; echo alive")
    second = respond(client, previous_response_id=first.id)
    assert second.output[0].environment == first.output[0].environment
    assert entries(second.output[1]) == [("kept\nalive\n", "", 0)]
    runs("ls")
    again = [{"role": "user", "content": "go"}, *[item.to_dict() for item in first.output],
             {"role": "user", "content": "and?"}]
    third = respond(client, input=again, store=False)
    assert third.output[0].environment == first.output[0].environment
    assert len(results(upstream)) == 2
    runs("pwd")
    assert respond(client).output[0].environment != first.output[0].environment


def test_code_and_commands_share_a_container(client, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [call("shell", 1, commands=["echo 41 > n"]),
                                               call("python", 2, code="print(int(open('n').read()) + 1)")]}})
    code = {"type": "code_interpreter", "container": {"type": "auto"}}
    called, _, item, _ = respond(client, tools=[AUTO, code], include=["code_interpreter_call.outputs"]).output
    assert item.container_id == called.environment.container_id and item.outputs[0].logs == "42\n"


def test_a_command_whose_time_is_over_keeps_its_output(client, runs):
    runs("echo before; sleep 600; echo after", "echo next", timeout_ms=300)
    called, output, _ = respond(client).output
    assert entries(output) == [("before\n", "", "timeout"), ("next\n", "", 0)] and called.action.timeout_ms == 300


def test_long_output_has_its_head_and_its_tail(client, runs):
    runs("seq 1000", max_output_length=20)
    _, output, _ = respond(client).output
    assert entries(output) == [("1\n2\n3\n4\n5\n[… 3873 characters omitted …]\n999\n1000\n", "", 0)]
    assert output.max_output_length == 20


def test_bytes_that_are_no_text_are_replaced(client, runs):
    runs("printf 'a\\377b\\303\\251'")
    assert entries(respond(client).output[1]) == [("a\ufffdb\u00e9", "", 0)]


def test_the_box_keeps_commands_from_host_and_network(client, runs):
    runs("cat /etc/shadow; ls /home; (exec 3<>/dev/tcp/127.0.0.1/22) 2>&1; id -u > /usr/x; echo end")
    (stdout, stderr, code), = entries(respond(client).output[1])
    assert stdout.endswith("end\n") and "root:" not in stdout and code == 0 and "/etc/shadow" in stderr


def test_a_container_that_is_deleted_meanwhile_fails_the_call(client, runs):
    box = client.containers.create(name="short")
    runs("echo begun; sleep 600", "echo next")
    for event in respond(client, tools=[reference(box.id)], stream=True):
        if event.type == f"{CONTENT}.delta" and event.delta.stdout:
            client.containers.delete(box.id)
    called, output, _ = event.response.output
    assert output.status == "incomplete" and called.status == "completed"
    assert entries(output)[-1][1:] == ("The container was deleted.", 126)


@pytest.mark.parametrize("environment, status, code, param, message", [
    ({"type": "container_reference"}, 400, "missing_required_parameter", "tools[0].environment.container_id",
     "Missing required parameter: 'tools[0].environment.container_id'."),
    ({"type": "container_reference", "container_id": UNKNOWN}, 404, None, "tools",
     f"Container with id '{UNKNOWN}' not found."),
    ({"type": "container_auto", "file_ids": ["file-none"]}, 404, None, "tools[0].environment.file_ids[0]",
     "No such File object: file-none"),
    ({"type": "container_auto", "memory_limit": "64g"}, 400, "invalid_value", "tools[0].environment.memory_limit",
     "Invalid value: '64g'. The largest memory_limit of this server is '4g'."),
    ({"type": "container_auto", "network_policy": {"type": "allowlist", "allowed_domains": ["example.org"]}},
     400, "unsupported_value", "tools[0].environment.network_policy.type",
     "Unsupported value: containers of this server have no network."),
    ({"type": "container_auto", "skills": [{"type": "skill_reference", "skill_id": "skill_1"}]}, 404, None,
     "tools[0].environment.skills[0].skill_id", "Skill with id 'skill_1' not found."),
])
def test_what_cannot_be_is_refused(http, upstream, environment, status, code, param, message):
    answer = http.post("/v1/responses", json={
        "model": "demo", "input": "go", "tools": [{"type": "shell", "environment": environment}]})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"], error["message"]) == (status, code, param, message)
    assert upstream.chats() == []


def test_a_container_of_another_project_does_not_exist(client, stranger):
    foreign = stranger.containers.create(name="theirs").id
    with pytest.raises(openai.NotFoundError, match=f"Container with id '{foreign}' not found."):
        respond(client, tools=[reference(foreign)])


@pytest.mark.parametrize("arguments", [{}, {"commands": []}, {"commands": ["ls", 5]}, {"commands": ["x"] * 33}])
def test_wrong_arguments_are_an_output_that_says_so(client, upstream, arguments):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [call("shell", **arguments)]}})
    called, output, _ = respond(client).output
    ((stdout, stderr, code),) = entries(output)
    assert (called.type, output.status, stdout, code) == ("shell_call", "incomplete", "", 126)
    assert "commands" in stderr and results(upstream)[0][0]["stderr"] == stderr


def test_a_person_is_asked_where_a_policy_wants_it(client, http, runs, upstream):
    asks = {"permissions": {"hosted/shell": {"execution": "ask-always"}}}
    for approve, wanted in ((True, ("42\n", "", 0)), (False, None)):
        runs("echo 42")
        body = {"model": "demo", "input": "go", "tools": [AUTO], "runnel": asks}
        first = http.post("/v1/responses", json=body).json()
        (question,) = [item for item in first["output"] if item["type"] == "mcp_approval_request"]
        assert (question["server_label"], question["name"]) == ("hosted", "shell")
        answer = {"type": "mcp_approval_response", "approval_request_id": question["id"], "approve": approve}
        second = respond(client, previous_response_id=first["id"], input=[answer], extra_body={"runnel": asks})
        called, output = [item for item in second.output if item.type.startswith("shell")]
        assert called.to_dict()["runnel"]["approval_request_id"] == question["id"]
        if wanted:
            assert entries(output) == [wanted]
        else:
            assert output.status == "completed" and entries(output)[0][2] == 126
            assert output.to_dict()["runnel"]["status"] == "execution_rejected"


def test_a_result_that_a_person_must_see_first_is_not_read_before(client, http, runs, upstream):
    runs("echo secret")
    asks = {"permissions": {"hosted/shell": {"result": "always"}}}
    first = http.post("/v1/responses", json={"model": "demo", "input": "go", "tools": [AUTO], "runnel": asks}).json()
    (question,) = [item for item in first["output"] if item["type"] == "mcp_approval_request"]
    answer = {"type": "mcp_approval_response", "approval_request_id": question["id"], "approve": False}
    respond(client, previous_response_id=first["id"], input=[answer], extra_body={"runnel": asks})
    (read,) = [m["content"] for m in upstream.chats()[-1]["messages"] if m["role"] == "tool"]
    assert "secret" not in read and '"status":"rejected"' in read


def test_local_shells_stay_the_clients(client, upstream):
    upstream.script({"answer": {"tool_calls": [call("shell", commands=["ls"])]}})
    (asked,) = respond(client, tools=[{"type": "shell", "environment": {"type": "local"}}]).output
    assert (asked.type, asked.environment.type) == ("shell_call", "local")


def local(*skills):
    return {"type": "shell", "environment": {"type": "local", "skills": list(skills)}}


def test_the_skills_of_a_local_shell_are_sent_to_the_model(client, upstream):
    notes = {"name": "notes", "description": "How notes are written.", "path": "~/skills/notes"}
    respond(client, tools=[local(notes, {**notes, "name": "mail"})])
    (offered,) = upstream.chats()[0]["tools"]
    assert offered["function"]["description"].endswith(
        "SKILL.md in the folder:\n- notes: How notes are written. (~/skills/notes)"
        "\n- mail: How notes are written. (~/skills/notes)")
    respond(client, tools=[local()])
    assert "Skills" not in upstream.chats()[-1]["tools"][0]["function"]["description"]


@pytest.mark.parametrize("skill, param, message", [
    ({"type": "skill_reference", "skill_id": "skill_1"}, "tools[0].environment.skills[0]",
     "Unsupported value: a skill of a local shell has name, description and path."),
    ({"name": "a", "description": "b"}, "tools[0].environment.skills[0].path",
     "Missing required parameter: 'tools[0].environment.skills[0].path'."),
    ("a", "tools[0].environment.skills[0]",
     "Invalid type for 'tools[0].environment.skills[0]': expected an object, but got a string instead."),
])
def test_a_local_shell_has_no_other_skills(http, skill, param, message):
    answer = http.post("/v1/responses", json={"model": "demo", "input": "go", "tools": [local(skill)]})
    error = answer.json()["error"]
    assert (answer.status_code, error["param"], error["message"]) == (400, param, message)


def test_a_run_of_a_thread_shows_a_function_with_its_output(client, http, runs):
    runs("echo 42 > a.txt; cat a.txt", text="[a](sandbox:/mnt/data/a.txt)")
    assistant = http.post("/v1/assistants", json={"model": "demo", "tools": [AUTO]}).json()["id"]
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "go"}]).id
    answer = http.post(f"/v1/threads/{thread}/runs", json={"assistant_id": assistant, "stream": True})
    steps = [json.loads(data) for name, data in parse_events(answer.text) if name == "thread.run.step.completed"]
    (shown,) = steps[0]["step_details"]["tool_calls"]
    assert (shown["type"], shown["function"]["name"]) == ("function", "shell")
    assert json.loads(shown["function"]["output"]) == [
        {"stdout": "42\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
    (cited,) = client.beta.threads.messages.list(thread).data[0].content[0].text.annotations
    assert client.files.content(cited.file_path.file_id).read() == b"42\n"


def test_a_call_that_a_crash_has_cut_is_shown_once_and_not_run_again(start_server, runs, upstream):
    server = start_server()
    runs("echo x >> ran; sleep 600")
    begun = respond(server.sdk(), background=True)

    def items():
        return server.sdk().responses.retrieve(begun.id).output
    eventually(items, lambda output: [item.type for item in output] == ["shell_call", "shell_call_output"])
    server.kill()
    server.start()
    done = eventually(lambda: server.sdk().responses.retrieve(begun.id), lambda r: r.status == "completed", seconds=60)
    called, output, _ = done.output
    assert (called.type, output.type, output.status) == ("shell_call", "shell_call_output", "incomplete")
    ((_, stderr, code),) = entries(output)
    assert code == 126 and "may or may not have taken effect" in stderr
    assert len(upstream.chats()) == 2
