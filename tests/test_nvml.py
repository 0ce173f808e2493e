# SPDX-License-Identifier: Apache-2.0
"""GPUs that are sampled beside a recording: a libnvidia-ml of ours plays a scene, and faults, while a job runs."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from typing import Any

from tests import recorder
from tests.program import EXE, ROOT, SANITIZED, report, skip_loudly
from tests.rule_traces import gemms, pages

JOB = ROOT / "tests/nvml/job.py"
ENERGY = 60  # J between two looks
UUID = "GPU-0000abc{}-1111-2222-3333-444444444444"


def load_tests(_loader, tests, _pattern):
    """The recorder works in other programs, without sanitizers: once is enough."""
    return unittest.TestSuite() if SANITIZED else tests


def samplers(mark: str) -> list[int]:
    """Processes that sample for a run whose environment holds this text."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "comm").read_text() == "holdup-gpu\n" and mark.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


class Scene(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.asked, self.trace = self.folder / "asked", self.folder / "t.pftrace"
        self.library = self.folder / "libstandin.so"
        self.build()

    def build(self, *flags: str) -> None:
        subprocess.run(["cc", *flags, "-O1", "-shared", "-fPIC", "-o", self.library, ROOT / "tests/nvml/standin.c"], check=True, capture_output=True)

    def environment(self, play: str, **more: str) -> dict[str, str]:
        kept = {k: v for k, v in recorder.environment().items() if not k.startswith("CUDA_")}
        return {**kept, "HOLDUP_NVML": str(self.library), "NVML_PLAY": f"asked={self.asked},{play}", **more}

    def run_job(self, play: str = "", looks: int = 12, words: tuple[str, ...] = (), **more: str) -> subprocess.CompletedProcess:
        return recorder.holdup("run", "-o", self.trace, "--no-report", "--", sys.executable, JOB, self.asked, looks, *words,
                               env=self.environment(play, **more))

    def counters(self) -> dict[str, list[float]]:
        """No CUDA in this job, so their numbers are the driver's, and their names say so."""
        values: dict[str, list[float]] = {}
        for row in recorder.rows(self.trace, "select name, value from counter where name like '%GPU %' order by time_ns"):
            source, number, quantity = row["name"].split(" ", 3)[0], *row["name"].split(" ", 3)[2:]
            self.assertEqual(source, "nvidia-smi", row["name"])
            values.setdefault(f"GPU {number} {quantity}", []).append(row["value"])
        return values

    def report(self) -> dict[str, Any]:
        done = recorder.holdup("report", self.trace, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def gpus(self) -> list[dict[str, Any]]:
        return self.report()["ranks"][0]["gpus"]["gpus"]


class Play(Scene):
    def test_scene(self) -> None:
        """Clocks fall, the power cap is the reason, energy rises: in the trace, in the table, in the text, and as a finding."""
        pids = self.folder / "pid"
        done = self.run_job(f"calm=12,xid=20,pidfile={pids}", looks=36, words=(str(pids),))
        self.assertEqual(done.returncode, 0, done.stderr)
        values = self.counters()
        self.assertFalse([name for name in values if name.startswith("GPU 1")], "the job's process was seen on GPU 0 alone")
        first = {"utilization (%)": 97, "memory utilization (%)": 41, "SM clock (MHz)": 1980, "memory clock (MHz)": 2619, "power (W)": 512.25,
                 "energy (J)": 0, "memory used (bytes)": 4321000000, "temperature (C)": 64, "clock event reasons (bits)": 0}
        self.assertEqual({name: values[f"GPU 0 {name}"][0] for name in first}, first)
        last = {"SM clock (MHz)": 1320, "power (W)": 699.5, "temperature (C)": 83, "clock event reasons (bits)": 4}
        self.assertEqual({name: values[f"GPU 0 {name}"][-1] for name in last}, last)
        self.assertEqual(values["GPU 0 XID error (number)"], [79])
        energy = values["GPU 0 energy (J)"]
        self.assertEqual(energy, [ENERGY * i for i in range(len(energy))])
        self.assertGreaterEqual(len(energy), 20)      # of 36 looks; those before the job began are left out

        report = self.report()
        gpu, = report["ranks"][0]["gpus"]["gpus"]
        same = {"name": "NVIDIA H100 80GB HBM3", "uuid": UUID.format(0), "bus": "00000000:1B:00.0", "driver": "580.95.05", "max_sm_mhz": 1980,
                "limited_sm_mhz": 1320, "max_watts": 700, "celsius": 83, "memory_bytes": 4321000000, "is_ours": True, "other_processes": 1, "device": None,
                "is_mig": False, "xid_count": 1, "last_xid": 79}
        self.assertEqual({key: gpu[key] for key in same}, same)
        self.assertEqual(gpu["joules"], energy[-1])
        # between two looks lie 60 J: of a step, which lasts six of them, five to seven
        self.assertTrue(4 * ENERGY < gpu["step_joules"] < 8 * ENERGY, gpu)
        self.assertAlmostEqual(gpu["busy_pct"], 97, 3)
        self.assertTrue(5 < gpu["limited_pct"] <= 100, gpu)
        self.assertTrue(1320 <= gpu["sm_mhz"] < 1980, gpu)
        self.assertTrue(gpu["limits"].startswith("software power cap "), gpu)

        finding, = (f for f in report["findings"] if f["id"] == "throttling")
        self.assertIsNone(finding["gain_pct"])
        self.assertTrue(0 < finding["gain_high_pct"] <= 100 / 3, finding)
        self.assertIn("Cannot tell how much that costs", finding["statement"])
        self.assertTrue(any("1320 MHz then, of 1980 MHz at most" in line for line in finding["evidence"]), finding)
        self.assertTrue(any("1 other process ran on it too" in line for line in finding["evidence"]), finding)
        self.assertIn("power limit", finding["fix"])
        for form in ("copy.json", "copy.pftrace"):
            copy = self.folder / form
            self.assertEqual(recorder.holdup("export", self.trace, "-o", copy).returncode, 0)
            again = json.loads(recorder.holdup("report", copy, "--json").stdout)
            self.assertEqual(again["ranks"][0]["gpus"], report["ranks"][0]["gpus"], form)
        text = recorder.holdup("report", self.trace).stdout
        self.assertRegex(" ".join(text.split()),
                         r"GPUS sampled during the run nvidia-smi GPU 0 · 97 % busy · SM clock \d+ MHz of 1980 · \d+ W of 700 · \d+\.\d\d J per step · "
                         r"clock lowered: software power cap")

    def test_calm(self) -> None:
        """No reason, no finding; and no process of the job was seen: all GPUs, and that is said."""
        done = self.run_job("calm=100000", looks=20)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = self.gpus()
        self.assertEqual([(r["number"], r["is_ours"], r["other_processes"], r["limited_pct"]) for r in rows],
                         [(0, False, None, 0), (1, False, None, None)])
        self.assertFalse([f for f in self.report()["findings"] if f["id"] == "throttling"])
        self.assertIn("which of them the job used is not known", recorder.holdup("report", self.trace).stdout)

    def test_visible(self) -> None:
        """CUDA_VISIBLE_DEVICES, of the environment or in front of the command; what it does not surely say counts for nothing."""
        both = [0, 1]
        for visible, expected in (("0", [0]), (UUID.format(0), [0]), ("GPU-0000abc0", [0]), ("1,0", both), ("GPU-0000", both), ("7", both),
                                  ("MIG-1", both)):
            with self.subTest(visible):
                self.asked.unlink(missing_ok=True)
                self.trace.unlink(missing_ok=True)
                done = self.run_job(looks=3, CUDA_VISIBLE_DEVICES=visible)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual([r["number"] for r in self.gpus()], expected)

    def test_old_driver(self) -> None:
        self.build("-DOLD")
        done = self.run_job("calm=2", looks=8)
        self.assertEqual(done.returncode, 0, done.stderr)
        values = self.counters()
        self.assertEqual(values["GPU 0 clock event reasons (bits)"][-1], 4)
        self.assertEqual(values["GPU 0 memory used (bytes)"][0], 4921000000)

    def test_not_supported(self) -> None:
        """A value that there is not is absent in every place, and never 0."""
        done = self.run_job("mig,calm=0,fail=nvmlDeviceGetUtilizationRates:3,fail=nvmlDeviceGetTotalEnergyConsumption:3,"
                            "fail=nvmlDeviceGetCurrentClocksEventReasons:4,fail=nvmlDeviceGetPowerUsage:3,fail=nvmlDeviceGetMaxClockInfo:3", looks=8)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({name.split(" ", 2)[2] for name in self.counters()},
                         {"SM clock (MHz)", "memory clock (MHz)", "memory used (bytes)", "temperature (C)"})
        gpu = self.gpus()[0]
        self.assertTrue(gpu["is_mig"])
        for key in ("busy_pct", "sm_mhz", "max_sm_mhz", "limited_pct", "limited_sm_mhz", "watts", "joules", "step_joules", "xid_count"):
            self.assertIsNone(gpu[key], key)
        self.assertEqual(gpu["celsius"], 83)

    def test_option(self) -> None:
        done = recorder.holdup("run", "-o", self.trace, "--no-report", "--gpu-sample", "none", "--", sys.executable, "-c", "pass",
                               env=self.environment(""))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(self.asked.exists(), "nobody asks")
        self.assertEqual((self.counters(), self.gpus()), ({}, []))
        for wrong in ("0", "101", "x"):
            done = recorder.holdup("run", "--gpu-sample", wrong, "true")
            self.assertEqual(done.returncode, 2)
            self.assertIn("--gpu-sample needs none or samples per second (1 to 100)", done.stderr)

    def test_no_driver(self) -> None:
        """Without a driver the library is not even loaded, and nothing is said."""
        if pathlib.Path("/proc/driver/nvidia/version").exists() or pathlib.Path("/sys/module/nvidia").exists():
            skip_loudly("this machine has an NVIDIA driver: what happens without is not tested")
            raise unittest.SkipTest("there is a driver")
        marker = self.folder / "loaded"
        (self.folder / "loud.c").write_text('#include <fcntl.h>\n__attribute__((constructor)) static void loud(void)\n'
                                            f'{{ creat("{marker}", 0600); }}\n')
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.folder / "libnvidia-ml.so.1", self.folder / "loud.c"], check=True)
        env = {**recorder.environment(), "LD_LIBRARY_PATH": str(self.folder)}
        done = recorder.holdup("run", "-o", self.trace, "--no-report", "--", sys.executable, "-c", "pass", env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(marker.exists())
        self.assertNotIn("GPU", done.stderr)


class Faults(Scene):
    def test_lost(self) -> None:
        """A GPU that is lost in the middle: what was before stays, the other one goes on."""
        done = self.run_job("lost=12", looks=16)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("GPU 0 stopped giving counters: GPU is lost", done.stderr)
        values = self.counters()
        energy = values["GPU 0 energy (J)"]       # what is sampled before the job begins is left out
        self.assertEqual(energy, [ENERGY * i for i in range(len(energy))])
        self.assertLessEqual(len(energy), 11)
        self.assertGreater(len(values["GPU 1 energy (J)"]), len(energy))
        first, second = self.gpus()
        self.assertEqual((first["problem"], second["problem"]), ("GPU is lost", ""))
        self.assertIn("then: GPU is lost", " ".join(recorder.holdup("report", self.trace).stdout.split()))

    def test_no_library(self) -> None:
        for play, library, why in (("", "/nowhere/lib.so", "libnvidia-ml.so.1 cannot be loaded"),
                                   ("fail=nvmlInit_v2:999", "", "unknown error"),
                                   ("fail=nvmlInit_v2:9", "", "driver not loaded"),
                                   ("fail=nvmlDeviceGetCount_v2:999", "", "the driver does not say how many GPUs there are")):
            with self.subTest(why):
                self.trace.unlink(missing_ok=True)
                env = self.environment(play)
                env["HOLDUP_NVML"] = library or env["HOLDUP_NVML"]
                done = recorder.holdup("run", "-o", self.trace, "--no-report", "--", sys.executable, "-c", "raise SystemExit(7)", env=env)
                self.assertEqual(done.returncode, 7)
                self.assertIn(why, done.stderr)
                self.assertEqual((self.counters(), self.gpus()), ({}, []))

    def test_hang(self) -> None:
        """A call that never returns: the job and the end of the run do not wait for it, it is said, and what came before is there."""
        for call in ("nvmlInit_v2:1", "nvmlDeviceGetPowerUsage:5", "nvmlDeviceGetComputeRunningProcesses_v3:1", "nvmlEventSetWait_v2:3"):
            with self.subTest(call):
                self.asked.unlink(missing_ok=True)
                self.trace.unlink(missing_ok=True)
                until = self.asked if call != "nvmlInit_v2:1" else self.folder
                job = f"import os, time\nwhile not os.path.exists({str(until)!r}): time.sleep(0.01)\ntime.sleep(0.5)\nraise SystemExit(5)"
                done = recorder.holdup("run", "-o", self.trace, "--no-report", "--", sys.executable, "-c", job,
                                       env=self.environment(f"hang={call}"))
                self.assertEqual(done.returncode, 5, done.stderr)
                self.assertIn("the GPU driver did not answer within 500 ms", done.stderr)
                self.assertEqual(self.gone(), [])
                self.assertEqual(recorder.holdup("report", self.trace).returncode, 0)

    def gone(self) -> list[int]:
        """Samplers of this run that are left; each gets a minute."""
        for _ in range(600):
            if not samplers(str(self.asked)):
                break
            time.sleep(0.1)
        return samplers(str(self.asked))

    def test_end(self) -> None:
        """No sampler is left behind, neither by a run nor by one that was killed; and a Ctrl-C is not for it."""
        self.run_job(looks=3)
        self.assertEqual(self.gone(), [])
        self.asked.unlink()
        with subprocess.Popen([EXE, "run", "-o", self.folder / "k.pftrace", "--", sys.executable, JOB, self.asked, "100000"],
                              env=self.environment(""), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True) as run:
            while not self.asked.exists():
                time.sleep(0.01)
            sampler, = samplers(str(self.asked))
            self.assertNotEqual(os.getsid(sampler), os.getsid(run.pid))
            run.kill()
            run.wait()
            self.assertEqual(self.gone(), [])
            with contextlib.suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)


