#!/usr/bin/env python3
"""Every feature of the tool engine has a line in tests/FEATURES.md, and tests that name it.

  features.py [ROOT]      names what is missing
  features.py --places    prints the files that name each feature, those with the most tests first
  features.py --fix       follows files that have moved
  features.py --self-test breaks each rule once and looks whether it is caught

Features have numbers, F01 to F110. A test names its features beside it, never in its own name: Python in
a marker, @pytest.mark.feature("F05"), or in a docstring; C and JavaScript in a comment. A range ("F12 to
F14") names nothing.

A line of FEATURES.md is `| F05 | what it is | places |`. A place is a file under tests/, and it must name
the feature. The place "not yet" says that nothing of the feature is built; then no test may name it.
"""

import ast
import collections
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ALL = range(1, 111)
NOT_YET = "not yet"

RANGE = re.compile(r"\bF\d+\s*(?:-|–|to|\.\.)\s*F?\d+")
NUMBER = re.compile(r"(?<![0-9A-Za-z])F(\d{2,3})(?![0-9A-Za-z])")
IN_NAME = re.compile(r"(?<![0-9A-Za-z])F\d{2,3}(?![0-9A-Za-z])", re.I)
ROW = re.compile(r"^\| F(\d{2,3}) \| (.+?) \| (.+?) \|$")

