# SPDX-License-Identifier: Apache-2.0
"""Plants one cause at a time in a real training run on the CPU, removes it, and compares the gain with holdup's prediction.

    python -m tests.pairs.cpu --holdup build/holdup --out DIR [--only NAME]

Writes pairs.json, pairs.md and the recorded traces to DIR.  Needs torch; two cores are enough; about three minutes.
"""
from __future__ import annotations

import argparse
import dataclasses
import functools
import gc
import json
import multiprocessing
import os
import pathlib
import platform
import shutil
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.profiler import record_function
from torch.utils.data import DataLoader, Dataset

from tests.pairs import measure, quiet
from tests.pairs.arms import Arm, HostClock, alternate, record

ROUNDS = 5
TIMEOUT_S = 180     # for both arms and all recordings of one pair
STEPS = 24          # of each turn, after WARM_UP
WARM_UP = 5         # at least what two workers have prefetched, so that no turn lives on batches made during the other
TAKES = 4           # recordings, of which the one nearest to the measured step is kept: others use this machine too
WIDTH = 512
BATCH = 256
EVERY = 4           # steps between checkpoints


@dataclasses.dataclass(frozen=True)
class Pair:
    """One planted cause and its remedy.

    `expects` are the ids of findings that name the cause, and `says` words of a finding's statement or fix that do (a regular
    expression); neither: nothing is planted; None: no finding has a name for it, but an `edit` may.  Where `dark`, nothing in
    the trace shows the cause: right is also to promise nothing with confidence.
    """
    name: str
    what: str
    expects: tuple[str, ...] | None
    before: Callable[[], Arm]
    after: Callable[[], Arm]
    period: int = 1
    steps: int = STEPS
    active: int = 6
    ranks: int = 1
    flags: dict[str, Any] = dataclasses.field(default_factory=dict)
    stack: bool = False
    says: str | None = None
    dark: bool = False
    edit: str | None = None         # of `holdup whatif`, whose price is compared where no finding has a name for the cause


Source = Callable[[pathlib.Path], list[Pair]]   # a function of a module, so that a fresh process finds it


class Batches(Dataset):
    """Ready batches; `delay_s` and `burn` are what drawing one costs: waiting as for a disk, or work as for a decoder."""

    def __init__(self, delay_s: float = 0.0, burn: int = 0, rows: int = BATCH, width: int = WIDTH) -> None:
        generator = torch.Generator().manual_seed(0)
        self.images = torch.randn(rows, width, generator=generator)
        self.labels = torch.randint(width, (rows,), generator=generator)
        self.delay_s, self.burn = delay_s, burn

    def __len__(self) -> int:
        return 1_000_000        # never the end of an epoch

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        if self.delay_s:
            time.sleep(self.delay_s)
        total = 0
        for i in range(self.burn):      # Python, as most decoders' glue is
            total += i * i
        return self.images, self.labels


def network(layers: int = 4, width: int = WIDTH) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(*(layer for _ in range(layers) for layer in (nn.Linear(width, width), nn.ReLU())))


class Training(Arm):
    """Plain training; every pair differs from it in one thing."""

    def __init__(self, data: Dataset | None = None, workers: int = 0, threads: int = 1,
                 model: nn.Module | None = None) -> None:
        self.threads = threads
        self.model = model or network()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9, foreach=True)
        loader = DataLoader(data or Batches(), batch_size=None, num_workers=workers, prefetch_factor=2 if workers else None)
        self.batches: Iterator[Any] = iter(loader)

    def begin(self) -> None:
        torch.set_num_threads(self.threads)

    def step(self) -> None:
        images, labels = next(self.batches)
        self.learn(images, labels)

    def learn(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        loss = nn.functional.cross_entropy(self.model(images), labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def close(self) -> None:
        del self.batches        # ends its workers


class Checkpoints(Training):
    """A full state to the disk at every EVERY-th step, waited for."""

    def __init__(self, folder: pathlib.Path) -> None:
        super().__init__()
        self.file = folder / "checkpoint.pt"
        self.count = 0
        self.ballast = torch.zeros(4 << 20)     # what else a state holds: 16 MiB

    def begin(self) -> None:
        super().begin()
        self.count = 0

    def step(self) -> None:
        super().step()
        self.count += 1
        if self.count % EVERY == 2:     # not in the first recorded step, which may pass for a warm-up
            self.save()

    def save(self) -> None:
        with record_function("checkpoint"), open(self.file, "wb") as file:
            state = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "ema": self.ballast}
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())

    def close(self) -> None:
        super().close()
        self.file.unlink(missing_ok=True)


