# SPDX-License-Identifier: Apache-2.0
"""Ranks replayed together: what a job would gain if one of them were faster, against jobs that really are so.

The jobs are simulated here, on streams and events of their own; the truth is the same job with the cause taken out."""
import copy
import json
import pathlib
import random
import statistics
import tempfile
import unittest
from typing import Any

from tests.program import ROOT, SANITIZED, SHARED, report, run, skip_loudly

US = 1000
LAUNCH, LATENCY, EVENT = 5 * US, 3 * US, 1 * US


class Job:
    """Steps of a loader, `layers` kernels and as many all-reduces on a stream beside them, and an optimizer that waits for all.

    Costs are tables [step][rank][layer] in ns, so that a cause can be taken out of them.  With `pairs`, each second collective
    is of a group of two ranks."""

    def __init__(self, seed: int, ranks: int = 4, steps: int = 10, layers: int = 4, pairs: bool = False) -> None:
        r = random.Random(seed)
        self.ranks, self.steps, self.layers, self.pairs = ranks, steps, layers, pairs
        base = [r.randint(800, 3000) * US for _ in range(layers)]
        self.compute = [[[int(c * r.uniform(0.98, 1.02)) for c in base] for _ in range(ranks)] for _ in range(steps)]
        self.transfer = [[r.randint(100, 900) * US for _ in range(layers)] for _ in range(steps)]
        self.loader = [[r.randint(20, 60) * US for _ in range(ranks)] for _ in range(steps)]
        self.optimizer = 400 * US
        self.elements = [1000 * (layer + 1) for layer in range(layers)]

    def members(self, rank: int, layer: int) -> tuple[int, ...]:
        if self.pairs and layer % 2:
            return (rank // 2 * 2, rank // 2 * 2 + 1)
        return tuple(range(self.ranks))

    def run(self) -> tuple[float, list[list[dict[str, Any]]]]:
        """Mean length of the steps but the first, in ns; and the events of each rank."""
        now = [0] * self.ranks
        events: list[list[dict[str, Any]]] = [[] for _ in range(self.ranks)]
        ends = [[0] * self.ranks]
        correlation = 0

        def put(rank: int, cat: str, name: str, start: int, dur: int, tid: int, **args: Any) -> None:
            events[rank].append({"ph": "X", "cat": cat, "name": name, "pid": 0 if cat in ("kernel", "cuda_sync") else 1, "tid": tid,
                                 "ts": start / 1000, "dur": dur / 1000, "args": args})

        for k in range(self.steps):
            correlation = 1000 * (k + 1)
            begin = list(now)
            host = list(now)
            computed = [0] * self.ranks             # end of the last kernel, and of the last collective
            sent = [0] * self.ranks
            for rank in range(self.ranks):
                put(rank, "user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", host[rank], self.loader[k][rank], 1)
                host[rank] += self.loader[k][rank]
            for layer in range(self.layers):
                arrive = [0] * self.ranks
                for rank in range(self.ranks):
                    c = correlation + 10 * layer
                    put(rank, "cuda_runtime", "cudaLaunchKernel", host[rank], LAUNCH, 1, correlation=c)
                    start = max(host[rank] + LATENCY, computed[rank] + US)
                    computed[rank] = start + self.compute[k][rank][layer]
                    put(rank, "kernel", f"gemm{layer}", start, self.compute[k][rank][layer], 7, stream=7, device=0, context=1, correlation=c, grid=[100, 1, 1], block=[128, 1, 1])
                    put(rank, "cuda_runtime", "cudaEventRecord", host[rank] + LAUNCH, US, 1, correlation=c + 1)
                    put(rank, "cuda_runtime", "cudaStreamWaitEvent", host[rank] + LAUNCH + US, US, 1, correlation=c + 2)
                    put(rank, "cuda_sync", "Stream Wait Event", host[rank] + LAUNCH + US, US, 20, stream=20, device=0, context=1, correlation=c + 2,
                        wait_on_stream=7, wait_on_cuda_event_record_corr_id=c + 1, wait_on_cuda_event_id=layer)
                    put(rank, "cuda_runtime", "cudaLaunchKernel", host[rank] + LAUNCH + 2 * US, LAUNCH, 1, correlation=c + 3)
                    arrive[rank] = max(host[rank] + LAUNCH + 2 * US + LATENCY, sent[rank] + US, computed[rank] + EVENT)
                    host[rank] += 2 * LAUNCH + 2 * US
                for rank in range(self.ranks):
                    members = self.members(rank, layer)
                    sent[rank] = max(arrive[m] for m in members) + self.transfer[k][layer]
                    put(rank, "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", arrive[rank], sent[rank] - arrive[rank], 20, stream=20, device=0, context=1,
                        correlation=correlation + 10 * layer + 3, Seq=k * self.layers + layer, dtype="Float",
                        **{"Collective name": "allreduce", "In msg nelems": self.elements[layer], "Out msg nelems": self.elements[layer], "Group size": len(members),
                           "Process Group Name": "0" if len(members) == self.ranks else "1", "Process Group Ranks": str(list(members))})
            for rank in range(self.ranks):
                c = correlation + 900
                put(rank, "cuda_runtime", "cudaEventRecord", host[rank], US, 1, correlation=c)
                put(rank, "cuda_runtime", "cudaStreamWaitEvent", host[rank] + US, US, 1, correlation=c + 1)
                put(rank, "cuda_sync", "Stream Wait Event", host[rank] + US, US, 7, stream=7, device=0, context=1, correlation=c + 1,
                    wait_on_stream=20, wait_on_cuda_event_record_corr_id=c, wait_on_cuda_event_id=99)
                put(rank, "cuda_runtime", "cudaLaunchKernel", host[rank] + 2 * US, LAUNCH, 1, correlation=c + 2)
                start = max(host[rank] + 2 * US + LATENCY, computed[rank] + US, sent[rank] + EVENT)
                put(rank, "kernel", "adam", start, self.optimizer, 7, stream=7, device=0, context=1, correlation=c + 2, grid=[100, 1, 1], block=[128, 1, 1])
                host[rank] += 2 * US + LAUNCH
                done = start + self.optimizer + 4 * US
                put(rank, "cuda_runtime", "cudaDeviceSynchronize", host[rank], done - host[rank], 1, correlation=c + 3)
                put(rank, "user_annotation", f"ProfilerStep#{k}", begin[rank], done - begin[rank], 1)
                now[rank] = done
            ends.append(list(now))
        return statistics.mean((ends[-1][r] - ends[1][r]) / (self.steps - 1) for r in range(self.ranks)), events

    def write(self, folder: pathlib.Path) -> float:
        step, events = self.run()
        for rank, own in enumerate(events):
            (folder / f"rank{rank}.json").write_text(json.dumps({
                "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "host_name": "node0",
                "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": self.ranks}, "traceEvents": own}))
        return step


