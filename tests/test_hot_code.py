# SPDX-License-Identifier: Apache-2.0
"""`hot-code`: the function in which a job computes while it waits for nothing else.  Traces whose shares are known, and a program that `perf` samples too."""
from __future__ import annotations

import pathlib
import platform
import re
import shutil
import subprocess
import tempfile
import unittest
from collections import Counter
from typing import Any

from tests.host_traces import DEAD, MS, RUNNING, SLEEPING, Recording, Thread
from tests.pftrace import CLEARED, NEEDS, message, packet
from tests.program import ROOT, SANITIZED, report, skip_loudly
from tests.recorder import holdup, rows
from tests.test_perf import REFUSAL

POINTS = 5.0                    # perf and holdup may differ by this much


class Chains:
    """Call chains of a recording, "function module" from the innermost on, each with its number."""

    def __init__(self, recording: Recording, *chains: tuple[str, ...]) -> None:
        self.recording = recording
        strings: dict[str, int] = {}
        parts: list[tuple[int, Any]] = []
        frames: dict[str, int] = {}
        modules: dict[str, int] = {}
        for number, chain in enumerate(chains, 1):
            for frame in chain:
                name, _, module = frame.rpartition(" ")
                if frame in frames:
                    continue
                for text, kind in ((name, 5), (module, 17)):
                    if text and (text, kind) not in strings:
                        strings[text, kind] = len(strings) + 1
                        parts.append((kind, message((1, strings[text, kind]), (2, text))))
                if module not in modules:
                    modules[module] = len(modules) + 1
                    parts.append((19, message((1, modules[module]), (7, [strings[module, 17]]))))
                frames[frame] = len(frames) + 1
                named = [(2, strings[name, 5])] if name else []
                parts.append((6, message((1, frames[frame]), *named, (3, modules[module]), (4, 16 * frames[frame]))))
            parts.append((7, message((1, number), (2, [frames[f] for f in reversed(chain)]))))
        each = (59, message((12, message((1, message((1, MS), (4, 1)))))))
        recording.out.append(packet((12, message(*parts)), each, ts=recording.start, flags=CLEARED))

    def compute(self, thread: Thread, ms: int, chain: int, mode: int = 2) -> None:
        """A sample at the end of each millisecond."""
        for at in range(thread.now + MS - 1, thread.now + ms * MS, MS):
            self.recording.out.append(packet((66, message((2, thread.pid), (3, thread.tid), (4, chain), (5, mode))), ts=at, flags=NEEDS))
        thread.now += ms * MS


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-hot-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.recording = Recording(1000 * MS)
        self.recording.facts(cpus=2)
        self.recording.process(100, "job")
        self.main = self.recording.thread(100, name="job")
        self.main.state(RUNNING)

    def thread(self, tid: int) -> Thread:
        t = self.recording.thread(100, tid, f"worker-{tid}", self.main.now)
        t.state(RUNNING)
        return t

    def said(self, *threads: Thread) -> dict[str, Any]:
        for t in (*threads, self.main):
            t.state(DEAD)
        return report(self.recording.write(self.folder / "run.pftrace"))

    def hot(self, said: dict[str, Any]) -> dict[str, Any] | None:
        return next((f for f in said["findings"] if f["id"] == "hot-code"), None)

    def found(self, *threads: Thread) -> dict[str, Any]:
        said = self.said(*threads)
        finding = self.hot(said)
        self.assertIsNotNone(finding, [f["id"] for f in said["findings"]])
        return finding

    def share(self, finding: dict[str, Any]) -> float:
        return float(re.search(r"for (\d+(?:\.\d)?) % of the run", finding["statement"]).group(1))


