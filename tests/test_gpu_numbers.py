# SPDX-License-Identifier: Apache-2.0
"""Which board a job's device is: what is sampled of boards carries the number that CUDA has for them in that process, by UUID, or says
that it is not known.

The driver, the device and CUPTI are stand-ins (tests/cuda), as is NVML (tests/nvml), whose board 0 has another clock and power than the rest."""
from __future__ import annotations

import json
import pathlib
import subprocess
import tempfile
import unittest
from typing import Any

from tests import recorder
from tests.cuda import stand, wheels
from tests.program import ROOT, SANITIZED, skip_loudly

LOOKS = 4
WATTS = (699.5, 71.25)      # of board 0, which is at its power cap from the first look on, and of every other one
UUID = "GPU-0000abc{}-1111-2222-3333-444444444444"


def load_tests(_loader, tests, _pattern):
    """The recorder works in other programs, without sanitizers: once is enough."""
    return unittest.TestSuite() if SANITIZED else tests


class Numbers(unittest.TestCase):
    def setUp(self) -> None:
        if not stand.INJECT.exists():
            skip_loudly(f"{stand.INJECT} was not built")
            raise unittest.SkipTest("no library")
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.asked = self.folder / "asked"
        self.nvml = self.folder / "libnvml.so"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", self.nvml, ROOT / "tests/nvml/standin.c"], check=True, capture_output=True)

    def job(self, device: int | str) -> str:
        return f"{stand.program('devices')} {device} {self.asked} {LOOKS}"

    def run_job(self, command: str, boards: int = 2, play: str = "calm=0", libcupti: pathlib.Path | None = None, **env: str) -> stand.Recording:
        done = stand.Recording(self.folder, "sh", "-c", command, libcupti=libcupti or stand.cupti(), options=("--gpu-sample", "50"), env={
            "HOLDUP_NVML": str(self.nvml), "NVML_PLAY": f"asked={self.asked},gpus={boards},{play}", "STANDIN_DEVICES": str(boards), **env})
        self.assertEqual(done.done.returncode, 0, done.done.stderr)
        self.assertEqual(done.log.misuse(), [])
        return done

    def gpus(self, trace: pathlib.Path) -> list[dict[str, Any]]:
        told = recorder.holdup("report", trace, "--json")
        self.assertEqual(told.returncode, 0, told.stderr)
        return json.loads(told.stdout)["ranks"][0]["gpus"]["gpus"]

    def watts(self, trace: pathlib.Path) -> dict[str, set[float]]:
        """Of each counter of power: what it showed."""
        found: dict[str, set[float]] = {}
        for row in recorder.rows(trace, "select name, value from counter where name like '%GPU % power (W)'"):
            found.setdefault(row["name"], set()).add(row["value"])
        return found

    def text(self, trace: pathlib.Path) -> str:
        return " ".join(recorder.holdup("report", trace).stdout.split())

    def check_one(self, recording: stand.Recording, device: int, board: int) -> None:
        """One GPU, the right one, by the same number as its kernels."""
        trace, = recording.files
        gpu, = self.gpus(trace)
        self.assertEqual((gpu["device"], gpu["number"], gpu["uuid"], gpu["is_ours"]), (device, board, UUID.format(board), True))
        self.assertEqual(self.watts(trace), {f"GPU {device} power (W)": {WATTS[board > 0]}})
        self.assertEqual({int(row["device"]) for row in recorder.rows(trace, "select distinct device from kernel")}, {device})
        self.assertIn(f"GPU {device} (nvidia-smi {board}) · " if device != board else f"GPU {device} · ", self.text(trace))
        self.assertNotIn("not known", self.text(trace).partition("GPUS")[2][:200])

    def test_reversed(self) -> None:
        self.check_one(self.run_job(self.job(0), CUDA_VISIBLE_DEVICES="1,0"), 0, 1)

    def test_second_interface(self) -> None:
        cuda = next((c for c, v in reversed(wheels.VERSIONS.items()) if v.api >= 130400), "")
        libcupti = stand.cupti(cuda, flags=("-DSECOND=1",))
        if libcupti is None:
            skip_loudly(f"no headers of CUDA {cuda}: UUIDs of the second interface were not tried")
            raise unittest.SkipTest("no headers")
        done = self.run_job(self.job(1), libcupti=libcupti, CUDA_VISIBLE_DEVICES="1,0")
        self.assertTrue(done.log.calls("cuptiSubscribe_v2"))
        self.check_one(done, 1, 0)

    def test_subset(self) -> None:
        self.check_one(self.run_job(self.job(1), boards=4, CUDA_VISIBLE_DEVICES="0,3"), 1, 3)

    def test_hidden_board_of_the_same_number(self) -> None:
        """CUPTI tells of board 0, which CUDA_VISIBLE_DEVICES hides, by a number that means board 1 in the program."""
        self.check_one(self.run_job(self.job(0), CUDA_VISIBLE_DEVICES="1", STANDIN_HIDDEN="1"), 0, 1)

    def test_uuid_of_the_driver(self) -> None:
        self.check_one(self.run_job(self.job(0), CUDA_VISIBLE_DEVICES="1,0", STANDIN_UUID="record"), 0, 1)

    def test_part_of_a_board(self) -> None:
        """Clocks, power and energy are of the whole board; the table says so."""
        for uuid in ({}, {"STANDIN_UUID": "record"}):
            with self.subTest(uuid=uuid):
                self.folder = self.folder / (uuid.get("STANDIN_UUID") or "whole")
                done = self.run_job(self.job(1), play="calm=0,mig", CUDA_VISIBLE_DEVICES="MIG-a,MIG-b", **uuid)
                gpu, = self.gpus(done.files[0])
                self.assertEqual((gpu["device"], gpu["number"], gpu["is_mig"], gpu["is_ours"]), (1, 0, True, True))

    def test_no_uuid(self) -> None:
        """Neither CUPTI nor the driver says it: all that the job may use, by the driver's numbers, and nothing is joined."""
        trace, = self.run_job(self.job(0), CUDA_VISIBLE_DEVICES="1,0", STANDIN_UUID="none").files
        self.assertEqual([(g["device"], g["number"], g["is_ours"]) for g in self.gpus(trace)], [(None, 0, False), (None, 1, False)])
        self.assertEqual(self.watts(trace), {f"nvidia-smi GPU {board} power (W)": {WATTS[board]} for board in (0, 1)})
        self.assertIn('which of the trace\'s devices a "nvidia-smi GPU" is: not known', self.text(trace))

    def test_each_rank_has_its_own(self) -> None:
        """Four ranks: each report shows its own device's power, and the job's all of them."""
        ranks = " ".join(f"RANK={r} LOCAL_RANK={r} WORLD_SIZE=4 {self.job(r)} &" for r in range(4))
        done = self.run_job(f"{ranks} wait", boards=4, CUDA_VISIBLE_DEVICES="3,2,1,0")
        self.assertEqual(len(done.files), 4)
        for rank, trace in enumerate(done.files):
            gpu, = self.gpus(trace)
            self.assertEqual((gpu["device"], gpu["number"], gpu["is_ours"]), (rank, 3 - rank, True))
            self.assertEqual(self.watts(trace), {f"GPU {rank} power (W)": {WATTS[rank < 3]}})

    def test_processes_that_number_them_differently(self) -> None:
        """Two processes of one trace, and each calls another board 0: both boards are the job's, and neither is called 0."""
        trace, = self.run_job(f"CUDA_VISIBLE_DEVICES=0 {self.job(0)} & CUDA_VISIBLE_DEVICES=1 {self.job(0)} & wait").files
        self.assertEqual([(g["device"], g["number"], g["is_ours"]) for g in self.gpus(trace)], [(None, 0, True), (None, 1, True)])
        self.assertEqual(set(self.watts(trace)), {f"nvidia-smi GPU {board} power (W)" for board in (0, 1)})


if __name__ == "__main__":
    unittest.main()
