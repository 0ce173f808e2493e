# SPDX-License-Identifier: Apache-2.0
"""What scanning one file would take on many cores, computed on few: the program scans the pieces one after the other and
says how long they took; here the longest chain of work is made of that.  It knows no memory bandwidth that cores share."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from contenders import Holdup

WORKERS = 16


@dataclass(frozen=True)
class Pieces:
    n: int
    longest_ns: int
    all_ns: int
    joins_ns: int                   # one after the other, by one thread

    def chain_ns(self, workers: int) -> float:
        """At most so long: whoever is free takes the next piece, so that all finish within one piece of each other
        (Graham's bound for list scheduling), and the joins follow."""
        share = self.all_ns / workers + self.longest_ns * (workers - 1) / workers
        return min(share, self.all_ns) + self.joins_ns

    def speedup(self, workers: int) -> float:
        """Over one worker that scans the same pieces."""
        return self.chain_ns(1) / self.chain_ns(workers)


def measure(holdup: Holdup, path: Path) -> Pieces | None:
    """None where bench/pieces was not built beside the program, or failed."""
    program = holdup.program.parent / "bench/pieces"
    if not program.exists():
        return None
    done = subprocess.run([str(program), str(path)], capture_output=True, text=True, check=False)
    words = done.stdout.split()
    return Pieces(*(int(word) for word in words[:4])) if done.returncode == 0 and len(words) >= 4 else None
