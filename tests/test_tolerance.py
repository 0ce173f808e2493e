# SPDX-License-Identifier: Apache-2.0
"""What sloppy writers leave in files, one thing at a time: read on, and counted under its reason."""
import gzip
import json
import tempfile
import unittest
from pathlib import Path

from tests.program import report, run

OP = '{"ph": "X", "cat": "cpu_op", "name": "aten::%s", "pid": 1, "tid": 1, "ts": %s, "dur": %s, "args": {"External id": 1}}'
GOOD = ",".join(OP % (n, t, d) for n, t, d in (("a", 1, 10), ("b", 20.5, "3.250"), ("c", "1e2", "1.5e1")))


class Tolerance(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "t.json"

    def tearDown(self) -> None:
        self.folder.cleanup()

    def rank(self, text: str | bytes) -> dict:
        self.path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return report(self.path)["ranks"][0]

    def operators(self, rank: dict) -> dict[str, int]:
        return {o["name"]: o["host_total_ns"] for o in rank["operators"]}

    def reasons(self, rank: dict) -> dict[str, int]:
        return {r["id"]: r["count"] for r in rank["quality"]["reasons"]}

    def test_documents_around_the_same_events(self) -> None:
        expected = {"aten::a": 10000, "aten::b": 3250, "aten::c": 15000}
        for text in (
            f"[{GOOD}]", f'{{"traceEvents": [{GOOD}]}}', f'\ufeff{{"traceEvents": [{GOOD}]}}', f'{{"traceEvents":[{GOOD},]}}',
            f'{{"traceEvents": [{GOOD}], "deviceProperties": [], "schemaVersion": 1}}',
            f'{{"schemaVersion": 1, "x": {{"y": [1, "]"]}}, "traceEvents": [{GOOD}], "traceName": "t"}}',
            f'{{"traceEvents": [{GOOD}', f'{{"traceEvents": [{GOOD}]', f"[{GOOD}", f"[{GOOD},", f'{{"traceEvents": [{GOOD}]}} garbage',
            f'{{"traceEvents": [{GOOD.split(",{")[0]}], "traceEvents": [{{{",{".join(GOOD.split(",{")[1:])}]}}',
        ):
            with self.subTest(text=text[:60]):
                rank = self.rank(text)
                self.assertEqual(self.operators(rank), expected)
                self.assertEqual(rank["quality"]["lost"], 0)

    def test_the_end_that_is_missing_is_told(self) -> None:
        self.assertTrue(self.rank(f'{{"traceEvents": [{GOOD}')["quality"]["is_truncated"])
        self.assertFalse(self.rank(f"[{GOOD}")["quality"]["is_truncated"], "a bare list needs no bracket")
        self.assertFalse(self.rank(f"[{GOOD}]")["quality"]["is_truncated"])
        self.assertEqual(self.rank(f"[{GOOD}] tail")["quality"]["trailing_bytes"], 4)

    def test_reasons(self) -> None:
        rows = {
            "ODD_WORD": '{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1,"args":{"blocks per SM":inf,"stream":7,"x":N/A,"y":-nan}}',
            "DUPLICATE_KEY": '{"ph":"X","cat":"cpu_op","name":"x","name":"y","ts":1,"dur":1}',
            "CONTROL_CHARACTER": '{"ph":"X","cat":"cpu_op","name":"a\x01b","ts":1,"dur":1}',
            "BAD_ESCAPE": '{"ph":"X","cat":"cpu_op","name":"C:\\Users\\q","ts":1,"dur":1}',
            "NEGATIVE_DURATION": '{"ph":"X","cat":"cpu_op","name":"x","ts":1,"dur":-5}',
            "ZERO_TIME": '{"ph":"X","cat":"kernel","name":"k","ts":0,"dur":5,"args":{"stream":7}}',
            "ABSURD_DURATION": '{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":18446744073709}',
            "NO_DURATION": '{"ph":"X","cat":"cpu_op","name":"x","ts":1}',
            "NO_TIME": '{"ph":"X","cat":"cpu_op","name":"x","dur":1}',
            "NO_PHASE": '{"cat":"cpu_op","name":"x","ts":1,"dur":1}',
            "ASYNC": '{"ph":"b","cat":"app","name":"x","pid":1,"tid":1,"ts":1,"id":"0x1"}',
            "UNMATCHED_BEGIN": '{"ph":"B","name":"x","pid":1,"tid":1,"ts":1}',
            "UNMATCHED_END": '{"ph":"E","name":"x","pid":1,"tid":9,"ts":1}',
            "MALFORMED": '{"ph":"X","cat":"cpu_op","name":"a"b","ts":1,"dur":1}',
            "TOO_DEEP": '{"ph":"X","cat":"cpu_op","name":"x","ts":1,"dur":1,"args":{"z":' + "[" * 1000 + "]" * 1000 + "}}",
            "WIDE_ID": '{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1,"args":{"correlation":18446744073709551615}}',
            "CROSSING": '{"ph":"X","cat":"cpu_op","name":"x","pid":1,"tid":1,"ts":5,"dur":40}',
        }
        for reason, event in rows.items():
            with self.subTest(reason=reason):
                rank = self.rank(f"[{GOOD},{event}]")
                self.assertEqual(self.reasons(rank), {reason: 1})
                self.assertEqual(rank["quality"]["events"], 4)
                self.assertIn("aten::a", self.operators(rank))

    def test_an_end_may_say_nothing_but_row_and_time(self) -> None:
        """Chrome's format: an end closes what began last in its row, whatever the category, which the end may leave out."""
        begin = '{"ph":"B","cat":"%s","name":"%s","pid":1,"tid":7,"ts":%d}'
        end = '{"ph":"E","pid":1,"tid":7,"ts":%d}'
        text = ",".join((begin % ("app", "outer", 100), begin % ("cpu_op", "aten::mm", 110), begin % ("app", "inner", 120),
                         end % 130, end % 160, end % 190))
        self.assertEqual(self.reasons(self.rank(f"[{text}]")), {})
        status, out, err = run("query", self.path, "select name, dur_ns from slice order by start_ns", "--csv", "-q")
        self.assertEqual(status, 0, err)
        self.assertEqual(out.decode().split()[1:], ["outer,90000", "aten::mm,50000", "inner,10000"])

    def test_times_are_exact(self) -> None:
        for text, ns in (("1712195495519761.132", 1712195495519761132), ("1712195495519761", 1712195495519761000),
                         ("0.0005", 1), ("0.0004", 0), ("2.5", 2500), ("1.7121954955197611e15", 1712195495519761100)):
            event = '{"ph":"X","cat":"cpu_op","name":"x","pid":1,"tid":1,"ts":%s,"dur":1}' % text
            with self.subTest(text=text):
                self.assertEqual(self.rank(f"[{event}]")["steps"]["list"][0]["start_ns"], ns)

    def test_categories_of_2021(self) -> None:
        rank = self.rank('[{"ph":"X","cat":"Operator","name":"aten::mm","pid":1,"tid":"7","ts":1,"dur":9,"args":{"External id":3}},'
                         '{"ph":"X","cat":"Runtime","name":"cudaLaunchKernel","pid":1,"tid":7,"ts":2,"dur":1,"args":{"correlation":5}},'
                         '{"ph":"X","cat":"Kernel","name":"k","pid":0,"tid":"stream 7","ts":20,"dur":4,'
                         '"args":{"correlation":5,"external id":3}},'
                         '{"ph":"X","cat":"Memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,"tid":"stream 7","ts":30,"dur":2,'
                         '"args":{"bytes":4000}}]')
        ops = {o["name"]: o for o in rank["operators"]}
        self.assertEqual((ops["aten::mm"]["device_self_ns"], ops["aten::mm"]["host_self_ns"]), (4000, 8000))
        self.assertEqual((rank["copies"][0]["gbps"], rank["copies"][0]["is_pageable"]), (2.0, True))
        self.assertEqual(rank["gpu"]["busy_ns"], 6000)

    def test_triton_operator_with_a_stream_is_no_kernel(self) -> None:
        rank = self.rank('[{"ph":"X","cat":"cpu_op","name":"triton_poi","pid":1,"tid":1,"ts":1,"dur":90,"args":{"stream":0}},'
                         '{"ph":"X","cat":"kernel","name":"triton_poi","pid":0,"tid":0,"ts":20,"dur":2,"args":{"stream":0}}]')
        self.assertEqual(rank["gpu"]["busy_ns"], 2000)

    def test_graph_launch_owns_all_its_kernels(self) -> None:
        kernels = ",".join('{"ph":"X","cat":"kernel","name":"k","ts":%d,"dur":1,"args":{"correlation":5,"stream":7}}' % t
                           for t in range(10, 30))
        rank = self.rank('[{"ph":"X","cat":"cpu_op","name":"graph","pid":1,"tid":1,"ts":1,"dur":5},'
                         '{"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","pid":1,"tid":1,"ts":2,"dur":1,'
                         f'"args":{{"correlation":5}}}},{kernels}]')
        self.assertEqual({o["name"]: o["device_self_ns"] for o in rank["operators"]}["graph"], 20000)
        self.assertEqual(rank["quality"]["kernels_launched_by_graphs"], 20)
        self.assertEqual(rank["quality"]["device_work_without_launch"], 0)

    def test_large_values(self) -> None:
        long = "x" * (5 << 20)
        rank = self.rank(f'[{GOOD},{{"ph":"X","cat":"cpu_op","name":"y","ts":1,"dur":1,"args":{{"Call stack":"{long}"}}}},'
                         f'{OP % ("d", 200, 1)}]')
        self.assertEqual(len(self.operators(rank)), 5)
        self.path.write_text(f'[{GOOD},{{"ph":"X","args":{{"z":"{long}"}}}}]')
        status, _, err = run("report", self.path, "--limit", "event_bytes=1000000")
        self.assertEqual(status, 3)
        self.assertIn("--limit event_bytes=N", err)

    def test_hostile_nesting_and_inflation(self) -> None:
        self.path.write_text("[" * 200000)
        self.assertEqual(run("report", self.path)[0], 3)
        self.path.write_text('{"traceEvents":[' + '{"a":' * 100000)
        self.assertIn(run("report", self.path)[0], (0, 3))
        bomb = Path(self.folder.name) / "bomb.json.gz"
        bomb.write_bytes(gzip.compress(b"[" + b" " * (200 << 20) + b"]", 9))
        status, _, err = run("report", bomb)
        self.assertEqual(status, 3)
        self.assertIn("inflate_ratio", err)

    def test_allocations_belong_to_the_operator_around_them(self) -> None:
        memory = ('{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":%s,"args":{"Total Reserved":0,'
                  '"Total Allocated":1,"Bytes":%d,"Addr":18446744073709551615,"Device Id":-1,"Device Type":0,"Ev Idx":1}}')
        rank = self.rank(f"[{GOOD},{memory % (2, 4096)},{memory % (3, -96)},{memory % (50, 7)}]")
        self.assertEqual({o["name"]: o["host_self_bytes"] for o in rank["operators"]},
                         {"aten::a": 4000, "aten::b": 0, "aten::c": 0})


if __name__ == "__main__":
    unittest.main()
