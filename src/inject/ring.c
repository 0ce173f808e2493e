/* SPDX-License-Identifier: Apache-2.0
 * ring.c - a thread's next block: from the free ones, from a larger file, or its own oldest.
 *
 * The slow path of hu_ring_take, once in HU_BLOCK_RECORDS records, with signals blocked: a handler would need the lock
 * that the interrupted thread holds, and might leave by longjmp.  One that finds `is_choosing` set would change the block
 * that the interrupted thread is about to write to: its record is lost, and counted.
 */
#include <pthread.h>
#include <string.h>

#include "inject/live.h"
#include "inject/process.h"
#include "inject/sys.h"
#include "inject/waiters.h"
#include "base/banned.h"

__thread hu_thread_state hu_thread __attribute__((tls_model("initial-exec")));

static pthread_key_t end_of_thread;
static bool          has_key;

/* A thread that ends gives its block away; if it records again (a later destructor), it takes another. */
static void thread_ends(void *unused)
{
    hu_block *block;

    (void)unused;
    hu_gate_thread_ends();
    hu_live_thread_ends();
    hu_waiters_forget();
    block = hu_thread.block;
    if (!block || hu_thread.generation != hu_the_process.generation)
        return;
    if (hu_thread.batched) {
        hu_ring_flush();
        block = hu_thread.block;
        if (!block)
            return;
    }
    hu_thread.is_taking = 1;
    hu_thread.block = NULL;
    if (block->head.taken <= HU_BLOCK_RECORDS)
        block->head.used = block->head.taken;
    block->head.call = 0;
    __atomic_store_n(&block->head.state, HU_BLOCK_CLOSED, __ATOMIC_RELEASE);
    /* what is left of a flight recorder's past: nobody will reuse it, so that it is to be copied out */
    for (uint32_t i = hu_thread.oldest; i;) {
        hu_block *b = hu_block_at(hu_the_process.head, i);

        i = b == block ? 0 : b->head.next_free;
        if (b != block)
            __atomic_store_n(&b->head.state, HU_BLOCK_CLOSED, __ATOMIC_RELEASE);
    }
    hu_thread.oldest = hu_thread.newest = 0;
    hu_thread.is_taking = 0;
}

/* Setting a value of glibc's first 32 keys allocates nothing, so that it is safe wherever a record is. */
void hu_ring_init(void)
{
    enum { FIRST_KEYS = 32 };

    has_key = pthread_key_create(&end_of_thread, thread_ends) == 0 && end_of_thread < FIRST_KEYS;
}

void hu_ring_hear_end(void)
{
    if (has_key)
        pthread_setspecific(end_of_thread, &hu_thread);
}

static void count_lost(hu_loss why, uint32_t n)
{
    hu_ring_head  *head = hu_the_process.head;
    const uint64_t now = hu_ticks();

    if (hu_thread.lost == 0) {
        hu_thread.first_lost = now;
        hu_thread.lost_reason = why;
    }
    hu_thread.lost += n;
    if (!head)
        return;
    __atomic_fetch_add(&head->lost[why], n, __ATOMIC_RELAXED);
    if (!head->first_lost)
        head->first_lost = now;
    head->last_lost = now;
}

void hu_ring_lose(uint32_t n)
{
    count_lost(HU_LOSS_FULL, n);
}

/* Its own oldest block, emptied.  What was in it is gone, as the user asked for. */
static hu_block *reuse_oldest(void)
{
    hu_ring_head *head = hu_the_process.head;
    hu_block     *block;

    if (!hu_thread.oldest)
        return NULL;
    block = hu_block_at(head, hu_thread.oldest);
    hu_thread.oldest = block->head.next_free;
    if (!hu_thread.oldest)
        hu_thread.newest = 0;
    count_lost(HU_LOSS_OVERWRITTEN, block->head.used);
    hu_thread.lost = 0; /* by design: not a loss to draw */
    __atomic_store_n(&block->head.state, HU_BLOCK_FREE, __ATOMIC_RELEASE);
    memset(block->records, 0, sizeof block->records);
    return block;
}

