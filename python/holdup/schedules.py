# SPDX-License-Identifier: Apache-2.0
"""Which steps of a long job are looked at: the rule of torch.profiler.schedule."""
from __future__ import annotations

from enum import Enum
from typing import Callable


class ProfilerAction(Enum):
    """What happens in a step."""

    NONE = 0                    # nothing
    WARMUP = 1                  # it runs as if recorded, and is thrown away
    RECORD = 2
    RECORD_AND_SAVE = 3         # the last one of a cycle: what was recorded is ready afterwards


def schedule(wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
             skip_first_wait: int = 0) -> Callable[[int], ProfilerAction]:
    """Cycles of `wait` steps without, `warmup` steps thrown away, `active` steps recorded; `repeat` of them, 0: for ever.

    The first `skip_first` steps are left out before all; with `skip_first_wait` the first cycle does not wait.
    Returns a function of the step's number (from 0), as torch.profiler.schedule does.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active < 1:
        raise ValueError("schedule: wait, warmup, repeat and skip_first are 0 or more, active is 1 or more")
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise ValueError("schedule: steps count from 0")
        if step < skip_first:
            return ProfilerAction.NONE
        at = step - skip_first + (wait if skip_first_wait else 0)
        if repeat and at // length >= repeat:
            return ProfilerAction.NONE
        at %= length
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action
