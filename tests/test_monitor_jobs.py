# SPDX-License-Identifier: Apache-2.0
"""Whom a GPU works for (holdup monitor's jobs sampler): captured trees, a kubelet's service, a real SLURM.

GPUs are said to tests/monitor/jobs_look, which runs the source alone; all of its times are the test's, so that sums are exact.
"""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest
from collections.abc import Callable
from typing import Any

from tests.monitor import exposition
from tests.monitor.run import stop
from tests.program import EXE, NOBODY, ROOT, for_nobody, skip_loudly
from tests.test_monitor_nvidia import Case, of

LOOK = pathlib.Path(EXE).parent / "tests/monitor/jobs_look"
ROW = re.compile(r'(\w+)\{(.*)\} (\S+)')
LABEL = re.compile(r'(\w+)="([^"]*)"')
HEX = "0123456789abcdef" * 4
POD = "11111111-2222-3333-4444-555555555555"
SECRETS = {"AWS_SECRET_ACCESS_KEY": "s3cr3t-aws", "HF_TOKEN": "hf_s3cr3t", "WANDB_API_KEY": "s3cr3t-wandb", "SLURM_JOB_ID_NOT": "s3cr3t-not"}


class Rows(list):
    """Readings of one look."""

    def of(self, name: str, **labels: str) -> list[dict[str, Any]]:
        """Labels (and `value`) of the series of that name that have these labels."""
        return [{**found, "value": value} for metric, found, value in self
                if metric == "holdup_" + name and all(found[k] == v for k, v in labels.items())]

    def one(self, name: str, **labels: str) -> dict[str, Any]:
        """The only one of them."""
        found = self.of(name, **labels)
        if len(found) != 1:
            raise AssertionError(f"{len(found)} of {name} {labels} in {list(self)}")
        return found[0]


def look_or_skip(case: unittest.TestCase) -> pathlib.Path:
    """jobs_look, which `make build` does not make."""
    if not LOOK.exists():
        skip_loudly(f"no tests/monitor/jobs_look for {case.id()}: ninja -C {LOOK.parents[2]} tests/monitor/jobs_look")
        case.skipTest("jobs_look is not built")
    return LOOK


