"""What is passed through to the upstream of its model: embeddings, moderations, completions and so on."""

import base64
import http.server
import json
import threading

import httpx2
import openai
import pytest

from harness.process import free_port
from harness.server import eventually

SAID = "ada@example.org knows secret-42"
MASKED = "[mail] knows [masked]"
MASKS = """hooks:
  before_send:
    - {pattern: "[\\\\w.]+@[\\\\w.]+", replacement: "[mail]"}
    - {pattern: "SECRET-\\\\d+", flags: i}
"""
PATHS = {
    "/v1/embeddings": {"input": "Hi"},
    "/v1/moderations": {"input": "Hi"},
    "/v1/completions": {"prompt": "Hi"},
    "/v1/rerank": {"query": "Hi", "documents": ["Hi", "Ho"]},
    "/v1/images/generations": {"prompt": "a cat"},
    "/v1/audio/speech": {"input": "Hi", "voice": "alloy"},
}
STREAMED = {
    "/v1/completions": {"prompt": "Hi", "stream": True},
    "/v1/images/generations": {"prompt": "a cat", "stream": True, "partial_images": 2},
    "/v1/audio/speech": {"input": "Hi", "voice": "alloy", "stream_format": "sse"},
}
each_path = pytest.mark.parametrize("path", PATHS)


@pytest.fixture
def lenient(server):
    """The SDK's types have neither packed vectors nor pieces of a completion that is not finished."""
    return server.sdk(strict=False)


def received(upstream, path):
    return [request for request in upstream.requests() if request["path"] == path]


def fails(upstream, path, **fault):
    upstream.script({"match": {"path": path}, "answer": {"fault": fault}})


# ---- what the SDK makes of it ----

def test_texts_that_share_words_have_near_embeddings(lenient, upstream):
    upstream.script({"answer": {"text": "no rule for others"}})
    made = lenient.embeddings.create(model="demo", input=["the cat sat", "the cat ran", "quite other"])
    first, near, far = [item.embedding for item in made.data]
    assert [item.index for item in made.data] == [0, 1, 2] and made.usage.prompt_tokens == 8
    dot = lambda a, b: sum(x * y for x, y in zip(a, b))
    assert dot(first, first) == pytest.approx(1, abs=1e-4) and dot(first, near) > dot(first, far)
    (request,) = received(upstream, "/v1/embeddings")
    assert request["body"]["encoding_format"] == "base64"
    assert "sk-end-to-end" not in str(request)


def test_embeddings_are_numbers_or_base64_and_as_long_as_asked(lenient):
    numbers = lenient.embeddings.create(model="demo", input="Hi", encoding_format="float", dimensions=8)
    packed = lenient.embeddings.create(model="demo", input="Hi", dimensions=8)
    assert len(numbers.data[0].embedding) == 8
    assert numbers.data[0].embedding == pytest.approx(packed.data[0].embedding, abs=1e-6)


def test_a_moderation_names_what_it_flags(client):
    made = client.moderations.create(model="demo", input=["a kitten", "violence and hate"])
    harmless, flagged = made.results
    assert not harmless.flagged and flagged.flagged
    assert flagged.categories.violence and flagged.categories.hate and not flagged.categories.sexual


def test_a_moderation_without_a_model_goes_to_the_one_of_openai(client, upstream):
    client.moderations.create(input="Hi")
    (request,) = received(upstream, "/v1/moderations")
    assert request["body"] == {"input": "Hi"}


def test_a_text_completion_is_answered_by_the_rules_of_the_script(lenient, upstream):
    upstream.answer(text="and so on")
    made = lenient.completions.create(model="demo", prompt="Once upon a time")
    assert made.object == "text_completion" and made.choices[0].text == "and so on"
    pieces = list(lenient.completions.create(model="demo", prompt="Once", stream=True))
    assert "".join(piece.choices[0].text for piece in pieces) == "and so on"
    assert pieces[-1].choices[0].finish_reason == "stop"


