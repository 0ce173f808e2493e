# SPDX-License-Identifier: Apache-2.0
"""A monitor's ear: a datagram socket, what came through it, and what must hold for each datagram (src/protocol/live.h)."""
from __future__ import annotations

import os
import pathlib
import socket
import struct
import threading
import time
import unittest
from typing import Any, Callable

FORMAT = "<IHHIIQQq4i64s16s64sQQqqqIIqQQQ16Q23Q"
FIELDS = ("magic version bytes pid measured began sequence sent_ns rank local_rank world_size local_size job_id step_id name steps step_ns "
          "step_number step_since_ns last_step_ns now is_over now_since_ns samples tokens checkpoints").split()
CAUSES = "data-loading communication checkpoint copies device-wait forward backward optimizer".split()
LIMITS_US = [100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000, 25000000, 50000000,
             100000000, 250000000, 500000000, 1000000000]
SUMS = ("steps", "step_ns", "samples", "tokens", "checkpoints")


class Told(dict):
    """A datagram: its fields, the causes that are measured, and who sent it as the kernel says."""

    def __init__(self, data: bytes, sender: int) -> None:
        values = struct.unpack(FORMAT, data)
        super().__init__(zip(FIELDS, values))
        self.sender = sender
        for name in ("job_id", "step_id", "name"):
            self[name] = self[name].partition(b"\0")[0].decode()
        self.all_causes = dict(zip(CAUSES, values[len(FIELDS):]))
        self.causes = {name: ns for i, (name, ns) in enumerate(self.all_causes.items()) if self["measured"] >> i & 1}
        self.histogram = list(values[len(FIELDS) + 16:])
        self.now = CAUSES[self["now"] - 1] if self["now"] else None


class Ear:
    """Hears until it is closed."""

    def __init__(self, path: pathlib.Path, listens: bool = True) -> None:
        path.unlink(missing_ok=True)
        self.path, self.told = path, []     # type: ignore[var-annotated]
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._socket.bind(str(path))
        self._socket.settimeout(0.05)
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._hear)
        if listens:
            self._thread.start()

    def _take(self) -> bool:
        try:
            data, extra, _, _ = self._socket.recvmsg(4096, socket.CMSG_SPACE(12))
        except (TimeoutError, socket.timeout):
            return False
        self.told.append(Told(data, struct.unpack("iII", extra[0][2])[0]))
        return True

    def _hear(self) -> None:
        while not self._ends.is_set():
            self._take()
        while self._take():
            pass

    def wait(self, holds: Callable[[Told], Any], seconds: float = 60) -> Told:
        """The first datagram for which it holds."""
        until, at = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            while at < len(self.told):
                if holds(self.told[at]):
                    return self.told[at]
                at += 1
            time.sleep(0.01)
        raise AssertionError(f"not told within {seconds} s; {len(self.told)} datagrams, the last: {self.told[-1:]}")

    def close(self) -> list[Told]:
        if not self._ends.is_set():
            self._ends.set()
            if self._thread.ident:
                self._thread.join()
            else:
                self._hear()
            self._socket.close()
            self.path.unlink(missing_ok=True)
        return self.told

    def of(self, pid: int) -> list[Told]:
        return [told for told in self.told if told["pid"] == pid]

    def last(self) -> Told:
        return self.told[-1]


def check(case: unittest.TestCase, told: list[Told]) -> None:
    """What holds for all that anybody tells."""
    newest: dict[tuple[int, int], Told] = {}
    for t in told:
        case.assertEqual((t["magic"], t["version"], t["bytes"]), (0x3145564C, 1, struct.calcsize(FORMAT)))
        case.assertEqual(sum(t.histogram), t["steps"])
        case.assertLessEqual(sum(t.all_causes.values()), t["step_ns"] + 100)        # each is rounded down by itself
        case.assertGreater(t["began"], 0)
        case.assertLess(abs(t["sent_ns"] - time.time_ns()), 600e9)
        if t["step_number"] < 0:
            case.assertEqual(t["step_since_ns"], 0)
        else:
            case.assertLessEqual(t["step_since_ns"], t["sent_ns"])
        if t.now:
            case.assertIn(t.now, t.causes)
        before = newest.get((t["pid"], t["began"]))
        if before is not None:
            case.assertGreater(t["sequence"], before["sequence"])
            case.assertFalse(before["is_over"], "nothing comes behind the end")
            for name in SUMS:
                case.assertGreaterEqual(t[name], before[name], name)
            for name, ns in before.all_causes.items():
                case.assertGreaterEqual(t.all_causes[name], ns, name)
        newest[t["pid"], t["began"]] = t


def bucket(ns: float) -> int:
    return next((i for i, us in enumerate(LIMITS_US) if ns <= us * 1000), len(LIMITS_US))


def environment(path: pathlib.Path | None, **more: str) -> dict[str, str]:
    """That of no job; nobody's runtime folder."""
    foreign = ("SLURM", "HOLDUP", "OMPI", "PMI", "RANK", "LOCAL_RANK", "WORLD_SIZE", "XDG_RUNTIME")
    return {**{k: v for k, v in os.environ.items() if not k.startswith(foreign)}, **({"HOLDUP_JOB_SOCKET": str(path)} if path else {}), **more}
