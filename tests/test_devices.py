# SPDX-License-Identifier: Apache-2.0
"""What a finding may ask of a device, and what counts as one: small traces with the constants of real ones."""
from __future__ import annotations

import json
import os
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.program import SHARED, report, run, skip_loudly
from tests.rule_traces import DENSE, Steps, simulated
from tests.scoreboard.job import PINNED
from tests.scoreboard.machine import COPY, US, Close, Launch, Machine, Open, Work, key_of
from tests.test_findings import Job

V100 = {"id": 0, "name": "Tesla V100-SXM2-16GB", "computeMajor": 7, "computeMinor": 0, "numSms": 80, "warpSize": 32}
TURING = {"id": 0, "name": "NVIDIA GeForce RTX 2080 Ti", "computeMajor": 7, "computeMinor": 5, "numSms": 68, "warpSize": 32}
GTX = {"id": 0, "name": "NVIDIA GeForce GTX 1660 Ti", "computeMajor": 7, "computeMinor": 5, "numSms": 24, "warpSize": 32}
P100 = {"id": 0, "name": "Tesla P100-PCIE-16GB", "computeMajor": 6, "computeMinor": 0, "numSms": 56, "warpSize": 32}
A100 = {"id": 0, "name": "NVIDIA A100-SXM4-80GB", "computeMajor": 8, "computeMinor": 0, "numSms": 108, "warpSize": 32}
MI250 = {"id": 0, "name": "AMD Instinct MI250X", "computeMajor": 9, "computeMinor": 0, "numSms": 110, "warpSize": 64}
NAMELESS = {"id": 0, "computeMajor": 9, "computeMinor": 0}


def real(case: unittest.TestCase, name: str) -> Path:
    path = SHARED / "traces/kineto" / name
    if not path.exists():
        skip_loudly(f"{name} of shared/traces/kineto is not present")
        case.skipTest(f"{name} is not present")
    return path


class Products(Job):
    """Steps of three products each, on a device that is never idle; backward on the same thread where something is trained."""

    def __init__(self, kernel: str = "volta_sgemm_128x64_tn", dtype: str = "float", trains: bool = True, steps: int = 6, op: str = "aten::mm",
                 dims: list[Any] | None = None) -> None:
        super().__init__()
        for step in range(steps):
            at = 4000.0 * step
            for k in range(3):
                now = at + 50 * k
                self.host("cpu_op", op, now, 30, **{"Input Dims": dims or [[512, 512], [512, 512]], "Input type": [dtype, dtype]})
                self.device("kernel", kernel, ("cudaLaunchKernel", now + 4, 8), at + 60 + 1250 * k, 1200, grid=[512, 4, 1], block=[128, 1, 1])
            if trains:
                self.host("cpu_op", "autograd::engine::evaluate_function: MmBackward0", at + 160, 10, **{"Sequence number": step, "Fwd thread id": 1})
                self.host("user_annotation", "Optimizer.step#SGD.step", at + 180, 20)
            self.wait(at + 210, at + 3900)
            self.host("user_annotation", f"ProfilerStep#{step}", at, 3990)

    def findings(self, device: dict[str, Any] | None) -> dict[str, dict[str, Any]]:
        return {f["id"]: f for f in self.report(device)["findings"]}

    def report(self, device: dict[str, Any] | None) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "job.json"
            path.write_text(json.dumps({"deviceProperties": [device] if device else [], "traceEvents": self.events}))
            return report(path)


