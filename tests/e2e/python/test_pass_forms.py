"""Forms that are passed through: recordings that are written down, pictures that are changed."""

import hashlib
import os
import pathlib
import socket

import httpx2
import pytest

from harness.server import eventually

PATHS = {
    "/v1/audio/transcriptions": "file",
    "/v1/audio/translations": "file",
    "/v1/images/edits": "image",
    "/v1/images/variations": "image",
}
each_path = pytest.mark.parametrize("path", PATHS)
BOUNDARY = "a_boundary:1"
TYPE = f'multipart/form-data; charset=utf-8; boundary="{BOUNDARY}"'
PNG = b"\x89PNG\r\n\r\n--a_boundary\r\n\0" + bytes(range(256))
NOT_PARSED = "We could not parse the form of your request: "


def form(*parts, end=f"--{BOUNDARY}--\r\n".encode()):
    """Parts are (name, data) or (name, data, filename)."""
    body = b""
    for name, data, *filename in parts:
        head = f'form-data; name="{name}"' + (f'; filename="{filename[0]}"' if filename else "")
        body += f"--{BOUNDARY}\r\nContent-Disposition: {head}\r\n\r\n".encode() + data + b"\r\n"
    return body + end


def whole(path, *more, model=b"demo", file=PNG):
    """The file before the model, as openai-node may send it."""
    fields = [("model", model)] if model is not None else []
    return form((PATHS[path], file, "a.png"), *fields, *more)


def post(http, path, body, content_type=TYPE):
    return http.post(path, content=body, headers={"Content-Type": content_type})


def received(upstream, path):
    return [request for request in upstream.requests() if request["path"] == path]


def error_of(answer):
    error = answer.json()["error"]
    return answer.status_code, error["param"], error["code"], error["message"]


def spooled(server):
    """The files without a name that the server has open."""
    if os.geteuid() != 0:
        pytest.skip("only root sees the descriptors of the server")
    return [name for fd in pathlib.Path(f"/proc/{server.process.child.pid}/fd").iterdir()
            if (name := _target(fd)) and "(deleted)" in name and "/#" in name]


def _target(fd):
    try:
        return os.readlink(fd)
    except OSError:
        return None


# ---- what the SDK makes of it ----

def test_a_recording_is_written_down(client, upstream):
    made = client.audio.transcriptions.create(model="demo", file=("speech.wav", b"RIFF" * 10))
    assert made.text == "A recording of 40 bytes: speech.wav"
    (request,) = received(upstream, "/v1/audio/transcriptions")
    assert (request["body"]["file"]["filename"], request["body"]["file"]["bytes"]) == ("speech.wav", 40)
    assert "sk-end-to-end" not in str(request)


@pytest.mark.parametrize("response_format, begin", [
    ("text", "A recording"), ("srt", "1\n00:00:00,000"), ("vtt", "WEBVTT")])
def test_a_recording_is_written_down_in_any_format(client, response_format, begin):
    made = client.audio.transcriptions.create(
        model="demo", file=("speech.wav", b"RIFF"), response_format=response_format)
    assert made.startswith(begin)


def test_a_transcript_comes_as_events(client):
    with client.audio.transcriptions.create(model="demo", file=("a.wav", b"RIFF"), stream=True) as stream:
        events = list(stream)
    assert [event.type for event in events[:-1]] == ["transcript.text.delta"] * 6
    assert "".join(event.delta for event in events[:-1]) == events[-1].text == "A recording of 4 bytes: a.wav"


def test_a_recording_is_translated(client):
    assert client.audio.translations.create(model="demo", file=("a.wav", b"RI")).text == (
        "A recording of 2 bytes: a.wav")


def test_pictures_are_changed_whole_and_as_a_stream(client, upstream):
    made = client.images.edit(model="demo", image=[("a.png", PNG), ("b.png", PNG)], prompt="a hat", n=2)
    assert len(made.data) == 2
    events = list(client.images.edit(model="demo", image=("a.png", PNG), prompt="a hat", stream=True,
                                     partial_images=1))
    assert [event.type for event in events] == ["image_edit.partial_image", "image_edit.completed"]
    first, second = received(upstream, "/v1/images/edits")
    assert [image["bytes"] for image in first["body"]["image"]] == [len(PNG)] * 2
    assert second["body"]["prompt"] == "a hat" and second["body"]["stream"] is True


def test_a_picture_without_a_model_goes_to_the_one_of_openai(client, upstream):
    assert client.images.create_variation(image=("a.png", PNG)).data
    (request,) = received(upstream, "/v1/images/variations")
    assert "model" not in request["body"]


