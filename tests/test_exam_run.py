# SPDX-License-Identifier: Apache-2.0
"""The exam of the recorder marks as it says: its arithmetic and its words.  Not how the program does in it."""

import re
import unittest
from typing import Any

from tests.exam_run.conserve import complete, covers, cpu, states, switches, unchanged
from tests.exam_run.measure import Ran, Truth
from tests.exam_run.plants import CAUSES, NULLS, Plant
from tests.exam_run.score import mark
from tests.exam_run.toolbox import SOURCES

LOCK = Plant("a lock", "a.c", ("lock-contention",), r"\block", (r"refresh",), "the holder")
HOT = Plant("a function", "b.c", ("hot-function",), r"computes", (r"seal",), "seal", also=(0.5,), share=True)


def ran(**other: Any) -> Ran:
    """A run of a second."""
    return Ran(**{"wall": 1.05, "work": 1.0, "cpu": 0.8, "switches": 100, "status": 0, "out": b"x", "err": "", **other})


def finding(identity: str, statement: str, gain: float | None = 50.0, low: float | None = 45.0, high: float | None = 55.0) -> dict[str, Any]:
    """A finding of a report."""
    return {"id": identity, "title": identity, "statement": statement, "evidence": [], "fix": "", "confidence": "medium",
            "gain_pct": gain, "gain_low_pct": low, "gain_high_pct": high}


def grade(plant: Plant, truth: float, *findings: dict[str, Any], verdict: str = "", crowded: bool = False) -> str:
    """The grade of a report with these findings."""
    return mark(plant, {"findings": list(findings), "verdict": {"text": verdict}}, truth, truth, 0.0, crowded).grade


class Marks(unittest.TestCase):
    def test_cause_place_and_price(self) -> None:
        held = finding("lock-contention", "waits for the lock that refresh holds")
        self.assertEqual(grade(LOCK, 52.0, held), "right")
        self.assertEqual(grade(LOCK, 70.0, held), "mispriced")
        self.assertEqual(grade(LOCK, 52.0, finding("lock-contention", "waits for locks")), "vague")
        self.assertEqual(grade(LOCK, 52.0, finding("lock-contention", "the lock in refresh", None, None, None)), "no price")
        self.assertEqual(grade(LOCK, 52.0, finding("sleep", "sleeps a while")), "wrong")
        self.assertEqual(grade(LOCK, 52.0, finding("sleep", "sleeps a while"), held), "lesser")
        self.assertEqual(grade(LOCK, 52.0), "silent")
        self.assertEqual(grade(LOCK, 52.0, verdict="all wait for the lock in refresh"), "verdict only")

    def test_a_broad_rule_needs_its_words(self) -> None:
        slow = Plant("a file", "d.c", ("io-stall",), "", (r"fsync", r"journal"), "fsync")
        self.assertEqual(grade(slow, 50.0, finding("io-stall", "waits in fsync of journal")), "right")
        self.assertEqual(grade(slow, 50.0, finding("io-stall", "waits in fsync")), "vague")
        self.assertEqual(grade(slow, 50.0, finding("io-stall", "waits in readdir of /usr/lib")), "wrong")

    def test_an_interval_that_says_nothing_fits_nothing(self) -> None:
        self.assertEqual(grade(LOCK, 62.0, finding("lock-contention", "refresh", 50.0, 5.0, 95.0)), "mispriced")
        self.assertEqual(grade(LOCK, 62.0, finding("lock-contention", "refresh", 50.0, 45.0, 63.0)), "right")

    def test_half_of_a_hot_function_counts_where_it_says_so(self) -> None:
        self.assertEqual(grade(HOT, 60.0, finding("hot-function", "computes in seal; twice as fast", 30.0, 29.0, 31.0)), "right")
        self.assertEqual(grade(HOT, 60.0, finding("hot-function", "computes in seal", 30.0, 29.0, 31.0)), "mispriced")
        self.assertEqual(grade(HOT, 60.0, finding("hot-function", "computes for 61 % of the run in seal", None, None, None)), "right")

    def test_what_neighbours_take_is_no_wrong_answer_beside_them(self) -> None:
        starved, held = finding("cpu-starved", "runnable"), finding("lock-contention", "the lock in refresh")
        self.assertEqual(grade(LOCK, 50.0, starved, held), "lesser")
        self.assertEqual(grade(LOCK, 50.0, starved, held, crowded=True), "right")

    def test_nulls(self) -> None:
        null = Plant("nothing", "n.c", null=True)
        self.assertEqual(grade(null, 0.0), "clean")
        self.assertEqual(grade(null, 0.0, finding("hot-function", "computes")), "clean")
        self.assertEqual(grade(null, 0.0, finding("sleep", "sleeps", 1.5, 1.0, 2.0)), "clean")
        self.assertEqual(grade(null, 0.0, finding("sleep", "sleeps", 15.0, 10.0, 20.0)), "accused")

    def test_truth_is_in_percent_of_the_run(self) -> None:
        truth = Truth([ran(work=1.0, wall=1.25)] * 3, [ran(work=0.5), ran(work=0.4), ran(work=0.6)])
        self.assertAlmostEqual(truth.gain(), 40.0)
        self.assertAlmostEqual(truth.of_work(), 50.0)
        self.assertAlmostEqual(truth.spread(), 8.0)


