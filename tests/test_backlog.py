# SPDX-License-Identifier: Apache-2.0
"""A loop captured in the middle of its life: one step time, and prices that a full queue does not change."""
from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.backlog_job import Job, period_us, write
from tests.program import SHARED, report, run, skip_loudly

JOBS = {
    "full queue": Job(),
    "steps of nearly a queue": Job(kernels=900, steps=3),
    "steps of a seventh of a queue": Job(kernels=150, steps=2),
    "one step": Job(steps=1),
    "a queue that fills": Job(slots=10**6, idle_first=True),
    "a backlog that grows": Job(slots=10**6, first=3),
    "not drained": Job(drained=False),
    "a sync in each step": Job(sync=True),
    "a loader that is hidden": Job(load_us=4000),
    "bound by the host": Job(kernel_us=8, host_us=30),
    "bound by the host and its loader": Job(kernel_us=8, host_us=30, load_us=5000),
}


def gain(before: Job, after: Job) -> float:
    return 100 * (1 - period_us(after) / period_us(before))


class Captured(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "t.json"

    def edit(self, path: Path, edit: str) -> float:
        status, out, err = run("whatif", path, "-e", edit, "--json")
        self.assertEqual(status, 0, err)
        return json.loads(out)["edits"][0]["gain_pct"]

    def test_there_is_one_step_time_and_it_is_true(self) -> None:
        for name, job in JOBS.items():
            with self.subTest(name):
                rank = report(write(job, self.path))["ranks"][0]
                true_ns = 1000 * period_us(job)
                for value in (rank["steps"]["mean_ns"], rank["step_breakdown"]["step_ns"], rank["replay"]["measured_step_ns"]):
                    self.assertAlmostEqual(value, true_ns, delta=0.005 * true_ns)

    def test_kernels_twice_as_fast(self) -> None:
        """Half the step where the GPU is the limit, until the host is; nothing where the host is."""
        for name, job in JOBS.items():
            with self.subTest(name):
                write(job, self.path)
                self.assertAlmostEqual(self.edit(self.path, "kernel:*x2"), gain(job, job.with_(kernel_us=job.kernel_us / 2)), delta=1)

    def test_a_host_that_waits_for_a_queue_gains_nothing(self) -> None:
        for name, job in JOBS.items():
            if "bound" not in name:
                with self.subTest(name):
                    write(job, self.path)
                    self.assertAlmostEqual(self.edit(self.path, "host=0"), 0, delta=0.5)
                    if job.load_us:
                        self.assertAlmostEqual(self.edit(self.path, "data=0"), 0, delta=0.5)

    def test_operators_behind_a_full_queue(self) -> None:
        """A fifth of the kernels goes with its operators, also of the work in front, whose operators nobody recorded."""
        trace = json.loads(write(Job(), self.path).read_text())
        operators = [e for e in trace["traceEvents"] if e["name"] == "aten::mm"]
        for event in operators[::5]:
            event["name"] = "aten::extra"
        self.path.write_text(json.dumps(trace))
        self.assertAlmostEqual(self.edit(self.path, "op:aten::extra=0"), 20, delta=1)

    def test_the_loader_of_a_job_bound_by_its_host(self) -> None:
        job = JOBS["bound by the host and its loader"]
        write(job, self.path)
        self.assertAlmostEqual(self.edit(self.path, "data=0"), gain(job, job.with_(load_us=0)), delta=1)

    def test_nothing_of_the_steps_ran(self) -> None:
        """A window shorter than the backlog, and a profiler that does not wait: no answer, and how to get one."""
        job = Job(kernels=150, steps=3, drained=False)
        said = report(write(job, self.path))
        self.assertAlmostEqual(said["ranks"][0]["steps"]["mean_ns"], 1000 * period_us(job), delta=10_000 * period_us(job) / 1000)
        self.assertEqual((said["findings"], said["verdict"]["confidence"]), ([], "low"))
        self.assertIn("launched before", said["verdict"]["text"])
        self.assertNotIn("saves 1 %", said["verdict"]["text"])
        text = " ".join(run("report", self.path)[1].decode().split())
        self.assertIn("torch.cuda.synchronize()", text)

    def test_what_differs_is_said(self) -> None:
        text = " ".join(run("report", write(JOBS["a queue that fills"], self.path))[1].decode().split())
        self.assertIn("host marks are", text)
        self.assertNotIn("host marks are", run("report", write(JOBS["full queue"], self.path))[1].decode())


class Real(unittest.TestCase):
    """Files whose header and replay had two step times."""

    def test_of_other_peoples_jobs(self) -> None:
        files = {"tl-mi300-resnet-ckpt/resnet_act_checkpoint.json.gz": 18.8, "hta-negq/rank0.json.gz": 215.4,
                 "hta-trace-diff/test.json.gz": 117.7, "hta-ns-resolution/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz": 96.0}
        for name, ms in files.items():
            path = SHARED / "traces/kineto" / name
            if not path.exists():
                skip_loudly(f"{name} is not present")
                continue
            with self.subTest(name):
                rank: dict[str, Any] = report(path)["ranks"][0]
                for value in (rank["steps"]["mean_ns"], rank["replay"]["measured_step_ns"]):
                    self.assertAlmostEqual(value / 1e6, ms, delta=0.05)


if __name__ == "__main__":
    unittest.main()
