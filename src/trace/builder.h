/* SPDX-License-Identifier: Apache-2.0
 * builder.h - the only way to make a trace.  All that an importer sees of the model.
 *
 * The first failure stays and every later call is a no-op, so an importer asks once, at the end.
 */
#ifndef HU_TRACE_BUILDER_H
#define HU_TRACE_BUILDER_H

#include "base/arena.h"
#include "base/error.h"
#include "base/limits.h"
#include "trace/trace.h"

typedef struct hu_builder hu_builder;

/* `name` is the file for messages and is copied.  NULL when there is no memory. */
hu_builder *hu_builder_new(const char *name, const hu_limits *limits);

/* Gives up; a builder that was frozen is gone already.  NULL is fine. */
void hu_builder_free(hu_builder *b);

/* Sorts, links parents, launches and flows, and hands over.  NULL on failure; the builder is gone either way. */
hu_trace *hu_builder_freeze(hu_builder *b, hu_error *err);

/*
 * Large files are built in pieces, side by side: a piece is a builder of its own for a stretch of the file, which is
 * joined behind what is in the whole by then.  The whole is then as if its importer had built it all by itself.  What
 * only importers of other formats build (hu_builder_begin, allocations of snapshots, CPU samples, devices, metadata,
 * aliases, descriptions of processes) must not be in a piece.  A failure of the piece is one of the whole.
 */
void hu_builder_join(hu_builder *whole, hu_builder *piece);

/* Empties a piece for another stretch, and keeps its memory.  False when there is none. */
bool hu_builder_clear(hu_builder *piece);

/* 0, or the first failure. */
int hu_builder_status(const hu_builder *b, hu_error *err);

/* Makes a failure of the importer stay, like one of the builder. */
int hu_builder_fail(hu_builder *b, int code, int64_t offset, const char *text);

/* An id for a text; 0 after a failure. */
uint32_t hu_builder_intern(hu_builder *b, hu_str text);
hu_str   hu_builder_text(const hu_builder *b, uint32_t id);

/* Another name of a slice's name; where two of one kind differ, it has none. */
void hu_builder_alias(hu_builder *b, hu_alias kind, uint32_t name, uint32_t alias);

/* Host threads and rows of notes are known by process and thread.  A text is given by its string id, with is_text. */
typedef struct {
    int64_t value;
    bool    is_text;
} hu_builder_id;

uint32_t hu_builder_track(hu_builder *b, hu_track_type type, hu_builder_id pid, hu_builder_id tid);
uint32_t hu_builder_stream(hu_builder *b, hu_builder_id pid, int64_t device, int64_t stream);
uint32_t hu_builder_counter(hu_builder *b, hu_builder_id pid, uint32_t name);

/* Names may come before or after the slices. */
void hu_builder_name_thread(hu_builder *b, hu_builder_id pid, hu_builder_id tid, uint32_t name);
void hu_builder_name_process(hu_builder *b, hu_builder_id pid, uint32_t name);

/* A row that has no thread: a stream. */
void hu_builder_name_track(hu_builder *b, uint32_t track, uint32_t name);

/* Of a process: who started it, 0 unknown; its arguments, a line each, 0 unknown.  What is told last counts. */
void hu_builder_describe_process(hu_builder *b, int64_t pid, int64_t parent_pid, uint32_t command);

/* What a format knows of rows that hold a device's work without saying so in a category. */
typedef struct {
    bool (*is_device)(hu_str process, int64_t *device); /* *device stays -1 where the name has no number */
    hu_kind (*kind)(hu_str process, hu_str thread, hu_str name);
    bool (*is_operators)(hu_str process);            /* of the host: ranges there are operators */
    bool (*is_steps)(hu_str process, hu_str thread); /* of a device: its slices are its steps, called by their numbers */
    hu_str (*device_name)(hu_str process);           /* "" where the process does not say what it is */
} hu_row_reader;

/* At the end of an import: rows of slices without categories that are a device's become streams. */
void hu_builder_settle_rows(hu_builder *b, const hu_row_reader *reader);

typedef struct {
    int64_t  start_ns, dur_ns;
    uint64_t correlation, external; /* 0 none; ids beyond 32 bits are renumbered */
    uint32_t track, name, detail;   /* detail: HU_NONE or what hu_builder_*_detail returned */
    hu_kind  kind;
} hu_builder_slice;

void hu_builder_add(hu_builder *b, const hu_builder_slice *slice);

/* B and E events: an end closes the youngest open slice of the same track, as the format says. */
void hu_builder_begin(hu_builder *b, const hu_builder_slice *slice);
void hu_builder_end(hu_builder *b, uint32_t track, int64_t time_ns);

/* The same for an end that says nothing of its kind: closes what began last in the row, be it work of the host or a note. */
void hu_builder_end_row(hu_builder *b, hu_builder_id pid, hu_builder_id tid, int64_t time_ns);

/* For formats that pair beginnings and ends themselves: the end of a slice that was added with dur_ns 0. */
void hu_builder_set_end(hu_builder *b, uint32_t slice, int64_t time_ns);

