# SPDX-License-Identifier: Apache-2.0
"""Compiles small programs, records them with `holdup run`, and reads what was recorded."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tempfile
import textwrap
import unittest
from typing import Any

from tests.program import EXE, ROOT, SANITIZED, skip_loudly

LIBRARY = pathlib.Path(EXE).parent / "libholdup-inject.so"
CLEAN = ("SLURM", "HOLDUP", "OMPI", "PMI", "RANK", "LOCAL_RANK", "WORLD_SIZE")


def environment(**more: str) -> dict[str, str]:
    """The tests' own environment may be a rank of something."""
    return {**{k: v for k, v in os.environ.items() if not k.startswith(CLEAN)}, **more}


def build(folder: pathlib.Path, name: str, *flags: str, compiler: str = "cc") -> pathlib.Path:
    """The program of tests/inject/NAME.c."""
    out = folder / name
    subprocess.run([compiler, "-O2", "-Wall", "-Werror", "-Wno-unused-function", f"-I{ROOT / 'include'}", "-o", out, ROOT / f"tests/inject/{name}.c", *flags, "-lpthread", "-ldl"],
                   check=True, capture_output=True)
    return out


def holdup(*words: Any, timeout: float = 120, env: dict[str, str] | None = None, **more: Any) -> subprocess.CompletedProcess:
    return subprocess.run([EXE, *map(str, words)], capture_output=True, text=True, errors="replace", timeout=timeout,
                          env=env or environment(), check=False, **more)


def rows(trace: pathlib.Path, sql: str) -> list[dict[str, Any]]:
    done = holdup("query", trace, sql, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def count(trace: pathlib.Path, name: str) -> int:
    """Slices of this name."""
    return int(rows(trace, f"select count(*) as n from slice where name = '{name}'")[0]["n"])


def once(_loader, tests, _pattern):
    """A load_tests: what is tried lives in other programs, without sanitizers; once is enough."""
    return unittest.TestSuite() if SANITIZED else tests


class Recorded(unittest.TestCase):
    """A folder of its own, and the library that goes into programs."""

    def setUp(self) -> None:
        if not LIBRARY.exists():
            skip_loudly(f"{LIBRARY} was not built")
            self.skipTest("no library")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.trace = self.folder / "run.pftrace"

    def script(self, text: str, name: str = "train.py") -> pathlib.Path:
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return path
