# SPDX-License-Identifier: Apache-2.0
"""Devices of the exam: what Kineto writes of them, and what a job's kernels can reach on them."""

from typing import Any, NamedTuple


class Device(NamedTuple):
    """peak rates in FLOP per ns (TFLOP/s x 1000 would be per s) and bytes per ns."""

    name: str
    major: int
    minor: int
    sms: int
    memory: int
    vector: float
    tensor16: float
    tf32: float
    bandwidth: float

    def amd(self) -> bool:
        """Whether its runtime is HIP."""
        return self.name.startswith("AMD")

    def properties(self) -> dict[str, Any]:
        """The entry in deviceProperties."""
        return {
            "id": 0,
            "name": self.name,
            "totalGlobalMem": self.memory,
            "computeMajor": self.major,
            "computeMinor": self.minor,
            "maxThreadsPerBlock": 1024,
            "maxThreadsPerMultiprocessor": 1024 if self.major == 7 and self.minor == 5 else 2048,
            "regsPerBlock": 65536,
            "warpSize": 64 if self.amd() else 32,
            "sharedMemPerBlock": 49152,
            "numSms": self.sms,
            "regsPerMultiprocessor": 65536,
            "sharedMemPerBlockOptin": 101376,
            "sharedMemPerMultiprocessor": 102400,
        }


A100 = Device("NVIDIA A100-SXM4-80GB", 8, 0, 108, 85899345920, 19500, 312000, 156000, 2039)
H100 = Device("NVIDIA H100 80GB HBM3", 9, 0, 132, 85899345920, 66900, 989000, 494000, 3350)
A10G = Device("NVIDIA A10G", 8, 6, 80, 24146608128, 31200, 125000, 62500, 600)
V100 = Device("Tesla V100-SXM2-32GB", 7, 0, 80, 34089730048, 15700, 125000, 0, 900)
TURING = Device("NVIDIA GeForce RTX 2080 Ti", 7, 5, 68, 11554717696, 13450, 53800, 0, 616)  # with fp32 accumulation
MI300 = Device("AMD Instinct MI300X", 9, 4, 304, 206141652992, 163400, 1307000, 653700, 5300)
ALL = {"MI300": MI300, "A100": A100, "H100": H100, "A10G": A10G, "V100": V100, "Turing": TURING}
