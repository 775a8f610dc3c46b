#!/usr/bin/env python3
"""Boxes and the Python in them, beside bubblewrap alone, crun, a plain fork and exec, and ipykernel, in one run.

  sandbox.py [--build DIR] [--rounds 3] [--without-ipykernel] [--pairs 5] [--calls 1000] [--streams 1000] [--seconds 8]

Builds what it needs for release, unless --build has it. ipykernel runs without a box, in a virtual environment that is made
beside the build from sandbox_requirements.txt. crun runs the same `true` as bubblewrap, as root, if it is installed. The
rounds are interleaved, and the median of each figure is shown. Then --pairs pairs of streams alone and streams beside
calls of a shell; 0 leaves them out. Nothing passes or fails here: the load of the machine is printed, too.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import sandbox_calls

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
    "read of 1 MiB": "2 ms",
    "grep over 20,000 files": "150 ms",
    "processor time of 64 idle boxes, ms a second": "none",
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
    run(["cmake", "--build", str(folder), "--target", "bench_boxes", "runnel", "load", "fake_upstream"])
    return folder / "tests" / "bench" / "bench_boxes"


CRUN = "crun run, true"


def crun_bundle(folder):
    """A bundle for crun with what the bare bubblewrap has: /usr, /proc, all namespaces. None: crun cannot be measured."""
    if not shutil.which("crun") or os.geteuid() != 0:
        return None
    root = folder / "rootfs"
    for name in ("usr", "proc", "dev"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    (folder / "config.json").write_text(json.dumps({
        "ociVersion": "1.0.2", "root": {"path": "rootfs", "readonly": True}, "hostname": "box",
        "process": {"terminal": False, "cwd": "/", "args": ["/bin/true"], "user": {"uid": 0, "gid": 0},
                    "noNewPrivileges": True, "env": ["PATH=/bin"]},
        "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                   {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
                   {"destination": "/usr", "type": "bind", "source": "/usr", "options": ["rbind", "ro"]}],
        "linux": {"namespaces": [{"type": name} for name in ("pid", "network", "ipc", "uts", "mount", "cgroup")]}}))
    return folder


def measure_crun(bundle, runs=50):
    """In a mount namespace of its own: crun wants to see cgroups of version 2 and no others."""
    if pathlib.Path("/sys/fs/cgroup/unified").is_dir():
        run(["mount", "--bind", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"])
    times = []
    for number in range(runs):
        began = time.perf_counter()
        done = subprocess.run(["crun", "--cgroup-manager=disabled", "run", "--bundle", bundle, f"bench-{os.getpid()}-{number}"],
                              capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"crun: {done.stderr.strip()}")
        times.append((time.perf_counter() - began) * 1e3)
    times.sort()
    print(json.dumps({"what": CRUN, "p50_ms": times[runs // 2], "p99_ms": times[runs * 99 // 100], "best_ms": times[0],
                       "runs": runs}))


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
    parser.add_argument("--crun", help=argparse.SUPPRESS)  # this program, inside of its mount namespace
    for name, value in (("pairs", 5), ("streams", 1000), ("calls", 1000), ("seconds", 8), ("rate", 20)):
        parser.add_argument(f"--{name}", default=value, type=int)
    options = parser.parse_args()
    options.build = options.build.resolve()
    if options.crun:
        measure_crun(options.crun)
        return
    program = build(options.build)
    kernel = None if options.without_ipykernel else kernel_python(options.build)
    found = {}
    began = time.time()
    with tempfile.TemporaryDirectory() as scratch:
        bundle = crun_bundle(pathlib.Path(scratch, "crun"))
        for _ in range(options.rounds):
            texts = [run([program])] + ([run(["unshare", "--mount", sys.executable, __file__, "--crun", bundle])] if bundle else [])
            texts += [run([kernel, "-c", KERNEL], stderr=subprocess.DEVNULL)] if kernel else []
            for text in texts:
                for what, figure in figures(text):
                    found.setdefault(what, []).append(figure)
    print(f"{options.rounds} rounds, {time.time() - began:.0f} s, load {os.getloadavg()[0]:.1f}\n")
    print("| what | measured: p50 / p99 / best | target: p50 / p99 |\n|---|---|---|")
    for what, figures_of_it in found.items():
        show(what, figures_of_it)
    ratio = {name: median(found[name], "p50_ms") for name in found if "p50_ms" in found[name][0]}
    print(f"\ncold box {ratio['cold box, echo'] / ratio['bubblewrap, true']:.2f} x bubblewrap, "
          f"warm command {ratio['sh in a warm box'] / ratio['fork and exec of sh, plain']:.2f} x fork and exec"
          + (f", {ratio['cold box, echo'] / ratio[CRUN]:.2f} x crun" if CRUN in ratio else ""))
    if options.pairs:
        sandbox_calls.measure(options)


if __name__ == "__main__":
    main()
