"""The tool code_interpreter, executed for real, on both APIs: items, events, steps, figures, files, and what is refused."""

import json
import re

import openai
import pytest
from openai import AssistantEventHandler

from harness.recorder import parse_events
from harness.sandbox import require_sandbox
from harness.server import eventually
from harness.tools import call

AUTO = {"type": "code_interpreter", "container": {"type": "auto"}}
INCLUDE = ["code_interpreter_call.outputs"]
PNG = b"\x89PNG\r\n\x1a\n"
PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.show()\n"
UNKNOWN = "cntr_000000000000000000000000"
KIND = "response.code_interpreter_call"


@pytest.fixture(autouse=True)
def sandbox(binary):
    require_sandbox(binary)


@pytest.fixture
def runs_code(upstream):
    """The model runs the code, and then says `text`."""
    def runs_code(*cells, text="Done."):
        upstream.script({"match": {"tool_results": True}, "answer": {"text": text}},
                        {"answer": {"tool_calls": [call("python", n + 1, code=code) for n, code in enumerate(cells)]}})
    return runs_code


def respond(client, **body):
    return client.responses.create(**{"model": "demo", "input": "go", "tools": [AUTO], "include": INCLUDE, **body})


def logs_of(item):
    return "".join(output.logs for output in item.outputs if output.type == "logs")


def results(upstream):
    """What the model has read of its calls."""
    return [m["content"] for m in upstream.chats()[-1]["messages"] if m["role"] == "tool"]


def listed(upstream):
    """What the description of the tool says about files, or None."""
    (tool,) = upstream.chats()[-1]["tools"]
    found = re.search("\nFiles in .*", tool["function"]["description"])
    return found and found[0][1:]


def download(client, annotation):
    return client.containers.files.content.retrieve(annotation.file_id, container_id=annotation.container_id).read()


# ---- Responses ----

def test_a_call_is_an_item_with_its_outputs_in_order(client, runs_code, upstream):
    runs_code(f"print('before')\n{PLOT}6 * 7")
    response = respond(client)
    item, message = response.output
    assert (item.type, item.status) == ("code_interpreter_call", "completed")
    assert item.container_id.startswith("cntr_") and item.code.endswith("6 * 7")
    first, picture, last = item.outputs
    assert (first.logs, last.logs) == ("before\n", "42\n")
    assert picture.url.startswith("data:image/png;base64,iVBOR")
    (cited,) = message.content[0].annotations
    assert (cited.type, cited.container_id, cited.start_index, cited.end_index) == (
        "container_file_citation", item.container_id, 0, 0)
    assert cited.filename == f"{cited.file_id}.png" and download(client, cited).startswith(PNG)
    assert results(upstream) == [f"before\n[figure 1 {cited.file_id}: the user sees it]\n42\n"]
    (offered,) = upstream.chats()[0]["tools"]
    assert offered["function"]["name"] == "python" and "/mnt/data" in offered["function"]["description"]


def test_outputs_are_shown_to_those_who_include_them(client, http, runs_code):
    runs_code("print('sec' + 'ret')")
    response = respond(client, include=[])
    assert response.output[0].outputs is None and "secret" not in json.dumps(response.output[0].to_dict()["runnel"])
    shown = http.get(f"/v1/responses/{response.id}?include[]={INCLUDE[0]}").json()
    assert shown["output"][0]["outputs"] == [{"type": "logs", "logs": "secret\n"}]


def test_events_come_in_openais_order(client, runs_code):
    runs_code(PLOT, text="See [it](sandbox:/mnt/data/.figures/1.png).")
    with client.responses.stream(model="demo", input="go", tools=[AUTO], include=INCLUDE) as stream:
        events = list(stream)
        final = stream.get_final_response()
    kinds = [e.type for e in events]
    begin = kinds.index("response.output_item.added")
    assert kinds[begin:begin + 7] == [
        "response.output_item.added", f"{KIND}.in_progress", f"{KIND}_code.delta", f"{KIND}_code.done",
        f"{KIND}.interpreting", f"{KIND}.completed", "response.output_item.done"]
    added, done = events[begin].item, events[begin + 6].item
    assert (added.status, added.code, added.outputs) == ("in_progress", "", []) and added.id == done.id
    assert added.container_id == done.container_id == final.output[0].container_id
    assert events[begin + 3].code == done.code == PLOT and final.output[0].outputs == done.outputs
    noted = [k for k in kinds if "annotation" in k or k.startswith("response.output_text.d")]
    assert noted[-2:] == ["response.output_text.annotation.added", "response.output_text.done"]


