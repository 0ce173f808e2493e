# SPDX-License-Identifier: Apache-2.0
"""Five directories of mixed files, of runs with one cause each: `holdup report DIRECTORY` names it first, out of all of them together."""
import json
import re
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests import run_folders as made
from tests.program import run, skip_loudly


class Stories(unittest.TestCase):
    def setUp(self) -> None:
        if not made.is_there():
            skip_loudly("real files of shared/traces are not present")
            self.skipTest("nothing to draw from")
        keep = tempfile.TemporaryDirectory(prefix="holdup-test-")
        self.addCleanup(keep.cleanup)
        self.folder = Path(keep.name)
        (self.folder / "logs").mkdir()
        (self.folder / "train.py").write_text("import torch\n")
        self.compute = sum(k.us for k in made.kernels()[0][::10])

    def tell(self, ranks: list[made.Rank], took: list[float], **log: str) -> tuple[dict[str, Any], str]:
        """Puts the traces and the log; returns --json and the verdict of the text, on one line."""
        made.put_traces(self.folder, ranks)
        made.put_log(self.folder / "logs", took, **log)
        status, out, err = run("report", self.folder, "--json")
        self.assertEqual((status, err), (0, ""))
        told = json.loads(out)
        self.assertEqual(([len(told["ranks"]), told["unread"], told["doubts"]]), [len(ranks), [], []])
        self.assertEqual((told["not_read"]["count"], [Path(p).name for p in told["not_read"]["files"]]), (1, ["train.py"]))
        (one,) = told["logs"]
        self.assertEqual((one["fit"], one["clock"], one["first_step"], one["last_step"]), ("same", "aligned", 1, made.STEPS))
        words = run("report", self.folder)[1].decode()
        self.assertIn(f"the traces lie at its steps 1 to {made.STEPS}", " ".join(words.split()))
        return told, " ".join(words.split("\n\n")[1].split())

    def ids(self, told: dict[str, Any]) -> list[str]:
        return [f["id"] for f in told["findings"]]

    def test_data_loader(self) -> None:
        """Its waits are those of a real job, over what that job computed meanwhile."""
        share = made.waits()[1][8:8 + made.STEPS]
        ranks, took = made.job(wait=lambda step: share[step] * self.compute)
        made.put_csv(self.folder, sum(took) / 1e6)
        told, words = self.tell(ranks, took, more="time (ms) | forward: 5.00 | data: 15.50\n" * 3)
        self.assertEqual(self.ids(told)[0], "data-loading")
        self.assertRegex(told["findings"][0]["evidence"][-1], r"by slurm-4711\.out its timer data takes 15\.5 ms of a step")
        idle = 100 * sum(share) * self.compute / sum(took)
        said = re.match(r"The GPU is idle for (\d+) % of each step .* For \S+ % of that time the host waits for the data loader\. Fix first: data loading", words)
        self.assertIsNotNone(said, words)
        self.assertAlmostEqual(float(said[1]), idle, delta=2)

    def test_straggler_node(self) -> None:
        """Rank 2 of 4 computes as much longer as a slow worker of a real job; the monitor shows that its clock is not why."""
        times, reduce_us = made.slow_worker(), min(e["dur"] for e in made.all_reduces())
        ranks, took = made.job(4, times=lambda rank, step: times if rank == 2 else 1, reduce_us=reduce_us)
        made.put_jsonl(self.folder, ranks, sum(took) / 1e6)
        told, words = self.tell(ranks, took, before=made.nccl_lines(False))
        self.assertEqual((self.ids(told)[0], [s["rank"] for s in told["stragglers"]]), ("straggler", [2]))
        said = re.match(r"Of each step, (\d+) % .* is waiting for rank 2\. Fix first: waiting for the slowest rank", words)
        self.assertIsNotNone(said, words)
        self.assertAlmostEqual(float(said[1]), 100 * (times - 1) * self.compute * made.STEPS / sum(took), delta=2)
        self.assertNotIn("throttling", self.ids(told))

    def test_throttled_node(self) -> None:
        """From the middle on a power brake holds the clock at the lowest value that a real GPU had; nvidia-smi logged it."""
        high, low = made.clocks()
        half = made.STEPS // 2
        ranks, took = made.job(work=made.kernels()[0][::3], times=lambda rank, step: high / low if step >= half else 1)
        made.put_csv(self.folder, sum(took) / 1e6, lambda second: second >= sum(took[:half]) / 1e6, name="logs/gpu.csv")
        made.put_traces(self.folder, ranks)
        told, words = self.tell(ranks, took)
        self.assertEqual(self.ids(told)[0], "throttling")
        self.assertIn("Fix first: throttled GPU: a lower clock", words)
        self.assertIn("The driver lowered the GPU clock meanwhile.", told["findings"][0]["statement"])
        self.assertIn(f"its SM clock was {low:.0f} MHz then, of {high:.0f} MHz at most", told["findings"][0]["evidence"])
        gain = 100 * (1 - sum(took[:half]) / half / (sum(took) / made.STEPS))
        self.assertAlmostEqual(told["findings"][0]["gain_pct"], gain, delta=3)
        (self.folder / "logs/gpu.csv").unlink()
        alone = json.loads(run("report", self.folder, "--json")[1])
        self.assertNotIn("throttling", self.ids(alone), "without the monitor, other shapes may be why")

    def test_fragmented_memory(self) -> None:
        ranks, took = made.job()
        made.put_fragmented(self.folder)
        told, words = self.tell(ranks, took, more="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.27 GiB.\n")
        self.assertRegex(words, r"^An allocation of \S+ \S+ failed although \S+ \S+ are free: they are in \d+ pieces, the largest of .*expandable_segments:True")
        self.assertEqual(len(told["memory_snapshots"]), 1)
        self.assertEqual(told["logs"][0]["log"]["hints"][0]["id"], "out_of_memory")
        (self.folder / "memory.pickle").unlink()
        alone = json.loads(run("report", self.folder, "--json")[1])["verdict"]["text"]
        self.assertRegex(alone, rf"^The program ran out of GPU memory \(slurm-4711\.out, line {made.STEPS + 1}\): OutOfMemoryError: CUDA out of memory\. Tried to allocate 3\.27 GiB\.")

    def test_slow_fabric(self) -> None:
        """The all-reduce takes what its bytes take at the bus bandwidth that a real benchmark printed."""
        size = 4 * made.all_reduces()[0]["args"]["In msg nelems"]
        reduce_us = size * 2 * 3 / 4 * 8 / (made.bus_gbps() * 1e3)
        ranks, took = made.job(4, reduce_us=reduce_us)
        made.put_jsonl(self.folder, ranks, sum(took) / 1e6)
        told, words = self.tell(ranks, took, before=made.nccl_lines(True))
        said = re.match(r"NCCL sends over TCP sockets, although it found InfiniBand or RoCE devices: exposed communication takes (\d+) % of each step", words)
        self.assertIsNotNone(said, words)
        self.assertAlmostEqual(float(said[1]), 100 * reduce_us * made.STEPS / sum(took), delta=2)
        self.assertIn(self.ids(told)[0], ("poor-overlap", "exposed-communication", "comm-bandwidth"))
        self.assertEqual(told["findings"][0]["evidence"][-1], "NCCL sends over TCP sockets, although it found InfiniBand or RoCE devices")
        made.put_log(self.folder / "logs", took, before=made.nccl_lines(False))
        fast = json.loads(run("report", self.folder, "--json")[1])["verdict"]["text"]
        self.assertTrue(fast.startswith("Exposed communication takes"), fast)


if __name__ == "__main__":
    unittest.main()
