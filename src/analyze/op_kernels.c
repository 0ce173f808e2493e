/* SPDX-License-Identifier: Apache-2.0
 * op_kernels.c - from GPU work to the operator around its launch, and on to the line that called the operator.
 *
 * That line is the innermost Python frame that is not of PyTorch itself, or where there is none the innermost frame at all:
 * from frames that were recorded as slices (with_stack=True), else from the text "Call stack" of the operator.
 */
#include "analyze/op_kernels.h"

#include <stdlib.h>

#include "analyze/join.h"
#include "base/map.h"

/* Built-in functions and modules have frames too, but no line. */
static bool is_line(hu_str frame)
{
    return hu_str_has(frame, HU_STR(".py(")) || hu_str_has(frame, HU_STR(".py:"));
}

static bool is_of_torch(hu_str frame)
{
    return hu_str_starts(frame, HU_STR("torch/")) || hu_str_has(frame, HU_STR("/torch/")) ||
           hu_str_has(frame, HU_STR("/torch_")) || hu_str_starts(frame, HU_STR("contextlib.py")) ||
           hu_str_starts(frame, HU_STR("<"));
}

/* Among the frames around the operator. */
static hu_str line_around(const hu_ask *ask, uint32_t op)
{
    hu_str innermost = {0};

    for (uint32_t i = ask->s.parent[op]; i != HU_NONE; i = ask->s.parent[i]) {
        const hu_str name = hu_ask_name(ask, i);

        if (ask->s.kind[i] != HU_KIND_PYTHON || !is_line(name))
            continue;
        if (!is_of_torch(name))
            return name;
        if (!innermost.n)
            innermost = name;
    }
    return innermost;
}

/* In the text that the profiler wrote: innermost first, with ";" between frames. */
static hu_str line_of_stack(const hu_ask *ask, uint32_t op)
{
    const bool     has_detail = hu_kind_in(ask->s.kind[op], HU_BIT(CPU_OP) | HU_BIT(USER));
    const uint32_t detail = has_detail ? ask->s.detail[op] : HU_NONE;
    const uint32_t extra = detail != HU_NONE ? hu_trace_op_detail(ask->trace, detail)->extra : 0;
    hu_str         text = extra ? hu_trace_text(ask->trace, hu_trace_op_extra(ask->trace, extra)->stack) : HU_STR("");
    hu_str         innermost = {0};

    while (text.n) {
        const char *end = memchr(text.p, ';', text.n);
        hu_str      frame = {text.p, end ? (size_t)(end - text.p) : text.n};

        text = (hu_str){text.p + frame.n + (end != NULL), text.n - frame.n - (end != NULL)};
        while (frame.n && frame.p[0] == ' ')
            frame = (hu_str){frame.p + 1, frame.n - 1};
        if (!is_line(frame))
            continue;
        if (!is_of_torch(frame))
            return frame;
        if (!innermost.n)
            innermost = frame;
    }
    return innermost;
}

static int by_total(const void *left, const void *right)
{
    const hu_op_kernel *a = left, *b = right;
    int                 c;

    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    c = hu_str_compare(a->op, b->op);
    c = c ? c : hu_str_compare(a->kernel, b->kernel);
    return c ? c : hu_str_compare(a->source, b->source);
}

int hu_op_kernels_measure(const hu_ask *ask, hu_op_kernels *out, hu_error *err)
{
    HU_VEC(hu_op_kernel) rows = {0};
    hu_map row_of; /* by operator, kernel and line */

    if (!hu_map_init(&row_of, ask->scratch, 256))
        return hu_fail_memory(err);
    for (size_t k = 0; k < ask->n_work; k++) {
        const uint32_t i = ask->work[k], op = hu_trace_op_of(ask->trace, i);
        hu_op_kernel   row = {.kernel = hu_ask_name(ask, i)};
        uint32_t      *place;

        if (!hu_ask_has(ask, i))
            continue;
        if (op != HU_NONE) {
            row.op = hu_ask_name(ask, op);
            row.source = line_around(ask, op);
            if (!row.source.n)
                row.source = line_of_stack(ask, op);
        }
        place = hu_map_put(&row_of, hu_hash_mix((uint64_t)ask->s.name[i] << 32 | (op != HU_NONE ? ask->s.name[op] : 0),
                                                hu_hash_bytes(row.source.p, row.source.n) | 1));
        if (place && *place == HU_MAP_NONE) {
            *place = (uint32_t)rows.n;
            if (!hu_vec_push(ask->arena, &rows, row))
                place = NULL;
        }
        if (!place)
            return hu_fail_memory(err);
        rows.at[*place].calls++;
        rows.at[*place].total_ns += ask->s.dur_ns[i];
    }
    if (rows.n)
        qsort(rows.at, rows.n, sizeof *rows.at, by_total);
    *out = (hu_op_kernels){rows.at, rows.n};
    return 0;
}

static void row_key(const void *row, hu_str *a, hu_str *b)
{
    *a = ((const hu_op_kernel *)row)->op;
    *b = ((const hu_op_kernel *)row)->kernel;
}

static void add_row(void *left, const void *right)
{
    hu_op_kernel       *into = left;
    const hu_op_kernel *from = right;

    into->calls += from->calls;
    into->total_ns += from->total_ns;
    if (!hu_str_equal(into->source, from->source))
        into->source = HU_STR(""); /* from several lines */
}

bool hu_op_kernels_merge(hu_op_kernels *into, const hu_op_kernels *from, hu_arena *arena)
{
    static const hu_join_rule rule = {sizeof(hu_op_kernel), row_key, add_row, by_total};

    return hu_join_rows(&rule, (void **)&into->at, &into->n, from->at, from->n, arena);
}
