/* SPDX-License-Identifier: Apache-2.0
 * nsys_sums.c - sorts rows by what they are, and adds up what belongs together.
 *
 * Sums of durations: work that runs at the same time counts more than once, and times between are unknown.  Of two tables of
 * one kind the first counts, because the second may be of the same work under other names. */
#include "analyze/nsys_sums.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/names.h"

enum {
    MOST_SIZES = 64, /* there is one for each direction */
    NEAR = 8
};

static const double ROUNDING_PCT = 0.05; /* of each printed percentage */
static const double TWIN_SHARE = 0.05,
                    TWIN_NS = 2e3; /* how far the times of one call may be apart that was recorded twice */

static bool has_group(const hu_nsys_row *row, const char *group)
{
    return hu_str_equal(row->group, hu_str_of(group));
}

/* Does a row of a table of that kind belong into this list?  Mixed tables name the category. */
static bool belongs(const hu_nsys_table *t, const hu_nsys_row *row, hu_nsys_kind kind)
{
    if (t->kind != HU_NSYS_MIXED)
        return t->kind == kind;
    return (kind == HU_NSYS_KERNELS && has_group(row, "CUDA_KERNEL")) ||
           (kind == HU_NSYS_COPIES && has_group(row, "MEMORY_OPER")) ||
           (kind == HU_NSYS_CALLS && has_group(row, "CUDA_API"));
}

static int by_total(const void *a, const void *b)
{
    const hu_nsys_row *x = *(const hu_nsys_row *const *)a, *y = *(const hu_nsys_row *const *)b;

    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return hu_str_compare(x->name, y->name);
}

/* What rows are missing, by percentages that add up to less than all of them; 0 where rounding explains it. */
static double missing_of(const hu_nsys_table *t)
{
    double pct = 0;

    for (size_t i = 0; i < t->rows.n; i++)
        pct += t->rows.at[i].pct; /* NaN: not printed */
    return pct < 100 - 1 - ROUNDING_PCT * (double)t->rows.n ? 1 - pct / 100 : 0;
}

static bool take_table(const hu_nsys_table *t, hu_nsys_kind kind, hu_arena *arena, hu_nsys_list *out)
{
    size_t n = 0;

    for (size_t i = 0; i < t->rows.n; i++)
        n += belongs(t, &t->rows.at[i], kind);
    if (n == 0)
        return true;
    out->at = hu_arena_calloc(arena, n, sizeof(const hu_nsys_row *));
    if (!out->at)
        return false;
    for (size_t i = 0; i < t->rows.n; i++)
        if (belongs(t, &t->rows.at[i], kind)) {
            out->at[out->n++] = &t->rows.at[i];
            out->total += t->rows.at[i].total;
        }
    qsort(out->at, out->n, sizeof(const hu_nsys_row *), by_total);
    out->missing = missing_of(t);
    out->is_known = true;
    return true;
}

/* A table of that kind alone before a mixed one. */
static bool take_kind(const hu_nsys_sums *sums, hu_nsys_kind kind, hu_arena *arena, hu_nsys_list *out, size_t *n_left_out)
{
    bool has_absent = false;

    *out = (hu_nsys_list){0};
    for (int mixed = 0; mixed < 2; mixed++)
        for (size_t i = 0; i < sums->tables.n; i++) {
            const hu_nsys_table *t = &sums->tables.at[i];

            if (t->kind != (mixed ? HU_NSYS_MIXED : kind))
                continue;
            has_absent |= t->is_absent;
            *n_left_out += !mixed && out->n && t->rows.n;
            if (out->n == 0 && !take_table(t, kind, arena, out))
                return false;
        }
    out->is_absent = out->n == 0 && has_absent;
    out->is_known |= out->is_absent;
    return true;
}

static void add(hu_nsys_part *part, const hu_nsys_row *row)
{
    part->ns += row->total;
    part->count += row->count;
}

/* Of as many calls of one name, in nearly the same time: both rows are of the same calls. */
static bool are_twins(const hu_nsys_row *a, const hu_nsys_row *b)
{
    return hu_str_equal(a->name, b->name) && a->count == b->count &&
           fabs(a->total - b->total) <= TWIN_SHARE * a->total + TWIN_NS * (double)a->count;
}

/*
 * With --cudabacktrace nsys records each call twice, once with its stack: two rows of one name, of which the longer one is
 * the whole call.  Rows are by total, so it comes first, and the other one soon after it.
 */
