/* SPDX-License-Identifier: Apache-2.0
 * view_query.h - SQL that the served page asks: one connection that can only read, one statement at a time. */
#ifndef HU_CLI_VIEW_QUERY_H
#define HU_CLI_VIEW_QUERY_H

#include <pthread.h>

#include "cli/server.h"
#include "job/job.h"
#include "query/query.h"

enum { HU_VIEW_ROWS = 10000, HU_VIEW_SECONDS = 10 };

typedef struct {
    const hu_job   *job;
    pthread_mutex_t lock;   /* of what follows */
    hu_query       *query;  /* NULL until somebody asks */
    hu_trace      **traces; /* of the ranks */
} hu_view_query;

void hu_view_query_init(hu_view_query *q, const hu_job *job);
void hu_view_query_free(hu_view_query *q);

/*
 * {"columns": [], "rows": [[]], "is_cut": bool}, at most HU_VIEW_ROWS.  Returns 0, HU_ENOMEM, or HU_EUSAGE with SQLite's
 * message.
 */
int hu_view_query_answer(hu_view_query *q, const char *sql, hu_answer *a, hu_error *err);

#endif
