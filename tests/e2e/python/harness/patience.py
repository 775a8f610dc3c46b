"""How long a test waits for what only something that hangs keeps it from.

The seconds are more than a quiet machine ever takes. `run.sh` says by how much they are stretched, in
RUNNEL_TEST_PATIENCE: the build knows, because a sanitizer makes the server slower (tests/CMakeLists.txt)."""

import os

FACTOR = int(os.environ.get("RUNNEL_TEST_PATIENCE", "1"))


def patience(seconds):
    return seconds * FACTOR
