/* SPDX-License-Identifier: Apache-2.0
 * perf_stream.h - the records of all files perf.CPU of a session, in the order of time. */
#ifndef HU_RECORD_PERF_STREAM_H
#define HU_RECORD_PERF_STREAM_H

#include "base/arena.h"
#include "base/error.h"
#include "record/perf_file.h"

typedef struct {
    uint32_t    type; /* PERF_RECORD_* or HU_PERF_RECORD_CUT */
    uint16_t    misc;
    uint32_t    cpu;      /* of the file */
    uint32_t    pid, tid; /* who ran when it was written */
    int64_t     time_ns;  /* never less than that of the record before */
    const char *body;     /* what lies between the header and the trailer; of a sample: all */
    size_t      n;
} hu_perf_record;

typedef struct hu_perf_stream hu_perf_stream;

/* NULL: out of memory, or the directory cannot be read.  A file that is none of ours is left out and counted. */
hu_perf_stream *hu_perf_stream_open(const char *session, hu_arena *arena, hu_error *err);

/* False at the end.  The record is valid until the next call. */
bool hu_perf_stream_next(hu_perf_stream *stream, hu_perf_record *out);

uint32_t hu_perf_stream_files(const hu_perf_stream *stream);
/* Heads and records that were not understood; the rest of their file is left out. */
uint64_t hu_perf_stream_malformed(const hu_perf_stream *stream);
/* The head of the first file; NULL when there is none. */
const hu_perf_head *hu_perf_stream_head(const hu_perf_stream *stream);

void hu_perf_stream_close(hu_perf_stream *stream);

#endif
