# SPDX-License-Identifier: Apache-2.0
"""Numbers and limits that are easy to change by accident: each trace lies just on one side of what docs/whatif.md says."""
from __future__ import annotations

import json
import re
import statistics
import tempfile
import unittest
from pathlib import Path

from tests.host_traces import MS, Recording
from tests.program import OWN, report, run
from tests.test_traps import kernel, launch, x

STEPS, STEP = 6, 10_000     # us
UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}
PAGEABLE, PINNED = "Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pinned -> Device)"


def spread_in(line: str) -> float:
    """The ns behind the ± of a line."""
    number, unit = re.search(r"± +([0-9.]+) (ns|µs|ms|s)\b", line).groups()
    return float(number) * UNITS[unit]


class Scatter(unittest.TestCase):
    """Behind ± stands the standard deviation of a sample: n - 1."""

    def near(self, seen: float, values: list[float]) -> None:
        """To the three digits that are printed; with n instead of n - 1 it would be 8 % less for six steps."""
        self.assertAlmostEqual(seen, statistics.stdev(values), delta=0.006 * statistics.stdev(values))

    def test_headline_and_parts_of_real_steps(self) -> None:
        checked = 0
        for path in OWN:
            rank = report(path)["ranks"][0]
            steps = [s for s in rank["steps"]["list"] if not s["is_warm_up"] and not s["is_incomplete"]]
            if len(steps) < 2 or rank["steps"]["counted"] != len(steps):
                continue
            text = run("report", path)[1].decode()
            with self.subTest(trace=path.parent.name + "/" + path.name):
                durations = [s["duration_ns"] for s in steps]
                self.assertAlmostEqual(rank["steps"]["stddev_ns"], statistics.stdev(durations), delta=1)
                self.near(spread_in(next(line for line in text.splitlines() if "per step (±" in line)), durations)
                for label, key in (("Communication", "communication_ns"), ("DataLoader", "data_loader_ns"), ("CPU Exec", "cpu_exec_ns")):
                    line = [line for line in text.splitlines() if line.startswith(f"  {label}  ")]
                    if line and statistics.stdev(s[key] for s in steps) > 0:
                        self.near(spread_in(line[0]), [s[key] for s in steps])
                        checked += 1
        self.assertGreaterEqual(checked, 6)

    def test_of_the_device(self) -> None:
        """Kernels of 100, 200, 300 and 600 us: 216.0, not 187.1."""
        busy = [100, 200, 300, 600]
        events = [e for k, d in enumerate(busy) for e in (
            x("user_annotation", f"ProfilerStep#{k}", 1, 1, 1000 * k, 1000), launch("cudaLaunchKernel", 1000 * k + 10, 5, k + 1),
            kernel("k", 1000 * k + 20, d, k + 1))]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            path.write_text(json.dumps({"traceEvents": events}))
            text = run("report", path)[1].decode()
        line = next(line for line in text.splitlines() if line.startswith("  compute  "))
        self.assertAlmostEqual(spread_in(line), 216_000, delta=600)


