# SPDX-License-Identifier: Apache-2.0
"""Times of ranges by name, as they end: what a hub's watcher keeps."""
from __future__ import annotations

import threading

from ._hub import PHASES
from ._series import Series


class Tally:
    """Name to Series of ns."""

    MOST = 10000                # names; those beyond are put together under OTHERS
    OTHERS = "(others)"

    def __init__(self) -> None:
        self.times: dict[str, Series] = {}
        self.phases: set[str] = set()
        self._lock = threading.Lock()

    def add(self, name: str, ns: int, is_phase: bool) -> None:
        series = self.times.get(name)
        if series is None:
            with self._lock:
                if len(self.times) >= self.MOST:
                    name = self.OTHERS
                series = self.times.setdefault(name, Series())
                if is_phase:
                    self.phases.add(name)
        series.add(ns)

    def rows(self, whole_ns: float = 0) -> dict[str, dict[str, float]]:
        """Phases in the order of the pipeline, then the others, the longest first; pct is the share of `whole_ns`."""
        def place(name: str) -> tuple[int, float, str]:
            return PHASES.index(name) if name in self.phases else len(PHASES), -self.times[name].total, name

        rows = {}
        for name in sorted(list(self.times), key=place):
            times = self.times[name]
            rows[name] = {"calls": times.n, "total_ms": times.total / 1e6, "avg_ms": times.mean / 1e6,
                          "p50_ms": times.quantiles(0.5)[0] / 1e6, "max_ms": times.most / 1e6}
            if whole_ns:
                rows[name]["percentage"] = 100 * times.total / whole_ns
        return rows