class Source:
    """The source, with GPUs as the test likes."""

    def __init__(self, case: unittest.TestCase, *options: Any) -> None:
        look_or_skip(case)
        self.process = subprocess.Popen([LOOK, *map(str, options)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        case.addCleanup(self.end)

    def end(self) -> None:
        self.process.stdin.close()
        status = self.process.wait(20)
        self.process.stdout.close()
        if status:
            raise AssertionError(f"jobs_look ended with {status}")

    def say(self, *words: Any) -> None:
        self.process.stdin.write(" ".join(map(str, words)) + "\n")

    def gpu(self, uuid: str, index: int, busy: float, *pids: str, minor: int | None = None) -> None:
        self.say("gpu", uuid, index, index if minor is None else minor, busy, *pids)

    def look(self, times: int = 1, seconds: float = 1) -> Rows:
        """The last of so many looks."""
        rows = Rows()
        for _ in range(times):
            self.say("look", seconds)
            self.process.stdin.flush()
            rows = Rows()
            while (line := self.process.stdout.readline()) not in (".\n", ""):
                match = ROW.fullmatch(line.rstrip("\n"))
                rows.append((match[1], dict(LABEL.findall(match[2])), float(match[3])))
            if not line:
                raise AssertionError("jobs_look ended")
        return rows


class Tree(unittest.TestCase):
    """Tests with a captured tree in place of /proc, /sys, /var and /run."""

    def setUp(self) -> None:
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="holdup-jobs-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.put("etc/passwd", "root:x:0:0::/root:/bin/sh\nada:x:1001:1001::/home/ada:/bin/sh\nbob:x:1002:1002::/home/bob:/bin/sh\n")

    def put(self, name: str, text: str | bytes) -> pathlib.Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def process(self, pid: int, group: str, uid: int = 1001, start: int = 500, **environ: str) -> None:
        """A process as /proc shows it."""
        self.put(f"proc/{pid}/stat", f"{pid} (python (x) y) S 1 " + "0 " * 17 + f"{start} 0 0\n")
        self.put(f"proc/{pid}/cgroup", group)
        self.put(f"proc/{pid}/status", f"Name:\tpython\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n")
        self.put(f"proc/{pid}/environ", b"".join(f"{k}={v}".encode() + b"\0" for k, v in {**SECRETS, **environ}.items()))

    def source(self, *options: Any) -> Source:
        return Source(self, "--root", self.root, *options)

    def owner(self, pid: int = 100, *options: Any) -> dict[str, Any]:
        """Of a GPU that one process uses."""
        source = self.source(*options)
        source.gpu("GPU-a", 0, 0.5, f"{pid}:0.5")
        return source.look().one("job_info")


SLURM = {"SLURM_JOB_ID": "42", "SLURM_STEP_ID": "0", "SLURM_JOB_ACCOUNT": "physics", "SLURM_JOB_PARTITION": "h100", "SLURM_JOB_NAME": "train",
         "SLURM_JOB_USER": "mallory", "SLURM_PROCID": "3", "SLURM_NTASKS": "8", "SLURM_STEP_NUM_TASKS": "8", "SLURM_LOCALID": "3"}


class Processes(Tree):
    """A job by the processes that use a GPU."""

    def test_slurm_of_both_versions(self) -> None:
        for group in ("0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_3\n",
                      "0::/system.slice/node7_slurmstepd.scope/job_42/step_0/user/task_3\n",
                      "12:devices:/slurm/uid_1001/job_42/step_0/task_3\n5:memory:/slurm/uid_1001/job_42/step_0\n1:name=systemd:/system.slice/slurmd.service\n",
                      "9:cpuset:/slurm_node7/uid_1001/job_42/step_0\n0::/system.slice/slurmd.service\n"):
            self.process(100, group, **SLURM)
            owner = self.owner()
            self.assertEqual({k: owner[k] for k in ("scheduler", "job_id", "step_id", "user", "account", "partition", "job_name", "rank", "world")},
                             {"scheduler": "slurm", "job_id": "42", "step_id": "0", "user": "ada", "account": "physics", "partition": "h100",
                              "job_name": "train", "rank": "3", "world": "8"}, group)

    def test_what_a_process_says_of_another_job_is_not_believed(self) -> None:
        self.process(100, "0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_0\n", **{**SLURM, "SLURM_JOB_ID": "7"})
        owner = self.owner()
        self.assertEqual((owner["job_id"], owner["account"], owner["job_name"]), ("42", "", ""))

    def test_a_group_that_a_user_made_is_not_slurms(self) -> None:
        self.process(100, "0::/user.slice/user-1002.slice/user@1002.service/system.slice/slurmstepd.scope/job_42/step_0\n", uid=1002)
        owner = self.owner()
        self.assertEqual((owner["scheduler"], owner["job_id"], owner["user"]), ("none", "", "bob"))
        self.process(100, "0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_0/slurmstepd.scope/job_99/step_1\n")
        self.assertEqual(self.owner()["job_id"], "42")

    def test_pods_of_both_drivers(self) -> None:
        slice_uid = POD.replace("-", "_")
        for group in (f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{slice_uid}.slice/cri-containerd-{HEX}.scope\n",
                      f"0::/kubepods.slice/kubepods-pod{slice_uid}.slice/crio-{HEX}.scope/container\n",
                      f"11:devices:/kubepods/besteffort/pod{POD}/{HEX}\n",
                      f"0::/kubepods/pod{POD}/{HEX}\n",
                      f"0::/docker/{'f' * 64}/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
                      f"kubelet-kubepods-besteffort-pod{slice_uid}.slice/cri-containerd-{HEX}.scope\n",
                      f"0::/../../kubepods-burstable-pod{slice_uid}.slice/cri-containerd-{HEX}.scope\n"):
            self.process(100, group)
            owner = self.owner()
            self.assertEqual((owner["scheduler"], owner["pod_uid"], owner["container_id"], owner["user"]), ("kubernetes", POD, HEX, ""), group)

    def test_names_of_a_pod_are_those_of_its_log(self) -> None:
        self.process(100, f"0::/kubepods/pod{POD}/{HEX}\n")
        self.put(f"var/log/containers/train-0_team-a_worker-{HEX}.log", "")
        self.put(f"var/log/containers/other-0_team-b_worker-{'0' * 64}.log", "")
        owner = self.owner()
        self.assertEqual((owner["job_id"], owner["k8s_namespace"], owner["k8s_pod"], owner["k8s_container"]), ("team-a/train-0", "team-a", "train-0", "worker"))

    def test_a_slurm_that_runs_in_pods(self) -> None:
        self.process(100, f"0::/kubepods/pod{POD}/{HEX}/system.slice/slurmstepd.scope/job_42/step_0/user/task_0\n", **SLURM)
        self.put(f"var/log/containers/slurmd-0_slurm_slurmd-{HEX}.log", "")
        owner = self.owner()
        self.assertEqual((owner["scheduler"], owner["job_id"], owner["k8s_pod"]), ("slurm", "42", "slurmd-0"))

    def test_containers_without_a_scheduler(self) -> None:
        for group, scheduler, user in ((f"0::/system.slice/docker-{HEX}.scope\n", "docker", ""), (f"4:devices:/docker/{HEX}\n", "docker", ""),
                                       (f"0::/machine.slice/libpod-{HEX}.scope/container\n", "podman", ""),
                                       (f"0::/user.slice/user-1001.slice/user@1001.service/user.slice/libpod-{HEX}.scope\n", "podman", "ada")):
            self.process(100, group, uid=100000)
            owner = self.owner()
            self.assertEqual((owner["scheduler"], owner["job_id"], owner["container_id"], owner["user"]), (scheduler, HEX[:12], HEX, user), group)

    def test_apptainer_and_other_schedulers_are_known_by_the_environment(self) -> None:
        for environ, scheduler, job, queue in ((SLURM, "slurm", "42", "h100"), ({"PBS_JOBID": "17.server", "PBS_QUEUE": "gpuq"}, "pbs", "17.server", "gpuq"),
                                               ({"LSB_JOBID": "9", "LSB_QUEUE": "q"}, "lsf", "9", "q"), ({"FLUX_JOB_ID": "f2x"}, "flux", "f2x", "")):
            self.process(100, "0::/user.slice/user-1001.slice/session-3.scope\n", **environ)
            owner = self.owner()
            self.assertEqual((owner["scheduler"], owner["job_id"], owner["partition"], owner["user"]), (scheduler, job, queue, "ada"))

    def test_two_jobs_on_one_gpu(self) -> None:
        self.process(100, "0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_0\n", **SLURM)
        self.process(101, "0::/system.slice/slurmstepd.scope/job_43/step_0/user/task_0\n", uid=1002, **{**SLURM, "SLURM_JOB_ID": "43"})
        source = self.source()
        source.gpu("GPU-a", 0, 0.9, "100:0.7", "101:0.01")
        rows = source.look(4)
        self.assertEqual([(r["job_id"], r["user"]) for r in rows.of("job_info")], [("42", "ada"), ("43", "bob")])
        self.assertEqual([r["value"] for r in rows.of("job_gpu_utilization_ratio")], [0.7, 0.01])
        # the GPU works, and not for 43: three looks after the first one
        self.assertEqual({r["job_id"]: r["value"] for r in rows.of("gpu_allocated_idle_seconds_total")}, {"42": 0, "43": 3})

    def test_a_device_is_not_told_as_each_jobs_own(self) -> None:
        self.process(100, "0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_0\n", **SLURM)
        self.process(101, "0::/system.slice/slurmstepd.scope/job_43/step_0/user/task_0\n", **{**SLURM, "SLURM_JOB_ID": "43"})
        source = self.source()
        source.gpu("GPU-a", 0, 0.9, "100:-1", "101:-1")
        rows = source.look(2)
        self.assertEqual(rows.of("job_gpu_utilization_ratio"), [])
        self.assertEqual(rows.of("gpu_allocated_idle_seconds_total"), [], "whose work it is cannot be told")
        self.assertIn("idle time is not counted", rows.one("gpu_attribution_info")["reason"])

    def test_a_process_that_is_not_seen_may_be_any_jobs(self) -> None:
        self.put("run/holdup/jobs/0", "42\n43\n")
        source = self.source()
        source.gpu("GPU-a", 0, 0.9, "4242:0.9")
        self.assertEqual(source.look(3).of("gpu_allocated_idle_seconds_total"), [])
        source.gpu("GPU-a", 0, 0.01, "4242:0.01")
        self.assertEqual([r["value"] for r in source.look(3).of("gpu_allocated_idle_seconds_total")], [2, 2], "nobody works on it")

    def test_processes_of_one_job_are_one_series(self) -> None:
        for pid, rank in ((100, "0"), (101, "1")):
            self.process(pid, "0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_0\n", **{**SLURM, "SLURM_PROCID": rank})
        source = self.source()
        source.gpu("GPU-a", 0, 0.9, "100:0.25", "101:0.5")
        rows = source.look()
        self.assertEqual((rows.one("job_info")["rank"], rows.one("job_info")["world"]), ("", "8"))
        self.assertEqual((rows.one("job_gpu_processes")["value"], rows.one("job_gpu_utilization_ratio")["value"]), (2, 0.75))

    def test_a_job_that_ends_and_a_number_that_is_given_again(self) -> None:
        self.process(100, "0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_0\n", **SLURM)
        source = self.source()
        source.gpu("GPU-a", 0, 0.5, "100:0.5")
        self.assertEqual(source.look().one("job_info")["job_id"], "42")
        self.process(100, "0::/system.slice/slurmstepd.scope/job_44/step_0/user/task_0\n", start=900, uid=1002, **{**SLURM, "SLURM_JOB_ID": "44"})
        self.assertEqual((source.look().one("job_info")["job_id"], source.look().one("job_info")["user"]), ("44", "bob"))
        shutil.rmtree(self.root / "proc/100")
        rows = source.look()
        self.assertEqual((rows.of("job_info"), rows.of("job_gpu_processes")), ([], []), "the driver still lists it")

    def test_a_job_that_ends_while_it_is_read(self) -> None:
        """Half of it is there: its folder and its start, and nothing else."""
        self.put("proc/100/stat", "100 (python) S 1 " + "0 " * 17 + "500 0 0\n")
        source = self.source()
        source.gpu("GPU-a", 0, 0.5, "100:0.5")
        self.assertEqual(source.look().of("job_info"), [])

    def test_a_number_that_is_given_again_while_it_is_read(self) -> None:
        """Its status is a pipe, so that the test can change its start between two reads."""
        self.process(100, "0::/system.slice/x.service\n", **SLURM)
        status = self.root / "proc/100/status"
        status.unlink()
        os.mkfifo(status)

        def change() -> None:
            with status.open("w") as pipe:
                self.put("proc/100/stat", "100 (other) S 1 " + "0 " * 17 + "501 0 0\n")
                pipe.write("Name:\tpython\nUid:\t1001\t1001\n")

        thread = threading.Thread(target=change, daemon=True)
        thread.start()
        source = self.source()
        source.gpu("GPU-a", 0, 0.5, "100:0.5")
        rows = source.look()
        thread.join()
        self.assertEqual((rows.of("job_info"), rows.of("job_gpu_processes")), ([], []))

    def test_a_process_of_another_namespace(self) -> None:
        source = self.source()
        source.gpu("GPU-a", 0, 0.5, "4242:0.5")
        rows = source.look()
        self.assertEqual((rows.one("gpu_attribution_info")["state"], rows.one("gpu_allocated")["value"], rows.of("job_gpu_processes")), ("unknown", 1, []))
        self.assertIn("PID namespace", rows.one("gpu_attribution_info")["reason"])
        self.assertEqual(rows.of("job_info"), [])

    def test_no_secret_leaves_an_environment(self) -> None:
        filler = {f"FILL_{k}": "x" * 1000 for k in range(64)}
        self.process(100, "0::/user.slice\n", HUGE="y" * 100_000, **filler, SLURM_JOB_NAME="a\nb{c=\"d", **{k: v for k, v in SLURM.items() if k != "SLURM_JOB_NAME"})
        source = self.source()
        source.gpu("GPU-a", 0, 0.5, "100:0.5")
        rows = source.look()
        self.assertEqual(rows.one("job_info")["account"], "physics", "behind 160 kB of others")
        self.assertEqual(rows.one("job_info")["job_name"], "", "a name with a line break is none")
        self.assertNotIn("s3cr3t", repr(rows))
        self.assertNotIn("mallory", repr(rows), "the user is what the kernel says")

    def test_without_labels_of_users(self) -> None:
        self.process(100, "0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_3\n", **SLURM)
        self.process(101, "0::/user.slice/user-1002.slice/session-1.scope\n", uid=1002)
        self.process(102, "0::/user.slice/user-1001.slice/session-2.scope\n", uid=1001)
        source = self.source("--no-users")
        source.gpu("GPU-a", 0, 0.5, "100:0.5", "101:0", "102:0")
        rows = source.look(2)
        self.assertEqual([(r["scheduler"], r["job_id"], r["user"], r["account"], r["job_name"]) for r in rows.of("job_info")],
                         [("slurm", "42", "", "", ""), ("none", "", "", "", "")])
        for word in ("ada", "bob", "physics", "train"):
            self.assertNotIn(word, repr(rows))

    def test_the_list_of_variables_has_all_that_ranks_are_told_by(self) -> None:
        def names(file: str) -> set[str]:
            return set(re.findall(r'"([A-Z][A-Z0-9]*_[A-Za-z0-9_]+|RANK)"', (ROOT / file).read_text()))
        asked = names("src/protocol/rank_id.c")
        self.assertGreater(len(asked), 40)
        self.assertEqual(asked - names("src/monitor/jobs/job_environ.c"), set())

    def test_this_machine_as_root_and_as_nobody(self) -> None:
        """A real process of root: nobody may see its group and its user, not its environment."""
        folder = for_nobody(self, look_or_skip(self))
        with subprocess.Popen(["sleep", "600"], env={**SLURM, **SECRETS}) as sleeper:
            try:
                said = {}
                for who in ((), NOBODY):
                    done = subprocess.run([*who, folder / LOOK.name], input=f"gpu GPU-a 0 0 0.5 {sleeper.pid}:0.5\nlook 1\n", text=True,
                                          capture_output=True, check=True)
                    self.assertNotIn("s3cr3t", done.stdout)
                    said[bool(who)] = done.stdout
            finally:
                sleeper.kill()
        self.assertIn('scheduler="slurm",job_id="42",step_id="0",user="root",account="physics"', said[False])
        self.assertNotIn("cannot be read", said[False])
        self.assertIn('scheduler="",job_id="",step_id="",user="root",account=""', said[True])
        self.assertIn('state="unknown",reason="no group names the job, and the environment of its process cannot be read', said[True])
        self.assertIn("environments of processes cannot be read", said[True])


class Mps(Tree, Case):
    """From the driver's lists to the page: the driver lists the server of MPS with what computes, and those that it computes for apart."""

    def setUp(self) -> None:
        Case.setUp(self)
        self.put("etc/passwd", "root:x:0:0::/root:/bin/sh\nada:x:1001:1001::/home/ada:/bin/sh\n")

    def pod(self, pid: int, name: str, uid: str, container: str) -> None:
        self.process(pid, f"0::/kubepods/pod{uid}/{container}\n", uid=0)
        self.put(f"var/log/containers/{name}_team-a_worker-{container}.log", "")

    def jobs(self, scenario: str) -> dict[tuple[str, str, str], float]:
        """Processes by GPU, scheduler and job."""
        self.series = self.once(scenario)
        return {(l["uuid"], l["scheduler"], l.get("job_id", "")): v
                for (n, labels), v in self.series.items() if n == "holdup_job_gpu_processes" for l in (dict(labels),)}

    def test_clients_of_two_pods(self) -> None:
        for pid, name, uid, digit in ((100, "train-0", POD, "a"), (101, "train-0", POD, "a"), (102, "serve-0", POD[:-1] + "6", "b")):
            self.pod(pid, name, uid, digit * 64)
        self.assertEqual(self.jobs("gpus 2\nserved 0 3 100\nused 100 40\nused 101 20\nused 102 10\n"), {("GPU-0", "kubernetes", "team-a/train-0"): 2, ("GPU-0", "kubernetes", "team-a/serve-0"): 1})
        self.assertEqual({(dict(l)["k8s_pod"], dict(l)["pod_uid"]) for (n, l) in self.series if n == "holdup_job_info"},
                         {("train-0", POD), ("serve-0", POD[:-1] + "6")})
        self.assertEqual(of(self.series, "holdup_gpu_processes", uuid="GPU-0"), [3])
        self.assertEqual(of(self.series, "holdup_gpu_attribution_info", uuid="GPU-0", state="known"), [1])
        for pod_name, ratio in (("train-0", 0.6), ("serve-0", 0.1)):
            (found,) = of(self.series, "holdup_job_gpu_utilization_ratio", job_id=f"team-a/{pod_name}")
            self.assertAlmostEqual(found, ratio, 9)

    def test_clients_of_jobs_and_a_server_of_the_node(self) -> None:
        self.process(90, "0::/system.slice/nvidia-mps.service\n", uid=0)
        for pid, job in ((100, "42"), (101, "43")):
            self.process(pid, f"0::/system.slice/slurmstepd.scope/job_{job}/step_0/user/task_0\n", **{**SLURM, "SLURM_JOB_ID": job})
        self.assertEqual(self.jobs("processes 0 1 90\nserved 0 2 100\n"), {("GPU-0", "none", ""): 1, ("GPU-0", "slurm", "42"): 1, ("GPU-0", "slurm", "43"): 1})
        self.assertEqual(of(self.series, "holdup_gpu_processes"), [3])

    def test_a_server_that_a_job_started_is_the_jobs(self) -> None:
        """It and a client are listed twice here, and are still one process each."""
        for pid in (90, 91, 92):
            self.process(pid, "0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_0\n", **SLURM)
        self.assertEqual(self.jobs("processes 0 2 90\nserved 0 3 90\n"), {("GPU-0", "slurm", "42"): 3})
        self.assertEqual(of(self.series, "holdup_gpu_processes"), [3])
        self.assertEqual(of(self.series, "holdup_gpu_attribution_info", state="known"), [1])

    def test_a_list_that_fails(self) -> None:
        """Those that compute without the server are still known."""
        for pid in (90, 91):
            self.process(pid, "0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_0\n", **SLURM)
        for code in (3, 13, 999):
            found = self.jobs(f"processes 0 1 90\nserved 0 1 91\ncode nvmlDeviceGetMPSComputeRunningProcesses_v3 {code}\n")
            self.assertEqual(found, {("GPU-0", "slurm", "42"): 1}, code)


class Allocations(Tree):
    """A job by what its scheduler wrote down, with no process at all."""

    def test_files_as_dcgm_exporter_reads_them(self) -> None:
        self.put("run/holdup/jobs/0", "42\n")
        self.put("run/holdup/jobs/1.3", "43\n44\n")
        self.put("run/holdup/jobs/GPU-c", "45_1\n")
        self.put("run/holdup/jobs/README", "46\n")
        source = self.source("--job-dir", self.root / "run/holdup/jobs")
        source.gpu("GPU-a", 0, 0)
        source.gpu("GPU-b", 1, -1)
        source.say("mig", "MIG-b3", "GPU-b", 3, 0.5)
        source.say("mig", "MIG-b4", "GPU-b", 4, 0.5)
        source.gpu("GPU-c", 2, 0.5)
        rows = source.look()
        self.assertEqual(sorted((r["uuid"], r["scheduler"], r["job_id"]) for r in rows.of("job_info")),
                         [("GPU-a", "", "42"), ("GPU-c", "", "45_1"), ("MIG-b3", "", "43"), ("MIG-b3", "", "44")], "whose numbers they are, nobody says")
        self.assertEqual({r["uuid"]: r["value"] for r in rows.of("gpu_allocated")}, {"GPU-a": 1, "MIG-b3": 1, "MIG-b4": 0, "GPU-c": 1})
        self.assertEqual(rows.one("gpu_attribution_info", uuid="MIG-b4")["state"], "none")

    def test_a_whole_gpu_that_is_divided(self) -> None:
        self.put("run/holdup/jobs/1", "42\n")
        source = self.source()
        source.gpu("GPU-b", 1, -1)
        source.say("mig", "MIG-b3", "GPU-b", 3, 0.5)
        source.say("mig", "MIG-b4", "GPU-b", 4, 0.5)
        self.assertEqual([r["uuid"] for r in source.look().of("job_info")], ["MIG-b3", "MIG-b4"])

    def test_idle_time_is_counted_and_ends_with_the_job(self) -> None:
        file = self.put("run/holdup/jobs/job.42", "user=ada\naccount=physics\npartition=h100\nname=train\ngpus=GPU-a\nminors=1\n")
        self.put("run/holdup/jobs/7", "42\n")  # of another tool's numbering: job.42 says it better
        source = self.source()
        source.gpu("GPU-a", 0, 0.04)
        source.gpu("GPU-b", 1, 0.06)
        source.gpu("GPU-c", 7, 0)
        rows = source.look()
        self.assertEqual([(r["uuid"], r["user"], r["account"], r["partition"], r["job_name"]) for r in rows.of("job_info")],
                         [("GPU-a", "ada", "physics", "h100", "train"), ("GPU-b", "ada", "physics", "h100", "train")])
        self.assertEqual({r["uuid"]: r["value"] for r in rows.of("gpu_allocated_idle_seconds_total", user="ada")}, {"GPU-a": 0, "GPU-b": 0}, "seen at once")
        rows = source.look(10, 1.5)
        self.assertEqual({r["uuid"]: r["value"] for r in rows.of("gpu_allocated_idle_seconds_total")}, {"GPU-a": 15, "GPU-b": 0})
        self.assertEqual(rows.one("job_gpu_processes", uuid="GPU-a")["value"], 0)
        source.say("restart")
        self.assertEqual(source.look().one("gpu_allocated_idle_seconds_total", uuid="GPU-a")["value"], 16, "a restart loses nothing")
        rows = source.look(1, 100)
        self.assertEqual(rows.one("gpu_allocated_idle_seconds_total", uuid="GPU-a")["value"], 17, "what was not seen is one period at most")
        file.unlink()
        (self.root / "run/holdup/jobs/7").unlink()
        rows = source.look()
        self.assertEqual((rows.of("job_info"), rows.of("gpu_allocated_idle_seconds_total")), ([], []))
        self.assertEqual({r["uuid"]: r["value"] for r in rows.of("gpu_allocated")}, {"GPU-a": 0, "GPU-b": 0, "GPU-c": 0})

    def test_a_gpu_whose_activity_is_not_known(self) -> None:
        self.put("run/holdup/jobs/0", "42\n")
        source = self.source()
        source.gpu("GPU-a", 0, -1)
        rows = source.look(3)
        self.assertEqual(rows.of("gpu_allocated_idle_seconds_total"), [])
        self.assertEqual((rows.one("gpu_attribution_info")["state"], rows.one("gpu_attribution_info")["reason"]),
                         ("known", "the driver does not tell how busy it is: idle time is not counted"))

    def test_gpus_that_are_not_sampled(self) -> None:
        self.put("run/holdup/jobs/0", "42\n")
        self.process(100, "0::/system.slice/slurmstepd.scope/job_43/step_0/user/task_0\n", **SLURM)
        source = self.source()
        source.gpu("GPU-a", 0, 0, "100:0.5")
        source.look()
        source.say("stale")
        rows = source.look()
        self.assertEqual([r["job_id"] for r in rows.of("job_info")], ["42"], "its processes are of long ago")
        self.assertEqual(rows.of("job_gpu_processes"), [])

    def test_a_prolog_and_a_process_tell_of_one_job(self) -> None:
        self.put("run/holdup/jobs/job.42", "scheduler=slurm\nuser=ada\nminors=0\n")
        self.process(100, "0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_3\n", **SLURM)
        source = self.source()
        source.gpu("GPU-a", 0, 0.5, "100:0.5")
        owner = source.look().one("job_info")
        self.assertEqual((owner["user"], owner["step_id"], owner["account"], owner["rank"]), ("ada", "0", "physics", "3"))

    def test_a_gpu_that_is_none_of_the_drivers(self) -> None:
        self.put("run/holdup/jobs/job.42", "scheduler=slurm\nminors=0,9\n")
        source = self.source()
        source.gpu("GPU-a", 0, 0)
        source.gpu("GPU-b", 1, 0)
        rows = source.look()
        self.assertEqual([r["uuid"] for r in rows.of("gpu_allocated")], ["GPU-a"], "GPU-b may be the other one")
        self.assertEqual(rows.one("gpu_attribution_info", uuid="GPU-b")["reason"], "a job has a GPU by a name that none here has")

    def test_a_number_of_another_scheduler(self) -> None:
        """A process says whose number it is."""
        self.put("run/holdup/jobs/0", "17.server\n")
        self.process(100, "0::/system.slice/pbs.service\n", PBS_JOBID="17.server", PBS_QUEUE="gpuq")
        source = self.source()
        source.gpu("GPU-a", 0, 0.5)
        rows = source.look()
        self.assertEqual((rows.one("job_info")["scheduler"], rows.one("job_info")["job_id"], rows.one("gpu_attribution_info")["state"]), ("", "17.server", "known"))
        source.gpu("GPU-a", 0, 0.5, "100:0.5")
        rows = source.look()
        self.assertEqual((rows.one("job_info")["scheduler"], rows.one("job_info")["partition"], rows.one("job_info")["user"]), ("pbs", "gpuq", "ada"))

    def test_who_says_that_he_is_slurms_and_is_not(self) -> None:
        """SLURM has groups here, and this process is in none."""
        scope = "sys/fs/cgroup/system.slice/slurmstepd.scope/job_42"
        self.put(f"{scope}/step_0/user/task_0/cgroup.procs", "100\n")
        self.process(100, "0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_0\n", **SLURM, SLURM_STEP_GPUS="0")
        self.process(101, "0::/user.slice/user-1002.slice/session-1.scope\n", uid=1002, **SLURM)
        source = self.source()
        source.gpu("GPU-a", 0, 0.9, "101:0.9")
        rows = source.look()
        self.assertEqual([(r["scheduler"], r["job_id"], r["user"], r["account"]) for r in rows.of("job_info")], [("slurm", "42", "ada", "physics"), ("none", "", "bob", "")])

    def test_a_folder_that_everybody_may_write_to(self) -> None:
        self.put("run/holdup/jobs/0", "42\n")
        (self.root / "run/holdup/jobs").chmod(0o777)
        source = self.source()
        source.gpu("GPU-a", 0, 0)
        rows = source.look()
        self.assertEqual(rows.of("job_info"), [])
        self.assertIn("everybody may write", rows.one("monitor_problem")["what"])

    def test_nobody_tells_allocations(self) -> None:
        source = self.source()
        source.gpu("GPU-a", 0, 0)
        rows = source.look()
        self.assertEqual(rows.of("gpu_allocated"), [], "absent is not zero")
        self.assertEqual((rows.one("gpu_attribution_info")["state"], rows.one("gpu_attribution_info")["reason"]), ("unknown", "no scheduler tells its allocations"))

    def test_files_of_jobs_that_have_ended(self) -> None:
        """The epilog did not run: SLURM's group of the job has gone."""
        group = self.root / "sys/fs/cgroup/system.slice/slurmstepd.scope/job_42/step_extern"
        group.mkdir(parents=True)
        self.put("run/holdup/jobs/job.42", "minors=0\n")
        old = self.put("run/holdup/jobs/job.41", "minors=0\n")
        os.utime(old, (old.stat().st_mtime - 600,) * 2)
        older = self.put("run/holdup/jobs/1", "40\n")
        os.utime(older, (1000, 1000))  # before the machine was started
        source = self.source()
        source.gpu("GPU-a", 0, 0)
        source.gpu("GPU-b", 1, 0)
        rows = source.look()
        self.assertEqual([r["job_id"] for r in rows.of("job_info")], ["42"])
        self.assertIn("have ended", rows.one("monitor_problem")["what"])
        shutil.rmtree(group.parent)
        self.assertEqual(source.look(5).of("job_info"), [])

    def test_files_from_before_the_last_boot(self) -> None:
        old = self.put("run/holdup/jobs/0", "42\n")
        self.put("run/holdup/jobs/1", "43\n")
        os.utime(old, (1000, 1000))
        source = self.source()
        source.gpu("GPU-a", 0, 0)
        source.gpu("GPU-b", 1, 0)
        self.assertEqual([r["job_id"] for r in source.look().of("job_info")], ["43"])

    def test_slurms_groups_of_version_1(self) -> None:
        self.put("sys/fs/cgroup/devices/slurm/uid_1001/job_42/devices.list", "c 1:3 rwm\nc 195:1 rwm\nc 195:3 rwm\nc 195:255 rwm\nb 195:2 rwm\n")
        self.put("sys/fs/cgroup/devices/slurm/uid_1001/job_43/devices.list", "a *:* rwm\n")
        source = self.source()
        for k in range(4):
            source.gpu(f"GPU-{k}", 3 - k, 0, minor=k)
        rows = source.look()
        self.assertEqual([(r["uuid"], r["job_id"]) for r in rows.of("job_info")], [("GPU-1", "42"), ("GPU-3", "42")])
        self.assertEqual([r["uuid"] for r in rows.of("gpu_allocated")], ["GPU-1", "GPU-3"], "of the others it is not known")
        shutil.rmtree(self.root / "sys/fs/cgroup/devices/slurm/uid_1001/job_42")
        self.assertEqual(source.look(5).of("job_info"), [])

    def test_slurms_groups_of_version_1_in_several_hierarchies(self) -> None:
        """All jobs are in freezer; devices has those whose devices are constrained, or none."""
        for job in (42, 43):
            self.put(f"sys/fs/cgroup/freezer/slurm_n1/uid_1001/job_{job}/step_0/cgroup.procs", f"{job}\n")
            self.process(job, f"6:freezer:/slurm_n1/uid_1001/job_{job}/step_0\n5:devices:/\n4:memory:/slurm_n1/uid_1001/job_{job}/step_0/task_0\n0::/\n",
                         **{**SLURM, "SLURM_JOB_ID": str(job)}, SLURM_STEP_GPUS=str(job - 41))
        self.put("sys/fs/cgroup/devices/slurm_n1/devices.list", "a *:* rwm\n")
        self.put("sys/fs/cgroup/devices/slurm_n1/uid_1001/job_42/devices.list", "c 195:0 rwm\n")
        source = self.source()
        for k in range(3):
            source.gpu(f"GPU-{k}", k, 0)
        self.assertEqual([(r["uuid"], r["job_id"], r["user"]) for r in source.look().of("job_info")], [("GPU-0", "42", ""), ("GPU-2", "43", "ada")])

    def test_slurms_groups_of_version_2(self) -> None:
        """The GPUs are those that a process of the job names; SLURM's own process names none."""
        scope = "sys/fs/cgroup/system.slice/slurmstepd.scope/job_42"
        self.put(f"{scope}/step_extern/slurm/cgroup.procs", "99\n")
        self.put(f"{scope}/step_0/user/task_0/cgroup.procs", "98\n100\n")
        self.process(99, "0::/system.slice/slurmstepd.scope/job_42/step_extern/slurm\n", uid=0)
        source = self.source()
        for k in range(4):
            source.gpu(f"GPU-{k}", k, 0)
        self.assertEqual(source.look(6).of("job_info"), [], "the step's process is not there yet")
        self.process(100, "0::/system.slice/slurmstepd.scope/job_42/step_0/user/task_0\n", **SLURM, SLURM_STEP_GPUS="0,2-3")
        rows = source.look(7)
        self.assertEqual([(r["uuid"], r["job_id"], r["user"], r["account"], r["rank"]) for r in rows.of("job_info")],
                         [(f"GPU-{k}", "42", "ada", "physics", "") for k in (0, 2, 3)])
        self.assertEqual([r["value"] for r in rows.of("gpu_allocated_idle_seconds_total")], [2, 2, 2])


def kubelet_python() -> str | None:
    """A Python that has grpc and its compiler."""
    for python in ("/usr/bin/python3", shutil.which("python3")):
        if python and subprocess.run([python, "-c", "import grpc, grpc_tools, google.protobuf"], capture_output=True, check=False).returncode == 0:
            return python
    return None


def pod(name: str, *devices: str, resource: str = "nvidia.com/gpu", namespace: str = "team-a", **more: Any) -> dict[str, Any]:
    """A pod with one container."""
    container = {"name": "main", "cpu_ids": [1, 2, 300], "memory": [{"memory_type": "memory", "size": 2 ** 40}],
                 "devices": [{"resource_name": "example.com/nic", "device_ids": ["GPU-not-one-of-ours", "nic0"]},
                             {"resource_name": resource, "device_ids": devices, "topology": {"nodes": [{"ID": 1}]}}] if devices else [], **more}
    return {"name": name, "namespace": namespace, "containers": [{"name": "sidecar"}, container]}


class Kubelet(Tree):
    """Pods, from a real gRPC server."""

    def setUp(self) -> None:
        super().setUp()
        python = kubelet_python()
        if not python:
            skip_loudly("no Python with grpcio-tools (python3-grpcio, python3-grpc-tools): the kubelet's service is not played")
            self.skipTest("no grpc")
        self.socket = self.root / "kubelet.sock"
        self.answer = self.put("answer.json", "{}")
        server = subprocess.Popen([python, ROOT / "tests/monitor/kubelet.py", self.socket, self.answer], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait, 30)
        self.addCleanup(server.stdin.close)
        self.server = server
        self.assertEqual(server.stdout.readline(), "ready\n")

    def say(self, *pods: dict[str, Any], **more: Any) -> None:
        self.answer.write_text(json.dumps({"pod_resources": pods, **more} if pods or not more else more))

    def gpus(self, n: int = 4) -> Source:
        source = self.source("--kubelet", self.socket)
        for k in range(n):
            source.gpu(f"GPU-{k}", k, 0)
        return source

    def until(self, source: Source, there: Any) -> Rows:
        """The first look for which `there` holds; looks cost nothing, and the server has its own pace."""
        for _ in range(20000):
            rows = source.look()
            if there(rows):
                return rows
            threading.Event().wait(0.005)
        raise AssertionError(f"never: {list(rows)}")

    def test_device_plugins(self) -> None:
        self.say(pod("train-0", "GPU-0", "GPU-1"), pod("old", "nvidia2", namespace="team-b"), pod("web"))
        rows = self.gpus().look()
        self.assertEqual([(r["uuid"], r["scheduler"], r["job_id"], r["k8s_namespace"], r["k8s_pod"], r["k8s_container"], r["user"]) for r in rows.of("job_info")],
                         [("GPU-0", "kubernetes", "team-a/train-0", "team-a", "train-0", "main", ""),
                          ("GPU-1", "kubernetes", "team-a/train-0", "team-a", "train-0", "main", ""),
                          ("GPU-2", "kubernetes", "team-b/old", "team-b", "old", "main", "")])
        self.assertEqual([r["value"] for r in rows.of("gpu_allocated")], [1, 1, 1, 0])

    def test_idle_pods_are_seen_with_the_first_look(self) -> None:
        self.say(pod("sleeps", "GPU-0"))
        source = self.gpus(1)
        self.assertEqual(source.look().one("gpu_allocated_idle_seconds_total", job_id="team-a/sleeps")["value"], 0)
        self.assertEqual(source.look(7).one("gpu_allocated_idle_seconds_total", job_id="team-a/sleeps")["value"], 7)
        self.say(pod("next", "GPU-0"))
        rows = self.until(source, lambda rows: rows.of("job_info", k8s_pod="next"))
        self.assertEqual(rows.of("gpu_allocated_idle_seconds_total", job_id="team-a/sleeps"), [])

    def test_mig(self) -> None:
        self.say(pod("small", "MIG-03", resource="nvidia.com/mig-1g.10gb"), pod("gke", "nvidia0/gi4", resource="nvidia.com/gpu"))
        source = self.source("--kubelet", self.socket)
        source.gpu("GPU-0", 0, -1)
        source.say("mig", "MIG-03", "GPU-0", 3, 0.5)
        source.say("mig", "MIG-04", "GPU-0", 4, 0.5)
        self.assertEqual([(r["uuid"], r["k8s_pod"]) for r in source.look().of("job_info")], [("MIG-03", "small"), ("MIG-04", "gke")])

    def test_time_slicing(self) -> None:
        """Three pods share a GPU; what each does is told by its processes alone."""
        self.say(*(pod(f"p{k}", f"GPU-0::{k}", resource="nvidia.com/gpu.shared") for k in range(3)))
        for k in range(2):
            uid, container = POD[:-1] + str(k), HEX[:-1] + str(k)
            self.process(100 + k, f"0::/kubepods/pod{uid}/{container}\n")
            self.put(f"var/log/containers/p{k}_team-a_main-{container}.log", "")
        source = self.source("--kubelet", self.socket)
        source.gpu("GPU-0", 0, 0.9, "100:0.75", "101:0")
        rows = source.look(5)
        self.assertEqual([(r["k8s_pod"], r["pod_uid"][-1:]) for r in rows.of("job_info")], [("p0", "0"), ("p1", "1"), ("p2", "")])
        self.assertEqual({r["job_id"]: r["value"] for r in rows.of("job_gpu_utilization_ratio")}, {"team-a/p0": 0.75, "team-a/p1": 0})
        self.assertEqual({r["job_id"]: r["value"] for r in rows.of("gpu_allocated_idle_seconds_total")}, {"team-a/p0": 0, "team-a/p1": 4, "team-a/p2": 4})

    def test_a_plugin_with_names_of_its_own(self) -> None:
        """Who has GPU-1 cannot be told, and it is not said that nobody has it."""
        for devices, resource in ((("GPU-1-3",), "nvidia.com/gpu"), (("card0-1",), "gpu.intel.com/i915"), (("x-7",), "volcano.sh/vgpu-number")):
            self.say(pod("train-0", "GPU-0"), pod("strange", *devices, resource=resource))
            rows = self.gpus(2).look()
            self.assertEqual([(r["uuid"], r["k8s_pod"]) for r in rows.of("job_info")], [("GPU-0", "train-0")])
            self.assertEqual([r["uuid"] for r in rows.of("gpu_allocated")], ["GPU-0"])
            self.assertEqual((rows.one("gpu_attribution_info", uuid="GPU-1")["state"], rows.one("gpu_attribution_info", uuid="GPU-1")["reason"]),
                             ("unknown", "a job has a GPU by a name that none here has"))

    def test_more_pods_than_are_kept(self) -> None:
        self.say(*(pod(f"p{k}", f"GPU-0::{k}") for k in range(70)))
        rows = self.gpus(1).look()
        self.assertEqual(len(rows.of("job_info")), 64)
        self.assertIn("more allocations", rows.one("monitor_problem")["what"])

    def test_pods_without_names(self) -> None:
        """Without the logs' names, one pod and one container's process are the same; of two nobody can tell."""
        self.say(pod("only", "GPU-0"), pod("first", "GPU-1::0"), pod("second", "GPU-1::1"))
        for k in range(3):
            self.process(100 + k, f"0::/kubepods/pod{POD[:-1]}{k}/{HEX}\n")
        source = self.source("--kubelet", self.socket)
        source.gpu("GPU-0", 0, 0.9, "100:0.75")
        source.gpu("GPU-1", 1, 0.9, "101:0.5", "102:0.25")
        rows = source.look()
        self.assertEqual((rows.one("job_info", uuid="GPU-0")["k8s_pod"], rows.one("job_info", uuid="GPU-0")["pod_uid"][-1]), ("only", "0"))
        self.assertEqual(rows.one("gpu_attribution_info", uuid="GPU-1")["state"], "unknown")
        self.assertIn("/var/log/containers", rows.one("gpu_attribution_info", uuid="GPU-1")["reason"])

    def test_claims(self) -> None:
        claim = {"claim_name": "train-0-gpu-x", "claim_namespace": "team-a", "claim_resources": [
            {"cdi_devices": [{"name": "k8s.gpu.nvidia.com/claim=x-gpu-1"}], "driver_name": "gpu.nvidia.com", "pool_name": "node7", "device_name": "gpu-1"}]}
        self.say(pod("train-0", dynamic_resources=[claim]))
        rows = self.gpus().look()
        found = rows.one("k8s_claim_info")
        self.assertEqual({k: found[k] for k in found if k != "value"}, {
            "claim_namespace": "team-a", "claim": "train-0-gpu-x", "k8s_namespace": "team-a", "k8s_pod": "train-0", "k8s_container": "main",
            "driver": "gpu.nvidia.com", "pool": "node7", "device": "gpu-1"})
        self.assertEqual((rows.of("job_info"), rows.of("gpu_allocated")), ([], []), "which GPU gpu-1 is, is not guessed")
        self.assertIn("resource claims", rows.of("gpu_attribution_info")[0]["reason"])

    def test_through_the_program(self) -> None:
        """No GPU is here, so that a claim is all that can be seen; it is there with the one look that --once takes."""
        claim = {"claim_name": "a \"b\"", "claim_namespace": "team-a", "claim_resources": [{"driver_name": "gpu.nvidia.com", "device_name": "gpu-1"}]}
        self.say(pod("train-0", dynamic_resources=[claim]))
        said = subprocess.run([EXE, "monitor", "--once", "--root", self.root, "--kubelet-socket", self.socket], text=True, capture_output=True, check=True).stdout
        self.assertIn('holdup_k8s_claim_info{claim_namespace="team-a",claim="a \\"b\\"",k8s_namespace="team-a",k8s_pod="train-0",k8s_container="main",'
                      'driver="gpu.nvidia.com",device="gpu-1"} 1\n', said)
        self.assertIn('holdup_monitor_source_up{source="jobs"} 1\n', said)
        self.say(behave="refuse")
        said = subprocess.run([EXE, "monitor", "--once", "--root", self.root, "--kubelet-socket", self.socket], text=True, capture_output=True, check=True).stdout
        self.assertRegex(said, 'holdup_monitor_problem{source="jobs",what="the kubelet at .*rejected by rate limit"')

    def test_a_kubelet_that_hangs_holds_up_nothing(self) -> None:
        self.say(pod("train-0", "GPU-0"))
        self.put("run/holdup/jobs/1", "42\n")
        source = self.gpus()
        self.assertEqual([r["job_id"] for r in source.look().of("job_info")], ["team-a/train-0", "42"])
        self.say(behave="hang")
        rows = self.until(source, lambda rows: rows.of("monitor_problem"))
        self.assertIn("does not answer", rows.one("monitor_problem")["what"])
        self.assertEqual([r["job_id"] for r in rows.of("job_info")], ["42"], "an answer of before is none")
        self.say(pod("train-0", "GPU-0"))
        self.until(source, lambda rows: rows.of("job_info", k8s_pod="train-0") and not rows.of("monitor_problem"))

    def test_hostile_answers(self) -> None:
        for behave, why in (("refuse", "rejected by rate limit"), ("damage", "damaged"), ("huge", "longer than 16 MiB")):
            self.say(behave=behave)
            rows = self.until(self.gpus(1), lambda rows: rows.of("monitor_problem"))
            self.assertIn(why, rows.one("monitor_problem")["what"])
            self.assertEqual((rows.of("job_info"), rows.of("gpu_allocated")), ([], []))
            self.assertEqual(rows.one("gpu_attribution_info")["reason"], "the kubelet does not answer")

    def test_a_full_node(self) -> None:
        """250 pods with 40 devices each of another kind, and one with a GPU: 1 MB."""
        nics = [f"nic-{k:060d}" for k in range(40)]
        self.say(*(pod(f"p{k}", *nics, resource="example.com/nic") for k in range(250)), pod("last", "GPU-3"))
        self.assertEqual(self.until(self.gpus(), lambda rows: rows.of("job_info")).one("job_info")["k8s_pod"], "last")

    def test_a_kubelet_that_starts_again(self) -> None:
        self.say(pod("train-0", "GPU-0"))
        source = self.gpus()
        self.assertEqual(source.look().one("job_info")["k8s_pod"], "train-0")
        self.server.stdin.close()
        self.server.wait(30)
        self.until(source, lambda rows: not rows.of("job_info"))


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """A frame of HTTP/2 (RFC 9113)."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def answer(message: bytes, length: int | None = None, flag: int = 0, head: bytes = b"\x88", trailers: bytes = b"\x00\x0bgrpc-status\x010") -> bytes:
    """What a server sends for one call: settings, `:status 200`, a message with its prefix, `grpc-status: 0`."""
    data = bytes([flag]) + struct.pack(">I", len(message) if length is None else length) + message
    return frame(4, 0, 0) + frame(1, 4, 1, head) + frame(0, 0, 1, data) + frame(1, 5, 1, trailers)


class Sockets(Tree):
    """What is no kubelet."""

    def serve(self, said: bytes) -> pathlib.Path:
        path, listener = self.root / "kubelet.sock", socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        listener.listen()

        def accept() -> None:
            while True:
                try:
                    one = listener.accept()[0]
                except OSError:
                    return
                with one, contextlib.suppress(ConnectionError):
                    one.recv(65536)
                    one.sendall(said)
                    one.shutdown(socket.SHUT_WR)
                    while one.recv(65536):  # what is not read when it is closed would take the answer with it
                        pass

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        self.addCleanup(thread.join, 10)
        self.addCleanup(listener.close)
        self.addCleanup(listener.shutdown, socket.SHUT_RDWR)
        return path

    def problem(self, path: pathlib.Path) -> list[dict[str, Any]]:
        source = self.source("--kubelet", path)
        source.gpu("GPU-a", 0, 0)
        for _ in range(20000):
            rows = source.look()
            if rows.of("monitor_problem"):
                break
            threading.Event().wait(0.005)
        self.assertEqual(rows.of("job_info"), [])
        return rows.of("monitor_problem")

    def test_no_kubelet_is_no_problem(self) -> None:
        source = self.source()
        source.gpu("GPU-a", 0, 0)
        self.assertEqual(source.look(6).of("monitor_problem"), [])

    def test_a_socket_that_nobody_listens_to(self) -> None:
        path = self.root / "kubelet.sock"
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(path))
        self.assertIn("Connection refused", self.problem(path)[0]["what"])

    def test_http_that_is_not_whole(self) -> None:
        pods = bytes.fromhex("0a17" "0a0170" "12016e" "1a0f" "0a0163" "2a0a" "120178" "2205" "2203") + b"gpu"
        path = self.serve(answer(pods))
        source = self.source("--kubelet", path)
        self.assertEqual([(r["k8s_pod"], r["claim"], r["device"]) for r in source.look().of("k8s_claim_info")], [("p", "x", "gpu")], "a server of 10 lines is heard")
        for said, why in ((answer(pods, length=len(pods) + 1), "not one whole message"), (answer(pods, length=3), "not one whole message"),
                          (answer(pods, flag=1), "not one whole message"), (answer(pods, length=2 ** 32 - 1), "not one whole message"),
                          (answer(pods, head=b"\x8e"), "HTTP status 500"),
                          (answer(pods, trailers=b"\x00\x0bgrpc-status\x0213"), "gRPC status 13"),
                          (answer(pods, trailers=b"\x00\x01x\x010"), "without a gRPC status")):
            self.doCleanups()
            self.setUp()
            self.assertIn(why, self.problem(self.serve(said))[0]["what"])

    def test_what_is_not_http(self) -> None:
        for answer in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", os.urandom(5000), b"\0\0\x04\x04\0\0\0\0\0" * 3):
            path = self.serve(answer)
            self.assertIn(str(path), self.problem(path)[0]["what"])
            self.doCleanups()
            self.setUp()


class Prolog(Tree):
    """packaging/slurm, run as slurmd runs it: with its variables alone."""

    def setUp(self) -> None:
        super().setUp()
        self.jobs = self.root / "run/holdup/jobs"
        self.conf = self.put("slurm.conf", "GresTypes=gpu\n")
        for address, minor, uuid in (("0000:1b:00.0", 3, "GPU-a"), ("0000:3b:00.0", 0, "GPU-b"), ("0000:5e:00.0", 1, "GPU-c")):
            self.put(f"nvidia/gpus/{address}/information", f"Model: \t\t NVIDIA H100\nGPU UUID: \t {uuid}\nDevice Minor: \t {minor}\n")

    def run_one(self, name: str, job: int, gpus: str, **variables: str) -> str:
        done = subprocess.run([ROOT / "packaging/slurm" / name], text=True, capture_output=True, check=False, env={
            "SLURM_JOB_ID": str(job), "SLURM_JOB_GPUS": gpus, "SLURM_CONF": str(self.conf), "SLURM_JOB_USER": "ada", "SLURM_JOB_PARTITION": "h100",
            "HOLDUP_JOB_DIR": str(self.jobs), "HOLDUP_NVIDIA_DIR": str(self.root / "nvidia"), **variables})
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        return done.stderr

    def files(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.jobs.iterdir() if path.name != ".lock"}

    def test_numbers_of_nodes_are_not_those_of_nvidia_smi(self) -> None:
        self.run_one("prolog", 42, "0,3")
        self.assertEqual(self.files(), {"0": "42\n", "1": "42\n", "job.42": "scheduler=slurm\nuser=ada\npartition=h100\ngpus=GPU-b,GPU-a\n"})
        source = self.source()
        for index, (uuid, minor) in enumerate((("GPU-a", 3), ("GPU-b", 0), ("GPU-c", 1))):
            source.gpu(uuid, index, 0, minor=minor)
        self.assertEqual([(r["uuid"], r["job_id"], r["user"]) for r in source.look().of("job_info")], [("GPU-a", "42", "ada"), ("GPU-b", "42", "ada")])
        self.run_one("epilog", 42, "0,3")
        self.assertEqual(self.files(), {})
        self.assertEqual(source.look().of("job_info"), [])

    def test_a_name_cannot_add_lines(self) -> None:
        self.run_one("prolog", 42, "0", SLURM_JOB_NAME="x\ngpus=GPU-c\nuser=root")
        self.assertIn("name=xgpus=GPU-cuser=root\n", self.files()["job.42"])

    def test_an_epilog_that_did_not_run(self) -> None:
        """A GPU that is given to another job belongs to the first one no more; with shards both may have it."""
        self.run_one("prolog", 42, "0-1")
        self.run_one("prolog", 43, "1")
        self.assertEqual(sorted(self.files()), ["1", "2", "job.43"])
        self.conf.write_text("GresTypes=gpu,shard\n")
        self.run_one("prolog", 44, "1")
        self.assertEqual((self.files()["2"], "job.43" in self.files()), ("43\n44\n", True))
        self.run_one("epilog", 43, "1")
        self.assertEqual((self.files()["2"], "job.43" in self.files()), ("44\n", False))

    def test_without_a_driver_nodes_have_numbers_only(self) -> None:
        shutil.rmtree(self.root / "nvidia")
        self.run_one("prolog", 42, "5")
        self.assertEqual(self.files(), {"5": "42\n", "job.42": "scheduler=slurm\nuser=ada\npartition=h100\nminors=5\n"})

    def test_parts_of_a_divided_gpu_are_not_guessed(self) -> None:
        self.put("nvidia/capabilities/gpu0/mig/gi1/access", "")
        self.assertIn("divided", self.run_one("prolog", 42, "0"))
        self.assertEqual(self.files(), {})

    def test_a_job_without_gpus(self) -> None:
        self.run_one("prolog", 42, "")
        self.assertFalse(self.jobs.exists())
        self.run_one("epilog", 42, "")
        self.assertFalse(self.jobs.exists())

    def test_a_folder_that_cannot_be_made_drains_no_node(self) -> None:
        self.put("run/holdup", "a file")
        self.assertNotEqual(self.run_one("prolog", 42, "0"), "")
        self.run_one("epilog", 42, "0")
        (self.root / "run/holdup").unlink()
        (self.jobs / ".lock").mkdir(parents=True)
        for name in ("prolog", "epilog"):
            self.assertIn(".lock", self.run_one(name, 42, "0"))


SUBMITS = r"""
# two words a line; each is answered by a line
while read -r word number <&9; do  # of a pipe: bash gives /dev/null to what runs behind its back
    case $word in
    hold) salloc --no-shell --job-name=held --gres=gpu:"$number" 2>&1 | grep -o 'Granted job allocation [0-9]*' | grep -o '[0-9]*$' ;;
    step) srun --jobid="$number" --job-name=held --ntasks=1 --output=none sh -c 'echo $$ >"$0.new"; mv "$0.new" "$0.pid"; exec sleep 600' "$0" &
          echo started ;;
    cancel) scancel "$number"; while squeue --noheader --jobs="$number" 2>/dev/null | grep -q .; do sleep 0.1; done; echo gone ;;
    esac
