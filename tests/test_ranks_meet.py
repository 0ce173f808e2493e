# SPDX-License-Identifier: Apache-2.0
"""Which collectives of several ranks are one, by what evidence, and whether time in them is transfer or waiting."""
import copy
import json
import pathlib
import random
import tempfile
import unittest
from typing import Any, Callable

from tests.program import SHARED, report, run, skip_loudly
from tests.queued_ranks import Queued
from tests.test_joint import US, Job, price

GROUP = ("Process Group Name", "Process Group Ranks", "Seq", "Collective name", "dtype", "In msg nelems", "Out msg nelems", "Group size")


def write(job: Job, folder: pathlib.Path, change: Callable[[int, dict[str, Any]], None]) -> float:
    step, ranks = job.run()
    for rank, events in enumerate(ranks):
        for e in events:
            change(rank, e)
        (folder / f"rank{rank}.json").write_text(json.dumps({
            "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "host_name": "node0",
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": job.ranks}, "traceEvents": events}))
    return step


def forget(_: int, e: dict[str, Any]) -> None:
    for key in GROUP:
        e["args"].pop(key, None)


class Matching(unittest.TestCase):
    def test_without_groups_or_numbers_the_ends_are_the_evidence(self) -> None:
        job = Job(1, ranks=4)
        job.loader = [[c + (4000 * US if rank == 2 else 0) for rank, c in enumerate(row)] for row in job.loader]
        with tempfile.TemporaryDirectory() as name:
            write(job, pathlib.Path(name), forget)
            said = report(name)
            _, text, _ = run("report", name)
        self.assertEqual((said["collectives"]["matched"], said["collectives"]["matched_by_order"]), (40, 40))
        self.assertEqual((said["collectives"]["by_order_ends_ns"], said["collectives"]["rejected_by_order"]), (0, 0))
        self.assertEqual(said["findings"][0]["id"], "straggler")
        self.assertIn("by order alone (no process group recorded); their ends agree exactly", " ".join(text.decode().split()))

    def test_clocks_of_their_own_do_not_hide_that_ends_agree(self) -> None:
        job = Job(2, ranks=4)

        def change(rank: int, e: dict[str, Any]) -> None:
            forget(rank, e)
            e["ts"] += 7e6 * rank
        with tempfile.TemporaryDirectory() as name:
            write(job, pathlib.Path(name), change)
            self.assertEqual(report(name)["collectives"]["matched_by_order"], 40)

    def test_groups_that_have_nothing_to_do_with_each_other_are_not_matched(self) -> None:
        """Two jobs of two ranks that look alike: nobody waits for anybody of the other."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for half in range(2):
                r = random.Random(half)
                job = Job(3, ranks=2)
                job.compute = [[[int(c * r.uniform(0.7, 1.3)) for c in row] for row in step] for step in job.compute]
                write(job, folder, forget)
                for rank in range(2):
                    trace = json.loads((folder / f"rank{rank}.json").read_text())
                    trace["distributedInfo"] = {"backend": "nccl", "rank": rank + 2 * half, "world_size": 4}
                    (folder / f"half{half}.{rank}.json").write_text(json.dumps(trace))
                    (folder / f"rank{rank}.json").unlink()
            said = report(name)
            _, text, _ = run("report", name)
        self.assertEqual((said["collectives"]["matched"], said["collectives"]["rejected_by_order"]), (0, 40))
        self.assertEqual(said["stragglers"], [])
        self.assertNotIn("straggler", [f["id"] for f in said["findings"]])
        self.assertIn("40 collectives cannot be matched: no process group is recorded", " ".join(text.decode().split()))

    def test_sends_and_receives_below_an_all_to_all_are_one(self) -> None:
        """NCCL's kernel is named SendRecv; the operator that launched it is not."""
        job = Job(4, ranks=4)

        def change(rank: int, e: dict[str, Any]) -> None:
            forget(rank, e)
            if e["name"].startswith("nccl"):
                e["name"] = "ncclDevKernel_SendRecv(x)"

        def wrap(events: list[dict[str, Any]], operator: str) -> list[dict[str, Any]]:
            launched = {e["args"]["correlation"] for e in events if e["name"].startswith("nccl")}
            return events + [{"ph": "X", "cat": "cpu_op", "name": operator, "pid": 1, "tid": 1, "ts": e["ts"], "dur": e["dur"], "args": {}}
                             for e in events if e["cat"] == "cuda_runtime" and e["args"].get("correlation") in launched]
        for operator, matched in (("c10d::alltoall_base_", 40), ("c10d::alltoall_", 40), ("_c10d_functional::all_to_all_single", 40), ("c10d::send", 0)):
            with tempfile.TemporaryDirectory() as name:
                write(job, pathlib.Path(name), change)
                for path in pathlib.Path(name).iterdir():
                    trace = json.loads(path.read_text())
                    trace["traceEvents"] = wrap(trace["traceEvents"], operator)
                    path.write_text(json.dumps(trace))
                self.assertEqual(report(name)["collectives"]["matched"], matched, operator)

    def test_an_all_to_all_of_uneven_parts_without_numbers(self) -> None:
        job = Job(5, ranks=4)

        def change(rank: int, e: dict[str, Any]) -> None:
            if "Seq" in e["args"]:
                del e["args"]["Seq"]
                e["args"].update({"Collective name": "all_to_allv", "In msg nelems": 1000 + 17 * rank})
        with tempfile.TemporaryDirectory() as name:
            write(job, pathlib.Path(name), change)
            self.assertEqual(report(name)["collectives"]["matched"], 40)

    def test_eight_real_ranks(self) -> None:
        folder = SHARED / "traces/kineto/param-dlrm-8ranks"
        if not folder.exists():
            skip_loudly(f"no {folder}")
            self.skipTest("no shared traces")
        said = report(folder)
        self.assertEqual((said["collectives"]["matched"], said["collectives"]["matched_by_order"]), (8, 8))
        self.assertLess(said["collectives"]["by_order_ends_ns"], 7000)
        shares = {s["rank"]: s["share_pct"] for s in said["stragglers"]}
        self.assertEqual([round(shares[rank]) for rank in (7, 5, 4)], [76, 13, 11])
        lost = {s["rank"]: s["lost_ns_per_step"] for s in said["stragglers"]}
        self.assertAlmostEqual(sum(lost.values()) / 1e6 * 7 / 8, 5.85, delta=0.03)


class TwoRuns(unittest.TestCase):
    def test_two_runs_in_one_directory_are_not_laid_beside_each_other(self) -> None:
        """Both have a rank 0 and a rank 1; the second ran a day later."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for run_of_job in range(2):
                job = Job(run_of_job, ranks=2)
                job.write(folder)
                for rank in range(2):
                    trace = json.loads((folder / f"rank{rank}.json").read_text())
                    for e in trace["traceEvents"]:
                        e["ts"] += run_of_job * 86400e6
                    (folder / f"run{run_of_job}.rank{rank}.json").write_text(json.dumps(trace))
                    (folder / f"rank{rank}.json").unlink()
            said = report(name)
            _, text, _ = run("report", name)
            status, _, err = run("whatif", name, "-e", "straggler=0")
            one = report(folder / "run0.rank0.json", folder / "run0.rank1.json")
        self.assertTrue(said["run"]["mixes_runs"])
        self.assertEqual((said["collectives"], said["joint_replay"], said["stragglers"]), (None, None, []))
        self.assertNotIn("straggler", [f["id"] for f in said["findings"]])
        self.assertEqual(said["verdict"]["confidence"], "low")
        self.assertIn("rank 0 occurs more than once: several runs, or copies; name the files of one run", " ".join(text.decode().split()))
        self.assertEqual(status, 2)
        self.assertIn("pass the traces of one run", err)
        self.assertFalse(one["run"]["mixes_runs"])
        self.assertEqual(one["collectives"]["matched"], 40)


class Waiting(unittest.TestCase):
    def late(self, seed: int) -> tuple[Job, Job]:
        """All communication waits for one rank, and none of it is hidden."""
        job = Job(seed, ranks=4)
        job.transfer = [[20 * US] * job.layers for _ in range(job.steps)]
        cured = copy.deepcopy(job)
        for k in range(job.steps):
            job.compute[k][1] = [int(1.6 * c) for c in job.compute[k][1]]
        return job, cured

    def test_waiting_for_a_late_rank_is_no_matter_of_the_network(self) -> None:
        for seed in range(6):
            job, cured = self.late(seed)
            with tempfile.TemporaryDirectory() as name:
                step = job.write(pathlib.Path(name))
                said = report(name)
            gain = 100 * (1 - cured.run()[0] / step)
            self.assertEqual(said["findings"][0]["id"], "straggler")
            self.assertAlmostEqual(said["findings"][0]["gain_pct"], gain, delta=2)
            self.assertGreater(gain, 20)
            for found in [said["findings"]] + [r["findings"] for r in said["ranks"] if "findings" in r]:
                self.assertFalse({"exposed-communication", "poor-overlap", "comm-latency"} & {f["id"] for f in found}, (seed, found))

    def test_a_slow_network_is_still_found(self) -> None:
        """Nobody is late; of what the exposed communication costs no more is promised than instant collectives save."""
        job = Job(7, ranks=4)
        job.transfer = [[4 * t for t in row] for row in job.transfer]
        with tempfile.TemporaryDirectory() as name:
            job.write(pathlib.Path(name))
            said = report(name)
        first = said["findings"][0]
        self.assertIn(first["id"], ("exposed-communication", "poor-overlap", "comm-latency"))
        self.assertLessEqual(first["gain_pct"], price(said["joint_replay"], "network")["gain_pct"] + 0.01)
        self.assertFalse([line for line in first["evidence"] if "one rank" in line], first["evidence"])

    def test_one_rank_alone_cannot_tell(self) -> None:
        job, _ = self.late(3)
        with tempfile.TemporaryDirectory() as name:
            job.write(pathlib.Path(name))
            said = report(pathlib.Path(name) / "rank0.json")
        general = [f for f in said["findings"] if f["id"] in ("exposed-communication", "poor-overlap", "comm-latency")]
        self.assertTrue(general)
        for f in general:
            self.assertEqual((f["confidence"], f["gain_low_pct"]), ("low", 0))
            self.assertIn("one rank cannot tell", " ".join(f["evidence"]))

    def test_edits_together_are_never_slower_than_each(self) -> None:
        for seed in range(4):
            r = random.Random(seed)
            job = Job(seed, ranks=4)
            for k in range(job.steps):
                for rank in range(4):
                    job.loader[k][rank] += r.randint(0, 5000) * US
                    job.compute[k][rank] = [int(c * r.uniform(0.6, 1.4)) for c in job.compute[k][rank]]
            with tempfile.TemporaryDirectory() as name:
                job.write(pathlib.Path(name))
                status, out, err = run("whatif", name, "--json", "-e", "straggler=0", "-e", "hiccups=0", "-e", "balance=0")
            self.assertEqual(status, 0, err)
            said = json.loads(out)
            self.assertEqual(said["edits"][-1]["edit"], "together")
            self.assertGreaterEqual(said["edits"][-1]["gain_pct"], max(e["gain_pct"] for e in said["edits"]) - 0.01, (seed, said["edits"]))


class Links(unittest.TestCase):
    """64 MB that four H100 of one machine all-reduce, each other way: 450 GB/s per direction."""

    def ask(self, transfer_us: int, host: str = "node0", megabytes: int = 64, late_us: int = 0) -> tuple[Job, float, dict[str, Any]]:
        job = Job(6, ranks=4)
        job.elements = [megabytes * 250_000] * job.layers
        job.transfer = [[transfer_us * US] * job.layers for _ in range(job.steps)]
        for row in job.loader:
            row[2] += late_us * US
        with tempfile.TemporaryDirectory() as name:
            step = job.write(pathlib.Path(name))
            for rank, path in enumerate(sorted(pathlib.Path(name).iterdir())):
                trace = json.loads(path.read_text())
                trace["host_name"] = host + (str(rank) if host != "node0" else "")
                path.write_text(json.dumps(trace))
            return job, step, report(name)

    def test_links_far_below_what_the_machine_has(self) -> None:
        job, step, said = self.ask(8000)
        cured = copy.deepcopy(job)
        cured.transfer = [[405 * US] * job.layers for _ in range(job.steps)]   # 0.1 ms, and 96 MB at 70 % of 450 GB/s
        gain = 100 * (1 - cured.run()[0] / step)
        first = said["findings"][0]
        self.assertEqual(first["id"], "comm-bandwidth")
        self.assertAlmostEqual(first["gain_pct"], gain, delta=3)
        self.assertIn("a bus bandwidth of 12 GB/s", first["statement"])
        self.assertIn("at least 450 GB/s per direction (NVLink 4)", first["statement"])

    def test_what_is_no_slow_link(self) -> None:
        for what, arguments in (("as fast as it should be", {"transfer_us": 400}), ("over a network that nobody knows", {"transfer_us": 8000, "host": "n"}),
                                ("small", {"transfer_us": 8000, "megabytes": 1}), ("waiting", {"transfer_us": 400, "late_us": 20000})):
            said = self.ask(**arguments)[2]
            self.assertNotIn("comm-bandwidth", [f["id"] for f in said["findings"]], what)


class Pieces(unittest.TestCase):
    def test_many_small_pieces_are_not_made_smaller(self) -> None:
        """Twenty all-reduces of 40 kB in a step: whatever is said of communication, the fix is larger messages."""
        job = Job(8, ranks=2, layers=20)
        job.compute = [[[50 * US for _ in row] for row in step] for step in job.compute]
        job.elements = [10000] * 20
        job.transfer = [[150 * US] * 20 for _ in range(job.steps)]
        with tempfile.TemporaryDirectory() as name:
            job.write(pathlib.Path(name))
            said = report(name)
        found = [f for f in said["findings"] if f["id"] in ("exposed-communication", "poor-overlap", "comm-latency")]
        self.assertTrue(found)
        for f in found:
            self.assertIn("arger", f["fix"])
            self.assertNotIn("smaller buckets", f["fix"])


class FullQueue(unittest.TestCase):
    def test_a_slow_rank_behind_a_full_queue(self) -> None:
        """Most collectives of the capture were launched before it: they join the ranks all the same."""
        for queue, first, numbers, shared in ((120, 20, True, False), (400, 20, True, False), (64, 6, True, False), (30, 20, True, False), (120, 20, False, False),
                                              (120, 20, True, True), (200, 20, True, True)):
            job = Queued(queue=queue, first=first, numbers=numbers, slow=1, shared=shared)
            with tempfile.TemporaryDirectory() as name:
                step = job.write(pathlib.Path(name))
                said = report(name)
            job.slow = -1
            gain = 100 * (1 - job.run()[0] / step)
            joint, what = said["joint_replay"], (queue, first, numbers, shared)
            self.assertTrue(joint["is_trusted"], what)
            self.assertAlmostEqual(joint["measured_step_ns"] / step, 1, delta=0.01, msg=str(what))
            self.assertAlmostEqual(joint["replayed_step_ns"] / step, 1, delta=0.01, msg=str(what))
            self.assertGreater(joint["joined_pct"], 97, what)
            self.assertEqual(said["findings"][0]["id"], "straggler", what)
            self.assertAlmostEqual(said["findings"][0]["gain_pct"], gain, delta=1, msg=str(what))
            self.assertAlmostEqual(gain, 32, delta=1)

    def test_alike_ranks_behind_a_full_queue(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            Queued().write(pathlib.Path(name))
            said = report(name)
        self.assertNotIn("straggler", [f["id"] for f in said["findings"]])
        for p in said["joint_replay"]["what_if"]:
            if p["edit"] in ("straggler", "hiccups", "balance"):
                self.assertLess(p["gain_pct"], 1.5)


if __name__ == "__main__":
    unittest.main()
