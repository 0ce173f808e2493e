# SPDX-License-Identifier: Apache-2.0
"""What a cause is worth beside another one: each step is written here, a few launches, waits and pauses, and the gain worked out
next to it.  Times in µs."""
from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import report, run
from tests.test_findings import NAMES, Job

MULTI = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


class Steps(Job):
    """A job of one thread, written from left to right."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.free, self.step = 0.0, 0.0, -1
        self.began = 0.0

    def mark(self) -> None:
        if self.step >= 0:
            self.host("user_annotation", NAMES[0] % self.step, self.began, self.now - self.began)
        self.step, self.began = self.step + 1, self.now

    def launches(self, number: int, host: float, device: float, name: str = "ampere_bf16_s16816gemm", cost: float = 8) -> None:
        """Each after `host` of an operator; its kernel begins 2 behind the call's end, or when the stream is free."""
        for _ in range(number):
            start = max(self.now + host + cost + 2, self.free)
            self.host("cpu_op", "aten::mm", self.now, host + cost)
            self.device("kernel", name, ("cudaLaunchKernel", self.now + host, cost), start, device, grid=[64, 4, 1], block=[128, 1, 1])
            self.now, self.free = self.now + host + cost + 1, start + device + 1

    def back_to_back(self, number: int, period: float, device: list[float], latency: float) -> None:
        """Calls without anything between them, which arrive `latency` behind their begin; the device needs 1 between two kernels."""
        for k in range(number):
            start = max(self.now + latency, self.free + 1)
            self.device("kernel", "elementwise_kernel", ("cudaLaunchKernel", self.now, period), start, device[k % len(device)],
                        grid=[64, 4, 1], block=[128, 1, 1])
            self.now, self.free = self.now + period, start + device[k % len(device)]

    def item(self) -> None:
        """A number is read: the host waits for all before it."""
        start = max(self.now + 12, self.free)
        self.device("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", ("cudaMemcpyAsync", self.now, 8), start, 2, bytes=4)
        self.wait(self.now + 9, start + 6, "cudaStreamSynchronize")
        self.now, self.free = start + 7, start + 3

    def range(self, category: str, name: str, length: float) -> None:
        self.host(category, name, self.now, length)
        self.now += length

    def asked(self, path: Path) -> dict[str, Any]:
        path.write_text(json.dumps({"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}], "traceEvents": self.events}))
        return report(path)


class Prices(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "t.json"

    def found(self, job: Steps) -> dict[str, dict[str, Any]]:
        return {f["id"]: f for f in job.asked(self.path)["findings"]}

    def gain(self, edit: str) -> float:
        status, out, err = run("whatif", self.path, "-e", edit, "--json")
        self.assertEqual(status, 0, err)
        gain: float = json.loads(out)["edits"][0]["gain_pct"]
        return gain

    def launching(self, period: float, device: list[float], latency: float, steps: int = 8, number: int = 200) -> Steps:
        job = Steps()
        for _ in range(steps):
            job.mark()
            job.back_to_back(number, period, device, latency)
        job.mark()
        return job

    def replay(self, job: Steps) -> dict[str, Any]:
        facts: dict[str, Any] = job.asked(self.path)["ranks"][0]["replay"]
        return facts

    def test_gaps_of_a_host_that_launches_without_a_pause_are_not_the_devices(self) -> None:
        """Each kernel of 3 begins 24 behind its call and 5 behind the kernel before, because calls take 9: with 1.5 between kernels
        that is half of the time, with 1 it is 56 %, and with the 4 that it might be it is 22 %."""
        job = self.launching(9, [3], 24)
        said = self.found(job)["launch-bound"]
        self.assertAlmostEqual(said["gain_pct"], 50, delta=1)
        self.assertLess(said["gain_low_pct"], 22)
        self.assertGreater(said["gain_high_pct"], 56)
        self.assertRegex(" ".join(said["evidence"]), "is not seen: 1.50 µs per call in the price, 0 to 4.00 µs in its interval")
        self.assertRegex(said["evidence"][0], "the price: 700 ns each, as in a CUDA graph")
        facts = self.replay(job)
        self.assertEqual((facts["launch_latency_ns"], facts["gap_ns"]), (24000, 1500))

    def test_a_gap_that_could_be_all_of_the_time_leaves_an_interval_from_nothing(self) -> None:
        said = self.found(self.launching(6, [3], 19))["launch-bound"]
        self.assertEqual(said["gain_low_pct"], 0)
        self.assertGreater(said["gain_high_pct"], 30)

    def test_gaps_of_kernels_that_were_there_are_the_devices(self) -> None:
        """Kernels of 30 wait for each other; those of 3 behind them do not wait for their calls either, until the queue is empty."""
        job = self.launching(9, [30, 3, 3, 3], 19)
        self.assertEqual(self.replay(job)["gap_ns"], 1000)
        self.assertNotIn("launch-bound", self.found(job))

    def test_launches_that_take_long_now_and_then_are_no_queue(self) -> None:
        """From 24 to 36 behind the call, so that hardly a stream is idle at one; what is above the usual stays behind the fix."""
        job = Steps()
        for step in range(8):
            job.mark()
            for k in range(200):
                job.back_to_back(1, 15, [3], 24 + (k * 7 + step) % 13)
        job.mark()
        said = self.found(job)["launch-bound"]
        self.assertEqual(self.replay(job)["gap_ns"], 1500)
        self.assertGreater(said["gain_pct"], 60)
        self.assertLess(said["gain_pct"], 71)

    def capturing(self, operators: int) -> list[str]:
        """A capture of 40 for each operator, then memory that is allocated anew, for 400 of the 3000 of a step."""
        job = Steps()
        for _ in range(6):
            job.mark()
            job.range("cuda_runtime", "cudaStreamBeginCapture", 5)
            for _ in range(operators):
                job.range("cpu_op", "aten::mm", 34)
                job.range("cuda_runtime", "cudaLaunchKernel", 6)
            job.range("cuda_runtime", "cudaStreamEndCapture", 30)
            job.range("cuda_runtime", "cudaMalloc", 400)
            job.launches(20, 20, 100)
            job.wait(job.now, job.free + 5)
            job.now = job.free + 6
        job.mark()
        return [f["id"] for f in job.asked(self.path)["findings"]]

    def test_a_capture_that_is_nearly_all_is_told_first(self) -> None:
        self.assertEqual(self.capturing(400)[0], "graph-capture")
        few = self.capturing(20)
        self.assertIn("graph-capture", few)
        self.assertEqual((few[0], few[-1]), ("allocator", "graph-capture"))

    def loading(self, waits: dict[int, float], steps: int = 9) -> Steps:
        """30 launches a step take 1770 of the host and 930 of the device; before them a fetch, which waits in some steps."""
        job = Steps()
        for step in range(steps):
            job.mark()
            job.range("user_annotation", MULTI, waits.get(step, 50))
            job.launches(30, 50, 30)
        job.mark()
        return job

    def test_workers_deliver_at_their_pace_from_the_first_step_to_the_last(self) -> None:
        """Waits of 1500 in every second step: the batches come each 2570 in the mean, however fast the host is; the first is
        there at once."""
        found = self.found(self.loading({3: 1500, 5: 1500, 7: 1500}))
        self.assertGreater(found["data-loading"]["gain_pct"], 10)
        self.assertLess(self.gain("launch=0"), 6)

    def test_waits_without_a_rhythm_are_doubt(self) -> None:
        said = self.found(self.loading({2: 900, 7: 400}))["launch-bound"]
        self.assertEqual((said["confidence"], said["gain_low_pct"]), ("low", 0))
        self.assertIn("workers", said["evidence"][-1])
        self.assertEqual(self.found(self.loading({}))["launch-bound"]["confidence"], "medium")

    def test_numbers_that_a_slow_host_reads(self) -> None:
        """Without the waits the host still needs 8 x 330 for the numbers; without the numbers the device's 3000 remain."""
        job = Steps()
        for _ in range(6):
            job.mark()
            for _ in range(8):
                job.launches(4, 20, 60)
                job.item()
                job.now += 300
        job.mark()
        said = self.found(job)["host-sync"]
        self.assertGreater(said["gain_high_pct"], said["gain_pct"] + 15)

    def test_an_operator_that_is_slow_now_and_then_is_no_host_work(self) -> None:
        """Of 30 operators a step one takes 600 instead of 50, in three of five steps and not at the same place."""
        job = Steps()
        for step in range(5):
            job.mark()
            if step % 2 == 0:
                job.launches(4 + 5 * step, 50, 30)
                job.launches(1, 600, 30)
                job.launches(25 - 5 * step, 50, 30)
            else:
                job.launches(30, 50, 30)
        job.mark()
        self.assertNotIn("host-work", self.found(job))

    def test_what_gets_a_launch_ready_behind_a_wait_is_no_use_of_it(self) -> None:
        """The first operator behind each wait takes 180, the others 50: launching, all of it."""
        job = Steps()
        for _ in range(6):
            job.mark()
            job.launches(1, 180, 30)
            job.launches(29, 50, 30)
            job.item()
        job.mark()
        self.assertNotIn("host-work", self.found(job))

    def paused(self, name: str) -> Steps:
        """In every second step the profiler gets itself a buffer within a launch, for 5000; each step of 3000 reads a number."""
        job = Steps()
        for step in range(6):
            job.mark()
            if step % 2 == 1:
                job.events.append({"ph": "X", "cat": "overhead", "name": name, "pid": -1, "tid": 0, "ts": job.now + 6, "dur": 4995})
                job.launches(1, 5, 10, "fill", 5000)
            job.launches(20, 5, 150)
            job.item()
        job.mark()
        return job

    def test_the_profilers_pause_is_all_its_own(self) -> None:
        job = self.paused("Activity Buffer Request")
        found = self.found(job)
        self.assertAlmostEqual(found["profiler-artefact"]["gain_pct"], 100 * 3 * 5000 / job.now, delta=2)
        self.assertNotIn("cold-start", found)
        self.assertLess(found.get("host-sync", {"gain_pct": 0})["gain_pct"], 5)     # not what the queue would hide of the pauses

    def test_a_name_that_was_never_quick_is_cold(self) -> None:
        """The first step launches one name four times, 2000 each: several kernels under one name."""
        job = Steps()
        for step in range(6):
            job.mark()
            if step == 0:
                job.launches(4, 5, 10, "fill", 2000)
            job.launches(20, 5, 150)
            job.item()
        job.mark()
        self.assertAlmostEqual(self.found(job)["cold-start"]["gain_pct"], 100 * 8000 / job.now, delta=2)

    def saving(self, name: str) -> Steps:
        """Every third step, the first among them, copies 2 x 1000 to the host under some frame and writes for 2000."""
        job = Steps()
        for step in range(7):
            job.mark()
            if step % 3 == 0:
                since = job.now
                for _ in range(2):
                    start = max(job.now + 10, job.free)
                    job.device("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", ("cudaMemcpyAsync", job.now, start + 1004 - job.now),
                               start, 1000, bytes=8_000_000)
                    job.now, job.free = start + 1005, start + 1001
                job.now += 2000
                job.host("python_function", name, since, job.now - since)
            job.launches(20, 20, 150)
        job.mark()
        return job

    def test_a_first_step_like_a_later_one_is_no_warm_up(self) -> None:
        steps = self.saving("torch/serialization.py(849): save").asked(self.path)["ranks"][0]["steps"]
        self.assertEqual(steps["counted"], 7)

    def test_no_checkpoint_copies_nothing(self) -> None:
        """What stays of a step is its 20 kernels: 3020."""
        job = self.saving("torch/serialization.py(849): save")
        said = self.found(job)["io-stall"]
        self.assertAlmostEqual(self.gain("io=0"), 100 * (1 - 3020 / (said["step_before_ns"] / 1000)), delta=2)
        self.assertGreater(self.gain("io=0"), said["gain_pct"] + 3)     # later, it is still copied

    def test_a_module_writes_no_file(self) -> None:
        self.assertNotIn("io-stall", self.found(self.saving("nn.Module: CheckpointWrapper_3")))

    def test_an_engines_first_pass_is_no_step(self) -> None:
        """Passes of 3030, and 1000 of the engine's own between them, which the first does not show."""
        job = Steps()
        for k in range(6):
            since = job.now
            job.launches(20, 5, 150)
            job.host("user_annotation", "execute_context_0(0)_generation_4(4)", since, job.now - since)
            job.item()
            if k < 5:
                job.range("python_function", "engine.py(7): detokenize", 1000)
        rank = job.asked(self.path)
        self.assertAlmostEqual(rank["ranks"][0]["steps"]["mean_ns"] / 1000, (job.now - since) + 1000, delta=60)
        self.assertTrue(rank["replay"]["is_trusted"])


if __name__ == "__main__":
    unittest.main()
