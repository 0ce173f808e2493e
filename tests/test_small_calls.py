# SPDX-License-Identifier: Apache-2.0
"""Many short reads and writes of a program whose neighbours take the CPU now and then."""
from __future__ import annotations

import unittest
from typing import Any

from tests.host_traces import MS, RUNNABLE, RUNNING
from tests.test_waits import US, Job


def preempted_write(job: Job, ran_us: int, lost_ms: int) -> None:
    """A call of a byte in which another program gets the CPU."""
    t = job.main
    begin = t.now
    t.now = begin + ran_us * US // 2
    t.state(RUNNABLE)
    t.now += lost_ms * MS
    t.state(RUNNING)
    t.now += ran_us * US // 2
    t.slice(begin, t.now, "write", "os_call", **{"class": "file_write", "path": "/data/out.bin", "bytes": 1})


class Crowded(unittest.TestCase):
    """40 ms of writes of a byte, 10 ms of computing, and 100 ms in which others have the CPU, most of them in the middle of a write."""

    def job(self, ran_us: int) -> Job:
        job = Job()
        for i in range(400):
            job.main.call("write", 100 * US, path="/data/out.bin", bytes=100, calls=100)
            job.main.runs(25 * US)
            if i % 40 == 20:
                preempted_write(job, ran_us, 10)
        return job

    def test_a_buffer_is_the_answer(self) -> None:
        """A call takes longer where the CPU is lost in it, with cold caches, than a short one may."""
        found = {f["id"]: f for f in self.job(60).said()["findings"]}
        self.assertNotIn("io-stall", found)
        self.assertIn("many-small-calls", found)
        self.assertGreater(found["many-small-calls"]["gain_pct"], 65)

    def test_slow_writes_are_told(self) -> None:
        """6 ms of each 10 are the disk's, whatever short calls there are beside."""
        job = self.job(60)
        for _ in range(10):
            job.main.waits("fsync", job.main.now + 6 * MS)
        self.assertIn("io-stall", {f["id"] for f in job.said()["findings"]})


class Around(unittest.TestCase):
    """What a program does around its calls may be for their sake: the interval reaches to it, the price does not."""

    def test_a_third_of_the_time_between_small_calls(self) -> None:
        """40 ms in 40,000 calls, as much between them, and 20 ms of the program's own."""
        job = Job()
        for _ in range(400):
            job.main.call("write", 100 * US, path="/data/out.bin", bytes=100, calls=100)
            job.main.runs(100 * US)
        job.main.runs(20 * MS)
        found = job.finding("many-small-calls")
        assert found
        self.assertAlmostEqual(found["gain_pct"], 100 * 40 / 101, delta=1)
        self.assertGreater(found["gain_high_pct"], 100 * (40 + 40 / 3) / 101 - 1)
        self.assertLess(found["gain_high_pct"], 100 * (40 + 40 / 3) / 101 + 0.1 * 40 + 2)

    def transactions(self, between_us: int) -> dict[str, Any]:
        """Three calls of 200 us for each of 50 rows, with something between them, and 400 us for the next row."""
        job = Job()
        for _ in range(50):
            for name in ("openat", "write", "fsync"):
                job.main.call(name, 200 * US, path="/data/rows.db", bytes=8192)
                job.main.runs(between_us * US)
            job.main.runs(400 * US)
        found = job.finding("io-stall")
        assert found
        return found

    def test_what_lies_between_the_calls_of_a_transaction(self) -> None:
        found = self.transactions(100)
        self.assertAlmostEqual(found["gain_pct"], 100 * 0.6 / 1.3, delta=1)
        doubt = found["gain_pct"] - found["gain_low_pct"]
        self.assertAlmostEqual(found["gain_high_pct"], 100 * 0.8 / 1.3 + doubt, delta=1)

    def test_what_takes_longer_is_the_program_s_own(self) -> None:
        found = self.transactions(300)
        self.assertLess(found["gain_high_pct"], 1.06 * found["gain_pct"] + 1)


if __name__ == "__main__":
    unittest.main()
