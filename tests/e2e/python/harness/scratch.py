"""Where tests keep the data of their servers.

In memory, where there is enough of it. PostgreSQL makes hundreds of files for a database, and removes them after the
test. ext4 gives no inode away again within a minute, so after many removals it looks through all of them for each
new file: a third of the CPU of some tests was that search. None of these tests is about a power failure.
"""

import os
import pathlib
import tempfile

ENOUGH = 4 << 30  # bytes; two runs side by side need one


def parent():
    memory = pathlib.Path("/dev/shm")
    try:
        room = os.statvfs(memory)
    except OSError:
        return "/tmp"
    return memory if os.access(memory, os.W_OK) and room.f_bavail * room.f_frsize >= ENOUGH else "/tmp"


def scratch_directory(prefix):
    """A new directory that PostgreSQL's user can reach, too. The caller removes it."""
    path = pathlib.Path(tempfile.mkdtemp(prefix=prefix, dir=parent()))
    path.chmod(0o755)
    return path
