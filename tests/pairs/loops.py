# SPDX-License-Identifier: Apache-2.0
"""Ten ordinary training loops with one cause each, two of them also recorded so that no trace could show the cause, three nulls.

    python -m tests.pairs.loops --holdup build/holdup --out DIR [--only NAME] [--quick]

Measures on an idle machine of two cores or more, seven rounds of both arms by turns: about eight minutes; no other work
meanwhile, or the warnings say so.  --quick tries everything once (about two minutes); its figures mean nothing.
The loops are written as people write them: no ranges of our own, no sleeps in the place of work unless a disk or a pipe waits.
"""
from __future__ import annotations

import contextlib
import functools
import gc
import logging
import os
import pathlib
import subprocess
import sys
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset, get_worker_info

from tests.pairs.cpu import WIDTH, Batches, Pair, Training, main, network

SAMPLES = 16
SIDE = 128
MARGIN = 8
EVERY = 4
MICRO = 4


class Images(Dataset):
    """Pictures that are cropped, turned, scaled and normalised one by one, as a data set's transforms do."""

    def __init__(self) -> None:
        self.raw = torch.randint(0, 255, (64, 3, SIDE + MARGIN, SIDE + MARGIN), dtype=torch.uint8,
                                 generator=torch.Generator().manual_seed(0))

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        shift = index % MARGIN
        picture = self.raw[index % len(self.raw)][:, shift:shift + SIDE, shift:shift + SIDE].flip(2 if index % 2 else 1)
        picture = nn.functional.interpolate(picture.float()[None], scale_factor=1.5, mode="bicubic", antialias=True)[0]
        picture = (picture / 255.0 - 0.45) / 0.225
        return picture.flatten()[:WIDTH].clone(), index % WIDTH


class Pictures(Training):
    """A loader in the training process that transforms sample by sample."""

    def __init__(self) -> None:
        super().__init__()
        self.batches = iter(DataLoader(Images(), batch_size=SAMPLES, num_workers=0))


class OneSlow(Batches):
    """Of two workers the second reads from a slow disk: batches come in order, so each second one is late."""

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        info = get_worker_info()
        self.delay_s = 0.080 if info is not None and info.id == 1 else 0.0
        return super().__getitem__(index)


class Saves(Training):
    """Saves model and optimizer at every EVERY-th step and waits for the disk, without any mark in the trace."""

    def __init__(self, folder: pathlib.Path) -> None:
        super().__init__()
        self.file, self.count = folder / "state.pt", 0
        self.ballast = torch.zeros(4 << 20)

    def begin(self) -> None:
        super().begin()
        self.count = 0

    def step(self) -> None:
        super().step()
        self.count += 1
        if self.count % EVERY == 2:
            with open(self.file, "wb") as file:
                torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "ema": self.ballast}, file)
                file.flush()
                os.fsync(file.fileno())

    def close(self) -> None:
        super().close()
        self.file.unlink(missing_ok=True)


class Logs(Training):
    """Logs a table of the gradients to standard error of a kind: a pipe, whose reader is slow (a terminal, a log shipper)."""

    DRAIN = "import os,sys,time\nwhile os.read(0,16384): time.sleep(float(sys.argv[1]))"

    def __init__(self, pause_s: float) -> None:
        super().__init__()
        self.reader = subprocess.Popen([sys.executable, "-c", self.DRAIN, str(pause_s)], stdin=subprocess.PIPE)
        assert self.reader.stdin
        self.log = logging.Logger("pairs")
        self.stream = os.fdopen(os.dup(self.reader.stdin.fileno()), "w")
        self.reader.stdin.close()
        self.log.addHandler(logging.StreamHandler(self.stream))

    def step(self) -> None:
        super().step()
        for name, _ in self.model.named_parameters():
            self.log.info("%s %s", name, "x" * 8000)     # 8 tensors: 64 kB a step

    def close(self) -> None:
        super().close()
        self.stream.close()
        self.reader.wait(30)


