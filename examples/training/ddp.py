# SPDX-License-Identifier: Apache-2.0
"""A small job of data-parallel training, to try launchers with: gloo on CPUs, nccl on GPUs, or one process alone.

Each rank has a batch of its own (weak scaling), so N ranks should take no longer for a step than one does.
"""
import argparse
import gc
import os

import torch
import torch.distributed as dist
from record import recording
from torch import nn


def main() -> None:
    """Trains on synthetic data; recording() writes the traces."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=64, help="samples of each rank")
    parser.add_argument("--width", type=int, default=512, help="of the layers")
    parser.add_argument("--iterations", type=int, default=14)
    options = parser.parse_args()

    torch.manual_seed(0)
    has_gpu = torch.cuda.is_available()
    if has_gpu:     # a launcher may show a process its own GPU alone
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)) % torch.cuda.device_count())
    else:
        torch.set_num_threads(1)
    device = torch.device("cuda" if has_gpu else "cpu")
    model: nn.Module = nn.Sequential(
        nn.Linear(options.width, options.width), nn.ReLU(), nn.Linear(options.width, options.width), nn.ReLU(), nn.Linear(options.width, 10)
    ).to(device)
    if "RANK" in os.environ:
        dist.init_process_group("nccl" if has_gpu else "gloo")
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    with recording() as step:
        for _ in range(options.iterations):
            samples = torch.randn(options.batch, options.width).to(device)
            labels = torch.randint(10, (options.batch,)).to(device)
            loss = nn.functional.cross_entropy(model(samples), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step()
    if dist.is_initialized():
        # gloo's thread still holds gradients of the last step; if it lets go of them while Python ends, the process aborts
        del model, optimizer, loss
        gc.collect()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
