"""Lanes: several runs of pytest side by side, which share the files among them (run.sh).

`--lane=DIRECTORY` makes this run one of them. It claims a file in that directory before it runs the file's tests, and
leaves out what another lane has claimed. So all lanes end at about the same time, however long a file takes. Files that take
longest come first, for one that comes last keeps a single lane busy while the others have ended.
"""

import itertools
import os

import pytest

from .operations import directory_of

# The dearest first. The others follow in their order.
LONGEST = ["test_faults_kill.py", "test_faults_store.py", "test_lifecycle_model.py", "test_manual.py", "test_node.py",
           "test_mcp.py", "test_browser.py", "test_import.py", "test_faults_ingest.py", "test_faults_nodes.py",
           "test_faults_tools.py", "test_chain_model.py", "test_faults_upstream.py", "test_faults_wakeups.py",
           "test_stalled_database.py", "test_file_urls.py"]


def rank(name):
    return LONGEST.index(name) if name in LONGEST else len(LONGEST)


def claimed(items, directory):
    """The tests of the files that no other lane has claimed. A file is claimed when its turn comes."""
    files = [(item.path.name, item) for item in items]
    files.sort(key=lambda file: rank(file[0]))
    for name, tests in itertools.groupby(files, key=lambda file: file[0]):
        try:
            os.close(os.open(directory / name, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        yield from (item for _, item in tests)


def pytest_addoption(parser):
    parser.addoption("--lane", metavar="DIRECTORY", help="one of several runs that share the files")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    """As pytest does it, but for the order and for what is left out."""
    directory = directory_of(session.config)
    if not directory or session.testsfailed or session.config.option.collectonly:
        return None
    tests = claimed(session.items, directory)
    item = next(tests, None)
    while item:
        following = next(tests, None)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        item = following
    return True
