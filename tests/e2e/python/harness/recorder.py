"""Holds every answer that a test receives against openapi.yaml, and responses against Open Responses.

The recorder sits in the transport of every client, the SDK's included, so nothing passes it by:
JSON bodies, error envelopes, and each event of each stream.
"""

import json
import pathlib
import re
import urllib.parse

import httpx2
import yaml

from .open_responses import OpenResponses
from .schemas import Schemas

ROOT = pathlib.Path(__file__).resolve().parents[4]
CONTRACT = "urn:openapi"

# What test handlers add to the contract: {JSON pointer: what is added there}.
ADDITIONS = ROOT / "tests" / "support" / "handlers"


def add(document, additions):
    for pointer, added in additions.items():
        place = document
        for member in pointer.lstrip("/").split("/"):
            place = place[member]
        if isinstance(place, list):
            place.extend(added)
        else:
            assert not place.keys() & added.keys(), pointer
            place.update(added)


class Contract:
    def __init__(self, path):
        self.document = yaml.load(path.read_text(), yaml.CSafeLoader)
        for additions in sorted(ADDITIONS.glob("*.yaml")):
            add(self.document, yaml.load(additions.read_text(), yaml.CSafeLoader))
        self.schemas = Schemas(CONTRACT, self.document)
        self.absolute = {}  # {schema as text: with references from everywhere}
        self.operations = []  # (method, pattern, operation)
        for path, item in self.document["paths"].items():
            parts = [".+" if part == "{model}" else "[^/]+" if part[:1] == "{" else re.escape(part)
                     for part in re.split(r"(\{\w+\})", path)]
            pattern = re.compile("".join(parts) + "$")
            for method, operation in item.items():
                if method in ("get", "post", "delete"):
                    self.operations.append((method.upper(), pattern, operation))
        # /v1/threads/runs before /v1/threads/{thread_id}
        self.operations.sort(key=lambda entry: entry[1].pattern.count("[^/]+"))

    def find(self, method, path):
        for its_method, pattern, operation in self.operations:
            if its_method == method and pattern.match(path):
                return operation
        return None

    def resolve(self, node):
        while "$ref" in node:
            target = self.document
            for part in node["$ref"].lstrip("#/").split("/"):
                target = target[part]
            node = target
        return node

    def complaint(self, schema, value):
        """What is wrong with the value; None when nothing is."""
        text = json.dumps(schema)
        if text not in self.absolute:
            self.absolute[text] = json.loads(text.replace('"#/', f'"{CONTRACT}#/'))
        errors = self.schemas.errors(self.absolute[text], value)
        if not errors:
            return None
        error = describing(errors[0])
        where = "/".join(str(step) for step in error.absolute_path)
        return f"{schema.get('$ref', 'schema')}: at '{where}': {error.message[:800]}"


def describing(error):
    """The part of an error that says most: of alternatives, what is wrong with the one that the
    value's `type` (or `event`) asks for."""
    while error.context:
        branches = {}
        for inner in error.context:
            branches.setdefault(inner.schema_path[0], []).append(inner)
        meant = [errors for errors in branches.values() if not any(
            list(inner.relative_path) in (["type"], ["event"])
            for inner in errors)]
        error = (meant or list(branches.values()))[0][0]
    return error


def parse_events(text):
    """Events of a stream as (name, data), comments left out."""
    events = []
    for block in re.split(r"\r?\n\r?\n", text):
        name, data = None, []
        for line in block.splitlines():
            if line.startswith("event:"):
                name = line[6:].strip()
            elif line.startswith("data:"):
                data.append(line[5:].removeprefix(" "))
        if data:
            events.append((name, "\n".join(data)))
    return events


