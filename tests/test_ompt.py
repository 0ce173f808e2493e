# SPDX-License-Identifier: Apache-2.0
"""The OpenMP door (OMPT): programs compiled with clang, whose regions, barriers and tasks are as many as they count themselves, and unharmed.

Threads sleep where others would compute, so that no figure depends on who else has the CPUs.  Where two times are compared, the program itself took both."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import unittest.mock
from typing import Any

from tests import recorder
from tests.program import EXE, ROOT, SANITIZED, skip_loudly

LIBRARY = pathlib.Path(EXE).parent / "libholdup-inject.so"
THREADS = 4


def load_tests(_loader, tests, _pattern):
    """The recorder works in other programs, without sanitizers: once is enough."""
    return unittest.TestSuite() if SANITIZED else tests


def compile_c(folder: pathlib.Path, name: str, *flags: str) -> pathlib.Path:
    out = folder / name
    subprocess.run([shutil.which("clang") or "clang", "-O1", "-Wall", "-Werror", "-o", out, ROOT / f"tests/inject/{name}.c", *flags],
                   check=True, capture_output=True, text=True)
    return out


def skip(why: str) -> None:
    skip_loudly(why)
    raise unittest.SkipTest(why)


class Case(unittest.TestCase):
    folder: pathlib.Path
    program: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-ompt-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        if not shutil.which("clang"):
            skip("no clang: nothing is known of LLVM's OpenMP (apt-get install clang libomp-dev)")
        try:
            cls.program = compile_c(cls.folder, "openmp", "-fopenmp")
        except subprocess.CalledProcessError as problem:
            skip(f"clang -fopenmp does not work here (apt-get install libomp-dev): {problem.stderr.strip().splitlines()[-1:]}")

    def record(self, *words: Any, options: tuple[str, ...] = ("--sample", "none", "--cpuctxsw", "none"), status: int = 0, command: tuple[str, ...] = (),
               **env: str) -> subprocess.CompletedProcess:
        """The trace is at self.trace."""
        self.trace = self.folder / "run.pftrace"
        done = recorder.holdup("run", "--no-report", "-f", "-o", self.trace, *options, "--", *command, self.program, *words,
                               env=recorder.environment(**env))
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def slices(self) -> list[dict[str, Any]]:
        """All of OpenMP, with their arguments."""
        out = self.folder / "run.json"
        out.unlink(missing_ok=True)
        done = recorder.holdup("export", self.trace, "-o", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [e for e in json.loads(out.read_text())["traceEvents"] if e.get("cat") == "openmp"]

    def named(self, name: str) -> list[dict[str, Any]]:
        return [e for e in self.slices() if e["name"] == name]

    def count(self, name: str) -> int:
        return recorder.count(self.trace, name)

    def finding(self, *options: str) -> dict[str, Any] | None:
        done = recorder.holdup("report", self.trace, "--json", *options)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return next((f for f in json.loads(done.stdout)["findings"] if f["id"] == "load-imbalance"), None)


class Declarations(Case):
    def test_they_are_those_of_llvm(self) -> None:
        try:
            compile_c(self.folder, "openmp_abi", f"-I{ROOT / 'src'}", "-fopenmp")
        except subprocess.CalledProcessError as problem:
            if "omp-tools.h' file not found" in problem.stderr:
                skip("no omp-tools.h: OMPT is not compared with LLVM's header")
            self.fail(problem.stderr)


class Counts(Case):
    def test_regions_and_phases(self) -> None:
        self.record("even", 5)
        self.assertEqual((self.count("parallel region"), self.count("implicit task"), self.count("barrier")), (5, 5 * THREADS, 5 * THREADS))
        region = self.named("parallel region")[0]["args"]
        self.assertEqual((region["threads"], region["caller"]), (THREADS, "solve_even"))
        self.assertTrue(region["place"].startswith("openmp+0x"), region)
        for task in self.named("implicit task"):
            self.assertIn("loop", task["args"]["worksharing"])

    def test_the_place_is_what_addr2line_wants(self) -> None:
        if not shutil.which("addr2line"):
            skip("no addr2line")
        self.record("even", 1)
        module, address = self.named("parallel region")[0]["args"]["place"].split("+")
        told = subprocess.run(["addr2line", "-f", "-e", self.folder / module, address], capture_output=True, text=True, check=True).stdout
        self.assertEqual(told.splitlines()[0], "solve_even")

    def test_lines_of_a_program_with_debug_information(self) -> None:
        """In the function that has the loop; DWARF 4 and 5."""
        source = (ROOT / "tests/inject/openmp.c").read_text().splitlines()
        first = next(n for n, line in enumerate(source, 1) if "solve_even(void)" in line)
        last = next(n for n, line in enumerate(source, 1) if n > first and line == "}")
        for version in ("-gdwarf-4", "-gdwarf-5"):
            with self.subTest(version=version):
                debug = self.folder / "debug"
                debug.mkdir(exist_ok=True)
                with unittest.mock.patch.object(type(self), "program", compile_c(debug, "openmp", "-fopenmp", version)):
                    self.record("even", 1)
                file, line = self.named("parallel region")[0]["args"]["line"].split(":")
                self.assertEqual(file, "openmp.c")
                self.assertTrue(first <= int(line) <= last, line)

    def test_sums_as_those_of_nsys(self) -> None:
        self.record("even", 5)
        done = recorder.holdup("stats", "-r", "openmp_sum", self.trace, "--csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = {line.rsplit(",", 1)[1]: line.split(",") for line in done.stdout.splitlines() if line.count(",") > 5}
        head = rows.pop("Name")
        self.assertEqual({name: int(row[head.index("Count")]) for name, row in rows.items()},
                         {"parallel region": 5, "implicit task": 5 * THREADS, "barrier": 5 * THREADS})

    def test_nested_regions(self) -> None:
        self.record("nested")
        self.assertEqual((self.count("parallel region"), self.count("nested parallel region"), self.count("implicit task")), (5, 10, 30))

    def test_barriers_cut_a_region(self) -> None:
        """Six in a loop, and the region's own; threads work by turns."""
        self.record("barriers")
        self.assertEqual((self.count("parallel region"), self.count("implicit task")), (1, 2 * 7))
        works = sorted(t["args"]["work_ns"] for t in self.named("implicit task"))
        self.assertGreater(works[8], 2.5e6)  # the six of 3 ms, and six of 0.5 and two of nothing before them
        self.assertLess(works[1], 0.4e6)

    def test_tasks_at_a_barrier_are_work(self) -> None:
        self.record("tasks")
        ran = [t["args"].get("work_ns", 0) for t in self.slices() if t["name"] in ("implicit task", "tasks")]
        self.assertGreaterEqual(sum(ran), 12 * 4e6)
        self.assertLess(sum(ran), 3 * sum(r["dur"] for r in self.named("parallel region")) * 1e3)

    def test_thousands_of_tasks_are_no_thousands_of_slices(self) -> None:
        done = self.record("tiny-tasks")
        self.assertIn("6765\n", done.stdout)
        regions, = self.named("parallel region")
        waits = [s for s in self.slices() if s["name"] == "taskwait"]
        self.assertLess(len(waits), 10946 / 2)  # as many taskwaits were passed
        self.assertEqual(regions["args"]["threads"], 3)

    def test_waits_for_a_critical_section(self) -> None:
        self.record("critical")
        waits = self.named("critical")
        self.assertGreaterEqual(len(waits), 4)  # of 12: three threads want it at a time
        self.assertLessEqual(len(waits), 12)
        self.assertEqual(len({(w["pid"], w["args"]["caller"]) for w in waits}), 1)
        working = sum(t["args"]["work_ns"] for t in self.named("implicit task"))
        self.assertLess(working, sum(t["dur"] for t in self.named("implicit task")) * 1e3)
        self.assertGreaterEqual(working, 12 * 10e6)

    def many(self, regions: int, threads: int) -> int:
        """Runs so many regions that do nothing; how many slices there are."""
        done = self.record("many", regions, threads)
        self.assertIn(f"{regions * threads}\n", done.stdout)
        short, single = self.named("short parallel regions"), self.named("parallel region")
        self.assertEqual(sum(s["args"]["calls"] for s in short) + len(single), regions)
        self.assertEqual(sum(s["args"]["calls"] for s in self.named("short implicit tasks")) + self.count("implicit task"), regions * threads)
        self.assertEqual(self.count("lost records"), 0)
        return len(self.slices())

    def test_a_hundred_thousand_regions_stay_few(self) -> None:
        """Of one thread, for which nobody has to wait."""
        self.assertLess(self.many(100000, 1), 20000)

    def test_short_regions_of_two_threads(self) -> None:
        self.many(2000, 2)


