# SPDX-License-Identifier: Apache-2.0
"""`holdup trace`: with a stand-in for PyTorch's client (tests/trace/client.py), and with PyTorch itself where it is."""
from __future__ import annotations

import contextlib
import datetime
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from typing import Any

from tests import recorder
from tests.program import EXE, ROOT, SANITIZED, skip_loudly, torch_or_skip

CLIENT = ROOT / "tests/trace/client.py"
PATIENCE_S = 120


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-trace-", dir="/tmp"))     # below the only folder that PyTorch writes to
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.sockets = self.folder / "sockets"
        self.sockets.mkdir()
        self.out = self.folder / "out"

    def environment(self, **more: str) -> dict[str, str]:
        return recorder.environment(**{"KINETO_USE_DAEMON": "1", "KINETO_IPC_SOCKET_DIR": str(self.sockets), "XDG_RUNTIME_DIR": str(self.folder), **more})

    def start(self, *words: Any, before: tuple[str, ...] = (), env: dict[str, str] | None = None) -> subprocess.Popen[str]:
        """A process that is ended with the test; its output is a pipe of lines."""
        log = (self.folder / f"log-{time.time_ns()}").open("wb")
        self.addCleanup(log.close)
        process = subprocess.Popen([*before, *map(str, words)], stdout=subprocess.PIPE, stderr=log, text=True, env=env or self.environment(),
                                   start_new_session=True)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process: subprocess.Popen[str]) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)      # what it started, too: unshare, sh and holdup run leave theirs
        process.wait()
        assert process.stdout
        process.stdout.close()

    def client(self, *behaviour: str, before: tuple[str, ...] = (), **variables: str) -> subprocess.Popen[str]:
        process = self.start(sys.executable, CLIENT, *behaviour, before=before, env=self.environment(**variables))
        assert process.stdout
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def trace(self, *words: Any, status: int | None = 0, **more: str) -> tuple[dict[str, Any], str]:
        """Its JSON, and what it said on the way."""
        done = recorder.holdup("trace", *words, "-o", self.out, "--json", timeout=PATIENCE_S, env=self.environment(**more))
        if status is not None:
            self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout) if done.stdout else {}, done.stderr

    def request(self, process: subprocess.Popen[str]) -> dict[str, str]:
        assert process.stdout
        return json.loads(process.stdout.readline())


QUICK = ("--seconds", "0.2", "--warm-up", "0", "--timeout", "4")


