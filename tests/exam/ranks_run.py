# SPDX-License-Identifier: Apache-2.0
"""Runs a case of several ranks: how long its steps are, with its cause and without; and its traces as the case wants them seen."""
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.exam.devices import A100
from tests.exam.draws import Draws
from tests.exam.kineto import Capture, Window, distributed, write
from tests.exam.plants_ranks import COMMUNICATION, Case, base_shape, off
from tests.exam.rank_jobs import Loop, workers
from tests.exam.sim import Sim
from tests.exam.team import Shape, Team

SIZES = Path(__file__).parent / "ranks_sizes.json"
ACTIVE = 6
# what else may be true of a job: the finding's id, and the knobs that take it away
ALTERNATIVES: dict[str, dict[str, Any]] = {
    **dict.fromkeys(COMMUNICATION, {"free_network": 1}), "launch-bound": {"host_all": 0.05}, "straggler": {"even": 1}, "host-sync": {"no_sync": 1},
    "copy-bound": {"side_copy": 1},
}


@dataclass
class Ran:
    """A job that ran. period: mean step of the window, in ns."""

    team: Team
    ranks: list[Loop]
    first: int
    last: int
    period: float


def warm_steps(shape: Shape) -> int:
    """Steps until it is steady: the launch queue is full, or the host is waited for."""
    if shape.sync or shape.knob("item"):
        return 4
    if shape.kind == "pp":
        return 4
    operations = 21 * shape.layers + 16
    ahead = 1.0 - 1.0 / max(1.05, shape.ratio * 0.9)
    return max(5, min(15, int(shape.queue / operations / max(0.2, ahead)) + 2))


def simulate(shape: Shape, warm: int, active: int, recording: bool = False) -> Ran:
    """Runs the job, and records it if it is to be written; its period is that of the device's ends, the slowest rank's."""
    if shape.knob("no_sync"):
        shape = replace(shape.turned(item=0), sync=False)
    sim = Sim(shape.seed)
    sim.recording = recording
    team = Team(shape, sim)
    ranks = workers(shape, team)
    for rank in ranks:
        sim.spawn(rank.run(warm + active, True))
    sim.run()
    ends = [max(rank.rank.device_ends[step] for rank in ranks) for step in range(warm + active)]
    return Ran(team, ranks, warm, warm + active, (ends[-1] - ends[warm - 1]) / active)


def gain(with_cause: float, without: float) -> float:
    """In per cent of the step with its cause."""
    return 100.0 * (1.0 - without / with_cause)


@dataclass
class Exercise:
    """A case with its size: what was planted, and what it truly costs."""

    case: Case
    shape: Shape
    victim: int
    warm: int
    truth: float = 0.0
    ran: Ran | None = None
    known: dict[str, float] = field(default_factory=dict)   # steps of jobs without the cause

    def planted(self, size: float) -> "Exercise":
        """The same with its cause at this size, run with and without it."""
        case = self.case
        shape = base_shape(case, case.seed)
        if case.plant:
            shape = case.plant.turn(shape, min(size, case.plant.limit), self.victim)
        if case.view == "bare":
            shape = shape.turned(bare=1)
        warm = warm_steps(shape)
        ran = simulate(shape, warm, active(shape), True)
        cured = ran.period
        if case.plant:
            without = case.plant.cure(shape)
            cured = self.known.get(repr(without)) or simulate(without, warm, active(shape)).period
            self.known[repr(without)] = cured
        return Exercise(case, shape, self.victim, warm, gain(ran.period, cured), ran, self.known)

    def alternative(self, identity: str) -> float | None:
        """What the job would truly gain from the fix that a finding of this id asks for; None: not known."""
        knobs = ALTERNATIVES.get(identity)
        if identity == "data-loading":
            shape = off("loader", "loader_all")(self.shape)
        elif identity == "pipeline-bubble" and self.shape.kind == "pp":
            micro = int(self.shape.knob("micro", 16))
            return 100.0 * (self.shape.ranks - 1) / (micro + self.shape.ranks - 1)
        elif knobs is None or self.ran is None:
            return None
        else:
            shape = self.shape.turned(**knobs)
            if identity == "straggler":
                shape = off("loader", "clock", "host_rank", "late", "hiccup", "work", "experts", "uneven", "stage", "slow_peer")(shape)
        assert self.ran
        return gain(self.ran.period, simulate(shape, self.warm, active(shape)).period)


