# SPDX-License-Identifier: Apache-2.0
"""A run that waits to be told to record: what it leaves on the disk meanwhile, and what it knows when it begins."""
from __future__ import annotations

import json
import pathlib
import subprocess
import time
from typing import Any

from tests.program import EXE, skip_loudly
from tests.recorder import Recorded, environment, holdup, once
from tests.test_monitor import wait_for

load_tests = once

NAPS = """
import pathlib, sys, threading, time
folder = pathlib.Path(sys.argv[1])

def nap():
    while not (folder / "end").exists():
        for _ in range(50):
            time.sleep(0.0003)

threads = [threading.Thread(target=nap) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
"""


class Armed(Recorded):
    def start(self, *words: Any) -> subprocess.Popen:
        process = subprocess.Popen([EXE, "run", "--no-report", "--session-new", self.folder.name, "-o", str(self.trace), *words, "--", "python3", str(self.script(NAPS)), str(self.folder)],
                                   env=environment(), cwd=self.folder, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate, timeout=60)
        self.addCleanup((self.folder / "end").touch)       # the program outlives its recorder, and has its stderr
        self.addCleanup(process.kill)
        return process

    def session(self) -> pathlib.Path:
        return next(iter(self.folder.glob(".holdup-*")))

    def switches(self, process: subprocess.Popen) -> int:
        """Of all threads of the program."""
        n = 0
        for task in pathlib.Path("/proc").glob("[0-9]*/task/*/status"):
            try:
                if str(self.folder).encode() in (task.parent / "cmdline").read_bytes() and int(task.parts[2]) != process.pid:
                    n += sum(int(line.split()[1]) for line in task.read_text().splitlines() if "ctxt_switches" in line)
            except OSError:
                continue
        return n

    def test_a_run_that_is_never_started_leaves_nothing(self) -> None:
        for words, why in ((("--mode", "off"), "recording was not started (`holdup start "), (("--delay", "600"), "the command ended before --delay was over")):
            done = holdup("run", *words, "-o", self.trace, "--", "echo", "hello", cwd=self.folder)
            self.assertEqual((done.returncode, done.stdout), (0, "hello\n"), done.stderr)
            self.assertIn(why, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertEqual(list(self.folder.iterdir()), [], "no trace, no session")

    def test_an_armed_run_keeps_no_switches_and_knows_who_waits(self) -> None:
        process = self.start("--mode", "off")
        wait_for(lambda: self.switches(process) > 20000, "many switches")
        sizes = [p.stat().st_size for p in self.session().glob("perf.*")]
        if not sizes:
            skip_loudly("no perf events: what an armed run keeps of them is not tested")
            self.skipTest("no perf events")
        # a switch is a record of 32 bytes
        self.assertLess(sum(sizes), 32 * 20000 / 2)
        self.assertEqual(holdup("start", self.folder.name).returncode, 0)
        time.sleep(1)
        self.assertEqual(holdup("stop", self.folder.name).returncode, 0)
        (self.folder / "end").touch()
        said = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 0, said)
        host = json.loads(holdup("report", self.trace, "--json").stdout)["ranks"][0]["host_time"]
        self.assertEqual(host["states_from"], "switches")
        # it waits in join() from before the recording began until after it: no switch of it is inside
        self.assertGreater(host["task_waiting_ns"], 0.8 * host["step_ns"], host)
        self.assertLess(host["running_ns"], 0.2 * host["step_ns"], host)
