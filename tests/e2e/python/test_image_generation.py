"""The tool image_generation on both APIs: items, events, edits, what a request may set, and how drawings fail."""

import base64
import http.server
import json
import threading

import pytest

from harness.patience import patience
from harness.server import Server, eventually
from harness.tools import call

TOOL = {"type": "image_generation"}
KIND = "response.image_generation_call"
PNG = b"\x89PNG\r\n\x1a\n"
PIXEL = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+"
         "M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
GENERATIONS, EDITS = "/v1/images/generations", "/v1/images/edits"


@pytest.fixture(scope="module")
def drawing_server(binary, scratch, upstream_process, recorder, database):
    directory = scratch / "draws"
    directory.mkdir(mode=0o755)
    config = directory / "runnel.yaml"
    config.write_text(f"upstreams: [{{name: art, url: '{upstream_process.url}', models: ['*'], api_key: sk-art}}]\n"
                      "images: {upstream: art, model: draw-1, max_bytes: 100000, max_pictures: 2, timeout: 60}\n")
    server = Server(binary, directory, None, recorder, config=config, database_url=database.new()).start()
    yield server
    assert server.stop() == 0


@pytest.fixture
def server(drawing_server, upstream):
    return drawing_server


@pytest.fixture
def draws(upstream):
    """The model has a picture drawn, or several, and then says so. `rules` come first."""
    def draws(*orders, rules=(), text="Here it is."):
        orders = orders or ({"prompt": "a cat"},)
        upstream.script(*rules, {"match": {"tool_results": True}, "answer": {"text": text}},
                        {"answer": {"tool_calls": [call("generate_image", n + 1, **order)
                                                   for n, order in enumerate(orders)]}})
    return draws


def fault(path=GENERATIONS, **kind):
    return {"match": {"path": path}, "answer": {"fault": kind}}


def asked(upstream, path=GENERATIONS):
    return [r["body"] for r in upstream.requests() if r["path"] == path]


def respond(client, **body):
    return client.responses.create(**{"model": "demo", "input": "Draw.", "tools": [TOOL], **body})


def read(upstream):
    """What the model has read of its calls."""
    return [m["content"] for m in upstream.chats()[-1]["messages"] if m["role"] == "tool"]


# ---- Responses ----

def test_a_call_is_an_item_with_its_picture(client, http, draws, upstream):
    draws()
    response = respond(client)
    item, message = response.output
    assert (item.type, item.status, item.id[:3]) == ("image_generation_call", "completed", "ig_")
    assert base64.b64decode(item.result).startswith(PNG) and message.content[0].text == "Here it is."
    shown = item.to_dict()
    assert {key: shown[key] for key in ("action", "revised_prompt", "size", "quality", "background", "output_format")} == {
        "action": "generate", "revised_prompt": "a cat", "size": "auto", "quality": "auto", "background": "auto",
        "output_format": "png"}
    assert asked(upstream) == [{"model": "draw-1", "prompt": "a cat"}]
    assert read(upstream)[0].startswith("[A picture was drawn, and the user sees it: a cat]")
    assert item.result not in json.dumps(upstream.chats()[-1])
    (offered,) = upstream.chats()[0]["tools"]
    assert offered["function"]["name"] == "generate_image"
    assert http.get(f"/v1/responses/{response.id}").json()["output"] == response.to_dict()["output"]


