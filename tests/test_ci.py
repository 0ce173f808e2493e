# SPDX-License-Identifier: Apache-2.0
"""The examples for GitHub Actions, GitLab and Jenkins: parsed, linted, and their shell steps run as they stand with the program on the PATH."""
from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as xml
from typing import Any

from tests.program import EXE, ROOT, SANITIZED, skip_loudly
from tests.recorder import LIBRARY, environment

try:
    import yaml
except ImportError:
    yaml = None

EXAMPLES = ROOT / "examples/ci"
ACTION = ROOT / "packaging/github-action/action.yml"
INSTALLS, PUBLISHES = "Install holdup", "Publish"       # by the service alone


def document(path: pathlib.Path) -> Any:
    return yaml.safe_load(path.read_text())


@unittest.skipIf(SANITIZED, "says nothing more about holdup")
@unittest.skipUnless(LIBRARY.exists(), "the recorder's library was not built")
class Case(unittest.TestCase):
    def setUp(self) -> None:
        if yaml is None:
            skip_loudly("python3-yaml is not installed: the examples for CI were not tried")
            self.skipTest("no yaml")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-ci-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / "bin").mkdir()
        (self.folder / "bin/holdup").symlink_to(EXE)
        self.work = self.folder / "work"            # a clone, as a runner has it
        shutil.copytree(EXAMPLES, self.work / "examples/ci")

    def step(self, text: str, shell: list[str], status: int = 0, **more: str) -> subprocess.CompletedProcess:
        env = environment(PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}", CI="true", XDG_RUNTIME_DIR=str(self.folder), **more)
        done = subprocess.run([*shell, "-c", text], cwd=self.work, env=env, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, status, f"{text}\n{done.stdout}\n{done.stderr}")
        return done

    def made(self, output: str = "holdup") -> None:
        """What is published is there, and is what it is called."""
        place = self.work / output
        self.assertIn("<html", (place / "page.html").read_text()[:2000])
        suite = xml.parse(place / "junit.xml").getroot()
        cases = suite.findall("testcase")
        self.assertEqual((suite.tag, int(suite.get("tests")), int(suite.get("failures"))), ("testsuite", len(cases), len(suite.findall("testcase/failure"))))
        self.assertIn("data", [c.get("name") for c in cases if c.find("skipped") is None], "the steps' wait for data was measured")

    def fail_next(self) -> None:
        (self.work / "examples/ci/holdup.toml").write_text("[max]\nstep-ms = 0.001\n")


class GitHub(Case):
    SHELL = ["bash", "-e"]      # what the service calls for `run`

    def steps(self) -> list[dict]:
        return document(EXAMPLES / "github.yml")["jobs"]["performance"]["steps"]

    def test_the_steps_run(self) -> None:
        steps = self.steps()
        self.assertEqual([s.get("name") for s in steps], [None, INSTALLS, "Record", "Check", "Report", PUBLISHES])
        for step in steps:
            if "run" in step and step["name"] != INSTALLS:
                self.step(step["run"], self.SHELL, GITHUB_STEP_SUMMARY=str(self.folder / "summary"))
        self.made()
        self.assertIn("per step", (self.folder / "summary").read_text())
        self.assertEqual(steps[-1]["with"]["path"], "holdup")

    def test_a_limit_that_is_breached_fails_and_is_published_all_the_same(self) -> None:
        named = {s["name"]: s for s in self.steps() if "name" in s}
        self.step(named["Record"]["run"], self.SHELL)
        self.fail_next()
        self.step(named["Check"]["run"], self.SHELL, status=1)
        self.assertEqual([named[n].get("if") for n in ("Report", PUBLISHES)], ["${{ !cancelled() }}"] * 2)
        self.step(named["Report"]["run"], self.SHELL, GITHUB_STEP_SUMMARY=str(self.folder / "summary"))
        self.made()


