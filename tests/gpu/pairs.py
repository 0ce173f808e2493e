# SPDX-License-Identifier: Apache-2.0
"""Before/after pairs on a CUDA machine: the truth without the profiler, the arm before also recorded for the prediction.

    tests/gpu/pairs [--dry-run] [--out DIR] [--holdup PROGRAM] [--only NAME] [--seconds N]

Writes results.json, results.md and a trace for each pair.  --dry-run runs both arms of every pair on the CPU with tiny
sizes: it proves that the code runs, and its figures mean nothing.
"""
from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import gc
import os
import pathlib
import platform
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.data import DataLoader, Dataset

from tests.pairs import measure
from tests.pairs.arms import Arm, DeviceClock, HostClock, alternate, record

FLAGS = {"enable_cuda_sync_events": True}


@dataclasses.dataclass(frozen=True)
class Setting:
    """Where and how large.  `size` picks between the real figure and the one of a dry run."""
    dry: bool
    folder: pathlib.Path

    @property
    def device(self) -> str:
        return "cpu" if self.dry else "cuda"

    def size(self, real: int, tiny: int) -> int:
        return tiny if self.dry else real


@dataclasses.dataclass(frozen=True)
class Pair:
    """`work`: how much more the arm after does in a step; `period`: steps after which the arms repeat themselves."""
    name: str
    what: str
    expects: tuple[str, ...]
    before: Callable[[Setting], Arm]
    after: Callable[[Setting], Arm]
    period: int = 1
    work: float = 1.0
    active: int = 5
    flags: dict[str, Any] = dataclasses.field(default_factory=dict)
    stack: bool = False
    needs_cuda: str = ""        # why it cannot run on the CPU at all


def perceptron(width: int, layers: int) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(*(layer for _ in range(layers) for layer in (nn.Linear(width, width), nn.ReLU())))


