# SPDX-License-Identifier: Apache-2.0
"""Stands for your training script in the examples beside it: twelve steps that wait little for data.  It runs without holdup, too."""
import time

try:
    import holdup
except ImportError:     # not under `holdup run`, and not installed
    holdup = None


def load(seconds):
    time.sleep(seconds)


def compute(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


for i in range(12):
    if holdup:
        holdup.step(i)
        with holdup.phase("data"):
            load(.001)
        with holdup.phase("forward"):
            compute(.010)
    else:
        load(.001)
        compute(.010)
