# SPDX-License-Identifier: Apache-2.0
"""`holdup monitor` over libraries that are compiled against NVML's own headers: what it exports of each GPU is what the scenario and the header's words say,
and nothing else; and what it does when GPUs, calls and drivers fail."""
from __future__ import annotations

import math
import pathlib
import random
import shutil
import subprocess
import time
import unittest

from tests.cuda import driver
from tests.monitor import exposition, run, scene, standin
from tests.program import EXE, ROOT, skip_loudly
from tests.recorder import once

load_tests = once       # three minutes of waiting; test_monitor_nvidia has the same code under sanitizers

# of a GPU, beside what scene.METRICS has
OTHERS = {"holdup_gpu_info", "holdup_gpu_up", "holdup_gpu_clock_event_reason", "holdup_gpu_fabric_healthy"}
# calls that say which GPU it is; the others may fail, and it is still there
IDENTITY = ("nvmlDeviceGetName", "nvmlDeviceGetUUID", "nvmlDeviceGetPciInfo", "nvmlDeviceGetMinorNumber", "nvmlDeviceGetIndex", "nvmlDeviceGetSerial")
XID = 8                     # nvmlEventTypeXidCriticalError
LOST = (15, 16)             # GPU_IS_LOST, RESET_REQUIRED
FULL_PERIOD = "0.05"


def calls(s: standin.Scenario, gpu: int) -> list[str]:
    """What of a GPU can be missing alone: a call, a field, a performance metric."""
    keys = {key for d, key in s.lines if d == str(gpu) and not key.startswith(("type.", "compute."))}
    found = {key.split("/")[0] if key.startswith(("field.", "gpm.")) else key.split(".")[0] for key in keys}
    return sorted(found - set(IDENTITY) - {"nvmlDeviceGetMigMode", "nvmlGpmQueryDeviceSupport", "nvmlDeviceGetSupportedEventTypes"})


def drop(s: standin.Scenario, gpu: int, call: str, code: int | None) -> None:
    """Not there any more, or answers a code."""
    for key in [k for d, k in s.lines if d == str(gpu) and k.split("/")[0] == call or (d == str(gpu) and "." in k and k.split(".")[0] == call)]:
        if code is None:
            del s.lines[str(gpu), key]
        else:
            s.lines[str(gpu), key] = f"!{code}"


def told(s: standin.Scenario, gpu: int, metric: scene.Metric) -> bool:
    """Can its value still be had?"""
    try:
        metric.value(s, gpu)
    except (KeyError, ValueError):
        return False
    return True


