"""apply_patch in a container: two items for each call, exact errors, paths, the container, and what is refused."""

import json

import openai
import pytest

from harness.recorder import parse_events
from harness.sandbox import require_sandbox
from harness.tools import call

PATCH = {"type": "apply_patch", "runnel": {"execute": True}}
SHELL = {"type": "shell", "environment": {"type": "container_auto"}}


@pytest.fixture(autouse=True)
def sandbox(binary):
    require_sandbox(binary)


@pytest.fixture
def patches(upstream):
    """The model makes the calls in one turn, and then says `text`."""
    def patches(*operations, text="Done.", name="apply_patch"):
        calls = [call(name, n + 1, **operation) for n, operation in enumerate(operations)]
        upstream.script({"match": {"tool_results": True}, "answer": {"text": text}}, {"answer": {"tool_calls": calls}})
    return patches


def create(path, diff):
    return {"type": "create_file", "path": path, "diff": diff}


def update(path, diff):
    return {"type": "update_file", "path": path, "diff": diff}


def delete(path):
    return {"type": "delete_file", "path": path}


def respond(client, **body):
    return client.responses.create(**{"model": "demo", "input": "go", "tools": [PATCH], **body})


def results(upstream):
    """What the model has read of its calls."""
    return [json.loads(m["content"]) for m in upstream.chats()[-1]["messages"] if m["role"] == "tool"]


def container_of(response):
    return response.output[0].to_dict()["runnel"]["container_id"]


def read(client, container, path):
    """The bytes of a file of the container; None: there is no such file."""
    for file in client.containers.files.list(container).data:
        if file.path == f"/mnt/data/{path}":
            return client.containers.files.content.retrieve(file.id, container_id=container).read()
    return None


def test_a_call_is_two_items_and_the_file_is_there(client, patches, upstream):
    patches(create("src/a.py", "+x = 1\n+y = 2\n"), text="[a](sandbox:/mnt/data/src/a.py)")
    called, output, message = respond(client).output
    assert (called.type, called.status, called.call_id) == ("apply_patch_call", "completed", output.call_id)
    assert called.id.startswith("apc_") and output.id.startswith("apco_")
    assert called.operation.to_dict() == create("src/a.py", "+x = 1\n+y = 2\n")
    assert (output.type, output.status, output.output) == ("apply_patch_call_output", "completed", "Created src/a.py")
    container = called.to_dict()["runnel"]["container_id"]
    assert read(client, container, "src/a.py") == b"x = 1\ny = 2\n"
    (changed,) = output.to_dict()["runnel"]["files"]
    assert (changed["path"], changed["change"], changed["bytes"]) == ("/mnt/data/src/a.py", "created", 12)
    assert [a.filename for a in message.content[0].annotations] == ["a.py"]
    assert results(upstream) == [{"status": "completed", "output": "Created src/a.py"}]
    (offered,) = upstream.chats()[0]["tools"]
    assert offered["function"]["name"] == "apply_patch" and "/mnt/data" in offered["function"]["description"]


def test_events_come_in_order_and_both_helpers_read_them(client, patches):
    patches(create("a", "+1"), update("none", "@@\n-1\n+2"))
    with client.responses.stream(model="demo", input="go", tools=[PATCH]) as stream:
        events = list(stream)
        final = stream.get_final_response()
    items = [e for e in events if e.type.startswith("response.output_item.") and e.item.type != "message"]
    assert [(e.type.rsplit(".")[-1], e.item.type, e.output_index, e.item.status) for e in items] == [
        ("added", "apply_patch_call", 0, "in_progress"), ("done", "apply_patch_call", 0, "completed"),
        ("added", "apply_patch_call_output", 1, "completed"), ("done", "apply_patch_call_output", 1, "completed"),
        ("added", "apply_patch_call", 2, "in_progress"), ("done", "apply_patch_call", 2, "completed"),
        ("added", "apply_patch_call_output", 3, "completed"), ("done", "apply_patch_call_output", 3, "failed")]
    assert not [e for e in events if "apply_patch" in e.type]
    assert final.output[1] == items[3].item and final.output[3].output == "File not found: none"


def test_patches_of_a_turn_are_applied_in_their_order(client, patches):
    patches(create("a", "+1\n+2"), update("a", "@@\n-1\n+one"), update("a", "@@ one\n-2\n+two\n"), create("b", "+b"),
            delete("b"))
    response = respond(client)
    assert [item.output for item in response.output if item.type == "apply_patch_call_output"] == [
        "Created a", "Updated a", "Updated a", "Created b", "Deleted b"]
    assert len({item.to_dict()["runnel"]["container_id"] for item in response.output[:-1]}) == 1
    assert read(client, container_of(response), "a") == b"one\ntwo\n"
    assert read(client, container_of(response), "b") is None


