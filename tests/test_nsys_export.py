# SPDX-License-Identifier: Apache-2.0
"""Reports of Nsight Systems, where a program called nsys is on the PATH: it makes the export that is read."""
from __future__ import annotations

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from tests.nsight import Export
from tests.program import EXE

MARK = b"NVIDIA Tegra Profiler Report 2024@6@2@225\0\0"


class Exported(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name in ("bin", "tmp", "other"):
            (self.folder / name).mkdir()
        self.report = self.folder / "r.nsys-rep"
        self.report.write_bytes(MARK)
        export = Export()
        export.call(100, 120, "cudaLaunchKernel_v7000", 5)
        export.kernel(200, 300, "gemm", 5)
        export.save(self.folder / "made")

    def nsys(self, body: str) -> None:
        program = self.folder / "bin/nsys"
        program.write_text(f"#!/bin/sh\necho \"$@\" >>{self.folder}/calls\n{body}\n")
        program.chmod(0o755)

    def holdup(self, *words: object) -> subprocess.CompletedProcess:
        done = subprocess.run([EXE, *map(str, words)], capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, "PATH": f"{self.folder}/bin:/usr/bin:/bin", "TMPDIR": str(self.folder / "tmp")})
        self.assertEqual(list((self.folder / "tmp").iterdir()), [], "temporary files are left")
        self.assertEqual(self.report.read_bytes(), MARK)
        return done

    def test_the_export_is_read(self) -> None:
        for ending in ("", ".sqlite"):      # some versions add their own
            with self.subTest(ending):
                self.nsys(f'cp {self.folder}/made "$5{ending}"')
                done = self.holdup("query", self.report, "--csv", "select name, dur_ns from kernel")
                self.assertEqual((done.returncode, done.stdout), (0, "name,dur_ns\ngemm,100\n"), done.stderr)
        self.assertRegex((self.folder / "calls").read_text(), r"^export --type sqlite --output \S+/r\.nsys-rep \S+/r\.nsys-rep\n")
        self.assertIn("r.nsys-rep", self.holdup("report", self.report).stdout.splitlines()[0])

    def test_two_reports_of_one_name(self) -> None:
        self.nsys(f'cp {self.folder}/made "$5"')
        other = self.folder / "other/r.nsys-rep"
        other.write_bytes(MARK)
        done = self.holdup("query", self.report, other, "--csv", "select rank, count(*) from kernel group by 1")
        self.assertEqual((done.returncode, done.stdout), (0, "rank,count(*)\n0,1\n1,1\n"), done.stderr)

    def test_what_nsys_says_is_passed_on(self) -> None:
        self.nsys("printf 'Processing [12%%]\\rPlease update your Nsight Systems\\033[0m.\\n' >&2; exit 1")
        done = self.holdup("report", self.report)
        self.assertEqual(done.returncode, 3)
        self.assertIn("r.nsys-rep: nsys cannot export it; it was written by Nsight Systems 2024.6.2.225: Please update your Nsight Systems[0m.\n",
                      done.stderr)
        self.assertIn("`nsys export --type sqlite FILE` makes an export", done.stderr)

    def test_nsys_makes_nothing(self) -> None:
        self.nsys("exit 0")
        done = self.holdup("report", self.report)
        self.assertEqual(done.returncode, 3)
        self.assertIn("it says nothing", done.stderr)

    def test_a_pipe_is_read_once(self) -> None:
        self.nsys("exit 1")
        done = subprocess.run(["bash", "-c", f'{EXE} query <(cat {self.folder}/made) "select name from kernel"'], capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertIn("gemm", done.stdout, done.stderr)
        self.assertFalse((self.folder / "calls").exists())

    def test_no_nsys(self) -> None:
        done = self.holdup("report", self.report)
        self.assertEqual(done.returncode, 3)
        self.assertNotIn("exports it", done.stderr)
        self.assertIn("`nsys export --type sqlite FILE` makes an export", done.stderr)


if __name__ == "__main__":
    unittest.main()
