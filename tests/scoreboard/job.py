# SPDX-License-Identifier: Apache-2.0
"""What the simulated process does in a step: a stack of layers, their backward pass on the autograd thread in reverse order,
an optimizer, and around them loader, copies, collectives.  Everything that can go wrong is a field of Setup, and its neutral
value is the job without that fault: the two differ in nothing else."""
from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Any

from tests.scoreboard.machine import (
    COMM,
    COMPUTE,
    MAIN,
    SIDE,
    US,
    Backward,
    BlockingCopy,
    Busy,
    Call,
    Close,
    Costs,
    GraphLaunch,
    Launch,
    Loader,
    Machine,
    Memory,
    NextBatch,
    Open,
    Record,
    Step,
    Synchronize,
    Thread,
    WaitEvent,
    Work,
    key_of,
)

@dataclass(frozen=True)
class Device:
    """Peaks of the public datasheets (dense), and what well written kernels reach of them."""
    name: str
    major: int
    minor: int
    sms: int
    memory: int
    vector: float                       # FLOP/ns in fp32 without tensor cores
    tf32: float
    bf16: float
    bandwidth: float                    # bytes/ns
    tensor_gemm: str
    vector_gemm: str

    def gemm_ns(self, m: int, n: int, k: int, dtype: str, is_tensor: bool) -> int:
        peak = (self.bf16 if dtype == "c10::BFloat16" else self.tf32) * 0.68 if is_tensor else self.vector * 0.88
        size = 2 if dtype == "c10::BFloat16" else 4
        return int(max(2 * m * n * k / peak, size * (m * k + k * n + m * n) / (0.8 * self.bandwidth))) + 1500

    def stream_ns(self, bytes_moved: float) -> int:
        return int(bytes_moved / (0.85 * self.bandwidth)) + 1300


A100 = Device("NVIDIA A100-SXM4-80GB", 8, 0, 108, 85_031_714_816, 19_500, 156_000, 312_000, 2039,
              "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", "ampere_sgemm_128x64_nn")
H100 = Device(
    "NVIDIA H100 80GB HBM3",
    9,
    0,
    132,
    85_044_297_728,
    66_900,
    494_700,
    989_400,
    3350,
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
    "ampere_sgemm_128x64_nn",
)  # fp32 products of Hopper's cuBLAS still carry the name of Ampere

PAGEABLE, PINNED, LINK = 7.0, 24.0, 120.0      # bytes/ns: host copies, and what a ring of peers moves


@dataclass(frozen=True)
class Setup:
    """A job.  The first block is what it is, the rest what may be wrong with it."""
    seed: int
    kind: str = "gpu"                   # gpu, launch, streams, ddp: what its steps are bound by, or use
    device: Device = A100
    layers: int = 8
    rows: int = 1024
    width: int = 2048
    steps: int = 7
    op_ns: int = 6 * US                 # of Python and dispatch before a launch
    costs: Costs = field(default_factory=Costs)
    guard: int = 0  # 1: the device still works on a step before the capture; 0: the profiler waited for it
    forward_graph: bool = False
    buckets: int = 4

    host_factor: float = 1.0            # Python and dispatch of every operator take so many times as long
    host_is_free: bool = False          # what a captured graph would leave of it
    loader_ns: int = 0
    workers: int = 0
    batch_ns: int = 0                   # of one worker
    syncs: int = 0
    sync_log_ns: int = 0                # what Python does with the value before it goes on
    sync_is_pinned: bool = True
    copy_bytes: int = 1 << 18
    copy_is_pageable: bool = False
    stall_ns: int = 0
    stall_steps: tuple[int, ...] = (2, 4)
    stall_mark: str = "annotation"
    gc_ns: int = 0
    gc_steps: tuple[int, ...] = (1, 3, 4)
    gc_is_recorded: bool = True
    alloc_ns: int = 0
    allocs: int = 2
    allocs_wait: bool = True
    vector_rows: int = 0                # of the products that run in fp32
    vector_on_tensor: bool = False
    chain: int = 0
    chain_bytes: int = 0
    chain_is_fused: bool = False
    block_ns: int = 0                   # of each kernel in the segment that is, or is not, computed again
    recomputes: bool = False
    warm_ns: int = 0
    comm: str = ""                      # overlapped, late, in-stream, free
    comm_bytes: int = 0
    comm_alpha: int = 18 * US
    tiny: int = 0
    tiny_alpha: int = 20 * US
    tiny_is_coalesced: bool = False
    overhead_ns: int = 0
    ends_with_sync: bool = False
    shadow_ns: int = 0                  # a collective that nobody waits for


