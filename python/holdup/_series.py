# SPDX-License-Identifier: Apache-2.0
"""Many values of one kind: exact number, sum, least and most; percentiles of the newest 65,536."""
from __future__ import annotations

import math
import threading
from collections import deque
from typing import Sequence

KEPT = 65536


def quantile(ordered: Sequence[float], q: float) -> float:
    """The q-quantile (0..1) of sorted values, linear between the closest ranks; NaN of none."""
    if not ordered:
        return math.nan
    at = q * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def median(values: Sequence[float]) -> float:
    return quantile(sorted(values), 0.5)


class Series:
    """Values of one kind, in the unit in which they are added.  Any thread may add."""

    def __init__(self) -> None:
        self.n = 0
        self.total = 0.0
        self.least = math.inf
        self.most = -math.inf
        self._newest: deque[float] = deque(maxlen=KEPT)
        self._lock = threading.Lock()

    def add(self, value: float) -> int:
        """How many there are with this one."""
        with self._lock:
            self.n += 1
            self.total += value
            self.least = min(self.least, value)
            self.most = max(self.most, value)
            self._newest.append(value)
            return self.n

    def values(self) -> list[float]:
        """The newest ones, in the order in which they came."""
        with self._lock:
            return list(self._newest)

    @property
    def mean(self) -> float:
        return self.total / self.n if self.n else math.nan

    def stddev(self) -> float:
        """Of the newest ones, with n - 1; NaN of fewer than two."""
        values = self.values()
        if len(values) < 2:
            return math.nan
        mean = math.fsum(values) / len(values)
        return math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))

    def quantiles(self, *wanted: float) -> list[float]:
        ordered = sorted(self.values())
        return [quantile(ordered, q) for q in wanted]

    def milliseconds(self, prefix: str = "") -> dict[str, float]:
        """Nanoseconds as mean, percentiles and extremes in ms; without any value nothing but the count."""
        if not self.n:
            return {f"{prefix}count": 0}
        p50, p90, p99 = (q / 1e6 for q in self.quantiles(0.5, 0.9, 0.99))
        return {f"{prefix}count": self.n, f"{prefix}mean_ms": self.mean / 1e6, f"{prefix}p50_ms": p50, f"{prefix}p90_ms": p90,
                f"{prefix}p99_ms": p99, f"{prefix}min_ms": self.least / 1e6, f"{prefix}max_ms": self.most / 1e6}
