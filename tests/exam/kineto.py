# SPDX-License-Identifier: Apache-2.0
"""Writes what a simulated rank did as Kineto's Chrome JSON: a window of it, with what a capture may lack.

    write(rank, path, Window(t0, t1), Capture(), device=devices.A100)

Work launched before the window that starts in it has a correlation but no call; work that starts after the window is dropped,
and work that ends after it if Window.keep_tail is false.
"""

import gzip
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.exam.devices import Device
from tests.exam.sim import Op, Rank, Slice

BASE = 1753000000000000000
CBID = {
    "cudaLaunchKernel": 211,
    "cudaLaunchKernelExC": 430,
    "cuLaunchKernel": 307,
    "cudaMemcpyAsync": 41,
    "cudaStreamSynchronize": 131,
    "cudaDeviceSynchronize": 165,
    "cudaEventRecord": 135,
    "cudaStreamWaitEvent": 147,
    "cudaEventSynchronize": 137,
    "cudaMalloc": 20,
    "cudaFree": 22,
    "cudaHostAlloc": 26,
    "cudaGraphLaunch": 311,
    "cudaMemsetAsync": 51,
    "cudaLaunchHostFunc": 295,
}
SYNC_KIND = {"Stream Wait Event": 1, "Event Sync": 2, "Stream Sync": 3, "Context Sync": 4}
START_TIME = 4458676000000  # above 2 ** 43 us a double has no room for ns
Json = dict[str, Any]


class Window(NamedTuple):
    """What is captured, in ns of the simulation."""

    start: int
    end: int
    keep_tail: bool = True


@dataclass
class Capture:
    """How it is captured. lost: share of the calls and operators that are missing."""

    cuda_sync: bool = False
    flows: bool = True
    stacks: bool = False
    shapes: bool = True
    whole_us: bool = False
    lost: float = 0.0
    steps: bool = True
    rocm: bool = False
    packed: bool = False
    clock: int = 0
    metadata: Json = field(default_factory=dict)


