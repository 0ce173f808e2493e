# SPDX-License-Identifier: Apache-2.0
"""Chrome traces of other writers than torch.profiler of today."""
from __future__ import annotations

import gzip
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import run


def slice_of(name: str, at: float, us: float, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": at, "dur": us, **more}


class Chrome(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def write(self, text: str | bytes | list[dict[str, Any]] | dict[str, Any], name: str = "trace.json") -> Path:
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode() if isinstance(text, str) else json.dumps(text).encode())
        return path

    def json(self, path: Path, *arguments: str) -> dict[str, Any]:
        status, out, err = run("report", path, "--json", *arguments)
        self.assertEqual(status, 0, err)
        seen: dict[str, Any] = json.loads(out)
        return seen

    def text(self, path: Path, *arguments: str) -> str:
        return " ".join(run("report", path, *arguments)[1].decode().split())


class Lists(Chrome):
    """Of events without an object around them the last bracket may be missing."""
    EVENTS = ",\n".join(json.dumps(slice_of("aten::add", 10 * i, 5)) for i in range(50))

    def is_cut(self, data: str | bytes, name: str = "trace.json") -> bool:
        path = self.write(data, name)
        seen = json.loads(run("info", path, "--json")[1])
        cut: bool = seen["is_truncated"]
        self.assertEqual("cut at byte" in self.text(path), cut)
        return cut

    def test_no_last_bracket(self) -> None:
        for tail in ("", "\n", ",", ",\n", ",]", "]", "\n]\n"):
            with self.subTest(tail):
                text = f"[{self.EVENTS}{tail}"
                self.assertFalse(self.is_cut(text))
                self.assertFalse(self.is_cut(gzip.compress(text.encode()), "trace.json.gz"))
                self.assertEqual(json.loads(run("info", self.folder / "trace.json", "--json")[1])["events"]["total"], 50)

    def test_cut_within_an_event(self) -> None:
        for tail in (self.EVENTS[:-1], self.EVENTS[:-20], self.EVENTS + ",{", self.EVENTS + ',\n{"ph": "X"', self.EVENTS + ', {"ph": "X", "name": "a'):
            self.assertTrue(self.is_cut("[" + tail), tail[-20:])

    def test_a_stream_that_breaks_is_cut(self) -> None:
        """Where the text that could be unpacked happens to end behind an event, too."""
        whole = gzip.compress(f"[{self.EVENTS}".encode(), mtime=0)
        self.assertTrue(self.is_cut(whole[:-4], "trace.json.gz"))

    def test_of_an_object_it_is_missing(self) -> None:
        self.assertTrue(self.is_cut(f'{{"traceEvents": [{self.EVENTS}'))
        self.assertTrue(self.is_cut(f'{{"traceEvents": [{self.EVENTS},'))


if __name__ == "__main__":
    unittest.main()
