# SPDX-License-Identifier: Apache-2.0
"""Tells the monitors of this node how the job does, where no `holdup run` does it: a datagram every 500 ms (src/protocol/live.h).

Where no monitor's socket is, nothing of this is loaded.  The thread that sends only reads: what a marker costs is a look at
the clock and a few additions.  It is a daemon, ends with the program, and is not in forked children, which start their own
with their first step.
"""
from __future__ import annotations

import atexit
import os
import sys
import threading
from bisect import bisect_left
from time import perf_counter_ns, time_ns
from typing import Any

VARIABLE = "HOLDUP_JOB_SOCKET"
SOCKET, SOCKET_OF_USER = "/run/holdup/job.sock", "/holdup/job.sock"
PERIOD_S = 0.5
MAGIC, VERSION = 0x3145564C, 1
FORMAT = "<IHHIIQQq4i64s16s64sQQqqqIIqQQQ16Q23Q"           # hu_live_datagram
CAUSES_ROOM = 16
DATA, COMMUNICATION, CHECKPOINT, TRANSFER, DEVICE, FORWARD, BACKWARD, OPTIMIZER, CAUSES = range(9)      # hu_live_cause
CAUSE_OF = {"data": DATA, "preprocessing": DATA, "transfer": TRANSFER, "forward": FORWARD, "backward": BACKWARD, "optimizer": OPTIMIZER,
            "checkpoint": CHECKPOINT}
LIMITS_NS = [us * 1000 for us in (100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 2500000, 5000000,
                                  10000000, 25000000, 50000000, 100000000, 250000000, 500000000, 1000000000)]
NONE = -1


def wanted() -> list[str]:
    """Paths of the sockets that are to be told; those of them that are not named must be there."""
    named = os.environ.get(VARIABLE)
    if named:
        return [] if named == "0" else [named]
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    return [path for path in (SOCKET, folder + SOCKET_OF_USER if folder.startswith("/") else "") if path and os.path.exists(path)]


class _Stack(threading.local):
    def __init__(self) -> None:
        self.causes: list[int] = []


class Tally:
    """What this process counts.  `version` is odd while it changes, so that the thread that sends takes no half of a step."""

    def __init__(self) -> None:
        self.version = 0
        self.owner = 0                  # the thread whose steps they are; 0: nobody's yet
        self.measured = 0
        self.is_in_step = False
        self.number, self.since, self.ended = -1, 0, 0
        self.now, self.now_since, self.counted = NONE, 0, 0
        self.steps = self.step_ns = self.samples = self.tokens = self.checkpoints = 0
        self.causes, self.open = [0] * CAUSES, [0] * CAUSES
        self.histogram = [0] * (len(LIMITS_NS) + 1)
        self._stack = _Stack()

    def _lay(self, now: int) -> None:
        if self.is_in_step and self.now != NONE:
            self.open[self.now] += now - self.counted
        self.counted = now

    def _turn(self, cause: int) -> None:
        now = perf_counter_ns()
        self.version += 1
        self._lay(now)
        if cause != self.now:
            self.now, self.now_since = cause, now
        self.version += 1

    def _close(self, now: int) -> None:
        self._lay(now)
        if not self.is_in_step:
            return
        took = now - self.since
        self.steps += 1
        self.step_ns += took
        self.histogram[bisect_left(LIMITS_NS, took)] += 1
        self.ended = now
        self.is_in_step = False
        for cause, ns in enumerate(self.open):
            if ns:
                self.causes[cause] += ns
                self.open[cause] = 0

    def step(self, number: int) -> None:
        now = perf_counter_ns()
        stack = self._stack.causes
        cause = stack[-1] if stack else NONE
        self.version += 1
        self._close(now)
        self.owner = threading.get_ident()
        if cause != self.now:
            self.now, self.now_since = cause, now
        self.number = number if number >= 0 else self.number + 1
        self.is_in_step, self.since = True, now
        self.version += 1

    def step_end(self) -> None:
        now = perf_counter_ns()
        self.version += 1
        self._close(now)
        self.version += 1

    def push(self, name: str) -> None:
        """A phase of this thread begins."""
        cause = CAUSE_OF[name]
        self._stack.causes.append(cause)
        me = threading.get_ident()
        if self.owner in (me, 0):
            self.measured |= 1 << cause
        if self.owner == me:
            self._turn(cause)

    def pop(self) -> None:
        stack = self._stack.causes
        if not stack:
            return                      # it began before anybody was told
        if stack.pop() == CHECKPOINT:
            self.checkpoints += 1
        if self.owner == threading.get_ident():
            self._turn(stack[-1] if stack else NONE)

    def count(self, samples: int, tokens: int) -> None:
        self.samples += samples
        self.tokens += tokens

    def tell(self, is_over: bool) -> tuple[Any, ...]:
        """What of a datagram is about steps, from `steps` on; `measured` stands in front."""
        copy: tuple[Any, ...] = ()
        for _ in range(100):
            version = self.version
            copy = (self.measured, self.steps, self.step_ns, self.number, self.is_in_step, self.since, self.ended, self.now, self.now_since, self.samples,
                    self.tokens, self.checkpoints, tuple(self.causes), tuple(self.histogram))
            if version == self.version and version % 2 == 0:
                break
            threading.Event().wait(0.0001)      # lets the other thread go on
        measured, steps, step_ns, number, is_in_step, since, ended, now, now_since, samples, tokens, checkpoints, causes, histogram = copy
        to_realtime = time_ns() - perf_counter_ns()
        return (measured, steps, step_ns, number if is_in_step else -1, since + to_realtime if is_in_step else 0, ended + to_realtime if steps else 0,
                now + 1, int(is_over), now_since + to_realtime if now != NONE else 0, samples, tokens, checkpoints,
                *causes, *[0] * (CAUSES_ROOM - CAUSES), *histogram)


