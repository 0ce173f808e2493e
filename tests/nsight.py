# SPDX-License-Identifier: Apache-2.0
"""Writes SQLite exports as `nsys export` does, with only the tables and columns that a test names."""
from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any


def gid(pid: int, tid: int = 0) -> int:
    """A global id: hardware, virtual machine, process, thread."""
    return 1 << 48 | pid << 24 | tid


class Export:
    """Tables by name, as lists of rows; texts become ids of StringIds."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}
        self.tables: dict[str, list[dict[str, Any]]] = {}

    def text(self, value: str) -> int:
        return self.texts.setdefault(value, len(self.texts) + 1)

    def add(self, table: str, **row: Any) -> None:
        self.tables.setdefault(table, []).append(row)

    def call(self, start: int, end: int, name: str, correlation: int, pid: int = 10, tid: int = 11) -> None:
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=end, eventClass=0, globalTid=gid(pid, tid), correlationId=correlation,
                 nameId=self.text(name), returnValue=0)

    def kernel(self, start: int, end: int, name: str, correlation: int, *, pid: int = 10, device: int = 0, stream: int = 7, **more: Any) -> None:
        self.add("CUPTI_ACTIVITY_KIND_KERNEL", start=start, end=end, deviceId=device, contextId=1, streamId=stream, correlationId=correlation,
                 globalPid=gid(pid), demangledName=self.text(name), shortName=self.text(name), registersPerThread=32, gridX=64, gridY=2, gridZ=1,
                 blockX=128, blockY=1, blockZ=1, staticSharedMemory=1024, dynamicSharedMemory=512, **more)

    def range(self, start: int, end: int | None, text: str, *, pid: int = 10, tid: int = 11, kind: int = 59, domain: int = 0) -> None:
        self.add("NVTX_EVENTS", start=start, end=end, eventType=kind, text=text, globalTid=gid(pid, tid), textId=None, domainId=domain)

    def directives(self) -> None:
        """What OpenMP and OpenACC record of a thread."""
        for i, (table, name, dur) in enumerate((("PARALLEL", "Parallel", 1000), ("PARALLEL", "Parallel", 3001), ("SYNC_REGION_WAIT", "Barrier", 50),
                                                ("TASK", "Task", 10))):
            self.add(f"OPENMP_EVENT_KIND_{table}", start=1000 * i, end=1000 * i + dur, eventClass=34, globalTid=gid(10, 11), nameId=self.text(name))
        for i, (table, name, file, line, dur) in enumerate((("DATA", "Enter Data", "a.c", 7, 1000), ("LAUNCH", "Enqueue Launch", "a.c", 9, 3001),
                                                            ("LAUNCH", "Enqueue Launch", "a.c", 9, 50), ("OTHER", "Device Init", None, 0, 10),
                                                            ("OTHER", "Wait", "b.c", 3, 11))):
            self.add(f"CUPTI_ACTIVITY_KIND_OPENACC_{table}", start=1000 * i, end=1000 * i + dur, nameId=self.text(name), globalTid=gid(10, 11),
                     lineNo=line, srcFile=self.text(file) if file else None)

    def managed(self) -> None:
        """Page faults on both sides and migrations of managed memory: addresses that only fault, only move, or do both."""
        page = 0x7F0000000000
        for at, function in ((page, "init"), (page, "init"), (page + 4096, "main"), (page + 8192, "init")):
            self.add("CUDA_UM_CPU_PAGE_FAULT_EVENTS", start=10, globalPid=gid(10), address=at, CpuInstruction=self.text(function),
                     module=self.text("/x"))
        for at, n in ((page, 3), (page, 2), (page + 12288, 7)):
            self.add("CUDA_UM_GPU_PAGE_FAULT_EVENTS", start=100, end=150, globalPid=gid(10), deviceId=0, address=at, numberOfPageFaults=n)
        for i, (at, kind, size, dur) in enumerate(((page, 11, 4096, 1000), (page, 11, 65536, 3000), (page, 12, 8192, 700),
                                                   (page + 4096, 12, 2_000_000, 80_000), (page + 16384, 11, 4096, 500), (0, 1, 7, 7))):
            self.add("CUPTI_ACTIVITY_KIND_MEMCPY", start=1000 + 100_000 * i, end=1000 + 100_000 * i + dur, deviceId=0, contextId=1, streamId=7,
                     correlationId=0, globalPid=gid(10), bytes=size, copyKind=kind, srcKind=4, dstKind=4, virtualAddress=at)

    def save(self, path: Path) -> Path:
        path.unlink(missing_ok=True)
        db = sqlite3.connect(path)
        db.execute("PRAGMA page_size=512")
        for name, rows in {**self.tables, "StringIds": [{"id": i, "value": t} for t, i in self.texts.items()]}.items():
            columns = list(dict.fromkeys(c for row in rows for c in row)) or ["id", "value"]
            db.execute(f'CREATE TABLE {name} ({", ".join(chr(34) + c + chr(34) for c in columns)})')
            db.executemany(f'INSERT INTO {name} VALUES ({", ".join("?" * len(columns))})', [[row.get(c) for c in columns] for row in rows])
        db.commit()
        db.close()
        return path
