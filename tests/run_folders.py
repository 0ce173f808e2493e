# SPDX-License-Identifier: Apache-2.0
"""Directories as people have them of one run: traces, a log, what a monitor sampled, a memory snapshot.  Kernels, collectives,
waits, clocks, bandwidths and lines of logs are those of real files (shared/traces), so that no number here was chosen by what
holdup would call slow."""
from __future__ import annotations

import functools
import gzip
import json
import pickle
import re
import statistics
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Callable

from tests.caching_allocator import MIB, Allocator
from tests.program import SHARED

REAL = SHARED / "traces"
BASE = 1_795_000_000_000_000_000  # Unix time of the first step, ns
STEPS = 12
Event = dict[str, Any]


def is_there() -> bool:
    return (REAL / "kineto").is_dir()


def _load(folder: str) -> dict[str, Any]:
    path = next(p for p in sorted((REAL / folder).iterdir()) if ".json" in p.name)
    return json.loads(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())


@dataclass(frozen=True)
class Kernel:
    name: str
    us: float
    grid: tuple[int, ...]
    block: tuple[int, ...]


@functools.cache
def kernels() -> tuple[list[Kernel], float, dict[str, Any]]:
    """Those of one step of a real training run in bf16, the median of the calls that launch them, and its GPU."""
    trace = _load("kineto/astra-sim-megatron-tp8")
    events = trace["traceEvents"]
    calls = [e["dur"] for e in events if e.get("cat") == "cuda_runtime" and e["name"] == "cudaLaunchKernel"]
    found = [Kernel(e["name"], e["dur"], tuple(e["args"]["grid"]), tuple(e["args"]["block"])) for e in events
             if e.get("cat") == "kernel" and "nccl" not in e["name"]]
    return found, statistics.median(calls), trace["deviceProperties"][0]


@functools.cache
def all_reduces() -> list[Event]:
    """Of a real run of two ranks."""
    return [e for e in _load("kineto/hta-nccl")["traceEvents"] if e.get("cat") == "kernel" and "AllReduce" in e["name"]]


@functools.cache
def waits() -> tuple[str, list[float]]:
    """How long a real job waited for its loader in each step, over what its GPU computed in one."""
    events = _load("kineto/param-resnet-2023")["traceEvents"]
    found = [e for e in events if "enumerate(DataLoader)" in e.get("name", "")][1:]
    compute = sum(e["dur"] for e in events if e.get("cat") == "kernel") / len(found)
    return found[0]["name"], [e["dur"] / compute for e in found]


def bus_gbps() -> float:
    """Median bus bandwidth that a real all-reduce benchmark printed, in Gbit/s: 4 nodes over a slow network."""
    text = next((REAL / "nccl/bigscience-bandwidth").iterdir()).read_text(errors="replace")
    return statistics.median(float(x) for x in re.findall(r"busbw: +([\d.]+) +Gbps", text, re.M))


def slow_worker() -> float:
    """How many times as long a step of a real job took with one slow worker."""
    return json.loads((REAL / "straggler/bytedance/result-AR.json").read_text())["blocking_slowdown"]


def clocks() -> tuple[float, float]:
    """The highest SM clock of a real GPU, and the one it falls to, in MHz."""
    text = next(p for p in (REAL / "smi/utkuozdemir-captures").iterdir() if "h200" in p.name).read_text(errors="replace")
    found = [float(x) for x in re.findall(r"^ +SM +: (\d+) MHz", text, re.M)]
    return max(found), min(found)


