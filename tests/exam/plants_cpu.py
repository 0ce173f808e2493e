# SPDX-License-Identifier: Apache-2.0
"""Causes in jobs without a GPU."""

from tests.exam.plants import Plant, plant

PLANTS: list[Plant] = [
    plant("CPU job: many tiny operators", "many-small-operators", "cpu", knob="tiny", whole=True, start=60, strengths=(10.0, 30.0, 60.0)),
    plant("CPU job: copies and casts", "copies-and-casts", "cpu", knob="casts", start=5e5, strengths=(10.0, 30.0)),
    plant(
        "CPU job: optimizer loop",
        "optimizer-loop many-small-operators",
        "cpu",
        knob="optimizer_loop",
        whole=True,
        start=10,
        strengths=(10.0, 30.0),
    ),
    plant("CPU job: validation each step", "validation", "cpu", knob="validate", whole=True, start=1, strengths=(20.0, 40.0)),
    plant("CPU job: loader", "data-loading", "cpu", knob="loader_inline", start=5e5),
    plant("CPU job: GC, recorded", "python-gc", "cpu", knob="gc", start=5e5, extra={"gc_every": 3}, stacks=True),
    plant("CPU job: GC, not recorded", "python-gc unrecorded host-work", "cpu", knob="gc", start=5e5, extra={"gc_every": 3}, stacks=False),
    plant("CPU job: checkpoint", "io-stall", "cpu", knob="checkpoint", start=5e5, stacks=True),
    plant("CPU job: logging", "io-stall host-work", "cpu", knob="log", start=5e5, stacks=True),
    plant("CPU job: one large operator", "host-work", "cpu", knob="host_block", start=5e5, strengths=(10.0, 30.0)),
    plant("CPU job: unrecorded", "unrecorded host-work", "cpu", knob="unrecorded", start=5e5, stacks=False),
]
