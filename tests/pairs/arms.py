# SPDX-License-Identifier: Apache-2.0
"""What the pairs on the CPU and those on a GPU have in common: arms that take turns, and a recorded one.

The arms take turns in one process (A B A B ...), because a machine drifts by more between runs than within one.  The truth
is measured without the profiler; only then is the arm with the planted cause recorded.
"""
from __future__ import annotations

import gzip
import pathlib
import time
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, schedule


class Arm:
    """One way to run a step.  `begin` and `end` switch what is global to the process: threads, the collector, hooks."""

    def begin(self) -> None:
        """Before each of its turns."""

    def step(self) -> None:
        raise NotImplementedError

    def end(self) -> None:
        """After each of its turns."""

    def close(self) -> None:
        """After its last turn: workers, files."""


class HostClock:
    """Marks on the host; right where a step ends on the host."""

    def start(self) -> None:
        self.marks = [time.perf_counter_ns()]

    def mark(self) -> None:
        self.marks.append(time.perf_counter_ns())

    def steps_ms(self) -> list[float]:
        return [(b - a) / 1e6 for a, b in zip(self.marks, self.marks[1:])]


class DeviceClock:
    """Marks in the stream: with a deep launch queue the host is steps ahead, and its own marks mean nothing."""

    def start(self) -> None:
        torch.cuda.synchronize()
        self.marks: list[Any] = []
        self.mark()

    def mark(self) -> None:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self.marks.append(event)

    def steps_ms(self) -> list[float]:
        torch.cuda.synchronize()
        return [a.elapsed_time(b) for a, b in zip(self.marks, self.marks[1:])]


def turn(arm: Arm, clock: Any, warm_up: int, steps: int) -> list[float]:
    """One turn of one arm: warm-up that is thrown away, then the steps."""
    arm.begin()
    for _ in range(warm_up):
        arm.step()
    clock.start()
    for _ in range(steps):
        arm.step()
        clock.mark()
    times = clock.steps_ms()
    arm.end()
    return times


def alternate(before: Arm, after: Arm, clock: Any, rounds: int, warm_up: int, steps: int) -> dict[str, list[list[float]]]:
    """Step times in ms of both arms, a list for each turn."""
    times: dict[str, list[list[float]]] = {"before": [], "after": []}
    for _ in range(rounds):
        times["before"].append(turn(before, clock, warm_up, steps))
        times["after"].append(turn(after, clock, warm_up, steps))
    return times


def experimental(**wanted: Any) -> Any:
    """The capture flags that this torch knows, so that an older one records all the same."""
    while wanted:
        try:
            return torch._C._profiler._ExperimentalConfig(**wanted)
        except TypeError:
            wanted.popitem()
    return None


def record(arm: Arm, target: pathlib.Path, active: int, flags: dict[str, Any] | None = None, stack: bool = False) -> float:
    """One Kineto trace, wait/warm-up/active, as the README tells people to make one.  Returns its mean step in ms."""
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])
    target.parent.mkdir(parents=True, exist_ok=True)
    arm.begin()
    with profile(activities=activities, schedule=schedule(wait=1, warmup=2, active=active, repeat=1), record_shapes=True,
                 with_stack=stack, experimental_config=experimental(**(flags or {})),
                 on_trace_ready=lambda p: export(p, target)) as profiler:
        begun = ended = 0
        for done in range(active + 3):
            arm.step()
            ended = time.perf_counter_ns()
            profiler.step()
            if done == 2:
                begun = time.perf_counter_ns()
    arm.end()
    return (ended - begun) / active / 1e6


def export(profiler: Any, target: pathlib.Path) -> None:
    """Compressed by us: torch's own .gz differs between versions and holds a time of day."""
    raw = target.with_suffix(".raw")
    profiler.export_chrome_trace(str(raw))
    target.write_bytes(gzip.compress(raw.read_bytes(), 9, mtime=0))
    raw.unlink()
