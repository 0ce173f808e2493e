# SPDX-License-Identifier: Apache-2.0
"""Files of several kinds about one run: a trace with reports of Nsight Compute, memory snapshots and Flight Recorder dumps beside it."""
import json
import pickle
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.ncu_report import Launch, binary, raw
from tests.program import OWN, report, run
from tests.test_flight import START, Rank, WORLD
from tests.test_ncu import DRAM, L1, L2, MEMORY, SM, TIME
from tests.test_schema import SCHEMA, jsonschema
from tests.test_snapshot import MIB, MODEL, record, segment

GPU = "NVIDIA A10G"
NAME = "device__attribute_display_name"
BASE = 1_700_000_000_000_000_000
STEPS, STEP_US = 4, 1000
# As __cxa_demangle and as NVIDIA's demangler spell them, seen in real traces of both; the shape; µs in the job, launches in a step.
SOFTMAX = ("void (anonymous namespace)::softmax_warp_forward<c10::Half, float, float, 6, false, false>(float*, c10::Half const*, int, bool const*)",
           "void <unnamed>::softmax_warp_forward<c10::Half, float, float, (int)6, (bool)0, (bool)0>(T2 *, const T1 *, int, const bool *)")
COPY = ("void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)"
        "::{lambda()#3}::operator()() const::{lambda(float)#1}>(at::TensorIteratorBase&, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)"
        "::{lambda()#3}::operator()() const::{lambda(float)#1} const&)::{lambda(int)#1}>(int, at::native::gpu_kernel_impl<float>)",
        "void at::native::elementwise_kernel<(int)128, (int)4, void at::native::gpu_kernel_impl<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)"
        "::[lambda() (instance 3)]::operator ()() const::[lambda(float) (instance 1)]>(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)")
GEMM = ("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn")
KERNELS = ((GEMM, (24, 8, 1), (128, 1, 1), 100, 2), (SOFTMAX, (64, 1, 1), (128, 1, 1), 50, 1), (COPY, (256, 1, 1), (128, 1, 1), 25, 1))


def trace(rank: int = 0, world: int = 8, device: int = 0, base: int = BASE) -> dict[str, Any]:
    """Steps of 1 ms, whose kernels are launched ahead."""
    events: list[dict[str, Any]] = []
    number = 0
    for step in range(STEPS):
        at = 10 + step * STEP_US
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1, "ts": at, "dur": STEP_US})
        on_gpu = at + 20
        for (name, _), grid, block, us, calls in KERNELS:
            for _ in range(calls):
                number += 1
                events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 5, "dur": 2, "args": {"correlation": number}})
                events.append({"ph": "X", "cat": "kernel", "name": name, "pid": device, "tid": 7, "ts": on_gpu, "dur": us,
                               "args": {"device": device, "stream": 7, "correlation": number, "grid": list(grid), "block": list(block), "registers per thread": 32}})
                at, on_gpu = at + 3, on_gpu + us + 1
    return {"schemaVersion": 1, "deviceProperties": [{"id": i, "name": GPU, "totalGlobalMem": 24 << 30, "numSms": 80} for i in range(8)],
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world}, "baseTimeNanoseconds": base, "traceEvents": events}


