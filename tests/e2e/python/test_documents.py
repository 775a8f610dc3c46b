"""The group documents: the model lists, reads, searches and writes the project's files, on both faces."""

import json

import pytest

from harness.pdf import pdf
from harness.server import eventually
from harness.tools import call

TEXT = "# Safety\nThe battery warranty lasts two years.\nKeep it dry.\n"
GROUP = {"type": "mcp", "server_label": "documents", "server_url": "builtin:documents"}


@pytest.fixture
def files(client):
    """A store with one file: {"store", "file"}."""
    file = client.files.create(file=("safety.md", TEXT.encode()), purpose="assistants").id
    store = client.vector_stores.create(file_ids=[file]).id
    assert eventually(lambda: client.vector_stores.retrieve(store).file_counts.completed == 1)
    return {"store": store, "file": file}


def run(client, upstream, name, **arguments):
    """The output of one call of a tool, in a response."""
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Two years."}},
                    {"answer": {"tool_calls": [call(name, **arguments)]}})
    response = client.responses.create(model="demo", input="How long?", tools=[GROUP])
    (item,) = [item for item in response.output if item.type == "mcp_call"]
    return item.output or item.error.content[0]["text"]


@pytest.mark.feature("F54")
def test_the_model_lists_reads_and_searches(client, upstream, files):
    listed = run(client, upstream, "listDocuments", vector_store_id=files["store"])
    assert listed == f"{files['file']}  safety.md  {len(TEXT)} bytes  completed\n"
    assert files["file"] in run(client, upstream, "listDocuments", count=100)
    assert run(client, upstream, "readDocument", file_id=files["file"], offset=2, lines=1) == (
        "2\tThe battery warranty lasts two years.\n\n[Showing lines 2-2 of 4 total lines]")
    found = run(client, upstream, "searchDocument", query="battery warranty", vector_store_id=files["store"])
    assert found.startswith(f"{files['file']} safety.md") and "two years" in found


@pytest.mark.feature("F54")
@pytest.mark.parametrize("searched", [False, True])
def test_a_long_pdf_is_read_from_any_page(client, upstream, searched):
    pages = [f"Page {n} begins. " + "More words. " * 250 for n in range(1, 91)]
    file = client.files.create(file=("long.pdf", pdf(*pages)), purpose="assistants").id
    if searched:
        store = client.vector_stores.create(file_ids=[file]).id
        assert eventually(lambda: client.vector_stores.retrieve(store).file_counts.completed == 1)
    first = run(client, upstream, "readDocument", file_id=file, lines=2)
    assert first.startswith("1\t[file long.pdf, page 1 of 90]\n2\tPage 1 begins.")
    assert first.endswith("more lines follow]")
    last = run(client, upstream, "readDocument", file_id=file, page=90)
    assert "[file long.pdf, page 90 of 90]" in last and "Page 90 begins." in last and "follow" not in last
    assert run(client, upstream, "readDocument", file_id=file, page=91) == (
        "Page 91 is beyond the end: long.pdf has 90 pages.")


@pytest.mark.feature("F54")
def test_tools_of_bella_read_and_search(client, upstream, files):
    read = run(client, upstream, "read_files", file_ids=[files["file"], "file-nothing"])
    assert read == f"[safety.md ({files['file']})]\n{TEXT}\n\n[file-nothing: No such File object: file-nothing]"
    asked = {"extra_body": {"runnel": {"tool_groups": {"documents": True}}},
             "tool_resources": {"file_search": {"vector_store_ids": [files["store"]]}}}
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Two years."}},
                    {"answer": {"tool_calls": [call("retrieval", query="battery warranty")]}})
    assistant = client.beta.assistants.create(model="demo", **asked)
    ended = client.beta.threads.create_and_run_poll(
        assistant_id=assistant.id, thread={"messages": [{"role": "user", "content": "How long?"}]})
    (step,) = [one for one in client.beta.threads.runs.steps.list(run_id=ended.id, thread_id=ended.thread_id)
               if one.type == "tool_calls"]
    found = step.step_details.tool_calls[0].function.output
    assert found.startswith(f"{files['file']} safety.md") and "two years" in found


@pytest.mark.feature("F54")
def test_a_thread_searches_the_stores_of_its_assistant(client, upstream, files):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Two years."}},
                    {"answer": {"tool_calls": [call("searchDocument", query="battery warranty")]}})
    assistant = client.beta.assistants.create(
        model="demo", tool_resources={"file_search": {"vector_store_ids": [files["store"]]}},
        extra_body={"runnel": {"tool_groups": {"documents": True}}})
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "How long?"}])
    ended = client.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
    assert ended.status == "completed"
    steps = client.beta.threads.runs.steps.list(run_id=ended.id, thread_id=thread.id).data
    (used,) = [tool for step in steps if step.type == "tool_calls" for tool in step.step_details.tool_calls]
    assert used.function.name.endswith("searchDocument") and files["file"] in used.function.output


