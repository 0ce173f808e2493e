#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures HolisticTraceAnalysis on one rank: load, temporal breakdown, kernel breakdown, communication overlap.
Does not measure its critical path, its plots, nor any answer that it does not give (why, and how much faster)."""

from __future__ import annotations

import json
import logging
import sys
import time
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
sys.path[:] = [p for p in sys.path if Path(p).resolve() != Path(__file__).resolve().parent]     # this file has its name

from hta.trace_analysis import TraceAnalysis  # noqa: E402


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: hta.py TRACE.json[.gz]", file=sys.stderr)
        return 2
    logging.disable(logging.CRITICAL)
    path = Path(sys.argv[1]).resolve()
    begin = time.perf_counter()
    analysis = TraceAnalysis(trace_files={0: str(path)}, trace_dir=str(path.parent))
    loaded = time.perf_counter()
    temporal = analysis.get_temporal_breakdown(visualize=False)
    kernels = analysis.get_gpu_kernel_breakdown(visualize=False)
    overlap = analysis.get_comm_comp_overlap(visualize=False)
    done = time.perf_counter()
    rows = [len(temporal), len(kernels[0]), len(overlap)]
    print(json.dumps({"load_seconds": loaded - begin, "seconds": done - begin, "rows": rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
