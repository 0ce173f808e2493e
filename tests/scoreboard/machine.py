# SPDX-License-Identifier: Apache-2.0
"""A training process and its device as a discrete-event simulation, so that the gain of removing a cause is known exactly:
run it again without the cause.  It must stay a second opinion: nothing here may come from the program's replay engine.

Time is whole nanoseconds.  Host threads are generators that sleep or wait at a gate; streams are queues that pull their
next operation when the one before ends.  No random number is drawn while the clock runs: the jitter of a cost is looked up
under the name of the item and the step, so an item keeps its jitter when others come or go."""
from __future__ import annotations

import functools
import heapq
import math
import random
import zlib
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

US, MS = 1_000, 1_000_000
MAIN, AUTOGRAD = 0, 1                   # host threads
COMPUTE, COPY, SIDE, COMM = 7, 16, 20, 24        # streams as they are numbered in traces


class Gate:
    """Opens once; processes and streams wait for it."""
    __slots__ = ("is_open", "waiting")

    def __init__(self) -> None:
        self.is_open = False
        self.waiting: list[Callable[[], None]] = []

    def open(self) -> None:
        self.is_open = True
        waiting, self.waiting = self.waiting, []
        for wake in waiting:
            wake()


Process = Generator["int | Gate", None, None]


class Jitter:
    """Lognormal factors by item and step.  Host costs also have a tail: a thread loses its core now and then."""
    SIZE = 4096

    def __init__(self, seed: int, device: float, host: float) -> None:
        draw = random.Random(seed)
        normal = [draw.gauss(0, 1) for _ in range(self.SIZE)]
        late = [draw.uniform(1.5, 3) if draw.random() < 0.003 and host > 0 else 1.0 for _ in range(self.SIZE)]
        self.device = [math.exp(device * z) for z in normal]
        self.host = [math.exp(host * z) * t for z, t in zip(normal, late)]

    def at(self, table: list[float], key: int, step: int) -> float:
        return table[((key ^ ((step + 1) * 0x9E3779B1)) * 0x85EBCA6B >> 9) & (self.SIZE - 1)]


@functools.lru_cache(maxsize=4)
def jitter_of(seed: int, device: float, host: float) -> Jitter:
    """Runs of one job share their tables."""
    return Jitter(seed, device, host)


@dataclass(frozen=True)
class Costs:
    """What a machine is like.  Jitter of 0 makes every time exact, for cases that are worked out on paper."""
    slots: int = 1024                   # device operations that may be outstanding before a launch blocks
    latency: int = 8 * US               # from the start of a launch call to the start of its kernel on an idle stream
    gap: int = 900                      # between two operations of one stream
    event: int = 1200                   # from the record to the start of what waited on another stream
    wake: int = 5 * US                  # from the end of the awaited work to the return of a blocking call
    handover: int = 25 * US             # main thread to autograd thread, and back
    contention: float = 0.0             # kernels take 1 + this while a collective runs
    device_jitter: float = 0.01
    host_jitter: float = 0.08


class DeviceOp:
    """A kernel, copy, memset or collective, once."""
    __slots__ = ("shape", "stream", "work", "step", "arrives", "start", "end", "left", "rate_since", "is_slow", "version",
                 "correlation", "external", "holds_slot", "node")

    def __init__(self, shape: "Work", stream: int, work: int, step: int, arrives: int) -> None:
        self.shape, self.stream, self.work, self.step, self.arrives = shape, stream, work, step, arrives
        self.start = self.end = -1
        self.left, self.rate_since, self.is_slow, self.version = work, 0, False, 0
        self.correlation = self.external = 0
        self.holds_slot, self.node = True, -1


class Marker:
    """An event record: opens its gate when everything before it on the stream has ended."""
    __slots__ = ("arrives", "gate")

    def __init__(self, arrives: int) -> None:
        self.arrives, self.gate = arrives, Gate()


class Barrier:
    """cudaStreamWaitEvent: holds the stream until the marker's gate opens."""
    __slots__ = ("arrives", "gate", "is_waiting")

    def __init__(self, arrives: int, gate: Gate) -> None:
        self.arrives, self.gate, self.is_waiting = arrives, gate, False


@dataclass(frozen=True)
class Work:
    """What a device operation is, in every step.  `facts` are what the trace says about it."""
    key: int
    kind: str                           # kernel, collective, memcpy, memset
    name: str
    nanoseconds: int
    facts: str = ""
    lag: int = 0                        # of the slowest peer of a collective


