# SPDX-License-Identifier: Apache-2.0
"""Parallelism is told right for made jobs of every kind, is not claimed for decoys, and is what is known of real traces."""
import json
import pathlib
import subprocess
import tempfile
import unittest
from collections.abc import Callable

from tests import parallel_traces as make
from tests.program import ROOT, SANITIZED, SHARED, report, run, skip_loudly, torch_or_skip

SEEDS = range(2 if SANITIZED else 6)

# what a case builds: (trace, seed, are ranges of the library recorded, how the phases are marked) -> job
Builder = Callable[[make.Trace, int, bool, str], make.Job]


def group(name: str, size: int, stream: int, ranks: list[int] | None = None) -> make.Group:
    return make.Group(name, size, stream, ranks or list(range(size)))


def one(strategy: type, size: int, **options: object) -> Builder:
    def build(t: make.Trace, seed: int, named: bool, marked: str) -> make.Job:
        job = make.Job(t, seed, marked=marked)
        job.strategies = [strategy(t, job, group("1", size, 20), named, **options)]
        return job
    return build


def two(*parts: tuple[type, str, list[int], int, dict]) -> Builder:
    """Several strategies, each with a group of its own; the last hooks run last."""
    def build(t: make.Trace, seed: int, named: bool, marked: str) -> make.Job:
        job = make.Job(t, seed, marked=marked)
        job.strategies = [kind(t, job, group(name, len(ranks), stream, ranks), named, **options)
                          for kind, name, ranks, stream, options in parts]
        return job
    return build


def hsdp(t: make.Trace, seed: int, named: bool, marked: str) -> make.Job:
    job = make.Job(t, seed, marked=marked)
    job.strategies = [make.FullShard(t, job, group("1", 4, 20, [0, 1, 2, 3]), named, replicas=group("2", 2, 24, [0, 4]))]
    return job


def pipeline(stage: int, stages: int, *others: tuple[type, str, list[int], int, dict]) -> Builder:
    def build(t: make.Trace, seed: int, named: bool, marked: str) -> make.Job:
        job = two(*others)(t, seed, named, marked)
        ranks = [t.rank + (i - stage) for i in range(stages)]
        job.pipeline = make.Pipeline(t, group("9", stages, 28, ranks), stage, 4 + 2 * (seed % 3))
        return job
    return build


def accumulated(t: make.Trace, seed: int, named: bool, marked: str) -> make.Job:
    job = one(make.FullShard, 8)(t, seed, named, marked)
    job.microbatches = 3
    return job


# name: rank and world, builder, kinds in the summary with their sizes
CASES: dict[str, tuple[int, int, Builder, dict[str, int]]] = {
    "ddp": (0, 8, one(make.Ddp, 8), {"ddp": 8}),
    "ddp of Megatron": (0, 4, one(make.MegatronDdp, 4), {"ddp": 4}),
    "zero-1": (1, 8, one(make.Zero1, 8), {"zero-1": 8}),
    "zero-2": (1, 8, one(make.Zero2, 8), {"zero-2": 8}),
    "full shard": (3, 8, one(make.FullShard, 8), {"full-shard": 8}),
    "full shard, no prefetch": (3, 16, one(make.FullShard, 16, prefetch=False), {"full-shard": 16}),
    "full shard, micro-batches": (0, 8, accumulated, {"full-shard": 8}),
    "shard-grad-op": (3, 8, one(make.FullShard, 8, regather=False), {"shard-grad-op": 8}),
    "hsdp": (0, 8, hsdp, {"hsdp": 4, "hsdp-replicas": 2}),
    "tp": (0, 8, one(make.Tensor, 8), {"tp": 8}),
    "tp-sp": (2, 4, one(make.Tensor, 4, sequence=True), {"tp-sp": 4}),
    "ulysses": (0, 8, two((make.Ulysses, "5", list(range(8)), 20, {}), (make.Ddp, "0", list(range(8)), 21, {})),
                {"cp": 8, "ddp": 8}),
    "tp + ddp": (0, 8, two((make.Tensor, "1", [0, 1], 20, {}), (make.Ddp, "2", [0, 2, 4, 6], 21, {})), {"tp": 2, "ddp": 4}),
    "tp-sp + fsdp": (0, 8, two((make.FullShard, "2", [0, 4], 21, {}), (make.Tensor, "1", [0, 1, 2, 3], 20, {"sequence": True})),
                     {"tp-sp": 4, "full-shard": 2}),
    "ep + ddp": (0, 8, two((make.Experts, "4", [0, 1, 2, 3], 22, {}), (make.Ddp, "0", list(range(8)), 21, {})),
                 {"ep": 4, "ddp": 8}),
    "ring + ddp": (1, 8, two((make.RingAttention, "5", [0, 1, 2, 3], 23, {}), (make.Ddp, "0", list(range(8)), 21, {})),
                   {"cp": 4, "ddp": 8}),
    "ring of two + ddp": (1, 8, two((make.RingAttention, "5", [0, 1], 23, {}), (make.Ddp, "0", list(range(8)), 21, {})),
                          {"cp": 2, "ddp": 8}),
    "gathered context + ddp": (1, 8, two((make.GatherContext, "5", [0, 1], 23, {}), (make.Ddp, "0", list(range(8)), 21, {})),
                               {"cp": 2, "ddp": 8}),
    "pp, first": (0, 4, pipeline(0, 4), {"pp": 4}),
    "pp, middle": (5, 16, pipeline(1, 4), {"pp": 4}),
    "pp, last": (3, 4, pipeline(3, 4), {"pp": 4}),
    "ring + pp": (1, 16, pipeline(0, 2, (make.RingAttention, "5", [0, 1, 2, 3], 23, {}), (make.Ddp, "0", [0, 1, 2, 3], 21, {})),
                  {"cp": 4, "pp": 2, "ddp": 4}),
    "pp + ddp": (4, 8, pipeline(0, 4, (make.MegatronDdp, "2", [4, 12], 21, {})), {"pp": 4, "ddp": 2}),
    "tp + pp + ddp": (2, 8, pipeline(1, 2, (make.Tensor, "1", [2, 3], 20, {}), (make.MegatronDdp, "2", [2, 6], 21, {})),
                      {"tp": 2, "pp": 2, "ddp": 2}),
}
NEEDS_ARGUMENTS = {"gathered context + ddp"}       # without sizes the same calls are HSDP


