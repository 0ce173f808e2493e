# SPDX-License-Identifier: Apache-2.0
"""A thread hashes large blocks, which needs no GIL; the main one waits for it."""
import hashlib
import threading

block = bytes(1 << 20)


def hash_all(n: int) -> None:
    h = hashlib.sha256()
    for _ in range(n):
        h.update(block)
    print(h.hexdigest()[:8])


worker = threading.Thread(target=hash_all, args=(400,))
worker.start()
worker.join()
