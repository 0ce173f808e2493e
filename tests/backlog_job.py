# SPDX-License-Identifier: Apache-2.0
"""A training loop captured in the middle of its life: a host that launches, a stream that runs, a queue of limited length.

The loop runs for many steps; the trace holds the records of a profiler that starts at one mark and stops at another.  GPU work
launched earlier is in it without its launch, as CUPTI leaves it; GPU work that is still queued at the end is there if the
profiler waits for the device when it stops, and else is not."""
from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

LATENCY, GAP, LAUNCH, RETURN = 6.0, 1.0, 5.0, 4.0       # µs


@dataclass(frozen=True)
class Job:
    kernels: int = 300                  # a step
    kernel_us: float = 60.0
    host_us: float = 15.0               # of operators before each launch
    load_us: float = 0.0                # before each step, in the data loader
    sync: bool = False                  # .item() at the end of each step
    slots: int = 1022                   # of the queue
    jitter: float = 0.02
    first: int = 20                     # steps before the capture
    steps: int = 6                      # in the capture
    drained: bool = True                # the profiler waits for the device when it stops
    idle_first: bool = False            # torch.cuda.synchronize() before the capture
    seed: int = 1

    def with_(self, **changes: Any) -> Job:
        return replace(self, **changes)


@dataclass
class Ran:
    marks: list[float]                  # when each step begins on the host, and the last ends
    host: list[tuple[str, str, float, float, int]]      # category, name, start, end, number of the launch
    gpu: list[tuple[float, float, int, int]]            # start, end, number, step


def run(job: Job, steps: int | None = None) -> Ran:
    """Numbers of launches count from 1; times in µs.  The same numbers of steps and kernels draw the same jitter."""
    total = job.first + (job.steps if steps is None else steps)
    random_ = random.Random(job.seed)
    now, number = 1000.0, 0
    out = Ran([], [], [])
    ends: list[float] = []
    for step in range(total):
        if job.idle_first and step == job.first and ends:
            now = max(now, ends[-1]) + RETURN
        out.marks.append(now)
        if job.load_us:
            out.host.append(("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", now, now + job.load_us, 0))
            now += job.load_us
        for _ in range(job.kernels):
            begin = now
            now += job.host_us * (1 + job.jitter * random_.uniform(-1, 1))
            length = job.kernel_us * (1 + job.jitter * random_.uniform(-1, 1))
            number += 1
            called, now = now, now + LAUNCH
            if len(ends) >= job.slots:
                now = max(now, ends[len(ends) - job.slots])
            out.host.append(("cuda_runtime", "cudaLaunchKernel", called, now, number))
            start = max(called + LATENCY, ends[-1] + GAP if ends else 0)
            out.gpu.append((start, start + length, number, step))
            ends.append(start + length)
            out.host.append(("cpu_op", "aten::mm", begin, now + 0.5, 0))
            now += 1.0
        if job.sync:
            called, now = now, max(now + RETURN, ends[-1] + RETURN)
            out.host.append(("cuda_runtime", "cudaStreamSynchronize", called, now, -1))
            now += 1.0
    out.marks.append(now)
    return out


def period_us(job: Job) -> float:
    """Of the steady state: from one end of a step to that of another, many steps later."""
    r = run(job, 60)
    last: dict[int, float] = {}
    for _, end, _, step in r.gpu:
        last[step] = end
    a, b = job.first + 20, job.first + 59
    return (max(last[b], r.marks[b + 1]) - max(last[a], r.marks[a + 1])) / (b - a)


def write(job: Job, path: Path) -> Path:
    r = run(job)
    begin, end = r.marks[job.first] - 5, r.marks[-1] + 5
    events: list[dict[str, Any]] = []

    def put(cat: str, name: str, start: float, stop: float, tid: int, **args: Any) -> None:
        events.append({"ph": "X", "cat": cat, "name": name, "pid": 1 if tid != 7 else 0, "tid": tid, "ts": round(start, 3),
                       "dur": round(stop - start, 3), "args": args})

    for k in range(job.first, len(r.marks) - 1):
        put("user_annotation", f"ProfilerStep#{k}", r.marks[k], r.marks[k + 1] - 1, 1)
    for cat, name, start, stop, number in r.host:
        if start >= begin and stop <= end:
            put(cat, name, start, stop, 1, **({"correlation": number, "cbid": 211} if number > 0 else {}))
    for start, stop, number, _ in r.gpu:
        if stop > begin and (job.drained or start < end):
            put("kernel", "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", start, stop, 7,
                correlation=number, stream=7, device=0, grid=[432, 1, 1], block=[128, 1, 1])
    events.append({"ph": "i", "name": "Record Window End", "ts": round(end, 3), "pid": "", "tid": "", "s": "g"})
    document = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB", "numSms": 108}], "traceEvents": events}
    path.write_text(json.dumps(document))
    return path
