/* SPDX-License-Identifier: Apache-2.0
 * pipeline_chains.c - who waits for whom in one step of a job with data, tensor and pipeline parallelism.
 *
 * The method is that of "Understanding Stragglers in Large Model Training Using What-if Analysis" (OSDI 2025,
 * arXiv 2505.05713); the graph is drawn for each step from its own rows.  On a worker:
 *
 *     passes of microbatches run one behind the other, as they did;
 *     sends and receives of the pipeline                                   pipeline_peers.c;
 *     gathering of parameters and scattering of gradients are one queue; the last gathering of a chunk's parameters comes
 *     before its first forward pass;
 *     behind the last pass: gc, gradients of norms, of embeddings, [of the rest], clipping, optimizer.
 *
 * Gradients are exchanged behind all passes, or, where the table has separate-grads-all-reduce, while they run: then the
 * first exchange of a chunk waits for its last backward pass, and the separate one stands in their place at the end.
 *
 * Across workers: the members of a stage exchange parameters and gradients, first and last stage the embedding's, and all
 * workers meet in clipping, which needs the norm of all gradients.
 */
#include "graph/pipeline_build.h"

/* Each of a kind behind the one before; returns the last, or `last` when there is none. */
static uint32_t chain_kind(hu_pipeline_work *w, const hu_pipeline_part *part, hu_operation_kind kind, uint32_t last)
{
    for (uint32_t i = 0; i < hu_pipeline_count(part, kind); i++) {
        const uint32_t row = hu_pipeline_list(part, kind)[i];

        if (last != HU_PIPELINE_NONE)
            hu_pipeline_wait_for(w, last, row);
        last = row;
    }
    return last;
}

/* What ends last among passes of a kind and chunk, or of both kinds and any chunk. */
static uint32_t last_pass(const hu_pipeline_work *w, const hu_pipeline_part *part, bool any, int32_t chunk)
{
    uint32_t found = HU_PIPELINE_NONE;

    for (uint32_t i = 0; i < part->n_computes; i++) {
        const hu_operation *o = &w->at[part->computes[i]];

        if (!any && (o->kind != HU_OPERATION_BACKWARD || o->chunk != chunk))
            continue;
        if (found == HU_PIPELINE_NONE || hu_operation_end_ns(o) > hu_operation_end_ns(&w->at[found]))
            found = part->computes[i];
    }
    return found;
}

static uint32_t first_forward(const hu_pipeline_work *w, const hu_pipeline_part *part, int32_t chunk)
{
    const uint32_t *rows = hu_pipeline_list(part, HU_OPERATION_FORWARD);
    const uint32_t  n = hu_pipeline_count(part, HU_OPERATION_FORWARD);

    for (uint32_t i = 0; i < n; i++)
        if (w->at[rows[i]].chunk == chunk)
            return rows[i];
    return n ? rows[0] : HU_PIPELINE_NONE;
}

/* Nobody asked for this chunk before; chunk -1 counts as one. */
static bool is_new_chunk(bool seen[HU_OPERATIONS_CHUNKS + 1], int32_t chunk)
{
    const bool is_new = !seen[chunk + 1];

    seen[chunk + 1] = true;
    return is_new;
}

static void chain_dp(hu_pipeline_work *w, const hu_pipeline_part *part)
{
    bool     gathered[HU_OPERATIONS_CHUNKS + 1] = {false}, scattered[HU_OPERATIONS_CHUNKS + 1] = {false};
    uint32_t last = HU_PIPELINE_NONE;

    for (uint32_t i = part->first; i < part->first + part->n; i++) {
        if (w->at[i].kind != HU_OPERATION_PARAMS && w->at[i].kind != HU_OPERATION_GRADS)
            continue;
        if (last != HU_PIPELINE_NONE)
            hu_pipeline_wait_for(w, last, i);
        last = i;
    }
    for (uint32_t i = hu_pipeline_count(part, HU_OPERATION_PARAMS); i-- > 0;) {
        const uint32_t row = hu_pipeline_list(part, HU_OPERATION_PARAMS)[i];
        const uint32_t pass = is_new_chunk(gathered, w->at[row].chunk) ? first_forward(w, part, w->at[row].chunk)
                                                                       : HU_PIPELINE_NONE;

        if (pass != HU_PIPELINE_NONE)
            hu_pipeline_wait_for(w, row, pass);
    }
    for (uint32_t i = 0; w->p->overlaps_grads && i < hu_pipeline_count(part, HU_OPERATION_GRADS); i++) {
        const uint32_t row = hu_pipeline_list(part, HU_OPERATION_GRADS)[i];
        const uint32_t pass = is_new_chunk(scattered, w->at[row].chunk) ? last_pass(w, part, false, w->at[row].chunk)
                                                                        : HU_PIPELINE_NONE;

        if (pass != HU_PIPELINE_NONE)
            hu_pipeline_wait_for(w, pass, row);
    }
}

