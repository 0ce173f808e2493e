# SPDX-License-Identifier: Apache-2.0
"""`holdup diff`: what was planted between two runs is what changed, and what cannot be compared is not."""
import json
import pathlib
import pickle
import re
import tempfile
import unittest
from typing import Any

from tests.program import OWN, ROOT, real_traces, run
from tests.test_scale import US, job

EXAMPLES = ROOT / "examples/training/traces"


def ask(*arguments: Any) -> dict[str, Any]:
    status, out, err = run("diff", "-q", *arguments, "--json")
    assert status == 0, err
    return json.loads(out)


def text(*arguments: Any) -> str:
    status, out, err = run("diff", "-q", *arguments)
    assert status == 0, err
    return out.decode()


def barred(answer: dict[str, Any]) -> set[str]:
    return {part for one in answer["not_compared"] for part in one["parts"]}


class Diff(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.at = pathlib.Path(holder.name)

    def make(self, name: str, ranks: int = 2, **plan: int) -> pathlib.Path:
        job(self.at / name, ranks, **{"compute": 10_000 * US, "transfer": 1_000 * US, **plan})
        return self.at / name

    def test_planted_changes(self) -> None:
        before, after = self.make("before", loader=5_000 * US), self.make("after", compute=8_000 * US)
        x = ask(before, after)
        self.assertEqual(barred(x), set())
        launch = 5 * US
        self.assertEqual((x["step"]["a_ns"], x["step"]["b_ns"]), (16_000 * US + launch, 9_000 * US + launch))
        self.assertEqual(x["step"]["diff_ns"], -7_000 * US)
        self.assertAlmostEqual(x["step"]["diff_pct"], -100 * 7_000 / 16_005, places=3)
        self.assertIs(x["step"]["is_clear"], True)
        self.assertEqual({c["class"]: c["diff_ns"] for c in x["classes"]}, {"compute": -2_000 * US, "exposed_comm": 0, "idle": -5_000 * US})
        kernels = {k["name"]: k for k in x["kernels"]}
        self.assertEqual(list(kernels), ["gemm"])                               # the all-reduce takes what it took
        self.assertEqual((kernels["gemm"]["a_ns"], kernels["gemm"]["b_ns"], kernels["gemm"]["a_calls"]), (10_000 * US, 8_000 * US, 1))
        loader = next(o for o in x["operators"] if "DataLoader" in o["name"])
        self.assertEqual((loader["a_ns"], loader["b_ns"]), (5_000 * US, None))   # only A has it
        self.assertEqual({f["id"]: f["in"] for f in x["findings"]}.get("data-loading"), "a")
        back = ask(after, before)
        self.assertEqual(back["step"]["diff_ns"], 7_000 * US)
        self.assertEqual({f["id"]: f["in"] for f in back["findings"]}.get("data-loading"), "b")
        said = text(before, after)
        self.assertIn("A step takes 16.0 ms in A and 9.01 ms in B: −7.00 ms (−44 %), most of it GPU idle", " ".join(said.split()))
        self.assertRegex(said, r"10\.0 ms +8\.00 ms +−2\.00 ms +0\.80× +compute\n")
        self.assertRegex(said, r"gone +data loading")
        self.assertLessEqual(max(map(len, said.splitlines())), 80)

    def test_the_same_run_twice_does_not_differ(self) -> None:
        before = self.make("one")
        x = ask(before, before)
        self.assertEqual((x["step"]["diff_ns"], x["operators"], x["kernels"]), (0, [], []))
        self.assertIs(x["step"]["is_clear"], False)
        self.assertTrue(all(f["in"] == "both" for f in x["findings"]))
        self.assertIn("no difference that is larger than the steps", " ".join(text(before, before).split()))

    def test_example_without_a_gpu(self) -> None:
        x = ask(EXAMPLES / "slow_loader", EXAMPLES / "fixed_loader")
        self.assertEqual(barred(x), set())
        self.assertLess(x["step"]["b_ns"], x["step"]["a_ns"])
        most = max(x["classes"], key=lambda c: -c["diff_ns"])
        self.assertEqual(most["class"], "data_loader")
        self.assertAlmostEqual(sum(c["a_ns"] for c in x["classes"]), x["step"]["a_ns"], delta=len(x["classes"]))
        loading = next(f for f in x["findings"] if f["id"] == "data-loading")      # less of it is left
        self.assertEqual(loading["in"], "both")
        self.assertGreater(loading["a_gain_pct"], loading["b_gain_pct"] + 5)

    def test_other_numbers_of_ranks_are_no_difference_of_steps(self) -> None:
        x = ask(self.make("two"), self.make("four", ranks=4))
        self.assertEqual(barred(x), {"steps", "sums"})
        self.assertEqual((x["step"]["a_ns"], x["step"]["diff_ns"], x["classes"], x["names_per"]), (None, None, [], "call"))
        self.assertIn("A has 2 ranks and B 4", x["not_compared"][0]["why"])
        said = text(self.at / "two", self.at / "four")
        self.assertNotIn("A step takes", said)
        self.assertIn("holdup scale", " ".join(said.split()))

    def test_half_of_the_ranks_are_no_whole_job(self) -> None:
        whole, half = self.make("whole", ranks=4), self.make("half", ranks=4)
        for path in sorted(half.iterdir())[2:]:
            path.unlink()
        x = ask(half, whole)
        self.assertEqual((barred(x), x["step"]["diff_ns"]), ({"steps", "sums"}, None))
        self.assertIn("of 4 ranks A has 2 and B 4", x["not_compared"][0]["why"])
        self.assertEqual(barred(ask(half, half)), set())

    def test_without_operators_nothing_is_said_to_be_there(self) -> None:
        """No operator lacks stacks where there is none."""
        (self.at / "bare.json").write_text(json.dumps({"traceEvents": [
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1, "ts": i * 1000, "dur": 1000} for i in range(4)]}))
        x = ask(OWN[0], self.at / "bare.json")
        said = " ".join([one["why"] for one in x["not_compared"]] + x["notes"])
        self.assertNotIn("only B has", said)
        self.assertIn("only A has operators of the host", said)

    def test_other_gpus_are_said(self) -> None:
        one, other = self.make("h100"), self.make("a100")
        for path in other.iterdir():
            path.write_text(path.read_text().replace("H100 80GB HBM3", "A100-SXM4-80GB"))
        x = ask(one, other)
        self.assertEqual(x["notes"], ["A ran on NVIDIA H100 80GB HBM3, B on NVIDIA A100-SXM4-80GB"])
        self.assertIn("note: A ran on NVIDIA H100", text(one, other))

    def test_without_steps_or_with_stacks_alone(self) -> None:
        whole, bare = self.make("whole"), self.make("bare")
        for path in bare.iterdir():
            trace = json.loads(path.read_text())
            trace["traceEvents"] = [e for e in trace["traceEvents"] if not e["name"].startswith("ProfilerStep")][:3]
            path.write_text(json.dumps(trace))
        x = ask(whole, bare)
        self.assertLessEqual({"steps", "sums"}, barred(x))
        self.assertTrue(any("no complete step" in one["why"] for one in x["not_compared"]))
        x = ask(EXAMPLES / "python_stacks", OWN[0])
        self.assertLessEqual({"steps", "host"}, barred(x))
        self.assertEqual(x["operators"], [])
        self.assertTrue(any("Python stacks" in one["why"] for one in x["not_compared"]))

    def test_words(self) -> None:
        for arguments, word in (([OWN[0]], "needs 2 runs"), ([OWN[0], "/nowhere"], "/nowhere")):
            status, out, err = run("diff", *arguments)
            self.assertIn(status, (2, 3))
            self.assertEqual(out, b"")
            self.assertIn(word, err if isinstance(err, str) else err.decode())

    def test_real_traces(self) -> None:
        found = [p for p in real_traces() if p.parent.name in {"tl-bert", "hta-trace-diff", "tl-mi300-ddp"}][:3]
        for a, b in zip(found, found[1:]):
            said = text(a, b)
            self.assertLessEqual(max(map(len, said.splitlines())), 80)
            self.assertNotRegex(said, re.compile(r"\b(nan|inf|\(null\))\b"))


