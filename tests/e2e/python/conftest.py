import atexit
import functools
import itertools
import pathlib
import shutil

import pytest

from harness.operations import directory_of, leave
from harness.patience import patience
from harness.recorder import Recorder
from harness.scratch import scratch_directory
from harness.server import Server, with_native_model
from harness.stream import events_of
from harness.upstream import Upstream

pytest_plugins = ["harness.cpu", "harness.fault_fixtures", "harness.lanes", "harness.skips"]

KEPT = pytest.StashKey()
FAILED = pytest.StashKey()

DEFAULT_RULES = [
    {"name": "default", "answer": {"text": "Hello there, my friend."}},
]


def pytest_addoption(parser):
    parser.addoption("--runnel", required=True, help="the program")
    parser.addoption("--write-golden", action="store_true", help="tests/e2e/golden, anew")
    parser.addoption("--keep", action="store_true", help="keep the data directories")


def pytest_collection_modifyitems(items):
    for item in items:
        stretch_timeout(item)


def stretch_timeout(item):
    """The limit of a test, which may be its own, is stretched as every other deadline."""
    marker = item.get_closest_marker("timeout")
    seconds = marker.args[0] if marker else float(item.config.getini("timeout"))
    if item.config.getoption("timeout") is None:
        item.add_marker(pytest.mark.timeout(patience(seconds)), append=False)


@pytest.fixture(scope="session")
def binary(request):
    return pathlib.Path(request.config.getoption("--runnel")).resolve()


@pytest.fixture(scope="session")
def scratch(request):
    """It is kept when a test has failed. Removing it may take long, so that is no part of the last test."""
    path = scratch_directory("runnel-e2e-")
    yield path
    if request.session.testsfailed or request.config.getoption("--keep"):
        request.config.stash[KEPT] = path
    else:
        atexit.register(shutil.rmtree, path, ignore_errors=True)


def pytest_terminal_summary(terminalreporter, config):
    if KEPT in config.stash:
        terminalreporter.write_line(f"data directories and logs: {config.stash[KEPT]}")


@pytest.fixture
def discard(request, database):
    """discard(server): removes its data from the disk, if its test has passed. All servers of the test have
    ended, for they may share a database."""
    def discard(server):
        if FAILED not in request.node.stash and not request.config.getoption("--keep"):
            server.discard()
            if database.is_mine(server.settings.get("database_url")):
                database.drop(server.settings["database_url"])
    return discard


@pytest.fixture(scope="session")
def recorder(pytestconfig):
    recorder = Recorder()
    yield recorder
    directory = directory_of(pytestconfig)
    if directory:
        leave(directory, recorder.called)


@pytest.fixture(scope="session")
def upstream_process(binary, scratch):
    upstream = Upstream(binary, scratch / "upstream.log")
    yield upstream
    status = upstream.stop()
    report = upstream.process.sanitizer_report()
    assert not report, report
    assert status == 0, f"the upstream ended with {status}"


@pytest.fixture
def upstream(upstream_process):
    """The scripted model. Its script has one sentence until a test replaces it."""
    upstream_process.script(*DEFAULT_RULES)
    upstream_process.forget()
    return upstream_process


def ended_well(server):
    status = server.stop()
    report = server.process.sanitizer_report()
    assert not report, report
    assert status == 0, f"the server ended with {status}:\n{server.process.errors()[-4000:]}"


@pytest.fixture(scope="session")
def session_server(binary, scratch, upstream_process, recorder):
    directory = scratch / "server"
    directory.mkdir(mode=0o755)
    server = Server(binary, directory, upstream_process.url, recorder, sandbox_memory=8 << 30,
                    config=with_native_model(directory, upstream_process.url)).start()
    yield server
    ended_well(server)


@pytest.fixture
def server(session_server, upstream):
    """The server of the session. A test that brings it down fails, and the next has a new one."""
    if session_server.ended():
        session_server.start()
    session_server.process.mark()
    yield session_server
    status = session_server.ended()
    assert status is None, f"the server ended with {status}"


@pytest.fixture
def statements(database):
    """The statements that the database gets from now on, with their parameters."""
    def statements(url):
        name = url.split("dbname=")[1].split()[0]
        log = database.directory / "log"
        database.ask(f"ALTER DATABASE {name} SET log_statement = 'all'", "postgres")
        begin = log.stat().st_size
        return lambda: log.read_bytes()[begin:].decode(errors="replace")
    return statements


DIRECTORIES = itertools.count(1)  # of the servers of single tests


@pytest.fixture
def start_server(binary, scratch, upstream, recorder, request, discard, database):
    """start_server(run_expiry=1) -> a server of the test's own, ended with the test. It has a new database,
    unless `embedded` says that it runs PostgreSQL itself, which takes longer."""
    servers = []

    def start(embedded=False, **settings):
        if not embedded:
            settings.setdefault("database_url", database.new())
        # Cut, because the path of a socket has at most 107 bytes; numbered, because cut names are alike.
        name = request.node.name.translate(str.maketrans("[]/", "---"))[:32]
        directory = scratch / f"{name}-{next(DIRECTORIES)}"
        directory.mkdir(mode=0o755)
        settings.setdefault("upstream_url", upstream.url)
        server = Server(binary, directory, recorder=recorder, **settings)
        servers.append(server)
        return server.start()

    yield start
    for server in servers:
        ended_well(server)
    for server in servers:
        discard(server)


@pytest.fixture(params=["demo", "native"])
def model(request):
    """The same scripted model, through Chat Completions and through /v1/responses."""
    return request.param


@pytest.fixture
def client(server):
    return server.sdk()


@pytest.fixture
def stream(http):
    """stream(tools, **body) -> events of a streamed response, its numbers and places checked."""
    return functools.partial(events_of, http)


@pytest.fixture(scope="session")
def stranger_key(session_server):
    """A key of another project."""
    return session_server.new_key("strangers")


@pytest.fixture
def stranger(client, stranger_key):
    """The SDK with the key of another project."""
    return client.with_options(api_key=stranger_key)


@pytest.fixture
def http(server):
    return server.http()


@pytest.fixture(autouse=True)
def contract(recorder):
    """Every answer that the test has seen was as openapi.yaml says."""
    yield
    complaints = recorder.take_complaints()
    assert not complaints, "\n".join(complaints)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A failed test shows the server's log, and the data of its own servers is kept."""
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    if report.failed and "session_server" in item.fixturenames:
        server = item.funcargs.get("session_server")
        if server and server.process:
            report.sections.append(("server's stderr", server.process.errors_since_mark()[-3000:]))
    return report


@pytest.fixture
def log(tmp_path):
    """How often test_count ran, by call."""
    path = tmp_path / "count"

    class Count:
        name = str(path)

        @staticmethod
        def lines():
            return path.read_text().split() if path.exists() else []

        @staticmethod
        def forget():
            path.unlink(missing_ok=True)
    return Count
