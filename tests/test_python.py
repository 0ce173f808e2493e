# SPDX-License-Identifier: Apache-2.0
"""The Python package: what a recorder is told, and what it measures by itself; with and without torch."""
import ast
import asyncio
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

from tests.markers import HERE, PACKAGE, ROOT, build, told
from tests.program import EXE, SANITIZED, VERSION, skip_loudly, torch_or_skip

sys.path.insert(0, str(PACKAGE))
import holdup  # noqa: E402
from holdup import _hub, _trend  # noqa: E402
from holdup.gradient_sync import _interval  # noqa: E402
from holdup.memory_log import MemoryLog  # noqa: E402
from holdup.schedules import ProfilerAction  # noqa: E402

sys.path.remove(str(PACKAGE))

MS = 1e-3
PAGE = ROOT / "docs/markers.md"


def load_tests(_loader, tests, _pattern):
    """Nothing of the program is in these: once is enough."""
    return unittest.TestSuite() if SANITIZED else tests


def script(text: str, *arguments, preload: bool = True, env: dict | None = None, python: str = sys.executable, timeout: float = 60):
    """What a script printed, and what it told the recorder."""
    return told([python, "-c", textwrap.dedent(text), *arguments], env, preload, timeout)


def leak_of(values: list[int], warmup: int = 0) -> dict:
    log = MemoryLog(warmup=warmup)
    log._at_step_end = [int(v) for v in values]
    log.source = "process"
    return log.leak()


class TestRecorded(unittest.TestCase):
    def test_every_marker_reaches_the_recorder(self):
        out, log = script("""
            import holdup
            print(holdup.is_recording())
            with holdup.step():
                with holdup.phase("forward"):
                    with holdup.range("attention"):
                        holdup.mark("middle")
            holdup.step(7)
            @holdup.annotate
            def load(): return 1
            @holdup.annotate("named", color="green")
            def other(): return 2
            assert (load(), other(), load.__name__) == (1, 2, "load")
            with holdup.annotate("nvtx way", color="red"):
                holdup.counter("loss", 0.5)
            holdup.range_push("pushed"); holdup.range_pop(); holdup.range_pop()
            handle = holdup.range_start("free"); holdup.range_end(handle)
            with holdup.profile_step(8): pass
            with holdup.phase("data_loading"): pass
            with holdup.phase("my own"): pass
            holdup.count(samples=32); holdup.count(tokens=7, samples=0); holdup.count(samples=-1)
            holdup.step_end()
            """)
        self.assertEqual(out, "True\n")
        self.assertEqual([line for line in log if not line.startswith("name ")], [
            "asked", "step -1", "phase 4", "push attention", "mark middle", "pop", "pop", "step_end", "step 7", "push load", "pop", "push named",
            "pop", "push nvtx way", "counter loss 0.5", "pop", "push pushed", "pop", "start free 1", "end 1", "step 8", "step_end", "phase 1",
            "pop", "push my own", "pop", "count 1 32", "count 2 7", "step_end"])

    def test_an_older_recorder_does_not_count(self):
        _, log = script("import holdup\nholdup.step(1)\nholdup.count(samples=3)", env={"MARKERS_SIZE": "104"})
        self.assertEqual(log, ["asked", "step 1"])

    def test_texts_that_are_no_c_strings(self):
        _, log = script(r"""
            import holdup
            for text in ("", "z\u00fcrich", "cut\0here", "half \ud800"):
                with holdup.range(text): pass
            with holdup.range(5): pass
            """)
        self.assertEqual([line for line in log if line.startswith("push")], ["push ", "push zürich", "push cut", "push half ?", "push 5"])

    def test_no_room_for_names(self):
        _, log = script("import holdup\nwith holdup.range('x'): holdup.counter('c', 1)", env={"MARKERS_FULL": "1"})
        self.assertEqual(log, ["asked", "push_text x", "counter (none) 1", "pop"])

    def test_names_without_end(self):
        """A job that makes up names does not make up memory."""
        out, log = script("""
            import holdup
            from holdup import _recorder
            _recorder.MOST_NAMES = 10
            for i in range(50):
                with holdup.range(f"step {i}"): pass
            print(len(holdup._hub.hub.recorder._ids))
            """)
        self.assertEqual(out, "10\n")
        self.assertEqual(sum(line.startswith("push step") for line in log), 50)

    def test_a_recorder_that_does_not_listen(self):
        out, log = script("""
            import holdup
            with holdup.range("x"): holdup.mark("y")
            holdup.step(); holdup.counter("c", 1); holdup.range_end(holdup.range_start("z"))
            print(holdup.is_recording())
            """, env={"MARKERS_DEAF": "1"})
        self.assertEqual((out, log), ("False\n", ["asked"]))

    def test_a_recorder_of_another_version(self):
        for env in ({"MARKERS_VERSION": "2"}, {"MARKERS_SIZE": "32"}):
            out, log = script("import holdup\nwith holdup.range('x'): pass\nprint(holdup.is_recording())", env=env)
            self.assertEqual((out, log), ("False\n", ["asked"]))

    def test_listening_changes_while_a_range_is_open(self):
        _, log = script("""
            import ctypes, holdup
            listen = ctypes.CDLL(None).markers_listen
            with holdup.range("a"):
                listen(0)
                with holdup.range("b"): pass
                listen(1)
            with holdup.range("c"): pass
            """)
        self.assertEqual([line for line in log if line.startswith(("push", "pop"))], ["push a", "pop", "push c", "pop"])

    def test_what_is_suspended_uses_handles(self):
        _, log = script("""
            import asyncio, holdup
            @holdup.annotate("gen")
            def gen():
                got = yield 1
                return got
            @holdup.annotate("co")
            async def co(): await asyncio.sleep(0); return 3
            @holdup.annotate("agen")
            async def agen():
                yield 4
            g = gen(); assert next(g) == 1
            try: g.send(9)
            except StopIteration as end: assert end.value == 9
            async def both():
                return await asyncio.gather(co(), co()), [v async for v in agen()]
            assert asyncio.run(both()) == ([3, 3], [4])
            """)
        self.assertEqual([line for line in log if line.startswith(("start", "end", "push"))],
                         ["start gen 1", "end 1", "start co 2", "start co 3", "end 2", "end 3", "start agen 4", "end 4"])

    def test_an_exception_ends_its_ranges(self):
        _, log = script("""
            import holdup
            @holdup.annotate
            def fails(): raise KeyError(1)
            try:
                with holdup.range("outer"): fails()
            except KeyError: pass
            """)
        self.assertEqual([line for line in log if line.startswith(("push", "pop"))], ["push outer", "push fails", "pop", "pop"])

    def test_many_threads(self):
        _, log = script("""
            import threading, holdup
            def work():
                for _ in range(100):
                    with holdup.range("shared"): pass
            threads = [threading.Thread(target=work) for _ in range(8)]
            [t.start() for t in threads]; [t.join() for t in threads]
            """)
        self.assertEqual((log.count("push shared"), log.count("pop"), log.count("asked")), (800, 800, 1))

    def test_a_profiler_marks_its_active_steps(self):
        _, log = script("""
            import holdup
            with holdup.Profiler(holdup.schedule(wait=1, warmup=1, active=2, repeat=1)) as profiler:
                for _ in range(6): profiler.step()
            """)
        self.assertEqual([line for line in log if line.startswith("step")], ["step 2", "step 3", "step_end"])

    def test_blocks_of_a_profiler(self):
        _, log = script("""
            import holdup
            profiler = holdup.Profiler()
            for n in (100, 101):
                with profiler.profile_step(n):
                    with profiler.phase("forward"): pass
            profiler.stop()
            """)
        self.assertEqual(log, ["asked", "step 100", "phase 4", "pop", "step_end", "step 101", "phase 4", "pop", "step_end"])

    def test_the_loader_marks_data_and_transfer(self):
        _, log = script("""
            import holdup
            class T:
                def to(self, device, non_blocking=False): return self
            for _ in holdup.ProfiledDataLoader([T(), T()], device="cuda"): holdup.mark("work")
            """)
        self.assertEqual([line for line in log if not line.startswith("name")],
                         ["asked", "phase 1", "pop", "phase 3", "pop", "mark work", "phase 1", "pop", "phase 3", "pop", "mark work", "phase 1", "pop"])


