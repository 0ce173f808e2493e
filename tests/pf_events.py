# SPDX-License-Identifier: Apache-2.0
"""Events of a recorded .pftrace with their annotations, read without src/: what a slice waited for, and who woke whom."""
from __future__ import annotations

import pathlib
import struct
from dataclasses import dataclass, field
from typing import Any

from tests.pftrace import BEGIN, END, INSTANT, fields

CLEARED = 1


@dataclass
class Event:
    start: int
    end: int
    name: str
    category: str
    pid: int
    tid: int
    notes: dict[str, Any] = field(default_factory=dict)
    is_instant: bool = False

    def overlaps(self, other: Event) -> bool:
        return self.start <= other.end and other.start <= self.end


def note(raw: bytes, names: dict[int, str], texts: dict[int, str]) -> tuple[str, Any]:
    name: str = ""
    value: Any = None
    for number, v in fields(raw):
        if number == 1:
            name = names[v]
        elif number == 10:
            name = v.decode()
        elif number == 6:
            value = v.decode()
        elif number == 17:
            value = texts[v]
        elif number == 5:
            value = struct.unpack("<d", struct.pack("<Q", v))[0]
        elif number == 4:
            value = struct.unpack("<q", struct.pack("<Q", v))[0]
        else:
            value = v
    return name, value


class Sequence:
    """What a packet sequence has declared so far."""

    def __init__(self) -> None:
        self.names: dict[int, dict[int, str]] = {1: {}, 2: {}, 3: {}, 29: {}}
        self.track = 0

    def take(self, packet: dict[int, Any]) -> None:
        if packet.get(13, 0) & CLEARED:
            self.names = {1: {}, 2: {}, 3: {}, 29: {}}
        for number, raw in fields(packet.get(12, b"")):
            entry = dict(fields(raw))
            self.names.setdefault(number, {})[entry.get(1, 0)] = entry.get(2, b"").decode(errors="replace") if isinstance(entry.get(2), bytes) else ""
        if 59 in packet:
            self.track = dict(fields(dict(fields(packet[59])).get(11, b""))).get(11, self.track)


def read(path: pathlib.Path, rows: bool = False) -> list[Event]:
    """All slices and instants, by their beginning; `rows`: also those that lie on no thread."""
    threads: dict[int, tuple[int, int]] = {}
    sequences: dict[int, Sequence] = {}
    edges: list[tuple[int, int, int, str, str, dict[str, Any]]] = []
    for number, raw in fields(path.read_bytes()):
        if number != 1:
            continue
        packet: dict[int, Any] = dict(fields(raw))
        sequence = sequences.setdefault(packet.get(10, 0), Sequence())
        sequence.take(packet)
        if 60 in packet:
            track = dict(fields(packet[60]))
            if 4 in track:
                of = dict(fields(track[4]))
                threads[track[1]] = (of[1], of[2])
        if 11 not in packet:
            continue
        event: dict[int, Any] = {}
        notes: dict[str, Any] = {}
        for n, v in fields(packet[11]):
            if n == 4:
                key, value = note(v, sequence.names[3], sequence.names[29])
                notes[key] = value
            else:
                event[n] = v
        edges.append((packet.get(8, 0), event.get(9, 0), event.get(11, sequence.track), sequence.names[2].get(event.get(10, 0), event.get(23, b"").decode()),
                      sequence.names[1].get(event.get(3, 0), ""), notes))
    out: list[Event] = []
    stacks: dict[int, list[Event]] = {}
    for ts, kind, uuid, name, category, notes in sorted(edges, key=lambda e: e[0]):
        if uuid not in threads and not rows:
            continue
        if kind == END:
            stack = stacks.get(uuid, [])
            if stack:
                stack.pop().end = ts
        elif kind in (BEGIN, INSTANT):
            event = Event(ts, ts, name, category, *threads.get(uuid, (0, 0)), notes, kind == INSTANT)
            out.append(event)
            if kind == BEGIN:
                stacks.setdefault(uuid, []).append(event)
    return out
