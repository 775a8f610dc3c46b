"""A client for thousands of requests: one connection, nothing between the test and the wire.

Answers are held against openapi.yaml, too, but every shape of them only once: ten thousand requests have
the same few hundred shapes again and again.
"""

import http.client
import json
import re
from types import SimpleNamespace

from .patience import patience
from .recorder import parse_events

ID = re.compile(r"(?<=/)[a-z]+_[A-Za-z0-9]+")


class Answer:
    def __init__(self, status, headers, data):
        self.status, self.headers, self.data = status, headers, data

    @property
    def text(self):
        return self.data.decode()

    def json(self):
        return json.loads(self.data)


class PlainClient:
    def __init__(self, server, key=None, recorder=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=patience(60))
        self.headers = {"Authorization": f"Bearer {key or server.settings['api_key']}",
                        "Content-Type": "application/json"}
        self.recorder = recorder or server.recorder
        self.shapes = set()
        self.count = 0

    def ask(self, method, path, body=None):
        self.count += 1
        self.connection.request(method, f"/v1{path}",
                                None if body is None else json.dumps(body), self.headers)
        response = self.connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        answer = Answer(response.status, headers, response.read())
        self.check(method, f"/v1{path}", answer)
        return answer

    def check(self, method, path, answer):
        """Checks an answer against the contract, if its shape is new."""
        kind = answer.headers.get("content-type", "")
        path = path.split("?")[0]
        where = (method, ID.sub("*", path), answer.status, kind)
        data = self.new_events(where, answer.text) if "stream" in kind else \
            self.new_json(where, answer.json())
        if data is None:
            return
        self.recorder.check(
            SimpleNamespace(method=method, url=SimpleNamespace(path=path, raw_path=path.encode())),
            SimpleNamespace(status_code=answer.status, headers=answer.headers), data.encode())

    def is_new(self, *key):
        new = key not in self.shapes
        self.shapes.add(key)
        return new

    def new_events(self, where, text):
        new = [f"event: {name}\ndata: {data}\n\n" for name, data in parse_events(text)
               if self.is_new(where, name, data if data == "[DONE]" else shape(json.loads(data)))]
        return "".join(new) if new else None

    def new_json(self, where, value):
        """The objects of a list whose shapes are new."""
        if value.get("object") == "list":
            value["data"] = [entry for entry in value["data"] if self.is_new(where, shape(entry))]
            if value["data"]:
                return json.dumps(value)
        return json.dumps(value) if self.is_new(where, shape(value)) else None

    def close(self):
        self.connection.close()


TOLD_APART = ("object", "type", "status", "role", "reason", "code", "detail")


def shape(value, key=""):
    """What a schema distinguishes: the values of some keys, and the types of the others."""
    if isinstance(value, dict) and key != "metadata":
        return tuple((name, shape(value[name], name)) for name in value)
    if isinstance(value, list):
        return frozenset(map(shape, value))
    if isinstance(value, str) and key in TOLD_APART:
        return value
    return type(value)
