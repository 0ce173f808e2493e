# SPDX-License-Identifier: Apache-2.0
"""ROCm's profilers: databases, JSON and tables of one job against readings of the same files by Python, a real file, bent and cut ones."""
import csv
import gzip
import json
import random
import sqlite3
import subprocess
import tempfile
import unittest
from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path

from tests.program import EXE, SHARED, report, run, skip_loudly
from tests.rocprof import AGENTS, Database, Job

REAL = SHARED / "traces/rocprof/tl-rocprofv3/908_results.json.gz"
GPU = "kind IN ('kernel', 'collective')"


def union(spans: list[tuple[int, int]]) -> int:
    busy, until = 0, 0
    for start, end in sorted(spans):
        busy += max(0, end - max(start, until))
        until = max(until, end)
    return busy


class Truth:
    """What a file says, by Python."""

    def __init__(self) -> None:
        self.kernels: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        self.copies: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        self.calls: Counter[str] = Counter()
        self.spans: list[tuple[int, int]] = []
        self.launched: Counter[tuple[str, str]] = Counter()         # (call, kernel)

    def kernel(self, name: str, start: int, end: int) -> None:
        row = self.kernels[name]
        row[0] += 1
        row[1] += end - start
        self.spans.append((start, end))

    def copy(self, name: str, start: int, end: int, size: int) -> None:
        row = self.copies[name.removeprefix("MEMORY_COPY_")]
        row[0] += 1
        row[1] += end - start
        row[2] += size
        self.spans.append((start, end))

    def link(self, calls: dict[int, str], started: list[tuple[int, str]]) -> None:
        self.launched.update((calls[c], kernel) for c, kernel in started if c in calls)


def of_json(path: Path) -> Truth:
    truth = Truth()
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as f:
        process = json.load(f)["rocprofiler-sdk-tool"][0]
    names = {s["kernel_id"]: s["formatted_kernel_name"] for s in process["kernel_symbols"]}
    operations = {(i, k): o for i, kind in enumerate(process["strings"]["buffer_records"]) for k, o in enumerate(kind["operations"])}
    records = process["buffer_records"]
    for r in records["kernel_dispatch"]:
        truth.kernel(names[r["dispatch_info"]["kernel_id"]], r["start_timestamp"], r["end_timestamp"])
    for r in records["memory_copy"]:
        truth.copy(operations[r["kind"], r["operation"]], r["start_timestamp"], r["end_timestamp"], r["bytes"])
    calls = {}
    for kind in ("hip_api", "hsa_api", "rccl_api"):
        for r in records[kind]:
            calls[r["correlation_id"]["internal"]] = operations[r["kind"], r["operation"]]
    truth.calls.update(calls.values())
    truth.link(calls, [(r["correlation_id"]["internal"], names[r["dispatch_info"]["kernel_id"]]) for r in records["kernel_dispatch"]])
    return truth


def of_tables(folder: Path, prefix: str = "908_") -> Truth:
    truth = Truth()

    def rows(name: str) -> list[dict[str, str]]:
        with (folder / f"{prefix}{name}.csv").open(newline="") as f:
            return list(csv.DictReader(f))

    kernels = rows("kernel_trace")
    for r in kernels:
        truth.kernel(r["Kernel_Name"], int(r["Start_Timestamp"]), int(r["End_Timestamp"]))
    for r in rows("memory_copy_trace"):
        truth.copy(r["Direction"], int(r["Start_Timestamp"]), int(r["End_Timestamp"]), 0)
    calls = {int(r["Correlation_Id"]): r["Function"] for kind in ("hip", "hsa", "rccl") for r in rows(f"{kind}_api_trace")}
    truth.calls.update(calls.values())
    truth.link(calls, [(int(r["Correlation_Id"]), r["Kernel_Name"]) for r in kernels])
    return truth


