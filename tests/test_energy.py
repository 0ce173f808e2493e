# SPDX-License-Identifier: Apache-2.0
"""Energy of GPUs, processors and memory: what counters said, what it makes of a step, and what idle time took, against numbers made by hand."""
from __future__ import annotations

import json
import os
import shutil
import struct
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests import recorder
from tests.program import run
from tests.rings import make_session
from tests.test_finish import MONOTONIC_LAG, Case, Ring
from tests.test_node_log import START, lines, uuid
from tests.test_nvml import Scene

LENGTH = 10          # steps of a second
RANGE = 262_143_328_850
BUSY, COMM, IDLE = 500, 200, 100  # W


def trace(rank: int | None = None, host: str = "", comm: bool = True, world: int = 2) -> dict[str, Any]:
    """Each step of a second computes for 0.5 s, then communicates for 0.2 s alone, then does nothing."""
    events = []
    for i in range(LENGTH):
        at = (i + 1) * 1e6  # a kernel at 0 has no time
        kernels = [("gemm", 0, 5e5), ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 5e5, 2e5)][:1 + comm]
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1, "ts": at, "dur": 1e6})
        for k, (name, after, dur) in enumerate(kernels):
            number = 2 * i + k + 1
            events += [
                {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 5 * k, "dur": 4, "args": {"correlation": number}},
                {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at + after, "dur": dur,
                 "args": {"device": 0, "stream": 7, "correlation": number}}]
    out: dict[str, Any] = {"schemaVersion": 1, "traceEvents": events, "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}],
                           "baseTimeNanoseconds": (START - 1) * 10**9}
    if rank is not None:
        out["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": world}
    if host:
        out["holdup.host"] = host
    return out


def joules(ms: int) -> float:
    """Since the first step began, of the GPU above."""
    step, rest = divmod(ms, 1000)
    return (BUSY * 500 + COMM * 200 + IDLE * 300) / 1e3 * step + (BUSY * min(rest, 500) + COMM * min(max(rest - 500, 0), 200) + IDLE * max(rest - 700, 0)) / 1e3


