/* SPDX-License-Identifier: Apache-2.0
 * columns_jobs.c - a row for each job of a node. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "top/columns.h"

#define ROW ((const hu_top_job_row *)row)
#define JOB (ROW->job)

#define IDLE_BELOW .05
#define HIGH_FROM  .25

static void node(const void *row, char out[HU_TOP_CELL])
{
    snprintf(out, HU_TOP_CELL, "%s", ROW->node->name);
}

static void scheduler(const void *row, char out[HU_TOP_CELL])
{
    snprintf(out, HU_TOP_CELL, "%s", JOB->scheduler[0] ? JOB->scheduler : "–");
}

static void id(const void *row, char out[HU_TOP_CELL])
{
    snprintf(out, HU_TOP_CELL, "%s", JOB->id[0] ? JOB->id : "–");
}

static hu_top_tone id_tone(const void *row)
{
    (void)row;
    return HU_TONE_BOLD;
}

static void user(const void *row, char out[HU_TOP_CELL])
{
    snprintf(out, HU_TOP_CELL, "%s", JOB->user[0] ? JOB->user : "–");
}

static double gpus_number(const void *row)
{
    return (double)ROW->n_gpus;
}

static void gpus(const void *row, char out[HU_TOP_CELL])
{
    snprintf(out, HU_TOP_CELL, "%zu", ROW->n_gpus);
}

static double busy_number(const void *row)
{
    return ROW->busy;
}

static void busy(const void *row, char out[HU_TOP_CELL])
{
    hu_top_percent(out, ROW->busy, 0);
}

static hu_top_tone busy_tone(const void *row)
{
    return ROW->busy < IDLE_BELOW ? HU_TONE_WARN : HU_TONE_NORMAL;
}

/* Those that send here, of all that the job has. */
static void ranks(const void *row, char out[HU_TOP_CELL])
{
    const double here = isnan(JOB->ranks_sending) && ROW->n_ranks ? (double)ROW->n_ranks : JOB->ranks_sending;

    if (isnan(here))
        snprintf(out, HU_TOP_CELL, "–");
    else
        snprintf(out, HU_TOP_CELL, "%.0f", here);
    if (!isnan(JOB->world))
        snprintf(out + strlen(out), HU_TOP_CELL - strlen(out), "/%.0f", JOB->world);
}

static double ranks_number(const void *row)
{
    return isnan(JOB->ranks_sending) ? (double)ROW->n_ranks : JOB->ranks_sending;
}

static hu_top_tone ranks_tone(const void *row)
{
    return JOB->ranks_lost > 0 ? HU_TONE_BAD : HU_TONE_NORMAL;
}

static double step_number(const void *row)
{
    return ROW->step_s;
}

static void step(const void *row, char out[HU_TOP_CELL])
{
    hu_top_step(out, ROW->step_s);
}

static double rate_number(const void *row)
{
    return !isnan(ROW->tokens_per_s)    ? ROW->tokens_per_s
           : !isnan(ROW->samples_per_s) ? ROW->samples_per_s
           : ROW->step_s > 0            ? 1 / ROW->step_s
                                        : NAN;
}

static void rate(const void *row, char out[HU_TOP_CELL])
{
    const char *unit = !isnan(ROW->tokens_per_s) ? " tok/s" : !isnan(ROW->samples_per_s) ? " smp/s" : " step/s";

    hu_top_rate(out, rate_number(row));
    if (!isnan(rate_number(row)))
        snprintf(out + strlen(out), HU_TOP_CELL - strlen(out), "%s", unit);
}

static double idle_number(const void *row)
{
    return JOB->idle_s;
}

static void idle(const void *row, char out[HU_TOP_CELL])
{
    hu_top_duration(out, JOB->idle_s);
}

static double holdup_number(const void *row)
{
    return ROW->most ? ROW->most->share : NAN;
}

static void holdup(const void *row, char out[HU_TOP_CELL])
{
    char percent[HU_UNIT_BYTES];

    hu_top_percent(percent, holdup_number(row), 0);
    if (ROW->most)
        snprintf(out, HU_TOP_CELL, "%s %s%%", ROW->most->cause, percent);
    else
        snprintf(out, HU_TOP_CELL, "–");
}

