# SPDX-License-Identifier: Apache-2.0
"""Files that end in the middle: what is said of them must be true of the whole file, or not be said."""
from __future__ import annotations

import gzip
import json
import pathlib
import tempfile
import unittest
from typing import Any

from tests.program import OWN, SHARED, read, report, run, skip_loudly

STEPS, OPS, COLLECTIVES = 5, 40, 2
STEP_US = 10000
REAL = ("hta-nccl", "hta-ns-resolution", "tl-b200", "param-linear")


def job(rotated: bool = False) -> bytes:
    """A trace as Kineto writes it: operators of all steps, then the buffers of calls and kernels; 40 % busy, the rest idle."""
    host: list[dict[str, Any]] = []
    buffers: list[list[dict[str, Any]]] = []
    for step in range(STEPS):
        begin, records = step * STEP_US, []
        host.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1, "ts": begin, "dur": STEP_US - 10})
        for k in range(OPS + COLLECTIVES):
            at, number = begin + 100 + 200 * k, step * 1000 + k + 1
            comm = k >= OPS
            host.append({"ph": "X", "cat": "cpu_op", "name": "nccl:all_reduce" if comm else "aten::add", "pid": 1, "tid": 1, "ts": at, "dur": 50})
            records.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 5, "dur": 10, "args": {"correlation": number}})
            records.append({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce" if comm else "add_kernel", "pid": 0, "tid": 20 if comm else 7,
                            "ts": at + 20, "dur": 100, "args": {"correlation": number, "device": 0, "stream": 20 if comm else 7}})
        buffers.append(records)
    if rotated:  # the first buffer that is written often holds the end of the capture
        half = len(buffers[3]) // 2
        buffers = [buffers[3][half:], buffers[4], buffers[0], buffers[1], buffers[2], buffers[3][:half]]
    events = host + [r for b in buffers for r in b]
    return json.dumps({"deviceProperties": [{"id": 0, "name": "G"}], "traceEvents": events}).encode()


def shares(seen: dict[str, Any]) -> dict[int, tuple[float, int]]:
    """Idle share and device work of the steps that count."""
    return {s["number"]: (100 * s["idle_ns"] / s["duration_ns"], s["device_slices"])
            for s in seen["ranks"][0].get("steps", {"list": []})["list"] if not s["is_incomplete"] and not s["is_warm_up"]}


