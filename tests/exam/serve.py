# SPDX-License-Identifier: Apache-2.0
"""Inference: a serving engine that decodes token by token, or a plain loop of forward passes.

Knobs: mode (serve..., infer...), graphed (the forward pass is CUDA graphs), post (ns of detokenising and scheduling in Python per step), sampling
(ns of an operator on the CPU per step), no_wait (tokens stay on the device: nobody waits for them), named (steps are
annotated), waits (ns without a request, per step).
"""

from tests.exam.host import Host
from tests.exam.job import RUNNERS, Job
from tests.exam.model import build, device_time, element, launches, scaled, shapes
from tests.exam.sim import Process, Sim, Sleep


class Server:
    """One process that answers."""

    def __init__(self, job: Job, sim: Sim, steps: int) -> None:
        device = job.hardware()
        assert device is not None
        self.job, self.sim, self.steps, self.device = job, sim, steps, device
        self.rank = sim.rank()
        self.main = self.rank.thread("main")
        self.host = Host(self.main, job.host)
        self.compute = self.rank.stream(7)
        self.layers = build(sim.draws, device, job.model, job.layers, False)
        wanted = job.ratio * launches(self.layers, False) * 55000 * job.host
        scaled(self.layers, wanted / device_time(self.layers, False))

    def run(self) -> Process:
        """All steps."""
        serving = str(self.job.knob("mode")).startswith("serve")
        for step in range(self.steps):
            self.rank.mark(step)
            batch = self.sim.draws.whole(28, 32, "batch", step)
            if serving:
                yield from self.schedule(step)
                self.main.open(f"execute_context_0(0)_generation_{batch}({batch})", "user_annotation")
            elif self.job.knob("named"):
                self.main.open(f"ProfilerStep#{step}", "user_annotation")
            yield from self.inputs(step)
            yield from self.forward(step)
            if serving:
                self.main.close()
            yield from self.output(step)
            if not serving and self.job.knob("named"):
                self.main.close()
        self.rank.mark(self.steps)
        if self.job.knob("final_sync"):
            yield from self.main.sync()

    def schedule(self, step: int) -> Process:
        """The scheduler chooses requests."""
        yield from self.host.python(self.main, "vllm/v1/core/sched/scheduler.py(169): schedule", int(150000 * self.job.host) + 20000)
        if self.job.knob("waits"):
            self.main.open("<built-in method get of _queue.SimpleQueue object at 0x7f2b1c0a9e30>", "python_function")
            yield Sleep(int(self.job.knob("waits") * self.sim.draws.between(0.3, 1.7, "request", step)))
            self.main.close()

    def inputs(self, step: int) -> Process:
        """Positions and block tables go to the device."""
        self.main.open("vllm/v1/worker/gpu_model_runner.py(1139): _prepare_inputs", "python_function")
        for place in range(3):
            self.main.at_site("inputs", place)
            self.main.open("aten::copy_", **shapes([[256], [256]], ["int", "int"]))
            yield self.host.cost("fwd_op_without", "copy", place) // 2
            yield from self.main.copy("HtoD (Pinned -> Device)", 1024, 1400, self.compute, False)
            self.main.close()
        self.main.close()

    def forward(self, step: int) -> Process:
        """The model."""
        if self.job.knob("graphed"):
            yield self.host.cost("fwd_between", "graph")
            yield from self.main.launch_graph([(p.kernel, p.length) for layer in self.layers for p in layer], self.compute)
        else:
            for index, layer in enumerate(self.layers):
                for number, part in enumerate(layer):
                    yield from self.host.between(self.main, "fwd_between", part.op, index, number)
                    yield from self.host.operator(self.main, part, self.compute, "fwd", index, number)
        part = element(self.device, 5000, "aten::argmax", "ArgMaxOps", 2, kind="reduce")
        yield from self.host.operator(self.main, part, self.compute, "fwd", "sample")

    def output(self, step: int) -> Process:
        """Tokens come back; the engine works on them."""
        main, job = self.main, self.job
        if not job.knob("no_wait"):
            yield from self.host.item(main, self.compute, "tokens", old=False)
        if job.knob("sampling"):
            main.open("aten::sort", **shapes([[32, 32000]], ["float"]))
            yield int(job.knob("sampling"))
            main.close()
        if job.knob("post"):
            yield from self.host.python(main, "transformers/tokenization_utils_fast.py(652): _decode", int(job.knob("post")))
        yield int(30000 * job.host)


def start(job: Job, sim: Sim, steps: int, captured: int) -> None:
    """One process."""
    sim.spawn(Server(job, sim, steps).run())


RUNNERS["serve"] = start
