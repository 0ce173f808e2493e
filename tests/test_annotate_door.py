# SPDX-License-Identifier: Apache-2.0
"""Markers of C and Python in the ring files of the real recorder, in a session made by hand; and in the trace of `holdup run`."""
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

from tests.markers import HERE, PACKAGE, build
from tests.program import EXE, SANITIZED
from tests.recorder import build as build_client
from tests.recorder import environment, holdup, rows
from tests.rings import DOORS, Record, make_session, read_session

LIBRARY = pathlib.Path(EXE).parent / "libholdup-inject.so"
MARKERS = ("begin", "end", "mark", "start", "stop", "phase", "step", "step_end", "counter", "pause", "resume")


def brief(record: Record) -> str:
    """Type, text and what it carries."""
    words = [record.type, record.text]
    if record.type == "step":
        words.append(str(record.a))
    if record.type in ("start", "stop"):
        words.append(f"#{record.b & 0xffffffff}")       # above: what sets them apart from handles of NVTX
    return " ".join(word for word in words if word)


def recorded(command: list, **session) -> list:
    """The processes of a session of one command."""
    with tempfile.TemporaryDirectory() as folder:
        where = make_session(pathlib.Path(folder) / "s", **session)
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60, check=False,
                              env=environment(LD_PRELOAD=str(LIBRARY), HOLDUP_SESSION=str(where), PYTHONPATH=str(PACKAGE)))
        assert done.returncode == 0, done.stdout + done.stderr
        return read_session(where)


def script(text: str, **session) -> list:
    return recorded([sys.executable, "-c", textwrap.dedent(text)], **session)


def markers(process) -> list[str]:
    return [brief(r) for r in process.of(*MARKERS) if r.type != "counter"]


def load_tests(_loader, tests, _pattern):
    """What is tried here lives in other programs, without sanitizers: once is enough."""
    return unittest.TestSuite() if SANITIZED else tests


