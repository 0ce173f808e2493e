# SPDX-License-Identifier: Apache-2.0
"""What docs/security.md says of files, folders and sockets, looked at from outside; and its numbers, as the sources have them."""
from __future__ import annotations

import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest

from tests.program import EXE, NOBODY, OWN, ROOT, skip_loudly
from tests.recorder import LIBRARY, environment
from tests.rings import make_session

PAGE = (ROOT / "docs/security.md").read_text()


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-security-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.folder.chmod(0o755)
        self.runtime = self.folder / "runtime"
        self.runtime.mkdir(mode=0o700)

    def holdup(self, *words: object, **more: object) -> subprocess.CompletedProcess:
        return subprocess.run([EXE, *map(str, words)], capture_output=True, text=True, cwd=self.folder, env=environment(XDG_RUNTIME_DIR=str(self.runtime)),
                              timeout=60, check=False, **more)


class Sessions(Case):
    @unittest.skipUnless(LIBRARY.exists(), "the recorder's library was not built")
    def test_nobody_else_may_read_them(self) -> None:
        """Whatever the umask says."""
        done = self.holdup("run", "--no-report", "--keep-rings", "--session-new", "mine", "-o", "out", sys.executable, "-c", "import holdup, sys; holdup.mark('x')", umask=0)
        self.assertEqual(done.returncode, 0, done.stderr)
        [session] = self.folder.glob(".holdup-*")
        found = {str(p.relative_to(self.folder)): oct(p.lstat().st_mode) for root in (session, self.runtime) for p in [root, *root.rglob("*")]
                 if p.lstat().st_mode & 0o077 and not p.is_symlink()}
        self.assertEqual(found, {})
        self.assertGreaterEqual(len(list(session.glob("*.ring"))), 1)
        self.assertEqual(stat.S_IMODE((self.folder / "out.pftrace").stat().st_mode), 0o666, "a trace gets what the umask says")
        if os.geteuid() != 0 or not shutil.which(NOBODY[0]):
            skip_loudly("only root can become nobody, with setpriv")
            return
        listed = subprocess.run([*NOBODY, "ls", session], capture_output=True, text=True, check=False)
        self.assertIn("Permission denied", listed.stderr)

    def test_a_registry_that_others_can_write_to_is_not_used(self) -> None:
        place = self.runtime / "holdup"
        place.mkdir()
        place.chmod(0o777)
        self.assertIn("is owned by another user or writable by others", self.holdup("status").stderr)
        place.rmdir()
        (self.folder / "elsewhere").mkdir(mode=0o700)
        place.symlink_to(self.folder / "elsewhere")
        done = self.holdup("status")
        self.assertEqual(done.returncode, 3)
        self.assertIn("runtime/holdup", done.stderr)

    def test_another_users_word_on_where_to_write_is_not_taken(self) -> None:
        if os.geteuid() != 0:
            skip_loudly("only root can give a session to another user")
            self.skipTest("not root")
        session = make_session(self.folder / "session")
        for path in (session / "control", session):
            os.chown(path, 65534, 65534)
        done = self.holdup("finish", session)
        self.assertEqual(done.returncode, 2)
        self.assertIn("belongs to user 65534", done.stderr)
        self.assertIn("choose the file with -o", done.stderr)
        self.assertTrue((session / "control").exists())
        self.assertNotIn("belongs to", self.holdup("finish", session, "-o", "out").stderr)

    def test_a_link_is_no_control_page(self) -> None:
        session = make_session(self.folder / "session")
        (session / "control").rename(self.folder / "page")
        (session / "control").symlink_to(self.folder / "page")
        done = subprocess.run(["true"], env=environment(LD_PRELOAD=str(LIBRARY), HOLDUP_SESSION=str(session)), capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr, list(session.glob("*.ring"))), (0, b"", []))


