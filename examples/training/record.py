# SPDX-License-Identifier: Apache-2.0
"""Records one trace for each rank of a training job, in files that say node and rank.

Copy this file beside your training script, and add two lines to its loop:

    from record import recording

    with recording() as step:
        for batch in loader:
            ...
            step()                      # at the end of each iteration

Nothing is recorded, and nothing costs anything, unless the environment variable HOLDUP_TRACES names a folder that all
nodes can write to.  Then `holdup report FOLDER` explains the job.
"""
import contextlib
import os
from collections.abc import Callable, Iterator

# What launchers tell a process, the most specific first: under SLURM, torchrun's or MPI's variables are the truth.
RANK = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
NODE = ("GROUP_RANK", "CROSS_RANK")                             # torchrun, DeepSpeed
RANKS_PER_NODE = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")


def told(names: tuple[str, ...], otherwise: int) -> int:
    """The number in the first of these environment variables that holds one."""
    return next((int(os.environ[name]) for name in names if os.environ.get(name, "").isdigit()), otherwise)


def trace_name() -> str:
    """node_NODE_rank_RANK.pt.trace.json.gz of this process.  MPI tells no node: its ranks fill one node after the other."""
    rank, per_node = told(RANK, 0), told(RANKS_PER_NODE, 0)
    node = told(NODE, rank // per_node if per_node else told(("SLURM_NODEID",), 0))
    return f"node_{node}_rank_{rank}.pt.trace.json.gz"


@contextlib.contextmanager
def recording(skip: int = 5, steps: int = 6) -> Iterator[Callable[[], None]]:
    """Records `steps` iterations after `skip` others and one of warm-up; gives the function that ends an iteration."""
    folder = os.environ.get("HOLDUP_TRACES")
    if not folder:
        yield lambda: None
        return
    from torch.profiler import profile, schedule

    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, trace_name())
    with profile(
        schedule=schedule(wait=skip, warmup=1, active=steps, repeat=1), record_shapes=True,
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(path),
    ) as profiler:
        yield profiler.step
