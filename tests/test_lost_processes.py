# SPDX-License-Identifier: Apache-2.0
"""Nobody vanishes: processes that the recorder cannot be loaded into as it is, or that it must leave alone."""
from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest
from typing import Any

from tests import recorder
from tests.program import EXE, NOBODY, SANITIZED, for_nobody, report, skip_loudly
from tests.recorder import environment


class Case(unittest.TestCase):
    folder: pathlib.Path

    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-lost-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.folder.chmod(0o755)

    def run_it(self, *words: Any, **more: Any) -> subprocess.CompletedProcess:
        return subprocess.run([EXE, "run", "-f", "-o", "out", "--no-report", *map(str, words)], cwd=self.folder, capture_output=True, text=True, errors="replace", timeout=60,
                              env=environment(), check=False, **more)

    def rows(self, sql: str) -> list[dict[str, Any]]:
        return recorder.rows(self.folder / "out.pftrace", sql)


@unittest.skipIf(SANITIZED, "libraries with ASan are no neighbours of other sanitizers")
class Sanitizers(Case):
    """GCC's are shared libraries that must come first; output, report and status are those of the program alone."""

    def program(self, which: str) -> pathlib.Path:
        try:
            return recorder.build(self.folder, "sanitized", f"-fsanitize={which}", "-g", compiler="gcc")
        except (subprocess.CalledProcessError, FileNotFoundError):
            skip_loudly(f"gcc -fsanitize={which} does not work here")
            raise unittest.SkipTest("no sanitizer") from None

    def clean(self, text: str) -> str:
        """Without addresses, and frames above main() that the unwinder finds in one run and not in the next."""
        return re.sub(r"0x[0-9a-f]+|==\d+==|[pt]id=\d+|^holdup: .*\n|^ *#\d+ .*\(<unknown module>\)\n", "", text, flags=re.M)

    def compare(self, *words: Any, status: int, says: str, same: bool = True) -> None:
        """The same output and status with and without the recorder; which thread of a race comes first is chance."""
        plain = subprocess.run([*map(str, words)], capture_output=True, text=True, env=environment(), timeout=20, check=False)
        ours = self.run_it("--", *words)
        self.assertEqual(plain.returncode, status, plain.stderr)
        self.assertEqual((ours.returncode, ours.stdout), (status, plain.stdout))
        if same:
            self.assertEqual(self.clean(ours.stderr), self.clean(plain.stderr))
        self.assertIn(says, plain.stderr)
        self.assertIn(says, ours.stderr)
        self.assertGreater(recorder.count(self.folder / "out.pftrace", "usleep"), 0, "it was recorded from inside")

    def test_address(self) -> None:
        program = self.program("address")
        self.compare(program, status=0, says="")
        self.compare(program, "overflow", status=1, says="heap-buffer-overflow")
        self.compare(program, "leak", status=1, says="detected memory leaks")

    def test_address_behind_a_shell(self) -> None:
        program = self.program("address")
        self.compare("bash", "-c", f"{program} overflow; exit $?", status=1, says="heap-buffer-overflow")
        self.compare("env", "-i", program, "leak", status=1, says="detected memory leaks")
        script = self.folder / "culprit"
        script.write_text(f"#! {program} leak\n")
        script.chmod(0o755)
        self.compare("sh", "-c", f"PATH={self.folder}:$PATH culprit; exit $?", status=1, says="detected memory leaks")

    def test_its_children_get_no_sanitizer(self) -> None:
        done = self.run_it("--", self.program("address"), "shell")
        self.assertEqual((done.returncode, done.stdout), (0, "0\n0\ndone\n"), done.stderr)

    def test_thread(self) -> None:
        self.compare(self.program("thread"), "race", status=66, says="data race", same=False)

    def test_leak(self) -> None:
        self.compare(self.program("leak"), "leak", status=23, says="detected memory leaks")

    def test_undefined(self) -> None:
        self.compare(self.program("undefined"), status=0, says="")


class NothingPreloaded(Case):
    def test_where_nothing_is_recorded_from_inside(self) -> None:
        show = ["sh", "-c", "env; grep -c holdup /proc/self/maps"]
        plain = subprocess.run(show, cwd=self.folder, capture_output=True, text=True, env=environment(), check=False).stdout.splitlines()
        for doors in ("cpu", "none"):
            ours = self.run_it("-t", doors, "--", *show).stdout.splitlines()
            self.assertEqual([line.partition("=")[0] for line in sorted({*ours} - {*plain})], ["HOLDUP_SESSION"], doors)
            self.assertEqual(ours[-1], "0", doors)
        self.assertNotEqual(self.run_it("-t", "cpu,user", "--", *show).stdout.splitlines()[-1], "0")