class Findings(Case):
    """With CPU states, which say when a thread waited for a CPU."""

    def seconds(self, *words: Any) -> float:
        done = subprocess.run([self.program, *map(str, words)], capture_output=True, text=True, check=True, env=recorder.environment())
        return float(done.stdout.split("seconds ")[1])

    def test_one_thread_with_three_times_the_work(self) -> None:
        """What the program takes with the cure, against what was said without it."""
        before, after = (min(self.seconds(what, 4) for _ in range(2)) for what in ("static", "dynamic"))
        self.record("static", 4, options=())
        found = self.finding()
        self.assertIsNotNone(found)
        for words in (f"{THREADS} OpenMP threads", "loop in solve_static (openmp+0x"):
            self.assertIn(words, found["statement"])
        gain = 100 * (1 - after / before)
        self.assertGreater(found["gain_pct"], 0.5 * gain)
        self.assertLess(found["gain_pct"], 1.7 * gain)
        self.assertIn("4 of 4", " ".join(found["evidence"]))

    def waits_at_barriers(self) -> dict[int, int]:
        """By thread, ns: barriers without the tasks that it ran there, and what the report must say of them."""
        out: dict[int, int] = {}
        tasks = [(t["tid"], t["ts"], t["ts"] + t["dur"]) for t in self.named("tasks")]
        for b in self.named("barrier"):
            ran = sum(max(0, min(b["ts"] + b["dur"], end) - max(b["ts"], begin)) for tid, begin, end in tasks if tid == b["tid"])
            out[b["tid"]] = out.get(b["tid"], 0) + round(1e3 * (b["dur"] - ran)) - b["args"].get("work_ns", 0)
        return out

    def test_a_barrier_is_waiting_whoever_spins(self) -> None:
        """Threads that spin there take a CPU, and threads that sleep there call the system: both wait for their team."""
        for words, policy in ((("static", 2), "active"), (("static", 2), "passive"), (("barriers",), "active"), (("tasks",), "active")):
            with self.subTest(words=words, policy=policy):
                self.record(*words, options=("--sample", "none"), OMP_WAIT_POLICY=policy)
                done = recorder.holdup("report", self.trace, "--json")
                host = json.loads(done.stdout)["ranks"][0]["host_time"]
                waits = self.waits_at_barriers()
                self.assertAlmostEqual(host["openmp_wait_ns"], waits.pop(host["tid"]), delta=1000)
                states = [v for k, v in host.items() if k.endswith("_ns") and not k.startswith(("task_", "process_", "job_")) and k != "step_ns"]
                self.assertAlmostEqual(sum(states), host["step_ns"], delta=1000)
                threads = {t["tid"]: t for t in host["threads"]}
                for tid, ns in waits.items():
                    self.assertGreaterEqual(threads[tid]["other_waits_ns"], ns - 1000)
                    self.assertLessEqual(threads[tid]["running_ns"], threads[tid]["wall_ns"] - ns + 1000)

    def test_equal_work_is_no_case(self) -> None:
        self.record("even", 2, options=())
        self.assertIsNone(self.finding())

    def test_threads_that_lock_have_no_unequal_work(self) -> None:
        self.record("critical", options=())
        self.assertIsNone(self.finding())


