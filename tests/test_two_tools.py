# SPDX-License-Identifier: Apache-2.0
"""One job seen by two tools: a trace of torch.profiler, and the export that Nsight Systems would have made of the same run
(--trace=cuda,nvtx, --pytorch=autograd-shapes-nvtx). Steps, where the time goes and findings with their gains must agree."""
from __future__ import annotations

import json
import re
import tempfile
import unittest
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests import rule_traces
from tests.nsight import Export, gid
from tests.program import report, run

COPIES = {"HtoD": 1, "DtoH": 2, "DtoD": 8, "PtoP": 10}
MEMORIES = {"Pageable": 0, "Pinned": 1, "Device": 2}
WAITS = {"Event Sync": 1, "Stream Wait Event": 2, "Stream Sync": 3, "Context Sync": 4}

# By the cause that is planted: all jobs of one rank with a GPU in whose answer nothing counts that nsys does not record, such as types of tensors.
JOBS = ("compute-bound", "bandwidth-bound", "launch-bound", "unrecorded", "synchronous-launches", "host-sync", "copy-bound", "data-loading",
        "io-stall", "exposed-communication", "comm-latency", "poor-overlap", "overlap-contention", "allocator", "pinned-allocation", "warm-up",
        "cold-start", "tensor-cores-unused", "recompute", "optimizer-loop")
POINTS = 2.0


def nanoseconds(microseconds: Decimal) -> int:
    return round(microseconds * 1000)