class Breakdown(unittest.TestCase):
    def test_mpi_is_communication(self) -> None:
        """Of each step of 10 ms the host is in MPI for 3: not executing, whatever the call's name."""
        recording = Recording(1000 * MS)
        recording.process(1, "solver")
        t = recording.thread(1)
        for k in range(STEPS):
            with t.range(f"ProfilerStep#{k}"):
                t.runs(7 * MS)
                t.mpi("MPI_Allreduce", 3 * MS, bytes=8192, count=1024)
        with tempfile.TemporaryDirectory() as folder:
            rank = report(recording.write(Path(folder) / "rank0.pftrace"))["ranks"][0]
        self.assertEqual(rank["steps"]["counted"], STEPS)
        parts = rank["step_breakdown"]["categories"]
        self.assertEqual((parts["communication_ns"], parts["cpu_exec_ns"], parts["other_ns"]), (3 * MS, 0, 7 * MS))

    def test_parts_of_the_device(self) -> None:
        """Of each step of 1,000 us a kernel takes 200 beside which 50 are copied, a copy 80 and a set 30 while nothing else runs."""
        events = []
        for k in range(STEPS):
            at, c = 1000 * k, 4 * k + 1
            events += [x("user_annotation", f"ProfilerStep#{k}", 1, 1, at, 1000), x("cpu_op", "aten::mm", 1, 1, at, 700),
                       launch("cudaLaunchKernel", at + 10, 5, c), kernel("k", at + 100, 200, c),
                       launch("cudaMemcpyAsync", at + 20, 5, c + 1), kernel(PINNED, at + 150, 50, c + 1, 8, "gpu_memcpy", bytes=1000),
                       launch("cudaMemcpyAsync", at + 30, 5, c + 2), kernel(PINNED, at + 400, 80, c + 2, 8, "gpu_memcpy", bytes=1000),
                       launch("cudaMemsetAsync", at + 40, 5, c + 3), kernel("Memset (Device)", at + 500, 30, c + 3, 8, "gpu_memset", bytes=1000)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            path.write_text(json.dumps({"traceEvents": events}))
            said = report(path)["ranks"][0]["step_breakdown"]
        us = {key: said[key] // 1000 for key in ("compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns")}
        self.assertEqual(us, {"compute_ns": 200, "exposed_comm_ns": 0, "exposed_copy_ns": 110, "idle_ns": 690})
        parts = {key: ns // 1000 for key, ns in said["categories"].items()}
        self.assertEqual(parts, {"kernel_ns": 200, "memcpy_ns": 80, "memset_ns": 30, "communication_ns": 0, "runtime_ns": 20, "data_loader_ns": 0,
                                 "cpu_exec_ns": 700 - 20 - 200 - 80 - 30, "other_ns": 300})


class Gates(unittest.TestCase):
    """What nominates a finding, on both sides of its limit."""

    def findings(self, events: list[dict]) -> dict[str, dict]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            path.write_text(json.dumps({"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}], "traceEvents": events}))
            said = report(path)
        self.assertEqual(said["ranks"][0]["steps"]["count"], STEPS)
        return {f["id"]: f for f in said["findings"]}

    def copies(self, *copies: tuple[str, int]) -> dict[str, dict]:
        """Each step: a kernel of 5 ms, then copies of some us for which the host waits, then 4 ms of the host's own work."""
        events, c = [], 0
        for k in range(STEPS):
            at = STEP * k
            events += [x("user_annotation", f"ProfilerStep#{k}", 1, 1, at, STEP), launch("cudaLaunchKernel", at + 10, 5, c + 1),
                       kernel("k", at + 20, 5000, c + 1)]
            host, device, c = at + 30, at + 5022, c + 1
            for name, length in copies:
                c += 1
                events += [launch("cudaMemcpyAsync", host, device + length + 5 - host, c),
                           kernel(name, device, length, c, cat="gpu_memcpy", bytes=1_000_000)]
                host, device = device + length + 6, device + length + 2
            events.append(x("cpu_op", "aten::normal_", 1, 1, host + 10, at + STEP - 10 - host))
        return self.findings(events)

    def test_copies_count_from_half_a_percent_on(self) -> None:
        self.assertIn("copy-bound", self.copies((PAGEABLE, 60)))
        self.assertNotIn("copy-bound", self.copies((PAGEABLE, 40)))

    def test_the_copy_that_takes_most_is_named(self) -> None:
        for pageable, pinned in ((900, 200), (200, 900)):
            said = self.copies((PAGEABLE, pageable), (PINNED, pinned))["copy-bound"]
            self.assertIn(PAGEABLE if pageable > pinned else PINNED, said["evidence"][0])

    def launches(self, host: int) -> dict[str, dict]:
        """Each step: an operator of `host` us that launches at its end a kernel for the rest, for which the host waits."""
        events = []
        for k in range(STEPS):
            at, c = STEP * k, 2 * k + 1
            events += [x("user_annotation", f"ProfilerStep#{k}", 1, 1, at, STEP), x("cpu_op", "aten::mm", 1, 1, at, host),
                       launch("cudaLaunchKernel", at + host - 10, 5, c), kernel("k", at + host, STEP - host - 10, c),
                       launch("cudaStreamSynchronize", at + host + 5, STEP - host - 6, c + 1)]
        return self.findings(events)

    def test_the_host_counts_from_a_fifth_of_the_critical_path_on(self) -> None:
        self.assertIn("launch-bound", self.launches(2300))
        self.assertNotIn("launch-bound", self.launches(1700))


if __name__ == "__main__":
    unittest.main()
