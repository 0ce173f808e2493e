# SPDX-License-Identifier: Apache-2.0
"""Files that end in the middle: what is said of them must be true of the whole file, or not be said."""
from __future__ import annotations

import gzip
import json
import pathlib
import re
import tempfile
import unittest
from typing import Any

from tests.program import OWN, SANITIZED, SHARED, read, real_traces, report, run, skip_loudly

STEPS, OPS, COLLECTIVES = 5, 40, 2
STEP_US = 10000
REAL = ("hta-nccl", "hta-ns-resolution", "tl-b200", "param-linear")


def job(rotated: bool = False, steps: int = STEPS, slow: bool = False) -> bytes:
    """A trace as Kineto writes it: operators of all steps, then the buffers of calls and kernels; 40 % busy, the rest idle."""
    host: list[dict[str, Any]] = []
    buffers: list[list[dict[str, Any]]] = []
    for step in range(steps):
        begin, records = step * STEP_US, []
        if slow:  # the first step takes as long as two
            begin = begin + STEP_US if step else -STEP_US
        host.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1, "ts": begin,
                     "dur": STEP_US * (1 + (slow and not step)) - 10})
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


def edited(text: bytes, host: list[dict[str, Any]], calls: list[dict[str, Any]], steps: int = STEPS, linked: int = 0) -> bytes:
    """Adds operators and calls to each step, times from its begin; the calls of the last `linked` steps have work."""
    document = json.loads(text)
    events = document["traceEvents"]
    number = 900000
    for step in range(steps):
        at = step * STEP_US
        events[:0] = [{"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1, **e, "ts": at + e["ts"]} for e in host]
        for e in calls:
            number += 1
            events.append({"ph": "X", "cat": "cuda_runtime", "pid": 1, "tid": 1, **e, "ts": at + e["ts"], "args": {"correlation": number}})
            if step >= steps - linked:
                events.append({"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy", "pid": 0, "tid": 7, "ts": at + e["ts"] + 20, "dur": 2,
                               "args": {"correlation": number, "device": 0, "stream": 7}})
    return json.dumps(document).encode()


def with_tail(text: bytes, tail: list[dict[str, Any]]) -> bytes:
    """Further events, and a member behind them."""
    document = json.loads(text)
    return json.dumps({**document, "traceEvents": document["traceEvents"] + tail, "traceName": "job.json"}).encode()


NAMES = [{"ph": "M", "name": "thread_name", "pid": 1, "tid": t, "args": {"name": f"thread {t}"}} for t in range(9)]
WINDOW_END = {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 99999999}


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
        self.assertTrue(any("the file is cut at byte" in r for r in seen["verdict"]["reasons"]), seen["verdict"])
        for f in seen["findings"]:
            self.assertEqual(f["confidence"], "low", f["id"])
            self.assertTrue(any("the file is cut at byte" in e for e in f["evidence"]), f["id"])
        if seen["ranks"][0]["steps"]["source"] != "structure":  # which are numbered from the first that was found
            for number, (idle, work) in steps.items():
                self.assertAlmostEqual(idle, whole[number][0], delta=1, msg=f"step {number}")
                self.assertEqual(work, whole[number][1], f"step {number}")
        if not device:
            self.assertIn("no GPU work before the cut", seen["verdict"]["text"])
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
        self.assertNotIn("This trace has no GPU work", seen["verdict"]["text"])
        self.assertEqual(seen["verdict"]["confidence"], "low")

    def test_a_whole_file_loses_no_step(self) -> None:
        seen = report(self.write(job()))
        self.assertEqual((seen["ranks"][0]["steps"]["counted"], seen["ranks"][0]["quality"]["is_truncated"]), (STEPS, False))
        self.assertNotIn("The file is cut", seen["verdict"]["text"])

    def test_every_command_says_so(self) -> None:
        text = job()
        cut = self.write(text[: len(text) * 9 // 10])
        words = "the file is cut at byte"
        for command in (["report"], ["report", "--view", "ops"], ["check", "--only-named"], ["whatif", "-e", "launch=0"], ["query", None, "select 1"],
                        ["export", "--format", "chrome"], ["info"]):
            arguments = [cut if a is None else a for a in command[1:]]
            arguments = arguments if None in command else [cut, *arguments]
            with self.subTest(command=command):
                status, out, err = run(command[0], *arguments)
                self.assertEqual(status, 0, err)
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
        self.assertIn("may be cut before the GPU operations of any step are complete", err)
        limits = json.loads(run("check", cut, "--only-named", "--max", "idle=1%", "--json")[1])["limits"]
        self.assertEqual([c["state"] for c in limits], ["unknown"])

    def test_only_what_comes_behind_the_events_is_missing(self) -> None:
        for steps in (1, STEPS):
            for tail in ([], NAMES, [WINDOW_END]):
                text = with_tail(job(steps=steps), tail)
                whole = shares(report(self.write(text, ".whole.json")))
                self.assertEqual(len(whole), steps)
                cuts = {"last byte": text[:-1], "member": text[:-14], "behind the list": text[: text.rindex(b"]") + 1]}
                if tail == [WINDOW_END]:
                    cuts["before the bracket"] = text[: text.rindex(b"]")]
                for where, cut in cuts.items():
                    for suffix, data in ((".json", cut), (".json.gz", gzip.compress(text, mtime=0)[:-4])):
                        with self.subTest(steps=steps, tail=len(tail), where=where, suffix=suffix):
                            path = self.write(data, suffix)
                            self.assertEqual(self.holds(path, whole), whole)
                            self.assertNotIn("cut before", report(path)["verdict"]["text"])

    def test_events_behind_the_end_of_the_window(self) -> None:
        """The mark counts only where nothing follows it."""
        text = job(steps=1)
        last = text.rindex(b'{"ph": "X"')
        for cut in (text[:last], text[: last + 40], text[:-2]):
            marked = cut[:last] + json.dumps(WINDOW_END).encode() + b", " + cut[last:]
            path = self.write(marked)
            self.assertEqual(len(self.holds(path, {0: (0, 0)}) if cut != text[:last] else {}), 0)
            self.assertEqual("may be cut before" in report(path)["verdict"]["text"], cut != text[:last])

    def test_operators_that_launch_now_and_then(self) -> None:
        """A copy from host to host launches nothing: twenty in a row are no hole."""
        copies = [{"name": "aten::copy_", "ts": 8600 + 20 * k, "dur": 10} for k in range(21)]
        call = {"name": "cudaMemcpyAsync", "ts": 8602, "dur": 5}
        text = with_tail(edited(job(), copies, [call], linked=STEPS), NAMES)
        whole = shares(report(self.write(text, ".whole.json")))
        self.assertEqual(len(self.holds(self.write(text[:-200]), whole)), STEPS - 1)

    def test_a_copy_that_never_has_work(self) -> None:
        copy = [{"name": "aten::to", "ts": 8600, "dur": 50}], [{"name": "cudaMemcpyAsync", "ts": 8602, "dur": 5}]
        for linked, lost in ((0, 1), (1, STEPS), (2, STEPS - 1)):  # of a kind that has work in other steps it is a loss
            text = with_tail(edited(job(), *copy, linked=linked), NAMES)
            whole = shares(report(self.write(text, ".whole.json")))
            with self.subTest(linked=linked):
                self.assertEqual(len(self.holds(self.write(text[:-200]), whole)), STEPS - lost)

    def test_a_hole_from_one_step_into_the_next(self) -> None:
        """No step is whole, so none shows what launches always."""
        document = json.loads(job(steps=2))
        host = [e for e in document["traceEvents"] if e["cat"] in ("user_annotation", "cpu_op")]
        work = [e for e in document["traceEvents"] if e not in host]
        third = len(work) // 6
        text = json.dumps({**document, "traceEvents": host + work[4 * third:] + work[: 2 * third]}).encode()
        self.assertEqual(self.holds(self.write(text[:-2]), {}), {})

    def test_selected_steps(self) -> None:
        """The warm-up is complete, and is told as from the whole file; a step that is not stays untold."""
        text = job(steps=6, slow=True)
        whole, cut = self.write(text, ".whole.json"), self.write(text[: len(text) * 9 // 10])
        seen, full = report(cut, "-s", "0..0"), report(whole, "-s", "0..0")
        self.assertEqual(report(cut)["ranks"][0]["steps"]["counted"], 4)
        self.assertTrue(seen["ranks"][0]["steps"]["list"][0]["is_warm_up"])
        said, whole_said = (re.split(r" Fix first| A guess", each["verdict"]["text"])[0] for each in (seen, full))
        self.assertEqual(said, whole_said)
        self.assertEqual(seen["ranks"][0]["steps"]["list"][0]["idle_ns"], full["ranks"][0]["steps"]["list"][0]["idle_ns"])
        for path in (cut, whole):
            limits = json.loads(run("check", path, "-s", "0..0", "--only-named", "--max", "idle=99%", "--json")[1])["limits"]
            self.assertEqual([c["state"] for c in limits], ["pass"], path)
        last = report(cut, "-s", "5..5")
        self.assertIn("may be cut before the GPU operations of the selected steps are complete", last["verdict"]["text"])
        self.assertEqual((last["findings"], last["ranks"][0]["step_breakdown"]), ([], None))
        self.assertIn("of the selected steps are complete", run("whatif", cut, "-s", "5..5", "-e", "launch=0")[2])

    def test_a_warm_up_alone_is_no_step(self) -> None:
        document = json.loads(job(steps=6, slow=True))
        lost = {1000 * step + 7 for step in range(1, 6)}
        events = [e for e in document["traceEvents"] if e["cat"] != "kernel" or e["args"]["correlation"] not in lost]
        text = json.dumps({**document, "traceEvents": events}).encode()
        seen = report(self.write(text[:-40]))
        steps = seen["ranks"][0]["steps"]
        self.assertEqual([(s["is_warm_up"], s["is_incomplete"]) for s in steps["list"]], [(True, False)] + [(False, True)] * 5)
        self.assertIn("cut before the GPU operations of any step but the warm-up are complete", seen["verdict"]["text"])
        self.assertEqual((seen["findings"], seen["ranks"][0]["step_breakdown"]), ([], None))

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

    def test_the_end_of_real_traces(self) -> None:
        found = [p for p in real_traces() if p.stat().st_size < 400_000 or (p.parent.name == "hta-negq" and not SANITIZED)]
        if not found:
            skip_loudly("shared/traces is not present")
        for path in found:
            packed = path.read_bytes()
            text = gzip.decompress(packed) if path.suffix == ".gz" else packed
            seen = report(path)
            whole, steps = shares(seen), seen["ranks"][0].get("steps") or {"counted": 0}
            for lost in (1, 300):
                with self.subTest(name=path.name, lost=lost):
                    cut = report(self.write(text.rstrip()[:-lost]))
                    if lost == 1:
                        said = cut["verdict"]["text"].replace("The file is cut and has no GPU work before the cut", "This trace has no GPU work")
                        self.assertEqual(said.split(".")[0], seen["verdict"]["text"].split(".")[0])
                    self.assertGreaterEqual(cut["ranks"][0]["steps"]["counted"], steps["counted"] - 1)
                    for number, (idle, work) in shares(cut).items():
                        self.assertAlmostEqual(idle, whole[number][0], delta=1)
                        self.assertEqual(work, whole[number][1])

    def test_own_traces_without_a_device(self) -> None:
        text = read(OWN[0])
        whole = shares(report(OWN[0]))
        for percent in (60, 80, 95):
            seen = report(self.write(text[: len(text) * percent // 100]))
            self.assertEqual(seen["verdict"]["confidence"], "low")
            self.assertTrue(set(shares(seen)) <= set(whole))


if __name__ == "__main__":
    unittest.main()
