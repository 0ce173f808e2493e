# SPDX-License-Identifier: Apache-2.0
"""Plants one cause in a job, large enough to cost a given share of a step, and knows what taking it out again would gain.

Each plant states its truth: what `cure` changes.  The size is found by simulating, with the cause and without it, until the
gain is within a tenth of the target; what is scored is the exact gain of the final pair, not the target."""
from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tests.scoreboard.job import LINK, Setup, draw, run, step_ns
from tests.scoreboard.kineto import Capture
from tests.scoreboard.machine import MS, US

MAGNITUDES = (1, 3, 10, 30)
TOLERANCE = 0.08
NOTHING = "(nothing)"

# The ids that name a planted cause.  A parent is right where a reader would be led to the same fix.
ACCEPTED: dict[str, tuple[str, ...]] = {
    "data-loading": ("data-loading",),
    "io-stall": ("io-stall",),
    "host-sync": ("host-sync",),
    "copy-bound": ("copy-bound",),
    "launch-bound": ("launch-bound",),
    "exposed-communication": ("exposed-communication", "poor-overlap"),
    "poor-overlap": ("poor-overlap", "exposed-communication"),
    "comm-latency": ("comm-latency", "exposed-communication"),
    "overlap-contention": ("overlap-contention",),
    "python-gc": ("python-gc", "unrecorded"),    # two of three captures record it
    "allocator": ("allocator",),
    "tensor-cores-unused": ("tensor-cores-unused",),
    "bandwidth-bound": ("bandwidth-bound",),
    "recompute": ("recompute",),
    "warm-up": ("warm-up", "cold-start"),
    "profiler-artefact": ("profiler-artefact",),
}


def step_of(job: Setup) -> float:
    return step_ns(run(job))


class Plant:
    """A cause.  `size` is in the unit of the field it sets."""
    cause = ""
    truth = ""                          # what the cured job is, in words
    kinds: tuple[str, ...] = ("gpu", "launch", "streams", "ddp")
    cured_alike = True                  # the cured job does not depend on the size
    smallest = 1

    def prepare(self, job: Setup, target: float, step: float, r: random.Random) -> Setup:
        """Choices that do not depend on the size."""
        return job

    def guess(self, job: Setup, target: float, step: float) -> float:
        return step * target / (1 - target)

    def grow(self, job: Setup, size: int) -> Setup:
        raise NotImplementedError

    def cure(self, job: Setup) -> Setup:
        raise NotImplementedError

    def gain(self, job: Setup) -> float:
        """Percent of the step of a job with this cause."""
        return 100 * (1 - step_of(self.cure(job)) / step_of(job))


def with_short_queue(job: Setup, r: random.Random) -> Setup:
    """A host that got ahead by several steps would hide every pause, and a faster host would hide more: then "make the host
    faster" were as right an answer as "take the pause away".  A queue that is short of a step leaves one answer."""
    return replace(job, costs=replace(job.costs, slots=r.choice((48, 64, 96))))


class DataLoading(Plant):
    cause = "data-loading"
    truth = "the batch is there at once (loader work 0), in this process or, with workers, in theirs"

    def prepare(self, job: Setup, target: float, step: float, r: random.Random) -> Setup:
        workers = r.choice((0, 0, 2, 4))        # the first batch of workers is always waited for: before the capture
        return replace(with_short_queue(job, r), workers=workers, batch_ns=1000, guard=1 if workers else job.guard)

    def guess(self, job: Setup, target: float, step: float) -> float:
        return max(1, job.workers) * step / (1 - target)

    def grow(self, job: Setup, size: int) -> Setup:
        return replace(job, batch_ns=size) if job.workers else replace(job, loader_ns=size)

    def cure(self, job: Setup) -> Setup:
        return replace(job, batch_ns=1000, loader_ns=0)


class IoStall(Plant):
    cause = "io-stall"
    truth = "the checkpoint takes no time on the main thread; its stall is spread over all counted steps"

    def prepare(self, job: Setup, target: float, step: float, r: random.Random) -> Setup:
        return replace(
            with_short_queue(job, r),
            stall_mark=r.choice(("annotation", "frame")),
            stall_steps=r.choice(((2, 4), (1, 3), (3,))),
        )

    def guess(self, job: Setup, target: float, step: float) -> float:
        return step * target / (1 - target) * job.steps / len(job.stall_steps)

    def grow(self, job: Setup, size: int) -> Setup:
        return replace(job, stall_ns=size)

    def cure(self, job: Setup) -> Setup:
        return replace(job, stall_ns=0)


