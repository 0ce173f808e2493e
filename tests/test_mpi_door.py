# SPDX-License-Identifier: Apache-2.0
"""The MPI door with the real Open MPI and MPICH: results unchanged, every call counted, bytes, peers and communicators right."""
from __future__ import annotations

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from tests.program import EXE, ROOT, SANITIZED, python_with, skip_loudly
from tests.rings import DOORS, Process, Record, make_session, notes, read_session

LIBRARY = pathlib.Path(EXE).parent / "libholdup-inject.so"
CALLS = re.findall(r"M\((\w+), \w+, (\d+), (\w+), \"(\w*)\"\)", (ROOT / "src/protocol/mpi_calls.h").read_text())
NAMES = ["MPI_" + name for name, *_ in CALLS]
CLEAN = ("SLURM", "HOLDUP", "OMPI", "PMI", "RANK", "LOCAL_RANK", "WORLD_SIZE", "MPI")
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "HYDRA_LAUNCHER": "fork"}
WORLD = "MPI_COMM_WORLD"


def load_tests(_loader, tests, _pattern):
    """What is tried here lives in other programs, without sanitizers: once is enough."""
    return unittest.TestSuite() if SANITIZED else tests


class Flavour:
    """One of the two implementations; Debian lets both be installed."""
    name = compiler = fortran = ""
    start: tuple[str, ...] = ()

    @classmethod
    def is_there(cls) -> bool:
        return bool(shutil.which(cls.compiler) and shutil.which(cls.start[0]))


class OpenMpi(Flavour):
    name, compiler, fortran = "Open MPI", "mpicc.openmpi", "mpif90.openmpi"
    start = ("mpirun.openmpi", "--oversubscribe")


class Mpich(Flavour):
    name, compiler, fortran = "MPICH", "mpicc.mpich", "mpif90.mpich"
    start = ("mpirun.mpich",)


class Case(unittest.TestCase):
    def setUp(self) -> None:
        if not LIBRARY.exists():
            skip_loudly(f"{LIBRARY} was not built")
            self.skipTest("no library")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def flavours(self) -> list[type[Flavour]]:
        found = [f for f in (OpenMpi, Mpich) if f.is_there()]
        for f in (OpenMpi, Mpich):
            if f not in found:
                skip_loudly(f"{f.name} is not installed (scripts/setup test)")
        if not found:
            self.skipTest("no MPI")
        return found

    def compile(self, flavour: type[Flavour], source: str, *flags: str) -> pathlib.Path:
        out = self.folder / f"{source.split('.')[0]}-{flavour.compiler}{''.join(flags)}".replace("/", "_")
        compiler = flavour.fortran if source.endswith("f90") else flavour.compiler
        subprocess.run([compiler, "-O1", "-w", *flags, "-o", out, ROOT / "tests/inject" / source], check=True, capture_output=True)
        return out

    def run_plain(self, flavour: type[Flavour], n: int, *command: object, env: dict[str, str] | None = None,
                  before: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(CLEAN)}
        return subprocess.run([*flavour.start, "-n", str(n), *before, *map(str, command)], capture_output=True, text=True, timeout=120,
                              check=False, env={**clean, **AS_ROOT, **(env or {})}, stdin=subprocess.DEVNULL)

    def record(self, flavour: type[Flavour], n: int, *command: object, preload: str = str(LIBRARY), doors: str = "mpi",
               **control: object) -> tuple[subprocess.CompletedProcess, list[Process]]:
        session = self.folder / f"session-{flavour.compiler}-{len(list(self.folder.iterdir()))}"
        make_session(session, doors, **control)
        done = self.run_plain(flavour, n, *command, before=("env", f"LD_PRELOAD={preload}"), env={"HOLDUP_SESSION": str(session)})
        self.session = session
        return done, [p for p in read_session(session) if p.doors & DOORS["mpi"] or p.records]


