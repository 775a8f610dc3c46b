#!/usr/bin/env python3
"""The same documents and questions through whole servers with both engines, and how many are found by each.

  engines.py RUNNEL [--documents 300] [--packages FOLDER]

English and Chinese manual pages of known_items.py, by words and by the vectors of the scripted upstream, for which texts with the same
words are near. The engine pgvector must find as many as the built-in one, within 0.01. Exit status 77: no package could be fetched, or
there is no pgvector.
"""

import argparse
import contextlib
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/bench"))

import corpora  # noqa: E402
import known_items  # noqa: E402
import retrieval  # noqa: E402
from ingestion import Client, NoUpstream  # noqa: E402
from processes import BOTH_CORES, Process, Runnel, free_port, wait_for_port  # noqa: E402

DIMENSIONS = 1024
LANGUAGES = ["English manual pages", "Chinese manual pages"]


def documents(folder, count):
    """(text, question), as many of each language; the questions of some have others as well."""
    found = []
    for name, packages, documents_of, _, _, _ in known_items.CORPORA:
        if name not in LANGUAGES or not all(known_items.fetch(package, folder) for package in packages):
            continue
        every = [document for document in corpora.own_questions(
            document for package in packages for document in documents_of(folder / "root" / package)) if document[1]]
        found += every[::max(1, len(every) * len(LANGUAGES) // count)]
    return found


class Model(Process):
    def __init__(self, runnel):
        self.port = free_port(24000)
        super().__init__([runnel, "upstream", "--listen", f"127.0.0.1:{self.port}"], stdout=subprocess.DEVNULL)
        wait_for_port(self.port)


def measure(client, documents):
    """recall@10 and MRR, by words and vectors, and by vectors alone."""
    store = client.store()
    files = [client.upload(f"{n}.txt", text.encode()) for n, (text, _) in enumerate(documents)]
    client.attached(store, files)
    for what, weights in (("words and vectors", (1, 1)), ("vectors alone", (1, 0))):
        found = places = 0
        for file, (_, question) in zip(files, documents):
            page = client.ask("POST", f"/vector_stores/{store}/search", {
                "query": question, "max_num_results": 50,
                "ranking_options": {"hybrid_search": {"embedding_weight": weights[0], "text_weight": weights[1]}}})
            assert page["runnel"]["mode"] == "hybrid" and "degraded" not in page["runnel"], page["runnel"]
            hits = list(dict.fromkeys(hit["file_id"] for hit in page["data"]))
            place = hits.index(file) + 1 if file in hits else 0
            found += 0 < place <= 10
            places += 1 / place if place else 0
        yield what, found / len(documents), places / len(documents)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runnel", type=pathlib.Path)
    parser.add_argument("--documents", default=300, type=int)
    parser.add_argument("--packages", type=pathlib.Path)
    options = parser.parse_args()
    runnel = options.runnel.resolve()
    with tempfile.TemporaryDirectory(prefix="runnel-engines-", dir="/tmp") as scratch:
        scratch = pathlib.Path(scratch)
        scratch.chmod(0o755)
        programs = retrieval.pgvector_programs()
        if not programs:
            print("SKIPPED 1 (no pgvector)")
            return known_items.SKIPPED
        asked = documents(options.packages or scratch / "packages", options.documents)
        if not asked:
            print("SKIPPED 1 (no package can be fetched)")
            return known_items.SKIPPED
        results = {}
        with Model(runnel) as model:
            config = scratch / "runnel.yaml"
            config.write_text(f'upstreams:\n  - {{name: main, url: "http://127.0.0.1:{model.port}/v1"}}\n'
                              f"embeddings: {{upstream: main, model: words, dimensions: {DIMENSIONS}}}\n")
            for engine in ("builtin", "pgvector"):
                with contextlib.ExitStack() as stack:
                    more = ["--retrieval-engine", engine]
                    if engine == "pgvector":
                        more += ["--database-url", stack.enter_context(retrieval.Postgres(scratch / "pg", programs)).url]
                    folder = scratch / engine
                    folder.mkdir()
                    folder.chmod(0o777)
                    server = stack.enter_context(Runnel(runnel.parent, NoUpstream, str(folder / "data"), BOTH_CORES, config, more))
                    results[engine] = list(measure(Client(f"http://127.0.0.1:{server.port}/v1"), asked))
    off = 0
    for (what, *ours), (_, *theirs) in zip(*results.values()):
        print(f"{what}, {len(asked)} documents: built-in recall@10 {ours[0]:.3f} MRR {ours[1]:.3f}, pgvector recall@10 "
              f"{theirs[0]:.3f} MRR {theirs[1]:.3f}")
        off = max(off, *(abs(one - other) for one, other in zip(ours, theirs)))
    if off > known_items.TOLERANCE:
        print(f"engines: they differ by {off:.3f}; at most {known_items.TOLERANCE}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