class TestDoor(unittest.TestCase):
    def setUp(self):
        self.assertTrue(LIBRARY.exists(), f"{LIBRARY} is not built")

    def test_a_program_in_c(self):
        process, = recorded([build("program-door", "-O2", HERE / "program.c")])
        self.assertEqual(markers(process), [
            "step 0", "phase forward", "begin attention", "end", "begin encode", "begin encode", "end", "end", "end", "mark saved", "mark encode",
            "start copy #1", "stop #1", "start encode #2", "stop #2", "step 41", "step_end"])
        counters = process.of("counter")
        self.assertEqual([c.text for c in counters], ["loss", "encode", "samples", "tokens"])
        self.assertEqual([c.a for c in counters], [0x3FD0000000000000, 0xBFF8000000000000,         # 0.25 and -1.5
                                                   0x4040000000000000, 0x41F2A05F20000000])        # 32 and 5e9
        self.assertTrue(process.doors & DOORS["user"])
        self.assertEqual(sum(process.lost), 0)
        times = [r.time for r in process.of(*MARKERS)]
        self.assertEqual(times, sorted(times))
        self.assertTrue(all(times))

    def test_a_program_in_python(self):
        process, = script("""
            import holdup
            with holdup.profile_step(5):
                with holdup.phase("backward"), holdup.range("z\\u00fcrich"):
                    pass
            holdup.step(); holdup.step_end()
            """)
        self.assertEqual(markers(process), ["step 5", "phase backward", "begin zürich", "end", "end", "step_end", "step 6", "step_end"])

    def test_steps_from_outside(self):
        """--steps 2..3: nothing before, nothing behind; ranges and counters neither."""
        process, = script("""
            import holdup
            for n in range(6):
                holdup.step(n)
                with holdup.range(f"work {n}"): holdup.mark("m")
            holdup.step_end()
            """, doors="user watch", wants_steps=1, first_step=2, last_step=3)
        self.assertEqual(markers(process), ["resume", "step 2", "begin work 2", "mark m", "end", "step 3", "begin work 3", "mark m", "end", "pause"])

    def test_a_range_from_outside(self):
        """--capture-range: only what is inside of it."""
        process, = script("""
            import holdup
            for name in ("before", "wanted", "behind"):
                with holdup.range(name):
                    with holdup.range("inner"): pass
            """, doors="user watch", capture_range=b"wanted")
        self.assertEqual(markers(process), ["resume", "begin wanted", "begin inner", "end", "end", "pause"])

    def test_without_a_session_it_does_not_listen(self):
        """The library is there, because somebody's environment still names it; unless it is asked before it can know."""
        for program in (build("program-door", "-O2", HERE / "program.c"), build("program-cpp", "-O2", "-x", "c++", HERE / "program.c", compiler="g++")):
            done = subprocess.run([program], capture_output=True, text=True, check=True, env=environment(LD_PRELOAD=str(LIBRARY)))
            self.assertEqual(done.stdout, "errno 77 dlerror (null) listening 0 range 0\n")

    def test_markers_of_static_constructors(self):
        """A library that the program needs is initialised before the recorder is; what it marks then is not recorded, what it marks later is."""
        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder)
            (here / "early.c").write_text('#include "holdup_annotate.h"\nvoid later(void);\n__attribute__((constructor)) static void load(void) '
                                          '{ holdup_mark("early"); }\nvoid later(void) { holdup_mark("later"); }\n')
            (here / "main.c").write_text("void later(void);\nint main(void) { later(); return 0; }\n")
            library = build("libearly.so", "-O2", "-shared", "-fPIC", here / "early.c")
            program = build("early", "-O2", here / "main.c", library, f"-Wl,-rpath,{library.parent}")
        process, = recorded([program])
        self.assertEqual([m for m in markers(process) if m != "mark early"], ["mark later"])

    def test_another_door_alone(self):
        for process in script("import holdup\nwith holdup.range('x'): holdup.step()", doors="nvtx"):
            self.assertEqual(markers(process), [])

    def test_children_go_on(self):
        """A forked child knows the names of its parent, and its steps go on."""
        processes = script("""
            import holdup, os
            with holdup.step():
                with holdup.range("both"): pass
            pid = os.fork()
            with holdup.range("both"): pass
            if pid:
                assert os.waitpid(pid, 0)[1] == 0
            else:
                holdup.step()
                with holdup.range("new"): pass
                holdup.step_end()
                os._exit(0)
            """)
        self.assertEqual(len(processes), 2)
        texts = sorted(markers(p) for p in processes)
        self.assertEqual(texts, sorted([["begin both", "end", "step 1", "begin new", "end", "step_end"],
                                        ["step 0", "begin both", "end", "step_end", "begin both", "end"]]))

    def test_threads(self):
        process, = recorded([build("threads-door", "-O2", "-pthread", HERE / "threads.c")])
        self.assertEqual((len(process.of("begin")), len(process.of("end"))), (1600, 1600))
        self.assertEqual({r.text for r in process.of("begin")}, {"shared"})
        for thread in {r.thread for r in process.of("begin")}:
            self.assertEqual([r.type for r in process.of("begin", "end") if r.thread == thread], ["begin", "end"] * 200)
        start, stop = process.of("start", "stop")
        self.assertEqual((start.text, start.b), ("elsewhere", stop.b))
        self.assertNotEqual(start.thread, stop.thread)