def draw(seed: int, kind: str) -> Setup:
    """A job of a kind."""
    r = random.Random(seed * 7919 + 13)
    device = r.choice((A100, A100, H100))
    rows, width = {"launch": r.choice(((256, 256), (128, 384), (512, 256)))}.get(
        kind, r.choice(((1024, 2048), (512, 2048), (1024, 1536), (2048, 2048), (1536, 2048))))
    if device is H100 and kind != "launch":
        rows *= 3
    costs = Costs(slots=r.choice((256, 512, 1022, 1022)), latency=r.randrange(6500, 10500), gap=r.randrange(750, 1600),
                  event=r.randrange(800, 2500), wake=r.randrange(4000, 12000), device_jitter=r.choice((0.004, 0.01, 0.02)),
                  host_jitter=r.choice((0.04, 0.08, 0.15)))
    job = Setup(seed, kind, device, r.randrange(7, 13), rows, width, r.choice((6, 7, 7, 8)), r.randrange(4500, 8500), costs)
    job = replace(job, guard=r.choice((0, 1)))
    if kind == "ddp":
        job = replace(job, comm="overlapped", comm_bytes=int(2 * 12 * width * width * job.layers * r.uniform(0.1, 0.3)))
    return job


def facts(grid: int, block: int, registers: int, shared: int, sms: int) -> str:
    """What Kineto says of a kernel, as JSON without the braces."""
    return (f'"registers per thread": {registers}, "shared memory": {shared}, "blocks per SM": {grid / sms:.6g}, '
            f'"warps per SM": {grid * block / 32 / sms:.6g}, "grid": [{grid}, 1, 1], "block": [{block}, 1, 1], '
            f'"est. achieved occupancy %": {min(100, max(1, int(grid * block / 2048 / sms * 100)))}')


def elementwise(functor: str) -> str:
    return (f"void at::native::vectorized_elementwise_kernel<4, {functor}, std::array<char*, 2ul> >"
            f"(int, {functor}, std::array<char*, 2ul>)")


SOFTMAX = (
    "void (anonymous namespace)::cunn_SoftMaxForward<4, float, float, float, "
    "(anonymous namespace)::LogSoftMaxForwardEpilogue>"
)
FUSED_NORM = "triton_per_fused_add_native_layer_norm_0"
NORM_BACKWARD = "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float>"
FLASH = "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 32, 4> >(pytorch_flash::Flash_fwd_params)"
FLASH_BACKWARD = (
    "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 128, 8> >"
)
FOREACH = ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
           "FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4> >")
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_{}_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


