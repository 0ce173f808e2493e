# SPDX-License-Identifier: Apache-2.0
"""The reader of pickles beside Python's own, which runs in a process of its own; and forty that mean harm."""
import gzip
import json
import os
import pickle
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.caching_allocator import busy
from tests.program import EXE, SANITIZED, SHARED, report, run, skip_loudly

REAL = sorted((SHARED / "traces/torch-memory").glob("*/*.pickle"))
FRAMES = [{"name": "f", "filename": "/me/m.py", "line": 3}]

# What Python's own unpickler sees, in a process of its own that may import nothing for a pickle.
ORACLE = """
import io, json, pickle, sys
class Plain(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name}")
snapshot = Plain(open(sys.argv[1], "rb")).load()
blocks = [b for s in snapshot["segments"] for b in s["blocks"]]
history = [r for t in snapshot["device_traces"] for r in t]
told = {"segments": len(snapshot["segments"]), "reserved": sum(s["total_size"] for s in snapshot["segments"]),
        "blocks": len(blocks), "block_bytes": sum(b["size"] for b in blocks), "requested": sum(b["requested_size"] for b in blocks),
        "held": sum(b["size"] for b in blocks if b["state"].startswith("active")), "block_addresses": sum(b["address"] for b in blocks) % 2**61,
        "allocs": sum(r["action"] == "alloc" for r in history), "alloc_bytes": sum(r["size"] for r in history if r["action"] == "alloc"),
        "free_bytes": sum(r["size"] for r in history if r["action"] in ("free", "free_completed")),
        "times": sum(r["time_us"] for r in history if r["action"] in ("alloc", "free", "free_completed")) % 2**61,
        "actions": sum(r["action"] not in ("alloc", "free", "free_completed") for r in history), "marks": len(snapshot.get("external_annotations", []))}
print(json.dumps(told))
"""
SQL = """select (select count(*) from segment) segments, (select sum(bytes) from segment) reserved, (select count(*) from block) blocks,
 (select sum(bytes) from block) block_bytes, (select sum(coalesce(requested, 0)) from block) requested,
 (select sum(bytes) from block where state <> 'free') held, (select count(*) from memory where bytes > 0) allocs,
 (select sum(bytes) from memory where bytes > 0) alloc_bytes, (select -sum(bytes) from memory where bytes < 0) free_bytes,
 (select count(*) from memory_action) actions, (select count(*) from memory_mark) marks"""


def ask(path: Path, sql: str) -> list[dict[str, Any]]:
    status, out, err = run("query", path, sql, "--json")
    assert status == 0, err
    return json.loads(out)


def oracle(path: Path) -> dict[str, int]:
    done = subprocess.run([sys.executable, "-I", "-c", ORACLE, path], capture_output=True, text=True, check=True, timeout=120)
    return json.loads(done.stdout)


class AsPython(unittest.TestCase):
    def same(self, path: Path) -> None:
        wanted, told = oracle(path), ask(path, SQL)[0]
        self.assertEqual(told, {k: wanted[k] for k in told}, path.name)
        addresses = sum(row["address"] for row in ask(path, "select address from block"))
        self.assertEqual(addresses % 2**61, wanted["block_addresses"])
        times = sum(row["t"] for row in ask(path, "select time_ns / 1000 t from memory"))
        self.assertEqual(times % 2**61, wanted["times"])

    def test_real_ones(self) -> None:
        for path in REAL:
            with self.subTest(path.name):
                self.same(path)

    def test_every_protocol(self) -> None:
        """Both picklers of Python, with a memo and without: the instructions that each chooses differ."""
        with tempfile.TemporaryDirectory() as folder:
            for protocol in range(2, 6):
                for pickler in (pickle._Pickler, pickle.Pickler):
                    for fast in (False, True):
                        path = Path(folder) / "p.pickle"
                        with path.open("wb") as file:
                            writer = pickler(file, protocol)
                            writer.fast = fast
                            writer.dump(busy(protocol, 200, FRAMES)[0].snapshot(allocator_settings={"a": 2 ** 70, "b": -1.5, "c": None, "d": "ü" * 300}))
                        self.same(path)
                        packed = path.with_suffix(".gz")
                        packed.write_bytes(gzip.compress(path.read_bytes()))
                        self.assertEqual(ask(packed, SQL), ask(path, SQL))


