# SPDX-License-Identifier: Apache-2.0
"""The real Nsight Systems beside holdup: reports, rules, and recordings of the same program.  Optional: HOLDUP_NSYS names nsys, or it is on the PATH."""
import collections
import csv
import json
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import unittest
from contextlib import closing
from pathlib import Path

from tests.nsight import Export
from tests.program import EXE, ROOT, SHARED, run, skip_loudly

NSYS = os.environ.get("HOLDUP_NSYS") or shutil.which("nsys")
REAL = sorted((SHARED / "traces/nsys-sqlite").glob("*/*.sqlite"))
# What the model does not have, or has in another form (docs/formats/nsight.md).
OTHERWISE = {"Result", "T-Pri", "StcSMem (MB)", "DymSMem (MB)", "SMem (MB)", "Throughput (MB/s)", "GreenCtx", "Ctx", "Context ID", "Green Context ID", "Migration Throughput (MB/s)",
             "RangeId",
             "ParentId", "RangeStack", "NameTree", "Device", "Thread Name", "QStdDev (ns)", "Row#"}


# nsys before 2023.1 has other names for reports, and records MPI without bytes.
EARLY = {"nvtx_sum": "nvtxsum", "nvtx_pushpop_sum": "nvtxppsum", "nvtx_startend_sum": "nvtxsesum", "nvtx_pushpop_trace": "nvtxpptrace", "osrt_sum": "osrtsum"}


