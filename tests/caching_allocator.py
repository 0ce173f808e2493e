# SPDX-License-Identifier: Apache-2.0
"""A caching allocator as PyTorch's: rounds to 512 bytes, best fit, splits, merges, segments of 2 MiB, 20 MiB or the size in whole
2 MiB.  It writes the history and the state that a memory snapshot has, so that what was free at any moment is known."""
import collections
import random
from typing import Any

KIB, MIB = 1 << 10, 1 << 20


class Allocator:
    def __init__(self, gap: int = 0) -> None:
        self.segments: dict[int, list[list]] = {}  # address -> blocks [address, size, requested or None]
        self.history: list[dict[str, Any]] = []
        self.next, self.gap, self.frames = 1 << 30, gap, {}

    def record(self, action: str, address: int | None, size: int, frames: list, **more: Any) -> None:
        at = {} if address is None else {"addr": address}
        self.history.append({"action": action, **at, "size": size, "stream": 0, "time_us": 10 * len(self.history) + 10, "frames": frames, **more})

    def alloc(self, requested: int, frames: list) -> int:
        size = (requested + 511) // 512 * 512
        small = size <= MIB
        fits = [(b[1], b[0], s) for s, blocks in self.segments.items() if (self.total(s) == 2 * MIB) == small
                for b in blocks if b[2] is None and b[1] >= size]
        if not fits:
            total = 2 * MIB if small else 20 * MIB if size < 10 * MIB else (size + 2 * MIB - 1) // (2 * MIB) * 2 * MIB
            address, self.next = self.next, self.next + total + self.gap
            self.segments[address] = [[address, total, None]]
            self.record("segment_alloc", address, total, frames)
            fits = [(total, address, address)]
        _, address, of = min(fits)
        blocks = self.segments[of]
        i = next(i for i, b in enumerate(blocks) if b[0] == address)
        rest = blocks[i][1] - size
        if rest >= 512 if small else rest > MIB:
            blocks.insert(i + 1, [address + size, rest, None])
            blocks[i][1] = size
        blocks[i][2] = requested
        self.frames[address] = frames
        self.record("alloc", address, requested, frames)
        return address

    def free(self, address: int) -> None:
        of = next(s for s, blocks in self.segments.items() if any(b[0] == address for b in blocks))
        blocks = self.segments[of]
        i = next(i for i, b in enumerate(blocks) if b[0] == address)
        for action in ("free_requested", "free_completed"):
            self.record(action, address, blocks[i][2], [])
        blocks[i][2] = None
        for k in (i, i - 1):
            if 0 <= k < len(blocks) - 1 and blocks[k][2] is None and blocks[k + 1][2] is None:
                blocks[k][1] += blocks.pop(k + 1)[1]

    def empty_cache(self) -> None:
        for s in [s for s, blocks in self.segments.items() if len(blocks) == 1 and blocks[0][2] is None]:
            self.record("segment_free", s, self.total(s), [])
            del self.segments[s]

    def total(self, segment: int) -> int:
        return sum(b[1] for b in self.segments[segment])

    def free_blocks(self) -> list[int]:
        return [b[1] for blocks in self.segments.values() for b in blocks if b[2] is None]

    def held(self) -> int:
        return sum(b[2] or 0 for blocks in self.segments.values() for b in blocks)

    def snapshot(self, **more: Any) -> dict[str, Any]:
        return {"device_traces": [self.history], **more, "segments": [
            {"device": 0, "address": s, "total_size": self.total(s), "stream": 0, "segment_pool_id": (0, 0), "is_expandable": False,
             "segment_type": "small" if self.total(s) == 2 * MIB else "large", "frames": [],
             "blocks": [{"address": a, "size": n, "requested_size": r or 0, "state": "inactive" if r is None else "active_allocated",
                         "frames": []} for a, n, r in blocks]} for s, blocks in self.segments.items()]}


def busy(seed: int, records: int, frames: list, gap: int = 0) -> tuple[Allocator, collections.Counter]:
    """Takes and gives back at random; what was true at the failure in the middle."""
    dice, a, live, truth = random.Random(seed), Allocator(gap), [], collections.Counter()
    for n in range(records):
        if live and dice.random() < 0.45:
            a.free(live.pop(dice.randrange(len(live))))
        else:
            live.append(a.alloc(int(2 ** dice.uniform(5, 25.5)), frames))
        if dice.random() < 0.01:
            a.empty_cache()
        if n == records // 2:
            pieces = a.free_blocks()
            truth.update(free_bytes=sum(pieces), free_blocks=len(pieces), largest_free_bytes=max(pieces),
                         reserved_bytes=sum(map(a.total, a.segments)))
            a.record("oom", None, 64 * MIB, frames, device_free=5 * MIB)
    return a, truth
