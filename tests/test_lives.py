# SPDX-License-Identifier: Apache-2.0
"""The run is the process's life: what `holdup run` says of programs that make no call, are static, are killed, or have children and threads."""
from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from typing import Any

from tests import recorder
from tests.program import EXE, SANITIZED, report, skip_loudly
from tests.recorder import environment
from tests.test_perf import DRIVER, HOT, HOT_STATIC, REFUSAL

STATES = ("running", "runnable", "waiting", "unknown")


class Case(unittest.TestCase):
    folder: pathlib.Path
    said: str

    def setUp(self) -> None:
        if not pathlib.Path(DRIVER).exists():
            skip_loudly(f"{DRIVER} is not built")
            self.skipTest("not built")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-lives-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def prefix(self, source: str) -> list[str]:
        """`holdup run` whose states of threads come from there."""
        if source == "switches" and REFUSAL:
            skip_loudly(REFUSAL.strip())
            self.skipTest("no perf_event_open")
        refuse = [DRIVER, ".", "--exec", "--refuse=1", "--"] if source == "schedstat" else []
        return [*refuse, EXE, "run", "-f", "-o", "out", "--no-report", *(["--trace", "osrt"] if source == "sums" else [])]

    def record(self, source: str, *command: Any, options: tuple[str, ...] = ()) -> dict[str, Any]:
        done = subprocess.run([*self.prefix(source), *options, "--", *map(str, command)], cwd=self.folder, capture_output=True, text=True, timeout=120,
                              env=environment(), check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.said = done.stdout
        return self.read(source)

    def read(self, source: str) -> dict[str, Any]:
        answer = report(self.folder / "out.pftrace")
        host = answer["ranks"][0]["host_time"]
        self.assertEqual(host["states_from"], source)
        self.assertEqual(host["step_ns"], sum(host[f"task_{state}_ns"] for state in STATES))
        self.check_partition()
        return answer

    def rows(self, sql: str) -> list[dict[str, Any]]:
        return recorder.rows(self.folder / "out.pftrace", sql)

    def check_partition(self) -> None:
        """States of a thread never overlap, and leave no hole in its life but where records were lost."""
        for row in self.rows("select track, sum(dur_ns) as known, max(end_ns) - min(start_ns) as life, min(dur_ns) as least from thread_state group by 1"):
            self.assertLessEqual(row["known"], row["life"], row)
            self.assertGreater(row["least"], 0)
            self.assertGreaterEqual(row["known"], 0.99 * row["life"], row)


class Computes(Case):
    """0.6 s of CPU time by the program's own clock, whatever else the machine does."""

    def check(self, source: str, program: str, names: str) -> None:
        answer = self.record(source, program, "spin", "0.6", "say")
        host, text = answer["ranks"][0]["host_time"], answer["verdict"]["text"]
        # what starts it takes longer on a crowded machine, and the program knows how long; what ends it comes behind its last word
        self.assertAlmostEqual(host["process_cpu_ns"], int(self.said), delta=0.03 * 0.6e9, msg=text)
        self.assertGreaterEqual(host["process_wall_ns"], 0.59e9)
        self.assertAlmostEqual(host["process_wall_ns"], host["step_ns"], delta=5e6)
        self.assertNotRegex(text, "pipe|sleeps|no time")
        if host["task_runnable_ns"] > host["task_running_ns"]:      # others had the CPU for longer than it had, and that is what is said
            self.assertRegex(text, "waits for a CPU")
            return
        self.assertRegex(text, "comput")
        self.assertRegex(text, names)

    def test_without_a_call(self) -> None:
        self.check("switches", HOT, r"Hottest: hot_function \d")

    def test_where_perf_is_refused(self) -> None:
        self.check("schedstat", HOT, r"Hottest: hot_function \d")

    def test_where_nobody_watched(self) -> None:
        self.check("sums", HOT, ".")

    def test_static(self) -> None:
        self.check("switches", HOT_STATIC, r"Hottest: hot_static \(no symbols\)|Hottest: hot_function")

    def test_static_where_perf_is_refused(self) -> None:
        self.check("schedstat", HOT_STATIC, ".")


class Storms(Case):
    """Three processes per CPU that yield in a loop: hundreds of thousands of switches in a second, and each is recorded."""

    def test_no_switch_is_lost(self) -> None:
        storm = recorder.build(self.folder, "storm")
        cpus = sorted(os.sched_getaffinity(0))[:2]
        done = subprocess.run(["taskset", "-c", ",".join(map(str, cpus)), *self.prefix("switches"), "--trace", "cpu", "--", storm, str(3 * len(cpus)), "1"],
                              cwd=self.folder, capture_output=True, text=True, timeout=120, env=environment(), check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("were lost", done.stderr)
        self.check_partition()
        changes = self.rows("select count(*) as n from thread_state")[0]["n"]
        self.assertGreater(changes, 20000)


class Others(Case):
    def test_sleep_is_waiting(self) -> None:
        for source in ("switches", "schedstat", "sums"):
            with self.subTest(source=source):
                answer = self.record(source, HOT, "sleep", "0.5")
                host = answer["ranks"][0]["host_time"]
                self.assertGreater(host["task_waiting_ns"], 0.48e9)
                self.assertAlmostEqual(host["sleep_ns"] / 0.5e9, 1, delta=0.05)
                self.assertRegex(answer["verdict"]["text"], "sleeps for .*usleep")

    def test_a_child_that_computes(self) -> None:
        """The shell waits, the child is hot, and how hot is said."""
        for source in ("switches", "schedstat"):
            with self.subTest(source=source):
                answer = self.record(source, "sh", "-c", f"{HOT} spin 0.8; true")
                host, text = answer["ranks"][0]["host_time"], answer["verdict"]["text"]
                self.assertRegex(text, r"sh waits for its child processes .* is hot: .*computes for")
                self.assertRegex(text, "hot_function")
                self.assertAlmostEqual(host["job_cpu_ns"] / 0.8e9, 1, delta=0.04 if source == "switches" else 0.25, msg=text)  # /proc is read now and then

    def test_what_a_grandchild_waits_for_has_its_price(self) -> None:
        """Shells that wait for shells: without the sleeps the run is shorter by just these."""
        answer = self.record("switches", "sh", "-c", f"sh -c 'sleep 0.3; {HOT} spin 0.05; true'; {HOT} spin 0.05; sleep 0.2; true")
        asleep = self.rows("select sum(dur_ns) as ns from os_call where name like '%nanosleep'")[0]["ns"]
        first = next(f for f in answer["findings"] if f["id"] == "sleep")
        self.assertGreater(asleep, 0.49e9)
        self.assertAlmostEqual(first["gain_pct"], 100 * asleep / answer["ranks"][0]["host_time"]["process_wall_ns"], delta=2)

    def test_threads_of_a_process(self) -> None:
        """Eight threads that compute for 20 ms each, while the main one joins them."""
        answer = self.record("switches", HOT, "threads", "8")
        host = answer["ranks"][0]["host_time"]
        self.assertEqual(len(host["threads"]), 8)
        for t in host["threads"]:
            self.assertGreater(t["cpu_ns"], 19e6)       # and until the call that it is in has ended
            self.assertGreaterEqual(t["wall_ns"], t["cpu_ns"])
        self.assertAlmostEqual(sum(t["cpu_ns"] for t in host["threads"]) / host["process_cpu_ns"], 1, delta=0.1)

    def test_endless_and_interrupted(self) -> None:
        """A Ctrl-C ends the program, and the answer follows."""
        words = [w for w in self.prefix("switches") if w != "--no-report"]
        with subprocess.Popen([*words, "--", HOT, "spin", "1000"], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              env=environment(), start_new_session=True) as run:
            time.sleep(1.5)
            run.send_signal(signal.SIGINT)
            try:
                said = run.communicate(timeout=60)[1].decode()
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(run.pid, signal.SIGKILL)          # the program, too
        self.assertEqual(run.returncode, -signal.SIGINT)        # so that a shell leaves its loop
        self.assertIn("WHERE", said)
        text = self.read("switches")["verdict"]["text"]
        self.assertRegex(text, "hot_function")
        self.assertNotRegex(text, "sleeps|pipe")

    def test_a_delay_is_no_part_of_the_run(self) -> None:
        host = self.record("switches", HOT, "spin", "0.8", options=("--delay", "0.5"))["ranks"][0]["host_time"]
        life = self.rows("select max(end_ns) - min(start_ns) as life from thread_state")[0]["life"]
        self.assertAlmostEqual(host["process_wall_ns"], life, delta=1e6)
        self.assertLess(host["process_cpu_ns"], 0.75e9)

    @unittest.skipIf(SANITIZED, "says nothing more about holdup")
    def test_a_parent_that_waits_elsewhere(self) -> None:
        """A wait for a signal is no wait for a thread where there is one: who computes meanwhile is named."""
        with subprocess.Popen([*self.prefix("switches"), "--", "timeout", "-s", "KILL", "1.5", HOT, "spin", "1000"], cwd=self.folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment()) as run:
            run.communicate(timeout=60)
        text = self.read("switches")["verdict"]["text"]
        self.assertRegex(text, "timeout waits for other processes .* works meanwhile is hot: .*hot_function")


if __name__ == "__main__":
    unittest.main()
