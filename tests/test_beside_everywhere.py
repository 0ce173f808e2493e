# SPDX-License-Identifier: Apache-2.0
"""Files beside a trace in `holdup view` and `mpirun -n N holdup report`: the same answer as of one `holdup report`."""
import json
import shutil
import unittest
from pathlib import Path

from tests import test_mpi
from tests.ncu_report import binary
from tests.program import report, run
from tests.test_one_run import KERNELS, Case, launch
from tests.test_ras import document, json_rank
from tests.test_view import Served


class Mixed(Case):
    def files(self) -> list[Path]:
        """One of each kind."""
        return [self.put("p.ncu-rep", binary([launch(1, kernel, 5000) for kernel in KERNELS])), self.snapshot(), *self.dumps(),
                self.put("ras", document([json_rank(r, {"AllReduce": 2 if r == 1 else 3}) for r in range(8)]))]


class View(Mixed):
    def test_the_page_has_them(self) -> None:
        served = Served(self.trace, *self.files(), "--port", 0)
        try:
            status, _, body = served.ask("/")
            self.assertEqual(status, 200)
            for words in (b"Rank 1 never entered all_reduce", b"Kernels, measured one by one", b"Memory snapshot", b"NCCL RAS", b'href="#beside"'):
                self.assertIn(words, body)
            self.assertEqual(served.ask("/timeline")[0], 200)
        finally:
            status, err = served.stop()
        self.assertEqual((status, "unread" in err), (0, False), err)

    def test_a_directory(self) -> None:
        self.files()
        served = Served(self.folder, "--port", 0)
        try:
            self.assertIn(b"Kernels, measured one by one", served.ask("/")[2])
        finally:
            self.assertEqual(served.stop()[0], 0)

    def test_without_a_trace(self) -> None:
        """One line, and what to type."""
        status, out, err = run("view", self.files()[0], "--port", 0)
        self.assertEqual((status, out, err.count("\n")), (2, b"", 1))
        self.assertIn("has no timeline, and neither have the others; `holdup report` prints what is in it", err)


@unittest.skipUnless(shutil.which("mpirun"), "SKIPPED: no mpirun (scripts/setup test)")
class Mpi(Mixed):
    same = test_mpi.Mpi.same

    def setUp(self) -> None:
        test_mpi.Mpi.setUp(self)  # type: ignore[arg-type]
        super().setUp()

    def test_the_same_answer(self) -> None:
        files = self.files()
        seen = self.same("report", self.trace, *files, "--json", sizes=(1, 3))
        told = json.loads(seen[1])
        self.assertEqual((told["unread"], told["doubts"], told["counters"]["kernels_in_trace"], len(told["memory_snapshots"])), ([], [], 3, 1))
        self.assertEqual((told["flight_recorder"]["culprits"], told["nccl_ras"]["cause"]), ([1], "behind"))
        self.assertEqual(told, report(self.trace, *files))
        self.same("report", self.trace, *files, sizes=(2,))

    def test_a_directory(self) -> None:
        self.files()
        self.same("report", self.folder, "--json", sizes=(2,))

    def test_broken_and_strict(self) -> None:
        cut = self.put("cut.ncu-rep", binary([launch(1, kernel, 5000) for kernel in KERNELS])[:-40])
        self.assertEqual(self.same("report", self.trace, cut, "--strict", sizes=(2,))[0], 4)
        bad = self.put("bad.ncu-rep", b"NVR\0" + b"\xff" * 40)
        self.same("report", self.trace, bad, "--json", sizes=(2,))

    def test_tables(self) -> None:
        """They have no place for what is beside the traces, which is said."""
        self.same("report", self.trace, *self.files(), "--view", "kernels", sizes=(2,))


if __name__ == "__main__":
    unittest.main()