class Churn(Training):
    """Samples as lists of dicts that refer to each other: the collector walks them again and again, and finds little."""

    def __init__(self, collect: bool) -> None:
        super().__init__(model=network(2))      # few calls: with stacks, each is in the trace
        self.collect = collect
        gc.freeze()     # torch's own half a million objects would make each collection longer than the step
        self.live = [{"id": i, "tokens": [i]} for i in range(80_000)]       # a data set's index, alive for good

    def begin(self) -> None:
        super().begin()
        gc.collect()
        self.threshold = gc.get_threshold()
        gc.set_threshold(1000, 2, 2)
        if not self.collect:
            gc.disable()

    def step(self) -> None:
        samples: list[dict[str, Any]] = [{"id": i, "tokens": [i]} for i in range(4_000)]
        for sample in samples[::8]:
            sample["self"] = sample     # a cycle: only the collector frees it
        super().step()
        if self.collect:
            gc.collect()

    def end(self) -> None:
        gc.enable()
        gc.set_threshold(*self.threshold)
        gc.collect()

    def close(self) -> None:
        super().close()
        gc.unfreeze()


class Straggler(Training):
    """Data-parallel over two processes, one of which sleeps before its backward pass."""

    def __init__(self, delay_s: float) -> None:
        super().__init__(model=nn.parallel.DistributedDataParallel(network(3)))
        self.delay_s = delay_s if dist.get_rank() == 1 else 0.0

    def step(self) -> None:
        if self.delay_s:
            time.sleep(self.delay_s)
        super().step()


class Waiting(Training):
    """Data-parallel over more processes than there are cores: what would run on devices sleeps, and so do those that are late.

    `late` says how long a rank is late in a step."""

    def __init__(self, late: Callable[[int, int], float], bucket_mb: float = 25.0, layers: int = 1) -> None:
        super().__init__(data=Batches(rows=16, width=128), model=nn.parallel.DistributedDataParallel(network(layers, 128), bucket_cap_mb=bucket_mb))
        self.late, self.count = late, 0

    def step(self) -> None:
        time.sleep(0.015 + self.late(dist.get_rank(), self.count))
        self.count += 1
        super().step()


class TinyOperators(Training):
    """Adam over some hundred small tensors: nearly all of it is Python and dispatch."""

    def __init__(self, fused: bool) -> None:
        super().__init__(model=network(1))
        self.small = [nn.Parameter(torch.zeros(32)) for _ in range(800)]
        for parameter in self.small:
            parameter.grad = torch.ones(32)
        self.adam = torch.optim.Adam(self.small, fused=fused, foreach=False)

    def step(self) -> None:
        super().step()
        self.adam.step()


