# SPDX-License-Identifier: Apache-2.0
"""How fast a model answers: throughput and latency.

Two passes, because one disturbs the other: throughput is measured over calls that follow each other without waiting for
the device (the queue stays full), latency over calls that are each waited for.
"""
from __future__ import annotations

from contextlib import ExitStack
from time import perf_counter_ns
from typing import Any, Callable, Sequence

from . import device as devices
from ._series import Series
from .markers import range as marked
from .summary import Summary


def _prepare(model: Any, input_shape: Sequence[int] | None, inputs: Any, device: Any, dtype: Any, stack: ExitStack) -> tuple[Any, Any]:
    """The model on its device in eval mode, and what to call it with; `stack` puts it back as it was."""
    if not hasattr(model, "parameters"):
        if inputs is None:
            inputs = _made_by_torch(input_shape, device or "cpu", dtype)
        return inputs, device
    import torch

    here = next((p.device for p in model.parameters()), torch.device("cpu"))
    there = torch.device(device) if device is not None else torch.device("cuda") if torch.cuda.is_available() else here
    if there.type != here.type or there.index not in (None, here.index):
        model.to(there)
        stack.callback(model.to, here)
    was_training = getattr(model, "training", False)
    if was_training:
        model.eval()
        stack.callback(model.train, was_training)
    stack.enter_context(torch.no_grad())
    if inputs is None:
        inputs = _made_by_torch(input_shape, there, dtype or next((p.dtype for p in model.parameters()), None))
    else:
        inputs = devices.move(inputs, there)
    return inputs, there


def _made_by_torch(input_shape: Sequence[int] | None, device: Any, dtype: Any) -> Any:
    if input_shape is None:
        raise ValueError("quick_benchmark: give input_shape, or inputs")
    try:
        import torch
    except ImportError:
        raise ValueError("quick_benchmark: without torch there is nothing to make an input with; give inputs=") from None
    return torch.randn(tuple(input_shape), device=device, dtype=dtype)


def _length(inputs: Any) -> int:
    try:
        return max(len(inputs), 1)
    except TypeError:                   # a number, a tensor without dimensions
        return 1


def quick_benchmark(model: Callable[..., Any], input_shape: Sequence[int] | None = None, num_iterations: int = 100, warmup: int = 10, *,
                    inputs: Any = None, batch_size: int | None = None, device: Any = None, dtype: Any = None,
                    synchronize: bool = True, show: bool = True) -> Summary:
    """Throughput and latency of `model(x)`, x of random numbers with `input_shape`, whose first number is the batch size.

        holdup.quick_benchmark(models.resnet50(), (32, 3, 224, 224))

    model           a torch module, or anything that can be called
    inputs          instead of input_shape: what to call it with; batch_size is then len(inputs), if it has one, else 1
    num_iterations  of each of the two passes, after `warmup` calls that are not measured
    device          where to run; None: the GPU if there is one.  The module is put back where and as it was
    synchronize     wait for the device where it is needed; False measures launches

    Returns (and prints, with `show`) throughput_per_s in samples, avg_ms of a call under load, and of single calls
    latency_p50_ms, _p90_, _p99_, _mean_, _min_, _max_.
    """
    if num_iterations < 1 or warmup < 0:
        raise ValueError("quick_benchmark: num_iterations is 1 or more, warmup is 0 or more")
    with ExitStack() as stack:
        inputs, where = _prepare(model, input_shape, inputs, device, dtype, stack)
        if batch_size is None:
            batch_size = int(input_shape[0]) if input_shape else _length(inputs)

        def wait() -> None:
            if synchronize:
                devices.synchronize()

        with marked("quick_benchmark: warm-up"):
            for _ in range(warmup):
                model(inputs)
            wait()
        with marked("quick_benchmark: throughput"):
            began = perf_counter_ns()
            for _ in range(num_iterations):
                model(inputs)
            wait()
            whole = perf_counter_ns() - began
        latencies = Series()
        with marked("quick_benchmark: latency"):
            for _ in range(num_iterations):
                began = perf_counter_ns()
                model(inputs)
                wait()
                latencies.add(perf_counter_ns() - began)
    whole = max(whole, 1)
    found = Summary("benchmark", throughput_per_s=batch_size * num_iterations / whole * 1e9, avg_ms=whole / num_iterations / 1e6,
                    batch_size=batch_size, device=str(where) if where is not None else "cpu", warmup=warmup)
    found.update(latencies.milliseconds("latency_"))
    found["latency_std_ms"] = latencies.stddev() / 1e6
    if show:
        print(found)
    return found
