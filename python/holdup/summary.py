# SPDX-License-Identifier: Apache-2.0
"""An answer that is a dict for programs and a small page for people."""
from __future__ import annotations

import math
from typing import Any, Mapping

_SKIPPED = ("statement",)       # printed in front of the rest


def number(value: Any) -> str:
    """Four significant digits, no exponent for what people read; `-` for what is not known."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if math.isnan(value):
            return "-"
        if value != 0 and not 1e-4 <= abs(value) < 1e15:
            return f"{value:.3g}"
        digits = 0 if value == 0 else max(0, 3 - math.floor(math.log10(abs(value))))
        return f"{value:,.{min(digits, 7)}f}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


class Summary(dict):
    """Names to values; a name ends with its unit (_ms, _gb, _pct, _w, _per_s).  `print` shows it as aligned text."""

    def __init__(self, title: str, *values: Mapping[str, Any], **more: Any) -> None:
        super().__init__()
        self.title = title
        for each in values:
            self.update(each)
        self.update(more)

    def __str__(self) -> str:
        lines = [self.title]
        if self.get("statement"):
            lines.append(f"  {self['statement']}")
        plain = {k: v for k, v in self.items() if k not in _SKIPPED and not isinstance(v, (dict, list, tuple))}
        width = max(map(len, plain), default=0)
        lines += [f"  {name:<{width}}  {number(value)}" for name, value in plain.items()]
        for name, value in self.items():
            if isinstance(value, dict) and value and all(isinstance(v, dict) for v in value.values()):
                lines += _table(name, value)
            elif isinstance(value, dict) and value:
                width = max(map(len, map(str, value)))
                lines.append(f"  {name}")
                lines += [f"    {k!s:<{width}}  {number(v)}" for k, v in value.items()]
            elif isinstance(value, (list, tuple)) and value and all(isinstance(v, dict) for v in value):
                lines += _table(name, dict(enumerate(value)))
        return "\n".join(lines)


def _table(name: str, rows: Mapping[Any, Mapping[str, Any]]) -> list[str]:
    """Rows of a dict of dicts; columns in the order in which they first come."""
    columns: list[str] = []
    for row in rows.values():
        columns += [c for c in row if c not in columns and not isinstance(row[c], (dict, list, tuple))]
    cells = [[name, *columns]] + [[str(key), *(number(row.get(c)) for c in columns)] for key, row in rows.items()]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    return ["  " + "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))).rstrip() for line in cells]
