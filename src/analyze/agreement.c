/* SPDX-License-Identifier: Apache-2.0
 * agreement.c - the ranks of a job have one scheme of parallelism: what most of them show, or what holds all that they show.
 *
 * Stages of a pipeline need not show the same: experts, or groups of the data, may be those of some stages alone.  So where
 * no more than half say one thing, a scheme counts that several ranks show and that has the parts of all others.
 */
#include <stdio.h>

#include "analyze/digest.h"

enum { MOST_SCHEMES = 16 }; /* told apart; more than these are no agreement */

typedef struct {
    const hu_parallelism *said;
    size_t                n;
} scheme;

typedef struct {
    scheme at[MOST_SCHEMES];
    size_t n, speak;
} schemes;

static void count(schemes *all, const hu_parallelism *p)
{
    size_t i = 0;

    if (!p->summary.n)
        return;
    all->speak++;
    while (i < all->n && !hu_str_equal(all->at[i].said->summary, p->summary))
        i++;
    if (i == MOST_SCHEMES)
        return;
    if (i == all->n)
        all->at[all->n++].said = p;
    all->at[i].n++;
}

static bool has_part(const hu_parallelism *whole, const hu_parallel_group *part)
{
    for (size_t i = 0; i < whole->n; i++)
        if (whole->at[i].is_main && whole->at[i].kind == part->kind && whole->at[i].size == part->size)
            return true;
    return false;
}

/* Has the one scheme all parts of the other? */
static bool holds(const hu_parallelism *whole, const hu_parallelism *p)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->at[i].is_main && !has_part(whole, &p->at[i]))
            return false;
    return p->n > 0;
}

static bool holds_all(const schemes *all, size_t which)
{
    if (all->at[which].n < 2)
        return false;
    for (size_t i = 0; i < all->n; i++)
        if (!holds(all->at[which].said, all->at[i].said))
            return false;
    return true;
}

void hu_digest_agree(hu_digest *const *digests, size_t n, hu_agreement *out)
{
    schemes all = {0};
    size_t  most = 0;

    *out = (hu_agreement){0};
    for (size_t i = 0; i < n; i++)
        count(&all, &digests[i]->parallelism);
    for (size_t i = 0; i < all.n; i++)
        most = all.at[i].n > all.at[most].n ? i : most;
    for (size_t i = 0; i < all.n && !out->said; i++)
        if (2 * all.at[most].n > all.speak ? i == most : holds_all(&all, i)) {
            out->said = all.at[i].said;
            most = i;
        }
    out->silent = n - all.speak;
    for (size_t i = 0; i < n; i++) {
        const hu_parallelism *p = &digests[i]->parallelism;

        out->agree += p->summary.n &&
                      (hu_str_equal(p->summary, all.at[most].said->summary) || (out->said && holds(out->said, p)));
    }
    out->differ = all.speak - out->agree;
    if (!out->said && all.n > 1)
        snprintf(out->why_not, sizeof out->why_not, "not decided: ranks of one job look like %.*s, %.*s%s",
                 (int)all.at[0].said->summary.n, all.at[0].said->summary.p, (int)all.at[1].said->summary.n,
                 all.at[1].said->summary.p, all.n > 2 ? " and others" : "");
}

static bool withdraw(hu_digest *d, const hu_agreement *agreed)
{
    hu_parallelism *p = &d->parallelism;
    char            line[640];

    snprintf(line, sizeof line, "not decided: this rank alone looks like %.*s, the job like %.*s", (int)p->summary.n,
             p->summary.p, agreed->said ? (int)agreed->said->summary.n : 11,
             agreed->said ? agreed->said->summary.p : "no one scheme");
    p->why_not = hu_arena_copy(d->arena, hu_str_of(line));
    p->summary = HU_STR("");
    p->trust = HU_TRUST_LOW;
    for (size_t i = 0; i < p->n; i++)
        p->at[i].is_main = false;
    return p->why_not.p != NULL;
}

bool hu_digest_settle(hu_digest *const *digests, size_t n, const hu_agreement *agreed)
{
    for (size_t i = 0; i < n; i++) {
        const hu_parallelism *p = &digests[i]->parallelism;

        if (!p->summary.n ||
            (agreed->said ? p == agreed->said || hu_str_equal(p->summary, agreed->said->summary) || holds(agreed->said, p)
                          : !agreed->why_not[0]))
            continue;
        if (!withdraw(digests[i], agreed))
            return false;
    }
    return true;
}