def calls(process: Process, name: str) -> list[Record]:
    return [r for r in process.records if r.type == "mpi" and NAMES[r.aux] == name]


def without_counts(text: str) -> list[str]:
    return sorted(line for line in text.splitlines() if not line.startswith("COUNT"))


class List(unittest.TestCase):
    def test_each_row_has_a_letter_for_each_argument(self) -> None:
        self.assertGreater(len(CALLS), 150)
        self.assertEqual([name for name, arity, _, letters in CALLS if int(arity) != len(letters)], [])
        self.assertEqual(set("".join(letters for *_, letters in CALLS)) - set("bntdgBNTsGvyVYcrwfCWHZEIqpzkQSAFiomPx"), set())
        self.assertEqual(len(set(NAMES)), len(NAMES))

    def test_libraries_have_all_that_we_stand_in_front_of(self) -> None:
        # mpi4py asks by weak references which calls there are, and must not find one that only we have
        for name in ("libmpi.so.40", "libmpich.so.12"):
            found = [p for folder in ("/usr/lib", "/usr/lib64") for p in pathlib.Path(folder).glob(f"*/{name}")]
            if not found:
                skip_loudly(f"no {name}")
                continue
            exported = {line.split()[-1] for line in subprocess.run(["nm", "-D", "--defined-only", found[0]], capture_output=True, text=True,
                                                                    check=True).stdout.splitlines()}
            self.assertEqual([n for n in NAMES if n not in exported], [], name)


