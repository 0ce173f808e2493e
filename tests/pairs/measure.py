# SPDX-License-Identifier: Apache-2.0
"""Statistics and the score of before/after pairs: what a remedy gained on a real run, beside what holdup said it would.

Nothing here needs torch, so that the figures can be checked anywhere (tests/test_pairs.py).
"""
from __future__ import annotations

import dataclasses
import json
import pathlib
import random
import re
import statistics
import subprocess
from collections.abc import Sequence
from typing import Any

DRAWS = 2000
SEED = 20261121
NULL_PCT = 3.0      # where nothing is planted, a finding above this is a false alarm
UNKNOWN = "–"

Rounds = Sequence[Sequence[float]]      # step times of one arm, one list for each time that the arm had its turn


@dataclasses.dataclass(frozen=True)
class Gain:
    """How much shorter a step became, in per cent of the step before, with its 95 % interval."""
    before: float
    after: float
    pct: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Prediction:
    """What a report says about one pair; the numbers are None where it has no finding of the expected kind."""
    id: str | None = None
    pct: float | None = None
    low: float | None = None
    high: float | None = None
    top: str | None = None
    top_pct: float | None = None
    right: bool | None = None           # None: nothing to judge


def fold(rounds: Rounds, period: int) -> list[list[float]]:
    """Means over whole periods.  A stall at every k-th step does not show in the median step, but it is paid."""
    if period <= 1:
        return [list(steps) for steps in rounds]
    return [[statistics.fmean(steps[i:i + period]) for i in range(0, len(steps) - period + 1, period)] for steps in rounds]


def block_length(count: int) -> int:
    """The usual n^(1/3): neighbouring steps resemble each other, so they are drawn together."""
    return max(1, round(count ** (1 / 3)))


def redraw(steps: Sequence[float], rng: random.Random) -> list[float]:
    """As many steps as there were, drawn in moving blocks."""
    length = block_length(len(steps))
    drawn: list[float] = []
    while len(drawn) < len(steps):
        start = rng.randrange(len(steps) - length + 1)
        drawn.extend(steps[start:start + length])
    return drawn[:len(steps)]


def redraw_rounds(rounds: Rounds, rng: random.Random) -> list[float]:
    """Rounds first, steps second: rounds differ from each other by more than their steps do."""
    return [step for _ in rounds for step in redraw(rng.choice(rounds), rng)]


def gain(before: Rounds, after: Rounds, period: int = 1, work: float = 1.0, draws: int = DRAWS, seed: int = SEED) -> Gain:
    """The ratio of the median steps.  An arm that does `work` times as much in a step is charged for one share of it."""
    first = fold(before, period)
    second = [[step / work for step in steps] for steps in fold(after, period)]
    if not all(first) or not all(second) or not first or not second:
        raise ValueError("an arm has a round without a whole period of steps")
    rng = random.Random(seed)
    ratios = sorted(statistics.median(redraw_rounds(second, rng)) / statistics.median(redraw_rounds(first, rng))
                    for _ in range(draws))
    old = statistics.median(step for steps in first for step in steps)
    new = statistics.median(step for steps in second for step in steps)
    pct, low, high = (100.0 * (1.0 - ratio) for ratio in (new / old, quantile(ratios, 0.975), quantile(ratios, 0.025)))
    return Gain(old, new, pct, low, high)


def quantile(ordered: Sequence[float], share: float) -> float:
    """Linear between the two neighbours."""
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def names(finding: dict[str, Any], expects: Sequence[str], says: str | None) -> bool:
    """Does it name the cause: by its id, or to whoever reads its statement and its fix?"""
    text = f"{finding.get('title', '')} {finding.get('statement', '')} {finding.get('fix', '')}"
    return finding["id"] in expects or bool(says and re.search(says, text, re.I | re.S))


def read_report(report: dict[str, Any] | None, expects: Sequence[str] | None, says: str | None = None,
                dark: bool = False) -> Prediction:
    """The finding of the expected kind, and whether the first finding is of that kind.

    Empty `expects`: nothing is planted, and right is a report that promises no more than NULL_PCT.  None: what is planted
    has no name among the findings, and the report is not judged.  `dark`: the trace does not show it, so right is also a report
    that promises no more than NULL_PCT with more than low confidence.
    """
    if report is None or "findings" not in report:
        return Prediction()
    findings = report["findings"]
    top = findings[0] if findings else {}
    found = next((f for f in findings if names(f, expects or (), says)), {})
    right = None
    if expects or says:
        right = bool(top) and names(top, expects or (), says)
        if dark and not right:
            right = all((f.get("gain_pct") or 0.0) <= NULL_PCT or f.get("confidence") == "low" for f in findings)
    elif expects is not None:
        right = all((f.get("gain_pct") or 0.0) <= NULL_PCT for f in findings)
    return Prediction(found.get("id"), found.get("gain_pct"), found.get("gain_low_pct"), found.get("gain_high_pct"),
                      top.get("id"), top.get("gain_pct"), right)