def said(trace: make.Trace, *arguments: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        return report(trace.write(pathlib.Path(folder) / "t.json"), "-q", *arguments)


def mains(whole: dict) -> dict[str, int]:
    return {g["kind"]: g["group_size"] for g in whole["ranks"][0]["parallelism"]["groups"] if g["in_summary"]}


class Generated(unittest.TestCase):
    def check(self, name: str, seed: int, arguments: str, era: str, named: bool, marked: str, steps: bool = True) -> dict:
        rank, world, build, expected = CASES[name]
        trace = make.Trace(rank, world, arguments, era, steps)
        whole = said(build(trace, seed, named, marked).steps(3))
        found = mains(whole)
        with self.subTest(case=name, seed=seed, arguments=arguments, era=era, named=named, marked=marked, steps=steps):
            if arguments in ("kernel", "operator"):
                self.assertEqual(found, expected)
            else:
                self.assertEqual(set(found), set(expected))
                for kind, size in found.items():        # a size is right or absent
                    self.assertIn(size, (None, expected[kind]))
        return whole["ranks"][0]

    def test_arguments_recorded(self) -> None:
        """Every kind, several sizes, with ranges of libraries and without."""
        for name in CASES:
            for seed in SEEDS:
                self.check(name, seed, "kernel", "new", named=seed % 2 == 0, marked=("optimizer", "ranges", "nothing")[seed % 3])

    def test_arguments_on_operators_alone(self) -> None:
        for name in CASES:
            for seed in SEEDS[:2]:
                self.check(name, seed, "operator", ("old", "rccl")[seed % 2], named=seed % 2 == 1, marked="optimizer")

    def test_shapes_alone(self) -> None:
        for name in CASES:
            if not any(word in name for word in ("pp", "ring")):        # nothing says who sends to whom
                self.check(name, 1, "shapes", "old", named=False, marked="optimizer")

    def test_names_of_kernels_alone(self) -> None:
        for name in CASES:
            if not any(word in name for word in ("pp", "ring", "ep", "ulysses")) and name not in NEEDS_ARGUMENTS:
                self.check(name, 2, "names", "new", named=False, marked="optimizer")

    def test_coalesced_sends_and_receives(self) -> None:
        """Kernels of batch_isend_irecv say nothing; the operators before them say who sends to whom."""
        for name in CASES:
            if "pp" in name or "ring" in name:
                rank, world, build, expected = CASES[name]
                trace = make.Trace(rank, world)
                trace.coalesced = True
                with self.subTest(case=name):
                    self.assertEqual(mains(said(build(trace, 2, False, "optimizer").steps(2))), expected)

    def test_without_profiler_steps(self) -> None:
        for name in ("ddp", "full shard", "tp", "zero-1", "tp + ddp"):
            self.check(name, 3, "kernel", "new", named=False, marked="optimizer", steps=False)


def behind_a_full_queue(job: make.Job, first: int, share: float) -> make.Trace:
    """Of eight steps the host is some steps ahead of the device: the capture begins with step `first`, and of its kernels that
    `share` has no launch in it."""
    trace = job.steps(8)
    begins = sorted(e["ts"] for e in trace.events if str(e["name"]).startswith("ProfilerStep"))
    begin, end = begins[first], max(e["ts"] + e["dur"] for e in trace.events if e["cat"] != "kernel")
    lag = share * (end - begin)
    for e in trace.events:
        e["ts"] += lag if e["cat"] == "kernel" else 0
    trace.events = [e for e in trace.events if begin <= e["ts"] and e["ts"] + e["dur"] <= end + (lag if share < 0.5 else 0)]
    return trace


class FullQueue(unittest.TestCase):
    """A capture from the middle of a job whose device is behind: what the host does as a kernel runs is not what started it."""

    def test_kinds_are_those_of_whole_captures(self) -> None:
        for name in ("ddp", "full shard", "shard-grad-op", "zero-1", "zero-2", "tp", "tp-sp", "hsdp", "tp + ddp"):
            rank, world, build, expected = CASES[name]
            for share in (0.15, 0.35, 0.55, 0.7):
                with self.subTest(case=name, share=share):
                    found = said(behind_a_full_queue(build(make.Trace(rank, world), 2, False, "optimizer"), 2, share))
                    self.assertEqual(mains(found), expected)

    def test_nothing_is_known_of_what_was_launched_before(self) -> None:
        """Every collective was launched before the capture began; some later kernels were not."""
        rank, world, build, _ = CASES["ddp"]
        job = build(make.Trace(rank, world), 2, False, "optimizer")
        trace = job.steps(4)
        gone = {e["args"]["correlation"] for e in trace.events if e["cat"] == "kernel" and "nccl" in e["name"]}
        trace.events = [e for e in trace.events if e["cat"] == "kernel" or e["args"].get("correlation") not in gone]
        trace.events = [e for e in trace.events if not any(word in e["name"] for word in ("c10d::", "nccl:", "param_comms"))]
        p = said(trace)["ranks"][0]["parallelism"]
        self.assertEqual(p["summary"], "")
        self.assertIn("launched before the capture began", p["why_not"])


class Scheme(unittest.TestCase):
    """Degrees multiply to the ranks of the job, or divide them; else nothing is decided."""

    def claim(self, world: int, *parts: tuple[type, str, list[int], int, dict]) -> dict:
        return said(two(*parts)(make.Trace(0, world), 2, False, "optimizer").steps(2))["ranks"][0]["parallelism"]

    def test_two_schemes_of_all_ranks(self) -> None:
        for kind in (make.Zero2, make.Ddp, make.FullShard):
            p = self.claim(8, (make.Tensor, "1", list(range(8)), 20, {}), (kind, "2", list(range(8)), 21, {}))
            self.assertEqual((p["summary"], p["confidence"], [g for g in p["groups"] if g["in_summary"]]), ("", "low", []))
            self.assertRegex(p["why_not"], "^not decided: the calls look like TP 8 × .* 8, which does not fit 8 ranks$")

    def test_degrees_divide_the_ranks(self) -> None:
        p = self.claim(12, (make.Tensor, "1", [0, 1, 2, 3], 20, {}), (make.Ddp, "2", [0, 4, 8], 21, {}))
        self.assertEqual((p["summary"], p["degrees_product"]), ("TP 4 × DDP 3", 12))
        p = self.claim(10, (make.Tensor, "1", [0, 1, 2, 3], 20, {}), (make.Ddp, "2", [0, 4], 21, {}))
        self.assertEqual(p["summary"], "")
        p = self.claim(16, (make.Tensor, "1", [0, 1, 2, 3], 20, {}), (make.Ddp, "2", [0, 4], 21, {}))
        self.assertEqual((p["summary"], p["degrees_product"]), ("TP 4 × DDP 2", 8))
        self.assertIn("what the job's other ranks are for was not seen", [e["text"] for e in p["evidence"]])

    def test_ranks_of_a_sequence_reduce_gradients_too(self) -> None:
        p = self.claim(8, (make.RingAttention, "5", [0, 1, 2, 3], 23, {}), (make.Ddp, "0", list(range(8)), 21, {}))
        self.assertEqual((p["summary"], p["degrees_product"]), ("CP by a ring 4 × DDP 8", 8))

    def test_gathers_of_the_ranks_that_reduce_gradients(self) -> None:
        """Two groups of the same ranks: keys and values, or parameters beside others; the calls do not tell."""
        p = self.claim(8, (make.GatherContext, "5", list(range(8)), 23, {}), (make.Ddp, "0", list(range(8)), 21, {}))
        self.assertNotIn("CP", p["summary"])
        self.assertTrue(any(e["text"].startswith("not decided") for e in p["evidence"]))


class Details(unittest.TestCase):
    def rank(self, name: str, seed: int = 1, **options: object) -> tuple[dict, make.Job]:
        rank, world, build, _ = CASES[name]
        trace = make.Trace(rank, world, **options)
        job = build(trace, seed, True, "optimizer")
        return said(job.steps(3))["ranks"][0], job

    def test_buckets(self) -> None:
        rank, job = self.rank("ddp")
        p = rank["parallelism"]
        self.assertEqual(p["gradient_bytes"], 4 * job.parameters * job.layers)
        self.assertEqual(p["gradient_dtype"], "Float")
        self.assertEqual(p["bucket_order"], "reverse")
        self.assertGreater(p["buckets"], 1)
        self.assertGreater(p["buckets_during_backward_pct"], 50)
        self.assertLessEqual(p["first_bucket_bytes"], p["largest_bucket_bytes"])
        self.assertEqual(p["confidence"], "high")

    def test_one_bucket_behind_backward(self) -> None:
        p = self.rank("ddp of Megatron")[0]["parallelism"]
        self.assertEqual(p["buckets"], 1)
        self.assertEqual(p["buckets_during_backward_pct"], 0)

    def test_units_and_prefetch(self) -> None:
        rank, job = self.rank("full shard")
        p = rank["parallelism"]
        self.assertEqual(p["units"], job.layers)
        self.assertEqual(p["parameter_bytes"], job.parameters * job.layers * make.BYTES[job.dtype])
        self.assertEqual(p["summary"], "FSDP full shard over 8 ranks")
        self.assertGreater(p["prefetch_forward_pct"], 50)
        self.assertGreater(p["prefetch_backward_pct"], 50)
        without = self.rank("full shard, no prefetch")[0]["parallelism"]
        self.assertLess(without["prefetch_forward_pct"], 10)

    def test_units_of_micro_batches(self) -> None:
        rank, job = self.rank("full shard, micro-batches")
        self.assertEqual(rank["parallelism"]["forward_passes"], 3)
        self.assertEqual(rank["parallelism"]["units"], job.layers)

    def test_layers(self) -> None:
        for name, key in (("tp", "tensor_parallel_layers"), ("tp-sp", "tensor_parallel_layers"), ("ep + ddp", "expert_layers")):
            rank, job = self.rank(name)
            self.assertEqual(rank["parallelism"][key], job.layers, name)

    def test_pipeline(self) -> None:
        for name, stage in (("pp, first", "first"), ("pp, middle", "middle"), ("pp, last", "last")):
            rank, job = self.rank(name, seed=2)
            p = rank["parallelism"]
            m = job.pipeline.m
            self.assertEqual((p["pipeline_stages"], p["pipeline_stage"], p["microbatches"]), (4, stage, m))
            self.assertAlmostEqual(p["ideal_bubble_pct"], 100 * 3 / (m + 3), places=3)
        # the first stage waits for the last ones to come back, and for nothing before
        self.assertGreater(self.rank("pp, first", seed=2)[0]["parallelism"]["bubble_pct"], 10)

    def test_the_bubble_is_a_finding(self) -> None:
        """With what twice as many micro-batches are worth by the formula: half of what the schedule's p - 1 cost, and no more of it than that."""
        rank, world, build, _ = CASES["pp, first"]
        job = build(make.Trace(rank, world), 2, True, "optimizer")
        result = said(job.steps(3))
        p = result["ranks"][0]["parallelism"]
        finding = next(f for f in result["findings"] if f["id"] == "pipeline-bubble")
        bubble, m = p["bubble_pct"] / 100, p["microbatches"]
        schedule = 100 * (1 - bubble) * 3 / m
        self.assertAlmostEqual(finding["gain_pct"], schedule / 2, places=2)
        self.assertEqual((finding["confidence"], round(finding["gain_high_pct"], 2)), ("low", round(schedule, 2)))
        self.assertIn(f"4 stages and {m} micro-batches", finding["statement"])
        self.assertEqual(finding["evidence"], [])

    def test_more_bubble_than_the_schedule_costs_is_said(self) -> None:
        """The neighbour answers late: each backward begins a forward's time later than it could."""
        rank, world, build, _ = CASES["pp, first"]
        job = build(make.Trace(rank, world), 2, True, "optimizer")
        backward = job.pipeline.one_backward

        def late(job: make.Job, last: bool) -> None:
            job.pipeline.t.now = max(job.pipeline.t.now, job.pipeline.t.ends[make.COMPUTE]) + job.layers * job.work
            backward(job, last)

        job.pipeline.one_backward = late
        result = said(job.steps(3))
        p = result["ranks"][0]["parallelism"]
        self.assertGreater(p["bubble_pct"], 1.2 * p["ideal_bubble_pct"])
        finding = next(f for f in result["findings"] if f["id"] == "pipeline-bubble")
        self.assertRegex(finding["evidence"][0], "^more than the schedule's minimum")
        self.assertAlmostEqual(finding["gain_pct"], 100 * (1 - p["bubble_pct"] / 100) * 3 / p["microbatches"] / 2, places=2)

    def test_zero_is_only_consistent(self) -> None:
        p = self.rank("zero-1")[0]["parallelism"]
        self.assertEqual(p["summary"], "consistent with ZeRO-1 over 8 ranks")
        self.assertTrue(any("stage itself is not in the trace" in e["text"] for e in p["evidence"]))

    def test_names_of_groups_count(self) -> None:
        for description, confidence in (("mesh_tp", "high"), ("DATA_PARALLEL_GROUP", "low")):
            trace = make.Trace()
            job = make.Job(trace, 3)
            job.strategies = [make.Tensor(trace, job, make.Group("1", 8, 20, list(range(8)), description))]
            p = said(job.steps(2))["ranks"][0]["parallelism"]
            self.assertEqual((p["groups"][0]["kind"], p["confidence"]), ("tp", confidence))

    def test_phase_table(self) -> None:
        rank, job = self.rank("full shard")
        rows = {r["phase"]: r for r in rank["phases"]}
        self.assertEqual(list(rows), ["forward", "backward", "optimizer", "other"])
        n = job.parameters * job.layers * make.BYTES[job.dtype]
        self.assertEqual(rows["forward"]["comm_bytes"], n)
        self.assertEqual(rows["forward"]["reduce_scatter_ns"], 0)
        self.assertGreater(rows["forward"]["all_gather_ns"], 0)
        self.assertGreater(rows["backward"]["reduce_scatter_ns"], 0)
        self.assertEqual(rows["optimizer"]["compute_ns"], 30000)
        self.assertGreater(rows["backward"]["compute_ns"], rows["optimizer"]["compute_ns"])
        for row in rows.values():
            self.assertLessEqual(row["exposed_comm_ns"], sum(row[k] for k in row if k.endswith("_ns") and k.split("_ns")[0] in
                                                             ("all_gather", "reduce_scatter", "all_reduce", "other_comm")))

    def test_ranks_agree(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for rank in range(4):
                trace = make.Trace(rank, 4)
                job = make.Job(trace, 5)
                job.strategies = [make.Ddp(trace, job, group("0", 4, 20))] if rank != 2 else []
                job.steps(2).write(pathlib.Path(folder) / f"rank{rank}.json")
            whole = report(folder, "-q")["run"]["parallelism"]
            merged = report(folder, "-q", "--merge")["merged"]
        self.assertEqual((whole["summary"], whole["ranks_that_agree"], whole["ranks_that_say_nothing"]), ("DDP over 4 ranks", 3, 1))
        self.assertEqual(merged["parallelism"]["summary"], "DDP over 4 ranks")
        self.assertEqual(len(merged["phases"]), 4)

    def job_of(self, *ranks: tuple[tuple[type, str, list[int], int, dict], ...]) -> dict:
        """The report on a folder; each rank shows strategies of its own."""
        with tempfile.TemporaryDirectory() as folder:
            for rank, parts in enumerate(ranks):
                trace = make.Trace(rank, len(ranks))
                two(*parts)(trace, 5, False, "optimizer").steps(2).write(pathlib.Path(folder) / f"rank{rank}.json")
            self.page = run("report", folder, "-q")[1].decode()
            return report(folder, "-q")

    def test_one_job_has_one_answer(self) -> None:
        """Five ranks show ZeRO-2, three something else: these say nothing of their own, and the confidence is low."""
        zero = (make.Zero2, "1", list(range(8)), 20, {})
        others = [(make.Zero1, "1", list(range(8)), 20, {}), (make.Tensor, "1", list(range(8)), 20, {}), (make.Ddp, "1", list(range(8)), 20, {})]
        whole = self.job_of(*[(zero,)] * 5, *[(o,) for o in others])
        job = whole["run"]["parallelism"]
        self.assertEqual((job["summary"], job["confidence"], job["ranks_that_agree"], job["ranks_that_differ"]),
                         ("consistent with ZeRO-2 over 8 ranks", "low", 5, 3))
        self.assertEqual({r["parallelism"]["summary"] for r in whole["ranks"]}, {job["summary"], ""})
        for rank in whole["ranks"]:
            self.assertEqual(bool(rank["parallelism"]["why_not"]), rank["rank"] >= 5)
            if rank["rank"] >= 5:
                self.assertRegex(rank["parallelism"]["why_not"], "^not decided: this rank alone looks like .*, the job like consistent with ZeRO-2")
        self.assertIn("PARALLELISM    consistent with ZeRO-2 over 8 ranks (confidence: low)", self.page)

    def test_ranks_without_a_scheme_in_common(self) -> None:
        kinds = (make.Zero2, make.Tensor, make.Ddp, make.FullShard)
        whole = self.job_of(*[((k, "1", list(range(4)), 20, {}),) for k in kinds])
        job = whole["run"]["parallelism"]
        self.assertEqual((job["summary"], job["confidence"], job["groups"]), ("", "low", []))
        self.assertRegex(job["why_not"], "^not decided: ranks of one job look like ")
        self.assertEqual({r["parallelism"]["summary"] for r in whole["ranks"]}, {""})
        self.assertIn("PARALLELISM    not decided", self.page)

    def test_parts_of_a_scheme_are_no_contradiction(self) -> None:
        """Two ranks show both groups, two others one of them."""
        tensor, data = (make.Tensor, "1", [0, 1], 20, {}), (make.Ddp, "2", [0, 2], 21, {})
        whole = self.job_of((tensor, data), (tensor, data), (data,), (data,))
        job = whole["run"]["parallelism"]
        self.assertEqual((job["summary"], job["ranks_that_differ"], job["why_not"]), ("TP 2 × DDP 2", 0, ""))

    def test_text(self) -> None:
        trace = make.Trace(3, 8)
        job = one(make.FullShard, 8)(trace, 1, True, "optimizer")
        with tempfile.TemporaryDirectory() as folder:
            path = job.steps(2).write(pathlib.Path(folder) / "t.json")
            text = run("report", path, "-q")[1].decode()
            page = pathlib.Path(folder) / "p.html"
            self.assertEqual(run("report", path, "-q", "--html", page)[0], 0)
            self.assertIn("<dt>parallelism</dt><dd>FSDP full shard over 8 ranks</dd>", page.read_text())
            self.assertIn("Phases of a step", page.read_text())
        self.assertIn("PARALLELISM    FSDP full shard over 8 ranks (confidence: high)", text)
        self.assertIn(f"{job.layers} units", text)
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()))


