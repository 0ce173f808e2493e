# SPDX-License-Identifier: Apache-2.0
"""A writer and a reader of protocol buffers, enough for Perfetto traces; takes nothing from src/."""
from __future__ import annotations

import struct
from typing import Any, Iterator

CLEARED, NEEDS = 1, 2
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


class Fixed(int):
    """Written as eight bytes."""


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def message(*fields: tuple[int, Any]) -> bytes:
    """Fields as (number, value): int, Fixed, float, str or bytes; None is left out, lists are repeated."""
    out = b""
    for number, value in fields:
        for v in value if isinstance(value, list) else [value]:
            if v is None:
                continue
            if isinstance(v, Fixed):
                out += varint(number << 3 | 1) + struct.pack("<Q", v)
            elif isinstance(v, int):
                out += varint(number << 3) + varint(int(v))
            elif isinstance(v, float):
                out += varint(number << 3 | 1) + struct.pack("<d", v)
            else:
                data = v.encode() if isinstance(v, str) else v
                out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a well-formed message: ints, or bytes."""

    def number(at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            value |= (data[at] & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if data[at - 1] < 0x80:
                return value, at

    at = 0
    while at < len(data):
        tag, at = number(at)
        if tag & 7 == 0:
            value, at = number(at)
        elif tag & 7 == 2:
            n, at = number(at)
            value, at = data[at : at + n], at + n
        else:
            n = 8 if tag & 7 == 1 else 4
            value, at = int.from_bytes(data[at : at + n], "little"), at + n
        yield tag >> 3, value


def note(name: str | int | None, value: Any) -> bytes:
    """A debug annotation; a name that is a number is interned."""
    head = [(1, name)] if isinstance(name, int) else [(10, name)]
    if isinstance(value, bool):
        return message(*head, (2, int(value)))
    if isinstance(value, int):
        return message(*head, (4, value) if value < 1 << 63 else (3, value))
    if isinstance(value, float):
        return message(*head, (5, value))
    if isinstance(value, list):
        return message(*head, (12, [note(None, v) for v in value]))
    if isinstance(value, dict):
        return message(*head, (11, [note(k, v) for k, v in value.items()]))
    return message(*head, (6, value))


def event(kind: int | None, track: int | None = None, name: str | int | None = None, cat: str | int | list | None = None,
          args: dict | None = None, *extra: tuple[int, Any]) -> tuple[int, bytes]:
    """A track event as a field of a packet."""
    cats = cat if isinstance(cat, list) else [] if cat is None else [cat]
    return 11, message((9, kind), (11, track), (10 if isinstance(name, int) else 23, name),
                       *[(3 if isinstance(c, int) else 22, c) for c in cats],
                       (4, [note(k, v) for k, v in (args or {}).items()]), *extra)


def track(uuid: int, name: str | None = None, parent: int | None = None, *extra: tuple[int, Any]) -> tuple[int, bytes]:
    return 60, message((1, uuid), (2, name), (5, parent), *extra)


def thread(uuid: int, pid: int, tid: int, name: str | None = None) -> tuple[int, bytes]:
    return track(uuid, None, None, (4, message((1, pid), (2, tid), (5, name))))


def process(uuid: int, pid: int, name: str, command: tuple[str, ...] = ()) -> tuple[int, bytes]:
    return track(uuid, None, None, (3, message((1, pid), (2, list(command)), (6, name))))


def interned(**types: dict[int, Any]) -> tuple[int, bytes]:
    """Names by number: cat, name, note, text, gpu, kernel, context."""
    number = {"cat": 1, "name": 2, "note": 3, "text": 29, "gpu": 24, "kernel": 1000, "context": 23}
    return 12, message(*[(number[t], message((1, i), (2, v))) for t, names in types.items() for i, v in names.items()])


def clocks(*all_clocks: tuple[int, ...], primary: int | None = None) -> tuple[int, bytes]:
    """Clocks as (id, time[, is_incremental[, unit]])."""
    return 6, message((1, [message(*zip((1, 2, 3, 4), c)) for c in all_clocks]), (2, primary))


def packet(*what: tuple[int, Any], ts: int | None = None, seq: int = 1, flags: int | None = None,
           clock: int | None = None) -> bytes:
    """One packet of a file."""
    return message((1, message((8, ts), (58, clock), (10, seq), (13, flags), *what)))


def slices(data: bytes) -> list[tuple[int, int, str, int]]:
    """(start, duration, name, track) of a plain trace: no interning, clocks or bundles; paired by track and time."""
    edges: dict[int, list[tuple[int, int, str]]] = {}
    for number, raw in fields(data):
        p = dict(fields(raw))
        e = dict(fields(p[11])) if number == 1 and 11 in p else {}
        if e.get(9) in (BEGIN, END):
            edges.setdefault(e.get(11, 0), []).append((p[8], e[9], e.get(23, b"").decode()))
    out = []
    for uuid, found in edges.items():
        stack: list[tuple[int, str]] = []
        for ts, kind, name in sorted(found, key=lambda e: e[0]):
            if kind == BEGIN:
                stack.append((ts, name))
            elif stack:
                start, name = stack.pop()
                out.append((start, ts - start, name, uuid))
    return out


def ends_in_order(rows: list[tuple[int, int]]) -> list[list[tuple[int, int, int]]]:
    """Splits slices (start, end) into lanes that nest; each lane as (time, kind, number) in the order of a writer."""
    lanes: list[tuple[list[int], list[tuple[int, int, int]]]] = []
    for i in sorted(range(len(rows)), key=lambda i: (rows[i][0], -rows[i][1], i)):
        start, end = rows[i]
        for stack, out in lanes:
            while stack and rows[stack[-1]][1] <= start and not (rows[stack[-1]][1] == start == end):
                out.append((rows[stack[-1]][1], END, stack.pop()))
            if not stack or rows[stack[-1]][1] >= end:
                break
        else:
            stack, out = [], []
            lanes.append((stack, out))
        stack.append(i)
        out.append((start, BEGIN, i))
    for stack, out in lanes:
        while stack:
            out.append((rows[stack[-1]][1], END, stack.pop()))
    return [out for _, out in lanes]
