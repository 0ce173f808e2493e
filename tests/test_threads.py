# SPDX-License-Identifier: Apache-2.0
"""Threads that are driven by the main one: backward() and the threads of the autograd engine, whatever share of the main thread's
silence they fill.  A few lines simulate a training loop; the truth is the same loop again without its loader."""
from __future__ import annotations

import json
import tempfile
import unittest
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.program import SHARED, report, run, skip_loudly

MAIN, ENGINE, ENGINE_2, OTHER = 100, 161, 162, 177
LAUNCH, LATENCY, GAP, RETURN = 6.0, 8.0, 1.0, 6.0       # µs: a launch call, to the start of its kernel, between two, return of a wait


@dataclass(frozen=True)
class Loop:
    """Times in µs."""
    loader: float = 4000
    before: float = 300                 # of Python that nobody recorded, in front of backward()
    lead: float = 60                    # until the engine's thread does something
    tail: float = 60                    # until the main thread goes on
    layers: int = 2
    kernel: float = 20
    op: float = 25                      # of the host, for each
    steps: int = 8
    syncs: bool = True                  # a value is read in each step
    names: bool = True                  # operators and annotations are recorded, not only calls
    passes: int = 1                     # forward and backward so many times a step
    between: float = 0                  # the main thread works so long in the middle of each backward pass
    engines: int = 1                    # devices, each with a thread of the engine
    marks: bool = True                  # steps are marked by the profiler
    other: str = ""                     # a thread that works on its own: "copies", "kernels", "watchdog"