class Values(run.Case):
    def test_headers(self) -> None:
        """Each number of each GPU, and no series that nobody can derive."""
        for cuda in standin.wanted():
            with self.subTest(cuda):
                s = self.play(cuda)
                found = self.once()
                for gpu in range(3):
                    self.assertEqual(self.wrong(found, s, gpu), [])
                    self.assertEqual({f.name for f in self.of_gpu(found, gpu)} - {m.name for m in scene.METRICS} - OTHERS, set())
                    info, = exposition.named(found, "holdup_gpu_info", gpu=str(gpu))
                    self.assertEqual(info.labels, {"gpu": str(gpu), "uuid": scene.uuid(gpu), "vendor": "nvidia", "model": f"NVIDIA H{gpu}00 80GB HBM3",
                                                   "pci_bus_id": f"00{gpu}0:{0x1b + 16 * gpu:02x}:00.0", "minor": str(5 - gpu),
                                                   "driver": standin.DRIVERS[cuda]})
                    self.assertEqual(exposition.value(found, "holdup_gpu_up", gpu=str(gpu), uuid=scene.uuid(gpu)), 1)
                self.assertGreater(sum(map(self.has, scene.METRICS)), 60)

    def test_old_driver(self) -> None:
        """First versions of calls; what is reserved counts as used there."""
        s = self.play("12.0", without=standin.AFTER_450)
        s.set("-", "nvmlSystemGetDriverVersion", "450.248.02")
        s.set(1, "nvmlDeviceGetMemoryInfo.reserved", 0)
        s.write()
        found = self.once()
        self.assertEqual(self.wrong(found, s, 1), [])
        self.assertEqual(exposition.value(found, "holdup_gpu_memory_used_bytes", gpu="2"), 30_000_000_002 + 500_000_002)

    def test_other_branches(self) -> None:
        """A driver that is newer than all headers, or that does not say which it is: a field that may mean something else is left out, the rest is there."""
        for cuda in standin.ALWAYS:
            s = self.play(cuda)
            for version in ("999.10.01", "5", "unknown", "-3.7"):
                s.set("-", "nvmlSystemGetDriverVersion", version)
                s.write()
                found = self.once()
                for gpu in range(3):
                    wrong = self.wrong(found, s, gpu)
                    self.assertEqual([w for w in wrong if ": []," not in w], [], version)
                    self.assertEqual([w for w in wrong if ": []," in w and not any(part in w for part in (
                        "pcie_transmit", "pcie_receive", "throttle", "recovery_action", "power_instant", "nvlink"))], [], version)

    def test_reasons(self) -> None:
        """Each bit alone is its reason, whose number does not depend on the header."""
        for cuda in standin.ALWAYS:
            s = self.play(cuda)
            numbers = {label: self.header.constants.get(f"nvmlClocksEventReason{name}") or self.header.constants.get(f"nvmlClocksThrottleReason{name}")
                       for name, label in scene.REASONS.items()}
            self.assertGreater(len([n for n in numbers.values() if n]), 8)
            for gpu in range(3):
                bits = [n for i, n in enumerate(n for n in numbers.values() if n) if i % 3 == gpu]
                s.set(gpu, "nvmlDeviceGetCurrentClocksEventReasons", sum(bits))
            s.write()
            found = self.once()
            for gpu in range(3):
                bits = int(s.number(gpu, "nvmlDeviceGetCurrentClocksEventReasons"))
                got = {f.labels["reason"]: f.value for f in exposition.named(found, "holdup_gpu_clock_event_reason", gpu=str(gpu))}
                self.assertEqual({k for k, v in got.items() if v}, {label for label, n in numbers.items() if n and n & bits}, cuda)

    def test_unsupported(self) -> None:
        """Whatever is not supported, one thing or most, is absent; all else is there."""
        random_ = random.Random(14)
        s = self.play()
        every = calls(s, 0)
        self.assertGreater(len(every), 100)
        for share, code in ((0.1, None), (0.5, None), (0.3, 25), (0.3, 13), (0.3, 26), (0.9, None), (1, None)):
            s = self.play_again()
            for gpu in (0, 2):
                for call in every:
                    if random_.random() < share:
                        drop(s, gpu, call, code)
            s.write()
            found = self.once()
            with self.subTest(share=share, code=code):
                for gpu in range(3):
                    self.assertEqual(exposition.value(found, "holdup_gpu_up", gpu=str(gpu), uuid=scene.uuid(gpu)), 1)
                    self.assertEqual(self.wrong(found, s, gpu, lambda m, gpu=gpu, s=s: not told(s, gpu, m)), [])

    def play_again(self) -> standin.Scenario:
        """The same healthy GPUs, by the library that is there."""
        return scene.scenario(self.folder / "scenario", self.cuda, self.header)

    def test_transient(self) -> None:
        """NO_PERMISSION, NOT_FOUND, TIMEOUT, IN_USE, NO_DATA, NOT_READY: this value is absent, the GPU is not lost."""
        self.play()
        for code in (4, 6, 10, 19, 21, 27):
            s = self.play_again()
            for call in calls(s, 1)[::2]:
                drop(s, 1, call, code)
            s.write()
            found = self.once()
            with self.subTest(code):
                self.assertEqual([exposition.value(found, "holdup_gpu_up", gpu=str(gpu), uuid=scene.uuid(gpu)) for gpu in range(3)], [1, 1, 1])
                for gpu in range(3):
                    self.assertEqual(self.wrong(found, s, gpu, lambda m, gpu=gpu, s=s: not told(s, gpu, m)), [])

    def test_garbage(self) -> None:
        """What drivers answer for "not known" is no number of anything."""
        s = self.play()
        wide = 2 ** 64 - 1
        rubbish: dict[str, tuple[object, ...]] = {
            "nvmlDeviceGetUtilizationRates.gpu": (4294967295, 101, 255), "nvmlDeviceGetUtilizationRates.memory": (4294967295, 101, 255),
            "nvmlDeviceGetEncoderUtilization.utilization": (4294967295, 101, 255), "nvmlDeviceGetDecoderUtilization.utilization": (4294967295, 101, 255),
            "nvmlDeviceGetTemperature": (65535, 255, 4294967295), "field.NVML_FI_DEV_MEMORY_TEMP": (65535, 255, 4294967295),
            "nvmlDeviceGetPowerUsage": (4294967295,) * 3, "field.NVML_FI_DEV_POWER_INSTANT": (4294967295,) * 3,
            "nvmlDeviceGetTotalEnergyConsumption": (wide,) * 3, "nvmlDeviceGetEnforcedPowerLimit": (4294967295,) * 3,
            "nvmlDeviceGetClockInfo.NVML_CLOCK_SM": (4294967295,) * 3, "nvmlDeviceGetMaxClockInfo.NVML_CLOCK_SM": (4294967295,) * 3,
            "nvmlDeviceGetPcieReplayCounter": (4294967295,) * 3, "nvmlDeviceGetCurrPcieLinkGeneration": (4294967295,) * 3,
            "nvmlDeviceGetTotalEccErrors.CORRECTED.VOLATILE": (wide,) * 3, "nvmlDeviceGetRemappedRows.corrRows": (4294967295,) * 3,
            "nvmlDeviceGetMemoryInfo.used": (wide,) * 3,
            "gpm.NVML_GPM_METRIC_SM_UTIL": ("nan", "inf", 1e300), "gpm.NVML_GPM_METRIC_DRAM_BW_UTIL": ("nan", -1, 250),
            "gpm.NVML_GPM_METRIC_PCIE_TX_PER_SEC": ("nan", "inf", -5)}
        for key, values in rubbish.items():
            for gpu in range(3):
                s.set(gpu, key, values[gpu])
        s.write()
        found = self.once()
        for gpu in range(3):
            bad = [f"{f.name} {f.value}" for f in self.of_gpu(found, gpu)
                   if (f.name.endswith("_ratio") and not 0 <= f.value <= 1) or (f.name.endswith("_celsius") and abs(f.value) > 200) or
                   any(f.value > 0 and math.isclose(f.value, n, rel_tol=1e-6)
                       for n in (65535, 4294967295, 4294967.295, 4294967295e6, wide, wide * 1e-3, 1e298, 1e300))]
            self.assertEqual(bad, [])
            self.assertEqual(exposition.value(found, "holdup_gpu_up", gpu=str(gpu), uuid=scene.uuid(gpu)), 1)
        # all that other calls told
        healthy = self.play_again()
        for key in rubbish:
            drop(healthy, 0, key if key.startswith(("field.", "gpm.")) else key.split(".")[0], None)
        others = [m for m in scene.METRICS if told(healthy, 0, m)]
        self.assertGreater(len(others), 30)
        for gpu in range(3):
            self.assertEqual(self.wrong(found, s, gpu, of=others), [])

    def test_links(self) -> None:
        """NVLink 5 counts bytes by link: the sum of all."""
        s = self.play()
        for way, field in (("TX", "XMIT"), ("RX", "RCV")):
            s.drop(1, f"field.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_{way}", f"field.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_{way}/{scene.ALL_LINKS}")
            for link in range(18):
                s.set(1, f"field.NVML_FI_DEV_NVLINK_COUNT_{field}_BYTES/{link}", 10 ** 12 + 1000 * link + len(way + field))
        s.write()
        found = self.once()
        for name, field in (("transmit", "XMIT"), ("receive", "RCV")):
            want = sum(s.number(1, f"field.NVML_FI_DEV_NVLINK_COUNT_{field}_BYTES/{link}") for link in range(18))
            self.assertEqual(exposition.value(found, f"holdup_gpu_nvlink_{name}_bytes_total", gpu="1", uuid=scene.uuid(1)), want)
        self.assertEqual([w for w in self.wrong(found, s, 1, lambda m: not told(s, 1, m)) if "holdup_gpu_nvlink_" not in w], [])

    def test_processes(self) -> None:
        """A list that grows between the call for its size and the call for it; 4096 processes; none."""
        s = self.play()
        s.drop(2, "compute")
        s.set(0, "compute.grow", 5)
        s.set(0, "compute.first", 2_000_000)
        s.set(1, "compute.many", 4096)
        s.set(1, "compute.first", 3_000_000)
        s.write()
        found = self.once()
        grown = exposition.value(found, "holdup_gpu_processes", gpu="0")
        self.assertIn(grown, (None, *(1 + 5 * n for n in range(1, 4))), "all of some moment, or not known")
        self.assertIn(exposition.value(found, "holdup_gpu_processes", gpu="1"), (None, 4096 + 2))
        self.assertEqual(exposition.value(found, "holdup_gpu_processes", gpu="2"), 0)

    def test_types(self) -> None:
        """The same number, whatever type the driver gives a field."""
        s = self.play()
        for kind in range(5):        # double, unsigned int, unsigned long, unsigned long long, signed long long
            for gpu in range(3):
                s.set(gpu, "type.NVML_FI_DEV_POWER_INSTANT", kind)
                s.set(gpu, "type.NVML_FI_DEV_MEMORY_TEMP", (kind + gpu) % 5)
            s.write()
            found = self.once()
            for gpu in range(3):
                self.assertEqual(self.wrong(found, s, gpu), [], f"type {kind}")

    def test_none(self) -> None:
        s = self.play(gpus=0)
        found = self.once()
        self.assertEqual([f.name for f in found if f.name.startswith("holdup_gpu_")], [])
        self.assertTrue([f for f in found if f.name.startswith("holdup_host_")])
        for code in (9, 18, 4, 12, 17, 999):
            s.rules = [f"fail nvmlInit {code}", f"fail nvmlInitWithFlags {code}"]
            s.write()
            found = self.once()
            self.assertEqual([f.name for f in found if f.name.startswith("holdup_gpu_")], [], str(code))
            why = [f.labels for f in exposition.named(found, "holdup_monitor_problem")]
            self.assertTrue([w for w in why if w["what"] and w["fix"]], f"{code} is not explained")


