# SPDX-License-Identifier: Apache-2.0
"""What is holding up a training or inference job: markers for `holdup run`, and measurements that work without it.

    import holdup

    with holdup.range("forward"): ...           a named part          @holdup.annotate      ... around a function
    with holdup.phase("data"): ...              a part of the pipeline that the report knows
    holdup.step()                               a step begins         holdup.counter("loss", v), holdup.mark("saved")
    holdup.count(samples=32, tokens=65536)      so many more are done

    holdup.Profiler(holdup.schedule(wait=1, warmup=1, active=10, repeat=1))     steps, ranges and phases, as torch.profiler is driven
    holdup.ProfiledDataLoader(loader)           how long the loop waits for data
    holdup.auto_profile(warmup=3, iterations=10)                                times of a function's calls
    holdup.quick_benchmark(model, (32, 3, 224, 224))                            throughput and latency
    holdup.GPUMonitor()                         GPUs and host meanwhile
    holdup.MemoryLog()                          memory by phase; leaks
    holdup.PerformanceTracker()                 samples/s, tokens/s
    holdup.overlap(model, batch)                what synchronising gradients costs

Python 3.8 or newer, no dependencies; torch is used where the script has it.  docs/markers.md
"""
from __future__ import annotations

import os as _os
from typing import TYPE_CHECKING, Any

from .markers import (NVTXAnnotator, annotate, count, counter, is_recording, mark, phase, profile_step, range, range_end, range_pop, range_push,
                      range_start, step, step_end)

# VERSION is the one place that has the number: of the program, the package and the archives.
with open(_os.path.join(_os.path.dirname(__file__), "VERSION"), encoding="ascii") as _file:
    __version__ = _file.read().strip()

# The rest is loaded when it is first asked for, so that markers alone load fast.
_HOMES = {
    "GPUMonitor": "gpu_monitor", "MemoryLog": "memory_log", "OverlapProfiler": "gradient_sync", "PerformanceTracker": "trackers",
    "PipelineProfiler": "pipeline", "ProfiledDataLoader": "loaders", "Profiler": "profiler", "ProfilerWrapper": "profiler", "ProfilerAction": "schedules",
    "Summary": "summary", "auto_profile": "auto", "find_memory_leaks": "memory_log", "memory_timeline": "memory_log",
    "overlap": "gradient_sync", "quick_benchmark": "benchmarks", "schedule": "schedules",
}

__all__ = ["NVTXAnnotator", "annotate", "count", "counter", "is_recording", "mark", "phase", "profile_step", "range", "range_end", "range_pop", "range_push",
           "range_start", "step", "step_end", *_HOMES]

if TYPE_CHECKING:
    from .auto import auto_profile
    from .benchmarks import quick_benchmark
    from .gpu_monitor import GPUMonitor
    from .gradient_sync import OverlapProfiler, overlap
    from .loaders import ProfiledDataLoader
    from .memory_log import MemoryLog, find_memory_leaks, memory_timeline
    from .pipeline import PipelineProfiler
    from .profiler import Profiler, ProfilerWrapper
    from .schedules import ProfilerAction, schedule
    from .summary import Summary
    from .trackers import PerformanceTracker


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
