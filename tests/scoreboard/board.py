# SPDX-License-Identifier: Apache-2.0
"""Asks holdup about traces whose answer is known, and writes down how often it is right and by how much it is wrong.

    python3 -m tests.scoreboard.board --holdup build/holdup --out docs/accuracy.md
    python3 -m tests.scoreboard.board --only 137 --keep /tmp/traces        one case, its trace kept"""
from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tests.opencl_pairs import page as opencl_pairs
from tests.scoreboard import real
from tests.scoreboard.job import run, step_ns
from tests.scoreboard.kineto import write
from tests.scoreboard.plants import ACCEPTED, DECOYS, DEFECTS, MAGNITUDES, NOTHING, PLANTS, Case, make

Row = dict[str, Any]
LEAST_SAID = 0.5                        # percent: a finding below this is not an answer


# one case


def ask(holdup: str, path: Path) -> Row:
    """What the program says of a trace; a program that fails has said nothing, and why is kept."""
    done = subprocess.run([holdup, "report", "--json", "-q", str(path)], capture_output=True, check=False,
                          env={**os.environ, "HOLDUP_THREADS": "1"})
    if done.returncode != 0:
        return {"failure": f"exit {done.returncode}: {done.stderr.decode(errors='replace')[:200]}"}
    return json.loads(done.stdout)


def found(report: Row) -> list[Row] | None:
    """The findings, wherever this version puts them; None where it has none to give."""
    for place in (report, *report.get("ranks", [])[:1]):
        if isinstance(place.get("findings"), list):
            return [
                {k: f.get(k) for k in ("id", "gain_pct", "gain_low_pct", "gain_high_pct", "confidence")}
                for f in place["findings"]
            ]
    return None


def replay_error(report: Row) -> float | None:
    for place in (report, *report.get("ranks", [])[:1]):
        if isinstance(place.get("replay"), dict):
            return place["replay"].get("error_pct")
    return None


def describe(case: Case) -> Row:
    return {
        "index": case.index,
        "group": case.group,
        "cause": case.cause,
        "magnitude": case.magnitude,
        "kind": case.job.kind,
        "seed": case.job.seed,
        "defect": case.defect,
        "truths": {k: round(v, 3) for k, v in case.truths.items()},
        "expected": case.expected(),
    }


def score(task: tuple[int, str, str, bool]) -> Row:
    """Makes case `index`, asks, and keeps what was said beside what is true."""
    index, holdup, folder, keeps = task
    case = make(index)
    machine = run(case.job, keeps_log=True)
    path = Path(folder) / f"case{index}.json"
    path.write_text(write(case.job, machine, case.capture))
    report = ask(holdup, path)
    if not keeps:
        path.unlink()
    steps = (report.get("ranks") or [{}])[0].get("steps") or {}
    return {
        **describe(case),
        "findings": found(report),
        "replay_error_pct": replay_error(report),
        "failure": report.get("failure"),
        "step_ns": step_ns(machine),
        "read_step_ns": steps.get("mean_ns"),
        "steps": case.job.steps,
        "read_steps": steps.get("count"),
        "read_counted": steps.get("counted"),
    }


# what was said


def top(row: Row) -> str:
    """The first answer, as an id."""
    said = [f for f in row["findings"] or [] if (f["gain_pct"] or 0) >= LEAST_SAID]
    if said:
        return said[0]["id"]
    return NOTHING


def named(row: Row, cause: str) -> Row | None:
    """The first finding that names a cause."""
    return next(
        (f for f in row["findings"] or [] if f["id"] in ACCEPTED.get(cause, (cause,)) and f["gain_pct"] is not None), None
    )


def is_left_out(row: Row) -> bool:
    """A warm-up step that is not in the means: then there is nothing to gain by removing it, and nothing to predict."""
    return row["cause"] == "warm-up" and (row["read_counted"] or 0) < row["steps"]


def is_right(row: Row) -> bool:
    """A warm-up step that was left out of the means has been dealt with as well as one that was named."""
    said, expected = top(row), row["expected"]
    if said in ACCEPTED.get(expected, (expected,)):
        return True
    left_out = expected == "warm-up" and is_left_out(row)
    others = max((g for c, g in row["truths"].items() if c != "warm-up"), default=0)
    return left_out and (said == NOTHING or (row["findings"][0]["gain_pct"] or 0) <= max(3, 1.5 * others))


# numbers


