# SPDX-License-Identifier: Apache-2.0
"""`holdup doctor --compare`: which node is not like the others."""
from __future__ import annotations

import gzip
import io
import json
import pathlib
import random
import tarfile
import tempfile
import unittest
from typing import Any

from tests.program import run

COMMON = {"kernel": "6.8.0-45-generic", "driver.version": "580.65.06", "bios": "AMI 2.1", "memory": "2015.3 GiB", "mount": "listed", "ib": "listed",
          "ib.mlx5_0 firmware": "28.39.3560", "mount./data": "nfs4 rw,noatime,vers=4.2,rsize=1048576", "limit.memlock": "unlimited unlimited"}


class Nodes:
    """Reports in a folder of their own."""

    def __init__(self, case: unittest.TestCase) -> None:
        folder = tempfile.TemporaryDirectory(prefix="holdup-compare-")
        case.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def add(self, name: str, without: tuple[str, ...] = (), **changed: str) -> pathlib.Path:
        values = {k: v for k, v in {**COMMON, **changed}.items() if k not in without}
        return self.write(name, {"host": name, "values": values})

    def write(self, name: str, content: Any) -> pathlib.Path:
        path = self.folder / f"{name}.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def compare(self, *arguments: Any) -> tuple[int, dict[str, Any], str]:
        status, out, err = run("doctor", "--compare", "--json", *(arguments or [self.folder]))
        return status, json.loads(out) if out else {}, err


def values(difference: dict[str, Any]) -> list[tuple[str, list[str], bool]]:
    return [(v["value"], v["nodes"], v["is_odd"]) for v in difference["values"]]


