# SPDX-License-Identifier: Apache-2.0
"""An exam for every finding: where its cause was planted it is found at its price, and where something only looks like it, it is
not (tests/rule_traces.py).  A rule without an exam fails."""
from __future__ import annotations

import re
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.impossible import CHECKS, UNITS
from tests.program import ROOT, report
from tests.rule_traces import EXAMS, Case

# What the program does not pass yet.  The test insists that each entry still fails: when it no longer does, the entry goes.
FAILS: dict[tuple[str, str], str] = {
    ("compute-bound", "plant"): "never a finding: the verdict alone says that kernel time dominates",
    ("pipeline-bubble", "plant"): "a hole that nothing explains is the garbage collector's, and comes first",
}
# The same of what no report may say (tests/impossible.py).
IMPOSSIBLE: dict[tuple[str, str, str], str] = {}
WORDS_OF_MORE = re.compile(r"in all|altogether|capture|of the run|over all|calls?, |copies, |longest")


def rules() -> list[str]:
    """The ids that the program knows, from its own table."""
    return re.findall(r'^ *R\(\w+, hu_gate_\w+, "([a-z-]+)"', (ROOT / "src/advise/rules.h").read_text(), re.M)


def step_ns(said: dict[str, Any]) -> float:
    return max(f["step_before_ns"] or 0 for f in said["findings"]) or said["ranks"][0]["steps"]["mean_ns"]


def times_in(text: str) -> list[float]:
    """In ns."""
    return [float(number.replace(",", "")) * UNITS[unit] for number, unit in re.findall(r"(\d[\d.,]*) (ns|µs|ms|s)\b", text)]


def fails_to_name(rule: str, case: Case, said: dict[str, Any]) -> str | None:
    """First, or as good as the first; at its price; and the truth where it is said to be."""
    findings, names = said["findings"], (rule, *EXAMS[rule].accepted)
    found = next((f for f in findings if f["id"] in names), None)
    summary = [(f["id"], f["gain_pct"], f["confidence"]) for f in findings[:3]]
    if not found:
        return f"not among {summary}"
    if case.gain is not None:
        if found["gain_pct"] is None or abs(found["gain_pct"] - case.gain) > case.points:
            return f"gain {found['gain_pct']}, in truth {case.gain:.1f}"
        if found["confidence"] == "high" and not found["gain_low_pct"] - 0.5 <= case.gain <= found["gain_high_pct"] + 0.5:
            return f"interval {found['gain_low_pct']} ... {found['gain_high_pct']}, in truth {case.gain:.1f}"
    if (findings[0]["gain_pct"] or 0) - (found["gain_pct"] or 0) > 1:
        return f"comes after {summary}"
    words = " ".join((found["statement"], *found["evidence"]))
    missing = [w for w in case.says if w not in words]
    return f"{missing} not in {words}" if missing else fails_to_count(case, found, step_ns(said))


def fails_to_count(case: Case, found: dict[str, Any], step: float) -> str | None:
    """One unit: what is longer than a step is told of the whole capture; and the times of the statement are those of the trace."""
    if case.one_unit:
        for text in (found["statement"], *found["evidence"]):
            if not WORDS_OF_MORE.search(text) and any(t > 1.02 * step for t in times_in(text)):
                return f"steps of {step / 1e6:.2f} ms: {text}"
    for time in times_in(found["statement"]) if case.times else []:
        if not any(abs(time - right * 1000 * steps) < 0.03 * time for right in case.times for steps in (1, 8, 9)):
            return f"{time / 1e6:.2f} ms in: {found['statement']}"
    return None


def is_tempted(rule: str, said: dict[str, Any]) -> str | None:
    """Not there, or last and with low confidence."""
    for place, f in enumerate(said["findings"]):
        if f["id"] == rule and (f["confidence"] != "low" or place == 0):
            return f"{f['gain_pct']} % with confidence {f['confidence']}: {f['statement']}"
    return None


