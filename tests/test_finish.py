# SPDX-License-Identifier: Apache-2.0
"""Sessions whose processes are dead, as `holdup finish` turns them into traces: made by hand, and by programs that were killed."""
from __future__ import annotations

import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import time
import unittest

from tests import recorder
from tests.program import ROOT, report, run
from tests.protobuf import fields, protoc
from tests.recorder import environment, holdup, rows
from tests.rings import BLOCK, RING_MAGIC, TYPES, Control, make_session, read_session

MONOTONIC_LAG = 5_000_000_000       # BOOTTIME is so much ahead here
OPEN, FULL, CLOSED = 1, 2, 3


class Ring:
    """A ring file made by hand; ticks are nanoseconds."""

    def __init__(self, pid: int, ppid: int = 1, started: int = 1000, **head: object) -> None:
        self.head = {"pid": pid, "ppid": ppid, "started": started, "exited": 0, "state": 1, "forked": 0, "doors": 1, "rank": -1, "world": -1,
                     "name": "prog", "command": "prog --token=abc x", "lost": [0] * 6, "first_lost": 0} | head
        self.strings: list[str] = []
        self.blocks: list[tuple[int, int, int, int, bytes, int, int]] = []

    def text(self, text: str) -> int:
        if text not in self.strings:
            self.strings.append(text)
        return self.strings.index(text) + 1

    @staticmethod
    def record(kind: str, at: int, ident: int = 0, aux: int = 0, a: int = 0, b: int = 0) -> bytes:
        return struct.pack("<QIHHQQ", at, ident, TYPES.index(kind), aux, a & (1 << 64) - 1, b & (1 << 64) - 1)

    def block(self, thread: int, records: list[bytes], state: int = OPEN, call: int = 0, since: int = 0, tid: int = 0) -> None:
        sequence = sum(1 for b in self.blocks if b[0] == thread)
        self.blocks.append((thread, tid or self.head["pid"] + thread - 1, sequence, state, b"".join(records), call, since))

    def write(self, folder: pathlib.Path) -> pathlib.Path:
        h = self.head
        snapshot = struct.pack("<Qqqq", 500, 500, 1_700_000_000_000_000_000, 500 + MONOTONIC_LAG)
        clock = struct.pack("<QQ6QQQ", 0, 0, *h["lost"], h["first_lost"], h["first_lost"])
        data = struct.pack("<QIIIIQQQIIII", RING_MAGIC, 1, BLOCK, h["pid"], h["ppid"], h["started"], h["exited"], 0, h["state"], 0,
                           len(self.blocks) + 2, 4096) + clock[8:]
        data += struct.pack("<IIII4i", 1, len(self.strings), h["forked"], h["doors"], h["rank"], -1, h["world"], -1) + snapshot + bytes(32)
        command = str(h["command"]).replace(" ", "\0").encode() + b"\0"
        data += bytes(40) + b"/prog".ljust(256, b"\0") + str(h["name"]).encode().ljust(64, b"\0") + bytes(64) + command.ljust(4096, b"\0")
        data = (data + struct.pack("<I", len(command))).ljust(BLOCK, b"\0")
        texts = b""
        for i, text in enumerate(self.strings):
            raw = text.encode()
            texts += struct.pack("<II", i + 1, len(raw)) + raw.ljust(len(raw) + 7 & ~7, b"\0")
        data += (struct.pack("<IIIIQIIIIQQII", OPEN, 1, 0, 0, 0, len(texts), 0, 0, 0, 0, 0, 0, 0) + texts).ljust(BLOCK, b"\0")
        for thread, tid, sequence, state, records, call, since in self.blocks:
            n = len(records) // 32
            data += (struct.pack("<IIIIQIIIIQQII", state, 0, tid, thread, sequence, n, 0, call, 0, since, 0, 0 if state == OPEN else n, 0)
                     + records).ljust(BLOCK, b"\0")
        path = folder / f"{h['pid']}-{h['started']:016x}.ring"
        path.write_bytes(data)
        return path


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-finish-"))
        self.session = make_session(self.folder / "session")

    def tearDown(self) -> None:
        shutil.rmtree(self.folder)

    def finish(self, *words: object, status: int = 0) -> subprocess.CompletedProcess:
        done = holdup("finish", self.session, *words)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def trace(self, *rings: Ring) -> pathlib.Path:
        for ring in rings:
            ring.write(self.session)
        out = self.folder / "out.pftrace"
        self.finish("-o", out)
        return out

    def slices(self, trace: pathlib.Path) -> list[tuple[str, int, int]]:
        found = rows(trace, "select name, start_ns, dur_ns from slice order by start_ns, dur_ns desc, name")
        return [(r["name"], r["start_ns"] - MONOTONIC_LAG, r["dur_ns"]) for r in found]


