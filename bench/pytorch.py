#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what the operators of `holdup run --pytorch` add to a training step: CPU time of the thread that trains.

    bench/pytorch.py [--build build] [--steps 400] [--width 512] [--layers 12]

One process trains a small network on the CPU under `holdup run`; libtorch's observer is on in every second step, so that the machine is the same for
both. A row gives the median step without and with it, the median of the differences of neighbours, and its 95 % interval (bootstrap). What the
hook itself costs in Python, a few calls at each batch and optimizer step, is in both. Needs a Python with PyTorch built with CUDA (no GPU):
HOLDUP_TORCH_PYTHON, or ~/.cache/holdup/torch/bin/python.
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PYTHON = os.environ.get("HOLDUP_TORCH_PYTHON") or str(pathlib.Path.home() / ".cache/holdup/torch/bin/python")

PROGRAM = """
import contextlib, json, sys, time
import torch
from torch._C import _autograd, _profiler
torch.manual_seed(0)
torch.set_num_threads(1)
width, steps, shapes, stacks, layers = map(int, sys.argv[1:])
net = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU()) for _ in range(layers)))
sgd = torch.optim.SGD(net.parameters(), lr=1e-3)
data = torch.randn(64, width)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(steps)), batch_size=1)
config = _profiler.ProfilerConfig(_profiler.ProfilerState.NVTX, bool(shapes), False, False, False, False, _profiler._ExperimentalConfig())
scopes = {_profiler.RecordScope.FUNCTION, _profiler.RecordScope.BACKWARD_FUNCTION}
times = []
for n, _ in enumerate(loader):
    if n % 2:
        _autograd._disable_profiler()
    without_lines = torch._C.DisableTorchFunction() if stacks and n % 2 else contextlib.nullcontext()
    without_lines.__enter__()
    began = time.thread_time_ns()
    sgd.zero_grad()
    net(data).square().mean().backward()
    sgd.step()
    times.append(time.thread_time_ns() - began)
    without_lines.__exit__(None, None, None)
    if n % 2:
        _autograd._enable_profiler(config, set(), scopes)
with torch.profiler.profile() as profiler:
    sgd.zero_grad(); net(data).square().mean().backward(); sgd.step()
print(json.dumps([times[20::2], times[21::2], sum(not e.name().startswith("Optimizer") for e in profiler.profiler.kineto_results.events())]))
"""


def measure(holdup: pathlib.Path, option: str, width: int, steps: int, layers: int) -> list:
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "train.py"
        program.write_text(PROGRAM)
        done = subprocess.run([holdup, "run", option, "--trace", "none", "-q", "--no-report", "-o", f"{folder}/run.pftrace", "--", PYTHON, program, str(width), str(steps),
                               str(int("shapes" in option)), str(int("stacks" in option)), str(layers)], capture_output=True, text=True, check=False, timeout=1200,
                              env={k: v for k, v in os.environ.items() if not k.startswith("HOLDUP")} | {"CUDA_VISIBLE_DEVICES": ""})
    if done.returncode != 0:
        raise SystemExit(f"bench/pytorch: {option}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=12)
    options = parser.parse_args()
    if not pathlib.Path(PYTHON).exists():
        raise SystemExit(f"bench/pytorch: there is no {PYTHON}; set HOLDUP_TORCH_PYTHON to a Python with torch")
    print("| | operators a step | ms without | ms with | adds | an operator |\n|---|---|---|---|---|---|")
    for option in ("--pytorch", "--pytorch=shapes", "--pytorch=stacks"):
        with_it, without, operators = measure((options.build / "holdup").resolve(), option, options.width, options.steps, options.layers)
        pairs = [a - b for a, b in zip(with_it, without)]
        draw = random.Random(1)
        drawn = sorted(statistics.median(draw.choices(pairs, k=len(pairs))) for _ in range(1000))
        base, middle = statistics.median(without), statistics.median(pairs)
        low, high = drawn[25], drawn[975]
        print(f"| `{option}` | {operators} | {base / 1e6:.2f} | {statistics.median(with_it) / 1e6:.2f} | {100 * middle / base:.1f} % [{100 * low / base:.1f} .. "
              f"{100 * high / base:.1f}] | {middle / operators / 1e3:.2f} µs [{low / operators / 1e3:.2f} .. {high / operators / 1e3:.2f}] |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
