# SPDX-License-Identifier: Apache-2.0
"""`mpirun -n N holdup report`: one report, the same bytes as of one process, whoever reads which file."""
from __future__ import annotations

import gzip
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from typing import Any

from tests import page_data
from tests.program import EXE, OWN, ROOT, SANITIZED, SHARED, run, skip_loudly, traces
from tests.test_ranks import Job
from tests.test_scale import job as scaled_job

MODULE = pathlib.Path(EXE).parent / "libholdup-mpi.so"
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# Open MPI keeps what it allocates at its start, and says more than we ask for when a process ends with a status
ENV = {**os.environ, **AS_ROOT, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
EVENT = {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 2}


def start(n: int, *arguments: Any, program: str = EXE, before: tuple[str, ...] = (), **options: Any) -> subprocess.Popen[bytes]:
    command = ["mpirun", "--oversubscribe", "-n", str(n), *before, program, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, **{"env": ENV, "stdin": subprocess.DEVNULL, **options})


def mpirun(n: int, *arguments: Any, **options: Any) -> tuple[int, bytes, str]:
    """Exit status, standard output, and what holdup itself says on standard error."""
    process = start(n, *arguments, **options)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, "".join(line for line in err.decode(errors="replace").splitlines(True) if line.startswith("holdup: "))


def write(folder: pathlib.Path, name: str, **members: Any) -> None:
    (folder / name).write_text(json.dumps({"traceEvents": [EVENT], **members}))


@unittest.skipUnless(shutil.which("mpirun"), "SKIPPED: no mpirun (scripts/setup test)")
class Mpi(unittest.TestCase):
    def setUp(self) -> None:
        if not MODULE.exists():
            skip_loudly(f"{MODULE} was not built: Open MPI's headers were not there (scripts/setup test)")
            self.skipTest("no module")
        if b"Open MPI" not in subprocess.run(["mpirun", "--version"], capture_output=True, check=False, env=ENV).stdout:
            skip_loudly("mpirun is not Open MPI's")
            self.skipTest("not Open MPI")

    def same(self, *arguments: Any, sizes: tuple[int, ...] = (1, 2, 3), **options: Any) -> tuple[int, bytes, str]:
        expected = run(*arguments)
        for n in sizes:
            with self.subTest(arguments=arguments, processes=n):
                seen = mpirun(n, *arguments, **options)
                self.assertEqual(seen[0], expected[0], seen[2])
                self.assertEqual(seen[1], expected[1])
                self.assertEqual(seen[2], expected[2])
        return expected

    def test_text_json_csv_and_page_are_the_same_bytes(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            Job(11, ranks=5, count=20, late=2).write(folder)
            (folder / "train.py").write_text("import torch\n")
            self.assertIn(b"train.py", self.same("report", folder)[1])
            self.same("report", folder, "--json", sizes=(2,))
            self.same("report", folder, "--view", "comm", "--csv", sizes=(3,))
            self.same("report", folder, "--merge", "--view", "kernels", sizes=(2,))
            page = folder / "page.html"
            for n in (2, 3):
                expected = run("report", folder, "--html", page)
                one = page.read_bytes()
                page.unlink()
                self.assertEqual(mpirun(n, "report", folder, "--html", page), expected)
                self.assertEqual(page.read_bytes(), one)
            self.assertEqual(len(page_data.timelines(one.decode())), 5)

    def test_more_ranks_than_are_replayed_together(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            Job(12, ranks=40, count=6).write(pathlib.Path(name))
            self.same("report", name, "--json", sizes=(3,))

    def test_every_real_trace_is_the_same_from_afar(self) -> None:
        files = traces()
        for k in range(0, len(files), 20):
            some = files[k:k + 20]
            self.same("report", "--json", *some, sizes=(2,))
            self.same("report", "--json", *some, sizes=(3,))
            if not SANITIZED:
                self.same("report", "--compat", ("hta", "tracelens")[k // 20 % 2], "--json", *some, sizes=(2,))

    def test_pages_with_replays_are_the_same(self) -> None:
        folder = SHARED / "traces/kineto/astra-sim-megatron-tp8"
        paths = [folder] if folder.is_dir() and not SANITIZED else [*OWN[:2]]
        with tempfile.TemporaryDirectory() as name:
            one, two = pathlib.Path(name) / "one.html", pathlib.Path(name) / "two.html"
            self.assertEqual(run("report", *paths, "--html", one)[0], 0)
            self.assertEqual(mpirun(2, "report", *paths, "--html", two)[0], 0)
            self.assertEqual(two.read_bytes(), one.read_bytes())
            self.assertGreaterEqual(len(page_data.timelines(one.read_text())), 2)

    def test_what_cannot_be_read_is_said_once_and_in_order(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for rank in range(6):
                write(folder, f"rank{rank}.json", distributedInfo={"rank": rank, "world_size": 8})
            (folder / "rank1.json").write_text("no trace")
            (folder / "rank4.json").write_bytes(b"\x1f\x8b\x08 broken")
            (folder / "again.json").write_bytes((folder / "rank3.json").read_bytes())
            (folder / "zipped.json.gz").write_bytes(gzip.compress((folder / "rank5.json").read_bytes()))
            status, _, err = self.same("report", folder, "--strict")
            self.assertEqual((status, err.count("rank1.json"), err.count("rank4.json")), (4, 1, 1))
            self.assertLess(err.index("rank1.json"), err.index("rank4.json"))
            self.same("report", folder, "--json", "--quiet", sizes=(3,))
            (folder / "empty").mkdir()
            seen = self.same("report", folder, folder / "empty", folder / "nobody.json", "--json", sizes=(2, 3))
            self.assertEqual({pathlib.Path(u["file"]).name for u in json.loads(seen[1])["unread"]}, {"rank1.json", "rank4.json", "empty", "nobody.json"})
            self.same("report", folder / "nobody.json", folder / "rank1.json", folder / "rank4.json", sizes=(2,))       # nothing left
            self.same("report", folder / "rank1.json", folder / "rank4.json", "--html", folder / "page.html", sizes=(2,))

    def test_what_a_folder_holds_besides_is_not_lost(self) -> None:
        """The session of a rank whose trace was not written is an unread input, for several processes as for one."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            shutil.copy(OWN[0], folder / "rank0.json.gz")
            (folder / ".holdup-x").mkdir()
            (folder / ".holdup-x/control").write_bytes(bytes(4096))
            seen = self.same("report", folder, "--json", sizes=(2,))
            self.assertEqual([row["file"] for row in json.loads(seen[1])["unread"]], [f"{name}/.holdup-x"])
            self.assertEqual(self.same("report", folder, "--strict", sizes=(2,))[0], 4)

    def test_wrong_use_is_said_once(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            for arguments in (["report"], ["report", "--no-such-option"], ["report", name], ["report", f"{name}/none"], ["report", "--view", "list"],
                              ["scale", OWN[0]], ["scale", OWN[0], f"{name}/none"]):
                self.same(*arguments, sizes=(3,))

    def test_more_processes_than_files(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            self.same("report", OWN[0], sizes=(3,))
            one, two = pathlib.Path(name) / "one.html", pathlib.Path(name) / "two.html"
            self.assertEqual(run("report", OWN[0], "--html", one)[0], 0)
            self.assertEqual(mpirun(3, "report", OWN[0], "--html", two)[0], 0)
            self.assertEqual(two.read_bytes(), one.read_bytes())

    def test_standard_input_goes_to_the_first(self) -> None:
        with OWN[0].open("rb") as file:
            self.assertEqual(mpirun(2, "report", "-", OWN[1], "--json", stdin=file)[1], run("report", "-", OWN[1], "--json", stdin=OWN[0].read_bytes())[1])

    def test_scale_reads_each_run_together(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            runs = [pathlib.Path(name) / str(n) for n in (2, 4)]
            for folder, ranks in zip(runs, (2, 4)):
                folder.mkdir()
                scaled_job(folder, ranks, compute=5_000_000, transfer=500_000 * ranks, steps=4)
            status, out, _ = self.same("scale", *runs, "--json")
            self.assertEqual((status, json.loads(out)["runs"][1]["gpus"]), (0, 4))

    def test_files_that_only_another_machine_has(self) -> None:
        """Two processes with folders of their own under one name, as disks of nodes are."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            Job(4, ranks=4, count=10).write(folder)
            for process in range(2):
                (folder / str(process)).mkdir()
            for rank in range(4):
                shutil.move(folder / f"rank{rank}.json", folder / str(rank % 2) / f"rank{rank}.json")
            whole = folder / "run"
            whole.mkdir()
            for rank in range(4):
                shutil.copy(folder / str(rank % 2) / f"rank{rank}.json", whole / f"rank{rank}.json")
            script = folder / "on_node"
            script.write_text('#!/bin/sh\ncd "$0.d/$OMPI_COMM_WORLD_RANK" && exec "$@"\n')
            script.chmod(0o755)
            (folder / "on_node.d").mkdir()
            for process in range(2):
                node = folder / "on_node.d" / str(process)
                node.mkdir()
                (node / "run").symlink_to(folder / str(process))
            one = subprocess.run([EXE, "report", "run", "--json", "--html", folder / "one.html"], cwd=folder, capture_output=True, check=True).stdout
            status, out, _ = mpirun(2, "report", "run", "--json", "--html", folder / "two.html", before=(str(script),))
            self.assertEqual(status, 0)
            self.assertEqual(json.loads(out)["run"]["ranks"], 4)
            self.assertEqual(out, one)
            self.assertEqual((folder / "two.html").read_bytes(), (folder / "one.html").read_bytes())

    def test_a_killed_process_ends_the_job(self) -> None:
        """The first waits for a pipe that nobody writes to, the second for the first, until one of them is killed."""
        for victim in (0, 1):
            with self.subTest(victim=victim), tempfile.TemporaryDirectory() as name:
                pipe = pathlib.Path(name) / "pipe.json"
                os.mkfifo(pipe)
                script = pathlib.Path(name) / "note"
                script.write_text(f'#!/bin/sh\necho $$ >{name}/$OMPI_COMM_WORLD_RANK.pid && exec "$@"\n')
                script.chmod(0o755)
                process = start(2, "report", pipe, OWN[0], before=(str(script),))
                deadline = time.monotonic() + 60
                pids: list[int] = []
                while len(pids) < 2 and time.monotonic() < deadline:
                    pids = [int(p.read_text()) for p in sorted(pathlib.Path(name).glob("?.pid")) if p.read_text().endswith("\n")]
                    time.sleep(0.05)
                while "libholdup-mpi" not in pathlib.Path(f"/proc/{pids[victim]}/maps").read_text() and time.monotonic() < deadline:
                    time.sleep(0.05)
                time.sleep(0.5)                 # past the start of MPI
                os.kill(pids[victim], signal.SIGKILL)
                out, err = process.communicate(timeout=60)
                self.assertNotEqual(process.returncode, 0)
                self.assertEqual(out, b"")
                self.assertIn(b"signal 9 (Killed)", err)
                for pid in pids:
                    self.assertFalse(pathlib.Path(f"/proc/{pid}").exists() and pathlib.Path(f"/proc/{pid}/cmdline").read_bytes())

    def test_without_the_module_one_does_all_and_says_so(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            alone = shutil.copy(EXE, pathlib.Path(name) / "holdup")
            status, out, err = mpirun(3, "report", OWN[0], "--json", program=str(alone))
            self.assertEqual((status, out), (0, run("report", OWN[0], "--json")[1]))
            self.assertEqual(err, "holdup: started 3 times, but libholdup-mpi.so is not installed: one process does all the work (docs/many-ranks.md)\n")

    def test_another_launcher_is_told_from_open_mpi(self) -> None:
        expected = run("report", OWN[0], "--json")[1]
        for rank in (0, 1):
            status, out, err = run("report", OWN[0], "--json", env={"PMI_RANK": str(rank), "PMI_SIZE": "2"})
            self.assertEqual((status, out), (0, expected if rank == 0 else b""))
            self.assertEqual("not by the mpirun of Open MPI or MPICH" in err, rank == 0)

    def test_processes_of_mpich_make_one_report_too(self) -> None:
        if not shutil.which("mpirun.mpich") or not MODULE.with_name("libholdup-mpich.so").exists():
            skip_loudly("MPICH is not installed: its module was not tried")
            return
        with tempfile.TemporaryDirectory() as name:
            Job(11, ranks=5, count=20, late=2).write(pathlib.Path(name))
            for n in (2, 3):
                done = subprocess.run(["mpirun.mpich", "-n", str(n), EXE, "report", name, "--json"], capture_output=True, timeout=120, check=False, env=ENV, cwd=ROOT,
                                      stdin=subprocess.DEVNULL)
                self.assertEqual((done.returncode, done.stdout, done.stderr.decode()), run("report", name, "--json"))

    def test_a_child_of_a_job_does_not_wait_for_the_others(self) -> None:
        """As where a training script under mpirun calls holdup at its end, perhaps on one rank alone."""
        script = f'if [ $OMPI_COMM_WORLD_RANK = 1 ]; then {EXE} report {OWN[0]} --json; fi; true'
        process = subprocess.run(["mpirun", "--oversubscribe", "-n", "2", "sh", "-c", script], capture_output=True, timeout=60, check=True, env=ENV)
        self.assertEqual(process.stdout, run("report", OWN[0], "--json")[1])
        out = mpirun(2, "report", OWN[0], "--json", before=("sh", "-c", '"$@"; true', "sh"), env={**ENV, "HOLDUP_MPI": "1"})[1]
        self.assertEqual(out, process.stdout)
        twice = mpirun(2, "report", OWN[0], "--json", env={**ENV, "HOLDUP_MPI": "0"})[1]      # mpirun mixes what both print
        self.assertEqual(sorted(twice), sorted(2 * process.stdout))

    def test_other_arguments_are_other_reports(self) -> None:
        script = f'exec {EXE} report $1$OMPI_COMM_WORLD_RANK.json --json --output $1$OMPI_COMM_WORLD_RANK.out'
        with tempfile.TemporaryDirectory() as name:
            for rank in range(2):
                write(pathlib.Path(name), f"r{rank}.json", distributedInfo={"rank": rank})
            process = subprocess.run(["mpirun", "--oversubscribe", "-n", "2", "sh", "-c", script, "sh", f"{name}/r"], capture_output=True, timeout=60, check=True, env=ENV)
            self.assertIn(b"different arguments", process.stderr)
            for rank in range(2):
                self.assertEqual(json.loads((pathlib.Path(name) / f"r{rank}.out").read_text())["ranks"][0]["rank"], rank)

    def test_alone_nothing_of_mpi_is_loaded(self) -> None:
        needed = subprocess.run(["ldd", EXE], capture_output=True, check=True).stdout
        self.assertNotIn(b"libmpi", needed)
        with tempfile.TemporaryDirectory() as name:
            log = pathlib.Path(name) / "log"
            run("report", OWN[0], env={"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(log)})
            text = "".join(p.read_text() for p in pathlib.Path(name).glob("log*"))
            self.assertIn("libc.so", text)
            self.assertNotRegex(text, "lib(holdup-)?mpi")


if __name__ == "__main__":
    unittest.main()
