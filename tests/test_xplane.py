# SPDX-License-Identifier: Apache-2.0
"""Profiles of XLA against a reading of their own: counts and sums by name, busy time, steps; and what damaged files get."""
from __future__ import annotations

import csv
import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests import xplane as xp
from tests.program import SHARED, report, run, skip_loudly

US = 1_000_000  # ps
REAL = sorted((SHARED / "traces/xplane").glob("*/*.xplane.pb"))
DAMAGED = sorted((SHARED / "traces/damaged").glob("*/*.xplane.pb"))


def sql(path: Any, text: str) -> list[dict[str, str]]:
    status, out, err = run("query", path, text, "--csv", "-q")
    assert status == 0, err
    return list(csv.DictReader(io.StringIO(out.decode())))


def gpu_job(steps: int = 5, is_annotated: bool = True) -> bytes:
    """A step of 1 ms launches a kernel and a copy; the kernel runs 100 us behind its launch.  XLA annotates launches by their operations."""
    host, gpu = xp.Plane("/host:CPU", {"process_id": 77}), xp.Plane("/device:GPU:0", {"device_vendor": "Nvidia", "core_count": 132, "memory_size": 80 << 30, "compute_cap_major": 9})
    marks, calls, kernels, copies = [], [], [], []
    for i in range(steps):
        at = i * 1000 * US
        marks += [host.event("train", at, 900 * US, {"step_num": i, "_r": 1}), host.event("$loop.py:12 step", at + US, 800 * US),
                  host.event("PjitFunction(f)", at + 2 * US, 300 * US), host.event("ParseArguments", at + 3 * US, 9 * US),
                  host.event("MemoryAllocation", at + 4 * US, 0, {"allocator_name": ("ref", "GPU_0_bfc"), "allocation_bytes": 4096, "bytes_allocated": 8192, "addr": 4096}),
                  host.event("MemoryDeallocation", at + 5 * US, 0, {"allocator_name": ("ref", "GPU_0_bfc"), "allocation_bytes": 4096, "bytes_allocated": 4096, "addr": 4096}),
                  host.event("$gc collect", at + 700 * US, 20 * US)]
        marks += [host.event("fusion.1", at + 19 * US, 12 * US)] if is_annotated else []
        calls += [host.event("loop_fusion", at + 20 * US, 10 * US, {"correlation_id": 2 * i + 1, "hlo_op": ("ref", "fusion.1"), "kernel_details": "regs:16 grid:8,1,1 block:256,1,1"}),
                  host.event("MemcpyH2D", at + 40 * US, 5 * US, {"correlation_id": 2 * i + 2, "memcpy_details": "kind_src:pageable kind_dst:device size:1024 dest:0 async:1"})]
        kernels += [gpu.event("loop_fusion", at + 120 * US + 499, 300 * US + 2, {"correlation_id": 2 * i + 1, "hlo_op": ("ref", "fusion.1"), "hlo_module": ("ref", "jit_f"),
                                                                                "kernel_details": "regs:16 static_shared:64 dynamic_shared:32 grid:8,2,1 block:256,1,1 occ_pct:50"})]
        copies += [gpu.event("MemcpyH2D", at + 90 * US, 10 * US, {"correlation_id": 2 * i + 2, "memcpy_details": "kind_src:pageable kind_dst:device size:1024 dest:0 async:1"})]
    host.line(7001, "python", marks).line(7002, "Host Threads/7002", calls)
    gpu.line(13, "Stream #13(Compute)", kernels).line(14, "Stream #14(MemcpyH2D)", copies)
    gpu.line(-559038737, "XLA Ops", [gpu.event("fusion.1", i * 1000 * US + 120 * US, 300 * US) for i in range(steps)])
    return xp.space(host, gpu, xp.Plane("Task Environment", {"profile_start_time": 1_700_000_000_000_000_000}))


