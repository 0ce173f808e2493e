# SPDX-License-Identifier: Apache-2.0
"""Device times equal an independent integer interval engine, to the nanosecond."""
import json
import unittest

from tests.program import SHARED, report, skip_loudly

NAMES = {
    "span_ns": "span_ns", "busy_ns": "busy_ns", "idle_ns": "idle_ns", "compute_ns": "compute_union_ns",
    "comm_ns": "comm_union_ns", "memcpy_ns": "memcpy_union_ns", "memset_ns": "memset_union_ns",
    "overlapped_comm_ns": "comm_overlapped_by_compute_ns", "compute_sum_ns": "compute_sum_ns", "comm_sum_ns": "comm_sum_ns",
}


class Oracle(unittest.TestCase):
    def test_unions_and_overlaps_are_exact(self) -> None:
        files = sorted((SHARED / "oracle").glob("exact_*.json"))
        if not files:
            skip_loudly("expected numbers of shared/oracle are not present")
            self.skipTest("no oracle")
        for file in files:
            expected = json.loads(file.read_text())
            with self.subTest(trace=expected["trace"]):
                gpu = report(SHARED / expected["trace_files"][0])["ranks"][0]["gpu"]
                self.assertEqual({k: gpu[k] for k in NAMES}, {k: expected[v] for k, v in NAMES.items()})

    def test_kernels_equal_the_peer_where_it_does_not_round(self) -> None:
        # HTA rounds events to whole microseconds and drops the last step; this trace has integer times and no steps
        file = SHARED / "oracle/hta_kernels_simple_add.json"
        if not file.exists():
            skip_loudly("expected numbers of shared/oracle are not present")
            self.skipTest("no oracle")
        theirs = {k["name"]: k for k in json.loads(file.read_text())["kernels"]}
        trace = SHARED / "traces/kineto/hta-critical-path/simple_add__benchmark_result_493459_1694039959_trace.json.gz"
        ours = report(trace)["ranks"][0]["kernels"]
        self.assertGreater(len(ours), 5)
        for kernel in ours:
            with self.subTest(kernel=kernel["name"]):
                peer = theirs[kernel["name"]]
                self.assertEqual((kernel["total_ns"], kernel["min_ns"], kernel["max_ns"]),
                                 tuple(round(peer[k] * 1000) for k in ("sum (us)", "min (us)", "max (us)")))


if __name__ == "__main__":
    unittest.main()
