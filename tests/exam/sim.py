# SPDX-License-Identifier: Apache-2.0
"""A discrete-event simulator of GPU jobs: processes are generators, time is an integer in ns.

The API, for those who write jobs and plants:

    sim = Sim(seed)                    one job; sim.draws gives random numbers by key (draws.py)
    rank = sim.rank(cores=None)        a process with a device; call once for each rank. cores: CPUs of its host, None: plenty
    main = rank.thread("main")         a recorded host thread; several may exist; each belongs to the generator that drives it
    sim.spawn(generator)               starts a process; a generator yields
        ns (int)                           work on a CPU for ns
        Sleep(ns)                          no CPU for ns
        Signal                             wait until signal.fire() was called
    sim.run()                          until nothing is left to do; with sim.recording = False only times are kept

Of a thread t (those marked * are generators: `yield from t.launch(...)`):

    t.at_site(*keys)                   what follows draws its costs by these keys and rank.step: call it before each operator
    t.open(name, cat="cpu_op", **args) / t.close()      a slice; nests; the innermost cpu_op's External id goes to calls and kernels
  * t.call(name, ns)                                    a call of the runtime that does not wait
  * t.launch(name, length, stream, cat="kernel", call="cudaLaunchKernel", args={})   an operation on the device; -> Op
  * t.launch_graph(ops, stream)                         cudaGraphLaunch of [(name, length)]; -> the last Op
  * t.copy(kind, nbytes, length, stream, blocks)        kind "HtoD (Pageable -> Device)" ...; blocks: the call returns after the copy
  * t.record(event, stream) / t.wait_event(event, stream)    cudaEventRecord, cudaStreamWaitEvent
  * t.sync(streams, name)                               waits until the streams are idle (None: the device)
  * t.sync_event(event)                                 cudaEventSynchronize
  * t.collective(join, name, stream, args)              an operation that ends for all at the last arrival + join.tau (Join)

    Join(size, tau)                    one collective of `size` ranks, or a pair of send and receive (size 2); each rank passes the same Join
    rank.stream(7)                     a stream, in order; rank.step = n marks what is launched from now on as of step n
    rank.comm_slowdown = 0.2           kernels that start beside a Join's kernel on the same device take 20 % longer
    rank.blocking = True               CUDA_LAUNCH_BLOCKING=1
    rank.marks                         [(step, time)]: call rank.mark(step) at the start of each step

What was recorded lies in rank.slices (Slice) and rank.ops (Op, when finished); kineto.py writes a window of it.
"""

import heapq
from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import Any, NamedTuple, Union

from tests.exam.cores import Cores
from tests.exam.draws import Draws, name_key

QUEUE = 1022  # operations that a process may have outstanding before a launch blocks


class Sleep(NamedTuple):
    """Time off the CPU."""

    ns: int


class Signal:
    """Something that happens once; generators wait for it, functions are called by it."""

    __slots__ = ("fired", "waiters")

    def __init__(self) -> None:
        self.fired = False
        self.waiters: list[Callable[[], None]] = []

    def fire(self) -> None:
        """Wakes all that wait."""
        if not self.fired:
            self.fired = True
            waiters, self.waiters = self.waiters, []
            for waiter in waiters:
                waiter()

    def then(self, function: Callable[[], None]) -> None:
        """Calls the function when it has happened, at once if it has."""
        if self.fired:
            function()
        else:
            self.waiters.append(function)


Process = Generator[Union[int, Sleep, Signal], None, Any]


class Slice:
    """Something that a host thread did. corr: correlation of a call; ext: External id."""

    __slots__ = ("tid", "cat", "name", "start", "end", "args", "ext", "corr")

    def __init__(self, tid: int, cat: str, name: str, start: int, args: dict[str, Any], ext: int, corr: int) -> None:
        self.tid, self.cat, self.name, self.start, self.end = tid, cat, name, start, -1
        self.args, self.ext, self.corr = args, ext, corr


NOTHING = Slice(0, "cpu_op", "", 0, {}, 0, 0)  # what a run that nobody records opens and closes


class Op:
    """An operation of a device."""

    __slots__ = ("name", "cat", "stream", "length", "corr", "ext", "step", "ready", "start", "end", "args", "done", "join", "call_end")

    def __init__(self, name: str, cat: str, stream: "Stream", length: int) -> None:
        self.name, self.cat, self.stream, self.length = name, cat, stream, length
        self.corr = self.ext = self.step = self.ready = self.call_end = 0
        self.start = self.end = -1
        self.args: dict[str, Any] = {}
        self.done = Signal()
        self.join: Join | None = None


