# SPDX-License-Identifier: Apache-2.0
"""Computes in the main thread.  Not a cause: a thread that sleeps, and says every 50 ms that all is well."""

import threading

import work_clock

over = threading.Event()
beats = []


def heartbeat():
    while not over.wait(0.05):
        beats.append(1)


def simulate(number):
    return sum(i * i % (number + 3) for i in range(50000))


def analyse(number):
    return sum(i ^ number for i in range(70000))


def main():
    helper = threading.Thread(target=heartbeat)
    with_helper = work_clock.begin()
    if with_helper:
        helper.start()
    print(sum(simulate(n) + analyse(n) for n in range(150)))
    over.set()
    if with_helper:
        helper.join()
    work_clock.end()


main()
