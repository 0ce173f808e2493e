# SPDX-License-Identifier: Apache-2.0
"""Prometheus' text format, read strictly: what is not in its grammar, twice there, or out of its family is an error."""
from __future__ import annotations

import math
import re
import urllib.request
from collections.abc import Iterator
from typing import NamedTuple

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|(?=\}))')


class Series(NamedTuple):
    name: str
    labels: dict[str, str]
    value: float


def unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], text)


def _series(line: str) -> Series:
    name = NAME.match(line)
    if not name:
        raise ValueError(f"no name: {line!r}")
    at, labels = name.end(), {}
    if line[at:at + 1] == "{":
        at += 1
        while line[at] != "}":
            label = LABEL.match(line, at)
            if not label or label[1] in labels:
                raise ValueError(f"labels: {line!r}")
            labels[label[1]] = unescape(label[2])
            at = label.end()
        at += 1
    if line[at] != " " or " " in line[at + 1:]:
        raise ValueError(f"value: {line!r}")
    return Series(name[0], labels, float(line[at + 1:]))


def parse(text: bytes) -> list[Series]:
    """All series; raises ValueError."""
    found: list[Series] = []
    seen: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
    families: set[str] = set()
    helped = family = ""
    types: dict[str, str] = {}
    lines = text.decode("utf-8").split("\n")
    if lines[-1] != "":
        raise ValueError("no newline at the end")
    for line in lines[:-1]:
        if line.startswith("# HELP "):
            family = helped = line.split(" ")[2]
            if family in families:
                raise ValueError(f"{family} comes twice")
            families.add(family)
        elif line.startswith("# TYPE "):
            family, types[family] = line.split(" ")[2:4]
            if family != helped:
                raise ValueError(f"TYPE of {family} without its HELP")
        else:
            series = _series(line)
            parts = [family + end for end in ("_bucket", "_sum", "_count")] if types.get(family) == "histogram" else [family]
            if series.name not in parts:
                raise ValueError(f"{series.name} in the family of {family}")
            if types.get(family) == "counter" and not (series.name.endswith("_total") and series.value >= 0):
                raise ValueError(f"no counter: {line!r}")
            if not math.isfinite(series.value):
                raise ValueError(f"no number: {line!r}")
            key = (series.name, tuple(sorted((k, v) for k, v in series.labels.items() if v)))
            if key in seen:
                raise ValueError(f"twice: {line!r}")
            seen.add(key)
            found.append(series)
    return found


def scrape(port: int, timeout: float = 20) -> list[Series]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=timeout) as answer:
        return parse(answer.read())


def named(all_of: list[Series], name: str, **labels: str) -> Iterator[Series]:
    """Those with this name and these labels; "" is a label that is not there."""
    return (s for s in all_of if s.name == name and all(s.labels.get(k, "") == v for k, v in labels.items()))


def value(all_of: list[Series], name: str, **labels: str) -> float | None:
    """Of the only one; None where there is none."""
    found = list(named(all_of, name, **labels))
    if len(found) > 1:
        raise ValueError(f"{len(found)} series {name}{labels}")
    return found[0].value if found else None
