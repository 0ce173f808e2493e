/* SPDX-License-Identifier: Apache-2.0
 * drain.c - looks at the state of each block, appends what is full to the drain file, then gives it back.
 *
 * Traps:
 *  - a block may be full while a record in it is not complete: a signal handler ran the thread out of it in the middle of
 *    that record.  It is left until it is; else the record would be stored into a block of somebody else's;
 *  - only what was written to the last byte is given back: of a piece that the disk had no room for nothing stays in the
 *    file, and the block stays where it is;
 *  - a file is mapped as far as it is there, and looked at again when the program says that it has grown.
 */
#include "record/drain.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_BLOCKS = HU_RING_BLOCKS_MAX * 16,
    BATCH = 64, /* blocks in one write: 1 MiB */
    REST = 16,  /* rounds in which a ring that takes no block is not looked through */
    RETRY_NS = 250000000,
};

/* What a thread lost to the limit. */
typedef struct {
    uint32_t thread, tid;
    uint64_t count, first;
} loss;

struct hu_drain {
    hu_ring_head *head;
    size_t        mapped;
    char          ring_path[4096], drain_path[4096];
    uint64_t      file_bytes; /* of the drain file: whole pieces */
    uint64_t      last_free;  /* of the list of free blocks, when all was looked through ... */
    uint32_t      last_fresh; /* ... and the first block that was never taken */
    uint32_t      rested;
    bool          has_pending;
    uint32_t      used;   /* blocks that are not free, at the last look */
    loss         *losses; /* by thread - 1; NULL: none */
    uint32_t      n_losses;
    hu_drain     *next; /* of all that are open */
};

static hu_drain *open_drains;

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static hu_block *block_at(const hu_drain *d, uint32_t index)
{
    return (hu_block *)((char *)d->head + (size_t)index * HU_BLOCK_BYTES);
}

/* A process may cut its own ring while it is mapped here, and it may be another user's: what is gone reads as zeros then,
 * which are no records. */
static void replace_cut_page(int signal, siginfo_t *info, void *context)
{
    const uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)4095;

    (void)context;
    for (const hu_drain *d = open_drains; d; d = d->next)
        if (d->head && page >= (uintptr_t)d->head && page < (uintptr_t)d->head + d->mapped &&
            mmap((void *)page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
            return;
    sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL); /* not a ring: it dies of it on return */
}

static void guard_maps(void)
{
    static bool            is_guarded;
    const struct sigaction act = {.sa_sigaction = replace_cut_page, .sa_flags = SA_SIGINFO};

    if (!is_guarded)
        sigaction(SIGBUS, &act, NULL);
    is_guarded = true;
}

/* mapping */

