# SPDX-License-Identifier: Apache-2.0
"""Execution traces of PyTorch and Chakra: counts as the files' own JSON has them, no times made up, none taken for a profiler's trace."""
from __future__ import annotations

import csv
import gzip
import io
import json
import re
import tempfile
import unittest
from collections import Counter
from pathlib import Path
from typing import Any

from tests.program import SHARED, run, skip_loudly
from tests.protobuf import fields, varint

FILES = SHARED / "traces/et"


def node(number: int, name: str, parent: int, record: int, scope: int = 0, thread: int = 1, shapes: Any = (), types: Any = ()) -> dict[str, Any]:
    """As schema 1.1 has it."""
    attributes = {"rf_id": record, "fw_parent": 0, "seq_id": -1, "scope": scope, "tid": thread, "fw_tid": 0}
    return {"id": number, "name": name, "ctrl_deps": parent,
            "inputs": {"values": [], "shapes": list(shapes), "types": list(types)}, "outputs": {"values": [], "shapes": [], "types": []},
            "attrs": [{"name": k, "type": "uint64", "value": v} for k, v in attributes.items()]}


def old(new: dict[str, Any]) -> dict[str, Any]:
    """The same as schema 1.0.1 has it."""
    out = {"name": new["name"], "id": new["id"], "parent": new["ctrl_deps"], "op_schema": "", "inputs": [],
           "input_shapes": new["inputs"]["shapes"], "input_types": new["inputs"]["types"]}
    return out | {a["name"]: a["value"] for a in new["attrs"]}


# A thread, a range in it, an operator that calls two others of which one calls a third; children stand before their parents.
NODES = [node(5, "aten::empty", 4, 13, shapes=[[2, 3]], types=["Tensor(float)"]), node(4, "aten::add", 3, 12, shapes=[[2, 3], []], types=["Tensor(float)", "Int"]),
         node(6, "aten::add", 3, 14, shapes=[[2, 3], []], types=["Tensor(float)", "Int"]), node(7, "aten::add", 2, 15, shapes=[[4]], types=["Tensor(float)"]),
         node(3, "outer \u201cop\u201d", 8, 11), node(8, "my range", 2, 10, scope=7), node(2, "[pytorch|profiler|execution_trace|thread]", 1, 0, scope=7),
         node(1, "[pytorch|profiler|execution_trace|process]", 1, 0, scope=7)]


def document(nodes: list[dict[str, Any]], schema: str = "1.1.0-chakra.0.0.4") -> str:
    return json.dumps({"schema": schema, "pid": 77, "time": "2024-04-29 16:23:47", "start_ts": 1, "nodes": nodes, "finish_ts": 2})


def told(*paths: Path) -> dict[str, Any]:
    status, out, err = run("report", *paths, "--json", "-q")
    assert status == 0, err
    return json.loads(out)


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path


