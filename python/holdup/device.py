# SPDX-License-Identifier: Apache-2.0
"""What torch knows of the device, if the script has loaded torch.  Never loads it, never starts a device that is not in use."""
from __future__ import annotations

import sys
from typing import Any


def torch() -> Any:
    """The module, if somebody has imported it; else None."""
    return sys.modules.get("torch")


def accelerator(device: Any = None) -> Any:
    """torch.cuda, torch.xpu or torch.mps: the one in use by this process (of the type of `device`, where given), or None.
    ROCm is torch.cuda."""
    module = torch()
    if module is None:
        return None
    wanted = str(getattr(device, "type", device)).split(":")[0] if device is not None else None
    if wanted == "cpu":
        return None
    for name in ("cuda", "xpu", "mps"):
        part = getattr(module, name, None)
        if part is None or wanted not in (None, name):
            continue
        try:
            # mps has no is_initialized: it is in use when it is there
            if part.is_initialized() if hasattr(part, "is_initialized") else module.backends.mps.is_available():
                return part
        except (AttributeError, RuntimeError):
            continue
    return None


def synchronize(device: Any = None) -> bool:
    """Waits until the device has done what was asked of it; false when there is none in use."""
    part = accelerator(device)
    if part is None:
        return False
    part.synchronize()
    return True


def memory() -> dict[str, int] | None:
    """Bytes of torch's allocator on the current device: allocated, reserved, peak_allocated (since it was last reset)."""
    part = accelerator()
    if part is None:
        return None
    try:
        return {"allocated": part.memory_allocated(), "reserved": part.memory_reserved(), "peak_allocated": part.max_memory_allocated()}
    except (AttributeError, RuntimeError):
        return None


def move(batch: Any, target: Any, non_blocking: bool = True) -> Any:
    """The batch on `target`: tensors and whatever has .to(), through lists, tuples, named tuples and dicts; the rest as it is."""
    if hasattr(batch, "to") and callable(batch.to):
        try:
            return batch.to(target, non_blocking=non_blocking)
        except TypeError:               # an object of its own kind
            return batch.to(target)
    if isinstance(batch, dict):
        moved = {k: move(v, target, non_blocking) for k, v in batch.items()}
        try:
            return type(batch)(moved) if type(batch) is not dict else moved
        except TypeError:
            return moved
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(move(v, target, non_blocking) for v in batch))
    if type(batch) in (list, tuple):
        return type(batch)(move(v, target, non_blocking) for v in batch)
    return batch
