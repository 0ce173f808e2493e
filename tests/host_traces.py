# SPDX-License-Identifier: Apache-2.0
"""Recordings of jobs without a device, as `holdup run` writes them, with known answers: threads that read, sleep, lock, send."""
from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.pftrace import BEGIN, END, INSTANT, clocks, event, message, packet, process, thread

MS = 1_000_000
REALTIME, BOOTTIME = 1, 6
CLASS = {"read": "file_read", "fread": "file_read", "write": "file_write", "openat": "file_meta", "fsync": "fsync", "recv": "network", "nanosleep": "sleep",
         "pthread_mutex_lock": "lock", "pthread_cond_wait": "wait", "pthread_join": "wait", "wait4": "wait", "poll": "poll"}
RUNNABLE, RUNNING, SLEEPING = 2, 3, 4


class Thread:
    """One thread; `now` moves on with what it does."""

    def __init__(self, trace: "Recording", pid: int, tid: int, uuid: int, start: int) -> None:
        self.trace, self.pid, self.tid, self.uuid, self.now = trace, pid, tid, uuid, start

    def slice(self, start: int, end: int, name: str, category: str, **args: Any) -> None:
        self.trace.out.append(packet(event(BEGIN, self.uuid, name, category, args), ts=start))
        self.trace.out.append(packet(event(END, self.uuid), ts=end))

    def runs(self, ns: int) -> None:
        self.now += ns

    def call(self, name: str, ns: int, kind: str | None = None, **args: Any) -> None:
        self.slice(self.now, self.now + ns, name, "os_call", **{"class": kind or CLASS[name]}, **args)
        self.now += ns

    def nested(self, outer: str, ns: int, inner: str, inner_ns: int, **args: Any) -> None:
        """A call of the C library that makes a call of the system."""
        before = (ns - inner_ns) // 2
        self.trace.out.append(packet(event(BEGIN, self.uuid, outer, "os_call", {"class": CLASS[outer], **args}), ts=self.now))
        self.slice(self.now + before, self.now + before + inner_ns, inner, "os_call", **{"class": CLASS[inner], **args})
        self.trace.out.append(packet(event(END, self.uuid), ts=self.now + ns))
        self.now += ns

    def mpi(self, name: str, ns: int, comm: str = "MPI_COMM_WORLD", **args: Any) -> None:
        self.slice(self.now, self.now + ns, name, "mpi", comm=comm, **args)
        self.now += ns

    def starved(self, ns: int) -> None:
        """It could run, and another one has the processor."""
        for state, at in ((RUNNABLE, self.now), (RUNNING, self.now + ns)):
            self.trace.out.append(packet((117, message((1, 0), (2, "job"), (3, self.tid), (4, state))), ts=at))
        self.now += ns

    def sleeps(self, ns: int) -> None:
        """The kernel says that it waits, in whatever call."""
        for state, at in ((SLEEPING, self.now), (RUNNING, self.now + ns)):
            self.trace.out.append(packet((117, message((1, 0), (2, "job"), (3, self.tid), (4, state))), ts=at))
        self.now += ns

    def range(self, name: str, **args: Any) -> "Range":
        return Range(self, name, args)


class Range:
    def __init__(self, thread_: Thread, name: str, args: dict[str, Any]) -> None:
        self.thread, self.name, self.args = thread_, name, args

    def __enter__(self) -> None:
        t = self.thread
        t.trace.out.append(packet(event(BEGIN, t.uuid, self.name, "user_annotation", self.args), ts=t.now))

    def __exit__(self, *_: object) -> None:
        t = self.thread
        t.trace.out.append(packet(event(END, t.uuid), ts=t.now))


class Recording:
    """The packets of one file."""

    def __init__(self, start: int = 0) -> None:
        self.start = start
        self.out = [packet(clocks((BOOTTIME, 1000 * MS), (REALTIME, 1_700_000_000_000_000_000)))]
        self.uuid = 0

    def next(self) -> int:
        self.uuid += 1
        return self.uuid

    def process(self, pid: int, name: str) -> None:
        self.out.append(packet(process(self.next(), pid, name)))

    def thread(self, pid: int, tid: int | None = None, name: str | None = None, start: int | None = None) -> Thread:
        uuid = self.next()
        self.out.append(packet(thread(uuid, pid, tid or pid, name)))
        return Thread(self, pid, tid or pid, uuid, self.start if start is None else start)

    def lost(self, on: Thread, count: int) -> None:
        self.out.append(packet(event(INSTANT, on.uuid, "lost records", "lost", {"count": count, "reason": "full"}), ts=on.now))

    def write(self, path: Path) -> Path:
        path.write_bytes(b"".join(self.out))
        return path
