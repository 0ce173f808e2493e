# SPDX-License-Identifier: Apache-2.0
"""Was the machine idle while something was measured?  What others ran, and how long we waited for a processor."""
from __future__ import annotations

import dataclasses
import os
import pathlib
import resource
import time

OTHERS_PCT = 5.0        # of one core, on average, that processes other than ours may use
WAITED_PCT = 3.0        # of its time that our main thread may be runnable without a core
LOAD = 0.5              # load average before the first pair


@dataclasses.dataclass(frozen=True)
class Mark:
    """Readings at one instant, in seconds."""
    wall: float
    machine: float      # busy time of all cores, other machines' share of ours (steal) included
    ours: float         # CPU time of this process and of children that have been waited for
    waited: float       # time that this thread was runnable and had no core


def mark() -> Mark:
    """Now.  Values that this kernel does not give are 0."""
    fields = [int(word) for word in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    busy = (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")     # without idle and iowait
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    try:
        waited = int(pathlib.Path("/proc/self/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        waited = 0.0
    return Mark(time.monotonic(), busy, sum(use.ru_utime + use.ru_stime for use in used), waited)


def others_pct(begun: Mark, ended: Mark) -> float:
    """What was not ours, in per cent of one core.  Only children that have ended count as ours."""
    wall = max(ended.wall - begun.wall, 1e-3)
    return max(0.0, 100.0 * ((ended.machine - begun.machine) - (ended.ours - begun.ours)) / wall)


def waited_pct(begun: Mark, ended: Mark) -> float:
    return 100.0 * (ended.waited - begun.waited) / max(ended.wall - begun.wall, 1e-3)


def warning(others: float, waited: float = 0.0) -> str:
    """Empty when the figures can be believed."""
    said = []
    if others > OTHERS_PCT:
        said.append(f"other processes used {others:.0f} % of a core")
    if waited > WAITED_PCT:
        said.append(f"the measured process waited {waited:.0f} % of its time for a core")
    return "busy machine: " + ", ".join(said) if said else ""


def before_start() -> str:
    """A warning by the load average, before anything runs."""
    load = os.getloadavg()[0]
    return f"busy machine: load average {load:.1f} before the first pair; wait until it is below {LOAD}" if load > LOAD else ""