static void drop_twins(hu_nsys_list *calls, size_t *n_twins)
{
    size_t kept = 0;

    for (size_t i = 0; i < calls->n; i++) {
        size_t k = kept > NEAR ? kept - NEAR : 0;

        while (k < kept && !are_twins(calls->at[k], calls->at[i]))
            k++;
        if (k < kept) {
            calls->total -= calls->at[i]->total;
            ++*n_twins;
        } else {
            calls->at[kept++] = calls->at[i];
        }
    }
    calls->n = kept;
}

static void sort_calls(hu_nsys_answer *out)
{
    int64_t most = 0;

    out->launch_median_ns = (double)NAN;
    for (size_t i = 0; i < out->calls.n; i++) {
        const hu_nsys_row *row = out->calls.at[i];
        const uint8_t      flags = hu_names_of(row->name);
        const bool         is_copy = hu_str_has(row->name, HU_STR("Memcpy")) || hu_str_has(row->name, HU_STR("Memset"));

        if (flags & HU_NAME_SYNC)
            add(&out->waits, row);
        else if (flags & HU_NAME_ALLOC)
            add(&out->memory, row);
        else if (hu_str_has(row->name, HU_STR("GraphLaunch")))
            add(&out->graphs, row);
        else if (flags & HU_NAME_LAUNCH)
            add(is_copy ? &out->async_copies : &out->launches, row);
        else
            add(&out->rest, row);
        if (flags & HU_NAME_LAUNCH && !is_copy && !hu_str_has(row->name, HU_STR("GraphLaunch")) && row->count > most) {
            most = row->count;
            out->launch_median_ns = row->median;
        }
    }
}

/* A graph that nsys traces as a whole, which is its default, is no kernel: then there are only as many as launches. */
static bool lacks_graphs(const hu_nsys_answer *a)
{
    return a->kernels.is_known && a->graphs.count > 0 && a->compute.count + a->comm.count <= a->launches.count;
}

static bool sort_kernels(hu_nsys_answer *out, hu_arena *arena)
{
    hu_kernel_reader reader;

    hu_kernel_reader_init(&reader);
    for (size_t i = 0; i < out->kernels.n; i++) {
        const hu_nsys_row *row = out->kernels.at[i];
        hu_kernel_name     name;

        if (!hu_kernel_name_read(&reader, row->name, row->is_comm, arena, &name))
            return false;
        add(row->is_comm ? &out->comm : &out->compute, row);
        add(&out->families[name.family], row);
        if (name.is_plain_fp32)
            add(&out->plain_fp32, row);
    }
    return true;
}

bool hu_nsys_sums_measure(const hu_nsys_sums *sums, hu_arena *arena, hu_nsys_answer *out)
{
    *out = (hu_nsys_answer){0};
    if (!take_kind(sums, HU_NSYS_KERNELS, arena, &out->kernels, &out->n_left_out) ||
        !take_kind(sums, HU_NSYS_COPIES, arena, &out->copies, &out->n_left_out) ||
        !take_kind(sums, HU_NSYS_COPY_SIZES, arena, &out->sizes, &out->n_left_out) ||
        !take_kind(sums, HU_NSYS_CALLS, arena, &out->calls, &out->n_left_out) ||
        !take_kind(sums, HU_NSYS_OS_CALLS, arena, &out->os_calls, &out->n_left_out) ||
        !take_kind(sums, HU_NSYS_RANGES, arena, &out->ranges, &out->n_left_out) ||
        !take_kind(sums, HU_NSYS_MPI, arena, &out->mpi, &out->n_left_out))
        return false;
    drop_twins(&out->calls, &out->n_twins);
    for (size_t i = 0; i < out->copies.n; i++)
        add(hu_str_has(out->copies.at[i]->name, HU_STR("memset")) ? &out->memsets : &out->memcpys, out->copies.at[i]);
    sort_calls(out);
    if (!sort_kernels(out, arena))
        return false;
    out->lacks_graphs = lacks_graphs(out);
    return true;
}

double hu_nsys_sums_bytes(const hu_nsys_answer *answer, const hu_nsys_row *copy)
{
    for (size_t i = 0; i < answer->sizes.n && i < MOST_SIZES; i++)
        if (hu_str_equal(answer->sizes.at[i]->name, copy->name) && answer->sizes.at[i]->count == copy->count)
            return answer->sizes.at[i]->total;
    return (double)NAN;
}
