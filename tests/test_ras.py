# SPDX-License-Identifier: Apache-2.0
"""Answers of NCCL's RAS subsystem, text and JSON: made ones, with a rank that is behind, dead, silent, in another state, or with an error."""
import json
import os
import random
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import OWN, SANITIZED, report, run

MS = 1_000_000
HEAD = "NCCL version 2.28.3+cuda12.9 compiled with CUDA 12.9\nCUDA runtime version 12090, driver version 12080\n\n"
SUMMARY = ("Job summary\n===========\n\n  Nodes  Processes         GPUs  Processes     GPUs\n(total)   per node  per process    (total)  (total)\n"
           "      2          4            1          8        8\n\nCommunicators... (0.02s)\n=============\n\n"
           "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n    #  in group  per comm  per node  per comm  in group\n")


def where(rank: int) -> str:
    return f"GPU {rank % 4} managed by process {4100 + rank} on node 10.9.8.{rank // 4 + 1}"


def text(errors: str = "", warnings: str = "", status: str = "RUNNING      OK", end: bool = True) -> str:
    rows = f"    0         1         2         4         8         8   {status}\n    1         4         2       1-2         2         8   RUNNING      OK\n"
    return f"{HEAD}{SUMMARY}{rows}\nErrors\n======\n\n{errors}" + (f"Warnings\n========\n\n{warnings}" if end else "")


def json_rank(rank: int, counts: dict[str, int], init: int = 0, error: int = 0, abort: bool = False) -> dict[str, Any]:
    return {"rank": rank, "host": f"10.9.8.{rank // 4 + 1}", "pid": 4100 + rank, "cuda_dev": rank % 4, "nvml_dev": rank % 4,
            "status": {"init_state": init, "async_error": error, "finalize_called": False, "destroy_flag": False, "abort_flag": abort},
            "collective_counts": {"Broadcast": 3, "Reduce": 0, "AllGather": 0, "ReduceScatter": 0, "AllReduce": 40} | counts}


def document(ranks: list[dict[str, Any]], missing: list[tuple[int, bool, bool]] = [], size: int = 8) -> str:
    gone = [{"rank": r, "host": "10.9.8.2", "pid": 4100 + r, "cuda_dev": r % 4, "nvml_dev": r % 4, "status": {"unresponsive": u, "considered_dead": d}}
            for r, u, d in missing]
    return json.dumps({"nccl_version": "2.28.3", "cuda_runtime_version": 12090, "cuda_driver_version": 12080, "timestamp": "2031-05-06 07:08:09",
                       "communicators_count": 1, "communicators": [{"hash": "0x5eed", "secondary_hash": "0x1:0x2", "size": size, "ranks_count": len(ranks),
                                                                    "missing_ranks_count": len(gone), "ranks": ranks, "missing_ranks": gone}],
                       "ras": {"collection_time_sec": 0.01, "timeouts_count": 0}}, indent=2)


BEHIND = ("#0-0 (00000000000005ed) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n  7 ranks have launched up to operation 40\n"
          f"  Rank 5 has launched up to operation 39 -- {where(5)}\n\n")


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def ask(self, *answers: str) -> dict[str, Any]:
        files = []
        for n, answer in enumerate(answers):
            files.append(self.folder / f"ras{n}")
            files[-1].write_text(answer)
            os.utime(files[-1], ns=(10**18 + n * 30_000 * MS,) * 2)
        return report(*files)


