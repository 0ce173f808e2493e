# SPDX-License-Identifier: Apache-2.0
"""Lines of NCCL_DEBUG_SUBSYS=INIT,COLL: which rank is behind, and which called another collective, worked out by hand.

The forms are NCCL's: ncclEnqueueCheck (src/enqueue.cc) prints "%s: opCount %lx sendbuff %p recvbuff %p count %zu datatype %d op %d root %d comm %p
[nranks=%d] stream %p", ncclCommInitRankFunc and commDestroySync (src/init.cc) the others.  opCount rises only where a rank has work for its proxy."""
import json
import random
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.log_schema import validate
from tests.program import SHARED, run, skip_loudly

REAL = SHARED / "traces/nccl/timez-fault/nccl.log"


class Job:
    """Ranks of communicators on two nodes, whose processes are node0:1000, node0:1001 …"""

    def __init__(self, has_init: bool = True) -> None:
        self.lines: list[str] = []
        self.has_init = has_init

    def head(self, process: int) -> str:
        return f"node{process // 4}:{1000 + process}:{1000 + process} [{process % 4}] NCCL INFO "

    def comm(self, name: int, processes: list[int]) -> None:
        if self.has_init:
            for rank, p in enumerate(processes):
                self.lines.append(self.head(p) + f"ncclCommInitRankConfig comm 0x55{name:02x}{p:02x}00 rank {rank} nranks {len(processes)} cudaDev {p % 4} nvmlDev {p % 4} busId 17000 "
                                  f"commId 0x94343f5a50e0f{name:03x} - Init COMPLETE")

    def call(self, name: int, process: int, ranks: int, op: str = "AllReduce", count: int = 1024, datatype: int = 7, root: int = 0, reduction: int = 0) -> None:
        self.lines.append(self.head(process) + f"{op}: opCount {len(self.lines) if process % 4 == 3 else 0:x} sendbuff 0x720000000 recvbuff 0x920000000 count {count} datatype {datatype} "
                          f"op {reduction} root {root} comm 0x55{name:02x}{process:02x}00 [nranks={ranks}] stream 0x55b6a98daaf0")

    def destroy(self, name: int, processes: list[int]) -> None:
        for rank, p in enumerate(processes):
            self.lines.append(self.head(p) + f"comm 0x55{name:02x}{p:02x}00 rank {rank} nranks {len(processes)} cudaDev {p % 4} busId 901d0 - Destroy COMPLETE")

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "nccl.log"

    def of(self, text: str) -> tuple[dict[str, Any], dict[str, str]]:
        self.path.write_text(text)
        status, out, err = run("report", self.path, "--json")
        self.assertEqual(status, 0, err)
        told = json.loads(out)
        validate(told)
        return told["calls"], {h["id"]: h["words"] for h in told["hints"]}

    def said(self) -> str:
        return " ".join(run("report", self.path)[1].decode().split())


