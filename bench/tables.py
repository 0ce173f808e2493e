# SPDX-License-Identifier: Apache-2.0
"""Writes the measurements as tables that are 80 columns wide and also Markdown, and as the page docs/performance.md.
Computes nothing but sums of what it is given."""

from __future__ import annotations

import datetime
import json
import os
import platform
import statistics
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

from contenders import cpu_flags
from inputs import Trace
from limits import limits
from measuring import Result
from database import STATEMENT
from promises import BESIDE_STRINGS, BESIDE_TINY, SLACK_MB, TINY_SLACK_MB, Promise
from suite import Check, Group, Measured, Plan, Step, growth, page_beyond

NOISY = 1.5
WIDTH = 80


@dataclass(frozen=True)
class About:
    """What stands above the tables."""

    holdup: str
    versions: list[str]
    plan: Plan
    load: float
    note: str
    quick: bool


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The first column to the left, the others to the right."""
    widths = [max(len(r[i]) for r in [heads, *rows]) for i in range(len(heads))]

    def line(cells: Sequence[str]) -> str:
        first, *rest = (c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths)))
        return "| " + " | ".join([first, *rest]) + " |"

    rule = "|" + "|".join("-" * (w + 1) + ("-" if i == 0 else ":") for i, w in enumerate(widths)) + "|"
    return "\n".join([line(heads), rule, *(line(r) for r in rows)])


def fold(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def result_row(result: Result, group: Group) -> list[str]:
    label = result.contender.label
    if not result.good:
        return [label, "-", "-", "-", "-", "-", "-"]
    reference = group.reference
    ratio = "ref" if result is reference else f"{result.against(reference):.2f}" if reference else "-"
    return [label, f"{group.trace.mb / result.seconds:,.0f}", f"{result.seconds:.3f}", f"{result.cpu_s:.3f}",
            f"{result.spread:.2f}", f"{result.peak_mb:,.0f}", ratio]


def group_text(group: Group) -> str:
    heads = ["", "MB/s", "wall s", "CPU s", "noise", "peak MB", "time x"]
    rows = [result_row(r, group) for r in group.results.values()]
    gone = [r.contender for r in group.results.values() if not r.good]
    notes = [fold(f"{c.label}: {c.absent or 'failed'}.") for c in gone]
    return "\n\n".join([table(heads, rows), *inside_text(group), *notes])


def inside_text(group: Group) -> list[str]:
    """What the peers say that they took without starting, and simdjson without loading the file."""
    said = {r.contender.label: [json.loads(s.output)["seconds"] for s in r.samples]
            for r in group.results.values() if r.good and r.contender.keep_output}
    times = ", ".join(f"{label} {statistics.median(seconds):.3f} s" for label, seconds in said.items())
    return [fold(f"By their own clocks, without starting and (simdjson) without loading: {times}.")] if times else []


def trace_title(group: Group) -> str:
    t = group.trace
    return f"{t.key}{group.title}: {t.mb:,.0f} MB of JSON, {t.events:,} events"


def promises_text(promises: list[Promise], inputs: list[str]) -> str:
    heads = ["", "must", "aim", "measured", "met?"]
    rows = [[p.what, p.bound(p.must), p.bound(p.aim), p.measured, p.verdict] for p in promises]
    order = (f"Several numbers are those of {', '.join(inputs)}, in this order, without the traces that a row did not"
             " run on; the worst decides. met? says aim, yes (the must), or NO; - where nothing is promised. What is compared"
             " with what: see How to read this.")
    gaps: dict[str, list[str]] = {}
    for p in promises:
        if not p.values:
            gaps.setdefault(p.why_not or "a contender is missing or failed", []).append(p.what)
    reasons = "; ".join(f"{' / '.join(what)} ({why})" for why, what in gaps.items())
    return "\n\n".join([table(heads, rows), fold(order), *([fold(f"Not measured: {reasons}.")] if reasons else [])])


def limits_text(m: Measured) -> str:
    rows = [[limit.what, limit.free, limit.reached] for limit in limits(m)]
    return "\n\n".join([table(["", "takes no time", "then"], rows), fold(
        "Worked out from rows of this run: what a promise would come to if a part of the work were free. Where that misses the promise too, "
        "that part is not what must get faster.")]) if rows else "Not measured."


# Looked up by hand: which pages of each map of the arenas, and of each file, are resident when the peak is reached.
PEAK = "\n\n".join([
    "What lies in memory at the peak, MB:",
    table(["", "ns-100", "st-100", "ns-100-names"], [
        ["slices: start 8, length 8, track 4, name 4, details 4, kind 1, correlation 4", "10.5", "6.9", "10.5"],
        ["their order 4 and parents 4", "2.5", "1.7", "2.5"],
        ["rows of details, allocations, unions of device work", "2.2", "2.0", "2.2"],
        ["graph and replays", "9.2", "7.8", "12.5"],
        ["tables and the way to them", "7.8", "3.4", "7.6"],
        ["texts and what is small", "1.3", "2.2", "13.8"],
        ["program and libraries", "5.5", "5.3", "5.6"]]),
    fold("Pages that were resident when the peak was reached, to within 1 MB, as threads go on meanwhile. ns-100-names is ns-100 with 49,846 names "
         "more and takes 19 MB more, some 380 bytes a name: the text twice, as the trace goes before the report is printed, a row of 104 bytes in the "
         "table of operators, others in those of kernels and of strings. So a short trace that has a new name in every tenth event stays beyond 60 "
         "bytes an event.")])


def memory_text(m: Measured) -> str:
    rows = []
    for group in (g for g in m.groups if g.kind == "json"):
        result = group.get("report-2")
        if result and m.tiny_mb is not None:
            t, strings = group.trace, m.name_bytes.get(group.trace.key, 0) / 1e6
            allowed = min(BESIDE_STRINGS * t.events / 1e6 + SLACK_MB + strings, BESIDE_TINY * t.events / 1e6 + TINY_SLACK_MB + m.tiny_mb)
            rows.append([t.key, f"{t.events:,}", f"{result.peak_mb:,.0f}", f"{allowed:,.0f}", f"{strings:.1f}",
                         f"{(result.peak_mb - m.tiny_mb) * 1e6 / t.events:.1f}"])
    return "\n\n".join([table(["trace", "events", "peak MB", "allowed MB", "names MB", "B/event"], rows),
                        fold(f"A trace of next to nothing takes {m.tiny_mb:.1f} MB; B/event is what is beyond that. allowed MB is the smaller of "
                             "the two promises above."), PEAK]) if rows else "Not measured."


def steps_text(steps: list[Step], head: str) -> str:
    if not steps or not all(s.result.good for s in steps):
        return "Not measured."
    first = steps[0]
    rows = [[s.label, f"{s.amount:,}", f"{s.result.seconds:.3f}", f"{s.result.cpu_s:.3f}", f"{s.result.wall_over_cpu:.2f}",
             f"{s.result.against(first.result):.2f}", f"{s.result.peak_mb:,.0f}"] for s in steps]
    return table(["", head, "wall s", "CPU s", "wall / CPU", "time x", "peak MB"], rows) + f"\n\nTime ~ {head} ^ {growth(steps) or 0:.2f}."


def many_title(m: Measured) -> str:
    return f"A job of {m.many.ranks:,} ranks, {m.many.events:,} events each" if m.many else "A job of very many ranks"


def many_text(m: Measured) -> str:
    if not m.many:
        return "Not measured."
    first = next(iter(m.many.results.values()))
    rows = [[r.contender.label, f"{r.seconds:.1f}", f"{r.cpu_s:.1f}", f"{r.seconds * 1000 / m.many.ranks:.1f}", f"{r.peak_mb:,.0f}",
             f"{r.against(first):.2f}" if first.good else "-"] for r in m.many.results.values() if r.good]
    rows += [[f"{r.contender.label}: {r.contender.absent}", "-", "-", "-", "-", "-"] for r in m.many.results.values() if r.contender.absent]
    return table(["holdup report", "wall s", "CPU s", "ms a rank", "peak MB", "time x"], rows) + "\n\n" + fold(
        "Peak memory is that of the largest process. Most files are links to a few: the disk is not measured.")


def page_text(m: Measured) -> str:
    page, report = (m.page.get(key) if m.page else None for key in ("page", "report-2"))
    if not m.page or not page or not report:
        return "Not measured."
    rows = [[r.contender.label, f"{r.seconds:.3f}", f"{r.cpu_s:.3f}", f"{r.peak_mb:,.0f}"] for r in (report, page)]
    return "\n\n".join([table(["", "wall s", "CPU s", "peak MB"], rows), fold(
        f"{m.page.trace.mb:,.0f} MB of JSON, {m.page.trace.events:,} events, {m.page_slices:,} slices. The page adds "
        f"{page_beyond(page, report):.3f} s (median of the differences within a round).")])


def query_text(m: Measured) -> str:
    q = m.queried
    if not q:
        return "Not measured."
    rows = [[a.label, f"{a.seconds:.3f}", f"{q.ratio(key) or 0:.2f}" if key != "holdup" else "ref", f"{a.before_s:.2f}"]
            for key, a in q.answers.items()]
    return "\n\n".join([f"    {STATEMENT}", table(["", "statement s", "holdup / it", "before it s"], rows), fold(
        f"{q.trace.mb:,.0f} MB of JSON, {q.slices:,} slices. holdup opens its tables within the time of the statement; before it, it reads the "
        "file. Before theirs, the databases load the same slices (name, start, duration, kind, track) from CSV into memory; their reading "
        "of JSON is not measured."), *[fold(f"{line}.") for line in q.absent]])


def pieces_text(m: Measured) -> str:
    rows = [[key, f"{p.n:,}", f"{p.all_ns / 1e6:.1f}", f"{p.longest_ns / 1e6:.2f}", f"{p.joins_ns / 1e6:.1f}",
             *(f"{p.speedup(n):.1f}" for n in (2, 4, 16, 64))] for key, p in m.pieces.items()]
    return "\n\n".join([table(["trace", "pieces", "all ms", "longest ms", "joins ms", "x2", "x4", "x16", "x64"], rows), fold(
        "Computed, not run: the pieces of the file were scanned one after the other, and the longest chain of work on so many threads is at "
        "most all / threads + longest, then the joins. Memory bandwidth that cores share is not in it.")]) if rows else "Not measured."


def start_text(group: Group | None) -> str:
    if not group:
        return "Not measured."
    rows = [[r.contender.label, f"{r.seconds * 1000:.1f}", f"{min(s.seconds for s in r.samples) * 1000:.1f}",
             f"{r.peak_mb:,.0f}"] for r in group.results.values() if r.good]
    return table(["", "median ms", "best ms", "peak MB"], rows)


def checks_text(checks: list[Check]) -> str:
    rows = []
    for check in checks:
        for reader, found in check.readers.items():
            total, durations = found.get("events"), found.get("duration_sum_ns")
            rows.append([f"{check.trace.key}, {reader.removesuffix(' On-Demand')}",
                         f"{total:,}" if total is not None else "-",
                         f"{durations:,}" if durations is not None else "-", "yes" if check.agrees else "NO"])
    return "\n\n".join([table(["trace, reader", "events", "sum of dur, ns", "same?"], rows),
                        fold("Same means: the number of events, the number of each phase, and the sum of the durations"
                             " of the X events agree to the last nanosecond among all readers of a trace. Python"
                             " reads the large trace only with --full.")])


def machine() -> str:
    """Cores, model, memory, in words."""
    flags, cores = cpu_flags(), len(os.sched_getaffinity(0))
    widths = (("avx512bw", "AVX-512"), ("avx2", "AVX2"), ("asimd", "NEON"))
    vectors = next((f" with {name}" for flag, name in widths if flag in flags), "")
    kind = "virtual machine, " if "hypervisor" in flags else ""
    model = field_of("/proc/cpuinfo", "model name") or platform.machine()
    memory = field_of("/proc/meminfo", "MemTotal").split()
    size = f", {int(memory[0]) / 2**20:.0f} GiB" if memory else ""
    return f"{kind}{cores} core{'s' * (cores != 1)}, {model}{vectors}{size}, {platform.system()}"


def field_of(path: str, name: str) -> str:
    return next((line.split(":", 1)[1].strip() for line in read_lines(path) if line.startswith(name)), "")


def read_lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def trace_line(t: Trace, m: Measured) -> str:
    names = f", {m.names[t.key]:,} distinct names" if t.key in m.names else ""
    return f"`{t.key}`: {t.words}; {t.mb:,.0f} MB, {t.events:,} events of {t.json_bytes / t.events:.0f} bytes{names}"


def noise_text(m: Measured) -> str:
    spreads = [r.spread for g in m.groups for r in g.results.values() if r.good and len(r.samples) > 1]
    noisy = sum(s > NOISY for s in spreads)
    return (fold(f"{noisy} of the {len(spreads)} rows above had a slowest run of more than {NOISY} times the fastest.")
            if spreads else "Every row was run once, so the noise of this machine is unknown.")


def sections(m: Measured, promises: list[Promise], about: About) -> list[tuple[str, str]]:
    """Headings and bodies, for the terminal and for the page."""
    out = [("What holdup promises", promises_text(promises, [t.key for t in m.traces])),
           ("What a promise could come to", limits_text(m))]
    out += [(trace_title(g), group_text(g)) for g in m.groups]
    out += [("Memory of holdup report", memory_text(m)),
            ("One file, growing", steps_text(m.by_size, "events")),
            ("More files (2 threads)", steps_text(m.by_files, "files")),
            (many_title(m), many_text(m)),
            ("One file on many cores, computed", pieces_text(m)),
            ("The page of many slices", page_text(m)),
            ("A statement of SQL", query_text(m)),
            ("Start to answer", start_text(m.start)),
            ("The same counts and sums", checks_text(m.checks))]
    return out


READING = """\
* **Absolute numbers are noise.** They were taken on a machine that is shared with others, and repeat badly from day to
  day. The column `time x` is what counts: the time over that of the row marked `ref`, as the median of the ratios
  within one round, in which all contenders ran one after the other (every other round in reverse order; the first ran
  once before, unmeasured, because who first touches much memory on a virtual machine pays for it).
