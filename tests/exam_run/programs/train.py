# SPDX-License-Identifier: Apache-2.0
"""Trains something for 40 steps.  The cause: a large checkpoint, synced to disk, after every 10th."""

import os

import work_clock

STATE = os.urandom(1 << 20) * 48


def step(number):
    return sum(i * i % (number + 3) for i in range(130000))


def save_checkpoint(number):
    with open(f"checkpoint-{number}.pt", "wb") as file:
        file.write(STATE)
        file.flush()
        os.fsync(file.fileno())


def main():
    saves = work_clock.begin()
    total = 0
    for number in range(40):
        total += step(number)
        if saves and number % 10 == 9:
            save_checkpoint(number)
    print(total)
    work_clock.end()


main()