class TensorCores(unittest.TestCase):
    RULE = "tensor-cores-unused"

    def fix(self, device: dict[str, Any] | None, **job: Any) -> str | None:
        found = Products(**job).findings(device).get(self.RULE)
        return found["fix"] if found else None

    def test_volta_and_turing_have_fp16_alone(self) -> None:
        for device in (V100, TURING):
            fix = self.fix(device)
            self.assertIn("torch.float16", fix)
            self.assertIn("GradScaler", fix)
            self.assertNotIn("bfloat16", fix)
            self.assertNotIn("set_float32_matmul_precision", fix)

    def test_ampere_has_all_of_them(self) -> None:
        self.assertIn("set_float32_matmul_precision", self.fix(A100, kernel="ampere_sgemm_128x64_tn"))

    def test_cdna_has_no_tf32(self) -> None:
        fix = self.fix(MI250, kernel="Cijk_Ailk_Bljk_SB_MT128x64x16_SE_K1")
        self.assertIn("torch.bfloat16", fix)
        self.assertNotIn("set_float32_matmul_precision", fix)

    def test_without_tensor_cores_nothing_is_unused(self) -> None:
        for device in (P100, GTX):
            self.assertIsNone(self.fix(device), device["name"])

    def test_what_is_not_trained_needs_no_scaler(self) -> None:
        fix = self.fix(V100, trains=False)
        self.assertIn("float16", fix)
        self.assertNotIn("GradScaler", fix)

    def test_an_unknown_device_may_have_none(self) -> None:
        for device in (None, NAMELESS):
            found = Products().findings(device)[self.RULE]
            self.assertEqual(found["confidence"], "low")
            self.assertIn("Volta, Turing", found["fix"])

    def test_names_that_do_not_say_it(self) -> None:
        """Triton, MFMA behind a short name, half precision on vector units, and a single-precision name with half inputs."""
        for kernel, dtype in (("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1", "c10::BFloat16"), ("attn_fwd", "c10::BFloat16"), ("attn_fwd", "float"),
                              ("matmul_kernel", "float"), ("volta_fp16_sgemm_fp16_128x64_tn", "c10::Half"), ("volta_sgemm_128x64_tn", "c10::Half"),
                              ("void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false>()", "float")):
            self.assertIsNone(self.fix(V100, kernel=kernel, dtype=dtype), (kernel, dtype))


class Sizes(unittest.TestCase):
    """Products at a tenth of an A100's peak; only sizes that tensor cores see count."""

    def is_found(self, op: str, dims: list[Any]) -> bool:
        job = Products("ampere_bf16_s16816gemm_bf16_128x64", "c10::BFloat16", op=op, dims=dims)
        return "low-efficiency-kernels" in job.findings(A100)

    def test_columns_of_a_matrix(self) -> None:
        self.assertTrue(self.is_found("aten::mm", [[1021, 2045], [2045, 2045]]))
        self.assertTrue(self.is_found("aten::bmm", [[4, 512, 1021], [4, 1021, 512]]))
        self.assertFalse(self.is_found("aten::mm", [[1024, 2048], [2048, 2048]]))

    def test_neither_batches_nor_pixels(self) -> None:
        self.assertFalse(self.is_found("aten::bmm", [[25, 509, 1024], [25, 1024, 512]]))
        self.assertFalse(self.is_found("aten::conv2d", [[30, 512, 14, 14], [512, 512, 3, 3]]))

    def test_no_length_of_a_sequence(self) -> None:
        self.assertFalse(self.is_found("aten::_flash_attention_forward", [[4, 197, 12, 64]] * 3))


class Fusion(unittest.TestCase):
    def test_what_is_gained_beyond_the_kernels_are_launches(self) -> None:
        """Six kernels of 2 µs in steps of 1.5 ms, each with 150 µs of operator: hardly any of what fusing saves is theirs."""
        job = Job()
        for step in range(6):
            at = 1500.0 * step
            for k in range(8):
                name = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor>(int)" if k else "ampere_bf16_s16816gemm"
                job.host("cpu_op", "aten::add", at + 150 * k, 140)
                job.device("kernel", name, ("cudaLaunchKernel", at + 150 * k + 120, 8), at + 150 * k + 132, 2 if k else 20)
            job.wait(at + 1250, at + 1260)
            job.host("user_annotation", f"ProfilerStep#{step}", at, 1490)
        found = job.ask()["bandwidth-bound"]
        self.assertGreater(found["gain_pct"], 10)
        self.assertIn("launches that the host need not make", " ".join(found["evidence"]))


class Ids(unittest.TestCase):
    def moved(self, devices: list[dict[str, Any]]) -> str:
        job = Products()
        for event in job.events:
            if event["cat"] == "kernel":
                event["args"]["device"] = event["pid"] = 2
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "job.json"
            path.write_text(json.dumps({"deviceProperties": devices, "traceEvents": job.events}))
            return report(path)["ranks"][0]["device"]

    def test_one_visible_device_is_the_one_that_works(self) -> None:
        self.assertEqual(self.moved([MI250]), MI250["name"])
        self.assertEqual(self.moved([MI250, MI250 | {"id": 1}]), MI250["name"])
        self.assertEqual(self.moved([V100, MI250 | {"id": 2}]), MI250["name"])
        self.assertFalse(self.moved([V100, MI250 | {"id": 1}]))

    def test_a_real_one(self) -> None:
        self.assertEqual(report(real(self, "tl-nsfw/mi300.json.gz"))["ranks"][0]["device"], "AMD Instinct MI300X VF")