@pytest.mark.parametrize("store, copied", [(True, {"data.csv", "1.png"}), (False, set())])
def test_what_a_stored_response_cites_is_copied(start_server, database, runs_code, store, copied):
    runs_code(f"{PLOT}open('data.csv', 'w').write('1')\nopen('other.csv', 'w').write('2')",
              text="See [data](sandbox:/mnt/data/data.csv).")
    server = start_server()
    item, _ = respond(server.sdk(), store=store).output

    def copies():
        rows = database.ask("SELECT path FROM container_files f JOIN blobs b ON b.id = f.blob_id AND b.holders = 1"
                            f" WHERE f.container_id = '{item.container_id}'", url=server.settings["database_url"])
        return {path.rpartition("/")[2] for path, in rows}
    eventually(copies, lambda found: found == copied)
    assert len(list(server.sdk().containers.files.list(item.container_id))) == 3


def test_figures_reach_the_client_though_another_looks_at_the_files_meanwhile(client, http, runs_code):
    box = client.containers.create(name="looked at")
    runs_code(f"open('data.csv', 'w').write('1')\n{PLOT}import os, time\n"
              "while not os.path.exists('seen'): time.sleep(0.01)", text="[d](sandbox:/mnt/data/data.csv)")
    stream = respond(client, tools=[{**AUTO, "container": box.id}], stream=True)
    at = f"/v1/containers/{box.id}/files"
    for event in stream:
        if event.type == f"{KIND}.interpreting":
            eventually(lambda: http.get(at).json()["data"], lambda files: len(files) == 2)
            http.post(at, files={"file": ("seen", b"1")})
    item, message = event.response.output
    assert [output.type for output in item.outputs] == ["image"]
    assert {note.filename.rpartition(".")[2] for note in message.content[0].annotations} == {"csv", "png"}
    client.containers.delete(box.id)


def test_a_picture_that_is_too_large_for_an_item_is_named_by_its_path(client, http, runs_code):
    runs_code("import os\nfrom PIL import Image\n"
              "for n in range(2): display(Image.frombytes('RGB', (800, 800), os.urandom(1920000)))")
    first, second = respond(client).output[0].outputs
    assert first.url.startswith("data:image/png;base64,") and second.url.startswith("/v1/containers/cntr_")
    assert http.get(second.url).content.startswith(PNG)


def test_links_to_files_are_cited_where_they_stand(client, runs_code):
    path = "sandbox:/mnt/data/a%20b.csv"
    text = f"Größe: [a b]({path}), [again]({path}) and [none](sandbox:/mnt/data/none.csv)."
    runs_code("open('a b.csv', 'w').write('x,y')", text=text)
    item, message = respond(client).output
    cited = message.content[0].annotations
    assert message.content[0].text == text and len(cited) == 2
    for annotation in cited:
        assert text[annotation.start_index:annotation.end_index] == path
        assert annotation.filename == "a b.csv" and download(client, annotation) == b"x,y"
    (listed,) = client.containers.files.list(item.container_id)
    assert (listed.path, listed.source, listed.bytes) == ("/mnt/data/a b.csv", "assistant", 3)


def test_variables_and_links_outlast_their_response(client, runs_code, upstream):
    runs_code("x = 41\nopen('t.csv', 'w').write('1')")
    first = respond(client)
    runs_code("x + 1", text="[t](sandbox:/mnt/data/t.csv)")
    second = respond(client, previous_response_id=first.id)
    assert second.output[0].container_id == first.output[0].container_id
    assert logs_of(second.output[0]) == "42\n"
    assert download(client, second.output[1].content[0].annotations[0]) == b"1"
    runs_code("x + 2")
    named = respond(client, tools=[{**AUTO, "container": first.output[0].container_id}])
    assert logs_of(named.output[0]) == "43\n"
    assert logs_of(respond(client).output[0]).count("NameError") == 1  # a container of its own


