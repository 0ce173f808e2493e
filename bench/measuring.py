# SPDX-License-Identifier: Apache-2.0
"""Runs commands against each other in rounds of alternating order and keeps wall time, CPU time and peak resident memory of each.
Does not isolate the machine: whatever else runs on it is in the numbers, so ratios within a round are what to use."""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, Sequence

TIMEOUT_S = 1800


@dataclass(frozen=True)
class Contender:
    key: str
    label: str
    command: Sequence[str]
    env: dict[str, str] = field(default_factory=dict)
    rounds: int = 1000              # at most
    keep_output: bool = False
    absent: str = ""                # why it cannot run; then the command is not used


@dataclass(frozen=True)
class Sample:
    seconds: float
    cpu_s: float                    # of all its threads, user and kernel
    peak_mb: float
    code: int                       # exit code, or minus the signal
    output: str
    complaint: str


@dataclass
class Result:
    contender: Contender
    samples: list[Sample] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return bool(self.samples) and all(s.code == 0 for s in self.samples)

    @property
    def seconds(self) -> float:
        return statistics.median(s.seconds for s in self.samples)

    @property
    def cpu_s(self) -> float:
        return statistics.median(s.cpu_s for s in self.samples)

    @property
    def wall_over_cpu(self) -> float:
        """Wall time over the CPU seconds of the same run: 0.5 when two cores were busy all the time."""
        return statistics.median(s.seconds / s.cpu_s for s in self.samples)

    @property
    def peak_mb(self) -> float:
        return max(s.peak_mb for s in self.samples)

    @property
    def spread(self) -> float:
        times = [s.seconds for s in self.samples]
        return max(times) / min(times)

    def against(self, other: Result) -> float:
        """Time over the other's time: the median of the ratios within one round, so that slow drift cancels."""
        return statistics.median(a.seconds / b.seconds for a, b in zip(self.samples, other.samples))


class Meter:
    """Measures one command through the helper in measure.c."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.helper = scratch / "measure"
        self.failures: list[str] = []
        compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if not compiler:
            stop("no C compiler for bench/measure.c (apt-get install gcc)")
        source = Path(__file__).with_name("measure.c")
        subprocess.run([*compiler.split(), "-O2", "-o", str(self.helper), str(source)], check=True)

    def run(self, contender: Contender) -> Sample:
        reader, writer = os.pipe()
        out, err = self.scratch / "stdout", self.scratch / "stderr"
        with open(out if contender.keep_output else os.devnull, "wb") as stdout, open(err, "wb") as stderr:
            process = subprocess.Popen([str(self.helper), str(writer), *contender.command], stdin=subprocess.DEVNULL,
                                       stdout=stdout, stderr=stderr, env=environment(contender.env),
                                       pass_fds=[writer], start_new_session=True)
            os.close(writer)
            wait(process)
        with os.fdopen(reader) as line:
            words = line.read().split()
        output = out.read_text(errors="replace") if contender.keep_output else ""
        sample = parse(words, output, err.read_text(errors="replace"))
        self.note(contender, sample)
        return sample

    def note(self, contender: Contender, sample: Sample) -> None:
        if sample.code:
            last = sample.complaint.strip().splitlines()[-1:] or ["no message"]
            self.failures.append(f"{contender.label}: exit {sample.code}: {last[0]}")

    def race(self, contenders: Sequence[Contender], rounds: int) -> dict[str, Result]:
        """One run of each per round, every other round in reverse order; one that fails is not asked again.

        The first runs once before, unmeasured: whoever is first to touch much memory on a virtual machine pays for it.
        """
        results = {c.key: Result(c) for c in contenders}
        for c in [c for c in contenders if not c.absent][:1]:
            self.run(c)
        for n in range(rounds):
            for c in contenders if n % 2 == 0 else reversed(contenders):
                result = results[c.key]
                if c.absent or n >= c.rounds or (n and not result.good):
                    continue
                result.samples.append(self.run(c))
                progress(f"{c.label}: {result.samples[-1].seconds:.3f} s")
        return results


def stop(why: str) -> NoReturn:
    """Ends the bench before it measured anything."""
    print(f"bench: {why}", file=sys.stderr)
    raise SystemExit(2)


def wait(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(TIMEOUT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def environment(extra: dict[str, str]) -> dict[str, str]:
    """The caller's, less whatever would tune holdup behind the table's back."""
    base = {k: v for k, v in os.environ.items() if not k.startswith("HOLDUP_")}
    return {**base, "LC_ALL": "C", **extra}


def parse(words: list[str], output: str, complaint: str) -> Sample:
    if len(words) != 4:
        return Sample(float("nan"), 0, 0, -signal.SIGKILL, output, complaint or "timed out")
    wall, cpu, peak, status = (int(w) for w in words)
    return Sample(wall / 1e9, cpu / 1e6, peak * 1024 / 1e6, os.waitstatus_to_exitcode(status), output, complaint)


def warm(path: Path) -> None:
    """Brings a file into the page cache."""
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 20):
            pass


def progress(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)
