# SPDX-License-Identifier: Apache-2.0
"""Threads that wait for each other, recorded: who holds a lock, what it is worth that the one that is waited for is faster."""
from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from typing import Any

from tests import recorder
from tests.program import SANITIZED, skip_loudly

CRUNCH = """
    import sys, threading
    def crunch(n):
        s = 0
        for i in range(n):
            s += i * i % 7
    threads = [threading.Thread(target=crunch, args=(int(sys.argv[2]),)) for _ in range(int(sys.argv[1]))]
    for t in threads: t.start()
    for t in threads: t.join()
"""

RUST = """
    use std::{sync::Mutex, thread, time::Duration};
    static LEDGER: Mutex<u64> = Mutex::new(0);
    fn enter() { let mut total = LEDGER.lock().unwrap(); thread::sleep(Duration::from_millis(2)); *total += 1; }
    fn main() {
        let all: Vec<_> = (0..3).map(|_| thread::spawn(|| for _ in 0..30 { enter(); thread::sleep(Duration::from_micros(200)); })).collect();
        for t in all { t.join().unwrap(); }
    }
"""


def load_tests(_loader, tests, _pattern):
    """The recorder works in other programs, without sanitizers: once is enough."""
    return unittest.TestSuite() if SANITIZED else tests


class Hands(unittest.TestCase):
    folder: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-hands-"))
        cls.program = recorder.build(cls.folder, "hands")

    @classmethod
    def tearDownClass(cls) -> None:
        shutil.rmtree(cls.folder)

    def record(self, *words: object) -> dict[str, dict[str, Any]]:
        """Findings by rule."""
        self.trace = self.folder / "run.pftrace"
        done = recorder.holdup("run", "--no-report", "--force", "-o", self.trace, "--", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = recorder.holdup("report", self.trace, "--json")
        self.assertEqual(said.returncode, 0, said.stderr)
        return {f["id"]: f for f in json.loads(said.stdout)["findings"]}

    def whatif(self, edit: str) -> dict[str, Any]:
        done = recorder.holdup("whatif", self.trace, "-e", edit, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def gain(self, edit: str) -> float:
        said = self.whatif(edit)
        self.assertAlmostEqual(said["replayed_step_ns"] / said["measured_step_ns"], 1, delta=0.01)
        return float(said["edits"][0]["gain_pct"])

    def seconds(self, *words: object) -> float:
        """The fastest of a few runs, without the recorder."""
        best = float("inf")
        for _ in range(3):
            begin = time.monotonic()
            subprocess.run([*map(str, words)], check=True)
            best = min(best, time.monotonic() - begin)
        return best

    def test_who_sleeps_while_others_wait(self) -> None:
        """The same program in which nobody sleeps: as fast as the price of the sleeping says."""
        for kind in ("lock", "cond", "sem"):
            with self.subTest(kind):
                found = self.record(self.program, kind, 2000)
                truth = 100 * (1 - self.seconds(self.program, kind, 0) / self.seconds(self.program, kind, 2000))
                self.assertIn("sleep", found)
                self.assertAlmostEqual(found["sleep"]["gain_pct"], truth, delta=12)
                self.assertAlmostEqual(self.gain("sleep=0"), truth, delta=12)

    def test_sleeps_while_the_main_thread_computes(self) -> None:
        """A thread that is joined at last: only what the main thread waits for it is time when nothing else runs."""
        found = self.record(self.program, "beside", 200000)
        waits = 1e-6 * recorder.rows(self.trace, "select coalesce(sum(dur_ns), 0) as ns from thread_state where state = 'waiting' and tid = pid")[0]["ns"]
        slept = 1e-6 * recorder.rows(self.trace, "select max(dur_ns) as ns from os_call where name = 'nanosleep'")[0]["ns"]
        self.assertGreaterEqual(slept, 400)
        self.assertLess(waits, 210)
        if "sleep" not in found:    # a crowded machine: computing took about as long as the sleep
            self.assertLess(waits, 60)
            return
        told = re.match(r"The program sleeps for ([0-9.]+) ms in the whole capture", found["sleep"]["statement"])
        assert told, found["sleep"]["statement"]
        self.assertAlmostEqual(float(told[1]), waits, delta=10)

    def test_accept_is_no_transfer(self) -> None:
        """A server waits for a client that is late: nothing of that is the network."""
        found = self.record(self.program, "accept", 300000)
        self.assertEqual(recorder.count(self.trace, "accept"), 1)
        self.assertNotIn("io-stall", found)
        self.assertLess(self.gain("io=0"), 5)

    def test_producer_that_computes(self) -> None:
        """The main thread joins consumers, which wait for a thread that computes: that one is told."""
        found = self.record(self.program, "maker", 2000)["waited-thread"]
        self.assertRegex(found["statement"], r"^The main thread waits for .*the thread [0-9]+.* That thread computes for.* Twice as fast, it would save about ")

    def test_lock_is_named(self) -> None:
        found = self.record(self.program, "lock", 2000)["lock-contention"]
        self.assertRegex(found["statement"], "the lock table_lock, taken in count_event: .* of 4 threads. .* are in nanosleep, called from pause_us for")
        self.assertGreater(found["gain_pct"], 50)
        found = self.record(self.program, "busy", 1000)["lock-contention"]
        self.assertRegex(found["statement"], "compute for .* of that time, most of it in crunch")

    def test_split_lock_leaves_the_computing(self) -> None:
        """What all threads compute needs CPUs, however many locks there are."""
        self.record(self.program, "busy", 1000)
        ran = recorder.rows(self.trace, "select sum(dur_ns) as ns from thread_state where state = 'running'")[0]["ns"]
        said = self.whatif("lock=0")["edits"][0]
        self.assertGreaterEqual(said["step_after_ns"] * len(os.sched_getaffinity(0)), 0.99 * min(ran, said["step_before_ns"]))

    def verdict(self, *words: object) -> tuple[str, set[str]]:
        """Of a command that is killed."""
        trace = self.folder / "killed.pftrace"
        recorder.holdup("run", "--no-report", "--force", "-o", trace, "--", *words)
        said = json.loads(recorder.holdup("report", trace, "--json").stdout)
        return said["verdict"]["text"], {f["id"] for f in said["findings"]}

    def test_deadlock(self) -> None:
        """Two threads take two locks in different orders; and threads that are killed while one of them holds the lock."""
        text, rules = self.verdict(recorder.build(self.folder, "wakes"), "deadlocked")
        self.assertTrue(text.startswith("Deadlock: "), text)
        for lock in ("first", "second"):
            self.assertRegex(text, f"in pthread_mutex_lock, called from locks_both for [0-9.]+ m?s, for the lock {lock}, which thread [0-9]+ has")
        self.assertNotIn("lock-contention", rules)
        text, _ = self.verdict("timeout", "-s", "KILL", "0.3", self.program, "lock", 200000)
        self.assertNotIn("Deadlock", text)

    def test_no_contention(self) -> None:
        """Threads that sleep outside of the lock."""
        found = self.record(self.program, "apart", 2000)
        self.assertNotIn("lock-contention", found)
        self.assertLess(self.gain("lock=0"), 5)

    def test_who_woke_whom(self) -> None:
        self.record(self.program, "sem", 1000)
        woken = recorder.rows(self.trace, """select w.how, w.caller, count(*) as n from os_call o join wake w
            on w.object = o.object and w.pid = o.pid and w.tid != o.tid and w.time_ns between o.start_ns and o.end_ns
            where o.name = 'sem_wait' group by 1, 2""")
        self.assertEqual([(w["how"], w["caller"]) for w in woken], [("post", "post")])
        self.assertGreater(woken[0]["n"], 100)

    def test_lock_of_rust(self) -> None:
        rustc = shutil.which("rustc") or os.path.expanduser("~/.cargo/bin/rustc")
        if not os.path.exists(rustc):
            skip_loudly("no rustc")
            self.skipTest("no rustc")
        (self.folder / "ledger.rs").write_text(textwrap.dedent(RUST))
        subprocess.run([rustc, "-O", "-o", self.folder / "ledger", self.folder / "ledger.rs"], check=True, capture_output=True)
        found = self.record(self.folder / "ledger")
        self.assertIn("the lock ledger::LEDGER:", found["lock-contention"]["statement"])
        self.assertIn("clock_nanosleep", found["lock-contention"]["statement"])
        self.assertGreater(found["sleep"]["gain_pct"], 75)

    def python(self, name: str, text: str) -> pathlib.Path:
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return path

    def test_gil(self) -> None:
        if len(os.sched_getaffinity(0)) < 2:
            skip_loudly("one CPU: no interpreter lock holds anybody up")
            return
        crunch = self.python("crunch.py", CRUNCH)
        python = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable
        found = self.record(python, crunch, 2, 4000000)
        self.assertIn("gil", found)
        self.assertNotIn("lock-contention", found)
        self.assertRegex(found["gil"]["statement"], "interpreter lock .* threads wait for it")
        self.assertNotIn("gil", self.record(python, crunch, 1, 4000000))
        naps = self.python("naps.py", CRUNCH.replace("s += i * i % 7", "pass").replace("s = 0", "import time; time.sleep(0.2); n = 0"))
        self.assertNotIn("gil", self.record(python, naps, 2, 1))


if __name__ == "__main__":
    unittest.main()
