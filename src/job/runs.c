/* SPDX-License-Identifier: Apache-2.0
 * runs.c - traces do not say of which run they are: what tells is where they lie, and that no run has a rank twice. */
#include "job/runs.h"

#include <stdlib.h>
#include <string.h>

#include "advise/say_memory.h"

/* What the ranks of a run have in common. */
typedef struct {
    hu_str folder;
    size_t turn;  /* how often a rank was there before in the folder */
    size_t first; /* of its files, as named */
    hu_run run;
} group;

static hu_str folder_of(hu_str path)
{
    const char *slash = memrchr(path.p, '/', path.n);

    return slash ? (hu_str){path.p, (size_t)(slash - path.p)} : (hu_str){path.p, 0};
}

/* A process that knows of no others, and never communicates. */
static bool is_alone(const hu_digest *d)
{
    return d->info.world_size <= 1 && d->comm.n == 0;
}

/* Are there traces that nothing makes parts of one job?  Without numbers all; else some, and a number is there twice. */
static bool are_apart(const hu_rank *ranks, size_t n)
{
    bool any = false, all = true, is_numbered = false, is_twice = false;

    for (size_t i = 0; i < n; i++) {
        const hu_digest *d = ranks[i].digest;

        if (hu_is_memory_only(d))
            return false;
        any |= is_alone(d);
        all &= is_alone(d);
        is_numbered |= d->info.rank >= 0;
        is_twice |= i && d->info.rank >= 0 && ranks[i - 1].digest->info.rank == d->info.rank;
    }
    return (all && !is_numbered) || (any && is_twice);
}

/* Ranks are sorted, so that those of one number stand together. */
static size_t turn_of(const hu_rank *ranks, size_t i, hu_str folder)
{
    size_t turn = 0;

    for (size_t k = i; k > 0 && ranks[k - 1].digest->info.rank == ranks[i].digest->info.rank; k--)
        turn += hu_str_equal(folder_of(ranks[k - 1].digest->info.file), folder);
    return turn;
}

/* NULL: there are too many. */
static group *find(group *groups, size_t *n, hu_str folder, size_t turn, size_t file)
{
    for (size_t g = 0; g < *n; g++)
        if (groups[g].turn == turn && hu_str_equal(groups[g].folder, folder))
            return &groups[g];
    if (*n == HU_RUNS_MOST)
        return NULL;
    groups[*n] = (group){.folder = folder, .turn = turn, .first = file};
    return &groups[(*n)++];
}

static int by_first(const void *left, const void *right)
{
    const group *a = left, *b = right;

    return (a->first > b->first) - (a->first < b->first);
}

/* How much of all folders is the same, up to a "/". */
static size_t common_bytes(const group *groups, size_t n)
{
    hu_str same = groups[0].folder;

    for (size_t g = 1; g < n; g++) {
        const hu_str folder = groups[g].folder;
        size_t       k = 0;

        while (k < same.n && k < folder.n && same.p[k] == folder.p[k])
            k++;
        if ((k < same.n && same.p[k] != '/') || (k < folder.n && folder.p[k] != '/'))
            while (k && same.p[k - 1] != '/')
                k--;
        same.n = k;
    }
    return same.n;
}

/* The folder, without what all have in common; the file where that says nothing. */
static hu_str name_of(const group *groups, size_t n, size_t g, const hu_rank *ranks)
{
    const size_t common = common_bytes(groups, n);
    hu_str       rest = {groups[g].folder.p + common, groups[g].folder.n - common};
    bool         is_own = true;

    for (size_t k = 0; k < n; k++)
        is_own &= k == g || !hu_str_equal(groups[k].folder, groups[g].folder);
    if (rest.n && *rest.p == '/')
        rest = (hu_str){rest.p + 1, rest.n - 1};
    return is_own && rest.n ? rest : hu_str_base_name(ranks[groups[g].run.ranks[0]].digest->info.file);
}

/* What the run would say if it had been read alone, but for replays of its ranks together. */
static int judge(const hu_rank *ranks, hu_run *run, hu_arena *arena, hu_error *err)
{
    hu_digest   **digests = hu_arena_calloc(arena, run->n, sizeof *digests);
    hu_findings **findings = hu_arena_calloc(arena, run->n, sizeof *findings);

    if (!digests || !findings)
        return hu_fail_memory(err);
    for (size_t i = 0; i < run->n; i++) {
        digests[i] = ranks[run->ranks[i]].digest;
        findings[i] = ranks[run->ranks[i]].findings;
    }
    hu_verdict_measure(digests, findings, run->n, NULL, &run->verdict);
    run->verdict.rank = run->ranks[run->verdict.rank];
    return 0;
}

/* Fills groups with the ranks of each; their number is 0 where there are too many. */
static int divide(const hu_rank *ranks, size_t n, hu_arena *arena, group *groups, size_t *n_groups, hu_error *err)
{
    *n_groups = 0;
    for (size_t i = 0; i < n; i++) {
        const hu_str folder = folder_of(ranks[i].digest->info.file);
        group       *g = find(groups, n_groups, folder, turn_of(ranks, i, folder), ranks[i].file);

        if (!g) {
            *n_groups = 0;
            return 0;
        }
        if (!g->run.ranks && !(g->run.ranks = hu_arena_calloc(arena, n, sizeof *g->run.ranks)))
            return hu_fail_memory(err);
        g->run.ranks[g->run.n++] = i;
        g->first = ranks[i].file < g->first ? ranks[i].file : g->first;
    }
    return 0;
}

int hu_runs_measure(const hu_rank *ranks, size_t n, bool mixes_runs, hu_arena *arena, hu_runs *out, hu_error *err)
{
    group *groups;
    size_t n_groups;

    *out = (hu_runs){0};
    if (n < 2 || !(mixes_runs || are_apart(ranks, n)))
        return 0;
    groups = hu_arena_calloc(arena, HU_RUNS_MOST, sizeof *groups);
    out->at = hu_arena_calloc(arena, HU_RUNS_MOST, sizeof *out->at);
    if (!groups || !out->at)
        return hu_fail_memory(err);
    if (divide(ranks, n, arena, groups, &n_groups, err) < 0)
        return err->code;
    if (n_groups < 2)
        return 0;
    qsort(groups, n_groups, sizeof *groups, by_first);
    for (size_t g = 0; g < n_groups; g++) {
        groups[g].run.name = name_of(groups, n_groups, g, ranks);
        if (judge(ranks, &groups[g].run, arena, err) < 0)
            return err->code;
        out->at[g] = groups[g].run;
    }
    out->n = n_groups;
    return 0;
}
