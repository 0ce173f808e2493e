# SPDX-License-Identifier: Apache-2.0
"""What a file is, is asked of it once: how often each file of a directory is opened, and that one look tells all what several did."""
from __future__ import annotations

import collections
import gzip
import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from tests.program import EXE, SANITIZED, run, skip_loudly

EVENTS = [{"ph": "X", "cat": "cpu_op", "name": f"aten::op{k % 7}", "pid": 1, "tid": 1, "ts": 100 * k, "dur": 40} for k in range(200)]
TRACE = json.dumps({"schemaVersion": 1, "traceEvents": EVENTS}).encode()
LOG = "".join(f"step {k} loss 2.5 time 0.{200 + k % 9} s\n" for k in range(40))
LARGE = 300 << 10  # bytes, more than one look sees
OPENED = re.compile(r'openat\(AT_FDCWD, "([^"]+)"')


def fill(folder: Path) -> dict[str, tuple[int, int]]:
    """Files of a run as they lie in a directory, and how often `report` and `info` may open each."""
    trace, large = (2, 2), {"vocab": {f"token{k}": k for k in range(LARGE // 12)}}
    may = {}

    def put(name: str, content: bytes, opened: tuple[int, int]) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
        may[name] = opened

    for rank in range(3):
        put(f"rank{rank}.json", TRACE, trace)
    put("rank3.json.gz", gzip.compress(TRACE), trace)
    put("config.json", b'{"hidden_size": 4096, "layers": [1, 2, 3]}', (1, 1))
    put("tokenizer.json", json.dumps(large).encode(), (2, 2))
    put("train.log", LOG.encode(), (2, 1))
    put("notes.txt", b"nothing to see here\n" * 50, (1, 1))
    put("below/old.json", TRACE, (1, 1))
    put("below/code.py", b"import torch\n", (0, 1))
    put("below/weights.bin", bytes(4096), (0, 1))
    return may


def opened(folder: Path, *words: str) -> collections.Counter[str]:
    log = folder.parent / "strace"
    subprocess.run(["strace", "-f", "-qq", "-o", log, "-e", "trace=openat", EXE, *words, folder], capture_output=True, check=False, timeout=120)
    found = (OPENED.search(line) for line in log.read_text().splitlines())
    return collections.Counter(str(Path(f[1]).relative_to(folder)) for f in found if f and Path(f[1]).is_relative_to(folder) and Path(f[1]).is_file())


class Looks(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name) / "run"
        self.folder.mkdir()
        self.may = fill(self.folder)

    def test_each_file_is_looked_at_once_and_read_once(self) -> None:
        if not shutil.which("strace") or SANITIZED:
            skip_loudly("no strace, or under sanitizers: nobody counts how often files are opened")
            self.skipTest("no strace")
        for k, command in enumerate(("report", "info")):
            with self.subTest(command):
                times = opened(self.folder, command)
                self.assertGreaterEqual(len(times), 9, times)
                self.assertEqual({name: times[name] for name in self.may}, {name: may[k] for name, may in self.may.items()})

    def test_two_runs_are_compared_by_one_look_at_each_file(self) -> None:
        if not shutil.which("strace") or SANITIZED:
            skip_loudly("no strace, or under sanitizers: nobody counts how often files are opened")
            self.skipTest("no strace")
        before, log = self.folder.parent / "before", self.folder.parent / "strace"
        shutil.copytree(self.folder, before)

        def count(first: Path, second: Path) -> list[int]:
            """How often each is opened."""
            names = first.relative_to(before) if first != before else Path("rank1.json")
            subprocess.run(["strace", "-f", "-qq", "-o", log, "-e", "trace=openat", EXE, "diff", first, second], capture_output=True, check=True, timeout=120)
            times = collections.Counter(OPENED.findall(log.read_text()))
            return [times[str(folder / names)] for folder in (before, self.folder)]

        self.assertEqual(count(before, self.folder), [2, 2])  # a look, and to read it
        samples = "timestamp, index, utilization.gpu [%]\n" + "".join(f"2024/05/01 10:00:{s:02}.000, 0, {50 + s} %\n" for s in range(40))
        for name, text in (("train.log", LOG), ("smi.csv", samples)):
            (before / name).write_text(text)
            (self.folder / name).write_text(text)
            with self.subTest(name):
                # whether it is a database, a look, and to read it
                self.assertEqual(count(before / name, self.folder / name), [3, 3])

    def test_a_directory_with_a_slash_is_the_same_directory(self) -> None:
        if not shutil.which("strace") or SANITIZED:
            skip_loudly("no strace, or under sanitizers: nobody counts how often files are opened")
            self.skipTest("no strace")
        log = self.folder.parent / "strace"
        subprocess.run(["strace", "-f", "-qq", "-o", log, "-e", "trace=openat", EXE, "report", f"{self.folder}//"], capture_output=True, check=False, timeout=120)
        self.assertEqual(sum("/rank1.json" in line for line in log.read_text().splitlines()), 2)

    def test_more_than_one_look_sees(self) -> None:
        late = json.dumps({"deviceProperties": ["x" * (2 * LARGE)], "traceEvents": EVENTS}).encode()
        for name in self.may:
            (self.folder / name).unlink()
        (self.folder / "rank0.json").write_bytes(late)
        (self.folder / "rank1.json.gz").write_bytes(gzip.compress(late))
        (self.folder / "tokenizer.json").write_text(json.dumps({"vocab": {f"token{k}": k for k in range(LARGE // 12)}}))
        status, told, said = run("report", str(self.folder), "--json")
        self.assertEqual((status, said), (0, ""))
        self.assertEqual([rank["rank"] for rank in json.loads(told)["ranks"]], [0, 1])


if __name__ == "__main__":
    unittest.main()
