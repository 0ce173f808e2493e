#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures one statement in DuckDB or SQLite on the slices of a trace, loaded from CSV into a table in memory before.
Does not measure the loading: it is reported beside the statement's time, not in it.

usage: sql.py duckdb|sqlite3 SLICES.csv SQL ROUNDS      a JSON object: version, load_seconds, seconds (median), rows
The first line of the file names the columns; those that end in _ns and `track` are whole numbers."""

from __future__ import annotations

import csv
import json
import statistics
import sys
import time
from typing import Any, Callable

Ask = Callable[[str], list[tuple[Any, ...]]]


def is_number(column: str) -> bool:
    return column.endswith("_ns") or column == "track"


def heads_of(path: str) -> list[str]:
    with open(path, newline="", encoding="utf-8", errors="surrogateescape") as file:
        return next(csv.reader(file))


def duckdb(path: str) -> tuple[str, Ask]:
    import duckdb as engine

    base = engine.connect()
    columns = {c: "BIGINT" if is_number(c) else "VARCHAR" for c in heads_of(path)}
    form = "header=true, delim=',', quote='\"', escape='\"'"
    base.execute(f"create table slice as select * from read_csv(?, {form}, columns={columns})", [path])
    return f"DuckDB {engine.__version__}", lambda sql: base.execute(sql).fetchall()


def sqlite3(path: str) -> tuple[str, Ask]:
    import sqlite3 as engine

    base = engine.connect(":memory:")
    columns = heads_of(path)
    numbers = [i for i, c in enumerate(columns) if is_number(c)]
    base.execute("create table slice(" + ", ".join(f"{c} {'INTEGER' if is_number(c) else 'TEXT'}" for c in columns) + ")")

    def rows() -> Any:
        with open(path, newline="", encoding="utf-8", errors="replace") as file:
            lines = csv.reader(file)
            next(lines)
            for line in lines:
                for i in numbers:
                    line[i] = int(line[i])      # type: ignore[call-overload]
                yield line

    base.executemany(f"insert into slice values ({', '.join('?' * len(columns))})", rows())
    base.commit()
    return f"SQLite {engine.sqlite_version}", lambda sql: base.execute(sql).fetchall()


def main() -> int:
    engines = {"duckdb": duckdb, "sqlite3": sqlite3}
    if len(sys.argv) != 5 or sys.argv[1] not in engines:
        print("usage: sql.py duckdb|sqlite3 SLICES.csv SQL ROUNDS", file=sys.stderr)
        return 2
    begin = time.perf_counter()
    version, ask = engines[sys.argv[1]](sys.argv[2])
    load = time.perf_counter() - begin
    took, rows = [], []
    for _ in range(int(sys.argv[4])):
        begin = time.perf_counter()
        rows = ask(sys.argv[3])
        took.append(time.perf_counter() - begin)
    print(json.dumps({"version": version, "load_seconds": load, "seconds": statistics.median(took), "rows": rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
