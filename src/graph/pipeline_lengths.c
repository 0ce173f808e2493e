/* SPDX-License-Identifier: Apache-2.0
 * pipeline_lengths.c - forward and backward time of the same microbatch, beside each other.
 *
 * A job whose microbatches differ in length is slow on all workers in turn.  It shows in passes of the same microbatch,
 * which are long together in both directions; a machine that is disturbed is slow in one of them.  Deviations are from the
 * mean of the worker and chunk, so that a slow worker does not count.
 */
#include "graph/pipeline_lengths.h"

#include <math.h>

static uint64_t key_of(uint32_t worker, int32_t chunk)
{
    return (uint64_t)worker << 32 | (uint32_t)(chunk + 1);
}

static hu_pipeline_place *place_of(hu_pipeline_lengths *l, uint32_t worker, int32_t chunk)
{
    uint32_t *at = hu_map_put(&l->of, key_of(worker, chunk));

    if (!at)
        return NULL;
    if (*at == HU_MAP_NONE) {
        if (!hu_vec_push(l->arena, &l->places, (hu_pipeline_place){0}))
            return NULL;
        *at = (uint32_t)l->places.n - 1;
    }
    return &l->places.at[*at];
}

/* Worker, chunk and microbatch in one number; two that share it would spoil a correlation and nothing else. */
static uint64_t pass_key(uint32_t worker, const hu_operation *o)
{
    return hu_hash_mix(key_of(worker, o->chunk) + 1, (uint64_t)(uint32_t)o->microbatch + 0x9e3779b97f4a7c15u);
}

static bool add_step(hu_pipeline_lengths *l, const hu_pipeline_step *s, hu_arena *scratch)
{
    hu_map forward;

    if (!hu_map_init(&forward, scratch, s->n / 4 + 1))
        return false;
    for (uint32_t i = 0; i < s->n; i++) {
        const hu_operation *o = &l->p->table->at[s->row[i]];

        if (o->kind == HU_OPERATION_FORWARD && o->microbatch >= 0) {
            uint32_t *at = hu_map_put(&forward, pass_key(s->worker[i], o));

            if (!at)
                return false;
            *at = i;
        }
    }
    for (uint32_t i = 0; i < s->n; i++) {
        const hu_operation *o = &l->p->table->at[s->row[i]];
        hu_pipeline_place  *place;
        uint32_t            at;
        double              x, y;

        if (o->kind != HU_OPERATION_BACKWARD || o->microbatch < 0 ||
            (at = hu_map_get(&forward, pass_key(s->worker[i], o))) == HU_MAP_NONE)
            continue;
        if (!(place = place_of(l, s->worker[i], o->chunk)))
            return false;
        x = s->cost_ns[at];
        y = s->cost_ns[i];
        *place = (hu_pipeline_place){place->n + 1,      place->x + x,      place->y + y,
                                     place->xx + x * x, place->yy + y * y, place->xy + x * y};
    }
    return true;
}

bool hu_pipeline_lengths_measure(const hu_pipeline *p, const size_t *kept, size_t n, hu_arena *arena,
                                 hu_pipeline_lengths *out)
{
    double xx = 0, yy = 0, xy = 0;

    *out = (hu_pipeline_lengths){.p = p, .arena = arena, .correlation = NAN, .deviation_ns = NAN};
    if (!hu_map_init(&out->of, arena, p->n_workers))
        return false;
    for (size_t k = 0; k < n; k++) {
        hu_arena  *scratch = hu_arena_new();
        const bool good = scratch && add_step(out, &p->steps[kept[k]], scratch);

        hu_arena_free(scratch);
        if (!good)
            return false;
    }
    for (size_t i = 0; i < out->places.n; i++) {
        const hu_pipeline_place *a = &out->places.at[i];

        out->n += a->n;
        xx += a->xx - a->x * a->x / a->n;
        yy += a->yy - a->y * a->y / a->n;
        xy += a->xy - a->x * a->y / a->n;
    }
    if (out->n > 2)
        out->deviation_ns = sqrt(fmax(0, xx) / out->n);
    if (out->n > 2 && xx > 0 && yy > 0)
        out->correlation = xy / sqrt(xx * yy);
    return true;
}

double hu_pipeline_level_ns(const hu_pipeline_lengths *l, const hu_pipeline_step *s, uint32_t i)
{
    const hu_operation      *o = &l->p->table->at[s->row[i]];
    const hu_pipeline_place *place;
    uint32_t                 at;

    if ((o->kind != HU_OPERATION_FORWARD && o->kind != HU_OPERATION_BACKWARD) ||
        (at = hu_map_get(&l->of, key_of(s->worker[i], o->chunk))) == HU_MAP_NONE)
        return s->cost_ns[i];
    place = &l->places.at[at];
    return (o->kind == HU_OPERATION_FORWARD ? place->x : place->y) / place->n;
}
