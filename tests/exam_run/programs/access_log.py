# SPDX-License-Identifier: Apache-2.0
"""Writes an access log.  The cause: the file has no buffer, so each line is a call of the system."""

import work_clock

LINES = 550000


def log(file, number):
    file.write(b"127.0.0.1 - GET /item/%d 200\n" % number)


def main():
    unbuffered = work_clock.begin()
    with open("access.log", "wb", buffering=0 if unbuffered else 1 << 16) as file:
        for number in range(LINES):
            log(file, number)
    print(LINES)
    work_clock.end()


main()