# ---- bytes ----

@each_path
def test_the_upstream_gets_the_bytes_of_the_client(server, http, upstream, path):
    body = whole(path, ("odd", b"\xff\r\n"), ("odd", b""))
    assert post(http, path, body).status_code == 200
    (request,) = received(upstream, path)
    assert request["headers"]["content-type"] == TYPE
    assert request["headers"]["content-length"] == str(len(body))
    assert request["body"]["sha256"] == hashlib.sha256(body).hexdigest()
    eventually(lambda: not spooled(server))


@each_path
def test_a_form_may_come_in_chunks(http, upstream, path):
    body = whole(path, file=PNG * 5000)

    def pieces():
        for at in range(0, len(body), 99_991):
            yield body[at:at + 99_991]

    assert post(http, path, pieces()).status_code == 200
    (request,) = received(upstream, path)
    assert request["body"]["sha256"] == hashlib.sha256(body).hexdigest()
    assert request["body"][PATHS[path]]["bytes"] == len(PNG) * 5000


def test_a_form_of_64_mib_is_passed_through_and_a_larger_one_is_not(server, http, upstream):
    path = "/v1/audio/transcriptions"
    room = (64 << 20) - len(whole(path, file=b""))
    before = memory_of(server)
    assert post(http, path, whole(path, file=bytes(room))).status_code == 200
    assert received(upstream, path)[0]["body"]["file"]["bytes"] == room
    assert memory_of(server) - before < 16 << 20
    answer = post(http, path, whole(path, file=bytes(room + 1)))
    assert error_of(answer) == (413, None, None, "The request body is larger than 67108864 bytes.")
    assert len(received(upstream, path)) == 1
    eventually(lambda: not spooled(server))


