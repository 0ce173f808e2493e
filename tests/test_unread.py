# SPDX-License-Identifier: Apache-2.0
"""Inputs that cannot be read are part of every answer: named in text, JSON, SQL, on the page and by the exit status."""
from __future__ import annotations

import gzip
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as xml
from typing import Any

from tests.pipeline_job import Job, Shape, plain_costs
from tests.pipeline_job import text as table_of
from tests.program import OWN, read, run

GOOD = next(p for p in OWN if "slow_loader" in str(p) and "rank0" in p.name)
SECOND = next(p for p in OWN if "slow_loader" in str(p) and "rank1" in p.name)
LIMIT = ("--only-named", "--max", "step-ms=100000")


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.job = self.folder / "d"
        self.job.mkdir()
        (self.job / "rank0.json").write_bytes(read(GOOD))
        self.broken = self.job / "rank1.json"
        self.broken.write_text("{broken\n")

    def json(self, *arguments: Any, status: int = 0) -> Any:
        seen, out, err = run(*arguments)
        self.assertEqual(seen, status, err)
        return json.loads(out)

    def text(self, *arguments: Any, status: int = 0) -> str:
        seen, out, err = run(*arguments)
        self.assertEqual(seen, status, err)
        return re.sub(r"\s+", " ", out.decode())


class Named(Folder):
    def bad_inputs(self) -> dict[str, pathlib.Path]:
        """One of each kind."""
        empty = self.folder / "empty"
        empty.mkdir()
        (empty / "README.txt").write_text("no trace")
        made = {"missing": self.folder / "nofile.json", "empty file": self.folder / "empty.json", "empty folder": empty,
                "broken gzip": self.folder / "broken.json.gz", "unknown format": self.folder / "notes.txt", "broken JSON": self.broken}
        made["empty file"].write_bytes(b"")
        made["broken gzip"].write_bytes(b"\x1f\x8b\x08\x00garbage that is no deflate stream")
        made["unknown format"].write_text("what I did today")
        return made

    def test_each_kind_is_in_the_report(self) -> None:
        for kind, path in self.bad_inputs().items():
            with self.subTest(kind):
                unread = self.json("report", GOOD, path, "--json", "-q")["unread"]
                self.assertEqual([u["file"] for u in unread], [str(path)])
                self.assertGreater(len(unread[0]["error"]), 10)
                self.assertIn("1 of 2 inputs could not be read", self.text("report", GOOD, path, "-q"))

    def test_each_kind_alone(self) -> None:
        """Who looks at a beginning before it is read gets none of some of them."""
        for kind, path in self.bad_inputs().items():
            with self.subTest(kind):
                for files in ((path,), (path, path)):
                    status, _, err = run("report", *files, "-q")
                    self.assertEqual(status, 3, err)

    def test_each_kind_fails_check(self) -> None:
        for kind, path in self.bad_inputs().items():
            with self.subTest(kind):
                seen = self.json("check", GOOD, path, *LIMIT, "--json", "-q", status=3)
                self.assertEqual([u["file"] for u in seen["unread"]], [str(path)])
                self.assertFalse(seen["passed"])
                self.assertTrue(self.json("check", GOOD, path, *LIMIT, "--json", "--allow-missing")["passed"])

    def test_all_of_them_at_once_and_in_order(self) -> None:
        bad = self.bad_inputs()
        unread = self.json("report", *bad.values(), GOOD, "--json")["unread"]
        self.assertEqual({u["file"] for u in unread}, {str(p) for p in bad.values()})
        self.assertEqual(len(unread), len(bad))
        line = self.text("report", *bad.values(), GOOD)
        self.assertIn(f"{len(bad)} of {len(bad) + 1} inputs could not be read", line)
        self.assertIn("; and 2 more", line)

    def test_files_of_a_folder_that_are_named_otherwise_are_no_inputs(self) -> None:
        self.broken.unlink()
        for name in ("README.txt", "metrics.csv", "train.py"):
            (self.job / name).write_text("not a trace")
        self.assertEqual(self.json("report", self.job, "--json")["unread"], [])
        self.assertEqual(run("check", self.job, *LIMIT)[0], 0)

    def test_files_of_a_folder_however_they_are_compressed(self) -> None:
        """A rank is not lost for the ending of its name."""
        self.broken.unlink()
        text = read(GOOD)
        packers = {"": bytes, ".gz": gzip.compress, ".zst": lambda raw: subprocess.run(["zstd", "-c"], input=raw, capture_output=True, check=True).stdout}
        for n, (ending, pack) in enumerate((e, p) for e in (".json", ".pftrace", ".perfetto-trace") for p in packers.items()):
            (self.job / f"part{n}{ending}{pack[0]}").write_bytes(pack[1](text))
        (self.job / "part.json.bz2").write_bytes(b"not one")
        self.assertEqual(self.json("report", self.job, "--json", "-q")["run"]["ranks"], 10)

    def test_a_recording_without_its_trace_is_an_input(self) -> None:
        """A rank that was killed beside ranks that were not, and alone."""
        session = self.job / ".holdup-AbCdEf"
        session.mkdir()
        (self.job / ".holdup-notes").mkdir()            # no session
        (session / "control").write_bytes(bytes(4096))
        self.broken.unlink()
        unread = self.json("report", self.job, "--json", "-q")["unread"]
        self.assertEqual([u["file"] for u in unread], [str(session)])
        self.assertIn(f"holdup finish {session}", unread[0]["error"])
        self.assertEqual(run("check", self.job, *LIMIT)[0], 3)
        (self.job / "rank0.json").unlink()
        status, _, err = run("report", self.job)
        self.assertEqual(status, 3)
        self.assertIn(f"holdup finish {session}", err)

    def test_nothing_readable_is_an_error(self) -> None:
        for command in (["report"], ["check"], ["export", "--format", "chrome"], ["info"], ["whatif", "-e", "data=0"]):
            self.assertEqual(run(command[0], self.broken, *command[1:])[0], 3, command)
            self.assertEqual(run(command[0], self.broken, "--strict", *command[1:])[0], 3, command)
        self.assertEqual(run("query", self.broken, "select 1")[0], 3)


