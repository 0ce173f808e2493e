# SPDX-License-Identifier: Apache-2.0
"""Which slices of a thread lie in which, read from the traces by their times alone and compared slice by slice: the parent is
the shortest slice that wholly contains, each instant is the self time of the shortest slice that is open."""
from __future__ import annotations

import json
import subprocess
import tempfile
import unittest
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any, Iterator, NamedTuple

from tests.page_data import timelines
from tests.program import EXE, ROOT, SANITIZED, SHARED, read

STACKS = ROOT / "examples/training/traces/python_stacks/rank0.pt.trace.json.gz"
KINDS = {"user_annotation": 0, "python_function": 1, "cpu_op": 2, "cuda_runtime": 3, "hip_runtime": 3, "cuda_driver": 4}
NAMES = {"cuda_runtime": "runtime", "hip_runtime": "runtime", "cuda_driver": "driver"}
COUNTED = {"user_annotation", "cpu_op", "runtime", "driver"}
ROUNDING = 1000


class Slice(NamedTuple):
    start: int
    dur: int
    kind: str
    name: str
    python: tuple[Any, Any]

    @property
    def end(self) -> int:
        return self.start + self.dur


def threads(path: Path) -> list[list[Slice]]:
    """Of the host, each in the order of time: outer ones first."""
    document = json.loads(read(path), parse_float=Decimal, strict=False)
    found: dict[tuple[Any, Any], list[tuple[Any, ...]]] = defaultdict(list)
    for at, e in enumerate(document["traceEvents"]):
        if e.get("ph") == "X" and e.get("cat") in KINDS:
            start, dur = (int((Decimal(e.get(key, 0)) * 1000).to_integral_value()) for key in ("ts", "dur"))
            args = e.get("args", {})
            one = Slice(start, dur, NAMES.get(e["cat"], e["cat"]), e["name"], (args.get("Python id"), args.get("Python parent id")))
            found[e["pid"], e["tid"]].append((start, -dur, KINDS[e["cat"]], at, one))
    return [[one for *_, one in sorted(rows, key=lambda r: r[:4])] for rows in found.values()]


def parents(thread: list[Slice]) -> list[int | None]:
    result: list[int | None] = []
    open_now: list[int] = []
    for i, x in enumerate(thread):
        open_now = [k for k in open_now if thread[k].end > x.start]
        around = [k for k in open_now if x.end <= thread[k].end or
                  (x.end - thread[k].end <= min(ROUNDING, thread[k].end - x.start) and x.dur <= thread[k].dur)]
        result.append(min(around, key=lambda k: (thread[k].dur, -k), default=None))
        open_now.append(i)
    return result


def self_times(thread: list[Slice]) -> list[int]:
    """By looking at each piece of time between two borders."""
    result = [0] * len(thread)
    borders = sorted({t for x in thread for t in (x.start, x.end)})
    open_now: list[int] = []
    after = 0
    for low, high in zip(borders, borders[1:]):
        while after < len(thread) and thread[after].start <= low:
            open_now.append(after)
            after += 1
        open_now = [k for k in open_now if thread[k].end > low]
        if open_now:
            result[min(open_now, key=lambda k: (thread[k].dur, -k))] += high - low
    return result


def depth(parent: list[int | None], i: int) -> int:
    above = parent[i]
    return 0 if above is None else 1 + depth(parent, above)


def query(path: Path, sql: str) -> list[dict[str, Any]]:
    done = subprocess.run([EXE, "query", path, sql, "--json", "-q"], check=True, capture_output=True)
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def with_stacks() -> Iterator[Path]:
    yield STACKS
    if not SANITIZED:
        for name in ("tl-mi300-ddp/train_resnet18", "tl-nsfw/mi300", "tl-bert/h100", "tl-bert/mi300", "tl-b200/eager_trace",
                     "tl-sglang-decode/sglang_Qwen3-8B_decode", "tl-vllm-decode/graph_execution", "switch-transformers/trace"):
            path = SHARED / f"traces/kineto/{name}.json.gz"
            if path.exists():
                yield path


