#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a Kineto trace of about N megabytes by replicating a real one: the input of the bench; measures nothing itself.
Not a simulation: every copy repeats the first, shifted in time and ids, so caches and predictors see it again."""

from __future__ import annotations

import argparse
import gzip
import json
import re
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Iterator

TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]|-?\d[\d.eE+-]*')
TIME = re.compile(r"(-?)(\d+)(?:\.(\d+))?\Z")
STEP = re.compile(r"ProfilerStep#(\d+)")
COLON = re.compile(r"\s*:")
SPACE = re.compile(r"\s*")

# What a number in an event means: the numbers of one family are shifted together, so that references still meet.
FAMILY = {
    ("", "id"): "correlation",
    ("args", "correlation"): "correlation",
    ("args", "wait_on_cuda_event_record_corr_id"): "correlation",
    ("args", "External id"): "external",
    ("args", "external id"): "external",
    ("args", "Record function id"): "record",
    ("args", "Ev Idx"): "index",
    ("args", "Sequence number"): "sequence",
    ("args", "Seq"): "comm_sequence",
    ("args", "Python id"): "python",
    ("args", "Python parent id"): "python",
}
RENAMED = {"kernel", "cpu_op"}
Event = tuple[int, int, dict[str, Any]]           # start and end in the text, and what it says
GAP_US = 1000


class BadTrace(Exception):
    """The source is not what this program can replicate."""


@dataclass
class Template:
    """Text with holes: literals[0] hole[0] literals[1] hole[1] ... literals[n]; a hole is a family and a base."""

    literals: list[str] = field(default_factory=lambda: [""])
    families: list[str] = field(default_factory=list)
    bases: list[int] = field(default_factory=list)
    events: int = 0

    def text(self, more: str) -> None:
        self.literals[-1] += more

    def hole(self, family: str, base: int) -> None:
        self.families.append(family)
        self.bases.append(base)
        self.literals.append("")

    def add(self, other: Template, separator: str) -> None:
        self.literals[-1] += (separator if self.events else "") + other.literals[0]
        self.literals += other.literals[1:]
        self.families += other.families
        self.bases += other.bases
        self.events += 1

    def render(self, shift: dict[str, int], names: Names | None) -> str:
        get = shift.get
        out = [""] * (2 * len(self.literals) - 1)
        out[0::2] = self.literals
        out[1::2] = [names.next(base) if family == "name" and names else str(base + get(family, 0))
                     for family, base in zip(self.families, self.bases)]
        return "".join(out)


@dataclass
class Names:
    """Hands out suffixes so that about `wanted` names exist in the end, each base name in proportion to its use."""

    variants: list[int]
    used: list[int]

    @staticmethod
    def share(counts: list[int], wanted: int) -> Names:
        total = max(1, sum(counts))
        return Names([max(1, round(wanted * n / total)) for n in counts], [0] * len(counts))

    def next(self, base: int) -> str:
        n = self.used[base]
        self.used[base] = n + 1
        return f"_v{n % self.variants[base]}"


@dataclass
class Source:
    """A trace taken apart: text before and after the events, and the events by what happens to them."""

    head: str
    tail: str
    separator: str
    once: Template                  # written first and once: metadata, the start mark
    again: Template                 # written in every copy
    last: Template                  # written last and once: the span of the capture, the end mark
    period_us: int
    strides: dict[str, int]
    name_counts: list[int]
    event_bytes: int


def read_text(path: Path) -> str:
    raw = path.read_bytes()
    return (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8", "surrogateescape")


def events_start(text: str) -> int:
    """Where the first event (or the closing bracket) is."""
    start = SPACE.match(text).end()                                             # type: ignore[union-attr]
    if not text.startswith("[", start):
        found = re.search(r'(?<!\\)"traceEvents"\s*:\s*\[', text)
        if not found:
            raise BadTrace("no traceEvents array")
        start = found.end() - 1
    return SPACE.match(text, start + 1).end()                                   # type: ignore[union-attr]


def walk_events(text: str, at: int) -> Iterator[Event]:
    """Start, end and meaning of each event; ends at the closing bracket."""
    decode = json.JSONDecoder().raw_decode
    while text[at] != "]":
        try:
            event, end = decode(text, at)
        except ValueError as error:
            raise BadTrace(f"event at character {at}: {error}") from error
        yield at, end, event
        at = SPACE.match(text, end).end()                                       # type: ignore[union-attr]
        if text[at] == ",":
            at = SPACE.match(text, at + 1).end()                                # type: ignore[union-attr]


def values_of(text: str) -> Iterator[tuple[str, str, int, int]]:
    """(where, key, start, end) of the scalar members of an event and of its args."""
    path: list[str] = []
    key = ""
    for token in TOKEN.finditer(text):
        t = token[0]
        if t in "{[":
            path.append(key if t == "{" else "[")
            key = ""
        elif t in "}]":
            path.pop()
        elif t[0] == '"' and COLON.match(text, token.end()):
            key = t[1:-1]
        elif path == [""] or path == ["", "args"]:
            yield path[-1], key, token.start(), token.end()


def split_time(text: str) -> tuple[int, str]:
    """Whole microseconds, rounded down, and the text of the rest, so that a shift by whole ones never rounds."""
    found = TIME.match(text)
    if not found:
        raise BadTrace(f"time {text!r} is no plain decimal")
    whole, digits = int(found[2]), found[3] or ""
    if not found[1]:
        return whole, "." + digits if digits else ""
    if not int(digits or 0):
        return -whole, "." + digits if digits else ""
    return -whole - 1, "." + str(10 ** len(digits) - int(digits)).zfill(len(digits))


class Cutter:
    """Cuts events into templates and remembers what the shifts must clear."""

    def __init__(self, rename: bool) -> None:
        self.rename = rename
        self.names: dict[str, int] = {}
        self.name_counts: list[int] = []
        self.low: dict[str, int] = {}
        self.high: dict[str, int] = {}

    def see(self, family: str, value: int) -> None:
        self.low[family] = min(value, self.low.get(family, value))
        self.high[family] = max(value, self.high.get(family, value))

    def stride(self, family: str) -> int:
        return self.high[family] - self.low[family] + 1

    def name_hole(self, raw: str) -> int:
        base = self.names.setdefault(raw, len(self.names))
        if base == len(self.name_counts):
            self.name_counts.append(0)
        self.name_counts[base] += 1
        return base

    def place(self, out: Template, where: str, key: str, raw: str, event: dict[str, Any]) -> None:
        """Writes one value, with a hole where copies differ."""
        quote = '"' if raw[0] == '"' else ""
        bare = raw[1:-1] if quote else raw
        family = FAMILY.get((where, key))
        if where == "" and key == "ts" and TIME.match(bare):
            whole, rest = split_time(bare)
            out.text(quote)
            out.hole("ts", whole)
            out.text(rest + quote)
        elif where == "" and key == "dur" and event.get("cat") == "Trace":
            whole, rest = split_time(bare)
            out.text(quote)
            out.hole("dur", whole)
            out.text(rest + quote)
        elif family and bare.isdigit() and int(bare) > 0:
            self.see(family, int(bare))
            out.text(quote)
            out.hole(family, int(bare))
            out.text(quote)
        elif where == "" and key == "name":
            self.place_name(out, bare, event)
        else:
            out.text(raw)

    def place_name(self, out: Template, bare: str, event: dict[str, Any]) -> None:
        step = STEP.match(bare)
        if step:
            self.see("step", int(step[1]))
            out.text('"ProfilerStep#')
            out.hole("step", int(step[1]))
            out.text(bare[step.end():] + '"')
        elif self.rename and event.get("cat") in RENAMED:
            out.text('"' + bare)
            out.hole("name", self.name_hole(bare))
            out.text('"')
        else:
            out.text('"' + bare + '"')

    def cut(self, text: str, event: dict[str, Any]) -> Template:
        out, done = Template(), 0
        for where, key, start, end in values_of(text):
            out.text(text[done:start])
            self.place(out, where, key, text[start:end], event)
            done = end
        out.text(text[done:])
        return out


def is_once(event: dict[str, Any]) -> bool:
    return event.get("ph") == "M" or str(event.get("name", "")).startswith("Iteration Start")


def is_last(event: dict[str, Any]) -> bool:
    return event.get("cat") == "Trace" or event.get("name") == "Record Window End"


def time_window(events: list[Event], share: float) -> float:
    """The time before which about `share` of the bytes of the replicated events begin."""
    timed = sorted((float(e["ts"]), end - start) for start, end, e in events
                   if "ts" in e and not is_once(e) and not is_last(e))
    left = share * sum(size for _, size in timed)
    for ts, size in timed:
        left -= size
        if left <= 0:
            return ts
    return float("inf")


def keep(event: dict[str, Any], until: float) -> bool:
    return is_once(event) or is_last(event) or float(event.get("ts", 0)) <= until


def take_apart(text: str, megabytes: float, rename: bool) -> Source:
    """Cuts the source up; one that is larger than what is wanted is cut off in time first."""
    first = events_start(text)
    events = list(walk_events(text, first))
    if not events:
        raise BadTrace("no events")
    separator = text[events[0][1]:events[1][0]] if len(events) > 1 else ",\n"
    last_end = events[-1][1]
    until = time_window(events, megabytes * 1e6 / len(text)) if megabytes * 1e6 < len(text) else float("inf")
    events = [e for e in events if keep(e[2], until)]
    close = text.index("]", last_end)
    cutter, (once, again, last) = Cutter(rename), (Template(), Template(), Template())
    for start, end, event in events:
        part = once if is_once(event) else last if is_last(event) else again
        part.add(cutter.cut(text[start:end], event), separator)
    repeated = [e for e in events if not is_once(e[2]) and not is_last(e[2])]
    return Source(text[:first], "\n" + text[close:], separator, compact(once), compact(again), compact(last),
                  period_of(repeated), {f: cutter.stride(f) for f in cutter.low}, cutter.name_counts,
                  sum(end - start + len(separator) for start, end, _ in repeated))


def period_of(events: list[Event]) -> int:
    """How far one copy must be shifted to begin behind the one before."""
    begins = [(float(e["ts"]), float(e.get("dur", 0))) for _, _, e in events if "ts" in e]
    span = max(ts + dur for ts, dur in begins) - min(ts for ts, _ in begins) if begins else 0
    return int(span) + 1 + GAP_US


def compact(t: Template) -> Template:
    """Adjacent equal pieces share one string: replicated text has few distinct literals."""
    seen: dict[str, str] = {}
    t.literals = [seen.setdefault(s, s) for s in t.literals]
    t.families = [sys.intern(f) for f in t.families]
    return t


def set_rank(source: Source, rank: int, world: int) -> None:
    """Writes distributedInfo into the head, replacing rank and world_size where it is there already."""
    for part in ("head", "tail"):
        text = getattr(source, part)
        at = text.find('"distributedInfo"')
        if at >= 0:
            rest = re.sub(r'("rank"\s*:\s*)\d+', rf"\g<1>{rank}", text[at:], count=1)
            rest = re.sub(r'("world_size"\s*:\s*)\d+', rf"\g<1>{world}", rest, count=1)
            setattr(source, part, text[:at] + rest)
            return
    if source.head.lstrip().startswith("{"):
        info = f'"distributedInfo": {{"backend": "nccl", "rank": {rank}, "world_size": {world}}}, '
        source.head = source.head.replace("{", "{" + info, 1)


def shifts(source: Source, copy: int) -> dict[str, int]:
    out = {family: stride * copy for family, stride in source.strides.items()}
    out["ts"] = source.period_us * copy
    return out


def last_shifts(source: Source, copies: int) -> tuple[dict[str, int], dict[str, int]]:
    """The capture's span grows, its end mark moves."""
    grown = source.period_us * (copies - 1)
    return {"dur": grown}, {"ts": grown}


