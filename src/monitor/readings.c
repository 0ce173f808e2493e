/* SPDX-License-Identifier: Apache-2.0
 * readings.c - rows: metric (2 bytes), label values (1), value (8), then each label value with a NUL behind it, and the
 * counts of a histogram (8 each).
 *
 * Both ends are this program, but the one that reads checks all the same: the other one may have been killed while it wrote.
 */
#include "monitor/readings.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

enum { ROW_HEAD = 2 + 1 + 8, FIRST_ROOM = 16 << 10, REPLACEMENT = 0xfffd };

static bool make_room(hu_readings *r, size_t more)
{
    const size_t   want = r->head.bytes + more;
    size_t         room = r->room ? r->room : FIRST_ROOM;
    unsigned char *rows;

    if (want <= r->room)
        return true;
    if (want > HU_READINGS_MOST)
        return false;
    while (room < want)
        room *= 2;
    rows = realloc(r->rows, room);
    if (!rows)
        return false;
    r->rows = rows;
    r->room = room;
    return true;
}

/* How many bytes of the value are kept, so that no character is cut. */
static size_t kept(const char *value)
{
    size_t n = strnlen(value, HU_READING_VALUE_MOST + 1);

    if (n > HU_READING_VALUE_MOST)
        for (n = HU_READING_VALUE_MOST; n > 0 && ((unsigned char)value[n] & 0xc0) == 0x80;)
            n--;
    return n;
}

/* Copies it as valid UTF-8; `to` has room for three bytes for each one. */
static size_t copy_text(unsigned char *to, const char *from, size_t n)
{
    hu_str s = {.p = from, .n = n};
    char  *at = (char *)to;

    while (s.n > 0) {
        const uint32_t code = hu_utf8_next(&s);

        at += hu_utf8_put(at, code == HU_UTF8_BAD ? REPLACEMENT : code);
    }
    return (size_t)(at - (char *)to);
}

/* Buckets of a histogram, the one above all limits included. */
static size_t counts_of(hu_metric m)
{
    size_t n;

    hu_metric_limits(m, &n);
    return n ? n + 1 : 0;
}

static void put(hu_readings *r, hu_metric m, double value, const uint64_t *counts, const char *const *values, size_t n)
{
    const uint16_t metric = (uint16_t)m;
    const size_t   of_counts = counts ? counts_of(m) * sizeof *counts : 0;
    unsigned char *at;
    size_t         bytes = ROW_HEAD + of_counts;

    assert(n == hu_metric_labels(m));
    if (!isfinite(value))
        return;
    for (size_t i = 0; i < n; i++)
        bytes += 3 * (values[i] ? kept(values[i]) : 0) + 1;
    if (!make_room(r, bytes)) {
        r->is_full = true;
        return;
    }
    at = r->rows + r->head.bytes;
    memcpy(at, &metric, sizeof metric);
    at[2] = (unsigned char)n;
    memcpy(at + 3, &value, sizeof value);
    at += ROW_HEAD;
    for (size_t i = 0; i < n; i++) {
        if (values[i])
            at += copy_text(at, values[i], kept(values[i]));
        *at++ = '\0';
    }
    if (of_counts)
        memcpy(at, counts, of_counts);
    at += of_counts;
    r->head.bytes = (uint32_t)(at - r->rows);
    r->head.n++;
}

void hu_readings_put(hu_readings *r, hu_metric m, double value, const char *const *values, size_t n)
{
    assert(counts_of(m) == 0);
    put(r, m, value, NULL, values, n);
}

void hu_readings_put_histogram(hu_readings *r, hu_metric m, double sum, const uint64_t *counts, const char *const *values,
                               size_t n)
{
    assert(counts_of(m) != 0);
    put(r, m, sum, counts, values, n);
}

void hu_put_problem(hu_readings *r, const char *source, const char *what, const char *fix)
{
    hu_put(r, HU_METRIC_PROBLEM, 1, source, what, fix);
}

void hu_readings_add(hu_readings *r, const hu_readings *from)
{
    r->is_full |= from->is_full;
    if (!from->head.bytes)
        return;
    if (!make_room(r, from->head.bytes)) {
        r->is_full = true;
        return;
    }
    memcpy(r->rows + r->head.bytes, from->rows, from->head.bytes);
    r->head.bytes += from->head.bytes;
    r->head.n += from->head.n;
}

void hu_readings_clear(hu_readings *r)
{
    r->head.bytes = r->head.n = 0;
    r->is_full = false;
}

void hu_readings_free(hu_readings *r)
{
    free(r->rows);
    *r = (hu_readings){0};
}

bool hu_readings_next(const hu_readings *r, size_t *at, hu_reading *out)
{
    uint16_t metric;
    size_t   i = *at;

    if (r->head.bytes - i < ROW_HEAD)
        return false;
    memcpy(&metric, r->rows + i, sizeof metric);
    out->n = r->rows[i + 2];
    memcpy(&out->value, r->rows + i + 3, sizeof out->value);
    if (metric >= HU_METRIC_COUNT || out->n != hu_metric_labels((hu_metric)metric))
        return false;
    out->metric = (hu_metric)metric;
    i += ROW_HEAD;
    for (size_t k = 0; k < out->n; k++) {
        const unsigned char *end = memchr(r->rows + i, '\0', r->head.bytes - i);

        if (!end)
            return false;
        out->label[k] = (const char *)r->rows + i;
        i = (size_t)(end - r->rows) + 1;
    }
    out->n_counts = counts_of(out->metric);
    out->counts = r->rows + i;
    if (r->head.bytes - i < out->n_counts * sizeof(uint64_t))
        return false;
    i += out->n_counts * sizeof(uint64_t);
    *at = i;
    return true;
}

uint64_t hu_reading_count(const hu_reading *r, size_t bucket)
{
    uint64_t count;

    memcpy(&count, (const char *)r->counts + bucket * sizeof count, sizeof count);
    return count;
}
