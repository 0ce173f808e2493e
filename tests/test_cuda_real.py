# SPDX-License-Identifier: Apache-2.0
"""The vendor's own libcupti and libcuda under the CUDA door, on a machine without a device: whatever they answer, the job goes on unchanged.

`make test-abi` fetches all versions, and drivers; otherwise two versions of libcupti are tried, and drivers where they are there."""
from __future__ import annotations

import pathlib
import re
import subprocess
import tempfile
import unittest

from tests import recorder
from tests.cuda import driver, stand, wheels
from tests.program import SANITIZED, skip_loudly

SAYS = r"(?i)\b(GPU|CUDA|CUPTI|device|driver)\b"


def load_tests(_loader, tests, _pattern):
    """What is tried here lives in other programs, without sanitizers: once is enough."""
    return unittest.TestSuite() if SANITIZED else tests


class Case(unittest.TestCase):
    def setUp(self) -> None:
        if not stand.INJECT.exists():
            skip_loudly(f"{stand.INJECT} was not built")
            raise unittest.SkipTest("no library")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def environment(self, *folders: pathlib.Path, **more: str) -> dict[str, str]:
        clean = {k: v for k, v in recorder.environment().items() if not k.startswith(("CUDA", "STANDIN", "LD_", "NVTX"))}
        return {**clean, "LD_LIBRARY_PATH": ":".join(map(str, folders)), **more}

    def both(self, *words: str, env: dict[str, str], out: str = "trace") -> tuple[subprocess.CompletedProcess, subprocess.CompletedProcess]:
        """The program alone, then recorded: its output and status must be the same."""
        with driver.no_node_left():
            alone = subprocess.run([stand.program("injector"), *words], capture_output=True, text=True, timeout=60, check=False, env=env)
            recorded = recorder.holdup("run", "--no-report", "-o", self.folder / out, "--", stand.program("injector"), *words, env=env)
        return alone, recorded

    def wheels(self) -> list[tuple[str, pathlib.Path]]:
        found = [(cuda, folder) for cuda in wheels.wanted() if (folder := wheels.fetch(cuda))]
        if not found:
            raise unittest.SkipTest("no wheel")
        return found


class NoDriver(Case):
    def test_libcupti_is_left_alone(self) -> None:
        """Version 13.2 dies at any call before libcuda is there."""
        for cuda, folder in self.wheels():
            with self.subTest(cuda=cuda):
                done = recorder.holdup("run", "--no-report", "-o", self.folder / cuda, "--", stand.program("injector"), "alone",
                                       env=self.environment(folder / "lib"))
                self.assertEqual((done.returncode, done.stdout), (7, "InitializeInjection 1\n" * 2), done.stderr)

    def test_a_runtime_without_driver(self) -> None:
        """It says 35, with and without holdup, and injects nothing."""
        for cuda, folder in self.wheels():
            runtime = next((p for p in sorted((folder / "lib").glob("libcudart.so.*"))), None)
            assert runtime
            with self.subTest(cuda=cuda):
                alone, recorded = self.both("runtime", str(runtime), env=self.environment(folder / "lib"), out=cuda)
                self.assertRegex(alone.stdout, r"^cudaGetDeviceCount 35: ")
                self.assertEqual((recorded.returncode, recorded.stdout), (alone.returncode, alone.stdout), recorded.stderr)


class RealDriver(Case):
    """libcuda without a device."""

    def drivers(self) -> list[tuple[str, pathlib.Path]]:
        found = [(branch, folder) for branch in driver.SUITES if (folder := driver.fetch(branch))]
        if not found:
            raise unittest.SkipTest("no driver")
        return found

    def test_every_libcupti(self) -> None:
        """cuInit answers 100, with the door in it too, whatever version of libcupti the door finds."""
        for branch, library in self.drivers():
            for cuda, folder in self.wheels():
                with self.subTest(driver=branch, cuda=cuda):
                    alone, recorded = self.both("driver", env=self.environment(library, folder / "lib"), out=f"{branch}-{cuda}")
                    self.assertEqual((alone.returncode, alone.stdout), (7, "cuInit 100\n"))
                    self.assertEqual((recorded.returncode, recorded.stdout), (7, "cuInit 100\n"), recorded.stderr)
                    self.assertRegex(recorded.stderr, SAYS)

    def test_every_runtime(self) -> None:
        """A runtime that is newer than the driver says 35, and nothing is injected."""
        for branch, library in self.drivers():
            for cuda, folder in self.wheels():
                runtime, = (folder / "lib").glob("libcudart.so.*")
                with self.subTest(driver=branch, cuda=cuda):
                    alone, recorded = self.both("runtime", str(runtime), env=self.environment(library, folder / "lib"), out=f"{branch}-{cuda}")
                    self.assertRegex(alone.stdout, r"^cudaGetDeviceCount (35|100): ")
                    self.assertEqual((recorded.returncode, recorded.stdout), (7, alone.stdout), recorded.stderr)
                    self.assertRegex(recorded.stderr, SAYS)

    def test_processes(self) -> None:
        for branch, library in self.drivers():
            folder = self.wheels()[-1][1]
            for way, out in (("fork", r"cuInit 100\ncuInit \d+\nchild 5\ncuInit 100\n"), ("exec", r"cuInit 100\ncuInit 100\n")):
                with self.subTest(driver=branch, way=way):
                    alone, recorded = self.both(way, env=self.environment(library, folder / "lib"), out=f"{branch}-{way}")
                    self.assertEqual(alone.returncode, 7)
                    self.assertTrue(re.fullmatch(out, alone.stdout), alone.stdout)
                    self.assertEqual((recorded.returncode, recorded.stdout), (7, alone.stdout), recorded.stderr)

    def test_other_libraries_are_injected_too(self) -> None:
        (self.folder / "other.c").write_text('#include <stdio.h>\nint InitializeInjection(void) { fputs("other was here\\n", stderr); return 1; }\n')
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.folder / "libother.so", self.folder / "other.c"], check=True)
        for branch, library in self.drivers():
            with self.subTest(driver=branch):
                alone, recorded = self.both("driver", env=self.environment(library, CUDA_INJECTION64_PATH=str(self.folder / "libother.so")),
                                            out=branch)
                self.assertEqual((alone.stdout, alone.stderr), ("cuInit 100\n", "other was here\n"))
                self.assertEqual((recorded.returncode, recorded.stdout), (7, alone.stdout))
                self.assertEqual(recorded.stderr.count("other was here"), 1)


if __name__ == "__main__":
    unittest.main()