def active(shape: Shape) -> int:
    """Steps in the window."""
    return 3 if shape.kind == "pp" else ACTIVE


def exercise(case: Case, sizes: dict[str, float], seek: bool) -> Exercise:
    """The case at the size that costs what it wants; `seek`: sought, and kept in sizes."""
    shape = base_shape(case, case.seed)
    victim = Draws(case.seed).whole(0, shape.ranks - 1, "the one")
    start = Exercise(case, shape, victim, 0)
    if case.plant is None:
        return start.planted(0.0)
    key = f"{case.exam}.{case.number} {case.name} {case.want:g}"
    size = sizes.get(key, case.plant.first)
    best = start.planted(size)
    if seek or key not in sizes:
        best, size = sought(start, best, size)
        sizes[key] = float(f"{size:.4g}")
    return best


def sought(start: Exercise, best: Exercise, size: float) -> tuple[Exercise, float]:
    """The size whose cost lies within a seventh of what is wanted, by false position, or the nearest of eight runs."""
    case = start.case
    assert case.plant
    wanted = case.want / (100.0 - case.want)
    low, high, at, here = (0.0, 0.0), None, size, best
    for _ in range(8):
        if abs(best.truth - case.want) <= 0.15 * case.want:
            break
        cost = max(0.0, here.truth / (100.0 - here.truth))
        if cost < wanted:
            low = (at, cost)
        else:
            high = (at, cost)
        if high is None:
            at *= min(4.0, max(1.5, wanted / cost)) if cost > 0.001 else 2.0
        elif low[1] < 0.001:      # something hides the cause up to some size
            at = (low[0] + high[0]) / 2.0
        else:
            share = (wanted - low[1]) / max(1e-9, high[1] - low[1])
            at = low[0] + (high[0] - low[0]) * min(0.9, max(0.2, share))
        if at > case.plant.limit:
            break
        here = start.planted(at)
        if abs(here.truth - case.want) < abs(best.truth - case.want):
            best, size = here, at
    return best, size


def captured(case: Case) -> Capture:
    """How it was recorded."""
    draws = Draws(case.seed)
    return Capture(cuda_sync=draws.unit("cuda_sync") < 0.3, shapes=draws.unit("shapes") < 0.8, whole_us=draws.unit("us") < 0.1)


def record(done: Exercise, folder: Path) -> Path:
    """Writes the files that the case gives; returns what holdup is to read."""
    case, shape, ran = done.case, done.shape, done.ran
    assert ran
    draws = Draws(case.seed)
    nodes = 1 if shape.ranks <= 2 or draws.unit("nodes") < 0.4 else 2
    other = (done.victim + 1) % shape.ranks
    for rank in ran.ranks:
        index = rank.index
        if case.view in ("victim", "other") and index != (done.victim if case.view == "victim" else other):
            continue
        if case.view == "no victim" and index == done.victim or case.view == "no other" and index == other:
            continue
        capture = captured(case)
        node = index * nodes // shape.ranks
        capture.clock = int(draws.between(-2e6, 2e6, "clock", node)) if nodes > 1 else 0
        mine = [row for row in ran.team.groups.values() if index in row[2]]
        capture.metadata = distributed(index, shape.ranks, mine)
        marks = dict(rank.rank.marks)
        if draws.unit("drained") < 0.75:    # the profiler's end waits for the device, as torch 2.x does
            window = Window(marks[ran.first], max(rank.finished_at, marks[ran.last]))
        else:
            window = Window(marks[ran.first], marks[ran.last], False)
        write(rank.rank, folder / f"rank{index}.pt.trace.json", window, capture, A100)
    files = sorted(folder.glob("rank*.json"))
    return files[0] if case.view in ("victim", "other") else folder


def load_sizes() -> dict[str, float]:
    """Sizes that were sought before."""
    return json.loads(SIZES.read_text()) if SIZES.exists() else {}


def save_sizes(sizes: dict[str, float]) -> None:
    """Keeps them, one a line."""
    SIZES.write_text(json.dumps(sizes, indent=0, sort_keys=True) + "\n")
