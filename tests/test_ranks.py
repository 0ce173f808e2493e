# SPDX-License-Identifier: Apache-2.0
"""Several ranks: collectives found on all of them, who waits for whom, and how far clocks are apart."""
import json
import pathlib
import random
import resource
import statistics
import subprocess
import tempfile
import unittest
from typing import Any

from tests import page_data
from tests.program import EXE, SANITIZED, SHARED, events, report, run, skip_loudly
from tests.test_scale import job as scaled_job

MS, US = 1_000_000, 1_000


class Job:
    """Ranks on hosts of their own, whose clocks are off by milliseconds and drift; they meet in all-reduces."""

    def __init__(self, seed: int, ranks: int = 8, count: int = 200, late: int | None = None, has_sequence: bool = True) -> None:
        r = random.Random(seed)
        self.offset = [0] + [r.randint(-5 * MS, 5 * MS) for _ in range(ranks - 1)]
        self.drift = [0.0] + [r.uniform(-20e-6, 20e-6) for _ in range(ranks - 1)]
        self.base, self.length = 10**15, 0
        self.calls: list[list[dict[str, Any]]] = [[] for _ in range(ranks)]
        self.truth_wait = [0.0] * ranks
        t = self.base
        for k in range(count):
            t += 5 * MS
            arrival = [t + int(r.expovariate(1 / (300 * US))) + (2 * MS if rank == late else 0) for rank in range(ranks)]
            end, transfer = max(arrival) + 200 * US, 200 * US
            for rank in range(ranks):
                leave = end + int(r.expovariate(1 / (2 * US)))
                self.truth_wait[rank] += leave - arrival[rank] - transfer
                begin, leave = self.clock(rank, arrival[rank]), self.clock(rank, leave)
                args = {"stream": 20, "device": 0, "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1000 + 7 * (k % 5),
                        "Out msg nelems": 1000 + 7 * (k % 5), "Group size": ranks, "Process Group Name": "0", "Process Group Description": "default_pg"}
                if has_sequence:
                    args["Seq"] = k
                self.calls[rank].append({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "pid": 0, "tid": 20,
                                         "ts": f"{begin // 1000}.{begin % 1000:03d}", "dur": f"{(leave - begin) // 1000}.{(leave - begin) % 1000:03d}", "args": args})
        self.last = t + 10 * MS

    def clock(self, rank: int, true_ns: int) -> int:
        return true_ns + self.offset[rank] + round(self.drift[rank] * (true_ns - self.base))

    def write(self, folder: pathlib.Path) -> None:
        for rank, calls in enumerate(self.calls):
            text = json.dumps({"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": len(self.calls)}, "host_name": f"node{rank}", "traceEvents": calls})
            # times as numbers with their digits, which a float would round
            for key in ("ts", "dur"):
                text = text.replace(f'"{key}": "', f'"{key}": ').replace('", "dur"', ', "dur"').replace('", "args"', ', "args"')
            (folder / f"rank{rank}.json").write_text(text)


def met(result: dict[str, Any]) -> dict[str, int]:
    return {key: result["collectives"][key] for key in ("matched", "unmatched")}


