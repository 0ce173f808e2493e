# SPDX-License-Identifier: Apache-2.0
"""The CUDA door without CUDA: how it is opened, how it says that it stays shut, and that the program does not notice."""
from __future__ import annotations

import pathlib
import shlex
import subprocess
import tempfile
import unittest
from typing import Any

from tests.pftrace import message
from tests.program import EXE, ROOT, SANITIZED, skip_loudly
from tests.recorder import environment, holdup, rows

LIBRARY = pathlib.Path(EXE).parent / "libholdup-inject.so"


def load_tests(_loader, tests, _pattern):
    """What is tried here lives in other programs, without sanitizers: once is enough."""
    return unittest.TestSuite() if SANITIZED else tests


class Case(unittest.TestCase):
    def setUp(self) -> None:
        if not LIBRARY.exists():
            skip_loudly(f"{LIBRARY} was not built")
            raise unittest.SkipTest("no library")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def build(self, name: str, *flags: str, source: pathlib.Path = ROOT / "tests/inject/cuda_driver.c") -> pathlib.Path:
        out = self.folder / name
        subprocess.run(["cc", "-O1", "-Wall", "-o", out, source, *flags, "-ldl"], check=True, capture_output=True)
        return out

    def driver(self) -> pathlib.Path:
        """A driver, and a program that initialises it."""
        self.build("libcuda.so.1", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")
        return self.build("program", "-DPROGRAM", f"-L{self.folder}", "-l:libcuda.so.1", "-Wl,-rpath,$ORIGIN")

    def empty(self, name: str, text: str = "") -> pathlib.Path:
        source = self.folder / "empty.c"
        source.write_text(text or "int empty;\n", encoding="utf-8")
        return self.build(name, "-shared", "-fPIC", f"-Wl,-soname,{name}", source=source)

    def record(self, *command: Any, words: tuple[str, ...] = (), **variables: str) -> subprocess.CompletedProcess:
        done = holdup("run", "--no-report", "-f", "-o", self.folder / "t.pftrace", *words, "--", *command,
                      env=environment(CUDA_HOME="/nonexistent", **variables), cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done


class Opening(Case):
    def variables(self, *words: str, **given: str) -> dict[str, str]:
        done = holdup("run", "--print-command", *words, "true", env=environment(**given))
        self.assertEqual(done.returncode, 0, done.stderr)
        return dict(word.split("=", 1) for word in shlex.split(done.stdout) if "=" in word)

    def test_it_is_open_by_default_and_shut_when_others_are_named(self) -> None:
        self.assertEqual(self.variables()["CUDA_INJECTION64_PATH"], str(LIBRARY))
        self.assertEqual(self.variables("--trace", "nvtx,cuda")["CUDA_INJECTION64_PATH"], str(LIBRARY))
        self.assertNotIn("CUDA_INJECTION64_PATH", self.variables("--trace", "nvtx,osrt"))

    def test_another_tool_stays_and_none_is_respected(self) -> None:
        found = self.variables(CUDA_INJECTION64_PATH="/a/tool.so")
        self.assertEqual((found["CUDA_INJECTION64_PATH"], found["HOLDUP_CUDA_CHAIN"]), (str(LIBRARY), "/a/tool.so"))
        found = self.variables(CUDA_INJECTION64_PATH="none")
        self.assertNotIn("CUDA_INJECTION64_PATH", found)
        self.assertNotIn("HOLDUP_CUDA_CHAIN", found)

    def test_options(self) -> None:
        for words, said in ((["--cuda-graph-trace=all"], "needs node or graph"), (["--cuda-memory-usage=1"], "needs true or false"),
                            (["-c", "cudaProfilerApi", "--steps", "1..2"], "excludes --steps"),
                            (["-c", "cudaProfilerApi", "--trace", "nvtx"], "needs --trace cuda"),
                            (["--trace", "cudas"], "did you mean cuda")):
            done = holdup("run", *words, "true")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)

    def test_a_program_without_cuda_hears_nothing_of_it(self) -> None:
        self.assertNotIn("GPU", self.record("true").stderr)
        self.assertIn("cudaProfilerStart was never called", self.record("true", words=("-c", "cudaProfilerApi")).stderr)


class States(Case):
    """What a driver finds in us, and what is said about it."""

    def test_without_cupti(self) -> None:
        done = self.record(self.driver())
        self.assertIn("GPU work was not recorded: no libcupti was found", done.stderr)

    def test_a_cupti_that_lacks_functions(self) -> None:
        program = self.driver()
        self.empty("libcupti.so.12", "int cuptiGetVersion(unsigned *v) { *v = 1; return 0; }\n")
        done = self.record(program, LD_LIBRARY_PATH=str(self.folder))
        self.assertIn(f"GPU work was not recorded: {self.folder}/libcupti.so.12 has no function cuptiActivityRegisterCallbacks", done.stderr)

    def test_the_mapped_cupti_comes_first_then_the_one_beside_the_runtime(self) -> None:
        program, text = self.driver(), "int cuptiGetVersion(unsigned *v) { *v = 1; return 0; }\n"
        for place in ("nvidia/cuda_cupti/lib", "nvidia/cuda_runtime/lib", "own"):
            (self.folder / place).mkdir(parents=True)
        beside = self.empty("libcupti.so.12", text).rename(self.folder / "nvidia/cuda_cupti/lib/libcupti.so.12")
        runtime = self.empty("libcudart.so.12").rename(self.folder / "nvidia/cuda_runtime/lib/libcudart.so.12")
        own = self.empty("libcupti.so.13", text).rename(self.folder / "own/libcupti.so.13")
        self.assertIn(f"{runtime.parent}/../../cuda_cupti/lib/{beside.name} has no", self.record(program, runtime).stderr)
        self.assertIn(f"{own} has no", self.record(program, own, LD_PRELOAD=str(runtime)).stderr)

    def test_a_driver_that_is_too_old(self) -> None:
        program = self.driver()
        runtime = self.empty("libcudart.so.13", "int cudaRuntimeGetVersion(int *v) { *v = 13050; return 0; }\n")
        source = self.folder / "plain.c"
        source.write_text("#include <dlfcn.h>\nint main(int n, char **v) { return !dlopen(v[1], 2) || !dlopen(v[2], 2); }\n", encoding="utf-8")
        plain = self.build("plain", source=source)
        done = self.record(plain, runtime, program.parent / "libcuda.so.1")
        self.assertIn("CUDA 13.5 runtime on a 12.4 driver: no GPU work could start", done.stderr)

    def test_the_tool_that_was_named_is_called(self) -> None:
        program, tool = self.driver(), self.build("tool.so", "-DTOOL", "-shared", "-fPIC")
        done = self.record(program, CUDA_INJECTION64_PATH=str(tool))
        self.assertEqual(done.stdout, "the tool was called\n")
        self.assertIn(f"{tool} (CUDA_INJECTION64_PATH) is loaded, too", done.stderr)
        self.assertEqual(self.record(program, words=("--trace", "nvtx"), CUDA_INJECTION64_PATH=str(tool)).stdout, "the tool was called\n")
        gone = self.record(program, CUDA_INJECTION64_PATH="/nonexistent/tool.so")
        self.assertIn("/nonexistent/tool.so cannot be loaded; GPU work is recorded without it", gone.stderr)

    def test_a_program_that_took_the_variable_away(self) -> None:
        program = self.driver()
        self.assertIn("CUDA_INJECTION64_PATH was removed", self.record("env", "-u", "CUDA_INJECTION64_PATH", program, HOLDUP_FOLLOW="0").stderr)
        self.assertIn("no libcupti was found", self.record("env", "-i", program).stderr, "it is put back")
        self.assertIn("CUDA_INJECTION64_PATH names /a/b.so", self.record("env", "CUDA_INJECTION64_PATH=/a/b.so", program).stderr)
        self.assertNotIn("GPU work, if", self.record("env", "CUDA_INJECTION64_PATH=none", program).stderr)

    def test_what_the_trace_says(self) -> None:
        self.record(self.driver())
        done = holdup("query", self.folder / "t.pftrace", "select value from metadata where key = 'holdup.gpu_door'")
        self.assertIn("no CUPTI", done.stdout)

    def test_what_cupti_lost_is_lost_in_the_report(self) -> None:
        self.record(self.driver())
        trace = self.folder / "t.pftrace"
        facts = {"holdup.gpu_dropped": 5, "holdup.gpu_thrown_away": 2, "holdup.gpu_without_time": 3, "holdup.gpu_unknown_kinds": 4, "holdup.gpu_yielded_ns": 1500000000}
        trace.write_bytes(trace.read_bytes() + b"".join(message((1, message((126, message((1, message((1, k), (2, v)))))))) for k, v in facts.items()))
        self.assertEqual({r["reason"]: r["count"] for r in rows(trace, "select reason, count from quality where count > 0")}, {"RECORDER": 7, "ZERO_TIME": 3})
        said = holdup("report", trace).stdout
        self.assertIn("the profiler warned: 4 GPU records are of unknown kinds; GPU work was not recorded for 1.500 s: another one used CUPTI",
                      " ".join(said.split()))


if __name__ == "__main__":
    unittest.main()
