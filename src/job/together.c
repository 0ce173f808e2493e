/* SPDX-License-Identifier: Apache-2.0
 * together.c - reads all ranks, finds where they meet, and joins their graphs. */
#include "job/together.h"

#include <stdio.h>

#include "base/thread.h"

typedef struct {
    const hu_together_options *options;
    hu_together               *all;
    hu_error                  *errors;
} work;

static void simulate(void *context, size_t i)
{
    const work *w = context;

    w->all->simulations[i] = hu_simulation_new(w->all->job.ranks[i].trace, &w->options->steps, &w->options->graph,
                                               &w->errors[i]);
    if (!w->all->simulations[i] && !w->errors[i].file[0])
        snprintf(w->errors[i].file, sizeof w->errors[i].file, "%s", w->all->job.digests[i]->info.file.p);
}

/* Why all of them cannot be replayed together. */
static int fail_parked(const hu_together *all, hu_error *err)
{
    size_t           n;
    const hu_parked *parked = hu_joint_parked(all->joint, &n);
    const hu_job    *job = &all->job;

    if (n)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                       "the ranks enter their collectives in different orders: rank %lld waits in one that rank %lld "
                       "never enters; pass one trace at a time, such as %.*s",
                       (long long)hu_digest_rank_of(job->digests, parked[0].waits),
                       (long long)hu_digest_rank_of(job->digests, parked[0].missing), HU_FMT(job->digests[0]->info.file));
    if (hu_joint_count(all->joint) == 0)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                       "no collective and no message is common to its ranks; pass one trace at a time, such as %.*s",
                       HU_FMT(job->digests[0]->info.file));
    return 0;
}

static int join(hu_together *all, hu_arena *arena, hu_error *err)
{
    const size_t          n = all->job.n;
    hu_joint_rank        *ranks = hu_arena_calloc(arena, n, sizeof *ranks);
    const hu_edit_facts **facts = hu_arena_calloc(arena, n, sizeof *facts);
    const hu_graph      **graphs = hu_arena_calloc(arena, n, sizeof *graphs);

    if (!ranks || !facts || !graphs)
        return hu_fail_memory(err);
    for (size_t i = 0; i < n; i++) {
        graphs[i] = &all->simulations[i]->graph;
        facts[i] = hu_pricer_facts(all->simulations[i]->pricer);
    }
    hu_joint_replay_list(graphs, all->job.digests, n, all->job.rendezvous, ranks, NULL);
    all->joint = hu_joint_new(ranks, n, arena, err);
    if (!all->joint || fail_parked(all, err) < 0)
        return err->code;
    all->pricer = hu_joint_pricer_new(all->joint, ranks, facts, n, all->job.rendezvous->transfers.fits,
                                      all->job.rendezvous->transfers.n_fits, arena);
    all->pricers = all->pricer ? hu_joint_pricers_new(all->pricer, 1, arena) : NULL;
    return all->pricers ? 0 : hu_fail_memory(err);
}

int hu_together_read(const hu_inputs *inputs, const hu_together_options *options, hu_arena *arena, hu_together *out,
                     hu_error *err)
{
    const hu_job_options how = {
        .limits = options->limits, .progress = options->progress, .keeps_traces = true, .digest = {.steps = options->steps}};
    work w = {.options = options, .all = out};

    *out = (hu_together){0};
    if (inputs->n > HU_JOINT_REPLAY_RANKS)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                       "%zu traces are too many for a joint replay; pass up to %d of them", inputs->n,
                       HU_JOINT_REPLAY_RANKS);
    if (hu_job_read(inputs, &how, arena, &out->job, err) < 0)
        return err->code;
    if (out->job.n == 0) {
        *err = out->job.ranks[0].error;
        return err->code;
    }
    if (out->job.n < 2)
        return hu_fail(err, HU_EFORMAT, NULL, HU_NO_OFFSET, "only one of the traces could be read; pass it alone");
    if (out->job.roster.mixes_runs && out->job.roster.n_twice == 0)
        return hu_fail(
            err, HU_EUSAGE, NULL, HU_NO_OFFSET,
            "the files name no ranks and are of different tools or GPUs, or hold CPU samples alone: no ranks of one job; "
            "pass those of one run");
    if (out->job.roster.mixes_runs)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                       "rank %lld occurs more than once: several runs, or copies; pass the traces of one run",
                       (long long)out->job.roster.twice[0]);
    out->simulations = hu_arena_calloc(arena, out->job.n, sizeof *out->simulations);
    w.errors = hu_arena_calloc(arena, out->job.n, sizeof *w.errors);
    if (!out->simulations || !w.errors)
        return hu_fail_memory(err);
    hu_thread_each(out->job.n, hu_thread_count(), simulate, &w);
    for (size_t i = 0; i < out->job.n; i++)
        if (!out->simulations[i]) {
            *err = w.errors[i];
            return err->code;
        }
    return join(out, arena, err);
}

void hu_together_free(hu_together *all)
{
    for (size_t i = 0; all->simulations && i < all->job.n; i++)
        hu_simulation_free(all->simulations[i]);
    hu_job_free(&all->job);
}
