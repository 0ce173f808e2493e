# SPDX-License-Identifier: Apache-2.0
"""A compiler that makes programs for older systems: zig's, which carries the symbols of every glibc since 2.17, and musl."""
from __future__ import annotations

import pathlib
import shlex
import subprocess
import sys
import venv

from targets import Target

PACKAGES = ["ziglang==0.13.0", "meson==1.6.1", "ninja==1.11.1.3"]  # from PyPI, into a folder of their own
# Nothing of the machine that builds may be in what it makes: the same sources give the same bytes anywhere.
FLAGS = ["-O2", "-fno-sanitize=undefined", "-fPIC", "-ffunction-sections", "-fdata-sections"]


def succeeds(command: list[str], log: pathlib.Path, **more) -> bool:
    """Runs a command whose words go to `log`."""
    with open(log, "ab") as words:
        words.write(("\n$ " + shlex.join(map(str, command)) + "\n").encode())
        words.flush()
        return subprocess.run(command, stdout=words, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, **more).returncode == 0


def run(command: list[str], log: pathlib.Path, **more) -> None:
    """Runs a command whose words go to `log`; ends the program with the last of them where it fails."""
    if not succeeds(command, log, **more):
        last = log.read_text(errors="replace").splitlines()[-30:]
        sys.exit("\n".join(last) + f"\ndist: {shlex.join(map(str, command[:6]))} ... failed; all of its words are in {log}")


class Toolchain:
    def __init__(self, cache: pathlib.Path) -> None:
        self.cache = cache
        self.home = cache / "tools"
        stamp = self.home / "packages"
        if not stamp.exists() or stamp.read_text() != " ".join(PACKAGES):
            print(f"dist: fetching {', '.join(PACKAGES)} from PyPI ...", file=sys.stderr)
            venv.create(self.home, with_pip=True, clear=True)
            run([str(self.home / "bin" / "pip"), "install", "--quiet", *PACKAGES], cache / "tools.log")
            stamp.write_text(" ".join(PACKAGES))
        [self.zig] = self.home.glob("lib/python*/site-packages/ziglang/zig")
        self.meson, self.ninja = self.home / "bin" / "meson", self.home / "bin" / "ninja"

    def compilers(self, target: Target) -> dict[str, str]:
        """The programs that build for a target, each one file, as configure wants it."""
        place = self.cache / target.name / "bin"
        place.mkdir(parents=True, exist_ok=True)
        zig = shlex.quote(str(self.zig))
        for name, line in {"cc": f"{zig} cc -target {target.zig}", "ar": f"{zig} ar", "ranlib": f"{zig} ranlib"}.items():
            script = place / name
            text = f'#!/bin/sh\nZIG_GLOBAL_CACHE_DIR={shlex.quote(str(self.cache / "zig"))} exec {line} "$@"\n'
            if not script.exists() or script.read_text() != text:
                script.write_text(text)
                script.chmod(0o755)
        return {name: str(place / name) for name in ("cc", "ar", "ranlib")}

    def cross_file(self, target: Target, sysroot: pathlib.Path, emulator: list[str]) -> pathlib.Path:
        """What meson reads about a target."""
        tools = self.compilers(target)
        link = ["-s"] + (["-static"] if target.is_static else [])
        path = self.cache / target.name / "cross.ini"
        path.write_text("\n".join([
            "[binaries]",
            f"c = '{tools['cc']}'", f"ar = '{tools['ar']}'", "strip = 'true'", "pkg-config = 'pkg-config'",
            *([f"exe_wrapper = {emulator}"] if emulator else []),
            "[built-in options]",
            f"c_args = {FLAGS}", f"c_link_args = {link}",
            "[properties]",
            f"pkg_config_libdir = '{sysroot}/usr/lib/pkgconfig'", f"sys_root = '{sysroot}'",
            f"needs_exe_wrapper = {'true' if emulator else 'false'}",
            "[host_machine]",
            f"system = 'linux'\ncpu_family = '{target.cpu}'\ncpu = '{target.cpu}'\nendian = 'little'", ""]))
        return path
