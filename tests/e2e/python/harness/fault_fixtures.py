"""Fixtures of the fault tests: a database of their own, and servers that fail on demand."""

import pathlib
import tempfile

import pytest

from .database import Database
from .faults import FaultServer


@pytest.fixture(scope="session")
def database(scratch, binary):
    database = Database(scratch / "database", binary)
    yield database
    database.stop()


@pytest.fixture
def start_fault_server(binary, scratch, upstream, recorder, database, discard):
    """start_fault_server(url=None, **settings): on a database of its own, or on that of another."""
    servers = []

    def start(url=None, **settings):
        directory = pathlib.Path(tempfile.mkdtemp(prefix="fault-", dir=scratch))
        directory.chmod(0o755)
        settings = {"database_url": url or database.new(), "lease_ttl": 2, **settings}
        server = FaultServer(binary, directory, upstream.url, recorder, **settings)
        servers.append(server)
        return server.start()

    yield start
    for server in servers:
        ended_well(server)
    for server in servers:
        discard(server)


def ended_well(server):
    report = None
    status = server.ended()
    if status is None:
        status = server.stop()
    report = server.process.sanitizer_report()
    assert not report, report
    assert status in (0, -9), f"the server ended with {status}:\n{server.process.errors()[-4000:]}"


@pytest.fixture(scope="module")
def module_fault_server(binary, scratch, upstream_process, recorder, database, request):
    directory = scratch / request.module.__name__
    directory.mkdir(mode=0o755)
    server = FaultServer(binary, directory, upstream_process.url, recorder, lease_ttl=2,
                         database_url=database.new())
    server.start()
    yield server
    ended_well(server)


@pytest.fixture
def fault_server(module_fault_server, upstream):
    """One server for all tests of a file, started again when a test has brought it down."""
    module_fault_server.arm()
    if module_fault_server.ended() is not None:
        module_fault_server.start()
    return module_fault_server
