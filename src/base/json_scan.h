/* SPDX-License-Identifier: Apache-2.0
 * json_scan.h - the few wide operations that a JSON event scanner lives on, for the instruction set of the including file.
 *
 * A template: a file is compiled once for each instruction set and includes this first.  The build passes -mavx2 or
 * -mavx512bw to the files concerned; what is not passed is plain C.  All functions rely on HU_INPUT_PAD zero bytes
 * behind the text: a zero stops every search, so that none needs an end pointer and wide loads never leave the buffer.
 *
 * Each search looks at WIDE bytes at once and gets a mask with one group of bits per byte; FIRST is the index of the
 * first byte that matched.
 */
#ifndef HU_BASE_JSON_SCAN_H
#define HU_BASE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Little-endian eight bytes, so that the first byte is the lowest on every machine. */
static inline uint64_t load_8(const char *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

#if defined(__AVX512BW__) && defined(__AVX512VL__)

#include <immintrin.h>

enum { WIDE = 64 };
#define FIRST(mask)      ((size_t)__builtin_ctzll(mask))
#define DROP_FIRST(mask) ((mask) & ((mask)-1))

static inline uint64_t string_mask(const char *p)
{
    const __m512i v = _mm512_loadu_si512(p);

    return _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('"')) | _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\\')) |
           _mm512_cmplt_epu8_mask(v, _mm512_set1_epi8(0x20));
}

static inline uint64_t solid_mask(const char *p)
{
    const __m512i v = _mm512_loadu_si512(p);

    return _mm512_cmpgt_epu8_mask(v, _mm512_set1_epi8(0x20)) | _mm512_testn_epi8_mask(v, v);
}

static inline uint64_t bracket_mask(const char *p)
{
    const __m512i v = _mm512_loadu_si512(p);
    const __m512i low = _mm512_or_si512(v, _mm512_set1_epi8(0x20)); /* [ ] become { } */

    return _mm512_cmpeq_epi8_mask(low, _mm512_set1_epi8('{')) | _mm512_cmpeq_epi8_mask(low, _mm512_set1_epi8('}')) |
           _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('"')) | _mm512_testn_epi8_mask(v, v);
}

/* Half the width is enough for nearly all keys, and a mask that stays in a general register is cheaper to test. */
static inline bool equal_40(const char *a, const char *b, size_t n)
{
    const uint64_t differs = _mm256_cmpneq_epi8_mask(_mm256_loadu_si256((const __m256i *)a),
                                                     _mm256_loadu_si256((const __m256i *)b));

    if (n <= 32)
        return (differs & (((uint64_t)1 << n) - 1)) == 0;
    return differs == 0 && memcmp(a + 32, b + 32, n - 32) == 0;
}

#elif defined(__AVX2__)

#include <immintrin.h>

enum { WIDE = 32 };
#define FIRST(mask)      ((size_t)__builtin_ctzll(mask))
#define DROP_FIRST(mask) ((mask) & ((mask)-1))

static inline uint64_t bits_of(__m256i v)
{
    return (uint32_t)_mm256_movemask_epi8(v);
}

static inline __m256i equal_to(__m256i v, char c)
{
    return _mm256_cmpeq_epi8(v, _mm256_set1_epi8(c));
}

static inline uint64_t string_mask(const char *p)
{
    const __m256i v = _mm256_loadu_si256((const __m256i *)p);
    const __m256i control = equal_to(_mm256_max_epu8(v, _mm256_set1_epi8(0x1f)), 0x1f);

    return bits_of(_mm256_or_si256(_mm256_or_si256(equal_to(v, '"'), equal_to(v, '\\')), control));
}

static inline uint64_t solid_mask(const char *p)
{
    const __m256i v = _mm256_loadu_si256((const __m256i *)p);
    const __m256i blank = equal_to(_mm256_max_epu8(v, _mm256_set1_epi8(0x20)), 0x20);

    return (uint32_t)~bits_of(_mm256_andnot_si256(equal_to(v, 0), blank));
}

static inline uint64_t bracket_mask(const char *p)
{
    const __m256i v = _mm256_loadu_si256((const __m256i *)p);
    const __m256i low = _mm256_or_si256(v, _mm256_set1_epi8(0x20)); /* [ ] become { } */

    return bits_of(_mm256_or_si256(_mm256_or_si256(equal_to(low, '{'), equal_to(low, '}')),
                                   _mm256_or_si256(equal_to(v, '"'), equal_to(v, 0))));
}

static inline bool equal_40(const char *a, const char *b, size_t n)
{
    const uint64_t x = bits_of(
        _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)a), _mm256_loadu_si256((const __m256i *)b)));

    if (n <= 32)
        return (~x & (((uint64_t)1 << n) - 1)) == 0;
    return (uint32_t)x == UINT32_MAX && memcmp(a + 32, b + 32, n - 32) == 0;
}

#elif defined(__aarch64__) && defined(__ARM_NEON)

#include <arm_neon.h>

enum { WIDE = 16 };
#define FIRST(mask)      ((size_t)__builtin_ctzll(mask) >> 2)
#define DROP_FIRST(mask) ((mask) & ~((uint64_t)0xf << (__builtin_ctzll(mask) & ~3)))

/* Four bits per byte: shift right and narrow is the cheapest movemask that NEON has. */
static inline uint64_t bits_of(uint8x16_t v)
{
    return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(v), 4)), 0);
}

