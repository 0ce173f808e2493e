# SPDX-License-Identifier: Apache-2.0
"""The exam's jobs of several ranks are what they claim: their truths, their files, their marks.  Not how the program does in it."""
import json
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from tests.exam.board_ranks import fits, judge
from tests.exam.plants_ranks import PLANTS, Case, base_shape, cases
from tests.exam.ranks_run import Exercise, gain, record, simulate
from tests.exam.team import Shape
from tests.program import report

NAMED = {plant.name: plant for plant in PLANTS}
SMALL = {"ranks": 2, "layers": 2, "ratio": 2.5, "sync": False, "queue": 256}


def period(shape: Shape) -> float:
    """Of a short run."""
    return simulate(shape, 4, 2).period


class Jobs(unittest.TestCase):
    def test_every_kind_runs_to_its_end(self) -> None:
        for kind in ("ddp", "fsdp", "tp", "ep", "pp"):
            with self.subTest(kind=kind):
                ran = simulate(Shape(3, kind, 4, layers=2, ratio=12.0 if kind == "pp" else 2.0, knobs={"micro": 4} if kind == "pp" else {}), 2, 1)
                for rank in ran.ranks:
                    self.assertFalse(any(stream.queue or stream.running for stream in rank.rank.streams.values()))

    def test_same_seed_same_job(self) -> None:
        shape = Shape(5, "ddp", 2, layers=2)
        self.assertEqual(period(shape), period(shape))
        self.assertNotEqual(period(shape), period(replace(shape, seed=6)))

    def test_overlapped_communication_is_hidden(self) -> None:
        """A free network gains next to nothing in a balanced job whose buckets travel during backward."""
        shape = Shape(5, "ddp", 4, layers=6, ratio=3.0, cover=0.6, alpha=9000.0)
        self.assertLess(gain(period(shape), period(shape.turned(free_network=1))), 3.0)

    def test_one_bucket_behind_backward_is_not(self) -> None:
        shape = Shape(5, "ddp", 4, layers=6, ratio=3.0, cover=0.6, alpha=9000.0)
        late = shape.turned(buckets="huge")
        self.assertGreater(gain(period(late), period(shape)), 15.0)

    def test_a_copy_on_the_compute_stream_costs_its_length(self) -> None:
        """90 us a step, which a stream of its own would hide: who says so of a job in which nothing was planted is right."""
        case = Case(0, None, "ddp", fixed=tuple({**SMALL, "ratio": 4.0}.items()))
        done = Exercise(case, base_shape(case, case.seed), 0, 0).planted(0.0)
        assert done.ran
        self.assertAlmostEqual(done.alternative("copy-bound") or 0.0, 100 * 90000 / done.ran.period, delta=0.5)

    def test_all_wait_for_the_slow_one(self) -> None:
        """One clock of four is 20 % slower: steps get nearly that much longer on all."""
        shape = Shape(5, "tp", 4, layers=4, ratio=3.0, cover=0.03, alpha=6000.0)
        slow = period(shape.turned(clock={2: 1.2})) / period(shape)
        self.assertTrue(1.12 < slow < 1.21, slow)

    def test_bubble_of_a_pipeline(self) -> None:
        """Four stages, four micro-batches: (4 - 1) / (4 + 4 - 1) of the step is bubble; with 16, 3 / 19."""
        shape = Shape(5, "pp", 4, layers=2, ratio=40.0, cover=0.01, alpha=3000.0, knobs={"micro": 16})
        lost = gain(period(shape.turned(micro=4)), period(shape))
        self.assertAlmostEqual(lost, 100.0 * (1.0 - (19 / 16) / (7 / 4)), delta=6.0)

    def test_imbalance_keeps_the_work(self) -> None:
        for name, knob in (("imbalance", "work"), ("popular experts", "experts"), ("imbalanced stage", "stage")):
            factors = NAMED[name].turn(Shape(5, "ddp", 4), 0.2, 1).knob(knob).values()
            self.assertAlmostEqual(sum(factors), 4.0)


