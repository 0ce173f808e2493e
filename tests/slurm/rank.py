# SPDX-License-Identifier: Apache-2.0
"""Stands in for a training script where there is no torch: one rank of a job whose times are known, as a trace.

Every rank computes 10 ms in each step and then takes part in an all-reduce of 1 ms for each node; nothing else costs time.
It believes what SLURM or torchrun say about its rank and node, by the code that users copy (examples/training/record.py).
With --fail-on N it exits with 3 in a job of N nodes.
"""
import argparse
import gzip
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples/training"))
from record import trace_name  # noqa: E402

US = 1.0
COMPUTE, TRANSFER, LAUNCH = 10_000 * US, 1_000 * US, 5 * US
STEPS = 6


def steps(rank: int, world: int, transfer: float) -> list[dict]:
    """Events of the steps: a kernel, an all-reduce behind it where there are several ranks, the host waits for both."""
    events = []
    length = LAUNCH + COMPUTE + (transfer if world > 1 else 0)
    for k in range(STEPS):
        begin = k * length

        def put(cat: str, name: str, start: float, dur: float, **args: object) -> None:
            on_device = cat == "kernel"
            events.append({"ph": "X", "cat": cat, "name": name, "pid": 0 if on_device else 1, "tid": 7 if on_device else 1,
                           "ts": begin + start, "dur": dur, "args": args})  # noqa: B023

        put("cuda_runtime", "cudaLaunchKernel", 0, LAUNCH, correlation=10 * k + 101)
        put("kernel", "gemm", LAUNCH, COMPUTE, stream=7, device=0, correlation=10 * k + 101, grid=[100, 1, 1], block=[128, 1, 1])
        if world > 1:
            put("cuda_runtime", "cudaLaunchKernel", LAUNCH, LAUNCH, correlation=10 * k + 102)
            put("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", LAUNCH + COMPUTE, transfer, stream=7, device=0,
                correlation=10 * k + 102, Seq=k, dtype="Float", **{
                    "Collective name": "allreduce", "In msg nelems": 10 ** 6, "Out msg nelems": 10 ** 6, "Group size": world,
                    "Process Group Name": "0"})
        put("cuda_runtime", "cudaDeviceSynchronize", 2 * LAUNCH, length - 2 * LAUNCH, correlation=10 * k + 103)
        put("user_annotation", f"ProfilerStep#{k}", 0, length)
    return events


def main() -> int:
    """Writes this rank's trace where HOLDUP_TRACES says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fail-on", type=int, help="number of nodes")
    parser.add_argument("--words", nargs=argparse.REMAINDER, default=[], help="kept beside the trace of rank 0, to see that they arrive as they were")
    options = parser.parse_args()

    nodes, rank = int(os.environ.get("SLURM_JOB_NUM_NODES", 1)), int(os.environ.get("RANK", 0))
    world = int(os.environ.get("WORLD_SIZE", 1))
    if options.fail_on == nodes:
        print("rank.py fails, as it was asked to", file=sys.stderr)
        return 3
    trace = {
        "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "host_name": os.environ.get("SLURMD_NODENAME", "here"),
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world},
        "traceEvents": steps(rank, world, TRANSFER * nodes)}
    folder = pathlib.Path(os.environ["HOLDUP_TRACES"])
    (folder / trace_name()).write_bytes(gzip.compress(json.dumps(trace).encode(), mtime=0))
    if rank == 0:
        (folder / "said.txt").write_text(json.dumps({
            "words": options.words, "cpus": os.environ.get("SLURM_CPUS_PER_TASK"), "gpus": os.environ.get("SLURM_GPUS_ON_NODE"), "master": os.environ.get("MASTER_ADDR")}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
