"""Files that a chat names by their ids, on its way to an upstream that does not know them."""

import base64
import json
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx2
import openai
import pytest

from harness.patience import patience
from harness.raw_model import RawModel
from harness.server import eventually

PDF = b"%PDF-1.7\nnothing"
UNKNOWN = "file-" + "0" * 24
FOREIGN = "file-BK7bzQj3FfZFXr7DbL6xJwfo"


def upload(client, data=PDF, name="manual.pdf"):
    return client.files.create(file=(name, data), purpose="user_data").id


def part(file, **more):
    return {"type": "file", "file": {"file_id": file, **more}}


def chat(*parts):
    return {"model": "demo", "messages": [{"role": "system", "content": "Be brief."},
                                          {"role": "user", "content": list(parts)}]}


def sent(upstream):
    return upstream.chats()[-1]["messages"][-1]["content"]


def url(data, kind):
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


@pytest.mark.parametrize("stream", [False, True])
def test_a_file_reaches_the_upstream_with_its_bytes(http, client, upstream, stream):
    body = {**chat({"type": "text", "text": "What is it?"}, part(upload(client))), "stream": stream}
    answer = http.post("/v1/chat/completions", json=body)
    assert answer.status_code == 200, answer.text
    assert sent(upstream) == [{"type": "text", "text": "What is it?"}, {"type": "file", "file": {
        "filename": "manual.pdf", "file_data": url(PDF, "application/pdf")}}]


def test_all_other_bytes_stay_as_they_came(http, client, upstream):
    first, second = upload(client), upload(client, b"tea", "tea.txt")
    text = ('\n{ "temperature": 1.50, "model":"demo", "x": {"messages": [{"file": {"file_id": "%s"}}]},\n "messages" : [ '
            '{"role":"user", "content": [ {"file": {"file_id": "%s"}, "type": "file"},'
            '{"type":"text","text":"\\"file_id\\": \\"%s\\""}, {"type":"file","file":{"filename":"b","file_id":"%s"}} ]} ]}  ')
    answer = http.post("/v1/chat/completions", content=text % (first, first, second, second),
                       headers={"content-type": "application/json"})
    assert answer.status_code == 200, answer.text
    (request,) = [r for r in upstream.requests() if r["path"] == "/v1/chat/completions"]
    loaded = text.replace('{"file_id": "%s"}, "type"', json.dumps(
        {"filename": "manual.pdf", "file_data": url(PDF, "application/pdf")}, separators=(",", ":")) + ', "type"').replace(
        '{"filename":"b","file_id":"%s"}', json.dumps({"filename": "b", "file_data": url(b"tea", "text/plain")},
                                                      separators=(",", ":"))) % (first, second)
    assert request["body"] == json.loads(loaded)
    assert int(request["headers"]["content-length"]) == len(loaded)


def test_an_id_of_another_server_is_left_to_the_upstream(http, upstream):
    for file in ("file_abc", "assistant-7", FOREIGN):
        assert http.post("/v1/chat/completions", json=chat(part(file))).status_code == 200
        assert sent(upstream) == [part(file)]


def test_data_beside_an_id_is_left_to_the_upstream(http, client, upstream):
    given = part(upload(client), file_data="data:text/plain;base64,aGk=")
    assert http.post("/v1/chat/completions", json=chat(given)).status_code == 200
    assert sent(upstream) == [given]


def refused(call):
    with pytest.raises(openai.APIStatusError) as raised:
        call()
    return raised.value


def test_what_is_unknown_gone_or_of_another_project_is_not_found(client, upstream, stranger):
    gone, foreign = upload(client), upload(stranger)
    client.files.delete(gone)
    upstream.forget()
    for file in (gone, foreign):
        error = refused(lambda: client.chat.completions.create(**chat({"type": "text", "text": "Hi"}, part(file))))
        assert error.status_code == 404
        assert error.body == {"message": f"No such File object: {file}", "type": "invalid_request_error",
                              "param": "messages[1].content[1].file.file_id", "code": None}
    assert upstream.requests() == []


def test_files_have_limits(client, upstream):
    large = upload(client, b"x" * (26 << 20), "large.txt")
    upstream.forget()
    error = refused(lambda: client.chat.completions.create(**chat(part(large), part(large))))
    assert error.status_code == 400 and error.code == "invalid_value"
    assert error.param == "messages[1].content[1].file.file_id" and "52428800 bytes" in error.body["message"]
    small = upload(client, b"x", "small.txt")
    error = refused(lambda: client.chat.completions.create(**chat(*[part(small)] * 33)))
    assert error.body["message"] == "Too many files: a request may have 32." and error.param == "messages"
    assert upstream.requests() == []


def test_masks_see_the_texts_beside_a_file(start_server, upstream, tmp_path):
    config = tmp_path / "masks.yaml"
    config.write_text('hooks: {before_send: [{pattern: "secret", replacement: "[masked]"}]}\n')
    client = start_server(config=config).sdk()
    client.chat.completions.create(**chat({"type": "text", "text": "a secret"}, part(upload(client))))
    assert sent(upstream) == [{"type": "text", "text": "a [masked]"}, {"type": "file", "file": {
        "filename": "manual.pdf", "file_data": url(PDF, "application/pdf")}}]


def test_files_of_chats_wait_for_the_room_of_all_files(start_server):
    """It is held until the answer begins, and given back however the chat ends. The line before it has an end."""
    model, asked, go_on = RawModel(), threading.Semaphore(0), threading.Semaphore(0)

    def answer(_request):
        asked.release()
        assert go_on.acquire(timeout=patience(30))
        return [{"content": "A manual."}]

    data = PDF + b"x" * 2**20
    size = len(base64.b64encode(data))
    model.answers = [answer] * 4
    server = start_server(upstream_url=model.url, loaded_files=size + 1000, max_waiting_files=2, drain_timeout=0)
    file = upload(server.sdk(), data)

    def figure(name):
        with server.http() as http:
            return int(re.search(rf"^runnel_loaded_files_{name} (\d+)$", http.get("/metrics").text, re.M)[1])

    def ask():
        return httpx2.post(f"{server.url}/v1/chat/completions", json=chat(part(file)), timeout=patience(60),
                          headers={"authorization": f"Bearer {server.settings['api_key']}"})

    with ThreadPoolExecutor(3) as pool:
        made = [pool.submit(ask) for _ in range(3)]
        for left in (2, 1, 0):
            assert asked.acquire(timeout=patience(30))
            eventually(lambda: figure("waiting_bytes") // size, lambda waiting: waiting == left)
            assert size <= figure("bytes") <= size + 10 and len(model.chats) == 3 - left
            if left == 2:
                refusal = ask()
                assert (refusal.status_code, refusal.json()["error"]["code"]) == (429, "rate_limit_exceeded")
            go_on.release()
        assert [one.result().status_code for one in made] == [200] * 3
        eventually(lambda: figure("bytes"), lambda held: held == 0)

        # A server stops while one has the room and others wait for it.
        made = [pool.submit(ask) for _ in range(3)]
        assert asked.acquire(timeout=patience(30))
        eventually(lambda: figure("waiting_bytes") // size, lambda waiting: waiting == 2)
        begun = time.monotonic()
        assert server.stop() == 0 and time.monotonic() - begun < patience(8)
        go_on.release(4)
        assert len(model.chats) == 4 and all(one.exception() or one.result().status_code >= 500 for one in made)
    model.close()
