/* SPDX-License-Identifier: Apache-2.0
 * verdict.c - the one line of the header: what holds things up, the gravest first.
 *
 * It repeats what rows show and adds nothing: a process or GPU that is lost, GPUs that somebody has and does not use, the
 * largest cause of a job's step time that is not its own work, clocks that are held down, a node that is short of something.
 */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "top/columns.h"

/* Shares below which an idle GPU or a shortage is not worth the line. */
#define IDLE_BELOW    .05
#define IDLE_FROM_S   300.0
#define PRESSURE_FROM .1

static bool say_lost(const hu_top_model *m, char *out, size_t room)
{
    for (size_t i = 0; i < m->n_ranks; i++)
        if (m->ranks[i].rank->up == 0) {
            const char *rank = m->ranks[i].rank->rank; /* "": a program that knows of no ranks */

            snprintf(out, room, "%s%s of job %s died or is stopped", rank[0] ? "rank " : "a process", rank,
                     m->ranks[i].job->id);
            return true;
        }
    for (size_t i = 0; i < m->n_gpus; i++)
        if (m->gpus[i].gpu->up == 0) {
            snprintf(out, room, "GPU %s is lost%s%s", m->gpus[i].gpu->gpu, m->gpus[i].job ? "; job " : "",
                     m->gpus[i].job ? m->gpus[i].job->id : "");
            return true;
        }
    return false;
}

static bool say_job(const hu_top_model *m, char *out, size_t room)
{
    const hu_top_job_row *most = NULL;
    char                  percent[HU_UNIT_BYTES];

    for (size_t i = 0; i < m->n_jobs; i++)
        if (m->jobs[i].most && hu_top_is_holdup(m->jobs[i].most) && (!most || m->jobs[i].most->share > most->most->share))
            most = &m->jobs[i];
    if (!most)
        return false;
    hu_units_percent(percent, most->most->share);
    snprintf(out, room, "job %s: %s takes %s %% of its step time", most->job->id, most->most->cause, percent);
    return true;
}

static bool say_clock(const hu_top_model *m, char *out, size_t room)
{
    size_t                n = 0;
    const hu_top_gpu_row *first = NULL;

    for (size_t i = 0; i < m->n_gpus; i++) /* a limit of power alone is how a busy GPU works */
        if (m->gpus[i].gpu->limit[0] && strcmp(m->gpus[i].gpu->limit, "software power cap") != 0) {
            first = first ? first : &m->gpus[i];
            n++;
        }
    if (n > 1)
        snprintf(out, room, "GPU %s and %zu more are slowed down: %s", first->gpu->gpu, n - 1, first->gpu->limit);
    else if (n == 1)
        snprintf(out, room, "GPU %s is slowed down: %s", first->gpu->gpu, first->gpu->limit);
    return n > 0;
}

static bool say_idle(const hu_top_model *m, char *out, size_t room)
{
    const hu_top_job_row *most = NULL;
    char                  time[HU_UNIT_BYTES];

    for (size_t i = 0; i < m->n_jobs; i++)
        if (m->jobs[i].busy < IDLE_BELOW && m->jobs[i].job->idle_s >= IDLE_FROM_S &&
            (!most || m->jobs[i].job->idle_s > most->job->idle_s))
            most = &m->jobs[i];
    if (!most)
        return false;
    hu_top_duration(time, most->job->idle_s);
    snprintf(out, room, "job %s%s%s has %zu GPU%s and uses none: %s of GPU time lost", most->job->id,
             most->job->user[0] ? " of " : "", most->job->user, most->n_gpus, most->n_gpus == 1 ? "" : "s", time);
    return true;
}

static bool say_pressure(const hu_top_model *m, char *out, size_t room)
{
    static const char *const words[HU_TOP_PRESSURES] = {"a processor", "memory", "disks"};
    const hu_top_node       *who = NULL;
    double                   most = PRESSURE_FROM;
    int                      what = 0;
    char                     percent[HU_UNIT_BYTES];

    for (size_t i = 0; i < m->n_nodes; i++)
        for (int k = 0; m->nodes[i].look && k < HU_TOP_PRESSURES; k++)
            if (m->nodes[i].rates.waiting[k] >= most) {
                who = &m->nodes[i];
                most = who->rates.waiting[k];
                what = k;
            }
    if (!who)
        return false;
    hu_units_percent(percent, most);
    snprintf(out, room, "%s%sthreads wait for %s %s %% of the time", m->n_nodes > 1 ? who->name : "",
             m->n_nodes > 1 ? ": " : "", words[what], percent);
    return true;
}

void hu_top_model_verdict(const hu_top_model *m, char *out, size_t room)
{
    out[0] = '\0';
    if (say_lost(m, out, room) || say_idle(m, out, room) || say_job(m, out, room) || say_clock(m, out, room))
        return;
    (void)say_pressure(m, out, room);
}
