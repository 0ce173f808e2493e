#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures Python's json.load of a whole trace, and is the independent reader that counts and sums are checked against.
Does not measure any analysis; the walk over the events is outside the reported seconds."""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections import Counter
from typing import Any


def load(path: str) -> Any:
    if path.endswith(".gz"):
        with gzip.open(path, "rt", encoding="utf-8", errors="surrogateescape") as file:
            return json.load(file)
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return json.load(file)


def nanoseconds(microseconds: float | str) -> int:
    """Exact for three decimals below 2^42 us, which is 50 days."""
    value = float(microseconds) * 1000
    return int(value + (0.5 if value >= 0 else -0.5))


def summary(document: Any) -> dict[str, Any]:
    events = document["traceEvents"] if isinstance(document, dict) else document
    phases = Counter(e.get("ph", "") for e in events)
    durations = sum(nanoseconds(e["dur"]) for e in events if e.get("ph") == "X" and "dur" in e)
    names = {e.get("name", "") for e in events}
    return {"events": len(events), "by_phase": dict(sorted(phases.items())), "duration_sum_ns": durations,
            "names": len(names), "name_bytes": sum(len(n.encode("utf-8", "surrogateescape")) for n in names)}


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: json_load.py TRACE.json[.gz]", file=sys.stderr)
        return 2
    begin = time.perf_counter()
    document = load(sys.argv[1])
    seconds = time.perf_counter() - begin
    print(json.dumps({**summary(document), "seconds": seconds}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
