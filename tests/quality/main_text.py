#!/usr/bin/env python3
"""How well the main text of pages is found, beside readability-lxml and trafilatura.

  main_text.py PROGRAM [--packages FOLDER] [--only WORD] [--pages]

The pages are of Debian's packages of documentation (pages.txt), fetched with `apt-get download`. pages.txt says which
blocks of each page a person came to read; none of their text is here. A page that is no longer the one of pages.txt is
left out by name.

F1 of a page: words and numbers in small letters are counted (page_blocks.tokens). What a text and the chosen blocks have
in common, each token as often as both have it, divided by the tokens of the text is the precision, by those of the blocks
the recall; F1 is their harmonic mean. A row is the mean of its pages. Texts are

  ours         the Markdown without links and pictures, as it is
  trafilatura  extract() without comments, as text
  readability  the blocks of Document().summary()

It fails if ours is worse than the better of the two, on the pages that rules were tuned on or on those held out. Do not
tune on the latter. Exit status 77: nothing could be measured.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import venv

SKIPPED = 77
HERE = pathlib.Path(__file__).resolve().parent
TEXTS = ("ours", "trafilatura", "readability")
Page = collections.namedtuple("Page", "style held_out package version path fingerprint ranges")


def run(*command, **options):
    return subprocess.run(command, check=False, capture_output=True, text=True, **options)


def skip(reason):
    print(f"main_text: skipped, {reason}")
    sys.exit(SKIPPED)


def in_own_environment(folder):
    """Becomes the interpreter that has the packages of requirements.txt."""
    environment = folder / "venv"
    python, wanted = environment / "bin/python", HERE / "requirements.txt"
    made = environment / "requirements.txt"
    if sys.prefix == str(environment):
        return
    if not made.exists() or made.read_bytes() != wanted.read_bytes():
        venv.create(environment, with_pip=True, clear=True)
        done = run(str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps",
                   "--require-hashes", "-r", str(wanted))
        if done.returncode:
            skip("readability-lxml and trafilatura cannot be installed: " + done.stderr.strip()[-300:])
        made.write_bytes(wanted.read_bytes())
    os.execv(python, [str(python), *sys.argv, "--packages", str(folder)])


def read_pages():
    pages, about = [], None
    for line in (HERE / "pages.txt").read_text().splitlines():
        if line.startswith("  "):
            name, fingerprint, ranges = line.split()
            style, held_out, package, version, folder = about
            pages.append(Page(style, held_out, package, version, f"{folder}/{name}", fingerprint, ranges))
        elif line and not line.startswith("#"):
            style, *held_out, package, folder = line.split(" | ")
            about = (style, bool(held_out), *package.split(), folder)
    return pages


def fetch(package, paths, folder):
    """Has the files of a package in the folder; None, or why not."""
    root = folder / "pages" / package
    if (root / "complete").exists() and all((root / path).exists() for path in paths):
        return None
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        run("apt-get", "download", "-q", package, cwd=scratch)
        files = list(pathlib.Path(scratch).glob("*.deb"))
        if not files:
            return "it cannot be fetched"
        root.mkdir(parents=True, exist_ok=True)
        packed = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(files[0])], stdout=subprocess.PIPE)
        taken = subprocess.run(["tar", "-x", "-C", str(root), *(f"./{path}" for path in paths)], check=False,
                               stdin=packed.stdout, capture_output=True)
        packed.stdout.close()
        if packed.wait() or taken.returncode:
            return "it has no longer these pages"
    (root / "complete").touch()
    return None


def missing_packages(pages, folder):
    paths = collections.defaultdict(list)
    for page in pages:
        paths[page.package].append(page.path)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        found = workers.map(lambda package: (package, fetch(package, paths[package], folder)), paths)
        return {package: why for package, why in found if why}


def f1(text, chosen):
    import page_blocks
    got = collections.Counter(page_blocks.tokens(text))
    want = collections.Counter(page_blocks.tokens("\n".join(chosen)))
    common = (got & want).total()
    return 2 * common / (got.total() + want.total()) if common else 0.0


def other_texts(html):
    import page_blocks
    import readability
    import trafilatura
    summary = readability.Document(html).summary()
    return {"trafilatura": trafilatura.extract(html, include_comments=False) or "",
            "readability": "\n".join(text for text, _ in page_blocks.blocks(summary))}


def measure(page, ours, folder):
    """The F1 of each text, or None: it is another page now."""
    import page_blocks
    sys.setrecursionlimit(20000)
    html = page_blocks.decoded((folder / "pages" / page.package / page.path).read_bytes())
    found = page_blocks.blocks(html)
    chosen = page_blocks.chosen(found, page.ranges)
    if page_blocks.fingerprint(chosen) != page.fingerprint:
        return None
    texts = {"ours": ours["text"], **other_texts(html)}
    return {name: f1(text, chosen) for name, text in texts.items()}


def mean(rows, name):
    return sum(scores[name] for _, scores in rows) / len(rows)


def print_row(label, rows):
    print(f"  {label:30} {len(rows):3}" + "".join(f"  {mean(rows, name):11.4f}" for name in TEXTS))


def print_table(rows):
    print(f"  {'F1 of the main text':26} pages" + "".join(f"  {name:>11}" for name in TEXTS))
    for style in dict.fromkeys(page.style for page, _ in rows):
        print_row(style, [row for row in rows if row[0].style == style])


def judge(label, rows):
    """Prints a total; what is wrong with it, or None."""
    if not rows:
        return None
    print_row(label, rows)
    best = max(TEXTS[1:], key=lambda name: mean(rows, name))
    if mean(rows, "ours") < mean(rows, best):
        return f"{label}: ours {mean(rows, 'ours'):.4f}, {best} {mean(rows, best):.4f}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--packages", help="a folder that keeps what was fetched; otherwise it is fetched anew")
    parser.add_argument("--only", help="styles, packages and files with this in their name")
    parser.add_argument("--pages", action="store_true", help="show each page, and judge nothing")
    options = parser.parse_args()
    folder = pathlib.Path(options.packages or tempfile.mkdtemp()).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    in_own_environment(folder)

    pages = [page for page in read_pages() if not options.only or options.only in f"{page.style} {page.package} {page.path}"]
    missing = missing_packages(pages, folder)
    for package, why in missing.items():
        print(f"{package}: skipped, {why}")
    pages = [page for page in pages if page.package not in missing]
    if not pages:
        skip("no package could be fetched")
    done = run(options.program, *(str(folder / "pages" / page.package / page.path) for page in pages))
    if done.returncode:
        sys.exit(f"{options.program}: {done.stderr}")
    ours = [json.loads(line) for line in done.stdout.splitlines()]
    rows = [(page, measure(page, text, folder)) for page, text in zip(pages, ours)]
    for page, scores in rows:
        if not scores:
            print(f"{page.package} {page.path}: skipped, it is not the page of {page.version}")
        elif options.pages:
            print(f"  {'held' if page.held_out else ''} {page.package} {page.path.rsplit('/', 1)[1]:30}"
                  + "".join(f"  {scores[name]:.4f}" for name in TEXTS))
    rows = [row for row in rows if row[1]]
    if not rows:
        skip("none of the pages is the one that pages.txt describes")

    print_table(rows)
    complaints = [judge("tuned on", [row for row in rows if not row[0].held_out]),
                  judge("held out", [row for row in rows if row[0].held_out]), judge("all", rows)]
    print(f"  {len(missing)} packages skipped; ours took {sum(text['ms'] for text in ours) / len(ours):.2f} ms a page")
    complaints = [complaint for complaint in complaints if complaint]
    if complaints and not options.pages:
        print("\n".join(complaints))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
