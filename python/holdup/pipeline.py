# SPDX-License-Identifier: Apache-2.0
"""One epoch of training by phase, for a loop that is the usual one."""
from __future__ import annotations

from typing import Any, Callable, Iterable

from . import device as devices
from .profiler import Profiler


class PipelineProfiler(Profiler):
    """A Profiler that also runs the usual loop: `PipelineProfiler().profile_epoch(model, loader, optimizer, criterion)`.

    Batches are (inputs, labels).  Times are the host's, in ms, unless `synchronize=True` (see Profiler).
    """

    def profile_epoch(self, model: Callable[..., Any], dataloader: Iterable[Any], optimizer: Any, criterion: Callable[..., Any],
                      device: Any = None, most_steps: int | None = None) -> dict[str, dict[str, float]]:
        """Trains for one epoch (or `most_steps`), on `device` if that is given; returns `generate_report()`."""
        batches = iter(dataloader)
        done = 0
        while most_steps is None or done < most_steps:
            with self.profile_step(done):
                with self.phase("data"):
                    batch = next(batches, None)
                if batch is None:
                    self._is_in_step = False    # there was no step: the loader is at its end
                    break
                if device is not None:
                    with self.phase("transfer"):
                        batch = devices.move(batch, device)
                inputs, labels = batch
                with self.phase("forward"):
                    loss = criterion(model(inputs), labels)
                with self.phase("backward"):
                    loss.backward()
                with self.phase("optimizer"):
                    optimizer.step()
                    optimizer.zero_grad()
            done += 1
        self.stop()
        return self.generate_report()