class Training(Arm):
    """Plain training on batches that are already on the device."""

    def __init__(self, at: Setting, width: int = 1024, layers: int = 8, batch: int = 2048,
                 dtype: torch.dtype = torch.float32, **adam: Any) -> None:
        self.at = at
        width, layers, batch = at.size(width, 8), at.size(layers, 2), at.size(batch, 4)
        self.model = perceptron(width, layers).to(at.device, dtype)
        self.adam = torch.optim.AdamW(self.model.parameters(), lr=1e-4, **(adam or {"foreach": True}))
        self.images = torch.randn(batch, width, device=at.device, dtype=dtype)
        self.labels = torch.randint(width, (batch,), device=at.device)

    def loss(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(self.model(images).float(), labels)

    def learn(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        loss = self.loss(images, labels)
        self.adam.zero_grad(set_to_none=True)
        loss.backward()
        self.adam.step()
        return loss

    def step(self) -> None:
        self.learn(self.images, self.labels)


class Slow(Dataset):
    """One batch is one item; drawing it waits as for a disk."""

    def __init__(self, images: torch.Tensor, labels: torch.Tensor, delay_s: float) -> None:
        self.images, self.labels, self.delay_s = images.cpu(), labels.cpu(), delay_s

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        time.sleep(self.delay_s)
        return self.images, self.labels


class Loaded(Training):
    """Batches come from a loader."""

    def __init__(self, at: Setting, workers: int) -> None:
        super().__init__(at, batch=1024)
        data = Slow(self.images, self.labels, 0.001 if at.dry else 0.010)
        self.batches = iter(DataLoader(data, batch_size=None, num_workers=at.size(workers, min(workers, 1)),
                                       pin_memory=not at.dry and workers > 0))

    def step(self) -> None:
        images, labels = next(self.batches)
        self.learn(images.to(self.at.device, non_blocking=True), labels.to(self.at.device, non_blocking=True))

    def close(self) -> None:
        del self.batches


class Fed(Training):
    """A large batch is copied to the device in each step."""

    def __init__(self, at: Setting, pinned: bool) -> None:
        super().__init__(at, batch=8192, layers=4, width=2048)
        self.pinned = pinned and not at.dry
        self.host = [self.images.cpu().clone() for _ in range(2)]
        if self.pinned:
            self.host = [images.pin_memory() for images in self.host]
        self.count = 0

    def step(self) -> None:
        self.count += 1
        self.learn(self.host[self.count % 2].to(self.at.device, non_blocking=self.pinned), self.labels)


class Logged(Training):
    """The loss is read on the host at every n-th step, as logging does."""

    def __init__(self, at: Setting, every: int) -> None:
        super().__init__(at, width=512, layers=32, batch=2048)      # about as long on the device as on the host
        self.every, self.count, self.seen = every, 0, 0.0

    def step(self) -> None:
        loss = self.learn(self.images, self.labels)
        self.count += 1
        if self.count % self.every == 0:
            self.seen = 0.9 * self.seen + 0.1 * loss.item()


class Tiny(Training):
    """Kernels shorter than their launches; `graph` replays the whole step as one CUDA graph."""

    def __init__(self, at: Setting, graph: bool) -> None:
        super().__init__(at, width=128, layers=16, batch=64, capturable=not at.dry, foreach=True)
        self.graph: Any = None
        if graph:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    super().step()
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            self.adam.zero_grad(set_to_none=True)
            with torch.cuda.graph(self.graph):
                super().step()

    def step(self) -> None:
        if self.graph is None:
            super().step()
        else:
            self.graph.replay()


class Pointwise(Training):
    """Long chains of elementwise operators, which a compiler fuses."""

    def __init__(self, at: Setting, compiled: bool) -> None:
        super().__init__(at, layers=2, batch=16384)
        if compiled:    # a dry run proves the path through the front end; the real back end takes a compiler and a minute
            self.loss = torch.compile(self.loss, backend="eager" if at.dry else "inductor")

    def loss(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x = self.model(images)
        for _ in range(6):
            x = torch.sigmoid(x) * x + torch.tanh(x) * 0.1 - x.abs() * 0.01
        return nn.functional.cross_entropy(x, labels)


class Precise(Training):
    """Large matrix products in fp32, in TF32 or in bf16."""

    def __init__(self, at: Setting, precision: str, autocast: bool = False) -> None:
        super().__init__(at, width=4096, layers=4, batch=4096, fused=True)
        self.precision, self.autocast = precision, autocast

    def begin(self) -> None:
        self.old = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision(self.precision)

    def loss(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        with torch.autocast(self.at.device, torch.bfloat16, enabled=self.autocast):
            return super().loss(images, labels)

    def end(self) -> None:
        torch.set_float32_matmul_precision(self.old)


class Attention(Arm):
    """Self-attention, forward and backward, with a chosen kernel."""

    def __init__(self, at: Setting, backend: SDPBackend) -> None:
        self.backend = backend
        shape = (at.size(4, 1), at.size(16, 2), at.size(2048, 16), 64)
        dtype = torch.float32 if at.dry else torch.bfloat16
        self.qkv = [torch.randn(shape, device=at.device, dtype=dtype, requires_grad=True) for _ in range(3)]

    def step(self) -> None:
        for tensor in self.qkv:
            tensor.grad = None
        with sdpa_kernel([self.backend]):
            nn.functional.scaled_dot_product_attention(*self.qkv, is_causal=True).sum().backward()


class Emptied(Training):
    """The allocator's cache is thrown away in each step, so that each step asks the driver anew."""

    def __init__(self, at: Setting, empty: bool) -> None:
        super().__init__(at, batch=8192)
        self.empty = empty

    def step(self) -> None:
        super().step()
        if self.empty:
            torch.cuda.empty_cache()        # does nothing on the CPU


class Churn(Training):
    """Garbage in cycles beside a large live heap; the collector runs in each step, or not at all."""

    def __init__(self, at: Setting, collect: bool) -> None:
        super().__init__(at)
        self.collect = collect
        gc.freeze()     # torch's own half a million objects would make each collection a hundred steps long
        self.live = [{"id": i, "tokens": [i]} for i in range(at.size(60_000, 100))]

    def begin(self) -> None:
        gc.collect()
        if not self.collect:
            gc.disable()

    def step(self) -> None:
        samples: list[dict[str, Any]] = [{"id": i} for i in range(self.at.size(2_000, 10))]
        for sample in samples:
            sample["self"] = sample
        super().step()
        if self.collect:
            gc.collect()

    def end(self) -> None:
        gc.enable()
        gc.collect()

    def close(self) -> None:
        gc.unfreeze()


class Checkpoints(Training):
    """A state to the disk at every tenth step: waited for, or written by a thread from a pinned copy."""
    EVERY = 10

    def __init__(self, at: Setting, background: bool) -> None:
        super().__init__(at, batch=16384, fused=True)      # ten steps are longer than one file takes
        self.background, self.count = background, 0
        self.file = at.folder / f"checkpoint-{background}.pt"
        self.writer: threading.Thread | None = None
        self.staged = [torch.empty_like(p, device="cpu", pin_memory=not at.dry) for p in self.model.parameters()]

    def begin(self) -> None:
        self.count = 0

    def step(self) -> None:
        super().step()
        self.count += 1
        if self.count % self.EVERY == 5:        # inside of a recorded window of ten, and not at its edge
            with torch.profiler.record_function("checkpoint"):
                self.stage() if self.background else self.save(self.model.state_dict())

    def stage(self) -> None:
        self.wait()
        for there, here in zip(self.staged, self.model.parameters()):
            there.copy_(here.detach(), non_blocking=True)
        copied = None if self.at.dry else torch.cuda.Event()
        if copied is not None:
            copied.record()
        self.writer = threading.Thread(target=self.finish, args=(copied,))
        self.writer.start()

    def finish(self, copied: Any) -> None:
        if copied is not None:
            copied.synchronize()
        self.save(self.staged)

    def save(self, state: Any) -> None:
        with open(self.file, "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())

    def wait(self) -> None:
        if self.writer is not None:
            self.writer.join()
            self.writer = None

    def end(self) -> None:
        self.wait()

    def close(self) -> None:
        self.file.unlink(missing_ok=True)


class Convolutions(Training):
    """A convolutional network in bf16, in either memory layout."""

    def __init__(self, at: Setting, layout: torch.memory_format) -> None:
        self.at = at
        channels, size, batch = at.size(128, 4), at.size(56, 8), at.size(64, 2)
        torch.manual_seed(0)
        dtype = torch.float32 if at.dry else torch.bfloat16
        block = [nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU()]
        self.model = nn.Sequential(*block, nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                                   nn.Flatten()).to(at.device, dtype, memory_format=layout)
        self.adam = torch.optim.AdamW(self.model.parameters(), lr=1e-4, foreach=True)
        self.images = torch.randn(batch, channels, size, size, device=at.device, dtype=dtype).to(memory_format=layout)
        self.labels = torch.randint(channels, (batch,), device=at.device)


def half(at: Setting, width: int) -> Training:
    """bf16 products of a given width: the tensor cores want multiples of eight."""
    return Training(at, width=width, layers=8, batch=8192, dtype=torch.float32 if at.dry else torch.bfloat16, fused=True)


PAIRS = [
    Pair("loader-sleep", "10 ms of waiting for each batch -> four workers", ("data-loading",),
         lambda at: Loaded(at, 0), lambda at: Loaded(at, 4)),
    Pair("pageable", "pageable batch -> pinned, non_blocking", ("copy-bound",),
         lambda at: Fed(at, False), lambda at: Fed(at, True)),
    Pair("item", "loss.item() in each step -> each 100th", ("host-sync",),
         lambda at: Logged(at, 1), lambda at: Logged(at, 100)),
    Pair("cuda-graph", "tiny kernels eager -> CUDA graph", ("launch-bound",),
         lambda at: Tiny(at, False), lambda at: Tiny(at, True), needs_cuda="a CUDA graph has no counterpart on the CPU"),
    Pair("compile", "pointwise chains eager -> torch.compile", ("bandwidth-bound", "launch-bound"),
         lambda at: Pointwise(at, False), lambda at: Pointwise(at, True)),
    Pair("fp32-tf32", "fp32 matrix products -> TF32", ("tensor-cores-unused",),
         lambda at: Precise(at, "highest"), lambda at: Precise(at, "high")),
    Pair("tf32-bf16", "TF32 matrix products -> bf16 autocast", ("compute-bound", "tensor-cores-unused"),
         lambda at: Precise(at, "high"), lambda at: Precise(at, "high", autocast=True)),
    Pair("adam", "AdamW tensor by tensor -> fused", ("launch-bound", "bandwidth-bound"),
         lambda at: Training(at, layers=64, width=512, batch=256, foreach=False),
         lambda at: Training(at, layers=64, width=512, batch=256, fused=True)),
    Pair("attention", "attention by its formula -> flash", ("bandwidth-bound", "low-efficiency-kernels"),
         lambda at: Attention(at, SDPBackend.MATH), lambda at: Attention(at, SDPBackend.FLASH_ATTENTION)),
    Pair("empty-cache", "empty_cache() in each step -> none", ("allocator",),
         lambda at: Emptied(at, True), lambda at: Emptied(at, False)),
    Pair("gc-storm", "gc.collect() in each step -> gc.disable()", ("python-gc",), lambda at: Churn(at, True),
         lambda at: Churn(at, False), flags={"record_python_gc_info": True}, stack=True),
    Pair("checkpoint", "checkpoint at every 10th step -> in the background", ("io-stall",),
         lambda at: Checkpoints(at, False), lambda at: Checkpoints(at, True),
         period=Checkpoints.EVERY, active=Checkpoints.EVERY),
    Pair("odd-width", "width 1001 -> 1024", ("low-efficiency-kernels", "tensor-cores-unused"),
         lambda at: half(at, 1001), lambda at: half(at, 1024)),
    Pair("channels-last", "contiguous -> channels_last", ("low-efficiency-kernels", "bandwidth-bound"),
         lambda at: Convolutions(at, torch.contiguous_format), lambda at: Convolutions(at, torch.channels_last)),
    Pair("batch-x2", "batch 64 -> 128, for one sample", ("launch-bound", "low-efficiency-kernels"),
         lambda at: Training(at, width=512, layers=16, batch=64),
         lambda at: Training(at, width=512, layers=16, batch=128), work=2.0),
    Pair("null", "nothing planted -> nothing removed", (), Training, Training),
]


def run_pair(pair: Pair, at: Setting, holdup: pathlib.Path | None) -> dict[str, Any]:
    """A pair that fails is a row with a note: one missing library must not cost the others their turn."""
    blank = functools.partial(measure.row, pair.name, pair.expects, None, measure.Prediction())
    if at.dry and pair.needs_cuda:
        return blank("skipped: " + pair.needs_cuda)
    trace = at.folder / f"{pair.name}.pt.trace.json.gz"
    rounds, warm_up, steps = (2, 1, max(2, pair.period)) if at.dry else (4, 10, 50)
    try:
        before, after = pair.before(at), pair.after(at)
        times = alternate(before, after, HostClock() if at.dry else DeviceClock(), rounds, warm_up, steps)
        truth = measure.gain(times["before"], times["after"], pair.period, pair.work)
        recorded = record(before, trace, pair.active, {**FLAGS, **pair.flags}, pair.stack)
        before.close()
        after.close()
    except Exception as error:
        return blank(f"failed: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
    finally:
        gc.enable()
        gc.collect()
        with contextlib.suppress(Exception):
            torch.cuda.empty_cache()
    said, why = measure.explain(holdup, trace)
    return {**measure.row(pair.name, pair.expects, truth, measure.read_report(said, pair.expects), why), "what": pair.what,
            "period": pair.period, "work": pair.work, "steps_ms": times, "profiled_ms": recorded,
            "trace": trace.name}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run", action="store_true", help="both arms of every pair on the CPU, tiny")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(os.environ.get("OUT", "out")) / "pairs")
    parser.add_argument("--holdup", type=pathlib.Path, help="whose predictions are checked; none: truth and traces only")
    parser.add_argument("--only", action="append", help="one pair; may be given again")
    parser.add_argument("--seconds", type=float, default=1200.0, help="no pair is begun later than this")
    options = parser.parse_args()
    if not torch.cuda.is_available() and not options.dry_run:
        print("pairs: this machine has no CUDA device that torch can use; --dry-run proves that the code runs",
              file=sys.stderr)
        return 1
    chosen = [pair for pair in PAIRS if not options.only or pair.name in options.only]
    if not chosen:
        parser.error("no such pair; there are " + ", ".join(pair.name for pair in PAIRS))
    options.out.mkdir(parents=True, exist_ok=True)
    at = Setting(options.dry_run, options.out)
    if at.dry:
        torch.set_num_threads(1)        # threads that wait for each other make tiny operators long where cores are busy
    about = {"torch": torch.__version__, "python": platform.python_version(), "dry_run": at.dry,
             "device": "CPU" if at.dry else torch.cuda.get_device_name(), "cuda": torch.version.cuda}
    rows: list[dict[str, Any]] = []
    begun = time.monotonic()
    for pair in chosen:
        spent = time.monotonic() - begun
        if spent > options.seconds:
            late = f"not begun: {spent:.0f} s were spent"
            rows.append(measure.row(pair.name, pair.expects, None, measure.Prediction(), late))
        else:
            print(f"{spent:5.0f} s  {pair.name}: {pair.what}", file=sys.stderr, flush=True)
            rows.append(run_pair(pair, at, options.holdup))
        measure.write(options.out, "results", rows, about)      # after each pair: a run that is cut keeps what it has
    if at.dry:
        print("A dry run on the CPU: the figures below mean nothing.\n")
    print(measure.table(rows))
    return 1 if any(entry["note"].startswith("failed") for entry in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