class Divided(run.Case):
    def mig(self, s: standin.Scenario) -> None:
        """GPU 1 becomes two GPU instances, 3 and 5."""
        s.set(1, "nvmlDeviceGetMigMode.currentMode", 1)
        s.set(1, "nvmlDeviceGetMaxMigDeviceCount", 7)
        s.drop(1, "nvmlDeviceGetUtilizationRates", "nvmlDeviceGetEncoderUtilization", "nvmlDeviceGetDecoderUtilization", "compute")
        for i, gi in ((0, 3), (1, 5)):
            d = f"1/{i}"
            s.set(d, "nvmlDeviceGetUUID", f"MIG-{gi}{gi}{gi}{gi}0000-aaaa-bbbb-cccc-dddddddddddd")
            s.set(d, "nvmlDeviceGetName", f"NVIDIA H100 80GB HBM3 MIG {i + 1}g.{10 * (i + 1)}gb")
            s.set(d, "nvmlDeviceGetGpuInstanceId", gi)
            s.set(d, "nvmlDeviceGetComputeInstanceId", 0)
            for n, field in enumerate(("multiprocessorCount", "sharedCopyEngineCount", "sharedDecoderCount", "sharedEncoderCount", "sharedJpegCount",
                                       "sharedOfaCount", "gpuInstanceSliceCount", "computeInstanceSliceCount", "memorySizeMB")):
                s.set(d, f"nvmlDeviceGetAttributes.{field}", 10 * n + i + 1)
            for part, size in (("total", 10), ("used", 4), ("free", 5), ("reserved", 1)):
                s.set(d, f"nvmlDeviceGetMemoryInfo.{part}", size * 1_000_000_000 * (i + 1) + gi)
            for n, metric in enumerate(scene.GPM):
                s.set(1, f"gpm{gi}.NVML_GPM_METRIC_{metric}", 20.5 + 3 * n + gi)
            for n in range(gi):
                s.set(d, f"compute.{n}", f"{5_000_000 + 100 * gi + n} 1048576 {gi} 0")
        s.write()

    def test_values(self) -> None:
        for cuda in standin.wanted():
            with self.subTest(cuda):
                s = self.play(cuda)
                self.mig(s)
                found = self.once()
                self.assertEqual(self.wrong(found, s, 0), [])
                self.assertEqual(exposition.value(found, "holdup_gpu_mig_mode", gpu="1", uuid=scene.uuid(1)), 1)
                self.assertEqual(exposition.value(found, "holdup_gpu_power_watts", gpu="1", uuid=scene.uuid(1)), s.number(1, "nvmlDeviceGetPowerUsage") / 1000)
                for i, gi in ((0, 3), (1, 5)):
                    uuid = s.lines[f"1/{i}", "nvmlDeviceGetUUID"]
                    info, = (f for f in found if f.name == "holdup_gpu_info" and f.labels["uuid"] == uuid)
                    self.assertEqual({k: info.labels.get(k) for k in ("gpu", "gi", "ci", "parent")},
                                     {"gpu": "1", "gi": str(gi), "ci": "0", "parent": scene.uuid(1)})
                    self.assertIn(f"{i + 1}g.{10 * (i + 1)}gb", info.labels["profile"])
                    mine = {f.name: f.value for f in found if f.labels.get("uuid") == uuid and f.name != "holdup_gpu_info"}
                    self.assertEqual({f.labels["gi"] for f in found if f.labels.get("uuid") == uuid}, {str(gi)})
                    for part in ("total", "used", "free", "reserved"):
                        self.assertEqual(mine[f"holdup_gpu_memory_{part}_bytes"], s.number(f"1/{i}", f"nvmlDeviceGetMemoryInfo.{part}"))
                    for metric, name in scene.GPM.items():
                        if f"NVML_GPM_METRIC_{metric}" in self.header.metrics and f"holdup_gpu_{name}" in mine:
                            want = s.number(1, f"gpm{gi}.NVML_GPM_METRIC_{metric}") * (scene.MIB if "PER_SEC" in metric else 0.01)
                            self.assertTrue(scene.close(mine[f"holdup_gpu_{name}"], want), f"{name} {mine[f'holdup_gpu_{name}']} {want}")
                    self.assertIn("holdup_gpu_sm_active_ratio", mine)
                    self.assertFalse([n for n in mine if "power" in n or "energy" in n or "temperature" in n or "clock" in n], "of the board, told once")

    def test_changes(self) -> None:
        """Divided and made whole again while it runs."""
        s = self.play()
        self.serve(FULL_PERIOD)
        self.until(lambda f: exposition.value(f, "holdup_gpu_up", gpu="1", uuid=scene.uuid(1)) == 1, "GPU 1")
        self.mig(s)
        self.until(lambda f: len([x for x in f if x.name == "holdup_gpu_info" and x.labels.get("parent") == scene.uuid(1)]) == 2, "two MIG devices")
        s = scene.scenario(self.folder / "scenario", self.cuda, self.header)
        found = self.until(lambda f: not [x for x in f if x.labels.get("uuid", "").startswith("MIG-")] and
                           exposition.value(f, "holdup_gpu_utilization_ratio", gpu="1", uuid=scene.uuid(1)), "whole again")
        self.assertEqual(exposition.value(found, "holdup_gpu_utilization_ratio", gpu="1", uuid=scene.uuid(1)),
                         s.number(1, "nvmlDeviceGetUtilizationRates.gpu") / 100)
        self.check_log()


