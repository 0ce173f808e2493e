# SPDX-License-Identifier: Apache-2.0
"""Runs programs and takes their times, recorded or not."""

import contextlib
import json
import os
import re
import resource
import shutil
import signal
import statistics
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CROWDED = 0.2  # cores that others take: what the recording says of waiting for a CPU is true, and not the cause
WORK = re.compile(r"^work ([0-9.]+)(?: cpu ([0-9.]+) switches ([0-9]+))?$", re.M)
OURS = re.compile(r"^holdup[: -].*$", re.M)
TIMEOUT_S = 60.0


@dataclass
class Ran:
    """One run. work, cpu, switches: by the program's own clock and the kernel's counts; None where it has none. ours: lines of the recorder;
    others: cores that the rest of the machine took meanwhile."""

    wall: float
    work: float
    cpu: float | None
    switches: int | None
    status: int
    out: bytes
    err: str
    ours: list[str] = field(default_factory=list)
    hung: bool = False
    others: float = 0.0


@dataclass
class Answer:
    """What was said of a recording: reports of all its files, and the text that a user reads."""

    ran: Ran
    report: dict[str, Any]
    text: str
    seconds: float
    failed: str = ""


def _busy_s() -> tuple[float, float]:
    """CPU time of the machine, and of what this process started and waited for, s."""
    fields = [int(n) for n in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return (sum(fields[:3]) + sum(fields[5:7])) / os.sysconf("SC_CLK_TCK"), sum(u.ru_utime + u.ru_stime for u in own)


def run(command: list[str], desk: Path) -> Ran:
    """Runs a command to its end, or kills its whole group after TIMEOUT_S."""
    hung, before = False, _busy_s()
    with open(desk / "out.txt", "w+b") as out, open(desk / "err.txt", "w+b") as err:
        begun = time.monotonic()
        child = subprocess.Popen(command, cwd=desk, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
        try:
            child.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            hung = True
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        wall, after = time.monotonic() - begun, _busy_s()
        out.seek(0)
        err.seek(0)
        said, told = out.read(), err.read().decode(errors="replace")
    others = max(0.0, (after[0] - before[0]) - (after[1] - before[1])) / wall
    clock = WORK.search(told)
    ours = [line.strip() for line in OURS.findall(told)]
    rest = re.sub(r"\n\s*\n", "\n", OURS.sub("", WORK.sub("", told))).strip()
    work, cpu, switches = clock.groups() if clock else (wall, None, None)
    return Ran(wall, float(work), float(cpu) if cpu else None, int(switches) if switches else None, child.returncode, said, rest, ours, hung, others)


@contextlib.contextmanager
def neighbours(command: list[str], count: int) -> Iterator[None]:
    """Processes that take CPUs meanwhile. Each is a session of its own, as another user's job is."""
    others = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
              for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


@dataclass
class Truth:
    """Runs without the recorder: with and without the cause."""

    slow: list[Ran]
    fast: list[Ran]

    def wall(self) -> float:
        """Seconds of the whole run with the cause: what percents of an answer are of."""
        return statistics.median(r.wall for r in self.slow)

    def work(self) -> float:
        """Seconds of the work with the cause."""
        return statistics.median(r.work for r in self.slow)

    def gain(self) -> float:
        """Percent of the run that the cause takes."""
        return 100 * (self.work() - statistics.median(r.work for r in self.fast)) / self.wall()

    def of_work(self) -> float:
        """Percent of the work that the cause takes: what an answer by steps is of."""
        return self.gain() * self.wall() / self.work()

    def spread(self) -> float:
        """Half of the distance between the extreme gains of single pairs, in points."""
        gains = [100 * (a.work - b.work) / self.wall() for a, b in zip(self.slow, self.fast)]
        return (max(gains) - min(gains)) / 2


def record(holdup: str, command: list[str], desk: Path, folder: Path) -> Answer:
    """Records a run, and asks for the report on what was written."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    ran = run([holdup, "run", "--no-report", "-o", str(folder / "trace"), "--", *command], desk)
    begun = time.monotonic()
    files = sorted(folder.rglob("*.pftrace"))
    if not files:
        return Answer(ran, {}, "", 0.0, "no trace was written")
    path = str(files[0] if len(files) == 1 else files[0].parent)
    try:
        told = subprocess.run([holdup, "report", "--json", "--quiet", path], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        text = subprocess.run([holdup, "report", "--quiet", path], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return Answer(ran, {}, "", time.monotonic() - begun, f"no report in {TIMEOUT_S:.0f} s")
    seconds = time.monotonic() - begun
    if told.returncode:
        return Answer(ran, {}, text.stdout, seconds, f"report: exit {told.returncode}: {told.stderr[:200]}")
    (folder / "report.json").write_text(told.stdout)
    (folder / "report.txt").write_text(text.stdout)
    return Answer(ran, json.loads(told.stdout), text.stdout, seconds)