def share(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None


def number(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def quantile(values: list[float], q: float) -> float | None:
    return sorted(values)[min(len(values) - 1, int(q * len(values)))] if values else None


def mean(values: Iterable[float]) -> float | None:
    values = list(values)
    return statistics.fmean(values) if values else None


class Board:
    """All rows, and what follows from them."""
    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.planted = [r for r in rows if r["group"] in ("alone", "confounded")]
        self.clear = [r for r in self.planted if r["expected"] == r["cause"]]        # the plant is the largest gain there is
        self.decoys = [r for r in rows if r["group"] == "decoy"]
        self.nulls = [r for r in rows if r["group"] == "null"]

    def accuracy(self, rows: list[Row]) -> float | None:
        return share(sum(is_right(r) for r in rows), len(rows))

    def at(self, magnitude: int) -> list[Row]:
        return [r for r in self.clear if r["magnitude"] == magnitude]

    def errors(self, rows: list[Row], with_silence: bool) -> list[float]:
        """Predicted less true gain, in points; a cause that was not named was predicted to gain nothing."""
        result = []
        for r in rows:
            finding = named(r, r["cause"])
            if finding or (with_silence and not is_left_out(r)):
                result.append((finding["gain_pct"] if finding else 0.0) - r["truths"][r["cause"]])
        return result

    def intervals(self, rows: list[Row]) -> list[bool]:
        result = []
        for r in rows:
            f = named(r, r["cause"])
            if f and f["gain_low_pct"] is not None and f["gain_high_pct"] is not None:
                result.append(f["gain_low_pct"] - 0.05 <= r["truths"][r["cause"]] <= f["gain_high_pct"] + 0.05)
        return result

    def is_tempted(self, row: Row) -> bool:
        ids = DECOYS[row["cause"]]
        return any(f["id"] in ids and (f["gain_pct"] or 0) > 1 for f in row["findings"] or [])

    def is_imagined(self, row: Row) -> bool:
        return any((f["gain_pct"] or 0) > 3 for f in row["findings"] or [])

    def steady(self) -> list[Row]:
        """Steps can be compared where none was slow by a plant in the first of them."""
        return [r for r in self.rows if r["cause"] != "warm-up" and r["read_step_ns"]]


# the document


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(r) + " |" for r in rows), ""]


def verdicts(b: Board) -> list[str]:
    """The targets."""
    large = [r for r in b.clear if r["magnitude"] >= 10]
    absolute = [abs(e) for e in b.errors(b.planted, True)]
    inside = b.intervals(b.planted)
    cover = share(sum(inside), len(inside))
    rows: list[tuple[str, str, float | None, Callable[[float], bool], int]] = [
        (
            "first finding is the planted cause, gain of 10 % and more",
            ">= 90 %",
            b.accuracy(large),
            lambda v: v >= 90,
            len(large),
        ),
        ("the same, gain of 3 %", ">= 75 %", b.accuracy(b.at(3)), lambda v: v >= 75, len(b.at(3))),
        (
            "decoys taken for a cause (gain > 1 %)",
            "<= 5 %",
            share(sum(map(b.is_tempted, b.decoys)), len(b.decoys)),
            lambda v: v <= 5,
            len(b.decoys),
        ),
        (
            "findings > 3 % where nothing is wrong",
            "<= 2 %",
            share(sum(map(b.is_imagined, b.nulls)), len(b.nulls)),
            lambda v: v <= 2,
            len(b.nulls),
        ),
        (
            "mean absolute error of the gain, a cause not named counting as 0",
            "<= 1.5 points",
            mean(absolute),
            lambda v: v <= 1.5,
            len(absolute),
        ),
        ("true gains inside of the interval", "85–95 %", cover, lambda v: 85 <= v <= 95, len(inside)),
    ]
    return table(
        ["what", "target", "reached", "of", "met"],
        [[what, target, number(v), str(n), "yes" if v is not None and met(v) else "NO"] for what, target, v, met, n in rows],
    )


def by_magnitude(b: Board) -> list[str]:
    rows = [[f"{m} %", str(len(b.at(m))), number(b.accuracy(b.at(m))),
             number(share(sum(named(r, r["cause"]) is not None for r in b.at(m)), len(b.at(m))))] for m in MAGNITUDES]
    return table(["true gain about", "traces", "first finding right, %", "named anywhere, %"], rows)


