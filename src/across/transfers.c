/* SPDX-License-Identifier: Apache-2.0
 * transfers.c - the transfer time of a collective is the shortest that any of its ranks was in it: that rank came last and
 * waited for nobody.  It still is an upper bound, for that rank too may have been slowed down; so of many repetitions the
 * 10th percentile is taken, which is robust against both ends.
 *
 *     tau = p10 over repetitions of (min over ranks of dur)      algorithm bandwidth S / tau      bus bandwidth f S / tau
 *
 * S and f are those of nccl-tests, see comm.c.
 */
#include "across/transfers.h"

#include <math.h>
#include <stdlib.h>

#include "base/sort.h"

hu_comm_link hu_transfers_link(const hu_digest *a, const hu_digest *b)
{
    if (!a->info.host.n || !b->info.host.n)
        return HU_LINK_UNKNOWN;
    return hu_str_equal(a->info.host, b->info.host) ? HU_LINK_HOST : HU_LINK_NETWORK;
}

static hu_comm_link link_of(const hu_meetings *m, const hu_meeting *meeting)
{
    const hu_member *who = &m->members.at[meeting->first];
    hu_comm_link     link = HU_LINK_HOST;

    for (uint32_t i = 0; i < meeting->n && link != HU_LINK_UNKNOWN; i++) {
        const hu_comm_link one = hu_transfers_link(m->digests[who[0].digest], m->digests[who[i].digest]);

        link = one == HU_LINK_HOST ? link : one;
    }
    return link;
}

bool hu_transfers_collect(const hu_meetings *m, hu_arena *scratch, hu_transfer_samples *into)
{
    for (size_t i = 0, end; i < m->list.n; i = end) {
        const hu_comm_link link = link_of(m, &m->list.at[i]);

        for (end = hu_meetings_next_group(m, i); i < end; i++) {
            const hu_meeting    *one = &m->list.at[i];
            const hu_member      who = m->members.at[one->first];
            const hu_collective *what = &m->digests[who.digest]->comm.at[hu_meetings_call(m, who)->row];

            if (one->synchronises &&
                !hu_vec_push(scratch, &into->at, ((hu_transfer_sample){what, link, what->group_size, one->least_ns})))
                return false;
        }
    }
    return true;
}

static int by_kind_of(const hu_transfer_sample *a, const hu_transfer_sample *b)
{
    int c;

    if (a->what->bytes != b->what->bytes)
        return a->what->bytes < b->what->bytes ? -1 : 1;
    if (a->group_size != b->group_size)
        return a->group_size < b->group_size ? -1 : 1;
    if (a->link != b->link)
        return a->link < b->link ? -1 : 1;
    c = hu_str_compare(a->what->name, b->what->name);
    return c ? c : hu_str_compare(a->what->dtype, b->what->dtype);
}

static int by_kind(const void *left, const void *right)
{
    const hu_transfer_sample *a = left, *b = right;
    const int                 c = by_kind_of(a, b);

    return c ? c : (a->least_ns > b->least_ns) - (a->least_ns < b->least_ns);
}

static int by_total(const void *left, const void *right)
{
    const hu_transfer *a = left, *b = right;
    int                c;

    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    c = hu_str_compare(a->name, b->name);
    if (c || a->size.bytes != b->size.bytes)
        return c ? c : a->size.bytes < b->size.bytes ? -1 : 1;
    c = hu_str_compare(a->dtype, b->dtype);
    if (c || a->size.group_size != b->size.group_size)
        return c ? c : a->size.group_size < b->size.group_size ? -1 : 1;
    return (int)a->size.link - (int)b->size.link;
}

/* Samples of one size, the shortest first. */
static hu_transfer transfer_of(const hu_transfer_sample *s, size_t n, int64_t *values)
{
    const hu_collective *c = s->what;
    hu_transfer          t = {.name = c->name, .dtype = c->dtype};

    for (size_t i = 0; i < n; i++) {
        values[i] = s[i].least_ns;
        t.total_ns += s[i].least_ns;
    }
    t.median_ns = llround(hu_stats_quantile(values, n, 0.5));
    t.size = (hu_comm_size){.kind = hu_comm_is_message(c->kind) ? HU_COMM_SEND : c->kind,
                            .link = s->link,
                            .bytes = c->bytes,
                            .group_size = s->group_size,
                            .factor = hu_comm_is_message(c->kind) ? 1 : c->factor,
                            .calls = (int64_t)n,
                            .least_ns = hu_stats_quantile(values, n, 0.1)};
    return t;
}

/* Fits look at the sizes; what they find goes back to each. */
static bool fit(hu_transfers *t, hu_arena *arena, hu_arena *scratch)
{
    hu_comm_size *sizes = hu_arena_calloc(scratch, t->n + 1, sizeof *sizes);

    if (!sizes)
        return false;
    for (size_t i = 0; i < t->n; i++)
        sizes[i] = t->at[i].size;
    if (!hu_comm_fit_sizes(sizes, t->n, arena, scratch, &t->fits, &t->n_fits))
        return false;
    for (size_t i = 0; i < t->n; i++) {
        t->at[i].size = sizes[i];
        t->n_latency += sizes[i].bound == HU_COMM_BY_LATENCY ? (size_t)sizes[i].calls : 0;
        t->n_bandwidth += sizes[i].bound == HU_COMM_BY_BANDWIDTH ? (size_t)sizes[i].calls : 0;
    }
    return true;
}

bool hu_transfers_measure(hu_transfer_samples *samples, hu_arena *arena, hu_arena *scratch, hu_transfers *out)
{
    const size_t n = samples->at.n;
    HU_VEC(hu_transfer) list = {0};
    int64_t *values = hu_arena_alloc(scratch, (n + 1) * sizeof *values);

    *out = (hu_transfers){0};
    if (!values)
        return false;
    if (n)
        qsort(samples->at.at, n, sizeof *samples->at.at, by_kind);
    for (size_t first = 0, end; first < n; first = end) {
        const hu_transfer_sample *s = &samples->at.at[first];

        for (end = first + 1; end < n && by_kind_of(s, &samples->at.at[end]) == 0;)
            end++;
        if (!hu_vec_push(arena, &list, transfer_of(s, end - first, values)))
            return false;
    }
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, by_total);
    out->at = list.at;
    out->n = list.n;
    return fit(out, arena, scratch);
}

double hu_transfer_alg_gbps(const hu_transfer *t)
{
    return t->size.bytes > 0 && t->size.least_ns > 0 ? (double)t->size.bytes / t->size.least_ns : (double)NAN;
}

double hu_transfer_bus_gbps(const hu_transfer *t)
{
    return hu_transfer_alg_gbps(t) * t->size.factor;
}
