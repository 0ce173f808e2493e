# SPDX-License-Identifier: Apache-2.0
"""Makes traces of training jobs whose parallelism is known, as the PyTorch profiler writes them.

A job is a stack of strategies, each of which hooks into layers: before and after forward and backward of a layer, after
backward, after the optimizer.  What they communicate goes through `Trace.collective`, in one of four ways that profilers
have recorded it: arguments on kernel and operator, on the operator alone, shapes of operators alone, names of kernels alone.
"""
from __future__ import annotations

import json
import pathlib
import random
from dataclasses import dataclass, field

MAIN, ENGINE = 100, 200
COMPUTE = 7
BYTES = {"Float": 4, "BFloat16": 2, "Half": 2, "Long": 8}
TYPES = {"Float": "float", "BFloat16": "c10::BFloat16", "Half": "c10::Half", "Long": "long"}
KINDS = {      # name in arguments, operator, range, kernel as it was and is
    "all_reduce": ("allreduce", "c10d::allreduce_", "nccl:all_reduce", "AllReduce"),
    "all_gather": ("_allgather_base", "c10d::_allgather_base_", "nccl:_all_gather_base", "AllGather"),
    "reduce_scatter": ("_reduce_scatter_base", "c10d::_reduce_scatter_base_", "nccl:_reduce_scatter_base", "ReduceScatter"),
    "all_to_all": ("all_to_allv", "c10d::alltoall_base_", "nccl:all_to_all", "SendRecv"),
    "broadcast": ("broadcast", "c10d::broadcast_", "nccl:broadcast", "Broadcast"),
    "reduce": ("reduce", "c10d::reduce_", "nccl:reduce", "Reduce"),
    "send": ("send", "c10d::send", "nccl:send", "SendRecv"),
    "recv": ("recv", "c10d::recv_", "nccl:recv", "SendRecv"),
    "barrier": ("barrier", "c10d::barrier", "nccl:all_reduce_barrier", "AllReduce"),
}
ARGUMENTS = ("kernel", "operator", "shapes", "names")


@dataclass
class Group:
    name: str
    size: int
    stream: int
    ranks: list[int] = field(default_factory=list)
    description: str = "undefined"

    def members(self) -> str:
        return str(self.ranks or list(range(self.size)))