class Stream:
    """First in, first out."""
    __slots__ = ("machine", "number", "queue", "running", "free_at", "has_run", "pump_at")

    def __init__(self, machine: "Machine", number: int) -> None:
        self.machine, self.number = machine, number
        self.queue: deque[Any] = deque()
        self.running: DeviceOp | None = None
        self.free_at, self.has_run, self.pump_at = 0, False, -1

    def push(self, item: Any) -> None:
        self.queue.append(item)
        if self.running is None:
            self.pump()

    def later(self, when: int) -> None:
        if self.pump_at != when:
            self.pump_at = when
            self.machine.at(when, self.pump)

    def pump(self) -> None:
        """Starts what can start."""
        m = self.machine
        while self.queue and self.running is None:
            head = self.queue[0]
            if head.arrives > m.now:
                return self.later(head.arrives)
            if isinstance(head, Marker):
                self.queue.popleft()
                head.gate.open()
            elif isinstance(head, Barrier):
                if not self.pass_barrier(head):
                    return None
            else:
                if self.has_run and m.now < self.free_at + m.costs.gap:
                    return self.later(self.free_at + m.costs.gap)
                self.queue.popleft()
                self.begin(head)
        return None

    def pass_barrier(self, barrier: Barrier) -> bool:
        if barrier.gate.is_open:
            self.queue.popleft()
            return True
        if not barrier.is_waiting:
            barrier.is_waiting = True
            barrier.gate.waiting.append(lambda: self.opened(barrier))
        return False

    def opened(self, barrier: Barrier) -> None:
        barrier.arrives = self.machine.now + self.machine.costs.event
        self.machine.at(barrier.arrives, self.pump)

    def begin(self, op: DeviceOp) -> None:
        m = self.machine
        self.running = op
        op.start = op.rate_since = m.now
        if op.shape.kind == "collective":
            m.collectives += 1
            if m.collectives == 1:
                m.change_rates()
        op.is_slow = op.shape.kind == "kernel" and m.collectives > 0
        self.schedule_end(op)

    def schedule_end(self, op: DeviceOp) -> None:
        factor = 1 + self.machine.costs.contention if op.is_slow else 1
        version = op.version
        self.machine.at(self.machine.now + int(op.left * factor), lambda: self.finish(op, version))

    def change_rate(self, is_slow: bool) -> None:
        """A collective began or ended while a kernel runs: what is left of it goes on at the new rate."""
        op, m = self.running, self.machine
        if op is None or op.shape.kind != "kernel" or op.is_slow == is_slow:
            return
        passed = m.now - op.rate_since
        op.left = max(0, op.left - int(passed / (1 + m.costs.contention) if op.is_slow else passed))
        op.rate_since, op.is_slow, op.version = m.now, is_slow, op.version + 1
        self.schedule_end(op)

    def finish(self, op: DeviceOp, version: int) -> None:
        if op.version != version:
            return
        m = self.machine
        op.end = self.free_at = m.now
        self.running, self.has_run = None, True
        if op.shape.kind == "collective":
            m.collectives -= 1
            if m.collectives == 0:
                m.change_rates()
        m.ended(op)
        self.pump()


@dataclass
class Span:
    """Something on a host thread: an operator, an annotation, a call of the runtime."""
    category: str
    name: str
    thread: int
    start: int
    end: int
    step: int
    external: int = 0
    correlation: int = 0
    facts: dict[str, Any] = field(default_factory=dict)


class Thread:
    """A host thread and what is open on it."""
    def __init__(self, number: int) -> None:
        self.number, self.step = number, 0
        self.open: list[Span] = []