class Steps:
    """Builds the programs of a setup."""
    def __init__(self, job: Setup) -> None:
        self.job, self.sequence = job, 0
        self.bf16 = "c10::BFloat16"

    # operators

    def host(self, key: int, cost: int) -> Busy:
        j = self.job
        return Busy(key, int(cost * (0.03 if j.host_is_free else j.host_factor)))

    def launch(self, work: Work, stream: int = COMPUTE) -> Launch:
        extra = self.job.overhead_ns if work.key == key_of("adam0") else 0
        return Launch(work, stream, cost=200 if self.job.host_is_free else 4 * US, extra=extra)

    def operator(self, tag: str, name: str, works: list[Work], dims: list[Any], types: list[str], *, backward: str = "",
                 sequence: int = -1, stream: int = COMPUTE) -> list[Any]:
        """An operator that launches kernels; in backward inside of the node that autograd evaluates."""
        key, said = key_of(tag), {"Input Dims": dims, "Input type": types}
        program: list[Any] = [self.host(key, self.job.op_ns)]
        if backward:
            program += [Open("cpu_op", f"autograd::engine::evaluate_function: {backward}",
                             {"Sequence number": sequence, "Fwd thread id": 1}), self.host(key ^ 77, 1200)]
        elif sequence >= 0:
            said = {"Sequence number": sequence, "Fwd thread id": 0, **said}
        program += [Open("cpu_op", name, said), self.host(key ^ 1, 1500)]
        for n, work in enumerate(works):
            program += [self.launch(work, stream), self.host(key ^ (2 + n), 800)]
        program.append(Close())
        return program + [self.host(key ^ 78, 600), Close()] if backward else program

    def next_sequence(self) -> int:
        self.sequence += 1
        return self.sequence

    # kernels

    def gemm(self, tag: str, m: int, n: int, k: int, dtype: str = "c10::BFloat16", is_tensor: bool = True) -> Work:
        d = self.job.device
        grid = max(1, -(-m // 128) * -(-n // 128))
        name = d.tensor_gemm if is_tensor else d.vector_gemm
        if is_tensor and dtype == "float":
            name = "ampere_s1688gemm_fp32_128x128_ldg4_relu_stages_32x3_tn"
        return Work(key_of(tag), "kernel", name, d.gemm_ns(m, n, k, dtype, is_tensor), facts(grid, 128, 122, 49152, d.sms))

    def streaming(self, tag: str, name: str, bytes_moved: float) -> Work:
        grid = max(1, int(bytes_moved / 4 // 2048))
        return Work(
            key_of(tag), "kernel", name, self.job.device.stream_ns(bytes_moved), facts(grid, 128, 32, 0, self.job.device.sms)
        )

    def attention(self, tag: str, name: str, factor: float) -> Work:
        j = self.job
        flops = 4 * j.rows * min(j.rows, 1024) * j.width * factor
        return Work(key_of(tag), "kernel", name, int(flops / (0.45 * j.device.bf16)) + 3000,
                    facts(max(1, j.rows // 128 * 16), 128, 254, 65536, j.device.sms))

    # forward and backward

    def layer(self, i: int) -> tuple[list[Any], list[Any], list[Work]]:
        """Forward, backward, and the kernels of forward for a graph."""
        j, m, w = self.job, self.job.rows, self.job.width
        forward: list[Any] = []
        backward: list[list[Any]] = []
        kernels: list[Work] = []

        def add(
            name: str, works: list[Work], dims: list[Any], node: str, back: list[tuple[str, list[Work], list[Any]]]
        ) -> None:
            number, tag = self.next_sequence(), f"{i}.{len(backward)}.{name}"
            forward.extend(self.operator(tag, name, works, dims, [self.bf16] * len(dims), sequence=number,
                                         stream=SIDE if self.is_aside(i, name) else COMPUTE))
            kernels.extend(works)
            backward.append(
                [
                    step
                    for b, (op, ws, ds) in enumerate(back)
                    for step in self.operator(
                        f"{tag}.back{b}", op, ws, ds, [self.bf16] * len(ds), backward=node, sequence=number
                    )
                ]
            )

        def norm(tag: str) -> None:
            add("aten::native_layer_norm", [self.streaming(f"{i}.{tag}", FUSED_NORM, 6 * m * w)], [[m, w], [], [w], [w], []],
                "NativeLayerNormBackward0",
                [("aten::native_layer_norm_backward", [self.streaming(f"{i}.{tag}.b", NORM_BACKWARD, 6 * m * w)],
                  [[m, w], [m, w], [], [m, 1], [m, 1], [w], [w], []])])

        def product(tag: str, n: int, k: int) -> None:
            add("aten::mm", [self.gemm(f"{i}.{tag}", m, n, k)], [[m, k], [k, n]], "MmBackward0",
                [("aten::mm", [self.gemm(f"{i}.{tag}.dx", m, k, n)], [[m, n], [n, k]]),
                 ("aten::mm", [self.gemm(f"{i}.{tag}.dw", k, n, m)], [[k, m], [m, n]])])

        norm("ln1")
        product("qkv", 3 * w, w)
        add(
            "aten::_scaled_dot_product_flash_attention",
            [self.attention(f"{i}.flash", FLASH, 1)],
            [[1, w // 128 or 1, m, 128]] * 3,
            "ScaledDotProductFlashAttentionBackward0",
            [
                (
                    "aten::_scaled_dot_product_flash_attention_backward",
                    [self.attention(f"{i}.flash.b", FLASH_BACKWARD, 2.5)],
                    [[1, w // 128 or 1, m, 128]] * 4,
                )
            ],
        )
        product("proj", w, w)
        norm("ln2")
        product("up", 4 * w, w)
        gelu = elementwise("at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}")
        add("aten::gelu", [self.streaming(f"{i}.gelu", gelu, 16 * m * w)], [[m, 4 * w]], "GeluBackward0",
            [("aten::gelu_backward", [self.streaming(f"{i}.gelu.b", gelu.replace("Gelu", "GeluBackward", 1), 24 * m * w)],
              [[m, 4 * w], [m, 4 * w]])])
        product("down", w, 4 * w)
        if j.kind == "streams":
            forward = self.branch(i, forward)
        return forward, [step for part in reversed(backward) for step in part], kernels

    def is_aside(self, i: int, name: str) -> bool:
        return self.job.kind == "streams" and i % 2 == 1 and name.startswith("aten::_scaled_dot")

    def branch(self, i: int, forward: list[Any]) -> list[Any]:
        """Attention of every other layer on a stream of its own, with the events that make it right."""
        if i % 2 == 0:
            return forward
        at = [n for n, x in enumerate(forward) if isinstance(x, Launch) and x.stream == SIDE][0]
        before = [Record(f"fork{i}", COMPUTE), WaitEvent(f"fork{i}", SIDE)]
        after = [Record(f"join{i}", SIDE), WaitEvent(f"join{i}", COMPUTE)]
        return forward[:at] + before + [forward[at]] + after + forward[at + 1:]

    # what may be wrong, each empty when it is not

    def collective(self, tag: str, dtype: str, size: int, alpha: int, stream: int, is_free: bool = False) -> list[Any]:
        width = 2 if dtype == "BFloat16" else 4
        took = 1000 if is_free else alpha + int(2 * 7 / 8 * size / LINK)
        elements = size // width
        said = {"Collective name": "allreduce", "dtype": dtype, "In msg nelems": elements, "Out msg nelems": elements,
                "Group size": 8, "In split size": "[]", "Out split size": "[]", "Process Group Name": "0",
                "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]"}
        text = ", ".join(f'"{k}": {v}' if isinstance(v, int) else f'"{k}": "{v}"' for k, v in said.items())
        work = Work(key_of(tag), "collective", ALL_REDUCE.format("bf16" if width == 2 else "f32"), took,
                    facts(8, 544, 96, 87568, self.job.device.sms) + ", " + text, lag=0 if is_free else 4 * US)
        program: list[Any] = [Open("cpu_op", "c10d::allreduce_"), self.host(key_of(tag) ^ 9, 12 * US),
                              Open("cpu_op", "record_param_comms", said)]
        if stream == COMM:
            program += [Record(f"grads {tag}", COMPUTE), WaitEvent(f"grads {tag}", COMM)]
        program.append(self.launch(work, stream))
        return program + [Close(), self.host(key_of(tag) ^ 11, 4 * US), Close()]

    def reduce(self, bucket: int) -> list[Any]:
        """One bucket.  The last is small, as the first parameters of a model are the last to get gradients."""
        j = self.job
        size = j.comm_bytes // 20 if bucket == j.buckets - 1 else int(j.comm_bytes * 0.95 / (j.buckets - 1))
        return self.collective(f"bucket{bucket}", "BFloat16", size, j.comm_alpha, COMPUTE if j.comm == "in-stream" else COMM,
                               j.comm == "free")

    def backward(self, layers: list[list[Any]], block: list[Any]) -> list[Any]:
        j = self.job
        program, pending = self.loss_backward() + block, []
        every = max(1, j.layers // j.buckets)
        issued = 0
        for n, part in enumerate(reversed(layers)):
            program += part
            is_last = n == len(layers) - 1
            if j.comm and (is_last or ((n + 1) % every == 0 and issued < j.buckets - 1)):
                (pending if j.comm == "late" else program).extend(self.reduce(j.buckets - 1 if is_last else issued))
                issued += 1
        program += pending + self.tiny()
        if (j.comm and j.comm != "in-stream") or j.tiny:
            program += [Record("reduced", COMM), WaitEvent("reduced", COMPUTE)]
        return program

    def tiny(self) -> list[Any]:
        j, program = self.job, []
        if j.tiny and j.tiny_is_coalesced:
            return self.collective("tiny", "Float", 4096 * 4 * j.tiny, j.tiny_alpha, COMM)
        for n in range(j.tiny):
            program += self.collective(f"tiny{n}", "Float", 4096 * 4, j.tiny_alpha, COMM)
        return program

    def loss_backward(self) -> list[Any]:
        m = self.job.rows
        return self.operator(
            "loss.b",
            "aten::_log_softmax_backward_data",
            [self.streaming("loss.b", SOFTMAX.replace("Forward", "Backward"), m * 4096 * 6)],
            [[m, 1024], [m, 1024], [], []],
            ["float", "float", "Scalar", "Scalar"],
            backward="LogSoftmaxBackward0",
            sequence=9000,
        )

    def loss(self) -> list[Any]:
        m = self.job.rows
        return self.operator(
            "loss",
            "aten::_log_softmax",
            [self.streaming("loss", SOFTMAX, m * 4096 * 4)],
            [[m, 1024], [], []],
            ["float", "Scalar", "Scalar"],
            sequence=9000,
        )

    def item(self, n: int) -> list[Any]:
        """x.item() and what is done with the number.  Without the sync the number is not read, the rest stays."""
        j, key = self.job, key_of(f"item{n}")
        log = [Busy(key ^ 4, j.sync_log_ns)]
        if n >= j.syncs:
            return log
        where = "Pinned" if j.sync_is_pinned else "Pageable"
        work = Work(key, "memcpy", f"Memcpy DtoH (Device -> {where})", 1300, '"bytes": 4, "memory bandwidth (GB/s)": 0.003')
        copy = (
            Launch(work, COMPUTE, "cudaMemcpyAsync", 5 * US)
            if j.sync_is_pinned
            else BlockingCopy(work, COMPUTE, cost=5 * US, staged=0)
        )
        said = {"Input Dims": [[]], "Input type": ["float"]}
        return [Open("cpu_op", "aten::item", said), Busy(key ^ 1, 1200), Open("cpu_op", "aten::_local_scalar_dense", said),
                Busy(key ^ 2, 1200), copy, Synchronize(key ^ 3, COMPUTE), Close(), Close(), *log]

    def input_copy(self) -> list[Any]:
        """The batch to the device."""
        j, key = self.job, key_of("input")
        rate = PAGEABLE if j.copy_is_pageable else PINNED
        kind = "Pageable" if j.copy_is_pageable else "Pinned"
        work = Work(key, "memcpy", f"Memcpy HtoD ({kind} -> Device)", int(j.copy_bytes / rate) + 1500,
                    f'"bytes": {j.copy_bytes}, "memory bandwidth (GB/s)": {rate}')
        said = {"Input Dims": [[j.copy_bytes // 4], [j.copy_bytes // 4], []], "Input type": ["float", "float", "Scalar"]}
        copy: list[Any] = [Launch(work, COMPUTE, "cudaMemcpyAsync", 6 * US)]
        if j.copy_is_pageable:
            copy = [BlockingCopy(work, COMPUTE), Synchronize(key ^ 1, COMPUTE)]
        return [Open("cpu_op", "aten::to"), Busy(key ^ 2, 2 * US), Open("cpu_op", "aten::_to_copy"), Busy(key ^ 3, 3 * US),
                Open("cpu_op", "aten::copy_", said), Busy(key ^ 4, 2 * US), *copy, Close(), Close(), Close()]

    def vector_products(self) -> list[Any]:
        """Three products in fp32, as a head outside of autocast computes them."""
        j = self.job
        if not j.vector_rows:
            return []
        program: list[Any] = []
        for n in range(3):
            m, k = j.vector_rows, 1024
            program += self.operator(
                f"fp32.{n}",
                "aten::mm",
                [self.gemm(f"fp32.{n}", m, 1024, k, "float", j.vector_on_tensor)],
                [[m, k], [k, 1024]],
                ["float", "float"],
                sequence=9100 + n,
            )
        return program

    def chain_kernels(self) -> list[Any]:
        """y = f(g(h(x))) as one kernel for each, or as one."""
        j = self.job
        if not j.chain:
            return []
        names = ("aten::mul", "aten::add", "aten::sigmoid", "aten::tanh", "aten::relu", "aten::neg")
        count, size = (1 if j.chain_is_fused else j.chain), j.chain_bytes // 4
        program: list[Any] = []
        for n in range(count):
            op = names[n % len(names)]
            kernel = "triton_poi_fused_chain_0" if j.chain_is_fused else elementwise(f"at::native::{op[6:]}_functor<float>")
            program += self.operator(
                f"chain.{n}",
                op,
                [self.streaming(f"chain.{n}", kernel, 2 * j.chain_bytes)],
                [[size]],
                ["float"],
                sequence=9200 + n,
            )
        return program

    def block(self) -> tuple[list[Any], list[Any]]:
        """A checkpointed segment: forward, and what backward does for it."""
        j = self.job
        if not j.block_ns:
            return [], []
        count, d = 6, j.device

        def run(suffix: str) -> list[Any]:
            program: list[Any] = []
            for n in range(count):
                flop_rows = max(128, int(j.block_ns * 0.68 * d.bf16 / (2 * 2048 * 2048)))
                work = Work(
                    key_of(f"block{n}{suffix}"), "kernel", d.tensor_gemm, j.block_ns, facts(256, 128, 122, 49152, d.sms)
                )
                program += self.operator(f"block{n}{suffix}", "aten::mm", [work], [[flop_rows, 2048], [2048, 2048]],
                                         [self.bf16] * 2, sequence=9300 + n + (50 if suffix else 0))
            return program

        gradient = Work(
            key_of("block.b"), "kernel", d.tensor_gemm, count * j.block_ns // 2, facts(256, 128, 122, 49152, d.sms)
        )
        node = [Open("cpu_op", "autograd::engine::evaluate_function: CheckpointFunctionBackward",
                     {"Sequence number": 9400, "Fwd thread id": 1}), Open("cpu_op", "CheckpointFunctionBackward",
                     {"Sequence number": 9400, "Fwd thread id": 1}), self.host(key_of("block.b"), j.op_ns),
                *(run(".again") if j.recomputes else []), self.launch(gradient), Close(), Close()]
        return run(""), node

    def loader(self) -> list[Any]:
        j = self.job
        name = f"enumerate(DataLoader)#_{'MultiProcessing' if j.workers else 'SingleProcess'}DataLoaderIter.__next__"
        return [Open("user_annotation", name), NextBatch(j.loader_ns), Close()]

    def pause(self, step: int) -> list[Any]:
        """The collector stops the thread; only some recorders say so."""
        j = self.job
        if not j.gc_ns or step not in j.gc_steps:
            return []
        busy = Busy(key_of("gc"), j.gc_ns)
        return [Open("python_function", "Python GC"), busy, Close()] if j.gc_is_recorded else [busy]

    def stall(self, step: int) -> list[Any]:
        j = self.job
        if not j.stall_ns or step not in j.stall_steps:
            return []
        label = ("user_annotation", "checkpoint") if j.stall_mark == "annotation" else \
            ("python_function", "torch/serialization.py(850): save")
        return [Open(*label), Busy(key_of("stall"), j.stall_ns), Close()]

    def warm_up(self, step: int) -> list[Any]:
        j = self.job
        return (
            [Call(key_of(f"module{n}"), "cudaModuleLoadData", j.warm_ns // 4) for n in range(4)]
            if j.warm_ns and step == 0
            else []
        )

    def memory(self) -> list[Any]:
        j, program = self.job, []
        for n in range(j.allocs if j.alloc_ns else 0):
            program += [
                Open(
                    "cpu_op",
                    "aten::empty",
                    {"Input Dims": [[], [], [], [], [], []], "Input type": ["ScalarList"] + [""] * 5},
                ),
                Memory(key_of(f"malloc{n}"), "cudaMalloc", j.alloc_ns, False),
                Close(),
                Memory(key_of(f"free{n}"), "cudaFree", j.alloc_ns, j.allocs_wait),
            ]
        return program

    def shadow(self) -> list[Any]:
        """Sums up a statistic of all ranks that is read much later."""
        j = self.job
        if not j.shadow_ns:
            return []
        return self.collective("shadow", "Float", 1 << 16, j.shadow_ns, COMM)

    def optimizer(self) -> list[Any]:
        j, program = self.job, [Open("user_annotation", "Optimizer.step#AdamW.step")]
        for i in range(j.layers):
            share = 12 * j.width * j.width // 8             # this rank's part of the states
            program += self.operator(f"adam{i}", "aten::_fused_adamw_", [self.streaming(f"adam{i}", FOREACH, share * 14)],
                                     [[[share]]] * 4, ["TensorList"] * 4)
        return program + [Close()]

    # the whole

    def program(self) -> list[Any]:
        """The main thread from the first step to the last."""
        j = self.job
        built = [self.layer(i) for i in range(j.layers)]
        block, block_backward = self.block()
        loss = self.loss()
        backward = [Backward(self.backward([b for _, b, _ in built], block_backward))]
        optimizer, chain, products, memory = self.optimizer(), self.chain_kernels(), self.vector_products(), self.memory()
        copy, load, shadow = self.input_copy(), self.loader(), self.shadow()
        items = [self.item(n) for n in range(max(j.syncs, 0) or self.items_without_sync())]
        program: list[Any] = []
        for step in range(-j.guard, j.steps):
            program += [
                Step(step),
                Open("user_annotation", f"ProfilerStep#{step + 10}"),
                *load,
                *copy,
                *self.warm_up(step),
                *memory,
            ]
            program += self.forward([(f, k) for f, _, k in built], items, step)
            program += [*block, *chain, *products, *loss, *shadow, *backward, *optimizer, *self.stall(step)]
            program += [Synchronize(key_of("end"))] if j.ends_with_sync else []
            program += [Busy(key_of("loop"), 20 * US), Close()]
        return program + [Synchronize(key_of("stop"))]

    def items_without_sync(self) -> int:
        """A job whose syncs were taken out (-n) still logs."""
        return -self.job.syncs

    def forward(self, layers: list[tuple[list[Any], list[Work]]], items: list[list[Any]], step: int) -> list[Any]:
        program: list[Any] = []
        if self.job.forward_graph:
            works = [w for _, kernels in layers for w in kernels]
            program += [Open("cpu_op", "Graphed"), GraphLaunch(works), Close()]
        for n, (part, _) in enumerate(layers):
            program += [] if self.job.forward_graph else part
            for k in range(n, len(items), len(layers)):
                program += items[k]
            if n == 0:
                program += self.pause(step)
        return program


def run(job: Setup, keeps_log: bool = False) -> Machine:
    """Simulates a job to its end."""
    m = Machine(job.costs, job.seed, keeps_log)
    for number in (
        COMPUTE,
        *((SIDE,) if job.kind == "streams" else ()),
        *((COMM,) if job.comm or job.tiny or job.shadow_ns else ()),
    ):
        m.stream(number)
    if job.workers:
        m.loader = Loader(m, job.workers, 2, job.batch_ns, job.guard + job.steps)
    m.start(m.script(Thread(MAIN), Steps(job).program()))
    m.run()
    return m


def step_ns(machine: Machine) -> float:
    """Mean step of the capture: from the end of the device work of one to the end of that of the next.  Without a step
    before the capture, the first counts from its start."""
    ends = machine.step_end
    return (ends[max(ends)] - ends.get(-1, 0)) / (max(ends) + 1)
