# SPDX-License-Identifier: Apache-2.0
"""Threads that wait for each other: who is waited for, who holds a lock, and who only waits until it is told to end."""
from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.host_traces import DEAD, MS, RUNNING, Recording, Thread
from tests.program import report

US = 1000
START = 1000 * MS


class Job:
    """A process whose main thread starts threads and joins them."""

    def __init__(self, cpus: int = 2) -> None:
        self.recording = Recording(START)
        self.recording.facts(cpus=cpus)
        self.recording.functions("render_rows", "prepare")
        self.recording.process(100, "job")
        self.main = self.recording.thread(100, name="job")
        self.main.state(RUNNING)
        self.started: list[Thread] = []

    def thread(self, name: str = "job") -> Thread:
        t = self.recording.thread(100, 101 + len(self.started), name, self.main.now)
        t.state(RUNNING)
        self.started.append(t)
        return t

    def join(self, *threads: Thread) -> None:
        """Who has ended is not waited for."""
        for t in threads:
            t.state(DEAD)
            if t.now > self.main.now:
                self.main.waits("pthread_join", t.now + 20 * US)
                self.main.runs(US)

    def said(self) -> dict[str, Any]:
        self.main.runs(MS)
        self.main.state(DEAD)
        with tempfile.TemporaryDirectory() as folder:
            return report(self.recording.write(Path(folder) / "run.pftrace"))

    def finding(self, rule: str) -> dict[str, Any] | None:
        return next((f for f in self.said()["findings"] if f["id"] == rule), None)


def computes(*ms: int, names: tuple[str, ...] = (), functions: tuple[int, ...] = (), cpus: int = 2) -> Job:
    """Threads that do nothing else, beside a main thread that waits for them."""
    job = Job(cpus)
    job.main.runs(MS)
    threads = [job.thread(names[i] if names else "job") for i in range(len(ms))]
    for i, t in enumerate(threads):
        t.computes(ms[i] * MS, functions[i] if functions else 1)
    job.join(*threads)
    return job


