#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recording calls of the C library costs: the OS runtime door beside LTTng-UST and uftrace, in one run.

    bench/osrt.py [--build build] [--rounds 9]

Promises: 25 ns added to a call that is timed, 2 ns while paused, 5 ns to a lock that is free.  Figures are medians over rounds of what was
added to the same call without a recorder; the ratios to reading the clock and to the cheapest system call say what they mean elsewhere.
"""
from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

from tables import table  # noqa: E402
from tests import rings  # noqa: E402

LOOPS = 100         # of a thousand calls
PROMISES = {("wait", "open"): 25, ("write", "open"): 25, ("read", "open"): 25, ("wait", "paused"): 2, ("write", "paused"): 2,
            ("read", "paused"): 2, ("mutex", "paused"): 2, ("fgetc", "paused"): 2, ("mutex", "open"): 5}


def session(folder: pathlib.Path) -> pathlib.Path:
    """Newest records only: nobody drains them."""
    clock = 1 if "constant_tsc" in pathlib.Path("/proc/cpuinfo").read_text() else 0
    return rings.make_session(folder, "osrt", mode=1, max_blocks=64, clock=clock, ticks_per_second=2e9)


def environment(build: pathlib.Path, folder: pathlib.Path) -> dict[str, str]:
    return {**os.environ, "LD_PRELOAD": str(build / "libholdup-inject.so"), "HOLDUP_SESSION": str(folder)}


def said(*words: object, env: dict[str, str] | None = None) -> float:
    return float(subprocess.run([str(w) for w in words], env=env, check=True, capture_output=True, text=True).stdout.split()[0])


def inside(build: pathlib.Path, work: pathlib.Path) -> str:
    """Each variant of each call, in one process."""
    folder = session(work / "inside")
    done = subprocess.run([build / "bench/osrt", folder / "control"], env=environment(build, folder), check=True, capture_output=True, text=True)
    rows = [(case, variant, float(ns), float(added)) for case, variant, ns, added in map(str.split, done.stdout.splitlines())]
    clock, gettid = (next(r[2] for r in rows if r[0] == name) for name in ("clock", "gettid"))
    lines = []
    for case, variant, ns, added in rows:
        if variant == "plain":
            lines.append([case, variant, f"{ns:.1f}", "", "", "", ""])
            continue
        bound = PROMISES.get((case, variant))
        lines.append([case, variant, f"{ns:.1f}", f"{added:.1f}", f"{added / clock:.2f}", f"{added / gettid:.2f}",
                      "" if bound is None else f"<= {bound} " + ("yes" if added <= bound else "NO")])
    return table(["call", "gate", "ns", "added", "x clock", "x gettid", "promise"], lines)


class Lttng:
    """A session of LTTng-UST, and a program with two tracepoints around the call."""

    def __init__(self, work: pathlib.Path) -> None:
        self.program, self.traces = work / "lttng_write", work / "lttng"
        self.env = {**os.environ, "LTTNG_HOME": str(work)}
        source = ROOT / "bench/peers/lttng_write.c"
        built = subprocess.run(["cc", "-O2", f"-I{source.parent}", "-o", self.program, source, "-llttng-ust", "-ldl"], capture_output=True, check=False)
        self.why = "" if built.returncode == 0 else "liblttng-ust-dev is not installed"
        if not self.why and not shutil.which("lttng"):
            self.why = "lttng-tools is not installed"
        self.daemon: subprocess.Popen | None = None

    def control(self, *words: object) -> None:
        subprocess.run(["lttng", *map(str, words)], env=self.env, capture_output=True, check=True)

    def start(self) -> None:
        if subprocess.run(["lttng", "list"], env=self.env, capture_output=True, check=False).returncode != 0:
            self.daemon = subprocess.Popen(["lttng-sessiond"], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for _attempt in range(50):
                if subprocess.run(["lttng", "list"], env=self.env, capture_output=True, check=False).returncode == 0:
                    break
        self.control("create", "holdup-bench", "--output", self.traces)
        self.control("enable-event", "-u", "holdup_bench:*")
        self.control("start")

    def measure(self) -> float:
        return said(self.program, LOOPS, env=self.env)

    def stop(self) -> None:
        subprocess.run(["lttng", "destroy", "holdup-bench"], env=self.env, capture_output=True, check=False)
        if self.daemon:
            self.daemon.terminate()
            self.daemon.wait()


def peers(build: pathlib.Path, work: pathlib.Path, rounds: int) -> tuple[str, list[str]]:
    """write() of one byte to /dev/null, by each recorder in turn."""
    loop = build / "bench/osrt"
    folder = session(work / "loop")
    lttng = Lttng(work)
    instrumented = work / "osrt-pg"
    subprocess.run(["cc", "-O2", "-pg", "-D_GNU_SOURCE", "-Wl,-z,lazy", f"-I{ROOT / 'src'}", "-o", instrumented, ROOT / "bench/osrt.c", "-lpthread", "-ldl"],
                   check=True, capture_output=True)
    control = rings.Control.from_buffer_copy((folder / "control").read_bytes())

    def ours(mask: int, threshold: int) -> float:
        control.mask, control.os_threshold = mask, threshold
        (folder / "control").write_bytes(bytes(control).ljust(4096, b"\0"))
        return said(loop, "loop", LOOPS, env=environment(build, folder))

    ways = {"holdup, recorded": lambda: ours(rings.DOORS["osrt"], 0), "holdup, timed, too short to record": lambda: ours(rings.DOORS["osrt"], 1 << 62),
            "holdup, paused": lambda: ours(0, 0)}
    missing = []
    if shutil.which("uftrace"):
        ways["uftrace, entry and exit"] = lambda: said("uftrace", "record", "--no-pager", "--no-event", "-d", work / "uftrace", instrumented, "loop", LOOPS)
    else:
        missing.append("uftrace is not installed")
    if lttng.why:
        missing.append(lttng.why)
    else:
        lttng.start()
        ways["LTTng-UST, two events"] = lttng.measure
    added: dict[str, list[float]] = {way: [] for way in ways}
    try:
        for number in range(rounds):
            order = list(ways)[number % len(ways):] + list(ways)[: number % len(ways)]
            for way in order:
                plain = said(loop, "loop", LOOPS)
                added[way].append(ways[way]() - plain)
    finally:
        lttng.stop()
    reference = statistics.median(added["holdup, recorded"])
    rows = [[way, f"{statistics.median(values):.1f}", f"{statistics.median(values) / reference:.2f}"] for way, values in added.items()]
    return table(["write of one byte, by", "ns added", "x holdup"], rows), missing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    build = options.build.resolve()
    with tempfile.TemporaryDirectory(prefix="holdup-osrt-bench-") as name:
        print(inside(build, pathlib.Path(name)))
        text, missing = peers(build, pathlib.Path(name), options.rounds)
        print(f"\n{text}")
        for why in missing:
            print(f"left out: {why}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
