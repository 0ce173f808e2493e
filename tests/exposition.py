# SPDX-License-Identifier: Apache-2.0
"""Prometheus's text format as a table: {(name, (("label", "value"), …)): number}."""
from __future__ import annotations

import re

SERIES = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)",?')


class Series(dict):
    def get_one(self, name: str, **labels: str) -> float | None:
        """The value of the series with just these labels; None: there is none."""
        return self.get((name, tuple(sorted(labels.items()))))

    def named(self, name: str) -> dict[tuple[tuple[str, str], ...], float]:
        return {labels: value for (one, labels), value in self.items() if one == name}


def read(text: str) -> Series:
    out = Series()
    for line in text.split("\n"):
        if not line or line.startswith("#"):
            continue
        found = SERIES.match(line)
        if not found:
            raise ValueError(f"no series: {line!r}")
        labels = LABEL.findall(found[2] or "")
        if found[2] and LABEL.sub("", found[2]):
            raise ValueError(f"no labels: {line!r}")
        key = (found[1], tuple(sorted((k, re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], v)) for k, v in labels)))
        if key in out:
            raise ValueError(f"twice: {line!r}")
        out[key] = float(found[3])
    return out