class Event:
    """A CUDA event; each record starts it anew."""

    def __init__(self) -> None:
        self.signal = Signal()
        self.signal.fire()  # waiting for an event never recorded returns at once
        self.corr = self.stream = 0


class Join:
    """A collective: all its ranks' operations end tau after the last has started."""

    def __init__(self, size: int, tau: int) -> None:
        self.size, self.tau = size, tau
        self.arrived: list[Op] = []


class Stream:
    """A queue of a device, in order."""

    def __init__(self, rank: "Rank", number: int) -> None:
        self.rank, self.number = rank, number
        self.queue: deque[Any] = deque()
        self.running: Op | None = None
        self.free_at = -(1 << 60)
        self.last: Op | None = None
        self.pumped_at = -1

    def push(self, item: Any) -> None:
        """Appends an Op, or a tuple ("record" | "wait", signal)."""
        self.queue.append(item)
        if self.running is None:
            self.pump()

    def pump(self) -> None:
        """Starts what may start."""
        sim = self.rank.sim
        while self.queue and self.running is None:
            item = self.queue[0]
            if isinstance(item, tuple):
                if item[0] == "wait" and not item[1].fired:
                    item[1].then(self.pump)
                    return
                self.queue.popleft()
                if item[0] == "record":
                    item[1].fire()
                continue
            gap = self.rank.gap(item)
            begin = max(item.ready, self.free_at + gap)
            if begin > sim.now:
                if self.pumped_at != begin:
                    self.pumped_at = begin
                    sim.at(begin, self.pump)
                return
            self.queue.popleft()
            self.begin(item)

    def begin(self, op: Op) -> None:
        """Starts an operation now."""
        sim, rank = self.rank.sim, self.rank
        op.start, self.running = sim.now, op
        if op.join:
            rank.communicating += 1
            op.join.arrived.append(op)
            if len(op.join.arrived) == op.join.size:
                for member in op.join.arrived:
                    sim.at(sim.now + op.join.tau, lambda m=member: m.stream.finish(m))  # type: ignore[misc]
            return
        length = op.length
        if rank.communicating and rank.comm_slowdown and op.cat == "kernel":
            length = int(length * (1 + rank.comm_slowdown))
        sim.at(sim.now + length, lambda: self.finish(op))

    def finish(self, op: Op) -> None:
        """Ends the running operation now."""
        op.end = self.free_at = self.rank.sim.now
        self.running = None
        if op.join:
            self.rank.communicating -= 1
        self.rank.finished(op)
        self.pump()


class Rank:
    """A process: threads, a device, what was recorded of it."""

    def __init__(self, sim: "Sim", index: int, cores: "Cores | None") -> None:
        self.sim, self.index, self.cores = sim, index, cores
        self.streams: dict[int, Stream] = {}
        self.threads: list[Thread] = []
        self.slices: list[Slice] = []
        self.ops: list[Op] = []
        self.syncs: list[dict[str, Any]] = []
        self.flows: list[tuple[int, int, int, int, int]] = []
        self.marks: list[tuple[int, int]] = []
        self.device_ends: dict[int, int] = {}
        self.outstanding = self.step = self.communicating = 0
        self.correlation, self.external = 20 + index, 0
        self.comm_slowdown = 0.0
        self.blocking = False
        self.queue_limit = QUEUE
        self.full: deque[Signal] = deque()

    def thread(self, name: str) -> "Thread":
        self.threads.append(Thread(self, name, 4200 + 100 * self.index + len(self.threads)))
        return self.threads[-1]

    def stream(self, number: int = 7) -> Stream:
        """The stream of this number."""
        return self.streams.setdefault(number, Stream(self, number))

    def mark(self, step: int) -> None:
        """A step starts."""
        self.step = step
        self.marks.append((step, self.sim.now))

    def gap(self, op: Op) -> int:
        """Time between the end of an operation and the start of the next on its stream, when that is queued."""
        return min(4000, int(self.sim.draws.machine("stream_gap", self.index, op.step, op.length & 0xFFFF)))

    def finished(self, op: Op) -> None:
        """Books an operation that has ended."""
        if self.sim.recording:
            self.ops.append(op)
        self.outstanding -= 1
        if op.end > self.device_ends.get(op.step, 0):
            self.device_ends[op.step] = op.end
        op.done.fire()
        if self.full and self.outstanding < self.queue_limit:
            self.full.popleft().fire()


