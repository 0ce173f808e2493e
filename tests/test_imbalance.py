# SPDX-License-Identifier: Apache-2.0
"""`load-imbalance`: threads of OpenMP with unequal work, which wait for each other in calls that nobody records, or spinning."""
from __future__ import annotations

import json
from typing import Any

from tests.host_traces import MS, RUNNING, SLEEPING
from tests.test_hot_code import Case as Base
from tests.program import run as program
from tests.test_hot_code import Chains

FN, SPIN, OWN = 1, 2, 3
CHAINS = (("row job", "main._omp_fn.0 job", "GOMP_parallel libgomp.so.1", "main job"), ("gomp_team_barrier_wait libgomp.so.1",), ("read_rows job", "main job"))


class Case(Base):
    """A main thread that works for itself, then regions in which it and another one work so long, spin, then sleep."""

    def region(self, own: int, *turns: tuple[int, int], spin: int = 0, chains: tuple[tuple[str, ...], ...] = CHAINS, call: str = "", **args: Any) -> dict[str, Any]:
        self.recording.facts(cpus=2)
        made = Chains(self.recording, *chains)
        made.compute(self.main, own, OWN)
        other = self.thread(101)
        for mine, theirs in turns:
            end = self.main.now + max(mine, theirs) * MS
            for t, ms in ((self.main, mine), (other, theirs)):
                made.compute(t, ms, FN)
                made.compute(t, min(spin, (end - t.now) // MS), SPIN)
                t.state(SLEEPING)
                if call and end > t.now:
                    t.slice(t.now, end, call, "os_call", **{"class": "wait", **args})
                t.now = end
                t.state(RUNNING)
        return self.said(other)

    def gain(self, said: dict[str, Any]) -> float | None:
        return next((f["gain_pct"] for f in said["findings"] if f["id"] == "load-imbalance"), None)


class Traces(Case):
    def test_the_other_thread_has_more(self) -> None:
        said = self.region(20, (20, 60), (20, 60))
        self.assertAlmostEqual(self.gain(said), 100 * 40 / 140, delta=1)
        finding = said["findings"][0]
        self.assertEqual((finding["id"], finding["confidence"]), ("load-imbalance", "medium"))
        for words in ("2 OpenMP threads", "row", "worker-101 (101)", "120 ms", "40.0 ms"):
            self.assertIn(words, finding["statement"])

    def test_the_main_thread_has_more(self) -> None:
        self.assertAlmostEqual(self.gain(self.region(20, (60, 20), (60, 20))), 100 * 40 / 140, delta=1.5)

    def test_spinning_is_no_work(self) -> None:
        self.assertAlmostEqual(self.gain(self.region(0, (20, 60), (20, 60), spin=30)), 100 * 20 / 60, delta=2)

    def test_a_wait_of_the_library_seen_from_outside_is_no_work(self) -> None:
        """A look may fall into the futex at the region's end; a call that the region itself makes takes a thread's time."""
        for source in ("sampled", "inferred"):
            with self.subTest(source=source):
                self.setUp()
                said = self.region(20, (20, 60), (20, 60), call="futex", source=source)
                self.assertAlmostEqual(self.gain(said), 100 * 40 / 140, delta=1)
        for call, args in (("recv", {"source": "sampled"}), ("sem_wait", {})):
            with self.subTest(call=call):
                self.setUp()
                self.assertIsNone(self.gain(self.region(20, (20, 60), (20, 60), call=call, **args)))

    def test_a_thread_without_a_cpu_has_no_more_work(self) -> None:
        self.recording.facts(cpus=2)
        made = Chains(self.recording, *CHAINS)
        other = self.thread(101)
        made.compute(self.main, 50, FN)
        made.compute(other, 25, FN)
        other.starved(40 * MS)
        made.compute(other, 25, FN)
        self.main.sleeps(40 * MS)
        self.assertIsNone(self.gain(self.said(other)))

    def test_equal_work_is_no_case(self) -> None:
        for turns in (((50, 50), (50, 50)), ((50, 49), (49, 50))):
            with self.subTest(turns=turns):
                self.setUp()
                self.assertIsNone(self.gain(self.region(20, *turns)))

    def test_threads_of_another_library_are_no_team(self) -> None:
        chains = (("row job", "main job"), ("wait job",), CHAINS[2])
        self.assertIsNone(self.gain(self.region(20, (20, 60), chains=chains)))


class Told(Case):
    """Regions as OpenMP itself told of them (OMPT)."""

    def regions(self, own: int, *turns: tuple[int, int], told: bool = True, starved: int = 0, **where: Any) -> dict[str, Any]:
        """The main thread works for itself, then regions in which each of two works so long; the one that is first spins at the barrier."""
        self.recording.facts(cpus=2)
        self.main.runs(own * MS)
        other = self.thread(101)
        for number, turn in enumerate(turns, 1):
            start, end = self.main.now, self.main.now + max(turn) * MS
            for t, ms in ((self.main, turn[0]), (other, turn[1])):
                t.now = start
                if starved and t is self.main:
                    t.starved(starved * MS)
                    t.now = start
                if told:
                    t.slice(start, start + ms * MS, "implicit task", "openmp", region=number, work_ns=ms * MS, worksharing="static loop")
                    t.slice(start + ms * MS, end, "barrier", "openmp", region=number)
                t.now = end
            self.main.slice(start, end, "parallel region", "openmp", region=number, threads=2, caller="solve", place="job+0x1234", **where)
        return self.said(other)

    def test_equal_parts_of_each_region(self) -> None:
        """Of 140 ms two regions take 60 each; equal parts take 40."""
        said = self.regions(20, (20, 60), (60, 20))
        self.assertAlmostEqual(self.gain(said), 100 * 40 / 140, delta=0.5)
        finding = next(f for f in said["findings"] if f["id"] == "load-imbalance")
        for words in ("The 2 OpenMP threads of the loop in solve (job+0x1234)", "120 ms", "80.0 ms"):
            self.assertIn(words, finding["statement"])
        self.assertIn("not the same thread each time: at most 1 of 2 times", finding["evidence"])
        self.assertIn("its line, if built with -g: addr2line -e job 0x1234", finding["evidence"])

    def test_a_line_is_named_where_it_is_known(self) -> None:
        said = self.regions(20, (20, 60), (60, 20), line="solve.c:12")
        finding = next(f for f in said["findings"] if f["id"] == "load-imbalance")
        self.assertIn("loop in solve (solve.c:12)", finding["statement"])
        self.assertNotIn("addr2line", " ".join(finding["evidence"]))

    def test_nobody_told_and_no_samples(self) -> None:
        self.assertIsNone(self.gain(self.regions(20, (20, 60), (60, 20), told=False)))

    def test_equal_work_is_no_case(self) -> None:
        self.assertIsNone(self.gain(self.regions(20, (50, 50), (50, 49))))

    def test_a_wait_for_a_cpu_is_no_work(self) -> None:
        """The main thread arrives last, because it had no CPU for 40 ms of its 60: it works less than the other."""
        self.assertIsNone(self.gain(self.regions(20, (60, 20), (60, 20), starved=40)))

    def test_a_region_with_a_thread_that_is_not_known(self) -> None:
        """Of three threads two are recorded: nothing is said."""
        self.recording.facts(cpus=2)
        other = self.thread(101)
        for t, ms in ((self.main, 20), (other, 60)):
            t.slice(t.now, t.now + ms * MS, "implicit task", "openmp", region=1, work_ns=ms * MS)
        self.main.slice(self.main.now, self.main.now + 60 * MS, "parallel region", "openmp", region=1, threads=3)
        self.main.runs(60 * MS)
        other.runs(60 * MS)
        self.assertIsNone(self.gain(self.said(other)))

    def test_a_region_that_nobody_waits_for(self) -> None:
        """Two threads beside the main one are uneven, and the main thread works for longer than both."""
        self.recording.facts(cpus=4)
        pair = [self.thread(101), self.thread(102)]
        start = self.main.now
        for t, ms in zip(pair, (20, 60)):
            t.slice(start, start + ms * MS, "implicit task", "openmp", region=1, work_ns=ms * MS)
            t.now = start + 60 * MS
        pair[0].slice(start, start + 60 * MS, "parallel region", "openmp", region=1, threads=2)
        self.main.runs(100 * MS)
        self.assertIsNone(self.gain(self.said(*pair)))

    def test_what_whatif_says(self) -> None:
        self.regions(20, (20, 60), (60, 20))
        status, out, err = program("whatif", self.folder / "run.pftrace", "--edit", "teams=0", "--json")
        self.assertEqual(status, 0, err)
        self.assertAlmostEqual(json.loads(out)["edits"][0]["gain_pct"], 100 * 40 / 140, delta=0.5)


class Found(Case):
    def test_the_same_cause_is_told_once(self) -> None:
        said = self.region(0, (10, 90))
        self.assertEqual([f["id"] for f in said["findings"]], ["load-imbalance"])
