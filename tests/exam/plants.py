# SPDX-License-Identifier: Apache-2.0
"""What a plant is: a cause, the knob that sizes it, its cure, and the findings that would make a reader do the right thing."""
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.exam.job import Job, simulate

WARM, SHORT, LONG = 8, 14, 26  # steps before the truth is measured, of a search, of a truth


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
    """The steady step period of a job, not profiled."""
    return simulate(job, steps).period(WARM if steps > SHORT else 6, steps - 2)


def gain(planted: float, cured: float) -> float:
    """In percent of the planted step."""
    return 100 * (1 - cured / planted)


def sized(cause: Plant, job: Job, wanted: float) -> float:
    """The size at which the cause costs about the wanted share of a step: bracketed, then bisected."""
    if cause.fixed:
        return 0.0
    low, high = 0.0, cause.start
    cured = period(cause.cured(cause.planted(job, cause.start)), SHORT)

    def cost(size: float) -> float:
        with_it = cause.planted(job, size)
        if cause.once:
            return gain(captured_period(with_it), cured)
        return gain(period(with_it, SHORT), period(cause.cured(with_it), SHORT) if cause.cure else cured)

    for _ in range(8):
        if cost(high) >= wanted or high > cause.limit:
            break
        low, high = high, high * 2.5
    for _ in range(4):
        middle = (low + high) / 2
        if cost(middle) < wanted:
            low = middle
        else:
            high = middle
    return high


def captured_period(job: Job) -> float:
    """Mean step of a capture of five steps, as its window begins and ends."""
    run = simulate(job, WARM + 5, WARM)
    marks = [time for _, time in run.rank().marks]
    return (marks[WARM + 5] - marks[WARM]) / 5