static inline uint64_t string_mask(const char *p)
{
    const uint8x16_t v = vld1q_u8((const uint8_t *)p);

    return bits_of(
        vorrq_u8(vorrq_u8(vceqq_u8(v, vdupq_n_u8('"')), vceqq_u8(v, vdupq_n_u8('\\'))), vcltq_u8(v, vdupq_n_u8(0x20))));
}

static inline uint64_t solid_mask(const char *p)
{
    const uint8x16_t v = vld1q_u8((const uint8_t *)p);

    return bits_of(vorrq_u8(vcgtq_u8(v, vdupq_n_u8(0x20)), vceqq_u8(v, vdupq_n_u8(0))));
}

static inline uint64_t bracket_mask(const char *p)
{
    const uint8x16_t v = vld1q_u8((const uint8_t *)p);
    const uint8x16_t low = vorrq_u8(v, vdupq_n_u8(0x20));

    return bits_of(vorrq_u8(vorrq_u8(vceqq_u8(low, vdupq_n_u8('{')), vceqq_u8(low, vdupq_n_u8('}'))),
                            vorrq_u8(vceqq_u8(v, vdupq_n_u8('"')), vceqq_u8(v, vdupq_n_u8(0)))));
}

static inline bool equal_40(const char *a, const char *b, size_t n)
{
    return memcmp(a, b, n) == 0;
}

#else

enum { WIDE = 8 };
#define FIRST(mask)      ((size_t)__builtin_ctzll(mask) >> 3)
#define DROP_FIRST(mask) ((mask) & ((mask)-1))

#define EVERY_BYTE(c) (UINT64_C(0x0101010101010101) * (uint8_t)(c))

/* The high bit of each byte of v that is zero; exact for every byte, not only for the first. */
static inline uint64_t zero_bytes(uint64_t v)
{
    return ~(((v & EVERY_BYTE(0x7f)) + EVERY_BYTE(0x7f)) | v | EVERY_BYTE(0x7f));
}

/* The high bit of each byte of v that is less than n, for n up to 128. */
static inline uint64_t bytes_below(uint64_t v, uint8_t n)
{
    return ~((v & EVERY_BYTE(0x7f)) + EVERY_BYTE(0x80 - n)) & ~v & EVERY_BYTE(0x80);
}

static inline uint64_t string_mask(const char *p)
{
    const uint64_t v = load_8(p);

    return zero_bytes(v ^ EVERY_BYTE('"')) | zero_bytes(v ^ EVERY_BYTE('\\')) | bytes_below(v, 0x20);
}

static inline uint64_t solid_mask(const char *p)
{
    const uint64_t v = load_8(p);

    return (~bytes_below(v, 0x21) & EVERY_BYTE(0x80)) | zero_bytes(v);
}

static inline uint64_t bracket_mask(const char *p)
{
    const uint64_t v = load_8(p), low = v | EVERY_BYTE(0x20);

    return zero_bytes(low ^ EVERY_BYTE('{')) | zero_bytes(low ^ EVERY_BYTE('}')) | zero_bytes(v ^ EVERY_BYTE('"')) |
           zero_bytes(v);
}

static inline bool equal_40(const char *a, const char *b, size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8)
        if (load_8(a + i) != load_8(b + i))
            return false;
    return i == n || ((load_8(a + i) ^ load_8(b + i)) << (64 - 8 * (n - i))) == 0;
}

#endif

/* The first quote, backslash or control character at or behind p. */
static inline const char *string_stop(const char *p)
{
    for (;; p += WIDE) {
        const uint64_t mask = string_mask(p);

        if (mask)
            return p + FIRST(mask);
    }
}

/* The first byte at or behind p that is no blank; a zero byte is no blank, other control characters are. */
static inline const char *skip_space(const char *p)
{
    if ((unsigned char)*p > 0x20)
        return p;
    for (;; p += WIDE) {
        const uint64_t mask = solid_mask(p);

        if (mask)
            return p + FIRST(mask);
    }
}

/* What a string held that strict JSON forbids or that needs work before it is text. */
enum { STRING_ESCAPES = 1, STRING_CONTROLS = 2 };

/*
 * The closing quote of the string whose first character is at p, or the zero byte at `end` when the text ends first.
 * Control characters, zero bytes among them, are kept and reported.
 */
static inline const char *string_close(const char *p, const char *end, unsigned *found)
{
    for (;;) {
        p = string_stop(p);
        if (*p == '"')
            return p;
        if (p >= end)
            return end;
        if (*p == '\\') {
            *found |= STRING_ESCAPES;
            p += 2;
            if (p > end)
                return end;
        } else {
            *found |= STRING_CONTROLS;
            p++;
        }
    }
}

/* Behind the bracket that closes the one at p; NULL when the text ends first, or nests deeper than `nesting`. */
static inline const char *container_close(const char *p, const char *end, int64_t nesting)
{
    unsigned found = 0;
    int64_t  depth = 0;

    for (;;) {
        uint64_t    mask = bracket_mask(p);
        const char *block = p;

        p += WIDE;
        for (; mask; mask = DROP_FIRST(mask)) {
            const char *at = block + FIRST(mask);

            if (*at == '"') {
                p = string_close(at + 1, end, &found);
                if (p >= end)
                    return NULL;
                p++;
                break;
            }
            if (*at == '[' || *at == '{') {
                if (++depth > nesting)
                    return NULL;
            } else if (*at == ']' || *at == '}') {
                if (--depth == 0)
                    return at + 1;
            } else if (at >= end) {
                return NULL;
            }
        }
    }
}

#endif
