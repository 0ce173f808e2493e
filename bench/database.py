# SPDX-License-Identifier: Apache-2.0
"""One statement of SQL over the slices of a trace: `holdup query` beside DuckDB and SQLite that have the same rows loaded.
Loading is nobody's time here: neither that of the databases nor holdup's reading of the file, which is told apart."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contenders import PEERS, Holdup
from inputs import Trace

STATEMENT = "select name, sum(dur_ns) from slice group by name order by 2 desc limit 20"
LOADED = "select name, start_ns, dur_ns, kind, track from slice"
NO_DUCKDB = "not installed (pip install duckdb; HOLDUP_DUCKDB_PYTHON=its python)"


@dataclass(frozen=True)
class Answer:
    """One engine's answer to the statement."""

    label: str
    seconds: float                  # of the statement
    before_s: float                 # what had to be done before: reading, loading
    rows: list[list[Any]]


@dataclass
class Queried:
    trace: Trace
    slices: int
    answers: dict[str, Answer] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)

    def ratio(self, to: str) -> float | None:
        ours, theirs = self.answers.get("holdup"), self.answers.get(to)
        return ours.seconds / theirs.seconds if ours and theirs else None

    @property
    def agrees(self) -> bool:
        """The same sums: names with equal sums may come in any order."""
        return len({json.dumps([row[1] for row in a.rows]) for a in self.answers.values()}) < 2


def find_duckdb() -> str:
    for python in filter(None, [os.environ.get("HOLDUP_DUCKDB_PYTHON"), shutil.which("python3")]):
        if subprocess.run([python, "-c", "import duckdb"], capture_output=True, check=False).returncode == 0:
            return python
    return ""


def measure(holdup: Holdup, trace: Trace, rounds: int) -> Queried | None:
    """None where bench/query.c was not built beside the program, or failed."""
    ours = of_holdup(holdup, trace, rounds)
    if not ours:
        return None
    out = Queried(trace, count(holdup, trace), {"holdup": ours})
    with tempfile.TemporaryDirectory(prefix="holdup-slices-", dir=trace.path.parent) as folder:
        rows = Path(folder) / "slices.csv"
        subprocess.run([str(holdup.program), "query", "-q", "--csv", "--output", str(rows), str(trace.path), LOADED], check=True)
        for engine, python in [("sqlite3", sys.executable), ("duckdb", find_duckdb())]:
            answer = of_peer(engine, python, rows, rounds)
            if answer:
                out.answers[engine] = answer
            else:
                out.absent.append(f"{engine}: {'failed' if python else NO_DUCKDB}")
    return out


def count(holdup: Holdup, trace: Trace) -> int:
    done = subprocess.run([str(holdup.program), "query", "-q", "--csv", str(trace.path), "select count(*) from slice"],
                          capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1])


def of_holdup(holdup: Holdup, trace: Trace, rounds: int) -> Answer | None:
    program = holdup.program.parent / "bench/query"
    if not program.exists():
        return None
    print("  holdup: a statement of SQL", file=sys.stderr, flush=True)
    done = subprocess.run([str(program), str(trace.path), STATEMENT, str(rounds)], capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    head, *lines = done.stdout.splitlines()
    read, opened, answered = (int(word) / 1e9 for word in head.split())
    rows = [line.rsplit("\t", 1) for line in lines]
    return Answer("holdup query", opened + answered, read, [[name, int(total)] for name, total in rows])


def of_peer(engine: str, python: str, rows: Path, rounds: int) -> Answer | None:
    if not python:
        return None
    print(f"  {engine}: a statement of SQL", file=sys.stderr, flush=True)
    done = subprocess.run([python, str(PEERS / "sql.py"), engine, str(rows), STATEMENT, str(rounds)], capture_output=True,
                          text=True, check=False)
    if done.returncode:
        return None
    said = json.loads(done.stdout)
    return Answer(said["version"], said["seconds"], said["load_seconds"], [list(row) for row in said["rows"]])