class Thread:
    """A recorded host thread."""

    def __init__(self, rank: Rank, name: str, tid: int) -> None:
        self.rank, self.name, self.tid = rank, name, tid
        self.stack: list[Slice] = []
        self.site = self.nth = 0

    def at_site(self, *keys: int | str) -> None:
        """What follows draws its costs by these keys and the step, whatever else a cause adds before it."""
        self.site, self.nth = 0, 0
        for key in keys:
            self.site = (self.site * 1000003 + (name_key(key) if isinstance(key, str) else key)) & 0xFFFFFFFF

    def open(self, name: str, cat: str = "cpu_op", **args: Any) -> Slice:
        """Begins a slice."""
        if not self.rank.sim.recording:
            self.stack.append(NOTHING)
            return NOTHING
        if cat == "python_function":
            external = 0
        else:
            self.rank.external += 1
            external = self.rank.external
        piece = Slice(self.tid, cat, name, self.rank.sim.now, args, external, 0)
        self.stack.append(piece)
        self.rank.slices.append(piece)
        return piece

    def close(self) -> None:
        """Ends the innermost slice."""
        self.stack.pop().end = self.rank.sim.now

    def inside(self) -> int:
        """External id of the innermost operator."""
        return next((s.ext for s in reversed(self.stack) if s.cat in ("cpu_op", "user_annotation")), 0)

    def begin_call(self, name: str) -> Slice:
        """A call of the runtime begins."""
        self.rank.correlation += 1
        if not self.rank.sim.recording:
            return NOTHING
        cat = "cuda_driver" if name.startswith("cu") and not name.startswith("cuda") else "cuda_runtime"
        piece = Slice(self.tid, cat, name, self.rank.sim.now, {}, self.inside(), self.rank.correlation)
        self.rank.slices.append(piece)
        return piece

    def call(self, name: str, ns: int) -> Process:
        """A call that does not wait."""
        piece = self.begin_call(name)
        yield ns
        piece.end = self.rank.sim.now
        return piece

    def room(self) -> Process:
        """Waits until the queue has room."""
        rank = self.rank
        while rank.outstanding >= rank.queue_limit:
            signal = Signal()
            rank.full.append(signal)
            yield signal

    def submit(self, op: Op, piece: Slice, cost: int) -> Process:
        """Puts an operation on its stream within a call of `cost` ns; waits for room in the queue first."""
        rank = self.rank
        yield from self.room()
        rank.outstanding += 1
        latency = self.cost("launch_latency")
        op.corr, op.ext, op.step, op.ready = piece.corr, piece.ext, rank.step, rank.sim.now + max(latency, 2500)
        op.stream.last = op
        yield cost
        op.stream.push(op)
        if rank.blocking:
            yield op.done
            yield self.cost("sync_return")
        piece.end = op.call_end = rank.sim.now
        return op

    def cost(self, table: str) -> int:
        """A measured cost, drawn for this place of this step."""
        self.nth += 1
        return max(300, int(self.rank.sim.draws.machine(table, self.rank.index, self.rank.step, self.site, self.nth)))

    def launch(
        self,
        name: str,
        length: int,
        stream: Stream,
        cat: str = "kernel",
        call: str = "cudaLaunchKernel",
        args: dict[str, Any] | None = None,
        cost: int = 0,
    ) -> Process:
        """Launches an operation; its cost is drawn unless given."""
        op = Op(name, cat, stream, max(1, int(length)))
        op.args = args or {}
        piece = self.begin_call(call)
        yield from self.submit(op, piece, cost or min(40000, self.cost("launch_call")))
        return op

    def launch_graph(self, parts: Iterable[tuple[str, int]], stream: Stream, cost: int = 0) -> Process:
        """One cudaGraphLaunch of several kernels, which share its correlation."""
        piece = self.begin_call("cudaGraphLaunch")
        listed = list(parts)
        yield from self.room()
        yield cost or 9000 + 300 * len(listed)
        op = Op("", "kernel", stream, 1)
        for index, (name, length) in enumerate(listed):
            op = Op(name, "kernel", stream, max(1, length))
            op.args = {"graph node id": index + 1}
            op.corr, op.ext, op.step, op.ready = piece.corr, piece.ext, self.rank.step, self.rank.sim.now + 6000
            self.rank.outstanding += 1
            stream.last = op
            stream.push(op)
        piece.end = self.rank.sim.now
        return op

    def copy(self, kind: str, nbytes: int, length: int, stream: Stream, blocks: bool) -> Process:
        """A copy. blocks: the call returns after it (pageable memory)."""
        op = Op("Memcpy " + kind, "gpu_memcpy", stream, max(1, int(length)))
        op.args = {"bytes": nbytes}
        piece = self.begin_call("cudaMemcpyAsync")
        yield from self.submit(op, piece, self.cost("launch_call"))
        if blocks and not op.done.fired:
            yield op.done
            yield self.cost("sync_return")
            piece.end = self.rank.sim.now
        return op

    def record(self, event: Event, stream: Stream) -> Process:
        """cudaEventRecord."""
        piece = self.begin_call("cudaEventRecord")
        event.signal, event.corr, event.stream = Signal(), piece.corr, stream.number
        yield self.cost("event_call")
        stream.push(("record", event.signal))
        piece.end = self.rank.sim.now

    def wait_event(self, event: Event, stream: Stream) -> Process:
        """cudaStreamWaitEvent: later work of the stream waits for the event as recorded last."""
        piece = self.begin_call("cudaStreamWaitEvent")
        yield self.cost("event_call")
        stream.push(("wait", event.signal))
        piece.end = self.rank.sim.now
        self.rank.syncs.append(
            {
                "name": "Stream Wait Event",
                "start": piece.start,
                "end": piece.end,
                "corr": piece.corr,
                "stream": stream.number,
                "wait_on_stream": event.stream,
                "record": event.corr,
            }
        )

    def sync(self, streams: list[Stream] | None = None, name: str = "") -> Process:
        """cudaStreamSynchronize of the streams, or cudaDeviceSynchronize."""
        piece = self.begin_call(name or ("cudaStreamSynchronize" if streams else "cudaDeviceSynchronize"))
        yield self.cost("event_call")
        waited = False
        for stream in streams or list(self.rank.streams.values()):
            if stream.last and not stream.last.done.fired:
                waited = True
                yield stream.last.done
        if waited:
            yield self.cost("sync_return")
        piece.end = self.rank.sim.now
        self.rank.syncs.append(
            {
                "name": "Stream Sync" if streams else "Context Sync",
                "start": piece.start,
                "end": piece.end,
                "corr": piece.corr,
                "stream": streams[0].number if streams else -1,
            }
        )

    def sync_event(self, event: Event) -> Process:
        """cudaEventSynchronize."""
        piece = self.begin_call("cudaEventSynchronize")
        yield self.cost("event_call")
        if not event.signal.fired:
            yield event.signal
            yield self.cost("sync_return")
        piece.end = self.rank.sim.now
        self.rank.syncs.append(
            {
                "name": "Event Sync",
                "start": piece.start,
                "end": piece.end,
                "corr": piece.corr,
                "stream": event.stream,
                "wait_on_stream": event.stream,
                "record": event.corr,
            }
        )

    def collective(self, join: Join, name: str, stream: Stream, args: dict[str, Any] | None = None) -> Process:
        """A collective's kernel; it runs from this rank's start to the common end."""
        op = Op(name, "kernel", stream, 1)
        op.args, op.join = args or {}, join
        piece = self.begin_call("cudaLaunchKernelExC")
        yield from self.submit(op, piece, self.cost("launch_call"))
        return op