/* What the device or the program itself computes is no alarm. */
static hu_top_tone holdup_tone(const void *row)
{
    if (!ROW->most || strcmp(ROW->most->cause, "device-wait") == 0)
        return ROW->most ? HU_TONE_GOOD : HU_TONE_DIM;
    if (strcmp(ROW->most->cause, "host") == 0 || strcmp(ROW->most->cause, "other") == 0)
        return HU_TONE_NORMAL;
    return ROW->most->share >= HIGH_FROM ? HU_TONE_BAD : HU_TONE_WARN;
}

static double step_joules_number(const void *row)
{
    return ROW->joules_per_step;
}

static void step_joules(const void *row, char out[HU_TOP_CELL])
{
    hu_top_rate(out, ROW->joules_per_step);
}

static double sample_joules_number(const void *row)
{
    return ROW->joules_per_sample;
}

static void sample_joules(const void *row, char out[HU_TOP_CELL])
{
    hu_top_rate(out, ROW->joules_per_sample);
}

static double wasted_number(const void *row)
{
    return ROW->wasted;
}

static void wasted(const void *row, char out[HU_TOP_CELL])
{
    hu_top_percent(out, ROW->wasted, 0);
}

static hu_top_tone wasted_tone(const void *row)
{
    return ROW->wasted >= HIGH_FROM ? HU_TONE_WARN : HU_TONE_NORMAL;
}

static double waited_number(const void *row)
{
    return ROW->waited;
}

static void waited(const void *row, char out[HU_TOP_CELL])
{
    hu_top_percent(out, ROW->waited, 0);
}

static void name(const void *row, char out[HU_TOP_CELL])
{
    snprintf(out, HU_TOP_CELL, "%s", JOB->name[0] ? JOB->name : "–");
}

/* clang-format off */
const hu_top_column hu_top_columns_jobs[] = {
    {"node", "NODE", 21, true, HU_SHOWN_FOR_NODES, 0, 0, node, NULL, NULL, "the node that these parts of it are on"},
    {"job", "JOB", 9, true, HU_SHOWN, 0, 0, id, NULL, id_tone,
     "scheduler's number; a pod's uid; pid-N: started by hand"},
    {"scheduler", "SCHED", 10, true, HU_SHOWN, 0, 6, scheduler, NULL, NULL, "who started it; none: somebody by hand"},
    {"user", "USER", 8, true, HU_SHOWN, 0, 1, user, NULL, NULL, "whose it is"},
    {"gpus", "GPUS", 4, false, HU_SHOWN, 0, 2, gpus, gpus_number, NULL, "GPUs that it has on this node"},
    {"util", "UTIL%", 5, false, HU_SHOWN, 'P', 3, busy, busy_number, busy_tone, "mean utilization of these"},
    {"ranks", "RANKS", 7, false, HU_SHOWN, 0, 3, ranks, ranks_number, ranks_tone,
     "processes here that tell of their steps, of all"},
    {"step", "STEP", 8, false, HU_SHOWN, 'T', 1, step, step_number, NULL,
     "mean step of the last seconds; the median of its ranks here"},
    {"rate", "RATE", 12, false, HU_SHOWN, 0, 4, rate, rate_number, NULL,
     "tokens or samples of its ranks here, where counted; else steps"},
    {"holdup", "HOLDUP", 18, true, HU_SHOWN, 'M', 0, holdup, holdup_number, holdup_tone,
     "what its steps wait for most; below 10 %: what fills them"},
    {"idle", "GPU IDLE", 8, false, HU_SHOWN, 0, 2, idle, idle_number, NULL,
     "GPU time in which it had GPUs and did nothing with them"},
    {"step-joules", "J/STEP", 6, false, HU_SHOWN_FOR_GPUS, 0, 7, step_joules, step_joules_number, NULL,
     "joules of a step: GPUs that it alone has here, CPUs if told"},
    {"sample-joules", "J/SMPL", 6, false, HU_SHOWN_FOR_GPUS, 0, 8, sample_joules, sample_joules_number, NULL,
     "the same for a sample, where it counts samples"},
    {"wasted", "WASTED%", 7, false, HU_SHOWN_FOR_GPUS, 0, 7, wasted, wasted_number, wasted_tone,
     "share of its joules in which its GPUs did nothing, at least"},
    {"waited", "WAITED%", 7, false, HU_SHOWN_FOR_GPUS, 0, 9, waited, waited_number, NULL,
     "share of it while it waited for data or communication, at most"},
    {"name", "NAME", 12, true, HU_SHOWN, 0, 5, name, NULL, NULL, "its name"},
    {NULL},
};