class Made(Case):
    def test_both_schemas(self) -> None:
        """However it is named; names and nesting are those of the file."""
        for name, text in (("et.json", document(NODES)), ("rank0.pt.trace.json", document([old(n) for n in NODES], "1.0.1"))):
            with self.subTest(name):
                answer = told(self.write(name, text))
                file = answer["files"][0]
                self.assertEqual((file["writer"], file["pid"], file["nodes"], file["operators"], file["ranges"], file["threads"], file["depth"], file["outermost"]),
                                 ("PyTorch", 77, 8, 5, 1, 1, 3, 2))
                rows = {r["name"]: r for r in answer["operators"]}
                self.assertEqual({k: (r["calls"], r["outermost"], r["forms"]) for k, r in rows.items()},
                                 {"aten::add": (3, 1, 2), "aten::empty": (1, 0, 1), "outer \u201cop\u201d": (1, 1, 0)})
                self.assertEqual(json.loads(rows["aten::add"]["shapes"]), [[2, 3], []])
                self.assertEqual(rows["aten::add"]["form_calls"], 2)
                self.assertIsNone(rows["outer \u201cop\u201d"]["shapes"])
                self.assertIsNone(rows["aten::add"]["total_ns"])
                self.assertIsNone(answer["why"])

    def test_text(self) -> None:
        status, out, err = run("report", self.write("et.json", document(NODES)))
        self.assertEqual(status, 0, err)
        text = " ".join(out.decode().split())
        self.assertIn("execution trace \u00b7 1 file, no times", text)
        self.assertIn("Cannot tell from an execution trace", text)
        self.assertIn("torch.profiler", text)

    def test_cut(self) -> None:
        """What came before the cut counts; --strict says that there was one."""
        text = document(NODES)
        path = self.write("et.json", text[: text.index('"my range"')])
        answer = told(path)
        self.assertTrue(answer["is_cut"])
        self.assertEqual(answer["files"][0]["operators"], 5)
        self.assertEqual(run("report", path, "--strict")[0], 4)
        self.assertFalse(told(self.write("whole.json", text))["is_cut"])

    def test_hostile(self) -> None:
        """Rings of parents end, nodes without a number are counted, a file without nodes says so."""
        ring = [node(1, "a", 2, 1), node(2, "b", 1, 2), node(3, "c", 3, 3), {"name": "no number"}, {"id": 9}, 5]
        file = told(self.write("ring.json", document(ring)))["files"][0]
        self.assertEqual((file["operators"], file["malformed"]), (3, 3))
        status, _, err = run("report", self.write("none.json", document([])))
        self.assertEqual(status, 3)
        self.assertIn("holds no operators", err)

    def test_is_no_trace(self) -> None:
        """Other commands say what it is; a trace of the profiler with a member of that name stays a trace."""
        path = self.write("rank0.pt.trace.json", document(NODES))
        for command in ("info", "stats"):
            status, _, err = run(command, path, "-q")
            self.assertEqual(status, 3)
            self.assertIn("execution trace", err)
        trace = self.write("t.json", '{"schema": 1, "nodes": [], "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}')
        self.assertEqual(run("info", trace)[0], 0)

    def test_options_of_traces(self) -> None:
        status, _, err = run("report", self.write("et.json", document(NODES)), "--view", "kernels")
        self.assertEqual(status, 2)
        self.assertIn("--view is not for execution traces", err)


def attributes(n: dict[str, Any]) -> dict[str, Any]:
    return {a["name"]: a["value"] for a in n["attrs"]} if "attrs" in n else n


