# SPDX-License-Identifier: Apache-2.0
"""`holdup monitor --demo` under a real Prometheus: rules evaluate, each scenario has its alerts and a healthy node none, and every panel of a dashboard shows something."""
from __future__ import annotations

import json
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import unittest
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

import tests.monitor_names as names
from tests.program import EXE, ROOT, python_with, run, skip_loudly

GRAFANA = ROOT / "packaging/grafana"
RULES = ROOT / "packaging/prometheus/holdup.rules.yml"
SPEC = tomllib.loads((GRAFANA / "spec.toml").read_text())["dashboard"]
PATIENCE_S = 180        # of a crowded machine; nothing is asserted about it

# What each scenario is for: alerts that fire, or do once it has lasted.
ALERTS = {
    "training": set(),
    "idle-allocation": set(),       # 15 minutes of it: tests/test_monitor_rules.py
    "throttled": {"HoldupGpuThermalSlowdown", "HoldupGpuPowerBrake"},
    "xid": {"HoldupGpuLost", "HoldupGpuXidCritical", "HoldupJobGpuUnderused"},
    "straggler": {"HoldupGpuClocksCapped", "HoldupJobStraggler"},
    "input-bound": {"HoldupJobGpuUnderused", "HoldupJobInputWait"},
    "mig": set(),
    "kubernetes": set(),
    "ecc": {"HoldupGpuEccUncorrected", "HoldupGpuRowRemapPending", "HoldupGpuRowRemapFailed", "HoldupGpuRecoveryAction", "HoldupGpuXidWarning"},
    "lost-rank": {"HoldupJobRankLost", "HoldupJobGpuUnderused"},
    "checkpoint-stall": {"HoldupJobCheckpointStalled"},
    "regressed": set(),             # half an hour of it: tests/test_monitor_rules.py
}
MAY = {"mig": {"HoldupJobInputWait"}, "throttled": {"HoldupGpuClocksCapped"}, "straggler": {"HoldupJobGpuUnderused"}, "lost-rank": {"HoldupJobHangs"},
       "checkpoint-stall": {"HoldupJobHangs"}, "regressed": {"HoldupJobInputWait", "HoldupJobStepRegressed"}}      # true of them, too, for a part of the time
JOBS = {"48230": "input-bound", "48240": "straggler", "48241": "lost-rank", "48242": "checkpoint-stall", "48243": "regressed", "48312": "mig"}      # of one scenario alone
OF_THIS_MACHINE = re.compile("^Holdup(Host|JobCpu|JobOut|Infiniband|Samples|Source|Monitor)")       # and of who else wants its processors


