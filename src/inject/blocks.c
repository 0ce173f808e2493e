/* SPDX-License-Identifier: Apache-2.0
 * blocks.c - the blocks of this process's file: a list of free ones, and a file that grows.
 *
 * The list is shared with the supervisor, which gives drained blocks back: its head is an index and a tag that changes
 * with every push and pop, so that a block that went away and came back is not mistaken for one that stayed.
 * Blocks that nobody has taken yet are not on it: to link one would touch its page, which on a disk is a fault, a block of
 * the file system to write, and one more to free for whoever cuts the file.  They are handed out in their order.
 * The file is opened by name whenever it grows: a descriptor kept open might be closed by the program, and its number
 * then belong to a file of the program's own.
 */
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include "inject/process.h"
#include "inject/sys.h"
#include "protocol/broker.h"
#include "base/banned.h"

enum {
    GROWTH_MAX = 256, /* blocks: 4 MiB at once */
};

static uint32_t growing;   /* the lock */
static uint32_t epoch = 1; /* what a lock that this process holds is: another number after each fork */
static uint64_t retry_at;  /* ticks: a full disk is not asked at every record */
static hu_loss  refused = HU_LOSS_FULL;

uint64_t hu_signals_block(void)
{
    const uint64_t all = ~UINT64_C(0);
    uint64_t       before = 0;

    (void)HU_SYS(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof all);
    return before;
}

void hu_signals_restore(uint64_t before)
{
    (void)HU_SYS(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
}

bool hu_lock(uint32_t *lock)
{
    enum { SPINS = 200, YIELDS = 1200, NAPS = 2000 };
    const struct timespec nap = {0, 20000};

    for (int i = 0; i < NAPS; i++) {
        uint32_t held = __atomic_load_n(lock, __ATOMIC_RELAXED);

        if (held != epoch && __atomic_compare_exchange_n(lock, &held, epoch, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return true;
        if (i >= YIELDS)
            (void)HU_SYS(SYS_nanosleep, &nap, NULL);
        else if (i >= SPINS)
            (void)HU_SYS(SYS_sched_yield);
    }
    return false;
}

void hu_unlock(uint32_t *lock)
{
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

void hu_locks_forked(void)
{
    epoch++;
    retry_at = 0;
}

static uint64_t tagged(uint64_t old, uint32_t index)
{
    return ((old >> 32) + 1) << 32 | index;
}

static hu_block *take_fresh(hu_ring_head *head)
{
    uint32_t index = __atomic_load_n(&head->first_fresh, __ATOMIC_RELAXED);

    while (index && index < __atomic_load_n(&head->n_blocks, __ATOMIC_ACQUIRE))
        if (__atomic_compare_exchange_n(&head->first_fresh, &index, index + 1, true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return hu_block_at(head, index);
    return NULL;
}

static hu_block *pop(hu_ring_head *head)
{
    uint64_t old = __atomic_load_n(&head->free_list, __ATOMIC_ACQUIRE);

    for (;;) {
        const uint32_t index = (uint32_t)old;
        uint32_t       next;

        if (index == 0 || index >= head->n_blocks)
            return take_fresh(head);
        next = __atomic_load_n(&hu_block_at(head, index)->head.next_free, __ATOMIC_RELAXED);
        if (__atomic_compare_exchange_n(&head->free_list, &old, tagged(old, next), true, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
            return hu_block_at(head, index);
    }
}

/* Is the file allowed to be that large?  Asking for more would be a SIGXFSZ in the program. */
static bool is_allowed(int64_t bytes)
{
    struct rlimit most;

    return HU_SYS(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &most) < 0 || most.rlim_cur == RLIM_INFINITY ||
           (uint64_t)bytes <= most.rlim_cur;
}

/* Room in the file that is really there.  Where the file system cannot promise it, it is written. */
long hu_file_allocate(int fd, int64_t offset, int64_t bytes)
{
    static const char zeros[4096];
    long              rc;

    if (!is_allowed(offset + bytes))
        return -EFBIG;
    rc = HU_SYS(SYS_fallocate, fd, 0, offset, bytes);
    if (rc != -EOPNOTSUPP && rc != -ENOSYS)
        return rc;
    for (int64_t at = 0; at < bytes; at += (int64_t)sizeof zeros) {
        rc = HU_SYS(SYS_pwrite64, fd, zeros, sizeof zeros, offset + at);
        if (rc != (long)sizeof zeros)
            return rc < 0 ? rc : -ENOSPC;
    }
    return 0;
}

/* The last blocks of a flight recorder are kept for threads that come later; the first would leave them nothing. */
static uint32_t reserve_of(const hu_ring_head *head)
{
    const uint32_t eighth = hu_the_control->mode == HU_MODE_FLIGHT ? head->max_blocks / 8 : 0;

    return head->max_blocks - eighth;
}

/* Doubles the file, a little at a time when it is large, up to `limit` blocks.  Under the lock. */
static bool grow(hu_ring_head *head, uint32_t limit)
{
    const uint32_t old = head->n_blocks;
    uint32_t       more = old > GROWTH_MAX ? GROWTH_MAX : old;
    size_t         offset = (size_t)old * HU_BLOCK_BYTES, bytes;
    int            fd;
    long           rc;

    refused = HU_LOSS_FULL;
    if (old >= limit)
        return false;
    if (more > limit - old)
        more = limit - old;
    if (old >= reserve_of(head))
        more = 1; /* for a thread that has none, not for others that wait meanwhile */
    bytes = (size_t)more * HU_BLOCK_BYTES;
    fd = hu_sys_open(hu_the_process.path, O_RDWR);
    if (fd < 0)
        fd = hu_broker_reopen(hu_the_process.path, HU_BROKER_GROW);
    if (fd < 0)
        return false;
    rc = hu_file_allocate(fd, (int64_t)offset, (int64_t)bytes);
    if (rc == 0 &&
        !hu_sys_map((char *)head + offset, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (int64_t)offset))
        rc = -ENOMEM;
    hu_sys_close(fd);
    if (rc < 0) {
        refused = rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG ? HU_LOSS_DISK : HU_LOSS_FULL;
        return false;
    }
    __atomic_store_n(&hu_the_process.mapped_blocks, old + more, __ATOMIC_RELEASE);
    __atomic_store_n(&head->n_blocks, old + more, __ATOMIC_RELEASE);
    return true;
}

hu_block *hu_blocks_get(hu_block_kind kind, hu_loss *why)
{
    hu_ring_head  *head = hu_the_process.head;
    hu_block      *block = pop(head);
    const uint64_t now = block ? 0 : hu_ticks();
    const uint32_t limit = hu_thread.oldest && kind == HU_BLOCK_OF_RECORDS ? reserve_of(head) : head->max_blocks;

    *why = refused;
    while (!block) {
        bool has_grown;

        if (head->n_blocks >= limit || now < retry_at || !hu_lock(&growing))
            return NULL;
        block = pop(head); /* somebody else has grown it meanwhile */
        has_grown = block || grow(head, limit);
        if (!has_grown)
            retry_at = now + (uint64_t)(hu_the_control->ticks_per_second / 20);
        hu_unlock(&growing);
        *why = refused;
        if (!has_grown)
            return NULL;
        if (!block)
            block = pop(head);
    }
    return block;
}
