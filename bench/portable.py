#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program for any Linux (`make dist`) beside that of this machine's compiler and libraries: the same commands, in turns.

    python3 bench/portable.py --holdup build/holdup --archive dist/holdup-*-linux-x86_64.tar.gz [--page docs/performance.md]

The least CPU time of each counts.  Reads the traces that bench/run.py made.
"""
from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench")]

from costs import put  # noqa: E402
from tables import fold, table  # noqa: E402

TITLE = "The program for any Linux"
INPUTS = ("ns-100.json", "st-100.json", "ns-100-names.json", "ns-100.json.gz", "ns-100.json.zst")
ROUNDS, STARTS = 9, 100


def cpu_seconds(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def row(words: list[str], name: str, programs: list[str], rounds: int) -> list[str]:
    times = [[cpu_seconds([program, *words]) for program in programs] for _ in range(rounds)]
    native, portable = (min(column) for column in zip(*times))
    return [name, f"{native:.4f}", f"{portable:.4f}", f"{portable / native:.2f}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--holdup", required=True)
    parser.add_argument("--archive", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=ROOT / "build" / "bench-data")
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    missing = [name for name in INPUTS if not (options.data / name).exists()]
    if missing:
        sys.exit(f"portable: {options.data} has no {', '.join(missing)}; bench/run.py makes them")
    with tempfile.TemporaryDirectory() as folder, tarfile.open(options.archive) as archive:
        archive.extractall(folder)
        [program] = Path(folder).glob("*/bin/holdup")
        programs = [options.holdup, str(program)]
        rows = [row(["report", str(options.data / name), "--threads", "1"], f"report {name}, 1 thread", programs, ROUNDS) for name in INPUTS]
        rows.append(row(["--help"], "--help", programs, STARTS))
    text = table(["", "built here, CPU s", "for any Linux, CPU s", "time x"], rows)
    about = fold(f"The least of {ROUNDS} runs in turns ({STARTS} of --help). Built here: GCC with link-time optimisation, this system's libraries; for any Linux: "
                 "Zig's Clang for glibc 2.17, libraries linked in (docs/install.md).")
    print(f"{TITLE}\n\n{text}\n\n{about}")
    if options.page:
        options.page.write_text(put(options.page.read_text(), f"## {TITLE}\n\n{text}\n\n{about}", TITLE))
    return 0


if __name__ == "__main__":
    sys.exit(main())
