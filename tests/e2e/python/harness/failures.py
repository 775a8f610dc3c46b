"""Failed responses of clients that wait: an HTTP error, whose header has the id of what is stored."""

import openai
import pytest

HEADER = "runnel-response-id"


def failed_response(client, **body):
    """(the error, the stored response) of a create request that fails."""
    with pytest.raises(openai.APIStatusError) as raised:
        client.responses.create(**{"model": "demo", **body})
    kept = client.responses.retrieve(raised.value.response.headers[HEADER])
    assert kept.status == "failed"
    return raised.value, kept
