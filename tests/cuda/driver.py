# SPDX-License-Identifier: Apache-2.0
"""The vendor's own libcuda, without a device: Debian's packages of non-free, fetched with lists of their own and unpacked beside the wheels.

    HOLDUP_TEST_DRIVER=1      tests may fetch them; without it they use what is there already

Nothing of the system is changed.  As root, cuInit makes /dev/nvidiactl: who runs it removes that (`no_node_left`)."""
from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator

from tests.cuda import wheels
from tests.program import skip_loudly

SUITES = {"535": "bookworm", "550": "trixie"}
NODE = pathlib.Path("/dev/nvidiactl")


def _sources(suite: str) -> str:
    """A line that APT takes, with the mirror of this machine's own sources."""
    mirror = "http://deb.debian.org/debian"
    for file in [*pathlib.Path("/etc/apt").glob("sources.list"), *sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*"))]:
        for word in file.read_text(errors="replace").split():
            if word.startswith("http") and word.rstrip("/").endswith("/debian"):
                mirror = word
                break
    return f"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {mirror} {suite} non-free\n"


def _unpack(branch: str, folder: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory(prefix="holdup-apt-") as scratch:
        base = pathlib.Path(scratch)
        (base / "lists/partial").mkdir(parents=True)
        (base / "cache/archives/partial").mkdir(parents=True)
        (base / "sources.list").write_text(_sources(SUITES[branch]))
        options = ["-o", f"Dir::Etc::sourcelist={base}/sources.list", "-o", "Dir::Etc::sourceparts=/dev/null", "-o",
                   f"Dir::State::lists={base}/lists",
                   "-o", f"Dir::Cache={base}/cache", "-o", "APT::Sandbox::User=root"]
        subprocess.run(["apt-get", *options, "update"], check=True, capture_output=True, timeout=200)
        subprocess.run(["apt-get", *options, "download", "libcuda1"], check=True, capture_output=True, timeout=200, cwd=base)
        package, = base.glob("libcuda1_*.deb")
        subprocess.run(["dpkg-deb", "-x", package, base / "new"], check=True, capture_output=True, timeout=100)
        real, = (p for p in (base / "new").rglob("libcuda.so.*.*") if not p.is_symlink())
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(real, folder / "libcuda.so.1.new")
        (folder / "libcuda.so.1.new").rename(folder / "libcuda.so.1")


def fetch(branch: str) -> pathlib.Path | None:
    """A folder with libcuda.so.1 of this branch, or None, said aloud."""
    folder = wheels.home() / f"driver-{branch}"
    if (folder / "libcuda.so.1").exists():
        return folder
    if os.environ.get("HOLDUP_TEST_DRIVER") != "1":
        skip_loudly(f"libcuda {branch} is not there: HOLDUP_TEST_DRIVER=1 (make test-abi) fetches it")
        return None
    try:
        _unpack(branch, folder)
    except (subprocess.SubprocessError, OSError, ValueError) as problem:
        skip_loudly(f"libcuda {branch} cannot be fetched ({problem})")
        return None
    return folder


@contextlib.contextmanager
def no_node_left() -> Iterator[None]:
    """Removes the device node that libcuda makes where there is no driver."""
    was = NODE.exists()
    try:
        yield
    finally:
        if not was:
            with contextlib.suppress(OSError):
                NODE.unlink(missing_ok=True)
