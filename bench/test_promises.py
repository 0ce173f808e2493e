#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that promises are judged by what their rows say, on measurements that are made up and worked out by hand.
Measures nothing."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from database import Answer, Queried  # noqa: E402
from inputs import Trace  # noqa: E402
from limits import limits  # noqa: E402
from measuring import Contender, Result, Sample, parse  # noqa: E402
from pieces import Pieces  # noqa: E402
from promises import Promise, judge  # noqa: E402
from suite import Group, Many, Measured, Step  # noqa: E402

TRACE = Trace("t", "made up", Path("t.json"), 1_000_000, 220_000_000)


def result(key: str, *wall_cpu: tuple[float, float], peak_mb: float = 0) -> Result:
    return Result(Contender(key, key, []), [Sample(wall, cpu, peak_mb, 0, "", "") for wall, cpu in wall_cpu])


def group(kind: str, *results: Result) -> Group:
    return Group("." + kind, TRACE, kind, {r.contender.key: r for r in results})


def row(m: Measured, what: str) -> Promise:
    return next(p for p in judge(m) if p.what.startswith(what))


class Promises(unittest.TestCase):
    def verdict(self, m: Measured, what: str, value: float, verdict: str) -> None:
        promise = row(m, what)
        self.assertAlmostEqual(promise.worst, value, msg=what)
        self.assertEqual(promise.verdict, verdict, what)

    def test_json(self) -> None:
        m = Measured(tiny_mb=12)
        m.groups = [group("json", result("simdjson", (0.2, 0.2)), result("info-1", (0.1, 0.1)), result("info-2", (0.06, 0.11)),
                          result("info-scalar-1", (0.19, 0.19)), result("report-2", (0.15, 0.2), peak_mb=90)),
                    group("gz", result("igzip", (0.05, 0.05)), result("report-2", (0.2, 0.3)))]
        m.name_bytes = {"t": 1_000_000}
        self.verdict(m, "scan, one thread", 2, "aim")
        self.verdict(m, "scan, plain C", 0.2 / 0.19, "NO")
        self.verdict(m, "scan, two threads", 0.1 / (2 * 0.06), "NO")
        self.verdict(m, "report .json", 0.75, "yes")
        self.verdict(m, "report .gz", 4, "NO")
        self.verdict(m, "memory - names - 64 MB", 25, "yes")
        self.verdict(m, "memory - a tiny trace's - 8 MB", 70, "NO")
        self.assertEqual(row(m, "report, speed x HTA").verdict, "-")

    def test_limits(self) -> None:
        m = Measured(many=Many(1024, 50_000, {"one": result("one", (31, 58))}))
        m.groups = [group("json", result("simdjson", (0.2, 0.2)), result("info-2", (0.06, 0.11)), result("hta", (9, 9)),
                          result("report-2", (0.15, 0.25))),
                    group("gz", result("igzip", (0.05, 0.05)), result("report-2", (0.2, 0.3)))]
        self.assertEqual({limit.what: limit.reached for limit in limits(m)}, {
            "report .json, time x simdjson": "0.30", "report .gz, time x igzip": "3.00", "report, speed x HTA": "150",
            "1,024 ranks of 50k events, s": "29.0"})
        for limit in limits(m):
            self.assertTrue(row(m, limit.what).values, limit.what)

    def test_many(self) -> None:
        m = Measured(by_files=[Step("8 x", 8, result("8", (1.0, 2.0), (1.2, 2.0), (1.1, 2.0)))])
        m.many = Many(1024, 50_000, {"one": result("one", (19, 30), peak_mb=512), "two": result("two", (20, 40))})
        self.verdict(m, "8 files", 0.55, "yes")
        self.verdict(m, "1,024 ranks of 50k events, s", 19, "yes")
        self.verdict(m, "1,024 ranks of 50k events, memory", 512, "yes")
        self.verdict(m, "many ranks, mpirun", 20 / 19, "NO")
        m.many = Many(32, 50_000, m.many.results)
        self.assertEqual(row(m, "1,024 ranks of 50k events, s").verdict, "-")

    def test_page_and_query(self) -> None:
        m = Measured(page=group("json", result("report-2", (0.5, 0.9), (0.7, 0.9)), result("page", (0.7, 1.1), (0.8, 1.1))), page_slices=1_800_000)
        self.verdict(m, "report --html", 0.75, "yes")
        self.verdict(m, "of that, the page", 0.15, "-")
        m.page_slices = 100_000
        self.assertEqual(row(m, "report --html").verdict, "-")
        rows = [["a", 3], ["b", 2]]
        m.queried = Queried(TRACE, 4_500_000, {"holdup": Answer("", 0.5, 2, rows), "sqlite3": Answer("", 2, 9, rows), "duckdb": Answer("", 0.05, 1, rows)})
        self.verdict(m, "SQL on 4.5 M slices, time x sqlite3", 0.25, "yes")
        self.verdict(m, "SQL on 4.5 M slices, time x DuckDB", 10, "-")
        self.assertTrue(m.queried.agrees)
        m.queried.answers["duckdb"] = Answer("", 0.05, 1, [["a", 3], ["b", 1]])
        self.assertFalse(m.queried.agrees)

    def test_pieces(self) -> None:
        """16 pieces of 10 ms and joins of 2 ms: 162 ms for one; 10 + 10 * 15 / 16 + 2 ms at most for sixteen."""
        found = Pieces(16, 10_000_000, 160_000_000, 2_000_000)
        self.assertEqual(found.chain_ns(1), 162_000_000)
        self.assertAlmostEqual(found.chain_ns(16), 21_375_000)
        self.assertAlmostEqual(found.speedup(16), 162 / 21.375)
        m = Measured(pieces={"t": found})
        self.verdict(m, "scan, 16 threads simulated", 162 / 21.375, "-")

    def test_measure(self) -> None:
        sample = parse("2000000000 1500000 1000 256".split(), "", "")
        self.assertEqual((sample.seconds, sample.cpu_s, sample.peak_mb, sample.code), (2.0, 1.5, 1.024, 1))
        self.assertNotEqual(parse([], "", "").code, 0)


if __name__ == "__main__":
    unittest.main()