class Calls(Case):
    def uneven(self, calls: dict[int, int], has_init: bool = True) -> Job:
        """Each process calls that many, interleaved; the 42nd is an AllGather."""
        job = Job(has_init)
        job.comm(1, sorted(calls))
        for i in range(max(calls.values())):
            for p in sorted(calls):
                if i < calls[p]:
                    job.call(1, p, len(calls), *(("AllGather", 4096, 9) if i == 41 else ("AllReduce", 1000 + i)))
        return job

    def test_a_rank_that_is_behind(self) -> None:
        told, hints = self.of(self.uneven({0: 91, 1: 42, 2: 42, 3: 41, 4: 60, 5: 42, 6: 42, 7: 42}).text())
        self.assertEqual((told["ranks_are"], told["communicators"], told["communicator_ranks"], told["number"]), ("behind", 1, 8, 42))
        self.assertEqual(told["ranks"], [{"rank": 3, "process": "node0:1003", "calls": 41}])
        self.assertEqual((told["call"], told["others_call"]["operation"], told["others_call"]["elements"]), (None, "AllGather", 4096))
        words = hints["calls_behind"]
        self.assertTrue(words.startswith("Rank 3 (node0:1003) has called 41 NCCL collectives of a communicator of 8 ranks, the others 42 to 91. "
                                         "The first that it has not called: #42, AllGather of 4,096 bfloat16."), words)
        self.assertRegex(words, r"Before that: AllReduce of 1,040 float32 \(sum\) \(line \d+\)\. If the job hangs, the others wait there: py-spy dump --pid 1003 on node0 says what it does instead\.$")
        self.assertIn("not all ranks called as many when the log ends", self.said())

    def test_all_alike(self) -> None:
        for job in (self.uneven({p: 91 for p in range(8)}), self.uneven({p: 91 for p in range(8)}, has_init=False)):
            told, hints = self.of(job.text())
            self.assertEqual((told["ranks_are"], told["count"], told["ranks"], hints), ("alike", 8 * 91, [], {}))
            self.assertIn("in 1 communicator that can be compared, all ranks called the same ones", self.said())

    def test_a_run_that_ended(self) -> None:
        """A rank that is behind and everybody destroyed the communicator: nobody waited for it."""
        job = self.uneven({0: 41, 1: 42})
        self.assertIn("calls_behind", self.of(job.text())[1])
        job.destroy(1, [0, 1])
        self.assertEqual(self.of(job.text())[1], {})

    def test_without_the_lines_of_init(self) -> None:
        """Processes are named, and as many as the communicator has ranks belong together; more may be of two."""
        told, hints = self.of(self.uneven({0: 50, 1: 50, 2: 47, 3: 50}, has_init=False).text())
        self.assertEqual(told["ranks"], [{"rank": None, "process": "node0:1002", "calls": 47}])
        self.assertTrue(hints["calls_behind"].startswith("Process node0:1002 has called 47 "), hints)
        job = Job(has_init=False)
        for i in range(10):
            for p in range(8):
                if p != 3 or i < 7:
                    job.call(1 + p // 4, p, 4)
        told, hints = self.of(job.text())
        self.assertEqual((told["ranks_are"], told["communicators_unknown"], hints), ("unknown", 1, {}))
        self.assertIn("NCCL_DEBUG_SUBSYS=INIT,COLL does", self.said())

    def test_another_collective(self) -> None:
        for odd, others, words in ((("AllGather", 64), ("AllReduce", 64),
                                    "rank 2 (node0:1002) called AllGather of 64 float32 (line {a}), where rank 0 called AllReduce of 64 float32 (sum) (line {b})"),
                                   (("AllReduce", 65), ("AllReduce", 64),
                                    "rank 2 (node0:1002) called AllReduce of 65 float32 (sum) (line {a}), where rank 0 called AllReduce of 64 float32 (sum) (line {b})"),
                                   (("AllReduce", 64, 9), ("AllReduce", 64, 7),
                                    "rank 2 (node0:1002) called AllReduce of 64 bfloat16 (sum) (line {a}), where rank 0 called AllReduce of 64 float32 (sum) (line {b})"),
                                   (("Broadcast", 64, 7, 1), ("Broadcast", 64, 7, 0),
                                    "rank 2 (node0:1002) called Broadcast of 64 float32 with root 1 (line {a}), where rank 0 called Broadcast of 64 float32 with root 0 (line {b})")):
            with self.subTest(odd=odd, others=others):
                job = Job()
                job.comm(1, [0, 1, 2, 3])
                for i in range(30):
                    for p in range(4):
                        job.call(1, p, 4, *(odd if (i, p) == (20, 2) else others if i == 20 else ("AllReduce", 1000 + i)))
                told, hints = self.of(job.text())
                self.assertEqual((told["ranks_are"], told["number"], [r["rank"] for r in told["ranks"]]), ("differ", 21, [2]))
                self.assertIn("In NCCL collective #21 of a communicator of 4 ranks, " + words.format(a=4 + 20 * 4 + 3, b=4 + 20 * 4 + 1), hints["calls_differ"])
                self.assertIn("shapes that differ between ranks", hints["calls_differ"])

    def test_a_call_that_one_rank_skipped(self) -> None:
        job = Job()
        job.comm(1, [0, 1, 2, 3])
        for i in range(40):
            for p in range(4):
                if (i, p) != (20, 1):
                    job.call(1, p, 4, "AllReduce", 1000 + i)
        told, hints = self.of(job.text())
        self.assertEqual((told["ranks_are"], told["number"], [r["rank"] for r in told["ranks"]]), ("differ", 21, [1]))
        self.assertIn("it skipped a call that they made, or the log lost a line", hints["calls_differ"])

    def test_reductions_of_ones_own_are_numbers_of_a_process(self) -> None:
        job = Job()
        job.comm(1, [0, 1])
        for i in range(9):
            for p in (0, 1):
                job.call(1, p, 2, reduction=7 + p)
        self.assertEqual(self.of(job.text())[0]["ranks_are"], "alike")

    def test_who_waits_elsewhere_is_not_the_cause(self) -> None:
        """Rank 3 stands still; rank 2 waits for it in their pair, so it is behind in its other pair as well."""
        for order in ((1, 2, 3, 4), (4, 3, 2, 1)):
            pairs = {1: [0, 2], 2: [2, 3], 3: [1, 3], 4: [0, 1]}
            job = Job()
            for name in order:
                job.comm(name, pairs[name])
            n = {(1, 0): 12, (1, 2): 11, (2, 2): 12, (2, 3): 11, (3, 1): 12, (3, 3): 11, (4, 0): 12, (4, 1): 12}
            for (name, p), calls in n.items():
                for _ in range(calls):
                    job.call(name, p, 2)
            told, _ = self.of(job.text())
            self.assertEqual([r["process"] for r in told["ranks"]], ["node0:1003"])

    def test_sends_and_receives(self) -> None:
        """Their ranks need not call alike, so nothing is said."""
        job = self.uneven({0: 20, 1: 10})
        job.call(1, 0, 2, "Send")
        told, hints = self.of(job.text())
        self.assertEqual((told["ranks_are"], told["communicators_unknown"], hints), ("unknown", 1, {}))

    def test_an_address_that_is_used_again(self) -> None:
        job = self.uneven({0: 20, 1: 20})
        job.destroy(1, [0, 1])
        job.lines += [line.replace("f001 -", "fabc -") for line in job.lines[:2]]
        for _ in range(5):
            job.call(1, 0, 2)
        job.call(1, 1, 2)
        told, _ = self.of(job.text())
        self.assertEqual((told["communicators"], told["ranks_are"], told["ranks"], told["number"]), (2, "behind", [{"rank": 1, "process": "node0:1001", "calls": 1}], 2))

    def test_lines_that_are_glued(self) -> None:
        """Processes that share a pipe: the newline of one line comes behind the next."""
        lines = self.uneven({p: 60 for p in range(4)}).lines
        rest = random.Random(7)
        text = "".join(line + ("" if i >= 8 and rest.random() < 0.3 else "\n") for i, line in enumerate(lines))
        self.assertIn("0x55b6a98daaf0node0:", text)
        told, _ = self.of(text)
        self.assertEqual((told["ranks_are"], told["count"]), ("alike", 240))

    def test_lines_that_are_torn(self) -> None:
        """Of calls whose head is lost nobody knows whose they are, so ranks are not compared."""
        lines = self.uneven({p: 60 for p in range(4)}).lines
        for torn in (lines[100].split("NCCL INFO ")[0] + "NCCL INFO " + lines[101].split("AllReduce")[0] + "\n" + "AllReduce" + lines[100].split("AllReduce")[1],
                     lines[100] + " [repeated 7x across cluster]"):
            told, hints = self.of("\n".join(lines[:100] + [torn] + lines[102:]) + "\n")
            self.assertEqual((told["ranks_are"], hints), ("unknown", {}))
            self.assertIn("cannot tell whether ranks agree: 1 line is torn or stands for several", self.said())

    def test_more_calls_than_are_kept(self) -> None:
        job = self.uneven({0: 5000, 1: 4990, 2: 5000})
        told, hints = self.of(job.text())
        self.assertEqual((told["number"], told["ranks"][0]["calls"], told["others_call"]["elements"]), (4991, 4990, 1000 + 4990))
        told, hints = self.of(self.uneven({0: 5000, 1: 20, 2: 5000}).text())
        self.assertEqual((told["number"], told["others_call"]), (21, None))
        self.assertIn("#21, a collective.", hints["calls_behind"])

    def test_hostile(self) -> None:
        body = self.uneven({0: 20, 1: 20}).text()
        line = body.splitlines()[-1]
        for what in (line.replace("count 1019", "count 99999999999999999999"), line.replace("comm 0x55", "comm 0x" + "f" * 40), line.replace("AllReduce", "A" * 3000),
                     line.replace("AllReduce", ""), line.split("NCCL")[0] + "NCCL INFO : opCount ", "NCCL INFO " * 5000 + ": opCount 1", line.replace("1001:1001", ":"),
                     line.replace("datatype 7", "datatype -7")):
            with self.subTest(what=what[:60]):
                self.assertEqual(self.of(body + what + "\n")[0]["count"], 40)
        many = "".join(line.replace("comm 0x55010100", f"comm 0x{i:x}").replace("AllReduce", f"Op{i % 90}") + "\n" for i in range(1, 20_000))
        self.assertLessEqual(self.of(body + many)[0]["count"], 40 + 20_000)

    @unittest.skipUnless(REAL.exists(), "no real log")
    def test_a_real_log(self) -> None:
        told, hints = self.of(REAL.read_text(errors="replace"))
        self.assertEqual((told["count"], told["communicators"], told["ranks_are"]), (990, 1, "alike"))
        self.assertNotIn("calls_behind", hints)


if __name__ == "__main__":
    if not REAL.exists():
        skip_loudly(f"{REAL} is not there")
    unittest.main()
