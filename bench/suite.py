# SPDX-License-Identifier: Apache-2.0
"""The measurements of the bench: which contenders meet on which trace, and what is read off them.
Prints nothing and judges nothing; promises.py judges, tables.py prints."""

from __future__ import annotations

import json
import math
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Sequence

import database
import pieces
from contenders import Holdup, Peers, cpu_kernels, unpacker
from inputs import Cache, Source, Trace
from measuring import Contender, Meter, Result, stop, warm

CHECKED = ("events", "by_phase", "duration_sum_ns")
MANY_NAMES = 50_000
SIZES = (1, 2, 4, 8)
TINY_MB, START_MB = 0.05, 1.0
DISK_ROOM = 1.2                     # of what is made in one piece


@dataclass(frozen=True)
class Plan:
    size_mb: float
    big_mb: float
    huge_mb: float
    page_mb: float                  # of the trace whose page is written, and of the one that is asked in SQL
    query_mb: float
    rounds: int
    full: bool
    ranks: int = 0                  # of the job of many ranks, and the events of each
    rank_events: int = 0


@dataclass
class Group:
    """One race: everybody in it read the same trace, and the first that ran is what the others are compared with."""

    title: str
    trace: Trace
    kind: str                       # json, gz, zst
    results: dict[str, Result]

    def get(self, key: str) -> Result | None:
        result = self.results.get(key)
        return result if result and result.good else None

    @property
    def reference(self) -> Result | None:
        first = next(iter(self.results))
        return self.get(first)

    def ratio(self, key: str, to: str) -> float | None:
        a, b = self.get(key), self.get(to)
        return a.against(b) if a and b else None


@dataclass(frozen=True)
class Step:
    """One point of a scaling curve."""

    label: str
    amount: int
    result: Result


@dataclass(frozen=True)
class Check:
    """What each reader counted in one trace."""

    trace: Trace
    readers: dict[str, dict[str, Any]]

    def differing(self) -> list[str]:
        def said(key: str) -> set[str]:
            return {json.dumps(reader.get(key), sort_keys=True) for reader in self.readers.values()}

        return [key for key in CHECKED if len(said(key)) > 1]

    @property
    def agrees(self) -> bool:
        return not self.differing()


@dataclass(frozen=True)
class Many:
    """One job of very many ranks: threads of one process, and processes."""

    ranks: int
    events: int                     # of each
    results: dict[str, Result]


@dataclass
class Measured:
    traces: list[Trace] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    by_size: list[Step] = field(default_factory=list)
    by_files: list[Step] = field(default_factory=list)
    start: Group | None = None
    tiny_mb: float | None = None    # peak memory of a report on next to nothing
    page: Group | None = None       # report with and without --html
    page_slices: int = 0
    queried: database.Queried | None = None
    pieces: dict[str, pieces.Pieces] = field(default_factory=dict)
    huge: Group | None = None
    many: Many | None = None
    names: dict[str, int] = field(default_factory=dict)
    name_bytes: dict[str, int] = field(default_factory=dict)
    big: str = ""                   # the key of the large trace, which is not judged by its speed
    phases: dict[str, list[int]] = field(default_factory=dict)      # ns of scan, freeze, analyses, replay; bytes of its graph; events

    def find(self, kind: str, trace: str) -> Group | None:
        return next((g for g in self.groups if g.kind == kind and g.trace.key == trace), None)


def growth(steps: Sequence[Step]) -> float | None:
    """The exponent of time over amount, by least squares of the logarithms; 1 is linear."""
    points = [(math.log(s.amount), math.log(s.result.seconds)) for s in steps if s.result.good]
    if len(points) < 2:
        return None
    mx, my = (sum(p[i] for p in points) / len(points) for i in (0, 1))
    return sum((x - mx) * (y - my) for x, y in points) / sum((x - mx) ** 2 for x, _ in points)


def page_beyond(page: Result, report: Result) -> float:
    """What the page adds to the report, in seconds."""
    return statistics.median(a.seconds - b.seconds for a, b in zip(page.samples, report.samples))


