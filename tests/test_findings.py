# SPDX-License-Identifier: Apache-2.0
"""What a finding says: one unit to a number, sentences that agree with each other, and an interval that ends where nothing more
can be gained.  Jobs are written here, a few operators and kernels a step."""
from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import OWN, ROOT, SANITIZED, real_traces, report, run, skip_loudly

TIME = re.compile(r"\d (?:s|ms|µs)\b")
UNIT = re.compile(r"per step|in the whole capture|per call|a step would|a step of all ranks|the longest |of it ")
NAMES = ("ProfilerStep#%d", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")


class Job:
    """A trace that grows: host slices, and device work with the call that launched it; times in µs."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.calls = 0

    def host(self, category: str, name: str, ts: float, dur: float, **args: Any) -> None:
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": args})

    def device(self, category: str, name: str, call: tuple[str, float, float], ts: float, dur: float, **args: Any) -> None:
        self.calls += 1
        self.host("cuda_runtime", *call, correlation=self.calls)
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur,
                            "args": {"correlation": self.calls, "device": 0, "stream": 7, **args}})

    def kernel(self, name: str, launched: float, ts: float, dur: float, rows: int = 64, grid: int = 8) -> None:
        self.host("cpu_op", "aten::mm", launched, 20, **{"Input Dims": [[rows, 512]], "Input type": ["c10::BFloat16"]})
        self.device("kernel", name, ("cudaLaunchKernel", launched + 4, 8), ts, dur, grid=[grid, 4, 1], block=[128, 1, 1])

    def wait(self, ts: float, end: float, name: str = "cudaDeviceSynchronize") -> None:
        self.calls += 1
        self.host("cuda_runtime", name, ts, end - ts, correlation=self.calls)

    def ask(self) -> dict[str, dict[str, Any]]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "job.json"
            path.write_text(json.dumps({"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}],
                                        "traceEvents": self.events}))
            return {f["id"]: f for f in report(path)["findings"]}


def sequences(length_of: Any, time_of: Any, steps: int = 9, kernels: int = 8) -> Job:
    """Steps of `kernels` products; what they are of and how long they take depends on the step."""
    job, at = Job(), 0
    for step in range(steps):
        length, end = length_of(step), at + 80
        for k in range(kernels):
            job.kernel("ampere_bf16_s16816gemm", at + 5 + 6 * k, end, time_of(step), length, length // 64)
            end += time_of(step) + 2
        job.wait(at + 60, end + 20)
        job.host("user_annotation", NAMES[0] % step, at, end + 60 - at)
        at = end + 60
    return job


def sentences(finding: dict[str, Any]) -> list[str]:
    return [finding["statement"], *finding["evidence"]]


class Causes(unittest.TestCase):
    def test_longer_sequences_are_no_lower_clock(self) -> None:
        """From the fifth step on, rows of 768 instead of 512, in half as long again."""
        said = sequences(lambda s: 512 if s < 4 else 768, lambda s: 1000 if s < 4 else 1500).ask()
        self.assertNotIn("throttling", said)

    def test_a_lower_clock_is(self) -> None:
        """From the fourth step on the same products take 1300 µs instead of 1000: six of nine steps lose 300 of 1300 each."""
        said = sequences(lambda _: 512, lambda s: 1000 if s < 3 else 1300).ask()["throttling"]
        lost = 100 * 6 * 300 / (3 * 1000 + 6 * 1300)
        self.assertAlmostEqual(said["gain_pct"], lost, delta=0.8)
        self.assertTrue(said["gain_low_pct"] <= lost <= said["gain_high_pct"] + 0.5)
        self.assertEqual(said["confidence"], "low")
        self.assertIn("30 % longer", said["statement"])

    def test_copies_of_both_kinds_are_exposed(self) -> None:
        """Five steps: 2 ms pageable and 1 ms pinned, both while no kernel runs; a third copy runs beside the kernel."""
        job = Job()
        for s in range(5):
            t = 10000 * s
            job.device("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", ("cudaMemcpyAsync", t + 90, 2020), t + 100, 2000, bytes=9000000)
            job.device("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", ("cudaMemcpyAsync", t + 2400, 9), t + 2500, 1000, bytes=9000000)
            job.kernel("ampere_bf16_s16816gemm", t + 4000, t + 4100, 5000)
            job.events.append({"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 9,
                               "ts": t + 5000, "dur": 1000, "args": {"bytes": 9000000, "device": 0, "stream": 9}})
            job.wait(t + 4200, t + 9110)
            job.host("user_annotation", NAMES[0] % s, t, 10000)
        said = job.ask()["copy-bound"]
        self.assertIn("take 20.0 ms in the whole capture; 15.0 ms of it is exposed (no kernel runs)", said["statement"])
        self.assertIn("10.0 ms of it is from pageable memory", said["statement"])
        self.assertIn("Pinned -> Device): 10.0 ms in the whole capture; 5.00 ms of it is exposed", " ".join(said["evidence"]))

    def test_a_loader_is_told_in_one_unit(self) -> None:
        """5 of 10 ms a step; the device, which has nothing to do meanwhile, waits for no longer than that in a step."""
        job = Job()
        for s in range(6):
            t = 10000 * s
            job.host("user_annotation", NAMES[1], t + 10, 5000)
            job.kernel("ampere_bf16_s16816gemm", t + 5050, t + 5100, 4700)
            job.wait(t + 5110, t + 9810, "cudaStreamSynchronize")
            job.host("user_annotation", NAMES[0] % s, t, 10000)
        said = job.ask()["data-loading"]
        self.assertIn("5.00 ms per step (50 %)", said["statement"])
        self.assertEqual(said["evidence"][:1], ["the GPU is idle for 5.00 ms per step while the host waits there"])
        self.assertLessEqual(said["gain_high_pct"], 50.05)      # all of the loader, and no more

    def test_of_nothing_that_is_left_no_cause_is_said(self) -> None:
        """One collective is the whole trace: without it nothing is left, and no class is most of that."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "job.json"
            path.write_text(json.dumps({"traceEvents": [
                {"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "pid": 1, "tid": 1, "ts": 0, "dur": 1000, "args": {}}]}))
            whole = report(path)
            text = run("report", "-q", "--view", "why", path)[1].decode()
        self.assertEqual(whole["ranks"][0]["replay"]["ladder"][0]["step_after_ns"], 0)
        self.assertIsNone(whole["replay"]["binds_next"])
        self.assertIsNone(whole["replay"]["binds_next_pct"])
        self.assertEqual(whole["ranks"][0]["replay"]["binds_next"], "–")
        self.assertNotIn("data loader", text.split("the step is mostly")[-1].splitlines()[0])

    def test_threads_at_once_are_no_more_than_a_step(self) -> None:
        """Four threads take device memory at the same time, each for 6 of 10 ms."""
        job = Job()
        for s in range(5):
            t = 10000 * s
            for thread in range(1, 5):
                job.host("cuda_runtime", "cudaMalloc", t + 100, 6000)
                job.events[-1]["tid"] = thread
            job.kernel("ampere_bf16_s16816gemm", t + 6200, t + 6300, 3000)
            job.wait(t + 6400, t + 9310)
            job.host("user_annotation", NAMES[0] % s, t, 10000)
        said = job.ask()["allocator"]
        self.assertIn("6.00 ms per step (60 %)", said["statement"])
        self.assertIn("4 such calls per step", said["evidence"])


class Everywhere(unittest.TestCase):
    """Over all traces that are at hand."""

    def check_interval(self, said: dict[str, Any], loss: bool) -> None:
        low, gain, high = said["gain_low_pct"], said["gain_pct"], said["gain_high_pct"]
        self.assertLessEqual(high, 100.001)
        self.assertLessEqual(low, high)
        if gain is not None:
            self.assertTrue(low - 0.002 <= gain <= high + 0.002, said)
        if not loss:
            self.assertGreaterEqual(low, 0)
            self.assertLessEqual(high, said["gain_free_pct"] + 0.002)

    def test_findings_and_edits(self) -> None:
        here = sorted(ROOT.glob("tests/data/pairs/*.gz")) + OWN + real_traces()
        edits = [w for e in ("data=0", "host=0", "launch=graph", "comm=overlap", "copy=async", "sync=0", "kernel:*x0.5") for w in ("-e", e)]
        for path in sorted(here, key=lambda p: p.stat().st_size)[: 12 if SANITIZED else 40]:
            with self.subTest(trace=path.name):
                for finding in report(path)["findings"]:
                    self.check_interval(finding, False)
                    for text in sentences(finding):
                        if TIME.search(text):
                            self.assertRegex(text, UNIT)
                status, out, _ = run("whatif", path, "--json", "-q", *edits)
                for edit in json.loads(out)["edits"] if status == 0 else []:
                    self.check_interval(edit, True)

    def test_ranks_together(self) -> None:
        job = ROOT / "tests/data/pairs/straggler-4"
        if not job.exists():
            skip_loudly("tests/data/pairs/straggler-4 is not present")
            return
        whole = report(job)
        for finding in whole["findings"]:
            self.check_interval(finding, False)
        status, out, err = run("whatif", job, "--json", "-q", "-e", "straggler=0", "-e", "hiccups=0", "-e", "network=0", "-e", "host=0")
        self.assertEqual(status, 0, err)
        for edit in json.loads(out)["edits"]:
            self.check_interval(edit, True)


class Types(unittest.TestCase):
    """Time per step and time in all cannot be mistaken for each other: such a program does not compile."""
    RIGHT = "return hu_is_share_of_step(hu_spread(sum, 5), 0.1, step) && hu_pct_of_all(sum, sum) > 0;"
    WRONG = {
        "compared": "return sum > step;",
        "a sum as a share of a step": "return hu_pct_of_step(sum, step) > 0;",
        "a step as a share of a sum": "return hu_is_share_of_all(step, 0.1, sum);",
        "added": "return (sum + step).ns > 0;",
        "assigned": "step = sum; return step.ns > 0;",
        "a sum said per step": "return hu_say_per_step(sum, 1).t[0];",
        "a step said in all": "return hu_say_in_all(step).t[0];",
        "a number without a unit": "return hu_pct_of_step(3e6, step) > 0;",
    }

    def compiles(self, body: str) -> bool:
        text = '#include <stdbool.h>\n#include "advise/amount.h"\nint f(hu_ns_per_step step, hu_ns_in_all sum);\n' \
               'int f(hu_ns_per_step step, hu_ns_in_all sum)\n{\n    (void)step;\n    (void)sum;\n    ' + body + "\n}\n"
        done = subprocess.run(["cc", "-std=gnu17", "-D_GNU_SOURCE", "-fsyntax-only", "-I", str(ROOT / "src"), "-x", "c", "-"],
                              input=text.encode(), capture_output=True, check=False, timeout=60)
        return done.returncode == 0

    @unittest.skipUnless(shutil.which("cc"), "no compiler")
    def test_units_do_not_mix(self) -> None:
        self.assertTrue(self.compiles(self.RIGHT))
        for what, body in self.WRONG.items():
            with self.subTest(what=what):
                self.assertFalse(self.compiles(body))


if __name__ == "__main__":
    unittest.main()
