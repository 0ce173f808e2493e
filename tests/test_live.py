# SPDX-License-Identifier: Apache-2.0
"""Real jobs under `holdup monitor`: what it says of them against the logs that they keep themselves.

The jobs are those that people run: PyTorch under `holdup run --pytorch`, PyTorch with the Python package and no recorder, and MPI with
marks in C.  Each measures its own steps with its own clock; nothing of holdup's is used to find out what is right.
"""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
from typing import Any

from tests.program import EXE, ROOT, skip_loudly, torch_or_skip
from tests.recorder import Recorded, environment, once
from tests.test_monitor import Monitor, wait_for

load_tests = once

# seconds; of Prometheus' kind: a count holds all that are not above its limit
LIMITS = [a * 10.0**e for e in range(-4, 3) for a in (1, 2.5, 5)] + [1000.0]
NEAR = 0.0015       # a step this close to a limit may be on either side of it: two clocks are read one after the other
STEPS = 60

# a data set that takes the time that a file says, so that it can be slowed down while the job runs
TRAIN = r"""
import json, pathlib, sys, time
import torch
from torch.utils.data import DataLoader, Dataset
folder, steps, uses_package = pathlib.Path(sys.argv[1]), int(sys.argv[2]), len(sys.argv) > 3
if uses_package:
    import holdup
torch.set_num_threads(1)

class Slow(Dataset):
    def __len__(self):
        return 1 << 20
    def __getitem__(self, i):
        own = folder / "data"
        time.sleep(float(own.read_text()) / 1000 if own.exists() else (0.007, 0.030, 0.065)[i % 3])
        return torch.ones(4)

net = torch.nn.Linear(4, 1)
sgd = torch.optim.SGD(net.parameters(), lr=0.1)
batches = iter(DataLoader(Slow(), batch_size=1))
at, n = [], 0
while steps == 0 or n <= steps:
    if uses_package:
        holdup.step(n)
    at.append(time.perf_counter_ns())
    if uses_package:
        with holdup.phase("data"):
            batch = next(batches)
        with holdup.phase("forward"):
            time.sleep(0.004)
    else:
        batch = next(batches)
        time.sleep(0.004)
    sgd.zero_grad()
    net(batch).sum().backward()
    sgd.step()
    n += 1
log = [(b - a, 0) for a, b in zip(at, at[1:])]
(folder / ".log").write_text("".join(f"{took} {waited}\n" for took, waited in log))
(folder / ".log").rename(folder / "log.0")
while not (folder / "go").exists():
    time.sleep(0.02)
"""

# ranks of a job that has no communication: who is lost does not end the others
ALONE = r"""
import sys, time
import holdup
while True:
    holdup.step()
    with holdup.phase("data"):
        time.sleep(0.01)
"""


def read(series: dict[str, float], name: str) -> list[tuple[dict[str, str], float]]:
    """Labels and values of a family."""
    found = []
    for key, value in series.items():
        head, _, labels = key.partition("{")
        if head == name:
            found.append((dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels)), value))
    return found


def one(series: dict[str, float], name: str, **labels: str) -> float | None:
    found = [v for have, v in read(series, name) if all(have.get(k, "") == w for k, w in labels.items())]
    assert len(found) < 2, (name, labels, found)
    return found[0] if found else None


