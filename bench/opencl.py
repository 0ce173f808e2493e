#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recording adds to a call of OpenCL that enqueues: tests/opencl/program.c enqueues kernels of 16 work-items, with the layer and without.

    bench/opencl.py [--build build] [--rounds 9]

The time is that of the calling thread (its CPU clock), because the device is the host's own cores.  Aim: 1 us for an enqueue.
"""
from __future__ import annotations

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

from tables import table  # noqa: E402

AIM_NS = 1000
CASES = {"without a run": None, "paused": ("--start-later",), "recorded": ()}


def interval(values: list[float]) -> tuple[float, float]:
    """95 % of the median, by order statistics (conservative for few rounds: least and most)."""
    ordered = sorted(values)
    cut = max(0, int(len(ordered) / 2 - 0.98 * len(ordered) ** 0.5) - 1)
    return ordered[cut], ordered[-1 - cut]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("HOLDUP", "OPENCL", "RANK", "LOCAL_RANK", "WORLD_SIZE"))}
    took: dict[str, list[float]] = {name: [] for name in CASES}
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "program"
        subprocess.run(["cc", "-O2", "-o", program, ROOT / "tests/opencl/program.c", "-lOpenCL", "-lpthread"], check=True)
        for _ in range(options.rounds):
            for name, words in CASES.items():
                command: list[str | pathlib.Path] = [program, "cost", "20000"]
                if words is not None:
                    command = [options.build / "holdup", "run", "-q", "--no-report", "--trace", "opencl", *words, "-o", f"{folder}/trace", "--force", "--", *command]
                said = subprocess.run(command, env=clean, check=True, capture_output=True, text=True).stdout
                took[name].append(float(said.split()[-1]))
    base = took["without a run"]
    lines = []
    for name, values in took.items():
        added = [v - b for v, b in zip(values, base)]
        low, high = interval(added)
        middle = statistics.median(added)
        lines.append([name, f"{statistics.median(values):.0f}", "" if values is base else f"{middle:.0f}", "" if values is base else f"{low:.0f} ... {high:.0f}",
                      "" if name != "recorded" else f"<= {AIM_NS} " + ("yes" if middle <= AIM_NS else "NO")])
    print(table(["enqueue", "ns", "added", "95 %", "aim"], lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
