/* SPDX-License-Identifier: Apache-2.0
 * memory_pieces.c - undoes a history from its end.
 *
 * A snapshot has the segments and blocks of its end, and a history that may have lost its beginning; so any moment that the
 * history covers is the end with what came later undone.  Segments and allocations are ranges of addresses that count +1;
 * undoing one that came counts -1, undoing one that went +1.  Added up along the addresses each must be 0 or 1 everywhere:
 * where it is not, the history does not belong to the end, and nothing is said.
 */
#include "analyze/memory_pieces.h"

#include <stdlib.h>

#include "base/map.h"

/*
 * Of CUDACachingAllocator.cpp: how segments that grow take memory (kLargeBuffer), the size of the segments for allocations
 * up to 1 MiB (kSmallBuffer), what sizes are rounded up to (kMinBlockSize), and the rest of a block of a larger segment that
 * is not worth splitting off (kSmallSize).
 */
static const int64_t PAGE = INT64_C(20) << 20, SMALL_SEGMENT = INT64_C(2) << 20, ROUND = 512, NO_SPLIT = INT64_C(1) << 20;

/* Something begins or ends at an address. */
typedef struct {
    uint64_t at;
    int32_t  reserved, held;
    int32_t  starts; /* segments of a fixed size: free space does not reach across their borders */
    int32_t  large;  /* of them, those that keep the rest of a block */
    int32_t  asked;  /* ranges of which only is known what was asked for: a rest may belong to them */
} edge;

typedef HU_VEC(edge) edges;

typedef struct {
    hu_memory_pieces *out;
    int64_t           reserved, held, asked; /* ranges over this address */
    int64_t           piece;                 /* free bytes until here, without a break */
    bool              follows;               /* something lies before it that a rest may belong to */
    bool              is_large;              /* the segment keeps the rest of a block */
    int64_t           segment_free, segment_held;
    int64_t           segment_pages;
} sweep;

static bool add(hu_arena *arena, edges *list, uint64_t address, int64_t bytes, edge change)
{
    const edge from = {address, change.reserved, change.held, change.starts, change.large, change.asked};
    const edge to = {address + (uint64_t)bytes, -change.reserved, -change.held, 0, 0, -change.asked};

    return bytes <= 0 || (hu_vec_push(arena, list, from) && hu_vec_push(arena, list, to));
}

static bool add_fixed(hu_arena *arena, edges *list, uint64_t address, int64_t bytes, int32_t sign)
{
    return add(arena, list, address, bytes,
               (edge){.reserved = sign, .starts = sign, .large = bytes > SMALL_SEGMENT ? sign : 0});
}

/* Sizes of what is held, by address: a block is as large as the end says, or as was asked for, rounded up. */
typedef struct {
    int64_t bytes;
    bool    is_asked;
} block_size;

typedef struct {
    hu_map at; /* address -> place in list */
    HU_VEC(block_size) list;
} sizes;

static bool note_size(sizes *s, hu_arena *arena, uint64_t address, block_size size)
{
    uint32_t *place = hu_map_put(&s->at, address);

    if (!place || !hu_vec_push(arena, &s->list, size))
        return false;
    *place = (uint32_t)s->list.n - 1;
    return true;
}

static bool add_end(const hu_trace *trace, int32_t type, int32_t device, hu_arena *arena, edges *list, sizes *held)
{
    size_t                   n_segments, n_blocks;
    const hu_memory_segment *segments = hu_trace_segments(trace, &n_segments);
    const hu_memory_block   *blocks = hu_trace_blocks(trace, &n_blocks);
    bool                     ok = true;

    for (size_t i = 0; ok && i < n_segments; i++)
        if (segments[i].device_type == type && segments[i].device == device)
            ok = segments[i].is_expandable
                     ? add(arena, list, segments[i].address, segments[i].total_bytes, (edge){.reserved = 1})
                     : add_fixed(arena, list, segments[i].address, segments[i].total_bytes, 1);
    for (size_t i = 0; ok && i < n_blocks; i++) {
        const hu_memory_segment *of = &segments[blocks[i].segment];

        if (of->device_type == type && of->device == device && blocks[i].state != HU_MEMORY_FREE)
            ok = add(arena, list, blocks[i].address, blocks[i].bytes, (edge){.held = 1}) &&
                 note_size(held, arena, blocks[i].address, (block_size){blocks[i].bytes, false});
    }
    return ok;
}

static bool undo_action(hu_arena *arena, edges *list, const hu_memory_action *a)
{
    switch ((hu_memory_deed)a->deed) {
    case HU_MEMORY_SEGMENT_ALLOC:
        return add_fixed(arena, list, a->address, a->bytes, -1);
    case HU_MEMORY_SEGMENT_FREE:
        return add_fixed(arena, list, a->address, a->bytes, 1);
    case HU_MEMORY_SEGMENT_MAP:
        return add(arena, list, a->address, a->bytes, (edge){.reserved = -1});
    case HU_MEMORY_SEGMENT_UNMAP:
        return add(arena, list, a->address, a->bytes, (edge){.reserved = 1});
    default:
        return true;
    }
}

