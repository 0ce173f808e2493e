# SPDX-License-Identifier: Apache-2.0
"""Nsight Systems 2022.4.2, as Debian has it in non-free: fetched with lists of its own (175 MB) and unpacked into ~/.cache/holdup/nsys.

    HOLDUP_NSYS=$(python3 -m tests.nsys_debian) python3 -m unittest tests.test_nsys       what make test-nsys does

Nothing of the system is changed."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

from tests.cuda.driver import unpack

SUITE = "bookworm"
PACKAGES = ("nsight-systems", "nsight-systems-target", "libssh-4")
PLACE = "usr/lib/x86_64-linux-gnu/nsight-systems"


def fetch() -> pathlib.Path:
    """Where nsys is; fetched once."""
    home = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "holdup/nsys"
    nsys = home / PLACE / "target-linux-x64/nsys"
    if not nsys.exists():
        made = home.with_name(f"nsys-{os.getpid()}")
        made.mkdir(parents=True)
        try:
            unpack(SUITE, PACKAGES, made)
            # it looks for the programs that make reports next to itself, where these packages do not put them
            (made / PLACE / "host-linux-x64").symlink_to("../../nsight-systems/host-linux-x64")
            made.rename(home)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return nsys


if __name__ == "__main__":
    try:
        print(fetch())
    except (subprocess.SubprocessError, OSError, ValueError) as problem:
        sys.exit(f"nsys cannot be fetched: {problem}")