class Unharmed(Case):
    def test_fork_in_a_region(self) -> None:
        self.assertIn("3\n", self.record("forks").stdout)
        self.assertEqual(self.count("parallel region"), 1)

    def test_a_child_with_regions_of_its_own(self) -> None:
        self.assertIn("4\n", self.record("child").stdout)
        self.assertEqual((self.count("parallel region"), self.count("implicit task")), (2, 4))
        self.assertEqual(len({s["pid"] for s in self.named("parallel region")}), 2)

    def test_exit_in_a_region(self) -> None:
        self.record("leaves", status=5)

    def test_switched_off(self) -> None:
        for env, options in (({"OMP_TOOL": "disabled"}, ()), ({}, ("--trace", "user,osrt"))):
            with self.subTest(env=env, options=options):
                self.record("even", 2, options=("--sample", "none", *options), **env)
                self.assertEqual(self.slices(), [])

    def test_without_preload(self) -> None:
        self.record("even", 3, command=("env", "-u", "LD_PRELOAD"))
        self.assertEqual(self.count("parallel region"), 3)

    def test_a_tool_of_the_jobs_own_comes_first(self) -> None:
        tool = compile_c(self.folder, "openmp_tool", "-shared", "-fPIC")
        for env in ({"OMP_TOOL_LIBRARIES": str(tool)}, {"LD_PRELOAD": str(tool)}):
            with self.subTest(env=env):
                done = self.record("even", 3, **env)
                self.assertIn("own tool: 3\n", done.stdout)
                if "OMP_TOOL_LIBRARIES" in env:  # one that comes before us in the program is found, and we are never asked
                    self.assertIn("OpenMP is not recorded", done.stderr)
                self.assertEqual(self.slices(), [])

    def test_a_runtime_without_ompt(self) -> None:
        """GCC's says nothing, and nothing is said of it."""
        program = self.folder / "gnu"
        made = subprocess.run(["gcc", "-O1", "-fopenmp", "-o", program, ROOT / "tests/inject/openmp.c"], capture_output=True, text=True, check=False)
        if made.returncode != 0:
            skip("no gcc -fopenmp")
        trace = self.folder / "gnu.pftrace"
        done = recorder.holdup("run", "--no-report", "-f", "-o", trace, "--", program, "even", 3)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("OpenMP", done.stderr)
        self.assertEqual(recorder.rows(trace, "select count(*) as n from slice where kind = 'openmp'")[0]["n"], 0)

    def test_require(self) -> None:
        self.record("even", 2, options=("--require", "openmp", "--sample", "none"))
        self.record("none", options=("--require", "openmp", "--sample", "none"), status=123)

    def test_the_door_is_all_that_can_be_found(self) -> None:
        """What a program may find by name in the library."""
        told = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"}).stdout
        self.assertEqual([line.split()[2] for line in told.splitlines() if line.split()[2].startswith(("omp", "hu_"))], ["ompt_start_tool"])
