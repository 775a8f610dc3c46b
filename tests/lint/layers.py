#!/usr/bin/env python3
"""Holds the includes of every C file against layers.txt.

  layers.py [ROOT]      names each include that the rules do not allow
  layers.py --self-test breaks each rule once and looks whether it is caught
"""

import fnmatch
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FOLDERS = ("core", "handlers", "server", "tests")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)


class Rules:
    """layers.txt: layers, private headers, and headers of libraries."""

    def __init__(self, text):
        self.layers, self.private, self.libraries = {}, {}, {}
        for line in text.splitlines():
            line = line.split("#")[0].strip()
            if not line:
                continue
            name, _, allowed = line.partition(":")
            table = (self.libraries if name.startswith("<")
                     else self.private if name.endswith(".h") else self.layers)
            table[name.strip("<> ")] = allowed.split()

    def layer_of(self, path):
        fits = [layer for layer in self.layers if covers(layer, path)]
        return max(fits, key=len) if fits else None

    def owners_of(self, header):
        """The only ones who may include it, or None."""
        fits = [pattern for pattern in self.private if fnmatch.fnmatch(header, pattern)]
        return self.private[max(fits, key=len)] if fits else None


def covers(owner, path):
    return path == owner or path.startswith(owner + "/")


def any_covers(owners, path):
    return any(covers(owner, path) for owner in owners)


def complaint(rules, root, path, bracket, target):
    """Why this include is wrong, or None."""
    if bracket == "<":
        for pattern, owners in rules.libraries.items():
            if fnmatch.fnmatch(target, pattern) and not any_covers(owners, path):
                return f"<{target}> is for {' '.join(owners)} only"
        return None
    if not (root / target).is_file():
        if not target.startswith(FOLDERS):
            return f'"{target}" is not a path from the root'
        return f'"{target}" does not exist'
    if ".." in target.split("/"):
        return f'"{target}" is not a path from the root'
    layer = rules.layer_of(path)
    if layer is None:
        return f"{path} belongs to no layer"
    owners = rules.owners_of(target)
    if owners is not None and not any_covers(owners, path):
        return f'"{target}" is for {" ".join(owners)} only'
    if rules.layer_of(target) != layer and not any_covers(rules.layers[layer], target):
        return f'{layer} may not include "{target}"'
    return None


def check(root, rules):
    """All complaints, and how many files were read."""
    found, count = [], 0
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*.[ch]")):
            path = file.relative_to(root).as_posix()
            if "node_modules" in path or ".venv" in path:
                continue
            count += 1
            text = file.read_text(encoding="utf-8")
            for include in INCLUDE.finditer(text):
                why = complaint(rules, root, path, *include.groups())
                if why:
                    line = text.count("\n", 0, include.start(2)) + 1
                    found.append(f"{path}:{line}: {why}")
    return found, count


SELF_TEST = {
    # file: (its includes, what must be said about them)
    "core/base/err.h": ([], []),
    "core/store/store.h": (['"core/base/err.h"'], []),
    "core/store/pg/connection.h": (["<libpq-fe.h>"], []),
    "core/store/pg/db.h": ([], []),
    "core/store/pg/migrate.c": (['"core/store/pg/db.h"', "<nettle/sha2.h>"], []),
    "core/store/cluster/leases.h": ([], []),
    "core/store/writer/group_commit.h": (['"core/store/pg/connection.h"'], []),
    "core/run/engine/engine.h": (['"core/store/store.h"', '"core/base/err.h"'], []),
    "core/run/engine/engine_internal.h": ([], []),
    "server/http/http.c": (["<microhttpd.h>"], []),
    "server/fakemodel/reply.h": ([], []),
    "server/fakemodel/server.h": ([], []),
    "server/main.c": (['"server/fakemodel/server.h"'], []),
    "tests/unit/core/store/test_db.c": (['"core/store/pg/db.h"', "<libpq-fe.h>"], []),
    "core/base/buf.c": (['"core/run/engine/engine.h"'], ["core/base may not include"]),
    "core/store/pg/bad.c": (['"core/store/cluster/leases.h"', "<libpq-fe.h>"],
                            ["core/store/pg may not include", "<libpq-fe.h> is for"]),
    "core/store/cluster/bad.c": (['"core/store/writer/group_commit.h"'],
                                 ['"core/store/writer/group_commit.h" is for']),
    "core/tool/bad.c": (['"core/store/store.h"'], ["core/tool may not include"]),
    "core/run/bad.c": ([], []),
    "core/run/calls/bad.c": (["<libpq-fe.h>", '"core/store/pg/db.h"',
                              '"core/run/engine/engine_internal.h"', '"core/run/bad.c"'],
                             ["<libpq-fe.h> is for", '"core/store/pg/db.h" is for',
                              '"core/run/engine/engine_internal.h" is for',
                              'core/run/calls may not include "core/run/bad.c"']),
    "core/run/homeless.c": (['"core/base/err.h"'], ["belongs to no layer"]),
    "server/bad.c": (["<curl/curl.h>", "<nettle/sha2.h>", "<microhttpd.h>",
                      '"server/fakemodel/reply.h"'],
                     ["<curl/curl.h> is for", "<nettle/sha2.h> is for", "<microhttpd.h> is for",
                      '"server/fakemodel/reply.h" is for']),
    "handlers/bad.c": (['"err.h"', '"../core/base/err.h"', '"core/base/gone.h"'],
                       ['"err.h" is not a path', '"../core/base/err.h" is not a path',
                        '"core/base/gone.h" does not exist']),
}


def self_test(rules):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, (includes, _) in SELF_TEST.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("".join(f"#include {name}\n" for name in includes))
        found, _ = check(root, rules)
    expected = [(path, why) for path, (_, whys) in SELF_TEST.items() for why in whys]
    missed = [f"{path}: not caught: {why}" for path, why in expected
              if not any(line.startswith(path + ":") and why in line for line in found)]
    if len(found) != len(expected):
        missed.append(f"{len(expected)} complaints expected, {len(found)} came: {found}")
    return missed


def main():
    rules = Rules((HERE / "layers.txt").read_text())
    if "--self-test" in sys.argv:
        problems, what = self_test(rules), f"{len(SELF_TEST)} files of the self-test"
    else:
        root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent.parent
        problems, count = check(root, rules)
        what = f"{count} files"
        if count == 0:
            problems = [f"no C files below {root}"]
    print(*problems, f"layers: {what}, {len(problems)} problems", sep="\n")
    return 1 if problems else 0


sys.exit(main())
