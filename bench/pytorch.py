#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what `holdup run --pytorch` adds to a training step: CPU time of the thread that trains, in rounds of alternating order.

    bench/pytorch.py [--build build] [--rounds 5] [--steps 150] [--width 512]

Each run trains the same small network on the CPU and prints the median CPU time of a step. A row gives the median over the rounds of a run's
time over that without holdup in the same round, and [lowest .. highest]. Needs a Python with PyTorch: HOLDUP_TORCH_PYTHON, or
~/.cache/holdup/torch/bin/python.
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PYTHON = os.environ.get("HOLDUP_TORCH_PYTHON") or str(pathlib.Path.home() / ".cache/holdup/torch/bin/python")
ARMS = {"alone": None, "run": [], "armed": ["--pytorch", "--start-later"], "--pytorch": ["--pytorch"], "=modules": ["--pytorch=modules"],
        "=shapes": ["--pytorch=shapes"]}

PROGRAM = """
import json, statistics, sys, time
import torch
torch.manual_seed(0)
torch.set_num_threads(1)
width, steps = int(sys.argv[1]), int(sys.argv[2])
net = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU()) for _ in range(12)))
sgd = torch.optim.SGD(net.parameters(), lr=1e-3)
data = torch.randn(64, width)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(steps)), batch_size=1)
times = []
for _ in loader:
    began = time.thread_time_ns()
    sgd.zero_grad()
    net(data).square().mean().backward()
    sgd.step()
    times.append(time.thread_time_ns() - began)
print(json.dumps(statistics.median(times[len(times) // 5:])))
"""


def one(holdup: pathlib.Path, arm: list[str] | None, folder: pathlib.Path, words: list[str]) -> tuple[float, str]:
    """Nanoseconds of a step, and what holdup said of operators."""
    program = folder / "train.py"
    program.write_text(PROGRAM)
    front = [] if arm is None else [str(holdup), "run", "--trace", "none", *arm, "--no-report", "-f", "-o", str(folder / "run.pftrace"), "--"]
    done = subprocess.run([*front, PYTHON, str(program), *words], capture_output=True, text=True, check=False, timeout=600,
                          env={k: v for k, v in os.environ.items() if not k.startswith("HOLDUP")} | {"CUDA_VISIBLE_DEVICES": ""})
    if done.returncode != 0:
        raise SystemExit(f"bench/pytorch: {' '.join(front)}: {done.stderr}")
    said = [line for line in done.stderr.splitlines() if "operators a step" in line]
    return float(json.loads(done.stdout)), said[0].partition("holdup: ")[2] if said else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--width", type=int, default=512)
    options = parser.parse_args()
    if not pathlib.Path(PYTHON).exists():
        raise SystemExit(f"bench/pytorch: there is no {PYTHON}; set HOLDUP_TORCH_PYTHON to a Python with torch")
    times: dict[str, list[float]] = {name: [] for name in ARMS}
    said = ""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.rounds):
            for name in list(ARMS) if number % 2 == 0 else list(reversed(ARMS)):
                time, words = one((options.build / "holdup").resolve(), ARMS[name], pathlib.Path(folder), [str(options.width), str(options.steps)])
                times[name].append(time)
                said = words or said
    print(f"{said}; {options.rounds} rounds of {options.steps} steps, width {options.width}")
    print("| run | CPU ms a step | over alone | lowest .. highest |\n|---|---|---|---|")
    for name, all_times in times.items():
        ratios = [a / b for a, b in zip(all_times, times["alone"])]
        print(f"| {name} | {statistics.median(all_times) / 1e6:.2f} | {statistics.median(ratios):.3f} | {min(ratios):.3f} .. {max(ratios):.3f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
