/* SPDX-License-Identifier: Apache-2.0
 * rocpd.h - private to the readers of rocpd's databases (docs/formats/rocprof.md).
 *
 * Every table of a process has the process's own ending, rocpd_kernel_dispatch_0193f8..., so that databases can be joined.
 * Views without the ending unite them; they are not read, since a view can be anything.
 */
#ifndef HU_INGEST_ROCPD_H
#define HU_INGEST_ROCPD_H

#include "ingest/nsight.h"
#include "ingest/rocm.h"

enum { ROCPD_ENDING = 72, ROCPD_TABLE = ROCPD_ENDING + 40, ROCPD_MOST_SETS = 256 };

typedef struct {
    int64_t pid, order; /* order: among processes of the trace, whose correlations count each for itself */
    bool    is_wanted;
} rocpd_process;

typedef struct {
    uint32_t name, mangled;
    int64_t  registers;
} rocpd_symbol;

/* What an event says beside its row. */
typedef struct {
    int64_t  stack; /* the correlation */
    uint32_t category, message;
} rocpd_event;

/* Where rows of the newer schema ran. */
typedef struct {
    int64_t pid, tid, agent, queue, stream;
} rocpd_track;

typedef struct {
    nsight_reader n; /* the database, which is read as theirs */
    rocm_reader   rocm;
    char          ending[ROCPD_ENDING]; /* of the tables being read */
    int64_t       set;                  /* its number */
    int64_t       n_wanted;             /* processes so far */
    bool          has_streams, lacks_links;
    hu_map        processes, threads, symbols, events, tracks, times; /* id -> place in the lists below */
    HU_VEC(rocpd_process) process;
    HU_VEC(int64_t) tid;
    HU_VEC(rocpd_symbol) symbol;
    HU_VEC(rocpd_event) event;
    HU_VEC(rocpd_track) track;
    HU_VEC(int64_t) time;
} rocpd_reader;

/* "rocpd_string" with the ending; `out` has ROCPD_TABLE bytes. */
const char *rocpd_table(const rocpd_reader *r, const char *name, char *out);

/* Remembers that an id has the place `at`; false, and the builder knows, when there is no memory. */
bool rocpd_put(rocpd_reader *r, hu_map *map, int64_t id, size_t at);

/* Each row's agent by a number that no other set has. */
static inline int64_t rocpd_agent(const rocpd_reader *r, int64_t id)
{
    return id < 0 || id > INT32_MAX ? ROCM_NO_AGENT : (r->set << 32) + id;
}

/* NULL: not declared. */
const rocpd_process *rocpd_process_of(const rocpd_reader *r, int64_t id);

void rocpd_read_about(rocpd_reader *r); /* rocpd_about.c */
void rocpd_read_rows(rocpd_reader *r);  /* rocpd_rows.c */

#endif
