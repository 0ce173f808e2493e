# SPDX-License-Identifier: Apache-2.0
"""For each finding a trace in which its cause is planted and one that only looks like it.

Three makers: the simulated machine of tests/scoreboard (the gain is that of a second run without the cause), recordings of jobs
without a device (tests/host_traces.py), and traces written line by line, whose gain is worked out beside them.  Numbers come
from real traces: MEASURED is what shared/traces/kineto holds, and nothing here knows a threshold of the program."""
from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests import parallel_traces
from tests.host_traces import DEAD, MS, RUNNING, SLEEPING, Recording, Thread as HostThread
from tests.pftrace import COUNTER, INSTANT, event, message, packet, track
from tests.scoreboard import plants
from tests.scoreboard.job import A100, Setup, Steps, draw, step_ns
from tests.scoreboard.kineto import Capture, write
from tests.scoreboard.machine import (
    COMM, COMPUTE, COPY, MAIN, US, Call, Close, Costs, Jitter, Launch, Loader, Machine, Memory, Open, Thread, Work, key_of,
)

# µs, and 1e9 bytes/s: medians over 51 traces of other people's jobs, of the medians of each
MEASURED = {
    "launch call": 6.7, "latency": 12.7, "gap": 1.0, "elementwise": 5.0, "cudaMalloc": 250.0, "cudaFree": 1016.0, "cudaMemcpyAsync": 13.5, "pinned": 8.2,
}
HANDOVER = 150.0                        # µs from the main thread to that of autograd, or back, in ten of them
MACHINE = Costs(slots=1022, latency=int(MEASURED["latency"] * US), gap=int(MEASURED["gap"] * US), device_jitter=0.01, host_jitter=0.04)


@dataclass
class Case:
    """A trace, or those of several ranks; `gain` is the truth in percent of the step, None where no fix is known by its time."""
    write: Callable[[Path], Path]
    gain: float | None = None
    points: float = 3.0                 # so far may the program be off
    says: tuple[str, ...] = ()          # what the finding's words must hold
    one_unit: bool = False              # its words count per step: no time in them is longer than one
    times: tuple[float, ...] = ()       # the times of a step that its statement may name, in µs


def gain(before: float, after: float) -> float:
    return 100 * (1 - after / before)


# the simulated machine

DENSE = replace(draw(3, "gpu"), device=A100, layers=4, steps=6, rows=1024, width=2048, guard=0, costs=MACHINE)       # its device never waits
SHORT = replace(DENSE, costs=replace(MACHINE, slots=32))            # a queue of less than a step: what the host does, the device feels
DEEP = replace(DENSE, guard=1, costs=replace(MACHINE, slots=128))   # a queue of more than a step: what the host does is hidden
SHARED = replace(DENSE, kind="ddp", comm="overlapped", comm_bytes=40 << 20)


def play(job: Setup, build: type[Steps] = Steps, before: Callable[[Machine], None] | None = None, keeps_log: bool = False) -> Machine:
    """As tests.scoreboard.job.run, with a program that may differ."""
    m = Machine(job.costs, job.seed, keeps_log)
    if before:
        before(m)
    for number in (COMPUTE, *((COMM,) if job.comm or job.tiny or job.shadow_ns else ())):
        m.stream(number)
    if job.workers:
        m.loader = Loader(m, job.workers, 2, job.batch_ns, job.guard + job.steps)
    m.start(m.script(Thread(MAIN), build(job).program()))
    m.run()
    return m


def simulated(job: Setup, cured: Setup | None = None, build: type[Steps] = Steps, cured_build: type[Steps] = Steps,
              before: Callable[[Machine], None] | None = None, cured_before: Callable[[Machine], None] | None = None,
              points: float = 3.0) -> Case:
    """The truth is a second run, of the job that is cured."""
    truth = None
    if cured:
        truth = gain(step_ns(play(job, build, before)), step_ns(play(cured, cured_build, cured_before)))

    def to(folder: Path) -> Path:
        path = folder / "rank0.json"
        path.write_text(write(job, play(job, build, before, keeps_log=True), Capture()))
        return path
    return Case(to, truth, points)


class CopiesAhead(Steps):
    """The batch of the next step comes from pinned memory on a stream of its own, while this one computes."""

    def input_copy(self) -> list[Any]:
        size = 12 << 20
        work = Work(key_of("ahead"), "memcpy", "Memcpy HtoD (Pinned -> Device)", int(size / MEASURED["pinned"]),
                    f'"bytes": {size}, "memory bandwidth (GB/s)": {MEASURED["pinned"]}')
        launch = Launch(work, COPY, "cudaMemcpyAsync", int(MEASURED["cudaMemcpyAsync"] * US))
        return [Open("cpu_op", "aten::to"), Open("cpu_op", "aten::copy_"), launch, Close(), Close()]


class LoadsCode(Steps):
    """New shapes come up in the middle of training: code for them is loaded."""

    def warm_up(self, step: int) -> list[Any]:
        return [Call(key_of(f"module{n}"), "cuModuleLoadData", 2 * MS) for n in range(4)] if step in (2, 4) else []


class Validates(Steps):
    """One step also computes a validation batch."""

    def warm_up(self, step: int) -> list[Any]:
        if step != 3:
            return []
        return [x for n in range(40) for x in self.operator(f"eval{n}", "aten::mm", [self.gemm(f"eval{n}", 1024, 2048, 2048)],
                                                            [[1024, 2048], [2048, 2048]], [self.bf16] * 2)]


class AllocatesAtFirst(Steps):
    """The caching allocator takes its memory in the first step, and no more."""

    def warm_up(self, step: int) -> list[Any]:
        if step > 0:
            return []
        return [Memory(key_of(f"malloc{n}"), "cudaMalloc", int(MEASURED["cudaMalloc"] * US), False) for n in range(2)]


class Odd(Steps):
    """Products whose sizes fit no tile: 1021 rows of 2045, at a third of the speed of 1024 rows of 2048."""
    sizes, slow = (1021, 2045), 3.0

    def chain_kernels(self) -> list[Any]:
        m, k = self.sizes
        program: list[Any] = []
        for n in range(6):
            work = self.gemm(f"odd{n}", m, k, k)
            program += self.operator(f"odd{n}", "aten::mm", [replace(work, nanoseconds=int(work.nanoseconds * self.slow))],
                                     [[m, k], [k, k]], [self.bf16] * 2, sequence=9500 + n)
        return program


class Even(Odd):
    sizes, slow = (1024, 2048), 1.0


class Cooling(Jitter):
    """From step 3 on, the clock is a quarter slower."""

    def at(self, table: list[float], key: int, step: int) -> float:
        return super().at(table, key, step) * (1.25 if table is self.device and step >= 3 else 1.0)


def throttled(m: Machine) -> None:
    m.jitter = Cooling(7, m.costs.device_jitter, m.costs.host_jitter)


def even(m: Machine) -> None:
    m.jitter = Jitter(7, m.costs.device_jitter, m.costs.host_jitter)


