#!/usr/bin/env python3
"""README.md is short, and the manual is whole.

  manual.py [ROOT]      names what is wrong
  manual.py --self-test looks whether it would notice

README.md has at most 150 lines. Every relative link of README.md and of the manual leads to a file, and every
anchor to a heading of it. The index of the manual names every page. Every page begins with an example. The
libraries that CMake looks for are on the page of libraries. tests/e2e/python/test_manual.py runs the examples.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MANUAL = "server/manual"
LINES = 150

FENCED = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.M)
LIBRARY = re.compile(r"pkg_check_modules\(\w+ (?:REQUIRED )?(?:IMPORTED_TARGET )?([\w.-]+)|find_library\(\w+ (\w+)")


def anchors(text):
    """As the sites that render Markdown make them."""
    found = set()
    for heading in HEADING.findall(FENCED.sub("", text)):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = sum(1 for other in found if re.fullmatch(rf"{re.escape(slug)}(?:-\d+)?", other))
        found.add(f"{slug}-{number}" if number else slug)
    return found


def broken_links(path, text):
    """Links to files or anchors that are missing."""
    for link in LINK.findall(FENCED.sub("", text)):
        if re.match(r"\w+:", link):
            continue
        target, _, anchor = link.partition("#")
        file = (path.parent / target).resolve() if target else path
        if not file.exists():
            yield f"{path.name}: {link}: no such file"
        elif anchor and anchor not in anchors(text if file == path else file.read_text()):
            yield f"{path.name}: {link}: no such heading"


def begins_with_example(text):
    """Whether a block stands before the first heading below the title."""
    block = text.find("\n```")
    heading = text.find("\n## ")
    return block >= 0 and (heading < 0 or block < heading)


def missing_pages(index, names):
    linked = {link.partition("#")[0] for link in LINK.findall(index)}
    return [name for name in names if name != "README.md" and name not in linked]


def missing_libraries(cmake, page):
    for module, library in LIBRARY.findall(cmake):
        name = re.sub(r"^lib|[-\d.]+$", "", module or library)
        if name.lower() not in page.lower():
            yield name


def complaints(root):
    readme, manual = root / "README.md", root / MANUAL
    lines = readme.read_text().count("\n")
    if lines > LINES:
        yield f"README.md has {lines} lines, of at most {LINES}; the manual is in {MANUAL}"
    pages = sorted(manual.glob("*.md"))
    for path in (readme, *pages):
        text = path.read_text()
        yield from broken_links(path, text)
        if path.parent == manual and path.name != "README.md" and not begins_with_example(text):
            yield f"{path.name} does not begin with an example"
    for name in missing_pages((manual / "README.md").read_text(), [path.name for path in pages]):
        yield f"{MANUAL}/README.md does not name {name}"
    cmake = "".join((root / path).read_text() for path in ("CMakeLists.txt", "tests/CMakeLists.txt"))
    for name in missing_libraries(cmake, (manual / "libraries.md").read_text()):
        yield f"libraries.md does not name {name}"


def self_test():
    page = "# A b\n\n[x](#c-d), [y](https://e.org/#z)\n```\n[z](none)\n# no heading\n```\n## C, `d`\n## C d\n"
    here = pathlib.Path(__file__)
    assert anchors(page) == {"a-b", "c-d", "c-d-1"}
    assert not list(broken_links(here, page + f"[m]({here.name}) [n](#c-d-1)"))
    assert len(list(broken_links(here, page + "[m](none.md) [n](#no-heading) [o](CMakeLists.txt#a)"))) == 3
    assert begins_with_example(page) and not begins_with_example("# A\n\n## B\n\n```\n```\n")
    assert not begins_with_example("# A\n")
    assert missing_pages("[a](a.md) [b](b.md#c)", ["README.md", "a.md", "b.md", "c.md"]) == ["c.md"]
    cmake = ("pkg_check_modules(A REQUIRED IMPORTED_TARGET libcurl>=7)\nfind_library(W wslay REQUIRED)\n"
             "pkg_check_modules(Y IMPORTED_TARGET yaml-0.1)\npkg_check_modules(P IMPORTED_TARGET libpcre2-8>=10)\n")
    assert list(missing_libraries(cmake, "libcurl, libyaml")) == ["wslay", "pcre"]
    assert not list(missing_libraries(cmake, "libcurl, libyaml, PCRE2, wslay"))


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    found = list(complaints(pathlib.Path(sys.argv[1]) if sys.argv[1:] else ROOT))
    print("\n".join(found) or f"README.md has at most {LINES} lines, and all links lead somewhere")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
