# SPDX-License-Identifier: Apache-2.0
"""Memory snapshots of PyTorch: real ones against Python's own unpickler, made ones with known answers, hostile ones."""
import collections
import json
import pickle
import random
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.caching_allocator import Allocator, busy
from tests.program import EXE, OWN, SANITIZED, SHARED, report, run, skip_loudly

REAL = sorted((SHARED / "traces/torch-memory").glob("*/*.pickle"))
MIB = 1 << 20


def frame(name: str, file: str, line: int = 1) -> dict[str, Any]:
    return {"name": name, "filename": file, "line": line}


MODEL = [frame("torch::unwind::unwind()", "??"), frame("linear", "/usr/lib/python3/dist-packages/torch/nn/functional.py", 5),
         frame("forward", "/home/me/model.py", 84), frame("main", "/home/me/train.py", 7)]
BACKWARD = [frame("at::_ops::bmm::call(at::Tensor const&)", "??"), frame("torch::autograd::generated::BmmBackward0::apply(x)", "??"),
            frame("torch::autograd::Engine::evaluate_function(y)", "??"), frame("clone", "??")]


def record(action: str, address: int, size: int, us: int, frames: list | None = None) -> dict[str, Any]:
    return {"action": action, "addr": address, "size": size, "stream": 0, "time_us": us, "frames": frames or []}


def segment(address: int, blocks: list[tuple[int, bool]], **more: Any) -> dict[str, Any]:
    return {"device": 0, "address": address, "total_size": sum(size for size, _ in blocks), "stream": 0, "segment_type": "large", **more,
            "blocks": [{"size": size, "requested_size": size, "state": "active_allocated" if held else "inactive", "frames": []}
                       for size, held in blocks]}


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "snapshot.pickle"

    def write(self, traces: list, segments: list, protocol: int = 4, **more: Any) -> Path:
        self.path.write_bytes(pickle.dumps({"segments": segments, "device_traces": traces, **more}, protocol))
        return self.path

    def memory(self) -> dict[str, Any]:
        return report(self.path)["ranks"][0]["memory"]


