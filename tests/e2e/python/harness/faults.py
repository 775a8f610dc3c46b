"""A server whose rare failures happen on demand (core/base/fault.h), and the checks of runs
that had such failures."""

import json
import pathlib
import re

import httpx2

from .patience import patience
from .process import Process
from .recorder import parse_events
from .server import Server, eventually

FINAL = ("completed", "failed", "incomplete", "cancelled", "expired")


class FaultServer(Server):
    """A server whose fault points are armed through a file, so that one process serves many cases."""

    def __init__(self, binary, directory, upstream_url, recorder, **settings):
        super().__init__(binary, directory, upstream_url, recorder, **settings)
        self.faults = directory / "faults"
        self.fired = directory / "faults.fired"
        self.plain = None

    def arm(self, *entries):
        """Arms "point:visit[:kill|stop]" and nothing else."""
        if entries:
            self.fired.unlink(missing_ok=True)
        following = self.directory / "faults.next"
        following.write_text(",".join(entries))
        following.rename(self.faults)

    def has_fired(self):
        return self.fired.exists()

    def fired_points(self):
        return self.fired.read_text().split() if self.has_fired() else []

    def launch(self):
        """Starts the process and does not wait: it may die before it is ready."""
        self.process = Process(["env", f"RUNNEL_FAULT=@{self.faults}", self.binary, "serve",
                                *self.flags()], self.log_path)

    def start(self):
        self.launch()
        self.process.read_until(lambda line: "curl" in line)
        self.process.drain_output()
        return self

    def restart(self):
        """Starts the server again after a kill, with nothing armed."""
        assert self.process.child.wait(20) < 0
        self.arm()
        return self.start()

    def api(self):
        """A client without the recorder: for hundreds of requests."""
        if self.plain is None:
            self.plain = httpx2.Client(
                base_url=f"{self.url}/v1", timeout=patience(60),
                headers={"Authorization": f"Bearer {self.settings['api_key']}"})
            self.clients.append(self.plain)
        return self.plain

    def stop(self):
        self.plain = None
        return super().stop()

    def metric(self, name):
        text = self.api().get(f"{self.url}/metrics").text
        return int(re.search(rf"^runnel_{name} (\d+)$", text, re.M)[1])

    def forgets_its_runs(self, seconds=20):
        """The server has released all runs that have ended."""
        eventually(lambda: self.metric("runs_live"), lambda live: live == 0, seconds)


def points(root=pathlib.Path(__file__).resolve().parents[4]):
    """The fault points of the source."""
    found = set()
    for folder in ("core", "server", "handlers"):
        for path in (root / folder).rglob("*.c"):
            found |= set(re.findall(r'FAULT\("([\w.]+)"\)', path.read_text()))
    return sorted(found)


class Log:
    """The events of a resumable run as the database has them."""

    def __init__(self, database, url, run_id):
        rows = database.ask("SELECT first_seq, last_seq, encode(bytes, 'hex') FROM run_events"
                            f" WHERE run_id = '{run_id}' ORDER BY first_seq", url=url)
        self.text = ""
        following = 0
        for first, last, data in rows:
            text = bytes.fromhex(data).decode()
            assert int(first) == following, f"gap or overlap before {first}: {rows!r:.500}"
            assert int(last) - int(first) + 1 == text.count("\n\n"), "not as many frames as numbers"
            following = int(last) + 1
            self.text += text
        self.events = [(name, json.loads(data)) for name, data in parse_events(self.text)]

    def names(self):
        return [name for name, _ in self.events]

    def is_numbered(self):
        """sequence_number of Responses events: dense, from 0."""
        numbers = [data["sequence_number"] for _, data in self.events]
        return numbers == list(range(len(numbers)))


def listen(client, path, body):
    """What a follower received of a stream: the status, the text, and whether the stream broke."""
    text = ""
    try:
        with client.stream("POST", path, json={**body, "stream": True}) as answer:
            if answer.status_code != 200:
                answer.read()
                return answer.status_code, answer.text, False
            for part in answer.iter_text():
                text += part
    except httpx2.HTTPError:
        return 200, text, True
    return 200, text, False


def whole_frames(text):
    """The complete frames, without comments and without the mark of the end."""
    text = text[:text.rfind("\n\n") + 2] if "\n\n" in text else ""
    frames = [frame for frame in text.split("\n\n") if frame and not frame.startswith(":")]
    return [frame for frame in frames if not frame.endswith("data: [DONE]")]
