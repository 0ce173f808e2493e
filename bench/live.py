#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs a step that a monitor is told how the job does: markers of C and of Python, with and without somebody to tell.

    bench/live.py [--build build] [--rounds 5]

A step is marked as a loop that trains: a step, four phases of which one lies in another, and a count.  Each figure is the least of some
rounds, in ns for such a step, without the loop.  C: the median of 201 bursts of 2,000 (bench/annotate.c).
"""
from __future__ import annotations

import argparse
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

SCRIPT = """
import sys, time
import holdup
def steps(n):
    step, phase, count = holdup.step, holdup.phase, holdup.count
    began = time.perf_counter_ns()
    for i in range(n):
        step(i)
        with phase("data"): pass
        with phase("forward"):
            with phase("transfer"): pass
        with phase("optimizer"): pass
        count(samples=8)
    return (time.perf_counter_ns() - began) / n
steps(2000)
print(min(steps(2000) for _ in range(50)))
"""


def measure(command: list[str], env: dict[str, str]) -> float:
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
    row = re.search(r"^step of four phases +([0-9.]+)", done.stdout, re.M)
    return float(row[1] if row else done.stdout.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    subprocess.run(["ninja", "-C", options.build, "--quiet", "holdup", "libholdup-inject.so", "bench/annotate"], check=True, stdout=subprocess.DEVNULL)
    build = options.build.resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        clean = {k: v for k, v in os.environ.items() if not k.startswith("HOLDUP")}
        silent = {**clean, "HOLDUP_JOB_SOCKET": "0", "PYTHONPATH": str(ROOT / "python")}
        told = {**silent, "HOLDUP_JOB_SOCKET": str(folder / "job.sock")}
        ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        ear.bind(told["HOLDUP_JOB_SOCKET"])     # its queue is full after a while: what is sent then is lost, as ever
        run = [str(build / "holdup"), "run", "-q", "--no-report", "-f", "-o", str(folder / "x.pftrace")]
        paused, recorded = [*run, "--mode", "off", "--"], [*run, "--mode", "flight", "--max-memory", "1M", "--"]
        arms = (("no recorder, no monitor", [], silent), ("no recorder, a monitor", [], told), ("run --mode off, no monitor", paused, silent),
                ("run --mode off, a monitor", paused, told), ("recorded, no monitor", recorded, silent), ("recorded, a monitor", recorded, told))
        print(f"{'ns for a step of four phases':32}{'C':>10}{'Python':>10}")
        for what, before, env in arms:
            costs = [min(measure([*before, *command], env) for _ in range(options.rounds))
                     for command in ([str(build / "bench/annotate")], [sys.executable, "-c", SCRIPT])]
            print(f"{what:32}{costs[0]:10.1f}{costs[1]:10.0f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