class Action(Case):
    SHELL = ["bash", "--noprofile", "--norc", "-eo", "pipefail"]        # of `shell: bash`

    def act(self, status: dict[str, int] | None = None, **inputs: str) -> dict[str, str]:
        """All of its steps of shell, with these inputs; its outputs."""
        action = document(ACTION)
        given = {name: about.get("default", "") for name, about in action["inputs"].items()} | inputs
        self.assertEqual({n for n, about in action["inputs"].items() if about.get("required")}, {"command"})
        files = {name: str(self.folder / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for step in action["runs"]["steps"]:
            if "run" not in step:
                continue
            self.assertEqual(step["shell"], "bash")
            self.assertNotIn("${{", step["run"], "what a user writes comes by the environment, and is no script")
            env = {k: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda m: given[m[1]], v) for k, v in step["env"].items()}
            self.step(step["run"], self.SHELL, status=(status or {}).get(step["name"], 0), **files, **env)
            if step["name"] == "Record" and (status or {}).get("Record"):
                break
        return dict(line.split("=", 1) for line in pathlib.Path(files["GITHUB_OUTPUT"]).read_text().splitlines())

    def test_it_runs(self) -> None:
        said = self.act(command="cd examples/ci && python3 train.py; echo $((1 + 1)) >done", rules="--max data=40%\n--max step-ms=500\n", output="a folder")
        self.assertEqual(said, {"trace": "a folder/run.pftrace", "passed": "true"})
        self.made("a folder")
        self.assertEqual((self.work / "examples/ci/done").read_text(), "2\n")
        self.assertIn("per step", (self.folder / "GITHUB_STEP_SUMMARY").read_text())

    def test_a_breach_fails_the_step(self) -> None:
        self.assertEqual(self.act(status={"Check": 1}, command="python3 examples/ci/train.py", rules="--max step-ms=0.001")["passed"], "false")
        self.made()

    def test_a_job_that_fails_fails_the_step(self) -> None:
        self.act(status={"Record": 7}, command="true | exit 7")

    def test_what_it_names(self) -> None:
        action = document(ACTION)
        steps = {s["id"] for s in action["runs"]["steps"] if "id" in s}
        text = ACTION.read_text()
        self.assertEqual({m for m in re.findall(r"steps\.(\w+)\.outputs", text)}, steps)
        self.assertEqual(set(re.findall(r"inputs\.(\w+)", text)), set(action["inputs"]))


class GitLab(Case):
    def test_the_scripts_run(self) -> None:
        job = document(EXAMPLES / "gitlab.yml")["performance"]
        shell = ["bash", "-eo", "pipefail"]
        self.step("\n".join(job["script"]), shell)
        self.step("\n".join(job["after_script"]), shell)
        self.made()
        self.assertEqual(job["artifacts"]["reports"]["junit"], "holdup/junit.xml")
        self.assertEqual((job["artifacts"]["when"], job["artifacts"]["paths"]), ("always", ["holdup/"]))
        self.fail_next()
        self.step("\n".join(job["script"]), shell, status=1)


class Jenkins(Case):
    def test_the_steps_run(self) -> None:
        text = (EXAMPLES / "Jenkinsfile").read_text()
        steps = re.findall(r"sh '''\n(.*?)'''", text, re.S)
        self.assertEqual(len(steps), 3)
        for step in steps:
            self.step(step, ["sh", "-xe"])
        self.made()
        self.assertIn("junit 'holdup/junit.xml'", text)
        self.assertEqual((text.count("{"), text.count("(")), (text.count("}"), text.count(")")))


class Layout(unittest.TestCase):
    def test_yamllint(self) -> None:
        if not shutil.which("yamllint"):
            skip_loudly("yamllint is not installed: examples/ci was not linted")
            self.skipTest("no yamllint")
        rules = {"extends": "default", "rules": {"line-length": {"max": 160}, "document-start": "disable", "comments": {"min-spaces-from-content": 1}, "truthy": {"check-keys": False}}}
        done = subprocess.run(["yamllint", "--strict", "-d", json.dumps(rules), *EXAMPLES.glob("*.yml"), ACTION], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_the_page_names_what_is_there(self) -> None:
        page = ROOT / "docs/ci.md"
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            self.assertTrue((page.parent / link).exists(), link)
        listed = {p.name for p in EXAMPLES.iterdir()} - {"__pycache__"}
        self.assertEqual({n for n in listed if f"examples/ci/{n})" in page.read_text()}, listed)


if __name__ == "__main__":
    unittest.main()
