# SPDX-License-Identifier: Apache-2.0
"""Child processes of a recorded command: who is waited for, how, and what it would save if they took less."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Any

from tests.host_traces import DEAD, MS, RUNNING, Recording, Thread
from tests.program import EXE, SANITIZED, report, run
from tests.recorder import environment, rows

US = 1000
START = 1000 * MS


def saves(edit: str, trace: pathlib.Path) -> float:
    """What an edit saves, in percent."""
    code, out, err = run("whatif", "--json", "-e", edit, trace)
    assert code == 0, err
    return float(json.loads(out)["edits"][0]["gain_pct"])


class Job:
    """A process with children; times of both are made up."""

    def __init__(self, cpus: int = 2) -> None:
        self.recording = Recording(START)
        self.recording.facts(cpus=cpus)
        self.recording.functions("squeeze", "prepare")
        self.recording.process(100, "job")
        self.main = self.recording.thread(100, name="job")
        self.main.state(RUNNING)
        self.main.runs(MS)
        self.last_pid = 200

    def child(self, name: str = "gzip", parent: int = 100, command: tuple[str, ...] = (), start: int | None = None) -> Thread:
        self.last_pid += 1
        self.recording.process(self.last_pid, name, parent, command)
        t = self.recording.thread(self.last_pid, start=self.main.now if start is None else start)
        t.state(RUNNING)
        return t

    def sleeps(self, ns: int) -> None:
        self.main.waits("nanosleep", self.main.now + ns)

    def write(self, folder: str) -> pathlib.Path:
        self.main.runs(MS)
        self.main.state(DEAD)
        return self.recording.write(pathlib.Path(folder) / "run.pftrace")

    def said(self) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            return report(self.write(folder))

    def finding(self, rule: str = "waited-child") -> dict[str, Any] | None:
        return next((f for f in self.said()["findings"] if f["id"] == rule), None)

    def without(self, edit: str) -> float:
        with tempfile.TemporaryDirectory() as folder:
            return saves(edit, self.write(folder))


class Waited(unittest.TestCase):
    def test_a_child_that_sleeps_does_no_work(self) -> None:
        job = Job()
        child = job.child("sleep")
        child.runs(MS)
        child.waits("nanosleep", child.now + 90 * MS)
        child.state(DEAD)
        job.main.waits("wait4", child.now + 20 * US, "child")
        headline = job.said()["verdict"]["text"]
        self.assertRegex(headline, r"The child that takes longest by itself is sleep: for 99 % of its 91\.0 ms in the whole run it sleeps")
        self.assertNotIn("work", headline)

    def test_one_child_alone(self) -> None:
        """Half of it, twice as fast or in two parts; all of it, if it were not there."""
        job = Job()
        child = job.child(command=("gzip", "-9", "logs/big.txt"))
        child.computes(100 * MS, 1)
        child.state(DEAD)
        job.main.waits("wait4", child.now + 20 * US, "child")
        job.main.computes(48 * MS, 2)
        said = job.said()
        found = said["findings"][0]
        self.assertEqual(found["id"], "waited-child")
        self.assertRegex(found["statement"], r"^job waits for its child process gzip \(big.txt\).* computes for 100 ms .*\(67 %\), most of it in squeeze")
        self.assertAlmostEqual(found["gain_pct"], 100 * 50 / 150, delta=1)
        self.assertAlmostEqual(found["gain_low_pct"], 0.95 * 100 * 50 / 150, delta=1)
        self.assertAlmostEqual(found["gain_high_pct"], 100 * 100 / 150, delta=1)
        self.assertRegex(found["statement"], r"Twice as fast, it would save about 33 %; nothing done to it can save more than 67 %\.$")
        self.assertAlmostEqual(job.without("child=0"), 100 * 100 / 150, delta=1)

    def test_most_of_the_run_has_a_bound_and_no_price(self) -> None:
        """From half of it to all of it is too far for a price, and the sentence has both: it is the first to look at all the same."""
        job = Job()
        child = job.child()
        child.computes(100 * MS, 1)
        child.state(DEAD)
        job.main.waits("wait4", child.now + 20 * US, "child")
        job.main.waits("read", job.main.now + 10 * MS)
        said = job.said()
        first, second = said["findings"][:2]
        self.assertEqual((first["id"], second["id"]), ("waited-child", "io-stall"))
        self.assertIsNone(first["gain_pct"])
        self.assertEqual(first["gain_low_pct"], 0)
        self.assertAlmostEqual(first["gain_high_pct"], 100 * 100 / 112, delta=1)
        self.assertRegex(first["statement"], r"Twice as fast, it would save about 45 %; nothing done to it can save more than 89 %\.$")
        self.assertRegex(said["verdict"]["text"], "Look there first: faster code saves at most 89 %")

    def test_beside_what_the_command_computes(self) -> None:
        """Of 100 ms those are left that the command's own 42, or 72, do not hide."""
        for cpus, own_ms, left in ((8, 40, "58.0 ms"), (2, 70, "28.0 ms")):
            with self.subTest(cpus=cpus, own_ms=own_ms):
                job = Job(cpus)
                child = job.child()
                child.computes(100 * MS, 1)
                child.state(DEAD)
                job.main.waits("wait4", child.now + 20 * US, "child")
                job.main.computes(own_ms * MS, 2)
                found = job.finding()
                assert found
                self.assertAlmostEqual(found["gain_pct"], 100 * 50 / (102 + own_ms), delta=1.5)
                self.assertRegex(" ".join(found["evidence"]), rf"all but {left} of it would be hidden")

    def test_what_most_of_the_run_is_comes_first(self) -> None:
        """A child whose two threads hardly leave a CPU free, and a file that takes the command 6 %, which are sure."""
        job = Job()
        child = job.child()
        other = job.recording.thread(child.pid, 999, start=child.now)
        other.state(RUNNING)
        other.computes(90 * MS, 1)
        other.state(DEAD)
        child.computes(100 * MS, 1)
        child.state(DEAD)
        job.main.waits("wait4", child.now + 20 * US, "child")
        job.main.waits("read", job.main.now + 7 * MS)
        first, second = job.said()["findings"][:2]
        self.assertEqual((first["id"], second["id"]), ("waited-child", "io-stall"))

    def test_a_driver_is_passed_over(self) -> None:
        """A shell that starts the one that computes."""
        job = Job()
        shell = job.child("sh")
        shell.runs(MS)
        child = job.child("sort", parent=201, start=shell.now)
        child.computes(100 * MS, 1)
        child.state(DEAD)
        shell.waits("wait4", child.now + 20 * US, "child")
        shell.runs(100 * US)
        shell.state(DEAD)
        job.main.waits("system", shell.now + 20 * US, "child")
        found = job.finding()
        assert found
        self.assertRegex(found["statement"], "^job waits for its child process sort, started by system")

    def pipe(self, late_us: int) -> Job:
        job = Job()
        child = job.child()
        child.computes(98 * MS, 1)
        child.starved(2 * MS)       # its reader has the CPU
        child.state(DEAD)
        job.main.waits("read", child.now + late_us * US, "pipe")
        return job

    def test_the_end_of_a_pipe(self) -> None:
        """Its reader may come first to a CPU, or last."""
        for late_us in (-2000, 20, 3000):
            with self.subTest(late_us=late_us):
                job = self.pipe(late_us)
                self.assertGreater(job.without("child=0"), 93)

    def test_not_everybody_is_a_child(self) -> None:
        """Somebody else's process that ends at the same time."""
        job = Job()
        other = job.child("other", parent=77)
        other.computes(100 * MS, 1)
        other.state(DEAD)
        job.main.waits("wait4", other.now + 20 * US, "child")
        self.assertEqual(job.without("child=0"), 0)
        self.assertIsNone(job.finding())

    def several(self, *lengths: int, name: str = "job", command: bool = False, function: int = 1) -> Job:
        """Started at once, waited for in turn."""
        job = Job()
        children = [job.child(name, command=(name, f"part{i}.txt") if command else ()) for i in range(len(lengths))]
        for t, ms in zip(children, lengths):
            t.computes(ms * MS, function)
            t.state(DEAD)
        for t in sorted(children, key=lambda t: t.now):
            if t.now > job.main.now:
                job.main.waits("wait4", t.now + 20 * US, "child")
        return job

    def test_forks_that_share_a_work(self) -> None:
        found = self.several(80, 20).finding()
        assert found
        self.assertRegex(found["statement"], r"2 child processes, which compute for 100 ms together. The longest, job, computes for 80.0 ms .* in squeeze")
        self.assertAlmostEqual(found["gain_pct"], 100 * 30 / 82, delta=2)
        self.assertGreater(found["gain_low_pct"], 25)

    def test_programs_with_a_work_each(self) -> None:
        """Nobody knows that they can be divided: in another order nothing is gained."""
        found = self.several(80, 20, name="convert", command=True).finding()
        self.assertIsNone(found)

    def test_nothing_to_gain(self) -> None:
        for what, job in (("equal", self.several(50, 50)), ("unknown", Job(0))):
            if what != "equal":
                child = job.child()
                child.computes(100 * MS, 1)
                child.state(DEAD)
                job.main.waits("wait4", child.now + 20 * US, "child")
            with self.subTest(what=what):
                self.assertIsNone(job.finding())

    def test_one_after_the_other(self) -> None:
        """Four tools in turn on two CPUs: half, if none needs the one before it."""
        job = Job()
        for i in range(4):
            child = job.child("tool", command=("tool", f"{i}.txt"))
            child.computes(25 * MS, 1)
            child.state(DEAD)
            job.main.waits("wait4", child.now + 20 * US, "child")
            job.main.runs(10 * US)
        found = job.finding()
        assert found
        self.assertRegex(found["statement"], "4 child processes in turn, which compute for 100 ms together")
        self.assertAlmostEqual(found["gain_pct"], 49, delta=2)
        self.assertEqual(found["gain_low_pct"], 0)

    def test_beside_a_parent_that_works(self) -> None:
        job = Job()
        child = job.child()
        child.computes(100 * MS, 1)
        child.state(DEAD)
        job.main.computes(105 * MS, 2)
        self.assertIsNone(job.finding())
        self.assertEqual(job.without("child=0"), 0)


