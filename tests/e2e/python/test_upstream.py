"""The scripted upstream over HTTP, alone: what the unit test of its answers cannot see."""

import asyncio
import json
import signal
import socket
import time

import httpx2
import openai
import pytest

from harness.patience import patience
from harness.process import Process, free_port
from harness.server import eventually

ASK = {"model": "demo", "messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture
def sdk(upstream):
    return openai.OpenAI(base_url=upstream.url, api_key="sk-x", max_retries=0, timeout=patience(30),
                         _strict_response_validation=True)


def stream(sdk, **more):
    return list(sdk.chat.completions.create(**ASK, stream=True, **more))


def state_of_last(upstream):
    return upstream.requests()[-1]["state"]


def test_the_sdk_reads_json_answers(upstream, sdk):
    upstream.answer(text="It is sunny.", usage={"prompt_tokens": 1, "completion_tokens": 2,
                                                "total_tokens": 3})
    completion = sdk.chat.completions.create(**ASK)
    assert completion.choices[0].message.content == "It is sunny."
    assert completion.choices[0].finish_reason == "stop"
    assert completion.usage.total_tokens == 3
    assert completion.model == "demo"


def test_the_sdk_reads_streams(upstream, sdk):
    upstream.answer(text="It is sunny.", dialect=["crlf", "multi_line", "comments"])
    chunks = stream(sdk, stream_options={"include_usage": True})
    texts = [c.choices[0].delta.content for c in chunks if c.choices]
    assert texts == ["", "It", " is", " sunny.", None]
    assert chunks[-1].usage.completion_tokens == 3
    assert not chunks[-1].choices


def test_the_sdk_reads_tool_calls(upstream, sdk):
    upstream.answer(tool_calls=[{"name": "f", "id": "call_1", "arguments": {"city": "Paris"}}])
    calls = [c.choices[0].delta.tool_calls[0] for c in stream(sdk) if c.choices[0].delta.tool_calls]
    assert calls[0].id == "call_1" and calls[0].function.name == "f"
    assert json.loads("".join(c.function.arguments for c in calls)) == {"city": "Paris"}


def test_the_script_also_answers_the_responses_api(upstream, sdk):
    upstream.answer(summary=["Thinking."], text="It is sunny.",
                    tool_calls=[{"name": "f", "id": "call_1", "arguments": {"city": "Paris"}}])
    with sdk.responses.stream(model="demo", input="hi") as stream:
        text = "".join(e.delta for e in stream if e.type == "response.output_text.delta")
        final = stream.get_final_response()
    assert text == final.output_text == "It is sunny."
    reasoning, _, call = final.output
    assert reasoning.summary[0].text == "Thinking."
    assert (call.call_id, call.arguments) == ("call_1", '{"city":"Paris"}')
    assert final.usage.output_tokens > 0


def test_the_models_of_the_script_are_listed(upstream, sdk):
    upstream.script(models=["a", "b/c"])
    assert [model.id for model in sdk.models.list()] == ["a", "b/c"]


def test_statuses_raise_in_the_sdk(upstream, sdk):
    upstream.answer(fault={"kind": "status", "status": 429, "retry_after": 7})
    with pytest.raises(openai.RateLimitError) as caught:
        sdk.chat.completions.create(**ASK)
    assert caught.value.code == "rate_limit_exceeded"
    assert caught.value.response.headers["retry-after"] == "7"


def test_errors_within_a_stream_raise_in_the_sdk(upstream, sdk):
    upstream.answer(text="a b", fault={"kind": "error", "after": 1, "error": {"message": "no"}})
    with pytest.raises(openai.APIError, match="no"):
        stream(sdk)


def test_a_cut_breaks_the_connection(upstream, sdk):
    upstream.answer(text="a b c", fault={"kind": "cut", "after": 2})
    seen = []
    with pytest.raises((httpx2.RemoteProtocolError, openai.APIConnectionError)):
        for chunk in sdk.chat.completions.create(**ASK, stream=True):
            seen.append(chunk.choices[0].delta.content)
    assert seen == ["", "a", " b"]
    assert eventually(lambda: state_of_last(upstream), lambda state: state != "open") == "cut"


def test_a_cut_before_the_first_byte_sends_nothing(upstream, sdk):
    upstream.answer(fault={"kind": "cut"})
    with pytest.raises(openai.APIConnectionError):
        sdk.chat.completions.create(**ASK)


def test_a_stall_lasts_until_the_client_leaves(upstream):
    upstream.answer(fault={"kind": "stall"})
    with socket.create_connection(("127.0.0.1", upstream.port)) as client:
        body = json.dumps(ASK).encode()
        client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
                       % len(body) + body)
        eventually(lambda: upstream.requests(), len)
        client.settimeout(0.3)
        with pytest.raises(TimeoutError):
            client.recv(1)
        assert state_of_last(upstream) == "open"
    assert eventually(lambda: state_of_last(upstream), lambda s: s != "open") == "client_left"


