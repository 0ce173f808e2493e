# SPDX-License-Identifier: Apache-2.0
"""Jobs with nothing wrong, and decoys: large shares of time whose removal gains nothing."""

from tests.exam.plants import Plant, plant

NULLS: list[Plant] = [
    plant("null: GPU-bound", "", "gpu", fixed=True),
    plant("null: GPU-bound, loss read", "", "gpu_sync", fixed=True),
    plant("decoy: hidden loader", "", "gpu", fixed=True, extra={"loader_workers": 4, "loader_item": 6000000}),
    plant("decoy: hidden host work", "", "gpu", fixed=True, extra={"host_block": 600000}),
    plant("decoy: long sync", "", "gpu", fixed=True, extra={"device_sync": 1}),
    plant("decoy: overlapped DDP", "", "ddp", fixed=True),
    plant("decoy: hidden Python, no stacks", "", "gpu", fixed=True, extra={"unrecorded": 500000}, stacks=False),
    plant("null: CPU job", "", "cpu", fixed=True),
    plant("null: CPU job, no stacks", "", "cpu", fixed=True, stacks=False),
    plant("null: inference, GPU-bound", "", "infer_full", fixed=True),
    plant("null: serving, GPU-bound", "", "serve_graph", fixed=True, extra={"no_wait": 1}),
    plant("decoy: Triton kernels in bf16", "", "gpu_sync gpu", fixed=True, extra={"triton": "bf16"}),
    plant("decoy: Triton kernels in mxfp4", "", "gpu", fixed=True, extra={"triton": "mxfp4"}),
    plant("decoy: no requests", "", "serve_graph", fixed=True, extra={"no_wait": 1, "waits": 8000000}, stacks=True),
    plant("null: MI300X", "", "amd", fixed=True),
    plant("null: V100 fp16", "", "volta", fixed=True),
]
