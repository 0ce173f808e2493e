# SPDX-License-Identifier: Apache-2.0
"""The stand-in of libnvidia-ml itself, asked by a program that knows nothing but the same header."""
from __future__ import annotations

import pathlib
import subprocess
import tempfile
import unittest

from tests.monitor import scene, standin
from tests.program import ROOT, SANITIZED

KEYS = ("nvmlDeviceGetUtilizationRates.gpu", "nvmlDeviceGetUtilizationRates.memory", "nvmlDeviceGetMemoryInfo.total", "nvmlDeviceGetMemoryInfo.used",
        "nvmlDeviceGetMemoryInfo.free", "nvmlDeviceGetMemoryInfo.reserved", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetTotalEnergyConsumption",
        "nvmlDeviceGetClockInfo.NVML_CLOCK_MEM", "nvmlDeviceGetRemappedRows.uncRows", "nvmlDeviceGetTotalEccErrors.UNCORRECTED.AGGREGATE")


def load_tests(_loader, tests, _pattern):
    """Nothing of the program runs here."""
    return unittest.TestSuite() if SANITIZED else tests


class StandIn(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.log = self.folder / "log"

    def build(self, cuda: str, without: tuple[str, ...] = ()) -> standin.Scenario:
        self.header = standin.header(cuda)
        self.library = standin.build(cuda, self.folder / "libnvidia-ml.so.1", without)
        subprocess.run(["cc", "-O1", "-Wall", "-Werror", "-DNVML_NO_UNVERSIONED_FUNC_DEFS", f"-isystem{self.header.folder}", "-o", self.folder / "ask",
                        ROOT / "tests/monitor/ask.c", "-ldl"], check=True)
        return scene.scenario(self.folder / "scenario", cuda, self.header)

    def ask(self, *questions: tuple[int, str]) -> list[tuple[int, float]]:
        done = subprocess.run([self.folder / "ask", self.library], input="".join(f"{gpu} {key}\n" for gpu, key in questions), text=True, capture_output=True,
                              timeout=60, check=False, env={"HOLDUP_TEST_NVML": str(self.folder / "scenario"), "HOLDUP_TEST_NVML_LOG": str(self.log)})
        self.assertEqual(done.returncode, 0, done.stderr)
        return [(int(code), float(value)) for code, value in map(str.split, done.stdout.splitlines())]

    def check(self, cuda: str) -> None:
        s = self.build(cuda)
        gpus = range(3)
        for got, (gpu, key) in zip(self.ask(*((gpu, key) for gpu in gpus for key in KEYS)), ((gpu, key) for gpu in gpus for key in KEYS), strict=True):
            self.assertEqual(got, (0, s.number(gpu, key)), f"{cuda} GPU {gpu} {key}")
        fields = sorted(set(self.header.fields.values()))
        answers = self.ask(*((1, f"field#{number}") for number in fields))
        told = 0
        for number, (code, value) in zip(fields, answers, strict=True):
            names = [name for name, n in self.header.fields.items() if n == number]
            wanted = [s.number(1, key) for name in names for key in (f"field.{name}/{scene.ALL_LINKS}", f"field.{name}") if s.has(1, key)]
            self.assertEqual((code, value in wanted), (0, True) if wanted else (3, False), f"{cuda} {names} {value} {wanted}")
            told += bool(wanted)
        self.assertGreater(told, 140)
        self.assertEqual(self.ask((1, "field#9999"), (3, KEYS[0])), [(2, self.ask((1, "field#9999"))[0][1]), (2, 0)], "neither such a field nor such a GPU")
        for metric in ("SM_UTIL", "PCIE_RX_PER_SEC"):
            name = f"NVML_GPM_METRIC_{metric}"
            self.assertEqual(self.ask((2, f"metric#{self.header.metrics[name]}")), [(0, s.number(2, f"gpm.{name}"))])
        self.assertNotIn("wrong", self.log.read_text())

    def test_values(self) -> None:
        for cuda in standin.wanted():
            with self.subTest(cuda):
                self.check(cuda)

    def test_moved_ids(self) -> None:
        """The same number is another field in another header, and then it answers what that one means."""
        for cuda in ("12.9", "13.0"):
            s = self.build(cuda)
            number = self.header.fields["NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN"]
            self.assertEqual(number, {"12.9": 252, "13.0": 270}[cuda])
            self.assertEqual(self.ask((0, f"field#{number}")), [(0, s.number(0, "field.NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN"))])
            self.assertEqual(self.ask((0, "field#270"))[0] == self.ask((0, f"field#{number}"))[0], cuda == "13.0")

    def test_faults(self) -> None:
        s = self.build("12.0", without=("nvmlDeviceGetPowerUsage",))
        s.set(0, "nvmlDeviceGetTotalEnergyConsumption", "!4")
        s.drop(1, "nvmlDeviceGetUtilizationRates")
        s.set(0, "nvmlDeviceGetClockInfo.NVML_CLOCK_MEM", "7+calls*10")
        s.rules += ["fail nvmlDeviceGetMemoryInfo 21 from=2 to=3", "fail * 15 gpu=2"]
        s.write()
        energy, rates, power, memory = KEYS[7], KEYS[0], KEYS[6], KEYS[2]
        codes = [code for code, _ in self.ask((0, energy), (1, rates), (0, power), (0, memory), (0, memory), (1, memory), (0, memory), (2, rates), (0, rates))]
        self.assertEqual(codes, [4, 3, 13, 0, 21, 21, 0, 15, 0])
        self.assertEqual([v for _, v in self.ask(*((0, "nvmlDeviceGetClockInfo.NVML_CLOCK_MEM") for _ in range(3)))], [17, 27, 37])

    def test_processes_grow(self) -> None:
        """Each answer about the size is too small by then, three times."""
        s = self.build("13.5")
        s.set(0, "compute.grow", 5)
        s.write()
        self.assertEqual(self.ask((0, "processes")), [(0, 1 + 3 * 5)])


if __name__ == "__main__":
    unittest.main()