class Machine:
    """Clock, host threads, streams, and the log of what happened."""
    def __init__(self, costs: Costs, seed: int, keeps_log: bool = True) -> None:
        self.costs, self.jitter, self.keeps_log = costs, jitter_of(seed, costs.device_jitter, costs.host_jitter), keeps_log
        self.now = self.order = self.outstanding = self.collectives = 0
        self.heap: list[tuple[int, int, Callable[[], None]]] = []
        self.streams: dict[int, Stream] = {}
        self.slot_waiters: deque[Gate] = deque()
        self.events: dict[str, tuple[Marker, int, int]] = {}        # by name: marker, stream, correlation of the record
        self.step_end: dict[int, int] = {}
        self.host_spans: list[Span] = []
        self.device_ops: list[DeviceOp] = []
        self.sync_records: list[dict[str, Any]] = []
        self.correlation, self.external = 1000, 0
        self.loader: Loader | None = None
        self.capture_start = 0

    # the clock

    def at(self, when: int, action: Callable[[], None]) -> None:
        self.order += 1
        heapq.heappush(self.heap, (when, self.order, action))

    def start(self, process: Process) -> None:
        self.at(self.now, lambda: self.resume(process))

    def resume(self, process: Process) -> None:
        """Runs a process until it must wait."""
        for wish in process:
            if isinstance(wish, Gate):
                if not wish.is_open:
                    wish.waiting.append(lambda: self.start(process))
                    return
            elif wish > 0:
                return self.at(self.now + wish, lambda: self.resume(process))

    def run(self) -> None:
        heap = self.heap
        while heap:
            self.now, _, action = heapq.heappop(heap)
            action()

    # the device

    def stream(self, number: int) -> Stream:
        found = self.streams.get(number)
        if found is None:
            found = self.streams[number] = Stream(self, number)
        return found

    def change_rates(self) -> None:
        if self.costs.contention > 0:
            for stream in self.streams.values():
                stream.change_rate(self.collectives > 0)

    def ended(self, op: DeviceOp) -> None:
        if op.holds_slot:
            self.outstanding -= 1
            if self.slot_waiters:
                self.slot_waiters.popleft().open()
        if op.end > self.step_end.get(op.step, -1):
            self.step_end[op.step] = op.end

    def mark(self, number: int, arrives: int = 0) -> Marker:
        marker = Marker(arrives)
        self.stream(number).push(marker)
        return marker

    def idle_gates(self) -> list[Gate]:
        """One for each stream: open when all that is queued now has ended."""
        return [self.mark(number).gate for number in list(self.streams)]

    # host

    def host_ns(self, thread: Thread, key: int, cost: int) -> int:
        return int(cost * self.jitter.at(self.jitter.host, key, thread.step))

    def next_correlation(self) -> int:
        self.correlation += 1
        return self.correlation

    def log_call(self, thread: Thread, name: str, start: int, correlation: int) -> None:
        if self.keeps_log:
            external = thread.open[-1].external if thread.open else 0
            self.host_spans.append(
                Span("cuda_runtime", name, thread.number, start, self.now, thread.step, external, correlation)
            )

    def log_sync(self, kind: str, start: int, correlation: int, **more: Any) -> None:
        if self.keeps_log:
            self.sync_records.append({"kind": kind, "start": start, "end": self.now, "correlation": correlation, **more})

    def script(self, thread: Thread, program: list[Any]) -> Process:
        for instruction in program:
            yield from instruction.run(self, thread)


def key_of(name: str) -> int:
    """A number for a name, the same in every process and every run."""
    return zlib.crc32(name.encode())


# What host threads do.  Each instruction is used again in every step.


@dataclass
class Step:
    """A step begins; the capture begins with number 0."""
    number: int

    def run(self, m: Machine, thread: Thread) -> Process:
        thread.step = self.number
        if self.number == 0:
            m.capture_start = m.now
        yield 0


@dataclass
class Busy:
    """The thread computes: Python, dispatch, a pause."""
    key: int
    cost: int

    def run(self, m: Machine, thread: Thread) -> Process:
        yield m.host_ns(thread, self.key, self.cost)


@dataclass
class Open:
    """An operator, annotation or Python frame begins."""
    category: str
    name: str
    facts: dict[str, Any] = field(default_factory=dict)

    def run(self, m: Machine, thread: Thread) -> Process:
        m.external += 1
        thread.open.append(Span(self.category, self.name, thread.number, m.now, -1, thread.step, m.external, 0, self.facts))
        yield 0


class Close:
    """The innermost open thing ends."""
    def run(self, m: Machine, thread: Thread) -> Process:
        span = thread.open.pop()
        span.end = m.now
        if m.keeps_log:
            m.host_spans.append(span)
        yield 0


def take_slot(m: Machine) -> Process:
    """Blocks while the queue of the device is full.  Whoever waited longest goes first."""
    while m.outstanding >= m.costs.slots:
        gate = Gate()
        m.slot_waiters.append(gate)
        yield gate
    m.outstanding += 1


