# SPDX-License-Identifier: Apache-2.0
"""What several ranks cannot tell is said to be a guess, and how ranks differ by nature is nobody's fault."""
import copy
import json
import pathlib
import random
import tempfile
import unittest
from typing import Any, Callable

from tests.program import report
from tests.test_joint import US, Job, price

NETWORK = {"exposed-communication", "poor-overlap", "comm-latency", "comm-bandwidth"}


def written(job: Job, ask: Callable[[pathlib.Path], dict[str, Any]]) -> tuple[float, dict[str, Any]]:
    with tempfile.TemporaryDirectory() as name:
        step = job.write(pathlib.Path(name))
        return step, ask(pathlib.Path(name))


def some(*missing: int) -> Callable[[pathlib.Path], dict[str, Any]]:
    def ask(folder: pathlib.Path) -> dict[str, Any]:
        for rank in missing:
            (folder / f"rank{rank}.json").unlink()
        return report(folder)
    return ask


def loading(seed: int, ranks: int, own_us: int, late: int, late_us: int) -> Job:
    """All ranks load for some time, one for longer; communication itself is next to nothing."""
    job = Job(seed, ranks=ranks)
    job.transfer = [[20 * US] * job.layers for _ in range(job.steps)]
    job.loader = [[own_us * US + (late_us * US if rank == late else 0) for rank in range(ranks)] for _ in range(job.steps)]
    return job


