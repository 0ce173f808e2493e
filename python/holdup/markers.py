# SPDX-License-Identifier: Apache-2.0
"""Ranges, phases, moments, counters and steps: what `holdup run` records beside what it sees by itself, and monitors are told.

They cost well under a microsecond while nobody listens, and never touch the device unless told to: work on a GPU goes on
after the range that launched it has ended.  With `synchronize=True` a range waits for the device at both ends.
"""
from __future__ import annotations

import functools
import threading
from time import perf_counter_ns
from typing import Any, Callable

from . import device
from ._hub import PHASES, hub, listening

LIVE = 1 << 29          # of the recorder's word: a monitor wants steps and phases, nothing is recorded (HU_DOOR_LIVE)

_CO_GENERATOR, _CO_COROUTINE, _CO_ASYNC_GENERATOR = 0x20, 0x80, 0x200       # of a code object: docs of `inspect`


class range:                            # noqa: A001  the name that users of NVTX know
    """A named part of the program, on the thread that runs it: `with holdup.range("forward"):`, or as a decorator.

    name          text, the same for every time it runs
    synchronize   wait for the device at the beginning and at the end
    """

    __slots__ = ("name", "synchronize", "_is_phase")

    def __init__(self, name: str, *, synchronize: bool = False) -> None:
        self.name = name
        self.synchronize = synchronize
        self._is_phase = False

    def __enter__(self) -> "range":
        if self.synchronize:
            device.synchronize()
        if hub.is_on:
            hub.begin(self, self.name, self._is_phase)
        return self

    def __exit__(self, *_: Any) -> None:
        if self.synchronize:
            device.synchronize()
        if hub.is_on:
            hub.finish(self, self.name, self._is_phase)

    def _again(self) -> "range":
        """One for a single call, so that recursion and threads do not meet in this one."""
        return type(self)(self.name, synchronize=self.synchronize)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        code = getattr(function, "__code__", None)
        kind = code.co_flags if code is not None else 0
        name = self.name

        # what is suspended and resumed is no range of one thread: it begins and ends by a handle
        if kind & _CO_COROUTINE:
            @functools.wraps(function)
            async def coroutine(*args: Any, **kwargs: Any) -> Any:
                handle = range_start(name)
                try:
                    return await function(*args, **kwargs)
                finally:
                    range_end(handle)
            return coroutine
        if kind & _CO_ASYNC_GENERATOR:
            @functools.wraps(function)
            async def async_generator(*args: Any, **kwargs: Any) -> Any:
                handle = range_start(name)
                try:
                    async for value in function(*args, **kwargs):
                        yield value
                finally:
                    range_end(handle)
            return async_generator
        if kind & _CO_GENERATOR:
            @functools.wraps(function)
            def generator(*args: Any, **kwargs: Any) -> Any:
                handle = range_start(name)
                try:
                    return (yield from function(*args, **kwargs))
                finally:
                    range_end(handle)
            return generator

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not hub.is_on and not self.synchronize:
                return function(*args, **kwargs)
            with self._again():
                return function(*args, **kwargs)
        return call


_ALSO_CALLED = {"data_loading": "data", "dataloader": "data", "data_transfer": "transfer", "optimizer_step": "optimizer"}


class phase(range):
    """A part of the pipeline that the report knows: data, preprocessing, transfer, forward, backward, optimizer, checkpoint.

    `with holdup.phase("data"):`.  Common other spellings (data_loading, data_transfer, optimizer_step) mean the same; any
    other text is a plain range.
    """

    __slots__ = ()

    def __init__(self, name: str, *, synchronize: bool = False) -> None:
        name = _ALSO_CALLED.get(name, name)
        super().__init__(name, synchronize=synchronize)
        self._is_phase = name in PHASES


class NVTXAnnotator:
    """`annotator.range("forward")`: holdup.range, for scripts that pass an annotator around."""

    range = staticmethod(range)