class Decoys(unittest.TestCase):
    """What proves nothing is not claimed."""

    def claim(self, job: make.Job, steps: int = 2) -> dict:
        return said(job.steps(steps))["ranks"][0]["parallelism"]

    def job(self, *hooks: tuple[str, str, int], **options: object) -> make.Job:
        """A job that makes one call of a kind, in a hook, of so many elements."""
        trace = make.Trace(**options)
        job = make.Job(trace, 4)

        class Caller(make.Strategy):
            pass

        for hook, kind, n in hooks:
            def call(self: make.Strategy, *_: object, kind: str = kind, n: int = n) -> None:
                self.t.collective(kind, self.group, n, n, "Float")
            setattr(Caller, hook, call)
        job.strategies = [Caller(trace, job, group("0", 8, 20))]
        return job

    def test_no_communication(self) -> None:
        p = self.claim(self.job())
        self.assertEqual((p["summary"], p["groups"]), ("", []))
        self.assertIn("inconclusive", p["why_not"])

    def test_barrier(self) -> None:
        self.assertEqual(self.claim(self.job(("step_begins", "barrier", 1)))["summary"], "")

    def test_broadcast_of_parameters(self) -> None:
        self.assertEqual(self.claim(self.job(("step_begins", "broadcast", 1 << 24)))["summary"], "")

    def test_loss_is_averaged(self) -> None:
        for hook in ("backward_is_done", "after_optimizer", "step_begins"):
            self.assertEqual(self.claim(self.job((hook, "all_reduce", 1)))["summary"], "", hook)

    def test_batch_norm_beside_ddp(self) -> None:
        """SyncBatchNorm gathers statistics in forward and reduces theirs in backward."""
        trace = make.Trace()
        job = make.Job(trace, 4)
        g = group("0", 8, 20)

        class BatchNorm(make.Strategy):
            def before_forward(self, layer: int) -> None:
                self.t.collective("all_gather", self.group, 129, 8 * 129, "Float")

            def before_backward(self, layer: int) -> None:
                self.t.collective("all_reduce", self.group, 128, 128, "Float")

        job.strategies = [BatchNorm(trace, job, g), make.Ddp(trace, job, g)]
        self.assertEqual(self.claim(job)["summary"], "DDP over 8 ranks")

    def test_metrics_in_forward_beside_ddp(self) -> None:
        trace = make.Trace()
        job = make.Job(trace, 4)
        g = group("0", 8, 20)

        class Metrics(make.Strategy):
            def after_forward(self, layer: int) -> None:
                self.t.collective("all_reduce", self.group, 64, 64, "Float")

        job.strategies = [Metrics(trace, job, g), make.Ddp(trace, job, g)]
        self.assertEqual(self.claim(job)["summary"], "DDP over 8 ranks")

    def test_gradients_are_reduced_in_backward_alone(self) -> None:
        """Tensors of other sizes in both passes are neither those of split layers nor buckets."""
        job = self.job(("after_forward", "all_reduce", 1 << 20), ("after_backward", "all_reduce", 3 << 18))
        self.assertEqual(self.claim(job)["summary"], "")

    def test_one_reduction_in_forward_splits_no_layers(self) -> None:
        """Of the size of the buckets that follow, once a step."""
        class Once(make.MegatronDdp):
            def before_forward(self, layer: int) -> None:
                if layer == 0:
                    self.t.collective("all_reduce", self.group, 1 << 20, 1 << 20, "Float")

            def after_backward(self, layer: int) -> None:
                self.t.collective("all_reduce", self.group, 1 << 20, 1 << 20, "Float")

            def backward_is_done(self, last: bool) -> None:
                pass

        trace = make.Trace()
        job = make.Job(trace, 4)
        job.strategies = [Once(trace, job, group("0", 8, 20))]
        self.assertGreater(job.layers, 3)
        self.assertEqual(self.claim(job)["summary"], "DDP over 8 ranks")

    def test_inference(self) -> None:
        """Split tensors without a backward pass: said with little trust, and never as training."""
        trace = make.Trace(arguments="kernel")
        job = make.Job(trace, 4)
        job.strategies = [make.Tensor(trace, job, group("0", 8, 20))]
        job.backward = lambda last: None
        job.optimizer = lambda: None
        p = self.claim(job)
        self.assertFalse(p["is_training"])
        self.assertEqual((p["confidence"], p["summary"]), ("low", "TP without a backward pass over 8 ranks"))

    def test_one_all_reduce_without_backward(self) -> None:
        job = self.job(("after_optimizer", "all_reduce", 1 << 20))
        job.backward = lambda last: None
        job.optimizer = lambda: None
        self.assertEqual(self.claim(job)["summary"], "")

    def test_one_rank(self) -> None:
        trace = make.Trace(0, 1)
        job = make.Job(trace, 4)
        job.strategies = [make.Ddp(trace, job, group("0", 1, 20))]
        p = self.claim(job)
        self.assertEqual((p["summary"], p["why_not"]), ("", "its process groups have one rank"))

    def test_names_decide_what_all_to_alls_are_for(self) -> None:
        """Before attention in forward and in backward: heads, unless a name says experts; with tables of embeddings and no attention, those."""
        def kind(*names: str) -> str:
            job = CASES["ulysses"][2](make.Trace(0, 8), 1, False, "steps")
            for at, name in enumerate(names):
                job.t.slice("cpu_op", name, 10.0 + at, 1.0)
            return next(g["kind"] for g in said(job.steps(2))["ranks"][0]["parallelism"]["groups"] if "all-to-all" in g["pattern"])
        self.assertEqual(kind(), "cp")
        for name in ("dispatch(F)", "combine(B)", "void deep_ep::internode::dispatch<true>", "void ep::internode::combine<8>"):
            self.assertEqual(kind(name), "ep", name)
        job = self.job(("before_forward", "all_to_all", 1 << 20), ("before_backward", "all_to_all", 1 << 20))
        job.t.slice("cpu_op", "fbgemm::split_embedding_codegen_lookup_function", 10.0, 1.0)
        self.assertNotIn("EP", self.claim(job)["summary"])

    def test_one_process_shards_nothing(self) -> None:
        """All-reduces and broadcasts behind the optimizer, whose group is not recorded, in a world of one rank."""
        def summary(world: int) -> str:
            trace = make.Trace(0, world, arguments="none")
            job = make.Job(trace, 4)
            job.strategies = [make.Zero1(trace, job, group("0", 8, 20))]
            return self.claim(job)["summary"]
        self.assertIn("ZeRO", summary(8))
        self.assertEqual(summary(1), "")

    def test_all_to_all_in_one_direction(self) -> None:
        self.assertEqual(self.claim(self.job(("before_forward", "all_to_all", 1 << 20)))["summary"], "")


