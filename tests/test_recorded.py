# SPDX-License-Identifier: Apache-2.0
"""Real programs with one planted cause, recorded by `holdup run` and explained: the cause comes first, and what it is worth is right."""
from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from tests import recorder
from tests.program import EXE, ROOT, SANITIZED, report, skip_loudly, torch_or_skip
from tests.recorder import environment, holdup
from tests.test_launchers import MPI_FOR_ROOT


class Recorded(unittest.TestCase):
    folder: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-recorded-"))

    @classmethod
    def tearDownClass(cls) -> None:
        shutil.rmtree(cls.folder)

    def contend(self, what: str) -> dict:
        program = self.folder / "contend"
        if not program.exists():
            recorder.build(self.folder, "contend")
        trace = self.folder / f"{what}.pftrace"
        done = holdup("run", "-o", trace, "--no-report", "--", program, what, 25, self.folder / "data")
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)
        return report(trace)

    def test_nothing_planted(self) -> None:
        answer = self.contend("none")
        self.assertEqual(answer["ranks"][0]["steps"]["count"], 25)
        # others may have had the processor
        self.assertEqual([f["id"] for f in answer["findings"] if f["gain_pct"] > 20 and f["id"] != "cpu-starved"], [])

    def test_sleep(self) -> None:
        """8 ms of each step, whatever else the machine is doing."""
        answer = self.contend("sleep")
        first = answer["findings"][0]
        self.assertEqual(first["id"], "sleep", answer["findings"])
        self.assertIn("cool_down", json.dumps(first))
        calls, steps = answer["ranks"][0]["host_calls"]["sleep"], answer["ranks"][0]["steps"]
        self.assertAlmostEqual(first["gain_pct"], 100 * calls["total_ns"] / 25 / steps["mean_ns"], delta=3)
        self.assertGreater(first["gain_pct"], 30)
        self.assertEqual(calls["calls"], 25)
        self.assertAlmostEqual(calls["total_ns"], 25 * 8e6, delta=25 * 4e6)

    def test_slow_file(self) -> None:
        answer = self.contend("file")
        first = answer["findings"][0]
        self.assertEqual(first["id"], "io-stall", answer["findings"])
        self.assertIn(str(self.folder / "data"), json.dumps(first["evidence"]))
        self.assertEqual(answer["ranks"][0]["host_calls"]["fsync"]["calls"], 25)

    def test_lock(self) -> None:
        answer = self.contend("lock")
        first = answer["findings"][0]
        self.assertEqual(first["id"], "lock-contention", answer["findings"])
        self.assertGreater(answer["ranks"][0]["host_calls"]["lock"]["total_ns"], 20 * 4e6)

    def test_the_example(self) -> None:
        """What the README says to try: the disk is what holds it up, in the phase that was marked."""
        trace = self.folder / "example.pftrace"
        done = holdup("run", "-o", trace, "--", "/usr/bin/python3", ROOT / "examples/recording/checkpoints.py", cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout), (0, "trained\n"), done.stderr)
        self.assertIn("19 steps", done.stderr)     # the last one is not ended
        answer = report(trace)
        stall = next(f for f in answer["findings"] if f["id"] == "io-stall")
        self.assertIn("checkpoint", stall["statement"])
        self.assertIn("state.pt", json.dumps(stall["evidence"]))
        phases = {row["phase"]: row["host_ns"] for row in answer["ranks"][0]["phases"]}
        self.assertEqual(list(phases), ["forward", "backward", "optimizer", "checkpoint", "other"])
        self.assertGreater(phases["checkpoint"], 0)
        self.assertEqual(answer["ranks"][0]["host_calls"]["fsync"]["calls"], 5)

    @unittest.skipIf(SANITIZED, "says nothing more about holdup")
    def test_installed(self) -> None:
        """What `make install` puts into place finds its parts."""
        place = self.folder / "installed"
        done = subprocess.run(["make", "--no-print-directory", "install", f"PREFIX={place}"], cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        trace = self.folder / "installed.pftrace"
        done = subprocess.run([place / "bin/holdup", "run", "-o", trace, "--no-report", "--", "/usr/bin/python3", ROOT / "examples/recording/checkpoints.py"],
                              cwd=self.folder, capture_output=True, text=True, check=False, env=environment())
        self.assertEqual((done.returncode, done.stdout), (0, "trained\n"), done.stderr)
        self.assertEqual(recorder.count(trace, "forward"), 20)

    def test_shell_pipeline(self) -> None:
        """Whoever waits for the slow end of a pipe is told, and for whom."""
        trace = self.folder / "pipeline.pftrace"
        done = holdup("run", "-o", trace, "--no-report", "--", "sh", "-c", "(for i in 1 2 3 4; do sleep 0.1; echo $i; done) | sort -r | head -2")
        self.assertEqual((done.returncode, done.stdout), (0, "4\n3\n"), done.stderr)
        verdict = report(trace)["verdict"]["text"]
        self.assertRegex(verdict, r"^sh waits for its child processes")
        self.assertRegex(verdict, r"The child that takes longest by itself is sleep")
        self.assertRegex(verdict, r"sort waits for the other end of a pipe")

    def test_late_sender(self) -> None:
        """Rank 1 waits 10 ms in each step for rank 0, which sleeps."""
        if not shutil.which("mpicc"):
            skip_loudly("no mpicc")
            self.skipTest("no mpicc")
        program = recorder.build(self.folder, "late_sender", compiler="mpicc")
        out = self.folder / "mpi"
        done = subprocess.run(["mpirun", "--oversubscribe", "-n", "2", EXE, "run", "-o", f"{out}/rank%r.pftrace", "--no-report", "--", program],
                              capture_output=True, text=True, timeout=120, check=False, env=environment(**MPI_FOR_ROOT))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(p.name for p in out.iterdir()), ["rank0.pftrace", "rank1.pftrace"])
        said = holdup("report", out)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("rank 0", said.stdout)
        status = json.loads(holdup("report", out, "--json").stdout)
        self.assertEqual(status["run"]["ranks"], 2)
        # the receive took 10 ms more than the send
        receives = {r["rank"]: r["host_calls"] for r in status["ranks"]}
        self.assertGreater(receives[1]["mpi"]["main_ns"], 20 * 8e6)
        self.assertLess(receives[0]["mpi"]["main_ns"], receives[1]["mpi"]["main_ns"])
        self.assertEqual(receives[1]["mpi"]["calls"], 42)
        self.assertEqual(status["collectives"]["matched"], 20)
        self.assertIn("straggler", [f["id"] for f in status["findings"]])

    def test_training(self) -> None:
        """torchrun outside of holdup's process: one trace for each rank, and rank 1 is the one that the other waits for."""
        python = torch_or_skip(self)
        out = self.folder / "train"
        done = holdup("run", "-o", f"{out}/rank%r.pftrace", "--", python, "-m", "torch.distributed.run", "--nproc-per-node", 2,
                      pathlib.Path(__file__).parent / "inject/train.py", "sleep", timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLessEqual({"rank0.pftrace", "rank1.pftrace"}, {p.name for p in out.iterdir()})
        answer = json.loads(holdup("report", out, "--json").stdout)
        self.assertEqual(answer["run"]["ranks"], 2)
        for rank in answer["ranks"]:    # the first is a warm-up where DDP takes long to make its buckets
            self.assertIn(rank["steps"]["count"], (29, 30))
        slow = answer["ranks"][1]["host_calls"]["sleep"]
        self.assertGreaterEqual(slow["calls"], 30)      # torch sleeps a little itself while it connects
        self.assertGreaterEqual(slow["total_ns"], 30 * 15e6)
        alone = json.loads(holdup("report", out / "rank1.pftrace", "--json").stdout)
        self.assertTrue({"sleep", "data-loading"} & {f["id"] for f in alone["findings"]}, alone["findings"])


if __name__ == "__main__":
    unittest.main()
