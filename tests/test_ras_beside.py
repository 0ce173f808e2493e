# SPDX-License-Identifier: Apache-2.0
"""Answers of NCCL's RAS subsystem beside a trace or dumps: one command, and whether they name the same ranks."""
import json
import os
import unittest
from pathlib import Path

from tests.program import report, run
from tests.test_one_run import Case
from tests.test_ras import MS, document, json_rank, text


class Ras(Case):
    def answers(self, rank: int = 1, n: int = 2, size: int = 8, name: str = "ras") -> list[Path]:
        """The same in each query: `rank` launched one all_reduce less than the others."""
        files = []
        for k in range(n):
            files.append(self.put(f"{name}{k}", document([json_rank(r, {"AllReduce": 2 if r == rank else 3}) for r in range(size)], size=size)))
            os.utime(files[-1], ns=(10**18 + k * 30_000 * MS,) * 2)
        return files

    def test_beside_a_trace(self) -> None:
        files = self.answers()
        told, alone = self.told(*files), report(self.trace)
        self.assertEqual((told["nccl_ras"]["cause"], told["nccl_ras"]["culprits"], told["nccl_ras"]["queries"]), ("behind", [1], 2))
        self.assertEqual((told["unread"], told["doubts"], told["verdict"], alone["nccl_ras"]), ([], [], alone["verdict"], None))
        self.assertEqual(told["nccl_ras"], report(*files), "as it is told alone")
        words = self.words(*files)
        self.assertLess(words.index("First the hang, by NCCL's RAS subsystem"), words.index("per step"))

    def test_no_hang_comes_last(self) -> None:
        """All is well, or one query alone, which proves nothing."""
        for files in ([self.put("ras.txt", text())], self.answers(n=1)):
            words = self.words(*files)
            self.assertLess(words.index("per step"), words.index("NCCL RAS  1 query"))
            self.assertNotIn("First the hang", words)

    def test_another_job(self) -> None:
        self.assertIn("has a communicator of 16 ranks, and the traces are of a job of 8", self.told(*self.answers(size=16))["doubts"][0]["doubt"])

    def test_with_dumps(self) -> None:
        """Rank 1 never enters the third all_reduce, and by RAS it launched two where the others launched three."""
        words = " ".join(self.words(*self.dumps(), *self.answers()).split())
        self.assertIn("The dumps and RAS both name rank 1.", words)
        self.assertLess(words.index("by its Flight Recorder dumps"), words.index("The same by NCCL's RAS subsystem"))
        other = " ".join(self.words(*self.dumps(), *self.answers(rank=5)).split())
        self.assertIn("The dumps name rank 1, and RAS rank 5: they contradict each other", other)
        page = self.folder / "page.html"
        status, _, err = run("report", self.trace, *self.dumps(), *self.answers(), "--html", page, "-q")
        self.assertEqual(status, 0, err)
        for said in ("RAS subsystem: ", "both name rank 1", "<h3>NCCL RAS</h3>"):
            self.assertIn(said, page.read_text())

    def test_without_a_trace(self) -> None:
        files = [*self.dumps(), *self.answers()]
        status, out, err = run("report", *files, "--json")
        told = json.loads(out)
        self.assertEqual((status, err, told["kind"], told["unread"]), (0, "", "hang", []))
        self.assertEqual((told["flight_recorder"]["culprits"], told["nccl_ras"]["culprits"]), ([1], [1]))
        self.assertEqual(told["agreement"], "The dumps and RAS both name rank 1.")
        words = run("report", *files, env={"COLUMNS": "80"})[1].decode()
        self.assertLess(words.index("Rank 1 never entered"), words.index("NCCL RAS  2 queries"))
        calm = run("report", *self.dumps(hangs=False), self.put("ras.txt", text()), env={"COLUMNS": "80"})
        self.assertEqual((calm[0], "FLIGHT RECORDER" in calm[1].decode(), "no mismatch" in calm[1].decode()), (0, True, True))
        refused = run("report", *files, "--csv")
        self.assertEqual((refused[0], "--csv is not for dumps and answers of RAS" in refused[2]), (2, True))

    def test_another_group(self) -> None:
        """A communicator of four ranks numbers them for itself: rank 1 of it need not be rank 1."""
        self.assertIsNone(json.loads(run("report", *self.dumps(), *self.answers(size=4), "--json")[1])["agreement"])

    def test_unreadable(self) -> None:
        """One that breaks off is unread; the others are told."""
        broken = self.put("broken", document([json_rank(r, {}) for r in range(8)])[:-700])
        told = self.told(broken, *self.answers())
        self.assertEqual(([Path(u["file"]).name for u in told["unread"]], told["nccl_ras"]["culprits"]), (["broken"], [1]))

    def test_a_directory(self) -> None:
        self.answers()
        told = report(self.folder)
        self.assertEqual((told["nccl_ras"]["culprits"], told["nccl_ras"]["queries"], told["unread"]), ([1], 2, []))

    def test_info(self) -> None:
        status, out, err = run("info", self.answers(n=1)[0])
        self.assertEqual((status, err), (0, ""))
        for words in ("RAS", "version     2.28.3", "ranks       8"):
            self.assertIn(words, out.decode())
        self.assertEqual(json.loads(run("info", self.answers(n=1)[0], "--json")[1])["communicators"], 1)


if __name__ == "__main__":
    unittest.main()
