# SPDX-License-Identifier: Apache-2.0
"""Energy by job (holdup monitor's jobs sampler): what GPUs used that one job had alone, and what of it while they did nothing."""
from __future__ import annotations

import shutil
import unittest
from typing import Any

from tests.test_monitor_jobs import SLURM, Source, Tree
from tests.test_monitor_nvidia import Case, of

GROUP = "0::/system.slice/slurmstepd.scope/job_{}/step_0/user/task_0\n"


class Energy(Tree):
    def job(self, name: str, *gpus: str) -> None:
        minors = ",".join(str(ord(gpu[-1]) - ord("a")) for gpu in gpus)
        self.put(f"run/holdup/jobs/job.{name}", f"user=ada\naccount=physics\npartition=h100\nname=train\ngpus={','.join(gpus)}\nminors={minors}\n")

    def step(self, source: Source, joules: dict[str, float], busy: float, looks: int = 5) -> Any:
        """A medium period: counters change at its beginning, and looks follow."""
        for gpu, value in joules.items():
            source.gpu(gpu, ord(gpu[-1]) - ord("a"), busy)
            source.say("energy", gpu, value)
        return source.look(looks)

    def all_and_idle(self, rows: Any, **labels: str) -> tuple[float, float]:
        told = rows.one("job_energy_joules_total", source="gpu", **labels)
        self.assertEqual(told["step_id"], "")
        return told["value"], rows.one("job_energy_wasted_joules_total", cause="allocated-idle", **labels)["value"]

    def test_one_job_two_gpus(self) -> None:
        """500 and 400 J in a period at work, 100 and 90 in an idle one.  What lies before the first change is not known to be the job's."""
        self.job("42", "GPU-a", "GPU-b")
        source = self.source()
        rows = self.step(source, {"GPU-a": 10_000, "GPU-b": 20_000}, 0.9)
        self.assertEqual(self.all_and_idle(rows, job_id="42", user="ada"), (0, 0))
        rows = self.step(source, {"GPU-a": 10_450, "GPU-b": 20_350}, 0.9)      # begun before anybody looked
        self.assertEqual(self.all_and_idle(rows), (0, 0))
        rows = self.step(source, {"GPU-a": 10_950, "GPU-b": 20_750}, 0.9)
        self.assertEqual(self.all_and_idle(rows), (900, 0))
        rows = self.step(source, {"GPU-a": 11_450, "GPU-b": 21_150}, 0.01)     # the counters rose at work, in the period before
        self.assertEqual(self.all_and_idle(rows), (1800, 0))
        rows = self.step(source, {"GPU-a": 11_550, "GPU-b": 21_240}, 0.01)
        self.assertEqual(self.all_and_idle(rows), (1990, 190))
        rows = self.step(source, {"GPU-a": 11_650, "GPU-b": 21_330}, 0.01)
        self.assertEqual(self.all_and_idle(rows), (2180, 380))
        source.say("restart")
        self.assertEqual(self.all_and_idle(source.look()), (2180, 380), "a restart loses nothing")

    def test_waiting_is_an_upper_bound(self) -> None:
        """Stretches of 1,000 J. What is told at their last look is of them, too; of several shares the largest counts, and what is not told may all be waiting."""
        self.put("run/holdup/jobs/job.42", "scheduler=slurm\nuser=ada\ngpus=GPU-a\nminors=0\n")
        source = self.source()
        for joules in (1000, 2000, 3000):       # known from its second change on
            rows = self.step(source, {"GPU-a": joules}, 0.9)
        self.assertEqual(rows.of("job_energy_waited_joules_total"), [], "it has told nothing")
        before = 1000.0
        for share, busy, more in ((0.2, 0.9, 1000), (0.2, 0.9, 200), (0.6, 0.9, 600), (0.2, 0.9, 600), (0.2, 0.01, 200), (0.2, 0.01, 0), (-1, 0.9, 1000),
                                  (0.2, 0.9, 1000), (0, 0.9, 200), (0, 0.9, 0)):
            joules += 1000
            source.say("waits", "slurm", "42", share)
            rows = self.step(source, {"GPU-a": joules}, busy)
            self.assertAlmostEqual(self.waited(rows) - before, more, 6, (joules, share, busy))
            before = self.waited(rows)
        told = rows.one("job_energy_waited_joules_total", job_id="42")
        self.assertEqual((told["cause"], told["bound"], told["step_id"]), ("data-or-communication", "upper", ""))
        everything, idle = self.all_and_idle(rows)
        self.assertEqual(idle, 1000, "what is wasted for sure is not counted as waiting")
        self.assertLessEqual(told["value"] + idle, everything)
        source.say("restart")
        self.assertEqual(self.waited(source.look()), told["value"], "a restart loses nothing")

    @staticmethod
    def waited(rows: Any) -> float:
        return sum(r["value"] for r in rows.of("job_energy_waited_joules_total"))

    def test_another_jobs_waiting_is_not_this_ones(self) -> None:
        self.put("run/holdup/jobs/job.42", "scheduler=slurm\nuser=ada\ngpus=GPU-a\nminors=0\n")
        source = self.source()
        source.say("waits", "slurm", "43", 0.5)
        for joules in (1000, 2000, 3000):
            rows = self.step(source, {"GPU-a": joules}, 0.9)
        self.assertEqual(rows.of("job_energy_waited_joules_total"), [])

    def test_a_shared_gpu_is_nobodys(self) -> None:
        """Two jobs on one GPU: neither gets what the board used; the one that stays gets what comes after."""
        self.process(100, GROUP.format(42), **SLURM)
        self.process(200, GROUP.format(43), start=600, **{**SLURM, "SLURM_JOB_ID": "43"})
        source = self.source()
        for joules in (1000, 2000, 3000):
            source.gpu("GPU-a", 0, 0.9, "100:0.5", "200:0.4")
            source.say("energy", "GPU-a", joules)
            rows = source.look(5)
        self.assertEqual(rows.of("job_energy_joules_total"), [])
        for joules in (4000, 5000, 6000):
            source.gpu("GPU-a", 0, 0.9, "100:0.9")
            source.say("energy", "GPU-a", joules)
            rows = source.look(5)
        self.assertEqual(self.all_and_idle(rows, job_id="42"), (1000, 0))
        self.assertEqual(rows.of("job_energy_joules_total", job_id="43"), [])

    def test_parts_and_silent_boards(self) -> None:
        """A device of a divided GPU has no counter, nor has a board whose driver does not tell: no series, never 0."""
        self.put("run/holdup/jobs/0", "42\n")
        source = self.source()
        source.gpu("GPU-a", 0, 0.5)
        self.assertEqual(source.look(3).of("job_energy_joules_total"), [])
        source.gpu("GPU-b", 1, -1)
        source.say("mig", "MIG-b3", "GPU-b", 3, 0.5)
        source.say("energy", "GPU-b", 700)
        source.say("energy", "MIG-b3", 700)
        self.put("run/holdup/jobs/1", "43\n")
        self.assertEqual(source.look(3).of("job_energy_joules_total"), [])

    def test_the_driver_is_loaded_anew(self) -> None:
        """A counter that begins anew adds nothing for that period, and goes on."""
        self.job("42", "GPU-a")
        source = self.source()
        rows = None
        for joules in (5000, 6000, 7000, 10, 60, 160):
            rows = self.step(source, {"GPU-a": joules}, 0.9)
        self.assertEqual(self.all_and_idle(rows), (1000 + 100, 0))

    def test_processors_of_a_job_that_has_the_node(self) -> None:
        """
        Packages and memory of looks between which SLURM had one job here: 7 J and 3 J more, a counter that begins anew, and nothing while there were two jobs.
        Five looks are a period.
        """
        scope = "sys/fs/cgroup/system.slice/slurmstepd.scope"
        self.put(f"{scope}/job_42/step_extern/cgroup.procs", "")
        self.put(f"{scope}/job_42/step_0/user/task_0/cgroup.procs", "100\n")
        self.process(100, GROUP.format(42), **SLURM, SLURM_JOB_GPUS="0")
        limit = 1_000_000_000
        for zone, name in (("0", "package-0"), ("0:0", "core"), ("0:1", "dram"), ("1", "psys")):
            self.put(f"sys/class/powercap/intel-rapl:{zone}/name", name + "\n")
            self.put(f"sys/class/powercap/intel-rapl:{zone}/max_energy_range_uj", f"{limit}\n")
            self.put(f"sys/class/powercap/intel-rapl:{zone}/energy_uj", "990000000\n")

        def period(package: int, memory: int) -> Any:
            """What the counters say at its first look."""
            self.put("sys/class/powercap/intel-rapl:0/energy_uj", f"{package % limit}\n")
            self.put("sys/class/powercap/intel-rapl:0:0/energy_uj", f"{package // 2 % limit}\n")
            self.put("sys/class/powercap/intel-rapl:0:1/energy_uj", f"{memory}\n")
            return source.look(5)

        source = self.source()
        source.gpu("GPU-a", 0, 0.9, "100:0.9")
        self.assertEqual(period(991_000_000, 0).of("job_energy_joules_total"), [], "begun before anybody looked")
        self.assertAlmostEqual(period(998_000_000, 3_000_000).one("job_energy_joules_total", source="cpu", job_id="42", user="ada")["value"], 10)
        self.assertAlmostEqual(period(1_005_000_000, 3_000_000).one("job_energy_joules_total", source="cpu")["value"], 17)
        self.put(f"{scope}/job_43/step_extern/cgroup.procs", "")
        self.assertAlmostEqual(period(1_500_000_000, 3_000_000).one("job_energy_joules_total", source="cpu")["value"], 17, msg="somebody else is here")
        shutil.rmtree(self.root / scope / "job_43")
        self.assertAlmostEqual(period(1_600_000_000, 3_000_000).one("job_energy_joules_total", source="cpu")["value"], 17)
        self.assertAlmostEqual(period(1_601_000_000, 3_500_000).one("job_energy_joules_total", source="cpu")["value"], 18.5)

    def test_processors_where_jobs_may_be_hidden(self) -> None:
        """Without a group for each allocation, a job that has started nothing is not seen: whose the node is cannot be told."""
        self.put("sys/fs/cgroup/system.slice/slurmstepd.scope/job_42/step_0/user/task_0/cgroup.procs", "100\n")
        self.process(100, GROUP.format(42), **SLURM, SLURM_JOB_GPUS="0")
        for file, value in (("name", "package-0"), ("max_energy_range_uj", "9000000"), ("energy_uj", "5")):
            self.put(f"sys/class/powercap/intel-rapl:0/{file}", f"{value}\n")
        source = self.source()
        source.gpu("GPU-a", 0, 0.9, "100:0.9")
        for joules in range(3):
            self.put("sys/class/powercap/intel-rapl:0/energy_uj", f"{5 + joules * 1000000}\n")
            rows = source.look(5)
        self.assertEqual(rows.of("job_energy_joules_total"), [])


class Served(Case):
    def test_from_the_driver_to_the_page(self) -> None:
        """Each time that the driver is asked, a board has used 60 J more: a job that has it gets multiples of that."""
        jobs = self.root / "run/holdup/jobs"
        jobs.mkdir(parents=True)
        (jobs / "job.42").write_text("scheduler=slurm\nuser=ada\ngpus=GPU-0\nminors=0\n")
        with self.serving("gpus 2\nvalue nvmlDeviceGetTotalEnergyConsumption 1000000 60000\n") as until:
            series = until(lambda s: sum(of(s, "holdup_job_energy_joules_total", job_id="42", user="ada", source="gpu")) >= 180)
        (joules,) = of(series, "holdup_job_energy_joules_total")
        self.assertEqual(joules % 60, 0)
        self.assertEqual(of(series, "holdup_job_energy_wasted_joules_total", cause="allocated-idle"), [0], "it is busy all the time")


if __name__ == "__main__":
    unittest.main()
