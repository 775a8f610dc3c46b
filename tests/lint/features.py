#!/usr/bin/env python3
"""Every feature of the tool engine is named by a test.

  features.py [ROOT]      names those that are not
  features.py --self-test looks whether it would notice

Features have numbers, F01 to F110. A test names one in its name or in a text beside it; a range of them
names nothing.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
WANTED = [*range(1, 51), *range(56, 81), *range(83, 86), *range(104, 109), 110]

RANGE = re.compile(r"\bF\d+\s*(?:-|–|to|\.\.)\s*F?\d+", re.I)
NUMBER = re.compile(r"(?<![0-9A-Za-z])F(\d{2,3})(?![0-9A-Za-z])", re.I)


def named_in(text):
    return {int(number) for number in NUMBER.findall(RANGE.sub("", text))}


def named(root):
    found = set()
    for path in sorted((root / "tests").rglob("*")):
        inside = path.relative_to(root / "tests").parts
        if path.suffix in (".py", ".c", ".h", ".mjs") and not {"node_modules", ".venv", "lint"} & set(inside):
            found |= named_in(path.read_text(errors="replace"))
    return found


def self_test():
    assert named_in("def test_F05_f110_x(): # F12–F14, F20 to F22") == {5, 110}
    assert named_in("0F09 F1 xF33 F104x") == set()


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    found = named(pathlib.Path(sys.argv[1]) if sys.argv[1:] else ROOT)
    missing = [number for number in WANTED if number not in found]
    for number in missing:
        print(f"features: no test names F{number:02}")
    print(f"features: {len(WANTED)} wanted, {len(missing)} without a test")
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
