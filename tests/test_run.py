# SPDX-License-Identifier: Apache-2.0
"""`holdup run` as the job, its launcher and the user meet it: exit codes, signals, terminals, names, limits, secrets."""
from __future__ import annotations

import json
import os
import pathlib
import pty
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from typing import Any

from tests import recorder
from tests.program import EXE, NOBODY, ROOT, SANITIZED, for_nobody
from tests.recorder import environment

PYTHON = os.path.realpath(sys.executable)

# counts signals into a file until told to end; says "ready" first
COUNTER = """
import os, signal, sys, time
seen = []
def note(number, frame):
    seen.append(signal.Signals(number).name)
    open(sys.argv[1], 'a').write(signal.Signals(number).name + '\\n')
for name in sys.argv[2].split(','):
    signal.signal(getattr(signal, name), note)
print('ready', flush=True)
end = time.monotonic() + float(sys.argv[3])
while time.monotonic() < end and not os.path.exists(sys.argv[1] + '.end'):
    time.sleep(0.01)
sys.exit(len(seen))
"""


class Case(unittest.TestCase):
    folder: pathlib.Path
    process: subprocess.Popen[str] | None = None

    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-run-"))
        (self.folder / "runtime").mkdir(mode=0o700)

    def tearDown(self) -> None:
        if self.process:
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
                if pipe:
                    pipe.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self, **more: str) -> dict[str, str]:
        return environment(**{"XDG_RUNTIME_DIR": str(self.folder / "runtime"), **more})

    def run_it(self, *words: Any, env: dict[str, str] | None = None, timeout: float = 60, **more: Any) -> subprocess.CompletedProcess:
        return subprocess.run([EXE, "run", "--no-report", *map(str, words)], capture_output=True, text=True, errors="replace", cwd=more.pop("cwd", self.folder),
                              env=self.environment(**(env or {})), timeout=timeout, check=False, **more)

    def holdup(self, *words: Any, env: dict[str, str] | None = None) -> subprocess.CompletedProcess:
        return subprocess.run([EXE, *map(str, words)], capture_output=True, text=True, cwd=self.folder, env=self.environment(**(env or {})), timeout=60, check=False)

    def start_it(self, *words: Any, **more: Any) -> subprocess.Popen[str]:
        self.process = subprocess.Popen([EXE, "run", "--no-report", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        cwd=self.folder, env=self.environment(**more.pop("env", {})), **more)
        return self.process

    def counter(self, signals: str, *options: str, seconds: float = 20, **more: Any) -> subprocess.Popen[str]:
        """A command that counts signals and says so in the file `seen`."""
        script = self.folder / "counter.py"
        script.write_text(COUNTER)
        run = self.start_it("-f", "-o", "out", *options, "--", PYTHON, script, self.folder / "seen", signals, seconds, **more)
        assert run.stdout
        self.assertEqual(run.stdout.readline(), "ready\n")
        return run

    def seen(self, wanted: int = 1, patience: float = 3) -> list[str]:
        """Signals that the counter got; waits for as many, then a little for more."""
        path = self.folder / "seen"
        end = time.monotonic() + patience
        while time.monotonic() < end and (not path.exists() or len(path.read_text().split()) < wanted):
            time.sleep(0.02)
        time.sleep(0.15)
        return path.read_text().split() if path.exists() else []

    def end(self) -> int:
        assert self.process
        (self.folder / "seen.end").touch()
        return self.process.wait(20)

    def wait_for(self, path: pathlib.Path, seconds: float = 5) -> None:
        end = time.monotonic() + seconds
        while not path.exists():
            self.assertLess(time.monotonic(), end, f"{path} did not come: {list(self.folder.iterdir())}")
            time.sleep(0.02)


class ExitCodes(Case):
    def test_a_limit_on_files_kills_nothing(self) -> None:
        """Our files stay below it; a file of the command's own that grows too large is its own death, and is told."""
        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

        run = self.run_it("-o", "out", "sh", "-c", "read x </dev/null; echo fine", preexec_fn=limit)
        self.assertEqual((run.returncode, run.stdout), (0, "fine\n"), run.stderr)
        run = self.run_it("-o", "dead", "sh", "-c", "exec head -c 100000 /dev/zero >large", preexec_fn=limit)
        self.assertEqual(run.returncode, 128 + signal.SIGXFSZ, run.stderr)
        self.assertIn(f"died of signal {int(signal.SIGXFSZ)}", run.stderr)

    def test_a_shell_leaves_its_loop_behind_a_control_c(self) -> None:
        loop = f"for i in 1 2 3; do echo round $i; {EXE} run -q --no-report -o out$i -- sh -c 'kill -INT 0; exec sleep 5'; done"
        done = subprocess.run(["bash", "-c", loop], capture_output=True, text=True, cwd=self.folder, env=self.environment(), timeout=60, check=False,
                              start_new_session=True)
        self.assertEqual((done.returncode, done.stdout), (-signal.SIGINT, "round 1\n"), done.stderr)
        self.assertTrue((self.folder / "out1.pftrace").exists())

    def test_the_status_is_the_commands_own(self) -> None:
        for words, status in ((["true"], 0), (["sh", "-c", "exit 7"], 7), (["sh", "-c", "exit 125"], 125), (["sh", "-c", "kill -TERM $$"], 143),
                              (["sh", "-c", "kill -KILL $$"], 137), (["--", "sh", "-c", "exit 3"], 3)):
            with self.subTest(words=words):
                self.assertEqual(self.run_it(*words).returncode, status)

    def test_what_cannot_be_started(self) -> None:
        (self.folder / "plain").write_text("no program\n")
        for words, status, said in ((["no-such-program"], 127, "no-such-program cannot be started: No such file or directory; check its spelling"),
                                    ([self.folder / "plain"], 126, "Permission denied; pass a program, or a script that is executable"), (["/"], 126, "Permission denied")):
            with self.subTest(words=words):
                done = self.run_it(*words)
                self.assertEqual(done.returncode, status)
                self.assertIn(said, done.stderr)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["plain", "runtime"], "nothing is left behind")

    def test_wrong_usage(self) -> None:
        for words, said in (([], "run needs a command"), (["--trase", "nvtx", "true"], "did you mean --trace?"), (["-t", "nvtxx", "true"], "did you mean nvtx?"),
                            (["--steps", "9..3", "true"], "20..25"), (["--delay", "soon", "true"], '--delay: "soon" is not a time; use'), (["--sample", "0", "true"], "--sample needs"),
                            (["--max-memory", "lots", "true"], "not a size"), (["-c", "nvtx", "true"], "nvtx:NAME"), (["--kill", "all", "true"], "sigterm"),
                            (["-o", "%q{HOLDUP_NOT_SET}", "true"], "is not set"), (["-o", "%z", "true"], "has a letter"), (["--env-var", "novalue", "true"], "NAME=VALUE"),
                            (["--scratch", "/no/such/place", "true"], "--scratch cannot be used"), (["-t", "osrt", "-c", "nvtx:a", "-t", "none", "true"], "user or nvtx"),
                            (["--start-later", "--delay", "3", "true"], "cannot be used together"),
                            (["--mode", "off", "--delay", "3", "true"], "cannot be used together"), (["--force=maybe", "true"], "true or false")):
            with self.subTest(words=words):
                done = self.run_it(*words)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(said, done.stderr)

    def test_a_gate_that_never_opened_is_said(self) -> None:
        for words, said in ((["--steps", "1", "ls"], "no step of --steps 1..1 was marked: nothing was recorded inside ls"),
                            (["-c", "nvtx", "-p", "a", "ls"], "the range of --capture-range was never entered: nothing was recorded inside ls")):
            done = self.run_it(*words)
            self.assertEqual(done.returncode, 0)
            self.assertIn(said, done.stderr)
        self.assertNotIn("was marked", self.run_it("ls").stderr)

    def test_options_behind_the_command_are_its_own(self) -> None:
        self.assertEqual(self.run_it("echo", "--help", "-o", "x").stdout, "--help -o x\n")
        self.assertEqual(self.run_it("-f", "true").returncode, 0, "the command of that name")
        self.assertEqual(self.run_it("-f", "true", "echo", "a").stdout, "a\n", "nsys' spelling")
        self.assertIn("--osrt-threshold", self.holdup("run", "--help").stdout)
        self.assertIn("--osrt-threshold", self.holdup("run", "-q", "-h").stdout)

    def test_nsys_options_are_taken_or_named(self) -> None:
        done = self.run_it("-t", "cuda,nvtx,osrt,cudnn", "--sample=none", "--cpuctxsw=none", "-f", "true", "-x", "true", "-w", "true", "--cuda-memory-usage=true", "--cudabacktrace=all",
                           "--gpu-metrics-devices=none", "--stats=false", "--capture-range=cudaProfilerApi", "--capture-range-end", "repeat:2", "-o", "p", "echo", "a")
        self.assertEqual((done.returncode, done.stdout), (0, "a\n"), done.stderr)
        self.assertIn("does not record cudnn yet", done.stderr)
        self.assertNotIn("--cuda-memory-usage", done.stderr)
        self.assertIn("--cudabacktrace is an option of nsys", done.stderr)
        self.assertIn("cudaProfilerStart was never called", done.stderr)
        self.assertNotIn("gpu-metrics", done.stderr)
        self.assertTrue((self.folder / "p.pftrace").exists())

    def test_required_doors(self) -> None:
        done = self.run_it("--require", "nvtx", "sleep", "0.05")
        self.assertEqual(done.returncode, 123, done.stderr)
        self.assertIn("--require nvtx: nothing", done.stderr)
        self.assertEqual(self.run_it("--require", "nvtx", "sh", "-c", "exit 9").returncode, 9, "the command's own failure counts more")
        self.assertEqual(self.run_it("--strict", "true").returncode, 0)