class StandIn(Case):
    def test_one_process(self) -> None:
        process = self.client()
        answer, said = self.trace(process.pid, *QUICK, "--shapes", "--stack")
        [row] = answer["processes"]
        self.assertEqual((row["state"], row["pid"]), ("written", process.pid))
        self.assertEqual(json.loads(pathlib.Path(row["file"]).read_text())["traceEvents"][1]["name"], "aten::add")
        self.assertEqual(pathlib.Path(row["file"]).parent, self.out.resolve())
        self.assertEqual(os.listdir(self.out), [pathlib.Path(row["file"]).name])
        for word in ("armed", "written"):
            self.assertRegex(said, f"holdup: {process.pid} .*: {word}")
        request = self.request(process)
        self.assertEqual({k: request[k] for k in request if k.startswith("PROFILE_")}, {
            "PROFILE_START_TIME": "0", "PROFILE_REPORT_INPUT_SHAPES": "true", "PROFILE_PROFILE_MEMORY": "false", "PROFILE_WITH_STACK": "true",
            "PROFILE_WITH_FLOPS": "false", "PROFILE_WITH_MODULES": "false"})
        self.assertEqual((request["ACTIVITIES_DURATION_MSECS"], request["ACTIVITIES_WARMUP_PERIOD_SECS"]), ("200", "0"))
        self.assertFalse((self.sockets / "dynolog").exists(), "the name is given back")

    def test_report_at_the_end(self) -> None:
        process = self.client()
        done = recorder.holdup("trace", process.pid, *QUICK, "-o", self.out, timeout=PATIENCE_S, env=self.environment())
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertIn("mean of 1 ProfilerStep", done.stderr)
        self.assertIn(": written ", done.stderr)

    def test_four_processes_at_one_time(self) -> None:
        several = [self.client() for _ in range(4)]
        answer, said = self.trace(*[p.pid for p in several], *QUICK)
        self.assertEqual([r["state"] for r in answer["processes"]], ["written"] * 4, said)
        self.assertEqual({r["pid"] for r in answer["processes"]}, {p.pid for p in several})
        self.assertEqual({self.request(p)["PROFILE_START_TIME"] for p in several}, {str(answer["start_ms"])})
        self.assertEqual(len(list(self.out.iterdir())), 4)
        for row in answer["processes"]:
            entered = row["entered_ms"]
            self.assertLessEqual(entered["armed"], entered["recording"])
            self.assertLessEqual(entered["recording"], entered["written"])

    def test_at_a_given_time(self) -> None:
        process = self.client()
        when_ms = int(time.time() * 1000) + 12_000
        when = datetime.datetime.fromtimestamp(when_ms / 1000, datetime.timezone(datetime.timedelta(hours=2)))
        answer, _ = self.trace(process.pid, *QUICK, "--at", when.isoformat(timespec="milliseconds"))
        self.assertEqual(answer["start_ms"], when_ms)
        self.assertEqual(self.request(process)["PROFILE_START_TIME"], str(answer["start_ms"]))

    def test_steps(self) -> None:
        process = self.client()
        answer, said = self.trace(process.pid, *QUICK, "--steps", "3")
        self.assertFalse(answer["processes"][0]["lacks_steps"], said)
        request = self.request(process)
        self.assertEqual((request["ACTIVITIES_ITERATIONS"], request["PROFILE_START_ITERATION"]), ("3", "0"))
        self.assertNotIn("PROFILE_START_TIME", request)

    def test_steps_of_a_process_without(self) -> None:
        answer, said = self.trace(self.client("nosteps").pid, *QUICK, "--steps", "3")
        self.assertTrue(answer["processes"][0]["lacks_steps"])
        self.assertIn("recorded 0.2 s instead of steps", said)

    def test_what_stands_below_a_process(self) -> None:
        launcher = self.start("sh", "-c", f"{sys.executable} {CLIENT}; true")
        assert launcher.stdout
        self.assertEqual(launcher.stdout.readline(), "ready\n")
        answer, said = self.trace(launcher.pid, *QUICK)
        self.assertEqual([r["state"] for r in answer["processes"]], ["written"], said)
        self.assertNotEqual(answer["processes"][0]["pid"], launcher.pid)

    def test_job(self) -> None:
        number = str(2**40 + os.getpid())       # no job of this machine
        meant, other = self.client(SLURM_JOB_ID=number), self.client()
        answer, _ = self.trace("--job", number, *QUICK)
        self.assertEqual([r["pid"] for r in answer["processes"]], [meant.pid])
        self.assertGreater(answer["not_answered"]["not_meant"], 0, other.pid)

    def test_busy(self) -> None:
        answer, said = self.trace(self.client("busy").pid, *QUICK, status=3)
        self.assertEqual(answer["processes"][0]["state"], "failed")
        self.assertIn("its profiler is on: torch.profiler in the program, or another trace", answer["processes"][0]["failure"])
        self.assertIn(": busy: ", said)
        self.assertFalse(self.out.exists(), "nothing was written, so no folder stays")

    def test_ends_meanwhile(self) -> None:
        answer, _ = self.trace(self.client("dies").pid, "--seconds", "1", "--warm-up", "1", status=3)
        self.assertRegex(answer["processes"][0]["failure"], "the process ended (before|while)")

    def test_some_of_several(self) -> None:
        good, dead = self.client(), self.client("dies")
        answer, _ = self.trace(good.pid, dead.pid, *QUICK, status=4)
        self.assertEqual({r["pid"]: r["state"] for r in answer["processes"]}, {good.pid: "written", dead.pid: "failed"})

    def test_questions_are_answered_while_a_large_file_is_read(self) -> None:
        """Asked and answered between two looks at the program, in which and in all between it had the file open."""
        answers = self.folder / "answers"
        client = self.client("large", "eager", ANSWERS=str(answers))
        holdup = self.start(EXE, "trace", client.pid, "--seconds", "0.2", "--warm-up", "0", "--timeout", "60", "-o", self.out, "--json")
        times: list[tuple[float, float]] = []
        since = None
        while holdup.poll() is None:
            now = time.monotonic()
            if not self.has_open(holdup.pid, f"_{client.pid}.json"):
                since = None
            elif since is None:
                since = time.monotonic()
            else:
                times.append((since, now))
            time.sleep(0.001)
        assert holdup.stdout
        [row] = json.loads(holdup.stdout.read())["processes"]
        self.assertEqual(row["state"], "written")
        within = [line for line in answers.read_text().splitlines() for asked, answered in [map(float, line.split())]
                  if any(since < asked and answered < until for since, until in times)]
        self.assertTrue(within, times[-1:])

    @staticmethod
    def has_open(pid: int, end: str) -> bool:
        with contextlib.suppress(OSError):
            for fd in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    name = os.readlink(f"/proc/{pid}/fd/{fd}").removesuffix(" (deleted)")
                    if "/holdup-" in name and name.endswith(end):
                        return True
        return False

    def test_a_file_that_is_cut(self) -> None:
        answer, _ = self.trace(self.client("cut").pid, *QUICK, status=3)
        self.assertRegex(answer["processes"][0]["failure"], r"is not whole after 4 s \(\d+ bytes\); pass a longer --timeout")

    def test_an_empty_trace(self) -> None:
        answer, said = self.trace(self.client("empty").pid, *QUICK, status=3)
        self.assertEqual(answer["processes"][0]["state"], "empty")
        self.assertIn("a launcher, or it waited", said)
        self.assertEqual([p.name for p in self.folder.rglob("*.json")], [])

    def test_idle_again_without_a_file(self) -> None:
        answer, _ = self.trace(self.client("nofile").pid, *QUICK[:-1], "60", status=3)
        self.assertIn("its profiler is idle again and wrote no file", answer["processes"][0]["failure"])

    def test_a_folder_that_it_refused(self) -> None:
        process = self.client("elsewhere")
        stray = pathlib.Path(f"/tmp/libkineto_activities_{process.pid}.json")
        self.addCleanup(stray.unlink, missing_ok=True)
        answer, _ = self.trace(process.pid, *QUICK[:-1], "60", status=3)
        self.assertIn(f"and wrote {stray}; start it with KINETO_ONDEMAND_TRACE_DIR=FOLDER", answer["processes"][0]["failure"])

    def test_a_folder_that_it_may_write_to(self) -> None:
        """The file is written where the process may write, and taken from there."""
        allowed = self.folder / "allowed"
        allowed.mkdir()
        process = self.client(KINETO_ONDEMAND_TRACE_DIR=str(allowed))
        answer, _ = self.trace(process.pid, *QUICK)
        self.assertTrue(self.request(process)["ACTIVITIES_LOG_FILE"].startswith(f"{allowed}/holdup-"))
        self.assertEqual(pathlib.Path(answer["processes"][0]["file"]).parent, self.out.resolve())
        self.assertEqual(list(allowed.iterdir()), [])

    def test_no_folder_that_it_may_write_to(self) -> None:
        answer, _ = self.trace(self.client(KINETO_ONDEMAND_TRACE_DIR="/tmp/holdup-is-not-there").pid, *QUICK, status=3)
        self.assertIn("it may write traces in /tmp/holdup-is-not-there alone, which is not writable: No such file", answer["processes"][0]["failure"])

    def test_our_folder_cannot_be_written(self) -> None:
        process = self.client()
        done = recorder.holdup("trace", process.pid, *QUICK, "-o", "/proc/holdup", env=self.environment())
        self.assertEqual(done.returncode, 3)
        self.assertIn("/proc/holdup: cannot be created: No such file or directory; choose another folder with -o", done.stderr)

        for mode in (0o644, 0o755):
            file = self.folder / "file"
            file.write_text("")
            file.chmod(mode)
            done = recorder.holdup("trace", process.pid, *QUICK, "-o", file, env=self.environment())
            self.assertEqual(done.returncode, 3)
            self.assertIn(f"{file}: is no folder; choose another one with -o", done.stderr)
        self.assertFalse((self.sockets / "dynolog").exists(), "found out before the job is asked")

    def test_silence_has_a_reason(self) -> None:
        plain = self.start("sleep", "100", env=recorder.environment())
        _, said = self.trace(plain.pid, *QUICK, status=3)
        self.assertIn("it has not loaded PyTorch, and was started without KINETO_USE_DAEMON=1", said)
        switched = self.start("sleep", "100")
        _, said = self.trace(switched.pid, *QUICK, status=3)
        self.assertIn("it has not loaded PyTorch: name the process that trains", said)
        gone = self.start("true")
        gone.wait()
        _, said = self.trace(gone.pid, *QUICK, status=3)
        self.assertIn(f"there is no process {gone.pid} on this machine", said)

    def test_nobody_asks(self) -> None:
        _, said = self.trace("--job", str(2**41 + os.getpid()), "--timeout", "1", status=3)
        self.assertIn("no process asked to be traced; start the job with KINETO_USE_DAEMON=1", said)

    def test_strangers(self) -> None:
        """Damaged datagrams, sizes that lie, and numbers of other processes: said, counted, and nobody else is held up."""
        good, noisy = self.client(), self.client("garbage")
        answer, said = self.trace(good.pid, noisy.pid, *QUICK)
        self.assertEqual([r["state"] for r in answer["processes"]], ["written"] * 2, said)
        counted = answer["not_answered"]
        self.assertGreaterEqual(counted["damaged"], 8, counted)
        self.assertGreaterEqual(counted["false_pid"], 2, counted)
        self.assertIn("processes like it sent what is no question of PyTorch's profiler", said)
        self.assertIn("processes like it gave a process number that is not theirs", said)

    def test_another_spelling_of_the_folder(self) -> None:
        """PyTorch aborts when an answer comes from a socket that is not below its folder as it spells it."""
        good, other = self.client(), self.client(KINETO_IPC_SOCKET_DIR=f"{self.sockets}/.")
        answer, said = self.trace(good.pid, other.pid, *QUICK, status=4)
        rows = {r["pid"]: r for r in answer["processes"]}
        self.assertEqual(sorted(r["state"] for r in rows.values()), ["failed", "written"], said)
        self.assertGreater(answer["not_answered"]["other_name"], 0)
        self.assertIn("an answer would abort them", said)
        self.assertEqual((good.poll(), other.poll()), (None, None))

    def test_another_folder_of_the_same_name(self) -> None:
        script = f'mount -t tmpfs none {self.sockets} && exec "$0" "$@"'
        unshare = ("unshare", "-Urm", "bash", "-c", script)
        if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode != 0:
            skip_loudly("unshare -Urm is refused here: a process with other mounts is not tried")
            self.skipTest("no user namespaces")
        process = self.client(before=unshare)
        _, said = self.trace(process.pid, *QUICK, status=3)
        self.assertIn("it has not loaded PyTorch", said)     # which comes first; the folder would be next
        self.assertIsNone(process.poll())

    def test_interrupted(self) -> None:
        process = self.client()
        trace = self.start(EXE, "trace", process.pid, "--warm-up", "60", "-o", self.out, "--json")
        self.request(process)       # it is armed
        trace.send_signal(signal.SIGINT)
        out, _ = trace.communicate(timeout=PATIENCE_S)
        self.assertEqual(trace.returncode, 128 + signal.SIGINT)
        self.assertIn(f"it has the request and will write {self.out.resolve()}/", json.loads(out)["processes"][0]["failure"])
        self.assertFalse((self.sockets / "dynolog").exists())
        self.assertTrue(self.out.is_dir(), "where it will write")

    def test_a_daemon_has_the_name(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as daemon:
            daemon.bind(str(self.sockets / "dynolog"))
            process = self.client()
            # the abstract name may be another suite's at this time: then there is no answer at all
            answer, said = self.trace(process.pid, *QUICK, status=None)
            self.assertEqual([p["state"] for p in answer.get("processes", [])], ["failed"] if answer else [])
            self.assertIn(f'"dynolog" in {self.sockets}, is held by ', said)
            self.assertIn(f"(process {os.getpid()}); ask it instead (dyno gputrace), or stop it", said)
        self.assertTrue((self.sockets / "dynolog").exists(), "what is another's stays")
        answer, _ = self.trace(process.pid, *QUICK)     # now it is what a dead daemon left
        self.assertEqual(answer["processes"][0]["state"], "written")

    def test_another_pid_namespace(self) -> None:
        if subprocess.run(["unshare", "-Urpf", "--mount-proc", "true"], capture_output=True, check=False).returncode != 0:
            skip_loudly("unshare -Urpf is refused here: a client with other process numbers is not tried")
            self.skipTest("no user namespaces")
        outer = self.start(sys.executable, CLIENT, before=("unshare", "-Urpf", "--mount-proc"))
        assert outer.stdout
        self.assertEqual(outer.stdout.readline(), "ready\n")
        answer, said = self.trace(outer.pid, *QUICK)
        [row] = answer["processes"]
        self.assertEqual(row["state"], "written", said)
        self.assertNotIn(row["pid"], (1, outer.pid))
        self.assertIn(f"-{row['pid']}-trace.json", row["file"])

    def test_all_in_a_network_of_its_own(self) -> None:
        """Abstract names, --all, and the daemon of that name: in namespaces, where nobody else's processes are."""
        if subprocess.run(["unshare", "-Urpfn", "--mount-proc", "true"], capture_output=True, check=False).returncode != 0:
            skip_loudly("unshare -Urpfn is refused here: abstract sockets and --all are not tried")
            self.skipTest("no user namespaces")
        script = f"""
            {sys.executable} {CLIENT} > /dev/null & {sys.executable} {CLIENT} > /dev/null &
            {EXE} trace --all {' '.join(QUICK)} -o {self.out} --json
            {EXE} trace --all --timeout 20 --warm-up 9 -o {self.out}/first --json > {self.out}/first.json & first=$!
            while ! grep -q '@dynolog@' /proc/net/unix; do sleep 0.05; done
            {EXE} trace $first --timeout 1 --json; kill -INT $first; wait $first
            kill %1 %2
        """
        env = self.environment()
        del env["KINETO_IPC_SOCKET_DIR"]
        done = subprocess.run(["unshare", "-Urpfn", "--mount-proc", "bash", "-c", script], capture_output=True, text=True, timeout=PATIENCE_S, check=False, env=env)
        answer, _ = json.JSONDecoder().raw_decode(done.stdout)
        self.assertEqual([r["state"] for r in answer["processes"]], ["written"] * 2, done.stderr)
        self.assertIn('the name that processes ask, "dynolog", is held by holdup (process ', done.stderr)
        self.assertIn("wait for that holdup trace, or end it", done.stderr)

    def test_runs_take_part(self) -> None:
        name = f"trace-{os.getpid()}"
        run = self.start(EXE, "run", "--start-later", "--session-new", name, "--no-report", "-q", "-o", self.folder / "run.pftrace", "--", sys.executable, CLIENT)
        assert run.stdout
        self.assertEqual(run.stdout.readline(), "ready\n")
        answer, said = self.trace("--job", name, *QUICK, "--seconds", "3")
        self.assertEqual([r["state"] for r in answer["processes"] + answer["runs"]], ["written"] * 2, said)
        # in folders of their own, for a folder is read as the ranks of a job
        self.assertEqual(pathlib.Path(answer["processes"][0]["file"]).parent, self.out.resolve())
        [file] = answer["runs"][0]["files"]
        self.assertEqual(pathlib.Path(file).parent, self.out.resolve() / "runs")
        self.assertGreater(recorder.count(pathlib.Path(file), "clock_nanosleep"), 0)

    def test_a_run_without_pytorch(self) -> None:
        name = f"plain-{os.getpid()}"
        run = self.start(EXE, "run", "--start-later", "--session-new", name, "--no-report", "-q", "-o", self.folder / "run.pftrace", "--",
                         "sh", "-c", "echo ready; while :; do sleep 0.1; done")
        assert run.stdout
        self.assertEqual(run.stdout.readline(), "ready\n")
        answer, said = self.trace(run.pid, *QUICK, "--seconds", "1")
        self.assertEqual(([r["state"] for r in answer["runs"]], answer["processes"]), (["written"], []), said)
        self.assertEqual(pathlib.Path(answer["runs"][0]["files"][0]).parent, self.out.resolve())

    def test_a_run_that_ends_meanwhile(self) -> None:
        name, own = f"short-{os.getpid()}", self.folder / "run.pftrace"
        run = self.start(EXE, "run", "--session-new", name, "--no-report", "-q", "-o", own, "--", "sh", "-c", "echo ready; sleep 3")
        assert run.stdout
        self.assertEqual(run.stdout.readline(), "ready\n")
        answer, said = self.trace("--job", name, *QUICK, status=3)
        self.assertEqual([(r["state"], r["failure"]) for r in answer["runs"]], [("failed", "it ended meanwhile; what it recorded is in its own trace")], said)
        self.assertEqual(run.wait(), 0)
        self.assertTrue(own.exists())

    def test_wrong_usage(self) -> None:
        for words, said in (
            ((), "name what to trace"),
            (("--all", "--job", "3"), "name what to trace"),
            (("none",), '"none" is not a process number'),
            (("1", "--at", "2026-11-23T20:15:00"), "--at needs a time with its zone"),
            (("1", "--at", "2026-02-30T20:15:00Z"), "--at needs a time with its zone"),
            (("1", "--at", "+1s"), "--at +1s is too early: processes ask every 5 s and warm up for 5 s, so it takes +14 s"),
            (("1", "--at", "2001-01-01T00:00:00+01:00"), "is too early"),
            (("1", "--at", "+60s", "--steps", "3"), "--steps and --at cannot be used together"),
            (("1", "--seconds", "0"), "--seconds needs more than 0"),
            (("1", "--seconds", "x"), '"x" is not a number of seconds'),
        ):
            done = recorder.holdup("trace", *words, "-o", self.out, env=self.environment())
            self.assertEqual(done.returncode, 2, (words, done.stderr))
            self.assertIn(said, done.stderr)
        self.assertFalse(self.out.exists())


JOB = """
import sys, time, torch
model = torch.nn.Linear(32, 32)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
if "profiles" in sys.argv:
    profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]).__enter__()
print("ready", flush=True)
while True:
    model(torch.randn(4, 32)).sum().backward()
    if "stepless" not in sys.argv:
        optimizer.step()
    time.sleep(0.02)
"""


class PyTorch(Case):
    """The real client, on the CPU."""

    def setUp(self) -> None:
        super().setUp()
        if SANITIZED:
            self.skipTest("once is enough")
        self.python = torch_or_skip(self)

    def job(self, *words: str, before: tuple[str, ...] = (), **variables: str) -> subprocess.Popen[str]:
        return self.start(self.python, "-c", JOB, *words, before=before, env=self.environment(OMP_NUM_THREADS="1", **variables))

    def ready(self, process: subprocess.Popen[str]) -> int:
        assert process.stdout
        while (line := process.stdout.readline()) != "ready\n":
            self.assertNotEqual(line, "", "the job ended")
        return process.pid

    @staticmethod
    def events(row: dict[str, Any]) -> list[dict[str, Any]]:
        return [e for e in json.loads(pathlib.Path(row["file"]).read_text())["traceEvents"] if e.get("ph") == "X"]

    def test_by_time_then_by_steps(self) -> None:
        pid = self.ready(self.job())
        answer, said = self.trace(pid, "--seconds", "1", "--warm-up", "1", "--shapes")
        [row] = answer["processes"]
        self.assertEqual(row["state"], "written", said)
        operators = [e for e in self.events(row) if e.get("cat") == "cpu_op"]
        self.assertIn("aten::addmm", {e["name"] for e in operators})
        self.assertTrue(any("Input Dims" in e.get("args", {}) for e in operators), "--shapes")
        answer, said = self.trace(pid, "--steps", "3", "--warm-up", "1")
        [row] = answer["processes"]
        self.assertFalse(row["lacks_steps"], said)
        self.assertEqual(len([e for e in self.events(row) if e["name"] == "Optimizer.step#SGD.step"]), 3)

    def test_four_at_one_time(self) -> None:
        pids = [self.ready(p) for p in [self.job() for _ in range(4)]]
        answer, said = self.trace(*pids, "--seconds", "1", "--warm-up", "1")
        self.assertEqual([r["state"] for r in answer["processes"]], ["written"] * 4, said)
        starts_ms = []
        for row in answer["processes"]:
            base_ns = json.loads(pathlib.Path(row["file"]).read_text())["baseTimeNanoseconds"]
            starts_ms.append(base_ns / 1e6 + min(float(e["ts"]) for e in self.events(row)) / 1000)
        self.assertLess(max(starts_ms) - min(starts_ms), 1000)
        self.assertLess(abs(min(starts_ms) - answer["start_ms"]), 1000)

    def test_without_steps(self) -> None:
        answer, said = self.trace(self.ready(self.job("stepless")), "--steps", "3", "--seconds", "0.5", "--warm-up", "1")
        self.assertTrue(answer["processes"][0]["lacks_steps"], said)

    def test_busy(self) -> None:
        answer, said = self.trace(self.ready(self.job("profiles")), status=3)
        self.assertIn("its profiler is on: torch.profiler in the program", answer["processes"][0]["failure"], said)

    def test_ends_meanwhile(self) -> None:
        job = self.job()
        trace = self.start(EXE, "trace", self.ready(job), "--seconds", "30", "--warm-up", "0", "-o", self.out, "--json")
        while not list(self.out.glob(f"holdup-*_{job.pid}.json*")):      # Kineto opens it when it begins
            self.assertIsNone(trace.poll())
            time.sleep(0.05)
        job.kill()
        job.wait()
        out, _ = trace.communicate(timeout=PATIENCE_S)
        self.assertRegex(json.loads(out)["processes"][0]["failure"], "the process ended (before|while)")
        self.assertFalse(self.out.exists(), "what it began is removed")

    def test_in_a_container(self) -> None:
        """Its own process numbers and mounts; one may write only to a file system that is mounted read-only."""
        closed = self.folder / "closed"
        closed.mkdir()
        script = f'mount -t tmpfs -o ro none {closed} && exec "$0" "$@"'
        unshare = ("unshare", "-Urpfm", "--mount-proc")
        if subprocess.run([*unshare, "bash", "-c", script, "true"], capture_output=True, check=False).returncode != 0:
            skip_loudly("unshare -Urpfm is refused here: no container for holdup trace")
            self.skipTest("no user namespaces")
        good = self.job(before=unshare)
        bad = self.job(before=(*unshare, "bash", "-c", script), KINETO_ONDEMAND_TRACE_DIR=str(closed))
        answer, said = self.trace(self.ready(good), self.ready(bad), "--seconds", "1", "--warm-up", "1", status=4)
        rows = {r["state"]: r for r in answer["processes"]}
        self.assertEqual(sorted(rows), ["failed", "written"], said)
        self.assertGreater(len(self.events(rows["written"])), 0)
        self.assertEqual(rows["failed"]["failure"], f"it may write traces in {closed} alone, which is not writable: Read-only file system; "
                                                    "start it with KINETO_ONDEMAND_TRACE_DIR=FOLDER")