def test_events_come_in_openais_order(client, draws):
    draws()
    with client.responses.stream(model="demo", input="Draw.", tools=[{**TOOL, "partial_images": 2}]) as stream:
        events = list(stream)
        final = stream.get_final_response()
    kinds = [e.type for e in events]
    begin = kinds.index("response.output_item.added")
    assert kinds[begin:begin + 7] == [
        "response.output_item.added", f"{KIND}.in_progress", f"{KIND}.generating", f"{KIND}.partial_image",
        f"{KIND}.partial_image", f"{KIND}.completed", "response.output_item.done"]
    added, done = events[begin].item, events[begin + 6].item
    assert (added.status, added.result, added.id) == ("in_progress", None, done.id)
    partial = events[begin + 3:begin + 5]
    assert [e.partial_image_index for e in partial] == [0, 1] and {e.item_id for e in partial} == {done.id}
    assert all(e.partial_image_b64 == PIXEL and e.to_dict()["size"] == "1024x1024" for e in partial)
    assert done.result == PIXEL and final.output[0].result == PIXEL
    assert done.to_dict()["quality"] == "low"  # what the image model says wins


def test_what_the_entry_says_is_asked_for_and_defaults_are_not(client, draws, upstream):
    draws({"prompt": "a cat", "size": "1x1"})
    respond(client, tools=[{**TOOL, "size": "1024x1536", "quality": "high", "background": "transparent",
                            "output_format": "webp", "output_compression": 40, "moderation": "low",
                            "input_fidelity": "high", "model": "draw-2"}])
    assert asked(upstream) == [{"model": "draw-2", "prompt": "a cat", "size": "1024x1536", "quality": "high",
                                "background": "transparent", "output_format": "webp", "output_compression": 40,
                                "moderation": "low"}]
    upstream.forget()
    respond(client, tools=[{**TOOL, "size": "auto", "quality": "auto", "background": "auto", "output_format": "png",
                            "output_compression": 100, "moderation": "auto", "partial_images": 0}])
    assert asked(upstream) == [{"model": "draw-1", "prompt": "a cat", "size": "1x1"}]


@pytest.mark.parametrize("how", ["previous", "id", "item"])
def test_a_picture_is_edited_in_a_later_turn(client, draws, upstream, how):
    draws()
    first = respond(client)
    item = first.output[0]
    draws({"prompt": "a hat", "action": "edit"})
    more = {"previous": {"previous_response_id": first.id, "input": "With a hat."},
            "id": {"input": [{"type": "image_generation_call", "id": item.id}, {"role": "user", "content": "A hat."}]},
            "item": {"input": [item.to_dict(), {"role": "user", "content": "A hat."}]}}[how]
    second = respond(client, **more)
    (edit,) = asked(upstream, EDITS)
    assert (edit["model"], edit["prompt"]) == ("draw-1", "a hat")
    assert edit["image"] == {"filename": "1.png", "type": "image/png", "bytes": len(base64.b64decode(PIXEL))}
    assert second.output[0].to_dict()["action"] == "edit" and second.output[0].result == PIXEL


def test_pictures_of_the_user_are_edited_with_a_mask(client, draws, upstream):
    uploaded = client.files.create(file=("hole.png", base64.b64decode(PIXEL)), purpose="vision")
    draws()
    sent = {"role": "user", "content": [
        {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"},
        {"type": "input_image", "file_id": uploaded.id}]}
    respond(client, input=[sent], tools=[{**TOOL, "action": "edit", "input_fidelity": "high",
                                          "input_image_mask": {"file_id": uploaded.id}}])
    (edit,) = asked(upstream, EDITS)
    assert [picture["filename"] for picture in edit["image"]] == ["1.png", "2.png"]
    assert edit["mask"]["filename"] == "0.png" and edit["input_fidelity"] == "high"


class Gallery(http.server.BaseHTTPRequestHandler):
    """A picture comes when four of them are on their way."""

    def do_GET(self):
        try:
            self.server.barrier.wait(patience(10))
        except threading.BrokenBarrierError:
            pass
        self.send_response(200)
        self.end_headers()
        self.wfile.write(base64.b64decode(PIXEL))

    def log_message(self, *_):
        pass


def test_pictures_of_an_edit_are_fetched_side_by_side(start_server, upstream, draws, tmp_path):
    gallery = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gallery)
    gallery.barrier = threading.Barrier(4)
    threading.Thread(target=gallery.serve_forever, daemon=True).start()
    place, config = f"127.0.0.1:{gallery.server_port}", tmp_path / "runnel.yaml"
    config.write_text(f"upstreams: [{{name: art, url: '{upstream.url}', models: ['*'], api_key: sk-art}}]\n"
                      f'network: {{allow_internal_hosts: ["{place}"]}}\n'
                      "images: {upstream: art, model: draw-1, max_bytes: 100000}\n")
    client = start_server(config=config).sdk()
    draws()
    sent = {"role": "user", "content": [{"type": "input_image", "image_url": f"http://{place}/{n}"} for n in range(8)]}
    respond(client, input=[sent], tools=[{**TOOL, "action": "edit"}])
    (edit,) = asked(upstream, EDITS)
    assert [picture["bytes"] for picture in edit["image"]] == [len(base64.b64decode(PIXEL))] * 8
    assert not gallery.barrier.broken
    gallery.shutdown()
    gallery.server_close()


