# SPDX-License-Identifier: Apache-2.0
"""The clock of an exam's program: how long its work took, told on stderr in one line."""

import resource
import sys
import time

_begun = 0.0


def begin() -> bool:
    """Begins the work; whether the program shall do it the slow way."""
    global _begun
    _begun = time.monotonic()
    return sys.argv[1:] == ["with"]


def end() -> None:
    """Seconds of the work; CPU time and context switches of the process and of the children that it waited for."""
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(u.ru_utime + u.ru_stime for u in uses)
    switches = sum(u.ru_nvcsw + u.ru_nivcsw for u in uses)
    print(f"work {time.monotonic() - _begun:.6f} cpu {cpu:.6f} switches {switches}", file=sys.stderr)
