# SPDX-License-Identifier: Apache-2.0
"""Records one training step in the ways that people record it, so that holdup can be tried on what each leaves out.

    python -m tests.gpu.record --out DIR [--dry-run]

A small transformer: plain; with the records of synchronisation; with Python stacks; with a copy stream; as a CUDA graph.
"""
from __future__ import annotations

import argparse
import contextlib
import pathlib
import sys
from typing import Any

import torch
from torch import nn

from tests.pairs.arms import Arm, record

SYNC = {"enable_cuda_sync_events": True}


class Transformer(Arm):
    """Batches come from pinned memory, on the same stream or on one of their own."""

    def __init__(self, device: str, tiny: bool, copy_stream: bool = False) -> None:
        width, layers, batch, length = (16, 1, 2, 8) if tiny else (512, 6, 16, 256)
        torch.manual_seed(0)
        self.device = device
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True, dropout=0.0)
        self.model = nn.TransformerEncoder(layer, layers).to(device)
        self.adam = torch.optim.AdamW(self.model.parameters(), lr=1e-4, capturable=device == "cuda", foreach=True)
        self.host = torch.randn(batch, length, width, pin_memory=device == "cuda")
        self.stream: Any = torch.cuda.Stream() if copy_stream and device == "cuda" else None

    def fetch(self) -> torch.Tensor:
        if self.stream is None:
            return self.host.to(self.device, non_blocking=True)
        with torch.cuda.stream(self.stream):
            batch = self.host.to(self.device, non_blocking=True)
        torch.cuda.current_stream().wait_stream(self.stream)
        batch.record_stream(torch.cuda.current_stream())
        return batch

    def learn(self, batch: torch.Tensor) -> None:
        with torch.autocast(self.device, torch.bfloat16):
            loss = self.model(batch).float().square().mean()
        self.adam.zero_grad(set_to_none=True)
        loss.backward()
        self.adam.step()

    def step(self) -> None:
        self.learn(self.fetch())


class Graphed(Transformer):
    """The whole step but the copy, captured once."""

    def __init__(self, device: str, tiny: bool) -> None:
        super().__init__(device, tiny)
        self.batch = self.host.to(device)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.learn(self.batch)
        torch.cuda.current_stream().wait_stream(side)
        self.adam.zero_grad(set_to_none=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.learn(self.batch)

    def step(self) -> None:
        self.batch.copy_(self.host, non_blocking=True)
        self.graph.replay()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--dry-run", action="store_true", help="tiny, on the CPU")
    options = parser.parse_args()
    dry = options.dry_run
    if not dry and not torch.cuda.is_available():
        print("record: this machine has no CUDA device that torch can use", file=sys.stderr)
        return 1
    device = "cpu" if dry else "cuda"
    wanted: list[tuple[str, Any, dict[str, Any], bool]] = [
        ("plain", lambda: Transformer(device, dry), {}, False),
        ("sync", lambda: Transformer(device, dry), SYNC, False),
        ("stack", lambda: Transformer(device, dry), SYNC, True),
        ("streams", lambda: Transformer(device, dry, copy_stream=True), SYNC, False),
    ] + ([] if dry else [("graph", lambda: Graphed(device, dry), SYNC, False)])
    failed = 0
    for name, build, flags, stack in wanted:
        try:
            arm = build()
            for _ in range(5):
                arm.step()
            record(arm, options.out / f"{name}.pt.trace.json.gz", 5, flags, stack)
            print(f"recorded {name}")
        except Exception as error:      # the others are still worth having
            failed += 1
            print(f"{name} failed: {type(error).__name__}: {error}", file=sys.stderr)
        with contextlib.suppress(Exception):
            torch.cuda.empty_cache()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
