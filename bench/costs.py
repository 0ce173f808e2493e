#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what recording costs and writes it into the page: calls, short processes, and the report of a large recording.

    bench/costs.py [--build build] [--page docs/performance.md] [--rounds 5]

Each table is the output of one command, which stands above it, so that everybody can repeat it.
"""
from __future__ import annotations

import argparse
import datetime
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench")]

from tables import fold, machine  # noqa: E402

TITLE = "What recording costs"
BENCHES = (("A call of the C library", ["osrt.py"], "Added by the library to calls of one byte, and to a lock and a semaphore that are free. "
            "`paused`: the gate is closed; `open`: timed, too short to be recorded; `recorded`: written. Two readings of the clock are in the last two."),
           ("An event of NCCL", ["nccl.py"], "CPU time of a call that NCCL tells its profiler, from start to stop, by a driver in NCCL's place (docs/nccl.md)."),
           ("An enqueue of OpenCL", ["opencl.py"], "Added to a call that enqueues a kernel without an event, by a command queue of PoCL (docs/opencl.md)."),
          ("A short child process", ["children.py"], "A shell that runs /bin/true again and again: nothing costs a recorder more, relative to what is "
            "recorded. The recording is in /tmp. ext4 searches for long for an inode where many files were deleted within the last minutes."),
           ("A short child process, recorded into memory", ["children.py", "--folder", "/dev/shm"],
            "The same without a disk's file system: `holdup run --scratch /dev/shm` keeps a recording in memory until "
            "it is written."),
           ("The report of ten million calls", ["recorded.py"], "Reading and writing single bytes, each call recorded by itself "
            "(`--osrt-threshold 0`). `holdup info` reads the same file without analysing it."))


def cut(text: str, title: str = TITLE) -> tuple[str, str]:
    """A page without a section, and the section; "" when there is none."""
    start = text.find(f"## {title}\n")
    if start < 0:
        return text, ""
    end = text.find("\n## ", start + 1)
    end = len(text) if end < 0 else end + 1
    return text[:start] + text[end:], text[start:end]


def put(text: str, section: str, title: str = TITLE) -> str:
    """The section at the end of a page, in place of an older one."""
    rest, _old = cut(text, title)
    return rest.rstrip("\n") + "\n\n" + section.strip("\n") + "\n" if section else rest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    subprocess.run(["ninja", "-C", options.build, "--quiet", "holdup", "libholdup-inject.so", "bench/osrt"], check=True, stdout=subprocess.DEVNULL)
    when = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    parts = [f"## {TITLE}", fold(f"Written by `bench/costs.py` on {when}; {options.rounds} rounds. {machine()}. Load average before the run: "
             f"{os.getloadavg()[0]:.2f}: times of a busy machine are too long, ratios and the smallest values say more.")]
    for title, words, about in BENCHES:
        words = [*words, "--rounds", str(options.rounds)]
        done = subprocess.run([sys.executable, ROOT / "bench" / words[0], *words[1:], "--build", options.build], check=True, capture_output=True, text=True)
        parts += [f"### {title}", f"{fold(about)}\n\n    bench/{' '.join(words)}", done.stdout.strip()]
        print(done.stdout, flush=True)
    if options.page:
        options.page.write_text(put(options.page.read_text(), "\n\n".join(parts)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