class Nsys:
    """An export with the rows of a trace of torch.profiler, as far as nsys records them."""

    def __init__(self, trace: dict[str, Any], late_ns: int = 0) -> None:
        self.export, self.numbers, self.late = Export(), 0, late_ns
        self.events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
        self.zero = nanoseconds(min(e["ts"] for e in self.events)) - 5_000_000
        self.pid = next(e["pid"] for e in self.events if e["cat"] in ("cuda_runtime", "cuda_driver"))
        for i, device in enumerate(trace.get("deviceProperties", [])):
            self.export.add("TARGET_INFO_GPU", id=i, name=device["name"], totalMemory=device.get("totalGlobalMem"), smCount=device.get("numSms"),
                            threadsPerWarp=device.get("warpSize"), maxThreadsPerBlock=device.get("maxThreadsPerBlock"),
                            maxWarpsPerSm=device.get("maxThreadsPerMultiprocessor", 2048) // 32,
                            maxRegistersPerBlock=device.get("regsPerBlock"), maxRegistersPerSm=device.get("regsPerMultiprocessor"),
                            maxShmemPerBlock=device.get("sharedMemPerBlock"), maxShmemPerSm=device.get("sharedMemPerMultiprocessor"),
                            computeMajor=device.get("computeMajor"), computeMinor=device.get("computeMinor"))
        for event in self.events:
            getattr(self, event["cat"], self.not_recorded)(event, event.get("args", {}))

    def times(self, event: dict[str, Any]) -> dict[str, int]:
        start = nanoseconds(event["ts"]) - self.zero + (self.late if event["cat"] in ("kernel", "gpu_memcpy", "gpu_memset") else 0)
        return {"start": start, "end": start + nanoseconds(event["dur"])}

    def where(self, args: dict[str, Any]) -> dict[str, Any]:
        return {"deviceId": args["device"], "contextId": 1, "correlationId": args["correlation"], "globalPid": gid(self.pid)}

    def not_recorded(self, event: dict[str, Any], args: dict[str, Any]) -> None:
        pass

    def cpu_op(self, event: dict[str, Any], args: dict[str, Any]) -> None:
        self.numbers += 1
        text = f"{event['name']}, op_id = {self.numbers}"
        if "Sequence number" in args:
            text += f", seq = {args['Sequence number']}"
        if "Input Dims" in args:
            text += f", sizes = {json.dumps(args['Input Dims'])}"
        self.export.range(**self.times(event), text=text, pid=self.pid, tid=event["tid"])

    def user_annotation(self, event: dict[str, Any], args: dict[str, Any]) -> None:
        self.export.range(**self.times(event), text=re.sub(r"^ProfilerStep#", "step ", event["name"]), pid=self.pid, tid=event["tid"])

    def cuda_runtime(self, event: dict[str, Any], args: dict[str, Any]) -> None:
        name = event["name"] if event["name"].startswith("cu") and not event["name"].startswith("cuda") else f"{event['name']}_v7000"
        self.export.call(**self.times(event), name=name, correlation=args.get("correlation", 0), pid=self.pid, tid=event["tid"])

    cuda_driver = cuda_runtime

    def kernel(self, event: dict[str, Any], args: dict[str, Any]) -> None:
        grid, block = args.get("grid", [1, 1, 1]), args.get("block", [1, 1, 1])
        self.export.add("CUPTI_ACTIVITY_KIND_KERNEL", **self.times(event), **self.where(args), streamId=args["stream"],
                        demangledName=self.export.text(event["name"]), shortName=self.export.text(event["name"]),
                        registersPerThread=args.get("registers per thread", 0), gridX=grid[0], gridY=grid[1], gridZ=grid[2],
                        blockX=block[0], blockY=block[1], blockZ=block[2], staticSharedMemory=args.get("shared memory", 0), dynamicSharedMemory=0)

    def gpu_memcpy(self, event: dict[str, Any], args: dict[str, Any]) -> None:
        kind, source, target = re.fullmatch(r"Memcpy (\w+) \((\w+) -> (\w+)\)", event["name"]).groups()
        self.export.add("CUPTI_ACTIVITY_KIND_MEMCPY", **self.times(event), **self.where(args), streamId=args["stream"], bytes=args["bytes"],
                        copyKind=COPIES[kind], srcKind=MEMORIES[source], dstKind=MEMORIES[target])

    def gpu_memset(self, event: dict[str, Any], args: dict[str, Any]) -> None:
        self.export.add("CUPTI_ACTIVITY_KIND_MEMSET", **self.times(event), **self.where(args), streamId=args["stream"], bytes=args["bytes"],
                        memKind=2)

    def cuda_sync(self, event: dict[str, Any], args: dict[str, Any]) -> None:
        self.export.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", **self.times(event), **{**self.where(args), "deviceId": max(0, args.get("device", 0))},
                        streamId=args.get("stream", -1) & 0xFFFFFFFF, syncType=WAITS[event["name"]], eventId=args.get("event_id", 0xFFFFFFFF))

    def overhead(self, event: dict[str, Any], args: dict[str, Any]) -> None:
        self.export.add("PROFILER_OVERHEAD", **self.times(event), globalTid=gid(self.pid, event["tid"]), nameId=self.export.text(event["name"]))


def found(job: dict[str, Any]) -> dict[str, float]:
    return {f["id"]: f["gain_pct"] for f in job["findings"]}


