# SPDX-License-Identifier: Apache-2.0
"""What a job is: numbers from a seed, and knobs that causes turn. simulate() runs it; truth is the difference between two runs."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.exam import devices
from tests.exam.sim import Rank, Sim

Runner = Callable[["Job", Sim, int, int], None]


@dataclass(frozen=True)
class Job:
    """One job. Of two jobs that differ only in knobs, everything else is the same, draw by draw.

    ratio: device time over host time of a step; host: host costs over those measured; knobs: see the file of the kind.
    """

    seed: int
    kind: str = "train"
    model: str = "transformer"
    device: str = "A100"
    layers: int = 6
    ratio: float = 2.0
    host: float = 0.4
    knobs: dict[str, Any] = field(default_factory=dict)

    def with_knobs(self, **knobs: Any) -> "Job":
        """The same job with other knobs."""
        return replace(self, knobs={**self.knobs, **knobs})

    def knob(self, name: str, default: Any = 0) -> Any:
        """A knob's position."""
        return self.knobs.get(name, default)

    def hardware(self) -> devices.Device | None:
        """Its device; none on the CPU."""
        return devices.ALL.get(self.device)


@dataclass
class Run:
    """A job that ran. Steps begin and end as the job's main thread says, or the device."""

    sim: Sim
    steps: int

    def rank(self, index: int = 0) -> Rank:
        """One of its ranks."""
        return self.sim.ranks[index]

    def ends(self, index: int = 0) -> list[int]:
        """When each step had ended: its device work, and its host's."""
        rank = self.sim.ranks[index]
        starts = [time for _, time in rank.marks]
        out: list[int] = []
        for step in range(self.steps):
            host_end = starts[step + 1]
            out.append(rank.device_ends.get(step, host_end) if rank.device_ends else host_end)
        return out

    def period(self, first: int, last: int, index: int = 0) -> float:
        """Mean time per step from the end of step `first` to the end of step `last`."""
        ends = self.ends(index)
        return (ends[last] - ends[first]) / (last - first)


RUNNERS: dict[str, Runner] = {}


def simulate(job: Job, steps: int, captured_from: int = -1, final_sync: bool = False) -> Run:
    """Runs a job for some steps. captured_from: the step where a profiler starts, or -1; final_sync: it waits for the device at the end."""
    sim = Sim(job.seed)
    sim.recording = captured_from >= 0
    if job.kind not in RUNNERS:
        raise KeyError(job.kind)
    active = job.with_knobs(profiled=captured_from >= 0, final_sync=final_sync)
    RUNNERS[job.kind](active, sim, steps, captured_from)
    sim.run()
    return Run(sim, steps)
