#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an event of NCCL's profiler interface costs: tests/nccl/driver.c tells the door of 3,000 at a time, a hundred times.

    bench/nccl.py [--build build] [--rounds 5]

Promises: 100 ns of CPU time for an event (start and stop) that is recorded, 10 ns while paused.
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

EVENTS = 3000
CASES = (("recorded", ("--trace", "nccl"), 100), ("paused", ("--trace", "nccl", "--start-later"), 10), ("without a run", None, None))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("HOLDUP", "NCCL", "RANK", "LOCAL_RANK", "WORLD_SIZE"))}
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        driver = pathlib.Path(folder) / "driver"
        subprocess.run(["cc", "-O2", f"-I{ROOT / 'include'}", "-o", driver, ROOT / "tests/nccl/driver.c", "-lpthread", "-ldl"], check=True)
        for name, words, bound in CASES:
            command = [driver, "cost", str(EVENTS)]
            if words is not None:
                command = [options.build / "holdup", "run", "-q", "--no-report", *words, "-o", f"{folder}/trace", "--force", "--", *command]
            env = {**clean, **({} if words is not None else {"NCCL_PROFILER_PLUGIN": str(options.build.resolve() / "libholdup-inject.so")})}
            took = [float(subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout) for _ in range(options.rounds)]
            middle = statistics.median(took)
            lines.append([name, f"{middle:.1f}", f"{min(took):.1f}", "" if bound is None else f"<= {bound} " + ("yes" if middle <= bound else "NO")])
    print(table(["event", "ns", "least", "promise"], lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
