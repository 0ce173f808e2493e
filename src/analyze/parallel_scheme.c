/* SPDX-License-Identifier: Apache-2.0
 * parallel_scheme.c - one scheme from groups that were judged: their degrees multiply to the ranks of the job, or
 * divide them.
 *
 * Two degrees do not multiply where one group lies within the other: ranks that share a sequence hold the same
 * parameters, so that gradients are reduced over them too.  Stages talk over the group of all ranks when nobody made
 * one for them: then its size is not theirs.  What fits in none of these ways is not decided.
 */
#include <math.h>
#include <stdio.h>

#include "analyze/parallel_work.h"

static bool counts_in_product(hu_parallel_kind kind)
{
    static const bool counted[] = {
#define K(id, key, words, counts) counts,
        HU_PARALLEL_KINDS(K)
#undef K
    };

    return counted[kind];
}

bool hu_parallel_is_zero(hu_parallel_kind kind)
{
    return kind == HU_PARALLEL_ZERO_1 || kind == HU_PARALLEL_ZERO_2;
}

static bool is_data(hu_parallel_kind kind)
{
    return hu_parallel_is_zero(kind) || kind == HU_PARALLEL_DDP || kind == HU_PARALLEL_FULL_SHARD ||
           kind == HU_PARALLEL_GRAD_OP || kind == HU_PARALLEL_HSDP;
}

/* Does a group of the data hold the ranks of one that splits sequences? */
static bool has_larger_data(const hu_parallelism *out, const hu_parallel_group *context)
{
    for (size_t i = 0; i < out->n; i++)
        if (out->at[i].is_main && is_data(out->at[i].kind) && out->at[i].size > 0 && out->at[i].size % context->size == 0)
            return true;
    return false;
}

static bool is_within(const hu_parallelism *out, const hu_parallel_group *g)
{
    return g->kind == HU_PARALLEL_CP && g->size > 0 && has_larger_data(out, g);
}

/* Of the main groups; -1 when a size is unknown.  *known: of those that are known. */
static int64_t multiply(const hu_parallelism *out, bool nested, int64_t *known)
{
    bool all = true;

    *known = 1;
    for (size_t i = 0; i < out->n; i++) {
        const hu_parallel_group *g = &out->at[i];

        if (!g->is_main || !counts_in_product(g->kind) || (nested && is_within(out, g)))
            continue;
        all &= g->size > 0;
        if (g->size > 0 && __builtin_mul_overflow(*known, g->size, known))
            *known = INT64_MAX;
    }
    return all ? *known : -1;
}

static bool fits(const hu_parallelism *out, int64_t known)
{
    return out->world_size <= 0 || (known <= out->world_size && out->world_size % known == 0);
}

/* False: not all degrees can be right. */
static bool find_product(hu_parallelism *out)
{
    int64_t known;

    out->product = multiply(out, false, &known);
    if (fits(out, known))
        return true;
    out->product = multiply(out, true, &known);
    if (fits(out, known))
        return true;
    for (size_t i = 0; i < out->n; i++)
        if (out->at[i].is_main && out->at[i].kind == HU_PARALLEL_PP && out->at[i].size == out->world_size) {
            out->at[i].size = -1;
            out->stages = -1;
            out->ideal_bubble_pct = (double)NAN;
        }
    out->product = multiply(out, true, &known);
    return fits(out, known);
}

/* "FSDP full shard over 8 ranks", "HSDP over 2 × 4 ranks", "TP 2 × PP 2 × DDP 2" */
static bool summarise(hu_parallel_work *w, hu_parallelism *out)
{
    const hu_parallel_group *first = out->n ? &out->at[0] : NULL;
    char                     line[256];
    size_t                   n = 0, mains = 0;

    out->trust = HU_TRUST_HIGH;
    while (mains < out->n && out->at[mains].is_main) {
        out->trust = out->at[mains].trust < out->trust ? out->at[mains].trust : out->trust;
        mains++;
    }
    if (mains == 0) {
        out->trust = HU_TRUST_LOW;
        out->summary = HU_STR("");
        return true;
    }
    if (mains == 1) {
        n = (size_t)snprintf(line, sizeof line, "%s%.*s", hu_parallel_is_zero(first->kind) ? "consistent with " : "",
                             (int)first->words.n, first->words.p);
        if (first->size > 0)
            snprintf(line + n, sizeof line - n, " over %lld ranks", (long long)first->size);
    }
    for (size_t i = 0; mains > 1 && i < mains && n < sizeof line - 80; i++) {
        n += (size_t)snprintf(line + n, sizeof line - n, "%s%.*s", i ? " × " : "", (int)out->at[i].words.n,
                              out->at[i].words.p);
        if (out->at[i].size > 0)
            n += (size_t)snprintf(line + n, sizeof line - n, " %lld", (long long)out->at[i].size);
    }
    out->summary = hu_parallel_text(w, "%s", line);
    return out->summary.p != NULL;
}

bool hu_parallel_scheme_find(hu_parallel_work *w, hu_parallelism *out)
{
    const bool is_possible = find_product(out);

    if (!summarise(w, out))
        return false;
    if (!out->summary.n)
        return true;
    if (!is_possible) {
        out->why_not = hu_parallel_text(w, "not decided: the calls look like %.*s, which does not fit %lld ranks",
                                        (int)out->summary.n, out->summary.p, (long long)out->world_size);
        for (size_t i = 0; i < out->n; i++)
            out->at[i].is_main = false;
        out->summary = HU_STR("");
        out->trust = HU_TRUST_LOW;
        return out->why_not.p != NULL;
    }
    return out->product <= 1 || out->world_size <= 0 || out->product == out->world_size ||
           hu_parallel_say(w, 0, "what the job's other ranks are for was not seen");
}
