# SPDX-License-Identifier: Apache-2.0
"""What lies between two marks of steps: the loop's own part is time of the step, an evaluation is not, and is told."""
from __future__ import annotations

import json
import random
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import report, run

STEP, USUAL = 10000, 100  # us: a mark, and a gap between two
LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


class Loop:
    """A loop whose marks take 10 ms; each has an operator that launches a kernel of 9 ms."""

    def __init__(self, name: str = "train_step", usual: int = USUAL) -> None:
        self.name, self.usual, self.at, self.events, self.calls, self.steps = name, usual, 0, [], 0, 0  # type: ignore[var-annotated]

    def slice(self, kind: str, name: str, at: int, us: int, **more: Any) -> None:
        self.events.append({"ph": "X", "cat": kind, "name": name, "pid": 1, "tid": 1, "ts": at, "dur": us, **more})

    def launch(self, at: int, start: int, us: int, name: str = "gemm") -> None:
        self.calls += 1
        self.slice("cuda_runtime", "cudaLaunchKernel", at, 5, args={"correlation": self.calls})
        self.slice("kernel", name, start, us, pid=0, tid=7, args={"correlation": self.calls, "device": 0, "stream": 7})

    def run(self, steps: int) -> Loop:
        for _ in range(steps):
            self.slice("user_annotation", self.name.replace("%", str(self.steps)), self.at, STEP)
            self.slice("cpu_op", "aten::mm", self.at + 10, STEP - 100)
            self.launch(self.at + 20, self.at + 50, 9000)
            self.at += STEP + self.usual
            self.steps += 1
        return self

    def gap(self, us: int, name: str = "", works: bool = False) -> Loop:
        """The gap behind the last mark lasts so long."""
        self.at -= self.usual
        if name:
            self.slice("user_annotation", name, self.at + 1, us - 2)
        for at in range(self.at + 10, self.at + us - 2000 if works else 0, 2000):
            self.launch(at, at + 20, 1800, "evaluate")
        self.at += us
        return self

    def report(self) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json"
            path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "G"}], "traceEvents": self.events}))
            self.text = " ".join(run("report", path)[1].decode().split())
            return report(path)["ranks"][0]


