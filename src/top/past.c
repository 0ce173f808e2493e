/* SPDX-License-Identifier: Apache-2.0
 * past.c - differences of counters, over times that the counters themselves tell.
 *
 * A monitor samples counters of the node every few periods, and a look may see the same sample twice.  How much time lies
 * between two samples is the processors' total time, which always goes on, divided by their number.  Times of steps are the
 * program's own.
 */
#include "top/past.h"

#include <stdlib.h>
#include <string.h>

#include "top/past_jobs.h"

/* Seconds after which counters that stand still say nothing any more, and over which steps are averaged. */
#define HOLD_S   20.0
#define WINDOW_S 5.0

/* A rank is late if the one that waits least waits this much less, as a share of the step. */
#define LATE_BY .1

enum { MOMENTS = 8 };

typedef struct {
    double at_s; /* 0: none */
    double step_s, steps, samples, tokens, cause_s[HU_LIVE_CAUSE_COUNT];
} moment;

typedef struct {
    char        scheduler[HU_TOP_WORD], job[HU_TOP_TEXT], step_id[HU_TOP_WORD], rank[HU_TOP_WORD], pid[HU_TOP_WORD];
    moment      at[MOMENTS]; /* the last one first */
    hu_top_pace pace;
} rank_past;

typedef struct {
    char           uuid[HU_TOP_TEXT], gi[HU_TOP_WORD];
    hu_top_history history;
} gpu_past;

struct hu_top_past {
    hu_top_host      host; /* of the last sample that was another one */
    hu_top_rates     rates;
    double           host_at_s; /* when that came; 0: none did */
    gpu_past        *gpus;      /* in the order of the last look */
    rank_past       *ranks;
    size_t           n_gpus, n_ranks;
    hu_top_past_jobs jobs;
};

hu_top_past *hu_top_past_new(void)
{
    return calloc(1, sizeof(hu_top_past));
}

void hu_top_past_free(hu_top_past *p)
{
    if (!p)
        return;
    free(p->gpus);
    free(p->ranks);
    hu_top_past_jobs_clear(&p->jobs);
    free(p);
}

/* ---- the node ---------------------------------------------------------------------------------------------------- */

static const hu_top_rates unknown = {NAN, {NAN, NAN, NAN}, NAN, NAN, NAN, NAN};

/* A counter that went back began again: its rate is not known. */
static double rate(double now, double before, double s)
{
    return now >= before ? (now - before) / s : NAN;
}

static double share(double now, double before, double s)
{
    const double x = rate(now, before, s);

    return x > 1 ? 1 : x;
}

void hu_top_past_host(hu_top_past *p, const hu_top_look *l, hu_top_rates *out)
{
    const hu_top_host *now = &l->host, *before = &p->host;
    double             s;

    if (p->host_at_s == 0)
        p->rates = unknown;
    if (isnan(now->cpu_s) || !(now->cpus > 0)) {
        p->host_at_s = 0;
        p->rates = unknown;
    } else if (p->host_at_s == 0 || now->cpu_s != before->cpu_s) {
        s = p->host_at_s > 0 ? (now->cpu_s - before->cpu_s) / now->cpus : 0;
        p->rates = unknown;
        if (s > 0) {
            p->rates = (hu_top_rates){.cpu = share(now->cpu_busy_s, before->cpu_busy_s, s * now->cpus),
                                      .received = rate(now->received, before->received, s),
                                      .sent = rate(now->sent, before->sent, s),
                                      .read = rate(now->read, before->read, s),
                                      .written = rate(now->written, before->written, s)};
            for (int i = 0; i < HU_TOP_PRESSURES; i++)
                p->rates.waiting[i] = share(now->waiting_s[i], before->waiting_s[i], s);
        }
        p->host = *now;
        p->host_at_s = l->at_s;
    } else if (l->at_s - p->host_at_s > HOLD_S) {
        p->rates = unknown;
    }
    *out = p->rates;
}

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

/* What shows best how much of it works; a driver that has no such counter tells at least whether a kernel ran. */
static double use_of(const hu_top_gpu *g)
{
    return isnan(g->sm_active) ? g->busy : g->sm_active;
}

