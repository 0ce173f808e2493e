# SPDX-License-Identifier: Apache-2.0
"""A training job without a GPU: operators work where they are called.

Knobs: work (ns of the model's products in a step), loader_inline, gc, gc_every, checkpoint, checkpoint_every, log, host_block, tiny (a count of
operators of a few us), casts (ns of copies and casts), optimizer_loop (parameters that are visited one by one), validate (forward passes).
"""

from tests.exam.host import Host
from tests.exam.job import RUNNERS, Job
from tests.exam.model import node, shapes
from tests.exam.sim import Process, Sim, Sleep, Thread


class CpuTrainer:
    """One process."""

    def __init__(self, job: Job, sim: Sim, steps: int) -> None:
        self.job, self.sim, self.steps = job, sim, steps
        self.rank = sim.rank()
        self.main, self.autograd = self.rank.thread("main"), self.rank.thread("pt_autograd_0")
        self.host = Host(self.main, min(job.host, 0.5))
        self.sequence = 0

    def product(self, thread: Thread, op: str, ns: float, *place: int | str) -> Process:
        """A product of matrices."""
        jitter = min(1.25, max(0.9, self.sim.draws.table("jitter", self.rank.step, op, *place)))
        thread.open(op, **shapes([[512], [64, 512], [512, 512], [], []], ["float", "float", "float", "Scalar", "Scalar"]))
        yield max(2000, int(ns * jitter))
        thread.close()

    def small(self, thread: Thread, op: str, ns: int, *place: int | str) -> Process:
        """An operator of some us, with Python before it."""
        yield min(12000, self.host.cost("fwd_between", op, *place))
        thread.open(op, **shapes([[32]], ["float"]))
        yield ns
        thread.close()

    def forward(self, *place: int | str) -> Process:
        """One pass."""
        share = self.job.knob("work") * 0.32 / self.job.layers
        for layer in range(self.job.layers):
            yield from self.host.between(self.main, "fwd_between", "linear", layer, *place)
            self.sequence += 1
            self.main.open("aten::linear")
            yield from self.small(self.main, "aten::t", 1500, layer, *place)
            yield from self.product(self.main, "aten::addmm", share, layer, *place)
            self.main.close()
            yield from self.product(self.main, "aten::relu", share * 0.05, layer, *place)
        yield from self.product(self.main, "aten::mse_loss", share * 0.05, "loss", *place)

    def step(self, step: int) -> Process:
        """One step."""
        job, main = self.job, self.main
        main.open("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "user_annotation")
        yield int(job.knob("loader_inline") * self.sim.draws.between(0.85, 1.15, "inline", step)) + 30000
        main.close()
        if job.knob("host_block"):
            main.open("aten::normal_", **shapes([[2048, 2048]], ["float"]))
            yield int(job.knob("host_block"))
            main.close()
        yield from self.casts(int(job.knob("casts")))
        yield from self.forward("train")
        for place in range(int(job.knob("tiny"))):
            yield from self.small(main, ["aten::add", "aten::mul", "aten::sub"][place % 3], 1800, "tiny", place)
        if job.knob("unrecorded"):
            yield int(job.knob("unrecorded") * self.sim.draws.between(0.9, 1.1, "unrecorded", step))
        every = int(job.knob("gc_every", 1))
        if job.knob("gc") and step % every == 0:
            yield from self.host.python(main, "Python GC", int(job.knob("gc")) * every)
        yield from self.backward()
        yield from self.optimizer()
        yield from self.after(step)

    def casts(self, total: int) -> Process:
        """Tensors that are not contiguous, or of the wrong type, are copied."""
        if not total:
            return
        for place in range(4):
            outer, inner = (("aten::contiguous", "aten::clone"), ("aten::to", "aten::_to_copy"))[place % 2]
            self.main.open(outer, **shapes([[64, 3, 224, 224]], ["float" if place % 2 == 0 else "double"]))
            self.main.open(inner, **shapes([[64, 3, 224, 224]], ["float" if place % 2 == 0 else "double"]))
            self.main.open("aten::copy_", **shapes([[64, 3, 224, 224]] * 2, ["float", "float" if place % 2 == 0 else "double"]))
            yield total // 4
            for _ in range(3):
                self.main.close()

    def backward(self) -> Process:
        """The autograd thread: on the CPU it is the caller's own."""
        share = self.job.knob("work") * 0.6 / self.job.layers
        thread = self.main
        thread.open("aten::ones_like")
        yield 4000
        thread.close()
        for layer in range(self.job.layers - 1, -1, -1):
            yield from self.host.between(thread, "bwd_between", "addmm", layer)
            thread.open("autograd::engine::evaluate_function: AddmmBackward0", **node(self.sequence, 0))
            thread.open("AddmmBackward0", **node(self.sequence, 0))
            yield from self.product(thread, "aten::mm", share / 2, "d", layer)
            yield from self.product(thread, "aten::mm", share / 2, "w", layer)
            thread.close()
            thread.close()
            thread.open("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad")
            yield from self.small(thread, "aten::add_", 2500, "accumulate", layer)
            thread.close()

    def optimizer(self) -> Process:
        """SGD, or a loop over parameters."""
        main = self.main
        main.open("Optimizer.step#SGD.step", "user_annotation")
        main.open("aten::_foreach_add_", **shapes([[[512, 512]] * 4], ["TensorList"]))
        yield int(self.job.knob("work") * 0.04)
        main.close()
        for parameter in range(int(self.job.knob("optimizer_loop"))):
            for op in ("aten::mul_", "aten::add_", "aten::lerp_", "aten::addcmul_", "aten::sqrt", "aten::addcdiv_"):
                yield from self.small(main, op, 2200, "loop", parameter)
        main.close()

    def after(self, step: int) -> Process:
        """What comes at the end of a step."""
        job, main = self.job, self.main
        for batch in range(int(job.knob("validate"))):
            yield from self.forward("validate", batch)
        if job.knob("log"):
            main.open("<built-in method write of _io.TextIOWrapper object at 0x7f1c5c3b5a40>", "python_function")
            yield Sleep(int(job.knob("log")))
            main.close()
        if job.knob("checkpoint") and step % 4 == 3:
            main.open("torch/serialization.py(849): save", "python_function")
            main.open("<built-in method write of _io.BufferedWriter object at 0x7f1c5c3b5b80>", "python_function")
            yield Sleep(int(job.knob("checkpoint")) * 4)
            main.close()
            main.close()
        yield self.host.cost("fwd_between", "end_of_step")

    def run(self) -> Process:
        """All steps."""
        for step in range(self.steps):
            self.rank.mark(step)
            self.main.open(f"ProfilerStep#{step}", "user_annotation")
            yield from self.step(step)
            self.main.close()
        self.rank.mark(self.steps)


def start(job: Job, sim: Sim, steps: int, captured: int) -> None:
    """One process."""
    sim.spawn(CpuTrainer(job, sim, steps).run())


RUNNERS["cpu"] = start