class StepAhead(Steps):
    """The same batch on a stream of its own, while the step before it computes."""

    def input_copy(self) -> list[Any]:
        work = Work(key_of("ahead"), "memcpy", "Memcpy HtoD (Pinned -> Device)", int(self.job.copy_bytes / PINNED) + 1500, f'"bytes": {self.job.copy_bytes}')
        return [Open("cpu_op", "aten::to"), Open("cpu_op", "aten::copy_"), Launch(work, COPY, "cudaMemcpyAsync", 6 * US), Close(), Close()]


def with_copies(m: Machine) -> None:
    m.stream(COPY)


class Copies(unittest.TestCase):
    def test_a_pinned_copy_on_the_compute_stream(self) -> None:
        """Up to where the copy alone is longer than a step: then the link is the limit."""
        for megabytes in (16, 64, 256):
            job = replace(DENSE, copy_is_pageable=False, copy_bytes=megabytes << 20)
            case = simulated(job, job, Steps, StepAhead, None, with_copies)
            with tempfile.TemporaryDirectory() as folder:
                found = next((f for f in report(case.write(Path(folder)))["findings"] if f["id"] == "copy-bound"), None)
            self.assertIsNotNone(found, megabytes)
            self.assertLess(abs(found["gain_pct"] - case.gain), 2, (megabytes, case.gain))
            self.assertIn("separate stream", found["fix"])

    def test_what_was_copied_out_before_cannot_come_earlier(self) -> None:
        """Weights that are offloaded: each step writes them back and reads them again."""
        job = Job()
        for step in range(6):
            at = 5000.0 * step
            for k, (kind, name) in enumerate((("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)"), ("kernel", "ampere_bf16_s16816gemm"),
                                              ("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)"))):
                job.device(kind, name, ("cudaMemcpyAsync" if k != 1 else "cudaLaunchKernel", at + 10 + 20 * k, 8), at + 60 + 1200 * k, 1190, bytes=28 << 20)
            job.wait(at + 200, at + 3700)
            job.host("user_annotation", f"ProfilerStep#{step}", at, 3800)
        self.assertEqual(job.ask()["copy-bound"]["confidence"], "low")


