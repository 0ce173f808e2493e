# SPDX-License-Identifier: Apache-2.0
"""A control group that may use less CPU time than the program wants: its limit is the finding, not other jobs."""
from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

from tests import recorder
from tests.program import EXE, SANITIZED, skip_loudly

CPU_US, PERIOD_US, CPUS = 60000, 50000, 0.1


def load_tests(_loader, tests, _pattern):
    """The recorder works in other programs, without sanitizers: once is enough."""
    return unittest.TestSuite() if SANITIZED else tests


def skip(why: str) -> None:
    skip_loudly(why)
    raise unittest.SkipTest(why)


class Group:
    """A control group of our own below the root of the controller, of either version."""

    def __init__(self) -> None:
        name = f"holdup-test-{os.getpid()}"
        self.v1, self.v2 = pathlib.Path("/sys/fs/cgroup/cpu", name), pathlib.Path("/sys/fs/cgroup", name)
        self.folder = self.v1 if self.v1.parent.exists() else self.v2
        try:
            self.folder.mkdir()
            if not (self.folder / self.limit_file()).exists():
                self.folder.rmdir()
                skip("no CPU controller below /sys/fs/cgroup")
        except OSError as problem:
            skip(f"no control group can be made: {problem}")

    def limit_file(self) -> str:
        return "cpu.cfs_quota_us" if self.folder == self.v1 else "cpu.max"

    def limit(self, cpus: float) -> None:
        quota = int(cpus * PERIOD_US)
        if self.folder == self.v1:
            (self.folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (self.folder / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (self.folder / "cpu.max").write_text(f"{quota} {PERIOD_US}")

    def counts(self) -> tuple[int, int]:
        """Periods, and those in which the limit was used up."""
        said = dict(line.split() for line in (self.folder / "cpu.stat").read_text().splitlines())
        return int(said["nr_periods"]), int(said["nr_throttled"])

    def remove(self) -> None:
        for _ in range(50):
            try:
                self.folder.rmdir()
                return
            except OSError:     # the last process has not been reaped
                time.sleep(0.1)


class Quota(unittest.TestCase):
    def setUp(self) -> None:
        self.group = Group()
        self.addCleanup(self.group.remove)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-quota-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.program = recorder.build(self.folder, "hands")

    def inside(self, *command: object) -> None:
        subprocess.run(["sh", "-c", f'echo $$ > {self.group.folder}/cgroup.procs && exec "$@"', "sh", *map(str, command)],
                       check=True, capture_output=True, env=recorder.environment())

    def findings(self) -> dict[str, dict]:
        trace = self.folder / "run.pftrace"
        before = self.group.counts()
        self.inside(EXE, "run", "--no-report", "--force", "-o", trace, "--", self.program, "burn", CPU_US)
        self.periods, self.throttled = (b - a for a, b in zip(before, self.group.counts()))
        said = recorder.holdup("report", trace, "--json")
        self.assertEqual(said.returncode, 0, said.stderr)
        return {f["id"]: f for f in json.loads(said.stdout)["findings"]}

    def test_limit_is_the_finding(self) -> None:
        self.group.limit(CPUS)
        found = self.findings()
        self.assertGreater(self.throttled, 0)
        if 2 * self.throttled <= self.periods + 2:      # a crowded machine: others took the CPUs, too
            self.assertFalse("cpu-starved" in found and "cpu-quota" in found)
            return
        self.assertNotIn("cpu-starved", found)
        told = re.match(r"The control group \(cgroup\) of the job may use 0\.1 CPUs\. It used them up in (\d+) of (\d+) periods and was stopped",
                        found["cpu-quota"]["statement"])
        assert told, found["cpu-quota"]["statement"]
        self.assertLessEqual(int(told[1]), self.throttled)      # those of the recorder before and behind the command are not told
        self.assertLessEqual(int(told[2]), self.periods)
        self.assertGreater(2 * int(told[1]), int(told[2]))
        self.assertAlmostEqual(found["cpu-quota"]["gain_pct"], 90, delta=12)

    def seconds(self) -> float:
        """The recorded life of the command."""
        return 1e-9 * recorder.rows(self.folder / "run.pftrace", "select max(end_ns) - min(start_ns) as ns from thread_state where tid = pid")[0]["ns"]

    def test_price(self) -> None:
        """The same program without the limit, recorded too: the recorder is in the group and uses its time."""
        self.group.limit(2)
        self.assertNotIn("cpu-quota", self.findings())
        free = self.seconds()
        if free > 1.5e-6 * CPU_US:
            skip("other jobs take the CPUs")
        self.group.limit(CPUS)
        gain = self.findings()["cpu-quota"]["gain_pct"]
        self.assertAlmostEqual(gain, 100 * (1 - free / self.seconds()), delta=8)


if __name__ == "__main__":
    unittest.main()
