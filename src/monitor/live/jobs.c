/* SPDX-License-Identifier: Apache-2.0
 * jobs.c - a job is the processes that have its name; of those of one rank, those that make steps speak for it. */
#include "monitor/live/jobs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_TEXT = 24 };

/* ---- which job --------------------------------------------------------------------------------------------------- */

static bool has_name(const hu_live_job *j, const hu_owner *o)
{
    return strcmp(j->job_id, o->job_id) == 0 && strcmp(j->scheduler, o->scheduler) == 0 &&
           strcmp(j->step_id, o->step_id) == 0 && strcmp(j->user, o->user) == 0;
}

static hu_live_job *named(hu_live_job *jobs, const hu_owner *o)
{
    while (jobs && !has_name(jobs, o))
        jobs = jobs->next;
    return jobs;
}

hu_live_job *hu_live_job_find(hu_live_job **jobs, const hu_live_who *who, bool no_users)
{
    const int64_t uid = who->is_own_group ? -1 : who->uid;
    hu_owner      o = who->owner;
    hu_live_job  *j;

    if (no_users)
        hu_owner_hide(&o);
    for (int tries = 0; (j = named(*jobs, &o)) && j->uid != uid && tries < 2; tries++) {
        snprintf(o.scheduler, sizeof o.scheduler, "none");
        hu_live_name_alone(tries == 0 ? who->group : who->pid, &o);
    }
    if (j)
        return j->uid == uid ? j : NULL;
    j = calloc(1, sizeof *j);
    if (!j)
        return NULL;
    memcpy(j->scheduler, o.scheduler, sizeof j->scheduler);
    memcpy(j->job_id, o.job_id, sizeof j->job_id);
    memcpy(j->step_id, o.step_id, sizeof j->step_id);
    memcpy(j->user, o.user, sizeof j->user);
    j->uid = uid;
    j->next = *jobs;
    *jobs = j;
    return j;
}

void hu_live_jobs_tidy(hu_live_job **jobs)
{
    while (*jobs) {
        hu_live_job *j = *jobs;

        if (j->n_rows) {
            jobs = &j->next;
            continue;
        }
        *jobs = j->next;
        free(j);
    }
}

/* ---- which processes --------------------------------------------------------------------------------------------- */

