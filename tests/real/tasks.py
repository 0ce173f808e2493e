# SPDX-License-Identifier: Apache-2.0
"""Three tasks that sleep at once, five times: nothing but sleeping."""
import asyncio


async def nap(n: int) -> int:
    for _ in range(n):
        await asyncio.sleep(0.1)
    return n


async def main() -> None:
    print(await asyncio.gather(nap(5), nap(5), nap(5)))

asyncio.run(main())