class Made(Case):
    def test_who_holds_the_peak(self) -> None:
        """The user's frame names a place; what was held before counts; backward is told by its frames; all protocols."""
        history = [record("alloc", 1, 10 * MIB, 100, MODEL), record("alloc", 2, 4 * MIB, 200, BACKWARD), record("free_requested", 1, 10 * MIB, 290),
                   record("free_completed", 1, 10 * MIB, 300, BACKWARD)]
        for protocol in (2, 3, 4, 5):
            self.write([history], [segment(0, [(4 * MIB, True), (3 * MIB, True), (25 * MIB, False)])], protocol)
            memory = self.memory()
            pool, = memory["pools"]
            self.assertEqual((pool["pool"], pool["first_bytes"], pool["peak_bytes"], pool["last_bytes"]), ("cuda:0", 3 * MIB, 17 * MIB, 7 * MIB))
            self.assertEqual((pool["segments"], pool["free_bytes"], pool["free_blocks"], pool["largest_free_bytes"]), (1, 25 * MIB, 1, 25 * MIB))
            self.assertEqual([(h["operator"], h["category"], h["bytes"]) for h in memory["holders"]],
                             [("forward (model.py:84)", "activation", 10 * MIB), ("BmmBackward0", "gradient", 4 * MIB)])
        self.assertIn("forward (model.py:84)", report(self.path)["verdict"]["text"])

    def test_most_was_held_before(self) -> None:
        """Nobody is called the largest holder where more was there before; header and page speak of memory, not of missing operators."""
        self.write([[record("alloc", 1, 2 * MIB, 100, MODEL)]], [segment(0, [(30 * MIB, True), (2 * MIB, True)])])
        text = report(self.path)["verdict"]["text"]
        self.assertIn("31.5 MB (94 %) were held before the capture began: the file does not say by whom. The largest known holder is forward", text)
        page = self.path.with_suffix(".html")
        status, out, err = run("report", self.path, "--html", page)
        self.assertEqual(status, 0, err)
        self.assertIn("snapshot.pickle · memory only", out.decode())
        overview = page.read_text().split('id="overview"')[1].split("</section>")[0]
        self.assertIn("Held at the peak", overview)
        self.assertNotIn("no operators", overview)

    def test_why_it_did_not_fit(self) -> None:
        """Free, but in pieces, or simply full: two answers."""
        history = [record("alloc", 1, MIB, 100, MODEL), record("oom", 0, 64 * MIB, 200)]
        pieces = [(16 * MIB, False), (MIB, True)] * 6
        self.write([history], [segment(0, pieces)])
        text = report(self.path)["verdict"]["text"]
        self.assertRegex(text, r"67\.1 MB failed although 100\.7 MB are free: they are in 6 pieces, the largest of 16\.8 MB")
        self.assertIn("expandable_segments:True", text)
        self.write([history], [segment(0, [(80 * MIB, True), (MIB, False)])])
        text = report(self.path)["verdict"]["text"]
        self.assertIn("only 1.05 MB of what the allocator reserves are free", text)
        self.assertNotIn("expandable", text)

    def test_pieces_of_any_moment(self) -> None:
        """What was free when an allocation failed long before the end, and at the peak, is the end with all that came later undone."""
        for seed in range(12):
            allocator, truth = busy(seed, 600, MODEL, gap=seed % 2 * MIB)
            self.path.write_bytes(pickle.dumps(allocator.snapshot()))
            memory = self.memory()
            pool, failure = memory["pools"][0], memory["failures"][0]
            self.assertEqual({k: failure[k] for k in truth}, truth, seed)
            self.assertEqual((failure["bytes"], failure["driver_free_bytes"]), (64 * MIB, 5 * MIB))
            self.assertEqual(failure["held_bytes"], truth["reserved_bytes"] - truth["free_bytes"])
            self.assertEqual((pool["first_bytes"], pool["last_bytes"]), (0, allocator.held()))
            self.assertEqual(pool["free_blocks"], len(allocator.free_blocks()))
            self.assertLess(pool["peak_free_bytes"] + pool["peak_bytes"], pool["peak_reserved_bytes"] + 1)

    def test_a_history_that_lost_its_beginning(self) -> None:
        """A ring keeps the end: moments that it covers stay known, what was held before counts as before."""
        allocator, truth = busy(3, 600, MODEL)
        at = next(i for i, r in enumerate(allocator.history) if r["action"] == "oom")
        allocator.history = allocator.history[at - 50:]
        self.path.write_bytes(pickle.dumps(allocator.snapshot()))
        memory = self.memory()
        self.assertEqual({k: memory["failures"][0][k] for k in truth}, truth)
        self.assertGreater(memory["pools"][0]["first_bytes"], 0)

    def test_a_history_of_somebody_else(self) -> None:
        """Where history and segments contradict each other nothing is said of the moment, and the end stays true."""
        allocator, _ = busy(4, 300, MODEL)
        state = allocator.snapshot()
        state["segments"] = busy(5, 300, MODEL)[0].snapshot()["segments"]
        self.path.write_bytes(pickle.dumps(state))
        memory = self.memory()
        self.assertEqual((memory["failures"][0]["why"], memory["failures"][0]["free_bytes"]), ("unknown", None))
        self.assertIsNone(memory["pools"][0]["peak_free_bytes"])
        self.assertGreater(memory["pools"][0]["free_blocks"], 0)

    def test_a_leak(self) -> None:
        """Steps of the optimizer that the snapshot marks: the slope, and the code that grows."""
        leaking = [frame("keep", "/home/me/metrics.py", 9), frame("main", "/home/me/train.py", 7)]
        allocator, marks = Allocator(), []
        for step in range(8):
            work = [allocator.alloc(3 * MIB, MODEL) for _ in range(3)]
            allocator.alloc(2 * MIB, leaking)
            for address in work:
                allocator.free(address)
            marks += [{"stage": stage, "name": "Optimizer.step#AdamW.step", "device": 0, "time_us": allocator.history[-1]["time_us"] + more}
                      for stage, more in (("START", 1), ("END", 2))]
        self.path.write_bytes(pickle.dumps(allocator.snapshot(external_annotations=marks)))
        memory = self.memory()
        self.assertEqual({k: memory["pools"][0][k] for k in ("steps", "growth_bytes_per_step", "leak")},
                         {"steps": 8, "growth_bytes_per_step": 2 * MIB, "leak": "yes"})
        grown = max(memory["code"], key=lambda c: c["grown_bytes"])
        self.assertEqual((grown["operator"], grown["grown_bytes"], grown["grown_allocations"]), ("keep (metrics.py:9)", 14 * MIB, 7))
        text = report(self.path)["verdict"]["text"]
        self.assertIn("grows by 2.10 MB per step over 8 steps", text)
        self.assertIn("keep (metrics.py:9): 14.7 MB more", text)

    def test_two_snapshots(self) -> None:
        """What grew from the first that is named to the second, by call chain, as their blocks say; the sums are theirs."""
        caches = [[frame("put", "/me/cache.py", 3), frame(caller, "/me/train.py", line)] for caller, line in (("validate", 40), ("train", 20))]
        allocator, paths = Allocator(), [self.path.with_name(name) for name in ("z_before.pickle", "a_after.pickle")]
        gone = allocator.alloc(4 * MIB, MODEL)
        allocator.alloc(2 * MIB, caches[0])
        paths[0].write_bytes(pickle.dumps(allocator.snapshot()))
        before = sum(b[1] for blocks in allocator.segments.values() for b in blocks if b[2] is not None)
        allocator.free(gone)
        for cache, n in zip(caches, (3, 1)):
            for _ in range(n):
                allocator.alloc(2 * MIB, cache)
        paths[1].write_bytes(pickle.dumps(allocator.snapshot()))
        after = sum(b[1] for blocks in allocator.segments.values() for b in blocks if b[2] is not None)
        told = report(*paths)
        first, second = (rank["memory"] for rank in told["ranks"])
        self.assertEqual((first["change"], first["since"], second["since"]), ([], "", "z_before.pickle"))
        self.assertEqual([(c["operator"], c["stack"].split(";")[0], c["grown_bytes"], c["grown_allocations"]) for c in second["change"]],
                         [("put (cache.py:3)", "validate (train.py:40)", 6 * MIB, 3), ("put (cache.py:3)", "train (train.py:20)", 2 * MIB, 1),
                          ("forward (model.py:84)", "main (train.py:7)", -4 * MIB, -1)])
        self.assertEqual(sum(c["grown_bytes"] for c in second["change"]), after - before)
        text = told["verdict"]["text"]
        self.assertIn("4.19 MB more than z_before.pickle. What grew most is put (cache.py:3): 6.29 MB more", text)
        same = report(paths[0], paths[0])["ranks"][1]["memory"]
        self.assertEqual(same["change"], [])

    def test_settings(self) -> None:
        """What was set is said; what to set is added to it."""
        history = [record("alloc", 1, MIB, 100, MODEL), record("oom", 0, 64 * MIB, 200)]
        pieces = [(16 * MIB, False), (MIB, True)] * 6
        self.write([history], [segment(0, pieces)], allocator_settings={"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64", "max_split_size": 64})
        self.assertEqual(self.memory()["allocator_settings"], "max_split_size_mb:64")
        self.write([history], [segment(0, [(30 * MIB, False), (MIB, True)] * 4)],
                   allocator_settings={"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64"})
        self.assertIn("PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64,expandable_segments:True", report(self.path)["verdict"]["text"])
        self.write([history], [segment(0, pieces, is_expandable=True)])
        self.assertIn("expandable already", report(self.path)["verdict"]["text"])

    def test_tables(self) -> None:
        """Segments, blocks, actions and allocations as SQL, beside what Python counts."""
        allocator, _ = busy(7, 400, MODEL)
        self.path.write_bytes(pickle.dumps(allocator.snapshot()))

        def ask(sql: str) -> list:
            status, out, err = run("query", self.path, sql, "--json")
            self.assertEqual(status, 0, err)
            return [tuple(row.values()) for row in json.loads(out)]

        blocks = [(s, b) for s, blocks in allocator.segments.items() for b in blocks]
        self.assertEqual(ask("select count(*), sum(bytes), sum(held_bytes) from segment"),
                         [(len(allocator.segments), sum(map(allocator.total, allocator.segments)), sum(b[1] for _, b in blocks if b[2] is not None))])
        self.assertEqual(ask("select s.address as segment, b.address, b.bytes, b.requested from block b join segment s on s.id = b.segment"),
                         [(s, b[0], b[1], b[2]) for s, b in blocks])
        self.assertEqual(ask("select sum(bytes), count(*) from memory where bytes > 0 and until_ns is null"),
                         [(allocator.held(), sum(b[2] is not None for _, b in blocks))])
        self.assertEqual(ask("select distinct code, stack from memory where code is not null"),
                         [("forward (model.py:84)", "main (train.py:7);forward (model.py:84)")])
        told = dict(ask("select action, count(*) from memory_action group by 1"))
        self.assertEqual(told, {k: n for k, n in collections.Counter(r["action"] for r in allocator.history).items() if k in told})
        self.assertEqual(ask("select device_free from memory_action where action = 'oom'"), [(5 * MIB,)])

    def test_beside_a_trace(self) -> None:
        """A snapshot is no rank of a job: the trace is explained as if it were alone, and other commands name it as unread."""
        self.write([[record("alloc", 1, MIB, 100, MODEL)]], [])
        trace = next(p for p in OWN if p.parent.name == "slow_loader")
        told = report(trace, self.path)
        self.assertEqual((len(told["ranks"]), [s["file"] for s in told["memory_snapshots"]], told["unread"]), (1, [str(self.path)], []))
        self.assertEqual(told["verdict"]["text"], report(trace)["verdict"]["text"])
        status, _, err = run("check", trace, self.path, "--allow-missing", "--max", "idle=100%")
        self.assertEqual((status, "no rank of this job" in err), (1, True), err)

    def test_odd_snapshots(self) -> None:
        """No history, no frames, no times, several devices, records that are none."""
        self.write([[], []], [segment(0, [(MIB, True)])])
        self.assertEqual(run("report", self.path)[0], 0)
        bare = {"action": "alloc", "addr": 5, "size": MIB, "stream": 0}
        self.write([[bare], [record("alloc", 1, 2 * MIB, 5, MODEL)], ["nonsense", 5]], [])
        self.assertEqual({p["pool"]: p["peak_bytes"] for p in self.memory()["pools"]}, {"cuda:0": MIB, "cuda:1": 2 * MIB})
        self.path.write_bytes(pickle.dumps({"segments": 5, "device_traces": "x"}))
        self.assertIn(run("report", self.path)[0], (0, 3))
        self.path.write_bytes(pickle.dumps({"weights": [1, 2], "segments_of": 1}))
        status, _, err = run("report", self.path)
        self.assertEqual(status, 3)
        self.assertIn("no memory snapshot", err)


