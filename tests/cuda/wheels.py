# SPDX-License-Identifier: Apache-2.0
"""CUPTI as its vendor ships it: headers and library of some version, fetched from the registry when a test asks, kept outside of the tree.

    python3 -m tests.cuda.wheels 12.1 13.0      fetches these versions, and prints where they lie

Nothing of it is committed or needed by a build.  HOLDUP_CUDA_WHEELS names another folder; HOLDUP_CUDA_WHEELS=none fetches nothing."""
from __future__ import annotations

import fcntl
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass

from tests.program import skip_loudly


@dataclass(frozen=True)
class Version:
    """A version of CUDA: its packages, and what its cuptiGetVersion answers."""
    cuda: str
    api: int
    packages: tuple[str, ...]

    def soname(self) -> str:
        major = self.cuda.partition(".")[0]
        return f"libcupti.so.{self.cuda if major == '11' else major}"


# of the compiler, and included by the headers of all versions; the packages for CUDA 11 and 12 lack it
CRT = "nvidia-cuda-crt==13.0.88"


def _eleven(cuda: str, api: int, cupti: str, runtime: str) -> Version:
    return Version(cuda, api, (f"nvidia-cuda-cupti-cu11=={cupti}", f"nvidia-cuda-runtime-cu11=={runtime}", CRT))


def _twelve(cuda: str, api: int, cupti: str, runtime: str) -> Version:
    return Version(cuda, api, (f"nvidia-cuda-cupti-cu12=={cupti}", f"nvidia-cuda-runtime-cu12=={runtime}", CRT))


def _thirteen(cuda: str, api: int, cupti: str, runtime: str, crt: str) -> Version:
    return Version(cuda, api, (f"nvidia-cuda-cupti=={cupti}", f"nvidia-cuda-runtime=={runtime}", f"nvidia-cuda-crt=={crt}"))


VERSIONS = {v.cuda: v for v in (
    _eleven("11.8", 18, "11.8.87", "11.8.89"),
    _twelve("12.0", 18, "12.0.146", "12.0.146"),
    _twelve("12.1", 18, "12.1.105", "12.1.105"),
    _twelve("12.2", 20, "12.2.142", "12.2.140"),
    _twelve("12.3", 21, "12.3.101", "12.3.101"),
    _twelve("12.4", 22, "12.4.127", "12.4.127"),
    _twelve("12.5", 23, "12.5.82", "12.5.82"),
    _twelve("12.6", 24, "12.6.80", "12.6.77"),
    _twelve("12.8", 26, "12.8.90", "12.8.90"),
    _twelve("12.9", 28, "12.9.79", "12.9.79"),
    _thirteen("13.0", 130001, "13.0.85", "13.0.96", "13.0.88"),
    _thirteen("13.1", 130101, "13.1.115", "13.1.80", "13.1.115"),
    _thirteen("13.2", 130202, "13.2.86", "13.2.86", "13.2.86"),
    _thirteen("13.3", 130301, "13.3.75", "13.3.29", "13.3.73"),
    _thirteen("13.4", 130401, "13.4.92", "13.4.92", "13.4.92"),
    _thirteen("13.5", 130500, "13.5.25", "13.5.37", "13.5.37"),
)}
KEEP = ("libcupti.so", "libcudart.so")      # of the libraries
ALWAYS = ("12.1", "13.0")
AGAIN_S = 600


def wanted() -> tuple[str, ...]:
    """Two versions; all of them in `make test-abi`."""
    return tuple(VERSIONS) if os.environ.get("HOLDUP_TEST_ABI") == "all" else ALWAYS


def home() -> pathlib.Path:
    return pathlib.Path(os.environ.get("HOLDUP_CUDA_WHEELS") or
                        pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "holdup/cuda")


def _unpack(version: Version, folder: pathlib.Path) -> None:
    """All headers under include/, all libraries under lib/, whatever the layout of the wheels."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "--retries", "1", "--timeout", "15", "download", "--quiet",
                        "--no-deps", "--dest", scratch, *version.packages],
                       check=True, capture_output=True, timeout=300)
        new = pathlib.Path(scratch) / "new"
        for wheel in sorted(pathlib.Path(scratch).glob("*.whl")):
            with zipfile.ZipFile(wheel) as archive:
                for name in archive.namelist():
                    parts = pathlib.PurePosixPath(name).parts
                    for part in ("include", "lib"):
                        if part in parts and not name.endswith(("/", "__init__.py")) and (part == "include" or parts[-1].startswith(KEEP)):
                            path = new.joinpath(*parts[parts.index(part):])
                            path.parent.mkdir(parents=True, exist_ok=True)
                            path.write_bytes(archive.read(name))
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)


def _try(cuda: str, folder: pathlib.Path) -> None:
    """Not again within minutes where it failed: other suites want the same, and a machine without a registry lets each of them wait."""
    failed = folder.parent / f"{cuda}.failed"
    if failed.exists() and time.time() - failed.stat().st_mtime < AGAIN_S:
        raise OSError(failed.read_text(encoding="utf-8"))
    try:
        _unpack(VERSIONS[cuda], folder)
    except (subprocess.SubprocessError, OSError, zipfile.BadZipFile) as problem:
        failed.write_text(str(problem), encoding="utf-8")
        raise


def fetch(cuda: str) -> pathlib.Path | None:
    """The folder of this version, or None, said aloud, where the registry does not answer."""
    if os.environ.get("HOLDUP_CUDA_WHEELS") == "none":
        skip_loudly(f"CUPTI {cuda} was not fetched: HOLDUP_CUDA_WHEELS=none")
        return None
    folder = home() / cuda
    if (folder / "include/crt/host_defines.h").exists():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with open(folder.parent / "lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "include/crt/host_defines.h").exists():
                _try(cuda, folder)
    except (subprocess.SubprocessError, OSError, zipfile.BadZipFile) as problem:
        skip_loudly(f"CUPTI {cuda} cannot be fetched ({problem})")
        return None
    return folder


if __name__ == "__main__":
    for which in sys.argv[1:] or VERSIONS:
        print(which, fetch(which))
