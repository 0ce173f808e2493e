# SPDX-License-Identifier: Apache-2.0
"""`holdup stragglers` beside jobs whose truth is known (tests/pipeline_job.py), and beside published answers for two real ones."""
import csv
import gzip
import io
import json
import random
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any, Callable

from tests.pipeline_job import COLUMNS, MERGED, Job, Op, Shape, plain_costs, text
from tests.program import SANITIZED, SHARED, python_with, run, skip_loudly

PUBLISHED = SHARED / "traces/straggler/bytedance"
PYARROW = "pyarrow==25.0.0"

SHAPES = {
    "pipeline": Shape(),
    "chunks": Shape(dp=3, pp=2, vpp=2, microbatches=4, overlaps=True),
    "chunks in buckets": Shape(dp=2, pp=4, vpp=2, microbatches=8, steps=2, overlaps=True, buckets=2),
    "three chunks and idle calls": Shape(dp=2, pp=3, vpp=3, microbatches=6, idle_calls=True),
    "the first receive is missing": Shape(dp=2, pp=2, vpp=2, idle_calls=True, drops_first_recv=True),
    "two devices exchange within a worker": Shape(dp=1, pp=2, microbatches=6, devices=2),
    "data parallel alone": Shape(dp=4, pp=1, devices=8),
    "pipeline alone": Shape(dp=1, pp=3, exchanges=False),
    "all forward first": Shape(gpipe=True),
    "one microbatch": Shape(dp=2, pp=2, microbatches=1),
    "as wide as a published job": Shape(dp=32, pp=2, microbatches=8, steps=2, overlaps=True, devices=2),
}


def ask(table: str, *arguments: Any, **options: Any) -> dict[str, Any]:
    status, out, err = run("stragglers", "-", "--json", *arguments, stdin=table.encode(), **options)
    assert status == 0, err
    return json.loads(out)


def slow(factor: float, *workers: tuple[int, int]) -> Callable[[Op], float]:
    return lambda op: factor if (op.dp, op.stage) in workers and op.kind.endswith("compute") else 1.0


def late(seed: int) -> Callable[[Op], int]:
    r = random.Random(seed)
    return lambda op: r.randrange(300_000)


def random_shape(seed: int) -> Shape:
    r = random.Random(seed)
    pp = r.randint(1, 5)
    vpp = r.choice([1, 1, 2, 3]) if pp > 1 else 1
    return Shape(dp=r.randint(1, 4), pp=pp, vpp=vpp, microbatches=pp * r.randint(1, 3) if vpp > 1 else r.randint(1, 9), steps=r.randint(1, 4),
                 overlaps=r.random() < 0.5, buckets=r.randint(1, 3), devices=r.randint(1, 8), gpipe=r.random() < 0.2,
                 idle_calls=r.random() < 0.4, drops_first_recv=r.random() < 0.5)


