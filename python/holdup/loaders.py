# SPDX-License-Identifier: Apache-2.0
"""How long a training loop waits for its batches."""
from __future__ import annotations

import threading
from collections import deque
from time import perf_counter_ns
from typing import Any, Iterable, Iterator

from . import device as devices
from ._series import Series
from .markers import phase
from .summary import Summary


class ProfiledDataLoader:
    """A DataLoader (or any iterable of batches) that measures what each batch costs the loop.

        loader = holdup.ProfiledDataLoader(loader, device="cuda")

    device         batches are moved there, and the time of that is measured too; None: they stay where they are
    synchronize    wait for the device after a move, so that the time is that of the copy and not of its launch; this costs
                   the overlap of copies with work
    non_blocking   of the move

    load is the time that the loop waited in next(), so 0 where workers are ahead of it; transfer is the move; compute is what
    the loop did until it asked for the next batch.  Kept in ns, reported in ms.  `batches` holds (load_ns, transfer_ns) of
    the newest 65,536.  Under `holdup run` they are the phases data and transfer.  Everything else is the loader's own.
    """

    def __init__(self, dataloader: Iterable[Any], device: Any = None, *, synchronize: bool = False, non_blocking: bool = True) -> None:
        self.dataloader = dataloader
        self.device = device
        self.synchronize = synchronize
        self.non_blocking = non_blocking
        self.load, self.transfer, self.compute = Series(), Series(), Series()
        self.first_load = Series()      # of each epoch: starting workers and filling the queue; not in `load`
        self.batches: deque[tuple[int, int]] = deque(maxlen=65536)
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[Any]:
        batches: Iterator[Any] | None = None
        end = object()
        while True:
            is_first = batches is None
            began = perf_counter_ns()
            with phase("data"):
                if batches is None:
                    batches = iter(self.dataloader)
                batch = next(batches, end)
            loaded = perf_counter_ns()
            if batch is end:
                return
            if self.device is not None:
                with phase("transfer"):
                    batch = devices.move(batch, self.device, self.non_blocking)
                    if self.synchronize:
                        devices.synchronize(self.device)
            ready = perf_counter_ns()
            with self._lock:
                (self.first_load if is_first else self.load).add(loaded - began)
                if self.device is not None:
                    self.transfer.add(ready - loaded)
                self.batches.append((loaded - began, ready - loaded))
            handed = perf_counter_ns()
            yield batch
            self.compute.add(perf_counter_ns() - handed)

    def __len__(self) -> int:
        return len(self.dataloader)     # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        if name == "dataloader":        # not yet there, while being unpickled
            raise AttributeError(name)
        return getattr(self.dataloader, name)

    def get_stats(self) -> Summary:
        """Batches, means and percentiles in ms, and what share of the loop waited for data.

        The first batch of an epoch is apart, `first_load_ms`: it includes the start of the workers.
        """
        found = Summary("data loading", batches=self.load.n + self.first_load.n)
        if self.first_load.n:
            found["first_load_ms"] = self.first_load.mean / 1e6
        # of an epoch with a single batch there is nothing but the first
        load = self.load if self.load.n else self.first_load
        for name, series in (("load", load), ("transfer", self.transfer), ("compute", self.compute)):
            if series.n:
                p50, p90, p99 = series.quantiles(0.5, 0.9, 0.99)
                found.update({f"avg_{name}_ms": series.mean / 1e6, f"{name}_p50_ms": p50 / 1e6, f"{name}_p90_ms": p90 / 1e6,
                              f"{name}_p99_ms": p99 / 1e6, f"{name}_max_ms": series.most / 1e6})
        whole = load.mean + (self.transfer.mean if self.transfer.n else 0) + (self.compute.mean if self.compute.n else 0)
        if load.n and self.compute.n:
            share = 100 * load.mean / whole
            found["load_pct"] = share
            found["statement"] = (f"the loop waits {load.mean / 1e6:.3g} ms of {whole / 1e6:.3g} ms per batch for data ({share:.0f} %)")
        return found

    get_summary = get_stats
