# SPDX-License-Identifier: Apache-2.0
"""Serving engines name their steps; layers are none, and what is outside of steps is not left unsaid."""
from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import SHARED, report, skip_loudly
from tests.test_traps import kernel, launch, x

PREFILL = "execute_1024_context_2(sq1024sk1024sqsq1sqsk1)_generation_0(sq0sk0sqsq0sqsk0)"
DECODE = "execute_8_context_0(sq0sk0sqsq0sqsk0)_generation_8(sq8sk{}sqsq8sqsk8)"
MIXED = "execute_40_context_1(sq32sk32sqsq1sqsk1)_generation_8(sq8sk9sqsq8sqsk8)"


def said(events: list[dict[str, Any]]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.json"
        path.write_text(json.dumps({"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "traceEvents": events}))
        return report(path)


def engine(names: list[tuple[str, int]], layers: int = 6) -> list[dict[str, Any]]:
    """Each step of so many µs: layers of equal kernels, the last of which ends with it."""
    events, at, number = [], 0, 0
    for name, length in names:
        events.append(x("user_annotation", name, 1, 1, at, length - 2))
        for k in range(layers):
            number += 1
            begin = at + 20 + k * (length - 20) // layers
            events += [launch("cudaLaunchKernel", begin - 10, 5, number), kernel(f"layer_{k % 2}", begin, (length - 60) // layers, number)]
        at += length
    return events


class Engines(unittest.TestCase):
    def test_names_that_differ_each_time_are_steps_of_two_kinds(self) -> None:
        steps = said(engine([(PREFILL, 9000)] + [(DECODE.format(k), 1000) for k in range(8)] + [(MIXED, 4000)]))["ranks"][0]["steps"]
        self.assertEqual((steps["source"], steps["count"]), ("annotation", 10))
        self.assertEqual((steps["decode_steps"], steps["mixed_steps"]), (8, 1))
        self.assertAlmostEqual(steps["decode_mean_ns"], 1e6, delta=2e4)

    def test_of_sglang(self) -> None:
        steps = said(engine([("step[EXTEND bs=4 toks=512]", 3000)] * 3 + [("step[DECODE bs=4]", 3000)] * 4))["ranks"][0]["steps"]
        self.assertEqual((steps["count"], steps["prefill_steps"], steps["decode_steps"]), (7, 3, 4))

    def test_of_diffusion(self) -> None:
        steps = said(engine([(f"execute_diffusion_{k}_steps", 3000) for k in range(4)]))["ranks"][0]["steps"]
        self.assertEqual((steps["count"], steps["prefill_steps"], steps["decode_steps"]), (4, 0, 0))

    def test_layers_of_one_pass_are_no_steps(self) -> None:
        events = engine([("execute_model", 40_000)], layers=60)
        steps = said(events)["ranks"][0]["steps"]
        self.assertEqual(steps["count"], 1)
        self.assertAlmostEqual(steps["mean_ns"], 4e7, delta=1e5)

    def test_what_repeats_in_a_part_of_the_capture_says_so(self) -> None:
        """Layers without any annotation, then as long again without GPU work."""
        events = [e for e in engine([("", 40_000)], layers=60) if e["cat"] != "user_annotation"]
        for e in events:
            if e["cat"] == "kernel":
                k = (e["args"]["correlation"] - 1) % 5
                e["name"] = f"part_{k}"
        events.append(x("cpu_op", "aten::wait", 1, 1, 41_000, 40_000))
        whole = said(events)
        if whole["ranks"][0]["steps"]["count"]:
            self.assertRegex(whole["verdict"]["text"], r"Outside of what repeats, in .* the GPU is idle for")

    def test_marks_that_overlap_by_a_nanosecond_are_steps(self) -> None:
        events = engine([("train_step", 3000)] * 6)
        for e in events:
            if e["cat"] == "user_annotation":
                e["dur"] = 3000.001
        steps = said(events)["ranks"][0]["steps"]
        self.assertEqual((steps["source"], steps["count"], round(steps["mean_ns"] / 1e6, 1)), ("annotation", 6, 3.0))

    def test_real(self) -> None:
        for name, kind, ms in (("tl-sglang-prefilldecode/sglang_Qwen3-8B_prefilldecode.json.gz", "prefill", 987.4),
                               ("tl-sglang-decode/sglang_Qwen3-8B_decode.json.gz", "decode", 473.8),
                               ("tl-vllm-decode/graph_execution.json.gz", "decode", 19.1)):
            path = SHARED / "traces/kineto" / name
            if not path.exists():
                skip_loudly(f"{name} is not present")
                continue
            with self.subTest(name):
                steps = report(path)["ranks"][0]["steps"]
                self.assertEqual((steps["count"], steps[f"{kind}_steps"]), (1, 1))
                self.assertAlmostEqual(steps["mean_ns"] / 1e6, ms, delta=0.1)


if __name__ == "__main__":
    unittest.main()