class Hostile(Case):
    def refused(self, data: bytes, words: str) -> None:
        self.path.write_bytes(data)
        status, out, err = run("report", self.path)
        self.assertEqual((status, out), (3, b""), err)
        self.assertEqual(len(err.strip().splitlines()), 1, err)
        self.assertRegex(err, words)

    def test_nothing_is_imported_or_called(self) -> None:
        """GLOBAL, STACK_GLOBAL, REDUCE, BUILD, INST, OBJ, NEWOBJ, PERSID, EXT: an error that says what was asked for."""
        head = b"\x80\x02}X\x08\x00\x00\x00segments"
        for code in (b"cos\nsystem\n", b"X\x02\x00\x00\x00osX\x06\x00\x00\x00system\x93"):
            self.refused(head + code + b"X\x02\x00\x00\x00id\x85R.", r"asks to import os\.system")
        for code, words in ((b"]]R", "call"), (b"]]b", "state"), (b"]]\x81", "call"), (b"(ios\nsystem\n", "import os.system"),
                            (b"(]o", "call"), (b"Pid\n", "elsewhere"), (b"]Q", "elsewhere"), (b"\x82\x01", "elsewhere")):
            self.refused(head + code + b".", words)

    def test_nothing_is_run(self) -> None:
        """The classic: a pickle that would touch a file when loaded."""
        victim = self.path.with_name("victim")
        self.refused(b"\x80\x02}X\x08\x00\x00\x00segmentscos\nsystem\nX%s%s\x85R." % (
            struct.pack("<I", len(f"touch {victim}")), f"touch {victim}".encode()), "import os.system")
        self.assertFalse(victim.exists())

    def test_lies_about_sizes(self) -> None:
        """Lengths of 2 GB and 2^63, memo numbers of 4e9, marks without groups, endless nesting: one line, little memory."""
        head = b"\x80\x04}\x8c\x08segments"
        for tail in (b"X\xff\xff\xff\x7f", b"\x8d" + b"\xff" * 8, b"\x8b\xff\xff\xff\x7f", b"\x96" + b"\x00" * 7 + b"\x7f", b"B\xff\xff\xff\xff",
                     b"e.", b"u.", b"t.", b"s.", b"0000.", b"1.", b"h\x07.", b"j\xff\xff\xff\xff.", b"\x87.", b"\x99.", b"Ix\n.", b"(" * 5000 + b".",
                     b"", b"(1", b"a.", b"K\x01a.", b"(K\x01u."):
            self.refused(head + tail, "pickle")
        self.refused(head + b"]" * 200000 + b"a" * 199999 + b"s.", "no memory snapshot|pickle|no time")

    def test_bombs(self) -> None:
        """Lists of lists of the same list are no more memory than they are bytes."""
        code = b"\x80\x04}(\x8c\x08segments]\x94" + b"]\x94(" + b"h\x00" * 60 + b"e"
        for level in range(1, 40):
            code += b"]\x94(" + (b"h" + bytes([level])) * 60 + b"e"
        self.path.write_bytes(code + b".")
        used = subprocess.run(["/usr/bin/time", "-f", "%M", EXE, "report", self.path], capture_output=True, text=True, timeout=30, check=False)
        if not SANITIZED:
            self.assertLess(int(used.stderr.strip().splitlines()[-1]), 60_000, "kB")

    def test_bent(self) -> None:
        """A real shape with bytes changed: never a crash, an endless loop, or more than one line of error."""
        history = [record("alloc", i, 1000 + i, 10 * i, MODEL if i % 2 else BACKWARD) for i in range(40)]
        whole = self.write([history], [segment(0, [(MIB, True), (MIB, False)])]).read_bytes()
        dice = random.Random(3)
        for n in range(40 if SANITIZED else 150):
            bent = bytearray(whole[:dice.randrange(8, len(whole))] if n % 3 == 0 else whole)
            for _ in range(dice.randrange(1, 6)):
                bent[dice.randrange(4, len(bent))] = dice.randrange(256)
            self.path.write_bytes(bent)
            status, _, err = run("report", self.path, "--json", timeout=30)
            self.assertIn(status, (0, 3), err)
            self.assertLessEqual(len(err.strip().splitlines()), 2, err)


