# SPDX-License-Identifier: Apache-2.0
"""Replay, what-if and the gate as a person uses them; the engine itself is tested in tests/unit/test_graph.c."""
import json
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

from tests.program import OWN, ROOT, real_traces, report, run

SLOW = ROOT / "examples/training/traces/slow_loader"
ONE = SLOW / "rank0.pt.trace.json.gz"


def whatif(path: Path, *edits: str) -> dict:
    status, out, err = run("whatif", path, "--json", *(w for e in edits for w in ("--edit", e)))
    assert status == 0, err
    return json.loads(out)


class WhatIf(unittest.TestCase):
    def test_loader(self) -> None:
        """The mean step is 96 ms, 57 of them in the loader and the host: without it what is left of each step."""
        said = whatif(ONE, "data=0")
        step, edit = said["measured_step_ns"], said["edits"][0]
        self.assertAlmostEqual(said["replayed_step_ns"], step, delta=step / 1000)
        loader = report(ONE)["ranks"][0]["step_breakdown"]["categories"]["data_loader_ns"]
        self.assertAlmostEqual(edit["step_before_ns"] - edit["step_after_ns"], loader, delta=0.03 * step)
        self.assertLess(edit["gain_low_pct"], edit["gain_pct"])
        # all the time in the loader, which is what the edit takes away, and what real loops on a CPU gained beyond that
        self.assertGreaterEqual(edit["gain_high_pct"], edit["gain_pct"])
        self.assertLess(edit["gain_high_pct"], 1.36 * 100 * loader / step + 1)
        self.assertTrue(edit["is_feasible"])

    def test_together_is_no_sum(self) -> None:
        said = whatif(ONE, "data=0", "hostx2")["edits"]
        self.assertEqual([e["edit"] for e in said], ["data=0", "hostx2", "together"])
        alone = [e["gain_pct"] for e in said[:2]]
        self.assertGreater(said[2]["gain_pct"], max(alone))
        self.assertLess(said[2]["gain_pct"], sum(alone))

    def test_an_operator_by_name(self) -> None:
        said = whatif(ONE, "op:aten::convolution_backward=0")["edits"][0]
        self.assertGreater(said["touched"], 0)
        self.assertGreater(said["gain_pct"], 5)

    def test_steps(self) -> None:
        status, out, _ = run("whatif", ONE, "--edit", "data=0", "--steps", "3..5", "--json")
        self.assertEqual((status, json.loads(out)["steps"]), (0, 3))

    def test_an_edit_without_object_says_so(self) -> None:
        status, _, err = run("whatif", ONE, "--edit", "kernel:*=0")
        self.assertEqual(status, 0)
        self.assertIn("matches nothing in these steps", err)


