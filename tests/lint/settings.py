#!/usr/bin/env python3
"""The settings in the manual are those that the program prints.

  settings.py RUNNEL [--fix]   compares, or writes, the rows between the two markers
  settings.py --self-test      looks whether it would notice

The page groups the settings under headings, and each one stands in exactly one group. --fix writes the
rows anew where they stand, and puts a new setting behind the one that the program prints before it.
"""

import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "server" / "manual" / "configuration.md"
BEGIN, END = "<!-- runnel settings -->\n", "<!-- end -->\n"
ROW = re.compile(r"^\| `(\w+)` \|.*\n", re.M)


def rows(text):
    """[(name, row)], as they stand."""
    return [(match[1], match[0]) for match in ROW.finditer(text)]


def complaints(printed, shown):
    """What the page says of settings that is not so."""
    wanted, names = dict(rows(printed)), [name for name, _ in rows(shown)]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"{name} stands there more than once"
    for name in sorted(wanted.keys() - set(names)):
        yield f"{name} is missing"
    for name, row in rows(shown):
        if name not in wanted:
            yield f"there is no setting {name}"
        elif row != wanted[name]:
            yield f"{name} should be\n  {wanted[name]}  not\n  {row}".rstrip()


def fixed(printed, shown):
    wanted = dict(rows(printed))
    shown = ROW.sub(lambda match: wanted.get(match[1], ""), shown)
    before = None
    for name, row in wanted.items():
        if f"\n| `{name}` |" not in shown:
            after = wanted.get(before) or "|---|---|---|\n"
            shown = shown.replace(after, after + row, 1)
        before = name
    return shown


def self_test():
    printed = "| setting | default | |\n|---|---|---|\n| `a` | 1 | x |\n| `b` | 2 | y |\n| `c` | 3 | z |\n"
    shown = "### One\n\n|s|\n|---|---|---|\n| `c` | 3 | z |\n\n### Two\n\n|s|\n|---|---|---|\n| `a` | 1 | x |\n| `b` | 2 | y |\n"
    assert not list(complaints(printed, shown))
    for other in (shown.replace("| `b` | 2 | y |\n", ""), shown.replace("| 3 |", "| 4 |"),
                  shown + "| `d` | 5 | v |\n", shown.replace("| `a` | 1 | x |\n", "")):
        assert len(list(complaints(printed, other))) == 1
        assert sorted(rows(fixed(printed, other))) == rows(printed)
        assert not list(complaints(printed, fixed(printed, other)))
    assert fixed(printed, shown.replace("| `b` | 2 | y |\n", "")) == shown
    assert list(complaints(printed, shown + "| `a` | 1 | x |\n"))


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    runnel, *options = sys.argv[1:]
    printed = subprocess.run([runnel, "settings"], capture_output=True, text=True, check=True).stdout
    text = PAGE.read_text(encoding="utf-8")
    if len(rows(printed)) < 10 or text.count(BEGIN) != 1 or text.count(END) != 1:
        print(f"settings: `runnel settings` prints a table, and {PAGE.name} has {BEGIN.strip()} and {END.strip()} once")
        return 1
    before, rest = text.split(BEGIN)
    shown, after = rest.split(END)
    found = list(complaints(printed, shown))
    if found and "--fix" in options:
        PAGE.write_text(f"{before}{BEGIN}{fixed(printed, shown)}{END}{after}", encoding="utf-8")
        print(f"settings: {PAGE.name} was changed")
        return 0
    for complaint in found:
        print(f"settings: {PAGE.name}: {complaint}")
    if found:
        print("settings: run tests/lint/settings.py build-check/runnel --fix")
        return 1
    print(f"settings: {len(rows(printed))} settings, {PAGE.name} says the same")
    return 0


if __name__ == "__main__":
    sys.exit(main())