class Faults(run.Case):
    def healthy(self) -> standin.Scenario:
        """Three GPUs; the energy of each, in J, is the Unix time of the call."""
        s = self.play()
        for gpu in range(3):
            s.set(gpu, "nvmlDeviceGetTotalEnergyConsumption", "ms")
        s.write()
        return s

    def up(self, found: list[exposition.Series], gpu: int) -> float | None:
        return exposition.value(found, "holdup_gpu_up", gpu=str(gpu), uuid=scene.uuid(gpu))

    def check_age(self, found: list[exposition.Series], period: float = float(FULL_PERIOD)) -> None:
        """By its own clock, what it says of GPUs is of one period, and one more or a quarter of a second."""
        ages = [f.value for f in exposition.named(found, "holdup_monitor_sample_age_seconds", source="nvidia")]
        self.assertLessEqual(max(ages, default=0), period + max(period, 0.25))
        if [f for f in found if f.name.startswith("holdup_gpu_")]:
            self.assertEqual(len(ages), 1)

    def check_lost(self, found: list[exposition.Series], gpu: int) -> None:
        """It is down, and nothing else is said of it but what happened to it."""
        left = {f.name for f in self.of_gpu(found, gpu)} - {"holdup_gpu_up", "holdup_gpu_xid_errors_total", "holdup_gpu_xid_last_timestamp_seconds"}
        self.assertEqual(left, set())

    def test_lost(self) -> None:
        s = self.healthy()
        self.serve(FULL_PERIOD)
        self.until(lambda f: all(self.up(f, gpu) == 1 for gpu in range(3)), "all GPUs are up")
        for code in LOST:
            with self.subTest(code):
                s.rules = [f"fail * {code} gpu=1"]
                s.write()
                found = self.until(lambda f: self.up(f, 1) == 0, "GPU 1 is lost")
                self.check_lost(found, 1)
                before = exposition.value(found, "holdup_gpu_energy_joules_total", gpu="0", uuid=scene.uuid(0)) or 0
                found = self.until(lambda f, before=before: (exposition.value(f, "holdup_gpu_energy_joules_total", gpu="0", uuid=scene.uuid(0)) or 0) > before,
                                   "GPU 0 goes on")
                self.check_lost(found, 1)
                self.assertEqual((self.up(found, 0), self.up(found, 1), self.up(found, 2)), (1, 0, 1))
                s.rules = []
                s.write()
                found = self.until(lambda f: self.up(f, 1) == 1 and exposition.value(f, "holdup_gpu_power_watts", gpu="1", uuid=scene.uuid(1)), "it is back")
                self.assertEqual(exposition.value(found, "holdup_gpu_power_watts", gpu="1", uuid=scene.uuid(1)), s.number(1, "nvmlDeviceGetPowerUsage") / 1000)
        self.check_log()

    def test_lost_at_start(self) -> None:
        s = self.healthy()
        s.rules = ["fail * 15 gpu=1"]
        s.write()
        found = self.once()
        self.assertEqual((self.up(found, 0), self.up(found, 2)), (1, 1))
        self.assertFalse([f for f in self.of_gpu(found, 1) if f.name != "holdup_gpu_up" or f.value != 0])

    def test_driver_gone(self) -> None:
        """The whole driver: nothing is said of any GPU, the node goes on, and it comes back."""
        s = self.healthy()
        self.serve(FULL_PERIOD)
        self.until(lambda f: all(self.up(f, gpu) == 1 for gpu in range(3)), "all GPUs are up")
        for code in (9, 999):
            with self.subTest(code):
                s.rules = [f"fail * {code}"]
                s.write()
                found = self.until(lambda f: not any(self.up(f, gpu) == 1 for gpu in range(3)) and not [x for x in f if x.name == "holdup_gpu_power_watts"],
                                   "the driver is gone")
                for gpu in range(3):
                    self.check_lost(found, gpu)
                self.assertTrue([f for f in found if f.name == "holdup_host_cpu_seconds_total"])
                s.rules = []
                s.write()
                self.until(lambda f: all(self.up(f, gpu) == 1 for gpu in range(3)), "the driver is back")
        self.check_log()

    def test_other_order(self) -> None:
        """After the driver was loaded again another GPU is the first one: each series goes with its uuid."""
        s = self.play()
        self.serve(FULL_PERIOD)
        self.until(lambda f: all(self.up(f, gpu) == 1 for gpu in range(3)), "all GPUs are up")
        s.rules = ["fail * 9"]
        s.write()
        self.until(lambda f: not any(self.up(f, gpu) == 1 for gpu in range(3)), "the driver is gone")
        s.rules = []
        turned = {(str((int(d) + 1) % 3) if d.isdigit() else d, key): v for (d, key), v in s.lines.items()}
        s.lines = turned
        s.write()

        def turned_right(found: list[exposition.Series]) -> bool:
            return all(exposition.value(found, "holdup_gpu_power_watts", gpu=str((gpu + 1) % 3), uuid=scene.uuid(gpu)) ==
                       s.number((gpu + 1) % 3, "nvmlDeviceGetPowerUsage") / 1000 for gpu in range(3))

        found = self.until(turned_right, "each by its own name")
        self.assertFalse([f for f in found for gpu in range(3) if f.labels.get("uuid") == scene.uuid(gpu) and f.labels["gpu"] != str((gpu + 1) % 3)])
        self.check_log()

    def test_fewer(self) -> None:
        """A GPU is taken off the bus: its handle is none any more.  It comes back."""
        s = self.healthy()
        self.serve(FULL_PERIOD)
        self.until(lambda f: all(self.up(f, gpu) == 1 for gpu in range(3)), "all GPUs are up")
        s.set("-", "gpus", 2)
        s.write()
        found = self.until(lambda f: self.up(f, 2) != 1 and self.up(f, 0) == 1, "GPU 2 is not up")
        self.check_lost(found, 2)
        s.set("-", "gpus", 3)
        s.write()
        self.until(lambda f: all(self.up(f, gpu) == 1 for gpu in range(3)) and exposition.value(f, "holdup_gpu_power_watts", gpu="2", uuid=scene.uuid(2)),
                   "it is back")

    def test_hang(self) -> None:
        """A call that never returns takes the series of that library with it, and nothing else; killed, it begins anew."""
        s = self.healthy()
        self.serve(FULL_PERIOD)
        self.until(lambda f: self.up(f, 0) == 1, "GPU 0 is up")
        for call in ("nvmlDeviceGetPowerUsage", "nvmlDeviceGetComputeRunningProcesses", "nvmlEventSetWait", "nvmlDeviceGetFieldValues"):
            with self.subTest(call):
                restarts = exposition.value(self.scrape(), "holdup_monitor_restarts_total", process="gpu") or 0
                s.rules = [f"hang {call}"]
                s.write()

                def gone(found: list[exposition.Series]) -> bool:
                    self.check_age(found)
                    return not [f for f in found if f.name.startswith("holdup_gpu_") and f.name != "holdup_gpu_up"]

                self.until(gone, "its series are gone")
                self.until(lambda f, n=restarts: (exposition.value(f, "holdup_monitor_restarts_total", process="gpu") or 0) > n, "it is started again")
                found = self.scrape()
                self.assertTrue([f for f in found if f.name == "holdup_host_cpu_seconds_total"])
                s.rules = []
                s.write()
                self.until(lambda f: self.up(f, 0) == 1 and exposition.value(f, "holdup_gpu_power_watts", gpu="0", uuid=scene.uuid(0)), "it is back")
        self.check_log()

    def test_end(self) -> None:
        """Told to end, or killed: none of its samplers is left, nor one that is inside of a call."""
        for rules, kill in (([], False), (["hang nvmlDeviceGetPowerUsage"], False), ([], True)):
            with self.subTest(rules=rules, kill=kill):
                s = self.healthy()
                self.serve(FULL_PERIOD)
                self.until(lambda f: self.up(f, 0) == 1, "GPU 0 is up")
                samplers = run.children(self.process.pid)
                self.assertIn("holdup-gpu", samplers)
                s.rules = rules
                s.write()
                if rules:
                    self.until(lambda f: not [x for x in f if x.name == "holdup_gpu_power_watts"], "it hangs")
                samplers = {**samplers, **run.children(self.process.pid)}
                if kill:
                    self.process.kill()
                    self.process.wait(30)
                else:
                    run.stop(self.process)
                    self.assertEqual(self.process.returncode, 0)
                self.wait(lambda samplers=samplers: not [pid for name, pid in samplers.items() if self.is_sampler(pid, name)], "they end")

    @staticmethod
    def is_sampler(pid: int, name: str) -> bool:
        """And neither another process by now, nor one that nobody has waited for."""
        try:
            status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        except OSError:
            return False
        return f"Name:\t{name}\n" in status and "State:\tZ" not in status

    def test_hang_at_end(self) -> None:
        """The driver goes, and even the call that lets go of it does not return."""
        s = self.healthy()
        self.serve(FULL_PERIOD)
        self.until(lambda f: self.up(f, 0) == 1, "GPU 0 is up")
        s.rules = ["hang nvmlShutdown", "fail * 9"]
        s.write()
        self.until(lambda f: not [x for x in f if x.name == "holdup_gpu_power_watts"], "its series are gone")
        s.rules = []
        s.write()
        self.until(lambda f: self.up(f, 0) == 1 and exposition.value(f, "holdup_gpu_power_watts", gpu="0", uuid=scene.uuid(0)), "it is back")

    def test_driver_later(self) -> None:
        """The driver is loaded after the monitor began."""
        s = self.healthy()
        s.rules = ["fail nvmlInit 9", "fail nvmlInitWithFlags 9"]
        s.write()
        self.serve(FULL_PERIOD)
        self.until(lambda f: list(exposition.named(f, "holdup_monitor_problem")), "it says why")
        s.rules = []
        s.write()
        found = self.until(lambda f: all(self.up(f, gpu) == 1 for gpu in range(3)), "all GPUs are up")
        self.assertEqual([f for f in exposition.named(found, "holdup_monitor_problem") if f.labels["source"] == "nvidia"], [])

    def test_no_events(self) -> None:
        """Whatever becomes of events, the numbers are there."""
        s = self.play()
        for rules in (["fail nvmlEventSetCreate 3"], ["fail nvmlDeviceRegisterEvents 4"], ["fail nvmlEventSetWait 999"], ["fail nvmlEventSetWait 15"]):
            s.rules = rules
            s.write()
            found = self.once()
            for gpu in range(3):
                self.assertEqual(self.wrong(found, s, gpu), [], rules)

    def test_hang_at_start(self) -> None:
        s = self.healthy()
        s.rules = ["hang nvmlInit", "hang nvmlInitWithFlags"]
        s.write()
        found = self.once(check_log=False)
        self.assertEqual([f.name for f in found if f.name.startswith("holdup_gpu_")], [])
        self.assertTrue([f for f in found if f.name == "holdup_host_cpu_seconds_total"])

    def test_flapping(self) -> None:
        """Up with values or down with nothing, at each moment; no value is older than its look."""
        s = self.healthy()
        s.rules = ["fail * 15 gpu=1 every=700 for=350", "fail nvmlDeviceGetPowerUsage 21 gpu=2 every=300 for=150"]
        s.write()
        self.serve(FULL_PERIOD)
        seen = set()
        for _ in range(200):
            before = time.time()
            found = self.scrape()
            self.check_age(found)
            seen.add(self.up(found, 1))
            if self.up(found, 1) != 1:
                self.check_lost(found, 1)
            for gpu in (0, 2):
                energy = exposition.value(found, "holdup_gpu_energy_joules_total", gpu=str(gpu), uuid=scene.uuid(gpu))
                self.assertTrue(energy is None or energy > before - 30, f"{before - (energy or 0)} s old")
            time.sleep(0.03)
        self.assertLessEqual(seen, {0, 1, None})
        self.assertIn(0, seen)
        s.rules = []
        s.write()
        self.until(lambda f: self.up(f, 1) == 1, "it is back for good")
        self.check_log()

    def test_fresh(self) -> None:
        """Two scrapes show two looks: the stand-in answers the time."""
        self.healthy()
        self.serve(FULL_PERIOD)
        first = exposition.value(self.until(lambda f: exposition.value(f, "holdup_gpu_energy_joules_total", gpu="0", uuid=scene.uuid(0)), "energy"),
                                 "holdup_gpu_energy_joules_total", gpu="0", uuid=scene.uuid(0))
        self.assertGreater(first, time.time() - 30)
        self.until(lambda f: exposition.value(f, "holdup_gpu_energy_joules_total", gpu="0", uuid=scene.uuid(0)) > first, "a later look")

    def test_driver_swapped(self) -> None:
        """The file is another version's, and the kernel answers only that one."""
        old, new = standin.ALWAYS
        self.cuda = old
        s = self.healthy()
        self.serve(FULL_PERIOD)
        self.until(lambda f: self.up(f, 0) == 1, "GPU 0 is up")
        self.header = standin.header(new)
        self.functions = self.header.functions
        standin.build(new, self.library)
        s = scene.scenario(self.folder / "scenario", new, self.header)
        s.set("-", "only", new)
        s.write()
        self.cuda = new
        found = self.until(lambda f: [x for x in f if x.name == "holdup_gpu_info" and x.labels.get("driver") == standin.DRIVERS[new]] and
                           not any(self.wrong(f, s, gpu) for gpu in range(3)), "what the new driver says")
        self.assertTrue([f for f in found if f.name == "holdup_gpu_temperature_margin_celsius"], "which the old one does not know")
        self.check_log()

    def test_xids(self) -> None:
        """Each event counts once, by GPU and number; a burst; what was before it listened does not; a new sampler does not begin at 0."""
        s = self.healthy()
        s.event(0, XID, 31)
        s.write()
        self.serve(FULL_PERIOD)
        self.until(lambda f: self.up(f, 0) == 1 and exposition.value(f, "holdup_gpu_power_watts", gpu="0", uuid=scene.uuid(0)), "GPU 0 is up")

        def count(found: list[exposition.Series], gpu: int, xid: int) -> float | None:
            return exposition.value(found, "holdup_gpu_xid_errors_total", gpu=str(gpu), uuid=scene.uuid(gpu), xid=str(xid))

        for _ in range(300):
            s.event(1, XID, 94)
        s.event(2, XID, 79)
        s.event(2, 1, 12345)       # a single-bit error is no XID
        s.write()
        found = self.until(lambda f: count(f, 2, 79) == 1 and count(f, 1, 94) == 300, "300 and one")
        self.assertEqual((count(found, 0, 31), count(found, 0, 79), count(found, 2, 12345)), (None, None, None))
        last = exposition.value(found, "holdup_gpu_xid_last_timestamp_seconds", gpu="2", uuid=scene.uuid(2), xid="79")
        self.assertLess(abs(time.time() - last), 100)
        sampler = run.children(self.process.pid).get("holdup-gpu")
        self.assertIsNotNone(sampler)
        subprocess.run(["kill", "-KILL", str(sampler)], check=True)
        self.until(lambda f: exposition.value(f, "holdup_monitor_restarts_total", process="gpu") == 1 and self.up(f, 2) == 1, "another sampler")
        s.event(2, XID, 79)
        s.write()
        found = self.until(lambda f: count(f, 2, 79) == 2, "the second one")
        self.assertEqual(count(found, 1, 94), 300)
        self.check_log()


