# SPDX-License-Identifier: Apache-2.0
"""`holdup monitor` and NVIDIA's GPUs: a libnvidia-ml of ours does what a file says, and the test rewrites that file while the monitor runs."""
from __future__ import annotations

import contextlib
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest
import urllib.request
from typing import Callable, Iterator

from tests.program import EXE, ROOT

SOURCE = ROOT / "tests/monitor/nvml_standin.c"
PATIENCE_S = 60
LINE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

Series = dict[tuple[str, tuple[tuple[str, str], ...]], float]

# all of what an H100 with this driver says
RICH = """gpus 2
gpm -1 1 80
gpm -1 2 55.5
gpm -1 3 25
gpm -1 5 30
gpm -1 10 45
gpm -1 11 1
gpm -1 12 2
gpm -1 13 3
gpm -1 20 100
gpm -1 21 200
gpm -1 60 300
gpm -1 61 400
field 82 71 1
field 186 505000 1
field 138 1000
field 139 2000
field 197 3000
field 198 4000
field 38 5
field 45 6
field 52 7
field 59 8
field 74 5000000000
field 75 6000000000
field 76 1000000000
field 77 2000000000
field 79 3000000000
field 269 7000000000
field 270 8000000000
field 271 9000000000
field 230 4 1
processes 0 3 1000
xid 0 31 2
"""
EXPECTED = {
    "holdup_gpu_up": 1, "holdup_gpu_utilization_ratio": 0.9, "holdup_gpu_memory_busy_ratio": 0.4,
    "holdup_gpu_encoder_utilization_ratio": 0.12, "holdup_gpu_decoder_utilization_ratio": 0.34,
    "holdup_gpu_graphics_active_ratio": 0.8, "holdup_gpu_sm_active_ratio": 0.555, "holdup_gpu_sm_occupancy_ratio": 0.25,
    "holdup_gpu_tensor_active_ratio": 0.3, "holdup_gpu_dram_active_ratio": 0.45, "holdup_gpu_fp64_active_ratio": 0.01,
    "holdup_gpu_fp32_active_ratio": 0.02, "holdup_gpu_fp16_active_ratio": 0.03,
    "holdup_gpu_pcie_transmit_bytes_per_second": 100 * 2**20, "holdup_gpu_pcie_receive_bytes_per_second": 200 * 2**20,
    "holdup_gpu_nvlink_receive_bytes_per_second": 300 * 2**20, "holdup_gpu_nvlink_transmit_bytes_per_second": 400 * 2**20,
    "holdup_gpu_memory_used_bytes": 11e9, "holdup_gpu_memory_total_bytes": 80e9, "holdup_gpu_memory_free_bytes": 68.4e9,
    "holdup_gpu_memory_reserved_bytes": 0.6e9, "holdup_gpu_power_watts": 500.25, "holdup_gpu_power_instant_watts": 505,
    "holdup_gpu_power_limit_watts": 650, "holdup_gpu_power_limit_default_watts": 700, "holdup_gpu_power_limit_min_watts": 200,
    "holdup_gpu_power_limit_max_watts": 700, "holdup_gpu_energy_joules_total": 7000, "holdup_gpu_temperature_celsius": 62,
    "holdup_gpu_memory_temperature_celsius": 71, "holdup_gpu_temperature_margin_celsius": 25, "holdup_gpu_sm_clock_hertz": 1.5e9,
    "holdup_gpu_sm_clock_max_hertz": 1.98e9, "holdup_gpu_memory_clock_hertz": 2.6e9, "holdup_gpu_memory_clock_max_hertz": 2.619e9,
    "holdup_gpu_pcie_transmit_bytes_total": 3000, "holdup_gpu_pcie_receive_bytes_total": 4000, "holdup_gpu_pcie_replays_total": 3,
    "holdup_gpu_pcie_link_generation": 4, "holdup_gpu_pcie_link_generation_max": 5, "holdup_gpu_pcie_link_width": 8,
    "holdup_gpu_pcie_link_width_max": 16, "holdup_gpu_nvlink_transmit_bytes_total": 1024000, "holdup_gpu_nvlink_receive_bytes_total": 2048000,
    "holdup_gpu_fabric_state": 3, "holdup_gpu_fabric_healthy": 1, "holdup_gpu_row_remap_pending": 1, "holdup_gpu_row_remap_failed": 0,
    "holdup_gpu_retired_pages_pending": 0, "holdup_gpu_recovery_action": 4, "holdup_gpu_persistence_mode": 1, "holdup_gpu_mig_mode": 0,
}
KINDS = {
    ("holdup_gpu_clock_event_reason", "reason"): {
        "idle": 0, "application clocks setting": 0, "software power cap": 1, "hardware slowdown": 0, "sync boost with another GPU": 0,
        "software thermal slowdown": 0, "hardware thermal slowdown": 1, "hardware power brake": 0, "display clock setting": 0, "board limit": 0,
        "reliability limit": 0},
    ("holdup_gpu_throttle_seconds_total", "reason"): {
        "software power cap": 5, "thermal limit": 6, "sync boost with another GPU": 1, "board limit": 2, "reliability limit": 3,
        "software thermal slowdown": 7, "hardware thermal slowdown": 8, "hardware power brake": 9},
    ("holdup_gpu_nvlink_errors_total", "type"): {"crc_flit": 5, "crc_data": 6, "replay": 7, "recovery": 8},
    ("holdup_gpu_ecc_errors_total", "type"): {"corrected": 1, "uncorrected": 2},
    ("holdup_gpu_ecc_errors_lifetime_total", "type"): {"corrected": 11, "uncorrected": 12},
    ("holdup_gpu_remapped_rows_total", "cause"): {"corrected": 6, "uncorrected": 7},
    ("holdup_gpu_retired_pages_total", "cause"): {"single_bit": 5, "double_bit": 2},
}
XIDS = {"holdup_gpu_xid_errors_total", "holdup_gpu_xid_last_timestamp_seconds"}