def of_database(path: Path) -> Truth:
    """By the views without endings, as people ask; of the schema with tracks through these."""
    truth = Truth()
    with closing(sqlite3.connect(path)) as db:
        own = any(r[1] == "start" for r in db.execute("PRAGMA table_info(rocpd_region)"))
        times = "x.start, x.end" if own else "a.value, b.value"
        join = "" if own else "JOIN rocpd_timestamp a ON a.id = x.start_id JOIN rocpd_timestamp b ON b.id = x.end_id"
        kernels = db.execute(f"SELECT s.display_name, e.stack_id, {times} FROM rocpd_kernel_dispatch x JOIN rocpd_event e ON e.id = x.event_id "
                             f"JOIN rocpd_info_kernel_symbol s ON s.id = x.kernel_id {join}").fetchall()
        for name, _, start, end in kernels:
            truth.kernel(name, start, end)
        for name, size, start, end in db.execute(f"SELECT s.string, x.size, {times} FROM rocpd_memory_copy x "
                                                 f"JOIN rocpd_string s ON s.id = x.name_id {join}"):
            truth.copy(name, start, end, size)
        calls = dict(db.execute("SELECT e.stack_id, s.string FROM rocpd_region x JOIN rocpd_event e ON e.id = x.event_id JOIN rocpd_string s ON "
                                "s.id = x.name_id JOIN rocpd_string c ON c.id = e.category_id WHERE c.string NOT LIKE 'MARKER%'"))
        truth.calls.update(calls.values())
        truth.link(calls, [(stack, name) for name, stack, _, _ in kernels])
    return truth


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.job = Job.steps()

    def ask(self, path: Path | str, sql: str) -> list[tuple]:
        status, out, err = run("query", path, "--json", sql)
        self.assertEqual(status, 0, err)
        return [tuple(row.values()) for row in json.loads(out)]

    def refused(self, path: Path, words: str) -> None:
        status, _, err = run("report", path, "-q")
        self.assertEqual(status, 3, err)
        self.assertRegex(err, words)
        self.assertIn(path.name, err)
        self.assertEqual(len(err.strip().splitlines()), 1, err)


