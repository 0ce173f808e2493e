# SPDX-License-Identifier: Apache-2.0
"""Several ranks of one job: who is in which group, how long a collective takes, and one rank's operators and collectives.

A Team belongs to one simulation. Its Workers (one a rank) drive their own host threads; what they do together goes through
Team.join(), which gives the same Join to all ranks of a group that come with the same number.
"""
import math
from dataclasses import dataclass, field, replace
from typing import Any

from tests.exam.devices import A100, Device
from tests.exam.draws import TABLES
from tests.exam.host import Host
from tests.exam.model import Part, build, device_time, launches, node, scaled
from tests.exam.sim import Event, Join, Process, Sim, Sleep, Stream, Thread

TAIL = "(ncclDevKernelArgsStorage<4096ul>)"
# what torch calls it: the operator, the range, the name in its records, the kernel, bytes on the wire for each byte of S
KINDS = {
    "allreduce": ("c10d::allreduce_", "nccl:all_reduce", "allreduce", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 2.0),
    "allgather": ("c10d::_allgather_base_", "nccl:_all_gather_base", "_allgather_base", "ncclDevKernel_AllGather_RING_LL", 1.0),
    "reduce_scatter": ("c10d::_reduce_scatter_base_", "nccl:_reduce_scatter_base", "_reduce_scatter_base",
                       "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", 1.0),
    "alltoall": ("c10d::alltoall_base_", "nccl:all_to_all", "all_to_allv", "ncclDevKernel_SendRecv", 1.0),
}


@dataclass(frozen=True)
class Shape:
    """A job of several ranks, all of it but its random numbers. Times in ns, rates in bytes per ns.

    ratio: device time over host time of a step; cover: time of the communication over the computation that could hide it;
    knobs: what causes turn (see rank_jobs.py and plants_ranks.py).
    """

    seed: int
    kind: str
    ranks: int
    layers: int = 4
    ratio: float = 2.0
    host: float = 0.4
    cover: float = 0.5
    alpha: float = 22000.0
    beta: float = 80.0
    sync: bool = False          # the loss is read in each step
    queue: int = 1022
    stages: int = 1
    knobs: dict[str, Any] = field(default_factory=dict)

    def turned(self, **knobs: Any) -> "Shape":
        """The same job with knobs turned."""
        return replace(self, knobs={**self.knobs, **knobs})

    def knob(self, name: str, default: Any = 0) -> Any:
        """A knob's position."""
        return self.knobs.get(name, default)


class Loose(Join):
    """A collective whose ranks end within two or three microseconds of each other, as real ones do."""

    def __init__(self, size: int, tau: int, sim: Sim, *key: Any) -> None:
        self.sim, self.key, self.reads = sim, key, 0
        super().__init__(size, tau)

    @property
    def tau(self) -> int:
        """Its length, for one more of its ranks."""
        self.reads += 1
        return self.least + int(self.sim.draws.between(0, 2600, "end", self.reads, *self.key) ** 2 / 2600)

    @tau.setter
    def tau(self, least: int) -> None:
        self.least = least


