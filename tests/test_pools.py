# SPDX-License-Identifier: Apache-2.0
"""Threads that others wait for, and ends of pipes: what is said of them where much else happened, or nothing is known.  Plants and
nulls of the findings themselves are in tests/rule_traces.py."""
from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
from typing import Any

from tests.host_traces import DEAD, MS, RUNNING, SLEEPING, Recording, Thread
from tests.pftrace import INSTANT, event, packet
from tests.program import EXE, SANITIZED, report, skip_loudly
from tests.recorder import holdup

PIPE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int n, char **v)
{
    char block[4096] = {0};
    int  ends[2];
    long us = atol(v[n - 1]);
    if (pipe(ends))
        return 1;
    if (fork() == 0) {
        close(ends[1]);
        while (read(ends[0], block, sizeof block) > 0)
            if (us)
                usleep(us);
        _exit(0);
    }
    close(ends[0]);
    for (int i = 0; i < 120; i++) {
        for (volatile int k = 0; k < 200000; k++)
            ;
        if (write(ends[1], block, sizeof block) < 0)
            return 1;
    }
    close(ends[1]);
    return wait(NULL) < 0;
}
"""


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-pools-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)


class Recorded(Case):
    def test_places_of_other_threads_are_kept(self) -> None:
        """A main thread that once looked up 300 files hides neither what its thread waits for nor where."""
        recording = Recording(1000 * MS)
        recording.facts(cpus=2)
        recording.process(100, "job")
        main = recording.thread(100, name="job")
        main.state(RUNNING)
        for i in range(300):
            main.call("openat", 2000, path=f"/data/{i}")
        worker = recording.thread(100, 101, "loader", main.now)
        worker.state(RUNNING)
        for _ in range(20):
            worker.waits("recv", worker.now + 10 * MS)
            worker.runs(MS // 10)
        worker.state(DEAD)
        main.waits("pthread_join", worker.now + MS // 50)
        main.state(DEAD)
        said = report(recording.write(self.folder / "run.pftrace"))
        self.assertEqual(said["findings"][0]["id"], "io-stall")
        self.assertIn("waits for the network", said["findings"][0]["statement"])
        self.assertIn("most of it in recv", said["findings"][0]["statement"])
        self.assertNotIn("/data/", said["findings"][0]["statement"])

    def main_alone(self) -> tuple[Recording, Thread]:
        recording = Recording(1000 * MS)
        recording.facts(cpus=2)
        recording.process(100, "job")
        main = recording.thread(100, name="job")
        main.state(RUNNING)
        return recording, main

    def first(self, recording: Recording, main: Thread) -> dict[str, Any]:
        main.state(DEAD)
        return report(recording.write(self.folder / "run.pftrace"))["findings"][0]

    def test_what_is_spread_over_many_files_is_not_in_one(self) -> None:
        """A hundred files, one of which takes two hundredths: no "most of it". Fixes are those of reading."""
        recording, main = self.main_alone()
        for i in range(100):
            main.call("read", (2 if i == 50 else 1) * MS, path=f"/data/{i}")
            main.runs(MS // 2)
        found = self.first(recording, main)
        self.assertEqual(found["id"], "io-stall")
        self.assertRegex(found["statement"], r"^The main thread reads files\. .*, in many places: 2\.0 % of it in read of /data/50")
        self.assertNotIn("most of it", found["statement"])
        self.assertIn("read ahead", found["fix"])
        self.assertNotIn("torch", found["fix"])

    def test_a_long_path_is_said_to_be_cut(self) -> None:
        recording, main = self.main_alone()
        main.call("read", 100 * MS, path="/" + "folder/" * 20 + "file")
        main.runs(50 * MS)
        statement = self.first(recording, main)["statement"]
        self.assertRegex(statement, r"most of it in read of …[^…]{72}\.$")

    def test_fixes_are_whole(self) -> None:
        """Of each kind of call: what ends in the middle of a word is no advice."""
        for call, end in (("fsync", "power loss"), ("read", "to a local one first"), ("openat", "a local disk"), ("write", "to a local disk first"),
                          ("recv", "stays open")):
            with self.subTest(call):
                recording, main = self.main_alone()
                main.call(call, 100 * MS, path="/data/file")
                main.runs(50 * MS)
                found = self.first(recording, main)
                self.assertEqual(found["id"], "io-stall")
                self.assertTrue(found["fix"].endswith(end), found["fix"])

    def test_steps_are_no_places(self) -> None:
        """Marks with the number of the step do not divide one place into as many as there are steps."""
        recording, main = self.main_alone()
        for i in range(10):
            with main.range(f"step {i}"):
                main.call("fsync", (5 + i) * MS, path="/data/log")
                main.runs(5 * MS)
        found = self.first(recording, main)
        self.assertIn("most of it in fsync of /data/log", found["statement"])
        self.assertNotIn("in step", found["statement"])
        self.assertRegex(found["evidence"][0], "; 10 calls in the whole capture")

    def test_whose_threads_take_the_cpus(self) -> None:
        """A main thread that waits for a CPU for 100 ms, beside threads of its own that computed for 0, 2 or 180 ms."""
        for own_ms, are_others in ((0, True), (2, True), (180, False)):
            with self.subTest(own_ms):
                recording, main = self.main_alone()
                other = recording.thread(100, 101, "other", main.now)
                other.state(RUNNING)
                other.runs(own_ms * MS)
                other.state(DEAD)
                for _ in range(10):
                    main.runs(5 * MS)
                    main.starved(10 * MS)
                main.runs(5 * MS)
                found = self.first(recording, main)
                self.assertEqual(found["id"], "cpu-starved")
                self.assertEqual(any("others have" in line for line in found["evidence"]), are_others, found)
                self.assertEqual(found["fix"].startswith("CPUs of its own: no other jobs on them"), are_others)

    def test_the_same_call_of_another_thread(self) -> None:
        """A main thread that reads a file for a moment, and a thread that reads from a server all the time."""
        recording = Recording(1000 * MS)
        recording.facts(cpus=2)
        recording.process(100, "job")
        main = recording.thread(100, name="job")
        main.state(RUNNING)
        main.call("read", 2000, path="/data/settings")
        worker = recording.thread(100, 101, "loader", main.now)
        worker.state(RUNNING)
        for _ in range(20):
            worker.waits("read", worker.now + 10 * MS, "network")
            worker.runs(MS // 10)
        worker.state(DEAD)
        main.waits("pthread_join", worker.now + MS // 50)
        main.state(DEAD)
        found = report(recording.write(self.folder / "run.pftrace"))["findings"][0]
        self.assertEqual(found["id"], "io-stall")
        self.assertIn("waits for the network", found["statement"])
        self.assertNotIn("settings", found["statement"])

    def test_what_comes_before_a_thread(self) -> None:
        """Nobody joins it, as in Python: main sleeps, starts it, and waits for its signal.  The first sleep is no part of the thread."""
        recording = Recording(1000 * MS)
        recording.facts(cpus=2)
        recording.process(100, "job")
        main = recording.thread(100, name="job")
        main.state(RUNNING)
        main.runs(MS)
        main.waits("nanosleep", main.now + 100 * MS)
        main.runs(MS)
        helper = recording.thread(100, 101, "helper", main.now - MS // 2)
        helper.state(RUNNING)
        helper.runs(MS)
        helper.waits("nanosleep", helper.now + 50 * MS)
        helper.runs(MS // 100)
        wake = {"object": "0x1000", "how": "post"}
        recording.out.append(packet(event(INSTANT, helper.uuid, "wake", "osrt", wake), ts=helper.now))
        main.state(SLEEPING)
        main.call("sem_wait", helper.now + MS // 50 - main.now, "wait", object="0x1000")
        main.state(RUNNING)
        helper.runs(MS)
        helper.state(DEAD)
        main.runs(2 * MS)
        main.state(DEAD)
        found = report(recording.write(self.folder / "run.pftrace"))["findings"][0]
        self.assertEqual(found["id"], "sleep")
        self.assertAlmostEqual(found["gain_pct"], 100 * 150 / 155, delta=2)

    def test_threads_that_wait_for_processes(self) -> None:
        """A pool of processes: main waits for a thread that waits for a pipe.  Finding nothing does not mean that there is nothing."""
        recording = Recording(1000 * MS)
        recording.facts(cpus=2)
        recording.process(100, "job")
        main, results = recording.thread(100, name="job"), recording.thread(100, 101, "results")
        for t in (main, results):
            t.state(RUNNING)
        results.waits("read", results.now + 200 * MS, "pipe")
        results.state(DEAD)
        main.waits("sem_wait", results.now, "wait")
        main.state(DEAD)
        said = report(recording.write(self.folder / "run.pftrace"))
        self.assertEqual(said["findings"], [])
        text = holdup("report", self.folder / "run.pftrace").stdout
        self.assertIn("Cannot tell what would save time: the main thread waits for threads that wait for pipes", " ".join(text.split()))

    def test_reader_outside(self) -> None:
        """Whoever reads is not recorded: then no process is accused."""
        recording = Recording(1000 * MS)
        recording.facts(cpus=2)
        recording.process(100, "job")
        recording.process(200, "other", 100)
        main, other = recording.thread(100, name="job"), recording.thread(200, name="other")
        for t in (main, other):
            t.state(RUNNING)
        for _ in range(20):
            main.runs(MS)
            main.waits("write", main.now + 9 * MS, "pipe")
            other.waits("read", other.now + 7 * MS, "pipe")
        for t in (main, other):
            t.now = max(main.now, other.now)
            t.state(DEAD)
        found = report(recording.write(self.folder / "run.pftrace"))["findings"][0]
        self.assertEqual((found["id"], found["confidence"]), ("slow-reader", "low"))
        self.assertIn("which process that is was not recorded", found["statement"])
        self.assertNotIn("other", found["statement"])


@unittest.skipIf(SANITIZED, "programs that take their time")
class Run(Case):
    def record(self, *command: object) -> str:
        env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        done = subprocess.run([str(EXE), "run", "-q", "-f", "-o", "out", "--", *map(str, command)],
                              capture_output=True, text=True, cwd=self.folder, env=env, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = report(self.folder / "out.pftrace")
        return said["verdict"]["text"] + "".join("\n" + f["id"] + " " + f["statement"] for f in said["findings"])

    def test_reader_that_sleeps(self) -> None:
        if not shutil.which("cc"):
            skip_loudly("no cc")
            self.skipTest("no cc")
        (self.folder / "pipe.c").write_text(PIPE)
        subprocess.run(["cc", "-O2", "-g", "-o", "feed", "pipe.c"], cwd=self.folder, check=True)
        text = self.record("./feed", 3000)
        self.assertRegex(text, r"slow-reader feed \(\d+\) waits for room in a pipe .*in write, called from main")
        named = re.search(r"Its reader is feed \(\d+\)(.*)", text)
        if named and named[1] != ".":       # on a crowded machine the reader may also wait for a CPU, or not be told for sure
            self.assertRegex(named[1], r"^, which for [\d.]+ % of that time sleeps: usleep, called from main\.$")
        self.assertNotIn("slow-reader", self.record("./feed", 0))


if __name__ == "__main__":
    unittest.main()