@dataclass
class Rank:
    """A rank's timeline, written step by step in µs."""
    number: int = 0
    world: int = 1
    host: str = "node-a"

    def __post_init__(self) -> None:
        self.events: list[Event] = []
        self.now, self.ids = 10.0, 0

    def slice(self, cat: str, name: str, ts: float, dur: float, tid: int = 1, **args: Any) -> None:
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": 0 if cat == "kernel" else 100, "tid": tid, "ts": round(ts, 3), "dur": round(dur, 3), "args": args})

    def launch(self, kernel: Kernel, at: float, free: float, times: float = 1) -> float:
        """At `at` on the host; the stream is free from `free` on.  Returns when the kernel ends."""
        self.ids += 1
        call = kernels()[1]
        self.slice("cuda_runtime", "cudaLaunchKernel", at, call, correlation=self.ids)
        start = max(at + call + 3, free)
        self.slice("kernel", kernel.name, start, kernel.us * times, 7, device=0, stream=7, correlation=self.ids, grid=list(kernel.grid), block=list(kernel.block),
                   **{"registers per thread": 32})
        return start + kernel.us * times

    def trace(self) -> dict[str, Any]:
        return {"schemaVersion": 1, "deviceProperties": [kernels()[2]], "baseTimeNanoseconds": BASE,
                "distributedInfo": {"backend": "nccl", "rank": self.number, "world_size": self.world}, "traceEvents": self.events}


def job(world: int = 1, steps: int = STEPS, work: list[Kernel] | None = None, wait: Callable[[int], float] = lambda step: 0,
        times: Callable[[int, int], float] = lambda rank, step: 1, reduce_us: float | None = None) -> tuple[list[Rank], list[float]]:
    """`wait`: µs for the loader in a step; `times`: how much longer kernels take; `reduce_us`: of the all-reduce, once all ranks are in it.
    Returns the ranks and how long each step took, in µs."""
    ranks = [Rank(r, world, f"node-{'ab'[r * 2 // world]}") for r in range(world)]
    call, took = kernels()[1], []
    for step in range(steps):
        begin, ends = ranks[0].now, []
        for rank in ranks:
            at, free = begin, begin
            if wait(step):
                rank.slice("user_annotation", waits()[0], at, wait(step))
                at += wait(step)
            for kernel in work or kernels()[0][::10]:
                free = rank.launch(kernel, at, free, times(rank.number, step))
                at += 2 * call
            rank.now, rank.at = free, at
        last = max(rank.now for rank in ranks)
        for rank in ranks:
            end = rank.now
            if reduce_us is not None:
                model, end = all_reduces()[0], last + reduce_us
                rank.ids += 1
                group = {"Group size": world, "Process Group Ranks": str(list(range(world)))}
                rank.slice("cuda_runtime", "cudaLaunchKernel", rank.at, call, correlation=rank.ids)
                rank.slice("kernel", model["name"], max(rank.now, rank.at + call + 3), end - max(rank.now, rank.at + call + 3), 7,
                           **(model["args"] | group | {"correlation": rank.ids, "stream": 7}))
            ends.append(end)
        end = max(ends)
        for rank in ranks:
            rank.slice("cuda_runtime", "cudaStreamSynchronize", rank.at + 2 * call, end + 5 - rank.at - 2 * call, correlation=0)
            rank.slice("user_annotation", f"ProfilerStep#{step}", begin, end + 8 - begin)
            rank.now = end + 10
        took.append(end + 10 - begin)
    return ranks, took


# what is written beside the traces

def put_traces(folder: Path, ranks: list[Rank]) -> None:
    for rank in ranks:
        (folder / f"rank{rank.number}.json").write_text(json.dumps(rank.trace()))


def put_log(folder: Path, took: list[float], more: str = "", name: str = "slurm-4711.out", before: str = "") -> None:
    """A real line of Megatron-LM, with the numbers and times of this run."""
    real = (REAL / "deepspeed/superbench-megatron/megatron_deepspeed.log").read_text(errors="replace")
    line = re.search(r"iteration +\d+/ *\d+ .*elapsed time per iteration \(ms\): [\d.]+ .*", real)[0]
    at, text = BASE / 1e9, before
    for step, us in enumerate(took):
        at += us / 1e6
        stamp = datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        one = re.sub(r"iteration +\d+/", f"iteration {step + 1:8}/", line)
        text += f"[{stamp}] " + re.sub(r"(per iteration \(ms\): )[\d.]+", rf"\g<1>{us / 1000:.3f}", one) + "\n"
    (folder / name).write_text(text + more)


