/* SPDX-License-Identifier: Apache-2.0
 * builder_state.h - what the parts of the builder share; private to this folder. */
#ifndef HU_TRACE_BUILDER_STATE_H
#define HU_TRACE_BUILDER_STATE_H

#include "trace/builder.h"
#include "trace/columns.h"

enum { HU_SEEN_SLOTS = 4096 };

/* Ids beyond 32 bits are rare (some writers hash); they get numbers from the top, where no profiler counts. */
static const uint32_t HU_FIRST_WIDE_ID = 0xffff0000u;

/* Tables whose rows come again and again: a kernel is launched a million times in a dozen ways. */
enum { HU_SEEN_OPS, HU_SEEN_KERNELS, HU_SEEN_COPIES, HU_SEEN_CALLS, HU_SEEN_TABLES };

typedef struct {
    uint32_t slice, below; /* below: the open slice under it on the same track, or HU_NONE */
} hu_open_slice;

typedef struct {
    hu_builder_id pid, tid; /* tid unused when it names a process */
    uint32_t      name;
} hu_pending_name;

typedef struct {
    int64_t  pid, parent_pid;
    uint32_t command;
} hu_described_process;

struct hu_builder {
    hu_trace *trace; /* its arena holds everything but the builder's own tables */
    hu_arena *scratch;
    hu_limits limits;
    hu_error  error;
    hu_str    name;
    uint32_t *track_slots; /* 1 + track; 0 free */
    size_t    track_mask;
    uint32_t  last_track;
    hu_map    wide_ids;
    HU_VEC(uint64_t) wide; /* in the order of their numbers */
    hu_map open_top;       /* track -> innermost open begin */
    hu_map stack_of;       /* hash of a call chain's last step -> 1 + row */
    HU_VEC(hu_open_slice) open;
    HU_VEC(hu_pending_name) thread_names;
    HU_VEC(hu_pending_name) process_names;
    HU_VEC(hu_described_process) processes;
    hu_map process_of;              /* number -> row of `processes` */
    HU_VEC(uint32_t) numbers;       /* of a piece, what join.c needs to know of it */
    size_t    n_marked;             /* slices that are steps */
    uint32_t *seen[HU_SEEN_TABLES]; /* hash of a row -> 1 + the last row with it; 0 none */
};

static inline void hu_builder_no_memory(hu_builder *b)
{
    if (!b->error.code)
        hu_fail_memory(&b->error);
}

static inline bool hu_builder_failed(const hu_builder *b)
{
    return b->error.code != 0;
}

/* The track that is like `want`; a new one where there is none.  0 after a failure. */
uint32_t hu_builder_find_track(hu_builder *b, const hu_track *want);

/* The texts are larger than the limit. */
void hu_builder_fail_texts(hu_builder *b);

/* Room for `more` slices; false after a failure, the limit of events among them. */
bool hu_builder_make_room(hu_builder *b, size_t more);

/* The number of an id that does not fit 32 bits, or is one of such numbers: HU_FIRST_WIDE_ID and on.  0 after a failure. */
uint32_t hu_builder_number_wide(hu_builder *b, uint64_t id);

#endif