class Truth(unittest.TestCase):
    """Every step time that is printed is the one of the job itself, played with other costs."""

    def close(self, ours: float, theirs: float) -> None:
        self.assertLess(abs(ours - theirs), 3, (ours, theirs))           # ns: the mean of a kind is no whole number

    def compare(self, job: Job, answer: dict[str, Any]) -> None:
        shape = job.shape
        self.assertEqual(answer["job"]["steps_left_out"], [])
        self.assertEqual(answer["job"]["unpaired_transfers"], 0)
        self.assertEqual((answer["job"]["workers"], answer["job"]["model_chunks"]), (shape.dp * shape.pp, shape.pp * shape.vpp))
        self.assertLess(answer["step"]["replay_error_pct"], 1e-6)
        original, ideal = job.mean_step(job.cost), job.mean_step(job.ideal())
        self.close(answer["step"]["original_ns"], original)
        self.close(answer["step"]["ideal_ns"], ideal)
        self.assertAlmostEqual(answer["slowdown"], original / ideal, 7)
        for key, chosen in (("stages", lambda x: lambda op: op.stage == x["stage"]), ("dp_ranks", lambda x: lambda op: op.dp == x["dp_rank"]),
                            ("types", lambda x: lambda op: MERGED.get(op.kind, op.kind) == x["type"])):
            self.assertEqual([x["slowdown"] for x in answer[key]], sorted((x["slowdown"] for x in answer[key]), reverse=True))
            for x in answer[key][:6]:
                self.close(x["alone_ns"], job.alone(chosen(x)))
                self.close(x["fixed_ns"], job.fixed(chosen(x)))
                self.assertAlmostEqual(x["slowdown"], x["alone_ns"] / ideal, 6)
        of = [{x[k]: x["slowdown"] for x in answer[key]} for key, k in (("dp_ranks", "dp_rank"), ("stages", "stage"))]
        self.assertEqual(len(answer["workers"]), shape.dp * shape.pp)
        for x in answer["workers"]:
            self.assertAlmostEqual(x["slowdown"], min(of[0][x["dp_rank"]], of[1][x["stage"]]), 8)
            self.assertEqual(x["rank"], job.rank(x["dp_rank"], x["stage"]))
        for x in answer["workers"][:3]:
            self.close(x["fixed_ns"], job.fixed(lambda op, x=x: (op.dp, op.stage) == (x["dp_rank"], x["stage"])))
        worst = {(x["dp_rank"], x["stage"]) for x in answer["workers"][:answer["slowest_workers"]["count"]]}
        self.assertEqual(len(worst), -(-3 * shape.dp * shape.pp // 100))
        self.close(answer["slowest_workers"]["fixed_ns"], job.fixed(lambda op: (op.dp, op.stage) in worst))
        self.close(answer["lengths"]["fixed_ns"], job.mean_step(job.evened(lambda op: (op.dp, op.stage, op.chunk), True)))
        self.close(answer["stage_balance"]["fixed_ns"], job.mean_step(job.evened(lambda op: op.stage, False)))
        self.close(answer["last_stage"]["fixed_ns"], job.fixed(lambda op: op.stage == shape.pp - 1))

    def test_shapes(self) -> None:
        for name, shape in SHAPES.items():
            if SANITIZED and shape.dp > 8:
                continue
            with self.subTest(shape=name):
                job = Job(shape, plain_costs(1, 0.2, slow(1.6, (shape.dp - 1, 0))), late(1))
                self.compare(job, ask(text(job.rows())))

    def test_random_shapes(self) -> None:
        for seed in range(4 if SANITIZED else 16):
            shape = random_shape(seed)
            with self.subTest(seed=seed, shape=shape):
                job = Job(shape, plain_costs(seed, 0.4, slow(1.3, (0, shape.pp - 1))), late(seed))
                self.compare(job, ask(text(job.rows())))

    def test_launch_delays_are_told_from_work(self) -> None:
        """A host that is late by 5 ms with the first pass of a step is no straggler: the step without delays does not know it."""
        shape = Shape()
        delay = lambda op: 5_000_000 if (op.kind, op.stage, op.number) == ("forward-compute", 0, 0) else 0
        job = Job(shape, plain_costs(3), delay)
        answer = ask(text(job.rows()))
        self.close(answer["step"]["original_ns"], job.mean_step(job.cost))
        self.close(answer["step"]["measured_ns"] - answer["step"]["original_ns"], 5_000_000)
        self.assertEqual(answer["launch_types"][0]["type"], "first-op")
        self.assertAlmostEqual(answer["launch_types"][0]["launch_slowdown"], 1 + 5_000_000 / answer["step"]["original_ns"], 6)
        self.assertAlmostEqual(max(x["launch_slowdown"] for x in answer["launch_types"][1:]), 1, 8)
        self.assertNotIn("begin later", answer["summary"])
        job = Job(shape, plain_costs(3), lambda op: 40 * delay(op))
        self.assertIn("the delay of the first operation of a step", ask(text(job.rows()))["summary"])


class Blame(unittest.TestCase):
    """What was planted is named first."""

    def suspects(self, shape: Shape, cost: Callable[[Op], int]) -> list[dict[str, Any]]:
        return ask(text(Job(shape, cost).rows()))["suspects"]

    def test_nobody(self) -> None:
        self.assertEqual(self.suspects(Shape(), plain_costs(1, 0.001)), [])
        out = run("stragglers", "-", stdin=text(Job(Shape(), plain_costs(1, 0.001)).rows()).encode())[1].decode()
        self.assertIn("No straggler found", out.replace("\n", " "))

    def test_a_worker(self) -> None:
        found = self.suspects(Shape(dp=4), plain_costs(1, 0.01, slow(1.5, (2, 1))))[0]
        self.assertEqual((found["what"], found["dp_rank"], found["stage"], found["rank"]), ("worker", 2, 1, 6))
        self.assertGreater(found["explained_pct"], 80)

    def test_two_workers_that_hide_each_other(self) -> None:
        found = self.suspects(Shape(dp=8), plain_costs(1, 0.01, slow(1.5, (2, 1), (5, 1))))[0]
        self.assertEqual(found["what"], "workers")
        self.assertEqual({(w["dp_rank"], w["stage"]) for w in found["workers"]}, {(2, 1), (5, 1)})
        self.assertGreater(found["explained_pct"], 80)

    def test_a_stage(self) -> None:
        found = self.suspects(Shape(dp=4), plain_costs(1, 0.01, lambda op: 1.5 if op.stage == 3 and op.kind.endswith("compute") else 1))[0]
        self.assertEqual((found["what"], found["stage"]), ("stage", 3))

    def test_a_dp_rank(self) -> None:
        found = self.suspects(Shape(dp=4), plain_costs(1, 0.01, lambda op: 1.5 if op.dp == 3 and op.kind.endswith("compute") else 1))[0]
        self.assertEqual((found["what"], found["dp_rank"]), ("dp_rank", 3))

    def test_microbatches_of_different_length(self) -> None:
        def length(op: Op) -> float:
            r = random.Random(op.microbatch * 10_007 + op.dp * 101 + op.step)
            return 0.5 + 1.5 * r.random() if op.kind.endswith("compute") else 1
        answer = ask(text(Job(Shape(dp=8, pp=2, microbatches=8), plain_costs(1, 0.01, length)).rows()))
        self.assertEqual(answer["suspects"][0]["what"], "lengths")
        self.assertGreater(answer["lengths"]["correlation"], 0.99)
        self.assertGreater(answer["lengths"]["explained_pct"], 60)
        # a last stage that has more to do does not hide them: made ideal, it has no long microbatches either
        heavy = lambda op: length(op) * (1.25 if op.stage == 1 and op.kind.endswith("compute") else 1)
        found = self.suspects(Shape(dp=8, pp=2, microbatches=8), plain_costs(1, 0.01, heavy))
        self.assertEqual(found[0]["what"], "lengths")
        self.assertIn("stage", [x["what"] for x in found])

    def test_a_type_of_operation(self) -> None:
        r = random.Random(4)
        found = self.suspects(Shape(dp=4, steps=12), plain_costs(1, 0.01, lambda op: r.choice([1, 1, 1, 20]) if op.kind == "grads-reduce-scatter" else 1))
        self.assertEqual((found[0]["what"], found[0]["type"]), ("type", "grads-reduce-scatter"))


class Tables(unittest.TestCase):
    """The same operations, written in other ways; and tables that lack some."""
    job = Job(Shape(dp=2, pp=2, steps=6), plain_costs(2, 0.1, slow(1.4, (1, 1))))

    def test_ways_to_write_it(self) -> None:
        rows = self.job.rows()
        plain = text(rows)
        whole = ask(plain)
        mixed = rows[:]
        random.Random(1).shuffle(mixed)
        quoted = io.StringIO()
        csv.writer(quoted, quoting=csv.QUOTE_ALL).writerows(csv.reader(io.StringIO(plain)))
        ends = [{**r, "end_ts": r["start_ts"] + r["duration"]} for r in rows]
        with_end = "\n".join([plain.splitlines()[0].replace("duration", "end_ts")] + [
            line.rsplit(",", 5)[0] + f",{e['end_ts'] // 10**9}.{e['end_ts'] % 10**9:09d}," + line.split(",", 7)[7]
            for line, e in zip(plain.splitlines()[1:], ends)])
        for name, table, arguments in (("shuffled", text(mixed), ()), ("columns", text(rows, COLUMNS[::-1]), ()), ("tabs", text(rows, separator="\t"), ()),
                                       ("quoted", quoted.getvalue(), ()), ("milliseconds", text(rows, power=6), ("--unit", "ms")),
                                       ("nanoseconds", text(rows, power=0), ("--unit", "ns")), ("mark", "\ufeff" + plain, ()), ("end_ts", with_end, ()),
                                       ("more columns", "\n".join(f"{line},\"a, b\"" if i else line + ",note" for i, line in enumerate(plain.splitlines())), ())):
            with self.subTest(table=name):
                self.assertEqual(ask(table, *arguments), whole)
        bare = ask(text(rows, [c for c in COLUMNS if c not in ("rank", "seq_id", "gmc")]))
        self.assertEqual(bare["slowdown"], whole["slowdown"])
        self.assertIsNone(bare["workers"][0]["rank"])

    def test_files(self) -> None:
        rows = self.job.rows()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "all.csv.gz").write_bytes(gzip.compress(text(rows).encode()))
            parts = []
            for d, s in self.job.workers:
                parts.append(folder / f"{d}-{s}.csv")
                parts[-1].write_text(text([r for r in rows if (r["dp_rank"], r["stage"]) == (d, s)]))
            whole = run("stragglers", folder / "all.csv.gz", "--json")
            self.assertEqual(run("stragglers", *parts, "--json"), whole)
            self.assertEqual(whole[0], 0)
            self.assertEqual(run("stragglers", parts[0], parts[1], "-o", folder / "x", "--json")[0], 0)     # half of the job is a job
            self.assertEqual(json.loads((folder / "x").read_text())["job"]["workers"], 2)

    def test_threads_do_not_matter(self) -> None:
        table = text(self.job.rows())
        one, four = (run("stragglers", "-", "--json", "--per-step", stdin=table.encode(), env={"HOLDUP_THREADS": n}) for n in "14")
        self.assertEqual(one, four)

    def test_steps(self) -> None:
        rows = self.job.rows()
        answer = ask(text(rows), "--steps", "13..16", "--per-step")
        self.assertEqual([s["step"] for s in answer["steps"]], [13, 16])
        self.assertEqual(answer, ask(text([r for r in rows if r["step"] in (13, 16)]), "--per-step"))
        for s in answer["steps"]:
            self.assertAlmostEqual(s["slowdown"], s["original_ns"] / s["ideal_ns"], 6)
            self.assertEqual(set(s["stages"]), {"0", "1"})
            self.assertIn("forward-pp-comm", s["types"])
        for x in answer["stages"]:
            self.assertAlmostEqual(sum(s["stages"][str(x["stage"])] for s in answer["steps"]) / 2, x["slowdown"], 6)     # ideal steps are alike here

    def test_steps_of_different_size(self) -> None:
        """Some steps with fewer microbatches, as at the end of an epoch, are whole steps all the same."""
        small = Job(Shape(dp=2, pp=2, steps=2, microbatches=2), plain_costs(2, 0.1))
        rows = self.job.rows() + [{**r, "step": r["step"] + 1000} for r in small.rows()]
        answer = ask(text(rows))
        self.assertEqual((answer["job"]["steps"], answer["job"]["steps_left_out"]), (8, []))
        self.close_to_measured(answer)

    def close_to_measured(self, answer: dict[str, Any]) -> None:
        for s in answer["steps"]:
            self.assertAlmostEqual(s["measured_ns"] / s["original_ns"], 1, 6)

    def test_rows_are_missing(self) -> None:
        rows = self.job.rows()
        whole = ask(text(rows))

        def without(kind: str, step: int, dp: int, stage: int, number: int = 0) -> dict[str, Any]:
            left = [r for r in rows if (r["optype"], r["step"], r["dp_rank"], r["stage"], r["seq_id"]) != (kind, step, dp, stage, number)]
            self.assertEqual(len(left), len(rows) - 1)
            return ask(text(left))
        for kind, why in (("forward-compute", "forward"), ("backward-compute", "backward"), ("optimizer", "optimizer"),
                          ("grads-reduce-scatter", "grads-reduce-scatter"), ("optimizer-clip-main-grad", "optimizer-clip")):
            with self.subTest(kind=kind):
                answer = without(kind, 13, 1, 0)
                self.assertEqual([s["step"] for s in answer["job"]["steps_left_out"]], [13])
                self.assertIn(why, answer["job"]["steps_left_out"][0]["why"])
                self.assertAlmostEqual(answer["slowdown"], whole["slowdown"], delta=0.01)
        for kind, stage, number in (("forward-send", 0, 2), ("forward-recv", 1, 1), ("backward-send", 1, 0), ("backward-recv", 0, 3), ("gc", 0, 0)):
            with self.subTest(kind=kind):
                answer = without(kind, 13, 1, stage, number)
                self.assertEqual(answer["job"]["steps_left_out"], [])
                self.assertEqual(answer["job"]["unpaired_transfers"], 0 if kind == "gc" else 1)
                self.assertAlmostEqual(answer["slowdown"], whole["slowdown"], delta=0.002)
        absent = ask(text([r for r in rows if (r["step"], r["dp_rank"], r["stage"]) != (16, 0, 1)]))
        self.assertEqual(absent["job"]["steps_left_out"], [{"step": 16, "why": "3 of 4 workers have rows"}])
        twice = ask(text(rows + [r for r in rows if r["step"] == 19]))
        self.assertIn("duplicated", twice["job"]["steps_left_out"][0]["why"])

    def test_clocks_that_disagree(self) -> None:
        """Stamps of workers that are off by up to a millisecond move the answer by less than a hundredth."""
        r = random.Random(3)
        skew = {worker: r.randrange(-1_000_000, 1_000_000) for worker in self.job.workers}
        rows = [{**x, "start_ts": x["start_ts"] + skew[x["dp_rank"], x["stage"]]} for x in self.job.rows()]
        answer, truth = ask(text(rows)), ask(text(self.job.rows()))
        self.assertAlmostEqual(answer["slowdown"] / truth["slowdown"], 1, delta=0.01)
        self.assertEqual(answer["suspects"][0]["what"], truth["suspects"][0]["what"])

    def test_what_is_said(self) -> None:
        rows = self.job.rows()
        unknown = [{**rows[0], "optype": "tea-\033[31mbreak"}]
        missing = [r for r in rows if (r["optype"], r["step"], r["number"] if "number" in r else r["seq_id"]) != ("forward-compute", 10, 1)]
        status, out, err = run("stragglers", "-", "-n", 3, stdin=(text(missing + unknown) + "1,1,").encode())
        page = out.decode()
        self.assertEqual(status, 0, err)
        self.assertIn("cut", err)
        for words in ("4 workers (2 dp ranks × 2 stages) · 5 steps", "step 10 is excluded", "unknown kinds", "1 more (--top 4 shows all)",
                      "docs/stragglers.md", "the table is cut"):
            self.assertIn(words, page)
        self.assertNotIn("\033", page)
        self.assertLessEqual(max(len(line) for line in page.splitlines()), 80)
        for table, status, words in ((text(rows[:5]), 3, "no step is complete"), ("a,b\n", 3, "no column dp_rank"), ("", 3, "is empty"),
                                     (text(rows) + "1,2\n1,2\n", 3, f"line {len(rows) + 2}: fewer fields")):
            got, out, err = run("stragglers", "-", stdin=table.encode())
            self.assertEqual((got, out), (status, b""), err)
            self.assertIn(words, err)
        for arguments, words in (([], "needs a table"), (["-", "--per-step"], "--per-step needs --json"), (["-", "--steps", "1..2"], "has steps 10..25"),
                                 (["-", "--limit", "events=5"], "--limit events=N"), (["-", "--unit", "h"], "ms")):
            got, out, err = run("stragglers", *arguments, stdin=text(rows).encode())
            self.assertIn(got, (2, 3), err)
            self.assertIn(words, err)


def pyarrow_python() -> str | None:
    return python_with(PYARROW, "HOLDUP_PYARROW_PYTHON", "venv-pyarrow", "read the published jobs")


CONVERT = """import sys, pyarrow as a, pyarrow.parquet as p, pyarrow.csv as c
t = p.read_table(sys.argv[1])
i = t.schema.get_field_index("optype")
c.write_csv(t.set_column(i, "optype", t["optype"].cast(a.string())), sys.argv[2])"""


class Published(unittest.TestCase):
    """Beside the answers that the authors of the method published with their jobs (docs/stragglers.md)."""

    @classmethod
    def setUpClass(cls) -> None:
        traces = sorted(PUBLISHED.glob("trace-*.parquet"))
        if not traces:
            skip_loudly("jobs of shared/traces/straggler are not present")
            raise unittest.SkipTest("no published jobs")
        python = pyarrow_python()
        if not python:
            raise unittest.SkipTest("no pyarrow")
        cls.jobs = {}
        with tempfile.TemporaryDirectory() as folder:
            for trace in traces:
                name = trace.stem.removeprefix("trace-")
                table = Path(folder) / f"{name}.csv"
                subprocess.run([python, "-c", CONVERT, trace, table], check=True, timeout=300)
                status, out, err = run("stragglers", table, "--json", "--per-step", timeout=300)
                assert status == 0, err
                cls.jobs[name] = json.loads(out), *(json.loads((PUBLISHED / f"{kind}-{name}.json").read_text()) for kind in ("result", "mw", "ms"))

    def each(self):
        for name, (ours, theirs, mw, ms) in self.jobs.items():
            with self.subTest(job=name):
                yield ours, theirs, mw, ms

    def test_slowdowns(self) -> None:
        for ours, theirs, _, _ in self.each():
            self.assertAlmostEqual(ours["slowdown"] / theirs["blocking_slowdown"], 1, delta=1e-6)
            self.assertAlmostEqual(ours["launch_slowdown"] / theirs["launch_slowdown"], 1, delta=1e-6)
            self.assertEqual(ours["job"]["steps_left_out"], [])
            self.assertEqual(ours["job"]["unpaired_transfers"], 0)
            self.assertLess(ours["step"]["replay_error_pct"], 0.1)

    def test_steps(self) -> None:
        for ours, theirs, _, _ in self.each():
            self.assertEqual({str(s["step"]) for s in ours["steps"]}, set(theirs["step_t_base"]))
            for s in ours["steps"]:
                for key, of in (("measured_ns", "step_t_base"), ("original_ns", "step_t_nodelay"), ("ideal_ns", "step_t_noblk")):
                    self.assertAlmostEqual(s[key] / 1e9 / theirs[of][str(s["step"])], 1, delta=1e-6)

    def test_parts_in_value_and_order(self) -> None:
        for ours, theirs, _, _ in self.each():
            for key, name, of in (("dp_ranks", "dp_rank", "dp_rank"), ("stages", "stage", "stage"), ("types", "type", "optype")):
                expected = theirs[f"blocking_decompose_by_{of}"]
                self.assertEqual([str(x[name]) for x in ours[key]], list(expected))          # as published: the largest first
                for x in ours[key]:
                    self.assertAlmostEqual(x["slowdown"], expected[str(x[name])], delta=1e-6)
                per_step = theirs[f"blocking_decompose_by_{of}_per_step"]
                for s in ours["steps"]:
                    for part, value in s[key].items():
                        self.assertAlmostEqual(value, per_step[str(s["step"])][part], delta=2e-6)

    def test_workers_in_order(self) -> None:
        for ours, theirs, _, _ in self.each():
            dp, stage = theirs["blocking_decompose_by_dp_rank"], theirs["blocking_decompose_by_stage"]
            score = {x["rank"]: min(dp[str(x["dp_rank"])], stage[str(x["stage"])]) for x in ours["workers"]}
            self.assertEqual([x["rank"] for x in ours["workers"]], sorted(score, key=lambda rank: (-score[rank], rank)))

    def test_shares(self) -> None:
        for ours, _, mw, ms in self.each():
            for part, theirs, share in ((ours["slowest_workers"], mw, "Mw"), (ours["last_stage"], ms, "Ms")):
                self.assertAlmostEqual(part["explained_pct"] / 100, theirs[share], delta=1e-5)
                self.assertAlmostEqual(part["fixed_ns"] / 1e9, theirs["trem"], delta=1e-6 * theirs["trem"])
                self.assertAlmostEqual(part["alone_ns"] / 1e9, theirs["tadd"], delta=1e-6 * theirs["tadd"])

    def test_who_is_named(self) -> None:
        """AR: one worker was slowed down on purpose.  ST: the last stage has more to do."""
        known = {"AR": {"what": "worker", "rank": 0}, "ST": {"what": "stage", "stage": 3}}
        for name, (ours, *_) in self.jobs.items():
            with self.subTest(job=name):
                self.assertLessEqual(known.get(name, {}).items(), ours["suspects"][0].items())


if __name__ == "__main__":
    unittest.main()
