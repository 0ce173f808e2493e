/* SPDX-License-Identifier: Apache-2.0
 * absent.c - a group is complete when as many ranks of it were read as it has. */
#include "across/absent.h"

#include "base/map.h"

typedef struct {
    uint32_t ranks, last; /* that were read, and the last digest among them */
} group;

typedef struct {
    hu_arena *scratch;
    hu_map    place; /* of a group in `at` */
    HU_VEC(group) at;
} work;

static bool count_rank(work *w, const hu_comm *comm, uint32_t digest)
{
    for (size_t i = 0; i < comm->n_calls_at; i++) {
        uint32_t *place = hu_map_put(&w->place, comm->calls_at[i].group);

        if (!place)
            return false;
        if (*place == HU_MAP_NONE) {
            *place = (uint32_t)w->at.n;
            if (!hu_vec_push(w->scratch, &w->at, ((group){0, HU_NONE})))
                return false;
        }
        if (w->at.at[*place].last != digest)
            w->at.at[*place] = (group){w->at.at[*place].ranks + 1, digest};
    }
    return true;
}

static bool has_rank(hu_digest *const *digests, size_t n, int64_t rank)
{
    for (size_t i = 0; i < n; i++)
        if (hu_digest_rank_of(digests, i) == rank)
            return true;
    return false;
}

/* Do others take part in a call, whose traces were not read? */
static bool is_with_others(const work *w, hu_digest *const *digests, size_t n, size_t digest, const hu_comm_call *c)
{
    const hu_digest *d = digests[digest];
    const int64_t    size = d->comm.at[c->row].group_size;

    if (hu_comm_is_message(c->kind))
        return c->peer >= 0 ? !has_rank(digests, n, c->peer) : d->info.world_size > (int64_t)n;
    return size > 0 ? size > (int64_t)w->at.at[hu_map_get(&w->place, c->group)].ranks : d->info.world_size > (int64_t)n;
}

static bool measure(work *w, hu_digest *const *digests, size_t n, double *share)
{
    double with_others = 0, all = 0;

    for (size_t i = 0; i < n; i++)
        if (!count_rank(w, &digests[i]->comm, (uint32_t)i))
            return false;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < digests[i]->comm.n_calls_at; k++) {
            const hu_comm_call *c = &digests[i]->comm.calls_at[k];

            all += (double)c->dur_ns;
            with_others += is_with_others(w, digests, n, i, c) ? (double)c->dur_ns : 0;
        }
    *share = all > 0 ? with_others / all : 0;
    return true;
}

int hu_absent_measure(hu_digest *const *digests, size_t n, double *share, hu_error *err)
{
    work w = {.scratch = hu_arena_new()};
    bool ok;

    *share = 0;
    ok = w.scratch && hu_map_init(&w.place, w.scratch, 16) && measure(&w, digests, n, share);
    hu_arena_free(w.scratch);
    return ok ? 0 : hu_fail_memory(err);
}