class Questions(unittest.TestCase):
    def test_numbers_are_places(self) -> None:
        self.assertEqual([case.number for case in cases()], list(range(len(cases()))))
        self.assertTrue({plant.name for plant in PLANTS} <= {case.plant.name for case in cases() if case.plant})

    def test_shapes_are_drawn_by_seed(self) -> None:
        case = Case(0, None, "ddp")
        self.assertEqual(base_shape(case, 7), base_shape(case, 7))
        self.assertNotEqual(base_shape(case, 7), base_shape(case, 8))

    def test_views_give_the_files_that_they_say(self) -> None:
        plant = NAMED["late loader of one rank"]
        for view, count in (("all", 4), ("victim", 1), ("other", 1), ("no victim", 3), ("no other", 3), ("bare", 4)):
            case = Case(0, plant, "ddp", 20.0, view, tuple({**SMALL, "ranks": 4, "sync": True}.items()))
            done = Exercise(case, base_shape(case, case.seed), 1, 0).planted(3e6)
            with self.subTest(view=view), tempfile.TemporaryDirectory() as folder:
                record(done, Path(folder))
                files = sorted(path.name for path in Path(folder).iterdir())
                self.assertEqual(len(files), count)
                self.assertEqual(any("rank1." in name for name in files), view not in ("other", "no victim"))
                text = (Path(folder) / files[0]).read_text()
                self.assertEqual("record_param_comms" in text, view != "bare")
                json.loads(text)

    def test_the_program_reads_them(self) -> None:
        """All ranks are read, with their steps, and their collectives match."""
        case = Case(0, None, "ddp", fixed=tuple(SMALL.items()))
        done = Exercise(case, base_shape(case, case.seed), 0, 0).planted(0.0)
        with tempfile.TemporaryDirectory() as folder:
            said = report(record(done, Path(folder)))
        self.assertEqual(said["run"]["ranks"], 2)
        self.assertEqual(said["run"]["world_size"], 2)
        self.assertEqual(said["ranks"][0]["steps"]["count"], 6)
        self.assertGreater(said["collectives"]["matched"], 0)


def finding(identity: str, gain_pct: float, statement: str = "", confidence: str = "high") -> dict:
    return {"id": identity, "gain_pct": gain_pct, "gain_low_pct": gain_pct - 1, "gain_high_pct": gain_pct + 1, "statement": statement,
            "confidence": confidence, "fix": "", "evidence": []}


class Marks(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        case = Case(0, NAMED["slow clock of one rank"], "ddp", 20.0, fixed=tuple(SMALL.items()))
        cls.done = Exercise(case, base_shape(case, case.seed), 1, 0).planted(0.3)

    def grade(self, *findings: dict, **rest: object) -> str:
        return judge(self.done, {"findings": list(findings), **rest}).grade

    def test_right_needs_cause_and_price(self) -> None:
        truth = self.done.truth
        self.assertEqual(self.grade(finding("straggler", truth + 2)), "right")
        self.assertEqual(self.grade(finding("straggler", truth + 12)), "mispriced")

    def test_waiting_called_communication_is_wrong(self) -> None:
        self.assertEqual(self.grade(finding("exposed-communication", self.done.truth)), "wrong")

    def test_silence(self) -> None:
        self.assertEqual(self.grade(), "silent")
        self.assertEqual(self.grade(verdict={"text": "one rank cannot tell", "reasons": []}), "unsure")

    def test_no_answer(self) -> None:
        self.assertEqual(judge(self.done, {"failed": "no answer in 60 s"}).hung, "no answer in 60 s")

    def test_place(self) -> None:
        self.assertTrue(judge(self.done, {"findings": [], "stragglers": [{"rank": 1}]}).place)
        self.assertFalse(judge(self.done, {"findings": [], "stragglers": [{"rank": 0}]}).place)

    def test_words_count_as_names(self) -> None:
        self.assertTrue(fits(finding("some-new-id", 3.0, "wrap all but the last in no_sync()"), NAMED["no no_sync()"]))
        self.assertFalse(fits(finding("exposed-communication", 3.0), NAMED["no no_sync()"]))


if __name__ == "__main__":
    unittest.main()
