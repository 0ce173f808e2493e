# SPDX-License-Identifier: Apache-2.0
"""Service files: systemd and schemas of Kubernetes take them, and what the unit forbids is nothing that the monitor does."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
from typing import Any

from tests.program import EXE, ROOT, SANITIZED, python_with, skip_loudly

UNITS = ROOT / "packaging/systemd"
KUBERNETES = ROOT / "packaging/kubernetes"


def tool(case: unittest.TestCase, name: str) -> str:
    if not shutil.which(name):
        skip_loudly(f"{name} is not installed: {case.id()}")
        case.skipTest(f"no {name}")
    return name


def do(*words: Any, status: int = 0) -> str:
    done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=300)
    assert done.returncode == status, f"{words}: exit {done.returncode}: {done.stdout}"
    return done.stdout


class Systemd(unittest.TestCase):
    def setUp(self) -> None:
        self.systemd = tool(self, "systemd-analyze")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-units-"))
        self.addCleanup(shutil.rmtree, self.folder)
        for unit in UNITS.iterdir():        # the program is in no folder of systemd's path here
            (self.folder / unit.name).write_text(unit.read_text().replace("ExecStart=holdup ", f"ExecStart={EXE} "))

    def test_units_are_right(self) -> None:
        said = do(self.systemd, "verify", "--man=no", *self.folder.iterdir())
        self.assertEqual(said, "")
        broken = self.folder / "broken.service"
        broken.write_text((self.folder / "holdup-monitor.service").read_text().replace("DynamicUser=yes", "DynamicUsers=yes"))
        self.assertIn("DynamicUsers", do(self.systemd, "verify", "--man=no", broken))

    def test_little_is_left_to_attack(self) -> None:
        said = do(self.systemd, "security", "--offline=true", "--no-pager", self.folder / "holdup-monitor.service")
        exposure = re.search(r"exposure level for holdup-monitor\.service: ([\d.]+)", said)
        self.assertIsNotNone(exposure, said)
        self.assertLessEqual(float(exposure[1]), 3.0)

    def test_options_exist(self) -> None:
        """What unit and manifest pass to the program is something that it takes."""
        text = (UNITS / "holdup-monitor.service").read_text() + (KUBERNETES / "daemonset.yaml").read_text()
        help_text = do(EXE, "monitor", "--help")
        used = set(re.findall(r"(?<![\w-])--(root|listen)\b", text))
        self.assertEqual(used, {"root", "listen"})
        for option in used:
            self.assertIn(f"--{option}", help_text)

    @unittest.skipIf(SANITIZED, "a sanitizer makes calls of its own")
    def test_the_monitor_makes_only_calls_that_it_may(self) -> None:
        strace = tool(self, "strace")
        allowed: set[str] = set()
        for line in re.findall(r"^SystemCallFilter=(.*)$", (UNITS / "holdup-monitor.service").read_text(), re.M):
            for word in line.split():
                self.assertFalse(word.startswith("~"))
                allowed |= self.expand(word)
        self.assertIn("read", allowed)
        self.assertNotIn("mount", allowed)
        log = self.folder / "calls"
        done = subprocess.run([strace, "-f", "-qq", "-o", str(log), EXE, "monitor", "--once", "--demo", "--period=0.2"], capture_output=True, text=True, check=False, timeout=300)
        if done.returncode != 0 and "ptrace" in done.stderr:
            skip_loudly("strace may not trace here")
            self.skipTest("no ptrace")
        self.assertEqual(done.returncode, 0, done.stderr)
        made = set(re.findall(r"^\d+ +(\w+)\(", log.read_text(), re.M))
        self.assertIn("clock_nanosleep", made)
        self.assertEqual(made - allowed, set())

    def expand(self, word: str) -> set[str]:
        if not word.startswith("@"):
            return {word}
        words = [w.strip() for w in do(self.systemd, "syscall-filter", "--no-pager", word).splitlines()[1:] if w.strip() and not w.strip().startswith("#")]
        return set().union(*(self.expand(w) for w in words))


class Kubernetes(unittest.TestCase):
    def setUp(self) -> None:
        python = python_with("kubernetes-validate", "HOLDUP_KUBERNETES_PYTHON", "kubernetes-validate", "a Python with kubernetes-validate")
        if not python:
            self.skipTest("no kubernetes-validate")
        self.python = python

    def documents(self, name: Any) -> list[dict[str, Any]]:
        return json.loads(do(self.python, "-c", "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))", KUBERNETES / name))

    def test_schemas_take_it(self) -> None:
        for version in ("1.27", "1.33"):
            said = do(pathlib.Path(self.python).parent / "kubernetes-validate", "--strict", "-k", version, KUBERNETES / "daemonset.yaml")
            self.assertEqual(len(re.findall("passed for resource", said)), 3, said)
        with tempfile.TemporaryDirectory(prefix="holdup-kube-") as folder:      # and would not take anything
            broken = pathlib.Path(folder, "x.yaml")
            broken.write_text((KUBERNETES / "daemonset.yaml").read_text().replace("hostPID: true", "hostPids: true"))
            do(pathlib.Path(self.python).parent / "kubernetes-validate", "--strict", "-k", "1.33", broken, status=1)

    def test_parts_fit_together(self) -> None:
        _, account, daemons = self.documents("daemonset.yaml")
        spec = daemons["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        self.assertEqual(spec["serviceAccountName"], account["metadata"]["name"])
        self.assertFalse(account["automountServiceAccountToken"])
        self.assertTrue(spec["hostPID"])
        self.assertEqual({m["name"] for m in container["volumeMounts"]}, {v["name"] for v in spec["volumes"]})
        for mount in container["volumeMounts"]:         # a path of the node is where --root makes the program look for it
            (volume,) = (v for v in spec["volumes"] if v["name"] == mount["name"])
            writes = mount["name"] == "jobs"            # its own socket, which it makes where jobs look for it
            self.assertEqual(mount["mountPath"], ("" if writes else "/host") + volume["hostPath"]["path"])
            self.assertEqual(mount.get("readOnly", False), not writes)
        self.assertEqual(container["securityContext"]["capabilities"], {"drop": ["ALL"], "add": ["SYS_PTRACE"]})
        (monitor,) = self.documents("podmonitor.yaml")
        labels = daemons["spec"]["template"]["metadata"]["labels"]
        self.assertEqual(monitor["spec"]["selector"]["matchLabels"], labels)
        self.assertIn(monitor["spec"]["podMetricsEndpoints"][0]["port"], [p["name"] for p in container["ports"]])
        (kustomization,) = self.documents("kustomization.yaml")
        self.assertTrue(all((KUBERNETES / r).exists() for r in kustomization["resources"]))

    def test_rules_become_a_resource(self) -> None:
        """By the command of the manual."""
        command = re.search(r"^    (\{ printf .*\n.*\}) \| kubectl", (ROOT / "docs/monitor.md").read_text(), re.M)
        self.assertIsNotNone(command)
        with tempfile.TemporaryDirectory(prefix="holdup-kube-") as folder:
            file = pathlib.Path(folder, "rule.yaml")
            file.write_text(subprocess.run(["sh", "-ec", command[1]], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout)
            (made,) = self.documents(file)
        self.assertEqual(made["kind"], "PrometheusRule")
        self.assertEqual(made["spec"], self.documents(ROOT / "packaging/prometheus/holdup.rules.yml")[0])

    def test_the_command_starts(self) -> None:
        """As the pod calls it, but for the port and the node's root."""
        command = self.documents("daemonset.yaml")[2]["spec"]["template"]["spec"]["containers"][0]["command"]
        self.assertEqual(command[0], "holdup")
        with tempfile.TemporaryDirectory(prefix="holdup-root-") as folder:
            os.symlink("/proc", pathlib.Path(folder, "proc"))
            os.symlink("/sys", pathlib.Path(folder, "sys"))
            words = [w.replace("/host", folder) for w in command[1:] if not w.startswith("--listen")]
            self.assertIn("holdup_host_cpu_seconds_total{", do(EXE, *words, "--once", "--period=0.2"))


class Layout(unittest.TestCase):
    def test_yamllint(self) -> None:
        rules = {"extends": "default", "rules": {"line-length": {"max": 160}, "document-start": "disable", "comments": {"min-spaces-from-content": 1}}}
        files = sorted(p for p in (ROOT / "packaging").rglob("*.y*ml"))
        self.assertGreater(len(files), 4)
        do(tool(self, "yamllint"), "--strict", "-d", json.dumps(rules), *files)


if __name__ == "__main__":
    unittest.main()
