#!/usr/bin/env python3
"""Words that must not be in the tree.

  banned.py [ROOT]      names each use
  banned.py --self-test looks whether each rule catches what it is for, and only that
"""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

# Calls that C code does not make: names, where they are allowed, and what is better.
CALLS = [
    ("strcpy strcat stpcpy strncpy strncat sprintf vsprintf gets", "", "a struct buf knows its size"),
    ("strtok strtok_r", "", "it writes into its argument; look for the separator"),
    ("atoi atol atoll atof", "", "strtol() and strtod() can say that it is no number"),
    ("system popen", "", "no shell"),
    ("sleep usleep", "", "wait for the event, not for the clock"),
    ("nanosleep clock_nanosleep", "tests", "wait for the event; in tests, only the pace of a slow peer"),
    ("rand srand random srandom drand48", "", "ids.h has random bytes"),
    ("localtime gmtime ctime asctime", "", "they share one buffer; the _r functions do not"),
    ("setenv putenv unsetenv", "tests", "other threads may be reading the environment"),
    ("getenv", "server/config/config.c server/config/files.c server/config/mcp.c server/config/rerank.c server/config/web_search.c server/config/webhooks.c core/base/fault.c tests", "settings come from server/config/config.c"),
    ("PQexec PQexecParams PQprepare PQexecPrepared", "core/store/embedded/embedded.c tests",
     "a frozen PostgreSQL hangs it for ever; use db.h"),
    ("malloc calloc realloc strdup strndup", "core/base/mem.c tests", "mem.h cannot fail"),
    ("exit", "core/base server/main.c tests", "return an error, or assert"),
]

# In every text file: paths of one machine, and what was left undone.
TEXTS = [
    (r"(?<![\w.])/(?:work|root|home/\w+|Users/\w+)/\w", "a path of one machine"),
    # The name of a rule that models are given is no such note.
    (r"(?<!Agent/)(?<![\"`])\b(?:TO[D]O|FIX[M]E|HA[C]K)\b", "finish it, or describe what is missing in README.md"),
    (r"[ \t]+$", "blanks at the end of a line"),
    (r"^(?:<{7}|>{7}) ", "a conflict that was left in"),
]

TEXT_SUFFIXES = {".c", ".h", ".py", ".sh", ".sql", ".yaml", ".yml", ".md", ".txt", ".cmake", ".mjs",
                 ".js", ".ts", ".json", ""}
GENERATED = ("package-lock.json",)
COMMENT = re.compile(r"^[ \t]*/\*.*?\*/", re.MULTILINE | re.DOTALL)
COLUMNS = 120  # of a comment of C; clang-format leaves comments as they are
COMMENTS_AND_STRINGS = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def code_only(text):
    """C without comments and strings, line for line."""
    return COMMENTS_AND_STRINGS.sub(lambda match: "\n" * match.group().count("\n") or " ", text)


def problems_of(path, text):
    """(line number, what is wrong) for each problem of one file."""
    if path.endswith((".c", ".h")):
        code = code_only(text)
        for names, allowed, why in CALLS:
            if any(path == place or path.startswith(place + "/") for place in allowed.split()):
                continue
            for use in re.finditer(rf"(?<![\w.>])({'|'.join(names.split())})\s*\(", code):
                yield code.count("\n", 0, use.start()) + 1, f"{use.group(1)}: {why}"
        for comment in COMMENT.finditer(text):
            for number, line in enumerate(comment.group().split("\n"), text.count("\n", 0, comment.start()) + 1):
                if len(line) > COLUMNS:
                    yield number, f"a comment of {len(line)} columns, and {COLUMNS} are the most"
    for pattern, why in TEXTS:
        for use in re.finditer(pattern, text, re.MULTILINE):
            yield text.count("\n", 0, use.start()) + 1, why


def files(root):
    """What git knows, or would know: no build output, nothing ignored."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, check=False)
    if listed.returncode == 0:
        names = listed.stdout.decode().split("\0")
        return [root / name for name in names if name and (root / name).is_file()]
    return [file for folder in ("core", "handlers", "server", "migrations") for file in (root / folder).rglob("*.*")]


SELF_TEST = [
    # path, text, how many problems
    ("core/a.c", "int f(void) { return 0; } /* sprintf(x) */", 0),
    ("core/a.c", 'puts("strcpy(a, b)");', 0),
    ("core/a.c", "log_sleep(x); p->random(1); snprintf(a, 1, b);", 0),
    ("core/a.c", "sprintf(a, b);", 1),
    ("core/a.c", "/* one\ntwo */ x = atoi (y);", 1),
    ("core/a.c", "value = getenv(name);", 1),
    ("server/config/config.c", "value = getenv(name);", 0),
    ("core/a.c", "sleep(1);\nusleep(1);", 2),
    ("core/a.c", "char *p = malloc(3);", 1),
    ("core/base/mem.c", "char *p = malloc(3);", 0),
    ("docs.md", "see /" + "work/main for this", 1),
    ("docs.md", "as /v1/work/x shows; https://example.org/root/x", 0),
    ("docs.md", "TO" + "DO later", 1),
    ("docs.md", "text \nmore", 1),
    ("core/a.c", "/* a\n * " + "b" * 116 + "\n */ int c;", 0),
    ("core/a.c", "    /* " + "b" * 113 + " */", 1),
    ("core/a.c", "/* a\n * " + "b" * 118 + "\n */", 1),
]


def self_test():
    for path, text, count in SELF_TEST:
        found = list(problems_of(path, text))
        if len(found) != count:
            yield f"{path}: {text!r}: {count} problems expected, found {found}"


def check(root):
    for file in files(root):
        if file.suffix not in TEXT_SUFFIXES or file.name in GENERATED or file.is_symlink():
            continue
        path = file.relative_to(root).as_posix()
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for line, why in problems_of(path, text):
            yield f"{path}:{line}: {why}"


def main():
    if "--self-test" in sys.argv:
        problems, what = list(self_test()), "self-test"
    else:
        root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent.parent
        problems, what = list(check(root)), "tree"
    print(*problems, f"banned: {what}, {len(problems)} problems", sep="\n")
    return 1 if problems else 0


sys.exit(main())