@dataclass
class Launch:
    """A call that puts one operation on a stream and returns.  `extra` stretches the call: the profiler's own buffers."""
    work: Work
    stream: int = COMPUTE
    call: str = "cudaLaunchKernel"
    cost: int = 4 * US
    extra: int = 0

    def run(self, m: Machine, thread: Thread) -> Process:
        began = m.now
        yield from take_slot(m)
        self.enqueue(m, thread, max(began + self.latency(m, thread), m.now))
        correlation = m.correlation
        yield m.host_ns(thread, self.work.key, self.cost)
        if self.extra:
            yield from self.stall(m, thread)
        m.log_call(thread, self.call, began, correlation)

    def latency(self, m: Machine, thread: Thread) -> int:
        return m.host_ns(thread, self.work.key ^ 0x5A5A, m.costs.latency)

    def stall(self, m: Machine, thread: Thread) -> Process:
        began = m.now
        yield m.host_ns(thread, self.work.key ^ 0x3C3C, self.extra)
        if m.keeps_log:
            m.host_spans.append(Span("overhead", "Activity Buffer Request", -1, began, m.now, thread.step))

    def enqueue(self, m: Machine, thread: Thread, arrives: int) -> None:
        work = self.work
        took = int(work.nanoseconds * m.jitter.at(m.jitter.device, work.key, thread.step))
        lag = int(work.lag * m.jitter.at(m.jitter.host, work.key ^ 0xFF, thread.step)) if work.lag else 0
        op = DeviceOp(work, self.stream, took + lag, thread.step, arrives)
        op.correlation = m.next_correlation()
        op.external = thread.open[-1].external if thread.open else 0
        if m.keeps_log:
            m.device_ops.append(op)
        m.stream(self.stream).push(op)


@dataclass
class GraphLaunch:
    """cudaGraphLaunch: one call and one correlation, many kernels."""
    works: list[Work]
    stream: int = COMPUTE
    cost: int = 10 * US
    cost_each: int = 300

    def run(self, m: Machine, thread: Thread) -> Process:
        began, correlation, key = m.now, m.next_correlation(), self.works[0].key
        yield from take_slot(m)
        arrives = max(began + m.host_ns(thread, key ^ 0x5A5A, m.costs.latency), m.now)
        for node, work in enumerate(self.works):
            took = int(work.nanoseconds * m.jitter.at(m.jitter.device, work.key, thread.step))
            op = DeviceOp(work, self.stream, took, thread.step, arrives)
            op.correlation, op.node, op.holds_slot = correlation, node, node == len(self.works) - 1
            op.external = thread.open[-1].external if thread.open else 0
            if m.keeps_log:
                m.device_ops.append(op)
            m.stream(self.stream).push(op)
        yield m.host_ns(thread, key, self.cost + self.cost_each * len(self.works))
        m.log_call(thread, "cudaGraphLaunch", began, correlation)


@dataclass
class Call:
    """A call of the runtime that neither waits nor queues anything."""
    key: int
    name: str
    cost: int

    def run(self, m: Machine, thread: Thread) -> Process:
        began = m.now
        yield m.host_ns(thread, self.key, self.cost)
        m.log_call(thread, self.name, began, m.next_correlation())