class OneJobTwoTools(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def both(self, cause: str, late_ns: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
        kineto = rule_traces.EXAMS[cause].plant().write(self.folder)
        trace = json.loads(kineto.read_text(), parse_float=Decimal)
        return report(kineto), report(Nsys(trace, late_ns).export.save(self.folder / "report.sqlite"))

    def test_steps_findings_and_gains(self) -> None:
        for cause in JOBS:
            with self.subTest(cause):
                kineto, nsys = self.both(cause)
                steps = [job["ranks"][0]["steps"] for job in (kineto, nsys)]
                self.assertEqual([s["source"] for s in steps], ["ProfilerStep", "annotation"])
                self.assertEqual([x["number"] for x in steps[0]["list"]], [x["number"] for x in steps[1]["list"]])
                self.assertAlmostEqual(steps[0]["mean_ns"], steps[1]["mean_ns"], delta=0.001 * steps[0]["mean_ns"])
                self.assertEqual(kineto["verdict"]["confidence"], nsys["verdict"]["confidence"])
                for key, value in kineto["ranks"][0]["gpu"].items():
                    if key.endswith("_ns"):
                        self.assertEqual(value, nsys["ranks"][0]["gpu"][key], key)
                gains = found(kineto), found(nsys)
                self.assertEqual(set(gains[0]), set(gains[1]))
                for name, gain in gains[0].items():
                    self.assertAlmostEqual(gain, gains[1][name], delta=POINTS, msg=name)
                if cause != "compute-bound":
                    self.assertIn(cause, gains[1])

    def test_without_python_the_same_time_has_no_name(self) -> None:
        """nsys was not asked for Python's frames: as long, but "not recorded", and never a cause that it did not see."""
        kineto, nsys = (found(job) for job in self.both("host-work"))
        self.assertNotIn("host-work", nsys)
        self.assertAlmostEqual(kineto["host-work"], nsys["unrecorded"], delta=POINTS)


    def test_clocks_that_disagree(self) -> None:
        """nsys maps the device's clock to the host's with errors of some µs: what a call waited for then ends after its return."""
        for cause, late in (("host-sync", 6_000), ("pinned-allocation", 6_000), ("pinned-allocation", 20_000)):
            with self.subTest(cause, late=late):
                kineto, nsys = self.both(cause, late)
                replays = [job["ranks"][0]["replay"] for job in (kineto, nsys)]
                self.assertEqual(replays[0]["wait_links"], replays[1]["wait_links"])
                self.assertAlmostEqual(found(kineto)[cause], found(nsys)[cause], delta=POINTS)


class NumberedMarks(unittest.TestCase):
    """Ranges that differ in the number of an iteration are steps, also behind a long start."""

    def steps(self, *names: str, start: int = 0) -> dict[str, Any]:
        export = Export()
        export.call(0, 1000, "cudaFree_v3020", 1)
        for i, name in enumerate(names):
            at = start + 1_000_000 * (i + 1) + 50_000 * (i % 3)
            export.range(at, at + 900_000, name)
            for k in range(3 + i % 2):      # no period in the work itself
                export.call(at + 1000 * k, at + 1000 * k + 500, "cudaLaunchKernel_v7000", 10 * i + k + 2)
                export.kernel(at + 20_000 * (k + 1), at + 20_000 * (k + 1) + 9000 + i, f"kernel{(i * i + k) % 5}", 10 * i + k + 2)
        with tempfile.TemporaryDirectory() as folder:
            self.path = export.save(Path(folder) / "report.sqlite")
            self.part = run("report", self.path, "--json", "--steps", "6..7")
            return report(self.path)["ranks"][0]["steps"]

    def test_names_of_iterations(self) -> None:
        for name in ("step %d", "step_%d", "Step #%d", "iteration %d", "Iter: %d/100", "train_step=%d", "TrainStep %d", "batch %d", "## step %d ##"):
            with self.subTest(name):
                steps = self.steps(*(name % n for n in range(5, 13)), start=60_000_000_000)
                self.assertEqual((steps["source"], steps["count"]), ("annotation", 8))
                self.assertEqual([s["number"] for s in steps["list"]], list(range(5, 13)))
                self.assertEqual(len(json.loads(self.part[1])["ranks"][0]["steps"]["list"]), 2)

    def test_a_step_without_a_number_behind_a_long_start(self) -> None:
        steps = self.steps(*["train_step"] * 8, start=60_000_000_000)
        self.assertEqual((steps["source"], [s["number"] for s in steps["list"]]), ("annotation", list(range(8))))

    def test_numbers_of_each_epoch(self) -> None:
        steps = self.steps(*(f"step {n % 4}" for n in range(8)))
        self.assertEqual((steps["source"], [s["number"] for s in steps["list"]]), ("annotation", list(range(8))))

    def test_what_is_no_iteration(self) -> None:
        for name in ("layer %d", "micro_batch %d", "microbatch %d", "footstep %d", "step %d.5", "stepsize %d", "bucket %d"):
            with self.subTest(name):
                self.assertNotEqual(self.steps(*(name % n for n in range(8)))["source"], "annotation")


if __name__ == "__main__":
    unittest.main()
