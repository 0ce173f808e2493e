/* SPDX-License-Identifier: Apache-2.0
 * to_pftrace.h - a session becomes Perfetto traces: one for each rank, or one for all where nobody has a rank. */
#ifndef HU_RECORD_TO_PFTRACE_H
#define HU_RECORD_TO_PFTRACE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/cgroup.h"
#include "record/cost.h"

/* What a file's name may be made of. */
typedef struct {
    int32_t  rank, local_rank, world_size, node; /* -1: not known */
    bool     is_launcher;                        /* of processes that stand above several ranks */
    bool     is_one_of_many;                     /* the session makes several files */
    uint32_t pid;                                /* of its first process */
    hu_str   program, job_id;                    /* of that: comm; "" */
} hu_pftrace_file;

typedef struct {
    const char         *session;
    const char         *host;    /* where it was recorded; NULL: here */
    const char         *command; /* what the user ran, as it may be shown; NULL: not known */
    int                 status;  /* of the command, as wait(2) gives it; -1: not known */
    const hu_cost      *cost;    /* of the whole session; NULL: not known */
    const hu_cpu_quota *quota;   /* of the command's control group, during the session; NULL: not known */
    /* Names a file.  0, or a failure, which ends it all. */
    int (*name)(void *context, const hu_pftrace_file *file, char *out, size_t room, hu_error *err);
    void *context;
} hu_pftrace_options;

typedef struct {
    hu_str   path; /* '\0' behind it */
    int32_t  rank; /* -1: none */
    uint64_t bytes, events;
} hu_pftrace_written;

typedef struct {
    HU_VEC(hu_pftrace_written) files;
    hu_str   tools, program;                   /* what ran the program (tools.h), and that; "" */
    size_t   processes, threads, ranks, alive; /* alive: still run, and may write what is not in the files */
    uint64_t events;
    uint64_t lost, lost_texts, overwritten; /* records, and texts of records, that the recorder had no room for */
    uint64_t torn, odd, gaps, cut_bytes;    /* what was damaged when a process or the machine died */
    uint64_t orphans, unfinished;           /* ends of nothing, left out; what we ended where a process did */
    size_t   unreadable;                    /* ring files that are none */
    char     first_unreadable[512];
} hu_pftrace_result;

/*
 * Writes all files of a session, each replaced only when it is whole.  Rings are left as they are.  HU_EEMPTY: nothing
 * was recorded.  On failure files that were written before stay, and are in `out`.
 */
int hu_pftrace_write(const hu_pftrace_options *options, hu_arena *arena, hu_pftrace_result *out, hu_error *err);

#endif
