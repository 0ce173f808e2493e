# SPDX-License-Identifier: Apache-2.0
"""A recorder that writes down what it is told, and the programs that tell it."""
from __future__ import annotations

import atexit
import os
import pathlib
import shutil
import subprocess
import tempfile
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = ROOT / "include"
PACKAGE = ROOT / "python"

_folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-markers-"))
atexit.register(shutil.rmtree, _folder, ignore_errors=True)


def build(name: str, *arguments: Any, compiler: str = "cc") -> pathlib.Path:
    """Compiles into a file that is made once and goes with this process."""
    target = _folder / name
    if not target.exists():
        subprocess.run([compiler, f"-I{INCLUDE}", *map(str, arguments), "-o", target, "-ldl"], check=True, capture_output=True, text=True)
    return target


def recorder() -> pathlib.Path:
    return build("librecorder.so", "-std=gnu17", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", HERE / "recorder.c")


def told(command: list[Any], env: dict[str, str] | None = None, preload: bool = True, timeout: float = 60) -> tuple[str, list[str]]:
    """What a program printed, and what it told the recorder."""
    with tempfile.TemporaryDirectory(dir=_folder) as folder:
        log = pathlib.Path(folder) / "log"
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("HOLDUP_", "MARKERS_"))}
        # under sanitizers the program at hand is not: nothing of theirs is loaded
        everything = {**clean, "MARKERS_LOG": str(log), "PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1", **(env or {})}
        if preload:
            everything["LD_PRELOAD"] = str(recorder())
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=everything, timeout=timeout, check=False)
        assert done.returncode == 0, f"{command}: exit {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout, log.read_text().splitlines() if log.exists() else []