class HostSync(Plant):
    cause = "host-sync"
    truth = ".item() is not called; what Python does with the number stays, behind the queue of the device"
    kinds = ("gpu", "streams", "ddp")

    def prepare(self, job: Setup, target: float, step: float, r: random.Random) -> Setup:
        most = max(1, int(step * target / (1 - target) / (90 * US)))
        return replace(job, syncs=min(most, r.choice((1, 2, job.layers, 2 * job.layers))), sync_is_pinned=r.random() < 0.6)

    def guess(self, job: Setup, target: float, step: float) -> float:
        return step * target / (1 - target) / job.syncs / 2

    def grow(self, job: Setup, size: int) -> Setup:
        return replace(job, sync_log_ns=size)

    def cure(self, job: Setup) -> Setup:
        return replace(job, syncs=-abs(job.syncs))

    cured_alike = False


class CopyBound(Plant):
    cause = "copy-bound"
    truth = "the batch comes from pinned memory without blocking, on the same stream, at 24 instead of 7 GB/s"

    def guess(self, job: Setup, target: float, step: float) -> float:
        return 9 * step * target / (1 - target)

    def grow(self, job: Setup, size: int) -> Setup:
        return replace(job, copy_is_pageable=True, copy_bytes=max(1 << 16, size // 4 * 4))

    def cure(self, job: Setup) -> Setup:
        return replace(job, copy_is_pageable=False)

    cured_alike = False


class LaunchBound(Plant):
    cause = "launch-bound"
    truth = "Python and dispatch of every operator take what they take in a job whose host runs ahead of its device"
    kinds = ("gpu", "streams", "ddp")
    smallest = 1000

    def guess(self, job: Setup, target: float, step: float) -> float:
        return 5000

    def grow(self, job: Setup, size: int) -> Setup:
        return replace(job, host_factor=size / 1000)

    def cure(self, job: Setup) -> Setup:
        return replace(job, host_factor=1.0)


class ExposedCommunication(Plant):
    cause = "exposed-communication"
    truth = (
        "gradients larger than backward can hide: collectives take 1 µs. On the compute stream: they get their own stream"
    )
    kinds = ("ddp",)

    def prepare(self, job: Setup, target: float, step: float, r: random.Random) -> Setup:
        return replace(job, comm=r.choice(("overlapped", "in-stream")))

    def guess(self, job: Setup, target: float, step: float) -> float:
        return step * LINK / 1.75 * (target / (1 - target) + (0.4 if job.comm == "overlapped" else 0))

    def grow(self, job: Setup, size: int) -> Setup:
        return replace(job, comm_bytes=size // 8 * 8)

    def cure(self, job: Setup) -> Setup:
        return replace(job, comm="overlapped" if job.comm == "in-stream" else "free")

    cured_alike = False


class PoorOverlap(ExposedCommunication):
    cause = "poor-overlap"
    truth = "each bucket is reduced as soon as its gradients are there, on the stream it has, instead of all after backward"

    def prepare(self, job: Setup, target: float, step: float, r: random.Random) -> Setup:
        return replace(job, comm="late")

    def cure(self, job: Setup) -> Setup:
        return replace(job, comm="overlapped")


class CommLatency(Plant):
    cause = "comm-latency"
    truth = "the tiny all-reduces are one, with the latency of one and the bytes of all"
    kinds = ("gpu", "ddp")
    cured_alike = False
    smallest = 2 * US

    def prepare(self, job: Setup, target: float, step: float, r: random.Random) -> Setup:
        return replace(job, tiny=min(r.randrange(24, 64), max(6, int(step * target / (1 - target) / (14 * US)))))

    def guess(self, job: Setup, target: float, step: float) -> float:
        return step * target / (1 - target) / job.tiny

    def grow(self, job: Setup, size: int) -> Setup:
        return replace(job, tiny_alpha=size)

    def cure(self, job: Setup) -> Setup:
        return replace(job, tiny_is_coalesced=True)


class OverlapContention(Plant):
    cause = "overlap-contention"
    truth = "kernels run as fast beside a collective as alone"
    kinds = ("ddp",)

    def prepare(self, job: Setup, target: float, step: float, r: random.Random) -> Setup:
        return replace(job, comm_bytes=int(step * LINK / 1.75 * r.uniform(0.28, 0.36)) // 8 * 8)

    def guess(self, job: Setup, target: float, step: float) -> float:
        return 2500 * target / (1 - target)

    def grow(self, job: Setup, size: int) -> Setup:
        return replace(job, costs=replace(job.costs, contention=min(size, 4000) / 1000))

    def cure(self, job: Setup) -> Setup:
        return replace(job, costs=replace(job.costs, contention=0.0))


class PythonGc(Plant):
    cause = "python-gc"
    truth = "the pauses are gone; two of three captures have a slice 'Python GC' for each, the others only a gap"

    def prepare(self, job: Setup, target: float, step: float, r: random.Random) -> Setup:
        return replace(with_short_queue(job, r), gc_is_recorded=r.random() < 0.67,
                       gc_steps=r.choice(((1, 3, 4), (1, 2, 3, 4, 5), (2, 4))))

    def guess(self, job: Setup, target: float, step: float) -> float:
        return step * target / (1 - target) * job.steps / len(job.gc_steps)

    def grow(self, job: Setup, size: int) -> Setup:
        return replace(job, gc_ns=size)

    def cure(self, job: Setup) -> Setup:
        return replace(job, gc_ns=0)


class Allocator(Plant):
    cause = "allocator"
    truth = "no cudaMalloc and no cudaFree in a step"

    def prepare(self, job: Setup, target: float, step: float, r: random.Random) -> Setup:
        return replace(job, allocs=r.choice((1, 2, 3)), allocs_wait=target * step > 250 * US)

    def guess(self, job: Setup, target: float, step: float) -> float:
        return step * target / (1 - target) / job.allocs / 2

    def grow(self, job: Setup, size: int) -> Setup:
        return replace(job, alloc_ns=size)

    def cure(self, job: Setup) -> Setup:
        return replace(job, alloc_ns=0)


class TensorCores(Plant):
    cause = "tensor-cores-unused"
    truth = "the fp32 products of a head take what TF32 on tensor cores takes (0.68 of that peak, not 0.88 of the vector peak)"
    kinds = ("gpu", "streams", "ddp")
    cured_alike = False
    smallest = 8

    def guess(self, job: Setup, target: float, step: float) -> float:
        return 1.2 * step * target / (1 - target) * job.device.vector * 0.88 / (6 * 1024 * 1024)

    def grow(self, job: Setup, size: int) -> Setup:
        return replace(job, vector_rows=max(8, size // 8 * 8))

    def cure(self, job: Setup) -> Setup:
        return replace(job, vector_on_tensor=True)


class BandwidthBound(Plant):
    cause = "bandwidth-bound"
    truth = "a chain of elementwise kernels is one kernel that reads once and writes once"
    kinds = ("gpu", "streams", "ddp")
    cured_alike = False
    smallest = 4096

    def prepare(self, job: Setup, target: float, step: float, r: random.Random) -> Setup:
        return replace(job, chain=r.randrange(5, 14))

    def guess(self, job: Setup, target: float, step: float) -> float:
        return step * target / (1 - target) * 0.85 * job.device.bandwidth / 2 / (job.chain - 1)

    def grow(self, job: Setup, size: int) -> Setup:
        return replace(job, chain_bytes=size // 4 * 4)

    def cure(self, job: Setup) -> Setup:
        return replace(job, chain_is_fused=True)


class Recompute(Plant):
    cause = "recompute"
    truth = "the checkpointed segment keeps its activations; forward and the rest of backward are the same"
    kinds = ("gpu", "streams", "ddp")
    cured_alike = False
    smallest = 2 * US

    def guess(self, job: Setup, target: float, step: float) -> float:
        return step * target / (6 - 15 * target)

    def grow(self, job: Setup, size: int) -> Setup:
        return replace(job, block_ns=size, recomputes=True)

    def cure(self, job: Setup) -> Setup:
        return replace(job, recomputes=False)


class WarmUp(Plant):
    cause = "warm-up"
    truth = "the first step loads no modules; as it does not recur, the gain is of the mean over all steps of the capture"

    def prepare(self, job: Setup, target: float, step: float, r: random.Random) -> Setup:
        return replace(job, guard=0)

    def guess(self, job: Setup, target: float, step: float) -> float:
        return step * target / (1 - target) * job.steps

    def grow(self, job: Setup, size: int) -> Setup:
        return replace(job, warm_ns=size)

    def cure(self, job: Setup) -> Setup:
        return replace(job, warm_ns=0)


class ProfilerArtefact(Plant):
    cause = "profiler-artefact"
    truth = "the launch calls in which the profiler asked for buffers take as long as the others"

    def prepare(self, job: Setup, target: float, step: float, r: random.Random) -> Setup:
        return with_short_queue(job, r)

    def guess(self, job: Setup, target: float, step: float) -> float:
        return step * target / (1 - target)

    def grow(self, job: Setup, size: int) -> Setup:
        return replace(job, overhead_ns=size)

    def cure(self, job: Setup) -> Setup:
        return replace(job, overhead_ns=0)


PLANTS: dict[str, Plant] = {
    p.cause: p
    for p in (
        DataLoading(),
        IoStall(),
        HostSync(),
        CopyBound(),
        LaunchBound(),
        ExposedCommunication(),
        PoorOverlap(),
        CommLatency(),
        OverlapContention(),
        PythonGc(),
        Allocator(),
        TensorCores(),
        BandwidthBound(),
        Recompute(),
        WarmUp(),
        ProfilerArtefact(),
    )
}
assert set(PLANTS) == set(ACCEPTED)


def calibrate(plant: Plant, job: Setup, target: float, r: random.Random) -> Setup | None:
    """The job with the plant at a size that costs `target` (0..1) of the step, or None where no size does."""
    step = step_of(job)
    job = plant.prepare(job, target, step, r)
    cured = step_of(plant.cure(plant.grow(job, plant.smallest))) if plant.cured_alike else 0.0

    def cost(size: int) -> float:
        """What the plant adds, as a share of the cured step: close to linear in its size."""
        grown = plant.grow(job, size)
        return step_of(grown) / (cured or step_of(plant.cure(grown))) - 1

    size = solve(cost, target, max(plant.smallest, int(plant.guess(job, target, step))), plant.smallest)
    return plant.grow(job, size) if size else None


def solve(cost: Callable[[int], float], target: float, size: int, smallest: int) -> int:
    """Newton's method with the slope of the last two sizes that cost anything, inside of a bracket.  The cost is zero until
    the size passes a slack, and close to linear from there; `size` is where it would be without slack."""
    aim = target / (1 - target)
    slope, bracket = aim / size, [smallest, 0]
    known: list[tuple[int, float]] = []
    for _ in range(14):
        found = cost(size)
        if abs(found / (1 + found) - target) <= TOLERANCE * target:
            return size
        if found > aim and size <= smallest:
            return 0
        bracket[found > aim] = size
        if found > aim / 50:
            known.append((size, found))
        if len(known) > 1 and known[-1][0] != known[-2][0]:
            slope = max(slope / 20, (known[-1][1] - known[-2][1]) / (known[-1][0] - known[-2][0]))
        size = next_size(size, found, aim, slope, bracket)
    return 0


def next_size(size: int, found: float, aim: float, slope: float, bracket: list[int]) -> int:
    low, high = bracket
    wanted = size + int((aim - found) / slope)
    if not high:
        return max(wanted if found > aim / 50 else 2 * size, size + 1) if wanted < 6 * size else 6 * size
    margin = (high - low) // 50
    if found <= aim / 50:
        return (low + high) // 2
    return min(max(wanted, low + margin), high - margin)


# One trace with everything that is known about it


@dataclass
class Case:
    """`truths` holds every gain that is known: of the plant, of the confounder, and of what the job has by nature."""
    index: int
    group: str                          # alone, confounded, decoy, null
    cause: str
    magnitude: int
    job: Setup
    capture: Capture
    defect: str = ""
    truths: dict[str, float] = field(default_factory=dict)

    def expected(self) -> str:
        """The cause with the largest gain, if it stands out; what is under 0.5 % is nobody's answer."""
        ranked = sorted(self.truths.items(), key=lambda kv: -kv[1])
        if not ranked or ranked[0][1] < 0.5:
            return NOTHING
        return ranked[0][0] if len(ranked) == 1 or ranked[0][1] > 1.2 * ranked[1][1] else ""


DEFECTS: dict[str, tuple[Capture, bool]] = {        # and whether forward is a CUDA graph
    "": (Capture(), False),
    "no cuda_sync": (Capture(has_sync=False), False),
    "times in whole µs": (Capture(rounds_to_us=True), False),
    "no shapes": (Capture(has_shapes=False), False),
    "2 % of launches lost": (Capture(lost_launches=0.02), False),
    "CUDA graph": (Capture(), True),
}
DECOYS: dict[str, tuple[str, ...]] = {              # and the findings they tempt to
    "long device sync": ("host-sync",),
    "hidden loader": ("data-loading",),
    "shadow collective": ("exposed-communication", "poor-overlap", "comm-latency"),
}


def natural_gains(case: Case) -> dict[str, float]:
    """What a job has to gain besides the planted cause."""
    job, found = case.job, {}
    before = step_of(job)
    if case.cause != "launch-bound":
        found["launch-bound"] = 100 * (1 - step_of(replace(job, host_is_free=True)) / before)
    if job.comm and not {case.cause} & {"exposed-communication", "poor-overlap"}:
        apart = replace(job, costs=replace(job.costs, contention=0.0))          # contention is another finding
        found["exposed-communication"] = 100 * (1 - step_of(replace(apart, comm="free")) / step_of(apart))
    return found


def pick_kind(plant: Plant, r: random.Random) -> str:
    """Mostly jobs that are bound by their device: there nothing else competes for the first place."""
    return r.choice([k for k in plant.kinds if k != "launch"] * 3 + [k for k in plant.kinds if k == "launch"])


def planted(index: int, cause: str, magnitude: int, is_confounded: bool, defect: str) -> Case | None:
    """A case, or None where this job cannot carry the plant."""
    r = random.Random(index * 104_729 + zlib.crc32(cause.encode()))
    plant = PLANTS[cause]
    capture, has_graph = DEFECTS[defect]
    job = draw(r.randrange(1 << 30), pick_kind(plant, r))
    job = replace(job, forward_graph=has_graph and job.kind != "streams")
    second = None
    if is_confounded:
        others = [
            p
            for p in PLANTS.values()
            if job.kind in p.kinds and p.cause not in ("warm-up", cause) and not clash(p.cause, cause)
        ]
        second = r.choice(others)
        grown = calibrate(second, job, 0.35 * magnitude / 100, r)
        if grown is None:
            return None
        job = grown
    grown = calibrate(plant, job, magnitude / 100, r)
    if grown is None:
        return None
    case = Case(
        index,
        "confounded" if second else "alone",
        cause,
        magnitude,
        grown,
        capture,
        defect if has_graph == grown.forward_graph else "",
    )
    case.truths = {cause: plant.gain(grown)}
    if second:
        case.truths[second.cause] = second.gain(grown)
    for name, gain in natural_gains(case).items():
        case.truths[name] = max(gain, case.truths.get(name, 0))
    return case


COMM_CAUSES = {"exposed-communication", "poor-overlap", "comm-latency", "overlap-contention"}


def clash(a: str, b: str) -> bool:
    """Two that would set the same fields, or be told apart by nobody."""
    return {a, b} <= COMM_CAUSES or {a, b} == {"launch-bound", "profiler-artefact"}


def decoy(index: int, name: str) -> Case | None:
    """Much time in something whose removal gains nothing."""
    r = random.Random(index * 104_729 + 5)
    if name == "shadow collective":
        job = draw(r.randrange(1 << 30), "launch")
        bait, clean = replace(job, shadow_ns=int(r.uniform(0.2, 0.35) * step_of(job))), replace(job, shadow_ns=1000)
    elif name == "hidden loader":
        clean = draw(r.randrange(1 << 30), r.choice(("gpu", "streams")))
        bait = replace(clean, loader_ns=int(r.uniform(0.3, 0.5) * step_of(clean)))
    else:
        clean = draw(r.randrange(1 << 30), r.choice(("gpu", "streams")))
        clean = replace(clean, rows=clean.rows * 4)
        bait = replace(clean, ends_with_sync=True)
    gain = 100 * (1 - step_of(clean) / step_of(bait))
    if abs(gain) > 0.5:
        return None
    case = Case(index, "decoy", name, 0, bait, Capture())
    case.truths = {DECOYS[name][0]: gain, **natural_gains(case)}
    return case


def null(index: int) -> Case | None:
    """Nothing planted, and nothing by nature."""
    r = random.Random(index * 104_729 + 7)
    job = draw(r.randrange(1 << 30), r.choice(("gpu", "gpu", "streams", "ddp")))
    case = Case(index, "null", NOTHING, 0, replace(job, comm_bytes=job.comm_bytes // 3), Capture())
    case.truths = natural_gains(case)
    return case if max(case.truths.values()) < 1 else None


def make(index: int) -> Case:
    """Case `index`: the same in every run.  Of 20, one is null, two are decoys, four have a confounder."""
    r = random.Random(index)
    place, turn = index % 20, index // 20
    for attempt in range(20):
        number = index + attempt * 1_000_003
        if place == 0:
            case = null(number)
        elif place in (1, 2):
            case = decoy(number, sorted(DECOYS)[(2 * turn + place) % len(DECOYS)])
        else:
            serial = turn * 17 + place - 3
            cause = sorted(PLANTS)[serial % len(PLANTS)]
            defect = r.choice(sorted(DEFECTS)) if r.random() < 0.35 else ""
            case = planted(
                number, cause, MAGNITUDES[serial // len(PLANTS) % 4 if attempt < 8 else r.randrange(4)], place < 7, defect
            )
        if case:
            case.index = index
            return case
    raise RuntimeError(f"case {index} cannot be made")


__all__ = ["ACCEPTED", "DECOYS", "DEFECTS", "MAGNITUDES", "MS", "NOTHING", "PLANTS", "Case", "calibrate", "make"]