class Recorder:
    def __init__(self, path=ROOT / "openapi.yaml"):
        self.contract = Contract(path)
        self.open_responses = OpenResponses()
        self.called = set()  # operationIds that were answered with success
        self.complaints = []

    def transport(self):
        return Transport(self)

    def take_complaints(self):
        complaints, self.complaints = self.complaints, []
        return complaints

    def complain(self, request, text):
        self.complaints.append(f"{request.method} {request.url.path}: {text}")

    def check_head(self, request, response):
        if not response.headers.get("x-request-id", "").startswith("req_"):
            self.complain(request, "no x-request-id")

    def schema(self, request, response, operation):
        kind = response.headers.get("content-type", "").split(";")[0]
        named = operation["responses"].get(str(response.status_code)) if operation else None
        if named is None and response.status_code >= 400:
            answer = {"$ref": "#/components/responses/Error"}
        elif operation is None:
            self.complain(request, f"answered {response.status_code}, but is not in the contract")
            return None
        else:
            answer = named
        if answer is None:
            self.complain(request, f"status {response.status_code} is not in the contract")
            return None
        content = self.contract.resolve(answer).get("content", {})
        if f"{kind.split('/')[0]}/*" in content:
            kind = f"{kind.split('/')[0]}/*"
        if kind not in content:
            self.complain(request, f"content type '{kind}' is not in the contract")
            return None
        return content[kind]["schema"]

    def operation(self, request):
        path = urllib.parse.unquote(request.url.raw_path.decode().split("?")[0])
        return self.contract.find(request.method, path)

    def check(self, request, response, body):
        """Checks a complete answer."""
        operation = self.operation(request)
        if operation is not None and response.status_code < 300:
            self.called.add(operation["operationId"])
        self.check_head(request, response)
        schema = self.schema(request, response, operation)
        if schema is None:
            return
        if "event-stream" in response.headers["content-type"]:
            self.check_stream(request, schema, body.decode())
        elif "json" in response.headers["content-type"]:
            self.check_json(request, schema, body)

    def check_json(self, request, schema, body):
        try:
            value = json.loads(body)
        except ValueError as problem:
            self.complain(request, f"not JSON: {problem}")
            return
        complaint = self.contract.complaint(schema, value)
        if not complaint and isinstance(value, dict) and value.get("object") == "response":
            complaint = self.open_responses.response_complaint(value)
        if complaint:
            self.complain(request, f"{complaint}\n    in {body.decode()[:2000]}")

    def check_stream(self, request, schema, text):
        named = schema["$ref"].endswith("AssistantStreamEvent")
        for name, data in parse_events(text):
            if data == "[DONE]" and not named:
                continue
            value = data if data == "[DONE]" else json.loads(data)
            if not named and name is not None and name != value.get("type"):
                self.complain(request, f"event is named {name}, but is a {value.get('type')}")
            if named:
                value = {"event": name, "data": value}
            complaint = self.contract.complaint(schema, value)
            if not complaint and schema["$ref"].endswith("ResponseStreamEvent"):
                complaint = self.open_responses.event_complaint(value)
            if complaint:
                self.complain(request, f"event {name}: {complaint}\n    in {data[:2000]}")

    def operations(self):
        """The operationIds of the contract."""
        return {operation["operationId"] for _, _, operation in self.contract.operations}


class Transport(httpx2.BaseTransport):
    def __init__(self, recorder):
        self.recorder = recorder
        # No server here speaks TLS, and loading its authorities for every client was most of a test's time.
        self.inner = httpx2.HTTPTransport(verify=False)

    def handle_request(self, request):
        response = self.inner.handle_request(request)
        response.stream = Tee(response.stream, lambda body: self.recorder.check(request, response,
                                                                                body))
        return response

    def close(self):
        self.inner.close()


class Tee(httpx2.SyncByteStream):
    """Passes the bytes on, and checks them at the end. A stream that the test stopped reading is not
    checked: its last event may be incomplete."""

    def __init__(self, stream, done):
        self.stream = stream
        self.done = done
        self.parts = []

    def __iter__(self):
        for part in self.stream:
            self.parts.append(part)
            # The SDKs stop reading at [DONE], before the end of the body.
            if b"data: [DONE]\n\n" in b"".join(self.parts[-2:]):
                self.finish()
            yield part
        self.finish()

    def finish(self):
        if self.done:
            done, self.done = self.done, None
            done(b"".join(self.parts))

    def close(self):
        self.stream.close()
