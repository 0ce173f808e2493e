# SPDX-License-Identifier: Apache-2.0
"""A small image classifier whose data loader is too slow, recorded with torch.profiler.

Each sample is stored compressed and is decoded and augmented when it is asked for, as image data sets are.  With
--workers 0 that happens in the training process, between steps.  Runs alone, or under torchrun with gloo on the CPU.
"""
import argparse
import os
import pathlib
import zlib

import numpy
import torch
import torch.distributed as dist
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader, Dataset, DistributedSampler

SIZE = 256  # of a stored image
SHRINK = 4  # the network sees a quarter of it
CLASSES = 10


class CompressedImages(Dataset):
    """Synthetic images, each decoded and augmented anew whenever it is drawn."""

    def __init__(self, count: int) -> None:
        rng = numpy.random.default_rng(0)
        self.blobs = [
            zlib.compress((rng.random((SIZE, SIZE, 3)) * 64).astype(numpy.uint8).tobytes(), level=6) for _ in range(count)
        ]

    def __len__(self) -> int:
        return len(self.blobs)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        pixels = numpy.frombuffer(zlib.decompress(self.blobs[index]), dtype=numpy.uint8).reshape(SIZE, SIZE, 3)
        image = pixels.astype(numpy.float32) / 255.0
        for axis in (0, 1):  # a separable blur
            image = (numpy.roll(image, 1, axis) + 2.0 * image + numpy.roll(image, -1, axis)) / 4.0
        if index % 2:
            image = image[:, ::-1]
        image = image[::SHRINK, ::SHRINK]
        image = (image - image.mean()) / (image.std() + 1e-6)
        return torch.from_numpy(numpy.ascontiguousarray(image.transpose(2, 0, 1))), index % CLASSES


def build_model() -> nn.Module:
    """A compact convolutional network: few operators, so that the trace stays small."""
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
        nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, CLASSES),
    )


def main() -> None:
    """Trains for wait + warm-up + the asked steps and exports one trace for each rank."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for rank<N>.pt.trace.json.gz")
    parser.add_argument("--workers", type=int, default=0, help="num_workers of the data loader; 0 is the slow way")
    parser.add_argument("--steps", type=int, default=6, help="steps to record")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--stack", action="store_true", help="record Python stacks and modules")
    options = parser.parse_args()

    torch.manual_seed(0)
    torch.set_num_threads(1)
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    model = build_model()
    if world > 1:
        dist.init_process_group("gloo")
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    data = CompressedImages(options.batch * (options.steps + 16) * world)  # more than is recorded: workers stay busy
    loader = DataLoader(
        data, batch_size=options.batch, num_workers=options.workers, persistent_workers=options.workers > 0,
        sampler=DistributedSampler(data, num_replicas=world, rank=rank),
    )
    options.out.mkdir(parents=True, exist_ok=True)
    target = options.out / f"rank{rank}.pt.trace.json.gz"
    with profile(
        activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=options.steps, repeat=1),
        on_trace_ready=lambda p: p.export_chrome_trace(str(target)),
        record_shapes=True, profile_memory=True, with_stack=options.stack, with_modules=options.stack,
    ) as profiler:
        for images, labels in loader:
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            profiler.step()
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