class Trace:
    """One rank's events; times in microseconds."""

    def __init__(self, rank: int = 0, world: int = 8, arguments: str = "kernel", era: str = "new", steps: bool = True) -> None:
        self.rank, self.world, self.arguments, self.era, self.has_steps = rank, world, arguments, era, steps
        self.events: list[dict] = []
        self.coalesced = False      # batch_isend_irecv: operators say who, one kernel behind them says nothing
        self.now = 1000.0
        self.ends: dict[int, float] = {}
        self.correlation, self.sequence, self.number = 1, 0, 0
        self.tid = MAIN

    def slice(self, category: str, name: str, start: float, duration: float, tid: int | None = None, **args: object) -> None:
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": self.tid if tid is None else tid,
                            "ts": round(start, 3), "dur": round(duration, 3), "args": args})

    def range(self, name: str, category: str = "user_annotation", **args: object) -> "Range":
        return Range(self, name, category, args)

    def launch(self, kernel: str, stream: int, duration: float, after: float = 0.0, **args: object) -> float:
        """A launch and its kernel; returns when it ends."""
        self.correlation += 1
        self.slice("cuda_runtime", "cudaLaunchKernel", self.now, 2.0, correlation=self.correlation)
        start = max(self.now + 4.0, self.ends.get(stream, 0.0), after)
        self.events.append({"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": stream, "ts": round(start, 3),
                            "dur": round(duration, 3),
                            "args": {"device": 0, "stream": stream, "correlation": self.correlation, "grid": [8, 1, 1],
                                     "block": [128, 1, 1], **args}})
        self.ends[stream] = start + duration
        self.now += 3.0
        return start + duration

    def op(self, name: str, kernel: str, duration: float, after: float = 0.0, graph: bool = True) -> None:
        """An operator that launches one kernel of computation."""
        start = self.now
        args: dict[str, object] = {}
        if graph and self.tid == MAIN:
            self.sequence += 1
            args = {"Sequence number": self.sequence, "Fwd thread id": 0}
        self.now += 2.0
        self.launch(kernel, COMPUTE, duration, after)
        self.now += 1.0
        self.slice("cpu_op", name, start, self.now - start, **args)

    def kernel_name(self, kind: str) -> str:
        name = KINDS[kind][3]
        if self.era == "old":
            return f"ncclKernel_{name}_RING_LL_Sum_int8_t(ncclWorkElem)"
        if self.era == "rccl":
            return "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)"
        return f"ncclDevKernel_{name}{'_Sum_bf16' if 'educe' in name else ''}_RING_LL(ncclDevKernelArgsStorage<4096ul>)"

    def collective(self, kind: str, group: Group, inputs: int, outputs: int, dtype: str, after: float | None = None,
                   peer: int | None = None, splits: list[int] | None = None) -> float:
        """Starts one on the group's stream once computation so far is done; returns when it ends."""
        name, operator, back_end, _ = KINDS[kind]
        self.number += 1
        args: dict[str, object] = {"Collective name": name, "dtype": dtype, "In msg nelems": inputs, "Out msg nelems": outputs,
                                   "Group size": group.size, "In split size": str(splits or []), "Out split size": "[]",
                                   "Process Group Name": group.name, "Process Group Description": group.description,
                                   "Process Group Ranks": group.members(), "Rank": self.rank, "Seq": self.number}
        if kind == "send":
            args["Dst Rank"] = peer
        if kind == "recv":
            args["Src Rank"] = peer
        shapes: dict[str, object] = {}
        if self.arguments == "shapes":
            dims, types = [[inputs]], [TYPES[dtype]]
            if kind in ("all_gather", "reduce_scatter", "all_to_all"):
                dims, types = [[outputs], [inputs]], [TYPES[dtype]] * 2
            shapes = {"Input Dims": dims, "Input type": types}
        started = self.now
        self.now += 1.0
        inner = self.now
        self.now += 1.0
        size = max(inputs, outputs) * BYTES[dtype]
        duration = 8.0 + size * (group.size - 1) / group.size / 100e3        # 100 GB/s
        ready = self.ends.get(COMPUTE, 0.0) if after is None else after
        if self.coalesced and kind in ("send", "recv"):
            self.slice("cpu_op", "record_param_comms", inner, 0.5, **args)
            self.slice("cpu_op", operator, started, 1.8)
            self.now += 1.0
            with self.range("nccl:coalesced"):
                return self.launch("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", group.stream, duration, ready)
        end = self.launch(self.kernel_name(kind), group.stream, duration, ready, **(args if self.arguments == "kernel" else {}))
        if self.arguments != "names":
            self.slice("user_annotation", back_end, inner + 0.5, self.now - inner - 0.5,
                       **({"Input Dims": [[inputs]], "Input type": [TYPES[dtype]]} if shapes else {}))
            self.slice("cpu_op", "record_param_comms", inner, self.now - inner,
                       **(args if self.arguments in ("kernel", "operator") else {}))
            self.slice("cpu_op", operator, started, self.now - started, **shapes)
        return end

    def wait_for(self, end: float) -> None:
        """Computation goes on only after `end`."""
        self.ends[COMPUTE] = max(self.ends.get(COMPUTE, 0.0), end)

    def write(self, path: pathlib.Path) -> pathlib.Path:
        document = {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": self.rank, "world_size": self.world},
                    "traceEvents": self.events}
        path.write_text(json.dumps(document))
        return path


class Range:
    def __init__(self, trace: Trace, name: str, category: str, args: dict) -> None:
        self.trace, self.name, self.category, self.args = trace, name, category, args

    def __enter__(self) -> None:
        self.start = self.trace.now
        self.trace.now += 0.5

    def __exit__(self, *_: object) -> None:
        self.trace.now += 0.5
        self.trace.slice(self.category, self.name, self.start, self.trace.now - self.start, **self.args)