class Numbers(unittest.TestCase):
    """A page of kernels beside counters, worked out: steps of five products of 100 ms, then 100 ms in which the host does something else.

    The clock is 2000 MHz, and 1500 MHz with a thermal reason from LOWERED on; power is 400 W; the energy counter is read every 100 ms."""

    LOWERED = 2_000_000     # us

    LINE = "0\t1\t0\t0\t2000\t2600\t700000\t0\t100000000\t1023\t0\tGPU-x\tbus\t580\tA100\t\n"

    def write(self, folder: str, slower: float = 1, line: str = LINE, lowered: int = LOWERED,
              mhz: int = 1500) -> tuple[pathlib.Path, list[dict[str, Any]]]:
        def body(page, step: int) -> None:
            gemms(page, 512, 5, 100_000 * (slower if step >= 4 else 1))
            page.wait()
            page.now += 100_000

        path = pages(body).to(pathlib.Path(folder))
        trace = json.loads(path.read_text())
        work = [e for e in trace["traceEvents"] if e.get("cat") == "kernel"]
        end = max(e["ts"] + e["dur"] for e in trace["traceEvents"] if "dur" in e)
        for at in range(-100_000, int(end) + 200_000, 100_000):
            low = at >= lowered
            for name, value in (("SM clock (MHz)", mhz if low else 2000), ("memory clock (MHz)", 2600), ("power (W)", 400),
                                ("utilization (%)", 50), ("energy (J)", 40 + at * 400e-6), ("clock event reasons (bits)", 0x21 if low else 0x1)):
                trace["traceEvents"].append({"ph": "C", "name": f"GPU 0 {name}", "pid": "GPU 0", "ts": at, "args": {"value": value}})
        trace["holdup.gpus"] = line
        path.write_text(json.dumps(trace))
        return path, work

    def overlap(self, work: list[dict[str, Any]], start: float) -> float:
        return sum(max(0, e["ts"] + e["dur"] - max(start, e["ts"])) for e in work)

    def test_busy_by_work(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path, work = self.write(folder)
            answer = report(path)
            gpu, = answer["ranks"][0]["gpus"]["gpus"]
            busy, low, seen = self.overlap(work, -1e9), self.overlap(work, self.LOWERED), gpu["sampled_ns"] / 1000
            self.assertAlmostEqual(gpu["busy_pct"], 100 * busy / seen, 2)
            self.assertAlmostEqual(gpu["limited_pct"], 100 * low / busy, 2)
            self.assertAlmostEqual(gpu["sm_mhz"], (1500 * low + 2000 * (busy - low)) / busy, 2)
            self.assertEqual((gpu["limited_sm_mhz"], gpu["watts"]), (1500, 400))
            self.assertTrue(gpu["limits"].startswith("software thermal slowdown "), gpu)
            self.assertAlmostEqual(gpu["joules"], seen * 400e-6, 2)
            self.assertAlmostEqual(gpu["step_joules"], answer["ranks"][0]["steps"]["mean_ns"] * 400e-9, 0)
            finding, = (f for f in answer["findings"] if f["id"] == "throttling")
            self.assertIsNone(finding["gain_pct"])
            self.assertAlmostEqual(finding["gain_high_pct"], 100 * low / seen * (1 - 1500 / 2000), 2)
            self.assertIn("cooling", finding["fix"])

    def test_short(self) -> None:
        """A clock that is low for 3 % of the busy time is no finding, however low it is."""
        with tempfile.TemporaryDirectory() as folder:
            path, work = self.write(folder, lowered=5_200_000, mhz=100)
            answer = report(path)
            share = self.overlap(work, 5_200_000) / self.overlap(work, -1e9)
            self.assertTrue(0.02 < share < 0.05, share)
            self.assertAlmostEqual(answer["ranks"][0]["gpus"]["gpus"][0]["limited_pct"], 100 * share, 0)
            self.assertFalse([f for f in answer["findings"] if f["id"] == "throttling"])

    def test_slower_kernels(self) -> None:
        """The same kernels a quarter slower: the price is that of the steps, and what the driver told is the evidence."""
        with tempfile.TemporaryDirectory() as folder:
            path, _ = self.write(folder, slower=1.25)
            finding, = (f for f in report(path)["findings"] if f["id"] == "throttling")
            self.assertGreater(finding["gain_pct"], 5)
            self.assertIn("The driver lowered the GPU clock meanwhile.", finding["statement"])
            self.assertTrue(any("1500 MHz then, of 2000 MHz at most" in line for line in finding["evidence"]), finding)

    def test_hostile(self) -> None:
        """Lines that are none, and numbers out of range, make no row; unknown tracks make no value."""
        far = "0\t1\t0\t0\t2000\t2600\t1\t0\t9223372036854775807\t1\t0\ta\tb\tc\td\t\n"
        for line, rows in (("", 0), ("\n\n", 0), ("x\t1\n", 0), ("-1" + "\t1" * 10 + "\n", 0), (far, 0), ("7\t1\t0\t0\t0\t0\t0\t0\t1\t1\t0", 1)):
            with self.subTest(line), tempfile.TemporaryDirectory() as folder:
                path, _ = self.write(folder, line=line)
                found = report(path)["ranks"][0]["gpus"]["gpus"]
                self.assertEqual(len(found), rows)
                if found:
                    keys = ("busy_pct", "max_sm_mhz", "watts", "joules", "limited_pct", "memory_bytes")
                    self.assertEqual([found[0][k] for k in keys], [None] * len(keys))


if __name__ == "__main__":
    unittest.main()