class Memory(unittest.TestCase):
    """Two snapshots, against sums that are made here."""

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.at = pathlib.Path(holder.name)

    def snapshot(self, name: str, sizes: list[int], reserved: int) -> pathlib.Path:
        events = [{"action": "segment_alloc", "addr": 1 << 30, "size": reserved, "stream": 0, "time_us": 5, "frames": []}]
        at, blocks = 1 << 30, []
        for i, size in enumerate(sizes):
            frames = [{"filename": "/job/net.py", "line": 7 + i % 2, "name": "forward" if i % 2 else "embed"}]
            events.append({"action": "alloc", "addr": at, "size": size, "stream": 0, "time_us": 10 + i, "frames": frames})
            blocks.append({"size": size, "requested_size": size, "address": at, "state": "active_allocated", "frames": frames})
            at += size
        blocks.append({"size": reserved - sum(sizes), "requested_size": 0, "address": at, "state": "inactive", "frames": []})
        segment = {"device": 0, "address": 1 << 30, "total_size": reserved, "allocated_size": sum(sizes), "active_size": sum(sizes), "stream": 0,
                   "segment_type": "large", "is_expandable": False, "blocks": blocks, "frames": []}
        path = self.at / name
        path.write_bytes(pickle.dumps({"segments": [segment], "device_traces": [events], "allocator_settings": {}}))
        return path

    def test_two_snapshots(self) -> None:
        mb = 1 << 20
        a, b = self.snapshot("a.pickle", [20 * mb, 4 * mb, 2 * mb], 64 * mb), self.snapshot("b.pickle", [20 * mb, 36 * mb, 2 * mb], 64 * mb)
        x = ask(a, b)
        rows = {r["what"]: (r["a_bytes"], r["b_bytes"], r["diff_bytes"]) for r in x["memory"]}
        self.assertEqual(rows["peak"], (26 * mb, 58 * mb, 32 * mb))
        self.assertEqual(rows["reserved"], (64 * mb, 64 * mb, 0))
        self.assertEqual(rows["free"], (38 * mb, 6 * mb, -32 * mb))
        self.assertEqual((x["holders"][0]["name"], x["holders"][0]["diff_bytes"]), ("forward (net.py:8)", 32 * mb))
        self.assertEqual((x["step"]["a_ns"], x["not_compared"]), (None, []))
        said = " ".join(text(a, b).split())
        self.assertIn("cuda:0 holds 27.3 MB at its peak in A and 60.8 MB in B: +33.6 MB (+123 %).", said)
        self.assertNotIn("not compared", said)

    def test_a_snapshot_and_a_trace(self) -> None:
        job(self.at / "run", 1, compute=10_000 * US, transfer=1_000 * US)
        x = ask(self.snapshot("a.pickle", [1 << 20], 2 << 20), self.at / "run")
        self.assertIn("A is a memory snapshot, which has no times, and the other is none", [o["why"] for o in x["not_compared"]])
        self.assertEqual((x["memory"], x["classes"], x["kernels"]), ([], [], []))


