# SPDX-License-Identifier: Apache-2.0
"""A profiler that is driven like torch.profiler.profile and measures ranges, phases and steps.

Under `holdup run` it also marks the active steps, ProfilerStep#N, so that the report is about those; without, it is its own
recorder, and `get_summary()` is the answer.
"""
from __future__ import annotations

import threading
from time import perf_counter_ns
from typing import Any, Callable

from . import device, markers
from ._hub import hub
from ._series import Series
from ._tally import Tally
from .schedules import ProfilerAction
from .summary import Summary

_RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class _Cycle:
    """What one run of active steps showed."""

    def __init__(self) -> None:
        self.ranges = Tally()
        self.steps = Series()           # ns


class Profiler:
    """Measures the steps that a schedule chooses.

        with holdup.Profiler(holdup.schedule(wait=1, warmup=1, active=10, repeat=1)) as profiler:
            for batch in loader:
                with holdup.phase("forward"): ...
                profiler.step()
        print(profiler.get_summary())

    schedule         function of the step's number (holdup.schedule, torch.profiler.schedule); None: all steps
    on_trace_ready   called with the profiler when the active steps of a cycle are over
    synchronize      wait for the device where steps and phases begin and end; without it, times are the host's

    Ranges are counted from all threads.  Steps belong to the thread that calls `step()`.  Times in the summary are in ms;
    `percentage` is the share of the time of the recorded steps, or of all ranges where there are no steps.
    """

    def __init__(self, schedule: Callable[[int], Any] | None = None, on_trace_ready: Callable[["Profiler"], Any] | None = None, *,
                 synchronize: bool = False) -> None:
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready = on_trace_ready
        self.synchronize = synchronize
        self.step_num = 0
        self.current_action = ProfilerAction.NONE
        self._cycle = _Cycle()
        self._is_over = False           # the cycle is complete: the next recorded step begins another
        self._is_running = False
        self._is_in_step = False
        self._step_began = 0
        self._lock = threading.RLock()

    def _action(self) -> ProfilerAction:
        """The schedule may be torch's, whose actions are another class with the same names."""
        return ProfilerAction[self.schedule(self.step_num).name]

    def _now(self) -> int:
        if self.synchronize:
            device.synchronize()
        return perf_counter_ns()

    def start(self) -> "Profiler":
        """Step 0 begins; nothing happens when it runs already."""
        with self._lock:
            if not self._is_running:
                self._is_running = True
                self.step_num = 0
                self._begin_step(None)
        return self

    def stop(self) -> None:
        """The step that runs is not counted, for it is not over; a cycle that was cut is handed over as it is."""
        with self._lock:
            if self._is_running:
                self._is_running = False
                if self._is_in_step and self.current_action in _RECORDS:
                    markers.step_end()
                self._is_in_step = False
                self._leave(None)
                self.current_action = ProfilerAction.NONE

    def step(self, number: int | None = None) -> None:
        """The step is over, the next one begins.  `number`, where the job has its own count, is what a recorder is told."""
        with self._lock:
            if self._is_running:
                self._end_step()
                self._begin_step(number)

    def _begin_step(self, number: int | None) -> None:
        self.current_action = self._action()
        if self.current_action in _RECORDS:
            if self._is_over:
                self._cycle, self._is_over = _Cycle(), False
            hub.watch(self._cycle.ranges)
            markers.step(self.step_num if number is None else number)
        self._is_in_step = True
        self._step_began = self._now()

    def _end_step(self) -> None:
        if not self._is_in_step:
            return
        is_recorded = self.current_action in _RECORDS
        if is_recorded:
            self._cycle.steps.add(self._now() - self._step_began)
        self._is_in_step = False
        self.step_num += 1
        after = self._action()
        if is_recorded and after not in _RECORDS:
            markers.step_end()          # the next one is not marked, and so does not end this one
        self._leave(after)

    def _leave(self, after: ProfilerAction | None) -> None:
        """Behind a step, or behind everything (None): is what was recorded ready?"""
        before = self.current_action
        if before not in _RECORDS or (before == ProfilerAction.RECORD and after in _RECORDS):
            return
        hub.unwatch(self._cycle.ranges)
        self._is_over = True
        self.current_action = ProfilerAction.NONE
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def __enter__(self) -> "Profiler":
        return self.start()

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def profile_step(self, number: int | None = None) -> "_ProfiledStep":
        """`with profiler.profile_step(n):` around the body of an iteration, instead of `step()`; starts the profiler."""
        return _ProfiledStep(self, number)

    def range(self, name: str) -> markers.range:
        """A range; with this profiler's `synchronize`."""
        return markers.range(name, synchronize=self.synchronize)

    def phase(self, name: str) -> markers.phase:
        """A phase of the pipeline; with this profiler's `synchronize`."""
        return markers.phase(name, synchronize=self.synchronize)

    def get_summary(self) -> Summary:
        """Of the cycle that runs or ran last: steps in ms, then ranges and phases."""
        cycle = self._cycle
        found = Summary("steps and ranges", cycle.steps.milliseconds("step_") if cycle.steps.n else {"step_count": 0})
        whole = cycle.steps.total or sum(t.total for t in list(cycle.ranges.times.values()))
        rows = cycle.ranges.rows(whole)
        if rows:
            found["ranges"] = rows
        return found

    def generate_report(self) -> dict[str, dict[str, float]]:
        """Name to {calls, total_ms, avg_ms, p50_ms, max_ms, percentage}."""
        return self.get_summary().get("ranges", {})

    def finish(self) -> Summary:
        """Stops, prints the summary and returns it."""
        self.stop()
        found = self.get_summary()
        print(found)
        return found


class _ProfiledStep:
    """What lies between two blocks belongs to no step."""

    def __init__(self, profiler: Profiler, number: int | None) -> None:
        self.profiler = profiler
        self.number = number

    def __enter__(self) -> Profiler:
        profiler = self.profiler
        with profiler._lock:
            if not profiler._is_running:
                profiler._is_running = True
                profiler.step_num = 0
            if not profiler._is_in_step:
                profiler._begin_step(self.number)
            else:                       # start() has begun it
                if self.number not in (None, profiler.step_num) and profiler.current_action in _RECORDS:
                    markers.step(self.number)
                profiler._step_began = profiler._now()
        return profiler

    def __exit__(self, *_: Any) -> None:
        profiler = self.profiler
        with profiler._lock:
            is_recorded = profiler.current_action in _RECORDS
            profiler._end_step()
            if is_recorded:
                markers.step_end()


ProfilerWrapper = Profiler              # what scripts call it: profile_step(n), finish()