def panels(dashboard: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    return [(p, q) for p in dashboard["panel"] for q in ([q for q, _ in p["queries"]] if "queries" in p else [p["query"]])]


class Spec(unittest.TestCase):
    def test_scenarios_are_listed(self) -> None:
        status, out, _ = run("monitor", "--demo=list")
        self.assertEqual(status, 0)
        self.assertEqual([line.split()[0] for line in out.decode().splitlines()], list(ALERTS))
        self.assertLessEqual(max(map(len, out.decode().splitlines())), 80)
        status, _, err = run("monitor", "--demo=nothing")
        self.assertEqual(status, 2)
        self.assertIn("--demo=list", err)

    def test_dashboards_are_what_the_script_makes(self) -> None:
        with tempfile.TemporaryDirectory(prefix="holdup-dashboards-") as folder:
            subprocess.run([sys.executable, ROOT / "scripts/dashboards", folder], check=True, timeout=60)
            made = {p.name: p.read_text() for p in pathlib.Path(folder).iterdir()}
        self.assertEqual(made, {p.name: p.read_text() for p in GRAFANA.glob("holdup-*.json")})
        self.assertEqual(len(made), 3)

    def test_schema_of_grafana_knows_each_word(self) -> None:
        """Grafana's own models (of 10.1) read each dashboard and write it down again: what they do not know would be lost, or differ."""
        python = python_with("grafana-foundation-sdk", "HOLDUP_GRAFANA_PYTHON", "grafana-foundation-sdk", "a Python with grafana-foundation-sdk")
        if not python:
            self.skipTest("no grafana-foundation-sdk")
        program = ("import json, sys\nfrom grafana_foundation_sdk.cog import encoder, plugins\nfrom grafana_foundation_sdk.models import dashboard\n"
                   "plugins.register_default_plugins()\n"
                   "print(encoder.JSONEncoder().encode(dashboard.Dashboard.from_json(json.load(sys.stdin))))\n")

        def lost(mine: Any, theirs: Any, where: str) -> list[str]:
            if isinstance(mine, dict) and isinstance(theirs, dict):
                return [x for k, v in mine.items() for x in (lost(v, theirs[k], f"{where}/{k}") if k in theirs else [f"{where}/{k}"])]
            if isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
                return [x for i, (a, b) in enumerate(zip(mine, theirs)) for x in lost(a, b, f"{where}/{i}")]
            return [] if mine == theirs else [f"{where}: {mine} {theirs}"]

        for file in GRAFANA.glob("holdup-*.json"):
            text = file.read_text()
            for given, is_right in ((text, True), (text.replace('"gridPos"', '"gridPosition"'), False)):
                again = subprocess.run([python, "-c", program], input=given, capture_output=True, text=True, check=True, timeout=120).stdout
                self.assertEqual(lost(json.loads(given), json.loads(again), "") == [], is_right, file.name)

    def test_dashboards_are_whole(self) -> None:
        for file in GRAFANA.glob("holdup-*.json"):
            board = json.loads(file.read_text())
            self.assertGreaterEqual(board["schemaVersion"], 38)
            self.assertEqual(board["templating"]["list"][0]["type"], "datasource")
            self.assertEqual(len({p["id"] for p in board["panels"]}), len(board["panels"]))
            cells: set[tuple[int, int]] = set()
            for p in board["panels"]:
                g = p["gridPos"]
                self.assertLessEqual(g["x"] + g["w"], 24)
                mine = {(x, y) for x in range(g["x"], g["x"] + g["w"]) for y in range(g["y"], g["y"] + g["h"])}
                self.assertFalse(cells & mine, f"{file.name}: {p['title']} lies on another panel")
                cells |= mine
                self.assertIn(p["type"], ("stat", "timeseries", "table", "row"))
                for target in p.get("targets", []):
                    self.assertEqual(target["datasource"]["uid"], "${datasource}")
                    used = set(re.findall(r"\$\{?(\w+)", target["expr"])) - {"__rate_interval"}
                    self.assertLessEqual(used, {v["name"] for v in board["templating"]["list"]})

    def test_metrics_are_ours(self) -> None:
        recorded = set(re.findall(r"- record: (\S+)$", RULES.read_text(), re.M))
        used = names.of_text("\n".join(q for d in SPEC for _, q in panels(d)))
        self.assertGreater(len(used), 30)
        self.assertEqual(names.missing(used - recorded), set())


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


class Prometheus(unittest.TestCase):
    url: str
    metrics: set[str]

    @classmethod
    def setUpClass(cls) -> None:
        if not shutil.which("prometheus"):
            skip_loudly("prometheus is not installed (scripts/setup test): rules and dashboards were not tried on it")
            raise unittest.SkipTest("no prometheus")
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-fleet-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        ports = {scenario: cls.exporter(scenario) for scenario in ALERTS}
        (cls.folder / "prometheus.yml").write_text(json.dumps({         # JSON is YAML
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}, "rule_files": [str(RULES)],
            "scrape_configs": [{"job_name": "holdup", "static_configs": [{"targets": [f"127.0.0.1:{port}"], "labels": {"instance": scenario}} for scenario, port in ports.items()]}]}))
        cls.start_prometheus()
        cls.wait("min(count_over_time(up[10m]) * up) >= 4 and count(up) == %d" % len(ALERTS))
        cls.wait("sum(job:holdup_gpu_allocated_idle:sum_rate5m) and count(ALERTS)")     # the last of a chain of recorded series
        with urllib.request.urlopen(f"http://127.0.0.1:{ports['training']}/metrics", timeout=60) as answer:
            cls.metrics = set(re.findall(r"^(\w+)[{ ]", answer.read().decode(), re.M))

    @classmethod
    def start(cls, *words: Any) -> tuple["subprocess.Popen[str]", pathlib.Path]:
        log = cls.folder / f"log{len(list(cls.folder.glob('log*')))}"
        with log.open("w") as to:
            process = subprocess.Popen([str(w) for w in words], stdout=to, stderr=subprocess.STDOUT, text=True)     # pylint: disable=consider-using-with
        cls.addClassCleanup(cls.stop, process)
        return process, log

    @staticmethod
    def stop(process: "subprocess.Popen[str]") -> None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    @classmethod
    def exporter(cls, scenario: str) -> int:
        process, log = cls.start(EXE, "monitor", f"--demo={scenario}", "--listen=127.0.0.1:0")
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and process.poll() is None:
            found = re.search(r"http://127\.0\.0\.1:(\d+)/metrics", log.read_text())
            if found:
                return int(found[1])
            time.sleep(.05)
        raise AssertionError(f"no port: {log.read_text()}")

    @classmethod
    def start_prometheus(cls) -> None:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            port = free_port()
            cls.url = f"http://127.0.0.1:{port}"
            process, log = cls.start("prometheus", f"--config.file={cls.folder / 'prometheus.yml'}", f"--storage.tsdb.path={cls.folder / f'data{port}'}",
                                     f"--web.listen-address=127.0.0.1:{port}")
            while time.monotonic() < end and process.poll() is None:        # it ends where somebody else took the port
                try:
                    with urllib.request.urlopen(f"{cls.url}/-/ready", timeout=10):
                        return
                except (urllib.error.URLError, OSError):
                    time.sleep(.1)
        raise AssertionError(f"prometheus did not start: {log.read_text()}")

    @classmethod
    def ask(cls, path: str, **words: str) -> Any:
        with urllib.request.urlopen(f"{cls.url}/api/v1/{path}?{urllib.parse.urlencode(words)}", timeout=60) as answer:
            return json.load(answer)["data"]

    @classmethod
    def query(cls, expr: str) -> list[dict[str, Any]]:
        try:
            return cls.ask("query", query=expr)["result"]
        except urllib.error.HTTPError as problem:
            raise AssertionError(f"{expr}: {problem.read().decode()}") from problem

    @classmethod
    def comes(cls, expr: str) -> bool:
        """Whether it has a value now or soon: a sampler that got no processor for two periods has no series for a while."""
        end = time.monotonic() + PATIENCE_S
        while not cls.query(expr):
            if time.monotonic() > end:
                return False
            time.sleep(.2)
        return True

    @classmethod
    def wait(cls, expr: str) -> None:
        if not cls.comes(expr):
            raise AssertionError(f"nothing came of {expr}")

    def filled(self, query: str, instance: str, job: str, pod: str) -> str:
        for name, value in {"__rate_interval": "30s", "instance": instance, "gpu": ".*", "job_id": job, "k8s_pod": pod}.items():
            query = query.replace("$" + name, value)
        self.assertNotIn("$", query)
        return query

    def test_each_panel_shows_something(self) -> None:
        for board in SPEC:
            for panel, query in panels(board):
                wanted = [(panel.get("scenario", "training"), "48213", ".*")] + [("training", ".*", "chat-.*")] * (board["name"] == "job" and panel.get("of") not in ("node", "steps"))
                for instance, job, pod in wanted:
                    filled = self.filled(query, instance, job, pod)
                    if panel.get("of") == "node" and not names.of_text(query) <= self.metrics:      # what the node does not have cannot be shown; what it has must be
                        skip_loudly(f"panel {panel['title']}: this machine has nothing to show there")
                    else:
                        self.assertTrue(self.comes(filled), f"{board['name']}: {panel['title']} shows nothing: {filled}")

    def test_rules_evaluate(self) -> None:
        rules = [r for g in self.ask("rules")["groups"] for r in g["rules"]]
        self.assertGreater(len(rules), 30)
        for rule in rules:
            self.assertEqual((rule["health"], rule.get("lastError", "")), ("ok", ""), rule["name"])
            if rule["type"] == "recording":
                self.assertTrue(self.comes(rule["name"]), f"{rule['name']} records nothing")

    def test_each_scenario_has_its_alerts(self) -> None:
        for scenario, wanted in ALERTS.items():
            job = next((job for job, of in JOBS.items() if of == scenario), "none")
            for alert in wanted:        # those of a job name no node
                self.wait(f'ALERTS{{instance="{scenario}",alertname="{alert}"}} or ALERTS{{instance="",job_id="{job}",alertname="{alert}"}}')
        active = self.query("ALERTS")
        for scenario, wanted in ALERTS.items():
            found = {a["metric"]["alertname"] for a in active if a["metric"].get("instance", JOBS.get(a["metric"].get("job_id", ""))) == scenario}
            found = {a for a in found if not OF_THIS_MACHINE.match(a)}
            self.assertLessEqual(found, wanted | MAY.get(scenario, set()), scenario)
        strangers = {a["metric"].get("job_id") for a in active if "instance" not in a["metric"]}
        self.assertLessEqual(strangers, set(JOBS), "an alert of a job that is in several scenarios")

    def test_alerts_are_of_the_right_gpu(self) -> None:
        for scenario, alert, gpu in (("throttled", "HoldupGpuThermalSlowdown", "2"), ("throttled", "HoldupGpuPowerBrake", "6"), ("xid", "HoldupGpuLost", "5"),
                                     ("xid", "HoldupGpuXidCritical", "5"), ("straggler", "HoldupGpuClocksCapped", "3"), ("ecc", "HoldupGpuEccUncorrected", "4"),
                                     ("ecc", "HoldupGpuRowRemapFailed", "6")):
            expr = f'ALERTS{{instance="{scenario}",alertname="{alert}"}}'
            self.wait(expr)
            self.assertEqual({a["metric"]["gpu"] for a in self.query(f"last_over_time({expr}[5m])")}, {gpu}, alert)

    def test_texts_of_alerts_are_filled(self) -> None:
        alerts = self.ask("alerts")["alerts"]
        self.assertGreater(len(alerts), 10)
        for alert in alerts:
            for text in alert["annotations"].values():
                self.assertNotRegex(text, r"<no value>|%!|\{\{|GPU +of|of +has|of *$|job +of", alert)

    def test_jobs_add_up(self) -> None:
        """What is credited to jobs is what their GPUs draw, each GPU once."""
        here = 'instance!="mig"'        # the power of a divided GPU is nobody's
        got = float(self.query('sum(gpu_job:holdup_share:ratio{%s} * on (instance, uuid) group_left () holdup_gpu_power_watts)' % here)[0]["value"][1])
        want = float(self.query('sum(holdup_gpu_power_watts{%s} and on (instance, uuid) holdup_job_info)' % here)[0]["value"][1])
        self.assertAlmostEqual(got, want, delta=want * 1e-9)
        self.assertEqual(self.query("max(count by (instance, uuid) (gpu_job:holdup_share:ratio))")[0]["value"][1], "1")

    def test_totals_and_rates_agree(self) -> None:
        """Of a job that works and of one that idles."""
        energy = 'rate(holdup_gpu_energy_joules_total{instance="idle-allocation",gpu="%d"}[5m])'
        self.wait(f"{energy % 0} > ignoring (gpu, uuid) {energy % 7} > 0")      # a GPU that works draws more than one that idles
        idle = {r["metric"]["gpu"]: float(r["value"][1]) for r in self.query('rate(holdup_gpu_allocated_idle_seconds_total{instance="idle-allocation"}[5m])')}
        self.assertGreater(idle["7"], 0)
        self.assertAlmostEqual(idle["7"], idle["6"], delta=idle["7"] * .01)
        self.assertLess(idle["0"], idle["7"] / 2)
        self.assertGreater(min(float(r["value"][1]) for r in self.query('holdup_gpu_allocated_idle_seconds_total{instance="idle-allocation",job_id="48219"}')), 7320)


if __name__ == "__main__":
    unittest.main()
