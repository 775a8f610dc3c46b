"""The group documents: the model lists, reads and searches the project's files, on both faces."""

import pytest

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


@pytest.mark.feature("F54")
def test_the_list_of_tools_has_the_group(http):
    tools = http.get("/v1/runnel/tools?group=documents").json()["data"]
    assert [tool["name"] for tool in tools] == ["listDocuments", "readDocument", "searchDocument"]
    assert [tool["execution_policy"] for tool in tools] == ["auto"] * 3