def test_images_come_whole_and_as_a_stream(client):
    made = client.images.generate(model="demo", prompt="a cat", n=2)
    assert len(made.data) == 2 and base64.b64decode(made.data[0].b64_json).startswith(b"\x89PNG")
    events = list(client.images.generate(model="demo", prompt="a cat", stream=True, partial_images=2))
    assert [event.type for event in events] == ["image_generation.partial_image"] * 2 + [
        "image_generation.completed"]
    assert events[-1].b64_json == made.data[0].b64_json


def test_speech_comes_as_audio_and_as_events(client):
    whole = client.audio.speech.create(model="demo", voice="alloy", input="Hi there")
    assert whole.response.headers["content-type"] == "audio/wav"
    assert whole.content[:4] == b"RIFF" and whole.content[8:12] == b"WAVE"
    with client.audio.speech.with_streaming_response.create(
            model="demo", voice="alloy", input="Hi there", stream_format="sse") as stream:
        events = [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: {")]
    said = b"".join(base64.b64decode(event["audio"]) for event in events[:-1])
    assert said == whole.content and events[-1]["type"] == "speech.audio.done"


def test_documents_are_sorted_by_what_they_share_with_the_query(http):
    made = http.post("/v1/rerank", json={"model": "demo", "query": "a black cat", "top_n": 2,
                                         "documents": ["rain", "the cat", "a black cat"]}).json()
    assert [result["index"] for result in made["results"]] == [2, 1]
    assert made["results"][0]["relevance_score"] > made["results"][1]["relevance_score"]


# ---- bytes, upstreams, errors ----

@each_path
def test_the_upstream_gets_the_bytes_of_the_client(http, upstream, path):
    body = json.dumps({"model": "demo", **PATHS[path], "unknown": 1.50, "z": None}, indent=3)
    answer = http.post(path, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 200, answer.text
    (request,) = received(upstream, path)
    assert int(request["headers"]["content-length"]) == len(body)
    assert request["body"] == json.loads(body)
    assert request["headers"]["content-type"] == "application/json"


@each_path
def test_the_client_gets_the_bytes_of_the_upstream(server, upstream, path):
    """Without the recorder: what the upstream says here is not in openapi.yaml."""
    key = {"Authorization": f"Bearer {server.settings['api_key']}"}
    direct = httpx2.Client(base_url=f"http://127.0.0.1:{upstream.port}")
    ours = httpx2.Client(base_url=server.url, headers=key)
    body = '{"odd":  1.50 ,\n "z":[]}'
    fails(upstream, path, kind="status", status=200, body=body)
    ours, theirs = [c.post(path, json={"model": "demo", **PATHS[path]}) for c in (ours, direct)]
    assert ours.content == theirs.content == body.encode()
    assert ours.headers["content-type"] == theirs.headers["content-type"]


@pytest.mark.parametrize("path", STREAMED)
def test_the_client_gets_the_events_of_the_upstream(http, upstream, path):
    upstream.script({"match": {"path": path}, "answer": {"events": ['{"odd":  1.50}', "{}"]}})
    body = {"model": "demo", **STREAMED[path]}
    answer = http.post(path, json=body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text == 'data: {"odd":  1.50}\n\ndata: {}\n\ndata: [DONE]\n\n'


@pytest.mark.parametrize("path", STREAMED)
def test_an_event_arrives_before_the_upstream_has_ended(http, upstream, path):
    """The upstream falls silent after one event, and only the client's leaving ends that."""
    upstream.script({"match": {"path": path},
                     "answer": {"events": ["{}", "{}"], "fault": {"kind": "stall", "after": 1}}})
    with http.stream("POST", path, json={"model": "demo", **STREAMED[path]}) as answer:
        assert next(answer.iter_lines()) == "data: {}"
    eventually(lambda: received(upstream, path)[0]["state"] == "client_left")


@pytest.mark.parametrize("path", STREAMED)
def test_a_stream_that_breaks_off_ends_with_an_error(http, upstream, path):
    upstream.script({"match": {"path": path},
                     "answer": {"events": ["{}", "{}"], "fault": {"kind": "cut", "after": 1}}})
    answer = http.post(path, json={"model": "demo", **STREAMED[path]})
    first, last = [line for line in answer.text.splitlines() if line]
    assert first == "data: {}" and json.loads(last[6:])["error"]["type"] == "server_error"


class RawStream:
    """An upstream that answers with the bytes of a test, and promises so many bytes."""

    def __init__(self):
        self.body = self.promised = None
        stream = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("content-length", str(stream.promised))
                self.end_headers()
                self.wfile.write(stream.body)
                self.close_connection = True

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", free_port()), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def model():
    model = RawStream()
    yield model
    model.server.shutdown()
    model.server.server_close()


def test_an_event_that_came_in_part_is_dropped_before_the_error(start_server, model):
    """An SDK would raise a JSON error for it, and never see that the upstream has failed."""
    model.body, model.promised = b'data: {"first": 1}\n\ndata: {"second": ', 1000
    client = start_server(upstream_url=model.url).sdk(strict=False)
    pieces = client.completions.create(model="demo", prompt="Hi", stream=True)
    assert next(pieces).first == 1
    with pytest.raises(openai.APIError, match="ended too early|broke off|closed") as failed:
        next(pieces)
    assert failed.value.type == "server_error"


@pytest.mark.timeout(60)
def test_a_large_event_takes_no_longer_than_its_bytes(start_server, model):
    """It comes in two thousand pieces. To look for its end in all of them each time takes minutes."""
    picture = b"data: {\"b64_json\": \"" + b"x" * (32 << 20) + b"\"}\n\n"
    model.body, model.promised = picture, len(picture)
    http = start_server(upstream_url=model.url).http()
    body = http.post("/v1/images/generations", json={"model": "demo", "prompt": "a cat", "stream": True}).content
    assert body == picture


def test_sound_arrives_before_the_upstream_has_ended(http, upstream):
    fails(upstream, "/v1/audio/speech", kind="stall", after=0)
    with http.stream("POST", "/v1/audio/speech", json={"model": "demo", "voice": "a", "input": "Hi"}) as answer:
        assert next(answer.iter_bytes(4)) == b"RIFF"
    eventually(lambda: received(upstream, "/v1/audio/speech")[0]["state"] == "client_left")


def test_sound_that_breaks_off_ends_without_its_last_chunk(server, http, upstream):
    """At once, even if all of the library's workers have connections that are idle."""
    upstream.answer(text="Hi")
    for idle in [server.http() for _ in range(24)]:
        idle.post("/v1/completions", json={"model": "demo", "prompt": "Hi", "stream": True})
    fails(upstream, "/v1/audio/speech", kind="cut", after=0)
    for _ in range(8):
        with pytest.raises(httpx2.RemoteProtocolError):
            http.post("/v1/audio/speech", json={"model": "demo", "voice": "a", "input": "Hi"})
    assert http.get("/healthz").status_code == 200


def test_a_page_of_the_upstream_is_only_text_here(server, upstream):
    upstream.script({"match": {"path": "/v1/embeddings"}, "answer": {"fault": {"kind": "html"}}})
    answer = httpx2.post(server.url + "/v1/embeddings", json={"model": "demo", "input": "Hi"},
                         headers={"Authorization": f"Bearer {server.settings['api_key']}"})
    assert answer.headers["content-type"] == "text/plain; charset=utf-8" and "<h1>" in answer.text


@each_path
def test_errors_of_the_upstream_are_passed_through(client, http, upstream, path):
    fails(upstream, path, kind="status", status=429, retry_after=3)
    answer = http.post(path, json={"model": "demo", **PATHS[path]})
    assert answer.status_code == 429 and answer.headers["retry-after"] == "3"
    assert answer.json()["error"]["code"] == "rate_limit_exceeded"
    with pytest.raises(openai.RateLimitError):
        client.with_options(max_retries=0).post(
            path[3:], body={"model": "demo", **PATHS[path]}, cast_to=object)


@each_path
def test_an_upstream_that_breaks_off_is_an_error_of_the_upstream(http, upstream, path):
    fails(upstream, path, kind="cut")
    answer = http.post(path, json={"model": "demo", **PATHS[path]})
    upstream.script({"answer": {"fault": {"kind": "cut"}}})
    chat = http.post("/v1/chat/completions", json={"model": "demo", "messages": [
        {"role": "user", "content": "Hi"}]})
    assert answer.status_code == chat.status_code
    assert answer.json()["error"]["type"] == chat.json()["error"]["type"]
    assert answer.json()["error"]["message"] == chat.json()["error"]["message"]


def test_an_upstream_that_stays_silent_runs_into_its_deadline(start_server, upstream):
    fails(upstream, "/v1/*", kind="stall")
    http = start_server(upstream_first_byte_timeout=0.2).http()
    for path, body in PATHS.items():
        answer = http.post(path, json={"model": "demo", **body})
        assert answer.status_code == 504 and "0.2 s" in answer.json()["error"]["message"]


def test_a_model_that_no_upstream_has_is_not_found(start_server, tmp_path, upstream):
    config = tmp_path / "upstreams.yaml"
    config.write_text(f"upstreams:\n  - {{name: one, url: '{upstream.url}', models: ['one-*']}}\n")
    http = start_server(config=config, upstream_url=None).http()
    for path, body in PATHS.items():
        other = http.post(path, json={"model": "demo", **body})
        assert other.status_code == 404 and other.json()["error"]["code"] == "model_not_found"
        assert http.post(path, json={"model": "one-x", **body}).status_code == 200
        assert [r["body"]["model"] for r in received(upstream, path)] == ["one-x"]


@each_path
def test_what_is_no_object_with_a_model_is_refused(http, path):
    for body, param in (({"model": 7}, "model"), ({"model": "demo", "stream": "yes"}, "stream")):
        answer = http.post(path, json={**PATHS[path], **body})
        assert answer.status_code == 400 and answer.json()["error"]["param"] == param
    assert http.post(path, content="[]").status_code == 400


@each_path
def test_a_key_is_needed(server, path):
    answer = httpx2.post(server.url + path, json={"model": "demo"})
    assert answer.status_code == 401


# ---- masks ----

@pytest.fixture
def masked(start_server, tmp_path):
    config = tmp_path / "masks.yaml"
    config.write_text(MASKS)
    return start_server(config=config).http()


@pytest.mark.parametrize("path, member, value, sent", [
    ("/v1/embeddings", "input", SAID, MASKED),
    ("/v1/embeddings", "input", [SAID, "Hi", SAID], [MASKED, "Hi", MASKED]),
    ("/v1/moderations", "input", [{"type": "text", "text": SAID}], [{"type": "text", "text": MASKED}]),
    ("/v1/completions", "prompt", [SAID], [MASKED]),
    ("/v1/images/generations", "prompt", SAID, MASKED),
    ("/v1/audio/speech", "instructions", SAID, MASKED),
    ("/v1/rerank", "documents", [{"text": SAID, "title": SAID}], [{"text": MASKED, "title": MASKED}]),
])
def test_texts_are_masked(masked, upstream, path, member, value, sent):
    answer = masked.post(path, json={**PATHS[path], "model": "demo", "user": "a@b", member: value})
    assert answer.status_code == 200, answer.text
    (request,) = received(upstream, path)
    assert request["body"][member] == sent and request["body"]["user"] == "a@b"


def test_no_member_of_a_request_is_a_way_around_the_masks(masked, upstream):
    message = {"role": "user", "content": SAID}
    for path, body, sent in (
            ("/v1/embeddings", {"input": SAID, "messages": [message, message]},
             {"input": MASKED, "messages": [{**message, "content": MASKED}] * 2}),
            ("/v1/completions", {"prompt": SAID, "messages": []}, {"prompt": MASKED, "messages": []}),
            ("/v1/rerank", {"query": SAID, "documents": [], "messages": SAID},
             {"query": MASKED, "documents": [], "messages": MASKED})):
        assert masked.post(path, json={"model": "demo", **body}).status_code == 200
        assert received(upstream, path)[-1]["body"] == {"model": "demo", **sent}


def test_tokens_cannot_be_masked_and_are_not_sent(masked, upstream):
    answer = masked.post("/v1/embeddings", json={"model": "demo", "input": [[1, 2], [3]]})
    assert answer.status_code == 400 and answer.json()["error"]["param"] == "input"
    assert received(upstream, "/v1/embeddings") == []
