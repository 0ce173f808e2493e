# SPDX-License-Identifier: Apache-2.0
"""Marks an answer to a recording."""

import re
from dataclasses import dataclass, field
from typing import Any

from tests.exam_run.conserve import Check
from tests.exam_run.plants import HARMLESS, Plant

POINTS = 5.0  # a gain may be off by this much, or lie in its own interval
WIDEST = 40.0  # an interval that is wider says nothing
BROAD = frozenset({"io-stall"})  # rules that say next to nothing without their words
NULL_GAIN = 2.0  # what a finding must promise to accuse a healthy run
HALF = r"half|twice|two|2 (threads|cpus)|split|divide|balanc|even|parallel"


@dataclass
class Mark:
    """One recording's mark.

    grade: right (first finding names the cause and its place, and the price fits), mispriced, no price, vague (the kind of cause is
    right, the place is missing), lesser (the cause is among the findings, not first), verdict only (in the verdict's words, without a
    finding), wrong, silent, failed; of nulls: clean, accused.
    """

    plant: Plant
    truth: float
    spread: float
    grade: str
    said: str
    price: str = "–"
    confidence: str = ""
    slowdown: float = 0.0
    others: float = 0.0
    work: float = 0.0
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def named(self) -> bool:
        """The first finding names cause and place."""
        return self.grade in ("right", "mispriced", "no price")


def words(finding: dict[str, Any]) -> str:
    """All that a finding tells, but for what to do next time."""
    return " ".join([finding["title"], finding["statement"], *finding["evidence"], finding["fix"]])


def kind_fits(plant: Plant, finding: dict[str, Any]) -> bool:
    """Whether it is this kind of cause."""
    head = f"{finding['title']} {finding['statement']}"
    if finding["id"] in plant.ids and (finding["id"] not in BROAD or re.search(plant.place[0], words(finding), re.I)):
        return True
    return bool(plant.says and re.search(plant.says, head, re.I | re.S))


def place_fits(plant: Plant, text: str) -> bool:
    """Whether a reader knows where to go."""
    return all(re.search(pattern, text, re.I) for pattern in plant.place)


def price_fits(plant: Plant, finding: dict[str, Any], *gains: float) -> bool:
    """Whether the gain, or for what only computes the share, is one of the true gains."""
    text = words(finding)
    truths = [truth * k for truth in gains for k in (1.0, *plant.also) if k >= 1.0 or re.search(HALF, text, re.I)]
    gain, low, high = finding.get("gain_pct"), finding.get("gain_low_pct"), finding.get("gain_high_pct")
    for true in truths:
        if gain is not None and abs(gain - true) <= POINTS:
            return True
        if low is not None and high is not None and low - 0.5 <= true <= high + 0.5 and high - low <= WIDEST:
            return True
    shares = [float(n) for n in re.findall(r"(\d+(?:\.\d+)?) ?%", f"{finding['title']} {finding['statement']}")]
    return plant.share and any(abs(share - true) <= POINTS for share in shares for true in truths)


def price_of(finding: dict[str, Any]) -> str:
    """The gain as a reader sees it."""
    if finding.get("gain_pct") is None:
        return "none"
    return f"{finding['gain_pct']:.0f} [{finding['gain_low_pct']:.0f} … {finding['gain_high_pct']:.0f}]"


def brief(finding: dict[str, Any]) -> str:
    """A finding in one line."""
    return f"{finding['id']} {price_of(finding)}: {finding['statement']}"


def mark(plant: Plant, report: dict[str, Any], truth: float, of_work: float, spread: float, crowded: bool = False) -> Mark:
    """Marks the report on a recording; beside busy neighbours, that they take CPUs is no wrong answer. A gain may be in percent of the
    run (truth) or, where steps are told, of the work."""
    verdict = (report.get("verdict") or {}).get("text", "")
    found = [f for f in report.get("findings") or [] if f.get("gain_pct") is None or f["gain_pct"] >= 1.0]
    if crowded and "cpu-starved" not in plant.ids:
        found = [f for f in found if f["id"] != "cpu-starved"]
    result = Mark(plant, truth, spread, "silent", verdict)
    if plant.null:
        accusing = [f for f in found if f["id"] not in HARMLESS and (f.get("gain_pct") or 0) >= NULL_GAIN + max(truth, 0)]
        result.grade = "accused" if accusing else "clean"
        if accusing:
            result.said, result.price, result.confidence = brief(accusing[0]), price_of(accusing[0]), accusing[0]["confidence"]
        return result
    if not found:
        if plant.says and re.search(plant.says, verdict, re.I | re.S) and place_fits(plant, verdict):
            result.grade = "verdict only"
        return result
    first = found[0]
    result.said, result.price, result.confidence = brief(first), price_of(first), first["confidence"]
    if not kind_fits(plant, first):
        later = [f for f in found[1:] if kind_fits(plant, f) and place_fits(plant, words(f))]
        result.grade = "lesser" if later else "wrong"
        if later:
            result.said += " | then " + brief(later[0])
    elif not place_fits(plant, words(first)):
        result.grade = "vague"
    elif first.get("gain_pct") is None and not price_fits(plant, first, truth, of_work):
        result.grade = "no price"
    else:
        result.grade = "right" if price_fits(plant, first, truth, of_work) else "mispriced"
    return result
