# SPDX-License-Identifier: Apache-2.0
"""Communication of a data-parallel job: gradients in buckets, reduced while backward runs.

One rank alone: its neighbours are only felt as the time that a collective takes (knobs ddp: ns of all collectives of a step; late: they
all start behind backward; buckets; sent: elements of all of them, where it is not the bytes that take the time). Several ranks: a Group shared by all, which hands out the same Join to each.
"""

from typing import Any

from tests.exam.job import Job
from tests.exam.model import shapes
from tests.exam.sim import Event, Join, Process, Stream, Thread
from tests.exam.train import Hooks, Trainer

KERNEL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"


class Group:
    """Collectives of one process group, found by name by all its ranks. tau(key) says how long each takes."""

    def __init__(self, ranks: list[int], name: str = "0", description: str = "default_pg") -> None:
        self.ranks, self.name, self.description = ranks, name, description
        self.joins: dict[Any, Join] = {}
        self.numbers: dict[int, int] = {}

    def join(self, key: Any, tau: int) -> Join:
        """The collective of this key; the first to ask decides how long it takes."""
        if key not in self.joins:
            self.joins[key] = Join(len(self.ranks), tau)
        return self.joins[key]

    def arguments(self, rank: int, kind: str, count: int, dtype: str = "BFloat16") -> dict[str, Any]:
        """What record_param_comms and the kernel say."""
        number = self.numbers[rank] = self.numbers.get(rank, 0) + 1
        return {
            "Collective name": kind,
            "dtype": dtype,
            "In msg nelems": count,
            "Out msg nelems": count,
            "Group size": len(self.ranks),
            "In split size": "[]",
            "Out split size": "[]",
            "Process Group Name": self.name,
            "Process Group Description": self.description,
            "Process Group Ranks": str(self.ranks),
            "Rank": rank,
            "Seq": number,
        }


def reduce(trainer: Trainer, thread: Thread, join: Join, args: dict[str, Any], stream: Stream, ready: Event, done: Event) -> Process:
    """One all-reduce as ProcessGroupNCCL launches it: its stream waits for the gradients, and an event tells when it is done."""
    thread.at_site("reduce", args["Seq"] % 64)
    thread.open("c10d::allreduce_", **shapes([[[args["In msg nelems"]]], [], [], [], [], []], ["TensorList", "", "", "", "", "Scalar"]))
    thread.open("record_param_comms", **args)
    thread.open("nccl:all_reduce", "user_annotation")
    yield int(20000 * trainer.job.host)
    yield from thread.record(ready, trainer.compute)
    yield from thread.wait_event(ready, stream)
    yield from thread.collective(join, KERNEL, stream, args)
    yield from thread.record(done, stream)
    thread.close()
    thread.close()
    thread.close()


class DataParallel(Hooks):
    """All-reduces of buckets of layers."""

    def __init__(self, job: Job, group: Group | None = None) -> None:
        self.group = group or Group([0])
        self.claimed = int(job.knob("world", 8))
        self.buckets = max(1, int(job.knob("buckets", 3)))
        self.total = int(job.knob("ddp"))
        self.late = bool(job.knob("late"))
        self.pending: list[Event] = []
        self.held: list[tuple[int, int]] = []

    def cost(self, trainer: Trainer, step: int, bucket: int) -> int:
        """Time of one bucket's collective once all are there."""
        return max(12000, int(self.total / self.buckets * min(1.6, trainer.sim.draws.between(0.92, 1.12, "collective", step, bucket))))

    def gradient(self, trainer: Trainer, thread: Thread, step: int, layer: int) -> Process:
        """A bucket is full after each so many layers."""
        layers = trainer.job.layers
        if self.late:
            self.held = [(step, bucket) for bucket in range(self.buckets)]
            return
        position = layers - layer
        if (position * self.buckets) // layers == ((position - 1) * self.buckets) // layers:
            return
        yield from self.send(trainer, thread, step, (position * self.buckets) // layers - 1)

    def send(self, trainer: Trainer, thread: Thread, step: int, bucket: int) -> Process:
        """Starts a bucket's all-reduce."""
        tau = self.cost(trainer, step, bucket)
        sent = int(trainer.job.knob("sent")) // self.buckets  # of latency, time says nothing of bytes
        args = self.group.arguments(trainer.rank.index, "allreduce", max(2048, sent or tau * 60))
        if len(self.group.ranks) == 1:
            args.update({"Group size": self.claimed, "Process Group Ranks": str(list(range(self.claimed)))})
        done = Event()
        yield from reduce(trainer, thread, self.group.join((step, bucket), tau), args, trainer.rank.stream(20), Event(), done)
        self.pending.append(done)

    def before_optimizer(self, trainer: Trainer, step: int) -> Process:
        """The compute stream waits for all buckets."""
        for waiting, bucket in self.held:
            yield from self.send(trainer, trainer.main, waiting, bucket)
        self.held = []
        for done in self.pending:
            yield from trainer.main.wait_event(done, trainer.compute)
        self.pending = []


def hooks_for(job: Job) -> Hooks:
    """The communication that a job's knobs ask for."""
    return DataParallel(job) if job.knob("ddp") else Hooks()
