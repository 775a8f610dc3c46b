"""Child processes: started here, ended here, by their own id."""

import fcntl
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import tempfile
import threading

from .patience import patience

SANITIZER = re.compile(rb"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:|"
                       rb"lock.*violat|Assertion .* failed")


# A byte for each port, locked while a run of the tests may use it: another would find it free while a server that has
# it is being started.
TAKEN = open(pathlib.Path(tempfile.gettempdir(), f"runnel-test-ports-{os.getuid()}"), "a+")


def take(port):
    try:
        fcntl.lockf(TAKEN, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    return True


def free_port():
    """A free port below the range that the kernel gives to clients. No other run of the tests uses it before this
    one has ended."""
    while True:
        port = random.randrange(20000, 32000)
        if not take(port):
            continue
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def clean_environment():
    """The environment without variables that configure the program or the SDKs."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith(("RUNNEL_", "OPENAI_", "PG"))}


class Process:
    """A child process. Its standard output is read here, its standard error goes to a file."""

    def __init__(self, arguments, log_path, **environment):
        self.log_path = log_path
        self.log = open(log_path, "ab")
        self.child = subprocess.Popen([str(a) for a in arguments], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=self.log, text=True,
                                      env={**clean_environment(), **environment})
        self.output = []
        self.marked = 0

    @property
    def pid(self):
        return self.child.pid

    def read_until(self, is_last, seconds=120):
        """Reads standard output up to the line that is_last() accepts, which it returns."""
        watchdog = threading.Timer(patience(seconds), self.child.kill)
        watchdog.start()
        try:
            for line in self.child.stdout:
                self.output.append(line.rstrip("\n"))
                if is_last(line):
                    return line.rstrip("\n")
        finally:
            watchdog.cancel()
        status = self.child.wait()
        raise AssertionError(f"{self.child.args} ended with {status} before it was ready:\n"
                             f"{chr(10).join(self.output)}\n{self.errors()}")

    def drain_output(self):
        """Reads on, so that the child never blocks on its output."""
        threading.Thread(target=self.child.stdout.read, daemon=True).start()

    def errors(self):
        """The standard error of the process so far."""
        try:
            with open(self.log_path, "rb") as log:
                return log.read().decode(errors="replace")
        except FileNotFoundError:
            return ""

    def mark(self):
        self.marked = len(self.errors())

    def errors_since_mark(self):
        return self.errors()[self.marked:]

    def signal(self, number):
        self.child.send_signal(number)

    def kill(self):
        self.child.kill()
        self.child.wait()

    def stop(self, seconds=60):
        """SIGTERM, also for a suspended process; returns the exit status.

        SIGCONT comes first. The leak check at the end stops its own threads with SIGSTOP, which a SIGCONT takes
        away: the process would wait for itself for ever."""
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGCONT)
            self.child.send_signal(signal.SIGTERM)
        try:
            return self.child.wait(patience(seconds))
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self.child.args} did not stop within {patience(seconds)} s of SIGTERM")

    def sanitizer_report(self):
        with open(self.log_path, "rb") as log:
            text = log.read()
        found = SANITIZER.search(text)
        return text[max(0, found.start() - 200):found.start() + 6000].decode(errors="replace") \
            if found else None