def parse(text: str) -> Series:
    series: Series = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        match = LINE.match(line)
        assert match, line
        key = match.group(1), tuple(sorted(LABEL.findall(match.group(2) or "")))
        assert key not in series, f"twice: {line}"
        series[key] = float(match.group(3))
    return series


def of(series: Series, name: str, **labels: str) -> list[float]:
    """Values of a metric whose labels are these, among others."""
    return [v for (n, l), v in series.items() if n == name and set(labels.items()) <= set(l)]


def by(series: Series, name: str, label: str, **labels: str) -> dict[str, float]:
    return {dict(l).get(label, ""): v for (n, l), v in series.items() if n == name and set(labels.items()) <= set(l)}


def names(series: Series, **labels: str) -> set[str]:
    """Families of the GPU itself; whose it is is known even when it is lost."""
    return {n for (n, l) in series if set(labels.items()) <= set(l)} - {"holdup_gpu_attribution_info", "holdup_gpu_allocated", "holdup_job_info"}


def problems(series: Series) -> list[str]:
    return [dict(l)["what"] for (n, l) in series if n == "holdup_monitor_problem" and dict(l)["source"] == "nvidia"]


class Case(unittest.TestCase):
    libraries: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.libraries = pathlib.Path(holder.name)
        for name, flags in (("new.so", []), ("old.so", ["-DOLD"])):
            subprocess.run(["cc", "-O1", "-shared", "-fPIC", *flags, "-o", cls.libraries / name, SOURCE], check=True, capture_output=True)

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.root, self.library = self.folder / "root", self.folder / "libnvidia-ml.so.1"
        (self.root / "proc").mkdir(parents=True)
        (self.root / "proc/stat").write_text("cpu 1 2 3 4 5 6 7 8 0 0\n")
        (self.root / "dev").mkdir()
        (self.root / "dev/kmsg").write_text("6,7,100,-;NVRM: Xid (PCI:0000:1a:00): 43, of before\n")
        self.use("new.so")

    def use(self, name: str) -> None:
        """Puts this library in the place of the last one, as an upgrade does."""
        new = self.folder / "new-library"
        new.write_bytes((self.libraries / name).read_bytes())
        new.rename(self.library)

    def play(self, text: str) -> None:
        new = self.folder / "new-scenario"
        new.write_text(text)
        new.rename(self.folder / "scenario")

    def log(self, number: int, text: str) -> None:
        with open(self.root / "dev/kmsg", "a") as f:
            f.write(f"6,{number},100,-;{text}\n PCI_BUS=further lines say nothing\n")

    def gpu_on_bus(self, address: str, vendor: str = "0x10de", kind: str = "0x030200", driver: str = "nvidia") -> pathlib.Path:
        device = self.root / "sys/bus/pci/devices" / address
        device.mkdir(parents=True)
        (device / "vendor").write_text(vendor + "\n")
        (device / "class").write_text(kind + "\n")
        (device / "driver").symlink_to(f"../../../../bus/pci/drivers/{driver}")
        return device

    def environment(self, **more: str) -> dict[str, str]:
        return {**os.environ, "NVML_SCENARIO": str(self.folder / "scenario"), **more}

    def once(self, scenario: str, library: pathlib.Path | None = None, with_library: bool = True, **more: str) -> Series:
        self.play(scenario)
        done = subprocess.run([EXE, "monitor", "--once", "--period", "0.15", "--root", self.root,
                               *(("--nvml", library or self.library) if with_library else ())],
                              env=self.environment(**more), capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return parse(done.stdout)

    @contextlib.contextmanager
    def serving(self, scenario: str, *words: str) -> Iterator[Callable[..., Series]]:
        """Calls until(condition): the first sample for which that holds."""
        self.play(scenario)
        monitor = subprocess.Popen([EXE, "monitor", "--listen", "127.0.0.1:0", "--period", "0.03", "--root", self.root, "--nvml", self.library, *words],
                                   env=self.environment(), stderr=subprocess.PIPE, text=True)
        assert monitor.stderr
        try:
            match = re.search(r"http://\S+", monitor.stderr.readline())
            assert match

            def until(condition: Callable[[Series], object]) -> Series:
                deadline = time.monotonic() + PATIENCE_S
                while True:
                    with urllib.request.urlopen(match.group(), timeout=PATIENCE_S) as page:
                        series = parse(page.read().decode())
                    if condition(series):
                        return series
                    if time.monotonic() > deadline:
                        self.fail(f"it never came to this: {sorted(series.items())}")
                    time.sleep(0.02)

            yield until
        finally:
            monitor.terminate()
            monitor.wait(PATIENCE_S)
            monitor.stderr.close()


class Values(Case):
    def test_all(self) -> None:
        for address in ("0000:1a:00.0", "0000:1b:00.0"):
            self.gpu_on_bus(address)
        series = self.once(RICH)
        for uuid, number in (("GPU-0", "0"), ("GPU-1", "1")):
            found = {n: of(series, n, uuid=uuid, gpu=number) for n in EXPECTED}
            self.assertEqual(found, {n: [v] for n, v in EXPECTED.items()})
            for (metric, label), values in KINDS.items():
                self.assertEqual(by(series, metric, label, uuid=uuid, gpu=number), values, metric)
        self.assertEqual(by(series, "holdup_gpu_processes", "uuid"), {"GPU-0": 3, "GPU-1": 0})
        self.assertEqual(of(series, "holdup_gpus_expected", vendor="nvidia"), [2])
        self.assertEqual(of(series, "holdup_gpu_xid_errors_total"), [2])
        self.assertEqual(problems(series), [])
        info = dict(next(l for (n, l) in series if n == "holdup_gpu_info" and dict(l)["gpu"] == "1"))
        self.assertEqual(info, {"gpu": "1", "uuid": "GPU-1", "vendor": "nvidia", "model": "Stand-in 80GB", "pci_bus_id": "0000:1b:00.0",
                                "minor": "5", "driver": "580.95.05"})
        # every row of the table is filled, by this scene
        rows = set(re.findall(r'"(holdup_gpus?_\w+)"', (ROOT / "src/monitor/metrics_gpu.h").read_text()))
        self.assertEqual(rows - names(series), set())
        self.assertGreater(len(rows), 60)

    def test_slow_to_begin(self) -> None:
        """What two looks tell has a period between them, however long the driver takes to begin: --once has it, too."""
        self.assertEqual(of(self.once("delay nvmlInit_v2 1\ngpm -1 2 50\n"), "holdup_gpu_sm_active_ratio"), [0.5])

    def test_old_driver(self) -> None:
        """What branch 450 lacks is absent; first versions and names are asked instead."""
        self.use("old.so")
        series = self.once("driver 450.80.02\nprocesses 0 2 50\nxid 0 13 1\nfield 82 71 1\nfield 197 5\nfield 269 5\nfield 251 5\n")
        self.assertEqual(of(series, "holdup_gpu_memory_used_bytes"), [12e9])
        self.assertEqual(of(series, "holdup_gpu_temperature_celsius"), [61])
        self.assertEqual(of(series, "holdup_gpu_processes"), [2])
        self.assertEqual(by(series, "holdup_gpu_xid_errors_total", "xid"), {"13": 1})
        self.assertEqual(by(series, "holdup_gpu_clock_event_reason", "reason")["software power cap"], 1)
        self.assertEqual(of(series, "holdup_gpu_memory_temperature_celsius"), [71])
        gone = {"holdup_gpu_memory_reserved_bytes", "holdup_gpu_sm_active_ratio", "holdup_gpu_temperature_margin_celsius", "holdup_gpu_fabric_state",
                "holdup_gpu_pcie_transmit_bytes_total", "holdup_gpu_throttle_seconds_total"}
        self.assertEqual(gone & names(series), set())

    def test_branches(self) -> None:
        """Fields 251 to 253 are power smoothing but in branch 575, and 269 to 271 up to it; of a branch that is not known, none is taken."""
        fields = "".join(f"field {i} {i}000000000\n" for i in (251, 252, 253, 269, 270, 271)) + "field 230 1\nfield 197 9\nfield 186 1000\n"
        kinds = ("software thermal slowdown", "hardware thermal slowdown", "hardware power brake")
        for driver, ids, others in (("525.60.13", (), 0), ("535.261.03", (), 1), ("560.35.03", (), 2), ("570.86.15", (), 3), ("575.57.08", (251, 252, 253), 3),
                                    ("580.95.05", (269, 270, 271), 3), ("615.10", (269, 270, 271), 3), ("616.10", (), 3), ("999999.1", (), 0), ("strange", (), 0)):
            with self.subTest(driver=driver):
                series = self.once(f"driver {driver}\n{fields}")
                self.assertEqual(by(series, "holdup_gpu_throttle_seconds_total", "reason"), dict(zip(kinds, ids)))
                found = names(series) & {"holdup_gpu_power_instant_watts", "holdup_gpu_pcie_transmit_bytes_total", "holdup_gpu_recovery_action"}
                self.assertEqual(len(found), others, found)

    def test_garbage(self) -> None:
        series = self.once("value nvmlDeviceGetUtilizationRates 4000\nvalue nvmlDeviceGetDecoderUtilization 101\nvalue nvmlDeviceGetTemperatureV 255\n"
                           "field 82 4294967295 1\nfield 138 77 1\nfield 139 77 9\ngpm -1 2 500\ngpm -1 3 nan\ngpm -1 5 -1\ngpm -1 10 50\n"
                           "value nvmlDeviceGetCurrentClocksEventReasons 2052\nvalue nvmlDeviceGetGpuFabricInfoV 9\n")
        gone = {"holdup_gpu_utilization_ratio", "holdup_gpu_memory_busy_ratio", "holdup_gpu_decoder_utilization_ratio", "holdup_gpu_temperature_celsius",
                "holdup_gpu_memory_temperature_celsius", "holdup_gpu_nvlink_transmit_bytes_total", "holdup_gpu_nvlink_receive_bytes_total",
                "holdup_gpu_sm_active_ratio", "holdup_gpu_sm_occupancy_ratio", "holdup_gpu_tensor_active_ratio", "holdup_gpu_fabric_state"}
        self.assertEqual(gone & names(series), set())
        self.assertEqual(of(series, "holdup_gpu_dram_active_ratio"), [0.5])
        reasons = {k: v for k, v in by(series, "holdup_gpu_clock_event_reason", "reason").items() if v}
        self.assertEqual(reasons, {"software power cap": 1, "0x800": 1})
        self.assertEqual(of(series, "holdup_gpu_up"), [1])

    def test_fabric(self) -> None:
        for value, driver, state, healthy in ((0, "580.1", [], []), (1, "580.1", [1], []), (302, "580.1", [2], []), (3, "580.1", [3], []), (13, "580.1", [3], [1]),
                                              (23, "580.1", [3], [0]), (33, "580.1", [3], [0]), (1513, "580.1", [3], [0]), (3, "535.1", [3], []), (1503, "535.1", [3], [0])):
            with self.subTest(value=value, driver=driver):
                series = self.once(f"driver {driver}\nvalue nvmlDeviceGetGpuFabricInfoV {value}\n")
                self.assertEqual(of(series, "holdup_gpu_fabric_state"), state)
                self.assertEqual(of(series, "holdup_gpu_fabric_healthy"), healthy)

        self.assertEqual(of(self.once("code nvmlDeviceGetGpuFabricInfoV 13\n"), "holdup_gpu_fabric_state"), [2])  # the first call of that name

    def test_processes_that_come(self) -> None:
        """The list is longer than what was asked for, and longer still at the next question."""
        series = self.once("processes 0 1000 5000\n")
        self.assertEqual(of(series, "holdup_gpu_processes"), [1000])

    def test_links(self) -> None:
        """NVLink 5 counts by link; what a link that is gone had counted stays in the sum."""
        with self.serving("link 0 1000 10\nlink 17 500 5\n") as until:
            until(lambda s: of(s, "holdup_gpu_nvlink_transmit_bytes_total") == [1500] and of(s, "holdup_gpu_nvlink_receive_bytes_total") == [15])
            self.play("link 0 1100 20\n")
            until(lambda s: of(s, "holdup_gpu_nvlink_transmit_bytes_total") == [1600] and of(s, "holdup_gpu_nvlink_receive_bytes_total") == [25])


class Divided(Case):
    SCENE = ("gpus 2\nprocesses 1 2 70\ngpm -1 2 50\ngpm 3 2 12\ngpm 5 2 99\n"
             "part 1 3 0 MIG-a 1g.10gb\npart 1 3 1 MIG-b 1c.1g.10gb\npart 1 5 0 MIG-c 2g.20gb\n")

    def test_parts(self) -> None:
        """A whole GPU's values once, an instance's once, utilization never."""
        series = self.once(self.SCENE)
        self.assertEqual(by(series, "holdup_gpu_mig_mode", "gpu"), {"0": 0, "1": 1})
        self.assertEqual(by(series, "holdup_gpu_power_watts", "uuid"), {"GPU-0": 500.25, "GPU-1": 500.25})
        self.assertEqual(by(series, "holdup_gpu_utilization_ratio", "uuid"), {"GPU-0": 0.9})
        self.assertEqual(by(series, "holdup_gpu_sm_active_ratio", "uuid"), {"GPU-0": 0.5, "GPU-1": 0.5, "MIG-a": 0.12, "MIG-c": 0.99})
        self.assertEqual(by(series, "holdup_gpu_memory_used_bytes", "uuid"), {"GPU-0": 11e9, "GPU-1": 11e9, "MIG-a": 1e9, "MIG-c": 1e9})
        self.assertEqual(by(series, "holdup_gpu_memory_used_bytes", "gi", gpu="1"), {"": 11e9, "3": 1e9, "5": 1e9})
        self.assertEqual(by(series, "holdup_gpu_processes", "uuid"), {"GPU-0": 0, "MIG-a": 2, "MIG-b": 2, "MIG-c": 2})
        info = dict(next(l for (n, l) in series if n == "holdup_gpu_info" and dict(l)["uuid"] == "MIG-b"))
        self.assertEqual(info, {"gpu": "1", "uuid": "MIG-b", "gi": "3", "ci": "1", "parent": "GPU-1", "vendor": "nvidia", "model": "Stand-in 80GB",
                                "pci_bus_id": "0000:1b:00.0", "minor": "5", "driver": "580.95.05", "profile": "1c.1g.10gb"})
        self.assertEqual(by(series, "holdup_gpu_up", "uuid"), {"GPU-0": 1, "GPU-1": 1})

    def test_divided_anew(self) -> None:
        with self.serving(self.SCENE) as until:
            until(lambda s: "MIG-a" in by(s, "holdup_gpu_sm_active_ratio", "uuid"))
            self.play("gpus 2\ngpm -1 2 50\ngpm 3 2 12\ngpm 9 2 33\npart 1 9 0 MIG-d 3g.40gb\n")
            series = until(lambda s: by(s, "holdup_gpu_sm_active_ratio", "uuid").get("MIG-d") == 0.33)
            self.assertEqual({u for u in by(series, "holdup_gpu_info", "uuid") if u.startswith("MIG")}, {"MIG-d"})
            self.play("gpus 2\ngpm -1 2 50\n")
            series = until(lambda s: by(s, "holdup_gpu_mig_mode", "gpu").get("1") == 0)
            series = until(lambda s: "GPU-1" in by(s, "holdup_gpu_utilization_ratio", "uuid"))
            self.assertEqual(names(series, uuid="MIG-d"), set())


class Trouble(Case):
    def test_codes(self) -> None:
        """What is never there is asked for no more; what is not there just now comes back; the rest is there all the time."""
        calls = {"nvmlDeviceGetPowerUsage": "holdup_gpu_power_watts", "nvmlDeviceGetUtilizationRates": "holdup_gpu_utilization_ratio",
                 "nvmlDeviceGetCurrentClocksEventReasons": "holdup_gpu_clock_event_reason", "nvmlDeviceGetTotalEnergyConsumption": "holdup_gpu_energy_joules_total",
                 "nvmlDeviceGetMarginTemperature": "holdup_gpu_temperature_margin_celsius", "nvmlDeviceGetTotalEccErrors": "holdup_gpu_ecc_errors_total",
                 "nvmlGpmSampleGet": "holdup_gpu_sm_active_ratio", "field": "holdup_gpu_memory_temperature_celsius"}
        scene = "gpm -1 2 50\nfield 82 50 1\n"
        for code, comes_back in ((3, False), (4, False), (17, False), (25, False), (26, False), (6, True), (10, True), (21, True), (27, True), (999, True)):
            with self.subTest(code=code):
                with self.serving(scene + "".join(f"code {c} {code}\n" for c in calls)) as until:
                    series = until(lambda s: of(s, "holdup_gpu_up") == [1] and of(s, "holdup_gpu_pcie_link_width") == [8])
                    self.assertEqual(set(calls.values()) & names(series), set())
                    self.play(scene + "value nvmlDeviceGetCurrPcieLinkWidth 4\n")
                    series = until(lambda s: of(s, "holdup_gpu_pcie_link_width") == [4])
                    if comes_back:
                        until(lambda s: set(calls.values()) <= names(s))
                    else:
                        self.assertEqual(set(calls.values()) & names(series), set())

    def check_lost(self, how: str) -> None:
        """One of two GPUs goes, in whatever call, and comes back; the other one is there all the time."""
        scene = "gpus 2\ngpm -1 2 50\nfield 82 50 1\n"
        with self.serving(scene + "xid 0 79 1\n") as until:
            until(lambda s: by(s, "holdup_gpu_up", "gpu") == {"0": 1, "1": 1} and of(s, "holdup_gpu_energy_joules_total", gpu="0"))
            self.play(scene + how)
            series = until(lambda s: by(s, "holdup_gpu_up", "gpu") == {"0": 0, "1": 1})
            self.assertEqual(names(series, uuid="GPU-0"), {"holdup_gpu_up"} | XIDS)
            self.assertLessEqual({"holdup_gpu_power_watts", "holdup_gpu_energy_joules_total", "holdup_gpu_ecc_errors_total", "holdup_gpu_info"},
                                 names(series, uuid="GPU-1"))
            self.assertTrue(any(p.startswith("GPU 0 (0000:1a:00.0) does not answer: ") for p in problems(series)), problems(series))
            self.play(scene)
            series = until(lambda s: by(s, "holdup_gpu_up", "gpu") == {"0": 1, "1": 1})
            self.assertLessEqual({"holdup_gpu_power_watts", "holdup_gpu_energy_joules_total", "holdup_gpu_ecc_errors_total", "holdup_gpu_info"},
                                 names(series, uuid="GPU-0"))
            self.assertEqual(problems(series), [])

    def test_lost_in_a_fast_call(self) -> None:
        self.check_lost("code nvmlDeviceGetPowerUsage 15 0\n")

    def test_lost_in_a_medium_call(self) -> None:
        self.check_lost("code nvmlDeviceGetTotalEnergyConsumption 16 0\n")

    def test_lost_in_a_slow_call(self) -> None:
        self.check_lost("code nvmlDeviceGetTotalEccErrors 11 0\n")

    def test_lost_in_a_field(self) -> None:
        self.check_lost("code field 15 0\n")

    def test_lost_in_a_sample(self) -> None:
        self.check_lost("code nvmlGpmSampleGet 15 0\n")

    def test_no_handle(self) -> None:
        self.check_lost("code nvmlDeviceGetHandleByIndex_v2 15 0\ncode nvmlDeviceGetPowerUsage 15 0\n")

    def test_nothing_but_unknown_errors(self) -> None:
        calls = ("UtilizationRates", "ClockInfo", "PowerUsage", "CurrentClocksEventReasons", "EncoderUtilization", "DecoderUtilization")
        self.check_lost("".join(f"code nvmlDeviceGet{c} 999 0\n" for c in calls))

    def test_the_only_one(self) -> None:
        """No GPU answers: the driver is let go, so that the GPU may be reset, and asked again."""
        with self.serving("") as until:
            until(lambda s: of(s, "holdup_gpu_up") == [1])
            self.play("code nvmlDeviceGetPowerUsage 16\n")
            series = until(lambda s: of(s, "holdup_gpu_up") == [0])
            self.assertEqual(names(series, uuid="GPU-0"), {"holdup_gpu_up"})
            self.assertEqual(problems(series), ["GPU 0 (0000:1a:00.0) does not answer: GPU needs a reset"])
            self.play("")
            until(lambda s: of(s, "holdup_gpu_up") == [1] and not problems(s))

    def test_lost_before(self) -> None:
        """A GPU that is lost when the monitor starts is known by its place on the bus alone."""
        for address in ("0000:1a:00.0", "0000:1b:00.0"):
            self.gpu_on_bus(address)
        series = self.once("gpus 2\ncode nvmlDeviceGetHandleByIndex_v2 15 0\n")
        self.assertEqual(by(series, "holdup_gpu_up", "uuid"), {"0000:1a:00.0": 0, "GPU-1": 1})

    def check_driver(self, code: int, words: str) -> None:
        """The driver goes; then there is another one, with a library of its own."""
        with self.serving("gpus 2\nxid 1 48 4\n") as until:
            until(lambda s: by(s, "holdup_gpu_up", "gpu") == {"0": 1, "1": 1} and of(s, "holdup_gpu_memory_reserved_bytes", gpu="0"))
            self.play(f"gpus 2\ncode nvmlInit_v2 {code}\ncode nvmlDeviceGetClockInfo {code}\n")
            series = until(lambda s: by(s, "holdup_gpu_up", "gpu") == {"0": 0, "1": 0} and problems(s))
            for uuid in ("GPU-0", "GPU-1"):
                self.assertEqual(names(series, uuid=uuid) - XIDS, {"holdup_gpu_up"})
            self.assertIn(words, problems(series)[0])
            self.use("old.so")
            self.play("gpus 2\ndriver 450.80.02\n")
            series = until(lambda s: by(s, "holdup_gpu_up", "gpu") == {"0": 1, "1": 1})
            self.assertEqual(set(by(series, "holdup_gpu_info", "driver")), {"450.80.02"})
            self.assertEqual(by(series, "holdup_gpu_memory_used_bytes", "gpu"), {"0": 12e9, "1": 12e9})
            self.assertNotIn("holdup_gpu_memory_reserved_bytes", names(series))
            self.assertEqual(by(series, "holdup_gpu_xid_errors_total", "xid"), {"48": 4})

    def test_driver_unloaded(self) -> None:
        self.check_driver(9, "driver")

    def test_driver_upgraded(self) -> None:
        self.check_driver(18, "library and driver are of different versions")

    def test_other_number_of_gpus(self) -> None:
        for address in ("0000:1a:00.0", "0000:1b:00.0", "0000:1c:00.0"):
            self.gpu_on_bus(address)
        with self.serving("gpus 2\n") as until:
            series = until(lambda s: by(s, "holdup_gpu_up", "gpu") == {"0": 1, "1": 1})
            self.assertEqual(of(series, "holdup_gpus_expected"), [3])
            self.assertEqual(problems(series), ["the driver shows 2 of 3 NVIDIA GPUs on the bus"])
            self.play("gpus 3\n")
            series = until(lambda s: by(s, "holdup_gpu_up", "gpu") == {"0": 1, "1": 1, "2": 1})
            self.assertEqual(problems(series), [])
            self.play("gpus 1\n")
            series = until(lambda s: by(s, "holdup_gpu_up", "gpu") == {"0": 1, "1": 0, "2": 0})
            self.assertEqual(names(series, uuid="GPU-2"), {"holdup_gpu_up"})
            device = self.root / "sys/bus/pci/devices/0000:1c:00.0"
            device.rename(self.folder / "pulled-out")
            self.play("gpus 2\n")
            series = until(lambda s: by(s, "holdup_gpu_up", "gpu") == {"0": 1, "1": 1})
            self.assertEqual(of(series, "holdup_gpus_expected"), [2])

    def test_hang(self) -> None:
        """A call that does not return takes the series of the GPUs with it, and nothing else; XIDs are still known afterwards."""
        with self.serving("xid 0 62 3\n") as until:
            until(lambda s: of(s, "holdup_gpu_power_watts") and of(s, "holdup_gpu_xid_errors_total") == [3])
            self.log(20, "NVRM: Xid (PCI:0000:1a:00): 62, 1")
            self.play("hang nvmlDeviceGetPowerUsage\n")
            series = until(lambda s: not names(s, uuid="GPU-0"))
            self.assertTrue(any(n.startswith("holdup_host_") for n in names(series)))
            for number in range(21, 25):
                self.log(number, "NVRM: Xid (PCI:0000:1a:00): 62, while nobody looked")
            self.play("")
            series = until(lambda s: of(s, "holdup_gpu_power_watts") and of(s, "holdup_gpu_xid_errors_total") == [5])
            self.assertGreaterEqual(of(series, "holdup_monitor_restarts_total", process="gpu")[0], 1)

    def test_hang_from_the_beginning(self) -> None:
        series = self.once("hang nvmlInit_v2\n")
        self.assertEqual(by(series, "holdup_monitor_problem", "what", source="gpu"),
                         {"its sampler does not answer: a call that it made has not returned": 1})
        self.assertTrue(any(n.startswith("holdup_host_") for n in names(series)))

    def test_slow_to_begin(self) -> None:
        """A driver that nobody uses prepares its GPUs first: longer than a sampler may be silent later, which is 2 s here."""
        with self.serving("delay nvmlInit_v2 4\n") as until:
            series = until(lambda s: of(s, "holdup_gpu_up") == [1])
            self.assertEqual(of(series, "holdup_monitor_restarts_total", process="gpu"), [0])
            self.assertEqual(of(series, "holdup_monitor_stuck", process="gpu"), [0])

    def test_no_permission(self) -> None:
        """A GPU that may not be opened is no broken one."""
        series = self.once("gpus 2\ncode nvmlDeviceGetHandleByIndex_v2 4 1\n")
        self.assertEqual(sorted(of(series, "holdup_gpu_up")), [0, 1])
        what, fix = next((dict(l)["what"], dict(l)["fix"]) for (n, l) in series if n == "holdup_monitor_problem")
        self.assertEqual(what, "GPU 1 does not answer: no permission")
        self.assertIn("/dev/nvidia*", fix)

    def test_no_gpus(self) -> None:
        series = self.once("gpus 0\n")
        self.assertEqual(problems(series), ["the NVIDIA driver shows no GPU"])
        self.assertEqual(of(series, "holdup_gpu_up"), [])


class Xids(Case):
    def test_two_tellers(self) -> None:
        """The same errors told twice count once, one that only one of them tells of counts too, and what was before does not."""
        with self.serving("gpus 2\n") as until:
            self.assertEqual(of(until(lambda s: of(s, "holdup_gpu_power_watts")), "holdup_gpu_xid_errors_total"), [])
            self.play("gpus 2\nxid 0 31 2\nxid 1 79 1\n")
            for number, text in enumerate(("NVRM: Xid (PCI:0000:1a:00): 31, pid=7, name=python, MMU Fault", "NVRM: Xid (PCI:0000:1a:00): 31",
                                           "NVRM: Xid (0000:1b:00): 79, GPU has fallen off the bus.", "NVRM: Xid (PCI:0000:1b:00): 79, again",
                                           "NVRM: Xid (PCI:0000:1B:00.0): 62, 1234", "NVRM: Xid (PCI:0007:02:00): 48, of one that the driver does not show",
                                           "usb 1-1: NVRM: Xid (PCI:0000:1a:00): 99, not at its beginning", "NVRM: Xid (PCI:0000:1a:00) 98, cut",
                                           "NVRM: Xid (PCI:0000:1a:00): none"), start=8):
                self.log(number, text)
            expected = {("GPU-0", "31"): 2, ("GPU-1", "79"): 2, ("GPU-1", "62"): 1, ("0007:02:00", "48"): 1}
            before = time.time()

            def counts(s: Series) -> dict[tuple[str, str], float]:
                return {(dict(l)["uuid"], dict(l)["xid"]): v for (n, l), v in s.items() if n == "holdup_gpu_xid_errors_total"}

            series = until(lambda s: counts(s) == expected)
            for last in of(series, "holdup_gpu_xid_last_timestamp_seconds"):
                self.assertLess(abs(last - before), PATIENCE_S + 60)
            self.play("gpus 2\nxid 0 31 1000\n")  # a burst
            until(lambda s: counts(s) == {**expected, ("GPU-0", "31"): 1002})

    def test_no_log(self) -> None:
        (self.root / "dev/kmsg").unlink()
        series = self.once("xid 0 31 1\n")
        self.assertEqual(of(series, "holdup_gpu_xid_errors_total"), [1])
        self.assertEqual(problems(series), ["the kernel log cannot be read: XIDs that the driver tells nobody else are not counted"])


class NoDriver(Case):
    def test_gpus_on_the_bus(self) -> None:
        for address, kind in (("0000:3b:00.0", "0x030200"), ("0000:5e:00.0", "0x030000")):
            self.gpu_on_bus(address, kind=kind)
        self.gpu_on_bus("0000:3b:00.1", kind="0x040300")  # its sound
        self.gpu_on_bus("0000:86:00.0", vendor="0x1002")
        self.gpu_on_bus("0000:af:00.0", driver="vfio-pci")
        series = self.once("", with_library=False)
        self.assertEqual(of(series, "holdup_gpus_expected", vendor="nvidia"), [2])
        self.assertEqual(problems(series), ["2 NVIDIA GPUs on the bus, no driver loaded"])
        self.assertEqual(of(series, "holdup_gpu_up"), [])

    def test_library_is_left_alone(self) -> None:
        """It makes device nodes when it is started without a driver; with one, it is started."""
        started = self.folder / "started"
        nodes = sorted(pathlib.Path("/dev").glob("nvidia*"))
        environment = {"LD_LIBRARY_PATH": str(self.folder), "NVML_STARTED": str(started)}
        series = self.once("", with_library=False, **environment)
        self.assertFalse(started.exists())
        self.assertEqual(problems(series), ["no NVIDIA driver is loaded, and no NVIDIA GPU is on the bus"])
        self.assertEqual(sorted(pathlib.Path("/dev").glob("nvidia*")), nodes)
        (self.root / "proc/driver/nvidia").mkdir(parents=True)
        (self.root / "proc/driver/nvidia/version").write_text("NVRM version: stand-in\n")
        series = self.once("", with_library=False, **environment)
        self.assertTrue(started.exists())
        self.assertEqual(of(series, "holdup_gpu_up"), [1])

    def test_library_that_fails(self) -> None:
        for code, words in ((4, "no permission"), (17, "blocked by the operating system"), (18, "of different versions"), (999, "unknown error")):
            with self.subTest(code=code):
                what, = problems(self.once(f"code nvmlInit_v2 {code}\n"))
                self.assertIn(words, what)
        what, = problems(self.once("", library=self.folder / "none.so"))
        self.assertIn("cannot be loaded", what)


if __name__ == "__main__":
    unittest.main()
