# SPDX-License-Identifier: Apache-2.0
"""A column is described once, in its row: the schema, the documents and the page say what it says."""
import collections
import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from tests import page_data
from tests.program import EXE, OWN, ROOT, SANITIZED, real_traces, run, skip_loudly

GPU = sorted((ROOT / "tests/data").rglob("*.json.gz"), key=lambda p: p.stat().st_size)


def listed() -> list[dict]:
    """Every column and fact, one dictionary for each."""
    return list(csv.DictReader(io.StringIO(run("report", "--view", "list", "--csv")[1].decode())))


def table_of(text: str) -> tuple[list[str], list[str]]:
    """The heading and the rows of the first table in a text, as lines."""
    lines = [line for line in text.splitlines() if line.startswith("  ") and not line.lstrip().startswith("…")]
    return lines[0], lines[1:]


class Described(unittest.TestCase):
    def test_the_documents_are_what_the_rows_say(self) -> None:
        done = subprocess.run([sys.executable, ROOT / "scripts/describe", EXE, "--check"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_each_column_is_one_sentence(self) -> None:
        rows = listed()
        self.assertGreater(len(rows), 550)
        for row in rows:
            with self.subTest(view=row["view"], table=row["table"], key=row["key"] or row["heading"]):
                self.assertRegex(row["help"], r"^\S.*[.]$")
                self.assertIsNone(re.search(r"\. [A-Z]", row["help"]), "more than one sentence")
                self.assertLess(len(row["help"]), 200)
                self.assertIsNone(re.search(r"\b(mended?|dearest|pieces? of (?:device )?work|that many|beside it)\b", row["help"]))
                self.assertTrue(row["unit"] or row["type"] in ("text", "count", "id", "bool"), "a number without a unit")
                self.assertTrue(row["key"] or row["heading"])
        keys = collections.Counter((r["view"], r["table"], r["key"]) for r in rows if r["key"])
        self.assertEqual([k for k, n in keys.items() if n > 1], [])

    def test_units_are_those_of_the_names(self) -> None:
        units = {"_ns": {"ns"}, "_us": {"µs"}, "_bytes": {"bytes"}, "_pct": {"%"}, "_gbps": {"GB/s"}, "_tflops": {"TFLOP/s"}}
        for row in listed():
            for end, unit in units.items():
                if row["key"].endswith(end):
                    self.assertIn(row["unit"], unit, row)

    def test_csv_and_json_have_the_columns_of_the_list(self) -> None:
        trace, tables = OWN[0], collections.defaultdict(list)
        for row in listed():
            if row["key"]:
                tables[row["view"], row["table"]].append(row["key"])
        views = {v["view"]: v for v in json.loads(run("report", "--view", "list", "--json")[1])}
        whole = json.loads(run("report", trace, "--json")[1])
        for (view, table), keys in tables.items():
            if views[view]["is_compat"]:
                continue
            with self.subTest(view=view, table=table):
                member = (whole if views[view]["is_job"] else whole["ranks"][0])[views[view]["key"]]
                if table != "facts":
                    part = view if views[view]["is_list"] else f"{view}.{table}"
                    head = run("report", trace, "--view", part, "--csv")[1].decode().split("\r\n")[0].split(",")
                    self.assertEqual(head, keys if views[view]["is_job"] else ["rank", *keys])
                    for row in (member if views[view]["is_list"] else member[table])[:1]:
                        self.assertEqual(list(row), keys)
                else:
                    self.assertEqual([k for k in member if k in keys], keys)

    def test_the_page_has_the_sentences(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "p.html"
            self.assertEqual(run("report", OWN[0], "--html", page, "-q")[0], 0)
            words = page_data.json_block(page.read_text(), "data-words")
        helps = {(r["view"], r["table"], r["key"]): r["help"] for r in listed()}
        for view in words["views"]:
            for table in [{"key": "facts", "columns": view["facts"]}, *view["tables"]]:
                for column in table["columns"]:
                    self.assertEqual(column["help"], helps[view["word"], table["key"], column["key"]])

    def test_sql_says_a_unit_and_a_sentence(self) -> None:
        schema = json.loads(run("query", "--schema", "--json")[1])
        rows = list(csv.DictReader(io.StringIO(run("query", "--schema", "--csv")[1].decode())))
        self.assertEqual([(t["name"], c["name"], c["unit"], c["help"]) for t in schema["tables"] for c in t["columns"]],
                         [(r["table"], r["column"], r["unit"], r["help"]) for r in rows])
        for row in rows:
            with self.subTest(table=row["table"], column=row["column"]):
                self.assertRegex(row["help"], r"^(?:[A-Z0-9]|[a-z_]+[,+ ]).*[.…]$")
                self.assertEqual(row["unit"] == "ns", row["column"].endswith("_ns"))


class Text(unittest.TestCase):
    def test_numbers_are_never_cut(self) -> None:
        sql = "select 123456789012345 a, 123456789012345 b, 123456789012345 c, 123456789012345 d, 123456789012345 e, 'a text that is cut' t"
        out = run("query", OWN[0], sql)[1].decode()
        self.assertEqual(out.count("123456789012345"), 5)
        self.assertIn("…", out)

    def test_kernels_never_read_alike(self) -> None:
        """Two names of one table may only look the same where they are."""
        compared = 0
        for path in GPU[:6] + real_traces():
            arguments = ["report", path, "--view", "kernels", "--top", "30", "-q"]
            names = [r["name"] for r in csv.DictReader(io.StringIO(run(*arguments, "--csv")[1].decode()))]
            status, out, _ = run(*arguments)
            if status != 0 or not names:
                continue
            head, rows = table_of(out.decode())
            self.assertLessEqual(max(map(len, rows)), 80)
            shown = collections.defaultdict(set)
            for row, name in zip(rows, names):
                shown[row[head.index("name"):]].add(name)
            compared += len(names)
            with self.subTest(trace=path.name):
                self.assertEqual({s: n for s, n in shown.items() if len(n) > 1}, {})
        if real_traces():
            self.assertGreater(compared, 500)

    def test_names_grow_with_the_width(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder) / "t.json"
            name = "void at::native::vectorized_elementwise_kernel<4, at::native::%s<float>, int>(int, %s)" % ("FillFunctor", "x" * 200)
            trace.write_text(json.dumps([{"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 1, "dur": 2, "args": {"stream": 7}}]))
            longest = []
            for width in (80, 100, 400):
                out = subprocess.run([EXE, "report", trace, "--view", "kernels", "-q"], capture_output=True, text=True, check=True,
                                     env={**os.environ, "COLUMNS": str(width)}).stdout
                longest.append(max(map(len, out.splitlines())))
                self.assertLessEqual(longest[-1], width)
            self.assertEqual(sorted(set(longest)), longest)

    def test_ranks_are_a_view(self) -> None:
        job = ROOT / "examples/training/traces/slow_loader"
        text = run("report", job, "--view", "ranks")[1].decode()
        rows = list(csv.DictReader(io.StringIO(run("report", job, "--view", "ranks", "--csv")[1].decode())))
        whole = json.loads(run("report", job, "--json")[1])
        self.assertEqual([r["rank"] for r in rows], ["0", "1"])
        self.assertIn(text, run("report", job)[1].decode(), "what stands under RANKS")
        for row, member, rank in zip(rows, whole["rank_table"], whole["ranks"]):
            self.assertEqual({k: "" if v is None else str(v) for k, v in member.items()}, row)
            self.assertEqual(member["step_ns"], rank["step_breakdown"]["step_ns"])
            self.assertEqual(member["data_loader_ns"], rank["step_breakdown"]["categories"]["data_loader_ns"])
            self.assertIsNone(member["compute_ns"], "there is no device")
        slowest = run("report", job, "--view", "ranks", "--csv", "--sort", "data_loader_ns", "--top", "1")[1].decode()
        self.assertEqual(slowest.count("\r\n"), 2)
        self.assertIn("rank0.pt.trace.json.gz", slowest)
        self.assertEqual(run("report", job, "--view", "ranks", "--merge")[1].decode(), text)


if __name__ == "__main__":
    unittest.main()
