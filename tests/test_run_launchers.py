# SPDX-License-Identifier: Apache-2.0
"""`holdup run` inside of srun, mpirun and torchrun: names, ranks and exit codes."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from tests import recorder
from tests.program import EXE, ROOT, SANITIZED, report, skip_loudly
from tests.recorder import environment
from tests.test_launchers import MPI_FOR_ROOT

JOBS = """
set -u
cd "$FOLDER"
timeout 60 srun -N 2 -n 4 --ntasks-per-node 2 "$HOLDUP" run -o '%j/rank%r' --no-report -- "$PROGRAM" none 5 >srun.said 2>&1
echo $? >srun.status
timeout 60 srun -N 2 -n 2 sh -c 'if [ "$SLURM_PROCID" = 1 ]; then exec "$HOLDUP" run -o "failing/rank%r" --no-report -- sh -c "exit 9"; fi
    exec "$HOLDUP" run -o "failing/rank%r" --no-report -- true' >failing.said 2>&1
echo $? >failing.status
timeout 60 srun -N 1 -n 1 "$HOLDUP" run -o 'torchrun/rank%r' --no-report -- env PET_NODE_RANK=0 python3 "$TORCHRUN" \
    -m torch.distributed.run --nnodes 1 --nproc-per-node 2 --master-addr 127.0.0.1 --master-port 29533 "$FOLDER/child.py" >torchrun.said 2>&1
echo $? >torchrun.status
"""


@unittest.skipIf(SANITIZED, "says nothing more about holdup")
class Launchers(unittest.TestCase):
    folder: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-launchers-"))
        cls.program = recorder.build(cls.folder, "contend")

    @classmethod
    def tearDownClass(cls) -> None:
        shutil.rmtree(cls.folder)

    def test_srun(self) -> None:
        (self.folder / "child.py").write_text(f"import os\nos.execv({str(self.program)!r}, ['contend', 'none', '5'])\n")
        done = subprocess.run([ROOT / "tests/slurm/cluster", "2", "bash", "-c", JOBS], capture_output=True, text=True, check=False, timeout=240,
                              env=environment(FOLDER=str(self.folder), HOLDUP=EXE, PROGRAM=str(self.program), TORCHRUN=str(ROOT / "tests/slurm/torchrun.py")))
        if done.returncode == 77:
            skip_loudly(f"holdup run under srun was not tried: {done.stderr.strip()}")
            self.skipTest("no SLURM")
        self.assertEqual(done.returncode, 0, done.stderr)
        said = (self.folder / "srun.said").read_text()
        self.assertEqual((self.folder / "srun.status").read_text(), "0\n", said)
        job = [p for p in self.folder.iterdir() if p.is_dir() and p.name.isdigit()]
        self.assertEqual(len(job), 1, said)
        self.assertEqual(sorted(p.name for p in job[0].iterdir()), [f"rank{r}.pftrace" for r in range(4)], said)
        run = report(job[0])["run"]
        self.assertEqual((run["ranks"], run["world_size"]), (4, 4))
        self.assertEqual([r["rank"] for r in report(job[0])["ranks"]], [0, 1, 2, 3])
        self.assertEqual((self.folder / "failing.status").read_text(), "9\n", (self.folder / "failing.said").read_text())
        self.assertEqual((self.folder / "torchrun.status").read_text(), "0\n", (self.folder / "torchrun.said").read_text())
        names = {p.name for p in (self.folder / "torchrun").iterdir()}
        self.assertLessEqual({"rank0.pftrace", "rank1.pftrace"}, names)
        self.assertEqual([r["rank"] for r in report(self.folder / "torchrun")["ranks"]], [0, 1])

    def test_mpirun(self) -> None:
        if not shutil.which("mpirun"):
            skip_loudly("no mpirun")
            self.skipTest("no mpirun")
        out = self.folder / "mpi"
        script = f'[ "$OMPI_COMM_WORLD_RANK" = 1 ] && sleep 0.2; {self.program} none 5'
        done = subprocess.run(["mpirun", "--oversubscribe", "-n", "3", EXE, "run", "--no-report", "-o", f"{out}/rank%r", "--", "sh", "-c", script],
                              capture_output=True, text=True, check=False, timeout=120, env=environment(**MPI_FOR_ROOT))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("done"), 3)
        self.assertEqual(sorted(p.name for p in out.iterdir()), [f"rank{r}.pftrace" for r in range(3)])
        self.assertEqual([r["rank"] for r in report(out)["ranks"]], [0, 1, 2])
        done = subprocess.run(["mpirun", "--oversubscribe", "-n", "2", EXE, "run", "--no-report", "-o", f"{out}-bad/rank%r", "--", "sh", "-c", "exit 6"],
                              capture_output=True, text=True, check=False, timeout=120, env=environment(**MPI_FOR_ROOT))
        self.assertEqual(done.returncode, 6, done.stderr)


if __name__ == "__main__":
    unittest.main()
