/* SPDX-License-Identifier: Apache-2.0
 * arena.c - chunks for what is small and stays, page maps for columns that grow.
 *
 * Columns of a trace grow to hundreds of megabytes.  Doubling them by copying would touch each page twice and hold
 * both copies for a moment; mremap moves the page tables instead, and pages behind the end of the data are never
 * touched.  Maps of work that is done serve the next (spare.h); what is in them is not zero.  This, spare.c and input.c
 * are the only files that ask the system for memory.
 */
#include "base/arena.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/spare.h"

enum {
    FIRST_CHUNK_BYTES = 2 * 1024, /* a thousand ranks have thirty arenas each, most of them nearly empty */
    CHUNK_BYTES = 64 * 1024,      /* chunks double up to here */
    ALIGN = 16,
    MAP_FROM_BYTES = 256 * 1024, /* below this malloc is cheaper than a page map */
};

typedef struct block {
    struct block *prev, *next;
    size_t        total; /* header included */
    size_t        used;  /* bytes from here on that somebody may have written to before; what lies behind is zero in a map */
} block;

struct hu_arena {
    block  head;  /* ring of all blocks */
    char  *chunk; /* where small pieces are cut from */
    size_t left;
    size_t next; /* size of the next chunk */
    size_t bytes;
    bool   lacked; /* it was asked for memory that there was not */
};

static bool is_mapped(size_t total)
{
    return total >= MAP_FROM_BYTES;
}

/* ThreadSanitizer does not see mremap, and takes a page that came back for one that two threads share. */
static bool can_move(size_t total)
{
#ifdef __SANITIZE_THREAD__
    (void)total;
    return false;
#else
    return is_mapped(total);
#endif
}

static block *take_spare(size_t total)
{
    block *b = hu_spare_take(&total);

    if (b)
        b->total = b->used = total;
    return b;
}

static block *take_fresh_map(size_t total)
{
    block *b = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b == MAP_FAILED)
        return NULL;
    b->total = total;
    b->used = sizeof *b;
    return b;
}

static block *take_map(size_t total)
{
    block *b = take_spare(total);

    return b ? b : take_fresh_map(total);
}

static block *system_take(size_t total)
{
    block *b;

    if (is_mapped(total))
        return take_map(total);
    b = malloc(total);
    if (b)
        b->total = b->used = total;
    return b;
}

static void system_give(block *b)
{
    if (!is_mapped(b->total))
        free(b);
    else if (!hu_spare_give(b, b->total))
        munmap(b, b->total);
}

static void link_block(hu_arena *arena, block *b)
{
    b->prev = &arena->head;
    b->next = arena->head.next;
    arena->head.next->prev = b;
    arena->head.next = b;
    arena->bytes += b->total;
}

static void unlink_block(hu_arena *arena, block *b)
{
    b->prev->next = b->next;
    b->next->prev = b->prev;
    arena->bytes -= b->total;
}

static block *take_block(hu_arena *arena, size_t payload)
{
    size_t total = payload + sizeof(block);
    block *b;

    b = total < payload ? NULL : system_take(total);
    if (!b) {
        arena->lacked = true;
        return NULL;
    }
    link_block(arena, b);
    return b;
}

bool hu_arena_lacked(const hu_arena *arena)
{
    return arena->lacked;
}

hu_arena *hu_arena_new(void)
{
    hu_arena *arena = calloc(1, sizeof *arena);

    if (arena) {
        arena->head.prev = arena->head.next = &arena->head;
        arena->next = FIRST_CHUNK_BYTES;
    }
    return arena;
}

void hu_arena_free(hu_arena *arena)
{
    if (!arena)
        return;
    for (block *b = arena->head.next, *next; b != &arena->head; b = next) {
        next = b->next;
        system_give(b);
    }
    free(arena);
}