class LongNames(Case):
    def test_of_outputs(self) -> None:
        path = self.folder / "/".join(["d" * 100] * 6)
        path.mkdir(parents=True)
        done = recorder.holdup("run", "-q", "--no-report", "-t", "osrt", "-o", path / "out", "--", EXE, "status", "--json", env=environment(XDG_RUNTIME_DIR=str(self.folder)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{path}/out", [run["output"] for run in json.loads(done.stdout)])
        self.assertTrue((path / "out.pftrace").exists())
        done = recorder.holdup("run", "-o", "d/" * 700 + "out", "true")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "output name is longer than 1023 bytes")


SPIN = """
#include <time.h>
#include <unistd.h>
int main(void)
{
    while (clock() < CLOCKS_PER_SEC / 5)
        ;
    usleep(100000);
    return 0;
}
"""


class Root(Case):
    def setUp(self) -> None:
        super().setUp()
        if os.geteuid() != 0 or not shutil.which(NOBODY[0]):
            skip_loudly("only root can become nobody, with setpriv")
            self.skipTest("not root")

    def spin(self, *flags: str, compiler: str = "cc", name: str = "spin") -> pathlib.Path:
        """0.2 s of CPU time, 0.1 s of sleep, in a program that every user may run."""
        out = self.folder / name
        (self.folder / "spin.c").write_text(SPIN)
        subprocess.run([compiler, "-O1", "-o", out, self.folder / "spin.c", *flags], check=True, capture_output=True)
        out.chmod(0o755)
        return out

    def sleeps(self) -> list[tuple[str, int]]:
        return [(row["name"], row["n"]) for row in self.rows("select name, count(*) as n from slice where name = 'usleep' group by 1")]


@unittest.skipIf(SANITIZED, "programs without ASan cannot load a library with it")
class AnotherUser(Root):
    """Their rings are the supervisor's to give."""

    def test_programs(self) -> None:
        (library,) = for_nobody(self, pathlib.Path(EXE).parent / "libholdup-inject.so").iterdir()
        for command in ([*NOBODY], ["su", "nobody", "-s", "/bin/sh", "-c"], ["runuser", "-u", "nobody", "--"], ["unshare", "-U"]):
            if not shutil.which(command[0]):
                skip_loudly(f"{command[0]} is not here")
                continue
            with self.subTest(command=command[0]):
                done = subprocess.run([EXE, "run", "-f", "-o", "out", "--no-report", "--strict", "--", *command, str(self.spin())], cwd=self.folder, capture_output=True,
                                      text=True, timeout=30, env=environment(HOLDUP_LIBRARY=str(library)), check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotIn("not recorded from inside", done.stderr)
                self.assertEqual(self.sleeps(), [("usleep", 1)])

    def test_workers(self) -> None:
        """Two of them and a child of each; 40,000 sleeps are 80,000 records, more than the ring has when it is made."""
        done = self.run_it("--strict", "--osrt-threshold", "0", "--", recorder.build(self.folder, "dropped"), "user", 10000)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.sleeps(), [("usleep", 20002)])
        self.assertEqual(report(self.folder / "out.pftrace")["ranks"][0]["outside"]["process_count"], 0)

    def test_workers_in_another_root(self) -> None:
        done = self.run_it("--strict", "--", recorder.build(self.folder, "dropped"), "root", self.folder, "user", 10)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.sleeps(), [("usleep", 22)])

    def test_a_hostile_one_gets_no_more_than_its_own(self) -> None:
        done = self.run_it("--", recorder.build(self.folder, "dropped"), "hostile", 10)
        self.assertEqual(done.stdout.splitlines(), ["made 1, cut 0", "control 1, written 0", "grow 1 -1 -1 -1"], done.stderr)
        self.assertEqual((done.returncode, self.sleeps()), (0, [("usleep", 22)]))

    def test_strangers_are_not_served(self) -> None:
        program = recorder.build(self.folder, "dropped")
        with subprocess.Popen([EXE, "run", "-q", "-f", "-o", "out", "--no-report", "--", "sh", "-c", "echo $HOLDUP_SESSION; read line"], cwd=self.folder, text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as run:
            assert run.stdout and run.stdin
            session = run.stdout.readline().strip()
            self.assertEqual(pathlib.Path(session).stat().st_mode & 0o777, 0o700)
            other = subprocess.run([program, "hostile", "0"], env=environment(HOLDUP_SESSION=session), capture_output=True, text=True, timeout=20, check=False)
            self.assertIn("made 0", other.stdout)
            self.assertIn("control 0", other.stdout)
            run.stdin.write("\n")


class Outside(Root):
    """What nothing can be loaded into is told: who, why, how much CPU time."""

    def check(self, why: str, name: str, *command: Any, user: int = 0) -> None:
        done = self.run_it("--strict", "--", *command)
        self.assertEqual(done.returncode, 124, done.stderr)
        self.assertRegex(done.stderr, rf"holdup: 1 process \(.* of CPU time\) not recorded from inside:\nholdup:   {name} \(pid \d+, user .*\): .*{why}")
        outside = report(self.folder / "out.pftrace")["ranks"][0]["outside"]
        (row,) = outside["processes"]
        self.assertEqual((row["name"], row["uid"], outside["cpu_ns"]), (name, user, row["cpu_ns"]))
        self.assertRegex(row["why"], why)
        self.assertGreater(row["cpu_ns"], 0.1e9)
        self.assertLess(row["cpu_ns"], 0.3e9)
        self.assertGreater(row["life_ns"], 0.15e9)
        self.assertEqual(recorder.holdup("report", "--strict", self.folder / "out.pftrace").returncode, 4)
        self.assertEqual(self.run_it("--", *command).returncode, 0, "without --strict the status is the command's")

    def test_static(self) -> None:
        self.check("statically linked", "spin", "sh", "-c", f"{self.spin('-static')}; true")

    @unittest.skipIf(SANITIZED, "programs without ASan cannot load a library with it")
    def test_set_uid(self) -> None:
        program = self.spin()
        program.chmod(0o4755)
        self.check("set-uid", "spin", *NOBODY, program)

    @unittest.skipIf(SANITIZED, "programs without ASan cannot load a library with it")
    def test_another_root(self) -> None:
        program, root = self.spin(), self.folder / "root"
        for file in re.findall(r"(/\S+) \(", subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout):
            if pathlib.Path(file).exists():
                (root / file[1:]).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, root / file[1:])
        shutil.copy(program, root)
        self.check("root directory does not hold libholdup", "spin", "chroot", root, "/spin")

    @unittest.skipIf(SANITIZED, "programs without ASan cannot load a library with it")
    def test_a_library_that_the_user_may_not_read(self) -> None:
        library = self.folder / "libholdup-inject.so"
        shutil.copy(pathlib.Path(EXE).parent / library.name, library)
        library.chmod(0o600)
        os.environ["HOLDUP_LIBRARY"] = str(library)
        self.addCleanup(os.environ.pop, "HOLDUP_LIBRARY")
        environment_of = recorder.CLEAN
        recorder.CLEAN = tuple(word for word in environment_of if word != "HOLDUP")
        self.addCleanup(setattr, recorder, "CLEAN", environment_of)
        self.check("user may not read libholdup", "spin", *NOBODY, self.spin(), user=65534)

    @unittest.skipIf(SANITIZED, "programs without ASan cannot load a library with it")
    def test_a_cleared_environment(self) -> None:
        self.check("without the recorder in LD_PRELOAD", "spin", "env", "HOLDUP_SESSION=/another", "LD_PRELOAD=", self.spin())

    @unittest.skipIf(SANITIZED, "programs without ASan cannot load a library with it")
    def test_nobody_else_is_told(self) -> None:
        done = self.run_it("--strict", "--", "sh", "-c", f"{self.spin()} & (sleep 0.2); wait")
        self.assertEqual((done.returncode, "not recorded" in done.stderr), (0, False), done.stderr)

    def test_musl(self) -> None:
        if not shutil.which("musl-gcc"):
            skip_loudly("musl-gcc is not here")
            self.skipTest("no musl")
        done = self.run_it("--strict", "--", self.spin(compiler="musl-gcc"))
        self.assertEqual((done.returncode, self.sleeps()), (0, [("usleep", 1)]), done.stderr)


