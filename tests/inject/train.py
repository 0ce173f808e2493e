# SPDX-License-Identifier: Apache-2.0
"""Trains a small network on the CPU with two or more processes over gloo; rank 1 sleeps 15 ms for its data when asked to.

    torchrun --nproc-per-node 2 train.py [sleep]
"""
import gc
import sys
import time

import holdup
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8)))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for i in range(30):
    holdup.step()
    with holdup.phase("data"):
        if "sleep" in sys.argv and dist.get_rank() == 1:
            time.sleep(0.015)
        x = torch.randn(128, 256)
    with holdup.phase("forward"):
        loss = model(x).square().mean()
    with holdup.phase("backward"):
        loss.backward()
    with holdup.phase("optimizer"):
        optimizer.step()
        optimizer.zero_grad()
print("rank", dist.get_rank(), "done", flush=True)
model = optimizer = loss = None     # as in test_gloo.py: PyTorch aborts at exit otherwise, now and then
gc.collect()
dist.destroy_process_group()
