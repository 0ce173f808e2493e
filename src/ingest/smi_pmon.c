/* SPDX-License-Identifier: Apache-2.0
 * smi_pmon.c - a heading that comes again now and then, its units, and a line for each process, GPU and look.
 *
 * Traps: groups of -s come in the order in which they are named, so the heading says what a column is; "-" is no sample,
 * and as a process no process; a command may hold blanks, and is the rest of its line.
 */
#include "ingest/smi_pmon.h"

#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "ingest/node_time.h"
#include "ingest/smi_word.h"

enum { MIB = 1 << 20, TIME_BYTES = 32, MOST_PROCESSES = 1024 };

typedef enum { OTHER, GPU, DATE, CLOCK, PID, TYPE, BUSY, MEMORY_BUSY, MEMORY, COMMAND, COLUMNS } meaning;

static const char *const names[COLUMNS] = {
    [GPU] = "gpu", [DATE] = "Date",       [CLOCK] = "Time", [PID] = "pid",        [TYPE] = "type",
    [BUSY] = "sm", [MEMORY_BUSY] = "mem", [MEMORY] = "fb",  [COMMAND] = "command"};

bool hu_smi_pmon_heading(hu_smi_pmon *p, hu_str line)
{
    hu_smi_pmon out = {.last = p->last};
    bool        has[COLUMNS] = {false};
    size_t      at = 1;
    hu_str      word;

    line = hu_str_trim(line);
    if (line.n == 0 || line.p[0] != '#')
        return false;
    for (; out.n < HU_SMI_PMON_COLUMNS && hu_smi_word(line, &at, &word); out.n++)
        for (meaning k = GPU; k < COLUMNS; k++)
            if (hu_str_equal(word, hu_str_of(names[k]))) {
                out.columns[out.n] = (uint8_t)k;
                has[k] = true;
            }
    if (!has[GPU] || !has[PID] || !(has[BUSY] || has[MEMORY] || has[COMMAND]))
        return false;
    *p = out;
    return true;
}

static void add(hu_node_sum *sum, hu_str word, double factor)
{
    double value;

    if (!hu_node_number(word, &value) || !(value >= 0 && value < 1e9))
        return;
    value *= factor;
    sum->first = sum->n ? sum->first : value;
    sum->least = sum->n ? fmin(sum->least, value) : value;
    sum->most = sum->n ? fmax(sum->most, value) : value;
    sum->last = value;
    sum->sum += value;
    sum->n++;
}

/* The process of a GPU, a new one where there was none; NULL: one too many, or no memory. */
static hu_node_process *process_of(hu_smi_pmon *p, hu_node_sink *sink, uint32_t gpu, int64_t pid)
{
    hu_node_log *log = sink->log;

    for (size_t i = 0; i < log->processes.n; i++) {
        const size_t place = (p->last + 1 + i) % log->processes.n;

        if (log->processes.at[place].gpu == gpu && log->processes.at[place].pid == pid) {
            p->last = place;
            return &log->processes.at[place];
        }
    }
    if (log->processes.n == MOST_PROCESSES)
        return NULL;
    if (!hu_vec_push(log->arena, &log->processes,
                     ((hu_node_process){.gpu = gpu, .pid = pid, .type = HU_STR(""), .command = HU_STR("")}))) {
        sink->has_memory = false;
        return NULL;
    }
    p->last = log->processes.n - 1;
    return &log->processes.at[p->last];
}

/* What stands in a line, by its column. */
static bool split(const hu_smi_pmon *p, hu_str line, hu_str of[COLUMNS])
{
    size_t at = 0, n = 0;
    hu_str word;

    for (; n < p->n && hu_smi_word(line, &at, &word); n++) {
        const meaning k = (meaning)p->columns[n];

        if (k == COMMAND && n + 1 == p->n)
            word.n = hu_str_trim((hu_str){word.p, (size_t)(line.p + line.n - word.p)}).n;
        of[k] = word;
    }
    return n == p->n;
}

/* Unix time; 0: the line has none.  False: it has one that is none. */
static bool time_of(const hu_str of[COLUMNS], int64_t *ns)
{
    char text[TIME_BYTES];
    int  length;

    *ns = 0;
    if (of[DATE].n == 0 || of[CLOCK].n == 0)
        return true;
    length = snprintf(text, sizeof text, "%.*s %.*s", HU_FMT(of[DATE]), HU_FMT(of[CLOCK]));
    *ns = length > 0 && (size_t)length < sizeof text ? hu_node_time((hu_str){text, (size_t)length}) : 0;
    return *ns != 0;
}

bool hu_smi_pmon_line(hu_smi_pmon *p, hu_node_sink *sink, hu_str line)
{
    hu_str           of[COLUMNS] = {{0}};
    hu_node_who      who = hu_node_row_new().who;
    hu_node_process *process;
    int64_t          pid, ns;
    uint32_t         gpu;

    if (!split(p, line, of) || !hu_parse_i64(of[GPU], &who.number) || who.number < 0 || !time_of(of, &ns))
        return false;
    if (hu_str_equal(of[PID], HU_STR("-"))) /* nobody uses it */
        return true;
    if (!hu_parse_i64(of[PID], &pid) || pid <= 0 || (gpu = hu_node_gpu_of(sink, &who)) == HU_NONE)
        return false;
    process = process_of(p, sink, gpu, pid);
    if (!process)
        return true;
    if (process->looks++ == 0) {
        process->type = hu_node_keep(sink, of[TYPE]);
        process->command = hu_node_keep(sink, of[COMMAND]);
        process->first_ns = ns;
    }
    process->last_ns = ns;
    add(&process->busy, of[BUSY], 1);
    add(&process->memory_busy, of[MEMORY_BUSY], 1);
    add(&process->memory, of[MEMORY], MIB);
    return true;
}