def tpu_job(steps: int = 4) -> bytes:
    """A TPU alone: 1,000 us a step, of which a loop holds three fusions of 100 us 10 us apart; then 50 us of all-reduce."""
    tpu = xp.Plane("/device:TPU:0", {"device_type_string": "TPU v5e"})
    ops, modules, marks, beside = [], [], [], []
    for i in range(steps):
        at = i * 1000 * US
        marks.append(tpu.event(str(i), at, 900 * US))
        modules.append(tpu.event("jit_step(123)", at, 900 * US))
        ops.append(tpu.event("%while.2 = (f32[]) while(...)", at, 340 * US, shown="while.2", constant={"hlo_category": "while"}))
        ops += [tpu.event(f"%fusion.{k} = f32[8] fusion(...)", at + k * 110 * US, 100 * US, shown=f"fusion.{k}", constant={"hlo_category": "loop fusion"}) for k in range(3)]
        ops.append(tpu.event("%all-reduce.1 = f32[8] all-reduce(...)", at + 400 * US, 50 * US, shown="all-reduce.1", constant={"hlo_category": "all-reduce"}))
        ops.append(tpu.event("%outer.9 = custom-call(...)", at + 500 * US, 100 * US, shown="outer.9"))
        ops.append(tpu.event("%inner.9 = custom-call(...)", at + 540 * US, 20 * US, shown="inner.9"))
        beside.append(tpu.event("copy-start.3", at + 10 * US, 500 * US))
    tpu.line(1, "Steps", marks).line(2, "XLA Modules", modules).line(3, "XLA Ops", ops).line(4, "Async XLA Ops", beside)
    return xp.space(tpu)