def gpu_rows(period_ms: int, gpu: int = 0, gi: str | None = None, power: bool = True, update_ms: int = 1, lag_ms: int = 0) -> list[tuple[float, list[Any]]]:
    """A monitor's samples from a second before the steps to one behind them; the counter changes every update_ms, and is lag_ms late."""
    rows = []
    for ms in range(-1000, (LENGTH + 1) * 1000 + 1, period_ms):
        of = {"gpu": str(gpu), "uuid": uuid(gpu)}
        row: list[Any] = [("holdup_gpu_info", of, 1), ("holdup_gpu_energy_joules_total", of, 5e5 + joules((ms - lag_ms) // update_ms * update_ms))]
        row += [("holdup_gpu_power_watts", of, 300)] if power else []
        row += [("holdup_gpu_utilization_ratio", of | {"gi": gi}, 1)] if gi is not None else []
        rows.append((START + ms / 1000, row))
    return rows


def zone_rows(watts: dict[str, float], start_ms: int = -1000, skip: tuple[int, int] = (0, 0)) -> list[tuple[float, list[Any]]]:
    """Ten samples a second of these zones, but for those in `skip`."""
    return [(START + ms / 1000, [("holdup_host_energy_joules_total", {"zone": zone}, 7000 + w * ms / 1000) for zone, w in watts.items()])
            for ms in range(start_ms, (LENGTH + 1) * 1000 + 1, 100) if not skip[0] <= ms < skip[1]]


class Reports(unittest.TestCase):
    def setUp(self) -> None:
        keep = tempfile.TemporaryDirectory(prefix="holdup-test-")
        self.addCleanup(keep.cleanup)
        self.folder = Path(keep.name)

    def put(self, name: str, content: str | dict[str, Any]) -> Path:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def words(self, *arguments: object) -> str:
        status, out, err = run("report", *arguments, "-q")
        self.assertEqual(status, 0, err)
        return out if isinstance(out, str) else out.decode()

    def told(self, *arguments: object) -> dict[str, Any]:
        return json.loads(self.words(*arguments, "--json"))

    def energy(self, *arguments: object) -> dict[str, Any]:
        return self.told(*arguments)["ranks"][0]["energy"]


class Gpus(Reports):
    def one(self, log: list[tuple[float, list[Any]]], **how: Any) -> dict[str, Any]:
        (gpu,) = self.energy(self.put("t.json", trace(**how)), "--with", self.put("a.jsonl", lines(log)))["gpus"]
        return gpu

    def test_a_counter_as_fine_as_the_work(self) -> None:
        """
        Ten samples a second: of each step 30 J in idle time, exactly, as its power was seen alone.  Of the 40 J of communication alone 20 are of a stretch that
        communicated all the time, also since the sample before; of the other one at least the idle power, 10 J, is.
        """
        gpu = self.one(gpu_rows(100))
        n = gpu["split_ns"] / 1e9
        self.assertAlmostEqual(n, round(n), 6)                                       # whole steps
        self.assertGreaterEqual(n, LENGTH - 2)
        self.assertAlmostEqual(gpu["step_joules"], joules(1000), 2)
        self.assertAlmostEqual(gpu["split_joules"], joules(1000) * n, 1)
        self.assertAlmostEqual(gpu["idle_pct"], 30, 2)
        self.assertAlmostEqual(gpu["comm_pct"], 20, 2)
        self.assertAlmostEqual(gpu["idle_watts"], IDLE, 2)
        for key, value in (("idle_joules_low", 30), ("idle_joules_high", 30), ("comm_joules_low", 30), ("comm_joules_high", 40)):
            self.assertAlmostEqual(gpu[key], value * n, 1, key)

    def test_a_counter_coarser_than_the_work(self) -> None:
        """One sample a step: idle, it drew no more than in the mean, nor alone more than while it was busy; and it may be none."""
        gpu = self.one(gpu_rows(1000))
        n, step = gpu["split_ns"] / 1e9, joules(1000)
        self.assertAlmostEqual(gpu["split_joules"], step * n, 1)
        self.assertIsNone(gpu["idle_watts"])
        for key, value in (("idle_joules_low", 0), ("idle_joules_high", step * 0.3), ("comm_joules_low", 0), ("comm_joules_high", step * 0.2 / 0.7)):
            self.assertAlmostEqual(gpu[key], value * n, 1, key)

    def test_bounds_hold_the_truth(self) -> None:
        """Whatever the period of the samples and of the counter itself is: 30 J and 40 J lie between the bounds, and those in the whole."""
        for period, update in ((20, 1), (50, 100), (100, 200), (100, 500), (250, 1), (300, 1), (700, 1), (1000, 100)):
            with self.subTest(period=period, update=update):
                gpu = self.one(gpu_rows(period, update_ms=update))
                n = gpu["split_ns"] / 1e9
                slack = 0.05 * gpu["split_joules"]                                   # an update of the counter at either end of the time
                self.assertLessEqual(gpu["idle_joules_low"], 30 * n + slack)
                self.assertGreaterEqual(gpu["idle_joules_high"] + slack, 30 * n)
                self.assertLessEqual(gpu["comm_joules_low"], 40 * n + slack)
                self.assertGreaterEqual(gpu["comm_joules_high"] + slack, 40 * n)
                self.assertLessEqual(gpu["idle_joules_low"], gpu["idle_joules_high"])
                self.assertLessEqual(gpu["comm_joules_low"], gpu["comm_joules_high"])
                self.assertLessEqual(gpu["idle_joules_high"] + gpu["comm_joules_low"], gpu["split_joules"] + 0.1)

    def test_a_counter_that_is_late(self) -> None:
        """By 50 ms: the first stretch that is idle holds 5 J of communication, and its energy is not taken for that of idle time."""
        gpu = self.one(gpu_rows(100, lag_ms=50))
        n = gpu["split_ns"] / 1e9
        self.assertAlmostEqual(gpu["idle_joules_low"], 30 * n, 1)
        self.assertAlmostEqual(gpu["idle_joules_high"], 35 * n, 1)

    def test_the_sum_is_the_difference_of_the_counter(self) -> None:
        gpu = self.one(gpu_rows(100))
        self.assertEqual(gpu["joules"], joules(LENGTH * 1000))

    def test_no_communication(self) -> None:
        gpu = self.one(gpu_rows(100), comm=False)
        self.assertEqual((gpu["comm_pct"], gpu["comm_joules_low"], gpu["comm_joules_high"]), (0, 0, 0))
        self.assertAlmostEqual(gpu["idle_pct"], 50, 2)

    def test_samples_are_missing(self) -> None:
        """Twenty seconds without a sample: nothing is drawn through them."""
        log = [row for row in gpu_rows(100) if row[0] < START + 0.5 or row[0] > START + LENGTH]
        gpu = self.one(log)
        self.assertEqual((gpu["step_joules"], gpu["split_joules"], gpu["idle_joules_high"]), (None, None, None))

    def test_the_counter_begins_anew(self) -> None:
        log = [(at, [(name, of, value - (4e5 if at > START + 5 and "energy" in name else 0)) for name, of, value in row]) for at, row in gpu_rows(100)]
        gpu = self.one(log)
        self.assertEqual((gpu["joules"], gpu["step_joules"], gpu["idle_joules_low"], gpu["idle_joules_high"]), (None, None, None, None))

    def test_a_divided_gpu(self) -> None:
        """Its counter is of all its parts: what of it was ours, idle or not, cannot be told, and the report says so."""
        log = self.put("a.jsonl", lines(gpu_rows(100, gi="3")))
        path = self.put("t.json", trace())
        (gpu,) = self.energy(path, "--with", log)["gpus"]
        self.assertEqual((gpu["joules"], gpu["idle_joules_high"], gpu["comm_joules_high"]), (joules(LENGTH * 1000), None, None))
        self.assertIn("divided (MIG); its energy is theirs, too", self.words(path, "--with", log))

    def test_nothing_was_sampled(self) -> None:
        path = self.put("t.json", trace())
        self.assertNotIn("ENERGY", self.words(path))
        self.assertIn("no energy was sampled", self.words(path, "--view", "energy"))
        told = self.told(path)
        self.assertEqual(told["run"]["energy"], dict.fromkeys(told["run"]["energy"]))
        self.assertEqual((told["ranks"][0]["energy"]["rapl"], told["ranks"][0]["energy"]["gpu_joules"]), ("not asked", None))


class Nodes(Reports):
    def test_host_energy_of_a_log(self) -> None:
        """A package, its part, memory, the platform: the sum has nothing twice.  A step of a second of 150 W is 150 J."""
        log = self.put("a.jsonl", lines(zone_rows({"package-0": 120, "package-0/core": 80, "package-0/dram": 30, "psys": 300})))
        path = self.put("t.json", trace())
        energy = self.energy(path, "--with", log)
        self.assertEqual(energy["rapl"], "read")
        rows = {z["zone"]: z for z in energy["zones"]}
        self.assertEqual({name: (z["kind"], z["is_counted"], round(z["step_joules"], 3), round(z["joules"], 3), round(z["watts"], 3)) for name, z in rows.items()},
                         {"package-0": ("package", True, 120, 1200, 120), "package-0/core": ("part", False, 80, 800, 80),
                          "package-0/dram": ("memory", True, 30, 300, 30), "psys": ("platform", False, 300, 3000, 300)})
        self.assertAlmostEqual(energy["cpu_joules"], 1500, 3)
        self.assertAlmostEqual(energy["cpu_step_joules"], 150, 3)
        text = self.words(path, "--with", log, "--batch-size", 64)
        self.assertLessEqual(max(map(len, text.split("ENERGY")[1].split("WHY")[0].splitlines())), 80)
        self.assertNotIn("its own is not known", text)
        self.assertIn("processors and memory: 150.0 J per step · 2.34 J for each of 64 samples", " ".join(text.split()))

    def test_missing_samples(self) -> None:
        """A hole of six seconds: no mean step, and the sum still is the counter's."""
        energy = self.energy(self.put("t.json", trace()), "--with", self.put("a.jsonl", lines(zone_rows({"package-0": 100}, skip=(1500, 7600)))))
        (zone,) = energy["zones"]
        self.assertEqual(zone["step_joules"], None)
        self.assertAlmostEqual(zone["joules"], 1000, 3)

    def test_a_recording_and_a_log(self) -> None:
        """Where the recording might not read the counters, a log of its node has them; where it did, its own stay; another node's are not taken."""
        log = self.put("a.jsonl", lines(zone_rows({"package-0": 120})))
        for text, host, state, zones in (("denied\t100000000\n", "n1.cluster", "read", ["package-0"]), ("read\t100000000\nown\n", "n1", "read", ["own"]),
                                         ("none\t100000000\n", "", "read", ["package-0"])):
            with self.subTest(text):
                energy = self.energy(self.put("t.json", {**trace(host=host), "holdup.rapl": text}), "--with", log)
                self.assertEqual((energy["rapl"], [z["zone"] for z in energy["zones"]]), (state, zones))
        both = self.put("both.jsonl", lines(zone_rows({"package-0": 120})) + lines(zone_rows({"package-1": 50}), host="n2"))
        self.assertEqual([z["zone"] for z in self.energy(self.put("t.json", trace(host="n2")), "--with", both)["zones"]], ["package-1"])
        status, out, err = run("report", self.put("t.json", trace()), "--with", both, "--json", "-q")
        told = json.loads(out)
        self.assertEqual((status, told["ranks"][0]["energy"]["zones"]), (0, []), "whose node it is is not known")
        self.assertIn("of several nodes", str(told["doubts"]))
        late = self.told(self.put("t.json", trace()), "--with", self.put("late.jsonl", lines([(at + 9e4, row) for at, row in zone_rows({"package-0": 1})])))
        self.assertIn("it begins 24 hours after the trace ends", str(late["doubts"]))

    def test_ranks_and_nodes(self) -> None:
        """Two ranks on one node and two on another: four GPUs once each, each node's package once."""
        for rank in range(4):
            self.put(f"run/rank{rank}.json", trace(rank, host=f"n{rank // 2}", world=4))
        logs: list[object] = []
        for node in range(2):
            rows = zone_rows({"package-0": 100 + 50 * node})
            for gpu in range(2):
                rows += [(at, [*row, ("holdup_job_info", {"gpu": str(gpu), "uuid": uuid(2 * node + gpu), "rank": str(2 * node + gpu), "job_id": "7"}, 1)])
                         for at, row in gpu_rows(100, 2 * node + gpu)]
            logs += ["--with", self.put(f"{node}.jsonl", lines(rows, host=f"n{node}"))]
        told = self.told(self.folder / "run", *logs, "--batch-size", 32)
        self.assertEqual([len(r["energy"]["gpus"]) for r in told["ranks"]], [1, 1, 1, 1], "each rank has its GPU")
        energy = told["run"]["energy"]
        self.assertAlmostEqual(energy["gpu_step_joules"], 4 * joules(1000), 1)
        self.assertAlmostEqual(energy["gpu_sample_joules"], 4 * joules(1000) / 32, 2)
        self.assertAlmostEqual(energy["cpu_joules"], (100 + 150) * LENGTH, 2)
        self.assertAlmostEqual(energy["cpu_step_joules"], 250, 2)
        (self.folder / "run/rank3.json").unlink()
        part = self.told(self.folder / "run", *logs, "--batch-size", 32)["run"]["energy"]
        self.assertAlmostEqual(part["gpu_step_joules"], 3 * joules(1000), 1)
        self.assertIsNone(part["gpu_sample_joules"], "the samples are those of the whole job")


    def test_whose_a_gpu_is_is_not_known(self) -> None:
        """Both ranks show both GPUs of the node; the job has two, not four."""
        for rank in range(2):
            self.put(f"run/rank{rank}.json", trace(rank))
        told = self.told(self.folder / "run", "--with", self.put("a.jsonl", lines(gpu_rows(100, 0) + gpu_rows(100, 1))))
        self.assertEqual([len(r["energy"]["gpus"]) for r in told["ranks"]], [2, 2])
        self.assertAlmostEqual(told["run"]["energy"]["gpu_step_joules"], 2 * joules(1000), 1)
        self.assertIn("what is its own is not known", self.words(self.folder / "run", "--with", self.folder / "a.jsonl"))


class Recordings(recorder.Recorded):
    """`holdup run` beside a powercap tree of ours."""

    def setUp(self) -> None:
        super().setUp()
        self.tree = self.folder / "powercap"
        self.tree.mkdir()

    def zone(self, folder: str, name: str, energy: int, limit: int = RANGE) -> Path:
        path = self.tree / folder
        path.mkdir()
        for file, value in (("name", name), ("max_energy_range_uj", limit), ("energy_uj", energy)):
            (path / file).write_text(f"{value}\n")
        return path / "energy_uj"

    def record(self, *options: str, code: str = "pass") -> Any:
        done = recorder.holdup("run", "-o", self.trace, "--force", "--no-report", *options, "--", sys.executable, self.script(code),
                               env=recorder.environment(HOLDUP_RAPL=str(self.tree)))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def energy(self) -> dict[str, Any]:
        return json.loads(recorder.holdup("report", self.trace, "--json").stdout)["ranks"][0]["energy"]

    def counters(self) -> dict[str, list[float]]:
        values: dict[str, list[float]] = {}
        for row in recorder.rows(self.trace, "select name, value from counter where name like 'RAPL %' order by time_ns"):
            values.setdefault(row["name"], []).append(row["value"])
        return values

    def test_steps_and_wrap_around(self) -> None:
        """
        A step adds 3 J to the package's counter, which begins anew at RANGE in the middle, and lasts until it was looked at twice: however slow the
        machine is, what two samples differ by is what was added.
        """
        package = self.zone("intel-rapl:0", "package-0", RANGE - 10_000_000)
        self.zone("intel-rapl:0:0", "core", 5)
        self.zone("intel-rapl:0:1", "dram", 1000)
        self.zone("intel-rapl:1", "psys", 77)
        self.zone("intel-rapl-mmio:0", "package-0", 1)
        code = f"""
            import os, sys, time
            sys.path.insert(0, {str(Path(__file__).parents[1] / "python")!r})
            import holdup
            value = {RANGE - 10_000_000}
            seen = os.path.join(os.environ["HOLDUP_SESSION"], "energy")
            def wait():
                before = os.stat(seen).st_size
                while os.stat(seen).st_size < before + 3 * 4 * 24:      # looks at four zones; the first of them may have begun
                    time.sleep(0.01)
            wait()
            for i in range(10):
                with holdup.step(i):
                    value = (value + 3_000_000) % {RANGE}
                    with open("{package}.new", "w") as f:
                        f.write(str(value))
                    os.rename("{package}.new", "{package}")     # a reader sees the old file or the new one
                    wait()
        """
        self.record(code=code)
        values = self.counters()
        self.assertEqual(set(values), {"RAPL package-0 (J)", "RAPL package-0/core (J)", "RAPL package-0/dram (J)", "RAPL psys (J)"})
        package_values = values["RAPL package-0 (J)"]
        self.assertEqual(sorted(package_values), package_values)
        self.assertEqual({round(v, 6) % 3 for v in package_values}, {0.0})
        self.assertEqual(package_values[-1], 30)
        energy = self.energy()
        rows = {z["zone"]: z for z in energy["zones"]}
        self.assertEqual(rows["package-0"]["joules"], package_values[-1])
        self.assertEqual(energy["cpu_joules"], package_values[-1])
        self.assertEqual((rows["package-0/dram"]["joules"], rows["psys"]["joules"]), (0, 0))
        self.assertTrue(2 < rows["package-0"]["step_joules"] < 4, rows["package-0"])
        self.assertIn("ENERGY", recorder.holdup("report", self.trace).stdout)

    def test_a_copy_says_the_same(self) -> None:
        self.zone("intel-rapl:0", "package-0", 5)
        self.record(code="import time; time.sleep(0.5)")
        energy = self.energy()
        self.assertEqual((energy["rapl"], len(energy["zones"])), ("read", 1))
        for form in ("copy.json", "copy.pftrace"):
            copy = self.folder / form
            self.assertEqual(recorder.holdup("export", self.trace, "-o", copy).returncode, 0)
            self.assertEqual(json.loads(recorder.holdup("report", copy, "--json").stdout)["ranks"][0]["energy"], energy, form)

    def test_why_there_is_none(self) -> None:
        """Said by who was asked: in the summary with --energy-sample, in the view always, and never in the way of the run."""
        energy = self.zone("intel-rapl:0", "package-0", 5)
        cases = {"failed": lambda: energy.write_text("no number\n"),
                 "hidden": lambda: [path.unlink() for path in self.tree.glob("*/*")],
                 "none": lambda: [path.rmdir() for path in self.tree.iterdir()]}
        words = {"failed": "give no number", "hidden": "this container hides the counters", "none": "this machine has no such counters"}
        for state, make in cases.items():
            with self.subTest(state):
                make()
                self.assertNotIn("RAPL", self.record().stderr)
                self.assertIn(words[state], self.record("--energy-sample", "10").stderr)
                self.assertEqual((self.energy()["rapl"], self.energy()["zones"]), (state, []))
                self.assertIn(state, recorder.holdup("report", self.trace, "--view", "energy").stdout)
                self.assertNotIn("ENERGY", recorder.holdup("report", self.trace).stdout)

    def test_only_root_may_read(self) -> None:
        """As on every machine since Linux 5.10: the run is nobody's, and the counter root's."""
        energy = self.zone("intel-rapl:0", "package-0", 5)
        energy.chmod(0o000)
        for path in (self.folder, self.tree, energy.parent):
            path.chmod(0o777)
        nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        done = recorder.holdup("run", "-o", self.trace, "--no-report", "--energy-sample", "10", "--", "true", cwd=self.folder,
                               env=recorder.environment(HOLDUP_RAPL=str(self.tree), HOME=str(self.folder), TMPDIR=str(self.folder), XDG_RUNTIME_DIR=""), **nobody)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("RAPL) was not sampled: only root may read the counters", done.stderr)
        self.assertEqual(self.energy()["rapl"], "denied")

    def test_option(self) -> None:
        self.zone("intel-rapl:0", "package-0", 5)
        self.assertNotIn("RAPL", self.record("--energy-sample", "none").stderr)
        self.assertEqual((self.energy()["rapl"], self.counters()), ("not asked", {}))
        done = recorder.holdup("run", "--energy-sample", "0", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--energy-sample needs none or samples per second (1 to 100)", done.stderr)

    def test_hostile_files(self) -> None:
        """Names and numbers that no kernel writes: the run goes on, and the trace can be read."""
        self.zone("intel-rapl:0", "a\tb\nc" + "x" * 500, 5)
        self.zone("intel-rapl:1", "package-1", 5, limit=0)
        self.zone("intel-rapl:2", "package-2", 2**64 - 1)
        self.zone("intel-rapl:" + "9" * 100, "package-9", 5)
        (self.tree / "intel-rapl:3").write_text("a file")
        self.record(code="import time; time.sleep(0.3)")
        names = [z["zone"] for z in self.energy()["zones"]]
        self.assertEqual(len(names), 2, names)
        self.assertTrue(names[0].startswith("a_b_c"), names)
        self.assertEqual(names[1], "package-2")

    def test_this_machine(self) -> None:
        """What the real folder says is told in its own words."""
        done = recorder.holdup("run", "-o", self.trace, "--no-report", "--energy-sample", "10", "--", sys.executable, "-c", "pass")
        self.assertEqual(done.returncode, 0, done.stderr)
        state = self.energy()["rapl"]
        real = Path("/sys/class/powercap")
        if not any(real.glob("intel-rapl:*")):
            self.assertEqual(state, "none")
        self.assertEqual("was not sampled" in done.stderr, state != "read")


class Sessions(Case):
    """The file `energy` of a session made by hand: it may end anywhere, and every number in it may be wrong."""

    MAGIC = int.from_bytes(b"UHUENGY1", "little")
    FIRST = 10**9 + MONOTONIC_LAG            # ns

    def head(self, n: int = 1, state: int = 4, version: int = 1, period: int = 10**8, magic: int = MAGIC) -> bytes:
        return struct.pack("<QIIIIq", magic, version, state, n, 0, period)

    def told(self, content: bytes) -> dict[str, Any]:
        shutil.rmtree(self.session, ignore_errors=True)      # what finish leaves of it
        (self.folder / "out.pftrace").unlink(missing_ok=True)
        self.session = make_session(self.folder / "session")
        (self.session / "energy").write_bytes(content)
        ring = Ring(100)
        ring.block(1, [ring.record("mark", 2_000_000_000, ring.text("x"))])
        return json.loads(recorder.holdup("report", self.trace(ring), "--json").stdout)["ranks"][0]["energy"]

    def row(self, at_s: float, uj: int, zone: int = 0) -> bytes:
        return struct.pack("<qQII", self.FIRST + int(at_s * 1e9), uj, zone, 0)

    def test_sums(self) -> None:
        """Two zones; what is no number of a sampler's is left out: a zone that there is not, a counter that falls, a time before the session."""
        names = b"package-0".ljust(64, b"\0") + b"package-0/dram".ljust(64, b"\0")
        rows = [self.row(0, 5), self.row(0, 2**63, 1), self.row(1, 1_000_005), self.row(1, 77, 9), self.row(1.5, 4), self.row(2, 3_000_005), self.row(2, 2**63 + 500_000, 1),
                struct.pack("<qQII", -5, 10**15, 0, 0), struct.pack("<qQII", 2**62, 10**15, 0, 0), self.row(2.5, 9 * 10**6)[:-3]]
        energy = self.told(self.head(2) + names + b"".join(rows))
        self.assertEqual([(z["zone"], z["joules"], z["watts"]) for z in energy["zones"]], [("package-0", 3.0, 1.5), ("package-0/dram", 0.5, 0.25)])
        self.assertEqual(energy["cpu_joules"], 3.5)

    def test_hostile(self) -> None:
        name = b"package-0".ljust(64, b"\0")
        for content in (b"", b"UHU", self.head(magic=1), self.head(version=2), self.head(state=5), self.head(n=33), self.head(n=2**32 - 1), self.head(period=0),
                        self.head(period=-1), self.head() + name[:63]):
            with self.subTest(content):
                self.assertEqual((self.told(content)["rapl"], self.told(content)["zones"]), ("not asked", []))
        for content, names in ((self.head(n=0, state=2), []), (self.head() + b"a\nb\tc" + b"x" * 59, ["a_b_c" + "x" * 58]), (self.head() + name, ["package-0"])):
            with self.subTest(content):
                self.assertEqual([z["zone"] for z in self.told(content)["zones"]], names)

    def test_attribute(self) -> None:
        """The lines about zones, in a trace that anybody may have written."""
        for text, state, zones in (("", "not asked", 0), ("read", "read", 0), ("read\t-7\nz\n", "read", 1), ("what\t5\n", "none", 0),
                                   ("read\t9223372036854775807\n" + "p\n" * 100, "read", 32), ("\n\n\n", "not asked", 0)):
            with self.subTest(text):
                path = self.folder / "t.json"
                path.write_text(json.dumps({**trace(), "holdup.rapl": text}))
                energy = json.loads(recorder.holdup("report", path, "--json").stdout)["ranks"][0]["energy"]
                self.assertEqual((energy["rapl"], len(energy["zones"]), energy["cpu_joules"]), (state, zones, None))


class Boards(Scene):
    def test_a_recording_with_gpus(self) -> None:
        """Sixty joules between two looks at a GPU: the view has the counter's difference and the mean step, as the view of GPUs has."""
        pids = self.folder / "pid"
        done = self.run_job(f"calm=100000,pidfile={pids}", looks=36, words=(str(pids),))
        self.assertEqual(done.returncode, 0, done.stderr)
        told = self.report()
        gpu, = told["ranks"][0]["energy"]["gpus"]
        row, = told["ranks"][0]["gpus"]["gpus"]
        self.assertEqual(gpu["joules"], self.counters()["GPU 0 energy (J)"][-1])
        self.assertEqual((gpu["joules"], gpu["step_joules"]), (row["joules"], row["step_joules"]))
        self.assertEqual(told["run"]["energy"]["gpu_joules"], gpu["joules"])
        self.assertEqual((gpu["idle_joules_high"], gpu["comm_joules_high"]), (None, None), "no work of it was recorded")
        self.assertIn("others work on it; its energy is theirs, too", recorder.holdup("report", self.trace).stdout)


load_tests = recorder.once

if __name__ == "__main__":
    unittest.main()
