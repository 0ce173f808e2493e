# SPDX-License-Identifier: Apache-2.0
"""Counts the lines of a log.  The cause: they go through sort(1) first, in a child, which the count does not need."""

import subprocess

import work_clock


def count(path):
    with open(path) as file:
        return len({line[:12] for line in file for _ in range(14)})


def main():
    if work_clock.begin():
        subprocess.run(["sort", "-o", "sorted.txt", "lines.txt"], check=True)
    print(count("lines.txt"))
    work_clock.end()


main()