static size_t aligned(size_t size)
{
    return (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

/* Clears bytes of a block that begins with `p`, where they are not zero already. */
static void clear(void *p, size_t from, size_t end)
{
    const block *b = (const block *)p - 1;
    const size_t used = b->used - sizeof *b;

    end = end < used ? end : used;
    if (from < end)
        memset((char *)p + from, 0, end - from);
}

/* Pieces of this size are blocks of their own. */
static bool is_apart(size_t need)
{
    return need > CHUNK_BYTES / 4;
}

void *hu_arena_alloc(hu_arena *arena, size_t size)
{
    const size_t need = aligned(size);
    block       *b;
    void        *p;

    if (need < size)
        return NULL;
    if (is_apart(need)) {
        b = take_block(arena, need);
        return b ? b + 1 : NULL;
    }
    if (need > arena->left) {
        while (arena->next < 4 * need)
            arena->next *= 2;
        b = take_block(arena, arena->next);
        if (!b)
            return NULL;
        arena->chunk = (char *)(b + 1);
        arena->left = arena->next;
        arena->next = arena->next < CHUNK_BYTES ? 2 * arena->next : CHUNK_BYTES;
    }
    p = arena->chunk;
    arena->chunk += need;
    arena->left -= need;
    return p;
}

void *hu_arena_calloc(hu_arena *arena, size_t count, size_t size)
{
    size_t total;
    void  *p;

    if (!hu_mul_size(count, size, &total))
        return NULL;
    p = hu_arena_alloc(arena, total ? total : 1);
    if (p && is_apart(aligned(total)))
        clear(p, 0, total);
    else if (p)
        memset(p, 0, total);
    return p;
}

void *hu_arena_sparse(hu_arena *arena, size_t size)
{
    const size_t total = size + sizeof(block);
    block       *b = total < size ? NULL : take_fresh_map(is_mapped(total) ? total : MAP_FROM_BYTES);

    if (!b) {
        arena->lacked = true;
        return NULL;
    }
    link_block(arena, b);
    return b + 1;
}

void *hu_arena_grow(hu_arena *arena, void *old, size_t size)
{
    block *b, *from = old ? (block *)old - 1 : NULL;
    size_t total = size + sizeof(block), old_total;

    if (total < size)
        return NULL;
    if (!from) {
        b = take_block(arena, size);
        return b ? b + 1 : NULL;
    }
    old_total = from->total;
    if (total <= old_total)
        return old;
    b = is_mapped(old_total) ? take_spare(total) : NULL;
    if (b) {
        link_block(arena, b);
    } else if (can_move(old_total)) {
        unlink_block(arena, from);
        b = mremap(from, old_total, total, MREMAP_MAYMOVE);
        if (b == MAP_FAILED) {
            link_block(arena, from);
            arena->lacked = true;
            return NULL;
        }
        b->total = total;
        link_block(arena, b);
        return b + 1;
    } else {
        b = take_block(arena, size);
    }
    if (!b)
        return NULL;
    memcpy(b + 1, old, old_total - sizeof(block));
    b->used = b->used > old_total ? b->used : old_total;
    hu_arena_drop(arena, old);
    return b + 1;
}

void *hu_arena_grow_cleared(hu_arena *arena, void *old, size_t old_size, size_t size)
{
    char *p = hu_arena_grow(arena, old, size);

    if (p)
        clear(p, old_size, size);
    return p;
}

void hu_arena_trim(hu_arena *arena, void *payload, size_t size)
{
    const size_t page = 4096; /* of larger ones munmap takes less, or nothing */
    block       *b = payload ? (block *)payload - 1 : NULL;
    size_t       total;

    if (!b)
        return;
    total = size + sizeof *b > b->used ? size + sizeof *b : b->used;
    total = (total + page - 1) & ~(page - 1);
    if (total >= b->total || !is_mapped(total) || munmap((char *)b + total, b->total - total) < 0)
        return;
    arena->bytes -= b->total - total;
    b->total = total;
}

void hu_arena_drop(hu_arena *arena, void *payload)
{
    block *b;

    if (!payload)
        return;
    b = (block *)payload - 1;
    unlink_block(arena, b);
    system_give(b);
}

hu_str hu_arena_copy(hu_arena *arena, hu_str s)
{
    char *p = hu_arena_alloc(arena, s.n + 1);

    if (!p)
        return (hu_str){NULL, 0};
    if (s.n)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return (hu_str){p, s.n};
}

size_t hu_arena_bytes(const hu_arena *arena)
{
    return arena->bytes;
}

bool hu_vec_make_room(hu_arena *arena, void **at, size_t *cap, size_t want, size_t item_bytes)
{
    size_t room = *cap ? *cap : 64, bytes;
    void  *p;

    while (room < want) {
        if (room > SIZE_MAX / 2)
            return false;
        room *= 2;
    }
    if (!hu_mul_size(room, item_bytes, &bytes))
        return false;
    p = hu_arena_grow(arena, *at, bytes);
    if (!p)
        return false;
    *at = p;
    *cap = room;
    return true;
}