class Trace:
    """Host threads, one stream for each device, and their events."""

    def __init__(self, loop: Loop) -> None:
        self.loop, self.events = loop, []
        self.now: dict[int, float] = {}
        self.free: dict[int, float] = {}
        self.correlation = self.sequence = 0

    def host(self, tid: int, category: str, name: str, start: float, end: float, **args: Any) -> None:
        if category.startswith("cuda") or self.loop.names:
            self.events.append({"ph": "X", "cat": category, "name": name, "pid": MAIN, "tid": tid, "ts": round(start, 3),
                                "dur": round(end - start, 3), "args": args})

    def launch(self, tid: int, device: int = 0, us: float | None = None, kind: str = "kernel", stream: int = 7) -> None:
        """A call, and its work."""
        at, us = self.now[tid], self.loop.kernel if us is None else us
        self.correlation += 1
        name = ("cudaLaunchKernel", "ampere_bf16_s16816gemm") if kind == "kernel" else ("cudaMemcpyAsync", "Memcpy HtoD (Pinned -> Device)")
        self.host(tid, "cuda_runtime", name[0], at, at + LAUNCH, correlation=self.correlation)
        key = device * 100 + stream
        start = max(at + LATENCY, self.free.get(key, -GAP) + GAP)
        self.free[key] = start + us
        self.events.append({"ph": "X", "cat": kind, "name": name[1], "pid": device, "tid": stream, "ts": round(start, 3), "dur": us,
                            "args": {"correlation": self.correlation, "device": device, "stream": stream,
                                     **({"bytes": 1 << 16} if kind != "kernel" else {"grid": [8, 1, 1], "block": [128, 1, 1]})}})
        self.now[tid] = at + LAUNCH

    def operator(self, tid: int, name: str, device: int = 0, **args: Any) -> None:
        at = self.now[tid]
        self.now[tid] += self.loop.op / 2
        self.launch(tid, device)
        self.now[tid] += self.loop.op / 2
        self.host(tid, "cpu_op", name, at, self.now[tid], **args)
        self.now[tid] += 1.5

    def node(self, tid: int, sequence: int, device: int = 0) -> None:
        """A node of the graph: gradients of the input and of the weights."""
        at = self.now[tid]
        self.now[tid] += 1
        for _ in range(2):
            self.operator(tid, "aten::mm", device)
        self.now[tid] += 1
        said = {"Sequence number": sequence, "Fwd thread id": 1}
        self.host(tid, "cpu_op", "autograd::engine::evaluate_function: MmBackward0", at, self.now[tid], **said)
        self.host(tid, "cpu_op", "MmBackward0", at + 0.5, self.now[tid] - 0.5, **said)
        self.now[tid] += 2

    def wait(self, tid: int) -> None:
        end = max([self.now[tid], *self.free.values()]) + RETURN
        self.correlation += 1
        self.host(tid, "cuda_runtime", "cudaDeviceSynchronize", self.now[tid], end, correlation=self.correlation)
        self.now[tid] = end

    def backward(self) -> None:
        loop = self.loop
        self.now[MAIN] += loop.before + loop.lead
        for number in range(loop.engines):
            tid = (ENGINE, ENGINE_2)[number]
            self.now[tid] = self.now[MAIN]
            for layer in range(loop.layers):
                if loop.between and layer == loop.layers // 2:
                    self.now[MAIN] = self.now[tid] + 30         # the engine hands a node on the CPU to who called it
                    self.host(MAIN, "cpu_op", "autograd::engine::evaluate_function: CopyBackwards", self.now[MAIN], self.now[MAIN] + loop.between,
                              **{"Sequence number": self.sequence, "Fwd thread id": 1})
                    self.now[tid] = self.now[MAIN] + loop.between + 30
                self.node(tid, self.sequence, number)
                self.sequence -= 1
            self.now[MAIN] = self.now[tid]
        self.sequence += loop.engines * loop.layers
        self.now[MAIN] += loop.tail

    def step(self, number: int) -> None:
        loop, began = self.loop, self.now[MAIN]
        self.now[MAIN] += 3
        if loop.loader:
            at = self.now[MAIN]
            self.now[MAIN] += loop.loader
            self.host(MAIN, "user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, self.now[MAIN])
        for _ in range(loop.passes):
            self.now[MAIN] += 5
            for device in range(loop.engines):
                for _ in range(loop.layers):
                    self.sequence += 1
                    self.operator(MAIN, "aten::linear", device, **{"Sequence number": self.sequence, "Fwd thread id": 0})
            self.backward()
        self.operator(MAIN, "aten::_foreach_add_")
        if loop.syncs:
            self.wait(MAIN)
        self.now[MAIN] += 3
        if loop.marks:
            self.host(MAIN, "user_annotation", f"ProfilerStep#{number}", began, self.now[MAIN])

    def others(self) -> None:
        """A thread with a rhythm of its own."""
        if not self.loop.other:
            return
        self.now[OTHER], end = 37.0, self.now[MAIN]
        while self.now[OTHER] < end:
            if self.loop.other == "watchdog":
                self.host(OTHER, "cuda_runtime", "cudaEventQuery", self.now[OTHER], self.now[OTHER] + 3)
            else:
                at = self.now[OTHER]
                self.launch(OTHER, us=15, kind="gpu_memcpy" if self.loop.other == "copies" else "kernel", stream=20)
                self.host(OTHER, "cpu_op", "aten::copy_", at - 5, self.now[OTHER] + 5)
            self.now[OTHER] += 431

    def play(self) -> float:
        """µs a step, of the later ones."""
        ends = []
        self.now[MAIN] = 0.0
        for number in range(self.loop.steps):
            self.step(number)
            ends.append(max([self.now[MAIN], *self.free.values()]))
        self.others()
        return (ends[-1] - ends[0]) / (len(ends) - 1)


def truth(loop: Loop) -> float:
    """What the loop would gain without its loader, in percent."""
    return 100 * (1 - Trace(replace(loop, loader=0)).play() / Trace(loop).play())


def write(loop: Loop, folder: str) -> Path:
    trace, path = Trace(loop), Path(folder) / "loop.json"
    trace.play()
    path.write_text(json.dumps({"deviceProperties": [{"id": n, "name": "NVIDIA A100-SXM4-80GB"} for n in range(loop.engines)],
                                "traceEvents": trace.events}))
    return path


def priced(loop: Loop, edit: str = "data=0") -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        status, out, err = run("whatif", write(loop, folder), "--json", "-e", edit)
    assert status == 0, err
    return json.loads(out)["edits"][0]


class Backward(unittest.TestCase):
    def holds(self, loop: Loop, points: float = 1.0) -> None:
        said, true = priced(loop)["gain_pct"], truth(loop)
        self.assertAlmostEqual(said, true, delta=points, msg=str(loop))

    def test_small_models(self) -> None:
        """Two layers: backward is 0.2 ms of a silence of 0.4 to 2.6 ms."""
        for loader in (4000, 6000):
            self.holds(Loop(loader=loader))
            self.holds(Loop(loader=loader, before=0, lead=20, tail=20))

    def test_lead_and_tail(self) -> None:
        for lead in (0, 50, 150, 300, 1000):
            for tail in (0, 50, 150, 300, 1000):
                with self.subTest(lead=lead, tail=tail):
                    self.holds(Loop(lead=lead, tail=tail, before=0))

    def test_time_before_backward(self) -> None:
        for before in (0, 100, 300, 1000, 5000):
            for layers in (2, 6, 24):
                with self.subTest(before=before, layers=layers):
                    self.holds(Loop(before=before, layers=layers))

    def test_kernels_of_any_length(self) -> None:
        for kernel, syncs in ((3, True), (30, True), (300, True), (1500, True), (3, False), (30, False), (300, False)):
            with self.subTest(kernel=kernel, syncs=syncs):
                self.holds(Loop(kernel=kernel, layers=6, syncs=syncs))

    def test_two_passes_a_step(self) -> None:
        for lead in (0, 200, 1000):
            self.holds(Loop(passes=2, lead=lead, tail=lead, layers=4))
            self.holds(Loop(passes=4, lead=lead, tail=lead, layers=2))

    def test_the_main_thread_works_in_between(self) -> None:
        for between in (5, 40, 400):
            self.holds(Loop(between=between, layers=6, lead=200, tail=200))

    def test_two_devices(self) -> None:
        for lead in (20, 200, 1000):
            self.holds(Loop(engines=2, layers=4, lead=lead, tail=lead))

    def test_only_calls_are_recorded(self) -> None:
        """Nothing says which thread is which, but the other one never works beside the main thread; the loader is launches'."""
        loop = Loop(names=False, lead=300, tail=300, layers=6)
        with tempfile.TemporaryDirectory() as folder:
            path = write(loop, folder)
            first = report(path)["ranks"][0]["replay"]
        self.assertLess(abs(first["error_pct"]), 1)

    def test_threads_of_their_own(self) -> None:
        for other in ("copies", "kernels", "watchdog"):
            with self.subTest(other=other):
                self.holds(Loop(other=other, layers=6, lead=150, tail=150), 2.0)


class MainThread(unittest.TestCase):
    def test_it_takes_batches_although_backward_launches_more(self) -> None:
        """No marks of the profiler: steps begin with the loader.  The engine's thread launches 24 kernels a step, the main thread 13."""
        loop = Loop(marks=False, layers=12, before=50, lead=50, tail=50)
        with tempfile.TemporaryDirectory() as folder:
            first = report(write(loop, folder))["findings"][0]
        self.assertEqual(first["id"], "data-loading")
        self.assertAlmostEqual(first["gain_free_pct"], truth(loop), delta=1.5)

    def test_a_real_one(self) -> None:
        """A ResNet whose steps begin with its loader: the mean of 28 steps is 322 ms, 203 of them in the loader."""
        path = SHARED / "traces/kineto/param-resnet-2023/resnet_kineto.json.gz"
        if not path.exists():
            skip_loudly(f"{path} is not there")
            self.skipTest("no real trace")
        first = report(path)["findings"][0]
        self.assertEqual(first["id"], "data-loading")
        self.assertAlmostEqual(first["gain_pct"], 50.9, delta=1)


# Frames in which a thread waits, as the profiler writes them, and others that look like them.
WAITS = (
    "queue.py(171): get", "/usr/lib/python3.11/queue.py(154): get", "threading.py(327): wait", "threading.py(1119): join",
    "threading.py(1132): _wait_for_tstate_lock", "selectors.py(451): select", "concurrent/futures/_base.py(428): result",
    "multiprocessing/connection.py(253): poll", "multiprocessing/connection.py(1136): wait", "multiprocessing/synchronize.py(94): acquire",
    "<built-in method poll of select.epoll object at 0x7f1bafe38dd0>", "<built-in method poll of select.poll object at 0x7f1bafe38dd0>",
    "<built-in method acquire of _thread.lock object at 0x7ce2864e5ac0>", "<built-in method get of _queue.SimpleQueue object at 0x7f1b>",
    "<built-in method recv of _socket.socket object at 0x7f1b>", "<built-in function select>", "<built-in function sleep>",
)
WORKS = (
    "engine/queue.py(30): put", "myqueue.py(171): get", "asyncio/base_events.py(1894): _run_once", "asyncio/events.py(84): _run", "server.py(12): wait",
    "torch/cuda/streams.py(193): wait", "<built-in method wait of Event object at 0x7f1bafe38dd0>", "<built-in method get of dict object at 0x7f1b>",
    "<built-in method index_select of type object at 0x7f61e5026e80>", "cuda_graph_runner.py(1147): run_once", "<built-in method join of str object at 0x1>",
)


class Waiting(unittest.TestCase):
    def server(self, frame: str, kernels: int = 0, call: str = "engine/server.py(40): loop") -> Path:
        """Four threads, each in one frame for 23.9 s; a fifth of them does nothing else.  Kernels come at the beginning."""
        events: list[dict[str, Any]] = []
        for thread in range(4):
            tid = MAIN + thread
            for category, name, start, us in (("python_function", "threading.py(1002): _bootstrap", 0, 23.9e6), ("python_function", call, 1, 23.9e6 - 2),
                                              ("python_function", frame, 2e4, 23.9e6 - 4e4)):
                events.append({"ph": "X", "cat": category, "name": name, "pid": MAIN, "tid": tid, "ts": start, "dur": us, "args": {}})
        for number in range(kernels):
            at = 100 + 100.0 * number if number < kernels - 1 else 23.9e6 - 1000
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": MAIN, "tid": MAIN, "ts": at, "dur": 6,
                           "args": {"correlation": number + 1}})
            events.append({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": at + 8, "dur": 20,
                           "args": {"correlation": number + 1, "device": 0, "stream": 7}})
        path = Path(tempfile.mkdtemp()) / "server.json"
        self.addCleanup(path.parent.rmdir)
        self.addCleanup(path.unlink)
        path.write_text(json.dumps({"traceEvents": events}))
        return path

    def test_frames_that_wait(self) -> None:
        for frame in WAITS:
            with self.subTest(frame=frame):
                said = report(self.server(frame))["ranks"][0]["step_breakdown"]
                self.assertEqual(said["host_wait_ns"], 23_860_000_000)
                self.assertEqual(said["categories"]["cpu_exec_ns"], 40_000_000)

    def test_frames_that_work(self) -> None:
        for frame in WORKS:
            with self.subTest(frame=frame):
                said = report(self.server(frame))["ranks"][0]["step_breakdown"]
                self.assertEqual((said["host_wait_ns"], said["categories"]["cpu_exec_ns"]), (0, 23_900_000_000))

    def test_a_server_without_requests(self) -> None:
        said = report(self.server("queue.py(171): get"))
        self.assertIn("waiting for requests, queues, locks or other threads takes 99.8 %", said["verdict"]["text"])
        self.assertNotIn("operators and Python", said["verdict"]["text"])

    def test_a_device_without_requests(self) -> None:
        said = report(self.server("<built-in method poll of select.poll object at 0x7f1b>", kernels=20))
        self.assertIn("every Python thread waits: for requests, a queue", said["verdict"]["text"])
        causes = {c["cause"]: c for c in said["ranks"][0]["idle"]["causes"]}
        self.assertGreater(causes["wait"]["time_ns"], 23_000_000_000)
        # nothing that launches faster shortens a wait for others
        self.assertEqual([f for f in said["findings"] if (f["gain_pct"] or 0) > 5], [])

    def test_one_thread_works_beside(self) -> None:
        """Waiting is what is left when nobody does anything."""
        path = self.server("queue.py(171): get")
        trace = json.loads(path.read_text())
        trace["traceEvents"].append({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": MAIN, "tid": 500, "ts": 1e6, "dur": 5e6, "args": {}})
        path.write_text(json.dumps(trace))
        said = report(path)["ranks"][0]["step_breakdown"]
        self.assertEqual((said["host_wait_ns"], said["categories"]["cpu_exec_ns"]), (18_860_000_000, 5_040_000_000))


if __name__ == "__main__":
    unittest.main()