* `wall s` is the median wall time of the whole process, start and exit included, `CPU s` that of the time that all its
  threads spent on processors, in the kernel too; `noise` is the slowest run over the fastest; `peak MB` is the largest
  resident memory that the kernel saw (10^6 bytes); `MB/s` is always bytes of JSON, also for compressed files.
* All files are in the page cache. Nothing here says anything about disks.

What each promise compares:

* **scan** is `holdup info`, whole process, which reads everything that holdup knows and builds its model. `one thread`
  is the program as it is shipped with `HOLDUP_THREADS=1`; `plain C` the same with `HOLDUP_CPU=scalar`. The speed is
  that of simdjson's time over holdup's: simdjson takes nine fields of every event into columns and stops, on one thread.
* **parallel efficiency** is the wall time of a scan on one thread over twice that on two: 1 is perfect.
* **16 threads simulated** is computed from pieces that were scanned one after the other, below.
* **report** is `holdup report` on two threads (`HOLDUP_THREADS=2`): it reads, analyses and prints. On `.json` its time
  is over that of simdjson's one thread, which only extracts; on `.gz` over that of `igzip -dc`, which only unpacks.
  HolisticTraceAnalysis loads and runs three analyses (temporal, kernels, overlap), not its critical path.
* **8 files, wall time / CPU time**: one report of eight files on two threads; 0.5 is both cores busy all the time. It
  does not punish a faster single file, as the time of eight files over that of one did.
