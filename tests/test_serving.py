# SPDX-License-Identifier: Apache-2.0
"""Passes of serving engines by phase: what their names say, the GPU's gap before each, graph replays."""
from __future__ import annotations

import json
import re
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import SHARED, report, run, skip_loudly
from tests.test_traps import kernel, launch, x

US = 1000
# Of a real decode pass of vLLM: the launch of its graph takes 39 µs of the host, the graph holds 400 kernels.
GRAPH_CALL, IN_GRAPH = 39, 40


class Engine:
    """Passes one behind the other; `gap`: µs from the end of the GPU's work to the beginning of that of the next pass."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.at = 1000.0
        self.number = 0

    def graph(self, name: str, us: int, gap: int, pause: int = 0) -> Engine:
        """The host waits for the tokens, then works for the gap."""
        self.at += pause
        begin, self.number = self.at + gap, self.number + 1
        self.events += [x("user_annotation", name, 1, 1, begin - 50, us + 50), launch("cudaGraphLaunch", begin - GRAPH_CALL, GRAPH_CALL, self.number)]
        self.events += [kernel(f"layer_{k % 4}", begin + k * us / IN_GRAPH, us / IN_GRAPH, self.number) for k in range(IN_GRAPH)]
        self.at = begin + us
        return self

    def eager(self, name: str, kernels: int, us: float, gap: int) -> Engine:
        begin = self.at + gap
        self.events.append(x("user_annotation", name, 1, 1, begin - 50, kernels * us + 50))
        for k in range(kernels):
            self.number += 1
            self.events += [launch("cudaLaunchKernel", begin + k * us - 20, 5, self.number), kernel(f"k{k % 5}", begin + k * us, us, self.number)]
        self.at = begin + kernels * us
        return self

    def ask(self, *options: str) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            path.write_text(json.dumps({"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "traceEvents": self.events}))
            if options:
                return " ".join(run("report", path, *options, env={"COLUMNS": "80"})[1].decode().split())
            return report(path)["ranks"][0]["serving"]


def classes(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["phase"]: row for row in rows}


class Names(unittest.TestCase):
    def batch(self, name: str) -> tuple:
        engine = Engine()
        for _ in range(4):
            engine.graph(name, 2000, 100)
        row, = engine.ask()
        return row["phase"], row["prompts"], row["prompt_tokens"], row["sequences"], row["tokens"], row["context_tokens"]

    def test_what_they_say(self) -> None:
        """All forms that vLLM, SGLang and TensorRT-LLM write; null is what a name leaves out."""
        for name, said in (
            ("execute_context_2(1024)_generation_30(30)", ("mixed", 2, 1024, 30, 30, None)),
            ("execute_context_0(0)_generation_7(7)", ("decode", 0, 0, 7, 7, None)),
            ("execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)", ("decode", 0, 0, 32, 32, 55086)),
            ("execute_15360_context_15(sq15360sk15360sqsq15728640sqsk15728640)_generation_0(sq0sk0sqsq0sqsk0)", ("prefill", 15, 15360, 0, 0, 0)),
            ("execute_new_2_cached_30", ("mixed", 2, None, 30, None, None)),
            ("execute_new_0_cached_30", ("decode", 0, None, 30, None, None)),
            ("step[EXTEND bs=15 toks=15360]", ("prefill", 15, 15360, 0, 0, None)),
            ("step[DECODE bs=32]", ("decode", 0, 0, 32, 32, None)),
            ("step[TARGET_VERIFY bs=8]", ("decode", None, None, None, None, None)),
            ("step[MIXED bs=8]", ("mixed", None, None, None, None, None)),
            ("step[MIXED bs=8 c=2 g=6 c_sq=512 c_sk=512 c_sqsq=9 c_sqsk=9 g_sq=6 g_sk=4096 g_sqsq=6 g_sqsk=4096]", ("mixed", 2, 512, 6, 6, 4096)),
            ("[Executor] _forward_step 12: 2 ctx reqs, 30 gen reqs", ("mixed", 2, None, 30, None, None)),
            ("[Executor] _forward_step: 2 ctx reqs, 0 gen reqs", ("prefill", 2, None, 0, 0, None)),
            ("[Executor] _forward_step 60000: 0 ctx reqs, 0 ctx tokens, 32 gen reqs", ("decode", 0, 0, 32, None, None)),
            ("[Executor] _forward_step 7: 3 ctx reqs, 512 ctx tokens, 0 gen reqs", ("prefill", 3, 512, 0, 0, None)),
            ("[Executor] _forward_step 8: 0 ctx reqs, 0 gen reqs", ("other", 0, 0, 0, 0, None)),
        ):
            with self.subTest(name):
                self.assertEqual(self.batch(name), said)


class Passes(unittest.TestCase):
    def test_classes(self) -> None:
        """Two prefills, then decode: each has its tokens, its mean and its gap."""
        engine = Engine().graph("step[EXTEND bs=4 toks=4000]", 20_000, 300).graph("step[EXTEND bs=4 toks=2000]", 10_000, 300)
        for _ in range(20):
            engine.graph("step[DECODE bs=32]", 4000, 1000)
        rows = classes(engine.ask())
        self.assertEqual((rows["prefill"]["passes"], rows["decode"]["passes"]), (2, 20))
        self.assertEqual((rows["prefill"]["prompts"], rows["prefill"]["prompt_tokens"], rows["decode"]["sequences"]), (4, 3000, 32))
        decode = rows["decode"]
        self.assertEqual((decode["gap_ns"], decode["graph_pct"], decode["graph_passes"], decode["launches"]), (1000 * US, 100, 20, 1))
        self.assertAlmostEqual(decode["mean_ns"], 5000 * US, delta=50 * US)
        self.assertAlmostEqual(decode["gap_pct"], 20, delta=0.2)
        self.assertAlmostEqual(decode["tokens_per_s"], 6400, delta=64, msg="32 tokens each 5 ms")
        words = engine.ask("--view", "overview")
        self.assertIn("decode: the GPU rests for 1.00 ms before each pass (20 % of it)", words)
        self.assertEqual(rows["prefill"]["mean_ns"] // US // 1000, 15, "a long first prompt is no warm-up")
        self.assertNotIn("prefill: the GPU rests", words)
        self.assertRegex(words, r"at most that much shorter, from 6,4\d\d to 8,0\d\d tokens/s while such passes run", "32 tokens each 4 ms")

    def test_overlapped(self) -> None:
        """Prepared while the GPU works: nothing to say."""
        engine = Engine()
        for _ in range(20):
            engine.graph("step[DECODE bs=32]", 4000, 20)
        self.assertEqual(engine.ask()[0]["gap_ns"], 20 * US)
        self.assertNotIn("the GPU rests", engine.ask("--view", "overview"))

    def test_pauses(self) -> None:
        """An engine without requests waits for them: that is no cost of a pass."""
        engine = Engine()
        for k in range(20):
            engine.graph("step[DECODE bs=1]", 4000, 100, pause=500_000 if k == 10 else 0)
        row, = engine.ask()
        self.assertEqual((row["pauses"], row["gap_ns"]), (1, 100 * US))

    def test_without_graphs(self) -> None:
        engine = Engine()
        for _ in range(6):
            engine.eager("execute_context_0(0)_generation_8(8)", 300, 10, 50)
        row, = engine.ask()
        self.assertEqual((row["launches"], row["graph_pct"], row["graph_passes"]), (300, 0, 0))
        words = engine.ask("--view", "overview")
        self.assertIn("decode: 0.0 % of kernel time comes out of graphs, and a pass takes 300 launches", words)
        self.assertIn("--enforce-eager", words)

    def test_prompts_need_no_graphs(self) -> None:
        engine = Engine()
        for _ in range(6):
            engine.eager("step[EXTEND bs=8 toks=8000]", 300, 100, 50)
        self.assertNotIn("comes out of graphs", engine.ask("--view", "overview"))

    def test_other_jobs(self) -> None:
        engine = Engine()
        for k in range(6):
            engine.graph("ProfilerStep#%d" % k, 4000, 100)
        self.assertEqual(engine.ask(), [])
        self.assertNotIn("SERVING", engine.ask("--view", "overview"))


class Prices(unittest.TestCase):
    """What a fix saves of each phase: the same replay, its steps sorted."""

    def findings(self, engine: Engine) -> dict[str, dict[str, Any]]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            path.write_text(json.dumps({"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "traceEvents": engine.events}))
            return {f["id"]: f for f in report(path)["findings"]}

    def test_one_phase(self) -> None:
        """The gap of 500 µs in a pass of 3.5 ms; half of the work launched while the host is late."""
        engine = Engine()
        for _ in range(12):
            engine.eager("step[DECODE bs=32]", 300, 10, 500)
        found = self.findings(engine)["launch-bound"]
        said = re.search(r"By phase: decode ([\d.]+) ms → ([\d.]+) ms a pass \(([\d,]+) → ([\d,]+) tokens/s\)\.$", found["statement"])
        self.assertTrue(said, found["statement"])
        now, then = float(said[1]), float(said[2])
        self.assertAlmostEqual(100 * (1 - then / now), found["gain_pct"], delta=0.5)
        self.assertAlmostEqual(int(said[3].replace(",", "")), 32_000 / now, delta=32)
        self.assertAlmostEqual(int(said[4].replace(",", "")), 32_000 / then, delta=32)

    def test_two_phases(self) -> None:
        """Gaps of 1 ms before passes of decode, and of 300 µs before prefill: each phase has its own price, and they add up."""
        engine = Engine()
        for _ in range(3):
            engine.graph("step[EXTEND bs=4 toks=4000]", 20_000, 300)
            for _ in range(8):
                engine.graph("step[DECODE bs=32]", 4000, 1000)
        found = self.findings(engine)["unrecorded"]
        said = {phase: (float(share), float(now), float(then)) for share, phase, now, then in
                re.findall(r"([\d.]+) % of the gain: (\w+) ([\d.]+) ms → ([\d.]+) ms a pass", found["statement"])}
        self.assertEqual(sorted(said), ["decode", "prefill"])
        self.assertAlmostEqual(said["decode"][0] + said["prefill"][0], 100, delta=1)
        saved = {phase: now - then for phase, (_, now, then) in said.items()}
        self.assertLess(saved["decode"], 1.01)
        mean = (3 * saved["prefill"] + 24 * saved["decode"]) / 27
        self.assertAlmostEqual(mean, (found["step_before_ns"] - found["step_after_ns"]) / 1e6, delta=0.06)

    def test_other_jobs(self) -> None:
        engine = Engine()
        for k in range(12):
            engine.eager(f"ProfilerStep#{k}", 300, 10, 500)
        self.assertNotIn("By phase", self.findings(engine)["launch-bound"]["statement"])


class Real(unittest.TestCase):
    def test_of_both_engines(self) -> None:
        """Facts that stand in the names of the passes and in the calls of the traces."""
        folder = SHARED / "traces/kineto"
        for name, expected in (("tl-vllm-decode/graph_execution.json.gz", ("decode", 32, 55086, 5)),
                               ("tl-sglang-prefilldecode/sglang_Qwen3-8B_prefilldecode.json.gz", ("prefill", 0, 0, 527))):
            if not (folder / name).exists():
                skip_loudly(f"{name} is not present")
                self.skipTest("no such file")
            row, = report(folder / name)["ranks"][0]["serving"]
            self.assertEqual((row["phase"], row["sequences"], row["context_tokens"], row["launches"]), expected)


if __name__ == "__main__":
    unittest.main()
