#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Something to record, with nothing but Python: 20 steps of work, of which every fourth saves 16 MB and waits for the disk.

    holdup run -- python3 examples/recording/checkpoints.py
"""
import os
import tempfile

import holdup  # `holdup run` brings it; pip install ./python for runs without


def work(n: int) -> float:
    return sum(i * 0.5 for i in range(n))


def main() -> None:
    state = os.urandom(16 << 20)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for i in range(20):
            holdup.step()
            with holdup.phase("forward"):
                work(50_000)
            with holdup.phase("backward"):
                work(100_000)
            if i % 4 == 3:
                with holdup.phase("checkpoint"), open(os.path.join(folder, "state.pt"), "wb") as out:
                    out.write(state)
                    out.flush()
                    os.fsync(out.fileno())
    print("trained")


if __name__ == "__main__":
    main()
