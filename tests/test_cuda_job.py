# SPDX-License-Identifier: Apache-2.0
"""Training loops on the stand-in device, recorded by the CUDA door: the finding names what was planted, and promises no more than
the device was idle.

How long anything takes depends on who else uses the machine, so nothing here asks for it: gains are compared with what the recorded kernels
themselves leave over, and with the program's own times on an idle machine only in tests/cuda/board.py."""
from __future__ import annotations

import pathlib
import re
import tempfile
import unittest

from tests import recorder
from tests.cuda import board, stand
from tests.program import EXE, SANITIZED, skip_loudly


def load_tests(_loader, tests, _pattern):
    """What is tried here lives in other programs, without sanitizers: once is enough."""
    return unittest.TestSuite() if SANITIZED else tests


class Jobs(unittest.TestCase):
    def setUp(self) -> None:
        if not stand.INJECT.exists():
            skip_loudly(f"{stand.INJECT} was not built")
            raise unittest.SkipTest("no library")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def idle(self, trace: pathlib.Path) -> float:
        """Percent of the steps in which nothing is on the device."""
        busy, = recorder.rows(trace, """select union_ns(w.start_ns, w.end_ns) as ns from
            (select step, start_ns, end_ns from kernel union all select step, start_ns, end_ns from memcpy) w where w.step is not null""")
        span, = recorder.rows(trace, "select max(end_ns) - min(start_ns) as ns from kernel where step is not null")
        return 100 * (1 - int(busy["ns"]) / int(span["ns"]))

    def answer(self, cause: str) -> tuple[board.Plant, board.Answer]:
        plant, = (p for p in board.PLANTS if p.cause == cause)
        answer = board.record(plant, self.folder, EXE)
        self.assertEqual(answer.status, 0, answer.said)
        self.assertEqual(stand.Log(self.folder / "log").misuse(), [])
        self.assertEqual(len(answer.traces), plant.ranks, answer.said)
        self.assertTrue(answer.report, answer.said)
        return plant, answer

    def planted(self, cause: str, least: float = 10) -> None:
        """Where others take the CPUs, that is what holds the job up, or makes its steps unlike each other: then once more, and again."""
        for turn in range(3):
            plant, answer = self.answer(cause)
            self.assertEqual({int(row["n"]) for trace in answer.traces for row in recorder.rows(trace, "select count(*) as n from step")},
                             {plant.steps})
            ours = answer.of(plant.ids)
            all_of_them = [(f["id"], f["gain_pct"], f["statement"]) for f in answer.findings()]
            starved = any(f["id"] == "cpu-starved" and (f["gain_pct"] or 0) > 5 for f in answer.findings())
            unpriced = ours is not None and ours["gain_pct"] is None        # steps were too unlike to be replayed
            if not unpriced and (not starved or (ours and ours["gain_pct"] >= least)):
                break
            self.folder = self.folder / str(turn)
        else:
            skip_loudly(f"{cause}: other processes took the CPUs three times")
            raise unittest.SkipTest("crowded")
        self.assertIsNotNone(ours, all_of_them)
        self.assertRegex(" ".join([ours["title"], ours["statement"], *ours["evidence"]]), plant.words)
        self.assertGreaterEqual(ours["gain_pct"], least, all_of_them)
        if plant.ranks == 1 and cause != "pageable":        # there the copies themselves become shorter
            self.assertLessEqual(ours["gain_pct"], self.idle(answer.traces[0]) + 5, all_of_them)

    def test_more_to_launch_than_to_compute(self) -> None:
        """The gap that the device needs is never seen where each kernel waits for its launch: a usual one is taken, and said."""
        self.planted("launches")

    def test_the_loss_is_read_after_each_layer(self) -> None:
        self.planted("item")

    def test_copies_from_pageable_memory(self) -> None:
        self.planted("pageable")

    def test_data_are_loaded_in_the_loop(self) -> None:
        self.planted("loader")

    def test_memory_is_allocated_and_freed_in_the_loop(self) -> None:
        self.planted("allocations")

    def test_a_rank_comes_late_to_the_reduction(self) -> None:
        self.planted("late")

    def test_a_rank_comes_late_and_nothing_follows_the_reduction(self) -> None:
        self.planted("late-end")

    def test_nothing_is_wrong(self) -> None:
        """What is said all the same cannot promise more than the device was idle: a crowded machine may stop the host at any time."""
        for cause in ("graph", "busy"):
            with self.subTest(cause=cause):
                self.folder = self.folder / cause
                _, answer = self.answer(cause)
                idle = self.idle(answer.traces[0])
                for finding in answer.findings():
                    self.assertLessEqual(finding["gain_pct"] or 0, idle + 2, finding["statement"])

    def test_graphs_are_launched_and_their_kernels_known(self) -> None:
        _, answer = self.answer("graph")
        rows = recorder.rows(answer.traces[0], "select c.name, count(*) as n from kernel k join call c on c.id = k.launch group by c.name")
        self.assertEqual([(row["name"], int(row["n"])) for row in rows], [("cudaGraphLaunch", 41 * 10 * 40)])

    def test_the_text_names_the_kernel(self) -> None:
        _, answer = self.answer("busy")
        text = recorder.holdup("report", "--quiet", answer.traces[0]).stdout
        self.assertTrue(re.search("gemm bf16", text), text[:2000])


if __name__ == "__main__":
    unittest.main()
