/* SPDX-License-Identifier: Apache-2.0
 * columns_gpus.c - a row for each GPU and MIG device. */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "top/columns.h"

#define ROW ((const hu_top_gpu_row *)row)
#define GPU (ROW->gpu)

#define IDLE_BELOW .05
#define FULL_FROM  .95
#define HOT_FROM_C 85.0
#define MEGA       1e6

static void node(const void *row, char out[HU_TOP_CELL])
{
    snprintf(out, HU_TOP_CELL, "%s", ROW->node->name);
}

static void gpu(const void *row, char out[HU_TOP_CELL])
{
    snprintf(out, HU_TOP_CELL, "%s%s%s", GPU->gpu[0] ? GPU->gpu : "?", GPU->gi[0] ? "." : "", GPU->gi);
}

static double gpu_number(const void *row)
{
    uint64_t number, part = 0;

    if (!hu_parse_u64(hu_str_of(GPU->gpu), &number))
        return NAN;
    (void)hu_parse_u64(hu_str_of(GPU->gi), &part);
    return (double)number + (GPU->gi[0] ? (double)(part + 1) / 1000 : 0);
}

static hu_top_tone gpu_tone(const void *row)
{
    return GPU->up == 0 ? HU_TONE_BAD : HU_TONE_BOLD;
}

static void model(const void *row, char out[HU_TOP_CELL])
{
    const char *name = GPU->model;

    if (strncmp(name, "NVIDIA ", 7) == 0)
        name += 7;
    snprintf(out, HU_TOP_CELL, "%s", name[0] ? name : "–");
}

static double busy_number(const void *row)
{
    return GPU->busy;
}

static void busy(const void *row, char out[HU_TOP_CELL])
{
    hu_top_percent(out, GPU->busy, 0);
}

/* A GPU that somebody has and that does nothing is what one looks for. */
static hu_top_tone busy_tone(const void *row)
{
    if (isnan(GPU->busy))
        return HU_TONE_DIM;
    if (GPU->busy < IDLE_BELOW)
        return ROW->job ? HU_TONE_WARN : HU_TONE_DIM;
    return HU_TONE_GOOD;
}

static double sm_number(const void *row)
{
    return GPU->sm_active;
}

static void sm(const void *row, char out[HU_TOP_CELL])
{
    hu_top_percent(out, GPU->sm_active, 0);
}

static double memory_number(const void *row)
{
    return GPU->memory_used;
}

static void memory(const void *row, char out[HU_TOP_CELL])
{
    char total[HU_UNIT_BYTES];

    hu_top_bytes(out, GPU->memory_used);
    if (isnan(GPU->memory_total))
        return;
    hu_top_bytes(total, GPU->memory_total);
    snprintf(out + strlen(out), HU_TOP_CELL - strlen(out), "/%s", total);
}

static hu_top_tone memory_tone(const void *row)
{
    return GPU->memory_total > 0 && GPU->memory_used / GPU->memory_total >= FULL_FROM ? HU_TONE_WARN : HU_TONE_NORMAL;
}

static double power_number(const void *row)
{
    return GPU->power;
}

static void power(const void *row, char out[HU_TOP_CELL])
{
    char limit[HU_NUMBER_BYTES];

    if (isnan(GPU->power)) {
        snprintf(out, HU_TOP_CELL, "–");
        return;
    }
    hu_format_fixed(out, GPU->power, 0);
    if (isnan(GPU->power_limit))
        return;
    hu_format_fixed(limit, GPU->power_limit, 0);
    snprintf(out + strlen(out), HU_TOP_CELL - strlen(out), "/%s", limit);
}

static double temperature_number(const void *row)
{
    return GPU->temperature;
}

static void whole(char *out, double value)
{
    if (isnan(value))
        snprintf(out, HU_TOP_CELL, "–");
    else
        hu_format_fixed(out, value, 0);
}

static void temperature(const void *row, char out[HU_TOP_CELL])
{
    whole(out, GPU->temperature);
}

static hu_top_tone temperature_tone(const void *row)
{
    return GPU->temperature >= HOT_FROM_C ? HU_TONE_BAD : HU_TONE_NORMAL;
}