class Team:
    """What the ranks of one job share."""

    def __init__(self, shape: Shape, sim: Sim, device: Device = A100) -> None:
        self.shape, self.sim, self.device = shape, sim, device
        self.joins: dict[tuple[Any, ...], Join] = {}
        self.layers = build(sim.draws, device, "transformer", shape.layers, False)
        factor = shape.ratio * launches(self.layers) * 62000 * shape.host / device_time(self.layers)
        scaled(self.layers, factor, device, sim.draws, False)
        self.forward_ns = sum(p.length for layer in self.layers for p in layer)
        self.backward_ns = device_time(self.layers) - self.forward_ns
        self.groups: dict[str, tuple[str, str, list[int]]] = {"world": ("0", "default_pg", list(range(shape.ranks)))}

    def group(self, key: str, description: str, ranks: list[int]) -> str:
        """Names a process group."""
        self.groups.setdefault(key, (str(len(self.groups)), description, ranks))
        return key

    def transfer(self, kind: str, nbytes: int, size: int) -> float:
        """How long the bytes of a collective take without latency."""
        factor = KINDS[kind][4] if kind in KINDS else 1.0
        share = (size - 1) / size if kind in KINDS else 1.0
        return nbytes * factor * share / self.shape.beta * self.shape.knob("slow", 1.0)

    def tau(self, kind: str, nbytes: int, size: int, *key: Any) -> int:
        """How long a collective takes from its last arrival: alpha and beta with a few per cent of scatter."""
        if self.shape.knob("free_network"):
            return 1500
        steps = 1.0 + 0.15 * math.log2(max(2, size))
        scatter = self.sim.draws.between(0.97, 1.05, "tau", *key)
        return max(4000, int((self.shape.alpha * steps + self.transfer(kind, nbytes, size)) * scatter))

    def bytes_for(self, kind: str, ns: float, size: int) -> int:
        """Bytes that this network moves in `ns` when it is not slow; so a slow one takes longer for the same job."""
        share = (size - 1) / size if kind in KINDS else 1.0
        factor = KINDS[kind][4] if kind in KINDS else 1.0
        return max(4096, int(ns * self.shape.beta / factor / share) // 512 * 512)

    def join(self, kind: str, nbytes: int, size: int, *key: Any) -> Join:
        """The collective of this key, the same for all that ask."""
        found = self.joins.get((kind, *key))
        if found is None:
            found = self.joins[(kind, *key)] = Loose(size, self.tau(kind, nbytes, size, kind, *key), self.sim, *key)
        return found


class Steady(Host):
    """A host without the longest stalls: those would be causes that nobody planted."""

    def cost(self, table: str, what: str, *place: int | str) -> int:
        base = min(self.draws.table(table, what), TABLES[table][17])
        jitter = min(2.2, self.draws.table("jitter", self.thread.rank.step, what, *place))
        return max(200, int(base * jitter * self.scale))


class Worker:
    """One rank: its host threads, streams, and what it launches."""

    def __init__(self, team: Team, index: int) -> None:
        self.team, self.shape, self.index = team, team.shape, index
        self.me = 0 if team.shape.knob("even") else index   # whose random numbers it draws
        self.rank = team.sim.rank()
        self.rank.queue_limit = team.shape.queue
        self.rank.comm_slowdown = float(team.shape.knob("contention", 0.0))
        self.main, self.autograd = self.rank.thread("main"), self.rank.thread("pt_autograd_0")
        slow = team.shape.knob("host_rank", {}).get(index, 1.0)
        self.host = Steady(self.main, team.shape.host * slow * team.shape.knob("host_all", 1.0))
        self.rank.gap = lambda op: min(6000, int(team.sim.draws.table("stream_gap", self.me, op.step, op.length & 0xFFFF)))  # type: ignore
        self.compute: Stream = self.rank.stream(7)
        self.counts: dict[str, int] = {}

    def speed(self, step: int, moe: bool = False) -> float:
        """How much longer this rank's kernels take: its clock, its share of the work."""
        shape = self.shape
        factor = float(shape.knob("clock", {}).get(self.index, 1.0))
        factor *= shape.knob("work", {}).get(self.index, 1.0)
        if moe:
            factor *= shape.knob("experts", {}).get(self.index, 1.0)
        uneven = float(shape.knob("uneven", 0.0))
        if uneven:
            factor *= 1.0 + uneven * (2.0 * self.team.sim.draws.unit("uneven", self.me, step) - 1.0)
        return factor

    def part(self, part: Part, step: int, scale: float, *place: Any) -> Part:
        """The operator with the length that its kernel has here."""
        scatter = self.team.sim.draws.between(0.985, 1.02, "kernel", self.me, step, *place)
        return replace(part, length=max(1200, int(part.length * scale * scatter)))

    def forward_layer(self, step: int, layer: int, scale: float, *place: Any, numbers: range | None = None) -> Process:
        """A layer's operators, or some of them, on the main thread."""
        parts = self.team.layers[layer]
        for number in numbers or range(len(parts)):
            piece = self.part(parts[number], step, scale, "f", layer, number, *place)
            yield from self.host.between(self.main, "fwd_between", piece.op, self.me, layer, number, *place)
            self.host.sequence += 1
            yield from self.host.operator(self.main, piece, self.compute, "fwd", self.me, layer, number, *place, sequence=self.host.sequence)

    def backward_layer(self, step: int, layer: int, scale: float, *place: Any, numbers: range | None = None) -> Process:
        """The gradients of a layer, or of some of its operators, on the autograd thread."""
        parts, thread = self.team.layers[layer], self.autograd
        for number in reversed(numbers or range(len(parts))):
            part = parts[number]
            yield from self.host.between(thread, "bwd_between", part.gradient, self.me, layer, number, *place)
            args = node(self.host.sequence - layer * len(parts) - number, 1)
            thread.open(f"autograd::engine::evaluate_function: {part.gradient}", **args)
            thread.open(part.gradient, **args)
            for nth, one in enumerate(part.backward):
                piece = self.part(one, step, scale, "b", layer, number, nth, *place)
                yield from self.host.operator(thread, piece, self.compute, "bwd", self.me, layer, number, nth, *place)
            thread.close()
            thread.close()

    def again(self, step: int, layer: int, scale: float, *place: Any) -> Process:
        """A checkpointed layer's second forward pass, on the autograd thread."""
        thread = self.autograd
        thread.open("autograd::engine::evaluate_function: CheckpointFunctionBackward")
        thread.open("CheckpointFunctionBackward")
        for number, part in enumerate(self.team.layers[layer]):
            piece = self.part(part, step, scale, "r", layer, number, *place)
            yield from self.host.between(thread, "fwd_between", piece.op, self.me, layer, number, "again", *place)
            self.host.sequence += 1
            yield from self.host.operator(thread, piece, self.compute, "fwd", self.me, layer, number, "again", *place, sequence=self.host.sequence)
        thread.close()
        thread.close()

    def lead(self, table: str, step: int, *place: Any) -> Process:
        """Time of the main thread before and after the autograd thread works."""
        measured = min(260000.0, max(20000.0, self.team.sim.draws.table(table, self.me, step, *place)))
        yield int(measured * min(1.0, 1.5 * self.shape.host))

    def describe(self, group: str, kind: str, nelems: int, size: int, extra: dict[str, Any]) -> dict[str, Any]:
        """What torch writes about a collective, in its record and with its kernel."""
        if self.shape.knob("bare"):
            return {}
        name, text, ranks = self.team.groups[group]
        into = nelems // size if kind == "allgather" else nelems
        out = nelems // size if kind == "reduce_scatter" else nelems
        return {"Collective name": KINDS[kind][2] if kind in KINDS else kind, "In msg nelems": into, "Out msg nelems": out, "Group size": size,
                "dtype": "BFloat16", "In split size": "[]", "Out split size": "[]", "Process Group Name": name,
                "Process Group Description": text, "Process Group Ranks": str(ranks), "Rank": ranks.index(self.index), **extra}

    def collective(self, thread: Thread, kind: str, nbytes: int, stream: Stream, group: str = "world", after: Event | None = None,
                   late: int = 0) -> Process:
        """Issues a collective of the group on the stream, behind what the compute stream has now, or behind `after`.

        On a stream of its own it returns an Event that its end fires."""
        size = len(self.team.groups[group][2])
        number = self.counts[group + kind] = self.counts.get(group + kind, 0) + 1
        join = self.team.join(kind, nbytes, size, group, number)
        operator, range_name, _, kernel, _ = KINDS[kind]
        args = self.describe(group, kind, nbytes // 2, size, {"Seq": number})
        return (yield from self.issue(thread, (operator, range_name, kernel), join, stream, args, after, late))

    def inside(self, thread: Thread, names: tuple[str, ...], process: Process) -> Process:
        """A process within slices of these names, as hooks run inside nodes of the autograd engine."""
        for name in names:
            thread.open(name)
        got = yield from process
        for _ in names:
            thread.close()
        return got

    def ranged(self, thread: Thread, name: str, process: Process) -> Process:
        """A process within a range of this name."""
        thread.open(name, "user_annotation")
        got = yield from process
        thread.close()
        return got

    def message(self, thread: Thread, kind: str, peer: int, nbytes: int, stream: Stream, *key: Any) -> Process:
        """Half of a message: "send" or "recv". Both ranks must come with the same key, which is the direction."""
        number = self.counts[str(key)] = self.counts.get(str(key), 0) + 1
        join = self.team.join("message", nbytes, 2, *key, number)
        source, target = (self.index, peer) if kind == "send" else (peer, self.index)
        pair = self.team.group(f"pipe{min(source, target)}:{max(source, target)}", "pp", sorted((source, target)))
        args = self.describe(pair, kind, nbytes // 2, 2, {"Seq": number, "Src Rank": source, "Dst Rank": target}) if not self.shape.knob("bare") else {}
        arrow = f"{source}->{target}" if kind == "send" else f"{target}<-{source}"
        return (yield from self.issue(thread, (f"c10d::{kind}", f"nccl:{kind} {arrow}", "ncclDevKernel_SendRecv"), join, stream, args, None, 0,
                                      wait=kind == "send"))

    def issue(self, thread: Thread, names: tuple[str, str, str], join: Join, stream: Stream, args: dict[str, Any], after: Event | None,
              late: int, wait: bool = True) -> Process:
        """The host's side of a collective or a message, and its kernel."""
        operator, range_name, kernel = names
        thread.at_site(operator, self.counts.get("issued", 0))
        self.counts["issued"] = self.counts.get("issued", 0) + 1
        if late:
            yield late
        thread.open(operator)
        yield self.host.cost("fwd_op_without", operator, self.me, self.counts["issued"])
        if args:
            thread.open("record_param_comms", **args)
        thread.open(range_name, "user_annotation")
        own = stream is not self.compute
        if own and after is None and wait:
            after = Event()
            yield from thread.record(after, self.compute)
        if own and after is not None:
            yield from thread.wait_event(after, stream)
        shown = {**args, "grid": [16, 1, 1], "block": [544, 1, 1]}
        yield from thread.collective(join, kernel + TAIL, stream, shown)
        done = Event()
        if own:
            yield from thread.record(done, stream)
        thread.close()
        if args:
            thread.close()
        yield int(4000 * self.shape.host)
        thread.close()
        return done

    def until(self, thread: Thread, event: Event) -> Process:
        """The compute stream waits for a collective on another stream."""
        yield from thread.wait_event(event, self.compute)

    def pause(self, ns: int, busy: bool) -> Process:
        """Host time that nothing records."""
        yield int(ns) if busy else Sleep(int(ns))