class Strategy:
    """Does nothing; the others override what they hook into."""

    def __init__(self, trace: Trace, job: "Job", group: Group, named: bool = False) -> None:
        self.t, self.job, self.group, self.named = trace, job, group, named

    def noted(self, name: str) -> Range:
        """A range of the library, where the trace has them."""
        return self.t.range(name if self.named else "aten::detach", "user_annotation" if self.named else "cpu_op")

    def step_begins(self) -> None: ...
    def before_forward(self, layer: int) -> None: ...
    def before_attention(self, layer: int) -> None: ...
    def after_attention(self, layer: int) -> None: ...
    def after_forward(self, layer: int) -> None: ...
    def before_backward(self, layer: int) -> None: ...
    def after_backward(self, layer: int) -> None: ...
    def backward_is_done(self, last: bool) -> None: ...
    def after_optimizer(self) -> None: ...


class Ddp(Strategy):
    """Buckets: about 1 MB first, then `bucket` bytes."""

    def __init__(self, *args: object, bucket: int = 25 << 20, **more: object) -> None:
        super().__init__(*args, **more)
        self.bucket, self.held, self.first = bucket, 0, True

    def step_begins(self) -> None:
        self.first, self.held = True, 0

    def flush(self) -> None:
        if self.held:
            with self.noted("DistributedDataParallel.reduce"):
                self.t.collective("all_reduce", self.group, self.held, self.held, "Float")
        self.held, self.first = 0, False

    def after_backward(self, layer: int) -> None:
        self.held += self.job.parameters
        if self.held * 4 >= (1 << 20 if self.first else self.bucket) or layer == 0:
            self.flush()


class MegatronDdp(Strategy):
    """One all-reduce of all gradients when backward is done."""

    def backward_is_done(self, last: bool) -> None:
        if last:
            n = self.job.parameters * self.job.layers
            self.t.collective("all_reduce", self.group, n, n, "Float")


