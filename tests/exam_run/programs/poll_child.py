# SPDX-License-Identifier: Apache-2.0
"""Converts files with child processes.  The cause: it asks every 100 ms whether a child has ended."""

import subprocess
import time

import work_clock


def convert(poll):
    child = subprocess.Popen(["sh", "-c", "sleep 0.02; exit 0"])
    if poll:
        while child.poll() is None:
            time.sleep(0.1)
    return child.wait()


def main():
    poll = work_clock.begin()
    print(sum(convert(poll) for _ in range(9)))
    work_clock.end()


main()
