# SPDX-License-Identifier: Apache-2.0
"""What Nsight Compute measured of a finding's kernels confirms, corrects or withdraws it; what was not measured is not said."""
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.ncu_report import Launch, binary
from tests.program import report, run
from tests.test_devices import A100, Products
from tests.test_ncu import ACHIEVED, DRAM, L1, L2, LIMIT, MEMORY, POSSIBLE, SM, TIME, WAVES, stall

NAME = "device__attribute_display_name"
MATRIX = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"
SGEMM, OTHER = "ampere_sgemm_128x64_tn", "ampere_sgemm_32x32_sliced1x4_nn"
BF16 = "ampere_bf16_s16816gemm_bf16_128x64"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>>(int)"
ODD, EVEN = [[1021, 2045], [2045, 2045]], [[1024, 2048], [2048, 2048]]
TENSOR, FUSE, SIZES = "tensor-cores-unused", "bandwidth-bound", "low-efficiency-kernels"


def measured(name: str, sm: float, memory: float, device: str = A100["name"], **more: float) -> Launch:
    values = {TIME: 1_200_000, SM: sm, MEMORY: memory, DRAM: memory, L1: 10, L2: 20, WAVES: 4, NAME: device}
    return Launch(name, values | {{"matrix": MATRIX}.get(key, key): value for key, value in more.items()}, grid=(512, 4, 1), block=(128, 1, 1))


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def trace(self, job: Products, name: str = "rank0.json", **more: Any) -> Path:
        path = self.folder / name
        path.write_text(json.dumps({"deviceProperties": [A100], "traceEvents": job.events} | more))
        return path

    def profile(self, *launches: Launch) -> Path:
        path = self.folder / "profile.ncu-rep"
        path.write_bytes(binary(list(launches)))
        return path

    def told(self, job: Products, *launches: Launch) -> dict[str, Any]:
        return report(self.trace(job), self.profile(*launches))

    def finding(self, told: dict[str, Any], rule: str) -> dict[str, Any] | None:
        return next((f for f in told["findings"] if f["id"] == rule), None)

    def outcome(self, told: dict[str, Any]) -> tuple[str, str]:
        one, = told["counters"]["findings"]
        return one["id"], one["outcome"]


class TensorCores(Case):
    def test_confirmed(self) -> None:
        """No cycle of a tensor core, and the vector units busy: as the name says.  The price stays as it was."""
        job = Products(SGEMM)
        told, alone = self.told(job, measured(SGEMM, 85, 30, matrix=0)), report(self.trace(job))
        self.assertEqual(self.outcome(told), (TENSOR, "confirmed"))
        with_it, without = self.finding(told, TENSOR), self.finding(alone, TENSOR)
        for key in ("gain_pct", "gain_low_pct", "gain_high_pct", "confidence"):
            self.assertEqual(with_it.get(key), without.get(key), key)
        self.assertIn("SM 85 %, memory 30 %, tensor cores 0.0 % of peak", with_it["evidence"][-1])
        self.assertIn("measured 100 % of that time: compute-bound 100 %.", with_it["statement"])
        self.assertTrue(with_it["statement"].startswith(without["statement"]))

    def test_withdrawn(self) -> None:
        """A name of single precision, and tensor cores at work under it."""
        told = self.told(Products(SGEMM), measured(SGEMM, 85, 30, matrix=45))
        self.assertEqual(self.outcome(told), (TENSOR, "withdrawn"))
        self.assertIsNone(self.finding(told, TENSOR))
        said, = told["counters"]["findings"]
        self.assertEqual((said["contradicted_pct"], "tensor cores did work" in said["why"]), (100, True))
        self.assertNotIn("tensor cores", told["verdict"]["text"])
        words = run("report", self.folder / "rank0.json", self.folder / "profile.ncu-rep", env={"COLUMNS": "80"})[1].decode()
        self.assertIn('finding tensor-cores-unused, "matmuls that do not use tensor cores": withdrawn', " ".join(words.split()))

    def test_bound_by_memory(self) -> None:
        """Half the bytes at the peak are the least: 3 x 1.2 ms of a step of 4 ms, of which 85 % / 2 stay."""
        told = self.told(Products(SGEMM), measured(SGEMM, 30, 85, matrix=0))
        self.assertEqual(self.outcome(told), (TENSOR, "corrected"))
        found = self.finding(told, TENSOR)
        self.assertEqual((found["gain_pct"], found["gain_low_pct"], found["confidence"]), (None, 0, "low"))
        self.assertAlmostEqual(found["gain_high_pct"], 100 * 3.6 * (1 - 0.85 / 2) / 4, delta=0.2)

    def test_a_part(self) -> None:
        """A third of the time: the rest was not measured, and nobody says what it is."""
        job = Products(SGEMM)
        for k, event in enumerate(e for e in job.events if e["cat"] == "kernel"):
            event["name"] = OTHER if k % 3 == 0 else SGEMM
        told = self.told(job, measured(OTHER, 85, 30, matrix=45))
        self.assertEqual(self.outcome(told), (TENSOR, "corrected"))
        self.assertEqual((self.finding(told, TENSOR)["confidence"], self.finding(told, TENSOR)["gain_low_pct"]), ("low", 0))
        self.assertAlmostEqual(told["counters"]["findings"][0]["measured_pct"], 100 / 3, 1)
        both = self.told(job, measured(OTHER, 85, 30, matrix=45), measured(SGEMM, 85, 30, matrix=45))
        self.assertEqual(self.outcome(both), (TENSOR, "withdrawn"))

    def test_not_measured(self) -> None:
        """Without the counter of tensor cores, of occupancy and stalls: none of them is spoken of."""
        told = self.told(Products(SGEMM), measured(SGEMM, 85, 30))
        self.assertEqual(self.outcome(told), (TENSOR, "shown"))
        line = self.finding(told, TENSOR)["evidence"][-1]
        self.assertIn("compute-bound: SM 85 %, memory 30 % of peak", line)
        for word in ("tensor cores", "occupancy", "stalls", "nan", "-"):
            self.assertNotIn(word, line.split(SGEMM)[1].replace("compute-bound", ""))
        bare = Launch(SGEMM, {TIME: 1_200_000, NAME: A100["name"]}, grid=(512, 4, 1), block=(128, 1, 1))
        self.assertIn("speed of light was not recorded", self.finding(self.told(Products(SGEMM), bare), TENSOR)["evidence"][-1])

    def test_what_limits_it(self) -> None:
        more = {ACHIEVED: 30, POSSIBLE: 50, LIMIT + "registers": 2, LIMIT + "warps": 4, stall("long_scoreboard"): 5, stall("wait"): 5,
                "smsp__average_warp_latency_per_inst_issued.ratio": 10}
        line = self.finding(self.told(Products(SGEMM), measured(SGEMM, 30, 85, matrix=0, **more)), TENSOR)["evidence"][-1]
        self.assertIn("memory-bound by DRAM", line)
        self.assertIn("occupancy 30 %, limited by registers; stalls: long_scoreboard 50 %", line)

    def test_another_gpu(self) -> None:
        told = self.told(Products(SGEMM), measured(SGEMM, 85, 30, matrix=45, device="NVIDIA H100 80GB HBM3"))
        self.assertEqual(told["counters"]["findings"], [])
        self.assertEqual(self.finding(told, TENSOR)["statement"], self.finding(report(self.trace(Products(SGEMM))), TENSOR)["statement"])

    def test_another_shape(self) -> None:
        launch = measured(SGEMM, 85, 30, matrix=45)
        launch.grid = (8, 4, 1)
        told = self.told(Products(SGEMM), launch)
        self.assertEqual((told["counters"]["findings"], self.finding(told, TENSOR) is None), ([], False))

    def test_every_rank(self) -> None:
        """The same kernels on two ranks: what is contradicted is said of neither."""
        job = Products(SGEMM)
        traces = [self.trace(job, f"rank{rank}.json", distributedInfo={"backend": "nccl", "rank": rank, "world_size": 2}) for rank in range(2)]
        alone = report(*traces)
        told = report(*traces, self.profile(measured(SGEMM, 85, 30, matrix=45)))
        self.assertIsNotNone(self.finding(alone, TENSOR))
        self.assertEqual((self.finding(told, TENSOR), self.outcome(told)), (None, (TENSOR, "withdrawn")))


