# SPDX-License-Identifier: Apache-2.0
"""The vendor's own libcuda, libnvidia-ml and nvidia-smi, without a device: Debian's packages of non-free, fetched with lists of their own and
unpacked beside the wheels.

    HOLDUP_TEST_DRIVER=1      tests may fetch them; without it they use what is there already

Nothing of the system is changed.  As root, cuInit and nvmlInit make /dev/nvidiactl: who runs them removes that (`no_node_left`)."""
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
# file: its package, and what it is called there
FILES = {"libcuda.so.1": ("libcuda1", "libcuda.so.*.*"), "libnvidia-ml.so.1": ("libnvidia-ml1", "libnvidia-ml.so.*.*"),
         "nvidia-smi": ("nvidia-smi", "nvidia-smi")}


def _sources(suite: str) -> str:
    """A line that APT takes, with the mirror of this machine's own sources."""
    mirror = "http://deb.debian.org/debian"
    for file in [*pathlib.Path("/etc/apt").glob("sources.list"), *sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*"))]:
        for word in file.read_text(errors="replace").split():
            if word.startswith("http") and word.rstrip("/").endswith("/debian"):
                mirror = word
                break
    return f"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {mirror} {suite} main non-free\n"


def unpack(suite: str, packages: tuple[str, ...], root: pathlib.Path) -> None:
    """What these packages of Debian hold, below a root of its own."""
    with tempfile.TemporaryDirectory(prefix="holdup-apt-") as scratch:
        base = pathlib.Path(scratch)
        (base / "lists/partial").mkdir(parents=True)
        (base / "cache/archives/partial").mkdir(parents=True)
        (base / "sources.list").write_text(_sources(suite))
        options = ["-o", f"Dir::Etc::sourcelist={base}/sources.list", "-o", "Dir::Etc::sourceparts=/dev/null", "-o",
                   f"Dir::State::lists={base}/lists",
                   "-o", f"Dir::Cache={base}/cache", "-o", "APT::Sandbox::User=root"]
        subprocess.run(["apt-get", *options, "update"], check=True, capture_output=True, timeout=200)
        subprocess.run(["apt-get", *options, "download", *packages], check=True, capture_output=True, timeout=600, cwd=base)
        for package in packages:
            archive, = base.glob(f"{package}_*.deb")
            subprocess.run(["dpkg-deb", "-x", archive, root], check=True, capture_output=True, timeout=300)


def _take(branch: str, folder: pathlib.Path, file: str) -> None:
    package, pattern = FILES[file]
    with tempfile.TemporaryDirectory(prefix="holdup-driver-") as scratch:
        root = pathlib.Path(scratch)
        unpack(SUITES[branch], (package,), root)
        real, = (p for p in root.rglob(pattern) if p.is_file() and not p.is_symlink() and p.read_bytes()[:4] == b"\x7fELF")
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(real, folder / f"{file}.new")
        (folder / f"{file}.new").rename(folder / file)


def fetch(branch: str, file: str = "libcuda.so.1") -> pathlib.Path | None:
    """A folder with this file of this branch, or None, said aloud."""
    folder = wheels.home() / f"driver-{branch}"
    if (folder / file).exists():
        return folder
    if os.environ.get("HOLDUP_TEST_DRIVER") != "1":
        skip_loudly(f"{file} {branch} is not there: HOLDUP_TEST_DRIVER=1 (make test-abi) fetches it")
        return None
    try:
        _take(branch, folder, file)
    except (subprocess.SubprocessError, OSError, ValueError) as problem:
        skip_loudly(f"{file} {branch} cannot be fetched ({problem})")
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
