# SPDX-License-Identifier: Apache-2.0
"""Reads what a page holds for its script: JSON blocks and timelines, as src/timeline/timeline.c describes them."""
from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any, Iterator

BLOCK = re.compile(r'<script type="application/octet-stream" ([^>]*)>([A-Za-z0-9+/=]*)</script>')
COLUMNS = ("start", "dur", "label", "note", "link")


def blocks(page: str) -> Iterator[tuple[dict[str, str], bytes]]:
    """Attributes and unpacked bytes of each block."""
    for match in BLOCK.finditer(page):
        attributes = dict(re.findall(r'([a-z-]+)="([^"]*)"', match.group(1)))
        data = gzip.decompress(base64.b64decode(match.group(2), validate=True))
        assert len(data) == int(attributes["data-bytes"]), attributes
        yield attributes, data


def json_block(page: str, name: str) -> dict[str, Any]:
    """One of "data-report" and "data-words"."""
    return next(json.loads(data) for attributes, data in blocks(page) if attributes.get("id") == name)


def timelines(page: str) -> dict[int, dict[str, Any]]:
    """By the rank's index."""
    return {int(a["data-rank"]): decode(data) for a, data in blocks(page) if a.get("class") == "data-timeline"}


def _varints(data: bytes, at: int) -> Iterator[int]:
    while at < len(data):
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        yield value


def _unzigzag(value: int) -> int:
    return value >> 1 ^ -(value & 1)


def decode(data: bytes) -> dict[str, Any]:
    """The head, and a list "slices" of (track, start, dur, name, kind, note, link); link is a place in that list or None; "rows" has
    the row of each slice of the tracks that say so."""
    length = shift = at = 0
    while True:
        byte = data[at]
        at += 1
        length |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    head = json.loads(data[at:at + length])
    numbers = _varints(data, at + length)
    tracks = [i for i, t in enumerate(head["tracks"]) for _ in range(t["n"])]
    columns = {name: [next(numbers) for _ in tracks] for name in COLUMNS}
    slices, last_track, start, link = [], None, 0, 0
    for i, track in enumerate(tracks):
        if track != last_track:
            last_track, start, link = track, 0, 0
        start += columns["start"][i]
        code = columns["link"][i]
        if code:
            link += _unzigzag(code - 1)
        label = columns["label"][i]
        slices.append((track, start, columns["dur"][i], head["labels"][label], head["kinds"][head["label_kinds"][label]],
                       head["notes"][columns["note"][i]], link - 1 if code else None))
    for counter in head["counters"]:
        time = value = 0
        counter["times"] = [time := time + next(numbers) for _ in range(counter["n"])]
        counter["values"] = [value := value + _unzigzag(next(numbers)) for _ in range(counter["n"])]
    head["rows"] = [next(numbers) if head["tracks"][track].get("rows") else None for track in tracks]
    if a := head.get("allocations"):
        chains, curves = 2 * a["stacks"], 3 * a["points"] * len(a["pools"])
        births = sum(p["n"] - p["before"] for p in a["pools"])
        columns = [[next(numbers) for _ in range(n)] for n in (chains, curves, births, *[a["n"]] * 6)]
        a["bytes"] = columns[4]
    assert next(numbers, None) is None, "bytes are left over"
    head["slices_list"] = slices
    return head