class Same(Case):
    """The same job in each form: all of them are what Python reads, and so are they one another."""

    def agrees(self, path: Path, truth: Truth, *, sizes: bool = True, linked: bool = True) -> None:
        found = {name: [n, total] for name, n, total in self.ask(path, f"SELECT name, count(*), sum(dur_ns) FROM slice WHERE {GPU} GROUP BY 1")}
        self.assertEqual(found, dict(truth.kernels))
        short = {"HOST": "H", "DEVICE": "D"}
        wanted: dict[str, list[int]] = {}
        for name, row in truth.copies.items():
            source, target = name.split("_TO_")
            wanted["PtoP" if (source, target) == ("DEVICE", "DEVICE") else f"{short[source]}to{short[target]}"] = row[:3 if sizes else 2]
        copies = {name.split()[1]: [n, total, size][:3 if sizes else 2] for name, n, total, size in
                  self.ask(path, "SELECT name, count(*), sum(dur_ns), sum(bytes) FROM memcpy GROUP BY 1")}
        self.assertEqual(copies, wanted)
        calls = dict(self.ask(path, "SELECT name, count(*) FROM slice WHERE kind IN ('runtime', 'driver') GROUP BY 1"))
        self.assertEqual(calls, dict(truth.calls))
        links = {(call, kernel): n for call, kernel, n in
                 self.ask(path, "SELECT c.name AS call, k.name AS kernel, count(*) FROM kernel k JOIN slice c ON c.id = k.launch GROUP BY 1, 2")}
        self.assertEqual(links, dict(truth.launched))
        self.assertEqual(bool(links), linked)
        rank = report(path)["ranks"][0]
        gpu = rank["gpu"]
        self.assertEqual(gpu["busy_ns"], union(truth.spans))
        self.assertEqual([gpu[k] for k in ("compute_ns",)], [sum(v[1] for n, v in truth.kernels.items() if "nccl" not in n)])

    def test_database(self) -> None:
        for tracked in (False, True):
            with self.subTest(tracked=tracked):
                path = Database(self.job, tracked=tracked).save(self.folder / "908_results.db")
                self.agrees(path, of_database(path))

    def test_json(self) -> None:
        for how in ({}, {"indent": 2}, {"sort_keys": True}, {"separators": (",", ":")}):
            with self.subTest(how=how):
                path = self.job.json(self.folder / "908_results.json", **how)
                self.agrees(path, of_json(path))
                self.folder.joinpath("908_results.json.gz").write_bytes(gzip.compress(path.read_bytes()))
                self.agrees(self.folder / "908_results.json.gz", of_json(path))

    def test_tables(self) -> None:
        """Any table of the set brings all of it."""
        self.job.tables(self.folder)
        truth = of_tables(self.folder)
        for name in ("kernel_trace", "hip_api_trace", "agent_info"):
            self.agrees(self.folder / f"908_{name}.csv", truth, sizes=False)

    def test_legacy_table(self) -> None:
        """Kernels alone; "[clone .kd]" is no part of a name."""
        path = self.job.legacy(self.folder / "results.csv")
        rows = {name: [n, total] for name, n, total in self.ask(path, "SELECT name, count(*), sum(dur_ns) FROM slice GROUP BY 1")}
        with path.open(newline="") as f:
            truth: dict[str, list[int]] = defaultdict(lambda: [0, 0])
            for r in csv.DictReader(f):
                row = truth[r["KernelName"].removesuffix(" [clone .kd]")]
                row[0] += 1
                row[1] += int(r["EndNs"]) - int(r["BeginNs"])
        self.assertEqual(rows, dict(truth))
        self.assertEqual(self.ask(path, "SELECT DISTINCT device, stream FROM kernel ORDER BY 2"), [(0, 7), (0, 8)])
        self.assertEqual(self.ask(path, "SELECT DISTINCT grid_x, block_x FROM kernel"), [(8, 256)])

    def test_answers(self) -> None:
        """Findings and figures of the report, form by form."""
        answers = {}
        for name, path in (("db", Database(self.job).save(self.folder / "a_results.db")), ("json", self.job.json(self.folder / "b_results.json")),
                           ("csv", self.job.tables(self.folder))):
            said = report(path)
            rank = said["ranks"][0]
            answers[name] = (rank["gpu"], [f["id"] for f in said["findings"]], [k["name"] for k in rank["kernels"]], rank["steps"]["count"])
        self.assertEqual(answers["db"], answers["json"])
        self.assertEqual(answers["db"][0], answers["csv"][0])
        self.assertEqual(answers["db"][3], 6)


