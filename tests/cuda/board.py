# SPDX-License-Identifier: Apache-2.0
"""Training loops with a planted cause on the stand-in device, recorded and explained; the truth is the same loop without the cause.

    python3 -m tests.cuda.board --holdup build/holdup [--repeats 3] [--markdown docs/exam_cuda.md]

On an idle machine: gains are differences of times.  tests/test_cuda_job.py asks only what holds on a crowded one."""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Any

from tests.cuda import stand

POINTS = 5.0                            # a gain may be off by this much, or lie in its own interval


@dataclass(frozen=True)
class Plant:
    """ids: findings that name the cause; none: nothing is wrong."""
    cause: str
    ids: tuple[str, ...] = ()
    words: str = ""
    steps: int = 40
    ranks: int = 1

    def command(self, fixed: bool) -> list[str]:
        """Ranks are processes of one shell; the work of a step is told by rank 0."""
        train = [str(stand.program("train")), self.cause, str(self.steps), *(["fixed"] if fixed else [])]
        if self.ranks == 1:
            return train
        one = "RANK=$i LOCAL_RANK=$i WORLD_SIZE={n} {line} 2>\"$HOLDUP_TEST_SAID$i\" &".format(n=self.ranks, line=" ".join(train))
        return ["sh", "-c", f"i=0; while [ $i -lt {self.ranks} ]; do {one} i=$((i + 1)); done; wait; cat \"$HOLDUP_TEST_SAID\"0 >&2"]


PLANTS = (
    Plant("launches", ("launch-bound",), r"cudaLaunchKernel|launch"),
    Plant("item", ("host-sync",), r"cudaStreamSynchronize|cudaMemcpyAsync|DtoH|sync"),
    Plant("pageable", ("copy-bound",), r"[Pp]ageable"),
    Plant("loader", ("data-loading", "sleep"), r"data|sleep"),
    Plant("allocations", ("allocator",), r"cudaMalloc|cudaFree"),
    Plant("late", ("straggler",), r"\b3\b", ranks=8),
    Plant("late-end", ("straggler",), r"\b3\b", ranks=8),
    Plant("graph"),
    Plant("busy"),
)
WORK = re.compile(r"^work ([0-9.]+)$", re.M)


def environment(folder: pathlib.Path) -> dict[str, str]:
    return stand.environment(folder, stand.cupti(), STANDIN_WORLD=str(folder / "world"), HOLDUP_TEST_SAID=str(folder / "said"))


def seconds(plant: Plant, fixed: bool) -> float:
    """Of the steps, without the recorder."""
    with tempfile.TemporaryDirectory() as name:
        done = subprocess.run(plant.command(fixed), capture_output=True, text=True, timeout=120, check=True, env=environment(pathlib.Path(name)))
    found = WORK.search(done.stderr)
    assert found, done.stderr
    return float(found[1])


def truth(plant: Plant, repeats: int) -> tuple[float, float]:
    """Percent of the steps that the cause takes, and half of the distance between the extremes of single pairs."""
    pairs = [(seconds(plant, False), seconds(plant, True)) for _ in range(repeats)]
    gains = [100 * (slow - fast) / slow for slow, fast in pairs]
    slow, fast = (statistics.median(p[k] for p in pairs) for k in (0, 1))
    return 100 * (slow - fast) / slow, (max(gains) - min(gains)) / 2


@dataclass
class Answer:
    """What was said of one recording."""
    status: int
    said: str
    report: dict[str, Any]
    traces: list[pathlib.Path]
    work: float

    def findings(self) -> list[dict[str, Any]]:
        return self.report.get("findings", [])

    def of(self, ids: tuple[str, ...]) -> dict[str, Any] | None:
        return next((f for f in self.findings() if f["id"] in ids), None)


def record(plant: Plant, folder: pathlib.Path, holdup: str) -> Answer:
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([holdup, "run", "--no-report", "-o", str(folder / "trace"), "--", *plant.command(False)], capture_output=True, text=True,
                          timeout=240, check=False, env=environment(folder))
    traces = sorted(folder.rglob("*.pftrace"))
    work = WORK.search(done.stderr)
    if not traces:
        return Answer(done.returncode, done.stderr, {}, [], 0.0)
    where = traces[0] if len(traces) == 1 else traces[0].parent
    told = subprocess.run([holdup, "report", "--json", "--quiet", str(where)], capture_output=True, text=True, timeout=240, check=False)
    return Answer(done.returncode, done.stderr + told.stderr, json.loads(told.stdout) if told.returncode == 0 else {}, traces,
                  float(work[1]) if work else 0.0)


def judge(plant: Plant, answer: Answer, gain: float, spread: float) -> tuple[str, str]:
    """A grade, and what was said first."""
    first = answer.findings()[0] if answer.findings() else None
    said = f"{first['id']}: {first['statement']}" if first else "nothing"
    if not plant.ids:
        return ("clean" if not first or (first["gain_pct"] or 0) < 2 + spread else "accused"), said
    ours = answer.of(plant.ids)
    if not ours:
        return "silent" if not first else "wrong", said
    place = re.search(plant.words, " ".join([ours["title"], ours["statement"], *ours["evidence"]]))
    price = ours["gain_pct"]
    fits = price is not None and (abs(price - gain) <= POINTS + spread or (ours["gain_low_pct"] or 0) <= gain <= (ours["gain_high_pct"] or 0))
    grade = "right" if fits and place else "mispriced" if place else "vague"
    return grade if ours is first else f"{grade}, not first", f"{ours['id']} {price:.1f} %: {ours['statement']}"


def main() -> int:
    words = argparse.ArgumentParser()
    words.add_argument("--holdup", required=True)
    words.add_argument("--repeats", type=int, default=3)
    words.add_argument("--markdown", type=pathlib.Path)
    words.add_argument("--only")
    options = words.parse_args()
    rows = []
    for plant in PLANTS:
        if options.only and plant.cause != options.only:
            continue
        gain, spread = truth(plant, options.repeats)
        with tempfile.TemporaryDirectory() as name:
            answer = record(plant, pathlib.Path(name), os.path.abspath(options.holdup))
            grade, said = judge(plant, answer, gain, spread)
        rows.append(f"| {plant.cause} | {gain:.1f} ± {spread:.1f} % | {grade} | {said.replace('|', '/')} |")
        print(rows[-1], flush=True)
    if options.markdown:
        options.markdown.write_text("| planted | truth | grade | said |\n| --- | --- | --- | --- |\n" + "\n".join(rows) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