class Pauses(unittest.TestCase):
    def is_left_out(self, loop: Loop, pauses: int, us: int, mean_us: float = STEP + USUAL) -> dict[str, Any]:
        steps: dict[str, Any] = loop.report()["steps"]
        self.assertEqual((steps["pauses"], steps["pauses_ns"]), (pauses, us * 1000))
        self.assertAlmostEqual(steps["mean_ns"], mean_us * 1000, delta=20000)
        self.assertIn(f"without {pauses} pauses between steps", loop.text)
        return steps

    def is_counted(self, loop: Loop) -> None:
        """The mean is the time from the first mark to the last, by the number of steps."""
        rank = loop.report()
        marks = [e["ts"] for e in loop.events if e["name"] == loop.name]
        self.assertEqual(rank["steps"]["pauses"], 0)
        self.assertAlmostEqual(rank["steps"]["mean_ns"], 1000 * (marks[-1] - marks[0]) / (len(marks) - 1), delta=100000)
        self.assertNotIn("between steps", loop.text)

    def test_an_evaluation_between_epochs(self) -> None:
        for name in ("train_step", "iter %", "ProfilerStep#%"):
            with self.subTest(name):
                loop = Loop(name)
                for _ in range(4):
                    loop.run(5).gap(50000, "validation", works=True)
                steps = self.is_left_out(loop.run(5), 4, 4 * 50000)
                self.assertEqual(steps["count"], 25)
                self.assertEqual(steps["pause"], "validation")
                self.assertIn('200 ms of 452 ms in all: mostly "validation"', loop.text)

    def test_the_page_tells_of_them(self) -> None:
        loop = Loop()
        for _ in range(3):
            loop.run(10).gap(50000, "validation", works=True)
        loop.run(10).report()
        with tempfile.TemporaryDirectory() as folder:
            trace, page = Path(folder) / "trace.json", Path(folder) / "page.html"
            trace.write_text(json.dumps({"traceEvents": loop.events}))
            self.assertEqual(run("report", trace, "--html", page)[0], 0)
            self.assertRegex(page.read_text(), r"3 pauses between steps left out: (<[^>]*>)?150")

    def test_its_kernels_are_not_of_a_step(self) -> None:
        loop = Loop()
        for _ in range(3):
            loop.run(8).gap(50000, "validation", works=True)
        seen = loop.run(8).report()
        self.assertEqual({s["device_slices"] for s in seen["steps"]["list"]}, {1})
        self.assertAlmostEqual(seen["step_breakdown"]["compute_ns"], 9e6, delta=1e5)

    def test_nothing_recorded_in_it(self) -> None:
        """Rare: at most one gap in ten."""
        loop = Loop()
        for _ in range(3):
            loop.run(12).gap(17000)
        steps = self.is_left_out(loop.run(12), 3, 3 * 17000)
        self.assertEqual(steps["pause"], "")
        self.assertIn("nothing recorded tells why", loop.text)

    def test_a_usual_gap_is_time_of_the_step(self) -> None:
        """Of the steps next to a pause it is not known, and they are left out."""
        loop = Loop(usual=4000)
        for _ in range(3):
            loop.run(10).gap(60000, "validation", works=True)
        steps = self.is_left_out(loop.run(10), 3, 3 * 60000, STEP + 4000)
        self.assertEqual((steps["count"], steps["counted"]), (40, 36))
        self.assertIn("without the step next to each", loop.text)

    def test_the_wait_for_data_counts(self) -> None:
        for name in (LOADER, "next_batch", ""):
            with self.subTest(name):
                loop = Loop()
                for i in range(64):
                    loop.run(1).gap(30000 if i % 8 == 7 else USUAL, name)
                self.is_counted(loop.run(1))

    def test_a_rare_wait_for_data_counts_where_it_is_named(self) -> None:
        for name in (LOADER, "next_batch"):
            with self.subTest(name):
                loop = Loop()
                for i in range(64):
                    loop.run(1).gap(30000 if i % 32 == 31 else USUAL, name)
                self.is_counted(loop.run(1))

    def test_what_a_fix_is_known_for_counts(self) -> None:
        loop = Loop()
        for _ in range(3):
            loop.run(10).gap(40000, "save_checkpoint")
        self.is_counted(loop.run(10))

    def test_gaps_that_differ(self) -> None:
        loop = Loop()
        for i in range(60):
            loop.run(1).gap((2000, 5000, 9000, 12000, 3000, 7000)[i % 6])
        self.is_counted(loop.run(1))

    def test_gaps_with_a_long_tail(self) -> None:
        """As waits for data have: of what nothing says that it is something else, it is time of the steps."""
        for seed in range(8):
            loop, chance = Loop(), random.Random(seed)
            for _ in range(60):
                loop.run(1).gap(int(2000 * chance.lognormvariate(0, 1.1)))
            self.is_counted(loop.run(1))

    def test_a_host_that_runs_ahead(self) -> None:
        """It waits for the GPU at every tenth step: that gap is the GPU's time."""
        loop, free = Loop(), 0
        for i in range(40):
            loop.slice("user_annotation", "train_step", loop.at, 2000)
            loop.launch(loop.at + 20, max(free, loop.at + 50), STEP)
            free = max(free, loop.at + 50) + STEP
            loop.at += 2010
            if i % 10 == 9:
                loop.slice("cpu_op", "aten::item", loop.at, free - loop.at + 10)
                loop.at = free + 20
        steps = loop.report()["steps"]
        self.assertEqual(steps["pauses"], 0)
        self.assertAlmostEqual(steps["mean_ns"], STEP * 1000, delta=20000)

    def test_steps_that_nobody_selected(self) -> None:
        """A selection within an epoch has no pause."""
        loop = Loop("iter %")
        for _ in range(3):
            loop.run(8).gap(50000, "validation", works=True)
        loop.run(8)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json"
            path.write_text(json.dumps({"traceEvents": loop.events}))
            for steps, pauses in (("2..6", 0), ("6..9", 1)):
                seen = json.loads(run("report", path, "--steps", steps, "--json")[1])["ranks"][0]["steps"]
                self.assertEqual(seen["pauses"], pauses)


class ShortMarks(unittest.TestCase):
    def test_uneven_ones_are_steps(self) -> None:
        """Who names iterations marks them, however short and uneven; and nobody is told to mark them."""
        loop = Loop()
        for i in range(30):
            loop.slice("user_annotation", "train_step", loop.at, 600)
            loop.launch(loop.at + 20, loop.at + 50, 4000)
            loop.at += (6000, 8000, 9000, 7000, 6500)[i % 5]
        seen = loop.report()["steps"]
        self.assertEqual((seen["source"], seen["what"], seen["count"]), ("annotation", "train_step", 30))
        self.assertAlmostEqual(seen["mean_ns"], 7.3e6, delta=2e5)
        self.assertNotIn("step marks", loop.text)

    def test_on_a_thread_beside_they_are_none(self) -> None:
        """Batches that another thread fetches ahead, as they come."""
        loop = Loop("forward_backward")
        loop.run(30)
        at = 0
        for i in range(30):
            loop.slice("user_annotation", "load_batch", at, 300, tid=2)
            at += (2000, 30000, 500, 9000, 8000)[i % 5]
        self.assertEqual(loop.report()["steps"]["what"], "forward_backward")


if __name__ == "__main__":
    unittest.main()
