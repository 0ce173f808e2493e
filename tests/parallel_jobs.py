# SPDX-License-Identifier: Apache-2.0
"""Runs two ranks of a small model over gloo on this machine and records each: parallel_jobs.py MODE FOLDER [shapes]"""
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

LAYERS, WIDTH, RANKS = 12, 256, 2


def spread(model: nn.Module, mode: str) -> nn.Module:
    cpu = torch.device("cpu")
    if mode in ("ddp", "zero1"):
        return nn.parallel.DistributedDataParallel(model, bucket_cap_mb=1)
    if mode == "fsdp1":
        from torch.distributed.fsdp import FullyShardedDataParallel

        for i in range(LAYERS):
            model[i] = FullyShardedDataParallel(model[i], device_id=cpu)
        return FullyShardedDataParallel(model, device_id=cpu)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (RANKS,))
    for layer in model:
        fully_shard(layer, mesh=mesh, reshard_after_forward=mode == "fsdp2")
    return fully_shard(model, mesh=mesh, reshard_after_forward=mode == "fsdp2")


def main(rank: int, mode: str, folder: str, shapes: bool, store: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS)
    model = spread(nn.Sequential(*[nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(LAYERS)]), mode)
    if mode == "zero1":
        from torch.distributed.optim import ZeroRedundancyOptimizer

        optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=1e-3)
    else:
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=3), record_shapes=shapes,
                 on_trace_ready=lambda p: p.export_chrome_trace(os.path.join(folder, f"rank{rank}.json"))) as profiler:
        for _ in range(5):
            model(torch.randn(8, WIDTH)).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            profiler.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(main, args=(sys.argv[1], sys.argv[2], "shapes" in sys.argv[3:], os.path.join(sys.argv[2], "store")), nprocs=RANKS)
