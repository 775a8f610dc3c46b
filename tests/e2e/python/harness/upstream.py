"""The scripted upstream as a process, with the functions that tests need."""

import json

import httpx2

from .patience import patience
from .process import Process, free_port


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
        text = json.dumps({"models": ["demo", "native", "other/model"], **top, "rules": list(rules)})
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
