# SPDX-License-Identifier: Apache-2.0
"""`holdup doctor --prolog` where SLURM runs it: a real slurmctld and slurmd, packaging/slurm/healthcheck as Prolog and as HealthCheckProgram."""
from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from tests.doctor.cases import port
from tests.doctor.nodes import h100
from tests.program import EXE, ROOT, SANITIZED, run, skip_loudly
from tests.recorder import once

load_tests = once       # SLURM's own processes take most of it

# A job before and one after the node breaks ($1 is made); then what SLURM says of the node.
PROLOG = """
srun --ntasks=1 echo ran
sinfo --noheader --format=%T
touch "$1"
srun --ntasks=1 echo ran-on-a-broken-node &
until sinfo --noheader --format=%T | grep -q drain; do sleep 0.2; done
echo drained
scancel --user="$(id -un)"
"""
HEALTH = """
echo "$SLURM_CONF" >"$1.conf"
sinfo --noheader --format=%T
touch "$1"
until sinfo --noheader --format=%T | grep -q drain; do sleep 0.2; done
sinfo --noheader --format=%E
"""

# What a job of two ranks finds, on one node or on two, each rank in a file of its own.
JOB = """
OMP_NUM_THREADS=1 srun --nodes="$3" --ntasks=2 sh -c '"$1" doctor --job --json >"$2.$SLURM_PROCID"' x "$2" "$1"
echo "$?"
"""
LOAD = {"pressure", "cpu-steal", "memory-free"}     # what else runs here, from one minute to the next


def findings(text: str | bytes) -> dict[str, str]:
    """Checks that say something, and the gravest that they say."""
    return {c["id"]: c["verdict"] for c in json.loads(text)["checks"] if c["verdict"] in ("failure", "warning", "note")}


class Slurm(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="holdup-healthcheck-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        node = h100()
        node.files.update(port(3, "state", "1: DOWN") | port(3, "phys_state", "2: Polling") | port(5, "state", "2: INIT"))
        node.write(self.folder / "root")
        self.script("holdup", f'[ ! -e "{self.folder}/broken" ] || set -- "$@" --root "{self.folder}/root"\nexec "{EXE}" "$@"')
        # slurmd tells a health check nothing of its configuration: scontrol looks where it was built to
        self.script("healthcheck",
            f'export SLURM_CONF="${{SLURM_CONF:-$(/usr/bin/cat "{self.folder}/broken.conf" 2>/dev/null)}}"\nHOLDUP="{self.folder}/holdup" exec "{ROOT}/packaging/slurm/healthcheck"')

    def script(self, name: str, text: str) -> None:
        (self.folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.folder / name).chmod(0o755)

    def cluster(self, script: str, *lines: str, nodes: int = 1) -> list[str]:
        conf = [word for line in lines for word in ("--conf", line)]
        done = subprocess.run([ROOT / "tests/slurm/cluster", *conf, str(nodes), "bash", "-c", script, "x", self.folder / "broken", EXE, str(nodes)], capture_output=True, text=True,
                              timeout=300, check=False)
        if done.returncode == 77:
            skip_loudly("no SLURM: holdup doctor --prolog was not tried in one")
            self.skipTest("no SLURM")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split("\n")[:-1]

    def test_as_prolog(self) -> None:
        said = self.cluster(PROLOG, f"Prolog={self.folder}/healthcheck")
        self.assertEqual(said[0], "ran")
        self.assertEqual(said[-1], "drained")
        self.assertNotIn("ran-on-a-broken-node", said)
        self.assertNotIn("drain", said[1])

    def test_as_health_check(self) -> None:
        said = self.cluster(HEALTH, f"HealthCheckProgram={self.folder}/healthcheck", "HealthCheckInterval=1")
        self.assertEqual((said[0], said[-1]), ("idle", "holdup: ib-port"))

    def test_a_job_raises_no_false_alarm(self) -> None:
        """SLURM's variables, limits and CPUs add nothing to what this machine has outside of a job, but what only several nodes need: a name and a clock."""
        outside = findings(run("doctor", "--job", "--json")[1])
        for nodes, more in ((1, set()), (2, {"node-name", "clock-sync"})):
            self.assertEqual(self.cluster(JOB, nodes=nodes), ["0"])
            for rank in range(2):
                inside = findings((self.folder / f"broken.{rank}").read_text())
                with self.subTest(nodes=nodes, rank=rank):
                    self.assertNotIn("failure", [inside[k] for k in more & set(inside)])
                    self.assertEqual({k: v for k, v in inside.items() if k not in LOAD | more}, {k: v for k, v in outside.items() if k not in LOAD | more})


class Prolog(unittest.TestCase):
    """What the script and the option do, and do not do, without a SLURM."""

    def test_only_a_failure_stops_a_job(self) -> None:
        with tempfile.TemporaryDirectory(prefix="holdup-healthcheck-") as folder:
            for status, expected in ((0, 0), (1, 1), (2, 0), (3, 0), (139, 0)):
                program = pathlib.Path(folder) / "holdup"
                program.write_text(f"#!/bin/sh\necho 'FAIL  x  [ib-port]'\nexit {status}\n")
                program.chmod(0o755)
                done = subprocess.run([ROOT / "packaging/slurm/healthcheck"], env={"HOLDUP": str(program), "SLURM_JOB_ID": "4711"}, capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual((done.returncode, "ib-port" in done.stderr, done.stdout), (expected, status == 1, ""))
            done = subprocess.run([ROOT / "packaging/slurm/healthcheck"], env={"HOLDUP": f"{folder}/none", "SLURM_JOB_ID": "4711"}, capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0)

    def test_this_machine_fails_nothing(self) -> None:
        self.assertEqual(run("doctor", "--prolog"), (0, b"", ""))

    def test_it_writes_nothing_and_uses_no_network(self) -> None:
        if not shutil.which("strace") or SANITIZED:
            skip_loudly("no strace: what holdup doctor --prolog writes was not looked at")
            self.skipTest("no strace")
        with tempfile.TemporaryDirectory(prefix="holdup-healthcheck-") as folder:
            log = pathlib.Path(folder) / "log"
            done = subprocess.run(["strace", "-f", "-o", log, "-e", "trace=%network,%file,ioctl", EXE, "doctor", "--prolog"], capture_output=True, timeout=120, check=False)
            if not log.exists() or "ptrace" in done.stderr.decode():
                skip_loudly("strace may not trace here")
                self.skipTest("no ptrace")
            calls = log.read_text().splitlines()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(any("openat(" in call for call in calls))
        writes = [c for c in calls if re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|\b(mkdir|mknod|unlink|rename|symlink|link|chmod|truncate)(at2?|at)?\(",
            c) and '"/dev/null"' not in c and "ENOENT" not in c]
        self.assertEqual(writes, [])
        self.assertEqual([c for c in calls if re.search(r"AF_INET|AF_NETLINK|AF_PACKET|\bconnect\(", c)], [])


if __name__ == "__main__":
    unittest.main()