def test_calls_of_one_turn_run_one_after_another_in_one_container(client, runs_code):
    runs_code("import time; time.sleep(0.05); a = 1", "a += 1", "a * 21")
    one, two, three, _ = respond(client).output
    assert one.container_id == two.container_id == three.container_id and logs_of(three) == "42\n"


def test_files_of_the_input_lie_in_the_container(client, runs_code, upstream):
    tables = [client.files.create(file=(f"{n}.csv", b"x\n%d\n" % n), purpose="user_data").id for n in (1, 2)]
    runs_code("print(open('/mnt/data/1.csv').read() + open('/mnt/data/2.csv').read())",
              f"open('/mnt/data/{tables[0]}').read() + open('{tables[1]}').read()")
    response = respond(
        client, tools=[{**AUTO, "container": {"type": "auto", "file_ids": [tables[0]]}}],
        input=[{"role": "user", "content": [{"type": "input_file", "file_id": tables[1]}]}])
    assert logs_of(response.output[0]) == "x\n1\nx\n2\n\n"
    assert logs_of(response.output[1]) == repr("x\n1\nx\n2\n") + "\n"
    assert listed(upstream) == "Files in /mnt/data: 1.csv (4 bytes), 2.csv (4 bytes)."
    respond(client)
    assert listed(upstream) is None


def test_an_error_of_the_code_is_an_output(client, runs_code, upstream):
    runs_code("1 / 0")
    item = respond(client).output[0]
    assert item.status == "completed" and "ZeroDivisionError: division by zero" in logs_of(item)
    assert "ZeroDivisionError" in results(upstream)[0]


def test_a_client_that_keeps_its_history_sends_calls_back(client, runs_code, upstream):
    runs_code("x = 41; print(x)")
    first = respond(client, store=False)
    sent = results(upstream)
    runs_code("x + 1")
    again = [{"role": "user", "content": "go"}, *[item.to_dict() for item in first.output],
             {"role": "user", "content": "and?"}]
    second = respond(client, input=again, store=False)
    chat = upstream.chats()[-2]["messages"]
    assert [m["content"] for m in chat if m["role"] == "tool"] == sent
    (called,) = [m["tool_calls"][0]["function"] for m in chat if m.get("tool_calls")]
    assert called["name"] == "python" and json.loads(called["arguments"]) == {"code": "x = 41; print(x)"}
    assert logs_of(second.output[0]) == "42\n"  # its container is that of the call


def test_a_history_with_many_files_costs_its_links_not_the_server(client, upstream):
    """A client's history may list any number of files: those beyond what a call lists are left out."""
    files = [{"file_id": f"cfile_{n}", "path": f"/mnt/data/{n}.csv", "bytes": 1, "change": "created"}
             for n in range(151)]
    sent = {"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "code": "1", "outputs": [],
            "container_id": UNKNOWN, "runnel": {"files": files}}
    upstream.script({"answer": {"text": "[a](sandbox:/mnt/data/149.csv) [b](sandbox:/mnt/data/150.csv)"}})
    (message,) = respond(client, input=[{"role": "user", "content": "go"}, sent]).output
    assert [note.file_id for note in message.content[0].annotations] == ["cfile_149"]


def test_an_expired_container_in_the_history_is_replaced(client, runs_code, upstream):
    runs_code("x = 1")
    first = respond(client)
    client.containers.delete(first.output[0].container_id)
    runs_code("2 + 2")
    second = respond(client, previous_response_id=first.id)
    assert second.output[0].container_id != first.output[0].container_id
    assert results(upstream)[-1].startswith("The earlier container has expired") and "4" in results(upstream)[-1]


@pytest.mark.parametrize("container, status, code, param, message", [
    (None, 400, "missing_required_parameter", "tools[0].container",
     "Missing required parameter: 'tools[0].container'."),
    (UNKNOWN, 404, None, "tools", f"Container with id '{UNKNOWN}' not found."),
    ({"type": "auto", "file_ids": ["file-none"]}, 404, None, "tools[0].container.file_ids[0]",
     "No such File object: file-none"),
    ({"type": "auto", "memory_limit": "64g"}, 400, "invalid_value", "tools[0].container.memory_limit",
     "Invalid value: '64g'. The largest memory_limit of this server is '4g'."),
])
def test_what_cannot_be_is_refused(http, upstream, container, status, code, param, message):
    answer = http.post("/v1/responses", json={
        "model": "demo", "input": "go", "tools": [{"type": "code_interpreter", "container": container}]})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"], error["message"]) == (status, code, param, message)
    assert upstream.chats() == []


