# SPDX-License-Identifier: Apache-2.0
"""What the host of a job does around kernels: operators, Python, syncs, pauses; costs are drawn from measured tables."""

from typing import Any

from tests.exam.draws import TABLES
from tests.exam.model import Part, shapes
from tests.exam.sim import Process, Sleep, Stream, Thread

PYTHON = "python_function"


class Host:
    """Costs of one rank's host: `scale` times what was measured, with the measured jitter."""

    def __init__(self, thread: Thread, scale: float) -> None:
        self.thread, self.scale, self.draws = thread, scale, thread.rank.sim.draws
        self.sequence = 1000
        self.frame = 100

    def cost(self, table: str, what: str, *place: int | str) -> int:
        """A cost that belongs to `what`, with jitter that belongs to the place and the step."""
        base = min(self.draws.table(table, what), TABLES[table][17])
        jitter = self.draws.table("jitter", self.thread.rank.step, what, *place)
        return max(200, int(base * jitter * self.scale))

    def python(self, thread: Thread, name: str, ns: int, cat: str = PYTHON) -> Process:
        """A Python function that works; seen only when stacks are recorded."""
        self.frame += 1
        thread.open(name, cat, **({"Python id": self.frame, "Python parent id": 100} if cat == PYTHON else {}))
        yield ns
        thread.close()

    def between(self, thread: Thread, table: str, what: str, *place: int | str) -> Process:
        """Python or engine time between operators."""
        yield self.cost(table, what, "between", *place)

    def operator(
        self, thread: Thread, part: Part, stream: Stream, phase: str, *place: int | str, sequence: int = -1, forward: int = 0
    ) -> Process:
        """An operator that launches one kernel."""
        thread.at_site(part.op, phase, *place)
        if part.wrapper:
            thread.open(part.wrapper, **part.args)
        args = dict(part.args)
        if sequence >= 0:
            args.update({"Sequence number": sequence, "Fwd thread id": forward})
        thread.open(part.op, **args)
        yield self.cost(f"{phase}_op_before", part.op, *place)
        cost = max(1500, int(min(40000, thread.cost("launch_call")) * min(1.0, self.scale * 1.6)))
        yield from thread.launch(part.kernel, part.length, stream, cost=cost)
        yield self.cost(f"{phase}_op_after", part.op, *place)
        thread.close()
        if part.wrapper:
            thread.close()

    def small(self, thread: Thread, name: str, phase: str, *place: int | str, **args: Any) -> Process:
        """An operator without a kernel: a view, a detach."""
        thread.open(name, **args)
        yield min(self.cost(f"{phase}_op_without", name, *place), int(20000 * self.scale))
        thread.close()

    def item(self, thread: Thread, stream: Stream, *place: int | str, old: bool = False) -> Process:
        """tensor.item(): a copy of one number that waits for all before it on the stream."""
        thread.at_site("item", *place)
        thread.open("aten::item")
        thread.open("aten::_local_scalar_dense", **shapes([[]], ["float"]))
        yield self.cost("fwd_op_without", "aten::_local_scalar_dense", *place) // 2
        yield from thread.copy("DtoH (Device -> Pageable)" if old else "DtoH (Device -> Pinned)", 4, 1400, stream, old)
        yield from thread.sync([stream])
        yield 1500
        thread.close()
        thread.close()

    def pause(self, ns: int, busy: bool = True) -> Process:
        """Time that nothing records."""
        yield ns if busy else Sleep(ns)
