/* SPDX-License-Identifier: Apache-2.0
 * outside.c - processes that were not recorded from inside. */
#include "render/table/cells.h"

HU_NUMBER(cpu, outside, r->cpu_ns)
HU_NUMBER(life, outside, r->life_ns)
HU_NUMBER(pid, outside, r->pid)
HU_NUMBER(uid, outside, r->uid < 0 ? HU_ABSENT : (double)r->uid)
HU_PLAIN_TEXT_OF(name, d->outside.at, r->name)
HU_PLAIN_TEXT_OF(why, d->outside.at, r->why)
HU_ROWS(rows, outside)

/* clang-format off */
static const hu_column columns[] = {
    {"cpu_ns", "CPU time", HU_CELL_NS, 9, NULL, cpu,
     .help = "CPU time of all its threads, by the kernel."},
    {"life_ns", "seen for", HU_CELL_NS, 9, NULL, life,
     .help = "How long the program ran, as the recorder saw it."},
    {"pid", "pid", HU_CELL_ID, 8, NULL, pid,
     .help = "Number of the process."},
    {"uid", "user", HU_CELL_COUNT, 6, NULL, uid,
     .help = "Number of the user it ran as; null where that is not known."},
    {"name", "process", HU_CELL_TEXT, 16, NULL, name,
     .help = "Name of the process."},
    {"why", "why", HU_CELL_TEXT, 0, NULL, why,
     .help = "Why the recorder was not in it, or could not write."},
};

static const hu_table processes = {
    .key = "processes", .title = "Processes not recorded from inside",
    .columns = columns, .n_columns = HU_COUNT(columns), .rows = rows,
    .empty = "none",
    .about = "Processes of the job that ran for 80 ms or more without the recorder: their ranges and calls are not known.",
};
/* clang-format on */

HU_FACT(n, (double)d->outside.n)
HU_FACT(cpu_sum, (double)d->outside.cpu_ns)

/* clang-format off */
static const hu_column facts[] = {
    {"process_count", "processes", HU_CELL_COUNT, 0, NULL, n,
     .help = "Number of processes that were not recorded from inside."},
    {"cpu_ns", "their CPU time", HU_CELL_NS, 0, NULL, cpu_sum,
     .help = "Sum of their CPU time."},
};
/* clang-format on */

static const hu_table *const tables[] = {&processes};

static bool has(const hu_rank *rank)
{
    return rank->digest->outside.n > 0;
}

/* clang-format off */
const hu_view hu_view_outside = {
    .word = "outside", .key = "outside", .facts = facts, .n_facts = HU_COUNT(facts), .tables = tables,
    .n_tables = HU_COUNT(tables), .has = has,
    .about = "processes of the job that the recorder was not in, and why",
};
/* clang-format on */
