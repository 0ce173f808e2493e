# SPDX-License-Identifier: Apache-2.0
"""Causes in serving and inference."""

from tests.exam.plants import Plant, plant

PLANTS: list[Plant] = [
    plant("serving, launch-bound", "launch-bound many-small-operators", "serve_eager", fixed=True, cure={"graphed": 1}),
    plant("serving, detokeniser", "host-work", "serve_graph", knob="post", start=5e5, strengths=(10.0, 30.0), stacks=True),
    plant("serving, sampling on the CPU", "host-work", "serve_graph serve_eager", knob="sampling", start=5e5, strengths=(10.0, 30.0)),
    plant("inference, launch-bound", "launch-bound many-small-operators", "infer_eager", fixed=True, cure={"graphed": 1}),
    plant("inference, CPU operator", "host-work", "infer_full", knob="sampling", start=5e5, strengths=(10.0, 30.0)),
]