static bool undo_event(hu_arena *arena, edges *list, const hu_memory_event *e, sizes *held)
{
    const int64_t    bytes = e->bytes > 0 ? e->bytes : -e->bytes;
    const uint32_t   known = hu_map_get(&held->at, e->address);
    const block_size asked = {(bytes + ROUND - 1) / ROUND * ROUND, true};
    const block_size size = e->bytes > 0 && known != HU_MAP_NONE ? held->list.at[known] : asked;

    if (e->bytes > 0)
        return add(arena, list, e->address, size.bytes, (edge){.held = -1, .asked = -size.is_asked});
    return add(arena, list, e->address, size.bytes, (edge){.held = 1, .asked = 1}) &&
           note_size(held, arena, e->address, size);
}

static int by_address(const void *left, const void *right)
{
    const edge *a = left, *b = right;

    return (a->at > b->at) - (a->at < b->at);
}

static void end_piece(sweep *s)
{
    if (s->piece == 0)
        return;
    if (s->follows && s->is_large && s->piece <= NO_SPLIT) {
        s->out->held_bytes += s->piece; /* the rest of the block before it */
        s->segment_held += s->piece;
        s->piece = 0;
        return;
    }
    s->out->free_bytes += s->piece;
    s->out->free_blocks++;
    if (s->piece > s->out->largest_free_bytes)
        s->out->largest_free_bytes = s->piece;
    s->segment_free += s->piece;
    s->segment_pages += s->piece / PAGE * PAGE;
    s->piece = 0;
}

static void end_segment(sweep *s)
{
    end_piece(s);
    s->out->empty_bytes += s->segment_held ? 0 : s->segment_free;
    s->out->page_bytes += s->segment_held ? s->segment_pages : s->segment_free;
    s->segment_free = s->segment_held = s->segment_pages = 0;
}

/* All edges of one address; false: more than one range lies over another, or fewer than none. */
static bool pass(sweep *s, const edge *sum)
{
    if (sum->starts > 0 || (s->reserved == 1 && s->reserved + sum->reserved == 0))
        end_segment(s), s->follows = false;
    if (sum->starts > 0 || s->reserved == 0)
        s->is_large = sum->large > 0;
    s->reserved += sum->reserved;
    s->held += sum->held;
    s->asked += sum->asked;
    if (s->held || !s->reserved)
        end_piece(s);
    return s->reserved >= 0 && s->reserved <= 1 && s->held >= 0 && s->held <= s->reserved;
}

static bool walk(const edges *list, hu_memory_pieces *out)
{
    sweep s = {.out = out};

    for (size_t i = 0, end; i < list->n; i = end) {
        edge    sum = {.at = list->at[i].at};
        int64_t bytes;

        for (end = i; end < list->n && list->at[end].at == sum.at; end++) {
            sum.reserved += list->at[end].reserved;
            sum.held += list->at[end].held;
            sum.starts += list->at[end].starts;
            sum.large += list->at[end].large;
            sum.asked += list->at[end].asked;
        }
        if (!pass(&s, &sum))
            return false;
        bytes = end < list->n ? (int64_t)(list->at[end].at - sum.at) : 0;
        if (s.reserved)
            out->reserved_bytes += bytes;
        s.follows = s.held ? s.asked > 0 : s.follows && s.reserved;
        if (s.held) {
            out->held_bytes += bytes;
            s.segment_held += bytes;
        } else if (s.reserved) {
            s.piece += bytes;
        }
    }
    return s.reserved == 0 && s.held == 0;
}

bool hu_memory_pieces_at(const hu_trace *trace, int32_t device_type, int32_t device, size_t events, size_t actions,
                         hu_arena *scratch, hu_memory_pieces *out)
{
    size_t                  n_events, n_actions, n_segments;
    const hu_memory_event  *e = hu_trace_memory(trace, &n_events);
    const hu_memory_action *a = hu_trace_memory_actions(trace, &n_actions);
    edges                   list = {0};
    sizes                   held = {0};
    bool                    ok;

    *out = (hu_memory_pieces){0};
    hu_trace_segments(trace, &n_segments);
    if (n_segments == 0)
        return true;
    ok = hu_map_init(&held.at, scratch, 1024) && add_end(trace, device_type, device, scratch, &list, &held);
    for (size_t i = n_events; ok && i > events; i--)
        if (e[i - 1].device_type == device_type && e[i - 1].device == device)
            ok = undo_event(scratch, &list, &e[i - 1], &held);
    for (size_t i = actions; ok && i < n_actions; i++)
        if (a[i].device_type == device_type && a[i].device == device)
            ok = undo_action(scratch, &list, &a[i]);
    if (!ok)
        return false;
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, by_address);
    out->is_known = walk(&list, out);
    if (!out->is_known)
        *out = (hu_memory_pieces){0};
    return true;
}
