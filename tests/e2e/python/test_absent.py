"""Operations of OpenAI's API without an endpoint here are refused as such, and not as typing errors. The SDK is generated
from OpenAI's specification, so its sources have the list."""

import pathlib
import re

import pytest

SDK = pathlib.Path(__file__).resolve().parents[1] / "node" / "node_modules" / "openai" / "resources"
CALL = re.compile(r"""_client\s*\.(get|post|put|patch|delete|getAPIList)\(\s*(?:path\s*)?([`'])(/.*?)\2([^;]*);""")
# In the specification, and not in the SDK's list of calls.
OTHERS = {("GET", "/v1/realtime"), ("GET", "/v1/live"), ("POST", "/v1/embeddings")}


def operations_of_openai():
    found = set(OTHERS)
    for file in SDK.rglob("*.mjs"):
        for verb, _, path, options in CALL.findall(file.read_text()):
            method = verb.upper()
            if verb == "getAPIList":
                method = "POST" if "method: 'post'" in options else "GET"
            found.add((method, "/v1" + re.sub(r"\$\{.*?\}", "a", path).split("?")[0]))
    return sorted(found)


def served(recorder):
    """(method, pattern) of openapi.yaml."""
    return [(method.upper(), re.compile(re.sub(r"\{[^}]*\}", "[^/]+", path)))
            for path, item in recorder.contract.document["paths"].items() for method in item]


def absent(answer, method, path):
    assert answer.status_code == 404, answer.text
    assert answer.json() == {"error": {"message": f"This server does not offer {method} {path}.",
                                       "type": "invalid_request_error", "param": None, "code": None}}


def test_every_operation_of_openai_is_served_or_refused_as_such(http, recorder):
    operations = operations_of_openai()
    offered = served(recorder)
    assert len(operations) > 350
    refused = 0
    for method, path in operations:
        if any(verb == method and pattern.fullmatch(path) for verb, pattern in offered):
            continue
        refused += 1
        body = {"json": {}} if method == "POST" else {}
        absent(http.request(method, path, **body), method, path)
    assert refused > 100


@pytest.mark.parametrize("method, path", [("POST", "/v1/batches"), ("DELETE", "/v1/models/a"),
                                          ("GET", "/v1/videos/a/not/yet/known")])
def test_the_query_is_no_part_of_the_sentence(http, method, path):
    absent(http.request(method, f"{path}?limit=5"), method, path)


def test_a_file_for_an_absent_endpoint_is_answered_at_once(http):
    answer = http.post("/v1/videos/a/files", files={"file": ("a.bin", b"x" * 1_000_000)})
    absent(answer, "POST", "/v1/videos/a/files")


@pytest.mark.parametrize("method, path", [("POST", "/v1/filesystem"), ("GET", "/v2/files"), ("GET", "/files"),
                                          ("GET", "/v1/models/a/b"), ("POST", "/v1/responses/a/b")])
def test_other_paths_are_typing_errors_as_before(http, method, path):
    answer = http.request(method, path)
    assert "does not offer" not in answer.text and answer.status_code in (404, 405)


def test_other_methods_of_served_paths_are_still_not_allowed(http):
    for method, path in (("PUT", "/v1/models/a"), ("DELETE", "/v1/chat/completions"), ("PUT", "/v1/skills/a")):
        assert http.request(method, path).status_code == 405
