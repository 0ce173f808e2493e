# SPDX-License-Identifier: Apache-2.0
"""Memory timelines of torch.profiler: made ones with known sums, a real one against Python's own sums, and what is none."""
import gzip
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import SHARED, report, run, skip_loudly

REAL = sorted((SHARED / "traces/torch-memory").glob("*/memory_timeline*"))
CATEGORIES = ("parameter", "optimizer", "input", "temporary", "activation", "gradient", "autograd", "other")
NOW = 1_700_000_000_000_000_000
RAW = [[-1, 1, 1000, 0], [-1, 1, 200, 7], [NOW, 2, 4000, 4], [NOW + 50, 3, -4000, 4], [NOW + 50, 3, 4000, 5], [NOW + 90, 2, 500, 3],
       [NOW + 120, 4, -500, 3], [NOW + 190, 4, -4000, 5]]


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "memory_timeline.json"

    def memory(self, value: Any) -> dict[str, Any]:
        self.path.write_text(value if isinstance(value, str) else json.dumps(value))
        return report(self.path)["ranks"][0]["memory"]


class Made(Case):
    def test_raw(self) -> None:
        """The peak by category; a change of category is neither taken nor given back; what was there before stands at the first time."""
        memory = self.memory(RAW)
        pool, = memory["pools"]
        self.assertEqual((pool["pool"], pool["peak_bytes"], pool["last_bytes"], pool["allocations"], pool["frees"]), ("device", 5700, 1200, 4, 2))
        self.assertEqual(pool["peak_at_ns"], NOW + 90)
        self.assertEqual({c["category"]: c["bytes"] for c in memory["categories"]}, {"gradient": 4000, "parameter": 1000, "temporary": 500, "other": 200})
        self.assertEqual([c["category"] for c in memory["categories"]][0], "gradient")
        self.assertEqual(memory["series"][0]["parameter_bytes"], 1000)
        self.assertEqual((memory["series"][10]["activation_bytes"], memory["series"][150]["activation_bytes"]), (4000, 0))
        self.assertIn("gradient: 4.00 kB (70 %)", report(self.path)["verdict"]["text"])

    def test_summed(self) -> None:
        """Sums over time in us: no numbers of allocations, and no peak between a category's loss and another's gain."""
        now = NOW // 1000
        memory = self.memory([[now, now + 5, now + 9], [[0, 1000, 0, 0, 0, 4000, 0, 0, 200], [0, 1000, 0, 0, 0, 0, 4000, 0, 200], [0, 1000] + [0] * 7]])
        pool, = memory["pools"]
        self.assertEqual((pool["peak_bytes"], pool["peak_at_ns"], pool["last_bytes"], pool["allocations"]), (5200, NOW, 1000, None))

    def test_one_time(self) -> None:
        for value in ([[NOW // 1000], [[0, 7, 0, 0, 0, 0, 0, 0, 0]]], [[NOW // 1000 + i for i in range(4)], [[0, 7] + [0] * 7] * 4],
                      [[NOW // 1000 + i for i in range(60000)], [[0, 7] + [0] * 7] * 60000]):
            self.assertEqual(self.memory(value)["pools"][0]["peak_bytes"], 7)

    def test_query(self) -> None:
        self.memory(RAW)
        status, out, _ = run("query", self.path, "select category, count(*) as n, sum(bytes) as b from memory group by 1 order by 1", "--json")
        self.assertEqual((status, [tuple(r.values()) for r in json.loads(out)]),
                         (0, [("activation", 2, 0), ("gradient", 2, 0), ("parameter", 1, 1000), ("temporary", 2, 0), ("unknown", 1, 200)]))

    def test_odd(self) -> None:
        """Records that are none are counted; the rest is used.  What is no timeline is not taken for one; a cut file is an error."""
        self.path.write_text(json.dumps([*RAW, [1], [NOW, 9, 1, 1], [NOW, 2, 1, 8], "x", [NOW, 2, 1 << 60, 1]]))
        told = report(self.path)["ranks"][0]
        self.assertEqual(told["memory"]["pools"][0]["peak_bytes"], 5700)
        self.assertEqual(sum(r["count"] for r in told["quality"]["reasons"] if r["id"] == "MALFORMED"), 5)
        for text in ("[[1,2,3],[4,5,6]]", "[[5,9,1,1]]", "[[0.5,1,2,3]]", '[["a",1,2,3]]', "[[]]", "[[", "[[3,2,1],[[1]]]"):
            self.path.write_text(text)
            status, out, err = run("report", self.path)
            self.assertEqual((status, out), (3, b""), text)
            self.assertNotIn("device holds", err)
        self.path.write_text(json.dumps(RAW)[:-9])
        status, out, err = run("report", self.path)
        self.assertEqual((status, out, len(err.strip().splitlines())), (3, b"", 1), err)

    def test_a_picture(self) -> None:
        self.path.write_text('<html>\n<head><meta charset="utf-8" /><title>GPU Memory Timeline HTML</title></head>\n<body>\n</body></html>')
        status, _, err = run("report", self.path)
        self.assertEqual(status, 3)
        self.assertIn(".raw.json.gz", err)


@unittest.skipUnless(REAL, "")
class Real(unittest.TestCase):
    def test_sums(self) -> None:
        for path in REAL:
            held, peak, by, at_peak = 0, 0, [0] * 8, []
            for _, _, size, category in json.loads(gzip.decompress(path.read_bytes())):
                held, by[category] = held + size, by[category] + size
                if held > peak:
                    peak, at_peak = held, list(by)
            memory = report(path)["ranks"][0]["memory"]
            self.assertEqual((memory["pools"][0]["peak_bytes"], memory["pools"][0]["last_bytes"]), (peak, held))
            self.assertEqual({c["category"]: c["bytes"] for c in memory["categories"]}, {c: n for c, n in zip(CATEGORIES, at_peak) if n})


if not REAL:
    skip_loudly("a real memory timeline of shared/traces/torch-memory is not present")

if __name__ == "__main__":
    unittest.main()
