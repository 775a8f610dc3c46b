"""What a user sees without any configuration: the demo model, through the whole server."""

import json
import os
import subprocess

import pytest

from harness.sandbox import require_sandbox
from harness.tools import WEATHER, WEATHER_FLAT

pytestmark = pytest.mark.slow

BASIC = {"type": "mcp", "server_label": "basic", "server_url": "builtin:basic",
         "require_approval": "never"}


@pytest.fixture
def demo(start_server):
    return start_server(embedded=True, upstream_url=None, first=True)


def test_the_demo_model_is_worth_talking_to(demo):
    client = demo.sdk()
    assert [model.id for model in client.models.list()] == ["demo"]
    made = client.responses.create(model="demo", input="What a day!")
    assert made.output_text == "You said: What a day!"

    asked = client.responses.create(model="demo", input="Use the tool, please.",
                                    tools=[WEATHER_FLAT])
    (call,) = asked.output
    assert call.name == "get_weather" and set(json.loads(call.arguments)) == {"city"}
    sent = client.responses.create(
        model="demo", previous_response_id=asked.id, tools=[WEATHER_FLAT],
        input=[{"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}])
    assert sent.output_text == "The tool answered: sunny"

    run = client.responses.create(model="demo", input="Use the tool: what time is it?",
                                  tools=[BASIC])
    mcp = next(item for item in run.output if item.type == "mcp_call")
    assert mcp.error is None and run.output_text == f"The tool answered: {mcp.output}"

    assistant = client.beta.assistants.create(model="demo", tools=[WEATHER])
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "Hello!"}])
    with client.beta.threads.runs.stream(thread_id=thread.id,
                                         assistant_id=assistant.id) as stream:
        assert "demo model" in "".join(stream.text_deltas)


def test_the_demo_model_answers_a_question_about_an_uploaded_file(demo):
    client = demo.sdk()
    store = client.vector_stores.create(name="Handbook").id
    file = client.vector_stores.files.upload_and_poll(
        vector_store_id=store, file=("manual.txt", b"The battery warranty lasts two years. Rice is done after twelve minutes.")).id
    asked = "How long does the battery warranty last?"
    response = client.responses.create(model="demo", input=asked, tools=[{"type": "file_search", "vector_store_ids": [store]}])
    searched, message = response.output
    assert (searched.type, searched.queries, searched.status) == ("file_search_call", [asked], "completed")
    (cited,) = message.content[0].annotations
    assert "two years" in response.output_text and (cited.type, cited.file_id) == ("file_citation", file)

    assistant = client.beta.assistants.create(model="demo", tools=[{"type": "file_search"}],
                                              tool_resources={"file_search": {"vector_store_ids": [store]}})
    thread = client.beta.threads.create(messages=[{"role": "user", "content": asked}])
    run = client.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
    assert run.status == "completed", run.last_error
    text = client.beta.threads.messages.list(thread.id).data[0].content[0].text
    (cited,) = text.annotations
    assert "two years" in text.value and cited.file_citation.file_id == file and cited.text in text.value


def test_the_demo_model_runs_code(demo, binary):
    require_sandbox(binary)
    client = demo.sdk()
    made = client.responses.create(model="demo", input="Use python: print(6 * 7)", include=["code_interpreter_call.outputs"],
                                   tools=[{"type": "code_interpreter", "container": {"type": "auto"}}])
    [call] = [item for item in made.output if item.type == "code_interpreter_call"]
    assert (call.status, call.code, [one.logs for one in call.outputs]) == ("completed", "print(6 * 7)", ["42\n"])
    assert made.output_text == "The tool answered: 42\n"

    assistant = client.beta.assistants.create(model="demo", tools=[{"type": "code_interpreter"}])
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "use python: print('mean', sum([1, 2, 6]) / 3)"}])
    run = client.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id)
    assert run.status == "completed"
    assert "mean 3.0" in client.beta.threads.messages.list(thread.id).data[0].content[0].text.value


def test_the_command_that_serve_prints_can_be_pasted(demo):
    """Base URL and a curl line on standard output; the line works with the operator's key."""
    text = "\n".join(demo.process.output)
    assert f"{demo.url}/v1" in text and "$RUNNEL_API_KEY" in text
    line = next(line for line in demo.process.output if line.startswith("curl "))
    answer = subprocess.run(["sh", "-c", line.replace("curl ", "curl -s ", 1)], capture_output=True, text=True,
                            check=True, env={**os.environ, "RUNNEL_API_KEY": demo.settings["api_key"]})
    assert json.loads(answer.stdout)["status"] == "completed"
