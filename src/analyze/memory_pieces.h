/* SPDX-License-Identifier: Apache-2.0
 * memory_pieces.h - what an allocator had of a device at one moment, and in which pieces. */
#ifndef HU_ANALYZE_MEMORY_PIECES_H
#define HU_ANALYZE_MEMORY_PIECES_H

#include "base/arena.h"
#include "trace/trace.h"

typedef struct {
    int64_t reserved_bytes, held_bytes;
    int64_t free_bytes, free_blocks, largest_free_bytes; /* reserved, and held by nobody */
    int64_t empty_bytes; /* of free_bytes, in segments that nobody holds anything of: empty_cache gives them back */
    int64_t page_bytes;  /* of free_bytes, in empty segments and whole pages of 20 MiB: what segments that grow could move */
    bool    is_known;    /* false: no segments recorded, or the history contradicts them */
} hu_memory_pieces;

/*
 * Of a device, when `events` allocations and releases and `actions` actions had happened: the end of the snapshot, with all
 * that came later undone.  Returns false when there is no memory.
 */
bool hu_memory_pieces_at(const hu_trace *trace, int32_t device_type, int32_t device, size_t events, size_t actions,
                         hu_arena *scratch, hu_memory_pieces *out);

#endif
