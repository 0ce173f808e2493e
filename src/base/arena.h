/* SPDX-License-Identifier: Apache-2.0
 * arena.h - one arena per unit of lifetime: whoever makes the arena owns all that is in it. */
#ifndef HU_BASE_ARENA_H
#define HU_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

typedef struct hu_arena hu_arena;

/* Returns NULL when there is no memory. */
hu_arena *hu_arena_new(void);

/* Gives back everything that came from the arena, and the arena.  NULL is fine. */
void hu_arena_free(hu_arena *arena);

/* `size` bytes aligned to 16, not cleared; NULL when there is no memory.  Small pieces come from shared chunks. */
void *hu_arena_alloc(hu_arena *arena, size_t size);

/* count * size bytes, cleared; NULL when there is no memory or the product overflows. */
void *hu_arena_calloc(hu_arena *arena, size_t count, size_t size);

/* The same of a map of its own: of what is mostly empty and stays, only pages that somebody writes to cost memory. */
void *hu_arena_sparse(hu_arena *arena, size_t size);

/*
 * A block of its own that can grow in place: `old` is NULL or came from this function.  Contents are kept, what is
 * new is not cleared.  Large blocks are page maps, so growing moves page tables instead of bytes, and only pages that
 * were touched cost memory.  On failure returns NULL and `old` stays valid.
 */
void *hu_arena_grow(hu_arena *arena, void *old, size_t size);

/* The same, and what is new is zero: of a large block, pages that nobody wrote to, which cost nothing until somebody does.
   Every call for a block has to be one of these. */
void *hu_arena_grow_cleared(hu_arena *arena, void *old, size_t old_size, size_t size);

/* Gives back what no page was touched of behind the first `size` bytes of a block of hu_arena_grow that grows no more.  NULL
   is fine. */
void hu_arena_trim(hu_arena *arena, void *payload, size_t size);

/* Gives back one block of hu_arena_grow before the arena goes.  NULL is fine. */
void hu_arena_drop(hu_arena *arena, void *payload);

/* A copy with a NUL behind it; p is NULL when there is no memory. */
hu_str hu_arena_copy(hu_arena *arena, hu_str s);

/* Was it ever asked for memory that there was not?  For a result that many small questions fill, whose words are no
   errors. */
bool hu_arena_lacked(const hu_arena *arena);

/* Bytes the arena holds from the system, address space of untouched pages included. */
size_t hu_arena_bytes(const hu_arena *arena);

static inline bool hu_mul_size(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

/*
 * A typed column that grows: HU_VEC(int64_t) starts; hu_vec_reserve(arena, &starts, 1) makes room and is false when
 * there is no memory; then starts.at[starts.n++] = value.
 */
#define HU_VEC(type)   \
    struct {           \
        type  *at;     \
        size_t n, cap; \
    }

#define hu_vec_reserve(arena, v, more) \
    ((v)->n + (more) <= (v)->cap ||    \
     hu_vec_make_room((arena), (void **)&(v)->at, &(v)->cap, (v)->n + (more), sizeof *(v)->at))

#define hu_vec_push(arena, v, value) (hu_vec_reserve((arena), (v), 1) ? ((v)->at[(v)->n++] = (value), true) : false)

bool hu_vec_make_room(hu_arena *arena, void **at, size_t *cap, size_t want, size_t item_bytes);

#endif
