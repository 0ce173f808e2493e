# SPDX-License-Identifier: Apache-2.0
"""Judges the measurements by what holdup promises: a bound that must hold, an aim, what was measured, and whether.
Measures nothing, and says "not measured" where this run did not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, Iterable

from contenders import cpu_kernels
from suite import Measured, growth

MB = 1e6
SLACK_MB = 64
MUST_PER_EVENT, AIM_PER_EVENT = 64, 40
LINEAR = 1.1
MANY_RANKS = 1024


@dataclass(frozen=True)
class Promise:
    what: str
    must: float | None
    aim: float | None
    at_least: bool = False
    decimals: int = 2
    values: dict[str, float] = field(default_factory=dict)
    why_not: str = ""

    @property
    def worst(self) -> float:
        return (min if self.at_least else max)(self.values.values())

    def holds(self, bound: float | None) -> bool:
        return bound is not None and (self.worst >= bound if self.at_least else self.worst <= bound)

    @property
    def verdict(self) -> str:
        if not self.values:
            return "-"
        if self.holds(self.aim):
            return "aim"
        return "yes" if self.holds(self.must) else "NO" if self.must is not None else "no"

    def bound(self, value: float | None) -> str:
        return "-" if value is None else f"{'>=' if self.at_least else '<='} {value:g}"

    @property
    def measured(self) -> str:
        return " ".join(f"{v:.{self.decimals}f}" for v in self.values.values()) or "-"


def whole_traces(m: Measured) -> list[str]:
    """The traces of the main size; the large one is not judged by its speed, for whoever first touches so much memory
    pays for it."""
    return [g.trace.key for g in m.groups if g.kind == "json" and g.trace.key != m.big]


def over(m: Measured, kind: str, key: str, to: str, turn: Callable[[float], float] = lambda r: r) -> dict[str, float]:
    """`key`'s time over `to`'s on every trace of the main size."""
    out = {}
    for trace in whole_traces(m):
        group = m.find(kind, trace)
        ratio = group.ratio(key, to) if group else None
        if ratio:
            out[trace] = turn(ratio)
    return out


def faster(ratio: float) -> float:
    return 1 / ratio


def scan_promises(m: Measured) -> Iterable[Promise]:
    bounds = {"scalar": ("scan plain C", 1.2), "neon": ("scan NEON", 1.2),
              "avx2": ("scan AVX2", 1.2), "avx512": ("scan AVX-512", 2.0)}
    for cpu, (what, must) in bounds.items():
        if cpu in cpu_kernels():
            values = over(m, "json", f"info-{cpu}-1", "simdjson", faster)
            yield Promise(f"{what}, speed x simdjson", must, 3.0, True, values=values)
        elif cpu == "avx512":
            yield Promise(f"{what}, speed x simdjson", must, 3.0, True, why_not="this processor has no AVX-512")


def memory_promises(m: Measured) -> Iterable[Promise]:
    beyond, each = {}, {}
    for group in (g for g in m.groups if g.kind == "json"):
        result = group.get("report")
        if result:
            key, events = group.trace.key, group.trace.events
            fixed = SLACK_MB * MB + m.name_bytes.get(key, 0)
            beyond[key] = max(0.0, (result.peak_mb * MB - fixed) / events)
            if m.tiny_mb is not None:
                each[key] = (result.peak_mb - m.tiny_mb) * MB / events
    yield Promise("memory - strings - 64 MB, B/event", MUST_PER_EVENT, None, decimals=0, values=beyond)
    yield Promise("memory - tiny trace's, B/event", None, AIM_PER_EVENT, decimals=0, values=each)


def growth_promises(m: Measured) -> Iterable[Promise]:
    for what, steps in (("events", m.by_size), ("files", m.by_files)):
        exponent = growth(steps)
        yield Promise(f"growth with {what}, exponent", LINEAR, None, values=one(exponent))


def one(value: float | None) -> dict[str, float]:
    return {} if value is None else {"": value}


def files_ratio(m: Measured) -> float | None:
    good = {s.amount: s.result for s in m.by_files if s.result.good}
    return good[8].against(good[1]) if 8 in good and 1 in good else None


def start_ms(m: Measured) -> float | None:
    result = m.start.get("report") if m.start else None
    return result.seconds * 1000 if result else None


def huge_gb(m: Measured) -> float | None:
    result = m.huge.get("report") if m.huge else None
    return result.peak_mb / 1000 if result else None


def many_peak_gb(m: Measured) -> float | None:
    result = next(iter(m.many.results.values())) if m.many else None
    return result.peak_mb / 1000 if result and result.good and m.many and m.many.ranks >= MANY_RANKS else None


def many_ratio(m: Measured) -> float | None:
    good = [r for r in m.many.results.values() if r.good] if m.many else []
    return good[1].against(good[0]) if len(good) == 2 else None


def analyses(m: Measured) -> dict[str, float]:
    """All analyses over the scan of the same file, on every trace of the main size."""
    return {key: m.phases[key][2] / m.phases[key][0] for key in whole_traces(m) if key in m.phases}


def replay(m: Measured, column: int) -> dict[str, float]:
    """ns per event are ms per million, bytes per event are MB per million."""
    return {key: m.phases[key][column] / m.phases[key][5] for key in m.phases}


def judge(m: Measured) -> list[Promise]:
    """Every row of the table of promises, in its order."""
    return [
        *scan_promises(m),
        Promise("report .json, time x simdjson", 1.5, 0.7, values=over(m, "json", "report", "simdjson")),
        Promise("report .gz, time x igzip", 3.0, 1.5, values=over(m, "gz", "report-2", "igzip")),
        Promise("report, speed x HTA", 40, 100, True, decimals=0, values=over(m, "json", "report", "hta", faster)),
        Promise("all analyses / scan, one thread, time", 1.0, None, values=analyses(m)),
        *memory_promises(m),
        Promise("8 files / 1 file, time", 4.4, 4.1, values=one(files_ratio(m))),
        Promise("replay of all steps, ms per 10^6 events", 60, 30, decimals=1, values=replay(m, 3)),
        Promise("its graph, MB per 10^6 events", 100, None, decimals=0, values=replay(m, 4)),
        Promise("memory for a 10 GB .json, GB", 8, 4, values=one(huge_gb(m)), why_not="needs --huge"),
        Promise("1,024 ranks of 50k events, memory, GB", 1, None, values=one(many_peak_gb(m)), why_not="needs --ranks 1024"),
        Promise("many ranks, mpirun -n 2 / 2 threads", 1.2, 1.0, values=one(many_ratio(m)), why_not="needs Open MPI"),
        Promise("start to answer, 1 MB trace, ms", 30, 15, decimals=1, values=one(start_ms(m))),
        *growth_promises(m),
    ]
