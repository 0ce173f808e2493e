# SPDX-License-Identifier: Apache-2.0
"""A machine that lacks a package: what still builds, and what must not look as if it had passed."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from tests.program import ROOT, SANITIZED, skip_loudly


@unittest.skipIf(SANITIZED, "the build is the same")
class WithoutCmocka(unittest.TestCase):
    def setUp(self) -> None:
        if not shutil.which("meson") or not shutil.which("pkg-config"):
            skip_loudly("a build is not set up here: no meson or no pkg-config")
            self.skipTest("no meson")
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.folder = pathlib.Path(home.name)
        known = subprocess.run(["pkg-config", "--variable", "pc_path", "pkg-config"], capture_output=True, text=True, check=True)
        (self.folder / "pc").mkdir()
        (self.folder / "bin").mkdir()
        for place in known.stdout.strip().split(":"):
            for file in pathlib.Path(place).glob("*.pc"):
                if file.name != "cmocka.pc" and not (self.folder / "pc" / file.name).exists():
                    (self.folder / "pc" / file.name).symlink_to(file)
        (self.folder / "bin/cmake").write_text("#!/bin/sh\nexit 1\n")       # meson asks it too
        (self.folder / "bin/cmake").chmod(0o755)
        self.env = {**os.environ, "PKG_CONFIG_LIBDIR": str(self.folder / "pc"), "PKG_CONFIG_PATH": "",
                    "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}

    def call(self, *command: str) -> tuple[int, str]:
        done = subprocess.run(command, cwd=ROOT, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
                              check=False)
        return done.returncode, done.stdout

    def test_the_program_is_set_up_and_the_tests_fail(self) -> None:
        tree = str(self.folder / "build")
        status, said = self.call("meson", "setup", tree, "--buildtype=debugoptimized")
        self.assertEqual(status, 0, said)
        self.assertRegex(said, r"dependency cmocka found: NO")
        self.assertEqual(self.call("ninja", "-C", tree, "-n", "holdup", "libholdup-inject.so")[0], 0)
        status, said = self.call("meson", "test", "-C", tree, "--no-rebuild", "--verbose", "cmocka")
        self.assertEqual(status, 1, said)
        self.assertIn("ERROR: cmocka is not installed", said)
        self.assertRegex(said, r"Fail: +1")


if __name__ == "__main__":
    unittest.main()