class Outputs(Case):
    def test_a_link_that_another_user_laid_is_not_followed(self) -> None:
        """fs.protected_symlinks of the kernel does not help who resolves links himself."""
        if os.geteuid() != 0:
            skip_loudly("only root can lay a link for another user")
            self.skipTest("not root")
        public, mine = self.folder / "public", self.folder / "mine"
        public.mkdir()
        public.chmod(0o1777)
        mine.write_text("precious")
        (public / "page").symlink_to(mine)
        (public / "new").symlink_to(self.folder / "made")
        for name in ("page", "new"):
            os.chown(public / name, 65534, 65534, follow_symlinks=False)
            done = self.holdup("info", OWN[0], "--json", "-o", public / name)
            self.assertEqual(done.returncode, 3)
            self.assertIn("is a link of another user, in a folder that everybody may write to; choose another name or folder", done.stderr)
        self.assertEqual((mine.read_text(), (self.folder / "made").exists()), ("precious", False))
        os.chown(public / "page", 0, 0, follow_symlinks=False)
        self.assertEqual(self.holdup("info", OWN[0], "--json", "-o", public / "page").returncode, 0, "one's own link is followed")
        self.assertTrue((public / "page").is_symlink() and mine.read_text().startswith("{"))


class Monitor(Case):
    def test_its_sockets(self) -> None:
        http, jobs = self.folder / "metrics.sock", self.folder / "job.sock"
        process = subprocess.Popen([EXE, "monitor", "--listen", f"unix:{http}", "--job-socket", jobs], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   env=environment(XDG_RUNTIME_DIR=str(self.runtime)), umask=0o022)
        try:
            end = time.monotonic() + 20
            while not (http.exists() and jobs.exists()) and process.poll() is None and time.monotonic() < end:
                time.sleep(.02)
            self.assertEqual(stat.S_IMODE(http.stat().st_mode), 0o755, "who may not write to it may not connect")
            self.assertEqual(stat.S_IMODE(jobs.stat().st_mode), 0o666)
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(str(http))
            if os.geteuid() == 0 and shutil.which(NOBODY[0]):
                tries = subprocess.run([*NOBODY, sys.executable, "-c", f"import socket; socket.socket(socket.AF_UNIX).connect({str(http)!r})"], capture_output=True, text=True, check=False)
                self.assertIn("PermissionError", tries.stderr)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=20)


class Words(unittest.TestCase):
    def one(self, file: str, pattern: str) -> int:
        found = re.search(pattern, (ROOT / file).read_text())
        assert found, f"{file}: {pattern}"
        return int(found[1])

    def said(self, words: str) -> None:
        self.assertIn(words, " ".join(PAGE.split()))

    def test_its_numbers_are_those_of_the_sources(self) -> None:
        limits = "src/base/limits.h"
        self.assertEqual(self.one(limits, r"L\(events, (\d+),"), 10 ** 9)
        self.assertEqual(self.one(limits, r"L\(event_bytes, (\d+) << 20"), 64)
        self.assertEqual(self.one(limits, r"INT64_C\((\d+)\) << 30"), 8)
        self.said(f"the defaults are 10⁹ events, {self.one(limits, r'L.nesting, (.+?),')} levels, 64 MiB for one event, 8 GiB of distinct strings, and "
                  f"{self.one(limits, r'L.inflate_ratio, (.+?),')} bytes out for each byte in")
        self.said(f"a token of {(self.one('src/cli/door.h', r'HU_TOKEN_BYTES = (.+?) ') - 1) * 4} random bits")
        self.said(f"{self.one('src/cli/guests.h', r'HU_GUESTS_STRANGERS = (.+?),')} connections of strangers at most, {self.one('src/cli/server.c', r'HEAD_NS (.)000000000 ')} s for a whole "
                  f"request's head, {self.one('src/cli/server.c', r'SILENCE_S = (.+?),')} s of silence")
        self.said(f"SQL can only read ({self.one('src/cli/view_query.h', r'HU_VIEW_SECONDS = (.+?) ')} s, {self.one('src/cli/view_query.h', r'HU_VIEW_ROWS = (.+?),'):,} rows)")

    def test_files_that_it_names(self) -> None:
        for page in ("docs/security.md", "SECURITY.md"):
            for link in re.findall(r"\]\(([^)#]+)[^)]*\)", (ROOT / page).read_text()):
                self.assertTrue((ROOT / page).parent.joinpath(link).exists(), link)


if __name__ == "__main__":
    unittest.main()
