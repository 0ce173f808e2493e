# SPDX-License-Identifier: Apache-2.0
"""Causes that strike every few steps, or once in the window: found in any of its steps, and priced over all of them."""
from __future__ import annotations

import json
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.program import report


class Job:
    """A host that launches and a GPU that works its queue off in order; times in us.  What waits for the GPU says so."""

    def __init__(self) -> None:
        self.now, self.free, self.last = 1000.0, 0.0, 0
        self.out: list[dict[str, Any]] = []

    def put(self, cat: str, name: str, start: float, dur: float, tid: int = 1, **args: Any) -> None:
        self.out.append({"ph": "X", "cat": cat, "name": name, "pid": 0 if tid == 7 else 1, "tid": tid, "ts": round(start, 3), "dur": round(dur, 3),
                         "args": args})

    def within(self, cat: str, name: str, body: Callable[[], None], **args: Any) -> None:
        began = self.now
        body()
        self.put(cat, name, began, self.now - began, **args)

    def call(self, name: str, us: float) -> None:
        self.last += 1
        self.put("cuda_runtime", name, self.now, us, correlation=self.last)
        self.now += us

    def launch(self, us: float, name: str = "kernel", copy: bool = False) -> None:
        start = max(self.now + 8, self.free + 1.5)
        self.call("cudaMemcpyAsync" if copy else "cudaLaunchKernel", 5)
        where: dict[str, Any] = {"device": 0, "stream": 7, "correlation": self.last}
        if copy:
            self.put("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", start, us, 7, bytes=int(us * 10000), **where)
        else:
            self.put("kernel", name, start, us, 7, grid=[64, 1, 1], block=[256, 1, 1], **where)
        self.free = start + us

    def wait(self) -> None:
        began, self.now = self.now, max(self.now + 3, self.free + 6)
        self.last += 1
        self.put("cuda_runtime", "cudaStreamSynchronize", began, self.now - began, correlation=self.last)

    def operator(self, name: str, us: float, gap: float = 10) -> None:
        self.now += gap
        self.within("cpu_op", name, lambda: self.launch(us))

    def steps(self, count: int, body: Callable[[int], None]) -> list[float]:
        """When each ended: the later of host and GPU."""
        ends = [self.now]
        for step in range(count):
            self.within("user_annotation", f"ProfilerStep#{step}", lambda step=step: body(step))
            ends.append(max(self.now, self.free))
        return ends

    def write(self, folder: Path) -> Path:
        path = folder / "trace.json"
        path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}], "traceEvents": self.out}))
        return path


def ask(count: int, body: Callable[[Job, int], None]) -> tuple[dict[str, Any], float]:
    job = Job()
    ends = job.steps(count, lambda step: body(job, step))
    with tempfile.TemporaryDirectory() as folder:
        return report(job.write(Path(folder))), (ends[-1] - ends[0]) / count


def found(said: dict[str, Any]) -> list[str]:
    return [f["id"] for f in said["findings"]]


def product(job: Job, count: int, us: float) -> None:
    for place in range(count):
        job.operator(f"aten::op{place % 3}", us)


