# SPDX-License-Identifier: Apache-2.0
"""What was kept of the OpenCL pairs, as a section of docs/accuracy.md: the truth as it was measured, the prediction of the program of today."""
from __future__ import annotations

import gzip
import json
import pathlib
import re
import statistics
from typing import Any

from tests.pairs import measure

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / "tests/data/opencl_pairs"
DOCUMENT = ROOT / "docs/accuracy.md"
TITLE = "## OpenCL on a CPU, before and after"
FOLLOWS = "## Real traces, replayed"        # the section behind it
HEAD = ("pair", "cause -> without it", "step, ms", "achieved, %", "predicted, %", "off by", "in interval", "said first", "right", "recorded, % slower", "others, %")


def machine() -> str:
    """The processor and what the platform calls it."""
    found = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return found[1].strip() if found else "unknown processor"


def cells(row: dict[str, Any]) -> list[str]:
    truth, said, error = row["truth"], row["prediction"], row["error_points"]
    achieved = f"{truth['pct']:.1f} [{truth['low']:.1f} … {truth['high']:.1f}]"
    predicted = inside = measure.UNKNOWN
    if said["pct"] is not None:
        predicted = f"{said['pct']:.1f} [{said['low']:.1f} … {said['high']:.1f}]"
        inside = "yes" if overlaps(row) else "no"
    first = f"{said['top']} ({measure.number(said['top_pct'])})" if said["top"] else "nothing"
    slower = measure.UNKNOWN
    if row["recorded_step_ms"]:
        slower = f"{100.0 * (row['recorded_step_ms'] / truth['before'] - 1.0):+.0f}"
    return [row["pair"], row["what"], f"{truth['before']:.2f} -> {truth['after']:.2f}", achieved, predicted, measure.number(error and abs(error)), inside,
            first, {True: "yes", False: "no", None: measure.UNKNOWN}[said["right"]], slower, f"{row['others_pct']:.0f}"]


def overlaps(row: dict[str, Any]) -> bool:
    """Whether the predicted interval holds a gain that the measurement allows."""
    return row["prediction"]["low"] <= row["truth"]["high"] and row["truth"]["low"] <= row["prediction"]["high"]


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Markdown, and the figures over all rows."""
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD), *("| " + " | ".join(cells(row)) + " |" for row in rows), ""]
    planted = [row for row in rows if row["expects"] or row["edit"]]
    errors = [abs(row["error_points"]) for row in planted if row["error_points"] is not None]
    named = [row["prediction"]["right"] for row in planted if row["expects"] and row["prediction"]["right"] is not None]
    nulls = [row["prediction"]["right"] for row in rows if not row["expects"] and row["prediction"]["right"] is not None]
    if named or nulls:
        inside = [overlaps(row) for row in planted if row["error_points"] is not None]
        mean = f"Mean absolute error {statistics.fmean(errors):.1f} points over {len(errors)} pairs" if errors else "No gain predicted"
        lines.append(f"{mean}; {sum(inside)} of {len(inside)} in the interval; {sum(named)} of {len(named)} causes named first; "
                     f"{sum(nulls)} of {len(nulls)} programs without such a cause are promised nothing.")
    return lines


def keep(folder: pathlib.Path, about: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Replaces what is kept of these pairs, and the section; the others stay as they are."""
    KEPT.mkdir(parents=True, exist_ok=True)
    file = KEPT / "truth.json"
    old = json.loads(file.read_text())["pairs"] if file.exists() else {}
    for row in rows:
        if not row["trace"]:
            continue
        packed = KEPT / f"{row['pair']}.pftrace.gz"
        packed.write_bytes(gzip.compress((folder / row["trace"]).read_bytes(), 9, mtime=0))
        old[row["pair"]] = {**{k: v for k, v in row.items() if k not in ("pair", "prediction", "error_points", "note")}, "trace": packed.name,
                            "date": about["date"]}
    file.write_text(json.dumps({"about": about, "pairs": old}, indent=1, ensure_ascii=False) + "\n")


def section(holdup: pathlib.Path) -> list[str]:
    """The section; nothing where nothing was kept."""
    file = KEPT / "truth.json"
    if not file.exists():
        return []
    known = json.loads(file.read_text())
    about, rows = known["about"], []
    for name, pair in known["pairs"].items():
        trace = KEPT / pair["trace"]
        said, why = measure.explain(holdup, trace)
        read = measure.read_report(said, pair["expects"] or ())
        if pair["edit"]:
            price = measure.read_edit(holdup, trace, pair["edit"])
            read = measure.Prediction(price.id, price.pct, price.low, price.high, read.top, read.top_pct, read.right)
        rows.append({**pair, **measure.row(name, pair["expects"], measure.Gain(**pair["truth"]), read, why)})
    loads = [pair["load_average"] for pair in known["pairs"].values()]
    steal = max(pair["steal_pct"] for pair in known["pairs"].values())
    notes = (KEPT / "notes.md").read_text().splitlines() if (KEPT / "notes.md").exists() else []
    return [
        TITLE, "",
        f"Programs of OpenCL on PoCL, whose device is this CPU: {about['cores']} cores of {about['machine']}, {about['date']}",
        f"(`python3 -m tests.opencl_pairs.run`). Each arm ran {about['rounds']} times without the recorder, by turns, {about['steps']} steps each; the calmest",
        "rounds count. The arm with the cause was then recorded by `holdup run`, and is kept in `tests/data/opencl_pairs`. *Achieved* with",
        "its 95 % interval; *in interval*: the two intervals meet; *right*: the first finding names the cause, or, where none is planted,",
        f"none promises more than {measure.NULL_PCT:.0f} %; *others*: of one core, what other processes used meanwhile. Load average {min(loads):.1f} to {max(loads):.1f},",
        f"steal at most {steal:.1f} % of a core. Target: 5 points.", "",
        *table(rows), "", *notes, *([""] if notes else []),
    ]


def replace_section(holdup: pathlib.Path, document: pathlib.Path = DOCUMENT) -> None:
    """Writes the section into the document, before the section that follows it or where it was."""
    text = document.read_text()
    begin = text.find(TITLE)
    if begin < 0:
        begin = text.index(FOLLOWS)
    end = text.index(FOLLOWS, begin)
    document.write_text(text[:begin] + "\n".join(section(holdup)) + "\n" + text[end:])