class Compare(unittest.TestCase):
    def setUp(self) -> None:
        self.nodes = Nodes(self)

    def test_equal_nodes(self) -> None:
        for i in range(4):
            self.nodes.add(f"n{i}")
        status, found, err = self.nodes.compare()
        self.assertEqual((status, found["differences"], found["odd"], found["compared"], err), (0, [], [], len(COMMON), ""))
        self.assertEqual(run("doctor", "--compare", self.nodes.folder)[1].decode(), "4 nodes, 9 values compared: all are equal\n")

    def test_the_odd_one_of_five(self) -> None:
        for i in range(5):
            self.nodes.add(f"n{i}", **({"driver.version": "570.124.06", "bios": "AMI 2.0"} if i == 3 else {"bios": "AMI 1.9"} if i == 4 else {}))
        status, found, _ = self.nodes.compare()
        self.assertEqual(status, 1)
        self.assertEqual([d["key"] for d in found["differences"]], ["bios", "driver.version"])
        self.assertEqual(values(found["differences"][0]),
                         [("AMI 2.1", ["n0", "n1", "n2"], False), ("AMI 1.9", ["n4"], True), ("AMI 2.0", ["n3"], True)])
        self.assertEqual(values(found["differences"][1]), [("580.65.06", ["n0", "n1", "n2", "n4"], False), ("570.124.06", ["n3"], True)])
        self.assertEqual(found["odd"], [{"node": "n3", "values": 2}, {"node": "n4", "values": 1}])
        text = run("doctor", "--compare", self.nodes.folder)[1].decode()
        self.assertIn("Odd most often: n3 (2 values), n4 (1 value)\n", text)
        self.assertIn("\n  NVIDIA driver version\n    580.65.06: 4 nodes\n    570.124.06: 1 node, odd: n3\n", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_of_two_none_is_to_blame(self) -> None:
        self.nodes.add("a")
        self.nodes.add("b", kernel="6.5.0")
        status, found, _ = self.nodes.compare()
        self.assertEqual((status, found["odd"]), (1, []))
        self.assertFalse(found["differences"][0]["has_majority"])
        self.assertIn("kernel: no majority", run("doctor", "--compare", self.nodes.folder)[1].decode())

    def test_a_tie_has_no_majority(self) -> None:
        for i in range(4):
            self.nodes.add(f"n{i}", kernel=f"6.{i // 2}.0")
        _, found, _ = self.nodes.compare()
        self.assertEqual([(d["key"], d["has_majority"]) for d in found["differences"]], [("kernel", False)])
        self.assertEqual(found["odd"], [])

    def test_a_missing_mount_is_odd_and_an_unknown_value_has_no_vote(self) -> None:
        for i in range(4):
            self.nodes.add(f"n{i}", without=("mount./data", "ib", "ib.mlx5_0 firmware") if i == 2 else ())
        _, found, _ = self.nodes.compare()
        self.assertEqual([d["key"] for d in found["differences"]], ["mount./data"])  # its cards were not looked at: ib is not listed
        self.assertEqual(values(found["differences"][0]), [(COMMON["mount./data"], ["n0", "n1", "n3"], False), ("none", ["n2"], True)])

    def test_memory_within_a_hundredth_is_equal(self) -> None:
        for i, gib in enumerate(("2015.3", "2015.7", "2014.9", "1983.1", "2010.0")):
            self.nodes.add(f"n{i}", memory=f"{gib} GiB")
        _, found, _ = self.nodes.compare()
        self.assertEqual([(d["key"], [v["nodes"] for v in d["values"]]) for d in found["differences"]], [("memory", [["n0", "n1", "n2", "n4"], ["n3"]])])

    def test_names_of_a_new_version_are_compared_too(self) -> None:
        for i in range(3):
            self.nodes.add(f"n{i}", **{"future_thing.x": "1" if i else "2"})
        _, found, _ = self.nodes.compare()
        self.assertEqual([(d["key"], values(d)[1][1]) for d in found["differences"]], [("future_thing.x", ["n0"])])

    def test_other_files_are_said_and_do_not_stop_it(self) -> None:
        for i in range(3):
            self.nodes.add(f"n{i}")
        self.nodes.write("trace", {"traceEvents": []})
        self.nodes.write("cut", (self.nodes.folder / "n0.json").read_text()[:-40])
        (self.nodes.folder / "notes.txt").write_text("not ours")
        status, found, err = self.nodes.compare()
        self.assertEqual((status, len(found["nodes"])), (0, 3))
        self.assertEqual({pathlib.Path(u["file"]).name for u in found["unread"]}, {"trace.json", "cut.json"})
        self.assertIn("this is no report of a node; write one with holdup doctor --json", err)
        self.assertEqual(run("doctor", "--compare", "--strict", self.nodes.folder)[0], 4)

    def test_one_node_is_not_enough(self) -> None:
        path = self.nodes.add("alone")
        status, out, err = run("doctor", "--compare", path)
        self.assertEqual((status, out), (3, b""))
        self.assertIn("two are needed", err)
        self.assertEqual(run("doctor", "--compare")[0], 2)
        self.assertEqual(run("doctor", path)[0], 2)

    def test_reports_archives_and_folders_together(self) -> None:
        self.nodes.add("n1")
        (self.nodes.folder / "n2.json.gz").write_bytes(gzip.compress(json.dumps({"host": "n2", "values": COMMON}).encode()))
        report = json.dumps({"host": None, "values": {**COMMON, "kernel": "6.1"}}).encode()
        with tarfile.open(self.nodes.folder / "n3.tar.gz", "w:gz") as tar:
            for name, content in (("n3/proc/version", b"x" * 700), ("n3/holdup/doctor.json", report)):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
        (self.nodes.folder / "n4/holdup").mkdir(parents=True)
        (self.nodes.folder / "n4/holdup/doctor.json").write_text(json.dumps({"host": None, "values": COMMON}))
        _, found, err = self.nodes.compare()
        self.assertEqual((found["nodes"], found["odd"], err), (["n1", "n2", "n3", "n4"], [{"node": "n3", "values": 1}], ""))

    def test_what_doctor_writes_is_what_it_compares(self) -> None:
        for name in "ab":
            status, out, err = run("doctor", "--json", "--only", "node-values")
            self.assertEqual(status, 0, err)
            self.nodes.write(name, json.loads(out))
        _, found, _ = self.nodes.compare()
        self.assertEqual(found["differences"], [])
        self.assertGreater(found["compared"], 20)
        self.assertEqual(len(found["nodes"]), 2)

    def test_a_thousand_nodes(self) -> None:
        dice = random.Random(5)
        odd = {f"node{i:04d}": {"ib.mlx5_0 firmware": "28.38.1002"} for i in dice.sample(range(1024), 7)}
        many = {f"mitigation.{i}": f"Mitigation: {i}" for i in range(140)}
        for i in range(1024):
            name = f"node{i:04d}"
            self.nodes.add(name, **many, **odd.get(name, {}))
        status, found, _ = self.nodes.compare()
        self.assertEqual((status, len(found["nodes"]), found["compared"]), (1, 1024, len(COMMON) + 140))
        self.assertEqual([(d["key"], d["values"][1]["nodes"]) for d in found["differences"]], [("ib.mlx5_0 firmware", sorted(odd))])
        self.assertEqual(found["odd"], [{"node": n, "values": 1} for n in sorted(odd)])

    def test_hostile_reports(self) -> None:
        good = [self.nodes.add(f"n{i}") for i in range(2)]
        head = bytearray(tarfile.TarInfo("x/holdup/doctor.json").tobuf())
        head[124:136] = b"77777777777\0"
        bad = {"deep": "[" * 100000, "nul": "\0" * 600, "many": json.dumps({"values": {str(i): "x" for i in range(5000)}}), "text": '{"values": "x"}',
               "list": '{"values": [1, 2]}', "open": '{"host": "h", "values": {"a": "b', "names": '{"host": 7, "values": {"a"}}'}
        for name, content in bad.items():
            self.nodes.write(name, content)
        (self.nodes.folder / "huge.tar").write_bytes(bytes(head) + b"x" * 1024)
        (self.nodes.folder / "short.tar").write_bytes(tarfile.TarInfo("x").tobuf()[:512])
        status, found, _ = self.nodes.compare()
        self.assertIn(status, (0, 1))
        self.assertLessEqual({"n0", "n1"}, set(found["nodes"]))
        unread = {pathlib.Path(u["file"]).name for u in found["unread"]}
        self.assertLessEqual({"deep.json", "nul.json", "many.json", "text.json", "list.json", "open.json", "huge.tar", "short.tar"}, unread)
        for size in range(0, 400, 7):  # a real report that is cut anywhere
            self.nodes.write("cut", good[0].read_text()[:size])
            self.assertIn(run("doctor", "--compare", *good, self.nodes.folder / "cut.json")[0], (0, 1))

    def test_names_cannot_steer_a_terminal(self) -> None:
        for i in range(3):
            self.nodes.add(f"n{i}", **({"bios": "\x1b[31mred\n"} if i == 0 else {}))
        text = run("doctor", "--compare", self.nodes.folder)[1]
        self.assertNotIn(b"\x1b", text)
        self.assertIn(b"odd: n0", text)


if __name__ == "__main__":
    unittest.main()
