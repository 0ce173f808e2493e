#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports of Nsight Systems of any size: rows and bytes per second of CPU time, and memory, beside sqlite3 counting the same tables.

    python3 bench/nsight.py --holdup build/holdup --megabytes 500 [EXPORT]

Multiplies the rows of EXPORT (one is made where none is given), each copy later in time and with its own correlations, in a file that is removed.
"""
from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.nsight import Export, gid  # noqa: E402

TABLES = ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "NVTX_EVENTS",
          "OSRT_API")


def small_export(path: Path) -> None:
    """A hundred steps with ranges, launches, kernels and calls of the C library."""
    export = Export()
    for step in range(100):
        at = step * 1_000_000
        export.range(at, at + 900_000, f"step {step}")
        for i in range(40):
            correlation = step * 100 + i + 1
            export.call(at + i * 20_000, at + i * 20_000 + 5_000, "cudaLaunchKernel_v7000", correlation)
            export.kernel(at + i * 20_000 + 6_000, at + i * 20_000 + 24_000, f"kernel_{i % 7}", correlation)
            export.add("OSRT_API", start=at + i * 20_000 + 6_000, end=at + i * 20_000 + 9_000, eventClass=27, globalTid=gid(10, 11),
                       nameId=export.text(("read", "write", "poll")[i % 3]), returnValue=0, nestingLevel=0, callchainId=None)
    export.save(path)


def multiply(path: Path, megabytes: int) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode=OFF")
        db.execute("PRAGMA synchronous=OFF")
        times = max(1, megabytes * 1_000_000 // path.stat().st_size)
        have = [t for t, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'") if t in TABLES]
        span = 1 + max(db.execute(f"SELECT coalesce(max(end), 0) FROM {t}").fetchone()[0] for t in have)
        ids = 1 + max([db.execute(f"SELECT max(correlationId) FROM {t}").fetchone()[0] or 0 for t in have if "KIND" in t] or [0])
        for table in have:
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if not row[5]]
            moved = {"start": "start + :n * :span", "end": "end + :n * :span"}
            if "KIND" in table:
                moved["correlationId"] = "correlationId + :n * :ids"
            names, values = ", ".join(f'"{c}"' for c in columns), ", ".join(moved.get(c, f'"{c}"') for c in columns)
            last = db.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0] or 0
            for n in range(1, times):
                db.execute(f"INSERT INTO {table} ({names}) SELECT {values} FROM {table} WHERE rowid <= :last ORDER BY rowid",
                           {"n": n, "span": span, "ids": ids, "last": last})


def measured(command: list[str]) -> tuple[float, int]:
    """CPU seconds, and the most memory in bytes."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: exit status {child.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("export", nargs="?", type=Path)
    parser.add_argument("--holdup", default=str(ROOT / "build/holdup"))
    parser.add_argument("--megabytes", type=int, default=200)
    words = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdup-bench-") as folder:
        path = Path(folder) / "export.sqlite"
        if words.export:
            shutil.copy(words.export, path)
            path.chmod(0o644)
        else:
            small_export(path)
        multiply(path, words.megabytes)
        with sqlite3.connect(path) as db:
            have = [t for t, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'") if t in TABLES]
            rows = sum(db.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in have)
        # Every row is looked at, as a reader has to: a plain count(*) would take the pages of an index or skip the rows' bytes.
        count = "; ".join(f"SELECT count(*), total(start) FROM {t}" for t in have)
        print(f"{path.stat().st_size / 1e6:.0f} MB, {rows:,} rows in {len(have)} tables")
        print(f"{'':26}{'CPU s':>8}{'rows/s':>14}{'MB/s':>8}{'max MB':>9}")
        counting = [sys.executable, "-c", "import sqlite3, sys\ndb = sqlite3.connect(sys.argv[1])\n"
                    "for sql in sys.argv[2].split(';'): db.execute(sql).fetchall()", str(path), count]
        for name, command in (("sqlite3, count and sum", counting),
                              ("holdup info", [words.holdup, "info", "--quiet", str(path)]),
                              ("holdup stats", [words.holdup, "stats", "--quiet", str(path)]),
                              ("holdup report", [words.holdup, "report", "--quiet", str(path)])):
            seconds, memory = measured(command)
            print(f"{name:26}{seconds:8.2f}{rows / seconds:14,.0f}{path.stat().st_size / seconds / 1e6:8.0f}{memory / 1e6:9.0f}")


if __name__ == "__main__":
    main()
