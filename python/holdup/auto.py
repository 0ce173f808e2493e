# SPDX-License-Identifier: Apache-2.0
"""Measures the calls of a function that a job makes anyway."""
from __future__ import annotations

import functools
import sys
import threading
from time import perf_counter_ns
from typing import Any, Callable

from . import device
from ._series import Series
from .markers import range
from .summary import Summary


def auto_profile(warmup: int = 3, iterations: int = 10, *, synchronize: bool = False, show: bool = True) -> Callable[..., Any]:
    """Decorator: the first `warmup` calls are left out, the next `iterations` are measured, later ones cost nothing.

        @holdup.auto_profile(warmup=3, iterations=10)
        def train_step(model, batch): ...

    No call is made that the program does not make.  After the last measured call the times, in ms, are printed on stderr
    (`show`); `train_step.get_summary()` returns them at any time.  Every call is a range of the function's name.
    synchronize: wait for the device at both ends of a measured call; else times are the host's.  Any thread may call.
    """
    if callable(warmup):                # used without parentheses
        return auto_profile()(warmup)
    if warmup < 0 or iterations < 1:
        raise ValueError("auto_profile: warmup is 0 or more, iterations is 1 or more")

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        name = getattr(function, "__qualname__", str(function))
        times = Series()
        lock = threading.Lock()
        calls = 0

        def get_summary() -> Summary:
            return Summary(name, times.milliseconds(), std_ms=times.stddev() / 1e6, warmup_calls=min(calls, warmup))

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal calls
            with lock:
                number = calls
                calls += 1
            if not warmup <= number < warmup + iterations:
                with range(name):
                    return function(*args, **kwargs)
            if synchronize:
                device.synchronize()
            began = perf_counter_ns()
            with range(name):
                result = function(*args, **kwargs)
                if synchronize:
                    device.synchronize()
            if times.add(perf_counter_ns() - began) == iterations and show:
                print(get_summary(), file=sys.stderr)
            return result

        call.get_summary = get_summary  # type: ignore[attr-defined]
        return call
    return decorate
