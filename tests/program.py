# SPDX-License-Identifier: Apache-2.0
"""Runs the program under test and finds its inputs."""
from __future__ import annotations

import gzip
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from decimal import Decimal
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXE = str(ROOT / os.environ.get("HOLDUP", "build/holdup"))
SANITIZED = os.environ.get("HOLDUP_SANITIZED") == "1"
SHARED = ROOT.parent / "shared"
VERSION = (ROOT / "python/holdup/VERSION").read_text().strip()
OWN = sorted((ROOT / "examples/training/traces").rglob("*.json.gz"))


def real_traces() -> list[pathlib.Path]:
    """Kineto traces of other people's runs, where this machine has them."""
    found = sorted(p for p in (SHARED / "traces/kineto").glob("*/*") if p.name.endswith((".json", ".json.gz")))
    if not found:
        skip_loudly("real traces of shared/traces/kineto are not present")
    return found


def traces() -> list[pathlib.Path]:
    """All that a test over files walks; only a few of them under sanitizers, which are slow."""
    everything = OWN + real_traces()
    return sorted(everything, key=lambda p: p.stat().st_size)[: 24 if SANITIZED else None]


def skip_loudly(why: str) -> None:
    """A line that scripts/test shows."""
    print(f"SKIPPED: {why}", file=sys.stderr)


def torch_python() -> str | None:
    """A Python that has torch: HOLDUP_TORCH_PYTHON, this one, or that of `make test-torch`."""
    own = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "holdup/torch/bin/python"
    return os.environ.get("HOLDUP_TORCH_PYTHON") or (sys.executable if importlib.util.find_spec("torch") else str(own) if own.exists() else None)


def torch_or_skip(case: unittest.TestCase) -> str:
    """The same, for a test that is nothing without it."""
    python = torch_python()
    if not python:
        skip_loudly(f"no torch for {case.id()}: run make test-torch once, or set HOLDUP_TORCH_PYTHON")
        case.skipTest("no torch")
    return python


NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


def for_nobody(case: unittest.TestCase, *files: Any) -> pathlib.Path:
    """A folder with copies of programs and libraries that any user may run: those of a clone under /root cannot even be seen.  Skips where there is none."""
    if os.geteuid() != 0 or not shutil.which(NOBODY[0]):
        skip_loudly("only root can become nobody, with setpriv")
        case.skipTest("cannot become nobody")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-public-"))
    case.addCleanup(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    for file in files:
        shutil.copy(file, folder)
        (folder / pathlib.Path(file).name).chmod(0o755)
        if subprocess.run([*NOBODY, "test", "-x", folder / pathlib.Path(file).name], check=False).returncode != 0:
            skip_loudly(f"nobody cannot run what lies in {folder}: TMPDIR is closed to others, or mounted noexec")
            case.skipTest("no place for nobody")
    return folder


def run(*arguments: Any, env: dict[str, str] | None = None, stdin: bytes | None = None, timeout: float = 60) -> tuple[int, bytes, str]:
    """Exit status, standard output, standard error."""
    done = subprocess.run([EXE, *map(str, arguments)], capture_output=True, input=stdin, timeout=timeout,
                          env={**os.environ, **(env or {})}, check=False, cwd=ROOT)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def report(path: Any, *arguments: Any, **options: Any) -> dict[str, Any]:
    """`holdup report --json` of a file that must be readable."""
    status, out, err = run("report", path, "--json", *arguments, **options)
    assert status == 0, f"{path}: exit {status}: {err}"
    return json.loads(out)


def python_with(package: str, variable: str, folder: str, what_for: str) -> str | None:
    """An interpreter that has a package of PyPI: the one that an environment variable names, or one made under build/ once."""
    if os.environ.get(variable):
        return os.environ[variable]
    home = ROOT / "build" / folder
    python = home / "bin/python"
    if not (home / "ready").exists():
        try:
            subprocess.run([sys.executable, "-m", "venv", home], check=True, capture_output=True, timeout=120)
            subprocess.run([python, "-m", "pip", "install", "--quiet", package], check=True, capture_output=True, timeout=400)
        except (subprocess.SubprocessError, OSError) as problem:
            skip_loudly(f"{package} cannot be installed ({problem}); set {variable} to {what_for}")
            return None
        (home / "ready").touch()
    return str(python)


def read(path: pathlib.Path) -> bytes:
    """A trace as JSON text."""
    return gzip.decompress(path.read_bytes()) if path.name.endswith(".gz") else path.read_bytes()


def events(path: pathlib.Path) -> list[dict[str, Any]]:
    """The events as an independent reader sees them, times as exact decimals."""
    document = json.loads(read(path), strict=False, parse_float=Decimal)
    return document["traceEvents"] if isinstance(document, dict) else document


def ns(microseconds: Any) -> int:
    """Exact nanoseconds."""
    return int(Decimal(microseconds) * 1000)
