#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recording costs a job of very many short processes: CPU time of a shell that runs /bin/true again and again.

    bench/children.py [--build build] [--children 300] [--rounds 7] [--folder .] [--against OTHER_BUILD]

CPU time of the whole job, recorder included, in microseconds for each child beyond the job alone; medians of rounds by turns.  A preloaded library
without content says what any recorder inside costs; `strace -f -c` and `perf record` are the public ones.  The recording is on the disk of --folder.
ext4 looks for an inode for long (0.5 ms) where many files were deleted within the last minutes: repeat in a fresh folder, and read the smallest.
"""
from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench")]

from tables import table  # noqa: E402


def cpu_us(words: list[object], env: dict[str, str]) -> float:
    child = subprocess.Popen([str(w) for w in words], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _pid, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{words[0]}: exit status {child.returncode}")
    return (used.ru_utime + used.ru_stime) * 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--against", type=pathlib.Path, help="another build, in the same rounds")
    parser.add_argument("--folder", type=pathlib.Path, help="where recordings go (default: the temporary folder)")
    parser.add_argument("--children", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdup-children-bench-", dir=options.folder) as name:
        work = pathlib.Path(name)
        (work / "empty.c").write_text("typedef int nothing;\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", work / "empty.so", work / "empty.c"], check=True)
        job: list[object] = ["sh", "-c", f"i=0; while [ $i -lt {options.children} ]; do /bin/true; i=$((i+1)); done"]
        plain = dict(os.environ)

        def run(build: pathlib.Path, *more: object) -> float:
            return cpu_us([build.resolve() / "holdup", "run", "-q", "--no-report", "--force", *more, "-o", work / "x.pftrace", "--", *job], plain)

        ways = {"no recorder": lambda: cpu_us(job, plain),
                "an empty library, preloaded": lambda: cpu_us(job, {**plain, "LD_PRELOAD": str(work / "empty.so")}),
                "holdup run": lambda: run(options.build), "holdup run --trace osrt": lambda: run(options.build, "--trace", "osrt")}
        if options.against:
            other = options.against
            ways["holdup run, the other build"] = lambda: run(other)
        if shutil.which("strace"):
            ways["strace -f -c"] = lambda: cpu_us(["strace", "-f", "-c", "-o", work / "strace", *job], plain)
        if shutil.which("perf"):
            ways["perf record -g"] = lambda: cpu_us(["perf", "record", "-q", "-g", "-F", "99", "-o", work / "perf.data", *job], plain)
        got: dict[str, list[float]] = {way: [] for way in ways}
        for number in range(options.rounds):
            for way in list(ways)[:: -1 if number % 2 else 1]:
                got[way].append(ways[way]())
    base = got["no recorder"]
    alone = statistics.median(base) / options.children

    def added(values: list[float]) -> list[float]:
        return [(value - own) / options.children for value, own in zip(values, base)]

    ours = statistics.median(added(got["holdup run"]))
    print(f"{options.children} children; each takes {alone:.0f} us alone\n")
    print(table(["CPU time added to a child, us", "median", "smallest", "x holdup"],
                [[way, f"{statistics.median(added(values)):.0f}", f"{min(added(values)):.0f}", f"{statistics.median(added(values)) / ours:.2f}"]
                 for way, values in got.items() if way != "no recorder"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