class Writer:
    """Collects the events of one file."""

    def __init__(self, rank: Rank, window: Window, capture: Capture, device: Device | None) -> None:
        self.rank, self.window, self.capture, self.device = rank, window, capture, device
        self.events: list[Json] = []
        self.pid = 4200 + 100 * rank.index

    def time(self, ns: int) -> float:
        """A time as written, in us."""
        ns += START_TIME + self.capture.clock
        return float(ns // 1000) if self.capture.whole_us else round(ns / 1000, 3)

    def span(self, start: int, end: int) -> Json:
        """ts and dur."""
        first = self.time(start)
        return {"ts": first, "dur": round(self.time(end) - first, 3)}

    def missing(self, kind: str, key: int) -> bool:
        """Whether the capture has lost this event."""
        return bool(self.capture.lost) and self.rank.sim.draws.unit("lost", kind, key, self.rank.index) < self.capture.lost

    def slice(self, piece: Slice) -> None:
        """A slice or call of the host."""
        start, end = piece.start, piece.end
        if end < start or start < self.window.start or end > self.window.end:
            return
        capture, name = self.capture, piece.name
        call = piece.corr > 0
        if piece.cat == "python_function" and not capture.stacks:
            return
        if piece.cat == "user_annotation" and not capture.steps and name.startswith("ProfilerStep"):
            return
        if (call or piece.cat == "cpu_op") and self.missing("call" if call else "op", piece.corr or piece.ext):
            return
        if piece.cat == "overhead":
            self.events.append({"ph": "X", "cat": piece.cat, "name": name, "pid": -1, "tid": 0, **self.span(start + 200, end - 100)})
            return
        args: Json = {}
        if call:
            if piece.ext:
                args["External id"] = piece.ext
            args["cid" if capture.rocm else "cbid"] = CBID.get(name, 400)
            args["correlation"] = piece.corr
            if capture.rocm:
                name = rocm_name(name)
        elif piece.cat == "python_function":
            args = {"Ev Idx": piece.ext, **piece.args}
        else:
            args = {"External id": piece.ext, "Record function id": 0, "Ev Idx": piece.ext - 1}
            args.update(piece.args if capture.shapes else {k: v for k, v in piece.args.items() if not k.startswith(("Input", "Concrete"))})
        self.events.append(
            {"ph": "X", "cat": piece.cat, "name": name, "pid": self.pid, "tid": piece.tid, **self.span(start, end), "args": args}
        )
        if call and capture.flows and launches(piece.name):
            self.events.append(
                {"ph": "s", "id": piece.corr, "pid": self.pid, "tid": piece.tid, "ts": self.time(start), "cat": "ac2g", "name": "ac2g"}
            )

    def operation(self, op: Op) -> None:
        """An operation of the device."""
        if not self.within(op):
            return
        number = op.stream.number
        args: Json = {"External id": op.ext} if op.ext else {}
        if op.cat == "kernel" and self.capture.rocm:
            args.update(
                {
                    "device": 0,
                    "stream": number,
                    "hsa_queue": 1,
                    "correlation": op.corr,
                    "kind": "Dispatch Kernel",
                    "grid": [max(1, op.length // 40), 1, 1],
                    "block": [256, 1, 1],
                }
            )
        elif op.cat == "kernel":
            threads = 256
            grid = max(1, min(65535, op.length // 40))
            args.update(
                {
                    "queued": 0,
                    "device": 0,
                    "context": 1,
                    "stream": number,
                    "correlation": op.corr,
                    "registers per thread": 40,
                    "shared memory": 0,
                    "blocks per SM": round(grid / (self.device.sms if self.device else 80), 6),
                    "warps per SM": round(grid * 8 / (self.device.sms if self.device else 80), 6),
                    "grid": [grid, 1, 1],
                    "block": [threads, 1, 1],
                    "est. achieved occupancy %": min(100, grid // 8),
                }
            )
        else:
            args.update({"device": 0, "context": 1, "stream": number, "correlation": op.corr})
            if "bytes" in op.args:
                args["memory bandwidth (GB/s)"] = op.args["bytes"] / max(1, op.end - op.start)
        args.update(op.args)
        self.events.append(
            {"ph": "X", "cat": op.cat, "name": op.name, "pid": 0, "tid": number, **self.span(op.start, op.end), "args": args}
        )
        if self.capture.flows:
            self.events.append(
                {"ph": "f", "id": op.corr, "pid": 0, "tid": number, "ts": self.time(op.start), "cat": "ac2g", "name": "ac2g", "bp": "e"}
            )

    def within(self, op: Op) -> bool:
        """Whether the capture has this operation."""
        window = self.window
        if op.end < 0 or op.start < window.start or op.start > window.end or (op.end > window.end and not window.keep_tail):
            return False
        return not self.missing("kernel", op.corr)

    def annotations(self) -> None:
        """gpu_user_annotation: each annotation again, around the operations launched inside it, per stream."""
        calls = {p.corr: p for p in self.rank.slices if p.corr}
        wanted = [
            p for p in self.rank.slices if p.cat == "user_annotation" and p.start >= self.window.start and 0 <= p.end <= self.window.end
        ]
        if not self.capture.steps:
            wanted = [p for p in wanted if not p.name.startswith("ProfilerStep")]
        operations = sorted(
            (c.start, o.stream.number, o.start, o.end) for o in self.rank.ops if self.within(o) and (c := calls.get(o.corr))
        )
        for piece in wanted:
            spans: dict[int, list[int]] = {}
            for at, number, start, end in operations:
                if piece.start <= at <= piece.end:
                    span = spans.setdefault(number, [start, end])
                    span[0], span[1] = min(span[0], start), max(span[1], end)
            for number, (start, end) in spans.items():
                self.events.append(
                    {
                        "ph": "X",
                        "cat": "gpu_user_annotation",
                        "name": piece.name,
                        "pid": 0,
                        "tid": number,
                        **self.span(start - 1, end + 1),
                        "args": {"External id": piece.ext},
                    }
                )

    def synchronisations(self) -> None:
        """cuda_sync records."""
        for row in self.rank.syncs:
            if row["start"] < self.window.start or row["end"] > self.window.end:
                continue
            args = {
                "cuda_sync_kind": SYNC_KIND[row["name"]],
                "stream": row["stream"],
                "correlation": row["corr"],
                "device": 0,
                "context": 1,
            }
            if "record" in row:
                args.update(
                    {
                        "wait_on_stream": row["wait_on_stream"],
                        "wait_on_cuda_event_record_corr_id": row["record"] or -1,
                        "wait_on_cuda_event_id": row["record"] % 97,
                    }
                )
            self.events.append(
                {
                    "ph": "X",
                    "cat": "cuda_sync",
                    "name": row["name"],
                    "pid": 0,
                    "tid": row["stream"],
                    **self.span(row["start"], row["end"]),
                    "args": args,
                }
            )

    def flows(self) -> None:
        """Forward to backward, by sequence number."""
        by_number: dict[int, list[Slice]] = {}
        for piece in self.rank.slices:
            if "Sequence number" in piece.args and self.window.start <= piece.start and piece.end <= self.window.end:
                by_number.setdefault(piece.args["Sequence number"], []).append(piece)
        for number, pair in by_number.items():
            if len(pair) >= 2:
                for phase, piece in (("s", pair[0]), ("f", pair[-1])):
                    row: Json = {
                        "ph": phase,
                        "id": number,
                        "pid": self.pid,
                        "tid": piece.tid,
                        "ts": self.time(piece.start),
                        "cat": "fwdbwd",
                        "name": "fwdbwd",
                    }
                    self.events.append({**row, "bp": "e"} if phase == "f" else row)

    def names(self) -> None:
        """Names of processes and threads."""
        start = self.time(self.window.start)
        rows: list[tuple[str, int, int, Json]] = [
            ("process_name", self.pid, 0, {"name": "python"}),
            ("process_labels", self.pid, 0, {"labels": "CPU"}),
            ("process_sort_index", self.pid, 0, {"sort_index": self.pid}),
        ]
        if self.device:
            rows += [
                ("process_name", 0, 0, {"name": "python"}),
                ("process_labels", 0, 0, {"labels": "GPU 0"}),
                ("process_sort_index", 0, 0, {"sort_index": 16777216}),
            ]
            rows += [("thread_name", 0, number, {"name": f"stream {number} "}) for number in sorted(self.rank.streams)]
        rows += [("thread_name", self.pid, t.tid, {"name": f"thread {t.tid} (python)"}) for t in self.rank.threads]
        for name, pid, tid, args in rows:
            self.events.append({"name": name, "ph": "M", "ts": start, "pid": pid, "tid": tid, "args": args})

    def document(self) -> Json:
        """The file."""
        self.names()
        for piece in self.rank.slices:
            self.slice(piece)
        for op in self.rank.ops:
            self.operation(op)
        if self.device:
            self.annotations()
        if self.capture.cuda_sync:
            self.synchronisations()
        if self.capture.flows:
            self.flows()
        start, end = self.window.start, self.window.end
        self.events.append(
            {
                "ph": "X",
                "cat": "Trace",
                **self.span(start, end),
                "pid": "Spans",
                "tid": "PyTorch Profiler",
                "name": "PyTorch Profiler (0)",
                "args": {"Op count": 0},
            }
        )
        self.events.append(
            {
                "name": "Iteration Start: PyTorch Profiler",
                "ph": "i",
                "s": "g",
                "pid": "Traces",
                "tid": "Trace PyTorch Profiler",
                "ts": self.time(start),
            }
        )
        self.events.append({"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": self.time(end)})
        head: Json = {"schemaVersion": 1, "deviceProperties": [self.device.properties()] if self.device else []}
        if self.device:
            head.update({"cupti_version": 22, "cuda_runtime_version": 12040, "cuda_driver_version": 12040})
        head.update(
            {"record_shapes": int(self.capture.shapes), "with_stack": int(self.capture.stacks)}
            if self.capture.shapes or self.capture.stacks
            else {}
        )
        head.update(self.capture.metadata)
        return {
            **head,
            "trace_id": f"{self.rank.sim.draws.seed:032X}",
            "displayTimeUnit": "ms",
            "baseTimeNanoseconds": BASE,
            "traceEvents": self.events,
            "traceName": "/tmp/trace.json",
        }


def launches(name: str) -> bool:
    """Whether a call starts work on the device, so that Kineto writes the start of a flow."""
    return "Launch" in name or "Memcpy" in name or "Memset" in name


def rocm_name(name: str) -> str:
    """The call's name on ROCm."""
    return {"cudaLaunchKernelExC": "hipExtLaunchKernel"}.get(name, name.replace("cuda", "hip", 1))


def distributed(rank: int, world: int, groups: list[tuple[str, str, list[int]]] | None = None, backend: str = "nccl") -> Json:
    """The metadata of a rank of a job; groups: (name, description, ranks)."""
    listed = groups or [("0", "default_pg", list(range(world)))]
    config = [{"pg_name": n, "pg_desc": d, "backend_config": f"cuda:{backend}", "pg_size": len(r), "ranks": r} for n, d, r in listed]
    return {
        "distributedInfo": {
            "backend": backend,
            "rank": rank,
            "world_size": world,
            "pg_count": len(listed),
            "pg_config": config,
            "nccl_version": "2.21.5",
        }
    }


def write(rank: Rank, path: Path, window: Window, capture: Capture, device: Device | None) -> None:
    """Writes one rank's file."""
    text = json.dumps(Writer(rank, window, capture, device).document(), separators=(",", ":"))
    if capture.packed:
        path.write_bytes(gzip.compress(text.encode(), 1))
    else:
        path.write_text(text)
