# SPDX-License-Identifier: Apache-2.0
"""Chrome traces of other writers than torch.profiler of today."""
from __future__ import annotations

import gzip
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import run


def slice_of(name: str, at: float, us: float, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": at, "dur": us, **more}


class Chrome(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def write(self, text: str | bytes | list[dict[str, Any]] | dict[str, Any], name: str = "trace.json") -> Path:
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode() if isinstance(text, str) else json.dumps(text).encode())
        return path

    def json(self, path: Path, *arguments: str) -> dict[str, Any]:
        status, out, err = run("report", path, "--json", *arguments)
        self.assertEqual(status, 0, err)
        seen: dict[str, Any] = json.loads(out)
        return seen

    def text(self, path: Path, *arguments: str) -> str:
        return " ".join(run("report", path, *arguments)[1].decode().split())


class Lists(Chrome):
    """Of events without an object around them the last bracket may be missing."""
    EVENTS = ",\n".join(json.dumps(slice_of("aten::add", 10 * i, 5)) for i in range(50))

    def is_cut(self, data: str | bytes, name: str = "trace.json") -> bool:
        path = self.write(data, name)
        seen = json.loads(run("info", path, "--json")[1])
        cut: bool = seen["is_truncated"]
        self.assertEqual("cut at byte" in self.text(path), cut)
        return cut

    def test_no_last_bracket(self) -> None:
        for tail in ("", "\n", ",", ",\n", ",]", "]", "\n]\n"):
            with self.subTest(tail):
                text = f"[{self.EVENTS}{tail}"
                self.assertFalse(self.is_cut(text))
                self.assertFalse(self.is_cut(gzip.compress(text.encode()), "trace.json.gz"))
                self.assertEqual(json.loads(run("info", self.folder / "trace.json", "--json")[1])["events"]["total"], 50)

    def test_cut_within_an_event(self) -> None:
        for tail in (self.EVENTS[:-1], self.EVENTS[:-20], self.EVENTS + ",{", self.EVENTS + ',\n{"ph": "X"', self.EVENTS + ', {"ph": "X", "name": "a'):
            self.assertTrue(self.is_cut("[" + tail), tail[-20:])

    def test_a_stream_that_breaks_is_cut(self) -> None:
        """Where the text that could be unpacked happens to end behind an event, too."""
        whole = gzip.compress(f"[{self.EVENTS}".encode(), mtime=0)
        self.assertTrue(self.is_cut(whole[:-4], "trace.json.gz"))

    def test_of_an_object_it_is_missing(self) -> None:
        self.assertTrue(self.is_cut(f'{{"traceEvents": [{self.EVENTS}'))
        self.assertTrue(self.is_cut(f'{{"traceEvents": [{self.EVENTS},'))


def half(ph: str, name: str, at: float, number: Any, **more: Any) -> dict[str, Any]:
    return {"ph": ph, "cat": "COLL", "name": name, "pid": 7, "tid": 1, "ts": at, "id": number, **more}


class Asynchronous(Chrome):
    NAME = {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "rank 0"}}

    def test_of_them_alone_what_is_there(self) -> None:
        """Operations overlap, nest with one id, and end in any order; numbers and texts are ids."""
        for begin, end in (("b", "e"), ("S", "F")):
            events = [half(begin, "AllReduce", 0, 1), half(begin, "AllReduce", 100, "0x2"), half(begin, "Send", 150, 1), half(end, "AllReduce", 1000, 1),
                      half(end, "Send", 1150, 1), half(end, "AllReduce", 3100, "0x2"), half(begin, "Never", 5, 9), half(end, "Nothing", 6, 8)]
            for more in ([], [self.NAME]):
                with self.subTest(begin=begin, more=more):
                    path = self.write(more + events)
                    text = self.json(path)["verdict"]["text"]
                    self.assertIn("the trace has 3 events with a duration, and none is known as GPU work", text)
                    self.assertIn("AllReduce (4.00 ms in 2), Send (1.00 ms in 1)", text)
                    self.assertEqual(self.json(path)["ranks"][0]["quality"]["lost"], 0)

    def test_halves_are_told_apart_from_durations(self) -> None:
        """Three events with a duration are six in the file: each number says of what it is."""
        halves = [{"ph": ph, "cat": "app", "name": f"f{i}", "pid": 1, "tid": 1, "ts": 100 * i + 50 * (ph == "E")} for i in range(3) for ph in "BE"]
        text = self.text(self.write(halves))
        self.assertIn("the trace has 3 events with a duration, and none is known", text)
        self.assertIn("6 events read", text)

    def test_ids_of_processes_and_scopes_differ(self) -> None:
        events = [half("b", "a", 0, 1), half("b", "a", 10, 1, pid=8), half("b", "a", 20, 1, scope="x"), half("e", "a", 1000, 1), half("e", "a", 2010, 1, pid=8),
                  half("e", "a", 3020, 1, scope="x")]
        self.assertIn("a (6.00 ms in 3)", self.json(self.write(events))["verdict"]["text"])
        local = [{**half("b", "a", 10 * i, 0), "id2": {"local": hex(i)}} for i in range(3)]
        ends = [{**half("e", "a", 10 * i + 1000 * (i + 1), 0), "id2": {"local": hex(i)}} for i in range(3)]
        self.assertIn("a (6.00 ms in 3)", self.json(self.write(local + ends))["verdict"]["text"])

    def test_beside_slices_they_are_counted(self) -> None:
        events = [half("b", "request", 0, 1), slice_of("aten::add", 10, 5), half("e", "request", 90000, 1)]
        for order in (events, [events[0], events[2], events[1]], events[::-1]):
            path = self.write(order)
            self.assertNotIn("request", self.text(path))
            self.assertIn("2 events kept: of asynchronous operations", self.text(path))

    def test_marks_alone_are_refused(self) -> None:
        status, _, err = run("report", self.write([half("n", "a", 1, 1), half("e", "a", 1, 1)]))
        self.assertEqual(status, 3)
        self.assertIn("none of 2 elements is a slice", err)

    def test_in_a_large_file(self) -> None:
        """Which is read in pieces, by several threads."""
        events = []
        for i in range(20000):
            events += [half("b", f"op {i % 7}", 10 * i, i), half("e", f"op {i % 7}", 10 * i + 1000, i)]
        text = self.json(self.write(events))["verdict"]["text"]
        self.assertIn("the trace has 20,000 events with a duration", text.replace("20000", "20,000"))
        self.assertIn("op 0 (2.86 s in 2858)", text.replace("2,858", "2858"))


