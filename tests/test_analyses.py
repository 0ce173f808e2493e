# SPDX-License-Identifier: Apache-2.0
"""The analyses of real traces against an independent computation from the JSON, in exact integers."""
import collections
import json
import math
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import OWN, events, ns, read, real_traces, report, skip_loudly

DEVICE = {"kernel": 0, "gpu_memcpy": 0, "gpu_memset": 0}
CALLS = ("cuda_runtime", "cuda_driver")


def some() -> list[Path]:
    """Of moderate size, so that Python's reader keeps up."""
    return [p for p in OWN[:2] + real_traces() if p.stat().st_size < 1_300_000]


class Loaded:
    """What a trace holds, read without holdup."""

    def __init__(self, path: Path) -> None:
        slices = [e for e in events(path) if e.get("ph") == "X" and "dur" in e and e.get("dur") is not None]
        self.work = [e for e in slices if e.get("cat") in DEVICE and isinstance(e.get("args"), dict) and "stream" in e["args"]]
        self.calls = [e for e in slices if e.get("cat") in CALLS]
        self.launch: dict[int, dict] = {}
        for e in sorted(self.calls, key=lambda e: e["cat"] == "cuda_driver"):
            correlation = (e.get("args") or {}).get("correlation")
            if correlation:
                self.launch.setdefault(correlation, e)

    def launch_of(self, e: dict[str, Any]) -> dict[str, Any] | None:
        return self.launch.get(e["args"].get("correlation"))


def start(e: dict[str, Any]) -> int:
    return ns(e["ts"])


def end(e: dict[str, Any]) -> int:
    return start(e) + max(ns(e["dur"]), 0)


def piece(cat: str, name: str, at_us: float, dur_us: float, **args: Any) -> dict[str, Any]:
    where = args.get("stream", 1)
    return {"ph": "X", "cat": cat, "name": name, "pid": 0 if cat == "kernel" else 1, "tid": where, "ts": at_us, "dur": dur_us, "args": args}