def annotate(name: Any = None, *, synchronize: bool = False, color: Any = None, domain: Any = None, category: Any = None) -> Any:
    """A range around each call: `@holdup.annotate`, `@holdup.annotate("load")`; also `with holdup.annotate("load"):`.

    Without a name it is the function's qualified one.  color, domain and category are taken, as in nvtx.annotate, so that a
    script need not be rewritten, and are not recorded.
    """
    if callable(name):
        return range(getattr(name, "__qualname__", str(name)), synchronize=synchronize)(name)
    if name is None:
        return lambda function: annotate(function, synchronize=synchronize)
    return range(name, synchronize=synchronize)


class _Pushed(threading.local):
    def __init__(self) -> None:
        self.ranges: list[range] = []


_pushed = _Pushed()


def range_push(name: str) -> None:
    """A range begins on this thread, until `range_pop`."""
    if hub.is_on:
        _pushed.ranges.append(range(name).__enter__())


def range_pop() -> None:
    """The range that was pushed last on this thread ends; without one, nothing."""
    if _pushed.ranges:
        _pushed.ranges.pop().__exit__()


def range_start(name: str) -> Any:
    """A range that overlaps others or ends on another thread; give what is returned to `range_end`."""
    if not hub.is_on:
        return None
    recorder = listening()
    return name, perf_counter_ns(), recorder.start(name) if recorder is not None else 0


def range_end(handle: Any) -> None:
    """Ends a range of `range_start`."""
    if handle is None:
        return
    name, began, number = handle
    if number:
        recorder = listening()
        if recorder is not None:
            recorder.end(number)
    hub.over(name, perf_counter_ns() - began)


def mark(name: str) -> None:
    """A moment."""
    if hub.is_on:
        recorder = listening()
        if recorder is not None:
            recorder.mark(name)


def counter(name: str, value: float) -> None:
    """A value from here on, until the next of the same name.  `value` becomes a float: a tensor on a device must be read for it."""
    if hub.is_on:
        recorder = listening()
        if recorder is not None:
            recorder.counter(name, float(value))


_SAMPLES, _TOKENS = 1, 2                # holdup_countable


def count(samples: int = 0, tokens: int = 0) -> None:
    """So many more are done: `holdup.count(samples=len(batch))`, once in each step.  A monitor makes throughput of it."""
    if hub.live is None and perf_counter_ns() > hub.ask_at:
        hub.ask()
    if not hub.is_on:
        return
    recorder = listening()
    if recorder is not None and recorder.count is not None:
        if samples > 0:
            recorder.count(_SAMPLES, int(samples))
        if tokens > 0:
            recorder.count(_TOKENS, int(tokens))
    elif hub.live is not None:
        hub.live.count(max(int(samples), 0), max(int(tokens), 0))


class _Step:
    """What `step` returns, so that `with holdup.step():` ends the step too."""

    __slots__ = ()

    def __enter__(self) -> "_Step":
        return self

    def __exit__(self, *_: Any) -> None:
        step_end()


_STEP = _Step()


def step(number: int | None = None) -> _Step:
    """A step of the job begins, and the one before ends; without a number it is one more than the last, from 0.

    Call it at the beginning of each iteration, in one thread; `step_end()` after the last.  Or `with holdup.step():`.
    """
    if hub.live is None and perf_counter_ns() > hub.ask_at:
        hub.ask()
    if hub.is_on:
        recorder = listening()
        if recorder is not None:
            recorder.step(-1 if number is None or number < 0 else int(number))
        elif hub.live is not None:
            hub.live.step(-1 if number is None else int(number))
    return _STEP


def step_end() -> None:
    """The step ends and no other begins."""
    if hub.is_on:
        recorder = listening()
        if recorder is not None:
            recorder.step_end()
        elif hub.live is not None:
            hub.live.step_end()


class profile_step:
    """`with holdup.profile_step(n):` is one step, from the first line of the block to its last."""

    __slots__ = ("number",)

    def __init__(self, number: int | None = None) -> None:
        self.number = number

    def __enter__(self) -> "profile_step":
        step(self.number)
        return self

    def __exit__(self, *_: Any) -> None:
        step_end()


def is_recording() -> bool:
    """Whether anything is recorded now: for work that only markers need."""
    recorder = listening()
    return recorder is not None and bool(recorder.word.value & ~LIVE)