def launch(spelled: int, kernel: tuple, ns: int, sm: float = 40, memory: float = 80, device: str = GPU, **more: Any) -> Launch:
    names, grid, block, *_ = kernel
    return Launch(names[spelled], {TIME: ns, SM: sm, MEMORY: memory, L1: 20, L2: 30, DRAM: memory, NAME: device}, **({"grid": grid, "block": block} | more))


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.trace = self.put("rank0.json", trace())

    def put(self, name: str, content: Any) -> Path:
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode() if isinstance(content, str) else json.dumps(content).encode())
        return path

    def snapshot(self, name: str = "memory.pickle", us: int = BASE // 1000 + 500, device: int = 0, reserved: int = 4 * MIB) -> Path:
        history = [[] for _ in range(device)] + [[record("alloc", 1, MIB, us, MODEL)]]
        return self.put(name, pickle.dumps({"segments": [segment(0, [(MIB, True), (reserved - MIB, False)]) | {"device": device}], "device_traces": history}))

    def dumps(self, world: int = 8, hangs: bool = True, at_ns: int = BASE) -> list[Path]:
        """Rank 1 never enters the third all_reduce."""
        files = []
        for rank in range(world):
            one = Rank(rank, {WORLD: list(range(world))}).loop(2)
            if rank != 1 or not hangs:
                one.call("all_reduce", ended=not hangs)
            for entry in one.entries:
                entry["time_created_ns"] += at_ns - START
            files.append(self.put(f"nccl_trace_rank_{rank}", pickle.dumps(one.dump())))
        return files

    def told(self, *files: Path) -> dict[str, Any]:
        got = report(self.trace, *files)
        if jsonschema is not None:
            validator = jsonschema.validators.validator_for(SCHEMA)(SCHEMA)
            self.assertEqual([f"{e.json_path}: {e.message[:200]}" for e in validator.iter_errors(got)], [])
        return got

    def words(self, *files: Path) -> str:
        status, out, err = run("report", self.trace, *files, env={"COLUMNS": "80"})
        self.assertEqual((status, err), (0, ""))
        return out.decode()


class Kernels(Case):
    def test_joined_by_name_grid_and_block(self) -> None:
        """Both spellings are one kernel; what the trace says of it is what the trace was made of."""
        launches = [launch(1, kernel, 1000 * kernel[3]) for kernel in KERNELS]
        for name, content in (("profile.ncu-rep", binary(launches)), ("profile.csv", raw(launches))):
            counters = self.told(self.put(name, content))["counters"]
            self.assertEqual((counters["kernels_in_trace"], counters["trace_time_pct"]), (3, 100))
            for kernel, (names, _, _, us, calls) in zip(counters["kernels"], KERNELS):
                there = kernel["in_trace"]
                self.assertEqual((kernel["name"], there["match"]), (names[1], "exact"))
                self.assertEqual((there["calls"], there["total_ns"]), (STEPS * calls, STEPS * calls * us * 1000))
                self.assertEqual((there["calls_per_step"], there["step_ns"], there["slower"]), (calls, calls * us * 1000, 1))
                self.assertEqual(there["most_saved_ns"], calls * us * 200, "DRAM at 80 %: a fifth of its time is left")

    def test_the_trace_decides_the_order(self) -> None:
        """ncu's durations, one kernel at a time at a fixed clock, say nothing of the job."""
        counters = self.told(self.put("p.ncu-rep", binary([launch(1, KERNELS[2], 9_000_000), launch(1, KERNELS[0], 1000)])))["counters"]
        self.assertEqual([k["name"] for k in counters["kernels"]], [GEMM[1], COPY[1]])
        self.assertEqual([k["in_trace"]["slower"] for k in counters["kernels"]], [0.01, 360])

    def test_by_its_function(self) -> None:
        """Names that differ are one kernel where no other of the function has the shape, on either side."""
        other = SOFTMAX[1].replace("c10::Half", "float")
        one = launch(1, ((SOFTMAX[0], other), *KERNELS[1][1:]), 50_000)
        self.assertEqual(self.told(self.put("a.ncu-rep", binary([one])))["counters"]["kernels"][0]["in_trace"]["match"], "function")
        two = self.told(self.put("b.ncu-rep", binary([one, launch(1, ((SOFTMAX[0], other.replace("(int)6", "(int)7")), *KERNELS[1][1:]), 50_000)])))
        self.assertEqual([k["in_trace"]["match"] for k in two["counters"]["kernels"]], ["none", "none"], "two of them: nobody knows which")

    def test_other_shapes(self) -> None:
        told = self.told(self.put("p.ncu-rep", binary([launch(1, KERNELS[0], 1000, grid=(48, 8, 1))])))
        kernel = told["counters"]["kernels"][0]["in_trace"]
        self.assertEqual((kernel["match"], kernel["calls"], kernel["most_saved_ns"]), ("other-shape", 0, None))
        self.assertIn("another size of problem", told["doubts"][0]["doubt"])
        self.assertIn("only with other shapes: grid 24 × 8 × 1", " ".join(self.words(self.folder / "p.ncu-rep").split()))

    def test_strangers(self) -> None:
        told = self.told(self.put("p.ncu-rep", binary([Launch("mine(int)", {TIME: 5, NAME: GPU})])))
        self.assertEqual(told["counters"]["kernels"][0]["in_trace"]["match"], "none")
        self.assertIn("none of its kernels is in the trace", told["doubts"][0]["doubt"])

    def test_another_gpu(self) -> None:
        """Its limits are not those of the job: no saving is said."""
        told = self.told(self.put("p.ncu-rep", binary([launch(1, KERNELS[0], 1000, device="NVIDIA H100 80GB HBM3")])))
        kernel = told["counters"]["kernels"][0]["in_trace"]
        self.assertEqual((kernel["match"], kernel["most_saved_ns"], kernel["slower"]), ("exact", None, None))
        self.assertRegex(told["doubts"][0]["doubt"], "measured on NVIDIA H100.*the trace is of NVIDIA A10G")
        self.assertEqual(self.told(self.put("q.ncu-rep", binary([launch(1, KERNELS[0], 1000, device="A10G")])))["doubts"], [], "the maker's name alone")

    def test_words(self) -> None:
        words = " ".join(self.words(self.put("p.ncu-rep", binary([launch(1, KERNELS[0], 100_000), launch(1, KERNELS[0], 300_000)]))).split())
        self.assertIn("MEASURED KERNELS", words)
        self.assertIn("1 of them is in the trace by name, grid and block, with 73 % of its kernel time", words)
        self.assertIn("2 launches per step, 200 µs (20 % of a step)", words)
        once = " ".join(self.words(self.put("q.ncu-rep", binary([launch(1, KERNELS[1], 50_000)]))).split())
        self.assertIn("1 launch per step, 50.0 µs (5.0 % of a step)", once)
        self.assertIn("a step is at most 40.0 µs (4.0 %) shorter", words)
        self.assertIn("they take 100 µs to 300 µs, so they differ in work", words)


class Memory(Case):
    def test_beside_a_trace(self) -> None:
        """The trace's answer is as if it were alone; the snapshot's own comes behind it."""
        file = self.snapshot()
        told, alone = self.told(file), report(self.trace)
        self.assertEqual((told["unread"], told["doubts"], told["verdict"], told["findings"]), ([], [], alone["verdict"], alone["findings"]))
        snapshot, = told["memory_snapshots"]
        self.assertEqual((snapshot["file"], snapshot["text"]), (str(file), report(file)["verdict"]["text"]))
        self.assertEqual(snapshot["memory"]["pools"][0]["peak_bytes"], MIB)
        words = self.words(file)
        self.assertLess(words.index("WHAT "), words.index("MEMORY SNAPSHOT"))
        self.assertIn("forward (model.py:84)", words)

    def test_which_rank(self) -> None:
        self.assertEqual(self.told(self.snapshot("memory_rank0.pickle"))["doubts"], [])
        self.assertIn("of rank 5 by its name", self.told(self.snapshot("memory_rank5.pickle"))["doubts"][0]["doubt"])

    def test_other_devices(self) -> None:
        self.assertIn("is of cuda:3, and the trace of device 0", self.told(self.snapshot(device=3))["doubts"][0]["doubt"])
        self.assertIn("more memory than the trace's GPU has", self.told(self.snapshot(reserved=30 << 30))["doubts"][0]["doubt"])

    def test_other_times(self) -> None:
        self.assertIn("2 days before the trace begins", self.told(self.snapshot(us=BASE // 1000 - 2 * 86400 * 10**6 - 10**9))["doubts"][0]["doubt"])
        self.assertIn("5 days after the trace ends", self.told(self.snapshot(us=BASE // 1000 + 5 * 86400 * 10**6 + 10**9))["doubts"][0]["doubt"])


class Hangs(Case):
    def test_the_hang_comes_first(self) -> None:
        files = self.dumps()
        told = self.told(*files)
        self.assertEqual((told["flight_recorder"]["cause"], told["flight_recorder"]["culprits"], told["doubts"]), ("missing-rank", [1], []))
        self.assertEqual(told["verdict"], report(self.trace)["verdict"])
        words = self.words(*files)
        self.assertLess(words.index("Rank 1 never entered all_reduce"), words.index("per step"))

    def test_no_hang_comes_last(self) -> None:
        words = self.words(*self.dumps(hangs=False))
        self.assertLess(words.index("per step"), words.index("FLIGHT RECORDER"))

    def test_other_jobs(self) -> None:
        self.assertIn("of a job of 4 ranks, and the traces are of one of 8", self.told(*self.dumps(world=4))["doubts"][0]["doubt"])
        self.assertIn("before the trace begins", self.told(*self.dumps(at_ns=BASE - 10**13))["doubts"][0]["doubt"])

    def test_unreadable(self) -> None:
        """One that breaks off is unread, as a trace would be, and the rest is told."""
        files = self.dumps()
        files[2].write_bytes(files[2].read_bytes()[:-200])
        told = self.told(*files)
        self.assertEqual(([u["file"] for u in told["unread"]], told["flight_recorder"]["culprits"]), ([str(files[2])], [1]))
        twice = self.put("copy_rank_3", files[3].read_bytes())
        told = self.told(*files, twice)
        self.assertEqual((told["flight_recorder"], len(told["unread"])), (None, 9))
        self.assertIn("both of rank 3", told["unread"][0]["error"])


class All(Case):
    def test_everything_at_once(self) -> None:
        """Nothing is lost, whatever the order; the page has it too."""
        profile = self.put("p.ncu-rep", binary([launch(1, kernel, 5000) for kernel in KERNELS]))
        files = [profile, self.snapshot(), *self.dumps()]
        told = self.told(*files)
        turned = report(*reversed(files), self.trace)
        self.assertEqual({k: turned[k] for k in turned if k != "unread"}, {k: told[k] for k in told if k != "unread"})
        self.assertEqual((told["unread"], told["doubts"]), ([], []))
        page = self.folder / "page.html"
        status, _, err = run("report", self.trace, *files, "--html", page, "-q")
        self.assertEqual(status, 0, err)
        text = page.read_text()
        for words in ("Rank 1 never entered all_reduce", "Kernels, measured one by one", "Memory snapshot", "forward (model.py:84)", 'href="#beside"'):
            self.assertIn(words, text)
        run("report", self.trace, "--html", page, "-q")
        self.assertNotIn('id="beside"', page.read_text())

    def test_a_directory(self) -> None:
        """All that lies in it; other pickles and numbered files are of no concern."""
        alone = report(self.folder)
        self.assertEqual((alone["counters"], alone["memory_snapshots"], alone["unread"]), (None, [], []))
        self.put("p.ncu-rep", binary([launch(1, kernel, 5000) for kernel in KERNELS]))
        self.snapshot()
        self.dumps()
        self.put("weights.pickle", pickle.dumps({"weights": [1, 2]}))
        self.put("log_1", "step 1")
        told = report(self.folder)
        self.assertEqual((told["counters"]["kernels_in_trace"], len(told["memory_snapshots"]), told["flight_recorder"]["culprits"]), (3, 1, [1]))
        self.assertEqual((told["unread"], told["doubts"], told["verdict"]), ([], [], alone["verdict"]))
        twice = report(self.folder, self.folder / "p.ncu-rep")
        self.assertEqual(twice["counters"]["launches"], 3, "named beside its directory it is still one")

    def test_a_directory_without_a_trace(self) -> None:
        """Of snapshots, of reports of Nsight Compute."""
        self.trace.unlink()
        self.snapshot()
        self.assertEqual(report(self.folder)["ranks"][0]["memory"]["pools"][0]["peak_bytes"], MIB)
        (self.folder / "memory.pickle").unlink()
        self.put("p.ncu-rep", binary([launch(1, kernel, 5000) for kernel in KERNELS]))
        self.assertEqual(len(report(self.folder)["kernels"]), 3)
        (self.folder / "p.ncu-rep").unlink()
        self.assertIn("no file in this directory", run("report", self.folder)[2])

    def test_a_part_of_the_report(self) -> None:
        """A table has no place for them: that is said, and not silently so."""
        status, _, err = run("report", self.trace, self.put("p.ncu-rep", binary([launch(1, KERNELS[0], 5)])), "--view", "kernels")
        self.assertEqual(status, 0)
        self.assertIn("p.ncu-rep: not in what these options print", err)

    def test_without_a_trace(self) -> None:
        status, _, err = run("report", self.put("p.ncu-rep", binary([launch(1, KERNELS[0], 5)])), *self.dumps())
        self.assertEqual((status, "report them one by one" in err), (2, True))

    def test_broken_beside(self) -> None:
        whole = binary([launch(1, kernel, 5000) for kernel in KERNELS])
        told = self.told(self.put("bad.ncu-rep", b"NVR\0" + b"\xff" * 40), self.put("good.ncu-rep", whole))
        self.assertEqual(([Path(u["file"]).name for u in told["unread"]], told["counters"]["kernels_in_trace"]), (["bad.ncu-rep"], 3))

    def test_cut(self) -> None:
        """Launches before the cut are told; --strict is not content with them."""
        cut = self.put("p.ncu-rep", binary([launch(1, kernel, 5000) for kernel in KERNELS])[:-40])
        self.assertEqual(self.told(cut)["counters"]["is_cut"], True)
        self.assertEqual([run("report", self.trace, cut, *more)[0] for more in ((), ("--strict",))], [0, 4])

    def test_info(self) -> None:
        """Each is named for what it is."""
        files = [self.trace, self.put("p.ncu-rep", binary([launch(1, kernel, 5000) for kernel in KERNELS])), self.snapshot(), self.dumps()[3]]
        status, out, err = run("info", *files)
        self.assertEqual((status, err), (0, ""))
        parts = out.decode().split("\n\n")
        for part, words in zip(parts, (("Kineto",), ("Nsight Compute", GPU, "launches    3"), ("PyTorch memory snapshot",), ("Flight Recorder dump", "rank        3", "world       8"))):
            for word in words:
                self.assertIn(word, part)
        for file in files[1:2] + files[3:]:
            told = json.loads(run("info", file, "--json")[1])
            self.assertEqual((told["file"], told["unread"]), (str(file), []))

    def test_examples_alone_are_unchanged(self) -> None:
        told = report(OWN[0])
        self.assertEqual((told["counters"], told["flight_recorder"], told["memory_snapshots"], told["doubts"]), (None, None, [], []))


if __name__ == "__main__":
    unittest.main()
