# SPDX-License-Identifier: Apache-2.0
"""What recorded waits were for, from where they were called, and who woke whom: in the .pftrace, with all names."""
from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from tests import pf_events, recorder
from tests.pf_events import Event
from tests.program import EXE, ROOT, SANITIZED, skip_loudly

# kind: the call that waits, its object, how it is woken, whether the holder is known
KINDS = {
    "mutex": ("pthread_mutex_lock", "the_mutex", "unlock", True),
    "timedlock": ("pthread_mutex_timedlock", "the_mutex", "unlock", True),
    "read": ("pthread_rwlock_rdlock", "the_rwlock", "unlock", True),
    "write": ("pthread_rwlock_wrlock", "the_rwlock", "unlock", True),
    "readers": ("pthread_rwlock_wrlock", "the_rwlock", "unlock", False),
    "spin": ("pthread_spin_lock", "the_spin", "unlock", False),
    "mtx": ("pthread_mutex_lock", "the_mtx", "unlock", True),
    "condition": ("pthread_cond_wait", "the_cond", "signal", False),
    "broadcast": ("pthread_cond_wait", "the_cond", "broadcast", False),
    "timedwait": ("pthread_cond_timedwait", "the_cond", "signal", False),
    "cnd": ("pthread_cond_wait", "the_cnd", "signal", False),
    "semaphore": ("sem_wait", "the_sem", "post", False),
    "sem_timedwait": ("sem_timedwait", "the_sem", "post", False),
    "barrier": ("pthread_barrier_wait", "the_barrier", "broadcast", False),
    "futex": ("futex", "the_futex", "futex", False),
}
MS = 1_000_000


def load_tests(_loader, tests, _pattern):
    """The recorder works in other programs, without sanitizers: once is enough."""
    return unittest.TestSuite() if SANITIZED else tests


def wakes_of(events: list[Event], wait: Event) -> list[Event]:
    """The wake-ups of a wait's object while it lasted, of others."""
    return [e for e in events if e.name == "wake" and e.is_instant and e.notes["object"] == wait.notes["object"] and
            wait.start <= e.start <= wait.end and e.tid != wait.tid]


