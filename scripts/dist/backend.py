# SPDX-License-Identifier: Apache-2.0
"""What pip calls (PEP 517) to install the source: a program for this machine, which opens the libraries of this machine."""
from __future__ import annotations

import pathlib
import subprocess
import sys
import sysconfig
import tempfile
from typing import Any

import archives
import contents
import source


def wheel_tag() -> str:
    """Of this system alone: what the compiler here makes need not run on an older one."""
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def build_sdist(sdist_directory: str, config_settings: dict[str, Any] | None = None) -> str:
    return source.pack(pathlib.Path(sdist_directory)).name


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: dict[str, Any] | None = None) -> str:
    info = pathlib.Path(metadata_directory) / f"holdup-{source.VERSION}.dist-info"
    info.mkdir()
    (info / "METADATA").write_bytes(contents.metadata(source.ROOT, source.VERSION))
    (info / "WHEEL").write_bytes(contents.kind(wheel_tag()))
    return info.name


def build_wheel(wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None) -> str:
    """`pip install -Csetup-args=-Db_lto=false .` hands words to meson setup."""
    words = (config_settings or {}).get("setup-args", [])
    with tempfile.TemporaryDirectory(prefix="holdup-wheel-") as folder:
        build, stage = f"{folder}/build", pathlib.Path(folder) / "stage"
        call("setup", build, str(source.ROOT), "--prefix=/usr", "--libdir=lib", "--buildtype=release", "-Db_lto=true", *([words] if isinstance(words, str) else words))
        call("compile", "-C", build, "installed")
        call("install", "-C", build, "--no-rebuild", "--quiet", "--destdir", str(stage))
        out = pathlib.Path(wheel_directory) / f"holdup-{source.VERSION}-py3-none-{wheel_tag()}.whl"
        wheel = archives.Wheel(out, "holdup", source.VERSION, source.when())
        contents.wheel(wheel, source.ROOT, stage / "usr", source.VERSION, wheel_tag())
        wheel.close()
    return out.name


def call(*words: str) -> None:
    if subprocess.run(["meson", *words], stdin=subprocess.DEVNULL, check=False).returncode:
        sys.exit(f"holdup: `meson {words[0]}` failed, its words are above.  The source needs a C compiler and the headers of docs/dependencies.md "
                 "(on Debian and Ubuntu, scripts/setup installs them); the wheel for any Linux needs neither: docs/install.md.")
