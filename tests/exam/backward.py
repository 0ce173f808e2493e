# SPDX-License-Identifier: Apache-2.0
"""backward(): the main thread waits while the autograd thread runs the nodes of the graph, in reverse."""

from typing import TYPE_CHECKING

from tests.exam.draws import TABLES
from tests.exam.model import node
from tests.exam.sim import Process

if TYPE_CHECKING:
    from tests.exam.train import Trainer


def lead(trainer: "Trainer", table: str, step: int) -> int:
    """Time of the main thread between its last operator and the autograd thread's first, or behind its last."""
    measured = max(20000.0, min(trainer.sim.draws.table(table, step), TABLES[table][18]))
    return int(measured * min(1.0, 1.5 * trainer.job.host))


def run(trainer: "Trainer", step: int) -> Process:
    """The backward pass of one step."""
    thread, main, host = trainer.autograd, trainer.main, trainer.host
    main.at_site("backward")
    yield from host.small(main, "aten::ones_like", "fwd")
    yield lead(trainer, "backward_lead", step)
    numbers = {(layer, number): sequence for layer, number, sequence in trainer.numbers}
    recomputed = int(trainer.job.knob("recompute"))
    for index in range(len(trainer.layers) - 1, -1, -1):
        layer = trainer.layers[index]
        if index < recomputed:
            yield from again(trainer, index)
        if trainer.job.knob("graphed"):
            yield from thread.launch_graph([(b.kernel, b.length) for p in reversed(layer) for b in p.backward], trainer.compute)
            yield from trainer.hooks.gradient(trainer, thread, step, index)
            continue
        for number in range(len(layer) - 1, -1, -1):
            part = layer[number]
            yield from host.between(thread, "bwd_between", part.gradient, index, number)
            args = node(numbers.get((index, number), 0), 1)
            thread.open(f"autograd::engine::evaluate_function: {part.gradient}", **args)
            yield host.cost("bwd_op_without", part.gradient, index) // 4
            thread.open(part.gradient, **args)
            for place, piece in enumerate(part.backward):
                yield from host.operator(thread, piece, trainer.compute, "bwd", index, number, place)
            thread.close()
            thread.close()
            if part.kind == "gemm":
                thread.open("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad")
                yield from host.small(thread, "torch::autograd::AccumulateGrad", "bwd", index, number)
                thread.close()
        yield from trainer.hooks.gradient(trainer, thread, step, index)
    yield lead(trainer, "backward_tail", step)


def again(trainer: "Trainer", index: int) -> Process:
    """A checkpointed layer runs forward again, on the autograd thread."""
    thread, host = trainer.autograd, trainer.host
    thread.open("autograd::engine::evaluate_function: CheckpointFunctionBackward")
    thread.open("CheckpointFunctionBackward")
    for number, part in enumerate(trainer.layers[index]):
        yield from host.between(thread, "fwd_between", part.op, index, number, "again")
        yield from host.operator(thread, part, trainer.compute, "fwd", index, number, "again")
    thread.close()
    thread.close()
