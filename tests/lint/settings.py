#!/usr/bin/env python3
"""The settings table of README.md is the one that the program prints.

  settings.py RUNNEL [--fix]      compares, or writes, what stands between the two markers
"""

import difflib
import pathlib
import subprocess
import sys

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"
BEGIN, END = "<!-- runnel settings -->\n", "<!-- end -->\n"


def main():
    runnel, *options = sys.argv[1:]
    printed = subprocess.run([runnel, "settings"], capture_output=True, text=True, check=True).stdout
    if printed.count("\n") < 10:
        print(f"settings: `runnel settings` printed no table: {printed!r}")
        return 1
    text = README.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        print(f"settings: README.md needs {BEGIN.strip()} and {END.strip()} around its table, once")
        return 1
    before, rest = text.split(BEGIN)
    table, after = rest.split(END)
    if table.strip() == printed.strip():
        print(f"settings: {printed.count(chr(10)) - 2} settings, README.md says the same")
        return 0
    if "--fix" in options:
        README.write_text(f"{before}{BEGIN}{printed.strip()}\n{END}{after}", encoding="utf-8")
        print("settings: README.md was changed")
        return 0
    print(*difflib.unified_diff(table.strip().splitlines(), printed.strip().splitlines(),
                                "README.md", "runnel settings", lineterm="", n=0), sep="\n")
    print("settings: run tests/lint/settings.py build-check/runnel --fix")
    return 1


sys.exit(main())
