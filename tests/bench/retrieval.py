#!/usr/bin/env python3
"""Search in many chunks: how fast documents are cut and indexed, and how fast they are searched, beside PostgreSQL.

  retrieval.py [--build DIR] [--chunks 100000] [--queries 500] [--packages FOLDER]

The documents are those of tests/quality (Debian's documentation, English and Chinese), repeated to size. PostgreSQL is a private
cluster in a temporary folder, with 512 MB of shared buffers, so that its index is in memory as the segments are. Times are of
the processor, so another process changes them less. Nothing passes or fails here.
"""

import argparse
import glob
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/quality"))

import corpora  # noqa: E402
import known_items  # noqa: E402


def build(folder):
    if not (folder / "CMakeCache.txt").is_file():
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release"], check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder, "--target", "bench_retrieval"], check=True, stdout=subprocess.DEVNULL)
    return folder / "tests/bench/bench_retrieval"


def documents(folder):
    """Of all corpora that are not held out, one of each in turn."""
    readers = []
    for _, packages, documents_of, _, _, held_out in known_items.CORPORA:
        for package in packages:
            if not held_out and known_items.fetch(package, folder):
                readers.append(corpora.own_questions(documents_of(folder / "root" / package)))
    if not readers:
        sys.exit("retrieval: no package could be fetched")
    while readers:
        for reader in list(readers):
            document = next(reader, None)
            if document:
                yield document
            else:
                readers.remove(reader)


class Postgres:
    def __init__(self, folder):
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
        if not found:
            sys.exit("retrieval: PostgreSQL is missing")
        self.bin, self.data, self.sockets = pathlib.Path(found[-1]).parent, folder / "data", folder
        # PostgreSQL does not run as root.
        self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if pathlib.Path.home() == \
            pathlib.Path("/root") else []
        if self.user:
            subprocess.run(["chown", "-R", "postgres:postgres", folder], check=True)
        self.run("initdb", "-D", self.data, "-U", "bench", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        self.run("pg_ctl", "-D", self.data, "-w", "-l", folder / "log", "-o",
                 f"-c listen_addresses= -c unix_socket_directories={folder} -c shared_buffers=512MB -c fsync=off"
                 " -c max_wal_size=4GB -c maintenance_work_mem=512MB -c max_parallel_workers_per_gather=0", "start")

    def run(self, program, *arguments):
        subprocess.run([*self.user, self.bin / program, *arguments], check=True, stdout=subprocess.DEVNULL, cwd="/")

    def stop(self):
        self.run("pg_ctl", "-D", self.data, "-m", "immediate", "stop")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=ROOT / "build-bench", type=pathlib.Path)
    parser.add_argument("--chunks", default=100000, type=int)
    parser.add_argument("--queries", default=500, type=int)
    parser.add_argument("--packages", type=pathlib.Path)
    options = parser.parse_args()
    program = build(options.build)
    with tempfile.TemporaryDirectory() as scratch:
        lines = "".join(json.dumps({"text": text, **({"query": query} if query else {})}) + "\n"
                        for text, query in documents(options.packages or pathlib.Path(scratch) / "packages"))
        cluster = pathlib.Path(scratch) / "postgres"
        cluster.mkdir()
        pathlib.Path(scratch).chmod(0o755)
        postgres = Postgres(cluster)
        try:
            done = subprocess.run([program, str(options.chunks), str(options.queries),
                                   f"host={cluster} user=bench dbname=postgres"],
                                  input=lines, text=True, check=True, stdout=subprocess.PIPE)
        finally:
            postgres.stop()
    found = json.loads(done.stdout)
    ours, theirs = found["ours"], found["postgres"]
    print(f"{found['chunks']} chunks of {found['documents']} documents, {found['text_mib']:.0f} MiB of text")
    print(f"  chunks and segments: {found['text_mib'] / found['index_seconds']:.0f} MiB/s on one core, "
          f"{found['index_mib']:.0f} MiB of index")
    print(f"  PostgreSQL: {found['text_mib'] / found['postgres_index_seconds']:.1f} MiB/s for tsvector and GIN, without "
          "copying")
    print(f"  search: p50 {ours['p50_ms']:.1f} p99 {ours['p99_ms']:.1f} mean {ours['mean_cpu_ms']:.1f} ms of CPU, "
          f"{ours['queries']} queries")
    print(f"  PostgreSQL, ts_rank: mean {theirs['mean_cpu_ms']:.1f} ms of CPU: "
          f"{theirs['mean_cpu_ms'] / ours['mean_cpu_ms']:.1f} x; p50 {theirs['p50_ms']:.1f} p99 {theirs['p99_ms']:.1f} ms "
          f"of the wall, {theirs['queries']} queries")
    hybrid(options)


def hybrid(options):
    """Words and vectors of 1,536 numbers, made up. pgvector is not in Debian 12, so nothing stands beside it."""
    subprocess.run(["cmake", "--build", options.build, "--target", "bench_hybrid"], check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run([options.build / "tests/bench/bench_hybrid", str(options.chunks), "1536", str(options.queries)],
                          text=True, check=True, stdout=subprocess.PIPE)
    found = json.loads(done.stdout)
    for name, what in (("hybrid", "all"), ("filtered", "1 % by a filter"), ("filtered_vectors", "the same, vectors alone")):
        took = found[name]
        print(f"  hybrid, {what}: p50 {took['p50_ms']:.2f} p99 {took['p99_ms']:.2f} ms of CPU"
              + (f", recall {took['recall']:.4f}" if name == "filtered_vectors" else ""))


if __name__ == "__main__":
    main()
