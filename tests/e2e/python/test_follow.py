"""Streams that are joined again: from the log, live, and after a restart."""

import json
import threading

import pytest

from harness.tools import PARIS, WEATHER, WEATHER_RULES

WORDS = " ".join(f"word{n}" for n in range(30))


def frames(text):
    """The events of a stream as they are on the wire, without comments and the end."""
    return [part for part in text.split("\n\n") if part and not part.startswith(":")
            and "[DONE]" not in part]


@pytest.fixture
def background(http):
    """A background response that was streamed to its end: (id, frames)."""
    def start(**body):
        answer = http.post("/v1/responses", json={"model": "demo", "input": "go", "stream": True,
                                                  "background": True, **body})
        received = frames(answer.text)
        return json.loads(received[0].split("data: ", 1)[1])["response"]["id"], received
    return start


def follow(http, response_id, **query):
    answer = http.get(f"/v1/responses/{response_id}", params={"stream": "true", **query})
    assert answer.status_code == 200, answer.text
    assert answer.text.endswith("data: [DONE]\n\n")
    return frames(answer.text)


def test_every_cut_of_a_stream_is_continued_to_the_byte(http, background, upstream):
    upstream.answer(text="one two three four", split="word")
    response_id, received = background()
    assert follow(http, response_id) == received
    for seen in range(len(received)):
        assert follow(http, response_id, starting_after=seen) == received[seen + 1:]


def test_followers_join_while_the_model_writes(server, http, upstream):
    upstream.answer(text=WORDS, split="word", piece_delay_ms=15)
    received, followed, listeners = "", {}, []

    def listen(response_id, after):
        followed[after] = follow(server.http(), response_id, starting_after=after)

    with http.stream("POST", "/v1/responses", json={
            "model": "demo", "input": "go", "stream": True, "background": True}) as answer:
        for piece in answer.iter_text():
            received += piece
            count = len(frames(received.rsplit("\n\n", 1)[0]))
            if count >= 1 + 4 * len(listeners) and len(listeners) < 6:
                first = json.loads(received.split("data: ", 1)[1].split("\n", 1)[0])
                listeners.append(threading.Thread(
                    target=listen, args=(first["response"]["id"], 3 * len(listeners) - 1)))
                listeners[-1].start()
    for listener in listeners:
        listener.join()
    assert len(followed) == 6
    for after, got in followed.items():
        assert got == frames(received)[after + 1:]


def test_a_stream_that_cannot_be_followed_says_why(http, client, upstream):
    foreground = client.responses.create(model="demo", input="go")
    silent = client.responses.create(model="demo", input="go", background=True)
    for made, why in [(foreground, "background=true."),
                      (silent, "stream=true or the stream TTL has expired.")]:
        answer = http.get(f"/v1/responses/{made.id}", params={"stream": "true"})
        assert answer.status_code == 400
        assert answer.json()["error"]["message"] == (
            f"This response cannot be streamed because it was not created with {why}")
        assert answer.json()["error"]["param"] == "stream"


@pytest.mark.parametrize("number", ["x", "1.5", "-2", "99999999999999999999"])
def test_invalid_sequence_numbers_are_refused(http, background, number):
    response_id, _ = background()
    answer = http.get(f"/v1/responses/{response_id}",
                      params={"stream": "true", "starting_after": number})
    assert answer.status_code == 400 and answer.json()["error"]["param"] == "starting_after"


# ---- Runs ----

def numbered(text):
    events = []
    for frame in frames(text):
        first, rest = frame.split("\n", 1)
        assert first.startswith("id: ")
        events.append((int(first[4:]), rest))
    return events


def test_a_run_is_followed_over_all_its_streams(http, client, upstream):
    """Through requires_action and the answers, numbered from 0 without gaps, until the end."""
    upstream.script(*WEATHER_RULES)
    assistant = client.beta.assistants.create(model="demo", tools=[WEATHER])
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "weather?"}])
    started = http.post(f"/v1/threads/{thread.id}/runs",
                        json={"assistant_id": assistant.id, "stream": True})
    first = frames(started.text)
    run = json.loads(first[0].split("data: ", 1)[1])
    url = f"/v1/threads/{thread.id}/runs/{run['id']}/events"
    followed = {}
    listener = threading.Thread(target=lambda: followed.update(text=http.get(url).text))
    listener.start()
    submitted = http.post(f"/v1/threads/{thread.id}/runs/{run['id']}/submit_tool_outputs",
                          json={"stream": True, "tool_outputs": [
                              {"tool_call_id": PARIS["id"], "output": "sunny"}]})
    second = frames(submitted.text)
    listener.join()
    assert followed["text"].endswith("event: done\ndata: [DONE]\n\n")
    assert numbered(followed["text"]) == list(enumerate([*first, *second]))
    middle = http.get(url, params={"starting_after": 3}).text
    assert numbered(middle) == list(enumerate([*first, *second]))[4:]
    again = http.get(url, headers={"Last-Event-ID": "3"}).text
    assert again == middle


def test_following_an_unknown_run_is_not_found(http, client):
    thread = client.beta.threads.create()
    answer = http.get(f"/v1/threads/{thread.id}/runs/run_nope/events")
    assert answer.status_code == 404


@pytest.mark.slow
def test_a_stream_is_continued_after_the_server_was_killed(start_server, upstream):
    upstream.answer(text=WORDS, split="word", piece_delay_ms=30)
    server = start_server(lease_ttl=1)
    http = server.http()
    seen = ""
    with http.stream("POST", "/v1/responses", json={
            "model": "demo", "input": "go", "stream": True, "background": True}) as answer:
        for piece in answer.iter_text():
            seen += piece
            if seen.count("output_text.delta\n") >= 5:
                break
    before = frames(seen)
    response_id = json.loads(before[0].split("data: ", 1)[1])["response"]["id"]
    server.kill()
    server.start()
    http = server.http()
    rest = follow(http, response_id, starting_after=len(before) - 1)
    whole = follow(http, response_id)
    assert whole[:len(before)] == before and whole == [*before, *rest]
    numbers = [json.loads(frame.split("data: ", 1)[1])["sequence_number"] for frame in whole]
    assert numbers == list(range(len(whole)))
    last = json.loads(whole[-1].split("data: ", 1)[1])
    assert last["type"] == "response.completed"
    [item] = last["response"]["output"]
    assert (item["content"][0]["text"], item["status"]) == (WORDS, "completed")
    assert [json.loads(frame.split("data: ", 1)[1])["item"]["status"] for frame in whole
            if frame.startswith("event: response.output_item.done")] == ["incomplete", "completed"]
