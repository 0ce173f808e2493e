# SPDX-License-Identifier: Apache-2.0
"""A libnvidia-ml that is compiled against some version of its vendor's header, and the scenarios that it plays (scenario.h)."""
from __future__ import annotations

import functools
import os
import pathlib
import re
import subprocess
import tempfile
from dataclasses import dataclass

from tests import test_nvml_headers
from tests.program import ROOT

# CUDA: package, version
VERSIONS = {**{cuda: ("nvidia-nvml-dev-cu12", version) for cuda, version in (
    ("12.0", "12.0.140"), ("12.1", "12.1.105"), ("12.2", "12.2.140"), ("12.3", "12.3.101"), ("12.4", "12.4.127"), ("12.5", "12.5.82"),
    ("12.6", "12.6.77"), ("12.8", "12.8.90"), ("12.9", "12.9.79"))},
            **{cuda: ("nvidia-nvml-dev", version) for cuda, version in (
                ("13.0", "13.0.87"), ("13.1", "13.1.115"), ("13.2", "13.2.86"), ("13.3", "13.3.29"), ("13.4", "13.4.92"), ("13.5", "13.5.37"))}}
ALWAYS = ("12.0", "13.5")
# a driver of the branch that came with it; from 13.3 on, one between those that are known
DRIVERS = {"12.0": "525.147.05", "12.1": "530.41.03", "12.2": "535.261.03", "12.3": "545.29.06", "12.4": "550.163.01", "12.5": "555.58.02", "12.6": "560.35.05",
           "12.8": "570.195.03", "12.9": "575.64.05", "13.0": "580.95.05", "13.1": "590.48.01", "13.2": "595.10.01", "13.3": "600.12.01", "13.4": "605.11.01",
           "13.5": "615.20.01"}
# what a driver of branch 450 does not have of what the header of 12.0 declares
AFTER_450 = ("nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses_v3",
             "nvmlDeviceGetGraphicsRunningProcesses_v2", "nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2",
             "nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses", "nvmlGpmMetricsGet", "nvmlGpmSampleFree", "nvmlGpmSampleAlloc",
             "nvmlGpmSampleGet", "nvmlGpmMigSampleGet", "nvmlGpmQueryDeviceSupport", "nvmlDeviceGetArchitecture", "nvmlDeviceGetRemappedRows",
             "nvmlDeviceGetNumGpuCores", "nvmlDeviceGetMemoryBusWidth", "nvmlDeviceGetNumFans")


def wanted() -> tuple[str, ...]:
    """Two versions; all of them in `make test-abi`."""
    return tuple(VERSIONS) if os.environ.get("HOLDUP_TEST_ABI") == "all" else ALWAYS


@dataclass(frozen=True)
class Header:
    """What an nvml.h declares."""
    folder: pathlib.Path
    functions: frozenset[str]
    fields: dict[str, int]
    metrics: dict[str, int]
    constants: dict[str, int]


@functools.cache
def header(cuda: str) -> Header:
    """Skips the test, and says so, where it cannot be fetched."""
    folder = test_nvml_headers.header(*VERSIONS[cuda])
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", (folder / "nvml.h").read_text(encoding="utf-8", errors="replace"), flags=re.S)
    numbers = {name: int(value, 0) for name, value in re.findall(r"\b((?:NVML|nvml)_?\w+)\s*=\s*(0x[0-9a-fA-F]+|\d+)\b", text)}
    defines = {name: int(value, 0) for name, value in re.findall(r"#define (\w+)\s+\(?(0x[0-9a-fA-F]+|\d+)(?:U?L{0,2})?\)?\s*$", text, flags=re.M)}
    return Header(folder, frozenset(re.findall(r"DECLDIR\s+(nvml\w+)\s*\(", text)),
                  {name: value for name, value in defines.items() if name.startswith("NVML_FI_") and name != "NVML_FI_MAX"},
                  {name: value for name, value in numbers.items() if name.startswith("NVML_GPM_METRIC_") and name != "NVML_GPM_METRIC_MAX"},
                  {**numbers, **defines})


