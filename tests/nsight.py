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
