/* SPDX-License-Identifier: Apache-2.0
 * edition.c - reads a job with its traces, and writes its page as report --html does, but for the timelines. */
#include "cli/edition.h"

#include <stdlib.h>

#include "cli/command.h"
#include "cli/reading.h"
#include "cli/unread.h"
#include "render/report.h"

static int write_page(hu_edition *e, const char *arguments, hu_error *err)
{
    hu_arena *scratch = hu_arena_new();
    hu_report r = {.job = &e->job,
                   .beside = &e->beside,
                   .scratch = scratch,
                   .unit = "samples",
                   .arguments = arguments,
                   .edition = e->number};
    hu_out   *out = scratch ? hu_out_open_memory(e->arena) : NULL;
    int       rc = out ? 0 : hu_fail_memory(err);

    if (rc == 0)
        rc = hu_html_write(&r, out, err);
    if (rc == 0)
        rc = hu_out_take(out, &e->page, err);
    else
        hu_out_abandon(out);
    hu_arena_free(scratch);
    return rc;
}

static int make_indexes(hu_edition *e, hu_error *err)
{
    e->indexes = hu_arena_calloc(e->arena, e->job.n, sizeof *e->indexes);
    for (size_t i = 0; e->indexes && i < e->job.n; i++)
        if (!(e->indexes[i] = hu_sight_index_new(e->job.ranks[i].trace, e->arena)))
            return hu_fail_memory(err);
    return e->indexes ? 0 : hu_fail_memory(err);
}

/* What has no timeline is shown beside what has, as in a report; alone it is no page. */
static int sort_inputs(hu_edition *e, const hu_edition_source *source, const hu_inputs *inputs, hu_sorted_inputs *out,
                       hu_error *err)
{
    hu_inputs all = *inputs;
    int       rc = hu_inputs_add_beside(source->paths, source->n, e->arena, &all, err);

    if (rc == 0)
        rc = hu_inputs_sort(&all, false, e->arena, out, err);
    if (rc == 0 && out->of[HU_INPUT_RANK].n == 0 && all.n)
        rc = hu_fail(err, HU_EUSAGE, all.at[0], HU_NO_OFFSET,
                     "has no timeline, and neither have the others; `holdup report` prints what is in it");
    return rc;
}

/* Returns 0, or an exit status. */
static int read_job(hu_edition *e, const hu_shared *shared, const hu_inputs *ranks)
{
    const hu_job_options how = {.limits = hu_limits_with_storms(shared->limits),
                                .replays = true,
                                .draws = true,
                                .draws_all = true,
                                .pixels = HU_EDITION_PIXELS,
                                .keeps_traces = true,
                                .keeps_snapshots = true,
                                .beside = &e->beside,
                                .digest = {.steps = shared->steps, .frames = 5, .shapes = e->beside.counters.kernels.n}};
    const int            status = hu_read_job(ranks, how, shared->quiet, e->arena, &e->job);

    if (status)
        return status;
    hu_unread_warn(&e->job.partial, shared->quiet);
    return hu_strict_status(shared->strict, &e->job.unread, &e->job.partial, 0);
}

/* Returns 0, or an exit status when what was wrong has been said. */
static int fill(hu_edition *e, const hu_edition_source *source, const hu_inputs *inputs)
{
    hu_sorted_inputs sorted;
    hu_error         err = {0};
    int              status, rc = sort_inputs(e, source, inputs, &sorted, &err);

    if (rc == 0)
        rc = hu_beside_read(&sorted, &source->shared->limits, e->arena, &e->beside, &sorted.of[HU_INPUT_RANK].unread, &err);
    if (rc < 0)
        return hu_command_fail(&err);
    status = read_job(e, source->shared, &sorted.of[HU_INPUT_RANK]);
    if (status)
        return status;
    if ((rc = write_page(e, source->source, &err)) == 0)
        rc = make_indexes(e, &err);
    return rc < 0 ? hu_command_fail(&err) : 0;
}

hu_edition *hu_edition_read(const hu_edition_source *source, const hu_inputs *inputs, unsigned number, int *status)
{
    hu_arena   *arena = hu_arena_new();
    hu_edition *e = arena ? hu_arena_calloc(arena, 1, sizeof *e) : NULL;
    hu_error    err = {0};

    if (!e) {
        hu_arena_free(arena);
        hu_fail_memory(&err);
        *status = hu_command_fail(&err);
        return NULL;
    }
    e->number = number;
    e->arena = arena;
    atomic_init(&e->holders, 1);
    hu_view_query_init(&e->query, &e->job);
    *status = fill(e, source, inputs);
    if (*status) {
        hu_edition_let_go(e);
        return NULL;
    }
    return e;
}

void hu_edition_hold(hu_edition *e)
{
    atomic_fetch_add(&e->holders, 1);
}

void hu_edition_let_go(hu_edition *e)
{
    if (atomic_fetch_sub(&e->holders, 1) > 1)
        return;
    hu_view_query_free(&e->query);
    hu_job_free(&e->job);
    hu_beside_free(&e->beside);
    hu_arena_free(e->arena);
}