@pytest.mark.feature("F54")
def test_a_file_of_another_project_does_not_exist(client, upstream, stranger):
    other = stranger.files.create(file=("secret.md", b"secret"), purpose="assistants").id
    missing = run(client, upstream, "readDocument", file_id=other)
    assert missing == run(client, upstream, "readDocument", file_id="file-000000000000000000000000").replace(
        "file-000000000000000000000000", other)
    assert other not in run(client, upstream, "listDocuments", count=100)


# ---- Writing ----

def ask(client, upstream, name, **arguments):
    """The response whose call of a tool waits for an approval, and the question."""
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done: {{tool_output}}"}},
                    {"answer": {"tool_calls": [call(name, **arguments)]}})
    response = client.responses.create(model="demo", input="Write it down.", tools=[GROUP])
    (question,) = [item for item in response.output if item.type == "mcp_approval_request"]
    return response, question


def approve(client, upstream, name, **arguments):
    """The text for the model, and the item, of a call that a person approved."""
    response, question = ask(client, upstream, name, **arguments)
    done = client.responses.create(
        model="demo", previous_response_id=response.id, tools=[GROUP],
        input=[{"type": "mcp_approval_response", "approval_request_id": question.id, "approve": True}])
    (item,) = [item for item in done.output if item.type == "mcp_call"]
    return item.output or item.error.content[0]["text"], item


def content(client, file):
    return client.files.content(file).read().decode()


@pytest.mark.feature("F54")
def test_an_edit_waits_for_a_person_who_sees_the_difference(client, upstream, http, files):
    arguments = {"file_id": files["file"], "old_string": "two years", "new_string": "five years"}
    response, question = ask(client, upstream, "editDocument", **arguments)
    assert question.runnel["policy"] == "ask-always" and question.runnel["kind"] == "execution"
    diff = question.runnel["preview"]["diff"]
    assert "-The battery warranty lasts two years.\n+The battery warranty lasts five years." in diff
    shown = http.get(f"/v1/runnel/approvals/{question.id}").json()
    assert shown["preview"] == question.runnel["preview"] and shown["permission"] is None
    assert content(client, files["file"]) == TEXT
    client.responses.create(
        model="demo", previous_response_id=response.id, tools=[GROUP],
        input=[{"type": "mcp_approval_response", "approval_request_id": question.id, "approve": False}])
    assert content(client, files["file"]) == TEXT


@pytest.mark.feature("F54")
def test_an_edited_file_keeps_its_id_and_is_found_by_its_new_text(client, upstream, files):
    before = client.files.retrieve(files["file"])
    said, item = approve(client, upstream, "editDocument", file_id=files["file"],
                         old_string="two years", new_string="ninety-nine months")
    assert said == "Successfully edited safety.md"
    assert item.runnel["metadata"]["strategy"] == "simple" and item.runnel["title"] == "Edited safety.md"
    changed = TEXT.replace("two years", "ninety-nine months")
    assert content(client, files["file"]) == changed
    after = client.files.retrieve(files["file"])
    assert after.bytes == len(changed) and after.created_at == before.created_at
    assert eventually(lambda: client.vector_stores.files.retrieve(
        files["file"], vector_store_id=files["store"]).status == "completed")
    found = client.vector_stores.search(files["store"], query="ninety-nine months").data
    assert found[0].file_id == files["file"] and "ninety-nine months" in found[0].content[0].text
    assert "two years" not in found[0].content[0].text


@pytest.mark.feature("F54", "F90")
def test_of_two_edits_at_once_none_is_lost(client, upstream):
    file = client.files.create(file=("a.txt", b"top = 0\nmid\nbottom = 0\n"), purpose="assistants").id
    edits = [("top = 0", "top = 1"), ("bottom = 0", "bottom = 2")]
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}},
                    {"answer": {"tool_calls": [call("editDocument", number, file_id=file, old_string=old, new_string=new)
                                               for number, (old, new) in enumerate(edits, 1)]}})
    response = client.responses.create(model="demo", input="Count up.", tools=[GROUP])
    client.responses.create(
        model="demo", previous_response_id=response.id, tools=[GROUP],
        input=[{"type": "mcp_approval_response", "approval_request_id": item.id, "approve": True}
               for item in response.output if item.type == "mcp_approval_request"])
    assert content(client, file) == "top = 1\nmid\nbottom = 2\n"


