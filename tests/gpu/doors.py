# SPDX-License-Identifier: Apache-2.0
"""The transformer of tests.gpu.record in a loop without any profiler, for `holdup run` to be put in front of.

    python -m tests.gpu.doors [--dry-run] [--steps N]

Prints what a step takes, eager and as a CUDA graph, and what torch.profiler counts of the same steps afterwards.
"""
from __future__ import annotations

import argparse
import collections
import json
import sys
import time

import torch

from tests.gpu.record import Graphed, Transformer
from tests.pairs.arms import Arm


def step_ms(arm: Arm, steps: int, device: str) -> float:
    for _ in range(5):
        arm.step()
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        arm.step()
    if device == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - start) / steps * 1e3


def counted(arm: Arm) -> dict[str, int]:
    """What Kineto sees of one step: the recorder in front of this must yield to it, and come back."""
    with torch.profiler.profile() as profiler:
        arm.step()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    return dict(collections.Counter(str(e.device_type).rpartition(".")[2] for e in profiler.events()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run", action="store_true", help="tiny, on the CPU")
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    device = "cpu" if options.dry_run else "cuda"
    if device == "cuda" and not torch.cuda.is_available():
        print("doors: this machine has no CUDA device that torch can use", file=sys.stderr)
        return 1
    steps = 3 if options.dry_run else options.steps
    eager = Transformer(device, options.dry_run)
    said = {"steps": steps, "eager_ms": step_ms(eager, steps, device)}
    if device == "cuda":
        said["graph_ms"] = step_ms(Graphed(device, False), steps, device)
    print(json.dumps({**said, "kineto": counted(eager)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
