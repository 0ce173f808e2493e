#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the folder of a large job: a few files of about N events, each linked under the names of many ranks.
Synthetic: layers of a training step with launches, kernels and an all-reduce each; the files differ by jitter alone."""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from pathlib import Path
from typing import Iterator

LAYERS, US = 24, 1000
OPS = ("aten::linear", "aten::layer_norm", "aten::gelu", "aten::softmax", "aten::add", "aten::mul", "aten::dropout", "aten::bmm")
PER_LAYER = 3 * len(OPS) + 2            # operator, launch, kernel; and the all-reduce with its launch
PER_STEP = LAYERS * PER_LAYER + 2            # the mark, and the wait for the device


def ts(ns: int) -> str:
    return f"{ns // US}.{ns % US:03d}"


def event(cat: str, name: str, pid: int, tid: int, start: int, dur: int, args: str) -> str:
    return (f'{{"ph":"X","cat":"{cat}","name":"{name}","pid":{pid},"tid":{tid},"ts":{ts(start)},"dur":{ts(dur)},'
            f'"args":{{{args}}}}}')


def step_events(r: random.Random, step: int, begin: int, ids: Iterator[int], world: int) -> tuple[list[str], int]:
    """The events of one step, and when it ends: the all-reduce of each layer begins when it likes and ends for all at once."""
    out, host, device = [], begin, begin + 20 * US
    for layer in range(LAYERS):
        for k, op in enumerate(OPS):
            correlation, dur = next(ids), 30 * US + 5 * US * k + r.randrange(4 * US)
            out.append(event("cpu_op", op, 1, 1, host, 9 * US, f'"External id":{correlation},"Sequence number":{correlation}'))
            out.append(event("cuda_runtime", "cudaLaunchKernel", 1, 1, host + 3 * US, 4 * US, f'"correlation":{correlation},"External id":{correlation}'))
            device = max(device, host + 10 * US)
            out.append(event("kernel", f"void kernel_{k}_{layer % 6}<float, {k}>(float*, int)", 0, 7, device, dur,
                             f'"correlation":{correlation},"External id":{correlation},"device":0,"stream":7,"grid":[{layer + 1},1,1],"block":[256,1,1],"registers per thread":32'))
            host, device = host + 10 * US, device + dur
        correlation, end = next(ids), begin + (layer + 1) * 500 * US
        out.append(event("cuda_runtime", "cudaLaunchKernel", 1, 1, host, 4 * US, f'"correlation":{correlation}'))
        out.append(event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 0, 20, device, max(US, end - device),
                         f'"correlation":{correlation},"device":0,"stream":20,"Collective name":"allreduce","dtype":"Float","In msg nelems":1048576,'
                         f'"Out msg nelems":1048576,"Group size":{world},"Process Group Name":"0","Process Group Description":"default_pg","Seq":{step * LAYERS + layer}'))
        host, device = host + 5 * US, max(device, end)
    out.append(event("cuda_runtime", "cudaDeviceSynchronize", 1, 1, host, device + 5 * US - host, ""))
    device += 10 * US
    out.append(event("user_annotation", f"ProfilerStep#{step}", 1, 1, begin, device - begin, ""))
    return out, device + 30 * US


def text_of(seed: int, events: int, world: int) -> str:
    r, begin, out, ids = random.Random(seed), 10**15, [], iter(range(1, 1 << 31))
    for step in range(max(2, events // PER_STEP)):
        more, begin = step_events(r, step, begin, ids, world)
        out += more
    return '{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"NVIDIA H100 80GB HBM3","totalGlobalMem":85000000000,"numSms":132}],\n"traceEvents":[\n' \
        + ",\n".join(out) + "\n]}\n"


def make(folder: Path, ranks: int, events: int, files: int) -> int:
    """Fills the folder; returns how many bytes one rank has."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for rank in range(ranks):
        path = folder / f"rank{rank}.json"
        if rank < files:
            path.write_text(text_of(rank, events, ranks))
        else:
            os.link(folder / f"rank{rank % files}.json", path)
    return (folder / "rank0.json").stat().st_size


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("folder", type=Path)
    p.add_argument("--ranks", type=int, default=1024)
    p.add_argument("--events", type=int, default=50_000, help="of one rank, about")
    p.add_argument("--files", type=int, default=8, help="that differ; the others are links")
    a = p.parse_args()
    print(json.dumps({"bytes": make(a.folder, a.ranks, a.events, a.files), "events": max(2, a.events // PER_STEP) * PER_STEP}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