class Transparent(Case):
    def compare(self, *words: str, **more: Any) -> tuple[subprocess.CompletedProcess, subprocess.CompletedProcess]:
        plain = subprocess.run(words, capture_output=True, text=True, cwd=self.folder, env=self.environment(), check=False, **more)
        return plain, self.run_it(*words, **more)

    def test_input_and_output_are_untouched(self) -> None:
        text = "".join(f"line {i}\n" for i in range(20000))
        done = self.run_it("cat", input=text)
        self.assertEqual(done.stdout, text)
        done = self.run_it("-q", "sh", "-c", "echo out; echo err >&2")
        self.assertEqual((done.stdout, done.stderr), ("out\n", "err\n"))

    def test_descriptors_signals_and_limits(self) -> None:
        plain, ours = self.compare("sh", "-c", "ls -l /proc/self/fd | grep -c '^l'; ulimit -a; pwd; umask; ps -o pgid= -p $$ | wc -l")
        self.assertEqual(plain.stdout, ours.stdout)
        mask = ["grep", "-E", "Sig(Blk|Ign|Cgt)", "/proc/self/status"]
        for prepare in (lambda: None, lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN), lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL),
                        lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN), lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM})):
            plain, ours = self.compare(*mask, preexec_fn=prepare)
            self.assertEqual(plain.stdout, ours.stdout)
            self.assertEqual(ours.returncode, 0, "also where children are not waited for")

    def test_the_environment_has_ours_and_nothing_else(self) -> None:
        plain, ours = self.compare(PYTHON, "-c", "import os, json; print(json.dumps(dict(os.environ)))")
        before, after = json.loads(plain.stdout), json.loads(ours.stdout)
        changed = {k for k in {*before, *after} if before.get(k) != after.get(k)}
        self.assertLessEqual(changed, {"CUDA_INJECTION64_PATH", "HOLDUP_SESSION", "LD_PRELOAD", "NCCL_PROFILER_PLUGIN", "NVTX_INJECTION64_PATH",
                                       "OMP_TOOL_LIBRARIES", "OPENCL_LAYERS", "PYTHONPATH"})
        self.assertTrue(os.path.isabs(after["HOLDUP_SESSION"]))

    @unittest.skipIf(SANITIZED, "a program with ASan does not start behind LD_PRELOAD")
    def test_variables(self) -> None:
        shell = ["sh", "-c", 'echo "$A|$B|$C|$LD_PRELOAD|$NVTX_INJECTION64_PATH|$HOLDUP_NVTX_CHAIN"']
        done = self.run_it("--env-var", "A=1,B=2,3", "C=4", *shell, env={"LD_PRELOAD": "libm.so.6", "NVTX_INJECTION64_PATH": "/other.so"})
        self.assertTrue(done.stdout.startswith("1|2,3|4|libm.so.6:"), done.stdout)
        self.assertTrue(done.stdout.endswith("/libholdup-inject.so|/other.so\n"), done.stdout)
        self.assertIn("NVTX ranges are recorded and go to /other.so", done.stderr)
        self.assertEqual(self.run_it("PATH=/nowhere:/usr/bin:/bin", "sh", "-c", "echo $PATH").stdout, "/nowhere:/usr/bin:/bin\n")

    def test_print_command(self) -> None:
        done = self.run_it("--print-command", "A=it's", "python3", "-c", "print(1)")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"^env 'A=it'\\''s' HOLDUP_SESSION=SESSION .*libholdup-inject\.so.* python3 -c 'print\(1\)'\n$")
        self.assertEqual([p.name for p in self.folder.iterdir()], ["runtime"])

    @unittest.skipIf(SANITIZED, "a program with ASan does not start behind LD_PRELOAD")
    def test_inside_of_another(self) -> None:
        done = self.run_it("-o", "outer", EXE, "run", "-o", "inner", "sh", "-c", "exit 4")
        self.assertEqual(done.returncode, 4)
        self.assertIn("another holdup run already records this job", done.stderr)
        self.assertFalse((self.folder / "inner.pftrace").exists())

    def test_no_terminal_and_no_descriptors(self) -> None:
        done = subprocess.run(["sh", "-c", f"exec {EXE} run -q -o {self.folder}/closed sh -c 'exit 5' <&- >&- 2>&-"], env=self.environment(), cwd=self.folder, check=False)
        self.assertEqual(done.returncode, 5)