static bool take_gpus(hu_top_past *p, const hu_top_look *l)
{
    gpu_past *all = calloc(l->n_gpus + 1, sizeof *all);

    if (!all)
        return false;
    for (size_t i = 0; i < l->n_gpus; i++) {
        const hu_top_gpu *g = &l->gpus[i];

        memcpy(all[i].uuid, g->uuid, sizeof g->uuid);
        memcpy(all[i].gi, g->gi, sizeof g->gi);
        for (size_t k = 0; k < p->n_gpus; k++) { /* most often it is where it was */
            const gpu_past *old = &p->gpus[(i + k) % p->n_gpus];

            if (strcmp(old->uuid, g->uuid) == 0 && strcmp(old->gi, g->gi) == 0) {
                all[i].history = old->history;
                break;
            }
        }
        hu_top_history_add(&all[i].history, use_of(g));
    }
    free(p->gpus);
    p->gpus = all;
    p->n_gpus = l->n_gpus;
    return true;
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

static moment moment_of(const hu_top_rank *r, double at_s)
{
    moment m = {.at_s = at_s, .step_s = r->step_s, .steps = r->steps, .samples = r->samples, .tokens = r->tokens};

    memcpy(m.cause_s, r->cause_s, sizeof m.cause_s);
    return m;
}

/* The moment from which on steps are averaged: so far back that one ended since, and WINDOW_S where that is known. */
static const moment *since(const rank_past *p)
{
    const moment *found = NULL;

    for (int i = 1; i < MOMENTS && p->at[i].at_s > 0; i++) {
        if (!(p->at[i].steps < p->at[0].steps))
            continue;
        found = &p->at[i];
        if (p->at[0].at_s - found->at_s >= WINDOW_S)
            break;
    }
    return found;
}

static hu_top_pace pace_of(const rank_past *p)
{
    static const moment beginning;
    const moment       *now = &p->at[0], *before = since(p);
    hu_top_pace         out = {.step_s = NAN, .rest = NAN, .samples_per_s = NAN, .tokens_per_s = NAN};
    double              s, sum = 0;
    bool                has_all = true;

    for (int i = 0; i < HU_LIVE_CAUSE_COUNT; i++)
        out.share[i] = NAN;
    if (!before) /* totals are of the process' whole life */
        before = &beginning;
    s = now->step_s - before->step_s;
    if (!(s > 0) || !(now->steps > before->steps))
        return out;
    out.step_s = s / (now->steps - before->steps);
    if (now->samples > 0)
        out.samples_per_s = rate(now->samples, before->samples, s);
    if (now->tokens > 0)
        out.tokens_per_s = rate(now->tokens, before->tokens, s);
    for (int i = 0; i < HU_LIVE_CAUSE_COUNT; i++) {
        out.share[i] = share(now->cause_s[i], isnan(before->cause_s[i]) ? 0 : before->cause_s[i], s);
        has_all &= !isnan(out.share[i]);
        sum += isnan(out.share[i]) ? 0 : out.share[i];
    }
    out.rest = has_all ? fmax(0, 1 - sum) : NAN;
    return out;
}

static bool is_same(const rank_past *p, const hu_top_rank *r, const hu_top_job *j)
{
    return strcmp(p->rank, r->rank) == 0 && strcmp(p->pid, r->pid) == 0 && strcmp(p->step_id, r->step_id) == 0 &&
           strcmp(p->job, j->id) == 0 && strcmp(p->scheduler, j->scheduler) == 0;
}

/* Moments lie WINDOW_S / (MOMENTS / 2) apart at least, so that they reach back for longer than the window. */
static void add_moment(rank_past *p, const moment *m)
{
    if (p->at[0].at_s > 0 && m->steps < p->at[0].steps) /* another process of that number */
        memset(p->at, 0, sizeof p->at);
    if (p->at[1].at_s == 0 || p->at[0].at_s - p->at[1].at_s >= 2 * WINDOW_S / MOMENTS)
        memmove(&p->at[1], &p->at[0], (MOMENTS - 1) * sizeof *p->at);
    p->at[0] = *m;
}

/* Who is waited for waits least.  Only where all of a job's ranks are here can that be told. */
static void mark_late(rank_past *all, const hu_top_look *l)
{
    for (size_t j = 0; j < l->n_jobs; j++) {
        double least = NAN, next = NAN, world = NAN;
        size_t who = 0, n = 0;

        for (size_t i = 0; i < l->n_ranks; i++) {
            const double waits = all[i].pace.share[HU_LIVE_COMMUNICATION];

            if (l->ranks[i].job != j)
                continue;
            n++;
            world = l->ranks[i].world;
            if (isnan(waits)) {
                n = 0;
                break;
            }
            if (!(waits >= least)) {
                next = least;
                least = waits;
                who = i;
            } else if (!(waits >= next)) {
                next = waits;
            }
        }
        if (n > 1 && (double)n == world && next - least >= LATE_BY)
            all[who].pace.is_late = true;
    }
}

static bool take_ranks(hu_top_past *p, const hu_top_look *l)
{
    rank_past *all = calloc(l->n_ranks + 1, sizeof *all);

    if (!all)
        return false;
    for (size_t i = 0; i < l->n_ranks; i++) {
        const hu_top_rank *r = &l->ranks[i];
        const hu_top_job  *j = &l->jobs[r->job];
        const moment       now = moment_of(r, l->at_s);

        for (size_t k = 0; k < p->n_ranks; k++)
            if (is_same(&p->ranks[(i + k) % p->n_ranks], r, j)) {
                all[i] = p->ranks[(i + k) % p->n_ranks];
                break;
            }
        memcpy(all[i].scheduler, j->scheduler, sizeof j->scheduler);
        memcpy(all[i].job, j->id, sizeof j->id);
        memcpy(all[i].step_id, r->step_id, sizeof r->step_id);
        memcpy(all[i].rank, r->rank, sizeof r->rank);
        memcpy(all[i].pid, r->pid, sizeof r->pid);
        add_moment(&all[i], &now);
        all[i].pace = pace_of(&all[i]);
    }
    mark_late(all, l);
    free(p->ranks);
    p->ranks = all;
    p->n_ranks = l->n_ranks;
    return true;
}

bool hu_top_past_take(hu_top_past *p, const hu_top_look *l)
{
    return take_gpus(p, l) && take_ranks(p, l) && hu_top_past_jobs_take(&p->jobs, l);
}

const hu_top_history *hu_top_past_history(const hu_top_past *p, size_t gpu)
{
    return gpu < p->n_gpus ? &p->gpus[gpu].history : NULL;
}

const hu_top_pace *hu_top_past_pace(const hu_top_past *p, size_t rank)
{
    return rank < p->n_ranks ? &p->ranks[rank].pace : NULL;
}

double hu_top_past_watts(const hu_top_past *p, size_t job)
{
    return hu_top_past_jobs_watts(&p->jobs, job);
}
