# SPDX-License-Identifier: Apache-2.0
"""NCCL's Inspector: calls by size, and which rank the others wait for; every number is computed again here from what was written."""
from __future__ import annotations

import json
import random
import statistics
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import ROOT, run, skip_loudly

try:
    import jsonschema
except ImportError:
    jsonschema = None

Record = dict[str, Any]
RANKS = 4


def record(rank: int, sn: int, size: int, us: float, op: str = "AllReduce", comm: str = "0x7f8c496ae9f661", ranks: int = RANKS, pid: int | None = None) -> Record:
    """As inspector.cc writes it (v4.0)."""
    alg = size / us / 1e3
    return {"header": {"id": comm, "rank": rank, "n_ranks": ranks, "nnodes": 1},
            "metadata": {"inspector_output_format_version": "v4.0", "git_rev": "", "rec_mechanism": "nccl_profiler_interface", "dump_timestamp_us": 1748030377748202 + sn,
                         "hostname": "node7", "pid": pid or 4000 + rank},
            "coll_perf": {"coll": op, "coll_sn": sn, "coll_msg_size_bytes": size, "coll_exec_time_us": us, "coll_timing_source": "kernel_gpu",
                          "coll_algobw_gbs": round(alg, 6), "coll_busbw_gbs": round(alg * 1.5, 6)}}


def job(late: int = 2, calls: int = 40) -> list[list[Record]]:
    """Of each rank, all its records: the late one's kernels are the shortest."""
    rng = random.Random(7)
    files: list[list[Record]] = [[] for _ in range(RANKS)]
    for sn in range(calls):
        size = (1 << 20, 1 << 24)[sn % 2]
        needs = 100 if size == 1 << 20 else 900
        for rank in range(RANKS):
            files[rank].append(record(rank, sn, size, needs + (0 if rank == late else rng.randint(300, 500))))
    return files


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, files: list[list[Record]]) -> Path:
        folder = self.folder / "nccl-inspector-17"
        folder.mkdir(exist_ok=True)
        for i, records in enumerate(files):
            (folder / f"node7-pid{4000 + i}.log").write_text("".join(json.dumps(r, separators=(",", ":")) + "\n" for r in records))
        return folder

    def ask(self, *words: object) -> dict[str, Any]:
        status, out, err = run("report", *words, "--json")
        self.assertEqual(status, 0, err)
        return json.loads(out)


class Sizes(Case):
    def test_numbers(self) -> None:
        files = job()
        told = self.ask(self.write(files))["inspector"]
        flat = [r["coll_perf"] for f in files for r in f]
        self.assertEqual((told["records"], told["processes"], told["world_size"], told["communicators"], told["torn"]), (len(flat), RANKS, RANKS, 1, 0))
        self.assertEqual({s["bytes"] for s in told["sizes"]}, {r["coll_msg_size_bytes"] for r in flat})
        for s in told["sizes"]:
            with self.subTest(s["bytes"]):
                own = [r for r in flat if r["coll_msg_size_bytes"] == s["bytes"]]
                calls: dict[int, list[Record]] = {}
                for r in own:
                    calls.setdefault(r["coll_sn"], []).append(r)
                self.assertEqual((s["count"], s["records"]), (len(calls), len(own)))
                self.assertEqual(s["median_ns"], round(statistics.median(r["coll_exec_time_us"] for r in own) * 1e3))
                self.assertEqual(s["total_ns"], sum(r["coll_exec_time_us"] for r in own) * 1000)
                self.assertAlmostEqual(s["bus_gbps"], statistics.median(r["coll_busbw_gbs"] for r in own), places=2)
                self.assertEqual(s["last_rank_ns"], statistics.median(min(r["coll_exec_time_us"] for r in c) for c in calls.values()) * 1000)
                self.assertAlmostEqual(s["last_rank_bus_gbps"], statistics.median(max(r["coll_busbw_gbs"] for r in c) for c in calls.values()), places=2)
                waits = sum(r["coll_exec_time_us"] - min(x["coll_exec_time_us"] for x in c) for c in calls.values() for r in c)
                self.assertEqual(s["wait_ns"], waits * 1000)
                self.assertEqual((s["last_rank"], s["last_rank_share"]), (2, 1))

    def test_late_rank(self) -> None:
        files = job(late=3)
        told = self.ask(self.write(files))
        first = told["inspector"]["ranks"][0]
        waits = 0.0
        for sn in range(40):
            times = [f[sn]["coll_perf"]["coll_exec_time_us"] for f in files]
            waits += sum(t - min(times) for t in times) / (RANKS - 1)
        self.assertEqual((first["rank"], first["pid"], first["host"], first["last_in"], first["calls"]), (3, 4003, "node7", 40, 40))
        self.assertAlmostEqual(first["waited_for_ns"], waits * 1000, delta=1)
        hint = next(h for h in told["hints"] if h["id"] == "late_rank")
        self.assertIn("Rank 3 (node7, process 4003)", hint["words"])

    def test_even_ranks_have_no_late_one(self) -> None:
        files = [[record(rank, sn, 1 << 20, 1000 + (sn + rank) % 3) for sn in range(40)] for rank in range(RANKS)]
        self.assertEqual(self.ask(self.write(files))["hints"], [])

    def test_changing_ranks(self) -> None:
        files = [[record(rank, sn, 1 << 20, 100 if sn % RANKS == rank else 600) for sn in range(40)] for rank in range(RANKS)]
        self.assertEqual([h["id"] for h in self.ask(self.write(files))["hints"]], ["ranks_wait"])

    def test_one_rank_alone(self) -> None:
        folder = self.write(job()[:1])
        told = self.ask(folder)
        self.assertEqual((told["inspector"]["compared_calls"], told["inspector"]["sizes"][0]["last_rank"], told["inspector"]["ranks"]), (0, None, []))
        self.assertIn("cannot tell what is waiting", " ".join(run("report", folder)[1].decode().split()))

    def test_ranks_of_smaller_communicators_are_those_of_the_job(self) -> None:
        """Rank 0 of the communicator of processes 2 and 3 is rank 2 of the job."""
        files = job()
        for rank in (2, 3):
            files[rank] += [record(rank - 2, sn, 4096, 50 if rank == 3 else 950, "AllGather", "0xabc", 2, 4000 + rank) for sn in range(60)]
        told = self.ask(self.write(files))["inspector"]
        s = next(s for s in told["sizes"] if s["op"] == "AllGather")
        self.assertEqual((s["ranks"], s["count"], s["last_rank"], s["last_rank_share"]), (2, 60, 3, 1))


