# SPDX-License-Identifier: Apache-2.0
"""A job of six steps that lasts until a library that plays NVML was asked often enough: job.py ASKED LOOKS [PIDFILE]."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python"))
import holdup  # noqa: E402

STEPS = 6
ASKED, LOOKS = pathlib.Path(sys.argv[1]), int(sys.argv[2])
if len(sys.argv) > 3:
    pathlib.Path(sys.argv[3]).write_text(str(os.getpid()))


def looks() -> int:
    return int(ASKED.read_text()) if ASKED.exists() else 0


FIRST = looks()
for number in range(STEPS):
    with holdup.step(number):
        while looks() < FIRST + (number + 1) * LOOKS / STEPS:
            sum(range(20000))