@unittest.skipIf(SANITIZED, "programs without ASan cannot load a library with it")
class Tools(Root):
    """A profiler as the command: the run is that of the program behind it."""

    def check(self, *tool: str, status: int = 0) -> subprocess.CompletedProcess:
        if not shutil.which(tool[0]):
            skip_loudly(f"{tool[0]} is not here")
            self.skipTest("no tool")
        program = self.spin()
        plain = subprocess.run([*tool, program], cwd=self.folder, capture_output=True, text=True, timeout=30, env=environment(), check=False)
        if plain.returncode != status:
            skip_loudly(f"{tool[0]} does not work here")
            self.skipTest("no tool")
        done = self.run_it("--", *tool, program)
        self.assertEqual((done.returncode, done.stdout), (plain.returncode, plain.stdout), done.stderr)
        self.assertRegex(done.stderr, r"holdup: [\w., ]+ ran spin: the trace and the report are about spin alone")
        host = report(self.folder / "out.pftrace")["ranks"][0]["host_time"]
        self.assertEqual(host["process"], "spin")
        self.assertAlmostEqual(host["job_cpu_ns"], 0.2e9, delta=0.05e9)
        self.assertEqual(self.sleeps(), [("usleep", 1)])
        return done

    def test_strace(self) -> None:
        self.check("strace", "-f", "--seccomp-bpf", "-e", "trace=execve", "-o", "calls")  # a stop at each call loses records

    def test_perf_stat(self) -> None:
        self.check("perf", "stat", "-o", "counters")

    def test_perf_record(self) -> None:
        self.check("perf", "record", "-q", "-o", "samples")

    def test_a_script_called_nsys(self) -> None:
        tool = self.folder / "nsys"
        tool.write_text("#!/bin/sh\nshift\nsleep 0.02\n\"$@\"\nexit 3\n")
        tool.chmod(0o755)
        self.check(str(tool), "profile", status=3)

    def test_behind_a_wrapper(self) -> None:
        """It becomes the tool: cuda's nsys is such a script, and so are modules' wrappers of any name."""
        self.check("env", "A=b", "perf", "stat", "-o", "counters")
        wrapper = self.folder / "traced"
        wrapper.write_text('#!/bin/sh\nsleep 0.02\nexec strace -f --seccomp-bpf -e trace=execve -o calls "$@"\n')
        wrapper.chmod(0o755)
        self.check(str(wrapper))

    def test_gdb(self) -> None:
        if not shutil.which("gdb"):
            skip_loudly("gdb is not here")
            self.skipTest("no gdb")
        done = self.run_it("--", "gdb", "-q", "-batch", "-ex", "run", "--args", self.spin())
        self.assertIn("exited normally", done.stdout)
        self.assertEqual(report(self.folder / "out.pftrace")["ranks"][0]["host_time"]["process"], "spin")

    def test_of_a_tool_alone_the_run_is_its_own(self) -> None:
        done = self.run_it("--", "strace", "-V")
        self.assertNotIn("ran", done.stderr.replace("ran out", ""))


