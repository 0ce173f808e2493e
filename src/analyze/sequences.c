/* SPDX-License-Identifier: Apache-2.0
 * sequences.c - one pass over the work in the order of its launches, with the chain of operators around each launch.
 *
 * HolisticTraceAnalysis asks for one operator name at a time ("frequent CUDA kernel patterns") and takes the shallowest
 * operators of that name with at least three GPU operations below.  Here every operator is asked: an occurrence is an
 * operator with 3 to 64 GPU operations below it and no operator of the same name around it; its sequence are
 * their names in order of start.
 */
#include "analyze/sequences.h"

#include <stdlib.h>

#include "analyze/join.h"
#include "analyze/kernel_name.h"
#include "base/map.h"
#include "base/sort.h"

typedef struct {
    uint64_t hash; /* of the names so far */
    uint32_t count;
    int64_t  device_ns;
} below;

typedef struct {
    const hu_ask *ask;
    uint32_t     *slot; /* by slice: its place in `list` + 1; 0 none */
    HU_VEC(below) list;
    HU_VEC(uint32_t) ops; /* the operator of each place */
    hu_map rows;
    HU_VEC(hu_sequence) found;
    HU_VEC(uint32_t) example; /* of each row: an operator */
} work;

static bool add_piece(work *w, uint32_t piece)
{
    const hu_ask *ask = w->ask;

    for (uint32_t at = hu_trace_op_of(ask->trace, piece); at != HU_NONE; at = ask->s.parent[at]) {
        below *b;

        if (ask->s.kind[at] != HU_KIND_CPU_OP)
            continue;
        if (!w->slot[at]) {
            if (!hu_vec_push(ask->scratch, &w->list, (below){0}) || !hu_vec_push(ask->scratch, &w->ops, at))
                return false;
            w->slot[at] = (uint32_t)w->list.n;
        }
        b = &w->list.at[w->slot[at] - 1];
        b->hash = hu_hash_u64(b->hash ^ ask->s.name[piece]);
        b->count++;
        b->device_ns += ask->s.dur_ns[piece];
    }
    return true;
}

static bool is_shallowest(const work *w, uint32_t op)
{
    for (uint32_t at = w->ask->s.parent[op]; at != HU_NONE; at = w->ask->s.parent[at])
        if (w->ask->s.name[at] == w->ask->s.name[op])
            return false;
    return true;
}

static bool count_occurrences(work *w)
{
    const hu_ask *ask = w->ask;

    for (size_t i = 0; i < w->list.n; i++) {
        const below   *b = &w->list.at[i];
        const uint32_t op = w->ops.at[i];
        uint32_t      *place;

        if (b->count < HU_SEQUENCE_LEAST || b->count > HU_SEQUENCE_MOST || !is_shallowest(w, op))
            continue;
        place = hu_map_put(&w->rows, hu_hash_u64(b->hash ^ b->count) ^ ask->s.name[op]);
        if (!place)
            return false;
        if (*place == HU_NONE) {
            if (!hu_vec_push(ask->scratch, &w->found, ((hu_sequence){.op = hu_ask_name(ask, op), .length = b->count})) ||
                !hu_vec_push(ask->scratch, &w->example, op))
                return false;
            *place = (uint32_t)w->found.n - 1;
        }
        w->found.at[*place].count++;
        w->found.at[*place].device_ns += b->device_ns;
        w->found.at[*place].host_ns += ask->s.dur_ns[op];
    }
    return true;
}

static int by_count(const void *left, const void *right)
{
    const hu_sequence *a = left, *b = right;
    const int64_t      x = a->count * a->length, y = b->count * b->length;
    int                c;

    if (x != y)
        return x > y ? -1 : 1;
    if (a->device_ns != b->device_ns)
        return a->device_ns > b->device_ns ? -1 : 1;
    c = hu_str_compare(a->op, b->op);
    return c ? c : hu_str_compare(a->kernels, b->kernels);
}

/* The labels of the work below an operator, joined. */
static bool write_names(const hu_ask *ask, const hu_kernel_reader *reader, hu_sequence *s, const uint32_t *pieces, size_t n)
{
    const hu_str arrow = HU_STR(" → ");
    hu_str      *labels = hu_arena_calloc(ask->scratch, n + 1, sizeof *labels);
    size_t       size = 1, length = 0;
    char        *text;

    if (!labels)
        return false;
    for (size_t i = 0; i < n; i++) {
        hu_kernel_name k;

        if (!hu_kernel_name_read(reader, hu_ask_name(ask, pieces[i]), false, ask->scratch, &k))
            return false;
        labels[i] = k.label;
        size += k.label.n + arrow.n;
    }
    text = hu_arena_alloc(ask->arena, size);
    for (size_t i = 0; text && i < n; i++) {
        memcpy(text + length, arrow.p, i ? arrow.n : 0);
        length += i ? arrow.n : 0;
        memcpy(text + length, labels[i].p, labels[i].n);
        length += labels[i].n;
    }
    s->kernels = (hu_str){text, length};
    return text != NULL;
}

