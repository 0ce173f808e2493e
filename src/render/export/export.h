/* SPDX-License-Identifier: Apache-2.0
 * export.h - doors to the viewers that people know: the same slices in the files that those viewers read.
 *
 * One row for each format.  A writer streams: it holds what it needs for one trace, never the file.
 */
#ifndef HU_RENDER_EXPORT_EXPORT_H
#define HU_RENDER_EXPORT_EXPORT_H

#include "base/interval.h"
#include "base/out.h"
#include "trace/trace.h"

/* One rank, and which piece of its time: [INT64_MIN, INT64_MAX) for all. */
typedef struct {
    const hu_trace *trace;
    hu_interval     window;
} hu_export_part;

typedef struct {
    const hu_export_part *parts;
    size_t                n;
    bool                  by_device;  /* folded stacks weigh device time instead of the host's, */
    bool                  by_samples; /* or the CPU time that samples stand for */
} hu_export;

typedef struct {
    const char *name;   /* --format */
    const char *what;   /* one line about it */
    const char *suffix; /* of its files, from the dot on */
    const char *next;   /* what to do with the file */
    bool        is_binary;
    /* Returns 0 or HU_ENOMEM; what could not be written, `out` says when it is closed. */
    int (*write)(const hu_export *e, hu_out *out, hu_error *err);
} hu_export_format;

extern const hu_export_format *const hu_export_formats[]; /* ends with NULL */

extern const hu_export_format hu_export_perfetto, hu_export_chrome, hu_export_speedscope, hu_export_folded, hu_export_pprof,
    hu_export_csv;

/* One whole trace as a .pftrace. */
int hu_perfetto_write(const hu_trace *trace, hu_out *out, hu_error *err);

/* The whole of a trace as a part. */
static inline hu_export_part hu_export_all(const hu_trace *trace)
{
    return (hu_export_part){trace, {INT64_MIN, INT64_MAX}};
}

/* Is any moment of this slice inside of the part's window? */
static inline bool hu_export_keeps(const hu_export_part *part, const hu_slices *s, uint32_t slice)
{
    const int64_t start = s->start_ns[slice], end = start + s->dur_ns[slice];

    return start < part->window.end_ns && (start >= part->window.start_ns || end > part->window.start_ns);
}

/* How much of it. */
int64_t hu_export_inside_ns(const hu_export_part *part, const hu_slices *s, uint32_t slice);

/* What to add to times of this trace for ns since 1970, where the file said so; else 0. */
int64_t hu_export_base_ns(const hu_trace *trace);

/* The earliest start of any slice that is kept, bases included; 0 when there is none. */
int64_t hu_export_origin_ns(const hu_export *e);

/* Slices that are kept. */
size_t hu_export_count(const hu_export *e);

#endif
