# SPDX-License-Identifier: Apache-2.0
"""The board of the recorder's exam, as Markdown."""

import statistics
from collections import Counter

from tests.exam_run.measure import CROWDED
from tests.exam_run.score import Mark

HEAD = """## The exam

{causes} ordinary programs with one planted cause each, and {nulls} with something that looks like one, in C, C++, Python, Go, Rust, Java, shell and MPI
(`tests/exam_run`). Each runs unrecorded with and without its cause, by turns, {repeats}; the truth is the difference of the two
medians by the program's own clock, in percent of the run. Then it is recorded once, as it is. *Right*: the first finding names
the cause and its place (function, file, lock, thread or child), and its gain is within 5 points or its interval, of at most 40 points, holds the truth.
*Mispriced*, *no price*: named, another gain or none. *Vague*: the kind of cause, without the place. *Lesser*: not first. *Verdict only*: told in the
verdict, without a finding.

"""
GRADES = ("right", "mispriced", "no price", "vague", "lesser", "verdict only", "wrong", "silent", "failed")


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |\n" for line in lines) + "\n"


def board(marks: list[Mark], skipped: list[tuple[str, str]], repeats: int, busy: bool) -> str:
    """All of it."""
    causes, nulls = [m for m in marks if not m.plant.null], [m for m in marks if m.plant.null]
    count = f"{repeats} times" if repeats > 1 else "once"
    text = HEAD.format(causes=len(causes), nulls=len(nulls), repeats=count)
    crowded = [m.others for m in marks if m.others > CROWDED]
    if crowded and not busy:
        text += (f"The machine was not idle: other work took {statistics.median(crowded):.1f} cores during {len(crowded)} of {len(marks)} recordings. "
                 "There, waiting for a CPU is not counted as a wrong answer; truths and prices are those of a crowded machine.\n\n")
    if busy:
        text += "A neighbour took one core while they were recorded: the cause must be named all the same; prices are not marked.\n\n"
    grades = Counter(m.grade for m in causes)
    text += ", ".join(f"{grades[g]} {g}" for g in GRADES if grades[g])
    text += f" of {len(causes)}; named first {sum(m.named() for m in causes)}. "
    text += f"Nulls: {sum(m.grade == 'clean' for m in nulls)} of {len(nulls)} clean. {laws(marks)}\n\n"
    text += table(["cause", "run, s", "true gain, %", "±", "grade", "promised, %", "confidence", "recorded, % slower"], [row(m) for m in causes])
    text += table(["null", "run, s", "true gain, %", "±", "grade", "promised, %", "confidence", "recorded, % slower"], [row(m) for m in nulls])
    if marks:
        text += "Whether the recording keeps everything whole:\n\n" + conservation(marks)
    misses = [m for m in marks if m.grade not in ("right", "clean")]
    if misses:
        text += "Misses:\n\n" + table(["cause", "grade", "true gain, %", "said", "a user would expect"], [miss(m) for m in misses])
    if skipped:
        text += "Skipped:\n\n" + table(["cause", "why"], [list(s) for s in skipped])
    return text


def row(m: Mark) -> list[str]:
    """One program."""
    return [m.plant.name, f"{m.work:.2f}", f"{m.truth:.1f}", f"{m.spread:.1f}", m.grade, m.price, m.confidence or "–", f"{m.slowdown:+.0f}"]


def miss(m: Mark) -> list[str]:
    """What was said, and what should be."""
    said = " ".join(m.said.split())
    return [m.plant.name, m.grade, f"{m.truth:.1f}", said if len(said) < 500 else said[:500] + " …", m.plant.expect or "nothing"]


def laws(marks: list[Mark]) -> str:
    """How many checks hold."""
    every = [c for m in marks for c in m.checks]
    names = list(dict.fromkeys(c.name for c in every))
    parts = []
    for name in names:
        known = [c for c in every if c.name == name and c.holds is not None]
        parts.append(f"{name}: {sum(bool(c.holds) for c in known)} of {len(known)}" if known else f"{name}: not reported")
    return "Whole: " + ", ".join(parts) + "." if parts else ""


def conservation(marks: list[Mark]) -> str:
    """The checks that do not hold, program by program."""
    names = list(dict.fromkeys(c.name for m in marks for c in m.checks))
    rows = []
    for m in marks:
        if any(c.holds is False for c in m.checks):
            rows.append([m.plant.name, *[("ok" if c.holds else "not reported" if c.holds is None else c.numbers) for c in m.checks]])
    return table(["program", *names], rows) if rows else "All do.\n\n"
