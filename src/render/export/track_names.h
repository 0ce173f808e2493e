/* SPDX-License-Identifier: Apache-2.0
 * track_names.h - what to call a process, a thread and a stream. */
#ifndef HU_RENDER_EXPORT_TRACK_NAMES_H
#define HU_RENDER_EXPORT_TRACK_NAMES_H

#include "base/arena.h"
#include "trace/trace.h"

/* "pt_main_thread", "thread 4711", "GPU 0 / stream 7"; in `arena`, p NULL when there is no memory. */
hu_str hu_track_name(const hu_trace *trace, const hu_track *track, hu_arena *arena);

/* "rank 3 · python", "process 4711"; `index` is the number of the trace where it names no rank, -1 for none. */
hu_str hu_track_process_name(const hu_trace *trace, const hu_track *track, int64_t index, hu_arena *arena);

/* A process or thread as text: its number, or the text that the file has in its place. */
hu_str hu_track_id(const hu_trace *trace, int64_t id, bool is_text, hu_arena *arena);

/* "rank 3" where the trace says so, else "trace 3" by `index`; "" for neither (index -1). */
hu_str hu_track_rank(const hu_trace *trace, int64_t index, hu_arena *arena);

/* The pieces as one text; p NULL when there is no memory. */
hu_str hu_track_join(hu_arena *arena, const hu_str *pieces, size_t n);

#endif
