# SPDX-License-Identifier: Apache-2.0
"""Plants one cause at a time in a program of OpenCL, removes it, and compares the gain with holdup's prediction.

    python3 -m tests.opencl_pairs.run --holdup build/holdup --out DIR [--only NAME] [--calm SECONDS] [--keep]

The device is a CPU (PoCL), its timeline a real one. Both arms run by turns without a recorder: that is the truth. Then the arm with the cause is
recorded, and the report's finding is compared with it. Needs a C compiler, the headers and the loader of OpenCL, and PoCL; four minutes.

--calm waits for a machine that does nothing else, so long at most for each pair; --first lets the programs run before all others. --keep replaces
tests/data/opencl_pairs, from which docs/accuracy.md has its section, and that section.
"""
from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import time
from typing import Any

from tests.opencl_pairs import page
from tests.pairs import measure, quiet
from tests.recorder import environment

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ROUNDS = 7
MOST_ROUNDS = 14        # rounds that others disturbed are run again, and the calmest ROUNDS are kept
TAKES = 3               # recordings, of which the one nearest to the measured step is kept: others use this machine too
STEPS = 100
PERIOD = 4              # steps that are averaged: four threads deliver four batches at a time
TIMEOUT_S = 120


@dataclasses.dataclass(frozen=True)
class Pair:
    """One program and its two arms.

    `expects` are the ids of findings that name the cause; (): nothing is planted, and no finding may promise more than
    measure.NULL_PCT. `edit` is what `holdup whatif` is asked where no finding has a price for this remedy; without `expects`,
    the findings are those of a program in which nothing else is wrong.
    """
    name: str
    what: str
    program: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    expects: tuple[str, ...] = ()
    edit: str | None = None
    denies: tuple[str, ...] = ()    # findings that may promise no more than that, whatever else is true
    recorded_steps: int = 60        # fewer where a step has thousands of commands


PAIRS = [
    Pair("two-queues", "copy, kernel and clFinish in one queue -> the next batch travels on a second queue", "two_queues",
         ("serial",), ("overlapped",), ("copy-bound", "poor-overlap"), "copy=0"),
    Pair("blocking-read", "blocking read, then work of the host -> reads do not block", "blocking_read", ("blocking",), ("nonblocking",),
         ("host-sync",)),
    Pair("tiny-kernels", "1000 launches of 64 work-items -> one", "tiny_kernels", ("many",), ("one",), ("launch-bound",), recorded_steps=12),
    Pair("host-work", "the host prepares before it launches -> while kernels run", "host_work", ("between",), ("behind",), ("host-work", "host-sync")),
    Pair("loader-waits", "one loader thread waits 9 ms for each batch -> four", "loader", ("storage", "1"), ("storage", "4"),
         ("data-loading", "sleep")),
    Pair("loader-computes", "a loader thread decodes by a formula -> by a table", "loader", ("slow",), ("table",), ("data-loading",)),
    Pair("finishes", "clFinish after each of 40 kernels -> after the last", "finishes", ("each",), ("once",), ("host-sync",), recorded_steps=40),
    Pair("small-writes", "2048 copies of 1 kB -> one of 2 MB", "small_writes", ("many",), ("one",), ("copy-bound", "launch-bound"), recorded_steps=8),
    Pair("slow-kernel", "kernel `walk` -> `leap`, the same in a quarter of the rounds", "slow_kernel", ("slow",), ("fast",), edit="kernel:walkx4"),
    Pair("null-flush", "no clFlush -> after each launch", "host_work", ("behind",), ("flushed",)),
    Pair("null-queue", "one queue -> two, of a device that runs one kernel at a time", "host_work", ("behind",), ("spread",)),
    Pair("decoy-loader", "a loader decodes while a longer kernel runs -> by a table", "loader", ("hidden",), ("hidden-table",)),
    Pair("decoy-sync", "clFinish in each step of `loader-computes` -> none: the loader is as slow as ever", "loader", ("slow",), ("unwaited",),
         denies=("host-sync",)),
    Pair("decoy-finish", "one long clFinish in each step, of a busy device -> none", "slow_kernel", ("waits",), ("slow",)),
    Pair("decoy-copies", "copies that a second queue hides -> none", "two_queues", ("overlapped",), ("resident",)),
]


