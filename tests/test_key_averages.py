# SPDX-License-Identifier: Apache-2.0
"""Operators agree with torch's key_averages(), taken in the process that wrote the trace (tests/peers/key_averages.py)."""
import json
import subprocess
import tempfile
import unittest
from pathlib import Path

from tests.program import ROOT, report, torch_or_skip

RECORDED = ROOT / "tests/data/key_averages"


class KeyAverages(unittest.TestCase):
    def compare(self, folder: Path) -> None:
        table = json.loads((folder / "table.json").read_text())
        trace = folder / "trace.json.gz"
        ours = {o["name"]: o for o in report(trace)["ranks"][0]["operators"]}
        compared = 0
        for theirs in table["by_name"]:
            if theirs["name"] == "[memory]":
                continue        # torch's row for allocations outside of every operator
            o = ours[theirs["name"]]
            with self.subTest(operator=theirs["name"]):
                self.assertEqual(o["calls"], theirs["calls"])
                # the trace holds microseconds with three decimals, torch sums nanoseconds: a rounding a call
                slack = theirs["calls"] + 1
                self.assertLessEqual(abs(o["host_total_ns"] - 1000 * theirs["host_total_us"]), slack)
                self.assertLessEqual(abs(o["host_self_ns"] - 1000 * theirs["host_self_us"]), slack * 8)
                self.assertEqual(o["host_self_bytes"], theirs["host_self_bytes"])
                compared += 1
        self.assertGreater(compared, 40)
        self.assertEqual(compared, len(ours))

        shaped = {(o["name"], json.dumps(json.loads(o["shapes"] or "[]"))): o
                  for o in report(trace, "--group-by", "shapes")["ranks"][0]["operators"]}
        compared = 0
        for theirs in table["by_shape"]:
            o = shaped.get((theirs["name"], json.dumps(theirs["shapes"])))
            if theirs["name"] == "[memory]" or o is None:
                continue
            with self.subTest(operator=theirs["name"], shapes=theirs["shapes"]):
                self.assertEqual(o["calls"], theirs["calls"])
            compared += 1
        self.assertGreater(compared, 60)

    def test_recorded(self) -> None:
        self.compare(RECORDED)

    def test_fresh(self) -> None:
        """With a torch at hand, a run of today."""
        python = torch_or_skip(self)
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([python, ROOT / "tests/peers/key_averages.py", folder], check=True, capture_output=True)
            self.compare(Path(folder))


class Recursion(unittest.TestCase):
    """An operator that calls itself: each level has the whole kernel, the row has it once."""

    def rows(self, depths: tuple[int, ...]) -> dict[str, dict]:
        """Calls of aten::mm of 100 µs each, as deep as told, around one kernel of 80 µs; between two an aten::to."""
        events, now = [], 0.0
        for number, depth in enumerate(depths, 1):
            for level in range(depth):
                name = "aten::to" if level % 3 == 1 else "aten::mm"
                events.append({"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": now + level, "dur": 100 - 2 * level})
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": now + 20, "dur": 5,
                           "args": {"correlation": number}})
            events.append({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": now + 30, "dur": 80,
                           "args": {"correlation": number, "device": 0, "stream": 7}})
            now += 120
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json"
            path.write_text(json.dumps({"traceEvents": events}))
            return {o["name"]: o for o in report(path)["ranks"][0]["operators"]}

    def test_work_counts_once(self) -> None:
        mm = self.rows((1, 3, 4, 9))["aten::mm"]
        self.assertEqual(mm["calls"], 1 + 2 + 3 + 6)
        self.assertEqual(mm["device_total_ns"], 4 * 80_000)

    def test_calls_behind_each_other_add_up(self) -> None:
        mm = self.rows((1, 1, 1))["aten::mm"]
        self.assertEqual((mm["device_total_ns"], mm["host_total_ns"], mm["host_self_ns"]), (240_000, 300_000, 285_000))


if __name__ == "__main__":
    unittest.main()
