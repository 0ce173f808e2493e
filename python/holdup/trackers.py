# SPDX-License-Identifier: Apache-2.0
"""Throughput of a training loop, step by step."""
from __future__ import annotations

import math
import threading
from time import perf_counter_ns
from typing import Any

from . import device, host
from ._series import Series
from .markers import counter
from .summary import Summary


class PerformanceTracker:
    """Samples and tokens per second, step time, memory.

        tracker = holdup.PerformanceTracker()
        tracker.start_step()
        ...
        tracker.end_step(batch_size=32, tokens=32 * 2048)       or: with tracker.step(batch_size=32):
        print(tracker.get_summary())

    synchronize   wait for the device at both ends of a step; without it a step ends when the host is done with it, which on a GPU
                  is right on average over many steps and wrong for each of them
    warmup        steps that the summary leaves out

    Under `holdup run` samples/s and tokens/s are counters.  It marks no steps; `holdup.step()` does.  Each thread has its own steps;
    the summary is of all threads, its rates per second of step time.
    """

    def __init__(self, *, synchronize: bool = False, warmup: int = 0) -> None:
        self.synchronize = synchronize
        self.warmup = warmup
        self.samples_processed = self.tokens_processed = self.steps = 0
        self._here = threading.local()  # .began: of this thread's step
        self._lock = threading.Lock()
        self._times = Series()          # ns
        self._samples = self._tokens = 0
        self._peak_bytes = 0

    def _now(self) -> int:
        if self.synchronize:
            device.synchronize()
        return perf_counter_ns()

    def start_step(self) -> None:
        self._here.began = self._now()

    def end_step(self, batch_size: int = 0, tokens: int = 0) -> dict[str, Any]:
        """The step's throughput (samples_per_s), tokens_per_s where tokens were given, step_time_ms, memory_gb (10^9; of torch's
        allocator, else of the process)."""
        began = getattr(self._here, "began", None)
        if began is None:
            raise RuntimeError("PerformanceTracker: end_step() without start_step()")
        ns = max(self._now() - began, 1)
        self._here.began = None
        with self._lock:
            self.steps += 1
            self.samples_processed += batch_size
            self.tokens_processed += tokens
            if self.steps > self.warmup:
                self._times.add(ns)
                self._samples += batch_size
                self._tokens += tokens
        found: dict[str, Any] = {"step_time_ms": ns / 1e6}
        if batch_size:
            found["throughput"] = found["samples_per_s"] = batch_size / ns * 1e9
            counter("samples/s", found["samples_per_s"])
        if tokens:
            found["tokens_per_s"] = tokens / ns * 1e9
            counter("tokens/s", found["tokens_per_s"])
        memory = device.memory()
        used = memory["allocated"] if memory is not None else host.resident_bytes()
        if used is not None:
            self._peak_bytes = max(self._peak_bytes, used, memory["peak_allocated"] if memory is not None else 0)
            found["memory_gb"] = used / 1e9
        return found

    def step(self, batch_size: int = 0, tokens: int = 0) -> "_TrackedStep":
        """`with tracker.step(batch_size=32):` around a step; one that ends by an exception does not count."""
        return _TrackedStep(self, batch_size, tokens)

    def get_summary(self) -> Summary:
        """Of all steps behind the warm-up: samples_per_s, tokens_per_s (total over total time), step times in ms, memory."""
        found = Summary("performance", steps=self.steps, warmup_steps=min(self.warmup, self.steps))
        seconds = self._times.total / 1e9
        if seconds > 0:
            if self._samples:
                found["samples_per_s"] = self._samples / seconds
            if self._tokens:
                found["tokens_per_s"] = self._tokens / seconds
            found.update(self._times.milliseconds("step_"))
            spread = self._times.stddev()
            if not math.isnan(spread):
                found["step_std_ms"] = spread / 1e6
        if self._peak_bytes:
            found["peak_memory_gb"] = self._peak_bytes / 1e9
        return found


class _TrackedStep:
    def __init__(self, tracker: PerformanceTracker, batch_size: int, tokens: int) -> None:
        self.tracker, self.batch_size, self.tokens = tracker, batch_size, tokens
        self.result: dict[str, Any] = {}

    def __enter__(self) -> "_TrackedStep":
        self.tracker.start_step()
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self.result = self.tracker.end_step(self.batch_size, self.tokens)
        else:
            self.tracker._here.began = None
