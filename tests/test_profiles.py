# SPDX-License-Identifier: Apache-2.0
"""Profiles that sum stacks (speedscope, collapsed stacks, pprof): sums are computed here from the stacks, not read from holdup's answer."""
from __future__ import annotations

import collections
import gzip
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import run

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
FRAMES = [("main", "/a/train.py"), ("step", "/a/train.py"), ("load", "/a/data.py"), ("wait", "")]
# Stacks of frames, the outermost first; the third calls itself.
STACKS = [((0, 1), 0.25), ((0, 2), 1.5), ((0, 1, 0, 1), 0.5), ((0, 2, 3), 0.125), ((0,), 0.0625)]


def sums(stacks: Any) -> tuple[dict[Any, float], dict[Any, float]]:
    own: dict[Any, float] = collections.Counter()
    total: dict[Any, float] = collections.Counter()
    for stack, weight in stacks:
        own[stack[-1]] += weight
        for frame in set(stack):
            total[frame] += weight
    return own, total


def name_of(frame: int) -> str:
    name, file = FRAMES[frame]
    return f"{name} ({file})" if file else name


def speedscope(profiles: list[dict[str, Any]], exporter: str, frames: Any = None) -> bytes:
    listed = [{"name": n, "line": 7, **({"file": f} if f else {})} for n, f in frames or FRAMES]
    return json.dumps({"$schema": SCHEMA, "exporter": exporter, "profiles": profiles, "shared": {"frames": listed}}).encode()


def sampled(stacks: Any, unit: str = "seconds", name: str = "Thread 1") -> dict[str, Any]:
    return {"type": "sampled", "name": name, "unit": unit, "startValue": 0, "endValue": 9, "samples": [list(s) for s, _ in stacks], "weights": [w for _, w in stacks]}


def varint(n: int) -> bytes:
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def pprof(types: list[tuple[str, str]], samples: list[tuple[list[int], list[int]]], functions: list[str], default: str = "", first: bytes = b"") -> bytes:
    """Location k is function k; of a sample the innermost comes first.  Go writes time_nanos or the period's type first, and the texts last."""
    texts = [""]

    def text(word: str) -> int:
        if word not in texts:
            texts.append(word)
        return texts.index(word)

    out = first + b"".join(field(1, field(1, text(t)) + field(2, text(u))) for t, u in types)
    for stack, values in samples:
        out += field(2, field(1, b"".join(varint(k + 1) for k in reversed(stack))) + field(2, b"".join(varint(v) for v in values)))
    for k, name in enumerate(functions):
        out += field(4, field(1, k + 1) + field(3, 0x4000 + k) + field(4, field(1, k + 1) + field(2, 12)))
        out += field(5, field(1, k + 1) + field(2, text(name)))
    if default:
        out += field(14, text(default))
    return out + b"".join(field(6, t.encode()) for t in texts)


