# SPDX-License-Identifier: Apache-2.0
"""Launches of one kernel, grid and block that differ: which of a step Nsight Compute measured, and when that cannot be told."""
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.ncu_report import Launch, binary
from tests.program import report, run
from tests.test_ncu import DRAM, MEMORY, SM, TIME
from tests.test_schema import SCHEMA, jsonschema

STEP_US, STEPS = 2000, 4
A, B, C = "ampere_sgemm_128x64_tn", "volta_sgemm_32x32_nn", "cutlass_80_simt_sgemm"
STEP = ((A, 100), (B, 50), (A, 300), (C, 50), (A, 100))


def trace(steps: list[tuple[tuple[str, int], ...]], linked: bool = True, marks: bool = True) -> dict[str, Any]:
    events: list[dict[str, Any]] = []
    number = 0
    for step, kernels in enumerate(steps):
        at = 10 + step * STEP_US
        if marks:
            events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1, "ts": at, "dur": STEP_US})
        on_gpu = at + 40
        for name, us in kernels:
            number += 1
            if linked:
                events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 5, "dur": 2,
                               "args": {"correlation": number}})
            events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": on_gpu, "dur": us,
                           "args": {"device": 0, "stream": 7, "correlation": number, "grid": [24, 8, 1], "block": [128, 1, 1]}})
            at, on_gpu = at + 3, on_gpu + us + 1
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A10G"}], "traceEvents": events}


def launch(name: str, us: float, memory: float = 80) -> Launch:
    return Launch(name, {TIME: 1000 * us, SM: 40, MEMORY: memory, DRAM: memory}, grid=(24, 8, 1), block=(128, 1, 1))