def split_last(source: Source) -> tuple[Template, Template]:
    """The spans apart from the marks: in the first the duration is shifted, in the others the time."""
    spans, marks = Template(), Template()
    text = "[" + source.last.render({}, None) + "]"
    cutter = Cutter(False)
    for start, end, event in walk_events(text, 1):
        target = spans if event.get("cat") == "Trace" else marks
        target.add(cutter.cut(text[start:end], event), source.separator)
    return spans, marks


def copies_for(source: Source, megabytes: float) -> int:
    fixed = len(source.head) + len(source.tail)
    return max(1, int((megabytes * 1e6 - fixed) / max(1, source.event_bytes) + 0.5))


def pieces(source: Source, copies: int, names_wanted: int) -> Iterator[str]:
    """The text of the new trace, one copy at a time."""
    names = Names.share([n * copies for n in source.name_counts], names_wanted) if names_wanted else None
    spans, marks = split_last(source)
    span_shift, mark_shift = last_shifts(source, copies)
    blocks: list[tuple[Template, dict[str, int]]] = [(source.once, {})]
    blocks += [(source.again, shifts(source, copy)) for copy in range(copies)]
    blocks += [(spans, span_shift), (marks, mark_shift)]
    yield source.head
    written = False
    for template, shift in blocks:
        if template.events:
            yield source.separator if written else ""
            yield template.render(shift, names)
            written = True
    yield source.tail


