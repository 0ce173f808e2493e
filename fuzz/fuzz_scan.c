/* SPDX-License-Identifier: Apache-2.0
 * fuzz_scan.c - every variant of the event scanner reads the same bytes and must see the same event.
 *
 * Three properties:
 *  - all instruction sets give the same values and stop at the same byte;
 *  - what was predicted from earlier events changes speed, not results: a fresh scanner sees the same;
 *  - the text of an event cut anywhere asks for more text, which is what keeps events at the border of a chunk.
 *
 * The text lies in a block of exactly its length and the promised padding, so that ASan sees a load beyond it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/input.h"
#include "ingest/chrome_event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { NESTING = 64, MOST_VARIANTS = 4, MOST_EVENTS = 64 };

typedef struct {
    const char        *name;
    chrome_scan_event *scan;
    chrome_scanner     scanner;
    chrome_event       event;
    const char        *after;
} variant;

static variant variants[MOST_VARIANTS], fresh;
static size_t  n_variants;

static void add_variant(const char *name, chrome_scan_event *scan)
{
    variants[n_variants++] = (variant){.name = name, .scan = scan};
}

static void find_variants(void)
{
    const hu_cpu best = hu_cpu_best();

    add_variant("scalar", chrome_scan_event_scalar);
    if (best == HU_CPU_NEON)
        add_variant("neon", chrome_scan_for(HU_CPU_NEON));
    if (best >= HU_CPU_AVX2)
        add_variant("avx2", chrome_scan_for(HU_CPU_AVX2));
    if (best >= HU_CPU_AVX512)
        add_variant("avx512", chrome_scan_for(HU_CPU_AVX512));
    fresh = (variant){.name = "fresh", .scan = chrome_scan_event_scalar};
}

static void fail(const variant *v, const char *text, const char *at, const char *what, int64_t expected, int64_t got)
{
    fprintf(stderr, "fuzz_scan: %s, event at byte %td: %s: expected %lld, got %lld\n", v->name, at - text, what,
            (long long)expected, (long long)got);
    abort();
}

#define CHECK(what, a, b)                                                              \
    do {                                                                               \
        if ((a) != (b))                                                                \
            fail(v, text, at, (what), (int64_t)(intptr_t)(a), (int64_t)(intptr_t)(b)); \
    } while (0)

static void compare_value(const variant *v, const char *text, const char *at, const chrome_value *a, const chrome_value *b)
{
    CHECK("type", a->type, b->type);
    CHECK("length", a->n, b->n);
    if (a->type == CHROME_INT)
        CHECK("number", a->number, b->number);
    if (a->type == CHROME_STRING)
        CHECK("found", a->found, b->found);
    CHECK("place in the text", a->p, b->p);
}

/* The first variant's view of the event at `at` is the reference. */
static void compare(const variant *v, const char *text, const char *at)
{
    const variant      *r = &variants[0];
    const chrome_event *a = &r->event, *b = &v->event;

    CHECK("end of the event", r->after, v->after);
    CHECK("too deep", a->too_deep, b->too_deep);
    if (!r->after) {
        CHECK("stop", r->scanner.stop, v->scanner.stop);
        return;
    }
    CHECK("duplicates", a->duplicates, b->duplicates);
    CHECK("odd words", a->odd_words, b->odd_words);
    CHECK("extra values", a->n_extra, b->n_extra);
    for (uint32_t i = 0; i < a->n_extra; i++) {
        CHECK("extra key", a->extra[i].key.p, b->extra[i].key.p);
        CHECK("extra key length", a->extra[i].key.n, b->extra[i].key.n);
        CHECK("extra value", a->extra[i].value.p, b->extra[i].value.p);
        CHECK("extra value length", a->extra[i].value.n, b->extra[i].value.n);
    }
    for (int i = 0; i < CHROME_IGNORED; i++) {
        CHECK("presence", chrome_has(a, i), chrome_has(b, i));
        if (chrome_has(a, i))
            compare_value(v, text, at, &a->at[i], &b->at[i]);
    }
}

static char *padded(const char *from, size_t n)
{
    char *p = malloc(n + HU_INPUT_PAD);

    if (!p)
        abort();
    memcpy(p, from, n);
    memset(p + n, 0, HU_INPUT_PAD);
    return p;
}

/* The whole event at `at` is known to be good: any beginning of it must ask for more, in every variant. */
static void cut(const char *text, const char *at, const char *after)
{
    const size_t whole = (size_t)(after - at);
    const size_t n = 1 + ((unsigned char)at[whole / 2] * (whole - 1)) / 256;
    char        *part = padded(at, n);

    for (size_t i = 0; i < n_variants; i++) {
        static variant v;

        v.name = variants[i].name;
        v.scan = variants[i].scan;
        v.scanner = variants[i].scanner;
        v.after = v.scan(&v.scanner, part, part + n, &v.event);
        if (v.after)
            fail(&v, text, at, "end of an event that was cut", (int64_t)n, v.after - part);
        if (v.scanner.stop != part + n)
            fail(&v, text, at, "stop of an event that was cut", (int64_t)n, v.scanner.stop - part);
    }
    free(part);
}

static const char *scan_at(const char *text, const char *at, const char *end)
{
    for (size_t i = 0; i < n_variants; i++)
        variants[i].after = variants[i].scan(&variants[i].scanner, at, end, &variants[i].event);
    for (size_t i = 1; i < n_variants; i++)
        compare(&variants[i], text, at);
    chrome_scanner_init(&fresh.scanner, NESTING);
    fresh.after = fresh.scan(&fresh.scanner, at, end, &fresh.event);
    compare(&fresh, text, at);
    if (variants[0].after && variants[0].after - at > 1)
        cut(text, at, variants[0].after);
    return variants[0].after;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char       *text = padded((const char *)data, n);
    const char *at = text, *end = text + n;

    if (!n_variants)
        find_variants();
    for (size_t i = 0; i < n_variants; i++) {
        chrome_scanner_init(&variants[i].scanner, NESTING);
        memset(&variants[i].event, 0, sizeof variants[i].event);
    }
    memset(&fresh.event, 0, sizeof fresh.event);
    for (int i = 0; i < MOST_EVENTS && at < end; i++) {
        const char *after;

        at = memchr(at, '{', (size_t)(end - at));
        if (!at)
            break;
        after = scan_at(text, at, end);
        if (after && (after <= at || after > end))
            fail(&variants[0], text, at, "end of the event", n ? (int64_t)n : 0, after - text);
        at = after ? after : at + 1;
    }
    free(text);
    return 0;
}
