# SPDX-License-Identifier: Apache-2.0
"""Counts primes in two halves.  The cause: in two threads of one interpreter, which take turns; two processes would not."""

import multiprocessing
import threading

import work_clock


def count_primes(span, found, place):
    found[place] = sum(all(n % d for d in range(2, int(n**0.5) + 1)) for n in range(*span))


def main():
    threads = work_clock.begin()
    spans = [(2, 185000), (185000, 310000)]
    found = multiprocessing.Array("l", 2)
    kind = threading.Thread if threads else multiprocessing.Process
    workers = [kind(target=count_primes, args=(span, found, place)) for place, span in enumerate(spans)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(sum(found))
    work_clock.end()


main()