static int by(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* By job, rank, whether it makes steps, age. */
static int compare(const void *a, const void *b)
{
    const hu_live_row *x = *(hu_live_row *const *)a, *y = *(hu_live_row *const *)b;
    int                order = by((uintptr_t)x->job, (uintptr_t)y->job);

    order = order ? order : (x->last.rank > y->last.rank) - (x->last.rank < y->last.rank);
    order = order ? order : by(y->has_stepped, x->has_stepped);
    order = order ? order : by(x->last.began, y->last.began);
    return order ? order : by(x->pid, y->pid);
}

/* How many of the rows speak for the rank of the first one: all that make steps, else that one. */
static size_t speakers(hu_live_row *const *rows, size_t n)
{
    size_t i = 1;

    while (i < n && rows[i]->job == rows[0]->job && rows[i]->last.rank == rows[0]->last.rank && rows[i]->has_stepped)
        i++;
    return i;
}

/* How many are of that rank; those behind the speakers are helpers and say nothing. */
static size_t of_rank(hu_live_row *const *rows, size_t n)
{
    size_t i = 1;

    while (i < n && rows[i]->job == rows[0]->job && rows[i]->last.rank == rows[0]->last.rank)
        i++;
    return i;
}

/* ---- what is said of a process ------------------------------------------------------------------------------------ */

#define OF_JOB(j)           (j)->scheduler, (j)->job_id, (j)->step_id, (j)->user
#define OF_PROCESS(j, r, p) OF_JOB(j), (r), (p)

static void put_counts(const hu_live_row *r, const char *rank, const char *pid, hu_readings *out)
{
    static const char *const names[HU_LIVE_CAUSE_COUNT] = {
#define L(id, name, help) name,
        HU_LIVE_CAUSES(L)
#undef L
    };
    const hu_live_job      *j = r->job;
    const hu_live_datagram *d = &r->last;
    const char *const       labels[] = {OF_PROCESS(j, rank, pid)};

    hu_readings_put_histogram(out, HU_METRIC_LIVE_STEPS, (double)d->step_ns / 1e9, d->histogram, labels,
                              sizeof labels / sizeof *labels);
    for (int c = 0; c < HU_LIVE_CAUSE_COUNT; c++)
        if (d->measured & 1u << c)
            hu_put(out, HU_METRIC_LIVE_CAUSE, (double)d->cause_ns[c] / 1e9, OF_PROCESS(j, rank, pid), names[c]);
    if (d->samples)
        hu_put(out, HU_METRIC_LIVE_SAMPLES, (double)d->samples, OF_PROCESS(j, rank, pid));
    if (d->tokens)
        hu_put(out, HU_METRIC_LIVE_TOKENS, (double)d->tokens, OF_PROCESS(j, rank, pid));
    if (d->checkpoints || d->measured & 1u << HU_LIVE_CHECKPOINT)
        hu_put(out, HU_METRIC_LIVE_CHECKPOINTS, (double)d->checkpoints, OF_PROCESS(j, rank, pid));
    if (r->number >= 0)
        hu_put(out, HU_METRIC_LIVE_STEP_NUMBER, (double)r->number, OF_PROCESS(j, rank, pid));
    if (d->last_step_ns)
        hu_put(out, HU_METRIC_LIVE_LAST_STEP, (double)d->last_step_ns / 1e9, OF_PROCESS(j, rank, pid));
}

static bool is_up(const hu_live_row *r)
{
    return !r->is_lost && !r->is_silent && !r->is_stopped;
}

static void put_process(const hu_live_row *r, bool has_twin, bool no_users, hu_readings *out)
{
    const hu_live_job *j = r->job;
    char               rank[NUMBER_TEXT] = "", pid[NUMBER_TEXT] = "", world[NUMBER_TEXT] = "";

    if (r->last.rank >= 0)
        snprintf(rank, sizeof rank, "%" PRId32, r->last.rank);
    if (r->last.world_size > 0)
        snprintf(world, sizeof world, "%" PRId32, r->last.world_size);
    if (has_twin)
        snprintf(pid, sizeof pid, "%" PRIu32, r->pid);
    hu_put(out, HU_METRIC_LIVE_INFO, 1, OF_PROCESS(j, rank, pid), world, no_users ? "" : r->last.name,
           r->sender == r->pid ? "package" : "holdup run");
    if (r->is_lost || !r->is_silent || r->is_stopped)
        hu_put(out, HU_METRIC_LIVE_RANK_UP, is_up(r), OF_PROCESS(j, rank, pid));
    if (!r->is_lost)
        put_counts(r, rank, pid, out);
}

/* ---- what is said of a job ---------------------------------------------------------------------------------------- */

/* Counts as one that holds up, or is held up: what it says is of now, or it is stopped and still where it was. */
static bool is_member(const hu_live_row *r, int64_t now_ns)
{
    return !r->is_lost && (r->is_stopped || now_ns - r->heard_ns <= HU_LIVE_WINDOW_NS);
}

static void put_job(const hu_live_job *j, const hu_live_member *members, unsigned n, unsigned n_up, hu_readings *out)
{
    const hu_live_shares s = hu_live_shares_of(members, n);

    hu_put(out, HU_METRIC_LIVE_RANKS, n_up, OF_JOB(j));
    hu_put(out, HU_METRIC_LIVE_LOST, (double)j->lost, OF_JOB(j));
    for (int k = 0; s.is_known && k < HU_HOLDUP_COUNT; k++)
        if (s.share[k] >= 0)
            hu_put(out, HU_METRIC_LIVE_HOLDUP, s.share[k], OF_JOB(j), hu_holdup_names[k]);
}

static void put_waits(const hu_live_job *j, const hu_live_member *members, unsigned n, hu_job_waits *waits)
{
    const double most = hu_live_waits_most(members, n);
    hu_owner     o = {0};

    if (!waits || most < 0)
        return;
    snprintf(o.scheduler, sizeof o.scheduler, "%s", j->scheduler);
    snprintf(o.job_id, sizeof o.job_id, "%s", j->job_id);
    snprintf(o.user, sizeof o.user, "%s", j->user);
    hu_job_waits_put(waits, hu_owner_hash(&o), most);
}

void hu_live_jobs_put(hu_live_row **rows, size_t n, hu_live_member *members, bool no_users, int64_t now_ns, int64_t real_ns,
                      hu_job_waits *waits, hu_readings *out)
{
    unsigned n_members = 0, n_up = 0;

    if (waits)
        hu_job_waits_begin(waits, now_ns);
    if (n)
        qsort(rows, n, sizeof *rows, compare);
    for (size_t i = 0; i < n; i += of_rank(rows + i, n - i)) {
        const size_t last = i + of_rank(rows + i, n - i), speaking = speakers(rows + i, n - i);

        for (size_t k = i; k < i + speaking; k++) {
            const hu_live_row *r = rows[k];

            put_process(r, speaking > 1, no_users, out);
            n_up += is_up(r);
            if (is_member(r, now_ns))
                members[n_members++] = (hu_live_member){.window = hu_live_window_of(&r->history, &r->last, real_ns),
                                                        .measured = r->last.measured,
                                                        .rank = r->last.rank,
                                                        .world = r->last.world_size};
        }
        if (last == n || rows[last]->job != rows[i]->job) {
            put_job(rows[i]->job, members, n_members, n_up, out);
            put_waits(rows[i]->job, members, n_members, waits);
            n_members = n_up = 0;
        }
    }
    if (waits)
        hu_job_waits_end(waits);
}
