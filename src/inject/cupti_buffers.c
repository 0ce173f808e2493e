/* SPDX-License-Identifier: Apache-2.0
 * cupti_buffers.c - pieces of memory that CUPTI fills, and the queue of those that are full.
 *
 * A request always gets one: a CUPTI before 12.9 crashes without.  There are MOST of them; the thread that decodes gives
 * them back.  Were it too slow for that many, requests get spare ones, whose records are thrown away and counted.  They lie
 * in maps of their own and are empty again, so zero, before they are given away: CUPTI was told so.
 *
 * Requests and completions come on any thread, also on the program's: they take a lock for a few instructions, and a request
 * for a new piece maps it.  Who does not get the lock, or no memory, gets the one piece that needs neither; its records, and
 * those of a piece that comes back without the lock, are counted on the spot and lost.
 */
#include <string.h>

#include "inject/cuda.h"
#include "inject/sys.h"
#include "base/banned.h"

enum { BYTES = 1 << 20, SPARE_BYTES = 1 << 16, MOST = 128, MOST_SPARE = 1024 };

static hu_buffer buffers[MOST + MOST_SPARE];
static uint32_t  n_made; /* of the first MOST */
static uint32_t  lock;

static hu_buffer *first_empty, *first_full, *last_full;

/* Where even a small map is refused.  Several may be given it at once, and then write over each other: what is in it can be
 * counted only when one had it alone. */
static uint8_t  nowhere[SPARE_BYTES] __attribute__((aligned(16)));
static uint32_t n_nowhere; /* that have it */
static bool     is_crowded;

static uint64_t lost; /* records, since somebody asked */

static hu_buffer *make(hu_buffer *b, size_t bytes, bool is_spare)
{
    b->at = hu_sys_map(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!b->at)
        return NULL;
    b->bytes = bytes;
    b->is_spare = is_spare;
    return b;
}

/* Under the lock. */
static hu_buffer *find_empty(void)
{
    hu_buffer *b = first_empty;

    if (b) {
        first_empty = b->next;
        return b;
    }
    if (n_made < MOST && (b = make(&buffers[n_made], BYTES, false)) != NULL) {
        n_made++;
        return b;
    }
    for (uint32_t i = 0; i < MOST_SPARE; i++) {
        b = &buffers[MOST + i];
        if (b->is_out)
            continue;
        return b->at ? b : make(b, SPARE_BYTES, true);
    }
    return NULL;
}

static uint8_t *get_nowhere(void)
{
    if (__atomic_fetch_add(&n_nowhere, 1, __ATOMIC_ACQ_REL) > 0)
        __atomic_store_n(&is_crowded, true, __ATOMIC_RELEASE);
    return nowhere;
}

static void lose(uint64_t records)
{
    __atomic_fetch_add(&lost, records, __ATOMIC_RELAXED);
}

/* Of those who had it together, each lost at least one record. */
static void take_nowhere_back(size_t valid_bytes)
{
    valid_bytes = valid_bytes < sizeof nowhere ? valid_bytes : sizeof nowhere;
    lose(__atomic_load_n(&is_crowded, __ATOMIC_ACQUIRE) ? valid_bytes > 0 : hu_cupti_count(nowhere, valid_bytes));
    if (__atomic_load_n(&n_nowhere, __ATOMIC_ACQUIRE) == 1)
        memset(nowhere, 0, sizeof nowhere);
    if (__atomic_sub_fetch(&n_nowhere, 1, __ATOMIC_ACQ_REL) == 0)
        __atomic_store_n(&is_crowded, false, __ATOMIC_RELEASE);
}

void hu_buffers_request(uint8_t **buffer, size_t *bytes, size_t *most_records)
{
    const bool has_lock = hu_lock(&lock);
    hu_buffer *b = has_lock ? find_empty() : NULL;

    if (b) {
        b->is_out = 1;
        b->next = NULL;
        b->valid = 0;
    }
    if (has_lock)
        hu_unlock(&lock);
    *buffer = b ? b->at : get_nowhere();
    *bytes = b ? b->bytes : sizeof nowhere;
    *most_records = 0; /* as many as fit */
}

/* Under the lock. */
static hu_buffer *find(const uint8_t *at)
{
    for (uint32_t i = 0; i < MOST + MOST_SPARE; i++)
        if (buffers[i].at == at && at)
            return &buffers[i];
    return NULL;
}

bool hu_buffers_complete(uint8_t *buffer, size_t valid_bytes)
{
    hu_buffer *b;

    if (buffer == nowhere) {
        take_nowhere_back(valid_bytes);
        return true;
    }
    if (!hu_lock(&lock)) { /* it stays out; nobody makes or moves a buffer that is, so it may be looked for */
        b = find(buffer);
        if (b)
            lose(hu_cupti_count(b->at, valid_bytes < b->bytes ? valid_bytes : b->bytes));
        return b != NULL;
    }
    b = find(buffer);
    if (b && b->is_out) {
        b->valid = valid_bytes < b->bytes ? valid_bytes : b->bytes;
        b->next = NULL;
        if (last_full)
            last_full->next = b;
        else
            first_full = b;
        last_full = b;
    }
    hu_unlock(&lock);
    if (!b)
        return false;
    hu_cuda_thread_look();
    return true;
}

hu_buffer *hu_buffers_take(void)
{
    hu_buffer *b = NULL;

    if (!hu_lock(&lock))
        return NULL;
    b = first_full;
    if (b) {
        first_full = b->next;
        if (!first_full)
            last_full = NULL;
    }
    hu_unlock(&lock);
    return b;
}

void hu_buffers_give_back(hu_buffer *b)
{
    if (b->is_spare)
        (void)HU_SYS(SYS_madvise, b->at, b->bytes, MADV_DONTNEED);
    else /* here, so that the program need not fault its pages in again */
        memset(b->at, 0, b->bytes);
    if (!hu_lock(&lock))
        return;
    b->is_out = 0;
    if (!b->is_spare) {
        b->next = first_empty;
        first_empty = b;
    }
    hu_unlock(&lock);
}

uint64_t hu_buffers_lost(void)
{
    return __atomic_exchange_n(&lost, 0, __ATOMIC_RELAXED);
}
