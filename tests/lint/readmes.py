#!/usr/bin/env python3
"""What the READMEs say of files is so.

  readmes.py [ROOT]      names what is not
  readmes.py --self-test looks whether it would notice

A file that is named is there, under that name or with folders before it. Where a folder's README has a
table of files, each .c and .h of the folder has a place in it: by its own name, its twin's, or a pattern
(`api_*.c`). What ends in _internal.h belongs to the files beside it.
"""

import fnmatch
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("core", "handlers", "migrations", "server", "tests", "docker")
FENCED = re.compile(r"^ *```.*?^ *```", re.M | re.S)
NAME = re.compile(r"`([\w./*-]+)`")
TABLE = re.compile(r"^\| file \|", re.M)
SUFFIXES = (".c", ".h", ".py", ".mjs", ".sh", ".cmake")


def named(text):
    return NAME.findall(FENCED.sub("", text))


def stem(name):
    return re.sub(r"\.[ch]$", "", name)


def complaints(folder, text, beside, everywhere):
    """Of one README: files that it names and that do not exist, and files that it does not name."""
    names = named(text)
    for name in names:
        if name.endswith(SUFFIXES) and not name.startswith(".") and \
                not fnmatch.filter(everywhere, f"*/{name}"):
            yield f"{folder}: there is no {name}"
    if not TABLE.search(text):
        return
    for file in beside:
        if file.endswith((".c", ".h")) and not file.endswith("_internal.h") and \
                not any(fnmatch.fnmatch(stem(file), stem(name)) for name in names):
            yield f"{folder}: {file} has no place in the table of files"


def self_test():
    table = "| file | what |\n|---|---|\n| `a.h`, `b_*.c` | one |\n```\n`z.c`\n```\n"
    files = ["a.c", "a.h", "b_1.c", "a_internal.h", "CMakeLists.txt"]
    paths = [f"/y/{name}" for name in files]
    assert not list(complaints("x", table, files, paths))
    assert list(complaints("x", table, [*files, "c.c"], paths)) == [
        "x: c.c has no place in the table of files"]
    assert list(complaints("x", "`d.h`, `z/a.h`, `a.c`, `b_*.c`", files, paths)) == [
        "x: there is no d.h", "x: there is no z/a.h"]
    assert not list(complaints("x", "`y/a.h`", [*files, "c.c"], paths))


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    paths = [path for folder in FOLDERS for path in (root / folder).rglob("*")
             if path.is_file() and not {"node_modules", ".venv"} & set(path.parts)]
    everywhere = [f"/{path.relative_to(root)}" for path in paths]
    readmes = [root / "README.md", *(path for path in paths if path.suffix == ".md")]
    found = [complaint for readme in readmes for complaint in complaints(
        readme.relative_to(root), readme.read_text(),
        sorted(path.name for path in paths if path.parent == readme.parent), everywhere)]
    print("\n".join(found) or f"{len(readmes)} READMEs say what there is")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(self_test() if sys.argv[1:] == ["--self-test"] else main())
