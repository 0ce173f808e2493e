# SPDX-License-Identifier: Apache-2.0
"""Numbers and limits that are easy to change by accident: each trace lies just on one side of what docs/whatif.md says."""
from __future__ import annotations

import json
import math
import re
import statistics
import tempfile
import unittest
from pathlib import Path

from tests.host_traces import MS, Recording
from tests.program import OWN, ROOT, report, run
from tests.test_joint import Job
from tests.test_traps import kernel, launch, x

STEPS, STEP = 6, 10_000     # us
UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
PAGEABLE, PINNED = "Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pinned -> Device)"


def spread_in(line: str) -> float:
    """The ns behind the ± of a line."""
    number, unit = re.search(r"± +([0-9.]+) (ns|µs|ms|s)\b", line).groups()
    return float(number) * UNITS[unit]


def of_gpu(ts: float, dur: float, correlation: int) -> dict:
    return kernel("k", ts, dur, correlation)


def said(events: list[dict]) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.json"
        path.write_text(json.dumps({"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}], "traceEvents": events}))
        return report(path)


class Scatter(unittest.TestCase):
    """Behind ± stands the standard deviation of a sample: n - 1."""

    def near(self, seen: float, values: list[float], share: float = 0.006) -> None:
        """To the three digits that are printed; with n instead of n - 1 it would be 8 % less for six steps."""
        self.assertAlmostEqual(seen, statistics.stdev(values), delta=share * statistics.stdev(values))

    def test_headline_and_parts_of_real_steps(self) -> None:
        checked = 0
        for path in OWN:
            rank = report(path)["ranks"][0]
            steps = [s for s in rank["steps"]["list"] if not s["is_warm_up"] and not s["is_incomplete"]]
            if len(steps) < 2 or rank["steps"]["counted"] != len(steps):
                continue
            text = run("report", path)[1].decode()
            with self.subTest(trace=path.parent.name + "/" + path.name):
                durations = [s["period_ns"] for s in steps]
                self.assertAlmostEqual(rank["steps"]["stddev_ns"], statistics.stdev(durations), delta=1)
                self.near(spread_in(next(line for line in text.splitlines() if "per step (±" in line)), durations)
                for label, key in (("Communication", "communication_ns"), ("DataLoader", "data_loader_ns"), ("CPU Exec", "cpu_exec_ns")):
                    line = [line for line in text.splitlines() if line.startswith(f"  {label}  ")]
                    if line and statistics.stdev(s[key] for s in steps) > 0:
                        # of periods, which hold the few us between two marks as well
                        self.near(spread_in(line[0]), [s[key] for s in steps], 0.01)
                        checked += 1
        self.assertGreaterEqual(checked, 6)

    def test_of_the_device(self) -> None:
        """Kernels of 100, 200, 300 and 600 us: 216.0, not 187.1; copies of 40 to 70: 12.9."""
        busy = [100, 200, 300, 600]
        events = [e for k, d in enumerate(busy) for e in (
            x("user_annotation", f"ProfilerStep#{k}", 1, 1, 1000 * k, 1000), launch("cudaLaunchKernel", 1000 * k + 10, 5, k + 1),
            kernel("k", 1000 * k + 20, d, k + 1), launch("cudaMemcpyAsync", 1000 * k + 30, 5, 10 + k),
            kernel(PINNED, 1000 * k + 22 + d, 40 + 10 * k, 10 + k, cat="gpu_memcpy"))]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            path.write_text(json.dumps({"traceEvents": events}))
            text = run("report", path)[1].decode()
        line = next(line for line in text.splitlines() if line.startswith("  compute  "))
        self.assertAlmostEqual(spread_in(line), 216_000, delta=600)
        line = next(line for line in text.splitlines() if line.startswith("  exposed copies  "))
        self.assertAlmostEqual(spread_in(line), 12_910, delta=60)


def read_text(events: list[dict], *arguments: str) -> tuple[dict, str]:
    """The report as JSON, and what the terminal shows, its lines joined."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.json"
        path.write_text(json.dumps({"traceEvents": events}))
        return report(path), " ".join(run("report", path, *arguments)[1].decode().split())


class Marks(unittest.TestCase):
    """A range in each step, which lasts from one to the next: how long the last one is, no next one tells."""

    def steps(self, length: int, kernel: int = 0, name: str = "train_iter", n: int = 6) -> tuple[dict, str]:
        events = []
        for k in range(n):
            events.append(x("user_annotation", name.replace("#", str(k)), 1, 1, 1000 * k, length))
            if kernel:
                events += [launch("cudaLaunchKernel", 1000 * k + 10, 5, k + 1), of_gpu(1000 * k + 20, kernel, k + 1)]
        whole, text = read_text(events)
        return whole["ranks"][0]["steps"], text

    def test_last_one_without_a_next_mark(self) -> None:
        steps, text = self.steps(500)
        self.assertEqual((steps["count"], steps["counted"], steps["mean_ns"], steps["stddev_ns"]), (6, 5, 1_000_000, 0))
        self.assertEqual([s["is_incomplete"] for s in steps["list"]], [False] * 5 + [True])
        self.assertIn("without the last one: its mark ends before the step does", text)

    def test_ranges_that_meet(self) -> None:
        """What lies between is 1 % of a step: the last range is as good as a step."""
        steps, text = self.steps(990)
        self.assertEqual((steps["counted"], steps["mean_ns"]), (6, round((5 * 1_000_000 + 990_000) / 6)))
        self.assertNotIn("without the last one", text)

    def test_work_that_tells_the_end(self) -> None:
        """The GPU works on each step until 20 us into the next: so it does on the last one."""
        steps, text = self.steps(500, kernel=1000)
        self.assertEqual((steps["counted"], steps["mean_ns"]), (6, 1_000_000))
        self.assertNotIn("without the last one", text)

    def test_short_marks_that_count(self) -> None:
        """The host is done with a step after a tenth of it, and numbers them one by one."""
        steps, _ = self.steps(100, name="train step #", n=8)
        self.assertEqual((steps["source"], steps["counted"], steps["mean_ns"]), ("annotation", 7, 1_000_000))
        steps, _ = self.steps(100, name="save_model", n=8)
        self.assertEqual(steps["count"], 0)

    def test_no_part_of_itself(self) -> None:
        """A mark covers the step, and is neither what the host does in it nor work that could be saved."""
        events = []
        for k in range(6):
            events += [x("user_annotation", f"train step {k}", 1, 1, 1000 * k, 980), launch("cudaLaunchKernel", 1000 * k + 700, 5, k + 1),
                       of_gpu(1000 * k + 710, 250, k + 1)]
        whole = read_text(events)[0]
        self.assertEqual(whole["ranks"][0]["step_breakdown"]["categories"]["cpu_exec_ns"], 0)
        self.assertEqual([f for f in whole["findings"] if "train step" in f["statement"] or f["id"] == "host-work"], [])


    def test_a_mark_that_is_the_loader(self) -> None:
        """Where nothing else recurs, steps are found by the loader's range, which is still loading: 600 us of each 1,000."""
        events = [e for k in range(6) for e in (x("user_annotation", LOADER, 1, 1, 1000 * k, 600), launch("cudaLaunchKernel", 1000 * k + 610, 5, k + 1),
                                                of_gpu(1000 * k + 620, 370, k + 1))]
        rank = read_text(events)[0]["ranks"][0]
        self.assertEqual((rank["steps"]["source"], rank["step_breakdown"]["categories"]["data_loader_ns"] // 10_000), ("annotation", 60))
        self.assertEqual(max(rank["idle"]["causes"], key=lambda c: c["time_ns"])["cause"], "data_loader")


class UnknownKinds(unittest.TestCase):
    """Events whose category nobody knows are time of the capture, and have names."""
    WEIRD = [x("weird", "bigwork", 1, 1, 1000 * k, 990) for k in range(100)]

    def test_most_of_the_time(self) -> None:
        whole, text = read_text([*self.WEIRD, x("cpu_op", "aten::add", 1, 2, 50, 10)])
        verdict, parts = whole["verdict"]["text"], whole["ranks"][0]["step_breakdown"]
        self.assertIn("for 99 % of the capture", verdict)
        self.assertIn("bigwork (99.0 ms in 100)", verdict)
        self.assertNotIn("100 %", verdict)
        self.assertEqual((parts["step_ns"], parts["categories"]["cpu_exec_ns"], parts["host_unknown_ns"]), (99_990_000, 10_000, 99 * 1_000_000 - 10_000))
        self.assertIn("no known GPU work", text)

    def test_part_of_the_time(self) -> None:
        """Operators for 700 us of each 1,000, unknown events alone for 200: both are said."""
        events = [e for k in range(20) for e in (x("cpu_op", "aten::add", 1, 1, 1000 * k, 700), x("weird", "upload", 1, 2, 1000 * k + 600, 300))]
        verdict = read_text(events)[0]["verdict"]["text"]
        self.assertRegex(verdict, r"operators take 7\d % of")
        self.assertRegex(verdict, r"For 2\d % of [a-z ]+ there are only events of unknown kinds; most of their time: upload \(6\.00 ms in 20\)")

    def test_beside_a_gpu(self) -> None:
        """What the GPU waits for is an event of an unknown kind, and not nothing."""
        events = [e for k in range(10) for e in (x("weird", "fetch", 1, 2, 1000 * k, 800), launch("cudaLaunchKernel", 1000 * k + 800, 5, k + 1),
                                                 of_gpu(1000 * k + 810, 180, k + 1))]
        whole = read_text(events)[0]
        self.assertIn("the host has only events of unknown kinds", whole["verdict"]["text"])
        self.assertIn("fetch (8.00 ms in 10)", whole["verdict"]["text"])
        self.assertNotIn("unrecorded", [f["id"] for f in whole["findings"]])


class Gate(unittest.TestCase):
    """`holdup check`: what was not recorded is unknown, and neither 0 nor passed."""

    def states(self, events: list[dict], *arguments: str) -> tuple[int, dict[str, str], str]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            path.write_text(json.dumps({"traceEvents": events}))
            status, out, err = run("check", path, "--json", *arguments)
            return status, {row["name"]: row["state"] for row in json.loads(out)["limits"]}, err

    def test_time_of_the_host_that_was_not_recorded(self) -> None:
        marks = [x("user_annotation", "train_iter", 1, 1, 1000 * k, 990) for k in range(6)]
        _, states, _ = self.states(marks)
        self.assertEqual((states["data"], states["comm"]), ("unknown", "unknown"))
        _, states, _ = self.states([*marks, *(x("cpu_op", "aten::mm", 1, 1, 1000 * k + 1, 900) for k in range(6))])
        self.assertEqual((states["data"], states["comm"]), ("pass", "pass"))
        _, states, _ = self.states([*UnknownKinds.WEIRD, x("cpu_op", "aten::add", 1, 2, 50, 10)])
        self.assertEqual((states["data"], states["comm"]), ("unknown", "unknown"))

    def test_copies_where_nothing_would_show_them(self) -> None:
        """Kernels alone: a writer that leaves out calls may leave out copies."""
        kernels = [of_gpu(1000 * k, 900, k + 1) for k in range(6)]
        _, states, _ = self.states(kernels)
        self.assertEqual((states["copies"], states["alloc-calls"]), ("unknown", "unknown"))
        _, states, _ = self.states([*kernels, *(launch("cudaLaunchKernel", 1000 * k - 20, 5, k + 1) for k in range(6))])
        self.assertEqual(states["copies"], "pass")

    def test_exit_status(self) -> None:
        """Of a limit that is named and cannot be told: said, and with --strict a status of its own."""
        marks = [x("user_annotation", "train_iter", 1, 1, 1000 * k, 990) for k in range(6)]
        status, _, err = self.states(marks, "--max", "data=10%")
        self.assertEqual(status, 0)
        self.assertIn("1 of the limits that you named cannot be told", err)
        self.assertEqual(self.states(marks, "--max", "data=10%", "--strict")[0], 4)
        self.assertEqual(self.states(marks, "--strict")[::2], (0, ""))
        self.assertEqual(self.states(marks, "--max", "data=10%", "--max", "step-ms=0.5", "--strict")[0], 1, "a breach is one all the same")


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
        parts = said(events)["ranks"][0]["step_breakdown"]
        us = {key: parts[key] // 1000 for key in ("compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns")}
        self.assertEqual(us, {"compute_ns": 200, "exposed_comm_ns": 0, "exposed_copy_ns": 110, "idle_ns": 690})
        self.assertEqual({key: ns // 1000 for key, ns in parts["categories"].items()}, {
            "kernel_ns": 200, "memcpy_ns": 80, "memset_ns": 30, "communication_ns": 0, "runtime_ns": 20, "data_loader_ns": 0,
            "cpu_exec_ns": 700 - 20 - 200 - 80 - 30, "other_ns": 300})


def host_then_kernel(host: int, *parts: tuple[str, str, int]) -> list[dict]:
    """Each step: `parts` of the host (an operator where there are none) for `host` us, a launch at their end, and a kernel for the
    rest, for which the host waits."""
    events = []
    for k in range(STEPS):
        at, c = STEP * k, 2 * k + 1
        events += [x("user_annotation", f"ProfilerStep#{k}", 1, 1, at, STEP), launch("cudaLaunchKernel", at + host - 10, 5, c),
                   kernel("k", at + host, STEP - host - 10, c), launch("cudaStreamSynchronize", at + host + 5, STEP - host - 6, c + 1)]
        for category, name, length in parts or (("cpu_op", "aten::mm", host),):
            events.append(x(category, name, 1, 1, at, length))
            at += length
    return events


def launches_then_kernel(count: int, host: int) -> list[dict]:
    """Each step: `count` launches of 2 us kernels with `host` us of an operator before each, then a kernel for the rest, for which the
    host waits."""
    events = []
    for k in range(STEPS):
        at, c = STEP * k, 100 * k + 1
        events.append(x("user_annotation", f"ProfilerStep#{k}", 1, 1, at, STEP))
        for n in range(count):
            events += [x("cpu_op", "aten::add", 1, 1, at, host), launch("cudaLaunchKernel", at + host - 10, 5, c + n), kernel("add", at + host, 2, c + n)]
            at += host
        left = STEP * (k + 1) - at
        events += [launch("cudaLaunchKernel", at, 5, c + count), kernel("k", at + 10, left - 20, c + count),
                   launch("cudaStreamSynchronize", at + 8, left - 9, c + count + 1)]
    return events


class Verdict(unittest.TestCase):
    def test_a_tenth_of_the_step_is_what_holds_a_job_up(self) -> None:
        self.assertIn("kernel time dominates", said(host_then_kernel(800))["verdict"]["text"])
        self.assertIn("The GPU is idle for 12 % of each step", said(host_then_kernel(1200))["verdict"]["text"])

    def test_one_cause_is_named_alone_from_half_of_the_idle_time_on(self) -> None:
        for loader, mixed in ((2400, True), (2800, False)):
            text = said(host_then_kernel(5000, ("user_annotation", LOADER, loader), ("cpu_op", "aten::mm", 1500)))["verdict"]["text"]
            self.assertEqual("for several reasons; most often the host waits for the data loader" in text, mixed, text)
            self.assertEqual("% of that time the host waits for the data loader" in text, not mixed, text)


class Gates(unittest.TestCase):
    """What nominates a finding, on both sides of its limit."""

    def findings(self, events: list[dict]) -> dict[str, dict]:
        answer = said(events)
        self.assertEqual(answer["ranks"][0]["steps"]["count"], STEPS)
        return {f["id"]: f for f in answer["findings"]}

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
            finding = self.copies((PAGEABLE, pageable), (PINNED, pinned))["copy-bound"]
            self.assertIn(PAGEABLE if pageable > pinned else PINNED, finding["evidence"][0])

    def test_launching_counts_from_a_fifth_of_the_step_on(self) -> None:
        self.assertIn("launch-bound", self.findings(launches_then_kernel(20, 115)))
        self.assertNotIn("launch-bound", self.findings(launches_then_kernel(20, 85)))

    def test_few_launches_are_no_reason_for_a_graph(self) -> None:
        for count, found in ((11, True), (8, False)):
            self.assertEqual("launch-bound" in self.findings(launches_then_kernel(count, 300)), found)

    def test_one_long_piece_is_work_of_the_host(self) -> None:
        for host in (2300, 5000):
            findings = self.findings(host_then_kernel(host))
            self.assertNotIn("launch-bound", findings)
            self.assertAlmostEqual(findings["host-work"]["gain_pct"], host / 100, delta=2)
            self.assertIn("aten::mm", findings["host-work"]["statement"])

    def test_a_finding_saves_one_percent(self) -> None:
        """A loader of 2.2 % of the step is a finding, one of 0.9 % is not."""
        for length, found in ((220, True), (90, False)):
            findings = self.findings(host_then_kernel(400, ("user_annotation", LOADER, length), ("cpu_op", "aten::mm", 400 - length)))
            self.assertEqual("data-loading" in findings, found)
            if found:
                self.assertAlmostEqual(findings["data-loading"]["gain_pct"], 2.2, delta=0.1)
                self.assertEqual(findings["data-loading"]["confidence"], "medium")  # all checks green, but how many CPUs workers would find is not said

    def test_compiling_is_no_work_of_the_step(self) -> None:
        """Dynamo compiles in each of the steps; running what was compiled is no compiling."""
        for category, name, found in (("user_annotation", "OutputGraph.call_user_compiler (dynamo_timed)", True),
                                      ("python_function", "triton/compiler/compiler.py(226): compile", True),
                                      ("user_annotation", "## Call CompiledFxGraph fal4x ##", False), ("cpu_op", "Torch-Compiled Region: 0/0", False)):
            findings = self.findings(host_then_kernel(3000, (category, name, 3000)))
            self.assertEqual("warm-up" in findings, found, findings.keys())
            self.assertEqual("host-work" in findings, not found)

    def test_a_first_launch_that_loads_code_is_no_launch(self) -> None:
        """3 ms in the launch call of the first step; and as long in the call of another step, for a kernel that was there before."""
        for step, found in ((0, True), (2, False)):
            events = host_then_kernel(4000)
            for e in events:
                if e["name"] == "cudaLaunchKernel" and e["ts"] // STEP == step:
                    e["ts"], e["dur"] = STEP * step + 990, 3000
                if e["name"] == "aten::mm" and e["ts"] // STEP == step:
                    e["dur"] = 3990
            self.assertEqual("cold-start" in self.findings(events), found)

    def test_what_the_host_does_is_priced_apart(self) -> None:
        """The host takes 40 % of the step: garbage collection is one thing, the operator another."""
        for collects in (500, 3500):
            findings = self.findings(host_then_kernel(4000, ("user_annotation", "Python GC", collects), ("cpu_op", "aten::mm", 4000 - collects)))
            self.assertAlmostEqual(findings["python-gc"]["gain_pct"], collects / 100, delta=2)
            self.assertAlmostEqual(findings["host-work"]["gain_pct"], (4000 - collects) / 100, delta=2)

    def test_the_ladder_takes_the_best_first(self) -> None:
        """Without what comes first the host still is the limit, so that the next of the findings is the next rung."""
        steps = host_then_kernel(5500, ("user_annotation", "Python GC", 500), ("cpu_op", "aten::mm", 1500), ("user_annotation", LOADER, 3500))
        replay = said(steps)["ranks"][0]["replay"]
        ladder = replay["ladder"]
        self.assertEqual([rung["id"] for rung in ladder][:2], [f["id"] for f in replay["findings"]][:2])
        self.assertGreater(ladder[0]["step_before_ns"] - ladder[0]["step_after_ns"], ladder[1]["step_before_ns"] - ladder[1]["step_after_ns"])

    def test_the_slack_of_a_name_is_that_of_its_tightest_kernel(self) -> None:
        """Two kernels of a name in each step: for the second the host waits, the first runs beside it with time to spare."""
        events = host_then_kernel(2000)
        for k in range(STEPS):
            events += [launch("cudaLaunchKernel", STEP * k + 1000, 5, 1000 + k), kernel("k", STEP * k + 1010, 500, 1000 + k, stream=20),
                       launch("cudaLaunchKernel", STEP * k + 1100, 5, 2000 + k), kernel("spare", STEP * k + 1110, 400, 2000 + k, stream=21)]
        slack = {row["name"]: row["slack_ns"] for row in said(events)["ranks"][0]["replay"]["slack"]}
        self.assertEqual(slack["k"], 0)
        self.assertGreater(slack["spare"], 1_000_000)


class Checks(unittest.TestCase):
    def check(self, events: list[list[dict]], *arguments: str) -> tuple[int, list[dict]]:
        with tempfile.TemporaryDirectory() as folder:
            for rank, of_rank in enumerate(events):
                (Path(folder) / f"rank{rank}.json").write_text(json.dumps(
                    {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": len(events)}, "traceEvents": of_rank}))
            status, out, _ = run("check", folder, "--only-named", "--json", *arguments)
            return status, json.loads(out)["limits"]

    def test_the_worst_rank_is_judged(self) -> None:
        for order in (1, -1):
            status, checks = self.check([host_then_kernel(host) for host in (1500, 3500)[::order]], "--max", "idle=25%", "--min", "gpu-busy=75%")
            self.assertEqual(status, 1)
            values = {c["name"]: c["value"] for c in checks}
            self.assertAlmostEqual(values["idle"], 35.1, delta=0.2)
            self.assertAlmostEqual(values["gpu-busy"], 64.9, delta=0.2)

    def test_what_is_at_its_limit_passes(self) -> None:
        events = host_then_kernel(2000)
        events += [x("cuda_runtime", "cudaMalloc", 1, 1, STEP * k + 100, 10, correlation=500 + k) for k in range(STEPS)]
        for limit, status in ((STEPS, 0), (STEPS - 1, 1)):
            self.assertEqual(self.check([events], "--max", f"alloc-calls={limit}")[0], status)


class Stragglers(unittest.TestCase):
    def test_who_causes_five_percent_of_the_waiting_is_named(self) -> None:
        """Of forty all-reduces rank 0 comes last in 34, rank 1 in five, rank 2 in one: 85, 12.5 and 2.5 %."""
        late = [0] * 34 + [1] * 5 + [2]
        with tempfile.TemporaryDirectory() as folder:
            for rank in range(3):
                events = []
                for k, last in enumerate(late):
                    start = 2000 * (k + 1) + (500 if rank == last else 0)
                    events.append(kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", start, 2000 * (k + 1) + 600 - start, k + 1, **{
                        "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 64, "Out msg nelems": 64, "Group size": 3,
                        "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2]", "Seq": k}))
                (Path(folder) / f"rank{rank}.json").write_text(json.dumps(
                    {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 3}, "traceEvents": events}))
            answer, text = report(folder), run("report", folder)[1].decode()
        self.assertEqual([(s["rank"], s["last"], s["share_pct"]) for s in answer["stragglers"]], [(0, 34, 85), (1, 5, 12.5)])
        # each time two of the three wait for 500 us: 40 * 2 * 500 / 3
        self.assertRegex(" ".join(text.split()), r"A rank waits 13\.3 ms per step for others")


class Intervals(unittest.TestCase):
    SHARE = {"straggler": 0.10, "balance": 0.15, "hiccups": 0.15, "network": 0.10, "bandwidth": 0.20, "latency": 0.20, "bucket": 0.20}

    def test_of_ranks_together(self) -> None:
        """
        Wide of a share of the gain that depends on the edit, at least half a point, of what the replay misses of the step, and of
        how much the steps differ; and no further than to nothing, or to what can be gained.
        """
        missed, whole = 0.0, 0
        for name in ("straggler", "straggler-4", "hiccups-4", "buckets"):
            joint = report(ROOT / "tests/data/pairs" / name)["joint_replay"]
            error = abs(joint["replayed_step_ns"] / joint["measured_step_ns"] - 1)
            for price in joint["what_if"]:
                gain = price["gain_pct"]
                half = math.hypot(self.SHARE[price["edit"]] * gain, 0.5) + error * abs(gain)
                with self.subTest(job=name, edit=price["edit"]):
                    low = max(gain - half, 0) if gain >= 0 else gain - half
                    self.assertLessEqual(price["gain_low_pct"], low + 0.003)
                    self.assertGreaterEqual(price["gain_high_pct"], gain)
                    whole += price["gain_high_pct"] >= gain + half - 0.003
                missed = max(missed, error * abs(gain))
        self.assertGreater(missed, 0.1)
        self.assertGreater(whole, 5)

    def test_of_ranks_whose_steps_are_alike(self) -> None:
        """Then nothing but the share of the gain and the floor is left."""
        job = Job(1, ranks=3)
        for k in range(job.steps):
            job.compute[k], job.transfer[k], job.loader[k] = job.compute[0], job.transfer[0], [50_000, 50_000, 4_000_000]
        with tempfile.TemporaryDirectory() as name:
            job.write(Path(name))
            joint = report(name)["joint_replay"]
        error, exact = abs(joint["replayed_step_ns"] / joint["measured_step_ns"] - 1), 0
        for price in joint["what_if"]:
            gain = price["gain_pct"]
            half = math.hypot(self.SHARE[price["edit"]] * gain, 0.5) + error * abs(gain)
            with self.subTest(edit=price["edit"]):
                self.assertAlmostEqual(price["gain_low_pct"], max(gain - half, 0) if gain >= 0 else gain - half, delta=0.01)
                self.assertLessEqual(price["gain_high_pct"], gain + half + 0.01)
                exact += price["gain_high_pct"] >= gain + half - 0.01
        self.assertGreater(exact, 3)


class Columns(unittest.TestCase):
    """Each number stands under its own name."""

    def rank(self) -> dict:
        """Ten steps of 1,000 to 1,900 us; in each four kernels of an operator at 10, 20, 30 and 70 us behind their launches, and a copy
        of 80 of which a kernel hides 30."""
        events, at, c = [], 0, 1
        for k in range(10):
            length = 1000 + 100 * (k * 7 % 10)
            events.append(x("user_annotation", f"ProfilerStep#{k}", 1, 1, at, length))
            for i, delay in enumerate((10, 20, 30, 70)):
                start = at + 10 + 200 * i
                events += [x("cpu_op", "aten::mm", 1, 1, start - 5, 20), launch("cudaLaunchKernel", start, 5, c),
                           kernel("k", start + delay, 50 + i, c, grid=[2, 3, 4], block=[32, 4, 2])]
                c += 1
            events += [launch("cudaMemcpyAsync", at + 22, 4, c), kernel(PINNED, at + 40, 80, c, 20, "gpu_memcpy", bytes=8000),
                       launch("cudaStreamSynchronize", at + 800, 5, c + 1), launch("cudaStreamSynchronize", at + 810, 5, c + 2)]
            at, c = at + length, c + 3
        return said(events)["ranks"][0]

    def test_all(self) -> None:
        rank = self.rank()
        durations = [1000 + 100 * (k * 7 % 10) for k in range(10)]
        deciles = statistics.quantiles(durations, n=10, method="inclusive")
        steps = rank["steps"]
        self.assertEqual(steps["counted"], 10)
        for key, us in (("mean_ns", statistics.mean(durations)), ("median_ns", statistics.median(durations)),
                        ("stddev_ns", statistics.stdev(durations)), ("p10_ns", deciles[0]), ("p90_ns", deciles[8])):
            self.assertAlmostEqual(steps[key], 1000 * us, delta=1, msg=key)
        k = rank["kernels"][0]
        self.assertEqual((k["calls"], k["calls_per_step"], k["total_ns"], k["min_ns"], k["max_ns"], k["blocks"], k["threads"]),
                         (40, 4, 10 * (50 + 51 + 52 + 53) * 1000, 50_000, 53_000, 24, 256))
        copy = rank["copies"][0]
        self.assertEqual((copy["calls"], copy["total_ns"], copy["exposed_ns"], copy["bytes"]), (10, 800_000, 10 * (80 - 30) * 1000, 80_000))
        mm = next(o for o in rank["operators"] if o["name"] == "aten::mm")
        self.assertEqual((mm["calls"], mm["calls_per_step"], mm["host_total_ns"]), (40, 4, 800_000))
        delays = sorted([5_000, 15_000, 25_000, 65_000, 14_000] * 10)        # from the end of the call
        self.assertEqual(rank["launch"]["launches"], 50)
        self.assertEqual((rank["launch"]["delay_median_ns"], rank["launch"]["delay_p90_ns"]),
                         (statistics.median(delays), statistics.quantiles(delays, n=10, method="inclusive")[8]))
        self.assertEqual((rank["waits"]["wait_calls"], rank["waits"]["wait_calls_per_step"]), (20, 2))
        gpu, hta = rank["gpu"], rank["temporal_breakdown"]
        self.assertEqual(gpu["busy_ns"] - gpu["compute_ns"], 10 * (80 - 30) * 1000)
        self.assertEqual([round(1000 * hta[f"{key}_us"]) for key in ("kernel_time", "compute_time", "non_compute_time", "idle_time")],
                         [gpu["span_ns"], gpu["compute_ns"], gpu["busy_ns"] - gpu["compute_ns"], gpu["idle_ns"]])

    def test_bars_are_as_long_as_their_share(self) -> None:
        """24 cells are the whole: of a step of 10,000 us the kernel takes 7,490, 18 of them; 2,510 are idle, 6."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            path.write_text(json.dumps({"traceEvents": host_then_kernel(2500)}))
            lines = run("report", path)[1].decode().splitlines()
        cells = {label: next(line for line in lines if line.startswith(f"  {label}  ")).count("█") for label in ("compute", "idle")}
        self.assertEqual(cells, {"compute": 18, "idle": 6})


if __name__ == "__main__":
    unittest.main()