def memory_of(server):
    status = pathlib.Path(f"/proc/{server.process.child.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


def test_a_form_is_as_large_as_the_setting_says(start_server, http):
    small = start_server(max_form=2000).http()
    path = "/v1/audio/transcriptions"
    room = 2000 - len(whole(path, file=b""))
    assert post(small, path, whole(path, file=bytes(room))).status_code == 200
    chunked = iter([whole(path, file=bytes(room + 1))])
    assert post(small, path, whole(path, file=bytes(room + 1))).status_code == 413
    assert post(small, path, chunked).status_code == 413


def test_an_event_arrives_before_the_upstream_has_ended(http, upstream):
    path = "/v1/audio/transcriptions"
    upstream.script({"match": {"path": path},
                     "answer": {"events": ["{}", "{}"], "fault": {"kind": "stall", "after": 1}}})
    with http.stream("POST", path, content=whole(path, ("stream", b"true")), headers={"Content-Type": TYPE}) as answer:
        assert next(answer.iter_lines()) == "data: {}"
    eventually(lambda: received(upstream, path)[0]["state"] == "client_left")


# ---- errors ----

@each_path
def test_what_is_no_form_is_refused(http, path):
    answer = http.post(path, json={"model": "demo"})
    assert error_of(answer) == (415, None, None, "Invalid Content-Type header (application/json), expected "
                                "multipart/form-data.")
    parts = f"{NOT_PARSED}expected multipart/form-data that ends with its boundary."
    for body, content_type, message in [
            (b"x", "multipart/form-data", parts), (b"", TYPE, parts), (whole(path)[:-4], TYPE, parts),
            (b"nothing", TYPE, f"{NOT_PARSED}it does not begin with its boundary."),
            (whole(path) + b"more", TYPE, f"{NOT_PARSED}there is text behind its last boundary."),
            (b"--" + BOUNDARY.encode() + b"\r\nX: y\r\n\r\n", TYPE, f"{NOT_PARSED}a part has no name.")]:
        assert error_of(post(http, path, body, content_type)) == (400, None, None, message)


@each_path
def test_a_model_is_needed_once_and_must_exist(start_server, tmp_path, upstream, path):
    config = tmp_path / "upstreams.yaml"
    config.write_text(f"upstreams:\n  - {{name: one, url: '{upstream.url}', models: ['one-*']}}\n")
    server = start_server(config=config, upstream_url=None)
    http = server.http()
    missing = error_of(post(http, path, whole(path, model=None)))
    if "images" in path:
        assert missing[:3] == (404, None, "model_not_found") and "dall-e-2" in missing[3]
    else:
        assert missing == (400, "model", "missing_required_parameter", "Missing required parameter: 'model'.")
    assert error_of(post(http, path, whole(path))) == (
        404, None, "model_not_found", "The model `demo` does not exist or you do not have access to it.")
    assert error_of(post(http, path, whole(path, ("model", b"demo"))))[:3] == (400, "model", "invalid_value")
    assert error_of(post(http, path, whole(path, model=b"x" * 5000)))[:2] == (400, "model")
    assert received(upstream, path) == []
    assert post(http, path, whole(path, model=b"one-x")).status_code == 200
    eventually(lambda: not spooled(server))


@each_path
def test_a_key_is_needed(server, path):
    answer = httpx2.post(server.url + path, content=whole(path), headers={"Content-Type": TYPE})
    assert answer.status_code == 401


@each_path
def test_errors_of_the_upstream_are_passed_through(http, upstream, path):
    upstream.script({"match": {"path": path}, "answer": {"fault": {"kind": "status", "status": 429, "retry_after": 3}}})
    answer = post(http, path, whole(path))
    assert answer.status_code == 429 and answer.headers["retry-after"] == "3"
    assert answer.json()["error"]["code"] == "rate_limit_exceeded"


@each_path
def test_an_upstream_that_breaks_off_or_is_away_is_an_error(start_server, server, http, upstream, path):
    upstream.script({"match": {"path": path}, "answer": {"fault": {"kind": "cut"}}})
    assert error_of(post(http, path, whole(path)))[0] == 502
    with socket.socket() as taken:  # bound, and not listening
        taken.bind(("127.0.0.1", 0))
        away = start_server(upstream_url=f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
        answer = post(away.http(), path, whole(path, file=PNG * 1000))
    assert answer.status_code == 502 and answer.json()["error"]["type"] == "server_error"
    eventually(lambda: not spooled(server) + spooled(away))


def test_an_upstream_that_stays_silent_runs_into_its_deadline(start_server, upstream):
    upstream.script({"match": {"path": "/v1/*"}, "answer": {"fault": {"kind": "stall"}}})
    http = start_server(upstream_first_byte_timeout=0.2).http()
    for path in PATHS:
        answer = post(http, path, whole(path))
        assert answer.status_code == 504 and "0.2 s" in answer.json()["error"]["message"]


def test_a_full_disk_refuses_before_it_reads(start_server, upstream):
    path = "/v1/audio/transcriptions"
    server = start_server(wrapper=["env", "RUNNEL_FAULT=spool.look:1,spool.write:2"])
    http = server.http()
    full = (507, None, None, "The server has no disk space for this body.")
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
        client.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                       f"{server.settings['api_key']}\r\nContent-Type: {TYPE}\r\nContent-Length: 1000000\r\n"
                       "Expect: 100-continue\r\n\r\n".encode())
        assert b"HTTP/1.1 507" in client.recv(4096)
    assert error_of(post(http, path, whole(path, file=PNG * 1000))) == full  # in the middle
    assert received(upstream, path) == []
    eventually(lambda: not spooled(server))
    assert post(http, path, whole(path)).status_code == 200


def test_a_client_that_leaves_in_the_middle_leaves_nothing(server, http, upstream):
    path = "/v1/images/edits"
    body = whole(path, file=PNG * 1000)
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as client:
        client.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                       f"{server.settings['api_key']}\r\nContent-Type: {TYPE}\r\n"
                       f"Content-Length: {len(body)}\r\n\r\n".encode() + body[:5000])
        eventually(lambda: len(spooled(server)) == 1)
    eventually(lambda: not spooled(server))
    assert received(upstream, path) == []


def test_a_client_that_leaves_while_the_model_works_ends_the_request(server, http, upstream):
    path = "/v1/audio/translations"
    upstream.script({"match": {"path": path}, "answer": {"fault": {"kind": "stall"}}})
    with pytest.raises(httpx2.TimeoutException):
        http.post(path, content=whole(path), headers={"Content-Type": TYPE}, timeout=0.5)
    eventually(lambda: received(upstream, path)[0]["state"] == "client_left")
    eventually(lambda: not spooled(server))


def test_a_prompt_cannot_be_masked_and_is_not_sent(start_server, tmp_path, upstream):
    config = tmp_path / "masks.yaml"
    config.write_text("hooks:\n  before_send:\n    - {pattern: secret}\n")
    http = start_server(config=config).http()
    path = "/v1/images/edits"
    assert error_of(post(http, path, whole(path, ("prompt", b"a secret")))) == (
        400, "prompt", "unsupported_value",
        "The texts of requests go through masks here, and 'prompt' of a form cannot.")
    assert received(upstream, path) == []
    assert post(http, path, whole(path, ("prompt", b""))).status_code == 200
