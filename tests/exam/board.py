# SPDX-License-Identifier: Apache-2.0
"""Runs the exam and prints its board.

python3 -m tests.exam.board --holdup build/holdup --count 300 [--seed N] [--only CAUSE] [--case N] [--keep FOLDER] [--markdown FILE]
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from tests.exam import cases, page
from tests.exam.score import Mark, mark


def ask(holdup: str, path: Path) -> dict[str, Any]:
    """The program's report on a file or directory."""
    done = subprocess.run([holdup, "report", "--json", "--quiet", str(path)], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        return {"failed": f"exit {done.returncode}: {done.stderr[:200]}"}
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def examine(number: int, seed: int, only: str, holdup: str, keep: str) -> Mark:
    """Makes one case, asks, marks."""
    case = cases.make(number, seed, only)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(keep or folder) / f"case{number}.json"
        cases.record(case, path)
        result = mark(case, ask(holdup, path))
    return result


def run_all(function: Callable[..., Mark], numbers: list[int], arguments: tuple[Any, ...], processes: int) -> list[Mark]:
    """All cases, in order, on several processes."""
    if processes < 2:
        return [function(n, *arguments) for n in numbers]
    with ProcessPoolExecutor(processes) as pool:
        return list(pool.map(function, numbers, *[[a] * len(numbers) for a in arguments], chunksize=2))


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="tests.exam.board")
    parser.add_argument("--holdup", default="build/holdup")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--case", type=int, default=-1)
    parser.add_argument("--keep", default="")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--markdown", default="")
    parser.add_argument("--misses", type=int, default=25)
    options = parser.parse_args()
    if options.keep:
        Path(options.keep).mkdir(parents=True, exist_ok=True)
    numbers = [options.case] if options.case >= 0 else list(range(options.count))
    begun = time.time()
    marks = run_all(examine, numbers, (options.seed, options.only, options.holdup, options.keep), options.processes)
    text = page.board(marks, options.misses)
    sys.stdout.write(text + f"\n{len(marks)} cases in {time.time() - begun:.0f} s\n")
    if options.markdown:
        Path(options.markdown).write_text(text)


if __name__ == "__main__":
    main()