class Wakes(unittest.TestCase):
    folder: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-wakes-"))
        cls.program = recorder.build(cls.folder, "wakes")

    @classmethod
    def tearDownClass(cls) -> None:
        shutil.rmtree(cls.folder)

    def record(self, *words: object, trace: str = "osrt", status: int = 0) -> list[Event]:
        path = self.folder / "run.pftrace"
        done = recorder.holdup("run", "--trace", trace, "--no-report", "--force", "-o", path, "--", *words)
        self.assertEqual(done.returncode, status, done.stderr)
        self.said = done
        return pf_events.read(path)

    def pair(self, events: list[Event], name: str, least_ms: float = 10) -> tuple[Event, Event]:
        """The one long wait, and what woke it last."""
        waits = [e for e in events if e.name == name and e.category == "os_call" and e.end - e.start >= least_ms * MS]
        self.assertEqual(len(waits), 1, events)
        wakes = wakes_of(events, waits[0])
        self.assertTrue(wakes, events)
        return waits[0], wakes[-1]

    def test_every_kind(self) -> None:
        for kind, (call, name, how, has_holder) in KINDS.items():
            with self.subTest(kind):
                events = self.record(self.program, kind)
                wait, wake = self.pair(events, call)
                self.assertEqual((wait.notes["object_name"], wait.notes["caller"]), (name, "waits_for"))
                self.assertRegex(wait.notes["object"], r"^0x[0-9a-f]+$")
                self.assertEqual((wake.notes["object_name"], wake.notes["caller"], wake.notes["how"], wake.category), (name, "wakes_it", how, "osrt"))
                self.assertEqual(len(wakes_of(events, wait)), 1)
                self.assertEqual(wait.notes.get("holder"), wake.tid if has_holder else None)
                self.assertEqual("mutex" in wait.notes, "cond" in call)

    def test_eventfd(self) -> None:
        for kind in ("eventfd", "write8"):
            with self.subTest(kind):
                events = self.record(self.program, kind)
                read = next(e for e in events if e.name == "read" and e.end - e.start > 10 * MS)
                self.assertEqual(read.notes["caller"], "waits_for")
                wakes = [e for e in events if e.name == "wake"]
                self.assertEqual([(w.notes["object"], w.notes["how"], w.notes["caller"]) for w in wakes],
                                 [(f"fd {read.notes['fd']}", "eventfd", "wakes_it")])
                self.assertTrue(wakes[0].tid != read.tid and read.start < wakes[0].start < read.end)

    def test_nobody_is_woken_who_does_not_wait(self) -> None:
        """Thousands of unlocks, signals and posts: after waits that ended by time, by a cancellation or by a jump, too."""
        for kind in ("none", "timed_out", "cancelled", "jumped"):
            with self.subTest(kind):
                events = self.record(self.program, kind)
                self.assertEqual([e for e in events if e.name == "wake"], [])
                self.assertEqual(len([e for e in events if e.name == "pthread_cond_timedwait"]), 50 if kind == "timed_out" else 0)

    def test_fork(self) -> None:
        """A thread waits in the parent; in the child nobody does, and its own waits are its own."""
        events = self.record(self.program, "forked")
        wait, wake = self.pair([e for e in events if e.name != "waitpid"], "pthread_mutex_lock")
        parent = next(e for e in events if e.name == "waitpid")
        self.assertNotEqual(wait.pid, parent.pid)
        self.assertEqual((wait.notes["caller"], wake.pid), ("waits_for", wait.pid))
        self.assertEqual([e for e in events if e.name == "wake"], [wake])
        self.assertEqual(parent.notes["caller"], "main")

    def test_deadlock(self) -> None:
        """Calls that never returned say what for, from where, and who has it."""
        events = self.record(self.program, "deadlocked", status=128 + 9)
        waits = {e.notes["object_name"]: e for e in events if e.name == "pthread_mutex_lock"}
        self.assertEqual(set(waits), {"first", "second"})
        self.assertEqual({e.notes["caller"] for e in waits.values()}, {"locks_both"})
        self.assertTrue(all(e.notes["unfinished"] for e in waits.values()))
        self.assertEqual(waits["first"].notes["holder"], waits["second"].tid)
        self.assertEqual(waits["second"].notes["holder"], waits["first"].tid)

    def test_hammered_lock(self) -> None:
        """Eight threads, one lock: nothing is lost, and those who really waited know who unlocked."""
        events = self.record(self.program, "hammered")
        self.assertEqual(self.said.stdout, "160000\n")
        self.assertNotIn("lost", self.said.stderr)
        waits = [e for e in events if e.name == "pthread_mutex_lock" and e.end - e.start > 50_000]
        tids = {e.tid for e in events}
        woken = [w for w in waits if wakes_of(events, w)]
        self.assertGreater(len(waits), 10)
        self.assertGreater(len(woken), 0.9 * len(waits))
        unlocks = [e for e in events if e.name == "wake"]
        self.assertTrue(all(e.notes["how"] == "unlock" and e.notes["object_name"] == "the_mutex" and e.tid in tids for e in unlocks))
        self.assertEqual(len({(e.tid, e.start) for e in unlocks}), len(unlocks), "each unlocking once")

    def test_without_symbols(self) -> None:
        stripped = self.folder / "wakes-stripped"
        subprocess.run(["strip", "-o", stripped, self.program], check=True)
        wait, wake = self.pair(self.record(stripped, "mutex"), "pthread_mutex_lock")
        self.assertNotIn("object_name", wait.notes)
        for e in (wait, wake):
            self.assertRegex(e.notes["caller"], r"^wakes-stripped\+0x[0-9a-f]+$")

    def test_musl(self) -> None:
        """Another C library: its locks do not say who has them, nor who unlocked; conditions and semaphores are the same."""
        if not shutil.which("musl-gcc"):
            skip_loudly("musl-gcc is not installed")
            self.skipTest("no musl-gcc")
        headers = self.folder / "headers"
        headers.mkdir(exist_ok=True)
        (headers / "linux").mkdir(exist_ok=True)
        (headers / "linux/futex.h").write_text("#define FUTEX_WAIT_PRIVATE 128\n#define FUTEX_WAKE_PRIVATE 129\n")
        program = self.folder / "wakes-musl"
        subprocess.run(["musl-gcc", "-O2", "-isystem", headers, "-o", program, ROOT / "tests/inject/wakes.c", "-lpthread"], check=True, capture_output=True)
        for kind in ("condition", "semaphore", "futex"):
            with self.subTest(kind):
                call, name, how, _holder = KINDS[kind]
                wait, wake = self.pair(self.record(program, kind), call)
                self.assertEqual((wait.notes["object_name"], wait.notes["caller"], wake.notes["how"]), (name, "waits_for", how))
        for kind in ("mutex", "write"):
            events = self.record(program, kind)
            wait = next(e for e in events if e.name == KINDS[kind][0] and e.end - e.start > 10 * MS)
            self.assertEqual((wait.notes["object_name"], wait.notes.get("holder"), wakes_of(events, wait)), (KINDS[kind][1], None, []))

    def test_fixed_addresses(self) -> None:
        fixed = recorder.build(self.folder, "wakes", "-no-pie", "-fno-pie")
        wait, wake = self.pair(self.record(fixed, "semaphore"), "sem_wait")
        recorder.build(self.folder, "wakes")
        self.assertEqual((wait.notes["object_name"], wait.notes["caller"], wake.notes["caller"]), ("the_sem", "waits_for", "wakes_it"))

    def test_library_opened_late(self) -> None:
        library = self.folder / "libwakes.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, ROOT / "tests/inject/wakes_library.c", "-lpthread"], check=True)
        opener = recorder.build(self.folder, "wakes_opener")
        wait, wake = self.pair(self.record(opener, library), "pthread_mutex_lock")
        self.assertEqual((wait.notes["object_name"], wait.notes["caller"]), ("lock_of_library", "waits_in_library (libwakes.so)"))
        self.assertEqual(wake.notes["caller"], "holds (libwakes.so)")

    def test_with_samples(self) -> None:
        """The same where the recorder samples, too."""
        wait, wake = self.pair(self.record(self.program, "mutex", trace="osrt,cpu"), "pthread_mutex_lock")
        self.assertEqual((wait.notes["caller"], wake.notes["caller"]), ("waits_for", "wakes_it"))

    def test_cpp(self) -> None:
        if not shutil.which("c++"):
            skip_loudly("no C++ compiler")
            self.skipTest("no C++ compiler")
        program = self.folder / "wakes-cpp"
        subprocess.run(["c++", "-O2", "-o", program, ROOT / "tests/inject/wakes.cpp", "-lpthread"], check=True)
        events = self.record(program)
        wait, wake = self.pair(events, "pthread_mutex_lock")
        self.assertEqual((wait.notes["object_name"], wait.notes["caller"], wake.notes["caller"]), ("mutex_of_cpp", "waits_for_it()", "wakes_it()"))
        wait, wake = self.pair(events, "pthread_cond_wait")
        self.assertEqual((wait.notes["object_name"], wait.notes["caller"], wake.notes["how"]), ("condition_of_cpp", "waits_for_it()", "broadcast"))

    def test_rust(self) -> None:
        rustc = shutil.which("rustc") or os.path.expanduser("~/.cargo/bin/rustc")
        if not os.path.exists(rustc):
            skip_loudly("no rustc")
            self.skipTest("no rustc")
        program = self.folder / "wakes-rust"
        subprocess.run([rustc, "-O", "-o", program, ROOT / "tests/inject/wakes.rs"], check=True, capture_output=True)
        events = self.record(program)
        waits = {re.sub(r"::h[0-9a-f]+(\+0x[0-9a-f]+)?$", "", e.notes["object_name"]): e for e in events if e.name == "futex" and e.end - e.start > 10 * MS}
        self.assertEqual(set(waits), {"wakes::LOCK", "wakes::READY"})
        for wait in waits.values():
            self.assertTrue(wait.notes["caller"])
            self.assertEqual([w.notes["how"] for w in wakes_of(events, wait)], ["futex"])

    def test_short_process_pays_nothing(self) -> None:
        """What lies where is copied only by processes that waited for a while."""
        for words, n in ((("sh", "-c", "true"), 0), ((self.program, "mutex"), 1)):
            rings = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
            recorder.holdup("run", "--trace", "osrt", "--no-report", "--force", "--keep-rings", "--scratch", rings, "-o", self.folder / "short.pftrace",
                            "--", *words)
            self.assertTrue(list(rings.rglob("*.ring")))
            self.assertEqual(len(list(rings.rglob("*.maps"))), n, words)


if __name__ == "__main__":
    unittest.main()