class Ranks(unittest.TestCase):
    def ask(self, job: Job) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as name:
            job.write(pathlib.Path(name))
            return report(name)

    def test_clocks_of_far_hosts_are_found(self) -> None:
        worst = []
        for seed in range(3 if SANITIZED else 12):
            job = Job(seed)
            result = self.ask(job)
            self.assertEqual(met(result), {"matched": 200, "unmatched": 0})
            for rank, truth in enumerate(job.offset):
                if rank == 0:
                    continue
                seen = result["ranks"][rank]["rendezvous"]
                middle = (job.base + job.last) // 2
                slope_error = seen["clock_drift_ppm"] * 1e-6 - job.drift[rank]
                here = seen["clock_offset_ns"] - (truth + job.drift[rank] * (middle - job.base))
                worst.append(max(abs(here + slope_error * s * (job.last - job.base) / 2) for s in (-1, 1)))
            self.assertLess(result["clocks"]["residual_ns"], 5 * US)
            self.assertEqual(result["clocks"]["ends"], 7 * 200)
        self.assertLess(statistics.median(worst), 2 * US)

    def test_the_late_rank_is_named(self) -> None:
        for seed in range(2 if SANITIZED else 8):
            job = Job(seed + 100, late=seed % 8, count=60)
            result = self.ask(job)
            self.assertEqual(result["stragglers"][0]["rank"], seed % 8)
            self.assertGreater(result["stragglers"][0]["share_pct"], 90)
            self.assertGreater(result["stragglers"][0]["last"], 50)
            waits = [r["rendezvous"]["wait_ns"] for r in result["ranks"]]
            for rank, wait in enumerate(waits):
                if rank != seed % 8:
                    self.assertAlmostEqual(wait / job.truth_wait[rank], 1, delta=0.05)
            self.assertLess(waits[seed % 8], min(w for i, w in enumerate(waits) if i != seed % 8) / 10)

    def test_the_cause_and_the_gain_are_those_that_were_planted(self) -> None:
        """Random jobs with one late rank, by its loader or by its kernels."""
        right, errors, count = 0, [], 20 if SANITIZED else 200
        for seed in range(count):
            r = random.Random(seed)
            late, ranks = r.choice(("data_loader", "compute")), 8
            who, extra, compute, transfer = r.randrange(ranks), r.randint(300, 4000) * US, r.randint(4000, 12000) * US, r.randint(100, 1500) * US
            with tempfile.TemporaryDirectory() as name:
                scaled_job(pathlib.Path(name), ranks, compute=compute, transfer=transfer, late_rank=who, steps=4,
                           late=extra if late == "data_loader" else 0, slow=extra if late == "compute" else 0)
                result = report(name, "--top", 5)
            first = result["stragglers"][0]
            finding = next((f for f in result["findings"] if f["id"] == "straggler"), None)
            right += (first["rank"], first["cause"]) == (who, late) and finding is not None
            if finding:
                errors.append(abs(finding["gain_pct"] - 100 * extra / (extra + compute + transfer + 5 * US)))
                self.assertTrue(any(line.startswith(f"rank {who} is the last to reach") for line in finding["evidence"]), finding)
        self.assertGreaterEqual(right, 0.95 * count)
        self.assertLess(statistics.mean(errors), 2)

    def test_a_call_that_one_trace_lacks_does_not_shift_the_others(self) -> None:
        for has_sequence in (True, False):
            with self.subTest(sequence=has_sequence):
                job = Job(7, count=50, has_sequence=has_sequence)
                del job.calls[3][20]
                result = self.ask(job)
                self.assertEqual(met(result), {"matched": 49, "unmatched": 7})
                self.assertEqual([r["rendezvous"]["calls"] for r in result["ranks"]], [50, 50, 50, 49, 50, 50, 50, 50])
                self.assertLess(result["clocks"]["residual_ns"], 10 * US)

    def test_the_order_of_files_does_not_matter(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            Job(3, ranks=4, count=30).write(folder)
            files = sorted(folder.iterdir())
            one, two = report(files[0], *files[1:]), report(files[-1], *files[-2::-1])
            for key in ("collectives", "clocks", "stragglers"):
                self.assertEqual(one[key], two[key])

    def test_one_rank_alone_meets_nobody(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            Job(3, ranks=1, count=5).write(pathlib.Path(name))
            result = report(next(pathlib.Path(name).iterdir()))
            self.assertIsNone(result["collectives"])
            self.assertEqual(result["stragglers"], [])
            self.assertIsNone(result["ranks"][0]["rendezvous"])

    def test_who_is_not_there_is_said(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            Job(5, ranks=6, count=12).write(folder)
            (folder / "rank2.json").unlink()
            (folder / "rank5.json").unlink()
            (folder / "again.json").write_bytes((folder / "rank3.json").read_bytes())
            result = report(folder)["run"]
            self.assertEqual((result["ranks"], result["world_size"], result["missing_count"]), (5, 6, 2))
            self.assertEqual(result["missing_ranks"], [2, 5])
            self.assertEqual(result["ranks_read_twice"], [3])
            text = run("report", folder)[1].decode()
            self.assertIn("but: ranks 2, 5 of the job are missing", text)
            self.assertIn("but: rank 3 occurs more than once", text)
            self.assertEqual(report(folder / "rank3.json")["run"]["missing_count"], 0)

    @unittest.skipIf(SANITIZED, "a sanitizer takes address space without end")
    def test_as_many_groups_as_calls_do_not_fill_the_memory(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            for rank in range(2):
                calls = [{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce(x)", "pid": 0, "tid": 7, "ts": i, "dur": 0.5, "args": {
                    "stream": 7, "device": 0, "Collective name": "allreduce", "Process Group Name": str(i), "In msg nelems": 1, "dtype": "Float"}} for i in range(1, 30001)]
                (pathlib.Path(name) / f"rank{rank}.json").write_text(json.dumps({"traceEvents": calls}))
            done = subprocess.run([EXE, "report", name, "--json"], capture_output=True, check=False, timeout=120,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(met(json.loads(done.stdout)), {"matched": 30000, "unmatched": 0})

    def test_very_many_ranks_are_told_in_short(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            Job(9, ranks=40, count=10).write(folder)
            status, out, _ = run("report", folder, "--html", folder / "page.html")
            self.assertEqual(status, 0)
            text = out.decode()
            self.assertIn("the 16 slowest of 40 ranks", text)
            self.assertEqual(sum(".json" in line and " ms " in line for line in text.split("WHERE")[0].splitlines()), 16)
            page = (folder / "page.html").read_text()
            inside, whole = page_data.json_block(page, "data-report"), report(folder)
            self.assertEqual([r["rank"] for r in inside["ranks"]], list(range(40)))
            self.assertEqual([r["rendezvous"] for r in inside["ranks"]], [r["rendezvous"] for r in whole["ranks"]])
            shown = page_data.json_block(page, "data-words")["rank_index"]
            self.assertEqual(inside["ranks"][shown], whole["ranks"][shown])
            self.assertEqual([len(r["steps"]["list"]) for r in inside["ranks"]], [len(r["steps"]["list"]) for r in whole["ranks"]])
            self.assertLessEqual(len(page_data.timelines(page)), 16)

    def test_names_of_files_tell_ranks(self) -> None:
        event = {"ph": "X", "cat": "cpu_op", "name": "x", "pid": 1, "tid": 1, "ts": 1, "dur": 2}
        cases = ((["rank7.json", "rank3.json"], [3, 7]), (["node_1_rank_9.pt.trace.json", "node_0_rank_8.pt.trace.json"], [8, 9]),
                 (["h_worker1.177.pt.trace.json", "h_Worker0.178.pt.trace.json"], [0, 1]), (["run_1.json", "run_0.json"], [0, 1]),
                 (["trace_2024.json", "trace_2025.json"], [0, 1]), (["rank4.json"], [4]), (["trace_3.json"], [0]), (["frank.json"], [0]))
        for names, expected in cases:
            with self.subTest(names=names), tempfile.TemporaryDirectory() as name:
                for one in names:
                    (pathlib.Path(name) / one).write_text(json.dumps({"traceEvents": [event]}))
                self.assertEqual([r["rank"] for r in report(name)["ranks"]], expected)

    def test_names_of_files_tell_nodes_where_traces_tell_no_host(self) -> None:
        event = {"ph": "X", "cat": "cpu_op", "name": "x", "pid": 1, "tid": 1, "ts": 1, "dur": 2}
        four = ["node_0_rank_0.json", "node_0_rank_1.json", "node_1_rank_2.json", "node_1_rank_3.json"]
        cases = ((four, None, 2, ["node_0", "node_0", "node_1", "node_1"]), (four, "vm", 1, ["vm"] * 4),
                 (["Node3.rank0.json", "node12.rank1.json"], None, 2, ["Node3", "node12"]),
                 (["rank0.json", "rank1.json"], None, 1, [""] * 2), (["node_rank0.json", "node_rank1.json"], None, 1, [""] * 2))
        for names, host, nodes, hosts in cases:
            with self.subTest(names=names, host=host), tempfile.TemporaryDirectory(prefix="node_9_") as name:
                for one in names:
                    (pathlib.Path(name) / one).write_text(json.dumps({"traceEvents": [event], **({"host_name": host} if host else {})}))
                result = report(name)
                self.assertEqual(result["run"]["nodes"], nodes)
                self.assertEqual([r["host"] for r in result["ranks"]], hosts)

    def test_captures_of_other_lengths_are_named(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            for rank in range(3):
                steps = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{k}", "pid": 1, "tid": 1, "ts": 100 * k, "dur": 99} for k in range(5 - (rank == 1))]
                (pathlib.Path(name) / f"rank{rank}.json").write_text(json.dumps({"traceEvents": steps}))
            self.assertEqual(report(name)["run"]["ranks_with_other_steps"], [1])

    def test_a_rank_without_steps_is_not_compared(self) -> None:
        """Its row is the whole capture: without a word it looks as the slowest by far."""
        for without, said in ((1, True), (None, False)):
            with self.subTest(without), tempfile.TemporaryDirectory() as name:
                for rank in range(2):
                    words = "x" if rank == without else "ProfilerStep#{}"
                    steps = [{"ph": "X", "cat": "user_annotation" if rank != without else "cpu_op", "name": words.format(k), "pid": 1, "tid": 1,
                              "ts": 100 * k, "dur": 99 - 9 * k * (rank == without)} for k in range(1 if rank == without else 5)]
                    (pathlib.Path(name) / f"rank{rank}.json").write_text(json.dumps({"traceEvents": steps}))
                status, out, err = run("report", name)
                self.assertEqual(status, 0, err)
                text = " ".join(out.decode().split())
                self.assertEqual("rank 1 has no steps: its row is the whole run, and compares with no step of the others" in text, said, text[:800])

    def test_real_ranks(self) -> None:
        folder = SHARED / "traces/kineto/astra-sim-megatron-tp8"
        if not folder.is_dir():
            skip_loudly("the eight real ranks of shared/traces/kineto/astra-sim-megatron-tp8 are not present")
            self.skipTest("no shared traces")
        result = report(folder)
        calls = [[(round(float(e["ts"]) * 1000), round(float(e["dur"]) * 1000)) for e in sorted(events(path), key=lambda e: float(e.get("ts", 0)))
                  if e.get("cat") == "kernel" and "nccl" in e["name"].lower()] for path in sorted(folder.glob("megatron_kineto_*.json.gz"))]
        self.assertEqual({len(c) for c in calls}, {84})
        self.assertEqual(met(result), {"matched": 84, "unmatched": 0})
        least = [min(c[k][1] for c in calls) for k in range(84)]
        last = [min(range(8), key=lambda r: calls[r][k][1]) for k in range(84)]
        for rank, mine in enumerate(calls):
            seen = result["ranks"][rank]["rendezvous"]
            self.assertEqual(seen["wait_ns"] + seen["transfer_ns"], sum(d for _, d in mine))
            self.assertEqual(seen["transfer_ns"], sum(least))
            self.assertEqual(seen["last"], last.count(rank))
            self.assertEqual(result["ranks"][rank]["gpu"]["comm_sum_ns"], sum(d for _, d in mine))
        self.assertEqual({s["rank"] for s in result["stragglers"][:2]}, {0, 6})
        self.assertGreater(sum(s["share_pct"] for s in result["stragglers"][:2]), 60)
        self.assertLess(result["clocks"]["residual_ns"], 50 * US)
        _, out, _ = run("report", folder)
        self.assertIn("84 collectives matched", out.decode())
        self.assertIn("for rank 0", " ".join(out.decode().split()))


if __name__ == "__main__":
    unittest.main()
