# SPDX-License-Identifier: Apache-2.0
"""Two versions on one machine: what they leave for each other says whose it is, and is refused in one sentence, in both directions."""
from __future__ import annotations

import ctypes
import json
import mmap
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

from tests.program import EXE, ROOT, VERSION, run
from tests.recorder import LIBRARY, environment, once as load_tests
from tests.rings import CONTROL_MAGIC, Control, make_session

# Where every version has it: the end of hu_control of this one, which only grows.
HEADER = (ROOT / "src/protocol/format.h").read_text()
MADE_BY_BYTES = 24


def made_by_at(page: bytes) -> int:
    """Where this version's own page says who made it."""
    at = page.find(VERSION.encode() + b"\0", ctypes.sizeof(Control))
    assert at > 0, "the control page does not say who made it"
    return at


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-upgrade-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / "runtime/holdup").mkdir(parents=True, mode=0o700)
        (self.folder / "runtime").chmod(0o700)

    def holdup(self, *words: object, **more: str) -> subprocess.CompletedProcess:
        return subprocess.run([EXE, *map(str, words)], capture_output=True, text=True, cwd=self.folder, env=environment(**{"XDG_RUNTIME_DIR": str(self.folder / "runtime"), **more}),
                              timeout=60, check=False)

    def one_sentence(self, said: str, *parts: str) -> None:
        self.assertEqual(len(said.strip().splitlines()), 1, said)
        for part in parts:
            self.assertIn(part, said)


@unittest.skipUnless(LIBRARY.exists(), "the recorder's library was not built")
class Armed(Case):
    def setUp(self) -> None:
        super().setUp()
        self.job = subprocess.Popen([EXE, "run", "--no-report", "--mode", "off", "--session-new", "mine", "-o", "out", sys.executable, "-u", "-c",
                                     "import holdup\nprint('ready')\ninput()\nwith holdup.range('seen'): pass"], cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, env=environment(XDG_RUNTIME_DIR=str(self.folder / "runtime")))
        self.assertEqual(self.job.stdout.readline(), "ready\n")
        [session] = self.folder.glob(".holdup-*")
        self.page = session / "control"
        self.file = self.page.open("r+b")
        self.memory = mmap.mmap(self.file.fileno(), 4096)
        self.at = made_by_at(bytes(self.memory))

    def tearDown(self) -> None:
        if self.job.poll() is None:
            self.job.kill()
        self.job.communicate()
        self.memory.close()
        self.file.close()

    def become(self, number: int, maker: bytes) -> None:
        self.memory[8:12] = number.to_bytes(4, "little")
        self.memory[self.at:self.at + MADE_BY_BYTES] = maker.ljust(MADE_BY_BYTES, b"\0")

    def test_its_own_version(self) -> None:
        state = json.loads(self.holdup("status", "--json").stdout)
        self.assertEqual([(s["name"], s["state"], s["made_by"]) for s in state], [("mine", "armed", VERSION)])

    def test_of_a_newer_and_an_older_version(self) -> None:
        for number, maker, called in ((2, b"9.8.7", "9.8.7"), (0, b"", "0.1"), (7, b"\x1b[2J" + b"x" * 19, "0.1")):
            with self.subTest(number=number, maker=maker):
                self.become(number, maker)
                for _ in range(2):          # to look at it does not make it disappear
                    listed = json.loads(self.holdup("status", "--json").stdout)
                    self.assertEqual([(s["name"], s["state"], s["made_by"], s["session"]) for s in listed], [("mine", "foreign", called, str(self.page.parent))])
                self.assertIn(f"holdup {called}, format {number}", self.holdup("status").stdout)
                for words in (["start", "mine"], ["stop"], ["cancel", "--all"]):
                    done = self.holdup(*words)
                    self.assertEqual(done.returncode, 2)
                    self.one_sentence(done.stderr, '"mine"', f"holdup {called} (format {number})", f"this is holdup {VERSION} (format 1)", f"use holdup {called}")
                done = self.holdup("run", "--no-report", "--session-new", "mine", "true")
                self.assertEqual(done.returncode, 2)
                self.one_sentence(done.stderr, f'session "mine" is one of holdup {called}; choose another name')
                done = self.holdup("finish", self.page.parent)
                self.assertEqual(done.returncode, 3)
                self.one_sentence(done.stderr, f"holdup {called} made (format {number})", f"use holdup {called} for it")
        self.become(1, VERSION.encode())
        self.assertEqual(self.holdup("start", "mine").returncode, 0, "the job was left as it was")
        _, said = self.job.communicate("\n")
        self.assertEqual(self.job.returncode, 0, said)
        self.assertEqual(self.holdup("query", "out.pftrace", "select count(*) from slice where name = 'seen'", "--csv").stdout.split()[-1], "1")

    def test_what_ended_of_another_version_stays(self) -> None:
        ended = self.folder / "runtime/holdup/theirs"
        page = bytearray(bytes(self.memory)[:ctypes.sizeof(Control)])
        page[8:12] = (2).to_bytes(4, "little")
        ended.write_bytes(page)
        self.assertEqual([s["name"] for s in json.loads(self.holdup("status", "--json").stdout)], ["mine"])
        self.assertTrue(ended.exists())
        os.utime(ended, (time.time() - 90000,) * 2)
        self.holdup("status")
        self.assertFalse(ended.exists(), "not for more than a day")