/* Behind the last pass. */
static void chain_end(hu_pipeline_work *w, const hu_pipeline_part *part)
{
    uint32_t last = chain_kind(w, part, HU_OPERATION_GC, last_pass(w, part, true, 0));
    uint32_t first_of_end;

    first_of_end = (uint32_t)w->waits.n;
    last = chain_kind(w, part, HU_OPERATION_NORM_GRADS, last);
    last = chain_kind(w, part, HU_OPERATION_EMBEDDING_GRADS, last);
    last = chain_kind(w, part, w->p->overlaps_grads ? HU_OPERATION_SEPARATE_GRADS : HU_OPERATION_GRADS, last);
    last = chain_kind(w, part, HU_OPERATION_CLIP, last);
    chain_kind(w, part, HU_OPERATION_OPTIMIZER, last);
    if (w->p->overlaps_grads && hu_pipeline_count(part, HU_OPERATION_GRADS) && first_of_end < w->waits.n)
        hu_pipeline_wait_for(w, hu_pipeline_list(part, HU_OPERATION_GRADS)[hu_pipeline_count(part, HU_OPERATION_GRADS) - 1],
                             w->waits.at[first_of_end].to);
}

static void chain_part(hu_pipeline_work *w, const hu_pipeline_part *part)
{
    for (uint32_t i = 1; i < part->n_computes; i++)
        hu_pipeline_wait_for(w, part->computes[i - 1], part->computes[i]);
    if (w->p->has_dp)
        chain_dp(w, part);
    chain_end(w, part);
}

/* Which meeting an operation goes to, or 0 for none: equal keys meet. */
static uint64_t meeting(const hu_pipeline *p, const hu_operation *o, uint32_t ordinal)
{
    const uint64_t sequence = o->sequence >= 0 ? (uint32_t)o->sequence : ordinal;
    uint64_t       who;

    switch (o->kind) {
    case HU_OPERATION_PARAMS:
    case HU_OPERATION_GRADS:
    case HU_OPERATION_SEPARATE_GRADS:
        if (!p->has_dp)
            return 0;
        who = o->stage;
        break;
    case HU_OPERATION_EMBEDDING_GRADS:
        who = o->dp;
        break;
    case HU_OPERATION_CLIP:
        who = 0;
        break;
    default:
        return 0;
    }
    return (uint64_t)(o->kind + 1) << 56 | who << 32 | sequence;
}

static void meet(hu_pipeline_work *w)
{
    hu_map map;

    if (!hu_map_init(&map, w->arena, w->parts.n * 8)) {
        w->is_short = true;
        return;
    }
    for (size_t i = 0; i < w->parts.n; i++) {
        for (hu_operation_kind k = 0; k < HU_OPERATION_COUNT; k++) {
            for (uint32_t j = 0; j < hu_pipeline_count(&w->parts.at[i], k); j++) {
                const uint32_t row = hu_pipeline_list(&w->parts.at[i], k)[j];
                const uint64_t key = meeting(w->p, &w->at[row], j);
                uint32_t      *place = key ? hu_map_put(&map, key) : NULL;

                if (!key)
                    break;
                if (!place)
                    w->is_short = true;
                else if (*place == HU_MAP_NONE)
                    *place = row;
                else
                    w->meets.at[row] = *place;
            }
        }
    }
    hu_map_drop(&map);
}

void hu_pipeline_chains(hu_pipeline_work *w)
{
    for (size_t i = 0; i < w->parts.n && !w->is_short; i++)
        chain_part(w, &w->parts.at[i]);
    meet(w);
}