class TestByItself(unittest.TestCase):
    def test_markers_do_nothing(self):
        self.assertFalse(holdup.is_recording())
        with holdup.range("x"), holdup.phase("data"), holdup.step(3):
            holdup.mark("m")
            holdup.counter("c", object())       # nobody looks at it
            holdup.range_end(holdup.range_start("y"))
        self.assertEqual(_hub.hub._open.stack, [])

    def test_import_loads_nothing_of_others(self):
        out, _ = script("import sys; before = set(sys.modules); import holdup\n"
                        "print(*sorted({m.split('.')[0] for m in set(sys.modules) - before} - set(sys.stdlib_module_names)))\n"
                        "[getattr(holdup, n) for n in holdup.__all__]\n"
                        "print(*sorted({m.split('.')[0] for m in set(sys.modules) - before} - set(sys.stdlib_module_names)))", preload=False)
        self.assertEqual(out, "holdup\nholdup\n")

    def test_a_python_without_ctypes(self):
        out, _ = script("""
            import sys
            sys.modules["_ctypes"] = None
            import holdup, time
            with holdup.range("x"): holdup.mark("m")
            with holdup.GPUMonitor(0.05) as monitor: time.sleep(0.06)
            print(holdup.is_recording(), monitor.get_summary()["statement"])
            """, preload=True)
        self.assertRegex(out, "^False no GPU figures: this Python cannot call NVML")

    def test_a_recorded_python_without_ctypes_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([EXE, "run", "-q", "--no-report", "-o", f"{folder}/out", "--", sys.executable, "-c",
                                   "import sys; sys.modules['_ctypes'] = None; import holdup; holdup.step(1); holdup.step(2)"],
                                  capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("this Python has no ctypes: its steps, phases and ranges are not recorded"), 1)

    def test_python_3_8_reads_it(self):
        files = sorted((PACKAGE / "holdup").glob("*.py"))
        self.assertGreater(len(files), 15)
        for path in files:
            ast.parse(path.read_text(), feature_version=(3, 8))
            self.assertIn("from __future__ import annotations", path.read_text(), f"{path}: 3.8 would evaluate its annotations")

    def test_names_that_scripts_use(self):
        for name in ("range", "annotate", "mark", "counter", "step", "step_end", "profile_step", "phase", "Profiler", "schedule", "ProfilerAction",
                     "ProfiledDataLoader", "auto_profile", "quick_benchmark", "GPUMonitor", "MemoryLog", "memory_timeline", "find_memory_leaks",
                     "PerformanceTracker", "overlap", "OverlapProfiler", "PipelineProfiler", "range_push", "range_pop", "NVTXAnnotator", "ProfilerWrapper"):
            self.assertTrue(callable(getattr(holdup, name)), name)
            self.assertIn(name, dir(holdup))
            self.assertTrue(getattr(holdup, name).__doc__, name)
        with self.assertRaises(AttributeError):
            holdup.nothing

    def test_installs_with_pip(self):
        if not importlib.util.find_spec("pip"):
            skip_loudly("no pip: `pip install python/` was not tried")
            self.skipTest("no pip")
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "source"        # pip writes beside what it builds
            shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
            install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", "--target", f"{folder}/there"]
            # with what is installed, else with what pip fetches
            for more in (["--no-build-isolation", "--no-index"], []):
                done = subprocess.run([*install, *more, str(source)], capture_output=True, text=True, check=False)
                if done.returncode == 0:
                    break
            else:
                if re.search("Could not find a version|connection|Temporary failure", done.stderr):
                    skip_loudly("no network and no setuptools with wheel: `pip install python/` was not tried")
                    self.skipTest("no network")
                self.fail(done.stderr)
            out = subprocess.run([sys.executable, "-c", "import holdup; print(holdup.__version__, holdup.Profiler.__name__, holdup.__file__)"],
                                 env={**os.environ, "PYTHONPATH": f"{folder}/there"}, capture_output=True, text=True, check=True).stdout
        self.assertEqual(out.split()[:2], [VERSION, "Profiler"])
        self.assertTrue(out.split()[2].startswith(f"{folder}/there"))

    def test_the_version_is_the_programs(self):
        self.assertEqual(holdup.__version__, VERSION)
        self.assertIn("version: files('python/holdup/VERSION'),", (ROOT / "meson.build").read_text())
        self.assertIn('version = { file = "holdup/VERSION" }', (PACKAGE / "pyproject.toml").read_text())