done 9<"$0" </dev/null
"""


class Slurm(Tree):
    """A real slurmctld and slurmd, whose Prolog and Epilog are ours: GPUs that a job has and does not use."""

    def serve(self, jobs: pathlib.Path) -> Callable[[], list[exposition.Series]]:
        """The whole program with four idle GPUs; a call scrapes it, once it has looked at allocations (each 5th period) since the call."""
        period_s = 0.2
        library, scenario, says = self.root / "libnvidia-ml.so.1", self.root / "scenario", self.root / "says"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, ROOT / "tests/monitor/nvml_standin.c"], check=True)
        scenario.write_text("gpus 4\nvalue nvmlDeviceGetUtilizationRates 0\n" + "".join(f"value nvmlDeviceGetMinorNumber {k} 0 {k}\n" for k in range(4)))
        with says.open("wb") as to:
            # pylint: disable-next=consider-using-with
            process = subprocess.Popen([EXE, "monitor", "--listen", "127.0.0.1:0", "--period", str(period_s), "--nvml", library, "--job-dir", jobs, "--job-socket", "off"],
                                       stderr=to, stdout=subprocess.DEVNULL, env={**os.environ, "NVML_SCENARIO": str(scenario)})
        self.addCleanup(stop, process)

        def scrape() -> list[exposition.Series]:
            asked = time.monotonic()
            while time.monotonic() < asked + 90:
                time.sleep(0.05)
                listens = re.search(r"http://[^/]*:(\d+)/", says.read_text())
                if not listens:
                    continue
                began = time.monotonic()
                found = exposition.scrape(int(listens[1]))
                age = exposition.value(found, "holdup_monitor_sample_age_seconds", source="jobs")
                if age is not None and began - age > asked + 5 * period_s and exposition.value(found, "holdup_gpu_up", gpu="3"):
                    return found
            raise AssertionError(says.read_text())

        return scrape

    def test_allocated_and_idle(self) -> None:
        jobs = self.root / "run/holdup/jobs"
        for name in ("prolog", "epilog"):
            script = self.put(name, f"#!/bin/sh\nHOLDUP_JOB_DIR='{jobs}' HOLDUP_NVIDIA_DIR=/nowhere exec '{ROOT}/packaging/slurm/{name}'\n")
            script.chmod(0o755)
        os.mkfifo(self.root / "asked")
        cluster = subprocess.Popen(
            [ROOT / "tests/slurm/cluster", "--devices", "--conf", f"Prolog={self.root}/prolog", "--conf", f"Epilog={self.root}/epilog",
             "--conf", "PrologFlags=Alloc", "1", "bash", "-c", SUBMITS, self.root / "asked"], stdout=subprocess.PIPE, text=True)
        # both ends, so that neither side waits for the other to open it
        asked = os.open(self.root / "asked", os.O_RDWR)
        self.addCleanup(cluster.stdout.close)
        self.addCleanup(cluster.wait, 60)
        self.addCleanup(cluster.terminate)
        self.addCleanup(os.close, asked)

        def ask(*words: Any) -> str:
            os.write(asked, (" ".join(map(str, words)) + "\n").encode())
            if not select.select([cluster.stdout], [], [], 120)[0]:
                raise AssertionError(f"no answer to {words}")
            return cluster.stdout.readline().strip()

        scrape = self.serve(jobs)
        self.assertEqual([s for s in scrape() if s.name == "holdup_job_info"], [])
        job = ask("hold", 2)
        if not job and cluster.wait(60) == 77:
            skip_loudly("no SLURM: a job that has GPUs and does not use them was not run")
            self.skipTest("no SLURM")
        self.assertRegex(job, r"^\d+$")
        served = scrape()
        user = subprocess.run(["id", "-un"], text=True, capture_output=True, check=True).stdout.strip()
        self.assertEqual(sorted((s.labels["uuid"], s.labels["scheduler"], s.labels["job_id"], s.labels["user"]) for s in served if s.name == "holdup_job_info"),
                         [(f"GPU-{k}", "slurm", job, user) for k in range(2)], "in the first scrape after the first look at allocations")
        before, after = ({s.labels["uuid"]: s.value for s in found if s.name == "holdup_gpu_allocated_idle_seconds_total" and s.labels["job_id"] == job}
                         for found in (served, scrape()))
        self.assertEqual(set(after), {"GPU-0", "GPU-1"})
        self.assertTrue(all(after[uuid] > before.get(uuid, 0) for uuid in after), (before, after))
        source = Source(self, "--job-dir", jobs)  # and this machine's /proc
        for k in range(4):
            source.gpu(f"GPU-{k}", k, 0)
        rows = source.look()
        self.assertEqual([(r["uuid"], r["scheduler"], r["job_id"], r["user"], r["partition"]) for r in rows.of("job_info")],
                         [(f"GPU-{k}", "slurm", job, user, "all") for k in range(2)], "with the first look after the allocation, before any step")
        self.assertEqual([r["value"] for r in rows.of("gpu_allocated")], [1, 1, 0, 0])
        rows = source.look(30)
        self.assertEqual([(r["uuid"], r["job_id"], r["user"], r["value"]) for r in rows.of("gpu_allocated_idle_seconds_total")],
                         [("GPU-0", job, user, 30), ("GPU-1", job, user, 30)])
        second = ask("hold", 1)
        self.assertEqual([(r["uuid"], r["job_id"]) for r in source.look().of("job_info")], [("GPU-0", job), ("GPU-1", job), ("GPU-2", second)])
        self.assertEqual(ask("step", job), "started")
        for _ in range(600):
            if (self.root / "asked.pid").exists():
                break
            threading.Event().wait(0.1)
        pid = (self.root / "asked.pid").read_text().strip()
        source.gpu("GPU-0", 0, 0.9, f"{pid}:0.9")
        rows = source.look(5)
        self.assertEqual({k: v for k, v in rows.one("job_info", uuid="GPU-0").items() if k in ("job_id", "step_id", "user", "job_name", "rank", "world")},
                         {"job_id": job, "step_id": "0", "user": user, "job_name": "held", "rank": "0", "world": "1"})
        self.assertEqual({r["uuid"]: r["value"] for r in rows.of("gpu_allocated_idle_seconds_total", job_id=job)}, {"GPU-0": 31, "GPU-1": 36})
        self.assertEqual([r["value"] for r in rows.of("job_gpu_processes", job_id=job)], [1, 0])
        self.assertEqual(ask("cancel", job), "gone")
        for _ in range(600):  # the epilog runs when the job is gone for its users
            rows = source.look()
            if len(rows.of("job_info")) == 1:
                break
            threading.Event().wait(0.1)
        self.assertEqual([(r["uuid"], r["job_id"]) for r in rows.of("job_info")], [("GPU-2", second)])
        self.assertEqual([r["job_id"] for r in rows.of("gpu_allocated_idle_seconds_total")], [second])
        self.assertEqual([r["value"] for r in rows.of("gpu_allocated")], [0, 0, 1, 0])


if __name__ == "__main__":
    unittest.main()
