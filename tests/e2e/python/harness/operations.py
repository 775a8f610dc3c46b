"""Which operations of openapi.yaml were called, by all lanes together.

Each lane leaves a list of those that answered it with success. `python -m harness.operations DIRECTORY` names the
operations that are in no list, and fails if there are some: a test is missing, or it looks at refusals alone.
"""

import os
import pathlib
import sys

from .recorder import Recorder

SUFFIX = ".operations"


def directory_of(config):
    """That of the lanes; None: this run is alone."""
    lane = config.getoption("--lane")
    return pathlib.Path(lane) if lane else None


def leave(directory, called):
    (directory / f"{os.getpid()}{SUFFIX}").write_text("\n".join(called))


def missing(directory):
    called = {name for path in directory.glob(f"*{SUFFIX}") for name in path.read_text().split()}
    return sorted(Recorder().operations() - called)


if __name__ == "__main__":
    never = missing(pathlib.Path(sys.argv[1]))
    print(*(f"never called: {name}" for name in never), sep="\n", end="\n" if never else "")
    sys.exit(1 if never else 0)