class Rows(nn.Module):
    """A layer that treats its rows one after the other, or all at once."""

    def __init__(self, loop: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.loop, self.scale = loop, nn.Parameter(torch.randn(256, 1))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        if not self.loop:
            return rows * self.scale + rows.tanh()
        return torch.stack([rows[i] * self.scale[i] + rows[i].tanh() for i in range(len(rows))])


class Casting(nn.Module):
    """Casts to double and back around each layer and keeps its input transposed: copies that change nothing."""

    def __init__(self, wasteful: bool) -> None:
        super().__init__()
        self.inner, self.wasteful = network(4, 128), wasteful

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        for layer in self.inner:
            if self.wasteful and isinstance(layer, nn.Linear):
                value = value.t().contiguous().double().t().contiguous().float()
            value = layer(value)
        return value


class Loops(Training):
    """Adam over some hundred small tensors, tensor by tensor or fused."""

    def __init__(self, fused: bool) -> None:
        super().__init__(model=network(1))
        self.small = [nn.Parameter(torch.zeros(64)) for _ in range(400)]
        for parameter in self.small:
            parameter.grad = torch.ones(64)
        self.adam = torch.optim.AdamW(self.small, foreach=False, fused=fused)

    def step(self) -> None:
        super().step()
        self.adam.step()


class Collects(Training):
    """gc.collect() in each step, as people write against memory that grows; 150,000 objects are alive."""

    def __init__(self, collect: bool) -> None:
        super().__init__(model=network(2))
        self.collect = collect
        gc.freeze()
        self.live = [{"id": i, "tokens": [i]} for i in range(50_000)]

    def step(self) -> None:
        super().step()
        if self.collect:
            gc.collect()

    def close(self) -> None:
        super().close()
        self.live = []
        gc.unfreeze()


class Uneven(Training):
    """Data-parallel; rank 1 has the longer sequences: `factor` times the rows of the other."""

    def __init__(self, factor: int) -> None:
        rows = 128 * (factor if dist.get_rank() == 1 else 1)
        super().__init__(data=Batches(rows=rows), model=nn.parallel.DistributedDataParallel(network(3)))


class Accumulates(Training):
    """MICRO micro-batches to a step; gradients are reduced after each, or, with no_sync(), after the last."""

    def __init__(self, sync_all: bool) -> None:
        super().__init__(data=Batches(rows=32), model=nn.parallel.DistributedDataParallel(network(4)))
        self.sync_all = sync_all

    def step(self) -> None:
        self.optimizer.zero_grad()
        for micro in range(MICRO):
            images, labels = next(self.batches)
            quiet = contextlib.nullcontext() if self.sync_all or micro == MICRO - 1 else self.model.no_sync()
            with quiet:
                nn.functional.cross_entropy(self.model(images), labels).backward()
        self.optimizer.step()


def spread() -> Training:
    """Data-parallel and balanced."""
    return Training(data=Batches(rows=128), model=nn.parallel.DistributedDataParallel(network(3)))


def loops(folder: pathlib.Path) -> list[Pair]:
    """What is planted, what takes it away, and what the answer must name: a finding's id, or words in its fix or statement."""
    fast = functools.partial(Training, Batches(), 2)
    many = Batches(rows=2048, width=128)
    collector: dict[str, Any] = {"record_python_gc_info": True}
    return [
        Pair("loop-loader", "transforms in the training process -> batches in memory", ("data-loading",),
             Pictures, lambda: Training(Batches(rows=SAMPLES))),
        Pair("loop-slow-worker", "one of two workers takes 80 ms a batch -> none", ("data-loading",),
             lambda: Training(OneSlow(), workers=2), fast, period=2),
        Pair("loop-save", "torch.save and fsync at every 4th step, stacks recorded -> none", ("io-stall",),
             lambda: Saves(folder), Training, period=EVERY, active=2 * EVERY, stack=True, says=r"checkpoint|torch\.save|fsync"),
        Pair("loop-save-dark", "the same, without stacks: no trace names it", ("io-stall",),
             lambda: Saves(folder), Training, period=EVERY, active=2 * EVERY, says=r"checkpoint|torch\.save|fsync", dark=True),
        Pair("loop-log", "64 kB of log a step into a slow pipe, stacks recorded -> a fast one", ("io-stall",),
             lambda: Logs(0.012), lambda: Logs(0.0), stack=True, says=r"\bpipe|\bwrite\b|logg"),
        Pair("loop-tiny", "a layer row by row -> all rows at once", ("launch-bound",), lambda: Training(model=nn.Sequential(network(2), Rows(True))),
             lambda: Training(model=nn.Sequential(network(2), Rows(False))), active=3,
             says=r"(many|tiny|small|short).{0,40}operators?|vectoris|batch the"),
        Pair("loop-casts", "transposed copies and casts to double around each layer -> none", (),
             lambda: Training(many, model=Casting(True)), lambda: Training(many, model=Casting(False)), says=r"contiguous|cast|copies|dtype|aten::copy_"),
        Pair("loop-optimizer", "AdamW tensor by tensor -> fused", (), lambda: Loops(False), lambda: Loops(True), active=3,
             says=r"foreach|fused"),
        Pair("loop-gc", "gc.collect() in each step, collections recorded -> none", ("python-gc",), lambda: Collects(True),
             lambda: Collects(False), flags=collector, stack=True),
        Pair("loop-gc-dark", "the same, without stacks: no trace names it", ("python-gc",), lambda: Collects(True),
             lambda: Collects(False), dark=True),
        Pair("loop-uneven", "rank 1 of 2 has twice the rows -> as many", ("straggler",), lambda: Uneven(2), lambda: Uneven(1), ranks=2),
        Pair("loop-accumulate", "gradients reduced after each of 4 micro-batches -> no_sync() but for the last", (),
             lambda: Accumulates(True), lambda: Accumulates(False), ranks=2, says=r"no_sync"),
        Pair("loop-null", "nothing planted", (), fast, fast),
        Pair("loop-null-stacks", "nothing planted, stacks recorded", (), Training, Training, stack=True),
        Pair("loop-null-ranks", "nothing planted, two ranks", (), spread, spread, ranks=2),
    ]


if __name__ == "__main__":
    sys.exit(main(loops, 7, __doc__))
