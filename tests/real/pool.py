# SPDX-License-Identifier: Apache-2.0
"""Two processes of a pool compute; the main one waits for them."""
import multiprocessing


def squares(n: int) -> int:
    return sum(i * i for i in range(n))


if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        print(sum(pool.map(squares, [500_000] * 24)))
