# SPDX-License-Identifier: Apache-2.0
"""`load-imbalance`: threads of OpenMP with unequal work, which wait for each other in calls that nobody records, or spinning."""
from __future__ import annotations

from typing import Any

from tests.host_traces import MS, RUNNING, SLEEPING
from tests.test_hot_code import Case as Base
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


class Found(Case):
    def test_the_same_cause_is_told_once(self) -> None:
        said = self.region(0, (10, 90))
        self.assertEqual([f["id"] for f in said["findings"]], ["load-imbalance"])