def is_early() -> bool:
    said = subprocess.run([str(NSYS), "--version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"version (\d+)\.", said)
    return bool(version) and int(version[1]) < 2023


def plain(text: str) -> str:
    """A name without the version of the API and the arguments that PyTorch wrote into a range, also where a kernel's name follows."""
    return re.sub(r"_v\d{4,}$|, (op_id|seq|sizes) = [^/]*$|, (op_id|seq|sizes) = [^/]*(?=/)", "", text)


def number(text: object) -> str:
    try:
        return f"{float(str(text)):.3f}"
    except ValueError:
        return plain(str(text))


@unittest.skipUnless(NSYS, "")
class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def nsys(self, *words: object, timeout: float = 300) -> str:
        done = subprocess.run([str(NSYS), *map(str, words)], capture_output=True, text=True, timeout=timeout, check=False, cwd=self.folder,
                              env={**os.environ, "HOME": str(self.folder)})
        return done.stdout + done.stderr

    def copy(self, path: Path) -> Path:
        """nsys writes into the folder of an export; two GPUs by name where a cut one lacks them."""
        mine = self.folder / path.name
        shutil.copy(path, mine)
        mine.chmod(0o644)
        with closing(sqlite3.connect(mine)) as db:
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'TARGET_INFO_GPU'").fetchone():
                db.execute("CREATE TABLE TARGET_INFO_GPU AS SELECT 0 vmId, 0 id, 'GPU' name, '' busLocation, 0 pwGpuId, 0 cuDevice "
                           "UNION SELECT 0, 1, 'GPU', '', 1, 1")
                db.commit()
        return mine

    def theirs(self, path: Path, command: str, reports: list[str]) -> dict[str, list[dict[str, str]]]:
        out = self.folder / "out"
        for old in self.folder.glob("out_*.csv"):
            old.unlink()
        names = {r: EARLY.get(r, r) if is_early() else r for r in reports}
        self.nsys(command, "-r", ",".join(names.values()), "-f", "csv", "-o", out, path)
        told = {}
        for report, name in names.items():
            file = self.folder / f"out_{name.replace(':', '_')}.csv"
            if file.exists() and file.stat().st_size:
                with file.open(newline="", encoding="utf-8") as f:
                    told[report] = list(csv.DictReader(f))
        return told

    def compare(self, path: Path, reports: list[str]) -> int:
        """Every row of every report that both have; returns how many rows were compared."""
        rows = 0
        for report, want in self.theirs(path, "stats", reports).items():
            status, out, err = run("stats", path, "-r", report, "--csv")
            self.assertEqual(status, 0, err)
            got = list(csv.DictReader(out.decode().splitlines()))
            columns = [c for c in want[0] if c not in OTHERWISE]
            lists = [collections.Counter(tuple(number(row[c]) for c in columns) for row in side) for side in (want, got)]
            self.assertEqual(lists[0] - lists[1], collections.Counter(), f"{path.name} {report}: rows of nsys that are not there")
            self.assertEqual(lists[1] - lists[0], collections.Counter(), f"{path.name} {report}: rows that nsys does not have")
            rows += len(want)
        return rows


class Later(Case):
    """What is compared under the names of nsys 2023.1 and later."""

    def setUp(self) -> None:
        super().setUp()
        if is_early():
            skip_loudly(f"this nsys is older than 2023.1: {type(self).__name__} are compared with later ones alone")
            self.skipTest("an early nsys")


class Reports(Later):
    @unittest.skipUnless(REAL, "no real exports")
    def test_stats(self) -> None:
        """Row by row on real exports.  Sums over operators are per name here and per call there, and are compared as lists of ranges instead."""
        rows = 0
        for path in REAL:
            with self.subTest(path.name), closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as db:
                if any(row[1] == "eventClass" for row in db.execute("PRAGMA table_info(CUPTI_ACTIVITY_KIND_RUNTIME)")) and \
                        db.execute("SELECT 1 FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE eventClass = 67 LIMIT 1").fetchone():
                    continue  # nsys counts calls with a stack twice
                texts = db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'NVTX_EVENTS'").fetchone()[0] and \
                    db.execute("SELECT count(*) FROM NVTX_EVENTS WHERE text LIKE '%op_id%'").fetchone()[0]
                rows += self.compare(self.copy(path), [
                    "osrt_sum", "cuda_api_sum", "cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum", "cuda_gpu_sum", "cuda_api_gpu_sum",
                    "cuda_gpu_kern_gb_sum", "cuda_gpu_kern_sum:base", "cuda_gpu_sum:mangled", "cuda_gpu_kern_gb_sum:base",
                    "cuda_kern_exec_sum:mangled", "cuda_api_trace", "cuda_gpu_trace", "cuda_kern_exec_sum", "cuda_kern_exec_trace", "nvtx_pushpop_trace",
                    *([] if texts else [
                        "cuda_gpu_kern_sum:nvtx-name", "cuda_gpu_trace:base:nvtx-name", "nvtx_kern_sum:base", "nvtx_sum",
                        "nvtx_pushpop_sum", "nvtx_startend_sum", "nvtx_gpu_proj_sum"])])
        self.assertGreater(rows, 10000)

    @unittest.skipUnless(REAL, "no real exports")
    def test_analyze(self) -> None:
        """What each rule lists, at most the 50 rows that nsys writes; an early export that nsys cannot judge says nothing."""
        rows = 0
        for path in REAL:
            mine = self.copy(path)
            status, out, err = run("check", mine, "--rules", "nsys", "--json")
            self.assertIn(status, (0, 1), err)
            got = {r["name"]: r["rows"] for r in json.loads(out)["rules"]}
            for rule, want in self.theirs(mine, "analyze", list(got)).items():
                with self.subTest(f"{path.name} {rule}"):
                    columns = [c for c in want[0] if c not in OTHERWISE]
                    lists = [collections.Counter(tuple(number(row[c]) for c in columns) for row in side) for side in (want, got[rule])]
                    self.assertEqual(lists[0] - lists[1], collections.Counter())
                    if len(want) < 50:
                        self.assertEqual(len(want), len(got[rule]))
                    rows += len(want)
        self.assertGreater(rows, 100)


PROGRAM = r"""
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *work(void *p) { nvtxRangePushA("thread"); usleep(3000); nvtxRangePop(); return p; }
int main(int argc, char **argv)
{
    static char           bytes[1 << 18];
    nvtxDomainHandle_t    domain = nvtxDomainCreateA("loader");
    nvtxEventAttributes_t a = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE, .messageType = NVTX_MESSAGE_TYPE_REGISTERED};
    pthread_t             threads[4];
    a.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    for (int i = 0; i < 20; i++) {
        char          name[32];
        struct pollfd none = {.fd = -1};
        int           file = open(argv[argc - 1], O_CREAT | O_WRONLY | O_TRUNC, 0600);
        snprintf(name, sizeof name, "step %d", i);
        nvtxRangePushA(name);
        nvtxDomainRangePushEx(domain, &a);
        usleep(2000);
        nvtxDomainRangePop(domain);
        nvtxRangeId_t id = nvtxRangeStartA("async");
        poll(&none, 1, 3);
        nvtxRangeEnd(id);
        for (int k = 0; k < 4; k++)
            if (write(file, bytes, sizeof bytes) < 0) return 1;
        fsync(file);
        close(file);
        nvtxMarkA("mark");
        nvtxRangePop();
    }
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    return 0;
}
"""


MPI_PROGRAM = r"""
#include <mpi.h>
int main(int argc, char **argv)
{
    static char b[1 << 16];
    int         rank, x = 1, y;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++) {
        MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Bcast(b, 1000, MPI_CHAR, 0, MPI_COMM_WORLD);
        MPI_Reduce(&x, &y, 1, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
        MPI_Allgather(b, 10, MPI_CHAR, b + 5000, 10, MPI_CHAR, MPI_COMM_WORLD);
        MPI_Alltoall(b, 10, MPI_CHAR, b + 5000, 10, MPI_CHAR, MPI_COMM_WORLD);
        MPI_Gather(b, 10, MPI_CHAR, b + 5000, 10, MPI_CHAR, 0, MPI_COMM_WORLD);
        MPI_Scatter(b, 10, MPI_CHAR, b + 5000, 10, MPI_CHAR, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) MPI_Send(b, sizeof b, MPI_CHAR, 1, 7, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(b, sizeof b, MPI_CHAR, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
"""


def headers() -> Path | None:
    """NVTX's headers: those that nsys brings."""
    own = Path(os.path.realpath(str(NSYS))).parent if NSYS else Path("/")
    named = os.environ.get("HOLDUP_NVTX_INCLUDE")
    found = [Path(named)] if named else sorted(own.glob("nvtx/include")) + sorted(own.glob("*/nvtx/include"))
    return found[0] if found else None


class Recordings(Case):
    """One program under `nsys profile`, under `holdup run` and under both: the same ranges and calls."""

    def setUp(self) -> None:
        super().setUp()
        include = headers()
        if not include or not shutil.which("cc"):
            skip_loudly("no compiler, or no headers of NVTX (HOLDUP_NVTX_INCLUDE) for recordings beside nsys")
            self.skipTest("no headers")
        source = self.folder / "p.c"
        source.write_text(PROGRAM)
        subprocess.run(["cc", "-O1", f"-I{include}", source, "-o", self.folder / "p", "-ldl", "-lpthread"], check=True)
        self.export = self.folder / "t.sqlite"
        told = self.nsys("profile", "-t", "nvtx,osrt", "-s", "none", "--cpuctxsw=none", "-o", self.folder / "t", "-f", "true", "--export=sqlite",
                         self.folder / "p", self.folder / "bytes")
        if not self.export.exists():
            skip_loudly(f"nsys cannot record here: {' '.join(told.split())[-200:]}")
            self.skipTest("nsys cannot record")

    def ask(self, path: Path, sql: str) -> list[tuple]:
        status, out, err = run("query", path, "--json", sql)
        self.assertEqual(status, 0, err)
        return [tuple(row.values()) for row in json.loads(out)]

    def test_the_same_program(self) -> None:
        """Ranges by name, and calls that surely last longer than the 1 µs from which nsys counts: the same numbers in both."""
        done = subprocess.run([EXE, "run", "-o", self.folder / "own", "--", self.folder / "p", self.folder / "bytes"], capture_output=True, text=True,
                              check=False, cwd=ROOT)
        self.assertEqual(done.returncode, 0, done.stderr)
        own = self.folder / "own.pftrace"
        for sql in ("SELECT name, count(*) FROM slice WHERE kind = 'user_annotation' GROUP BY name ORDER BY name",
                    "SELECT name, count(*) FROM os_call WHERE name IN ('fsync', 'poll', 'usleep', 'write') AND dur_ns > 5000 "
                    "GROUP BY name ORDER BY name"):
            theirs, ours = self.ask(self.export, sql), self.ask(own, sql)
            self.assertEqual(theirs, ours, sql)
            self.assertGreater(len(theirs), 3, sql)

    def test_around_one_another(self) -> None:
        """`nsys profile holdup run PROGRAM` and `holdup run nsys profile PROGRAM`: both record the same ranges, the program ends as it does alone, and
        who records no call of the C library is told so. With cuda, too: nsys then gives CUDA to itself."""
        ranges = "SELECT name, count(*) FROM slice WHERE kind = 'user_annotation' GROUP BY name ORDER BY name"
        calls = "SELECT name, count(*) FROM os_call WHERE name IN ('fsync', 'poll', 'usleep') AND dur_ns > 5000 GROUP BY name ORDER BY name"
        want, want_calls = self.ask(self.export, ranges), self.ask(self.export, calls)
        self.assertGreater(len(want), 20)
        env = {**os.environ, "HOME": str(self.folder)}
        for traced in ("nvtx,osrt", "cuda,nvtx,osrt", "nvtx"):
            nsys = [str(NSYS), "profile", "-t", traced, "-s", "none", "--cpuctxsw=none", "-f", "true", "--export=sqlite", "-o"]
            for order in ("nsys outside", "holdup outside"):
                with self.subTest(traced=traced, order=order):
                    own, their = self.folder / "both.pftrace", self.folder / "both.sqlite"
                    for old in (own, their):
                        old.unlink(missing_ok=True)
                    ours, theirs = [EXE, "run", "-o", own, "--"], [*nsys, self.folder / "both"]
                    done = subprocess.run([*map(str, [*theirs, *ours] if order == "nsys outside" else [*ours, *theirs]), self.folder / "p", self.folder / "bytes"],
                                          capture_output=True, text=True, timeout=300, check=False, cwd=self.folder, env=env)
                    said = done.stdout + done.stderr
                    self.assertEqual(done.returncode, 0, said)
                    self.assertEqual(self.ask(own, ranges), want)
                    self.assertEqual(self.ask(their, ranges), want)
                    self.assertEqual(self.ask(own, calls), want_calls)
                    self.assertEqual("Nsight Systems sees no calls of the C library" in said, "osrt" in traced, said)
                    if order == "holdup outside":
                        self.assertRegex(said, r"holdup: nsys, nsys-launcher[\w, ]* ran p: the trace and the report are about p alone")

    @unittest.skipUnless(shutil.which("mpicc") and shutil.which("mpirun"), "no MPI")
    def test_mpi(self) -> None:
        """Calls of MPI on three ranks: the same names, counts and bytes in both recordings."""
        source = self.folder / "m.c"
        source.write_text(MPI_PROGRAM)
        subprocess.run(["mpicc", source, "-o", self.folder / "m"], check=True)
        launch = ["mpirun", "--oversubscribe", "-n", "3"]
        env = {**os.environ, "HOME": str(self.folder), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        subprocess.run([*launch, str(NSYS), "profile", "-t", "mpi", "-s", "none", "--cpuctxsw=none", "-o", "their%q{OMPI_COMM_WORLD_RANK}", "-f", "true",
                        "--export=sqlite", self.folder / "m"], env=env, cwd=self.folder, capture_output=True, check=False, timeout=300)
        done = subprocess.run([EXE, "run", "-q", "-o", self.folder / "own", "--", *launch, self.folder / "m"], env=env, cwd=ROOT, capture_output=True,
                              text=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        sql = "SELECT name, count(*), max(bytes), min(bytes) FROM mpi_call WHERE bytes > 0 GROUP BY name ORDER BY name"
        if is_early():
            sql = "SELECT name, count(*) FROM mpi_call WHERE name NOT LIKE 'MPI_Comm%' AND name NOT LIKE 'MPI_Init%' AND name <> 'MPI_Finalize' GROUP BY name ORDER BY name"
        for rank in range(3):
            theirs = self.ask(self.folder / f"their{rank}.sqlite", sql)
            self.assertEqual(theirs, self.ask(self.folder / f"own-rank{rank}.pftrace", sql))
            self.assertEqual(len(theirs), (8 if rank < 2 else 7) + is_early(), "and a barrier, which has no bytes")

    def test_reports_of_a_recording(self) -> None:
        """`nsys stats` of what nsys recorded, row by row; a range stands behind its domain."""
        rows = self.compare(self.export, ["nvtx_sum", "nvtx_pushpop_sum", "nvtx_startend_sum", "nvtx_pushpop_trace", "osrt_sum"])
        self.assertGreater(rows, 90)


class Planted(Later):
    def finish(self, export: Export) -> Path:
        """What nsys wants to find in an export besides."""
        path = export.save(self.folder / "planted.sqlite")
        with closing(sqlite3.connect(path)) as db:
            for table, words in (("ENUM_CUDA_MEM_KIND", ("Pageable", "Pinned", "Device", "Array", "Managed")),
                                 ("ENUM_CUDA_MEMCPY_OPER", ("", "Host-to-Device", "Device-to-Host"))):
                db.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, name TEXT, label TEXT)")
                db.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", [(i, w, w) for i, w in enumerate(words)])
            db.execute("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)")
            db.execute("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.11.0')")
            db.commit()
        return path

    def test_reports_of_directives_and_managed_memory(self) -> None:
        """Row by row; nsys divides throughput as integers."""
        export = Export()
        export.directives()
        export.managed()
        for row in export.tables["CUPTI_ACTIVITY_KIND_MEMCPY"]:
            row["greenContextId"] = None
        for table in ("DATA", "LAUNCH", "OTHER"):
            export.tables[f"CUPTI_ACTIVITY_KIND_OPENACC_{table}"][0]["eventKind"] = 1
        export.range(5, None, "loader", kind=75, domain=1)
        export.range(90, 240, "next", domain=1)
        export.range(0, 500, "step")
        export.tables["NVTX_EVENTS"][0]["endGlobalTid"] = None
        for i in range(3):
            export.call(100 * i, 100 * i + 9, "cudaLaunchKernel_v7000", i + 1)
            export.kernel(100 * i + 20, 100 * i + 60, f"void n::k<{i}>(int)", i + 1, mangledName=export.text(f"_Z{i}"))
        rows = self.compare(self.finish(export), ["openmp_sum", "openacc_sum", "um_sum", "um_sum:rows=3", "um_total_sum", "um_cpu_page_faults_sum",
                                                  "nvtx_sum", "cuda_gpu_kern_sum:nvtx-name", "cuda_gpu_kern_sum:mangled", "nvtx_kern_sum:mangled"])
        self.assertGreater(rows, 30)

    def test_rules(self) -> None:
        """Written exports, judged by both: sizes and times just at and just beyond the limits."""
        ms, export = 1_000_000, Export()
        for i, (call, kind, source, target, size) in enumerate((
                ("cudaMemcpyAsync_v3020", 1, 0, 2, 8), ("cudaMemcpyAsync_v3020", 1, 1, 2, 8), ("cudaMemcpy_v3020", 1, 0, 2, 64000),
                ("cudaMemcpy_v3020", 1, 0, 2, 64001), ("cudaMemcpy_v3020", 2, 2, 0, 4), ("cudaMemcpy_v3020", 8, 2, 2, 10**6))):
            at = 3001 * ms + 1000 * i
            export.call(at, at + 500, call, 100 + i)
            export.add("CUPTI_ACTIVITY_KIND_MEMCPY", start=at, end=at + 100 + i, deviceId=0, contextId=1, greenContextId=None, streamId=7,
                       correlationId=100 + i, globalPid=1 << 48 | 10 << 24, bytes=size, copyKind=kind, srcKind=source, dstKind=target,
                       srcDeviceId=0 if kind == 8 else None, dstDeviceId=0 if kind == 8 else None)
        for i, (start, end) in enumerate(((1, 100), (1300, 1400), (1899, 2000), (2501, 3000))):
            export.call(start * ms - 20, start * ms - 10, "cudaLaunchKernel_v7000", i + 1)
            export.kernel(start * ms, end * ms, "k", i + 1)
        export.call(0, 10, "cudaStreamSynchronize_v3020", 50)
        export.call(100, 200, "cudaDeviceSynchronize_v3020", 51)
        export.call(300, 400, "cudaEventSynchronize_v3020", 52)
        path = self.finish(export)
        rules = ["cuda_memcpy_async", "cuda_memcpy_sync", "cuda_api_sync", "gpu_gaps", "gpu_time_util"]
        _, out, _ = run("check", path, "--rules", ",".join(rules), "--json")
        got = {r["name"]: r["rows"] for r in json.loads(out)["rules"]}
        theirs = self.theirs(path, "analyze", rules)
        self.assertEqual(sorted(theirs), sorted(rules))
        for rule, want in theirs.items():
            columns = [c for c in want[0] if c not in OTHERWISE]
            self.assertEqual([[number(row[c]) for c in columns] for row in want], [[number(row[c]) for c in columns] for row in got[rule]], rule)


if not NSYS:
    skip_loudly("Nsight Systems is not here: name nsys in HOLDUP_NSYS to compare with it")

if __name__ == "__main__":
    unittest.main()
