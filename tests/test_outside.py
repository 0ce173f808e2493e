# SPDX-License-Identifier: Apache-2.0
"""What threads wait for where no recorder inside tells it: static programs, system calls without the C library, Go."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
from typing import Any

from tests import recorder
from tests.program import EXE, NOBODY, for_nobody, report, skip_loudly
from tests.recorder import environment
from tests.test_perf import DRIVER, REFUSAL

PARKED = """package main

import (
    "fmt"
    "os"
    "sync"
    "time"
)

var (
    table sync.Mutex
    total int
)

func refill() {
    table.Lock()
    time.Sleep(20 * time.Millisecond)
    total++
    table.Unlock()
}

//go:noinline
func putLine(file *os.File, number int) {
    file.WriteString(fmt.Sprintln(number))
}

func main() {
    if len(os.Args) > 1 {
        file, _ := os.Create(os.Args[1])
        for i := 0; i < 400000; i++ {
            putLine(file, i)
        }
        return
    }
    var all sync.WaitGroup
    for range [3]int{} {
        all.Add(1)
        go func() {
            defer all.Done()
            for i := 0; i < 10; i++ {
                refill()
            }
        }()
    }
    all.Wait()
    fmt.Println(total)
}
"""


class Case(unittest.TestCase):
    folder: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.programs = pathlib.Path(tempfile.mkdtemp(prefix="holdup-outside-"))
        cls.addClassCleanup(shutil.rmtree, cls.programs, ignore_errors=True)
        (cls.programs / "d").mkdir()
        cls.static = recorder.build(cls.programs, "outside", "-static")
        cls.dynamic = recorder.build(cls.programs / "d", "outside")

    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-outside-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_it(self, *command: Any, options: tuple[str, ...] = (), before: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
        done = subprocess.run([*before, EXE, "run", "-f", "-o", "out", "--no-report", *options, "--", *map(str, command)], cwd=self.folder,
                              capture_output=True, text=True, timeout=120, env=environment(), check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def record(self, *command: Any, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
        if REFUSAL:
            skip_loudly(REFUSAL.strip())
            self.skipTest("no perf_event_open")
        return self.run_it(*command, options=options)

    def rows(self, sql: str) -> list[dict[str, Any]]:
        return recorder.rows(self.folder / "out.pftrace", sql)

    def calls(self, where: str = "1") -> dict[str, tuple[str, int, int]]:
        """By name: class, how many, their sum in ns."""
        sql = f"select name, class, count(*) as n, sum(dur_ns) as ns from os_call where {where} group by 1, 2"
        return {row["name"]: (row["class"], int(row["n"]), int(row["ns"])) for row in self.rows(sql)}

    def answer(self) -> dict[str, Any]:
        return report(self.folder / "out.pftrace")

    def check_apart(self) -> None:
        """No two calls of a thread at the same time: nothing is told twice."""
        self.assertEqual(self.rows("select a.name, b.name as other from os_call a, os_call b where a.tid = b.tid and a.id < b.id "
                                   "and max(a.start_ns, b.start_ns) < min(a.end_ns, b.end_ns) and (a.is_outside or b.is_outside)"), [])


class Static(Case):
    def test_sleeps(self) -> None:
        done = self.record(self.static, "sleep")
        self.assertIn("what it was seen to wait for", done.stderr)
        kind, n, ns = self.calls("is_outside")["clock_nanosleep"]
        self.assertEqual(kind, "sleep")
        self.assertGreaterEqual(n, 10)
        self.assertLessEqual(n, 12)
        self.assertGreater(ns, 10 * 25e6)  # exact: the stretches are the scheduler's
        self.assertLess(ns, 12 * 60e6)
        text = recorder.holdup("report", self.folder / "out.pftrace").stdout
        self.assertIn("seen from outside", text)
        self.assertRegex(text, r"The main thread sleeps for \d\d(\.\d)? %")
        found = {f["id"]: f for f in self.answer()["findings"]}
        host = self.answer()["ranks"][0]["host_time"]
        self.assertAlmostEqual(found["sleep"]["gain_pct"], 100 * ns / host["step_ns"], delta=5)

    def test_short_sleeps_are_inferred(self) -> None:
        self.record(self.static, "short")
        _, n, ns = self.calls("is_outside")["clock_nanosleep"]
        host = self.answer()["ranks"][0]["host_time"]
        self.assertGreater(n, 350)
        self.assertGreater(ns, 0.7 * host["task_waiting_ns"])
        self.assertIn(b"inferred", (self.folder / "out.pftrace").read_bytes())

    def test_pipe(self) -> None:
        self.record(self.static, "pipe")
        main = self.answer()["ranks"][0]["host_time"]
        kind, n, ns = self.calls(f"is_outside and pid = {main['pid']}")["read"]
        self.assertEqual(kind, "pipe")
        self.assertGreater(ns, 0.5 * 15 * 20e6)
        self.assertGreater(n, 6)

    def test_futex_has_its_address(self) -> None:
        done = self.record(self.static, "futex")
        kind, _, ns = self.calls("is_outside")["futex"]
        self.assertEqual(kind, "wait")
        self.assertGreater(ns, 250e6)
        self.assertIn(done.stdout.strip().encode(), (self.folder / "out.pftrace").read_bytes())

    def test_lock_of_a_file(self) -> None:
        for options, is_named in (((), True), (("--no-paths",), False)):
            with self.subTest(options=options):
                self.record(self.static, "lock", "token=hunter2.lock", options=options)
                kind, _, ns = self.calls("is_outside")["flock"]
                self.assertEqual(kind, "lock")
                self.assertGreater(ns, 150e6)
                paths = [row["path"] or "" for row in self.rows("select path from os_call where name = 'flock'")]
                self.assertEqual([bool(p) for p in paths], [is_named])
                self.assertNotIn("hunter2", "".join(paths))

    def test_less_than_the_threshold(self) -> None:
        self.record(self.static, "sleep", options=("--osrt-threshold", "2000000000"))
        self.assertEqual(self.calls(), {})

    def test_only_where_calls_are_wanted(self) -> None:
        self.record(self.static, "sleep", options=("--trace", "cpu"))
        self.assertEqual(self.calls(), {})

    def test_without_switches(self) -> None:
        if not pathlib.Path(DRIVER).exists():
            skip_loudly(f"{DRIVER} is not built")
            self.skipTest("not built")
        self.run_it(self.static, "sleep", before=(DRIVER, ".", "--exec", "--refuse=1", "--"))
        host = self.answer()["ranks"][0]["host_time"]
        self.assertEqual(host["states_from"], "schedstat")
        self.assertGreater(host["sleep_ns"], 0.5 * 12 * 25e6)
        self.assertEqual(host["step_ns"], sum(host[f"task_{state}_ns"] for state in ("running", "runnable", "waiting", "unknown")))


class Dynamic(Case):
    def test_system_calls_of_its_own(self) -> None:
        self.record(self.dynamic, "own")
        kind, n, ns = self.calls("is_outside")["clock_nanosleep"]
        self.assertEqual(kind, "sleep")
        self.assertGreaterEqual(n, 10)
        self.assertGreater(ns, 10 * 25e6)

    def test_without_switches(self) -> None:
        if not pathlib.Path(DRIVER).exists():
            skip_loudly(f"{DRIVER} is not built")
            self.skipTest("not built")
        for mode, least in (("own", 12), ("mixed", 24)):
            with self.subTest(mode=mode):
                self.run_it(self.dynamic, mode, before=(DRIVER, ".", "--exec", "--refuse=1", "--"))
                self.assertGreater(sum(ns for _, _, ns in self.calls().values()), 0.6 * least * 25e6)
                self.check_apart()

    def test_nothing_twice(self) -> None:
        self.record(self.dynamic, "sleep")
        self.assertEqual(self.calls("is_outside"), {})
        self.assertEqual(self.calls()["nanosleep"][1], 12)

    def test_both_in_turns(self) -> None:
        self.record(self.dynamic, "mixed")
        self.assertEqual(self.calls("not is_outside")["nanosleep"][1], 12)
        outside = self.calls("is_outside")
        self.assertEqual(set(outside), {"clock_nanosleep"})
        self.assertLessEqual(outside["clock_nanosleep"][1], 12)
        self.assertGreaterEqual(outside["clock_nanosleep"][1], 9)
        self.check_apart()
        host = self.answer()["ranks"][0]["host_time"]
        states = sum(host[f"task_{state}_ns"] for state in ("running", "runnable", "waiting", "unknown"))
        self.assertAlmostEqual(host["step_ns"], states, delta=4)  # means of steps, where its two naps are taken for one
        self.assertLessEqual(host["sleep_ns"], host["task_waiting_ns"])


class Cost(Case):
    def test_of_the_supervisor(self) -> None:
        """A percent of a CPU for looks, and what it does anyway."""
        for threads in (1, 50, 300):
            with self.subTest(threads=threads):
                self.record(self.static, "idle", threads)
                spent = self.rows("select value from metadata where key = 'holdup.recording_beside_command_ns'")
                self.assertLess(int(spent[0]["value"]), 0.06 * 2e9)


class Denied(Case):
    def test_said_once(self) -> None:
        build = pathlib.Path(EXE).parent
        public = for_nobody(self, EXE, build / "libholdup-inject.so", self.static)
        public.chmod(0o777)
        done = subprocess.run([*NOBODY, public / "holdup", "run", "-f", "-o", "out", "--no-report", "--", public / "outside", "hidden"], cwd=public,
                              capture_output=True, text=True, timeout=60, env=environment(), check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("what threads wait for outside of recorded calls is not known"), 1, done.stderr)
        self.assertIn("/proc/PID/syscall cannot be read", done.stderr)


class Go(Case):
    def setUp(self) -> None:
        super().setUp()
        if not shutil.which("go"):
            skip_loudly("go is not installed")
            self.skipTest("no go")
        (self.folder / "main.go").write_text(PARKED)
        (self.folder / "go.mod").write_text("module parked\n\ngo 1.21\n")
        built = subprocess.run(["go", "build", "-o", "parked", "."], cwd=self.folder, capture_output=True, text=True,
                               env={**os.environ, "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}, check=False)
        self.assertEqual(built.returncode, 0, built.stderr)

    def test_mutex_over_a_sleep(self) -> None:
        done = self.record(self.folder / "parked")
        self.assertEqual(done.stdout, "30\n")
        self.assertFalse({"futex", "nanosleep", "epoll_pwait"} & set(self.calls()))  # sysmon's naps and idle threads accuse nobody
        text = " ".join(recorder.holdup("report", self.folder / "out.pftrace").stdout.split())
        self.assertRegex(text, r"No thread of this Go program runs for [789]\d(\.\d)? % of the run")
        # on a crowded machine there is a finding: the CPUs that it lacks
        self.assertRegex(text, "all goroutines wait|CPU starvation")
        self.assertNotIn("sleeps", text)

    def test_as_a_child(self) -> None:
        self.record("sh", "-c", f"{self.folder / 'parked'}; true")
        text = " ".join(recorder.holdup("report", self.folder / "out.pftrace").stdout.split())
        self.assertIn("it waits in Go's scheduler, for what was not recorded", text)
        # on a crowded machine there is a finding: the CPUs that it lacks
        self.assertRegex(text, "Cannot tell what would save time: what goroutines wait for was not recorded|CPU starvation")

    def test_small_writes(self) -> None:
        self.record(self.folder / "parked", self.folder / "lines")
        text = " ".join(recorder.holdup("report", self.folder / "out.pftrace").stdout.split())
        self.assertRegex(text, r"\d\d(\.\d)? % of its CPU samples are in the kernel for main\.putLine \(write\)")


if __name__ == "__main__":
    unittest.main()
