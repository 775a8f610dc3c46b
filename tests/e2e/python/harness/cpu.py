"""What each test file costs: CPU seconds of pytest and of all that it started, PostgreSQL included.

`run.sh BUILD_DIR --cpu [PYTEST_ARGUMENT...]` prints a line for each file at the end, the dearest last. `--cpu-lines=FILE`
also writes a line for each test. A clock says little on a busy machine, and CPU seconds hardly change there, so they
compare two versions of a test. What starts for the first test that needs it, such as the database of the session,
counts there.

A server may leave a PostgreSQL that no process waits for. This process becomes the parent of such orphans, so their
time is not lost.
"""

import collections
import ctypes
import os
import pathlib
import time

PR_SET_CHILD_SUBREAPER = 36
TICKS = os.sysconf("SC_CLK_TCK")


def read(*path):
    """The text of a file of /proc; empty when the process has ended meanwhile."""
    try:
        return pathlib.Path("/proc", *path).read_text()
    except OSError:
        return ""


def children(pid):
    """Of a process: a child belongs to the thread that forked it."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    return [int(child) for thread in threads for child in read(str(pid), "task", thread, "children").split()]


def cpu_seconds():
    """CPU seconds of this process and of everything below it, and of the children that each has waited for."""
    ticks, found = 0, [os.getpid()]
    for pid in found:
        stat = read(str(pid), "stat").rpartition(")")[2].split()
        ticks += sum(map(int, stat[11:15]))
        found += children(pid)
    return ticks / TICKS


class CpuTable:
    def __init__(self, path):
        self.lines = open(path, "w", buffering=1) if path else None  # a run that is killed leaves those it has
        self.tests = []  # (node id, CPU seconds of all, of pytest alone, seconds)
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
        self.first = self.last = self.now()

    @staticmethod
    def now():
        return cpu_seconds(), time.process_time(), time.monotonic()

    def pytest_runtest_logfinish(self, nodeid):
        now = self.now()
        spent = [new - old for new, old in zip(now, self.last)]
        self.tests.append((nodeid, *spent))
        if self.lines:
            self.lines.write("\t".join([*(f"{seconds:.2f}" for seconds in spent), nodeid]) + "\n")
        self.last = now

    def pytest_terminal_summary(self, terminalreporter):
        files = collections.defaultdict(lambda: [0, 0, 0, 0])
        for nodeid, *spent in self.tests:
            for name in (nodeid.split("::")[0], "all"):
                files[name] = [old + new for old, new in zip(files[name], (*spent, 1))]
        write = terminalreporter.write_line
        write(f"{'CPU':>8} {'pytest':>8} {'seconds':>8} {'tests':>6}")
        for name, (cpu, own, seconds, count) in sorted(files.items(), key=lambda file: file[1]):
            write(f"{cpu:8.1f} {own:8.1f} {seconds:8.1f} {count:6} {name}")


def pytest_addoption(parser):
    parser.addoption("--cpu", action="store_true", help="print the CPU seconds of every file")
    parser.addoption("--cpu-lines", metavar="FILE", help="a line for every test: CPU seconds, those of pytest, seconds")


def pytest_configure(config):
    if config.getoption("--cpu"):
        config.pluginmanager.register(CpuTable(config.getoption("--cpu-lines")))
