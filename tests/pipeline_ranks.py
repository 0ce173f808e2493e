# SPDX-License-Identifier: Apache-2.0
"""A pipeline of one rank per stage, forward and backward passes of one micro-batch after the other (1F1B), as PyTorch's profiler sees it:
kernels of passes on one stream, sends and receives on others.  The truth of a cause is the same job without it."""
import dataclasses
import json
import pathlib
import statistics
from typing import Any

US = 1000
LAUNCH, LATENCY, EVENT = 4 * US, 3 * US, 1 * US


def schedule(stages: int, stage: int, micro: int) -> list[tuple[str, int]]:
    warm = min(micro, stages - stage - 1)
    order = [("f", k) for k in range(warm)]
    for k in range(micro - warm):
        order += [("f", warm + k), ("b", k)]
    return order + [("b", k) for k in range(micro - warm, micro)]


@dataclasses.dataclass(eq=False)
class Op:
    rank: int
    what: str           # "f" and "b", or "send", "recv", "both"
    value: int          # of a pass its cost, of a message the other rank
    parts: list[tuple]  # (what, other rank, tag)
    stream: int
    correlation: int
    ready: int          # launched
    before: "Op | None"
    deps: list["Op"]
    mirrors: list["Op"] = dataclasses.field(default_factory=list)
    starts: int = -1
    ends: int = -1

    def start(self, transfer: int = 0) -> int:
        if self.starts < 0:
            self.starts = max([self.ready] + ([self.before.end(transfer) + US] if self.before else []) + [d.end(transfer) + EVENT for d in self.deps])
        return self.starts

    def end(self, transfer: int) -> int:
        if self.ends < 0:
            if self.parts:
                self.ends = max(self.start(transfer), max(m.start(transfer) for m in self.mirrors)) + transfer
            else:
                self.ends = self.start(transfer) + self.value
        return self.ends