# what is known of real traces; "" is honest: nothing can be told
REAL = {
    "astra-sim-megatron-tp8/megatron_kineto_0.json.gz": ({"tp": 8}, False),         # an evaluation: 81 all-reduces, no backward
    "astra-sim-megatron-tp8/megatron_kineto_5.json.gz": ({"tp": 8}, False),
    "hta-nccl/nccl_data.json.gz": ({"ddp": 2}, True),
    "hta-cpu-only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz": ({"ddp": 300}, True),
    "hta-negq/rank0.json.gz": ({"sharded-embeddings": 8, "ddp": None}, True),       # TorchRec: rows within 8, DDP of the rest
    "hta-ns-resolution/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz": ({}, True),   # DDP of one rank
    "tl-b200/eager_trace.json.gz": ({}, False),                                     # vLLM: one all-gather of logits
    "tl-mi300-ddp/train_resnet18.json.gz": ({}, True),                              # one process, whatever its folder says
    "tl-sglang-decode/bs_32_rank0.json.gz": ({}, False),
    "tl-vllm-decode/graph_execution.json.gz": ({}, False),
    "hta-critical-path/alexnet__benchmark_result_2869224_1695835535_trace.json.gz": ({}, False),
    "kineto-tb-samples/resnet50_autograd_api_num_workers_4-worker0.pt.trace.json.gz": ({}, True),
    "tl-mi210-gpu-only/gpu_only_trace.json.gz": ({}, False),
    "zoology/trace.json.gz": ({}, False),
    "hta-trace-diff/test.json.gz": ({"sharded-embeddings": None, "ddp": None}, True),   # All2All_Pooled of fbgemm's tables
    "tl-mi300-resnet-ckpt/resnet_act_checkpoint.json.gz": ({"ddp": 8}, True),
} | {f"param-dlrm-8ranks/worker{r}_step_12.{at}.pt.trace.json.gz": ({"sharded-embeddings": None, "ddp": None}, True)
     for r, at in enumerate((1694128201545, 1694128201556, 1694128201554, 1694128201557, 1694128201547, 1694128201549,
                             1694128201553, 1694128201553))}