class Real(unittest.TestCase):
    def test_pytorch(self) -> None:
        """By json: counts by name, ranges, threads, how many have shapes."""
        paths = sorted(FILES.glob("*/*.gz"))
        if not paths:
            skip_loudly("no execution traces in shared/traces")
        for path in paths:
            with self.subTest(path.name):
                document = json.load(gzip.open(path))
                nodes = [n for n in document["nodes"] if not n["name"].startswith("[pytorch|profiler|")]
                operators = [n for n in nodes if attributes(n)["scope"] != 7]
                answer = told(path)
                self.assertEqual({r["name"]: r["calls"] for r in answer["operators"]}, Counter(n["name"] for n in operators))
                file = answer["files"][0]
                self.assertEqual((file["pid"], file["nodes"], file["schema"]), (document["pid"], len(document["nodes"]), document["schema"]))
                self.assertEqual(file["ranges"], len(nodes) - len(operators))
                self.assertEqual(file["threads"], len({attributes(n)["tid"] for n in operators}))
                shapes = Counter(n["name"] for n in operators if (n["inputs"]["shapes"] if isinstance(n["inputs"], dict) else n["input_shapes"]))
                self.assertEqual({r["name"]: r["with_shapes"] for r in answer["operators"] if r["with_shapes"]}, shapes)
                self.assertEqual(file["depth"], self.depth(document["nodes"], {id(n) for n in operators}))

    @staticmethod
    def depth(nodes: list[dict[str, Any]], operators: set[int]) -> int:
        by_id = {n["id"]: n for n in nodes}
        deepest = 0
        for n in nodes:
            seen, found = set(), 0
            while n and n["id"] not in seen:
                seen.add(n["id"])
                found += id(n) in operators
                n = by_id.get(n.get("ctrl_deps", n.get("parent")))
            deepest = max(deepest, found)
        return deepest

    def test_chakra(self) -> None:
        """By tests/protobuf.py: nodes, operators by name, and the durations that the converter put in."""
        paths = sorted(FILES.glob("*/*.et"))
        if not paths:
            skip_loudly("no Chakra traces in shared/traces")
        for path in paths:
            data, at, messages = path.read_bytes(), 0, []
            while at < len(data):
                n, at = varint(data, at)
                messages.append(data[at : at + n])
                at += n
            calls: Counter[str] = Counter()
            micros: Counter[str] = Counter()
            for message in messages[1:]:
                name, scope, us = "", None, 0
                for number, value in fields(message):
                    if number == 2:
                        name = value.decode()
                    elif number == 7:
                        us = value
                    elif number == 10:
                        parts = list(fields(value))
                        if parts[0] == (1, b"scope"):
                            scope = parts[1][1]
                if scope != 7 and not name.startswith("[pytorch|profiler|"):
                    calls[name] += 1
                    micros[name] += us
            answer = told(path)
            text = run("report", path)[1].decode()
            self.assertEqual("no times" in text, not sum(micros.values()))
            self.assertEqual("durations and no starts" in text, "for how long" not in answer["why_not"])
            self.assertEqual("no times" in text, "for how long" in answer["why_not"])
            self.assertLessEqual(max(map(len, text.splitlines())), 80)
            self.assertEqual(answer["files"][0]["nodes"], len(messages) - 1)
            self.assertEqual({r["name"]: r["calls"] for r in answer["operators"]}, calls)
            self.assertEqual({r["name"]: r["total_ns"] for r in answer["operators"]}, {k: v * 1000 for k, v in micros.items()})

    def test_ranks_together(self) -> None:
        paths = sorted((FILES / "astra-sim-2rank").glob("*"))
        if paths:
            answer = told(*paths)
            self.assertEqual([f["pid"] for f in answer["files"]], [3974, 3975])
            self.assertEqual(sum(f["operators"] for f in answer["files"]), sum(r["calls"] for r in answer["operators"]))


KINETO = SHARED / "traces/kineto/astra-sim-megatron-tp8"
SHAPES = ("Input Dims", "Input type", "Concrete Inputs", "Input Strides")


def operators(count: int, first: int, with_shapes: bool) -> list[dict[str, Any]]:
    """Operators of a profiler's trace whose External ids begin at `first`."""
    return [{"ph": "X", "cat": "cpu_op", "name": f"aten::op{i % 7}", "pid": 77, "tid": 1, "ts": 10 * i, "dur": 9,
             "args": {"External id": first + i} | ({"Input Dims": [[i]], "Input type": ["float"]} if with_shapes else {})} for i in range(count)]