class TestSchedule(unittest.TestCase):
    def test_a_schedule_by_hand(self):
        rule = holdup.schedule(wait=2, warmup=1, active=2, repeat=2, skip_first=1)
        self.assertEqual([rule(n).name for n in range(13)], ["NONE"] + ["NONE", "NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE"] * 2 + ["NONE"] * 2)
        with self.assertRaises(ValueError):
            holdup.schedule(wait=1, warmup=1, active=0)
        with self.assertRaises(ValueError):
            holdup.schedule(wait=-1, warmup=1, active=1)

    def test_cycles_and_what_they_hold(self):
        ready = []

        def done(profiler):
            ready.append((profiler.step_num, profiler.get_summary()))

        with holdup.Profiler(holdup.schedule(wait=1, warmup=1, active=3, repeat=2), done) as profiler:
            for n in range(12):
                with holdup.range("work"):
                    time.sleep(2 * MS)
                if n in (3, 8):
                    with holdup.phase("checkpoint"):
                        pass
                profiler.step()
        self.assertEqual([n for n, _ in ready], [5, 10])
        for _, summary in ready:
            self.assertEqual(summary["step_count"], 3)
            self.assertEqual({k: v["calls"] for k, v in summary["ranges"].items()}, {"checkpoint": 1, "work": 3})
            self.assertGreaterEqual(summary["step_min_ms"], 2)
            self.assertLessEqual(summary["ranges"]["work"]["total_ms"], summary["step_count"] * summary["step_mean_ms"])
            self.assertIn("work", str(summary))
        self.assertEqual(_hub.hub._watchers, ())

    def test_a_cycle_that_is_cut_is_handed_over(self):
        ready = []
        profiler = holdup.Profiler(holdup.schedule(wait=0, warmup=0, active=5), ready.append).start()
        profiler.step()
        profiler.stop()
        profiler.stop()
        self.assertEqual(ready, [profiler])
        self.assertEqual(profiler.get_summary()["step_count"], 1)

    def test_times_of_all_threads_and_of_nested_ranges(self):
        def work():
            for _ in range(50):
                with holdup.range("outer"):
                    with holdup.range("inner"):
                        with holdup.range("outer"):     # part of the first
                            pass

        with holdup.Profiler() as profiler:
            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        rows = profiler.generate_report()
        self.assertEqual((rows["outer"]["calls"], rows["inner"]["calls"]), (200, 200))
        self.assertGreaterEqual(rows["outer"]["total_ms"], rows["inner"]["total_ms"])

    def test_a_profiler_that_begins_and_ends_inside_of_ranges(self):
        profiler = holdup.Profiler()
        with holdup.range("before"):
            profiler.start()
            with holdup.range("inside"):
                pass
        cut = holdup.range("cut")
        with cut:
            profiler.stop()
        profiler.start()
        with holdup.range("again"):
            pass
        profiler.stop()
        self.assertEqual(set(profiler.generate_report()), {"again"})
        with holdup.Profiler() as other:
            with cut:
                pass
        self.assertEqual(other.generate_report()["cut"]["calls"], 1)

    def test_coroutines_are_measured(self):
        @holdup.annotate("sleeps")
        async def sleeps():
            await asyncio.sleep(3 * MS)

        async def both():
            await asyncio.gather(sleeps(), sleeps())

        with holdup.Profiler() as profiler:
            asyncio.run(both())
        row = profiler.generate_report()["sleeps"]
        self.assertEqual(row["calls"], 2)
        self.assertGreaterEqual(row["avg_ms"], 3)

    def test_finish_prints(self):
        profiler = holdup.Profiler()
        with profiler.profile_step(0):
            with profiler.phase("data"):
                pass
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            profiler.finish()
        self.assertIn("step_count", out.getvalue())
        self.assertIn("data", out.getvalue())


