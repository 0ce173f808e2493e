# SPDX-License-Identifier: Apache-2.0
"""Where markers go: to the recorder, if the process has one, and to whoever in this process wants their times.

`is_on` is false once it is known that nobody wants them; markers test it first, so that they cost next to nothing then.  A
monitor of the node may come later: steps look for one, once a second.
"""
from __future__ import annotations

import os
import sys
import threading
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import _live, _recorder

ASK_NS = 1000000000                     # between two looks for a monitor of the node, at steps
NEVER = 1 << 62

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
        self.live: _live.Tally | None = None        # what a monitor of the node is told, where no recorder does it
        self.ask_at = 0                 # perf_counter_ns: a step then looks whether a monitor is there by now
        self._sender: _live.Sender | None = None
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
                        if "libholdup-inject" in os.environ.get("LD_PRELOAD", ""):
                            print("holdup: this Python has no ctypes: its steps, phases and ranges are not recorded", file=sys.stderr)
                    if self.recorder is not None:
                        self.ask_at = NEVER
                    self._has_looked = True
                    self._settle()
        return self.recorder

    def _settle(self) -> None:
        self.is_on = self.recorder is not None or self.live is not None or bool(self._watchers)

    def ask(self) -> None:
        """Looks for a monitor, at steps and counts alone: a worker that only has phases tells nothing."""
        if self.look() is not None:
            return
        with self._lock:
            if self.live is not None:
                return
            from . import _live

            self._sender = _live.start()
            if self._sender is not None:
                self.live = self._sender.tally
            is_refused = os.environ.get(_live.VARIABLE) == "0"
            self.ask_at = NEVER if self.live is not None or is_refused else perf_counter_ns() + ASK_NS
            self._settle()

    def forked(self) -> None:
        """In the child: its parent's counts are not its own; it asks at its first step."""
        self._lock = threading.Lock()
        if self._sender is not None:
            self._sender.forget()
            self._sender = self.live = None
            self.ask_at = 0
            self._settle()

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
            self._settle()

    def begin(self, owner: Any, name: str, is_phase: bool) -> None:
        """A range of this thread begins; `owner` is what ends it."""
        recorder = self.recorder if self._has_looked else self.look()
        if recorder is not None and recorder.word.value:
            if is_phase:
                recorder.phase_push(_PHASE_NUMBERS[name])
            else:
                recorder.push(name)
        if is_phase and self.live is not None:
            self.live.push(name)
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
        if is_phase and self.live is not None:
            self.live.pop()
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
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=hub.forked)


def listening() -> _recorder.Recorder | None:
    """The recorder, if it wants markers now."""
    recorder = hub.recorder if hub._has_looked else hub.look()
    return recorder if recorder is not None and recorder.word.value else None