class Made(Case):
    def test_nothing(self) -> None:
        for answer in (text(), document([json_rank(r, {}) for r in range(8)])):
            told = self.ask(answer)
            self.assertEqual((told["kind"], told["cause"], told["culprits"], told["is_cut"]), ("nccl-ras", "nothing", [], False))
        self.assertEqual(self.ask(text())["communicators_count"], 5)
        self.assertIn("no mismatch in 5 communicators", self.ask(text())["text"])
        self.assertIn("may be more", self.ask(text(end=False))["text"])

    def test_behind(self) -> None:
        """One query proves nothing; the same in a later one names the rank; other counts show a job that runs."""
        late = document([json_rank(r, {"AllReduce": 39} if r == 5 else {}) for r in range(8)])
        for answer in (text(warnings=BEHIND, status="RUNNING  MISMATCH"), late):
            told = self.ask(answer)
            self.assertEqual((told["cause"], told["culprits"], told["confidence"]), ("behind", [], "low"))
            self.assertRegex(told["text"], r"of 8 ranks, rank 5 \(GPU 1, process 4105 on 10.9.8.2\) has launched 39 AllReduce operations where .*launched 40")
            self.assertIn("query again after a while and pass both files", told["text"])
            told = self.ask(answer, answer)
            self.assertEqual((told["cause"], told["culprits"], told["confidence"]), ("behind", [5], "medium"))
            self.assertIn("the same in an earlier query, so the others wait for it (30.0 s apart)", told["text"])
        before = text(warnings=BEHIND.replace("operation 40", "operation 20").replace("operation 39", "operation 19"))
        told = self.ask(before, text(warnings=BEHIND))
        self.assertEqual((told["cause"], told["culprits"]), ("runs", []))
        self.assertIn("so the job was running", told["text"])
        self.assertEqual(self.ask(text(), text(warnings=BEHIND))["cause"], "runs")

    def test_not_one_operation(self) -> None:
        """A rank that launched none; and where one rank is ahead of seven, none of them is blamed."""
        never = BEHIND.replace("has launched up to operation 39", "has not launched any operations")
        told = self.ask(text(warnings=never), text(warnings=never))
        self.assertEqual((told["culprits"], "has launched 0 AllReduce" in told["text"]), ([5], True))
        ahead = document([json_rank(r, {"AllReduce": 41} if r == 2 else {}) for r in range(8)])
        told = self.ask(ahead, ahead)
        self.assertEqual((told["cause"], told["culprits"], told["confidence"]), ("behind", [], "low"))
        self.assertIn("it is unclear who is to blame", told["text"])

    def test_dead(self) -> None:
        errors = (f"DEAD\n  2 job processes are considered dead (unreachable via the RAS network)\n  Process 4106 on node 10.9.8.2 managing GPU 2\n"
                  f"  Process 4107 on node 10.9.8.2 managing GPUs 3,4\n\n#0-0 (00000000000005ed) INCOMPLETE\n  Missing communicator data from 2 ranks\n"
                  f"  Rank 6 -- {where(6)}\n  Rank 7 -- {where(7)}\n\n")
        told = self.ask(text(errors=errors, status="RUNNING  INCOMPLETE"))
        self.assertEqual((told["cause"], told["processes"], told["confidence"]), ("dead", [4106, 4107], "high"))
        self.assertIn("Processes 4106 (GPU 2, on 10.9.8.2) and 4107 (GPU 3,4, on 10.9.8.2) are dead", told["text"])
        self.assertEqual(told["communicators"][1]["sets"][0]["members"][1]["rank"], 7)
        told = self.ask(document([json_rank(r, {}) for r in range(7)], [(7, True, True)]))
        self.assertEqual((told["cause"], told["culprits"]), ("dead", [7]))

    def test_silent(self) -> None:
        errors = "INCOMPLETE\n  Missing communicator data from 1 job process\n  Process 4103 on node 10.9.8.1 managing GPU 3\n\n"
        told = self.ask(text(errors=errors, warnings="TIMEOUT\n  Encountered 2 communication timeouts while gathering communicator data\n\n"))
        self.assertEqual((told["cause"], told["processes"], told["timeouts"]), ("no-answer", [4103], 2))
        told = self.ask(document([json_rank(r, {}) for r in range(7)], [(7, True, False)]))
        self.assertEqual((told["cause"], told["culprits"]), ("no-answer", [7]))

    def test_error_and_status(self) -> None:
        errors = (f"#0-0 (00000000000005ed) ERROR\n  Asynchronous error on 1 rank\n  Rank 2 reported Remote process error -- {where(2)}\n\n")
        told = self.ask(text(errors=errors))
        self.assertEqual((told["cause"], told["culprits"]), ("error", [2]))
        self.assertIn("reported an error: Remote process error.", told["text"])
        self.assertEqual(self.ask(document([json_rank(r, {}, error=6 if r == 2 else 7) for r in range(8)]))["culprits"], [2])
        warnings = ("#1-3 (0a) MISMATCH\n  Communicator ranks have different status\n  Rank 0 has status RUNNING -- [process information not found]\n"
                    f"  Rank 1 has status NOCOMM -- {where(1)}\n")
        told = self.ask(text(warnings=warnings))
        self.assertEqual((told["cause"], told["culprits"]), ("other-status", [1]))
        self.assertIn("Rank 1 (GPU 1, process 4101 on 10.9.8.1) does not know communicator #1-3 (0a) of 2 ranks: it never created it", told["text"])
        told = self.ask(document([json_rank(r, {}, abort=r == 4) for r in range(8)]))
        self.assertEqual((told["cause"], told["culprits"]), ("other-status", [4]))
        self.assertEqual(self.ask(document([json_rank(r, {}, init=7) for r in range(8)]))["cause"], "nothing")

    def test_text(self) -> None:
        path = self.folder / "ras"
        path.write_text(text(warnings=BEHIND))
        out = run("report", path)[1].decode()
        self.assertIn("NCCL RAS  1 query, version 2.28.3+cuda12.9, 5 communicators", out)
        self.assertRegex(out, r"> #0-0 0+5ed +1 +launched 39 AllReduce +5\n")
        self.assertLessEqual(max(map(len, out.splitlines())), 80)

    def test_asking(self) -> None:
        path = self.folder / "ras"
        path.write_text(text())
        status, out, err = run("report", path, "--csv")
        self.assertEqual((status, out), (2, b""))
        self.assertIn("--csv is not for answers of RAS", err)
        self.assertIn("output of ncclras, which has no timeline", run("whatif", path, "--edit", "data=0")[2])
        told = report(OWN[0], path)
        self.assertEqual((len(told["ranks"]), told["nccl_ras"]["cause"], told["unread"]), (1, "nothing", []))


class Hostile(Case):
    def test_counts_of_no_communicator(self) -> None:
        """Lines that belong to a communicator, and stand in none."""
        told = self.ask(text(warnings=BEHIND[BEHIND.index("  Communicator"):]))
        self.assertEqual((told["cause"], told["culprits"]), ("nothing", []))

    def test_names_do_not_steer_the_terminal(self) -> None:
        path = self.folder / "ras"
        path.write_text(text(warnings=BEHIND.replace("10.9.8.2", "\x1b]0;x\x07")))
        self.assertNotIn(b"\x1b", run("report", path)[1])

    def test_bent(self) -> None:
        dice = random.Random(5)
        path = self.folder / "ras"
        for whole in (text(warnings=BEHIND).encode(), document([json_rank(r, {"AllReduce": r}) for r in range(8)], [(8, True, True)]).encode()):
            for n in range(20 if SANITIZED else 80):
                bent = bytearray(whole[:dice.randrange(200, len(whole))] if n % 3 == 0 else whole)
                for _ in range(dice.randrange(1, 6)):
                    bent[dice.randrange(len(bent))] = dice.randrange(256)
                path.write_bytes(bent)
                status, _, err = run("report", path, "--json", timeout=30)
                self.assertIn(status, (0, 3), err)


if __name__ == "__main__":
    unittest.main()
