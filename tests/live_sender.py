# SPDX-License-Identifier: Apache-2.0
"""Datagrams of src/protocol/live.h, made by hand from its text: what a process of a job tells a monitor."""
from __future__ import annotations

import dataclasses
import pathlib
import re
import socket
import struct
import time
from collections.abc import Callable

from tests.program import ROOT

HEADER = (ROOT / "src/protocol/live.h").read_text()
CAUSES = re.findall(r'^    L\(\w+, "([\w-]+)"', HEADER, re.M)
LIMITS_US = [int(n) for n in re.findall(r"U\((\d+)\)", HEADER)]
ROOM = 16
MAGIC = 0x3145564C
LAYOUT = struct.Struct(f"<IHHIIQQqiiii64s16s64sQQqqqIIqQQQ{ROOM}Q{len(LIMITS_US) + 1}Q")
NS = 1_000_000_000


def began(pid: int) -> int:
    """Field 22 of /proc/PID/stat."""
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


@dataclasses.dataclass
class Process:
    """Totals of one process; `step` and `send` are what its recorder does."""
    pid: int
    rank: int = -1
    world: int = -1
    job_id: str = ""
    name: str = "train.py"
    measured: tuple[str, ...] = tuple(CAUSES)
    began: int = 0
    sequence: int = 0
    steps: int = 0
    step_ns: int = 0
    number: int = -1
    step_since_ns: int = 0
    last_step_ns: int = 0
    now: str = ""
    now_since_ns: int = 0
    is_over: int = 0
    samples: int = 0
    tokens: int = 0
    checkpoints: int = 0
    clock: Callable[[], int] = time.time_ns

    def __post_init__(self) -> None:
        self.began = self.began or began(self.pid)
        self.cause_ns = [0] * ROOM
        self.histogram = [0] * (len(LIMITS_US) + 1)

    def step(self, seconds: float, **causes: float) -> None:
        """A step that is over; names of causes with _ for -."""
        self.steps += 1
        self.step_ns += round(seconds * NS)
        self.number = self.steps
        self.last_step_ns = self.clock()
        self.histogram[next((i for i, us in enumerate(LIMITS_US) if seconds * 1e6 <= us), len(LIMITS_US))] += 1
        for cause, spent in causes.items():
            self.cause_ns[CAUSES.index(cause.replace("_", "-"))] += round(spent * NS)

    def bytes(self, **changed: object) -> bytes:
        self.sequence += 1
        values = {"magic": MAGIC, "version": 1, "bytes": LAYOUT.size, "job_id": self.job_id.encode(), "step_id": b"", "name": self.name.encode(),
                  "sequence": self.sequence, "sent_ns": self.clock(), "local": -1, "is_over": self.is_over, **changed}
        return LAYOUT.pack(values["magic"], values["version"], values["bytes"], self.pid, sum(1 << CAUSES.index(c) for c in self.measured), self.began,
                           values["sequence"], values["sent_ns"], self.rank, values["local"], self.world, -1, values["job_id"], values["step_id"], values["name"],
                           self.steps, self.step_ns, self.number, self.step_since_ns, self.last_step_ns, CAUSES.index(self.now) + 1 if self.now else 0, int(values["is_over"]),
                           self.now_since_ns, self.samples, self.tokens, self.checkpoints, *self.cause_ns, *self.histogram)


class Sender:
    """A socket that sends to a monitor's."""

    def __init__(self, path: pathlib.Path | str) -> None:
        self.path = str(path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)

    def send(self, what: Process | bytes, **changed: object) -> None:
        self.socket.sendto(what if isinstance(what, bytes) else what.bytes(**changed), self.path)

    def close(self) -> None:
        self.socket.close()