class Hostile(run.Case):
    NAMES = ('quote " and \\ backslash', "two\nlines\n# TYPE holdup_gpu_up counter", "é ü 漢字 \u202e \u0000"[:-1], "x" * 95)

    def promtool(self, text: bytes) -> None:
        if not shutil.which("promtool"):
            skip_loudly("no promtool: what hostile names make of the text is read by our own parser alone")
            return
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, timeout=60, check=False)
        self.assertNotIn(b"error while linting", done.stderr)
        self.assertIn(done.returncode, (0, 3), done.stderr)      # 3: advice

    def test_names(self) -> None:
        s = self.play(gpus=len(self.NAMES) + 1)
        for gpu, name in enumerate(self.NAMES):
            s.set(gpu, "nvmlDeviceGetName", name)
        s.set(len(self.NAMES), "nvmlDeviceGetName", "bad \udcff\udcc0\udcaf end")
        s.write()
        done = subprocess.run([EXE, "monitor", "--once", "--nvml", self.library], capture_output=True, env=self.environment(), timeout=120, check=True, cwd=ROOT)
        found = exposition.parse(done.stdout)
        models = {f.labels["gpu"]: f.labels["model"] for f in found if f.name == "holdup_gpu_info"}
        for gpu, name in enumerate(self.NAMES):
            self.assertEqual(models[str(gpu)], name)
        self.assertRegex(models[str(len(self.NAMES))], "^bad \ufffd+ end$")
        self.promtool(done.stdout)

    def test_no_names(self) -> None:
        """Texts that are empty, and a GPU that does not say which it is."""
        s = self.play()
        s.set(0, "nvmlDeviceGetName", "")
        s.set(1, "nvmlDeviceGetUUID", "")
        s.drop(2, "nvmlDeviceGetName", "nvmlDeviceGetMinorNumber", "nvmlDeviceGetPciInfo", "nvmlDeviceGetSerial")
        s.set("-", "nvmlSystemGetDriverVersion", "")
        s.write()
        found = self.once()
        self.assertEqual(exposition.value(found, "holdup_gpu_power_watts", gpu="0", uuid=scene.uuid(0)), s.number(0, "nvmlDeviceGetPowerUsage") / 1000)
        self.assertEqual(exposition.value(found, "holdup_gpu_power_watts", gpu="2", uuid=scene.uuid(2)), s.number(2, "nvmlDeviceGetPowerUsage") / 1000)
        info, = (f for f in found if f.name == "holdup_gpu_info" and f.labels.get("uuid") == scene.uuid(2))
        self.assertNotIn("minor", info.labels)

    def test_same_uuid(self) -> None:
        s = self.play()
        for gpu in range(3):
            s.set(gpu, "nvmlDeviceGetUUID", scene.uuid(0))
        s.write()
        found = self.once()          # the parser refuses a series that comes twice
        self.assertTrue(found)

    def test_same_mig_uuid(self) -> None:
        s = self.play()
        Divided.mig(self, s)         # type: ignore[arg-type]
        s.set("1/1", "nvmlDeviceGetUUID", s.lines["1/0", "nvmlDeviceGetUUID"])
        s.write()
        self.assertTrue(self.once())

    def test_a_million(self) -> None:
        """A count that no node has: a bounded number of them, and the rest is not waited for."""
        s = self.play()
        for d, key in [k for k in s.lines if k[0] == "0"]:
            s.set("*", key, s.lines[d, key])
        s.set("*", "nvmlDeviceGetUUID", "GPU-{gpu}")
        s.set("-", "gpus", 1_000_000)
        s.write()
        found = self.once()
        self.assertLessEqual(len([f for f in found if f.name == "holdup_gpu_up"]), 1000)
        self.assertTrue([f for f in found if f.name == "holdup_gpu_up"] or [f for f in found if f.name == "holdup_monitor_problem"])

    def test_limits(self) -> None:
        """The least and the greatest number that each type holds, everywhere: it says something valid, or nothing."""
        s = self.play()
        healthy = dict(s.lines)
        for value in (0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 2, 2 ** 63 - 1, 2 ** 63, 2 ** 64 - 1, -1, -2 ** 31):
            s.lines = dict(healthy)
            for key, was in healthy.items():
                if key[0] != "-" and key[1].split(".")[0] not in IDENTITY and not key[1].startswith(("compute", "type.")) and str(was).lstrip("-").isdigit():
                    s.lines[key] = value
            s.write()
            with self.subTest(value):
                found = self.once()
                bad = [f"{f.name} {f.value}" for f in found if f.name.endswith("_ratio") and not 0 <= f.value <= 1]
                self.assertEqual(bad, [])