class Live(Recorded):
    def setUp(self) -> None:
        super().setUp()
        self.socket = self.folder / "job.sock"
        self.python_path = f"{ROOT / 'python'}"

    def monitor(self) -> Monitor:
        return Monitor("--job-socket", self.socket)

    def job(self, name: str, *command: Any, settings: dict[str, float] | None = None, **variables: str) -> tuple[subprocess.Popen, pathlib.Path]:
        """Starts one whose command has FOLDER where its folder belongs."""
        place = self.folder / name
        place.mkdir()
        for key, value in (settings or {}).items():
            (place / key).write_text(str(value))
        env = environment(HOLDUP_JOB_SOCKET=str(self.socket), PYTHONPATH=self.python_path, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", **variables)
        with (place / "out").open("wb") as out:
            process = subprocess.Popen([str(place) if w == "FOLDER" else str(w) for w in command], env=env, cwd=place, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        self.addCleanup(self.end, process)
        return process, place

    @staticmethod
    def end(process: subprocess.Popen) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)

    def log(self, process: subprocess.Popen, place: pathlib.Path, rank: int = 0) -> list[tuple[int, int]]:
        """The job's own: ns of each step, and of those in communication."""
        wait_for(lambda: (place / f"log.{rank}").exists() or process.poll() is not None, f"the log of {place.name}")
        self.assertTrue((place / f"log.{rank}").exists(), (place / "out").read_text())
        return [tuple(map(int, line.split())) for line in (place / f"log.{rank}").read_text().splitlines()]

    def finish(self, process: subprocess.Popen, place: pathlib.Path) -> None:
        (place / "go").touch()
        self.assertEqual(process.wait(120), 0, (place / "out").read_text())

    def mpi(self) -> tuple[str, pathlib.Path]:
        """mpirun of Open MPI, and the program."""
        runner, compiler = shutil.which("mpirun.openmpi"), shutil.which("mpicc.openmpi")
        if not runner or not compiler:
            skip_loudly(f"no Open MPI for {self.id()} (scripts/setup test)")
            self.skipTest("no Open MPI")
        program = self.folder / "exchange"
        subprocess.run([compiler, "-O2", "-Wall", f"-I{ROOT / 'include'}", "-o", program, ROOT / "tests/live/exchange.c", "-ldl"], check=True)
        return runner, program

    def assert_steps(self, series: dict[str, float], own: list[tuple[int, int]], **labels: str) -> None:
        """Number, sum and histogram are those of the job's own log."""
        name = "holdup_job_step_duration_seconds"
        took = [t / 1e9 for t, _ in own]
        self.assertEqual(one(series, f"{name}_count", **labels), len(took))
        total = one(series, f"{name}_sum", **labels)
        self.assertAlmostEqual(total, sum(took), delta=0.01 * sum(took))
        counts = {float(have["le"]): v for have, v in read(series, f"{name}_bucket") if all(have.get(k, "") == w for k, w in labels.items())}
        self.assertEqual(sorted(counts)[:-1], [float(f"{limit:.9g}") for limit in LIMITS])
        for limit, n in counts.items():
            self.assertGreaterEqual(n, sum(t <= limit - NEAR for t in took), (limit, counts, took))
            self.assertLessEqual(n, sum(t <= limit + NEAR for t in took), (limit, counts, took))


class Jobs(Live):
    def test_three_jobs_at_once(self) -> None:
        """Two of PyTorch, one of MPI: steps to the bucket, causes to a few percent."""
        torch = torch_or_skip(self)
        runner, program = self.mpi()
        script = self.script(TRAIN)
        with self.monitor() as monitor:
            recorded = self.job("recorded", EXE, "run", "--mode", "off", "--pytorch", "-o", self.folder / "a.pftrace", "--", torch, script, "FOLDER", STEPS)
            package = self.job("package", torch, script, "FOLDER", STEPS, "package")
            mpi = self.job("mpi", runner, "--oversubscribe", "-n", 2, EXE, "run", "--mode", "off", "-o", self.folder / "m%r.pftrace", "--", program, "FOLDER", STEPS,
                           settings={"data": 6, "work": 4, "late": 5})
            logs = [self.log(*recorded), self.log(*package), self.log(*mpi, 0), self.log(*mpi, 1)]

            def all_there() -> dict[str, float] | None:
                series = monitor.series()
                counts = sorted(v for _, v in read(series, "holdup_job_step_duration_seconds_count"))
                return series if counts == sorted(float(len(log)) for log in logs) else None

            with contextlib.suppress(AssertionError):
                wait_for(all_there, "the last steps")
            series = monitor.series()
            names = {have["name"]: have for have, _ in read(series, "holdup_job_process_info")}
            self.assertEqual(len(read(series, "holdup_job_process_info")), 4, names)
            jobs = {}
            for have, _ in read(series, "holdup_job_process_info"):
                jobs.setdefault((have["job_id"], have.get("source", "")), []).append(have)
            mpi_id = next(have["job_id"] for have, _ in read(series, "holdup_job_process_info") if have.get("rank") == "1")
            for rank in (0, 1):
                labels = {"job_id": mpi_id, "rank": str(rank)}
                self.assert_steps(series, logs[2 + rank], **labels)
                waited = sum(w for _, w in logs[2 + rank]) / 1e9
                told = one(series, "holdup_job_cause_seconds_total", cause="communication", **labels)
                self.assertAlmostEqual(told, waited, delta=0.05 * waited + 0.005)
                data = one(series, "holdup_job_cause_seconds_total", cause="data-loading", **labels)
                self.assertGreaterEqual(data, 0.006 * STEPS)
            pids = {process.pid for process, _ in (recorded, package)}
            others = {have["job_id"] for have, _ in read(series, "holdup_job_process_info")} - {mpi_id}
            self.assertEqual(len(others), 2, (others, pids))
            matched, why = 0, []
            for job in others:
                for log in logs[:2]:
                    try:
                        self.assert_steps(series, log, job_id=job)
                        matched += 1
                        break
                    except AssertionError as e:
                        why.append(str(e))
                data = one(series, "holdup_job_cause_seconds_total", cause="data-loading", job_id=job)
                self.assertGreaterEqual(data, 0.9 * (0.007 + 0.030 + 0.065) / 3 * STEPS)
            self.assertEqual(matched, 2, why)
            for process, place in (recorded, package, mpi):
                self.finish(process, place)
            wait_for(lambda: not read(monitor.series(), "holdup_job_process_info"), "the end of all jobs")
            self.assertEqual(read(monitor.series(), "holdup_job_rank_up"), [], "they ended as they wanted to")

    def holdup_of(self, monitor: Monitor) -> dict[str, float]:
        return {have["cause"]: v for have, v in read(monitor.series(), "holdup_job_holdup")}

    def test_the_holdup_follows_the_loader(self) -> None:
        """Slowed down, the loader becomes the holdup within seconds, and ceases to be it."""
        torch = torch_or_skip(self)
        with self.monitor() as monitor:
            _, place = self.job("job", torch, self.script(TRAIN), "FOLDER", 0, "package", settings={"data": 0.1})
            wait_for(lambda: self.holdup_of(monitor), "a holdup")
            wait_for(lambda: self.holdup_of(monitor).get("data-loading", 1) < 0.3, "a fast loader")
            for delay, is_right in ((60, lambda share: share > 0.8), (0.1, lambda share: share < 0.3)):
                (place / ".data").write_text(str(delay))
                (place / ".data").rename(place / "data")
                began = time.monotonic()
                wait_for(lambda: is_right(self.holdup_of(monitor)["data-loading"]), f"a loader of {delay} ms")
                self.assertLess(time.monotonic() - began, 15, "5 s on a quiet machine")
                self.assertLessEqual(sum(self.holdup_of(monitor).values()), 1.001)

    def test_a_late_rank_is_the_holdup(self) -> None:
        """Rank 0 waits in each all-reduce for what rank 1 sleeps longer: half of that, as both ranks count."""
        runner, program = self.mpi()
        with self.monitor() as monitor:
            self.job("mpi", runner, "--oversubscribe", "-n", 2, EXE, "run", "--mode", "off", "-o", self.folder / "m%r.pftrace", "--", program, "FOLDER", 1 << 20,
                     settings={"data": 1, "work": 5, "late": 30})
            own = 0.5 * 30 / 36.5
            held = wait_for(lambda: abs(self.holdup_of(monitor).get("straggler", 0) - own) < 0.1 and self.holdup_of(monitor), "half of what rank 1 sleeps longer")
            self.assertLess(held["communication"], 0.15)

    def test_a_rank_that_is_killed(self) -> None:
        python = shutil.which("python3")
        with self.monitor() as monitor:
            script = self.script(ALONE)
            ranks = [self.job(f"rank{i}", python, script, RANK=str(i), LOCAL_RANK=str(i), WORLD_SIZE="2", LOCAL_WORLD_SIZE="2", TORCHELASTIC_RUN_ID="killed")[0] for i in (0, 1)]
            up = lambda: {have["rank"]: v for have, v in read(monitor.series(), "holdup_job_rank_up")}  # noqa: E731
            wait_for(lambda: up() == {"0": 1, "1": 1}, "both ranks")
            ranks[1].kill()
            ranks[1].wait()
            began = time.monotonic()
            wait_for(lambda: up().get("1") == 0, "the loss of rank 1")
            self.assertLess(time.monotonic() - began, 10, "one period of 1 s, on a quiet machine")
            self.assertEqual(up(), {"0": 1, "1": 0})
            self.assertEqual([v for _, v in read(monitor.series(), "holdup_job_ranks_lost_total")], [1])
            self.assertEqual([v for _, v in read(monitor.series(), "holdup_job_ranks")], [1])

    def test_a_monitor_that_is_killed(self) -> None:
        """The jobs go on; the next monitor knows what the first one did."""
        runner, program = self.mpi()
        monitor = self.monitor()
        with monitor:
            process, place = self.job("mpi", runner, "--oversubscribe", "-n", 2, EXE, "run", "--mode", "off", "-o", self.folder / "m%r.pftrace", "--", program, "FOLDER", 400,
                                      settings={"data": 2, "work": 2})
            count = lambda m: min([v for _, v in read(m.series(), "holdup_job_step_duration_seconds_count")] or [0])  # noqa: E731
            before = wait_for(lambda: count(monitor) > 20 and count(monitor), "twenty steps")
            monitor.process.kill()
        with self.monitor() as again:
            wait_for(lambda: count(again) > before, "more steps in all")
            logs = [self.log(process, place, rank) for rank in (0, 1)]
            wait_for(lambda: count(again) == 400, "the last step")
            for rank in (0, 1):
                self.assert_steps(again.series(), logs[rank], rank=str(rank))
        self.finish(process, place)
        self.assertNotIn("rror", (place / "out").read_text())

    def test_no_monitor_at_all(self) -> None:
        process, place = self.job("alone", shutil.which("python3"), self.script("import holdup\nfor i in range(1000):\n    holdup.step(i)\nholdup.step_end()\nprint('done')\n"))
        self.assertEqual(process.wait(60), 0)
        self.assertEqual((place / "out").read_text(), "done\n")