def test_a_client_that_leaves_a_stream_is_noticed(upstream, sdk):
    upstream.answer(text="a b c", piece_delay_ms=3600000)
    answer = sdk.chat.completions.create(**ASK, stream=True)
    next(iter(answer))
    answer.close()
    sdk.close()
    assert eventually(lambda: state_of_last(upstream), lambda s: s != "open") == "client_left"


def test_delays_of_the_script_are_kept(upstream, sdk):
    upstream.answer(text="a b c", delay_ms=100, piece_delay_ms=50)
    began = time.monotonic()
    arrived = [time.monotonic() - began for chunk in
               sdk.chat.completions.create(**ASK, stream=True)]
    assert arrived[0] >= 0.1
    assert arrived[3] >= 0.2


def test_requests_are_recorded_without_the_key(upstream, sdk):
    upstream.script({"name": "one", "answer": {"text": "1"}})
    sdk.chat.completions.create(**ASK)
    (record,) = upstream.requests()
    assert record["method"] == "POST" and record["path"] == "/v1/chat/completions"
    assert record["body"]["messages"] == ASK["messages"]
    assert record["headers"]["authorization"] == "(hidden)"
    assert record["rule"] == "one"
    upstream.forget()
    assert upstream.requests() == []


def test_a_key_is_required_when_the_script_says_so(upstream, sdk):
    upstream.script({"answer": {"text": "1"}}, api_key="sk-other")
    with pytest.raises(openai.AuthenticationError):
        sdk.chat.completions.create(**ASK)
    assert sdk.with_options(api_key="sk-other").chat.completions.create(**ASK)


def test_a_request_without_a_matching_rule_is_an_error(upstream, sdk):
    upstream.script({"match": {"user": "something else"}})
    with pytest.raises(openai.BadRequestError) as caught:
        sdk.chat.completions.create(**ASK)
    assert caught.value.code == "no_rule_fits"


def test_an_invalid_script_is_refused_and_the_old_one_is_kept(upstream, sdk):
    upstream.answer(text="old")
    answer = upstream.control.post("/__script", content="rules: [{anser: {}}]")
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith("rules[0].anser: unknown key")
    assert sdk.chat.completions.create(**ASK).choices[0].message.content == "old"


@pytest.mark.parametrize("arguments, message", [
    (["--script", "/nonexistent"], "cannot read /nonexistent"),
    (["--listen", "nowhere"], "listen: expected address:port, not 'nowhere'"),
    (["--listen", "127.0.0.1:99999"], "listen: expected address:port, not '127.0.0.1:99999'"),
    (["--listen", "::1:9000"], "listen: write an IPv6 address as [address]:port"),
    (["--what"], "usage:"),
    (["word"], "usage:"),
])
def test_wrong_arguments_are_refused(binary, tmp_path, arguments, message):
    process = Process([binary, "upstream", *arguments], tmp_path / "log")
    assert process.child.wait(20) == 2
    assert message in process.errors()


def test_an_address_in_use_is_reported(binary, tmp_path, upstream):
    process = Process([binary, "upstream", "--listen", f"127.0.0.1:{upstream.port}"],
                      tmp_path / "log")
    assert process.child.wait(20) == 1
    assert "Address already in use" in process.errors()


@pytest.mark.threads
def test_the_fake_model_stops_while_clients_wait(binary, tmp_path):
    script = tmp_path / "script.yaml"
    script.write_text("rules: [{answer: {fault: {kind: stall, after: 0}}}]")
    port = free_port()
    process = Process([binary, "upstream", "--script", script, "--listen", f"127.0.0.1:{port}"],
                      tmp_path / "log")
    url = process.read_until(lambda line: line.startswith("http"))
    assert url == f"http://127.0.0.1:{port}/v1"
    clients = [httpx2.Client(timeout=patience(30)) for _ in range(5)]
    for client in clients:
        request = client.build_request("POST", f"{url}/chat/completions",
                                       json={**ASK, "stream": True})
        assert client.send(request, stream=True).status_code == 200
    process.signal(signal.SIGTERM)
    assert process.child.wait(20) == 0
    for client in clients:
        client.close()


async def read_stream(port, number):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps({**ASK, "stream": True}).encode()
    writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
                 % len(body) + body)
    answer = b""
    while not answer.endswith(b"0\r\n\r\n"):
        part = await reader.read(65536)
        assert part, f"stream {number} broke"
        answer += part
    writer.close()
    return answer.count(b'"content":"tok"')


@pytest.mark.slow
def test_a_thousand_streams_at_once(upstream):
    upstream.answer(text="tok", repeat=20, piece_delay_ms=100)

    async def all_streams():
        return await asyncio.gather(*(read_stream(upstream.port, i) for i in range(1000)))

    assert set(asyncio.run(all_streams())) == {20}
    assert len(upstream.requests()) == 500