def test_a_container_of_another_project_does_not_exist(client, stranger):
    foreign = stranger.containers.create(name="theirs").id
    with pytest.raises(openai.NotFoundError, match=f"Container with id '{foreign}' not found."):
        respond(client, tools=[{"type": "code_interpreter", "container": foreign}])


def test_a_function_of_the_client_keeps_its_name(client, upstream):
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "ok"}},
                    {"answer": {"tool_calls": [call("hosted__python", code="1 + 1")]}})
    function = {"type": "function", "name": "python", "parameters": {"type": "object", "properties": {}}}
    item = respond(client, tools=[AUTO, function]).output[0]
    assert (item.type, logs_of(item)) == ("code_interpreter_call", "2\n")


def test_a_person_is_asked_where_a_policy_wants_it(client, http, runs_code):
    runs_code("6 * 7")
    asks = {"permissions": {"hosted/python": {"execution": "ask-always"}}}
    first = http.post("/v1/responses", json={"model": "demo", "input": "go", "tools": [AUTO], "runnel": asks}).json()
    (question,) = [item for item in first["output"] if item["type"] == "mcp_approval_request"]
    assert (question["server_label"], question["name"]) == ("hosted", "python")
    assert json.loads(question["arguments"]) == {"code": "6 * 7"}
    answer = {"type": "mcp_approval_response", "approval_request_id": question["id"], "approve": True}
    second = respond(client, previous_response_id=first["id"], input=[answer], extra_body={"runnel": asks})
    (item,) = [item for item in second.output if item.type == "code_interpreter_call"]
    assert logs_of(item) == "42\n"


# ---- Assistants ----

@pytest.fixture
def start(client):
    """start(tool_resources) -> an assistant and a thread."""
    def start(thread=None, **assistant):
        made = client.beta.assistants.create(model="demo", tools=[{"type": "code_interpreter"}], **assistant)
        return made.id, client.beta.threads.create(messages=[{"role": "user", "content": "go"}], **(thread or {})).id
    return start


def run(client, assistant, thread):
    done = client.beta.threads.runs.create_and_poll(assistant_id=assistant, thread_id=thread)
    assert done.status == "completed", done.last_error
    steps = client.beta.threads.runs.steps.list(done.id, thread_id=thread, order="asc").data
    return steps[0].step_details.tool_calls[0].code_interpreter, client.beta.threads.messages.list(thread).data[0]


def test_a_run_shows_steps_figures_and_files(client, http, start, runs_code):
    table = client.files.create(file=("sales.csv", b"a\n1\n"), purpose="assistants").id
    more = client.files.create(file=("more.csv", b"b\n2\n"), purpose="assistants").id
    link = "sandbox:/mnt/data/out.csv"
    runs_code(f"print(open('sales.csv').read() + open('more.csv').read())\n{PLOT}"
              "open('out.csv', 'w').write('z')", text=f"Here: [out]({link})")
    assistant, thread = start(tool_resources={"code_interpreter": {"file_ids": [table]}})
    client.beta.threads.messages.create(thread, role="user", content="and this", attachments=[
        {"file_id": more, "tools": [{"type": "code_interpreter"}]}])
    step, message = run(client, assistant, thread)
    assert [output.type for output in step.outputs][:2] == ["logs", "image"]
    assert step.outputs[0].logs == "a\n1\nb\n2\n\n"
    figure, text = message.content
    assert figure.type == "image_file" and figure.image_file.file_id == step.outputs[1].image.file_id
    assert client.files.content(figure.image_file.file_id).read().startswith(PNG)
    (cited,) = text.text.annotations
    assert (cited.type, cited.text) == ("file_path", link)
    assert text.text.value[cited.start_index:cited.end_index] == link
    made = client.files.retrieve(cited.file_path.file_id)
    assert (made.filename, made.purpose, made.bytes) == ("out.csv", "assistants_output", 1)
    assert client.files.content(made.id).read() == b"z"
    items = http.get(f"/v1/conversations/{thread.replace('thread_', 'conv_')}/items").json()["data"]
    assert [part["type"] for part in items[0]["content"]] == ["output_text"]
    assert items[0]["content"][0]["annotations"] == [
        {"type": "file_path", "file_id": made.id, "index": cited.start_index}]


