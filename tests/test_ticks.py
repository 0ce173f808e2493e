# SPDX-License-Identifier: Apache-2.0
"""A thread that looks now and then whether it is to end: its waits with a time limit are one wait, and no work that others wait for."""
from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path

from tests.host_traces import DEAD, MS, RUNNING, SLEEPING, Thread
from tests.pftrace import INSTANT, event, packet
from tests.program import run
from tests.test_waits import US, Job

TICK, LAST = "0x1000", "0x2000"
TIMED_OUT = 110


def wake(by: Thread, thing: str) -> None:
    by.trace.out.append(packet(event(INSTANT, by.uuid, "wake", "osrt", {"object": thing, "how": "signal"}), ts=by.now))


def waits(t: Thread, thing: str, until: int, error: int = 0) -> None:
    t.state(SLEEPING)
    t.call("pthread_cond_timedwait", until - t.now, "wait", object=thing, **({"error": error} if error else {}))
    t.state(RUNNING)


class Ticks(unittest.TestCase):
    """The main thread sleeps 200 of 220 ms, tells a watcher to end, and waits until it says that it does."""

    def job(self, tick_ms: int = 50, works_us: int = 20, thing: str = TICK) -> Job:
        job = Job()
        watcher = job.thread("watcher")
        for _ in range(20):
            job.main.runs(MS)
            job.main.waits("nanosleep", job.main.now + 10 * MS)
        while watcher.now + (tick_ms + 1) * MS + works_us * US < job.main.now:
            waits(watcher, thing, watcher.now + tick_ms * MS, TIMED_OUT)
            watcher.runs(works_us * US)
        wake(job.main, TICK)
        waits(watcher, TICK, job.main.now + 30 * US)
        watcher.runs(10 * US)
        wake(watcher, LAST)
        waits(job.main, LAST, watcher.now + 20 * US)
        return job

    def gain(self, job: Job) -> float:
        found = job.finding("sleep")
        return float(found["gain_pct"]) if found else 0.0

    def test_what_it_waited_before_it_is_told_is_no_limit(self) -> None:
        self.assertAlmostEqual(self.gain(self.job()), 100 * 200 / 221, delta=1)

    def test_many_short_ones(self) -> None:
        self.assertAlmostEqual(self.gain(self.job(tick_ms=3)), 100 * 200 / 221, delta=2)

    def test_one_that_works_each_time_is_waited_for(self) -> None:
        """5 ms of work behind each 5 ms: what it does takes as long as it takes."""
        self.assertLess(self.gain(self.job(tick_ms=5, works_us=5000)), 10)

    def test_waits_for_something_else_stay(self) -> None:
        self.assertLess(self.gain(self.job(thing="0x4000")), 10)

    def test_who_is_woken_by_each_of_them_waits_for_them(self) -> None:
        """A clock that lets the main thread go on every 10 ms, until that tells it to end."""
        job = Job()
        clock = job.thread("clock")
        for _ in range(10):
            waits(clock, TICK, clock.now + 10 * MS, TIMED_OUT)
            wake(clock, LAST)
            waits(job.main, LAST, clock.now + 20 * US)
            clock.runs(30 * US)
        job.main.runs(MS)
        wake(job.main, TICK)
        waits(clock, TICK, job.main.now + 30 * US)
        clock.runs(10 * US)
        wake(clock, LAST)
        waits(job.main, LAST, clock.now + 20 * US)
        job.main.runs(MS)
        for t in (clock, job.main):
            t.state(DEAD)
        with tempfile.TemporaryDirectory() as folder:
            code, out, err = run("whatif", "--json", "-e", "sleep=0", job.recording.write(Path(folder) / "run.pftrace"))
        self.assertEqual(code, 0, err)
        said = json.loads(out)
        self.assertAlmostEqual(said["replayed_step_ns"] / said["measured_step_ns"], 1, delta=0.001)


if __name__ == "__main__":
    unittest.main()
