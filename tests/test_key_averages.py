# SPDX-License-Identifier: Apache-2.0
"""Operators agree with torch's key_averages(), taken in the process that wrote the trace (tests/peers/key_averages.py)."""
import importlib.util
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from tests.program import ROOT, report, skip_loudly

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
        """With a torch at hand (HOLDUP_TORCH_PYTHON, or importable), a run of today."""
        python = os.environ.get("HOLDUP_TORCH_PYTHON")
        if not python and importlib.util.find_spec("torch"):
            python = "python3"
        if not python:
            skip_loudly("no torch: set HOLDUP_TORCH_PYTHON to compare key_averages() with a fresh run")
            self.skipTest("no torch")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([python, ROOT / "tests/peers/key_averages.py", folder], check=True, capture_output=True)
            self.compare(Path(folder))


if __name__ == "__main__":
    unittest.main()
