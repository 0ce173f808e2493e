# SPDX-License-Identifier: Apache-2.0
"""Puts orders into SQLite.  The cause: a commit, and with it a sync to disk, for each row."""

import os
import sqlite3

import work_clock

ROWS = 160


def price(number):
    return sum(i * number % 7 for i in range(24000))


def main():
    each = work_clock.begin()
    for name in ("orders.db", "orders.db-journal"):
        if os.path.exists(name):
            os.unlink(name)
    base = sqlite3.connect("orders.db")
    base.execute("create table orders (number integer, price integer)")
    for number in range(ROWS):
        base.execute("insert into orders values (?, ?)", (number, price(number)))
        if each:
            base.commit()
    base.commit()
    print(base.execute("select count(*) from orders").fetchone()[0])
    work_clock.end()


main()