static double clock_number(const void *row)
{
    return GPU->clock;
}

static void clock_text(const void *row, char out[HU_TOP_CELL])
{
    whole(out, GPU->clock / MEGA);
}

/* A cell is narrow: "hw thermal slowdown". */
static void shorten(char *text, const char *word, const char *shorter)
{
    const size_t n = strlen(word), k = strlen(shorter);

    for (char *at; (at = strstr(text, word)) != NULL;) {
        memcpy(at, shorter, k);
        memmove(at + k, at + n, strlen(at + n) + 1);
    }
}

static void limit(const void *row, char out[HU_TOP_CELL])
{
    if (GPU->up == 0)
        snprintf(out, HU_TOP_CELL, "lost");
    else
        snprintf(out, HU_TOP_CELL, "%s", GPU->limit[0] ? GPU->limit : GPU->has_reasons ? "" : "–");
    shorten(out, "hardware ", "hw ");
    shorten(out, "software ", "sw ");
}

static hu_top_tone limit_tone(const void *row)
{
    return GPU->up == 0 || (GPU->limit[0] && strcmp(GPU->limit, "software power cap") != 0) ? HU_TONE_BAD
           : GPU->limit[0]                                                                  ? HU_TONE_WARN
                                                                                            : HU_TONE_DIM;
}

static void job(const void *row, char out[HU_TOP_CELL])
{
    if (!ROW->job)
        snprintf(out, HU_TOP_CELL, "%s", GPU->allocated == 0 ? "" : "–");
    else if (ROW->n_jobs > 1)
        snprintf(out, HU_TOP_CELL, "%s +%zu", ROW->job->id, ROW->n_jobs - 1);
    else
        snprintf(out, HU_TOP_CELL, "%s", ROW->job->id);
}

static void user(const void *row, char out[HU_TOP_CELL])
{
    snprintf(out, HU_TOP_CELL, "%s",
             ROW->job              ? ROW->job->user[0] ? ROW->job->user : "–"
             : GPU->allocated == 0 ? "free"
                                   : "–");
}

/* clang-format off */
const hu_top_column hu_top_columns_gpus[] = {
    {"node", "NODE", 21, true, HU_SHOWN_FOR_NODES, 0, 0, node, NULL, NULL, "the node that it is in"},
    {"gpu", "GPU", 4, true, HU_SHOWN, 0, 0, gpu, gpu_number, gpu_tone,
     "number of the driver's tools; .N: GPU instance of a MIG device"},
    {"model", "MODEL", 22, true, HU_SHOWN, 0, 8, model, NULL, NULL, "product"},
    {"util", "UTIL%", 5, false, HU_SHOWN, 'P', 1, busy, busy_number, busy_tone,
     "share of time in which a kernel ran, however small"},
    {"sm", "SM%", 3, false, HU_SHOWN, 0, 3, sm, sm_number, NULL,
     "share of multiprocessors that worked (Hopper and later)"},
    {"memory", "MEMORY", 11, false, HU_SHOWN, 'M', 1, memory, memory_number, memory_tone,
     "device memory in use, and all of it (K, M, G of 1024)"},
    {"power", "WATTS", 7, false, HU_SHOWN, 0, 3, power, power_number, NULL, "power of the board, and its limit"},
    {"temperature", "TEMP", 4, false, HU_SHOWN, 'T', 4, temperature, temperature_number, temperature_tone,
     "temperature of the core, in degrees Celsius"},
    {"clock", "MHz", 4, false, HU_SHOWN, 0, 5, clock_text, clock_number, NULL, "clock of the multiprocessors"},
    {"job", "JOB", 8, true, HU_SHOWN, 0, 2, job, NULL, NULL, "the job that has it; +N: and N more"},
    {"user", "USER", 8, true, HU_SHOWN, 0, 2, user, NULL, NULL, "whose job that is; free: nobody has it"},
    {"limit", "SLOWED BY", 12, true, HU_SHOWN, 0, 2, limit, NULL, limit_tone,
     "what lowers its clock now; nothing is as it should be"},
    {NULL},
};