/* Only for the rows that stay: looks for the work of their examples. */
static bool name_rows(work *w, const uint32_t *row_of_op, hu_sequence *rows, size_t n)
{
    const hu_ask *ask = w->ask;
    uint32_t(*pieces)[HU_SEQUENCE_MOST] = hu_arena_alloc(ask->scratch, (n + 1) * sizeof *pieces);
    uint32_t        *count = hu_arena_calloc(ask->scratch, n + 1, sizeof *count);
    hu_kernel_reader reader;

    if (!pieces || !count)
        return false;
    hu_kernel_reader_init(&reader);
    for (size_t k = 0; k < ask->n_work; k++) {
        if (!hu_ask_has(ask, ask->work[k]))
            continue;
        for (uint32_t at = hu_trace_op_of(ask->trace, ask->work[k]); at != HU_NONE; at = ask->s.parent[at]) {
            const uint32_t row = ask->s.kind[at] == HU_KIND_CPU_OP && w->slot[at] ? row_of_op[w->slot[at] - 1] : HU_NONE;

            if (row != HU_NONE && count[row] < HU_SEQUENCE_MOST)
                pieces[row][count[row]++] = ask->work[k];
        }
    }
    for (size_t r = 0; r < n; r++)
        if (!write_names(ask, &reader, &rows[r], pieces[r], count[r]))
            return false;
    return true;
}

static bool keep(work *w, hu_sequences *out)
{
    const hu_ask *ask = w->ask;
    const size_t  n = w->found.n;
    uint32_t     *row_of_op = hu_arena_alloc(ask->scratch, (w->list.n + 1) * sizeof *row_of_op);
    hu_sequence  *rows = hu_arena_calloc(ask->arena, HU_SEQUENCE_ROWS + 1, sizeof *rows);
    int64_t      *weights = hu_arena_alloc(ask->scratch, (n + 1) * sizeof *weights), least = 0;
    size_t        kept = 0;

    if (!row_of_op || !rows || !weights)
        return false;
    memset(row_of_op, 0xff, (w->list.n + 1) * sizeof *row_of_op);
    for (size_t i = 0; i < n; i++)
        weights[i] = w->found.at[i].count * w->found.at[i].length;
    if (n > HU_SEQUENCE_ROWS)
        least = hu_sort_nth_i64(weights, n, n - HU_SEQUENCE_ROWS);
    for (int equal = 0; equal < 2; equal++) { /* those of the least weight fill what is left */
        for (size_t i = 0; i < n && kept < HU_SEQUENCE_ROWS; i++) {
            const int64_t weight = w->found.at[i].count * w->found.at[i].length;

            if (equal ? weight != least : weight <= least)
                continue;
            row_of_op[w->slot[w->example.at[i]] - 1] = (uint32_t)kept;
            rows[kept++] = w->found.at[i];
        }
    }
    if (!name_rows(w, row_of_op, rows, kept))
        return false;
    qsort(rows, kept, sizeof *rows, by_count);
    out->at = rows;
    out->n = kept;
    return true;
}

int hu_sequences_measure(const hu_ask *ask, hu_sequences *out, hu_error *err)
{
    work         w = {.ask = ask, .slot = hu_arena_calloc(ask->scratch, ask->s.n + 1, sizeof *w.slot)};
    hu_sequences result = {0};

    if (!w.slot || !hu_map_init(&w.rows, ask->scratch, 256))
        return hu_fail_memory(err);
    for (size_t k = 0; k < ask->n_work; k++)
        if (hu_ask_has(ask, ask->work[k]) && !add_piece(&w, ask->work[k]))
            return hu_fail_memory(err);
    if (!count_occurrences(&w) || !keep(&w, &result))
        return hu_fail_memory(err);
    *out = result;
    return 0;
}

static void row_key(const void *row, hu_str *a, hu_str *b)
{
    *a = ((const hu_sequence *)row)->op;
    *b = ((const hu_sequence *)row)->kernels;
}

static void add_row(void *left, const void *right)
{
    hu_sequence       *into = left;
    const hu_sequence *from = right;

    into->count += from->count;
    into->device_ns += from->device_ns;
    into->host_ns += from->host_ns;
}

bool hu_sequences_merge(hu_sequences *into, const hu_sequences *from, hu_arena *arena)
{
    static const hu_join_rule rule = {sizeof(hu_sequence), row_key, add_row, by_count};

    return hu_join_rows(&rule, (void **)&into->at, &into->n, from->at, from->n, arena);
}