class Rules(unittest.TestCase):
    said: dict[tuple[str, str], tuple[Case, dict[str, Any]]] = {}

    @classmethod
    def setUpClass(cls) -> None:
        for rule, exam in EXAMS.items():
            for part in ("plant", "decoy", "page"):
                if make := getattr(exam, part):
                    case = make()
                    with tempfile.TemporaryDirectory() as folder:
                        cls.said[rule, part] = case, report(case.write(Path(folder)))

    def judge(self, part: str) -> None:
        for (rule, which), (case, said) in self.said.items():
            if which == part:
                with self.subTest(rule=rule):
                    wrong = is_tempted(rule, said) if part == "decoy" else fails_to_name(rule, case, said)
                    if (rule, part) in FAILS:
                        self.assertIsNotNone(wrong, "passes now: take it out of FAILS")
                    elif wrong:
                        self.fail(wrong)

    def test_every_rule_has_its_exam(self) -> None:
        self.assertGreater(len(rules()), 20)
        self.assertEqual(sorted(EXAMS), sorted(rules()))
        self.assertEqual({rule for rule, _ in FAILS} - set(EXAMS), set())

    def test_plants_are_found(self) -> None:
        self.judge("plant")

    def test_decoys_are_not(self) -> None:
        self.judge("decoy")

    def test_pages_are_read_to_the_point(self) -> None:
        self.judge("page")

    def test_nothing_impossible_is_said(self) -> None:
        for (rule, part), (_, said) in self.said.items():
            for check in CHECKS.values():
                with self.subTest(rule=rule, part=part, check=check.name):
                    wrong = list(check.run(said))
                    if (rule, part, check.name) in IMPOSSIBLE:
                        self.assertTrue(wrong, "right now: take it out of IMPOSSIBLE")
                    elif wrong:
                        self.fail(wrong[0])

    def test_a_form_is_no_record(self) -> None:
        """What is told from its form, and not from a record of its cause, is never of high confidence."""
        for rule in ("unrecorded", "many-small-operators", "copies-and-casts", "optimizer-loop", "validation"):
            found = next(f for f in self.said[rule, "plant"][1]["findings"] if f["id"] == rule)
            self.assertEqual(found["confidence"], "medium")

    def test_what_a_device_computes_is_said(self) -> None:
        """No finding and no price, yet the sentence that a finding would be."""
        _, said = self.said["compute-bound", "plant"]
        self.assertIn("kernel time dominates", said["verdict"]["text"])
        self.assertNotIn("kernel time dominates", self.said["compute-bound", "decoy"][1]["verdict"]["text"])


class Judges(unittest.TestCase):
    """The judges themselves, on answers that are made up."""

    def answer(self, **changed: Any) -> dict[str, Any]:
        finding = {"id": "sleep", "gain_pct": 30.0, "gain_low_pct": 27.0, "gain_high_pct": 33.0, "confidence": "high", "step_before_ns": 10_000_000,
                   "statement": "It sleeps for 3.00 ms of each step.", "evidence": ["18 calls, 27.0 ms"], **changed}
        return {"findings": [finding]}

    def test_a_plant(self) -> None:
        case = Case(Path, 31.0, one_unit=True, times=(3000,))
        self.assertIsNone(fails_to_name("sleep", case, self.answer()))
        better = {**self.answer()["findings"][0], "id": "io-stall", "gain_pct": 40.0}
        for wrong in (self.answer(id="io-stall"), self.answer(gain_pct=35.0), self.answer(gain_pct=None), self.answer(gain_high_pct=30.2),
                      self.answer(statement="It sleeps for 27.0 ms."), self.answer(statement="It sleeps for 4.00 ms of each step."),
                      self.answer(evidence=["idle for 48.0 ms"]), {"findings": [better, *self.answer()["findings"]]}, {"findings": []}):
            self.assertIsNotNone(fails_to_name("sleep", case, wrong), wrong)
        self.assertIsNotNone(fails_to_name("sleep", Case(Path, says=("usleep",)), self.answer()))

    def test_a_decoy(self) -> None:
        other = {**self.answer()["findings"][0], "id": "io-stall"}
        self.assertIsNone(is_tempted("sleep", {"findings": []}))
        self.assertIsNone(is_tempted("sleep", {"findings": [other, *self.answer(confidence="low")["findings"]]}))
        self.assertIsNotNone(is_tempted("sleep", self.answer(confidence="low")))
        self.assertIsNotNone(is_tempted("sleep", {"findings": [other, *self.answer(confidence="medium")["findings"]]}))


if __name__ == "__main__":
    unittest.main()
