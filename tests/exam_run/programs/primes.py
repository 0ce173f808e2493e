# SPDX-License-Identifier: Apache-2.0
"""Counts primes in two halves.  The cause: in two threads of one interpreter, which take turns; two processes would not."""

import multiprocessing
import threading

import work_clock


def count_primes(span, found):
    found[span[0]] = sum(all(n % d for d in range(2, int(n**0.5) + 1)) for n in range(*span))


def main():
    threads = work_clock.begin()
    spans = [(2, 155000), (155000, 260000)]
    found = {} if threads else multiprocessing.Manager().dict()
    kind = threading.Thread if threads else multiprocessing.Process
    workers = [kind(target=count_primes, args=(span, found)) for span in spans]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(sum(found.values()))
    work_clock.end()


main()