def nccl_lines(sockets: bool) -> str:
    """Lines of a real run over InfiniBand; with `sockets` as NCCL prints them where it may not use it."""
    real = next((REAL / "nccl/bigscience-bandwidth").iterdir()).read_text(errors="replace")
    lines = [line for word in ("NET/IB : Using", "Using network", " via NET/", " via P2P") for line in
             [line for line in real.splitlines() if "NCCL INFO" in line and word in line][:12]]
    if not sockets:
        return "\n".join(lines) + "\n"
    lines = [re.sub(r"via NET/IB/(\d)(/GDRDMA)?", r"via NET/Socket/\1", line) for line in lines]
    return "\n".join(re.sub(r"Using network IB", "Using network Socket", line) for line in lines) + "\n"


def put_csv(folder: Path, seconds: float, limited: Callable[[float], bool] = lambda t: False, name: str = "smi.csv", period: float = 0.1) -> None:
    """nvidia-smi --query-gpu=… --format=csv, with a zone as some write it; `limited`: is the clock lowered at this second?"""
    high, low = clocks()
    rows = ["timestamp, index, name, utilization.gpu [%], clocks.sm [MHz], clocks.max.sm [MHz], power.draw [W], temperature.gpu, "
            "clocks_event_reasons.hw_power_brake_slowdown, clocks_event_reasons.sw_power_cap"]
    for i in range(-5, int(seconds / period) + 6):
        t = i * period
        stamp = datetime.fromtimestamp(BASE / 1e9 + t, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        slow = limited(t)
        rows.append(f"{stamp}, 0, {kernels()[2]['name']}, 98 %, {low if slow else high:.0f} MHz, {high:.0f} MHz, 290.50 W, 64, {'Active' if slow else 'Not Active'}, Not Active")
    (folder / name).write_text("\n".join(rows) + "\n")


def put_jsonl(folder: Path, ranks: list[Rank], seconds: float, name: str = "monitor.jsonl", period: float = 0.05) -> None:
    """holdup monitor --jsonl of each rank's node: all GPUs work at their highest clock, and whose each is."""
    high = clocks()[0] * 1e6
    lines = []
    for i in range(-2, int(seconds / period) + 3):
        for rank in ranks:
            of = {"gpu": str(rank.number), "uuid": f"GPU-{rank.number:08x}-0000-4000-8000-00000000abcd"}
            series = [("holdup_gpu_info", of | {"model": kernels()[2]["name"]}, 1), ("holdup_gpu_utilization_ratio", of, 0.98), ("holdup_gpu_power_watts", of, 290.5),
                      ("holdup_gpu_sm_clock_hertz", of, high), ("holdup_gpu_sm_clock_max_hertz", of, high),
                      ("holdup_job_info", of | {"rank": str(rank.number), "job_id": "4711"}, 1)]
            lines.append(json.dumps({"time": BASE / 1e9 + i * period, "source": "nvidia", "host": rank.host, "metrics": [
                {"name": key, "labels": labels, "value": value} for key, labels, value in series]}, separators=(",", ":")))
    (folder / name).write_text("\n".join(lines) + "\n")


def put_fragmented(folder: Path, name: str = "memory.pickle") -> None:
    """Tensors of the sizes that a real job held, every other one freed; then one that no hole is large enough for."""
    real = pickle.loads((REAL / "torch-memory/cs336-silmont/mem_snapshot.pickle").read_bytes())
    sizes = [b["size"] for s in real["segments"] for b in s["blocks"] if b["size"] > MIB] or [r["size"] for r in real["device_traces"][0] if r.get("size", 0) > MIB]
    frames = [{"name": "forward", "filename": "model.py", "line": 84}]
    allocator = Allocator()
    held = [allocator.alloc(sizes[i % len(sizes)], frames) for i in range(60)]
    for address in held[::2]:
        allocator.free(address)
    free = allocator.free_blocks()
    allocator.record("oom", None, (max(free) + sum(free)) // 2, frames, device_free=0)
    (folder / name).write_bytes(pickle.dumps(allocator.snapshot()))