def failed(response):
    item = response.output[0]
    assert (item.type, item.status, item.result) == ("image_generation_call", "failed", None)
    assert response.status == "completed" and response.output[-1].content[0].text == "Here it is."
    return item.to_dict()["error"]


def test_a_refusal_of_the_image_model_is_the_items_error(client, draws, upstream):
    draws(rules=[fault(kind="status", status=400, body={"error": {
        "message": "No cats.", "code": "moderation_blocked", "type": "image_generation_user_error", "param": None}})])
    assert failed(respond(client)) == {"code": "moderation_blocked", "message": "No cats.", "param": None,
                                       "type": "image_generation_user_error"}
    assert len(asked(upstream)) == 1 and read(upstream) == ["The image model answered with status 400: No cats."]


def test_an_image_model_that_is_busy_is_asked_again(client, draws, upstream):
    draws(rules=[{**fault(kind="status", status=429, retry_after=0), "times": 1}])
    assert respond(client).output[0].result == PIXEL and len(asked(upstream)) == 2


@pytest.mark.parametrize("kind", ["cut", "garbage"])
def test_a_stream_that_breaks_behind_a_preview_ends_well(client, draws, upstream, kind):
    draws(rules=[fault(kind=kind, after=1)])
    events = list(respond(client, stream=True, tools=[{**TOOL, "partial_images": 2}]))
    kinds = [e.type for e in events]
    assert kinds.count(f"{KIND}.partial_image") == 1
    assert kinds[-1] == "response.completed"
    assert failed(events[-1].response)["code"] == "server_error"
    assert len(asked(upstream)) == 1  # a picture costs money


def test_pictures_and_their_bytes_have_limits(client, draws):
    draws(*[{"prompt": f"cat {n}"} for n in range(3)])
    items = respond(client).output[:3]
    assert sorted(item.status for item in items) == ["completed", "completed", "failed"]
    (late,) = (item.to_dict()["error"] for item in items if item.status == "failed")
    assert late["code"] == "rate_limit_exceeded" and late["message"] == "One request may draw 2 pictures."
    draws(rules=[fault(kind="status", status=200, body={"data": [{"b64_json": "A" * 200000}]})])
    assert failed(respond(client))["code"] == "image_too_large"
    draws(rules=[fault(kind="status", status=200, body={"data": [{"b64_json": "aGk="}]})])
    assert failed(respond(client))["message"] == "What the image model has sent is no picture."


def test_the_pictures_of_an_edit_have_a_limit_together(client, draws, upstream):
    part = {"type": "input_image",
            "image_url": "data:image/png;base64," + base64.b64encode(PNG + bytes(99000)).decode()}
    tools = [{**TOOL, "action": "edit"}]
    draws()
    assert respond(client, input=[{"role": "user", "content": [part] * 4}], tools=tools).output[0].result == PIXEL
    error = failed(respond(client, input=[{"role": "user", "content": [part] * 5}], tools=tools))
    assert (error["code"], error["message"]) == (
        "image_too_large", "The pictures to begin with have more than 400000 bytes together.")
    assert len(asked(upstream, EDITS)) == 1