class TestDevice(unittest.TestCase):
    """With a torch that only counts: a GPU in use, 4 GB allocated."""

    def counted(self, text: str) -> list:
        out, _ = script("""
            import sys, types
            class Cuda:
                waits = 0
                initialized = True
                def is_initialized(self): return self.initialized
                def synchronize(self): Cuda.waits += 1
                def memory_allocated(self): return 4 * 10**9
                def memory_reserved(self): return 5 * 10**9
                def max_memory_allocated(self): return 6 * 10**9
            cuda = Cuda()
            sys.modules["torch"] = types.SimpleNamespace(cuda=cuda)
            import holdup
            def waits(use):
                before = Cuda.waits
                use()
                return Cuda.waits - before
            """ + textwrap.indent(textwrap.dedent(text), " " * 12), preload=False)
        return ast.literal_eval(out)

    def test_nothing_waits_for_the_device_unasked(self):
        self.assertEqual(self.counted("""
            def all_of_it():
                with holdup.step(1), holdup.range("a"), holdup.phase("data"): holdup.mark("m"); holdup.counter("c", 1)
                holdup.annotate(lambda: None)()
                list(holdup.ProfiledDataLoader([1, 2], device="cuda"))
                with holdup.Profiler() as profiler:
                    with profiler.phase("forward"): profiler.step()
                with holdup.PerformanceTracker().step(4): pass
                work = holdup.auto_profile(warmup=0, iterations=1, show=False)(lambda: None)
                work()
                log = holdup.MemoryLog()
                with log.phase("forward"): log.step()
                log.get_summary()
                holdup.overlap(object(), step=lambda: None, num_iterations=1, synchronize=False)
                holdup.quick_benchmark(lambda x: x, inputs=[1], num_iterations=1, synchronize=False, show=False)
            print(waits(all_of_it))
            """), 0)

    def test_what_was_asked_to_wait_does(self):
        self.assertEqual(self.counted("""
            def a_range():
                with holdup.range("a", synchronize=True): pass
            def a_function(): holdup.annotate("f", synchronize=True)(lambda: None)()
            def a_loader(): list(holdup.ProfiledDataLoader([1, 2, 3], device="cuda", synchronize=True))
            def a_tracker():
                with holdup.PerformanceTracker(synchronize=True).step(4): pass
            def measured(): holdup.auto_profile(warmup=0, iterations=1, show=False, synchronize=True)(lambda: None)()
            def bench(): holdup.quick_benchmark(lambda x: x, inputs=[1], num_iterations=5, warmup=2, show=False)
            print([waits(use) for use in (a_range, a_function, a_loader, a_tracker, measured, bench)])
            """), [2, 2, 3, 2, 2, 1 + 1 + 5])

    def test_a_device_that_is_not_in_use_is_not_started(self):
        self.assertEqual(self.counted("""
            cuda.initialized = False
            def a_range():
                with holdup.range("a", synchronize=True): pass
            print([waits(a_range), holdup.MemoryLog().log("x") < 10**9])
            """), [0, True])

    def test_memory_is_the_allocators(self):
        self.assertEqual(self.counted("""
            log = holdup.MemoryLog()
            log.log("x")
            tracker = holdup.PerformanceTracker()
            tracker.start_step()
            print([log.source, log.entries, tracker.end_step(1)["memory_gb"], tracker.get_summary()["peak_memory_gb"]])
            """), ["torch", [{"step": 0, "phase": "x", "allocated_gb": 4.0, "reserved_gb": 5.0}], 4.0, 6.0])


class Tensor:
    """What a loader moves."""

    def __init__(self):
        self.moves = []

    def to(self, device, non_blocking=False):
        time.sleep(4 * MS)
        moved = Tensor()
        moved.moves = self.moves + [(device, non_blocking)]
        return moved


class TestLoader(unittest.TestCase):
    def test_waits_and_moves_are_told_apart(self):
        def slow():
            time.sleep(30 * MS)                     # workers start
            for _ in range(5):
                time.sleep(10 * MS)
                yield {"x": [Tensor()], "n": 3, "pair": (Tensor(), "text")}

        class Loader:
            batch_size = 16

            def __iter__(self):
                return slow()

            def __len__(self):
                return 5

        loader = holdup.ProfiledDataLoader(Loader(), device="there")
        self.assertEqual((len(loader), loader.batch_size), (5, 16))
        for batch in loader:
            self.assertEqual(batch["x"][0].moves, [("there", True)])
            self.assertEqual((batch["n"], batch["pair"][1]), (3, "text"))
            time.sleep(5 * MS)
        stats = loader.get_stats()
        self.assertEqual((stats["batches"], len(loader.batches)), (5, 5))
        self.assertGreaterEqual(stats["first_load_ms"], 40)
        self.assertGreaterEqual(stats["avg_load_ms"], 10)
        self.assertEqual((loader.first_load.n, loader.load.n), (1, 4))
        self.assertGreaterEqual(stats["avg_transfer_ms"], 8)
        self.assertGreaterEqual(stats["avg_compute_ms"], 5)
        self.assertIn("waits", stats["statement"])
        whole = stats["avg_load_ms"] + stats["avg_transfer_ms"] + stats["avg_compute_ms"]
        self.assertAlmostEqual(stats["load_pct"], 100 * stats["avg_load_ms"] / whole)

    def test_nothing_and_one(self):
        empty = holdup.ProfiledDataLoader([])
        self.assertEqual(list(empty), [])
        self.assertEqual(empty.get_stats()["batches"], 0)
        one = holdup.ProfiledDataLoader([1])
        self.assertEqual(list(one), [1])
        self.assertEqual(one.get_stats()["batches"], 1)
        self.assertIn("avg_load_ms", one.get_stats())

    def test_the_loaders_error_is_the_loops(self):
        def fails():
            yield 1
            raise OSError("disk")

        with self.assertRaisesRegex(OSError, "disk"):
            list(holdup.ProfiledDataLoader(fails()))