def build(folder: pathlib.Path, pairs: list[Pair]) -> None:
    """The programs of these pairs."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in sorted({pair.program for pair in pairs}):
        subprocess.run(["cc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-g", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", "-o", folder / name,
                        HERE / f"{name}.c", "-lOpenCL", "-lpthread"], check=True, capture_output=True, text=True)


def missing() -> str:
    """Why nothing can run here; empty where it can."""
    if not shutil.which("cc"):
        return "no C compiler"
    probe = "#define CL_TARGET_OPENCL_VERSION 120\n#include <CL/cl.h>\nint main(void) { cl_uint n = 0; clGetPlatformIDs(0, 0, &n); return 0; }\n"
    done = subprocess.run(["cc", "-x", "c", "-o", "/dev/null", "-", "-lOpenCL"], input=probe, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return "no headers or no loader of OpenCL (Debian: opencl-headers, ocl-icd-opencl-dev)"
    if not list(pathlib.Path("/etc/OpenCL/vendors").glob("*pocl*")):
        return "no PoCL (Debian: pocl-opencl-icd)"
    return ""


@dataclasses.dataclass(frozen=True)
class Place:
    """Where programs lie and what is written, and whether programs run before all others, as if nobody else were here."""
    folder: pathlib.Path
    first: bool = False

    def run(self, words: list[str]) -> subprocess.CompletedProcess:
        """PoCL keeps what it compiles below the folder."""
        (self.folder / "cache").mkdir(exist_ok=True)
        before = ["timeout", "-k", "5", str(TIMEOUT_S)]      # ends the whole group: also what `holdup run` started
        if self.first:
            before += ["chrt", "--fifo", "2"]
        done = subprocess.run([*before, *words], capture_output=True, text=True, check=False, env=environment(POCL_CACHE_DIR=str(self.folder / "cache")))
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(words)}: exit {done.returncode}: {done.stderr.strip()}")
        return done


def command(folder: pathlib.Path, pair: Pair, arm: tuple[str, ...], steps: int) -> list[str]:
    return [str(folder / pair.program), arm[0], str(steps), *arm[1:]]


def turn(place: Place, pair: Pair, arm: tuple[str, ...], steps: int = STEPS) -> dict[str, Any]:
    """One run without a recorder, with what others did meanwhile."""
    begun, stolen = quiet.mark(), steal_s()
    done = place.run(command(place.folder, pair, arm, steps))
    ended = quiet.mark()
    said = json.loads(done.stdout)
    return {**said, "others_pct": quiet.others_pct(begun, ended), "steal_pct": 100.0 * (steal_s() - stolen) / (ended.wall - begun.wall)}


def steal_s() -> float:
    """Time that another machine had our cores."""
    return int(pathlib.Path("/proc/stat").read_text().split()[8]) / os.sysconf("SC_CLK_TCK")


def calm(seconds: float) -> None:
    """Returns when others use little, or when the time is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begun = quiet.mark()
        time.sleep(1.0)
        if quiet.others_pct(begun, quiet.mark()) < quiet.OTHERS_PCT:
            return


def rounds_of(place: Place, pair: Pair, rounds: int) -> list[dict[str, dict[str, Any]]]:
    """Both arms by turns; of more rounds than needed, those in which others ran least. The choice looks at nothing else."""
    for arm in (pair.before, pair.after):
        turn(place, pair, arm, 2 * PERIOD)         # PoCL compiles now
    taken: list[dict[str, dict[str, Any]]] = []
    most = MOST_ROUNDS if rounds > 1 and not place.first else rounds

    def disturbed(both: dict[str, dict[str, Any]]) -> float:
        return max(said["others_pct"] for said in both.values())

    while len(taken) < most and sum(disturbed(both) < 2 * quiet.OTHERS_PCT for both in taken) < rounds:
        taken.append({"before": turn(place, pair, pair.before), "after": turn(place, pair, pair.after)})
    if len({said["sum"] for both in taken for said in both.values()}) != 1:
        raise RuntimeError(f"{pair.name}: the two arms computed different results")
    return sorted(taken, key=disturbed)[:rounds]