class Rows(unittest.TestCase):
    """Traces whose writers give no categories: a row is a device's by the process that it belongs to."""

    def said(self, events: list[dict[str, Any]]) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "job.json"
            path.write_text(json.dumps({"traceEvents": events}))
            whole = report(path)
            self.found = {f["id"] for f in whole["findings"]}
            return whole["ranks"][0]

    def row(self, pid: Any, name: str, *slices: tuple[Any, str, float, float], thread: str = "") -> list[dict[str, Any]]:
        return [*({"ph": "X", "name": n, "pid": pid, "tid": tid, "ts": at, "dur": dur, "args": {}} for tid, n, at, dur in slices),
                {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}},
                *({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": thread}} for tid in {s[0] for s in slices} if thread)]

    def test_an_npu(self) -> None:
        """Kernels for 300 µs, a copy of 50, a collective of 200; a wait and the sums drawn beside them are no work."""
        host = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 900, "args": {}}]
        said = self.said(host + self.row(2, "Ascend Hardware", (2, "aclnnMatmul_MatMulV2", 100, 300), (2, "Notify_Wait", 400, 200), (5, "Memcpy", 650, 50),
                                         thread="Stream 2")
                         + self.row(3, "HCCL", (7, "hcom_allReduce__548_0", 400, 200), (8, "Notify_Wait", 400, 190), (8, "Reduce_Inline", 590, 10))
                         + self.row(4, "Overlap Analysis", (1, "Computing", 100, 300), (2, "Free", 0, 100)))
        gpu = said["gpu"]
        self.assertEqual((gpu["compute_ns"], gpu["comm_ns"]), (300_000, 200_000))
        self.assertNotIn("launch-bound", self.found)        # nobody recorded a launch
        self.assertEqual({o["name"]: o["host_self_ns"] for o in said["operators"] if o["host_self_ns"]}, {"aten::mm": 900_000})
        self.assertEqual([k["name"] for k in said["kernels"]], ["aclnnMatmul_MatMulV2", "hcom_allReduce__548_0"])

    def test_rocprof(self) -> None:
        said = self.said(self.row(2, "0 CPU HIP API", (1, "hipLaunchKernel", 0, 5)) + self.row("6", "GPU2", ("0", "Cijk_Ailk_Bljk_SB_MT64", 10, 100))
                         + self.row("1", "COPY", ("0", "CopyHostToDevice", 120, 40)))
        self.assertEqual(said["gpu"]["compute_ns"], 100_000)
        self.assertEqual(said["kernels"][0]["name"], "Cijk_Ailk_Bljk_SB_MT64")
        self.assertEqual(sum(c["total_ns"] for c in said["copies"]), 40_000)

    def test_timeline_of_tensorflow(self) -> None:
        """"stream:all" holds the kernels, each stream once more; copies have a row; the executor's rows are the host's."""
        def op(pid: int, name: str, at: float, dur: float) -> dict[str, Any]:
            return {"ph": "X", "cat": "Op", "name": name, "pid": pid, "tid": 0, "ts": at, "dur": dur, "args": {"op": name}}

        job = "/job:localhost/replica:0/task:0/device:"
        rows = [f"{job}GPU:0 Compute", f"{job}CPU:0 Compute", "/device:GPU:0/stream:all Compute", "/device:GPU:0/stream:7 Compute", "/device:GPU:0/memcpy Compute"]
        events = [e for pid, name in enumerate(rows) for e in self.row(pid, name)]
        said = self.said([*events, op(0, "MatMul", 0, 100), op(1, "_SINK", 50, 150), op(2, "MatMul", 200, 700), op(3, "MatMul", 200, 700), op(4, "MEMCPYHtoD", 150, 50)])
        self.assertEqual((said["gpu"]["compute_ns"], said["gpu"]["memcpy_ns"]), (700_000, 50_000))
        self.assertEqual([(k["name"], k["calls"]) for k in said["kernels"]], [("MatMul", 1)])
        self.assertEqual({o["name"]: o["host_self_ns"] for o in said["operators"]}, {"MatMul": 100_000, "_SINK": 150_000})
        self.assertEqual(said["step_breakdown"]["host_unknown_ns"], 0)

    def test_nsys2json(self) -> None:
        """Its categories are CUDA's own words; "cuda" alone may be anything, and is work on a row of a stream."""
        def event(cat: str, pid: str, tid: str, name: str, at: float, dur: float) -> dict[str, Any]:
            return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": at, "dur": dur, "args": {}}

        events = [event("cuda", "Device 1", "Stream 7", "volta_sgemm_128x64", 100, 600), event("cuda_api", "Device 1", "CUDA API 12", "cudaLaunchKernel", 0, 50),
                  event("nvtx", "Device 1", "NVTX Thread 12", "forward", 0, 400), event("nvtx-kernel", "Device 1", "NVTX Kernel Thread 12", "forward", 100, 600)]
        said = self.said(events)
        self.assertEqual(said["gpu"]["compute_ns"], 600_000)
        self.assertEqual([(k["name"], k["calls"]) for k in said["kernels"]], [("volta_sgemm_128x64", 1)])
        self.assertEqual([(s["device"], s["stream"]) for s in said["idle"]["streams"]], [(1, 7)])
        said = self.said([event("cuda", "python", "main", "cuda work", 100, 600)])
        self.assertEqual(said["kernels"], [])

    def test_first_profiler_of_pytorch(self) -> None:
        """Two processes by name, no category: "CPU functions" are operators, "CUDA functions" kernels."""
        cpu = [{"ph": "X", "name": "aten::mm", "pid": "CPU functions", "tid": 1, "ts": 1000 * k, "dur": 300, "args": {}} for k in range(5)]
        cuda = [{"ph": "X", "name": "sgemm", "pid": "CUDA functions", "tid": 0, "ts": 1000 * k + 400, "dur": 500, "args": {}} for k in range(5)]
        said = self.said(cpu + cuda)
        self.assertEqual((said["gpu"]["compute_ns"], [k["name"] for k in said["kernels"]]), (2_500_000, ["sgemm"]))
        self.assertEqual({o["name"]: o["host_self_ns"] for o in said["operators"] if o["host_self_ns"]}, {"aten::mm": 1_500_000})
        self.assertEqual(said["steps"]["source"], "none", "an operator that recurs is no step")

    def test_a_filler_is_no_event(self) -> None:
        """`{}` behind the last comma is nothing that was lost; what has members and no phase is."""
        row = self.row(1, "python", (1, "step", 0, 500))
        self.assertEqual([(q["events"], q["lost"]) for q in (self.said([*row, *more])["quality"] for more in ([], [{}], [{"name": "x"}]))], [(2, 0), (2, 0), (3, 1)])

    def test_a_program_of_that_name_is_none(self) -> None:
        said = self.said(self.row(2, "GPU worker", (1, "load", 0, 500)) + self.row(3, "python", (1, "step", 0, 500)))
        self.assertEqual(said["kernels"], [])


