/* SPDX-License-Identifier: Apache-2.0
 * fuzz_pickle.c - any bytes as a pickle: values, a walk over them, and, where they are a snapshot, every answer about memory. */
#include <stdlib.h>

#include "analyze/digest.h"
#include "base/pickle.h"
#include "ingest/format.h"
#include "ingest/open.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static volatile unsigned sum;

/* Every byte of a value is looked at; values may hold themselves, so depth and number are limited. */
static void walk(const hu_value *v, int depth, int *budget)
{
    if (depth == 0 || --*budget < 0)
        return;
    if (v->type == HU_VALUE_TEXT || v->type == HU_VALUE_BYTES)
        for (size_t i = 0; i < v->text.n; i++)
            sum += (unsigned char)v->text.p[i];
    if (v->type != HU_VALUE_LIST && v->type != HU_VALUE_DICT)
        return;
    if (v->type == HU_VALUE_DICT && v->n % 2)
        abort();
    for (uint32_t i = 0; i < v->n; i++)
        walk(v->items[i], depth - 1, budget);
}

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* What must hold for any file. */
static void judge(const hu_memory *m)
{
    for (size_t i = 0; i < m->n; i++) {
        const hu_memory_pieces *moments[] = {&m->at[i].at_peak, &m->at[i].at_end};

        for (size_t k = 0; k < HU_COUNT(moments); k++) {
            const hu_memory_pieces *p = moments[k];

            check(p->free_bytes + p->held_bytes == p->reserved_bytes && p->largest_free_bytes <= p->free_bytes);
            check(p->empty_bytes <= p->free_bytes && p->page_bytes <= p->free_bytes && p->empty_bytes <= p->page_bytes);
            check(p->is_known || p->reserved_bytes == 0);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const hu_limits         limits = {.events = 100000, .nesting = 64, .event_bytes = 1 << 20, .string_bytes = 16 << 20};
    const hu_input_options  options = {limits, false, NULL};
    const hu_digest_options what = {.frames = 4};
    const hu_str            bytes = {(const char *)data, n};
    hu_arena               *arena = hu_arena_new();
    hu_error                err = {0};
    int                     budget = 100000;
    const hu_value         *root = hu_pickle_read(bytes, "fuzz", &limits, arena, &err);
    hu_input               *in;
    hu_builder             *b;
    hu_trace               *trace;

    check((root != NULL) != (err.code != 0)); /* an answer or an error, never both */
    if (root)
        walk(root, 50, &budget);
    hu_arena_free(arena);
    if (!root)
        return 0;
    in = hu_input_open_memory(bytes, "fuzz", &options, &err);
    b = in ? hu_open_input(in, &options, &err) : NULL;
    trace = b ? hu_builder_freeze(b, &err) : NULL;
    if (trace) {
        hu_digest *digest = hu_digest_measure(trace, &what, &err);

        if (digest)
            judge(&digest->memory);
        hu_digest_free(digest);
        hu_trace_free(trace);
    }
    return 0;
}