def record(place: Place, pair: Pair, holdup: pathlib.Path, before_ms: float, takes: int = TAKES) -> tuple[pathlib.Path, float]:
    """The recording whose step is nearest to the measured one, and its step by the program's own clock, ms."""
    found: list[tuple[float, pathlib.Path, float]] = []
    for take in range(takes):
        trace = place.folder / f"{pair.name}-{take}.pftrace"
        done = place.run([str(holdup), "run", "-q", "-f", "-o", str(trace), "--", *command(place.folder, pair, pair.before, pair.recorded_steps)])
        said = json.loads(next(line for line in done.stdout.splitlines() if line.startswith('{"steps"')))
        step_ms = said["ms"] / said["steps"]
        found.append((abs(step_ms - before_ms), trace, step_ms))
    _, best, step_ms = min(found)
    kept = place.folder / f"{pair.name}.pftrace"
    best.replace(kept)
    for _, trace, _ in found:
        trace.unlink(missing_ok=True)
    return kept, step_ms


def run_pair(place: Place, pair: Pair, holdup: pathlib.Path | None, rounds: int = ROUNDS) -> dict[str, Any]:
    """Truth, recording and prediction of one pair."""
    load = os.getloadavg()[0]
    taken = rounds_of(place, pair, rounds)
    times = {arm: [both[arm]["step_ms"] for both in taken] for arm in ("before", "after")}
    truth = measure.gain(times["before"], times["after"], PERIOD)
    entry = {"what": pair.what, "edit": pair.edit, "expects": list(pair.expects), "denies": list(pair.denies), "load_average": load,
             "others_pct": statistics.fmean(said["others_pct"] for both in taken for said in both.values()),
             "steal_pct": statistics.fmean(said["steal_pct"] for both in taken for said in both.values()),
             "cores": {arm: statistics.median((both[arm]["user_ms"] + both[arm]["sys_ms"]) / both[arm]["ms"] for both in taken) for arm in times},
             "median_step_ms": {arm: [statistics.median(steps) for steps in times[arm]] for arm in times}}
    prediction, why, recorded, trace = measure.Prediction(), "", None, None
    if holdup is not None:
        trace, recorded = record(place, pair, holdup, statistics.fmean(step for steps in times["before"] for step in steps))
        said, why = measure.explain(holdup, trace)
        prediction = page.predict(holdup, trace, entry, said)
    return {**measure.row(pair.name, pair.expects, truth, prediction, why), **entry, "recorded_step_ms": recorded, "trace": trace.name if trace else None}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--holdup", type=pathlib.Path, help="the program whose predictions are checked; none: truth only")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--only", action="append", help="one pair; may be given again")
    parser.add_argument("--quick", action="store_true", help="one round: does everything run?  Its figures mean nothing")
    parser.add_argument("--calm", type=float, default=0.0, metavar="SECONDS", help="wait so long, at most, for an idle machine before each pair")
    parser.add_argument("--first", action="store_true", help="programs run before all others (SCHED_FIFO, as root), where others use this machine")
    parser.add_argument("--keep", action="store_true", help="replace tests/data/opencl_pairs and the section of docs/accuracy.md")
    options = parser.parse_args()
    why = missing()
    if why:
        print(f"opencl_pairs: {why}", file=sys.stderr)
        return 1
    chosen = [pair for pair in PAIRS if not options.only or pair.name in options.only]
    if options.keep and not options.holdup:
        parser.error("--keep needs --holdup: what is kept is a prediction, too")
    if not chosen:
        parser.error("no such pair; there are " + ", ".join(pair.name for pair in PAIRS))
    folder = options.out.resolve()
    build(folder, chosen)
    place = Place(folder, options.first)
    holdup = options.holdup.resolve() if options.holdup else None
    about = {"date": datetime.date.today().isoformat(), "machine": page.machine(), "kernel": platform.release(), "cores": os.cpu_count(),
             "rounds": 1 if options.quick else ROUNDS, "steps": STEPS, "first": options.first, "bootstrap": {"draws": measure.DRAWS, "seed": measure.SEED}}
    rows: list[dict[str, Any]] = []
    for pair in chosen:
        calm(options.calm)
        print(f"{pair.name}: {pair.what}", file=sys.stderr, flush=True)
        rows.append(run_pair(place, pair, holdup, 1 if options.quick else ROUNDS))
        (folder / "pairs.json").write_text(json.dumps({"about": about, "pairs": rows}, indent=1, ensure_ascii=False) + "\n")
    print("\n".join(page.table(rows)))
    if options.keep:
        page.keep(folder, about, rows)
        page.replace_section(page.section(holdup))
    return 0


if __name__ == "__main__":
    sys.exit(main())
