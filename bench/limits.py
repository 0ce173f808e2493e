# SPDX-License-Identifier: Apache-2.0
"""What a promise could come to at best on the machine that was measured: its number if a part of the work took no time.
Measures nothing; each number is worked out from rows of the same run."""

from __future__ import annotations

from dataclasses import dataclass

from promises import faster, many_threads, one, over, whole_traces
from suite import Measured


@dataclass(frozen=True)
class Limit:
    what: str                   # as promises.py names it
    free: str                   # the part that would have to take no time
    values: dict[str, float]
    decimals: int = 2

    @property
    def reached(self) -> str:
        return " ".join(f"{v:.{self.decimals}f}" for v in self.values.values())


def unpacked_and_shared(m: Measured) -> dict[str, float]:
    """The CPU time of igzip and of the report of the plain file, half on each of two threads, over igzip's wall time."""
    out = {}
    for trace in whole_traces(m):
        plain, packed = m.find("json", trace), m.find("gz", trace)
        report, igzip = plain.get("report-2") if plain else None, packed.get("igzip") if packed else None
        if report and igzip:
            out[trace] = (report.cpu_s + igzip.cpu_s) / 2 / igzip.seconds
    return out


def limits(m: Measured) -> list[Limit]:
    many = many_threads(m)
    report = m.page.get("report-2") if m.page else None
    return [limit for limit in (
        Limit("report .json, time x simdjson", "all but the scan", over(m, "json", "info-2", "simdjson")),
        Limit("report .gz, time x igzip", "waiting of two threads for each other", unpacked_and_shared(m)),
        Limit("report, speed x HTA", "all but the scan", over(m, "json", "info-2", "hta", faster), 0),
        Limit("1,024 ranks of 50k events, s", "waiting of two threads for each other", one(many.cpu_s / 2 if many else None), 1),
        Limit("report --html of 1.8 M slices, s", "the page", one(report.seconds if report else None)),
    ) if limit.values]