class Signals(Case):
    def test_a_signal_to_holdup_reaches_the_command_once(self) -> None:
        for name in ("SIGTERM", "SIGHUP", "SIGINT", "SIGUSR1", "SIGUSR2"):
            with self.subTest(signal=name):
                (self.folder / "seen").unlink(missing_ok=True)
                (self.folder / "seen.end").unlink(missing_ok=True)
                run = self.counter(name)
                run.send_signal(getattr(signal, name))
                self.assertEqual(self.seen(), [name])
                self.assertEqual(self.end(), 1, "the command's own status")
                self.tear_pipes()

    def tear_pipes(self) -> None:
        assert self.process and self.process.stdout and self.process.stderr
        self.process.stdout.close()
        self.process.stderr.close()
        self.process = None

    def test_a_signal_to_the_group_comes_once(self) -> None:
        run = self.counter("SIGTERM,SIGUSR1,SIGINT", start_new_session=True)
        for name in ("SIGUSR1", "SIGTERM", "SIGINT"):
            os.killpg(run.pid, getattr(signal, name))
            time.sleep(0.2)
        self.assertEqual(self.seen(3), ["SIGUSR1", "SIGTERM", "SIGINT"])
        # and one after these to holdup alone
        run.send_signal(signal.SIGTERM)
        self.assertEqual(self.seen(4)[3:], ["SIGTERM"])
        self.assertEqual(self.end(), 4)

    def test_timeout(self) -> None:
        """timeout(1) signals its child and its group."""
        begin = time.monotonic()
        done = subprocess.run(["timeout", "1", EXE, "run", "--no-report", "-o", "out", "sleep", "30"], capture_output=True, text=True, cwd=self.folder,
                              env=self.environment(), check=False)
        self.assertEqual(done.returncode, 124)
        self.assertLess(time.monotonic() - begin, 4)
        self.wait_for(self.folder / "out.pftrace")

    def test_saving_does_not_kill(self) -> None:
        """SIGUSR1 saves; a command that would die of it never gets it."""
        run = self.start_it("-o", "out", "sh", "-c", "echo ready; sleep 1.5; echo end")
        assert run.stdout
        run.stdout.readline()
        time.sleep(0.1)
        run.send_signal(signal.SIGUSR1)
        self.wait_for(self.folder / "out.partial.pftrace", 2)
        self.assertEqual(run.stdout.readline(), "end\n")
        self.assertEqual(run.wait(20), 0)
        self.assertTrue((self.folder / "out.pftrace").exists())
        self.assertFalse((self.folder / "out.partial.pftrace").exists(), "the whole one is there")

    def test_data_is_safe_soon_after_a_request_to_end(self) -> None:
        run = self.counter("SIGTERM")
        run.send_signal(signal.SIGTERM)
        self.wait_for(self.folder / "out.partial.pftrace", 2)
        self.assertEqual(self.end(), 1)
        self.assertTrue((self.folder / "out.pftrace").exists())

    def terminal(self, *words: Any) -> tuple[int, int]:
        """The program on a terminal of its own: (process, descriptor)."""
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execve(EXE, [EXE, "run", "--no-report", *map(str, words)], self.environment())
        return pid, fd

    def read_until(self, fd: int, pattern: str, seconds: float = 10) -> str:
        said, end = "", time.monotonic() + seconds
        while not re.search(pattern, said) and time.monotonic() < end:
            if select.select([fd], [], [], 0.1)[0]:
                try:
                    part = os.read(fd, 4096).decode(errors="replace")
                except OSError:
                    break
                said += part
        self.assertRegex(said, pattern)
        return said

    def test_control_c(self) -> None:
        script = self.folder / "counter.py"
        script.write_text(COUNTER)
        pid, fd = self.terminal("-o", "out", PYTHON, script, self.folder / "seen", "SIGINT", 10)
        try:
            self.read_until(fd, "ready")
            os.write(fd, b"\x03")
            self.assertEqual(self.seen(), ["SIGINT"], "once, from the terminal")
            (self.folder / "seen.end").touch()
            self.read_until(fd, "wrote out.pftrace")
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 1)
        finally:
            os.close(fd)

    def test_control_c_kills_what_does_not_listen(self) -> None:
        pid, fd = self.terminal("-o", "out", "sh", "-c", "echo ready; exec sleep 20")    # a shell that waits may lose it
        try:
            self.read_until(fd, "ready")
            time.sleep(0.2)
            os.write(fd, b"\x03")
            self.read_until(fd, "wrote out.pftrace")
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), -signal.SIGINT, "as the command: a shell leaves its loop")
        finally:
            os.close(fd)

    def test_a_second_control_c_stops_waiting(self) -> None:
        pid, fd = self.terminal("-o", "out", "sh", "-c", "trap '' INT; echo ready; sleep 30 & echo pid=$!; wait")
        child = 0
        try:
            child = int(re.search(r"pid=(\d+)", self.read_until(fd, r"pid=\d+\r?\n"))[1])  # type: ignore[index]
            begin = time.monotonic()
            os.write(fd, b"\x03")
            time.sleep(0.5)
            os.write(fd, b"\x03")
            self.read_until(fd, "wrote out.pftrace")
            self.assertLess(time.monotonic() - begin, 6)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 130)
        finally:
            os.close(fd)
            if child:
                os.kill(child, signal.SIGKILL)

    def test_stop_and_continue(self) -> None:
        run = self.counter("SIGTERM", preexec_fn=os.setpgrp)     # as a shell does; what nobody watches does not stop
        run.send_signal(signal.SIGTSTP)

        def state(pid: int) -> str:
            return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        command = int(subprocess.run(["pgrep", "-P", str(run.pid), "-f", "counter"], capture_output=True, text=True, check=True).stdout.split()[0])
        for _ in range(100):
            if state(run.pid) == "T" and state(command) == "T":
                break
            time.sleep(0.02)
        self.assertEqual((state(run.pid), state(command)), ("T", "T"))
        run.send_signal(signal.SIGCONT)
        for _ in range(100):
            if state(command) != "T":
                break
            time.sleep(0.02)
        self.assertNotEqual(state(command), "T")
        self.assertEqual(self.end(), 0)

    def test_the_supervisor_is_killed(self) -> None:
        """The command goes on as if nothing had been; its rings are there."""
        run = self.counter("SIGTERM", "--scratch", str(self.folder))
        run.kill()
        run.wait()
        time.sleep(0.2)
        session = next(self.folder.glob(".holdup-*"))
        self.assertTrue(list(session.glob("*.ring")))
        status = self.holdup("status")
        self.assertIn("failed", status.stdout)
        self.assertIn("supervisor was killed", status.stdout)
        (self.folder / "seen.end").touch()
        time.sleep(0.2)
        self.assertEqual(subprocess.run(["pgrep", "-f", str(self.folder / "counter.py")], capture_output=True, check=False).returncode, 1, "the command has ended")