class PythonProfilers(Chrome):
    """Call trees of Python's functions, by profilers that know nothing else."""

    def functions(self, path: Path) -> list[list[str]]:
        status, out, err = run("query", path, "select s.name, s.kind, s.dur_ns, p.name from slice s left join slice p on p.id = s.parent order by s.start_ns, s.dur_ns desc", "--csv")
        self.assertEqual(status, 0, err)
        return [line.split(",") for line in out.decode().splitlines()[1:]]

    def test_viztracer(self) -> None:
        """Its functions are named as torch.profiler names them; those in C, and names that only look so, keep theirs."""
        for category in ("fee", "FEE"):
            called = [("<module> (/a b/t (1).py:1)", 0, 900), ("A.step (/a b/t (1).py:12)", 10, 800), ("time.sleep", 20, 700), ("odd (/a)", 30, 5), ("odd (x:)", 40, 5), ("odd", 50, 5)]
            path = self.write({"traceEvents": [{"ph": "X", "cat": category, "name": n, "pid": 1, "tid": 1, "ts": at, "dur": us} for n, at, us in called], "viztracer_metadata": {"version": "1.1.1"}})
            rows = self.functions(path)
            self.assertEqual([(r[0], r[1], r[2]) for r in rows],
                             [("/a b/t (1).py(1): <module>", "python_function", "900000"), ("/a b/t (1).py(12): A.step", "python_function", "800000"),
                              ("time.sleep", "python_function", "700000"), ("odd (/a)", "python_function", "5000"), ("odd (x:)", "python_function", "5000"), ("odd", "python_function", "5000")])
            self.assertEqual([r[3] for r in rows[:3]], ["", rows[0][0], rows[1][0]])
            self.assertNotIn("Nobody can tell", self.text(path))
            self.assertIn("Python code take", self.text(path))

    def test_pyspy(self) -> None:
        """Of begins and ends; the last function that ends may begin again at once."""
        events = []
        for name, begin, end in (("main", 0, 900), ("load", 0, 400), ("step", 400, 900)):
            events += [{"ph": ph, "cat": "py-spy", "name": name, "pid": 1, "tid": 139974565284736, "ts": at, "args": {"filename": "/a/t.py", "line": 5}} for ph, at in (("B", begin), ("E", end))]
        order = [events[0], events[2], events[3], events[4], events[5], events[1]]
        path = self.write(order)
        self.assertEqual(self.functions(path), [["main", "python_function", "900000", ""], ["load", "python_function", "400000", "main"], ["step", "python_function", "500000", "main"]])
        self.assertNotIn("Nobody can tell", self.text(path))


