# SPDX-License-Identifier: Apache-2.0
"""Jobs that die, disks that fill, rings that overflow: what was written is in the trace or counted, and the job is never harmed."""
from __future__ import annotations

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from tests import recorder
from tests.program import EXE, NOBODY, for_nobody, report, skip_loudly
from tests.recorder import count, environment, holdup, rows


def lost(trace: pathlib.Path) -> int:
    """Records that the trace says are missing."""
    return int(report(trace)["ranks"][0]["quality"]["lost"])


class Faults(unittest.TestCase):
    folder: pathlib.Path
    writer: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-faults-"))
        cls.folder.chmod(0o755)
        cls.writer = recorder.build(cls.folder, "writer")

    @classmethod
    def tearDownClass(cls) -> None:
        shutil.rmtree(cls.folder)

    def record(self, name: str, *words: object, status: int | None = None, options: tuple[str, ...] = ()) -> tuple[pathlib.Path, subprocess.CompletedProcess]:
        out = self.folder / f"{name}.pftrace"
        done = holdup("run", "-o", out, "--no-report", *options, "--", *words)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stderr)
        return out, done

    def plain(self, *words: object) -> subprocess.CompletedProcess:
        return subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False, env=environment())

    def test_ways_to_die(self) -> None:
        """Exit status and output are the program's own; each range is there."""
        for how, status in (("exit", 3), ("_exit", 3), ("abort", 128 + signal.SIGABRT), ("kill", 128 + signal.SIGKILL), ("segv", 128 + signal.SIGSEGV)):
            for threads in (1, 8):
                with self.subTest(how=how, threads=threads):
                    trace, done = self.record(f"{how}{threads}", self.writer, how, 20000, threads, status=status)
                    self.assertEqual(sorted(done.stdout.splitlines()), sorted(self.plain(self.writer, how, 20000, threads).stdout.splitlines()))
                    self.assertEqual(count(trace, "work"), 20000 * threads)
                    self.assertEqual(lost(trace), 0)

    def test_program_killed_while_it_writes(self) -> None:
        """What it said that it wrote is there."""
        trace = self.folder / "midway.pftrace"
        with subprocess.Popen([EXE, "run", "-o", trace, "--no-report", "--", self.writer, "exit", "1000000000"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, env=environment()) as run:
            assert run.stdout
            for line in run.stdout:
                if int(line.split()[1]) >= 200000:
                    break
            victim = subprocess.run(["pgrep", "-P", str(run.pid), "writer"], capture_output=True, text=True, check=True).stdout.split()[0]
            os.kill(int(victim), signal.SIGKILL)
            said = [int(line.split()[1]) for line in run.stdout if re.fullmatch(r"wrote \d+\n", line)]
            run.wait(60)
        self.assertEqual(run.returncode, 128 + signal.SIGKILL)
        self.assertGreaterEqual(count(trace, "work") + lost(trace) // 2, max([200000, *said]))

    def test_everything_killed(self) -> None:
        """Also the supervisor, as by SLURM or the kernel: `holdup finish` makes the trace of what is left."""
        scratch = self.folder / "killed"
        scratch.mkdir()
        with subprocess.Popen([EXE, "run", "-o", self.folder / "never.pftrace", "--scratch", scratch, "--no-report", "--", self.writer, "hang", "50000"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment(), start_new_session=True) as run:
            assert run.stdout
            for line in run.stdout:
                if line == "wrote 50000\n":
                    break
            time.sleep(0.2)
            os.killpg(run.pid, signal.SIGKILL)
            run.wait(60)
        sessions = [p.parent for p in scratch.rglob("control")]
        self.assertEqual(len(sessions), 1, list(scratch.rglob("*")))
        done = holdup("report", sessions[0])
        self.assertEqual((done.returncode, f"holdup finish {sessions[0]}" in done.stderr), (3, True), done.stderr)
        done = holdup("finish", sessions[0], "-o", self.folder / "finished.pftrace")
        self.assertEqual(done.returncode, 0, done.stderr)
        trace = self.folder / "finished.pftrace"
        self.assertEqual(count(trace, "work"), 50000)
        # and what it was waiting in
        self.assertEqual([r["name"] for r in rows(trace, "select name from slice where kind = 'os_call' and dur_ns > 100000000")], ["read"])

    def test_out_of_memory(self) -> None:
        group = pathlib.Path("/sys/fs/cgroup/memory") / f"holdup-test-{os.getpid()}"
        unified = pathlib.Path("/sys/fs/cgroup") / f"holdup-test-{os.getpid()}"
        limit = "memory.limit_in_bytes"
        try:
            if not group.parent.is_dir():
                group, limit = unified, "memory.max"
            group.mkdir()
        except OSError as problem:
            skip_loudly(f"no cgroup can be made here: {problem}")
            self.skipTest("no cgroup")
        try:
            if not (group / limit).exists():
                skip_loudly("cgroups without a limit on memory")
                self.skipTest("no memory controller")
            (group / limit).write_text(str(96 << 20))
            trace, done = self.record("oom", "sh", "-c", f"echo $$ > {group}/cgroup.procs; exec {self.writer} oom 30000")
            self.assertEqual(done.returncode, 128 + signal.SIGKILL, done.stderr)
            self.assertEqual(count(trace, "work"), 30000)
        finally:
            for _ in range(50):
                try:
                    group.rmdir()
                    break
                except OSError:
                    time.sleep(0.1)

    def test_full_disk(self) -> None:
        """The program is not harmed (no SIGBUS), and what is missing is counted."""
        place = self.folder / "small"
        place.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=17M", "none", place], capture_output=True, check=False).returncode:
            skip_loudly("a small file system cannot be mounted here")
            self.skipTest("no mount")
        try:
            n = 500000          # records of 32 MB; with less than 16 MB free nothing is recorded
            trace, done = self.record("disk", self.writer, "exit", n, options=("--scratch", str(place)))
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertEqual(len(done.stdout.splitlines()), n // 1000)
            self.assertGreater(lost(trace), 0)
            kept = rows(trace, "select count(*) as n from slice where name = 'work'")[0]["n"]
            # a lost record costs one range at most: what is neither there nor counted would show
            self.assertGreaterEqual(kept + lost(trace), n)
            self.assertLess(kept, n)
            self.assertGreater(kept, 0)
        finally:
            subprocess.run(["umount", "-l", place], check=True)

    def test_full_ring(self) -> None:
        """Exactly what does not fit is counted, when nobody drains."""
        trace, done = self.record("ring", self.writer, "exit", 100000, options=("--mode", "flight", "--max-memory", "1M"), status=3)
        self.assertEqual(len(done.stdout.splitlines()), 100)
        kept = count(trace, "work")
        self.assertGreater(kept, 8000)
        self.assertLess(kept, 100000)
        said = report(trace)["ranks"][0]["quality"]
        # ranges are two records; a call of the system is one and what is said of it
        self.assertLessEqual(2 * kept + said["overwritten_records"], 200000 + 100 * 6, said)
        self.assertGreaterEqual(2 * kept + said["overwritten_records"], 200000 - 600, said)

    def test_many_threads(self) -> None:
        trace, done = self.record("threads", self.writer, "exit", 1000, 1000, status=3)
        self.assertEqual(len(done.stdout.splitlines()), 1000)
        self.assertEqual(count(trace, "work"), 1000 * 1000)

    def test_fork_storm(self) -> None:
        script = "import os, sys\nfor i in range(300):\n  p = os.fork()\n  if p == 0: os._exit(i & 7)\n  assert os.waitpid(p, 0)[1] >> 8 == i & 7\nprint('ok')"
        _, done = self.record("forks", "python3", "-c", script, status=0)
        self.assertEqual(done.stdout, "ok\n")

    def test_exec_chain(self) -> None:
        _, done = self.record("execs", "sh", "-c", 'if [ "$N" = 40 ]; then echo done; exit 5; fi; N=$((${N:-0}+1)) exec sh -c "$0" "$0"'.replace("$0", "$S"),
                              options=("--env-var", 'S=if [ "$N" = 40 ]; then echo done; exit 5; fi; N=$((${N:-0}+1)) exec sh -c "$S"'), status=5)
        self.assertEqual(done.stdout, "done\n")

    def test_static_program(self) -> None:
        """Nothing of ours is loaded into it; it runs, and is told of."""
        source = self.folder / "still.c"
        source.write_text("#include <stdio.h>\nint main(void) { puts(\"static\"); return 4; }\n")
        if subprocess.run(["cc", "-static", "-s", "-o", self.folder / "still", source], capture_output=True, check=False).returncode:
            skip_loudly("no static C library")
            self.skipTest("no static C library")
        trace, done = self.record("static", self.folder / "still", status=4)
        self.assertEqual(done.stdout, "static\n")
        self.assertIn("is statically linked", done.stderr)
        if "perf" not in done.stderr:           # where the kernel may be asked
            self.assertEqual(report(trace)["ranks"][0]["quality"]["lost"], 0)

    def test_nobody_in_a_jail(self) -> None:
        """No privilege, no home, no perf: it works, and says what is off and why."""
        public = for_nobody(self, EXE, pathlib.Path(EXE).parent / "libholdup-inject.so", self.writer)
        place = self.folder / "nobody"
        place.mkdir()
        place.chmod(0o777)
        done = subprocess.run([*NOBODY, public / "holdup", "run", "-o", place / "out.pftrace", "--no-report", "--",
                               public / "writer", "exit", "5000"], capture_output=True, text=True, check=False, cwd="/", env=environment(HOME="/nonexistent"))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(count(place / "out.pftrace", "work"), 5000)


if __name__ == "__main__":
    unittest.main()
