/* SPDX-License-Identifier: Apache-2.0
 * columns_ranks.c - a row for each process of a job that tells of its steps. */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "top/columns.h"

#define ROW  ((const hu_top_rank_row *)row)
#define RANK (ROW->rank)
#define PACE (ROW->pace)

#define HIGH_FROM .25

static void node(const void *row, char out[HU_TOP_CELL])
{
    snprintf(out, HU_TOP_CELL, "%s", ROW->node->name);
}

static void job(const void *row, char out[HU_TOP_CELL])
{
    snprintf(out, HU_TOP_CELL, "%s%s%s", ROW->job->id, RANK->step_id[0] ? "." : "", RANK->step_id);
}

static double number_of(const char *text)
{
    uint64_t value;

    return hu_parse_u64(hu_str_of(text), &value) ? (double)value : NAN;
}

static double rank_number(const void *row)
{
    return number_of(RANK->rank);
}

static void rank(const void *row, char out[HU_TOP_CELL])
{
    snprintf(out, HU_TOP_CELL, "%s", RANK->rank[0] ? RANK->rank : "–");
}

static hu_top_tone rank_tone(const void *row)
{
    return RANK->up == 0 ? HU_TONE_BAD : HU_TONE_BOLD;
}

static double pid_number(const void *row)
{
    return number_of(RANK->pid);
}

static void pid(const void *row, char out[HU_TOP_CELL])
{
    snprintf(out, HU_TOP_CELL, "%s", RANK->pid[0] ? RANK->pid : "–");
}

static double step_number(const void *row)
{
    return RANK->step_number;
}

static void step(const void *row, char out[HU_TOP_CELL])
{
    if (isnan(RANK->step_number) || RANK->step_number < 0)
        snprintf(out, HU_TOP_CELL, "–");
    else
        hu_format_fixed(out, RANK->step_number, 0);
}

static double time_number(const void *row)
{
    return PACE ? PACE->step_s : NAN;
}

static void time_text(const void *row, char out[HU_TOP_CELL])
{
    hu_top_step(out, time_number(row));
}

/* A cause that was not measured is not 0. */
#define CAUSE(id, which)                                          \
    static double id##_number(const void *row)                    \
    {                                                             \
        return PACE ? PACE->share[which] : NAN;                   \
    }                                                             \
    static void id##_text(const void *row, char out[HU_TOP_CELL]) \
    {                                                             \
        hu_top_percent(out, id##_number(row), 0);                 \
    }

CAUSE(data, HU_LIVE_DATA)
CAUSE(communication, HU_LIVE_COMMUNICATION)
CAUSE(checkpoint, HU_LIVE_CHECKPOINT)
CAUSE(copies, HU_LIVE_TRANSFER)
CAUSE(device, HU_LIVE_DEVICE)
CAUSE(forward, HU_LIVE_FORWARD)
CAUSE(backward, HU_LIVE_BACKWARD)
CAUSE(optimizer, HU_LIVE_OPTIMIZER)

static hu_top_tone data_tone(const void *row)
{
    return data_number(row) >= HIGH_FROM ? HU_TONE_BAD : HU_TONE_NORMAL;
}

static hu_top_tone communication_tone(const void *row)
{
    return communication_number(row) >= HIGH_FROM ? HU_TONE_BAD : HU_TONE_NORMAL;
}

static double rest_number(const void *row)
{
    return PACE ? PACE->rest : NAN;
}

static void rest_text(const void *row, char out[HU_TOP_CELL])
{
    hu_top_percent(out, rest_number(row), 0);
}

static double last_number(const void *row)
{
    return RANK->last_step_at > 0 ? fmax(0, ROW->now - RANK->last_step_at) : NAN;
}

static void last(const void *row, char out[HU_TOP_CELL])
{
    hu_top_duration(out, last_number(row));
}

static void state(const void *row, char out[HU_TOP_CELL])
{
    snprintf(out, HU_TOP_CELL, "%s", RANK->up == 0 ? "lost" : PACE && PACE->is_late ? "late" : isnan(RANK->up) ? "–" : "up");
}

static hu_top_tone state_tone(const void *row)
{
    return RANK->up == 0 ? HU_TONE_BAD : PACE && PACE->is_late ? HU_TONE_WARN : HU_TONE_GOOD;
}

static void name(const void *row, char out[HU_TOP_CELL])
{
    snprintf(out, HU_TOP_CELL, "%s", RANK->name[0] ? RANK->name : "–");
}

/* clang-format off */
const hu_top_column hu_top_columns_ranks[] = {
    {"node", "NODE", 21, true, HU_SHOWN_FOR_NODES, 0, 0, node, NULL, NULL, "the node that it is on"},
    {"job", "JOB", 9, true, HU_SHOWN, 0, 1, job, NULL, NULL, "its job, and step of that"},
    {"rank", "RANK", 4, false, HU_SHOWN, 0, 0, rank, rank_number, rank_tone, "its rank"},
    {"pid", "PID", 7, false, HU_SHOWN, 0, 7, pid, pid_number, NULL, "its process, where several have one rank"},
    {"state", "STATE", 5, true, HU_SHOWN, 0, 0, state, NULL, state_tone,
     "late: the job's others wait for it; lost: it died or is stopped"},
    {"step", "STEP", 7, false, HU_SHOWN, 0, 1, step, step_number, NULL, "number of the step that runs"},
    {"time", "TIME", 8, false, HU_SHOWN, 'T', 0, time_text, time_number, NULL,
     "mean of the steps of the last seconds; the shares are of it"},
    {"data", "DATA%", 5, false, HU_SHOWN, 'M', 1, data_text, data_number, data_tone,
     "waiting for the next batch, or making it"},
    {"communication", "COMM%", 5, false, HU_SHOWN, 'P', 1, communication_text, communication_number, communication_tone,
     "waiting in collectives and messages"},
    {"checkpoint", "CKPT%", 5, false, HU_SHOWN, 0, 3, checkpoint_text, checkpoint_number, NULL, "writing the state"},
    {"copies", "COPY%", 5, false, HU_SHOWN, 0, 4, copies_text, copies_number, NULL, "bringing the batch to the device"},
    {"device", "DEV%", 5, false, HU_SHOWN, 0, 2, device_text, device_number, NULL,
     "waiting for the device: what it computes is the step"},
    {"forward", "FWD%", 4, false, HU_SHOWN, 0, 5, forward_text, forward_number, NULL, "the forward pass on the host"},
    {"backward", "BWD%", 4, false, HU_SHOWN, 0, 5, backward_text, backward_number, NULL, "the backward pass on the host"},
    {"optimizer", "OPT%", 4, false, HU_SHOWN, 0, 5, optimizer_text, optimizer_number, NULL, "the optimizer on the host"},
    {"rest", "REST%", 5, false, HU_SHOWN, 0, 6, rest_text, rest_number, NULL,
     "what none of these is; only where all of them are measured"},
    {"last", "LAST", 6, false, HU_SHOWN, 0, 3, last, last_number, NULL, "time since its last step ended"},
    {"name", "NAME", 8, true, HU_SHOWN, 0, 6, name, NULL, NULL, "its program"},
    {NULL},
};
