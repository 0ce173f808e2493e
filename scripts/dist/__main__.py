#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes what people install, in dist/: an archive and a wheel for each kind of Linux, which need no compiler, and the source.

    scripts/dist [--out DIR] [--cache DIR] [--test] [TARGET | source ...]        default: all of them
"""
from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

import archives
import contents
import source
from libraries import CMOCKA, Build, Sources
from source import ROOT, VERSION
from targets import TARGETS, Target
from toolchain import Toolchain, run


def emulator(target: Target) -> list[str]:
    """What runs programs of the target here, where this machine does not; the C library beside it is that of the cross compiler."""
    if target.cpu == os.uname().machine:
        return []
    found = shutil.which(f"qemu-{target.cpu}-static") or shutil.which(f"qemu-{target.cpu}")
    if not found:
        sys.exit(f"dist: {target.name} needs qemu-{target.cpu}-static, which runs what is built; scripts/setup dist installs it")
    return [found, "-L", f"/usr/{target.triplet}"]


def program(toolchain: Toolchain, build: Build) -> pathlib.Path:
    """Builds holdup for a target; the folder that has bin/, lib/ and share/."""
    target = build.target
    folder, stage, log = build.home / "build", build.home / "stage", build.home / "program.log"
    environment = {**{name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}, "PATH": f"{toolchain.home / 'bin'}:{os.environ['PATH']}",
                   "SOURCE_DATE_EPOCH": "1", "PKG_CONFIG_SYSROOT_DIR": str(build.sysroot)}
    print(f"dist: {target.name}: building holdup ...", file=sys.stderr)
    cross = toolchain.cross_file(target, build.sysroot, emulator(target))
    log.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(stage, ignore_errors=True)
    run([str(toolchain.meson), "setup", str(folder), str(ROOT), "--cross-file", str(cross), "--prefix=/usr", "--libdir=lib", "--buildtype=release",
         "-Dlibraries=linked", f"-Drecorder={'false' if target.is_static else 'true'}"], log, env=environment)
    run([str(toolchain.ninja), "-C", str(folder), "installed"], log, env=environment)
    run([str(toolchain.meson), "install", "-C", str(folder), "--no-rebuild", "--destdir", str(stage), "--quiet"], log, env=environment)
    return stage / "usr"


def test(build: Build) -> None:
    """Runs the unit tests of what was built, by an emulator where this machine needs one."""
    toolchain, folder, log = build.toolchain, build.home / "build", build.home / "tests.log"
    log.unlink(missing_ok=True)
    build.one(CMOCKA)
    print(f"dist: {build.target.name}: unit tests ...", file=sys.stderr)
    environment = {**os.environ, "PATH": f"{toolchain.home / 'bin'}:{os.environ['PATH']}", "PKG_CONFIG_SYSROOT_DIR": str(build.sysroot)}
    # not stripped: tests look for their own names
    run([str(toolchain.meson), "setup", "--reconfigure", str(folder), str(ROOT), "-Dc_link_args=" + ("-static" if build.target.is_static else "-Wl,--as-needed")], log, env=environment)
    run([str(toolchain.ninja), "-C", str(folder)], log, env=environment)
    run([str(toolchain.meson), "test", "-C", str(folder), "--no-rebuild", "--timeout-multiplier", "20"], log, env=environment)
    print("\n".join(line for line in log.read_text().splitlines() if line.startswith(("Ok:", "Fail:", "Skipped:", "Timeout:"))))


def finish(build: Build, tree: pathlib.Path, out: pathlib.Path, when: int) -> None:
    """Adds what a release says of itself, and packs it."""
    target = build.target
    if target.is_static:  # musl loads what is built for glibc, and one file serves programs of both
        other = build.toolchain.cache / target.name.replace("-musl", "") / "stage" / "usr" / "lib" / "holdup" / "libholdup-inject.so"
        shutil.copy(other, tree / "lib" / "holdup" / other.name)
    contents.write(build, ROOT, tree / "share" / "doc" / "holdup", VERSION, when)
    archives.pack(archives.files(tree), out / f"holdup-{VERSION}-{target.name}.tar.gz", when)
    wheel = archives.Wheel(out / f"holdup-{VERSION}-py3-none-{target.wheel_tag}.whl", "holdup", VERSION, when)
    contents.wheel(wheel, ROOT, tree, VERSION, target.wheel_tag)
    wheel.close()


def compiled(targets: list[Target], cache: pathlib.Path, out: pathlib.Path, is_tested: bool) -> None:
    cache.mkdir(parents=True, exist_ok=True)
    toolchain, sources, when = Toolchain(cache), Sources(cache), source.when()
    sources.fetch(cache / "sources.log")
    for target in targets:
        build = Build(toolchain, target, sources)
        build.home.mkdir(exist_ok=True)
        build.all()
        finish(build, program(toolchain, build), out, when)
        if is_tested:
            test(build)


def main() -> None:
    parser = argparse.ArgumentParser(prog="dist", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join([*TARGETS, "source"]))
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "dist")
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "holdup" / "dist",
                        help="compiler, sources and libraries, which are made once")
    parser.add_argument("--test", action="store_true", help="also run the unit tests of each target")
    words = parser.parse_args()
    names = words.targets or [*TARGETS, "source"]
    for name in names:
        if name not in TARGETS and name != "source":
            parser.error(f"unknown target {name}; there are {', '.join(TARGETS)} and source")
    out = words.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    if "source" in names:
        source.pack(out)
    # a static program's archive has the other's recorder
    targets = [target for name, target in TARGETS.items() if name in names or name.replace("-", "-musl-", 1) in names]
    if targets:
        compiled(targets, words.cache.resolve(), out, words.test)
    archives.checksums(out)
    for path in sorted(out.iterdir()):
        print(path)


if __name__ == "__main__":
    main()