# traces line by line


class Page:
    """Events of one rank, times in µs from 0; one main thread, streams in order, and the calls that real ones have."""

    def __init__(self, device: str = "NVIDIA A100-SXM4-80GB") -> None:
        self.events: list[dict[str, Any]] = []
        self.device, self.correlation, self.now, self.free, self.thread = device, 0, 0.0, 0.0, 1

    def slice(self, category: str, name: str, start: float, duration: float, pid: int = 1, tid: int | None = None, **args: Any) -> None:
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid or self.thread, "ts": round(start, 3), "dur": round(duration, 3),
                            "args": args})

    def work(self, name: str, us: float, category: str = "kernel", call: str = "cudaLaunchKernel", stream: int = 7, op: str = "aten::mm",
             dims: list[list[int]] | None = None, dtype: str = "c10::BFloat16", sequence: int = -1, **args: Any) -> None:
        """An operator of 10 µs that launches one piece of work, which starts 13 µs after the call or when the stream is free."""
        self.correlation += 1
        said: dict[str, Any] = {"Input Dims": dims, "Input type": [dtype] * len(dims)} if dims else {}
        if sequence >= 0:
            said |= {"Sequence number": sequence, "Fwd thread id": 0}
        self.slice("cpu_op", op, self.now, 10, **said)
        self.slice("cuda_runtime", call, self.now + 2, MEASURED["launch call"], correlation=self.correlation)
        start = max(self.now + 2 + MEASURED["latency"], self.free + MEASURED["gap"])
        self.slice(category, name, start, us, 0, stream, correlation=self.correlation, device=0, stream=stream, context=1, **args)
        self.free = start + us
        self.now += 11

    def call(self, name: str, us: float) -> None:
        """A call of the runtime that keeps the host and nothing else."""
        self.correlation += 1
        self.slice("cuda_runtime", name, self.now, us, correlation=self.correlation)
        self.now += us

    def pause(self, category: str, name: str, us: float) -> None:
        self.slice(category, name, self.now, us)
        self.now += us

    def copy(self, kind: str, megabytes: float, us: float) -> None:
        """A copy that the host waits for."""
        self.work(f"Memcpy HtoD ({kind} -> Device)", us, "gpu_memcpy", "cudaMemcpyAsync", op="aten::copy_", bytes=int(megabytes * 1e6))
        self.wait()

    def wait(self, call: str = "cudaStreamSynchronize") -> None:
        self.correlation += 1
        end = max(self.free, self.now) + 5
        self.slice("cuda_runtime", call, self.now, end - self.now, correlation=self.correlation)
        self.slice("cuda_sync", "Stream Sync", self.now, end - self.now, 0, 7, stream=7, device=0, context=1, correlation=self.correlation)
        self.now = end

    def to(self, folder: Path) -> Path:
        path = folder / "rank0.json"
        path.write_text(json.dumps({"deviceProperties": [{"id": 0, "name": self.device}], "traceEvents": self.events}))
        return path


def pages(body: Callable[[Page, int], None], count: int = 9, device: str = "NVIDIA A100-SXM4-80GB") -> Page:
    """So many steps, each of which ends when its device work has."""
    page = Page(device)
    for step in range(count):
        began = page.now
        page.now += 5
        body(page, step)
        page.wait("cudaDeviceSynchronize")
        page.now += 2
        page.slice("user_annotation", f"ProfilerStep#{step}", began, page.now - began)
        page.now += 1
    return page


def paper(body: Callable[[Page, int], None], cured: Callable[[Page, int], None], points: float = 1.5, one_unit: bool = True) -> Case:
    """The truth is the same pages with `cured` for `body`."""
    return Case(pages(body).to, gain(pages(body).now, pages(cured).now), points, one_unit=one_unit)


GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"