class Unseen(unittest.TestCase):
    """Rank 0 waits for rank 1 for longer than its own loader takes: without the loader it would only wait longer."""

    def test_one_rank_that_waits(self) -> None:
        said = written(loading(1, 2, 3000, 1, 9000), lambda folder: report(folder / "rank0.json"))[1]
        own = next(f for f in said["findings"] if f["id"] == "data-loading")
        self.assertEqual((own["confidence"], own["gain_low_pct"]), ("low", 0))
        self.assertIn("Record the same steps on all ranks", " ".join(own["evidence"]))

    def test_one_rank_that_hardly_waits(self) -> None:
        """The late one knows what its own loader costs."""
        said = written(loading(1, 2, 3000, 1, 9000), lambda folder: report(folder / "rank1.json"))[1]
        own = next(f for f in said["findings"] if f["id"] == "data-loading")
        self.assertNotEqual(own["confidence"], "low")
        self.assertFalse([line for line in own["evidence"] if "waiting" in line])

    def test_the_late_rank_is_missing(self) -> None:
        job = loading(2, 4, 50, 3, 15000)
        found = written(job, some(3))[1]["findings"]
        self.assertTrue(found and {f["id"] for f in found} & NETWORK, found)
        for f in found:
            if f["id"] in NETWORK or f["gain_pct"] < price_of_network(job, 3):
                self.assertEqual((f["confidence"], f["gain_low_pct"]), ("low", 0), f)
        self.assertIn("ranks are missing that take part in it", " ".join(sum((f["evidence"] for f in found), [])))

    def test_a_missing_rank_of_another_group_is_no_matter(self) -> None:
        """Groups of two: of the pair that was given, nobody is missing."""
        job = loading(3, 4, 50, 1, 15000)
        job.members = lambda rank, layer: (rank // 2 * 2, rank // 2 * 2 + 1)     # type: ignore[method-assign]
        first = written(job, some(2, 3))[1]["findings"][0]
        self.assertEqual(first["id"], "straggler")
        self.assertNotEqual(first["confidence"], "low")


def price_of_network(job: Job, missing: int) -> float:
    gain: float = price(written(job, some(missing))[1]["joint_replay"], "network")["gain_pct"]
    return gain


class Chance(unittest.TestCase):
    def test_hosts_that_differ_by_nature(self) -> None:
        """Each leg takes each host some time around the same mean; there is always a last one, and no fix."""
        for seed in range(6):
            r = random.Random(seed)
            job = loading(seed, 4, 0, 0, 0)
            job.compute = [[[60 * US] * job.layers for _ in range(4)] for _ in range(job.steps)]
            job.loader = [[int(3000 * US * r.uniform(0.85, 1.15)) for _ in range(4)] for _ in range(job.steps)]
            found = {f["id"]: f for f in written(job, report)[1]["findings"]}
            self.assertFalse("straggler" in found and found["straggler"]["confidence"] != "low", (seed, found.get("straggler")))

    def test_two_that_are_late_in_turn_have_no_name(self) -> None:
        for seed in range(4):
            job = Job(seed, ranks=2)
            cured = copy.deepcopy(job)
            for k in range(job.steps):
                job.compute[k][k % 2] = [int(1.6 * c) for c in job.compute[k][k % 2]]
                for rank in range(2):
                    cured.compute[k][rank] = [int(1.3 * c) for c in cured.compute[k][rank]]
            step, said = written(job, report)
            gain = 100 * (1 - cured.run()[0] / step)
            first = next(f for f in said["findings"] if f["id"] == "straggler")
            self.assertIn("may be chance: in others it may be another one", first["statement"])
            self.assertTrue(first["gain_low_pct"] <= gain <= first["gain_high_pct"], (seed, gain, first))

    def test_steps_that_differ_widen_the_interval(self) -> None:
        """One rank is late in some steps only: other steps would have gained more, or less."""
        job = Job(5, ranks=4)
        for k in range(job.steps):
            job.loader[k][2] += (12000 if k % 3 == 0 else 0) * US
        some_steps = price(written(job, report)[1]["joint_replay"], "hiccups")
        for k in range(job.steps):
            job.loader[k][2] = 4000 * US
        each = price(written(job, report)[1]["joint_replay"], "straggler", 2)
        width = [(p["gain_high_pct"] - p["gain_low_pct"]) / p["gain_pct"] for p in (some_steps, each)]
        self.assertGreater(width[0], 2 * width[1])


class Causes(unittest.TestCase):
    def test_a_gpu_that_takes_longer_may_have_more_to_do(self) -> None:
        """From one rank's kernels alone nobody knows whether they are slow or many: the interval holds both, and the words say both."""
        job = Job(3, ranks=2)
        slow, shared = copy.deepcopy(job), copy.deepcopy(job)
        for k in range(job.steps):
            slow.compute[k][1] = [2 * c for c in job.compute[k][1]]
            for rank in range(2):
                shared.compute[k][rank] = [int(1.5 * c) for c in job.compute[k][rank]]
        step, said = written(slow, report)
        first = said["findings"][0]
        self.assertEqual(first["id"], "straggler")
        self.assertAlmostEqual(first["gain_pct"], 100 * (1 - job.run()[0] / step), delta=3)
        self.assertLessEqual(first["gain_low_pct"], 100 * (1 - shared.run()[0] / step))
        self.assertIn("they shared it", first["statement"])
        self.assertNotEqual(first["confidence"], "high")

    def test_the_first_sentence_names_the_rank_that_is_waited_for(self) -> None:
        said = written(loading(4, 4, 50, 2, 20000), report)[1]
        text = said["verdict"]["text"]
        self.assertEqual(said["findings"][0]["id"], "straggler")
        self.assertIn("is waiting for rank 2.", text)
        self.assertNotIn("xposed communication", text)

    def test_communication_tells_no_launch_latency(self) -> None:
        """Without events a collective's stream looks idle while it waits for the kernels before it."""
        job = Job(6, ranks=2, layers=6)

        def ask(folder: pathlib.Path) -> dict[str, Any]:
            for path in folder.iterdir():
                trace = json.loads(path.read_text())
                trace["traceEvents"] = [e for e in trace["traceEvents"] if e["cat"] != "cuda_sync" and "Event" not in e["name"]]
                path.write_text(json.dumps(trace))
            return report(folder)
        for rank in written(job, ask)[1]["ranks"]:
            self.assertLess(rank["replay"]["launch_latency_ns"], 20 * US)


if __name__ == "__main__":
    unittest.main()
