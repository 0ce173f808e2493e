# SPDX-License-Identifier: Apache-2.0
"""Jobs before anything is planted in them."""

from tests.exam.draws import Draws
from tests.exam.job import Job


def preset(name: str, draws: Draws) -> Job:
    """A job of a kind: gpu (the device is the limit, its queue full), gpu_sync (the loss is read in each step), host (about even),
    tiny (the host is the limit), item (the device is ahead by little), ddp, ddp_sync, volta, amd, amd_sync, small;
    serve_eager, serve_graph, infer_eager, infer_full; cpu.
    """
    device = draws.one(["A100", "A100", "H100", "A10G"], "device")
    if name == "volta":
        device = draws.one(["V100", "Turing"], "device")
    if name.startswith("amd"):
        device = "MI300"
    model = draws.one(["transformer", "transformer", "convolution"], "model")
    layers = draws.whole(4, 9, "layers") if model == "transformer" else draws.whole(12, 28, "layers")
    if name == "small":  # a model of two layers, whose backward() takes less than a millisecond
        layers = 2
    if name in ("gpu", "ddp", "volta", "amd"):  # a queue of 1,022 fills in few steps
        layers = 2 * layers
    low, high = {"host": (0.75, 0.95), "tiny": (0.15, 0.5), "item": (1.15, 1.4)}.get(name, (1.9, 3.5))
    job = Job(
        int(draws.unit("seed") * 1e9), "train", model, device, layers, draws.between(low, high, "ratio"), draws.between(0.25, 0.7, "host")
    )
    knobs: dict[str, object] = {}
    if name in ("gpu_sync", "ddp_sync", "small", "amd_sync"):
        knobs["loss_item"] = 1
    if name.startswith("ddp"):
        knobs.update({"ddp": 1500000, "buckets": draws.whole(2, 4, "buckets"), "world": 8})
    if draws.unit("old") < 0.3:
        knobs["old_item"] = 1
    if name.startswith(("serve", "infer")):
        limited = name.endswith(("full", "graph"))
        job = Job(
            job.seed,
            "serve",
            "transformer",
            device,
            draws.whole(5, 9, "layers"),
            draws.between(2.0, 4.0, "full") if limited else draws.between(0.2, 0.5, "eager"),
            job.host,
        )
        knobs = {"mode": name}
        if name.endswith("graph"):
            knobs["graphed"] = 1
        if name.startswith("infer"):
            knobs["no_wait"] = 1
    if name.startswith("cpu"):
        job = Job(job.seed, "cpu", "mlp", "CPU", draws.whole(4, 10, "layers"), 1.0, job.host, {})
        knobs = {"work": draws.between(2e6, 8e6, "work")}
    return job.with_knobs(**knobs)
