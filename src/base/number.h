/* SPDX-License-Identifier: Apache-2.0
 * number.h - decimal text to integers and back, without a locale and without rounding through double. */
#ifndef HU_BASE_NUMBER_H
#define HU_BASE_NUMBER_H

#include <stdint.h>

#include "base/str.h"

/* The whole of s must be the number; false (and *out untouched) when it is not or does not fit. */
bool hu_parse_u64(hu_str s, uint64_t *out);
bool hu_parse_i64(hu_str s, int64_t *out);
bool hu_parse_f64(hu_str s, double *out);

/*
 * Microseconds as JSON writes them ("1712195495519761.132", "-3", "6.5e3") to nanoseconds, exactly; what is finer than
 * a nanosecond is rounded to the nearest, halves away from zero.  False when it is no number or leaves int64.
 */
bool hu_parse_us_as_ns(hu_str s, int64_t *out_ns);

/* The same for any unit: the number times 10^power, such as seconds as nanoseconds with power 9. */
bool hu_parse_scaled(hu_str s, int power, int64_t *out);

/* The ending of a regular noun: "" for one, else "s", as in "1 call", "0 calls", "2 calls". */
static inline const char *hu_plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

enum { HU_NUMBER_BYTES = 48 };

/* Each writes a NUL-terminated text of less than HU_NUMBER_BYTES and returns its length. */
size_t hu_format_i64(char *out, int64_t value);
size_t hu_format_u64(char *out, uint64_t value);

/* `decimals` (0..9) digits behind the point, halves away from zero; "-" for NaN and infinities. */
size_t hu_format_fixed(char *out, double value, int decimals);

/*
 * With as few digits as hu_parse_f64 (and, `is_float`, a conversion to float) needs to give `value` back, where 15
 * digits are enough; else with ten digits and an exponent.  "-" for NaN and infinities.
 */
size_t hu_format_f64(char *out, double value, bool is_float);

/*
 * The shortest decimal text that any correct reader turns into `value` again: 15 to 17 digits, fewer for subnormals; with
 * an exponent where plain digits would be long ("1e+21", "2.5e-07").  "-" for NaN and infinities.
 */
size_t hu_format_shortest(char *out, double value);

#endif