def test_without_a_picture_there_is_nothing_to_edit(client, draws, upstream):
    draws({"prompt": "a hat", "action": "edit"})
    assert failed(respond(client))["message"] == "There is no picture to edit: draw one first."
    assert asked(upstream, EDITS) == []


def test_a_strangers_picture_cannot_be_edited(drawing_server, client, draws, upstream):
    mine = client.files.create(file=("mine.png", base64.b64decode(PIXEL)), purpose="vision")
    draws()
    made = respond(client)
    stranger = client.with_options(api_key=drawing_server.new_key("strangers"))
    draws({"prompt": "a hat", "action": "edit"})
    item = {"type": "image_generation_call", "id": made.output[0].id}
    with pytest.raises(Exception, match=made.output[0].id):
        respond(stranger, input=[{"role": "user", "content": "A hat."}, item])
    sent = {"role": "user", "content": [{"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"}]}
    refused = respond(stranger, input=[sent], tools=[{**TOOL, "input_image_mask": {"file_id": mine.id}}])
    assert failed(refused)["message"] == f"The picture {mine.id} is gone."
    assert asked(upstream, EDITS) == []


def test_a_cancelled_background_response_gives_its_drawing_up(client, draws, upstream):
    draws(rules=[fault(kind="stall")])
    stream = respond(client, background=True, stream=True, tools=[{**TOOL, "partial_images": 1}])
    made = next(iter(stream)).response.id
    while next(stream).type != f"{KIND}.generating":
        continue
    eventually(lambda: len(asked(upstream)) == 1)
    client.responses.cancel(made)
    eventually(lambda: [r["state"] for r in upstream.requests() if r["path"] == GENERATIONS] == ["client_left"])
    ended = client.responses.retrieve(made)
    assert (ended.status, ended.output) == ("cancelled", [])


# ---- Assistants ----

@pytest.fixture
def lenient(server):
    """The SDK's assistants know three types of tools."""
    return server.sdk(strict=False)


def run_of(client, thread, **more):
    assistant = client.beta.assistants.create(model="demo", tools=[TOOL])
    run = client.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id=assistant.id, **more)
    assert run.status == "completed", run.last_error
    return run


def test_a_thread_shows_the_picture_as_a_file(lenient, draws, upstream):
    client = lenient
    draws()
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "Draw."}])
    run = run_of(client, thread)
    message = client.beta.threads.messages.list(thread.id).data[0]
    picture, text = message.content
    assert (picture.type, text.text.value) == ("image_file", "Here it is.")
    kept = client.files.retrieve(picture.image_file.file_id)
    assert (kept.purpose, kept.filename) == ("assistants_output", "picture.png")
    assert client.files.content(kept.id).read().startswith(PNG)
    steps = client.beta.threads.runs.steps.list(run.id, thread_id=thread.id).data
    (tool_call,) = steps[-1].step_details.tool_calls
    assert (tool_call.type, tool_call.function.name) == ("function", "generate_image")
    assert tool_call.function.output.startswith("[A picture was drawn")
    draws({"prompt": "a hat", "action": "edit"})
    client.beta.threads.messages.create(thread.id, role="user", content="With a hat.")
    run_of(client, thread)
    assert asked(upstream, EDITS)[0]["image"]["bytes"] == kept.bytes


def test_a_threads_stream_shows_the_picture(lenient, draws):
    client = lenient
    draws()
    assistant = client.beta.assistants.create(model="demo", tools=[TOOL])
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "Draw."}])
    with client.beta.threads.runs.stream(thread_id=thread.id, assistant_id=assistant.id) as stream:
        stream.until_done()
        (message,) = stream.get_final_messages()
    assert [part.type for part in message.content] == ["image_file", "text"]
