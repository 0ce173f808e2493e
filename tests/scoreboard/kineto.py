# SPDX-License-Identifier: Apache-2.0
"""Writes what torch.profiler would have written of a simulated run, with the defects that real captures have.  The text of
an event is put together by hand: times must keep nanoseconds beside 10^15 microseconds, which no float does."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.scoreboard.job import Setup
from tests.scoreboard.machine import AUTOGRAD, DeviceOp, Machine, Span

PID, TIDS = 4711, {0: 4711, AUTOGRAD: 4790}
MOST_EVENTS = 10_000                    # above this the arrows are left out
CBID = {"cudaLaunchKernel": 211, "cudaMemcpyAsync": 41, "cudaStreamSynchronize": 131, "cudaDeviceSynchronize": 165,
        "cudaEventRecord": 135, "cudaStreamWaitEvent": 147, "cudaEventSynchronize": 137, "cudaMalloc": 20, "cudaFree": 22,
        "cudaGraphLaunch": 311}
WITH_ARROW = {"cudaLaunchKernel", "cudaMemcpyAsync", "cudaGraphLaunch", "cudaStreamWaitEvent", "cudaStreamSynchronize",
              "cudaDeviceSynchronize"}
CATEGORY = {"kernel": "kernel", "collective": "kernel", "memcpy": "gpu_memcpy", "memset": "gpu_memset"}


@dataclass(frozen=True)
class Capture:
    """What the recorder leaves out or blurs."""
    has_sync: bool = True
    has_shapes: bool = True
    rounds_to_us: bool = False
    lost_launches: float = 0.0          # share of kernels whose call was not recorded


class Writer:
    """One trace."""
    def __init__(self, job: Setup, machine: Machine, capture: Capture) -> None:
        self.job, self.machine, self.capture = job, machine, capture
        self.base = 1_750_000_000_000_000_000 + job.seed * 1_000_003
        draw = random.Random(job.seed)
        self.forget_what_was_before()
        self.lost = {op.correlation for op in machine.device_ops if draw.random() < capture.lost_launches}
        self.unlaunched = self.lost | {op.correlation for op in machine.device_ops if op.step < 0}
        self.said: dict[tuple[int, int], str] = {}

    def forget_what_was_before(self) -> None:
        """Of the time before the capture only the kernels remain that had not begun: they have no launch."""
        m = self.machine
        m.host_spans = [s for s in m.host_spans if s.start >= m.capture_start]
        m.sync_records = [r for r in m.sync_records if r["start"] >= m.capture_start]
        m.device_ops = [op for op in m.device_ops if op.start >= m.capture_start]

    def time(self, ns: int) -> str:
        ns += self.base
        return str(ns // 1000) if self.capture.rounds_to_us else f"{ns // 1000}.{ns % 1000:03d}"

    def length(self, start: int, end: int) -> str:
        if self.capture.rounds_to_us:
            return str((end + self.base) // 1000 - (start + self.base) // 1000)
        return f"{(end - start) // 1000}.{(end - start) % 1000:03d}"

    def slice(self, category: str, name: str, pid: int, tid: int, start: int, end: int, arguments: str) -> str:
        return (f'{{"ph": "X", "cat": "{category}", "name": {json.dumps(name)}, "pid": {pid}, "tid": {tid}, '
                f'"ts": {self.time(start)}, "dur": {self.length(start, end)}, "args": {{{arguments}}}}}')

    def arrow(self, side: str, category: str, number: int, pid: int, tid: int, when: int) -> str:
        end = ', "bp": "e"' if side == "f" else ""
        return (f'{{"ph": "{side}", "id": {number}, "pid": {pid}, "tid": {tid}, "ts": {self.time(when)}, '
                f'"cat": "{category}", "name": "{category}"{end}}}')

    # host

    def facts(self, span: Span) -> str:
        """What an operator says of itself; sequence numbers go on from step to step."""
        key = (id(span.facts), span.step)
        if key not in self.said:
            facts = dict(span.facts)
            if "Sequence number" in facts:
                facts["Sequence number"] += span.step * 10_000
            if not self.capture.has_shapes:
                facts.pop("Input Dims", None)
                facts.pop("Input type", None)
            self.said[key] = json.dumps(facts)[1:-1]
        return self.said[key]

    def host(self, span: Span, index: int) -> str:
        tid = TIDS.get(span.thread, 0)
        if span.category == "overhead":
            return self.slice("overhead", span.name, -1, 0, span.start, span.end, "")
        if span.category == "cuda_runtime":
            said = f'"External id": {span.external}, "cbid": {CBID.get(span.name, 0)}, "correlation": {span.correlation}'
        elif span.category == "python_function":
            said = f'"Python id": {span.external}, "Ev Idx": {index}'
        else:
            more = self.facts(span)
            said = f'"External id": {span.external}, "Record function id": 0, {more + ", " if more else ""}"Ev Idx": {index}'
        return self.slice(span.category, span.name, PID, tid, span.start, span.end, said)

    def host_events(self, with_arrows: bool) -> Iterator[str]:
        for index, span in enumerate(sorted(self.machine.host_spans, key=lambda s: (s.thread, s.start, -s.end))):
            if span.category == "cuda_runtime" and span.correlation in self.lost:
                continue
            yield self.host(span, index)
            if with_arrows and span.name in WITH_ARROW:
                yield self.arrow("s", "ac2g", span.correlation, PID, TIDS[span.thread], span.start)

    def gradient_arrows(self) -> Iterator[str]:
        """From an operator of forward to its node in backward."""
        begun: dict[int, Span] = {}
        for span in sorted(self.machine.host_spans, key=lambda s: s.start):
            number = span.facts.get("Sequence number", -1)
            if number < 0:
                continue
            number += span.step * 10_000
            if span.facts["Fwd thread id"] == 0:
                begun.setdefault(number, span)
            elif number in begun:
                source = begun.pop(number)
                yield self.arrow("s", "fwdbwd", number, PID, TIDS[source.thread], source.start)
                yield self.arrow("f", "fwdbwd", number, PID, TIDS[span.thread], span.start)

    # device

    def device(self, op: DeviceOp) -> str:
        said = f'"External id": {op.external}, "device": 0, "context": 1, "stream": {op.stream}'
        said += f', "correlation": {op.correlation}'
        if op.shape.kind in ("kernel", "collective"):
            said = '"queued": 0, ' + said
        if op.node >= 0:
            said += f', "graph id": 3, "graph node id": {op.node}'
        if op.shape.facts:
            said += ", " + op.shape.facts
        return self.slice(CATEGORY[op.shape.kind], op.shape.name, 0, op.stream, op.start, op.end, said)

    def device_events(self, with_arrows: bool) -> Iterator[str]:
        for op in self.machine.device_ops:
            yield self.device(op)
            if with_arrows and op.correlation not in self.unlaunched:
                yield self.arrow("f", "ac2g", op.correlation, 0, op.stream, op.start)

    def sync_events(self) -> Iterator[str]:
        for record in self.machine.sync_records:
            stream = record["stream"] if record["stream"] is not None else -1
            said = {"cuda_sync_kind": record["kind"]}
            said |= {k: v for k, v in record.items() if k.startswith("wait_on")}
            said |= {"stream": stream, "correlation": record["correlation"], "device": 0, "context": 1}
            yield self.slice("cuda_sync", record["kind"], 0, stream, record["start"], max(record["end"], record["start"]),
                             json.dumps(said)[1:-1])

    # the file

    def labels(self) -> Iterator[str]:
        zero = self.time(self.machine.capture_start)
        yield f'{{"name": "process_name", "ph": "M", "ts": {zero}, "pid": {PID}, "tid": 0, "args": {{"name": "python3"}}}}'
        yield f'{{"name": "process_labels", "ph": "M", "ts": {zero}, "pid": {PID}, "tid": 0, "args": {{"labels": "CPU"}}}}'
        yield f'{{"name": "process_labels", "ph": "M", "ts": {zero}, "pid": 0, "tid": 0, "args": {{"labels": "GPU 0"}}}}'
        for thread, tid in TIDS.items():
            yield (f'{{"name": "thread_name", "ph": "M", "ts": {zero}, "pid": {PID}, "tid": {tid}, '
                   f'"args": {{"name": "thread {tid} ({"pt_autograd_0" if thread == AUTOGRAD else "python3"})"}}}}')
        for number in self.machine.streams:
            yield (f'{{"name": "thread_name", "ph": "M", "ts": {zero}, "pid": 0, "tid": {number}, '
                   f'"args": {{"name": "stream {number} "}}}}')

    def head(self) -> dict[str, Any]:
        d = self.job.device
        head: dict[str, Any] = {"schemaVersion": 1, "deviceProperties": [
            {"id": 0, "name": d.name, "totalGlobalMem": d.memory, "computeMajor": d.major, "computeMinor": d.minor,
             "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048, "regsPerBlock": 65536, "warpSize": 32,
             "sharedMemPerBlock": 49152, "numSms": d.sms, "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 166912,
             "sharedMemPerMultiprocessor": 167936}],
            "cupti_version": 24, "cuda_runtime_version": 12040, "cuda_driver_version": 12040, "with_flops": 0,
            "record_shapes": int(self.capture.has_shapes), "profile_memory": 0, "with_stack": 0}
        if self.job.comm or self.job.tiny or self.job.shadow_ns:
            head["distributedInfo"] = {
                "backend": "nccl",
                "rank": 0,
                "world_size": 8,
                "pg_count": 1,
                "nccl_version": "2.21.5",
                "pg_config": [
                    {
                        "pg_name": "0",
                        "pg_desc": "default_pg",
                        "backend_config": "cuda:nccl",
                        "pg_size": 8,
                        "ranks": list(range(8)),
                    }
                ],
            }
        return head

    def text(self) -> str:
        m = self.machine
        plain = len(m.host_spans) + len(m.device_ops) + len(m.sync_records)
        with_arrows = plain + 2 * len(m.device_ops) + len(m.sync_records) <= MOST_EVENTS
        events = [*self.labels(), *self.host_events(with_arrows), *self.device_events(with_arrows)]
        if len(events) < MOST_EVENTS - 2000:
            events += self.gradient_arrows()
        if self.capture.has_sync:
            events += self.sync_events()
        events.append(
            f'{{"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": {self.time(m.now)}}}'
        )
        return (json.dumps(self.head())[:-1] + ', "displayTimeUnit": "ms", "traceEvents": [\n' + ",\n".join(events) +
                '\n], "traceName": "/tmp/trace.json"}\n')


def write(job: Setup, machine: Machine, capture: Capture) -> str:
    """The trace of a run that kept its log, as JSON."""
    return Writer(job, machine, capture).text()
