# SPDX-License-Identifier: Apache-2.0
"""Small jobs on gloo with a planted hang: job.py FOLDER WORLD MODE...  Each mode's dumps go to FOLDER/MODE, its JSON ones to FOLDER/MODE/json.

PyTorch is loaded once and each rank is a fork of that, so a mode takes seconds.  A rank says that it is near the planted step; when all
that ever will have done so, and PAUSE has passed, every rank that lives dumps its Flight Recorder and ends.
"""
import contextlib
import os
import signal
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any, Callable

os.environ["TORCH_FR_BUFFER_SIZE"] = os.environ["TORCH_NCCL_TRACE_BUFFER_SIZE"] = os.environ.get("FLIGHT_ENTRIES", "2000")
os.environ["OMP_NUM_THREADS"] = "1"
warnings.filterwarnings("ignore")
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

PAUSE = float(os.environ.get("FLIGHT_PAUSE", "1.5"))
LATER = 2.0  # how much later one rank dumps in "moments" and "hang_moments"
FOREVER = 1000


class Rank:
    """What a mode works with: who it is, and the way to say that the planted step is next."""

    def __init__(self, rank: int, world: int, folder: Path) -> None:
        self.rank, self.world, self.folder = rank, world, folder

    def near(self) -> None:
        (self.folder / f"near_{self.rank}").touch()


def sleeps_in_rank() -> None:
    time.sleep(FOREVER)


def reduce_gradients(x: torch.Tensor, **options: Any) -> Any:
    return dist.all_reduce(x, **options)


def gather_metrics(x: torch.Tensor, world: int) -> None:
    dist.all_gather([torch.zeros_like(x) for _ in range(world)], x)


def steps(r: Rank, n: int = 3) -> None:
    for _ in range(n):
        reduce_gradients(torch.ones(8, 4))
        gather_metrics(torch.ones(5), r.world)


def step_with(r: Rank, x: torch.Tensor) -> None:
    reduce_gradients(x)
    gather_metrics(torch.ones(5), r.world)


def healthy(r: Rank) -> None:
    """Ends all its steps and waits for nothing."""
    steps(r)
    r.near()


def running(r: Rank) -> None:
    """Is dumped in the middle of its work."""
    r.near()
    while True:
        steps(r, 1)
        time.sleep(0.02)


def uneven(r: Rank) -> None:
    """The same, and one rank has more to do between the calls: the others mostly wait for it, and not for long."""
    r.near()
    while True:
        steps(r, 1)
        time.sleep(0.25 if r.rank == 2 else 0.01)


def sleep(r: Rank) -> None:
    steps(r)
    r.near()
    if r.rank == 2:
        sleeps_in_rank()
    step_with(r, torch.ones(8, 4))


def size(r: Rank) -> None:
    steps(r)
    r.near()
    step_with(r, torch.ones(9 if r.rank == 2 else 8, 4))


def dtype(r: Rank) -> None:
    steps(r)
    r.near()
    step_with(r, torch.ones(8, 4, dtype=torch.float64 if r.rank == 3 else torch.float32))


def operation(r: Rank) -> None:
    steps(r)
    r.near()
    if r.rank == 1:
        dist.broadcast(torch.ones(8, 4), 0)
        gather_metrics(torch.ones(5), r.world)
    else:
        step_with(r, torch.ones(8, 4))


def skip(r: Rank) -> None:
    steps(r)
    r.near()
    if r.rank != 1:
        reduce_gradients(torch.ones(8, 4))
    gather_metrics(torch.ones(5), r.world)
    dist.barrier()


def fewer(r: Rank) -> None:
    """One rank has a batch less than the others and is already in the barrier behind the loop."""
    steps(r, 3)
    r.near()
    if r.rank != 3:
        steps(r, 1)
    dist.barrier()


def kill(r: Rank) -> None:
    steps(r)
    r.near()
    if r.rank == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    step_with(r, torch.ones(8, 4))


def leave(r: Rank) -> None:
    steps(r)
    r.near()
    if r.rank != 2:
        step_with(r, torch.ones(8, 4))


def swap(r: Rank) -> None:
    """Two ranks enter two groups in different order."""
    a, b = dist.new_group([0, 1, 2]), dist.new_group([1, 2])
    groups = [(group, ranks) for group, ranks in ((a, (0, 1, 2)), (b, (1, 2))) if r.rank in ranks]
    for _ in range(3):
        for group, _ in groups:
            dist.all_reduce(torch.ones(8), group=group)
    r.near()
    for group, _ in reversed(groups) if r.rank == 2 else groups:
        dist.all_reduce(torch.ones(8), group=group)
    dist.barrier()


def slow(r: Rank) -> None:
    """Late, but it comes."""
    steps(r)
    r.near()
    if r.rank == 1:
        time.sleep(1)
    dist.barrier()


def new_group(r: Rank) -> None:
    """One rank never makes the group that the others make; no call is on record for that."""
    steps(r)
    r.near()
    if r.rank == 2:
        sleeps_in_rank()
    group = dist.new_group(list(range(r.world)))
    dist.all_reduce(torch.ones(4), group=group)


def group_member(r: Rank) -> None:
    """The group is there, and one of its members never calls anything in it."""
    group = dist.new_group([0, 2, 3])
    steps(r)
    r.near()
    if r.rank == 3:
        sleeps_in_rank()
    if r.rank != 1:
        dist.all_reduce(torch.ones(4), group=group)
    dist.barrier()


