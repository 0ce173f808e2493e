# SPDX-License-Identifier: Apache-2.0
"""Runs the suites tests/test_*.py side by side, a process each:  python3 -m tests [--jobs N] [--title TEXT] [SUITE ...]

A suite that fails beside others runs once more, alone: what a recorded program waits for depends on who else wants the CPU.  Its first
log is printed all the same.

Prints what failed and why, why tests were skipped, how long the slowest suites took, and last a line with the counts.
The environment says which program is tested: HOLDUP, HOLDUP_SANITIZED=1 (tests/program.py).
"""
from __future__ import annotations

import argparse
import collections
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

FOLDER = pathlib.Path(__file__).resolve().parent
LIMIT_S = 600           # the slowest takes a third of it, beside others
SHOWN = 20              # of the suites that take longest
# They take longest, so they begin first; all others follow by name.
FIRST = ("test_impossible",)
# They mostly wait, for other programs: one after the other, beside the rest.
WAITING = ("test_trace_command", "test_launchers", "test_monitor_vendor", "test_monitor_host", "test_monitor_nvidia", "test_monitor", "test_view", "test_top",
           "test_run")
# They measure times, so they have the machine to themselves, last.
ALONE = ("test_perf", "test_recorded")


class Result(NamedTuple):
    suite: str
    seconds: float
    cpu_seconds: float
    ran: int
    failed: int
    skipped: int
    log: str


def count(what: str, log: str) -> int:
    """The number after `what=` in unittest's last line; "expected failures" are no failures."""
    last = re.findall(r"^(?:OK|FAILED)(?: \((.*)\))?$", log, re.M)
    found = re.search(rf"(?:^|, ){what}=(\d+)", last[-1]) if last else None
    return int(found[1]) if found else 0


def wait(process: subprocess.Popen[bytes]) -> tuple[int, float, bool]:
    """Its status, the CPU seconds of it and of all that it waited for, and whether it took too long."""
    end = time.monotonic() + LIMIT_S
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, used.ru_utime + used.ru_stime, time.monotonic() > end
        if time.monotonic() > end:
            os.kill(process.pid, signal.SIGABRT)           # faulthandler writes where it is
        time.sleep(0.05)


def run(suite: str) -> Result:
    start = time.monotonic()
    with tempfile.TemporaryFile() as out:                  # no pipe: what a suite leaves behind might keep it open
        process = subprocess.Popen([sys.executable, "-X", "faulthandler", "-m", "unittest", f"tests.{suite}"], cwd=FOLDER.parent,
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        status, cpu_seconds, is_late = wait(process)
        out.seek(0)
        log = out.read().decode(errors="replace") + (f"\n{suite} did not end within {LIMIT_S} s\n" if is_late else "")
    ran = re.findall(r"^Ran (\d+) tests? in ", log, re.M)
    failed = count("failures", log) + count("errors", log) + count("unexpected successes", log)
    if status != 0 or not ran:
        failed = max(failed, 1)
    return Result(suite, time.monotonic() - start, cpu_seconds, int(ran[-1]) if ran else failed, failed, count("skipped", log), log)


def again(first: Result) -> Result:
    """The suite's second and last run, with the machine to itself."""
    print(first.log)
    second = run(first.suite)
    print(f"SECOND RUN: {first.suite} failed (log above), {'and alone' if second.failed else 'passed alone'}")
    return second


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python3 -m tests", description=__doc__.splitlines()[0])
    arguments.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="suites side by side (default: one for each CPU)")
    arguments.add_argument("--title", default="whole program")
    arguments.add_argument("suites", nargs="*", metavar="SUITE", help="test_cli, test_run ... (default: all)")
    options = arguments.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)   # a shell's background job ignores it, and so would programs that are interrupted here
    suites = options.suites or sorted(path.stem for path in FOLDER.glob("test_*.py"))
    together = sorted((s for s in suites if s not in ALONE + WAITING), key=lambda s: FIRST.index(s) if s in FIRST else len(FIRST))
    with ThreadPoolExecutor(max(options.jobs, 1)) as pool, ThreadPoolExecutor(1) as lane:
        waiting = lane.map(run, (s for s in suites if s in WAITING))
        results = list(pool.map(run, together)) + list(waiting)
    results += [run(s) for s in suites if s in ALONE]
    results = [again(r) if r.failed else r for r in results]

    for reason, times in sorted(collections.Counter(
            line for r in results for line in r.log.splitlines() if line.startswith("SKIPPED")).items())[:20]:
        print(f"{times:7} {reason}")
    for r in results:
        if r.failed:
            print(r.log)
    for title, key in (("slowest", "seconds"), ("most CPU", "cpu_seconds")):
        longest = sorted(results, key=lambda r: -getattr(r, key))[:SHOWN]
        print(f"  {title} of {sum(getattr(r, key) for r in results):.0f} s: " + ", ".join(f"{r.suite} {getattr(r, key):.0f} s" for r in longest))
    ran, failed, skipped = (sum(getattr(r, what) for r in results) for what in ("ran", "failed", "skipped"))
    print(f"{options.title}: {ran - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