# As src/protocol/rank_id.c has them: what must be there, then rank, local rank, world size, local size.
_SETS = [
    ((), "HOLDUP_RANK", "HOLDUP_LOCAL_RANK", "HOLDUP_WORLD_SIZE", ""),
    (("TORCHELASTIC_RUN_ID", "LOCAL_RANK"), "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"),
    (("LOCAL_WORLD_SIZE", "LOCAL_RANK"), "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"),
    (("OMPI_COMM_WORLD_SIZE",), "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    (("MV2_COMM_WORLD_SIZE",), "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE"),
    (("PMI_SIZE",), "PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", "MPI_LOCALNRANKS"),
    (("SLURM_STEP_NUM_TASKS",), "SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS", ""),
    (("FLUX_JOB_SIZE",), "FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID", "FLUX_JOB_SIZE", ""),
    (("WORLD_SIZE", "LOCAL_RANK"), "RANK", "LOCAL_RANK", "WORLD_SIZE", ""),
]
_JOB_IDS = ["HOLDUP_JOB_ID", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"]


def _number(name: str) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 10 else -1


def ranks() -> tuple[int, int, int, int]:
    """Rank, local rank, world size, local size; -1: not known.  torch.distributed knows better than the environment."""
    here = (-1, -1, -1, -1)
    for needs, *names in _SETS:
        if all(os.environ.get(name) for name in needs) and _number(names[0]) >= 0:
            here = tuple(_number(name) if name else -1 for name in names)      # type: ignore[assignment]
            break
    rank, local_rank, world, local = here
    if rank < 0:
        try:
            distributed = sys.modules["torch.distributed"]
            if distributed.is_available() and distributed.is_initialized():
                rank, world = distributed.get_rank(), distributed.get_world_size()
        except Exception:               # noqa: BLE001  half imported, or about to be destroyed
            pass
    return rank, local_rank, world if 0 <= rank < world else -1, local


def job() -> tuple[str, str]:
    """Of the scheduler, else of the launcher: its id, and which of its steps this is."""
    for name in _JOB_IDS:
        value = os.environ.get(name, "")
        if name == "SLURM_JOB_ID" and value:
            array, task = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
            return f"{array}_{task}" if array and task else value, os.environ.get("SLURM_STEP_ID", "")
        if value and value != "none":   # torchrun's default id
            return value, ""
    return "", ""


def _text(text: str, room: int) -> bytes:
    """At most room - 1 bytes, and no half of a character."""
    return text.encode("utf-8", "replace")[:room - 1].decode("utf-8", "ignore").encode("utf-8")


class Sender:
    """The thread that sends, of one process."""

    def __init__(self, tally: Tally, paths: list[str]) -> None:
        import socket                   # not where nobody is told
        import struct

        self.tally, self.paths, self.pid = tally, paths, os.getpid()
        self._pack = struct.Struct(FORMAT).pack
        with open("/proc/self/stat", "rb") as file:
            self._began = int(file.read().rpartition(b")")[2].split()[19])
        self._name = os.path.basename(sys.argv[0] if sys.argv and sys.argv[0] not in ("", "-c", "-m") else sys.executable or "python")
        self._sequence = 0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="holdup-live", daemon=True)
        self._thread.start()
        atexit.register(self.stop)

    def send(self, is_over: bool = False) -> None:
        measured, *rest = self.tally.tell(is_over)
        self._sequence += 1
        job_id, step_id = job()
        datagram = self._pack(MAGIC, VERSION, 592, self.pid, measured, self._began, self._sequence, time_ns(), *ranks(), _text(job_id, 64),
                              _text(step_id, 16), _text(self._name, 64), *rest)
        for path in self.paths:
            try:
                self._socket.sendto(datagram, path)
            except OSError:
                pass                    # nobody is there, or has time: the next one says it all

    def _run(self) -> None:
        while not self._over.wait(PERIOD_S):
            self.send()

    def stop(self) -> None:
        """The program has ended as it wanted to."""
        if os.getpid() != self.pid or self._over.is_set():
            return
        self._over.set()
        self._thread.join(1)
        self.send(is_over=True)
        self._socket.close()

    def forget(self) -> None:
        """In a forked child: the thread is the parent's."""
        self._socket.close()
        atexit.unregister(self.stop)


def start() -> Sender | None:
    """The sender of this process; None: no monitor is there, or this system is not one that has them."""
    paths = wanted()
    if not paths:
        return None
    try:
        return Sender(Tally(), paths)
    except (ImportError, OSError, RuntimeError, ValueError):
        return None
