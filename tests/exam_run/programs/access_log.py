# SPDX-License-Identifier: Apache-2.0
"""Writes an access log.  The cause: the file has no buffer, so each line is a call of the system."""

import work_clock

LINES = 450000


def log(file, number):
    address = b"%d.%d.%d" % (number % 223, number // 223 % 251, number % 7)
    file.write(b"10.%s - GET /item/%d 200 %d\n" % (address, number, number * 7919 % 65521))


def main():
    unbuffered = work_clock.begin()
    with open("access.log", "wb", buffering=0 if unbuffered else 1 << 16) as file:
        for number in range(LINES):
            log(file, number)
    print(LINES)
    work_clock.end()


main()