@contextmanager
def output(path: Path) -> Iterator[IO[bytes]]:
    """A file, or the input of the compressor that the suffix names."""
    command = {".gz": ["gzip", "-6", "-n", "-c"], ".zst": ["zstd", "-q", "-3", "-c"]}.get(path.suffix)
    with open(path, "wb") as file:
        if not command:
            yield file
            return
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=file) as process:
            assert process.stdin
            yield process.stdin
            process.stdin.close()
        if process.returncode:
            raise OSError(f"{command[0]} failed with {process.returncode}")


def make(source: Source, out: Path, copies: int, names: int) -> int:
    """Writes the trace and returns how many bytes of JSON it has."""
    total = 0
    part = out.with_name("." + out.name.replace(".json", ".part", 1))
    with output(part) as file:
        for piece in pieces(source, copies, names):
            raw = piece.encode("utf-8", "surrogateescape")
            file.write(raw)
            total += len(raw)
    part.rename(out)
    return total


def arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("source", type=Path, help="a Kineto trace, .json or .json.gz")
    p.add_argument("out", type=Path, help="FILE.json, FILE.json.gz or FILE.json.zst")
    size = p.add_mutually_exclusive_group(required=True)
    size.add_argument("--mb", type=float, help="about this many 10^6 bytes of JSON; a larger source is cut off in time")
    size.add_argument("--copies", type=int, help="exactly this many copies")
    p.add_argument("--names", type=int, default=0, help="about this many distinct kernel and operator names")
    p.add_argument("--rank", type=int, help="write this rank into distributedInfo")
    p.add_argument("--world", type=int, default=1, help="and this world size")
    return p.parse_args()


def main() -> int:
    a = arguments()
    try:
        source = take_apart(read_text(a.source), a.mb if a.mb else float("inf"), a.names > 0)
        if a.rank is not None:
            set_rank(source, a.rank, a.world)
        copies = a.copies or copies_for(source, a.mb)
        size = make(source, a.out, copies, a.names)
    except (BadTrace, OSError, EOFError) as error:
        print(f"make_trace: {a.source}: {error}", file=sys.stderr)
        return 1
    events = source.once.events + source.again.events * copies + source.last.events
    print(json.dumps({"copies": copies, "events": events, "json_bytes": size}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