class Joined(unittest.TestCase):
    def test_one_thread_alone(self) -> None:
        """Half of it, twice as fast or in two parts; 30 ms that the main thread computes stay."""
        job = computes(70, names=("renderer",))
        job.main.computes(30 * MS, 2)
        found = job.finding("waited-thread")
        assert found
        self.assertRegex(found["statement"], r"waits for the thread renderer \(101\) in pthread_join.* computes for 70.0 ms .*in render_rows.*"
                         r"Twice as fast, it would save about 34 %; nothing done to it can save more than 69 %\.$")
        self.assertAlmostEqual(found["gain_pct"], 100 * 35 / 102, delta=1)
        self.assertAlmostEqual(found["gain_low_pct"], 0.95 * 100 * 35 / 102, delta=1)
        self.assertAlmostEqual(found["gain_high_pct"], 100 * 70 / 102, delta=1)
        self.assertNotEqual(found["confidence"], "high")

    def test_a_thread_that_is_nearly_all_of_the_run(self) -> None:
        found = computes(100).finding("waited-thread")
        assert found
        self.assertIsNone(found["gain_pct"])
        self.assertRegex(found["statement"], r"Twice as fast, it would save about 49 %; nothing done to it can save more than 98 %\.$")

    def test_a_faster_thread_waits_less_for_a_cpu(self) -> None:
        """Others have the CPU for as long as it has: half of its work needs half of that, too."""
        job = Job()
        t = job.thread()
        for _ in range(30):
            t.computes(MS, 1)
            t.starved(MS)
        job.join(t)
        job.main.computes(20 * MS, 2)
        found = job.finding("waited-thread")
        assert found
        self.assertAlmostEqual(found["gain_pct"], 100 * 30 / 82, delta=1)

    def test_unequal_threads(self) -> None:
        """80 and 20 ms are 50 and 50, and that is known."""
        found = computes(80, 20).finding("waited-thread")
        assert found
        self.assertRegex(found["statement"], r"2 threads with unequal work in render_rows: the thread 101 computes for 80.0 ms .*, the other for 20.0 ms")
        self.assertAlmostEqual(found["gain_pct"], 100 * 30 / 82, delta=2)
        self.assertGreater(found["gain_low_pct"], 25)

    def test_other_programs_take_the_cpus(self) -> None:
        """Each third of a millisecond somebody else has the CPU: to share the work may gain nothing."""
        job = Job()
        threads = job.thread(), job.thread()
        for t, ms in zip(threads, (80, 20)):
            for _ in range(ms):
                t.computes(MS, 1)
                t.starved(MS // 3)
        job.join(*threads)
        found = job.finding("waited-thread")
        assert found
        self.assertEqual(found["gain_low_pct"], 0)
        self.assertRegex(" ".join(found["evidence"]), "waits for a CPU for 26.7 ms")

    def test_what_has_no_price(self) -> None:
        """Equal threads, one CPU or an unknown number of them, a CPU that the main thread takes, others that compute as long."""
        for what, job in (("equal", computes(50, 50)), ("one CPU", computes(100, cpus=1)), ("unknown", computes(100, cpus=0)),
                          ("nobody knows what they do", computes(60, 40, functions=(0, 0), cpus=8))):
            with self.subTest(what=what):
                self.assertIsNone(job.finding("waited-thread"))
        job = Job()
        t = job.thread("saver")
        t.computes(100 * MS, 1)
        job.main.computes(95 * MS, 2)
        job.join(t)
        self.assertIsNone(job.finding("waited-thread"))

    def test_threads_that_meet_at_a_barrier(self) -> None:
        """20 steps of 1 and 3 ms are 20 steps of 2."""
        job = Job()
        threads = job.thread("air"), job.thread("ocean")
        for _ in range(20):
            for t, ms in zip(threads, (1, 3)):
                t.computes(ms * MS, 1)
            threads[0].waits("pthread_barrier_wait", threads[1].now + 5 * US)
        job.join(*threads)
        found = job.finding("waited-thread")
        assert found
        self.assertRegex(found["statement"], r"the thread ocean \(102\) computes for 60.0 ms")
        self.assertAlmostEqual(found["gain_pct"], 100 * 20 / 61, delta=2)


class Sleepers(unittest.TestCase):
    """Who is waited for sleeps 100 of 112 ms."""

    def found(self, is_main: bool) -> dict[str, Any]:
        job = Job()
        job.main.runs(MS)
        t = job.main if is_main else job.thread("indexer")
        for _ in range(10):
            t.waits("nanosleep", t.now + 10 * MS)
            t.computes(MS, 1)
        if not is_main:
            job.join(t)
        found = job.finding("sleep")
        assert found
        self.assertAlmostEqual(found["gain_pct"], 100 * 100 / 112, delta=1)
        self.assertAlmostEqual(found["gain_high_pct"], 100 * 100 / 112, delta=1)
        return found

    def test_a_second_such_thread_saves_half(self) -> None:
        found = self.found(False)
        self.assertAlmostEqual(found["gain_low_pct"], 0.95 * 100 * 50 / 112, delta=1)
        self.assertRegex(" ".join(found["evidence"]), "a second such thread, 45 %; the interval begins there")

    def test_the_main_thread_s_own(self) -> None:
        self.assertGreater(self.found(True)["gain_low_pct"], 0.94 * 100 * 100 / 112)


class ToldToEnd(unittest.TestCase):
    """The main thread sleeps for 200 of 250 ms, and then ends a thread that does nothing of its own."""

    def sleeper(self, job: Job, call: str = "nanosleep") -> None:
        for _ in range(10):
            job.main.runs(5 * MS)
            job.main.waits(call, job.main.now + 20 * MS)

    def assert_sleep(self, job: Job, rule: str = "sleep") -> None:
        found = job.finding(rule)
        assert found
        self.assertAlmostEqual(found["gain_pct"], 80, delta=2)

    def test_a_thread_that_waits_for_an_event(self) -> None:
        for call in ("pthread_cond_wait", "epoll_wait"):
            with self.subTest(call=call):
                job = Job()
                helper = job.thread("event-loop")
                self.sleeper(job)
                helper.waits(call, job.main.now + 30 * US)
                helper.runs(60 * US)
                job.join(helper)
                self.assert_sleep(job)

    def test_a_thread_that_looks_at_a_flag(self) -> None:
        """The main thread asks a server, and a thread sleeps 4 ms again and again until that is over."""
        job = Job()
        helper = job.thread("heartbeat")
        self.sleeper(job, "recv")
        while helper.now < job.main.now:
            helper.runs(100 * US)
            helper.waits("nanosleep", helper.now + 4 * MS)
        helper.runs(20 * US)
        job.join(helper)
        self.assert_sleep(job, "io-stall")

    def server(self, works_ms: int) -> Job:
        """A child process that reads a pipe until the main thread closes it, and then has so much to do."""
        job = Job()
        job.recording.process(200, "server")
        child = job.recording.thread(200, start=job.main.now)
        child.state(RUNNING)
        self.sleeper(job)
        child.waits("read", job.main.now + 30 * US, "pipe")
        child.runs(200 * US + works_ms * MS)
        child.state(DEAD)
        job.main.waits("wait4", child.now + 20 * US, "child")
        return job

    def test_a_child_that_reads_a_pipe(self) -> None:
        self.assert_sleep(self.server(0))
        self.assertIsNone(self.server(100).finding("waited-thread"))

    def test_a_thread_that_works_on_is_waited_for(self) -> None:
        """It sleeps as long as it needs: without the main thread's sleep nothing is gained."""
        job = Job()
        helper = job.thread("uploader")
        self.sleeper(job)
        for _ in range(60):
            helper.waits("recv", helper.now + 5 * MS)
        job.join(helper)
        self.assertIsNone(job.finding("sleep"))


class Locks(unittest.TestCase):
    def test_the_holder_is_who_does_not_wait(self) -> None:
        """A writer sleeps 8 ms under the lock, again and again; two readers wait for it."""
        job = Job()
        writer, *readers = job.thread("reloader"), job.thread("reader"), job.thread("reader")
        for _ in range(25):
            until = writer.now + 8 * MS
            for r in readers:
                r.waits("pthread_rwlock_rdlock", until)
                r.computes(MS)
            writer.waits("nanosleep", until)
            writer.runs(MS)
        job.join(*readers)
        writer.waits("nanosleep", writer.now + 8 * MS)
        job.join(writer)
        found = job.finding("lock-contention")
        assert found
        self.assertRegex(found["statement"], r"The thread reloader \(101\) holds the lock that others wait for and is in nanosleep for 100 % of that time")

    def test_threads_take_turns(self) -> None:
        """Nobody holds it for longer than others, and all compute under it."""
        job = Job()
        threads = [job.thread() for _ in range(3)]
        for turn in range(30):
            holder = threads[turn % 3]
            if holder.now < job.main.now + turn * 4 * MS:
                holder.waits("pthread_mutex_lock", job.main.now + turn * 4 * MS)
            holder.computes(4 * MS, 1)
        job.join(*threads)
        found = job.finding("lock-contention")
        assert found
        self.assertRegex(found["statement"], "One thread holds the lock that others wait for and computes in render_rows for 100 %")

    def test_several_that_do_not_wait(self) -> None:
        """Which of them holds it is not told."""
        job = Job()
        threads = [job.thread() for _ in range(3)]
        for _ in range(10):
            threads[0].waits("pthread_mutex_lock", threads[0].now + 8 * MS)
            threads[0].computes(2 * MS, 1)
        for t in threads[1:]:
            t.computes(100 * MS, 2)
        job.join(*threads)
        found = job.finding("lock-contention")
        if found:
            self.assertRegex(found["statement"], "Another thread holds them")


if __name__ == "__main__":
    unittest.main()