class Suite:
    def __init__(self, holdup: Holdup | None, peers: Peers, cache: Cache, meter: Meter, plan: Plan) -> None:
        self.holdup, self.peers, self.cache, self.meter, self.plan = holdup, peers, cache, meter, plan
        self.out = Measured()

    def run(self, sources: list[Source]) -> Measured:
        self.tiny(sources[0])
        for source in sources:
            self.whole(source)
        self.many_names(sources[0])
        self.starting(sources[0])
        self.sizes(sources[0])
        self.files(sources[0])
        self.many_ranks()
        self.page(sources[0])
        self.query(sources[0])
        if self.plan.big_mb:
            self.big(sources[0])
        if self.plan.huge_mb:
            self.huge(sources[0])
        return self.out

    # Which contenders

    def ours(self, verb: str, path: Path, **options: Any) -> list[Contender]:
        return [self.holdup.run(verb, path, **options)] if self.holdup else []

    def scans(self, path: Path) -> list[Contender]:
        """On two threads, on one as it is shipped, and with each of its variants."""
        as_shipped = [c for threads in (2, 1) for c in self.ours("info", path, threads=threads)]
        return as_shipped + [c for cpu in cpu_kernels() for c in self.ours("info", path, cpu=cpu, threads=1)]

    def readers(self, trace: Trace) -> list[Contender]:
        return [s.contender(trace) for s in self.peers.simdjson]

    # One race

    def race(self, title: str, trace: Trace, kind: str, contenders: list[Contender], rounds: int = 0) -> Group:
        path = {"json": trace.path, "gz": trace.packed(".gz"), "zst": trace.packed(".zst")}[kind]
        warm(path)
        results = self.meter.race(contenders, rounds or self.plan.rounds)
        return Group(title, trace, kind, results)

    def keep(self, group: Group) -> None:
        self.out.groups.append(group)
        if group.trace not in self.out.traces:
            self.out.traces.append(group.trace)

    def json_race(self, trace: Trace, slow: list[Contender]) -> Group:
        ours = [*self.ours("report", trace.path, threads=2), *self.scans(trace.path)]
        group = self.race(".json", trace, "json", [*self.readers(trace), *ours, *slow])
        self.keep(group)
        self.check(group)
        return group

    def packed_race(self, trace: Trace, suffix: str, tools: list[tuple[str, str]]) -> None:
        path = self.cache.pack(trace, suffix)
        if not path:
            return
        names = [unpacker(name, path, package) for name, package in tools]
        ours = [c for threads in (2, 1) for c in self.ours("report", path, threads=threads)]
        self.keep(self.race(".json" + suffix, trace, suffix[1:], [*names, *ours]))
        self.check_packed(trace, path)

    # The parts

    def whole(self, source: Source) -> None:
        trace = self.cache.trace(source, f"{source.key}-{self.plan.size_mb:g}", source.words,
                                 ["--mb", str(self.plan.size_mb)])
        self.json_race(trace, [self.peers.json_load(trace.path, 3), self.peers.hta(trace.path, 3)])
        self.measure_phases(trace)
        self.measure_pieces(trace)
        self.packed_race(trace, ".gz", [("igzip", "isal"), ("gzip", "gzip")])
        self.packed_race(trace, ".zst", [("zstd", "zstd")])

    def measure_phases(self, trace: Trace) -> None:
        """Scan and analyses apart, inside one process: bench/phases.c, built beside the program."""
        program = self.holdup.program.parent / "bench/phases" if self.holdup else None
        if not program or not program.exists():
            return
        done = subprocess.run([str(program), str(trace.path), str(2 * self.plan.rounds - 1)], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            self.out.phases[trace.key] = [int(word) for word in done.stdout.split()]

    def measure_pieces(self, trace: Trace) -> None:
        found = pieces.measure(self.holdup, trace.path) if self.holdup else None
        if found:
            self.out.pieces[trace.key] = found

    def many_names(self, source: Source) -> None:
        trace = self.cache.trace(source, f"{source.key}-{self.plan.size_mb:g}-names",
                                 f"{source.key} with about {MANY_NAMES:,} distinct kernel and operator names",
                                 ["--mb", str(self.plan.size_mb), "--names", str(MANY_NAMES)])
        self.json_race(trace, [])
        self.measure_phases(trace)

    def big(self, source: Source) -> None:
        trace = self.cache.trace(source, f"{source.key}-{self.plan.big_mb:g}", source.words,
                                 ["--mb", str(self.plan.big_mb)])
        self.out.big = trace.key
        self.measure_phases(trace)
        self.measure_pieces(trace)
        self.json_race(trace, [self.peers.json_load(trace.path, 1)] if self.plan.full else [])
        self.packed_race(trace, ".gz", [("igzip", "isal")])

    def tiny(self, source: Source) -> None:
        trace = self.cache.trace(source, f"{source.key}-tiny", "next to nothing", ["--mb", str(TINY_MB)])
        group = self.race("tiny", trace, "json", self.ours("report", trace.path, threads=2))
        result = group.get("report-2")
        self.out.tiny_mb = result.peak_mb if result else None

    def starting(self, source: Source) -> None:
        trace = self.cache.trace(source, f"{source.key}-start", source.words, ["--mb", str(START_MB)])
        yardstick = Contender("python", "python3 -c pass", [sys.executable, "-c", "pass"])
        helps = [Contender("help", "holdup --help", [str(self.holdup.program), "--help"])] if self.holdup else []
        self.out.start = self.race("start", trace, "json", [yardstick, *self.ours("report", trace.path), *helps],
                                   5 * self.plan.rounds)

    def sizes(self, source: Source) -> None:
        if not self.holdup:
            return
        base = max(1, round(self.plan.size_mb * 1e6 / SIZES[-1] / unpacked_size(self.cache, source)))
        traces = [self.cache.trace(source, f"{source.key}-times-{n}", source.words, ["--copies", str(base * n)])
                  for n in SIZES]
        contenders = [Contender(str(n), f"holdup report, {n} x", self.holdup.run("report", t.path).command)
                      for n, t in zip(SIZES, traces)]
        results = self.race("sizes", traces[-1], "json", contenders).results
        self.out.by_size = [Step(f"{n} x", t.events, results[str(n)]) for n, t in zip(SIZES, traces)]

    def files(self, source: Source) -> None:
        if not self.holdup:
            return
        each = self.plan.size_mb / 2
        traces, folders = self.cache.ranks(source, f"{source.key}-{each:g}", each, SIZES[-1])
        for trace in traces:
            warm(trace.path)
        run = {n: self.holdup.run("report", folders[n], threads=2) for n in SIZES}
        contenders = [Contender(str(n), f"holdup report, {n} files", run[n].command, run[n].env) for n in SIZES]
        results = self.meter.race(contenders, self.plan.rounds)
        self.out.by_files = [Step(f"{n} x", n, results[str(n)]) for n in SIZES]

    def many_ranks(self) -> None:
        if not self.holdup or not self.plan.ranks:
            return
        folder, events = self.cache.job(self.plan.ranks, self.plan.rank_events)
        one = self.holdup.run("report", folder, "one process, 2 threads", threads=2)
        self.out.many = Many(self.plan.ranks, events, self.meter.race([one, self.holdup.spread(2, folder)], 1))

    def page(self, source: Source) -> None:
        """The report alone, and with its page beside it."""
        if not self.holdup or not self.plan.page_mb:
            return
        trace = self.cache.trace(source, f"{source.key}-{self.plan.page_mb:g}", source.words, ["--mb", str(self.plan.page_mb)])
        html = ("--html", str(self.meter.scratch / "page.html"))
        with_page = self.holdup.run("report", trace.path, "holdup report --html, 2 threads", threads=2, more=html)
        contenders = [*self.ours("report", trace.path, threads=2), replace(with_page, key="page")]
        self.out.page = self.race("page", trace, "json", contenders)
        self.out.page_slices = database.count(self.holdup, trace)

    def query(self, source: Source) -> None:
        if not self.holdup or not self.plan.query_mb:
            return
        trace = self.cache.trace(source, f"{source.key}-{self.plan.query_mb:g}", source.words, ["--mb", str(self.plan.query_mb)])
        warm(trace.path)
        self.out.queried = database.measure(self.holdup, trace, self.plan.rounds)

    def huge(self, source: Source) -> None:
        """The trace is made for this alone, and is gone afterwards."""
        if not self.holdup:
            return
        name, free = f"{source.key}-{self.plan.huge_mb:g}", shutil.disk_usage(self.cache.folder).free / 1e6
        if free < DISK_ROOM * self.plan.huge_mb:
            stop(f"a trace of {self.plan.huge_mb:,.0f} MB needs {DISK_ROOM * self.plan.huge_mb:,.0f} MB in {self.cache.folder}, "
                 f"where {free:,.0f} MB are free")
        try:
            trace = self.cache.trace(source, name, source.words, ["--mb", str(self.plan.huge_mb)])
            self.out.huge = self.race("huge", trace, "json", self.ours("report", trace.path, threads=2), 1)
        finally:
            self.cache.forget(name)

    # The cross-check

    def check(self, group: Group) -> None:
        """Everybody's counts and sums of one trace."""
        readers = {}
        for key in [*(s.key for s in self.peers.simdjson), "json_load"]:
            result = group.get(key)
            if result:
                readers[result.contender.label] = json.loads(result.samples[0].output)
        for found in readers.values():
            self.out.names[group.trace.key], self.out.name_bytes[group.trace.key] = found["names"], found["name_bytes"]
        if self.holdup:
            readers["holdup"] = self.info(group.trace.path)
        if len(readers) < 2 and group.trace.key != self.out.big:
            readers["Python json.load"] = json.loads(self.meter.run(self.peers.json_load(group.trace.path, 1)).output)
        self.out.checks.append(Check(group.trace, readers))

    def check_packed(self, trace: Trace, path: Path) -> None:
        """holdup's counts of the compressed file beside those of the plain one."""
        plain = next(c for c in self.out.checks if c.trace is trace)
        if self.holdup:
            plain.readers[f"holdup {path.suffix}"] = self.info(path)

    def info(self, path: Path) -> dict[str, Any]:
        assert self.holdup
        sample = self.meter.run(self.holdup.run("info", path, more=("--json",), keep=True))
        try:
            events = find_events(json.loads(sample.output)) or {}
        except ValueError:
            events = {}
        return {"events": events.get("total"), "duration_sum_ns": events.get("duration_sum_ns"),
                "by_phase": {k: n for k, n in events.get("by_phase", {}).items() if n}}


def find_events(document: Any) -> dict[str, Any] | None:
    """The "events" object of `holdup info --json`, wherever the file's object stands."""
    if isinstance(document, dict):
        found = document.get("events")
        if isinstance(found, dict) and "total" in found:
            return found
    inner = document.values() if isinstance(document, dict) else document if isinstance(document, list) else []
    return next((f for f in map(find_events, inner) if f), None)


def unpacked_size(cache: Cache, source: Source) -> int:
    return cache.trace(source, f"{source.key}-times-1-of-source", source.words, ["--copies", "1"]).json_bytes