class Real(unittest.TestCase):
    def test_known_traces(self) -> None:
        folder = SHARED / "traces/kineto"
        if not folder.exists():
            skip_loudly("real traces of shared/traces/kineto are not present")
            self.skipTest("no real traces")
        for name, (expected, is_training) in REAL.items():
            with self.subTest(trace=name):
                whole = report(folder / name, "-q")
                self.assertEqual(mains(whole), expected)
                self.assertEqual(whole["ranks"][0]["parallelism"]["is_training"], is_training)

    def test_the_others_claim_nothing(self) -> None:
        """No other trace at hand is of a job whose ranks work together."""
        folder = SHARED / "traces/kineto"
        if not folder.exists():
            skip_loudly("real traces of shared/traces/kineto are not present")
            self.skipTest("no real traces")
        for path in sorted(folder.glob("*/*.json.gz")):
            name = str(path.relative_to(folder))
            if name in REAL or "megatron" in name or (SANITIZED and path.stat().st_size > 1e6):
                continue
            with self.subTest(trace=name):
                self.assertEqual(report(path, "-q")["ranks"][0]["parallelism"]["summary"], "")

    def test_ranks_of_one_job_agree(self) -> None:
        folder = SHARED / "traces/kineto/astra-sim-megatron-tp8"
        if not folder.exists() or SANITIZED:
            self.skipTest("no real traces, or too slow here")
        said_together = report(folder, "-q")["run"]["parallelism"]
        self.assertEqual(said_together["summary"], "TP without a backward pass over 8 ranks")
        self.assertEqual(said_together["ranks_that_agree"], 8)


