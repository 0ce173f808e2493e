# SPDX-License-Identifier: Apache-2.0
"""What synchronising gradients costs a step: with and without it, in turns."""
from __future__ import annotations

import sys
from contextlib import nullcontext
from time import perf_counter_ns
from typing import Any, Callable

from . import device
from ._series import median
from .markers import range as marked
from .summary import Summary

_BUCKET_BYTES = 25 << 20        # what DistributedDataParallel puts into one all-reduce unless told otherwise


def overlap(model: Any, batch: Any = None, num_iterations: int = 10, warmup: int = 3, *, step: Callable[[], Any] | None = None,
            synchronize: bool = True) -> Summary:
    """Time of forward and backward with and without gradient synchronisation (`model.no_sync()`).

        print(holdup.overlap(ddp_model, batch))         on every rank at the same time: it communicates

    batch         what the model is called with; the result is summed up, if need be, and its backward is run
    step          instead: a function that runs one forward and backward
    synchronize   wait for the device after each iteration, which these times need on a GPU

    Both ways take turns, `num_iterations` of each after `warmup`.  compute_only_ms and with_comm_ms are their medians; exposed_comm_ms
    is the median of what a turn with synchronisation takes longer than the one before it without, exposed_comm_low_ms and _high_ms its
    95 % interval (order statistics; from six iterations on), exposed_comm_pct its share of the step.  In a process group the gradients'
    all-reduces are also timed alone, comm_alone_ms, in buckets as DDP's; then hidden_pct is what of it the backward hides.  It is left
    out where the interval is wider than what is to be hidden.
    Gradients are put back as they were; buffers such as batch norm's averages are not.

    A model without no_sync() is said to have none: then there is nothing to compare, and only with_comm_ms is measured.
    """
    if step is None and batch is None:
        raise ValueError("overlap: give a batch, or a step")
    if num_iterations < 1 or warmup < 0:
        raise ValueError("overlap: num_iterations is 1 or more, warmup is 0 or more")

    def run() -> None:
        if step is not None:
            step()
            return
        loss = model(batch)
        loss = getattr(loss, "loss", loss)
        (loss.sum() if getattr(loss, "ndim", 0) else loss).backward()

    def timed(silent: Any) -> int:
        if synchronize:
            device.synchronize()
        began = perf_counter_ns()
        with silent():
            run()
        if synchronize:
            device.synchronize()
        return perf_counter_ns() - began

    no_sync = getattr(model, "no_sync", None)
    found = Summary("gradient synchronisation")
    kept = _take_gradients(model)
    times: dict[bool, list[int]] = {False: [], True: []}
    try:
        with marked("overlap"):
            for number in range(warmup + num_iterations):
                if no_sync is not None:
                    ns = timed(no_sync)
                    if number >= warmup:
                        times[False].append(ns)
                ns = timed(nullcontext)
                if number >= warmup:
                    times[True].append(ns)
                _take_gradients(model)
            alone = _alone(model, num_iterations, warmup, synchronize) if no_sync is not None else None
    finally:
        _put_gradients(kept)
    both = median(times[True]) / 1e6
    found["with_comm_ms"] = both
    if no_sync is None:
        found["statement"] = (f"{type(model).__name__} has no no_sync(): there is no gradient synchronisation that could be left out "
                              "(wrap the model in DistributedDataParallel to compare)")
        return found
    without = median(times[False]) / 1e6
    added = sorted((b - a) / 1e6 for a, b in zip(times[False], times[True]))
    exposed = median(added)
    low, high = _interval(added)
    found.update({"compute_only_ms": without, "exposed_comm_ms": exposed, "exposed_comm_low_ms": low, "exposed_comm_high_ms": high,
                  "comm_overhead_ms": exposed, "exposed_comm_pct": 100 * max(exposed, 0.0) / both if both else 0.0})
    interval = "" if low is None or high is None else f" [{low:.3g} … {high:.3g}]"
    if low is not None and low <= 0:
        said = f"synchronising gradients adds nothing that is certain to {without:.3g} ms: {exposed:.3g} ms{interval}"
    else:
        said = f"synchronising gradients adds {exposed:.3g} ms{interval} to {without:.3g} ms ({found['exposed_comm_pct']:.0f} % of the step)"
    if alone is None:
        said += "; how much is hidden needs torch.distributed, which is not initialised"
    else:
        alone /= 1e6
        found["comm_alone_ms"] = alone
        if low is not None and high is not None and high - low <= alone:
            found["hidden_pct"] = found["overlap_efficiency_pct"] = max(0.0, min(100.0, 100 * (1 - exposed / alone)))
            said += f"; {found['hidden_pct']:.0f} % of the {alone:.3g} ms that it takes alone is hidden"
        else:
            said += f"; the times vary too much to say how much of the {alone:.3g} ms that it takes alone is hidden"
    found["statement"] = said
    return found


def _interval(ordered: list[float]) -> tuple[float | None, float | None]:
    """95 % of the median of whatever these are a sample of: the k-th least and the k-th largest, with k as large as the binomial
    distribution allows (2 P(B(n, 1/2) < k) <= 5 %); (None, None) of fewer than six."""
    n = len(ordered)
    k, tail = 0, 0.5 ** n if n < 1000 else 0.0
    chance = tail
    while 2 * tail <= 0.05 and k < n // 2 and n < 1000:
        k += 1
        chance *= (n - k + 1) / k
        tail += chance
    if n >= 1000:                       # the normal limit
        k = int(n / 2 - 0.98 * n ** 0.5)
    return (ordered[k - 1], ordered[n - k]) if k else (None, None)


def _parameters(model: Any) -> list[Any]:
    return [p for p in model.parameters() if p.requires_grad] if hasattr(model, "parameters") else []


def _take_gradients(model: Any) -> list[tuple[Any, Any]]:
    taken = [(p, p.grad) for p in _parameters(model)]
    for parameter, _ in taken:
        parameter.grad = None
    return taken


def _put_gradients(taken: list[tuple[Any, Any]]) -> None:
    for parameter, gradient in taken:
        parameter.grad = gradient


def _alone(model: Any, num_iterations: int, warmup: int, synchronize: bool) -> float | None:
    """Median ns of all-reducing as many bytes as the gradients have, and nothing else; None without a process group."""
    torch = sys.modules.get("torch")
    group = getattr(torch, "distributed", None)
    if group is None or not group.is_available() or not group.is_initialized():
        return None
    buckets: list[Any] = []
    sizes: dict[tuple[Any, Any], int] = {}
    for parameter in _parameters(model):
        kind = (parameter.dtype, parameter.device)
        sizes[kind] = sizes.get(kind, 0) + parameter.numel()
    for (dtype, where), numbers in sizes.items():
        each = max(1, _BUCKET_BYTES // torch.empty((), dtype=dtype).element_size())
        while numbers > 0:
            buckets.append(torch.zeros(min(each, numbers), dtype=dtype, device=where))
            numbers -= each
    if not buckets:
        return None
    times = []
    for number in range(warmup + num_iterations):
        if synchronize:
            device.synchronize()
        began = perf_counter_ns()
        for work in [group.all_reduce(bucket, async_op=True) for bucket in buckets]:
            work.wait()
        if synchronize:
            device.synchronize()
        if number >= warmup:
            times.append(perf_counter_ns() - began)
    return median(times)


class OverlapProfiler:
    """overlap() as an object: `OverlapProfiler(model).profile(batch, num_iterations=10)`; times in ms."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def profile(self, batch: Any, num_iterations: int = 10, **options: Any) -> Summary:
        return overlap(self.model, batch, num_iterations, **options)