uint32_t hu_builder_op_detail(hu_builder *b, const hu_op_detail *row);
uint32_t hu_builder_kernel_detail(hu_builder *b, const hu_kernel_detail *row);
uint32_t hu_builder_copy_detail(hu_builder *b, const hu_copy_detail *row);
uint32_t hu_builder_call_detail(hu_builder *b, const hu_call_detail *row);
uint32_t hu_builder_sync_detail(hu_builder *b, const hu_sync_detail *row);
uint32_t hu_builder_python_detail(hu_builder *b, const hu_python_detail *row);
uint32_t hu_builder_os_detail(hu_builder *b, const hu_os_detail *row);
uint32_t hu_builder_omp_detail(hu_builder *b, const hu_omp_detail *row);
/* A row like another one, but for what it moved. */
uint32_t hu_builder_os_detail_like(hu_builder *b, uint32_t row, int64_t bytes);
uint32_t hu_builder_mpi_detail(hu_builder *b, const hu_mpi_detail *row);

/* These return 1 + row, as the rows that point to them store it; 0 after a failure. */
uint32_t hu_builder_op_extra(hu_builder *b, const hu_op_extra *row);
uint32_t hu_builder_wait_detail(hu_builder *b, const hu_wait_detail *row);
uint32_t hu_builder_geometry(hu_builder *b, const hu_geometry *row);
uint32_t hu_builder_collective_detail(hu_builder *b, const hu_collective_detail *row);

void hu_builder_memory(hu_builder *b, const hu_memory_event *event);
void hu_builder_managed(hu_builder *b, const hu_managed_event *event);
void hu_builder_segment(hu_builder *b, const hu_memory_segment *segment);
void hu_builder_block(hu_builder *b, const hu_memory_block *row);
void hu_builder_memory_action(hu_builder *b, const hu_memory_action *row);
void hu_builder_memory_mark(hu_builder *b, const hu_memory_mark *row);

/* How many allocations and releases there are so far. */
uint32_t hu_builder_memory_count(const hu_builder *b);
void     hu_builder_sample(hu_builder *b, uint32_t track, int64_t time_ns, double value);
/* Returns 1 + row, as callees and samples store it, the same for equal ones; 0 after a failure. */
uint32_t hu_builder_cpu_stack(hu_builder *b, const hu_cpu_stack *stack);
void     hu_builder_cpu_sample(hu_builder *b, const hu_cpu_sample *sample);
/* A state of a thread that lives; of overlapping ones of a thread the earlier counts. */
void hu_builder_stretch(hu_builder *b, const hu_stretch *stretch);
void hu_builder_wake(hu_builder *b, const hu_wakeup *wake);
void hu_builder_flow(hu_builder *b, const hu_flow *flow);
void hu_builder_device(hu_builder *b, const hu_device *device);
void hu_builder_metadata(hu_builder *b, hu_str key, hu_str json);

/* The importer fills these as it learns them; texts must come from hu_builder_keep. */
hu_trace_info *hu_builder_info(hu_builder *b);
hu_quality    *hu_builder_quality(hu_builder *b);
hu_str         hu_builder_keep(hu_builder *b, hu_str text);

/* The end of the data came too early.  `why` may be "". */
void hu_builder_truncated(hu_builder *b, int64_t offset, const char *why);

const hu_os_detail *hu_builder_get_os_detail(const hu_builder *b, uint32_t row);

/* When slices so far begin and end, in order: those of track t are at[first[t], first[t + 1]).  Both are blocks of
   hu_arena_grow. */
typedef struct {
    int64_t *at;
    size_t  *first;
    size_t   n_tracks;
} hu_builder_moments;

/* False: no memory. */
bool hu_builder_list_moments(const hu_builder *b, hu_arena *arena, hu_builder_moments *out);

size_t hu_builder_slice_count(const hu_builder *b);

/* When the first slice so far begins and the last one ends.  False: there is none. */
bool hu_builder_span(const hu_builder *b, int64_t *from_ns, int64_t *to_ns);

/* The device of all streams; -1: of none, of several, or of one without a number. */
int64_t hu_builder_only_device(const hu_builder *b);

/* Slices so far by kind; for `holdup info`, which needs no frozen trace. */
void hu_builder_count_kinds(const hu_builder *b, int64_t counts[HU_KIND_COUNT]);

/* Is there a process whose name begins so? */
bool hu_builder_has_process(const hu_builder *b, hu_str prefix);

/* How many tracks of a type there are. */
size_t hu_builder_track_count(const hu_builder *b, hu_track_type type);

/* What another recording of the same operators says of one, by its external id: JSON lists as in hu_op_detail, "" not known.
   False: that one does not have it, or under another name. */
typedef bool hu_builder_inputs_of(void *context, uint32_t external, hu_str name, hu_str *dims, hu_str *types);

/* Asks about every operator with an external id; those without dims get what is said.  Returns how many were had; *filled:
   that got something. */
size_t hu_builder_fill_inputs(hu_builder *b, hu_builder_inputs_of *ask, void *context, size_t *filled);

/* Is there a thread of that process? */
bool hu_builder_has_pid(const hu_builder *b, int64_t pid);

/* The importer knows of a slice that it is a step. */
void hu_builder_mark_step(hu_builder *b);

/* Host annotations whose name begins with "ProfilerStep#", and what was marked. */
size_t hu_builder_step_count(const hu_builder *b);

const hu_device *hu_builder_devices(const hu_builder *b, size_t *n);

/* The device of that number; NULL: none was added. */
const hu_device *hu_builder_device_of(const hu_builder *b, int64_t id);

#endif