class Sim:
    """The clock and all that runs on it."""

    def __init__(self, seed: int) -> None:
        self.now = 0
        self.draws = Draws(seed)
        self.ranks: list[Rank] = []
        self.heap: list[tuple[int, int, Callable[[], None]]] = []
        self.counter = 0
        self.recording = True

    def at(self, time: int, function: Callable[[], None]) -> None:
        """Calls a function at a time."""
        self.counter += 1
        heapq.heappush(self.heap, (time, self.counter, function))

    def rank(self, cores: Cores | None = None) -> Rank:
        """A new rank."""
        self.ranks.append(Rank(self, len(self.ranks), cores))
        return self.ranks[-1]

    def spawn(self, process: Process, cores: Cores | None = None) -> Signal:
        """Starts a process now; the signal fires at its end. cores: what its work takes a CPU of."""
        ended = Signal()

        def step() -> None:
            while True:
                try:
                    wanted = next(process)
                except StopIteration:
                    ended.fire()
                    return
                if isinstance(wanted, Signal):
                    if not wanted.fired:
                        wanted.waiters.append(step)
                        return
                elif isinstance(wanted, Sleep):
                    self.at(self.now + int(wanted.ns), step)
                    return
                elif wanted > 0:
                    if cores:
                        cores.work(int(wanted), step)
                    else:
                        self.at(self.now + int(wanted), step)
                    return

        self.at(self.now, step)
        return ended

    def run(self, until: int = 1 << 62) -> None:
        """Runs until nothing is left, or until a time."""
        while self.heap and self.heap[0][0] <= until:
            self.now, _, function = heapq.heappop(self.heap)
            function()