* **1,024 ranks**: one process with two threads; its wall time, and the largest resident memory. `mpirun -n 2` runs two
  processes over the same folder.
* **memory** of a report, in bytes per event: the peak less 64 MB and the distinct event names (other strings are not
  taken off, so it is judged a little strictly); and the peak less that on a trace of next to nothing and 8 MB.
* **start to answer** is the median of whole processes: a report of 1 MB, and `holdup --help`.
* **report --html** is the whole command, which reads, analyses, prints and writes the page of 1.8 million slices.
* **SQL** is the time of one statement, tables opened, file read or rows loaded before: holdup's over theirs.
* **replay** and **all analyses / scan** are measured inside one process (bench/phases.c).

What to keep in mind:

* simdjson is compiled here with `-march=native` and may use instructions that a portable program cannot count on;
  holdup is built as it is shipped and chooses at run time. simdjson reads the whole file into fresh memory, and the
  page faults are a good part of its time: that is how it is used, but inside an already warm process it is faster.
* The traces are one real trace repeated, shifted in time and ids. Repetition flatters caches and whatever guesses what
  comes next; the trace with many names is there to show by how much. The first copy alone is real."""


def page(m: Measured, promises: list[Promise], about: About, failures: list[str]) -> str:
    when = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    quick = " This was a quick run: small inputs, so starting up weighs more than it should." if about.quick else ""
    head = ["<!-- SPDX-License-Identifier: Apache-2.0; written by `make bench`, do not edit -->", "# Performance",
            f"Measured on {when}; {about.plan.rounds} rounds, medians.{quick}", f"Machine: {machine()}. "
            f"Load average before the run: {about.load:.2f}.", about.note, "Contenders:",
            "\n".join(f"* {line}" for line in [about.holdup, *about.versions]), "Inputs:",
            "\n".join(f"* {trace_line(t, m)}" for t in m.traces)]
    body = [f"## {title}\n\n{text}" for title, text in sections(m, promises, about)]
    tail = ["## How to read this", READING, noise_text(m)]
    if failures:
        tail += ["## What failed", "\n".join(f"* {f}" for f in failures)]
    return "\n\n".join(filter(None, [*head, *body, *tail])) + "\n"


def terminal(m: Measured, promises: list[Promise], about: About) -> str:
    parts = [f"{title}\n\n{text}" for title, text in sections(m, promises, about)]
    return "\n\n".join([fold(about.note), *parts, noise_text(m), "Read the ratios, not the seconds."]).strip()