def gemms(page: Page, rows: int, count: int, us: float, sequence: int = -1) -> None:
    for n in range(count):
        page.work(GEMM, us, sequence=sequence + n if sequence >= 0 else -1, dims=[[rows, 512], [512, 512]], grid=[rows // 64, 4, 1], block=[128, 1, 1])


def products(page: Page, _: int) -> None:
    """4 ms."""
    gemms(page, 512, 4, 1000)


def heating(page: Page, step: int) -> None:
    """The same products, a quarter slower from step 4 on."""
    gemms(page, 512, 10, 1000 if step < 4 else 1250)


def cool(page: Page, _: int) -> None:
    gemms(page, 512, 10, 1000)


def reads_numbers(page: Page, _: int) -> None:
    """Each loss is printed, which takes Python 300 µs, before the next product."""
    for _ in range(4):
        gemms(page, 512, 1, 1000)
        page.slice("cpu_op", "aten::item", page.now, page.free - page.now + 8)
        page.wait()
        page.now += 300


def reads_none(page: Page, _: int) -> None:
    for _ in range(4):
        gemms(page, 512, 1, 1000)
        page.now += 300


def takes_memory(page: Page, _: int) -> None:
    """Before each of four products the driver is asked for memory, while nothing runs."""
    for _ in range(4):
        page.wait()
        page.call("cudaMalloc", MEASURED["cudaMalloc"])
        page.call("cudaFree", MEASURED["cudaFree"])
        gemms(page, 512, 1, 1000)


def keeps_memory(page: Page, _: int) -> None:
    for _ in range(4):
        page.wait()
        gemms(page, 512, 1, 1000)


def collects(page: Page, step: int) -> None:
    """A collection of 10 ms in every third step."""
    if step % 3 == 1:
        page.pause("python_function", "Python GC", 10_000)
    products(page, step)


def saves(page: Page, step: int) -> None:
    """A checkpoint of 10 ms in every third step."""
    if step % 3 == 1:
        page.pause("user_annotation", "checkpoint", 10_000)
    products(page, step)


def recompiles(page: Page, step: int) -> None:
    """Code for a new shape, 4 ms, in every third step."""
    if step % 3 == 1:
        page.call("cuModuleLoadData", 4000)
    products(page, step)


def is_profiled(page: Page, step: int) -> None:
    """The profiler takes 2 ms for a buffer before the products."""
    page.slice("overhead", "Activity Buffer Request", page.now, 2000, -1, 0)
    page.correlation += 1
    page.slice("cuda_runtime", "cudaEventRecord", page.now, 2000, correlation=page.correlation)
    page.now += 2000
    products(page, step)


def launches(page: Page, _: int) -> None:
    """200 small products of 5 µs, each 31 µs of host time after the last."""
    for _ in range(200):
        page.work(GEMM, MEASURED["elementwise"], dims=[[64, 64], [64, 64]])
        page.now += 20


def tokenizes(page: Page, step: int) -> None:
    """Python that launches nothing, 3 ms, before the products."""
    page.pause("python_function", "train.py(33): tokenize", 3000)
    products(page, step)


def draws_on_the_cpu(page: Page, step: int) -> None:
    """A tensor filled on the CPU, 3 ms, between two pairs of products that the host waits for."""
    gemms(page, 512, 2, 1000)
    page.wait()
    page.pause("cpu_op", "aten::normal_", 3000)
    gemms(page, 512, 2, 1000)


def draws_on_the_gpu(page: Page, _: int) -> None:
    gemms(page, 512, 2, 1000)
    page.wait()
    gemms(page, 512, 2, 1000)


def tokenizes_meanwhile(page: Page, step: int) -> None:
    """The same behind the launches: the device computes for longer."""
    products(page, step)
    page.pause("python_function", "train.py(33): tokenize", 3000)


def pauses(page: Page, step: int) -> None:
    """3 ms of which nothing is recorded."""
    page.now += 3000
    products(page, step)


def pauses_meanwhile(page: Page, step: int) -> None:
    products(page, step)
    page.now += 3000


def pauses_at_times(page: Page, step: int) -> None:
    """10 ms in every third step, where other steps have none."""
    if step % 3 == 1:
        page.now += 10_000
    products(page, step)


def waits_for_each(page: Page, _: int) -> None:
    """CUDA_LAUNCH_BLOCKING=1: 20 kernels of 200 us, 100 us of host between two launches."""
    for _ in range(20):
        page.correlation += 1
        start = page.now + MEASURED["latency"]
        page.slice("cpu_op", "aten::mm", page.now - 5, 5 + MEASURED["latency"] + 200 + 6)
        page.slice("cuda_runtime", "cudaLaunchKernel", page.now, MEASURED["latency"] + 200 + 5, correlation=page.correlation)
        page.slice("kernel", GEMM, start, 200, 0, 7, correlation=page.correlation, device=0, stream=7, context=1)
        page.free = start + 200
        page.now = page.free + 5 + 100


def waits_for_none(page: Page, _: int) -> None:
    for _ in range(20):
        page.work(GEMM, 200)
        page.now += 100 - 11 + MEASURED["latency"]


def captures(page: Page, step: int) -> None:
    """A graph of 100 launches is captured in 4 ms before the products: nothing of it runs."""
    page.call("cudaStreamBeginCapture_v10000", 5)
    for _ in range(100):
        page.pause("cpu_op", "aten::mm", 33)
        page.call("cudaLaunchKernel", 6)
    page.call("cudaStreamEndCapture", 30)
    page.call("cudaGraphInstantiate", 65)
    products(page, step)


def replays(page: Page, step: int) -> None:
    """A graph of 20 kernels, launched by one call."""
    page.slice("cuda_runtime", "cudaGraphLaunch", page.now, 20, correlation=page.correlation + 1)
    page.correlation += 1
    start = page.now + MEASURED["latency"]
    for n in range(20):
        page.slice("kernel", GEMM, start + 200 * n, 199, 0, 7, correlation=page.correlation, device=0, stream=7, context=1)
    page.free = start + 200 * 20
    page.now += 25


def pins(page: Page, step: int) -> None:
    """A pinned buffer for each batch, while nothing runs."""
    page.call("cudaHostAlloc", 2500)
    products(page, step)
    page.wait()
    page.call("cudaFreeHost", 500)


def pinned_once(page: Page, step: int) -> None:
    products(page, step)
    page.wait()


def pins_meanwhile(page: Page, step: int) -> None:
    products(page, step)
    page.call("cudaHostAlloc", 900)


def begins_cold(page: Page, step: int) -> None:
    """The first launch of the kernel loads its module: 30 ms, once."""
    if step == 0:
        page.correlation += 1
        page.slice("cuda_runtime", "cudaLaunchKernel", page.now, 30_000, correlation=page.correlation)
        page.slice("kernel", GEMM, page.now + 30_005, 1000, 0, 7, correlation=page.correlation, device=0, stream=7, context=1, grid=[8, 4, 1],
                   block=[128, 1, 1])
        page.now += 30_001
        page.free = page.now + 1004
    gemms(page, 512, 3 if step == 0 else 4, 1000)


def launched_at_once(page: Page, _: int) -> None:
    """The same kernels as one graph: 1 µs between them."""
    page.work(GEMM, 200 * (MEASURED["elementwise"] + MEASURED["gap"]))


def computes_again(page: Page, step: int) -> None:
    """A checkpointed segment of three products: forward, and in backward again before the gradients."""
    segment(page, step, True)


def computes_once(page: Page, step: int) -> None:
    segment(page, step, False)


def segment(page: Page, step: int, again: bool) -> None:
    gemms(page, 512, 3, 1000, 100 * step)
    page.now += HANDOVER
    page.thread, began = 2, page.now
    page.now += 2
    if again:
        gemms(page, 512, 3, 1000, 100 * step + 50)
    page.work(GEMM, 3000, dims=[[512, 512], [512, 512]])
    for n, name in enumerate(("autograd::engine::evaluate_function: CheckpointFunctionBackward", "CheckpointFunctionBackward")):
        page.slice("cpu_op", name, began + n, page.now - began - 2 * n, **{"Sequence number": 100 * step + 99, "Fwd thread id": 1})
    page.thread = 1
    page.now += HANDOVER


def visits(page: Page, names: tuple[str, ...], us: float) -> None:
    for _ in range(4):
        page.pause("cpu_op", "aten::addmm", 1000)
    began = page.now
    for name in names:
        page.pause("cpu_op", name, us)
        page.now += 4
    page.slice("user_annotation", "Optimizer.step#Adam.step", began, page.now - began + 1)
    page.now += 2


def visits_each(page: Page, _: int) -> None:
    """80 parameters, three operators each."""
    visits(page, ("aten::mul_", "aten::addcmul_", "aten::addcdiv_") * 80, 4)


def visits_fused(page: Page, _: int) -> None:
    """One call, which takes a fifth: that of torch 2.15 on two CPUs takes 10 to 39 % of the loop."""
    visits(page, ("aten::_fused_adamw_",), 384)


def visits_all(page: Page, _: int) -> None:
    """As long, in operators of whole lists of tensors."""
    visits(page, ("aten::_foreach_mul_", "aten::_foreach_addcmul_", "aten::_foreach_addcdiv_"), 640)


def forward(page: Page, on_gpu: bool) -> None:
    for _ in range(4):
        if on_gpu:
            gemms(page, 512, 1, 300)
        else:
            page.pause("cpu_op", "aten::addmm", 300)


def train(page: Page, on_gpu: bool) -> None:
    """Forward, a node of backward of the double length, an optimizer."""
    forward(page, on_gpu)
    began = page.now
    page.now += 5
    forward(page, on_gpu)
    forward(page, on_gpu)
    page.slice("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", began, page.now - began)
    page.now += 10
    page.pause("user_annotation", "Optimizer.step#SGD.step", 20)
    page.now += 10


def trains(page: Page, _: int) -> None:
    train(page, True)
    page.wait()


def validates(page: Page, _: int) -> None:
    train(page, True)
    forward(page, True)
    page.wait()


def trains_twice(page: Page, _: int) -> None:
    """Two networks, two optimizers."""
    train(page, True)
    train(page, True)
    page.wait()


def trains_on_cpu(page: Page, _: int) -> None:
    train(page, False)


def validates_on_cpu(page: Page, _: int) -> None:
    train(page, False)
    forward(page, False)


def longer_sequences(page: Page, step: int) -> None:
    """From step 4 on, batches of longer sequences: the same products, half as large again."""
    gemms(page, 512 if step < 4 else 768, 10, 1000 if step < 4 else 1500)


def mixed_copies(page: Page, _: int) -> None:
    """Labels from pageable, images from pinned memory, both waited for; then 4 ms of work."""
    page.copy("Pageable", 9.0, 2100)
    page.copy("Pinned", 16.4, 2000)
    gemms(page, 512, 4, 1000)


def slow_loader(page: Page, _: int) -> None:
    """6 of 10 ms."""
    page.slice("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", page.now, 6000)
    page.now += 6000
    gemms(page, 512, 4, 980)


# jobs without a device


def on_cpu(*parts: tuple[str, int, float, float]) -> Callable[[], Case]:
    """Steps of operators: name, how many, us of each, us between two.  The truth is the step without the first part."""
    def body(page: Page, _: int) -> None:
        for name, count, us, gap in parts:
            for _ in range(count):
                page.pause("cpu_op", name, us)
                page.now += gap
    def cured(page: Page, _: int) -> None:
        for name, count, us, gap in parts[1:]:
            for _ in range(count):
                page.pause("cpu_op", name, us)
                page.now += gap
    def make() -> Case:
        before, after = Page(), Page()
        for page, steps in ((before, body), (after, cured)):
            for step in range(9):
                began = page.now
                steps(page, step)
                page.slice("user_annotation", f"ProfilerStep#{step}", began, page.now - began)
                page.now += 1
        return Case(before.to, gain(before.now, after.now), one_unit=True)
    return make


STEPS = 10


def recorded(body: Callable[[HostThread, HostThread, int], None], truth: float | None = None, **facts: int) -> Case:
    """One process with a main thread that takes steps, and a helper."""
    def to(folder: Path) -> Path:
        recording = Recording(1000 * MS)
        recording.facts(**facts)
        recording.process(100, "train")
        main, helper = recording.thread(100), recording.thread(100, 101, "helper")
        for step in range(STEPS):
            with main.range(f"ProfilerStep#{step}"):
                body(main, helper, step)
        return recording.write(folder / "run.pftrace")
    return Case(to, truth)


def works(thread: HostThread, ms: float, seed: int) -> None:
    thread.runs(int(ms * MS * random.Random(seed).uniform(0.99, 1.01)))


def waits_for(call: str, ms: int = 30) -> Callable[[HostThread, HostThread, int], None]:
    """60 ms of work and a wait of the main thread."""
    def body(main: HostThread, _: HostThread, step: int) -> None:
        works(main, 60, step)
        main.starved(ms * MS) if call == "cpu" else main.call(call, ms * MS, path="/data/x" if call in ("read", "fsync") else None)
        works(main, 1, step)
    return body


def writes_lines(main: HostThread, _: HostThread, step: int) -> None:
    """30,000 lines of 15 bytes, a write of 1 us for each, recorded by the hundred: 30 ms; 450 kB fit into seven buffers."""
    works(main, 60, step)
    for _part in range(300):
        main.call("write", MS // 10, path="/data/lines.csv", bytes=1500, calls=100)
        main.runs(1000)
    works(main, 1, step)


def writes_pieces(main: HostThread, _: HostThread, step: int) -> None:
    """The same time in calls that write 1 MB each: a buffer is no help."""
    works(main, 60, step)
    for _part in range(60):
        main.call("write", MS // 2, path="/data/pieces.bin", bytes=1 << 20)
        main.runs(1000)
    works(main, 1, step)


def touches_memory(pages: int, truth: float | None = None) -> Case:
    """Nine samples of 10 ms in each step, three of them in the kernel though in no call, and 5 ms in munmap; 100,000 faults in all."""
    def to(folder: Path) -> Path:
        recording = Recording(1000 * MS)
        recording.process(100, "train")
        own = recording.uuid
        main = recording.thread(100)
        texts = [(5, message((1, 1), (2, "fill_tile"))), (17, message((1, 1), (2, "train"))), (19, message((1, 1), (7, [1])))]
        frame = [(6, message((1, 1), (2, 1), (3, 1), (4, 16))), (7, message((1, 1), (2, [1])))]
        recording.out.append(packet((12, message(*texts, *frame)), (59, message((12, message((1, message((2, 100), (4, 1))))))), ts=1, flags=1))
        for step in range(STEPS):
            with main.range(f"ProfilerStep#{step}"):
                for sample in range(9):
                    main.runs(5 * MS)
                    mode = 1 if sample % 3 == 0 else 2
                    recording.out.append(packet((66, message((2, 100), (3, 100), (4, 1), (5, mode))), ts=main.now, flags=2))
                    main.runs(5 * MS)
                main.call("munmap", 5 * MS, "file_meta")
        for name, value in (("page faults", 100_000), ("pages held at most", pages)):
            uuid = recording.next()
            recording.out.append(packet(track(uuid, name, own, (8, b""))))
            recording.out.append(packet(event(COUNTER, uuid, None, None, None, (44, float(value))), ts=main.now))
        return recording.write(folder / "run.pftrace")
    return Case(to, truth, says=("fill_tile", "100,000 faults"))


def starts_processes(children: int, ms: int, truth: float | None = None) -> Case:
    """60 ms of work, then children one behind the other: a fork of 1 ms, and a wait for as long as the child lives."""
    def to(folder: Path) -> Path:
        recording = Recording(1000 * MS)
        recording.process(100, "bash")
        main, pid = recording.thread(100), 200
        for step in range(STEPS):
            with main.range(f"ProfilerStep#{step}"):
                works(main, 60, step)
                for _child in range(children):
                    pid += 1
                    recording.process(pid, "sed")
                    main.call("fork", 1 * MS, "wait")
                    child = recording.thread(pid, start=main.now)
                    child.call("openat", MS // 10, path="/lib/libc.so.6")
                    child.runs(ms * MS - 2 * (MS // 10))
                    child.call("write", MS // 10, "pipe", bytes=10)
                    main.call("wait4", ms * MS + MS // 20)
                works(main, 1, step)
        return recording.write(folder / "run.pftrace")
    return Case(to, truth, says=("sed",))


def helper_waits(call: str) -> Callable[[HostThread, HostThread, int], None]:
    """The same wait, of a thread that nobody waits for."""
    def body(main: HostThread, helper: HostThread, step: int) -> None:
        works(main, 90, step)
        helper.starved(30 * MS) if call == "cpu" else helper.call(call, 30 * MS, path="/data/x" if call in ("read", "fsync") else None)
        helper.now = main.now
    return body


def joins(*ms: int, truth: float | None = None) -> Case:
    """A main thread that waits for threads to end, which do nothing but compute in one function, on two CPUs."""
    def to(folder: Path) -> Path:
        recording = Recording(1000 * MS)
        recording.facts(cpus=2)
        recording.functions("reduce_rows")
        recording.process(100, "reduce")
        main = recording.thread(100, name="reduce")
        main.state(RUNNING)
        for i, length in enumerate(ms):
            t = recording.thread(100, 101 + i, "reduce", main.now)
            t.state(RUNNING)
            t.computes(length * MS, 1)
            t.state(DEAD)
        main.waits("pthread_join", 1000 * MS + max(ms) * MS)
        main.runs(MS)
        main.state(DEAD)
        return recording.write(folder / "run.pftrace")
    return Case(to, truth, says=("pthread_join", "reduce_rows") if truth else ())


def fetches(*threads: str, truth: float | None = None) -> Case:
    """A main thread that waits for threads: "fetch" asks a server 20 times, which takes 10 ms each, "crunch" computes as long."""
    def to(folder: Path) -> Path:
        recording = Recording(1000 * MS)
        recording.facts(cpus=4)
        recording.process(100, "crawl")
        main = recording.thread(100, name="crawl")
        main.state(RUNNING)
        for i, does in enumerate(threads):
            t = recording.thread(100, 101 + i, does, main.now)
            t.state(RUNNING)
            for _ in range(20):
                if does == "fetch":
                    t.waits("recv", t.now + 10 * MS)
                t.runs(MS // 10 if does == "fetch" else 11 * MS)
            t.state(DEAD)
        main.waits("pthread_join", t.now + MS // 50)
        main.runs(MS)
        main.state(DEAD)
        return recording.write(folder / "run.pftrace")
    return Case(to, truth, says=(f"{len(threads)} threads wait for", "recv") if truth else ())


def writes_to(reader_ms: int, writer_ms: int) -> Case:
    """A pipe of one place: `sort` computes and writes, `ship` reads and sleeps, each for its time; another process reads another pipe all the time."""
    def to(folder: Path) -> Path:
        recording = Recording(1000 * MS)
        recording.facts(cpus=4)
        for pid, name, parent in ((100, "sort", 0), (200, "ship", 100), (300, "log", 100)):
            recording.process(pid, name, parent)
        main, ship, log = recording.thread(100, name="sort"), recording.thread(200, name="ship"), recording.thread(300, name="log")
        for t in (main, ship, log):
            t.state(RUNNING)
        full_until = main.now
        for _ in range(40):
            main.runs(writer_ms * MS)
            if main.now < full_until:
                main.waits("write", full_until, "pipe")
            main.runs(MS // 50)
            if ship.now < main.now:
                ship.waits("read", main.now, "pipe")
            ship.runs(MS // 50)
            ship.waits("nanosleep", ship.now + reader_ms * MS)
            ship.call("read", MS // 100, "pipe")
            full_until = ship.now
        log.waits("read", main.now, "pipe")
        main.runs(MS)
        for t in (main, ship, log):
            t.state(DEAD)
        return recording.write(folder / "run.pftrace")
    return Case(to, says=("sort (100)", "ship (200)", "nanosleep") if reader_ms > writer_ms else ())


def goroutines(ms: int, rest_ms: int) -> Case:
    """A program of Go whose two threads compute by turns, with a rest of both between."""
    def to(folder: Path) -> Path:
        recording = Recording(1000 * MS)
        recording.facts(cpus=2, go_process=100)
        recording.process(100, "stock")
        pair = [recording.thread(100, tid, "stock") for tid in (100, 101)]
        for t in pair:
            t.state(RUNNING)
        at = pair[0].now
        for turn in range(20):
            one, other = pair[turn % 2], pair[1 - turn % 2]
            one.now = other.now = at
            one.state(RUNNING)
            other.state(SLEEPING)
            one.now = at + ms * MS
            one.state(SLEEPING)
            at = one.now + rest_ms * MS
        for t in pair:
            t.now = at
            t.state(DEAD)
        return recording.write(folder / "run.pftrace")
    return Case(to, says=("No thread of this Go program runs for 75 %",) if rest_ms else ())


def go_calls(in_kernel: int, in_go: int) -> Case:
    """A program of Go that is so many of each 10 ms in the kernel for its function main.emit, and in main.encode."""
    def to(folder: Path) -> Path:
        recording = Recording(1000 * MS)
        recording.facts(cpus=2, go_process=100)
        texts = ("[kernel]", "syscall.write", "main.emit", "main.encode")
        parts: list[tuple[int, Any]] = [(17, message((1, k), (2, module))) for k, module in ((1, "events"), (2, "[kernel]"))]
        parts += [(19, message((1, k), (7, [k]))) for k in (1, 2)]
        for k, name in enumerate(texts, 1):
            parts += [(5, message((1, k), (2, name))), (6, message((1, k), (2, k), (3, 2 if k == 1 else 1), (4, 16 * k)))]
        parts += [(7, message((1, 1), (2, [3, 2, 1]))), (7, message((1, 2), (2, [4])))]
        each = (59, message((12, message((1, message((1, MS), (4, 1)))))))
        recording.out.append(packet((12, message(*parts)), each, ts=recording.start, flags=1))
        recording.process(100, "events")
        main = recording.thread(100, name="events")
        main.state(RUNNING)
        for _ in range(10):
            for chain, ms in ((1, in_kernel), (2, in_go)):
                for _ms in range(ms):
                    main.runs(MS - 1)
                    recording.out.append(packet((66, message((2, 100), (3, 100), (4, chain), (5, chain))), ts=main.now, flags=2))
                    main.runs(1)
        main.state(DEAD)
        return recording.write(folder / "run.pftrace")
    return Case(to, says=("main.emit", "system call write") if in_kernel > in_go else ())


def looks_for_child(life_ms: int, truth: float | None = None) -> Case:
    """A program that looks each 50 ms whether its child has ended, in each of ten rounds."""
    def to(folder: Path) -> Path:
        recording = Recording(1000 * MS)
        recording.facts(cpus=2)
        recording.process(100, "watch")
        main = recording.thread(100, name="watch")
        main.state(RUNNING)
        for i in range(10):
            main.runs(MS)
            recording.process(200 + i, "convert", 100)
            child = recording.thread(200 + i, start=main.now)
            child.state(RUNNING)
            child.computes(life_ms * MS)
            child.state(DEAD)
            while main.now < child.now:
                main.waits("nanosleep", main.now + 50 * MS)
                main.runs(MS // 50)
        main.runs(MS)
        main.state(DEAD)
        return recording.write(folder / "run.pftrace")
    return Case(to, truth, says=("nanosleep", "convert") if truth else ())


def waits_for_children(*ms: int, truth: float | None = None) -> Case:
    """make -j2: compilers of two files at a time, and a main process that only waits."""
    def to(folder: Path) -> Path:
        recording = Recording(1000 * MS)
        recording.facts(cpus=2)
        recording.process(100, "make")
        main = recording.thread(100, name="make")
        main.state(RUNNING)
        main.runs(MS)
        free = [main.now, main.now]
        for i, length in enumerate(ms):
            at = free.index(min(free))
            if i > 1:
                main.waits("wait4", free[at] + MS // 50, "child")
            recording.process(200 + i, "cc1", 100, ("cc1", "-O2", f"file{i}.c"))
            child = recording.thread(200 + i, start=main.now)
            child.state(RUNNING)
            child.computes(length * MS)
            child.state(DEAD)
            free[at] = child.now
            main.runs(MS // 10)
        for end in sorted(free):
            if end > main.now:
                main.waits("wait4", end + MS // 50, "child")
                main.runs(MS // 10)
        main.runs(MS)
        main.state(DEAD)
        return recording.write(folder / "run.pftrace")
    return Case(to, truth, says=("make waits for 4 child processes", "cc1 (file3.c)") if truth else ())


def computes_in(*parts: tuple[str, int]) -> Case:
    """A main thread that computes in functions by turns, so many milliseconds of each turn; 10 turns."""
    def to(folder: Path) -> Path:
        recording = Recording(1000 * MS)
        recording.facts(cpus=2)
        recording.functions(*(name for name, _ in parts))
        recording.process(100, "render")
        main = recording.thread(100, name="render")
        main.state(RUNNING)
        for _ in range(10):
            for number, (_, ms) in enumerate(parts, 1):
                main.computes(ms * MS, number)
        main.state(DEAD)
        return recording.write(folder / "run.pftrace")
    return Case(to, says=(parts[0][0],))


def team(mine: int, theirs: int, truth: float | None = None) -> Case:
    """Two threads of OpenMP in one region: a main thread that then waits in no recorded call, and another one that may do so too."""
    def to(folder: Path) -> Path:
        recording = Recording(1000 * MS)
        recording.facts(cpus=2)
        recording.process(100, "stencil")
        texts = [(5, message((1, 1), (2, "sweep._omp_fn.0"))), (17, message((1, 1), (2, "stencil"))), (19, message((1, 1), (7, [1])))]
        frame = [(6, message((1, 1), (2, 1), (3, 1), (4, 16))), (7, message((1, 1), (2, [1])))]
        each = (59, message((12, message((1, message((1, MS), (4, 1)))))))
        recording.out.append(packet((12, message(*texts, *frame)), each, ts=recording.start, flags=1))
        main, other = recording.thread(100, name="stencil"), recording.thread(100, 101, "stencil")
        for t, ms in ((main, mine), (other, theirs)):
            t.state(RUNNING)
            t.computes(ms * MS, 1)
            t.sleeps((max(mine, theirs) - ms) * MS)
            t.state(DEAD)
        return recording.write(folder / "run.pftrace")
    return Case(to, truth, says=("sweep", "OpenMP") if truth else ())


def interprets(turns: int, wait_of: str, truth: float | None = None) -> Case:
    """Two threads that compute 5 ms in turns, on two CPUs; each waits for the other one, which signals when it stops."""
    def to(folder: Path) -> Path:
        recording = Recording(1000 * MS)
        recording.facts(cpus=2)
        recording.functions("crunch")
        recording.process(100, "python3")
        main = recording.thread(100, name="python3")
        main.state(RUNNING)
        pair = [recording.thread(100, 101 + i, "python3", main.now) for i in (0, 1)]
        for t in pair:
            t.state(RUNNING)
        for turn in range(turns):
            one, other = pair[turn % 2], pair[1 - turn % 2]
            one.computes(5 * MS, 1)
            recording.out.append(packet(event(INSTANT, one.uuid, "wake", "osrt", {"object": "0x1000", "how": "signal", "caller": "drop_gil"}), ts=one.now))
            other.state(SLEEPING)
            other.call("pthread_cond_wait", 5 * MS, object="0x1000", caller=wait_of)
            other.state(RUNNING)
        for t in pair:
            t.state(DEAD)
        main.waits("pthread_join", pair[0].now + MS // 100)
        main.runs(MS)
        main.state(DEAD)
        return recording.write(folder / "run.pftrace")
    return Case(to, truth, says=("interpreter lock", "crunch") if truth else ())


# several ranks


def ranks(transfer_us: float, elements: int, late_us: float = 0, late_rank: int = 2, truth: float | None = None,
          says: tuple[str, ...] = ()) -> Case:
    """Four ranks that compute 9 ms in three kernels and all-reduce behind each; one may come late, by its loader."""
    def to(folder: Path) -> Path:
        count, steps, layers, latency = 4, 6, 3, MEASURED["latency"]
        r = random.Random(4)
        pages_ = [Page("NVIDIA H100 80GB HBM3") for _ in range(count)]
        now = 0.0
        for step in range(steps):
            arrive = [0.0] * count
            begin = now
            for p in pages_:
                p.now = p.free = now
            for rank, p in enumerate(pages_):
                load = 40 + (late_us if rank == late_rank else 0)
                p.slice("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", p.now, load)
                p.now += load
            for layer in range(layers):
                for rank, p in enumerate(pages_):
                    p.work("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", 3000 * r.uniform(0.995, 1.005),
                           dims=[[4096, 4096], [4096, 4096]], grid=[256, 1, 1], block=[128, 1, 1])
                    arrive[rank] = max(p.free + MEASURED["gap"], p.now + latency)
                end = max(arrive) + transfer_us
                for rank, p in enumerate(pages_):
                    p.correlation += 1
                    p.slice("cuda_runtime", "cudaLaunchKernel", p.now, MEASURED["launch call"], correlation=p.correlation)
                    p.now += 8
                    p.slice("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", arrive[rank], end - arrive[rank], 0, 7,
                            stream=7, device=0, context=1, correlation=p.correlation, Seq=step * layers + layer, dtype="Float", grid=[24, 1, 1],
                            block=[544, 1, 1],
                            **{"Collective name": "allreduce", "In msg nelems": elements, "Out msg nelems": elements, "Group size": count,
                               "Process Group Name": "0", "Process Group Ranks": str(list(range(count)))})
                    p.free = end
            for p in pages_:
                p.wait("cudaDeviceSynchronize")
                p.slice("user_annotation", f"ProfilerStep#{step}", begin, p.now - begin)
                now = max(now, p.now)
        for rank, p in enumerate(pages_):
            (folder / f"rank{rank}.json").write_text(json.dumps({
                "deviceProperties": [{"id": 0, "name": p.device}], "host_name": "node0",
                "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": count}, "traceEvents": p.events}))
        return folder
    return Case(to, truth, says=says)


def reduce_gradients(pages_: list[Page], us: float, sequence: int) -> None:
    """All ranks, in their stream, behind what they computed."""
    start = [max(p.free + MEASURED["gap"], p.now + 2 + MEASURED["latency"]) for p in pages_]
    for p, mine in zip(pages_, start):
        p.correlation += 1
        p.slice("cuda_runtime", "cudaLaunchKernelExC", p.now + 2, MEASURED["launch call"], correlation=p.correlation)
        p.slice("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", mine, max(start) + us - mine, 0, 7, stream=7,
                device=0, context=1, correlation=p.correlation, Seq=sequence, dtype="Float", grid=[24, 1, 1], block=[544, 1, 1],
                **{"Collective name": "allreduce", "In msg nelems": 1 << 24, "Out msg nelems": 1 << 24, "Group size": len(pages_),
                   "Process Group Name": "0", "Process Group Ranks": str(list(range(len(pages_))))})
        p.free = max(start) + us
        p.now += 10


def micro_batches(reduced: str, us: float) -> tuple[list[Page], float]:
    """Two ranks, four micro-batches to a step. reduced: behind which of them gradients are, "all" or "last"; "layers": in forward too."""
    pages_, sequence = [Page(), Page()], 0
    for step in range(6):
        began = [p.now for p in pages_]
        for micro in range(4):
            for p in pages_:
                gemms(p, 512, 2, 600, 100 * step + 10 * micro)
            if reduced == "layers":
                reduce_gradients(pages_, us, sequence := sequence + 1)
            nodes = []
            for p in pages_:
                p.now += 30
                nodes.append(p.now)
                p.now += 5
                gemms(p, 512, 2, 1200)
            if reduced != "last" or micro == 3:
                reduce_gradients(pages_, us, sequence := sequence + 1)
            for p, node in zip(pages_, nodes):
                p.slice("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", node, p.now - node,
                        **{"Sequence number": 100 * step + 10 * micro, "Fwd thread id": 1})
                p.now += 30
        for p, start in zip(pages_, began):
            p.slice("user_annotation", "Optimizer.step#SGD.step", p.now, 30)
            p.now += 40
            p.wait("cudaDeviceSynchronize")
            p.slice("user_annotation", f"ProfilerStep#{step}", start, p.now - start)
            p.now += 2
    return pages_, pages_[0].now


def accumulation(reduced: str) -> Case:
    """The truth is the same job that reduces once."""
    def to(folder: Path) -> Path:
        for rank, p in enumerate(micro_batches(reduced, 900)[0]):
            (folder / f"rank{rank}.json").write_text(json.dumps({
                "deviceProperties": [{"id": 0, "name": p.device}], "host_name": "node0",
                "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2}, "traceEvents": p.events}))
        return folder
    return Case(to, gain(micro_batches(reduced, 900)[1], micro_batches("last", 900)[1]), 1.5, says=("4 times",))


def pipeline(stages: int, microbatches: int) -> Case:
    """The first stage of a 1F1B pipeline.  The truth of its fix is its bubble by the formula, with twice as many micro-batches."""
    def to(folder: Path) -> Path:
        trace = parallel_traces.Trace(0, stages)
        job = parallel_traces.Job(trace, 2, layers=6)
        job.pipeline = parallel_traces.Pipeline(trace, parallel_traces.Group("5", stages, 23, list(range(stages))), 0, microbatches)
        return job.steps(3).write(folder / "rank0.json")
    bubble = [(stages - 1) / (m + stages - 1) for m in (microbatches, 2 * microbatches)]
    return Case(to, 100 * (1 - (1 - bubble[0]) / (1 - bubble[1])), points=8)


# the exam


@dataclass
class Exam:
    plant: Callable[[], Case]
    decoy: Callable[[], Case]
    page: Callable[[], Case] | None = None      # the cause once more, on a page, its gain worked out by hand
    accepted: tuple[str, ...] = ()      # names that lead a reader to the same fix


def scoreboard(cause: str, job: Setup) -> Case:
    """A plant of the scoreboard in a job of fixed size."""
    return simulated(job, plants.PLANTS[cause].cure(job))


ALL_REDUCE_BYTES = 64 << 20
EXAMS: dict[str, Exam] = {
    "compute-bound": Exam(
        lambda: simulated(DENSE),
        lambda: ranks(9000, 1 << 24)),                          # as busy, with collectives
    "bandwidth-bound": Exam(
        lambda: scoreboard("bandwidth-bound", replace(DENSE, chain=8, chain_bytes=96 << 20)),
        lambda: simulated(replace(DENSE, chain=8, chain_bytes=600 << 20, chain_is_fused=True))),
    "low-efficiency-kernels": Exam(
        lambda: simulated(DENSE, DENSE, Odd, Even),
        lambda: simulated(DENSE, build=Even)),
    "tensor-cores-unused": Exam(
        lambda: scoreboard("tensor-cores-unused", replace(DENSE, vector_rows=4096)),
        lambda: simulated(replace(DENSE, vector_rows=4096, vector_on_tensor=True))),
    "launch-bound": Exam(
        lambda: scoreboard("launch-bound", replace(DENSE, host_factor=16.0)),
        lambda: simulated(replace(DEEP, host_factor=1.5)),
        lambda: paper(launches, launched_at_once, 6)),
    "host-work": Exam(
        lambda: paper(tokenizes, products),
        lambda: Case(pages(tokenizes_meanwhile).to),
        lambda: paper(draws_on_the_cpu, draws_on_the_gpu)),
    "unrecorded": Exam(
        lambda: paper(pauses, products),
        lambda: Case(pages(pauses_meanwhile).to),
        lambda: paper(pauses_at_times, products, one_unit=False)),
    "many-small-operators": Exam(
        on_cpu(("aten::add", 2500, 4, 2), ("aten::addmm", 4, 1000, 2)),
        on_cpu(("aten::add", 100, 4, 2), ("aten::addmm", 10, 1000, 2))),
    "copies-and-casts": Exam(
        on_cpu(("aten::copy_", 20, 400, 2), ("aten::addmm", 8, 1000, 2)),
        on_cpu(("aten::copy_", 2, 400, 2), ("aten::addmm", 8, 1000, 2))),
    "optimizer-loop": Exam(
        lambda: paper(visits_each, visits_fused),
        lambda: Case(pages(visits_all).to)),
    "validation": Exam(
        lambda: paper(validates, trains, 2),
        lambda: Case(pages(trains_twice).to),
        lambda: paper(validates_on_cpu, trains_on_cpu, 2)),
    "synchronous-launches": Exam(
        lambda: paper(waits_for_each, waits_for_none, 2.5),
        lambda: Case(pages(reads_numbers).to)),                 # the host waits for each kernel, in calls of its own
    "graph-capture": Exam(
        lambda: paper(captures, products),
        lambda: Case(pages(replays).to)),
    "host-sync": Exam(
        lambda: scoreboard("host-sync", replace(DENSE, syncs=8, sync_log_ns=150 * US)),
        lambda: simulated(replace(DENSE, layers=12, ends_with_sync=True)),
        lambda: paper(reads_numbers, reads_none)),
    "copy-bound": Exam(
        lambda: scoreboard("copy-bound", replace(DENSE, copy_is_pageable=True, copy_bytes=24 << 20)),
        lambda: simulated(DEEP, build=CopiesAhead),
        lambda: Case(pages(mixed_copies).to, one_unit=True, times=(4100, 2100, 2000))),
    "data-loading": Exam(
        lambda: scoreboard("data-loading", replace(SHORT, loader_ns=8 * MS, guard=1)),
        lambda: simulated(replace(DEEP, loader_ns=2 * MS)),
        lambda: paper(slow_loader, products)),
    "io-stall": Exam(
        lambda: scoreboard("io-stall", replace(SHORT, stall_ns=20 * MS, stall_steps=(1, 3, 4))),
        lambda: simulated(replace(DEEP, stall_ns=2 * MS)),
        lambda: paper(saves, products, one_unit=False)),
    "many-small-calls": Exam(lambda: recorded(writes_lines, gain(91.3, 61.3 + 7 * 0.03)), lambda: recorded(writes_pieces)),
    "kernel-calls": Exam(lambda: go_calls(8, 2), lambda: go_calls(2, 8)),
    "page-faults": Exam(lambda: touches_memory(5_000, gain(95, 60)), lambda: touches_memory(80_000)),    # each page once: data that it keeps
    "many-processes": Exam(lambda: starts_processes(8, 4, gain(61 + 8 * 5.05, 61)), lambda: starts_processes(1, 40)),
    "lock-contention": Exam(lambda: recorded(waits_for("pthread_mutex_lock"), gain(91, 61)), lambda: recorded(helper_waits("pthread_mutex_lock"))),
    "gil": Exam(lambda: interprets(20, "take_gil", gain(101, 51)), lambda: interprets(20, "take_turn")),
    "sleep": Exam(lambda: recorded(waits_for("nanosleep"), gain(91, 61)), lambda: recorded(helper_waits("nanosleep"))),
    "cpu-quota": Exam(lambda: recorded(waits_for("cpu"), gain(91, 61), cpus=8, cpu_limit_milli=1500, cpu_periods=20, cpu_throttled_periods=19),
                      lambda: recorded(waits_for("cpu"), cpus=8, cpu_limit_milli=1500, cpu_periods=20, cpu_throttled_periods=2)),
    "cpu-starved": Exam(lambda: recorded(waits_for("cpu"), gain(91, 61)), lambda: recorded(helper_waits("cpu"))),
    "polled-child": Exam(lambda: looks_for_child(60, gain(1012, 612)), lambda: looks_for_child(50)),
    "waited-child": Exam(lambda: waits_for_children(60, 60, 60, 240, truth=gain(302, 242)), lambda: waits_for_children(60, 60, 60, 60)),
    "waited-thread": Exam(lambda: joins(90, 10, truth=gain(91, 51)), lambda: joins(50, 49)),
    "small-pool": Exam(lambda: fetches("fetch", "fetch", truth=gain(203, 102)), lambda: fetches("fetch", "fetch", "crunch")),
    "slow-reader": Exam(lambda: writes_to(9, 1), lambda: writes_to(1, 9)),
    "go-waits": Exam(lambda: goroutines(5, 15), lambda: goroutines(5, 0)),
    "load-imbalance": Exam(lambda: team(20, 60, gain(60, 40)), lambda: team(60, 59)),
    "hot-code": Exam(lambda: computes_in(("trace_ray", 6), ("shade", 4)),
                     lambda: computes_in(*((f"pass_{i}", 2) for i in range(5)))),          # none is worth a look of its own
    "exposed-communication": Exam(
        lambda: scoreboard("exposed-communication", replace(SHARED, comm_bytes=400 << 20)),
        lambda: simulated(replace(draw(3, "launch"), layers=4, steps=6, guard=0, costs=MACHINE, shadow_ns=400 * US)),
        accepted=("poor-overlap",)),
    "straggler": Exam(
        lambda: ranks(800, 1 << 20, late_us=4000, truth=gain(9000 + 3 * 800 + 4000, 9000 + 3 * 800), says=("rank 2",)),
        lambda: ranks(800, 1 << 20)),
    "comm-latency": Exam(
        lambda: scoreboard("comm-latency", replace(DENSE, tiny=48, tiny_alpha=35 * US)),
        lambda: simulated(replace(SHARED, buckets=4)),
        accepted=("exposed-communication",)),
    "repeated-reduction": Exam(
        lambda: accumulation("all"),
        lambda: accumulation("layers")),                        # the layers' own: tensor parallelism
    "comm-bandwidth": Exam(
        lambda: ranks(8000, ALL_REDUCE_BYTES // 4),             # 12.6 GB/s between GPUs of one host
        lambda: ranks(280, ALL_REDUCE_BYTES // 4)),             # 360 GB/s
    "poor-overlap": Exam(
        lambda: scoreboard("poor-overlap", replace(SHARED, comm="late", comm_bytes=100 << 20)),
        lambda: simulated(SHARED),
        accepted=("exposed-communication",)),
    "overlap-contention": Exam(
        lambda: scoreboard("overlap-contention", replace(SHARED, comm_bytes=160 << 20, costs=replace(MACHINE, contention=0.8))),
        lambda: simulated(replace(SHARED, comm_bytes=160 << 20))),
    "pipeline-bubble": Exam(lambda: pipeline(4, 4), lambda: pipeline(2, 32)),
    "allocator": Exam(
        lambda: scoreboard("allocator", replace(DENSE, alloc_ns=int(MEASURED["cudaFree"] * US), allocs=2)),
        lambda: simulated(DEEP, build=AllocatesAtFirst),
        lambda: paper(takes_memory, keeps_memory)),
    "pinned-allocation": Exam(
        lambda: paper(pins, pinned_once),
        lambda: Case(pages(pins_meanwhile).to)),
    "python-gc": Exam(
        lambda: scoreboard("python-gc", replace(SHORT, gc_ns=15 * MS, gc_steps=(1, 2, 4))),
        lambda: Case(pages(pauses_at_times).to),                # the same pauses without a record: it may be anything
        lambda: paper(collects, products, one_unit=False)),
    "throttling": Exam(
        lambda: simulated(DENSE, DENSE, before=throttled, cured_before=even),
        lambda: Case(pages(longer_sequences).to),
        lambda: paper(heating, cool)),
    "warm-up": Exam(
        lambda: simulated(SHORT, SHORT, LoadsCode, Steps),
        lambda: simulated(SHORT, build=Validates),
        lambda: paper(recompiles, products, one_unit=False)),
    "cold-start": Exam(
        lambda: paper(begins_cold, products),
        lambda: paper(recompiles, products, one_unit=False)),   # it comes back
    "recompute": Exam(
        lambda: scoreboard("recompute", replace(DENSE, block_ns=300 * US, recomputes=True)),
        lambda: simulated(replace(DENSE, block_ns=300 * US)),
        lambda: paper(computes_again, computes_once)),
    "profiler-artefact": Exam(
        lambda: scoreboard("profiler-artefact", replace(SHORT, overhead_ns=5 * MS)),
        lambda: simulated(replace(DEEP, overhead_ns=500 * US)),
        lambda: paper(is_profiled, products)),
}
