# SPDX-License-Identifier: Apache-2.0
"""Random numbers by key, not by order: a job without its cause draws the same numbers for all that is left."""

import json
import zlib
from pathlib import Path

TABLES: dict[str, list[float]] = {
    name: row["q"] for name, row in json.loads((Path(__file__).parent / "constants.json").read_text()).items()
}
MASK = (1 << 64) - 1
_NAMES: dict[str, int] = {}
_DRAWN: dict[int, dict[tuple[int | str, ...], float]] = {}  # of the newest seeds: a case runs its job about ten times


def name_key(name: str) -> int:
    """A number for a name that is the same in every process."""
    key = _NAMES.get(name)
    if key is None:
        key = _NAMES[name] = zlib.crc32(name.encode())
    return key


class Draws:
    """Draws of one job. Keys are integers or names; the same keys give the same number."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        if seed not in _DRAWN:
            if len(_DRAWN) > 3:
                _DRAWN.clear()
            _DRAWN[seed] = {}
        self.drawn = _DRAWN[seed]

    def unit(self, *keys: int | str) -> float:
        """A number in [0, 1)."""
        state = self.seed * 0x9E3779B97F4A7C15 & MASK
        for key in keys:
            number = name_key(key) if isinstance(key, str) else key
            state = (state ^ (number + 0x632BE59BD9B4E019)) * 0xBF58476D1CE4E5B9 & MASK
            state ^= state >> 29
        state = state * 0x94D049BB133111EB & MASK
        return (state ^ state >> 32) / 2.0**64

    def between(self, low: float, high: float, *keys: int | str) -> float:
        """Uniform in [low, high)."""
        return low + (high - low) * self.unit(*keys)

    def whole(self, low: int, high: int, *keys: int | str) -> int:
        """An integer from low to high, both included."""
        return low + int((high - low + 1) * self.unit(*keys))

    def one(self, choices: list[str], *keys: int | str) -> str:
        """One of several."""
        return choices[int(len(choices) * self.unit(*keys))]

    def table(self, name: str, *keys: int | str) -> float:
        """A draw from a measured distribution: its inverse; the outermost 1 % at each end never come; between two
        quantiles by ratio, as tails are long."""
        key = (name, *keys)
        known = self.drawn.get(key)
        if known is None:
            quantiles = TABLES[name]
            place = self.unit(*key) * (len(quantiles) - 1)
            index = int(place)
            low, high = quantiles[index], quantiles[index + 1]
            part = place - index
            known = self.drawn[key] = low * (high / low) ** part if low > 0 else low + (high - low) * part
        return known

    def machine(self, name: str, *keys: int | str) -> float:
        """A draw of something that has its usual size on a machine, which is drawn once for the job."""
        if name + "_base" not in TABLES:
            return self.table(name, *keys)
        return self.table(name + "_base", "machine") * self.table(name + "_rel", *keys)
