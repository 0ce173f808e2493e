# SPDX-License-Identifier: Apache-2.0
"""Who runs in the bench: holdup in its variants and the public tools beside it, with their versions.
Measures nothing; builds the one peer that needs a compiler."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from inputs import Trace
from measuring import Contender

PEERS = Path(__file__).with_name("peers")
NO_SIMDJSON = "not installed (apt-get install libsimdjson-dev)"
NO_CXX = "no C++ compiler to build it with (apt-get install g++)"
NO_HTA = "not installed (pip install HolisticTraceAnalysis; HOLDUP_HTA_PYTHON=its python)"
HTA_VERSIONS = ("import hta; from importlib.metadata import version; "
                "print(*(f'{p} {version(p)}' for p in ('HolisticTraceAnalysis', 'pandas', 'numpy')))")


def first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = (done.stdout or done.stderr).strip().splitlines()
    return lines[0].strip() if done.returncode == 0 and lines else ""


def cpu_flags() -> set[str]:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("flags", "Features")):
                return set(line.split(":", 1)[1].split())
    except OSError:
        pass
    return set()


def cpu_kernels() -> list[str]:
    """The scanner's variants that this processor can run; holdup itself never raises what it has."""
    flags = cpu_flags()
    found = ["scalar"]
    if "asimd" in flags:
        found.append("neon")
    if {"avx2", "bmi2"} <= flags:
        found.append("avx2")
    if {"avx512bw", "avx512vl", "bmi2"} <= flags:
        found.append("avx512")
    return found


@dataclass
class Simdjson:
    """One build of the On-Demand peer."""

    key: str
    program: Path | None
    label: str = "simdjson On-Demand"
    words: str = ""
    absent: str = ""

    def contender(self, trace: Trace) -> Contender:
        return Contender(self.key, self.label, [str(self.program), str(trace.path)], keep_output=True,
                         absent=self.absent)


@dataclass
class Peers:
    simdjson: list[Simdjson]                # the first is the reference
    hta_python: str
    versions: list[str] = field(default_factory=list)

    @staticmethod
    def find(scratch: Path) -> Peers:
        peers = Peers(find_simdjson(scratch), find_hta())
        peers.versions = [line for line in [
            *(s.words or f"simdjson: {s.absent}" for s in peers.simdjson),
            tool_version("igzip", ["igzip", "--version"], "isal"),
            tool_version("gzip", ["gzip", "--version"], "gzip"),
            tool_version("zstd", ["zstd", "--version"], "zstd"),
            f"Python {sys.version.split()[0]} (json.load)",
            hta_versions(peers.hta_python) or f"HolisticTraceAnalysis: {NO_HTA}",
        ] if line]
        return peers

    def json_load(self, path: Path, rounds: int) -> Contender:
        return Contender("json_load", "Python json.load", [sys.executable, str(PEERS / "json_load.py"), str(path)],
                         rounds=rounds, keep_output=True)

    def hta(self, path: Path, rounds: int) -> Contender:
        return Contender("hta", "HolisticTraceAnalysis", [self.hta_python, str(PEERS / "hta.py"), str(path)],
                         rounds=rounds, keep_output=True, absent="" if self.hta_python else NO_HTA)


def tool_version(name: str, command: list[str], package: str) -> str:
    return first_line(command).strip("* ") or f"{name}: not installed (apt-get install {package})"


def unpacker(name: str, path: Path, package: str) -> Contender:
    return Contender(name, f"{name} -dc", [name, "-dc", str(path)],
                     absent="" if shutil.which(name) else f"not installed (apt-get install {package})")


def find_hta() -> str:
    for python in filter(None, [os.environ.get("HOLDUP_HTA_PYTHON"), shutil.which("python3")]):
        if hta_versions(python):
            return python
    return ""


def hta_versions(python: str) -> str:
    return first_line([python, "-c", HTA_VERSIONS]) if python else ""


def find_simdjson(scratch: Path) -> list[Simdjson]:
    """HOLDUP_SIMDJSON_DIR names a folder with the amalgamated simdjson.h and simdjson.cpp; else what is installed."""
    found = []
    own = os.environ.get("HOLDUP_SIMDJSON_DIR")
    if own:
        found.append(build_simdjson("simdjson", scratch / "simdjson_own", ["-I", own, f"{own}/simdjson.cpp"]))
    key = "simdjson_installed" if own else "simdjson"
    found.append(build_simdjson(key, scratch / "simdjson_installed", ["-lsimdjson"]))
    return [s for s in found if s.program] or found[-1:]


def build_simdjson(key: str, out: Path, extra: list[str]) -> Simdjson:
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++") or "c++"
    flags = ["-std=c++17", "-O3", "-march=native", "-DNDEBUG"]
    command = [*compiler.split(), *flags, "-o", str(out), str(PEERS / "simdjson_ondemand.cpp"), *extra]
    print(f"  building {out.name}", file=sys.stderr, flush=True)
    try:
        subprocess.run(command, check=True, capture_output=True)
    except OSError:
        return Simdjson(key, None, absent=NO_CXX)
    except subprocess.CalledProcessError:
        return Simdjson(key, None, absent=NO_SIMDJSON)
    return describe_simdjson(key, out, first_line([*compiler.split(), "--version"]), flags)


def describe_simdjson(key: str, program: Path, compiler: str, flags: list[str]) -> Simdjson:
    sample = program.with_name("one_event.json")
    sample.write_text('{"traceEvents": [{"ph": "X", "name": "a", "ts": 1.001, "dur": 2.5}]}')
    done = subprocess.run([str(program), str(sample)], capture_output=True, text=True)
    if done.returncode:
        return Simdjson(key, None, absent="its program does not run")
    about = json.loads(done.stdout)
    words = (f"simdjson {about['version']} ({about['kernel']} kernel, its stage 1 {about['stage1_kernel']}), "
             f"{compiler}, {' '.join(flags[1:])}")
    return Simdjson(key, program, f"simdjson {about['version']} On-Demand", words)


@dataclass(frozen=True)
class Holdup:
    program: Path

    def run(self, verb: str, path: Path, label: str = "", cpu: str = "", threads: int = 0, more: tuple[str, ...] = (),
            keep: bool = False) -> Contender:
        env = {**({"HOLDUP_CPU": cpu} if cpu else {}), **({"HOLDUP_THREADS": str(threads)} if threads else {})}
        variant = cpu or (f"{threads} thread" + "s" * (threads > 1) if threads else "")
        return Contender("-".join(filter(None, [verb, cpu, str(threads or "")])),
                         label or f"holdup {verb}" + (f", {variant}" if variant else ""),
                         [str(self.program), verb, str(path), *more], env, keep_output=keep)

    def spread(self, processes: int, path: Path) -> Contender:
        """The same report by processes that Open MPI starts."""
        absent = "" if shutil.which("mpirun") else "no mpirun (openmpi-bin)"
        if not self.program.with_name("libholdup-mpi.so").exists():
            absent = "built without Open MPI (libopenmpi-dev)"
        as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.getuid() == 0 else {}
        return Contender("mpirun", f"mpirun -n {processes}", ["mpirun", "--oversubscribe", "-n", str(processes), str(self.program), "report", str(path)],
                         as_root, absent=absent)

    def version(self) -> str:
        return first_line([str(self.program), "--version"]) or "holdup (tells no version)"
