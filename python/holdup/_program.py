# SPDX-License-Identifier: Apache-2.0
"""Where the program is that belongs to this package: in a wheel, an archive, below a prefix, or a build of the sources."""
from __future__ import annotations

import os
import sys
from pathlib import Path


def candidates() -> list[Path]:
    package = Path(__file__).resolve().parent
    found = []
    try:    # what pip wrote down, wherever it put the program
        from importlib.metadata import PackageNotFoundError, files
        try:
            found = [Path(str(row.locate())) for row in files("holdup") or [] if row.name == "holdup" and row.parent.name == "bin"]
        except PackageNotFoundError:
            pass
    except ImportError:
        pass
    found.append(package.parent / "bin" / "holdup")         # pip install --target
    if package.parent.name == "python":
        found.append(package.parents[3] / "bin" / "holdup")     # PREFIX/lib/holdup/python/holdup
        found.append(package.parents[1] / "build" / "holdup")   # sources
    return found


def program() -> str:
    """The path of the program `holdup`; FileNotFoundError where this package came without one."""
    for path in candidates():
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    raise FileNotFoundError("holdup: the program does not lie beside this package; the wheel and the archive have both (README.md), and `make` builds it")


def main() -> None:
    """`python -m holdup ...` is `holdup ...`: this process becomes the program."""
    try:
        path = program()
    except FileNotFoundError as error:
        sys.exit(str(error))
    os.execv(path, [path, *sys.argv[1:]])