class Many(Case):
    def test_runs_that_ended_hide_none_that_is_there(self) -> None:
        """More of them in a day than a list holds.  A file system in memory lists the newest first."""
        place = pathlib.Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
        self.addCleanup(shutil.rmtree, place)
        (place / "holdup").mkdir(mode=0o700)
        (place / "holdup/alive").symlink_to(make_session(self.folder / "session"))
        page = bytes((self.folder / "session/control").read_bytes())
        page = page[:24] + (5).to_bytes(4, "little") + page[28:]      # written
        for i in range(4200):
            (place / f"holdup/ended-{i}").write_bytes(page)
        listed = json.loads(self.holdup("status", "--json", "--all", XDG_RUNTIME_DIR=str(place)).stdout)
        self.assertEqual(sum(s["state"] == "written" for s in listed), 4096)
        self.assertEqual([s["name"] for s in listed if s["session"]], ["alive"])


@unittest.skipUnless(LIBRARY.exists(), "the recorder's library was not built")
class Recorder(Case):
    def test_a_library_in_a_session_of_another_version(self) -> None:
        for number in (0, 2):
            session = make_session(self.folder / str(number), version=number)
            done = subprocess.run(["sh", "-c", "echo hello; exit 3"], env=environment(LD_PRELOAD=str(LIBRARY), HOLDUP_SESSION=str(session)), capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "hello\n", ""))
            self.assertEqual(list(session.glob("*.ring")), [])
            [line] = set((session / "notes").read_text().splitlines())
            self.one_sentence(line, f"holdup {VERSION} (format 1)", f"another holdup (format {number})")

    def test_of_its_own_version_it_records(self) -> None:
        session = make_session(self.folder / "own", version=1)
        subprocess.run(["true"], env=environment(LD_PRELOAD=str(LIBRARY), HOLDUP_SESSION=str(session)), check=True)
        self.assertEqual(len(list(session.glob("*.ring"))), 1)
        self.assertFalse((session / "notes").exists())

    def test_what_asks_for_files_in_another_version(self) -> None:
        """A process of the job asks the supervisor by its socket, once for each version."""
        script = """
import os, socket, struct
h = 0xcbf29ce484222325
for c in os.environ["HOLDUP_SESSION"].encode():
    h = (h ^ c) * 0x100000001b3 & (1 << 64) - 1
for packet in (struct.pack("<IIi48s", 1, 1, 0, b""), struct.pack("<IIi48s", 2, 1, 0, b""), struct.pack("<III100s", 3, 1, 0, b""), struct.pack("<Ii48s", 1, 0, b"")):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(b"\\0holdup-%016x" % h)
    s.send(packet)
    answer = s.recv(200)
    print(*struct.unpack("<IIi", answer[:12]) if answer else ["silence"])
"""
        done = self.holdup("run", "--no-report", "-q", "-o", "out", sys.executable, "-c", script)
        self.assertEqual(done.stdout.splitlines(), ["1 1 0", "1 0 -93", "1 0 -93", "silence"], done.stderr)


class About(Case):
    def test_version_comes_first_and_alone(self) -> None:
        status, out, err = run("--version")
        lines = out.decode().splitlines()
        self.assertEqual((status, err, lines[0]), (0, "", f"holdup {VERSION}"))
        text = out.decode()
        for word in ("commit ", "build ", "C library ", "processor ", "libraries", "SQLite", "recorder"):
            self.assertIn(word, text)

    def test_as_json(self) -> None:
        status, out, _ = run("--version", "--json")
        said = json.loads(out)
        self.assertEqual((status, said["version"], said["session_format"]), (0, VERSION, int(re.search(r"HU_FORMAT_VERSION = (\d+)", HEADER)[1])))
        self.assertRegex(said["commit"], r"^$|^[0-9a-f]{12,}( with changes)?$")
        [sqlite] = [row for row in said["libraries"] if row["name"] == "SQLite"]
        self.assertTrue(sqlite["found"])
        self.assertEqual(sqlite["version"], sqlite3.sqlite_version, "Python opens the same library")
        self.assertEqual([p["path"] for p in said["parts"] if p["name"] == "recorder"], [str(LIBRARY.resolve()) if LIBRARY.exists() else ""])
        scans = json.loads(run("--version", "--json", env={"HOLDUP_CPU": "scalar"})[1])["scans_with"]
        self.assertEqual(scans, "scalar")

    def test_a_library_that_is_not_there(self) -> None:
        [yaml] = [row for row in json.loads(run("--version", "--json")[1])["libraries"] if row["name"] == "libyaml"]
        (self.folder / yaml["file"]).write_bytes(b"no library")
        found = {"LD_LIBRARY_PATH": str(self.folder)}
        [gone] = [row for row in json.loads(run("--version", "--json", env=found)[1])["libraries"] if row["name"] == "libyaml"]
        self.assertFalse(gone["found"])
        self.assertIn(yaml["file"], gone["problem"])
        status, out, _ = run("--version", env=found)
        self.assertEqual(status, 0)
        self.assertRegex(out.decode(), f"libyaml +cannot be loaded: {yaml['file']}")

    def test_other_words(self) -> None:
        self.assertEqual(run("--version", "--xml")[0], 2)

    def test_the_page_says_what_is_carried(self) -> None:
        self.assertIn(CONTROL_MAGIC.to_bytes(8, "little").decode(), HEADER)
        self.assertIn("format of the session, and who made it", (ROOT / "docs/upgrade.md").read_text())


if __name__ == "__main__":
    unittest.main()
