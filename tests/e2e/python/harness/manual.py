"""The examples of README.md and of the manual, and a reader who tries them in turn.

An example is a fenced block. What happens to it depends on its language:

  sh          runs in bash; `./start` and `runnel serve` start the page's server anew, with these flags
  python      runs; all blocks of a page share their variables, and input() is answered with "yes"
  js          runs as a module of its own, with the Node SDK
  yaml        is a piece of runnel.yaml: the page's server starts anew with all pieces of the page so far
  json, text  is what the block before it prints

A block whose first line is a comment with a file's name (`# dump.py`) is written to that file instead. A
block that cannot run has a marker on the line before it, which says why: <!-- not run: ... -->

Examples name addresses and keys that a reader replaces. Reader.stand_ins has what the tests put there. The
directory has a file manual.pdf, for the examples that read one.
"""

import contextlib
import functools
import io
import json
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import typing

import httpx2
import openai
import yaml

from .pdf import pdf
from .process import clean_environment, free_port
from .ranks import rank_file
from .server import KEY, Server

ROOT = pathlib.Path(__file__).resolve().parents[4]
NODE = ROOT / "tests" / "e2e" / "node"
PAGES = [ROOT / "README.md", *sorted((ROOT / "server" / "manual").glob("*.md"))]

BLOCK = re.compile(r"^(?:<!-- not run: (?P<reason>[^\n]+) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$",
                   re.M | re.S)
FILE = re.compile(r"(?:#|//) ([\w-]+\.\w+)\b")
ADDRESS = re.compile(r'(127\.0\.0\.1(?::|", )|\bPORT=)(\d+)')
BACKGROUND = re.compile(r"&(?: *#.*)?$", re.M)
OUTPUTS = ("json", "text")
LANGUAGES = ("sh", "python", "js", "yaml", *OUTPUTS)


class Block(typing.NamedTuple):
    place: str  # page and line
    language: str
    text: str
    reason: str | None  # why it does not run


def blocks(path, text=None):
    """The examples of a page; refuses a block that would otherwise be overlooked."""
    text = path.read_text() if text is None else text
    found = []
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("language")) + 1
        found.append(Block(f"{path.name}:{line}", match["language"], match["text"], match["reason"]))
    fences = len(re.findall(r"^ *(?:```|~~~)", text, re.M))
    assert fences == 2 * len(found), f"{path.name}: {fences} fences, but {len(found)} blocks"
    markers = text.count("<!-- not run")
    assert markers == sum(block.reason is not None for block in found), \
        f"{path.name}: a marker stands on the line before its block"
    for block in found:
        assert block.language in LANGUAGES, f"{block.place}: nobody runs '{block.language}'"
    return found


# ---- what a block prints ----

def lines_match(shown, printed):
    """Whether a text is as shown; `...` stands for anything."""
    pattern = ".*?".join(map(re.escape, shown.strip().split("...")))
    printed = re.sub(r" +$", "", printed.strip(), flags=re.M)
    return re.fullmatch(pattern, printed, re.S) is not None


def difference(shown, value, path="$"):
    """What is not as in the JSON that is shown; None when nothing is. There may be more members and more
    elements than are shown. Numbers differ from time to time, and `...` in a string stands for anything."""
    if isinstance(shown, dict) and isinstance(value, dict):
        for key, member in shown.items():
            if key not in value:
                return f"{path}: no {key} in {json.dumps(value)[:400]}"
            if found := difference(member, value[key], f"{path}.{key}"):
                return found
        return None
    if isinstance(shown, list) and isinstance(value, list):
        if len(value) < len(shown):
            return f"{path}: {len(value)} elements, {len(shown)} are shown"
        return next(filter(None, (difference(one, value[i], f"{path}[{i}]")
                                  for i, one in enumerate(shown))), None)
    if isinstance(shown, str) and isinstance(value, str):
        return None if lines_match(shown, value) else f"{path}: '{value[:400]}', shown is '{shown}'"
    if type(shown) in (int, float) and type(value) in (int, float):
        return None
    return None if shown is value else f"{path}: {json.dumps(value)[:400]}, shown is {json.dumps(shown)}"


def compare(block, printed):
    if block.language == "text":
        assert lines_match(block.text, printed), \
            f"{block.place} shows\n{block.text}\nbut this was printed:\n{printed}"
        return
    try:
        value = json.loads(printed)
    except ValueError:
        raise AssertionError(f"{block.place} shows JSON, but this was printed:\n{printed}") from None
    found = difference(json.loads(block.text), value)
    assert found is None, f"{block.place}: {found}"


# ---- the reader ----

