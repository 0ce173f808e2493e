# SPDX-License-Identifier: Apache-2.0
"""Prints what HolisticTraceAnalysis says about traces, as JSON: python tests/peers/hta_reference.py TRACE..."""
import json
import logging
import sys
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

from hta.trace_analysis import TraceAnalysis  # noqa: E402


def rows(frame) -> list[dict]:
    return [] if frame is None else json.loads(frame.reset_index().to_json(orient="records"))


def measure(path: str) -> dict:
    analysis = TraceAnalysis(trace_files={0: path}, trace_dir="")
    types, kernels = analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=1000, duration_ratio=1.0, include_memory_kernels=True)
    stats = analysis.get_cuda_kernel_launch_stats(visualize=False, include_memory_events=True)
    first = stats[0] if isinstance(stats, list) else stats.get(0)
    return {
        "temporal_breakdown": rows(analysis.get_temporal_breakdown(visualize=False)),
        "comm_comp_overlap": rows(analysis.get_comm_comp_overlap(visualize=False)),
        "idle_time_breakdown": rows(analysis.get_idle_time_breakdown(visualize=False)[0]),
        "kernel_type_breakdown": rows(types),
        "kernels": rows(kernels),
        "queue_length_summary": rows(analysis.get_queue_length_summary()),
        "launch_stats": {"n": len(first), "sums": {c: float(first[c].sum()) for c in ("cpu_duration", "gpu_duration", "launch_delay")}},
    }


def main(paths: list[str]) -> None:
    """Prints a list; null for a trace that HTA cannot read."""
    answers = []
    for path in paths:
        try:
            answers.append(measure(path))
        except Exception as problem:  # noqa: BLE001 - HTA stops with what pandas happens to raise
            print(f"{path}: {problem}", file=sys.stderr)
            answers.append(None)
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