class Logs(unittest.TestCase):
    """What two logs, or two tests of collectives, have in common."""

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.at = pathlib.Path(holder.name)

    def put(self, name: str, words: str) -> pathlib.Path:
        (self.at / name).write_text(words)
        return self.at / name

    def test_steps(self) -> None:
        line = lambda i, ms: f"step {i} | time {ms + i % 5}ms data: 10ms | tok/s {1000000 // ms}\n"
        a, b = (self.put(n, "".join(line(i, ms) for i in range(1, 60))) for n, ms in (("a.log", 300), ("b.log", 450)))
        x = ask(a, b)
        self.assertEqual({c["name"]: (c["a"], c["b"]) for c in x["changes"]}, {"step": (302e6, 452e6), "tokens/s": (3333, 2222), "data": (10e6, 10e6)})
        self.assertIs(x["is_clear"], True)
        self.assertIn("The median step takes 302 ms in A and 452 ms in B: +50 %.", text(a, b))
        self.assertIs(ask(a, self.put("c.log", "".join(line(i, 300) for i in range(2, 61))))["is_clear"], False)
        x = ask(a, self.put("d.log", "".join(f"step {i} time 300.5\n" for i in range(1, 60))))
        self.assertEqual([c for c in x["changes"] if c["name"] == "step"], [])
        self.assertIn("steps are not compared: B does not say the unit of its times", x["notes"])

    def test_tests_of_collectives(self) -> None:
        head = "# nThread 1 nGpus 8 minBytes 1024 maxBytes 4096\n#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
        row = lambda size, bus: f"{size:12} {size // 4:12}     float     sum      -1    20.00    {bus / 2:.2f}   {bus:.2f}      0    20.00   {bus / 2:.2f}   {bus:.2f}      0\n"
        a, b = (self.put(n, head + "".join(row(1 << k, bus * k) for k in range(20, 26))) for n, bus in (("a.txt", 8.0), ("b.txt", 4.0)))
        x = ask(a, b)
        self.assertEqual([(c["bytes"], c["a"], c["b"]) for c in x["changes"]], [(None, 200, 100)] + [(1 << k, 8.0 * k, 4.0 * k) for k in range(25, 19, -1)])
        self.assertEqual({c["diff_pct"] for c in x["changes"]}, {-50})

    def test_what_has_nothing_to_compare(self) -> None:
        log = self.put("a.log", "".join(f"step {i} time 0.3s\n" for i in range(1, 60)))
        smi = self.put("smi.csv", "timestamp, index, name, utilization.gpu [%]\n" + "".join(f"2025/05/01 12:00:{s:02}.000, 0, NVIDIA A100-SXM4-80GB, 97 %\n" for s in range(30)))
        for pair, words in (((log, smi), "A is a log and B is samples of a monitor"), ((smi, log), "two traces, two memory snapshots, two logs or two files of samples can be compared")):
            status, out, err = run("diff", *pair)
            self.assertEqual((status, out), (2, b""))
            self.assertIn(words, " ".join(err.split()))


if __name__ == "__main__":
    unittest.main()