class Everything(Case):
    def test_results_are_unchanged_and_every_call_is_counted(self) -> None:
        for flavour in self.flavours():
            with self.subTest(flavour.name):
                program = self.compile(flavour, "mpi_client.c")
                plain = self.run_plain(flavour, 4, program, self.folder)
                self.assertEqual(plain.returncode, 0, plain.stderr)
                done, processes = self.record(flavour, 4, program, self.folder)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(without_counts(done.stdout), without_counts(plain.stdout))
                self.assertEqual([(p.rank, p.world_size, p.rank_source) for p in processes], [(i, 4, WORLD) for i in range(4)])
                for p in processes:
                    said = {name: int(n) for rank, name, n in re.findall(r"COUNT (\d) (\w+) (\d+)", done.stdout) if int(rank) == p.rank}
                    seen = collections.Counter(NAMES[r.aux] for r in p.records)
                    seen.pop("MPI_Test", None)          # how often is chance
                    self.assertEqual(seen, said)
                    self.assertEqual(sum(p.lost), 0)
                self.messages(processes)
                self.collectives(processes)
                self.communicators(processes)
                self.windows_and_files(processes)
                self.assertEqual(notes(self.session), "")

    def messages(self, processes: list[Process]) -> None:
        for p in processes:
            after, before = (p.rank + 1) % 4, (p.rank + 3) % 4
            exchange = calls(p, "MPI_Sendrecv")[0]
            self.assertEqual((exchange.text, exchange.b), (WORLD, 400))
            self.assertEqual(exchange.values, {"peer": after, "source": before, "tag": 1, "count": 100, "received": 400})
            isend, irecv = calls(p, "MPI_Isend")[0], calls(p, "MPI_Irecv")[0]
            self.assertEqual((isend.b, isend.values), (100, {"peer": after, "tag": 3, "count": 25}))
            self.assertEqual((irecv.b, irecv.values), (400, {"peer": before, "tag": 3, "count": 100}))
            received, sent = calls(p, "MPI_Wait")[:2]       # what really came, not what there was room for
            self.assertEqual((received.b, received.values), (100, {"of": "MPI_Irecv", "peer": before, "tag": 3}))
            self.assertEqual((sent.b, sent.values), (100, {"of": "MPI_Isend", "peer": after, "tag": 3}))
            everything = calls(p, "MPI_Waitall")
            self.assertEqual([w.b for w in everything], [160, 40, 40, 40, 40])
            self.assertEqual([w.values["requests"] for w in everything], [4, 2, 2, 2, 2])
            self.assertEqual([w.text for w in everything], [WORLD] * 5)
            probe, matched, got = (calls(p, name)[0] for name in ("MPI_Probe", "MPI_Mprobe", "MPI_Mrecv"))
            self.assertEqual((probe.b, probe.values), (16, {"peer": before, "tag": 10}))
            self.assertEqual((got.text, got.b, got.values["peer"]), (WORLD, 16, before))
            self.assertEqual(matched.b, 16)
            nobody = calls(p, "MPI_Send")[-1 if p.rank >= 2 else -2]
            self.assertEqual((nobody.b, nobody.values), (0, {"tag": 11}))       # to MPI_PROC_NULL
        root = calls(processes[0], "MPI_Recv")
        self.assertEqual(sorted((r.values["peer"], r.b) for r in root[:3]), [(1, 124), (2, 128), (3, 132)])
        self.assertEqual({r.values["any_source"] for r in root[:3]}, {1})
        self.assertEqual([(r.values["peer"], r.b, r.values["tag"]) for r in root[3:6]], [(i, 200, 8) for i in (1, 2, 3)])

    def collectives(self, processes: list[Process]) -> None:
        for p in processes:
            def only(name: str, index: int = 0) -> tuple[int, int | None]:
                r = calls(p, name)[index]       # noqa: B023
                self.assertEqual(r.text, WORLD, name)
                return r.b, r.values.get("root")
            self.assertEqual(only("MPI_Bcast"), (256, 1))
            self.assertEqual(only("MPI_Reduce"), (256, 2))
            self.assertEqual([only("MPI_Allreduce", i) for i in (0, 1)], [(256, None), (32, None)])
            self.assertEqual([only("MPI_Gather", i) for i in (0, 1)], [(64, 3), (64, 3)])
            self.assertEqual(only("MPI_Gatherv"), (4 * (p.rank + 1), 0))
            self.assertEqual([only("MPI_Scatter"), only("MPI_Scatterv")], [(16, 0), (4 * (p.rank + 1), 0)])
            self.assertEqual([only("MPI_Allgather"), only("MPI_Allgatherv")], [(64, None), (4 * (p.rank + 1), None)])
            self.assertEqual([only("MPI_Alltoall"), only("MPI_Alltoallv")], [(64, None), (32, None)])
            self.assertEqual([only("MPI_Reduce_scatter"), only("MPI_Reduce_scatter_block")], [(32, None), (8, None)])
            self.assertEqual(calls(p, "MPI_Wait")[-1].values, {"of": "MPI_Iallreduce"})

    def communicators(self, processes: list[Process]) -> None:
        for p in processes:
            half = f"{WORLD}[{'1,3' if p.rank % 2 else '0,2'}]"
            self.assertEqual(calls(p, "MPI_Allreduce")[-1].text, half + "#1")
            self.assertEqual([r.text for r in calls(p, "MPI_Comm_dup")], [half + "#1", WORLD])
            freed = [r.text for r in calls(p, "MPI_Comm_free")]
            reverse = [f"{WORLD}[3,2,1]#1"] if p.rank else []
            self.assertEqual(freed, [half + "#2", f"{WORLD}[0,1,2,3]#1", *reverse, half + "#1", f"{WORLD}[0,1,2,3]#2"])
            self.assertEqual(calls(p, "MPI_Barrier")[-2 if len(calls(p, "MPI_Barrier")) == 4 else -1].text, f"MPI_COMM_SELF[{p.rank}]")
            if p.rank < 2:
                self.assertEqual(calls(p, "MPI_Send")[-1].values, {"peer": 1, "world_peer": p.rank + 2, "tag": 20, "count": 1})
            else:
                self.assertEqual(calls(p, "MPI_Recv")[-1].values,
                                 {"peer": 0, "world_peer": p.rank - 2, "tag": 20, "count": 1, "any_source": 1})

    def windows_and_files(self, processes: list[Process]) -> None:
        for p in processes:
            put = calls(p, "MPI_Put")[0]
            self.assertEqual((put.text, put.b, put.values), (WORLD, 4, {"peer": (p.rank + 1) % 4, "count": 1}))
            self.assertEqual([r.text for r in p.records if "MPI_Win_" in NAMES[r.aux]], [WORLD] * 6)
            opened, written, read = (calls(p, name)[0] for name in ("MPI_File_open", "MPI_File_write_at_all", "MPI_File_read_at"))
            self.assertEqual(opened.values, {"path": str(self.folder / "mpi.data")})
            self.assertEqual((written.text, written.b), (WORLD, 64))
            self.assertEqual(read.b, 32 if p.rank == 3 else 64)


