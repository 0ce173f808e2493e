# SPDX-License-Identifier: Apache-2.0
"""Runs `holdup monitor` over a stand-in of libnvidia-ml."""
from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest
from collections.abc import Callable

from tests.monitor import exposition, scene, standin
from tests.program import EXE, ROOT

WAIT_S = 90     # for what comes at once on an idle machine


def stop(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def children(pid: int) -> dict[str, int]:
    """Its samplers, by name."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            try:
                found[pathlib.Path(f"/proc/{child}/comm").read_text().strip()] = int(child)
            except OSError:
                continue
    return found


def of_driver(found: list[exposition.Series]) -> list[exposition.Series]:
    """What the driver says of GPUs; whose they are is another sampler's, and known even of a GPU that is lost."""
    return [s for s in found if s.name not in ("holdup_gpu_attribution_info", "holdup_gpu_allocated", "holdup_job_info", "holdup_job_gpu_processes")]


class Case(unittest.TestCase):
    cuda = standin.ALWAYS[-1]

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory(prefix="holdup-monitor-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.library, self.log = self.folder / "libnvidia-ml.so.1", self.folder / "log"

    def play(self, cuda: str | None = None, gpus: int = 3, without: tuple[str, ...] = ()) -> standin.Scenario:
        """Builds the library and a scenario of healthy GPUs."""
        self.cuda = cuda or self.cuda
        self.header = standin.header(self.cuda)
        standin.build(self.cuda, self.library, without)
        self.functions = self.header.functions - set(without)
        self.log.unlink(missing_ok=True)
        return scene.scenario(self.folder / "scenario", self.cuda, self.header, gpus)

    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("HOLDUP_", "NVML_", "SLURM_"))}
        return {**kept, "HOLDUP_TEST_NVML": str(self.folder / "scenario"), "HOLDUP_TEST_NVML_LOG": str(self.log)}

    def once(self, *words: str, check_log: bool = True) -> list[exposition.Series]:
        done = subprocess.run([EXE, "monitor", "--once", "--period", "0.2", "--nvml", self.library, *words], capture_output=True, env=self.environment(), timeout=120,
                              check=False, cwd=ROOT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.said = done.stderr.decode()
        if check_log:
            self.check_log()
        return of_driver(exposition.parse(done.stdout))

    def check_log(self) -> None:
        """The library was used as its header says."""
        wrong = [line for line in self.log.read_text().splitlines() if line.startswith("wrong")] if self.log.exists() else []
        self.assertEqual(sorted(set(wrong)), [])

    def serve(self, period: str = "0.2", *words: str) -> None:
        """Starts it; self.scrape() asks it."""
        says = self.folder / "says"
        with says.open("wb") as to:
            # pylint: disable-next=consider-using-with
            self.process = subprocess.Popen([EXE, "monitor", "--listen", "127.0.0.1:0", "--period", period, "--nvml", self.library, *words], stderr=to,
                                            stdout=subprocess.DEVNULL, env=self.environment(), cwd=ROOT)
        self.addCleanup(stop, self.process)
        self.wait(lambda: b"/metrics" in says.read_bytes() or self.process.poll() is not None, "it listens")
        self.assertIsNone(self.process.poll(), says.read_text())
        self.port = int(re.search(r"http://[^/]*:(\d+)/metrics", says.read_text())[1])

    def scrape(self) -> list[exposition.Series]:
        return of_driver(exposition.scrape(self.port))

    def wait(self, what: Callable[[], object], why: str) -> None:
        end = time.monotonic() + WAIT_S
        while not what():
            self.assertLess(time.monotonic(), end, f"it never came: {why}")
            time.sleep(0.05)

    def until(self, holds: Callable[[list[exposition.Series]], object], why: str) -> list[exposition.Series]:
        """The first scrape of which it holds."""
        last: list[exposition.Series] = []

        def ask() -> bool:
            nonlocal last
            last = self.scrape()
            return bool(holds(last))

        self.wait(ask, why)
        return last

    # ---- what must be there --------------------------------------------------------------------------------------------------------------

    def has(self, metric: scene.Metric) -> bool:
        """Does this header have what the metric is told by?"""
        return any(need in self.functions or need in self.header.fields for need in metric.needs)

    def wrong(self, found: list[exposition.Series], s: standin.Scenario, gpu: int, absent: Callable[[scene.Metric], bool] = lambda _: False,
              of: list[scene.Metric] = scene.METRICS) -> list[str]:
        """What differs from the scenario, of these metrics of this GPU."""
        said = []
        for metric in of:
            rows = list(exposition.named(found, metric.name, gpu=str(gpu), uuid=scene.uuid(gpu), gi="", **metric.labels))
            want = metric.value(s, gpu) if self.has(metric) and not absent(metric) else None
            if len(rows) != (want is not None) or (rows and not scene.close(rows[0].value, want)):
                said.append(f"{self.cuda} GPU {gpu} {metric.name}{metric.labels}: {[r.value for r in rows]}, not {want}")
        return said

    def of_gpu(self, found: list[exposition.Series], gpu: int) -> list[exposition.Series]:
        return [s for s in found if s.name.startswith("holdup_gpu_") and s.labels.get("gpu") == str(gpu)]
