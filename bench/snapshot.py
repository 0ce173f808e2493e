#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures a report on memory snapshots beside what Python's own unpickler takes for the same file, import and start left out of
neither: `python3 -c "import pickle; pickle.load(...)"`.  Prints CPU seconds and peak memory, the median of rounds in turn."""

from __future__ import annotations

import argparse
import os
import pickle
import random
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any, Sequence

ROOT = Path(__file__).resolve().parent.parent
LOAD = "import pickle, sys; pickle.load(open(sys.argv[1], 'rb'))"


def made(records: int) -> dict[str, Any]:
    """A history as PyTorch writes it: 60 frames a record, shared by the records of a place, as in real snapshots."""
    dice = random.Random(1)
    places = [[{"name": f"c10::impl::wrapper_{i}_{k}", "filename": "??", "line": 0} for k in range(40)] +
              [{"name": f"forward_{k}", "filename": f"/home/me/model_{i}.py", "line": k} for k in range(20)] for i in range(400)]
    history, live, at = [], [], 1 << 40
    for n in range(records):
        if live and dice.random() < 0.5:
            address, size = live.pop(dice.randrange(len(live)))
            action = "free_completed"
        else:
            address, size, action = at, dice.randrange(1, 1 << 16) * 512, "alloc"
            at += size
            live.append((address, size))
        history.append({"action": action, "addr": address, "size": size, "stream": 0, "time_us": 10**15 + 7 * n, "frames": dice.choice(places)})
    blocks = [{"address": a, "size": s, "requested_size": s, "state": "active_allocated", "frames": places[0]} for a, s in live]
    return {"segments": [{"device": 0, "address": 1 << 40, "total_size": at - (1 << 40), "stream": 0, "segment_type": "large",
                          "segment_pool_id": (0, 0), "is_expandable": True, "blocks": blocks}], "device_traces": [history]}


def cost(command: Sequence[str | Path]) -> tuple[float, float]:
    """CPU seconds and peak MB of a command."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execvp(command[0], [str(c) for c in command])
    _, status, used = os.wait4(child, 0)
    if status:
        sys.exit(f"{command[0]} failed: status {status}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1000


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("files", nargs="*", type=Path, help="snapshots; without any, one is made")
    p.add_argument("--holdup", type=Path, default=ROOT / "build/holdup")
    p.add_argument("--records", type=int, default=200_000, help="of the one that is made (default 200000)")
    p.add_argument("--runs", type=int, default=5, help="rounds (default 5)")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = a.files
        if not files:
            files = [Path(folder) / "made.pickle"]
            files[0].write_bytes(pickle.dumps(made(a.records), 4))
        print(f"{'snapshot':32} {'MB':>7}   {'holdup report':>17}   {'pickle.load':>17}   ratio")
        for file in files:
            rounds = [(cost([a.holdup, "report", "-q", file]), cost([sys.executable, "-c", LOAD, file])) for _ in range(a.runs)]
            (ours, our_mb), (theirs, their_mb) = (tuple(statistics.median(r[side][k] for r in rounds) for k in (0, 1)) for side in (0, 1))
            print(f"{file.name[:32]:32} {file.stat().st_size / 1e6:7.2f}   {ours:6.3f} s {our_mb:5.0f} MB   {theirs:6.3f} s {their_mb:5.0f} MB"
                  f"   {theirs / ours:.1f}×")
    return 0


if __name__ == "__main__":
    sys.exit(main())
