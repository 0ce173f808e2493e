# SPDX-License-Identifier: Apache-2.0
"""A writer of XLA's profiles, and a reader that takes nothing from src/: planes, lines, events with their names and stats."""
from __future__ import annotations

import struct
from typing import Any, Iterator

from tests import protobuf as pb
from tests.pftrace import message  # noqa: F401

Stats = dict[str, Any]


class Plane:
    """A plane while it is put together: names get numbers as they come."""

    def __init__(self, name: str, stats: Stats | None = None, ident: int = 0) -> None:
        self.name, self.ident = name, ident
        self.event_names: dict[tuple[str, str, str], int] = {}
        self.stat_names: dict[str, int] = {}
        self.constant: dict[int, bytes] = {}
        self.lines: list[bytes] = []
        self.stats = [self.stat(k, v) for k, v in (stats or {}).items()]

    def stat_id(self, name: str) -> int:
        return self.stat_names.setdefault(name, len(self.stat_names) + 1)

    def stat(self, name: str, value: Any) -> bytes:
        """An int, a float, a text; ("ref", text) lies in the dictionary."""
        ident = self.stat_id(name)
        if isinstance(value, tuple):
            return message((1, ident), (7, self.stat_id(value[1])))
        return message((1, ident), (2, value)) if isinstance(value, float) else message((1, ident), (4 if isinstance(value, int) else 5, value))

    def event(self, name: str, start_ps: int, dur_ps: int, stats: Stats | None = None, shown: str = "", constant: Stats | None = None) -> bytes:
        key = (name, shown, repr(constant))
        ident = self.event_names.setdefault(key, len(self.event_names) + 1)
        self.constant[ident] = b"".join(message((5, self.stat(k, v))) for k, v in (constant or {}).items())
        return message((1, ident), (2, start_ps), (3, dur_ps), (4, [self.stat(k, v) for k, v in (stats or {}).items()]))

    def line(self, ident: int, name: str, events: list[bytes], at_ns: int = 0) -> Plane:
        self.lines.append(message((1, ident), (2, name), (3, at_ns), (4, events)))
        return self

    def bytes(self) -> bytes:
        """Lines come before the dictionaries, as XLA writes them."""
        names = [message((1, i), (2, message((1, i), (2, name), (4, shown or None)) + self.constant[i])) for (name, shown, _), i in self.event_names.items()]
        return message((1, self.ident or None), (2, self.name), (3, self.lines), (4, names),
                       (5, [message((1, i), (2, message((1, i), (2, name)))) for name, i in self.stat_names.items()]), (6, self.stats))


def space(*planes: Plane, host: str = "node1", warnings: list[str] | None = None) -> bytes:
    return message((1, [p.bytes() for p in planes]), (3, warnings), (4, host))


# ---- the reader ------------------------------------------------------------------------------------------------------


def signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def entries(plane: bytes, number: int) -> dict[int, bytes]:
    """A map of messages."""
    found = {}
    for field, value in pb.fields(plane):
        if field == number:
            entry = dict(pb.fields(value))
            found[entry.get(1, 0)] = entry.get(2, b"")
    return found


def stats(names: dict[int, str], data: bytes, number: int) -> Stats:
    found: Stats = {}
    for field, value in pb.fields(data):
        if field != number:
            continue
        s = dict(pb.fields(value))
        of = names.get(s.get(1, 0), "")
        for kind, v in s.items():
            if kind == 2:
                found[of] = struct.unpack("<d", struct.pack("<Q", v))[0]
            elif kind in (3, 4):
                found[of] = signed(v)
            elif kind == 5:
                found[of] = v.decode(errors="replace")
            elif kind == 7:
                found[of] = names.get(v, "")
    return found


def text(data: bytes, number: int) -> str:
    return next((v.decode(errors="replace") for n, v in pb.fields(data) if n == number), "")


def read(data: bytes) -> Iterator[tuple[str, str, int, str, int, int, Stats]]:
    """Plane, line, its id, event, start and end in ps, stats; those of names first."""
    for number, plane in pb.fields(data):
        if number != 1:
            continue
        stat_names = {k: text(v, 2) for k, v in entries(plane, 5).items()}
        names = {k: (text(v, 4) if "/device:TPU" in text(plane, 2) and text(v, 4) else text(v, 2), stats(stat_names, v, 5)) for k, v in entries(plane, 4).items()}
        for field, line in pb.fields(plane):
            if field != 3:
                continue
            head = dict((n, v) for n, v in pb.fields(line) if n in (1, 2, 3))
            for n, event in pb.fields(line):
                if n != 4:
                    continue
                e = dict((k, v) for k, v in pb.fields(event) if k != 4)
                name, constant = names.get(e.get(1, 0), ("", {}))
                start = head.get(3, 0) * 1000 + signed(e.get(2, 0))
                yield (text(plane, 2), head.get(2, b"").decode(), signed(head.get(1, 0)), name, start, start + e.get(3, 0),
                       {**constant, **stats(stat_names, event, 4)})


def union_ps(spans: list[tuple[int, int]]) -> int:
    total, until = 0, None
    for start, end in sorted(spans):
        if until is None or start > until:
            total, until = total + end - start, end
        elif end > until:
            total, until = total + end - until, end
    return total