C_TEST = re.compile(r"^TEST\((\w+)\)", re.M)
C_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|(/\*.*?\*/|//[^\n]*)', re.S)
JS_TEST = re.compile(r"\b(?:it|test|describe)\(\s*([\"'`])(.*?)\1", re.S)
JS_COMMENT = re.compile(r"^\s*//.*$", re.M)


def numbers_in(text):
    return [int(number) for number in NUMBER.findall(RANGE.sub("", text))]


def markers_of(node):
    """The strings in the feature markers of a function, or of `pytestmark = ...`."""
    calls = [call for call in ast.walk(node) if isinstance(call, ast.Call)]
    return " ".join(argument.value for call in calls if ast.unparse(call.func) == "pytest.mark.feature"
                    for argument in call.args if isinstance(argument, ast.Constant))


def read_python(text):
    """(names of the tests, texts that may name features)"""
    tree = ast.parse(text)
    names, texts = [], [ast.get_docstring(tree) or "", markers_of(tree)]
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            texts.append(ast.get_docstring(node) or "")
            if node.name.startswith("test_"):
                names.append(node.name)
    return names, texts


def read_c(text):
    return C_TEST.findall(text), [match[1] or "" for match in C_COMMENT.finditer(text)]


def read_javascript(text):
    return [match[2] for match in JS_TEST.finditer(text)], JS_COMMENT.findall(text)


READERS = {".py": read_python, ".c": read_c, ".h": read_c, ".mjs": read_javascript}


def tests_of(root):
    """{file under tests/: (names of its tests, Counter of the features that it names)}"""
    found = {}
    for path in sorted((root / "tests").rglob("*")):
        inside = path.relative_to(root / "tests")
        if path.suffix in READERS and not {"node_modules", ".venv", "lint"} & set(inside.parts):
            names, texts = READERS[path.suffix](path.read_text(errors="replace"))
            found[str(inside)] = names, collections.Counter(number for text in texts for number in numbers_in(text))
    return found


def rows_of(text):
    """(number, places) for each line of the table"""
    for line in text.splitlines():
        row = ROW.match(line)
        if row:
            yield int(row[1]), re.findall(r"[`\[]([\w./-]+)[`\]]", row[3]) or [row[3]]


def label(number):
    return f"F{number:02}"


def problems_of(root):
    found = tests_of(root)
    named = set().union(*(counts for _, counts in found.values()))
    for path, (names, _) in found.items():
        for name in names:
            if IN_NAME.search(name.replace("_", " ")):
                yield f"tests/{path}: {name}: the number belongs in a marker or a comment, not in the name"

    places_of = collections.defaultdict(list)
    for number, places in rows_of((root / "tests/FEATURES.md").read_text()):
        places_of[number].append(places)
    for number in ALL:
        if len(places_of[number]) != 1:
            yield f"tests/FEATURES.md has {len(places_of[number])} lines for {label(number)}"
        for place in (place for places in places_of[number] for place in places):
            if place == NOT_YET:
                if number in named:
                    yield f"tests/FEATURES.md: {label(number)} is not built yet, but a test names it"
            elif place not in found:
                yield f"tests/FEATURES.md: {label(number)}: tests/{place} does not exist"
            elif number not in found[place][1]:
                yield f"tests/FEATURES.md: {label(number)}: tests/{place} does not name it"
    for number in sorted((named | set(places_of)) - set(ALL)):
        yield f"{label(number)} is no feature"


def follow_moves(text, found):
    """The table with the new place of each file that has moved: the one file of that name which names the
    feature."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        row = ROW.match(line)
        for number, places in rows_of(line):
            for place in places:
                name = pathlib.PurePath(place).name
                moved = [path for path, (_, counts) in found.items()
                         if pathlib.PurePath(path).name == name and number in counts]
                if row and place != NOT_YET and place not in found and len(moved) == 1:
                    lines[i] = lines[i].replace(f"`{place}`", f"`{moved[0]}`")
    return "\n".join(lines)


def print_places(root):
    found = tests_of(root)
    for number in ALL:
        files = sorted(((counts[number], path) for path, (_, counts) in found.items() if number in counts),
                       key=lambda pair: (-pair[0], pair[1]))
        print(label(number), " ".join(f"{path}:{count}" for count, path in files) or NOT_YET)


# The cases of the self-test: a path, its text, and a part of the complaint (None: no complaint).
PYTHON = "tests/e2e/test_a.py"
CASES = [
    (PYTHON, '@pytest.mark.feature("F01")\ndef test_x():\n    pass\n', None),
    (PYTHON, 'pytestmark = [pytest.mark.slow, pytest.mark.feature("F02", "F01")]\n', None),
    (PYTHON, 'def test_x():\n    """F01: it is."""\n', None),
    (PYTHON, '"""F01."""\n', None),
    (PYTHON, 'F01 = "F01"  # F01\n', "F01: tests/e2e/test_a.py does not name it"),
    (PYTHON, '"""F01 to F03."""\n', "F01: tests/e2e/test_a.py does not name it"),
    (PYTHON, '"""F01."""\ndef test_F01_x():\n    pass\n', "test_F01_x: the number belongs"),
    (PYTHON, '"""F01, F03."""\n', "F03 is not built yet, but a test names it"),
    (PYTHON, '"""F01, F111."""\n', "F111 is no feature"),
    ("tests/unit/test_b.c", "/* F02. */\nTEST(x)\n", None),
    ("tests/unit/test_b.c", '"F02"; // F2\n', "F02: tests/unit/test_b.c does not name it"),
    ("tests/unit/test_b.c", "/* F02. */\nTEST(x_F02_y)\n", "x_F02_y: the number belongs"),
    ("tests/node/c.mjs", '// F02.\nit("F02: works", () => {', "F02: works: the number belongs"),
    ("tests/FEATURES.md", "| F01 | a | `e2e/test_a.py` |\n" * 2, "has 2 lines for F01"),
    ("tests/FEATURES.md", "| F01 | a | `e2e/test_z.py` |\n", "tests/e2e/test_z.py does not exist"),
    ("tests/FEATURES.md", "", "has 0 lines for F01"),
]


def self_test():
    rest = "".join(f"| {label(number)} | a | not yet |\n" for number in ALL[2:])
    whole = {PYTHON: '"""F01."""\n', "tests/unit/test_b.c": "/* F02. */\n", "tests/node/c.mjs": "// F02.\n",
             "tests/FEATURES.md": "| F01 | a | `e2e/test_a.py` |\n"}
    for path, text, complaint in CASES:
        with tempfile.TemporaryDirectory() as root:
            files = {**whole, path: text}
            files["tests/FEATURES.md"] += "| F02 | b | `unit/test_b.c` |\n" + rest
            for name, content in files.items():
                (pathlib.Path(root) / name).parent.mkdir(parents=True, exist_ok=True)
                (pathlib.Path(root) / name).write_text(content)
            problems = list(problems_of(pathlib.Path(root)))
        if complaint is None:
            assert not problems, (path, text, problems)
        else:
            assert any(complaint in problem for problem in problems), (path, text, problems)
    found = {"unit/new/test_b.c": ([], {2: 1}), "unit/c/test_a.c": ([], {3: 1})}
    assert follow_moves("| F02 | b | `unit/test_b.c`, `unit/test_a.c` |", found) == \
        "| F02 | b | `unit/new/test_b.c`, `unit/test_a.c` |"


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    if sys.argv[1:] == ["--places"]:
        print_places(ROOT)
        return 0
    if sys.argv[1:] == ["--fix"]:
        table = ROOT / "tests/FEATURES.md"
        table.write_text(follow_moves(table.read_text(), tests_of(ROOT)))
    problems = list(problems_of(pathlib.Path(sys.argv[1]) if sys.argv[1:] and sys.argv[1] != "--fix" else ROOT))
    for problem in problems:
        print(f"features: {problem}")
    print(f"features: {len(ALL)} features, {len(problems)} problems")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