def pairs(folder: pathlib.Path) -> list[Pair]:
    """All that is planted, and what takes it away."""
    slow = functools.partial(Batches, delay_s=0.020)
    burning = functools.partial(Batches, burn=300_000)
    collector = {"record_python_gc_info": True}      # without with_stack, torch ignores it
    return [
        Pair("loader-sleep-cached", "20 ms of waiting for each batch -> batches in memory", ("data-loading",),
             lambda: Training(slow()), Training),
        Pair("loader-sleep-workers", "20 ms of waiting for each batch -> two workers", ("data-loading",),
             lambda: Training(slow()), lambda: Training(slow(), workers=2)),
        Pair("loader-burn-cached", "each batch decoded in Python -> batches in memory", ("data-loading",),
             lambda: Training(burning()), Training),
        Pair("checkpoint", f"torch.save and fsync at every {EVERY}th step -> none", ("io-stall",),
             lambda: Checkpoints(folder), Training, period=EVERY, steps=8 * EVERY, active=2 * EVERY),
        Pair("gc-churn", "gc.collect() in each step, low thresholds -> gc.disable()", ("python-gc",),
             lambda: Churn(True), lambda: Churn(False), flags=collector, stack=True, active=4),
        Pair("threads", "8 threads on two cores -> 2", None, lambda: Training(threads=8), lambda: Training(threads=2)),
        Pair("straggler", "rank 1 of 2 sleeps 20 ms in each step -> no sleep", ("straggler",),
             lambda: Straggler(0.020), lambda: Straggler(0.0), ranks=2),
        Pair("straggler-4", "rank 2 of 4 is 20 ms late in each step -> never", ("straggler",),
             lambda: Waiting(lambda rank, _: 0.020 if rank == 2 else 0.0), lambda: Waiting(lambda rank, _: 0.0), ranks=4),
        Pair("hiccups-4", "each step another of 4 ranks is 20 ms late -> none ever", ("straggler",),
             lambda: Waiting(lambda rank, step: 0.020 if step % 4 == rank else 0.0), lambda: Waiting(lambda rank, _: 0.0),
             ranks=4, active=8),
        Pair("buckets", "gradients of 24 layers in 24 buckets -> in one", None,
             lambda: Waiting(lambda rank, _: 0.0, 0.01, 24), lambda: Waiting(lambda rank, _: 0.0, 100.0, 24), ranks=2, active=3,
             edit="bucket=0"),
        Pair("tiny-operators", "Adam tensor by tensor -> fused", ("launch-bound",),
             lambda: TinyOperators(False), lambda: TinyOperators(True)),
        Pair("null", "nothing planted -> nothing removed", (), Training, Training),
    ]


def one_rank(source: Source, rounds: int, name: str, rank: int, folder: pathlib.Path) -> None:
    """Measures and records one pair in this process; DIR/NAME/rank<N>.json holds the steps."""
    pair = next(p for p in source(folder) if p.name == name)
    home = folder / name
    try:
        if pair.ranks > 1:
            dist.init_process_group("gloo", init_method=f"file://{home}/rendezvous", rank=rank, world_size=pair.ranks)
        before, after = pair.before(), pair.after()
        begun = quiet.mark()
        times = alternate(before, after, HostClock(), rounds, WARM_UP, pair.steps)
        waited = quiet.waited_pct(begun, quiet.mark())
        takes = [record(before, home / f"take{take}" / f"rank{rank}.pt.trace.json.gz", pair.active, pair.flags, pair.stack)
                 for take in range(TAKES)]
        before.close()
        after.close()
        if pair.ranks > 1:
            dist.destroy_process_group()
        (home / f"rank{rank}.json").write_text(json.dumps({"times": times, "takes": takes, "waited_pct": waited}))
    except Exception:       # the parent prints it beside the pair's name and goes on
        (home / f"rank{rank}.error").write_text(traceback.format_exc())
        raise


def slowest(ranks: list[dict[str, list[list[float]]]]) -> dict[str, list[list[float]]]:
    """A step lasts as long as its slowest rank."""
    return {arm: [[max(step) for step in zip(*turns)] for turns in zip(*(rank[arm] for rank in ranks))] for arm in ranks[0]}


def keep_take(home: pathlib.Path, takes: list[float], before: list[list[float]]) -> None:
    """The choice looks at the length of the steps alone, never at what is predicted from them."""
    measured = statistics.fmean(step for turns in before for step in turns)
    best = min(range(len(takes)), key=lambda take: abs(takes[take] - measured))
    for trace in (home / f"take{best}").iterdir():
        trace.rename(home / trace.name)
    for take in range(len(takes)):
        shutil.rmtree(home / f"take{take}")