class TestMeasures(unittest.TestCase):
    def test_auto_profile_counts_calls_the_program_makes(self):
        calls = []

        @holdup.auto_profile(warmup=2, iterations=3)
        def work(n):
            calls.append(n)
            time.sleep(2 * MS)
            return n

        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            self.assertEqual([work(n) for n in range(8)], list(range(8)))
        self.assertEqual(calls, list(range(8)))
        summary = work.get_summary()
        self.assertEqual((summary["count"], summary["warmup_calls"]), (3, 2))
        self.assertGreaterEqual(summary["min_ms"], 2)
        self.assertEqual(err.getvalue().count("p50_ms"), 1)

        @holdup.auto_profile
        def bare():
            return 5

        self.assertEqual(bare(), 5)
        with self.assertRaises(ValueError):
            holdup.auto_profile(warmup=-1)

    def test_quick_benchmark_of_a_function(self):
        seen = []
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            found = holdup.quick_benchmark(lambda x: (seen.append(x), time.sleep(2 * MS)), inputs=[0] * 4, num_iterations=10, warmup=3)
        self.assertEqual(len(seen), 3 + 10 + 10)
        self.assertEqual(found["batch_size"], 4)
        self.assertGreaterEqual(found["latency_p50_ms"], 2)
        self.assertLessEqual(found["latency_p50_ms"], found["latency_p90_ms"])
        self.assertLessEqual(found["latency_p90_ms"], found["latency_p99_ms"])
        self.assertAlmostEqual(found["throughput_per_s"], 4 / found["avg_ms"] * 1000, places=6)
        self.assertLessEqual(found["throughput_per_s"], 2000)
        self.assertIn("throughput_per_s", out.getvalue())
        if not importlib.util.find_spec("torch"):
            with self.assertRaisesRegex(ValueError, "inputs="):
                holdup.quick_benchmark(lambda x: x, (2, 3))

    def test_tracker(self):
        tracker = holdup.PerformanceTracker(warmup=1)
        for n in range(4):
            tracker.start_step()
            time.sleep((50 if n == 0 else 5) * MS)
            step = tracker.end_step(batch_size=8, tokens=80)
        self.assertGreaterEqual(step["step_time_ms"], 5)
        self.assertAlmostEqual(step["throughput"], 8 / step["step_time_ms"] * 1000)
        self.assertAlmostEqual(step["tokens_per_s"], 10 * step["samples_per_s"])
        self.assertGreater(step["memory_gb"], 0)
        summary = tracker.get_summary()
        self.assertEqual((summary["steps"], summary["step_count"], tracker.samples_processed), (4, 3, 32))
        self.assertAlmostEqual(summary["samples_per_s"], 24 / (3 * summary["step_mean_ms"]) * 1000)
        self.assertEqual(tracker._samples, 24)
        with self.assertRaises(RuntimeError):
            tracker.end_step()
        both = [threading.Thread(target=lambda: [tracker.start_step() or tracker.end_step(1) for _ in range(500)]) for _ in range(4)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
        self.assertEqual((tracker.steps, tracker.samples_processed), (2004, 2032))
        with self.assertRaises(KeyError):
            with tracker.step(8):
                raise KeyError
        self.assertEqual(tracker.steps, 2004)

    def test_overlap_of_a_model_that_synchronises(self):
        silent = []

        class Model:
            @contextlib.contextmanager
            def no_sync(self):
                silent.append(True)
                yield
                silent.pop()

        def step():
            time.sleep((5 if silent else 9) * MS)

        found = holdup.overlap(Model(), step=step, num_iterations=8, warmup=1)
        self.assertGreaterEqual(found["compute_only_ms"], 5)
        self.assertGreaterEqual(found["exposed_comm_ms"], 2)
        self.assertLessEqual(found["exposed_comm_low_ms"], found["exposed_comm_ms"])
        self.assertIn("adds", found["statement"])
        self.assertNotIn("hidden_pct", found)

    def test_overlap_without_no_sync_says_so(self):
        found = holdup.overlap(object(), step=lambda: None, num_iterations=2)
        self.assertIn("has no no_sync()", found["statement"])
        self.assertNotIn("compute_only_ms", found)
        with self.assertRaises(ValueError):
            holdup.overlap(object())

    def test_interval_of_a_median(self):
        """Tables of the sign test: n = 5 has none at 95 %, 6: first and last, 10: second, 20: sixth."""
        for n, k in ((5, 0), (6, 1), (8, 1), (9, 2), (10, 2), (20, 6), (25, 8), (50, 18)):
            self.assertEqual(_interval([float(i) for i in range(1, n + 1)]), (k, n + 1 - k) if k else (None, None), n)

    def test_numbers_as_people_read_them(self):
        from holdup.summary import Summary, number

        self.assertEqual([number(v) for v in (0.0, 1234.5678, 0.012345, 1e-9, float("nan"), None, True, 12345)],
                         ["0", "1,235", "0.01235", "1e-09", "-", "-", "yes", "12,345"])
        self.assertEqual(str(Summary("t", a_ms=1.5, statement="said", rows={"x": {"n": 1}, "yy": {"n": 22}})).splitlines(),
                         ["t", "  said", "  a_ms  1.500", "  rows   n", "  x      1", "  yy    22"])


class TestMemory(unittest.TestCase):
    def test_students_t(self):
        """Two-sided 5 % points from the usual table, and I_x(2, 3) = x^2 (6 - 8 x + 3 x^2)."""
        for freedom, t in ((1, 12.706), (2, 4.303), (5, 2.571), (10, 2.228), (30, 2.042), (120, 1.980)):
            self.assertAlmostEqual(_trend.t_quantile_975(freedom), t, places=3)
            self.assertAlmostEqual(_trend.t_two_sided(t, freedom), 0.05, places=4)
        for x in (0.1, 0.5, 0.9):
            self.assertAlmostEqual(_trend.incomplete_beta(2, 3, x), x * x * (6 - 8 * x + 3 * x * x), places=12)

    def test_slope_is_least_squares(self):
        rng = random.Random(3)
        values = [5 + 0.25 * n + rng.gauss(0, 2) for n in range(60)]
        trend = _trend.fit(values)
        self.assertAlmostEqual(trend.slope, statistics.linear_regression(range(60), values).slope, places=10)
        self.assertLess(trend.low, 0.25)
        self.assertGreater(trend.high, 0.25)

    def test_leaks_are_found(self):
        rng = random.Random(1)
        for per_step, noise in ((4096, 0), (1 << 20, 1 << 19), (1 << 20, 1 << 22)):
            found = leak_of([10 ** 9 + per_step * n + (rng.gauss(0, noise) if noise else 0) for n in range(400)])
            self.assertTrue(found["is_leak"], found)
            self.assertAlmostEqual(found["bytes_per_step"] / per_step, 1, delta=0.2)
            self.assertLess(found["p_value"], 0.001)
            self.assertIn("t-test", found["statement"])

    def test_what_is_no_leak(self):
        rng = random.Random(2)
        cases = {
            "constant": [10 ** 9] * 100,
            "noise": [10 ** 9 + rng.gauss(0, 10 ** 7) for _ in range(100)],
            "one rise": [10 ** 9] * 50 + [11 * 10 ** 8] * 50,
            "an early rise": [10 ** 9] * 20 + [11 * 10 ** 8] * 80,
            "a cache that fills": [10 ** 9 * (1.2 - 0.2 * 0.9 ** n) for n in range(100)],
            "saw tooth": [10 ** 9 + 10 ** 7 * (n % 10) for n in range(100)],
            "falls": [10 ** 9 - 10 ** 6 * n for n in range(100)],
            "a page in a gigabyte": [10 ** 9 + 40 * n for n in range(100)],
        }
        for name, values in cases.items():
            found = leak_of(values)
            self.assertFalse(found["is_leak"], f"{name}: {found}")
            self.assertTrue(found["statement"], name)
        short = leak_of([1, 2, 3])
        self.assertFalse(short["is_leak"])
        self.assertIn("too few", short["statement"])

    def test_values_that_resemble_their_neighbours_rarely_look_like_leaks(self):
        """An AR(1) process with 0.8: the textbook t-test at 0.1 % finds a trend in more than a quarter of them."""
        rng = random.Random(4)
        alarms = 0
        for _ in range(300):
            value, values = 0.0, []
            for _ in range(100):
                value = 0.8 * value + rng.gauss(0, 1)
                values.append(10 ** 9 + 10 ** 7 * value)
            alarms += leak_of(values)["is_leak"]
        self.assertLessEqual(alarms, 6)

    def test_a_leak_that_wanders(self):
        """Residuals that resemble each other so much that hardly any value is left: a line proves nothing, the growth of each step does."""
        wave = [10 ** 9 + (1 << 20) * n + 10 ** 6 * abs(n % 60 - 30) / 10 for n in range(120)]
        found = leak_of(wave)
        self.assertLess(_trend.fit(wave).n_effective, 120)
        self.assertEqual(_trend.fit(wave).of, "growth from step to step")
        self.assertTrue(found["is_leak"], found)
        self.assertIn("growth from step to step", found["statement"])

    def test_a_random_walk_is_rarely_a_leak(self):
        rng = random.Random(5)
        alarms = 0
        for _ in range(300):
            value, values = 10.0 ** 9, []
            for _ in range(100):
                value += rng.gauss(0, 10 ** 6)
                values.append(value)
            alarms += leak_of(values)["is_leak"]
        self.assertLessEqual(alarms, 6)

    def test_the_log_of_a_process(self):
        log = holdup.MemoryLog()
        kept = []
        for _ in range(30):
            with log.phase("forward"):
                kept.append(bytearray(b"x") * (1 << 23))
            log.step()
        summary = log.get_summary()
        self.assertEqual((summary["source"], summary["steps"]), ("process", 30))
        self.assertGreater(summary["phases"]["forward"]["avg_change_mb"], 1.5)
        self.assertTrue(summary["leak"]["is_leak"], summary["leak"])
        self.assertAlmostEqual(summary["leak"]["bytes_per_step"] / (1 << 23), 1, delta=0.1)
        self.assertEqual(log.entries[0]["phase"], "before_forward")
        self.assertEqual(len(log.entries), 30 * 3)


class TestMonitor(unittest.TestCase):
    def test_without_a_driver(self):
        out, _ = script("""
            import holdup, time, json
            with holdup.GPUMonitor(0.05) as monitor:
                end = time.perf_counter() + 0.3
                while time.perf_counter() < end or (monitor.get_summary().get("samples", 3) < 3 and time.perf_counter() < end + 30): pass
            found = monitor.get_summary()
            print(json.dumps(found)); print(monitor.get_metrics())
            assert "libnvidia-ml" in str(found)
            """, preload=False, env={"LD_LIBRARY_PATH": "/nowhere"})
        if "gpus" in json.loads(out.splitlines()[0]):
            self.skipTest("there is a GPU here")
        found = json.loads(out.splitlines()[0])
        self.assertGreaterEqual(found["samples"], 3)
        self.assertIn("no libnvidia-ml.so.1", found["statement"])
        self.assertGreater(found["host"]["max_process_cpu_pct"], 20)
        self.assertGreater(found["host"]["avg_process_memory_gb"], 0.001)
        self.assertEqual(out.splitlines()[1], "[]")

    def test_two_gpus(self):
        library = build("libnvidia-ml.so.1", "-shared", "-fPIC", HERE / "nvml.c")
        with tempfile.TemporaryDirectory() as folder:
            out, _ = script("""
                import holdup, time, json, sys
                monitor = holdup.GPUMonitor()
                monitor.start_logging(interval_sec=0.05, output_file=sys.argv[1])
                time.sleep(0.3)
                monitor.stop_logging()
                print(json.dumps(monitor.get_summary()))
                print(json.dumps(monitor._newest))
                print(len(str(monitor.get_summary())))
                with holdup.GPUMonitor(0.05, devices=[1]) as one: time.sleep(0.1)
                print(*one.get_summary()["gpus"])
                """, f"{folder}/log.jsonl", preload=False, env={"LD_LIBRARY_PATH": str(library.parent)})
            rows = [json.loads(line) for line in pathlib.Path(f"{folder}/log.jsonl").read_text().splitlines()]
        found, newest = (json.loads(line) for line in out.splitlines()[:2])
        new, old = found["gpus"]["0"], found["gpus"]["1"]
        n = found["samples"]
        self.assertGreaterEqual(n, 3)
        self.assertEqual((new["name"], new["uuid"], new["max_gpu_util_pct"], new["avg_power_w"], new["max_temperature_c"]), ("New One", "GPU-1", 60, 300.5, 55))
        self.assertTrue(20 < new["avg_gpu_util_pct"] < 60)
        self.assertEqual((new["avg_memory_used_gb"], new["memory_total_gb"], new["avg_sm_clock_mhz"]), (30, 80, 1980))
        self.assertAlmostEqual(new["energy_j"], 2.5 * (n - 1))
        self.assertEqual(new["throttled_pct"], {"power cap": 100})
        self.assertEqual(old, {"name": "Old One", "avg_memory_used_gb": 4, "max_memory_used_gb": 4, "memory_total_gb": 16})
        self.assertEqual(set(newest[1]), {"gpu_id", "memory_used_gb", "memory_total_gb"})
        self.assertEqual(len(rows), 2 * n)
        self.assertTrue({"gpu_id", "gpu_util_pct", "power_w", "timestamp"} <= set(rows[0]))
        self.assertEqual(out.splitlines()[3], "1")

    def test_intervals(self):
        with self.assertRaises(ValueError):
            holdup.GPUMonitor(0)
        with self.assertRaises(ValueError):
            holdup.GPUMonitor(float("nan"))


class TestPage(unittest.TestCase):
    def test_examples_of_the_page_run(self):
        """Those in Python, with and without a recorder; those in C and C++."""
        text = PAGE.read_text()
        blocks = re.findall(r"^```(\w+)\n(.*?)^```", text, re.M | re.S)
        python = [body for language, body in blocks if language == "python"]
        self.assertGreaterEqual(len(python), 3)
        for body in python:
            if re.search(r"\btorch\b|\bcuda\b", body):
                continue                            # TestTorch
            for preload in (False, True):
                script(body, preload=preload)
        compiled = 0
        with tempfile.TemporaryDirectory() as folder:
            for language, compiler in (("c", "gcc"), ("cpp", "g++")):
                for number, body in enumerate(b for kind, b in blocks if kind == language):
                    path = pathlib.Path(folder) / f"page{number}.{language}"
                    path.write_text(body)
                    _, log = told([build(f"page-{language}-{number}", "-Wall", "-Wextra", "-Werror", path, compiler=compiler)])
                    self.assertIn("phase 4", log)
                    compiled += 1
        self.assertEqual(compiled, 2)


class TestTorch(unittest.TestCase):
    def setUp(self):
        self.python = torch_or_skip(self)

    def torch(self, text: str, **options) -> dict:
        out, log = script("import json, torch, holdup\ntorch.set_num_threads(1)\n" + textwrap.dedent(text), python=self.python, timeout=120, **options)
        found = json.loads(out.splitlines()[-1])
        return {**found, "log": log} if isinstance(found, dict) else found

    def test_the_schedule_is_torchs(self):
        different = self.torch("""
            import inspect, itertools, warnings
            warnings.simplefilter("ignore")
            known = set(inspect.signature(torch.profiler.schedule).parameters)
            different = 0
            for wait, warmup, active, repeat, first, first_wait in itertools.product((0, 1, 3), (0, 1, 2), (1, 2, 4), (0, 1, 3), (0, 2), (0, 1)):
                options = dict(wait=wait, warmup=warmup, active=active, repeat=repeat, skip_first=first)
                if "skip_first_wait" in known: options["skip_first_wait"] = first_wait
                elif first_wait: continue
                ours, theirs = holdup.schedule(**options), torch.profiler.schedule(**options)
                different += sum(ours(n).name != theirs(n).name for n in range(40))
            print(different)
            """, preload=False)
        self.assertEqual(different, 0)

    def test_cycles_are_torchs(self):
        """The same loop under both: when traces are ready, and which steps they hold."""
        found = self.torch("""
            import warnings
            warnings.simplefilter("ignore")
            def run(profiler, ready):
                with profiler(schedule=torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=lambda p: ready.append(p.step_num)) as p:
                    for _ in range(11):
                        torch.ones(3).sum()
                        p.step()
                return ready
            print(json.dumps({"ours": run(holdup.Profiler, []), "theirs": run(torch.profiler.profile, [])}))
            """, preload=False)
        self.assertEqual(found["ours"], found["theirs"])

    def test_benchmark_of_a_module_leaves_it_as_it_was(self):
        found = self.torch("""
            model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5)).train()
            r = holdup.quick_benchmark(model, (4, 8), num_iterations=20, warmup=2, device="cpu", show=False)
            print(json.dumps({**r, "training": model.training, "grad": torch.is_grad_enabled()}))
            """, preload=False)
        self.assertEqual((found["training"], found["grad"], found["batch_size"], found["device"]), (True, True, 4, "cpu"))
        self.assertGreater(found["throughput_per_s"], 0)

    def test_an_epoch_by_phase(self):
        found = self.torch("""
            model = torch.nn.Linear(8, 2)
            data = torch.utils.data.TensorDataset(torch.randn(40, 8), torch.randint(0, 2, (40,)))
            loader = holdup.ProfiledDataLoader(torch.utils.data.DataLoader(data, batch_size=8), device="cpu")
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            report = holdup.PipelineProfiler().profile_epoch(model, loader, optimizer, torch.nn.functional.cross_entropy)
            print(json.dumps({"report": report, "batches": loader.get_stats()["batches"], "dataset": len(loader.dataset)}))
            """)
        self.assertEqual(list(found["report"]), ["data", "transfer", "forward", "backward", "optimizer"])
        self.assertEqual({found["report"][name]["calls"] for name in ("transfer", "forward", "backward", "optimizer")}, {5})
        self.assertEqual((found["batches"], found["dataset"]), (5, 40))
        self.assertEqual(sum(line.startswith("step ") for line in found["log"]), 6)    # the last one finds the loader at its end

    def test_memory_of_a_training_loop(self):
        found = self.torch("""
            model = torch.nn.Linear(256, 256)
            batches = [(torch.randn(8, 256), torch.randn(8, 256))] * 60
            kept = []
            class Leaky(torch.nn.Module):
                def forward(self, x):
                    y = model(x)
                    kept.append(torch.ones(1 << 18))       # a mebibyte
                    return y
            entries = holdup.memory_timeline(model, batches, 3, criterion=torch.nn.functional.mse_loss,
                                             optimizer=torch.optim.Adam(model.parameters()))
            print(json.dumps({"phases": [e["phase"] for e in entries], "leak": holdup.find_memory_leaks(Leaky(), batches, 60)}))
            """, preload=False)
        self.assertEqual(found["phases"][:7], ["start", "before_forward", "after_forward", "before_backward", "after_backward", "before_optimizer",
                                               "after_optimizer"])
        self.assertTrue(found["leak"]["is_leak"], found["leak"])
        self.assertAlmostEqual(found["leak"]["bytes_per_step"] / (1 << 20), 1, delta=0.15)

    def test_overlap_of_ddp(self):
        found = self.torch("""
            import torch.distributed as dist, tempfile
            with tempfile.NamedTemporaryFile() as store:
                dist.init_process_group("gloo", init_method=f"file://{store.name}", rank=0, world_size=1)
                inner = torch.nn.Linear(64, 64)
                model = torch.nn.parallel.DistributedDataParallel(inner)
                inner.weight.grad = torch.full_like(inner.weight, 7.0)
                r = holdup.overlap(model, torch.randn(8, 64), num_iterations=10)
                plain = holdup.overlap(inner, torch.randn(8, 64), num_iterations=2)
                print(json.dumps({**r, "grad": inner.weight.grad.mean().item(), "bias": inner.bias.grad is None, "plain": plain["statement"]}))
                dist.destroy_process_group()
            """, preload=False)
        self.assertGreater(found["compute_only_ms"], 0)
        self.assertGreater(found["comm_alone_ms"], 0)
        self.assertEqual((found["grad"], found["bias"]), (7, True))
        self.assertIn("Linear has no no_sync()", found["plain"])

    def test_examples_of_the_page_with_torch(self):
        for body in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S):
            script(body, python=self.python, timeout=120)


if __name__ == "__main__":
    unittest.main()