class Loaders(unittest.TestCase):
    """Six ms of loading in the main process before four ms of work: workers gain what they hide, where they have CPUs."""

    def finding(self, *arguments: str, **top: Any) -> dict[str, Any] | None:
        job = Job()
        for step in range(6):
            at = 10000.0 * step
            job.host("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 10, 6000)
            for k in range(3):
                job.kernel("ampere_bf16_s16816gemm", at + 6020 + 50 * k, at + 6050 + 1250 * k, 1240)
            job.wait(at + 6200, at + 9900)
            job.host("user_annotation", f"ProfilerStep#{step}", at, 9990)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "job.json"
            path.write_text(json.dumps(top | {"deviceProperties": [A100], "traceEvents": job.events}))
            return next((f for f in report(path, *arguments)["findings"] if f["id"] == "data-loading"), None)

    def test_unknown_cpus(self) -> None:
        found = self.finding()
        self.assertEqual(found["confidence"], "medium")
        self.assertAlmostEqual(found["gain_low_pct"], found["gain_pct"] / 2, delta=1)     # two workers overlap on any machine with a GPU
        self.assertAlmostEqual(found["gain_pct"], 60, delta=3)
        self.assertIn("--cpus", " ".join(found["evidence"]))

    def test_known_cpus(self) -> None:
        for found in (self.finding("--cpus", "16"), self.finding(distributedInfo={"rank": 0, "world_size": 1, "num_cpus": 16})):
            self.assertGreater(found["gain_low_pct"], 50)
            self.assertNotIn("--cpus", " ".join(found["evidence"]))

    def test_one_worker(self) -> None:
        """A batch takes it 6 ms, so a step takes 6 of 10."""
        self.assertAlmostEqual(self.finding("--cpus", "2")["gain_pct"], 40, delta=3)

    def test_no_cpu_for_a_worker(self) -> None:
        self.assertIsNone(self.finding("--cpus", "1"))

    def test_a_recording_says_how_many(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "r.pftrace"
            self.assertEqual(run("run", "-q", "-o", path, "--", "true")[0], 0)
            rows = run("query", "--csv", path, "select value from metadata where key = 'holdup.cpus'")[1].decode().split()
        self.assertEqual(rows[1:], [str(len(os.sched_getaffinity(0)))])


class Waits(unittest.TestCase):
    """Two ms of kernels without steps, and where the host waits for them."""

    def found(self, waits: list[tuple[str, float, float]], kernels: int = 4) -> dict[str, dict[str, Any]]:
        job = Job()
        for k in range(kernels):
            job.kernel("ampere_bf16_s16816gemm", 100 + 1000 * k, 200 + 1000 * k, 500)
        for name, start, end in waits:
            job.wait(start, end, name)
        return job.ask()

    def test_the_end_of_a_capture_waits_for_nothing_that_comes_later(self) -> None:
        """The profiler's own synchronisation when it stops, and the program's before it says how long it took."""
        self.assertNotIn("host-sync", self.found([("cudaDeviceSynchronize", 3200, 3705)]))

    def test_in_between_it_counts(self) -> None:
        found = self.found([("cudaDeviceSynchronize", 130, 720), ("cudaDeviceSynchronize", 1130, 1720), ("cudaDeviceSynchronize", 2130, 2720),
                            ("cudaDeviceSynchronize", 3200, 4700)])
        self.assertIn("host-sync", found)
        self.assertIn("3 calls", " ".join(found["host-sync"]["evidence"]))

    def test_asking_is_no_waiting(self) -> None:
        self.assertNotIn("host-sync", self.found([("cudaEventQuery", 130 + 10 * k, 138 + 10 * k) for k in range(60)]))
