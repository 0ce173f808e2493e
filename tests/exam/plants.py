# SPDX-License-Identifier: Apache-2.0
"""What a plant is: a cause, the knob that sizes it, its cure, and the findings that would make a reader do the right thing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.exam.job import Job, simulate
from tests.exam.sim import QUEUE

WARM, SHORT, LONG = (
    8,
    12,
    12,
)  # steps before the truth is measured (at least), of a search, of a truth; causes strike every 1, 2, 3 or 4 steps
_KNOWN: dict[str, float] = {}  # periods of the newest job


@dataclass(frozen=True)
class Plant:
    """A cause. start: size of the knob at 10 % of a 10 ms step; whole: it is a count; fixed: it has no size, `extra` is all of it.

    once: it strikes only inside of the capture (a cold start); its gain is that of the captured steps against the steady state.
    """

    cause: str
    accepts: frozenset[str]
    jobs: tuple[str, ...]
    knob: str = ""
    start: float = 1e6
    whole: bool = False
    fixed: bool = False
    once: bool = False
    cure: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    strengths: tuple[float, ...] = (3.0, 10.0, 30.0)
    stacks: bool | None = None
    limit: float = 1e9

    def planted(self, job: Job, size: float) -> Job:
        """The job with the cause."""
        knobs = dict(self.extra)
        if self.knob:
            knobs[self.knob] = round(size) if self.whole else int(size)
        return job.with_knobs(**knobs)

    def cured(self, job: Job) -> Job:
        """The planted job without it."""
        cure = dict(self.cure) or {self.knob: 0}
        return job.with_knobs(**cure)


def plant(cause: str, accepts: str, jobs: str, **rest: Any) -> Plant:
    """A plant with its names as text."""
    return Plant(cause, frozenset(accepts.split()), tuple(jobs.split()), **rest)


def period(job: Job, steps: int) -> float:
    """The steady step period of a job, not profiled, as the mean over so many steps."""
    key = f"{job} {steps}"
    if key not in _KNOWN:
        if len(_KNOWN) > 40:
            _KNOWN.clear()
        first = warm(job)
        _KNOWN[key] = simulate(job, first + steps + 1).period(first, first + steps)
    return _KNOWN[key]


def warm(job: Job) -> int:
    """Steps until a job is steady: where the host never waits for the device, until it is as far ahead as the queue allows."""
    if job.kind != "train" or any(job.knob(k) for k in ("loss_item", "device_sync", "items", "allocs", "pageable", "blocking")):
        return WARM
    if job.ratio < 1.2:
        return WARM
    per_step = job.layers * (19 if job.model == "transformer" else 5) + 5
    return max(WARM, int(QUEUE / per_step * job.ratio / (job.ratio - 1)) + 2)


def gain(planted: float, cured: float) -> float:
    """In percent of the planted step."""
    return 100 * (1 - cured / planted)


def sized(cause: Plant, job: Job, wanted: float) -> float:
    """The size at which the cause costs about the wanted share of a step: bracketed, then bisected."""
    if cause.fixed:
        return 0.0
    depends = bool(cause.cure) and cause.knob not in cause.cure  # what the cure leaves over grows with the cause
    cured = period(cause.cured(cause.planted(job, cause.start)), SHORT)

    def cost(size: float) -> float:
        with_it = cause.planted(job, size)
        if cause.once:
            return gain(captured_period(with_it), cured)
        return gain(period(with_it, SHORT), period(cause.cured(with_it), SHORT) if depends else cured)

    low, least, high = 0.0, 0.0, cause.start
    most = cost(high)
    for _ in range(6):
        if most >= 0.85 * wanted or high > cause.limit:
            break
        low, least = high, most
        high *= min(6.0, max(1.6, 1.1 * wanted / most)) if most > 0.2 else 4.0
        most = cost(high)
    for _ in range(4):
        if most <= 1.2 * wanted or (cause.whole and high - low <= 1):
            break
        part = (wanted - least) / (most - least)
        middle = low + (high - low) * min(0.85, max(0.15, part))
        found = cost(middle)
        if found < 0.85 * wanted:
            low, least = middle, found
        else:
            high, most = middle, found
    return high


def captured_period(job: Job) -> float:
    """Mean step of a capture of five steps, as its window begins and ends."""
    first = 0 if job.knob("startup") else warm(job)
    marks = [time for _, time in simulate(job, first + 5, first).rank().marks]
    return (marks[first + 5] - marks[first]) / 5
