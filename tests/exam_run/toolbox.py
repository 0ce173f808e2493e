# SPDX-License-Identifier: Apache-2.0
"""Compiles the programs, makes what they read, and says how each is started."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.exam_run.plants import Plant

SOURCES = Path(__file__).resolve().parent / "programs"
COMMON = ["-O2", "-g", "-Wall", "-Wextra", "-pthread"]
STATIC = frozenset({"blend", "backoff"})
OPENMP = frozenset({"triangle"})
MPI = frozenset({"late", "null_ranks"})
PYTHON = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else "python3"
TEXT_BYTES = 1_300_000
LOG_LINES = 330_000


class CannotBuild(Exception):
    """Why a program cannot be had here."""


@dataclass
class Toolbox:
    """Programs below folder, started in desk."""

    folder: Path
    desk: Path
    made: dict[str, list[str]] = field(default_factory=dict)

    def command(self, plant: Plant, mode: str) -> list[str]:
        """The command line of a plant, `with` or `without` its cause."""
        if plant.key() not in self.made:
            self.made[plant.key()] = self._make(plant)
        return [*self.made[plant.key()], mode]

    def prepare(self) -> None:
        """The desk, with what programs read."""
        self.desk.mkdir(parents=True, exist_ok=True)
        words = "the quick brown fox jumps over a lazy dog and then sleeps till noon ".encode()
        (self.desk / "corpus.txt").write_bytes((words * (TEXT_BYTES // len(words) + 1))[:TEXT_BYTES])
        with open(self.desk / "lines.txt", "w") as file:
            file.writelines(f"{n * 2654435761 % 4294967291:010d} request {n}\n" for n in range(LOG_LINES))
        shutil.copy(SOURCES / "build.mk", self.desk / "Makefile")
        for name in "abcdef":
            (self.desk / f"{name}.c").write_text(_functions(3, name))
        (self.desk / "big_with.c").write_text(_functions(40, "big"))
        (self.desk / "big_without.c").write_text(_functions(6, "big"))

    def neighbour(self) -> list[str]:
        """A process that takes a CPU until it is killed."""
        return [*self._make(Plant("", "crunch.c")), "neighbour"]

    def _make(self, plant: Plant) -> list[str]:
        source, binary = SOURCES / plant.program, self.folder / plant.key()
        self.folder.mkdir(parents=True, exist_ok=True)
        kind = source.suffix
        if kind == ".py":
            return [PYTHON, str(source)]
        if kind == ".sh":
            _need("make" if plant.key() == "build" else "bash")
            return ["sh" if plant.key() == "build" else "bash", str(source)]
        if kind == ".java":
            _need("java")
            self._run([_need("javac"), "-g", "-d", str(self.folder), str(source)], source, self.folder / f"{plant.key()}.class")
            return ["java", "-cp", str(self.folder), plant.key()]
        self._run(_compiler(plant, source, binary), source, binary)
        if plant.key() in MPI:
            return [_need("mpirun"), "--allow-run-as-root", "--oversubscribe", "-n", "2", str(binary)]
        return [str(binary)]

    def _run(self, command: list[str], source: Path, result: Path) -> None:
        newest = max(source.stat().st_mtime, *(p.stat().st_mtime for p in SOURCES.glob("work*")))
        if result.exists() and result.stat().st_mtime > newest:
            return
        env = {**os.environ, "GO111MODULE": "off", "GOFLAGS": "", "GOCACHE": str(self.folder.resolve() / "go")}
        done = subprocess.run(command, capture_output=True, text=True, env=env, check=False, cwd=SOURCES)
        if done.returncode:
            lines = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
            raise CannotBuild(f"{source.name}: {lines[-1][:200]}")
        if done.stderr.strip():
            print(f"{source.name}: {done.stderr.strip()}", file=sys.stderr)


def _need(tool: str) -> str:
    """The tool, or the reason for a skip."""
    if not shutil.which(tool):
        raise CannotBuild(f"{tool} is not installed")
    return tool


def _compiler(plant: Plant, source: Path, binary: Path) -> list[str]:
    """How a compiled language makes the program."""
    kind, result = source.suffix, str(binary.resolve())
    if kind == ".c":
        tool = "mpicc" if plant.key() in MPI else "gcc"
        extra = ["-static"] if plant.key() in STATIC else ["-fopenmp"] if plant.key() in OPENMP else []
        return [_need(tool), "-std=gnu17", "-D_GNU_SOURCE", *COMMON, *extra, "-o", result, source.name]
    if kind == ".cpp":
        return [_need("g++"), "-std=c++17", *COMMON, "-o", result, source.name]
    if kind == ".go":
        return [_need("go"), "build", "-o", result, source.name, "work_clock.go"]
    if kind == ".rs":
        return [_need("rustc"), "-O", "-g", "--edition", "2021", "-o", result, source.name]
    raise CannotBuild(f"{source.name}: no way to make it")


def _functions(count: int, name: str) -> str:
    """A file of C that takes a compiler 10 to 20 ms a function."""
    body = "".join(f"    if (x % {k + 3} == {k}) x = x * {k + 7}u + (y >> {k % 7}); else y ^= x << {k % 5};\n" for k in range(14))
    return "".join(f"unsigned {name}_{n}(unsigned x, unsigned y)\n{{\n  for (unsigned i = 0; i < y; i++) {{\n{body}  }}\n  return x + y + {n}u;\n}}\n"
                   for n in range(count))
