# SPDX-License-Identifier: Apache-2.0
"""The exam's own arithmetic: a job that can be computed by hand, two truths, and captures that the program reads without complaint."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

from tests.exam import cases
from tests.exam.cores import Cores
from tests.exam.devices import A100
from tests.exam.draws import Draws
from tests.exam.job import Job
from tests.exam.kineto import Capture, Window, write
from tests.exam.plants import gain, period
from tests.exam.score import mark
from tests.exam.sim import Event, Join, Process, Rank, Sim, Stream, Thread
from tests.program import EXE


class Plain(Thread):
    """A thread whose calls cost 1 us, without draws."""

    def cost(self, table: str) -> int:
        return {"launch_latency": 5000, "sync_return": 4000}.get(table, 1000)


def plain(sim: Sim) -> tuple[Rank, Plain, Stream]:
    """A rank without draws: no gap between operations."""
    rank = sim.rank()
    rank.gap = lambda op: 0  # type: ignore[method-assign]
    thread = Plain(rank, "main", 1)
    rank.threads.append(thread)
    return rank, thread, rank.stream(7)


class Simulator(unittest.TestCase):
    def test_a_step_by_hand(self) -> None:
        sim = Sim(1)
        rank, main, stream = plain(sim)

        def job() -> Process:
            for step in range(3):
                rank.mark(step)
                yield 10000
                yield from main.launch("a", 20000, stream)
                yield from main.launch("b", 30000, stream)
                yield from main.sync([stream])
            rank.mark(3)

        sim.spawn(job())
        sim.run()
        # 10 us of Python; a starts 5 us after its call began; b follows it; the call that waits returns 4 us later
        self.assertEqual([b - a for (_, a), (_, b) in zip(rank.marks, rank.marks[1:])], [10000 + 5000 + 20000 + 30000 + 4000] * 3)
        self.assertEqual([o.end - o.start for o in rank.ops], [20000, 30000] * 3)

    def test_a_full_queue_holds_the_host(self) -> None:
        sim = Sim(1)
        rank, main, stream = plain(sim)
        rank.queue_limit = 4

        def job() -> Process:
            for step in range(40):
                rank.mark(step)
                yield from main.launch("a", 50000, stream)

        sim.spawn(job())
        sim.run()
        late = [time for _, time in rank.marks][10:]
        self.assertEqual({b - a for a, b in zip(late, late[1:])}, {50000})

    def test_a_collective_ends_for_all_at_the_last_arrival(self) -> None:
        sim, join = Sim(1), Join(2, 7000)
        ranks = [plain(sim), plain(sim)]
        for wait, (_, main, stream) in zip((0, 90000), ranks):

            def job(thread: Plain = main, at: Stream = stream, first: int = wait) -> Process:
                yield first + 1
                yield from thread.collective(join, "nccl", at)

            sim.spawn(job())
        sim.run()
        self.assertEqual([r[0].ops[0].start for r in ranks], [5001, 95001])
        self.assertEqual([r[0].ops[0].end for r in ranks], [102001, 102001])

    def test_a_stream_waits_for_an_event(self) -> None:
        sim = Sim(1)
        rank, main, stream = plain(sim)
        other, event = rank.stream(9), Event()

        def job() -> Process:
            yield from main.launch("a", 60000, stream)
            yield from main.record(event, stream)
            yield from main.wait_event(event, other)
            yield from main.launch("b", 1000, other)

        sim.spawn(job())
        sim.run()
        self.assertEqual([(o.name, o.start) for o in rank.ops], [("a", 5000), ("b", 65000)])

    def test_two_processes_share_a_cpu(self) -> None:
        sim = Sim(1)
        cores, ends = Cores(sim, 1), []

        def work(ns: int) -> Process:
            yield ns
            ends.append(sim.now)

        for ns in (3000000, 3000000):
            sim.spawn(work(ns), cores)
        sim.run()
        self.assertEqual(ends, [5000000, 6000000])

    def test_the_same_keys_draw_the_same(self) -> None:
        one, two = Draws(7), Draws(7)
        two.unit("another", 1)
        self.assertEqual(one.table("jitter", 3, "aten::mm"), two.table("jitter", 3, "aten::mm"))
        self.assertNotEqual(one.unit(1), Draws(8).unit(1))


class Truth(unittest.TestCase):
    job = Job(11, "train", "transformer", "A100", 3, 2.5, 0.4).with_knobs(loss_item=1)

    def test_host_work_costs_what_was_planted(self) -> None:
        without, with_it = period(self.job, 12), period(self.job.with_knobs(loader_inline=3000000), 12)
        self.assertAlmostEqual(with_it - without, 3000000, delta=200000)  # the number is read in each step: nothing hides the loader

    def test_work_that_the_device_hides_costs_nothing(self) -> None:
        job = Job(11, "train", "transformer", "A100", 6, 3.0, 0.4)
        self.assertLess(abs(gain(period(job.with_knobs(host_block=500000), 12), period(job, 12))), 0.3)

    def test_cases_are_the_same_again(self) -> None:
        one, two = cases.make(0, 5), cases.make(0, 5)
        self.assertEqual(one, two)
        self.assertGreater(one.truths[0].gain, 1.0)


class Marks(unittest.TestCase):
    """What counts as right."""

    case = cases.Case(
        0,
        "loader",
        "gpu",
        10.0,
        Job(1),
        [cases.Truth("loader", frozenset({"data-loading"}), 30.0), cases.Truth("syncs", frozenset({"host-sync"}), 8.0)],
    )

    def graded(self, *findings: tuple[str, float | None, float, float, str]) -> str:
        """The mark of a report with these findings."""
        names = ("id", "gain_pct", "gain_low_pct", "gain_high_pct", "confidence")
        result = mark(self.case, {"findings": [dict(zip(names, f)) for f in findings]})
        return result.grade + (" confidently" if result.confidently_wrong() else "")

    def test_the_largest_cause_at_its_price(self) -> None:
        self.assertEqual(self.graded(("data-loading", 28.0, 27.0, 29.0, "high")), "right")
        self.assertEqual(self.graded(("data-loading", 18.0, 10.0, 31.0, "high")), "right")
        self.assertEqual(self.graded(("data-loading", None, 0.0, 31.0, "low")), "no price")

    def test_what_is_wrong(self) -> None:
        self.assertEqual(self.graded(("data-loading", 18.0, 16.0, 20.0, "medium")), "mispriced confidently")
        self.assertEqual(self.graded(("launch-bound", 30.0, 20.0, 40.0, "low")), "wrong")
        self.assertEqual(
            self.graded(("host-sync", 30.0, 25.0, 40.0, "high"), ("data-loading", 28.0, 27.0, 29.0, "high")), "wrong confidently"
        )
        self.assertEqual(self.graded(("host-sync", 9.0, 8.0, 10.0, "high")), "lesser")
        self.assertEqual(self.graded(), "silent")

    def test_a_healthy_job(self) -> None:
        null = cases.Case(1, "null", "gpu", 0.0, Job(1), [cases.Truth("launch overhead", frozenset({"launch-bound"}), 1.2)], null=True)
        for gain_pct, grade in ((1.5, "clean"), (5.0, "clean"), (9.0, "false")):
            row = {
                "id": "launch-bound",
                "gain_pct": gain_pct,
                "gain_low_pct": gain_pct - 0.1,
                "gain_high_pct": gain_pct + 1,
                "confidence": "high",
            }
            self.assertEqual(mark(null, {"findings": [row]}).grade, grade)


class Captures(unittest.TestCase):
    def test_the_program_reads_a_capture(self) -> None:
        for number in (0, 3):
            case = cases.make(number, 5)
            with self.subTest(case.cause), tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "case.json"
                cases.record(case, path)
                done = subprocess.run(
                    [EXE, "report", "--json", "--strict", str(path)], capture_output=True, text=True, timeout=60, check=False
                )
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                report = json.loads(done.stdout)
                self.assertEqual(report["unread"], [])

    def test_work_from_before_the_window_has_no_call(self) -> None:
        job = Job(3, "train", "transformer", "A100", 3, 3.0, 0.4)
        from tests.exam.job import simulate

        run = simulate(job, 16, 12, True)
        start = dict(run.rank().marks)[12]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "case.json"
            write(run.rank(), path, Window(start, run.sim.now), Capture(), A100)
            events = json.loads(path.read_text())["traceEvents"]
        calls = {e["args"]["correlation"] for e in events if e.get("cat") == "cuda_runtime"}
        kernels = [e["args"]["correlation"] for e in events if e.get("cat") == "kernel"]
        self.assertGreater(sum(k not in calls for k in kernels), 100)
        self.assertTrue(all(k in calls for k in kernels[-60:]))


if __name__ == "__main__":
    unittest.main()