class Reader:
    """Tries the examples of one page, in their order, in a directory of its own."""

    def __init__(self, binary, directory, upstream_url, recorder, monkeypatch):
        self.binary, self.directory, self.recorder = binary, directory, recorder
        self.server = Server(binary, directory, upstream_url, recorder, data_dir=directory / "runnel-data")
        self.settings = dict(self.server.settings)  # whatever an example says
        self.configuration = {}
        self.variables = {"input": self.answer_yes, "__name__": "__main__"}
        self.shells = 0
        self.background = []  # process groups that have been left running
        self.clients = []
        self.printed = None  # by the last block that ran
        (directory / "bin").mkdir()
        (directory / "bin" / "runnel").symlink_to(binary)
        (directory / "node_modules").symlink_to(NODE / "node_modules")
        (directory / "state").touch()
        (directory / "manual.pdf").write_bytes(pdf("Operating the bicycle.", "The battery warranty lasts two years."))
        self.environment = {
            **clean_environment(), "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{self.server.url}/v1",
            "PYTHONWARNINGS": "ignore", "npm_config_offline": "true",
            "NODE_OPTIONS": f"--import={NODE / 'loopback.mjs'}",
            "PATH": os.pathsep.join([str(directory / "bin"), str(NODE / "node_modules/.bin"),
                                     str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])}
        self.monkeypatch = monkeypatch
        monkeypatch.chdir(directory)
        monkeypatch.setattr(openai, "OpenAI", functools.partial(self.client, openai.OpenAI))
        for name, value in self.environment.items():
            monkeypatch.setenv(name, value)
        self.ports = {"8080": str(self.server.port), "11434": upstream_url.split(":")[2].split("/")[0]}
        self.stand_ins = {
            "sk-...": KEY,
            "https://models.example.org/v1": upstream_url,
            "https://search.example.org": upstream_url.removesuffix("/v1"),
            "/srv/models/o200k_base.tiktoken": str(rank_file(directory / "o200k_base.tiktoken")),
        }

    def client(self, sdk, **options):
        """The SDK; what it is answered is held against openapi.yaml like everything else."""
        transport = httpx2.Client(transport=self.recorder.transport(), timeout=60)
        self.clients.append(transport)
        return sdk(http_client=transport, max_retries=0, **options)

    def answer_yes(self, question=""):
        print(question)
        return "yes"

    def adapted(self, text):
        """With the addresses and keys of the test."""
        def port(match):
            if match[2] not in self.ports:
                self.ports[match[2]] = str(free_port())
            return match[1] + self.ports[match[2]]
        text = ADDRESS.sub(port, text)
        for shown, stand_in in self.stand_ins.items():
            text = text.replace(shown, stand_in)
        return text

    def start_server(self, **settings):
        if self.server.process:
            self.stop_server()
        self.server.settings = {**self.settings, **settings}
        self.server.environment = self.exported()
        self.server.start()

    def stop_server(self):
        status = self.server.stop()
        report = self.server.process.sanitizer_report()
        assert not report, report
        assert status == 0, f"the server ended with {status}:\n{self.server.process.errors()[-4000:]}"

    def exported(self):
        """The variables of the shell."""
        done = subprocess.run(["bash", "-c", '. ./state && env -0'], capture_output=True, text=True,
                              check=True, cwd=self.directory, env=self.environment)
        return dict(pair.split("=", 1) for pair in done.stdout.split("\0") if pair)

    def run(self, block):
        text = self.adapted(block.text)
        named = FILE.match(text)
        if block.language in OUTPUTS:
            assert self.printed is not None, f"{block.place}: nothing was run before it"
            compare(block._replace(text=text), self.printed)
            return
        self.printed = None
        if named and named[1] != "runnel.yaml":
            (self.directory / named[1]).write_text(text)
            return
        try:
            self.printed = getattr(self, f"run_{block.language}")(text)
        except Exception as problem:
            raise AssertionError(f"{block.place}: {type(problem).__name__}: {problem}") from problem

    def run_yaml(self, text):
        self.configuration.update(yaml.safe_load(text))
        path = self.directory / "runnel.yaml"
        path.write_text(text)  # the piece alone is a file that the server takes, too
        self.check_configuration(path)
        path.write_text(yaml.safe_dump(self.configuration))
        self.start_server(config=path)

    def check_configuration(self, path):
        """Lets the server read the file, and stop at a missing database: then it was accepted."""
        done = subprocess.run([self.binary, "migrate", "--config", path, "--database-url",
                               "postgresql://127.0.0.1:1/nowhere?connect_timeout=2"],
                              capture_output=True, text=True, env=self.exported(), timeout=60)
        assert done.returncode == 1, f"{done.returncode}: {done.stderr}"

    def run_sh(self, text):
        words = shlex.split(text, comments=True)
        if words[:1] == ["./start"] or words[:2] == ["runnel", "serve"]:
            return self.serve(words[1 if words[0] == "./start" else 2:])
        self.shells += 1
        output = self.directory / f"output-{self.shells}"
        with open(output, "w") as stdout:
            shell = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", f". ./state\nset -a\n{text}\nexport -p >state"],
                stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.STDOUT, cwd=self.directory,
                env=self.environment, start_new_session=True)
        if BACKGROUND.search(text):
            self.background.append(shell.pid)
        status = shell.wait(60)
        assert status == 0, f"ended with {status}:\n{output.read_text()}"
        if BACKGROUND.search(text):
            for _, port in ADDRESS.findall(text):
                self.wait_for(int(port), output)
        return output.read_text()

    def serve(self, flags):
        """What follows the command on its line: --name value, --name=value or --switch."""
        settings = {}
        while flags:
            name, equals, value = flags.pop(0).removeprefix("--").partition("=")
            if not equals:
                value = flags.pop(0) if flags and not flags[0].startswith("--") else True
            settings[name.replace("-", "_")] = value
        self.start_server(**settings)
        return "\n".join(self.server.process.output)

    def wait_for(self, port, output):
        """Until a program in the background listens."""
        deadline = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                return
            assert time.monotonic() < deadline, f"nothing listens on {port}:\n{output.read_text()}"
            time.sleep(0.02)

    def run_python(self, text):
        printed = io.StringIO()
        for name, value in self.exported().items():
            self.monkeypatch.setenv(name, value)
        with contextlib.redirect_stdout(printed):
            exec(compile(text, "example.py", "exec"), self.variables)
        return printed.getvalue()

    def run_js(self, text):
        path = self.directory / "example.mjs"
        path.write_text(text)
        done = subprocess.run(["node", path], capture_output=True, text=True, timeout=60,
                              cwd=self.directory, env=self.exported())
        assert done.returncode == 0, done.stderr
        return done.stdout

    def leave(self):
        """Ends what the examples have left running in the background."""
        for group in self.background:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        for client in self.clients:
            client.close()
