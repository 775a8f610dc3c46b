"""Tests that execute code skip themselves where the machine cannot confine it, by name and with the reason. With
RUNNEL_REQUIRE_SANDBOX=1 they fail instead."""

import functools
import os
import subprocess

import pytest

PYTHON = "import matplotlib, numpy, pandas"


@functools.cache
def lacking(binary):
    """What code needs and this machine lacks; None: it can run."""
    try:
        done = subprocess.run([binary, "sandbox"], capture_output=True, text=True, timeout=60, check=False)
        if done.returncode:
            return "no user namespaces"
        subprocess.run(["/usr/bin/python3", "-I", "-c", PYTHON], capture_output=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return "no Python with matplotlib"
    return None


def require_sandbox(binary):
    reason = lacking(binary)
    if reason and os.environ.get("RUNNEL_REQUIRE_SANDBOX") == "1":
        pytest.fail(f"RUNNEL_REQUIRE_SANDBOX=1, and there is: {reason}")
    if reason:
        pytest.skip(reason)
