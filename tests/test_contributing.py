# SPDX-License-Identifier: Apache-2.0
"""The walks of docs/contributing.md: each diff fits the sources, builds, and does what its heading says, in as many lines as it says."""
import csv
import gzip
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from tests import page_data
from tests.patched import Patched, build_folder
from tests.program import ROOT, SANITIZED, skip_loudly

TEXT = (ROOT / "docs/contributing.md").read_text()
ONE = str(ROOT / "examples/training/traces/slow_loader/rank0.pt.trace.json.gz")
NUMBERS = {"two": 2, "three": 3, "sixteen": 16}


def walks() -> dict[str, tuple[str, str]]:
    """Heading -> the sentence above its diff, and the diff."""
    found = {}
    for section in TEXT.split("\n## ")[1:]:
        above, fence, rest = section.partition("```diff\n")
        if fence:
            found[section.partition("\n")[0]] = (above.strip().split("\n\n")[-1], rest.partition("```")[0])
    return found


def small_copies() -> bytes:
    """Three steps, each waiting for ten copies of 1 KiB that nothing hides."""
    rows = []
    for step in range(3):
        at = 10000 * step
        rows.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1, "ts": at, "dur": 10000})
        for k in range(10):
            start, number = at + 1000 * k, 100 * step + k + 1
            rows.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpy", "pid": 1, "tid": 1, "ts": start + 10, "dur": 600,
                         "args": {"correlation": number, "External id": number}})
            rows.append({"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 7, "ts": start + 20,
                         "dur": 580, "args": {"correlation": number, "bytes": 1024, "device": 0, "stream": 7}})
    return gzip.compress(json.dumps({"schemaVersion": 1, "traceEvents": rows}).encode())


class Walks(unittest.TestCase):
    def setUp(self) -> None:
        build = None if SANITIZED else build_folder()
        if not build:
            skip_loudly("no build without link-time optimisation: make test builds one (build-asan)")
            self.skipTest("nothing to link with")
        self.build = build
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.home = pathlib.Path(home.name)

    def walk(self, heading: str) -> pathlib.Path:
        tree = Patched(self.build, self.home)
        self.program = tree.link(tree.apply(walks()[heading][1]))
        return self.program

    def run_it(self, *arguments: str) -> tuple[int, str]:
        done = subprocess.run([self.program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
        return done.returncode, done.stdout

    def test_every_walk_is_walked(self) -> None:
        tested = {name[len("test_add_"):].replace("_", " ") for name in dir(self) if name.startswith("test_add_")}
        self.assertEqual({re.sub(r"Add an? ", "", heading) for heading in walks()}, tested)

    def test_they_are_as_long_as_they_say(self) -> None:
        for heading, (above, diff) in walks().items():
            with self.subTest(heading):
                added = len(re.findall(r"^\+(?!\+\+ )", diff, re.M)) - len(re.findall(r"^-(?!-- )", diff, re.M))
                said = [int(word) if word.isdigit() else NUMBERS[word.lower()] for word in re.findall(r"(\w+)(?= lines\b(?! of))", above)]
                self.assertEqual(sum(said), added, above)

    def test_add_option(self) -> None:
        self.walk("Add an option")
        self.assertIn("--failures", self.run_it("check", "--help")[1])
        status, said = self.run_it("check", ONE, "--failures")
        self.assertEqual(status, 1, said)
        self.assertIn("fail    data", said)
        self.assertNotIn("pass ", said)
        self.assertTrue("-l failures" in self.run_it("help", "--completion", "fish")[1])
        self.assertIn("failures", self.run_it("help", "--man", "check")[1])

    def test_add_column(self) -> None:
        key, helped = "bytes_per_call", "Mean size of a copy; null when no copy records one."
        program, trace = self.walk("Add a column"), self.home / "t.json"
        copy = {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7, "dur": 2}
        trace.write_text(json.dumps([{**copy, "ts": 1, "args": {"stream": 7, "bytes": 3000}}, {**copy, "ts": 9, "args": {"stream": 7, "bytes": 5000}}]))
        self.assertRegex(self.run_it("report", str(trace), "--view", "copies", "-q")[1], r"B/call(?s:.*)4\.00 kB")
        table = csv.DictReader(io.StringIO(self.run_it("report", str(trace), "--view", "copies", "--csv", "-q")[1]))
        self.assertEqual(next(table)[key], "4000")
        self.assertEqual(json.loads(self.run_it("report", str(trace), "--json", "-q")[1])["ranks"][0]["copies"][0][key], 4000)
        self.run_it("report", str(trace), "--html", str(self.home / "p.html"), "-q")
        self.assertIn(helped.replace("null", "–"), json.dumps(page_data.json_block((self.home / "p.html").read_text(), "data-words"), ensure_ascii=False))
        # what `make schema` does
        shutil.copytree(ROOT / "scripts", self.home / "scripts")
        describe = [sys.executable, self.home / "scripts/describe", program]
        stale = subprocess.run([*describe, "--check"], capture_output=True, text=True, check=False)
        self.assertEqual(re.findall(r"docs/(\S+) is not.*make schema", stale.stdout), ["analyses.md", "report.schema.json"])
        subprocess.run(describe, check=True)
        schema = json.loads((self.home / "docs/report.schema.json").read_text())
        self.assertEqual(schema["$defs"]["copies_copies"]["properties"][key], {"description": helped, "type": ["integer", "null"]})
        self.assertIn(f"| `{key}` | B/call | bytes | {helped} |\n", (self.home / "docs/analyses.md").read_text())

    def test_add_finding(self) -> None:
        (self.home / "small.json.gz").write_bytes(small_copies())
        self.walk("Add a finding")
        status, said = self.run_it("report", str(self.home / "small.json.gz"), "--json")
        self.assertEqual(status, 0, said)
        found = {row["id"]: row for row in json.loads(said)["findings"]}
        self.assertIn("small-copies", found)
        self.assertIn("30 copies carry 1024 bytes each", found["small-copies"]["statement"])
        self.assertGreater(found["small-copies"]["gain_pct"], 1)

    def test_add_format(self) -> None:
        (self.home / "work.csv").write_text("name,start_us,duration_us\nload,0,1500.5\nno span\nsave,2000,500\ncut")
        self.walk("Add a format")
        status, said = self.run_it("info", str(self.home / "work.csv"), "--json")
        self.assertEqual(status, 0, said)
        info = json.loads(said[said.index("{"):])
        self.assertEqual(info["format"], "spans")
        self.assertEqual(info["events"]["by_kind"], {"cpu_op": 2})
        self.assertEqual(info["events"]["duration_sum_ns"] + info["events"]["lost"], 1)
        self.assertTrue(info["is_truncated"])


if __name__ == "__main__":
    unittest.main()