class Rows(Case):
    def forms(self) -> list[Path]:
        return [Database(self.job).save(self.folder / "a_results.db"), Database(self.job, tracked=True).save(self.folder / "b_results.db"),
                self.job.json(self.folder / "c_results.json"), self.job.tables(self.folder)]

    def test_steps_and_ranges(self) -> None:
        """Texts of markers, not functions; a mark is no range; ranges of the process that overlap have rows of their own."""
        for path in self.forms():
            with self.subTest(path.name):
                rows = self.ask(path, "SELECT name, dur_ns, track FROM slice WHERE kind = 'user_annotation' ORDER BY start_ns")
                self.assertEqual([(n, d) for n, d, _ in rows if n.startswith("step ")], [(f"step {i}", 9_900_000) for i in range(6)])
                self.assertEqual([(n, d) for n, d, _ in rows if "epoch" in n], [('epoch "1"', 30_000_000), ("other epoch", 30_000_000)])
                self.assertEqual(len({track for n, _, track in rows if n == "step 0" or "epoch" in n}), 3)
                self.assertNotIn("a mark", [r[0] for r in rows])

    def test_kinds_of_calls(self) -> None:
        for path in self.forms():
            kinds = dict(self.ask(path, "SELECT DISTINCT name, kind FROM slice WHERE kind IN ('runtime', 'driver')"))
            self.assertEqual({n: k for n, k in kinds.items() if k == "driver"}, {"hsa_init": "driver"}, path.name)
            self.assertEqual(kinds["ncclAllReduce"], "runtime")

    def test_geometry_and_devices(self) -> None:
        """Grids are work items: 1000 in groups of 256 are four; devices are numbered as HIP does."""
        for path in self.forms():
            with self.subTest(path.name):
                self.assertEqual(self.ask(path, "SELECT DISTINCT grid_x, grid_y, grid_z, block_x, registers, shared_bytes, device FROM kernel"),
                                 [(4, 2, 1, 256, 32, 512, 0)])
                self.assertEqual(self.ask(path, "SELECT DISTINCT stream FROM kernel ORDER BY 1"), [(1,), (3,)])
                self.assertEqual(sorted(self.ask(path, "SELECT DISTINCT name, from_device, to_device, stream FROM memcpy")),
                                 [("Memcpy HtoD (Host -> Device)", None, 0, 2), ("Memcpy PtoP (Device -> Device)", 0, 1, 2)])
                devices = report(path)["ranks"][0]["devices"]
                self.assertEqual([(d["name"], d["sm_count"]) for d in devices], [(a[4], 304) for a in AGENTS if a[1] == "GPU"])

    def test_memory(self) -> None:
        """An allocation of the GPU and its release, which does not say how much; none of the host."""
        for path in self.forms():
            self.assertEqual(self.ask(path, "SELECT time_ns, bytes, device FROM memory ORDER BY 1"),
                             [(self.job.base + 800, 4096, 0), (self.job.base + 55_000_000, -4096, 0)], path.name)

    def test_rows_without_streams_are_queues(self) -> None:
        for k in self.job.kernels + self.job.copies:
            k["stream"] = 0
        for path in self.forms():
            self.assertEqual(self.ask(path, "SELECT DISTINCT stream FROM kernel ORDER BY 1"), [(7,), (8,)], path.name)

    def test_about(self) -> None:
        """Tool, host, device, rank; nothing of the environment or the command but the program's name."""
        for path in self.forms()[:3]:
            status, out, err = run("info", path)
            self.assertEqual(status, 0, err)
            self.assertIn(b"rocprofv3", out)
            self.assertIn(b"node7", out)
            self.assertIn(b"AMD Instinct MI300X", out)
            whole = json.dumps(report(path))
            self.assertNotIn("hush", whole)
            self.assertNotIn("--token", whole)
            self.assertIn(("python3",), self.ask(path, "SELECT DISTINCT process FROM track"))
        self.assertIn(b"rocpd schema 3", run("info", self.folder / "a_results.db")[1])
        self.assertEqual([report(path)["ranks"][0]["rank"] for path in self.forms()[:2]], [8, 8])

    def test_times_that_are_none(self) -> None:
        """0 is lost, and counted; an end before its beginning is read as no duration."""
        self.job.kernels[0]["start"] = 0
        self.job.kernels[1]["end"] = self.job.kernels[1]["start"] - 5
        for path in self.forms():
            reasons = {r["id"]: r["count"] for r in report(path)["ranks"][0]["quality"]["reasons"]}
            self.assertEqual(self.ask(path, f"SELECT count(*) FROM slice WHERE {GPU}"), [(len(self.job.kernels) - 1,)], path.name)
            self.assertEqual(reasons, {"ZERO_TIME": 1, "NEGATIVE_DURATION": 1})

    def test_export_and_stats(self) -> None:
        for path in self.forms():
            out = self.folder / "out.json"
            self.assertEqual(run("export", path, "--format", "chrome", "-o", out)[0], 0)
            events = [e for e in json.loads(out.read_text())["traceEvents"] if e.get("cat") in ("kernel",)]
            self.assertEqual(len(events), len(self.job.kernels), path.name)
            self.assertEqual(run("stats", path, "-q")[0], 0)


    def test_what_to_record(self) -> None:
        """Of what a capture lacks, how rocprofv3 records it; steps by ranges are steps."""
        status, out, err = run("report", self.job.json(self.folder / "a_results.json"))
        self.assertEqual(status, 0, err)
        self.assertIn(b"rocprofv3 --sys-trace has calls and ranges", out)
        self.assertNotIn(b"ProfilerActivity", out)
        self.assertNotIn("steps", report(self.folder / "a_results.json")["ranks"][0]["quality"]["not_captured"])
        self.job.calls = [c for c in self.job.calls if not c["message"]]
        self.assertIn(b"--marker-trace", run("report", self.job.json(self.folder / "a_results.json"))[1])