class Faces(Folder):
    def test_report(self) -> None:
        seen = self.json("report", self.job, "--json")
        self.assertEqual((seen["run"]["ranks"], [u["file"] for u in seen["unread"]]), (1, [str(self.broken)]))
        self.assertIn("not JSON", seen["unread"][0]["error"])
        self.assertNotEqual(seen["verdict"]["confidence"], "high")
        self.assertIn("1 of 2 inputs could not be read", seen["verdict"]["reasons"])
        self.assertEqual(self.json("report", GOOD, "--json")["unread"], [])

    def test_text_says_so_before_the_verdict_and_above_a_view(self) -> None:
        for view in ("all", "overview", "health", "ops"):
            text = self.text("report", self.job, "-q", "--view", view)
            self.assertIn(f"1 of 2 inputs could not be read: {self.broken}: at byte 1: not JSON", text[:700], view)

    def test_page_says_so_on_its_first_screen(self) -> None:
        page = self.folder / "page.html"
        self.assertEqual(run("report", self.job, "--html", page, "-q")[0], 0)
        html = page.read_text()
        at = html.index("1 of 2 inputs could not be read")
        self.assertLess(at, html.index('class="verdict"'))
        self.assertIn(str(self.broken), html[at:at + 400])
        self.assertGreater(at, html.index('id="overview"'))

    def test_check(self) -> None:
        seen = self.json("check", self.job, *LIMIT, "--json", status=3)
        self.assertEqual((seen["failed"], seen["ranks"], seen["passed"]), (0, 1, False))
        self.assertRegex(self.text("check", self.job, *LIMIT, "-q", status=3), "^fail 1 of 2 inputs could not be read")
        self.assertRegex(self.text("check", self.job, *LIMIT, "-q", "--allow-missing"), "^advice 1 of 2 inputs could not be read")
        self.assertEqual(run("check", self.job, *LIMIT, "--strict")[0], 4)
        self.assertEqual(run("check", self.job, "--allow-missing", "--strict")[0], 2)
        self.assertEqual(run("check", self.job, "--only-named", "--max", "step-ms=1", "--allow-missing")[0], 1)

    def test_every_face_of_check_agrees_with_its_status(self) -> None:
        """Data that is incomplete fails with --strict, in text, JSON and JUnit alike."""
        self.broken.unlink()
        path, junit = self.job / "rank0.json", self.folder / "junit.xml"
        path.write_bytes(path.read_bytes()[:-300])
        for extra, status in ((("--strict",), 4), ((), 0)):
            seen = self.json("check", self.job, "--only-named", "--max", "step-ms=100000", "--json", "--junit", junit, *extra, status=status)
            self.assertEqual((seen["passed"], len(seen["partial"])), (status == 0, 1))
            suite = xml.parse(junit).getroot()
            self.assertEqual(suite.get("failures"), str(int(status != 0)))
            self.assertEqual(len(suite.findall("testcase/failure")), int(status != 0))
            self.assertEqual(int(suite.get("tests")), len(suite.findall("testcase")))
            self.assertEqual(int(suite.get("skipped")), len(suite.findall("testcase/skipped")))

    def test_check_as_junit(self) -> None:
        for extra, tag, failures in (((), "failure", "1"), (("--allow-missing",), "skipped", "0")):
            path = self.folder / "junit.xml"
            run("check", self.job, *LIMIT, "--junit", path, *extra)
            suite = xml.parse(path).getroot()
            case = next(c for c in suite if c.get("name") == "inputs")
            self.assertIn(str(self.broken), case.find(tag).get("message"))
            self.assertEqual((suite.get("failures"), suite.get("tests")), (failures, str(len(suite))))

    def test_query(self) -> None:
        rows = self.json("query", self.job, "--json", "select file, error from unread")
        self.assertEqual([r["file"] for r in rows], [str(self.broken)])
        self.assertIn("not JSON", rows[0]["error"])
        shutil.copy(SECOND, self.job / "rank2.json.gz")
        self.assertEqual(self.json("query", self.job, "--json", "select count(*) n from unread"), [{"n": 1}])
        self.assertEqual(self.json("query", GOOD, "--json", "select * from unread"), [])
        self.assertIn("unread: ", self.text("query", "--schema"))

    def test_whatif(self) -> None:
        self.assertEqual(run("whatif", self.job, "-e", "data=0")[0], 3)
        shutil.copy(SECOND, self.job / "rank2.json.gz")
        seen = self.json("whatif", self.job, "-e", "data=0", "--json")
        self.assertEqual((seen["ranks"], [u["file"] for u in seen["unread"]]), (2, [str(self.broken)]))
        self.assertIn("1 of 3 inputs could not be read", self.text("whatif", self.job, "-e", "data=0"))
        self.assertEqual(self.json("whatif", GOOD, "-e", "data=0", "--json")["unread"], [])

    def test_scale(self) -> None:
        for ranks in (1, 2):
            (self.folder / str(ranks)).mkdir()
            for rank in range(ranks):
                trace = json.loads(read(GOOD))
                trace["distributedInfo"] = {"rank": rank, "world_size": ranks}
                (self.folder / str(ranks) / f"rank{rank}.json").write_text(json.dumps(trace))
        shutil.copy(self.broken, self.folder / "2" / "rank7.json")
        runs = (self.folder / "1", self.folder / "2")
        unread = self.json("scale", *runs, "--json")["unread"]
        self.assertEqual([u["file"] for u in unread], [str(self.folder / "2" / "rank7.json")])
        self.assertIn("1 of 4 inputs could not be read", self.text("scale", *runs))
        self.assertIn("1 of 4 inputs could not be read", self.text("scale", *runs, "--markdown"))
        page = self.folder / "scale.html"
        run("scale", *runs, "--html", page)
        self.assertIn("1 of 4 inputs could not be read", page.read_text())
        self.assertEqual(run("scale", *runs, "--strict")[0], 4)

    def test_info(self) -> None:
        status, out, _ = run("info", self.job, "--json")
        inventory, *files = json.loads(out)
        self.assertEqual((inventory["directory"], inventory["files"]), (str(self.job), 2))
        self.assertEqual((status, [s["unread"] and s["unread"][0]["file"] for s in files]), (3, [[], str(self.broken)]))
        self.assertIn(f"file {self.broken} unread ", self.text("info", self.job, status=3))

    def test_stragglers_need_every_table(self) -> None:
        self.assertEqual(run("stragglers", self.folder / "nofile.csv")[0], 3)
        table, empty = self.folder / "table.csv", self.folder / "empty"
        empty.mkdir()
        table.write_text(table_of(Job(Shape(), plain_costs()).rows()))
        self.assertEqual(run("stragglers", table)[0], 0)
        status, out, err = run("stragglers", table, empty)
        self.assertEqual((status, out), (3, b""))
        self.assertIn(str(empty), err)

    def test_strict_everywhere(self) -> None:
        for command in (["report"], ["check", "--only-named"], ["export", "--format", "chrome"], ["info"], ["view", "--port", "0"]):
            for path, status in ((self.job, 4), (GOOD, 0)):
                if command[0] == "view" and status == 0:
                    continue  # it would serve
                with self.subTest(command=command, path=path):
                    self.assertEqual(run(command[0], path, *command[1:], "--strict")[0], status)
        self.assertEqual(run("query", self.job, "--strict", "select 1")[0], 4)
        self.assertEqual(run("query", GOOD, "--strict", "select 1")[0], 0)
        shutil.copy(SECOND, self.job / "rank2.json.gz")
        self.assertEqual(run("whatif", self.job, "-e", "data=0", "--strict")[0], 4)


if __name__ == "__main__":
    unittest.main()