class Nesting(unittest.TestCase):
    def test_parent_and_depth_of_every_slice(self) -> None:
        for path in with_stacks():
            want: Counter[tuple[Any, ...]] = Counter()
            for thread in threads(path):
                above = parents(thread)
                for i, x in enumerate(thread):
                    outer = thread[above[i]][:4] if (k := above[i]) is not None else None
                    want[*x[:4], outer, depth(above, i)] += 1
            rows = {r["id"]: r for r in query(path, "SELECT id, start_ns, dur_ns, kind, name, parent FROM slice WHERE kind IN "
                                                    "('cpu_op', 'user_annotation', 'python_function', 'runtime', 'driver')")}
            base = min(x[0] for x in want) - min(r["start_ns"] for r in rows.values())
            deep = {r["id"]: r["depth"] for table in ("op", "call", "python")
                    for r in query(path, f"SELECT id, depth FROM {table}")}

            def key(r: dict[str, Any]) -> tuple[Any, ...]:
                return r["start_ns"] + base, r["dur_ns"], r["kind"], r["name"]

            got = Counter((*key(r), key(rows[r["parent"]]) if r["parent"] is not None else None, deep[r["id"]]) for r in rows.values())
            with self.subTest(trace=path.name):
                self.assertGreater(len(want), 500)
                self.assertEqual(list((got - want).items())[:3], list((want - got).items())[:3])
                self.assertEqual(got.total(), want.total())

    def test_self_time_of_every_operator(self) -> None:
        for path in with_stacks():
            want: Counter[tuple[Any, ...]] = Counter()
            for thread in threads(path):
                counted = [x for x in thread if x.kind in COUNTED]
                for x, own in zip(counted, self_times(counted)):
                    if x.kind in ("cpu_op", "user_annotation"):
                        want[*x[:4], own] += 1
            rows = query(path, "SELECT s.start_ns, s.dur_ns, s.kind, s.name, o.self_ns FROM op o JOIN slice s ON s.id = o.id")
            base = min(x[0] for x in want) - min(r["start_ns"] for r in rows)
            got = Counter((r["start_ns"] + base, r["dur_ns"], r["kind"], r["name"], r["self_ns"]) for r in rows)
            with self.subTest(trace=path.name):
                self.assertEqual(list((got - want).items())[:3], list((want - got).items())[:3])

    def test_flame_graph_of_every_stack(self) -> None:
        """Its paths and their self times; all of a thread's time, once."""
        for path in with_stacks():
            want: Counter[tuple[str, ...]] = Counter()
            for thread in threads(path):
                above = parents(thread)
                stacks: list[tuple[str, ...]] = []
                for i, (x, own) in enumerate(zip(thread, self_times(thread))):
                    stacks.append((*(stacks[k] if (k := above[i]) is not None else ()), x.name))
                    want[stacks[i]] += own
            with tempfile.TemporaryDirectory() as folder:
                out = Path(folder) / "x.folded"
                subprocess.run([EXE, "export", path, "--format", "folded", "-o", out, "-q"], check=True)
                got: Counter[int] = Counter()
                for line in out.read_text().splitlines():
                    stack, value = line.rsplit(" ", 1)
                    got[stack.count(";")] += int(value)
            by_depth: Counter[int] = Counter()
            for names, own in want.items():
                by_depth[len(names) + sum(n.count(";") for n in names)] += own
            with self.subTest(trace=path.name):
                self.assertEqual(got.total(), sum(x for x in want.values()))
                self.assertEqual({d: v for d, v in got.items() if v}, {d: v for d, v in by_depth.items() if v})

    def test_operator_of_every_allocation(self) -> None:
        """The shortest operator or annotation that is open then, even where a frame that it outlasts began before it."""
        rows = query(STACKS, "SELECT id, tid, start_ns, end_ns, dur_ns FROM op ORDER BY start_ns, dur_ns DESC")
        tid = max(((r["tid"], r["end_ns"]) for r in rows), key=lambda x: x[1])[0]
        compared = 0
        for m in query(STACKS, "SELECT time_ns, op FROM memory WHERE device_type = 0"):
            around = [r for r in rows if r["tid"] == tid and r["start_ns"] <= m["time_ns"] <= r["end_ns"]]
            want = min(around, key=lambda r: (r["dur_ns"], -r["start_ns"]), default=None)
            self.assertEqual(m["op"], want and want["id"], m)
            compared += want is not None
        self.assertGreater(compared, 300)

    def test_frames_have_the_callers_that_python_says(self) -> None:
        said = {(x.name, x.start, x.dur): x.python for thread in threads(STACKS) for x in thread if x.kind == "python_function"}
        base = min(start for _, start, _ in said) - query(STACKS, "SELECT min(start_ns) AS t FROM python")[0]["t"]
        rows = {r["id"]: r for r in query(STACKS, "SELECT id, name, start_ns, dur_ns, parent, kind FROM slice")}

        def python(r: dict[str, Any]) -> tuple[Any, Any]:
            return said[r["name"], r["start_ns"] + base, r["dur_ns"]]

        compared = 0
        for r in rows.values():
            above = r["parent"]
            while above is not None and rows[above]["kind"] != "python_function":
                above = rows[above]["parent"]
            if r["kind"] == "python_function" and above is not None:
                self.assertEqual(python(rows[above])[0], python(r)[1], r["name"])
                compared += 1
        self.assertGreater(compared, 1400)

    def test_rows_of_the_timeline(self) -> None:
        """No two of a row overlap, a child lies below its parent, and all steps are in one row."""
        for path in with_stacks():
            with tempfile.TemporaryDirectory() as folder:
                page = Path(folder) / "page.html"
                subprocess.run([EXE, "report", path, "--html", page, "-q"], check=True, capture_output=True)
                timeline = timelines(page.read_text())[0]
            rows: dict[tuple[int, int], int] = {}
            last: dict[int, list[tuple[int, int]]] = defaultdict(list)
            steps = set()
            crossing = 0
            for (track, start, dur, name, kind, *_), row in zip(timeline["slices_list"], timeline["rows"]):
                if row is None:
                    continue
                crossing += 1
                self.assertLessEqual(rows.get((track, row), start), start, name)
                rows[track, row] = max(start + dur, rows.get((track, row), start))
                last[track] = [x for x in last[track] if x[0] > start]
                for end, above in last[track]:
                    if kind == "python_function" and end >= start + dur:
                        self.assertNotEqual(above, row)
                last[track].append((start + dur, row))
                if name.startswith("ProfilerStep"):
                    steps.add((track, row))
            with self.subTest(trace=path.name):
                self.assertLessEqual(len({r for _, r in steps}), 2)
                if path == STACKS:
                    self.assertGreater(crossing, 1000)
                    self.assertEqual(len(steps), 1)
                    self.assertLessEqual(1 + max(r for _, r in rows), 3 + max(
                        depth(p, i) for t in threads(path) for p in [parents(t)] for i in range(len(t))))

    def test_thirty_steps_are_no_staircase(self) -> None:
        """Each step begins in frames of the call that ended the one before it."""
        def frame(at: int, dur: int, name: str) -> str:
            return f'{{"ph":"X","cat":"python_function","name":"{name}","pid":1,"tid":1,"ts":{at},"dur":{dur}}}'

        events = [frame(0, 40000, "train.py(1): main")]
        for n in range(30):
            at = 1000 * (n + 1)
            events += [frame(at, 100, "profiler.py(2): step"), frame(at + 40, 20, "profiler.py(3): __enter__"),
                       frame(at + 50, 5, "profiler.py(4): __call__"),
                       f'{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{n}","pid":1,"tid":1,"ts":{at + 52},"dur":960}}',
                       frame(at + 200, 500, "train.py(9): forward"),
                       f'{{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":{at + 300},"dur":100}}']
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            path.write_text('{"traceEvents":[' + ",".join(events) + "]}")
            page = Path(folder) / "page.html"
            subprocess.run([EXE, "report", path, "--html", page, "-q"], check=True, capture_output=True)
            timeline = timelines(page.read_text())[0]
            found = defaultdict(set)
            for (_, _, _, name, *_), row in zip(timeline["slices_list"], timeline["rows"]):
                found[name.split("#")[0]].add(row)
            self.assertEqual(found, {"train.py(1): main": {0}, "ProfilerStep": {1}, "profiler.py(2): step": {2},
                                     "profiler.py(3): __enter__": {3}, "profiler.py(4): __call__": {4},
                                     "train.py(9): forward": {2}, "aten::mm": {3}})
            lanes = subprocess.run([EXE, "export", path, "--format", "perfetto", "-q"], check=True, capture_output=True).stdout
            again = Path(folder) / "t.pftrace"
            again.write_bytes(lanes)
            by = "SELECT name, depth FROM op ORDER BY start_ns, depth"
            self.assertEqual(query(again, by), query(path, by))


if __name__ == "__main__":
    unittest.main()