class Fusion(Case):
    def test_bounds(self) -> None:
        job = Products(ADD, op="aten::add")
        for sm, memory, outcome in ((20, 90, "confirmed"), (90, 20, "withdrawn"), (70, 65, "confirmed"), (30, 30, "shown")):
            with self.subTest(sm=sm, memory=memory):
                told = self.told(job, measured(ADD, sm, memory))
                self.assertEqual(self.outcome(told), (FUSE, outcome))
                self.assertEqual(self.finding(told, FUSE) is None, outcome == "withdrawn")


class Sizes(Case):
    def job(self, *dims: list[Any]) -> Products:
        job = Products(BF16, "c10::BFloat16", dims=dims[0])
        for k, event in enumerate(e for e in job.events if e["cat"] == "cpu_op" and e["name"] == "aten::mm"):
            event["args"]["Input Dims"] = dims[k % len(dims)]
        return job

    def test_bounds(self) -> None:
        for sm, memory, matrix, outcome in ((20, 90, 10, "withdrawn"), (80, 30, 75, "withdrawn"), (80, 30, 0, "confirmed"), (30, 20, 20, "shown")):
            with self.subTest(sm=sm, memory=memory, matrix=matrix):
                told = self.told(self.job(ODD), measured(BF16, sm, memory, matrix=matrix))
                self.assertEqual(self.outcome(told), (SIZES, outcome))
                self.assertEqual(self.finding(told, SIZES) is None, outcome == "withdrawn")

    def test_whose_kernel(self) -> None:
        """One operator with odd and even sizes: nobody knows which of them was measured."""
        told = self.told(self.job(ODD, EVEN), measured(BF16, 20, 90, matrix=10))
        self.assertIsNotNone(self.finding(told, SIZES))
        self.assertEqual(told["counters"]["findings"], [])


class Verdict(Case):
    def test_what_bounds_the_kernels(self) -> None:
        job = Products(SGEMM)
        told, alone = self.told(job, measured(SGEMM, 30, 40, matrix=0)), report(self.trace(job))
        self.assertIn("kernel time dominates", alone["verdict"]["text"])
        self.assertIn("Nsight Compute measured 100 % of its kernel time: latency-bound 100 %.", told["verdict"]["text"])
        self.assertNotIn("Nsight", alone["verdict"]["text"])


if __name__ == "__main__":
    unittest.main()
