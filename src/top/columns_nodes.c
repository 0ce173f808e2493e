/* SPDX-License-Identifier: Apache-2.0
 * columns_nodes.c - a row for each node that is watched. */
#include <stdio.h>

#include "base/units.h"
#include "top/columns.h"

#define NODE ((const hu_top_node *)row)

static void name(const void *row, char out[HU_TOP_CELL])
{
    snprintf(out, HU_TOP_CELL, "%s", NODE->name);
}

static void state(const void *row, char out[HU_TOP_CELL])
{
    snprintf(out, HU_TOP_CELL, "%s", NODE->state[0] ? NODE->state : NODE->look ? "answers" : "waiting for its first answer");
}

static hu_top_tone state_tone(const void *row)
{
    return NODE->state[0] ? HU_TONE_BAD : NODE->look ? HU_TONE_GOOD : HU_TONE_DIM;
}

static double gpus_number(const void *row)
{
    return NODE->look ? (double)NODE->n_gpus : NAN;
}

static void gpus(const void *row, char out[HU_TOP_CELL])
{
    hu_top_rate(out, gpus_number(row));
}

static double busy_number(const void *row)
{
    return NODE->look ? NODE->busy : NAN;
}

static void busy(const void *row, char out[HU_TOP_CELL])
{
    hu_top_percent(out, busy_number(row), 0);
}

static double power_number(const void *row)
{
    return NODE->look ? NODE->power : NAN;
}

static void power(const void *row, char out[HU_TOP_CELL])
{
    hu_top_rate(out, power_number(row));
}

static double jobs_number(const void *row)
{
    return NODE->look ? (double)NODE->n_jobs : NAN;
}

static void jobs(const void *row, char out[HU_TOP_CELL])
{
    hu_top_rate(out, jobs_number(row));
}

static double cpu_number(const void *row)
{
    return NODE->look ? NODE->rates.cpu : NAN;
}

static void cpu(const void *row, char out[HU_TOP_CELL])
{
    hu_top_percent(out, cpu_number(row), 1);
}

static double memory_number(const void *row)
{
    const hu_top_host *h = NODE->look ? &NODE->look->host : NULL;

    return h && h->memory_total > 0 ? 1 - h->memory_available / h->memory_total : NAN;
}

static void memory(const void *row, char out[HU_TOP_CELL])
{
    hu_top_percent(out, memory_number(row), 1);
}

/* clang-format off */
const hu_top_column hu_top_columns_nodes[] = {
    {"node", "NODE", 24, true, HU_SHOWN, 0, 0, name, NULL, NULL, "its address, as it was given"},
    {"gpus", "GPUS", 5, false, HU_SHOWN, 0, 1, gpus, gpus_number, NULL,
     "GPUs and MIG devices; a GPU that is divided is its devices"},
    {"util", "UTIL%", 5, false, HU_SHOWN, 'P', 1, busy, busy_number, NULL, "mean utilization of its GPUs"},
    {"power", "WATTS", 5, false, HU_SHOWN, 0, 3, power, power_number, NULL, "power of its GPUs"},
    {"jobs", "JOBS", 4, false, HU_SHOWN, 0, 3, jobs, jobs_number, NULL, "jobs that have its GPUs, or tell of their steps"},
    {"cpu", "CPU%", 5, false, HU_SHOWN, 0, 2, cpu, cpu_number, NULL, "share of its processors that work"},
    {"memory", "MEM%", 5, false, HU_SHOWN, 'M', 2, memory, memory_number, NULL, "memory that is not available"},
    {"state", "STATE", 16, true, HU_SHOWN, 0, 0, state, NULL, state_tone, "whether it answers, and why not"},
    {NULL},
};