class Traces(Case):
    def test_it_has_a_bound_and_no_gain(self) -> None:
        chains = Chains(self.recording, ("fit job", "main job"), ("load job", "main job"))
        for _ in range(10):
            chains.compute(self.main, 6, 1)
            chains.compute(self.main, 4, 2)
        said = self.said()
        finding = self.hot(said)
        self.assertEqual([f["id"] for f in said["findings"]], ["hot-code"])
        self.assertEqual((finding["gain_pct"], finding["gain_low_pct"], finding["step_after_ns"]), (None, 0, None))
        self.assertTrue(60 < finding["gain_high_pct"] < 75, finding["gain_high_pct"])
        self.assertEqual(self.share(finding), 60)
        self.assertIn("fit (job) computes", finding["statement"])
        self.assertIn("save about 30 %", finding["statement"])
        self.assertTrue(any("main calls it" in e for e in finding["evidence"]), finding["evidence"])
        self.assertIn("at most", said["verdict"]["text"])
        text = holdup("report", self.folder / "run.pftrace").stdout
        self.assertRegex(text, r"at most −[\d.]+ %, amount unknown")

    def test_what_others_compute_beside_is_not_told(self) -> None:
        chains = Chains(self.recording, ("compress job",))
        helper = self.thread(101)
        chains.compute(helper, 100, 1)
        self.main.call("recv", 100 * MS)
        self.assertIsNone(self.hot(self.said(helper)))

    def test_a_thread_that_is_waited_for_without_a_recorded_call(self) -> None:
        chains = Chains(self.recording, ("compress job",), ("open job",))
        helper = self.thread(101)
        self.main.state(SLEEPING)
        chains.compute(helper, 80, 1)
        self.main.now = helper.now
        self.main.state(RUNNING)
        chains.compute(self.main, 20, 2)
        finding = self.found(helper)
        self.assertEqual(self.share(finding), 80)
        self.assertTrue(any("another thread" in e for e in finding["evidence"]))

    def test_threads_at_once_share_what_is_waited_for(self) -> None:
        chains = Chains(self.recording, ("count job",), ("sort job",))
        helpers = [self.thread(101), self.thread(102)]
        self.main.state(SLEEPING)
        chains.compute(helpers[0], 100, 1)
        for _ in range(50):
            chains.compute(helpers[1], 1, 1)
            chains.compute(helpers[1], 1, 2)
        self.main.now = helpers[0].now
        self.main.state(RUNNING)
        finding = self.found(*helpers)
        self.assertEqual(self.share(finding), 75)
        self.assertTrue(any("perf c2c" in e for e in finding["evidence"]))
        self.assertIn("faster alone, it may save nothing", finding["statement"])

    def test_threads_in_one_function_get_faster_together(self) -> None:
        chains = Chains(self.recording, ("count job",))
        helpers = [self.thread(101), self.thread(102)]
        self.main.state(SLEEPING)
        for helper in helpers:
            chains.compute(helper, 100, 1)
        self.main.now = helpers[0].now
        self.main.state(RUNNING)
        finding = self.found(*helpers)
        self.assertEqual(self.share(finding), 100)
        self.assertIn("save about 50 %", finding["statement"])

    def test_a_thread_that_is_joined_is_told_once(self) -> None:
        chains = Chains(self.recording, ("decode job",))
        helper = self.thread(101)
        chains.compute(helper, 100, 1)
        self.main.waits("pthread_join", helper.now)
        said = self.said(helper)
        self.assertEqual([f["id"] for f in said["findings"]], ["waited-thread"])

    def test_libraries_count_for_who_calls_them(self) -> None:
        chains = Chains(self.recording, ("memmove libc.so.6", "join_lines job", "main job"), ("scan job", "main job"))
        chains.compute(self.main, 70, 1)
        chains.compute(self.main, 30, 2)
        finding = self.found()
        self.assertIn("join_lines (job) and what it calls compute for 70 %", finding["statement"])
        self.assertTrue(any("memmove (libc.so.6)" in e for e in finding["evidence"]), finding["evidence"])

    def test_without_a_caller_the_library_is_told(self) -> None:
        chains = Chains(self.recording, ("strlen libc.so.6",))
        chains.compute(self.main, 100, 1)
        self.assertIn("strlen (libc.so.6) computes", self.found()["statement"])

    def test_go_moves_its_main_function(self) -> None:
        chains = Chains(self.recording, ("runtime.memmove job", "runtime.concatstrings job", "main.join job", "runtime.main job"),
                        ("runtime.futex job", "runtime.mcall job"))
        helper = self.thread(101)
        chains.compute(self.main, 30, 1)
        self.main.state(SLEEPING)
        helper.now = self.main.now
        chains.compute(helper, 70, 1)
        self.main.now = helper.now
        self.main.state(RUNNING)
        finding = self.found(helper)
        self.assertIn("main.join (job)", finding["statement"])
        self.assertIn("go tool pprof", finding["fix"])

    def test_code_of_a_jit_has_no_name(self) -> None:
        chains = Chains(self.recording, ("[anon]+0x10 anon",))
        chains.compute(self.main, 100, 1)
        finding = self.found()
        self.assertIn("JIT", finding["statement"])
        self.assertEqual(finding["confidence"], "low")
        self.assertIn("PreserveFramePointer", finding["fix"])

    def test_the_interpreter_is_one_thing(self) -> None:
        chains = Chains(self.recording, ("_PyEval_EvalFrameDefault python3.11", "main python3.11"), ("PyLong_Add python3.11", "main python3.11"))
        chains.compute(self.main, 50, 1)
        chains.compute(self.main, 50, 2)
        finding = self.found()
        self.assertIn("Python interpreter (python3.11)", finding["statement"])
        self.assertEqual(self.share(finding), 100)
        self.assertIn("-X perf", finding["fix"])

    def test_threads_that_end_before_their_first_sample_are_told(self) -> None:
        """Of 30 threads that run for less than a period there is no sample."""
        for ns, told in ((MS // 2, True), (MS, False)):
            with self.subTest(ns=ns):
                self.setUp()
                chains = Chains(self.recording, ("start job",), ("part job",))
                chains.compute(self.main, 12, 1)
                helpers = [self.thread(101 + i) for i in range(40)]
                for helper in helpers:
                    if ns == MS:
                        chains.compute(helper, 1, 2)
                    else:
                        helper.runs(ns)
                self.main.runs(MS)
                text = self.said(*helpers)["verdict"]["text"]
                self.assertEqual("Samples cover" in text, told, text)

    def test_spinning_at_a_barrier_is_no_code(self) -> None:
        chains = Chains(self.recording, ("gomp_team_barrier_wait libgomp.so.1", "main job"))
        chains.compute(self.main, 100, 1)
        self.assertIsNone(self.hot(self.said()))

    def test_few_samples_say_nothing(self) -> None:
        chains = Chains(self.recording, ("fit job",))
        chains.compute(self.main, 15, 1)
        self.assertIsNone(self.hot(self.said()))

    def test_a_sure_small_gain_comes_first_only_if_it_is_no_trifle(self) -> None:
        for ms, first in ((4, "hot-code"), (40, "sleep")):
            with self.subTest(ms=ms):
                self.setUp()
                chains = Chains(self.recording, ("fit job",))
                chains.compute(self.main, 60, 1)
                self.main.state(SLEEPING)
                self.main.call("nanosleep", ms * MS)
                self.main.state(RUNNING)
                chains.compute(self.main, 40, 1)
                said = self.said()
                self.assertEqual(said["findings"][0]["id"], first)
                self.assertEqual(len(said["findings"]), 2)


class Programs(unittest.TestCase):
    """Shares of a real program, by holdup and by perf."""

    def test_shares_are_those_of_perf(self) -> None:
        if REFUSAL or SANITIZED:
            skip_loudly(REFUSAL.strip() or "sanitized")
            self.skipTest("no perf_event_open")
        if not shutil.which("perf"):
            skip_loudly("no perf")
            self.skipTest("no perf")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            subprocess.run(["cc", "-O2", "-fno-omit-frame-pointer", "-o", folder / "parts", ROOT / "tests/hot/parts.c"], check=True)
            subprocess.run(["perf", "record", "-q", "-F", "999", "-g", "-o", folder / "perf.data", folder / "parts", "100000"], check=True,
                           capture_output=True, timeout=120)
            lines = subprocess.run(["perf", "script", "-i", folder / "perf.data", "-F", "ip,sym"], check=True, capture_output=True, text=True, timeout=120).stdout
            leaves = Counter(block.split()[1] for block in lines.split("\n\n") if len(block.split()) > 1)
            theirs = (leaves["grind"], leaves["polish"])
            done = holdup("run", "--sample=999", "--no-report", "-f", "-o", folder / "run.pftrace", "--", folder / "parts", "100000")
            self.assertEqual(done.returncode, 0, done.stderr)
            said = report(folder / "run.pftrace")
        host = said["ranks"][0]["host_time"]
        counted = {r["name"]: r["self_samples"] for r in said["ranks"][0]["cpu_samples"]["functions"]}
        ours = (counted["grind"], counted["polish"])
        shares = [100 * grind / (grind + polish) for grind, polish in (ours, theirs)]
        error = sum(2100 / (grind + polish) for grind, polish in (ours, theirs)) ** 0.5          # of their difference: p (1 - p) is 0.21
        self.assertLess(abs(shares[0] - shares[1]), max(POINTS, 3 * error), (ours, theirs))
        if host["running_ns"] > host["step_ns"] / 2:        # on a crowded machine it mostly waits for a CPU
            finding = next(f for f in said["findings"] if f["id"] == "hot-code")
            self.assertIn("grind (parts) computes", finding["statement"])

    @unittest.skipUnless(platform.machine() == "x86_64", "only there")
    def test_callers_are_known_without_frame_pointers(self) -> None:
        """A leaf saves nothing even where frame pointers are asked for, and then its caller was missing."""
        if REFUSAL or SANITIZED:
            skip_loudly(REFUSAL.strip() or "sanitized")
            self.skipTest("no perf_event_open")
        for flags in (["-fomit-frame-pointer"], ["-fno-omit-frame-pointer"]):
            with self.subTest(flags=flags), tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                subprocess.run(["cc", "-O2", *flags, "-o", folder / "parts", ROOT / "tests/hot/parts.c"], check=True)
                done = holdup("run", "--no-report", "-f", "-o", folder / "run.pftrace", "--", folder / "parts", "50000")
                self.assertEqual(done.returncode, 0, done.stderr)
                stacks = rows(folder / "run.pftrace", "select stack, count(*) as n from cpu_sample group by 1")
                finding = report(folder / "run.pftrace")["findings"][0]
            inside = {r["stack"]: int(r["n"]) for r in stacks if re.search("grind|polish", r["stack"])}
            self.assertGreater(sum(inside.values()), 20)
            self.assertGreater(sum(n for s, n in inside.items() if re.search("main;(grind|polish)", s)), 0.95 * sum(inside.values()), inside)
            self.assertTrue(any("main calls it" in e for e in finding["evidence"]) or finding["id"] != "hot-code", finding["evidence"])

if __name__ == "__main__":
    unittest.main()
