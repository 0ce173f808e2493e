# SPDX-License-Identifier: Apache-2.0
"""This process and its host, from /proc: what can be said where there is no GPU to ask."""
from __future__ import annotations

import os
from time import perf_counter_ns

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def resident_bytes() -> int | None:
    """Resident memory of this process, or None where /proc does not say."""
    fields = _read("/proc/self/statm").split()
    return int(fields[1]) * _PAGE if len(fields) > 1 else None


def memory() -> dict[str, float]:
    """host_memory_used_gb and host_memory_total_gb (10^9 bytes); used is what is not available to programs."""
    sizes = {}
    for line in _read("/proc/meminfo").splitlines():
        words = line.split()
        if len(words) >= 2 and words[0] in ("MemTotal:", "MemAvailable:"):
            sizes[words[0]] = int(words[1]) * 1024
    if len(sizes) < 2:
        return {}
    return {"host_memory_used_gb": (sizes["MemTotal:"] - sizes["MemAvailable:"]) / 1e9, "host_memory_total_gb": sizes["MemTotal:"] / 1e9}


class Cpu:
    """Shares of CPU time since the last look, in percent."""

    def __init__(self) -> None:
        self._last = self._look()

    @staticmethod
    def _look() -> tuple[int, float, list[int]]:
        own = os.times()
        first = _read("/proc/stat").split("\n", 1)[0].split()[1:9]
        return perf_counter_ns(), own.user + own.system, [int(word) for word in first]

    def sample(self) -> dict[str, float]:
        """process_cpu_pct (100: one core), host_cpu_pct (100: all cores)."""
        before, self._last = self._last, self._look()
        passed = (self._last[0] - before[0]) / 1e9
        found = {}
        if passed > 0:
            found["process_cpu_pct"] = 100 * (self._last[1] - before[1]) / passed
        ticks = [b - a for a, b in zip(before[2], self._last[2])]
        if len(ticks) >= 5 and sum(ticks) > 0:
            found["host_cpu_pct"] = 100 * (1 - (ticks[3] + ticks[4]) / sum(ticks))      # idle, iowait
        return found


def sample(cpu: Cpu) -> dict[str, float]:
    """CPU shares, resident memory of this process, memory of the host, in % and GB (10^9)."""
    found = dict(cpu.sample())
    resident = resident_bytes()
    if resident is not None:
        found["process_memory_gb"] = resident / 1e9
    found.update(memory())
    return found
