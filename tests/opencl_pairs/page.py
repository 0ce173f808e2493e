# SPDX-License-Identifier: Apache-2.0
"""What was kept of the OpenCL pairs, as a section of docs/accuracy.md: the truth as it was measured, the prediction of the program of today."""
from __future__ import annotations

import dataclasses
import gzip
import json
import pathlib
import re
import statistics
from typing import Any

from tests.pairs import measure

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / "tests/data/opencl_pairs"
MOST_BYTES = 128 << 10      # of a recording that is kept
DOCUMENT = ROOT / "docs/accuracy.md"
TITLE = "## OpenCL on a CPU, before and after"
FOLLOW = ("## Real traces, replayed", "## Again")        # sections that may stand behind it
HEAD = ("pair", "cause -> without it", "step, ms", "achieved, %", "predicted, %", "off by", "in interval", "said first", "right", "recorded, % slower")


def machine() -> str:
    """The processor and what the platform calls it."""
    found = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return found[1].strip() if found else "unknown processor"


def span(of: dict[str, Any]) -> str:
    """A gain with its interval; an interval without a point is one, too."""
    if of["high"] is None:
        return measure.UNKNOWN
    return f"{measure.number(of['pct'])} [{of['low']:.1f} … {of['high']:.1f}]"


def cells(row: dict[str, Any]) -> list[str]:
    truth, said, error = row["truth"], row["prediction"], row["error_points"]
    first = said["top"] or "nothing"
    if said["top"] and said["top_pct"] is not None:
        first += f" {said['top_pct']:.1f}"
    slower = measure.UNKNOWN
    if row["recorded_step_ms"]:
        slower = f"{round(100.0 * (row['recorded_step_ms'] / truth['before'] - 1.0)):+d}"
    return [row["pair"], row["what"], f"{truth['before']:.2f} -> {truth['after']:.2f}", span(truth), span(said) + (f" by `{said['id']}`" if said["id"] == row["edit"] and said["id"] else ""),
            measure.number(None if error is None else abs(error)), {True: "yes", False: "no", None: measure.UNKNOWN}[is_inside(row)], first,
            {True: "yes", False: "no", None: measure.UNKNOWN}[said["right"]], slower]


def is_inside(row: dict[str, Any]) -> bool | None:
    """Whether the predicted interval holds a gain that the measurement allows; None: nothing is predicted."""
    said, truth = row["prediction"], row["truth"]
    return None if said["high"] is None else bool(said["low"] <= truth["high"] and truth["low"] <= said["high"])


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Markdown, and the figures over all rows."""
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD), *("| " + " | ".join(cells(row)) + " |" for row in rows), ""]
    planted = [row for row in rows if row["expects"] or row["edit"]]
    errors = [abs(row["error_points"]) for row in planted if row["error_points"] is not None]
    silent = [abs(row["truth"]["pct"]) for row in planted if row["error_points"] is None]
    inside = [is_inside(row) for row in planted if is_inside(row) is not None]
    named = [row["prediction"]["right"] for row in planted if row["expects"] and row["prediction"]["right"] is not None]
    nulls = [row["prediction"]["right"] for row in rows if not row["expects"] and row["prediction"]["right"] is not None]
    if not named and not nulls:
        return [*lines, f"{len(rows)} pairs measured; no predictions to compare with."]
    if errors:
        lines.append(f"Mean absolute error {statistics.fmean(errors):.1f} points over {len(errors)} pairs; "
                     f"{statistics.fmean(errors + silent):.1f} over {len(errors + silent)}, no point counting as 0.")
    lines.append(f"{sum(map(bool, inside))} of {len(inside)} gains in the interval; {sum(named)} of {len(named)} causes named first; "
                 f"{sum(nulls)} of {len(nulls)} programs without one promised nothing.")
    return lines


def keep(folder: pathlib.Path, about: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Replaces what is kept of these pairs; the others stay as they are. Of a large recording only the prediction is kept."""
    KEPT.mkdir(parents=True, exist_ok=True)
    file = KEPT / "truth.json"
    old = json.loads(file.read_text())["pairs"] if file.exists() else {}
    for row in rows:
        packed = gzip.compress((folder / row["trace"]).read_bytes(), 9, mtime=0)
        name = f"{row['pair']}.pftrace.gz" if len(packed) <= MOST_BYTES else None
        (KEPT / f"{row['pair']}.pftrace.gz").unlink(missing_ok=True)
        if name:
            (KEPT / name).write_bytes(packed)
        old[row["pair"]] = {**row, "trace": name}
    file.write_text(json.dumps({"about": about, "pairs": old}, indent=1, ensure_ascii=False) + "\n")