def _table(name: str, of: dict[str, int]) -> str:
    rows = "".join(f'    {{"{key}", {key}}},\n' for key in sorted(of))
    return f"static const struct {{\n    const char *name;\n    unsigned    number;\n}} {name}[] = {{\n{rows}}};\n"


def build(cuda: str, out: pathlib.Path, without: tuple[str, ...] = (), also: tuple[pathlib.Path, ...] = ()) -> pathlib.Path:
    """The library at `out`, which exports what this header declares but for `without`; `also` are sources that it needs for one of the vendor's programs."""
    out.parent.mkdir(parents=True, exist_ok=True)
    new = out.with_suffix(".new")
    new.write_bytes(compiled(cuda, without, also))
    new.chmod(0o755)
    new.rename(out)         # never into a file that somebody has mapped
    return out


@functools.cache
def compiled(cuda: str, without: tuple[str, ...], also: tuple[pathlib.Path, ...]) -> bytes:
    """The same library serves many tests, and a compiler takes longer than most of them."""
    h = header(cuda)
    with tempfile.TemporaryDirectory(prefix="holdup-nvml-") as name:
        scratch = pathlib.Path(name)
        (scratch / "names.h").write_text("".join(f"#define HAVE_{f}\n" for f in sorted(h.functions)) + _table("field_names", h.fields) +
                                         _table("metric_names", h.metrics))
        exported = "; ".join(sorted(h.functions - set(without)))
        (scratch / "exported").write_text(f"{{ global: {exported}; nvmlErrorString; nvmlInternalGetExportTable; local: *; }};\n")
        subprocess.run(["cc", "-D_GNU_SOURCE", f'-DHEADER_CUDA="{cuda}"', "-DNVML_NO_UNVERSIONED_FUNC_DEFS", "-std=gnu17", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
                        "-pthread", f"-I{scratch}", f"-isystem{h.folder}", f"-I{ROOT / 'tests/monitor'}", "-Wl,-soname,libnvidia-ml.so.1",
                        f"-Wl,--version-script={scratch / 'exported'}", "-o", scratch / "made.so",
                        ROOT / "tests/monitor/nvml_vendor.c", ROOT / "tests/monitor/scenario.c", *also], check=True)
        return (scratch / "made.so").read_bytes()


class Scenario:
    """Lines by device and key; `write` replaces the file at once, and whoever plays it sees that at its next call."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.lines: dict[tuple[str, str], object] = {}
        self.rules: list[str] = []
        self.events: list[str] = []

    def set(self, device: object, key: str, value: object) -> None:
        self.lines[str(device), key] = value

    def drop(self, device: object, *keys: str) -> None:
        """Not supported from now on, with all fields of a call."""
        for d, key in list(self.lines):
            if d == str(device) and any(key == k or key.startswith(k + ".") for k in keys):
                del self.lines[d, key]

    def number(self, device: object, key: str) -> float:
        return float(str(self.lines[str(device), key]))

    def has(self, device: object, key: str) -> bool:
        return (str(device), key) in self.lines

    def event(self, gpu: int, kind: int, data: int) -> None:
        self.events.append(f"event {len(self.events) + 1} {gpu} {kind} {data}")

    def write(self) -> None:
        text = "".join(f"{device} {key} {escape(value)}\n" for (device, key), value in self.lines.items())
        new = self.path.with_suffix(".new")
        new.write_bytes((text + "".join(f"{line}\n" for line in self.rules + self.events)).encode("utf-8", "surrogateescape"))
        new.rename(self.path)


def escape(value: object) -> str:
    return "".join(f"\\x{ord(c):02x}" if c == "\\" or c == "\n" or (ord(c) < 32) else c for c in str(value))
