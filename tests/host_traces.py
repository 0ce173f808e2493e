# SPDX-License-Identifier: Apache-2.0
"""Recordings of jobs without a device, as `holdup run` writes them, with known answers: threads that read, sleep, lock, send."""
from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.pftrace import BEGIN, CLEARED, END, INSTANT, NEEDS, clocks, event, message, packet, process, thread

MS = 1_000_000
REALTIME, BOOTTIME = 1, 6
CLASS = {"read": "file_read", "fread": "file_read", "write": "file_write", "openat": "file_meta", "fsync": "fsync", "recv": "network", "nanosleep": "sleep",
         "pthread_mutex_lock": "lock", "pthread_rwlock_rdlock": "lock", "pthread_cond_wait": "wait", "pthread_barrier_wait": "wait", "epoll_wait": "poll",
         "pthread_join": "wait", "wait4": "wait", "poll": "poll"}
RUNNABLE, RUNNING, SLEEPING, DEAD = 2, 3, 4, 7


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

    def state(self, state: int) -> None:
        """From now on."""
        self.trace.out.append(packet((117, message((1, 0), (2, "job"), (3, self.tid), (4, state))), ts=self.now))

    def waits(self, name: str, until: int, kind: str | None = None) -> None:
        """A call that the scheduler sees waiting, until a time."""
        self.state(SLEEPING)
        self.call(name, until - self.now, kind)
        self.state(RUNNING)

    def computes(self, ns: int, function: int = 0) -> None:
        """With a CPU sample of a function (Recording.functions) each millisecond."""
        for at in range(self.now, self.now + ns, MS) if function else ():
            self.trace.out.append(packet((66, message((2, self.pid), (3, self.tid), (4, function), (5, 2))), ts=at, flags=NEEDS))
        self.now += ns


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

    def process(self, pid: int, name: str, parent: int = 0, command: tuple[str, ...] = ()) -> None:
        self.out.append(packet(process(self.next(), pid, name, command)))
        if parent:
            self.out.append(packet((122, message((1, message((1, pid), (2, parent), (3, name))))), ts=self.start))

    def thread(self, pid: int, tid: int | None = None, name: str | None = None, start: int | None = None) -> Thread:
        uuid = self.next()
        self.out.append(packet(thread(uuid, pid, tid or pid, name)))
        return Thread(self, pid, tid or pid, uuid, self.start if start is None else start)

    def facts(self, **values: int) -> None:
        """What the recorder knows: cpus=2."""
        facts = [("holdup.version", "0"), ("holdup.thread_states", "switches"), *(("holdup." + key, value) for key, value in values.items())]
        self.out.append(packet((126, message((1, [message((1, k), (2 if isinstance(v, int) else 3, v)) for k, v in facts])))))

    def functions(self, *names: str) -> None:
        """That samples are in, numbered from 1."""
        parts: list[tuple[int, Any]] = [(17, message((1, 1), (2, "job"))), (19, message((1, 1), (7, [1])))]
        for number, name in enumerate(names, 1):
            parts += [(5, message((1, number), (2, name))), (6, message((1, number), (2, number), (3, 1), (4, 16 * number))),
                      (7, message((1, number), (2, [number])))]
        self.out.append(packet((12, message(*parts)), ts=self.start, flags=CLEARED))

    def lost(self, on: Thread, count: int) -> None:
        self.out.append(packet(event(INSTANT, on.uuid, "lost records", "lost", {"count": count, "reason": "full"}), ts=on.now))

    def write(self, path: Path) -> Path:
        path.write_bytes(b"".join(self.out))
        return path
