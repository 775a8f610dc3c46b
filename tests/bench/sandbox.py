#!/usr/bin/env python3
"""Boxes and the Python in them, beside bubblewrap alone, a plain fork and exec, and ipykernel, in one run.

  sandbox.py [--build DIR] [--rounds 3] [--without-ipykernel]

Builds bench_boxes for release, unless --build has it. ipykernel runs without a box, in a virtual environment that is made
beside the build from sandbox_requirements.txt. The rounds are interleaved, and the median of each figure is shown. Nothing
passes or fails here: the load of the machine is printed, too.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# p50 and p99 in milliseconds on two quiet cores, or a value.
TARGETS = {
    "cold box, echo": "8 / 25 ms; at most 2 x bubblewrap",
    "sh in a warm box": "1.5 / 5 ms; at most 2 x fork and exec",
    "cell 1+1, warm": "1 / 3 ms",
    "first cell, cold box": "40 / 120 ms",
    "plot, pyplot imported before": "250 / 600 ms",
    "stop of a tree of 200 processes": "5 / 20 ms",
    "output of `yes` through the server, MB/s": "150",
    "memory of an idle box, MiB PSS": "0.6",
    "memory of an idle Python more, MiB PSS": "8",
}

# Run by the Python of the virtual environment.
KERNEL = r"""
import json, time
from jupyter_client.manager import start_new_kernel

def shown(what, times):
    times = sorted(times)
    print(json.dumps({"what": what, "p50_ms": times[len(times) // 2] * 1e3, "p99_ms": times[len(times) * 99 // 100] * 1e3,
                      "best_ms": times[0] * 1e3, "runs": len(times)}))

def cell(client):
    began = time.perf_counter()
    client.execute_interactive("1+1", timeout=60, output_hook=lambda message: None)
    return time.perf_counter() - began

first, idle = [], []
for _ in range(3):
    began = time.perf_counter()
    manager, client = start_new_kernel()
    cell(client)
    first.append(time.perf_counter() - began)
    again = [cell(client) for _ in range(200)]
    pid = manager.provisioner.pid
    rollup = open(f"/proc/{pid}/smaps_rollup").read()
    idle.append(int(rollup.split("\nPss:")[1].split()[0]) / 1024)
    client.stop_channels()
    manager.shutdown_kernel(now=True)
shown("ipykernel: first cell", first)
shown("ipykernel: cell 1+1, warm", again)
print(json.dumps({"what": "ipykernel: memory when idle, MiB PSS", "value": sorted(idle)[1]}))
"""


def run(command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def build(folder):
    if not (folder / "build.ninja").exists():
        run(["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"])
    run(["cmake", "--build", str(folder), "--target", "bench_boxes"])
    return folder / "tests" / "bench" / "bench_boxes"


def kernel_python(folder):
    venv = folder / "sandbox-venv"
    if not (venv / "done").exists():
        run([sys.executable, "-m", "venv", str(venv)])
        run([venv / "bin" / "pip", "install", "-q", "--require-hashes", "-r", str(HERE / "sandbox_requirements.txt")])
        (venv / "done").touch()
    return venv / "bin" / "python"


def figures(text):
    for line in text.splitlines():
        figure = json.loads(line)
        yield figure["what"], figure


def median(found, key):
    return statistics.median(figure[key] for figure in found)


def show(what, found):
    if "value" in found[0]:
        measured = f"{median(found, 'value'):.2f}"
    else:
        measured = " / ".join(f"{median(found, key):.2f}" for key in ("p50_ms", "p99_ms", "best_ms")) + " ms"
    print(f"| {what} | {measured} | {TARGETS.get(what, '')} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build-bench")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--without-ipykernel", action="store_true")
    options = parser.parse_args()
    program = build(options.build)
    kernel = None if options.without_ipykernel else kernel_python(options.build)
    found = {}
    began = time.time()
    for _ in range(options.rounds):
        texts = [run([program])] + ([run([kernel, "-c", KERNEL], stderr=subprocess.DEVNULL)] if kernel else [])
        for text in texts:
            for what, figure in figures(text):
                found.setdefault(what, []).append(figure)
    print(f"{options.rounds} rounds, {time.time() - began:.0f} s, load {os.getloadavg()[0]:.1f}\n")
    print("| what | measured: p50 / p99 / best | target: p50 / p99 |\n|---|---|---|")
    for what, figures_of_it in found.items():
        show(what, figures_of_it)
    ratio = {name: median(found[name], "p50_ms") for name in found if "p50_ms" in found[name][0]}
    print(f"\ncold box {ratio['cold box, echo'] / ratio['bubblewrap, true']:.2f} x bubblewrap, "
          f"warm command {ratio['sh in a warm box'] / ratio['fork and exec of sh, plain']:.2f} x fork and exec")


if __name__ == "__main__":
    main()