def parallel(r: Rank) -> None:
    """Tensor parallel [0, 1] [2, 3], data parallel [0, 2] [1, 3]: rank 3 holds up its tensor group, and so all others."""
    tensor = [dist.new_group([0, 1]), dist.new_group([2, 3])][r.rank // 2]  # every rank makes every group
    data = [dist.new_group([0, 2]), dist.new_group([1, 3])][r.rank % 2]
    for step in range(5):
        if step == 4:
            r.near()
            if r.rank == 3:
                sleeps_in_rank()
        dist.all_reduce(torch.ones(16), group=tensor)
        dist.all_reduce(torch.ones(32), group=data)


def recv_without_send(r: Rank) -> None:
    """Rank 0 feeds rank 1, which feeds rank 2: after four messages rank 0 sends no more."""
    steps(r, 1)
    for n in range(5):
        if n == 4:
            r.near()
            if r.rank == 0:
                sleeps_in_rank()
        if r.rank in (1, 2):
            dist.recv(torch.ones(4), r.rank - 1)
        if r.rank in (0, 1):
            dist.send(torch.ones(4), r.rank + 1)
    dist.barrier()


def asynchronous(r: Rank) -> None:
    """Operations that nobody waits for are no hang."""
    steps(r)
    works = [reduce_gradients(torch.ones(8, 4), async_op=True) for _ in range(3)]
    r.near()
    time.sleep(FOREVER if works else 0)


def asynchronous_sleep(r: Rank) -> None:
    """Rank 2 begins one of three operations, and then sleeps."""
    steps(r)
    r.near()
    works = [reduce_gradients(torch.ones(8, 4), async_op=True) for _ in range(1 if r.rank == 2 else 3)]
    if r.rank == 2:
        sleeps_in_rank()
    for work in works:
        work.wait()


def barrier(r: Rank) -> None:
    steps(r)
    r.near()
    if r.rank == 0:
        sleeps_in_rank()
    dist.barrier()


def error(r: Rank) -> None:
    """Rank 1 raises and leaves; its peers learn of it by a broken connection."""
    steps(r)
    r.near()
    if r.rank == 1:
        dump(r)
        os._exit(1)
    step_with(r, torch.ones(8, 4))


def root(r: Rank) -> None:
    """The root of a broadcast never comes."""
    steps(r)
    r.near()
    if r.rank == 0:
        sleeps_in_rank()
    dist.broadcast(torch.ones(8), 0)
    dist.barrier()


def roots(r: Rank) -> None:
    """Two ranks think that they are the root: the names and the sizes of their calls fit."""
    steps(r)
    r.near()
    dist.broadcast(torch.ones(8), 1 if r.rank == 1 else 0)
    dist.barrier()


def moments(r: Rank) -> None:
    """Runs on, and rank 3 dumps seconds later than the others."""
    running(r)


def hang_moments(r: Rank) -> None:
    """Hangs, and rank 3 dumps seconds later than the others."""
    sleep(r)


MODES: dict[str, Callable[[Rank], None]] = {f.__name__: f for f in (
    healthy, running, uneven, sleep, size, dtype, operation, skip, fewer, kill, leave, swap, slow, new_group, group_member, parallel,
    recv_without_send, asynchronous, asynchronous_sleep, barrier, error, root, roots, moments, hang_moments)}


def dump(r: Rank) -> None:
    c10d = torch._C._distributed_c10d
    has_text = hasattr(c10d, "_dump_fr_trace_json")
    data = c10d._dump_fr_trace() if hasattr(c10d, "_dump_fr_trace") else c10d._dump_nccl_trace()
    text = c10d._dump_fr_trace_json() if has_text else b""
    (r.folder / f"gloo_trace_rank_{r.rank}").write_bytes(data)
    if has_text:
        (r.folder / "json").mkdir(exist_ok=True)
        (r.folder / "json" / f"gloo_trace_rank_{r.rank}.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    (r.folder / f"done_{r.rank}").touch()


def live(r: Rank, mode: str) -> None:
    """One rank, from its start to its dump."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 2)
    later = LATER if r.rank == 3 and mode.endswith("moments") else 0.0

    def watch() -> None:
        while not (r.folder / "dump").exists():
            time.sleep(0.01)
        time.sleep(later)
        dump(r)

    dist.init_process_group("gloo", store=dist.FileStore(str(r.folder / "store"), r.world), rank=r.rank, world_size=r.world)
    threading.Thread(target=watch, daemon=True).start()
    with contextlib.suppress(RuntimeError):
        MODES[mode](r)
    time.sleep(FOREVER)


def wait_for(done: Callable[[], bool], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while not done() and time.monotonic() < until:
        time.sleep(0.02)
    return done()


def play(folder: Path, world: int, mode: str) -> bool:
    folder.mkdir(parents=True, exist_ok=True)
    ranks: dict[int, int] = {}
    for rank in range(world):
        ranks[rank] = os.fork()
        if ranks[rank] == 0:
            try:
                live(Rank(rank, world, folder), mode)
            finally:
                os._exit(1)

    dead: set[int] = set()

    def all_have(what: str) -> bool:
        for rank in ranks:
            if rank not in dead and not (folder / f"{what}_{rank}").exists() and os.waitpid(ranks[rank], os.WNOHANG)[0]:
                dead.add(rank)
        return all(rank in dead or (folder / f"{what}_{rank}").exists() for rank in ranks)

    fine = wait_for(lambda: all_have("near"), 60)
    time.sleep(PAUSE)
    (folder / "dump").touch()
    fine &= wait_for(lambda: all_have("done"), 30)
    for rank, pid in ranks.items():
        if rank not in dead:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
    for file in [*folder.glob("near_*"), *folder.glob("done_*"), folder / "dump", folder / "store"]:
        file.unlink(missing_ok=True)
    return fine


def main() -> None:
    folder, world, modes = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or list(MODES)
    for mode in modes:
        if not play(folder / mode, world, mode):
            print(f"{mode}: not all ranks came to their dump", file=sys.stderr)


main()