class Rare(unittest.TestCase):
    def both(self, count: int, rare: Callable[[Job, int], None], usual: Callable[[Job, int], None]) -> tuple[dict[str, Any], float]:
        said, before = ask(count, lambda job, step: (usual(job, step), rare(job, step)) and None)
        return said, 100 * (1 - ask(count, usual)[1] / before)

    def test_a_checkpoint_of_a_job_that_is_ahead(self) -> None:
        """The host is ahead, waits for the GPU and copies; the GPU's time is that of the copies, and of the write behind them."""
        def save(job: Job) -> None:
            for _ in range(6):
                job.launch(500, copy=True)
                job.wait()
            job.now += 1500

        def rare(job: Job, step: int) -> None:
            if step % 4 == 3:
                job.within("user_annotation", "save_checkpoint", lambda: save(job))

        said, gain = self.both(8, rare, lambda job, _: product(job, 40, 160))
        self.assertTrue(said["replay"]["is_trusted"], said["replay"])
        self.assertEqual(found(said)[:1], ["io-stall"])
        # written later, the file is copied all the same, from pinned memory as here; without the file nothing is
        self.assertLess(said["findings"][0]["gain_pct"], gain)
        self.assertAlmostEqual(said["findings"][0]["gain_high_pct"], gain, delta=2)
        self.assertNotIn("host-sync", found(said))

    def test_in_the_first_step_too(self) -> None:
        """What comes back is no warm-up, and what writes a file is none even where it does not."""
        for steps in (9, 3):
            def rare(job: Job, step: int) -> None:
                if step % 3 == 0:
                    job.within("python_function", "torch/serialization.py(849): save", lambda: setattr(job, "now", job.now + 6000))

            said, gain = self.both(steps, rare, lambda job, _: (product(job, 10, 200), job.wait()) and None)
            with self.subTest(steps=steps):
                self.assertEqual([s["is_warm_up"] for s in said["ranks"][0]["steps"]["list"]], [False] * steps)
                self.assertEqual(found(said)[:1], ["io-stall"])
                self.assertAlmostEqual(said["findings"][0]["gain_pct"], gain, delta=3)

    def test_a_start_is_still_a_start(self) -> None:
        def rare(job: Job, step: int) -> None:
            job.now += 6000 if step == 0 else 0

        said, _ = self.both(6, rare, lambda job, _: (product(job, 10, 200), job.wait()) and None)
        self.assertTrue(said["ranks"][0]["steps"]["list"][0]["is_warm_up"])

    def test_pauses_of_one_length(self) -> None:
        """A collector that nobody recorded runs in every third step; in one step alone it may be anything."""
        def usual(job: Job, _: int) -> None:
            for place in range(30):
                job.within("cpu_op", f"aten::op{place % 7}", lambda: setattr(job, "now", job.now + 150))
                job.now += 6

        for steps, named in ((range(1, 9, 3), ["unrecorded"]), (range(1, 2), [])):
            def rare(job: Job, step: int, steps: range = steps) -> None:
                job.now += 480 if step in steps else 0

            with self.subTest(steps=steps):
                said, gain = self.both(9, rare, usual)
                self.assertEqual(found(said), named)
                if named:
                    self.assertAlmostEqual(said["findings"][0]["gain_pct"], gain, delta=0.5)
                    self.assertEqual(said["findings"][0]["confidence"], "low")

    def test_a_line_of_a_log(self) -> None:
        """Python's own writes are input and output by their names, however short."""
        write = "<built-in method write of _io.TextIOWrapper object at 0x7f1c5c3b5a40>"
        said, gain = self.both(6, lambda job, _: job.within("python_function", write, lambda: setattr(job, "now", job.now + 150)),
                               lambda job, _: (product(job, 20, 120), job.wait()) and None)
        self.assertIn("io-stall", found(said))
        first = next(f for f in said["findings"] if f["id"] == "io-stall")
        self.assertAlmostEqual(first["gain_pct"], gain, delta=1)
        self.assertIn("TextIOWrapper", first["statement"])


class Trials(unittest.TestCase):
    def cold(self, name: str, first: Callable[[Job], None]) -> None:
        """In the second step, so that it is no warm-up; its price is that of the first call."""
        def usual(job: Job, _: int) -> None:
            for _ in range(4):
                job.operator(name, 300)
            product(job, 6, 200)
            job.wait()

        def body(job: Job, step: int) -> None:
            if step == 0:
                product(job, 10, 240)
                job.wait()
                return
            if step == 1:
                job.within("cpu_op", name, lambda: first(job))
            usual(job, step)

        said, before = ask(6, body)
        after = ask(6, lambda job, step: body(job, step + 2 if step == 1 else step))[1]
        names = found(said)
        self.assertIn(names[0], ("cold-start", "warm-up"), said["findings"][:2])
        self.assertAlmostEqual(said["findings"][0]["gain_pct"], 100 * (1 - after / before), delta=4)

    def test_algorithms_are_tried(self) -> None:
        def trial(job: Job) -> None:
            for _ in range(20):
                job.launch(900, "cudnn_trial")
                job.wait()

        self.cold("aten::cudnn_convolution", trial)

    def test_a_communicator_is_made(self) -> None:
        def connect(job: Job) -> None:
            for _ in range(30):
                job.call("cudaFuncGetAttributes", 20)
                job.now += 900

        self.cold("c10d::allreduce_", connect)

    def test_a_pause_is_no_trial(self) -> None:
        with self.assertRaises(AssertionError):
            self.cold("aten::cudnn_convolution", lambda job: setattr(job, "now", job.now + 18000))


if __name__ == "__main__":
    unittest.main()
