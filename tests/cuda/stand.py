# SPDX-License-Identifier: Apache-2.0
"""Builds the stand-ins of libcuda, libcudart and libcupti, and runs programs on them, under `holdup run` or without it."""
from __future__ import annotations

import atexit
import functools
import pathlib
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from typing import Any

from tests import recorder
from tests.cuda import wheels
from tests.program import EXE, ROOT

HERE = ROOT / "tests/cuda"
WARN = ("-std=gnu17", "-O2", "-Wall", "-Wextra", "-Werror")
SHARED = (*WARN, "-fPIC", "-fvisibility=hidden", "-shared")
OWN = "own"                             # the version of abi.h, for machines without the vendor's headers
OWN_CUDA = "13.0"


def _compile(out: pathlib.Path, *words: Any) -> pathlib.Path:
    done = subprocess.run(["cc", *map(str, words), "-o", str(out), "-lpthread", "-ldl"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"{out.name} does not compile:\n{done.stderr[:3000]}")
    return out


@functools.lru_cache(None)
def scratch() -> pathlib.Path:
    folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-cuda-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.lru_cache(None)
def libraries() -> pathlib.Path:
    """libcuda, libcudart and the listener."""
    folder = scratch() / "lib"
    folder.mkdir()
    _compile(folder / "libcuda.so.1", *SHARED, "-Wl,-soname,libcuda.so.1", HERE / "device.c")
    _compile(folder / "libcudart.so.12", *SHARED, "-Wl,-z,lazy", "-Wl,-soname,libcudart.so.12", HERE / "runtime.c")
    _compile(folder / "liblistener.so", *SHARED, HERE / "listener.c")
    return folder


@functools.lru_cache(None)
def _cupti_object(cuda: str, flags: tuple[str, ...]) -> pathlib.Path | None:
    headers: tuple[str, ...] = ("-DOWN_ABI",)
    if cuda != OWN:
        fetched = wheels.fetch(cuda)
        if not fetched:
            return None
        headers = ("-isystem", str(fetched / "include"))
    name = "-".join(["cupti", cuda, *(f.strip("-").replace("=", "") for f in flags)])
    return _compile(scratch() / f"{name}.o", *WARN, "-fPIC", "-fvisibility=hidden", "-c", *headers, *flags, HERE / "cupti.c")


@functools.lru_cache(None)
def cupti(cuda: str = OWN, missing: tuple[str, ...] = (), flags: tuple[str, ...] = ()) -> pathlib.Path | None:
    """A folder with libcupti.so.N of this version, without some symbols; None where its headers cannot be had."""
    version = wheels.VERSIONS[OWN_CUDA if cuda == OWN else cuda]
    whole = _cupti_object(cuda, flags)
    if not whole:
        return None
    folder = scratch() / "-".join([whole.stem, *(m[5:] for m in missing)])
    folder.mkdir(exist_ok=True)
    part = folder / "part.o"
    subprocess.run(["objcopy", *(f"--redefine-sym={m}=no_{m}" for m in missing), whole, part], check=True)
    _compile(folder / version.soname(), "-shared", f"-Wl,-soname,{version.soname()}", part)
    return folder


@functools.lru_cache(None)
def program(name: str, flags: tuple[str, ...] = ()) -> pathlib.Path:
    return _compile(scratch() / "-".join([name, *(f.strip("-").replace("=", "") for f in flags)]), *WARN, *flags, f"-I{ROOT / 'include'}",
                    HERE / f"programs/{name}.c", "-Wl,--unresolved-symbols=ignore-all", "-Wl,-z,lazy",
                    f"-L{libraries()}", "-l:libcudart.so.12")


class Log:
    """What the stand-ins saw."""

    def __init__(self, path: pathlib.Path) -> None:
        self.lines = path.read_text().splitlines() if path.exists() else []

    def misuse(self) -> list[str]:
        return [line.partition(" ")[2] for line in self.lines if " MISUSE " in line]

    def calls(self, name: str) -> list[str]:
        """The lines of a call, in order: "cuptiActivityEnable 10"."""
        return [m[1] for m in (re.match(r"\d+ (" + re.escape(name) + r"\b.*)", line) for line in self.lines) if m]

    def delivered(self) -> Counter[str]:
        """Records in buffers that were handed over, by kind."""
        found: Counter[str] = Counter()
        for line in self.lines:
            if re.match(r"\d+ delivered ", line):
                found.update({kind: int(n) for kind, n in re.findall(r" (\w+)=(\d+)", line)})
        return found

    def dropped(self) -> Counter[str]:
        return Counter(m[1] for m in (re.match(r"\d+ dropped (\w+)$", line) for line in self.lines) if m)

    def told_drops(self) -> int:
        return sum(int(m[1]) for m in (re.match(r"\d+ told drops (\d+)$", line) for line in self.lines) if m)

    def injections(self) -> int:
        return len(self.calls("InitializeInjection"))


def environment(folder: pathlib.Path, libcupti: pathlib.Path | None, **more: str) -> dict[str, str]:
    """Only the stand-ins: no other libcuda or libcupti of this machine."""
    path = ":".join(str(f) for f in (libraries(), libcupti) if f)
    clean = {k: v for k, v in recorder.environment().items() if not k.startswith(("CUDA", "STANDIN", "LD_", "NVTX"))}
    return {**clean, "LD_LIBRARY_PATH": path, "STANDIN_LOG": str(folder / "log"), **more}


class Recording:
    """A program under `holdup run`."""

    def __init__(self, folder: pathlib.Path, *command: Any, libcupti: pathlib.Path | None, options: tuple[str, ...] = (), timeout: float = 120,
                 env: dict[str, str] | None = None, holdup: str = EXE) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        words = [holdup, "run", "--no-report", *options, "-o", folder / "trace", "--", *command]
        self.done = subprocess.run([*map(str, words)], capture_output=True, text=True, errors="replace", timeout=timeout, check=False,
                                   env=environment(folder, libcupti, **(env or {})))
        self.log = Log(folder / "log")
        self.files = sorted((folder / "trace").rglob("*.pftrace")) if (folder / "trace").is_dir() else sorted(folder.glob("*.pftrace"))

    def rows(self, sql: str) -> list[dict[str, Any]]:
        return [row for file in self.files for row in recorder.rows(file, sql)]

    def kernels(self) -> Counter[str]:
        """How often each kernel is in the trace."""
        return Counter({row["name"]: int(row["n"]) for row in self.rows("select name, count(*) as n from kernel group by name")})

    def categories(self) -> Counter[str]:
        return Counter({row["category"]: int(row["n"]) for row in self.rows("select category, count(*) as n from slice group by category")})


def plain(folder: pathlib.Path, *command: Any, libcupti: pathlib.Path | None = None, timeout: float = 60, **more: str) -> subprocess.CompletedProcess:
    """The program without holdup."""
    folder.mkdir(parents=True, exist_ok=True)
    return subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=timeout, check=False, env=environment(folder, libcupti,
                                                                                                                              **more))


INJECT = pathlib.Path(EXE).parent / "libholdup-inject.so"
