/* SPDX-License-Identifier: Apache-2.0
 * edition.h - what `holdup view` serves: one reading of its inputs, constant once it is there but for the query. */
#ifndef HU_CLI_EDITION_H
#define HU_CLI_EDITION_H

#include <stdatomic.h>

#include "cli/shared_options.h"
#include "cli/view_query.h"
#include "job/beside.h"
#include "job/job.h"
#include "timeline/timeline.h"

enum { HU_EDITION_PIXELS = 1600 }; /* of a timeline as it is first drawn */

typedef struct {
    unsigned         number; /* from 1 */
    hu_job           job;
    hu_beside        beside;
    hu_str           page;
    hu_sight_index **indexes; /* of the traces */
    hu_view_query    query;   /* what it changes is behind its lock */
    hu_arena        *arena;   /* all of it */
    atomic_int       holders;
} hu_edition;

/* What is read, and how: as the user said it, for every reading. */
typedef struct {
    const hu_shared *shared;
    char           **paths; /* as named */
    size_t           n;
    const char      *source; /* the same, as a shell takes it back; NULL: too many */
} hu_edition_source;

/*
 * Reads `inputs`, and what lies beside them; has one holder.  NULL, with the exit status in *status, once what was wrong
 * has been said.
 */
hu_edition *hu_edition_read(const hu_edition_source *source, const hu_inputs *inputs, unsigned number, int *status);

void hu_edition_hold(hu_edition *edition);

/* The last one frees it. */
void hu_edition_let_go(hu_edition *edition);

#endif
