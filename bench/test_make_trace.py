#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that make_trace.py repeats a trace exactly: times to the last digit, ids that still meet, nothing lost.
Does not check that what it makes is representative of anything."""

from __future__ import annotations

import json
import sys
import tempfile
import unittest
from decimal import Decimal
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from make_trace import copies_for, make, pieces, set_rank, split_time, take_apart  # noqa: E402

TRACE = r"""{
  "schemaVersion": 1, "note": "a \"traceEvents\": [ in a string",
  "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1},
  "traceEvents": [
    {"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "ts": 1712195495501688.612, "args": {"name": "python"}},
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#101", "pid": 7, "tid": 7,
     "ts": 1712195495505583.001, "dur": 900.5, "args": {"External id": 1, "Ev Idx": 0}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::\"mul\" {[\\", "pid": 7, "tid": 7, "ts": 1712195495505600.999,
     "dur": 12.25, "args": {"External id": 2, "ts": 5, "Input Dims": [[2, 3], []], "nested": {"correlation": 9}}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": 1712195495505601,
     "dur": 3, "args": {"cbid": 211, "correlation": 40, "External id": 2}},
    {"ph": "s", "id": 40, "pid": 7, "tid": 7, "ts": 1712195495505601, "cat": "ac2g", "name": "ac2g"},
    {"ph": "f", "id": 40, "pid": 0, "tid": 7, "ts": 1712195495505700.5, "cat": "ac2g", "name": "ac2g", "bp": "e"},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1712195495505700.5, "dur": 31.007,
     "args": {"correlation": 40, "External id": 2, "stream": 7, "queued": 0}},
    {"ph": "X", "cat": "Trace", "ts": 1712195495501000.5, "dur": 8000.25, "pid": "Spans", "tid": "PyTorch Profiler",
     "name": "PyTorch Profiler (0)"},
    {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 1712195495509000.75}
  ],
  "traceName": "x.json"
}"""


def rendered(copies: int, names: int = 0) -> dict[str, Any]:
    text = "".join(pieces(take_apart(TRACE, float("inf"), names > 0), copies, names))
    return json.loads(text, parse_float=Decimal, parse_int=int)         # type: ignore[no-any-return]


def of(document: dict[str, Any], cat: str) -> list[dict[str, Any]]:
    return [e for e in document["traceEvents"] if e.get("cat") == cat]


class MakeTrace(unittest.TestCase):
    def test_one_copy_is_the_source(self) -> None:
        self.assertEqual(rendered(1), json.loads(TRACE, parse_float=Decimal))

    def test_times_shift_by_one_period_and_keep_every_digit(self) -> None:
        ops = of(rendered(3), "cpu_op")
        steps = {b["ts"] - a["ts"] for a, b in zip(ops, ops[1:])}
        self.assertEqual(len(ops), 3)
        self.assertEqual(len(steps), 1)
        self.assertEqual({str(e["ts"]).split(".")[1] for e in ops}, {"999"})
        self.assertGreater(steps.pop(), 901)

    def test_ids_are_new_in_each_copy_and_still_meet(self) -> None:
        trace = rendered(4)
        launches = [e["args"]["correlation"] for e in of(trace, "cuda_runtime")]
        self.assertEqual(len(set(launches)), 4)
        self.assertEqual(launches, [e["args"]["correlation"] for e in of(trace, "kernel")])
        self.assertEqual(sorted(launches * 2), sorted(e["id"] for e in of(trace, "ac2g")))
        self.assertEqual([e["args"]["External id"] for e in of(trace, "kernel")],
                         [e["args"]["External id"] for e in of(trace, "cpu_op")])

    def test_what_is_nested_or_only_looks_like_an_id_stays(self) -> None:
        for op in of(rendered(3), "cpu_op"):
            self.assertEqual((op["args"]["ts"], op["args"]["nested"], op["name"]),
                             (5, {"correlation": 9}, 'aten::"mul" {[\\'))

    def test_steps_go_on_counting(self) -> None:
        self.assertEqual([e["name"] for e in of(rendered(3), "user_annotation")],
                         ["ProfilerStep#101", "ProfilerStep#102", "ProfilerStep#103"])

    def test_metadata_comes_once_and_the_capture_covers_all(self) -> None:
        events = rendered(3)["traceEvents"]
        span = next(e for e in events if e.get("cat") == "Trace")
        self.assertEqual([e["ph"] for e in events].count("M"), 1)
        self.assertEqual(events[-1]["name"], "Record Window End")
        self.assertEqual(events[-1]["ts"] - span["ts"], Decimal("8000.25") + 2 * (rendered_period()))
        self.assertEqual(span["dur"], Decimal("8000.25") + 2 * rendered_period())

    def test_names_are_as_many_as_wanted(self) -> None:
        trace = rendered(50, names=20)
        self.assertEqual(len({e["name"] for e in of(trace, "kernel") + of(trace, "cpu_op")}), 20)

    def test_negative_times(self) -> None:
        self.assertEqual([split_time(t) for t in ("-3.25", "-3", "-0.5", "7.050", "7")],
                         [(-4, ".75"), (-3, ""), (-1, ".5"), (7, ".050"), (7, "")])

    def test_rank(self) -> None:
        source = take_apart(TRACE, float("inf"), False)
        set_rank(source, 3, 8)
        info = json.loads("".join(pieces(source, 1, 0)))["distributedInfo"]
        self.assertEqual(info, {"backend": "nccl", "rank": 3, "world_size": 8})

    def test_size_and_compression(self) -> None:
        source = take_apart(TRACE, 0.05, False)
        with tempfile.TemporaryDirectory() as folder:
            plain, packed = Path(folder) / "t.json", Path(folder) / "t.json.gz"
            size = make(source, plain, copies_for(source, 0.05), 0)
            make(source, packed, copies_for(source, 0.05), 0)
            self.assertEqual(size, plain.stat().st_size)
            self.assertAlmostEqual(size, 50_000, delta=2_000)
            self.assertEqual(packed.read_bytes()[:2], b"\x1f\x8b")


def rendered_period() -> int:
    return take_apart(TRACE, float("inf"), False).period_us


if __name__ == "__main__":
    unittest.main()