class TestRun(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.trace = pathlib.Path(self.folder.name) / "markers.pftrace"

    def run_it(self, *command) -> list[tuple]:
        """Name, step and name of the slice around each slice, in order."""
        done = holdup("run", "-o", self.trace, "--no-report", "--trace", "user", "--", *command, env=environment(PYTHONPATH=""))
        self.assertEqual(done.returncode, 0, done.stderr)
        found = rows(self.trace, "select s.name, s.step, p.name as around, s.kind from slice s left join slice p on p.id = s.parent "
                                 "order by s.start_ns, s.dur_ns desc")
        self.assertEqual({row["kind"] for row in found}, {"user_annotation"})
        return [(row["name"], row["step"], row["around"]) for row in found]

    def test_python_finds_the_package_and_its_markers_are_in_the_trace(self):
        text = """
            import holdup, threading
            for n in (7, 8):
                with holdup.profile_step(n):
                    with holdup.phase("forward"), holdup.range("attention"):
                        holdup.counter("loss", n / 4)
            handle = holdup.range_start("elsewhere")
            thread = threading.Thread(target=holdup.range_end, args=(handle,))
            thread.start()
            thread.join()
            """
        steps = [(f"ProfilerStep#{n}", n, None) for n in (7, 8)]
        inside = [[("forward", n, f"ProfilerStep#{n}"), ("attention", n, "forward")] for n in (7, 8)]
        self.assertEqual(self.run_it(sys.executable, "-c", textwrap.dedent(text)),
                         [steps[0], *inside[0], steps[1], *inside[1], ("elsewhere", None, None)])
        self.assertEqual([(r["name"], r["value"]) for r in rows(self.trace, "select name, value from counter order by time_ns")],
                         [("loss", 1.75), ("loss", 2.0)])

    def test_a_program_in_cpp(self):
        found = self.run_it(build("program-run", "-O2", "-x", "c++", HERE / "program.c", compiler="g++"))
        self.assertIn(("outer", 42, "ProfilerStep#42"), found)
        self.assertIn(("encode", 42, "outer"), found)
        self.assertIn(("data", 42, "encode"), found)
        self.assertIn(("attention", 0, "forward"), found)
        self.assertEqual([name for name, _, _ in found if name.startswith("ProfilerStep")], ["ProfilerStep#0", "ProfilerStep#41", "ProfilerStep#42"])


class Forks(unittest.TestCase):
    """A capture range and processes and threads that begin or end inside of it: tests/inject/forked.c says what is to be seen."""
    def seen(self, how: str, *options: str) -> dict[str, int]:
        with tempfile.TemporaryDirectory() as folder:
            where = pathlib.Path(folder)
            done = holdup("run", "--no-report", "-o", where / "out", *(options or ("-c", "nvtx:epoch")), "--", build_client(where, "forked"), how)
            self.assertEqual(done.returncode, 0, done.stderr)
            names = [row["name"] for row in rows(where / "out.pftrace", "select name from slice where name like 'in %' or name like 'out %'")]
        counts = {name: names.count(name) for name in sorted(set(names))}
        self.assertFalse([name for name in names if name.startswith("out ") and not (how == "stays" and name == "out between")], counts)
        return counts

    def test_a_child_ends_the_range_that_it_was_forked_in(self) -> None:
        self.assertEqual(self.seen("child"), {"in child": 3, "in child before": 1, "in parent": 3})

    def test_a_child_that_stays_in_the_range(self) -> None:
        self.assertEqual(self.seen("stays"), {"in child": 3, "in parent": 3, "out between": 3})

    def test_a_child_of_outside(self) -> None:
        self.assertEqual(self.seen("outside"), {"in child": 3, "in parent": 3})

    def test_a_child_of_a_thread_that_is_not_inside(self) -> None:
        self.assertEqual(self.seen("thread"), {"in child of a thread": 3, "in parent": 3})

    def test_other_programs_are_outside(self) -> None:
        for how in ("vfork", "exec"):
            with self.subTest(how=how):
                self.assertEqual(self.seen(how), {"in image": 3, "in parent": 3})

    def test_a_thread_that_ends_leaves_its_range(self) -> None:
        self.assertEqual(self.seen("ends"), {"in thread": 1, "in parent": 3})

    def test_a_child_of_a_recorded_step(self) -> None:
        self.assertEqual(self.seen("steps", "--steps", "1..1"), {"in child": 1})


if __name__ == "__main__":
    unittest.main()