class ByHand(Case):
    def test_each_record(self) -> None:
        """What is in the ring is in the trace: names, times, arguments."""
        r = Ring(100)
        double = struct.unpack("<Q", struct.pack("<d", 2.5))[0]
        domain, bytes_name = r.text("lib"), r.text("tokens")
        r.block(1, [
            r.record("thread", 1000, r.text("main")), r.record("step", 1100, a=7),
            r.record("begin", 1200, r.text("load"), domain, 0xFF102030 | r.text("io") << 32), r.record("more", 0, bytes_name, 0, -5),
            r.record("os_call", 1300, r.text("/data/x"), 0, 100, 4096), r.record("end", 1500, 0, domain),
            r.record("phase", 1600, r.text("forward")), r.record("end", 1700),
            r.record("counter", 1710, r.text("loss"), 0, double), r.record("mark", 1720, r.text("here")),
            r.record("mpi", 1730, r.text("world"), 0, 20, 64),
            r.record("start", 1750, r.text("async"), 0, 0, 99), r.record("step", 1800, a=8), r.record("stop", 1850, 0, 0, 0, 99),
            r.record("step_end", 1900)], CLOSED)
        r.head |= {"exited": 2000, "state": 2}
        trace = self.trace(r)
        self.assertEqual(self.slices(trace), [("ProfilerStep#7", 1100, 700), ("load", 1200, 300), ("read", 1300, 100), ("forward", 1600, 100),
                                              ("MPI_Send", 1730, 20), ("async", 1750, 100), ("ProfilerStep#8", 1800, 100)])
        text = protoc("perfetto.proto", "Trace", trace.read_bytes())
        raw = trace.read_bytes()
        for word in (b"lib", b"#102030", b"io", b"tokens", b"/data/x", b"file_read", b"phase", b"here", b"loss", b"main", b"--token=***"):
            self.assertIn(word, raw)
        self.assertNotIn(b"abc", raw)
        if text is not None:
            self.assertEqual(len(re.findall(r"^ *type: 1$", text, re.M)), 7)
            self.assertEqual(len(re.findall(r"^ *type: 2$", text, re.M)), 7)
        quality = report(trace)["ranks"][0]["quality"]
        self.assertEqual((quality["lost"], quality["lost_records"], quality["torn_records"]), (0, 0, 0))
        self.assertFalse(self.session.exists())

    def test_never_into_the_session_itself(self) -> None:
        """It is removed with all that is in it, the new trace among them."""
        r = Ring(100)
        r.block(1, [r.record("begin", 1200, r.text("outer")), r.record("end", 1300)], CLOSED)
        r.write(self.session)
        (self.folder / "link").symlink_to(self.session)
        before = sorted(self.session.iterdir())
        for out in (self.session / "out", self.folder / "link" / "out", self.session / "a" / "out"):
            done = holdup("finish", self.session, "-o", out)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("is in the session, which is removed", done.stderr)
        self.assertEqual([p for p in sorted(self.session.iterdir()) if p.is_file()], before)
        self.finish("-o", self.folder / "out.pftrace")
        self.assertEqual(self.slices(self.folder / "out.pftrace"), [("outer", 1200, 100)])

    def test_unfinished(self) -> None:
        """What a killed program was in ends with it, and says so; an end of nothing is left out."""
        r = Ring(100)
        r.block(1, [r.record("end", 1100), r.record("begin", 1200, r.text("outer")), r.record("begin", 1300, r.text("inner"))], call=1, since=1400)
        r.block(2, [r.record("mark", 5000, r.text("last sign"))])
        r.write(self.session)
        done = self.finish("-o", self.folder / "out.pftrace")
        self.assertIn("open ranges and calls: 3", done.stderr)
        self.assertEqual(self.slices(self.folder / "out.pftrace"), [("outer", 1200, 3800), ("inner", 1300, 3700), ("read", 1400, 3600)])
        raw = (self.folder / "out.pftrace").read_bytes()
        self.assertIn(b"unfinished", raw)
        self.assertIn(b"ends_without_begin", raw)

    def test_crossing_domains(self) -> None:
        """Ranges nest within their domain alone; none gets the end of another."""
        r = Ring(100)
        a, b = r.text("A"), r.text("B")
        r.block(1, [r.record("begin", 1100, r.text("a1"), a), r.record("begin", 1200, r.text("b1"), b), r.record("end", 1300, 0, a),
                    r.record("begin", 1400, r.text("plain")), r.record("end", 1500, 0, b), r.record("end", 1600)], CLOSED)
        self.assertEqual(self.slices(self.trace(r)), [("a1", 1100, 200), ("b1", 1200, 300), ("plain", 1400, 200)])

    def test_step_ends_inside_of_a_range(self) -> None:
        r = Ring(100)
        r.block(1, [r.record("step", 1100, a=1), r.record("begin", 1200, r.text("r")), r.record("step", 1300, a=2), r.record("end", 1400),
                    r.record("step_end", 1500)], CLOSED)
        self.assertEqual(self.slices(self.trace(r)), [("ProfilerStep#1", 1100, 200), ("r", 1200, 200), ("ProfilerStep#2", 1300, 200)])

    def test_the_last_step_that_nothing_ends(self) -> None:
        """What the process does behind its loop is no part of a step; nor is it known how long the last one took."""
        r = Ring(100)
        r.block(1, [r.record("step", 1100, a=1), r.record("step", 1200, a=2), r.record("step", 1300, a=3),
                    r.record("mark", 9000, r.text("saved"))], CLOSED)
        self.assertEqual(self.slices(self.trace(r)),
                         [("ProfilerStep#1", 1100, 100), ("ProfilerStep#2", 1200, 100), ("step 3, which nothing ended", 1300, 7700)])

    def test_the_last_step_that_was_asked_for(self) -> None:
        """--steps: the recorder stops listening where the next one begins."""
        r = Ring(100)
        r.block(1, [r.record("resume", 1100), r.record("step", 1100, a=2), r.record("step", 1200, a=3), r.record("pause", 1300),
                    r.record("thread", 9000)], CLOSED)
        self.assertEqual(self.slices(self.trace(r)), [("ProfilerStep#2", 1100, 100), ("ProfilerStep#3", 1200, 100)])

    def test_overlapping_ranges_of_the_process(self) -> None:
        """A thousand at once, ended in any order by another thread."""
        r = Ring(100)
        starts = [r.record("start", 1000 + 10 * i, r.text(f"s{i}"), 0, 0, i + 1) for i in range(400)]
        stops = [r.record("stop", 9000 + 10 * ((i * 37) % 400), 0, 0, 0, i + 1) for i in range(400)]
        r.block(1, starts, FULL)
        r.block(2, stops, FULL)
        got = self.slices(self.trace(r))
        self.assertEqual(sorted(got), sorted((f"s{i}", 1000 + 10 * i, 9000 + 10 * ((i * 37) % 400) - 1000 - 10 * i) for i in range(400)))

    def test_ranks(self) -> None:
        """One file for each; what a rank started and what started it alone belongs to it, what started several to none."""
        launcher = Ring(10, started=1000, name="torchrun", doors=4)
        shells = [Ring(20 + k, 10, 1100 + k, name="sh") for k in (0, 1)]
        ranks = [Ring(30 + k, 20 + k, 1200 + k, rank=k, world=2, name="python") for k in (0, 1)]
        loader = Ring(40, 31, 1300, name="loader", forked=1)
        for k, ring in enumerate([launcher, *shells, *ranks, loader]):
            ring.block(1, [ring.record("begin", 2000, ring.text(f"in {ring.head['pid']}")), ring.record("end", 3000 + k)], CLOSED)
            ring.write(self.session)
        self.finish("-o", f"{self.folder}/out/")
        files = sorted(self.folder.glob("out/**/*.pftrace"))
        self.assertEqual(len(files), 2, files)
        names = [[r["name"] for r in rows(f, "select name from slice order by name")] for f in files]
        self.assertEqual(names, [["in 20", "in 30"], ["in 21", "in 31", "in 40"]])
        both = report(files[0].parent)
        self.assertEqual([r["rank"] for r in both["ranks"]], [0, 1])
        self.assertEqual(both["run"]["world_size"], 2)

    def test_forks_point_at_children(self) -> None:
        parent, child = Ring(100), Ring(200, 100, 1600, forked=1)
        parent.block(1, [parent.record("begin", 1500, parent.text("p")), parent.record("fork", 1550, a=200), parent.record("end", 1700)], CLOSED)
        child.block(1, [child.record("begin", 1650, child.text("c")), child.record("end", 1690)], CLOSED)
        begins, ends = set(), set()
        for number, packet in fields(self.trace(parent, child).read_bytes()):
            for field, event in fields(packet) if number == 1 else ():
                if field == 11:
                    begins |= {v for f, v in fields(event) if f == 47}
                    ends |= {v for f, v in fields(event) if f == 48}
        self.assertEqual(len(begins), 1)
        self.assertEqual(begins, ends)

    def test_losses(self) -> None:
        """At their time in the timeline, and summed up in the report."""
        r = Ring(100, lost=[70, 0, 0, 5, 1000, 0], first_lost=1500)
        r.block(1, [r.record("begin", 1100, r.text("a")), r.record("end", 1200), r.record("lost", 1800, 0, 0, 60, 1300),
                    bytes(32), r.record("more", 0, 0, 0, 3), r.record("mark", 1900, r.text("b"))])
        trace = self.trace(r)
        quality = report(trace)["ranks"][0]["quality"]
        self.assertEqual((quality["lost_records"], quality["torn_records"], quality["overwritten_records"]), (70, 2, 1000))
        self.assertEqual(quality["lost"], 72)
        text = run("report", trace)[1].decode()
        self.assertIn("lost by the recorder", text)
        self.assertIn("torn: their process died while writing them", text)

    def test_any_prefix_is_a_trace(self) -> None:
        r = Ring(100)
        for i in range(20):
            r.block(1, [r.record("begin" if k % 2 == 0 else "end", 10000 * i + 10 * k + 1000, r.text("work")) for k in range(500)], FULL)
        trace = self.trace(r)
        data = trace.read_bytes()
        for part in (len(data) // 2, len(data) * 3 // 4):
            cut = self.folder / "cut.pftrace"
            cut.write_bytes(data[:part])
            n = recorder.count(cut, "work")
            self.assertTrue(5000 * part / len(data) * 0.8 < n < 5000, n)

    def test_bad_files(self) -> None:
        """Files that are no rings are named; what there is else is written, and the session stays."""
        r = Ring(100)
        r.block(1, [r.record("begin", 1100, r.text("a")), r.record("end", 1200)])
        (self.session / "5-00.ring").write_bytes(b"no ring" * 1000)
        r.write(self.session)
        done = self.finish("-o", self.folder / "out.pftrace")
        self.assertIn("not a ring file", done.stderr)
        self.assertEqual(self.slices(self.folder / "out.pftrace"), [("a", 1100, 100)])
        self.assertTrue((self.session / "5-00.ring").exists())

    def test_nothing_to_finish(self) -> None:
        done = self.finish(status=3)
        self.assertIn("nothing was recorded", done.stderr)
        self.assertTrue(self.session.exists())
        done = holdup("finish", self.folder / "none")
        self.assertEqual(done.returncode, 3)

    def test_while_somebody_records(self) -> None:
        """A supervisor whose heart beats will finish the session itself."""
        r = Ring(100)
        r.block(1, [r.record("begin", 1100, r.text("a")), r.record("end", 1200)])
        r.write(self.session)
        control = self.session / "control"
        beating = True

        def beat() -> None:
            with control.open("r+b") as f:
                for i in range(1, 10000):
                    f.seek(Control.heartbeat.offset)
                    f.write(struct.pack("<Q", i))
                    f.flush()
                    time.sleep(0.01)
                    if not beating:
                        return

        heart = threading.Thread(target=beat)
        heart.start()
        try:
            done = self.finish("-o", self.folder / "out.pftrace", status=2)
            self.assertIn("is being recorded", done.stderr)
        finally:
            beating = False
            heart.join()
        self.assertTrue(any(self.session.glob("*.ring")))
        self.finish("-o", self.folder / "out.pftrace", "--keep")
        self.assertTrue(any(self.session.glob("*.ring")))


class Killed(Case):
    def test_kill_in_the_middle(self) -> None:
        """The same ranges as an own reader of the rings finds; and all that the program said that it had written."""
        writer = recorder.build(self.folder, "writer")
        library = ROOT / "build/libholdup-inject.so"
        env = environment(HOLDUP_SESSION=str(self.session), LD_PRELOAD=str(library))
        with subprocess.Popen([writer, "exit", "100000000", "3"], stdout=subprocess.PIPE, text=True, env=env) as job:
            assert job.stdout
            said = 0
            for line in job.stdout:
                said = max(said, int(line.split()[1]))
                if said >= 100000:
                    break
            os.kill(job.pid, signal.SIGKILL)
            said = max([said, *[int(m) for m in re.findall(r"^wrote (\d+)$", job.stdout.read(), re.M)]])
        [process] = read_session(self.session)
        by_type = {t: [r for r in process.records if r.type == t and r.text in ("work", "")] for t in ("begin", "end")}
        done = self.finish("-o", self.folder / "out.pftrace", "--keep")
        got = self.slices(self.folder / "out.pftrace")
        work = [s for s in got if s[0] == "work"]
        self.assertEqual(len(work), len(by_type["begin"]), done.stderr)
        self.assertGreaterEqual(len(work) + sum(process.lost), said)
        durations: list[int] = []
        for thread in {r.thread for r in process.records}:
            mine = [r for r in process.records if r.thread == thread and r.type in ("begin", "end")]
            durations += [e.time - b.time for b, e in zip(mine[::2], mine[1::2])]
        self.assertLessEqual(len(work) - len(durations), 3)
        middle = len(durations) // 4
        self.assertEqual(sorted(s[2] for s in work)[middle], sorted(durations)[middle])


if __name__ == "__main__":
    unittest.main()