class Sets(Case):
    def ranks(self, *inputs: Path | str) -> int:
        return len(report(*inputs)["ranks"])

    def test_a_folder_of_tables_is_a_rank_for_each_process(self) -> None:
        for pid in (901, 902):
            Job.steps(pid).tables(self.folder)
        self.assertEqual(self.ranks(self.folder), 2)
        self.assertEqual(self.ranks(*sorted(self.folder.glob("*.csv"))), 2)
        pids = {row for path in self.folder.glob("*_kernel_trace.csv") for row in self.ask(path, "SELECT DISTINCT t.pid FROM slice s JOIN track t "
                                                                                                "ON t.id = s.track")}
        self.assertEqual(pids, {(901,), (902,)})

    def test_forms_of_one_process_are_one_rank(self) -> None:
        for pid in (901, 902):
            job = Job.steps(pid)
            job.tables(self.folder)
            job.json(self.folder / f"{pid}_results.json")
            Database(job).save(self.folder / f"{pid}_results.db")
        said = report(self.folder)
        self.assertEqual([Path(i["file"]).name for i in said["inputs"]], ["901_results.db", "902_results.db"])
        self.assertEqual(self.ranks(self.folder / "901_results.json", self.folder / "901_results.db"), 2)       # who names both wants both

    def test_a_table_that_cannot_be_read_is_said(self) -> None:
        """And the others are read."""
        path = self.job.tables(self.folder)
        (self.folder / "908_hip_api_trace.csv").unlink()
        (self.folder / "908_hip_api_trace.csv").mkdir()
        rank = report(path)["ranks"][0]
        self.assertIn("908_hip_api_trace.csv could not be read", json.dumps(rank["quality"]))
        self.assertEqual(rank["gpu"]["busy_ns"], union([(k["start"], k["end"]) for k in self.job.kernels + self.job.copies]))

    def test_several_processes_in_one_database(self) -> None:
        """A rank for each; FILE#pid=N is one; calls of one never launch work of another, though they share correlations."""
        for tracked in (False, True):
            path = Database(Job.steps(901), Job.steps(902), tracked=tracked).save(self.folder / "job.db")
            said = report(path)
            self.assertEqual([r["rank"] for r in said["ranks"]], [1, 2])
            self.assertEqual([Path(i["file"]).name for i in said["inputs"]], ["job.db#pid=901", "job.db#pid=902"])
            self.assertEqual(said["run"]["world_size"], 4)
            one = report(Database(Job.steps(902), tracked=tracked).save(self.folder / "one.db"))["ranks"][0]
            self.assertEqual(one["gpu"], report(f"{path}#pid=902")["ranks"][0]["gpu"])
            self.assertEqual(self.ask(f"{path}#pid=901", "SELECT DISTINCT t.pid FROM slice s JOIN track t ON t.id = s.track"), [(901,)])
            links = self.ask(path, f"SELECT count(*), sum(a.pid = b.pid) FROM slice k JOIN slice c ON c.id = k.parent AND c.rank = k.rank JOIN track a ON "
                                   f"a.id = c.track AND a.rank = c.rank JOIN track b ON b.id = k.track AND b.rank = k.rank WHERE k.{GPU}")
            self.assertEqual(links, [(2 * len(self.job.kernels),) * 2])
            status, _, err = run("report", f"{path}#pid=7", "-q")
            self.assertEqual(status, 3)
            self.assertIn("process 7 has no recorded calls", err)

    def test_several_processes_in_one_json(self) -> None:
        """One rank, which is said."""
        path = self.folder / "job_results.json"
        path.write_text(json.dumps({"rocprofiler-sdk-tool": [Job.steps(901).process(), Job.steps(902).process()]}))
        self.assertEqual(self.ask(path, f"SELECT count(*), sum(a.pid = b.pid) FROM slice k JOIN slice c ON c.id = k.parent JOIN track a ON a.id = c.track "
                                        f"JOIN track b ON b.id = k.track WHERE k.{GPU}"), [(2 * len(self.job.kernels),) * 2])
        self.assertIn("GPU work of 2 processes", json.dumps(report(path)["ranks"][0]["quality"]))


