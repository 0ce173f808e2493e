# SPDX-License-Identifier: Apache-2.0
"""A trace of nothing but Python frames: which function it is, and no price for taking the program away."""
from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import report, run


class Frames(unittest.TestCase):
    def setUp(self) -> None:
        self.events: list[dict[str, Any]] = []

    def frame(self, name: str, at: int, us: int, kind: str = "python_function", tid: int = 1) -> None:
        self.events.append({"ph": "X", "cat": kind, "name": name, "pid": 1, "tid": tid, "ts": at, "dur": us, "args": {}})

    def answer(self) -> tuple[dict[str, Any], str]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json"
            path.write_text(json.dumps({"traceEvents": self.events}))
            return report(path), " ".join(run("report", path)[1].decode().split())

    def loop(self, n: int, work: int) -> None:
        """outer calls inner n times, which calls work: 1 ms more than that in inner, and 2 ms between in outer."""
        self.frame("a.py(3): outer", 0, n * (work + 3000))
        for i in range(n):
            self.frame("a.py(7): inner", i * (work + 3000), work + 1000)
            self.frame("a.py(9): work", i * (work + 3000) + 500, work)

    def test_the_function_that_takes_most_itself(self) -> None:
        self.loop(10, 50000)
        answer, text = self.answer()
        self.assertEqual(answer["findings"], [])
        self.assertIn("Python code takes 100 % of the capture (530.0 of 530.0 ms). Longest itself is a.py(9): work: 500 ms of the main thread's 530 ms (94 %), in 10 "
                      "calls. How much faster that code could be is not in a trace.", text)
        self.assertNotIn("Fix first", text)
        self.assertIn("not captured: step marks holdup run, of a program that calls holdup.step() once per iteration", text)

    def test_a_caller_that_computes(self) -> None:
        self.loop(10, 1000)
        _, text = self.answer()
        self.assertIn("Longest itself is a.py(3): outer: 20.0 ms of the main thread's 40.0 ms (50 %), in 1 call.", text)

    def test_recursion_counts_each_instant_once(self) -> None:
        for depth in range(5):
            self.frame("a.py(1): fib", depth * 1000, 100000 - 2000 * depth)
        self.frame("a.py(5): leaf", 10000, 70000)
        _, text = self.answer()
        self.assertIn("Longest itself is a.py(5): leaf: 70.0 ms of the main thread's 100 ms (70 %), in 1 call.", text)

    def test_another_thread_is_not_the_main_one(self) -> None:
        self.loop(10, 50000)
        self.frame("b.py(1): helper", 0, 100000, tid=2)
        _, text = self.answer()
        self.assertIn("Longest itself is a.py(9): work: 500 ms of the main thread's 530 ms", text)

    def test_frames_that_wait(self) -> None:
        """What waits is told as waiting: no code could be faster."""
        self.frame("a.py(3): serve", 0, 500000)
        for i in range(5):
            self.frame("threading.py(288): wait", 100 + i * 100000, 99000)
        _, text = self.answer()
        self.assertIn("waiting for requests, queues, locks or other threads takes", text)
        self.assertNotIn("Longest itself", text)
        self.assertNotIn("How much faster", text)

    def test_operators_say_more(self) -> None:
        self.loop(10, 50000)
        for i in range(10):
            self.frame("aten::mm", i * 53000 + 1000, 48000, "cpu_op")
        _, text = self.answer()
        self.assertNotIn("Longest itself", text)
        self.assertIn("operators and Python code take", text)


if __name__ == "__main__":
    unittest.main()