class Real(run.Case):
    """The vendor's own programs; fetched by `make test-abi`."""
    QUERY = {"utilization.gpu": ("utilization_ratio", 100), "utilization.memory": ("memory_busy_ratio", 100),
             "utilization.encoder": ("encoder_utilization_ratio", 100), "utilization.decoder": ("decoder_utilization_ratio", 100),
             "memory.total": ("memory_total_bytes", 1 / scene.MIB), "memory.used": ("memory_used_bytes", 1 / scene.MIB),
             "memory.free": ("memory_free_bytes", 1 / scene.MIB), "memory.reserved": ("memory_reserved_bytes", 1 / scene.MIB),
             "temperature.gpu": ("temperature_celsius", 1), "temperature.memory": ("memory_temperature_celsius", 1), "power.draw": ("power_watts", 1),
             "power.draw.instant": ("power_instant_watts", 1), "power.default_limit": ("power_limit_default_watts", 1),
             "power.min_limit": ("power_limit_min_watts", 1), "power.max_limit": ("power_limit_max_watts", 1), "clocks.sm": ("sm_clock_hertz", 1e-6),
             "clocks.mem": ("memory_clock_hertz", 1e-6), "clocks.max.sm": ("sm_clock_max_hertz", 1e-6), "clocks.max.mem": ("memory_clock_max_hertz", 1e-6),
             "pcie.link.gen.gpucurrent": ("pcie_link_generation", 1), "pcie.link.gen.max": ("pcie_link_generation_max", 1),
             "pcie.link.width.current": ("pcie_link_width", 1), "pcie.link.width.max": ("pcie_link_width_max", 1)}
    TYPED = {"ecc.errors.corrected.volatile.total": ("ecc_errors_total", {"type": "corrected"}),
             "ecc.errors.uncorrected.volatile.total": ("ecc_errors_total", {"type": "uncorrected"}),
             "ecc.errors.corrected.aggregate.total": ("ecc_errors_lifetime_total", {"type": "corrected"}),
             "ecc.errors.uncorrected.aggregate.total": ("ecc_errors_lifetime_total", {"type": "uncorrected"}),
             "retired_pages.sbe": ("retired_pages_total", {"cause": "single_bit"}), "retired_pages.dbe": ("retired_pages_total", {"cause": "double_bit"})}

    def test_nvidia_smi(self) -> None:
        """It asks the same library, and says the same."""
        folder = driver.fetch("550", "nvidia-smi")
        if not folder:
            raise unittest.SkipTest("no nvidia-smi")
        self.play("12.4")
        found = self.once()
        standin.build("12.4", self.library, also=(ROOT / "tests/monitor/smi_table.c",))
        columns = ["uuid", "name", "driver_version", *self.QUERY, *self.TYPED, "retired_pages.pending", "mig.mode.current", "persistence_mode"]

        def ask(what: str, of: list[str]) -> list[dict[str, str]]:
            with driver.no_node_left():
                done = subprocess.run([folder / "nvidia-smi", f"--query-{what}={','.join(of)}", "--format=csv,noheader,nounits"], capture_output=True, text=True,
                                      env={**self.environment(), "LD_LIBRARY_PATH": str(self.folder)}, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            return [dict(zip(of, line.split(", "), strict=True)) for line in done.stdout.splitlines() if line.strip()]

        lines = ask("gpu", columns)
        self.assertEqual(len(lines), 3)
        rows = {"correctable": ("remapped_rows_total", {"cause": "corrected"}), "uncorrectable": ("remapped_rows_total", {"cause": "uncorrected"}),
                "pending": ("row_remap_pending", {}), "failure": ("row_remap_failed", {})}
        remapped = ask("remapped-rows", ["gpu_uuid", *(f"remapped_rows.{column}" for column in rows)])
        self.assertEqual(len(remapped), 3)
        for gpu, said in enumerate(remapped):
            for column, (name, labels) in rows.items():
                self.assertEqual(exposition.value(found, f"holdup_gpu_{name}", gpu=str(gpu), uuid=said["gpu_uuid"], **labels), float(said[f"remapped_rows.{column}"]))
        for gpu, said in enumerate(lines):
            info, = (f for f in found if f.name == "holdup_gpu_info" and f.labels["gpu"] == str(gpu))
            self.assertEqual((said["uuid"], said["name"], said["driver_version"]), (info.labels["uuid"], info.labels["model"], info.labels["driver"]))
            for column, (name, factor) in self.QUERY.items():
                mine = exposition.value(found, f"holdup_gpu_{name}", gpu=str(gpu), uuid=said["uuid"])
                self.assertIsNotNone(mine, name)
                digits = len(said[column].partition(".")[2])
                self.assertLessEqual(abs(mine * factor - float(said[column])), 0.51 * 10 ** -digits if factor != 1 / scene.MIB else 1, f"{column} {said[column]} {mine}")
            for column, (name, labels) in self.TYPED.items():
                self.assertEqual(exposition.value(found, f"holdup_gpu_{name}", gpu=str(gpu), uuid=said["uuid"], **labels), float(said[column]), column)
            for column, name, yes in (("retired_pages.pending", "retired_pages_pending", "Yes"), ("mig.mode.current", "mig_mode", "Enabled"),
                                      ("persistence_mode", "persistence_mode", "Enabled")):
                self.assertEqual(exposition.value(found, f"holdup_gpu_{name}", gpu=str(gpu), uuid=said["uuid"]), float(said[column] == yes), column)

    def test_gpu(self) -> None:
        """A real GPU and its own nvidia-smi: what does not change is the same; what changes is there."""
        smi = shutil.which("nvidia-smi")
        fixed = {column: row for column, row in self.QUERY.items() if column in (
            "memory.total", "power.default_limit", "power.min_limit", "power.max_limit", "clocks.max.sm", "clocks.max.mem", "pcie.link.width.max")}
        columns = ["uuid", "name", "driver_version", "mig.mode.current", *fixed]
        done = subprocess.run([smi, f"--query-gpu={','.join(columns)}", "--format=csv,noheader,nounits"], capture_output=True, text=True, timeout=60,
                              check=False) if smi else None
        if not done or done.returncode != 0:
            skip_loudly("no NVIDIA GPU: the monitor was not compared with a real driver")
            raise unittest.SkipTest("no GPU")
        answer = subprocess.run([EXE, "monitor", "--once"], capture_output=True, timeout=120, check=True, cwd=ROOT)
        found = exposition.parse(answer.stdout)
        for line in done.stdout.splitlines():
            said = dict(zip(columns, line.split(", "), strict=True))
            info, = (f for f in found if f.name == "holdup_gpu_info" and f.labels["uuid"] == said["uuid"])
            self.assertEqual((info.labels["model"], info.labels["driver"]), (said["name"], said["driver_version"]))
            mine = {f.name: f.value for f in found if f.labels.get("uuid") == said["uuid"]}
            self.assertEqual(mine["holdup_gpu_up"], 1)
            for column, (name, factor) in fixed.items():
                if said[column].replace(".", "").isdigit():
                    self.assertLessEqual(abs(mine[f"holdup_gpu_{name}"] * factor - float(said[column])), 1 if "memory" in column else 0.01, column)
            for name in ("power_watts", "temperature_celsius", "sm_clock_hertz", "memory_used_bytes", "energy_joules_total"):
                self.assertGreater(mine[f"holdup_gpu_{name}"], 0, name)
            if said["mig.mode.current"] != "Enabled":
                self.assertIn("holdup_gpu_utilization_ratio", mine)

    def test_no_driver(self) -> None:
        """The real library where no driver is loaded: one sentence, and no device node that was not there before."""
        if pathlib.Path("/proc/driver/nvidia/version").exists():
            skip_loudly("this machine has an NVIDIA driver: what its library does without one is not tested")
            raise unittest.SkipTest("there is a driver")
        tested = 0
        for branch in driver.SUITES:
            folder = driver.fetch(branch, "libnvidia-ml.so.1")
            if not folder:
                continue
            tested += 1
            # as the system's library, which must not be asked to make its node; and by name, as the user says
            for words, more in (([], {"LD_LIBRARY_PATH": str(folder)}), (["--nvml", folder / "libnvidia-ml.so.1"], {})):
                with self.subTest(branch, words=words), driver.no_node_left():
                    was = driver.NODE.exists()
                    done = subprocess.run([EXE, "monitor", "--once", *words], capture_output=True, env={**self.environment(), **more}, timeout=120,
                                          check=False, cwd=ROOT)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    found = exposition.parse(done.stdout)
                    self.assertEqual([f.name for f in found if f.name.startswith("holdup_gpu_")], [])
                    self.assertEqual(len([f for f in exposition.named(found, "holdup_monitor_problem") if f.labels["source"] == "nvidia"]), 1)
                    if not words:
                        self.assertEqual(driver.NODE.exists(), was, "a device node was left behind")
        if not tested:
            raise unittest.SkipTest("no libnvidia-ml")


if __name__ == "__main__":
    unittest.main()
