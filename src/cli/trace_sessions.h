/* SPDX-License-Identifier: Apache-2.0
 * trace_sessions.h - runs of `holdup run` that take part in a `holdup trace`: started and stopped with it, and their records
 * written beside its traces. */
#ifndef HU_CLI_TRACE_SESSIONS_H
#define HU_CLI_TRACE_SESSIONS_H

#include "cli/trace_target.h"
#include "record/registry.h"

enum { HU_TRACE_SESSION_FILES = 8 }; /* that are named; there may be more */

typedef struct {
    hu_registry_entry entry;
    hu_trace_state    state;          /* never WAITING, BUSY or EMPTY */
    bool              records_anyhow; /* it did before; only what it has is written */
    char              paths[HU_TRACE_SESSION_FILES][HU_KINETO_PATH_BYTES];
    size_t            n_paths, n_files;
    int64_t           bytes;
    char              why[HU_TRACE_WHY_BYTES];
} hu_trace_session;

typedef struct {
    hu_trace_session *at;
    size_t            n;
} hu_trace_sessions;

/* Which are meant: all, those of this job or name, or those that one of the processes belongs to. */
typedef struct {
    bool         all;
    const char  *job; /* NULL: not by job */
    const pid_t *pids;
    size_t       n_pids;
} hu_trace_choice;

/* Active runs of this user that are meant; a list that cannot be read is empty.  HU_ENOMEM. */
int hu_trace_sessions_find(const hu_trace_choice *choice, hu_arena *arena, hu_trace_sessions *out, hu_error *err);

void hu_trace_session_start(hu_trace_session *s);
void hu_trace_session_stop(hu_trace_session *s); /* then it is WRITING */

/* Writes what it has recorded, as FOLDER/HOST-NAME[-rankN].pftrace: WRITTEN or FAILED. */
void hu_trace_session_save(hu_trace_session *s, const char *folder, const char *host, hu_arena *arena);

#endif