static bool map_all(hu_drain *d)
{
    const int   fd = open(d->ring_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    size_t      bytes;
    void       *at = MAP_FAILED;

    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= HU_BLOCK_BYTES) {
        bytes = (size_t)st.st_size / HU_BLOCK_BYTES;
        bytes = (bytes < MOST_BLOCKS ? bytes : MOST_BLOCKS) * HU_BLOCK_BYTES;
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    close(fd);
    if (at == MAP_FAILED)
        return false;
    if (d->head)
        munmap(d->head, d->mapped);
    d->head = at;
    d->mapped = bytes;
    return true;
}

hu_drain *hu_drain_open(const char *ring_path, bool *is_none)
{
    hu_drain    *d = calloc(1, sizeof *d);
    const size_t n = strlen(ring_path);
    struct stat  st;

    *is_none = false;
    if (!d)
        return NULL;
    guard_maps();
    d->next = open_drains;
    open_drains = d;
    if (n < 6 || n + 2 > sizeof d->drain_path) {
        *is_none = true;
        hu_drain_close(d);
        return NULL;
    }
    snprintf(d->ring_path, sizeof d->ring_path, "%s", ring_path);
    snprintf(d->drain_path, sizeof d->drain_path, "%.*s.drain", (int)(n - 5), ring_path);
    if (!map_all(d) || __atomic_load_n(&d->head->magic, __ATOMIC_ACQUIRE) != HU_RING_MAGIC) {
        hu_drain_close(d);
        return NULL;
    }
    if (d->head->version != HU_FORMAT_VERSION || d->head->block_bytes != HU_BLOCK_BYTES) {
        *is_none = true;
        hu_drain_close(d);
        return NULL;
    }
    d->file_bytes = stat(d->drain_path, &st) == 0 ? (uint64_t)st.st_size : 0;
    d->has_pending = true;
    return d;
}

void hu_drain_close(hu_drain *d)
{
    if (!d)
        return;
    for (hu_drain **at = &open_drains; *at; at = &(*at)->next)
        if (*at == d) {
            *at = d->next;
            break;
        }
    if (d->head)
        munmap(d->head, d->mapped);
    free(d->losses);
    free(d);
}

const hu_ring_head *hu_drain_head_of(const hu_drain *d)
{
    return d->head;
}

void hu_drain_saw(hu_drain *d, uint64_t ticks)
{
    if (d->head->state == HU_PROCESS_RUNS)
        d->head->seen = ticks;
}

static uint32_t blocks_of(hu_drain *d)
{
    const uint32_t n = __atomic_load_n(&d->head->n_blocks, __ATOMIC_ACQUIRE);

    if ((size_t)n * HU_BLOCK_BYTES > d->mapped)
        map_all(d);
    return n < d->mapped / HU_BLOCK_BYTES ? n : (uint32_t)(d->mapped / HU_BLOCK_BYTES);
}

/* giving back */

static void give_back(hu_drain *d, uint32_t index)
{
    hu_block *b = block_at(d, index);
    uint64_t  old = __atomic_load_n(&d->head->free_list, __ATOMIC_RELAXED);

    memset(b->records, 0, sizeof b->records);
    b->head.kind = HU_BLOCK_OF_RECORDS;
    b->head.tid = b->head.thread = b->head.taken = b->head.drained = b->head.call = b->head.used = 0;
    b->head.sequence = b->head.call_since = b->head.place = 0;
    __atomic_store_n(&b->head.state, HU_BLOCK_FREE, __ATOMIC_RELEASE);
    do
        __atomic_store_n(&b->head.next_free, (uint32_t)old, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&d->head->free_list, &old, ((old >> 32) + 1) << 32 | index, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
}

/* How many records a block has that may go; 0: it may not go. */
static uint32_t complete(const hu_block *b, bool is_flight)
{
    const uint32_t state = __atomic_load_n(&b->head.state, __ATOMIC_ACQUIRE);
    uint32_t       n;

    if ((state != HU_BLOCK_FULL || is_flight) && state != HU_BLOCK_CLOSED)
        return 0;
    n = __atomic_load_n(&b->head.used, __ATOMIC_ACQUIRE);
    if (b->head.kind != HU_BLOCK_OF_RECORDS || n == 0 || n > HU_BLOCK_RECORDS || b->head.thread == 0)
        return 0;
    for (uint32_t i = n; i-- > 0;)
        if (__atomic_load_n(&b->records[i].type, __ATOMIC_ACQUIRE) == HU_RECORD_NONE)
            return 0;
    return n;
}

/* the limit */

static void drop(hu_drain *d, const hu_block *b, uint32_t n, hu_drain_budget *budget)
{
    const uint32_t thread = b->head.thread;
    const uint64_t first = b->records[0].time, last = b->records[n - 1].time;

    budget->dropped += n;
    __atomic_fetch_add(&d->head->lost[HU_LOSS_CAP], n, __ATOMIC_RELAXED);
    if (!d->head->first_lost)
        d->head->first_lost = first;
    d->head->last_lost = last;
    if (thread > d->n_losses && thread <= MOST_BLOCKS) {
        loss *more = realloc(d->losses, thread * sizeof *more);

        if (!more)
            return;
        memset(more + d->n_losses, 0, (thread - d->n_losses) * sizeof *more);
        d->losses = more;
        d->n_losses = thread;
    }
    if (thread > d->n_losses)
        return;
    d->losses[thread - 1].thread = thread;
    d->losses[thread - 1].tid = b->head.tid;
    d->losses[thread - 1].first = d->losses[thread - 1].count ? d->losses[thread - 1].first : first;
    d->losses[thread - 1].count += n;
}

/* writing */

/* All or nothing: what was written of a part is cut off again. */
static bool append(hu_drain *d, struct iovec *v, int n, hu_drain_budget *budget)
{
    size_t want = 0;
    int    fd;
    bool   is_written;

    for (int i = 0; i < n; i++)
        want += v[i].iov_len;
    fd = open(d->drain_path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    is_written = fd >= 0 && pwritev(fd, v, n, (off_t)d->file_bytes) == (ssize_t)want;
    if (!is_written && fd >= 0 && ftruncate(fd, (off_t)d->file_bytes) < 0)
        is_written = false; /* the next try writes over it */
    if (fd >= 0)
        close(fd);
    budget->is_disk_full = !is_written;
    if (is_written) {
        d->file_bytes += want;
        budget->bytes += want;
    }
    return is_written;
}

typedef struct {
    uint32_t      index[BATCH], n;
    hu_drain_head heads[BATCH];
    struct iovec  v[2 * BATCH];
    uint64_t      records;
} batch;

static bool write_batch(hu_drain *d, batch *b, hu_drain_budget *budget)
{
    bool is_written = b->n == 0 || append(d, b->v, 2 * (int)b->n, budget);

    for (uint32_t i = 0; is_written && i < b->n; i++)
        give_back(d, b->index[i]);
    if (is_written)
        budget->drained += b->records;
    b->n = 0;
    b->records = 0;
    return is_written;
}

static void add(hu_drain *d, batch *b, uint32_t index, uint32_t n)
{
    hu_block      *block = block_at(d, index);
    hu_drain_head *h = &b->heads[b->n];

    *h = (hu_drain_head){.magic = HU_DRAIN_MAGIC,
                         .kind = HU_BLOCK_OF_RECORDS,
                         .tid = block->head.tid,
                         .thread = block->head.thread,
                         .sequence = block->head.sequence,
                         .n = n};
    b->v[2 * b->n] = (struct iovec){h, sizeof *h};
    b->v[2 * b->n + 1] = (struct iovec){block->records, n * sizeof(hu_record)};
    b->index[b->n++] = index;
    b->records += n;
}

/* Can no block have become full since the last look? */
static bool may_rest(hu_drain *d)
{
    const uint64_t list = __atomic_load_n(&d->head->free_list, __ATOMIC_ACQUIRE);
    const uint32_t fresh = __atomic_load_n(&d->head->first_fresh, __ATOMIC_ACQUIRE);
    const bool     has_free = (uint32_t)list || fresh < __atomic_load_n(&d->head->n_blocks, __ATOMIC_ACQUIRE);

    if (d->has_pending || list != d->last_free || fresh != d->last_fresh || !has_free || d->rested >= REST) {
        d->rested = 0;
        return false;
    }
    d->rested++;
    return true;
}

uint32_t hu_drain_round(hu_drain *d, hu_drain_budget *budget)
{
    static int64_t retry_at; /* one supervisor, one disk */
    const uint64_t list = __atomic_load_n(&d->head->free_list, __ATOMIC_ACQUIRE);
    const uint32_t fresh = __atomic_load_n(&d->head->first_fresh, __ATOMIC_ACQUIRE);
    uint32_t       n_blocks, used = 0, most;
    bool           is_ok = true;
    batch          b;

    if (may_rest(d))
        return 0;
    if (budget->is_disk_full && now_ns() < retry_at)
        return 0;
    b.n = 0;
    b.records = 0;
    n_blocks = blocks_of(d);
    for (uint32_t i = 1; i < n_blocks && is_ok; i++) {
        const hu_block *block = block_at(d, i);
        const uint32_t  n = complete(block, budget->is_flight);

        used += block->head.state != HU_BLOCK_FREE;
        if (n == 0)
            continue;
        if (budget->max_bytes && budget->bytes + (b.n + 1) * (uint64_t)HU_BLOCK_BYTES > budget->max_bytes) {
            drop(d, block, n, budget);
            give_back(d, i);
            continue;
        }
        add(d, &b, i, n);
        if (b.n == BATCH)
            is_ok = write_batch(d, &b, budget);
    }
    is_ok = is_ok && write_batch(d, &b, budget);
    if (!is_ok)
        retry_at = now_ns() + RETRY_NS;
    d->has_pending = !is_ok;
    d->last_free = list;
    d->last_fresh = fresh;
    d->used = used;
    most = d->head->max_blocks ? d->head->max_blocks : 1;
    return used >= most ? 256 : used * 256 / most;
}

/* The blocks of a dead process that hold nothing go back to the disk: a build has a hundred thousand processes. */
static void shrink(hu_drain *d)
{
    const uint32_t n = blocks_of(d);
    uint32_t       keep = 1;
    const int      fd = open(d->ring_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

    for (uint32_t i = 1; i < n; i++)
        if (block_at(d, i)->head.state != HU_BLOCK_FREE)
            keep = i + 1;
    if (fd < 0)
        return;
    if (n < d->head->n_blocks) /* not all of it could be mapped */
        keep = d->head->n_blocks;
    d->head->n_blocks = keep;
    d->head->free_list = 0; /* some of those on it are gone */
    d->head->first_fresh = keep;
    if (ftruncate(fd, (off_t)keep * HU_BLOCK_BYTES) < 0)
        d->head->n_blocks = n;
    close(fd);
}

void hu_drain_end(hu_drain *d, hu_drain_budget *budget, const hu_clock_snapshot *seen)
{
    for (uint32_t i = 0; i < d->n_losses; i++) {
        const loss   *l = &d->losses[i];
        hu_drain_head h = {.magic = HU_DRAIN_MAGIC,
                           .kind = HU_BLOCK_OF_RECORDS,
                           .tid = l->tid,
                           .thread = l->thread,
                           .sequence = UINT64_MAX,
                           .n = 1};
        hu_record     r = {.time = l->first, .type = HU_RECORD_LOST, .aux = HU_LOSS_CAP, .a = l->count, .b = l->first};
        struct iovec  v[] = {{&h, sizeof h}, {&r, sizeof r}};

        if (l->count)
            append(d, v, 2, budget);
    }
    d->n_losses = 0;
    if (seen && !d->head->exited && !d->head->end.ticks)
        d->head->end = *seen;
    if (seen)
        shrink(d);
}
