# SPDX-License-Identifier: Apache-2.0
"""Memory by phase and step, and whether it leaks."""
from __future__ import annotations

import threading
from typing import Any, Callable, Iterable

from . import _trend, device, host, markers
from ._series import Series
from .summary import Summary

SURE = 0.001                    # p below which a slope is believed
FEWEST = 10                     # steps that a verdict needs, without warm-up
LEAST_GROWTH = 1e-3             # of what is in use: less over the whole log is not worth a word
MOST_ENTRIES = 1000000


class MemoryLog:
    """Memory in use at points of a step.

        log = holdup.MemoryLog()
        for batch in loader:
            with log.phase("forward"): ...
            with log.phase("backward"): ...
            log.step()
        print(log.get_summary())

    Bytes are those of torch's allocator on the current GPU (`source` "torch": allocated, reserved), or the resident memory of this
    process where no GPU is in use ("process").  Reading them does not wait for the device: the allocator counts on the host.
    `entries` are dicts {step, phase, allocated_gb, reserved_gb} (GB of 10^9 bytes), a million at most; the count of those
    left out is `dropped`.  One thread logs at a time; others wait.

    warmup   steps at the beginning that a verdict on leaks leaves out: caches fill, optimizers make their state.  None: a
             tenth, three at least
    """

    def __init__(self, warmup: int | None = None) -> None:
        self.warmup = warmup
        self.entries: list[dict[str, Any]] = []
        self.dropped = 0
        self.steps_done = 0
        self.source = "none"
        self._deltas: dict[str, Series] = {}            # bytes that a phase left behind
        self._peaks: dict[str, int] = {}
        self._at_step_end: list[int] = []
        self._lock = threading.Lock()

    def _bytes(self) -> tuple[int | None, int | None]:
        """(in use, reserved)."""
        torch_memory = device.memory()
        if torch_memory is not None:
            self.source = "torch"
            return torch_memory["allocated"], torch_memory["reserved"]
        used = host.resident_bytes()
        self.source = "process" if used is not None else "none"
        return used, None

    def log(self, phase: str) -> int | None:
        """Bytes in use now, written down under `phase`."""
        with self._lock:
            used, reserved = self._bytes()
            if used is None:
                return None
            if len(self.entries) < MOST_ENTRIES:
                entry = {"step": self.steps_done, "phase": phase, "allocated_gb": used / 1e9}
                if reserved is not None:
                    entry["reserved_gb"] = reserved / 1e9
                self.entries.append(entry)
            else:
                self.dropped += 1
            self._peaks[phase] = max(self._peaks.get(phase, 0), used)
        if markers.hub.is_on:
            markers.counter("memory in use (bytes)", used)
        return used

    def phase(self, name: str) -> "_LoggedPhase":
        """`with log.phase("forward"):` logs before and after it; also a phase for `holdup run`."""
        return _LoggedPhase(self, name)

    def step(self) -> None:
        """The step is over: what is in use now is what the verdict on leaks looks at."""
        used = self.log("step")
        with self._lock:
            self.steps_done += 1
            if used is not None and len(self._at_step_end) < MOST_ENTRIES:
                self._at_step_end.append(used)

    def leak(self) -> Summary:
        """Does memory at the end of steps grow?  `is_leak` is true when all of this holds, over the steps behind the warm-up:

        a straight line through them rises, with p < 0.001 (t-test of the least-squares slope, for as many values as are left
        when the resemblance of neighbours is taken away; where that leaves fewer than fifteen, of the growth from step to step:
        _trend.py); so does one through either half, so that a single rise is no leak; and over the log it adds 0.1 % or more.
        Growth is in bytes per step, with its 95 % interval.
        """
        left_out = self.warmup if self.warmup is not None else max(3, len(self._at_step_end) // 10)
        values = self._at_step_end[left_out:]
        found = Summary("memory over steps", is_leak=False, steps=len(values), left_out=left_out, source=self.source)
        if len(values) < FEWEST:
            found["statement"] = f"too few steps to tell a leak: {len(values)} behind {left_out} of warm-up, {FEWEST} are needed"
            return found
        whole = _trend.fit(values)
        middle = len(values) // 2
        halves = [_trend.fit(values[:middle]), _trend.fit(values[middle:])]
        grown = whole.slope * (whole.n - 1)
        base = max(values[0], 1)
        # in a half alone, fewer values must not decide whether there is a leak: a third of the slope is enough there
        rises_twice = all(h.slope > whole.slope / 3 for h in halves)
        is_leak = whole.slope > 0 and whole.p < SURE and rises_twice and grown >= LEAST_GROWTH * base
        found.update({"is_leak": is_leak, "bytes_per_step": whole.slope, "bytes_per_step_low": whole.low, "bytes_per_step_high": whole.high,
                      "p_value": whole.p, "test": f"t-test of the {whole.of}", "independent_values": whole.n_effective, "grown_mb": grown / 1e6, "start_mb": base / 1e6})
        p = "p < 1e-6" if whole.p < 1e-6 else f"p = {whole.p:.2g}"
        test = f"t-test of the {whole.of}, {p}, n = {whole.n}"
        if is_leak:
            found["statement"] = (f"memory grows by {whole.slope / 1e6:.3g} MB per step [{whole.low / 1e6:.3g} … {whole.high / 1e6:.3g}] "
                                  f"({test}); something keeps what each step makes")
        elif whole.slope > 0 and whole.p < SURE and not rises_twice:
            found["statement"] = f"memory rose by {(values[-1] - values[0]) / 1e6:.3g} MB, but not steadily: no leak ({test})"
        elif whole.slope > 0 and whole.p < SURE:
            found["statement"] = f"memory grows by less than {100 * LEAST_GROWTH:g} % in all: no leak ({test})"
        else:
            found["statement"] = f"no leak: no growth that is certain ({test})"
        return found

    def get_summary(self) -> Summary:
        """By phase: how often, what it left behind (mean, largest) and the most in use at its ends, in MB (10^6); and the verdict
        on leaks."""
        rows = {}
        with self._lock:
            for name, deltas in self._deltas.items():
                rows[name] = {"count": deltas.n, "avg_change_mb": deltas.mean / 1e6, "max_change_mb": deltas.most / 1e6,
                              "peak_mb": self._peaks.get(f"after_{name}", 0) / 1e6}
        found = Summary("memory", steps=self.steps_done, source=self.source, dropped=self.dropped)
        if self.source == "none":
            found["statement"] = "nothing was logged, or neither torch nor /proc says how much memory is in use"
        if rows:
            found["phases"] = rows
        if self.steps_done:
            found["leak"] = dict(self.leak())
        return found


class _LoggedPhase:
    def __init__(self, log: MemoryLog, name: str) -> None:
        self.log = log
        self.name = name
        self._marker = markers.phase(name)
        self._before: int | None = None

    def __enter__(self) -> "_LoggedPhase":
        self._before = self.log.log(f"before_{self.name}")
        self._marker.__enter__()
        return self

    def __exit__(self, *problem: Any) -> None:
        self._marker.__exit__(*problem)
        after = self.log.log(f"after_{self.name}")
        if after is not None and self._before is not None:
            with self.log._lock:
                self.log._deltas.setdefault(self.name, Series()).add(after - self._before)


def _train(model: Callable[..., Any], dataloader: Iterable[Any], num_steps: int, criterion: Any, optimizer: Any, target: Any, log: MemoryLog) -> None:
    for number, batch in enumerate(dataloader):
        if number >= num_steps:
            break
        log.log("start")
        if target is not None:
            with log.phase("transfer"):
                batch = device.move(batch, target)
        inputs, labels = (batch[0], batch[1] if len(batch) > 1 else None) if isinstance(batch, (list, tuple)) else (batch, None)
        with log.phase("forward"):
            output = model(inputs)
            loss = criterion(output, labels) if criterion is not None else output.sum()
        with log.phase("backward"):
            loss.backward()
        if optimizer is not None:
            with log.phase("optimizer"):
                optimizer.step()
                optimizer.zero_grad()
        del batch, inputs, labels, output, loss         # what the loop itself holds is no leak
        log.step()


def memory_timeline(model: Callable[..., Any], dataloader: Iterable[Any], num_steps: int = 10, *, criterion: Any = None, optimizer: Any = None,
                    device: Any = None) -> list[dict[str, Any]]:
    """Trains for `num_steps` and returns MemoryLog's entries.  Without a criterion the loss is the output's sum."""
    log = MemoryLog()
    _train(model, dataloader, num_steps, criterion, optimizer, device, log)
    return log.entries


def find_memory_leaks(model: Callable[..., Any], dataloader: Iterable[Any], num_steps: int = 100, *, criterion: Any = None, optimizer: Any = None,
                      device: Any = None) -> Summary:
    """Trains for `num_steps` and returns MemoryLog.leak().  Nothing is collected or emptied in between: that would hide leaks."""
    log = MemoryLog()
    _train(model, dataloader, num_steps, criterion, optimizer, device, log)
    return log.leak()
