# SPDX-License-Identifier: Apache-2.0
"""These sources: a clone, or the tarball of one, which has what git would say as files."""
from __future__ import annotations

import os
import pathlib
import subprocess

import archives
import contents

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = (ROOT / "python" / "holdup" / "VERSION").read_text().strip()
COMMIT = ROOT / "COMMIT"  # meson.build reads it where there is no clone: the commit, and on a second line its time


def is_clone() -> bool:
    return (ROOT / ".git").exists()


def git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True).stdout


def when() -> int:
    """Of the last commit, so that the same sources give the same archives on any day."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or (git("log", "-1", "--format=%ct") if is_clone() else COMMIT.read_text().splitlines()[1]))


def files() -> list[tuple[str, pathlib.Path | bytes]]:
    """Each file of the source, with its name."""
    if not is_clone():
        return [(name, path) for name, path in archives.files(ROOT) if "__pycache__" not in path.parts]
    commit = git("describe", "--always", "--exclude=*", "--abbrev=12", "--dirty= with changes").strip()
    made = {"COMMIT": f"{commit}\n{when()}\n".encode(), "PKG-INFO": contents.metadata(ROOT, VERSION)}
    kept = {name: ROOT / name for name in git("ls-files", "-z").split("\0") if (ROOT / name).is_file()}
    return sorted({**kept, **made}.items())


def pack(folder: pathlib.Path) -> pathlib.Path:
    """What pip calls an sdist: the tarball of the source."""
    out = folder / f"holdup-{VERSION}.tar.gz"
    archives.pack(files(), out, when())
    return out
