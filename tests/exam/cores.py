# SPDX-License-Identifier: Apache-2.0
"""CPUs that several simulated processes share."""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.exam.sim import Sim


class Cores:
    """CPUs that several processes share: first come, first served, in quanta."""

    QUANTUM = 1000000

    def __init__(self, sim: "Sim", count: int) -> None:
        self.sim, self.free = sim, count
        self.waiting: deque[tuple[int, Callable[[], None]]] = deque()

    def work(self, ns: int, then: Callable[[], None]) -> None:
        """Calls then() after ns of work on some CPU."""
        if self.free:
            self.free -= 1
            self.occupy(ns, then)
        else:
            self.waiting.append((ns, then))

    def occupy(self, ns: int, then: Callable[[], None]) -> None:
        """Runs a quantum on a CPU that is ours."""
        part = min(ns, self.QUANTUM)

        def done() -> None:
            if ns > part:
                self.waiting.append((ns - part, then))
            if self.waiting:
                rest, callback = self.waiting.popleft()
                self.occupy(rest, callback)
            else:
                self.free += 1
            if ns <= part:
                then()

        self.sim.at(self.sim.now + part, done)
