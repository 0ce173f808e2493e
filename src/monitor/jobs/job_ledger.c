/* SPDX-License-Identifier: Apache-2.0
 * job_ledger.c - a small table, searched from the front. */
#include "monitor/jobs/job_ledger.h"

#include <stdio.h>
#include <string.h>

static const int64_t KEEP_NS = INT64_C(600) * 1000000000;

hu_ledger_row *hu_ledger_find(hu_job_ledger *l, const char *uuid, uint64_t job, int64_t now_ns)
{
    hu_ledger_row *at = NULL;

    for (size_t i = 0; i < HU_LEDGER_ROWS; i++) {
        hu_ledger_row *row = &l->row[i];
        const bool     is_old = !row->uuid[0] || now_ns - row->seen_ns > KEEP_NS || row->seen_ns > now_ns;

        if (!is_old && row->job == job && strncmp(row->uuid, uuid, sizeof row->uuid) == 0)
            return row;
        if (is_old && !at)
            at = row;
    }
    if (at) {
        *at = (hu_ledger_row){.job = job, .seen_ns = now_ns};
        snprintf(at->uuid, sizeof at->uuid, "%s", uuid);
    }
    return at;
}
