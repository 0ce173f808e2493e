# SPDX-License-Identifier: Apache-2.0
"""`holdup query`: the document's queries run, answers equal an independent computation, and nothing can be changed."""
import csv
import io
import json
import re
import statistics
import tempfile
import unittest
from pathlib import Path

from tests.program import ROOT, events, ns, real_traces, report, run

TRACES = ROOT / "examples/training/traces"
ONE = TRACES / "slow_loader/rank0.pt.trace.json.gz"
DOCUMENT = (ROOT / "docs/query.md").read_text()
QUERIES = re.findall(r"```sql\n(.*?)```", DOCUMENT, re.S)


def ask(path, sql: str) -> list[dict]:
    status, out, err = run("query", path, "--json", sql)
    assert status == 0, f"{sql}: {err}"
    return json.loads(out)


def gpu_trace(folder: str) -> Path:
    """Two kernels that overlap, one without a launch, a copy, an operator; two steps."""
    def x(cat, name, pid, tid, ts, dur, **args):
        return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}
    made = [
        x("user_annotation", "ProfilerStep#3", 1, 1, 100, 100), x("user_annotation", "ProfilerStep#4", 1, 1, 200, 100),
        x("cpu_op", "aten::mm", 1, 1, 110, 30, **{"Input Dims": [[2, 3], [3, 4]], "External id": 2**53 + 1}),
        x("cuda_runtime", "cudaLaunchKernel", 1, 1, 115, 5, correlation=1), x("kernel", "gemm", 0, 7, 130, 40, stream=7, device=0, correlation=1),
        x("cuda_runtime", "cudaLaunchKernel", 1, 1, 210, 5, correlation=2), x("kernel", "gemm", 0, 8, 160, 30, stream=8, device=0),
        x("kernel", "relu", 0, 7, 220.125, 10.5, stream=7, device=0, correlation=2),
        x("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 0, 7, 250, 10, stream=7, device=0, bytes=40000),
    ]
    path = Path(folder) / "t.json"
    path.write_text(json.dumps({"distributedInfo": {"rank": 5, "world_size": 8}, "traceEvents": made}))
    return path


class Query(unittest.TestCase):
    def test_the_document(self) -> None:
        self.assertEqual(len(QUERIES), 15)
        schema = run("query", "--schema")[1].decode()
        self.assertIn(schema, DOCUMENT, "docs/query.md does not hold what --schema prints")
        self.assertLessEqual(max(map(len, schema.splitlines())), 120)
        for path in [ONE, TRACES / "python_stacks", *real_traces()[:24:6]]:
            for sql in QUERIES:
                with self.subTest(trace=path.name, sql=sql[:60]):
                    status, out, err = run("query", path, sql)
                    self.assertEqual(status, 0, err)
                    self.assertLessEqual(max(map(len, out.decode().splitlines())), 80)

    def test_counts_and_sums(self) -> None:
        for path in [ONE, *real_traces()[::9]]:
            made = [e for e in events(path) if e.get("ph") == "X" and e.get("cat") == "cpu_op" and "dur" in e]
            with self.subTest(trace=path.name):
                self.assertEqual(ask(path, "select count(*) n, coalesce(sum(dur_ns), 0) ns from op where not is_annotation")[0],
                                 {"n": len(made), "ns": sum(max(ns(e["dur"]), 0) for e in made)})
                if made:
                    name = made[0]["name"]
                    same = [e for e in made if e["name"] == name]
                    self.assertEqual(ask(path, "select count(*) n, min(start_ns) s from op where not is_annotation and name = '%s'"
                                         % name.replace("'", "''"))[0], {"n": len(same), "s": min(ns(e["ts"]) for e in same)})

    def test_it_agrees_with_report(self) -> None:
        for path in real_traces()[::7]:
            gpu = report(path)["ranks"][0]["gpu"]
            busy = ask(path, "select union_ns(start_ns, end_ns) b from (select start_ns, end_ns from kernel union all select start_ns, "
                             "end_ns from memcpy)")[0]["b"]
            with self.subTest(trace=path.name):
                self.assertEqual(busy or 0, gpu["busy_ns"])
                self.assertEqual(ask(path, "select coalesce(union_ns(start_ns, end_ns), 0) b from kernel where is_comm")[0]["b"] or 0,
                                 gpu["comm_ns"])

    def test_values(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = gpu_trace(folder)
            self.assertEqual(ask(path, "select name, start_ns, dur_ns, step, launch is null as lost, stream, rank from kernel order by start_ns"), [
                {"name": "gemm", "start_ns": 130000, "dur_ns": 40000, "step": 3, "lost": 0, "stream": 7, "rank": 5},
                {"name": "gemm", "start_ns": 160000, "dur_ns": 30000, "step": 3, "lost": 1, "stream": 8, "rank": 5},
                {"name": "relu", "start_ns": 220125, "dur_ns": 10500, "step": 4, "lost": 0, "stream": 7, "rank": 5}])
            self.assertEqual(ask(path, "select union_ns(start_ns, end_ns) u, sum(dur_ns) s from kernel"), [{"u": 70500, "s": 80500}])
            self.assertEqual(ask(path, "select c.name, o.name as op, o.shapes from kernel k join call c on c.id = k.launch join op o on o.id = k.op "
                                       "where k.name = 'gemm'"),
                             [{"name": "cudaLaunchKernel", "op": "aten::mm", "shapes": "[[2, 3], [3, 4]]"}])
            self.assertEqual(ask(path, "select delay_ns from link where call is not null order by 1"), [{"delay_ns": 5125}, {"delay_ns": 10000}])
            self.assertEqual(ask(path, "select bytes, is_set, launch from memcpy"), [{"bytes": 40000, "is_set": 0, "launch": None}])
            self.assertEqual(ask(path, "select number, dur_ns from step"), [{"number": 3, "dur_ns": 100000}, {"number": 4, "dur_ns": 100000}])
            self.assertEqual(ask(path, "select self_ns from op where name = 'aten::mm'"), [{"self_ns": 25000}])
            self.assertEqual(ask(path, "select median(dur_ns) m, quantile(dur_ns, 0.25) q from kernel"),
                             [{"m": statistics.median([40000, 30000, 10500]), "q": (10500 + 30000) / 2}])
            self.assertEqual(ask(path, "select overlap_ns(0, 10, 5, 20) a, overlap_ns(0, 1, 5, 9) b, overlap_ns(null, 1, 2, 3) c"),
                             [{"a": 5, "b": 0, "c": None}])
            self.assertEqual(ask(path, "select occupancy_pct, grid_x from kernel limit 1"), [{"occupancy_pct": None, "grid_x": None}])
            self.assertEqual(ask(path, "select name from kernel where id in (select id from kernel where name = 'relu')"), [{"name": "relu"}])
            self.assertEqual(ask(path, "select count(*) n from kernel where id = -1 or id = 'x' or id = 1.5 or id = 99999999"), [{"n": 0}])

    def test_ranks_follow_each_other(self) -> None:
        rows = ask(TRACES / "slow_loader", "select rank, count(*) n from op group by rank order by rank")
        self.assertEqual([r["rank"] for r in rows], [0, 1])
        self.assertEqual(ask(TRACES / "slow_loader", "select count(*) n from op where rank = 1")[0]["n"], rows[1]["n"])
        # the same id in both ranks
        self.assertEqual(ask(TRACES / "slow_loader", "select count(*) n from slice where id = 10"), [{"n": 2}])
        self.assertEqual(ask(TRACES / "slow_loader", "select count(*) n from slice where id = 10 and rank = 0"), [{"n": 1}])

    def test_groups_of_names(self) -> None:
        """Rows come name by name, those of one name by rank and id, as if texts had been sorted."""
        grouped = "select name, count(*) n, sum(dur_ns) ns, group_concat(rank || '.' || id) ids from {} group by name"
        for path in (ONE, TRACES / "slow_loader", TRACES / "python_stacks"):
            for table in ("slice", "op", "kernel", "call"):
                groups: dict[str, list[dict]] = {}
                for row in ask(path, f"select name, rank, id, dur_ns from {table}"):
                    groups.setdefault(row["name"], []).append(row)
                want = [{"name": name, "n": len(rows), "ns": sum(r["dur_ns"] for r in rows), "ids": ",".join(f"{r['rank']}.{r['id']}" for r in rows)}
                        for name, rows in sorted(groups.items(), key=lambda g: g[0].encode())]
                with self.subTest(trace=path.name, table=table):
                    sql = grouped.format(table)
                    self.assertEqual(ask(path, sql), want)
                    self.assertEqual(ask(path, sql + " order by name desc"), want[::-1])
                    self.assertEqual(ask(path, sql + " order by n desc"), sorted(want[::-1], key=lambda r: -r["n"]))
                    self.assertEqual([r["ids"] for r in ask(path, sql.replace(" group by", " where rank = 1 group by"))],
                                     [ids for ids in (",".join(i for i in w["ids"].split(",") if i.startswith("1.")) for w in want) if ids])
        if tuple(map(int, ask(ONE, "select sqlite_version() v")[0]["v"].split("."))) < (3, 38):
            return      # does not tell a table that it groups
        for sql, sorts in (("select name, sum(dur_ns) from slice group by name order by 2 desc", False),
                           ("select name, sum(dur_ns) from slice group by name collate nocase", True),
                           ("select name, rank, sum(dur_ns) from slice group by name, rank", True)):
            plan = [row["detail"] for row in ask(ONE, "explain query plan " + sql)]
            self.assertEqual("USE TEMP B-TREE FOR GROUP BY" in plan, sorts, sql)

    def test_faces(self) -> None:
        sql = "select 'a,\"b' as text, 1 as n, null as absent, 2.5 as x"
        self.assertEqual(list(csv.reader(io.StringIO(run("query", ONE, "--csv", sql)[1].decode(), newline=""))),
                         [["text", "n", "absent", "x"], ['a,"b', "1", "", "2.5000"]])
        self.assertIn("–", run("query", ONE, sql)[1].decode())
        self.assertEqual(run("query", ONE, "--json", "select 1 where 0")[1].strip(), b"[]")
        self.assertEqual(run("query", ONE, "select 1 as one where 0")[1], b"one\n(0 rows)\n")
        self.assertEqual(run("query", ONE, "--csv", "select 1 as one where 0")[1], b"one\r\n")
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "q.sql").write_text("select count(*) as n\nfrom op;\n")
            self.assertIn(b"n\n", run("query", ONE, "--file", Path(folder) / "q.sql")[1])

    def test_wrong_queries(self) -> None:
        for sql, words in (("select nme from kernel", "did you mean name"), ("select * from kernl", "did you mean kernel"),
                           ("select bytes from kernel", "no such column: bytes; there is one in os_call"), ("select * from slices", "did you mean slice?"),
                           ("selec 1", "syntax error"), ("", "no statement"), ("select 1; select 2", "one statement"),
                           ("attach 'x' as y", "read-only"), ("pragma page_size = 4096", "read-only"), ("create table t(x)", "read-only"),
                           ("insert into kernel values (1)", "read-only"), ("delete from kernel", "read-only"),
                           ("drop table kernel", "read-only"), ("vacuum", "read-only"), ("select load_extension('x')", "SQL"),
                           ("select quantile(dur_ns, 2) from op", "between 0 and 1")):
            with self.subTest(sql=sql):
                status, out, err = run("query", ONE, sql)
                self.assertEqual((status, out), (2, b""), err)
                if words != "SQL":
                    self.assertIn(words, err)
                self.assertEqual(err.count("\n"), 1)
        self.assertEqual(run("query", ONE)[0], 2)
        self.assertEqual(run("query", "no-such-file", "select 1")[0], 3)
        self.assertEqual(run("query", ONE, "--file", "no-such-file")[0], 2)


if __name__ == "__main__":
    unittest.main()
