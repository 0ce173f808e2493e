# SPDX-License-Identifier: Apache-2.0
"""Fetches pages, 25 ms each.  The cause: a pool of two threads, where eight would wait at the same time."""

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import work_clock

PAGES = 60


def serve(door):
    """The slow site: a thread for each connection."""

    def answer(connection):
        connection.recv(64)
        time.sleep(0.025)
        connection.sendall(b"page")
        connection.close()

    while True:
        connection, _ = door.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def fetch(address, number):
    with socket.create_connection(address) as connection:
        connection.sendall(b"GET /%d" % number)
        return len(connection.recv(64))


def main():
    door = socket.create_server(("127.0.0.1", 0), backlog=64)
    threading.Thread(target=serve, args=(door,), daemon=True, name="site").start()
    small = work_clock.begin()
    with ThreadPoolExecutor(max_workers=2 if small else 8, thread_name_prefix="fetcher") as pool:
        print(sum(pool.map(lambda n: fetch(door.getsockname(), n), range(PAGES))))
    work_clock.end()


main()
