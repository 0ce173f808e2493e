# SPDX-License-Identifier: Apache-2.0
"""A session directory made by hand, and what programs wrote into their ring files, read by an own reader (protocol/format.h)."""
from __future__ import annotations

import ctypes
import pathlib
import struct
from dataclasses import dataclass, field
from typing import Any

BLOCK = 16384
TYPES = ("none more begin end mark start stop phase step step_end counter os_call mpi payload thread fork exec lost pause resume "
         "sample wake gpu nccl opencl omp torch").split()
DOORS = {name: 1 << bit for bit, name in enumerate("user nvtx osrt mpi cpu cuda nccl pytorch opencl openmp".split())} | {"watch": 1 << 30}
CONTROL_MAGIC, RING_MAGIC = 0x314C525443505548, 0x31474E4952505548
MORE_PLACE, MORE_MUTEX, MORE_WAKER, MORE_NCCL, MORE_SCHEMA, MORE_GPU = 7, 8, 9, 10, 15, 32


class Control(ctypes.Structure):
    _fields_ = [("magic", ctypes.c_uint64), ("version", ctypes.c_uint32), ("bytes", ctypes.c_uint32), ("mask", ctypes.c_uint32),
                ("wanted", ctypes.c_uint32), ("state", ctypes.c_uint32), ("mode", ctypes.c_uint32), ("clock", ctypes.c_uint32),
                ("supervisor", ctypes.c_uint32), ("max_blocks", ctypes.c_uint32), ("wants_paths", ctypes.c_uint32),
                ("os_threshold", ctypes.c_uint64), ("ticks_per_second", ctypes.c_double), ("sample_hz", ctypes.c_uint32),
                ("wants_steps", ctypes.c_uint32), ("first_step", ctypes.c_int64), ("last_step", ctypes.c_int64),
                ("request", ctypes.c_uint32), ("answered", ctypes.c_uint32), ("command", ctypes.c_uint32),
                ("processes", ctypes.c_uint32), ("heartbeat", ctypes.c_uint64), ("redacts_ranges", ctypes.c_uint32),
                ("cuda", ctypes.c_uint32), ("nccl_events", ctypes.c_uint32),
                ("capture_range", ctypes.c_char * 128), ("capture_domain", ctypes.c_char * 64), ("name", ctypes.c_char * 64),
                ("output", ctypes.c_char * 400), ("failure", ctypes.c_char * 200)]


def make_session(folder: pathlib.Path, doors: str = "nvtx mpi user", **members: Any) -> pathlib.Path:
    """A directory that programs join by HOLDUP_SESSION.  Ticks are nanoseconds."""
    wanted = sum(DOORS[d] for d in doors.split())
    control = Control(magic=CONTROL_MAGIC, version=1, bytes=ctypes.sizeof(Control), mask=wanted, wanted=wanted, state=2,
                      max_blocks=4096, ticks_per_second=1e9)
    for name, value in members.items():
        setattr(control, name, value)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "control").write_bytes(bytes(control).ljust(4096, b"\0"))
    return folder


@dataclass
class Record:
    time: int
    type: str
    text: str
    aux: int
    a: int
    b: int
    thread: int
    id: int = 0
    values: dict[str, Any] = field(default_factory=dict)        # of its MOREs, by name
    payloads: list[tuple[int, int, bytes]] = field(default_factory=list)        # schema, bytes said, bytes there
    object: int = 0     # what a call waited for
    caller: int = 0
    mutex: int = 0
    waker: tuple[int, int, int] = (0, 0, 0)     # thread, time, caller


@dataclass
class Process:
    pid: int
    doors: int
    rank: int
    world_size: int
    rank_source: str
    lost: list[int]
    strings: dict[int, str]
    records: list[Record]

    def of(self, *types: str) -> list[Record]:
        return [r for r in self.records if r.type in types]