def by_cause(b: Board) -> list[str]:
    rows = []
    for cause in sorted(PLANTS):
        mine = [r for r in b.planted if r["cause"] == cause]
        clear = [r for r in mine if r["expected"] == cause and r["magnitude"] >= 3]
        e, all_of = b.errors(mine, False), b.errors(mine, True)
        inside = b.intervals(mine)
        rows.append([cause, str(len(mine)), number(b.accuracy(clear)), str(len(e)), number(mean(map(abs, e)), 2),
                     number(quantile([abs(v) for v in e], 0.9), 2), number(mean(e), 2), number(mean(map(abs, all_of)), 2),
                     number(share(sum(inside), len(inside)))])
    return table(
        [
            "cause",
            "traces",
            "first, % (gain >= 3 %)",
            "named",
            "error: mean",
            "p90",
            "bias",
            "mean with silence = 0",
            "in interval, %",
        ],
        rows,
    )


def by_group(b: Board, key: str, names: Iterable[str]) -> list[str]:
    rows = []
    for name in names:
        mine = [r for r in b.clear if r[key] == name and r["magnitude"] >= 3]
        rows.append(
            [name or "none", str(len(mine)), number(b.accuracy(mine)), number(mean(map(abs, b.errors(mine, True))), 2)]
        )
    return table([key, "traces", "first finding right, %", "mean error, points"], rows)


def confusion(b: Board) -> list[str]:
    """What was said first, by what is true, for gains of 3 % and more."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for r in b.planted:
        if r["expected"] and r["magnitude"] >= 3:
            counts[r["expected"]][top(r)] += 1
    for r in b.nulls:
        counts[NOTHING][top(r)] += 1
    for r in b.decoys:
        counts[f"decoy: {r['cause']}"][top(r)] += 1
    return table(["true", "said first (times)"],
                 [[t, ", ".join(f"{said} {n}" for said, n in counts[t].most_common())] for t in sorted(counts)])


def failures(b: Board, most: int = 25) -> list[str]:
    """The largest misses, whatever kind they are."""
    misses = []
    for r in b.rows:
        if r["group"] in ("decoy", "null"):
            wrong = b.is_tempted(r) if r["group"] == "decoy" else b.is_imagined(r)
            ids = DECOYS.get(r["cause"])
            largest = max((f["gain_pct"] or 0 for f in r["findings"] or [] if not ids or f["id"] in ids), default=0)
            misses.append((largest if wrong else 0, r))
        else:
            off = max(map(abs, b.errors([r], True)), default=0)
            misses.append((off if off > 1.5 or (r in b.clear and not is_right(r)) else 0, r))
    worst = sorted((m for m in misses if m[0] > 0), key=lambda m: (-m[0], m[1]["index"]))[:most]
    return table(
        ["case", "job", "planted", "defect", "true gains, %", "said, %", "off by"],
        [
            [
                str(r["index"]),
                f"{r['kind']} {r['seed']}",
                f"{r['cause']} {r['magnitude']} %" if r["magnitude"] else f"{r['group']}: {r['cause']}",
                r["defect"] or "–",
                gains(r["truths"].items()),
                r["failure"] or gains((f["id"], f["gain_pct"] or 0) for f in (r["findings"] or [])[:3]) or "nothing",
                number(off),
            ]
            for off, r in worst
        ],
    )


def gains(pairs: Iterable[tuple[str, float]]) -> str:
    return ", ".join(f"{name} {gain:.1f}" for name, gain in sorted(pairs, key=lambda p: -p[1]))


def reading(b: Board) -> list[str]:
    """Whether the program reads the traces as they were meant."""
    off = [abs(100 * (r["read_step_ns"] / r["step_ns"] - 1)) for r in b.steady()]
    replay = [abs(r["replay_error_pct"]) for r in b.rows if r["replay_error_pct"] is not None]
    silent = sum(r["findings"] is None for r in b.rows)
    wrong = sum(r["read_steps"] != r["steps"] for r in b.rows)
    broke = sum(bool(r["failure"]) for r in b.rows)
    return [
        f"- step time as reported against the simulation's of the whole capture: median {number(quantile(off, 0.5), 2)} %, "
        f"90 % of traces within {number(quantile(off, 0.9), 2)} %",
        f"- error of the replay against the trace: "
        + (
            f"median {number(quantile(replay, 0.5), 2)} %, p90 {number(quantile(replay, 0.9), 2)} % "
            f"of {len(replay)} traces"
            if replay
            else "not reported"
        ),
        f"- traces with a wrong number of steps: {wrong}; that made the program fail: {broke}; "
        f"without `findings` in the report: {silent}",
        "",
    ]


def truths() -> list[str]:
    return table(["planted", "is named by", "the truth: the same seed again, but"],
                 [[c, ", ".join(ACCEPTED[c]), PLANTS[c].truth] for c in sorted(PLANTS)])


INTRODUCTION = """<!-- SPDX-License-Identifier: Apache-2.0; written by `make scoreboard`, not by hand -->
# Accuracy