static void open_block(hu_block *block)
{
    hu_block_head *h = &block->head;

    h->kind = HU_BLOCK_OF_RECORDS;
    h->tid = hu_thread.tid;
    h->thread = hu_thread.thread;
    h->sequence = hu_thread.sequence++;
    h->taken = h->used = h->drained = h->call = h->next_free = 0;
    h->call_since = 0;
    h->place = h->place_high = 0;
    if (hu_the_control->mode == HU_MODE_FLIGHT) {
        const uint32_t index = hu_block_index(hu_the_process.head, block);

        if (hu_thread.newest)
            hu_block_at(hu_the_process.head, hu_thread.newest)->head.next_free = index;
        else
            hu_thread.oldest = index;
        hu_thread.newest = index;
    }
    __atomic_store_n(&h->state, HU_BLOCK_OPEN, __ATOMIC_RELEASE);
}

static void write_first(hu_block *block)
{
    if (hu_thread.lost) {
        hu_record *r = &block->records[hu_take_slots(&block->head.taken, 1)];

        r->time = hu_ticks();
        r->a = hu_thread.lost;
        r->b = hu_thread.first_lost;
        r->aux = (uint16_t)hu_thread.lost_reason;
        hu_thread.lost = 0;
        hu_ring_publish(r, HU_RECORD_LOST);
    }
}

/* The thread as this process's file knows it; anew after a fork.  In a child of vfork it is its parent's, which waits: the
   main one as far as can be told. */
static void enter_thread(void)
{
    hu_ring_head *head = hu_the_process.head;

    if (hu_thread.generation == hu_the_process.generation && hu_thread.thread)
        return;
    hu_thread.block = NULL;
    hu_thread.oldest = hu_thread.newest = 0;
    hu_thread.generation = hu_the_process.generation;
    hu_thread.tid = hu_sys_pid() == head->pid ? hu_sys_tid() : head->pid;
    hu_thread.thread = __atomic_add_fetch(&head->n_threads, 1, __ATOMIC_RELAXED);
    hu_thread.sequence = 0;
}

static bool next_block(void)
{
    hu_block *old, *block = NULL;
    hu_loss   why = HU_LOSS_FULL;

    if (!hu_process_attach())
        return false;
    enter_thread();
    old = hu_thread.block;
    if (old) {
        const uint32_t at = hu_take_slots(&old->head.taken, HU_BLOCK_RECORDS + 1);

        if (at <= HU_BLOCK_RECORDS) /* room for fewer than are wanted */
            old->head.used = at;
        old->head.call = 0;
        hu_thread.block = NULL;
        __atomic_store_n(&old->head.state, HU_BLOCK_FULL, __ATOMIC_RELEASE);
    }
    block = hu_blocks_get(HU_BLOCK_OF_RECORDS, &why);
    if (!block && hu_the_control->mode == HU_MODE_FLIGHT)
        block = reuse_oldest();
    if (!block) {
        count_lost(why, 1);
        return false;
    }
    open_block(block);
    write_first(block);
    hu_thread.block = block;
    if (has_key)
        pthread_setspecific(end_of_thread, block);
    return true;
}

hu_record *hu_ring_take_slow(uint32_t n)
{
    const int saved_errno = errno;
    uint64_t  signals;
    bool      is_there;

    if (hu_thread.is_taking || hu_thread.is_choosing) {
        count_lost(HU_LOSS_SIGNAL, 1);
        return NULL;
    }
    signals = hu_signals_block();
    hu_thread.is_taking = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    hu_thread.inside++; /* what the C library calls for us is not the program's */
    /* a signal handler may have been here since: then there is a block with room */
    is_there = hu_thread.generation == hu_the_process.generation && hu_thread.block &&
               hu_thread.block->head.taken + n <= HU_BLOCK_RECORDS;
    if (!is_there)
        is_there = next_block();
    hu_thread.inside--;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    hu_thread.is_taking = 0;
    hu_signals_restore(signals);
    errno = saved_errno;
    return is_there ? hu_ring_take_now(n) : NULL;
}