def test_files_of_one_name_are_all_there_and_listed(client, start, runs_code, upstream):
    first, second, attached = [client.files.create(file=("a.csv", text), purpose="assistants").id
                               for text in (b"1", b"22", b"333" * 400)]
    runs_code("print(sorted(len(open(n).read()) for n in ('a.csv', 'a-2.csv', 'a-3.csv')))\n"
              f"print([len(open('/mnt/data/' + n).read()) for n in {[first, second, attached]}])")
    assistant, thread = start({"tool_resources": {"code_interpreter": {"file_ids": [second]}}},
                              tool_resources={"code_interpreter": {"file_ids": [first]}})
    client.beta.threads.messages.create(thread, role="user", content="and this", attachments=[
        {"file_id": attached, "tools": [{"type": "code_interpreter"}]}])
    step, _ = run(client, assistant, thread)
    assert step.outputs[0].logs == "[1, 2, 1200]\n[1, 2, 1200]\n"
    assert listed(upstream) == "Files in /mnt/data: a.csv (1 bytes), a-2.csv (2 bytes), a-3.csv (1 KB)."
    client.files.delete(second)
    client.beta.threads.runs.create_and_poll(assistant_id=assistant, thread_id=thread)
    assert listed(upstream) == "Files in /mnt/data: a.csv (1 bytes), a-3.csv (1 KB)."


def test_the_model_reads_what_the_user_does_not_get(start_server, upstream, runs_code):
    client = start_server(max_project_bytes=5000).sdk()
    runs_code(f"for n in range(21): open(f'{{n}}.txt', 'w').write('x')\nopen('big', 'w').truncate(33 << 20)\n{PLOT}")
    assistant = client.beta.assistants.create(model="demo", tools=[{"type": "code_interpreter"}]).id
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "go"}]).id
    step, _ = run(client, assistant, thread)
    assert step.outputs == [] and len(client.files.list().data) == 20
    (read,) = results(upstream)
    unkept = dict(re.findall('The user does not get "/mnt/data/(.*?)": (.*)[.]', read))
    assert unkept[".figures/1.png"] == "the files of the project have as many bytes as they may"
    assert unkept["big"] == "it has more than 32 MiB"
    assert list(unkept.values()).count("this call has made more than 20 files") == len(unkept) - 2 == 1


def test_event_handlers_of_the_sdk_follow_a_run(client, start, runs_code, upstream):
    seen = {"code": "", "outputs": [], "images": [], "text": ""}

    class Handler(AssistantEventHandler):
        def on_tool_call_delta(self, delta, snapshot):
            seen["code"] += delta.code_interpreter.input or ""
            seen["outputs"] += delta.code_interpreter.outputs or []

        def on_image_file_done(self, image_file):
            seen["images"].append(image_file.file_id)

        def on_text_done(self, text):
            seen["text"] = text.value

    runs_code(f"{PLOT}print('drawn')")
    assistant, thread = start()
    with client.beta.threads.runs.stream(thread_id=thread, assistant_id=assistant, event_handler=Handler()) as events:
        events.until_done()
    assert seen["code"] == f"{PLOT}print('drawn')" and seen["text"] == "Done."
    assert [(output.index, output.type) for output in seen["outputs"]] == [(0, "image"), (1, "logs")]
    assert seen["images"] == [seen["outputs"][0].image.file_id]
    # The next run continues in the thread's container, and its model gets no picture in an answer of its own.
    runs_code("plt.__name__")
    client.beta.threads.messages.create(thread, role="user", content="And?")
    upstream.forget()
    step, _ = run(client, assistant, thread)
    assert step.outputs[0].logs == "'matplotlib.pyplot'\n"
    assert "image_url" not in json.dumps(upstream.chats()[0]["messages"])


# ---- Ends ----

def test_a_timeout_interrupts_and_keeps_variables(start_server, runs_code, upstream):
    server = start_server(sandbox_exec_timeout=1)
    client = server.sdk()
    runs_code("kept = 5\nwhile True: pass")
    first = respond(client)
    assert first.output[0].status == "completed" and "KeyboardInterrupt" in logs_of(first.output[0])
    assert results(upstream)[0].endswith("timed out after 1 s; it was interrupted")
    runs_code("kept")
    assert logs_of(respond(client, previous_response_id=first.id).output[0]) == "5\n"


