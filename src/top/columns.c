/* SPDX-License-Identifier: Apache-2.0
 * columns.c - words for cells, and the list of tables. */
#include "top/columns.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/units.h"

extern const hu_top_column hu_top_columns_nodes[], hu_top_columns_gpus[], hu_top_columns_jobs[], hu_top_columns_ranks[],
    hu_top_columns_processes[];

static const char UNKNOWN[] = "–";

static void set_unknown(char *out)
{
    memcpy(out, UNKNOWN, sizeof UNKNOWN);
}

void hu_top_percent(char *out, double share, int decimals)
{
    if (isnan(share))
        set_unknown(out);
    else
        hu_format_fixed(out, 100 * share, decimals);
}

/* Three digits and the letter of a power of `base`. */
static void scaled(char *out, double value, double base)
{
    static const char letters[] = " KMGTPE";
    size_t            power = 0, n;

    if (isnan(value)) {
        set_unknown(out);
        return;
    }
    while (value >= 999.5 && power + 2 < sizeof letters) {
        value /= base;
        power++;
    }
    n = hu_format_fixed(out, value, power == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
    if (power) {
        out[n] = letters[power];
        out[n + 1] = '\0';
    }
}

void hu_top_bytes(char *out, double bytes)
{
    scaled(out, bytes, 1024);
}

void hu_top_rate(char *out, double per_s)
{
    scaled(out, per_s, 1000);
}

void hu_top_duration(char *out, double seconds)
{
    const int64_t s = isnan(seconds) || seconds > 1e12 ? 0 : (int64_t)seconds;

    if (isnan(seconds))
        set_unknown(out);
    else if (s < 3600)
        snprintf(out, HU_UNIT_BYTES, "%d:%02d", (int)(s / 60), (int)(s % 60));
    else if (s < 86400)
        snprintf(out, HU_UNIT_BYTES, "%dh%02dm", (int)(s / 3600), (int)(s / 60 % 60));
    else
        snprintf(out, HU_UNIT_BYTES, "%lldd%02dh", (long long)(s / 86400), (int)(s / 3600 % 24));
}

void hu_top_step(char *out, double seconds)
{
    if (isnan(seconds))
        set_unknown(out);
    else
        hu_units_time(out, seconds * 1e9);
}

const hu_top_table hu_top_tables[HU_TOP_TABLES] = {
    [HU_TOP_NODES] = {"nodes", "Nodes", hu_top_columns_nodes, NULL, "no node"},
    [HU_TOP_GPUS] = {"gpus", "GPUs", hu_top_columns_gpus, NULL, "no GPU is known here"},
    [HU_TOP_JOBS] = {"jobs", "Jobs", hu_top_columns_jobs, NULL, "no job is known here"},
    [HU_TOP_RANKS] = {"ranks", "Ranks", hu_top_columns_ranks, NULL, "no process tells of its steps"},
    [HU_TOP_PROCESSES] = {"processes", "Processes", hu_top_columns_processes, "cpu", "no process is known here"},
};

bool hu_top_column_is_shown(const hu_top_column *c, const hu_top_model *m)
{
    return c->shown == HU_SHOWN || (c->shown == HU_SHOWN_FOR_NODES ? m->n_nodes > 1 : m->n_gpus > 0);
}

size_t hu_top_rows_count(const hu_top_model *m, hu_top_table_id t)
{
    const size_t n[HU_TOP_TABLES] = {m->n_nodes, m->n_gpus, m->n_jobs, m->n_ranks, m->n_processes};

    return n[t];
}

const void *hu_top_row(const hu_top_model *m, hu_top_table_id t, size_t i)
{
    switch (t) {
    case HU_TOP_NODES:
        return &m->nodes[i];
    case HU_TOP_GPUS:
        return &m->gpus[i];
    case HU_TOP_JOBS:
        return &m->jobs[i];
    case HU_TOP_RANKS:
        return &m->ranks[i];
    case HU_TOP_PROCESSES:
        return &m->processes[i];
    case HU_TOP_TABLES:
        break;
    }
    return NULL;
}

const char *hu_top_row_user(hu_top_table_id t, const void *row)
{
    const hu_top_job *job = t == HU_TOP_GPUS    ? ((const hu_top_gpu_row *)row)->job
                            : t == HU_TOP_JOBS  ? ((const hu_top_job_row *)row)->job
                            : t == HU_TOP_RANKS ? ((const hu_top_rank_row *)row)->job
                                                : NULL;

    if (t == HU_TOP_PROCESSES)
        return ((const hu_top_process_row *)row)->process->user;
    return job ? job->user : "";
}
