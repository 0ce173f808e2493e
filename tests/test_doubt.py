# SPDX-License-Identifier: Apache-2.0
"""How sure a finding may be, where what it depends on is not in the trace."""
from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import report
from tests.rule_traces import EXAMS


class Doubt(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "trace.json"

    def plant(self, rule: str) -> dict[str, Any]:
        page = EXAMS[rule].page
        assert page
        return json.loads(page().write(self.path.parent).read_text())

    def ask(self, trace: dict[str, Any]) -> dict[str, dict[str, Any]]:
        self.path.write_text(json.dumps(trace))
        return {f["id"]: f for f in report(self.path)["findings"]}

    def test_a_loader_beside_a_gpu_gains_at_least_half(self) -> None:
        found = self.ask(self.plant("data-loading"))["data-loading"]
        self.assertGreater(found["gain_low_pct"], 0.4 * found["gain_pct"])
        self.assertLess(found["gain_low_pct"], 0.6 * found["gain_pct"])
        self.assertEqual(found["confidence"], "medium")

    def test_what_a_graph_leaves_is_a_guess(self) -> None:
        self.assertEqual(self.ask(self.plant("launch-bound"))["launch-bound"]["confidence"], "medium")

    def test_what_is_captured_is_no_forward_pass(self) -> None:
        trace = json.loads(EXAMS["validation"].plant().write(self.path.parent).read_text())
        self.assertIn("validation", self.ask(trace))
        ends = [e["ts"] + e["dur"] for e in trace["traceEvents"] if e["name"].startswith("Optimizer.step")]
        for end in ends:    # the pass behind each optimizer is captured, and runs nothing
            for name, at in (("cudaStreamBeginCapture", end + 5), ("cudaStreamEndCapture", end + 53.8)):
                trace["traceEvents"].append({"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 1, "tid": 1, "ts": at, "dur": 0.1})
        self.assertNotIn("validation", self.ask(trace))

    def test_launches_that_wait_do_not_tell_what_launching_costs(self) -> None:
        found = self.ask(json.loads(EXAMS["synchronous-launches"].plant().write(self.path.parent).read_text()))
        self.assertIn("synchronous-launches", found)
        self.assertIn(found.get("launch-bound", {"confidence": "low"})["confidence"], "low")

    def test_a_second_time_is_no_guess(self) -> None:
        found = {f["id"]: f for f in report(EXAMS["recompute"].plant().write(self.path.parent))["findings"]}
        self.assertEqual(found["recompute"]["confidence"], "high")

    def test_without_launches_the_host_is_not_blamed(self) -> None:
        """Two in three launches are not in the trace."""
        trace = self.plant("launch-bound")
        events, at = [], 0
        for event in trace["traceEvents"]:
            at += event.get("cat") == "cuda_runtime"
            if event.get("cat") != "cuda_runtime" or at % 3 == 0:
                events.append(event)
        for name, found in self.ask({**trace, "traceEvents": events}).items():
            if name in ("launch-bound", "host-work", "host-sync", "unrecorded"):
                self.assertEqual((found["confidence"], found["gain_low_pct"]), ("low", 0), name)


if __name__ == "__main__":
    unittest.main()
