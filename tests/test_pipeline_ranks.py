# SPDX-License-Identifier: Apache-2.0
"""Stages of a pipeline replayed together, joined by their sends and receives: each prediction against the same job without the cause."""
import copy
import json
import pathlib
import tempfile
import unittest
from typing import Any

from tests.pipeline_ranks import US, Pipeline
from tests.program import report
from tests.test_joint import price

FORMS: tuple[dict[str, Any], ...] = ({}, {"names_peers": False}, {"batched": True, "names_peers": False}, {"reduces": False}, {"stages": 2}, {"stages": 8, "micro": 16})


def ask(job: Pipeline) -> tuple[float, dict[str, Any]]:
    with tempfile.TemporaryDirectory() as name:
        step = job.write(pathlib.Path(name))
        return step, report(name)


def begin_apart(folder: pathlib.Path, job: Pipeline) -> None:
    """Each rank's capture begins at another time within its first step: the first messages of a path are in one of the two files only."""
    for rank in range(job.stages):
        path = folder / f"rank{rank}.json"
        trace = json.loads(path.read_text())
        steps = [e for e in trace["traceEvents"] if e["name"].startswith("ProfilerStep")]
        begin = steps[0]["ts"] + steps[0]["dur"] * (0.5 if rank % 2 else 0.15)
        trace["traceEvents"] = [e for e in trace["traceEvents"] if e["ts"] >= begin]
        path.write_text(json.dumps(trace))


class Stages(unittest.TestCase):
    def test_captures_that_begin_apart(self) -> None:
        for form in ({"micro": 16}, {"micro": 16, "stages": 2}, {"micro": 16, "reduces": False}):
            job = Pipeline(**form)
            cured = copy.deepcopy(job)
            job.factor[1] = 1.5
            with tempfile.TemporaryDirectory() as name:
                step = job.write(pathlib.Path(name))
                begin_apart(pathlib.Path(name), job)
                said = report(name)
            joint = said["joint_replay"]
            self.assertTrue(joint["is_replayed"] and joint["is_trusted"], (form, joint["why_not"], joint["why_no_price"]))
            self.assertAlmostEqual(joint["replayed_step_ns"] / joint["measured_step_ns"], 1, delta=0.01, msg=str(form))
            self.assertAlmostEqual(price(joint, "straggler", 1)["gain_pct"], 100 * (1 - cured.run()[0] / step), delta=2, msg=str(form))
            self.assertFalse({"exposed-communication", "poor-overlap"} & {f["id"] for f in said["findings"]}, form)

    def straggler(self, job: Pipeline, cured: Pipeline, who: int, what: Any) -> dict[str, Any]:
        step, said = ask(job)
        gain = 100 * (1 - cured.run()[0] / step)
        joint = said["joint_replay"]
        self.assertTrue(joint["is_replayed"] and joint["is_trusted"], (what, joint["why_not"], joint["why_no_price"]))
        self.assertGreater(joint["messages"], 0, what)
        self.assertAlmostEqual(joint["replayed_step_ns"] / joint["measured_step_ns"], 1, delta=0.001)
        self.assertGreater(joint["joined_pct"], 99)
        self.assertAlmostEqual(price(joint, "straggler", who)["gain_pct"], gain, delta=1.5, msg=str(what))
        finding: dict[str, Any] = next(f for f in said["findings"] if f["id"] == "straggler")
        self.assertIn(f"rank {who}.", finding["statement"])
        self.assertFalse({"exposed-communication", "poor-overlap"} & {f["id"] for f in said["findings"]}, what)
        return finding

    def test_a_stage_with_more_work(self) -> None:
        for form in FORMS:
            job = Pipeline(**form)
            cured = copy.deepcopy(job)
            job.factor[1] = 1.5
            finding = self.straggler(job, cured, 1, form)
            self.assertIn("more time in \"GPU: compute\"", finding["statement"])
            self.assertIn("stages had the same work", finding["statement"])     # what its fix does, and no more
            self.assertLess(finding["gain_pct"], 100 * (1 - cured.run()[0] / job.run()[0]))

    def test_a_rank_whose_host_is_late(self) -> None:
        for form in FORMS:
            job = Pipeline(**form)
            cured = copy.deepcopy(job)
            job.late[1] = 15000 * US
            self.assertIn("data loader", self.straggler(job, cured, 1, form)["statement"])

    def test_a_rank_whose_loader_has_slow_workers(self) -> None:
        for form in FORMS:
            job = Pipeline(loader="MultiProcessing", **form)
            cured = copy.deepcopy(job)
            job.late[1] = 15000 * US
            self.straggler(job, cured, 1, form)

    def test_too_few_micro_batches(self) -> None:
        for stages, micro in ((4, 2), (4, 4), (8, 8)):
            job, more = Pipeline(stages=stages, micro=micro), Pipeline(stages=stages, micro=2 * micro, forward=1000 * US)
            step, said = ask(job)
            gain = 100 * (1 - more.run()[0] / step)
            finding = next(f for f in said["findings"] if f["id"] == "pipeline-bubble")
            self.assertAlmostEqual(finding["gain_pct"], gain, delta=3)
            self.assertTrue(finding["gain_low_pct"] <= gain <= finding["gain_high_pct"], (gain, finding))
            self.assertIn(f"{stages} stages pass {micro} micro-batches on", finding["statement"])
            self.assertNotIn("straggler", [f["id"] for f in said["findings"]])

    def test_enough_micro_batches_are_no_finding(self) -> None:
        said = ask(Pipeline(stages=2, micro=24))[1]
        self.assertFalse({"pipeline-bubble", "straggler", "exposed-communication"} & {f["id"] for f in said["findings"]})

    def test_messages_of_unknown_peers_are_not_called_slow_communication(self) -> None:
        """One kernel sends and receives, and nothing says with whom."""
        job = Pipeline(batched=True)
        cured = copy.deepcopy(job)
        job.factor[2] = 1.5
        step, said = ask(job)
        gain = 100 * (1 - cured.run()[0] / step)
        for f in said["findings"]:
            if f["id"] in ("poor-overlap", "exposed-communication", "straggler"):
                self.assertEqual(f["confidence"], "low")
            if f["id"] == "straggler":
                self.assertGreater(f["gain_high_pct"], gain)


if __name__ == "__main__":
    unittest.main()