@pytest.mark.parametrize("operation, message", [
    (update("a", "@@\n x\n-y\n+z"), "Invalid Context 0:\nx\ny"),
    (update("a", "@@\n-1\n+one\n@@\n-1\n+two"), "Invalid Context 1:\n1"),
    (update("a", "@@\n-2\n+x\n"), "Ambiguous Context 0, lines 2 and 4:\n2"),
    (update("a", "@@\n-1\n+x\n*** End of File"), "Invalid EOF Context 0:\n1"),
    (update("a", "-1\n*** End Patch"), "Invalid Line:\n*** End Patch"),
    (update("a", "@@\n 1"), "The diff changes nothing."),
    (create("b", "+1\n2"), "Invalid Line:\n2"),
    (create("a", "+1"), "File already exists: a"),
    (create("folder", "+1"), "folder is a folder."),
    (update("none.py", "@@\n-1"), "File not found: none.py"),
    (delete("none.py"), "File not found: none.py"),
    (delete("folder"), "folder is a folder."),
    (update("/mnt/data/a", "@@\n-1"), "Invalid Path: /mnt/data/a\nA path is relative to the workspace, without '..'."),
    (delete("/etc/passwd"), "Invalid Path: /etc/passwd\nA path is relative to the workspace, without '..'."),
    (create("x/../../b", "+1"), "Invalid Path: x/../../b\nA path is relative to the workspace, without '..'."),
    (update("link", "@@\n-root\n+x"), "link is outside of the workspace."),
    (update("binary", "@@\n-a"), "The file is binary, not text."),
    ({"type": "update_file", "path": "a"}, "'diff' must say what the file is to contain."),
])
def test_what_cannot_be_applied_says_why_and_changes_nothing(client, upstream, operation, message):
    first = {"commands": ["printf '1\\n2\\n3\\n2\\n' > a; mkdir -p folder; ln -s /etc/passwd link; printf '\\0' > binary"]}
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [call("shell", 1, **first), call("apply_patch", 2, **operation)]}})
    _, _, called, output, _ = respond(client, tools=[SHELL, PATCH]).output
    assert (called.type, called.status, output.status, output.output) == (
        "apply_patch_call", "completed", "failed", message)
    assert results(upstream)[1] == {"status": "failed", "output": message}
    container = called.to_dict()["runnel"]["container_id"]
    assert read(client, container, "a") == b"1\n2\n3\n2\n" and read(client, container, "b") is None


@pytest.mark.parametrize("arguments", [{}, {"type": "move_file", "path": "a"}, {"type": "delete_file"}])
def test_wrong_arguments_are_an_output_that_says_so(client, patches, arguments):
    patches(arguments)
    called, output, _ = respond(client).output
    assert (called.type, output.type, output.status) == ("apply_patch_call", "apply_patch_call_output", "failed")
    assert "type" in output.output or "path" in output.output


def test_the_container_is_the_one_that_the_request_names(client, patches, upstream):
    box = client.containers.create(name="mine")
    shell = {"type": "shell", "environment": {"type": "container_reference", "container_id": box.id}}
    patches(create("a", "+1"))
    response = respond(client, tools=[PATCH, shell])
    assert container_of(response) == box.id and read(client, box.id, "a") == b"1\n"
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [call("shell", commands=["cat a"])]}})
    second = respond(client, previous_response_id=response.id, tools=[SHELL])
    assert second.output[1].output[0].stdout == "1\n"


def test_a_later_response_continues_in_the_container(client, patches, upstream):
    patches(create("a", "+1"))
    first = respond(client)
    patches(update("a", "@@\n-1\n+2"))
    second = respond(client, previous_response_id=first.id)
    assert container_of(second) == container_of(first) and second.output[1].output == "Updated a"
    assert results(upstream)[0] == {"status": "completed", "output": "Created a"}
    patches(update("a", "@@\n-2\n+3"))
    again = [{"role": "user", "content": "go"}, *[item.to_dict() for item in second.output],
             {"role": "user", "content": "and?"}]
    third = respond(client, input=again, store=False)
    assert container_of(third) == container_of(first) and third.output[1].output == "Updated a"


def test_a_full_workspace_is_said(start_server, patches):
    server = start_server(sandbox_disk=1 << 20, sandbox_disk_reserve=0)
    client = server.sdk()
    box = client.containers.create(name="full")
    client.containers.files.create(box.id, file=("big", b"x" * 900000))
    shell = {"type": "shell", "environment": {"type": "container_reference", "container_id": box.id}}
    patches(create("more", "+" + "x" * 300000))
    _, output, _ = respond(client, tools=[PATCH, shell]).output
    assert output.status == "failed" and output.output == (
        "The file does not fit into the workspace: 0 MiB of 1 MiB are used. Delete files.")