def run_pair(source: Source, rounds: int, pair: Pair, folder: pathlib.Path, holdup: pathlib.Path | None) -> dict[str, Any]:
    """Fresh processes for each pair, so that none inherits threads, garbage or workers."""
    home = folder / pair.name
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    begun = quiet.mark()
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=one_rank, args=(source, rounds, pair.name, rank, folder)) for rank in range(pair.ranks)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(TIMEOUT_S)
        if process.is_alive():
            process.kill()
    if any(process.exitcode != 0 for process in processes):
        errors = [path.read_text().strip().splitlines()[-1] for path in sorted(home.glob("rank*.error"))]
        why = "; ".join(errors) or "ended early or took too long"
        return measure.row(pair.name, pair.expects, None, measure.Prediction(), why)
    ranks = [json.loads(path.read_text()) for path in sorted(home.glob("rank*.json"))]
    others = quiet.others_pct(begun, quiet.mark())
    waited = min(rank["waited_pct"] for rank in ranks)      # two ranks on two cores disturb each other, whatever else runs
    times = slowest([rank["times"] for rank in ranks])
    truth = measure.gain(times["before"], times["after"], pair.period)
    keep_take(home, [max(take) for take in zip(*(rank["takes"] for rank in ranks))], times["before"])
    trace = home if pair.ranks > 1 else home / "rank0.pt.trace.json.gz"
    for path in home.glob("rank*.json"):        # else holdup would take them for traces of ranks
        path.unlink()
    said, why = measure.explain(holdup, trace)
    read = measure.read_edit(holdup, trace, pair.edit) if pair.edit else measure.read_report(said, pair.expects, pair.says, pair.dark)
    recorded = profiled_ms(said)
    if recorded and recorded > 1.25 * statistics.fmean(step for turns in times["before"] for step in turns):
        why = why or f"recorded at {recorded:.1f} ms a step: the profiler, or what else this machine did, made it longer"
    why = "; ".join(text for text in (why, quiet.warning(others, waited)) if text)
    entry = measure.row(pair.name, pair.expects, truth, read, why)
    return {**entry, "what": pair.what, "period": pair.period, "steps_ms": times, "profiled_ms": recorded,
            "load_average": os.getloadavg()[0], "others_pct": others, "waited_pct": waited}


def profiled_ms(report: dict[str, Any] | None) -> float | None:
    """The recorded step of the slowest rank: what the profiler itself costs shows beside the measured one."""
    if not report:
        return None
    steps = [rank["steps"]["mean_ns"] for rank in report["ranks"] if rank.get("steps", {}).get("mean_ns")]
    return max(steps) / 1e6 if steps else None


def main(source: Source = pairs, rounds: int = ROUNDS, about: str | None = __doc__) -> int:
    """Measures the pairs of `source`; returns the exit status."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--holdup", type=pathlib.Path, help="the program whose predictions are checked; none: truth only")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--only", action="append", help="one pair; may be given again")
    parser.add_argument("--quick", action="store_true", help="one round: does everything run?  Its figures mean nothing")
    options = parser.parse_args()
    rounds = 1 if options.quick else rounds
    warnings = [text for text in (quiet.before_start(),) if text]
    print("\n".join(warnings), file=sys.stderr, end="\n" if warnings else "")
    os.environ.setdefault("KINETO_LOG_LEVEL", "5")      # for the processes of the pairs: no lines about a missing GPU
    folder = options.out.resolve()
    chosen = [pair for pair in source(folder) if not options.only or pair.name in options.only]
    if not chosen:
        parser.error("no such pair; there are " + ", ".join(pair.name for pair in source(folder)))
    about = {"torch": torch.__version__, "python": platform.python_version(), "cores": os.cpu_count(), "rounds": rounds,
             "steps_per_round": STEPS, "bootstrap": {"draws": measure.DRAWS, "seed": measure.SEED}, "warnings": warnings}
    rows: list[dict[str, Any]] = []
    text = ""
    for pair in chosen:
        print(f"{pair.name}: {pair.what}", file=sys.stderr, flush=True)
        rows.append(run_pair(source, rounds, pair, folder, options.holdup.resolve() if options.holdup else None))
        text = measure.write(folder, "pairs", rows, about)
        if rows[-1]["note"]:
            print(f"  {rows[-1]['note']}", file=sys.stderr, flush=True)
    print(text)
    return 0 if all(entry["truth"] for entry in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
