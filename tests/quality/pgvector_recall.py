#!/usr/bin/env python3
"""How many of the nearest vectors an HNSW index of pgvector finds, with the settings of the engine, beside a comparison of all.

  pgvector_recall.py [--vectors 22000] [--queries 30]

Each line is a kind of made-up vectors. Prints recall@20 and recall@200, and how near the found ones are, as a share of how near the
best are. Nothing passes or fails here; README.md says what the figures mean.
"""

import argparse
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/bench"))

import retrieval  # noqa: E402

SETTINGS = ("SET hnsw.ef_search = 400; SET hnsw.iterative_scan = relaxed_order; SET hnsw.max_scan_tuples = 40000; "
            "SET enable_seqscan = off;")  # core/store/tables/vector_stores/pgvector.c


def noise(chance, dimensions, size=1.0):
    return [chance.gauss(0, size) for _ in range(dimensions)]


def directions(chance, dimensions):
    """24 directions in different parts, with noise in all numbers: most like texts."""
    parts = [noise(chance, dimensions) for _ in range(24)]

    def vector():
        weights = [chance.gauss(0, 1) for _ in parts]
        return [sum(w * part[i] for w, part in zip(weights, parts)) + chance.gauss(0, 1) for i in range(dimensions)]
    return vector


def clusters(chance, dimensions, size):
    centres = [noise(chance, dimensions) for _ in range(300)]
    return lambda: [one + chance.gauss(0, size) for one in chance.choice(centres)]


def copies(chance, dimensions):
    centres = [noise(chance, dimensions) for _ in range(300)]
    return lambda: chance.choice(centres)


KINDS = [
    ("24 independent directions and noise in 128 dimensions", 128, directions),
    ("300 clusters, 128 dimensions", 128, lambda chance, dimensions: clusters(chance, dimensions, 0.5)),
    ("independent numbers, 128 dimensions", 128, lambda chance, dimensions: lambda: noise(chance, dimensions)),
    ("independent numbers, 384 dimensions", 384, lambda chance, dimensions: lambda: noise(chance, dimensions)),
    ("300 tight clusters, 384 dimensions", 384, lambda chance, dimensions: clusters(chance, dimensions, 0.1)),
    ("300 vectors, each many times", 384, copies),
]


def as_text(vector):
    return "[" + ",".join(f"{number:.4f}" for number in vector) + "]"


class Psql:
    def __init__(self, postgres):
        self.command = [*postgres.user, postgres.bin / "psql", "-qAtX", "-v", "ON_ERROR_STOP=1", postgres.url]

    def ask(self, sql):
        done = subprocess.run(self.command, input=sql, text=True, capture_output=True, check=False, cwd="/")
        if done.returncode:
            sys.exit(done.stderr)
        return [line.split("|") for line in done.stdout.splitlines()]


def fill(psql, dimensions, vectors):
    """The index is there before the rows, as in a server."""
    psql.ask(f"DROP TABLE IF EXISTS v; CREATE UNLOGGED TABLE v (n serial, v halfvec({dimensions}) NOT NULL);"
             "CREATE INDEX ON v USING hnsw (v halfvec_cosine_ops);")
    psql.ask("COPY v (v) FROM STDIN;\n" + "".join(as_text(vector) + "\n" for vector in vectors) + "\\.\nANALYZE v;\n")


def nearest(psql, settings, dimensions, queries):
    """(number, cosine) of 200 rows for each query."""
    found = []
    for query in queries:
        found.append([(int(n), float(cosine)) for n, cosine in psql.ask(
            f"{settings} SELECT n, 1 - (v <=> q) FROM v, (SELECT '{as_text(query)}'::halfvec({dimensions}) AS q) q"
            f" ORDER BY v <=> '{as_text(query)}'::halfvec({dimensions}) LIMIT 200;")])
    return found


def recall(found, exact, count):
    return sum(len({n for n, _ in some[:count]} & {n for n, _ in best[:count]}) / count
               for some, best in zip(found, exact)) / len(exact)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", default=22000, type=int)
    parser.add_argument("--queries", default=30, type=int)
    options = parser.parse_args()
    programs = retrieval.pgvector_programs()
    if not programs:
        print(f"SKIPPED {len(KINDS)} (no pgvector)")
        return
    with tempfile.TemporaryDirectory(prefix="runnel-recall-", dir="/tmp") as scratch:
        pathlib.Path(scratch).chmod(0o755)
        with retrieval.Postgres(pathlib.Path(scratch) / "pg", programs) as postgres:
            psql = Psql(postgres)
            psql.ask("CREATE EXTENSION vector;")
            print(f"| {options.vectors} vectors | recall@20 | recall@200 | found cosines, of the best 20 |\n|---|---|---|---|")
            for name, dimensions, kind in KINDS:
                vector = kind(random.Random(name), dimensions)
                fill(psql, dimensions, (vector() for _ in range(options.vectors)))
                queries = [vector() for _ in range(options.queries)]
                found = nearest(psql, SETTINGS, dimensions, queries)
                exact = nearest(psql, "SET enable_indexscan = off;", dimensions, queries)
                near = sum(c for some in found for _, c in some[:20]) / sum(c for best in exact for _, c in best[:20])
                print(f"| {name} | {recall(found, exact, 20):.3f} | {recall(found, exact, 200):.3f} | {near:.3f} |", flush=True)


if __name__ == "__main__":
    main()
