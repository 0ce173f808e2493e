# SPDX-License-Identifier: Apache-2.0
"""The board in Markdown."""

from collections import defaultdict
from collections.abc import Sequence

from tests.exam.score import Mark

GRADES = ["right", "mispriced", "no price", "lesser", "wrong", "silent", "unsure"]


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def percent(part: int, whole: int) -> str:
    """A share."""
    return f"{100 * part / whole:.0f}" if whole else "–"


def by_cause(planted: list[Mark]) -> str:
    """One row for each cause."""
    groups: dict[str, list[Mark]] = defaultdict(list)
    for item in planted:
        groups[item.cause].append(item)
    rows: list[list[object]] = []
    for cause, members in sorted(groups.items()) + [("all", planted)]:
        counts = [sum(m.grade == g for m in members) for g in GRADES]
        errors = [abs(m.error) for m in members if m.error is not None and m.grade in ("right", "mispriced")]
        insides = [m.inside for m in members if m.inside is not None and m.grade in ("right", "mispriced")]
        rows.append(
            [
                cause,
                len(members),
                *[c or "·" for c in counts],
                sum(m.confidently_wrong() for m in members) or "·",
                sum(m.named for m in members),
                f"{sum(errors) / len(errors):.1f}" if errors else "–",
                percent(sum(insides), len(insides)),
            ]
        )
    return table(["cause", "cases", *GRADES, "conf. wrong", "named anywhere", "error, points", "in interval, %"], rows)


def calibration(marks: list[Mark]) -> str:
    """How often each confidence was deserved."""
    rows: list[list[object]] = []
    for grade in ("high", "medium", "low"):
        members = [m for m in marks if m.confidence == grade]
        right = sum(m.grade == "right" for m in members)
        rows.append(
            [
                grade,
                len(members),
                percent(right, len(members)),
                percent(sum(m.grade in ("right", "lesser", "no price") for m in members), len(members)),
                percent(sum(m.grade in ("wrong", "mispriced", "false") for m in members), len(members)),
            ]
        )
    return table(["confidence of the first finding", "cases", "right and priced, %", "a true cause, %", "wrong, %"], rows)


def by_size(planted: list[Mark]) -> str:
    """How often right, by what the largest cause of a job costs."""
    rows: list[list[object]] = []
    for name, low, high in (("less than 2 %", 0.0, 2.0), ("2 to 6 %", 2.0, 6.0), ("6 to 20 %", 6.0, 20.0), ("20 % and more", 20.0, 101.0)):
        members = [m for m in planted if low <= max((g for _, g in m.truths), default=0.0) < high]
        rows.append([name, len(members), percent(sum(m.grade == "right" for m in members), len(members)),
                     percent(sum(m.confidently_wrong() for m in members), len(members))])
    return table(["largest true gain", "cases", "right and priced, %", "confidently wrong, %"], rows)


def describe(item: Mark) -> list[object]:
    """A row of the misses."""
    said = "; ".join(f"{i} {'–' if g is None else round(g, 1)} {c}" for i, g, c in item.said[:3]) or "nothing"
    return [item.number, item.preset, item.cause, item.defect or "–", "; ".join(f"{c} {g}" for c, g in item.truths), said, item.grade]


def worst(item: Mark) -> float:
    """How much an answer misses."""
    best = max((g for _, g in item.truths), default=0.0)
    return abs(item.error) if item.error is not None else best


HEAD = """## The exam

Jobs that no rule was written for, of one process: {count} of them, drawn from launch latencies, host costs, gaps, queues and pauses that
were measured on public traces (`tests/exam/constants.json`). A run is long, the capture is a window in its middle, and the true gain is
that of the unprofiled steady state: the same job with the same random numbers without the cause. *Right*: the first finding would make a reader mend the largest cause,
and its gain is within 5 points or its interval holds the truth. *Mispriced*: the right cause, another gain. *Lesser*: a true cause with its true
gain, but not the largest. *Confidently wrong*: wrong, mispriced or an accused healthy job, at medium or high confidence.

"""


def board(marks: list[Mark], misses: int) -> str:
    """All tables."""
    planted, healthy = [m for m in marks if not m.null], [m for m in marks if m.null]
    counts = {g: sum(m.grade == g for m in planted) for g in GRADES}
    false = [m for m in healthy if m.grade == "false"]
    confident = [m for m in planted if m.confidently_wrong()]
    out = [
        HEAD.format(count=len(marks)),
        f"{len(planted)} jobs with a cause: {counts['right']} right and priced ({percent(counts['right'], len(planted))} %), "
        f"{len(confident)} confidently wrong, {counts['silent']} silent, {counts['unsure']} not determined by the report's own words. "
        f"{len(healthy)} healthy jobs and decoys: {len(false)} accused, {sum(m.confidently_wrong() for m in false)} of them confidently.\n",
        by_cause(planted),
        by_size(planted),
    ]
    groups: dict[str, list[Mark]] = defaultdict(list)
    for item in healthy:
        groups[item.cause].append(item)
    out.append(
        table(
            ["healthy", "cases", "accused", "confidently"],
            [[c, len(m), sum(x.grade == "false" for x in m), sum(x.confidently_wrong() for x in m)] for c, m in sorted(groups.items())],
        )
    )
    out.append(calibration(marks))
    for what, errors in (
        ("Step time of the findings", [abs(m.step_error) for m in marks if m.step_error is not None]),
        ("Step time of the header", [abs(m.header_error) for m in marks if m.header_error is not None]),
    ):
        if errors:
            out.append(
                f"{what} against the steady step, not profiled: median {sorted(errors)[len(errors) // 2]:.1f} %, worst {max(errors):.0f} % off; "
                f"more than 10 % off in {sum(e > 10 for e in errors)} of {len(errors)}.\n"
            )
    defects: dict[str, list[Mark]] = defaultdict(list)
    for item in planted:
        defects[item.defect or "none"].append(item)
    out.append(
        table(
            ["defect of the capture", "cases", "right and priced, %", "confidently wrong"],
            [
                [d, len(m), percent(sum(x.grade == "right" for x in m), len(m)), sum(x.confidently_wrong() for x in m)]
                for d, m in sorted(defects.items())
            ],
        )
    )
    bad = sorted([m for m in marks if m.grade not in ("right", "clean")], key=lambda m: (not m.confidently_wrong(), -worst(m)))
    out.append(table(["case", "job", "planted", "defect", "true gains, %", "said, %", "mark"], [describe(m) for m in bad[:misses]]))
    return "\n".join(out)