class Zero1(Ddp):
    """Gradients as in DDP, parameters gathered after the optimizer."""

    def after_optimizer(self) -> None:
        n = self.job.parameters * self.job.layers
        with self.noted("DeepSpeedZeroOptimizer.all_gather"):
            self.t.collective("all_gather", self.group, n // self.group.size, n, self.job.dtype)


class Zero2(Strategy):
    """Gradients reduce-scattered in buckets during backward, parameters gathered after the optimizer."""

    def after_backward(self, layer: int) -> None:
        n = self.job.parameters * 2
        if layer % 2 == 0:
            with self.noted("DeepSpeedZeroOptimizer.reduce"):
                self.t.collective("reduce_scatter", self.group, n, n // self.group.size, self.job.dtype)

    def after_optimizer(self) -> None:
        n = self.job.parameters * self.job.layers
        self.t.collective("all_gather", self.group, n // self.group.size, n, self.job.dtype)


class FullShard(Strategy):
    """FSDP, one unit a layer; `prefetch`: the next unit is gathered before this one computes."""

    def __init__(self, *args: object, prefetch: bool = True, regather: bool = True, replicas: Group | None = None,
                 **more: object) -> None:
        super().__init__(*args, **more)
        self.prefetch, self.regather, self.replicas = prefetch, regather, replicas
        self.ready: dict[tuple[str, int], float] = {}

    def gather(self, phase: str, layer: int) -> None:
        if not 0 <= layer < self.job.layers or (phase, layer) in self.ready:
            return
        n = self.job.parameters
        with self.noted("FSDP::all_gather (layers.%d)" % layer):
            after = 0.0 if self.prefetch else None
            self.ready[phase, layer] = self.t.collective("all_gather", self.group, n // self.group.size, n, self.job.dtype, after)

    def before_forward(self, layer: int) -> None:
        if layer == 0:
            self.ready.clear()
        with self.noted("FSDP::pre_forward (layers.%d)" % layer):
            self.gather("forward", layer)
            if self.prefetch:
                self.gather("forward", layer + 1)
        self.t.wait_for(self.ready["forward", layer])

    def before_backward(self, layer: int) -> None:
        if not self.regather or layer == self.job.layers - 1:
            return
        with self.noted("FSDP::pre_backward (layers.%d)" % layer):
            self.gather("backward", layer)
            if self.prefetch:
                self.gather("backward", layer - 1)
        self.t.wait_for(self.ready["backward", layer])

    def after_backward(self, layer: int) -> None:
        n = self.job.parameters
        with self.noted("FSDP::post_backward_reduce (layers.%d)" % layer):
            end = self.t.collective("reduce_scatter", self.group, n, n // self.group.size, "Float")
            if self.replicas:
                m = n // self.group.size
                self.t.collective("all_reduce", self.replicas, m, m, "Float", end)


class Tensor(Strategy):
    """Megatron-LM: two all-reduces in each direction of a layer; with `sequence` gathers and reduce-scatters instead."""

    def __init__(self, *args: object, sequence: bool = False, **more: object) -> None:
        super().__init__(*args, **more)
        self.sequence = sequence

    def exchange(self) -> None:
        n = self.job.activations
        if self.sequence:
            end = self.t.collective("all_gather", self.group, n // self.group.size, n, self.job.dtype)
            end = self.t.collective("reduce_scatter", self.group, n, n // self.group.size, self.job.dtype)
        else:
            end = self.t.collective("all_reduce", self.group, n, n, self.job.dtype)
        self.t.wait_for(end)

    def after_attention(self, layer: int) -> None:
        self.exchange()

    def after_forward(self, layer: int) -> None:
        self.exchange()

    def before_backward(self, layer: int) -> None:
        self.exchange()

    def after_backward(self, layer: int) -> None:
        self.exchange()


class Experts(Strategy):
    """Tokens go to experts behind attention and come back."""

    def exchange(self) -> None:
        n = self.job.activations
        splits = [n // self.group.size + (i % 3) for i in range(self.group.size)] if self.job.rng.random() < 0.5 else None
        self.t.wait_for(self.t.collective("all_to_all", self.group, n, n, self.job.dtype, splits=splits))

    def after_attention(self, layer: int) -> None:
        self.exchange()

    def after_forward(self, layer: int) -> None:
        self.exchange()

    def before_backward(self, layer: int) -> None:
        self.exchange()

    def after_backward(self, layer: int) -> None:
        self.exchange()


class Ulysses(Experts):
    """Heads are exchanged before attention and back behind it."""

    def before_attention(self, layer: int) -> None:
        for _ in range(3):
            self.exchange()

    def after_forward(self, layer: int) -> None: ...


class RingAttention(Strategy):
    """Keys and values go round in one direction."""

    def rotate(self) -> None:
        ranks = self.group.ranks or list(range(self.group.size))
        here = ranks.index(self.t.rank)
        to, source = ranks[(here + 1) % len(ranks)], ranks[(here - 1) % len(ranks)]
        for _ in range(self.group.size - 1):
            self.t.collective("send", self.group, self.job.activations, self.job.activations, self.job.dtype, peer=to)
            self.t.wait_for(self.t.collective("recv", self.group, self.job.activations, self.job.activations, self.job.dtype,
                                              peer=source))

    def before_attention(self, layer: int) -> None:
        self.rotate()

    def before_backward(self, layer: int) -> None:
        self.rotate()


class GatherContext(Strategy):
    """Keys and values are gathered in forward, their gradients reduce-scattered in backward."""

    def before_attention(self, layer: int) -> None:
        n = self.job.activations
        self.t.wait_for(self.t.collective("all_gather", self.group, n // self.group.size, n, self.job.dtype))

    def after_backward(self, layer: int) -> None:
        n = self.job.activations
        self.t.collective("reduce_scatter", self.group, n, n // self.group.size, self.job.dtype)


class Job:
    """`layers` of this rank, each of `parameters` elements; activations of so many elements go between them."""

    def __init__(self, trace: Trace, seed: int, layers: int | None = None, marked: str = "optimizer") -> None:
        self.t, self.rng, self.marked = trace, random.Random(seed), marked
        self.layers = layers or 2 * self.rng.randint(3, 8)
        self.parameters = self.rng.choice([1 << 19, 1 << 20, 3 << 20])
        self.activations = self.rng.choice([1 << 18, 1 << 20, 5 << 18])
        self.dtype = self.rng.choice(["BFloat16", "Half", "Float"])
        self.work = self.rng.choice([150.0, 400.0])
        self.strategies: list[Strategy] = []
        self.pipeline: Pipeline | None = None
        self.microbatches = 1

    def each(self, hook: str, *args: object, backwards: bool = False) -> None:
        for s in reversed(self.strategies) if backwards else self.strategies:
            getattr(s, hook)(*args)

    def forward(self) -> None:
        with self.t.range("## forward ##" if self.marked == "ranges" else "aten::detach",
                          "user_annotation" if self.marked == "ranges" else "cpu_op"):
            self.t.op("aten::embedding", "void at::native::indexSelectLargeIndex<float>()", 5.0)
            for layer in range(self.layers):
                self.each("before_forward", layer)
                self.t.op("aten::layer_norm", "void at::native::vectorized_layer_norm_kernel<float>()", 4.0)
                self.each("before_attention", layer)
                self.t.op("aten::scaled_dot_product_attention", "void pytorch_flash::flash_fwd_kernel<traits>()", self.work / 2)
                self.each("after_attention", layer)
                self.t.op("aten::linear", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", self.work / 2)
                self.each("after_forward", layer)
            self.t.op("aten::cross_entropy_loss", "void cunn_SoftMaxForward<float>()", 5.0)

    def backward(self, last: bool) -> None:
        started = self.t.now
        self.t.tid = ENGINE
        for layer in reversed(range(self.layers)):
            # nodes of the graph take their numbers backwards
            self.t.sequence -= 3
            with self.t.range("autograd::engine::evaluate_function: AddmmBackward0", "cpu_op",
                              **{"Sequence number": self.t.sequence + 2, "Fwd thread id": 1}):
                self.each("before_backward", layer, backwards=True)
                self.t.op("aten::mm", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_tilesize128x128x64", self.work)
            with self.t.range("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", "cpu_op"):
                self.each("after_backward", layer, backwards=True)
        self.t.tid = MAIN
        self.t.now += 5.0
        if self.marked == "ranges":
            self.t.slice("user_annotation", "## backward ##", started, self.t.now - started)
        self.each("backward_is_done", last)

    def optimizer(self) -> None:
        if self.marked == "nothing":
            self.t.op("aten::_fused_adamw_", "void at::native::multi_tensor_apply_kernel<FusedAdam>()", 30.0, graph=False)
            return
        with self.t.range("Optimizer.step#AdamW.step"):
            self.t.op("aten::_fused_adamw_", "void at::native::multi_tensor_apply_kernel<FusedAdam>()", 30.0, graph=False)

    def steps(self, n: int) -> Trace:
        for number in range(n):
            started = self.t.now
            self.each("step_begins")
            self.t.now += 20.0
            if self.pipeline:
                self.pipeline.run(self)
            else:
                for m in range(self.microbatches):
                    self.forward()
                    self.backward(m == self.microbatches - 1)
            self.t.wait_for(max(self.t.ends.values()))
            self.t.now += 10.0
            self.optimizer()
            self.each("after_optimizer")
            self.t.now = max(self.t.now, *self.t.ends.values()) + 5.0
            if self.t.has_steps:
                self.t.slice("user_annotation", f"ProfilerStep#{number}", started, self.t.now - started)
        return self.t


class Pipeline:
    """1F1B on one stage; neighbours are ranks of the group before and behind."""

    def __init__(self, trace: Trace, group: Group, stage: int, microbatches: int) -> None:
        self.t, self.group, self.stage, self.m = trace, group, stage, microbatches

    def move(self, job: Job, kind: str, to: int) -> None:
        if not 0 <= to < self.group.size:
            return
        end = self.t.collective(kind, self.group, job.activations, job.activations, job.dtype, peer=self.group.ranks[to])
        if kind == "recv":
            self.t.wait_for(end)

    def one_forward(self, job: Job) -> None:
        self.move(job, "recv", self.stage - 1)
        job.forward()
        self.move(job, "send", self.stage + 1)

    def one_backward(self, job: Job, last: bool) -> None:
        self.move(job, "recv", self.stage + 1)
        job.backward(last)
        self.move(job, "send", self.stage - 1)

    def run(self, job: Job) -> None:
        warm_up = min(self.group.size - self.stage - 1, self.m)
        # a stage stands still until the first micro-batch has come, and while the last ones go on behind it
        self.t.now += self.stage * job.layers * job.work
        for _ in range(warm_up):
            self.one_forward(job)
        self.t.now = max(self.t.now, self.t.ends.get(COMPUTE, 0.0)) + (self.group.size - self.stage - 1) * 2 * job.layers * job.work
        for m in range(self.m - warm_up):
            self.one_forward(job)
            self.one_backward(job, m + warm_up == self.m - 1 and warm_up == 0)
        for m in range(warm_up):
            self.one_backward(job, m == warm_up - 1)