class Order(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def paths(self, steps: Any, reports: list[list[Launch]], **more: Any) -> list[Path]:
        (self.folder / "trace.json").write_text(json.dumps(trace(steps, **more)))
        paths = [self.folder / "trace.json"]
        for i, launches in enumerate(reports):
            paths.append(self.folder / f"{i}.ncu-rep")
            paths[-1].write_bytes(binary(launches))
        return paths

    def told(self, launches: list[Launch], steps: Any = (STEP,) * STEPS, *others: list[Launch], name: str = A, **more: Any) -> list[dict[str, Any]]:
        got = report(*self.paths(steps, [launches, *others], **more))
        if jsonschema is not None:
            validator = jsonschema.validators.validator_for(SCHEMA)(SCHEMA)
            self.assertEqual([f"{e.json_path}: {e.message[:200]}" for e in validator.iter_errors(got)], [])
        self.counters = got["counters"]
        rows = [{"launches": k["launches"], "duration_ns": k["duration_ns"]} | k["in_trace"] for k in got["counters"]["kernels"] if k["name"] == name]
        return sorted(rows, key=lambda row: row["places"])

    def test_a_whole_step(self) -> None:
        """Two of three take 100 µs, and one 300: two answers, each with its own counters and its own time."""
        two, one = self.told([launch(A, 110, 60), launch(B, 60), launch(A, 330, 90), launch(C, 60), launch(A, 111, 60)])
        self.assertEqual([(k["order"], k["places"], k["places_of"], k["launches"]) for k in (two, one)],
                         [("sequence", [1, 3], 3, 2), ("sequence", [2], 3, 1)])
        self.assertEqual([(k["calls_per_step"], k["step_ns"]) for k in (two, one)], [(2, 200_000), (1, 300_000)])
        self.assertEqual([(k["calls"], k["total_ns"]) for k in (two, one)], [(2 * STEPS, 200_000 * STEPS), (STEPS, 300_000 * STEPS)])
        self.assertEqual([k["most_saved_ns"] for k in (two, one)], [80_000, 30_000])
        self.assertEqual([k["slower"] for k in (two, one)], [1.1, 1.1])
        self.assertEqual(self.counters["trace_time_pct"], 100)

    def test_a_part_of_a_step(self) -> None:
        """--launch-skip 1 --launch-count 2: what was not measured is not counted."""
        one, = self.told([launch(B, 60), launch(A, 330, 90)])
        self.assertEqual((one["order"], one["places"], one["step_ns"], one["most_saved_ns"]), ("sequence", [2], 300_000, 30_000))
        self.assertAlmostEqual(self.counters["trace_time_pct"], 100 * 350 / 600, 2)

    def test_over_the_end_of_a_step(self) -> None:
        one, = self.told([launch(C, 60), launch(A, 110), launch(A, 110)])
        self.assertEqual((one["order"], one["places"], one["launches"]), ("sequence", [1, 3], 2))

    def test_one_launch_alone(self) -> None:
        """--kernel-name A --launch-count 1: it may be any of three, and nothing is made of its counters."""
        one, = self.told([launch(A, 330, 90)])
        self.assertEqual((one["order"], one["places"], one["most_saved_ns"], one["slower"]), ("unknown", [], None, None))
        self.assertIn("several places", one["order_unknown"])
        words = " ".join(run("report", *self.paths((STEP,) * STEPS, [[launch(A, 330)]]), env={"COLUMNS": "80"})[1].decode().split())
        self.assertIn("its launches in a step take 100 µs to 300 µs, and which of them was measured cannot be told: "
                      "several places of a step fit", words)
        self.assertNotIn("shorter", words)

    def test_by_durations(self) -> None:
        """Three launches of it alone, in any of the three orders: one of them takes three times as long."""
        for us in ((110, 330, 110), (330, 112, 110), (110, 112, 333)):
            two, one = self.told([launch(A, t) for t in us])
            self.assertEqual([(k["order"], k["places"], k["duration_ns"] < 200_000) for k in (two, one)],
                             [("durations", [1, 3], True), ("durations", [2], False)], us)

    def test_durations_that_do_not_fit(self) -> None:
        one, = self.told([launch(A, 200), launch(A, 205), launch(A, 210)])
        self.assertEqual((one["order"], one["launches"]), ("unknown", 3))

    def test_alike(self) -> None:
        """Launches that take alike need no order."""
        one, = self.told([launch(A, 110)], (((A, 100), (B, 50), (A, 120)),) * STEPS)
        self.assertEqual((one["order"], one["most_saved_ns"]), ("alike", 44_000))

    def test_kernels_that_are_not_in_the_trace(self) -> None:
        one, = self.told([launch(B, 60), launch("mine(int)", 5), launch(A, 330, 90)])
        self.assertEqual((one["order"], one["places"]), ("sequence", [2]))

    def test_another_order(self) -> None:
        """B and C the other way round: no place of a step fits, and A alone may be any."""
        one, = self.told([launch(C, 60), launch(A, 330), launch(B, 60)])
        self.assertEqual(one["order"], "unknown")

    def test_steps_that_differ(self) -> None:
        """C runs in every other step; of A alone the order is the same in all of them."""
        without = tuple(k for k in STEP if k[0] != C)
        two, one = self.told([launch(A, 110), launch(B, 60), launch(A, 330), launch(A, 110), launch(C, 60)], (STEP, without) * 2)
        self.assertEqual([(k["order"], k["places"]) for k in (two, one)], [("durations", [1, 3]), ("durations", [2])])
        varying = [STEP, (*STEP, (A, 300)), STEP, (*STEP, (A, 300), (A, 300))]
        one, = self.told([launch(A, 330), launch(B, 60)], varying)
        self.assertEqual(one["order"], "unknown")
        self.assertIn("do not launch the same kernels", one["order_unknown"])

    def test_two_reports(self) -> None:
        """Each begins where it begins."""
        two, one = self.told([launch(B, 60), launch(A, 330)], (STEP,) * STEPS, [launch(C, 60), launch(A, 110)])
        self.assertEqual([(k["order"], k["places"], k["launches"]) for k in (two, one)], [("sequence", [1, 3], 1), ("sequence", [2], 1)])

    def test_no_launches_in_the_trace(self) -> None:
        one, = self.told([launch(B, 60), launch(A, 330)], linked=False)
        self.assertEqual((one["match"], one["order"]), ("exact", "unchecked"))

    def test_a_capture_without_steps(self) -> None:
        kernels = tuple((A, 100 if k % 2 else 300) for k in range(7)) + ((B, 50), (A, 300), (A, 300))
        two = self.told([launch(B, 60), launch(A, 330)], (kernels,), marks=False)
        self.assertEqual([k["order"] for k in two], ["sequence"])
        one, = self.told([launch(A, 330), launch(A, 110), launch(B, 60)], (kernels,), marks=False)
        self.assertIn("contradict each other", one["order_unknown"], "before B it is the other way round")

    def test_words(self) -> None:
        paths = self.paths((STEP,) * STEPS, [[launch(B, 60), launch(A, 330, 90)]])
        words = " ".join(run("report", *paths, env={"COLUMNS": "80"})[1].decode().split())
        self.assertIn("1 launch per step, 300 µs (15 % of a step); launch 2 of 3 of this shape in a step, by the order of launches", words)

    def test_very_many(self) -> None:
        """Every place fits, and there are thousands: it ends, and says so."""
        steps = (tuple((A, 1 if k % 2 else 2) for k in range(900)),) * 3
        one, = self.told([launch(A, 3) for _ in range(4000)], steps)
        self.assertEqual(one["order"], "unknown")


if __name__ == "__main__":
    unittest.main()
