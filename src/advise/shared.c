/* SPDX-License-Identifier: Apache-2.0
 * shared.c - effects of edits, recorded while there is a trace (graph/effect.h).
 *
 * All that a gate nominates is kept, also what gains nothing on one rank alone: there the rank would only wait longer for
 * the others, who have the same cause.
 */
#include "advise/shared.h"

#include <math.h>

#include "advise/gates.h"
#include "base/hash.h"
#include "graph/effect.h"

enum { MOST_EFFECTS = HU_RULE_COUNT + HU_WORK_ASKED };

bool hu_is_shared(hu_rule rule)
{
    return rule != HU_RULE_EXPOSED_COMM && rule != HU_RULE_POOR_OVERLAP && rule != HU_RULE_COMM_LATENCY;
}

uint64_t hu_cause_of(hu_rule rule, hu_str name)
{
    return hu_hash_mix(hu_hash_bytes(name.p, name.n), hu_hash_u64((uint64_t)rule + 1)) | 1;
}

static bool is_kept(const hu_graph *g, uint64_t cause)
{
    for (size_t i = 0; i < g->n_effects; i++)
        if (g->effect[i].cause == cause)
            return true;
    return false;
}

/* As if it cost nothing: what is of something by name takes its own factor in both flavours (hu_price_free). */
static hu_edit free_of(const hu_edit *edit)
{
    hu_edit free = *edit;

    if (edit->kind == HU_EDIT_KERNEL)
        return free;
    free.flavour = HU_EDIT_FREE;
    free.factor = INFINITY;
    return free;
}

bool hu_effect_keep(hu_simulation *s, hu_rule rule, const hu_edit *edit, double scatter_pct, bool is_told)
{
    const hu_edit of_free = free_of(edit);
    hu_graph     *g = &s->graph;
    hu_arena     *scratch = hu_arena_new();
    hu_costs     *usual = hu_pricer_costs(s->pricer), *free = scratch ? hu_costs_new(g, scratch) : NULL;
    hu_effect     x = {
            .cause = hu_cause_of(rule, edit->glob), .scatter = scatter_pct, .edit = (uint8_t)edit->kind, .is_told = is_told};
    bool ok;

    if (!g->effect)
        g->effect = hu_arena_calloc(s->arena, MOST_EFFECTS, sizeof *g->effect);
    ok = g->effect && free;
    if (ok && g->n_effects < MOST_EFFECTS && !is_kept(g, x.cause)) {
        hu_edit_apply(hu_pricer_facts(s->pricer), edit, usual);
        hu_edit_apply(hu_pricer_facts(s->pricer), &of_free, free);
        ok = hu_effect_record(g, usual, free, s->arena, &x.changes);
        if (ok && x.changes.n)
            g->effect[g->n_effects++] = x;
    }
    hu_arena_free(scratch);
    return ok;
}

bool hu_effects_keep_work(const hu_scene *c)
{
    const hu_block *asked[HU_WORK_ASKED];
    const size_t    n = hu_work_asked(c, asked);

    for (size_t i = 0; i < n; i++) {
        const hu_edit edit = {.kind = HU_EDIT_WORK,
                              .flavour = HU_EDIT_REALISTIC,
                              .factor = INFINITY,
                              .glob = hu_trace_text(c->s->ask.trace, asked[i]->name)};

        if (!hu_effect_keep(c->s, HU_RULE_HOST_WORK, &edit, 0, false))
            return false;
    }
    return true;
}
