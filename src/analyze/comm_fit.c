/* SPDX-License-Identifier: Apache-2.0
 * comm_fit.c - time = alpha + S f / beta for collectives that can be compared: of one kind, group size and sort of link.
 *
 * S and f are those of comm.c, so that 1 / slope is a bus bandwidth.  A size counts by the square root of its calls: many
 * repetitions make its shortest time more certain, but not in proportion.  S_half = alpha beta / f is the size whose bytes
 * take as long as its latency: what is smaller is bound by latency, what is larger by bandwidth.
 */
#include "analyze/comm_fit.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_FITS = 256 }; /* kinds and group sizes; no job has as many */

typedef struct {
    const hu_comm_size *size;
    size_t              number;
} member;

static int by_class(const void *left, const void *right)
{
    const member       *x = left, *y = right;
    const hu_comm_size *a = x->size, *b = y->size;

    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->group_size != b->group_size)
        return a->group_size < b->group_size ? -1 : 1;
    if (a->link != b->link)
        return a->link < b->link ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static bool is_alike(const hu_comm_size *a, const hu_comm_size *b)
{
    return a->kind == b->kind && a->group_size == b->group_size && a->link == b->link;
}

static bool has_line(const hu_comm_size *s)
{
    return s->kind != HU_COMM_OTHER && s->bytes > 0 && s->factor > 0 && s->least_ns > 0 && s->calls > 0;
}

static void judge(hu_comm_size *s, const hu_fit *fit)
{
    const double        wire = (double)s->bytes * s->factor;
    const hu_fit_piece *p = hu_fit_piece_at(fit, wire);

    if (!p)
        return;
    s->bound = p->alpha_ns >= wire * p->ns_per_byte ? HU_COMM_BY_LATENCY : HU_COMM_BY_BANDWIDTH;
    if (p->ns_per_byte > 0)
        s->share = wire * fit->at[fit->n - 1].ns_per_byte / s->least_ns;
}

bool hu_comm_fit_sizes(hu_comm_size *sizes, size_t n, hu_arena *arena, hu_arena *scratch, hu_comm_fit **fits, size_t *n_fits)
{
    HU_VEC(hu_comm_fit) list = {0};
    member       *order = hu_arena_alloc(scratch, (n + 1) * sizeof *order);
    hu_fit_point *points = hu_arena_alloc(scratch, (n + 1) * sizeof *points);

    if (!order || !points)
        return false;
    for (size_t i = 0; i < n; i++) {
        order[i] = (member){&sizes[i], i};
        sizes[i].bound = HU_COMM_BY_UNKNOWN;
        sizes[i].share = (double)NAN;
    }
    if (n)
        qsort(order, n, sizeof *order, by_class);
    for (size_t first = 0, end; first < n && list.n < MOST_FITS; first = end) {
        const hu_comm_size *one = order[first].size;
        hu_comm_fit         fit = {.kind = one->kind, .group_size = one->group_size, .link = one->link};
        size_t              count = 0;

        for (end = first; end < n && is_alike(one, order[end].size); end++) {
            const hu_comm_size *s = order[end].size;

            if (has_line(s))
                points[count++] = (hu_fit_point){(double)s->bytes * s->factor, s->least_ns, sqrt((double)s->calls)};
        }
        if (!hu_fit_measure(points, count, scratch, &fit.fit))
            return false;
        if (fit.fit.n == 0)
            continue;
        for (size_t i = first; i < end; i++)
            if (has_line(order[i].size))
                judge(&sizes[order[i].number], &fit.fit);
        if (!hu_vec_push(arena, &list, fit))
            return false;
    }
    *fits = list.at;
    *n_fits = list.n;
    return true;
}

double hu_comm_factor(hu_comm_kind kind, int64_t group_size)
{
    const double n = (double)group_size, part = n > 0 ? (n - 1) / n : (double)NAN;

    switch (kind) {
    case HU_COMM_ALL_REDUCE:
        return 2 * part;
    case HU_COMM_ALL_GATHER:
    case HU_COMM_REDUCE_SCATTER:
    case HU_COMM_ALL_TO_ALL:
        return part;
    default:
        return 1;
    }
}

double hu_comm_fit_bytes(const hu_comm_fit *fit, double wire)
{
    const double factor = hu_comm_factor(fit->kind, fit->group_size);

    return factor > 0 ? wire / factor : (double)NAN;
}

double hu_comm_half_bytes(const hu_comm_fit *fit, const hu_fit_piece *piece)
{
    return piece->alpha_ns > 0 && piece->ns_per_byte > 0 ? hu_comm_fit_bytes(fit, piece->alpha_ns / piece->ns_per_byte)
                                                         : (double)NAN;
}