class Profiles(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name: str, data: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(data)
        return path

    def read(self, name: str, data: bytes) -> dict[str, Any]:
        status, out, err = run("report", self.write(name, data), "--json", "-q")
        self.assertEqual(status, 0, err)
        answer = json.loads(out)
        self.assertEqual((answer["kind"], answer["why"]), ("stacks", None))
        return answer["files"][0]

    def says(self, path: Path) -> str:
        status, out, err = run("report", path, "-q")
        self.assertEqual(status, 0, err)
        return " ".join(out.decode().split())

    def check_functions(self, file: dict[str, Any], stacks: Any, scale: float = 1e9) -> None:
        own, total = sums(stacks)
        self.assertEqual({f["name"]: (f["self"], f["total"]) for f in file["functions"]},
                         {name_of(k): (round(own[k] * scale), round(total[k] * scale)) for k in total})
        self.assertEqual(file["whole"], round(sum(w for _, w in stacks) * scale))
        self.assertEqual([f["self"] for f in file["functions"]], sorted((f["self"] for f in file["functions"]), reverse=True))

    def test_speedscope_samples(self) -> None:
        data = speedscope([sampled(STACKS), sampled(STACKS[:2], name="Thread 2")], "py-spy@0.4.3")
        file = self.read("a.json", data)
        self.check_functions(file, STACKS + STACKS[:2])
        self.assertEqual((file["unit"], file["clock"], file["threads"], file["stacks"]), ("time_ns", "busy", 2, 7))
        text = self.says(self.folder / "a.json")
        self.assertIn("load (/a/data.py) itself takes 72 % of the time (3.00 s of 4.19 s), more than any other function.", text)
        self.assertIn("2 threads are added up: the sum is not time that passed.", text)
        self.assertIn("whether waits count is unknown", text)
        self.assertIn("Cannot tell from sums of stacks", text)

    def test_speedscope_events(self) -> None:
        """As pyinstrument writes them: "[self]" is the function below it."""
        frames = FRAMES[:3] + [("[self]", "")]
        events = [(kind, at, frame) for kind, at, frame in (("O", 0, 0), ("O", 1, 1), ("O", 1, 3), ("C", 3, 3), ("O", 3, 2), ("C", 3.5, 2), ("C", 4, 1), ("C", 6, 0))]
        profile = {"type": "evented", "name": "run", "unit": "milliseconds", "startValue": 0, "endValue": 6, "events": [{"type": k, "at": at, "frame": f} for k, at, f in events]}
        file = self.read("b.json", speedscope([profile], "pyinstrument", frames))
        self.check_functions(file, [((0,), 1), ((0, 1), 2), ((0, 1, 2), 0.5), ((0, 1), 0.5), ((0,), 2)], 1e6)
        self.assertEqual(file["clock"], "wall")

    def test_speedscope_of_two_quantities(self) -> None:
        """memray: bytes, then how many; they are not added up."""
        stacks = [((0, 1), 4096), ((0, 2), 1024)]
        file = self.read("c.json", speedscope([sampled(stacks, "bytes", "Memory"), sampled([(s, 1) for s, _ in stacks], "none", "Allocations")], "memray@1.20.0"))
        self.check_functions(file, stacks, 1)
        self.assertEqual((file["unit"], file["measure"], file["left_out"], file["threads"]), ("bytes", "Memory", "Allocations", 1))
        self.assertIn("These are bytes, and no times.", self.says(self.folder / "c.json"))

    def test_damaged_speedscope(self) -> None:
        status, _, err = run("report", self.write("h.json", speedscope([sampled(STACKS)], "holdup 1.2")), "-q")
        self.assertEqual(status, 3)
        self.assertIn("pass that trace", err)
        wrong = [(sampled([((0, 9), 1)]), "names a frame that is not there"), (dict(sampled(STACKS), weights=[1]), "one weight for each sample"),
                 (sampled([((0,), -1)]), "weights below 0"), (sampled([((0,), 8e18), ((0,), 2e18)]), "more than 9e18 in all"), (sampled([((0,), 0)]), "no stack with a weight"),
                 ({"type": "evented", "unit": "none", "events": [{"type": "C", "at": 0, "frame": 0}]}, "a frame is closed that is not open")]
        for profile, words in wrong:
            status, out, err = run("report", self.write("w.json", speedscope([profile], "x")), "-q")
            self.assertEqual((status, out), (3, b""))
            self.assertIn(words, err)

    def test_collapsed_stacks(self) -> None:
        """py-spy prints a line for each line of a function, and of a thread without frames a count alone."""
        text = "T 1;<module> (a.py:9);train (a.py:3) 60\nT 1;<module> (a.py:9);train (a.py:4) 6\nT 1;<module> (a.py:8);f;train (a.py:4);f 15\n 1\nT 1;std::map<int, int>::at 4\n"
        file = self.read("a.folded", text.encode())
        self.assertEqual({f["name"]: (f["self"], f["total"]) for f in file["functions"]},
                         {"train (a.py)": (66, 81), "f": (15, 15), "std::map<int, int>::at": (4, 4), "<module> (a.py)": (0, 81), "T 1": (0, 85)})
        self.assertEqual((file["whole"], file["stacks_without_function"], file["unit"], file["clock"], file["threads"]), (86, 1, "count", None, None))
        said = self.says(self.folder / "a.folded")
        self.assertIn("train (a.py) itself takes 77 % of all counts (66 of 86)", said)
        self.assertIn("does not say by which clock", said)
        self.assertIn("Nor does it say what its counts are", said)
        self.assertIn("1 of 5 stacks have no function", said)

    def test_text_that_only_begins_so(self) -> None:
        text = "a;b 3\n" * 20 + "Traceback (most recent call last):\n" * 5
        status, _, err = run("report", self.write("x.txt", text.encode()), "-q")
        self.assertEqual(status, 3)
        self.assertIn("5 of its 25 lines are none", err)

    def test_pprof(self) -> None:
        types, functions = [("samples", "count"), ("cpu", "nanoseconds")], ["main.main", "main.step", "math.Sin"]
        samples = [([0, 1], [3, 30_000_000]), ([0, 1, 2], [5, 50_000_000]), ([0, 1, 0, 1], [1, 10_000_000])]
        duration = field(10, 2_000_000_000)
        for first in (b"", field(9, 1_790_000_000_000_000_000), field(11, field(1, 3) + field(2, 4)) + field(12, 10_000_000)):
            data = pprof(types, samples, functions, first=first) + duration
            file = self.read("p.pb.gz", gzip.compress(data))
            self.assertEqual({f["name"]: (f["self"], f["total"]) for f in file["functions"]},
                             {"math.Sin": (50_000_000, 50_000_000), "main.step": (40_000_000, 90_000_000), "main.main": (0, 90_000_000)})
            self.assertEqual((file["measure"], file["clock"], file["left_out"], file["whole"]), ("cpu", "cpu", "samples", 90_000_000))
            text = self.says(self.folder / "p.pb.gz")
            self.assertIn("90.0 ms of CPU time in 2.00 s", text)
            self.assertIn("math.Sin itself takes 56 % of CPU time (50.0 ms of 90.0 ms)", text)
            self.assertIn("what waits is not in it", text)

    def test_pprof_of_waits_and_memory(self) -> None:
        """What a file calls its default is read; else the last, as `go tool pprof` does."""
        functions = ["main.main", "sync.(*Mutex).Lock"]
        waits = self.read("w.pb", pprof([("contentions", "count"), ("delay", "nanoseconds")], [([0, 1], [2, 7_000_000])], functions))
        self.assertEqual((waits["clock"], waits["functions"][0]), ("blocked", {"name": functions[1], "self": 7_000_000, "total": 7_000_000}))
        heap = pprof([("inuse_space", "bytes"), ("alloc_objects", "count")], [([0], [4096, 1]), ([0, 1], [1000, 8])], functions, "inuse_space")
        file = self.read("h.pb", heap)
        self.assertEqual((file["measure"], file["unit"], file["whole"], file["clock"]), ("inuse_space", "bytes", 5096, "memory"))
        self.assertEqual(self.read("n.pb", heap.replace(field(14, 1), b""))["measure"], "alloc_objects")

    def test_cut_pprof(self) -> None:
        data = pprof([("cpu", "nanoseconds")], [([0], [5])] * 50, ["f"])
        status, _, err = run("report", self.write("cut.pb", data[:-1]), "-q")
        self.assertEqual(status, 3)
        self.assertIn("damaged profile of pprof", err)

    def test_other_commands(self) -> None:
        path = self.write("a.folded", b"a;b 3\na;c 2\n")
        self.assertIn("written as  collapsed stacks", run("info", path)[1].decode())
        status, _, err = run("diff", path, path)
        self.assertEqual(status, 2)
        self.assertIn("A is a profile of stacks", err)
        status, _, err = run("report", path, "--view", "ops")
        self.assertEqual(status, 2)
        self.assertIn("--view is not for profiles of stacks", err)
        self.assertIn("`holdup report FILE` tells its functions", run("query", path, "select 1")[2])

    def test_directories(self) -> None:
        """Alone they are what there is; beside a trace they are named and left."""
        self.write("a.folded", b"a;b 3\na;c 2\n")
        self.write("cpu.pb.gz", gzip.compress(pprof([("cpu", "nanoseconds")], [([0], [5])], ["f"])))
        files = json.loads(run("report", self.folder, "--json", "-q")[1])["files"]
        self.assertEqual([(Path(f["file"]).name, f["whole"]) for f in files], [("a.folded", 5), ("cpu.pb.gz", 5)])
        self.write("trace.json", json.dumps({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10 * i, "dur": 5} for i in range(9)]}).encode())
        text = self.says(self.folder)
        self.assertTrue(text.startswith("trace.json"), text)
        self.assertIn("2 other files of the directory", text)
        status, out, _ = run("report", self.folder / "trace.json", self.folder / "a.folded", "--json", "-q")
        self.assertEqual((status, json.loads(out)["unread"][0]["error"]), (0, "profiles of stacks are reported alone: holdup report FILE"))

    def test_one_that_cannot_be_read_leaves_the_others(self) -> None:
        """It is named with its reason, in the text, in the JSON and on stderr; none readable is an error."""
        self.write("a.folded", b"a;b 3\na;c 2\n")
        self.write("z.json", speedscope([sampled(STACKS)], "speedscope")[:-40])
        status, out, err = run("report", self.folder, "--json")
        self.assertEqual(status, 0, err)
        told = json.loads(out)
        self.assertEqual([Path(f["file"]).name for f in told["files"]], ["a.folded"])
        self.assertEqual([Path(u["file"]).name for u in told["unread"]], ["z.json"])
        self.assertIn(told["unread"][0]["error"], err)
        self.assertIn("UNREAD 1 of 2 inputs could not be read", self.says(self.folder))
        self.assertEqual(run("report", self.folder, "-q", "--strict")[0], 4)
        self.write("a.folded", speedscope([sampled(STACKS)], "speedscope")[:-40])
        status, out, err = run("report", self.folder, "-q")
        self.assertEqual((status, out), (3, b""))
        self.assertIn("none of the 2 profiles can be read", err)

    def test_what_a_directory_holds_besides(self) -> None:
        """Files that no number is of are named."""
        self.write("a.json", speedscope([sampled(STACKS)], "py-spy@0.4.3"))
        self.write("b.folded", b"a;b 3\na;c 2\n")
        self.write("c.raw", b"a;b 3\na;c 2\n")
        told = self.says(self.folder)
        self.assertIn("a.json \u00b7 speedscope", told)
        self.assertIn("b.folded \u00b7 collapsed stacks", told)
        self.assertIn("LEFT 1 other file of the directory: c.raw.", told)

    def test_names_steer_no_terminal(self) -> None:
        out = run("report", self.write("e.folded", b"a;\x1b[31mred 3\na;b 2\n"), "-q")[1].decode()
        self.assertNotIn("\x1b", out)
        self.assertIn("\ufffd[31mred itself takes 60 %", " ".join(out.split()))


if __name__ == "__main__":
    unittest.main()