def test_a_person_sees_the_change_and_decides(client, http, patches, upstream):
    asks = {"permissions": {"hosted/apply_patch": {"execution": "ask-always"}}}
    for approve in (True, False):
        patches(create("a", "+1"))
        body = {"model": "demo", "input": "go", "tools": [PATCH], "runnel": asks}
        first = http.post("/v1/responses", json=body).json()
        (question,) = [item for item in first["output"] if item["type"] == "mcp_approval_request"]
        assert (question["server_label"], question["name"]) == ("hosted", "apply_patch")
        asked = http.get(f"/v1/runnel/approvals/{question['id']}").json()
        assert (asked["preview"]["additions"], asked["preview"]["deletions"]) == (1, 0)
        answer = {"type": "mcp_approval_response", "approval_request_id": question["id"], "approve": approve}
        second = respond(client, previous_response_id=first["id"], input=[answer], extra_body={"runnel": asks})
        called, output = [item for item in second.output if item.type.startswith("apply_patch")]
        assert called.to_dict()["runnel"]["approval_request_id"] == question["id"]
        if approve:
            assert (output.status, output.output) == ("completed", "Created a")
        else:
            assert output.status == "failed" and output.to_dict()["runnel"]["status"] == "execution_rejected"


def test_without_execute_it_stays_the_clients(client, patches):
    for tool in ({"type": "apply_patch"}, {"type": "apply_patch", "runnel": {"execute": False}}):
        patches(create("a", "+1"))
        (asked,) = respond(client, tools=[tool]).output
        assert (asked.type, asked.status) == ("apply_patch_call", "completed")


def test_a_function_of_that_name_wins(client, patches):
    patches(create("a", "+1"), name="hosted__apply_patch")
    own = {"type": "function", "name": "apply_patch", "parameters": {"type": "object", "properties": {}}}
    called, output, _ = respond(client, tools=[PATCH, own]).output
    assert (called.type, output.output) == ("apply_patch_call", "Created a")


@pytest.mark.parametrize("runnel, param, message", [
    ({"execut": True}, "tools[0].runnel.execut",
     "Unknown parameter: 'tools[0].runnel.execut'. Did you mean 'tools[0].runnel.execute'?"),
    ({"execute": "yes"}, "tools[0].runnel.execute",
     "Invalid type for 'tools[0].runnel.execute': expected a boolean, but got a string instead."),
])
def test_what_is_no_switch_is_refused(http, upstream, runnel, param, message):
    answer = http.post("/v1/responses", json={
        "model": "demo", "input": "go", "tools": [{"type": "apply_patch", "runnel": runnel}]})
    error = answer.json()["error"]
    assert (answer.status_code, error["param"], error["message"]) == (400, param, message)
    assert upstream.chats() == []


def test_a_run_of_a_thread_shows_a_function_with_its_output(client, http, patches):
    patches(create("a.txt", "+42"), text="[a](sandbox:/mnt/data/a.txt)")
    assistant = http.post("/v1/assistants", json={"model": "demo", "tools": [PATCH]}).json()["id"]
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "go"}]).id
    answer = http.post(f"/v1/threads/{thread}/runs", json={"assistant_id": assistant, "stream": True})
    steps = [json.loads(data) for name, data in parse_events(answer.text) if name == "thread.run.step.completed"]
    (shown,) = steps[0]["step_details"]["tool_calls"]
    assert (shown["type"], shown["function"]["name"]) == ("function", "apply_patch")
    assert json.loads(shown["function"]["output"]) == {"status": "completed", "output": "Created a.txt"}
    (cited,) = client.beta.threads.messages.list(thread).data[0].content[0].text.annotations
    assert client.files.content(cited.file_path.file_id).read() == b"42\n"


def test_a_container_of_another_project_is_not_reached(client, stranger, patches):
    patches(create("a", "+1"))
    first = stranger.responses.create(model="demo", input="go", tools=[PATCH])
    patches(update("a", "@@\n-1\n+2"))
    again = [{"role": "user", "content": "go"}, *[item.to_dict() for item in first.output],
             {"role": "user", "content": "and?"}]
    second = respond(client, input=again)
    assert second.output[1].output == "File not found: a" and container_of(second) != container_of(first)
    with pytest.raises(openai.NotFoundError):
        client.containers.retrieve(container_of(first))