class Polls(unittest.TestCase):
    """A parent that sleeps 100 ms between two looks at a child that takes 25."""

    def job(self, times: int = 4, looks: int = 1, life_ms: int = 25) -> Job:
        job = Job()
        for _ in range(times):
            child = job.child("convert")
            child.computes(life_ms * MS, 1)
            child.state(DEAD)
            for _look in range(looks):
                job.main.runs(50 * US)
                job.sleeps(100 * MS)
            job.main.runs(MS)
        return job

    def test_a_sleep_is_worth_what_is_left_of_it(self) -> None:
        for looks, life_ms in ((1, 25), (3, 225)):
            with self.subTest(looks=looks):
                job = self.job(looks=looks, life_ms=life_ms)
                found = job.finding("polled-child")
                assert found
                self.assertAlmostEqual(found["gain_pct"], 100 * 4 * 75 / (4 * (100 * looks + 1) + 2), delta=0.5)
                self.assertRegex(found["statement"], rf"sleeps \(nanosleep, up to 100 ms\) between two looks at a child process \(convert\) that takes {life_ms}")
                self.assertRegex(found["fix"], "wait for the child")
                self.assertIsNone(self.job(looks=looks, life_ms=life_ms).finding("sleep"))

    def test_a_shorter_child_is_seen_sooner(self) -> None:
        self.assertAlmostEqual(self.job(looks=3, life_ms=225).without("child=0"), 100 * 225 / 301, delta=2)

    def test_a_child_that_sleeps_itself(self) -> None:
        """What it sleeps is no part of the price."""
        job = Job()
        for _ in range(4):
            child = job.child("convert")
            child.waits("nanosleep", child.now + 20 * MS)
            child.runs(5 * MS)
            child.state(DEAD)
            job.sleeps(100 * MS)
            job.main.runs(MS)
        found = job.said()["findings"][0]
        self.assertEqual(found["id"], "polled-child")
        self.assertAlmostEqual(found["gain_pct"], 100 * 4 * 75 / 406, delta=0.5)

    def test_who_sleeps_on_did_not_look(self) -> None:
        """A child beside a program that sleeps for reasons of its own."""
        job = Job()
        child = job.child("logger")
        child.computes(130 * MS, 1)
        child.state(DEAD)
        for _ in range(10):
            job.sleeps(20 * MS)
            job.main.runs(50 * US)
        found = job.finding("sleep")
        assert found
        self.assertAlmostEqual(found["gain_pct"], 98, delta=1)
        self.assertIsNone(job.finding("polled-child"))