class Bent(Case):
    def test_missing_tables_and_columns(self) -> None:
        """What is left is read; of a missing table the report says which."""
        for table in ("event", "info_agent", "info_kernel_symbol", "string", "region", "memory_copy", "info_thread", "track", "info_node", "metadata"):
            database = Database(self.job)
            database.drop.add(table)
            path = database.save(self.folder / "a.db")
            with self.subTest(table):
                rank = report(path)["ranks"][0]
                self.assertEqual(self.ask(path, f"SELECT count(*) FROM slice WHERE {GPU}"), [(len(self.job.kernels),)])
                if table in ("event", "info_agent", "info_kernel_symbol", "string", "region", "memory_copy"):
                    self.assertIn(f"the database has no table rocpd_{table}", json.dumps(rank["quality"]))
        for column in ("event.stack_id", "kernel_dispatch.stream_id", "kernel_dispatch.grid_size_x", "info_agent.extdata", "memory_copy.size"):
            database = Database(self.job)
            database.drop.add(column)
            with self.subTest(column):
                rank = report(database.save(self.folder / "a.db"))["ranks"][0]
                self.assertEqual("kernels are not linked to calls" in json.dumps(rank["quality"]), column == "event.stack_id")

    def test_what_is_no_trace(self) -> None:
        empty = Database(Job())
        self.refused(empty.save(self.folder / "e.db"), "without kernels, copies, calls or markers; record with: rocprofv3")
        self.refused(Job().json(self.folder / "e_results.json"), "without kernels, copies, calls or markers; record with: rocprofv3")
        (self.folder / "x_agent_info.csv").write_text('"Node_Id","Agent_Type"\n0,"CPU"\n')
        self.refused(self.folder / "x_agent_info.csv", "without a row of a kernel")
        with closing(sqlite3.connect(self.folder / "r.rpd")) as db:
            db.execute("CREATE TABLE rocpd_op (id, gpuId, start, end)")
            db.execute("CREATE TABLE rocpd_string (id, string)")
        self.refused(self.folder / "r.rpd", "rocmProfileData.*rpd2tracing.py")
        database = Database(self.job)
        database.drop.add("info_process")
        self.refused(database.save(self.folder / "n.db"), "has no table rocpd_info_process")
        (self.folder / "results.csv").write_text('"Index","KernelName","gpu-id","grd"\n0,"k",0,64\n')
        self.refused(self.folder / "results.csv", "rocprof without the times of kernels")

    def test_names_in_the_schema_are_no_statements(self) -> None:
        path = Database(self.job).save(self.folder / "a.db")
        with closing(sqlite3.connect(path)) as db:
            db.execute('CREATE TABLE "rocpd_info_process_x"" ; DROP TABLE y --" (id, pid)')
            db.execute('CREATE VIEW "rocpd_info_process_loop" AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT x AS id FROM n')
            db.commit()
        self.assertEqual(self.ask(path, f"SELECT count(*) FROM slice WHERE {GPU}"), [(len(self.job.kernels),)])

    def test_cut_json(self) -> None:
        """Everything before the break, and that it is cut; before the first record, an error that says why."""
        whole = self.job.json(self.folder / "w_results.json").read_bytes()
        path = self.folder / "c_results.json"
        first = whole.index(b'"kernel_dispatch"') + 1000
        seen = []
        for at in [*range(first, len(whole), 4001), len(whole) - 1, len(whole) - 2]:
            path.write_bytes(whole[:at])
            with self.subTest(at):
                said = report(path)["ranks"][0]["quality"]
                self.assertTrue(said["is_truncated"])
                seen.append(self.ask(path, "SELECT count(*) FROM slice")[0][0])
        self.assertEqual(seen, sorted(seen))
        self.assertEqual(seen[-1], self.ask(self.folder / "w_results.json", "SELECT count(*) FROM slice")[0][0])
        path.write_bytes(whole[:first - 900])
        self.refused(path, "ends before its first record")

    def test_cut_table(self) -> None:
        path = self.job.tables(self.folder)
        for other in set(self.folder.glob("*.csv")) - {path}:
            other.unlink()
        whole = path.read_bytes()
        path.write_bytes(whole[:-20])
        rank = report(path)["ranks"][0]
        self.assertTrue(rank["quality"]["is_truncated"])
        self.assertEqual(self.ask(path, "SELECT count(*) FROM slice"), [(len(self.job.kernels) - 1,)])
        lines = whole.split(b"\n")
        lines[2] = b'"KERNEL_DISPATCH","half a row"'
        path.write_bytes(b"\n".join(lines))
        self.assertEqual([r["id"] for r in report(path)["ranks"][0]["quality"]["reasons"]], ["MALFORMED"])
        path.write_bytes(whole.replace(b'"void gemm', b'"void gemm' + b'"x' * 50, 1))
        self.assertIn(run("report", path, "-q")[0], (0, 3))

    def test_bent_bytes(self) -> None:
        """Whatever a byte becomes: an answer or an error in words."""
        rng = random.Random(5)
        for path in (Database(Job.steps(n=1)).save(self.folder / "a_results.db"), Job.steps(n=1).json(self.folder / "b_results.json"),
                     Job.steps(n=1).tables(self.folder)):
            whole = path.read_bytes()
            for _ in range(12):
                bent = bytearray(whole)
                for _ in range(rng.randrange(1, 12)):
                    bent[rng.randrange(len(bent))] = rng.randrange(256)
                path.write_bytes(bent)
                status, _, err = run("report", path, "-q")
                self.assertIn(status, (0, 3), err)

    def test_hostile_sizes(self) -> None:
        """Numbers beyond all bounds are absent, not obeyed."""
        huge = 1 << 62
        self.job.kernels[0] |= {"group": (huge, huge, 1), "grid": (-5, huge, 1), "node": 77}
        self.job.copies[0]["size"] = -huge
        self.job.memory[0]["size"] = huge
        self.job.calls[0]["correlation"] = huge
        for path in (Database(self.job).save(self.folder / "a.db"), self.job.json(self.folder / "b_results.json"), self.job.tables(self.folder)):
            self.assertEqual(self.ask(path, f"SELECT count(*) FROM slice WHERE {GPU}"), [(len(self.job.kernels),)], path.name)
            self.assertEqual(self.ask(path, "SELECT count(*) FROM memory"), [(0,)], path.name)

    def test_a_pipe(self) -> None:
        for path in (Database(self.job).save(self.folder / "a.db"), self.job.json(self.folder / "b_results.json"),
                     self.job.legacy(self.folder / "results.csv")):
            done = subprocess.run([EXE, "report", "-", "--json", "-q"], input=path.read_bytes(), capture_output=True, check=True)
            self.assertEqual(json.loads(done.stdout)["ranks"][0]["gpu"]["compute_ns"], report(path)["ranks"][0]["gpu"]["compute_ns"])


class Real(Case):
    def test_real_json(self) -> None:
        """A training on an MI350X: 43,915 kernels of four threads, no calls."""
        if not REAL.exists():
            skip_loudly(f"{REAL} is not present")
            return
        truth = of_json(REAL)
        found = {name: [n, total] for name, n, total in self.ask(REAL, f"SELECT name, count(*), sum(dur_ns) FROM slice WHERE {GPU} GROUP BY 1")}
        self.assertEqual(found, dict(truth.kernels))
        rank = report(REAL)["ranks"][0]
        self.assertEqual(rank["gpu"]["busy_ns"], union(truth.spans))
        self.assertEqual((len(rank["devices"]), rank["devices"][0]["name"], rank["devices"][0]["sm_count"]), (8, "AMD Instinct MI350X", 256))
        self.assertIn(b"smci350", run("info", REAL)[1])


if __name__ == "__main__":
    unittest.main()
