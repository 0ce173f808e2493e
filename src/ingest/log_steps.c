/* SPDX-License-Identifier: Apache-2.0
 * log_steps.c - ranks are told apart by what their lines name, else by lines that stand close together.
 *
 * Traps: all ranks may write into one log, so a step may be told several times, some lines apart; the slowest is the step's
 * time.  After a restart from a checkpoint the numbers fall back, and those steps are computed again.  Megatron prints the
 * mean of the steps since the line before.
 */
#include "ingest/log_steps.h"

#include <stdlib.h>

#include "ingest/log_ranks.h"
#include "ingest/log_time.h"

enum { TWIN_LINES = 40, LOOKED_BACK = 8 };

static bool is_before(const hu_log_step *a, const hu_log_step *b)
{
    return a->epoch < b->epoch || (a->epoch == b->epoch && a->iteration < b->iteration);
}

/* The same step of another rank, which its prefix names: any number of lines apart.  Steps of a run rise. */
static hu_log_step *find_ranked(const hu_steps_reader *r, const hu_log_step *step, const hu_step_log *log)
{
    size_t from = r->first_of_run, to = log->steps.n;

    while (from < to) {
        const size_t mid = from + (to - from) / 2;

        if (is_before(&log->steps.at[mid], step))
            from = mid + 1;
        else
            to = mid;
    }
    if (from == log->steps.n || log->steps.at[from].iteration != step->iteration || log->steps.at[from].epoch != step->epoch)
        return NULL;
    return &log->steps.at[from];
}

/* Ranks write in any order, so only the numbers of the rank that wrote first show whether they fall back. */
static bool falls_back(hu_steps_reader *r, const hu_log_step *step)
{
    bool is_back;

    if (step->rank < 0)
        return false;
    if (!r->leader.covers)
        r->leader = *step;
    else if (step->rank == r->leader.rank) {
        is_back = !is_before(&r->leader, step);
        r->leader = *step;
        return is_back;
    }
    return false;
}

/* The same step of another rank. */
static hu_log_step *find_twin(const hu_steps_reader *r, const hu_log_step *step, bool is_back, const hu_step_log *log)
{
    hu_log_step *ranked = step->rank < 0 || is_back ? NULL : find_ranked(r, step, log);

    if (ranked)
        return ranked;
    for (size_t i = log->steps.n; i > r->first && i + LOOKED_BACK > log->steps.n; i--) {
        hu_log_step *s = &log->steps.at[i - 1];

        if (s->iteration == step->iteration && s->epoch == step->epoch)
            return step->line - s->line <= TWIN_LINES ? s : NULL;
    }
    return NULL;
}

/*
 * Numbers that fall back are a restart, unless lines name epochs, or they begin as the log did: with an epoch that no line
 * names, or with another rank's lines.
 */
static uint32_t run_of(const hu_log_step *step, const hu_log_step *before, hu_step_log *log)
{
    const hu_log_step *last = log->steps.n ? &log->steps.at[log->steps.n - 1] : NULL;
    const bool         is_of_epochs = step->epoch >= 0 || (last && last->epoch >= 0);

    if (!last || (before && step->iteration > before->iteration))
        return last ? last->run : 0;
    if (!is_of_epochs && step->iteration > log->steps.at[0].iteration)
        return last->run + 1;
    log->has_falls = true;
    return last->run;
}

hu_steps_reader hu_log_steps_begin(hu_step_log *log)
{
    for (size_t i = 0; i < log->ranks.n; i++)
        log->ranks.at[i].kept = log->ranks.at[i].ns.n;
    return (hu_steps_reader){
        .first = log->steps.n, .first_of_run = log->steps.n, .n_twins = log->n_twins, .has_falls = log->has_falls};
}

bool hu_log_steps_add(hu_steps_reader *r, hu_log_step step, hu_line_kind kind, hu_arena *arena, hu_step_log *log)
{
    const size_t n = log->steps.n;
    const bool   is_back = falls_back(r, &step);
    hu_log_step *before = n > r->first ? &log->steps.at[n - 1] : NULL, *twin = find_twin(r, &step, is_back, log);

    if (!hu_log_ranks_add(log, step.rank, step.ns, arena))
        return false;
    if (twin) {
        log->n_twins++;
        if (step.ns > twin->ns && step.is_bare == twin->is_bare)
            twin->ns = step.ns;
        return true;
    }
    if (before && step.rank >= 0 && step.rank != r->leader.rank && !is_before(before, &step))
        return true; /* a step that the first one does not tell */
    if (step.at_ns && !log->has_zone)
        step.at_ns = hu_log_time_here(step.at_ns);
    step.run = run_of(&step, before, log);
    if (!before || step.run != before->run || (step.epoch == before->epoch && step.iteration <= before->iteration))
        r->first_of_run = n;
    if (kind == HU_LINE_MEGATRON && before && before->run == step.run && step.iteration > before->iteration) {
        step.covers = step.iteration - before->iteration;
        if ((n - r->first == 1 || before[-1].run != before->run) && step.covers <= before->iteration)
            before->covers = step.covers; /* the first of a run */
    }
    return hu_vec_push(arena, &log->steps, step);
}

void hu_log_steps_drop(hu_steps_reader *r, hu_step_log *log)
{
    log->steps.n = r->first_of_run = r->first;
    for (size_t i = 0; i < log->ranks.n; i++)
        log->ranks.at[i].ns.n = log->ranks.at[i].kept;
    while (log->ranks.n && log->ranks.at[log->ranks.n - 1].ns.n == 0)
        log->ranks.n--;
    log->n_twins = r->n_twins;
    log->has_falls = r->has_falls;
    r->leader = (hu_log_step){0};
}

bool hu_log_steps_join(const hu_steps_reader *r, hu_step_log *log)
{
    hu_log_step       *steps = log->steps.at;
    const size_t       first = r->first, n = log->steps.n;
    const hu_log_step *last;

    if (!first || first >= n)
        return false;
    last = &steps[first - 1];
    if (last->run || steps[n - 1].run != last->run || steps[first].iteration != steps[0].iteration ||
        steps[first].epoch != steps[0].epoch || steps[n - 1].epoch != last->epoch ||
        llabs(steps[n - 1].iteration - last->iteration) > 2 * last->covers + (last->iteration - steps[0].iteration) / 20)
        return false;
    for (size_t i = 0, k = first; k < n; k++) {
        while (i < first && is_before(&steps[i], &steps[k]))
            i++;
        if (i == first || is_before(&steps[k], &steps[i]))
            continue;
        log->n_twins++;
        if (steps[k].ns > steps[i].ns)
            steps[i].ns = steps[k].ns;
    }
    log->steps.n = first;
    log->has_rank_files |= steps[first].rank < 0; /* a node's log may name several ranks in its lines */
    return true;
}