def again(holdup: pathlib.Path, row: dict[str, Any]) -> dict[str, Any]:
    """The row with the prediction of this program, where the trace was kept."""
    if not row["trace"]:
        return row
    said, why = measure.explain(holdup, KEPT / row["trace"])
    return {**row, **measure.row(row["pair"], row["expects"], measure.Gain(**row["truth"]), predict(holdup, KEPT / row["trace"], row, said), why)}


def predict(holdup: pathlib.Path | None, trace: pathlib.Path, row: dict[str, Any], said: dict[str, Any] | None) -> measure.Prediction:
    """The finding that names the cause; where none has a point, the price of the pair's edit."""
    read = measure.read_report(said, row["expects"])
    if row["denies"] and said is not None:
        wrong = [f for f in said["findings"] if f["id"] in row["denies"] and (f["gain_pct"] or 0.0) > measure.NULL_PCT]
        read = dataclasses.replace(read, right=not wrong)
    if read.pct is not None or not row["edit"]:
        return read
    price = measure.read_edit(holdup, trace, row["edit"])
    return dataclasses.replace(price, top=read.top, top_pct=read.top_pct, right=read.right) if price.pct is not None else read


def section(holdup: pathlib.Path) -> list[str]:
    """The section; nothing where nothing was kept."""
    file = KEPT / "truth.json"
    if not file.exists():
        return []
    known = json.loads(file.read_text())
    about, rows = known["about"], [again(holdup, row) for row in known["pairs"].values()]
    large = [row["pair"] for row in rows if not row["trace"]]
    loads = [row["load_average"] for row in rows]
    others = [row["others_pct"] for row in rows]
    before = "; they ran before all other processes (`--first`: SCHED_FIFO)" if about["first"] else ""
    notes = (KEPT / "notes.md").read_text().splitlines() if (KEPT / "notes.md").exists() else []
    return [
        TITLE, "",
        f"Programs of OpenCL on PoCL, whose device is a CPU: {about['cores']} cores of {about['machine']}, {about['date']} (`tests.opencl_pairs.run`).",
        f"Each arm ran {about['rounds']} times without the recorder, by turns, {about['steps']} steps each. The arm with the cause was then recorded by",
        "`holdup run`. *Achieved* has its 95 % interval, *predicted* the report's, or that of `holdup whatif`. *In interval*: the two meet.",
        f"*Right*: the first finding names the cause; where none is planted, no finding (of `decoy-sync`: no `host-sync`) promises more than {measure.NULL_PCT:.0f} %. Target: 5 points.",
        f"Host and device have a core each and stay there{before}. Load average {min(loads):.1f} to {max(loads):.1f};",
        f"other processes used {min(others):.0f} to {max(others):.0f} % of a core meanwhile, other machines (steal) at most {max(row['steal_pct'] for row in rows):.1f} %.", "",
        *table(rows), "",
        *([f"The recordings of {', '.join(large)} are too large to keep: their predictions are of that day.", ""] if large else []),
        *notes, *([""] if notes else []),
    ]


def replace_section(lines: list[str], document: pathlib.Path = DOCUMENT) -> None:
    """Writes the section into the document, before the section that follows it or where it was."""
    text = document.read_text()
    begin = text.find(TITLE)
    if begin < 0:
        begin = end = min(text.index(title) for title in FOLLOW if title in text)
    else:
        end = text.index("\n## ", begin) + 1
    document.write_text(text[:begin] + "\n".join(lines) + "\n" + text[end:])
