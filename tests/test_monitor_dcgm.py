# SPDX-License-Identifier: Apache-2.0
"""`holdup monitor --dcgm`: a libdcgm of ours beside a libnvidia-ml of ours; the values of units that NVML does not tell, and nothing twice, late or guessed."""
from __future__ import annotations

import subprocess
import unittest

from tests import test_monitor_nvidia as nvidia
from tests.program import EXE, ROOT

# NVML tells of the units of GPU 0, and not of those of GPU 1
GPUS = "gpus 2\ngpm -1 2 55.5\ncode nvmlGpmQueryDeviceSupport 3 1\n"
# the engine counts them the other way round
ENGINE = "gpu 0 GPU-1\ngpu 1 GPU-0\n"
VALUES = {1001: ("graphics_active_ratio", "d", 0.75), 1002: ("sm_active_ratio", "d", 0.5), 1003: ("sm_occupancy_ratio", "d", 0.25), 1004: ("tensor_active_ratio", "d", 0.125),
          1005: ("dram_active_ratio", "d", 1), 1006: ("fp64_active_ratio", "d", 0), 1007: ("fp32_active_ratio", "d", 0.0625), 1008: ("fp16_active_ratio", "d", 0.03125),
          1009: ("pcie_transmit_bytes_per_second", "i", 1009000), 1010: ("pcie_receive_bytes_per_second", "i", 1010000),
          1011: ("nvlink_transmit_bytes_per_second", "i", 1011000), 1012: ("nvlink_receive_bytes_per_second", "d", 1012000.5)}
NAMES = {f"holdup_gpu_{name}" for name, _, _ in VALUES.values()}


def all_of(entity: int, age_ms: int = 0) -> str:
    return "".join(f"value {entity} {field} {kind} {value} {age_ms} 0\n" for field, (_, kind, value) in VALUES.items())


def problems(series: nvidia.Series) -> list[tuple[str, str]]:
    return [(dict(l)["what"], dict(l)["fix"]) for (n, l) in series if n == "holdup_monitor_problem" and dict(l)["source"] == "dcgm"]


def units(series: nvidia.Series, gpu: str = "1") -> dict[str, float]:
    return {n: v for (n, l), v in series.items() if n in NAMES and dict(l)["gpu"] == gpu}


