# SPDX-License-Identifier: Apache-2.0
"""The data loader of a training job, and how its batch gets to the device.

Knobs: loader_inline (ns of work per batch in this process), loader_workers and loader_item (ns of a worker per batch), cores (CPUs of the
host, for work of workers), loader_every (the work strikes every k-th batch k-fold), pageable (bytes copied from pageable memory),
pinned (bytes copied from pinned memory on the compute stream), side_copy (that copy on its own stream, one step ahead), pin_now (ns of
cudaHostAlloc per step), pin_calls.
"""

from typing import TYPE_CHECKING

from tests.exam.model import shapes
from tests.exam.cores import Cores
from tests.exam.sim import Event, Process, Signal, Sleep

if TYPE_CHECKING:
    from tests.exam.train import Trainer


class Loader:
    """Batches, in order. Workers have two batches each in flight, as in PyTorch."""

    def __init__(self, trainer: "Trainer") -> None:
        self.trainer = trainer
        job, sim = trainer.job, trainer.sim
        self.workers = int(job.knob("loader_workers"))
        self.ready: dict[int, Signal] = {}
        self.tasks: list[list[int]] = [[] for _ in range(self.workers)]
        self.wake: list[Signal] = [Signal() for _ in range(self.workers)]
        self.cores = Cores(sim, int(job.knob("cores"))) if job.knob("cores") else None
        self.ahead: Event | None = None
        for worker in range(self.workers):
            for turn in range(2):
                self.request(worker + turn * self.workers)
            sim.spawn(self.work(worker), self.cores)

    def request(self, batch: int) -> None:
        """Asks the worker whose turn it is for a batch."""
        if batch >= self.trainer.steps + 1:
            return
        worker = batch % self.workers
        self.ready[batch] = Signal()
        self.tasks[worker].append(batch)
        self.wake[worker].fire()

    def item_time(self, batch: int) -> int:
        """A worker's time for a batch."""
        trainer = self.trainer
        return int(trainer.job.knob("loader_item") * min(1.5, trainer.sim.draws.table("jitter", "batch", batch, trainer.rank.index)))

    def work(self, worker: int) -> Process:
        """A worker process."""
        while True:
            while not self.tasks[worker]:
                self.wake[worker] = Signal()
                yield self.wake[worker]
            batch = self.tasks[worker].pop(0)
            yield max(1, self.item_time(batch))
            self.ready[batch].fire()
            if batch + self.workers > self.trainer.steps:
                return

    def next(self, step: int) -> Process:
        """The next batch."""
        trainer = self.trainer
        main, host, job = trainer.main, trainer.host, trainer.job
        main.at_site("loader")
        inline = int(job.knob("loader_inline"))
        every = int(job.knob("loader_every", 1))
        kind = "_MultiProcessingDataLoaderIter" if self.workers else "_SingleProcessDataLoaderIter"
        main.open(f"enumerate(DataLoader)#{kind}.__next__", "user_annotation")
        if self.workers:
            main.open("torch/utils/data/dataloader.py(1455): _next_data", "python_function")
            yield int(30000 * job.host) + 5000
            yield self.ready[step]
            self.request(step + 2 * self.workers)
            yield int(40000 * job.host) + 10000
            main.close()
        elif inline and step % every == 0:
            yield from self.inline(int(inline * every * trainer.sim.draws.between(0.85, 1.15, "inline", step)))
        else:
            yield int(60000 * job.host)
        main.close()
        yield host.cost("fwd_between", "loader")

    def inline(self, total: int) -> Process:
        """Work of the loader in the main process: some of it in operators."""
        main, host = self.trainer.main, self.trainer.host
        main.open("torch/utils/data/_utils/fetch.py(49): fetch", "python_function")
        yield int(total * 0.8)
        main.open("torch/utils/data/_utils/collate.py(367): default_collate", "python_function")
        for place in range(3):
            yield from host.small(main, "aten::empty", "fwd", "collate", place)
        main.open("aten::stack", **shapes([[[3, 224, 224]] * 4, []], ["TensorList", "Scalar"]))
        yield int(total * 0.2)
        main.close()
        main.close()
        main.close()

    def to_device(self, step: int) -> Process:
        """Copies of the batch; 64 KB of token numbers if no knob says else."""
        trainer = self.trainer
        main, job, draws = trainer.main, trainer.job, trainer.sim.draws
        main.at_site("to_device")
        if job.knob("pin_now"):
            yield from self.pin(int(job.knob("pin_now")), max(1, int(job.knob("pin_calls", 2))))
        pageable, pinned = int(job.knob("pageable")), int(job.knob("pinned"))
        size = pageable or pinned or 65536
        for name in ("aten::to", "aten::_to_copy"):
            main.open(name, **shapes([[size // 4]], ["float"]))
        yield int(12000 * job.host)
        main.open("aten::copy_", **shapes([[size // 4]] * 2, ["float", "float"]))
        yield int(8000 * job.host)
        if pageable:
            rate = draws.machine("rate_pageable", "job")
            yield from main.copy("HtoD (Pageable -> Device)", pageable, int(pageable / min(rate, 9.0)), trainer.compute, True)
            yield from main.sync([trainer.compute])
        elif job.knob("side_copy"):
            yield from self.copy_ahead(size)
        else:
            rate = max(6.0, draws.machine("rate_pinned", "job"))
            yield from main.copy("HtoD (Pinned -> Device)", size, int(size / rate) + 1200, trainer.compute, False)
        main.close()
        main.close()
        main.close()

    def copy_ahead(self, size: int) -> Process:
        """A prefetcher: the copy of the next batch goes to its own stream, this step waits for the one before."""
        trainer = self.trainer
        stream = trainer.rank.stream(24)
        if self.ahead:
            yield from trainer.main.wait_event(self.ahead, trainer.compute)
        rate = max(6.0, trainer.sim.draws.machine("rate_pinned", "job"))
        yield from trainer.main.copy("HtoD (Pinned -> Device)", size, int(size / rate) + 1200, stream, False)
        self.ahead = Event()
        yield from trainer.main.record(self.ahead, stream)

    def pin(self, total: int, calls: int) -> Process:
        """pin_memory() in the step: cudaHostAlloc each time, as the batch's size changes."""
        main = self.trainer.main
        for _ in range(calls):
            main.open("aten::pin_memory", **shapes([[1 << 20]], ["float"]))
            main.open("aten::_pin_memory", **shapes([[1 << 20]], ["float"]))
            yield 5000
            yield from main.call("cudaHostAlloc", total // calls)
            yield Sleep(1)
            yield int(0.05 * total / calls)
            main.close()
            main.close()
