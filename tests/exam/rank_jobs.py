# SPDX-License-Identifier: Apache-2.0
"""Steps of jobs of several ranks: DDP, FSDP, tensor and expert parallelism, pipelines.

Knobs (0 or absent: nothing is wrong):
    loader {rank: ns}, loader_all ns    more work of the data loader     late {rank: ns}   host time before each forward pass
    hiccup ns                           a pause of one rank, each step another      clock, work, experts {rank: factor}, uneven
    host_rank {rank: factor}, host_all  slower hosts                     item              number of .item() in each forward pass
    recompute                           layers run forward again         micro, sync_all   gradient accumulation, reduced each time
    buckets "tiny" | "huge"             otherwise a bucket a layer       slow factor       of all transfers; free_network
    side_copy                           the batch is copied on a stream of its own, and nothing waits for it
    serial                              FSDP gathers when it needs, not before      micro, stage {stage: factor}, slow_peer
"""
from tests.exam.sim import Event, Process
from tests.exam.team import Shape, Team, Worker

ADAM = ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, "
        "at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>, float const*>")


NODE = "autograd::engine::evaluate_function: "
GRADIENT = (NODE + "torch::autograd::AccumulateGrad",)


class Loop(Worker):
    """A training loop with the parts that all kinds share; kinds fill in forward and backward."""

    def run(self, steps: int, final_sync: bool) -> Process:
        """All steps, and a wait for the device as the profiler's end has it."""
        for step in range(steps):
            self.rank.mark(step)
            self.main.open(f"ProfilerStep#{step}", "user_annotation")
            yield from self.step(step)
            self.main.close()
        self.rank.mark(steps)
        if final_sync:
            self.main.at_site("final")
            yield from self.main.sync()
        self.finished_at = self.team.sim.now

    def step(self, step: int) -> Process:
        """One step."""
        shape, main, host = self.shape, self.main, self.host
        draws = self.team.sim.draws
        yield from self.load(step)
        if shape.knob("hiccup") and draws.whole(0, shape.ranks - 1, "victim", step) == self.index:
            yield from self.pause(shape.knob("hiccup"), True)
        yield from host.between(main, "fwd_between", "zero_grad", self.me)
        main.open("Optimizer.zero_grad#AdamW.zero_grad", "user_annotation")
        yield host.cost("fwd_op_without", "zero_grad", self.me) + 15000
        main.close()
        late = shape.knob("late", {}).get(self.index, 0)
        if late:
            yield from self.pause(late, True)
        yield from self.passes(step)
        yield from self.optimizer(step)
        if shape.sync:
            yield from host.item(main, self.compute, self.me, step)

    def load(self, step: int) -> Process:
        """The next batch and its copy to the device."""
        shape, main = self.shape, self.main
        main.at_site("loader")
        main.open("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "user_annotation")
        more = shape.knob("loader_all", 0) + shape.knob("loader", {}).get(self.index, 0)
        usual = self.team.sim.draws.between(60000, 140000, "loader", self.me, step) * min(1.0, shape.host * 2)
        yield int(usual + more * self.team.sim.draws.between(0.9, 1.1, "more", self.me, step))
        main.close()
        main.open("aten::to")
        main.open("aten::copy_")
        yield self.host.cost("fwd_op_without", "aten::copy_", self.me)
        own = self.rank.stream(13) if shape.knob("side_copy") else self.compute
        yield from main.copy("HtoD (Pinned -> Device)", 2 << 20, 90000, own, False)
        main.close()
        main.close()

    def passes(self, step: int) -> Process:
        """Forward and backward."""
        yield from ()

    def optimizer(self, step: int) -> Process:
        """A fused optimizer."""
        main, host = self.main, self.host
        main.open("Optimizer.step#AdamW.step", "user_annotation")
        yield host.cost("fwd_between", "optimizer", self.me) + int(60000 * self.shape.host)
        main.open("aten::_fused_adamw_")
        total = int(0.04 * (self.team.forward_ns + self.team.backward_ns)) + 8000
        for index in range(2):
            main.at_site("adamw", index)
            yield host.cost("fwd_op_between_launches", "adamw", self.me, index)
            yield from main.launch(ADAM, int(total / 2 * self.shape.knob("clock", {}).get(self.index, 1.0)), self.compute)
        main.close()
        main.close()

    def items(self, step: int, layer: int) -> Process:
        """.item() in the forward pass, behind some of the layers."""
        wanted = int(self.shape.knob("item", 0))
        if wanted and layer < wanted:
            yield from self.host.item(self.main, self.compute, self.me, step, layer)


class Ddp(Loop):
    """Data-parallel: buckets of gradients are reduced on a stream of their own while backward goes on."""

    stream = 24

    def passes(self, step: int) -> Process:
        micro = int(self.shape.knob("micro", 1))
        for nth in range(micro):
            yield from self.forward(step, nth, micro)
            yield from self.backward(step, nth, micro)

    def forward(self, step: int, nth: int, micro: int) -> Process:
        """One forward pass."""
        self.main.open("DistributedDataParallel.forward", "user_annotation")
        for layer in range(self.shape.layers):
            yield from self.forward_layer(step, layer, self.speed(step) / micro, nth)
            yield from self.items(step, layer)
        self.main.close()

    def backward(self, step: int, nth: int, micro: int) -> Process:
        """One backward pass, with its all-reduces when they are due."""
        shape, thread = self.shape, self.autograd
        reduced = nth == micro - 1 or bool(shape.knob("sync_all"))
        yield from self.lead("backward_lead", step, nth)
        waiting: list[Event] = []
        for layer in reversed(range(shape.layers)):
            if layer < int(shape.knob("recompute")):
                yield from self.again(step, layer, self.speed(step) / micro, nth)
            yield from self.backward_layer(step, layer, self.speed(step) / micro, nth)
            if reduced:
                yield from self.reduce(layer, waiting)
        if reduced and shape.knob("buckets") == "huge":
            whole = self.collective(thread, "allreduce", self.gradient_bytes(), self.rank.stream(self.stream))
            waiting.append((yield from self.inside(thread, GRADIENT, whole)))
        for event in waiting:
            yield from self.until(thread, event)
        yield from self.lead("backward_tail", step, nth)

    def gradient_bytes(self, layer: int | None = None) -> int:
        """Bytes of a layer's gradients, or of all, which take `cover` times what backward takes. The first layer, reduced last, has few."""
        layers = self.shape.layers
        whole = self.team.bytes_for("allreduce", self.shape.cover * self.team.backward_ns, self.shape.ranks)
        if layer is None:
            return whole
        return int(whole * (0.15 if layer == 0 else 1.0) / (layers - 0.85))

    def reduce(self, layer: int, waiting: list[Event]) -> Process:
        """What is due after a layer's gradients: one bucket, or many tiny ones, or nothing yet."""
        style, stream = self.shape.knob("buckets"), self.rank.stream(self.stream)
        pieces = int(self.shape.knob("pieces", 8)) if style == "tiny" else 0 if style == "huge" else 1
        for _ in range(pieces):
            piece = self.collective(self.autograd, "allreduce", self.gradient_bytes(layer) // pieces, stream)
            waiting.append((yield from self.inside(self.autograd, GRADIENT, piece)))


class Fsdp(Ddp):
    """Fully sharded: gathers each layer before it runs, forward and backward, and reduces and scatters its gradients."""

    def unit_bytes(self) -> int:
        """Bytes of a layer: all gathers of a pass and its scatters take `cover` times the computation of backward."""
        return self.team.bytes_for("allgather", self.shape.cover * self.team.backward_ns / (2 * self.shape.layers), self.shape.ranks)

    def gather(self, thread: object, layer: int, ahead: Event | None) -> Process:
        """Gathers a layer; where serial, only behind all that the compute stream has."""
        after = None if self.shape.knob("serial") else ahead
        gather = self.collective(thread, "allgather", self.unit_bytes(), self.rank.stream(self.stream), after=after)  # type: ignore[arg-type]
        gather = self.ranged(thread, f"FSDP::all_gather (layers.{layer})", gather)  # type: ignore[arg-type]
        done = yield from self.inside(thread, () if thread is self.main else (NODE + "AddmmBackward0",), gather)  # type: ignore[arg-type]
        return done

    def passes(self, step: int) -> Process:
        shape, main, thread, free = self.shape, self.main, self.autograd, Event()
        main.open("FullyShardedDataParallel.forward", "user_annotation")
        serial = bool(shape.knob("serial"))
        coming: Event = yield from self.gather(main, 0, free)
        for layer in range(shape.layers):
            yield from self.until(main, coming)
            if layer + 1 < shape.layers and not serial:
                coming = yield from self.gather(main, layer + 1, free)
            yield from self.forward_layer(step, layer, self.speed(step))
            yield from self.items(step, layer)
            if layer + 1 < shape.layers and serial:
                coming = yield from self.gather(main, layer + 1, free)
        main.close()
        yield from self.lead("backward_lead", step)
        scatters: list[Event] = []
        coming = yield from self.gather(thread, shape.layers - 1, free)
        for layer in reversed(range(shape.layers)):
            yield from self.until(thread, coming)
            if layer and not serial:
                coming = yield from self.gather(thread, layer - 1, free)
            if layer < int(shape.knob("recompute")):
                yield from self.again(step, layer, self.speed(step))
            yield from self.backward_layer(step, layer, self.speed(step))
            scatter = self.collective(thread, "reduce_scatter", self.unit_bytes(), self.rank.stream(self.stream))
            scatter = self.ranged(thread, f"FSDP::post_backward_reduce (layers.{layer})", scatter)
            scatters.append((yield from self.inside(thread, GRADIENT, scatter)))
            if layer and serial:
                coming = yield from self.gather(thread, layer - 1, free)
        for event in scatters[-2:]:
            yield from self.until(thread, event)
        yield from self.lead("backward_tail", step)


class Tensor(Ddp):
    """Tensor-parallel: two all-reduces a layer each way, which the next operator needs."""

    def shared(self, thread: object) -> Process:
        """An all-reduce of activations, on the compute stream, or on another that the compute stream waits for."""
        calls = 4 * self.shape.layers
        nbytes = self.team.bytes_for("allreduce", self.shape.cover * (self.team.forward_ns + self.team.backward_ns) / calls, self.shape.ranks)
        own = bool(self.shape.knob("own_stream", 1))
        reduce = self.collective(thread, "allreduce", nbytes, self.rank.stream(self.stream) if own else self.compute)  # type: ignore[arg-type]
        name = "_CopyToModelParallelRegionBackward"
        names = ("_ReduceFromModelParallelRegion",) if thread is self.main else (NODE + name, name)
        done = yield from self.inside(thread, names, reduce)  # type: ignore[arg-type]
        if own:
            yield from self.until(thread, done)  # type: ignore[arg-type]

    def forward(self, step: int, nth: int, micro: int) -> Process:
        for layer in range(self.shape.layers):
            for numbers in (range(0, 4), range(4, 8)):
                yield from self.forward_layer(step, layer, self.speed(step) / micro, nth, numbers=numbers)
                yield from self.shared(self.main)
            yield from self.items(step, layer)

    def backward(self, step: int, nth: int, micro: int) -> Process:
        yield from self.lead("backward_lead", step, nth)
        for layer in reversed(range(self.shape.layers)):
            if layer < int(self.shape.knob("recompute")):
                yield from self.again(step, layer, self.speed(step) / micro, nth)
            for numbers in (range(4, 8), range(0, 4)):
                yield from self.backward_layer(step, layer, self.speed(step) / micro, nth, numbers=numbers)
                yield from self.shared(self.autograd)
        yield from self.lead("backward_tail", step, nth)


class Experts(Ddp):
    """Expert-parallel: tokens go to the experts' ranks and back by all-to-all; gradients of the rest are reduced as in DDP."""

    def exchange(self, thread: object) -> Process:
        """One all-to-all, and the wait for it."""
        total = 0.25 * self.shape.cover * (self.team.forward_ns + self.team.backward_ns)
        nbytes = self.team.bytes_for("alltoall", total / (4 * self.shape.layers), self.shape.ranks)
        exchange = self.collective(thread, "alltoall", nbytes, self.rank.stream(28), self.experts)  # type: ignore[arg-type]
        names = ("_AllToAll",) if thread is self.main else (NODE + "_AllToAllBackward", "_AllToAllBackward")
        done = yield from self.inside(thread, names, exchange)  # type: ignore[arg-type]
        yield from self.until(thread, done)  # type: ignore[arg-type]

    @property
    def experts(self) -> str:
        """The group of the experts' ranks: all."""
        return self.team.group("ep", "expert_parallel", list(range(self.shape.ranks)))

    def forward(self, step: int, nth: int, micro: int) -> Process:
        for layer in range(self.shape.layers):
            yield from self.forward_layer(step, layer, self.speed(step), nth, numbers=range(0, 5))
            yield from self.exchange(self.main)
            yield from self.forward_layer(step, layer, self.speed(step, True), nth, numbers=range(5, 8))
            yield from self.exchange(self.main)
            yield from self.items(step, layer)

    def backward(self, step: int, nth: int, micro: int) -> Process:
        yield from self.lead("backward_lead", step, nth)
        waiting: list[Event] = []
        for layer in reversed(range(self.shape.layers)):
            yield from self.exchange(self.autograd)
            yield from self.backward_layer(step, layer, self.speed(step, True), nth, numbers=range(5, 8))
            yield from self.exchange(self.autograd)
            yield from self.backward_layer(step, layer, self.speed(step), nth, numbers=range(0, 5))
            yield from self.reduce(layer, waiting)
        for event in waiting:
            yield from self.until(self.autograd, event)
        yield from self.lead("backward_tail", step, nth)


class Pipe(Loop):
    """A pipeline of one rank a stage by 1F1B; micro-batches go to the next stage, their gradients to the one before."""

    def passes(self, step: int) -> Process:
        stages, micro = self.shape.ranks, int(self.shape.knob("micro", 8))
        warm = min(micro, stages - self.index - 1)
        for nth in range(warm):
            yield from self.ahead(step, nth, micro)
        for nth in range(micro - warm):
            yield from self.ahead(step, warm + nth, micro)
            yield from self.back(step, nth, micro)
        for nth in range(micro - warm, micro):
            yield from self.back(step, nth, micro)

    def scale(self, step: int, micro: int) -> float:
        """How long a stage's kernels are: a micro-batch has its share of the batch."""
        return self.speed(step) * self.shape.knob("stage", {}).get(self.index, 1.0) / micro

    def nbytes(self, micro: int) -> int:
        """Bytes of a micro-batch's activations: all messages of a step one way take `cover` times a forward pass."""
        return self.team.bytes_for("message", self.shape.cover * self.team.forward_ns / micro, 2)

    def ahead(self, step: int, nth: int, micro: int) -> Process:
        """One micro-batch forward."""
        main = self.main
        if self.index:
            got = yield from self.message(main, "recv", self.index - 1, self.nbytes(micro), self.rank.stream(32), "f", self.index - 1)
            yield from self.until(main, got)
        elif self.shape.knob("micro_loader"):
            yield from self.pause(self.shape.knob("micro_loader"), True)
        peer = self.shape.knob("slow_peer", {}).get(self.index, 0)
        if peer:
            yield from self.pause(peer, True)
        for layer in range(self.shape.layers):
            yield from self.forward_layer(step, layer, self.scale(step, micro), nth)
        if self.index + 1 < self.shape.ranks:
            yield from self.message(main, "send", self.index + 1, self.nbytes(micro), self.rank.stream(36), "f", self.index)

    def back(self, step: int, nth: int, micro: int) -> Process:
        """One micro-batch backward."""
        if self.index + 1 < self.shape.ranks:
            got = yield from self.message(self.main, "recv", self.index + 1, self.nbytes(micro), self.rank.stream(40), "b", self.index + 1)
            yield from self.until(self.main, got)
        yield int(25000 * self.shape.host)
        for layer in reversed(range(self.shape.layers)):
            if layer < int(self.shape.knob("recompute")):
                yield from self.again(step, layer, self.scale(step, micro), nth)
            yield from self.backward_layer(step, layer, self.scale(step, micro), nth)
        yield int(25000 * self.shape.host)
        if self.index:
            yield from self.message(self.main, "send", self.index - 1, self.nbytes(micro), self.rank.stream(44), "b", self.index)


KINDS: dict[str, type[Loop]] = {"ddp": Ddp, "fsdp": Fsdp, "tp": Tensor, "ep": Experts, "pp": Pipe}


def workers(shape: Shape, team: Team) -> list[Loop]:
    """The ranks of a job."""
    return [KINDS[shape.kind](team, index) for index in range(shape.ranks)]
