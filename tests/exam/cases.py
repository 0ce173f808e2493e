# SPDX-License-Identifier: Apache-2.0
"""One case of the exam: a job, what is wrong with it, what that truly costs, and how it was captured."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.exam import cpu, serve, train  # noqa: F401  (they register their kinds of jobs)
from tests.exam.draws import Draws
from tests.exam.job import Job, simulate
from tests.exam.kineto import Capture, Window, distributed, write
from tests.exam.nulls import NULLS
from tests.exam.plants import LONG, SHORT, Plant, captured_period, gain, period, sized, warm
from tests.exam.plants_cpu import PLANTS as CPU
from tests.exam.plants_device import PLANTS as DEVICE
from tests.exam.plants_host import PLANTS as HOST
from tests.exam.plants_serve import PLANTS as SERVE
from tests.exam.presets import preset

PLANTS: list[Plant] = HOST + DEVICE + SERVE + CPU
COMM = frozenset({"exposed-communication", "poor-overlap", "comm-latency", "comm-bandwidth"})
SYNC = frozenset({"host-sync"})
LAUNCH = frozenset({"launch-bound", "many-small-operators"})
NATURAL: dict[str, list[tuple[str, frozenset[str], dict[str, Any]]]] = {  # what jobs of a kind may gain from though nothing is planted
    "train": [
        ("launch overhead", LAUNCH, {"graphed": 1}),
        ("syncs", SYNC, {"items": 0, "loss_item": 0, "device_sync": 0}),
        ("communication", COMM, {"ddp": 60000}),
        ("Python behind each number", frozenset({"unrecorded", "host-work"}), {"item_python": 0}),
    ],
    "serve": [("launch overhead", LAUNCH, {"graphed": 1}), ("syncs", SYNC, {"no_wait": 1})],
}


@dataclass
class Truth:
    """What removing one cause gains, in percent of the step."""

    cause: str
    accepts: frozenset[str]
    gain: float


@dataclass
class Case:
    """A question of the exam. truths[0] is the planted cause; the rest is what else this job would gain from."""

    number: int
    cause: str
    preset: str
    strength: float
    job: Job
    truths: list[Truth] = field(default_factory=list)
    capture: Capture = field(default_factory=Capture)
    defect: str = ""
    null: bool = False
    period: float = 0.0
    once: bool = False  # the planted cause strikes in the capture alone: `period` is the mean of the captured steps
    first: int = 0
    count: int = 5
    final_sync: bool = True


DEFECTS: list[tuple[str, dict[str, Any]]] = [
    ("", {}),
    ("", {}),
    ("", {}),
    ("cuda_sync", {"cuda_sync": True}),
    ("cuda_sync", {"cuda_sync": True}),
    ("no flows", {"flows": False}),
    ("no shapes", {"shapes": False}),
    ("whole us", {"whole_us": True}),
    ("2 % lost", {"lost": 0.02}),
    ("no ProfilerStep", {"steps": False}),
]


def make(number: int, seed: int, only: str = "") -> Case:
    """The case of this number."""
    draws = Draws(seed * 1000003 + number)
    plants = [p for p in PLANTS if only in p.cause] if only else PLANTS
    nulls = [n for n in NULLS if only in n.cause] if only else NULLS
    if nulls and (not plants or number % 4 == 3):
        chosen: Plant = nulls[(number // 4) % len(nulls)]
        null = True
    else:
        chosen = plants[(number if not nulls else number - number // 4) % len(plants)]
        null = False
    name = chosen.jobs[draws.whole(0, len(chosen.jobs) - 1, "preset")]
    strength = chosen.strengths[draws.whole(0, len(chosen.strengths) - 1, "strength")]
    job = preset(name, draws)
    size = 0.0 if null else sized(chosen, job, strength)
    case = Case(number, chosen.cause, name, 0.0 if null else strength, chosen.planted(job, size), null=null)
    second(case, chosen, draws)
    price(case, chosen)
    captured(case, chosen, draws)
    return case


def second(case: Case, chosen: Plant, draws: Draws) -> None:
    """In one case of six another, smaller cause sits beside the first."""
    beside = [p for p in PLANTS if p.cause in ("loader in process", "CPU operator", "cudaHostAlloc in steps") and p.cause != chosen.cause]
    if case.null or chosen.once or draws.unit("second") > 0.16 or case.job.kind != "train" or case.strength < 10:
        return
    other = beside[draws.whole(0, len(beside) - 1, "which")]
    base = period(case.job, SHORT)
    before = case.job
    case.job = case.job.with_knobs(**dict(other.extra), **{other.knob: int(base * 0.04)})
    if case.job.knobs == before.knobs:
        return
    case.truths.append(Truth(other.cause, other.accepts, gain(period(case.job, LONG), period(other.cured(case.job), LONG))))


def price(case: Case, chosen: Plant) -> None:
    """What each cure gains: the planted one, and those that jobs may need by nature."""
    job = case.job
    steady = period(job, LONG)
    planted = captured_period(job) if chosen.once else steady
    case.period, case.once = planted, chosen.once
    natural: list[Truth] = []
    for cause, accepts, knobs in NATURAL.get(job.kind, []):
        if cause == "communication" and (not job.knob("ddp") or COMM & chosen.accepts):
            continue
        if cause == "launch overhead" or any(job.knob(k) != v for k, v in knobs.items()):
            natural.append(Truth(cause, accepts, 100 * (steady - period(job.with_knobs(**knobs), LONG)) / planted))
    if not case.null:
        own = Truth(chosen.cause, chosen.accepts, gain(planted, period(chosen.cured(job), LONG)))
        natural = [n for n in natural if n.accepts != own.accepts]
        case.truths.insert(0, own)
    case.truths += natural


def captured(case: Case, chosen: Plant, draws: Draws) -> None:
    """How this case is recorded."""
    defect, options = DEFECTS[draws.whole(0, len(DEFECTS) - 1, "defect")]
    if chosen.once or case.job.kind != "train":
        defect, options = ("", {}) if "steps" in options else (defect, options)
    stacks = chosen.stacks if chosen.stacks is not None else draws.unit("stacks") < 0.4
    case.defect, case.capture = defect, Capture(stacks=stacks, **options)
    case.count = draws.whole(4, 8, "steps captured")
    case.first = warm(case.job) + draws.whole(0, 3, "first")
    rhythm = int(
        case.job.knob("loader_every")
        or case.job.knob("gc_every")
        or case.job.knob("validate_every")
        or case.job.knob("checkpoint")
        and 4
        or 1
    )
    case.count = max(rhythm, (case.count + rhythm - 1) // rhythm * rhythm)  # whole periods, or no window could show the mean
    if chosen.once:
        case.first, case.count = 0 if case.job.knob("startup") else warm(case.job), 5
    case.final_sync = draws.unit("final sync") < 0.8
    device = case.job.hardware()
    case.capture.rocm = bool(device and device.amd())
    if case.job.knob("ddp"):
        case.capture.metadata = distributed(0, int(case.job.knob("world", 8)))


def record(case: Case, path: Path) -> None:
    """Runs the job under the profiler and writes the file."""
    run = simulate(case.job, case.first + case.count, case.first, case.final_sync)
    rank = run.rank()
    marks = dict(rank.marks)
    end = max(rank.marks[-1][1], run.sim.now if case.final_sync else 0)
    keep = case.final_sync or case.number % 2 == 0
    write(rank, path, Window(marks[case.first], end, keep), case.capture, case.job.hardware())