MPI4PY = """
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank == 0:
    world.send({"text": 7}, dest=1, tag=3)
    got = {"text": 7}
else:
    got = world.recv(source=MPI.ANY_SOURCE, tag=3)
half = world.Split(0, -world.rank)
half.Barrier()
print(f"{world.rank}:{got['text']}")
"""


class Behaviour(Case):
    def test_a_late_sender_is_seen_by_the_receiver(self) -> None:
        for flavour in self.flavours():
            with self.subTest(flavour.name):
                done, processes = self.record(flavour, 2, self.compile(flavour, "late_sender.c"))
                self.assertEqual(done.returncode, 0, done.stderr)
                sends, receives = calls(processes[0], "MPI_Send"), calls(processes[1], "MPI_Recv")
                self.assertEqual([(r.values["peer"], r.values["tag"], r.b) for r in sends], [(1, i, 65536) for i in range(20)])
                self.assertEqual([(r.values["peer"], r.values["tag"], r.b) for r in receives], [(0, i, 65536) for i in range(20)])
                late = [s.time - r.time for s, r in zip(sends, receives)]       # both clocks are this machine's
                waited = [r.a for r in receives]
                self.assertGreater(sorted(late)[10], 3_000_000)
                self.assertGreater(sorted(waited)[10], 3_000_000)
                for sender, time in zip(late, waited):
                    self.assertGreaterEqual(time + 1_000_000, sender)

    def test_fortran_old_and_new(self) -> None:
        for flavour in self.flavours():
            if not shutil.which(flavour.fortran):
                skip_loudly(f"no Fortran compiler of {flavour.name}")
                continue
            for flags in ((), ("-DF08",)):
                with self.subTest(flavour.name, flags=flags):
                    program = self.compile(flavour, "mpi_fortran.f90", "-cpp", "-fallow-argument-mismatch", *flags)
                    done, processes = self.record(flavour, 2, program, self.folder)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(done.stdout.split(), ["total", "2"] * 2)
                    names = [[NAMES[r.aux][4:] for r in p.records] for p in processes]
                    rest = ["Wait", "Allreduce", "Allreduce", "Allgather", "Comm_split", "Barrier", "File_open", "File_write_all",
                            "File_close", "Comm_free", "Finalize"]
                    self.assertEqual(names[0], ["Init", "Send", "Send", "Isend", *rest])
                    self.assertEqual(names[1], ["Init", "Recv", "Recv", "Irecv", *rest])
                    self.assertEqual([(r.b, r.values["peer"]) for r in calls(processes[1], "MPI_Recv")], [(64, 0), (32, 0)])
                    wait = calls(processes[1], "MPI_Wait")[0]
                    self.assertEqual((wait.b, wait.values), (16, {"of": "MPI_Irecv", "peer": 0, "tag": 7}))
                    self.assertEqual([r.b for r in calls(processes[0], "MPI_Allgather")], [16])
                    for p in processes:
                        self.assertEqual(calls(p, "MPI_Barrier")[0].text, f"{WORLD}[1,0]#1")
                        self.assertEqual((calls(p, "MPI_File_write_all")[0].text, calls(p, "MPI_File_write_all")[0].b), (f"{WORLD}[1,0]#1", 16))

    def test_counts_of_64_bits_where_the_library_has_them_and_where_not(self) -> None:
        for flavour in self.flavours():
            with self.subTest(flavour.name):
                has_none = flavour is OpenMpi and "MPI_Send_c" not in subprocess.run(
                    ["nm", "-D", *pathlib.Path("/usr/lib").glob("*/libmpi.so.40")], capture_output=True, text=True, check=False).stdout
                program = self.compile(flavour, "mpi_large.c", *(["-DHUGE"] if has_none else []))
                done, processes = self.record(flavour, 2, program)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(sorted(done.stdout.splitlines()), ["0 0 18", "1 0 18", *(["huge 1"] * 2 if has_none else [])])
                send, receive = calls(processes[0], "MPI_Send"), calls(processes[1], "MPI_Recv")
                self.assertEqual([(r.b, r.values) for r in send], [(40, {"peer": 1, "tag": 1, "count": 10})])
                self.assertEqual([(r.b, r.values["peer"]) for r in receive], [(40, 0)])
                self.assertEqual([r.b for p in processes for r in calls(p, "MPI_Allreduce")], [40, 40])

    def test_calls_that_fail_and_the_end_by_abort(self) -> None:
        for flavour in self.flavours():
            with self.subTest(flavour.name):
                program = self.compile(flavour, "mpi_abort.c")
                plain = self.run_plain(flavour, 2, program)
                done, processes = self.record(flavour, 2, program)
                self.assertEqual(done.returncode, plain.returncode)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("failed 1", done.stdout)
                one = next(p for p in processes if p.rank == 1)         # the other may not have come so far
                self.assertEqual(len(calls(one, "MPI_Send")), 1)
                self.assertEqual([(r.text, r.values) for r in calls(one, "MPI_Abort")], [(WORLD, {"code": 7})])

    def test_a_killed_job_says_in_which_call_it_waited(self) -> None:
        for flavour in self.flavours():
            with self.subTest(flavour.name):
                out = self.folder / f"killed-{flavour.compiler}"
                program = self.compile(flavour, "mpi_abort.c")
                clean = {k: v for k, v in os.environ.items() if not k.startswith(CLEAN)}
                done = subprocess.run([EXE, "run", "--no-report", "--trace", "mpi", "-o", f"{out}/rank%r", "--", *flavour.start, "-n", "2",
                                       program, "die"], capture_output=True, text=True, timeout=60, check=False, env={**clean, **AS_ROOT})
                self.assertNotEqual(done.returncode, 0)
                self.assertEqual(sorted(p.name for p in out.iterdir()), ["rank0.pftrace", "rank1.pftrace"], done.stderr)
                rows = json.loads(subprocess.run([EXE, "query", out / "rank0.pftrace", "--json",
                                                  "select name, dur_ns from slice where name = 'MPI_Recv'"], capture_output=True, check=True).stdout)
                self.assertEqual([r["name"] for r in rows], ["MPI_Recv"])
                self.assertGreater(int(rows[0]["dur_ns"]), 200_000_000)

    def test_from_the_program_to_the_answer(self) -> None:
        for flavour in self.flavours():
            with self.subTest(flavour.name):
                out = self.folder / f"run-{flavour.compiler}"
                done = self.run_plain(flavour, 2, self.compile(flavour, "late_sender.c"),
                                      before=(EXE, "run", "--no-report", "--trace", "mpi", "-o", f"{out}/rank%r", "--"))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(sorted(p.name for p in out.iterdir()), ["rank0.pftrace", "rank1.pftrace"])
                report = json.loads(subprocess.run([EXE, "report", out, "--json"], capture_output=True, check=True, timeout=60).stdout)
                self.assertEqual((report["run"]["ranks"], report["run"]["world_size"]), (2, 2))
                self.assertEqual([report["messages"][k] for k in ("matched", "unmatched", "peer_missing", "sizes_differ")], [20, 0, 0, 0])
                self.assertGreater(report["messages"]["late_sender_ns"], 0)
                self.assertEqual((report["collectives"]["matched"], report["collectives"]["unmatched"]), (20, 0))

    def test_mpi4py(self) -> None:
        python = python_with("mpi4py", "HOLDUP_MPI4PY_PYTHON", "venv-mpi4py", "a python with mpi4py") if OpenMpi.is_there() else None
        if not python:
            self.skipTest("no mpi4py, or no Open MPI")
        done, processes = self.record(OpenMpi, 2, python, "-c", MPI4PY)
        self.assertEqual((done.returncode, sorted(re.findall(r"\d:7", done.stdout))), (0, ["0:7", "1:7"]), done.stderr)
        self.assertEqual([p.rank for p in processes], [0, 1])
        sent = calls(processes[0], "MPI_Send")
        self.assertEqual((sent[0].text, sent[0].values["peer"], sent[0].values["tag"]), (WORLD, 1, 3))
        self.assertEqual(calls(processes[1], "MPI_Mrecv")[0].b, sent[0].b)
        self.assertEqual({r.text for p in processes for r in calls(p, "MPI_Barrier")}, {f"{WORLD}[1,0]#1"})

    def test_another_tool_behind_us_still_sees_its_calls(self) -> None:
        for flavour in self.flavours():
            with self.subTest(flavour.name):
                tool = self.compile(flavour, "mpi_between.c", "-shared", "-fPIC")
                done, processes = self.record(flavour, 2, self.compile(flavour, "late_sender.c"), preload=f"{LIBRARY}:{tool}")
                self.assertEqual(done.stdout.count("the other tool saw 20 sends"), 1, done.stdout)
                self.assertEqual(len(calls(processes[0], "MPI_Send")), 20)

    def test_mpi_that_only_one_library_sees(self) -> None:
        for flavour in self.flavours():
            with self.subTest(flavour.name):        # as a Python extension does it
                library = self.compile(flavour, "late_sender.c", "-shared", "-fPIC", "-Dmain=job")
                done, processes = self.record(flavour, 2, sys.executable, "-c",
                                              f"import ctypes; ctypes.CDLL({str(library)!r}).job(0, None)")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual([p.rank for p in processes], [0, 1])
                self.assertEqual(len(calls(processes[0], "MPI_Send")), 20)

    def test_paused_the_communicators_are_still_followed(self) -> None:
        flavour = self.flavours()[0]
        done, processes = self.record(flavour, 4, self.compile(flavour, "mpi_client.c"), self.folder, mask=0)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([p.records for p in processes], [[]] * 4)
        self.assertEqual([p.rank for p in processes], [0, 1, 2, 3])

    def test_without_the_door_nothing_is_done(self) -> None:
        flavour = self.flavours()[0]
        done, processes = self.record(flavour, 2, self.compile(flavour, "late_sender.c"), doors="user")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(processes, [])


class NoMpi(Case):
    def test_a_program_without_mpi_finds_none(self) -> None:
        program = self.folder / "no_mpi"
        subprocess.run(["cc", "-O1", "-o", program, ROOT / "tests/inject/no_mpi.c", "-ldl"], check=True, capture_output=True)
        session = make_session(self.folder / "session", "mpi")
        done = subprocess.run([program], capture_output=True, text=True, timeout=20, check=False,
                              env={**os.environ, "LD_PRELOAD": str(LIBRARY), "HOLDUP_SESSION": str(session)})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "asked 0 0 0\ncalled 1\n", ""))
        self.assertEqual(notes(session), "the program called MPI_Init, but no MPI library is loaded: the call returned an error\n")


if __name__ == "__main__":
    unittest.main()
