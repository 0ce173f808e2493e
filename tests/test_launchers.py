# SPDX-License-Identifier: Apache-2.0
"""The launchers of examples/: every rank is recorded under the right name, and what is said at the end is true.

SLURM is a real one, with several nodes on this host (tests/slurm/cluster); training is real where there is a torch, else
tests/slurm/rank.py stands in for it, whose times are known.
"""
import gzip
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from tests.program import EXE, ROOT, SANITIZED, report, run, skip_loudly, torch_or_skip, torch_python

EXAMPLES = ROOT / "examples"
RANK = ROOT / "tests/slurm/rank.py"
MPI_FOR_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
WORDS = ["two words", "$HOME \"quoted\" 'too' \\", "*", "--nodes=7", ""]


def load_record():
    """examples/training/record.py, which users copy."""
    spec = importlib.util.spec_from_file_location("record", EXAMPLES / "training/record.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def names(folder: pathlib.Path) -> list[str]:
    return sorted(p.name for p in folder.glob("*.pt.trace.json.gz"))


def expected(ranks: int, per_node: int) -> list[str]:
    return sorted(f"node_{r // per_node}_rank_{r}.pt.trace.json.gz" for r in range(ranks))


def launch(command: list, env: dict[str, str], timeout: float = 300) -> tuple[int, str]:
    """Exit status and all that was said; on time-out a signal to all that it started, so that whoever is asked can clean up."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SBATCH", "HOLDUP"))}
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT, start_new_session=True,
                          env={**clean, "HOLDUP": EXE, "CUDA_VISIBLE_DEVICES": "", **env}) as child:
        try:
            out, _ = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGTERM)
            out, _ = child.communicate(timeout=30)
            raise AssertionError(f"not done after {timeout} s: {out.decode(errors='replace')}") from None
    return child.returncode, out.decode(errors="replace")


class Names(unittest.TestCase):
    def test_what_launchers_tell(self) -> None:
        record = load_record()
        cases = (
            ({}, 0, 0),
            ({"RANK": "9", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "8", "GROUP_RANK": "1"}, 1, 9),                       # torchrun
            ({"RANK": "9", "GROUP_RANK": "1", "SLURM_PROCID": "1", "SLURM_NODEID": "1"}, 1, 9),                         # under SLURM
            ({"RANK": "5", "LOCAL_SIZE": "4", "CROSS_RANK": "1", "CROSS_SIZE": "2"}, 1, 5),                             # DeepSpeed
            ({"SLURM_PROCID": "6", "SLURM_NODEID": "3", "SLURM_LOCALID": "0"}, 3, 6),
            ({"OMPI_COMM_WORLD_RANK": "6", "OMPI_COMM_WORLD_LOCAL_SIZE": "4"}, 1, 6),
            ({"OMPI_COMM_WORLD_RANK": "6", "OMPI_COMM_WORLD_LOCAL_SIZE": "4", "SLURM_PROCID": "0", "SLURM_NODEID": "0"}, 1, 6),
            ({"PMI_RANK": "3", "MPI_LOCALNRANKS": "2"}, 1, 3),
            ({"RANK": "", "SLURM_PROCID": "2"}, 0, 2), ({"RANK": "x"}, 0, 0), ({"RANK": "3", "OMPI_COMM_WORLD_LOCAL_SIZE": "0"}, 0, 3),
            ({"RANK": "5", "SLURM_PROCID": "5", "SLURM_NODEID": "2"}, 2, 5),                                            # job.sbatch, LAUNCHER=srun
        )
        for environment, node, rank in cases:
            with self.subTest(environment=environment), mock.patch.dict(os.environ, environment, clear=True):
                self.assertEqual(record.trace_name(), f"node_{node}_rank_{rank}.pt.trace.json.gz")

    def test_nothing_is_recorded_unless_a_folder_is_named(self) -> None:
        with mock.patch.dict(os.environ, {}, clear=True), mock.patch.dict(sys.modules, {"torch": None}), load_record().recording() as step:
            self.assertIsNone(step())


class Docs(unittest.TestCase):
    def test_what_they_name_exists(self) -> None:
        pages = [ROOT / "docs/launchers.md", *EXAMPLES.glob("*/README.md")]
        self.assertEqual(len(pages), 6)
        for page in pages:
            text = page.read_text()
            for link in re.findall(r"\]\(([^)#]+)\)", text):
                self.assertTrue((page.parent / link).exists(), f"{page}: {link}")
            for path in re.findall(r"\b(?:examples|tests)/[\w./]*\w", text):
                self.assertTrue((ROOT / path).exists(), f"{page}: {path}")

    def test_variables_of_submit(self) -> None:
        """Each that its head names is read, each that is read is named."""
        text = "".join((EXAMPLES / "slurm" / name).read_text() for name in ("submit", "job.sbatch", "collect"))
        head = {name for line in re.findall(r"^#   ([A-Z].*?)  ", (EXAMPLES / "slurm/submit").read_text(), re.MULTILINE)
                for name in re.findall(r"\b([A-Z][A-Z_]{3,})\b", line.split("=")[0])}
        read = set(re.findall(r"\$\{([A-Z_]+):[-=]", text)) - {"SLURM_GPUS_ON_NODE"}
        self.assertEqual(head, read)
        self.assertEqual(len(read), 13)


class Collect(unittest.TestCase):
    """Needs no SLURM."""

    def record(self, folder: pathlib.Path, ranks: int, exit_status: str | None = "0") -> None:
        folder.mkdir(parents=True)
        for rank in range(ranks):
            status, said = launch(["python3", RANK], {"HOLDUP_TRACES": str(folder), "RANK": str(rank), "WORLD_SIZE": str(ranks), "SLURM_NODEID": str(rank)})
            self.assertEqual(status, 0, said)
        if exit_status is not None:
            (folder / "exit_status").write_text(exit_status + "\n")

    def test_what_did_not_end_is_left_out(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            results = pathlib.Path(name)
            for folder, ranks, status in (("1node", 1, "0"), ("2nodes", 2, None), ("3nodes", 3, "137"), ("10nodes", 4, "0")):
                self.record(results / folder, ranks, status)
            (results / "2nodes.log").write_text("the beginning\n" + "more\n" * 20 + "DUE TO TIME LIMIT\n")
            (results / "4nodes").mkdir()
            (results / "4nodes/exit_status").write_text("0\n")
            status, said = launch([EXAMPLES / "slurm/collect", results], {"SCALE_OPTIONS": "--strong"})
            self.assertEqual(status, 1)
            self.assertIn("2nodes: FAILED, left out (ended without a word: cancelled, out of time, or never begun)\n", said)
            self.assertIn("    DUE TO TIME LIMIT\n", said)
            self.assertNotIn("the beginning", said)
            self.assertIn("3nodes: FAILED, left out (exit status 137)\n", said)
            self.assertIn("4nodes: FAILED, left out (holdup cannot read its traces)\n", said)
            self.assertIn("1 → 4 GPUs: 0.9×", said)                 # told that the batch was divided, which it was not
            self.assertIn("\n10nodes:\n", said)                     # the largest, by number
            self.assertEqual({p.stem for p in (results / "report").iterdir()}, {"1node", "10nodes", "scaling"})
            again, same = launch([EXAMPLES / "slurm/collect", results], {"SCALE_OPTIONS": "--strong"})
            self.assertEqual((again, same), (status, said))

    def test_one_run_is_explained(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            self.record(pathlib.Path(name) / "1node", 1)
            status, said = launch([EXAMPLES / "slurm/collect", name], {"HOLDUP": os.path.relpath(EXE, ROOT)})
            self.assertEqual(status, 0, said)
            self.assertIn("1 run to explain: comparing takes two\n", said)
            self.assertIn("10.0 ms per step", said)

    def test_usage(self) -> None:
        for arguments in ([], ["/nowhere"], [ROOT, ROOT]):
            status, said = launch([EXAMPLES / "slurm/collect", *arguments], {})
            self.assertEqual((status, said.split(",")[0]), (2, "usage: collect RESULTS"))
        status, said = launch([EXAMPLES / "slurm/submit", "--wiat"], {})
        self.assertEqual((status, "unknown option --wiat" in said), (2, True))


class OneMachine(unittest.TestCase):
    """torchrun, DeepSpeed, mpirun: sizes are numbers of ranks."""

    def explained(self, launcher: str, env: dict[str, str], *command: str) -> None:
        with tempfile.TemporaryDirectory() as name:
            results = pathlib.Path(name) / "all results"
            status, said = launch([EXAMPLES / launcher / "run", *command], {"SIZES": "1 2", "RESULTS": str(results), **env})
            logs = "".join(log.read_text(errors="replace") for log in results.glob("*.log"))
            self.assertEqual(status, 0, said + logs)
            self.assertEqual((names(results / "1rank"), names(results / "2ranks")), (expected(1, 2), expected(2, 2)))
            self.assertRegex(said, r"1 → 2 (GPUs|processes): \d\.\d×")
            told = report(results / "2ranks")
            self.assertEqual((told["run"]["ranks"], told["run"]["world_size"]), (2, 2))
            self.assertGreaterEqual(told["collectives"]["matched"], 6)
            self.assertTrue((results / "report/2ranks.html").exists())
            again, words = launch([EXAMPLES / launcher / "run", *command], {"RESULTS": str(results), **env})
            self.assertEqual((again, "is already there" in words), (2, True), words)

    def with_torch(self, launcher: str, **env: str) -> None:
        self.explained(launcher, {"PYTHON": torch_or_skip(self), **env})

    @unittest.skipIf(SANITIZED, "says nothing more about holdup")
    def test_torchrun(self) -> None:
        self.with_torch("torchrun")

    @unittest.skipIf(SANITIZED, "says nothing more about holdup")
    def test_deepspeed(self) -> None:
        python = torch_python()
        if python and subprocess.run([python, "-c", "import deepspeed"], capture_output=True, check=False).returncode == 0:
            self.with_torch("deepspeed", DS_ACCELERATOR="cpu", MASTER_PORT="29517")
        else:
            skip_loudly("no deepspeed: examples/deepspeed was not run")
            self.skipTest("no deepspeed")

    @unittest.skipIf(SANITIZED, "says nothing more about holdup")
    def test_mpi(self) -> None:
        found = [mpirun for mpirun in ("mpirun.openmpi", "mpirun.mpich", "mpirun") if shutil.which(mpirun)]
        if not found:
            skip_loudly("no mpirun: examples/mpi was not run (scripts/setup test)")
            self.skipTest("no mpirun")
        root = {**MPI_FOR_ROOT, "OMPI_MCA_rmaps_base_oversubscribe": "1", "MASTER_PORT": "29519"}
        for mpirun in found[:2]:
            with self.subTest(mpirun=mpirun):
                self.explained("mpi", {"MPIRUN": mpirun, **root}, str(RANK))
        if torch_python():
            self.with_torch("mpi", MPIRUN=found[0], **root)

    def test_what_is_missing_is_said(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            no_torch = pathlib.Path(name) / "python"
            no_torch.write_text("#!/bin/sh\nexit 1\n")
            no_torch.chmod(0o755)
            env = {"PYTHON": str(no_torch), "RESULTS": f"{name}/results", "MPIRUN": "/nowhere/mpirun"}
            for launcher, words in (("torchrun", "has no torch"), ("deepspeed", "has no torch"), ("mpi", "/nowhere/mpirun is not installed")):
                status, said = launch([EXAMPLES / launcher / "run"], env)
                self.assertEqual((status, words in said), (1, True), said)
                self.assertFalse(os.path.exists(env["RESULTS"]))


SUBMITS = """
set -u
cd "$FOLDER"
submit=$EXAMPLES/slurm/submit
export GPUS_PER_NODE=2
(LAUNCHER=srun PARTITION=all ACCOUNT=nobody SRUN_OPTIONS='--label' RESULTS="$FOLDER/all 100%j" CONTAINER='my image.sif' \
    "$submit" --wait "$RANK" --words "$@"; echo $? >srun.status) >srun.said 2>&1 &
(LAUNCHER=torchrun PYTHON="$TORCHRUN" DEVICE=cpu SIZES='1 2 4 9' RESULTS=failing "$submit" --wait "$RANK" --fail-on 2
    echo $? >failing.status) >failing.said 2>&1 &
wait
if command -v mpirun >/dev/null; then
    SIZES='2 4' MPIRUN_OPTIONS='--map-by ppr:2:node' MASTER_PORT=29523 RESULTS=mpi \
        timeout 60 salloc -N 2 --ntasks-per-node=2 "$EXAMPLES/mpi/run" "$RANK" >mpi.said 2>&1
    echo $? >mpi.status
fi
if [ -n "$TORCH" ]; then
    PYTHON=$TORCH DEVICE=cpu GPUS_PER_NODE=1 SIZES='1 2' RESULTS=torch "$submit" --wait >torch.said 2>&1
    echo $? >torch.status
fi
"""
APPTAINER = """#!/bin/bash
# stands in for apptainer: notes the options, runs what follows the image
printf '%s\\n' "$@" >"$FOLDER/apptainer.$SLURM_JOB_NUM_NODES"
while [ "$1" != 'my image.sif' ]; do shift; done
shift
exec "$@"
"""


@unittest.skipIf(SANITIZED, "says nothing more about holdup")
class Slurm(unittest.TestCase):
    """All of it on one cluster, which lives as long as the class is set up."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)
        bin_folder = cls.folder / "bin"
        bin_folder.mkdir()
        (bin_folder / "apptainer").write_text(APPTAINER)
        (bin_folder / "apptainer").chmod(0o755)
        before = set(pathlib.Path("/tmp").glob("holdup-slurm.*"))
        status, cls.said = launch(
            [ROOT / "tests/slurm/cluster", 4, "bash", "-c", SUBMITS, "bash", *WORDS],
            {"FOLDER": str(cls.folder), "EXAMPLES": str(EXAMPLES), "RANK": str(RANK), "TORCHRUN": str(ROOT / "tests/slurm/torchrun.py"),
             "TORCH": shutil.which(torch_python() or "") or "", "PATH": f"{bin_folder}:{os.environ['PATH']}", **MPI_FOR_ROOT})
        if status == 77:
            skip_loudly(f"examples/slurm was not run: {cls.said.strip()}")
            raise unittest.SkipTest("no SLURM")
        if status != 0:
            raise AssertionError(cls.said)
        cls.left = set(pathlib.Path("/tmp").glob("holdup-slurm.*")) - before

    def text(self, name: str) -> str:
        path = self.folder / name
        return path.read_text(errors="replace") if path.exists() else ""

    def everything(self, name: str) -> str:
        """For messages: what was said, and the logs."""
        return self.said + self.text(f"{name}.said") + "".join(p.read_text(errors="replace") for p in self.folder.glob("*/*.log"))

    def test_every_rank_is_recorded_under_its_name(self) -> None:
        results = self.folder / "all 100%j"
        self.assertEqual(self.text("srun.status"), "0\n", self.everything("srun"))
        for nodes, name in ((1, "1node"), (2, "2nodes"), (4, "4nodes")):
            self.assertEqual(names(results / name), expected(2 * nodes, 2), self.everything("srun"))
            for path in (results / name).glob("*.gz"):
                node, rank = map(int, re.match(r"node_(\d+)_rank_(\d+)\.", path.name).groups())
                trace = json.loads(gzip.decompress(path.read_bytes()))
                self.assertEqual((trace["distributedInfo"]["rank"], trace["distributedInfo"]["world_size"]), (rank, 2 * nodes))
                if nodes == 4:      # SLURM may choose others for a smaller job
                    self.assertEqual(trace["host_name"], f"n{node + 1}")
            told = report(results / name)["run"]
            self.assertEqual((told["ranks"], told["nodes"], told["world_size"]), (2 * nodes, nodes, 2 * nodes))

    def test_what_is_lost_is_said(self) -> None:
        """Steps of 10.005 ms and an all-reduce of 1 ms for each node: 4 nodes do 4 × 11.005 / 14.005."""
        results = self.folder / "all 100%j"
        said = self.text("srun.said")
        self.assertIn("2 → 8 GPUs: 3.1× (79 % efficiency). Of the 21 points lost: exposed communication\n21.", said, self.everything("srun"))
        status, out, err = run("scale", *(results / name for name in ("1node", "2nodes", "4nodes")), "--json")
        self.assertEqual(status, 0, err)
        runs = json.loads(out)["runs"]
        self.assertEqual([(r["gpus"], r["nodes"], r["ranks"]) for r in runs], [(2, 1, 2), (4, 2, 4), (8, 4, 8)])
        for one, truth in zip(runs, (11.005, 12.005, 14.005)):
            self.assertAlmostEqual(one["step_ns"] / 1e6, truth, places=2)
            self.assertAlmostEqual(one["efficiency_pct"], 100 * 11.005 / truth, delta=0.1)
        self.assertIn("slowest of 8 ranks", said)
        self.assertIn("slowest of 4 ranks", (results / "2nodes.log").read_text())
        self.assertTrue((results / "report/scaling.svg").read_text().startswith("<svg"))
        self.assertIn("| 8 |", re.sub(" +", " ", (results / "report/scaling.md").read_text()))
        for name in ("1node", "2nodes", "4nodes"):
            self.assertIn("<!doctype html>", (results / f"report/{name}.html").read_text()[:100])
            self.assertIn("ms per step", (results / f"report/{name}.txt").read_text())

    def test_arguments_arrive_as_they_were(self) -> None:
        arrived = json.loads((self.folder / "all 100%j/4nodes/said.txt").read_text())
        self.assertEqual(arrived["words"], WORDS)
        self.assertEqual(arrived["cpus"], "4")                  # of 8 on each node for 2 ranks
        self.assertEqual(arrived["gpus"], "2")
        self.assertEqual(arrived["master"], "127.0.0.1")        # the first node's address, not its name
        words = self.text("apptainer.4").splitlines()
        self.assertEqual(words[:2] + words[6:8], ["exec", "--nv", "my image.sif", "python3"])
        self.assertEqual(words[2:4], ["--bind", str(self.folder / "all 100%j")])

    def test_a_failing_size_is_said_and_the_others_are_explained(self) -> None:
        said = self.text("failing.said")
        self.assertEqual(self.text("failing.status"), "1\n", self.everything("failing"))
        self.assertRegex(said, r"9nodes: sbatch refused it: .*Node count")
        self.assertIn("9nodes: FAILED, left out (refused by sbatch)", said)
        self.assertRegex(said, r"2nodes: FAILED, left out \(exit status \d+\)\n")
        self.assertIn("    rank.py fails, as it was asked to", said)
        self.assertIn("2 → 8 GPUs: 3.1× (79 % efficiency).", said)
        self.assertEqual(names(self.folder / "failing/4nodes"), expected(8, 2))
        self.assertEqual(names(self.folder / "failing/2nodes"), [])
        self.assertEqual({p.name for p in (self.folder / "failing/report").glob("*.html")}, {"1node.html", "4nodes.html", "scaling.html"})

    def test_mpirun_on_two_nodes_of_an_allocation(self) -> None:
        """SLURM's variables in the ranks are those of the daemons that mpirun started; the names follow MPI."""
        if not shutil.which("mpirun"):
            skip_loudly("no mpirun: examples/mpi was not run under SLURM (scripts/setup test)")
            self.skipTest("no mpirun")
        self.assertEqual(self.text("mpi.status"), "0\n", self.everything("mpi"))
        self.assertEqual(names(self.folder / "mpi/4ranks"), expected(4, 2))
        told = report(self.folder / "mpi/4ranks")
        self.assertEqual((told["run"]["nodes"], [r["host"] for r in told["ranks"]]), (2, ["n1", "n1", "n2", "n2"]))
        self.assertIn("2 → 4 GPUs: ", self.text("mpi.said"))

    def test_training_under_torchrun(self) -> None:
        torch_or_skip(self)
        self.assertEqual(self.text("torch.status"), "0\n", self.everything("torch"))
        self.assertEqual(names(self.folder / "torch/2nodes"), expected(2, 1))
        self.assertIn("1 → 2 processes: ", self.text("torch.said"))
        told = report(self.folder / "torch/2nodes")
        self.assertGreaterEqual(told["collectives"]["matched"], 6)
        self.assertEqual(told["ranks"][1]["steps"]["count"], 6)

    def test_nothing_is_left(self) -> None:
        self.assertEqual(self.left, set())
        for file in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                self.assertNotIn(f"FOLDER={self.folder}".encode(), file.read_bytes().split(b"\0"), file)
            except OSError:
                pass


if __name__ == "__main__":
    unittest.main()