class Xplane(unittest.TestCase):
    folder: tempfile.TemporaryDirectory[str]

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.at = Path(folder.name)

    def put(self, data: bytes, name: str = "a.xplane.pb") -> Path:
        path = self.at / name
        path.write_bytes(data)
        return path

    def test_gpu_job(self) -> None:
        path = self.put(gpu_job())
        whole = report(path)
        self.assertEqual((whole["inputs"][0]["tool"], whole["inputs"][0]["format"], whole["ranks"][0]["host"]), ("XLA profiler", "xplane", "node1"))
        slices = sql(path, "SELECT name, kind, start_ns, dur_ns, correlation FROM slice ORDER BY start_ns")
        kernel = [s for s in slices if s["kind"] == "kernel"]
        self.assertEqual([(s["name"], s["start_ns"], s["dur_ns"]) for s in kernel], [("loop_fusion", str(i * 1_000_000 + 120_000), "300001") for i in range(5)],
                         "both ends are rounded to the nearest ns")
        self.assertEqual({s["name"] for s in slices if s["kind"] == "memcpy"}, {"Memcpy HtoD (Pageable -> Device)"})
        self.assertEqual({s["name"] for s in slices if s["kind"] == "user_annotation"}, {f"train step {i}" for i in range(5)})
        self.assertEqual({s["name"] for s in slices if s["kind"] == "python_function"}, {"loop.py(12): step", "<built-in function collect>"})
        self.assertEqual({s["name"] for s in slices if s["kind"] == "driver"}, {"cuLaunchKernel", "cuMemcpyHtoDAsync"})
        self.assertEqual({s["name"] for s in slices if s["kind"] == "cpu_op"}, {"PjitFunction(f)", "ParseArguments", "fusion.1", "fusion.1 (jit_f)"})
        self.assertEqual(sum(s["kind"] == "gpu_user_annotation" for s in slices), 5, "operations on a GPU are its kernels once more")
        self.assertEqual([s["number"] for s in whole["ranks"][0]["steps"]["list"]], list(range(5)))

    def test_calls_and_annotations_of_one_thread(self) -> None:
        """Two lines are one thread where each launch lies in the annotation of its operation; lying in anything is not enough."""
        def threads(data: bytes) -> set[str]:
            return {r["track"] for r in sql(self.put(data), "SELECT DISTINCT track FROM slice WHERE kind IN ('driver', 'python_function')")}

        self.assertEqual(len(threads(gpu_job())), 1)
        self.assertEqual(len(threads(gpu_job(is_annotated=False))), 2)
        path = self.put(gpu_job())
        above = sql(path, "SELECT DISTINCT o.name FROM slice AS k JOIN slice AS c ON k.parent = c.id JOIN slice AS o ON c.parent = o.id WHERE k.kind = 'kernel'")
        self.assertEqual([r["name"] for r in above], ["fusion.1 (jit_f)"])

    def test_gpu_details(self) -> None:
        path = self.put(gpu_job())
        kernels = report(path)["ranks"][0]["kernels"]
        self.assertEqual([(k["name"], k["calls"]) for k in kernels], [("loop_fusion", 5)])
        ops = {o["name"]: o for o in report(path, "--top", "100")["ranks"][0]["operators"]}
        self.assertEqual(ops["fusion.1 (jit_f)"]["device_self_ns"], 5 * 300_001, "work belongs to the operation whose call launched it")
        _, out, _ = run("info", path)
        self.assertIn("steps       5", out.decode())
        self.assertIn("memory", out.decode())
        copies = report(path)["ranks"][0]["copies"]
        self.assertEqual([(c["bytes"], c["calls"]) for c in copies], [(5 * 1024, 5)])

    def test_tpu_job(self) -> None:
        """A loop is a note, an operation with another in it counts for what is its own, and marks of the device are the steps."""
        path = self.put(tpu_job())
        rows = sql(path, "SELECT name, kind, sum(dur_ns) AS ns, count(*) AS n FROM slice GROUP BY name, kind")
        got = {(r["name"], r["kind"]): (int(r["ns"]), int(r["n"])) for r in rows}
        self.assertEqual(got["while.2", "gpu_user_annotation"], (4 * 340_000, 4))
        self.assertNotIn(("while.2", "kernel"), got)
        for k in range(3):
            self.assertEqual(got[f"fusion.{k} [loop fusion]", "kernel"], (4 * 100_000, 4))
        self.assertEqual(got["outer.9", "kernel"], (4 * 80_000, 8))
        self.assertEqual(got["inner.9", "kernel"], (4 * 20_000, 4))
        self.assertEqual(got["all-reduce.1", "collective"], (4 * 50_000, 4))
        self.assertEqual(got["copy-start.3", "memcpy"], (4 * 500_000, 4))
        r = report(path)["ranks"][0]
        self.assertEqual([s["number"] for s in r["steps"]["list"]], list(range(4)))
        self.assertEqual(r["steps"]["source"], "annotation")
        status, out, err = run("report", path)
        self.assertEqual(status, 0, err)
        self.assertNotIn("torch", out.decode(), "advice of another framework")

    def test_marks_of_asynchronous_dispatch(self) -> None:
        """The host is done with a step of 1 ms after 50 us: a step lasts from mark to mark and has the work launched in it."""
        host, gpu = xp.Plane("/host:CPU", {"process_id": 77}), xp.Plane("/device:GPU:0")
        marks, calls, kernels = [], [], []
        for i in range(8):
            at = i * 1000 * US
            marks += [host.event("train", at, 50 * US, {"step_num": i, "_r": 1}), host.event("fusion.1", at + 9 * US, 12 * US)]
            calls.append(host.event("k", at + 10 * US, 10 * US, {"correlation_id": i + 1, "hlo_op": ("ref", "fusion.1"), "kernel_details": "regs:16 grid:8,1,1 block:256,1,1"}))
            kernels.append(gpu.event("k", at + 100 * US, 600 * US, {"correlation_id": i + 1, "kernel_details": "regs:16 grid:8,1,1 block:256,1,1"}))
        host.line(7001, "python", marks).line(7002, "Host Threads/7002", calls)
        gpu.line(13, "Stream #13(Compute)", kernels)
        path = self.put(xp.space(host, gpu))
        steps = report(path)["ranks"][0]["steps"]
        self.assertEqual((steps["source"], steps["count"], steps["counted"], steps["mean_ns"]), ("annotation", 8, 7, 1_000_000))
        self.assertEqual({s["device_slices"] for s in steps["list"]}, {1})
        self.assertNotIn("not captured: step marks", run("report", path)[1].decode())

    def waiting_job(self, with_device: bool, hole: str = "", works: bool | None = None) -> dict[str, Any]:
        """Of each ms the main thread is in a function for 100 us, then in nothing that is recorded, while a thread of XLA's works for 800."""
        host, gpu = xp.Plane("/host:CPU", {"process_id": 77}), xp.Plane("/device:GPU:0")
        main, other, kernels = [], [], []
        for i in range(8):
            at = i * 1000 * US
            main.append(host.event("PjitFunction(f)", at, 100 * US))
            main += [host.event(hole, at + 120 * US, 800 * US)] if hole else []
            main += [host.event("cuLaunchKernel", at + 930 * US, 10 * US, {"correlation_id": i + 1})] if with_device else []
            kernels.append(gpu.event("k", at + 950 * US, 40 * US, {"correlation_id": i + 1, "kernel_details": "regs:16 grid:8,1,1 block:256,1,1"}))
            other.append(host.event("ThunkExecutor::Execute", at + 110 * US, 800 * US))
        host.line(7001, "python", main).line(7003, "XLAEigen/7003", other if works or (works is None and not hole) else [])
        gpu.line(13, "Stream #13(Compute)", kernels)
        return report(self.put(xp.space(host, gpu) if with_device else xp.space(host)))

    def test_a_wait_for_threads_of_xla(self) -> None:
        """It is no time of which nothing was recorded, and the verdict, the causes of idle time and the findings agree."""
        for with_device in (False, True):
            whole = self.waiting_job(with_device)
            self.assertNotIn("unrecorded", [f["id"] for f in whole["findings"]], with_device)
        causes = {c["cause"]: c["time_ns"] for c in whole["ranks"][0]["idle"]["causes"]}
        self.assertGreater(causes["wait"], 5_000_000)
        self.assertLess(causes.get("unrecorded", 0), 1_000_000)
        self.assertIn("waits for another one", whole["verdict"]["text"])

    def test_a_wait_in_the_chrome_form(self) -> None:
        """Rows of XLA's threads have ranges there; those of another thread of Python's are no work that is waited for."""
        for row, is_priced in (("XLAEigen", False), ("python3", True)):
            events: list[dict[str, Any]] = [{"ph": "M", "pid": 7, "name": "process_name", "args": {"name": "/host:CPU"}}]
            for tid, name in ((1, "python"), (2, row)):
                events.append({"ph": "M", "pid": 7, "tid": tid, "name": "thread_name", "args": {"name": name}})
            for i in range(8):
                at = 1000 * i
                events += [{"ph": "X", "pid": 7, "tid": 1, "ts": at, "dur": 950, "name": "train", "args": {"step_num": str(i)}},
                           {"ph": "X", "pid": 7, "tid": 1, "ts": at + 1, "dur": 99, "name": "$loop.py:12 step"},
                           {"ph": "X", "pid": 7, "tid": 2, "ts": at + 105, "dur": 840, "name": "fusion"}]
            path = self.at / "a.trace.json.gz"
            path.write_bytes(gzip.compress(json.dumps({"displayTimeUnit": "ns", "traceEvents": events}).encode()))
            self.assertEqual("unrecorded" in [f["id"] for f in report(path)["findings"]], is_priced, row)

    def test_its_own_profiler_has_no_price(self) -> None:
        """Where the program would, the same time in another function of Python."""
        for hole, is_priced in (("$profiler.py:213 stop_trace", False), ("$data.py:213 fetch", True)):
            self.assertEqual("host-work" in [f["id"] for f in self.waiting_job(True, hole)["findings"]], is_priced, hole)

    def test_a_look_at_a_value(self) -> None:
        """float(x) waits until XLA's threads have computed it; what they do not work on costs what it takes."""
        for works, is_priced in ((True, False), (False, True)):
            found = self.waiting_job(True, "$array.py:615 _value", works)["findings"]
            self.assertEqual("host-work" in [f["id"] for f in found], is_priced, works)

    def test_two_hosts_are_two_ranks(self) -> None:
        self.put(gpu_job(), "a.xplane.pb")
        self.put(gpu_job(), "b.xplane.pb")
        for copy in ("a.trace.json.gz", "perfetto_trace.json.gz"):
            (self.at / copy).write_bytes(gzip.compress(b'{"traceEvents":[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":9,"cat":"cpu_op","name":"x"}]}'))
        self.assertEqual(len(report(self.at)["ranks"]), 2, "a Chrome trace of the same run is no rank")

    def chrome(self, device: str, rows: dict[int, tuple[str, str]]) -> Path:
        """Rows of a device, each with one event beneath the same launch; no event has a category."""
        events: list[dict[str, Any]] = [{"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}} for pid, name in ((1, device), (701, "/host:CPU"))]
        for tid, (row, name) in rows.items():
            events += [{"ph": "M", "pid": 1, "tid": tid, "name": "thread_name", "args": {"name": row}},
                       {"ph": "X", "pid": 1, "tid": tid, "ts": 100, "dur": 50, "name": name, "args": {"correlation_id": "9"}}]
        events += [{"ph": "X", "pid": 701, "tid": 5, "ts": 90, "dur": 5, "name": "cuLaunchKernel", "args": {"correlation_id": "9"}},
                   {"ph": "X", "pid": 701, "tid": 5, "ts": 80, "dur": 70, "name": "$a.py:7 f"}]
        events += [{"ph": "X", "pid": 701, "tid": 5, "ts": 70 + 200 * i, "dur": 190, "name": "train", "args": {"step_num": str(i)}} for i in range(4)]
        path = self.at / "a.trace.json.gz"
        path.write_bytes(gzip.compress(json.dumps({"displayTimeUnit": "ns", "traceEvents": events}).encode()))
        return path

    def test_chrome_form_of_a_gpu(self) -> None:
        """Rows of modules and operations hold the kernels of the streams once more."""
        path = self.chrome("/device:GPU:0", {13: ("Stream #13(Compute)", "fusion_kernel"), 2: ("XLA Modules", "jit_f"), 3: ("XLA Ops", "fusion.1"), 4: ("Steps", "0")})
        got = {(r["name"], r["kind"]) for r in sql(path, "SELECT name, kind FROM slice")}
        self.assertEqual({x for x in got if x[1] in ("kernel", "memcpy", "collective")}, {("fusion_kernel", "kernel")})
        self.assertLessEqual({("cuLaunchKernel", "runtime"), ("a.py(7): f", "python_function"), ("train step 3", "user_annotation")}, got)
        linked = sql(path, "SELECT c.name FROM slice AS k JOIN slice AS c ON k.parent = c.id WHERE k.kind = 'kernel'")
        self.assertEqual([r["name"] for r in linked], ["cuLaunchKernel"])
        self.assertEqual(report(path)["inputs"][0]["tool"], "XLA profiler")

    def test_a_remark_behind_a_gpu(self) -> None:
        for device, is_gpu in (("/device:GPU:0 (NVIDIA A100-SXM4-40GB)", True), ("/device:GPU:0 x", False)):
            path = self.chrome(device, {13: ("Stream #13(Compute)", "fusion_kernel"), 4: ("Steps", "0")})
            kernels = [r["name"] for r in sql(path, "SELECT name FROM slice WHERE kind = 'kernel'")]
            self.assertEqual(kernels, ["fusion_kernel"] if is_gpu else [])

    def test_marks_of_work_that_other_threads_do_later(self) -> None:
        """JAX on CPUs: the marks are 20 us apart, the work of each takes 5 ms; how long a step takes is not in the marks."""
        for is_waited_for in (False, True):
            host = xp.Plane("/host:CPU", {"process_id": 77})
            apart = 5100 if is_waited_for else 20
            host.line(1, "python", [host.event("train", i * apart * US, (5090 if is_waited_for else 15) * US, {"step_num": i, "_r": 1})
                                    for i in range(8)])
            host.line(2, "tf_XLAEigen/2", [host.event("fusion", (i * max(apart, 5010) + 9) * US, 5000 * US) for i in range(8)])
            path = self.put(xp.space(host), "a.xplane.pb")
            steps = report(path)["ranks"][0]["steps"]
            said = run("report", path, "-q")[1].decode()
            if is_waited_for:
                self.assertEqual(steps["source"], "annotation")
                self.assertAlmostEqual(steps["mean_ns"], 5_100_000, delta=10_000)
            else:
                self.assertNotEqual(steps["source"], "annotation")
                self.assertIn("marks end long before the work", said)

    def test_chrome_form_of_a_tpu(self) -> None:
        path = self.chrome("/device:TPU:0", {2: ("XLA Modules", "jit_f"), 3: ("XLA Ops", "all-reduce.1"), 4: ("Async XLA Ops", "copy-start.1"), 5: ("Steps", "0")})
        kinds = {r["name"]: r["kind"] for r in sql(path, "SELECT name, kind FROM slice")}
        self.assertEqual((kinds["all-reduce.1"], kinds["copy-start.1"], kinds["jit_f"]), ("collective", "memcpy", "other"))

    def test_exports_and_page(self) -> None:
        path = self.put(gpu_job())
        for form in ("chrome", "perfetto", "folded"):
            status, _, err = run("export", path, "--format", form, "--output", self.at / form)
            self.assertEqual(status, 0, err)
        status, _, err = run("report", path, "--html", self.at / "a.html")
        self.assertEqual(status, 0, err)
        self.assertIn("train step", (self.at / "a.html").read_text())

    def damaged(self, data: bytes, *words: str, name: str = "bad.xplane.pb") -> None:
        status, out, err = run("report", self.put(data, name), "-q")
        self.assertEqual(status, 3, err)
        self.assertEqual(len(err.strip().splitlines()), 1, err)
        for word in words:
            self.assertIn(word, err)

    def test_damage(self) -> None:
        whole = gpu_job()
        host = xp.Plane("/host:CPU").line(1, "python", [])
        self.damaged(xp.space(host), "no event with a length", "start_trace")
        self.damaged(xp.space(host)[:-3][:40], "cut or damaged")
        self.damaged(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x12\x09/host:CPU", "longer than the file")
        text = whole.decode("utf-8", errors="replace").encode()
        self.damaged(text, "U+FFFD", "binary data")
        r = report(self.put(whole[: len(whole) - 60], "cut.xplane.pb"))["ranks"][0]
        self.assertTrue(r["quality"]["is_truncated"], "a facts' plane is cut: the ones before it are whole")

    def test_hostile(self) -> None:
        """Ids of nothing, times beyond all years, negative lengths, names without end: counted, and no crash."""
        host = xp.Plane("/host:CPU", {"process_id": -1})
        good = host.event("f", US, US)
        events = [good, xp.message((1, 99), (2, US), (3, US)), xp.message((1, 1), (2, 5 * US), (3, -5)), xp.message((1, 1), (2, 1 << 62), (3, 1 << 62)),
                  xp.message((1, 1), (2, -(1 << 63)), (3, US)), xp.message((1, 1), (5, 7), (3, US)), b"\x08\xff", host.event("n" * 5000, 9 * US, US),
                  host.event("x", 10 * US, US, {"step_num": "seven"}), host.event("$" + "y" * 3000 + ".py:1 f", 12 * US, US)]
        host.line(-5, "python/", events, at_ns=1 << 62)
        r = report(self.put(xp.space(host, xp.Plane("/device:GPU:99999999999999"), xp.Plane("/device:TPU:x"))))["ranks"][0]
        self.assertLessEqual({"MALFORMED", "ABSURD_DURATION", "NEGATIVE_DURATION", "UNKNOWN_ID"}, {x["id"] for x in r["quality"]["reasons"]}, r["quality"])

    @unittest.skipUnless(REAL, "no real profiles")
    def test_real(self) -> None:
        """Kernels and copies by name and stream, and the device's busy time, as another reader has them."""
        for path in REAL:
            with self.subTest(path.name):
                want: dict[str, list[int]] = defaultdict(lambda: [0, 0])
                spans = defaultdict(list)
                n = 0
                for plane, line, _, name, start, end, stats in xp.read(path.read_bytes()):
                    n += 1
                    if plane.startswith("/device:GPU:") and line.startswith("Stream"):
                        key = {"MemcpyH2D": "Memcpy HtoD", "MemcpyD2H": "Memcpy DtoH"}.get(name, name)
                        want[key][0] += 1
                        want[key][1] += end - start
                        spans[plane].append((start, end))
                got = sql(path, "SELECT name, count(*) AS n, sum(dur_ns) AS ns FROM slice WHERE kind IN ('kernel', 'memcpy', 'memset', 'collective') GROUP BY name")
                self.assertEqual({r["name"]: int(r["n"]) for r in got}, {k: v[0] for k, v in want.items()})
                for r in got:
                    self.assertAlmostEqual(int(r["ns"]), want[r["name"]][1] / 1000, delta=want[r["name"]][0])
                self.assertEqual(report(path)["ranks"][0]["quality"]["events"], n)
                gpu = report(path)["ranks"][0]["gpu"]
                self.assertAlmostEqual(gpu["busy_ns"], xp.union_ps([x for s in spans.values() for x in s]) / 1000, delta=n)

    @unittest.skipUnless(DAMAGED, "no damaged profile")
    def test_mangled(self) -> None:
        for path in DAMAGED:
            self.damaged(path.read_bytes(), "U+FFFD", name=path.name)

    def test_jax(self) -> None:
        """A profile that JAX writes on this machine: steps, annotations and frames, in both of its files."""
        python = os.environ.get("HOLDUP_JAX_PYTHON") or sys.executable
        if subprocess.run([python, "-c", "import jax"], capture_output=True, check=False).returncode:
            skip_loudly("no jax: pip install jax in an environment, and set HOLDUP_JAX_PYTHON to its python")
            self.skipTest("no jax")
        job = ("import jax, jax.numpy as n, sys\nf = jax.jit(lambda x: n.tanh(x @ x))\nx = n.ones((200, 200))\nf(x).block_until_ready()\n"
               "with jax.profiler.trace(sys.argv[1]):\n for i in range(5):\n  with jax.profiler.StepTraceAnnotation('train', step_num=i):\n"
               "   with jax.profiler.TraceAnnotation('loader'): sum(range(50000))\n   f(x).block_until_ready()\n")
        subprocess.run([python, "-c", job, str(self.at)], check=True, capture_output=True, timeout=120, env={**os.environ, "JAX_PLATFORMS": "cpu"})
        pb, chrome = next(self.at.rglob("*.xplane.pb")), next(self.at.rglob("*.trace.json.gz"))
        want = sorted((s, e) for _, _, _, name, s, e, _ in xp.read(pb.read_bytes()) if name == "train")
        got = sql(pb, "SELECT start_ns, dur_ns FROM slice WHERE name LIKE 'train step %' ORDER BY start_ns")
        self.assertEqual([(int(r["start_ns"]), int(r["dur_ns"])) for r in got], [((s + 500) // 1000, (e + 500) // 1000 - (s + 500) // 1000) for s, e in want])
        for path in (pb, chrome):
            steps = report(path)["ranks"][0]["steps"]
            self.assertEqual([s["number"] for s in steps["list"]], list(range(5)), path.name)
            self.assertEqual({r["name"] for r in sql(path, "SELECT DISTINCT name FROM slice WHERE name = 'loader'")}, {"loader"})
        document = json.loads(gzip.decompress(chrome.read_bytes()))
        frames = sum(e.get("name", "").startswith("$") for e in document["traceEvents"])
        self.assertEqual(int(sql(chrome, "SELECT count(*) AS n FROM slice WHERE kind = 'python_function'")[0]["n"]), frames)
        shutil.rmtree(self.at / "plugins")


if __name__ == "__main__":
    unittest.main()