class Replays(unittest.TestCase):
    def test_every_trace_replays_or_says_why_not(self) -> None:
        """No crash, no deadlock; the step within 2 %, or low confidence and no point."""
        for path in OWN + real_traces():
            with self.subTest(trace=f"{path.parent.name}/{path.name}"):
                said = report(path)
                for rank in said["ranks"]:
                    replay = rank["replay"]
                    if replay["steps"] is None:
                        self.assertTrue(replay["why_not"])
                        continue
                    parts = sum(row["step_ns"] for row in replay["critical_path_classes"])
                    self.assertAlmostEqual(parts, replay["replayed_step_ns"], delta=len(replay["critical_path_classes"]))
                    if abs(replay["error_pct"]) > 2:
                        self.assertFalse(replay["is_trusted"])
                if said["replay"] and not said["replay"]["is_trusted"]:
                    self.assertTrue(all(f["gain_pct"] is None and f["confidence"] == "low" for f in said["findings"]))

    def test_findings_are_sorted_and_inside_of_their_interval(self) -> None:
        for path in OWN:
            findings = report(path)["findings"]
            gains = [(f["gain_low_pct"] + f["gain_pct"]) / 2 for f in findings if f["gain_pct"] is not None]    # what can be counted on
            self.assertEqual(gains, sorted(gains, reverse=True))
            for f in findings:
                self.assertTrue(f["gain_pct"] is None or f["gain_low_pct"] <= f["gain_pct"] <= f["gain_high_pct"])
                self.assertTrue(f["statement"] and f["fix"] and f["verify"])

    def test_a_queue_that_is_full_is_found(self) -> None:
        """A V100 that is busy all the time: half the kernel time is half the step, double the kernel time double the step."""
        path = ROOT.parent / "shared/traces/kineto/hta-ns-resolution/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz"
        if path not in real_traces():
            self.skipTest("no real traces")
        self.assertEqual(report(path)["ranks"][0]["replay"]["queue_length"], 1022)
        faster, slower = whatif(path, "kernel:*x2", "kernel:*x0.5")["edits"][:2]
        self.assertAlmostEqual(faster["step_after_ns"] / faster["step_before_ns"], 0.51, delta=0.02)
        self.assertAlmostEqual(slower["step_after_ns"] / slower["step_before_ns"], 1.97, delta=0.03)

    def test_threads_change_nothing(self) -> None:
        texts = {run("report", SLOW, "--json", env={"HOLDUP_THREADS": n})[1] for n in ("1", "3")}
        self.assertEqual(len(texts), 1)


class Throughput(unittest.TestCase):
    def test_batch_size(self) -> None:
        said = report(SLOW, "--batch-size", "64")
        mean = max(r["steps"]["mean_ns"] for r in said["ranks"])
        self.assertAlmostEqual(said["run"]["samples_per_second"], 64e9 / mean, delta=0.01)
        text = run("report", SLOW, "--batch-size", "64000", "--unit", "tokens")[1].decode()
        self.assertRegex(text.splitlines()[1], r"66\d,\d{3} tokens/s")
        self.assertIsNone(report(SLOW)["run"]["samples_per_second"])


class Gate(unittest.TestCase):
    def test_json_and_exit_status(self) -> None:
        status, out, _ = run("check", SLOW, "--json")
        said = json.loads(out)
        states = {row["name"]: row["state"] for row in said["limits"]}
        self.assertEqual((status, said["passed"], states["data"], states["gpu-busy"]), (1, False, "fail", "unknown"))
        self.assertEqual({c["name"] for c in said["self_check"]},
                         {"local", "global", "coverage", "feasibility", "homogeneity", "hold_out", "spread"})

    def test_limits_on_the_command_line_are_stronger_than_the_file(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            toml, as_json, junit = (Path(folder) / name for name in ("h.toml", "h.json", "h.xml"))
            toml.write_text('# limits\n[max]\ndata = "90%"   # generous\ncomm = 50\n')
            as_json.write_text('{"max": {"data": "90%", "comm": 50}}')
            for config in (toml, as_json):
                self.assertEqual(run("check", SLOW, "--config", config, "--only-named")[0], 0)
                self.assertEqual(run("check", SLOW, "--config", config, "--only-named", "--max", "data=10", "--junit", junit)[0], 1)
            suite = xml.parse(junit).getroot()
            self.assertEqual((suite.get("tests"), suite.get("failures")), ("2", "1"))
            self.assertEqual([c.get("name") for c in suite if c.find("failure") is not None], ["data"])

    def test_a_wrong_file_names_its_line(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "h.toml"
            path.write_text("[max]\ndata 10\n")
            status, _, err = run("check", ONE, "--config", path)
            self.assertEqual(status, 2)
            self.assertIn("line 2", err)

    def test_advice_does_not_fail_unless_it_is_named(self) -> None:
        self.assertEqual(run("check", ONE, "--only-named", "--min", "compiled=1")[0], 1)
        status, out, _ = run("check", ONE, "--json", "--max", "data=100", "--max", "comm=100")
        self.assertEqual((status, [r["state"] for r in json.loads(out)["limits"] if r["name"] == "compiled"]), (0, ["advice"]))


if __name__ == "__main__":
    unittest.main()
