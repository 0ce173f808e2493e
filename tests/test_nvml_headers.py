# SPDX-License-Identifier: Apache-2.0
"""Our own declarations of NVML against its vendor's: headers of the oldest and the newest version that the registry has are fetched, never committed.

HOLDUP_CUDA_WHEELS names the folder they are kept in; HOLDUP_CUDA_WHEELS=none fetches nothing."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

from tests import recorder
from tests.program import ROOT, SANITIZED, skip_loudly

VERSIONS = {"nvidia-nvml-dev-cu12": "12.0.140", "nvidia-nvml-dev": "13.5.37"}
JOB = """import os, pathlib, sys, time
pathlib.Path(sys.argv[2]).write_text(str(os.getpid()))
asked = pathlib.Path(sys.argv[1])
while not asked.exists() or int(asked.read_text() or 0) < 12:
    time.sleep(0.01)
"""


def load_tests(_loader, tests, _pattern):
    """The recorder works in other programs, without sanitizers: once is enough."""
    return unittest.TestSuite() if SANITIZED else tests


def skip(why: str) -> None:
    skip_loudly(why)
    raise unittest.SkipTest(why)


def header(package: str, version: str) -> pathlib.Path:
    """The folder of nvml.h."""
    place = os.environ.get("HOLDUP_CUDA_WHEELS")
    if place == "none":
        skip(f"{package} was not fetched: HOLDUP_CUDA_WHEELS=none")
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = (pathlib.Path(place) if place else cache / "holdup/cuda") / f"nvml-{version}"
    if (folder / "nvml.h").exists():
        return folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "--retries", "1", "--timeout", "15",
                            "download", "--quiet", "--no-deps", "--dest", scratch,
                            f"{package}=={version}"], check=True, capture_output=True, timeout=300)
            wheel, = pathlib.Path(scratch).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                name, = (n for n in archive.namelist() if n.endswith("/nvml.h"))
                (pathlib.Path(scratch) / "nvml.h").write_bytes(archive.read(name))
            (pathlib.Path(scratch) / "nvml.h").rename(folder / "nvml.h")
    except (subprocess.SubprocessError, OSError, zipfile.BadZipFile) as problem:
        skip(f"{package} {version} cannot be fetched ({problem})")
    return folder


class Headers(unittest.TestCase):
    def check(self, package: str, first: bool) -> None:
        """Every value that the library fills by the name of its field comes back."""
        include = header(package, VERSIONS[package])
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            library, trace, asked = folder / "libheaders.so", folder / "t.pftrace", folder / "asked"
            flags = ["-DFIRST", "-DNVML_NO_UNVERSIONED_FUNC_DEFS"] if first else []
            subprocess.run(["cc", "-O1", "-Wall", "-Werror", "-Wno-deprecated-declarations", "-shared", "-fPIC", f"-I{include}", *flags,
                            "-o", library, ROOT / "tests/nvml/headers.c"], check=True, capture_output=True)
            done = recorder.holdup("run", "-o", trace, "--no-report", "--", sys.executable, "-c", JOB, asked, folder / "pid",
                                   env={**recorder.environment(), "HOLDUP_NVML": str(library), "NVML_ASKED": str(asked),
                                        "NVML_PIDFILE": str(folder / "pid")})
            self.assertEqual(done.returncode, 0, done.stderr)
            found: dict[str, list[float]] = {}
            for row in recorder.rows(trace, "select name, value from counter where name like 'nvidia-smi GPU 0 %' order by time_ns"):
                found.setdefault(row["name"][len("nvidia-smi GPU 0 "):], []).append(row["value"])
            energy = found.pop("energy (J)")
            self.assertEqual(energy, [1.5 * i for i in range(len(energy))])
            self.assertEqual({k: set(v) for k, v in found.items()},
                             {"utilization (%)": {61}, "memory utilization (%)": {62}, "SM clock (MHz)": {1501}, "memory clock (MHz)": {2501},
                              "power (W)": {333.25}, "memory used (bytes)": {6000000001 if first else 7000000001}, "temperature (C)": {71},
                              "clock event reasons (bits)": {0x4 | 0x40 | 0x80}, "XID error (number)": {94}})
            row, = recorder.rows(trace, "select value from metadata where key = 'holdup.gpus'")
            fields = row["value"].strip('"').encode().decode("unicode_escape").rstrip("\n").split("\t")
            self.assertEqual(fields[:8], ["0", "1", "1", "1", "2001", "3001", "401000", "8000000001"])
            self.assertEqual(fields[11:], ["GPU-by-header", "00000007:08:09.0", "535.261.03", "Header GPU", "", "-1"])

    def test_layouts(self) -> None:
        """All that the monitor calls: sizes, places of fields, codes and numbers, as the header has them; what disagrees does not compile."""
        for package, version in (*VERSIONS.items(), ("nvidia-nvml-dev-cu12", "12.9.79")):
            major, minor, _ = version.split(".")
            with self.subTest(version=version):
                flags = ["-std=gnu17", "-fsyntax-only", "-Wall", "-Werror", f"-I{header(package, version)}", f"-I{ROOT / 'src'}", f"-DAPI={major}{int(minor):02}"]
                done = subprocess.run(["cc", *flags, ROOT / "tests/nvml/layouts.c"], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
        # and one that disagrees is found
        done = subprocess.run(["cc", *flags[:-1], "-DAPI=1305", ROOT / "tests/nvml/layouts.c"], capture_output=True, text=True)
        self.assertIn("NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN", done.stderr)

    def test_oldest(self) -> None:
        self.check("nvidia-nvml-dev-cu12", first=False)

    def test_oldest_first_calls(self) -> None:
        self.check("nvidia-nvml-dev-cu12", first=True)

    def test_newest(self) -> None:
        self.check("nvidia-nvml-dev", first=False)


if __name__ == "__main__":
    unittest.main()
