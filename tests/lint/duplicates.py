#!/usr/bin/env python3
"""Ten lines that stand twice.

  duplicates.py [ROOT]      names each stretch of lines that is in two places
  duplicates.py --self-test looks whether it finds what it is for, and only that

Blank lines do not count, nor how lines are indented and spaced. Includes and imports do not count either: they
say what a file uses. In tests, nor do lines that only initialise, for two tables of cases may share some.
"""

import collections
import pathlib
import re
import sys

LIMIT = 10
PLACES = [("core", ".c .h"), ("handlers", ".c .h"), ("server", ".c .h"), ("tests", ".c .h .py")]
GENERATED = {".venv", "node_modules", "__pycache__"}

INCLUDE = re.compile(r"#include |import \w|from [\w.]+ import ")
# A row of a table, or a part of one: {...}, "...", 7, .name = ..., [INDEX] = ..., 'key': ...
INITIALISER = re.compile(
    r"""[{(\[] .* [\])}] [,;)]?$              # a row in brackets
      | (?:\w*"(?:\\.|[^"\\])*"\s*|\w*'(?:\\.|[^'\\])*'\s*)+ [,;)\]}]*$  # texts
      | (?:"\w+"|'\w+') \s* : .* [,{\[(]$     # a key and its value
      | -?[\w.]+ ,$                           # a number or a name
      | \.\w+ \s* = .* [,{]$                  # a field
      | \[\w+\] \s* = .* [,{]$                # an element
    """, re.X)


def lines_of(path, text):
    """(line number, line) of those that count, in one form however they are spaced."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        line = " ".join(line.split())
        if not line or INCLUDE.match(line):
            continue
        if path.startswith("tests/") and INITIALISER.match(line):
            continue
        rows.append((number, line))
    return rows


def windows(files):
    """{ten lines: [(path, index of the first among the rows)]} of those that are there more than once."""
    found = collections.defaultdict(list)
    for path, rows in files.items():
        texts = [line for _, line in rows]
        for at in range(len(texts) - LIMIT + 1):
            found[hash(tuple(texts[at:at + LIMIT]))].append((path, at))
    return [places for places in found.values() if len(places) > 1]


def stretches(texts):
    """(path, first line, path, first line, how many) for each pair of places, as long as they are the same."""
    files = {path: lines_of(path, text) for path, text in texts.items()}
    pairs = set()
    for places in windows(files):
        for i, (one, at) in enumerate(places):
            pairs.update(((one, at), (other, place)) for other, place in places[i + 1:]
                         if other != one or place >= at + LIMIT)
    for (one, at), (other, place) in sorted(pairs):
        if ((one, at - 1), (other, place - 1)) in pairs:
            continue
        length = LIMIT
        while ((one, at + length - LIMIT + 1), (other, place + length - LIMIT + 1)) in pairs:
            length += 1
        yield one, files[one][at][0], other, files[other][place][0], length


def sources(root):
    for folder, suffixes in PLACES:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in suffixes.split() and not GENERATED & set(path.parts):
                yield str(path.relative_to(root)), path.read_text(encoding="utf-8")


def numbered(first, last, form="call_{}(x);"):
    return "".join(form.format(n) + "\n" for n in range(first, last))


SELF_TEST = [
    # files, how long the stretches are that must be found
    ({"core/a.c": numbered(0, 10), "core/b.c": numbered(0, 10)}, [10]),
    ({"core/a.c": numbered(0, 9), "core/b.c": numbered(0, 9)}, []),
    ({"core/a.c": numbered(0, 14), "server/b.h": "x;\n" + numbered(1, 13) + "y;\n"}, [12]),
    ({"core/a.c": numbered(0, 10), "core/b.c": numbered(0, 10, "\n\tcall_{}(x); ")}, [10]),
    ({"core/a.c": numbered(0, 10) + "y;\n" + numbered(0, 10)}, [10]),
    ({"core/a.c": "x;\n" * 15}, []),
    ({"core/a.c": numbered(0, 12, '#include "{}.h"'), "core/b.c": numbered(0, 12, '#include "{}.h"')}, []),
    ({"core/a.c": numbered(0, 5) + '#include "x.h"\n' + numbered(5, 10), "core/b.c": numbered(0, 10)}, [10]),
    ({"core/a.c": numbered(0, 12, '{{"{}", 1}},'), "core/b.c": numbered(0, 12, '{{"{}", 1}},')}, [12]),
    ({"tests/a.c": numbered(0, 12, '{{"{}", 1}},'), "tests/b.c": numbered(0, 12, '{{"{}", 1}},')}, []),
    ({"tests/a.c": numbered(0, 12, '.field_{} = 1,'), "tests/b.c": numbered(0, 12, '.field_{} = 1,')}, []),
    ({"tests/a.c": numbered(0, 12, '"text {}"'), "tests/b.c": numbered(0, 12, '"text {}"')}, []),
    ({"tests/a.py": numbered(0, 12, '"key_{}": 7,'), "tests/b.py": numbered(0, 12, '"key_{}": 7,')}, []),
    ({"tests/a.py": numbered(0, 12, "    ask({})"), "tests/b.py": numbered(0, 12, "ask({})")}, [12]),
    ({"tests/a.py": numbered(0, 12, "assert x == {}"), "tests/b.py": numbered(0, 12, "assert x == {}")}, [12]),
    ({"tests/a.c": numbered(0, 12, "assert_true(f({}));"), "tests/b.c": numbered(0, 12, "assert_true(f({}));")}, [12]),
]


def self_test():
    for texts, lengths in SELF_TEST:
        found = [length for *_, length in stretches(texts)]
        if found != lengths:
            yield f"{texts}: stretches of {lengths} lines expected, found {found}"


def main():
    if "--self-test" in sys.argv:
        found = list(self_test())
        print(*found, f"duplicates: {len(SELF_TEST)} samples, {len(found)} wrong", sep="\n")
        return 1 if found else 0
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    texts = dict(sources(root))
    found = list(stretches(texts))
    for one, first, other, second, length in found:
        print(f"{one}:{first} and {other}:{second}: {length} lines are the same")
    print(f"duplicates: {len(texts)} files, {len(found)} stretches of {LIMIT} lines or more stand twice")
    return 1 if found or len(texts) < 100 else 0


sys.exit(main())
