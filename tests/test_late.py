# SPDX-License-Identifier: Apache-2.0
"""A library is loaded by the commands that use it and by no other; one that is missing is named, and the rest works."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from tests.program import EXE, OWN, SANITIZED

LATE = ("isal", "zstd", "sqlite3", "microhttpd", "nghttp2", "gnutls", "yaml", "ncursesw", "tinfo", "crypt")


@unittest.skipIf(SANITIZED, "sanitizers load libraries of their own")
class Late(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-late-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.packed = OWN[0]
        self.plain = self.folder / "rank0.json"
        with self.plain.open("wb") as file:
            subprocess.run(["gzip", "-dc", self.packed], stdout=file, check=True)

    def run_it(self, *words: object, status: int = 0, exe: str = EXE, **env: str) -> subprocess.CompletedProcess:
        done = subprocess.run([exe, *map(str, words)], capture_output=True, text=True, check=False, timeout=120, env={**os.environ, **env})
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def loads(self, *words: object) -> set[str]:
        """Those of the late libraries that the dynamic linker opened."""
        log = self.folder / "log"
        self.run_it(*words, LD_DEBUG="files", LD_DEBUG_OUTPUT=str(log))
        text = "".join(p.read_text() for p in self.folder.glob("log*"))
        for p in self.folder.glob("log*"):
            p.unlink()
        self.assertIn("libc.so", text)
        return {name for name in LATE if f"lib{name}" in text}

    def without(self, *names: str) -> str:
        """A path of libraries on which these are no libraries."""
        linked = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False, env={**os.environ, "PATH": os.environ["PATH"] + ":/sbin:/usr/sbin"}).stdout
        for name in names:
            found = [line.split()[0] for line in linked.splitlines() if line.strip().startswith(f"lib{name}.so.")]
            self.assertTrue(found, f"lib{name} is not installed")
            for file in found:
                (self.folder / file).write_text("")
        return str(self.folder)

    def test_what_a_command_does_not_use_is_not_loaded(self) -> None:
        self.assertEqual(self.loads("--help"), set())
        self.assertEqual(self.loads("report", self.plain), set())
        self.assertEqual(self.loads("report", self.packed), {"isal"})
        self.assertEqual(self.loads("query", self.plain, "select count(*) from slice"), {"sqlite3"})
        self.assertEqual(self.loads("report", self.plain, "--html", self.folder / "page.html"), {"isal"})

    @unittest.skipUnless(shutil.which("zstd"), "zstd is not installed")
    def test_zstd(self) -> None:
        subprocess.run(["zstd", "-q", self.plain], check=True)
        self.assertEqual(self.loads("report", f"{self.plain}.zst"), {"zstd"})

    def test_what_is_missing_is_named(self) -> None:
        place = self.without("isal", "sqlite3")
        self.run_it("report", self.plain, LD_LIBRARY_PATH=place)
        said = self.run_it("report", self.packed, status=3, LD_LIBRARY_PATH=place).stderr
        self.assertRegex(said, r"ISA-L, which reads and writes gzip, cannot be loaded \(.*libisal\.so.*\); install it")
        said = self.run_it("query", self.plain, "select 1", status=3, LD_LIBRARY_PATH=place).stderr
        self.assertRegex(said, r"SQLite cannot be loaded \(.*libsqlite3\.so.*\); install it")
        place = self.without("microhttpd")
        (self.folder / "libisal.so.2").unlink(missing_ok=True)
        said = self.run_it("view", self.plain, status=3, LD_LIBRARY_PATH=place).stderr
        self.assertRegex(said, r"libmicrohttpd, which serves pages, cannot be loaded \(.*\); install it")

    def test_copied_alone_it_reads(self) -> None:
        alone = self.folder / "elsewhere"
        shutil.copy(EXE, alone)
        self.assertEqual(self.run_it("report", self.packed, exe=str(alone)).stdout, self.run_it("report", self.packed).stdout)


if __name__ == "__main__":
    unittest.main()
