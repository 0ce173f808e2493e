# SPDX-License-Identifier: Apache-2.0
"""Half a round trip as `holdup doctor --collectives` measures it, over what a ping-pong by hand finds in the same minutes (tests/collectives/ping_pong.c), and NetPIPE's
where it is given: exact ratios, least of several runs, for Open MPI and MPICH, through shared memory and TCP.

    python3 bench/collectives.py build/holdup [--runs 5] [--netpipe /usr/bin/NPopenmpi]
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIZES = (1000, 10_000, 100_000, 1_000_000, 10_000_000)
WAYS = {"openmpi": {"shared memory": {}, "TCP": {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_pml": "ob1"}},
        "mpich": {"shared memory": {}, "TCP": {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self"}}}


def mpirun(mpi: str, way: dict[str, str], *command: object) -> str:
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **way}
    binding = ["--bind-to", "none"] if mpi == "openmpi" else []     # as the program by hand, so that neither is luckier
    return subprocess.run([f"mpirun.{mpi}", *binding, "-n", "2", *map(str, command)], check=True, capture_output=True, text=True, env=environment, timeout=300).stdout


def by_netpipe(program: str, way: dict[str, str], size: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "np.out"
        mpirun("openmpi", way, program, "-l", size, "-u", size, "-p", 0, "-o", out)
        rows = [list(map(float, line.split()[:3])) for line in out.read_text().splitlines()]
    return min(row[2] for row in rows if row[0] == size) * 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("holdup", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--netpipe", metavar="NPopenmpi")
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for mpi, ways in WAYS.items():
            if not shutil.which(f"mpicc.{mpi}"):
                print(f"{mpi}: not here")
                continue
            program = pathlib.Path(folder) / mpi
            subprocess.run([f"mpicc.{mpi}", "-O2", "-o", program, ROOT / "tests/collectives/ping_pong.c"], check=True)
            for name, way in ways.items():
                ours: dict[int, list[float]] = {size: [] for size in SIZES}
                theirs: dict[int, list[float]] = {size: [] for size in SIZES}
                pipe: dict[int, list[float]] = {size: [] for size in SIZES}
                for _ in range(o.runs):
                    for size, ns in re.findall(r"^(\d+) ([\d.]+)$", mpirun(mpi, way, program, *SIZES), re.M):
                        theirs[int(size)].append(float(ns))
                    for size in SIZES:
                        found = json.loads(mpirun(mpi, way, o.holdup.resolve(), "doctor", "--collectives", "--json", "--sizes", size, "--seconds", 5 if size > 10 ** 6 else 2))
                        ours[size] += [s["sizes"][0]["median_ns"] for s in found["series"] if s["kind"] == "point-to-point" and s["sizes"][0]["samples"]]
                        if o.netpipe and mpi == "openmpi":
                            pipe[size].append(by_netpipe(o.netpipe, way, size))
                for size in SIZES:
                    mine, hand = min(ours[size]), min(theirs[size])
                    beside = f", NetPIPE {min(pipe[size]) / 1e3:.2f} µs" if pipe[size] else ""
                    print(f"{mpi}, {name}, {size} bytes: holdup {mine / 1e3:.2f} µs, by hand {hand / 1e3:.2f} µs: ratio {mine / hand:.3f}{beside}")


if __name__ == "__main__":
    main()