def more(record: Record, strings: dict[int, str], ident: int, kind: int, a: int, b: int) -> None:
    name = strings.get(ident, "")
    if kind >= MORE_GPU:
        return
    if kind == MORE_PLACE:
        record.object, record.caller = a, b
    elif kind == MORE_MUTEX:
        record.mutex = a
    elif kind == MORE_WAKER:
        record.waker = (ident, a, b)
    elif kind == MORE_SCHEMA:
        record.payloads.append((a, b, b""))
    elif kind == MORE_NCCL:
        record.values["fields"] = record.values.get("fields", 0) + 1
    elif kind == 6:
        if record.payloads:
            schema, said, there = record.payloads[-1]
            record.payloads[-1] = (schema, said, there + struct.pack("<QQ", a, b)[:ident])
    else:
        signed = struct.unpack("<q", struct.pack("<Q", a))[0]
        double = struct.unpack("<d", struct.pack("<Q", a))[0]
        record.values[name] = [signed, a, double, strings.get(a, ""), hex(a), hex(a)][kind]


class Head(ctypes.Structure):
    """hu_ring_head, as far as tests look."""
    _fields_ = [("magic", ctypes.c_uint64), ("version", ctypes.c_uint32), ("block_bytes", ctypes.c_uint32), ("pid", ctypes.c_uint32),
                ("ppid", ctypes.c_uint32), ("started", ctypes.c_uint64), ("exited", ctypes.c_uint64), ("seen", ctypes.c_uint64),
                ("state", ctypes.c_uint32), ("clock", ctypes.c_uint32), ("n_blocks", ctypes.c_uint32), ("max_blocks", ctypes.c_uint32),
                ("free_list", ctypes.c_uint64), ("lost", ctypes.c_uint64 * 6), ("first_lost", ctypes.c_uint64),
                ("last_lost", ctypes.c_uint64), ("n_threads", ctypes.c_uint32), ("n_strings", ctypes.c_uint32),
                ("forked", ctypes.c_uint32), ("doors", ctypes.c_uint32), ("rank", ctypes.c_int32), ("local_rank", ctypes.c_int32),
                ("world_size", ctypes.c_int32), ("node", ctypes.c_int32), ("clocks", ctypes.c_uint64 * 8),
                ("rank_source", ctypes.c_char * 40)]


def read_ring(path: pathlib.Path) -> Process:
    data = path.read_bytes()
    head = Head.from_buffer_copy(data)
    assert (head.magic, head.version, head.block_bytes) == (RING_MAGIC, 1, BLOCK), path
    strings: dict[int, str] = {}
    blocks = []
    for index in range(1, head.n_blocks):
        at = index * BLOCK
        state, kind, _tid, thread, sequence, taken = struct.unpack_from("<IIIIQI", data, at)
        if state == 0:
            continue
        if kind == 0:
            blocks.append((thread, sequence, at, taken))
            continue
        pos = 0
        while pos < taken:
            ident, n = struct.unpack_from("<II", data, at + 64 + pos)
            strings[ident] = data[at + 72 + pos:at + 72 + pos + n].decode(errors="replace")
            pos += 8 + n + 7 & ~7
    records: list[Record] = []
    for thread, _sequence, at, taken in sorted(blocks):
        for i in range(min(taken, 510)):
            time, ident, kind, aux, a, b = struct.unpack_from("<QIHHQQ", data, at + 64 + 32 * i)
            if TYPES[kind] == "none":
                break
            if TYPES[kind] == "more":
                more(records[-1], strings, ident, aux, a, b)
            else:
                records.append(Record(time, TYPES[kind], strings.get(ident, ""), aux, a, b, thread, ident))
    return Process(head.pid, head.doors, head.rank, head.world_size, head.rank_source.decode(), list(head.lost), strings, records)


def read_session(folder: pathlib.Path) -> list[Process]:
    return sorted((read_ring(p) for p in folder.glob("*.ring")), key=lambda p: (p.rank, p.pid))


def notes(folder: pathlib.Path) -> str:
    path = folder / "notes"
    return path.read_text() if path.exists() else ""
