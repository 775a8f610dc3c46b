#!/usr/bin/env python3
"""A folder of sources is a room: small enough to know, with a README that says what lives in it.

  rooms.py [ROOT]      names each folder that is not
  rooms.py --self-test breaks each rule once and looks whether it is caught

The rules: no folder holds more than FILES_LIMIT .c and .h files. A folder of core/, handlers/ or server/ with more
than QUIET_LIMIT of them has a README.md. A README.md there is a screen: at most LINES_LIMIT lines.
"""

import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNTED = ("core", "handlers", "server", "tests")
DESCRIBED = ("core", "handlers", "server")
FILES_LIMIT = 35
QUIET_LIMIT = 3
LINES_LIMIT = 80


def folders(root):
    """Each folder below COUNTED, from the root, with its number of sources."""
    for top in COUNTED:
        for folder in [root / top, *sorted((root / top).rglob("*"))]:
            if folder.is_dir() and not {"node_modules", ".venv"} & set(folder.parts):
                yield (folder.relative_to(root),
                       sum(file.suffix in (".c", ".h") for file in folder.iterdir() if file.is_file()))


def complaints(root):
    for folder, count in folders(root):
        readme = root / folder / "README.md"
        described = folder.parts[0] in DESCRIBED
        if count > FILES_LIMIT:
            yield f"{folder}: {count} sources, at most {FILES_LIMIT}: it hides rooms"
        if described and count > QUIET_LIMIT and not readme.is_file():
            yield f"{folder}: {count} sources and no README.md"
        if described and readme.is_file():
            lines = len(readme.read_text(encoding="utf-8").splitlines())
            if lines > LINES_LIMIT:
                yield f"{folder}/README.md: {lines} lines, at most {LINES_LIMIT}: it is more than a screen"


def self_test():
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)

        def make(folder, sources, lines=None):
            (root / folder).mkdir(parents=True, exist_ok=True)
            for i in range(sources):
                (root / folder / f"{i}.{'ch'[i % 2]}").touch()
            (root / folder / "CMakeLists.txt").touch()
            if lines is not None:
                (root / folder / "README.md").write_text("x\n" * lines)

        make("core", 0, LINES_LIMIT)
        make("core/quiet", QUIET_LIMIT)
        make("core/full", FILES_LIMIT, 1)
        make("server/node_modules/x", FILES_LIMIT + 1)
        make("tests/unit", FILES_LIMIT)
        make("tests/lint", 0, LINES_LIMIT + 1)
        assert list(complaints(root)) == [], list(complaints(root))

        make("core/silent", QUIET_LIMIT + 1)
        make("core/full/heap", FILES_LIMIT + 1, 1)
        make("handlers", 0, LINES_LIMIT + 1)
        make("tests/unit/heap", FILES_LIMIT + 1)
        assert list(complaints(root)) == [
            f"core/full/heap: {FILES_LIMIT + 1} sources, at most {FILES_LIMIT}: it hides rooms",
            f"core/silent: {QUIET_LIMIT + 1} sources and no README.md",
            f"handlers/README.md: {LINES_LIMIT + 1} lines, at most {LINES_LIMIT}: it is more than a screen",
            f"tests/unit/heap: {FILES_LIMIT + 1} sources, at most {FILES_LIMIT}: it hides rooms",
        ], list(complaints(root))


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    found = list(complaints(root))
    rooms = sum(count > 0 for _, count in folders(root))
    if not rooms:
        found = [f"no sources below {root}"]
    print("\n".join(found) or f"{rooms} rooms")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(self_test() if sys.argv[1:] == ["--self-test"] else main())