class Recorded(unittest.TestCase):
    """PyTorch itself, two ranks over gloo on this machine's CPU."""

    def record(self, mode: str, *options: str) -> list[dict]:
        python = torch_or_skip(self)
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([python, str(ROOT / "tests/parallel_jobs.py"), mode, folder, *options], capture_output=True,
                                  timeout=300, check=False, text=True)
            if done.returncode != 0:
                skip_loudly(f"PyTorch could not run {mode}: {done.stderr.strip().splitlines()[-1:]}")
                self.skipTest("PyTorch could not run it")
            return [report(path, "-q")["ranks"][0] for path in sorted(pathlib.Path(folder).glob("rank*.json"))]

    def test_ddp(self) -> None:
        ranks = self.record("ddp", "shapes")
        self.assertEqual(len(ranks), 2)
        for rank in ranks:
            p = rank["parallelism"]
            self.assertEqual((p["summary"], p["confidence"], p["bucket_order"] in ("reverse", "")), ("DDP over 2 ranks", "high", True))
            self.assertEqual(p["gradient_bytes"], 12 * (256 * 256 + 256) * 4)
            self.assertGreaterEqual(p["buckets"], 2)
            self.assertGreater({r["phase"]: r for r in rank["phases"]}["backward"]["host_ns"], 0)

    def test_fsdp(self) -> None:
        for mode, expected in (("fsdp1", "FSDP full shard over 2 ranks"), ("fsdp2", "FSDP full shard over 2 ranks"),
                               ("fsdp2-kept", "FSDP SHARD_GRAD_OP over 2 ranks")):
            for rank in self.record(mode):
                self.assertEqual(rank["parallelism"]["summary"], expected)
                self.assertEqual(rank["parallelism"]["units"], 12)

    def test_zero_redundancy_optimizer(self) -> None:
        for rank in self.record("zero1"):
            self.assertEqual(rank["parallelism"]["summary"], "consistent with ZeRO-1 over 2 ranks")


if __name__ == "__main__":
    unittest.main()