@dataclasses.dataclass
class Pipeline:
    stages: int = 4
    micro: int = 6
    steps: int = 6
    forward: int = 2000 * US
    transfer: int = 60 * US
    batched: bool = False       # a stage's send to a neighbour and what it receives from it next are one kernel
    names_peers: bool = True    # else the group of two alone says with whom
    loader: str = "SingleProcess"   # or "MultiProcessing": what takes long is the wait for a worker
    reduces: bool = True        # an all-reduce of all ranks before the optimizer

    def __post_init__(self) -> None:
        self.factor = [1.0] * self.stages
        self.late = [0] * self.stages       # host time before each step

    def lay_out(self, s: int, host: int, put: Any, correlation: list[int]) -> tuple[list["Op"], int]:
        """What one rank's host launches in a step, and when it is done with that: nothing makes it wait before the end."""
        plan: list[tuple] = []
        for direction, mb in schedule(self.stages, s, self.micro):
            before, after = (s - 1, s + 1) if direction == "f" else (s + 1, s - 1)
            if 0 <= before < self.stages:
                plan.append(("recv", before, [("recv", before, (direction, mb))]))
            plan.append((direction, int(self.forward * self.factor[s]) * (1 if direction == "f" else 2), []))
            if 0 <= after < self.stages:
                plan.append(("send", after, [("send", after, (direction, mb))]))
        ops: list[Op] = []
        last: dict[int, Op] = {}
        for what, value, parts in self.join(plan):
            stream = 7 if not parts else 21 if what == "send" and not self.batched else 20
            waits = 20 if not parts else 7
            c = correlation[0] = correlation[0] + 10
            deps = [last[waits]] if waits in last else []
            if deps:
                put(s, "cuda_runtime", "cudaStreamWaitEvent", host, US, 1, correlation=c)
                put(s, "cuda_sync", "Stream Wait Event", host, US, stream, stream=stream, device=0, context=1, correlation=c, wait_on_stream=waits,
                    wait_on_cuda_event_record_corr_id=deps[0].correlation + 1, wait_on_cuda_event_id=waits)
                host += US
            put(s, "cuda_runtime", "cudaLaunchKernel", host, LAUNCH, 1, correlation=c + 1)
            op = Op(s, what, value, parts, stream, c + 1, host + LATENCY, last.get(stream), deps)
            host += LAUNCH
            put(s, "cuda_runtime", "cudaEventRecord", host, US, 1, correlation=c + 2)
            host += US
            last[stream] = op
            ops.append(op)
        return ops, host

    def run(self) -> tuple[float, list[list[dict[str, Any]]]]:
        """Mean length of the steps but the first in ns, and the events of each rank."""
        n = self.stages
        events: list[list[dict[str, Any]]] = [[] for _ in range(n)]
        now = [0] * n
        ends = [list(now)]
        sequence: dict[tuple[int, int], int] = {}
        correlations = [[1] for _ in range(n)]

        def put(rank: int, cat: str, name: str, start: int, dur: int, tid: int, **args: Any) -> None:
            events[rank].append({"ph": "X", "cat": cat, "name": name, "pid": 0 if cat in ("kernel", "cuda_sync") else 1, "tid": tid,
                                 "ts": start / 1000, "dur": dur / 1000, "args": args})

        for k in range(self.steps):
            begin = list(now)
            all_ops, hosts, arrive = [], [], []
            for s in range(n):
                if self.late[s]:
                    put(s, "user_annotation", f"enumerate(DataLoader)#_{self.loader}DataLoaderIter.__next__", now[s], self.late[s], 1)
                ops, host = self.lay_out(s, now[s] + self.late[s], put, correlations[s])
                all_ops.append(ops)
                hosts.append(host)
            posted = {(s, *part): op for s in range(n) for op in all_ops[s] for part in op.parts}
            for op in (op for ops in all_ops for op in ops):
                op.mirrors = [posted[other, "send" if what == "recv" else "recv", op.rank, tag] for what, other, tag in op.parts]
            for s in range(n):
                for op in all_ops[s]:
                    op.end(self.transfer)
                    if op.parts:
                        sequence[s, op.value] = sequence.get((s, op.value), 0) + 1
                        self.message(put, op, sequence[s, op.value])
                    else:
                        put(s, "kernel", "gemm_" + op.what, op.start(), op.value, 7, stream=7, device=0, context=1, correlation=op.correlation, grid=[100, 1, 1], block=[128, 1, 1])
                correlations[s][0] += 10
                arrive.append(max(hosts[s] + LATENCY, max(op.end(self.transfer) for op in all_ops[s] if op.stream == 7) + US))
            for s in range(n):
                c, host = correlations[s][0], hosts[s]
                end = max(arrive) + 100 * US if self.reduces else arrive[s] + 10 * US
                put(s, "cuda_runtime", "cudaLaunchKernel", host, LAUNCH, 1, correlation=c)
                put(s, "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)" if self.reduces else "norm", arrive[s], end - arrive[s], 7, stream=7, device=0, context=1, correlation=c,
                    **({"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1, "Out msg nelems": 1, "Group size": n, "Process Group Name": "0",
                        "Process Group Ranks": str(list(range(n))), "Seq": k} if self.reduces else {}))
                host += LAUNCH
                put(s, "cuda_runtime", "cudaLaunchKernel", host, LAUNCH, 1, correlation=c + 1)
                put(s, "kernel", "adam", end + US, 300 * US, 7, stream=7, device=0, context=1, correlation=c + 1, grid=[100, 1, 1], block=[128, 1, 1])
                host += LAUNCH
                finish = max(end + 301 * US, max(op.end(self.transfer) for op in all_ops[s])) + 4 * US
                put(s, "cuda_runtime", "cudaDeviceSynchronize", host, finish - host, 1, correlation=c + 2)
                put(s, "user_annotation", f"ProfilerStep#{k}", begin[s], finish - begin[s], 1)
                now[s] = finish
            ends.append(list(now))
        return statistics.mean((ends[-1][s] - ends[1][s]) / (self.steps - 1) for s in range(n)), events

    def join(self, plan: list[tuple]) -> list[tuple]:
        """When batched, a send and the receive from the same rank right behind it are one, as in Megatron."""
        out: list[tuple] = []
        for step in plan:
            if self.batched and out and step[0] == "recv" and out[-1][0] == "send" and out[-1][1] == step[1]:
                out[-1] = ("both", step[1], out[-1][2] + step[2])
            else:
                out.append(step)
        return out

    def message(self, put: Any, op: "Op", number: int) -> None:
        other, pair = op.value, (min(op.rank, op.value), max(op.rank, op.value))
        args: dict[str, Any] = {"stream": op.stream, "device": 0, "context": 1, "correlation": op.correlation, "dtype": "BFloat16", "Seq": number,
                                "Process Group Name": "pp", "Process Group Ranks": str(list(range(self.stages))), "Group size": self.stages}
        if op.what == "both":
            args["Collective name"] = "coalesced"
        else:
            args.update({"Collective name": op.what, "In msg nelems": 1 << 20, "Out msg nelems": 1 << 20})
        if not self.names_peers:
            args.update({"Process Group Name": f"pp{pair[0]}", "Process Group Ranks": str(list(pair)), "Group size": 2})
        elif op.what != "both":
            args["Dst Rank" if op.what == "send" else "Src Rank"] = other
        put(op.rank, "kernel", "ncclDevKernel_SendRecv(x)", op.start(), op.end(self.transfer) - op.start(), op.stream, **args)

    def write(self, folder: pathlib.Path) -> float:
        step, events = self.run()
        for rank, own in enumerate(events):
            (folder / f"rank{rank}.json").write_text(json.dumps({
                "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "host_name": "node0",
                "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": self.stages}, "traceEvents": own}))
        return step