How often holdup names what holds up a job, and how well it predicts what the fix gains, on {count} traces of simulated
training jobs. Most have a cause planted that costs about 1, 3, 10 or 30 % of a step. The true gain is exact: the simulation
runs again with the same random numbers and without the cause. It (`tests/scoreboard/`) shares no code with the program.

What this does not show: how the program does on real machines. The simulation knows no more of them than its authors.
"""


def document(rows: list[Row], count: int, holdup: str) -> str:
    b = Board(rows)
    others = [r for r in b.planted if r["expected"] != r["cause"]]
    parts = [
        INTRODUCTION.format(count=count),
        "## Targets",
        "",
        *verdicts(b),
        *reading(b),
        "## By size of the gain",
        "",
        f"Only where the planted cause is what gains most, by a fifth: {len(b.clear)} traces.",
        f"In {len(others)} others something else",
        "gains as much or more (mostly a job that is launch-bound by nature); they count for errors of the gain, not here.",
        "",
        *by_magnitude(b),
        "## By cause",
        "",
        "Errors in points of step time: predicted less true gain.",
        "",
        *by_cause(b),
        "## By what is wrong with the capture",
        "",
        *by_group(b, "defect", DEFECTS),
        "## By kind of job",
        "",
        *by_group(b, "kind", ("gpu", "launch", "streams", "ddp")),
        "## Alone, or beside a second cause",
        "",
        *by_group(b, "group", ("alone", "confounded")),
        "## What was said first",
        "",
        "Gains of 3 % and more.",
        "",
        *confusion(b),
        "## The largest misses",
        "",
        *failures(b),
        "## What counts as right",
        "",
        *truths(),
        "A finding below 0.5 % is no answer. A warm-up step that was left out of the means counts as named, and has no gain.",
        "",
        "Decoys: " + "; ".join(f"{d} (tempts to {', '.join(ids)})" for d, ids in DECOYS.items()) + ".",
        "",
        *real.pairs(holdup),
        *opencl_pairs.section(Path(holdup)),
        *real.replays(holdup),
        "## Again",
        "",
        "    make scoreboard",
        f"    python3 -m tests.scoreboard.board --count {count} --out docs/accuracy.md",
        "    python3 -m tests.scoreboard.board --only CASE --keep FOLDER      one case of the lists above, with its trace",
        "",
    ]
    return "\n".join(parts)


def arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--holdup", default="build/holdup", help="the program")
    p.add_argument("--count", type=int, default=1000, help="cases (1000)")
    p.add_argument("--jobs", type=int, default=2, help="processes (2)")
    p.add_argument("--out", type=Path, help="write the document here")
    p.add_argument("--json", type=Path, help="write all rows here")
    p.add_argument("--only", type=int, help="this case alone, printed as JSON")
    p.add_argument("--keep", type=Path, help="keep the traces in this folder")
    return p.parse_args()


def measure(a: argparse.Namespace, folder: str) -> list[Row]:
    tasks = [(i, a.holdup, folder, a.keep is not None) for i in ([a.only] if a.only is not None else range(a.count))]
    if a.jobs < 2 or len(tasks) == 1:
        return [score(t) for t in tasks]
    with multiprocessing.Pool(a.jobs) as pool:
        return pool.map(score, tasks, chunksize=8)


def main() -> int:
    a = arguments()
    if not os.access(a.holdup, os.X_OK):
        print(f"{a.holdup} is not there: run `make build`", file=sys.stderr)
        return 2
    began = time.monotonic()
    if a.keep:
        a.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(a, str(a.keep or folder))
    if a.only is not None:
        print(json.dumps(rows[0], indent=2))
        return 0
    text = document(rows, len(rows), a.holdup)
    if a.json:
        a.json.write_text(json.dumps(rows, indent=1))
    if a.out:
        a.out.write_text(text)
    print("\n".join(verdicts(Board(rows))))
    print(f"{len(rows)} traces in {time.monotonic() - began:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
