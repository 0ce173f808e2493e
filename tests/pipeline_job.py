# SPDX-License-Identifier: Apache-2.0
"""A training job with data and pipeline parallelism, played through by a program of its own: each queue of each worker goes on when what it
waits for has happened.  It knows what every operation costs, so it can also be played with other costs: that is the truth for
`holdup stragglers`, which sees only the rows.  Nothing here is shared with src/."""
from __future__ import annotations

import dataclasses
import random
import statistics
from typing import Callable, Iterable

COLUMNS = ["dp_rank", "stage", "rank", "step", "optype", "start_ts", "duration", "seq_id", "mc", "mb_id", "gmc"]
WORK = {"forward-compute", "backward-compute", "gc", "optimizer"}       # ideal is the mean; of everything else the median
RIM = 1000
MERGED = {"forward-send": "forward-pp-comm", "forward-recv": "forward-pp-comm", "backward-send": "backward-pp-comm",
          "backward-recv": "backward-pp-comm"}


@dataclasses.dataclass(frozen=True)
class Shape:
    dp: int = 2
    pp: int = 4
    vpp: int = 1
    microbatches: int = 4
    steps: int = 3
    overlaps: bool = False          # gradients are exchanged while backward passes run
    buckets: int = 1                # exchanges of parameters and of gradients for each chunk
    devices: int = 1                # of one worker: tensor parallel x other groups, only seen in rank numbers
    gpipe: bool = False             # all forward passes, then all backward passes
    idle_calls: bool = False        # sends and receives that move nothing are recorded too, as some recorders do
    drops_first_recv: bool = False  # but not the very first receive of the first stage
    exchanges: bool = True


@dataclasses.dataclass(frozen=True)
class Op:
    kind: str
    step: int
    dp: int
    stage: int
    number: int                     # of its kind on the worker
    chunk: int = -1
    microbatch: int = -1


def schedule(shape: Shape, stage: int) -> list[tuple[str, int, int]]:
    """(direction, chunk, microbatch) in the order in which a stage runs them: one forward, one backward, interleaved for several chunks."""
    total = shape.microbatches * shape.vpp

    def nth(k: int, forward: bool) -> tuple[int, int]:
        if shape.vpp == 1:
            return 0, k
        chunk = k // shape.pp % shape.vpp
        return chunk if forward else shape.vpp - 1 - chunk, k // (shape.pp * shape.vpp) * shape.pp + k % shape.pp

    if shape.gpipe:
        warm = total
    elif shape.vpp == 1:
        warm = min(total, shape.pp - stage - 1)
    else:
        warm = min(total, (shape.pp - stage - 1) * 2 + (shape.vpp - 1) * shape.pp)
    order = [("forward", *nth(k, True)) for k in range(warm)]
    for k in range(total - warm):
        order += [("forward", *nth(warm + k, True)), ("backward", *nth(k, False))]
    return order + [("backward", *nth(k, False)) for k in range(total - warm, total)]