def attacks(folder: Path) -> dict[str, bytes]:
    """Pickles that call, import, grow without end or lie; whoever runs one touches a file of this folder."""
    touch = f"touch {folder}/victim".encode()
    head = b"\x80\x04}(\x8c\x08segments"
    text = lambda s: b"X" + struct.pack("<I", len(s)) + s
    imports = {"os.system": b"cos\nsystem\n", "posix": b"cposix\nsystem\n", "eval": b"cbuiltins\neval\n", "exec": b"cbuiltins\nexec\n",
               "popen": b"csubprocess\nPopen\n", "import": b"cbuiltins\n__import__\n", "getattr": b"cbuiltins\ngetattr\n",
               "open": b"cbuiltins\nopen\n", "runpy": b"crunpy\n_run_code\n", "torch": b"ctorch._utils\n_rebuild_tensor_v2\n",
               "ordered": b"ccollections\nOrderedDict\n", "reconstruct": b"ccopy_reg\n_reconstructor\n",
               "stack": text(b"os") + text(b"system") + b"\x93", "short stack": b"\x8c\x05posix\x8c\x06system\x93"}
    out = {f"reduce {k}": head + v + b"(" + text(touch) + b"tR." for k, v in imports.items()}
    out |= {"inst": head + b"(" + text(touch) + b"ios\nsystem\n.", "obj": head + b"(cos\nsystem\n" + text(touch) + b"o.",
            "newobj": head + b"cos\nsystem\n)\x81.", "newobj ex": head + b"cos\nsystem\n)}\x92.", "build": head + b"}}b.", "persid": head + b"Pfile\n.",
            "binpersid": head + text(touch) + b"Q.", "ext1": head + b"\x82\x01.", "ext2": head + b"\x83\x01\x00.", "ext4": head + b"\x84\x01\x00\x00\x00.",
            "buffer": head + b"\x97.", "protocol 9": b"\x80\x09" + head[2:] + b".", "text of 2 GB": head + b"X\xff\xff\xff\x7f",
            "text of 2^63": head + b"\x8d" + b"\xff" * 7 + b"\x7f", "long of 2 GB": head + b"\x8b\xff\xff\xff\x7f", "bytes of 4 GB": head + b"B\xff\xff\xff\xff",
            "bytearray of 2^60": head + b"\x96" + b"\x00" * 7 + b"\x10", "frame of 2^63, cut": head + b"\x95" + b"\xff" * 8,
            "memo of 4e9": head + b"j\xff\xff\xff\xff.", "memo of nothing": head + b"h\x63.", "marks": head + b"(" * 100000 + b".",
            "lists in lists": head + b"]" * 100000 + b"a" * 99999 + b"su.", "tuples in tuples": head + b")" + b"\x85" * 100000 + b"su.",
            "a list in itself": head + b"]\x94h\x00asu.", "no stop": head + b"]s", "pop of nothing": head + b"0000000.", "empty": head[:2]}
    laughs = b"]\x94(" + b"K\x01" * 60 + b"e"
    for level in range(30):
        laughs += b"]\x94(" + (b"h" + bytes([level])) * 60 + b"e"
    out["a billion laughs"] = head + laughs + b"su."
    return out


class Hostile(unittest.TestCase):
    def test_forty(self) -> None:
        """Each is refused by one line, within a second's work and little memory."""
        with tempfile.TemporaryDirectory() as folder:
            cases = attacks(Path(folder))
            self.assertGreaterEqual(len(cases), 40)
            for name, data in cases.items():
                with self.subTest(name):
                    path = Path(folder) / "x.pickle"
                    path.write_bytes(data)
                    done = subprocess.run(["/usr/bin/time", "-f", "%M %U", EXE, "report", path], capture_output=True, text=True, timeout=60, check=False)
                    *lines, used = done.stderr.strip().splitlines()
                    lines = [line for line in lines if not line.startswith("Command exited")]
                    self.assertEqual((done.returncode, done.stdout, len(lines)), (3, "", 1), done.stderr)
                    if not SANITIZED:
                        self.assertLess(int(used.split()[0]), 80_000, "kB")
                        self.assertLess(float(used.split()[1]), 5)
                    self.assertEqual(sorted(os.listdir(folder)), ["x.pickle"])

    @unittest.skipUnless(shutil.which("strace") and not SANITIZED, "needs strace")
    def test_no_program_and_no_file(self) -> None:
        """While one is read nothing is executed and nothing opened but what the program needs for any file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x.pickle"

            def calls(data: bytes) -> list[str]:
                path.write_bytes(data)
                log = Path(folder) / "log"
                subprocess.run(["strace", "-f", "-qq", "-e", "trace=execve,execveat,fork,vfork,open,openat,openat2,connect,unlink,rename,mkdir",
                                "-o", log, EXE, "report", path], capture_output=True, timeout=60, check=False)
                lines = [line.split(" ", 1)[1].strip() for line in log.read_text().splitlines()]
                log.unlink()
                return sorted(re.sub("0x[0-9a-f]+", "", line.split(" = ")[0]) for line in lines if not line.startswith(("+++", "---")))

            usual = set(calls(pickle.dumps({"segments": [], "device_traces": []})))
            self.assertTrue(any(str(path) in line for line in usual))
            for name, data in list(attacks(Path(folder)).items())[:24]:
                more = [line for line in calls(data) if line not in usual]
                self.assertEqual(more, [], name)

    def test_bent_real_shapes(self) -> None:
        """Bytes of a snapshot changed at random: an answer or one line, never a crash."""
        dice = random.Random(11)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x.pickle"
            whole = pickle.dumps(busy(1, 60, FRAMES)[0].snapshot(), 4)
            for _ in range(30 if SANITIZED else 120):
                bent = bytearray(whole)
                for _ in range(dice.randrange(1, 8)):
                    bent[dice.randrange(2, len(bent))] = dice.randrange(256)
                path.write_bytes(bent)
                status, _, err = run("report", path, "--json", timeout=30)
                self.assertIn(status, (0, 3), err)


if not REAL:
    skip_loudly("real snapshots of shared/traces/torch-memory are not present")

if __name__ == "__main__":
    unittest.main()