class Dcgm(nvidia.Case):
    def setUp(self) -> None:
        super().setUp()
        self.build("libdcgm.so.4")
        self.engine(ENGINE + all_of(0))

    def build(self, name: str) -> None:
        subprocess.run(["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", self.folder / name, ROOT / "tests/monitor/dcgm_standin.c"], check=True)

    def engine(self, text: str) -> None:
        new = self.folder / "new-engine"
        new.write_text(text)
        new.rename(self.folder / "engine")

    def environment(self, **more: str) -> dict[str, str]:
        return {**super().environment(), "LD_LIBRARY_PATH": str(self.folder), "DCGM_SCENARIO": str(self.folder / "engine"), "DCGM_LOG": str(self.folder / "log"), **more}

    def look(self, *words: str) -> nvidia.Series:
        self.play(GPUS)
        done = subprocess.run([EXE, "monitor", "--once", "--period", "0.3", "--root", self.root, "--nvml", self.library, *words], env=self.environment(), capture_output=True,
                              text=True, timeout=nvidia.PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return nvidia.parse(done.stdout)

    def said(self) -> list[str]:
        path = self.folder / "log"
        return path.read_text().splitlines() if path.exists() else []

    def test_values(self) -> None:
        """Each of the GPU whose units NVML does not tell, under the number of nvidia-smi; NVML's own of the other one."""
        self.engine(ENGINE + all_of(0) + all_of(1) + "other 0 1002 0.99\n")
        series = self.look("--dcgm")
        self.assertEqual(units(series), {f"holdup_gpu_{name}": value for name, _, value in VALUES.values()})
        self.assertEqual({l for (n, l) in series if n in NAMES and dict(l)["gpu"] == "1"}, {(("gpu", "1"), ("uuid", "GPU-1"))})
        self.assertEqual(units(series, "0"), {"holdup_gpu_sm_active_ratio": 0.555})
        self.assertEqual(problems(series), [])
        self.assertEqual(nvidia.of(series, "holdup_monitor_source_up", source="dcgm"), [1])
        self.assertEqual(self.said()[:2], ["connect 127.0.0.1 0 500", "watch - 300000 13"])

    def test_only_who_asks(self) -> None:
        series = self.look()
        self.assertEqual((units(series), problems(series), self.said()), ({}, [], []))

    def test_places(self) -> None:
        self.look("--dcgm=gpu-node:5556")
        self.look("--dcgm=/run/dcgm.sock")
        self.assertEqual([line for line in self.said() if line.startswith("connect")], ["connect gpu-node:5556 0 500", "connect /run/dcgm.sock 1 500"])

    def test_blank(self) -> None:
        """What DCGM says instead of a number, what is none, and what is out of range."""
        self.engine(ENGINE + "value 0 1001 d 140737488355328 0 0\nvalue 0 1002 d 140737488355330 0 0\nvalue 0 1003 d nan 0 0\nvalue 0 1004 d 1.5 0 0\n"
                    "value 0 1005 d -0.5 0 0\nvalue 0 1006 d 0.5 0 -6\nvalue 0 1007 s 0.5 0 0\nvalue 0 1009 i 0x7ffffffffffffff2 0 0\n"
                    "value 0 1010 i -1 0 0\nvalue 0 1011 i 7 0 0\nvalue 40 1002 d 0.5 0 0\n")
        self.assertEqual(units(self.look("--dcgm")), {"holdup_gpu_nvlink_transmit_bytes_per_second": 7})

    def test_old(self) -> None:
        """An engine that measures no more has old values."""
        self.engine(ENGINE + all_of(0, 60000) + "value 0 1002 d 0.25 0 0\n")
        self.assertEqual(units(self.look("--dcgm")), {"holdup_gpu_sm_active_ratio": 0.25})

    def test_other_gpus(self) -> None:
        """A GPU that NVML does not show, and one without a name, are nobody's."""
        self.engine("gpu 0 GPU-7\ngpu 2 MIG-1\n" + all_of(0) + all_of(1) + all_of(2))
        self.assertEqual(units(self.look("--dcgm")), {})

    def test_failures(self) -> None:
        fix = "install and start DCGM (package datacenter-gpu-manager-4-core, service nvidia-dcgm), or leave out --dcgm"
        for call, code, what in (("dcgmInit", -7, "libdcgm does not start: error (-7)"),
                                 ("dcgmConnect_v2", -21, "DCGM's host engine does not answer: The connection to the host engine is not valid any longer (-21)"),
                                 ("dcgmFieldGroupCreate", -1, "DCGM's host engine does not measure what units do: error (-1)"),
                                 ("dcgmWatchFields", -33, "DCGM's host engine does not measure what units do: error (-33)")):
            with self.subTest(call):
                self.engine(f"code {call} {code}\n")
                series = self.look("--dcgm")
                self.assertEqual((units(series), problems(series)), ({}, [(what, fix)]))
                self.assertEqual(nvidia.of(series, "holdup_gpu_up"), [1, 1])

    def test_no_library(self) -> None:
        (self.folder / "libdcgm.so.4").unlink()
        (what, _), = problems(self.look("--dcgm"))
        self.assertIn("libdcgm.so.4", what)
        self.build("libdcgm.so.3")
        self.assertEqual(len(units(self.look("--dcgm"))), len(VALUES))

    def test_library_that_is_none(self) -> None:
        subprocess.run(["cc", "-shared", "-fPIC", "-xc", "/dev/null", "-o", self.folder / "libdcgm.so.4"], check=True)
        (what, _), = problems(self.look("--dcgm"))
        self.assertEqual(what, "libdcgm lacks a function that is needed: it is of neither version 3 nor 4")

    def test_an_engine_that_goes_and_comes(self) -> None:
        self.engine(ENGINE + all_of(0))
        with self.serving(GPUS, "--dcgm") as until:
            until(lambda s: len(units(s)) == len(VALUES))
            self.engine("code dcgmGetLatestValues_v2 -21\ncode dcgmConnect_v2 -21\n")
            series = until(lambda s: not units(s) and problems(s))
            self.assertEqual(nvidia.of(series, "holdup_gpu_up"), [1, 1])
            self.engine(ENGINE + all_of(0))
            series = until(lambda s: len(units(s)) == len(VALUES))
            self.assertEqual(problems(series), [])
            self.assertIn("disconnect - 77 0", self.said())

    def test_a_gpu_that_is_lost(self) -> None:
        """What DCGM still says of it is not shown."""
        with self.serving(GPUS, "--dcgm") as until:
            until(lambda s: len(units(s)) == len(VALUES))
            self.play(GPUS + "code nvmlDeviceGetPowerUsage 15 1\ncode nvmlDeviceGetUtilizationRates 15 1\ncode nvmlDeviceGetName 15 1\n")
            series = until(lambda s: nvidia.of(s, "holdup_gpu_up", gpu="1") == [0] and not units(s))
            self.assertEqual(nvidia.of(series, "holdup_gpu_up", gpu="0"), [1])

    def test_an_engine_that_hangs(self) -> None:
        """It takes its own series with it, and those of NVML are back once it is left out."""
        with self.serving(GPUS, "--dcgm") as until:
            until(lambda s: len(units(s)) == len(VALUES))
            self.engine("hang dcgmGetLatestValues_v2\n")
            until(lambda s: nvidia.of(s, "holdup_monitor_stuck", process="gpu") == [1] and not units(s))
            series = until(lambda s: nvidia.of(s, "holdup_gpu_power_watts") and not units(s))
            self.assertEqual(nvidia.of(series, "holdup_gpu_up"), [1, 1])


if __name__ == "__main__":
    unittest.main()
