# SPDX-License-Identifier: Apache-2.0
"""Causes in jobs without a GPU that are told by what an operator is for."""
from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import report
from tests.rule_traces import on_cpu

MODEL = ("aten::addmm", 8, 1000, 2)


class CpuJobs(unittest.TestCase):
    def ask(self, *parts: tuple[str, int, float, float]) -> tuple[dict[str, dict[str, Any]], float]:
        case = on_cpu(*parts)()
        assert case.gain is not None
        with tempfile.TemporaryDirectory() as folder:
            return {f["id"]: f for f in report(case.write(Path(folder)))["findings"]}, case.gain

    def test_data_that_is_made_in_the_step(self) -> None:
        for name in ("aten::normal_", "aten::sort"):
            found, gain = self.ask((name, 1, 2000, 2), MODEL)
            self.assertAlmostEqual(found["host-work"]["gain_pct"], gain, delta=1)
            self.assertEqual(found["host-work"]["confidence"], "medium")
            self.assertNotIn("cuda", found["host-work"]["fix"])

    def test_the_models_own_operators(self) -> None:
        self.assertEqual(self.ask(("aten::mm", 1, 2000, 2), MODEL)[0], {})

    def test_a_loop_over_elements_beside_large_operators(self) -> None:
        """Few small operators in all, but the same ones in a row; as many that differ may be a model's own."""
        found, gain = self.ask(("aten::add", 200, 4, 6), MODEL)
        self.assertAlmostEqual(found["many-small-operators"]["gain_pct"], gain, delta=1)
        self.assertEqual(found["many-small-operators"]["confidence"], "low")
        self.assertIn("A loop calls", found["many-small-operators"]["statement"])
        names = [f"aten::op{n}" for n in range(20)]
        self.assertEqual(self.ask(*[(name, 1, 4, 6) for name in names * 10], MODEL)[0], {})

    def test_changes_of_layout_count_sooner_than_copies(self) -> None:
        found, gain = self.ask(("aten::contiguous", 2, 400, 2), MODEL)
        self.assertAlmostEqual(found["copies-and-casts"]["gain_pct"], gain, delta=1)
        self.assertNotIn("copies-and-casts", self.ask(("aten::copy_", 2, 400, 2), MODEL)[0])


if __name__ == "__main__":
    unittest.main()