BURN = """
import sys, time
def squeeze(ms):
    end, x = time.process_time() + ms / 1000, 0
    while time.process_time() < end:
        for _ in range(1000): x += 1
squeeze(int(sys.argv[1]))
"""

PARENT = """
import os, subprocess, sys, time
how, child, ms = sys.argv[1], sys.argv[2], sys.argv[3]
word = [sys.executable, "-S", child, ms]
begin = time.monotonic()
if how == "spawn": os.waitpid(os.posix_spawn(word[0], word, os.environ), 0)
if how == "system": os.system(" ".join(word))
if how == "popen": os.popen(" ".join(word)).read()
if how == "subprocess": subprocess.run(word, check=True)
if how == "output": subprocess.run(word, check=True, capture_output=True)
if how == "poll":
    p = subprocess.Popen(word)
    while p.poll() is None: time.sleep(0.3)
if how == "fork":
    if os.fork() == 0:
        end = time.process_time() + int(ms) / 1000
        while time.process_time() < end: pass
        os._exit(0)
    os.wait()
print(1000 * (time.monotonic() - begin))
"""


class Recorded(unittest.TestCase):
    """Each way to start a child and to wait for it: the same answer."""

    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-children-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / "burn.py").write_text(BURN)
        (self.folder / "parent.py").write_text(PARENT)

    def record(self, *command: str) -> dict[str, Any]:
        done = subprocess.run([EXE, "run", "-f", "-q", "-o", "out", "--no-report", "--", *command], cwd=self.folder, capture_output=True, text=True,
                              timeout=120, env=environment(), check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return report(self.folder / "out.pftrace", "--cpus", "2")

    @unittest.skipIf(SANITIZED, "says nothing more about holdup")
    def test_ways(self) -> None:
        python = os.path.realpath(sys.executable)
        for how in ("spawn", "system", "popen", "subprocess", "output", "fork", "poll"):
            with self.subTest(how=how):
                answer = self.record(python, "-S", "parent.py", how, "burn.py", "400")
                host = answer["ranks"][0]["host_time"]
                child = [p for p in host["processes"] if p["pid"] != host["pid"]]
                found = next((f for f in answer["findings"] if f["id"] == "waited-child"), None)
                assert found, answer["verdict"]["text"]
                self.assertRegex(found["statement"], r"^python\S* \(parent.py\) waits for its child process python")
                self.assertRegex(answer["verdict"]["text"], "sleeps" if how == "poll" else "child processes|pipe|events on file descriptors")
                ran = max(p["cpu_ns"] for p in child) / host["step_ns"]
                self.assertGreater(saves("child=0", self.folder / "out.pftrace"), 97 * ran)     # and as much waiting for a CPU as it has
                self.assertLess(saves("child=0", self.folder / "out.pftrace"), 100)

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_vfork(self) -> None:
        """What is recorded first is recorded in the child, in its parent's memory: it is the parent's thread all the same."""
        (self.folder / "v.c").write_text("#include <unistd.h>\n#include <sys/wait.h>\n"
                                         'int main(void) { int status; pid_t p = vfork(); if (p == 0) { execl("/bin/sleep", "sleep", "0.2", (char *)0);'
                                         " _exit(1); } return waitpid(p, &status, 0) != p; }\n")
        subprocess.run(["cc", "-o", "v", "v.c"], cwd=self.folder, check=True)
        answer = self.record("./v")
        waits = rows(self.folder / "out.pftrace", "select pid, tid, dur_ns from os_call where name in ('waitpid', 'wait4')")
        self.assertEqual([w["tid"] for w in waits], [w["pid"] for w in waits])
        self.assertRegex(answer["verdict"]["text"], "^v waits for its child processes .* is sleep: .* it sleeps")

    @unittest.skipUnless(shutil.which("make") and shutil.which("sh"), "no make")
    @unittest.skipIf(SANITIZED, "says nothing more about holdup")
    def test_make(self) -> None:
        """Three short recipes and a long one: the long one is named, and the replay follows the jobs."""
        python = os.path.realpath(sys.executable)
        (self.folder / "Makefile").write_text("all: a b c d\n" + "".join(f"{n}:\n\t@{python} -S burn.py {ms}\n" for n, ms in zip("abcd", (80, 80, 80, 400))))
        answer = self.record("make", "-j2")
        found = next(f for f in answer["findings"] if f["id"] == "waited-child")
        self.assertRegex(found["statement"], r"make waits for 4 child processes.*The longest, python\S* \(burn.py\), computes for 4\d\d ms")
        self.assertGreater(saves("child=0", self.folder / "out.pftrace"), 85)


if __name__ == "__main__":
    unittest.main()
