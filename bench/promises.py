# SPDX-License-Identifier: Apache-2.0
"""Judges the measurements by what holdup promises: a bound that must hold, an aim, what was measured, and whether.
Measures nothing, and says "not measured" where this run did not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, Iterable

import pieces
from measuring import Result
from suite import Measured, growth, page_beyond

MB = 1e6
SLACK_MB, TINY_SLACK_MB = 64, 8
BESIDE_STRINGS, BESIDE_TINY = 40, 60        # bytes per event
LINEAR = 1.1
MANY_RANKS = 1024
PAGE_SLICES, QUERY_SLICES = 1_750_000, 4_400_000    # as many there must be for a row that says 1.8 and 4.5 million


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
        if self.must is None:
            return "-" if self.aim is None else "no"
        return "yes" if self.holds(self.must) else "NO"

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
    """As it is shipped; and as on a processor without wide vectors, which may be slower."""
    yield Promise("scan, one thread, speed x simdjson", 1.5, 2.0, True, values=over(m, "json", "info-1", "simdjson", faster))
    yield Promise("scan, plain C, speed x simdjson", 1.2, None, True, values=over(m, "json", "info-scalar-1", "simdjson", faster))
    yield Promise("scan, two threads, parallel efficiency", 0.85, None, True,
                  values=over(m, "json", "info-1", "info-2", lambda ratio: ratio / 2))
    speedups = {key: p.speedup(pieces.WORKERS) for key, p in m.pieces.items()}
    yield Promise(f"scan, {pieces.WORKERS} threads simulated, speed x one", None, None, True, decimals=1, values=speedups,
                  why_not="needs build/bench/pieces")


def memory_promises(m: Measured) -> Iterable[Promise]:
    beyond, each = {}, {}
    for group in (g for g in m.groups if g.kind == "json"):
        result = group.get("report-2")
        if result:
            key, events = group.trace.key, group.trace.events
            fixed = SLACK_MB * MB + m.name_bytes.get(key, 0)
            beyond[key] = max(0.0, (result.peak_mb * MB - fixed) / events)
            if m.tiny_mb is not None:
                each[key] = max(0.0, (result.peak_mb - m.tiny_mb - TINY_SLACK_MB) * MB / events)
    yield Promise(f"memory - names - {SLACK_MB} MB, B/event", BESIDE_STRINGS, None, decimals=0, values=beyond)
    yield Promise(f"memory - a tiny trace's - {TINY_SLACK_MB} MB, B/event", BESIDE_TINY, None, decimals=0, values=each)


def growth_promises(m: Measured) -> Iterable[Promise]:
    for what, steps in (("events", m.by_size), ("files", m.by_files)):
        exponent = growth(steps)
        yield Promise(f"growth with {what}, exponent", LINEAR, None, values=one(exponent))


def one(value: float | None) -> dict[str, float]:
    return {} if value is None else {"": value}


def files_overlap(m: Measured) -> float | None:
    good = {s.amount: s.result for s in m.by_files if s.result.good}
    return good[8].wall_over_cpu if 8 in good else None


def start_ms(m: Measured, key: str) -> float | None:
    result = m.start.get(key) if m.start else None
    return result.seconds * 1000 if result else None


def huge_gb(m: Measured) -> float | None:
    result = m.huge.get("report-2") if m.huge else None
    return result.peak_mb / 1000 if result else None


def page_s(m: Measured) -> float | None:
    """Of the whole command, which reads, analyses, prints and writes the page."""
    result = m.page.get("page") if m.page and m.page_slices >= PAGE_SLICES else None
    return result.seconds if result else None


def page_alone_s(m: Measured) -> float | None:
    page, report = (m.page.get(key) if m.page and m.page_slices >= PAGE_SLICES else None for key in ("page", "report-2"))
    return page_beyond(page, report) if page and report else None


def query_ratio(m: Measured, to: str) -> float | None:
    return m.queried.ratio(to) if m.queried and m.queried.slices >= QUERY_SLICES else None


def many_threads(m: Measured) -> Result | None:
    result = next(iter(m.many.results.values())) if m.many and m.many.ranks >= MANY_RANKS else None
    return result if result and result.good else None


def many_seconds(m: Measured) -> float | None:
    result = many_threads(m)
    return result.seconds if result else None


def many_peak_mb(m: Measured) -> float | None:
    result = many_threads(m)
    return result.peak_mb if result else None


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
    many, page, query = (f"needs {what}" for what in ("--ranks 1024", "1.8 million slices", "4.5 million slices and build/bench/query"))
    return [
        *scan_promises(m),
        Promise("report .json, time x simdjson", 0.8, None, values=over(m, "json", "report-2", "simdjson")),
        Promise("report .gz, time x igzip", 3.5, 2.5, values=over(m, "gz", "report-2", "igzip")),
        Promise("report, speed x HTA", 80, 150, True, decimals=0, values=over(m, "json", "report-2", "hta", faster)),
        Promise("all analyses / scan, one thread, time", 1.0, None, values=analyses(m)),
        Promise("8 files, wall time / CPU time", 0.58, None, values=one(files_overlap(m))),
        Promise("1,024 ranks of 50k events, s", 20, None, decimals=1, values=one(many_seconds(m)), why_not=many),
        Promise("1,024 ranks of 50k events, memory, MB", 600, None, decimals=0, values=one(many_peak_mb(m)), why_not=many),
        Promise("many ranks, mpirun -n 2 / 2 threads", 1.0, None, values=one(many_ratio(m)), why_not="needs Open MPI"),
        *memory_promises(m),
        Promise("memory of that tiny trace, MB", None, None, decimals=1, values=one(m.tiny_mb)),
        Promise("memory for a 10 GB .json, GB", 4, None, values=one(huge_gb(m)), why_not="needs --huge"),
        Promise("start to answer, 1 MB trace, ms", 6, None, decimals=1, values=one(start_ms(m, "report"))),
        Promise("start to answer, --help, ms", 2, None, decimals=1, values=one(start_ms(m, "help"))),
        Promise("report --html of 1.8 M slices, s", 0.8, None, values=one(page_s(m)), why_not=page),
        Promise("of that, the page, s", None, None, values=one(page_alone_s(m)), why_not=page),
        Promise("SQL on 4.5 M slices, time x sqlite3", 1.0, None, values=one(query_ratio(m, "sqlite3")), why_not=query),
        Promise("SQL on 4.5 M slices, time x DuckDB", None, None, values=one(query_ratio(m, "duckdb")), why_not=query),
        Promise("replay of all steps, ms per 10^6 events", 10, None, decimals=1, values=replay(m, 3)),
        Promise("its graph, MB per 10^6 events", 100, None, decimals=0, values=replay(m, 4)),
        *growth_promises(m),
    ]