class Times(Case):
    def test_duration(self) -> None:
        for options, status, most in ((["--kill", "sigterm"], 143, 5), (["--kill", "sigkill"], 137, 5), ([], 143, 5)):
            with self.subTest(options=options):
                begin = time.monotonic()
                done = self.run_it("-o", "out", "-f", "-d", "0.5", *options, "sh", "-c", "sleep 30; echo late")
                self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
                self.assertLess(time.monotonic() - begin, most)
        done = self.run_it("-f", "-o", "out", "-d", "0.2", "--kill", "none", "sh", "-c", "sleep 1; echo late")
        self.assertEqual((done.returncode, done.stdout), (0, "late\n"))

    def test_nobody_escapes_the_end(self) -> None:
        """Processes that are forked while the command is ended, and those whose parent has ended before."""
        script = self.folder / "forker.py"
        script.write_text("import os, signal, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nfor i in range(2000):\n"
                          "    if os.fork() == 0:\n        time.sleep(20)\n        os._exit(0)\n")
        for kill, status, words in (("sigkill", 137, [PYTHON, script]), ("sigterm", 143, [PYTHON, script]),
                                    ("sigterm", 143, ["--wait", "all", "sh", "-c", "(sleep 20 &) >/dev/null 2>&1; sleep 20"])):
            with self.subTest(kill=kill, words=words):
                begin = time.monotonic()
                done = self.run_it("-f", "-o", "out", "-t", "user", "-d", "0.3", "--kill", kill, *words)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertLess(time.monotonic() - begin, 10, "whoever is left has our pipe, or is waited for")

    def test_the_end_spares_what_cleans_up_and_what_was_there_before(self) -> None:
        done = self.run_it("-f", "-o", "out", "-d", "0.3", "sh", "-c", "trap 'sleep 0.3 && echo cleaned; exit 5' TERM; sleep 20 & wait")
        self.assertEqual((done.returncode, done.stdout), (5, "cleaned\n"), done.stderr)
        script = 'sleep 20 >/dev/null 2>&1 & echo $!; exec "$@"'
        done = subprocess.run(["sh", "-c", script, "sh", EXE, "run", "-q", "-o", "out", "-f", "-d", "0.3", "--kill", "sigkill", "sleep", "20"],
                              capture_output=True, text=True, cwd=self.folder, env=self.environment(), timeout=60, check=False)
        self.assertEqual(done.returncode, 137, done.stderr)
        os.kill(int(done.stdout), signal.SIGTERM)       # it is there

    def ranges(self, *options: str, seconds: float = 1.0) -> list[int]:
        """Which of ten ranges a second were recorded."""
        script = self.folder / "ranges.py"
        script.write_text("import holdup, time\nholdup.step(0)\nbegin = time.monotonic()\n"
                          f"for i in range({int(seconds * 20)}):\n"
                          "    with holdup.range(f'r{i}'):\n        pass\n"
                          "    time.sleep(max(0, begin + (i + 1) / 20 - time.monotonic()))\n")
        done = self.run_it("-f", "-o", "out", *options, PYTHON, script)
        self.assertEqual(done.returncode, 0, done.stderr)
        if not (self.folder / "out.pftrace").exists():
            return []
        found = recorder.rows(self.folder / "out.pftrace", "select name from slice where name glob 'r[0-9]*'")
        return sorted(int(row["name"][1:]) for row in found)

    def test_delay_and_duration_bound_what_is_recorded(self) -> None:
        self.assertEqual(self.ranges(), list(range(20)))
        late = self.ranges("--delay", "500ms")
        self.assertTrue(late and late[0] > 3 and late[-1] == 19 and late == list(range(late[0], 20)), late)
        early = self.ranges("--duration", "0.5", "--kill", "none")
        self.assertTrue(early and early[0] == 0 and early[-1] < 18 and early == list(range(early[-1] + 1)), early)

    def test_what_is_left_behind(self) -> None:
        begin = time.monotonic()
        done = self.run_it("-o", "out", "sh", "-c", "sleep 3 >/dev/null 2>&1 & sleep 0.3; echo started")
        self.assertEqual((done.returncode, done.stdout), (0, "started\n"))
        self.assertLess(time.monotonic() - begin, 2.9)
        self.assertIn("still running", done.stderr)
        begin = time.monotonic()
        done = self.run_it("-f", "-o", "out", "--wait", "all", "sh", "-c", "(sleep 1; exit 3) >/dev/null 2>&1 & exit 6")
        self.assertEqual(done.returncode, 6)
        self.assertGreater(time.monotonic() - begin, 0.9)

    @unittest.skipIf(SANITIZED, "a program with ASan does not start behind LD_PRELOAD")
    def test_a_child_outlives_its_parent(self) -> None:
        """It lives, and knows the names of its parent, of whose file the free blocks have been cut off."""
        heir = recorder.build(self.folder, "heir")
        here = [heir, self.folder / "through"]
        for words, found in ((["--wait", "all", *here], (4, 3)), (["sh", "-c", '"$0" "$1"; sleep 1.5; exit 6', *here], (4, 3)), (here, (1, 0))):
            with self.subTest(words=words):
                done = self.run_it("-f", "-o", "out", *words)
                self.assertEqual(done.returncode, 6, done.stderr)
                self.wait_for(self.folder / "through")
                (self.folder / "through").unlink()
                self.assertEqual((recorder.count(self.folder / "out.pftrace", "of both"), recorder.count(self.folder / "out.pftrace", "of the child")), found)


    @unittest.skipIf(SANITIZED, "a program with ASan does not start behind LD_PRELOAD")
    def test_a_container_has_numbers_of_its_own(self) -> None:
        """A process of the command goes on when one of ours that has its number has ended."""
        apart = ["unshare", "-pf", "--mount-proc", "--kill-child"]
        if subprocess.run([*apart, "sh", "-c", "echo 99 >/proc/sys/kernel/ns_last_pid"], capture_output=True, check=False).returncode != 0:
            self.skipTest("unshare is not permitted here: no second namespace of processes")
        script = self.folder / "same.py"
        script.write_text("import holdup, os, sys, time\nnumber = int(sys.argv[1])\nopen('/proc/sys/kernel/ns_last_pid', 'w').write(str(number - 1))\n"
                          "child = os.fork()\nif child == 0:\n    assert os.getpid() == number\n    for i in range(150):\n        for k in range(400):\n"
                          "            with holdup.range('tick'): pass\n        time.sleep(0.01)\n    os._exit(0)\nos.waitpid(child, 0)\n")
        with subprocess.Popen(["sleep", "0.7"]) as twin:
            done = self.run_it("-f", "-o", "out", "-t", "user", "--max-memory", "1M", *apart, PYTHON, script, twin.pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("LOST", done.stderr)
        self.assertEqual(recorder.count(self.folder / "out.pftrace", "tick"), 60000)


class Control(Case):
    def state(self) -> dict[str, Any]:
        done = self.holdup("status", "--json", "--session", "mine")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)[0]

    def test_start_stop_and_status(self) -> None:
        self.assertEqual(self.holdup("start").returncode, 2)
        self.assertIn("no active run", self.holdup("start").stderr)
        script = self.folder / "ranges.py"
        script.write_text("import holdup, os, time\ni = 0\nprint('ready', flush=True)\n"
                          "while not os.path.exists('end'):\n    i += 1\n    with holdup.range('tick'): pass\n    time.sleep(0.005)\nprint(i)\n")
        run = self.start_it("--mode", "off", "--session-new", "mine", "-o", "out", PYTHON, script)
        assert run.stdout
        run.stdout.readline()
        self.assertEqual(self.state()["state"], "armed")
        self.assertEqual(self.state()["records"], 0)
        self.assertEqual(self.run_it("--session-new", "mine", "true").returncode, 2, "the name is taken")
        self.assertEqual(self.holdup("start", "--session", "other").returncode, 2)
        self.assertEqual(self.holdup("start", "mine").returncode, 0)
        self.assertEqual(self.state()["state"], "recording")
        time.sleep(0.4)
        self.assertEqual(self.holdup("stop").returncode, 0)
        time.sleep(0.2)         # a call or a range that was under way still ends
        paused = self.state()
        self.assertEqual(paused["state"], "paused")
        self.assertGreater(paused["records"], 20)
        self.assertEqual((paused["lost"], paused["processes"] >= 1, paused["supervisor"]), (0, True, run.pid))
        time.sleep(0.3)
        self.assertEqual(self.state()["records"], paused["records"], "nothing more is recorded")
        (self.folder / "end").touch()
        self.assertEqual(run.wait(20), 0)
        ticks = int(run.stdout.readline())
        written = self.state()
        self.assertEqual((written["state"], written["output"]), ("written", "out.pftrace"))
        count = recorder.count(self.folder / "out.pftrace", "tick")
        self.assertTrue(20 < count < ticks - 20, (count, ticks))

    def test_a_name_belongs_to_the_last_run(self) -> None:
        """What finishes an earlier run of that name leaves the present one alone."""
        first = self.counter("SIGTERM", "--session-new", "mine", "-o", "first")
        first.kill()
        (self.folder / "seen.end").touch()
        first.communicate()
        [earlier] = self.folder.glob(".holdup-*")
        (self.folder / "seen.end").unlink()
        self.counter("SIGTERM", "--session-new", "mine")
        end = time.monotonic() + 5
        while self.holdup("finish", earlier, "-o", "late.pftrace").returncode == 0 and earlier.exists():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        self.assertFalse(earlier.exists())
        self.assertEqual(self.state()["state"], "recording")
        self.assertEqual(self.holdup("stop", "mine").returncode, 0)
        self.assertEqual(self.end(), 0)
        self.assertEqual(self.state()["state"], "written")

    def test_cancel(self) -> None:
        run = self.counter("SIGTERM", "--session-new", "mine")
        self.assertEqual(self.holdup("cancel").returncode, 0)
        self.assertEqual(self.end(), 0)
        self.assertFalse((self.folder / "out.pftrace").exists())
        self.assertEqual([p for p in self.folder.iterdir() if p.name.startswith(".holdup")], [])
        self.assertEqual(run.returncode, 0)

    @unittest.skipIf(SANITIZED, "a program with ASan does not start behind LD_PRELOAD")
    def test_print_env(self) -> None:
        script = 'eval "$("$H" print-env -q -o late.pftrace)"; "$P" -c "import holdup\nwith holdup.range(\'inside\'): pass"; "$H" status; "$H" finish -q "$HOLDUP_SESSION" -o late.pftrace'
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, cwd=self.folder, env=self.environment(H=EXE, P=PYTHON), check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("recording", done.stdout)
        self.assertEqual(recorder.count(self.folder / "late.pftrace", "inside"), 1)
        self.assertEqual(self.holdup("print-env", "true").returncode, 2)


