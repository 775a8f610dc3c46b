"""Failed responses of clients that wait: an HTTP error, whose header has the id of what is stored."""

import openai
import pytest

HEADER = "runnel-response-id"


def kept_failure(http, answer, base="/v1"):
    """What is stored of the response that this answer, an error, is about."""
    error = answer.json()["error"]
    kept = http.get(f"{base}/responses/{answer.headers[HEADER]}").json()
    assert kept["status"] == "failed" and kept["error"]["message"] == error["message"]
    if error["code"] == "model_not_found":  # which objects have another word for
        assert (kept["error"]["code"], kept["error"]["param"]) == ("invalid_prompt", error["param"])
    else:
        assert kept["error"]["code"] == error["code"]
    return kept


def failed_response(client, **body):
    """(the error, the stored response) of a create request that fails."""
    with pytest.raises(openai.APIStatusError) as raised:
        client.responses.create(**{"model": "demo", **body})
    kept = client.responses.retrieve(raised.value.response.headers[HEADER])
    assert kept.status == "failed"
    return raised.value, kept
