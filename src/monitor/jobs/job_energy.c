/* SPDX-License-Identifier: Apache-2.0
 * job_energy.c - a stretch goes from one change of the counter to the next; it was idle where all looks in it were. */
#include "monitor/jobs/job_energy.h"

#include <stddef.h>

static const int64_t KEEP_NS = INT64_C(600) * 1000000000; /* as rows of the ledger */

const hu_ledger_joules *hu_job_energy_find(const hu_job_ledger *l, uint64_t job)
{
    for (size_t i = 0; i < HU_LEDGER_JOBS; i++)
        if (l->joules[i].seen_ns && l->joules[i].job == job)
            return &l->joules[i];
    return NULL;
}

/* NULL: all are of jobs that were there lately. */
static hu_ledger_joules *find(hu_job_ledger *l, uint64_t job, int64_t now_ns)
{
    hu_ledger_joules *at = NULL;

    for (size_t i = 0; i < HU_LEDGER_JOBS; i++) {
        hu_ledger_joules *j = &l->joules[i];
        const bool        is_old = !j->seen_ns || now_ns - j->seen_ns > KEEP_NS || j->seen_ns > now_ns;

        if (!is_old && j->job == job)
            return j;
        if (is_old && !at)
            at = j;
    }
    if (at)
        *at = (hu_ledger_joules){.job = job, .seen_ns = now_ns};
    return at;
}

void hu_job_energy_take(hu_job_ledger *l, hu_ledger_row *row, const hu_energy_look *look)
{
    hu_ledger_joules *sum = look->joules > 0 && look->is_alone ? find(l, row->job, look->now_ns) : NULL;

    if (!sum) {
        row->joules = 0;
        row->has_change = false;
        return;
    }
    sum->seen_ns = look->now_ns;
    sum->has_gpu = true;
    sum->has_waited |= look->waits >= 0;
    row->busy_ns += look->is_idle ? 0 : look->step_ns;
    row->waits = look->waits < 0 ? 1 : look->waits > row->waits ? look->waits : row->waits;
    if (look->joules > row->joules && row->has_change) {
        sum->all += look->joules - row->joules;
        if (row->busy_ns == 0)
            sum->idle += look->joules - row->joules;
        else
            sum->waited += row->waits * (look->joules - row->joules);
    }
    if (look->joules != row->joules) {
        row->has_change = row->joules > 0 && look->joules > row->joules; /* less: the driver was loaded anew */
        row->busy_ns = 0;
        row->waits = 0;
        row->joules = look->joules;
    }
}

void hu_job_energy_take_cpu(hu_job_ledger *l, uint64_t job, double joules, int64_t now_ns)
{
    hu_ledger_joules *sum = find(l, job, now_ns);

    if (!sum)
        return;
    sum->seen_ns = now_ns;
    sum->has_cpu = true;
    sum->cpu += joules;
}
