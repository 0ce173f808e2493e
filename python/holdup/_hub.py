# SPDX-License-Identifier: Apache-2.0
"""Where markers go: to the recorder, if the process has one, and to whoever in this process wants their times.

`is_on` is false once it is known that nobody wants them; markers test it first, so that they cost next to nothing then.
"""
from __future__ import annotations

import threading
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import _recorder

PHASES = ("data", "preprocessing", "transfer", "forward", "backward", "optimizer", "checkpoint")
_PHASE_NUMBERS = {name: number for number, name in enumerate(PHASES, 1)}


class _Open(threading.local):
    """Of each thread: the ranges that it is in and that somebody watches, [(owner, name, start in ns)]."""

    def __init__(self) -> None:
        self.stack: list[tuple[Any, str, int]] = []
        self.generation = 0


class Hub:
    def __init__(self) -> None:
        self.is_on = True               # until it is known better
        self.recorder: _recorder.Recorder | None = None
        self._has_looked = False
        self._watchers: tuple[Any, ...] = ()
        self._generation = 0            # how often the first watcher came: what was open before is of no use
        self._lock = threading.Lock()
        self._open = _Open()

    def look(self) -> _recorder.Recorder | None:
        """The recorder of this process, looked for once."""
        if not self._has_looked:
            with self._lock:
                if not self._has_looked:
                    try:
                        from . import _recorder     # loads ctypes, which not every Python has
                        self.recorder = _recorder.find()
                    except ImportError:
                        self.recorder = None
                    self._has_looked = True
                    self.is_on = self.recorder is not None or bool(self._watchers)
        return self.recorder

    def watch(self, watcher: Any) -> None:
        """`watcher.add(name, ns, is_phase)` is called whenever a range ends, in the thread in which it ends; not for one inside
        of another of the same name, which is part of that."""
        self.look()
        with self._lock:
            if not self._watchers:
                self._generation += 1
            if watcher not in self._watchers:
                self._watchers += (watcher,)
            self.is_on = True

    def unwatch(self, watcher: Any) -> None:
        with self._lock:
            self._watchers = tuple(w for w in self._watchers if w is not watcher)
            self.is_on = self.recorder is not None or bool(self._watchers)

    def begin(self, owner: Any, name: str, is_phase: bool) -> None:
        """A range of this thread begins; `owner` is what ends it."""
        recorder = self.recorder if self._has_looked else self.look()
        if recorder is not None and recorder.word.value:
            if is_phase:
                recorder.phase_push(_PHASE_NUMBERS[name])
            else:
                recorder.push(name)
        if self._watchers:
            here = self._open
            if here.generation != self._generation:
                here.stack.clear()
                here.generation = self._generation
            here.stack.append((owner, name, perf_counter_ns()))

    def finish(self, owner: Any, name: str, is_phase: bool) -> None:
        """The innermost range of this thread ends."""
        recorder = self.recorder
        if recorder is not None and recorder.word.value:
            recorder.pop()
        if not self._watchers:
            return
        now = perf_counter_ns()
        stack = self._open.stack
        for at in range(len(stack) - 1, -1, -1):        # above it lie only those that began to be watched and stopped
            if stack[at][0] is owner:
                began = stack[at][2]
                del stack[at:]
                if not any(other == name for _, other, _ in stack):
                    for watcher in self._watchers:
                        watcher.add(name, now - began, is_phase)
                break

    def over(self, name: str, ns: int) -> None:
        """A range that may have begun on another thread is over."""
        for watcher in self._watchers:
            watcher.add(name, ns, False)


hub = Hub()


def listening() -> _recorder.Recorder | None:
    """The recorder, if it wants markers now."""
    recorder = hub.recorder if hub._has_looked else hub.look()
    return recorder if recorder is not None and recorder.word.value else None
