#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures speed and memory of `holdup` beside public tools on the same traces in the same run, and writes the page.
Does not gate on speed (ratios are judged, not enforced): it fails only when readers disagree or holdup itself fails."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import costs as costs_page
import formats
from contenders import Holdup, Peers
from inputs import ROOT, Cache, fallback_note, find_sources
from measuring import Meter, stop
from promises import judge
from suite import Measured, Plan, Suite
from tables import About, page, terminal

QUICK_MB = 20.0
HUGE_MB = 10_000.0
QUICK_RANKS = 32


def arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__, epilog="""environment: HOLDUP_HTA_PYTHON = a python that has
        HolisticTraceAnalysis; HOLDUP_SIMDJSON_DIR = a folder with a newer simdjson.h and simdjson.cpp;
        HOLDUP_DUCKDB_PYTHON = a python that has duckdb; CC, CXX.""")
    p.add_argument("--holdup", type=Path, default=ROOT / "build" / "holdup", help="the program (default: build/holdup)")
    p.add_argument("--out", type=Path, help="write the page here as well, for example docs/performance.md")
    p.add_argument("--cache", type=Path, default=ROOT / "build" / "bench-data", help="where made traces are kept")
    p.add_argument("--size-mb", type=float, default=100.0, help="the size of most inputs, 10^6 bytes of JSON")
    p.add_argument("--big-mb", type=float, default=1000.0, help="the size of the large input, 0 for none")
    p.add_argument("--page-mb", type=float, default=620.0, help="the trace whose page is written, 0 for none (default: 1.8 million slices)")
    p.add_argument("--query-mb", type=float, default=1560.0, help="the trace that is asked in SQL, 0 for none (default: 4.5 million slices)")
    p.add_argument("--runs", type=int, default=3, help="rounds (default 3)")
    p.add_argument("--source", action="append", default=[], metavar="KEY=FILE", help="replicate this trace instead")
    p.add_argument("--quick", action="store_true", help=f"{QUICK_MB:g} MB and nothing large: a minute, only indicative")
    p.add_argument("--full", action="store_true", help="json.load of the large input too (several times its size)")
    p.add_argument("--huge", action="store_true", help="also a report of a 10 GB trace, made for it and deleted afterwards (needs 12 GB of disk)")
    p.add_argument("--ranks", type=int, default=1024, help="of the largest job, 0 for none (default 1024)")
    p.add_argument("--rank-events", type=int, default=50_000, help="of each of its ranks (default 50000)")
    p.add_argument("--peers-only", action="store_true", help="without holdup")
    return p.parse_args()


def plan_of(a: argparse.Namespace) -> Plan:
    return Plan(size_mb=QUICK_MB if a.quick else a.size_mb, big_mb=0 if a.quick else a.big_mb,
                huge_mb=HUGE_MB if a.huge else 0, page_mb=min(a.page_mb, QUICK_MB) if a.quick else a.page_mb,
                query_mb=min(a.query_mb, QUICK_MB) if a.quick else a.query_mb, rounds=max(1, a.runs), full=a.full,
                ranks=min(a.ranks, QUICK_RANKS) if a.quick else a.ranks, rank_events=a.rank_events)


def find_holdup(a: argparse.Namespace) -> Holdup | None:
    if a.peers_only:
        return None
    if not os.access(a.holdup, os.X_OK):
        stop(f"{a.holdup} is not there: run `make build`, or use --peers-only")
    return Holdup(a.holdup.resolve())


def complaints(m: Measured) -> list[str]:
    wrong = [f"{c.trace.key}: {', '.join(c.differing())} differ between {', '.join(c.readers)}"
             for c in m.checks if not c.agrees]
    if m.queried and not m.queried.agrees:
        wrong.append(f"{m.queried.trace.key}: sums differ between {', '.join(a.label for a in m.queried.answers.values())}")
    return wrong


def main() -> int:
    a = arguments()
    holdup, load = find_holdup(a), os.getloadavg()[0]
    sources = find_sources(a.source)
    with tempfile.TemporaryDirectory(prefix="holdup-bench-") as scratch:
        meter, peers = Meter(Path(scratch)), Peers.find(Path(scratch))
        measured = Suite(holdup, peers, Cache(a.cache), meter, plan_of(a)).run(sources)
    promises = judge(measured)
    about = About(holdup.version() if holdup else "holdup: left out (--peers-only)", peers.versions, plan_of(a), load,
                  fallback_note(sources), a.quick)
    print(terminal(measured, promises, about))
    if a.out:
        a.out.parent.mkdir(parents=True, exist_ok=True)
        old, new = a.out.read_text() if a.out.exists() else "", page(measured, promises, about, meter.failures)
        for title in (costs_page.TITLE, formats.TITLE):                             # the other commands' sections
            new = costs_page.put(new, costs_page.cut(old, title)[1], title)
        a.out.write_text(new)
    wrong = complaints(measured)
    for line in [*wrong, *meter.failures]:
        print(f"bench: {line}", file=sys.stderr)
    return 1 if wrong or any(f.startswith("holdup") for f in meter.failures) else 0


if __name__ == "__main__":
    sys.exit(main())
