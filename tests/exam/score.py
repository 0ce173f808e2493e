# SPDX-License-Identifier: Apache-2.0
"""Marks one answer: right, priced, confidently wrong, silent."""

from dataclasses import dataclass, replace
from typing import Any

from tests.exam.cases import Case, Truth

VERDICTS = frozenset({"compute-bound"})  # say that nothing is wrong
POINTS = 5.0  # a gain may be off by this much, or lie in its own interval
NULL_GAIN = 2.0  # what a finding must promise to count as an accusation of a healthy job


@dataclass
class Mark:
    """One case's mark.

    grade is one of: right (first finding, priced), mispriced (right cause, wrong gain), no price (right cause, no gain), lesser (a true cause
    with its true gain, but not the largest), wrong, silent, unsure (nothing found, and the report says that its replay cannot tell);
    for nulls: clean, false.
    """

    number: int
    cause: str
    preset: str
    defect: str
    strength: float
    null: bool
    truths: list[tuple[str, float]]
    said: list[tuple[str, float | None, str]]
    grade: str
    confidence: str = ""
    error: float | None = None
    inside: bool | None = None
    named: bool = False
    step_error: float | None = None
    header_error: float | None = None

    def confidently_wrong(self) -> bool:
        """A wrong answer that a reader would believe."""
        return self.grade in ("wrong", "mispriced", "false") and self.confidence in ("high", "medium")


def answers(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The findings that claim something."""
    return [f for f in report.get("findings") or [] if f["id"] not in VERDICTS and (f.get("gain_pct") is None or f["gain_pct"] >= 1.0)]


def cannot_tell(report: dict[str, Any]) -> bool:
    """Whether the report itself says that its replay is not to be trusted."""
    replay, text = report.get("replay") or {}, (report.get("verdict") or {}).get("text", "").lower()
    return not replay.get("is_trusted", True) or any(
        words in text for words in ("cannot tell", "cannot say", "not determined", "cannot be told")
    )


def truth_of(identity: str, truths: list[Truth]) -> Truth | None:
    """The most costly cause that this finding would make a reader mend."""
    fitting = [t for t in truths if identity in t.accepts]
    return max(fitting, key=lambda t: t.gain) if fitting else None


def of_the_reports_step(case: Case, report: dict[str, Any]) -> list[Truth]:
    """A gain is a share of the step that the report speaks of: that of the capture, or where it leaves a cold step out, the usual one."""
    step = (report.get("replay") or {}).get("measured_step_ns")
    if not (case.once and case.truths and step):
        return case.truths
    return [case.truths[0], *(Truth(t.cause, t.accepts, t.gain * case.period / step) for t in case.truths[1:])]


def mark(case: Case, report: dict[str, Any]) -> Mark:
    """Marks the report of a case."""
    case = replace(case, truths=of_the_reports_step(case, report))
    found = answers(report)
    said = [(f["id"], f.get("gain_pct"), f.get("confidence", "")) for f in found[:4]]
    result = Mark(
        case.number,
        case.cause,
        case.preset,
        case.defect,
        case.strength,
        case.null,
        [(t.cause, round(t.gain, 1)) for t in case.truths],
        said,
        "silent",
    )
    step = (report.get("replay") or {}).get("measured_step_ns")
    stepped = bool(case.period) and case.capture.steps and case.job.kind in ("train", "cpu")
    result.step_error = 100 * (step / case.period - 1) if step and stepped else None
    header = ((report.get("rank_table") or [{}])[0] or {}).get("step_ns")
    result.header_error = 100 * (header / case.period - 1) if header and stepped else None
    best = max((t.gain for t in case.truths), default=0.0)
    if case.null or best < 1.5:
        return mark_null(case, result, found)
    result.named = bool(case.truths) and any(f["id"] in case.truths[0].accepts for f in found)
    if not found:
        result.grade = "unsure" if cannot_tell(report) else "silent"
        return result
    first = found[0]
    result.confidence = first.get("confidence", "")
    truth = truth_of(first["id"], case.truths)
    if truth is None or truth.gain < 1.0:
        result.grade = "unsure" if first.get("gain_pct") is None and cannot_tell(report) else "wrong"
        return result
    largest = truth.gain >= 0.7 * best or best - truth.gain < 2.0
    predicted = first.get("gain_pct")
    if predicted is not None:
        result.error = predicted - truth.gain
        result.inside = first["gain_low_pct"] - 0.5 <= truth.gain <= first["gain_high_pct"] + 0.5
    fits = predicted is not None and (abs(result.error or 0.0) <= POINTS or bool(result.inside))
    if not largest:
        result.grade = "lesser" if fits or predicted is None else "wrong"
    elif predicted is None:
        result.grade = "no price"
    else:
        result.grade = "right" if fits else "mispriced"
    return result


def mark_null(case: Case, result: Mark, found: list[dict[str, Any]]) -> Mark:
    """A job that nothing holds up: silence is right; so is the small gain that is truly there."""
    result.null, result.grade = True, "clean"
    for finding in found:
        promised = finding.get("gain_pct")
        truth = truth_of(finding["id"], case.truths)
        if promised is None or promised < NULL_GAIN:
            continue
        if truth and truth.gain >= 1.0 and (promised - truth.gain <= POINTS or finding["gain_low_pct"] - 0.5 <= truth.gain):
            continue
        if truth is None or promised >= NULL_GAIN + truth.gain:
            result.grade, result.confidence, result.error = "false", finding.get("confidence", ""), promised
            break
    return result
