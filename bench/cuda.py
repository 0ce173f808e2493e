# SPDX-License-Identifier: Apache-2.0
"""What the CUDA door adds to a launch, on the stand-in device: ns of the calling thread, and of all threads of the process.

    python3 bench/cuda.py --holdup build/holdup [--rounds 9]

The stand-in's own cost is taken away: a plain user of CUPTI (tests/cuda/listener.c) has the same kinds enabled and
throws its buffers away; "attached" has subscribed, as we have, and enabled none.  "beside" is that user in a program that our library is loaded
into for other sources, armed and off: what the CUDA door adds to it is the door's own.
Wanted: 120 ns of all threads while it records, 3 ns while it is armed and off.  Run it on an idle machine.  With valgrind, instructions of the
launching thread are counted, which are the same on any machine."""
from __future__ import annotations

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
COUNT, LINE = 60000, re.compile(r"^launch ([0-9.]+) process ([0-9.]+)$", re.M)
QUICK = {"STANDIN_LAUNCH": "0", "STANDIN_LATENCY": "0", "STANDIN_GAP": "0"}


def main() -> int:
    words = argparse.ArgumentParser()
    words.add_argument("--holdup", required=True)
    words.add_argument("--rounds", type=int, default=9)
    words.add_argument("--valgrind", action="store_true", help="count instructions")
    options = words.parse_args()
    holdup = os.path.abspath(options.holdup)
    os.environ["HOLDUP"] = holdup
    from tests.cuda import stand        # reads HOLDUP

    program = [str(stand.program("launches")), str(COUNT), "3"]
    listener = {"CUDA_INJECTION64_PATH": str(stand.libraries() / "liblistener.so"), "LISTENER_SUBSCRIBES": "1"}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def start(kind: str, kinds: str) -> tuple[list[str], dict[str, str]]:
            sources, *later = {"recorded": ("cuda",), "armed": ("cuda", "--start-later"), "beside": ("nccl", "--start-later")}.get(kind, ("",))
            command = [holdup, "run", "--no-report", "--trace", sources, *later, "-f", "-o", str(folder / kind), "--"] if sources else []
            env = stand.environment(folder, stand.cupti(), **QUICK, **(listener if kind in ("listener", "attached", "beside") else {}),
                                    LISTENER_KINDS=kinds if kind == "listener" else " ")
            env.pop("STANDIN_LOG")
            return command, env

        def instructions(kind: str) -> float:
            """Of the thread that launches, for one launch."""
            command, env = start(kind, kinds)

            def count(launches: int) -> int:
                for old in folder.glob("callgrind*"):
                    old.unlink()
                subprocess.run([*command, "valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={folder / 'callgrind'}", program[0],
                                str(launches), "1"], capture_output=True, timeout=300, check=True, env=env)
                return max(int(found) for file in folder.glob("callgrind*-01") for found in re.findall(r"^(?:summary|totals): (\d+)", file.read_text(), re.M))

            return (count(6000) - count(3000)) / 6000       # in two rounds

        def once(kind: str, kinds: str) -> tuple[float, float]:
            command, env = start(kind, kinds)
            done = subprocess.run([*command, *program], capture_output=True, text=True, timeout=300, check=True, env=env)
            found = LINE.findall(done.stdout)
            return min(float(a) for a, _ in found), min(float(b) for _, b in found)

        # the kinds that the door enables, from what the stand-in saw
        env = stand.environment(folder, stand.cupti(), **QUICK)
        subprocess.run([holdup, "run", "--no-report", "--trace", "cuda", "-f", "-o", str(folder / "k"), "--", str(stand.program("life")), "return"],
                       capture_output=True, timeout=300, check=False, env=env)
        kinds = " ".join(sorted({line.split()[1] for line in stand.Log(folder / "log").calls("cuptiActivityEnable")}, key=int))
        print(f"kinds enabled: {kinds}")
        rows: dict[str, list[tuple[float, float]]] = {"nothing": [], "attached": [], "beside": [], "armed": [], "listener": [], "recorded": []}
        if options.valgrind:
            counted = {kind: instructions(kind) for kind in ("nothing", "attached", "beside", "armed")}
            for kind, number in counted.items():
                print(f"{kind:10} {number:8.1f} instructions of the thread per launch")
            print(f"armed and off, the door adds {counted['armed'] - counted['beside']:.1f} instructions, and the loaded library "
                  f"{counted['beside'] - counted['attached']:.1f}")
            return 0
        for _ in range(options.rounds):
            for kind, found in rows.items():
                found.append(once(kind, kinds))
    median = {kind: [statistics.median(f[k] for f in found) for k in (0, 1)] for kind, found in rows.items()}
    for kind, (launch, process) in median.items():
        print(f"{kind:10} {launch:8.1f} ns of the thread {process:8.1f} ns of the process, per launch")
    thread, process = (median["recorded"][k] - median["listener"][k] for k in (0, 1))
    print(f"recording adds {thread:.1f} ns to the thread, {process:.1f} ns to the process")
    print(f"armed and off adds {median['armed'][0] - median['attached'][0]:.1f} ns to the thread, {median['armed'][0] - median['beside'][0]:.1f} ns of it the door")
    return 0


if __name__ == "__main__":
    sys.exit(main())
