# SPDX-License-Identifier: Apache-2.0
"""Device times equal an independent integer interval engine, to the nanosecond."""
import json
import unittest

from tests.peers import exact
from tests.program import ROOT, SANITIZED, SHARED, report, skip_loudly

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


class Public(unittest.TestCase):
    """The same with what is in the repository: recorded and made traces, and numbers of tests/peers/exact.py written down beside them."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.expected = json.loads((exact.DATA / "exact.json").read_text())
        cls.ranks = {name: report(ROOT / name)["ranks"][0] for name in cls.expected}

    def test_device_times(self) -> None:
        device = {name: e["gpu"] for name, e in self.expected.items() if e["gpu"]}
        self.assertGreaterEqual(len(device), 6)
        self.assertGreater(sum(gpu["overlapped_comm_ns"] > 0 for gpu in device.values()), 1)
        for name, gpu in device.items():
            with self.subTest(trace=name):
                self.assertEqual({k: self.ranks[name]["gpu"][k] for k in gpu}, gpu)

    def test_kernels(self) -> None:
        for name, e in self.expected.items():
            with self.subTest(trace=name):
                ours = {k["name"]: [k["calls"], k["total_ns"], k["min_ns"], k["max_ns"]] for k in self.ranks[name]["kernels"]}
                self.assertEqual(ours, e["kernels"])

    def test_operators(self) -> None:
        compared = 0
        for name, e in self.expected.items():
            ours = {o["name"]: [o["calls"], o["host_total_ns"]] for o in self.ranks[name]["operators"] if o["kind"] == "cpu_op"}
            with self.subTest(trace=name):
                self.assertEqual(ours, e["operators"])
            compared += len(ours)
        self.assertGreater(compared, 500)

    def test_steps_and_their_parts(self) -> None:
        compared = 0
        for name, e in self.expected.items():
            if not e["steps"]:
                continue
            ours = [{k: s[k] for k in e["steps"][0]} for s in self.ranks[name]["steps"]["list"]]
            with self.subTest(trace=name):
                self.assertEqual(ours, e["steps"])
            compared += len(ours)
        self.assertGreater(compared, 50)

    def test_the_numbers_are_those_of_the_reference(self) -> None:
        """Nobody has changed them by hand, and no trace was left out."""
        if SANITIZED:
            self.skipTest("the same as without")
        self.assertEqual(sorted(self.expected), sorted(map(exact.name_of, [*exact.DATA.glob("*.json.gz"), *exact.RECORDED])))
        for name, e in self.expected.items():
            with self.subTest(trace=name):
                self.assertEqual(exact.measure(ROOT / name), e)


if __name__ == "__main__":
    unittest.main()