def ask(job: Job, *options: str) -> tuple[float, dict[str, Any]]:
    with tempfile.TemporaryDirectory() as name:
        step = job.write(pathlib.Path(name))
        return step, report(name, *options)


def price(joint: dict[str, Any], edit: str, rank: int | None = None) -> dict[str, Any]:
    return next(p for p in joint["what_if"] if p["edit"] == edit and (rank is None or p["rank"] == rank))


class Joint(unittest.TestCase):
    def check(self, truth: float, before: float, predicted: dict[str, Any], points: float, what: Any) -> float:
        gain = 100 * (1 - truth / before)
        self.assertLess(abs(predicted["gain_pct"] - gain), points, (what, gain, predicted))
        self.assertTrue(predicted["gain_low_pct"] - 0.5 <= gain <= predicted["gain_high_pct"] + 0.5, (what, gain, predicted))
        return abs(predicted["gain_pct"] - gain)

    def test_a_cause_of_all_ranks_is_taken_from_all(self) -> None:
        """Each loads for some milliseconds, now this one longer and now that one: alone, a rank that did not would wait for the others."""
        for seed in range(2 if SANITIZED else 8):
            r = random.Random(3000 + seed)
            job = Job(seed, ranks=r.choice((2, 4, 8)))
            cured = copy.deepcopy(job)
            for k in range(job.steps):
                for rank in range(job.ranks):
                    job.loader[k][rank] += r.randint(500, 4000) * US
            truth = cured.run()[0]
            step, said = ask(job)
            found = next(f for f in said["findings"] if f["id"] == "data-loading")
            self.assertLess(abs(found["gain_pct"] - 100 * (1 - truth / step)), 2, (seed, 100 * (1 - truth / step), found))
            self.assertIn(f"without it on {job.ranks} of {job.ranks} ranks", " ".join(found["evidence"]))
            self.assertIn(found["step_before_ns"], [round(rank["steps"]["mean_ns"]) for rank in said["ranks"]])

    def test_what_one_rank_alone_would_not_gain_is_no_finding(self) -> None:
        """The rank with the longest steps loads while it would wait for another one anyway."""
        job = Job(5, ranks=4)
        for k in range(job.steps):
            job.loader[k] = [2000 * US] * 4
            job.loader[k][3] = 50 * US
            job.compute[k][3] = [int(c * 2.5) for c in job.compute[k][3]]
        _, said = ask(job)
        self.assertEqual(said["findings"][0]["id"], "straggler")
        self.assertNotIn("data-loading", [f["id"] for f in said["findings"] if f["gain_pct"] is None or f["gain_pct"] > 1])

    def test_what_makes_one_rank_late_stands_behind_that_it_is_late(self) -> None:
        """With CPUs enough the loader's price is the surer one, and about the same time; of all ranks it is the loader."""
        for ranks in (4, 8):
            job, all_load = Job(2, ranks=ranks), Job(2, ranks=ranks)
            for k in range(job.steps):
                job.loader[k][2] += 5000 * US
                all_load.loader[k] = [t + 5000 * US for t in all_load.loader[k]]
            found = ask(job, "--cpus", "64")[1]["findings"]
            loader = next(f for f in found if f["id"] == "data-loading")
            self.assertEqual(found[0]["id"], "straggler", [(f["id"], f["gain_pct"]) for f in found])
            self.assertGreater(loader["gain_low_pct"], found[0]["gain_low_pct"])
            self.assertIn("of rank 2, not of most others: data loading on the critical path", found[0]["evidence"])
            found = ask(all_load, "--cpus", "64")[1]["findings"]
            self.assertEqual(found[0]["id"], "data-loading", [(f["id"], f["gain_pct"]) for f in found])

    def test_gaps_that_no_rank_shows_are_in_the_interval_of_all(self) -> None:
        """Kernels of 3 that all wait for their launches; with one of 60 now and then, those behind it show the device's gap of 1."""
        width = []
        for longest in (3, 60):
            job = Job(1, ranks=2, layers=40)
            for k in range(job.steps):
                job.transfer[k] = [5 * US] * job.layers
                job.loader[k] = [20 * US] * job.ranks
                job.compute[k] = [[(3 if i % 20 else longest) * US for i in range(job.layers)] for _ in range(job.ranks)]
            _, said = ask(job)
            found = next(f for f in said["findings"] if f["id"] == "launch-bound")
            self.assertIn("without it on 2 of 2 ranks", " ".join(found["evidence"]))
            self.assertEqual(said["ranks"][0]["replay"]["gap_ns"], 1000 if longest > 3 else 1500)
            width.append(found["gain_high_pct"] - found["gain_low_pct"])
        self.assertGreater(width[0], 3 * width[1])

    def test_a_late_rank_that_no_longer_is(self) -> None:
        errors = []
        for seed in range(4 if SANITIZED else 30):
            r = random.Random(1000 + seed)
            job = Job(seed, ranks=r.choice((2, 4, 8)), pairs=seed % 3 == 2)
            cured = copy.deepcopy(job)
            who, by_loader = r.randrange(job.ranks), r.random() < 0.5
            for k in range(job.steps):
                if by_loader:
                    job.loader[k][who] += r.randint(1000, 5000) * US
                else:
                    job.compute[k][who] = [int(c * 1.5) for c in job.compute[k][who]]
            truth = cured.run()[0]
            step, said = ask(job)
            joint = said["joint_replay"]
            self.assertTrue(joint["is_replayed"] and joint["is_trusted"], joint["why_not"])
            self.assertAlmostEqual(joint["replayed_step_ns"] / joint["measured_step_ns"], 1, delta=0.001)
            self.assertEqual((joint["ranks"], joint["parked"]), (job.ranks, []))
            errors.append(self.check(truth, step, price(joint, "straggler", who), 2.5, (seed, who, by_loader)))
            finding = next(f for f in said["findings"] if f["id"] == "straggler")
            self.assertIn(f"rank {who}", finding["statement"])
            first = joint["critical_path"][0]
            self.assertEqual((first["rank"], first["class"]) if not by_loader else first["rank"], (who, "compute") if not by_loader else first["rank"])
            self.assertAlmostEqual(sum(p["share_pct"] for p in joint["critical_path"]), 100, delta=3)
        self.assertLess(statistics.mean(errors), 1)

    def test_now_one_rank_is_late_and_now_another(self) -> None:
        errors = []
        for seed in range(4 if SANITIZED else 20):
            r = random.Random(2000 + seed)
            job = Job(seed, ranks=8, layers=6)
            cured = copy.deepcopy(job)
            for k in range(job.steps):
                for layer in range(job.layers):
                    job.compute[k][r.randrange(8)][layer] += r.randint(2000, 6000) * US
            truth = cured.run()[0]
            step, said = ask(job)
            joint = said["joint_replay"]
            errors.append(self.check(truth, step, price(joint, "hiccups"), 4, seed))
            for p in joint["what_if"]:
                if p["edit"] == "straggler":
                    self.assertLess(p["gain_pct"], price(joint, "hiccups")["gain_pct"] / 2)
            finding = next(f for f in said["findings"] if f["id"] == "straggler")
            self.assertIn("Different ranks are late at different times", finding["statement"])
        self.assertLess(statistics.mean(errors), 2)

    def test_now_one_of_two_is_late_and_now_the_other(self) -> None:
        """The pauses of both add up; a rank that matched the other would take over its pauses."""
        for seed in range(3 if SANITIZED else 8):
            r = random.Random(2500 + seed)
            job = Job(seed, ranks=2, layers=6)
            cured = copy.deepcopy(job)
            for k in range(job.steps):
                job.loader[k][r.randrange(2)] += 30000 * US
            truth = cured.run()[0]
            step, said = ask(job)
            self.assertGreaterEqual(price(said["joint_replay"], "hiccups")["gain_pct"], 100 * (1 - truth / step) - 8, seed)

    def test_work_that_is_shared_out_evenly(self) -> None:
        for seed in range(3 if SANITIZED else 10):
            job = Job(seed, ranks=4)
            for k in range(job.steps):
                for rank in range(4):
                    job.compute[k][rank] = [int(c * (0.7 + 0.2 * rank)) for c in job.compute[k][rank]]
            even = copy.deepcopy(job)
            for k in range(job.steps):
                for layer in range(job.layers):
                    mean = sum(job.compute[k][rank][layer] for rank in range(4)) // 4
                    for rank in range(4):
                        even.compute[k][rank][layer] = mean
            step, said = ask(job)
            self.check(even.run()[0], step, price(said["joint_replay"], "balance"), 2, seed)

    def test_a_network_that_costs_nothing(self) -> None:
        for seed in range(3 if SANITIZED else 10):
            job = Job(seed, ranks=4, pairs=seed % 2 == 1)
            job.transfer = [[4 * t for t in job.transfer[0]] for _ in range(job.steps)]
            free = copy.deepcopy(job)
            free.transfer = [[0] * job.layers for _ in range(job.steps)]
            step, said = ask(job)
            self.check(free.run()[0], step, price(said["joint_replay"], "network"), 2, seed)

    def test_a_faster_network(self) -> None:
        """Latency and bandwidth are told apart by the sizes: links twice as fast leave the one, half of the latency the other."""
        def network(job: Job, alpha: int, ns_per_element: float) -> Job:
            job.transfer = [[alpha + int(e * ns_per_element) for e in job.elements] for _ in range(job.steps)]
            return job

        for seed in range(2 if SANITIZED else 8):
            r = random.Random(4000 + seed)
            alpha, each = r.randint(300, 1500) * US, r.uniform(0.5, 2)
            job = Job(seed, ranks=4, layers=5)
            job.compute = [[[c // 4 for c in row] for row in step] for step in job.compute]
            job.elements = [r.randint(10_000, 40_000) * 4 ** layer for layer in range(5)]
            with tempfile.TemporaryDirectory() as name:
                step = network(job, alpha, each).write(pathlib.Path(name))
                status, out, err = run("whatif", name, "--json", "-e", "bandwidthx2", "-e", "latency/2", "-e", "bucket=0")
                self.assertEqual(status, 0, err)
                wide, quick, bucket = json.loads(out)["edits"][:3]
            self.check(network(copy.deepcopy(job), alpha, each / 2).run()[0], step, wide, 2.5, ("bandwidth", seed))
            self.check(network(copy.deepcopy(job), alpha // 2, each).run()[0], step, quick, 2.5, ("latency", seed))
            one = network(copy.deepcopy(job), alpha, each)
            for row in one.transfer:                    # the last one carries all; the others go at once
                row[-1], row[:-1] = sum(row) - (len(row) - 1) * alpha, [0] * (len(row) - 1)
            self.check(one.run()[0], step, bucket, 2.5, ("bucket", seed))

    def test_ranks_that_enter_two_groups_in_different_orders_hang(self) -> None:
        """On one stream each; the trace says that they met, so it is the matching that cannot be: it is told, not replayed."""
        joint = self.two_groups(streams=1)
        self.assertFalse(joint["is_replayed"])
        self.assertIn("different orders", joint["why_not"])
        self.assertEqual({p["waits"] for p in joint["parked"]} | {p["missing"] for p in joint["parked"]}, {0, 1})

    def test_different_orders_on_streams_of_their_own_do_not(self) -> None:
        """Both are right: nothing on a stream waits for the other."""
        joint = self.two_groups(streams=2)
        self.assertTrue(joint["is_replayed"], joint["why_not"])
        self.assertGreaterEqual(joint["collectives"], 12)

    def two_groups(self, streams: int) -> dict[str, Any]:
        """Two ranks reduce over group a and group b in each step; the one a first, the other b first."""
        with tempfile.TemporaryDirectory() as name:
            for rank in range(2):
                events = []
                for k in range(8):
                    at = 1000 * k
                    for place in range(2):
                        which, c = place ^ rank, 10 * k + place + 1
                        start, stream = (at + 100 + 200 * place, 7) if streams == 1 else (at + 10 * place + 5, 20 + which)
                        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 10 * place, "dur": 5, "args": {"correlation": c}})
                        events.append({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "pid": 0, "tid": stream, "ts": start, "dur": 150,
                                       "args": {"stream": stream, "device": 0, "context": 1, "correlation": c, "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 64,
                                                "Out msg nelems": 64, "Group size": 2, "Process Group Name": "ab"[which], "Process Group Ranks": "[0, 1]", "Seq": k}})
                    events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{k}", "pid": 1, "tid": 1, "ts": at, "dur": 1000, "args": {}})
                (pathlib.Path(name) / f"rank{rank}.json").write_text(json.dumps(
                    {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2}, "traceEvents": events}))
            return report(name)["joint_replay"]

    def test_calls_that_do_not_fit_each_other_are_told(self) -> None:
        """Rank 1 reduces half as much in the fifth all-reduce, and gathers in the sixth."""
        with tempfile.TemporaryDirectory() as name:
            for rank in range(2):
                events = []
                for k in range(8):
                    wrong = rank == 1 and k in (5, 6)
                    what, size = ("_allgather_base" if wrong and k == 6 else "allreduce"), 64 // (2 if wrong and k == 5 else 1)
                    events.append({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "pid": 0, "tid": 7, "ts": 1000 * (k + 1), "dur": 150,
                                   "args": {"stream": 7, "device": 0, "context": 1, "Collective name": what, "dtype": "Float", "In msg nelems": size, "Out msg nelems": size,
                                            "Group size": 2, "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Seq": k}})
                (pathlib.Path(name) / f"rank{rank}.json").write_text(json.dumps(
                    {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2}, "traceEvents": events}))
            said = report(name)["collectives"]
            _, text, _ = run("report", name)
        self.assertEqual((said["matched"], said["mismatched"]), (8, 2))
        self.assertEqual(said["first_mismatch"], {"sequence": 5, "calls": [{"rank": 0, "name": "allreduce", "bytes": 256}, {"rank": 1, "name": "allreduce", "bytes": 128}]})
        self.assertIn("ranks call different collectives under one sequence number, 2 times", " ".join(text.decode().split()))

    def test_of_very_many_ranks_some_are_chosen(self) -> None:
        """Sixteen of forty; the late one is among them."""
        job = Job(9, ranks=40, steps=5)
        cured = copy.deepcopy(job)
        for k in range(job.steps):
            job.compute[k][37] = [int(1.4 * c) for c in job.compute[k][37]]
        truth = cured.run()[0]
        with tempfile.TemporaryDirectory() as name:
            step = job.write(pathlib.Path(name))
            said = report(name)
            _, text, _ = run("report", name)
            status, _, err = run("whatif", name, "-e", "straggler=0")
        joint = said["joint_replay"]
        self.assertEqual((joint["ranks"], joint["is_trusted"]), (16, True))
        self.check(truth, step, price(joint, "straggler", 37), 2.5, "forty ranks")
        self.assertIn("16 of the ranks take", " ".join(text.decode().split()))
        self.assertEqual(status, 2)
        self.assertIn("40 traces are too many", err)

    def test_edits_of_each_rank_are_priced_for_all(self) -> None:
        """A loader that costs nothing, kernels twice as fast: on all ranks at once, with what the others then wait."""
        for seed in range(2 if SANITIZED else 8):
            r = random.Random(3000 + seed)
            job = Job(seed, ranks=4)
            loads, halves = [r.randint(500, 3000) * US for _ in range(4)], copy.deepcopy(job)
            job.loader = halves.loader = [list(loads) for _ in range(job.steps)]
            no_loads = copy.deepcopy(job)
            no_loads.loader = [[0] * 4 for _ in range(job.steps)]
            halves.compute = [[[c // 2 for c in row] for row in step] for step in job.compute]
            with tempfile.TemporaryDirectory() as name:
                step = job.write(pathlib.Path(name))
                status, out, err = run("whatif", name, "--json", "-e", "data=0", "-e", "kernel:gemm*x2", "-e", "straggler=0")
                self.assertEqual(status, 0, err)
                said = json.loads(out)
                _, text, _ = run("whatif", name, "-e", "data=0")
            self.assertEqual(said["ranks"], 4)
            self.assertIn("mean of 4 ranks", text.decode())
            data, kernels, straggler = said["edits"][:3]
            self.check(no_loads.run()[0], step, data, 1.5, ("data", seed))
            self.check(halves.run()[0], step, kernels, 1.5, ("kernels", seed))
            self.assertEqual(straggler["edit"], f"straggler:{loads.index(max(loads))}")
            self.assertIsNone(data["is_feasible"])

    def test_ranks_without_numbers_are_called_by_their_place(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            job = Job(2, ranks=2)
            for k in range(job.steps):
                job.loader[k][1] += 3000 * US
            job.write(folder)
            for rank, other in enumerate(("alpha", "beta")):
                trace = json.loads((folder / f"rank{rank}.json").read_text())
                del trace["distributedInfo"]
                (folder / f"{other}.json").write_text(json.dumps(trace))
                (folder / f"rank{rank}.json").unlink()
            status, out, err = run("whatif", name, "--json", "-e", "straggler=0", "-e", "straggler:1")
            self.assertEqual(status, 0, err)
        first, second = json.loads(out)["edits"][:2]
        self.assertEqual((first["edit"], first["gain_pct"]), ("straggler:1", second["gain_pct"]))

    def test_whatif_that_cannot_be(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            Job(1, ranks=2).write(pathlib.Path(name))
            for edit, words in (("straggler:7", "no trace of rank 7"), ("straggler:x", "straggler:5, or straggler=0"), ("balance:3", "balance=0")):
                status, out, err = run("whatif", name, "-e", edit)
                self.assertEqual((status != 0, out), (True, b""))
                self.assertIn(words, err)
            status, out, err = run("whatif", pathlib.Path(name) / "rank0.json", "-e", "hiccups=0")
            self.assertEqual(status, 0)
            self.assertIn("pass the traces of all ranks", err)

    def test_a_recorded_pair(self) -> None:
        """Two gloo processes of which one slept; the achieved gain was measured without a profiler."""
        folder = ROOT / "tests/data/pairs"
        truth = json.loads((folder / "truth.json").read_text())["pairs"]["straggler"]["truth"]
        joint = report(folder / "straggler")["joint_replay"]
        self.assertAlmostEqual(joint["replayed_step_ns"] / joint["measured_step_ns"], 1, delta=0.01)
        self.assertLess(abs(price(joint, "straggler", 1)["gain_pct"] - truth["pct"]), 10)

    def test_a_real_job(self) -> None:
        """Eight ranks of Megatron whose hosts stall, each at another time: no single one is to blame."""
        folder = SHARED / "traces/kineto/astra-sim-megatron-tp8"
        if not folder.exists():
            skip_loudly(f"no {folder}")
            self.skipTest("no shared traces")
        joint = report(folder)["joint_replay"]
        self.assertEqual((joint["ranks"], joint["collectives"]), (8, 84))
        self.assertAlmostEqual(joint["replayed_step_ns"] / joint["measured_step_ns"], 1, delta=0.005)
        self.assertGreater(price(joint, "hiccups")["gain_pct"], 40)
        for rank in (0, 6):
            self.assertLess(price(joint, "straggler", rank)["gain_pct"], 5)

    def test_a_price_above_the_time_that_is_named_says_why(self) -> None:
        folder = ROOT / "examples/training/traces/slow_loader"
        why = "The price is that of all ranks"
        alone, together = ({f["id"]: f for f in report(path)["findings"]}["copies-and-casts"] for path in (folder / "rank0.pt.trace.json.gz", folder))
        self.assertGreater(together["gain_pct"], alone["gain_pct"] + 1.5)
        self.assertEqual((why in alone["statement"], why in together["statement"]), (False, True))


if __name__ == "__main__":
    unittest.main()
