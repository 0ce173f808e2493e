#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast other formats than JSON traces are read: MB of the file per second of CPU, beside a public program that only goes through it.

    python3 bench/formats.py --holdup build/holdup --megabytes 40 [--page docs/performance.md]

Real files of shared/traces, the text ones repeated until they are large; a row whose file or whose other program is missing says so.  Each command runs
three times, and the least CPU time counts.
"""
from __future__ import annotations

import argparse
import datetime
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench")]

from costs import put  # noqa: E402
from tables import fold, machine, table  # noqa: E402

TRACES = Path(os.environ.get("HOLDUP_SHARED", ROOT.parent / "shared")) / "traces"
TITLE = "Reading other formats"
ROUNDS = 3
ALLOWED = (0, 1, 4)         # of holdup: findings, and a file that is cut


class Row(NamedTuple):
    what: str
    source: str             # a glob below shared/traces; the largest that fits is taken
    repeats: str            # "all": the whole file again and again; "body": what follows its first line; "": as it is
    command: str            # of holdup
    peer: tuple[str, ...]   # FILE stands for the path


PYTHON = sys.executable
ROWS = (
    Row("training log (Megatron-DeepSpeed, NCCL)", "deepspeed/bigscience-zero/*.out", "all", "report", ("grep", "-cE", "elapsed time per iteration|NCCL (INFO|WARN)", "FILE")),
    Row("CSV of nvidia-smi", "smi/gpu_glasses/*.csv", "body", "report", (PYTHON, "-c", "import csv, sys; print(sum(1 for _ in csv.reader(open(sys.argv[1]))))", "FILE")),
    Row("perf.data", "perf/perf-data-converter/*.data", "", "info", ("perf", "script", "-i", "FILE", "-F", "comm,pid,tid,time,ip,sym,dso")),
    Row("execution trace (JSON)", "et/astra-sim-megatron-tp8/megatron_et_0.json.gz", "", "report", (PYTHON, "-c", "import json, sys; json.load(open(sys.argv[1]))", "FILE")),
    Row("memory snapshot (pickle)", "torch-memory/*/*.pickle", "", "info", (PYTHON, "-c", "import pickle, sys; pickle.load(open(sys.argv[1], 'rb'))", "FILE")),
    Row("xplane.pb", "xplane/*/*.xplane.pb", "", "info", ("sh", "-c", "protoc --decode_raw <\"$0\"", "FILE")),
    Row("rocprofv3 (JSON)", "rocprof/*/*.json.gz", "", "info", (PYTHON, "-c", "import json, sys; json.load(open(sys.argv[1]))", "FILE")),
    Row("Nsight Systems (SQLite)", "nsys-sqlite/*/*.sqlite", "", "info", ("sqlite3", "FILE", ".dump")),
)


def later(body: bytes, k: int) -> bytes:
    """The same samples k hours on: a monitor's times rise."""
    if k == 0:
        return body
    time = re.compile(rb"(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
    moved = {t: (datetime.datetime.fromisoformat(t.decode()) + datetime.timedelta(hours=k)).isoformat().encode() for t in set(time.findall(body))}
    return time.sub(lambda found: moved[found[0]], body)


def unpacked(source: Path, row: Row, megabytes: int, folder: Path) -> Path:
    data = gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes()
    head, body = (b"", data) if row.repeats != "body" else (data[:data.index(b"\n") + 1], data[data.index(b"\n") + 1:])
    times = max(1, megabytes * 1_000_000 // max(1, len(body))) if row.repeats else 1
    out = folder / source.name.removesuffix(".gz")
    with out.open("wb") as file:
        file.write(head)
        for k in range(times):
            file.write(later(body, k))
    return out


def cpu_seconds(command: list[str], allowed: tuple[int, ...]) -> float | None:
    """The least of some runs; None where one fails."""
    least = None
    for _ in range(ROUNDS):
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in allowed:
            return None
        seconds = used.ru_utime + used.ru_stime
        least = seconds if least is None else min(least, seconds)
    return least


def measured(row: Row, holdup: str, megabytes: int, folder: Path) -> list[str]:
    sources = sorted(TRACES.glob(row.source), key=lambda p: p.stat().st_size)
    peer = Path(row.peer[0]).name if row.peer[0] != "sh" else "protoc"
    peer = peer if not peer.startswith("python") else "Python " + ("csv" if "csv" in row.peer[2] else "json" if "json" in row.peer[2] else "pickle")
    if not sources:
        return [row.what, "-", "no file", peer, "-", "-"]
    path = unpacked(sources[-1], row, megabytes, folder)
    mb = path.stat().st_size / 1e6
    ours = cpu_seconds([holdup, row.command, "-q", str(path)], ALLOWED)
    name = "protoc" if row.peer[0] == "sh" else row.peer[0]
    theirs = cpu_seconds([w.replace("FILE", str(path)) if w == "FILE" else w for w in row.peer], (0,)) if shutil.which(name) else None
    path.unlink()
    if ours is None:
        return [row.what, f"{mb:.1f}", "failed", peer, "-", "-"]
    return [row.what, f"{mb:.1f}", f"{mb / ours:,.0f}", peer, f"{mb / theirs:,.0f}" if theirs else "-", f"{theirs / ours:.1f}" if theirs else "-"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--holdup", default=str(ROOT / "build/holdup"))
    parser.add_argument("--megabytes", type=int, default=40, help="of text files, which are repeated (default: 40)")
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdup-bench-") as folder:
        rows = [measured(row, options.holdup, options.megabytes, Path(folder)) for row in ROWS]
    text = table(["", "MB", "MB/s", "beside it", "MB/s", "speed x"], rows)
    print(text)
    if options.page:
        when = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
        about = fold(f"Written by `bench/formats.py` on {when}. {machine()}. MB of the plain file per second of CPU time, start and answer included, so that small "
                     "files look slow. Beside it a program that goes through the file and says nothing about the job; logs and CSV are real ones, repeated.")
        options.page.write_text(put(options.page.read_text(), f"## {TITLE}\n\n{about}\n\n{text}", TITLE))
    return 0


if __name__ == "__main__":
    sys.exit(main())