@unittest.skipUnless(REAL, "")
class Real(unittest.TestCase):
    def test_as_python_reads_them(self) -> None:
        """Peak, end, reserved, segments and free pieces, counted from what Python's own unpickler gives."""
        for path in REAL:
            with self.subTest(path.name):
                snapshot = pickle.loads(path.read_bytes())
                device, history = next((i, t) for i, t in enumerate(snapshot["device_traces"]) if t)
                blocks = [b for s in snapshot["segments"] if s["device"] == device for b in s["blocks"]]
                end = sum(b["requested_size"] for b in blocks if b["state"].startswith("active"))  # as the history counts
                free = [b["size"] for b in blocks if not b["state"].startswith("active")]
                signs = collections.defaultdict(int, alloc=1, free_completed=-1, free=-1)
                change = [signs[r["action"]] * r["size"] for r in history]
                held, peak = end - sum(change), 0
                for step in change:
                    held += step
                    peak = max(peak, held)
                pool = next(p for p in report(path)["ranks"][0]["memory"]["pools"] if p["pool"] == f"cuda:{device}")
                self.assertEqual((pool["peak_bytes"], pool["last_bytes"]), (peak, end))
                self.assertEqual((pool["free_bytes"], pool["free_blocks"], pool["largest_free_bytes"]), (sum(free), len(free), max(free)))
                self.assertEqual(pool["allocations"], sum(r["action"] == "alloc" for r in history))

    def test_holders_sum_to_the_peak(self) -> None:
        for path in REAL:
            memory = report(path, "--top", "1000")["ranks"][0]["memory"]
            pool = memory["pools"][0]
            self.assertEqual(sum(h["bytes"] for h in memory["holders"]), pool["peak_bytes"] - pool["peak_before_capture_bytes"], path.name)


if not REAL:
    skip_loudly("real snapshots of shared/traces/torch-memory are not present")

if __name__ == "__main__":
    unittest.main()
