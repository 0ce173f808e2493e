/* SPDX-License-Identifier: Apache-2.0
 * notes.h - what was recorded of a slice beyond its time, as one short text; equal texts once. */
#ifndef HU_TIMELINE_NOTES_H
#define HU_TIMELINE_NOTES_H

#include "base/intern.h"
#include "base/map.h"
#include "base/json_out.h"
#include "trace/trace.h"

enum { HU_NOTES_MOST = 1 << 16, HU_NOTE_BYTES = 400 };

typedef struct {
    const hu_trace *trace;
    hu_slices       s;
    hu_map          seen; /* of what was recorded, by its hash, to the text */
    hu_intern       texts;
    bool            failed; /* no memory */
} hu_notes;

/* Returns 0 or HU_ENOMEM; the texts live in `arena`. */
int hu_notes_init(hu_notes *notes, const hu_trace *trace, hu_arena *arena, hu_error *err);

/* The text's number; 0 when there is nothing to say, or when there are HU_NOTES_MOST different ones already. */
uint32_t hu_notes_of(hu_notes *notes, uint32_t slice);

/* All texts by number, as an array; the first is "". */
void hu_notes_write(const hu_notes *notes, hu_json_out *j, const char *key);

#endif
