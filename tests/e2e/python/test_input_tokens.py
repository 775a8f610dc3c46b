"""What a request costs in tokens: estimated, or counted with a rank file."""

import json
import subprocess

import openai
import pytest

from harness.patience import patience
from harness.ranks import rank_file
from harness.tools import WEATHER_FLAT

MESSAGE = 4  # what a message costs besides its words
ANSWER = 2
IMAGE = {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "low"}


@pytest.fixture
def count(client):
    def count(**body):
        answer = client.responses.input_tokens.count(**body)
        assert answer.object == "response.input_tokens"
        return answer.input_tokens
    return count


def write_config(path, **upstream):
    path.write_text(json.dumps({"upstreams": [{"name": "main", **upstream}]}))
    return path


@pytest.fixture
def counting(start_server, upstream, tmp_path):
    """A server that knows its model's tokenizer."""
    ranks = rank_file(tmp_path / "cl100k_small.tiktoken")
    config = write_config(tmp_path / "runnel.yaml", url=upstream.url, tokenizer=str(ranks))
    return start_server(upstream_url=None, config=config).sdk().responses


def test_tokens_are_estimated_without_a_rank_file(count):
    assert count(model="demo", input="x" * 400) == 100 + MESSAGE + ANSWER
    assert count(input="x" * 400) == 100 + MESSAGE + ANSWER
    assert count(model="demo", input="你好" * 50) == 100 + MESSAGE + ANSWER


def test_tokens_are_counted_with_a_rank_file(counting):
    def count(text):
        return counting.input_tokens.count(model="demo", input=text).input_tokens

    assert count("hello there") == 2 + MESSAGE + ANSWER
    assert count("hello hello") == 3 + MESSAGE + ANSWER  # hello, a blank, hello
    assert count("hello there " * 1000) == 2 + 3 * 999 + 1 + MESSAGE + ANSWER
    assert count("q" * 1000) == 1000 + MESSAGE + ANSWER


def test_everything_that_is_sent_is_counted(count):
    plain = count(input="Hi")
    assert count(input="Hi", instructions="x" * 40) == plain + 10 + MESSAGE
    assert count(input=[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]) \
        == plain + 1 + MESSAGE
    assert count(input=[{"role": "user", "content": [
        {"type": "input_text", "text": "Hi"}, IMAGE]}]) > plain + 50
    assert count(input="Hi", tools=[WEATHER_FLAT]) > plain + 20
    assert count(input="Hi", text={"format": {
        "type": "json_schema", "name": "x", "strict": False,
        "schema": {"type": "object", "properties": {"a": {"type": "string"}}}}}) > plain + 10


def test_the_history_is_counted(client, count):
    first = client.responses.create(model="demo", input="y" * 400)
    plain = count(input="Hi")
    # The default answer has 23 letters.
    assert count(input="Hi", previous_response_id=first.id) == plain + 100 + MESSAGE + 6 + MESSAGE
    conversation = client.conversations.create(
        items=[{"type": "message", "role": "user", "content": "z" * 400}])
    assert count(input="Hi", conversation=conversation.id) == plain + 100 + MESSAGE
    assert count(conversation=conversation.id) == plain + 100 - 1
    assert len(client.conversations.items.list(conversation.id).data) == 1


def test_nothing_is_sent_or_kept(count, upstream):
    count(model="demo", input="Hi", tools=[WEATHER_FLAT])
    assert upstream.requests() == []


CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}


@pytest.mark.parametrize("body,status,message,param,code", [
    ({}, 400, 'One of "input" or "previous_response_id" or \'prompt\' or \'conversation\' must be '
     "provided.", None, "missing_required_parameter"),
    ({"model": 1, "input": "Hi"}, 400,
     "Invalid type for 'model': expected a string, but got an integer instead.", "model",
     "invalid_type"),
    ({"model": "demo", "input": 1}, 400,
     "Invalid type for 'input': expected one of a string or an array of objects, but got an "
     "integer instead.", "input", "invalid_type"),
    ({"input": "Hi", "truncation": "bogus"}, 400,
     "Invalid value: 'bogus'. Supported values are: 'auto' and 'disabled'.", "truncation",
     "invalid_value"),
    ({"input": "Hi", "personality": "x" * 65}, 400,
     "Invalid 'personality': string too long. Expected a string with maximum length 64, but got a "
     "string with length 65 instead.", "personality", "string_above_max_length"),
    ({"input": "Hi", "previous_response_id": "resp_000000000000000000000000"}, 400,
     "Previous response with id 'resp_000000000000000000000000' not found.",
     "previous_response_id", "previous_response_not_found"),
    ({"input": "Hi", "conversation": "conv_000000000000000000000000"}, 404,
     "Conversation with id 'conv_000000000000000000000000' not found.", None, None),
    ({"input": [CALL]}, 400, "No tool output found for function call c1.", "input", None),
])
def test_bad_parameters_are_refused(http, body, status, message, param, code):
    answer = http.post("/v1/responses/input_tokens", json=body)
    assert answer.status_code == status, answer.text
    assert answer.json() == {"error": {"message": message, "type": "invalid_request_error",
                                       "param": param, "code": code}}


def test_an_unknown_model_is_refused(start_server, upstream, tmp_path):
    config = write_config(tmp_path / "runnel.yaml", url=upstream.url, models=["demo"])
    responses = start_server(upstream_url=None, config=config).sdk().responses
    assert responses.input_tokens.count(input="Hi").input_tokens
    with pytest.raises(openai.BadRequestError) as caught:
        responses.input_tokens.count(model="gone", input="Hi")
    assert caught.value.body["message"] == "The requested model 'gone' does not exist."
    assert (caught.value.body["code"], caught.value.body["param"]) == ("model_not_found", "model")


@pytest.mark.parametrize("upstream_keys,complaint", [
    ({"tokenizer": "/nowhere/cl100k.tiktoken"},
     "the tokenizer of upstream main: cannot open /nowhere/cl100k.tiktoken"),
    ({"context_tokens": "many"}, "upstreams[0].context_tokens: expected a number of tokens"),
    ({"context_tokens": 0}, "upstreams[0].context_tokens: expected a number of tokens"),
])
def test_a_wrong_configuration_is_refused(binary, tmp_path, upstream_keys, complaint):
    config = write_config(tmp_path / "runnel.yaml", url="http://127.0.0.1:9/v1", **upstream_keys)
    ended = subprocess.run([binary, "serve", "--config", config], capture_output=True, text=True,
                           timeout=patience(60))
    assert ended.returncode == 2
    assert complaint in ended.stderr