class Lead(unittest.TestCase):
    def test_the_wait_before_the_first_kernel(self) -> None:
        """It is listed, with its cause, and no part of the idle time between the first operation and the last."""
        slices = [piece("cpu_op", "aten::normal_", 1000, 5000)]
        for number, at in enumerate((6010, 6100)):
            slices += [piece("cuda_runtime", "cudaLaunchKernel", at, 5, correlation=number + 1),
                       piece("kernel", "k", at + 10, 20, correlation=number + 1, device=0, stream=7)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": slices}))
            idle = report(path)["ranks"][0]["idle"]
        first = idle["gaps"][0]
        self.assertEqual((idle["lead_ns"], idle["idle_ns"], idle["gap_count"]), (5_020_000, 70_000, 1))
        self.assertEqual((first["duration_ns"], first["cause"], first["host"], first["before"], first["after"]),
                         (5_020_000, "operator", "aten::normal_", "", "k"))

    def steps(self, mark_us: float, apart_us: float, count: int = 6) -> dict[str, Any]:
        """Steps of torch.profiler of this length, that far apart; each launches a kernel of 500 us and does nothing else."""
        slices = []
        for i in range(count):
            at = 1000 + i * apart_us
            slices += [piece("user_annotation", f"ProfilerStep#{i}", at, mark_us), piece("cpu_op", "aten::mm", at + 10, 20),
                       piece("cuda_runtime", "cudaLaunchKernel", at + 15, 10, correlation=i + 1),
                       piece("kernel", "k", at + 30, 500, correlation=i + 1, device=0, stream=7)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": slices}))
            return report(path)

    def test_a_mark_of_a_step_is_no_operator(self) -> None:
        """What a ProfilerStep alone covers was not recorded: causes of idle time and verdict agree."""
        whole = self.steps(1000, 1000)
        causes = {c["cause"]: c["time_ns"] for c in whole["ranks"][0]["idle"]["causes"]}
        self.assertEqual(causes["unrecorded"], 5 * (470_000 + 10_000))
        self.assertEqual(causes["operator"], 5 * 5_000)
        self.assertIn("nothing was recorded on the host", whole["verdict"]["text"])

    def marked(self, *marks: tuple[str, float, float]) -> dict[str, Any]:
        """Ranges with these names, beginnings and lengths, in ms; each launches a kernel of 1 ms and waits for it elsewhere."""
        slices = []
        for i, (name, at, dur) in enumerate(marks):
            slices += [piece("user_annotation", name, 1000 * at, 1000 * dur), piece("kernel", "k", 1000 * at + 90, 1000, correlation=i + 1, device=0, stream=7),
                       piece("cuda_runtime", "cudaLaunchKernel", 1000 * at + 50, 10, correlation=i + 1)]
        slices += [piece("cpu_op", "aten::mm", 1000 * max(at + dur for _, at, dur in marks), 5)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": slices}))
            return report(path)["ranks"][0]["steps"]

    def test_short_marks_that_name_iterations(self) -> None:
        """They are steps, however short, and uneven on the thread that does most; few, and a call of an optimizer may be anything."""
        even = [("train_step", 10.0 * i, 1.0) for i in range(8)]
        steps = self.marked(*even)
        self.assertEqual((steps["source"], steps["what"], steps["count"], steps["counted"], steps["mean_ns"]),
                         ("annotation", "train_step", 8, 7, 10_000_000))
        uneven = self.marked(*[(n, at + (9 if i == 3 else 0), d) for i, (n, at, d) in enumerate(even)])
        self.assertEqual((uneven["source"], uneven["count"], uneven["mean_ns"]), ("annotation", 8, 10_000_000))
        for marks in (even[:4], [("SGD.step", at, d) for _, at, d in even]):
            self.assertNotEqual(self.marked(*marks)["source"], "annotation", marks)

    def test_steps_within_epochs(self) -> None:
        steps = self.marked(*[("epoch", 50.0 * i, 49.5) for i in range(3)], *[("train_step", 50.0 * i + 0.1 + 9.8 * k, 9.7) for i in range(3) for k in range(5)])
        self.assertEqual((steps["what"], steps["count"]), ("train_step", 15))

    def test_the_verdict_tells_of_what_waits(self) -> None:
        """Of each ms 600 us in a frame that waits and 300 in nothing: the verdict gives what waits, as the table does."""
        slices = []
        for i in range(6):
            at = 1000 + i * 1000
            slices += [piece("user_annotation", f"ProfilerStep#{i}", at, 1000), piece("cpu_op", "aten::mm", at, 100),
                       piece("python_function", "threading.py(355): wait", at + 100, 600)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": slices}))
            text = report(path)["verdict"]["text"]
        self.assertIn("threads takes 60 % of each step (0.60 of 1.00 ms)", text)

    def test_time_between_marks_of_the_profiler(self) -> None:
        """It is part of each step but the first, of which nobody knows it: the mean is that from mark to mark."""
        for mark, apart, counted in ((1000, 1000, 6), (1000, 3000, 5)):
            steps = self.steps(mark, apart)["ranks"][0]["steps"]
            self.assertEqual((steps["count"], steps["counted"], steps["mean_ns"]), (6, counted, apart * 1000))


class Analyses(unittest.TestCase):
    def test_streams_and_launches(self) -> None:
        compared = 0
        for path in some():
            loaded, rank = Loaded(path), report(path)["ranks"][0]
            if not loaded.work or any(ns(e["ts"]) == 0 for e in loaded.work) or rank["quality"]["lost"]:
                continue
            with self.subTest(trace=path.name):
                self.idle_streams(loaded, rank)
                self.launches(loaded, rank)
                compared += 1
        if real_traces():
            self.assertGreater(compared, 8)

    def idle_streams(self, loaded: Loaded, rank: dict) -> None:
        streams = collections.defaultdict(list)
        for e in loaded.work:
            streams[(e["args"].get("device", e["args"].get("inDevice", -1)), e["args"]["stream"])].append(e)
        expected = {}
        for key, work in streams.items():
            waits, last = [0, 0, 0], None
            for e in sorted(work, key=lambda e: (start(e), -ns(e["dur"]))):
                if last is not None and start(e) > last:
                    gap, launch = start(e) - last, loaded.launch_of(e)
                    waits[0 if launch and start(launch) > last else 1 if launch and gap < 30000 else 2] += gap
                last = max(last or 0, end(e))
            expected[key] = (len(work), *waits)
        got = {(r["device"], r["stream"]): (r["work"], r["host_wait_ns"], r["kernel_wait_ns"], r["other_ns"])
               for r in rank["idle"]["streams"]}
        self.assertEqual(got, expected)
        self.assertEqual(sum(c["time_ns"] for c in rank["idle"]["causes"]), rank["gpu"]["idle_ns"])
        self.assertEqual(rank["idle"]["idle_ns"], rank["gpu"]["idle_ns"])
        self.assertEqual(sum(r["time_ns"] for r in rank["time"]["split"]), rank["gpu"]["span_ns"])
        self.assertEqual(sum(f["total_ns"] for f in rank["kernel_families"]["families"]), sum(k["total_ns"] for k in rank["kernels"]))

    def launches(self, loaded: Loaded, rank: dict) -> None:
        count = collections.Counter(id(loaded.launch_of(e)) for e in loaded.work if loaded.launch_of(e))
        single = [(loaded.launch_of(e), e) for e in loaded.work if loaded.launch_of(e) and count[id(loaded.launch_of(e))] == 1]
        launch = rank["launch"]
        self.assertEqual(launch["launches"], len(single))
        self.assertEqual(launch["shorter"], sum(ns(e["dur"]) < ns(c["dur"]) for c, e in single))
        self.assertEqual(launch["long_delays"], sum(start(e) - end(c) > 100000 for c, e in single))
        self.assertEqual(sum(w["call_total_ns"] for w in launch["work"]), sum(ns(c["dur"]) for c, _ in single))
        names = collections.Counter()
        for c in loaded.calls:
            names[c["name"]] += max(ns(c["dur"]), 0)
        self.assertEqual({c["name"]: c["total_ns"] for c in rank["calls"]}, dict(names))

    def test_memory(self) -> None:
        compared = 0
        for path in some():
            records = [e for e in events(path) if e.get("name") == "[memory]" and (e["args"].get("Total Allocated") or 0) > 0]
            pools = collections.defaultdict(list)
            for e in records:
                pools[(e["args"]["Device Type"], e["args"]["Device Id"])].append(e["args"]["Total Allocated"])
            if not pools:
                continue
            got = sorted(p["peak_bytes"] for p in report(path)["ranks"][0]["memory"]["pools"] if not p["is_relative"])
            with self.subTest(trace=path.name):
                self.assertEqual(got, sorted(max(v) for v in pools.values()))
            for p in report(path)["ranks"][0]["memory"]["pools"]:
                self.assertEqual(sum(p[f"peak_{c}_bytes"] for c in ("before_capture", "temporary", "activation", "gradient", "optimizer",
                                                                   "input", "other")), p["peak_bytes"])
            compared += 1
        if real_traces():
            self.assertGreater(compared, 1)

    def test_occupancy_is_the_one_that_cupti_wrote(self) -> None:
        """min(blocks that fit, blocks for each multiprocessor) * threads / most threads, rounded: as Kineto estimates it.

        Where Kineto wrote 0 holdup puts its own estimate, which must then be this one too.
        """
        compared = wrong = 0
        for path in real_traces():
            if path.stat().st_size > 3_500_000:
                continue
            document = json.loads(read(path), strict=False)
            devices = document.get("deviceProperties") if isinstance(document, dict) else None
            if not devices or "maxThreadsPerMultiprocessor" not in devices[0]:
                continue
            sms, threads = devices[0]["numSms"], devices[0]["maxThreadsPerMultiprocessor"]
            for k in report(path)["ranks"][0]["kernels"]:
                if k["geometry_varies"] or not k["waves"] or k["occupancy_pct"] is None:
                    continue
                blocks = k["block_x"] * k["block_y"] * k["block_z"]
                fit = k["blocks"] / (sms * k["waves"])
                estimate = min(round(fit), k["blocks"] / sms) * blocks / threads * 100
                compared += 1
                wrong += abs(estimate - k["occupancy_pct"]) > 1.01
        if not compared:
            skip_loudly("no real trace with occupancies is present")
            return
        self.assertGreater(compared, 100)
        self.assertEqual(wrong, 0, f"of {compared}")

    def test_roofline_of_a_real_trace(self) -> None:
        """Numbers of TraceLens's reference report for the same file: GFLOP of one call, kernel time."""
        for path in [p for p in real_traces() if p.parent.name == "tl-owlv2" and p.name.startswith("h100")]:
            rank = report(path)["ranks"][0]["roofline"]
            ops = {(o["operator"], o["shapes"]): o for o in rank["operators"]}
            bmm = ops[("aten::bmm", "[[16, 5185, 64], [16, 64, 5185]]")]
            self.assertEqual((bmm["calls"], bmm["kernel_ns"], bmm["bytes_per_call"]), (120, 130015700, 881532960))
            self.assertTrue(math.isclose(bmm["gflop_per_call"], 55.0588928, rel_tol=1e-5))
            conv = next(o for o in rank["operators"] if o["operator"] == "aten::cudnn_convolution")
            self.assertTrue(math.isclose(conv["gflop_per_call"], 6.242697216, rel_tol=1e-4))
            self.assertEqual(rank["peaks_of"], "H100 SXM")
            self.assertGreater(rank["coverage_pct"], 99)


if __name__ == "__main__":
    unittest.main()
