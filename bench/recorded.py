#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a report of a run with very many recorded calls takes: CPU time, wall time and memory, beside reading the file alone.

    bench/recorded.py [--build build] [--calls 10000000] [--rounds 5]

Records a program that reads and writes single bytes, each call by itself (`--osrt-threshold 0`), and asks for its report.  The promise is for
ten million calls on a machine that does nothing else: 3 s, and 1 GB.  sha256sum of the same file says how fast the machine is.
"""
from __future__ import annotations

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench")]

from tables import table  # noqa: E402

CALLS, MOST_S, MOST_MB = 10_000_000, 3.0, 1000


def measure(*words: object) -> tuple[float, float, float]:
    """Seconds of CPU and of wall time, and MB at most."""
    began = time.monotonic()
    child = subprocess.Popen([str(w) for w in words], stdout=subprocess.DEVNULL)
    _pid, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{words[0]} {words[1]}: exit status {child.returncode}")
    return used.ru_utime + used.ru_stime, time.monotonic() - began, used.ru_maxrss * 1024 / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    holdup = options.build.resolve() / "holdup"
    with tempfile.TemporaryDirectory(prefix="holdup-recorded-bench-") as name:
        work = pathlib.Path(name)
        trace = work / "calls.pftrace"
        subprocess.run(["cc", "-O2", "-o", work / "calls", ROOT / "bench/calls.c"], check=True)
        subprocess.run([holdup, "run", "-q", "--no-report", "--osrt-threshold", "0", "--max-size", "8G", "-o", trace, "--", work / "calls",
                        str(options.calls)], check=True)
        ways = {"sha256sum": ["sha256sum", trace], "holdup info": [holdup, "info", trace], "holdup report": [holdup, "report", trace]}
        got: dict[str, list[tuple[float, float, float]]] = {way: [] for way in ways}
        for number in range(options.rounds):
            for way in list(ways)[:: -1 if number % 2 else 1]:
                got[way].append(measure(*ways[way]))
        size = trace.stat().st_size
    median = {way: [statistics.median(v[k] for v in values) for k in range(3)] for way, values in got.items()}
    reference = median["sha256sum"][0]
    print(f"{options.calls:,} calls, {size / 1e6:,.0f} MB\n")
    print(table(["", "CPU s", "x sha256sum", "seconds", "fastest", "peak MB"],
                [[way, f"{m[0]:.2f}", f"{m[0] / reference:.2f}", f"{m[1]:.2f}", f"{min(v[1] for v in got[way]):.2f}", f"{m[2]:.0f}"]
                 for way, m in median.items()]))
    fastest = min(v[1] for v in got["holdup report"])
    if options.calls == CALLS:
        print(f"\n<= {MOST_S:.0f} s (fastest round): {'yes' if fastest <= MOST_S else 'NO'}; <= {MOST_MB} MB: "
              f"{'yes' if median['holdup report'][2] <= MOST_MB else 'NO'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