class Cut(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def write(self, text: bytes, suffix: str = ".json") -> pathlib.Path:
        path = self.folder / f"cut{suffix}"
        path.write_bytes(text)
        return path

    def holds(self, path: pathlib.Path, whole: dict[int, tuple[float, int]]) -> dict[int, tuple[float, int]]:
        """Of a cut file: each step that counts is as in the whole one, nothing is sure, nothing is claimed without steps."""
        seen = report(path)
        device = seen["ranks"][0]["gpu"]["busy_ns"] > 0
        steps = shares(seen) if device else {}
        self.assertTrue(seen["ranks"][0]["quality"]["is_truncated"])
        self.assertEqual(seen["verdict"]["confidence"], "low")
        self.assertTrue(any("ends in the middle" in r for r in seen["verdict"]["reasons"]), seen["verdict"])
        for f in seen["findings"]:
            self.assertEqual(f["confidence"], "low", f["id"])
            self.assertTrue(any("ends in the middle" in e for e in f["evidence"]), f["id"])
        if seen["ranks"][0]["steps"]["source"] != "structure":  # which are numbered from the first that was found
            for number, (idle, work) in steps.items():
                self.assertAlmostEqual(idle, whole[number][0], delta=1, msg=f"step {number}")
                self.assertEqual(work, whole[number][1], f"step {number}")
        if not device:
            self.assertIn("no GPU work up to there", seen["verdict"]["text"])
        elif not steps:
            self.assertIsNone(seen["ranks"][0]["step_breakdown"])
            self.assertEqual(seen["findings"], [])
            self.assertNotIn("idle for", seen["verdict"]["text"])
        return steps

    def test_every_place_of_a_trace_in_order(self) -> None:
        for rotated in (False, True):
            text = job(rotated)
            whole = shares(report(self.write(text, ".whole.json")))
            self.assertEqual(len(whole), STEPS)
            counts = []
            for percent in range(20, 100, 4):
                with self.subTest(rotated=rotated, percent=percent):
                    counts.append(len(self.holds(self.write(text[: len(text) * percent // 100]), whole)))
            self.assertEqual(counts, sorted(counts))
            self.assertEqual(counts[0], 0)
            self.assertGreaterEqual(counts[-1], STEPS - 2)

    def test_compressed(self) -> None:
        packed = gzip.compress(job(), mtime=0)
        whole = shares(report(self.write(packed, ".whole.json.gz")))
        for percent in (50, 70, 80, 90, 97):
            with self.subTest(percent=percent):
                self.holds(self.write(packed[: len(packed) * percent // 100], ".json.gz"), whole)

    def test_perfetto(self) -> None:
        path = self.folder / "whole.pftrace"
        self.assertEqual(run("export", self.write(job(), ".whole.json"), "-o", path, "-q")[0], 0)
        data, whole = path.read_bytes(), shares(report(path))
        for percent in (60, 75, 85, 92, 97, 99):
            with self.subTest(percent=percent):
                self.holds(self.write(data[: len(data) * percent // 100], ".pftrace"), whole)

    def test_a_stream_that_is_missing(self) -> None:
        """Two collectives of a step are few launches, and much of its time."""
        document = json.loads(job())
        events = document["traceEvents"]
        comm = [e for e in events if e.get("cat") == "kernel" and e["tid"] == 20]
        text = json.dumps({**document, "traceEvents": [e for e in events if e not in comm] + comm}).encode()
        self.assertEqual(self.holds(self.write(text[: text.index(b'"ncclDevKernel') - 60]), {}), {})

    def test_before_any_device_work(self) -> None:
        text = job()
        seen = report(self.write(text[: text.index(b'"cuda_runtime"') - 40]))
        self.assertIn("The file is cut", seen["verdict"]["text"])
        self.assertNotIn("This trace holds no GPU work", seen["verdict"]["text"])
        self.assertEqual(seen["verdict"]["confidence"], "low")

    def test_a_whole_file_loses_no_step(self) -> None:
        seen = report(self.write(job()))
        self.assertEqual((seen["ranks"][0]["steps"]["counted"], seen["verdict"]["confidence"]), (STEPS, "high"))

    def test_every_command_says_so(self) -> None:
        text = job()
        cut = self.write(text[: len(text) * 9 // 10])
        words = "the file ends in the middle, at byte"
        for command in (["report"], ["report", "--view", "ops"], ["check"], ["whatif", "-e", "launch=0"], ["query", None, "select 1"],
                        ["export", "-f", "chrome"], ["info"]):
            arguments = [cut if a is None else a for a in command[1:]]
            arguments = arguments if None in command else [cut, *arguments]
            with self.subTest(command=command):
                status, out, err = run(command[0], *arguments)
                self.assertEqual(status, 0 if command[0] != "check" else status, err)
                said = " ".join(out.decode(errors="replace").split()) if command[0] in ("report", "check", "info", "whatif") else err
                self.assertIn(words, said)
                self.assertEqual(run(command[0], *arguments, "--strict")[0], 4)
        self.assertEqual(run("view", cut, "--port", "0", "--strict")[0], 4)
        for command in (["check"], ["whatif", "-e", "launch=0"]):
            partial = json.loads(run(command[0], cut, *command[1:], "--json")[1])["partial"]
            self.assertEqual([p["file"] for p in partial], [str(cut)])

    def test_scale_says_so(self) -> None:
        text = json.loads(job())
        for n in (1, 2):
            (self.folder / str(n)).mkdir()
            for rank in range(n):
                whole = json.dumps({"distributedInfo": {"rank": rank, "world_size": n}, **text}).encode()
                (self.folder / str(n) / f"rank{rank}.json").write_bytes(whole if rank == 0 else whole[: len(whole) * 9 // 10])
        seen = json.loads(run("scale", self.folder / "1", self.folder / "2", "--json")[1])
        self.assertEqual([p["file"] for p in seen["partial"]], [str(self.folder / "2" / "rank1.json")])
        self.assertEqual(run("scale", self.folder / "1", self.folder / "2", "--strict")[0], 4)

    def test_nothing_is_priced_without_a_whole_step(self) -> None:
        text = job()
        cut = self.write(text[: len(text) * 36 // 100])
        self.assertEqual(report(cut)["ranks"][0]["steps"]["counted"], 0)
        status, _, err = run("whatif", cut, "-e", "launch=0")
        self.assertEqual(status, 2)
        self.assertIn("cut before the GPU work of any step is complete", err)
        limits = json.loads(run("check", cut, "--only-named", "--max", "idle=1%", "--json")[1])["limits"]
        self.assertEqual([c["state"] for c in limits], ["unknown"])

    def test_damage_in_the_middle(self) -> None:
        """Events that were lost make findings less sure, and are a reason for --strict."""
        text = job()
        holes = text.replace(b'"ts": 1', b'"ts": x1', 20)
        path = self.write(holes)
        seen = report(path)
        self.assertGreater(seen["ranks"][0]["quality"]["lost"], 10)
        self.assertNotIn("high", {f["confidence"] for f in seen["findings"]})
        self.assertEqual(run("check", path, "--only-named", "--strict")[0], 4)
        self.assertIn("events were lost", run("query", path, "select 1")[2])

    def test_real_traces(self) -> None:
        for name in REAL:
            found = sorted((SHARED / "traces/kineto" / name).glob("*.json.gz"))
            if not found:
                skip_loudly(f"shared/traces/kineto/{name} is not present")
                continue
            packed = found[0].read_bytes()
            text = gzip.decompress(packed)
            whole = shares(report(found[0]))
            for suffix, data in ((".json.gz", packed), (".json", text)):
                for percent in (50, 70, 90, 95):
                    with self.subTest(name=name, suffix=suffix, percent=percent):
                        self.holds(self.write(data[: len(data) * percent // 100], suffix), whole)

    def test_own_traces_without_a_device(self) -> None:
        text = read(OWN[0])
        whole = shares(report(OWN[0]))
        for percent in (60, 80, 95):
            seen = report(self.write(text[: len(text) * percent // 100]))
            self.assertEqual(seen["verdict"]["confidence"], "low")
            self.assertTrue(set(shares(seen)) <= set(whole))


if __name__ == "__main__":
    unittest.main()
