# SPDX-License-Identifier: Apache-2.0
"""A training job on one device: loader, forward, backward on the autograd thread, optimizer; knobs plant causes.

Each knob is the size of a cause and 0 by default; what a knob does is said where it is read. Extras (extras.py, loading.py,
device_causes.py) hold the causes, this file the step.
"""

from typing import Any

from tests.exam import backward, extras, loading
from tests.exam.host import Host
from tests.exam.job import RUNNERS, Job
from tests.exam.model import Part, build, device_time, launches, resize, scaled
from tests.exam.sim import Process, Rank, Sim, Stream, Thread

TRITON = {"bf16": "triton_tem_fused_addmm_bf16_view_12", "mxfp4": "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x256x128x1_swiglu"}


class Trainer:
    """One rank of a training job. Several ranks: give each its own, and hooks (see Hooks) for what they do together."""

    def __init__(self, job: Job, sim: Sim, steps: int, captured: int, rank: Rank | None = None, hooks: "Hooks | None" = None) -> None:
        device = job.hardware()
        assert device is not None
        self.job, self.sim, self.steps, self.captured, self.device = job, sim, steps, captured, device
        self.rank = rank or sim.rank()
        self.main, self.autograd = self.rank.thread("main"), self.rank.thread("pt_autograd_0")
        self.host = Host(self.main, job.host)
        self.compute: Stream = self.rank.stream(7)
        self.hooks = hooks or Hooks()
        self.layers = self.model()
        self.rank.blocking = bool(job.knob("blocking"))
        self.rank.comm_slowdown = float(job.knob("contention_pct")) / 100
        self.numbers: list[tuple[int, int, int]] = []
        self.loader = loading.Loader(self)

    def model(self) -> list[list[Part]]:
        """The model, its kernels scaled to the wanted ratio of device to host time."""
        job, draws = self.job, self.sim.draws
        single = int(job.knob("single"))
        layers = build(draws, self.device, job.model, job.layers, False)
        host = launches(layers) * 62000 * job.host
        factor = job.ratio * host / device_time(layers)
        if single:  # fp32 products at 70 % of the vector units' peak instead of 50 to 65 % of the tensor cores' (TF32, else fp16)
            layers[: int(single)] = build(draws, self.device, job.model, job.layers, True)[: int(single)]
            slower = (self.device.tf32 or self.device.tensor16) * draws.between(0.5, 0.65, "tensor") / (self.device.vector * 0.7)
            products = [q for layer in layers[: int(single)] for p in layer for q in (p, *p.backward) if q.kind == "gemm"]
            for piece in products if not job.knob("single_cured") else []:
                piece.length = int(piece.length * slower)
                resize(piece, slower)
        scaled(layers, factor)
        if job.knob("triton"):
            for layer in layers:
                for part in layer:
                    if part.kind == "gemm":
                        part.kernel, part.args = TRITON[str(job.knob("triton"))], {}
                        part.op = "vllm::moe_forward"
        return layers

    def run(self) -> Process:
        """All steps."""
        for step in range(self.steps):
            self.rank.mark(step)
            self.main.open(f"ProfilerStep#{step}", "user_annotation")
            self.main.open("train.py(212): train_step", "python_function")
            yield from self.step(step)
            self.main.close()
            self.main.close()
        self.rank.mark(self.steps)
        if self.job.knob("final_sync"):
            yield from self.main.sync()

    def step(self, step: int) -> Process:
        """One step."""
        main, host = self.main, self.host
        yield from extras.before_step(self, step)
        yield from self.loader.next(step)
        yield from self.loader.to_device(step)
        yield from host.between(main, "fwd_between", "zero_grad")
        main.open("Optimizer.zero_grad#AdamW.zero_grad", "user_annotation")
        yield host.cost("fwd_op_without", "zero_grad") + 20000
        main.close()
        yield from self.hooks.before_forward(self, step)
        yield from self.forward(step)
        yield from extras.after_forward(self, step)
        for frame in ("torch/_tensor.py(466): backward", "<built-in method run_backward of torch._C._EngineBase object at 0x7f3a5c1d8a30>"):
            main.open(frame, "python_function")
        yield from backward.run(self, step)
        main.close()
        main.close()
        yield from self.hooks.before_optimizer(self, step)
        yield from extras.after_backward(self, step)
        yield from self.optimizer(step)
        yield from extras.after_step(self, step)
        yield from self.hooks.after_step(self, step)

    def forward(self, step: int) -> Process:
        """The forward pass."""
        self.numbers = []
        graph = self.job.knob("graphed")
        for index, layer in enumerate(self.layers):
            self.main.open(f"nn.Module: Block_{index}", "python_function")
            yield from self.hooks.before_layer(self, step, index)
            if graph:
                yield from self.main.launch_graph([(p.kernel, p.length) for p in layer], self.compute)
                self.main.close()
                continue
            for number, part in enumerate(layer):
                yield from self.host.between(self.main, "fwd_between", part.op, index, number)
                self.host.sequence += 1
                self.numbers.append((index, number, self.host.sequence))
                yield from self.host.operator(self.main, part, self.compute, "fwd", index, number, sequence=self.host.sequence)
            yield from self.hooks.after_layer(self, step, index)
            self.main.close()
        yield from extras.in_forward(self, step)

    def optimizer(self, step: int) -> Process:
        """A fused optimizer: few long kernels over all parameters."""
        main, host = self.main, self.host
        main.open("Optimizer.step#AdamW.step", "user_annotation")
        yield host.cost("fwd_between", "optimizer") + int(60000 * self.job.host)
        total = int(0.04 * device_time(self.layers)) + 8000
        if self.job.knob("optimizer_loop"):
            yield from extras.optimizer_loop(self, step, total)
        else:
            parts = max(1, self.job.layers // 3)
            main.open("aten::_fused_adamw_")
            for index in range(parts):
                yield host.cost("fwd_op_between_launches", "adamw", index)
                kernel = (
                    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<"
                    "at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, "
                    "at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>, float const*>"
                )
                yield from main.launch(kernel, total // parts, self.compute)
            main.close()
        main.close()


class Hooks:
    """What other files add to a trainer's step, mostly communication. All are generators."""

    def before_forward(self, trainer: Trainer, step: int) -> Process:
        """Before the forward pass."""
        yield from ()

    def before_layer(self, trainer: Trainer, step: int, layer: int) -> Process:
        """Before a layer of the forward pass."""
        yield from ()

    def after_layer(self, trainer: Trainer, step: int, layer: int) -> Process:
        """After a layer of the forward pass."""
        yield from ()

    def gradient(self, trainer: Trainer, thread: Thread, step: int, layer: int) -> Process:
        """On the autograd thread, when a layer's gradients have been launched."""
        yield from ()

    def before_optimizer(self, trainer: Trainer, step: int) -> Process:
        """After backward() has returned."""
        yield from ()

    def after_step(self, trainer: Trainer, step: int) -> Process:
        """At the end of the step."""
        yield from ()


def start(job: Job, sim: Sim, steps: int, captured: int) -> None:
    """One rank, or a rank whose neighbours are only felt (knob ddp)."""
    from tests.exam.comm import hooks_for

    trainer = Trainer(job, sim, steps, captured, hooks=hooks_for(job))
    sim.spawn(trainer.run())


RUNNERS["train"] = start
_: Any = None
