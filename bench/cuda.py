# SPDX-License-Identifier: Apache-2.0
"""What the CUDA door adds to a launch, on the stand-in device: ns of the calling thread, and of all threads of the process.

    python3 bench/cuda.py --holdup build/holdup [--rounds 9]

The stand-in's own cost is taken away: a plain user of CUPTI (tests/cuda/listener.c) has the same kinds enabled and
throws its buffers away; "attached" is the same with none.
Wanted: 120 ns of all threads while it records, 3 ns while it is armed and off.  Run it on an idle machine."""
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
    options = words.parse_args()
    holdup = os.path.abspath(options.holdup)
    os.environ["HOLDUP"] = holdup
    from tests.cuda import stand        # reads HOLDUP

    program = [str(stand.program("launches")), str(COUNT), "3"]
    listener = {"CUDA_INJECTION64_PATH": str(stand.libraries() / "liblistener.so")}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def once(kind: str, kinds: str) -> tuple[float, float]:
            command = {"recorded": [holdup, "run", "--no-report", "--trace", "cuda", "-f", "-o", str(folder / "r"), "--"],
                       "armed": [holdup, "run", "--no-report", "--trace", "cuda", "--start-later", "-f", "-o", str(folder / "a"), "--"]}.get(kind, [])
            env = stand.environment(folder, stand.cupti(), **QUICK, **(listener if kind in ("listener", "attached") else {}),
                                    LISTENER_KINDS=kinds if kind == "listener" else " ")
            if kind != "log":
                env.pop("STANDIN_LOG")
            done = subprocess.run([*command, *program], capture_output=True, text=True, timeout=300, check=True, env=env)
            found = LINE.findall(done.stdout)
            return min(float(a) for a, _ in found), min(float(b) for _, b in found)

        # the kinds that the door enables, from what the stand-in saw
        env = stand.environment(folder, stand.cupti(), **QUICK)
        subprocess.run([holdup, "run", "--no-report", "--trace", "cuda", "-f", "-o", str(folder / "k"), "--", str(stand.program("life")), "return"],
                       capture_output=True, timeout=300, check=False, env=env)
        kinds = " ".join(sorted({line.split()[1] for line in stand.Log(folder / "log").calls("cuptiActivityEnable")}, key=int))
        print(f"kinds enabled: {kinds}")
        rows: dict[str, list[tuple[float, float]]] = {"nothing": [], "attached": [], "armed": [], "listener": [], "recorded": []}
        for _ in range(options.rounds):
            for kind, found in rows.items():
                found.append(once(kind, kinds))
    median = {kind: [statistics.median(f[k] for f in found) for k in (0, 1)] for kind, found in rows.items()}
    for kind, (launch, process) in median.items():
        print(f"{kind:10} {launch:8.1f} ns of the thread {process:8.1f} ns of the process, per launch")
    thread, process = (median["recorded"][k] - median["listener"][k] for k in (0, 1))
    print(f"recording adds {thread:.1f} ns to the thread, {process:.1f} ns to the process")
    print(f"armed and off adds {median['armed'][0] - median['attached'][0]:.1f} ns to the thread")
    return 0


if __name__ == "__main__":
    sys.exit(main())