class Joined(Case):
    """Beside the profiler's trace of the same steps."""

    def pair(self, distance: int, with_shapes: bool = False, pid: int = 77) -> tuple[Path, Path]:
        nodes = [node(10 + i, f"aten::op{i % 7}", 1, 5 + i, shapes=[[8, i % 3], [[], []], []], types=["Tensor(float)", "GenericList[Int,Int]", "Int"]) for i in range(40)]
        text = document([*nodes, NODES[-1]]).replace('"pid": 77', f'"pid": {pid}')
        return (self.write("trace.json", json.dumps({"traceEvents": operators(40, 5 + distance, with_shapes)})), self.write("et.json", text))

    def test_distance(self) -> None:
        """Ids may begin elsewhere; names tell where."""
        for distance in (0, 2, -3, 900):
            with self.subTest(distance):
                answer = told(*self.pair(distance))
                fit = answer["execution_traces"][0]
                self.assertEqual((fit["operators"], fit["alike"], fit["distance"], fit["filled"]), (40, 40, distance, 40))
                self.assertEqual(answer["unread"], [])

    def test_shapes(self) -> None:
        """In the profiler's words: lists of numbers and numbers have no shape; a trace with shapes keeps its own."""
        trace, et = self.pair(2)
        status, out, err = run("report", trace, et, "--view", "ops", "--group-by", "shapes", "--csv", "-q")
        self.assertEqual(status, 0, err)
        self.assertIn('[[8,1], [], []]', out.decode().replace("[8, 1]", "[8,1]"))
        self.assertEqual(told(*self.pair(2, with_shapes=True))["execution_traces"][0]["filled"], 0)
        text = " ".join(run("report", trace, et)[1].decode().split())
        self.assertIn("execution trace et.json: 40 of its 40 operators are in trace.json (External id = rf_id + 2)", text)

    def test_ranks_by_their_names(self) -> None:
        """No execution trace says which rank it is; its name may."""
        paths = [self.write(name, document(NODES)) for name in ("et.rank_0.json", "et.rank_10.json", "other.json")]
        self.assertEqual([f["rank"] for f in told(*paths)["files"]], [0, 10, None])
        self.assertIn("et.rank_10.json: rank 10 by its name, PyTorch", " ".join(run("report", *paths)[1].decode().split()))

    def test_others(self) -> None:
        """One of another program, or of another process beside several traces, is named and not joined."""
        trace, et = self.pair(0)
        other = self.write("other.json", document(NODES))
        answer = told(trace, other)
        self.assertEqual(answer["execution_traces"], [])
        records = [a["value"] for n in NODES for a in n["attrs"] if a["name"] == "rf_id" and a["value"] and n["attrs"][3]["value"] != 7]
        externals = [e["args"]["External id"] for e in json.loads(trace.read_text())["traceEvents"] if "External id" in e.get("args", {}) and e["cat"] == "cpu_op"]
        self.assertIn(f"not of the same steps (its rf_ids are {min(records)} to {max(records)}, External ids of the trace {min(externals)} to {max(externals)})", answer["unread"][0]["error"])
        second = self.write("second.json", trace.read_text().replace('"pid": 77', '"pid": 78'))
        answer = told(trace, second, et)
        self.assertEqual([f["trace"] for f in answer["execution_traces"]], [str(trace)])
        answer = told(trace, second, self.pair(0, pid=5)[1])
        self.assertIn("process 5, of which no trace is here", answer["unread"][0]["error"])

    def test_real(self) -> None:
        """A trace whose shapes were taken out gets them back: those that it had, operator by operator."""
        trace, et = KINETO / "megatron_kineto_0.json.gz", FILES / "astra-sim-megatron-tp8/megatron_et_0.json.gz"
        if not trace.exists() or not et.exists():
            skip_loudly("no pair of traces in shared/traces")
            return
        fit = told(trace, et)["execution_traces"][0]
        self.assertEqual((fit["operators"], fit["alike"], fit["distance"], fit["filled"]), (5337, 5337, 2, 0))
        whole = json.load(gzip.open(trace))
        ids = {n["rf_id"] + 2: n["name"] for n in json.load(gzip.open(et))["nodes"] if n["scope"] != 7}
        had = Counter()
        for event in whole["traceEvents"]:
            if event.get("cat") == "cpu_op":
                self.assertEqual(ids[event["args"]["External id"]], event["name"])
                had[event["name"], re.sub(r"\s", "", json.dumps(event["args"].get("Input Dims")))] += 1
            for key in SHAPES:
                event.get("args", {}).pop(key, None)
        whole["record_shapes"] = 0
        path = self.write("bare.json", json.dumps(whole))
        self.assertEqual(told(path, et)["execution_traces"][0]["filled"], 4977)
        status, out, err = run("report", path, et, "--view", "ops", "--group-by", "shapes", "--csv", "-q")
        self.assertEqual(status, 0, err)
        got: Counter[tuple[str, str]] = Counter()
        for row in csv.DictReader(io.StringIO(out.decode())):
            got[row["name"], re.sub(r"\s", "", row["shapes"])] += int(row["calls"])
        same = sum((got & had).values())
        self.assertEqual(same, 4967)  # the profiler leaves out ten lists of tensors that may be absent


if __name__ == "__main__":
    unittest.main()
