# SPDX-License-Identifier: Apache-2.0
"""Traces that are made to compare with HTA."""
import random


def trap_trace() -> dict:
    """Four steps with what HTA rounds, drops and takes for device work: see features of each event below."""
    events: list[dict] = []
    correlation = 0

    def add(cat: str, name: str, pid: int, tid: int, ts: float, dur: float, **args: object) -> None:
        events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args})

    for step in range(4):
        t = 1000.0 + step * 400
        add("user_annotation", f"ProfilerStep#{step}", 1, 1, t, 399.5)
        add("cpu_op", "triton_poi_fused_add_0", 1, 1, t + 200.25, 30.125, stream=0)
        for k in range(12):
            correlation += 1
            comm = k % 5 == 4
            add("cuda_runtime", "cudaLaunchKernel", 1, 1, t + 3 + k * 17.3, 4.25, correlation=correlation)
            add("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)" if comm else f"void gemm_kernel_{k % 3}<float>(float*)", 0,
                20 if comm else 7, t + 9.5 + k * 21.7, 18.375 if k % 4 else 0.9, device=0, stream=20 if comm else 7,
                correlation=correlation)
        correlation += 1
        add("cuda_runtime", "cudaMemcpyAsync", 1, 1, t + 230, 9.5, correlation=correlation)
        add("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 0, 7, t + 290.125, 5.5, device=0, stream=7, correlation=correlation,
            bytes=55000, **{"memory bandwidth (GB/s)": 10.0})
        correlation += 1
        add("cuda_runtime", "cudaDeviceSynchronize", 1, 1, t + 300, 60.5, correlation=correlation)
        add("cuda_sync", "Context Sync", 0, 0, t + 300.5, 59.5, stream=4294967295, correlation=correlation, device=0)
    return {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1}, "traceEvents": events}


def random_trace(seed: int) -> dict:
    """Work on three streams, half of the traces in whole microseconds: equal times, work shorter than a microsecond, none at all."""
    r = random.Random(seed)
    grain = 3 if seed % 2 else 0
    events: list[dict] = []
    correlation, t = 0, 5000.0
    streams = {"compute": 7, "comm": 20, "copy": 13, "set": 7, "alone": 7}
    calls = {"copy": "cudaMemcpyAsync", "set": "cudaMemsetAsync"}
    cats = {"copy": "gpu_memcpy", "set": "gpu_memset"}
    names = {"compute": ["gemm<float>(int)", "void add_kernel", "Memory_like_kernel", "ampere_sgemm"],
             "comm": ["ncclDevKernel_AllReduce", "ncclKernel_SendRecv"], "set": ["Memset (Device)"], "alone": ["graph_kernel"],
             "copy": ["Memcpy HtoD (Pageable -> Device)", "Memcpy DtoH (Device -> Pinned)"]}
    free = dict.fromkeys(streams.values(), t)

    def add(cat: str, name: str, pid: int, tid: int, ts: float, dur: float, **args: object) -> None:
        events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": round(ts, grain), "dur": round(dur, grain),
                       "args": args})

    for step in range(r.randint(2, 4)):
        begin = t
        for _ in range(r.randint(10, 30)):
            kind = r.choices([*streams, "operator"], [10, 3, 3, 1, 1, 4])[0]
            if kind == "operator":
                add("cpu_op", r.choice(["aten::add", "triton_fused"]), 1, 1, t, r.uniform(1, 30), **({"stream": 0} if r.random() < .2 else {}))
                t += r.uniform(1, 5)
                continue
            correlation += 1
            stream, length = streams[kind], r.uniform(2, 9)
            if kind != "alone":
                add("cuda_runtime", calls.get(kind, "cudaLaunchKernel"), 1, 1, t, length, correlation=correlation)
            start = round(max(free[stream], t + length + r.uniform(-2, 20)), grain)
            work = r.choice([0, 0.5, 3, 20, 60, 200]) * r.uniform(.5, 1.5)
            more = {"bytes": 1000, "memory bandwidth (GB/s)": round(r.uniform(1, 20), 3)} if kind == "copy" else {}
            add(cats.get(kind, "kernel"), r.choice(names[kind]), 0, stream, start, work, device=0, stream=stream, correlation=correlation,
                **more)
            free[stream] = start + work + r.choice([0, r.uniform(0, 40)])
            t += length + r.uniform(0, 30)
        if r.random() < .5:
            correlation += 1
            add("cuda_runtime", "cudaDeviceSynchronize", 1, 1, t, 50, correlation=correlation)
            add("cuda_sync", "Context Sync", 0, 0, t, 50, stream=4294967295, correlation=correlation, device=0)
            t += 60
        add("user_annotation", f"ProfilerStep#{step}", 1, 1, begin, t - begin)
        t = round(t, grain) + 1
    return {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1}, "traceEvents": events}
