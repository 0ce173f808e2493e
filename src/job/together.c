/* SPDX-License-Identifier: Apache-2.0
 * together.c - reads all ranks, finds where they meet, and joins their graphs. */
#include "job/together.h"

#include <stdio.h>

#include "base/thread.h"
#include "cli/command.h"

typedef struct {
    const hu_together_options *options;
    hu_together               *all;
    hu_error                  *errors;
} work;

static void simulate(void *context, size_t i)
{
    const work *w = context;

    w->all->simulations[i] = hu_simulation_new(w->all->ranks.traces[i], &w->options->steps, &w->options->graph,
                                               &w->errors[i]);
    if (!w->all->simulations[i] && !w->errors[i].file[0])
        snprintf(w->errors[i].file, sizeof w->errors[i].file, "%s", w->all->ranks.digests[i]->info.file.p);
}

/* Why all of them cannot be replayed together. */
static int fail_parked(const hu_together *all, hu_error *err)
{
    size_t           n;
    const hu_parked *parked = hu_joint_parked(all->joint, &n);
    const hu_ranks  *r = &all->ranks;

    if (n)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                       "the ranks enter their collectives in different orders: rank %lld is in one that rank %lld never "
                       "reaches; look at one trace at a time",
                       (long long)hu_digest_rank_of(r->digests, parked[0].waits),
                       (long long)hu_digest_rank_of(r->digests, parked[0].missing));
    if (hu_joint_count(all->joint) == 0)
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                       "no collective was found on all ranks; look at one trace at a time");
    return 0;
}

static int join(hu_together *all, hu_arena *arena, hu_error *err)
{
    const size_t          n = all->ranks.n;
    hu_joint_rank        *ranks = hu_arena_calloc(arena, n, sizeof *ranks);
    const hu_edit_facts **facts = hu_arena_calloc(arena, n, sizeof *facts);
    const hu_graph      **graphs = hu_arena_calloc(arena, n, sizeof *graphs);

    if (!ranks || !facts || !graphs)
        return hu_fail_memory(err);
    for (size_t i = 0; i < n; i++) {
        graphs[i] = &all->simulations[i]->graph;
        facts[i] = hu_pricer_facts(all->simulations[i]->pricer);
    }
    hu_job_list_ranks(graphs, all->ranks.digests, n, &all->ranks.rendezvous, ranks, NULL);
    all->joint = hu_joint_new(ranks, n, arena, err);
    if (!all->joint || fail_parked(all, err) < 0)
        return err->code;
    all->pricer = hu_joint_pricer_new(all->joint, ranks, facts, n, all->ranks.rendezvous.transfers.fits,
                                      all->ranks.rendezvous.transfers.n_fits, arena);
    return all->pricer ? 0 : hu_fail_memory(err);
}

int hu_together_read(const hu_inputs *inputs, const hu_together_options *options, hu_arena *arena, hu_together *out)
{
    const hu_ranks_options how = {
        .limits = options->limits, .quiet = options->quiet, .keeps_traces = true, .digest = {.steps = options->steps}};
    work     w = {.options = options, .all = out};
    hu_error err = {0};
    int      status;

    *out = (hu_together){0};
    if (inputs->n > HU_JOB_RANKS) {
        hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET,
                "%zu traces are too many to be replayed together; name up to %d of them", inputs->n, HU_JOB_RANKS);
        return hu_command_fail(&err);
    }
    status = hu_ranks_read(inputs, &how, arena, &out->ranks);
    if (status)
        return status;
    if (out->ranks.n < 2) {
        hu_fail(&err, HU_EFORMAT, NULL, HU_NO_OFFSET, "only one of the traces could be read; name it alone");
        return hu_command_fail(&err);
    }
    out->simulations = hu_arena_calloc(arena, out->ranks.n, sizeof *out->simulations);
    w.errors = hu_arena_calloc(arena, out->ranks.n, sizeof *w.errors);
    if (!out->simulations || !w.errors) {
        hu_fail_memory(&err);
        return hu_command_fail(&err);
    }
    hu_thread_each(out->ranks.n, hu_thread_count(), simulate, &w);
    for (size_t i = 0; i < out->ranks.n; i++)
        if (!out->simulations[i])
            return hu_command_fail(&w.errors[i]);
    return join(out, arena, &err) < 0 ? hu_command_fail(&err) : 0;
}

void hu_together_free(hu_together *all)
{
    for (size_t i = 0; all->simulations && i < all->ranks.n; i++)
        hu_simulation_free(all->simulations[i]);
    hu_ranks_free(&all->ranks);
}
