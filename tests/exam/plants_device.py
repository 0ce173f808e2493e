# SPDX-License-Identifier: Apache-2.0
"""Causes on the device of a training job: copies, kernels, communication of one rank."""

from tests.exam.plants import Plant, plant

PLANTS: list[Plant] = [
    plant("pageable copies", "copy-bound pageable-copies", "gpu gpu_sync", knob="pageable", start=8e6, cure={"pageable": 0, "pinned": 0}),
    plant(
        "pinned copy on the compute stream",
        "copy-bound serial-copies copy-overlap",
        "gpu gpu_sync",
        knob="pinned",
        start=1e7,
        cure={"side_copy": 1},
        limit=4e8,
    ),
    plant(
        "elementwise chain",
        "bandwidth-bound fusion",
        "gpu gpu_sync",
        knob="chain",
        start=1e5,
        cure={"chain_fused": 1},
        extra={"chain_count": 8},
    ),
    plant(
        "fp32 products",
        "tensor-cores-unused",
        "gpu gpu_sync volta",
        knob="single",
        whole=True,
        start=1,
        limit=20,
        cure={"single_cured": 1},
        strengths=(10.0, 30.0, 60.0),
    ),
    plant("recompute", "recompute", "gpu gpu_sync", knob="recompute", whole=True, start=2, limit=12, strengths=(10.0, 20.0)),
    plant(
        "contention",
        "overlap-contention",
        "ddp ddp_sync",
        knob="contention_pct",
        start=20,
        cure={"contention_pct": 0},
        limit=300,
        strengths=(3.0, 10.0),
    ),
    plant(
        "late all-reduce",
        "poor-overlap exposed-communication",
        "ddp ddp_sync",
        knob="ddp",
        start=2e6,
        extra={"late": 1, "contention_pct": 12},
        cure={"late": 0},
    ),
    plant(
        "many small all-reduces",
        "comm-latency",
        "ddp ddp_sync",
        knob="ddp",
        start=2e6,
        extra={"late": 1, "buckets": 60, "sent": 60000 * 60},  # what one bucket of the cured job sends
        cure={"ddp": 60000, "buckets": 1},
    ),
    plant(
        "long all-reduce", "exposed-communication poor-overlap comm-bandwidth", "ddp ddp_sync", knob="ddp", start=8e6, cure={"ddp": 20000}
    ),
]