class FirstProfiler(Chrome):
    """PyTorch up to 1.7: operators, what they launched as "CUDA functions", and flows between the two."""

    def events(self, steps: int = 6) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        at = 100.5
        for i in range(steps):
            for name, inner in (("linear", "addmm"), ("relu", "")):
                ops = [(name, at, 80.25), (inner, at, 60.5)] if inner else [(name, at, 80.25)]
                for op, begin, us in ops:
                    events.append({"name": op, "ph": "X", "ts": begin, "dur": us, "tid": 1, "pid": "CPU functions", "args": {}})
                op = inner or name
                number, start = len(events), at + 30.125
                events.append({"name": op, "ph": "s", "ts": at, "tid": 1, "pid": "CPU functions", "id": number, "cat": "cpu_to_cuda", "args": {}})
                events.append({"name": "volta_" + op, "ph": "f", "ts": start, "tid": 0, "pid": "CUDA functions", "id": number, "cat": "cpu_to_cuda", "args": {}})
                events.append({"name": "volta_" + op, "ph": "X", "ts": start, "dur": 50, "tid": 0, "pid": "CUDA functions", "args": {}})
                at += 100.5
        return events

    def test_kernels_belong_to_operators(self) -> None:
        """Of two operators that begin together, to the one with the flow's name; in whatever order the events stand."""
        for events in (self.events(), self.events()[::-1]):
            ops = {o["name"]: o for o in self.json(self.write(events))["ranks"][0]["operators"]}
            self.assertEqual({n: (o["device_self_ns"], o["device_total_ns"]) for n, o in ops.items()},
                             {"linear": (0, 300000), "addmm": (300000, 300000), "relu": (300000, 300000)})

    def test_in_a_large_file(self) -> None:
        """Which is read in pieces."""
        ops = {o["name"]: o for o in self.json(self.write(self.events(3000)))["ranks"][0]["operators"]}
        self.assertEqual(ops["addmm"]["device_self_ns"], 3000 * 50000)

    def test_a_flow_without_its_other_end(self) -> None:
        events = [e for e in self.events() if e["ph"] != "s"]
        ops = self.json(self.write(events))["ranks"][0]["operators"]
        self.assertEqual(sum(o["device_total_ns"] for o in ops), 0)


def rows(pid: int, process: str, *threads: str) -> list[dict[str, Any]]:
    return [{"ph": "M", "pid": pid, "name": "process_name", "args": {"name": process}}] + \
        [{"ph": "M", "pid": pid, "tid": i + 1, "name": "thread_name", "args": {"name": name}} for i, name in enumerate(threads)]