def test_a_lost_process_is_reported_once(client, runs_code, upstream):
    runs_code("import os; os._exit(3)")
    first = respond(client)
    read = [results(upstream)[0]]
    for code in ("1", "2"):
        runs_code(code)
        first = respond(client, previous_response_id=first.id)
        read.append(results(upstream)[-1])
    assert ["ariables are gone" in text for text in read].count(True) == 1, read
    assert read[2] == "2\n"


def test_a_cancelled_response_interrupts_its_code(client, http, runs_code):
    runs_code("import time\nprint('on', flush=True)\ntime.sleep(600)")
    response = respond(client, background=True, stream=True)
    made = next(iter(response)).response.id
    for event in response:
        if event.type == f"{KIND}.interpreting":
            break
    assert http.post(f"/v1/responses/{made}/cancel").json()["status"] == "cancelled"


def test_code_that_runs_keeps_no_other_tool_waiting(start_server, upstream):
    server = start_server(tool_workers=1)
    client = server.sdk()
    code = "print('on', flush=True)\nimport time\ntime.sleep(600)"
    upstream.script({"match": {"tool_results": True}, "answer": {"text": "Done."}},
                    {"match": {"user": "code"}, "answer": {"tool_calls": [call("python", 1, code=code)]}},
                    {"answer": {"tool_calls": [call("datetime", 1)]}})
    slow = respond(client, input="code", background=True, stream=True)
    made = next(iter(slow)).response.id
    for event in slow:
        if event.type == f"{KIND}.interpreting":
            break
    quick = client.responses.create(model="demo", input="time", extra_body={"runnel": {"tool_groups": {"basic": True}}})
    (done,) = [item for item in quick.output if item.type == "mcp_call"]
    assert done.output and quick.output_text == "Done."
    assert client.responses.retrieve(made).status == "in_progress"
    client.responses.cancel(made)


def test_what_was_cut_by_a_crash_was_interrupted(start_server, runs_code, upstream):
    """A response, its files and its container outlast a kill in the next call; that call is not run again."""
    server = start_server()
    runs_code("x = 1\nopen('kept.csv', 'w').write('1')")
    before = respond(server.sdk())
    runs_code("open('again', 'a').write('1')\nimport time\ntime.sleep(600)", text="After the crash.")
    stream = respond(server.sdk(), background=True, stream=True, previous_response_id=before.id)
    made = next(iter(stream)).response.id
    for event in stream:
        if event.type == f"{KIND}.interpreting":
            break
    server.kill()
    server.start()
    client = server.sdk()
    response = client.responses.retrieve(made)
    while response.status in ("queued", "in_progress"):
        response = client.responses.retrieve(made)
    assert response.status == "completed" and response.output_text == "After the crash."
    (item,) = [item for item in response.output if item.type == "code_interpreter_call"]
    assert (item.status, item.container_id) == ("failed", before.output[0].container_id)
    assert "may or may not" in results(upstream)[-1]
    runs_code("import os; print(open('kept.csv').read(), os.path.exists('again') and open('again').read())\nx")
    after = respond(client, previous_response_id=made).output[0]
    assert after.container_id == item.container_id
    assert logs_of(after).split("\n")[0] in ("1 False", "1 1") and "NameError" in logs_of(after)
    assert "ariables are gone" in results(upstream)[-1]


# ---- A server that executes nothing ----

def test_a_server_without_a_sandbox_names_the_reason(start_server):
    http = start_server(sandbox="off").http()
    answer = http.post("/v1/responses", json={"model": "demo", "input": "go", "tools": [AUTO]}).json()
    (left_out,) = answer["runnel"]["unavailable_tools"]
    assert left_out == {"type": "code_interpreter", "reason": "the setting 'sandbox' is 'off'"}
    refused = http.post("/v1/responses", json={"model": "demo", "input": "go", "tools": [AUTO],
                                               "tool_choice": "required"})
    assert refused.status_code == 400 and refused.json()["error"]["message"] == (
        "Unsupported value: the tool 'code_interpreter' is not available on this server: the setting 'sandbox' is 'off'.")
