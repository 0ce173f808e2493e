# SPDX-License-Identifier: Apache-2.0
"""The exam of `holdup doctor`: each check has to find what is wrong, to say nothing of what only looks like it, and to be in the table at all."""
from __future__ import annotations

import json
import pathlib
import shutil
import tempfile
import unittest
from typing import Any

from tests.doctor.cases import CASES, ELSEWHERE, Case
from tests.doctor.nodes import BASES, Root
from tests.program import run
from tests.recorder import once

load_tests = once       # hundreds of captured trees: test_doctor.py and test_doctor_gpu.py have the sanitizers' part

BAD = {"note", "warning", "failure"}
FINE = {"ok", "does not apply"}
UNKNOWN = {("slurm", "cpu-affinity"): {"not checked"}}  # eight GPUs are visible, and it is not known which the rank takes
NOTES_OF_HEALTHY = {("docker", "filesystem")}  # files in the container's own layer


def ask(root: pathlib.Path, *arguments: Any) -> dict[str, Any]:
    """The report of a tree."""
    status, out, err = run("doctor", "--json", "--root", root, *arguments)
    report = json.loads(out) if status in (0, 1) else None
    assert report, f"exit {status}: {err}"
    return report


class Exam(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-doctor-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.roots = {name: Root(cls.folder / name, make()) for name, make in BASES.items()}
        cls.checks = {c["id"]: c for c in json.loads(run("doctor", "--list", "--json")[1])}

    def scope(self, case: Case) -> list[str]:
        return [] if "node" in self.checks[case.check]["when"] or "--job" in case.options else ["--job"]

    def answer(self, root: Root, case: Case) -> dict[str, Any]:
        return ask(root.folder, "--only", case.check, *self.scope(case), *case.options)["checks"][0]

    def test_each_check_is_examined(self) -> None:
        wrong = {c.check for c in CASES if c.verdicts}
        self.assertEqual(set(self.checks) - wrong - set(ELSEWHERE), set(), "checks without a row in tests/doctor/cases.py")
        self.assertEqual({c.check for c in CASES} - set(self.checks), set(), "rows of checks that there are not")

    def test_each_check_has_a_right_twin(self) -> None:
        """An input near to a wrong one that the check looked at and found well: "does not apply" is no examination."""
        verdicts: dict[str, set[str]] = {check: set() for check in self.checks if check not in ELSEWHERE}
        for case in (c for c in CASES if not c.verdicts and c.check in verdicts):
            root = self.roots[case.base]
            root.change(case.changes)
            try:
                verdicts[case.check].add(self.answer(root, case)["verdict"])
            finally:
                root.restore(case.changes)
        self.assertEqual({check: found for check, found in verdicts.items() if "ok" not in found}, {}, "checks without a right() in tests/doctor/cases.py that says ok")

    def test_healthy_nodes(self) -> None:
        for name, root in self.roots.items():
            for scope in ([], ["--job"], ["--prolog"]):
                with self.subTest(node=name, scope=scope):
                    found = [(c["id"], a) for c in ask(root.folder, *scope)["checks"] for a in c["answers"] if a["verdict"] in BAD]
                    self.assertEqual([x for x in found if (name, x[0]) not in NOTES_OF_HEALTHY or x[1]["verdict"] != "note"], [])

    def test_each_row(self) -> None:
        for case in CASES:
            if case.check not in self.checks:
                continue
            root = self.roots[case.base]
            with self.subTest(check=case.check, case=case.name):
                if (case.base, case.check) not in NOTES_OF_HEALTHY and "--path" not in case.options:
                    self.assertIn(self.answer(root, case)["verdict"], FINE | UNKNOWN.get((case.base, case.check), set()), "the healthy node")
                root.change(case.changes)
                try:
                    found = self.answer(root, case)
                finally:
                    root.restore(case.changes)
                words = "; ".join(f"{a['verdict']}: {a['subject'] or ''} {a['evidence']}" for a in found["answers"])
                if not case.verdicts:
                    self.assertIn(found["verdict"], FINE, words)
                    continue
                self.assertIn(found["verdict"], case.verdicts, words)
                bad = [a for a in found["answers"] if a["verdict"] == found["verdict"]]
                self.assertTrue(any(case.says in f"{a['subject'] or ''} {a['evidence']}" for a in bad), f"no {case.says!r} in: {words}")
                self.assertTrue(all(a["evidence"] and (a["fix"] or a["verdict"] not in BAD) for a in bad), words)

    def test_rows_change_nothing_for_those_that_follow(self) -> None:
        for name, root in self.roots.items():
            fresh = Root(self.folder / f"{name}-fresh", BASES[name]())
            for case in CASES:
                if case.base == name:
                    root.change(case.changes)
                    root.restore(case.changes)
            for path in (p for p in fresh.folder.rglob("*") if p.is_file() and not p.is_symlink()):
                self.assertEqual((root.folder / path.relative_to(fresh.folder)).read_bytes(), path.read_bytes(), path)

    def bundled(self, root: Root, name: str, *arguments: Any) -> None:
        """The same of a bundle as of its node."""
        bundle = self.folder / f"bundle-{name}"
        status, out, err = run("doctor", "--json", "--root", root.folder, "--bundle", bundle, *arguments)
        self.assertIn(status, (0, 1), err)
        self.assertEqual(verdicts(ask(bundle, *arguments)), verdicts(json.loads(out)))
        shutil.rmtree(bundle)

    def test_bundles_of_healthy_nodes(self) -> None:
        for name, root in self.roots.items():
            with self.subTest(node=name):
                self.bundled(root, name, "--job")

    def test_a_bundle_of_each_wrong_node_gives_the_same_findings(self) -> None:
        for number, case in enumerate(c for c in CASES if c.verdicts and c.check in self.checks):
            root = self.roots[case.base]
            with self.subTest(check=case.check, case=case.name):
                root.change(case.changes)
                try:
                    self.bundled(root, str(number), "--only", case.check, *self.scope(case), *case.options)
                finally:
                    root.restore(case.changes)


def verdicts(report: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Without words; a bundle has other names."""
    return [(c["id"], a["verdict"], (a["subject"] or "").replace("kim", "user")) for c in report["checks"] for a in c["answers"]]


if __name__ == "__main__":
    unittest.main()
