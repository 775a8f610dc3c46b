"""How many tests did not run, and why: "SKIPPED 28 (no user namespaces)".

Each lane leaves its reasons. `python -m harness.skips DIRECTORY` counts them together; a run that is alone counts its own.
"""

import collections
import os
import pathlib
import sys

from .operations import directory_of

SUFFIX = ".skips"


def counted(reasons):
    return [f"SKIPPED {n} ({reason})" for reason, n in sorted(collections.Counter(reasons).items())]


def left(directory):
    return [reason for path in directory.glob(f"*{SUFFIX}") for reason in path.read_text().splitlines()]


def pytest_terminal_summary(terminalreporter, config):
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = [report.longrepr[2].removeprefix("Skipped: ").replace("\n", " ") for report in skipped]
    directory = directory_of(config)
    if directory:
        (directory / f"{os.getpid()}{SUFFIX}").write_text("\n".join(reasons))
        return
    for line in counted(reasons):
        terminalreporter.write_line(line)


if __name__ == "__main__":
    for line in counted(left(pathlib.Path(sys.argv[1]))):
        print(line)
