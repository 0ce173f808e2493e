# SPDX-License-Identifier: Apache-2.0
"""Alerts of packaging/prometheus fire where they should, and only there: promtool plays series to them.  No program of ours runs here."""
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import tests.monitor_names as names
from tests.program import ROOT, SANITIZED, skip_loudly

RULES = ROOT / "packaging/prometheus/holdup.rules.yml"
GPU = 'gpu="5",uuid="GPU-5"'
JOB = 'scheduler="slurm",job_id="7",user="ada",job_name="x"'

LIVE = 'scheduler="slurm",job_id="7",step_id="0",user="ada"'
OVER_NODES = {"HoldupJobStepRegressed", "HoldupJobInputWait", "HoldupJobHangs"}        # of a job, on whichever nodes it is
ONE_JOB = OVER_NODES | {"HoldupJobRankLost"}            # their halves are the same job, and would be seen together


def steps(values: str, rank: int = 0) -> tuple[str, str]:
    return f"holdup_job_step_duration_seconds_sum{{{LIVE},rank='{rank}',INSTANCE}}", values


def counts(values: str, rank: int = 0) -> tuple[str, str]:
    return f"holdup_job_step_duration_seconds_count{{{LIVE},rank='{rank}',INSTANCE}}", values


def cause(values: str, name: str, rank: int = 0) -> tuple[str, str]:
    return f"holdup_job_cause_seconds_total{{{LIVE},rank='{rank}',cause='{name}',INSTANCE}}", values


