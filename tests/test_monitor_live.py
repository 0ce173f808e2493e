# SPDX-License-Identifier: Apache-2.0
"""What `holdup monitor` says of jobs that run, from datagrams made by hand: values, bounds, liars, and those who die."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from tests.live_sender import CAUSES, LAYOUT, LIMITS_US, Process, Sender
from tests.program import EXE, ROOT, run, skip_loudly
from tests.test_monitor import OPENMETRICS, Monitor, check_openmetrics, parse, wait_for

JOB = 'scheduler="none",job_id="mine",user="%s"'
TAKEN = 'holdup_monitor_live_datagrams_total{result="taken"}'
NOBODY = 65534


def user() -> str:
    return subprocess.run(["id", "-un"], check=True, capture_output=True, text=True).stdout.strip()


class Case(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory(prefix="holdup-live-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.path = self.folder / "job.sock"
        self.job = JOB % user()

    def monitor(self, *words: str, path: pathlib.Path | None = None) -> Monitor:
        holder = contextlib.ExitStack()
        self.addCleanup(holder.close)
        m = holder.enter_context(Monitor("--job-socket", path or self.path, "--period", "0.1", *words))
        m.wait(TAKEN, 0)
        return m

    def sender(self, path: pathlib.Path | None = None) -> Sender:
        s = Sender(path or self.path)
        self.addCleanup(s.close)
        return s

    def process(self, rank: int = -1, world: int = -1, **more: object) -> Process:
        """One that lives until the test ends."""
        # pylint: disable-next=consider-using-with
        p = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(p.wait)
        self.addCleanup(p.kill)
        return Process(p.pid, rank=rank, world=world, **{"job_id": "mine", **more})

    def refused(self, m: Monitor, reason: str, n: int = 1) -> None:
        m.wait(f'holdup_monitor_live_datagrams_total{{result="refused",reason="{reason}"}}', n)


class Values(Case):
    def test_layout(self) -> None:
        self.assertEqual(LAYOUT.size, 280 + 8 * (16 + len(LIMITS_US) + 1))
        self.assertEqual((len(CAUSES), len(LIMITS_US)), (8, 22))

    def test_steps_causes_and_what_holds_up(self) -> None:
        m, s = self.monitor(), self.sender()
        ranks = [self.process(rank, 2) for rank in range(2)]
        for _ in range(3):
            for p in ranks:     # rank 1 is fast and waits
                p.step(0.1, data_loading=0.01, communication=0.05 if p.rank else 0.01, forward=0.02, backward=0.03 - 0.02 * p.rank)
        ranks[0].step(1.5, checkpoint=1.5)
        ranks[1].step(1.5, communication=1.5)
        ranks[0].samples, ranks[0].tokens, ranks[0].checkpoints = 256, 1 << 40, 1
        for p in ranks:
            s.send(p)
        m.wait(TAKEN, 2)
        found = m.series()
        for rank, comm in ((0, 0.03), (1, 1.65)):
            of = f'{self.job},rank="{rank}"'
            self.assertEqual(found[f"holdup_job_step_duration_seconds_count{{{of}}}"], 4)
            self.assertAlmostEqual(found[f"holdup_job_step_duration_seconds_sum{{{of}}}"], 1.8)
            self.assertEqual([found[f'holdup_job_step_duration_seconds_bucket{{{of},le="{le}"}}'] for le in ("0.05", "0.1", "1", "2.5", "+Inf")], [0, 3, 3, 4, 4])
            self.assertAlmostEqual(found[f'holdup_job_cause_seconds_total{{{of},cause="communication"}}'], comm)
            self.assertEqual(found[f"holdup_job_rank_up{{{of}}}"], 1)
            self.assertEqual(found[f"holdup_job_step_number{{{of}}}"], 4)
            self.assertAlmostEqual(found[f"holdup_job_last_step_timestamp_seconds{{{of}}}"], ranks[rank].last_step_ns / 1e9, places=3)
            self.assertEqual(found[f'holdup_job_process_info{{{of},world="2",name="train.py",source="holdup run"}}'], 1)
        zero = f'{self.job},rank="0"'
        self.assertEqual([found[f"holdup_job_{what}_total{{{zero}}}"] for what in ("samples", "tokens", "checkpoints")], [256, 1 << 40, 1])
        self.assertNotIn(f'holdup_job_samples_total{{{self.job},rank="1"}}', found)
        self.assertEqual(found[f"holdup_job_ranks{{{self.job}}}"], 2)
        self.assertEqual(found[f"holdup_job_ranks_lost_total{{{self.job}}}"], 0)
        shares = self.shares(found)
        self.assertAlmostEqual(sum(shares.values()), 1)
        for cause, spent in (("checkpoint", 1.5), ("communication", 0.06), ("straggler", 1.62), ("data-loading", 0.06), ("host", 0.12 + 0.12), ("copies", 0), ("device-wait", 0)):
            self.assertAlmostEqual(shares[cause], spent / 3.6, msg=cause)

    def shares(self, found: dict[str, float]) -> dict[str, float]:
        return {re.search('cause="([^"]+)"', name)[1]: value for name, value in found.items() if name.startswith("holdup_job_holdup{")}

    def test_what_is_not_recorded_is_absent(self) -> None:
        m, s = self.monitor(), self.sender()
        p = self.process(measured=("data-loading",))
        p.step(1, data_loading=0.25, communication=0.5)     # of which the recorder says that it does not see it
        s.send(p)
        m.wait(TAKEN, 1)
        found = m.series()
        self.assertEqual(self.shares(found), {"data-loading": 0.25, "other": 0.75})
        self.assertEqual([name for name in found if "cause_seconds" in name], [f'holdup_job_cause_seconds_total{{{self.job},cause="data-loading"}}'])
        self.assertNotIn(f"holdup_job_checkpoints_total{{{self.job}}}", found)

    def test_a_step_that_hangs(self) -> None:
        """It counts with the cause that is open, and its share grows."""
        m, s = self.monitor(), self.sender()
        p = self.process()
        p.step(0.5, data_loading=0.5)
        p.step_since_ns = p.now_since_ns = p.clock()
        p.now = "communication"

        def share(cause: str) -> float:
            s.send(p)
            return m.series().get(f'holdup_job_holdup{{{self.job},cause="{cause}"}}', 0)
        first = wait_for(lambda: share("communication"), "a share of what is open")
        wait_for(lambda: share("communication") > first, "it grows")
        wait_for(lambda: share("data-loading") == 0, "after five seconds it is all there is")
        self.assertEqual(share("communication"), 1)

    def test_formats(self) -> None:
        m, s = self.monitor("--jsonl", str(self.folder / "log")), self.sender()
        p = self.process(3, 8)
        p.step(0.2, data_loading=0.1)
        s.send(p)
        m.wait(TAKEN, 1)
        text = m.get(Accept=OPENMETRICS)[2].decode()
        self.assertEqual(check_openmetrics(self, text)["holdup_job_step_duration_seconds"], "histogram")
        self.assertIn('le="1.0"} 1\n', text)
        plain = m.get()[2].decode()
        if shutil.which("promtool"):
            done = subprocess.run(["promtool", "check", "metrics"], input=plain, capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, [line for line in done.stderr.splitlines() if "holdup_job" in line or "live" in line]), (0, []))
        else:
            skip_loudly("promtool is not installed: the page was not checked by it")
        lines = wait_for(lambda: [line for line in (self.folder / "log").read_text().splitlines() if "step_duration" in line], "a line of the log")
        of = {metric["name"]: metric["value"] for metric in json.loads(lines[0])["metrics"] if metric["name"].startswith("holdup_job_step_duration")}
        self.assertEqual(of, {"holdup_job_step_duration_seconds_sum": 0.2, "holdup_job_step_duration_seconds_count": 1})

    def test_no_user_labels(self) -> None:
        m, s = self.monitor("--no-user-labels"), self.sender()
        p = self.process(name="secret.py")
        p.step(0.1)
        s.send(p)
        m.wait(TAKEN, 1)
        text = m.get()[2].decode()
        self.assertNotIn("secret", text)
        self.assertIn('holdup_job_ranks{scheduler="none",job_id="mine"} 1\n', text)

    def test_jobs_without_a_name(self) -> None:
        m, s = self.monitor(), self.sender()
        p = self.process(job_id="")
        p.step(0.1)
        s.send(p)
        m.wait(f'holdup_job_ranks{{scheduler="none",job_id="pid-{os.getpgid(p.pid)}",user="{user()}"}}', 1)

    def test_the_schedulers_name_of_a_job_goes_before_its_own(self) -> None:
        m, s = self.monitor(), self.sender()
        # pylint: disable-next=consider-using-with
        child = subprocess.Popen(["sleep", "1000"], env={**os.environ, "PBS_JOBID": "77.server", "PBS_QUEUE": "gpu"})
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        wait_for(lambda: b"sleep" in pathlib.Path(f"/proc/{child.pid}/cmdline").read_bytes(), "its environment")
        p = Process(child.pid, job_id="somebody else's")
        p.step(0.1)
        s.send(p)
        m.wait(f'holdup_job_ranks{{scheduler="pbs",job_id="77.server",user="{user()}"}}', 1)
        self.assertNotIn("somebody", m.get()[2].decode())

    def test_a_process_that_tells_itself(self) -> None:
        """By its own socket: the kernel says so."""
        m = self.monitor()
        code = ("import os, sys\nsys.path.insert(0, sys.argv[1])\nfrom tests.live_sender import *\n"
                "p = Process(os.getpid(), job_id='mine')\np.step(0.1)\nSender(sys.argv[2]).send(p)\nsys.stdin.read()\n")
        with subprocess.Popen([sys.executable, "-c", code, str(ROOT), str(self.path)], stdin=subprocess.PIPE) as child:
            try:
                m.wait(f'holdup_job_process_info{{{self.job},name="train.py",source="package"}}', 1)
            finally:
                child.kill()


    def test_containers_count_processes_in_their_own_way(self) -> None:
        """Process 1 of a namespace tells of itself, and of process 2."""
        here = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], capture_output=True, check=False)
        if here.returncode:
            skip_loudly(f"no namespace of processes can be made: {here.stderr.decode().strip()}")
            self.skipTest("no namespaces")
        m = self.monitor()
        code = ("import os, subprocess, sys\nsys.path.insert(0, sys.argv[1])\nfrom tests.live_sender import *\n"
                "other = subprocess.Popen(['sleep', '1000'])\ns = Sender(sys.argv[2])\n"
                "for pid in (os.getpid(), other.pid):\n"
                "    p = Process(pid, rank=pid - 1, job_id='mine')\n    p.step(0.1)\n    s.send(p)\n"
                "sys.stdin.read()\n")
        with subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, "-c", code, str(ROOT), str(self.path)],
                              stdin=subprocess.PIPE) as child:
            try:
                m.wait(f'holdup_job_process_info{{{self.job},rank="0",name="train.py",source="package"}}', 1)
                m.wait(f'holdup_job_process_info{{{self.job},rank="1",name="train.py",source="holdup run"}}', 1)
            finally:
                child.kill()
        m.wait(f"holdup_job_ranks_lost_total{{{self.job}}}", 2)


class Lives(Case):
    def test_killed_stopped_and_ended(self) -> None:
        m, s = self.monitor(), self.sender()
        ranks = [self.process(rank, 3) for rank in range(3)]
        for p in ranks:
            p.step(0.1)
            s.send(p)
        m.wait(f"holdup_job_ranks{{{self.job}}}", 3)
        ranks[2].is_over = 1
        s.send(ranks[2])
        m.wait(f'holdup_job_rank_up{{{self.job},rank="2"}}', None)
        os.kill(ranks[0].pid, signal.SIGKILL)
        m.wait(f'holdup_job_rank_up{{{self.job},rank="0"}}', 0)
        m.wait(f"holdup_job_ranks_lost_total{{{self.job}}}", 1)
        self.assertNotIn(f'holdup_job_step_number{{{self.job},rank="0"}}', m.series())
        os.kill(ranks[1].pid, signal.SIGSTOP)
        m.wait(f'holdup_job_rank_up{{{self.job},rank="1"}}', 0)
        self.assertEqual(m.series()[f"holdup_job_ranks_lost_total{{{self.job}}}"], 1)
        os.kill(ranks[1].pid, signal.SIGCONT)
        s.send(ranks[1])
        m.wait(f'holdup_job_rank_up{{{self.job},rank="1"}}', 1)

    def test_a_rank_that_is_started_again(self) -> None:
        m, s = self.monitor(), self.sender()
        first, other = self.process(0, 2), self.process(1, 2)
        for p in (first, other):
            p.step(0.1)
            s.send(p)
        m.wait(TAKEN, 2)
        os.kill(first.pid, signal.SIGKILL)
        m.wait(f'holdup_job_rank_up{{{self.job},rank="0"}}', 0)
        again = self.process(0, 2)
        again.step(0.1)
        s.send(again)
        m.wait(f'holdup_job_rank_up{{{self.job},rank="0"}}', 1)
        self.assertEqual(m.series()[f"holdup_job_ranks_lost_total{{{self.job}}}"], 1)

    def test_the_receiver_is_killed_and_comes_back(self) -> None:
        """Totals are no less known to one that is new."""
        m, s = self.monitor(), self.sender()
        p = self.process()
        p.step(0.1)
        s.send(p)
        m.wait(TAKEN, 1)
        os.kill(m.children()["holdup-live"], signal.SIGKILL)

        def told() -> bool:
            with contextlib.suppress(OSError):
                s.send(p)
            return m.series().get(f"holdup_job_step_duration_seconds_count{{{self.job}}}") == 1
        wait_for(lambda: "holdup-live" in m.children(), "another one")
        wait_for(told, "the same totals")


class Liars(Case):
    def test_datagrams_that_are_none(self) -> None:
        m, s = self.monitor(), self.sender()
        p = self.process()
        p.step(0.1)
        for bad in (b"", b"x", bytes(LAYOUT.size), p.bytes()[:-1], p.bytes() + b"x", p.bytes(magic=1), p.bytes(version=0), p.bytes(sent_ns=-1), bytes(100_000)):
            s.send(bad)
        self.refused(m, "size, version or numbers out of range", 9)
        s.send(p, name=b"\xff")
        s.send(p, job_id=b"a\x1b[2J")
        self.refused(m, "names are no text", 2)
        s.send(p)
        m.wait(TAKEN, 1)
        p.steps, before = 0, p.steps
        s.send(p)
        self.refused(m, "a count fell")
        p.steps = before
        s.send(p, sequence=1)
        m.wait('holdup_monitor_live_datagrams_total{result="dropped",reason="not newer than the last"}', 1)

    def test_a_process_that_is_another_one(self) -> None:
        m, s = self.monitor(), self.sender()
        p = self.process()
        p.step(0.1)
        p.began += 1
        s.send(p)
        self.refused(m, "no such process")
        p.began -= 1
        p.pid = 1 << 22
        s.send(p)
        self.refused(m, "no such process", 2)

    def test_nobody_speaks_for_processes_of_others(self) -> None:
        if os.geteuid() != 0:
            skip_loudly("not root: no other user can be played")
            self.skipTest("not root")
        m, s = self.monitor(), self.sender()
        p = self.process()
        p.step(0.1)
        self.folder.chmod(0o755)
        (self.folder / "datagram").write_bytes(p.bytes())
        code = ("import os, socket, sys\ndata = open(sys.argv[1], 'rb').read()\nos.setgid(int(sys.argv[3]))\nos.setuid(int(sys.argv[3]))\n"
                "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(data, sys.argv[2])\n")
        words = [sys.executable, "-c", code, str(self.folder / "datagram"), str(self.path), str(NOBODY)]
        subprocess.run(words, check=True, timeout=60)
        self.refused(m, "process of another user")
        s.send(p)       # its own user may, and after that nobody still may not
        m.wait(TAKEN, 1)
        subprocess.run(words, check=True, timeout=60)
        self.refused(m, "process of another user", 2)
        self.assertEqual(m.series()[f"holdup_job_step_duration_seconds_count{{{self.job}}}"], 1)

    def test_claims_are_looked_into_seldom(self) -> None:
        """Who claims one process after the other cannot keep the monitor busy with /proc."""
        m, s = self.monitor(), self.sender()
        p = self.process()
        p.step(0.1)
        for _ in range(400):
            p.began += 1        # each is another one that there is not
            with contextlib.suppress(BlockingIOError):
                s.send(p)
        total = 'holdup_monitor_live_datagrams_total{result="refused",reason="%s"}'
        wait_for(lambda: sum(m.series().get(total % why, 0) for why in ("no such process", "too many processes begin at once")) == 400, "all are refused")
        self.assertGreaterEqual(m.series()[total % "too many processes begin at once"], 1)


class Place(Case):
    def test_a_living_socket_is_not_stolen_and_a_dead_one_is_replaced(self) -> None:
        m = self.monitor()
        with Monitor("--job-socket", self.path, "--period", "0.1") as second:
            problem = wait_for(lambda: next((name for name in second.series() if "another monitor reads" in name), None), "what is wrong")
            self.assertIn(str(self.path), problem)
            self.assertIn("--job-socket", problem)
            self.assertNotIn(TAKEN, second.series())
        p, s = self.process(), self.sender()
        p.step(0.1)
        s.send(p)
        m.wait(TAKEN, 1)
        m.process.kill()
        m.process.wait()
        wait_for(lambda: self.is_dead(), "its receiver ends")
        again = self.monitor()
        s.send(p)
        again.wait(TAKEN, 1)

    def is_dead(self) -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            try:
                s.connect(str(self.path))
            except ConnectionRefusedError:
                return True
        return False

    def test_a_link_to_a_socket(self) -> None:
        """As the service has it: one that is alive is not replaced, one that leads nowhere is."""
        (self.folder / "service").mkdir()
        self.path.symlink_to(self.folder / "service/job.sock")
        self.monitor(path=self.folder / "service/job.sock")
        with Monitor("--job-socket", self.path, "--period", "0.1") as second:
            wait_for(lambda: any("another monitor reads" in name for name in second.series()), "what is wrong")
        self.assertTrue(self.path.is_symlink())
        self.path.unlink()
        self.path.symlink_to(self.folder / "nowhere/job.sock")
        self.monitor()
        self.assertTrue(self.path.is_socket() and not self.path.is_symlink())

    def test_everybody_may_send(self) -> None:
        self.monitor()
        self.assertEqual(self.path.stat().st_mode & 0o777, 0o666)

    def test_places_that_are_none(self) -> None:
        for path, why in (("", "no path"), ("/nowhere/at/all", "cannot be opened"), ("/" + "x" * 200, "longer than a socket's name")):
            with Monitor("--job-socket", path, "--period", "0.1") as m:
                self.assertTrue(wait_for(lambda m=m, why=why: any("holdup_monitor_problem" in name and why in name for name in m.series()), f"{path}: {why}"))

    def test_a_file_is_not_touched(self) -> None:
        self.path.write_text("mine")
        with Monitor("--job-socket", self.path, "--period", "0.1") as m:
            wait_for(lambda: any("is no socket" in name for name in m.series()), "what is wrong")
        self.assertEqual(self.path.read_text(), "mine")

    def test_the_users_place(self) -> None:
        env = {k: v for k, v in os.environ.items() if k != "RUNTIME_DIRECTORY"} | {"XDG_RUNTIME_DIR": str(self.folder)}
        if os.geteuid() == 0:       # a service of systemd has a folder of its own; root's place is that of the whole machine
            env["RUNTIME_DIRECTORY"] = str(self.folder / "holdup")
        with Monitor("--period", "0.1", env=env) as m:
            m.wait(TAKEN, 0)
            p, s = self.process(), self.sender(self.folder / "holdup/job.sock")
            p.step(0.1)
            s.send(p)
            m.wait(TAKEN, 1)

    def test_off(self) -> None:
        with Monitor("--job-socket", "off", "--period", "0.1") as m:
            m.wait('holdup_monitor_source_up{source="host_cpu"}', 1)
            self.assertNotIn(TAKEN, m.series())
        self.assertEqual(run("monitor", "--once", "--job-socket", str(self.path))[0], 2)

    def test_once_leaves_it_alone(self) -> None:
        done = subprocess.run([EXE, "monitor", "--once", "--period", "0.1"], capture_output=True, text=True, timeout=120, check=True)
        self.assertNotIn(TAKEN, parse(done.stdout))


if __name__ == "__main__":
    unittest.main()
