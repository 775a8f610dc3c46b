"""A PostgreSQL of the tests' own, which may be frozen, killed and started again."""

import contextlib
import os
import pathlib
import pwd
import re
import select
import shutil
import signal
import subprocess

from .process import clean_environment


def binaries():
    """The folder of initdb and postgres."""
    found = shutil.which("pg_config")
    if found:
        path = subprocess.run([found, "--bindir"], capture_output=True, text=True).stdout.strip()
        if pathlib.Path(path, "initdb").exists():
            return pathlib.Path(path)
    every = pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb")
    return max(every, key=lambda path: int(path.parts[-3])).parent


def unprivileged():
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    try:
        user = pwd.getpwnam("postgres")
    except KeyError:
        user = pwd.getpwnam("nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


class Database:
    def __init__(self, directory, binary, programs=None):
        self.bin = programs or binaries()
        self.binary = binary
        self.directory = directory
        self.data = directory / "pg"
        self.who = unprivileged()
        self.count = 0
        self.migrated = False  # there is a database to copy
        directory.mkdir(mode=0o755)
        if self.who:
            os.chown(directory, self.who["user"], self.who["group"])
        subprocess.run([self.bin / "initdb", "-D", self.data, "-A", "trust", "-U", "runnel",
                        "--locale", "C", "-E", "UTF8", "--no-instructions", "-N"], check=True,
                       stdout=subprocess.DEVNULL, cwd="/", env=clean_environment(), **self.who)
        self.postmaster = None
        self.start()

    def start(self):
        log = open(self.directory / "log", "ab")
        self.postmaster = subprocess.Popen(
            [self.bin / "postgres", "-D", self.data, "-k", self.directory, "-c",
             "listen_addresses=", "-c", "shared_buffers=32MB", "-c", "max_connections=200", "-c",
             "fsync=off", "-c", "max_wal_size=256MB"],  # it survives kill -9 all the same
            stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd="/", env=clean_environment(),
            **self.who)
        log.close()
        self.wait_until_ready()

    def wait_until_ready(self):
        """Runs pg_isready, which tries one connection, until one works."""
        while subprocess.run([self.bin / "pg_isready", "-q", "-h", self.directory, "-d",
                              "postgres", "-U", "runnel"], env=clean_environment()).returncode:
            assert self.postmaster.poll() is None, (self.directory / "log").read_text()[-2000:]

    def processes(self):
        """The postmaster and all its children."""
        found = [self.postmaster.pid]
        for status in pathlib.Path("/proc").glob("[0-9]*/status"):
            try:
                parent = re.search(r"^PPid:\s+(\d+)", status.read_text(), re.M)
            except OSError:
                continue
            if parent and int(parent[1]) == self.postmaster.pid:
                found.append(int(status.parent.name))
        return found

    def freeze(self):
        """Stops all processes: connections stay open and get no answer."""
        self.signal(signal.SIGSTOP)

    def thaw(self):
        self.signal(signal.SIGCONT)

    def signal(self, number):
        """Sends a signal to all processes. Some of them may be ending already."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    @contextlib.contextmanager
    def frozen(self):
        self.freeze()
        try:
            yield
        finally:
            self.thaw()

    def crash(self):
        """Kills all processes at once, like a power failure. Returns when the last one is gone: a new
        postmaster does not start while one still has the shared memory."""
        self.postmaster.send_signal(signal.SIGSTOP)  # no child is forked behind the list
        handles = []
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                handles.append(os.pidfd_open(pid))
        for handle in handles:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        for handle in handles:
            gone = select.poll()  # select() refuses descriptors above 1023
            gone.register(handle, select.POLLIN)
            gone.poll()
            os.close(handle)
        self.postmaster.wait()

    def stop(self):
        """Stops without a checkpoint: the data is deleted anyway."""
        if self.postmaster.poll() is None:
            self.postmaster.send_signal(signal.SIGQUIT)
            self.postmaster.wait()

    def url_of(self, name):
        return f"host={self.directory} dbname={name} user=runnel"

    def new(self):
        """The URL of a new database with the schema and no rows. Copying one is much faster than migrating,
        and copying its files than logging its pages."""
        if not self.migrated:
            self.migrated = True
            self.ask("CREATE DATABASE migrated", "postgres")
            subprocess.run([self.binary, "migrate", "--database-url", self.url_of("migrated")], check=True,
                           capture_output=True, env=clean_environment())
        return self.url_of(self.make("TEMPLATE migrated STRATEGY file_copy"))

    def empty(self):
        """The URL of a database without the schema."""
        return self.url_of(self.make(""))

    def make(self, options):
        self.count += 1
        name = f"runnel_{self.count}"
        self.ask(f"CREATE DATABASE {name} {options}", "postgres")
        return name

    def is_mine(self, url):
        return bool(url) and url.startswith(f"host={self.directory} ")

    def drop(self, url):
        """Drops a database. The programs that used it must have ended."""
        name = url.split("dbname=")[1].split()[0]
        self.ask(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", "postgres")

    def holding(self, lock, url):
        """A session that holds the advisory lock of this number."""
        return self.session(f"SELECT pg_advisory_lock({lock})", url)

    def without_writes(self, tables, url):
        """While this lasts, sessions that write to these tables wait. Readers do not."""
        return self.session(f"BEGIN; LOCK TABLE {tables} IN SHARE MODE", url)

    def awaits_lock(self, url):
        """Whether a session waits for such a lock."""
        return self.ask("SELECT 1 FROM pg_locks WHERE NOT granted LIMIT 1", url=url) != []

    @contextlib.contextmanager
    def session(self, statements, url):
        """A session that has executed this statement, open while the context lasts."""
        session = subprocess.Popen([self.bin / "psql", "-XAtq", "-d", url], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, env=clean_environment())
        try:
            session.stdin.write(f"{statements};\n\\echo held\n".encode())
            session.stdin.flush()
            while session.stdout.readline().strip() != b"held":
                assert session.poll() is None
            yield
        finally:
            session.communicate()

    def ask(self, sql, database=None, url=None):
        """Rows of a query, as lists of texts; None for NULL."""
        target = url or f"host={self.directory} dbname={database} user=runnel"
        done = subprocess.run([self.bin / "psql", "-XAtq", "-F", "\x1f", "-R", "\x1e", "-P",
                               "null=\x02", "-v", "ON_ERROR_STOP=1", "-d", target, "-c", sql],
                              capture_output=True, env=clean_environment())
        assert done.returncode == 0, done.stderr.decode()
        text = done.stdout.decode().removesuffix("\n")
        if not text:
            return []
        return [[None if field == "\x02" else field for field in row.split("\x1f")]
                for row in text.split("\x1e")]