def bare(pid: int, tid: int, name: str, at: int, us: int, **arguments: Any) -> dict[str, Any]:
    return {"ph": "X", "pid": pid, "tid": tid, "name": name, "ts": at, "dur": us, "args": arguments}


class Xla(Chrome):
    """What JAX writes beside its .xplane.pb: no categories."""

    def gpu(self, apart: int, work: int, steps: int = 8) -> Path:
        """Marks so far apart; each launches four kernels that take `work` in all; nobody says which launch is whose."""
        events, free = rows(1, "/device:GPU:0", "Stream #1(Compute)") + rows(701, "/host:CPU", "python"), 0
        for i in range(steps):
            at = 1000 + i * apart
            events.append(bare(701, 1, "train", at, apart - 10, step_num=str(i)))
            for k in range(4):
                start = max(free, at + 80 + 100 * k)
                free = start + work // 4
                events.append(bare(701, 1, "cuLaunchKernel", at + 20 + 100 * k, 50, correlation_id="0"))
                events.append(bare(1, 1, f"loop_fusion_{k}", start, work // 4, correlation_id="0"))
        return self.write(events)

    def test_marks_that_the_gpu_outlives(self) -> None:
        """The host runs ahead of a GPU that needs eight times as long, and nothing links the two: its work tells the step."""
        path = self.gpu(1000, 8000)
        steps = self.json(path)["ranks"][0]["steps"]
        self.assertEqual((steps["source"], steps["mean_ns"]), ("structure", 8_000_000))
        self.assertIn("the marks end long before the work does", self.text(path))

    def test_marks_that_it_keeps_up_with(self) -> None:
        steps = self.json(self.gpu(10000, 8000))["ranks"][0]["steps"]
        self.assertEqual((steps["source"], steps["what"]), ("annotation", "train step"))
        self.assertAlmostEqual(steps["mean_ns"], 10e6, delta=20000)

    def test_no_backlog_is_told_where_nothing_links(self) -> None:
        events = rows(1, "/device:GPU:0", "Stream #1(Compute)") + rows(701, "/host:CPU", "python")
        for i in range(-1, 4):
            at = 20000 + 10000 * i
            if i >= 0:
                events.append(bare(701, 1, "train", at, 9990, step_num=str(i)))
            events += [bare(1, 1, f"loop_fusion_{k}", at + (9000 if i < 3 else 100) + 2400 * k, 2390, correlation_id=0) for k in range(4)]
        text = self.text(self.write(events))
        self.assertNotIn("backlog", text)
        self.assertIn("no GPU operation says which step launched it", text)

    def test_a_tpu_marks_its_steps(self) -> None:
        for device in (0, 5):
            events = rows(3, f"/device:TPU:{device}", "Steps", "XLA Modules", "XLA Ops") + rows(701, "/host:CPU", "python")
            for i in range(8):
                at = 1000 + 10000 * i + (500 if i % 2 else 0)
                events += [bare(3, 1, str(i + 40), at, 9000), bare(3, 2, "jit_train_step(123)", at, 9000), bare(701, 1, "PjitFunction(train_step)", at - 900, 400)]
                events += [bare(3, 3, name, at + 2200 * k, 2000) for k, name in enumerate(("fusion.1", "convolution.2", "all-reduce.3", f"copy.{i}"))]
            path = self.write(events)
            seen = self.json(path)["ranks"][0]
            self.assertEqual((seen["steps"]["source"], seen["steps"]["count"]), ("annotation", 8))
            self.assertEqual([s["number"] for s in seen["steps"]["list"]], list(range(40, 48)))
            self.assertEqual({s["device_slices"] for s in seen["steps"]["list"]}, {4})
            self.assertTrue(self.text(path).startswith("trace.json · TPU "))
            self.assertNotIn("step marks", self.text(path))


if __name__ == "__main__":
    unittest.main()