def explain(holdup: pathlib.Path | None, trace: pathlib.Path) -> tuple[dict[str, Any] | None, str]:
    """holdup's report of a trace, or none and the reason; no reason where nobody asked for a prediction."""
    if holdup is None:
        return None, ""
    done = subprocess.run([str(holdup), "report", "--json", "-q", str(trace)], capture_output=True, check=False, timeout=120)
    if done.returncode != 0:
        return None, f"holdup ended with {done.returncode}: {done.stderr.decode(errors='replace').strip()}"
    return json.loads(done.stdout), ""


def read_edit(holdup: pathlib.Path | None, trace: pathlib.Path, edit: str) -> Prediction:
    """The price of an edit that no finding names."""
    if holdup is None:
        return Prediction()
    done = subprocess.run([str(holdup), "whatif", "--json", "-q", str(trace), "--edit", edit], capture_output=True, check=False, timeout=120)
    if done.returncode != 0:
        return Prediction()
    price = json.loads(done.stdout)["edits"][0]
    return Prediction(edit, price["gain_pct"], price["gain_low_pct"], price["gain_high_pct"])


def row(name: str, expects: Sequence[str] | None, truth: Gain | None, prediction: Prediction,
        note: str = "") -> dict[str, Any]:
    """One pair as pairs.json keeps it.  Times in ms."""
    error = None
    if truth is not None and prediction.pct is not None:
        error = prediction.pct - truth.pct
    return {"pair": name, "expects": expects and list(expects), "truth": dataclasses.asdict(truth) if truth else None,
            "prediction": dataclasses.asdict(prediction), "error_points": error, "note": note}


HEAD = ("pair", "before ms", "after ms", "achieved %", "predicted %", "error, points", "top finding", "named right")


def number(value: float | None, form: str = ".1f") -> str:
    return UNKNOWN if value is None else format(value, form)


def cells(entry: dict[str, Any]) -> list[str]:
    truth, said = entry["truth"] or {}, entry["prediction"]

    def span(of: dict[str, Any]) -> str:
        if of.get("pct") is None:
            return UNKNOWN
        if of.get("low") is None or of.get("high") is None:
            return number(of["pct"])
        return f"{number(of['pct'])} [{number(of['low'])}..{number(of['high'])}]"

    top = said["top"] or UNKNOWN
    if said["top"] and said["top_pct"] is not None:
        top += f" ({number(said['top_pct'])})"
    right = {True: "yes", False: "no", None: UNKNOWN}[said["right"]]
    return [entry["pair"], number(truth.get("before"), ".2f"), number(truth.get("after"), ".2f"), span(truth), span(said),
            number(entry["error_points"], "+.1f"), top, right]


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown that is also readable as it stands; notes follow it."""
    body = [list(HEAD)] + [cells(entry) for entry in rows]
    widths = [max(len(line[i]) for line in body) for i in range(len(HEAD))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |" for line in body]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    notes = [f"- {entry['pair']}: {entry['note']}" for entry in rows if entry["note"]]
    return "\n".join(lines + ([""] + notes if notes else []) + ["", summary(rows)]) + "\n"


def summary(rows: Sequence[dict[str, Any]]) -> str:
    """The two figures that a scoreboard keeps: how far off in points, how often the right cause came first."""
    errors = [abs(entry["error_points"]) for entry in rows if entry["error_points"] is not None]
    judged = [entry["prediction"]["right"] for entry in rows if entry["prediction"]["right"] is not None]
    if not judged:
        return f"{len(rows)} pairs measured; no predictions to compare with."
    mean = "no gain predicted"
    if errors:
        mean = f"{statistics.fmean(errors):.1f} points of mean absolute error over {len(errors)} predictions"
    return f"{len(rows)} pairs; {mean}; {sum(judged)} of {len(judged)} named right."


def write(folder: pathlib.Path, stem: str, rows: Sequence[dict[str, Any]], about: dict[str, Any]) -> str:
    """STEM.json and STEM.md; returns the table."""
    folder.mkdir(parents=True, exist_ok=True)
    text = table(rows)
    kept = {"about": about, "pairs": list(rows)}
    (folder / f"{stem}.json").write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    (folder / f"{stem}.md").write_text(text)
    return text
