# SPDX-License-Identifier: Apache-2.0
"""Rare steps that take much longer than the others are told apart from the mean, with what they do meanwhile."""
from __future__ import annotations

import json
import random
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import report, run

LAUNCH, TAIL = 100, 50  # us


class Loop:
    """Contiguous ProfilerSteps: each launches a kernel and waits for its end; some do more."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.at, self.calls, self.lengths, self.text = 1000, 0, [], ""  # type: ignore[var-annotated]

    def slice(self, kind: str, name: str, at: int, us: int, **more: Any) -> None:
        self.events.append({"ph": "X", "cat": kind, "name": name, "pid": 1, "tid": 1, "ts": at, "dur": us, **more})

    def step(self, gpu: int = 9000, kernel: str = "gemm", kernels: int = 1, waits: bool = True, **extra: Any) -> Loop:
        """`extra`: a function that adds what else the step does from a time on, and returns how long that takes."""
        start, each = self.at, gpu // kernels
        self.slice("cpu_op", "aten::mm", start + 10, LAUNCH)
        for i in range(kernels):
            self.calls += 1
            self.slice("cuda_runtime", "cudaLaunchKernel", start + 20 + 8 * i, 5, args={"correlation": self.calls})
            self.slice("kernel", kernel, start + 60 + i * each, each - (kernels > 1), pid=0, tid=7, args={"correlation": self.calls, "device": 0, "stream": 7})
        self.slice("cuda_runtime" if waits else "cpu_op", "cudaDeviceSynchronize" if waits else "aten::sum", start + 200, gpu - 140)
        self.at = start + 60 + gpu + TAIL
        for what, us in extra.items():
            self.slice("user_annotation" if what.startswith("my_") else "cpu_op", what, self.at - TAIL + 5, us - 10)
            self.at += us
        self.lengths.append(self.at - start)
        self.slice("user_annotation", f"ProfilerStep#{len(self.lengths)}", start, self.at - start)
        return self

    def report(self) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json"
            path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "G"}], "traceEvents": self.events}))
            self.text = " ".join(run("report", path)[1].decode().split())
            answer = report(path)
            self.verdict = answer["verdict"]["text"]
            return answer["ranks"][0]["steps"]


class Slow(unittest.TestCase):
    def is_told(self, loop: Loop, slow: int, every: int, excess: str, what: str, sentence: str) -> dict[str, Any]:
        steps = loop.report()
        self.assertEqual((steps["slow"], steps["slow_every"], steps["slow_excess"], steps["slow_what"]), (slow, every, excess, what))
        longest = sorted(loop.lengths)[-slow:]
        others = sorted(loop.lengths)[:-slow]
        self.assertAlmostEqual(steps["slow_ns"], 1000 * sum(longest) / slow, delta=60000)  # the last step is one of the capture's ends
        self.assertAlmostEqual(steps["typical_ns"], 1000 * sum(others) / len(others), delta=60000)
        self.assertIn(sentence, loop.verdict)
        self.assertIn(sentence, loop.text)
        self.assertEqual([row["note"] for row in steps["list"]].count("slow"), slow)
        return steps

    def is_not_told(self, loop: Loop) -> None:
        steps = loop.report()
        self.assertEqual((steps["slow"], steps["slow_every"], steps["slow_ns"], steps["typical_ns"], steps["slow_excess"]), (0, 0, 0, None, ""))
        self.assertNotIn("accounts for", loop.verdict)
        self.assertNotIn("slow", [row["note"] for row in steps["list"]])

    def test_an_evaluation_in_every_fourth(self) -> None:
        loop = Loop()
        for i in range(12):
            loop.step(**({"my_evaluate": 60000} if i % 4 == 3 else {}))
        steps = self.is_told(loop, 3, 4, "range", "my_evaluate",
                             " 3 of 12 steps (every 4th) take 69.1 ms, the others 9.11 ms: my_evaluate accounts for 60.0 ms of the difference.")
        self.assertAlmostEqual(steps["slow_what_ns"], 59990000, delta=1)

    def test_pauses_in_it(self) -> None:
        """An operator in a long range, and much of which nothing was recorded: the range is named there, too."""
        loop = Loop()
        for i in range(12):
            loop.step(kernels=10, waits=False, **({"my_evaluate": 60000} if i % 4 == 3 else {}))
            if i % 4 == 3:
                loop.slice("cpu_op", "aten::clone", loop.at - 59000, 20)
        loop.report()
        self.assertIn("at points that differ from step to step (longest in the range my_evaluate), and nothing else was recorded there", loop.text)

    def test_one_step(self) -> None:
        loop = Loop()
        for i in range(20):
            loop.step(**({"my_evaluate": 60000} if i == 12 else {}))
        self.is_told(loop, 1, 0, "range", "my_evaluate", " 1 of 20 steps (step 13) takes 69.1 ms, the others 9.11 ms: my_evaluate")

    def test_not_regular(self) -> None:
        loop = Loop()
        for i in range(17):
            loop.step(**({"my_evaluate": 30000 + 1000 * i} if i in (1, 7, 12) else {}))
        self.is_told(loop, 3, 0, "range", "my_evaluate", " 3 of 17 steps (the longest: step 13) take ")

    def test_every_fifth_but_one_is_missing(self) -> None:
        loop = Loop()
        for i in range(20):
            loop.step(**({"my_evaluate": 60000} if i in (4, 9) else {}))
        self.is_told(loop, 2, 0, "range", "my_evaluate", " 2 of 20 steps (the longest: step 5) take ")

    def test_longer_kernels(self) -> None:
        loop = Loop()
        for i in range(16):
            loop.step(gpu=54000 if i % 5 == 4 else 9000)
        self.is_told(loop, 3, 5, "compute", "", " 3 of 16 steps (every 5th) take 54.1 ms, the others 9.11 ms: GPU compute accounts for 45.0 ms of the difference.")

    def test_longer_communication(self) -> None:
        loop = Loop()
        for i in range(16):
            loop.step(gpu=54000 if i % 5 == 4 else 9000, kernel="ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)")
        self.is_told(loop, 3, 5, "communication", "", ": exposed communication accounts for 45.0 ms of the difference.")

    def test_an_operator_of_the_host(self) -> None:
        loop = Loop()
        for i in range(16):
            loop.step(**({"aten::nonzero": 20000} if i % 5 == 4 else {}))
        self.is_told(loop, 3, 5, "host", "aten::nonzero", " (every 5th) take 29.1 ms, the others 9.11 ms: aten::nonzero accounts for 20.0 ms of the difference.")

    def test_nothing_recorded(self) -> None:
        loop = Loop()
        for i in range(16):
            loop.step()
            if i % 5 == 4:
                loop.at += 40000
                loop.events[-1]["dur"] += 40000
                loop.lengths[-1] += 40000
        self.is_told(loop, 3, 5, "unknown", "", ": nothing recorded accounts for the difference.")

    def test_a_range_of_every_step(self) -> None:
        """What grows has a name, also where all steps have it; what is the same in all has none of the difference."""
        loop = Loop()
        for i in range(15):
            loop.step(my_same=20000, my_load=60000 if i % 5 == 4 else 10000)
        steps = self.is_told(loop, 3, 5, "range", "my_load", " (every 5th) take 89.1 ms, the others 39.1 ms: my_load accounts for 50.0 ms of the difference.")
        self.assertAlmostEqual(steps["slow_what_ns"], 50000000, delta=1)

    def test_steps_that_vary_are_no_slow_ones(self) -> None:
        source = random.Random(3)
        loop = Loop()
        for _ in range(40):
            loop.step(gpu=int(9000 * source.lognormvariate(0, 0.5)))
        self.is_not_told(loop)

    def test_all_alike(self) -> None:
        loop = Loop()
        for _ in range(12):
            loop.step(my_work=3000)
        self.is_not_told(loop)

    def test_two_kinds_of_steps(self) -> None:
        """Half are long: neither is the exception."""
        loop = Loop()
        for i in range(12):
            loop.step(gpu=9000 if i % 2 else 40000)
        self.is_not_told(loop)

    def test_too_many(self) -> None:
        loop = Loop()
        for i in range(12):
            loop.step(gpu=40000 if i in (1, 3, 6, 8, 11) else 9000)
        self.is_not_told(loop)

    def test_a_little_longer(self) -> None:
        """A third more in every fifth is 6 % of all time, and still an ordinary step."""
        loop = Loop()
        for i in range(16):
            loop.step(gpu=12200 if i % 5 == 4 else 9000)
        self.is_not_told(loop)

    def test_two_steps_that_differ(self) -> None:
        """Nobody knows which of the two is the usual one."""
        for gpu, confidence, reason in ((90000, "low", "only 2 complete steps, and they differ: "), (9500, "medium", "only 2 complete steps")):
            with self.subTest(gpu):
                loop = Loop().step().step(gpu=gpu)
                loop.report()
                self.assertIn(f"2 steps · confidence: {confidence}", loop.text)
                self.assertIn(f"but: {reason}", loop.text)

    def test_small(self) -> None:
        """1 of 200 steps that takes twice as long changes the mean by half a percent."""
        loop = Loop()
        for i in range(200):
            loop.step(gpu=18000 if i == 77 else 9000)
        self.is_not_told(loop)


if __name__ == "__main__":
    unittest.main()