@dataclass
class Record:
    """cudaEventRecord on a stream; the last record of a name is the one that counts."""
    event: str
    stream: int

    def run(self, m: Machine, thread: Thread) -> Process:
        began, correlation = m.now, m.next_correlation()
        m.events[self.event] = (m.mark(self.stream, m.now + m.costs.latency // 2), self.stream, correlation)
        yield m.host_ns(thread, key_of("record " + self.event), 1500)
        m.log_call(thread, "cudaEventRecord", began, correlation)


@dataclass
class WaitEvent:
    """cudaStreamWaitEvent: a stream waits, the host does not."""
    event: str
    stream: int

    def run(self, m: Machine, thread: Thread) -> Process:
        if self.event not in m.events:
            return
        began, correlation = m.now, m.next_correlation()
        marker, recorded_on, record = m.events[self.event]
        m.stream(self.stream).push(Barrier(m.now + m.costs.latency // 2, marker.gate))
        yield m.host_ns(thread, key_of("wait " + self.event), 1500)
        m.log_call(thread, "cudaStreamWaitEvent", began, correlation)
        m.log_sync("Stream Wait Event", began + 200, correlation, stream=self.stream, wait_on_stream=recorded_on,
                   wait_on_cuda_event_record_corr_id=record, wait_on_cuda_event_id=key_of(self.event) % 997)


@dataclass
class Synchronize:
    """Blocks until a stream (or, without one, the whole device) has done all that is queued."""
    key: int
    stream: int | None = None
    cost: int = 2 * US

    def run(self, m: Machine, thread: Thread) -> Process:
        began, correlation = m.now, m.next_correlation()
        gates = m.idle_gates() if self.stream is None else [m.mark(self.stream).gate]
        was_busy = not all(g.is_open for g in gates)
        for gate in gates:
            yield gate
        yield m.host_ns(thread, self.key, m.costs.wake if was_busy else self.cost)
        name, kind = (
            ("cudaDeviceSynchronize", "Context Sync") if self.stream is None else ("cudaStreamSynchronize", "Stream Sync")
        )
        m.log_call(thread, name, began, correlation)
        m.log_sync(kind, began + 300, correlation, stream=self.stream)


@dataclass
class SyncEvent:
    """cudaEventSynchronize."""
    event: str

    def run(self, m: Machine, thread: Thread) -> Process:
        if self.event not in m.events:
            return
        began, correlation = m.now, m.next_correlation()
        marker, recorded_on, record = m.events[self.event]
        was_busy = not marker.gate.is_open
        yield marker.gate
        yield m.host_ns(thread, key_of("sync " + self.event), m.costs.wake if was_busy else 1500)
        m.log_call(thread, "cudaEventSynchronize", began, correlation)
        m.log_sync("Event Sync", began + 300, correlation, stream=None, wait_on_stream=recorded_on,
                   wait_on_cuda_event_record_corr_id=record, wait_on_cuda_event_id=key_of(self.event) % 997)


@dataclass
class BlockingCopy(Launch):
    """cudaMemcpyAsync with pageable memory: the stream drains, and the call stays until the data is (nearly) across."""
    call: str = "cudaMemcpyAsync"
    staged: int = 10 * US               # the DMA of the last staging buffer goes on after the return

    def run(self, m: Machine, thread: Thread) -> Process:
        began = m.now
        yield m.mark(self.stream).gate
        yield from take_slot(m)
        self.enqueue(m, thread, m.now + self.latency(m, thread))
        correlation = m.correlation
        after = m.mark(self.stream)
        took = int(self.work.nanoseconds * m.jitter.at(m.jitter.device, self.work.key, thread.step))
        if took > self.staged > 0:
            yield self.latency(m, thread) + took - self.staged
        else:
            yield after.gate
            yield m.host_ns(thread, self.work.key, m.costs.wake)
        m.log_call(thread, self.call, began, correlation)


@dataclass
class Memory:
    """cudaMalloc or cudaFree; both wait for the device here, as they do when the driver must map or unmap memory."""
    key: int
    name: str
    cost: int
    waits: bool = True

    def run(self, m: Machine, thread: Thread) -> Process:
        began = m.now
        if self.waits:
            for gate in m.idle_gates():
                yield gate
        yield m.host_ns(thread, self.key, self.cost)
        m.log_call(thread, self.name, began, m.next_correlation())


@dataclass
class Backward:
    """The main thread hands the graph to the autograd thread and waits for it."""
    program: list[Any]

    def run(self, m: Machine, thread: Thread) -> Process:
        done, other = Gate(), Thread(AUTOGRAD)
        other.step = thread.step
        m.start(self.on_the_other_side(m, other, done))
        yield done
        yield m.host_ns(thread, key_of("hand back"), m.costs.handover // 2)

    def on_the_other_side(self, m: Machine, other: Thread, done: Gate) -> Process:
        yield m.host_ns(other, key_of("hand over"), m.costs.handover)
        yield from m.script(other, self.program)
        done.open()


class Loader:
    """Worker processes that fetch batches ahead, in turns, `ahead` of them each."""
    def __init__(self, machine: Machine, workers: int, ahead: int, batch_ns: int, batches: int) -> None:
        self.machine, self.workers, self.batch_ns = machine, workers, batch_ns
        self.ready = [Gate() for _ in range(batches)]
        self.room = [Gate() for _ in range(batches)]
        for i in range(min(batches, workers * ahead)):
            self.room[i].open()
        self.ahead, self.taken = workers * ahead, 0
        for w in range(workers):
            machine.start(self.work(w))

    def work(self, worker: int) -> Process:
        for i in range(worker, len(self.ready), self.workers):
            yield self.room[i]
            factor = self.machine.jitter.at(self.machine.jitter.host, key_of("batch"), i)
            left = (worker + 1) / self.workers if i == worker else 1       # all are somewhere in a batch when time begins
            yield int(self.batch_ns * factor * left)
            self.ready[i].open()

    def take(self, i: int) -> Process:
        self.taken += 1
        yield self.ready[i]
        if i + self.ahead < len(self.room):
            self.room[i + self.ahead].open()


@dataclass
class NextBatch:
    """enumerate(DataLoader)#...__next__: makes the batch, or takes one that workers made."""
    work_ns: int = 0                    # in this process
    cost: int = 40 * US

    def run(self, m: Machine, thread: Thread) -> Process:
        if m.loader is not None:
            yield from m.loader.take(m.loader.taken)
        yield m.host_ns(thread, key_of("next batch"), self.cost)
        if self.work_ns:
            yield m.host_ns(thread, key_of("load"), self.work_ns)
