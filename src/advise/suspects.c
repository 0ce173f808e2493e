/* SPDX-License-Identifier: Apache-2.0
 * suspects.c - which part of the job to name first.
 *
 * A suspect explains at least half of what is lost.  Several do at once: a slow worker makes its stage and its dp rank slow
 * too.  Named first is the narrowest that explains nearly as much as the best of them, because it says where to look; a
 * type of operation says least, and comes last.
 *
 * A stage that is ideal has no long microbatches either, so beside lengths it would be favoured.  Where lengths differ a
 * stage weighs only as much as balancing the stages alone would win, and where that is less than what lengths alone would
 * win these are named, half or not: neither fixes everything without the other.
 */
#include "advise/slowdown.h"

#include <math.h>

static const double MOST_OF_IT = 0.5; /* explained: that is to blame */
static const double AS_GOOD = 0.9;    /* of what the best explanation explains: the narrower one is named first */
static const double TOGETHER = 0.9;   /* correlation of forward and backward time: lengths differ */
static const double VARIED = 0.05;    /* and this much deviation at least */

/* The part of a list that explains most; NULL when it has a single one, which cannot be told from the whole. */
static const hu_slowdown_part *most_of(const hu_slowdown_parts *parts)
{
    const hu_slowdown_part *best = NULL;

    for (size_t i = 0; parts->n > 1 && i < parts->n; i++)
        if (!isnan(parts->at[i].explained) && (!best || parts->at[i].explained > best->explained))
            best = &parts->at[i];
    return best;
}

/* The fewest of several slow workers that explain nearly as much as the most of them. */
static hu_suspect some_workers(const hu_slowdown *s)
{
    hu_suspect x = {.blame = HU_BLAME_WORKERS, .explained = NAN};

    for (size_t i = s->n_ladder; i-- > 0;)
        if (isnan(x.explained) || s->ladder[i].explained >= AS_GOOD * x.explained)
            x = (hu_suspect){HU_BLAME_WORKERS,      NULL, s->ladder[i].count, s->ladder[i].fixed_ns, s->ladder[i].explained,
                             s->ladder[i].explained};
    return x;
}

static hu_suspect suspect_of(hu_blame blame, const hu_slowdown_parts *parts)
{
    const hu_slowdown_part *x = most_of(parts);

    return (hu_suspect){
        blame, x, 1, x ? x->fixed_ns : (double)NAN, x ? x->explained : (double)NAN, x ? x->explained : (double)NAN};
}

/* Is it one, beside those before it? */
static bool is_suspect(const hu_slowdown *s, const hu_suspect *x, const hu_suspect *before, size_t n)
{
    const bool beats_stages = x->blame == HU_BLAME_LENGTHS && x->weight > s->balanced_explained;

    if (x->blame == HU_BLAME_WORKERS && n > 0 && x->explained < before[0].explained / AS_GOOD)
        return false; /* more workers that add nothing to the one */
    for (size_t i = 0; i < n; i++)
        if (beats_stages && before[i].blame == HU_BLAME_STAGE)
            return true;
    return x->explained >= MOST_OF_IT;
}

size_t hu_slowdown_suspects(const hu_slowdown *s, hu_suspect out[HU_SUSPECTS])
{
    const bool   vary = s->correlation >= TOGETHER && s->variation >= VARIED;
    const double levelled = vary ? s->levelled_explained : (double)NAN;
    hu_suspect   all[HU_SUSPECTS] = {
          suspect_of(HU_BLAME_WORKER, &s->workers),
          some_workers(s),
          suspect_of(HU_BLAME_STAGE, &s->stages),
          suspect_of(HU_BLAME_DP_RANK, &s->dp_ranks),
          {HU_BLAME_LENGTHS, NULL, 0, s->levelled_ns, levelled, levelled},
          suspect_of(HU_BLAME_TYPE, &s->types),
    };
    size_t n = 0, first = 0;
    double most = 0;

    if (!(s->slowdown >= HU_SLOWDOWN_LEAST))
        return 0;
    for (size_t i = 0; i < HU_SUSPECTS; i++) {
        if (all[i].blame == HU_BLAME_STAGE && vary && all[i].weight > s->balanced_explained)
            all[i].weight = s->balanced_explained;
        if (!is_suspect(s, &all[i], out, n))
            continue;
        if (all[i].blame != HU_BLAME_TYPE && all[i].weight > most)
            most = all[i].weight;
        out[n++] = all[i];
    }
    while (first < n && out[first].weight < AS_GOOD * most)
        first++;
    if (first > 0 && first < n) { /* to the front, the others stay in order */
        const hu_suspect best = out[first];

        memmove(&out[1], &out[0], first * sizeof out[0]);
        out[0] = best;
    }
    return n;
}