# alert: pairs of series and their values where something is wrong, and where all is well or it is a near miss.  30 s lie between two values; the last word is at
# one hour.  INSTANCE is another node in each half.
SERIES: dict[str, tuple[list[tuple[str, str]], list[tuple[str, str]]]] = {
    "HoldupMonitorDown": ([("up{job='h',INSTANCE}", "1x60 0x60"), ("holdup_build_info{job='h',INSTANCE}", "1x60 _x60")],
                          [("up{job='node',INSTANCE}", "0x120")]),
    "HoldupSourceFailing": ([("holdup_monitor_source_up{source='nvidia',INSTANCE}", "0x120")],
                            [("holdup_monitor_source_up{source='nvidia',INSTANCE}", "0x110 1x10")]),
    "HoldupSamplesStale": ([("holdup_monitor_sample_age_seconds{source='nvidia',INSTANCE}", "300x120")],
                           [("holdup_monitor_sample_age_seconds{source='nvidia',INSTANCE}", "1x120")]),
    "HoldupMonitorStuck": ([("holdup_monitor_stuck{process='gpu',INSTANCE}", "1x120")], [("holdup_monitor_stuck{process='gpu',INSTANCE}", "0x120")]),
    "HoldupMonitorRestarting": ([("holdup_monitor_restarts_total{process='gpu',INSTANCE}", "0x100 1+1x20")],
                                [("holdup_monitor_restarts_total{process='gpu',INSTANCE}", "0x60 2x60")]),
    "HoldupGpuLost": ([(f"holdup_gpu_up{{{GPU},INSTANCE}}", "0x120")], [(f"holdup_gpu_up{{{GPU},INSTANCE}}", "1x120")]),
    "HoldupGpuMissing": ([("holdup_gpus_expected{vendor='nvidia',INSTANCE}", "8x120")],         # no driver: no holdup_gpu_up at all
                         [("holdup_gpus_expected{vendor='nvidia',INSTANCE}", "1x120"), (f"holdup_gpu_up{{{GPU},INSTANCE}}", "0x120")]),
    "HoldupGpuRecoveryAction": ([(f"holdup_gpu_recovery_action{{{GPU},INSTANCE}}", "1x120")], [(f"holdup_gpu_recovery_action{{{GPU},INSTANCE}}", "0x120")]),
    "HoldupGpuXidCritical": ([(f"holdup_gpu_xid_last_timestamp_seconds{{{GPU},xid='79',INSTANCE}}", "_x115 3450x5")],       # a new series: increase() would miss it
                             [(f"holdup_gpu_xid_last_timestamp_seconds{{{GPU},xid='79',INSTANCE}}", "3200x120"),
                              (f"holdup_gpu_xid_last_timestamp_seconds{{{GPU},xid='13',INSTANCE}}", "3590x120")]),
    "HoldupGpuXidWarning": ([(f"holdup_gpu_xid_last_timestamp_seconds{{{GPU},xid='94',INSTANCE}}", "3590x120")],
                            [(f"holdup_gpu_xid_last_timestamp_seconds{{{GPU},xid='79',INSTANCE}}", "3590x120")]),
    "HoldupGpuXidApplication": ([(f"holdup_gpu_xid_last_timestamp_seconds{{{GPU},xid='31',INSTANCE}}", "3590x120")],
                                [(f"holdup_gpu_xid_last_timestamp_seconds{{{GPU},xid='31',INSTANCE}}", "3000x120")]),
    "HoldupGpuEccUncorrected": ([(f"holdup_gpu_ecc_errors_total{{{GPU},type='uncorrected',INSTANCE}}", "2x120")],
                                [(f"holdup_gpu_ecc_errors_total{{{GPU},type='uncorrected',INSTANCE}}", "0x120"),
                                 (f"holdup_gpu_ecc_errors_total{{{GPU},type='corrected',INSTANCE}}", "9x120")]),
    "HoldupGpuRowRemapFailed": ([(f"holdup_gpu_row_remap_failed{{{GPU},INSTANCE}}", "1x120")], [(f"holdup_gpu_row_remap_failed{{{GPU},INSTANCE}}", "0x120")]),
    "HoldupGpuRowRemapPending": ([(f"holdup_gpu_row_remap_pending{{{GPU},INSTANCE}}", "1x120")], [(f"holdup_gpu_row_remap_pending{{{GPU},INSTANCE}}", "0x120")]),
    "HoldupGpuPagesPending": ([(f"holdup_gpu_retired_pages_pending{{{GPU},INSTANCE}}", "1x120")], [(f"holdup_gpu_retired_pages_pending{{{GPU},INSTANCE}}", "0x120")]),
    "HoldupGpuThermalSlowdown": ([(f"holdup_gpu_clock_event_reason{{{GPU},reason='hardware thermal slowdown',INSTANCE}}", "0x90 1x2 0x2 1x26")],
                                 [(f"holdup_gpu_clock_event_reason{{{GPU},reason='hardware thermal slowdown',INSTANCE}}", "1x20 0x100"),
                                  (f"holdup_gpu_clock_event_reason{{{GPU},reason='software power cap',INSTANCE}}", "1x120")]),
    "HoldupGpuPowerBrake": ([(f"holdup_gpu_clock_event_reason{{{GPU},reason='hardware power brake',INSTANCE}}", "1x120")],
                            [(f"holdup_gpu_clock_event_reason{{{GPU},reason='idle',INSTANCE}}", "1x120")]),
    "HoldupGpuClocksCapped": (
        [(f"holdup_gpu_{metric}{{gpu='{gpu}',uuid='{gpu}',INSTANCE}}", f"{value}x120") for gpu in range(4)
         for metric, value in (("sm_clock_hertz", 1410000000 if gpu == 3 else 1900000000), ("sm_clock_max_hertz", 1980000000), ("utilization_ratio", 1))],
        [(f"holdup_gpu_{metric}{{gpu='{gpu}',uuid='{gpu}',INSTANCE}}", f"{value}x120") for gpu in range(4)        # the slow one is idle
         for metric, value in (("sm_clock_hertz", 345000000 if gpu == 3 else 1900000000), ("sm_clock_max_hertz", 1980000000), ("utilization_ratio", int(gpu != 3)))]),
    "HoldupGpuMemoryNearlyFull": ([(f"holdup_gpu_memory_used_bytes{{{GPU},INSTANCE}}", "79x120"), (f"holdup_gpu_memory_total_bytes{{{GPU},INSTANCE}}", "80x120")],
                                  [(f"holdup_gpu_memory_free_bytes{{{GPU},INSTANCE}}", "4x120"), (f"holdup_gpu_memory_used_bytes{{{GPU},INSTANCE}}", "79x120"),
                                   (f"holdup_gpu_memory_total_bytes{{{GPU},INSTANCE}}", "80x120")]),
    "HoldupJobGpuIdle": ([(f"holdup_job_info{{{GPU},{JOB},INSTANCE}}", "1x120"), (f"holdup_gpu_allocated_idle_seconds_total{{{GPU},scheduler='slurm',job_id='7',user='ada',INSTANCE}}", "0+30x120")],
                         [(f"holdup_job_info{{{GPU},{JOB},INSTANCE}}", "1x120"),
                          (f"holdup_gpu_allocated_idle_seconds_total{{{GPU},scheduler='slurm',job_id='7',user='ada',INSTANCE}}", "9000+15x120")]),
    "HoldupJobGpuUnderused": ([(f"holdup_job_info{{{GPU},{JOB},INSTANCE}}", "1x120"), (f"holdup_gpu_sm_active_ratio{{{GPU},INSTANCE}}", "0.15x120"),
                               (f"holdup_gpu_utilization_ratio{{{GPU},INSTANCE}}", "0.97x120")],
                              [(f"holdup_job_info{{{GPU},{JOB},INSTANCE}}", "1x120"), (f"holdup_gpu_sm_active_ratio{{{GPU},INSTANCE}}", "0.15x120"),
                               (f"holdup_gpu_utilization_ratio{{{GPU},INSTANCE}}", "0.5x120")]),
    "HoldupJobCpuThrottled": ([("holdup_host_cgroup_cpu_periods_total{job_id='7',INSTANCE}", "0+300x120"), ("holdup_host_cgroup_cpu_throttled_periods_total{job_id='7',INSTANCE}", "0+90x120")],
                              [("holdup_host_cgroup_cpu_periods_total{job_id='7',INSTANCE}", "0+300x120"), ("holdup_host_cgroup_cpu_throttled_periods_total{job_id='7',INSTANCE}", "900+3x120")]),
    "HoldupJobOutOfMemory": ([("holdup_host_cgroup_oom_kills_total{job_id='7',INSTANCE}", "0x110 1x10")], [("holdup_host_cgroup_oom_kills_total{job_id='7',INSTANCE}", "3x120")]),
    "HoldupJobStepRegressed": ([steps("0+30x70 2140+40x49"), counts("0+3x120")], [steps("0+30x70 2131.5+31.5x49"), counts("0+3x120")]),
    "HoldupJobStraggler": ([row for rank, waits in enumerate((12, 12, 9)) for row in (steps("0+30x120", rank), counts("0+3x120", rank), cause(f"0+{waits}x120", "communication", rank))],
                           [row for rank, waits in enumerate((12, 12, 11.5)) for row in (steps("0+30x120", rank), counts("0+3x120", rank), cause(f"0+{waits}x120", "communication", rank))]),
    "HoldupJobInputWait": ([steps("0+30x120"), counts("0+3x120"), cause("0+9x120", "data-loading"), steps("0+30x120", 1), counts("0+3x120", 1)],    # rank 1 does not record it
                           [steps("0+30x120"), counts("0+3x120"), cause("0+3x120", "data-loading"), cause("0+20x120", "backward")]),
    "HoldupJobRankLost": ([(f"holdup_job_rank_up{{{LIVE},rank='1',INSTANCE}}", "1x110 0x10"), (f"holdup_job_ranks{{{LIVE},INSTANCE}}", "3x120")],
                          [(f"holdup_job_rank_up{{{LIVE},rank='1',INSTANCE}}", "1x110 0x10"), (f"holdup_job_ranks{{{LIVE},INSTANCE}}", "3x110 0x10")]),      # all have ended
    "HoldupJobCheckpointStalled": ([(f"holdup_job_holdup{{{LIVE},cause='checkpoint',INSTANCE}}", "0x90 1x30")],
                                   [(f"holdup_job_holdup{{{LIVE},cause='checkpoint',INSTANCE}}", "0x100 1x1 0x19"),
                                    (f"holdup_job_holdup{{{LIVE},cause='communication',INSTANCE}}", "1x120")]),
    "HoldupJobHangs": ([steps("0+30x60 1800x60"), counts("0+3x60 180x60"), (f"holdup_job_last_step_timestamp_seconds{{{LIVE},rank='0',INSTANCE}}", "0+30x60 1800x60"),
                        (f"holdup_job_ranks{{{LIVE},INSTANCE}}", "1x120")],
                       [steps("0+30x120"), counts("0+0.075x120"), (f"holdup_job_last_step_timestamp_seconds{{{LIVE},rank='0',INSTANCE}}", "3250x120"),       # steps of 400 s
                        (f"holdup_job_ranks{{{LIVE},INSTANCE}}", "1x120")]),
    "HoldupHostCpuPressure": ([("holdup_host_pressure_waiting_seconds_total{resource='cpu',INSTANCE}", "0+24x120")],
                              [("holdup_host_pressure_waiting_seconds_total{resource='cpu',INSTANCE}", "0+9x120")]),
    "HoldupHostMemoryPressure": ([("holdup_host_pressure_stalled_seconds_total{resource='memory',INSTANCE}", "0+6x120")],
                                 [("holdup_host_pressure_stalled_seconds_total{resource='memory',INSTANCE}", "0+1x120")]),
    "HoldupHostIoPressure": ([("holdup_host_pressure_stalled_seconds_total{resource='io',INSTANCE}", "0+15x120")],
                             [("holdup_host_pressure_stalled_seconds_total{resource='io',INSTANCE}", "0+6x120")]),
    "HoldupHostMemoryLow": ([("holdup_host_memory_available_bytes{INSTANCE}", "2x120"), ("holdup_host_memory_total_bytes{INSTANCE}", "100x120")],
                            [("holdup_host_memory_available_bytes{INSTANCE}", "20x120"), ("holdup_host_memory_total_bytes{INSTANCE}", "100x120")]),
    "HoldupInfinibandDown": ([("holdup_host_infiniband_up{device='mlx5_0',port='1',INSTANCE}", "1x100 0x20")],
                             [("holdup_host_infiniband_up{device='mlx5_0',port='1',INSTANCE}", "0x120")]),        # a port that nobody uses
    "HoldupInfinibandErrors": ([("holdup_host_infiniband_errors_total{device='mlx5_0',port='1',error='symbol_error',INSTANCE}", "0+1x120")],
                               [("holdup_host_infiniband_errors_total{device='mlx5_0',port='1',error='symbol_error',INSTANCE}", "500x120"),
                                ("holdup_host_infiniband_errors_total{device='mlx5_0',port='1',error='port_xmit_discards',INSTANCE}", "0+9x120")]),
}