@pytest.mark.feature("F54")
def test_a_thread_appends_after_an_approval(client, upstream, files):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}},
                    {"answer": {"tool_calls": [call("appendDocument", file_id=files["file"], content="Charge it.")]}})
    assistant = client.beta.assistants.create(
        model="demo", extra_body={"runnel": {"tool_groups": {"documents": True}}})
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "Write it down."}])
    asked = client.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
    (question,) = asked.required_action.submit_tool_outputs.tool_calls
    assert "+Charge it." in json.loads(question.function.arguments)["preview"]["diff"]
    ended = client.beta.threads.runs.submit_tool_outputs_and_poll(
        run_id=asked.id, thread_id=thread.id,
        tool_outputs=[{"tool_call_id": question.id, "output": json.dumps({"approve": True})}])
    assert ended.status == "completed"
    assert content(client, files["file"]) == TEXT + "Charge it."


@pytest.mark.feature("F54")
def test_a_made_document_is_a_file_in_its_store(client, upstream, files):
    said, item = approve(client, upstream, "createDocument", filename="../notes/plan.md", content="# Plan\nZebra first.\n",
                         vector_store_id=files["store"])
    made = item.runnel["metadata"]["file_id"]
    assert said == f"Successfully created plan.md ({made})\n20 bytes written (3 lines)"
    file = client.files.retrieve(made)
    assert file.filename == "plan.md" and file.purpose == "assistants_output"
    assert content(client, made) == "# Plan\nZebra first.\n"
    assert eventually(lambda: client.vector_stores.retrieve(files["store"]).file_counts.completed == 2)
    assert client.vector_stores.search(files["store"], query="zebra").data[0].file_id == made


@pytest.mark.feature("F54")
def test_what_cannot_be_written_is_not_asked_for(client, upstream, stranger, files):
    other = stranger.files.create(file=("secret.md", b"secret"), purpose="assistants").id
    said = run(client, upstream, "editDocument", file_id=other, old_string="secret", new_string="x")
    assert said == f"Failed to edit {other}: No such File object: {other}"
    assert stranger.files.content(other).read() == b"secret"
    said = run(client, upstream, "editDocument", file_id=files["file"], old_string="nowhere", new_string="x")
    assert said == f"Failed to edit {files['file']}: oldString not found in content"
    pdf = client.files.create(file=("a.pdf", b"%PDF-1.4\nnothing\n"), purpose="assistants").id
    said = run(client, upstream, "appendDocument", file_id=pdf, content="x")
    assert said == (f"Failed to append to {pdf}: The file is no plain text. "
                    "Make a new document with its text instead.")


@pytest.mark.feature("F54")
def test_the_list_of_tools_has_the_group(http):
    tools = http.get("/v1/runnel/tools?group=documents").json()["data"]
    reading = ["listDocuments", "readDocument", "searchDocument", "retrieval", "read_files"]
    writing = ["createDocument", "appendDocument", "editDocument"]
    assert [tool["name"] for tool in tools] == reading + writing
    assert [tool["execution_policy"] for tool in tools] == ["auto"] * 5 + ["ask-always"] * 3


def test_bytes_of_before_an_edit_go_with_it(start_server, upstream, database):
    """In a directory, at once. In the database the sweep takes them, when no reader can be at work any more."""
    for place, left in (("dir", 1), ("database", 3)):
        server = start_server(file_storage=place)
        client, url = server.sdk(), server.settings["database_url"]
        file = client.files.create(file=("safety.md", TEXT.encode()), purpose="assistants").id
        for old, new in (("two years", "three years"), ("three years", "four years")):
            approve(client, upstream, "editDocument", file_id=file, old_string=old, new_string=new)
        assert client.files.content(file).read() == TEXT.replace("two", "four").encode()
        assert database.ask("SELECT count(*) FROM blobs", url=url) == [[str(left)]]
        if place == "dir":
            kept = [path for path in (server.settings["data_dir"] / "files").rglob("*") if path.name.startswith("blob_")]
            assert len(kept) == 1


def test_a_list_of_a_store_is_one_statement_however_long(start_server, upstream, statements):
    server = start_server()
    client = server.sdk()
    made = [client.files.create(file=(f"{n}.md", TEXT.encode()), purpose="assistants").id for n in range(8)]
    store = client.vector_stores.create(file_ids=made[:2]).id
    client.vector_stores.file_batches.create_and_poll(store, file_ids=made)
    said = statements(server.settings["database_url"])
    listed = run(client, upstream, "listDocuments", vector_store_id=store)
    assert len(listed.splitlines()) == 8 and all(f"{file}  {n}.md  {len(TEXT)} bytes  completed" in listed
                                                 for n, file in enumerate(made))
    asked = [line for line in said().splitlines() if "FROM files" in line or "FROM vector_store_files" in line]
    assert len(asked) == 1, asked
