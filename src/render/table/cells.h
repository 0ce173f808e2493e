/* SPDX-License-Identifier: Apache-2.0
 * cells.h - how getters of columns are written: one line each.  For the files of this folder alone. */
#ifndef HU_RENDER_TABLE_CELLS_H
#define HU_RENDER_TABLE_CELLS_H

#include <math.h>

#include "render/table/views.h"

#define HU_ABSENT ((double)NAN)

/* What a getter puts into its cell. */
#define HU_PUT_NUMBER(expression) out->number = (double)(expression)
#define HU_PUT_TEXT(expression)   out->text = (expression)
#define HU_PUT_PLAIN(expression)  out->text = (expression), out->is_plain = true
#define HU_PUT_MOMENT(expression) out->whole = (expression), out->is_whole = true, out->number = (double)out->whole

/* A getter named NAME; `d` is the digest, `r` is row number `row` of ARRAY. */
#define HU_GETTER(name, array, put)                                 \
    static void name(const hu_rank *rank, size_t row, hu_cell *out) \
    {                                                               \
        const hu_digest              *d = rank->digest;             \
        const __typeof__((array)[0]) *r = &(array)[row];            \
                                                                    \
        (void)d;                                                    \
        (void)r;                                                    \
        put;                                                        \
    }

#define HU_NUMBER_OF(name, array, expression)     HU_GETTER(name, array, HU_PUT_NUMBER(expression))
#define HU_TEXT_OF(name, array, expression)       HU_GETTER(name, array, HU_PUT_TEXT(expression))
#define HU_PLAIN_TEXT_OF(name, array, expression) HU_GETTER(name, array, HU_PUT_PLAIN(expression)) /* no function's name */
#define HU_NUMBER(name, list, expression)         HU_NUMBER_OF(name, d->list.at, expression)
#define HU_TEXT(name, list, expression)           HU_TEXT_OF(name, d->list.at, expression)

/* A time of the trace's clock, which may be since 1970 and then fits no double. */
#define HU_MOMENT(name, array, expression) HU_GETTER(name, array, HU_PUT_MOMENT(expression))

/* A fact: a value about the whole answer. */
#define HU_FACT_GETTER(name, put)                                   \
    static void name(const hu_rank *rank, size_t row, hu_cell *out) \
    {                                                               \
        const hu_digest *d = rank->digest;                          \
                                                                    \
        (void)d;                                                    \
        (void)row;                                                  \
        put;                                                        \
    }

#define HU_FACT(name, expression)        HU_FACT_GETTER(name, HU_PUT_NUMBER(expression))
#define HU_FACT_TEXT(name, expression)   HU_FACT_GETTER(name, HU_PUT_TEXT(expression))
#define HU_FACT_MOMENT(name, expression) HU_FACT_GETTER(name, HU_PUT_MOMENT(expression))

/* Of a table whose rows are ranks: `d` is the digest of this one, `t` its mean step or NULL. */
#define HU_OF_RANK(name, expression)                                \
    static void name(const hu_rank *rank, size_t row, hu_cell *out) \
    {                                                               \
        const hu_digest    *d = rank[row].digest;                   \
        const hu_step_time *t = hu_digest_step_time(d);             \
                                                                    \
        (void)d;                                                    \
        (void)t;                                                    \
        expression;                                                 \
    }

#define HU_ROWS(name, list)                 \
    static size_t name(const hu_rank *rank) \
    {                                       \
        return rank->digest->list.n;        \
    }

static inline double hu_share_pct(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : HU_ABSENT;
}

static inline double hu_mean(double sum, double n)
{
    return n > 0 ? sum / n : HU_ABSENT;
}

/* What happens in the counted steps, for one of them. */
static inline double hu_per_step(const hu_digest *d, int64_t in_steps)
{
    return hu_mean((double)in_steps, (double)hu_digest_step_count(d));
}

static inline bool hu_has_device(const hu_rank *rank)
{
    return rank->digest->gpu_time.n_slices > 0;
}

static inline bool hu_has_no_device(const hu_rank *rank)
{
    return !hu_has_device(rank);
}

#endif