class Ends(Case):
    def build(self, source: str) -> pathlib.Path:
        out = self.folder / "program"
        (self.folder / "program.c").write_text(source)
        subprocess.run(["cc", "-O1", "-o", out, self.folder / "program.c", "-lpthread"], check=True, capture_output=True)
        return out

    def test_a_death_by_signal_is_in_the_report(self) -> None:
        done = self.run_it("--", "sh", "-c", "sleep 0.02; kill -SEGV $$")
        self.assertEqual(done.returncode, 128 + 11)
        self.assertIn("died of signal 11 (Segmentation fault)", done.stderr)
        answer = report(self.folder / "out.pftrace")
        self.assertEqual(answer["ranks"][0]["host_time"]["command_signal"], 11)
        self.assertIn("the command died of signal 11 (Segmentation fault)", recorder.holdup("report", self.folder / "out.pftrace").stdout)
        self.run_it("--", "sh", "-c", "sleep 0.02; exit 3")
        self.assertIsNone(report(self.folder / "out.pftrace")["ranks"][0]["host_time"]["command_signal"])

    def test_more_threads_than_rows(self) -> None:
        program = self.build("#include <pthread.h>\n#include <unistd.h>\nstatic void *nap(void *x) { usleep(200000); return x; }\nint main(void)\n{\n    pthread_t t[300];\n"
                             "    for (int i = 0; i < 300; i++)\n        pthread_create(&t[i], 0, nap, 0);\n    for (int i = 0; i < 300; i++)\n        pthread_join(t[i], 0);\n    return 0;\n}\n")
        self.assertEqual(self.run_it("--", program).returncode, 0)
        self.assertIn("There are 300 such threads; on average each of the 256 longest", report(self.folder / "out.pftrace")["verdict"]["text"])

    def test_the_supervisor_is_killed_the_job_goes_on(self) -> None:
        """What it had seen until then is in the trace of `finish`, also who was not recorded from inside."""
        static = self.folder / "static"
        (self.folder / "spin.c").write_text(SPIN)
        subprocess.run(["cc", "-static", "-o", static, self.folder / "spin.c"], check=True, capture_output=True)
        with subprocess.Popen([EXE, "run", "-q", "-o", "out", "--no-report", "--scratch", ".", "--", "sh", "-c", f"{static}; sleep 0.1; echo done >end"], cwd=self.folder,
                              env=environment()) as run:
            for _ in range(100):
                time.sleep(0.05)
                if any(path.stat().st_size for path in self.folder.glob(".holdup-*/outsiders")):
                    break
            run.kill()
        for _ in range(100):
            if (self.folder / "end").exists():
                break
            time.sleep(0.05)
        self.assertEqual((self.folder / "end").read_text(), "done\n")
        (session,) = self.folder.glob(".holdup-*")
        done = recorder.holdup("finish", session, "-o", self.folder / "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([row["name"] for row in report(self.folder / "out.pftrace")["ranks"][0]["outside"]["processes"]], ["static"])
        self.assertFalse(session.exists())


if __name__ == "__main__":
    unittest.main()
