#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What CPU sampling costs: the CPU time of a program with and without it, in turns, as a ratio; and what the recorder spends beside it."""
from __future__ import annotations

import argparse
import pathlib
import re
import resource
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RATES = {"off": ["--off"], "switches": ["--hz=0"], "99 Hz": [], "997 Hz": ["--hz=997"], "4999 Hz": ["--hz=4999"]}


def once(programs: pathlib.Path, options: list[str], command: list[str]) -> tuple[float, float, int]:
    """CPU seconds of the command, of the recorder and what reads its files, and bytes written."""
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([programs / "perf_run", folder, *options, "--", *command], capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        size = sum(path.stat().st_size for path in pathlib.Path(folder).glob("perf.*"))
    child = float(re.search(r"child cpu ([0-9.]+)", done.stderr)[1])
    return child, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime - child, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    programs = args.build / "tests/record"
    commands = {"spins for 1e9 additions": [str(programs / "hot"), "add", "500"],
                "switches 200,000 times": [str(programs / "hot"), "switch", "100000"]}
    for title, command in commands.items():
        seen: dict[str, list[tuple[float, float, int]]] = {rate: [] for rate in RATES}
        for _ in range(args.rounds):
            for rate, options in RATES.items():
                seen[rate].append(once(programs, options, command))
        base = statistics.median(row[0] for row in seen["off"])
        print(f"a program that {title} ({base:.2f} s of CPU time), median of {args.rounds} rounds in turns")
        for rate, rows in seen.items():
            print(f"  {rate:9} its CPU time x {statistics.median(row[0] for row in rows) / base:.4f}"
                  f"   recorder and reader {statistics.median(row[1] for row in rows) / base:7.2%}"
                  f"   {statistics.median(row[2] for row in rows) / 1024:9.0f} KiB")


if __name__ == "__main__":
    main()
