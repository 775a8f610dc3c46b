"""The scripted upstream as a process, with the functions that tests need."""

import json
import re

import httpx2

from .patience import patience
from .process import Process, free_port


PAIR = re.compile(r"(?<!\\)((?:\\\\)*)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})")


def as_yaml(value):
    """JSON, which YAML reads as well, but for characters that JSON writes as two escapes."""
    def joined(pair):
        return pair[1] + f"\\U{0x10000 + ((int(pair[2], 16) & 0x3ff) << 10) + (int(pair[3], 16) & 0x3ff):08x}"
    return PAIR.sub(joined, json.dumps(value))


class Upstream:
    def __init__(self, binary, log_path, script=None):
        self.port = free_port()
        self.process = Process([binary, "upstream", "--listen", f"127.0.0.1:{self.port}"],
                               log_path)
        self.url = self.process.read_until(lambda line: line.startswith("http"))
        self.process.drain_output()
        self.control = httpx2.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=patience(30), verify=False)
        if script:
            self.script(script)

    def script(self, *rules, **top):
        """Replaces the script. A rule is {"match": ..., "answer": ...}."""
        text = as_yaml({"models": ["demo", "native", "other/model"], **top, "rules": list(rules)})
        answer = self.control.post("/__script", content=text)
        assert answer.status_code == 200, answer.text

    def answer(self, **answer):
        """Replaces the script by one answer for every request."""
        self.script({"answer": answer})

    def forget(self):
        self.control.delete("/__requests")

    def requests(self):
        """The requests that the model has received, oldest first."""
        return self.control.get("/__requests").json()["data"]

    def chats(self):
        """The bodies of the requests for chat completions."""
        return [r["body"] for r in self.requests() if r["path"] == "/v1/chat/completions"]

    def asked(self):
        """The bodies of all requests to the model, in either dialect."""
        return [r["body"] for r in self.requests()
                if r["path"] in ("/v1/chat/completions", "/v1/responses")]

    def stop(self):
        self.control.close()
        return self.process.stop()