class Names(Case):
    def names(self) -> set[str]:
        return {str(p.relative_to(self.folder)) for p in self.folder.rglob("*.pftrace")}

    def test_defaults(self) -> None:
        self.run_it("sh", "-c", "true")
        self.assertRegex(" ".join(self.names()), r"^holdup-sh-\d+\.pftrace$")

    def test_a_library_whose_path_the_loader_would_cut(self) -> None:
        """In a path with a space and a colon it is preloaded through a link; where no link helps, that is said."""
        place = self.folder / "own programs:new"
        place.mkdir()
        shutil.copy(pathlib.Path(EXE).with_name("libholdup-inject.so"), place)
        env = {"HOLDUP_LIBRARY": str(place / "libholdup-inject.so")}
        done = self.run_it("-o", "a", PYTHON, "-c", "import time; time.sleep(0.05)", env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r": [1-9]\d* records of 1 process")
        self.assertNotIn("cannot be preloaded", done.stderr)
        done = self.run_it("--scratch", place, "-o", "b", "true", env=env)
        self.assertIn("cannot be preloaded: its path has a space or a colon, and so has that of the session", done.stderr)

    def test_nothing_is_replaced_unasked(self) -> None:
        self.assertEqual(self.run_it("-o", "a", "true").returncode, 0)
        (self.folder / "a.pftrace").write_text("mine")
        for name in ("a", "a.pftrace", "./a"):
            done = self.run_it("-o", name, "touch", "started")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("a.pftrace: already exists; choose another file, or replace it with --force", done.stderr)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir() if p.name in ("a.pftrace", "started")), ["a.pftrace"], "nothing was started")
        self.assertEqual((self.folder / "a.pftrace").read_bytes(), b"mine")
        self.run_it("-f", "true", "-o", "a", "sh", "-c", "true")
        self.assertEqual(self.names(), {"a.pftrace"})
        self.assertNotEqual((self.folder / "a.pftrace").read_bytes(), b"mine")

    def test_templates_count_up(self) -> None:
        for _ in range(2):
            self.assertEqual(self.run_it("-o", "of-%c", "true").returncode, 0)
            self.assertEqual(self.run_it("-o", "run%n", "true").returncode, 0)
        self.assertEqual(self.names(), {"of-true.pftrace", "of-true-2.pftrace", "run1.pftrace", "run2.pftrace"})

    def test_a_name_that_is_taken_while_the_command_runs(self) -> None:
        done = self.run_it("-o", "a", "sh", "-c", "echo other >a.pftrace")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.names(), {"a.pftrace", "a-2.pftrace"})
        self.assertEqual((self.folder / "a.pftrace").read_text(), "other\n")

    def test_the_first_of_several_ranks_speaks_for_all(self) -> None:
        for options, all_ranks in ((["-o", "x"], "x-rank*.pftrace"), ([], "holdup-77-sh/"), (["-o", "runs/%j/r%r"], "runs/77/r*.pftrace")):
            for rank in ("0", "1"):
                env = {"OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": rank, "SLURM_JOB_ID": "77"}
                done = self.holdup("run", *options, "--", "sh", "-c", "sleep 0.05", env=env)
                self.assertEqual(done.returncode, 0, done.stderr)
                lines = done.stderr.splitlines()
                if rank == "0":
                    self.assertIn(f"holdup: for a report over all 2 ranks, once they have ended: holdup report {all_ranks}", lines)
                    self.assertTrue(any("confidence" in line for line in lines), done.stderr)
                else:
                    self.assertEqual(len(lines), 1, done.stderr)
                    self.assertRegex(lines[0], r"^holdup: wrote .*1\.pftrace")
            told = subprocess.run(f"{EXE} report --json -q {all_ranks}", shell=True, cwd=self.folder, capture_output=True, text=True, check=True).stdout
            self.assertEqual([r["rank"] for r in json.loads(told)["ranks"]], [0, 1])

    def test_templates(self) -> None:
        env = {"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "1", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "SLURM_LOCALID": "1", "SLURM_NODEID": "0", "X": "y"}
        done = self.run_it("-o", "%j/%q{X}/r%r-of-%w-%l-%N-%q{NONE:-no}-%c", PYTHON, "-c", "pass", env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.names(), {f"77/y/r1-of-2-1-0-no-{pathlib.Path(PYTHON).name}.pftrace"})
        self.run_it("sh", "-c", "true", env=env)
        self.assertIn("holdup-77.1-sh/rank1.pftrace", self.names())

    def test_several_ranks_of_one_command(self) -> None:
        script = "for r in 0 1; do RANK=$r LOCAL_RANK=$r WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 sleep 0.1 & done; wait"
        for _ in range(2):
            done = self.run_it("sh", "-c", script)
            self.assertEqual(done.returncode, 0, done.stderr)
        ranks = {n for n in self.names() if "rank" in n}
        self.assertEqual(ranks, {"holdup-sh/rank0.pftrace", "holdup-sh/rank1.pftrace", "holdup-sh-2/rank0.pftrace", "holdup-sh-2/rank1.pftrace"})

    def test_unwritable_places(self) -> None:
        public = for_nobody(self, EXE, pathlib.Path(EXE).parent / "libholdup-inject.so")
        place = self.folder / "closed"
        place.mkdir(mode=0o755)
        self.folder.chmod(0o755)
        done = subprocess.run([*NOBODY, public / "holdup", "run", "--no-report", "sh", "-c", "echo hello; exit 3"],
                              capture_output=True, text=True, check=False, cwd=place, env=environment(HOME="/nonexistent", XDG_RUNTIME_DIR="/nonexistent"))
        self.assertEqual((done.returncode, done.stdout), (3, "hello\n"), done.stderr)
        self.assertIn("cannot write to", done.stderr)
        kept = re.search(r"holdup finish (\S+) -o NAME", done.stderr)
        assert kept, done.stderr
        finished = self.holdup("finish", kept[1], "-o", "late.pftrace")
        self.assertEqual(finished.returncode, 0, finished.stderr)
        shutil.rmtree(kept[1], ignore_errors=True)

    def test_a_disk_that_is_not_there(self) -> None:
        done = self.run_it("--scratch", self.folder / "nowhere", "true")
        self.assertEqual(done.returncode, 2)
        done = self.run_it("-o", "runs/deep/%c", "true", cwd=self.folder)
        self.assertEqual(self.names(), {"runs/deep/true.pftrace"}, done.stderr)


class Secrets(Case):
    def test_no_secret_is_written(self) -> None:
        env = {"HF_TOKEN": "hush-one", "NCCL_SECRET": "hush-two", "NCCL_DEBUG": "INFO", "WANDB_API_KEY": "hush-three", "RANDOM_NAME": "hush-four"}
        done = self.run_it("--keep-rings", "-o", "out", "sh", "-c", "true", "--password", "hush-five", "--api-key=hush-six", "https://me:hush-seven@host/", env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        session = next(self.folder.glob(".holdup-*"))
        self.assertEqual(session.stat().st_mode & 0o777, 0o700)
        for name in ("environment", "facts", "control"):
            self.assertNotIn(b"hush", (session / name).read_bytes(), name)
        self.assertIn("NCCL_DEBUG=INFO\n", (session / "environment").read_text())
        self.assertNotIn("RANDOM_NAME", (session / "environment").read_text())
        self.assertIn(b"--password\0***\0--api-key=***\0https://***@host/\0", (session / "facts").read_bytes())
        self.assertNotIn(b"hush", (self.folder / "out.pftrace").read_bytes())


class Limits(Case):
    SCRIPT = "import holdup\nfor i in range(30000):\n    with holdup.range('x'): pass\n"

    def test_a_limit_on_the_disk_is_a_counted_loss(self) -> None:
        done = self.run_it("--strict", "--max-size", "64K", "-o", "out", PYTHON, "-c", self.SCRIPT)
        self.assertEqual(done.returncode, 124, done.stderr)
        said = re.search(r": ([\d,]+) records of \d+ process(?:es)?; (\d+) MORE WERE LOST", done.stderr)
        assert said, done.stderr
        self.assertGreater(int(said[2]), 20000)
        kept = recorder.count(self.folder / "out.pftrace", "x")
        self.assertTrue(0 < kept < 10000, kept)
        done = self.run_it("--max-size", "64K", "-f", "-o", "out", PYTHON, "-c", self.SCRIPT + "exit(3)")
        self.assertEqual(done.returncode, 3, "without --strict the command's own")

    def test_a_flight_recorder_keeps_the_newest(self) -> None:
        done = self.run_it("--strict", "--mode", "flight", "--max-memory", "256K", "-o", "out", PYTHON, "-c", self.SCRIPT + "with holdup.range('last'): pass\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"\d+ older ones were overwritten")
        self.assertEqual(recorder.count(self.folder / "out.pftrace", "last"), 1)
        self.assertLess(recorder.count(self.folder / "out.pftrace", "x"), 9000)


class Cost(Case):
    def test_what_recording_cost_is_said(self) -> None:
        done = self.run_it("-o", "out", PYTHON, "-c", "sum(range(100_000_000))")
        said = re.search(r"recording overhead: ([\d.]+) % of the command's ([\d.]+ \S+) of CPU time: ([\d.]+ \S+) in the command "
                         r"\(([\d.]+) ns per record, measured here\), ([\d.]+ \S+) in the recorder", done.stderr)
        assert said, done.stderr
        whole, inside, outside = (float(n) * {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit] for n, unit in (said[k].split() for k in (2, 3, 5)))
        self.assertAlmostEqual(float(said[1]) / 100, (inside + outside) / whole, delta=0.01 * float(said[1]) / 100 + 0.0001)
        self.assertTrue(1 < float(said[4]) < 1000, said[0])
        self.assertIn(b"holdup.recording_in_command_ns", (self.folder / "out.pftrace").read_bytes())


if __name__ == "__main__":
    unittest.main()