class Job:
    """`cost(op)` in ns: how long an operation takes once all that it needs is there; `delay(op)`: how much later than possible it starts."""

    def __init__(self, shape: Shape, cost: Callable[[Op], int], delay: Callable[[Op], int] = lambda op: 0) -> None:
        self.shape = shape
        self.workers = [(d, s) for d in range(shape.dp) for s in range(shape.pp)]
        self.queues: dict[tuple[int, int, int], list[list[Op]]] = {}
        self.needs: dict[Op, list[Op]] = {}
        self.group: dict[Op, list[Op]] = {}
        for step in range(shape.steps):
            self.lay_out(step)
        self.cost = {op: cost(op) for op in self.needs}
        self.delay = {op: delay(op) for op in self.needs}

    def lay_out(self, step: int) -> None:
        sh = self.shape
        carried: dict[tuple, list[Op]] = {}
        meetings: dict[tuple, list[Op]] = {}
        for d, s in self.workers:
            order = schedule(sh, s)
            computes, by_direction = [], {"forward": [], "backward": []}
            for direction, chunk, mb in order:
                op = Op(f"{direction}-compute", step, d, s, len(by_direction[direction]), chunk, mb)
                self.needs[op] = []
                by_direction[direction].append(op)
                computes.append(op)
            queues = [computes]
            for direction, sign in (("forward", 1), ("backward", -1)):
                sends, recvs = [], []
                for k, op in enumerate(by_direction[direction]):
                    place = op.chunk * sh.pp + s
                    into, out = 0 <= place - sign < sh.vpp * sh.pp, 0 <= place + sign < sh.vpp * sh.pp
                    if into or (sh.idle_calls and sh.vpp > 1 and not (sh.drops_first_recv and k == 0 and s == 0)):
                        recv = Op(f"{direction}-recv", step, d, s, len(recvs))
                        self.needs[recv] = [by_direction[direction][k - 1]] if k else []
                        self.needs[op].append(recv)
                        recvs.append(recv)
                        if into:
                            carried.setdefault((direction, d, place if sign > 0 else place + 1, op.microbatch), []).append(recv)
                    if out or (sh.idle_calls and sh.vpp > 1):
                        send = Op(f"{direction}-send", step, d, s, len(sends))
                        self.needs[send] = [op]
                        sends.append(send)
                        if out:
                            carried.setdefault((direction, d, place + 1 if sign > 0 else place, op.microbatch), []).append(send)
                queues += [sends, recvs]
            first = next(i for i, op in enumerate(computes) if op.kind == "backward-compute")
            for op in self.needs:
                if op.step == step and (op.dp, op.stage, op.number) == (d, s, 0) and op.kind in ("backward-recv", "backward-send") and first >= 2:
                    self.needs[op] = self.needs[op] + [computes[first - 2]]
            queues += self.exchange(step, d, s, computes, by_direction, meetings)
            self.queues[step, d, s] = queues
        for members in list(carried.values()) + list(meetings.values()):
            for op in members:
                self.group[op] = members

    def exchange(self, step: int, d: int, s: int, computes: list[Op], by_direction: dict[str, list[Op]], meetings: dict) -> list[list[Op]]:
        sh = self.shape
        queue: list[Op] = []
        tail: list[Op] = [Op("gc", step, d, s, 0), Op("layernorm-grads-all-reduce", step, d, s, 0)]
        if s in (0, sh.pp - 1):
            tail.append(Op("embedding-grads-all-reduce", step, d, s, 0))
            meetings.setdefault(("embedding", d), []).append(tail[-1])
        if sh.exchanges:
            for kind, chunks in (("params-all-gather", range(sh.vpp)), ("grads-reduce-scatter", reversed(range(sh.vpp)))):
                for chunk in chunks:
                    for _ in range(sh.buckets):
                        op = Op(kind, step, d, s, sum(o.kind == kind for o in queue), chunk)
                        self.needs[op] = []
                        queue.append(op)
                        meetings.setdefault((kind, s, op.number), []).append(op)
                    if kind == "params-all-gather":
                        next(self.needs[c] for c in by_direction["forward"] if c.chunk == chunk).append(queue[-1])
                    elif sh.overlaps:
                        self.needs[queue[-sh.buckets]].append([c for c in by_direction["backward"] if c.chunk == chunk][-1])
        grads = [op for op in queue if op.kind == "grads-reduce-scatter"]
        if sh.overlaps and sh.exchanges:
            tail.append(Op("separate-grads-all-reduce", step, d, s, 0))
            meetings.setdefault(("separate", s), []).append(tail[-1])
        elif grads:
            self.needs[grads[0]].append(tail[-1])
        end = [Op("optimizer-clip-main-grad", step, d, s, 0), Op("optimizer", step, d, s, 0)]
        meetings.setdefault(("clip",), []).append(end[0])
        for op in tail + end:
            self.needs[op] = []
        self.needs[tail[0]].append(computes[-1])
        for before, op in zip(tail, tail[1:]):
            self.needs[op].append(before)
        if grads and sh.overlaps:
            self.needs[tail[1]].append(grads[-1])
        self.needs[end[0]].append(tail[-1] if sh.overlaps or not grads else grads[-1])
        self.needs[end[1]].append(end[0])
        return [queue, tail, end]

    def play(self, cost: dict[Op, float] | None = None, delayed: bool = False) -> dict[Op, tuple[float, float]]:
        """(start, end) of every operation; each step begins at 0."""
        cost = cost or self.cost
        posted: dict[Op, float] = {}
        times: dict[Op, tuple[float, float]] = {}
        heads = {key: [0] * len(queues) for key, queues in self.queues.items()}
        moved = True
        while moved:
            moved = False
            for key, queues in self.queues.items():
                for i, queue in enumerate(queues):
                    while heads[key][i] < len(queue):
                        op = queue[heads[key][i]]
                        before = [queue[heads[key][i] - 1]] if heads[key][i] else []
                        if op not in posted:
                            if any(n not in times for n in self.needs[op] + before):
                                break
                            posted[op] = max((times[n][1] for n in self.needs[op] + before), default=0) + (self.delay[op] if delayed else 0)
                            moved = True
                        group = self.group.get(op, [op])
                        if any(member not in posted for member in group):
                            break
                        times[op] = posted[op], max(posted[member] for member in group) + cost[op]
                        heads[key][i] += 1
                        moved = True
        assert len(times) == len(self.needs), "the job waits for itself"
        return times

    def mean_step(self, cost: dict[Op, float]) -> float:
        times = self.play(cost)
        return sum(max(end for op, (_, end) in times.items() if op.step == k and op.kind == "optimizer") for k in range(self.shape.steps)) / self.shape.steps

    def ideal(self) -> dict[Op, float]:
        values: dict[str, list[float]] = {}
        for op, cost in self.cost.items():
            values.setdefault(op.kind, []).append(cost)
        for kind in ("forward-send", "backward-recv") if self.shape.idle_calls else ():
            places = {(op.step, op.dp, op.stage) for op in self.cost if op.kind == kind}
            values.get(kind, []).extend([RIM] * len(places))                # a recorder that counts them counts them here too
        one = {kind: statistics.fmean(v) if kind in WORK else statistics.median(v) for kind, v in values.items()}
        return {op: one[op.kind] for op in self.cost}

    def alone(self, chosen: Callable[[Op], bool]) -> float:
        """A step where only the chosen operations cost what they do."""
        ideal = self.ideal()
        return self.mean_step({op: cost if chosen(op) else ideal[op] for op, cost in self.cost.items()})

    def fixed(self, chosen: Callable[[Op], bool]) -> float:
        ideal = self.ideal()
        return self.mean_step({op: ideal[op] if chosen(op) else cost for op, cost in self.cost.items()})

    def evened(self, place: Callable[[Op], tuple], to_one: bool) -> dict[Op, float]:
        """Passes take the mean of their place, or keep their share of it while all places have the same mean."""
        sums: dict[tuple, list[float]] = {}
        for op, cost in self.cost.items():
            sums.setdefault((op.kind, place(op)), []).append(cost)
        mean = {key: statistics.fmean(costs) for key, costs in sums.items()}
        ideal = self.ideal()
        return {op: cost if not op.kind.endswith("compute") else mean[op.kind, place(op)] if to_one else cost * ideal[op] / mean[op.kind, place(op)]
                for op, cost in self.cost.items()}

    def rank(self, d: int, s: int) -> int:
        return (s * self.shape.dp + d) * self.shape.devices

    def rows(self, delayed: bool = True) -> list[dict[str, object]]:
        """As the job would be recorded."""
        begin = 1_700_000_000_000_000_000
        rows = []
        for op, (start, end) in sorted(self.play(delayed=delayed).items(), key=lambda x: dataclasses.astuple(x[0])):
            rows.append({"dp_rank": op.dp, "stage": op.stage, "rank": self.rank(op.dp, op.stage), "step": 10 + 3 * op.step, "optype": op.kind,
                         "start_ts": begin + 10_000_000_000 * op.step + int(start), "duration": int(end) - int(start), "seq_id": op.number,
                         "mc": op.chunk, "mb_id": op.microbatch, "gmc": op.chunk * self.shape.pp + op.stage if op.chunk >= 0 else -1})
        if self.shape.idle_calls:
            rows += self.rim(rows)
        return rows

    def rim(self, rows: list[dict[str, object]]) -> list[dict[str, object]]:
        """Calls that were recorded though nothing was launched: a receive behind the last pass has begun, a send before the first has ended."""
        made = []
        for step in {r["step"] for r in rows}:
            for d, s in self.workers:
                mine = [r for r in rows if (r["step"], r["dp_rank"], r["stage"]) == (step, d, s)]
                recvs, sends = ([r for r in mine if r["optype"] == kind] for kind in ("backward-recv", "forward-send"))
                last = max((r for r in mine if r["optype"] == "backward-compute"), key=lambda r: r["start_ts"])
                first = min((r for r in mine if r["optype"] == "forward-compute"), key=lambda r: r["start_ts"])
                if recvs:
                    made.append({**recvs[0], "start_ts": last["start_ts"] + last["duration"] // 2, "duration": RIM, "seq_id": len(recvs)})
                if sends:
                    made.append({**sends[0], "start_ts": first["start_ts"] + first["duration"] // 2, "duration": RIM, "seq_id": -1})
        return made


def text(rows: Iterable[dict[str, object]], columns: list[str] | None = None, separator: str = ",", power: int = 9) -> str:
    """As a table; times are in 10^(power - 9) s and exact."""
    columns = columns or COLUMNS

    def cell(column: str, value: object) -> str:
        if column not in ("start_ts", "duration") or power == 0:
            return str(value)
        digits = str(value).rjust(power + 1, "0")
        return f"{digits[:-power]}.{digits[-power:]}"
    return "\n".join([separator.join(columns)] + [separator.join(cell(c, r[c]) for c in columns) for r in rows]) + "\n"


def plain_costs(seed: int = 0, noise: float = 0.05, slow: Callable[[Op], float] = lambda op: 1.0) -> Callable[[Op], int]:
    """Costs in ns as such jobs have them, with noise; `slow` multiplies."""
    r = random.Random(seed)
    base = {"forward-compute": 60e6, "backward-compute": 130e6, "forward-send": 0.4e6, "forward-recv": 0.4e6, "backward-send": 0.5e6,
            "backward-recv": 0.5e6, "params-all-gather": 20e6, "grads-reduce-scatter": 50e6, "layernorm-grads-all-reduce": 0.02e6,
            "embedding-grads-all-reduce": 9e6, "separate-grads-all-reduce": 4e6, "optimizer-clip-main-grad": 3e6, "optimizer": 40e6, "gc": 0.01e6}
    return lambda op: round(base[op.kind] * (1 + noise * r.random()) * slow(op))
