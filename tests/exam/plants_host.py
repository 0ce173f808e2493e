# SPDX-License-Identifier: Apache-2.0
"""Causes on the host of a training job on a GPU."""
from tests.exam.plants import Plant, plant

PLANTS: list[Plant] = [
    plant("loader in process", "data-loading", "gpu_sync gpu host", knob="loader_inline"),
    plant("loader, every 3rd step", "data-loading", "gpu_sync gpu", knob="loader_inline", extra={"loader_every": 3}),
    plant("too few workers", "data-loading", "gpu_sync gpu host", knob="loader_item", start=2e7, extra={"loader_workers": 2},
          cure={"loader_item": 100000}),
    plant(".item() per step", "host-sync", "item", knob="item_python", extra={"items": 1, "loss_item": 0}, cure={"items": 0, "item_python": 0},
          start=4e5, strengths=(3.0, 10.0, 20.0)),
    plant("many .item()", "host-sync", "gpu item", knob="items", whole=True, start=3, cure={"items": 0, "item_python": 0}, extra={"item_python": 150000}),
    plant("launch-bound", "launch-bound tiny-operators", "tiny", fixed=True, cure={"graphed": 1}),
    plant("many tiny kernels", "tiny-operators bandwidth-bound", "gpu host", knob="tiny", whole=True, start=30, cure={"tiny": 0}),
    plant("CPU operator", "host-work", "gpu_sync gpu host", knob="host_block", extra={"host_block_kind": "normal"}),
    plant("CPU sort", "host-work", "gpu_sync gpu", knob="host_block", extra={"host_block_kind": "sort"}),
    plant("numpy, with stacks", "host-work", "gpu_sync gpu", knob="host_block", extra={"host_block_kind": "numpy"}, stacks=True),
    plant("tokenizer, no stacks", "host-work unrecorded", "gpu_sync gpu", knob="host_block", extra={"host_block_kind": "tokenizer"}, stacks=False),
    plant("unrecorded host time", "unrecorded host-work", "gpu_sync gpu host", knob="unrecorded", stacks=False),
    plant("GC, recorded", "python-gc", "gpu_sync gpu", knob="gc", extra={"gc_every": 3}, stacks=True),
    plant("GC, not recorded", "python-gc unrecorded host-work", "gpu_sync gpu", knob="gc", extra={"gc_every": 3}, stacks=False),
    plant("checkpoint, with stacks", "io-stall", "gpu_sync gpu", knob="checkpoint", stacks=True),
    plant("checkpoint, annotated", "io-stall", "gpu_sync gpu", knob="checkpoint", extra={"checkpoint_kind": "annotated"}),
    plant("logging to a pipe", "io-stall host-work", "gpu_sync gpu", knob="log", stacks=True),
    plant("cold start, launches", "cold-start warm-up", "gpu_sync host", knob="cold_start", once=True, start=5e6),
    plant("cold start, modules", "cold-start warm-up", "gpu_sync host", knob="cold_start", once=True, start=5e6, extra={"cold_kind": "library"}),
    plant("compile in the capture", "compile cold-start warm-up", "gpu_sync host", knob="compile", once=True, start=5e6, strengths=(10.0, 30.0)),
    plant("graph capture in the window", "graph-capture cold-start warm-up", "gpu_sync host", knob="capture", once=True, start=5e6),
    plant("launch blocking", "synchronous-launches", "gpu gpu_sync host", fixed=True, extra={"blocking": 1}, cure={"blocking": 0}),
    plant("cudaHostAlloc in steps", "pinned-allocation", "gpu_sync gpu host", knob="pin_now"),
    plant("empty_cache churn", "allocator", "gpu gpu_sync", knob="allocs", whole=True, start=2),
    plant("optimizer loop", "optimizer-loop", "host gpu", fixed=True, extra={"optimizer_loop": 1}, cure={"optimizer_loop": 0}),
    plant("validation unlabelled", "validation", "gpu_sync gpu", knob="validate", whole=True, start=1, extra={"validate_every": 3}, strengths=(10.0, 30.0)),
]
