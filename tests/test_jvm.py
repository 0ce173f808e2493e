# SPDX-License-Identifier: Apache-2.0
"""Java: the thread that runs main(), which the process's first thread only joins, and its sleeps, which are waits that time out."""
from __future__ import annotations

import pathlib
import shutil
import subprocess
import tempfile
import unittest
from typing import Any

from tests.host_traces import DEAD, MS, RUNNING, SLEEPING, Recording
from tests.program import SANITIZED, report, skip_loudly
from tests.recorder import holdup
from tests.test_perf import REFUSAL

TIMED_OUT = 110
SOURCE = """
public class Pauses {
    static long turn(long n) { long x = 1; for (long i = 0; i < n; i++) x = x * 6364136223846793005L + 1442695040888963407L; return x; }
    public static void main(String[] arguments) throws Exception {
        long sum = 0;
        for (int i = 0; i < 20; i++) { sum += turn(5_000_000L); Thread.sleep(25); }
        System.out.println(sum);
    }
}
"""


class Traces(unittest.TestCase):
    def said(self, helper: str, error: int = TIMED_OUT, before: int = 2) -> dict[str, Any]:
        """A first thread that works for a while and joins another; that one computes 40 ms and waits 60 ms."""
        recording = Recording(1000 * MS)
        recording.facts(cpus=2)
        recording.process(100, "java")
        first = recording.thread(100, name="java")
        first.state(RUNNING)
        first.runs(before * MS)
        main = recording.thread(100, 101, "java", first.now)
        other = recording.thread(100, 102, helper, first.now + MS)
        for t in (main, other):
            t.state(RUNNING)
        other.waits("pthread_cond_wait", other.now + 98 * MS)
        for _ in range(10):
            main.runs(4 * MS)
            main.state(SLEEPING)
            main.call("pthread_cond_timedwait", 6 * MS, "wait", **({"error": error} if error else {}))
            main.state(RUNNING)
        first.waits("pthread_join", main.now)
        for t in (other, main, first):
            t.state(DEAD)
        with tempfile.TemporaryDirectory() as folder:
            return report(recording.write(pathlib.Path(folder) / "run.pftrace"))

    def test_main_is_followed_and_its_sleeps_are_sleeps(self) -> None:
        said = self.said("VM Thread")
        host = said["ranks"][0]["host_time"]
        self.assertEqual(host["sleep_ns"], 60 * MS)
        self.assertEqual(said["findings"][0]["id"], "sleep")
        self.assertLess(abs(said["findings"][0]["gain_pct"] - 60), 1)
        self.assertIn("pthread_cond_timedwait", said["findings"][0]["statement"])

    def test_a_wait_that_somebody_ends_is_no_sleep(self) -> None:
        said = self.said("VM Thread", error=0)
        self.assertEqual(said["ranks"][0]["host_time"]["sleep_ns"], 0)
        self.assertNotIn("sleep", [f["id"] for f in said["findings"]])

    def test_other_programs_keep_their_first_thread(self) -> None:
        host = self.said("worker")["ranks"][0]["host_time"]
        self.assertEqual((host["sleep_ns"], host["wait_ns"]), (0, 100 * MS))

    def test_a_first_thread_that_works_is_followed_by_nobody(self) -> None:
        """A program that holds a JVM and joins one of its threads at the end."""
        host = self.said("VM Thread", before=150)["ranks"][0]["host_time"]
        self.assertEqual(host["wait_ns"], 100 * MS)


class Programs(unittest.TestCase):
    def test_a_program_that_pauses(self) -> None:
        if REFUSAL or SANITIZED or not shutil.which("javac"):
            skip_loudly(REFUSAL.strip() or "no javac, or sanitized")
            self.skipTest("cannot run")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "Pauses.java").write_text(SOURCE)
            subprocess.run(["javac", "Pauses.java"], cwd=folder, check=True, timeout=120)
            done = holdup("run", "--no-report", "-f", "-o", folder / "run.pftrace", "--", "java", "-cp", folder, "Pauses")
            self.assertEqual(done.returncode, 0, done.stderr)
            said = report(folder / "run.pftrace")
        host = said["ranks"][0]["host_time"]
        self.assertTrue(490e6 < host["sleep_ns"] < 600e6, host["sleep_ns"])
        self.assertIn("sleep", [f["id"] for f in said["findings"]])


if __name__ == "__main__":
    unittest.main()
