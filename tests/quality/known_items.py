#!/usr/bin/env python3
"""Searches for documents that are known to be there, and compares how many are found with what is recorded.

  known_items.py PROGRAM [--packages FOLDER] [--only NAME] [--print]

Corpora are packages of Debian, fetched with `apt-get download` and unpacked with dpkg-deb: images for containers leave documents
out when they install. Recorded values belong to a version. Another version is printed and not judged. Exit status 77: no
package could be fetched, so nothing was measured.

The rules of words and chunks were made without the corpora that are held out. Try a change of those rules on the
others, and let these say whether it was right.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import corpora

TOLERANCE = 0.01
SKIPPED = 77

# name, packages with the versions of the recorded values, documents of them, recall@10 and MRR, held out
CORPORA = [
    ("English manual pages", {"manpages": "6.03-2", "manpages-dev": "6.03-2"}, corpora.english_pages, 0.826, 0.568, False),
    ("Chinese manual pages", {"manpages-zh": "1.6.4.0-1"},
     lambda root: corpora.manual_pages(root, "zh_CN", True), 0.864, 0.656, False),
    ("PostgreSQL's documentation", {"postgresql-doc-15": "15.20-0+deb12u1"}, corpora.postgresql, 0.870, 0.647, False),
    ("LibreOffice's help in Chinese", {"libreoffice-help-zh-cn": "4:7.4.7-1+deb12u14"}, corpora.libreoffice, 0.831, 0.559, False),
    ("Japanese manual pages", {"manpages-ja": "0.5.0.0.20221215+dfsg-1"},
     lambda root: corpora.manual_pages(root, "ja", True), 0.865, 0.634, True),
    ("French manual pages", {"manpages-fr": "4.18.1-1"}, lambda root: corpora.manual_pages(root, "fr"), 0.876, 0.628, True),
]


def run(*command, **options):
    return subprocess.run(command, check=False, capture_output=True, text=True, **options)


def fetch(package, folder):
    """Unpacks a package into the folder, and returns its version; None if it cannot be fetched."""
    packed = folder / "packed" / package
    packed.mkdir(parents=True, exist_ok=True)
    if not list(packed.glob("*.deb")):
        run("apt-get", "download", "-q", package, cwd=packed)
    files = list(packed.glob("*.deb"))
    if not files:
        return None
    root = folder / "root" / package
    if not root.is_dir():
        root.mkdir(parents=True)
        if run("dpkg-deb", "-x", str(files[0]), str(root)).returncode:
            return None
    return run("dpkg-deb", "-f", str(files[0]), "Version").stdout.strip()


def measure(program, documents):
    lines = "".join(json.dumps({"text": text, **({"query": query} if query else {})}) + "\n"
                    for text, query in documents)
    done = run(program, input=lines)
    if done.returncode:
        sys.exit(f"{program}: {done.stderr}")
    return json.loads(done.stdout)


def look(program, folder, corpus):
    """Measures one corpus. Returns what is wrong, or None; and whether something was measured."""
    name, packages, documents_of, recall, mrr, held_out = corpus
    versions = {package: fetch(package, folder) for package in packages}
    missing = [package for package, version in versions.items() if not version]
    if missing:
        print(f"{name}: skipped, {', '.join(missing)} cannot be fetched")
        return None, False
    documents = corpora.own_questions(document for package in packages
                                      for document in documents_of(folder / "root" / package))
    found = measure(program, documents)
    same = versions == packages
    print(f"{name}: recall@10 {found['recall_10']:.3f} ({recall:.3f}), MRR {found['mrr']:.3f} ({mrr:.3f}), "
          f"{found['queries']} queries in {found['documents']} documents, {found['chunks']} chunks, "
          f"{found['text_bytes'] / 2**20:.1f} MiB in {found['index_seconds']:.2f} s, "
          f"{100 * found['segment_bytes'] / found['text_bytes']:.0f} % for the index, {found['query_ms']:.2f} ms a query"
          + (", held out" if held_out else "")
          + ("" if same else f"; not judged: recorded for {packages}, this is {versions}"))
    off = max(abs(found["recall_10"] - recall), abs(found["mrr"] - mrr))
    if same and off > TOLERANCE:
        return f"{name}: {off:.3f} off what is recorded; at most {TOLERANCE}", True
    return None, True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--packages", help="a folder that keeps the packages; otherwise they are fetched anew")
    parser.add_argument("--only", help="corpora with this in their name")
    parser.add_argument("--print", action="store_true", help="judge nothing")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(options.packages or scratch)
        results = [look(options.program, folder, corpus) for corpus in CORPORA
                   if not options.only or options.only in corpus[0]]
    if not any(measured for _, measured in results):
        print("known_items: no package could be fetched")
        return SKIPPED
    complaints = [complaint for complaint, _ in results if complaint]
    if complaints and not options.print:
        print("\n".join(complaints))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