def promtool(case: unittest.TestCase, *words: str) -> str:
    if not shutil.which("promtool"):
        skip_loudly(f"promtool is not installed (scripts/setup test): {case.id()}")
        case.skipTest("no promtool")
    done = subprocess.run(["promtool", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    case.assertEqual(done.returncode, 0, done.stdout)
    return done.stdout


def alerts() -> list[str]:
    return re.findall(r"^ +- alert: (\w+)$", RULES.read_text(), re.M)


@unittest.skipIf(SANITIZED, "no program of ours runs here")
class Rules(unittest.TestCase):
    def test_promtool_takes_the_files(self) -> None:
        self.assertIn("SUCCESS", promtool(self, "check", "rules", str(RULES)))
        self.assertIn("SUCCESS", promtool(self, "check", "config", str(ROOT / "packaging/prometheus/prometheus.yml")))

    def test_each_alert_fires_and_is_silent(self) -> None:
        self.assertEqual(sorted(SERIES), sorted(alerts()))
        groups = []
        for alert, halves in SERIES.items():
            named = [[{"series": s.replace("INSTANCE", f'instance="{which}"').replace("'", '"'), "values": v} for s, v in half] for which, half in zip(("wrong", "well"), halves)]
            for worlds in ([named[0]], [named[1]]) if alert in ONE_JOB else ([named[0], named[1]],):
                fires = [] if worlds == [named[1]] else [{"labels": "{}" if alert in OVER_NODES else '{instance="wrong"}', "value": 1}]
                groups.append({"interval": "30s", "input_series": sum(worlds, []), "promql_expr_test": [
                    {"expr": f'count by (instance) (ALERTS{{alertname="{alert}",alertstate="firing"}})', "eval_time": "1h", "exp_samples": fires}]})
        with tempfile.TemporaryDirectory(prefix="holdup-rules-") as folder:
            file = pathlib.Path(folder, "test.yml")
            file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "30s", "tests": groups}))        # JSON is YAML
            self.assertIn("SUCCESS", promtool(self, "test", "rules", str(file)))

    def test_idle_time_names_job_and_user(self) -> None:
        """The labels that whoever is called reads."""
        wrong = SERIES["HoldupJobGpuIdle"][0]
        test = {"interval": "30s", "input_series": [{"series": s.replace("INSTANCE", 'instance="node"').replace("'", '"'), "values": v} for s, v in wrong],
                "promql_expr_test": [{"expr": 'ALERTS{alertname="HoldupJobGpuIdle"}', "eval_time": "1h", "exp_samples": [{"value": 1, "labels":
                    'ALERTS{alertname="HoldupJobGpuIdle",alertstate="firing",gpu="5",instance="node",job_id="7",job_name="x",scheduler="slurm",severity="warning",user="ada",uuid="GPU-5"}'}]}]}
        with tempfile.TemporaryDirectory(prefix="holdup-rules-") as folder:
            file = pathlib.Path(folder, "test.yml")
            file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "30s", "tests": [test]}))
            self.assertIn("SUCCESS", promtool(self, "test", "rules", str(file)))

    def test_the_straggler_of_a_job_is_named_over_nodes(self) -> None:
        """Four ranks on two nodes; rank 2 is late, and only the others wait."""
        of = LIVE.replace("'", '"')
        series = [{"series": s.replace("INSTANCE", f'instance="n{rank // 2}"').replace("'", '"'), "values": v} for rank, waits in enumerate((12, 12, 6, 12))
                  for s, v in (steps("0+30x120", rank), counts("0+3x120", rank), cause(f"0+{waits}x120", "communication", rank))]
        test = {"interval": "30s", "input_series": series, "promql_expr_test": [
            {"expr": "round(job:holdup_straggler:ratio, 0.001)", "eval_time": "1h", "exp_samples": [{"labels": f'{{instance="n1",rank="2",{of}}}', "value": 0.333}]},
            {"expr": "round(rank:holdup_own_seconds:avg5m, 0.001)", "eval_time": "1h",
             "exp_samples": [{"labels": f'{{instance="n{rank // 2}",rank="{rank}",{of}}}', "value": 8 if rank == 2 else 6} for rank in range(4)]},
            {"expr": 'round(job:holdup_cause:ratio5m{cause="communication"}, 0.001)', "eval_time": "1h", "exp_samples": [{"labels": f'{{cause="communication",{of}}}', "value": 0.35}]}]}
        with tempfile.TemporaryDirectory(prefix="holdup-rules-") as folder:
            file = pathlib.Path(folder, "test.yml")
            file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "30s", "tests": [test]}))
            self.assertIn("SUCCESS", promtool(self, "test", "rules", str(file)))

    def test_energy_of_steps_and_samples(self) -> None:
        """Two nodes with a rank each: joules of both, for each step that they take together."""
        job = 'scheduler="slurm",job_id="7",user="ada"'
        series = [{"series": f'{name}{{instance="n{node}",{job}{more}}}', "values": values} for node in (0, 1) for name, more, values in (
            ("holdup_job_energy_joules_total", ',source="gpu"', f"0+{9000 + 6000 * node}x120"), ("holdup_job_energy_joules_total", ',source="cpu"', "0+3000x120"),
            ("holdup_job_step_duration_seconds_count", f',rank="{node}"', "0+60x120"), ("holdup_job_samples_total", f',rank="{node}"', "0+1920x120"))]
        test = {"interval": "30s", "input_series": series, "promql_expr_test": [
            {"expr": "round(job:holdup_energy_per_step_joules:avg5m, 0.001)", "eval_time": "1h", "exp_samples": [{"labels": f"{{{job}}}", "value": 500}]},
            {"expr": "round(job:holdup_energy_per_sample_joules:avg5m, 0.001)", "eval_time": "1h", "exp_samples": [{"labels": f"{{{job}}}", "value": 7.813}]}]}
        with tempfile.TemporaryDirectory(prefix="holdup-rules-") as folder:
            file = pathlib.Path(folder, "test.yml")
            file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "30s", "tests": [test]}))
            self.assertIn("SUCCESS", promtool(self, "test", "rules", str(file)))

    def test_a_shared_gpu_is_no_error_and_counted_once(self) -> None:
        info = 'holdup_job_info{instance="node",gpu="0",uuid="A",scheduler="slurm",job_id="%d",user="u",rank="%d"}'
        test = {"interval": "30s",
                "input_series": [{"series": info % (7, 0), "values": "1x20"}, {"series": info % (8, 0), "values": "1x20"}, {"series": info % (8, 1), "values": "1x20"},
                                 {"series": 'holdup_gpu_power_watts{instance="node",gpu="0",uuid="A"}', "values": "600x20"},
                                 {"series": 'holdup_gpu_utilization_ratio{instance="node",gpu="0",uuid="A"}', "values": "0.5x20"}],
                "promql_expr_test": [
                    {"expr": "sum(job:holdup_gpu_power_watts:sum)", "eval_time": "5m", "exp_samples": [{"labels": "{}", "value": 600}]},
                    {"expr": "count(job:holdup_gpu_power_watts:sum == 300)", "eval_time": "5m", "exp_samples": [{"labels": "{}", "value": 2}]},
                    {"expr": "count(job:holdup_gpu_activity:avg == 0.5)", "eval_time": "5m", "exp_samples": [{"labels": "{}", "value": 2}]},
                    {"expr": "sum(job:holdup_gpus:count)", "eval_time": "5m", "exp_samples": [{"labels": "{}", "value": 2}]}]}
        with tempfile.TemporaryDirectory(prefix="holdup-rules-") as folder:
            file = pathlib.Path(folder, "test.yml")
            file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "30s", "tests": [test]}))
            self.assertIn("SUCCESS", promtool(self, "test", "rules", str(file)))

    def test_metrics_are_ours(self) -> None:
        """A metric that nobody exports makes an alert that never fires."""
        text = RULES.read_text()
        recorded = set(re.findall(r"- record: (\S+)$", text, re.M))
        used = names.of_text("\n".join(re.findall(r"expr: (.*?)\n(?= +(?:for|labels|- |$)|\n|\Z)", text, re.S)))
        self.assertGreater(len(used), 30)
        self.assertEqual(names.missing(used - recorded - {"up"}), set())

    def test_reasons_are_the_drivers_words(self) -> None:
        """What lowers a clock is a label of words, which all sources take from one table."""
        words = set(re.findall(r'R\(\w+, 0x\w+, \w+, "([^"]+)"\)', (ROOT / "src/base/gpu_counters.h").read_text()))
        asked = set(re.findall(r'reason="([^"]+)"', RULES.read_text()))
        self.assertTrue(asked and asked <= words, asked - words)

    def test_each_alert_has_its_part_of_the_manual(self) -> None:
        manual = (ROOT / "docs/monitor.md").read_text()
        for alert in alerts():
            self.assertIn(f"runbook: docs/monitor.md#{alert.lower()}\n", RULES.read_text())
            self.assertIn(f'<a id="{alert.lower()}"></a>', manual)


if __name__ == "__main__":
    unittest.main()
