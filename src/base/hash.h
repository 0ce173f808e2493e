/* SPDX-License-Identifier: Apache-2.0
 * hash.h - a fast hash of short byte strings: two 64-bit loads and a 128-bit multiply per 16 bytes.
 *
 * Not for secrets and not stable between versions; tables that use it re-hash when they grow and never depend on order.
 * An enemy who knows it can make a table slow, not wrong: probe lengths are bounded by the number of strings, and that
 * by hu_limits.
 */
#ifndef HU_BASE_HASH_H
#define HU_BASE_HASH_H

#include <stdint.h>
#include <string.h>

static inline uint64_t hu_hash_mix(uint64_t a, uint64_t b)
{
    const unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hu_load_u64(const char *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t hu_hash_u64(uint64_t v)
{
    return hu_hash_mix(v ^ 0x9e3779b97f4a7c15u, 0xd6e8feb86659fd93u);
}

static inline uint64_t hu_hash_bytes(const char *p, size_t n)
{
    const uint64_t k0 = 0xa0761d6478bd642fu, k1 = 0xe7037ed1a0b428dbu;
    uint64_t       h = k0 ^ n, a = 0, b = 0;

    if (n >= 16) {
        const char *last = p + n - 16;

        for (; p < last; p += 16)
            h = hu_hash_mix(hu_load_u64(p) ^ k1, hu_load_u64(p + 8) ^ h);
        a = hu_load_u64(last);
        b = hu_load_u64(last + 8);
    } else if (n >= 8) {
        a = hu_load_u64(p);
        b = hu_load_u64(p + n - 8);
    } else if (n >= 4) {
        uint32_t lo, hi;

        memcpy(&lo, p, 4);
        memcpy(&hi, p + n - 4, 4);
        a = lo;
        b = hi;
    } else if (n) {
        a = (uint64_t)(unsigned char)p[0] << 16 | (uint64_t)(unsigned char)p[n >> 1] << 8 | (unsigned char)p[n - 1];
    }
    return hu_hash_mix(a ^ k1, b ^ h);
}

#endif