class Forms(Case):
    def test_written_over_many_lines(self) -> None:
        """As the plugin's documents show it."""
        files = job()
        folder = self.write(files)
        before = self.ask(folder)["inspector"]
        for i, records in enumerate(files):
            (folder / f"node7-pid{4000 + i}.log").write_text("\n".join(json.dumps(r, indent=2) for r in records))
        self.assertEqual(self.ask(folder)["inspector"], before)

    def test_context_before_its_calls(self) -> None:
        """v4.3: header and metadata stand in dump_stats alone."""
        files = job()
        before = self.ask(self.write(files))["inspector"]
        packed = []
        for records in files:
            stats = {"header": records[0]["header"], "metadata": records[0]["metadata"] | {"inspector_output_format_version": "v4.3"},
                     "dump_stats": {"coll_records": len(records), "coll_dropped_total": 0, "p2p_records": 0, "p2p_dropped_total": 0}}
            packed.append([stats] + [{"coll_perf": r["coll_perf"]} for r in records])
        told = self.ask(self.write(packed))["inspector"]
        self.assertEqual(told["version"], "v4.3")
        self.assertEqual([told["sizes"], told["ranks"], told["torn"]], [before["sizes"], before["ranks"], 0])

    def test_dropped(self) -> None:
        files = job()
        for total in (3, 8):
            files[1].append({"header": files[1][0]["header"], "metadata": files[1][0]["metadata"], "dump_stats": {"coll_records": 1, "coll_dropped_total": total, "p2p_dropped_total": 1}})
        told = self.ask(self.write(files))
        self.assertEqual(told["inspector"]["dropped"], 9)
        self.assertIn("calls_dropped", [h["id"] for h in told["hints"]])

    def test_send_and_receive(self) -> None:
        files = job()
        for rank in range(2):
            for sn in range(10):
                files[rank].append({"header": files[rank][0]["header"], "metadata": files[rank][0]["metadata"],
                                    "p2p_perf": {"p2p": ("Send", "Recv")[rank], "p2p_sn": sn, "p2p_peer": 1 - rank, "p2p_msg_size_bytes": 65536, "p2p_exec_time_us": 10 + rank,
                                                 "p2p_timing_source": "kernel_cpu", "p2p_algobw_gbs": 6.5, "p2p_busbw_gbs": 6.5}})
        told = self.ask(self.write(files))["inspector"]
        self.assertEqual([(s["op"], s["count"], s["median_ns"], s["last_rank"]) for s in told["sizes"] if s["is_p2p"]], [("Recv", 10, 11000, None), ("Send", 10, 10000, None)])
        self.assertEqual(told["timed_by_cpu"], 20)

    def test_torn(self) -> None:
        """A killed job's last line, and one that another run was appended to."""
        folder = self.write(job())
        path = folder / "node7-pid4000.log"
        text = path.read_text()
        lines = text.splitlines(keepends=True)
        path.write_text("".join(lines[:5]) + lines[5][:100] + "\n" + "".join(lines[6:]) + lines[0][:77])
        told = self.ask(folder)["inspector"]
        self.assertEqual((told["torn"], told["records"]), (2, 4 * 40 - 1))

    def test_schema(self) -> None:
        if not jsonschema:
            skip_loudly("no jsonschema: answers are not validated")
            return
        schema = json.loads((ROOT / "docs/step-log.schema.json").read_text())
        jsonschema.validate(self.ask(self.write(job())), schema)
        jsonschema.validate(self.ask(self.write(job()[:1])), schema)

    def test_other_commands_say_what_it_is(self) -> None:
        folder = self.write(job())
        path = folder / "node7-pid4000.log"
        self.assertIn("calls of NCCL's Inspector", run("info", path)[1].decode())
        status, _, err = run("query", path, "select 1")
        self.assertNotEqual(status, 0)
        self.assertIn("NCCL's Inspector", err)


class Beside(Case):
    def test_one_log(self) -> None:
        """All files of the Inspector are one log beside the traces."""
        folder = self.write(job())
        (folder / "rank0.json").write_text(json.dumps({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": i * 100, "dur": 50,
                                                                        "args": {"device": 0, "stream": 7}} for i in range(9)]}))
        told = self.ask(folder)
        self.assertEqual([log["inspector"]["records"] for log in (entry["log"] if "log" in entry else entry for entry in told["logs"])], [160])


if __name__ == "__main__":
    unittest.main()
