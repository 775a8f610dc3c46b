"""`runnel serve`, as a process, with a data directory of its own."""

import atexit
import functools
import shutil
import signal
import subprocess
import time

import httpx2
import openai

from .patience import patience
from .process import Process, clean_environment, free_port
from .scratch import scratch_directory

KEY = "sk-end-to-end"


@functools.cache
def made_data(binary):
    """A data directory as the first start makes it, for others to begin with: initdb takes a second. This
    PostgreSQL does not wait for the disk; it survives kill -9 all the same."""
    path = scratch_directory("runnel-e2e-data-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    subprocess.run([binary, "migrate", "--data-dir", path / "data"], check=True,
                   capture_output=True, env=clean_environment())
    with open(path / "data" / "pg" / "postgresql.auto.conf", "a") as settings:
        settings.write("fsync = off\n")
    return path / "data"


def with_native_model(directory, upstream_url):
    """A configuration in which the model "native" is asked through /v1/responses, all others as
    upstream_url says."""
    path = directory / "runnel.yaml"
    path.write_text(f"upstreams:\n  - {{name: native, url: \"{upstream_url}\", "
                    f"models: [\"native*\"], dialect: responses}}\n")
    return path


class Server:
    def __init__(self, binary, directory, upstream_url, recorder, wrapper=(), first=False,
                 **settings):
        self.binary = binary
        self.wrapper = wrapper  # a command that becomes the server
        self.first = first  # it makes its database itself
        self.directory = directory  # below it data and log; it must be reachable by PostgreSQL
        self.recorder = recorder
        self.port = free_port()
        self.settings = {
            "listen": f"127.0.0.1:{self.port}",
            "data_dir": directory / "data",
            "api_key": KEY,
            **({"upstream_url": upstream_url} if upstream_url else {}),
            **settings,
        }
        self.environment = {}
        self.process = None
        self.clients = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def log_path(self):
        return self.directory / "stderr.log"

    def flags(self):
        flags = []
        for name, value in self.settings.items():
            if value is not None:
                flags += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
        return flags

    def where(self):
        """The option that says to other commands of the program where its database is."""
        url = self.settings.get("database_url")
        return ["--database-url", url] if url else ["--data-dir", self.settings["data_dir"]]

    def command(self, *arguments):
        """What another command of the program says about its database."""
        return subprocess.run([self.binary, *arguments, *self.where()], check=True, text=True,
                              capture_output=True, timeout=patience(120),
                              env=clean_environment()).stdout.strip()

    def new_key(self, project):
        return self.command("keys", "create", "--project", project)

    def prepare_data(self):
        data = self.settings["data_dir"]
        if not self.first and "database_url" not in self.settings and not data.exists():
            subprocess.run(["cp", "-a", made_data(self.binary), data], check=True)

    def start(self):
        """Starts the server, and returns when it has printed that it is ready."""
        self.prepare_data()
        self.process = Process([*self.wrapper, self.binary, "serve", *self.flags()], self.log_path,
                               **self.environment)
        self.process.read_until(lambda line: "curl" in line)
        self.process.drain_output()
        return self

    def ended(self):
        """The exit status, or None while it runs."""
        return self.process.child.poll()

    def kill(self):
        """kill -9: the server cannot clean up."""
        self.process.signal(signal.SIGKILL)
        self.process.child.wait()

    def stop(self):
        status = self.process.stop()
        for client in self.clients:
            client.close()
        self.clients = []
        return status

    def discard(self):
        """What it leaves on the disk, and may be much."""
        shutil.rmtree(self.directory)

    def http(self, **options):
        """A plain client; answers are recorded."""
        client = httpx2.Client(base_url=self.url, transport=self.recorder.transport(), timeout=patience(60),
                               headers={"Authorization": f"Bearer {self.settings['api_key']}"},
                               **options)
        self.clients.append(client)
        return client

    def sdk(self, strict=True, **options):
        """The SDK, strict about every field, and without retries that would hide a failure. What the
        Assistants API of OpenAI does not have, such as groups of tools, is only read when it is not
        strict, as it is by default."""
        transport = httpx2.Client(transport=self.recorder.transport(), timeout=patience(60))
        self.clients.append(transport)
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key=self.settings["api_key"],
                             http_client=transport, max_retries=0,
                             _strict_response_validation=strict, **options)


def eventually(ask, is_right=bool, seconds=20):
    """Repeats a request until its answer is right, for work that another process does. More and more seldom: what
    takes seconds, such as the end of a lease, is worth fewer requests than what takes none."""
    deadline = time.monotonic() + patience(seconds)
    pause = 0.01
    while True:
        answer = ask()
        if is_right(answer):
            return answer
        assert time.monotonic() < deadline, f"still {answer!r} after {patience(seconds)} s"
        time.sleep(pause)
        pause = min(1.5 * pause, 0.2)