class Laws(unittest.TestCase):
    def report(self, **other: int) -> dict[str, Any]:
        """A report of one main thread that runs 0.8 s and sleeps 0.2 s."""
        host = {"step_ns": 10**9, "running_ns": 8 * 10**8, "sleep_ns": 2 * 10**8, "threads": [],
                "processes": [{"name": "a", "is_main": True, "wall_ns": 10**9, "running_ns": 8 * 10**8, "other_waits_ns": 2 * 10**8, "pid": 1}]}
        return {"ranks": [{"host_time": {**host, **other}, "quality": {"lost": 0}}]}

    def test_they_hold(self) -> None:
        report = self.report()
        for check in (states(report), covers(report, ran()), cpu(report, ran()), unchanged(ran(), ran()), complete(report, ran())):
            self.assertTrue(check.holds, check)
        self.assertIsNone(switches(report, ran()).holds)

    def test_they_break(self) -> None:
        self.assertFalse(states(self.report(sleep_ns=10**8)).holds)
        self.assertFalse(covers(self.report(step_ns=10**7), ran()).holds)
        self.assertFalse(cpu(self.report(), ran(cpu=0.9)).holds)
        self.assertFalse(unchanged(ran(), ran(status=1)).holds)
        self.assertFalse(complete({"ranks": [{"quality": {"lost": 3}}]}, ran()).holds)
        self.assertFalse(complete(self.report(), ran(ours=["holdup: 7 records were lost"])).holds)
        self.assertFalse(switches({**self.report(), "context_switches": 300}, ran()).holds)


class Table(unittest.TestCase):
    def test_every_plant_has_its_program_and_its_words(self) -> None:
        for plant in (*CAUSES, *NULLS):
            self.assertTrue((SOURCES / plant.program).exists(), plant.program)
            self.assertEqual(bool(plant.ids and plant.place and plant.expect), not plant.null, plant.name)
            for pattern in (plant.says, *plant.place):
                re.compile(pattern)
        self.assertEqual(len({p.key() for p in (*CAUSES, *NULLS)}), len(CAUSES) + len(NULLS))

    def test_what_is_expected_would_pass(self) -> None:
        """The answer that a plant asks for is one that its own words accept."""
        for plant in CAUSES:
            with self.subTest(plant=plant.name):
                self.assertEqual(grade(plant, 50.0, finding(plant.ids[0], plant.expect)), "right")


if __name__ == "__main__":
    unittest.main()
